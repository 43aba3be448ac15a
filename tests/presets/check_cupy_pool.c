/*
 * The preset cupy-pool: what CuPy's tests of its MemoryPool show, on each memory that has streams,
 * and what its documentation says besides. Sizes are in units (support/cupy_kinds.h).
 */
#include "support/cupy_kinds.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* ---- Sizes ------------------------------------------------------------- */

START_TEST(sizes_are_rounded_up_to_512)
{
    static const uint64_t sizes[][2] = {{1, 512}, {511, 512}, {512, 512}, {513, 1024}};
    cupy_pool_t *p = cupy_opened(_i, "");
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        void *pointer = NULL;
        uint64_t allocated = 0;
        step_ok(&p->f,
                cuarena_alloc_on(p->f.arena, sizes[i][0], cupy_stream(p, 0), NULL, &pointer));
        expect_ok(cuarena_size_of(p->f.arena, pointer, NULL, &allocated));
        expect_u64(allocated, sizes[i][1]);
        expect_u64(live_bytes(&p->f), sizes[i][1]);
        cupy_free(p, pointer, 0);
    }
    cupy_close(p);
}
END_TEST

/* The backend is asked for what was asked for, rounded, and no more. */
START_TEST(a_miss_takes_the_rounded_size)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *first = cupy_malloc(p, 3, 0);
    expect_figures(p, 3, 3, 0);
    void *second = cupy_malloc(p, 5, 1);
    expect_figures(p, 8, 8, 0);
    expect_u64(stats_of(&p->f, CUARENA_REGION_ALL).segments, 2);
    cupy_free(p, first, 0);
    cupy_free(p, second, 1);
    expect_figures(p, 0, 8, 2);
    cupy_close(p);
}
END_TEST

START_TEST(zero_bytes_are_nothing)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *pointer = p;
    expect_ok(cupy_try(p, 0, 0, &pointer));
    expect_ptr(pointer, NULL);
    expect_figures(p, 0, 0, 0);
    expect_u64(stats_of(&p->f, CUARENA_REGION_ALL).allocs, 0);
    cupy_free(p, NULL, 0);
    cupy_close(p);
}
END_TEST

/* ---- Splitting and merging --------------------------------------------- */

static char *at(const cupy_pool_t *p, void *base, uint64_t units)
{
    return (char *)base + units * p->unit;
}

START_TEST(blocks_are_apart)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *p1 = cupy_malloc(p, 4, 0);
    void *p2 = cupy_malloc(p, 4, 0);
    void *p3 = cupy_malloc(p, 8, 0);
    ck_assert(p1 != p2 && p1 != p3 && p2 != p3);
    cupy_free(p, p1, 0);
    cupy_free(p, p2, 0);
    cupy_free(p, p3, 0);
    expect_figures(p, 0, 16, 3);
    cupy_close(p);
}
END_TEST

START_TEST(a_chunk_is_split_from_its_head)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *whole = cupy_malloc(p, 4, 0);
    cupy_free(p, whole, 0);
    void *head = cupy_malloc(p, 2, 0);
    expect_ptr(head, whole);
    expect_figures(p, 2, 4, 1);
    void *tail = cupy_malloc(p, 2, 0);
    expect_ptr(tail, at(p, whole, 2));
    expect_figures(p, 4, 4, 0);
    cupy_free(p, head, 0);
    cupy_free(p, tail, 0);
    cupy_close(p);
}
END_TEST

/* 4 units into 2 and 2, and each of these into 1 and 1. */
static void split_to_units(cupy_pool_t *p, void *quarters[4])
{
    void *whole = cupy_malloc(p, 4, 0);
    cupy_free(p, whole, 0);
    void *head = cupy_malloc(p, 2, 0);
    void *tail = cupy_malloc(p, 2, 0);
    cupy_free(p, head, 0);
    quarters[0] = cupy_malloc(p, 1, 0);
    quarters[1] = cupy_malloc(p, 1, 0);
    cupy_free(p, tail, 0);
    quarters[2] = cupy_malloc(p, 1, 0);
    quarters[3] = cupy_malloc(p, 1, 0);
    for (uint64_t i = 0; i < 4; i++)
        expect_ptr(quarters[i], at(p, whole, i));
    expect_figures(p, 4, 4, 0);
}

