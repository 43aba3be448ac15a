/*
 * Graphs on blocks of an arena, on the stand-in driver and on a real one:
 * captures during which the arena is used as ever, graphs that are launched
 * again and again beside eager work and compactions, and captures that fail.
 *
 * That a graph comes out of a capture shows that the arena made no call that
 * would have ended it; the stand-in reports accesses that nothing orders.
 */
#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/test_kernels_ptx.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES KIB(64)
#define POOL MIB(64)
#define MODES 3 /* global, thread-local, relaxed */

/* ---- Support ----------------------------------------------------------- */

typedef struct bench {
    const cuda_test_t *cuda;
    cuai_cu_module_t module;
    cuai_cu_function_t fill;
    cuai_cu_function_t check;
    cuarena_t *arena;
    cuarena_stream_t s; /* is captured */
    cuarena_stream_t t; /* is forked into the capture, or captured too */
    cuarena_stream_t e; /* never is */
    void *bad[3];       /* of each stream: how many bytes were wrong */
} bench_t;

static cuarena_stream_t new_stream(const bench_t *b)
{
    cuarena_stream_t stream = NULL;
    expect_cu(b->cuda->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    return stream;
}

static void wait_for(const bench_t *b, cuarena_stream_t stream)
{
    expect_cu(b->cuda->cuStreamSynchronize(stream));
}

#define expect_sound_arena(b) expect_sound_here((b), __FILE__, __LINE__)
static void expect_sound_here(const bench_t *b, const char *file, int line)
{
    char text[256] = "";
    cuarena_validate(b->arena, text, sizeof text);
    if (text[0] != '\0')
        _ck_assert_failed(file, line, "validate", "%s", text);
    mark_point();
}

static cuarena_stats_t stats_now(const bench_t *b)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_stats(b->arena, CUARENA_REGION_ALL, &stats));
    return stats;
}

static void *take_on(const bench_t *b, uint64_t bytes, cuarena_stream_t stream)
{
    void *pointer = NULL;
    expect_ok(cuarena_alloc_on(b->arena, bytes, stream, NULL, &pointer));
    expect_sound_arena(b);
    return pointer;
}

static void free_on(const bench_t *b, void *pointer, cuarena_stream_t stream)
{
    expect_ok(cuarena_free_on(b->arena, pointer, stream));
    expect_sound_arena(b);
}

static void launch(const bench_t *b, cuai_cu_function_t kernel, void **params,
                   cuarena_stream_t stream)
{
    expect_cu(b->cuda->cuLaunchKernel(kernel, 4, 1, 1, 128, 1, 1, 0, stream,
                                      params, NULL));
}

static void fill(const bench_t *b, const void *at, uint64_t bytes,
                 uint64_t seed, cuarena_stream_t stream)
{
    uint64_t first = 0;
    launch(b, b->fill, (void *[]){&at, &bytes, &seed, &first}, stream);
}

static void check(const bench_t *b, const void *at, uint64_t bytes,
                  uint64_t seed, cuarena_stream_t stream)
{
    uint64_t first = 0;
    int which = stream == b->s ? 0 : stream == b->t ? 1 : 2;
    const void *bad = b->bad[which];
    launch(b, b->check, (void *[]){&at, &bytes, &seed, &first, &bad}, stream);
}

static void copy(const bench_t *b, void *to, const void *from,
                 cuarena_stream_t stream)
{
    expect_cu(b->cuda->cuMemcpyDtoDAsync((cuai_cu_pointer_t)(uintptr_t)to,
                                         (cuai_cu_pointer_t)(uintptr_t)from,
                                         BYTES, stream));
}

static void open_kernels(bench_t *b)
{
    expect_cu(b->cuda->cuModuleLoadDataEx(&b->module, test_kernels_ptx, 0, NULL,
                                          NULL));
    expect_cu(b->cuda->cuModuleGetFunction(&b->fill, b->module, "fill"));
    expect_cu(b->cuda->cuModuleGetFunction(&b->check, b->module, "check"));
}

