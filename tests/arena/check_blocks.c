/*
 * The calls with ids, enumeration, adoption and tags, each at its edges. What holds on every memory
 * is in check_conformance.c.
 */
#include "support/fixture.h"

#include <stdio.h>
#include <string.h>

#define POOL MIB(4)
#define QUARTER (POOL / 4)

#define NO_BLOCK UINT64_C(77)

/* ---- Making and ending ------------------------------------------------- */

START_TEST(block_alloc_is_born_without_a_pin)
{
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    cuarena_block_t block = alloc_block(f, 1000);
    cuarena_block_info_t info = info_of(f, block);
    expect_u64(info.pins, 0);
    expect_u64(info.pointer, 0);
    expect_u64(info.requested, 1000);
    expect_u64(info.allocated, 1024);
    expect_u64(info.alignment, 256);
    expect_u64(info.dedicated, 0);
    expect_u64(info.adopted, 0);
    expect_u64(info.moving, 0);
    ck_assert_int_eq(info.region, CUARENA_REGION_DYNAMIC);
    free_block(f, block);
}
END_TEST

START_TEST(block_alloc_null_arguments)
{
    cuarena_block_t block = NO_BLOCK;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    step(f, cuarena_block_alloc(f->arena, 9, NULL), CUARENA_BAD_ARGUMENT);
    step(f, cuarena_block_alloc(NULL, 9, &block), CUARENA_BAD_ARGUMENT);
    step(f, cuarena_block_alloc(f->arena, POOL + 1, &block), CUARENA_OUT_OF_MEMORY);
    expect_u64(block, NO_BLOCK);
}
END_TEST

START_TEST(block_alloc_zero_is_a_live_empty_block)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    cuarena_block_t block = alloc_block(f, 0);
    expect_u64(live_blocks(f), 1);
    expect_u64(live_bytes(f), 0);
    ck_assert_ptr_null(info_of(f, block).address);
    step_ok(f, cuarena_block_pin(f->arena, block, &pointer));
    ck_assert_ptr_null(pointer);
    step_ok(f, cuarena_block_unpin(f->arena, block));
    free_block(f, block);
    step(f, cuarena_block_free(f->arena, block), CUARENA_STALE);
}
END_TEST

START_TEST(block_alloc_zero_fits_a_full_pool)
{
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    void *all = alloc_ok(f, POOL);
    cuarena_block_t block = alloc_block(f, 0);
    free_ok(f, all);
    free_block(f, block);
}
END_TEST

START_TEST(block_alloc_at_the_most_blocks_is_limit)
{
    cuarena_block_t blocks[4], more = NO_BLOCK;
    fixture_t *f = prepared(KIND_NONE_POOL, POOL);
    f->config.max_blocks = COUNT_OF(blocks);
    fixture_create(f);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = alloc_block(f, 256);
    step(f, cuarena_block_alloc(f->arena, 256, &more), CUARENA_LIMIT);
    expect_u64(more, NO_BLOCK);
    free_block(f, blocks[0]);
    blocks[0] = alloc_block(f, 256);
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        free_block(f, blocks[i]);
}
END_TEST

START_TEST(block_free_while_pinned_ends_it)
{
    void *pointer = NULL;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    cuarena_block_t block = alloc_block(f, 256);
    step_ok(f, cuarena_block_pin(f->arena, block, &pointer));
    free_block(f, block);
    step(f, cuarena_block_unpin(f->arena, block), CUARENA_STALE);
}
END_TEST

/* Every call that takes an id. */
static void expect_stale_everywhere(fixture_t *f, cuarena_block_t block)
{
    cuarena_block_info_t info;
    void *pointer = UNTOUCHED;
    step(f, cuarena_block_free(f->arena, block), CUARENA_STALE);
    step(f, cuarena_block_resize(f->arena, block, 512), CUARENA_STALE);
    step(f, cuarena_block_pin(f->arena, block, &pointer), CUARENA_STALE);
    step(f, cuarena_block_unpin(f->arena, block), CUARENA_STALE);
    step(f, cuarena_block_info(f->arena, block, &info), CUARENA_STALE);
    expect_ptr(pointer, UNTOUCHED);
}

