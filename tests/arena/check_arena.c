/*
 * Life of an arena: create, destroy and reset at their edges, on a memory that records what is
 * asked of it. What holds on every memory is in check_conformance.c.
 */
#include "support/base_support.h"
#include "support/fixture.h"
#include "support/log_lines.h"

#include <stdio.h>
#include <string.h>

#define POOL MIB(4)

/* ---- Create ------------------------------------------------------------ */

START_TEST(create_pool_takes_its_bytes_now)
{
    fixture_t f;
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    expect_text(test_memory_sequence(&f.memory), "get");
    expect_u64(f.memory.reserved_bytes, POOL);
    expect_u64(stats_of(&f).reserved_bytes, POOL);
    expect_u64(stats_of(&f).capacity_bytes, POOL);
    fixture_close(&f);
    expect_text(test_memory_sequence(&f.memory), "get give_back end");
}
END_TEST

START_TEST(create_grow_takes_nothing)
{
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    expect_text(test_memory_sequence(&f->memory), "");
    expect_u64(stats_of(f).reserved_bytes, 0);
    expect_u64(stats_of(f).capacity_bytes, 0);
}
END_TEST

START_TEST(create_null_arguments)
{
    cuarena_config_t config;
    cuarena_t *arena = UNTOUCHED;
    cuarena_config_init(&config);
    expect_status(cuarena_create(&config, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_create(NULL, &arena), CUARENA_BAD_ARGUMENT);
    expect_ptr(arena, UNTOUCHED);
}
END_TEST

static void break_struct_size(cuarena_config_t *config)
{
    config->struct_size = 0;
}

static void break_no_ops(cuarena_config_t *config)
{
    config->ops = NULL;
}

static void break_stable(cuarena_config_t *config)
{
    config->stable = amount_of_bytes(POOL + 4096);
}

static const struct {
    const char *what;
    void (*break_it)(cuarena_config_t *config);
} broken_configs[] = {
    {"struct_size 0", break_struct_size},
    {"a custom memory without functions", break_no_ops},
    {"a stable region larger than the pool", break_stable},
};

START_TEST(create_refuses_a_broken_config)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    broken_configs[_i].break_it(&f->config);
    f->arena = UNTOUCHED;
    cuarena_status_t status = cuarena_create(&f->config, &f->arena);
    ck_assert_msg(status == CUARENA_BAD_ARGUMENT, "%s: got %s (%s)", broken_configs[_i].what,
                  cuarena_status_name(status), last_error().message);
    expect_ptr(f->arena, UNTOUCHED);
    ck_assert_msg(last_error().message[0] != '\0', "%s: no message", broken_configs[_i].what);
}
END_TEST

/* One member set to one value. */
typedef struct table_fault {
    size_t offset;
    size_t size;
    uint64_t value;
    const char *message;
} table_fault_t;

#define FAULT(member, value, message)                                                              \
    {                                                                                              \
        offsetof(cuarena_memory_ops_t, member), sizeof(((cuarena_memory_ops_t *)0)->member),       \
            value, message                                                                         \
    }