START_TEST(parts_of_parts_merge_again)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *quarters[4];
    split_to_units(p, quarters);
    cupy_free(p, quarters[1], 0);
    expect_figures(p, 3, 4, 1);
    cupy_free(p, quarters[3], 0);
    expect_figures(p, 2, 4, 2);
    cupy_free(p, quarters[0], 0);
    expect_figures(p, 1, 4, 2);
    cupy_free(p, quarters[2], 0);
    expect_figures(p, 0, 4, 1);
    void *whole = cupy_malloc(p, 4, 0);
    expect_ptr(whole, quarters[0]);
    cupy_free(p, whole, 0);
    cupy_close(p);
}
END_TEST

static void merges(cupy_pool_t *p, void *whole, bool head_first)
{
    void *head = cupy_malloc(p, 2, 0);
    void *tail = cupy_malloc(p, 2, 0);
    expect_ptr(head, whole);
    cupy_free(p, head_first ? head : tail, 0);
    cupy_free(p, head_first ? tail : head, 0);
    expect_figures(p, 0, 4, 1);
    void *again = cupy_malloc(p, 4, 0);
    expect_ptr(again, whole);
    cupy_free(p, again, 0);
}

START_TEST(halves_merge_in_both_orders)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *whole = cupy_malloc(p, 4, 0);
    cupy_free(p, whole, 0);
    merges(p, whole, false);
    merges(p, whole, true);
    cupy_close(p);
}
END_TEST

/* Chunks of their own do not merge, wherever the memory put them. */
START_TEST(chunks_do_not_merge)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *p1 = cupy_malloc(p, 2, 0);
    void *p2 = cupy_malloc(p, 2, 0);
    cupy_free(p, p1, 0);
    cupy_free(p, p2, 0);
    expect_figures(p, 0, 4, 2);
    void *larger = cupy_malloc(p, 4, 0);
    expect_figures(p, 4, 8, 2);
    cupy_free(p, larger, 0);
    cupy_close(p);
}
END_TEST

/* ---- Which chunk ------------------------------------------------------- */

START_TEST(the_smallest_chunk_that_fits)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *large = cupy_malloc(p, 16, 0);
    void *small = cupy_malloc(p, 4, 0);
    void *middle = cupy_malloc(p, 8, 0);
    cupy_free(p, small, 0);
    cupy_free(p, middle, 0);
    cupy_free(p, large, 0);
    void *served = cupy_malloc(p, 7, 0);
    expect_ptr(served, middle);
    void *next = cupy_malloc(p, 7, 0);
    expect_ptr(next, large);
    cupy_free(p, served, 0);
    cupy_free(p, next, 0);
    cupy_close(p);
}
END_TEST

/* CuPy takes the smallest one here too; ours knows two sizes per power of two, and of those that
 * are alike and fit takes the one that was freed last. */
START_TEST(of_chunks_of_one_class_the_last_freed)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *four = cupy_malloc(p, 4, 0);
    void *five = cupy_malloc(p, 5, 0);
    cupy_free(p, four, 0);
    cupy_free(p, five, 0);
    void *served = cupy_malloc(p, 4, 0);
    expect_ptr(served, five);
    expect_figures(p, 4, 9, 2);
    cupy_free(p, served, 0);
    cupy_free(p, cupy_malloc(p, 5, 0), 0);
    cupy_close(p);
}
END_TEST

START_TEST(a_larger_request_is_a_miss)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *p1 = cupy_malloc(p, 4, 0);
    cupy_free(p, p1, 0);
    void *p2 = cupy_malloc(p, 8, 0);
    ck_assert_ptr_ne(p1, p2);
    cupy_free(p, p2, 0);
    expect_figures(p, 0, 12, 2);
    cupy_close(p);
}
END_TEST

/* ---- Streams ----------------------------------------------------------- */

