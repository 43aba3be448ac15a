/*
 * The cache of freed blocks on memory of a device: MLX's own tests of its allocators, their rules,
 * and what may befall an arena while blocks are cached. check_cache has the edges of each rule, on
 * addresses alone.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/cuda_work.h"
#include "support/waits.h"

/* The preset mlx-cpu on each memory, then mlx-cuda. */
#define MEMORIES 6
#define KINDS (2 * MEMORIES)

static const arena_kind_t *kind_of(int kind)
{
    static const int first[] = {CUDA_MLX_CPU_VMM, CUDA_MLX_CUDA_VMM};
    static const int pageable[] = {MLX_CPU_PAGEABLE, MLX_CUDA_PAGEABLE};
    int preset = kind / MEMORIES;
    int memory = kind % MEMORIES;
    return memory == 0 ? &arena_kinds[pageable[preset]] : &cuda_kinds[first[preset] + memory - 1];
}

/* ---- An arena ---------------------------------------------------------- */

static void open_cache(fixture_t *f, int kind, stream_use_t use, const char *options)
{
    fixture_prepare(f, kind_of(kind), MIB(64));
    f->config.limit = (cuarena_amount_t){CUARENA_AMOUNT_AUTO, 0, 0};
    if (f->kind->backing == CUARENA_BACKING_VMM)
        f->config.handle_bytes = MIB(2); /* as others' pieces */
    expect_ok(cuarena_config_parse(&f->config, options));
    fixture_use_streams(f, use, &cuda_work);
    fixture_create(f);
}

/* All work is done, as it must be. */
static void close_cache(fixture_t *f)
{
    expect_u64(cuda_work.finish(), 0);
    fixture_close(f);
    expect_no_report();
}

/* Closed after the test. */
static fixture_t *opened_cache(int kind, stream_use_t use, const char *options)
{
    fixture_t *f = new_fixture(close_cache);
    open_cache(f, kind, use, options);
    return f;
}

static bool is_cpu(const fixture_t *f)
{
    return f->kind->preset == CUARENA_PRESET_MLX_CPU;
}

/* Segments go back as they came. */
static bool is_whole(const fixture_t *f)
{
    return (f->kind->traits & KIND_GIVES_WHOLE) != 0;
}

/* ---- MLX's own tests ----------------------------------------------------- */

START_TEST(basic_sizes_come_and_go)
{
    static const uint64_t sizes[] = {4, 512, 0};
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "");
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        void *pointer = alloc_ok(f, sizes[i]);
        ck_assert_int_eq(pointer == NULL, sizes[i] == 0);
        paint(f, pointer, sizes[i], i);
        expect_painted(f, pointer, sizes[i], i);
        free_ok(f, pointer);
    }
}
END_TEST

/* A GiB each, where that takes no pages of the host's. */
START_TEST(a_hundred_large_buffers_one_after_the_other)
{
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "");
    uint64_t bytes = f->kind->traits & KIND_DEVICE ? GIB(1) : MIB(64);
    for (int i = 0; i < 100; i++)
        free_ok(f, alloc_ok(f, bytes));
    expect_cache(f, 0, is_cpu(f) ? 0 : bytes); /* its limit is 32 MiB */
    expect_u64(reserved_bytes(f), cache_stats_of(f).cached_bytes);
    expect_u64(cache_stats_of(f).hits, is_cpu(f) ? 0 : 99);
}
END_TEST

START_TEST(a_reused_buffer_keeps_its_capacity)
{
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "");
    set_limit(f, CUARENA_LIMIT_CACHED, MIB(1));
    void *first = alloc_ok(f, 8192);
    free_ok(f, first);
    uint64_t before = cache_stats_of(f).cached_bytes;
    void *pointer = alloc_ok(f, 6000);
    expect_ptr(pointer, first);
    expect_u64(allocated_bytes(f, pointer), 8192);
    paint(f, pointer, 6000, 3);
    expect_painted(f, pointer, 6000, 3);
    free_ok(f, pointer);
    expect_u64(cache_stats_of(f).cached_bytes, before);
}
END_TEST

START_TEST(limits_return_what_they_were)
{
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "");
    uint64_t soft = 0;
    expect_ok(cuarena_get_limit(f->arena, CUARENA_LIMIT_SOFT, &soft));
    uint64_t cached = is_cpu(f) ? MIB(32) : soft; /* 0.95 of what there is */
    expect_u64(set_limit(f, CUARENA_LIMIT_CACHED, 10), cached);
    expect_u64(set_limit(f, CUARENA_LIMIT_CACHED, 20), 10);
    expect_u64(set_limit(f, CUARENA_LIMIT_SOFT, 30), soft);
    expect_u64(set_limit(f, CUARENA_LIMIT_SOFT, 40), 30);
}
END_TEST

