/*
 * Guards where a device writes (debug.h): what kernels and copies of streams write beside a block
 * or to a freed one is found behind that work; graphs, which write at each launch, make no
 * findings; and a lost device is waited for by nobody.
 */
#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/graph_bench.h"

#include <stdio.h>

/* No tool is told of the blocks, or it would find what strays as well. */
#define GUARDED "memory=device,pool=64MiB,guard=64,fill=both,nvtx=off"

static fixture_t *open_guarded(const char *more)
{
    char options[160];
    (void)snprintf(options, sizeof options, "%s%s", GUARDED, more);
    return opened_graphs_with(options);
}

static uint64_t findings_of(fixture_t *f)
{
    uint64_t findings = UINT64_MAX;
    expect_ok(cuarena_check(f->arena, &findings));
    return findings;
}

/* Late work of a stream that writes where it should not. */
static void stray(const char *pointer, int64_t at, cuarena_stream_t stream)
{
    expect_cu(bench.cuda->cuMemsetD8Async(cu_pointer(pointer + at), 0x5a, 1, stream));
}

/* ---- Streams ----------------------------------------------------------- */

START_TEST(a_write_of_a_stream_is_found_at_the_free_on_it)
{
    fixture_t *f = open_guarded("");
    char *pointer = alloc_on(f, 1000, bench.s);
    fill(pointer, 1000 / 8 * 8, 1, bench.s);
    stray(pointer, 1000, bench.s);
    free_on(f, pointer, bench.s);
    expect_message("the bytes behind it were written, 0 bytes from its end: found 5a fd");
    expect_u64(findings_of(f), 1);
}
END_TEST

START_TEST(a_write_of_a_stream_is_found_by_the_check)
{
    fixture_t *f = open_guarded("");
    char *pointer = alloc_on(f, 1000, bench.s);
    stray(pointer, -2, bench.s);
    expect_status(cuarena_check(f->arena, NULL), CUARENA_CORRUPT);
    expect_message("1 bytes from its begin: found 5a fd, not fd");
    free_on(f, pointer, bench.s);
    expect_u64(findings_of(f), 1);
}
END_TEST

START_TEST(a_write_of_another_stream_that_was_recorded_is_found)
{
    fixture_t *f = open_guarded("");
    char *pointer = alloc_on(f, 1000, bench.s);
    wait_for(bench.s);
    expect_ok(cuarena_record_use(f->arena, pointer, bench.t));
    stray(pointer, 1005, bench.t);
    free_on(f, pointer, bench.s);
    expect_message("5 bytes from its end: found 5a fd");
    expect_u64(findings_of(f), 1);
}
END_TEST

START_TEST(a_write_of_a_stream_after_the_free_is_found)
{
    fixture_t *f = open_guarded(",quarantine=1MiB");
    expect_u64(findings_of(f), 0);
    uint64_t before = live_bytes(f);
    char *pointer = alloc_on(f, 1000, bench.s);
    free_on(f, pointer, bench.s);
    stray(pointer, 7, bench.s);
    wait_for(bench.s);
    expect_status(cuarena_check(f->arena, NULL), CUARENA_CORRUPT);
    expect_message("it was written after its free, 7 bytes behind its begin: found 5a dd");
    expect_u64(live_bytes(f), before);
}
END_TEST

/* Nothing of the blocks is looked at then. */
START_TEST(stacks_alone_make_nobody_wait)
{
    fixture_t *f = opened_graphs_with("memory=device,pool=64MiB,stacks=4");
    void *pointer = alloc_on(f, BENCH_BYTES, bench.s);
    fill(pointer, BENCH_BYTES, 1, bench.s);
    void *shorter = NULL;
    expect_ok(cuarena_resize_on(f->arena, pointer, BENCH_BYTES / 2, bench.s, &shorter));
    expect_ptr(shorter, pointer);
    expect_ok(cuarena_free_on(f->arena, shorter, bench.s));
    expect_u64(stats_of(f).host_waits, 0);
}
END_TEST

