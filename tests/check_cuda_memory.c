/*
 * The memories of a device, on the stand-in driver: every function of each,
 * what is had of the driver at every moment, every call of the driver failing
 * at its Nth time, and drivers and devices that lack something. On a real
 * driver only what needs no control of it runs.
 */
#include "support/base_support.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "memory/memory.h"

#define GRAIN MIB(2)

/* ---- The stand-in ------------------------------------------------------- */

static const cuda_control_t *standin; /* NULL on a real driver */

static bool standin_is_here(void)
{
    standin = cuda_control();
    return standin != NULL;
}

/* Reports are expected, and not printed. */
static void standin_quiet(bool quiet)
{
    if (!standin_is_here())
        return;
    standin->standin_report_print(!quiet);
    if (!quiet)
        standin->standin_reports_clear();
}

static uint64_t standin_used(void)
{
    return standin_is_here() ? standin->standin_device_used(0) : 0;
}

static void expect_used(uint64_t bytes)
{
    if (standin_is_here())
        expect_u64(standin->standin_device_used(0), bytes);
}

static void expect_no_report(void)
{
    if (standin_is_here() && standin->standin_report_count(0) != 0)
        ck_abort_msg("the stand-in reports: %s",
                     standin->standin_report_text(0));
}

/* Nothing of the driver's is alive, and nothing was done wrong. */
static void expect_nothing_left(void)
{
    static const char *const kinds[] = {
        "allocation", "reservation", "handle", "mapping",    "pool",
        "event",      "stream",      "module", "descriptor",
    };
    if (!standin_is_here())
        return;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (standin->standin_live(kinds[i]) != 0)
            ck_abort_msg("%zu left of kind %s", standin->standin_live(kinds[i]),
                         kinds[i]);
    expect_no_report();
}

/* ---- One memory ------------------------------------------------------------
 */

typedef struct bench {
    cuarena_config_t config;
    cuai_memory_t memory;
    cuarena_memory_segment_t segment;
} bench_t;

static cuarena_config_t config_of(const char *options)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, options));
    config.grow = CUARENA_GROW_NONE;
    return config;
}

static void open_memory(bench_t *b, const char *options)
{
    *b = (bench_t){.config = config_of(options)};
    expect_ok(cuai_memory_open(&b->config, &b->memory));
}

/* Nothing of the driver's is left. */
static void close_memory(bench_t *b)
{
    cuai_memory_close(&b->memory);
    expect_nothing_left();
}

static void get(bench_t *b, uint64_t bytes, uint64_t reserve)
{
    expect_ok(b->memory.ops.get(b->memory.user, bytes, reserve, &b->segment));
    expect_u64(b->segment.bytes, bytes);
    ck_assert_uint_ge(b->segment.reserved_bytes, bytes);
    ck_assert_uint_ne(b->segment.address, 0);
    ck_assert(cuai_is_aligned(b->segment.address, b->memory.ops.alignment));
}

static void give_back(bench_t *b)
{
    b->memory.ops.give_back(b->memory.user, &b->segment);
}

static void *at(const bench_t *b, uint64_t offset)
{
    return (void *)(uintptr_t)(b->segment.address + offset);
}

/* Contents are written and read by the driver, where it has access. */
static void expect_usable(const bench_t *b, uint64_t offset, uint64_t bytes)
{
    static char sent[4096], received[4096];
    uint64_t places[] = {offset, offset + bytes - sizeof sent};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        paint_bytes(sent, sizeof sent, offset + i);
        arena_reach->write(at(b, places[i]), sent, sizeof sent);
        arena_reach->read(received, at(b, places[i]), sizeof received);
        ck_assert_int_eq(memcmp(sent, received, sizeof sent), 0);
    }
}

static void expect_unusable(const bench_t *b, uint64_t offset)
{
    char byte = 0;
    const cuda_test_t *cuda = cuda_test();
    standin_quiet(true);
    ck_assert_int_ne(cuda->cuMemcpyDtoH(&byte, b->segment.address + offset, 1),
                     CUAI_CUDA_SUCCESS);
    standin_quiet(false);
}

static uint64_t held_by(cuarena_t *arena)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_stats(arena, CUARENA_REGION_ALL, &stats));
    return stats.held_bytes;
}

/* ---- vmm -------------------------------------------------------------------
 */

