/*
 * Two devices in one process: an arena of the first whose bytes the second reaches, kernels and
 * copies of both on the same blocks, order between their streams, and what is refused without.
 * Wants two devices; the stand-in has them.
 */
#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_test.h"
#include "support/fixture.h"
#include "support/test_kernels_ptx.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define POOL MIB(32)
#define BLOCK MIB(4)

/* What a test has on one device. */
typedef struct side {
    cuai_cu_context_t context;
    cuarena_stream_t stream;
    cuai_cu_module_t module;
    cuai_cu_function_t fill;
    cuai_cu_function_t check;
    cuai_cu_pointer_t wrong; /* bytes that checks found to be wrong */
} side_t;

static side_t sides[2];
static cuarena_t *arena; /* of the test's fixture */

/* ---- Life -------------------------------------------------------------- */

static void begin_side(int device)
{
    const cuda_test_t *cuda = cuda_test();
    side_t *side = &sides[device];
    side->context = cuda_test_use_device(device);
    expect_cu(cuda->cuStreamCreate(&side->stream, CUAI_CU_STREAM_NON_BLOCKING));
    expect_cu(cuda->cuModuleLoadDataEx(&side->module, test_kernels_ptx, 0, NULL, NULL));
    expect_cu(cuda->cuModuleGetFunction(&side->fill, side->module, "fill"));
    expect_cu(cuda->cuModuleGetFunction(&side->check, side->module, "check"));
    expect_cu(cuda->cuMemAlloc(&side->wrong, sizeof(uint64_t)));
    expect_cu(cuda->cuMemsetD8(side->wrong, 0, sizeof(uint64_t)));
    expect_cu(cuda->cuStreamSynchronize(NULL));
}

static void use_device(int device)
{
    expect_cu(cuda_test()->cuCtxSetCurrent(sides[device].context));
}

static void sync_both(void)
{
    for (int i = 0; i < 2; i++) {
        use_device(i);
        expect_cu(cuda_test()->cuStreamSynchronize(sides[i].stream));
    }
}

/* Nothing was wrong: neither a byte nor, for the stand-in, an access. */
static void expect_right(void)
{
    sync_both();
    for (int i = 0; i < 2; i++) {
        uint64_t wrong = 1;
        use_device(i);
        expect_cu(cuda_test()->cuMemcpyDtoH(&wrong, sides[i].wrong, 8));
        expect_u64(wrong, 0);
    }
    expect_no_report();
    expect_valid_arena(arena);
}

static void end_side(int device)
{
    const cuda_test_t *cuda = cuda_test();
    use_device(device);
    expect_cu(cuda->cuStreamSynchronize(sides[device].stream));
    expect_cu(cuda->cuMemFree(sides[device].wrong));
    expect_cu(cuda->cuModuleUnload(sides[device].module));
    expect_cu(cuda->cuStreamDestroy(sides[device].stream));
}

static void close_pool(fixture_t *f)
{
    expect_right();
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    fixture_close(f);
    end_side(0);
    end_side(1);
    expect_nothing_left();
}

/* The fixture of a test; of the first device, current: that of the second. */
static fixture_t *opened_pool(const char *options)
{
    begin_side(0);
    begin_side(1);
    fixture_t *f = new_fixture(close_pool);
    fixture_open_text(f, options);
    arena = f->arena;
    ck_assert_ptr_eq(cuda_test_current(), sides[1].context);
    return f;
}

/* ---- Work -------------------------------------------------------------- */

static void launch(cuai_cu_function_t function, int device, void **params)
{
    use_device(device);
    expect_cu(cuda_test()->cuLaunchKernel(function, 64, 1, 1, 256, 1, 1, 0, sides[device].stream,
                                          params, NULL));
}

/* The device's stream writes the pattern of a seed; reads and expects it. */
static void fill(int device, const void *pointer, uint64_t seed)
{
    cuai_cu_pointer_t at = cu_pointer(pointer);
    uint64_t bytes = BLOCK, first = 0;
    launch(sides[device].fill, device, (void *[]){&at, &bytes, &seed, &first, NULL});
}

