/*
 * Memories, opened as an arena opens them: what holds of all of them, then each by itself. How an
 * arena refuses the caller's own is in tests/arena/check_arena.c.
 *
 * Looks inside, since no public call opens a memory without an arena (memory/memory.h).
 */
#define _GNU_SOURCE
#include "support/base_support.h"
#include "support/expect.h"
#include "support/guest_memory.h"
#include "support/scale.h"

#include "base/bits.h"
#include "base/host_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- All memories ------------------------------------------------------ */

static const int32_t kinds[] = {CUARENA_MEMORY_PAGEABLE, CUARENA_MEMORY_NONE, CUARENA_MEMORY_BYTES,
                                CUARENA_MEMORY_CUSTOM};

START_TEST(open_gives_a_whole_table)
{
    cuai_memory_t memory = memory_opened(kinds[_i]);
    const cuarena_memory_ops_t *ops = &memory.ops;
    expect_u64(ops->struct_size, sizeof(*ops));
    ck_assert_ptr_nonnull(ops->name);
    ck_assert(cuai_is_power_of_two(ops->granularity));
    ck_assert(cuai_is_power_of_two(ops->alignment));
    ck_assert(ops->get != NULL && ops->give_back != NULL);
    ck_assert((ops->grow == NULL) == (ops->shrink == NULL));
    ck_assert((ops->punch == NULL) == (ops->fill == NULL));
    uint64_t available = 0;
    expect_ok(ops->available(memory.user, &available));
    expect_between(available, 1, UINT64_C(1) << 50);
    cuai_memory_close(&memory);
    cuai_memory_close(&memory);
}
END_TEST

START_TEST(get_keeps_the_contract)
{
    cuai_memory_t memory = memory_kept(kinds[_i]);
    cuarena_memory_segment_t segment = memory_got(&memory, GUEST_SIZE, GUEST_SIZE);
    ck_assert(segment.address != 0);
    ck_assert(cuai_is_aligned(segment.address, memory.ops.alignment));
    expect_u64(segment.bytes, GUEST_SIZE);
    ck_assert(segment.address_bytes >= GUEST_SIZE);
    memory_give_back(&memory, &segment);
}
END_TEST

START_TEST(get_again_after_give_back)
{
    uint64_t live = cuai_host_live();
    cuai_memory_t memory = memory_opened(kinds[_i]);
    for (int i = 0; i < 100; i++) {
        cuarena_memory_segment_t segment = memory_got(&memory, GUEST_SIZE, GUEST_SIZE);
        memory_give_back(&memory, &segment);
    }
    cuai_memory_close(&memory);
    expect_u64(cuai_host_live(), live);
}
END_TEST

START_TEST(relocate_in_order_and_over_itself)
{
    cuai_memory_t memory = memory_kept(kinds[_i]);
    cuarena_memory_segment_t segment = memory_got(&memory, GUEST_SIZE, GUEST_SIZE);
    const cuarena_relocation_t list[] = {
        {0, memory_at(&segment, 256), memory_at(&segment, 0), 1024},
        {0, memory_at(&segment, 4096), memory_at(&segment, 1024), 512},
    };
    bool touches = (memory.ops.properties & CUARENA_MEMORY_TOUCHES) != 0;
    for (uint64_t i = 0; touches && i < 8192; i++)
        *memory_at(&segment, i) = (unsigned char)(i / 256);
    size_t done = 0;
    expect_ok(memory.ops.relocate(memory.user, list, 2, CUARENA_NO_STREAM, &done));
    expect_u64(done, 2);
    for (uint64_t i = 0; touches && i < 1536; i++) {
        uint64_t want = i < 1024 ? i / 256 + 1 : (4096 + i - 1024) / 256;
        expect_u64(*memory_at(&segment, i), want);
    }
    memory_give_back(&memory, &segment);
}
END_TEST

