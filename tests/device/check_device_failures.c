/*
 * Device memory where the driver fails, is old, is lost, or runs out: nothing may be lost
 * but what the driver keeps. For the stand-in driver; on a real one little of it runs.
 *
 * Arenas that may fail to be made, whose end is counted, or that end before streams that a child
 * has too, are opened by hand.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/log_lines.h"

/* ---- A driver that fails ---------------------------------------------------
 */

/* Calls that take something, wait or ask; when one of them fails, nothing may be lost. Those that
 * end something, or that it takes to end something, are in `enders`. */
static const char *const takers[] = {
    "cuDevicePrimaryCtxRetain",
    "cuCtxGetId",
    "cuDeviceGetAttribute",
    "cuMemGetInfo",
    "cuMemGetAllocationGranularity",
    "cuMemAddressReserve",
    "cuMemCreate",
    "cuMemMap",
    "cuMemSetAccess",
    "cuMemAlloc",
    "cuMemAllocFromPoolAsync",
    "cuMemAllocManaged",
    "cuMemHostAlloc",
    "cuMemcpyDtoDAsync",
    "cuMemcpyHtoDAsync",
    "cuMemsetD32Async",
    "cuStreamCreate",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuModuleLoadDataEx",
    "cuModuleGetFunction",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
};

static const char *const enders[] = {
    "cuMemUnmap",
    "cuMemAddressFree",
    "cuMemRelease",
    "cuMemFree",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuStreamDestroy",
    "cuEventDestroy",
    "cuDevicePrimaryCtxRelease",
    "cuModuleUnload",
    "cuCtxPopCurrent",
    "cuCtxPushCurrent",
    "cuCtxGetCurrent",
    "cuThreadExchangeStreamCaptureMode",
};

static const char *const failing_arenas[] = {
    "memory=device,backing=vmm,handle=2MiB,pool=8MiB,fd=try,rdma=try",
    "memory=device,backing=vmm,handle=2MiB,preset=grow,limit=8MiB",
    "memory=device,backing=malloc,pool=8MiB,zero=create",
    "memory=device,backing=async,preset=grow,limit=8MiB,zero=alloc",
    "memory=managed,pool=8MiB,zero=free",
    "memory=pinned,preset=grow,limit=8MiB",
    "memory=pinned,write_combined=1,pool=8MiB",
    "memory=device,backing=vmm,handle=2MiB,preset=bfc,take_first=1",
    "memory=device,backing=malloc,preset=bfc,initial_chunk=4MiB,limit=8MiB",
    "preset=mlx-cuda,limit=8MiB",
    "memory=device,backing=vmm,handle=2MiB,preset=mlx-cpu,limit=8MiB",
    "memory=managed,preset=mlx-cuda,limit=8MiB",
    "memory=device,preset=cupy-pool,limit=8MiB",
};

/* A call that failed has said so in words, and the arena is sound. */
static bool survived(cuarena_t *arena, cuarena_status_t status)
{
    char text[256];
    if (arena != NULL)
        expect_ok(cuarena_validate(arena, text, sizeof text));
    if (status == CUARENA_OK)
        return true;
    ck_assert_msg(status == CUARENA_OUT_OF_MEMORY || status == CUARENA_DRIVER ||
                      status == CUARENA_LOST || status == CUARENA_NO_DEVICE ||
                      status == CUARENA_UNSUPPORTED || status == CUARENA_FRAGMENTED ||
                      status == CUARENA_LIMIT,
                  "an unexpected %s", cuarena_status_name(status));
    ck_assert_ptr_nonnull(last_error_message());
    return false;
}

/* A request that finds no more bytes holds no more than before. */
static bool alloc_one(cuarena_t *arena, uint64_t bytes, cuarena_block_t *block)
{
    uint64_t held = held_by(arena);
    cuarena_status_t status = cuarena_block_alloc(arena, bytes, block);
    bool refused =
        status == CUARENA_OUT_OF_MEMORY && strstr(last_error_message(), "no room for") != NULL;
    if (refused)
        ck_assert_uint_le(held_by(arena), held);
    return survived(arena, status);
}