START_TEST(test_vmm_grows_and_shrinks_in_place)
{
    bench_t b;
    open_memory(&b, "memory=device,backing=vmm,handle=2MiB,pool=16MiB");
    const cuarena_memory_ops_t *ops = &b.memory.ops;
    expect_u64(ops->grain_bytes, GRAIN);
    uint64_t before = standin_used();
    get(&b, 2 * GRAIN, 32 * GRAIN);
    uint64_t address = b.segment.address;
    expect_used(before + 2 * GRAIN);
    expect_usable(&b, 0, 2 * GRAIN);
    expect_ok(ops->grow(b.memory.user, &b.segment, 7 * GRAIN));
    expect_u64(b.segment.address, address);
    expect_u64(b.segment.bytes, 7 * GRAIN);
    expect_used(before + 7 * GRAIN);
    expect_usable(&b, 0, 7 * GRAIN);
    ops->shrink(b.memory.user, &b.segment, 3 * GRAIN);
    expect_used(before + 3 * GRAIN);
    expect_usable(&b, 0, 3 * GRAIN);
    expect_unusable(&b, 3 * GRAIN);
    expect_ok(ops->grow(b.memory.user, &b.segment, 32 * GRAIN));
    expect_usable(&b, 3 * GRAIN, 29 * GRAIN);
    give_back(&b);
    expect_used(before);
    close_memory(&b);
}
END_TEST

START_TEST(test_vmm_holes_in_the_middle)
{
    bench_t b;
    open_memory(&b, "memory=device,backing=vmm,handle=2MiB,pool=16MiB");
    const cuarena_memory_ops_t *ops = &b.memory.ops;
    uint64_t before = standin_used();
    get(&b, 8 * GRAIN, 8 * GRAIN);
    ops->punch(b.memory.user, &b.segment, 2 * GRAIN, 3 * GRAIN);
    ops->punch(b.memory.user, &b.segment, 6 * GRAIN, GRAIN);
    expect_used(before + 4 * GRAIN);
    expect_u64(b.segment.bytes, 8 * GRAIN);
    expect_usable(&b, 0, 2 * GRAIN);
    expect_unusable(&b, 2 * GRAIN);
    expect_unusable(&b, 5 * GRAIN - 1);
    expect_usable(&b, 5 * GRAIN, GRAIN);
    expect_unusable(&b, 6 * GRAIN);
    expect_usable(&b, 7 * GRAIN, GRAIN);
    expect_ok(ops->fill(b.memory.user, &b.segment, 3 * GRAIN, GRAIN));
    expect_used(before + 5 * GRAIN);
    expect_usable(&b, 3 * GRAIN, GRAIN);
    expect_unusable(&b, 4 * GRAIN);
    ops->shrink(b.memory.user, &b.segment, 4 * GRAIN); /* over two holes */
    expect_used(before + 3 * GRAIN);
    give_back(&b);
    expect_used(before);
    close_memory(&b);
}
END_TEST

/* One call that sets access, and one that unmaps, for a row of handles. */
START_TEST(test_vmm_works_in_rows)
{
    bench_t b;
    if (!standin_is_here())
        return;
    open_memory(&b, "memory=device,backing=vmm,handle=2MiB,pool=16MiB");
    standin->standin_counts_clear();
    get(&b, 8 * GRAIN, 8 * GRAIN);
    expect_u64(standin->standin_calls("cuMemSetAccess"), 1);
    expect_u64(standin->standin_calls("cuMemCreate"), 8);
    b.memory.ops.punch(b.memory.user, &b.segment, 2 * GRAIN, 2 * GRAIN);
    expect_u64(standin->standin_calls("cuMemUnmap"), 1);
    give_back(&b);
    expect_u64(standin->standin_calls("cuMemUnmap"), 3);
    close_memory(&b);
}
END_TEST

START_TEST(test_vmm_sets_fewer_addresses_aside_when_refused)
{
    bench_t b;
    if (!standin_is_here())
        return;
    open_memory(&b,
                "memory=device,backing=vmm,handle=2MiB,pool=16MiB,limit=1T");
    for (int refusals = 1; refusals <= 3; refusals++) {
        for (int nth = 1; nth <= refusals; nth++)
            standin->standin_fail("cuMemAddressReserve", (uint64_t)nth, 2, 0);
        get(&b, 2 * GRAIN, 64 * GRAIN);
        expect_u64(b.segment.reserved_bytes, 64 * GRAIN >> refusals);
        give_back(&b);
        standin->standin_fail_clear();
    }
    standin->standin_fail("cuMemAddressReserve", 1, 2, 1);
    expect_status(
        b.memory.ops.get(b.memory.user, 2 * GRAIN, 64 * GRAIN, &b.segment),
        CUARENA_OUT_OF_MEMORY);
    expect_message("addresses", "cuMemAddressReserve");
    standin->standin_fail_clear();
    close_memory(&b);
}
END_TEST

