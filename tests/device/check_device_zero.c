/*
 * zero=owner where a device reads: a kernel counts the bytes that are not 0 in what one tag left to
 * another, and in what passes between streams and capture sessions and those that have neither. The
 * kernel comes right behind the allocation, on its stream; nobody waits in between.
 */
#include "support/base_support.h"
#include "support/graph_bench.h"

#include <stdio.h>

/* Each kind of memory that a device reads. */
static const char *const memories[] = {
    "memory=device",
    "memory=device,backing=malloc",
    "memory=device,backing=vmm",
    "memory=device,backing=async",
    "memory=managed",
    "memory=pinned",
    "preset=grow,memory=device",
    "preset=bfc,memory=device",
    "preset=mlx-cuda",
    "preset=cupy-pool,memory=device",
};

/* Before a block there may be more of the arena, so that blocks change places. */
static const uint64_t sizes[] = {1, 1001, KIB(4), BENCH_BYTES, 3 * BENCH_BYTES + 77};

static fixture_t *opened_with(const char *memory, const char *zero)
{
    char options[160];
    (void)snprintf(options, sizeof options, "%s,pool=64MiB,zero=%s", memory, zero);
    return opened_graphs_with(options);
}

static fixture_t *opened_by_owner(const char *memory)
{
    return opened_with(memory, "owner");
}

static cuarena_tag_t tag_of(fixture_t *f, const char *name)
{
    cuarena_tag_t tag = 0;
    expect_ok(cuarena_tag(f->arena, name, &tag));
    return tag;
}

static void *alloc_as(fixture_t *f, uint64_t bytes, cuarena_tag_t tag, cuarena_stream_t stream)
{
    void *pointer = NULL;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.tag = tag;
    expect_ok(cuarena_alloc_on(f->arena, bytes, stream, &request, &pointer));
    return pointer;
}

/* Leaves contents in whatever blocks of these sizes may get. */
static void leave_secrets(fixture_t *f, cuarena_tag_t tag, cuarena_stream_t stream)
{
    void *pointers[16];
    for (size_t i = 0; i < COUNT_OF(pointers); i++) {
        pointers[i] = alloc_as(f, BENCH_BYTES, tag, stream);
        fill(pointers[i], BENCH_BYTES, i, stream);
    }
    for (size_t i = 0; i < COUNT_OF(pointers); i++)
        free_on(f, pointers[i], stream);
}

/* What was freed is everybody's at once: the CPU may touch some memories, where else nobody gets it
 * before the work on it is known to be done. */
static void reclaim_all(fixture_t *f)
{
    expect_cu(bench.cuda->cuCtxSynchronize());
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
}

static void look_as(fixture_t *f, cuarena_tag_t tag, cuarena_stream_t stream)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        void *pointer = alloc_as(f, sizes[i], tag, stream);
        check_zero(pointer, sizes[i], stream);
        fill(pointer, sizes[i], i, stream);
        free_on(f, pointer, stream);
    }
}

/* ---- Tags -------------------------------------------------------------- */

START_TEST(a_kernel_of_another_tag_reads_zeros)
{
    fixture_t *f = opened_by_owner(memories[_i]);
    cuarena_tag_t tags[] = {tag_of(f, "a"), tag_of(f, "b"), 0};
    for (size_t turn = 0; turn < 2 * COUNT_OF(tags); turn++) {
        leave_secrets(f, tags[turn % COUNT_OF(tags)], bench.s);
        if (turn % 2 == 1)
            reclaim_all(f);
        look_as(f, tags[(turn + 1) % COUNT_OF(tags)], bench.s);
    }
    expect_no_bad_bytes();
}
END_TEST

START_TEST(a_kernel_of_another_tag_on_another_stream_reads_zeros)
{
    fixture_t *f = opened_by_owner(memories[_i]);
    cuarena_tag_t a = tag_of(f, "a");
    cuarena_tag_t b = tag_of(f, "b");
    for (int turn = 0; turn < 3; turn++) {
        leave_secrets(f, a, bench.s);
        look_as(f, b, bench.t);
        leave_secrets(f, b, bench.t);
        reclaim_all(f);
        look_as(f, a, bench.e);
    }
    expect_no_bad_bytes();
}
END_TEST

