/*
 * Graphs on blocks of an arena, on the stand-in driver and on a real one: captures during which the
 * arena is used as ever, graphs that are launched again and again beside eager work and
 * compactions, and captures that fail.
 *
 * That a graph comes out of a capture shows that the arena made no call that would have ended it;
 * the stand-in reports accesses that nothing orders.
 */
#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/graph_bench.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Replays ----------------------------------------------------------- */

/* A graph that writes a pattern, hands it on from block to block, each freed when it is done, and
 * leaves it in `out`, which lives. */
static void *capture_chain(fixture_t *f, uint64_t seed)
{
    void *in = alloc_on(f, BENCH_BYTES, bench.s);
    fill(in, BENCH_BYTES, seed, bench.s);
    void *next = alloc_on(f, BENCH_BYTES, bench.s);
    copy(next, in, bench.s);
    free_on(f, in, bench.s);
    void *over = alloc_on(f, BENCH_BYTES, bench.s); /* in the place of `in` */
    ck_assert_ptr_eq(over, in);
    fill(over, BENCH_BYTES, seed + 1, bench.s);
    check(over, BENCH_BYTES, seed + 1, bench.s);
    check(next, BENCH_BYTES, seed, bench.s);
    free_on(f, over, bench.s);
    void *out = alloc_on(f, 2 * BENCH_BYTES, bench.s);
    copy(out, next, bench.s);
    free_on(f, next, bench.s);
    return out;
}

static void replay(fixture_t *f, cuai_cu_graph_exec_t exec, void *out, uint64_t seed)
{
    eager_t eager = {.random = {seed}};
    uint64_t rounds = scale_pick(20, 60, 1000);
    for (uint64_t i = 0; i < rounds; i++) {
        fill(out, BENCH_BYTES, i, bench.s); /* the graph must write it anew */
        expect_cu(bench.cuda->cuGraphLaunch(exec, bench.s));
        eager_step(f, &eager, (int)i);
        check(out, BENCH_BYTES, seed, bench.s);
        eager_step(f, &eager, (int)i);
    }
    wait_for(bench.s);
    eager_end(f, &eager);
    expect_no_bad_bytes();
}

/* _i: the mode, and begun before or after the capture; on a pool, and on an arena that grows
 * meanwhile. */
START_TEST(a_graph_is_launched_beside_eager_work)
{
    for (int grows = 0; grows < 2; grows++) {
        fixture_t f;
        bool before = _i >= BENCH_MODES;
        cuarena_capture_t *session = NULL;
        open_graphs(&f, grows ? CUARENA_PRESET_GROW : CUARENA_PRESET_POOL);
        if (before)
            expect_ok(cuarena_capture_begin(f.arena, bench.s, &session));
        begin_capture(bench.s, _i % BENCH_MODES);
        if (!before)
            expect_ok(cuarena_capture_begin(f.arena, bench.s, &session));
        work_beside(&f);
        void *out = capture_chain(&f, 42);
        work_beside(&f);
        expect_status(cuarena_capture_end(f.arena, session), CUARENA_BUSY);
        cuai_cu_graph_exec_t exec = end_capture(bench.s);
        expect_ok(cuarena_capture_end(f.arena, session));
        expect_sound(&f);
        replay(&f, exec, out, 42);
        free_on(&f, out, bench.s); /* the session has it; the graph goes on */
        replay(&f, exec, out, 42);
        expect_cu(bench.cuda->cuGraphExecDestroy(exec));
        expect_ok(cuarena_capture_release(f.arena, &session, bench.s));
        expect_sound(&f);
        void *all = alloc_on(&f, MIB(60), bench.s);
        free_on(&f, all, bench.s);
        close_graphs(&f);
    }
}
END_TEST

/* Released to the stream of the launches, the bytes serve at once, behind
 * them; nobody waits. */
