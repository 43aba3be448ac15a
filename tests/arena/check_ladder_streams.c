/*
 * The steps of running out that are about streams, each alone, on streams that are simulated:
 * joining, stealing, reclaiming, waiting, and the error behind all of them.
 */
#include "support/checks.h"
#include "support/fixture_streams.h"
#include "support/steps.h"

#include <stdio.h>
#include <string.h>

#define POOL KIB(64)

/* A's two free lists have a half each; its next request needs both. */
START_TEST(joining_serves)
{
    cuarena_block_t row[2];
    fixture_t *f = prepared(SIMULATED, POOL);
    f->config.steal = CUARENA_STEAL_IDLE; /* stealing joins them too */
    fixture_create(f);
    alloc_row_on(f, row, 2, A);
    sim_write(&f->sim, A, address_of(f, row[0]), POOL / 2, 7);
    expect_ok(cuarena_block_free_on(f->arena, row[0], A));
    expect_ok(cuarena_reclaim(f->arena, 0, NULL));
    expect_ok(cuarena_block_free_on(f->arena, row[1], A));
    steps_listen();
    void *p = alloc_on(f, POOL, A);
    expect_text(steps_heard(), "joining: try again, joining: allocated");
    expect_text(steps_of(f->arena), "joining 1/1");
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    free_on(f, p, A);
}
END_TEST

/* B waits for A's work on the device. */
START_TEST(stealing_serves)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = use_anew(f, POOL, A);
    steps_listen();
    p = alloc_on(f, POOL, B);
    expect_text(steps_heard(), "stealing: try again, stealing: allocated");
    expect_text(steps_of(f->arena), "stealing 1/1");
    sim_write(&f->sim, B, p, POOL, 8);
    free_on(f, p, B);
}
END_TEST

/* A's work is done; whoever asks without a stream finds that out. */
START_TEST(reclaiming_serves)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = use_anew(f, POOL, A);
    expect_ok(cuarena_reclaim(f->arena, 0, NULL));
    sim_run_all(&f->sim);
    steps_listen();
    p = alloc_ok(f, POOL);
    expect_text(steps_heard(), "reclaiming: try again, reclaiming: allocated");
    expect_text(steps_of(f->arena), "reclaiming 1/1");
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    free_ok(f, p);
}
END_TEST

/* A's work is under way. */
START_TEST(waiting_serves)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = use_anew(f, POOL, A);
    steps_listen();
    p = alloc_ok(f, POOL);
    expect_text(steps_heard(), "reclaiming: nothing, waiting: try again, waiting: allocated");
    expect_text(steps_of(f->arena), "reclaiming 1/0, waiting 1/1");
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 1);
    free_ok(f, p);
}
END_TEST

/* With a stream known, but nothing on it. */
START_TEST(a_refusal_names_the_steps_of_streams)
{
    void *p = NULL;
    fixture_t *f = opened(SIMULATED, POOL);
    void *kept = alloc_on(f, POOL, A);
    expect_status(cuarena_alloc_on(f->arena, 256, A, NULL, &p), CUARENA_OUT_OF_MEMORY);
    cuarena_error_info_t error;
    cuarena_error_info_init(&error);
    expect_ok(cuarena_last_error_info(&error));
    const char *tried = strstr(error.message, "tried: ");
    ck_assert_ptr_nonnull(tried);
    expect_text(tried, "tried: reserved bytes, stealing, reclaiming, waiting");
    expect_text(steps_of(f->arena), "stealing 1/0, reclaiming 1/0, waiting 1/0");
    free_on(f, kept, A);
}
END_TEST

/* A has two quarters of the pool that do not touch; B can use neither. */
START_TEST(a_refusal_with_steal_never_tells_of_what_its_own_stream_has_free)
{
    void *p = NULL;
    cuarena_block_t row[4];
    fixture_t *f = prepared(SIMULATED, POOL);
    f->config.steal = CUARENA_STEAL_NEVER;
    fixture_create(f);
    alloc_row_on(f, row, 4, A);
    for (int i = 0; i < 4; i += 2) {
        sim_write(&f->sim, A, address_of(f, row[i]), POOL / 4, 7);
        expect_ok(cuarena_block_free_on(f->arena, row[i], A));
    }
    expect_status(cuarena_alloc_on(f->arena, POOL / 2, A, NULL, &p), CUARENA_FRAGMENTED);
    cuarena_error_info_t error = last_error();
    expect_u64(error.free_bytes, POOL / 2);
    expect_u64(error.largest_bytes, POOL / 4);
    ck_assert_ptr_nonnull(strstr(error.message, "32768 free, the largest range has 16384"));
    ck_assert_int_ne(cuarena_alloc_on(f->arena, POOL / 4, B, NULL, &p), CUARENA_OK);
    expect_u64(last_error().free_bytes + last_error().largest_bytes, 0);
    for (int i = 1; i < 4; i += 2)
        expect_ok(cuarena_block_free_on(f->arena, row[i], A));
}
END_TEST

/* A handler that frees on a stream whose work is under way: the request waits for it. */
typedef struct helper {
    fixture_t *f;
    void *spare;
} helper_t;

static int32_t free_late(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    helper_t *helper = user;
    (void)arena, (void)asked_bytes, (void)attempt;
    if (helper->spare == NULL)
        return 0;
    sim_write(&helper->f->sim, B, helper->spare, POOL, 9);
    free_on(helper->f, helper->spare, B);
    helper->spare = NULL;
    return 1;
}

START_TEST(a_handler_that_frees_on_a_stream_is_waited_for)
{
    fixture_t *f = opened(SIMULATED, POOL);
    helper_t helper = {f, alloc_on(f, POOL, B)};
    expect_ok(cuarena_set_oom_handler(f->arena, free_late, &helper));
    void *p = alloc_ok(f, POOL);
    expect_text(steps_of(f->arena), "reclaiming 2/0, waiting 2/0, handler 1/1");
    sim_host_write(&f->sim, p, POOL, 3);
    expect_sound(f);
    free_ok(f, p);
}
END_TEST

/* One that releases the very stream that the request is on. */
static int32_t release_it(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    helper_t *helper = user;
    (void)asked_bytes, (void)attempt;
    if (helper->spare == NULL)
        return 0;
    expect_ok(cuarena_free(arena, helper->spare));
    helper->spare = NULL;
    expect_ok(cuarena_release_stream(arena, A));
    return 1;
}

START_TEST(a_handler_that_releases_the_stream_of_the_request)
{
    void *p = NULL;
    fixture_t *f = opened(SIMULATED, POOL);
    helper_t helper = {f, alloc_on(f, POOL, A)};
    expect_ok(cuarena_set_oom_handler(f->arena, release_it, &helper));
    expect_ok(cuarena_alloc_on(f->arena, POOL, A, NULL, &p));
    expect_sound(f);
    free_ok(f, p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ladder_streams");
    suite_add_list(suite, "steps",
                   TEST_LIST(joining_serves, stealing_serves, reclaiming_serves, waiting_serves,
                             a_refusal_names_the_steps_of_streams,
                             a_refusal_with_steal_never_tells_of_what_its_own_stream_has_free,
                             a_handler_that_frees_on_a_stream_is_waited_for,
                             a_handler_that_releases_the_stream_of_the_request));
    return suite_main(suite);
}