START_TEST(the_same_pointer_on_the_same_stream)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *p1 = cupy_malloc(p, 4, 0);
    cupy_free(p, p1, 0);
    void *p2 = cupy_malloc(p, 4, 0);
    expect_ptr(p2, p1);
    expect_u64(stats_of(&p->f, CUARENA_REGION_ALL).host_waits, 0);
    cupy_free(p, p2, 0);
    cupy_close(p);
}
END_TEST

/* Nor when all work is done. */
START_TEST(another_pointer_on_another_stream)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *p1 = cupy_malloc(p, 4, 0);
    cupy_free(p, p1, 0);
    void *p2 = cupy_malloc(p, 4, 1);
    ck_assert_ptr_ne(p1, p2);
    cupy_finish(p);
    void *p3 = cupy_malloc(p, 4, 2);
    ck_assert(p3 != p1 && p3 != p2);
    void *again = cupy_malloc(p, 4, 0);
    expect_ptr(again, p1);
    expect_figures(p, 12, 12, 0);
    cupy_free(p, again, 0);
    cupy_free(p, p2, 1);
    cupy_free(p, p3, 2);
    cuarena_stats_t stats = stats_of(&p->f, CUARENA_REGION_ALL);
    expect_u64(stats.stream_waits + stats.host_waits + stats.steals, 0);
    cupy_close(p);
}
END_TEST

/* Two names of the stream that programs mean by none. */
START_TEST(null_is_the_legacy_stream)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *first = NULL;
    void *second = NULL;
    if (_i != 1) { /* the simulation knows handles that it made */
        step_ok(&p->f, cuarena_alloc_on(p->f.arena, 512, NULL, NULL, &first));
        step_ok(&p->f, cuarena_free_on(p->f.arena, first, NULL));
        step_ok(&p->f, cuarena_alloc_on(p->f.arena, 512, CUARENA_STREAM_LEGACY, NULL, &second));
        expect_ptr(second, first);
        step_ok(&p->f, cuarena_free_on(p->f.arena, second, NULL));
    }
    cupy_close(p);
}
END_TEST

typedef struct visit {
    cupy_pool_t *p;
    cuarena_stream_t stream;
    void *pointer;
} visit_t;

static void *take_and_give(void *user)
{
    visit_t *visit = user;
    cuarena_t *arena = visit->p->f.arena;
    uint64_t bytes = 4 * visit->p->unit;
    for (int i = 0; i < 2; i++) {
        void *before = visit->pointer;
        expect_ok(cuarena_alloc_on(arena, bytes, visit->stream, NULL, &visit->pointer));
        ck_assert(i == 0 || visit->pointer == before);
        expect_ok(cuarena_free_on(arena, visit->pointer, visit->stream));
    }
    return NULL;
}

static void *visited(cupy_pool_t *p, cuarena_stream_t stream)
{
    visit_t visit = {.p = p, .stream = stream};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, take_and_give, &visit), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    expect_sound(&p->f);
    return visit.pointer;
}

START_TEST(threads_share_what_a_stream_freed)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *own = cupy_malloc(p, 4, 0);
    cupy_free(p, own, 0);
    expect_ptr(visited(p, cupy_stream(p, 0)), own);
    cupy_close(p);
}
END_TEST

/* The default stream of each thread is a stream of its own. */
START_TEST(default_streams_of_threads_are_apart)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    if (_i != 1) { /* the simulation knows handles that it made */
        cuarena_stream_t stream = CUARENA_STREAM_PER_THREAD;
        visit_t own = {.p = p, .stream = stream};
        take_and_give(&own);
        ck_assert_ptr_ne(visited(p, stream), own.pointer);
        void *before = own.pointer;
        take_and_give(&own);
        expect_ptr(own.pointer, before);
        expect_figures(p, 0, 8, 2);
    }
    cupy_close(p);
}
END_TEST

/* ---- Giving back ------------------------------------------------------- */

START_TEST(free_all_blocks_gives_whole_chunks_back)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *p1 = cupy_malloc(p, 4, 0);
    expect_figures(p, 4, 4, 0);
    cupy_free(p, p1, 0);
    expect_figures(p, 0, 4, 1);
    expect_u64(cupy_free_all(p), 4 * p->unit);
    expect_figures(p, 0, 0, 0);
    expect_u64(stats_of(&p->f, CUARENA_REGION_ALL).segments, 0);
    cupy_free(p, cupy_malloc(p, 4, 0), 0);
    expect_figures(p, 0, 4, 1);
    cupy_close(p);
}
END_TEST

