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

static cuarena_capture_t *begin_session(fixture_t *f, cuarena_stream_t stream, int mode)
{
    cuarena_capture_t *session = NULL;
    expect_ok(cuarena_capture_begin(f->arena, stream, &session));
    begin_capture(stream, mode);
    return session;
}

/* The stream's work is done. */
static void expect_zeros(const void *at, bool host)
{
    static unsigned char bytes[BENCH_BYTES];
    static const unsigned char zeros[BENCH_BYTES];
    if (host)
        memcpy(bytes, at, sizeof bytes);
    else
        expect_cu(bench.cuda->cuMemcpyDtoH(bytes, (cuai_cu_pointer_t)(uintptr_t)at, sizeof bytes));
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
    fixture_t *f = opened_graphs_with(streams_only[_i % STREAMS_ONLY]);
    cuarena_capture_t *session = begin_session(f, bench.s, _i / STREAMS_ONLY);
    void *before = alloc_on(f, BENCH_BYTES, bench.s);
    fill(before, BENCH_BYTES, 9, bench.s);
    check(before, BENCH_BYTES, 9, bench.s);
    free_on(f, before, bench.s);
    void *p = ask_on(f, ZEROED, BENCH_BYTES, bench.s);
    ck_assert_ptr_eq(p, before);
    void *own = ask_on(f, ZEROED | DEDICATED, BENCH_BYTES, bench.s);
    cuai_cu_graph_exec_t exec = end_capture(bench.s);
    expect_ok(cuarena_capture_end(f->arena, session));
    eager_t eager = {.random = {3}};
    for (int round = 0; round < 10; round++) {
        fill(p, BENCH_BYTES, (uint64_t)round, bench.s);
        fill(own, BENCH_BYTES, (uint64_t)round, bench.s);
        expect_cu(bench.cuda->cuGraphLaunch(exec, bench.s));
        eager_step(f, &eager, round);
        wait_for(bench.s);
        expect_zeros(p, host);
        expect_zeros(own, host);
    }
    wait_for(bench.e);
    eager_end(f, &eager);
    expect_cu(bench.cuda->cuGraphExecDestroy(exec));
    free_on(f, p, bench.s);
    free_on(f, own, bench.s);
    release_to(f, &session, bench.s);
    step_ok(f, cuarena_reclaim(f->arena, 1, NULL));
}
END_TEST

/* On memory that the CPU touches: before the call returns, and no more. */
START_TEST(zeros_for_the_cpu_are_there_at_once)
{
    static const char *const options[] = {"memory=pinned", "memory=managed"};
    for (int own = 0; own < 2; own++) {
        fixture_t f;
        open_graphs_with(&f, options[_i]);
        cuarena_capture_t *session = begin_session(&f, bench.s, 0);
        unsigned char *p =
            ask_on(&f, ZEROED | (own == 1 ? DEDICATED : PLAIN), BENCH_BYTES, bench.s);
        for (uint64_t i = 0; i < BENCH_BYTES; i++)
            ck_assert_msg(p[i] == 0, "byte %d is %d, expected 0", (int)i, p[i]);
        check(p, BENCH_BYTES, 7, bench.s);
        cuai_cu_graph_exec_t exec = end_capture(bench.s);
        expect_ok(cuarena_capture_end(f.arena, session));
        fill(p, BENCH_BYTES, 7, bench.e);
        wait_for(bench.e);
        for (int round = 0; round < 3; round++)
            expect_cu(bench.cuda->cuGraphLaunch(exec, bench.s));
        wait_for(bench.s);
        expect_cu(bench.cuda->cuGraphExecDestroy(exec));
        free_on(&f, p, bench.s);
        release_to(&f, &session, bench.s);
        step_ok(&f, cuarena_reclaim(f.arena, 1, NULL));
        close_graphs(&f);
    }
}
END_TEST

