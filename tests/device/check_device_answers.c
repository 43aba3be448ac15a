/*
 * What a call answers where one call of the driver failed, and what it leaves under way: the last
 * error is that of the status, frees never lack memory, and no copy reads what its caller may
 * free. And what a create answers on a device that lacks something. For the stand-in driver.
 */
#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"

#define BLOCK MIB(4)
#define SMALL 1000

static cuarena_stream_t streams[4];

/* What lives in it may still be used. */
static void end(fixture_t *f)
{
    expect_cu(cuda_test()->cuCtxSynchronize());
    expect_no_report();
    fixture_close_forced(f);
    for (size_t i = 0; i < COUNT_OF(streams); i++)
        cuda_test_end_stream(streams[i]);
}

/* The arena of a test, beside streams. */
static cuarena_t *opened_beside_streams(const char *options)
{
    ck_assert(standin_is_here());
    (void)cuda_test_use_device(0);
    for (size_t i = 0; i < COUNT_OF(streams); i++)
        streams[i] = cuda_test_stream();
    fixture_t *f = new_fixture(end);
    fixture_open_text(f, options);
    return f->arena;
}

/* The answer of a call in which the driver's nth call was to fail; whether it did. */
static bool was_answered(cuarena_status_t status, cuai_cu_result_t result)
{
    bool failed = standin->standin_failed() != 0;
    standin->standin_fail_clear();
    cuarena_error_info_t error = last_error();
    if (status != CUARENA_OK && (status != error.status || (int)result != error.driver_code))
        ck_abort_msg("%s was returned, of %d; the last error is %s, of %d: %s",
                     cuarena_status_name(status), (int)result, cuarena_status_name(error.status),
                     error.driver_code, error.message);
    return failed;
}

/* ---- A copy under way -------------------------------------------------- */

/* The old place cannot be set to 0, and the copy that reads it was queued. */
START_TEST(a_failed_resize_leaves_no_copy_under_way)
{
    cuarena_block_t block, wall;
    void *pointer = NULL;
    cuarena_t *arena = opened_beside_streams("memory=device,preset=grow,limit=64MiB,zero=free");
    standin->standin_configure("PACE", "0"); /* work waits until it is waited for */
    expect_ok(cuarena_block_alloc_on(arena, BLOCK, streams[0], NULL, &block));
    expect_ok(cuarena_block_alloc_on(arena, BLOCK, streams[0], NULL, &wall));
    expect_ok(cuarena_block_pin_on(arena, block, streams[0], &pointer));
    expect_cu(cuda_test()->cuMemsetD32Async(cu_pointer(pointer), 7, BLOCK / 4, streams[0]));
    expect_ok(cuarena_block_unpin_on(arena, block, streams[0]));
    expect_cu(cuda_test()->cuStreamSynchronize(streams[0]));
    standin->standin_fail("cuMemsetD32Async", 1, CUAI_CUDA_ERROR_OPERATING_SYSTEM, 0);
    cuarena_status_t status = cuarena_block_resize_on(arena, block, BLOCK + MIB(2), streams[1]);
    expect_status(status, CUARENA_DRIVER);
    ck_assert(was_answered(status, CUAI_CUDA_ERROR_OPERATING_SYSTEM));
    expect_ok(cuarena_block_free(arena, block));
    expect_ok(cuarena_trim(arena, 0, NULL));
}
END_TEST

/* ---- Frees ------------------------------------------------------------- */

static const char *const freeing[] = {
    "memory=device,pool=4MiB",           "memory=device,pool=4MiB,events=eager",
    "memory=device,pool=4MiB,zero=free", "memory=device,preset=driver-pool",
    "memory=device,preset=mlx-cuda",     "memory=pinned,pool=4MiB",
};

#define USED 1u /* by another stream than that of the free */
#define ON_ANOTHER 2u
#define DEDICATED 4u
#define WAYS 8u