START_TEST(free_all_blocks_before_the_first_block)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    expect_u64(cupy_free_all(p), 0);
    expect_u64(cupy_free_all_on(p, 0), 0);
    expect_figures(p, 0, 0, 0);
    expect_u64(stats_of(&p->f, CUARENA_REGION_ALL).host_waits, 0);
    cupy_close(p);
}
END_TEST

/* And the half is the stream's as before. */
START_TEST(free_all_blocks_keeps_halves)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    cupy_free(p, cupy_malloc(p, 4, 0), 0);
    void *head = cupy_malloc(p, 2, 0);
    void *tail = cupy_malloc(p, 2, 0);
    cupy_free(p, tail, 0);
    expect_u64(cupy_free_all(p), 0);
    expect_figures(p, 2, 4, 1);
    void *other = cupy_malloc(p, 2, 1);
    ck_assert_ptr_ne(other, tail);
    void *again = cupy_malloc(p, 2, 0);
    expect_ptr(again, tail);
    expect_figures(p, 6, 6, 0);
    cupy_free(p, again, 0);
    cupy_free(p, head, 0);
    cupy_free(p, other, 1);
    expect_figures(p, 0, 6, 2);
    cupy_close(p);
}
END_TEST

START_TEST(free_all_blocks_of_one_stream)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *p1 = cupy_malloc(p, 4, 0);
    void *p2 = cupy_malloc(p, 4, 1);
    cupy_free(p, p1, 0);
    cupy_free(p, p2, 1);
    expect_figures(p, 0, 8, 2);
    expect_u64(cupy_free_all_on(p, 0), 4 * p->unit);
    expect_u64(stats_of(&p->f, CUARENA_REGION_ALL).host_waits, 1);
    expect_figures(p, 0, 4, 1);
    void *p3 = cupy_malloc(p, 4, 0);
    ck_assert_ptr_ne(p3, p2);
    void *p4 = cupy_malloc(p, 4, 1);
    expect_ptr(p4, p2);
    cupy_free(p, p3, 0);
    cupy_free(p, p4, 1);
    cupy_close(p);
}
END_TEST

START_TEST(free_all_blocks_of_all_streams)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    cupy_free(p, cupy_malloc(p, 4, 0), 0);
    cupy_free(p, cupy_malloc(p, 4, 1), 1);
    expect_figures(p, 0, 8, 2);
    expect_u64(cupy_free_all(p), 8 * p->unit);
    expect_figures(p, 0, 0, 0);
    cupy_close(p);
}
END_TEST

START_TEST(a_second_free_is_stale)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *pointer = cupy_malloc(p, 1, 0);
    cupy_free(p, pointer, 0);
    step(&p->f, cuarena_free_on(p->f.arena, pointer, cupy_stream(p, 0)), CUARENA_STALE);
    expect_figures(p, 0, 1, 1);
    cupy_close(p);
}
END_TEST

/* ---- Counts ------------------------------------------------------------ */

START_TEST(used_free_and_total_in_turn)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    expect_figures(p, 0, 0, 0);
    void *p1 = cupy_malloc(p, 2, 0);
    expect_figures(p, 2, 2, 0);
    void *p2 = cupy_malloc(p, 4, 0);
    expect_figures(p, 6, 6, 0);
    cupy_free(p, p2, 0);
    expect_figures(p, 2, 6, 1);
    cupy_free(p, p1, 0);
    expect_figures(p, 0, 6, 2);
    void *p3 = cupy_malloc(p, 1, 0);
    expect_figures(p, 1, 6, 2);
    cupy_free(p, p3, 0);
    cupy_close(p);
}
END_TEST

START_TEST(used_free_and_total_of_two_streams)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    cupy_free(p, cupy_malloc(p, 4, 0), 0);
    void *p2 = cupy_malloc(p, 2, 1);
    expect_figures(p, 2, 6, 1);
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_stream_stats(p->f.arena, cupy_stream(p, 0), &stats));
    expect_u64(stats.free_bytes, 4 * p->unit);
    cupy_free(p, p2, 1);
    cupy_close(p);
}
END_TEST

