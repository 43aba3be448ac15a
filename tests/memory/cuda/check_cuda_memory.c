/*
 * The memories of a device: every function of each, and what is had of the driver at every moment.
 * Runs on the stand-in driver and on a real one, where what needs control of the driver is left
 * out.
 *
 * Looks inside, since no public call opens a memory without an arena (memory/memory.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/memory_bench.h"

/* Contents are written and read by the driver, where it has access. */
static void expect_usable(const memory_bench_t *b, uint64_t offset, uint64_t bytes)
{
    static char sent[4096], received[4096];
    uint64_t places[] = {offset, offset + bytes - sizeof sent};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        paint_bytes(sent, sizeof sent, offset + i);
        arena_reach->write(bench_at(b, places[i]), sent, sizeof sent);
        arena_reach->read(received, bench_at(b, places[i]), sizeof received);
        ck_assert_int_eq(memcmp(sent, received, sizeof sent), 0);
    }
}

static void expect_unusable(const memory_bench_t *b, uint64_t offset)
{
    char byte = 0;
    const cuda_test_t *cuda = cuda_test();
    standin_quiet(true);
    ck_assert_int_ne(cuda->cuMemcpyDtoH(&byte, b->segment.address + offset, 1), CUAI_CUDA_SUCCESS);
    standin_quiet(false);
}

/* ---- vmm -------------------------------------------------------------------
 */

START_TEST(vmm_grows_and_shrinks_in_place)
{
    memory_bench_t *b = opened_memory("memory=device,backing=vmm,handle=2MiB,pool=16MiB");
    const cuarena_memory_ops_t *ops = &b->memory.ops;
    expect_u64(ops->granularity, GRANULARITY);
    uint64_t before = standin_used();
    bench_get(b, 2 * GRANULARITY, 32 * GRANULARITY);
    uint64_t address = b->segment.address;
    expect_used(before + 2 * GRANULARITY);
    expect_usable(b, 0, 2 * GRANULARITY);
    expect_ok(ops->grow(b->memory.user, &b->segment, 7 * GRANULARITY));
    expect_u64(b->segment.address, address);
    expect_u64(b->segment.bytes, 7 * GRANULARITY);
    expect_used(before + 7 * GRANULARITY);
    expect_usable(b, 0, 7 * GRANULARITY);
    ops->shrink(b->memory.user, &b->segment, 3 * GRANULARITY);
    expect_used(before + 3 * GRANULARITY);
    expect_usable(b, 0, 3 * GRANULARITY);
    expect_unusable(b, 3 * GRANULARITY);
    expect_ok(ops->grow(b->memory.user, &b->segment, 32 * GRANULARITY));
    expect_usable(b, 3 * GRANULARITY, 29 * GRANULARITY);
    bench_give_back(b);
    expect_used(before);
}
END_TEST

START_TEST(vmm_holes_in_the_middle)
{
    memory_bench_t *b = opened_memory("memory=device,backing=vmm,handle=2MiB,pool=16MiB");
    const cuarena_memory_ops_t *ops = &b->memory.ops;
    uint64_t before = standin_used();
    bench_get(b, 8 * GRANULARITY, 8 * GRANULARITY);
    ops->punch(b->memory.user, &b->segment, 2 * GRANULARITY, 3 * GRANULARITY);
    ops->punch(b->memory.user, &b->segment, 6 * GRANULARITY, GRANULARITY);
    expect_used(before + 4 * GRANULARITY);
    expect_u64(b->segment.bytes, 8 * GRANULARITY);
    expect_usable(b, 0, 2 * GRANULARITY);
    expect_unusable(b, 2 * GRANULARITY);
    expect_unusable(b, 5 * GRANULARITY - 1);
    expect_usable(b, 5 * GRANULARITY, GRANULARITY);
    expect_unusable(b, 6 * GRANULARITY);
    expect_usable(b, 7 * GRANULARITY, GRANULARITY);
    expect_ok(ops->fill(b->memory.user, &b->segment, 3 * GRANULARITY, GRANULARITY));
    expect_used(before + 5 * GRANULARITY);
    expect_usable(b, 3 * GRANULARITY, GRANULARITY);
    expect_unusable(b, 4 * GRANULARITY);
    ops->shrink(b->memory.user, &b->segment, 4 * GRANULARITY); /* over two holes */
    expect_used(before + 3 * GRANULARITY);
    bench_give_back(b);
    expect_used(before);
}
END_TEST