START_TEST(zero_bytes_and_no_others)
{
    cuai_memory_t memory = memory_kept(kinds[_i]);
    cuarena_memory_segment_t segment = memory_got(&memory, GUEST_SIZE, GUEST_SIZE);
    if ((memory.ops.properties & CUARENA_MEMORY_TOUCHES) != 0) {
        memset(memory_at(&segment, 0), 0xee, GUEST_SIZE);
        expect_ok(memory.ops.zero_bytes(memory.user, memory_at(&segment, 256), GUEST_SIZE - 512,
                                        CUARENA_NO_STREAM));
        expect_u64(*memory_at(&segment, 255), 0xee);
        expect_u64(*memory_at(&segment, 256), 0);
        expect_u64(*memory_at(&segment, GUEST_SIZE - 257), 0);
        expect_u64(*memory_at(&segment, GUEST_SIZE - 256), 0xee);
    } else {
        ck_assert(memory.ops.zero_bytes == NULL);
    }
    memory_give_back(&memory, &segment);
}
END_TEST

/* A call that the host refuses changes nothing, and then it works. */
static uint64_t refusals_until_it_works(int32_t kind)
{
    for (uint64_t nth = 1;; nth++) {
        uint64_t live = cuai_host_live();
        cuarena_config_t config = memory_config(kind);
        cuai_memory_t memory = {0};
        cuarena_memory_segment_t segment = {0};
        cuai_host_fail_at(nth);
        cuarena_status_t status = cuai_memory_open(&config, &memory);
        if (status == CUARENA_OK)
            status = memory.ops.get(memory.user, GUEST_SIZE, GUEST_SIZE, &segment);
        if (status == CUARENA_OK)
            memory_give_back(&memory, &segment);
        else
            expect_u64(segment.address, 0);
        cuai_memory_close(&memory);
        expect_u64(cuai_host_live(), live);
        cuai_host_fail_at(0);
        if (status == CUARENA_OK)
            return nth - 1;
        expect_status(status, CUARENA_OUT_OF_MEMORY);
    }
}

START_TEST(each_refusal_of_the_host_is_survived)
{
    expect_between(refusals_until_it_works(kinds[_i]), 1, 4);
}
END_TEST

START_TEST(open_unknown_memory)
{
    static const int32_t unknown[] = {0, -1, 8, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        cuarena_config_t config = memory_config(unknown[i]);
        cuai_memory_t memory = {.user = &guest};
        expect_status(cuai_memory_open(&config, &memory), CUARENA_BAD_ARGUMENT);
        expect_message("memory:");
        ck_assert_ptr_eq(memory.user, &guest);
    }
}
END_TEST

START_TEST(ops_init_defaults)
{
    cuarena_memory_ops_t ops;
    memset(&ops, 0xff, sizeof(ops));
    cuarena_memory_ops_init(&ops);
    expect_u64(ops.struct_size, sizeof(ops));
    expect_u64(ops.granularity, 4096);
    expect_u64(ops.alignment, 256);
    ck_assert(ops.get == NULL && ops.end == NULL && ops.name == NULL);
    cuarena_memory_ops_init(NULL);
}
END_TEST

/* A thread checker keeps most addresses for itself, where and how differs. */
#if defined(__SANITIZE_THREAD__)
#define ADDRESSES_ARE_TAKEN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ADDRESSES_ARE_TAKEN 1
#endif
#endif
#if !defined(ADDRESSES_ARE_TAKEN)
#define ADDRESSES_ARE_TAKEN 0
#endif

/* ---- Pageable ---------------------------------------------------------- */

#define GRANULARITY (64 * CUAI_KIB)

/* Asks the kernel, which answers without a signal, and past the checkers that watch what programs
 * hand to it. */
static bool is_accessible(const unsigned char *address)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    long written = syscall(SYS_write, ends[1], address, 1);
    close(ends[0]);
    close(ends[1]);
    return written == 1;
}

static bool is_zero(const unsigned char *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

#define RESERVED (16 * CUAI_GIB)

START_TEST(pageable_reserves_more_than_it_commits)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_PAGEABLE);
    cuarena_memory_segment_t s = memory_got(&memory, GRANULARITY, RESERVED);
    expect_u64(s.address_bytes, RESERVED);
    ck_assert(is_zero(memory_at(&s, 0), GRANULARITY));
    memset(memory_at(&s, 0), 1, GRANULARITY);
    ck_assert(!is_accessible(memory_at(&s, GRANULARITY)));
    ck_assert(!is_accessible(memory_at(&s, RESERVED - 1)));
    memory_give_back(&memory, &s);
    ck_assert(!is_accessible(memory_at(&s, 0)));
}
END_TEST