START_TEST(id_stays_stale_when_its_bytes_are_reused)
{
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    cuarena_block_t old = alloc_block(f, POOL);
    free_block(f, old);
    cuarena_block_t now = alloc_block(f, POOL);
    ck_assert_uint_ne(now, old);
    expect_stale_everywhere(f, old);
    expect_u64(live_blocks(f), 1);
    free_block(f, now);
}
END_TEST

START_TEST(id_of_another_arena_is_stale)
{
    fixture_t a, b;
    fixture_open(&a, KIND_NONE_POOL, POOL);
    fixture_open(&b, KIND_NONE_POOL, POOL);
    cuarena_block_t mine = alloc_block(&a, 256);
    cuarena_block_t theirs = alloc_block(&b, 256);
    expect_stale_everywhere(&b, mine);
    free_block(&b, theirs);
    free_block(&a, mine);
    fixture_close(&b);
    fixture_close(&a);
}
END_TEST

static const uint64_t made_up_ids[] = {1, 2, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(0xffffffff)};

START_TEST(id_that_was_made_up_is_stale)
{
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    cuarena_block_t block = alloc_block(f, 256);
    expect_stale_everywhere(f, made_up_ids[_i]);
    free_block(f, block);
}
END_TEST

START_TEST(id_0_names_nothing)
{
    cuarena_block_info_t info;
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    step(f, cuarena_block_pin(f->arena, 0, &pointer), CUARENA_STALE);
    step(f, cuarena_block_unpin(f->arena, 0), CUARENA_STALE);
    step(f, cuarena_block_resize(f->arena, 0, 256), CUARENA_STALE);
    step(f, cuarena_block_info(f->arena, 0, &info), CUARENA_STALE);
}
END_TEST

/* ---- Resize ------------------------------------------------------------ */

START_TEST(block_resize_keeps_the_id_when_it_moves)
{
    cuarena_block_t pair[2];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_row(f, pair, 2, QUARTER);
    void *before = address_of(f, pair[0]);
    step_ok(f, cuarena_block_resize(f->arena, pair[0], QUARTER + 1));
    ck_assert_ptr_ne(address_of(f, pair[0]), before);
    expect_painted(f, address_of(f, pair[0]), QUARTER, 0);
    expect_u64(info_of(f, pair[0]).requested, QUARTER + 1);
    expect_recount(f);
    free_block(f, pair[0]);
    free_block(f, pair[1]);
}
END_TEST

START_TEST(block_resize_to_zero_is_empty_and_back)
{
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    cuarena_block_t block = alloc_block(f, 5000);
    step_ok(f, cuarena_block_resize(f->arena, block, 0));
    expect_u64(live_bytes(f), 0);
    expect_u64(live_blocks(f), 1);
    ck_assert_ptr_null(info_of(f, block).address);
    expect_recount(f);
    step_ok(f, cuarena_block_resize(f->arena, block, 300));
    expect_u64(live_bytes(f), 512);
    ck_assert_ptr_nonnull(address_of(f, block));
    free_block(f, block);
}
END_TEST

START_TEST(block_resize_busy_if_a_pinned_block_would_move)
{
    cuarena_block_t pair[2];
    void *pointer = NULL;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    alloc_row(f, pair, 2, QUARTER);
    step_ok(f, cuarena_block_pin(f->arena, pair[0], &pointer));
    step(f, cuarena_block_resize(f->arena, pair[0], QUARTER + 1), CUARENA_BUSY);
    expect_ptr(address_of(f, pair[0]), pointer);
    step_ok(f, cuarena_block_resize(f->arena, pair[0], QUARTER / 2));
    step_ok(f, cuarena_block_resize(f->arena, pair[0], QUARTER));
    expect_ptr(address_of(f, pair[0]), pointer);
    free_block(f, pair[0]);
    free_block(f, pair[1]);
}
END_TEST

START_TEST(block_resize_failure_keeps_all)
{
    cuarena_block_t pair[2];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_row(f, pair, 2, QUARTER);
    step(f, cuarena_block_resize(f->arena, pair[1], POOL + 1), CUARENA_OUT_OF_MEMORY);
    expect_u64(info_of(f, pair[1]).requested, QUARTER);
    expect_painted(f, address_of(f, pair[1]), QUARTER, 1);
    free_block(f, pair[0]);
    free_block(f, pair[1]);
}
END_TEST