/* A life in short: everything that calls the driver. */
static void live(const char *options)
{
    cuarena_t *arena = NULL;
    cuarena_block_t blocks[4] = {0};
    uint64_t given;
    cuarena_config_t config = config_of(options);
    if (!survived(NULL, cuarena_create(&config, &arena))) {
        ck_assert_ptr_null(arena);
        return;
    }
    for (int i = 0; i < 4; i++)
        (void)alloc_one(arena, MIB(2), &blocks[i]);
    (void)survived(arena, cuarena_block_free(arena, blocks[0]));
    (void)survived(arena, cuarena_block_free(arena, blocks[2]));
    (void)survived(arena, cuarena_compact(arena, NULL, NULL, NULL, NULL));
    (void)survived(arena, cuarena_trim(arena, 0, &given));
    (void)alloc_one(arena, MIB(4), &blocks[0]);
    if (blocks[1] != 0)
        (void)survived(arena, cuarena_block_resize(arena, blocks[1], MIB(3)));
    expect_ok(cuarena_destroy_forced(&arena));
}

/* Every Nth call of one entry point, until it is called less often. */
static void live_with_failing(const char *options, const char *entry, int code, bool from_then_on,
                              bool leaks)
{
    for (uint64_t nth = 1; nth < 1000; nth++) {
        if (standin->standin_fail(entry, nth, code, from_then_on) != 0)
            return;
        live(options);
        uint64_t failed = standin->standin_failed();
        standin->standin_fail_clear();
        if (leaks)
            expect_no_report();
        else
            expect_nothing_left();
        if (failed == 0)
            return;
    }
    ck_abort_msg("%s never stops failing", entry);
}

START_TEST(takers_that_fail_leave_nothing)
{
    const char *options = failing_arenas[_i % (int)COUNT_OF(failing_arenas)];
    const char *entry = takers[_i / (int)COUNT_OF(failing_arenas)];
    ck_assert(standin_is_here());
    live_with_failing(options, entry, CUAI_CUDA_ERROR_OUT_OF_MEMORY, false, false);
    live_with_failing(options, entry, CUAI_CUDA_ERROR_OPERATING_SYSTEM, false, false);
    bool of_event = strncmp(entry, "cuEvent", 7) == 0;
    live_with_failing(options, entry, CUAI_CUDA_ERROR_OUT_OF_MEMORY, true,
                      of_event); /* what nobody can wait for is not given back */
}
END_TEST

/* What could not be ended is the driver's; the arena goes on. */
START_TEST(enders_that_fail_are_survived)
{
    const char *options = failing_arenas[_i % (int)COUNT_OF(failing_arenas)];
    const char *entry = enders[_i / (int)COUNT_OF(failing_arenas)];
    ck_assert(standin_is_here());
    live_with_failing(options, entry, CUAI_CUDA_ERROR_INVALID_VALUE, false, true);
}
END_TEST

static void close_all(fixture_t *f)
{
    fixture_close(f);
    expect_nothing_left();
}

static void close_all_forced(fixture_t *f)
{
    fixture_close_forced(f);
    expect_nothing_left();
}

/* The arena of a test, which ends so. */
static cuarena_t *opened_until(void (*close)(fixture_t *f), const char *options)
{
    fixture_t *f = new_fixture(close);
    fixture_open_text(f, options);
    return f->arena;
}

/* The end of a segment, or its middle: what the driver did not unmap once it is asked to unmap
 * again, before the arena maps something there. */
