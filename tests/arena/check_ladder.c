/*
 * The ladder of running out, step by step: each one alone serves a request, is counted and logged;
 * what an error says was tried; handlers that misbehave.
 */
#include "support/fixture.h"
#include "support/log_lines.h"
#include "support/steps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define COUNT 8
#define EACH KIB(64)
#define POOL (COUNT * EACH)

/* ---- What the steps came to -------------------------------------------- */

static void expect_tried(const char *what)
{
    const char *tried = strstr(last_error().message, "tried: ");
    ck_assert_msg(tried != NULL, "no 'tried: ' in: %s", last_error().message);
    expect_text(tried + strlen("tried: "), what);
}

static cuarena_status_t try_dedicated(fixture_t *f, uint64_t bytes, void **pointer)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    return cuarena_alloc_with(f->arena, bytes, &request, pointer);
}

/* ---- Each step --------------------------------------------------------- */

START_TEST(step_none_while_held_bytes_have_room)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    free_ok(f, alloc_ok(f, POOL));
    expect_text(steps_of(f->arena), "");
}
END_TEST

START_TEST(step_growth_serves)
{
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    void *pointer = alloc_ok(f, EACH);
    expect_text(steps_of(f->arena), "growth 1/1");
    free_ok(f, pointer);
    free_ok(f, alloc_ok(f, EACH));
    expect_text(steps_of(f->arena), "growth 1/1");
}
END_TEST

/* Growth came before it, in vain, and after it; it was trim that helped. */
START_TEST(step_trim_serves)
{
    fixture_t *f = opened(KIND_GROW_PLAIN, 2 * EACH);
    void *first = alloc_ok(f, EACH);
    void *second = alloc_ok(f, EACH);
    free_ok(f, first);
    free_ok(f, second);
    expect_text(steps_of(f->arena), "growth 2/2");
    free_ok(f, alloc_ok(f, 2 * EACH));
    expect_text(steps_of(f->arena), "growth 4/2, trim 1/1");
}
END_TEST

START_TEST(step_trim_serves_a_dedicated_block)
{
    void *pointer = NULL;
    fixture_t *f = opened(KIND_GROW_PLAIN, 2 * EACH);
    free_ok(f, alloc_ok(f, EACH));
    step_ok(f, try_dedicated(f, 2 * EACH, &pointer));
    expect_text(steps_of(f->arena), "growth 1/1, trim 1/1");
    free_ok(f, pointer);
}
END_TEST

/* Giving bytes back does not make fewer bytes live. */
START_TEST(step_trim_is_not_for_the_limit_of_live_bytes)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_GROW_PLAIN, 4 * EACH);
    void *kept = alloc_ok(f, EACH);
    free_ok(f, alloc_ok(f, EACH));
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_LIVE, amount_of_bytes(EACH), NULL));
    step(f, try_dedicated(f, EACH, &pointer), CUARENA_LIMIT);
    step(f, cuarena_alloc(f->arena, EACH, &pointer), CUARENA_LIMIT);
    expect_text(steps_of(f->arena), "growth 2/2");
    expect_u64(stats_of(f).reserved_bytes, 2 * EACH);
    expect_ptr(pointer, UNTOUCHED);
    free_ok(f, kept);
}
END_TEST

/* A handler that frees what it is given to free, once. */
typedef struct helper {
    fixture_t *f;
    void *spare[2];
    int32_t answer; /* without a spare */
    uint64_t calls;
} helper_t;

static int32_t help(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    helper_t *helper = user;
    bool freed = helper->spare[0] != NULL;
    (void)arena, (void)asked_bytes, (void)attempt;
    helper->calls++;
    for (int i = 0; i < 2; i++) {
        free_ok(helper->f, helper->spare[i]);
        helper->spare[i] = NULL;
    }
    return freed ? 1 : helper->answer;
}

START_TEST(step_handler_serves)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    helper_t helper = {.f = f, .spare = {alloc_ok(f, POOL)}};
    use_handler(f, help, &helper);
    free_ok(f, alloc_ok(f, EACH));
    expect_text(steps_of(f->arena), "handler 1/1");
}
END_TEST

/* What it frees may lie in segments that must go first. Before, what lives leaves no room below the
 * limit, and there is nothing to trim for. */
