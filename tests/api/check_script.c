/*
 * Scenarios that are told as text, in tests/scenarios/, so that other languages can play the same:
 * each on a pool of every memory. The first lines of a file there say what its words mean. Each is
 * played twice: with blocks, and with pointers, which are unpinned so that they may move.
 *
 * With CUARENA_TEST_CUDA it is another program, whose pools are a device's.
 */
#include "support/fixture.h"
#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_kinds.h"
#endif

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(CUARENA_TEST_CUDA)
static const arena_kind_t *const memories[] = {
    &cuda_kinds[CUDA_POOL_VMM],     &cuda_kinds[CUDA_POOL_MALLOC], &cuda_kinds[CUDA_POOL_ASYNC],
    &cuda_kinds[CUDA_POOL_MANAGED], &cuda_kinds[CUDA_POOL_PINNED], &arena_kinds[POOL_PAGEABLE]};
#define PROGRAM_MAIN cuda_kinds_main
#else
static const arena_kind_t *const memories[] = {&arena_kinds[POOL_PAGEABLE], &arena_kinds[POOL_NONE],
                                               &arena_kinds[POOL_BYTES], &arena_kinds[POOL_CUSTOM]};
#define PROGRAM_MAIN suite_main
#endif

#define MOST_WORDS 6
#define MOST_BLOCKS 16

/* One line in words; `text` is what they stand in. */
typedef struct line {
    char text[128];
    const char *words[MOST_WORDS];
    size_t count;
    int number;
} line_t;

/* A name that is empty is free. An empty block has none where pointers are played. */
typedef struct named {
    char name[16];
    cuarena_block_t block;
    uint64_t bytes;
    void *noted;
} named_t;

typedef struct play {
    fixture_t f;
    uint64_t pool;
    uint64_t stable;
    bool open;
    bool pointers;
    line_t line;
    named_t blocks[MOST_BLOCKS];
} play_t;

/* ---- Reading ------------------------------------------------------------ */

static FILE *script(void)
{
    const char *top = getenv("srcdir");
    char path[512];
    snprintf(path, sizeof path, "%s/tests/scenarios/cuarena.txt", top != NULL ? top : ".");
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s cannot be read", path);
    return file;
}

/* The next line that says something; false at the end. */
static bool read_line(FILE *file, line_t *line)
{
    while (fgets(line->text, sizeof line->text, file) != NULL) {
        line->number++;
        line->count = 0;
        char *rest = NULL;
        char *word = strtok_r(line->text, " \t\n", &rest);
        while (word != NULL && word[0] != '#' && line->count < MOST_WORDS) {
            line->words[line->count++] = word;
            word = strtok_r(NULL, " \t\n", &rest);
        }
        if (line->count != 0)
            return true;
    }
    return false;
}

static bool is(const line_t *line, const char *word)
{
    return strcmp(line->words[0], word) == 0;
}

static const char *word_at(const line_t *line, size_t i)
{
    ck_assert_msg(i < line->count, "line %d: %s wants %zu words", line->number, line->words[0], i);
    return line->words[i];
}

static uint64_t bytes_at(const line_t *line, size_t i)
{
    char *end = NULL;
    uint64_t bytes = strtoull(word_at(line, i), &end, 10);
    if (*end == 'K')
        return KIB(bytes);
    if (*end == 'M')
        return MIB(bytes);
    ck_assert_msg(*end == '\0', "line %d: '%s' is no number", line->number, line->words[i]);
    return bytes;
}

static int32_t region_at(const line_t *line, size_t i)
{
    bool stable = i < line->count && strcmp(line->words[i], "stable") == 0;
    return stable ? CUARENA_REGION_STABLE : CUARENA_REGION_DYNAMIC;
}

static const struct {
    const char *name;
    cuarena_status_t status;
} refusals[] = {{"out-of-memory", CUARENA_OUT_OF_MEMORY},
                {"fragmented", CUARENA_FRAGMENTED},
                {"limit", CUARENA_LIMIT},
                {"bad-argument", CUARENA_BAD_ARGUMENT}};

static void expect_refusal(const line_t *line, cuarena_status_t got)
{
    const char *wanted = word_at(line, 1);
    for (size_t i = 0; i < COUNT_OF(refusals); i++)
        if (got == refusals[i].status && strstr(wanted, refusals[i].name))
            return;
    ck_abort_msg("line %d: got %s, expected %s", line->number, cuarena_status_name(got), wanted);
}

/* ---- Blocks ------------------------------------------------------------- */

static named_t *find(play_t *play, const char *name)
{
    for (size_t i = 0; i < MOST_BLOCKS; i++)
        if (strcmp(play->blocks[i].name, name) == 0)
            return &play->blocks[i];
    ck_abort_msg("line %d: no block %s", play->line.number, name);
    return NULL;
}