/* ---- Pins -------------------------------------------------------------- */

START_TEST(block_pin_counts)
{
    void *first = NULL, *second = NULL;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    cuarena_block_t block = alloc_block(f, 256);
    step_ok(f, cuarena_block_pin(f->arena, block, &first));
    step_ok(f, cuarena_block_pin(f->arena, block, &second));
    expect_ptr(first, second);
    expect_u64(info_of(f, block).pins, 2);
    step_ok(f, cuarena_block_unpin(f->arena, block));
    step_ok(f, cuarena_block_unpin(f->arena, block));
    expect_u64(info_of(f, block).pins, 0);
    step(f, cuarena_block_unpin(f->arena, block), CUARENA_BAD_ARGUMENT);
    free_block(f, block);
}
END_TEST

START_TEST(block_pin_past_the_most_is_busy)
{
    void *pointer = NULL;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    cuarena_block_t block = alloc_block(f, 256);
    for (uint32_t i = 0; i < CUARENA_HEAP_MAX_PINS; i++)
        expect_ok(cuarena_block_pin(f->arena, block, &pointer));
    pointer = UNTOUCHED;
    step(f, cuarena_block_pin(f->arena, block, &pointer), CUARENA_BUSY);
    expect_ptr(pointer, UNTOUCHED);
    step_ok(f, cuarena_block_unpin(f->arena, block));
    free_block(f, block);
}
END_TEST

START_TEST(block_of_finds_the_block_by_its_first_byte)
{
    cuarena_block_t found = NO_BLOCK;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    cuarena_block_t block = alloc_block(f, KIB(4));
    char *address = address_of(f, block);
    expect_status(cuarena_block_of(f->arena, address + 1, &found), CUARENA_STALE);
    expect_status(cuarena_block_of(f->arena, address + 256, &found), CUARENA_STALE);
    expect_status(cuarena_block_of(f->arena, NULL, &found), CUARENA_STALE);
    expect_u64(found, NO_BLOCK);
    expect_ok(cuarena_block_of(f->arena, address, &found));
    expect_u64(found, block);
    free_block(f, block);
}
END_TEST

START_TEST(block_info_tells_what_was_asked)
{
    cuarena_request_t request;
    cuarena_block_t block = 0;
    fixture_t *f = prepared(KIND_NONE_POOL, POOL);
    f->config.stable = amount_of_bytes(MIB(1));
    fixture_create(f);
    cuarena_request_init(&request);
    request.region = CUARENA_REGION_STABLE;
    request.alignment = KIB(4);
    expect_ok(cuarena_tag(f->arena, "t", &request.tag));
    step_ok(f, cuarena_block_alloc_with(f->arena, 100, &request, &block));
    cuarena_block_info_t info = info_of(f, block);
    ck_assert_int_eq(info.region, CUARENA_REGION_STABLE);
    expect_u64(info.tag, request.tag);
    expect_u64(info.alignment, KIB(4));
    expect_u64((uint64_t)(uintptr_t)info.address % KIB(4), 0);
    free_block(f, block);
}
END_TEST

START_TEST(block_info_of_a_pointer)
{
    cuarena_block_t block = 0;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    void *pointer = alloc_ok(f, 300);
    expect_ok(cuarena_block_of(f->arena, pointer, &block));
    cuarena_block_info_t info = info_of(f, block);
    expect_u64(info.pointer, 1);
    expect_u64(info.pins, 1);
    expect_ptr(info.address, pointer);
    free_ok(f, pointer);
}
END_TEST

/* ---- Enumeration ------------------------------------------------------- */

#define MANY 23

static size_t enumerate(fixture_t *f, cuarena_block_t *seen, size_t capacity, size_t at_once)
{
    cuarena_block_info_t infos[MANY + 1];
    uint64_t cursor = 0;
    size_t count = 0, total = 0;
    do {
        expect_ok(cuarena_blocks(f->arena, &cursor, infos, at_once, &count));
        ck_assert_uint_le(count, at_once);
        for (size_t i = 0; i < count; i++, total++) {
            ck_assert_uint_lt(total, capacity);
            seen[total] = infos[i].block;
        }
    } while (count == at_once);
    return total;
}