START_TEST(bytes_that_stayed_mapped_are_taken_again)
{
    cuarena_block_t blocks[4] = {0};
    uint64_t given = 0;
    ck_assert(standin_is_here());
    cuarena_t *arena = opened_until(close_all_forced,
                                    "memory=device,backing=vmm,handle=2MiB,preset=grow,limit=8MiB");
    for (int i = 0; i < 4; i++)
        expect_ok(cuarena_block_alloc(arena, MIB(2), &blocks[i]));
    expect_ok(cuarena_block_free(arena, blocks[_i]));
    standin->standin_fail("cuMemUnmap", 1, CUAI_CUDA_ERROR_INVALID_VALUE, 0);
    expect_ok(cuarena_trim(arena, 0, &given));
    expect_u64(given, MIB(2));
    expect_u64(standin->standin_failed(), 1);
    standin->standin_fail_clear();
    expect_ok(cuarena_block_alloc(arena, MIB(2), &blocks[_i]));
    expect_u64(held_by(arena), MIB(8));
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_block_free(arena, blocks[_i]));
    standin->standin_fail("cuMemUnmap", 1, CUAI_CUDA_ERROR_INVALID_VALUE, 0);
    expect_ok(cuarena_trim(arena, 0, &given));
    standin->standin_fail_clear();
}
END_TEST

#define ZEROING "memory=device,preset=grow,limit=8MiB,zero=free"

/* No event can be had, as where the host has no memory. */
START_TEST(a_zeroing_free_without_events)
{
    void *pointer = NULL;
    ck_assert(standin_is_here());
    cuarena_t *arena = opened_until(close_all, ZEROING);
    expect_ok(cuarena_alloc(arena, MIB(1), &pointer));
    standin->standin_fail("cuEventRecord", 1, CUAI_CUDA_ERROR_OUT_OF_MEMORY, 1);
    expect_ok(cuarena_free(arena, pointer));
    standin->standin_fail_clear();
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_alloc(arena, MIB(1), &pointer));
    expect_ok(cuarena_free(arena, pointer));
}
END_TEST

/* ---- Frees that lose the arena -------------------------------------------- */

/* Calls of the driver that fail from then on, and what the loss is put down to. */
static const struct {
    const char *entry;
    const char *other;
    int code;
    const char *words;
} losses[] = {
    {"cuMemsetD32Async", NULL, CUAI_CUDA_ERROR_ILLEGAL_ADDRESS, "cuMemsetD32Async answered"},
    {"cuEventRecord", "cuStreamSynchronize", CUAI_CUDA_ERROR_OPERATING_SYSTEM,
     "nobody can tell when the work that was queued is done"},
};

static void expect_words_in(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "expected '%s' in: %s", words, text);
}

/* The call is OK, so that nothing but the log and later calls can tell. */
static void lose_by_a_free(cuarena_t *arena, cuarena_block_t block, int row)
{
    void *none = NULL;
    expect_status(cuarena_alloc(NULL, 1, &none), CUARENA_BAD_ARGUMENT);
    cuarena_error_info_t before = last_error();
    log_listen(CUARENA_LOG_ERROR);
    standin->standin_fail(losses[row].entry, 1, losses[row].code, 1);
    if (losses[row].other != NULL)
        standin->standin_fail(losses[row].other, 1, losses[row].code, 1);
    expect_ok(cuarena_block_free(arena, block));
    standin->standin_fail_clear();
    log_listen_no_more();
    expect_text(last_error().message, before.message);
}

START_TEST(a_free_that_loses_the_arena_is_told_of)
{
    cuarena_block_t block, more;
    ck_assert(standin_is_here());
    cuarena_t *arena = opened_until(fixture_close_forced, ZEROING);
    expect_ok(cuarena_block_alloc(arena, MIB(1), &block));
    lose_by_a_free(arena, block, _i);
    ck_assert_int_eq(logged.count, 1);
    expect_words_in(logged.list[0].text, " is lost: ");
    expect_words_in(logged.list[0].text, losses[_i].words);
    expect_status(cuarena_block_alloc(arena, 256, &more), CUARENA_LOST);
    expect_words_in(last_error().message, losses[_i].words);
}
END_TEST