/* Kernels load at their first launch, which must not come in a capture. */
static void open_bench(bench_t *b, int32_t preset)
{
    cuarena_config_t config;
    memset(b, 0, sizeof *b);
    b->cuda = cuda_test();
    (void)cuda_test_use_device(0);
    cuarena_config_init(&config);
    config.preset = preset;
    config.memory = CUARENA_MEMORY_DEVICE;
    config.pool = amount_of_bytes(POOL);
    config.limit = amount_of_bytes(2 * POOL);
    config.stable = amount_of_bytes(0);
    config.zero = zero_for_checkers();
    expect_ok(cuarena_create(&config, &b->arena));
    open_kernels(b);
    b->s = new_stream(b);
    b->t = new_stream(b);
    b->e = new_stream(b);
    for (int i = 0; i < 3; i++) {
        expect_ok(cuarena_alloc(b->arena, 256, &b->bad[i]));
        expect_cu(b->cuda->cuMemsetD8((cuai_cu_pointer_t)(uintptr_t)b->bad[i],
                                      0, 256));
    }
    expect_cu(b->cuda->cuCtxSynchronize());
    void *p = take_on(b, BYTES, b->e);
    fill(b, p, BYTES, 1, b->e);
    check(b, p, BYTES, 1, b->e);
    free_on(b, p, b->e);
    wait_for(b, b->e);
}

static void expect_no_bad_bytes(const bench_t *b)
{
    expect_cu(b->cuda->cuCtxSynchronize());
    for (int i = 0; i < 3; i++) {
        uint64_t wrong = 77;
        expect_cu(b->cuda->cuMemcpyDtoH(
            &wrong, (cuai_cu_pointer_t)(uintptr_t)b->bad[i], 8));
        expect_u64(wrong, 0);
    }
    expect_no_report();
}

/* Nothing but what open_bench took lives. */
static void close_bench(bench_t *b)
{
    expect_no_bad_bytes(b);
    for (int i = 0; i < 3; i++)
        expect_ok(cuarena_free(b->arena, b->bad[i]));
    expect_sound_arena(b);
    expect_ok(cuarena_destroy(&b->arena));
    cuarena_stream_t streams[] = {b->s, b->t, b->e};
    for (int i = 0; i < 3; i++)
        expect_cu(b->cuda->cuStreamDestroy(streams[i]));
    expect_cu(b->cuda->cuModuleUnload(b->module));
    expect_nothing_left();
}

static void begin_capture(const bench_t *b, cuarena_stream_t stream, int mode)
{
    expect_cu(
        b->cuda->cuStreamBeginCapture(stream, (cuai_cu_capture_mode_t)mode));
}

/* The capture is as it should be: a graph came out of it. */
static cuai_cu_graph_exec_t end_capture(const bench_t *b,
                                        cuarena_stream_t stream)
{
    cuai_cu_graph_t graph = NULL;
    cuai_cu_graph_exec_t exec = NULL;
    expect_cu(b->cuda->cuStreamEndCapture(stream, &graph));
    ck_assert_ptr_nonnull(graph);
    expect_cu(b->cuda->cuGraphInstantiateWithFlags(&exec, graph, 0));
    expect_cu(b->cuda->cuGraphDestroy(graph));
    return exec;
}

/* What a program does beside a capture, on this thread: every kind of call that
 * the arena needs the driver for. */
static void work_beside(const bench_t *b)
{
    cuarena_t *arena = b->arena;
    void *big = take_on(b, MIB(40), b->e); /* an arena that grows, grows */
    fill(b, big, MIB(1), 9, b->e);
    check(b, big, MIB(1), 9, b->e);
    cuarena_block_t row[4];
    for (int i = 0; i < 4; i++)
        expect_ok(cuarena_block_alloc_on(arena, BYTES, b->e, NULL, &row[i]));
    expect_ok(cuarena_block_free_on(arena, row[0], b->e));
    expect_ok(cuarena_block_free_on(arena, row[2], b->e));
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = b->e;
    expect_ok(cuarena_compact(arena, &options, NULL, NULL, NULL));
    options.stream = CUARENA_NO_STREAM;
    expect_ok(cuarena_compact(arena, &options, NULL, NULL, NULL));
    expect_ok(cuarena_block_free_on(arena, row[1], b->e));
    expect_ok(cuarena_block_free_on(arena, row[3], b->e));
    free_on(b, big, b->e);
    expect_ok(cuarena_settle(arena, 1, NULL));
    expect_ok(cuarena_trim(arena, 0, NULL));
    expect_sound_arena(b);
}

/* ---- Replays ----------------------------------------------------------- */

/* Eager blocks on the third stream, each with contents that are checked before
 * it is freed; every fourth time all that may move does. */
typedef struct eager {
    cuarena_block_t blocks[8];
    uint64_t seeds[8];
    random_state_t random;
} eager_t;

static void *pin_on(const bench_t *b, cuarena_block_t block)
{
    void *at = NULL;
    expect_ok(cuarena_block_pin_on(b->arena, block, b->e, &at));
    return at;
}

