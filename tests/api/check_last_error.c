/*
 * The last error is that of the last call that failed: a call that succeeds leaves it, whatever was
 * tried for it on the way.
 */
#include "support/fixture.h"

#include <string.h>

#define EACH KIB(64)
#define POOL (8 * EACH)

static cuarena_error_info_t before;

/* An error that no call below would make. */
static void begin(void)
{
    expect_status(cuarena_set_limit(NULL, 77, amount_of_bytes(0), NULL), CUARENA_BAD_ARGUMENT);
    before = last_error();
}

#define leaves_it(call)                                                                            \
    do {                                                                                           \
        expect_ok(call);                                                                           \
        cuarena_error_info_t now_ = last_error();                                                  \
        ck_assert_msg(memcmp(&now_, &before, sizeof now_) == 0, "%s left: %s", #call,              \
                      now_.message);                                                               \
    } while (0)

START_TEST(pointers_and_blocks)
{
    void *p = NULL;
    cuarena_block_t block;
    uint64_t bytes;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    begin();
    leaves_it(cuarena_alloc(f->arena, EACH, &p));
    leaves_it(cuarena_size_of(f->arena, p, &bytes, &bytes));
    leaves_it(cuarena_unpin(f->arena, p));
    leaves_it(cuarena_pin(f->arena, p));
    leaves_it(cuarena_block_of(f->arena, p, &block));
    leaves_it(cuarena_resize(f->arena, p, EACH / 2, &p));
    leaves_it(cuarena_resize(f->arena, p, 2 * EACH, &p));
    leaves_it(cuarena_free(f->arena, p));
    leaves_it(cuarena_block_alloc(f->arena, EACH, &block));
    leaves_it(cuarena_block_pin(f->arena, block, &p));
    leaves_it(cuarena_block_unpin(f->arena, block));
    leaves_it(cuarena_block_resize(f->arena, block, 2 * EACH));
    leaves_it(cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    leaves_it(cuarena_block_free(f->arena, block));
    leaves_it(cuarena_trim(f->arena, 0, NULL));
    leaves_it(cuarena_resize_pool(f->arena, 2 * POOL));
    leaves_it(cuarena_reset(f->arena));
}
END_TEST

/* The memory refuses growth, and what is free elsewhere goes back first. */
START_TEST(a_request_that_a_later_step_serves)
{
    void *p = UNTOUCHED;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    void *first = alloc_ok(f, EACH);
    void *freed = alloc_ok(f, 2 * EACH);
    void *last = alloc_ok(f, EACH);
    free_ok(f, freed);
    f->memory.budget_bytes = f->memory.reserved_bytes + EACH;
    begin();
    leaves_it(cuarena_alloc(f->arena, 3 * EACH, &p));
    free_ok(f, p);
    free_ok(f, first);
    free_ok(f, last);
}
END_TEST

/* ---- Words ------------------------------------------------------------------ */

#define expect_words(call, words)                                                                  \
    do {                                                                                           \
        ck_assert_int_ne((call), CUARENA_OK);                                                      \
        ck_assert_msg(strstr(last_error().message, words) != NULL, "%s: expected '%s' in: %s",     \
                      #call, words, last_error().message);                                         \
    } while (0)

static cuarena_status_t compact_for(fixture_t *f, uint64_t goal, uint64_t alignment)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.goal_bytes = goal;
    options.goal_alignment = alignment;
    return cuarena_compact(f->arena, &options, NULL, NULL, NULL);
}

START_TEST(an_error_names_the_argument_that_is_wrong)
{
    void *p = NULL;
    cuarena_block_t block;
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_words(cuarena_alloc(NULL, 1, &p), "arena: NULL");
    expect_words(cuarena_alloc(f->arena, 1, NULL), "pointer_out: NULL");
    expect_words(cuarena_block_alloc(f->arena, 1, NULL), "block_out: NULL");
    expect_words(cuarena_block_alloc(NULL, 1, &block), "arena: NULL");
    ck_assert_msg(strstr(last_error().message, "block_out") == NULL,
                  "expected no 'block_out' in: %s", last_error().message);
    expect_words(compact_for(f, EACH, 3), "goal_alignment 3; accepted: 0, or a power of two");
    expect_words(compact_for(f, UINT64_C(1) << 60, 0),
                 "goal_bytes 1152921504606846976; accepted: below 2^48");
    expect_words(cuarena_stream_waited(f->arena, CUARENA_NO_STREAM, CUARENA_NO_STREAM, 5),
                 "stream CUARENA_NO_STREAM");
    expect_words(cuarena_stream_stats(f->arena, CUARENA_NO_STREAM, &stats), "CUARENA_NO_STREAM");
    expect_sound(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("last error");
    suite_add_list(suite, "success",
                   TEST_LIST(pointers_and_blocks, a_request_that_a_later_step_serves));
    suite_add_list(suite, "words", TEST_LIST(an_error_names_the_argument_that_is_wrong));
    return suite_main(suite);
}
