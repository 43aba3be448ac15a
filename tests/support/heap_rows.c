#include "heap_rows.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_TEXT 256u
#define MAP_ROWS 512u

typedef struct step {
    char text[STEP_TEXT]; /* as it was written */
    char verb[16];
    char tags[2];
    uint64_t numbers[2];
    uint64_t alignment;
    unsigned freelist;
    uint64_t max_moves;
    uint64_t max_bytes;
    char status[32];     /* empty: it succeeds */
    const char *picture; /* NULL: any */
} step_t;

/* ---- Reading a step ----------------------------------------------------- */

static uint64_t number_at(const char *text)
{
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    ck_assert_msg(end != text && (*end == '\0' || *end == ' '), "not a number: %s", text);
    return number;
}

/* The word after a key; ends the program if there is none. */
static const char *value_of(const char *key)
{
    const char *value = strtok(NULL, " ");
    ck_assert_msg(value != NULL, "nothing behind %s", key);
    return value;
}

static void read_word(step_t *step, const char *word)
{
    if (word[0] == '@')
        step->alignment = number_at(word + 1);
    else if (strcmp(word, "in") == 0 || strcmp(word, "to") == 0)
        step->freelist = (unsigned)number_at(value_of(word));
    else if (strcmp(word, "moves") == 0)
        step->max_moves = number_at(value_of(word));
    else if (strcmp(word, "bytes") == 0)
        step->max_bytes = number_at(value_of(word));
    else if (strcmp(word, "is") == 0)
        snprintf(step->status, sizeof(step->status), "CUARENA_%s", value_of(word));
    else if (word[0] >= 'a' && word[0] <= 'z' && word[1] == '\0')
        step->tags[step->tags[0] == '\0' ? 0 : 1] = word[0];
    else
        step->numbers[step->numbers[0] == UINT64_MAX ? 0 : 1] = number_at(word);
}

/* Numbers that are not there are UINT64_MAX. */
static void read_step(step_t *step, const char *text, size_t length)
{
    char words[STEP_TEXT];
    ck_assert_uint_lt(length, STEP_TEXT);
    *step = (step_t){
        .numbers = {UINT64_MAX, UINT64_MAX}, .max_moves = UINT64_MAX, .max_bytes = UINT64_MAX};
    memcpy(step->text, text, length);
    step->picture = strstr(step->text, " =");
    strcpy(words, step->text);
    if (step->picture != NULL) {
        words[step->picture - step->text] = '\0';
        step->picture += strlen(" =");
        step->picture += *step->picture == ' ';
    }
    snprintf(step->verb, sizeof(step->verb), "%s", strtok(words, " "));
    for (const char *word = strtok(NULL, " "); word != NULL; word = strtok(NULL, " "))
        read_word(step, word);
}

/* ---- Making it ---------------------------------------------------------- */

static cuarena_status_t plan_of(const step_t *s)
{
    cuarena_heap_plan_options_t options = all_the_way();
    options.max_moves = s->max_moves;
    options.max_bytes = s->max_bytes;
    if (s->numbers[0] != UINT64_MAX)
        options.goal_bytes = map_bytes(&map, s->numbers[0]);
    options.goal_alignment = map_bytes(&map, s->alignment);
    return make_plan(&options);
}

static void expect_plan(const step_t *s, bool moves)
{
    size_t count = 0;
    uint64_t bytes = 0;
    const cuarena_heap_move_t *list = cuarena_heap_plan_moves(map_plan, &count);
    for (size_t i = 0; i < count; i++)
        bytes += list[i].bytes;
    uint64_t got = moves ? count : bytes / map.granule;
    expect_u64_at(got, s->numbers[0], s->text, __FILE__, __LINE__);
}

static bool is(const step_t *s, const char *verb)
{
    return strcmp(s->verb, verb) == 0;
}

static cuarena_status_t run_on_blocks(const step_t *s)
{
    if (is(s, "alloc") && s->alignment != 0)
        return map_alloc_aligned(&map, s->tags[0], s->numbers[0], s->alignment);
    if (is(s, "alloc"))
        return map_alloc_in(&map, s->tags[0], s->numbers[0], s->freelist);
    if (is(s, "free"))
        return map_free_to(&map, s->tags[0], s->freelist);
    if (is(s, "resize"))
        return map_resize_in(&map, s->tags[0], s->numbers[0], s->freelist);
    if (is(s, "exchange"))
        return map_exchange(&map, s->tags[0], s->tags[1]);
    if (is(s, "pin"))
        return map_pin(&map, s->tags[0]);
    if (is(s, "unpin"))
        return map_unpin(&map, s->tags[0]);
    ck_abort_msg("not a step: %s", s->text);
}

