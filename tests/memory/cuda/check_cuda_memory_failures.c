/*
 * The memories of a device, without an arena, where the host has no memory or a call of the driver
 * fails: an error that says what, and nothing is left. For the stand-in driver; on a real one
 * little of it runs. See check_cuda_memory.c, and tests/device/check_device_answers.c for arenas.
 *
 * Looks inside, since no public call opens a memory without an arena (memory/memory.h).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/each_failure.h"
#include "support/memory_bench.h"

/* ---- A life ---------------------------------------------------------------
 */

static const char *const lives[] = {
    "memory=device,backing=vmm,handle=2MiB,pool=8MiB,fd=require",
    "memory=device,backing=vmm,device=1,pool=8MiB,peers=require",
    "memory=device,backing=malloc,rdma=try",
    "memory=device,backing=async",
    "memory=device,backing=async,driver_pool=own,device=1,peers=require",
    "memory=managed",
    "memory=pinned,mapped=1,portable=0",
    "memory=pinned,write_combined=1",
};

/* What is lived: a row's memory, or the bytes of `own_bytes`. */
static const char *options;
static void *own_bytes;
static int32_t own_kind;

static cuarena_config_t life_config(void)
{
    cuarena_config_t config = bench_config_of(options);
    if (own_bytes == NULL)
        return config;
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes = own_bytes;
    config.bytes_kind = own_kind;
    config.bytes_size = GRANULARITY;
    return config;
}

static void close_pieces(const cuarena_export_piece_t *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(close(pieces[i].fd), 0);
}

/* Two handles, if there are some. */
static cuarena_status_t export_all(const memory_bench_t *b)
{
    cuarena_export_piece_t pieces[2];
    size_t count = 0;
    if (b->memory.ops.export_range == NULL)
        return CUARENA_OK;
    cuarena_status_t status = b->memory.ops.export_range(b->memory.user, &b->segment, 0,
                                                         b->segment.bytes, pieces, 2, &count);
    close_pieces(pieces, count);
    return status;
}

static cuarena_status_t use(memory_bench_t *b)
{
    uint64_t left = 0;
    uint64_t bytes = own_bytes != NULL ? GRANULARITY : 2 * GRANULARITY;
    const cuarena_memory_ops_t *ops = &b->memory.ops;
    cuarena_status_t status = ops->available(b->memory.user, &left);
    if (status == CUARENA_OK)
        status = ops->get(b->memory.user, bytes, bytes, &b->segment);
    if (status != CUARENA_OK)
        return status;
    ck_assert_uint_ge(left, bytes);
    status = export_all(b);
    ops->give_back(b->memory.user, &b->segment);
    return status;
}

static cuarena_status_t live(void)
{
    memory_bench_t b = {.config = life_config()};
    cuarena_status_t status = cuai_memory_open(&b.config, &b.memory);
    if (status != CUARENA_OK)
        return status;
    status = use(&b);
    cuai_memory_close(&b.memory);
    return status;
}

static void choose_life(int row)
{
    options = lives[row];
    if (standin_is_here())
        standin->standin_configure("DEVICES", "2");
}

/* A property that is required, and tried in vain, is UNSUPPORTED. */
static bool is_told(cuarena_status_t status, cuai_cu_result_t result)
{
    return status == CUARENA_UNSUPPORTED ||
           status ==
               (result == CUAI_CUDA_ERROR_OUT_OF_MEMORY ? CUARENA_OUT_OF_MEMORY : CUARENA_DRIVER);
}

START_TEST(every_call_fails_once)
{
    choose_life(_i);
    ck_assert_int_ge(each_call_fails(live, CUAI_CUDA_ERROR_UNKNOWN, is_told), 10);
    expect_no_report();
}
END_TEST

START_TEST(each_refusal_of_the_host)
{
    choose_life(_i);
    each_allocation_fails(live);
    expect_nothing_left();
}
END_TEST

static const int32_t byte_kinds[] = {CUARENA_BYTES_DEVICE, CUARENA_BYTES_MANAGED,
                                     CUARENA_BYTES_PINNED};

START_TEST(each_failure_with_bytes_of_the_callers)
{
    choose_life(0);
    options = "preset=pool";
    own_kind = byte_kinds[_i];
    own_bytes = arena_reach->alloc_bytes(own_kind, GRANULARITY);
    ck_assert_ptr_nonnull(own_bytes);
    each_allocation_fails(live);
    ck_assert_int_ge(each_call_fails(live, CUAI_CUDA_ERROR_UNKNOWN, is_told), 10);
    arena_reach->free_bytes(own_kind, own_bytes);
    expect_no_report();
}
END_TEST

/* ---- Pinned bytes ---------------------------------------------------------- */

/* The kernels that zero bytes in a graph write to where the CPU has them. */
static const char *const pinned_lives[] = {"memory=pinned,mapped=1", "memory=pinned,mapped=0",
                                           NULL};

START_TEST(pinned_bytes_that_have_another_address_on_the_device)
{
    ck_assert(standin_is_here());
    standin->standin_configure("LACK", "unified");
    options = pinned_lives[_i];
    if (options == NULL) {
        options = "preset=pool";
        own_kind = CUARENA_BYTES_PINNED;
        own_bytes = arena_reach->alloc_bytes(own_kind, GRANULARITY);
    }
    memory_bench_t b = {.config = life_config()};
    expect_ok(cuai_memory_open(&b.config, &b.memory));
    ck_assert(b.memory.ops.zero_captured == NULL);
    cuai_memory_close(&b.memory);
    if (own_bytes != NULL)
        arena_reach->free_bytes(own_kind, own_bytes);
    expect_nothing_left();
}
END_TEST

/* ---- Pieces of a pool ------------------------------------------------------
 */