START_TEST(step_trim_comes_again_after_the_handler)
{
    fixture_t *f = opened(KIND_GROW_PLAIN, 2 * EACH);
    helper_t helper = {.f = f, .spare = {alloc_ok(f, EACH), alloc_ok(f, EACH)}};
    use_handler(f, help, &helper);
    free_ok(f, alloc_ok(f, 2 * EACH));
    expect_u64(helper.calls, 1);
    expect_text(steps_of(f->arena), "growth 5/2, trim 1/0, handler 1/1");
}
END_TEST

START_TEST(step_compaction_serves)
{
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.compact_on_oom = 1;
    fixture_create(f);
    alloc_row(f, row, COUNT, EACH);
    for (size_t i = 0; i < COUNT; i += 2) {
        free_block(f, row[i]);
        row[i] = 0;
    }
    expect_ok(cuarena_set_relocation_callback(f->arena, hear_relocations, &heard));
    steps_listen();
    free_ok(f, alloc_ok(f, 2 * EACH));
    expect_text(steps_heard(), "compaction: try again, compaction: allocated");
    expect_text(steps_of(f->arena), "compaction 1/1");
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* The handler that has nothing is not asked again after compaction. */
START_TEST(step_compaction_that_falls_short_asks_nobody_again)
{
    heard_t heard = {.count = 0};
    cuarena_block_t row[COUNT];
    void *pointer = UNTOUCHED;
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.compact_on_oom = 1;
    fixture_create(f);
    alloc_row(f, row, COUNT, EACH);
    free_block(f, row[1]);
    free_block(f, row[5]);
    row[1] = row[5] = 0;
    helper_t helper = {.f = f};
    use_handler(f, help, &helper);
    expect_ok(cuarena_set_relocation_callback(f->arena, hear_relocations, &heard));
    step(f, cuarena_alloc(f->arena, 3 * EACH, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(helper.calls, 1);
    expect_tried("reserved bytes, handler");
    free_row(f, row, COUNT, EACH);
}
END_TEST

START_TEST(step_stats_bad_arguments)
{
    size_t count = 0;
    cuarena_step_stats_t one;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_status(cuarena_step_stats(NULL, NULL, 0, &count), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_step_stats(f->arena, NULL, 0, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_step_stats(f->arena, NULL, 1, &count), CUARENA_BAD_ARGUMENT);
    expect_u64(count, 0);
    expect_ok(cuarena_step_stats(f->arena, NULL, 0, &count));
    expect_u64(count, CUARENA_STEP_COUNT);
    expect_ok(cuarena_step_stats(f->arena, &one, 1, &count));
    expect_text(one.name, "joining");
}
END_TEST

/* ---- The log ----------------------------------------------------------- */

START_TEST(each_step_is_logged)
{
    fixture_t *f = opened(KIND_GROW_PLAIN, 2 * EACH);
    helper_t helper = {.f = f, .spare = {alloc_ok(f, EACH), alloc_ok(f, EACH)}};
    use_handler(f, help, &helper);
    log_listen(CUARENA_LOG_DEBUG);
    void *pointer = alloc_ok(f, 2 * EACH);
    log_listen_no_more();
    expect_text(log_text(CUARENA_LOG_DEBUG, "no room for"),
                "arena 'grow-custom-plain': no room for 131072 bytes: growth: "
                "nothing\n"
                "arena 'grow-custom-plain': no room for 131072 bytes: handler: try "
                "again\n"
                "arena 'grow-custom-plain': no room for 131072 bytes: growth: "
                "nothing\n"
                "arena 'grow-custom-plain': no room for 131072 bytes: trim: try "
                "again\n"
                "arena 'grow-custom-plain': no room for 131072 bytes: growth: try "
                "again\n"
                "arena 'grow-custom-plain': no room for 131072 bytes: handler: "
                "allocated\n");
    free_ok(f, pointer);
}
END_TEST

/* ---- What the error says ----------------------------------------------- */

START_TEST(error_of_a_pool_names_held_bytes)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step(f, cuarena_alloc(f->arena, POOL + 1, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_tried("reserved bytes");
    expect_text(steps_of(f->arena), "");
}
END_TEST

START_TEST(error_names_growth_trim_and_the_handler)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    void *kept = alloc_ok(f, EACH);
    helper_t helper = {.f = f};
    use_handler(f, help, &helper);
    f->memory.budget_bytes = POOL / 2;
    step(f, cuarena_alloc(f->arena, POOL - EACH, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_tried("reserved bytes, growth, trim, handler");
    expect_text(steps_of(f->arena), "growth 2/1, trim 1/0, handler 1/0");
    free_ok(f, kept);
}
END_TEST

/* More than the limit and all that is held: nothing that frees bytes helps. */
START_TEST(error_above_the_limit_comes_at_once)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    helper_t helper = {.f = f, .spare = {alloc_ok(f, EACH)}};
    use_handler(f, help, &helper);
    step(f, cuarena_alloc(f->arena, POOL + 1, &pointer), CUARENA_LIMIT);
    expect_tried("reserved bytes");
    step(f, try_dedicated(f, POOL + 1, &pointer), CUARENA_LIMIT);
    expect_text(steps_of(f->arena), "growth 1/1");
    free_ok(f, helper.spare[0]);
}
END_TEST

/* Nor does anything for more than a region has; its size and one more are the edges. A limit that
 * is less still is not what stands in the way. */
START_TEST(error_above_a_region_comes_at_once)
{
    cuarena_request_t request;
    void *pointer = UNTOUCHED;
    fixture_t *f = prepared(_i == 0 ? KIND_CUSTOM_POOL : KIND_CUSTOM_GROW, POOL);
    f->config.stable = amount_of_bytes(2 * EACH);
    fixture_create(f);
    cuarena_request_init(&request);
    request.region = CUARENA_REGION_STABLE;
    helper_t helper = {.f = f, .answer = 1};
    use_handler(f, help, &helper);
    step(f, cuarena_alloc_with(f->arena, 2 * EACH + 1, &request, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_tried("reserved bytes");
    if (_i == 0) {
        step(f, cuarena_alloc(f->arena, POOL - 2 * EACH + 1, &pointer), CUARENA_OUT_OF_MEMORY);
        expect_tried("reserved bytes");
        set_limit(f, CUARENA_LIMIT_RESERVED, EACH);
        step(f, cuarena_alloc(f->arena, POOL - 2 * EACH + 1, &pointer), CUARENA_OUT_OF_MEMORY);
        free_ok(f, alloc_ok(f, POOL - 2 * EACH));
        set_limit(f, CUARENA_LIMIT_RESERVED, POOL);
    }
    expect_text(steps_of(f->arena), "");
    expect_u64(helper.calls, 0);
    helper.spare[0] = alloc_in(f, EACH, CUARENA_REGION_STABLE);
    step_ok(f, cuarena_alloc_with(f->arena, 2 * EACH, &request, &pointer));
    expect_u64(helper.calls, 1);
    free_ok(f, pointer);
}
END_TEST

/* What was trimmed does not come back above a limit that is less. */
START_TEST(error_of_a_trimmed_pool_above_the_limit_comes_at_once)
{
    uint64_t given = 0;
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    helper_t helper = {.f = f, .answer = 1};
    use_handler(f, help, &helper);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    set_limit(f, CUARENA_LIMIT_RESERVED, EACH);
    step(f, cuarena_alloc(f->arena, EACH + 1, &pointer), CUARENA_LIMIT);
    expect_u64(helper.calls, 0);
    free_ok(f, alloc_ok(f, EACH));
}
END_TEST

/* A limit below what is held says nothing of bytes that the handler frees. */
START_TEST(handler_is_asked_above_a_limit_below_what_is_held)
{
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    helper_t helper = {.f = f, .spare = {alloc_ok(f, 2 * EACH)}};
    use_handler(f, help, &helper);
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_RESERVED, amount_of_bytes(EACH), NULL));
    void *pointer = alloc_ok(f, 2 * EACH);
    expect_text(steps_of(f->arena), "growth 2/1, handler 1/1");
    free_ok(f, pointer);
}
END_TEST

START_TEST(error_of_a_dedicated_block_says_what_was_tried)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_GROW_PLAIN, 2 * EACH);
    helper_t helper = {.f = f};
    void *kept = alloc_ok(f, EACH);
    use_handler(f, help, &helper);
    step(f, try_dedicated(f, 2 * EACH, &pointer), CUARENA_LIMIT);
    ck_assert_ptr_nonnull(strstr(last_error().message, "limit of 131072"));
    expect_u64(last_error().asked_bytes, 2 * EACH);
    expect_tried("handler");
    free_ok(f, kept);
}
END_TEST

START_TEST(error_of_the_driver_outlives_the_handler)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    use_handler(f, blunder, NULL);
    f->memory.fail_op = OP_GET;
    f->memory.fail_in = 1;
    f->memory.fail_again = 1;
    f->memory.fail_with = CUARENA_DRIVER;
    step(f, cuarena_alloc(f->arena, EACH, &pointer), CUARENA_DRIVER);
    ck_assert_ptr_null(strstr(last_error().message, "no live block"));
    ck_assert_int_eq(last_error().status, CUARENA_DRIVER);
    expect_u64(last_error().asked_bytes, EACH);
    expect_tried("growth, handler");
}
END_TEST

START_TEST(error_of_a_lost_device_asks_nobody)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    helper_t helper = {.f = f};
    use_handler(f, help, &helper);
    f->memory.fail_op = OP_GET;
    f->memory.fail_in = 1;
    f->memory.fail_again = 1;
    f->memory.fail_with = CUARENA_LOST;
    expect_status(cuarena_alloc(f->arena, EACH, &pointer), CUARENA_LOST);
    expect_u64(helper.calls, 0);
    expect_tried("growth");
    fixture_close_forced(f);
}
END_TEST

/* ---- Handlers that misbehave ------------------------------------------- */

START_TEST(handler_that_lies_forever_is_named)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *kept = alloc_ok(f, EACH);
    helper_t helper = {.f = f, .answer = 1};
    use_handler(f, help, &helper);
    step(f, cuarena_alloc(f->arena, POOL, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(helper.calls, 16);
    expect_tried("reserved bytes, handler (16 handler calls are the most)");
    expect_text(steps_of(f->arena), "handler 16/0");
    free_ok(f, kept);
    free_ok(f, alloc_ok(f, POOL));
}
END_TEST

/* It frees, and takes what it freed itself. */
typedef struct thief {
    fixture_t *f;
    void *loot;
    uint64_t calls;
} thief_t;

static int32_t free_and_take_back(void *user, cuarena_t *arena, uint64_t asked_bytes,
                                  int32_t attempt)
{
    thief_t *thief = user;
    (void)arena, (void)asked_bytes, (void)attempt;
    thief->calls++;
    free_ok(thief->f, thief->loot);
    thief->loot = alloc_ok(thief->f, POOL);
    return 1;
}

START_TEST(handler_that_takes_it_back_is_given_up_on)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    thief_t thief = {.f = f, .loot = alloc_ok(f, POOL)};
    use_handler(f, free_and_take_back, &thief);
    step(f, cuarena_alloc(f->arena, EACH, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(thief.calls, 16);
    expect_ptr(pointer, UNTOUCHED);
    free_ok(f, thief.loot);
}
END_TEST

static int32_t destroy_it(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    uint64_t *calls = user;
    cuarena_t *same = arena;
    (void)asked_bytes, (void)attempt;
    ++*calls;
    expect_status(cuarena_destroy(&same), CUARENA_REENTERED);
    expect_status(cuarena_destroy_forced(&same), CUARENA_REENTERED);
    expect_ptr(same, arena);
    return 1;
}

START_TEST(handler_that_destroys_is_reentered)
{
    uint64_t calls = 0;
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *kept = alloc_ok(f, EACH);
    use_handler(f, destroy_it, &calls);
    step(f, cuarena_alloc(f->arena, POOL, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(calls, 16);
    free_ok(f, kept);
}
END_TEST

static int32_t reset_it(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    (void)user, (void)asked_bytes, (void)attempt;
    expect_ok(cuarena_reset(arena));
    return 1;
}

START_TEST(handler_that_resets_serves_the_request)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_ok(f, POOL);
    use_handler(f, reset_it, NULL);
    void *pointer = alloc_ok(f, POOL);
    expect_u64(live_blocks(f), 1);
    free_ok(f, pointer);
}
END_TEST

/* The block that is to grow has ended meanwhile. */
START_TEST(handler_that_resets_ends_a_block_being_resized)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_block_t block = alloc_block(f, EACH);
    alloc_ok(f, POOL - EACH);
    use_handler(f, reset_it, NULL);
    step(f, cuarena_block_resize(f->arena, block, 2 * EACH), CUARENA_STALE);
    expect_u64(live_blocks(f), 0);
}
END_TEST

/* Its bytes are not counted off a second time. */
START_TEST(handler_that_resets_beside_a_limit_of_live_bytes)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_LIVE, amount_of_bytes(2 * POOL), NULL));
    cuarena_block_t block = alloc_block(f, EACH);
    alloc_ok(f, POOL - EACH);
    use_handler(f, reset_it, NULL);
    step(f, cuarena_block_resize(f->arena, block, 2 * EACH), CUARENA_STALE);
    expect_u64(live_blocks(f), 0);
}
END_TEST