/* The look that comes first fails to set the bytes to 0, and the wait does it. */
START_TEST(a_reclaim_that_zeroes_at_the_second_try_leaves_the_last_error)
{
    void *pointer = NULL;
    ck_assert(standin_is_here());
    (void)cuda_test_use_device(0);
    cuarena_t *arena = opened_until(close_all, ZEROING);
    expect_ok(cuarena_alloc_on(arena, MIB(1), CUARENA_STREAM_LEGACY, NULL, &pointer));
    expect_ok(cuarena_record_use(arena, pointer, CUARENA_STREAM_PER_THREAD));
    expect_ok(cuarena_free_on(arena, pointer, CUARENA_STREAM_LEGACY));
    expect_status(cuarena_alloc(NULL, 1, &pointer), CUARENA_BAD_ARGUMENT);
    cuarena_error_info_t before = last_error();
    standin->standin_fail("cuMemsetD32Async", 1, CUAI_CUDA_ERROR_OPERATING_SYSTEM, 0);
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_u64(standin->standin_failed(), 1);
    expect_text(last_error().message, before.message);
    standin->standin_fail_clear();
}
END_TEST

/* One of the two blocks must move to get larger; where the CPU moves it, the driver is asked for
 * more. */
static void expect_loss(cuarena_t *arena, cuarena_block_t one, cuarena_block_t other)
{
    cuarena_block_t more = 0;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    cuarena_status_t status = cuarena_block_resize(arena, one, MIB(2));
    if (status != CUARENA_LOST)
        status = cuarena_block_resize(arena, other, MIB(2));
    if (status != CUARENA_LOST)
        status = cuarena_block_alloc_with(arena, MIB(2), &request, &more);
    expect_status(status, CUARENA_LOST);
}

/* After a sticky error no call works; frees, queries and the end do. */
START_TEST(a_lost_arena)
{
    const char *options = failing_arenas[_i];
    cuarena_t *arena = NULL;
    cuarena_block_t block = 0, other = 0, more = 0;
    uint64_t given = 77;
    cuarena_request_t request;
    ck_assert(standin_is_here());
    cuarena_request_init(&request);
    request.dedicated = 1;
    cuarena_config_t config = config_of(options);
    config.limit = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, MIB(64)};
    expect_ok(cuarena_create(&config, &arena));
    expect_ok(cuarena_block_alloc_with(arena, MIB(2), &request, &block));
    expect_ok(cuarena_block_alloc(arena, MIB(1), &other));
    expect_ok(cuarena_block_alloc(arena, MIB(1), &more));
    standin->standin_lose_device(0, CUAI_CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_loss(arena, other, more);
    expect_status(cuarena_block_alloc(arena, 256, &more), CUARENA_LOST);
    expect_message("lost");
    expect_status(cuarena_compact(arena, NULL, NULL, NULL, NULL), CUARENA_LOST);
    expect_status(cuarena_trim(arena, 0, &given), CUARENA_LOST);
    standin->standin_counts_clear();
    expect_ok(cuarena_block_free(arena, block));
    (void)held_by(arena);
    expect_ok(cuarena_destroy_forced(&arena));
    expect_u64(standin->standin_calls("cuMemFree") + standin->standin_calls("cuMemUnmap") +
                   standin->standin_calls("cuMemAddressFree"),
               0);
}
END_TEST

/* A reset waits before it ends blocks, and again before their segments go back: where the first
 * fails nothing has changed, where the second does the segment stays taken. */
START_TEST(a_reset_that_cannot_wait_gives_nothing_back)
{
    cuarena_block_t block = 0;
    cuarena_request_t request;
    uint64_t failed;
    uint64_t nth = 1;
    fixture_t *f = new_fixture(fixture_close);
    ck_assert(standin_is_here());
    cuarena_request_init(&request);
    request.dedicated = 1;
    do {
        fixture_open_text(f, "memory=device,backing=async,preset=grow,limit=64MiB");
        expect_ok(
            cuarena_block_alloc_on(f->arena, MIB(2), CUARENA_STREAM_LEGACY, &request, &block));
        standin->standin_counts_clear();
        standin->standin_fail("cuEventSynchronize", nth++, CUAI_CUDA_ERROR_INVALID_VALUE, 0);
        cuarena_status_t status = cuarena_reset(f->arena);
        failed = standin->standin_failed();
        standin->standin_fail_clear();
        ck_assert(status == CUARENA_OK || failed == 1);
        expect_u64(standin->standin_calls("cuMemFreeAsync") + standin->standin_calls("cuMemFree"),
                   failed == 0);
        fixture_close_forced(f);
    } while (failed != 0);
    expect_u64(nth, 4); /* each of the two waits has failed once */
}
END_TEST

