/*
 * Running out: which status a refusal has and what the last error tells, the handler, the
 * compaction step, and memories that call the arena they serve.
 */
#include "support/fixture.h"

#include <string.h>

#define COUNT 8
#define EACH KIB(64)
#define POOL (COUNT * EACH)

/* A full pool of unpinned blocks of which every second was freed. */
static fixture_t *open_fragmented(fixture_t *f, cuarena_block_t *row)
{
    fixture_open(f, KIND_CUSTOM_POOL, POOL);
    alloc_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i += 2) {
        free_block(f, row[i]);
        row[i] = 0;
    }
    return f;
}

#define expect_in_error(part)                                                                      \
    ck_assert_msg(strstr(last_error().message, part) != NULL, "expected '%s' in: %s", part,        \
                  last_error().message)

/* ---- Refusals ---------------------------------------------------------- */

START_TEST(refusal_out_of_memory_tells_the_figures)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *most = alloc_ok(f, POOL - EACH);
    step(f, cuarena_alloc(f->arena, EACH + 1, &pointer), CUARENA_OUT_OF_MEMORY);
    cuarena_error_info_t error = last_error();
    ck_assert_int_eq(error.status, CUARENA_OUT_OF_MEMORY);
    expect_u64(error.asked_bytes, EACH + 1);
    expect_u64(error.reserved_bytes, POOL);
    expect_u64(error.free_bytes, EACH);
    expect_u64(error.largest_bytes, EACH);
    ck_assert_ptr_nonnull(strstr(error.message, "65537"));
    expect_ptr(pointer, UNTOUCHED);
    expect_u64(stats_of(f).failed, 1);
    free_ok(f, most);
}
END_TEST