static const table_fault_t faults[] = {
    FAULT(name, 0, "has no name"),
    FAULT(get, 0, "has no get"),
    FAULT(give_back, 0, "has no give_back"),
    FAULT(grow, 0, "one of grow and shrink"),
    FAULT(shrink, 0, "one of grow and shrink"),
    FAULT(punch, 0, "one of punch and fill"),
    FAULT(fill, 0, "one of punch and fill"),
    FAULT(identify, 0, "some of identify"),
    FAULT(record_event, 0, "some of identify"),
    FAULT(query_event, 0, "some of identify"),
    FAULT(wait_event, 0, "some of identify"),
    FAULT(end_event, 0, "some of identify"),
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

static const size_t of_streams[] = {
    offsetof(cuarena_memory_ops_t, identify), offsetof(cuarena_memory_ops_t, record_event),
    offsetof(cuarena_memory_ops_t, query_event), offsetof(cuarena_memory_ops_t, wait_event),
    offsetof(cuarena_memory_ops_t, end_event)};

/* The functions of streams are missing one by one where the others are there. */
static cuarena_memory_ops_t *prepare_table(fixture_t *f, size_t offset)
{
    for (size_t i = 0; i < COUNT_OF(of_streams); i++)
        if (offset == of_streams[i]) {
            fixture_prepare(f, SIMULATED, POOL);
            return &f->sim.ops;
        }
    fixture_prepare(f, KIND_CUSTOM_POOL, POOL);
    return &f->memory.ops;
}

START_TEST(create_refuses_a_table_with_a_fault)
{
    const table_fault_t *fault = &faults[_i];
    const uint32_t half = (uint32_t)fault->value;
    const void *value = fault->size == sizeof half ? (const void *)&half : &fault->value;
    fixture_t *f = new_fixture(fixture_close);
    cuarena_memory_ops_t *ops = prepare_table(f, fault->offset);
    memcpy((char *)ops + fault->offset, value, fault->size);
    f->arena = UNTOUCHED;
    expect_status(cuarena_create(&f->config, &f->arena), CUARENA_BAD_ARGUMENT);
    expect_message("ops:", fault->message);
    expect_ptr(f->arena, UNTOUCHED);
    expect_u64(f->memory.counts[OP_GET] + f->memory.counts[OP_END], 0);
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

static const cuarena_memory_segment_t *answer;
static int given_back;

static cuarena_status_t get_nonsense(void *user, uint64_t bytes, uint64_t address_bytes,
                                     cuarena_memory_segment_t *segment_out)
{
    (void)user, (void)bytes, (void)address_bytes;
    *segment_out = *answer;
    return CUARENA_OK;
}

static void give_nonsense_back(void *user, cuarena_memory_segment_t *segment)
{
    (void)user;
    given_back += segment->address == answer->address;
}

START_TEST(create_refuses_a_segment_that_makes_no_sense)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, 4096);
    f->config.address_bytes = 0;
    f->memory.ops.get = get_nonsense;
    f->memory.ops.give_back = give_nonsense_back;
    answer = &nonsense[_i];
    given_back = 0;
    expect_status(cuarena_create(&f->config, &f->arena), CUARENA_DRIVER);
    expect_message("get", "4096");
    ck_assert_int_eq(given_back, 1);
}
END_TEST

START_TEST(create_pool_above_the_limit)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.limit = amount_of_bytes(POOL / 2);
    expect_status(cuarena_create(&f->config, &f->arena), CUARENA_LIMIT);
    expect_u64(last_error().asked_bytes, POOL);
    expect_u64(last_error().limit_bytes, POOL / 2);
    expect_u64(f->memory.counts[OP_GET], 0);
}
END_TEST

static const cuarena_status_t refusals[] = {CUARENA_OUT_OF_MEMORY, CUARENA_DRIVER};

START_TEST(create_passes_on_what_the_memory_says)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->memory.fail_in = 1;
    f->memory.fail_again = 1; /* it may be asked for fewer addresses */
    f->memory.fail_op = OP_GET;
    f->memory.fail_with = refusals[_i];
    f->arena = UNTOUCHED;
    expect_status(cuarena_create(&f->config, &f->arena), refusals[_i]);
    expect_ptr(f->arena, UNTOUCHED);
    if (refusals[_i] == CUARENA_OUT_OF_MEMORY)
        expect_u64(last_error().asked_bytes, POOL);
}
END_TEST

START_TEST(create_percent_of_all_that_there_is)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->memory.total_bytes = MIB(16);
    f->memory.available_bytes = MIB(6);
    f->config.pool = (cuarena_amount_t){CUARENA_AMOUNT_PERCENT, 0, 25000};
    fixture_create(f);
    expect_u64(stats_of(f).capacity_bytes, MIB(4));
}
END_TEST

START_TEST(create_auto_minus_a_margin)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->memory.available_bytes = MIB(16);
    f->config.pool = (cuarena_amount_t){CUARENA_AMOUNT_AUTO, 0, MIB(6)};
    fixture_create(f);
    expect_u64(stats_of(f).capacity_bytes, MIB(10));
}
END_TEST

static const struct {
    uint64_t available, margin;
} too_little[] = {{MIB(4), MIB(6)}, {0, 0}};

START_TEST(create_auto_with_nothing_or_less_than_the_margin)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->memory.available_bytes = too_little[_i].available;
    f->config.pool = (cuarena_amount_t){CUARENA_AMOUNT_AUTO, 0, too_little[_i].margin};
    expect_status(cuarena_create(&f->config, &f->arena), CUARENA_OUT_OF_MEMORY);
    ck_assert_ptr_null(f->arena);
}
END_TEST