/* mlx-cpu at once; mlx-cuda with the next request. */
START_TEST(nothing_is_cached_with_a_limit_of_0)
{
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "");
    free_ok(f, alloc_ok(f, MIB(2)));
    expect_cache(f, 0, MIB(2));
    set_limit(f, CUARENA_LIMIT_CACHED, 0);
    expect_cache(f, 0, is_cpu(f) ? 0 : MIB(2));
    void *pointer = alloc_ok(f, MIB(4));
    expect_cache(f, MIB(4), 0);
    free_ok(f, pointer);
    expect_cache(f, 0, 0);
    expect_u64(reserved_bytes(f), 0);
}
END_TEST

START_TEST(active_cached_and_peak_bytes)
{
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "");
    void *pointer = alloc_ok(f, MIB(2));
    expect_cache(f, MIB(2), 0);
    free_ok(f, pointer);
    expect_cache(f, 0, MIB(2));
    expect_u64(cache_stats_of(f).peak_active_bytes, MIB(2));
    expect_u64(cache_stats_of(f).peak_cached_bytes, MIB(2));
    expect_u64(clear_cache(f), 1);
    expect_cache(f, 0, 0);
    expect_u64(reserved_bytes(f), 0);
    step_ok(f, cuarena_reset_peaks(f->arena));
    expect_u64(cache_stats_of(f).peak_active_bytes, 0);
    expect_u64(cache_stats_of(f).peak_cached_bytes, 0);
}
END_TEST

/* A clear of a cache, and the thread that lets the work behind it go on. */
typedef struct clearing {
    cuarena_t *arena;
    uint64_t host_waits; /* before the clear */
    waiter_t waiter;     /* who clears */
    bool waited;
} clearing_t;

/* The work goes on when the clear waits for it, or is over without that. A real driver may wait
 * without sleep: there it is enough that the arena counts a wait, which it does as it begins. */
static void *let_go_of_who_waits(void *user)
{
    clearing_t *c = user;
    bool waits = false;
    while (!waits && !atomic_load(&c->waiter.over)) {
        (void)sched_yield();
        waits = arena_stats(c->arena).host_waits != c->host_waits;
    }
    c->waited = waits && (!standin_is_here() || falls_asleep(&c->waiter));
    cuda_work.let_go();
    return NULL;
}

/* As theirs waits for the tasks of its CPU streams. */
START_TEST(clear_waits_for_work_behind_cached_blocks)
{
    pthread_t thread;
    uint64_t blocks = 0;
    fixture_t *f = opened_cache(_i, STREAMS_ONE, "");
    void *pointer = alloc_ok(f, MIB(2));
    paint(f, pointer, MIB(2), 1);
    cuda_work.hold(0);
    free_ok(f, pointer);
    expect_cache(f, 0, MIB(2));
    clearing_t c = {.arena = f->arena, .host_waits = arena_stats(f->arena).host_waits};
    ck_assert_int_eq(pthread_create(&thread, NULL, let_go_of_who_waits, &c), 0);
    waiter_begin(&c.waiter);
    cuarena_status_t status = cuarena_cache_clear(f->arena, &blocks);
    waiter_end(&c.waiter);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    step_ok(f, status);
    ck_assert(c.waited);
    expect_u64(blocks, 1);
    expect_u64(reserved_bytes(f), 0);
}
END_TEST

/* ---- Their rules --------------------------------------------------------- */

static const uint64_t asked_sizes[] = {1, 8, 9, 100, 6000, 16383, 16384, 16385, 65537, MIB(1)};
static const uint64_t cuda_sizes[] = {8, 8, 16, 128, 8192, 16384, 16384, 32768, 81920, MIB(1)};

START_TEST(sizes_are_those_of_the_preset)
{
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "");
    for (size_t i = 0; i < COUNT_OF(asked_sizes); i++) {
        uint64_t asked = asked_sizes[i];
        uint64_t want = is_cpu(f) ? (asked + 15) / 16 * 16 : cuda_sizes[i];
        void *pointer = alloc_ok(f, asked);
        expect_u64(allocated_bytes(f, pointer), want);
        expect_cache(f, want, 0);
        free_ok(f, pointer);
        (void)clear_cache(f);
    }
}
END_TEST

