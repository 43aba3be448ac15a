#include "heap_rows.h"

#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAP_ROWS 512u

/* ---- Reading a step ----------------------------------------------------- */

static char tag_at(const words_t *step, size_t at)
{
    return words_at(step, at)[0];
}

static uint64_t number_at(const words_t *step, size_t at)
{
    return words_size(words_at(step, at), 1);
}

static uint64_t number_behind(const words_t *step, const char *key, uint64_t otherwise)
{
    const char *word = words_behind(step, key);
    return word != NULL ? words_size(word, 1) : otherwise;
}

static unsigned freelist_of(const words_t *step)
{
    return (unsigned)number_behind(step, "in", number_behind(step, "to", 0));
}

/* Granules; 0: none is asked for. */
static uint64_t alignment_of(const words_t *step)
{
    for (size_t i = 1; i < step->count; i++)
        if (step->word[i][0] == '@')
            return words_size(step->word[i] + 1, 1);
    return 0;
}

/* ---- Making it ---------------------------------------------------------- */

static cuarena_status_t plan_of(const words_t *s)
{
    cuarena_heap_plan_options_t options = all_the_way();
    options.max_moves = number_behind(s, "moves", UINT64_MAX);
    options.max_bytes = number_behind(s, "bytes", UINT64_MAX);
    options.goal_alignment = map_bytes(&map, alignment_of(s));
    if (s->count > 1 && s->word[1][0] >= '0' && s->word[1][0] <= '9')
        options.goal_bytes = map_bytes(&map, number_at(s, 1));
    return make_plan(&options);
}

static cuarena_status_t expect_plan(const words_t *s)
{
    size_t count = 0;
    uint64_t bytes = 0;
    const cuarena_heap_move_t *list = cuarena_heap_plan_moves(map_plan, &count);
    for (size_t i = 0; i < count; i++)
        bytes += list[i].bytes;
    uint64_t got = words_begin(s, "moves") ? count : bytes / map.granule;
    expect_u64_at(got, number_at(s, 1), s->text, __FILE__, __LINE__);
    return CUARENA_OK;
}

static cuarena_status_t run_on_blocks(const words_t *s)
{
    if (words_begin(s, "alloc") && alignment_of(s) != 0)
        return map_alloc_aligned(&map, tag_at(s, 1), number_at(s, 2), alignment_of(s));
    if (words_begin(s, "alloc"))
        return map_alloc_in(&map, tag_at(s, 1), number_at(s, 2), freelist_of(s));
    if (words_begin(s, "free"))
        return map_free_to(&map, tag_at(s, 1), freelist_of(s));
    if (words_begin(s, "resize"))
        return map_resize_in(&map, tag_at(s, 1), number_at(s, 2), freelist_of(s));
    if (words_begin(s, "exchange"))
        return map_exchange(&map, tag_at(s, 1), tag_at(s, 2));
    if (words_begin(s, "pin"))
        return map_pin(&map, tag_at(s, 1));
    if (words_begin(s, "unpin"))
        return map_unpin(&map, tag_at(s, 1));
    ck_abort_msg("not a step: %s", s->text);
}

static cuarena_status_t run_on_plan(const words_t *s)
{
    if (words_begin(s, "plan"))
        return plan_of(s);
    if (words_begin(s, "moves") || words_begin(s, "cost"))
        return expect_plan(s);
    if (words_begin(s, "begin"))
        return begin_plan();
    if (words_begin(s, "commit"))
        return commit_to((unsigned)number_at(s, 1));
    if (words_begin(s, "abort"))
        return cuarena_heap_plan_abort(map.heap, map_plan);
    return run_on_blocks(s);
}

static cuarena_status_t run_step(const words_t *s)
{
    if (words_begin(s, "segment"))
        return map_segment(&map, number_at(s, 1), number_at(s, 2));
    if (words_begin(s, "extend"))
        return map_extend(&map, number_at(s, 1), number_at(s, 2));
    if (words_begin(s, "cut"))
        return map_cut(&map, number_at(s, 1), number_at(s, 2));
    if (words_begin(s, "join"))
        return map_join(&map, number_at(s, 1));
    if (words_begin(s, "reclaim"))
        return cuarena_heap_freelist_reclaim(map.heap,
                                             map_freelist(&map, (unsigned)number_at(s, 1)));
    if (words_begin(s, "destroy"))
        return cuarena_heap_freelist_destroy(map.heap,
                                             map_freelist(&map, (unsigned)number_at(s, 1)));
    return run_on_plan(s);
}

/* ---- Rows --------------------------------------------------------------- */

/* `name` is of the row. */
static void check_step(const char *name, const words_t *step)
{
    char before[MAP_TEXT];
    char what[2 * WORDS_TEXT];
    snprintf(what, sizeof(what), "%s: %s", name, step->text);
    strcpy(before, map_text(&map));
    words_expect_status(step, run_step(step), what);
    const char *after = map_text(&map);
    const char *picture = strstr(step->text, " =");
    if (words_behind(step, "is") != NULL)
        expect_text_at(after, before, what, __FILE__, __LINE__);
    if (picture != NULL)
        expect_text_at(after, picture + strspn(picture, " ="), what, __FILE__, __LINE__);
}

void map_run(const char *name, const char *steps)
{
    words_t step;
    while ((steps = words_read(&step, steps)) != NULL)
        check_step(name, &step);
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

START_TEST(map_row)
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
    tcase_add_loop_test(tcase, map_row, (int)first, (int)all_count);
}