START_TEST(create_percent_of_a_memory_that_cannot_tell)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->memory.ops.total = NULL;
    f->config.pool = (cuarena_amount_t){CUARENA_AMOUNT_PERCENT, 0, 25000};
    f->config.limit = amount_of_bytes(POOL);
    expect_status(cuarena_create(&f->config, &f->arena), CUARENA_BAD_ARGUMENT);
}
END_TEST

static const struct {
    cuarena_amount_t pool;
    int32_t op;
} queries[] = {{{CUARENA_AMOUNT_PERCENT, 0, 25000}, OP_TOTAL},
               {{CUARENA_AMOUNT_AUTO, 0, 0}, OP_AVAILABLE}};

START_TEST(create_when_a_query_fails)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.pool = queries[_i].pool;
    f->memory.fail_in = 1;
    f->memory.fail_op = queries[_i].op;
    expect_status(cuarena_create(&f->config, &f->arena), CUARENA_DRIVER);
    expect_u64(f->memory.counts[OP_GET], 0);
}
END_TEST

START_TEST(create_copies_the_table_of_functions)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    cuarena_memory_ops_t ops = f->memory.ops;
    f->config.ops = &ops;
    fixture_create(f);
    memset(&ops, 0, sizeof ops);
    free_ok(f, alloc_ok(f, KIB(4)));
}
END_TEST

START_TEST(create_a_pool_of_a_tebibyte)
{
    fixture_t *f = opened(KIND_NONE_POOL, GIB(1024));
    void *half = alloc_ok(f, GIB(512));
    void *rest = alloc_ok(f, GIB(512));
    expect_u64(live_bytes(f), GIB(1024));
    free_ok(f, half);
    free_ok(f, rest);
}
END_TEST

START_TEST(create_two_arenas_share_nothing)
{
    fixture_t a, b;
    fixture_open(&a, KIND_CUSTOM_POOL, POOL);
    fixture_open(&b, KIND_CUSTOM_POOL, POOL);
    void *pointer = alloc_ok(&a, KIB(4));
    expect_u64(live_bytes(&b), 0);
    step(&b, cuarena_free(b.arena, pointer), CUARENA_STALE);
    free_ok(&a, pointer);
    fixture_close(&a);
    free_ok(&b, alloc_ok(&b, POOL));
    fixture_close(&b);
}
END_TEST

/* ---- Destroy ----------------------------------------------------------- */

START_TEST(destroy_null_and_cleared_handles)
{
    cuarena_t *none = NULL;
    expect_ok(cuarena_destroy(NULL));
    expect_ok(cuarena_destroy(&none));
    expect_ok(cuarena_destroy_forced(NULL));
    expect_ok(cuarena_destroy_forced(&none));
}
END_TEST

START_TEST(destroy_is_busy_while_blocks_live_and_tells_the_leaks)
{
    cuarena_request_t request;
    void *pointer = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_request_init(&request);
    expect_ok(cuarena_tag(f->arena, "weights", &request.tag));
    step_ok(f, cuarena_alloc_with(f->arena, 12345, &request, &pointer));
    log_listen(CUARENA_LOG_DEBUG);
    step(f, cuarena_destroy(&f->arena), CUARENA_BUSY);
    log_listen_no_more();
    ck_assert_ptr_nonnull(f->arena);
    ck_assert_ptr_nonnull(strstr(last_error().message, "weights"));
    ck_assert_ptr_nonnull(strstr(log_text(0, ""), "weights"));
    ck_assert_ptr_nonnull(strstr(log_text(0, ""), "12345"));
    free_ok(f, pointer);
}
END_TEST

START_TEST(destroy_is_busy_while_an_empty_block_lives)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_block_t block = alloc_block(f, 0);
    step(f, cuarena_destroy(&f->arena), CUARENA_BUSY);
    free_block(f, block);
}
END_TEST

START_TEST(destroy_forced_ends_blocks_of_every_sort)
{
    cuarena_request_t request;
    cuarena_block_t block = 0;
    void *pointer = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_ok(f, KIB(4));
    step_ok(f, cuarena_block_pin(f->arena, alloc_block(f, 5), &pointer));
    cuarena_request_init(&request);
    request.dedicated = 1;
    step_ok(f, cuarena_block_alloc_with(f->arena, KIB(8), &request, &block));
    expect_u64(test_memory_segments(&f->memory), 2);
    fixture_close_forced(f);
}
END_TEST