/* What a configuration comes to: the size of handles, and the message. */
typedef struct handle_case {
    const char *options;
    uint64_t handle;
} handle_case_t;

static const handle_case_t handle_cases[] = {
    {"memory=device,backing=vmm,pool=2MiB", MIB(2)},
    {"memory=device,backing=vmm,pool=64MiB", MIB(2)},
    {"memory=device,backing=vmm,pool=1GiB", MIB(16)},
    {"memory=device,backing=vmm,pool=100GiB", MIB(128)},
    {"memory=device,backing=vmm,pool=1GiB,handle=64MiB", MIB(64)},
    {"memory=device,backing=vmm,pool=1GiB,alignment=512MiB", MIB(512)},
};

START_TEST(test_vmm_chooses_handles_by_the_size)
{
    bench_t b;
    open_memory(&b, handle_cases[_i].options);
    expect_u64(b.memory.facts.handle_bytes, handle_cases[_i].handle);
    expect_u64(b.memory.ops.grain_bytes, handle_cases[_i].handle);
    ck_assert_uint_le(b.memory.ops.least_bytes, handle_cases[_i].handle);
    close_memory(&b);
}
END_TEST

/* The last handle of a segment that keeps its length may be small. */
START_TEST(test_vmm_dedicated_blocks_take_no_whole_grain)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_block_t block = 0;
    cuarena_request_t request;
    cuarena_export_piece_t pieces[2];
    cuarena_export_t *one = NULL;
    size_t count = 0;
    cuarena_request_init(&request);
    request.dedicated = 1;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(
        &config,
        "memory=device,preset=grow,backing=vmm,handle=32MiB,fd=require"));
    expect_ok(cuarena_create(&config, &arena));
    expect_ok(cuarena_block_alloc_with(arena, MIB(33), &request, &block));
    expect_u64(held_by(arena), MIB(34));
    expect_ok(cuarena_export(arena, block, NULL, pieces, 2, &count, &one));
    expect_u64(count, 2);
    expect_u64(pieces[0].handle_bytes, MIB(32));
    expect_u64(pieces[1].handle_bytes, MIB(2));
    expect_u64(pieces[1].bytes, MIB(2));
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(close(pieces[i].fd), 0);
    expect_ok(cuarena_export_close(arena, &one));
    expect_ok(cuarena_block_free(arena, block));
    expect_u64(held_by(arena), 0);
    expect_ok(cuarena_destroy(&arena));
    expect_nothing_left();
}
END_TEST

/* ---- Memories that keep their length ---------------------------------------
 */

static const char *const whole_memories[] = {
    "memory=device,backing=malloc",
    "memory=device,backing=async",
    "memory=managed",
    "memory=pinned",
    "memory=pinned,mapped=0",
    "memory=pinned,write_combined=1,portable=1",
};

START_TEST(test_whole_segments)
{
    bench_t b, other;
    open_memory(&b, whole_memories[_i]);
    const cuarena_memory_ops_t *ops = &b.memory.ops;
    ck_assert(ops->grow == NULL && ops->shrink == NULL);
    ck_assert(ops->punch == NULL && ops->fill == NULL);
    ck_assert(ops->export_range == NULL);
    expect_u64(ops->grain_bytes, GRAIN);
    get(&b, 3 * GRAIN, 100 * GRAIN);
    expect_u64(b.segment.reserved_bytes, 3 * GRAIN);
    expect_usable(&b, 0, 3 * GRAIN);
    other = b;
    get(&b, GRAIN, GRAIN);
    ck_assert_uint_ne(b.segment.address, other.segment.address);
    expect_usable(&b, 0, GRAIN);
    give_back(&other);
    give_back(&b);
    close_memory(&b);
}
END_TEST

START_TEST(test_whole_segments_of_any_alignment)
{
    static const char *const alignments[] = {"8", "512", "64KiB", "8MiB"};
    static const uint64_t wanted[] = {256, 512, KIB(64), MIB(8)};
    for (size_t i = 0; i < COUNT_OF(alignments); i++) {
        bench_t b;
        char options[128];
        snprintf(options, sizeof options, "%s,alignment=%s", whole_memories[_i],
                 alignments[i]);
        open_memory(&b, options);
        uint64_t grain = b.memory.ops.grain_bytes;
        expect_u64(b.memory.ops.alignment, wanted[i]);
        get(&b, grain, grain);
        expect_usable(&b, 0, grain);
        give_back(&b);
        close_memory(&b);
    }
}
END_TEST

/* Managed memory that nobody has touched takes nothing, so the driver would
 * give any amount. */