/* ---- Limits ------------------------------------------------------------ */

static uint64_t memory_calls(const cupy_pool_t *p)
{
    return stats_of(&p->f, CUARENA_REGION_ALL).memory_calls;
}

static void expect_refused(cupy_pool_t *p, uint64_t units, uint32_t number)
{
    void *pointer = p;
    expect_status(cupy_try(p, units, number, &pointer), CUARENA_LIMIT);
    expect_ptr(pointer, p);
    expect_u64(last_error().asked_bytes, units * p->unit);
}

START_TEST(there_is_no_limit_at_first)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    uint64_t limit = 0;
    expect_ok(cuarena_get_limit(p->f.arena, CUARENA_LIMIT_RESERVED, &limit));
    expect_u64(limit, UINT64_MAX);
    cupy_close(p);
}
END_TEST

START_TEST(a_limit_of_6_units)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    cupy_set_limit(p, 6);
    void *p1 = cupy_malloc(p, 5, 0);
    void *p2 = cupy_malloc(p, 1, 0);
    expect_refused(p, 1, 0);
    expect_figures(p, 6, 6, 0);
    cupy_set_limit(p, 7);
    void *p3 = cupy_malloc(p, 1, 0);
    expect_figures(p, 7, 7, 0);
    cupy_free(p, p1, 0);
    cupy_free(p, p2, 0);
    cupy_free(p, p3, 0);
    cupy_close(p);
}
END_TEST

/* What is free, but too small, goes back for it. */
START_TEST(a_limit_in_the_way_gives_chunks_back)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    cupy_set_limit(p, 6);
    cupy_free(p, cupy_malloc(p, 5, 0), 0);
    void *p1 = cupy_malloc(p, 6, 0);
    expect_figures(p, 6, 6, 0);
    cupy_free(p, p1, 0);
    cupy_close(p);
}
END_TEST

/* Other streams' too, whose work is waited for; what is no whole chunk stays theirs. */
START_TEST(a_limit_in_the_way_gives_chunks_of_all_streams_back)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    cupy_free(p, cupy_malloc(p, 4, 1), 1);
    void *head = cupy_malloc(p, 2, 1);
    cupy_free(p, cupy_malloc(p, 4, 2), 2);
    cupy_set_limit(p, 9);
    expect_figures(p, 2, 8, 2);
    void *p1 = cupy_malloc(p, 5, 0);
    expect_figures(p, 7, 9, 1);
    expect_refused(p, 2, 0);
    void *tail = cupy_malloc(p, 2, 1);
    expect_ptr(tail, at(p, head, 2));
    cupy_free(p, tail, 1);
    cupy_free(p, head, 1);
    cupy_free(p, p1, 0);
    cupy_close(p);
}
END_TEST

/* The handler, in the place of Python's garbage collection. */
typedef struct garbage {
    cupy_pool_t *p;
    void *pointer; /* NULL: nothing to collect */
    int calls;
} garbage_t;

static int32_t collect(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    garbage_t *garbage = user;
    (void)asked_bytes, (void)attempt;
    garbage->calls++;
    if (garbage->pointer == NULL)
        return 0;
    expect_ok(cuarena_free_on(arena, garbage->pointer, cupy_stream(garbage->p, 1)));
    garbage->pointer = NULL;
    return 1;
}

static void expect_steps(const cupy_pool_t *p, uint64_t trims, uint64_t handlers,
                         uint64_t served_by_handler)
{
    cuarena_step_stats_t steps[CUARENA_STEP_COUNT];
    size_t count = 0;
    expect_ok(cuarena_step_stats(p->f.arena, steps, CUARENA_STEP_COUNT, &count));
    expect_u64(steps[CUARENA_STEP_TRIM].tried, trims);
    expect_u64(steps[CUARENA_STEP_HANDLER].tried, handlers);
    expect_u64(steps[CUARENA_STEP_HANDLER].served, served_by_handler);
}

