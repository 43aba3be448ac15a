/*
 * A caller's own table of functions: all of it is passed on, and what it may not do is found out.
 */
#include "support/base_support.h"
#include "support/expect.h"
#include "support/guest_memory.h"

#include "base/bits.h"
#include "base/host_test.h"

#include <string.h>

/* ---- The caller's functions -------------------------------------------- */

START_TEST(test_custom_passes_everything_on)
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
    expect_ok(ops->mark(memory.user, NULL, &event));
    ck_assert_ptr_eq(event, &guest);
    expect_ok(ops->query(memory.user, event));
    expect_ok(ops->wait(memory.user, event, NULL, 1));
    ops->unmark(memory.user, event);
    memory_give_back(&memory, &s);
    cuai_memory_close(&memory);
    expect_text(guest.calls, "grow shrink punch fill identify identify mark query wait unmark ");
    ck_assert_int_eq(guest.give_backs, 1);
    ck_assert_int_eq(guest.ends, 1);
}
END_TEST

START_TEST(test_custom_table_is_copied)
{
    cuai_memory_t memory = memory_opened(CUARENA_MEMORY_CUSTOM);
    memset(&guest_table, 0, sizeof(guest_table));
    cuarena_memory_segment_t s = memory_got(&memory, 4096, 4096);
    memory_give_back(&memory, &s);
    cuai_memory_close(&memory);
    ck_assert_int_eq(guest.ends, 1);
}
END_TEST

START_TEST(test_custom_smallest_table)
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
    ck_assert(memory.ops.zero_bytes == NULL && memory.ops.mark == NULL);
    ck_assert(memory.ops.zero_captured == NULL);
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

START_TEST(test_custom_failures_name_memory_and_function)
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
    guest.status = CUARENA_OK;
    memory_give_back(&memory, &s);
}
END_TEST

/* Of a stream whose capture has failed. */
START_TEST(test_custom_zero_captured_may_say_busy)
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

START_TEST(test_custom_query_may_say_busy)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_CUSTOM);
    guest.status = CUARENA_BUSY;
    expect_status(memory.ops.query(memory.user, NULL), CUARENA_BUSY);
    expect_status(memory.ops.wait(memory.user, NULL, NULL, 1), CUARENA_DRIVER);
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

START_TEST(test_custom_export_is_passed_on_and_checked)
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

START_TEST(test_custom_relocate_counts_no_more_than_there_are)
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

#define ALIGNED ((uint64_t)1 << 20)

static const cuarena_memory_segment_t nonsense[] = {
    {0, 4096, 4096, NULL},
    {ALIGNED + 128, 4096, 4096, NULL},
    {ALIGNED, 4095, 4096, NULL},
    {ALIGNED, 8192, 8192, NULL},
    {ALIGNED, 4096, 0, NULL},
    {ALIGNED, 4096, 4096 + 256, NULL},
    {0 - ALIGNED, 4096, 2 * ALIGNED, NULL},
};

START_TEST(test_custom_get_that_answers_nonsense)
{
    cuai_memory_t memory = memory_kept(CUARENA_MEMORY_CUSTOM);
    guest.answers = true;
    guest.answer = nonsense[_i];
    cuarena_memory_segment_t s = {.bytes = 5};
    expect_status(memory.ops.get(memory.user, 4096, 4096, &s), CUARENA_DRIVER);
    expect_message("guest", "get", "4096");
    expect_u64(s.bytes, 5);
    ck_assert_int_eq(guest.give_backs, 1);
}
END_TEST

/* Bytes that the arena has already; not so once they went back. */
START_TEST(test_custom_get_that_answers_the_same_bytes_again)
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

/* ---- Tables that cannot serve ------------------------------------------ */

/* One member set to one value. */
typedef struct fault {
    size_t offset;
    size_t size;
    uint64_t value;
    const char *message;
} fault_t;

#define FAULT(member, value, message)                                                              \
    {                                                                                              \
        offsetof(cuarena_memory_ops_t, member), sizeof(((cuarena_memory_ops_t *)0)->member),       \
            value, message                                                                         \
    }

static const fault_t faults[] = {
    FAULT(name, 0, "has no name"),
    FAULT(get, 0, "has no get"),
    FAULT(give_back, 0, "has no give_back"),
    FAULT(grow, 0, "one of grow and shrink"),
    FAULT(shrink, 0, "one of grow and shrink"),
    FAULT(punch, 0, "one of punch and fill"),
    FAULT(fill, 0, "one of punch and fill"),
    FAULT(identify, 0, "some of identify"),
    FAULT(mark, 0, "some of identify"),
    FAULT(query, 0, "some of identify"),
    FAULT(wait, 0, "some of identify"),
    FAULT(unmark, 0, "some of identify"),
    FAULT(properties, CUARENA_MEMORY_HOST_READABLE, "without TOUCHES"),
    FAULT(properties, 0x100, "properties 0x100"),
    FAULT(zero, 1, "zero 1"),
    FAULT(granularity, 0, "granularity 0"),
    FAULT(least_bytes, 128, "least_bytes 128"),
    FAULT(least_bytes, 768, "least_bytes 768"),
    FAULT(least_bytes, 1 << 20, "least_bytes 1048576"),
    FAULT(granularity, 5000, "granularity 5000"),
    FAULT(granularity, 128, "granularity 128"),
    FAULT(alignment, 0, "alignment 0"),
    FAULT(alignment, 128, "alignment 128"),
    FAULT(struct_size, 8, "unknown struct_size"),
};

static void apply(const fault_t *fault)
{
    const uint32_t half = (uint32_t)fault->value;
    const void *value = fault->size == sizeof(half) ? (const void *)&half : &fault->value;
    memcpy((char *)&guest_table + fault->offset, value, fault->size);
}

START_TEST(test_custom_table_with_a_fault)
{
    uint64_t live = cuai_host_live();
    cuarena_config_t config = memory_config(CUARENA_MEMORY_CUSTOM);
    cuai_memory_t memory = {.user = &guest};
    apply(&faults[_i]);
    expect_status(cuai_memory_open(&config, &memory), CUARENA_BAD_ARGUMENT);
    expect_message("ops:", faults[_i].message);
    ck_assert_ptr_eq(memory.user, &guest);
    ck_assert_int_eq(guest.ends, 0);
    expect_u64(cuai_host_live(), live);
}
END_TEST

START_TEST(test_custom_without_a_table)
{
    cuarena_config_t config = memory_config(CUARENA_MEMORY_CUSTOM);
    cuai_memory_t memory;
    config.ops = NULL;
    expect_status(cuai_memory_open(&config, &memory), CUARENA_BAD_ARGUMENT);
    expect_message("ops: NULL");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("custom memory");
    guest_add_list(suite, "custom",
                   TEST_LIST(test_custom_passes_everything_on, test_custom_table_is_copied,
                             test_custom_smallest_table, test_custom_query_may_say_busy,
                             test_custom_zero_captured_may_say_busy,
                             test_custom_export_is_passed_on_and_checked,
                             test_custom_relocate_counts_no_more_than_there_are,
                             test_custom_get_that_answers_the_same_bytes_again,
                             test_custom_without_a_table));
    guest_add_rows(suite, "failures", test_custom_failures_name_memory_and_function,
                   COUNT_OF(answers));
    guest_add_rows(suite, "nonsense", test_custom_get_that_answers_nonsense, COUNT_OF(nonsense));
    guest_add_rows(suite, "faults", test_custom_table_with_a_fault, COUNT_OF(faults));
    return suite_main(suite);
}
