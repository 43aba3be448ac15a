/*
 * Recording by several threads: sorted by time, their lines are a sequence that an arena can have
 * served, with caches of threads and without, and while traces begin and end.
 */
#include "support/crowd.h"
#include "support/trace_file.h"

#define ROUNDS ((int)scale_pick(1000, 4000, 100000))

static const char *path;

/* Allocates and frees at random; blocks are left for others to free. */
static _Atomic(void *) left[16];

static void step_at_random(worker_t *w)
{
    uint64_t i = random_below(&w->random, HELD);
    if (w->held[i] != NULL) {
        void *other = atomic_exchange(&left[random_below(&w->random, 16)], w->held[i]);
        w->held[i] = NULL;
        w->frees += other != NULL;
        must(other == NULL || put(other, w->stream) == CUARENA_OK);
        return;
    }
    if (get(256 * (1 + random_below(&w->random, 12)), w->stream, &w->held[i]) != CUARENA_OK)
        w->held[i] = NULL;
    w->allocs += w->held[i] != NULL;
}

static void free_held(worker_t *w)
{
    for (size_t i = 0; i < HELD; i++) {
        w->frees += w->held[i] != NULL;
        must_ok(put(w->held[i], w->stream));
        w->held[i] = NULL;
    }
}

static void *work(void *user)
{
    worker_t *w = user;
    for (int i = 0; i < ROUNDS; i++)
        step_at_random(w);
    free_held(w);
    return NULL;
}

static uint64_t free_left(void)
{
    uint64_t count = 0;
    for (size_t i = 0; i < COUNT_OF(left); i++) {
        void *p = atomic_exchange(&left[i], NULL);
        count += p != NULL;
        must_ok(put(p, CUARENA_NO_STREAM));
    }
    return count;
}

static uint64_t sum_of(size_t member)
{
    uint64_t sum = 0;
    for (int i = 0; i < WORKERS; i++) {
        uint64_t value;
        memcpy(&value, (const char *)&workers[i] + member, sizeof value);
        sum += value;
    }
    return sum;
}

/* The file has each allocation and free of the workers once, and those of nobody else. */
static void expect_all(uint64_t frees_left)
{
    trace_file_t file = trace_file_read(path);
    expect_u64(trace_file_check(&file), 0);
    expect_u64(trace_file_count(&file, "a"), sum_of(offsetof(worker_t, allocs)));
    expect_u64(trace_file_count(&file, "f"), sum_of(offsetof(worker_t, frees)) + frees_left);
    trace_file_free(&file);
}

START_TEST(threads_without_caches_are_in_order)
{
    path = trace_path("threads.csv");
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    begin(false);
    expect_ok(cuarena_trace_begin(arena, path));
    run(WORKERS, work);
    uint64_t rest = free_left();
    expect_ok(cuarena_trace_end(arena));
    expect_nothing_wrong();
    expect_all(rest);
    fixture_close(&f);
}
END_TEST

START_TEST(threads_with_caches_are_in_order)
{
    path = trace_path("caches.csv");
    begin_pool();
    expect_ok(cuarena_trace_begin(arena, path));
    run(WORKERS, work);
    uint64_t rest = free_left();
    expect_ok(cuarena_trace_end(arena));
    expect_all(rest);
    finish();
}
END_TEST

/* A worker whose thread has a cache records where no other thread does anything. */
static void *count_hits(void *user)
{
    worker_t *w = user;
    void *p = NULL;
    uint64_t before = arena_stats(arena).bookkeeping_bytes;
    for (int i = 0; i < 1000; i++) {
        must_ok(get(512, CUARENA_NO_STREAM, &p));
        must_ok(put(p, CUARENA_NO_STREAM));
    }
    w->live = arena_stats(arena).bookkeeping_bytes - before;
    return NULL;
}

START_TEST(caches_go_on_while_they_record)
{
    path = trace_path("hits.csv");
    begin_pool();
    expect_ok(cuarena_trace_begin(arena, path));
    run(1, count_hits);
    expect_between(workers[0].live, CACHE_LEAST + KIB(64), CACHE_MOST + KIB(65)); /* and lines */
    expect_ok(cuarena_trace_end(arena));
    trace_file_t file = trace_file_read(path);
    expect_u64(trace_file_count(&file, "a"), 1000);
    expect_u64(trace_file_count(&file, "f"), 1000);
    trace_file_free(&file);
    finish();
}
END_TEST

/* ---- Beginning and ending meanwhile ------------------------------------ */