static size_t times_seen(const cuarena_block_t *seen, size_t count, cuarena_block_t block)
{
    size_t times = 0;
    for (size_t i = 0; i < count; i++)
        times += seen[i] == block;
    return times;
}

static const size_t capacities[] = {1, 2, 7, MANY - 1, MANY, MANY + 1};

START_TEST(blocks_sees_each_once_for_any_capacity)
{
    cuarena_block_t blocks[MANY], seen[MANY + 1];
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    for (size_t i = 0; i < MANY; i++)
        blocks[i] = alloc_block(f, i * 100);
    expect_u64(enumerate(f, seen, MANY, capacities[_i]), MANY);
    for (size_t i = 0; i < MANY; i++)
        expect_u64(times_seen(seen, MANY, blocks[i]), 1);
    for (size_t i = 0; i < MANY; i++)
        free_block(f, blocks[i]);
    expect_u64(enumerate(f, seen, 0, capacities[_i]), 0);
}
END_TEST

START_TEST(blocks_changed_meanwhile_misses_no_other)
{
    cuarena_block_t blocks[MANY], seen[2 * MANY];
    cuarena_block_info_t info;
    uint64_t cursor = 0;
    size_t count = 1, total = 0;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    for (size_t i = 0; i < MANY; i++)
        blocks[i] = alloc_block(f, 256);
    while (count == 1 && total < 2 * MANY) {
        expect_ok(cuarena_blocks(f->arena, &cursor, &info, 1, &count));
        seen[total] = info.block;
        total += count;
        free_block(f, alloc_block(f, KIB(1)));
        if (total == 5)
            free_block(f, blocks[MANY - 1]);
    }
    for (size_t i = 0; i < MANY - 1; i++)
        expect_u64(times_seen(seen, total, blocks[i]), 1);
    fixture_close_forced(f);
}
END_TEST

START_TEST(blocks_null_arguments)
{
    cuarena_block_info_t info;
    uint64_t cursor = 0;
    size_t count = 9;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    expect_status(cuarena_blocks(f->arena, NULL, &info, 1, &count), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_blocks(f->arena, &cursor, NULL, 1, &count), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_blocks(f->arena, &cursor, &info, 1, NULL), CUARENA_BAD_ARGUMENT);
    expect_u64(count, 9);
}
END_TEST

/* ---- Dedicated --------------------------------------------------------- */

START_TEST(dedicated_has_a_segment_of_its_own)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    test_memory_forget_calls(&f->memory);
    cuarena_block_t block = alloc_dedicated_block(f, 5000);
    expect_text(test_memory_sequence(&f->memory), "get");
    expect_u64(f->memory.reserved_bytes, POOL + KIB(8));
    expect_u64(info_of(f, block).dedicated, 1);
    cuarena_stats_t stats = stats_of(f);
    expect_u64(stats.reserved_bytes, POOL + KIB(8));
    expect_u64(stats.dedicated_bytes, info_of(f, block).allocated);
    expect_u64(live_in(f, CUARENA_REGION_DYNAMIC), 0);
    expect_recount(f);
    free_block(f, block);
    expect_text(test_memory_sequence(&f->memory), "get give_back");
}
END_TEST

START_TEST(dedicated_when_the_memory_refuses)
{
    cuarena_block_t block = NO_BLOCK;
    cuarena_request_t request;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_request_init(&request);
    request.dedicated = 1;
    f->memory.budget_bytes = POOL;
    step(f, cuarena_block_alloc_with(f->arena, 5000, &request, &block), CUARENA_OUT_OF_MEMORY);
    expect_u64(block, NO_BLOCK);
}
END_TEST

START_TEST(dedicated_counts_toward_the_held_limit)
{
    cuarena_block_t block = NO_BLOCK;
    cuarena_request_t request;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.limit = amount_of_bytes(POOL + KIB(8));
    fixture_create(f);
    cuarena_request_init(&request);
    request.dedicated = 1;
    step(f, cuarena_block_alloc_with(f->arena, KIB(12), &request, &block), CUARENA_LIMIT);
    expect_u64(block, NO_BLOCK);
    free_block(f, alloc_dedicated_block(f, KIB(8)));
}
END_TEST

