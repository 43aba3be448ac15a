#include "arena_rows.h"

#include "words.h"

#include <cuarena/stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS 26

typedef struct letter {
    void *pointer;
    uint32_t stream;
    bool lives;
} letter_t;

typedef struct play {
    const arena_ground_t *ground;
    fixture_t *f;
    char what[2 * WORDS_TEXT]; /* row and step, for failures */
    words_t step;
    letter_t letters[LETTERS];
} play_t;

#define expect_step(p, got, want) expect_u64_at((got), (want), (p)->what, __FILE__, __LINE__)

static uint64_t size_at(const play_t *p, size_t at)
{
    return words_size(words_at(&p->step, at), p->ground->unit);
}

static uint64_t size_behind(const play_t *p, const char *key, uint64_t otherwise)
{
    const char *word = words_behind(&p->step, key);
    return word != NULL ? words_size(word, p->ground->unit) : otherwise;
}

static letter_t *letter_of(play_t *p, const char *word)
{
    ck_assert_msg(word[0] >= 'a' && word[0] <= 'z', "%s: not a letter: %s", p->what, word);
    return &p->letters[word[0] - 'a'];
}

/* What the step says of the call's status; true if it was OK. */
static bool came_to(const play_t *p, cuarena_status_t status)
{
    words_expect_status(&p->step, status, p->what);
    return status == CUARENA_OK;
}

/* ---- Blocks ------------------------------------------------------------- */

static bool says(const play_t *p, const char *word)
{
    for (size_t i = 1; i < p->step.count; i++)
        if (strcmp(p->step.word[i], word) == 0)
            return true;
    return false;
}

static cuarena_status_t request(const play_t *p, uint64_t bytes, uint32_t stream, void **out)
{
    cuarena_request_t wanted;
    cuarena_request_init(&wanted);
    wanted.dedicated = says(p, "dedicated");
    const cuarena_request_t *as = wanted.dedicated ? &wanted : NULL;
    if (p->ground->stream != NULL)
        return cuarena_alloc_on(p->f->arena, bytes, p->ground->stream(stream), as, out);
    return as == NULL ? cuarena_alloc(p->f->arena, bytes, out)
                      : cuarena_alloc_with(p->f->arena, bytes, as, out);
}

/* Where the block must be: "a", or "a+2u". */
static void expect_place(play_t *p, const void *pointer)
{
    const char *at = words_behind(&p->step, "at");
    if (at != NULL) {
        uint64_t beyond = at[1] == '+' ? words_size(at + 2, p->ground->unit) : 0;
        expect_step(p, (uintptr_t)pointer, (uintptr_t)letter_of(p, at)->pointer + beyond);
    }
    for (size_t i = 3; i + 1 < p->step.count; i++)
        if (strcmp(p->step.word[i], "not") == 0)
            ck_assert_msg(pointer != letter_of(p, p->step.word[i + 1])->pointer, "%s: it is there",
                          p->what);
}

static void play_alloc(play_t *p)
{
    uint64_t bytes = size_at(p, 2);
    uint32_t stream = (uint32_t)size_behind(p, "on", 0);
    void *pointer = UNTOUCHED;
    if (!came_to(p, request(p, bytes, stream, &pointer))) {
        ck_assert_msg(pointer == UNTOUCHED, "%s: the output was written", p->what);
        cuarena_error_info_t error = last_error();
        expect_step(p, error.asked_bytes, bytes);
        expect_step(p, error.limit_bytes, size_behind(p, "limit", error.limit_bytes));
        expect_step(p, error.reserved_bytes, size_behind(p, "reserved", error.reserved_bytes));
        return;
    }
    ck_assert_msg((pointer == NULL) == (bytes == 0), "%s: got %p", p->what, pointer);
    expect_place(p, pointer);
    if (words_behind(&p->step, "takes") != NULL)
        expect_step(p, allocated_bytes(p->f, pointer), size_behind(p, "takes", 0));
    *letter_of(p, words_at(&p->step, 1)) = (letter_t){pointer, stream, pointer != NULL};
    if (p->ground->use != NULL && pointer != NULL)
        p->ground->use(stream, pointer, bytes);
}

