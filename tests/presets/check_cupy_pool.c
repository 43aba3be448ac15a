/*
 * The preset cupy-pool: what CuPy's tests of its MemoryPool show, on each memory that has streams,
 * and what its documentation says besides. Sizes are in units (support/cupy_kinds.h).
 */
#include "support/cupy_kinds.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* ---- Sizes, chunks, streams and limits ---------------------------------- */

static const arena_row_t rows[] = {
    {"sizes are rounded up to 512", "",
     "alloc a 1 takes 512; live_bytes 512; free a; alloc a 511 takes 512; live_bytes 512; free a; "
     "alloc a 512 takes 512; live_bytes 512; free a; alloc a 513 takes 1024; live_bytes 1024"},
    /* The backend is asked for what was asked for, rounded, and no more. */
    {"a miss takes the rounded size", "",
     "alloc a 3u; figures 3u 3u 0; alloc b 5u on 1; figures 8u 8u 0; segments 2; free a; free b; "
     "figures 0 8u 2"},
    {"zero bytes are nothing", "", "alloc a 0; figures 0 0 0; allocs 0; free a"},
    {"blocks are apart", "",
     "alloc a 4u; alloc b 4u not a; alloc c 8u not a not b; free a; free b; free c; "
     "figures 0 16u 3"},
    {"a chunk is split from its head", "",
     "alloc a 4u; free a; alloc b 2u at a; figures 2u 4u 1; alloc c 2u at a+2u; figures 4u 4u 0"},
    {"parts of parts merge again", "",
     "alloc w 4u; free w; alloc h 2u at w; alloc t 2u at w+2u; free h; alloc a 1u at w; "
     "alloc b 1u at w+1u; free t; alloc c 1u at w+2u; alloc d 1u at w+3u; figures 4u 4u 0; "
     "free b; figures 3u 4u 1; free d; figures 2u 4u 2; free a; figures 1u 4u 2; "
     "free c; figures 0 4u 1; alloc w 4u at a"},
    {"halves merge, tail first", "",
     "alloc w 4u; free w; alloc h 2u at w; alloc t 2u; free t; free h; figures 0 4u 1; "
     "alloc a 4u at w"},
    {"halves merge, head first", "",
     "alloc w 4u; free w; alloc h 2u at w; alloc t 2u; free h; free t; figures 0 4u 1; "
     "alloc a 4u at w"},
    /* Wherever the memory put them. */
    {"chunks of their own do not merge", "",
     "alloc a 2u; alloc b 2u; free a; free b; figures 0 4u 2; alloc c 4u; figures 4u 8u 2"},
    {"the smallest chunk that fits", "",
     "alloc a 16u; alloc b 4u; alloc c 8u; free b; free c; free a; alloc d 7u at c; "
     "alloc e 7u at a"},
    /* CuPy takes the smallest one here too; ours knows two sizes per power of two, and of those
     * that are alike and fit takes the one that was freed last. */
    {"of chunks of one class the last freed", "",
     "alloc a 4u; alloc b 5u; free a; free b; alloc c 4u at b; figures 4u 9u 2; free c; "
     "alloc d 5u"},
    {"a larger request is a miss", "",
     "alloc a 4u; free a; alloc b 8u not a; free b; figures 0 12u 2"},
    {"a second free is stale", "", "alloc a 1u; free a; free a is STALE; figures 0 1u 1"},

    {"the same pointer on the same stream", "",
     "alloc a 4u; free a; alloc b 4u at a; host_waits 0"},
    {"another pointer on another stream, also when all work is done", "",
     "alloc a 4u; free a; alloc b 4u on 1 not a; finish; alloc c 4u on 2 not a; alloc d 4u at a; "
     "figures 12u 12u 0; free d; free b; free c; stream_waits 0 host_waits 0 steals 0"},

    {"free_all_blocks gives whole chunks back", "",
     "alloc a 4u; figures 4u 4u 0; free a; figures 0 4u 1; trim gives 4u; figures 0 0 0; "
     "segments 0; alloc b 4u; free b; figures 0 4u 1"},
    {"free_all_blocks before the first block", "",
     "trim gives 0; trim on 0 gives 0; figures 0 0 0; host_waits 0"},
    {"free_all_blocks keeps halves, which are the stream's as before", "",
     "alloc w 4u; free w; alloc h 2u; alloc t 2u; free t; trim gives 0; figures 2u 4u 1; "
     "alloc o 2u on 1 not t; alloc a 2u at t; figures 6u 6u 0; free a; free h; free o; "
     "figures 0 6u 2"},
    {"free_all_blocks of one stream", "",
     "alloc a 4u; alloc b 4u on 1; free a; free b; figures 0 8u 2; trim on 0 gives 4u; "
     "host_waits 1; figures 0 4u 1; alloc c 4u not b; alloc d 4u on 1 at b"},
    {"free_all_blocks of all streams", "",
     "alloc a 4u; free a; alloc b 4u on 1; free b; figures 0 8u 2; trim gives 8u; figures 0 0 0"},

    {"used, free and total in turn", "",
     "figures 0 0 0; alloc a 2u; figures 2u 2u 0; alloc b 4u; figures 6u 6u 0; free b; "
     "figures 2u 6u 1; free a; figures 0 6u 2; alloc c 1u; figures 1u 6u 2"},

    {"a limit of 6 units", "",
     "limit reserved 6u; alloc a 5u; alloc b 1u; alloc c 1u is LIMIT; figures 6u 6u 0; "
     "limit reserved 7u; alloc c 1u; figures 7u 7u 0"},
    {"a limit in the way: what is free, but too small, goes back", "",
     "limit reserved 6u; alloc a 5u; free a; alloc b 6u; figures 6u 6u 0"},
    /* Their work is waited for; what is no whole chunk stays theirs. */
    {"a limit in the way: chunks of other streams go back too", "",
     "alloc a 4u on 1; free a; alloc h 2u on 1; alloc b 4u on 2; free b; limit reserved 9u; "
     "figures 2u 8u 2; alloc c 5u; figures 7u 9u 1; alloc d 2u is LIMIT; alloc t 2u on 1 at h+2u"},
    {"below a limit that came later free chunks serve", "",
     "alloc a 4u; free a; limit reserved 2u; alloc b 4u; figures 4u 4u 0; alloc c 1u is LIMIT"},
    {"a request above the limit by itself gives nothing back", "",
     "alloc a 4u; alloc b 4u on 1; free a; limit reserved 2u; alloc c 5u is LIMIT; "
     "figures 4u 8u 1"},
};