/* Of what the memory gave nothing lies idle. */
START_TEST(held_is_live_and_cached_where_segments_are_whole)
{
    void *at[6];
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "cache_limit=6MiB");
    for (int i = 0; i < 6; i++)
        at[i] = alloc_ok(f, MIB(2));
    expect_u64(reserved_bytes(f), MIB(12));
    for (int i = 0; i < 6; i++) {
        free_ok(f, at[i]);
        if (is_whole(f))
            expect_u64(reserved_bytes(f),
                       cache_stats_of(f).active_bytes + cache_stats_of(f).cached_bytes);
        expect_u64(cache_stats_of(f).cached_bytes, MIB(i < 3 ? 2 * (i + 1) : 6));
    }
    uint64_t blocks = 0;
    step_ok(f, cuarena_cache_release(f->arena, MIB(3), &blocks));
    expect_u64(blocks, 2);
    expect_u64(reserved_bytes(f), MIB(2));
}
END_TEST

START_TEST(only_a_late_bound_is_exceeded_by_one_block)
{
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "cache_limit=5MiB");
    void *a = alloc_ok(f, MIB(4));
    void *b = alloc_ok(f, MIB(4));
    free_ok(f, a);
    free_ok(f, b);
    expect_cache(f, 0, is_cpu(f) ? MIB(4) : MIB(8));
    void *c = alloc_ok(f, 64);
    uint64_t taken = allocated_bytes(f, c);
    expect_cache(f, taken, MIB(4)); /* the first recycled went */
    free_ok(f, c);
}
END_TEST

START_TEST(only_an_enforced_limit_evicts_before_a_miss)
{
    void *at[4];
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "soft_limit=8MiB,cache_limit=32MiB");
    for (int i = 0; i < 3; i++)
        at[i] = alloc_ok(f, MIB(2));
    for (int i = 0; i < 3; i++)
        free_ok(f, at[i]);
    void *more = alloc_ok(f, MIB(6)); /* 4 MiB above */
    expect_cache(f, MIB(6), is_cpu(f) ? MIB(6) : MIB(2));
    free_ok(f, more);
}
END_TEST

START_TEST(no_request_fails_while_cached_bytes_could_serve_it)
{
    for (int use = 0; use < STREAM_USES; use++) {
        fixture_t f;
        void *at[4];
        open_cache(&f, _i, (stream_use_t)use, "limit=16MiB");
        for (uint64_t i = 0; i < 4; i++) {
            at[i] = alloc_ok(&f, MIB(4));
            paint(&f, at[i], MIB(4), i);
        }
        for (int i = 0; i < 4; i++)
            free_ok(&f, at[i]);
        expect_cache(&f, 0, MIB(16));
        void *whole = alloc_ok(&f, MIB(16));
        paint(&f, whole, MIB(16), 9);
        expect_painted(&f, whole, MIB(16), 9);
        expect_cache(&f, MIB(16), 0);
        free_ok(&f, whole);
        close_cache(&f);
    }
}
END_TEST

/* ---- Streams ------------------------------------------------------------- */

#define LIVE 12

/* Contents are written and looked at on the stream of each block: whoever got one too early would
 * show. What was freed up to half of them is idle then, so something is reused however long the
 * work takes. */
START_TEST(contents_hold_whoever_reuses_them)
{
    for (int use = STREAMS_ONE; use < STREAM_USES; use++) {
        fixture_t f;
        void *at[LIVE] = {NULL};
        uint64_t bytes[LIVE] = {0};
        random_state_t random = {7 + (uint64_t)_i};
        uint64_t steps = scale_pick(60, 300, 3000);
        open_cache(&f, _i, (stream_use_t)use, "cache_limit=8MiB");
        for (uint64_t i = 0; i < steps; i++) {
            size_t n = random_below(&random, LIVE);
            if (i == steps / 2)
                finish_work(&f);
            if (at[n] != NULL) {
                expect_painted(&f, at[n], bytes[n], n);
                free_ok(&f, at[n]);
                at[n] = NULL;
                continue;
            }
            bytes[n] = 1 + random_below(&random, 3) * KIB(300);
            at[n] = alloc_ok(&f, bytes[n]);
            paint(&f, at[n], bytes[n], n);
        }
        ck_assert_uint_gt(cache_stats_of(&f).hits, 0);
        for (size_t n = 0; n < LIVE; n++)
            free_ok(&f, at[n]);
        finish_work(&f);
        close_cache(&f);
    }
}
END_TEST