static atomic_bool over;

static void *work_on(void *user)
{
    worker_t *w = user;
    while (!atomic_load(&over))
        step_at_random(w);
    free_held(w);
    return NULL;
}

static void begin_and_end_traces(int count)
{
    for (int i = 0; i < count; i++) {
        expect_ok(cuarena_trace_begin(arena, path));
        nap();
        expect_ok(cuarena_trace_end(arena));
        trace_file_t file = trace_file_read(path);
        (void)trace_file_check(&file);
        trace_file_free(&file);
    }
}

/* Traces begin and end beside threads that do a job until it is over. */
static void trace_beside(void *(*job)(void *), int count)
{
    path = trace_path("again.csv");
    atomic_store(&over, false);
    for (int i = 0; i < WORKERS; i++)
        start(&workers[i], job);
    begin_and_end_traces(count);
    atomic_store(&over, true);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    (void)free_left();
}

START_TEST(traces_begin_and_end_while_threads_allocate)
{
    begin_pool();
    trace_beside(work_on, 20);
    finish();
}
END_TEST

static void resize_at_random(worker_t *w)
{
    void **p = &w->held[random_below(&w->random, HELD)];
    void *resized = NULL;
    if (*p == NULL)
        return;
    if (cuarena_resize(arena, *p, 256 * (1 + random_below(&w->random, 24)), &resized) == CUARENA_OK)
        *p = resized;
}

static void *resize_too(void *user)
{
    worker_t *w = user;
    while (!atomic_load(&over)) {
        step_at_random(w);
        resize_at_random(w);
    }
    free_held(w);
    return NULL;
}

/* Begins a trace in what drops the lock between a block's first byte and the call's return. */
static void trace_slow_calls(void (*change)(cuarena_config_t *config))
{
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    change(&f.config);
    begin(false);
    trace_beside(resize_too, (int)scale_pick(30, 100, 1000));
    expect_nothing_wrong();
    expect_valid_arena(arena);
    fixture_close_forced(&f); /* the quarantine keeps some */
}

static void with_guards(cuarena_config_t *config)
{
    config->guard_bytes = 256;
}

START_TEST(a_trace_begins_while_guards_are_written)
{
    trace_slow_calls(with_guards);
}
END_TEST

static void with_quarantine(cuarena_config_t *config)
{
    config->guard_bytes = 256;
    config->fill = CUARENA_FILL_FREE;
    config->quarantine_bytes = 16384;
}

START_TEST(a_trace_begins_while_blocks_enter_the_quarantine)
{
    trace_slow_calls(with_quarantine);
}
END_TEST

static void with_new_zeroed(cuarena_config_t *config)
{
    config->zero = CUARENA_ZERO_ALLOC;
}

START_TEST(a_trace_begins_while_new_blocks_are_zeroed)
{
    trace_slow_calls(with_new_zeroed);
}
END_TEST

static void with_freed_zeroed(cuarena_config_t *config)
{
    config->zero = CUARENA_ZERO_FREE;
}

START_TEST(a_trace_begins_while_freed_blocks_are_zeroed)
{
    trace_slow_calls(with_freed_zeroed);
}
END_TEST

/* ---- The ring ---------------------------------------------------------- */

START_TEST(the_ring_has_the_last_events_of_all_threads)
{
    cuarena_traced_t events[64];
    size_t count;
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    f.config.trace_ring = COUNT_OF(events);
    begin(false);
    run(WORKERS, work);
    (void)free_left();
    expect_ok(cuarena_trace_recent(arena, events, COUNT_OF(events), &count));
    expect_u64(count, COUNT_OF(events));
    for (size_t i = 1; i < count; i++)
        ck_assert_msg(events[i].time_ns >= events[i - 1].time_ns, "event %d is too early", (int)i);
    expect_nothing_wrong();
    fixture_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_threads");
    tcase_set_timeout(
        suite_add_list(suite, "order",
                       TEST_LIST(threads_without_caches_are_in_order,
                                 threads_with_caches_are_in_order, caches_go_on_while_they_record,
                                 traces_begin_and_end_while_threads_allocate,
                                 a_trace_begins_while_guards_are_written,
                                 a_trace_begins_while_blocks_enter_the_quarantine,
                                 a_trace_begins_while_new_blocks_are_zeroed,
                                 a_trace_begins_while_freed_blocks_are_zeroed,
                                 the_ring_has_the_last_events_of_all_threads)),
        scale_timeout(60));
    return suite_main(suite);
}