/* ---- A forked child -------------------------------------------------------
 */

/* What ends things forgets them; what needs the driver says that there is
 * none. The number of the first thing that was otherwise. */
static int live_on_in_child(cuarena_t *arena, cuarena_block_t block, cuarena_block_t dedicated)
{
    cuarena_block_t more = 0;
    cuarena_request_t request;
    cuarena_stats_t stats;
    uint64_t given = 0;
    cuarena_request_init(&request);
    request.dedicated = 1;
    cuarena_stats_init(&stats);
    if (cuarena_stats(arena, CUARENA_REGION_ALL, &stats) != CUARENA_OK)
        return 1;
    if (cuarena_block_alloc_with(arena, MIB(2), &request, &more) != CUARENA_NO_DEVICE)
        return 2;
    if (cuarena_block_free(arena, block) != CUARENA_OK ||
        cuarena_block_free(arena, dedicated) != CUARENA_OK)
        return 3;
    if (cuarena_trim(arena, 0, &given) != CUARENA_OK)
        return 4;
    if (cuarena_destroy(&arena) != CUARENA_OK)
        return 5;
    if (standin_is_here() && standin->standin_report_count(0) != 0)
        return 6;
    return 0;
}

START_TEST(a_forked_child)
{
    cuarena_block_t block = 0, dedicated = 0;
    cuarena_request_t request;
    int status = 0;
    cuarena_request_init(&request);
    request.dedicated = 1;
    fixture_t *f = new_fixture(close_all);
    fixture_prepare_text(f, failing_arenas[_i]);
    f->config.limit = amount_of_bytes(MIB(64));
    fixture_create(f);
    cuarena_t *arena = f->arena;
    expect_ok(cuarena_block_alloc(arena, MIB(1), &block));
    expect_ok(cuarena_block_alloc_with(arena, MIB(2), &request, &dedicated));
    pid_t child = fork();
    if (child == 0)
        _exit(live_on_in_child(arena, block, dedicated));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    expect_ok(cuarena_block_free(arena, dedicated));
    expect_ok(cuarena_block_free(arena, block));
}
END_TEST

/* What was freed on streams, and for whom. */
typedef struct left {
    cuarena_t *arena;
    cuarena_stream_t stream;
    cuarena_stream_t other;
    void *live;
    void *used; /* by the other stream */
} left_t;

static const char *const streams_arenas[] = {
    "memory=device,backing=vmm,handle=2MiB,preset=grow",
    "memory=device,backing=vmm,handle=2MiB,preset=grow,events=eager",
    "memory=device,backing=vmm,handle=2MiB,preset=grow,steal=never",
    "memory=device,backing=vmm,handle=2MiB,preset=grow,zero=free",
    "memory=device,backing=async,preset=grow",
    "memory=managed,preset=grow,zero=free",
    "memory=pinned,preset=grow",
};

static void expect_no_device(cuarena_status_t status, const char *what)
{
    expect_status_at(status, CUARENA_NO_DEVICE, what, __FILE__, __LINE__);
    ck_assert_msg(strstr(last_error_message(), "forked") != NULL,
                  "%s: expected the reason, 'forked', in: %s", what, last_error_message());
}

/* Growth says why it cannot be; frees and the end forget. */
static void forget_in_child(left_t *left)
{
    void *more = NULL;
    expect_no_device(cuarena_alloc(left->arena, MIB(64), &more), "growth");
    expect_no_device(cuarena_alloc_on(left->arena, MIB(64), left->stream, NULL, &more),
                     "growth on a stream");
    expect_ok(cuarena_free_on(left->arena, left->used, left->stream));
    expect_ok(cuarena_free_on(left->arena, left->live, left->stream));
    expect_ok(cuarena_validate(left->arena, NULL, 0));
    expect_ok(cuarena_destroy(&left->arena));
    if (standin_is_here())
        expect_u64(standin->standin_report_count(0), 0);
}