START_TEST(test_managed_memory_stays_below_what_the_device_has)
{
    bench_t b, other;
    uint64_t free_bytes = 0, left = 0;
    open_memory(&b, "memory=managed");
    open_memory(&other, "memory=managed");
    expect_ok(b.memory.ops.available(b.memory.user, &free_bytes));
    uint64_t half = cuai_align_up(free_bytes / 2 + GRAIN, GRAIN);
    expect_status(
        b.memory.ops.get(b.memory.user, 2 * half, 2 * half, &b.segment),
        CUARENA_OUT_OF_MEMORY);
    expect_message("managed", "free");
    if (standin_is_here()) { /* a real device has better to do */
        get(&b, half, half);
        expect_status(
            other.memory.ops.get(other.memory.user, half, half, &other.segment),
            CUARENA_OUT_OF_MEMORY);
        expect_ok(other.memory.ops.available(other.memory.user, &left));
        ck_assert_uint_lt(left, half);
        give_back(&b);
        get(&other, half, half);
        give_back(&other);
    }
    cuai_memory_close(&other.memory);
    close_memory(&b);
}
END_TEST

/* ---- Moving and zeroing ----------------------------------------------------
 */

static const char *const all_memories[] = {
    "memory=device,backing=vmm,pool=16MiB",
    "memory=device,backing=malloc",
    "memory=device,backing=async",
    "memory=managed",
    "memory=pinned",
    "memory=pinned,write_combined=1",
};

#define PLAYGROUND (8 * GRAIN)

/* What the bytes are to be, moved by memmove. */
typedef struct picture {
    char *want;
    char *got;
} picture_t;

static picture_t draw(const bench_t *b, uint64_t seed)
{
    picture_t picture = {malloc(PLAYGROUND), malloc(PLAYGROUND)};
    ck_assert(picture.want != NULL && picture.got != NULL);
    paint_bytes(picture.want, PLAYGROUND, seed);
    arena_reach->write(at(b, 0), picture.want, PLAYGROUND);
    return picture;
}

static void expect_picture(const bench_t *b, picture_t *picture)
{
    arena_reach->read(picture->got, at(b, 0), PLAYGROUND);
    for (uint64_t i = 0; i < PLAYGROUND; i++)
        if (picture->want[i] != picture->got[i])
            ck_abort_msg("byte %llu is %d, expected %d", (unsigned long long)i,
                         picture->got[i], picture->want[i]);
    free(picture->want);
    free(picture->got);
}

static void move(const bench_t *b, picture_t *picture, uint64_t to,
                 uint64_t from, uint64_t bytes, cuarena_relocation_t *entry)
{
    *entry = (cuarena_relocation_t){0, at(b, from), at(b, to), bytes};
    memmove(picture->want + to, picture->want + from, bytes);
}

/* Slides of every sort: far, near, by a granule, up and down. */
START_TEST(test_relocate_whatever_overlaps)
{
    static const uint64_t slides[][3] = {
        {0, 4 * GRAIN, GRAIN},
        {0, KIB(64), 2 * GRAIN},
        {256, 512, 6 * GRAIN},
        {8, 16, GRAIN},
        {MIB(5), 0, MIB(2)},
        {MIB(5), MIB(4), MIB(2)},
        {MIB(4) + 256, MIB(4), MIB(10)},
        {MIB(1) + 8, MIB(1), KIB(4)},
    };
    bench_t b;
    open_memory(&b, all_memories[_i]);
    get(&b, PLAYGROUND, PLAYGROUND);
    for (size_t i = 0; i < COUNT_OF(slides); i++) {
        cuarena_relocation_t entry;
        size_t done = 9;
        picture_t picture = draw(&b, i);
        move(&b, &picture, slides[i][0], slides[i][1], slides[i][2], &entry);
        expect_ok(b.memory.ops.relocate(b.memory.user, &entry, 1,
                                        CUARENA_NO_STREAM, &done));
        expect_u64(done, 1);
        expect_picture(&b, &picture);
    }
    give_back(&b);
    close_memory(&b);
}
END_TEST

/* Each writes where the one before has read. */
START_TEST(test_relocate_a_list_in_order)
{
    enum {
        COUNT = 300
    };
    static cuarena_relocation_t list[COUNT];
    bench_t b;
    size_t done = 0;
    open_memory(&b, all_memories[_i]);
    get(&b, PLAYGROUND, PLAYGROUND);
    picture_t picture = draw(&b, 3);
    uint64_t to = 0, from = KIB(1);
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t bytes = 256 * (1 + i * 37 % 190);
        move(&b, &picture, to, from, bytes, &list[i]);
        to += bytes;
        from += bytes + 256 * (i % 5);
    }
    expect_ok(b.memory.ops.relocate(b.memory.user, list, COUNT,
                                    CUARENA_NO_STREAM, &done));
    expect_u64(done, COUNT);
    expect_picture(&b, &picture);
    give_back(&b);
    close_memory(&b);
}
END_TEST

