/*
 * Zeroed and dedicated requests in captures, on the stand-in driver and on a real one: what a graph
 * sets to 0 is 0 at each launch, and segments of their own stay for as long as graphs use them.
 */
#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/graph_bench.h"

#include <string.h>
#include <unistd.h>

/* ---- Support ----------------------------------------------------------- */

static cuarena_status_t try_ask(const graph_bench_t *b, bool zeroed, bool dedicated,
                                cuarena_stream_t stream, void **out)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = zeroed;
    request.dedicated = dedicated;
    cuarena_status_t status = cuarena_alloc_on(b->arena, BENCH_BYTES, stream, &request, out);
    expect_sound_arena(b);
    return status;
}

static void *ask_on(const graph_bench_t *b, bool zeroed, bool dedicated, cuarena_stream_t stream)
{
    void *p = NULL;
    expect_ok(try_ask(b, zeroed, dedicated, stream, &p));
    ck_assert_ptr_nonnull(p);
    return p;
}

static cuarena_capture_t *begin_on(const graph_bench_t *b, cuarena_stream_t stream, int mode)
{
    cuarena_capture_t *session = NULL;
    expect_ok(cuarena_capture_begin(b->arena, stream, &session));
    begin_capture(b, stream, mode);
    return session;
}

static void release_to(const graph_bench_t *b, cuarena_capture_t **session, cuarena_stream_t stream)
{
    expect_ok(cuarena_capture_release(b->arena, session, stream));
    expect_sound_arena(b);
}

static void reclaim(const graph_bench_t *b)
{
    expect_ok(cuarena_reclaim(b->arena, 1, NULL));
    expect_sound_arena(b);
}

/* The stream's work is done. */
static void expect_zeros(const graph_bench_t *b, const void *at, bool host)
{
    static unsigned char bytes[BENCH_BYTES];
    static const unsigned char zeros[BENCH_BYTES];
    if (host)
        memcpy(bytes, at, sizeof bytes);
    else
        expect_cu(b->cuda->cuMemcpyDtoH(bytes, (cuai_cu_pointer_t)(uintptr_t)at, sizeof bytes));
    ck_assert_msg(memcmp(bytes, zeros, sizeof bytes) == 0, "the block is not all 0");
}

/* ---- Zeros ------------------------------------------------------------- */

static const char *const streams_only[] = {
    "memory=device,backing=vmm", "memory=device,backing=malloc", "memory=device,backing=async",
    "memory=device,preset=grow", "memory=managed,device_only=1", "memory=pinned,device_only=1",
};
#define STREAMS_ONLY ((int)COUNT_OF(streams_only))

/* In the place of a block that the graph wrote to before, and written to between the launches. _i:
 * the memory, and the mode. */
START_TEST(zeros_are_there_at_each_launch)
{
    bool host = strstr(streams_only[_i % STREAMS_ONLY], "pinned") != NULL;
    graph_bench_t *b = opened_bench_with(streams_only[_i % STREAMS_ONLY]);
    cuarena_capture_t *session = begin_on(b, b->s, _i / STREAMS_ONLY);
    void *before = bench_take(b, BENCH_BYTES, b->s);
    fill(b, before, BENCH_BYTES, 9, b->s);
    check(b, before, BENCH_BYTES, 9, b->s);
    bench_free(b, before, b->s);
    void *p = ask_on(b, true, false, b->s);
    ck_assert_ptr_eq(p, before);
    void *own = ask_on(b, true, true, b->s);
    cuai_cu_graph_exec_t exec = end_capture(b, b->s);
    expect_ok(cuarena_capture_end(b->arena, session));
    eager_t eager = {.random = {3}};
    for (int round = 0; round < 10; round++) {
        fill(b, p, BENCH_BYTES, (uint64_t)round, b->s);
        fill(b, own, BENCH_BYTES, (uint64_t)round, b->s);
        expect_cu(b->cuda->cuGraphLaunch(exec, b->s));
        eager_step(b, &eager, round);
        wait_for(b, b->s);
        expect_zeros(b, p, host);
        expect_zeros(b, own, host);
    }
    wait_for(b, b->e);
    eager_end(b, &eager);
    expect_cu(b->cuda->cuGraphExecDestroy(exec));
    bench_free(b, p, b->s);
    bench_free(b, own, b->s);
    release_to(b, &session, b->s);
    reclaim(b);
}
END_TEST