/* ---- What may befall it -------------------------------------------------- */

/* A block of the cache stays there; one of the session is its own. */
START_TEST(a_capture_leaves_cached_blocks_alone)
{
    cuarena_capture_t *session = NULL;
    cuai_cu_graph_t graph = NULL;
    const cuda_test_t *cuda = cuda_test();
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "limit=64MiB");
    cuarena_stream_t s = cuda_work.stream(0);
    void *warm = NULL;
    step_ok(f, cuarena_alloc_on(f->arena, MIB(2), s, NULL, &warm));
    step_ok(f, cuarena_free_on(f->arena, warm, s));
    expect_cache(f, 0, MIB(2));
    expect_ok(cuarena_capture_begin(f->arena, s, &session));
    expect_cu(cuda->cuStreamBeginCapture(s, 0));
    void *inside = NULL;
    step_ok(f, cuarena_alloc_on(f->arena, MIB(2), s, NULL, &inside));
    ck_assert_ptr_ne(inside, warm);
    step_ok(f, cuarena_free_on(f->arena, inside, s));
    expect_u64(cache_stats_of(f).cached_blocks, 1);
    free_ok(f, alloc_ok(f, MIB(8))); /* beside it, and another one is cached */
    expect_u64(cache_stats_of(f).cached_blocks, 2);
    (void)cuarena_cache_release(f->arena, UINT64_MAX, NULL);
    expect_sound(f);
    expect_cu(cuda->cuStreamEndCapture(s, &graph));
    expect_cu(cuda->cuGraphDestroy(graph));
    step_ok(f, cuarena_capture_end(f->arena, session));
    step_ok(f, cuarena_capture_release(f->arena, &session, s));
    void *after = NULL;
    step_ok(f, cuarena_alloc_on(f->arena, MIB(2), s, NULL, &after));
    step_ok(f, cuarena_free_on(f->arena, after, s));
    (void)clear_cache(f);
    expect_u64(reserved_bytes(f), 0);
    step_ok(f, cuarena_release_stream(f->arena, s));
}
END_TEST

/* The session begins, and ends, with blocks of its stream in the cache. */
START_TEST(cached_blocks_of_a_captured_stream_can_end)
{
    cuarena_capture_t *session = NULL;
    cuai_cu_graph_t graph = NULL;
    const cuda_test_t *cuda = cuda_test();
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "limit=16MiB");
    cuarena_stream_t s = cuda_work.stream(0);
    void *warm = NULL;
    step_ok(f, cuarena_alloc_on(f->arena, MIB(8), s, NULL, &warm));
    cuda_work.fill(f, 0, warm, MIB(8), 1);
    step_ok(f, cuarena_free_on(f->arena, warm, s));
    expect_cu(cuda->cuStreamSynchronize(s));
    expect_ok(cuarena_capture_begin(f->arena, s, &session));
    expect_cu(cuda->cuStreamBeginCapture(s, 0));
    void *most = alloc_ok(f, MIB(16)); /* all that there may be */
    expect_cache(f, MIB(16), 0);
    free_ok(f, most);
    expect_cu(cuda->cuStreamEndCapture(s, &graph));
    expect_cu(cuda->cuGraphDestroy(graph));
    step_ok(f, cuarena_capture_end(f->arena, session));
    step_ok(f, cuarena_capture_release(f->arena, &session, s));
    step_ok(f, cuarena_release_stream(f->arena, s));
}
END_TEST

static void fill_cache(fixture_t *f)
{
    void *at[3];
    for (int i = 0; i < 3; i++)
        at[i] = alloc_ok(f, MIB(2));
    for (int i = 0; i < 3; i++)
        free_ok(f, at[i]);
    expect_u64(cache_stats_of(f).cached_bytes, MIB(6));
}

/* Frees work and cache nothing; what is cached serves nobody, and ends with the arena, without a
 * call of the driver. */