static named_t *block_at(play_t *play, size_t i)
{
    return find(play, word_at(&play->line, i));
}

static uint64_t seed_of(const play_t *play, const named_t *named)
{
    return (uint64_t)(named - play->blocks) + 1;
}

static void *place_of(play_t *play, const named_t *named)
{
    if (named->block == 0)
        return NULL;
    return info_of(&play->f, named->block).address;
}

static void paint_named(play_t *play, const named_t *named)
{
    if (named->bytes != 0)
        paint(&play->f, place_of(play, named), named->bytes, seed_of(play, named));
}

/* All of it where it is short, else both ends. */
static void expect_named(play_t *play, const named_t *named, uint64_t bytes)
{
    if (bytes != 0)
        expect_painted(&play->f, place_of(play, named), bytes, seed_of(play, named));
}

/* Of a block that was made by a pointer; a stable one keeps its pin. */
static cuarena_block_t block_by(play_t *play, void *pointer, int32_t region)
{
    cuarena_block_t block = 0;
    bool stays = region == CUARENA_REGION_STABLE;
    if (pointer == NULL)
        return 0;
    expect_ok(cuarena_block_of(play->f.arena, pointer, &block));
    expect_status(cuarena_unpin(play->f.arena, pointer), stays ? CUARENA_BAD_ARGUMENT : CUARENA_OK);
    return block;
}

static cuarena_status_t request(play_t *play, uint64_t bytes, int32_t region,
                                cuarena_block_t *block_out)
{
    cuarena_request_t wanted;
    void *pointer = NULL;
    cuarena_request_init(&wanted);
    wanted.region = region;
    if (!play->pointers)
        return cuarena_block_alloc_with(play->f.arena, bytes, &wanted, block_out);
    cuarena_status_t status = cuarena_alloc_with(play->f.arena, bytes, &wanted, &pointer);
    *block_out = block_by(play, pointer, region);
    return status;
}

static cuarena_status_t resize(play_t *play, named_t *named, uint64_t bytes)
{
    void *now = play;
    if (!play->pointers)
        return cuarena_block_resize(play->f.arena, named->block, bytes);
    cuarena_status_t status = cuarena_resize(play->f.arena, place_of(play, named), bytes, &now);
    expect_ptr(now, status != CUARENA_OK ? play : bytes == 0 ? NULL : now);
    if (status == CUARENA_OK && bytes == 0)
        named->block = 0;
    if (status == CUARENA_OK)
        expect_ptr(place_of(play, named), now);
    return status;
}

/* ---- Steps -------------------------------------------------------------- */

static void step_take(play_t *play)
{
    named_t *named = play->blocks;
    while (named->name[0] != '\0')
        named++;
    ck_assert_ptr_ne(named, play->blocks + MOST_BLOCKS);
    named->bytes = bytes_at(&play->line, 2);
    expect_ok(request(play, named->bytes, region_at(&play->line, 3), &named->block));
    snprintf(named->name, sizeof named->name, "%s", word_at(&play->line, 1));
    paint_named(play, named);
}

static void step_refuse(play_t *play)
{
    cuarena_block_t block = 0;
    expect_refusal(&play->line,
                   request(play, bytes_at(&play->line, 2), region_at(&play->line, 3), &block));
    expect_u64(block, 0);
}

static void step_drop(play_t *play)
{
    named_t *named = block_at(play, 1);
    expect_named(play, named, named->bytes);
    expect_ok(play->pointers ? cuarena_free(play->f.arena, place_of(play, named))
                             : cuarena_block_free(play->f.arena, named->block));
    *named = (named_t){.block = 0};
}

static void step_resize(play_t *play)
{
    named_t *named = block_at(play, 1);
    uint64_t bytes = bytes_at(&play->line, 2);
    expect_ok(resize(play, named, bytes));
    expect_named(play, named, bytes < named->bytes ? bytes : named->bytes);
    named->bytes = bytes;
    paint_named(play, named);
}

static void step_refuse_resize(play_t *play)
{
    named_t *named = block_at(play, 2);
    expect_refusal(&play->line, resize(play, named, bytes_at(&play->line, 3)));
}

static void step_compact(play_t *play)
{
    heard_t heard = {.count = 0};
    cuarena_compact_report_t report;
    cuarena_compact_report_init(&report);
    expect_ok(cuarena_compact(play->f.arena, NULL, hear_relocations, &heard, &report));
    expect_u64(heard.count, report.moves);
    if (play->line.count > 1)
        expect_u64(report.moves, bytes_at(&play->line, 1));
}

static void step_note(play_t *play)
{
    named_t *named = block_at(play, 1);
    named->noted = place_of(play, named);
}

static void step_stayed(play_t *play)
{
    const named_t *named = block_at(play, 1);
    expect_ptr(place_of(play, named), named->noted);
}