START_TEST(pageable_grows_and_shrinks_in_place)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_PAGEABLE);
    cuarena_memory_segment_t s = memory_got(&memory, GRANULARITY, 16 * GRANULARITY);
    const uint64_t address = s.address;
    memset(memory_at(&s, 0), 1, GRANULARITY);
    expect_ok(memory.ops.grow(memory.user, &s, 16 * GRANULARITY));
    expect_u64(s.bytes, 16 * GRANULARITY);
    expect_u64(s.address, address);
    ck_assert(is_zero(memory_at(&s, GRANULARITY), 15 * GRANULARITY));
    memset(memory_at(&s, GRANULARITY), 2, 15 * GRANULARITY);
    memory.ops.shrink(memory.user, &s, 2 * GRANULARITY);
    expect_u64(s.bytes, 2 * GRANULARITY);
    expect_u64(*memory_at(&s, 0), 1);
    expect_u64(*memory_at(&s, 2 * GRANULARITY - 1), 2);
    ck_assert(!is_accessible(memory_at(&s, 2 * GRANULARITY)));
    expect_ok(memory.ops.grow(memory.user, &s, 3 * GRANULARITY));
    ck_assert(is_zero(memory_at(&s, 2 * GRANULARITY), GRANULARITY));
    memory_give_back(&memory, &s);
}
END_TEST

START_TEST(pageable_from_nothing_and_back)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_PAGEABLE);
    cuarena_memory_segment_t s = memory_got(&memory, 0, 4 * GRANULARITY);
    expect_u64(s.bytes, 0);
    ck_assert(!is_accessible(memory_at(&s, 0)));
    expect_ok(memory.ops.grow(memory.user, &s, GRANULARITY));
    *memory_at(&s, 0) = 1;
    memory.ops.shrink(memory.user, &s, 0);
    ck_assert(!is_accessible(memory_at(&s, 0)));
    memory_give_back(&memory, &s);
}
END_TEST

START_TEST(pageable_hole_and_fill)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_PAGEABLE);
    cuarena_memory_segment_t s = memory_got(&memory, 4 * GRANULARITY, 4 * GRANULARITY);
    memset(memory_at(&s, 0), 7, 4 * GRANULARITY);
    memory.ops.punch(memory.user, &s, GRANULARITY, 2 * GRANULARITY);
    expect_u64(s.bytes, 4 * GRANULARITY);
    ck_assert(is_accessible(memory_at(&s, GRANULARITY - 1)));
    ck_assert(!is_accessible(memory_at(&s, GRANULARITY)));
    ck_assert(!is_accessible(memory_at(&s, 3 * GRANULARITY - 1)));
    ck_assert(is_accessible(memory_at(&s, 3 * GRANULARITY)));
    expect_ok(memory.ops.fill(memory.user, &s, 2 * GRANULARITY, GRANULARITY));
    ck_assert(is_zero(memory_at(&s, 2 * GRANULARITY), GRANULARITY));
    ck_assert(!is_accessible(memory_at(&s, GRANULARITY)));
    expect_u64(*memory_at(&s, 0), 7);
    expect_u64(*memory_at(&s, 3 * GRANULARITY), 7);
    memory_give_back(&memory, &s);
}
END_TEST

START_TEST(pageable_refused_grow_and_fill_change_nothing)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_PAGEABLE);
    cuarena_memory_segment_t s = memory_got(&memory, 2 * GRANULARITY, 4 * GRANULARITY);
    memory.ops.punch(memory.user, &s, 0, GRANULARITY);
    cuai_host_fail_at(1);
    expect_status(memory.ops.grow(memory.user, &s, 3 * GRANULARITY), CUARENA_OUT_OF_MEMORY);
    expect_message("65536");
    cuai_host_fail_at(1);
    expect_status(memory.ops.fill(memory.user, &s, 0, GRANULARITY), CUARENA_OUT_OF_MEMORY);
    cuai_host_fail_at(0);
    expect_u64(s.bytes, 2 * GRANULARITY);
    ck_assert(!is_accessible(memory_at(&s, 0)));
    ck_assert(!is_accessible(memory_at(&s, 2 * GRANULARITY)));
    memory_give_back(&memory, &s);
}
END_TEST