/* On memory that the CPU touches: before the call returns, and no more. */
START_TEST(zeros_for_the_cpu_are_there_at_once)
{
    static const char *const options[] = {"memory=pinned", "memory=managed"};
    for (int own = 0; own < 2; own++) {
        graph_bench_t b;
        open_bench_with(&b, options[_i]);
        cuarena_capture_t *session = begin_on(&b, b.s, 0);
        unsigned char *p = ask_on(&b, true, own == 1, b.s);
        for (uint64_t i = 0; i < BENCH_BYTES; i++)
            ck_assert_msg(p[i] == 0, "byte %d is %d, expected 0", (int)i, p[i]);
        check(&b, p, BENCH_BYTES, 7, b.s);
        cuai_cu_graph_exec_t exec = end_capture(&b, b.s);
        expect_ok(cuarena_capture_end(b.arena, session));
        fill(&b, p, BENCH_BYTES, 7, b.e);
        wait_for(&b, b.e);
        for (int round = 0; round < 3; round++)
            expect_cu(b.cuda->cuGraphLaunch(exec, b.s));
        wait_for(&b, b.s);
        expect_cu(b.cuda->cuGraphExecDestroy(exec));
        bench_free(&b, p, b.s);
        release_to(&b, &session, b.s);
        reclaim(&b);
        close_bench(&b);
    }
}
END_TEST

