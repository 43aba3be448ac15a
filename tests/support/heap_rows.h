/*
 * Tests of heaps as rows of a table: a picture (heap_map.h), and calls as text.
 *
 *   {"growing takes all of the next range", "a2 -5 b1", "resize a 7 = a7 b1"}
 *
 * Steps are parted by "; ". A step is a call; `is STATUS` if it must fail; and `= PICTURE` if the
 * heap must look so afterwards. A call that fails must leave the heap as it looked, and the heap
 * must be valid after each.
 *
 *   alloc T N [@A] [in F]   free T [to F]   resize T N [in F]   exchange T T   pin T   unpin T
 *   segment AT N   extend AT N   cut AT N   join AT   reclaim F   destroy F
 *   plan [GOAL [@A]] [moves N] [bytes N]   begin   commit F   abort
 *   moves N   cost N   (what the plan has: moves, and granules that they copy)
 *
 * T is a tag, F the digit of a free list, AT, A, GOAL and N are granules, but `bytes` are bytes. A
 * plan without a goal goes all the way. The heap is that of map_config unless the picture begins
 * with other options in braces: {default} or {low} placement, {max_blocks N}, {split N}, {whole}
 * for ranges that are never split.
 */
#ifndef CUARENA_TEST_HEAP_ROWS_H
#define CUARENA_TEST_HEAP_ROWS_H

#include "heap_rig.h"

typedef struct map_row {
    const char *name; /* the edge; failures begin with it */
    const char *picture;
    const char *steps;
} map_row_t;

/* A case of one test for each row. */
#define add_map_rows(suite, name, rows) add_map_row_list(suite, name, rows, COUNT_OF(rows))
void add_map_row_list(Suite *suite, const char *name, const map_row_t *rows, size_t count);

/* The same by hand: a map on `map`, and steps on it. */
void map_open_row(const char *picture);
void map_run(const char *name, const char *steps);

#endif