/* ---- Adopted ----------------------------------------------------------- */

static _Alignas(4096) char foreign[8192];

START_TEST(adopt_counts_and_forgets)
{
    cuarena_block_t block = 0, found = 0;
    cuarena_tag_t tag = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_ok(cuarena_tag(f->arena, "foreign", &tag));
    paint_bytes(foreign, sizeof foreign, 3);
    test_memory_forget_calls(&f->memory);
    step_ok(f, cuarena_adopt(f->arena, foreign, sizeof foreign, tag, &block));
    cuarena_block_info_t info = info_of(f, block);
    expect_u64(info.adopted, 1);
    expect_u64(info.tag, tag);
    ck_assert_uint_ge(info.pins, 1);
    expect_ptr(info.address, foreign);
    expect_u64(info.allocated, sizeof foreign);
    expect_ok(cuarena_block_of(f->arena, foreign, &found));
    expect_u64(found, block);
    expect_u64(stats_of(f).dedicated_bytes, sizeof foreign);
    expect_u64(stats_of(f).reserved_bytes, POOL);
    expect_u64(tag_stats_of(f, tag).live_bytes, sizeof foreign);
    expect_recount(f);
    free_block(f, block);
    expect_text(test_memory_sequence(&f->memory), "");
    expect_u64(painted_until(foreign, sizeof foreign, 3), sizeof foreign);
}
END_TEST

START_TEST(adopt_refuses_what_overlaps)
{
    cuarena_block_t block = 0, other = NO_BLOCK;
    void *base = NULL;
    uint64_t bytes = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_ok(cuarena_base(f->arena, &base, &bytes));
    step(f, cuarena_adopt(f->arena, (char *)base + 4096, 4096, 0, &other), CUARENA_BAD_ARGUMENT);
    step_ok(f, cuarena_adopt(f->arena, foreign, sizeof foreign, 0, &block));
    step(f, cuarena_adopt(f->arena, foreign + 4096, 4096, 0, &other), CUARENA_BAD_ARGUMENT);
    expect_u64(other, NO_BLOCK);
    free_block(f, block);
}
END_TEST

START_TEST(adopt_bad_arguments)
{
    cuarena_block_t block = NO_BLOCK;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step(f, cuarena_adopt(f->arena, foreign + 1, 4096, 0, &block), CUARENA_BAD_ARGUMENT);
    step(f, cuarena_adopt(f->arena, NULL, 4096, 0, &block), CUARENA_BAD_ARGUMENT);
    step(f, cuarena_adopt(f->arena, foreign, 0, 0, &block), CUARENA_BAD_ARGUMENT);
    step(f, cuarena_adopt(f->arena, foreign, 4096, 9, &block), CUARENA_BAD_ARGUMENT);
    step(f, cuarena_adopt(f->arena, foreign, 4096, 0, NULL), CUARENA_BAD_ARGUMENT);
    step(f, cuarena_adopt(f->arena, foreign, UINT64_MAX - 255, 0, &block), CUARENA_BAD_ARGUMENT);
    void *last = (void *)(uintptr_t)(UINT64_MAX - 4095);
    step(f, cuarena_adopt(f->arena, last, 4096, 0, &block), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(last_error().message, "the end of the address space"));
    expect_u64(block, NO_BLOCK);
}
END_TEST

START_TEST(adopt_counts_toward_the_live_limit)
{
    cuarena_block_t block = NO_BLOCK;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_LIVE, amount_of_bytes(4096), NULL));
    step(f, cuarena_adopt(f->arena, foreign, sizeof foreign, 0, &block), CUARENA_LIMIT);
    step_ok(f, cuarena_adopt(f->arena, foreign, 4096, 0, &block));
    free_block(f, block);
}
END_TEST

