/*
 * resize_pool: in place and into a new segment, with the calls of the memory that each makes, and
 * what it leaves when it is refused.
 */
#include "support/fixture.h"
#include "support/waits.h"

#include <pthread.h>

#define COUNT 8
#define EACH KIB(64)
#define POOL (COUNT * EACH)
#define GRANULARITY KIB(4)

/* ---- Resize of the pool ------------------------------------------------ */

static void *base_of(fixture_t *f)
{
    void *base = NULL;
    uint64_t bytes = 0;
    expect_ok(cuarena_base(f->arena, &base, &bytes));
    expect_u64(bytes, capacity_bytes(f));
    return base;
}

START_TEST(resize_pool_to_the_same_size)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    test_memory_forget_calls(&f->memory);
    step_ok(f, cuarena_resize_pool(f->arena, POOL));
    expect_text(test_memory_sequence(&f->memory), "");
}
END_TEST

START_TEST(resize_pool_grows_in_place)
{
    void *row[COUNT];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_pointer_row(f, row, COUNT, EACH);
    void *base = base_of(f);
    test_memory_forget_calls(&f->memory);
    step_ok(f, cuarena_resize_pool(f->arena, 2 * POOL));
    expect_text(test_memory_sequence(&f->memory), "grow");
    expect_ptr(base_of(f), base);
    expect_reserved(f, 2 * POOL);
    free_ok(f, alloc_ok(f, POOL));
    free_pointer_row(f, row, COUNT, EACH);
    free_ok(f, alloc_ok(f, 2 * POOL));
}
END_TEST

START_TEST(resize_pool_shrinks_in_place)
{
    void *row[COUNT];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_pointer_row(f, row, COUNT, EACH);
    free_ok(f, row[7]);
    free_ok(f, row[6]);
    row[6] = row[7] = NULL;
    test_memory_forget_calls(&f->memory);
    step_ok(f, cuarena_resize_pool(f->arena, POOL - 2 * EACH));
    expect_text(test_memory_sequence(&f->memory), "shrink");
    expect_reserved(f, POOL - 2 * EACH);
    free_pointer_row(f, row, COUNT, EACH);
}
END_TEST