/* ---- Base -------------------------------------------------------------- */

START_TEST(base_is_where_the_pool_is)
{
    void *base = NULL;
    uint64_t bytes = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_ok(cuarena_base(f->arena, &base, &bytes));
    expect_u64((uint64_t)(uintptr_t)base, f->memory.segments[0].address);
    expect_u64(bytes, POOL);
}
END_TEST

/* ---- Reset ------------------------------------------------------------- */

START_TEST(reset_ends_blocks_and_keeps_the_rest)
{
    cuarena_tag_t tag = 0, again = 0;
    uint64_t limit = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_ok(cuarena_tag(f->arena, "keep", &tag));
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_LIVE, amount_of_bytes(MIB(2)), NULL));
    void *pointer = alloc_ok(f, MIB(1));
    cuarena_block_t block = alloc_block(f, 1000);
    step_ok(f, cuarena_reset(f->arena));
    step(f, cuarena_free(f->arena, pointer), CUARENA_STALE);
    step(f, cuarena_block_free(f->arena, block), CUARENA_STALE);
    expect_u64(stats_of(f).reserved_bytes, POOL);
    ck_assert_uint_ge(stats_of(f).peak_live_bytes, MIB(1));
    expect_ok(cuarena_tag(f->arena, "keep", &again));
    expect_u64(again, tag);
    expect_ok(cuarena_get_limit(f->arena, CUARENA_LIMIT_LIVE, &limit));
    expect_u64(limit, MIB(2));
}
END_TEST

START_TEST(reset_is_busy_with_a_block_pin)
{
    void *pointer = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_block_t block = alloc_block(f, 1000);
    step_ok(f, cuarena_block_pin(f->arena, block, &pointer));
    step(f, cuarena_reset(f->arena), CUARENA_BUSY);
    expect_u64(live_blocks(f), 1);
    step_ok(f, cuarena_block_unpin(f->arena, block));
    step_ok(f, cuarena_reset(f->arena));
}
END_TEST

START_TEST(reset_gives_dedicated_segments_back)
{
    void *pointer = NULL;
    cuarena_request_t request;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_request_init(&request);
    request.dedicated = 1;
    step_ok(f, cuarena_alloc_with(f->arena, 5000, &request, &pointer));
    test_memory_forget_calls(&f->memory);
    step_ok(f, cuarena_reset(f->arena));
    expect_text(test_memory_sequence(&f->memory), "give_back");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");
    TCase *broken = new_case(suite, "broken configs");
    tcase_add_loop_test(broken, create_refuses_a_broken_config, 0, COUNT_OF(broken_configs));
    tcase_add_loop_test(broken, create_refuses_a_table_with_a_fault, 0, COUNT_OF(faults));
    tcase_add_loop_test(broken, create_refuses_a_segment_that_makes_no_sense, 0,
                        COUNT_OF(nonsense));
    tcase_add_loop_test(broken, create_passes_on_what_the_memory_says, 0, COUNT_OF(refusals));
    tcase_add_loop_test(broken, create_auto_with_nothing_or_less_than_the_margin, 0,
                        COUNT_OF(too_little));
    tcase_add_loop_test(broken, create_when_a_query_fails, 0, COUNT_OF(queries));
    suite_add_list(suite, "create",
                   TEST_LIST(create_pool_takes_its_bytes_now, create_grow_takes_nothing,
                             create_null_arguments, create_pool_above_the_limit,
                             create_percent_of_all_that_there_is, create_auto_minus_a_margin,
                             create_percent_of_a_memory_that_cannot_tell,
                             create_copies_the_table_of_functions, create_a_pool_of_a_tebibyte,
                             create_two_arenas_share_nothing, base_is_where_the_pool_is));
    suite_add_list(suite, "destroy",
                   TEST_LIST(destroy_null_and_cleared_handles,
                             destroy_is_busy_while_blocks_live_and_tells_the_leaks,
                             destroy_is_busy_while_an_empty_block_lives,
                             destroy_forced_ends_blocks_of_every_sort));
    suite_add_list(suite, "reset",
                   TEST_LIST(reset_ends_blocks_and_keeps_the_rest, reset_is_busy_with_a_block_pin,
                             reset_gives_dedicated_segments_back));
    return suite_main(suite);
}