static void check(int device, const void *pointer, uint64_t seed)
{
    cuai_cu_pointer_t at = cu_pointer(pointer);
    uint64_t bytes = BLOCK, first = 0;
    launch(sides[device].check, device,
           (void *[]){&at, &bytes, &seed, &first, &sides[device].wrong});
}

/* The caller's own order. */
static void order(int earlier, int later)
{
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_event_t event;
    use_device(earlier);
    expect_cu(cuda->cuEventCreate(&event, CUAI_CU_EVENT_DISABLE_TIMING));
    expect_cu(cuda->cuEventRecord(event, sides[earlier].stream));
    use_device(later);
    expect_cu(cuda->cuStreamWaitEvent(sides[later].stream, event, CUAI_CU_EVENT_WAIT_DEFAULT));
    use_device(earlier);
    expect_cu(cuda->cuEventDestroy(event));
}

static void *alloc_on(int device)
{
    void *pointer = NULL;
    expect_ok(cuarena_alloc_on(arena, BLOCK, sides[device].stream, NULL, &pointer));
    return pointer;
}

static void free_on(int device, void *pointer)
{
    expect_ok(cuarena_free_on(arena, pointer, sides[device].stream));
}

/* The device's stream gets every byte, writes, and reads it. */
static void use_all(int device, uint64_t seed)
{
    void *all[POOL / BLOCK];
    for (size_t i = 0; i < POOL / BLOCK; i++)
        all[i] = alloc_on(device);
    for (size_t i = 0; i < POOL / BLOCK; i++)
        fill(device, all[i], seed + i);
    for (size_t i = 0; i < POOL / BLOCK; i++)
        check(device, all[i], seed + i);
    for (size_t i = 0; i < POOL / BLOCK; i++)
        free_on(device, all[i]);
}

#define WITH_PEERS "memory=device,pool=32MiB,stable=0,peers=require"

#define OWN_POOL "preset=driver-pool,memory=device,driver_pool=own,peers=require"

#define POOL_IN_OWN_POOL WITH_PEERS ",backing=async,driver_pool=own"

/* Memories of which both devices reach every byte. */
static const char *const shared[] = {
    WITH_PEERS,
    "memory=managed,pool=32MiB,stable=0,device_only=1",
    "memory=pinned,pool=32MiB,stable=0,device_only=1",
    OWN_POOL,
    POOL_IN_OWN_POOL,
};
#define SHARED ((int)COUNT_OF(shared))

/* ---- Reaching ---------------------------------------------------------- */

START_TEST(peers_are_told)
{
    cuarena_properties_t properties;
    (void)opened_pool(_i == 0 ? WITH_PEERS : OWN_POOL);
    cuarena_properties_init(&properties);
    expect_ok(cuarena_properties(arena, &properties));
    ck_assert_int_eq(properties.device, 0);
    ck_assert_int_eq(properties.peers, cuda_test()->device_count - 1);
}
END_TEST

/* One writes, the other reads, writes, and is waited for. */
START_TEST(kernels_of_both_devices)
{
    (void)opened_pool(shared[_i]);
    void *p = alloc_on(0);
    fill(0, p, 1);
    order(0, 1);
    check(1, p, 1);
    fill(1, p, 2);
    expect_ok(cuarena_record_use(arena, p, sides[1].stream));
    order(1, 0);
    check(0, p, 2);
    free_on(0, p);
}
END_TEST