static cuai_cu_stream_t new_stream(void)
{
    cuai_cu_stream_t stream = NULL;
    (void)cuda_test_use_device(0);
    expect_cu(cuda_test()->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    return stream;
}

START_TEST(piece_that_goes_back_on_a_captured_stream)
{
    cuai_cu_graph_t graph = NULL;
    const cuda_test_t *cuda = cuda_test();
    ck_assert(standin_is_here());
    cuai_cu_stream_t stream = new_stream();
    memory_bench_t *b = opened_memory("memory=device,backing=async,driver_pool=own");
    bench_get(b, GRANULARITY, GRANULARITY);
    expect_cu(cuda->cuStreamBeginCapture(stream, CUAI_CU_STREAM_CAPTURE_MODE_RELAXED));
    b->memory.ops.give_on(b->memory.user, &b->segment, stream);
    expect_cu(cuda->cuStreamEndCapture(stream, &graph));
    ck_assert_ptr_nonnull(graph);
    expect_cu(cuda->cuGraphDestroy(graph));
    expect_cu(cuda->cuStreamDestroy(stream));
}
END_TEST

/* Once: it is tried again. Twice: somebody may be using the bytes for ever. */
START_TEST(piece_that_goes_back_on_a_stream_that_fails)
{
    memory_bench_t b;
    ck_assert(standin_is_here());
    cuai_cu_stream_t stream = new_stream();
    open_memory(&b, "memory=device,backing=async,driver_pool=default");
    size_t before = standin->standin_live("allocation");
    bench_get(&b, GRANULARITY, GRANULARITY);
    standin->standin_fail("cuStreamGetCtx", 1, CUAI_CUDA_ERROR_UNKNOWN, _i);
    b.memory.ops.give_on(b.memory.user, &b.segment, stream);
    standin->standin_fail_clear();
    expect_cu(cuda_test()->cuStreamSynchronize(stream));
    expect_u64(standin->standin_live("allocation"), before + (size_t)_i);
    expect_cu(cuda_test()->cuStreamDestroy(stream));
    cuai_memory_close(&b.memory);
    expect_no_report();
}
END_TEST

/* ---- Exports --------------------------------------------------------------
 */

START_TEST(export_of_more_handles_than_there_is_room_for)
{
    cuarena_export_piece_t piece;
    size_t count = 7;
    ck_assert(standin_is_here());
    memory_bench_t *b = opened_memory(lives[0]);
    bench_get(b, 3 * GRANULARITY, 3 * GRANULARITY);
    expect_status(b->memory.ops.export_range(b->memory.user, &b->segment, 0, 2 * GRANULARITY,
                                             &piece, 1, &count),
                  CUARENA_BAD_ARGUMENT);
    expect_message("capacity 1", "from 2 on");
    expect_u64(count, 7);
    expect_u64(standin->standin_live("descriptor"), 0);
    bench_give_back(b);
}
END_TEST

static const char *const export_calls[] = {"cuMemRetainAllocationHandle",
                                           "cuMemExportToShareableHandle", "cuCtxGetCurrent"};

/* The pieces before it are closed. */
START_TEST(export_that_fails_keeps_no_descriptor)
{
    cuarena_export_piece_t pieces[3];
    size_t count = 7;
    ck_assert(standin_is_here());
    memory_bench_t *b = opened_memory(lives[0]);
    bench_get(b, 3 * GRANULARITY, 3 * GRANULARITY);
    standin->standin_fail(export_calls[_i], _i < 2 ? 3 : 1, CUAI_CUDA_ERROR_UNKNOWN, 0);
    expect_status(b->memory.ops.export_range(b->memory.user, &b->segment, 0, 3 * GRANULARITY,
                                             pieces, 3, &count),
                  CUARENA_DRIVER);
    expect_message("CUDA_ERROR_UNKNOWN");
    expect_u64(count, 7);
    expect_u64(standin->standin_live("descriptor"), 0);
    bench_give_back(b);
}
END_TEST

/* ---- Sizes of handles ----------------------------------------------------
 */

static const struct {
    const char *options;
    uint64_t handle_bytes;
} size_cases[] = {
    {"memory=device,backing=vmm,pool=32", MIB(2)},
    {"memory=device,backing=vmm,pool=8MiB,addresses=1GiB", MIB(2)},
};

START_TEST(handles_of_the_least_size)
{
    memory_bench_t *b = opened_memory(size_cases[_i].options);
    expect_u64(b->memory.facts.handle_bytes, size_cases[_i].handle_bytes);
}
END_TEST

static void add_rows(Suite *suite, const char *name, const TTest *test, size_t rows)
{
    add_standin_test(new_case(suite, name), test, rows);
}

int main(void)
{
    Suite *suite = suite_create("CUDA memory failures");
    cuda_kinds_ready();
    add_rows(suite, "calls", every_call_fails_once, COUNT_OF(lives));
    add_rows(suite, "host", each_refusal_of_the_host, COUNT_OF(lives));
    add_rows(suite, "bytes", each_failure_with_bytes_of_the_callers, COUNT_OF(byte_kinds));
    add_rows(suite, "pinned", pinned_bytes_that_have_another_address_on_the_device,
             COUNT_OF(pinned_lives));
    add_rows(suite, "room", export_of_more_handles_than_there_is_room_for, 1);
    add_rows(suite, "export", export_that_fails_keeps_no_descriptor, COUNT_OF(export_calls));
    add_rows(suite, "captured", piece_that_goes_back_on_a_captured_stream, 1);
    add_rows(suite, "given back", piece_that_goes_back_on_a_stream_that_fails, 2);
    tcase_add_loop_test(new_case(suite, "sizes"), handles_of_the_least_size, 0,
                        COUNT_OF(size_cases));
    return cuda_kinds_main(suite);
}