/* Half as many addresses, and so on, down to those of the bytes. An emulator keeps tables of what
 * is set aside, which take it more memory than there is.
 */
START_TEST(pageable_reservation_that_cannot_be_had_whole)
{
    if (scale_is_emulated())
        return;
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_PAGEABLE);
    cuarena_memory_segment_t s = {0};
    expect_ok(memory.ops.get(memory.user, GRANULARITY, UINT64_C(1) << 60, &s));
    expect_u64(s.bytes, GRANULARITY);
    ck_assert_uint_ge(s.address_bytes, GRANULARITY);
    ck_assert_uint_lt(s.address_bytes, UINT64_C(1) << 60);
    expect_u64(s.address_bytes % GRANULARITY, 0);
    memory_give_back(&memory, &s);
}
END_TEST

START_TEST(pageable_reservation_that_cannot_be_had)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_PAGEABLE);
    cuarena_memory_segment_t s = {0};
    uint64_t most = UINT64_C(1) << 60;
    expect_status(memory.ops.get(memory.user, most, most, &s), CUARENA_OUT_OF_MEMORY);
    expect_message("1152921504606846976", "addresses");
    most = 0 - GRANULARITY;
    expect_status(memory.ops.get(memory.user, most, most, &s), CUARENA_OUT_OF_MEMORY);
    expect_u64(s.address, 0);
}
END_TEST

START_TEST(pageable_and_none_follow_a_large_alignment)
{
    static const int32_t both[] = {CUARENA_MEMORY_PAGEABLE, CUARENA_MEMORY_NONE};
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        cuarena_config_t config = memory_config(both[i]);
        cuai_memory_t memory;
        config.alignment = CUAI_GIB;
        expect_ok(cuai_memory_open(&config, &memory));
        expect_u64(memory.ops.granularity, CUAI_GIB);
        cuarena_memory_segment_t s = memory_got(&memory, 0, 2 * CUAI_GIB);
        ck_assert(cuai_is_aligned(s.address, CUAI_GIB));
        memory_give_back(&memory, &s);
        cuai_memory_close(&memory);
    }
}
END_TEST

/* ---- None -------------------------------------------------------------- */

START_TEST(none_addresses_are_far_away_and_unmapped)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_NONE);
    cuarena_memory_segment_t s = memory_got(&memory, CUAI_TIB, CUAI_TIB);
    expect_between(s.address, UINT64_C(1) << 44, UINT64_C(1) << 46);
    ck_assert(ADDRESSES_ARE_TAKEN || !is_accessible(memory_at(&s, 0)));
    ck_assert(ADDRESSES_ARE_TAKEN || !is_accessible(memory_at(&s, CUAI_TIB - 1)));
    memory_give_back(&memory, &s);
}
END_TEST

static bool overlap(const cuarena_memory_segment_t *a, const cuarena_memory_segment_t *b)
{
    return a->address < b->address + b->address_bytes && b->address < a->address + a->address_bytes;
}

#define MANY 200

START_TEST(none_addresses_are_distinct_and_come_back)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_NONE);
    static cuarena_memory_segment_t s[MANY];
    for (int round = 0; round < 3; round++) {
        for (int i = round == 0 ? 0 : 1; i < MANY; i += round == 0 ? 1 : 2)
            s[i] = memory_got(&memory, (uint64_t)(i + 1) * GRANULARITY, CUAI_TIB);
        for (int i = 0; i < MANY; i++) {
            ck_assert(s[i].address_bytes >= s[i].bytes);
            for (int k = 0; k < i; k++)
                ck_assert(!overlap(&s[i], &s[k]));
        }
        for (int i = 1; i < MANY; i += 2)
            memory_give_back(&memory, &s[i]);
    }
    for (int i = 0; i < MANY; i += 2)
        memory_give_back(&memory, &s[i]);
}
END_TEST

