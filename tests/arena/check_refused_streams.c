/*
 * Requests on streams that a limit refuses where bytes of several free lists lie side by side: they
 * end, and leave the bytes where they are.
 */
#include "support/fixture_streams.h"

#include <stdio.h>
#include <string.h>

/* More steps than one request of these tests takes. */
#define MANY_STEPS 100

static const char *const steals[] = {"first", "wait", "idle", "never"};

/* How the bytes are asked for. */
typedef enum way {
    BY_POINTER,
    BY_BLOCK,
    ALIGNED,
    BY_RESIZE,
    WAYS
} way_t;

static const char *const way_names[WAYS] = {"alloc", "block_alloc", "aligned alloc", "resize"};

/* An arena in which B has a block, if other_out is not NULL, and 2 MiB that A freed are beside 4
 * idle ones. */
static fixture_t *open_row(const char *options, int row, void **other_out)
{
    char text[256];
    void *freed;
    void *idle;
    snprintf(text, sizeof text, "%s,memory=none,steal=%s", options,
             steals[(size_t)row % COUNT_OF(steals)]);
    fixture_t *f = opened_text(text);
    if (other_out != NULL)
        *other_out = alloc_on(f, MIB(1), B);
    expect_ok(cuarena_alloc_on(f->arena, MIB(2), A, NULL, &freed));
    expect_ok(cuarena_alloc_on(f->arena, MIB(4), A, NULL, &idle));
    expect_ok(cuarena_free_on(f->arena, freed, A));
    expect_ok(cuarena_free(f->arena, idle));
    return f;
}

/* ---- Requests that end -------------------------------------------------- */

static int steps_taken;
static const char *asked_for;

static void count_step(void *user, int32_t level, const char *line)
{
    (void)user, (void)level;
    steps_taken += strstr(line, "no room for") != NULL;
    ck_assert_msg(steps_taken < MANY_STEPS,
                  "%s: expected CUARENA_LIMIT, but the request took %d steps and goes on: %s",
                  asked_for, steps_taken, line);
}

static cuarena_status_t ask_for(fixture_t *f, uint64_t bytes, way_t way, void **pointer)
{
    cuarena_block_t block;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.alignment = way == ALIGNED ? KIB(64) : 0;
    asked_for = way_names[way];
    if (way == BY_BLOCK)
        return cuarena_block_alloc_on(f->arena, bytes, A, NULL, &block);
    if (way == BY_RESIZE)
        return cuarena_resize_on(f->arena, *pointer, bytes, A, pointer);
    return cuarena_alloc_on(f->arena, bytes, A, &request, pointer);
}

/* It is refused by a limit after a few steps, and what lives and what is free stays. */
static void expect_limit(fixture_t *f, uint64_t bytes, way_t way, void *pointer)
{
    cuarena_stats_t before = stats_of(f);
    steps_taken = 0;
    expect_ok(cuarena_log_set_level(CUARENA_LOG_DEBUG));
    cuarena_log_set_callback(count_step, NULL);
    expect_status(ask_for(f, bytes, way, &pointer), CUARENA_LIMIT);
    cuarena_log_set_callback(NULL, NULL);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_OFF));
    expect_u64(stats_of(f).live_bytes, before.live_bytes);
    expect_sound(f);
}

/* B's block makes the arena place A's request across free lists. */
static void expect_most_blocks(const char *options, int row)
{
    void *own;
    void *other;
    fixture_t *f = open_row(options, row, NULL);
    expect_ok(cuarena_alloc_on(f->arena, 256, B, NULL, &other));
    expect_ok(cuarena_alloc_on(f->arena, 256, A, NULL, &own));
    for (way_t way = 0; way < WAYS; way++)
        expect_limit(f, MIB(4) + KIB(256), way, own);
    expect_ok(cuarena_free_on(f->arena, other, B));
    free_on(f, alloc_on(f, MIB(4) + KIB(256), A), A);
    free_on(f, own, A);
}

START_TEST(a_request_that_the_most_blocks_refuse_ends)
{
    expect_most_blocks("preset=grow,max_blocks=2", _i);
}
END_TEST

START_TEST(a_request_in_a_pool_that_the_most_blocks_refuse_ends)
{
    expect_most_blocks("preset=pool,pool=8MiB,max_blocks=2", _i);
}
END_TEST

/* 5 MiB would fit the limit, but the 6 that lie together are not split. */
START_TEST(a_request_whose_rest_would_exceed_the_limit_of_live_bytes_ends)
{
    cuarena_amount_t limit = {CUARENA_AMOUNT_BYTES, 0, MIB(6)};
    bool bfc = (size_t)_i >= COUNT_OF(steals);
    void *other;
    fixture_t *f = open_row(bfc ? "preset=bfc" : "preset=grow,split_threshold=never", _i, &other);
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_LIVE, limit, NULL));
    for (way_t way = 0; way < BY_RESIZE; way++)
        expect_limit(f, MIB(5) - KIB(64), way, NULL);
    expect_limit(f, MIB(5) + KIB(64), BY_POINTER, NULL);
    free_on(f, other, B);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("refused_streams");
    suite_add_rows(suite, "blocks", a_request_that_the_most_blocks_refuse_ends, COUNT_OF(steals));
    suite_add_rows(suite, "pool", a_request_in_a_pool_that_the_most_blocks_refuse_ends,
                   COUNT_OF(steals));
    suite_add_rows(suite, "live", a_request_whose_rest_would_exceed_the_limit_of_live_bytes_ends,
                   2 * COUNT_OF(steals));
    return suite_main(suite);
}