static void step_moved(play_t *play)
{
    const named_t *named = block_at(play, 1);
    ck_assert_ptr_ne(place_of(play, named), named->noted);
}

static void step_below(play_t *play)
{
    uintptr_t low = (uintptr_t)place_of(play, block_at(play, 1));
    ck_assert_uint_lt(low, (uintptr_t)place_of(play, block_at(play, 2)));
}

static void step_limit(play_t *play)
{
    expect_ok(cuarena_set_limit(play->f.arena, CUARENA_LIMIT_LIVE,
                                amount_of_bytes(bytes_at(&play->line, 1)), NULL));
}

/* ---- Expectations ------------------------------------------------------- */

static cuarena_stats_t stats_at(play_t *play, int32_t region)
{
    return region_stats_of(&play->f, region);
}

static void step_live(play_t *play)
{
    expect_u64(stats_at(play, CUARENA_REGION_ALL).live_bytes, bytes_at(&play->line, 1));
}

static void step_blocks(play_t *play)
{
    uint64_t blocks = stats_at(play, CUARENA_REGION_ALL).live_blocks;
    for (size_t i = 0; i < MOST_BLOCKS; i++)
        blocks += play->blocks[i].name[0] != '\0' && play->blocks[i].block == 0;
    expect_u64(blocks, bytes_at(&play->line, 1));
}

static void step_live_in(play_t *play)
{
    expect_u64(stats_at(play, region_at(&play->line, 1)).live_bytes, bytes_at(&play->line, 2));
}

static void step_capacity(play_t *play)
{
    expect_u64(stats_at(play, CUARENA_REGION_ALL).capacity_bytes, bytes_at(&play->line, 1));
}

static void step_free(play_t *play)
{
    expect_u64(stats_at(play, CUARENA_REGION_DYNAMIC).free_bytes, bytes_at(&play->line, 1));
}

static void step_largest(play_t *play)
{
    expect_u64(inspection_of(&play->f, CUARENA_REGION_DYNAMIC).largest_bytes,
               bytes_at(&play->line, 1));
}

static const struct {
    const char *word;
    void (*play)(play_t *play);
} steps[] = {
    {"take", step_take},     {"refuse", step_refuse},   {"drop", step_drop},
    {"resize", step_resize}, {"compact", step_compact}, {"refuse-resize", step_refuse_resize},
    {"note", step_note},     {"stayed", step_stayed},   {"moved", step_moved},
    {"below", step_below},   {"limit", step_limit},     {"live", step_live},
    {"blocks", step_blocks}, {"live-in", step_live_in}, {"capacity", step_capacity},
    {"free", step_free},     {"largest", step_largest},
};

/* ---- Playing ------------------------------------------------------------ */

static void open_pool(play_t *play, const arena_kind_t *kind)
{
    fixture_prepare(&play->f, kind, play->pool);
    play->f.config.stable = amount_of_bytes(play->stable);
    fixture_create(&play->f);
    play->open = true;
}

static void close_pool(play_t *play)
{
    for (size_t i = 0; i < MOST_BLOCKS; i++)
        ck_assert_msg(play->blocks[i].name[0] == '\0', "before line %d: %s lives",
                      play->line.number, play->blocks[i].name);
    if (play->open)
        fixture_close(&play->f);
    play->open = false;
    play->stable = 0;
}

static void play_step(play_t *play)
{
    size_t i = 0;
    while (i < COUNT_OF(steps) && !is(&play->line, steps[i].word))
        i++;
    ck_assert_msg(i < COUNT_OF(steps), "line %d: no word %s", play->line.number,
                  play->line.words[0]);
    steps[i].play(play);
    expect_sound(&play->f);
    for (size_t at = 0; at < MOST_BLOCKS; at++)
        if (play->blocks[at].block != 0)
            expect_named(play, &play->blocks[at], play->blocks[at].bytes);
}

START_TEST(each_line_of_a_script)
{
    static play_t play;
    memset(&play, 0, sizeof play);
    play.pointers = _i % 2 != 0;
    FILE *file = script();
    int scenarios = 0;
    while (read_line(file, &play.line)) {
        if (is(&play.line, "scenario")) {
            close_pool(&play);
            scenarios++;
        } else if (is(&play.line, "pool")) {
            play.pool = bytes_at(&play.line, 1);
        } else if (is(&play.line, "stable")) {
            play.stable = bytes_at(&play.line, 1);
        } else {
            if (!play.open)
                open_pool(&play, memories[_i / 2]);
            play_step(&play);
        }
    }
    close_pool(&play);
    (void)fclose(file);
    ck_assert_int_ge(scenarios, 20);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("script");
    TCase *tcase = tcase_create("script");
    tcase_add_loop_test(tcase, each_line_of_a_script, 0, 2 * (int)COUNT_OF(memories));
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return PROGRAM_MAIN(make_suite());
}