/* A captured stream of another context sets the bytes to 0 there. */
START_TEST(zeros_on_a_stream_of_another_context)
{
    fixture_t f;
    cuai_cu_context_t own = cuda_test_use_device(0);
    cuai_cu_context_t other = NULL;
    cuarena_stream_t stream = NULL;
    /* Before the arena, for compute-sanitizer forgets regions when a context is created. */
    expect_cu(cuda_test()->cuCtxCreate(&other, 0, 0));
    expect_cu(cuda_test()->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    expect_cu(cuda_test()->cuCtxSetCurrent(own));
    open_graphs(&f, CUARENA_PRESET_POOL);
    cuarena_capture_t *session = begin_session(&f, stream, 0);
    void *p = ask_on(&f, ZEROED, BENCH_BYTES, stream);
    cuai_cu_graph_exec_t exec = end_capture(stream);
    expect_ok(cuarena_capture_end(f.arena, session));
    fill(p, BENCH_BYTES, 5, bench.s);
    wait_for(bench.s);
    expect_cu(bench.cuda->cuGraphLaunch(exec, stream));
    expect_cu(bench.cuda->cuStreamSynchronize(stream));
    expect_zeros(p, false);
    expect_cu(bench.cuda->cuGraphExecDestroy(exec));
    free_on(&f, p, stream);
    release_to(&f, &session, CUARENA_NO_STREAM);
    expect_ok(cuarena_release_stream(f.arena, stream));
    expect_cu(bench.cuda->cuStreamDestroy(stream));
    expect_no_bad_bytes();
    for (int i = 0; i < 3; i++)
        expect_ok(cuarena_free(f.arena, bench.bad[i]));
    expect_ok(cuarena_destroy(&f.arena)); /* while the context is there */
    expect_cu(bench.cuda->cuCtxDestroy(other));
    expect_cu(bench.cuda->cuCtxSetCurrent(own));
    cuarena_stream_t streams[] = {bench.s, bench.t, bench.e};
    for (int i = 0; i < 3; i++)
        expect_cu(bench.cuda->cuStreamDestroy(streams[i]));
    expect_cu(bench.cuda->cuModuleUnload(bench.module));
    expect_nothing_left();
}
END_TEST

/* ---- Segments of their own --------------------------------------------- */

/* Freed in the capture, and used by each launch beside eager work and trims, until the release
 * behind the last one. _i: the mode. */
START_TEST(a_graph_uses_a_dedicated_block_that_was_freed)
{
    for (int heir = 0; heir < 2; heir++) {
        fixture_t f;
        open_graphs(&f, CUARENA_PRESET_GROW);
        uint64_t others = stats_of(&f).dedicated_bytes;
        cuarena_capture_t *session = begin_session(&f, bench.s, _i);
        work_beside(&f);
        void *own = ask_on(&f, ZEROED | DEDICATED, BENCH_BYTES, bench.s);
        fill(own, BENCH_BYTES, 4, bench.s);
        void *out = alloc_on(&f, BENCH_BYTES, bench.s);
        copy(out, own, bench.s);
        free_on(&f, own, bench.s);
        work_beside(&f);
        cuai_cu_graph_exec_t exec = end_capture(bench.s);
        expect_ok(cuarena_capture_end(f.arena, session));
        uint64_t held = stats_of(&f).dedicated_bytes;
        ck_assert_uint_gt(held, others);
        eager_t eager = {.random = {5}};
        for (int round = 0; round < 12; round++) {
            fill(out, BENCH_BYTES, 77, bench.t);
            expect_cu(bench.cuda->cuGraphLaunch(exec, bench.t));
            check(out, BENCH_BYTES, 4, bench.t);
            eager_step(&f, &eager, round);
            if (round % 4 == 2)
                work_beside(&f);
        }
        expect_u64(stats_of(&f).dedicated_bytes, held);
        free_on(&f, out, bench.t);
        if (heir == 0) {
            wait_for(bench.t); /* the graph lives, and is launched no more */
            release_to(&f, &session, CUARENA_NO_STREAM);
            expect_u64(stats_of(&f).dedicated_bytes, others);
            expect_cu(bench.cuda->cuGraphExecDestroy(exec));
        } else {
            release_to(&f, &session, bench.t);
            step_ok(&f, cuarena_reclaim(f.arena, 1, NULL)); /* waits for the last launch */
            expect_u64(stats_of(&f).dedicated_bytes, others);
            expect_cu(bench.cuda->cuGraphExecDestroy(exec));
        }
        wait_for(bench.e);
        eager_end(&f, &eager);
        step_ok(&f, cuarena_reclaim(f.arena, 1, NULL));
        close_graphs(&f);
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
            fixture_t f;
            open_graphs_with(&f, "memory=device,backing=vmm,fd=try");
            cuarena_properties_t properties;
            cuarena_properties_init(&properties);
            expect_ok(cuarena_properties(f.arena, &properties));
            cuarena_capture_t *session = begin_session(&f, bench.s, 0);
            void *p = ask_on(&f, (own == 1 ? DEDICATED : PLAIN), BENCH_BYTES, bench.s);
            cuarena_block_t block = 0;
            expect_ok(cuarena_block_of(f.arena, p, &block));
            cuarena_export_options_t options;
            cuarena_export_options_init(&options);
            options.share_handles = 1;
            cuarena_export_piece_t pieces[4];
            size_t count = 0;
            cuarena_export_t *exported = NULL;
            if (properties.fd)
                expect_ok(cuarena_export(f.arena, block, &options, pieces, 4, &count, &exported));
            free_on(&f, p, bench.s);
            expect_cu(bench.cuda->cuGraphExecDestroy(end_capture(bench.s)));
            release_to(&f, &session, heir == 0 ? CUARENA_NO_STREAM : bench.t);
            step_ok(&f, cuarena_reclaim(f.arena, 1, NULL));
            if (properties.fd) {
                expect_u64(stats_of(&f).live_blocks, 3 + 1);
                expect_ok(cuarena_export_close(f.arena, &exported));
                expect_sound(&f);
            }
            for (size_t i = 0; i < count; i++)
                ck_assert_int_eq(close(pieces[i].fd), 0);
            step_ok(&f, cuarena_reclaim(f.arena, 1, NULL));
            expect_u64(stats_of(&f).live_blocks, 3);
            close_graphs(&f);
        }
}
END_TEST

/* ---- Captures that fail ------------------------------------------------ */

/* Zeros would be part of the graph, which will never be. */
START_TEST(a_capture_that_failed_gives_no_zeros)
{
    void *none = NULL;
    fixture_t *f = opened_graphs(CUARENA_PRESET_POOL);
    uint64_t before = held_by(f->arena);
    cuarena_capture_t *session = begin_session(f, bench.s, _i);
    void *own = ask_on(f, ZEROED | DEDICATED, BENCH_BYTES, bench.s);
    void *p = ask_on(f, ZEROED, BENCH_BYTES, bench.s);
    ck_assert(bench.cuda->cuStreamSynchronize(bench.s) != CUAI_CUDA_SUCCESS);
    for (int apart = 0; apart < 2; apart++) {
        expect_status(
            try_ask(f, ZEROED | (apart == 1 ? DEDICATED : PLAIN), BENCH_BYTES, bench.s, &none),
            CUARENA_BUSY);
        expect_message("has failed");
        ck_assert_ptr_null(none);
    }
    void *more = ask_on(f, DEDICATED, BENCH_BYTES, bench.s); /* serves, to no purpose */
    free_on(f, more, bench.s);
    free_on(f, own, bench.s);
    cuai_cu_graph_t graph = NULL;
    ck_assert(bench.cuda->cuStreamEndCapture(bench.s, &graph) != CUAI_CUDA_SUCCESS);
    ck_assert_ptr_null(graph);
    expect_ok(cuarena_capture_end(f->arena, session));
    release_to(f, &session, bench.s);
    free_on(f, p, bench.s);
    step_ok(f, cuarena_reclaim(f->arena, 1, NULL));
    expect_u64(held_by(f->arena), before);
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
        fixture_t f;
        void *p[3] = {NULL};
        open_graphs(&f, CUARENA_PRESET_POOL);
        uint64_t before = held_by(f.arena);
        cuarena_capture_t *session = begin_session(&f, bench.s, 0);
        ck_assert_int_eq(standin->standin_fail(entries[_i], nth, CUAI_CUDA_ERROR_OUT_OF_MEMORY, 0),
                         0);
        for (int i = 0; i < 3; i++)
            (void)try_ask(&f, (i != 1 ? ZEROED : PLAIN) | (i != 0 ? DEDICATED : PLAIN), BENCH_BYTES,
                          bench.s, &p[i]);
        standin->standin_fail_clear();
        cuai_cu_graph_t graph = NULL;
        expect_cu(bench.cuda->cuStreamEndCapture(bench.s, &graph));
        expect_cu(bench.cuda->cuGraphDestroy(graph));
        for (int i = 0; i < 3; i++)
            if (p[i] != NULL)
                free_on(&f, p[i], bench.s);
        expect_ok(cuarena_capture_end(f.arena, session));
        release_to(&f, &session, bench.s);
        step_ok(&f, cuarena_reclaim(f.arena, 1, NULL));
        expect_u64(held_by(f.arena), before);
        close_graphs(&f);
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