/* Whether the driver's nth call failed for lack of memory. */
static bool free_lacking(cuarena_t *arena, unsigned way, uint64_t nth)
{
    void *pointer = NULL;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = (way & DEDICATED) != 0;
    cuarena_stream_t stream = streams[way & ON_ANOTHER ? 2 : 1];
    expect_ok(cuarena_alloc_on(arena, SMALL, streams[1], &request, &pointer));
    if (way & USED)
        expect_ok(cuarena_record_use(arena, pointer, streams[3]));
    expect_ok(cuarena_release_stream(arena, streams[2]));
    expect_cu(cuda_test()->cuCtxSynchronize());
    standin->standin_fail_any(nth, CUAI_CUDA_ERROR_OUT_OF_MEMORY, 0);
    cuarena_status_t status = cuarena_free_on(arena, pointer, stream);
    bool failed = was_answered(status, CUAI_CUDA_ERROR_OUT_OF_MEMORY);
    if (status == CUARENA_OK)
        return failed;
    expect_status(status, CUARENA_DRIVER);
    expect_ok(cuarena_free_on(arena, pointer, stream));
    return failed;
}

START_TEST(a_free_never_lacks_memory)
{
    cuarena_t *arena = opened_beside_streams(freeing[_i]);
    for (unsigned way = 0; way < WAYS; way++)
        for (uint64_t nth = 1; free_lacking(arena, way, nth); nth++)
            ck_assert_uint_lt(nth, 100);
}
END_TEST

/* ---- Two failures ------------------------------------------------------ */

/* One freed block waits for a stream, the next one for a stream of an open session. */
static bool trim_failing(cuarena_t *arena, uint64_t nth)
{
    static const int users[] = {2, 0};
    void *pointers[2] = {NULL, NULL};
    cuarena_capture_t *capture = NULL;
    for (size_t i = 0; i < 2; i++) {
        expect_ok(cuarena_alloc_on(arena, SMALL, streams[1], NULL, &pointers[i]));
        expect_ok(cuarena_record_use(arena, pointers[i], streams[users[i]]));
    }
    expect_ok(cuarena_capture_begin(arena, streams[0], &capture));
    for (size_t i = 0; i < 2; i++)
        expect_ok(cuarena_free_on(arena, pointers[i], streams[1]));
    expect_status(cuarena_reclaim(arena, 2, NULL), CUARENA_BAD_ARGUMENT);
    cuarena_error_info_t before = last_error();
    standin->standin_fail_any(nth, CUAI_CUDA_ERROR_OPERATING_SYSTEM, 0);
    cuarena_status_t status = cuarena_trim_on(arena, streams[1], 0, NULL);
    bool failed = was_answered(status, CUAI_CUDA_ERROR_OPERATING_SYSTEM);
    cuarena_error_info_t after = last_error();
    if (!failed)
        ck_assert_str_eq(after.message, before.message);
    expect_ok(cuarena_capture_release(arena, &capture, streams[0]));
    return failed;
}

START_TEST(a_trim_tells_the_failure_that_it_answers)
{
    cuarena_t *arena = opened_beside_streams("memory=device,pool=4MiB");
    for (uint64_t nth = 1; trim_failing(arena, nth); nth++)
        ck_assert_uint_lt(nth, 100);
}
END_TEST

/* The driver may say of a kernel that runs what it says of one that a device lacks. */
START_TEST(a_compaction_whose_kernel_is_refused_says_so)
{
    cuarena_block_t blocks[8];
    cuarena_t *arena = opened_beside_streams("memory=device,pool=4MiB");
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        expect_ok(cuarena_block_alloc(arena, SMALL * (i + 1), &blocks[i]));
    for (size_t i = 0; i < COUNT_OF(blocks); i += 2)
        expect_ok(cuarena_block_free(arena, blocks[i]));
    standin->standin_fail("cuLaunchKernel", 1, CUAI_CUDA_ERROR_NOT_SUPPORTED, 0);
    cuarena_status_t status = cuarena_compact(arena, NULL, NULL, NULL, NULL);
    expect_status(status, CUARENA_DRIVER);
    ck_assert(was_answered(status, CUAI_CUDA_ERROR_NOT_SUPPORTED));
}
END_TEST