static cuarena_status_t free_letter(play_t *p, letter_t *letter)
{
    letter->lives = false;
    if (p->ground->stream == NULL)
        return cuarena_free(p->f->arena, letter->pointer);
    return cuarena_free_on(p->f->arena, letter->pointer, p->ground->stream(letter->stream));
}

static void play_resize(play_t *p)
{
    letter_t *letter = letter_of(p, words_at(&p->step, 1));
    void *now = UNTOUCHED;
    if (came_to(p, cuarena_resize(p->f->arena, letter->pointer, size_at(p, 2), &now)))
        letter->pointer = now;
    else
        ck_assert_msg(now == UNTOUCHED, "%s: the output was written", p->what);
}

/* ---- The arena ---------------------------------------------------------- */

static void play_trim(play_t *p)
{
    bool keeps = p->step.count > 1 && p->step.word[1][0] >= '0' && p->step.word[1][0] <= '9';
    uint64_t keep = keeps ? size_at(p, 1) : 0;
    const char *on = words_behind(&p->step, "on");
    uint64_t given = UINT64_MAX;
    uint64_t before = reserved_bytes(p->f);
    if (p->ground->stream == NULL)
        came_to(p, cuarena_trim(p->f->arena, keep, &given));
    else
        came_to(p, cuarena_trim_on(p->f->arena,
                                   on != NULL ? p->ground->stream((uint32_t)words_size(on, 1))
                                              : CUARENA_NO_STREAM,
                                   keep, &given));
    expect_step(p, before - reserved_bytes(p->f), given);
    expect_step(p, given, size_behind(p, "gives", given));
}

static void play_limit(play_t *p)
{
    static const char *const kinds[] = {[CUARENA_LIMIT_LIVE] = "live",
                                        [CUARENA_LIMIT_RESERVED] = "reserved",
                                        [CUARENA_LIMIT_SOFT] = "soft",
                                        [CUARENA_LIMIT_CACHED] = "cached"};
    int32_t kind = 0;
    uint64_t old = 0, now = 0;
    while (strcmp(kinds[kind], words_at(&p->step, 1)) != 0)
        ck_assert_msg(++kind < (int32_t)COUNT_OF(kinds), "%s: no such limit", p->what);
    came_to(p, cuarena_set_limit(p->f->arena, kind, amount_of_bytes(size_at(p, 2)), &old));
    expect_step(p, old, size_behind(p, "was", old));
    expect_ok(cuarena_get_limit(p->f->arena, kind, &now));
    expect_step(p, now, size_at(p, 2));
}

static void play_release(play_t *p, bool all)
{
    uint64_t blocks = UINT64_MAX;
    came_to(p, all ? cuarena_cache_clear(p->f->arena, &blocks)
                   : cuarena_cache_release(p->f->arena, size_at(p, 1), &blocks));
    expect_step(p, blocks, size_behind(p, "gives", UINT64_MAX));
}

/* ---- Figures ------------------------------------------------------------ */

static void play_figures(play_t *p)
{
    cuarena_stats_t stats = stats_of(p->f);
    expect_step(p, stats.live_bytes, size_at(p, 1));
    expect_step(p, stats.reserved_bytes, size_at(p, 2));
    expect_step(p, stats.free_bytes, stats.reserved_bytes - stats.live_bytes);
    expect_step(p, stats.free_ranges, size_at(p, 3));
    expect_step(p, inspection_of(p->f, CUARENA_REGION_ALL).ranges, size_at(p, 3));
}

typedef struct sought {
    const char *key;
    uint64_t value;
    bool found;
} sought_t;

static void compare_key(void *user, const char *key, const char *value)
{
    sought_t *sought = user;
    if (strcmp(key, sought->key) != 0)
        return;
    sought->found = true;
    sought->value = strtoull(value, NULL, 10);
}