static cuarena_status_t run_on_plan(const step_t *s)
{
    if (is(s, "plan"))
        return plan_of(s);
    if (is(s, "begin"))
        return begin_plan();
    if (is(s, "commit"))
        return commit_to((unsigned)s->numbers[0]);
    if (is(s, "abort"))
        return cuarena_heap_plan_abort(map.heap, map_plan);
    if (is(s, "moves") || is(s, "cost")) {
        expect_plan(s, is(s, "moves"));
        return CUARENA_OK;
    }
    return run_on_blocks(s);
}

static cuarena_status_t run_step(const step_t *s)
{
    if (is(s, "segment"))
        return map_segment(&map, s->numbers[0], s->numbers[1]);
    if (is(s, "extend"))
        return map_extend(&map, s->numbers[0], s->numbers[1]);
    if (is(s, "cut"))
        return map_cut(&map, s->numbers[0], s->numbers[1]);
    if (is(s, "join"))
        return map_join(&map, s->numbers[0]);
    if (is(s, "reclaim"))
        return cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, (unsigned)s->numbers[0]));
    if (is(s, "destroy"))
        return cuarena_heap_freelist_destroy(map.heap, map_freelist(&map, (unsigned)s->numbers[0]));
    return run_on_plan(s);
}

/* ---- Rows --------------------------------------------------------------- */

/* Runs a step; `name` is of the row. */
static void check_step(const char *name, const step_t *step)
{
    char before[MAP_TEXT];
    char what[2 * STEP_TEXT];
    const char *want = step->status[0] != '\0' ? step->status : "CUARENA_OK";
    snprintf(what, sizeof(what), "%s: %s", name, step->text);
    strcpy(before, map_text(&map));
    cuarena_status_t got = run_step(step);
    expect_text_at(cuarena_status_name(got), want, what, __FILE__, __LINE__);
    const char *after = map_text(&map);
    if (got != CUARENA_OK)
        expect_text_at(after, before, what, __FILE__, __LINE__);
    if (step->picture != NULL)
        expect_text_at(after, step->picture, what, __FILE__, __LINE__);
}

void map_run(const char *name, const char *steps)
{
    step_t step;
    for (size_t length; *steps != '\0'; steps += length + strspn(steps + length, "; ")) {
        length = strcspn(steps, ";");
        read_step(&step, steps, length);
        check_step(name, &step);
    }
}

static const char *read_options(const char *picture, cuarena_heap_config_t *config)
{
    const char *end = strchr(picture, '}');
    ck_assert_ptr_nonnull(end);
    if (strncmp(picture, "{default", 8) == 0)
        config->placement = CUARENA_PLACEMENT_DEFAULT;
    else if (strncmp(picture, "{low", 4) == 0)
        config->placement = CUARENA_PLACEMENT_LOW;
    else if (strncmp(picture, "{whole", 6) == 0)
        config->split_threshold = UINT64_MAX;
    else if (strncmp(picture, "{max_blocks ", 12) == 0)
        config->max_blocks = strtoull(picture + 12, NULL, 10);
    else if (strncmp(picture, "{split ", 7) == 0)
        config->split_threshold = strtoull(picture + 7, NULL, 10);
    else
        ck_abort_msg("not an option: %s", picture);
    return end + 1 + strspn(end + 1, " ");
}

void map_open_row(const char *picture)
{
    cuarena_heap_config_t config = map_config();
    while (*picture == '{')
        picture = read_options(picture, &config);
    map_open_with(&map, &config, picture);
}

static const map_row_t *all_rows[MAP_ROWS];
static size_t all_count;

START_TEST(test_map_row)
{
    const map_row_t *row = all_rows[_i];
    map_open_row(row->picture);
    map_run(row->name, row->steps);
}
END_TEST

void add_map_row_list(Suite *suite, const char *name, const map_row_t *rows, size_t count)
{
    TCase *tcase = add_tests(suite, name, TEST_LIST(NULL));
    if (all_count + count > MAP_ROWS)
        abort();
    size_t first = all_count;
    for (size_t i = 0; i < count; i++)
        all_rows[all_count++] = &rows[i];
    tcase_add_loop_test(tcase, test_map_row, (int)first, (int)all_count);
}