START_TEST(a_kernel_reads_zeros_where_a_block_has_grown)
{
    fixture_t *f = opened_by_owner(memories[_i]);
    void *pointer = alloc_as(f, BENCH_BYTES, tag_of(f, "b"), bench.s);
    void *all = alloc_as(f, MIB(48), tag_of(f, "a"), bench.s); /* wherever a block grows to */
    fill(all, MIB(48), 1, bench.s);
    free_on(f, all, bench.s);
    reclaim_all(f);
    fill(pointer, BENCH_BYTES, 5, bench.s);
    for (uint64_t bytes = BENCH_BYTES; bytes < 4 * BENCH_BYTES; bytes += BENCH_BYTES) {
        cuarena_status_t status =
            cuarena_resize_on(f->arena, pointer, bytes + BENCH_BYTES, bench.s, &pointer);
        if (status == CUARENA_UNSUPPORTED)
            break;
        expect_ok(status);
        check(pointer, BENCH_BYTES, 5, bench.s);
        check_zero((char *)pointer + bytes, BENCH_BYTES, bench.s);
    }
    free_on(f, pointer, bench.s);
    expect_no_bad_bytes();
}
END_TEST

/* ---- Sessions ---------------------------------------------------------- */

/* A graph that looks for what others left, and leaves something. */
static cuai_cu_graph_exec_t capture_look(fixture_t *f, cuarena_capture_t **session, void **within)
{
    begin_capture(bench.s, 1);
    expect_ok(cuarena_capture_begin(f->arena, bench.s, session));
    *within = alloc_on(f, BENCH_BYTES, bench.s);
    check_zero(*within, BENCH_BYTES, bench.s);
    fill(*within, BENCH_BYTES, 4, bench.s);
    cuai_cu_graph_exec_t exec = end_capture(bench.s);
    expect_ok(cuarena_capture_end(f->arena, *session));
    return exec;
}

static void launch_and_release(fixture_t *f, cuai_cu_graph_exec_t exec, cuarena_capture_t **session,
                               void *within)
{
    expect_cu(bench.cuda->cuGraphLaunch(exec, bench.s));
    free_on(f, within, bench.s);
    wait_for(bench.s);
    expect_cu(bench.cuda->cuGraphExecDestroy(exec));
    expect_ok(cuarena_capture_release(f->arena, session, bench.s));
}

START_TEST(graphs_read_zeros_and_leave_none_of_their_bytes)
{
    fixture_t *f = opened_by_owner("memory=device");
    for (int turn = 0; turn < 3; turn++) {
        cuarena_capture_t *session = NULL;
        void *within;
        leave_secrets(f, 0, bench.s);
        wait_for(bench.s);
        cuai_cu_graph_exec_t exec = capture_look(f, &session, &within);
        launch_and_release(f, exec, &session, within);
        look_as(f, 0, bench.s);
        look_as(f, tag_of(f, "a"), bench.s);
    }
    expect_no_bad_bytes();
}
END_TEST

/* ---- That the kernel sees what is left --------------------------------- */

static uint64_t bad_bytes_found(void)
{
    uint64_t found = 0;
    wait_for(bench.s);
    expect_cu(bench.cuda->cuMemcpyDtoH(&found, cu_pointer(bench.bad[0]), sizeof found));
    expect_cu(bench.cuda->cuMemsetD8(cu_pointer(bench.bad[0]), 0, sizeof found));
    return found;
}

/* The same calls in an arena that sets nothing to 0. */
START_TEST(without_the_option_a_kernel_reads_what_was_left)
{
    fixture_t *f = opened_with("memory=device", "never");
    cuarena_tag_t b = tag_of(f, "b");
    leave_secrets(f, tag_of(f, "a"), bench.s);
    void *pointer = alloc_as(f, BENCH_BYTES, b, bench.s);
    check_zero(pointer, BENCH_BYTES, bench.s);
    ck_assert_uint_gt(bad_bytes_found(), BENCH_BYTES / 2);
    free_on(f, pointer, bench.s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("zero_device");
    suite_add_rows(suite, "tags", a_kernel_of_another_tag_reads_zeros, COUNT_OF(memories));
    suite_add_rows(suite, "streams", a_kernel_of_another_tag_on_another_stream_reads_zeros,
                   COUNT_OF(memories));
    suite_add_rows(suite, "growth", a_kernel_reads_zeros_where_a_block_has_grown,
                   COUNT_OF(memories));
    suite_add_list(suite, "sessions", TEST_LIST(graphs_read_zeros_and_leave_none_of_their_bytes));
    suite_add_list(suite, "control", TEST_LIST(without_the_option_a_kernel_reads_what_was_left));
    return cuda_kinds_main(suite);
}