/* One call that sets access, and one that unmaps, for a row of handles. */
START_TEST(vmm_works_in_rows)
{
    ck_assert(standin_is_here());
    memory_bench_t *b = opened_memory("memory=device,backing=vmm,handle=2MiB,pool=16MiB");
    standin->standin_counts_clear();
    bench_get(b, 8 * GRANULARITY, 8 * GRANULARITY);
    expect_u64(standin->standin_calls("cuMemSetAccess"), 1);
    expect_u64(standin->standin_calls("cuMemCreate"), 8);
    b->memory.ops.punch(b->memory.user, &b->segment, 2 * GRANULARITY, 2 * GRANULARITY);
    expect_u64(standin->standin_calls("cuMemUnmap"), 1);
    bench_give_back(b);
    expect_u64(standin->standin_calls("cuMemUnmap"), 3);
}
END_TEST

START_TEST(vmm_sets_fewer_addresses_aside_when_refused)
{
    ck_assert(standin_is_here());
    memory_bench_t *b = opened_memory("memory=device,backing=vmm,handle=2MiB,pool=16MiB,limit=1T");
    for (int refusals = 1; refusals <= 3; refusals++) {
        for (int nth = 1; nth <= refusals; nth++)
            standin->standin_fail("cuMemAddressReserve", (uint64_t)nth, 2, 0);
        bench_get(b, 2 * GRANULARITY, 64 * GRANULARITY);
        expect_u64(b->segment.address_bytes, 64 * GRANULARITY >> refusals);
        bench_give_back(b);
        standin->standin_fail_clear();
    }
    standin->standin_fail("cuMemAddressReserve", 1, 2, 1);
    expect_status(b->memory.ops.get(b->memory.user, 2 * GRANULARITY, 64 * GRANULARITY, &b->segment),
                  CUARENA_OUT_OF_MEMORY);
    expect_message("addresses", "cuMemAddressReserve");
    standin->standin_fail_clear();
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

START_TEST(vmm_chooses_handles_by_the_size)
{
    memory_bench_t *b = opened_memory(handle_cases[_i].options);
    expect_u64(b->memory.facts.handle_bytes, handle_cases[_i].handle);
    expect_u64(b->memory.ops.granularity, handle_cases[_i].handle);
    ck_assert_uint_le(b->memory.ops.least_bytes, handle_cases[_i].handle);
}
END_TEST

/* The last handle of a segment that keeps its length may be small. */
START_TEST(vmm_dedicated_blocks_take_no_whole_page)
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
        &config, "memory=device,preset=grow,backing=vmm,handle=32MiB,fd=require"));
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

/* ---- Handles that follow what the segment has ----------------------------- */

/* A segment of 2 MiB in one handle, and then of 64 MiB: 7 handles of 8 MiB and one of 6. */
static memory_bench_t *segment_of_64_mib(void)
{
    ck_assert(standin_is_here());
    memory_bench_t *b = opened_memory("memory=device,backing=vmm,grow=exact");
    expect_u64(b->memory.ops.granularity, GRANULARITY);
    bench_get(b, GRANULARITY, MIB(256));
    expect_ok(b->memory.ops.grow(b->memory.user, &b->segment, MIB(64)));
    return b;
}

static void expect_whole(const memory_bench_t *b, uint64_t begin, uint64_t end, uint64_t want_begin,
                         uint64_t want_end)
{
    b->memory.whole_handles(&b->segment, &begin, &end);
    expect_u64(begin, want_begin);
    expect_u64(end, want_end);
}

START_TEST(handles_are_an_eighth_of_the_segment)
{
    memory_bench_t *b = segment_of_64_mib();
    expect_u64(standin->standin_live("mapping"), 1 + 7 + 1);
    expect_ok(b->memory.ops.grow(b->memory.user, &b->segment, MIB(256)));
    expect_u64(standin->standin_live("mapping"), 9 + 192 / 32);
    bench_give_back(b);
}
END_TEST