START_TEST(refusal_fragmented_tells_the_figures)
{
    cuarena_block_t row[COUNT];
    void *pointer = UNTOUCHED;
    fixture_t *f = open_fragmented(new_fixture(fixture_close), row);
    step(f, cuarena_alloc(f->arena, EACH + 1, &pointer), CUARENA_FRAGMENTED);
    expect_u64(last_error().free_bytes, POOL / 2);
    expect_u64(last_error().largest_bytes, EACH);
    step(f, cuarena_alloc(f->arena, POOL / 2, &pointer), CUARENA_FRAGMENTED);
    step(f, cuarena_alloc(f->arena, POOL / 2 + 1, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_ptr(pointer, UNTOUCHED);
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* Only the pool's first byte is so aligned. */
START_TEST(refusal_fragmented_by_alignment)
{
    cuarena_block_t row[COUNT];
    cuarena_request_t request;
    void *pointer = UNTOUCHED;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->memory.ops.alignment = POOL;
    fixture_create(f);
    alloc_row(f, row, COUNT, EACH);
    cuarena_request_init(&request);
    request.alignment = POOL;
    free_block(f, row[5]);
    row[5] = 0;
    step(f, cuarena_alloc_with(f->arena, EACH, &request, &pointer), CUARENA_FRAGMENTED);
    expect_ptr(pointer, UNTOUCHED);
    free_block(f, row[0]);
    row[0] = 0;
    step_ok(f, cuarena_alloc_with(f->arena, EACH, &request, &pointer));
    free_ok(f, pointer);
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* Classes are coarse for ranges of about one size; a refusal is not. */
START_TEST(refusal_only_if_no_range_fits)
{
    enum {
        MANY = 64
    };
    void *row[MANY], *pointer = NULL;
    uint64_t each = EACH + 256;
    fixture_t *f = opened(KIND_CUSTOM_GROW, MIB(8));
    for (size_t i = 0; i < MANY; i++)
        row[i] = alloc_ok(f, i == MANY / 2 ? each + 256 : each);
    for (size_t i = 0; i < MANY; i += 2)
        free_ok(f, row[i]);
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_RESERVED, amount_of_bytes(0), NULL));
    step_ok(f, cuarena_alloc(f->arena, each + 256, &pointer));
    free_ok(f, pointer);
    fixture_close_forced(f);
}
END_TEST

START_TEST(refusal_leaves_a_success_alone)
{
    void *pointer = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step(f, cuarena_alloc(f->arena, POOL + 1, &pointer), CUARENA_OUT_OF_MEMORY);
    free_ok(f, alloc_ok(f, 256));
    expect_u64(last_error().asked_bytes, POOL + 1);
}
END_TEST

/* ---- Whole segments go back before the limit refuses ------------------- */

START_TEST(ladder_returns_free_segments_and_grows_again)
{
    fixture_t *f = prepared(KIND_CUSTOM_GROW, 2 * EACH);
    test_memory_make_plain(&f->memory);
    fixture_create(f);
    void *first = alloc_ok(f, EACH);
    void *second = alloc_ok(f, EACH);
    free_ok(f, first);
    free_ok(f, second);
    test_memory_forget_calls(&f->memory);
    void *both = alloc_ok(f, 2 * EACH);
    expect_text(test_memory_sequence(&f->memory), "give_back give_back get");
    free_ok(f, both);
}
END_TEST

/* ---- The handler ------------------------------------------------------- */

typedef struct helper {
    fixture_t *f;
    void *spare; /* freed at the first call that finds it */
    int32_t answer;
    uint64_t calls;
    uint64_t asked;
    int32_t attempts[32];
} helper_t;

static int32_t help(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    helper_t *helper = user;
    expect_ptr(arena, helper->f->arena);
    helper->asked = asked_bytes;
    if (helper->calls < COUNT_OF(helper->attempts))
        helper->attempts[helper->calls] = attempt;
    helper->calls++;
    if (helper->spare == NULL)
        return helper->answer;
    free_ok(helper->f, helper->spare);
    helper->spare = NULL;
    return 1;
}

START_TEST(handler_that_frees_serves_the_request)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    helper_t helper = {.f = f, .spare = alloc_ok(f, POOL)};
    use_handler(f, help, &helper);
    void *pointer = alloc_ok(f, EACH + 5);
    expect_u64(helper.calls, 1);
    expect_u64(helper.asked, EACH + 5);
    expect_u64(stats_of(f).oom_handler_calls, 1);
    expect_u64(stats_of(f).failed, 0);
    free_ok(f, pointer);
}
END_TEST

START_TEST(handler_that_has_nothing_is_asked_once)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *kept = alloc_ok(f, EACH);
    helper_t helper = {.f = f};
    use_handler(f, help, &helper);
    step(f, cuarena_alloc(f->arena, POOL, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(helper.calls, 1);
    expect_ptr(pointer, UNTOUCHED);
    free_ok(f, kept);
}
END_TEST

START_TEST(handler_that_lies_is_given_up_on_after_sixteen)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *kept = alloc_ok(f, EACH);
    helper_t helper = {.f = f, .answer = 1};
    use_handler(f, help, &helper);
    step(f, cuarena_alloc(f->arena, POOL, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(helper.calls, 16);
    for (size_t i = 1; i < 16; i++)
        ck_assert_int_eq(helper.attempts[i], helper.attempts[i - 1] + 1);
    expect_u64(stats_of(f).oom_handler_calls, 16);
    free_ok(f, kept);
}
END_TEST

START_TEST(handler_is_not_asked_while_there_is_room)
{
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    helper_t helper = {.f = f};
    use_handler(f, help, &helper);
    free_ok(f, alloc_ok(f, POOL));
    expect_u64(helper.calls, 0);
    use_handler(f, NULL, NULL);
    void *pointer = NULL;
    step(f, cuarena_alloc(f->arena, POOL + 1, &pointer), CUARENA_LIMIT);
    expect_u64(helper.calls, 0);
}
END_TEST

START_TEST(handler_helps_blocks_and_resizes)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_block_t block = alloc_block(f, EACH);
    helper_t helper = {.f = f, .spare = alloc_ok(f, POOL - EACH)};
    use_handler(f, help, &helper);
    step_ok(f, cuarena_block_resize(f->arena, block, 2 * EACH));
    expect_u64(helper.calls, 1);
    step_ok(f, cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    helper.spare = alloc_ok(f, POOL - 2 * EACH);
    cuarena_block_t other = alloc_block(f, EACH);
    expect_u64(helper.calls, 2);
    free_block(f, other);
    free_block(f, block);
}
END_TEST

static int32_t ask_for_more(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    helper_t *helper = user;
    void *pointer = UNTOUCHED;
    (void)attempt;
    helper->calls++;
    expect_status(cuarena_alloc(arena, asked_bytes, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_ptr(pointer, UNTOUCHED);
    return 0;
}

START_TEST(handler_is_not_entered_twice_on_a_thread)
{
    void *pointer = NULL;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *kept = alloc_ok(f, EACH);
    helper_t helper = {.f = f};
    use_handler(f, ask_for_more, &helper);
    step(f, cuarena_alloc(f->arena, POOL, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(helper.calls, 1);
    free_ok(f, kept);
}
END_TEST

static int32_t call_all(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    helper_t *helper = user;
    uint64_t given = 0;
    (void)asked_bytes;
    (void)attempt;
    helper->calls++;
    step_ok(helper->f, cuarena_trim(arena, POOL, &given));
    step_ok(helper->f, cuarena_compact(arena, NULL, NULL, NULL, NULL));
    step_ok(helper->f, cuarena_resize_pool(arena, 2 * POOL));
    expect_recount(helper->f);
    return 1;
}

START_TEST(handler_may_call_anything)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *kept = alloc_ok(f, EACH);
    helper_t helper = {.f = f};
    use_handler(f, call_all, &helper);
    void *pointer = alloc_ok(f, POOL);
    expect_u64(helper.calls, 1);
    free_ok(f, kept);
    free_ok(f, pointer);
}
END_TEST

/* ---- The compaction step ----------------------------------------------- */

static fixture_t *open_compacting(fixture_t *f, cuarena_block_t *row)
{
    fixture_prepare(f, KIND_CUSTOM_POOL, POOL);
    f->config.compact_on_oom = 1;
    fixture_create(f);
    alloc_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i += 2) {
        free_block(f, row[i]);
        row[i] = 0;
    }
    return f;
}

START_TEST(compact_on_oom_makes_room_and_tells)
{
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    fixture_t *f = open_compacting(new_fixture(fixture_close), row);
    expect_ok(cuarena_set_relocation_callback(f->arena, hear_relocations, &heard));
    void *pointer = alloc_ok(f, 2 * EACH);
    expect_u64(heard.count, 1);
    expect_u64(stats_of(f).compactions, 1);
    free_ok(f, pointer);
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* Their ids are good wherever they are. */
START_TEST(compact_on_oom_moves_blocks_without_a_callback)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = open_compacting(new_fixture(fixture_close), row);
    free_ok(f, alloc_ok(f, 2 * EACH));
    expect_u64(stats_of(f).moves, 1);
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* Nobody would know where they went. */
START_TEST(compact_on_oom_leaves_pointers_without_a_callback)
{
    heard_t heard = {.count = 0};
    void *row[COUNT], *pointer = UNTOUCHED;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.compact_on_oom = 1;
    fixture_create(f);
    alloc_pointer_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i++)
        if (i % 2 == 0)
            free_ok(f, row[i]);
        else
            expect_ok(cuarena_unpin(f->arena, row[i]));
    step(f, cuarena_alloc(f->arena, 2 * EACH, &pointer), CUARENA_FRAGMENTED);
    expect_u64(stats_of(f).moves, 0);
    expect_in_error("compaction (pins, captures, and pointers without a relocation "
                    "callback, are in the way)");
    expect_ok(cuarena_set_relocation_callback(f->arena, hear_relocations, &heard));
    free_ok(f, alloc_ok(f, 2 * EACH));
    expect_u64(heard.count, 1);
    fixture_close_forced(f);
}
END_TEST

START_TEST(compact_on_oom_says_that_pins_are_in_the_way)
{
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    void *pointer = UNTOUCHED, *pinned;
    fixture_t *f = open_compacting(new_fixture(fixture_close), row);
    expect_ok(cuarena_set_relocation_callback(f->arena, hear_relocations, &heard));
    for (size_t i = 1; i < COUNT; i += 2)
        expect_ok(cuarena_block_pin(f->arena, row[i], &pinned));
    step(f, cuarena_alloc(f->arena, 2 * EACH, &pointer), CUARENA_FRAGMENTED);
    expect_in_error("tried: reserved bytes, compaction (pins and captures are in the way)");
    for (size_t i = 1; i < COUNT; i += 2)
        expect_ok(cuarena_block_unpin(f->arena, row[i]));
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(compact_on_oom_says_that_the_memory_cannot)
{
    cuarena_block_t row[COUNT];
    void *pointer = UNTOUCHED;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.compact_on_oom = 1;
    f->memory.ops.relocate = NULL;
    fixture_create(f);
    alloc_row(f, row, COUNT, EACH);
    free_block(f, row[1]);
    free_block(f, row[5]);
    row[1] = row[5] = 0;
    step(f, cuarena_alloc(f->arena, 2 * EACH, &pointer), CUARENA_FRAGMENTED);
    expect_in_error("compaction (the memory cannot move bytes)");
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(compact_on_oom_off_by_default)
{
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    void *pointer = UNTOUCHED;
    fixture_t *f = open_fragmented(new_fixture(fixture_close), row);
    expect_ok(cuarena_set_relocation_callback(f->arena, hear_relocations, &heard));
    step(f, cuarena_alloc(f->arena, 2 * EACH, &pointer), CUARENA_FRAGMENTED);
    expect_u64(heard.batches, 0);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(compact_on_oom_comes_after_the_handler)
{
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    fixture_t *f = open_compacting(new_fixture(fixture_close), row);
    helper_t helper = {.f = f};
    use_handler(f, help, &helper);
    expect_ok(cuarena_set_relocation_callback(f->arena, hear_relocations, &heard));
    void *pointer = alloc_ok(f, 2 * EACH);
    expect_u64(helper.calls, 1);
    expect_u64(heard.batches, 1);
    free_ok(f, pointer);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(compact_on_oom_that_would_not_help_moves_nothing)
{
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    void *pointer = UNTOUCHED;
    fixture_t *f = open_compacting(new_fixture(fixture_close), row);
    expect_ok(cuarena_set_relocation_callback(f->arena, hear_relocations, &heard));
    step(f, cuarena_alloc(f->arena, POOL / 2 + 1, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(heard.batches, 0);
    free_row(f, row, COUNT, EACH);
}
END_TEST

static int32_t is_reentered(void *user, const cuarena_relocation_t *list, size_t count)
{
    fixture_t *f = user;
    uint64_t given = 0;
    (void)list;
    (void)count;
    expect_status(cuarena_compact(f->arena, NULL, NULL, NULL, NULL), CUARENA_REENTERED);
    expect_status(cuarena_reset(f->arena), CUARENA_REENTERED);
    expect_status(cuarena_trim(f->arena, 0, &given), CUARENA_REENTERED);
    expect_status(cuarena_resize_pool(f->arena, 2 * POOL), CUARENA_REENTERED);
    expect_u64(stats_of(f).live_blocks, COUNT / 2);
    f->config.name[0] = '!';
    return 0;
}

START_TEST(compact_on_oom_callback_may_not_compact)
{
    cuarena_block_t row[COUNT];
    fixture_t *f = open_compacting(new_fixture(fixture_close), row);
    expect_ok(cuarena_set_relocation_callback(f->arena, is_reentered, f));
    free_ok(f, alloc_ok(f, 2 * EACH));
    ck_assert_int_eq(f->config.name[0], '!');
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* ---- Memories that call the arena -------------------------------------- */

static void call_the_arena(test_memory_t *memory, memory_op_t op, const cuarena_relocation_t *list,
                           size_t count)
{
    fixture_t *f = memory->hook_user;
    void *pointer = UNTOUCHED;
    (void)list;
    (void)count;
    if (op == OP_END || op <= OP_TOTAL)
        return;
    expect_status(cuarena_alloc(f->arena, POOL, &pointer), CUARENA_REENTERED);
    expect_status(cuarena_compact(f->arena, NULL, NULL, NULL, NULL), CUARENA_REENTERED);
    expect_ptr(pointer, UNTOUCHED);
}

START_TEST(memory_that_calls_its_arena_is_reentered)
{
    void *now = NULL;
    uint64_t given = 0;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    f->memory.hook_user = f;
    f->memory.hook = call_the_arena;
    void *first = alloc_ok(f, EACH);
    void *second = alloc_ok(f, EACH);
    step_ok(f, cuarena_resize(f->arena, first, 2 * EACH, &now));
    free_ok(f, now);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    free_ok(f, second);
    f->memory.hook = NULL;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oom");
    suite_add_list(suite, "refusals",
                   TEST_LIST(refusal_out_of_memory_tells_the_figures,
                             refusal_fragmented_tells_the_figures, refusal_fragmented_by_alignment,
                             refusal_only_if_no_range_fits, refusal_leaves_a_success_alone,
                             ladder_returns_free_segments_and_grows_again,
                             memory_that_calls_its_arena_is_reentered));
    suite_add_list(
        suite, "handler",
        TEST_LIST(handler_that_frees_serves_the_request, handler_that_has_nothing_is_asked_once,
                  handler_that_lies_is_given_up_on_after_sixteen,
                  handler_is_not_asked_while_there_is_room, handler_helps_blocks_and_resizes,
                  handler_is_not_entered_twice_on_a_thread, handler_may_call_anything));
    suite_add_list(suite, "compact_on_oom",
                   TEST_LIST(compact_on_oom_makes_room_and_tells,
                             compact_on_oom_moves_blocks_without_a_callback,
                             compact_on_oom_leaves_pointers_without_a_callback,
                             compact_on_oom_says_that_pins_are_in_the_way,
                             compact_on_oom_says_that_the_memory_cannot,
                             compact_on_oom_off_by_default, compact_on_oom_comes_after_the_handler,
                             compact_on_oom_that_would_not_help_moves_nothing,
                             compact_on_oom_callback_may_not_compact));
    return suite_main(suite);
}