static void eager_step(const bench_t *b, eager_t *eager, int round)
{
    uint64_t i = random_below(&eager->random, 8);
    if (eager->blocks[i] != 0) {
        const void *at = pin_on(b, eager->blocks[i]);
        check(b, at, BYTES, eager->seeds[i], b->e);
        expect_ok(cuarena_block_unpin_on(b->arena, eager->blocks[i], b->e));
        expect_ok(cuarena_block_free_on(b->arena, eager->blocks[i], b->e));
        eager->blocks[i] = 0;
    } else {
        expect_ok(cuarena_block_alloc_on(b->arena, BYTES, b->e, NULL,
                                         &eager->blocks[i]));
        eager->seeds[i] = random_next(&eager->random);
        const void *at = pin_on(b, eager->blocks[i]);
        fill(b, at, BYTES, eager->seeds[i], b->e);
        expect_ok(cuarena_block_unpin_on(b->arena, eager->blocks[i], b->e));
    }
    if (round % 4 != 3)
        return;
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = b->e;
    expect_ok(cuarena_compact(b->arena, &options, NULL, NULL, NULL));
    expect_sound_arena(b);
}

static void eager_end(const bench_t *b, const eager_t *eager)
{
    for (int i = 0; i < 8; i++)
        if (eager->blocks[i] != 0)
            expect_ok(cuarena_block_free_on(b->arena, eager->blocks[i], b->e));
}

/* A graph that writes a pattern, hands it on from block to block, each freed
 * when it is done, and leaves it in `out`, which lives. */
static void *capture_chain(const bench_t *b, uint64_t seed)
{
    void *in = take_on(b, BYTES, b->s);
    fill(b, in, BYTES, seed, b->s);
    void *next = take_on(b, BYTES, b->s);
    copy(b, next, in, b->s);
    free_on(b, in, b->s);
    void *over = take_on(b, BYTES, b->s); /* in the place of `in` */
    ck_assert_ptr_eq(over, in);
    fill(b, over, BYTES, seed + 1, b->s);
    check(b, over, BYTES, seed + 1, b->s);
    check(b, next, BYTES, seed, b->s);
    free_on(b, over, b->s);
    void *out = take_on(b, 2 * BYTES, b->s);
    copy(b, out, next, b->s);
    free_on(b, next, b->s);
    return out;
}

static void replay(const bench_t *b, cuai_cu_graph_exec_t exec, void *out,
                   uint64_t seed)
{
    eager_t eager = {.random = {seed}};
    uint64_t rounds = scale_pick(20, 60, 1000);
    for (uint64_t i = 0; i < rounds; i++) {
        fill(b, out, BYTES, i, b->s); /* the graph must write it anew */
        expect_cu(b->cuda->cuGraphLaunch(exec, b->s));
        eager_step(b, &eager, (int)i);
        check(b, out, BYTES, seed, b->s);
        eager_step(b, &eager, (int)i);
    }
    wait_for(b, b->s);
    eager_end(b, &eager);
    expect_no_bad_bytes(b);
}

/* _i: the mode, and begun before or after the capture; on a pool, and on an
 * arena that grows meanwhile. */
START_TEST(a_graph_is_launched_beside_eager_work)
{
    for (int grows = 0; grows < 2; grows++) {
        bench_t b;
        bool before = _i >= MODES;
        cuarena_capture_t *session = NULL;
        open_bench(&b, grows ? CUARENA_PRESET_GROW : CUARENA_PRESET_POOL);
        if (before)
            expect_ok(cuarena_capture_begin(b.arena, b.s, &session));
        begin_capture(&b, b.s, _i % MODES);
        if (!before)
            expect_ok(cuarena_capture_begin(b.arena, b.s, &session));
        work_beside(&b);
        void *out = capture_chain(&b, 42);
        work_beside(&b);
        expect_status(cuarena_capture_end(b.arena, session), CUARENA_BUSY);
        cuai_cu_graph_exec_t exec = end_capture(&b, b.s);
        expect_ok(cuarena_capture_end(b.arena, session));
        expect_sound_arena(&b);
        replay(&b, exec, out, 42);
        free_on(&b, out, b.s); /* the session has it; the graph goes on */
        replay(&b, exec, out, 42);
        expect_cu(b.cuda->cuGraphExecDestroy(exec));
        expect_ok(cuarena_capture_release(b.arena, &session, b.s));
        expect_sound_arena(&b);
        void *all = take_on(&b, MIB(60), b.s);
        free_on(&b, all, b.s);
        close_bench(&b);
    }
}
END_TEST

/* Released to the stream of the launches, the bytes serve at once, behind
 * them; nobody waits. */