START_TEST(copies_between_arenas_of_two_devices)
{
    (void)opened_pool(WITH_PEERS);
    cuarena_t *second = arena_of("memory=device,device=1,pool=32MiB,stable=0,peers=require");
    void *there = NULL;
    void *here = alloc_on(0);
    expect_ok(cuarena_alloc_on(second, BLOCK, sides[1].stream, NULL, &there));
    fill(0, here, 3);
    order(0, 1);
    expect_cu(
        cuda_test()->cuMemcpyAsync(cu_pointer(there), cu_pointer(here), BLOCK, sides[1].stream));
    check(1, there, 3);
    fill(1, there, 4);
    order(1, 0);
    expect_cu(
        cuda_test()->cuMemcpyAsync(cu_pointer(here), cu_pointer(there), BLOCK, sides[0].stream));
    check(0, here, 4);
    expect_ok(cuarena_record_use(second, there, sides[0].stream));
    expect_ok(cuarena_free_on(second, there, sides[1].stream));
    free_on(0, here);
    sync_both();
    expect_ok(cuarena_reclaim(second, 1, NULL));
    arena_close(second);
}
END_TEST

/* Handles that come later are mapped for both. */
START_TEST(what_grows_is_reached_too)
{
    void *p[8];
    (void)opened_pool("memory=device,preset=grow,limit=64MiB,handle=2MiB,"
                      "peers=require");
    for (uint64_t i = 0; i < 8; i++) {
        p[i] = alloc_on(1);
        fill(1, p[i], i);
    }
    for (uint64_t i = 0; i < 8; i++) {
        check(1, p[i], i);
        free_on(1, p[i]);
    }
    sync_both();
    uint64_t given = 0;
    expect_ok(cuarena_trim(arena, 0, &given));
    void *again = alloc_on(1);
    fill(1, again, 9);
    check(1, again, 9);
    free_on(1, again);
}
END_TEST

/* ---- Order ------------------------------------------------------------- */

/* What one stream freed comes to that of the other device when it is done. */
START_TEST(bytes_go_from_device_to_device)
{
    (void)opened_pool(shared[_i]);
    for (uint64_t round = 0; round < 3; round++) {
        use_all(0, 100 * round);
        use_all(1, 100 * round + 50);
    }
}
END_TEST

/* Uses on the other device keep bytes from everybody. */
START_TEST(bytes_wait_for_uses_of_the_other_device)
{
    (void)opened_pool(shared[_i]);
    void *p = alloc_on(0);
    fill(0, p, 5);
    order(0, 1);
    for (int i = 0; i < 20; i++)
        check(1, p, 5);
    expect_ok(cuarena_record_use(arena, p, sides[1].stream));
    free_on(0, p);
    use_all(0, 6);
}
END_TEST

/* A compaction on a stream of either device waits for the owner of what it moves, on the other, and
 * lets that wait. */
START_TEST(compaction_on_a_stream_of_either_device)
{
    const int owner = _i % 2, mover = _i / 2;
    cuarena_block_t blocks[POOL / BLOCK];
    cuarena_compact_options_t options;
    cuarena_compact_report_t report;
    void *p = NULL;
    (void)opened_pool(WITH_PEERS);
    for (uint64_t i = 0; i < POOL / BLOCK; i++) {
        expect_ok(cuarena_block_alloc_on(arena, BLOCK, sides[owner].stream, NULL, &blocks[i]));
        expect_ok(cuarena_block_pin_on(arena, blocks[i], sides[owner].stream, &p));
        fill(owner, p, i);
        expect_ok(cuarena_block_unpin_on(arena, blocks[i], sides[owner].stream));
    }
    for (uint64_t i = 0; i < POOL / BLOCK; i += 2)
        expect_ok(cuarena_block_free(arena, blocks[i]));
    cuarena_compact_options_init(&options);
    options.stream = sides[mover].stream;
    cuarena_compact_report_init(&report);
    expect_ok(cuarena_compact(arena, &options, NULL, NULL, &report));
    ck_assert_uint_gt(report.moves, 0);
    for (uint64_t i = 1; i < POOL / BLOCK; i += 2) {
        expect_ok(cuarena_block_pin_on(arena, blocks[i], sides[owner].stream, &p));
        check(owner, p, i);
        expect_ok(cuarena_block_unpin_on(arena, blocks[i], sides[owner].stream));
        expect_ok(cuarena_block_free_on(arena, blocks[i], sides[owner].stream));
    }
}
END_TEST