/* On streams of the caller's: in order with what they did before, and each
 * list after the one before, whatever its stream. */
START_TEST(test_relocate_and_zero_on_streams)
{
    bench_t b;
    cuarena_stream_info_t info;
    cuarena_relocation_t entry;
    size_t done = 0;
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_stream_t streams[2];
    (void)cuda_test_use_device(0);
    open_memory(&b, all_memories[_i]);
    const cuarena_memory_ops_t *ops = &b.memory.ops;
    get(&b, PLAYGROUND, PLAYGROUND);
    picture_t picture = draw(&b, 4);
    for (int i = 0; i < 2; i++) {
        expect_cu(cuda->cuStreamCreate(&streams[i], 1));
        expect_ok(ops->identify(b.memory.user, streams[i], &info));
    }
    for (uint64_t i = 0; i < 8; i++) {
        void *marker = NULL;
        expect_ok(ops->mark(b.memory.user, streams[(i + 1) % 2], &marker));
        expect_ok(ops->wait(b.memory.user, marker, streams[i % 2], 0));
        ops->unmark(b.memory.user, marker);
        move(&b, &picture, KIB(4), KIB(4) + 256 * (i + 1), 2 * GRAIN, &entry);
        expect_ok(
            ops->relocate(b.memory.user, &entry, 1, streams[i % 2], &done));
    }
    memset(picture.want + GRAIN, 0, KIB(12));
    expect_ok(
        ops->zero_bytes(b.memory.user, at(&b, GRAIN), KIB(12), streams[1]));
    expect_cu(cuda->cuStreamSynchronize(streams[1]));
    expect_picture(&b, &picture);
    for (int i = 0; i < 2; i++)
        expect_cu(cuda->cuStreamDestroy(streams[i]));
    give_back(&b);
    cuai_memory_close(&b.memory);
}
END_TEST

START_TEST(test_zero_without_a_stream)
{
    bench_t b;
    open_memory(&b, all_memories[_i]);
    get(&b, PLAYGROUND, PLAYGROUND);
    picture_t picture = draw(&b, 5);
    memset(picture.want + 256, 0, GRAIN + 8);
    expect_ok(b.memory.ops.zero_bytes(b.memory.user, at(&b, 256), GRAIN + 8,
                                      CUARENA_NO_STREAM));
    expect_picture(&b, &picture);
    give_back(&b);
    close_memory(&b);
}
END_TEST

/* ---- A driver that fails ---------------------------------------------------
 */

/* Calls that take something, wait or ask; when one of them fails, nothing may
 * be lost. Those that end something, or that it takes to end something, are in
 * `enders`. */
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
    "cuMemAllocAsync",
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
                      status == CUARENA_UNSUPPORTED ||
                      status == CUARENA_FRAGMENTED || status == CUARENA_LIMIT,
                  "an unexpected %s", cuarena_status_name(status));
    ck_assert_ptr_nonnull(last_error_message());
    return false;
}

/* A request that finds no more bytes holds no more than before. */
static bool take_one(cuarena_t *arena, uint64_t bytes, cuarena_block_t *block)
{
    uint64_t held = held_by(arena);
    cuarena_status_t status = cuarena_block_alloc(arena, bytes, block);
    bool refused = status == CUARENA_OUT_OF_MEMORY &&
                   strstr(last_error_message(), "no room for") != NULL;
    if (refused)
        ck_assert_uint_le(held_by(arena), held);
    return survived(arena, status);
}

/* A life in short: everything that calls the driver. */
static void live(const char *options)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_block_t blocks[4] = {0};
    uint64_t given;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, options));
    if (!survived(NULL, cuarena_create(&config, &arena))) {
        ck_assert_ptr_null(arena);
        return;
    }
    for (int i = 0; i < 4; i++)
        (void)take_one(arena, MIB(2), &blocks[i]);
    (void)survived(arena, cuarena_block_free(arena, blocks[0]));
    (void)survived(arena, cuarena_block_free(arena, blocks[2]));
    (void)survived(arena, cuarena_compact(arena, NULL, NULL, NULL, NULL));
    (void)survived(arena, cuarena_trim(arena, 0, &given));
    (void)take_one(arena, MIB(4), &blocks[0]);
    if (blocks[1] != 0)
        (void)survived(arena, cuarena_block_resize(arena, blocks[1], MIB(3)));
    expect_ok(cuarena_destroy_forced(&arena));
}