START_TEST(bytes_of_a_graph_serve_behind_its_last_launch)
{
    cuarena_capture_t *session = NULL;
    fixture_t *f = opened_graphs(CUARENA_PRESET_POOL);
    expect_ok(cuarena_capture_begin(f->arena, bench.s, &session));
    begin_capture(bench.s, 0);
    void *out = capture_chain(f, 7);
    cuai_cu_graph_exec_t exec = end_capture(bench.s);
    expect_ok(cuarena_capture_end(f->arena, session));
    wait_for(bench.s);
    for (int i = 0; i < 10; i++)
        expect_cu(bench.cuda->cuGraphLaunch(exec, bench.t)); /* not the captured one */
    check(out, BENCH_BYTES, 7, bench.t);
    free_on(f, out, bench.t);
    if (standin_is_here())
        standin->standin_counts_clear();
    expect_ok(cuarena_capture_release(f->arena, &session, bench.t));
    if (standin_is_here())
        expect_u64(standin->standin_syncs(), 0);
    void *p[4];
    for (int i = 0; i < 4; i++) {
        p[i] = alloc_on(f, BENCH_BYTES, bench.t);
        fill(p[i], BENCH_BYTES, 100 + (uint64_t)i, bench.t);
    }
    for (int i = 0; i < 4; i++) {
        check(p[i], BENCH_BYTES, 100 + (uint64_t)i, bench.t);
        free_on(f, p[i], bench.t);
    }
    wait_for(bench.t);
    expect_cu(bench.cuda->cuGraphExecDestroy(exec));
}
END_TEST

/* ---- Several streams, several sessions --------------------------------- */

static cuai_cu_event_t order(cuarena_stream_t earlier, cuarena_stream_t later)
{
    cuai_cu_event_t event = NULL;
    expect_cu(bench.cuda->cuEventCreate(&event, CUAI_CU_EVENT_DISABLE_TIMING));
    expect_cu(bench.cuda->cuEventRecord(event, earlier));
    expect_cu(bench.cuda->cuStreamWaitEvent(later, event, 0));
    return event;
}

/* Both branches of the graph allocate and free at will; the use of a block of the other is
 * recorded, and its bytes rest. */
START_TEST(streams_that_fork_and_join_reuse_their_own)
{
    cuarena_capture_t *session = NULL;
    fixture_t *f = opened_graphs(CUARENA_PRESET_POOL);
    expect_ok(cuarena_capture_begin(f->arena, bench.s, &session));
    begin_capture(bench.s, _i);
    void *shared = alloc_on(f, BENCH_BYTES, bench.s);
    fill(shared, BENCH_BYTES, 5, bench.s);
    cuai_cu_event_t fork = order(bench.s, bench.t);
    expect_ok(cuarena_capture_join(f->arena, session, bench.t));
    expect_ok(cuarena_record_use(f->arena, shared, bench.t));
    void *last[2];
    for (int i = 0; i < 6; i++) {
        cuarena_stream_t stream = i % 2 == 0 ? bench.s : bench.t;
        void *p = alloc_on(f, BENCH_BYTES, stream);
        if (i >= 2)
            ck_assert_ptr_eq(p, last[i % 2]);
        last[i % 2] = p;
        copy(p, shared, stream);
        check(p, BENCH_BYTES, 5, stream);
        fill(p, BENCH_BYTES, 50 + (uint64_t)i, stream);
        check(p, BENCH_BYTES, 50 + (uint64_t)i, stream);
        free_on(f, p, stream);
    }
    free_on(f, shared, bench.s);
    void *other = alloc_on(f, BENCH_BYTES, bench.s);
    ck_assert_ptr_ne(other, shared);
    free_on(f, other, bench.s);
    cuai_cu_event_t join = order(bench.t, bench.s);
    cuai_cu_graph_exec_t exec = end_capture(bench.s);
    expect_ok(cuarena_capture_end(f->arena, session));
    for (int i = 0; i < 20; i++)
        expect_cu(bench.cuda->cuGraphLaunch(exec, bench.s));
    wait_for(bench.s);
    expect_cu(bench.cuda->cuGraphExecDestroy(exec));
    expect_cu(bench.cuda->cuEventDestroy(fork));
    expect_cu(bench.cuda->cuEventDestroy(join));
    expect_ok(cuarena_capture_release(f->arena, &session, CUARENA_NO_STREAM));
}
END_TEST