START_TEST(none_serves_all_it_says_it_has_but_not_more_than_there_is)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_NONE);
    uint64_t available = 0;
    expect_ok(memory.ops.available(memory.user, &available));
    cuarena_memory_segment_t s = memory_got(&memory, available, available);
    cuarena_memory_segment_t t = {0};
    expect_status(memory.ops.get(memory.user, available, available, &t), CUARENA_OUT_OF_MEMORY);
    expect_u64(t.address, 0);
    memory_give_back(&memory, &s);
    s = memory_got(&memory, available, available);
    memory_give_back(&memory, &s);
}
END_TEST

START_TEST(none_grow_shrink_and_holes_cost_nothing)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_NONE);
    cuarena_memory_segment_t s = memory_got(&memory, GRANULARITY, CUAI_GIB);
    expect_u64(s.address_bytes, CUAI_GIB);
    uint64_t live = cuai_host_live();
    expect_ok(memory.ops.grow(memory.user, &s, CUAI_GIB));
    expect_u64(s.bytes, CUAI_GIB);
    memory.ops.punch(memory.user, &s, 0, GRANULARITY);
    expect_ok(memory.ops.fill(memory.user, &s, 0, GRANULARITY));
    memory.ops.shrink(memory.user, &s, 0);
    expect_u64(s.bytes, 0);
    expect_u64(cuai_host_live(), live);
    memory_give_back(&memory, &s);
}
END_TEST

/* ---- The caller's bytes ------------------------------------------------ */

START_TEST(bytes_begin_at_the_first_aligned_address)
{
    cuarena_config_t config = memory_config(CUARENA_MEMORY_BYTES);
    static _Alignas(4096) unsigned char bytes[16384];
    config.bytes = bytes + 1;
    config.bytes_size = 4096 + 255;
    config.alignment = 256;
    cuai_memory_t memory;
    expect_ok(cuai_memory_open(&config, &memory));
    uint64_t available = 0;
    expect_ok(memory.ops.available(memory.user, &available));
    expect_u64(available, 4096);
    cuarena_memory_segment_t s = memory_got(&memory, available, available);
    ck_assert_ptr_eq(memory_at(&s, 0), bytes + 256);
    expect_u64(s.address_bytes, 4096);
    expect_ok(memory.ops.available(memory.user, &available));
    expect_u64(available, 0);
    memory_give_back(&memory, &s);
    cuai_memory_close(&memory);
}
END_TEST

START_TEST(bytes_are_given_once)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_BYTES);
    cuarena_memory_segment_t t = {0};
    expect_status(memory.ops.get(memory.user, 2 * GUEST_SIZE, 2 * GUEST_SIZE, &t),
                  CUARENA_OUT_OF_MEMORY);
    cuarena_memory_segment_t s = memory_got(&memory, 4096, 4096);
    expect_status(memory.ops.get(memory.user, 4096, 4096, &t), CUARENA_OUT_OF_MEMORY);
    expect_message("4096");
    expect_u64(t.address, 0);
    ck_assert(memory.ops.punch == NULL);
    memory_give_back(&memory, &s);
}
END_TEST

typedef struct bytes_case {
    uintptr_t begin;
    uint64_t size;
    uint64_t alignment;
} bytes_case_t;

static const bytes_case_t no_room[] = {
    {0, 4096, 256},           /* NULL */
    {0x10000, 0, 256},        /* nothing */
    {0x10000, 255, 256},      /* less than a granule */
    {0x10001, 510, 256},      /* none of them aligned */
    {0x10001, 65536, 65536},  /* the same, large */
    {0x10000, UINT64_MAX, 8}, /* past the end of the address space */
    {UINTPTR_MAX - 10, 10, 256},
};