/* ---- An arena that cannot be made ------------------------------------------ */

static cuarena_status_t create_of(const char *options, cuarena_t **arena_out)
{
    cuarena_config_t config = config_of(options);
    config.pool = amount_of_bytes(MIB(8));
    return cuarena_create(&config, arena_out);
}

static const char *const openers[] = {"cuModuleLoadDataEx", "cuLaunchKernel",
                                      "cuMemHostGetDevicePointer", "cuMemAddressReserve",
                                      "cuMemCreate"};

/* The last error is that of the call, whatever is ended after it. */
START_TEST(a_create_that_meets_a_sticky_error_is_lost)
{
    cuarena_t *arena = NULL;
    ck_assert(standin_is_here());
    standin->standin_fail(openers[_i], 1, CUAI_CUDA_ERROR_ILLEGAL_ADDRESS, 0);
    expect_status(create_of("memory=device,backing=vmm", &arena), CUARENA_LOST);
    expect_message(openers[_i], "CUDA_ERROR_ILLEGAL_ADDRESS");
    expect_no_report();
}
END_TEST

typedef struct lack_case {
    const char *key; /* of the stand-in */
    const char *value;
    const char *options;
    cuarena_status_t status;
    const char *words[2]; /* of the message */
    int32_t backing;      /* what it comes to, without descriptors; 0: that is another's to say */
} lack_case_t;

static const lack_case_t lack_cases[] = {
    {"LACK", "vmm", "memory=device", CUARENA_OK, {NULL}, CUARENA_BACKING_MALLOC},
    {"LACK", "vmm", "memory=device,fd=try,peers=try", CUARENA_OK, {NULL}, CUARENA_BACKING_MALLOC},
    {"LACK", "vmm", "memory=device,backing=vmm", CUARENA_UNSUPPORTED, {"vmm", "accepted:"}, 0},
    {"LACK", "vmm", "memory=device,fd=require", CUARENA_UNSUPPORTED, {"fd", "accepted:"}, 0},
    {"LACK", "vmm", "memory=device,handle=2MiB", CUARENA_UNSUPPORTED, {"handle", "accepted:"}, 0},
    {"LACK",
     "pools",
     "memory=device,backing=async",
     CUARENA_UNSUPPORTED,
     {"stream-ordered", "accepted:"},
     0},
    {"LACK", "pools", "memory=device", CUARENA_OK, {NULL}, CUARENA_BACKING_VMM},
    {"LACK", "fd", "memory=device,fd=require", CUARENA_UNSUPPORTED, {"fd", "accepted:"}, 0},
    {"LACK", "fd", "memory=device,fd=try", CUARENA_OK, {NULL}, CUARENA_BACKING_VMM},
    {"LACK", "managed", "memory=managed", CUARENA_UNSUPPORTED, {"managed", "accepted:"}, 0},
    {"LACK", "cuMemCreate", "memory=device", CUARENA_OK, {NULL}, CUARENA_BACKING_MALLOC},
    {"LACK",
     "rdma",
     "memory=device,backing=malloc,rdma=require",
     CUARENA_UNSUPPORTED,
     {"rdma=require", "device 0"},
     0},
    {"LACK", "fd", "memory=device,backing=malloc,rdma=require", CUARENA_OK, {NULL}, 0},
    {"LACK", "rdma", "memory=device,backing=malloc,rdma=try", CUARENA_OK, {NULL}, 0},
    {"LACK",
     "fd",
     "memory=device,backing=async,rdma=require",
     CUARENA_UNSUPPORTED,
     {"rdma: 'require'", "accepted:"},
     0},
    {"LACK",
     "vmm",
     "memory=device,fabric=require",
     CUARENA_UNSUPPORTED,
     {"fabric", "virtual memory management"},
     0},
    {"LACK",
     "vmm",
     "memory=device,peers=require",
     CUARENA_UNSUPPORTED,
     {"peers", "virtual memory management"},
     0},
    {"LACK",
     "fabric",
     "memory=device,fabric=require",
     CUARENA_UNSUPPORTED,
     {"fabric: 'require'", "device 0"},
     0},
    /* The device says that it can, and refuses. */
    {"LACK",
     "fd",
     "memory=device,fabric=require",
     CUARENA_UNSUPPORTED,
     {"fabric: 'require'", "device 0"},
     0},
    {"LACK",
     "rdma",
     "memory=device,fabric=require,fd=try",
     CUARENA_UNSUPPORTED,
     {"fabric: 'require'", "device 0"},
     0},
    {"LACK", "pools", "memory=device,fabric=try,fd=require", CUARENA_OK, {NULL}, 0},
    {"LACK", "pools", "memory=device,fabric=try,rdma=try,fd=try", CUARENA_OK, {NULL}, 0},
    {"LACK",
     "mapping",
     "memory=pinned,mapped=1",
     CUARENA_UNSUPPORTED,
     {"mapped=1", "accepted: mapped=0"},
     0},
    {"FAIL", "cuMemGetAllocationGranularity:1:801", "memory=device,fd=try", CUARENA_OK, {NULL}, 0},
    {"FAIL",
     "cuMemGetAllocationGranularity:1:801",
     "memory=device,fd=require",
     CUARENA_UNSUPPORTED,
     {"fd: 'require'", "device 0"},
     0},
    {"FAIL",
     "cuMemGetAllocationGranularity:1:801",
     "memory=device",
     CUARENA_DRIVER,
     {"cuMemGetAllocationGranularity", "NOT_SUPPORTED"},
     0},
    {"LACK", "mapping", "memory=pinned,mapped=0", CUARENA_OK, {NULL}, 0},
    {"LACK", "unified", "memory=pinned,mapped=1", CUARENA_OK, {NULL}, 0},
    {"LACK", "unified", "memory=pinned,mapped=1,write_combined=1", CUARENA_OK, {NULL}, 0},
    {"PEERS",
     "0",
     "memory=device,backing=async,peers=require",
     CUARENA_UNSUPPORTED,
     {"peers: 'require'", "device 1"},
     0},
    {"PEERS", "0", "memory=device,backing=async,peers=try", CUARENA_OK, {NULL}, 0},
};