START_TEST(bytes_of_a_graph_serve_behind_its_last_launch)
{
    bench_t b;
    cuarena_capture_t *session = NULL;
    open_bench(&b, CUARENA_PRESET_POOL);
    expect_ok(cuarena_capture_begin(b.arena, b.s, &session));
    begin_capture(&b, b.s, 0);
    void *out = capture_chain(&b, 7);
    cuai_cu_graph_exec_t exec = end_capture(&b, b.s);
    expect_ok(cuarena_capture_end(b.arena, session));
    wait_for(&b, b.s);
    for (int i = 0; i < 10; i++)
        expect_cu(b.cuda->cuGraphLaunch(exec, b.t)); /* not the captured one */
    check(&b, out, BYTES, 7, b.t);
    free_on(&b, out, b.t);
    if (standin_is_here())
        standin->standin_counts_clear();
    expect_ok(cuarena_capture_release(b.arena, &session, b.t));
    if (standin_is_here())
        expect_u64(standin->standin_syncs(), 0);
    void *p[4];
    for (int i = 0; i < 4; i++) {
        p[i] = take_on(&b, BYTES, b.t);
        fill(&b, p[i], BYTES, 100 + (uint64_t)i, b.t);
    }
    for (int i = 0; i < 4; i++) {
        check(&b, p[i], BYTES, 100 + (uint64_t)i, b.t);
        free_on(&b, p[i], b.t);
    }
    wait_for(&b, b.t);
    expect_cu(b.cuda->cuGraphExecDestroy(exec));
    close_bench(&b);
}
END_TEST

/* ---- Several streams, several sessions --------------------------------- */

static cuai_cu_event_t order(const bench_t *b, cuarena_stream_t earlier,
                             cuarena_stream_t later)
{
    cuai_cu_event_t event = NULL;
    expect_cu(b->cuda->cuEventCreate(&event, CUAI_CU_EVENT_DISABLE_TIMING));
    expect_cu(b->cuda->cuEventRecord(event, earlier));
    expect_cu(b->cuda->cuStreamWaitEvent(later, event, 0));
    return event;
}

/* Both lanes of the graph allocate and free at will; a block that crosses is
 * recorded, and its bytes rest. */
START_TEST(streams_that_fork_and_join_reuse_their_own)
{
    bench_t b;
    cuarena_capture_t *session = NULL;
    open_bench(&b, CUARENA_PRESET_POOL);
    expect_ok(cuarena_capture_begin(b.arena, b.s, &session));
    begin_capture(&b, b.s, _i);
    void *shared = take_on(&b, BYTES, b.s);
    fill(&b, shared, BYTES, 5, b.s);
    cuai_cu_event_t fork = order(&b, b.s, b.t);
    expect_ok(cuarena_capture_join(b.arena, session, b.t));
    expect_ok(cuarena_record_use(b.arena, shared, b.t));
    void *last[2];
    for (int i = 0; i < 6; i++) {
        cuarena_stream_t stream = i % 2 == 0 ? b.s : b.t;
        void *p = take_on(&b, BYTES, stream);
        if (i >= 2)
            ck_assert_ptr_eq(p, last[i % 2]);
        last[i % 2] = p;
        copy(&b, p, shared, stream);
        check(&b, p, BYTES, 5, stream);
        fill(&b, p, BYTES, 50 + (uint64_t)i, stream);
        check(&b, p, BYTES, 50 + (uint64_t)i, stream);
        free_on(&b, p, stream);
    }
    free_on(&b, shared, b.s);
    void *other = take_on(&b, BYTES, b.s);
    ck_assert_ptr_ne(other, shared);
    free_on(&b, other, b.s);
    cuai_cu_event_t join = order(&b, b.t, b.s);
    cuai_cu_graph_exec_t exec = end_capture(&b, b.s);
    expect_ok(cuarena_capture_end(b.arena, session));
    for (int i = 0; i < 20; i++)
        expect_cu(b.cuda->cuGraphLaunch(exec, b.s));
    wait_for(&b, b.s);
    expect_cu(b.cuda->cuGraphExecDestroy(exec));
    expect_cu(b.cuda->cuEventDestroy(fork));
    expect_cu(b.cuda->cuEventDestroy(join));
    expect_ok(cuarena_capture_release(b.arena, &session, CUARENA_NO_STREAM));
    close_bench(&b);
}
END_TEST

