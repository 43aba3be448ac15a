/*
 * The heap of a test, as a map (heap_map.h), and one plan on it: what the tests of heaps share.
 */
#ifndef CUARENA_TEST_HEAP_RIG_H
#define CUARENA_TEST_HEAP_RIG_H

#include "heap_map.h"

extern map_t map;
extern cuarena_heap_plan_t *map_plan;

/* A case whose tests each end with close_map. */
TCase *add_tests(Suite *suite, const char *name, const TTest *const *tests);
/* Destroys the plan, if there is one, and closes the map. */
void close_map(void);

/* What the options of a plan are unless somebody sets them: everything moves that may. */
cuarena_heap_plan_options_t all_the_way(void);
/* Makes the plan anew, and expects that this changed nothing. */
cuarena_status_t make_plan(const cuarena_heap_plan_options_t *options);
cuarena_status_t begin_plan(void);
/* What the plan vacates goes to this free list: 0 to 9, as map_freelist has it. */
cuarena_status_t commit_to(unsigned freelist);

#endif