START_TEST(ranges_are_narrowed_to_whole_handles)
{
    memory_bench_t *b = segment_of_64_mib();
    expect_whole(b, 0, MIB(64), 0, MIB(64));
    expect_whole(b, MIB(2), MIB(10), MIB(2), MIB(10));
    expect_whole(b, MIB(4), MIB(20), MIB(10), MIB(18));
    expect_whole(b, MIB(4), MIB(6), MIB(6), MIB(6));
    expect_u64(b->segment.bytes, MIB(64));
    bench_give_back(b);
}
END_TEST

START_TEST(holes_are_filled_with_other_handles)
{
    memory_bench_t *b = segment_of_64_mib();
    const cuarena_memory_ops_t *ops = &b->memory.ops;
    uint64_t before = standin_used();
    ops->punch(b->memory.user, &b->segment, MIB(10), MIB(8));
    expect_used(before - MIB(8));
    expect_ok(ops->fill(b->memory.user, &b->segment, MIB(12), MIB(6)));
    expect_used(before - MIB(2));
    expect_whole(b, MIB(10), MIB(18), MIB(10), MIB(18));
    expect_whole(b, MIB(14), MIB(18), MIB(18), MIB(18));
    bench_give_back(b);
}
END_TEST

/* A punch that the driver refuses leaves handles where the next fill has pages of some of them. */
START_TEST(a_fill_unmaps_handles_that_a_punch_could_not)
{
    memory_bench_t *b = segment_of_64_mib();
    const cuarena_memory_ops_t *ops = &b->memory.ops;
    uint64_t before = standin_used();
    standin->standin_fail("cuMemUnmap", 1, CUAI_CUDA_ERROR_UNKNOWN, 0);
    ops->punch(b->memory.user, &b->segment, MIB(10), MIB(16));
    expect_used(before);
    expect_ok(ops->fill(b->memory.user, &b->segment, MIB(12), MIB(2)));
    expect_used(before - MIB(8) + MIB(2));
    expect_whole(b, MIB(10), MIB(26), MIB(10), MIB(26));
    bench_give_back(b);
    standin->standin_fail_clear();
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

START_TEST(whole_segments)
{
    memory_bench_t b, other;
    open_memory(&b, whole_memories[_i]);
    const cuarena_memory_ops_t *ops = &b.memory.ops;
    ck_assert(ops->grow == NULL && ops->shrink == NULL);
    ck_assert(ops->punch == NULL && ops->fill == NULL);
    ck_assert(ops->export_range == NULL);
    expect_u64(ops->granularity, GRANULARITY);
    bench_get(&b, 3 * GRANULARITY, 100 * GRANULARITY);
    expect_u64(b.segment.address_bytes, 3 * GRANULARITY);
    expect_usable(&b, 0, 3 * GRANULARITY);
    other = b;
    bench_get(&b, GRANULARITY, GRANULARITY);
    ck_assert_uint_ne(b.segment.address, other.segment.address);
    expect_usable(&b, 0, GRANULARITY);
    bench_give_back(&other);
    bench_give_back(&b);
    close_memory(&b);
}
END_TEST

START_TEST(whole_segments_of_any_alignment)
{
    static const char *const alignments[] = {"8", "512", "64KiB", "8MiB"};
    static const uint64_t wanted[] = {256, 512, KIB(64), MIB(8)};
    for (size_t i = 0; i < COUNT_OF(alignments); i++) {
        memory_bench_t b;
        char options[128];
        snprintf(options, sizeof options, "%s,alignment=%s", whole_memories[_i], alignments[i]);
        open_memory(&b, options);
        uint64_t granularity = b.memory.ops.granularity;
        expect_u64(b.memory.ops.alignment, wanted[i]);
        bench_get(&b, granularity, granularity);
        expect_usable(&b, 0, granularity);
        bench_give_back(&b);
        close_memory(&b);
    }
}
END_TEST

/* Asks for more than is free, though no more than there is. Other processes
 * may give memory of a real device back meanwhile: then again. Who does not look at what is free is
 * never refused. */
static void expect_no_more_than_free(memory_bench_t *b)
{
    const cuarena_memory_ops_t *ops = &b->memory.ops;
    void *taken = arena_reach->alloc_bytes(CUARENA_BYTES_DEVICE, 8 * GRANULARITY);
    for (int tries = standin_is_here() ? 1 : 50; tries > 0; tries--) {
        uint64_t free_bytes = 0;
        expect_ok(ops->available(b->memory.user, &free_bytes));
        uint64_t more = cuai_align_up(free_bytes + GRANULARITY, GRANULARITY);
        cuarena_status_t status = ops->get(b->memory.user, more, more, &b->segment);
        if (status != CUARENA_OK || tries == 1) {
            expect_status(status, CUARENA_OUT_OF_MEMORY);
            break;
        }
        bench_give_back(b);
    }
    expect_message("managed", "free");
    arena_reach->free_bytes(CUARENA_BYTES_DEVICE, taken);
}

/* Managed memory that nobody has touched takes nothing, so the driver would give any amount. */
START_TEST(managed_memory_stays_below_what_the_device_has)
{
    memory_bench_t b;
    open_memory(&b, "memory=managed");
    expect_no_more_than_free(&b);
    close_memory(&b);
}
END_TEST

/* On the stand-in: a real device has better to do. */
START_TEST(arenas_of_managed_memory_share_what_the_device_has)
{
    memory_bench_t b, other;
    uint64_t free_bytes = 0, left = 0;
    ck_assert(standin_is_here());
    open_memory(&b, "memory=managed");
    open_memory(&other, "memory=managed");
    expect_ok(b.memory.ops.available(b.memory.user, &free_bytes));
    uint64_t half = cuai_align_up(free_bytes / 2 + GRANULARITY, GRANULARITY);
    bench_get(&b, half, half);
    expect_status(other.memory.ops.get(other.memory.user, half, half, &other.segment),
                  CUARENA_OUT_OF_MEMORY);
    expect_message("arenas have");
    expect_ok(other.memory.ops.available(other.memory.user, &left));
    ck_assert_uint_lt(left, half);
    bench_give_back(&b);
    bench_get(&other, half, half);
    bench_give_back(&other);
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

/* The row's memory, on a device that has the relocation kernels or, in the second half of the rows,
 * on one that refuses their text. */
static void open_to_move(memory_bench_t *b, int row)
{
    const bool refuses = row >= (int)COUNT_OF(all_memories);
    if (refuses && standin_is_here())
        standin->standin_fail("cuModuleLoadDataEx", 1, CUAI_CUDA_ERROR_INVALID_PTX, 1);
    open_memory(b, all_memories[row % (int)COUNT_OF(all_memories)]);
    bool by_cpu = strcmp(all_memories[row % (int)COUNT_OF(all_memories)], "memory=pinned") == 0;
    bool wanted = !by_cpu && !(refuses && standin_is_here());
    ck_assert_int_eq(b->memory.facts.relocation_kernel, wanted);
}

/* Slides of every sort: far, near, by a granule, up and down. */
START_TEST(relocate_whatever_overlaps)
{
    static const uint64_t slides[][3] = {
        {0, 4 * GRANULARITY, GRANULARITY},
        {0, KIB(64), 2 * GRANULARITY},
        {256, 512, 6 * GRANULARITY},
        {8, 16, GRANULARITY},
        {MIB(5), 0, MIB(2)},
        {MIB(5), MIB(4), MIB(2)},
        {MIB(4) + 256, MIB(4), MIB(10)},
        {MIB(1) + 8, MIB(1), KIB(4)},
    };
    memory_bench_t b;
    open_to_move(&b, _i);
    bench_get(&b, PLAYGROUND, PLAYGROUND);
    for (size_t i = 0; i < COUNT_OF(slides); i++) {
        cuarena_relocation_t entry;
        size_t done = 9;
        picture_t picture = bench_draw(&b, i);
        bench_move(&b, &picture, slides[i][0], slides[i][1], slides[i][2], &entry);
        expect_ok(b.memory.ops.relocate(b.memory.user, &entry, 1, CUARENA_NO_STREAM, &done));
        expect_u64(done, 1);
        expect_picture(&b, &picture);
    }
    bench_give_back(&b);
    close_memory(&b);
}
END_TEST

/* Each writes where the one before has read. */
START_TEST(relocate_a_list_in_order)
{
    enum {
        COUNT = 300
    };
    static cuarena_relocation_t list[COUNT];
    memory_bench_t b;
    size_t done = 0;
    open_to_move(&b, _i);
    bench_get(&b, PLAYGROUND, PLAYGROUND);
    picture_t picture = bench_draw(&b, 3);
    uint64_t to = 0, from = KIB(1);
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t bytes = 256 * (1 + i * 37 % 190);
        bench_move(&b, &picture, to, from, bytes, &list[i]);
        to += bytes;
        from += bytes + 256 * (i % 5);
    }
    expect_ok(b.memory.ops.relocate(b.memory.user, list, COUNT, CUARENA_NO_STREAM, &done));
    expect_u64(done, COUNT);
    expect_picture(&b, &picture);
    bench_give_back(&b);
    close_memory(&b);
}
END_TEST

/* On streams of the caller's: in order with what they did before, and each
 * list after the one before, whatever its stream. */
START_TEST(relocate_and_zero_on_streams)
{
    memory_bench_t b;
    cuarena_stream_info_t info;
    cuarena_relocation_t entry;
    size_t done = 0;
    const cuda_test_t *cuda = cuda_test();
    cuai_cu_stream_t streams[2];
    (void)cuda_test_use_device(0);
    open_to_move(&b, _i);
    const cuarena_memory_ops_t *ops = &b.memory.ops;
    bench_get(&b, PLAYGROUND, PLAYGROUND);
    picture_t picture = bench_draw(&b, 4);
    for (int i = 0; i < 2; i++) {
        expect_cu(cuda->cuStreamCreate(&streams[i], 1));
        expect_ok(ops->identify(b.memory.user, streams[i], &info));
    }
    for (uint64_t i = 0; i < 8; i++) {
        void *event = NULL;
        expect_ok(ops->record_event(b.memory.user, streams[(i + 1) % 2], &event));
        expect_ok(ops->wait_event(b.memory.user, event, streams[i % 2], 0));
        ops->end_event(b.memory.user, event);
        bench_move(&b, &picture, KIB(4), KIB(4) + 256 * (i + 1), 2 * GRANULARITY, &entry);
        expect_ok(ops->relocate(b.memory.user, &entry, 1, streams[i % 2], &done));
    }
    memset(picture.want + GRANULARITY, 0, KIB(12));
    expect_ok(ops->zero_bytes(b.memory.user, bench_at(&b, GRANULARITY), KIB(12), streams[1]));
    expect_cu(cuda->cuStreamSynchronize(streams[1]));
    expect_picture(&b, &picture);
    for (int i = 0; i < 2; i++)
        expect_cu(cuda->cuStreamDestroy(streams[i]));
    bench_give_back(&b);
    cuai_memory_close(&b.memory);
}
END_TEST

START_TEST(zero_without_a_stream)
{
    memory_bench_t *b = opened_memory(all_memories[_i]);
    bench_get(b, PLAYGROUND, PLAYGROUND);
    picture_t picture = bench_draw(b, 5);
    memset(picture.want + 256, 0, GRANULARITY + 8);
    expect_ok(b->memory.ops.zero_bytes(b->memory.user, bench_at(b, 256), GRANULARITY + 8,
                                       CUARENA_NO_STREAM));
    expect_picture(b, &picture);
    bench_give_back(b);
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
    void *bytes = kind == CUARENA_BYTES_HOST ? aligned_alloc(4096, GRANULARITY)
                                             : arena_reach->alloc_bytes(kind, GRANULARITY);
    ck_assert_ptr_nonnull(bytes);
    return bytes;
}

static void free_bytes(int32_t kind, void *bytes)
{
    if (kind == CUARENA_BYTES_HOST)
        free(bytes);
    else
        arena_reach->free_bytes(kind, bytes);
}

START_TEST(bytes_of_another_kind_are_refused)
{
    const bytes_case_t *row = &bytes_cases[_i];
    cuarena_config_t config = bench_config_of("preset=pool");
    cuarena_t *arena = NULL;
    void *bytes = bytes_of(row->are);
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes_kind = row->said;
    config.bytes = bytes;
    config.bytes_size = GRANULARITY;
    expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
    expect_message("bytes_kind", row->words[0], row->words[1]);
    free_bytes(row->are, bytes);
}
END_TEST

START_TEST(bytes_longer_than_they_are)
{
    cuarena_config_t config = bench_config_of("preset=pool");
    cuarena_t *arena = NULL;
    void *bytes = bytes_of(CUARENA_BYTES_DEVICE);
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes_kind = CUARENA_BYTES_DEVICE;
    config.bytes = bytes;
    config.bytes_size = GIB(64);
    expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
    expect_message("bytes_kind");
    free_bytes(CUARENA_BYTES_DEVICE, bytes);
}
END_TEST

START_TEST(bytes_of_another_device)
{
    cuarena_config_t config = bench_config_of("preset=pool,device=1");
    cuarena_t *arena = NULL;
    ck_assert(standin_is_here());
    standin->standin_configure("DEVICES", "2");
    void *bytes = bytes_of(CUARENA_BYTES_DEVICE); /* of device 0 */
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes_kind = CUARENA_BYTES_DEVICE;
    config.bytes = bytes;
    config.bytes_size = GRANULARITY;
    expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
    expect_message("of device 0", "device 1");
    free_bytes(CUARENA_BYTES_DEVICE, bytes);
}
END_TEST

/* ---- The list ---------------------------------------------------------------
 */

static void add_rows(Suite *suite, const char *name, const TTest *test, size_t rows)
{
    tcase_add_loop_test(new_case(suite, name), test, 0, (int)rows);
}

static void add_memories(Suite *suite)
{
    TCase *vmm = suite_add_list(suite, "vmm",
                                TEST_LIST(vmm_grows_and_shrinks_in_place, vmm_holes_in_the_middle,
                                          vmm_dedicated_blocks_take_no_whole_page));
    add_standin_test(vmm, vmm_works_in_rows, 1);
    add_standin_test(vmm, handles_are_an_eighth_of_the_segment, 1);
    add_standin_test(vmm, ranges_are_narrowed_to_whole_handles, 1);
    add_standin_test(vmm, holes_are_filled_with_other_handles, 1);
    add_standin_test(vmm, a_fill_unmaps_handles_that_a_punch_could_not, 1);
    add_standin_test(vmm, vmm_sets_fewer_addresses_aside_when_refused, 1);
    add_rows(suite, "handles", vmm_chooses_handles_by_the_size, COUNT_OF(handle_cases));
    add_rows(suite, "whole", whole_segments, COUNT_OF(whole_memories));
    add_rows(suite, "alignment", whole_segments_of_any_alignment, COUNT_OF(whole_memories));
    TCase *managed =
        suite_add_list(suite, "managed", TEST_LIST(managed_memory_stays_below_what_the_device_has));
    add_standin_test(managed, arenas_of_managed_memory_share_what_the_device_has, 1);
    add_rows(suite, "relocate", relocate_whatever_overlaps, 2 * COUNT_OF(all_memories));
    add_rows(suite, "list", relocate_a_list_in_order, 2 * COUNT_OF(all_memories));
    add_rows(suite, "streams", relocate_and_zero_on_streams, 2 * COUNT_OF(all_memories));
    add_rows(suite, "zero", zero_without_a_stream, COUNT_OF(all_memories));
}

int main(void)
{
    Suite *suite = suite_create("CUDA memory");
    cuda_kinds_ready();
    add_memories(suite);
    add_rows(suite, "bytes", bytes_of_another_kind_are_refused, COUNT_OF(bytes_cases));
    TCase *more = suite_add_list(suite, "more bytes", TEST_LIST(bytes_longer_than_they_are));
    add_standin_test(more, bytes_of_another_device, 1);
    return cuda_kinds_main(suite);
}