/* Compactions, steals and frees on three streams. */
START_TEST(work_of_streams_is_in_order_beside_guards)
{
    fixture_t *f = open_guarded(_i == 0 ? "" : ",quarantine=1MiB,stacks=4");
    eager_t eager = {.random = {1}};
    uint64_t rounds = scale_pick(60, 200, 2000);
    for (uint64_t i = 0; i < rounds; i++) {
        void *pointer = alloc_on(f, BENCH_BYTES, bench.s);
        fill(pointer, BENCH_BYTES, i, bench.s);
        eager_step(f, &eager, (int)i);
        check(pointer, BENCH_BYTES, i, bench.s);
        free_on(f, pointer, bench.s);
    }
    wait_for(bench.s);
    eager_end(f, &eager);
    expect_no_bad_bytes();
    expect_u64(findings_of(f), 0);
}
END_TEST

/* ---- Graphs ------------------------------------------------------------ */

/* Each launch writes to blocks in the places of others. */
START_TEST(launches_of_a_graph_make_no_findings)
{
    cuarena_capture_t *session = NULL;
    fixture_t *f = open_guarded(",quarantine=1MiB");
    void *before = alloc_on(f, BENCH_BYTES, bench.s);
    begin_capture(bench.s, 1);
    expect_ok(cuarena_capture_begin(f->arena, bench.s, &session));
    char *first = alloc_on(f, BENCH_BYTES, bench.s);
    fill(first, BENCH_BYTES, 1, bench.s);
    free_on(f, first, bench.s);
    char *second = alloc_on(f, BENCH_BYTES - 512, bench.s);
    fill(second, BENCH_BYTES - 512, 2, bench.s);
    cuai_cu_graph_exec_t exec = end_capture(bench.s);
    expect_ok(cuarena_capture_end(f->arena, session));
    for (int i = 0; i < 5; i++) {
        expect_cu(bench.cuda->cuGraphLaunch(exec, bench.s));
        free_on(f, alloc_on(f, BENCH_BYTES, bench.e), bench.e);
        expect_u64(findings_of(f), 0);
    }
    free_on(f, second, bench.s);
    free_on(f, before, bench.s);
    wait_for(bench.s);
    expect_cu(bench.cuda->cuGraphExecDestroy(exec));
    expect_ok(cuarena_capture_release(f->arena, &session, bench.s));
    expect_u64(findings_of(f), 0);
}
END_TEST

/* ---- A lost device ----------------------------------------------------- */

static const char *const entries[] = {"cuMemcpyDtoHAsync", "cuMemsetD8Async", "cuEventRecord"};

START_TEST(a_lost_device_is_waited_for_by_nobody)
{
    fixture_t f;
    ck_assert(standin_is_here());
    open_graphs_with(&f, GUARDED ",quarantine=1MiB");
    char *pointer = alloc_on(&f, 1000, bench.s);
    char *other = alloc_on(&f, 1000, bench.s);
    standin->standin_fail(entries[_i], 1, CUAI_CUDA_ERROR_ILLEGAL_ADDRESS, 1);
    expect_ok(cuarena_free_on(f.arena, pointer, bench.s));
    expect_status(cuarena_check(f.arena, NULL), CUARENA_LOST);
    expect_ok(cuarena_free_on(f.arena, other, bench.s));
    expect_ok(cuarena_destroy_forced(&f.arena));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guard_device");
    suite_add_list(suite, "streams",
                   TEST_LIST(a_write_of_a_stream_is_found_at_the_free_on_it,
                             a_write_of_a_stream_is_found_by_the_check,
                             a_write_of_another_stream_that_was_recorded_is_found,
                             a_write_of_a_stream_after_the_free_is_found,
                             stacks_alone_make_nobody_wait, launches_of_a_graph_make_no_findings));
    suite_add_rows(suite, "work", work_of_streams_is_in_order_beside_guards, 2);
    add_standin_test(suite_add_case(suite, "lost"), a_lost_device_is_waited_for_by_nobody,
                     COUNT_OF(entries));
    return cuda_kinds_main(suite);
}