/* What was punched as a whole granularity has no backing above the pool's end. */
START_TEST(resize_pool_shrinks_past_a_hole_at_its_odd_end)
{
    cuarena_block_t row[COUNT];
    const uint64_t hole = (COUNT - 2) * EACH;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_row(f, row, COUNT, EACH);
    free_block(f, row[COUNT - 2]);
    row[COUNT - 2] = 0;
    expect_u64(trim_to(f, 0), EACH);
    free_block(f, row[COUNT - 1]);
    row[COUNT - 1] = 0;
    step_ok(f, cuarena_resize_pool(f->arena, hole + EACH - GRANULARITY / 2));
    expect_reserved(f, hole);
    step_ok(f, cuarena_resize_pool(f->arena, hole + EACH - GRANULARITY));
    expect_reserved(f, hole);
    step_ok(f, cuarena_resize_pool(f->arena, hole));
    expect_reserved(f, hole);
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(resize_pool_moves_what_stands_in_the_part_that_goes)
{
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < 4; i++) {
        free_block(f, row[i]);
        row[i] = 0;
    }
    expect_ok(cuarena_set_relocation_callback(f->arena, hear_relocations, &heard));
    step_ok(f, cuarena_resize_pool(f->arena, POOL / 2));
    expect_u64(heard.count, 4);
    expect_reserved(f, POOL / 2);
    for (size_t i = 4; i < COUNT; i++)
        expect_ptr(heard_of(&heard, row[i])->to, address_of(f, row[i]));
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(resize_pool_is_busy_with_pinned_blocks_in_the_way)
{
    void *row[COUNT];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_pointer_row(f, row, COUNT, EACH);
    free_ok(f, row[0]);
    row[0] = NULL;
    step(f, cuarena_resize_pool(f->arena, POOL - EACH), CUARENA_BUSY);
    expect_reserved(f, POOL);
    free_pointer_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(resize_pool_below_what_lives_changes_nothing)
{
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_row(f, row, COUNT, EACH);
    expect_ok(cuarena_set_relocation_callback(f->arena, hear_relocations, &heard));
    cuarena_status_t status = cuarena_resize_pool(f->arena, POOL / 2);
    ck_assert_msg(status != CUARENA_OK, "it said that it shrank");
    expect_sound(f);
    expect_reserved(f, POOL);
    expect_u64(heard.count, 0);
    free_row(f, row, COUNT, EACH);
}
END_TEST

static fixture_t *open_without_growth(fixture_t *f)
{
    fixture_prepare(f, KIND_CUSTOM_POOL, POOL);
    f->memory.ops.grow = NULL;
    f->memory.ops.shrink = NULL;
    fixture_create(f);
    return f;
}

START_TEST(resize_pool_into_a_new_segment_moves_all)
{
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    fixture_t *f = open_without_growth(new_fixture(fixture_close));
    alloc_row(f, row, COUNT, EACH);
    expect_ok(cuarena_set_relocation_callback(f->arena, hear_relocations, &heard));
    step_ok(f, cuarena_resize_pool(f->arena, 2 * POOL));
    expect_u64(heard.count, COUNT);
    expect_u64(stats_of(f).moves, COUNT);
    expect_u64(stats_of(f).bytes_moved, POOL);
    expect_u64(stats_of(f).compactions, 1);
    expect_reserved(f, 2 * POOL);
    expect_u64(test_memory_segments(&f->memory), 1);
    free_row(f, row, COUNT, EACH);
    free_ok(f, alloc_ok(f, 2 * POOL));
}
END_TEST

START_TEST(resize_pool_into_a_new_segment_beside_a_dedicated_block)
{
    void *apart = NULL;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    fixture_t *f = open_without_growth(new_fixture(fixture_close));
    step_ok(f, cuarena_alloc_with(f->arena, 3 * GRANULARITY, &request, &apart));
    step_ok(f, cuarena_resize_pool(f->arena, 2 * POOL));
    expect_u64(reserved_bytes(f), 2 * POOL + 3 * GRANULARITY);
    expect_u64(f->memory.reserved_bytes, 2 * POOL + 3 * GRANULARITY);
    free_ok(f, apart);
    expect_reserved(f, 2 * POOL);
}
END_TEST

START_TEST(resize_pool_into_a_smaller_segment)
{
    void *pointer = NULL;
    cuarena_block_t row[COUNT];
    fixture_t *f = open_without_growth(new_fixture(fixture_close));
    alloc_row(f, row, COUNT, EACH);
    free_block(f, row[2]);
    free_block(f, row[5]);
    row[2] = row[5] = 0;
    step_ok(f, cuarena_resize_pool(f->arena, POOL - EACH));
    expect_reserved(f, POOL - EACH);
    row[2] = alloc_block(f, EACH);
    paint(f, address_of(f, row[2]), EACH, 2);
    step(f, cuarena_alloc(f->arena, 1, &pointer), CUARENA_OUT_OF_MEMORY);
    free_row(f, row, COUNT, EACH);
    free_ok(f, alloc_ok(f, POOL - EACH));
}
END_TEST

START_TEST(resize_pool_into_a_new_segment_is_busy_with_pins)
{
    fixture_t *f = open_without_growth(new_fixture(fixture_close));
    void *pointer = alloc_ok(f, EACH);
    paint(f, pointer, EACH, 1);
    step(f, cuarena_resize_pool(f->arena, 2 * POOL), CUARENA_BUSY);
    expect_reserved(f, POOL);
    expect_painted(f, pointer, EACH, 1);
    free_ok(f, pointer);
}
END_TEST

static const struct {
    int32_t in_place;
    memory_op_t op;
    uint64_t bytes;
} failing_resizes[] = {{1, OP_GROW, 2 * POOL},
                       {1, OP_ZERO, 2 * POOL},
                       {0, OP_GET, 2 * POOL},
                       {0, OP_RELOCATE, 2 * POOL},
                       {1, OP_RELOCATE, POOL / 2}};

START_TEST(resize_pool_refused_by_the_memory_changes_nothing)
{
    fixture_t f;
    cuarena_block_t row[COUNT];
    heard_t heard = {.count = 0};
    if (failing_resizes[_i].in_place) {
        fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
        if (failing_resizes[_i].op == OP_ZERO)
            f.config.zero = CUARENA_ZERO_CREATE;
        fixture_create(&f);
    } else {
        open_without_growth(&f);
    }
    alloc_row(&f, row, COUNT, EACH);
    for (size_t i = 0; i < 4; i++) {
        free_block(&f, row[i]);
        row[i] = 0;
    }
    expect_ok(cuarena_set_relocation_callback(f.arena, hear_relocations, &heard));
    f.memory.fail_in = 1;
    f.memory.fail_op = (int32_t)failing_resizes[_i].op;
    step(&f, cuarena_resize_pool(f.arena, failing_resizes[_i].bytes), CUARENA_DRIVER);
    expect_reserved(&f, POOL);
    expect_u64(heard.count, 0);
    expect_recount(&f);
    step_ok(&f, cuarena_resize_pool(f.arena, failing_resizes[_i].bytes));
    free_row(&f, row, COUNT, EACH);
    fixture_close(&f);
}
END_TEST

/* The granularity that the pool's end lies in is a hole then. */
START_TEST(resize_pool_to_an_odd_size_over_a_hole)
{
    cuarena_block_t row[COUNT];
    uint64_t odd = 5 * GRANULARITY + 256;
    fixture_t *f = opened(KIND_CUSTOM_POOL, COUNT * GRANULARITY);
    alloc_row(f, row, COUNT, GRANULARITY);
    free_block(f, row[4]);
    free_block(f, row[5]);
    row[4] = row[5] = 0;
    expect_u64(trim_to(f, 0), 2 * GRANULARITY);
    free_row(f, row, COUNT, GRANULARITY);
    step_ok(f, cuarena_resize_pool(f->arena, odd));
    void *pointer = alloc_ok(f, odd);
    paint(f, pointer, odd, 1);
    expect_u64(reserved_bytes(f), 6 * GRANULARITY);
    step_ok(f, cuarena_resize_pool(f->arena, 6 * GRANULARITY));
    expect_painted(f, pointer, odd, 1);
    free_ok(f, pointer);
    pointer = alloc_ok(f, 6 * GRANULARITY);
    paint(f, pointer, 6 * GRANULARITY, 2);
    free_ok(f, pointer);
}
END_TEST

START_TEST(resize_pool_keeps_the_stable_region)
{
    if (!(arena_kinds[_i].traits & KIND_RESIZES))
        return;
    fixture_t *f = prepared(&arena_kinds[_i], POOL);
    f->config.stable = amount_of_bytes(2 * EACH);
    fixture_create(f);
    void *stable = alloc_in(f, EACH, CUARENA_REGION_STABLE);
    paint(f, stable, EACH, 4);
    step_ok(f, cuarena_resize_pool(f->arena, 2 * POOL));
    expect_u64(region_stats_of(f, CUARENA_REGION_STABLE).capacity_bytes, 2 * EACH);
    step_ok(f, cuarena_resize_pool(f->arena, 3 * EACH));
    expect_u64(region_stats_of(f, CUARENA_REGION_STABLE).capacity_bytes, 2 * EACH);
    expect_u64(region_stats_of(f, CUARENA_REGION_DYNAMIC).capacity_bytes, EACH);
    step(f, cuarena_resize_pool(f->arena, EACH), CUARENA_BAD_ARGUMENT);
    expect_u64(region_stats_of(f, CUARENA_REGION_STABLE).capacity_bytes, 2 * EACH);
    expect_u64(stats_of(f).capacity_bytes, 3 * EACH);
    expect_painted(f, stable, EACH, 4);
    free_ok(f, stable);
}
END_TEST

START_TEST(resize_pool_above_the_limit)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.limit = amount_of_bytes(POOL);
    fixture_create(f);
    step(f, cuarena_resize_pool(f->arena, 2 * POOL), CUARENA_LIMIT);
    expect_reserved(f, POOL);
}
END_TEST

/* ---- Requests meanwhile ------------------------------------------------ */

/* A request for more than the pool, made while the memory lengthens it. */
typedef struct meanwhile {
    fixture_t *f;
    waiter_t waiter;
    pthread_t thread;
    uint64_t calls; /* of the handler */
    void *pointer;
} meanwhile_t;

static int32_t count_calls(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    meanwhile_t *m = user;
    (void)arena, (void)asked_bytes, (void)attempt;
    m->calls++;
    return 1;
}

static void *alloc_twice_the_pool(void *user)
{
    meanwhile_t *m = user;
    waiter_begin(&m->waiter);
    (void)cuarena_alloc(m->f->arena, 2 * POOL, &m->pointer);
    waiter_end(&m->waiter);
    return NULL;
}

static void ask_meanwhile(test_memory_t *memory, memory_op_t op, const cuarena_relocation_t *list,
                          size_t count)
{
    meanwhile_t *m = memory->hook_user;
    (void)list, (void)count;
    if (op != OP_GROW)
        return;
    ck_assert_int_eq(pthread_create(&m->thread, NULL, alloc_twice_the_pool, m), 0);
    expect_asleep(&m->waiter, "a request for more than the pool, while that is resized");
}

/* It waits, and has room if the memory gave the bytes; without them nobody frees any for it. */
START_TEST(resize_pool_is_waited_for_by_a_request_above_its_size)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    meanwhile_t m = {.f = f};
    use_handler(f, count_calls, &m);
    f->memory.hook_user = &m;
    f->memory.hook = ask_meanwhile;
    if (_i == 1)
        f->memory.budget_bytes = f->memory.reserved_bytes;
    cuarena_status_t status = cuarena_resize_pool(f->arena, 2 * POOL);
    f->memory.hook = NULL;
    pthread_join(m.thread, NULL);
    expect_sound(f);
    expect_u64(m.calls, 0);
    ck_assert_int_eq(m.pointer != NULL, _i == 0);
    ck_assert_int_eq(status == CUARENA_OK, _i == 0);
    if (m.pointer != NULL)
        step_ok(f, cuarena_free(f->arena, m.pointer));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resize_pool");
    TCase *tcase = new_case(suite, "tables");
    tcase_add_loop_test(tcase, resize_pool_refused_by_the_memory_changes_nothing, 0,
                        COUNT_OF(failing_resizes));
    add_test_per_memory(tcase, resize_pool_keeps_the_stable_region);
    suite_add_list(
        suite, "resize_pool",
        TEST_LIST(resize_pool_to_the_same_size, resize_pool_grows_in_place,
                  resize_pool_shrinks_in_place, resize_pool_shrinks_past_a_hole_at_its_odd_end,
                  resize_pool_moves_what_stands_in_the_part_that_goes,
                  resize_pool_is_busy_with_pinned_blocks_in_the_way,
                  resize_pool_below_what_lives_changes_nothing,
                  resize_pool_into_a_new_segment_moves_all,
                  resize_pool_into_a_new_segment_beside_a_dedicated_block,
                  resize_pool_into_a_smaller_segment, resize_pool_to_an_odd_size_over_a_hole,
                  resize_pool_into_a_new_segment_is_busy_with_pins, resize_pool_above_the_limit));
    suite_add_rows(suite, "meanwhile", resize_pool_is_waited_for_by_a_request_above_its_size, 2);
    return suite_main(suite);
}