START_TEST(a_limit_in_the_way_asks_the_handler_and_gives_back_again)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    garbage_t garbage = {.p = p};
    expect_ok(cuarena_set_oom_handler(p->f.arena, collect, &garbage));
    cupy_set_limit(p, 6);
    garbage.pointer = cupy_malloc(p, 5, 1);
    void *p1 = cupy_malloc(p, 2, 0);
    ck_assert_int_eq(garbage.calls, 1);
    expect_steps(p, 1, 1, 1);
    expect_figures(p, 2, 2, 0);
    expect_refused(p, 5, 0);
    ck_assert_int_eq(garbage.calls, 2);
    expect_steps(p, 1, 2, 1);
    cupy_free(p, p1, 0);
    cupy_close(p);
}
END_TEST

/* More than the limit is refused at once. */
START_TEST(a_request_above_the_limit_asks_nobody)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    garbage_t garbage = {.p = p};
    expect_ok(cuarena_set_oom_handler(p->f.arena, collect, &garbage));
    cupy_free(p, cupy_malloc(p, 4, 0), 0);
    cupy_set_limit(p, 6);
    uint64_t before = memory_calls(p);
    expect_refused(p, 7, 0);
    expect_u64(memory_calls(p), before);
    ck_assert_int_eq(garbage.calls, 0);
    expect_figures(p, 0, 4, 1);
    cupy_close(p);
}
END_TEST

/* Free chunks serve below a limit that came later. */
START_TEST(a_limit_below_what_is_held_bounds_what_comes)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    cupy_free(p, cupy_malloc(p, 4, 0), 0);
    cupy_set_limit(p, 2);
    void *p1 = cupy_malloc(p, 4, 0);
    expect_figures(p, 4, 4, 0);
    expect_refused(p, 1, 0);
    cupy_free(p, p1, 0);
    cupy_close(p);
}
END_TEST

/* Nothing goes back for a request that would be above it by itself. */
START_TEST(a_limit_below_what_is_held_gives_nothing_back)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *p1 = cupy_malloc(p, 4, 0);
    void *p2 = cupy_malloc(p, 4, 1);
    cupy_free(p, p1, 0);
    cupy_set_limit(p, 2);
    expect_refused(p, 5, 0);
    expect_figures(p, 4, 8, 1);
    cupy_free(p, p2, 1);
    cupy_close(p);
}
END_TEST

START_TEST(limits_that_are_refused)
{
    static const cuarena_amount_t bad[] = {
        {CUARENA_AMOUNT_PERCENT, 0, 110000}, {7, 0, 1}, {0, 1, 1}};
    cupy_pool_t *p = cupy_opened(_i, "limit=4MiB");
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        expect_status(cuarena_set_limit(p->f.arena, CUARENA_LIMIT_RESERVED, bad[i], NULL),
                      CUARENA_BAD_ARGUMENT);
    uint64_t limit = 0;
    expect_ok(cuarena_get_limit(p->f.arena, CUARENA_LIMIT_RESERVED, &limit));
    expect_u64(limit, MIB(4));
    cupy_close(p);
}
END_TEST

/* ---- The device has no more -------------------------------------------- */

START_TEST(a_device_without_more_gets_chunks_back)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    if (cupy_has(p, 6)) {
        cupy_free(p, cupy_malloc(p, 3, 0), 0);
        cupy_free(p, cupy_malloc(p, 2, 1), 1);
        void *p1 = cupy_malloc(p, 4, 0);
        expect_figures(p, 4, 4, 0);
        cupy_free(p, p1, 0);
    }
    cupy_close(p);
}
END_TEST

START_TEST(a_device_without_more_asks_the_handler_and_gets_chunks_back)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    garbage_t garbage = {.p = p};
    if (cupy_has(p, 6)) {
        expect_ok(cuarena_set_oom_handler(p->f.arena, collect, &garbage));
        garbage.pointer = cupy_malloc(p, 5, 1);
        void *p1 = cupy_malloc(p, 4, 0);
        expect_steps(p, 2, 1, 1);
        void *p2 = p;
        expect_status(cupy_try(p, 3, 0, &p2), CUARENA_OUT_OF_MEMORY);
        ck_assert_int_eq(garbage.calls, 2);
        expect_figures(p, 4, 4, 0);
        cupy_free(p, p1, 0);
    }
    cupy_close(p);
}
END_TEST