static int32_t swallow(void *user, const cuarena_relocation_t *list, size_t count)
{
    (void)user, (void)list, (void)count;
    return 0;
}

static int32_t compact_and_run_out(void *user, cuarena_t *arena, uint64_t asked_bytes,
                                   int32_t attempt)
{
    helper_t *helper = user;
    void *pointer = UNTOUCHED;
    (void)attempt;
    helper->calls++;
    step_ok(helper->f, cuarena_compact(arena, NULL, swallow, NULL, NULL));
    step(helper->f, cuarena_alloc(arena, asked_bytes, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_ptr(pointer, UNTOUCHED);
    return helper->calls < 3;
}

START_TEST(handler_that_compacts_and_runs_out_again)
{
    void *pointer = UNTOUCHED;
    cuarena_block_t row[COUNT];
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    alloc_row(f, row, COUNT, EACH);
    free_block(f, row[0]);
    row[0] = 0;
    helper_t helper = {.f = f};
    use_handler(f, compact_and_run_out, &helper);
    step(f, cuarena_alloc(f->arena, 2 * EACH, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(helper.calls, 3);
    expect_u64(stats_of(f).failed, 4);
    free_row(f, row, COUNT, EACH);
}
END_TEST

/* Two arenas whose handlers ask the other one. */
static int32_t ask_the_other(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    helper_t *helper = user; /* of the other */
    void *pointer = UNTOUCHED;
    (void)arena, (void)attempt;
    helper->calls++;
    ck_assert_uint_lt(helper->calls, 1000);
    expect_status(cuarena_alloc(helper->f->arena, asked_bytes, &pointer), CUARENA_OUT_OF_MEMORY);
    return 1;
}

START_TEST(handlers_that_ask_each_other_end)
{
    fixture_t f, g;
    void *pointer = UNTOUCHED;
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    fixture_open(&g, KIND_CUSTOM_POOL, POOL);
    void *of_both[] = {alloc_ok(&f, EACH), alloc_ok(&g, EACH)};
    helper_t of_f = {.f = &f}, of_g = {.f = &g};
    use_handler(&f, ask_the_other, &of_g);
    use_handler(&g, ask_the_other, &of_f);
    step(&f, cuarena_alloc(f.arena, POOL, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_u64(of_g.calls, 16);
    expect_u64(of_f.calls, 16 * 16);
    free_ok(&f, of_both[0]);
    free_ok(&g, of_both[1]);
    fixture_close(&f);
    fixture_close(&g);
}
END_TEST

static int32_t unset_itself(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    (void)user, (void)asked_bytes, (void)attempt;
    expect_ok(cuarena_set_oom_handler(arena, NULL, NULL));
    return 1;
}

START_TEST(handler_that_takes_itself_away)
{
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *kept = alloc_ok(f, EACH);
    use_handler(f, unset_itself, NULL);
    step(f, cuarena_alloc(f->arena, POOL, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_text(steps_of(f->arena), "handler 1/0");
    free_ok(f, kept);
}
END_TEST

/* ---- Handlers that take their time ------------------------------------- */

/* A handler that waits until others have worked with the arena. */
typedef struct slow {
    fixture_t *f;
    atomic_int inside;
    atomic_int finished; /* what it waits for: at least `enough` */
    int enough;
} slow_t;

static void nap(void)
{
    struct timespec millisecond = {0, 1000000};
    nanosleep(&millisecond, NULL);
}

static int32_t wait_for_others(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    slow_t *slow = user;
    (void)arena, (void)asked_bytes, (void)attempt;
    atomic_fetch_add(&slow->inside, 1);
    while (atomic_load(&slow->finished) < slow->enough)
        nap();
    return 0;
}

static void *work_meanwhile(void *user)
{
    slow_t *slow = user;
    while (atomic_load(&slow->inside) == 0)
        nap();
    for (int i = 0; i < 100; i++) {
        void *pointer = NULL;
        expect_ok(cuarena_alloc(slow->f->arena, EACH, &pointer));
        expect_ok(cuarena_free(slow->f->arena, pointer));
    }
    atomic_fetch_add(&slow->finished, 1);
    return NULL;
}

START_TEST(handler_that_takes_its_time_holds_nobody_up)
{
    pthread_t thread;
    void *pointer = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *kept = alloc_ok(f, EACH);
    slow_t slow = {.f = f, .enough = 1};
    use_handler(f, wait_for_others, &slow);
    ck_assert_int_eq(pthread_create(&thread, NULL, work_meanwhile, &slow), 0);
    step(f, cuarena_alloc(f->arena, POOL, &pointer), CUARENA_OUT_OF_MEMORY);
    pthread_join(thread, NULL);
    free_ok(f, kept);
}
END_TEST

/* Each waits until the other is inside too. */
static int32_t wait_for_the_other(void *user, cuarena_t *arena, uint64_t asked_bytes,
                                  int32_t attempt)
{
    slow_t *slow = user;
    (void)arena, (void)asked_bytes, (void)attempt;
    atomic_fetch_add(&slow->inside, 1);
    while (atomic_load(&slow->inside) < 2)
        nap();
    return 0;
}

static void *run_out(void *user)
{
    slow_t *slow = user;
    void *pointer = UNTOUCHED;
    expect_status(cuarena_alloc(slow->f->arena, POOL, &pointer), CUARENA_OUT_OF_MEMORY);
    return NULL;
}

START_TEST(handler_is_entered_by_several_threads_at_once)
{
    pthread_t thread;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *kept = alloc_ok(f, EACH);
    slow_t slow = {.f = f};
    use_handler(f, wait_for_the_other, &slow);
    ck_assert_int_eq(pthread_create(&thread, NULL, run_out, &slow), 0);
    run_out(&slow);
    pthread_join(thread, NULL);
    expect_text(steps_of(f->arena), "handler 2/0");
    free_ok(f, kept);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ladder");
    suite_add_list(suite, "steps",
                   TEST_LIST(step_none_while_held_bytes_have_room, step_growth_serves,
                             step_trim_serves, step_trim_serves_a_dedicated_block,
                             step_trim_is_not_for_the_limit_of_live_bytes, step_handler_serves,
                             step_trim_comes_again_after_the_handler, step_compaction_serves,
                             step_compaction_that_falls_short_asks_nobody_again,
                             step_stats_bad_arguments, each_step_is_logged));
    suite_add_list(
        suite, "errors",
        TEST_LIST(error_of_a_pool_names_held_bytes, error_names_growth_trim_and_the_handler,
                  error_above_the_limit_comes_at_once,
                  error_of_a_trimmed_pool_above_the_limit_comes_at_once,
                  handler_is_asked_above_a_limit_below_what_is_held,
                  error_of_a_dedicated_block_says_what_was_tried,
                  error_of_the_driver_outlives_the_handler, error_of_a_lost_device_asks_nobody));
    suite_add_rows(suite, "regions", error_above_a_region_comes_at_once, 2);
    suite_add_list(
        suite, "handlers that misbehave",
        TEST_LIST(handler_that_lies_forever_is_named, handler_that_takes_it_back_is_given_up_on,
                  handler_that_destroys_is_reentered, handler_that_resets_serves_the_request,
                  handler_that_resets_ends_a_block_being_resized,
                  handler_that_resets_beside_a_limit_of_live_bytes,
                  handler_that_compacts_and_runs_out_again, handlers_that_ask_each_other_end,
                  handler_that_takes_itself_away, handler_that_takes_its_time_holds_nobody_up,
                  handler_is_entered_by_several_threads_at_once));
    return suite_main(suite);
}