START_TEST(bytes_without_room_for_a_block)
{
    cuarena_config_t config = memory_config(CUARENA_MEMORY_BYTES);
    cuai_memory_t memory;
    config.bytes = (void *)no_room[_i].begin;
    config.bytes_size = no_room[_i].size;
    config.alignment = no_room[_i].alignment;
    expect_status(cuai_memory_open(&config, &memory), CUARENA_BAD_ARGUMENT);
    expect_message("bytes");
}
END_TEST

/* ---- The caller's functions -------------------------------------------- */

START_TEST(custom_passes_everything_on)
{
    cuai_memory_t memory = memory_opened(CUARENA_MEMORY_CUSTOM);
    const cuarena_memory_ops_t *ops = &memory.ops;
    cuarena_memory_segment_t s = memory_got(&memory, 4096, 8192);
    ck_assert_ptr_eq(memory_at(&s, 0), guest_bytes);
    expect_ok(ops->grow(memory.user, &s, 8192));
    expect_u64(s.bytes, 8192);
    ops->shrink(memory.user, &s, 4096);
    expect_u64(s.bytes, 4096);
    ops->punch(memory.user, &s, 0, 4096);
    expect_ok(ops->fill(memory.user, &s, 0, 4096));
    cuarena_stream_info_t info = {0};
    expect_ok(ops->identify(memory.user, NULL, &info));
    expect_u64(info.id, 7);
    expect_status(ops->identify(memory.user, CUARENA_STREAM_PER_THREAD, &info),
                  CUARENA_BAD_ARGUMENT);
    void *event = NULL;
    expect_ok(ops->record_event(memory.user, NULL, &event));
    ck_assert_ptr_eq(event, &guest);
    expect_ok(ops->query_event(memory.user, event));
    expect_ok(ops->wait_event(memory.user, event, NULL, 1));
    ops->end_event(memory.user, event);
    memory_give_back(&memory, &s);
    cuai_memory_close(&memory);
    expect_text(
        guest.calls,
        "grow shrink punch fill identify identify record_event query_event wait_event end_event ");
    ck_assert_int_eq(guest.give_backs, 1);
    ck_assert_int_eq(guest.ends, 1);
}
END_TEST

START_TEST(custom_table_is_copied)
{
    cuai_memory_t memory = memory_opened(CUARENA_MEMORY_CUSTOM);
    memset(&guest_table, 0, sizeof(guest_table));
    cuarena_memory_segment_t s = memory_got(&memory, 4096, 4096);
    memory_give_back(&memory, &s);
    cuai_memory_close(&memory);
    ck_assert_int_eq(guest.ends, 1);
}
END_TEST

START_TEST(custom_smallest_table)
{
    const cuarena_memory_ops_t whole = guest_table;
    cuarena_memory_ops_init(&guest_table);
    guest_table.name = "smallest";
    guest_table.get = whole.get;
    guest_table.give_back = whole.give_back;
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_CUSTOM);
    ck_assert(memory.ops.grow == NULL);
    ck_assert(memory.ops.punch == NULL);
    ck_assert(memory.ops.available == NULL && memory.ops.total == NULL);
    ck_assert(memory.ops.relocate == NULL);
    ck_assert(memory.ops.zero_bytes == NULL && memory.ops.record_event == NULL);
    ck_assert(memory.ops.zero_captured == NULL);
    ck_assert(memory.ops.set_bytes == NULL && memory.ops.read_bytes == NULL);
}
END_TEST

/* What functions answer, and what the arena is told. */
static const cuarena_status_t answers[][2] = {
    {CUARENA_OUT_OF_MEMORY, CUARENA_OUT_OF_MEMORY},
    {CUARENA_DRIVER, CUARENA_DRIVER},
    {CUARENA_LOST, CUARENA_LOST},
    {CUARENA_BAD_ARGUMENT, CUARENA_DRIVER},
    {CUARENA_UNSUPPORTED, CUARENA_DRIVER},
    {-1, CUARENA_DRIVER},
    {INT32_MAX, CUARENA_DRIVER},
};