/* At the same time, launched on different streams side by side. */
START_TEST(two_sessions_do_not_touch)
{
    cuarena_capture_t *session[2] = {NULL, NULL};
    cuai_cu_graph_exec_t exec[2];
    void *out[2];
    fixture_t *f = opened_graphs(CUARENA_PRESET_POOL);
    cuarena_stream_t streams[2] = {bench.s, bench.t};
    for (int i = 0; i < 2; i++) {
        expect_ok(cuarena_capture_begin(f->arena, streams[i], &session[i]));
        begin_capture(streams[i], 2);
    }
    for (uint64_t round = 0; round < 4; round++)
        for (int i = 0; i < 2; i++) {
            out[i] = alloc_on(f, BENCH_BYTES << round, streams[i]);
            fill(out[i], BENCH_BYTES, 10 * round + (uint64_t)i, streams[i]);
            check(out[i], BENCH_BYTES, 10 * round + (uint64_t)i, streams[i]);
            if (round != 3)
                free_on(f, out[i], streams[i]);
        }
    for (int i = 0; i < 2; i++) {
        exec[i] = end_capture(streams[i]);
        expect_ok(cuarena_capture_end(f->arena, session[i]));
    }
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < 2; i++)
            expect_cu(bench.cuda->cuGraphLaunch(exec[i], streams[i]));
    for (int i = 0; i < 2; i++) {
        check(out[i], BENCH_BYTES, 30 + (uint64_t)i, streams[i]);
        expect_ok(cuarena_capture_release(f->arena, &session[i], streams[i]));
        free_on(f, out[i], streams[i]);
        wait_for(streams[i]);
        expect_cu(bench.cuda->cuGraphExecDestroy(exec[i]));
    }
}
END_TEST

/* ---- What the driver does ---------------------------------------------- */

static int32_t captured(cuarena_stream_t stream)
{
    cuai_cu_capture_status_t status = 77;
    expect_cu(bench.cuda->cuStreamIsCapturing(stream, &status));
    return (int32_t)status;
}

static void abandon(cuarena_stream_t stream)
{
    cuai_cu_graph_t graph = NULL;
    ck_assert(bench.cuda->cuStreamEndCapture(stream, &graph) != CUAI_CUDA_SUCCESS);
    ck_assert_ptr_null(graph);
    ck_assert_int_eq(captured(stream), CUAI_CU_STREAM_CAPTURE_STATUS_NONE);
}

/* The library rests on this: an event of all work ends captures, asking the legacy stream does not,
 * and a failed one hides the stream's context. */