START_TEST(a_forked_child_forgets_what_streams_freed)
{
    (void)cuda_test_use_device(0);
    left_t left = {.stream = cuda_test_stream(), .other = cuda_test_stream()};
    void *freed = NULL;
    void *ended = NULL;
    void *handed = NULL;
    cuarena_config_t config = config_of(streams_arenas[_i]);
    expect_ok(cuarena_create(&config, &left.arena));
    expect_ok(cuarena_alloc_on(left.arena, MIB(3), left.stream, NULL, &freed));
    expect_ok(cuarena_alloc_on(left.arena, MIB(1), left.stream, NULL, &left.live));
    expect_ok(cuarena_alloc_on(left.arena, MIB(1), left.stream, NULL, &left.used));
    expect_ok(cuarena_alloc_on(left.arena, MIB(1), left.stream, NULL, &ended));
    expect_ok(cuarena_alloc_on(left.arena, MIB(1), left.other, NULL, &handed));
    expect_ok(cuarena_record_use(left.arena, left.used, left.other));
    expect_ok(cuarena_record_use(left.arena, ended, left.other));
    expect_ok(cuarena_free_on(left.arena, freed, left.stream));
    expect_ok(cuarena_free_on(left.arena, ended, left.stream));
    expect_ok(cuarena_free_on(left.arena, handed, left.other));
    pid_t child = fork();
    if (child == 0) {
        forget_in_child(&left);
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    expect_ok(cuarena_free_on(left.arena, left.used, left.stream));
    expect_ok(cuarena_free_on(left.arena, left.live, left.stream));
    expect_ok(cuarena_destroy_forced(&left.arena));
    cuda_test_end_stream(left.stream);
    cuda_test_end_stream(left.other);
    expect_cu(cuda_test()->cuDevicePrimaryCtxRelease(0));
    expect_nothing_left();
}
END_TEST

START_TEST(a_forked_child_ends_an_arena_whose_stream_was_released)
{
    (void)cuda_test_use_device(0);
    cuarena_stream_t stream = cuda_test_stream();
    cuarena_t *arena = NULL;
    void *freed = NULL;
    cuarena_config_t config = config_of(streams_arenas[_i]);
    expect_ok(cuarena_create(&config, &arena));
    expect_ok(cuarena_alloc_on(arena, MIB(3), stream, NULL, &freed));
    expect_ok(cuarena_free_on(arena, freed, stream));
    expect_ok(cuarena_release_stream(arena, stream));
    pid_t child = fork();
    if (child == 0) {
        expect_ok(cuarena_destroy(&arena));
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    expect_ok(cuarena_destroy_forced(&arena));
    cuda_test_end_stream(stream);
    expect_cu(cuda_test()->cuDevicePrimaryCtxRelease(0));
    expect_nothing_left();
}
END_TEST

/* ---- Running out ------------------------------------------------------------
 */

START_TEST(a_small_device_runs_out)
{
    cuarena_t *arena = NULL;
    cuarena_block_t block = 0, more = 0;
    ck_assert(standin_is_here());
    standin->standin_configure("MEMORY", "64M");
    cuarena_config_t config = config_of("memory=device,preset=grow,handle=2MiB,limit=1GiB");
    expect_ok(cuarena_create(&config, &arena));
    expect_ok(cuarena_block_alloc(arena, MIB(32), &block));
    uint64_t held = held_by(arena);
    expect_status(cuarena_block_alloc(arena, MIB(48), &more), CUARENA_OUT_OF_MEMORY);
    expect_u64(held_by(arena), held);
    expect_ok(cuarena_block_free(arena, block));
    expect_ok(cuarena_block_alloc(arena, MIB(48), &more));
    expect_ok(cuarena_destroy_forced(&arena));
    expect_ok(cuarena_config_parse(&config, "preset=pool,pool=50%,limit=auto"));
    expect_ok(cuarena_create(&config, &arena));
    expect_ok(cuarena_destroy_forced(&arena));
    expect_ok(cuarena_config_parse(&config, "pool=65MiB"));
    expect_status(cuarena_create(&config, &arena), CUARENA_OUT_OF_MEMORY);
    expect_nothing_left();
}
END_TEST

/* ---- An old driver ---------------------------------------------------------- */

START_TEST(an_old_driver)
{
    cuarena_t *arena = NULL;
    ck_assert(standin_is_here());
    standin->standin_configure("VERSION", "11080");
    cuarena_config_t config = config_of("memory=device,pool=2MiB");
    expect_status(cuarena_create(&config, &arena), CUARENA_NO_DEVICE);
    expect_message("11.8", "12.0");
    ck_assert_ptr_null(arena);
}
END_TEST

/* ---- Peers ------------------------------------------------------------------
 */

static void open_with_peers(cuarena_t **arena, const char *options, cuarena_status_t want)
{
    cuarena_config_t config = config_of(options);
    expect_status(cuarena_create(&config, arena), want);
}

START_TEST(devices_that_are_no_peers)
{
    cuarena_t *arena = NULL;
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    ck_assert(standin_is_here());
    standin->standin_configure("DEVICES", "2");
    standin->standin_configure("PEERS", "0");
    open_with_peers(&arena, "memory=device,pool=4MiB,peers=require", CUARENA_UNSUPPORTED);
    expect_message("peers", "device 1", "device 0");
    open_with_peers(&arena, "memory=device,pool=4MiB,peers=try", CUARENA_OK);
    expect_ok(cuarena_properties(arena, &properties));
    ck_assert_int_eq(properties.peers, 0);
    expect_ok(cuarena_destroy(&arena));
    expect_nothing_left();
}
END_TEST

/* ---- The list ------------------------------------------------------------ */

static void add_rows(Suite *suite, const char *name, const TTest *test, size_t rows)
{
    add_standin_test(new_case(suite, name), test, rows);
}

/* Left out under a checker, which hangs where a process with an arena forks. */
static TCase *new_forking_case(Suite *suite, const char *name)
{
    TCase *tcase = new_case(suite, name);
    tcase_set_tags(tcase, "process");
    return tcase;
}

static void add_failures(Suite *suite)
{
    const size_t arenas = COUNT_OF(failing_arenas);
    add_rows(suite, "takers fail", takers_that_fail_leave_nothing, COUNT_OF(takers) * arenas);
    add_rows(suite, "enders fail", enders_that_fail_are_survived, COUNT_OF(enders) * arenas);
    add_rows(suite, "stayed mapped", bytes_that_stayed_mapped_are_taken_again, 4);
    add_rows(suite, "no events", a_zeroing_free_without_events, 1);
    add_rows(suite, "told of", a_free_that_loses_the_arena_is_told_of, COUNT_OF(losses));
    add_rows(suite, "second try", a_reclaim_that_zeroes_at_the_second_try_leaves_the_last_error, 1);
    add_rows(suite, "reset", a_reset_that_cannot_wait_gives_nothing_back, 1);
    add_rows(suite, "lost", a_lost_arena, arenas);
    tcase_add_loop_test(new_forking_case(suite, "forked"), a_forked_child, 0, (int)arenas);
    tcase_add_loop_test(new_forking_case(suite, "forked, streams"),
                        a_forked_child_forgets_what_streams_freed, 0,
                        (int)COUNT_OF(streams_arenas));
    tcase_add_loop_test(new_forking_case(suite, "forked, released"),
                        a_forked_child_ends_an_arena_whose_stream_was_released, 0,
                        (int)COUNT_OF(streams_arenas));
    add_rows(suite, "running out", a_small_device_runs_out, 1);
    add_rows(suite, "old", an_old_driver, 1);
    add_rows(suite, "peers", devices_that_are_no_peers, 1);
}

int main(void)
{
    Suite *suite = suite_create("CUDA failures");
    cuda_kinds_ready();
    add_failures(suite);
    return cuda_kinds_main(suite);
}