static void lose_cached_blocks(int kind, stream_use_t use)
{
    fixture_t f;
    void *pointer = NULL;
    uint64_t blocks = 0;
    open_cache(&f, kind, use, "limit=64MiB");
    cuarena_block_t live = alloc_block(&f, MIB(2));
    fill_cache(&f);
    standin->standin_lose_device(0, CUAI_CUDA_ERROR_ILLEGAL_ADDRESS);
    /* To another place: a cached block is next to it. */
    step(&f, cuarena_block_resize(f.arena, live, MIB(6)), CUARENA_LOST);
    step(&f, cuarena_alloc(f.arena, MIB(2), &pointer), CUARENA_LOST);
    step(&f, cuarena_cache_clear(f.arena, &blocks), CUARENA_LOST);
    step(&f, cuarena_cache_release(f.arena, 1, &blocks), CUARENA_LOST);
    standin->standin_counts_clear();
    step_ok(&f, cuarena_block_free(f.arena, live));
    expect_u64(standin->standin_calls(NULL), 0);
    expect_ok(cuarena_destroy_forced(&f.arena));
    if (use == STREAMS_NONE) /* else no call said which context it is yet */
        expect_u64(standin->standin_calls("cuMemFree") + standin->standin_calls("cuMemFreeAsync") +
                       standin->standin_calls("cuMemUnmap"),
                   0);
}

START_TEST(a_lost_arena_with_cached_blocks)
{
    int kind = _i / STREAM_USES;
    ck_assert(standin_is_here());
    lose_cached_blocks(kind, (stream_use_t)(_i % STREAM_USES));
}
END_TEST

/* What needs no driver works; the number of the first thing that was not so. */
static int live_on_in_child(cuarena_t *arena, void *live)
{
    cuarena_cache_stats_t stats;
    cuarena_cache_stats_init(&stats);
    if (cuarena_free(arena, live) != CUARENA_OK)
        return 1;
    if (cuarena_cache_stats(arena, &stats) != CUARENA_OK)
        return 2;
    if (cuarena_validate(arena, NULL, 0) != CUARENA_OK)
        return 3;
    if (cuarena_destroy_forced(&arena) != CUARENA_OK)
        return 4;
    if (standin_is_here() && standin->standin_report_count(0) != 0)
        return 5;
    return 0;
}

static void expect_child(pid_t child)
{
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
}

START_TEST(a_fork_while_blocks_are_cached)
{
    fixture_t *f = opened_cache(_i, STREAMS_NONE, "limit=64MiB");
    void *live = alloc_ok(f, MIB(2));
    paint(f, live, MIB(2), 5);
    fill_cache(f);
    for (int quiet = 0; quiet < 2; quiet++) { /* a child that calls nothing */
        pid_t child = fork();
        if (child == 0)
            _exit(quiet ? 0 : live_on_in_child(f->arena, live));
        expect_child(child);
    }
    expect_cache(f, MIB(2), MIB(6));
    expect_painted(f, live, MIB(2), 5);
    uint64_t hits = cache_stats_of(f).hits;
    void *again = alloc_ok(f, MIB(2));
    expect_u64(cache_stats_of(f).hits, hits + 1);
    free_ok(f, again);
    free_ok(f, live);
    expect_u64(clear_cache(f), 4);
    expect_u64(reserved_bytes(f), 0);
}
END_TEST

/* ---- The list ------------------------------------------------------------ */

static void add_tests(Suite *suite, const char *name, const TTest *const *test)
{
    TCase *tcase = new_case(suite, name);
    for (; *test != NULL; test++)
        tcase_add_loop_test(tcase, *test, 0, KINDS);
}

int main(void)
{
    Suite *suite = suite_create("CUDA, cache");
    add_tests(suite, "MLX's own",
              TEST_LIST(basic_sizes_come_and_go, a_hundred_large_buffers_one_after_the_other,
                        a_reused_buffer_keeps_its_capacity, limits_return_what_they_were,
                        nothing_is_cached_with_a_limit_of_0, active_cached_and_peak_bytes,
                        clear_waits_for_work_behind_cached_blocks));
    add_tests(
        suite, "rules",
        TEST_LIST(
            sizes_are_those_of_the_preset, held_is_live_and_cached_where_segments_are_whole,
            only_a_late_bound_is_exceeded_by_one_block, only_an_enforced_limit_evicts_before_a_miss,
            no_request_fails_while_cached_bytes_could_serve_it, contents_hold_whoever_reuses_them));
    add_tests(suite, "beside it",
              TEST_LIST(a_capture_leaves_cached_blocks_alone,
                        cached_blocks_of_a_captured_stream_can_end,
                        a_fork_while_blocks_are_cached));
    TCase *lost = new_case(suite, "lost");
    if (driver_is_standin_for("a_lost_arena_with_cached_blocks"))
        for (int i = 0; i < KINDS; i++)
            if (kind_of(i)->memory != CUARENA_MEMORY_PAGEABLE)
                tcase_add_loop_test(lost, a_lost_arena_with_cached_blocks, i * STREAM_USES,
                                    (i + 1) * STREAM_USES);
    return cuda_kinds_main(suite);
}