/* ---- Hooks ------------------------------------------------------------- */

typedef struct heard_events {
    char text[64];
    uint64_t bytes[16];
    size_t count;
} heard_events_t;

static void hear(void *user, const cuarena_event_t *event)
{
    static const char *const names[] = {[CUARENA_EVENT_ALLOC] = "a",
                                        [CUARENA_EVENT_FREE] = "f",
                                        [CUARENA_EVENT_GROW] = "g",
                                        [CUARENA_EVENT_TRIM] = "t",
                                        [CUARENA_EVENT_FAIL] = "x"};
    heard_events_t *heard = user;
    ck_assert_uint_lt(heard->count, COUNT_OF(heard->bytes));
    heard->bytes[heard->count++] = event->bytes;
    strcat(heard->text, names[event->kind]);
}

START_TEST(hooks_hear_of_chunks_blocks_and_frees)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    heard_events_t heard = {.count = 0};
    expect_ok(cuarena_set_event_listener(p->f.arena, hear, &heard));
    cupy_free(p, cupy_malloc(p, 4, 0), 0);
    expect_text(heard.text, "gaf");
    expect_u64(heard.bytes[0], 4 * p->unit);
    expect_u64(heard.bytes[1], 4 * p->unit);
    cupy_free(p, cupy_malloc(p, 2, 0), 0);
    expect_text(heard.text, "gafaf");
    expect_u64(cupy_free_all(p), 4 * p->unit);
    expect_text(heard.text, "gafaft");
    expect_u64(heard.bytes[5], 4 * p->unit);
    cupy_set_limit(p, 1);
    expect_refused(p, 2, 0);
    expect_text(heard.text, "gafaftx");
    expect_ok(cuarena_set_event_listener(p->f.arena, NULL, NULL));
    cupy_close(p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cupy_pool");
    add_per_cupy_kind(suite, "sizes",
                      TEST_LIST(sizes_are_rounded_up_to_512, a_miss_takes_the_rounded_size,
                                zero_bytes_are_nothing));
    add_per_cupy_kind(suite, "chunks",
                      TEST_LIST(blocks_are_apart, a_chunk_is_split_from_its_head,
                                parts_of_parts_merge_again, halves_merge_in_both_orders,
                                chunks_do_not_merge, the_smallest_chunk_that_fits,
                                of_chunks_of_one_class_the_last_freed, a_larger_request_is_a_miss,
                                a_second_free_is_stale));
    add_per_cupy_kind(suite, "streams",
                      TEST_LIST(the_same_pointer_on_the_same_stream,
                                another_pointer_on_another_stream, null_is_the_legacy_stream,
                                threads_share_what_a_stream_freed,
                                default_streams_of_threads_are_apart));
    add_per_cupy_kind(suite, "free_all_blocks",
                      TEST_LIST(free_all_blocks_gives_whole_chunks_back,
                                free_all_blocks_before_the_first_block,
                                free_all_blocks_keeps_halves, free_all_blocks_of_one_stream,
                                free_all_blocks_of_all_streams));
    add_per_cupy_kind(suite, "counts",
                      TEST_LIST(used_free_and_total_in_turn, used_free_and_total_of_two_streams));
    add_per_cupy_kind(suite, "limits",
                      TEST_LIST(there_is_no_limit_at_first, a_limit_of_6_units,
                                a_limit_in_the_way_gives_chunks_back,
                                a_limit_in_the_way_gives_chunks_of_all_streams_back,
                                a_limit_in_the_way_asks_the_handler_and_gives_back_again,
                                a_request_above_the_limit_asks_nobody,
                                a_limit_below_what_is_held_bounds_what_comes,
                                a_limit_below_what_is_held_gives_nothing_back,
                                limits_that_are_refused, a_device_without_more_gets_chunks_back,
                                a_device_without_more_asks_the_handler_and_gets_chunks_back));
    add_per_cupy_kind(suite, "hooks", TEST_LIST(hooks_hear_of_chunks_blocks_and_frees));
    return cupy_main(suite);
}