/* Every Nth call of one entry point, until it is called less often. */
static void live_with_failing(const char *options, const char *entry, int code,
                              bool from_then_on, bool leaks)
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

START_TEST(test_takers_that_fail_leave_nothing)
{
    const char *options = failing_arenas[_i % (int)COUNT_OF(failing_arenas)];
    const char *entry = takers[_i / (int)COUNT_OF(failing_arenas)];
    if (!standin_is_here())
        return;
    live_with_failing(options, entry, CUAI_CUDA_ERROR_OUT_OF_MEMORY, false,
                      false);
    live_with_failing(options, entry, CUAI_CUDA_ERROR_OPERATING_SYSTEM, false,
                      false);
    bool marks = strncmp(entry, "cuEvent", 7) == 0;
    live_with_failing(options, entry, CUAI_CUDA_ERROR_OUT_OF_MEMORY, true,
                      marks); /* what nobody can wait for is not given back */
}
END_TEST

/* What could not be ended is the driver's; the arena goes on. */
START_TEST(test_enders_that_fail_are_survived)
{
    const char *options = failing_arenas[_i % (int)COUNT_OF(failing_arenas)];
    const char *entry = enders[_i / (int)COUNT_OF(failing_arenas)];
    if (!standin_is_here())
        return;
    live_with_failing(options, entry, CUAI_CUDA_ERROR_INVALID_VALUE, false,
                      true);
}
END_TEST

/* One of the two blocks must move to get larger; where the CPU moves it, the
 * driver is asked for more. */
static void expect_loss(cuarena_t *arena, cuarena_block_t one,
                        cuarena_block_t other)
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
START_TEST(test_a_lost_arena)
{
    const char *options = failing_arenas[_i];
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_block_t block = 0, other = 0, more = 0;
    uint64_t given = 77;
    cuarena_request_t request;
    if (!standin_is_here())
        return;
    cuarena_request_init(&request);
    request.dedicated = 1;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, options));
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
    expect_u64(standin->standin_calls("cuMemFree") +
                   standin->standin_calls("cuMemUnmap") +
                   standin->standin_calls("cuMemAddressFree"),
               0);
}
END_TEST

/* ---- Running out ------------------------------------------------------------
 */

START_TEST(test_a_small_device_runs_out)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_block_t block = 0, more = 0;
    if (!standin_is_here())
        return;
    standin->standin_configure("MEMORY", "64M");
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(
        &config, "memory=device,preset=grow,handle=2MiB,limit=1GiB"));
    expect_ok(cuarena_create(&config, &arena));
    expect_ok(cuarena_block_alloc(arena, MIB(32), &block));
    uint64_t held = held_by(arena);
    expect_status(cuarena_block_alloc(arena, MIB(48), &more),
                  CUARENA_OUT_OF_MEMORY);
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

/* ---- Drivers and devices that lack something -------------------------------
 */

typedef struct lack_case {
    const char *lack; /* of the stand-in */
    const char *options;
    cuarena_status_t status;
    int32_t backing; /* if it is OK */
    const char *word;
} lack_case_t;

static const lack_case_t lack_cases[] = {
    {"vmm", "memory=device,pool=2MiB", CUARENA_OK, CUARENA_BACKING_MALLOC, ""},
    {"vmm", "memory=device,pool=2MiB,fd=try,peers=try", CUARENA_OK,
     CUARENA_BACKING_MALLOC, ""},
    {"vmm", "memory=device,pool=2MiB,backing=vmm", CUARENA_UNSUPPORTED, 0,
     "vmm"},
    {"vmm", "memory=device,pool=2MiB,fd=require", CUARENA_UNSUPPORTED, 0, "fd"},
    {"vmm", "memory=device,pool=2MiB,handle=2MiB", CUARENA_UNSUPPORTED, 0,
     "handle"},
    {"pools", "memory=device,pool=2MiB,backing=async", CUARENA_UNSUPPORTED, 0,
     "stream-ordered"},
    {"pools", "memory=device,pool=2MiB", CUARENA_OK, CUARENA_BACKING_VMM, ""},
    {"fd", "memory=device,pool=2MiB,fd=require", CUARENA_UNSUPPORTED, 0, "fd"},
    {"fd", "memory=device,pool=2MiB,fd=try", CUARENA_OK, CUARENA_BACKING_VMM,
     ""},
    {"managed", "memory=managed,pool=2MiB", CUARENA_UNSUPPORTED, 0, "managed"},
    {"cuMemCreate", "memory=device,pool=2MiB", CUARENA_OK,
     CUARENA_BACKING_MALLOC, ""},
};