START_TEST(custom_failures_name_memory_and_function)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_CUSTOM);
    const cuarena_memory_ops_t *ops = &memory.ops;
    cuarena_memory_segment_t s = memory_got(&memory, 4096, 8192);
    const cuarena_memory_segment_t before = s;
    const cuarena_status_t want = answers[_i][1];
    guest.status = answers[_i][0];
    uint64_t bytes = 7;
    expect_status(ops->available(memory.user, &bytes), want);
    expect_message("guest", "available");
    expect_status(ops->total(memory.user, &bytes), want);
    expect_message("guest", "total");
    expect_u64(bytes, 7);
    expect_status(ops->get(memory.user, 4096, 4096, &s), want);
    expect_message("guest", "get");
    expect_status(ops->grow(memory.user, &s, 8192), want);
    expect_message("guest", "grow");
    ck_assert_int_eq(memcmp(&s, &before, sizeof(s)), 0);
    expect_status(ops->fill(memory.user, &s, 0, 4096), want);
    expect_message("guest", "fill");
    expect_status(ops->zero_bytes(memory.user, guest_bytes, 256, NULL), want);
    expect_message("guest", "zero_bytes");
    expect_status(ops->zero_captured(memory.user, guest_bytes, 256, NULL), want);
    expect_message("guest", "zero_captured");
    expect_status(ops->set_bytes(memory.user, guest_bytes, 5, 255, NULL), want);
    expect_message("guest", "set_bytes");
    char copied[7];
    expect_status(ops->read_bytes(memory.user, copied, guest_bytes, sizeof copied), want);
    expect_message("guest", "read_bytes");
    guest.status = CUARENA_OK;
    memory_give_back(&memory, &s);
}
END_TEST

/* Of a stream whose capture has failed. */
START_TEST(custom_zero_captured_may_say_busy)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_CUSTOM);
    const cuarena_memory_ops_t *ops = &memory.ops;
    expect_ok(ops->zero_captured(memory.user, guest_bytes, 256, NULL));
    guest.status = CUARENA_BUSY;
    expect_status(ops->zero_captured(memory.user, guest_bytes, 256, NULL), CUARENA_BUSY);
    expect_message("guest", "zero_captured", "has failed");
    expect_text(guest.calls, "zero_captured zero_captured ");
    guest.status = CUARENA_OK;
}
END_TEST

START_TEST(custom_query_may_say_busy)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_CUSTOM);
    guest.status = CUARENA_BUSY;
    expect_status(memory.ops.query_event(memory.user, NULL), CUARENA_BUSY);
    expect_status(memory.ops.wait_event(memory.user, NULL, NULL, 1), CUARENA_DRIVER);
    guest.status = CUARENA_OK;
}
END_TEST

/* The pieces that guest_export says there are. */
static size_t guest_pieces;

static cuarena_status_t guest_export(void *user, const cuarena_memory_segment_t *segment,
                                     uint64_t offset, uint64_t bytes,
                                     cuarena_export_piece_t *pieces, size_t capacity,
                                     size_t *count_out)
{
    guest_t *self = user;
    if (capacity != 0)
        pieces[0] =
            (cuarena_export_piece_t){.fd = 33, .offset = segment->address + offset, .bytes = bytes};
    *count_out = guest_pieces;
    return self->status;
}

START_TEST(custom_export_is_passed_on_and_checked)
{
    guest_table.export_range = guest_export;
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_CUSTOM);
    const cuarena_memory_ops_t *ops = &memory.ops;
    cuarena_memory_segment_t s = memory_got(&memory, 4096, 8192);
    cuarena_export_piece_t piece = {0};
    size_t count = 9;
    guest_pieces = 1;
    expect_ok(ops->export_range(memory.user, &s, 256, 512, &piece, 1, &count));
    expect_u64(count, 1);
    expect_u64(piece.offset, s.address + 256);
    guest_pieces = 2;
    expect_ok(ops->export_range(memory.user, &s, 256, 512, NULL, 0, &count));
    expect_u64(count, 2);
    expect_status(ops->export_range(memory.user, &s, 256, 512, &piece, 1, &count), CUARENA_DRIVER);
    expect_message("guest", "export_range", "2 pieces");
    guest_pieces = 0;
    expect_status(ops->export_range(memory.user, &s, 256, 512, NULL, 0, &count), CUARENA_DRIVER);
    guest.status = CUARENA_UNSUPPORTED;
    expect_status(ops->export_range(memory.user, &s, 256, 512, &piece, 1, &count), CUARENA_DRIVER);
    expect_u64(count, 2);
    guest.status = CUARENA_OK;
    memory_give_back(&memory, &s);
}
END_TEST