START_TEST(what_is_lacking_is_named)
{
    const lack_case_t *row = &lack_cases[_i];
    cuarena_t *arena = NULL;
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    ck_assert(standin_is_here());
    standin->standin_configure("DEVICES", "2");
    standin->standin_configure(row->key, row->value);
    expect_status(cuarena_open("nonsense=1", &arena), CUARENA_BAD_ARGUMENT);
    expect_status(create_of(row->options, &arena), row->status);
    if (row->status != CUARENA_OK) {
        expect_message(row->words[0], row->words[1]);
    } else {
        expect_message("nonsense", "is no option"); /* success leaves the last error */
        expect_ok(cuarena_properties(arena, &properties));
        ck_assert_int_eq(properties.backing, row->backing != 0 ? row->backing : properties.backing);
        ck_assert(row->backing == 0 || properties.fd == 0);
        expect_ok(cuarena_destroy(&arena));
    }
    expect_nothing_left();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("answers of CUDA arenas");
    TCase *tcase = new_case(suite, "failures");
    cuda_kinds_ready();
    add_standin_test(tcase, a_failed_resize_leaves_no_copy_under_way, 1);
    add_standin_test(tcase, a_free_never_lacks_memory, COUNT_OF(freeing));
    add_standin_test(tcase, a_compaction_whose_kernel_is_refused_says_so, 1);
    add_standin_test(tcase, a_trim_tells_the_failure_that_it_answers, 1);
    add_standin_test(tcase, a_create_that_meets_a_sticky_error_is_lost, COUNT_OF(openers));
    add_standin_test(tcase, what_is_lacking_is_named, COUNT_OF(lack_cases));
    return cuda_kinds_main(suite);
}