START_TEST(test_what_is_lacking_is_named)
{
    const lack_case_t *row = &lack_cases[_i];
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    if (!standin_is_here())
        return;
    standin->standin_configure("LACK", row->lack);
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, row->options));
    expect_status(cuarena_create(&config, &arena), row->status);
    if (row->status != CUARENA_OK) {
        expect_message(row->word, "accepted:");
    } else {
        expect_ok(cuarena_properties(arena, &properties));
        ck_assert_int_eq(properties.backing, row->backing);
        ck_assert_int_eq(properties.fd, 0);
        expect_ok(cuarena_destroy(&arena));
    }
    expect_nothing_left();
}
END_TEST

START_TEST(test_an_old_driver)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    if (!standin_is_here())
        return;
    standin->standin_configure("VERSION", "11080");
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, "memory=device,pool=2MiB"));
    expect_status(cuarena_create(&config, &arena), CUARENA_NO_DEVICE);
    expect_message("11.8", "12.0");
    ck_assert_ptr_null(arena);
}
END_TEST

/* ---- Peers ------------------------------------------------------------------
 */

static void open_with_peers(cuarena_t **arena, const char *options,
                            cuarena_status_t want)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, options));
    expect_status(cuarena_create(&config, arena), want);
}

START_TEST(test_peers_reach_the_bytes)
{
    cuarena_t *arena = NULL;
    cuarena_properties_t properties;
    cuarena_stream_t stream = NULL;
    cuarena_properties_init(&properties);
    if (!standin_is_here())
        return;
    standin->standin_configure("DEVICES", "2");
    open_with_peers(&arena, "memory=device,pool=4MiB,peers=require",
                    CUARENA_OK);
    expect_ok(cuarena_properties(arena, &properties));
    ck_assert_int_eq(properties.peers, 1);
    void *pointer = NULL, *copy = NULL;
    expect_ok(cuarena_alloc(arena, MIB(1), &pointer));
    const cuda_test_t *cuda = cuda_test();
    (void)cuda_test_use_device(1);
    expect_cu(cuda->cuStreamCreate(&stream, 1));
    expect_cu(cuda->cuMemsetD32Async((cuai_cu_pointer_t)(uintptr_t)pointer, 7,
                                     1024, stream));
    expect_cu(cuda->cuStreamSynchronize(stream));
    expect_cu(cuda->cuStreamDestroy(stream));
    (void)copy;
    expect_ok(cuarena_free(arena, pointer));
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

START_TEST(test_devices_that_are_no_peers)
{
    cuarena_t *arena = NULL;
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    if (!standin_is_here())
        return;
    standin->standin_configure("DEVICES", "2");
    standin->standin_configure("PEERS", "0");
    open_with_peers(&arena, "memory=device,pool=4MiB,peers=require",
                    CUARENA_UNSUPPORTED);
    expect_message("peers", "device 1", "device 0");
    open_with_peers(&arena, "memory=device,pool=4MiB,peers=try", CUARENA_OK);
    expect_ok(cuarena_properties(arena, &properties));
    ck_assert_int_eq(properties.peers, 0);
    expect_ok(cuarena_destroy(&arena));
    expect_nothing_left();
}
END_TEST

/* ---- The caller's bytes -----------------------------------------------------
 */

typedef struct bytes_case {
    int32_t are;  /* what the driver gives; HOST: memory of the program's own */
    int32_t said; /* what the configuration says */
    const char *words[2];
} bytes_case_t;

static const bytes_case_t bytes_cases[] = {
    {CUARENA_BYTES_DEVICE, CUARENA_BYTES_MANAGED, {"managed", "device"}},
    {CUARENA_BYTES_DEVICE, CUARENA_BYTES_PINNED, {"pinned", "device"}},
    {CUARENA_BYTES_MANAGED, CUARENA_BYTES_DEVICE, {"device", "managed"}},
    {CUARENA_BYTES_PINNED, CUARENA_BYTES_DEVICE, {"device", "pinned"}},
    {CUARENA_BYTES_HOST, CUARENA_BYTES_DEVICE, {"device", "host"}},
    {CUARENA_BYTES_HOST, CUARENA_BYTES_PINNED, {"pinned", "host"}},
};

static void *bytes_of(int32_t kind)
{
    void *bytes = kind == CUARENA_BYTES_HOST ? aligned_alloc(4096, GRAIN)
                                             : arena_reach->take(kind, GRAIN);
    ck_assert_ptr_nonnull(bytes);
    return bytes;
}

static void give_bytes(int32_t kind, void *bytes)
{
    if (kind == CUARENA_BYTES_HOST)
        free(bytes);
    else
        arena_reach->give(kind, bytes);
}

START_TEST(test_bytes_of_another_kind_are_refused)
{
    const bytes_case_t *row = &bytes_cases[_i];
    cuarena_config_t config = config_of("preset=pool");
    cuarena_t *arena = NULL;
    void *bytes = bytes_of(row->are);
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes_kind = row->said;
    config.bytes = bytes;
    config.bytes_size = GRAIN;
    expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
    expect_message("bytes_kind", row->words[0], row->words[1]);
    give_bytes(row->are, bytes);
}
END_TEST

START_TEST(test_bytes_longer_than_they_are)
{
    cuarena_config_t config = config_of("preset=pool");
    cuarena_t *arena = NULL;
    void *bytes = bytes_of(CUARENA_BYTES_DEVICE);
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes_kind = CUARENA_BYTES_DEVICE;
    config.bytes = bytes;
    config.bytes_size = GIB(64);
    expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
    expect_message("bytes_kind");
    give_bytes(CUARENA_BYTES_DEVICE, bytes);
}
END_TEST

START_TEST(test_bytes_of_another_device)
{
    cuarena_config_t config = config_of("preset=pool,device=1");
    cuarena_t *arena = NULL;
    if (!standin_is_here())
        return;
    standin->standin_configure("DEVICES", "2");
    void *bytes = bytes_of(CUARENA_BYTES_DEVICE); /* of device 0 */
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes_kind = CUARENA_BYTES_DEVICE;
    config.bytes = bytes;
    config.bytes_size = GRAIN;
    expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
    expect_message("of device 0", "device 1");
    give_bytes(CUARENA_BYTES_DEVICE, bytes);
}
END_TEST

/* ---- The list ---------------------------------------------------------------
 */

static void add_rows(Suite *suite, const char *name, const TTest *test,
                     size_t rows)
{
    tcase_add_loop_test(new_case(suite, name), test, 0, (int)rows);
}

static void add_memories(Suite *suite)
{
    suite_add_list(suite, "vmm",
                   TEST_LIST(test_vmm_grows_and_shrinks_in_place,
                             test_vmm_holes_in_the_middle,
                             test_vmm_works_in_rows,
                             test_vmm_dedicated_blocks_take_no_whole_grain,
                             test_vmm_sets_fewer_addresses_aside_when_refused));
    add_rows(suite, "handles", test_vmm_chooses_handles_by_the_size,
             COUNT_OF(handle_cases));
    add_rows(suite, "whole", test_whole_segments, COUNT_OF(whole_memories));
    add_rows(suite, "alignment", test_whole_segments_of_any_alignment,
             COUNT_OF(whole_memories));
    suite_add_list(
        suite, "managed",
        TEST_LIST(test_managed_memory_stays_below_what_the_device_has));
    add_rows(suite, "relocate", test_relocate_whatever_overlaps,
             COUNT_OF(all_memories));
    add_rows(suite, "list", test_relocate_a_list_in_order,
             COUNT_OF(all_memories));
    add_rows(suite, "streams", test_relocate_and_zero_on_streams,
             COUNT_OF(all_memories));
    add_rows(suite, "zero", test_zero_without_a_stream, COUNT_OF(all_memories));
}

static void add_failures(Suite *suite)
{
    const size_t arenas = COUNT_OF(failing_arenas);
    add_rows(suite, "takers fail", test_takers_that_fail_leave_nothing,
             COUNT_OF(takers) * arenas);
    add_rows(suite, "enders fail", test_enders_that_fail_are_survived,
             COUNT_OF(enders) * arenas);
    add_rows(suite, "lost", test_a_lost_arena, arenas);
    suite_add_list(suite, "running out",
                   TEST_LIST(test_a_small_device_runs_out));
    add_rows(suite, "lacking", test_what_is_lacking_is_named,
             COUNT_OF(lack_cases));
    suite_add_list(suite, "old", TEST_LIST(test_an_old_driver));
    suite_add_list(
        suite, "peers",
        TEST_LIST(test_peers_reach_the_bytes, test_devices_that_are_no_peers));
}

int main(void)
{
    Suite *suite = suite_create("CUDA memory");
    cuda_kinds_ready();
    add_memories(suite);
    add_failures(suite);
    add_rows(suite, "bytes", test_bytes_of_another_kind_are_refused,
             COUNT_OF(bytes_cases));
    suite_add_list(suite, "more bytes",
                   TEST_LIST(test_bytes_longer_than_they_are,
                             test_bytes_of_another_device));
    return cuda_kinds_main(suite);
}