/* At the same time, launched on different streams side by side. */
START_TEST(two_sessions_do_not_touch)
{
    bench_t b;
    cuarena_capture_t *session[2] = {NULL, NULL};
    cuai_cu_graph_exec_t exec[2];
    void *out[2];
    open_bench(&b, CUARENA_PRESET_POOL);
    cuarena_stream_t streams[2] = {b.s, b.t};
    for (int i = 0; i < 2; i++) {
        expect_ok(cuarena_capture_begin(b.arena, streams[i], &session[i]));
        begin_capture(&b, streams[i], 2);
    }
    for (uint64_t round = 0; round < 4; round++)
        for (int i = 0; i < 2; i++) {
            out[i] = take_on(&b, BYTES << round, streams[i]);
            fill(&b, out[i], BYTES, 10 * round + (uint64_t)i, streams[i]);
            check(&b, out[i], BYTES, 10 * round + (uint64_t)i, streams[i]);
            if (round != 3)
                free_on(&b, out[i], streams[i]);
        }
    for (int i = 0; i < 2; i++) {
        exec[i] = end_capture(&b, streams[i]);
        expect_ok(cuarena_capture_end(b.arena, session[i]));
    }
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < 2; i++)
            expect_cu(b.cuda->cuGraphLaunch(exec[i], streams[i]));
    for (int i = 0; i < 2; i++) {
        check(&b, out[i], BYTES, 30 + (uint64_t)i, streams[i]);
        expect_ok(cuarena_capture_release(b.arena, &session[i], streams[i]));
        free_on(&b, out[i], streams[i]);
        wait_for(&b, streams[i]);
        expect_cu(b.cuda->cuGraphExecDestroy(exec[i]));
    }
    close_bench(&b);
}
END_TEST

/* ---- What the driver does ---------------------------------------------- */

static int32_t captured(const bench_t *b, cuarena_stream_t stream)
{
    cuai_cu_capture_status_t status = 77;
    expect_cu(b->cuda->cuStreamIsCapturing(stream, &status));
    return (int32_t)status;
}

static void abandon(const bench_t *b, cuarena_stream_t stream)
{
    cuai_cu_graph_t graph = NULL;
    ck_assert(b->cuda->cuStreamEndCapture(stream, &graph) != CUAI_CUDA_SUCCESS);
    ck_assert_ptr_null(graph);
    ck_assert_int_eq(captured(b, stream), CUAI_CU_STREAM_CAPTURE_STATUS_NONE);
}

/* The library rests on this: a marker of all work ends captures, asking the
 * legacy stream does not, and a failed one hides the stream's context. */