START_TEST(custom_relocate_counts_no_more_than_there_are)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_CUSTOM);
    const cuarena_relocation_t list[] = {{0, guest_bytes, guest_bytes, 256}};
    size_t done = 9;
    expect_ok(memory.ops.relocate(memory.user, list, 1, NULL, &done));
    expect_u64(done, 1);
    guest.status = CUARENA_DRIVER;
    expect_status(memory.ops.relocate(memory.user, list, 1, NULL, &done), CUARENA_DRIVER);
    expect_u64(done, 1);
    guest.status = CUARENA_OK;
}
END_TEST

/* Bytes that the arena has already; not so once they went back. */
START_TEST(custom_get_that_answers_the_same_bytes_again)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_CUSTOM);
    cuarena_memory_segment_t first = memory_got(&memory, 4096, 8192);
    cuarena_memory_segment_t s = {.bytes = 5};
    guest.answers = true;
    guest.answer = first;
    guest.answer.address += 4096; /* within what is reserved */
    guest.answer.address_bytes = guest.answer.bytes;
    expect_status(memory.ops.get(memory.user, 4096, 4096, &s), CUARENA_DRIVER);
    expect_message("guest", "get", "given before");
    expect_u64(s.bytes, 5);
    ck_assert_int_eq(guest.give_backs, 0);
    memory_give_back(&memory, &first);
    expect_ok(memory.ops.get(memory.user, 4096, 4096, &s));
    memory_give_back(&memory, &s);
}
END_TEST

static void add_all(Suite *suite)
{
    const TTest *const tests[] = {open_gives_a_whole_table,  get_keeps_the_contract,
                                  get_again_after_give_back, relocate_in_order_and_over_itself,
                                  zero_bytes_and_no_others,  each_refusal_of_the_host_is_survived};
    for (size_t i = 0; i < COUNT_OF(tests); i++)
        guest_add_rows(suite, "all", tests[i], COUNT_OF(kinds));
}

int main(void)
{
    Suite *suite = suite_create("memory");
    add_all(suite);
    guest_add_list(suite, "open", TEST_LIST(open_unknown_memory, ops_init_defaults));
    guest_add_list(suite, "pageable",
                   TEST_LIST(pageable_reserves_more_than_it_commits,
                             pageable_grows_and_shrinks_in_place, pageable_from_nothing_and_back,
                             pageable_hole_and_fill, pageable_refused_grow_and_fill_change_nothing,
                             pageable_reservation_that_cannot_be_had,
                             pageable_reservation_that_cannot_be_had_whole,
                             pageable_and_none_follow_a_large_alignment));
    guest_add_list(suite, "none",
                   TEST_LIST(none_addresses_are_far_away_and_unmapped,
                             none_addresses_are_distinct_and_come_back,
                             none_serves_all_it_says_it_has_but_not_more_than_there_is,
                             none_grow_shrink_and_holes_cost_nothing));
    guest_add_list(suite, "bytes",
                   TEST_LIST(bytes_begin_at_the_first_aligned_address, bytes_are_given_once));
    guest_add_rows(suite, "bytes refused", bytes_without_room_for_a_block, COUNT_OF(no_room));
    guest_add_list(suite, "custom",
                   TEST_LIST(custom_passes_everything_on, custom_table_is_copied,
                             custom_smallest_table, custom_query_may_say_busy,
                             custom_zero_captured_may_say_busy,
                             custom_export_is_passed_on_and_checked,
                             custom_relocate_counts_no_more_than_there_are,
                             custom_get_that_answers_the_same_bytes_again));
    guest_add_rows(suite, "failures", custom_failures_name_memory_and_function, COUNT_OF(answers));
    return suite_main(suite);
}