/* Zeroed on a stream of the second by the first device. */
START_TEST(zeroed_on_a_stream_of_the_other_device)
{
    uint64_t words[2] = {1, 1};
    cuarena_request_t request;
    void *p = NULL;
    (void)opened_pool(shared[_i]);
    use_all(1, 7);
    cuarena_request_init(&request);
    request.zeroed = 1;
    expect_ok(cuarena_alloc_on(arena, BLOCK, sides[1].stream, &request, &p));
    sync_both();
    expect_cu(cuda_test()->cuMemcpyDtoH(&words[0], cu_pointer(p), 8));
    expect_cu(cuda_test()->cuMemcpyDtoH(&words[1], cu_pointer(p) + BLOCK - 8, 8));
    expect_u64(words[0] | words[1], 0);
    free_on(1, p);
}
END_TEST

/* No event stands for streams of both devices: each is waited for. */
START_TEST(forced_destroy_waits_for_both_devices)
{
    fixture_t *f = opened_pool(shared[_i]);
    for (int device = 0; device < 2; device++)
        for (uint64_t i = 0; i < 3; i++)
            fill(device, alloc_on(device), i);
    expect_ok(cuarena_destroy_forced(&f->arena));
    expect_no_report();
    end_side(0);
    end_side(1);
    expect_nothing_left();
}
END_TEST

/* ---- What is refused --------------------------------------------------- */

/* Without peers no stream of the other device is taken, and nothing changes. */
START_TEST(streams_of_a_device_that_does_not_reach)
{
    void *p = NULL;
    (void)opened_pool("memory=device,pool=32MiB,stable=0");
    cuarena_stream_t other = sides[1].stream;
    void *mine = alloc_on(0);
    expect_status(cuarena_alloc_on(arena, BLOCK, other, NULL, &p), CUARENA_BAD_ARGUMENT);
    expect_message("device 1", "device 0");
    ck_assert_ptr_null(p);
    expect_status(cuarena_record_use(arena, mine, other), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_free_on(arena, mine, other), CUARENA_BAD_ARGUMENT);
    expect_message("device 1", "device 0");
    expect_valid_arena(arena);
    free_on(0, mine);
}
END_TEST

/* ---- The list ---------------------------------------------------------- */

static void add_per_memory(TCase *tcase, const TTest *const *test)
{
    for (; *test != NULL; test++)
        tcase_add_loop_test(tcase, *test, 0, SHARED);
}

static void add_all(Suite *suite)
{
    suite_add_list(suite, "one memory",
                   TEST_LIST(copies_between_arenas_of_two_devices, what_grows_is_reached_too,
                             streams_of_a_device_that_does_not_reach));
    TCase *each = suite_add_case(suite, "each memory");
    tcase_add_loop_test(each, peers_are_told, 0, 2);
    add_per_memory(each, TEST_LIST(kernels_of_both_devices, bytes_go_from_device_to_device,
                                   bytes_wait_for_uses_of_the_other_device,
                                   zeroed_on_a_stream_of_the_other_device,
                                   forced_destroy_waits_for_both_devices));
    tcase_add_loop_test(each, compaction_on_a_stream_of_either_device, 0, 4);
}

int main(void)
{
    if (setenv("CUARENA_STANDIN_DEVICES", "2", 1) != 0)
        return EXIT_FAILURE;
    driver_kind_t kind = driver_kind();
    Suite *suite = suite_create("two devices");
    if (kind == DRIVER_NONE)
        return driver_result(kind, EXIT_SUCCESS);
    if (driver_device_count() < 2) {
        puts("skipped: one device, and this wants two");
        return 77;
    }
    add_all(suite);
    return driver_result(kind, suite_main(suite));
}