static void seek_in_cache(const play_t *p, sought_t *sought)
{
    cuarena_cache_stats_t now = cache_stats_of(p->f);
    const struct {
        const char *key;
        uint64_t value;
    } members[] = {{"hits", now.hits},
                   {"misses", now.misses},
                   {"evicted_blocks", now.evicted_blocks},
                   {"peak_active_bytes", now.peak_active_bytes},
                   {"peak_cached_bytes", now.peak_cached_bytes}};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (strcmp(members[i].key, sought->key) == 0)
            *sought = (sought_t){sought->key, members[i].value, true};
}

static void play_keys(play_t *p)
{
    for (size_t i = 0; i < p->step.count; i += 2) {
        sought_t sought = {.key = p->step.word[i]};
        expect_ok(cuarena_stats_pairs(p->f->arena, CUARENA_TEXT_STATS, compare_key, &sought));
        expect_ok(cuarena_stats_pairs(p->f->arena, CUARENA_TEXT_ORT, compare_key, &sought));
        seek_in_cache(p, &sought);
        ck_assert_msg(sought.found, "%s: neither a step nor a figure", p->what);
        expect_step(p, sought.value, size_at(p, i + 1));
    }
}

/* "calls get grow" */
static void play_calls(play_t *p)
{
    const char *want = p->step.count > 1 ? strchr(p->step.text, ' ') + 1 : "";
    expect_text_at(test_memory_sequence(&p->f->memory), want, p->what, __FILE__, __LINE__);
    test_memory_forget_calls(&p->f->memory);
}

static void play_holds(play_t *p)
{
    expect_step(p, reserved_bytes(p->f), size_at(p, 1));
    expect_step(p, capacity_bytes(p->f), size_at(p, 1));
    expect_step(p, p->f->memory.reserved_bytes, size_at(p, 1));
}

/* ---- Rows --------------------------------------------------------------- */

static void play_on_arena(play_t *p)
{
    if (words_begin(&p->step, "trim"))
        play_trim(p);
    else if (words_begin(&p->step, "limit"))
        play_limit(p);
    else if (words_begin(&p->step, "release"))
        play_release(p, false);
    else if (words_begin(&p->step, "clear"))
        play_release(p, true);
    else if (words_begin(&p->step, "reset"))
        came_to(p, cuarena_reset(p->f->arena));
    else if (words_begin(&p->step, "reset_peaks"))
        came_to(p, cuarena_reset_peaks(p->f->arena));
    else if (words_begin(&p->step, "finish"))
        p->ground->finish();
    else if (words_begin(&p->step, "budget"))
        p->f->memory.budget_bytes = size_at(p, 1);
    else if (words_begin(&p->step, "calls"))
        play_calls(p);
    else if (words_begin(&p->step, "holds"))
        play_holds(p);
    else
        play_keys(p);
}

static void play_step(play_t *p)
{
    if (words_begin(&p->step, "alloc")) {
        play_alloc(p);
    } else if (words_begin(&p->step, "free")) {
        came_to(p, free_letter(p, letter_of(p, words_at(&p->step, 1))));
    } else if (words_begin(&p->step, "resize")) {
        play_resize(p);
    } else if (words_begin(&p->step, "figures")) {
        play_figures(p);
    } else if (words_begin(&p->step, "cache")) {
        expect_step(p, cache_stats_of(p->f).active_bytes, size_at(p, 1));
        expect_step(p, cache_stats_of(p->f).cached_bytes, size_at(p, 2));
    } else {
        play_on_arena(p);
    }
}

void arena_run(const arena_ground_t *ground, const char *name, const char *steps)
{
    play_t play = {.ground = ground, .f = ground->f};
    while ((steps = words_read(&play.step, steps)) != NULL) {
        snprintf(play.what, sizeof play.what, "%s: %s: %s", ground->f->kind->name, name,
                 play.step.text);
        play_step(&play);
        expect_sound(ground->f);
    }
    for (size_t i = 0; i < LETTERS; i++)
        if (play.letters[i].lives)
            step_ok(ground->f, free_letter(&play, &play.letters[i]));
}

void arena_run_row(const arena_row_t *row)
{
    fixture_t f;
    arena_ground_t ground = {.f = &f};
    fixture_open_text(&f, row->options);
    arena_run(&ground, row->name, row->steps);
    fixture_close(&f);
}