START_TEST(adopt_is_not_moved_nor_resized_away)
{
    cuarena_block_t block = 0;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step_ok(f, cuarena_adopt(f->arena, foreign, sizeof foreign, 0, &block));
    step_ok(f, cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    expect_ptr(address_of(f, block), foreign);
    fixture_close_forced(f);
}
END_TEST

/* ---- Tags -------------------------------------------------------------- */

START_TEST(tag_is_registered_once)
{
    cuarena_tag_t first = 0, second = 0, again = 0;
    char name[] = "weights";
    const char *kept = NULL;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    expect_ok(cuarena_tag(f->arena, name, &first));
    expect_ok(cuarena_tag(f->arena, "activations", &second));
    ck_assert_uint_ne(first, 0);
    ck_assert_uint_ne(first, second);
    name[0] = 'W';
    expect_ok(cuarena_tag(f->arena, "weights", &again));
    expect_u64(again, first);
    expect_ok(cuarena_tag_name(f->arena, first, &kept));
    expect_text(kept, "weights");
}
END_TEST

START_TEST(tag_bad_arguments)
{
    cuarena_tag_t tag = 7;
    const char *name = UNTOUCHED;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    expect_status(cuarena_tag(f->arena, NULL, &tag), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_tag(f->arena, "x", NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_tag_name(f->arena, 9, &name), CUARENA_BAD_ARGUMENT);
    expect_u64(tag, 7);
    expect_ptr(name, UNTOUCHED);
}
END_TEST

START_TEST(tag_past_the_most_is_limit)
{
    cuarena_tag_t tag = 0;
    char name[16];
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    for (uint32_t i = 1; i < CUARENA_HEAP_MAX_TAGS; i++) {
        snprintf(name, sizeof name, "tag%u", i);
        expect_ok(cuarena_tag(f->arena, name, &tag));
    }
    tag = 7;
    expect_status(cuarena_tag(f->arena, "one more", &tag), CUARENA_LIMIT);
    expect_u64(tag, 7);
    expect_ok(cuarena_tag(f->arena, "tag1", &tag));
}
END_TEST

static void add_loops(Suite *suite)
{
    TCase *tcase = new_case(suite, "tables");
    tcase_add_loop_test(tcase, id_that_was_made_up_is_stale, 0, COUNT_OF(made_up_ids));
    tcase_add_loop_test(tcase, blocks_sees_each_once_for_any_capacity, 0, COUNT_OF(capacities));
}

static void add_blocks(Suite *suite)
{
    suite_add_list(
        suite, "alloc and free",
        TEST_LIST(block_alloc_is_born_without_a_pin, block_alloc_null_arguments,
                  block_alloc_zero_is_a_live_empty_block, block_alloc_zero_fits_a_full_pool,
                  block_alloc_at_the_most_blocks_is_limit, block_free_while_pinned_ends_it));
    suite_add_list(suite, "ids",
                   TEST_LIST(id_stays_stale_when_its_bytes_are_reused, id_of_another_arena_is_stale,
                             id_0_names_nothing));
    suite_add_list(
        suite, "resize",
        TEST_LIST(block_resize_keeps_the_id_when_it_moves, block_resize_to_zero_is_empty_and_back,
                  block_resize_busy_if_a_pinned_block_would_move, block_resize_failure_keeps_all));
    suite_add_list(suite, "pins and facts",
                   TEST_LIST(block_pin_counts, block_pin_past_the_most_is_busy,
                             block_of_finds_the_block_by_its_first_byte,
                             block_info_tells_what_was_asked, block_info_of_a_pointer,
                             blocks_changed_meanwhile_misses_no_other, blocks_null_arguments));
}

int main(void)
{
    Suite *suite = suite_create("blocks");
    add_loops(suite);
    add_blocks(suite);
    suite_add_list(suite, "dedicated",
                   TEST_LIST(dedicated_has_a_segment_of_its_own, dedicated_when_the_memory_refuses,
                             dedicated_counts_toward_the_held_limit));
    suite_add_list(suite, "adopted",
                   TEST_LIST(adopt_counts_and_forgets, adopt_refuses_what_overlaps,
                             adopt_bad_arguments, adopt_counts_toward_the_live_limit,
                             adopt_is_not_moved_nor_resized_away));
    suite_add_list(
        suite, "tags",
        TEST_LIST(tag_is_registered_once, tag_bad_arguments, tag_past_the_most_is_limit));
    return suite_main(suite);
}