/* A captured stream of another context sets the bytes to 0 there. */
START_TEST(zeros_on_a_stream_of_another_context)
{
    graph_bench_t b;
    open_bench(&b, CUARENA_PRESET_POOL);
    cuai_cu_context_t own = cuda_test_current();
    cuai_cu_context_t other = NULL;
    cuarena_stream_t stream = NULL;
    expect_cu(b.cuda->cuCtxCreate(&other, 0, 0));
    expect_cu(b.cuda->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    expect_cu(b.cuda->cuCtxSetCurrent(own));
    cuarena_capture_t *session = begin_on(&b, stream, 0);
    void *p = ask_on(&b, true, false, stream);
    cuai_cu_graph_exec_t exec = end_capture(&b, stream);
    expect_ok(cuarena_capture_end(b.arena, session));
    fill(&b, p, BENCH_BYTES, 5, b.s);
    wait_for(&b, b.s);
    expect_cu(b.cuda->cuGraphLaunch(exec, stream));
    expect_cu(b.cuda->cuStreamSynchronize(stream));
    expect_zeros(&b, p, false);
    expect_cu(b.cuda->cuGraphExecDestroy(exec));
    bench_free(&b, p, stream);
    release_to(&b, &session, CUARENA_NO_STREAM);
    expect_ok(cuarena_release_stream(b.arena, stream));
    expect_cu(b.cuda->cuStreamDestroy(stream));
    expect_no_bad_bytes(&b);
    for (int i = 0; i < 3; i++)
        expect_ok(cuarena_free(b.arena, b.bad[i]));
    expect_ok(cuarena_destroy(&b.arena)); /* while the context is there */
    expect_cu(b.cuda->cuCtxDestroy(other));
    expect_cu(b.cuda->cuCtxSetCurrent(own));
    cuarena_stream_t streams[] = {b.s, b.t, b.e};
    for (int i = 0; i < 3; i++)
        expect_cu(b.cuda->cuStreamDestroy(streams[i]));
    expect_cu(b.cuda->cuModuleUnload(b.module));
    expect_nothing_left();
}
END_TEST

/* ---- Segments of their own --------------------------------------------- */

/* Freed in the capture, and used by each launch beside eager work and trims, until the release
 * behind the last one. _i: the mode. */
START_TEST(a_graph_uses_a_dedicated_block_that_was_freed)
{
    for (int heir = 0; heir < 2; heir++) {
        graph_bench_t b;
        open_bench(&b, CUARENA_PRESET_GROW);
        uint64_t others = stats_now(&b).dedicated_bytes;
        cuarena_capture_t *session = begin_on(&b, b.s, _i);
        work_beside(&b);
        void *own = ask_on(&b, true, true, b.s);
        fill(&b, own, BENCH_BYTES, 4, b.s);
        void *out = bench_take(&b, BENCH_BYTES, b.s);
        copy(&b, out, own, b.s);
        bench_free(&b, own, b.s);
        work_beside(&b);
        cuai_cu_graph_exec_t exec = end_capture(&b, b.s);
        expect_ok(cuarena_capture_end(b.arena, session));
        uint64_t held = stats_now(&b).dedicated_bytes;
        ck_assert_uint_gt(held, others);
        eager_t eager = {.random = {5}};
        for (int round = 0; round < 12; round++) {
            fill(&b, out, BENCH_BYTES, 77, b.t);
            expect_cu(b.cuda->cuGraphLaunch(exec, b.t));
            check(&b, out, BENCH_BYTES, 4, b.t);
            eager_step(&b, &eager, round);
            if (round % 4 == 2)
                work_beside(&b);
        }
        expect_u64(stats_now(&b).dedicated_bytes, held);
        bench_free(&b, out, b.t);
        if (heir == 0) {
            wait_for(&b, b.t); /* the graph lives, and is launched no more */
            release_to(&b, &session, CUARENA_NO_STREAM);
            expect_u64(stats_now(&b).dedicated_bytes, others);
            expect_cu(b.cuda->cuGraphExecDestroy(exec));
        } else {
            release_to(&b, &session, b.t);
            reclaim(&b); /* waits for the last launch */
            expect_u64(stats_now(&b).dedicated_bytes, others);
            expect_cu(b.cuda->cuGraphExecDestroy(exec));
        }
        wait_for(&b, b.e);
        eager_end(&b, &eager);
        reclaim(&b);
        close_bench(&b);
    }
}
END_TEST

START_TEST(every_memory_gives_segments_to_captures)
{
    fixture_t f;
    cuarena_capture_t *session = NULL;
    cuai_cu_graph_t graph = NULL;
    const cuda_test_t *cuda = cuda_test();
    if (!(cuda_kinds[_i].traits & KIND_DEDICATES))
        return; /* bytes that the caller owns */
    (void)cuda_test_use_device(0);
    cuarena_stream_t stream = NULL;
    expect_cu(cuda->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    fixture_open(&f, &cuda_kinds[_i], MIB(32));
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    request.zeroed = 1;
    uint64_t before = held_by(f.arena);
    expect_cu(cuda->cuStreamBeginCapture(stream, _i % BENCH_MODES));
    step_ok(&f, cuarena_capture_begin(f.arena, stream, &session));
    void *p[2];
    for (int i = 0; i < 2; i++)
        step_ok(&f, cuarena_alloc_on(f.arena, MIB(1), stream, &request, &p[i]));
    uint64_t during = held_by(f.arena);
    ck_assert_uint_ge(during, before + MIB(2));
    step_ok(&f, cuarena_free_on(f.arena, p[0], stream));
    step_ok(&f, cuarena_reclaim(f.arena, 1, NULL));
    step_ok(&f, cuarena_trim(f.arena, 0, NULL));
    expect_cu(cuda->cuStreamEndCapture(stream, &graph));
    ck_assert_ptr_nonnull(graph);
    expect_cu(cuda->cuGraphDestroy(graph));
    step_ok(&f, cuarena_capture_end(f.arena, session));
    step_ok(&f, cuarena_reclaim(f.arena, 1, NULL));
    ck_assert_uint_ge(held_by(f.arena), MIB(2));
    step_ok(&f, cuarena_capture_release(f.arena, &session, stream));
    step_ok(&f, cuarena_free_on(f.arena, p[1], stream));
    step_ok(&f, cuarena_reclaim(f.arena, 1, NULL));
    ck_assert_uint_le(held_by(f.arena), before);
    step_ok(&f, cuarena_release_stream(f.arena, stream));
    expect_cu(cuda->cuStreamDestroy(stream));
    step_ok(&f, cuarena_reclaim(f.arena, 1, NULL));
    fixture_close(&f);
    expect_no_report();
}
END_TEST

/* Of private bytes, and a segment: exported, freed, released, closed. */
START_TEST(an_export_outlives_its_session)
{
    for (int heir = 0; heir < 2; heir++)
        for (int own = 0; own < 2; own++) {
            graph_bench_t b;
            open_bench_with(&b, "memory=device,backing=vmm,fd=try");
            cuarena_properties_t properties;
            cuarena_properties_init(&properties);
            expect_ok(cuarena_properties(b.arena, &properties));
            cuarena_capture_t *session = begin_on(&b, b.s, 0);
            void *p = ask_on(&b, false, own == 1, b.s);
            cuarena_block_t block = 0;
            expect_ok(cuarena_block_of(b.arena, p, &block));
            cuarena_export_options_t options;
            cuarena_export_options_init(&options);
            options.share_handles = 1;
            cuarena_export_piece_t pieces[4];
            size_t count = 0;
            cuarena_export_t *exported = NULL;
            if (properties.fd)
                expect_ok(cuarena_export(b.arena, block, &options, pieces, 4, &count, &exported));
            bench_free(&b, p, b.s);
            expect_cu(b.cuda->cuGraphExecDestroy(end_capture(&b, b.s)));
            release_to(&b, &session, heir == 0 ? CUARENA_NO_STREAM : b.t);
            reclaim(&b);
            if (properties.fd) {
                expect_u64(stats_now(&b).live_blocks, 3 + 1);
                expect_ok(cuarena_export_close(b.arena, &exported));
                expect_sound_arena(&b);
            }
            for (size_t i = 0; i < count; i++)
                ck_assert_int_eq(close(pieces[i].fd), 0);
            reclaim(&b);
            expect_u64(stats_now(&b).live_blocks, 3);
            close_bench(&b);
        }
}
END_TEST

/* ---- Captures that fail ------------------------------------------------ */

/* Zeros would be part of the graph, which will never be. */
START_TEST(a_capture_that_failed_gives_no_zeros)
{
    void *none = NULL;
    graph_bench_t *b = opened_bench(CUARENA_PRESET_POOL);
    uint64_t before = held_by(b->arena);
    cuarena_capture_t *session = begin_on(b, b->s, _i);
    void *own = ask_on(b, true, true, b->s);
    void *p = ask_on(b, true, false, b->s);
    ck_assert(b->cuda->cuStreamSynchronize(b->s) != CUAI_CUDA_SUCCESS);
    for (int apart = 0; apart < 2; apart++) {
        expect_status(try_ask(b, true, apart == 1, b->s, &none), CUARENA_BUSY);
        expect_message("has failed");
        ck_assert_ptr_null(none);
    }
    void *more = ask_on(b, false, true, b->s); /* serves, to no purpose */
    bench_free(b, more, b->s);
    bench_free(b, own, b->s);
    cuai_cu_graph_t graph = NULL;
    ck_assert(b->cuda->cuStreamEndCapture(b->s, &graph) != CUAI_CUDA_SUCCESS);
    ck_assert_ptr_null(graph);
    expect_ok(cuarena_capture_end(b->arena, session));
    release_to(b, &session, b->s);
    bench_free(b, p, b->s);
    reclaim(b);
    expect_u64(held_by(b->arena), before);
}
END_TEST

/* Calls that give or queue something fail, while a stream captures: what was begun is ended,
 * whatever became of it. */
START_TEST(whatever_call_fails_nothing_is_left)
{
    static const char *const entries[] = {
        "cuMemsetD32Async", "cuMemAddressReserve", "cuMemCreate",        "cuMemMap",
        "cuMemSetAccess",   "cuStreamGetCtx",      "cuStreamIsCapturing"};
    ck_assert(standin_is_here());
    for (uint64_t nth = 1; nth < 4; nth++) {
        graph_bench_t b;
        void *p[3] = {NULL};
        open_bench(&b, CUARENA_PRESET_POOL);
        uint64_t before = held_by(b.arena);
        cuarena_capture_t *session = begin_on(&b, b.s, 0);
        ck_assert_int_eq(standin->standin_fail(entries[_i], nth, CUAI_CUDA_ERROR_OUT_OF_MEMORY, 0),
                         0);
        for (int i = 0; i < 3; i++)
            (void)try_ask(&b, i != 1, i != 0, b.s, &p[i]);
        standin->standin_fail_clear();
        cuai_cu_graph_t graph = NULL;
        expect_cu(b.cuda->cuStreamEndCapture(b.s, &graph));
        expect_cu(b.cuda->cuGraphDestroy(graph));
        for (int i = 0; i < 3; i++)
            if (p[i] != NULL)
                bench_free(&b, p[i], b.s);
        expect_ok(cuarena_capture_end(b.arena, session));
        release_to(&b, &session, b.s);
        reclaim(&b);
        expect_u64(held_by(b.arena), before);
        close_bench(&b);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_asked");
    TCase *zeros = new_case(suite, "zeros");
    tcase_add_loop_test(zeros, zeros_are_there_at_each_launch, 0, STREAMS_ONLY * BENCH_MODES);
    tcase_add_loop_test(zeros, zeros_for_the_cpu_are_there_at_once, 0, 2);
    tcase_add_test(zeros, zeros_on_a_stream_of_another_context);
    TCase *own = new_case(suite, "dedicated");
    tcase_add_loop_test(own, a_graph_uses_a_dedicated_block_that_was_freed, 0, BENCH_MODES);
    tcase_add_test(own, an_export_outlives_its_session);
    tcase_add_loop_test(own, every_memory_gives_segments_to_captures, 0, CUDA_KIND_COUNT);
    TCase *failures = new_case(suite, "failures");
    tcase_add_loop_test(failures, a_capture_that_failed_gives_no_zeros, 0, BENCH_MODES);
    add_standin_test(failures, whatever_call_fails_nothing_is_left, 7);
    return cuda_kinds_main(suite);
}