START_TEST(what_is_taken_for_granted_is_so)
{
    cuai_cu_event_t event = NULL;
    cuai_cu_capture_status_t status = 0;
    cuai_cu_context_t context = NULL;
    cuarena_stream_t blocking = NULL;
    (void)opened_graphs(CUARENA_PRESET_POOL);
    expect_cu(bench.cuda->cuStreamCreate(&blocking, 0));
    expect_cu(bench.cuda->cuEventCreate(&event, CUAI_CU_EVENT_DISABLE_TIMING));
    begin_capture(blocking, _i);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(bench.cuda->cuStreamIsCapturing(NULL, &status),
                         CUAI_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    ck_assert_int_eq(captured(blocking), CUAI_CU_STREAM_CAPTURE_STATUS_ACTIVE);
    expect_cu(bench.cuda->cuStreamGetCtx(blocking, &context));
    if (bench.cuda->cuCtxRecordEvent != NULL)
        ck_assert_int_eq(bench.cuda->cuCtxRecordEvent(cuda_test_current(), event),
                         CUAI_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    else
        ck_assert(bench.cuda->cuStreamSynchronize(blocking) != CUAI_CUDA_SUCCESS);
    ck_assert_int_eq(captured(blocking), CUAI_CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    ck_assert_int_eq(bench.cuda->cuStreamGetCtx(blocking, &context),
                     CUAI_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    abandon(blocking);
    expect_cu(bench.cuda->cuEventDestroy(event));
    expect_cu(bench.cuda->cuStreamDestroy(blocking));
}
END_TEST

/* ---- Captures that fail ------------------------------------------------ */

static void expect_failed_capture(void)
{
    cuai_cu_graph_t graph = NULL;
    cuai_cu_result_t result = bench.cuda->cuStreamEndCapture(bench.s, &graph);
    ck_assert_msg(result != CUAI_CUDA_SUCCESS, "the capture went well");
    ck_assert_ptr_null(graph);
}

/* A wait for the stream itself is illegal: the driver ends the capture. */
START_TEST(a_capture_that_failed_is_cleared_up)
{
    for (int how = 0; how < 2; how++) {
        fixture_t f;
        cuarena_capture_t *session = NULL;
        open_graphs(&f, CUARENA_PRESET_POOL);
        expect_ok(cuarena_capture_begin(f.arena, bench.s, &session));
        begin_capture(bench.s, _i);
        void *out = capture_chain(&f, 3);
        ck_assert(bench.cuda->cuStreamSynchronize(bench.s) != CUAI_CUDA_SUCCESS);
        void *more = alloc_on(&f, BENCH_BYTES, bench.s); /* serves, to no purpose */
        free_on(&f, more, bench.s);
        expect_status(cuarena_capture_end(f.arena, session), CUARENA_BUSY);
        expect_failed_capture();
        if (how == 0)
            expect_ok(cuarena_capture_end(f.arena, session));
        expect_ok(
            cuarena_capture_release(f.arena, &session, how == 0 ? bench.s : CUARENA_NO_STREAM));
        expect_sound(&f);
        fill(out, BENCH_BYTES, 4, bench.s); /* lives, as an ordinary block */
        check(out, BENCH_BYTES, 4, bench.s);
        free_on(&f, out, bench.s);
        wait_for(bench.s);
        void *all = alloc_on(&f, MIB(60), bench.s);
        free_on(&f, all, bench.s);
        begin_capture(bench.s, _i); /* the stream can be captured again */
        expect_ok(cuarena_capture_begin(f.arena, bench.s, &session));
        out = capture_chain(&f, 8);
        cuai_cu_graph_exec_t exec = end_capture(bench.s);
        expect_cu(bench.cuda->cuGraphLaunch(exec, bench.s));
        check(out, BENCH_BYTES, 8, bench.s);
        expect_ok(cuarena_capture_release(f.arena, &session, bench.s));
        free_on(&f, out, bench.s);
        wait_for(bench.s);
        expect_cu(bench.cuda->cuGraphExecDestroy(exec));
        close_graphs(&f);
    }
}
END_TEST

/* The same of one that no session covers, of a stream that is known and of one that is not. */
START_TEST(a_failed_capture_without_a_session_is_busy)
{
    void *none = NULL;
    cuarena_capture_t *session = NULL;
    fixture_t *f = opened_graphs(CUARENA_PRESET_POOL);
    void *p = alloc_on(f, BENCH_BYTES, bench.s);
    for (int i = 0; i < 2; i++) {
        cuarena_stream_t stream = i == 0 ? bench.s : bench.t;
        begin_capture(stream, _i);
        ck_assert(bench.cuda->cuStreamSynchronize(stream) != CUAI_CUDA_SUCCESS);
    }
    free_on(f, p, bench.s);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_status(cuarena_release_stream(f->arena, bench.s), CUARENA_BUSY);
    expect_message("cuStreamEndCapture");
    expect_status(cuarena_alloc_on(f->arena, BENCH_BYTES, bench.t, NULL, &none), CUARENA_BUSY);
    expect_status(cuarena_capture_begin(f->arena, bench.t, &session), CUARENA_BUSY);
    ck_assert_ptr_null(session);
    abandon(bench.s);
    abandon(bench.t);
    expect_ok(cuarena_release_stream(f->arena, bench.s));
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    void *all = alloc_on(f, MIB(60), bench.t);
    free_on(f, all, bench.t);
}
END_TEST

static cuarena_status_t end_it(cuarena_t *arena)
{
    cuarena_t *handle = arena;
    return cuarena_destroy(&handle);
}

static cuarena_status_t reset_it(cuarena_t *arena)
{
    return cuarena_reset(arena);
}

static cuarena_status_t trim_all_of_it(cuarena_t *arena)
{
    return cuarena_trim_on(arena, CUARENA_NO_STREAM, 0, NULL);
}

static cuarena_status_t move_its_pool(cuarena_t *arena)
{
    return cuarena_resize_pool(arena, MIB(16));
}

static const struct {
    cuarena_status_t (*call)(cuarena_t *arena);
    const char *options;
    bool reclaims; /* before the capture: else bytes that cannot become idle stand in the way */
} askers[] = {
    {end_it, "memory=device,pool=8MiB", false},
    {end_it, "memory=managed,preset=grow,limit=8MiB", false},
    {reset_it, "memory=device,backing=async,preset=grow,limit=8MiB", false},
    {trim_all_of_it, "preset=driver-pool", false},
    {move_its_pool, "memory=device,backing=malloc,pool=8MiB", true},
};

/* Older drivers have no event of all work: streams are asked one by one, and captures go on. */
static bool captures_end_over_all_work(void)
{
    return bench.cuda->cuCtxRecordEvent != NULL;
}

static void end_or_abandon(cuarena_stream_t stream)
{
    if (captures_end_over_all_work())
        abandon(stream);
    else
        expect_cu(bench.cuda->cuGraphExecDestroy(end_capture(stream)));
}

/* They ask about all work at once, since streams may be dead. The driver ends the capture over
 * that, and the error says so. */
START_TEST(what_asks_about_all_work_is_busy_beside_a_capture)
{
    void *p = NULL;
    bench = (graph_bench_t){.cuda = cuda_test()};
    (void)cuda_test_use_device(0);
    cuarena_stream_t stream = cuda_test_stream();
    cuarena_t *arena = arena_of(askers[_i / BENCH_MODES].options);
    expect_ok(cuarena_alloc_on(arena, BENCH_BYTES, stream, NULL, &p));
    expect_ok(cuarena_free_on(arena, p, stream));
    if (askers[_i / BENCH_MODES].reclaims)
        expect_ok(cuarena_reclaim(arena, 1, NULL));
    begin_capture(stream, _i % BENCH_MODES);
    expect_status(askers[_i / BENCH_MODES].call(arena), CUARENA_BUSY);
    if (captures_end_over_all_work())
        expect_message("captured");
    end_or_abandon(stream);
    expect_ok(askers[_i / BENCH_MODES].call(arena));
    if (askers[_i / BENCH_MODES].call != end_it)
        expect_ok(cuarena_destroy(&arena));
    expect_cu(bench.cuda->cuStreamDestroy(stream));
    expect_nothing_left();
}
END_TEST

static void *free_on_own_default(void *argument)
{
    void *p = NULL;
    (void)cuda_test_use_device(0);
    expect_ok(cuarena_alloc_on(argument, BENCH_BYTES, CUARENA_STREAM_PER_THREAD, NULL, &p));
    expect_ok(cuarena_free_on(argument, p, CUARENA_STREAM_PER_THREAD));
    return NULL;
}

/* Work of another thread's default stream needs such an event as well. A reclaim passes over what
 * it cannot record, but not over a capture that has ended. */
START_TEST(a_reclaim_that_ends_a_capture_says_so)
{
    pthread_t thread;
    ck_assert(standin_is_here());
    bench = (graph_bench_t){.cuda = cuda_test()};
    (void)cuda_test_use_device(0);
    cuarena_stream_t stream = cuda_test_stream();
    cuarena_t *arena = arena_of("memory=device,pool=8MiB");
    ck_assert_int_eq(pthread_create(&thread, NULL, free_on_own_default, arena), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    begin_capture(stream, _i);
    if (captures_end_over_all_work()) {
        expect_status(cuarena_reclaim(arena, 1, NULL), CUARENA_DRIVER);
        expect_message("capture has ended");
    } else {
        expect_ok(cuarena_reclaim(arena, 1, NULL));
    }
    end_or_abandon(stream);
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_ok(cuarena_destroy(&arena));
    expect_cu(bench.cuda->cuStreamDestroy(stream));
    expect_nothing_left();
}
END_TEST

/* ---- What must not end a capture --------------------------------------- */

/* The legacy stream waits for blocking streams: while one is captured, nothing may be recorded on
 * it. */
START_TEST(the_legacy_stream_is_left_alone)
{
    cuarena_capture_t *session = NULL;
    cuarena_stream_t blocking = NULL;
    fixture_t *f = opened_graphs(CUARENA_PRESET_POOL);
    expect_cu(bench.cuda->cuStreamCreate(&blocking, 0));
    void *p = alloc_on(f, BENCH_BYTES, NULL);
    fill(p, BENCH_BYTES, 1, NULL);
    void *q = alloc_on(f, BENCH_BYTES, bench.e);
    expect_ok(cuarena_record_use(f->arena, q, NULL));
    expect_ok(cuarena_capture_begin(f->arena, blocking, &session));
    begin_capture(blocking, _i);
    free_on(f, p, NULL);
    free_on(f, q, bench.e);
    expect_ok(cuarena_reclaim(f->arena, 0, NULL));
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_sound(f);
    void *mine = alloc_on(f, BENCH_BYTES, blocking);
    fill(mine, BENCH_BYTES, 2, blocking);
    free_on(f, mine, blocking);
    cuai_cu_graph_exec_t exec = end_capture(blocking);
    expect_cu(bench.cuda->cuGraphLaunch(exec, blocking));
    expect_ok(cuarena_capture_release(f->arena, &session, blocking));
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_u64(stats_of(f).free_bytes, stats_of(f).capacity_bytes - 768);
    wait_for(blocking);
    expect_cu(bench.cuda->cuGraphExecDestroy(exec));
    expect_ok(cuarena_release_stream(f->arena, blocking));
    expect_cu(bench.cuda->cuStreamDestroy(blocking));
}
END_TEST

static void *use_default_stream(void *user)
{
    fixture_t *f = user;
    cuai_cu_context_t context = cuda_test_use_device(0);
    ck_assert_ptr_nonnull(context);
    void *p = alloc_on(f, BENCH_BYTES, CUARENA_STREAM_PER_THREAD);
    fill(p, BENCH_BYTES, 1, CUARENA_STREAM_PER_THREAD);
    void *q = alloc_on(f, BENCH_BYTES, bench.e);
    expect_ok(cuarena_record_use(f->arena, q, CUARENA_STREAM_PER_THREAD));
    free_on(f, p, CUARENA_STREAM_PER_THREAD);
    return q;
}

/* What another thread's default stream was given can be told by an event of all work only, which
 * ends captures. */
START_TEST(no_event_of_all_work_is_recorded)
{
    cuarena_capture_t *session = NULL;
    pthread_t thread;
    void *used = NULL;
    fixture_t *f = opened_graphs(CUARENA_PRESET_POOL);
    ck_assert_int_eq(pthread_create(&thread, NULL, use_default_stream, f), 0);
    ck_assert_int_eq(pthread_join(thread, &used), 0);
    expect_ok(cuarena_capture_begin(f->arena, bench.s, &session));
    begin_capture(bench.s, _i);
    free_on(f, used, bench.e);
    expect_ok(cuarena_reclaim(f->arena, 0, NULL));
    expect_ok(cuarena_trim(f->arena, UINT64_MAX, NULL));
    void *out = capture_chain(f, 3);
    cuai_cu_graph_exec_t exec = end_capture(bench.s);
    expect_ok(cuarena_capture_release(f->arena, &session, bench.s));
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    free_on(f, out, bench.s);
    expect_cu(bench.cuda->cuGraphExecDestroy(exec));
}
END_TEST

/* A capture of a stream that the arena knows and is not told about. */
START_TEST(captures_without_a_session_go_on)
{
    void *none = NULL;
    fixture_t *f = opened_graphs(CUARENA_PRESET_POOL);
    void *p = alloc_on(f, BENCH_BYTES, bench.s);
    fill(p, BENCH_BYTES, 1, bench.s);
    void *q = alloc_on(f, BENCH_BYTES, bench.e);
    expect_ok(cuarena_record_use(f->arena, q, bench.s));
    begin_capture(bench.s, _i);
    begin_capture(bench.t, 2);
    expect_status(cuarena_alloc_on(f->arena, BENCH_BYTES, bench.t, NULL, &none),
                  CUARENA_UNSUPPORTED);
    expect_message("cuarena_capture_begin");
    free_on(f, p, bench.s);
    free_on(f, q, bench.e);
    expect_status(cuarena_release_stream(f->arena, bench.s), CUARENA_BUSY);
    expect_message("being captured");
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = 1;
    expect_status(cuarena_alloc_on(f->arena, BENCH_BYTES, bench.s, &request, &none), CUARENA_BUSY);
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    cuarena_block_t row[2];
    for (int i = 0; i < 2; i++)
        expect_ok(cuarena_block_alloc(f->arena, BENCH_BYTES, &row[i]));
    expect_ok(cuarena_block_free(f->arena, row[0]));
    options.stream = bench.s;
    expect_status(cuarena_compact(f->arena, &options, NULL, NULL, NULL), CUARENA_BUSY);
    expect_status(cuarena_free(f->arena, &none), CUARENA_STALE);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_ok(cuarena_trim_on(f->arena, bench.s, 0, NULL));
    expect_message("no live block"); /* calls that succeed leave the last error */
    work_beside(f);
    expect_cu(bench.cuda->cuGraphExecDestroy(end_capture(bench.s)));
    expect_cu(bench.cuda->cuGraphExecDestroy(end_capture(bench.t)));
    expect_ok(cuarena_block_free(f->arena, row[1]));
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_u64(stats_of(f).free_bytes, stats_of(f).capacity_bytes - 768);
}
END_TEST

/* ---- Another process --------------------------------------------------- */

static int expect_there(cuarena_status_t got, cuarena_status_t want, const char *what)
{
    if (got == want)
        return 0;
    fprintf(stderr, "in the child: %s: expected %s, got %s\n", what, cuarena_status_name(want),
            cuarena_status_name(got));
    return 1;
}

/* What a forked process may do with what it inherited; how often it could not.
 */
static int live_on(fixture_t *f, cuarena_capture_t **open, cuarena_capture_t **ended, void *p)
{
    cuarena_t *arena = f->arena;
    int wrong =
        expect_there(cuarena_free_on(arena, p, bench.s), CUARENA_OK, "a private block's free");
    wrong += expect_there(cuarena_capture_end(arena, *open), CUARENA_OK, "the end");
    wrong += expect_there(cuarena_capture_release(arena, open, bench.s), CUARENA_OK,
                          "the release to a stream");
    wrong += expect_there(cuarena_capture_release(arena, ended, CUARENA_NO_STREAM), CUARENA_OK,
                          "the release to none");
    wrong += expect_there(cuarena_validate(arena, NULL, 0), CUARENA_OK, "the validator");
    wrong += expect_there(cuarena_destroy_forced(&f->arena), CUARENA_OK, "a forced end");
    return wrong;
}

/* Copies of a compaction are under way that the captured stream did not wait for. */
START_TEST(sessions_are_inherited_at_a_fork)
{
    int status = 0;
    cuarena_capture_t *session[2] = {NULL, NULL};
    fixture_t *f = opened_graphs(CUARENA_PRESET_POOL);
    cuarena_block_t row[2];
    for (int i = 0; i < 2; i++)
        expect_ok(cuarena_block_alloc_on(f->arena, BENCH_BYTES, bench.e, NULL, &row[i]));
    expect_ok(cuarena_capture_begin(f->arena, bench.t, &session[1]));
    void *q = alloc_on(f, BENCH_BYTES, bench.t);
    expect_ok(cuarena_capture_end(f->arena, session[1]));
    expect_ok(cuarena_capture_begin(f->arena, bench.s, &session[0]));
    void *p = alloc_on(f, BENCH_BYTES, bench.s);
    expect_ok(cuarena_block_free_on(f->arena, row[0], bench.e));
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = bench.e;
    expect_ok(cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    pid_t child = fork();
    if (child == 0)
        _exit(live_on(f, &session[0], &session[1], p));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    for (int i = 0; i < 2; i++)
        expect_ok(cuarena_capture_release(f->arena, &session[i], bench.s));
    free_on(f, p, bench.s);
    free_on(f, q, bench.s);
    expect_ok(cuarena_block_free_on(f->arena, row[1], bench.e));
}
END_TEST

/* ---- Every memory ------------------------------------------------------ */

START_TEST(every_memory_has_sessions)
{
    fixture_t f;
    cuarena_capture_t *session = NULL;
    cuai_cu_graph_t graph = NULL;
    const cuda_test_t *cuda = cuda_test();
    (void)cuda_test_use_device(0);
    cuarena_stream_t stream = NULL;
    expect_cu(cuda->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    fixture_open(&f, &cuda_kinds[_i], MIB(32));
    expect_cu(cuda->cuStreamBeginCapture(stream, 0));
    expect_ok(cuarena_capture_begin(f.arena, stream, &session));
    void *p[8];
    for (int i = 0; i < 8; i++) {
        step_ok(&f, cuarena_alloc_on(f.arena, MIB(1), stream, NULL, &p[i]));
        cuarena_block_t block = alloc_block(&f, MIB(1));
        free_block(&f, block);
    }
    for (int i = 0; i < 7; i++)
        step_ok(&f, cuarena_free_on(f.arena, p[i], stream));
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_capture_stats(f.arena, session, &stats));
    expect_u64(stats.live_bytes, MIB(1));
    expect_between(stats.capacity_bytes, MIB(8), MIB(16));
    step_ok(&f, cuarena_reclaim(f.arena, 1, NULL));
    step_ok(&f, cuarena_trim(f.arena, 0, NULL));
    expect_cu(cuda->cuStreamEndCapture(stream, &graph));
    expect_cu(cuda->cuGraphDestroy(graph));
    step_ok(&f, cuarena_capture_end(f.arena, session));
    expect_ok(cuarena_capture_stats(f.arena, session, &stats));
    expect_u64(stats.capacity_bytes, MIB(8));
    step_ok(&f, cuarena_capture_release(f.arena, &session, stream));
    step_ok(&f, cuarena_free_on(f.arena, p[7], stream));
    step_ok(&f, cuarena_release_stream(f.arena, stream));
    expect_cu(cuda->cuStreamDestroy(stream));
    step_ok(&f, cuarena_reclaim(f.arena, 1, NULL));
    fixture_close(&f);
    expect_no_report();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("captures");
    TCase *replays = new_case(suite, "replays");
    tcase_add_loop_test(replays, a_graph_is_launched_beside_eager_work, 0, 2 * BENCH_MODES);
    tcase_add_test(replays, bytes_of_a_graph_serve_behind_its_last_launch);
    tcase_add_loop_test(replays, streams_that_fork_and_join_reuse_their_own, 0, BENCH_MODES);
    tcase_add_test(replays, two_sessions_do_not_touch);
    TCase *left = new_case(suite, "left alone");
    tcase_add_loop_test(left, what_is_taken_for_granted_is_so, 0, BENCH_MODES);
    tcase_add_loop_test(left, a_capture_that_failed_is_cleared_up, 0, BENCH_MODES);
    tcase_add_loop_test(left, a_failed_capture_without_a_session_is_busy, 0, BENCH_MODES);
    tcase_add_loop_test(left, what_asks_about_all_work_is_busy_beside_a_capture, 0,
                        (int)COUNT_OF(askers) * BENCH_MODES);
    add_standin_test(left, a_reclaim_that_ends_a_capture_says_so, BENCH_MODES);
    tcase_add_loop_test(left, the_legacy_stream_is_left_alone, 0, BENCH_MODES);
    tcase_add_loop_test(left, no_event_of_all_work_is_recorded, 0, BENCH_MODES);
    tcase_add_loop_test(left, captures_without_a_session_go_on, 0, BENCH_MODES);
    tcase_add_test(left, sessions_are_inherited_at_a_fork);
    tcase_add_loop_test(new_case(suite, "memories"), every_memory_has_sessions, 0, CUDA_KIND_COUNT);
    return cuda_kinds_main(suite);
}