START_TEST(what_is_taken_for_granted_is_so)
{
    bench_t b;
    cuai_cu_event_t event = NULL;
    cuai_cu_capture_status_t status = 0;
    cuai_cu_context_t context = NULL;
    cuarena_stream_t blocking = NULL;
    open_bench(&b, CUARENA_PRESET_POOL);
    expect_cu(b.cuda->cuStreamCreate(&blocking, 0));
    expect_cu(b.cuda->cuEventCreate(&event, CUAI_CU_EVENT_DISABLE_TIMING));
    begin_capture(&b, blocking, _i);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(b.cuda->cuStreamIsCapturing(NULL, &status),
                         CUAI_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    ck_assert_int_eq(captured(&b, blocking),
                     CUAI_CU_STREAM_CAPTURE_STATUS_ACTIVE);
    expect_cu(b.cuda->cuStreamGetCtx(blocking, &context));
    if (b.cuda->cuCtxRecordEvent != NULL)
        ck_assert_int_eq(b.cuda->cuCtxRecordEvent(cuda_test_current(), event),
                         CUAI_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    else
        ck_assert(b.cuda->cuStreamSynchronize(blocking) != CUAI_CUDA_SUCCESS);
    ck_assert_int_eq(captured(&b, blocking),
                     CUAI_CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    ck_assert_int_eq(b.cuda->cuStreamGetCtx(blocking, &context),
                     CUAI_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    abandon(&b, blocking);
    expect_cu(b.cuda->cuEventDestroy(event));
    expect_cu(b.cuda->cuStreamDestroy(blocking));
    close_bench(&b);
}
END_TEST

/* ---- Captures that fail ------------------------------------------------ */

static void expect_failed_capture(const bench_t *b)
{
    cuai_cu_graph_t graph = NULL;
    cuai_cu_result_t result = b->cuda->cuStreamEndCapture(b->s, &graph);
    ck_assert_msg(result != CUAI_CUDA_SUCCESS, "the capture went well");
    ck_assert_ptr_null(graph);
}

/* A wait for the stream itself is illegal: the driver ends the capture. */
START_TEST(a_capture_that_failed_is_cleared_up)
{
    for (int how = 0; how < 2; how++) {
        bench_t b;
        cuarena_capture_t *session = NULL;
        open_bench(&b, CUARENA_PRESET_POOL);
        expect_ok(cuarena_capture_begin(b.arena, b.s, &session));
        begin_capture(&b, b.s, _i);
        void *out = capture_chain(&b, 3);
        ck_assert(b.cuda->cuStreamSynchronize(b.s) != CUAI_CUDA_SUCCESS);
        void *more = take_on(&b, BYTES, b.s); /* serves, to no purpose */
        free_on(&b, more, b.s);
        expect_status(cuarena_capture_end(b.arena, session), CUARENA_BUSY);
        expect_failed_capture(&b);
        if (how == 0)
            expect_ok(cuarena_capture_end(b.arena, session));
        expect_ok(cuarena_capture_release(b.arena, &session,
                                          how == 0 ? b.s : CUARENA_NO_STREAM));
        expect_sound_arena(&b);
        fill(&b, out, BYTES, 4, b.s); /* lives, as an ordinary block */
        check(&b, out, BYTES, 4, b.s);
        free_on(&b, out, b.s);
        wait_for(&b, b.s);
        void *all = take_on(&b, MIB(60), b.s);
        free_on(&b, all, b.s);
        begin_capture(&b, b.s, _i); /* the stream can be captured again */
        expect_ok(cuarena_capture_begin(b.arena, b.s, &session));
        out = capture_chain(&b, 8);
        cuai_cu_graph_exec_t exec = end_capture(&b, b.s);
        expect_cu(b.cuda->cuGraphLaunch(exec, b.s));
        check(&b, out, BYTES, 8, b.s);
        expect_ok(cuarena_capture_release(b.arena, &session, b.s));
        free_on(&b, out, b.s);
        wait_for(&b, b.s);
        expect_cu(b.cuda->cuGraphExecDestroy(exec));
        close_bench(&b);
    }
}
END_TEST

/* The same of one that no session covers, of a stream that is known and of one
 * that is not. */
START_TEST(a_failed_capture_without_a_session_is_busy)
{
    bench_t b;
    void *none = NULL;
    cuarena_capture_t *session = NULL;
    open_bench(&b, CUARENA_PRESET_POOL);
    void *p = take_on(&b, BYTES, b.s);
    for (int i = 0; i < 2; i++) {
        cuarena_stream_t stream = i == 0 ? b.s : b.t;
        begin_capture(&b, stream, _i);
        ck_assert(b.cuda->cuStreamSynchronize(stream) != CUAI_CUDA_SUCCESS);
    }
    free_on(&b, p, b.s);
    expect_ok(cuarena_settle(b.arena, 1, NULL));
    expect_status(cuarena_release_stream(b.arena, b.s), CUARENA_BUSY);
    expect_message("cuStreamEndCapture");
    expect_status(cuarena_alloc_on(b.arena, BYTES, b.t, NULL, &none),
                  CUARENA_BUSY);
    expect_status(cuarena_capture_begin(b.arena, b.t, &session), CUARENA_BUSY);
    ck_assert_ptr_null(session);
    abandon(&b, b.s);
    abandon(&b, b.t);
    expect_ok(cuarena_release_stream(b.arena, b.s));
    expect_ok(cuarena_settle(b.arena, 1, NULL));
    void *all = take_on(&b, MIB(60), b.t);
    free_on(&b, all, b.t);
    close_bench(&b);
}
END_TEST

/* ---- What must not end a capture --------------------------------------- */

/* The legacy stream waits for blocking streams: while one is captured, nothing
 * may be recorded on it. */
START_TEST(the_legacy_stream_is_left_alone)
{
    bench_t b;
    cuarena_capture_t *session = NULL;
    cuarena_stream_t blocking = NULL;
    open_bench(&b, CUARENA_PRESET_POOL);
    expect_cu(b.cuda->cuStreamCreate(&blocking, 0));
    void *p = take_on(&b, BYTES, NULL);
    fill(&b, p, BYTES, 1, NULL);
    void *q = take_on(&b, BYTES, b.e);
    expect_ok(cuarena_record_use(b.arena, q, NULL));
    expect_ok(cuarena_capture_begin(b.arena, blocking, &session));
    begin_capture(&b, blocking, _i);
    free_on(&b, p, NULL);
    free_on(&b, q, b.e);
    expect_ok(cuarena_settle(b.arena, 0, NULL));
    expect_ok(cuarena_settle(b.arena, 1, NULL));
    expect_sound_arena(&b);
    void *mine = take_on(&b, BYTES, blocking);
    fill(&b, mine, BYTES, 2, blocking);
    free_on(&b, mine, blocking);
    cuai_cu_graph_exec_t exec = end_capture(&b, blocking);
    expect_cu(b.cuda->cuGraphLaunch(exec, blocking));
    expect_ok(cuarena_capture_release(b.arena, &session, blocking));
    expect_ok(cuarena_settle(b.arena, 1, NULL));
    expect_u64(stats_now(&b).free_bytes, stats_now(&b).capacity_bytes - 768);
    wait_for(&b, blocking);
    expect_cu(b.cuda->cuGraphExecDestroy(exec));
    expect_ok(cuarena_release_stream(b.arena, blocking));
    expect_cu(b.cuda->cuStreamDestroy(blocking));
    close_bench(&b);
}
END_TEST

static void *use_default_stream(void *user)
{
    const bench_t *b = user;
    cuai_cu_context_t context = cuda_test_use_device(0);
    ck_assert_ptr_nonnull(context);
    void *p = take_on(b, BYTES, CUARENA_STREAM_PER_THREAD);
    fill(b, p, BYTES, 1, CUARENA_STREAM_PER_THREAD);
    void *q = take_on(b, BYTES, b->e);
    expect_ok(cuarena_record_use(b->arena, q, CUARENA_STREAM_PER_THREAD));
    free_on(b, p, CUARENA_STREAM_PER_THREAD);
    return q;
}

/* What another thread's default stream was given can be told by a marker of all
 * work only, which ends captures. */
START_TEST(no_marker_of_all_work_is_recorded)
{
    bench_t b;
    cuarena_capture_t *session = NULL;
    pthread_t thread;
    void *used = NULL;
    open_bench(&b, CUARENA_PRESET_POOL);
    ck_assert_int_eq(pthread_create(&thread, NULL, use_default_stream, &b), 0);
    ck_assert_int_eq(pthread_join(thread, &used), 0);
    expect_ok(cuarena_capture_begin(b.arena, b.s, &session));
    begin_capture(&b, b.s, _i);
    free_on(&b, used, b.e);
    expect_ok(cuarena_settle(b.arena, 0, NULL));
    expect_ok(cuarena_trim(b.arena, UINT64_MAX, NULL));
    void *out = capture_chain(&b, 3);
    cuai_cu_graph_exec_t exec = end_capture(&b, b.s);
    expect_ok(cuarena_capture_release(b.arena, &session, b.s));
    expect_ok(cuarena_settle(b.arena, 1, NULL));
    free_on(&b, out, b.s);
    expect_cu(b.cuda->cuGraphExecDestroy(exec));
    close_bench(&b);
}
END_TEST

/* A capture of a stream that the arena knows and is not told about. */
START_TEST(captures_without_a_session_go_on)
{
    bench_t b;
    void *none = NULL;
    open_bench(&b, CUARENA_PRESET_POOL);
    void *p = take_on(&b, BYTES, b.s);
    fill(&b, p, BYTES, 1, b.s);
    void *q = take_on(&b, BYTES, b.e);
    expect_ok(cuarena_record_use(b.arena, q, b.s));
    begin_capture(&b, b.s, _i);
    begin_capture(&b, b.t, 2);
    expect_status(cuarena_alloc_on(b.arena, BYTES, b.t, NULL, &none),
                  CUARENA_UNSUPPORTED);
    expect_message("cuarena_capture_begin");
    free_on(&b, p, b.s);
    free_on(&b, q, b.e);
    expect_status(cuarena_release_stream(b.arena, b.s), CUARENA_BUSY);
    expect_message("being captured");
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = 1;
    expect_status(cuarena_alloc_on(b.arena, BYTES, b.s, &request, &none),
                  CUARENA_BUSY);
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    cuarena_block_t row[2];
    for (int i = 0; i < 2; i++)
        expect_ok(cuarena_block_alloc(b.arena, BYTES, &row[i]));
    expect_ok(cuarena_block_free(b.arena, row[0]));
    options.stream = b.s;
    expect_status(cuarena_compact(b.arena, &options, NULL, NULL, NULL),
                  CUARENA_BUSY);
    expect_ok(cuarena_settle(b.arena, 1, NULL));
    work_beside(&b);
    expect_cu(b.cuda->cuGraphExecDestroy(end_capture(&b, b.s)));
    expect_cu(b.cuda->cuGraphExecDestroy(end_capture(&b, b.t)));
    expect_ok(cuarena_block_free(b.arena, row[1]));
    expect_ok(cuarena_settle(b.arena, 1, NULL));
    expect_u64(stats_now(&b).free_bytes, stats_now(&b).capacity_bytes - 768);
    close_bench(&b);
}
END_TEST

/* ---- Another process --------------------------------------------------- */

static int expect_there(cuarena_status_t got, cuarena_status_t want,
                        const char *what)
{
    if (got == want)
        return 0;
    fprintf(stderr, "in the child: %s: expected %s, got %s\n", what,
            cuarena_status_name(want), cuarena_status_name(got));
    return 1;
}

/* What a forked process may do with what it inherited; how often it could not.
 */
static int live_on(bench_t *b, cuarena_capture_t **open,
                   cuarena_capture_t **ended, void *p)
{
    cuarena_t *arena = b->arena;
    int wrong = expect_there(cuarena_free_on(arena, p, b->s), CUARENA_OK,
                             "a private block's free");
    wrong +=
        expect_there(cuarena_capture_end(arena, *open), CUARENA_OK, "the end");
    wrong += expect_there(cuarena_capture_release(arena, open, b->s),
                          CUARENA_OK, "the release to a stream");
    wrong +=
        expect_there(cuarena_capture_release(arena, ended, CUARENA_NO_STREAM),
                     CUARENA_OK, "the release to none");
    wrong += expect_there(cuarena_validate(arena, NULL, 0), CUARENA_OK,
                          "the validator");
    wrong += expect_there(cuarena_destroy_forced(&b->arena), CUARENA_OK,
                          "a forced end");
    return wrong;
}

/* Copies of a compaction are under way that the captured stream did not wait
 * for. */
START_TEST(sessions_are_inherited_at_a_fork)
{
    bench_t b;
    int status = 0;
    cuarena_capture_t *session[2] = {NULL, NULL};
    open_bench(&b, CUARENA_PRESET_POOL);
    cuarena_block_t row[2];
    for (int i = 0; i < 2; i++)
        expect_ok(cuarena_block_alloc_on(b.arena, BYTES, b.e, NULL, &row[i]));
    expect_ok(cuarena_capture_begin(b.arena, b.t, &session[1]));
    void *q = take_on(&b, BYTES, b.t);
    expect_ok(cuarena_capture_end(b.arena, session[1]));
    expect_ok(cuarena_capture_begin(b.arena, b.s, &session[0]));
    void *p = take_on(&b, BYTES, b.s);
    expect_ok(cuarena_block_free_on(b.arena, row[0], b.e));
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = b.e;
    expect_ok(cuarena_compact(b.arena, &options, NULL, NULL, NULL));
    pid_t child = fork();
    if (child == 0)
        _exit(live_on(&b, &session[0], &session[1], p));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  "the child ended with %d", status);
    for (int i = 0; i < 2; i++)
        expect_ok(cuarena_capture_release(b.arena, &session[i], b.s));
    free_on(&b, p, b.s);
    free_on(&b, q, b.s);
    expect_ok(cuarena_block_free_on(b.arena, row[1], b.e));
    close_bench(&b);
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
        cuarena_block_t block = take_block(&f, MIB(1));
        drop_block(&f, block);
    }
    for (int i = 0; i < 7; i++)
        step_ok(&f, cuarena_free_on(f.arena, p[i], stream));
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_capture_stats(f.arena, session, &stats));
    expect_u64(stats.live_bytes, MIB(1));
    expect_between(stats.capacity_bytes, MIB(8), MIB(16));
    step_ok(&f, cuarena_settle(f.arena, 1, NULL));
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
    step_ok(&f, cuarena_settle(f.arena, 1, NULL));
    fixture_close(&f);
    expect_no_report();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("captures");
    TCase *replays = new_case(suite, "replays");
    tcase_add_loop_test(replays, a_graph_is_launched_beside_eager_work, 0,
                        2 * MODES);
    tcase_add_test(replays, bytes_of_a_graph_serve_behind_its_last_launch);
    tcase_add_loop_test(replays, streams_that_fork_and_join_reuse_their_own, 0,
                        MODES);
    tcase_add_test(replays, two_sessions_do_not_touch);
    TCase *left = new_case(suite, "left alone");
    tcase_add_loop_test(left, what_is_taken_for_granted_is_so, 0, MODES);
    tcase_add_loop_test(left, a_capture_that_failed_is_cleared_up, 0, MODES);
    tcase_add_loop_test(left, a_failed_capture_without_a_session_is_busy, 0,
                        MODES);
    tcase_add_loop_test(left, the_legacy_stream_is_left_alone, 0, MODES);
    tcase_add_loop_test(left, no_marker_of_all_work_is_recorded, 0, MODES);
    tcase_add_loop_test(left, captures_without_a_session_go_on, 0, MODES);
    tcase_add_test(left, sessions_are_inherited_at_a_fork);
    tcase_add_loop_test(new_case(suite, "memories"), every_memory_has_sessions,
                        0, CUDA_KIND_COUNT);
    return cuda_kinds_main(suite);
}