START_TEST(chunks_are_as_cupys)
{
    const arena_row_t *row = &rows[_i / CUPY_KINDS];
    cupy_pool_t *p = cupy_opened(_i % CUPY_KINDS, row->options);
    cupy_run(p, row->name, row->steps);
}
END_TEST

/* ---- Streams ----------------------------------------------------------- */

/* Two names of the stream that programs mean by none. */
START_TEST(null_is_the_legacy_stream)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    void *first = NULL;
    void *second = NULL;
    if (!cupy_is_simulated(p)) {
        step_ok(&p->f, cuarena_alloc_on(p->f.arena, 512, NULL, NULL, &first));
        step_ok(&p->f, cuarena_free_on(p->f.arena, first, NULL));
        step_ok(&p->f, cuarena_alloc_on(p->f.arena, 512, CUARENA_STREAM_LEGACY, NULL, &second));
        expect_ptr(second, first);
        step_ok(&p->f, cuarena_free_on(p->f.arena, second, NULL));
    }
}
END_TEST

typedef struct visit {
    cupy_pool_t *p;
    cuarena_stream_t stream;
    void *pointer;
} visit_t;

static void *alloc_and_free(void *user)
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
    ck_assert_int_eq(pthread_create(&thread, NULL, alloc_and_free, &visit), 0);
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
}
END_TEST

/* The default stream of each thread is a stream of its own. */
START_TEST(default_streams_of_threads_are_apart)
{
    cupy_pool_t *p = cupy_opened(_i, "");
    if (!cupy_is_simulated(p)) {
        cuarena_stream_t stream = CUARENA_STREAM_PER_THREAD;
        visit_t own = {.p = p, .stream = stream};
        alloc_and_free(&own);
        ck_assert_ptr_ne(visited(p, stream), own.pointer);
        void *before = own.pointer;
        alloc_and_free(&own);
        expect_ptr(own.pointer, before);
        expect_figures(p, 0, 8, 2);
    }
}
END_TEST

/* ---- Counts ------------------------------------------------------------ */

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
}
END_TEST

/* ---- Limits ------------------------------------------------------------ */

static uint64_t memory_calls(const cupy_pool_t *p)
{
    return stats_of(&p->f).memory_calls;
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
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cupy_pool");
    tcase_add_loop_test(new_case(suite, "rows"), chunks_are_as_cupys, 0,
                        CUPY_KINDS * (int)COUNT_OF(rows));
    add_per_cupy_kind(suite, "streams",
                      TEST_LIST(null_is_the_legacy_stream, threads_share_what_a_stream_freed,
                                default_streams_of_threads_are_apart,
                                used_free_and_total_of_two_streams));
    add_per_cupy_kind(suite, "limits",
                      TEST_LIST(there_is_no_limit_at_first,
                                a_limit_in_the_way_asks_the_handler_and_gives_back_again,
                                a_request_above_the_limit_asks_nobody, limits_that_are_refused,
                                a_device_without_more_gets_chunks_back,
                                a_device_without_more_asks_the_handler_and_gets_chunks_back));
    add_per_cupy_kind(suite, "hooks", TEST_LIST(hooks_hear_of_chunks_blocks_and_frees));
    return cupy_main(suite);
}
