/* See heap_rig.h. */
#include "heap_rig.h"
#include "checks.h"

#include <string.h>

map_t map;
cuarena_heap_plan_t *map_plan;

TCase *add_tests(Suite *suite, const char *name, const TTest *const *tests)
{
    TCase *tcase = suite_add_list(suite, name, tests);
    tcase_add_checked_fixture(tcase, NULL, close_map);
    return tcase;
}

void close_map(void)
{
    cuarena_heap_plan_destroy(map.heap, &map_plan);
    ck_assert_ptr_null(map_plan);
    map_close(&map);
}

cuarena_heap_plan_options_t all_the_way(void)
{
    cuarena_heap_plan_options_t options;
    cuarena_heap_plan_options_init(&options);
    return options;
}

cuarena_status_t make_plan(const cuarena_heap_plan_options_t *options)
{
    char before[MAP_TEXT];
    strcpy(before, map_text(&map));
    cuarena_heap_plan_destroy(map.heap, &map_plan);
    cuarena_status_t status = cuarena_heap_plan_create(map.heap, options, &map_plan);
    expect_map(&map, before);
    return status;
}

cuarena_status_t begin_plan(void)
{
    return cuarena_heap_plan_begin(map.heap, map_plan);
}

cuarena_status_t commit_to(unsigned freelist)
{
    return cuarena_heap_plan_commit(map.heap, map_plan, map_freelist(&map, freelist));
}
