/*
 * Peaks in scopes: of the whole, regions, tags and streams; nested, against a model that keeps
 * every moment; misuse.
 */
#include "support/fixture.h"
#include "support/sim_streams.h"

#include <string.h>

#define EACH KIB(64)
#define POOL (16 * EACH)

static cuarena_peaks_t pop(fixture_t *f, int32_t region)
{
    cuarena_peaks_t peaks;
    cuarena_peaks_init(&peaks);
    step_ok(f, cuarena_peaks_pop(f->arena, region, &peaks));
    return peaks;
}

static void push(fixture_t *f, int32_t region)
{
    step_ok(f, cuarena_peaks_push(f->arena, region));
}

static fixture_t *open_with_stable(fixture_t *f)
{
    fixture_prepare(f, KIND_CUSTOM_POOL, POOL);
    f->config.stable = amount_of_bytes(4 * EACH);
    fixture_create(f);
    return f;
}

/* ---- The whole and its regions ----------------------------------------- */

START_TEST(scope_begins_at_what_is_live)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    free_ok(f, alloc_ok(f, 8 * EACH));
    void *kept = alloc_ok(f, 1000);
    push(f, CUARENA_REGION_ALL);
    expect_u64(stats_of(f).peak_live_bytes, 1024);
    free_ok(f, alloc_ok(f, EACH));
    cuarena_peaks_t peaks = pop(f, CUARENA_REGION_ALL);
    expect_u64(peaks.live_bytes, EACH + 1024);
    expect_u64(peaks.requested_bytes, EACH + 1000);
    expect_u64(peaks.live_blocks, 2);
    expect_u64(peaks.reserved_bytes, POOL);
    cuarena_stats_t all = stats_of(f);
    expect_u64(all.peak_live_bytes, 8 * EACH);
    expect_u64(all.peak_live_blocks, 2);
    free_ok(f, kept);
}
END_TEST

START_TEST(scope_within_a_scope)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    push(f, CUARENA_REGION_ALL);
    free_ok(f, alloc_ok(f, 2 * EACH));
    push(f, CUARENA_REGION_ALL);
    free_ok(f, alloc_ok(f, EACH));
    expect_u64(pop(f, CUARENA_REGION_ALL).live_bytes, EACH);
    push(f, CUARENA_REGION_ALL);
    free_ok(f, alloc_ok(f, 5 * EACH));
    expect_u64(pop(f, CUARENA_REGION_ALL).live_bytes, 5 * EACH);
    expect_u64(pop(f, CUARENA_REGION_ALL).live_bytes, 5 * EACH);
    expect_u64(stats_of(f).peak_live_bytes, 5 * EACH);
}
END_TEST

START_TEST(scope_of_held_bytes)
{
    uint64_t given = 0;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    free_ok(f, alloc_ok(f, 4 * EACH));
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    push(f, CUARENA_REGION_ALL);
    free_ok(f, alloc_ok(f, EACH));
    expect_u64(pop(f, CUARENA_REGION_ALL).reserved_bytes, EACH);
    expect_u64(stats_of(f).peak_reserved_bytes, 4 * EACH);
}
END_TEST

/* With one heap and with several: the whole knows nothing of the region's scopes, nor the region of
 * the whole's. */
START_TEST(scopes_of_whole_and_region_are_apart)
{
    for (int stable = 0; stable < 2; stable++) {
        fixture_t f;
        if (stable)
            open_with_stable(&f);
        else
            fixture_open(&f, KIND_CUSTOM_POOL, POOL);
        push(&f, CUARENA_REGION_ALL);
        free_ok(&f, alloc_ok(&f, 4 * EACH));
        push(&f, CUARENA_REGION_DYNAMIC);
        free_ok(&f, alloc_ok(&f, EACH));
        expect_u64(stats_of(&f).peak_live_bytes, 4 * EACH);
        expect_u64(region_stats_of(&f, CUARENA_REGION_DYNAMIC).peak_live_bytes, EACH);
        expect_u64(pop(&f, CUARENA_REGION_ALL).live_bytes, 4 * EACH);
        push(&f, CUARENA_REGION_ALL);
        free_ok(&f, alloc_ok(&f, 2 * EACH));
        expect_u64(pop(&f, CUARENA_REGION_DYNAMIC).live_bytes, 2 * EACH);
        expect_u64(pop(&f, CUARENA_REGION_ALL).live_bytes, 2 * EACH);
        expect_u64(stats_of(&f).peak_live_bytes, 4 * EACH);
        expect_u64(region_stats_of(&f, CUARENA_REGION_DYNAMIC).peak_live_bytes, 4 * EACH);
        fixture_close(&f);
    }
}
END_TEST

START_TEST(scope_of_the_stable_region)
{
    fixture_t *f = open_with_stable(new_fixture(fixture_close));
    free_ok(f, alloc_in(f, 3 * EACH, CUARENA_REGION_STABLE));
    push(f, CUARENA_REGION_STABLE);
    free_ok(f, alloc_ok(f, 6 * EACH));
    free_ok(f, alloc_in(f, 2 * EACH, CUARENA_REGION_STABLE));
    cuarena_peaks_t peaks = pop(f, CUARENA_REGION_STABLE);
    expect_u64(peaks.live_bytes, 2 * EACH);
    expect_u64(peaks.reserved_bytes, 0);
    expect_u64(region_stats_of(f, CUARENA_REGION_STABLE).peak_live_bytes, 3 * EACH);
}
END_TEST

/* A region that is not there has peaks of 0. */
START_TEST(scope_of_no_region)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    push(f, CUARENA_REGION_STABLE);
    free_ok(f, alloc_in(f, EACH, CUARENA_REGION_STABLE));
    expect_u64(pop(f, CUARENA_REGION_STABLE).live_bytes, 0);
}
END_TEST

/* A heap more comes while a scope is open. */
START_TEST(scope_in_which_the_first_dedicated_block_comes)
{
    void *apart = NULL;
    cuarena_request_t request;
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    cuarena_request_init(&request);
    request.dedicated = 1;
    free_ok(f, alloc_ok(f, 4 * EACH));
    push(f, CUARENA_REGION_ALL);
    push(f, CUARENA_REGION_DYNAMIC);
    void *pointer = alloc_ok(f, EACH);
    step_ok(f, cuarena_alloc_with(f->arena, 2 * EACH, &request, &apart));
    free_ok(f, apart);
    free_ok(f, pointer);
    expect_u64(pop(f, CUARENA_REGION_DYNAMIC).live_bytes, EACH);
    expect_u64(pop(f, CUARENA_REGION_ALL).live_bytes, 3 * EACH);
    expect_u64(stats_of(f).peak_live_bytes, 4 * EACH);
}
END_TEST

START_TEST(reset_peaks_reaches_all_open_scopes)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    push(f, CUARENA_REGION_ALL);
    free_ok(f, alloc_ok(f, 4 * EACH));
    push(f, CUARENA_REGION_ALL);
    free_ok(f, alloc_ok(f, 3 * EACH));
    step_ok(f, cuarena_reset_peaks(f->arena));
    free_ok(f, alloc_ok(f, EACH));
    expect_u64(pop(f, CUARENA_REGION_ALL).live_bytes, EACH);
    expect_u64(pop(f, CUARENA_REGION_ALL).live_bytes, EACH);
    expect_u64(stats_of(f).peak_live_bytes, EACH);
}
END_TEST

/* ---- A model ----------------------------------------------------------- */

#define DEEP 6
#define HELD 24

typedef struct model {
    uint64_t peaks[DEEP + 1]; /* [depth] is the innermost */
    uint32_t depth;
} model_t;

static void model_note(model_t *m, uint64_t live)
{
    for (uint32_t i = 0; i <= m->depth; i++)
        if (m->peaks[i] < live)
            m->peaks[i] = live;
}

static void scope_once(fixture_t *f, model_t *m, int32_t region, random_state_t *random)
{
    if (random_below(random, 2) == 0 && m->depth < DEEP) {
        push(f, region);
        m->peaks[++m->depth] = live_in(f, CUARENA_REGION_DYNAMIC);
    } else if (m->depth != 0) {
        expect_u64(pop(f, region).live_bytes, m->peaks[m->depth]);
        m->depth--;
    }
}

/* Allocations, frees and resizes between scopes of the whole and of the
 * region, which have the same bytes. */
START_TEST(scopes_of_a_random_program)
{
    random_state_t random = {scale_seed("peaks") + (uint64_t)_i};
    void *held[HELD] = {0};
    model_t models[2] = {{.depth = 0}};
    int32_t regions[2] = {CUARENA_REGION_ALL, CUARENA_REGION_DYNAMIC};
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    for (uint64_t i = 0; i < scale_pick(200, 2000, 20000); i++) {
        void **p = &held[random_below(&random, HELD)];
        uint64_t bytes = 1 + random_below(&random, EACH / 2);
        if (*p == NULL)
            (void)cuarena_alloc(f->arena, bytes, p);
        else if (random_below(&random, 3) != 0) {
            expect_ok(cuarena_free(f->arena, *p));
            *p = NULL;
        }
        uint64_t which = random_below(&random, 2);
        for (int m = 0; m < 2; m++)
            model_note(&models[m], live_in(f, CUARENA_REGION_DYNAMIC));
        if (random_below(&random, 4) == 0)
            scope_once(f, &models[which], regions[which], &random);
        for (int m = 0; m < 2; m++)
            expect_u64(region_stats_of(f, regions[m]).peak_live_bytes,
                       models[m].peaks[models[m].depth]);
    }
    fixture_close_forced(f);
}
END_TEST

/* ---- Tags and streams -------------------------------------------------- */

START_TEST(scope_of_a_tag)
{
    cuarena_tag_t tags[8];
    cuarena_peaks_t peaks;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_ok(cuarena_tag(f->arena, "a", &tags[0]));
    free_ok(f, alloc_tagged(f, 4 * EACH, tags[0]));
    step_ok(f, cuarena_tag_peaks_push(f->arena, tags[0]));
    for (size_t i = 1; i < COUNT_OF(tags); i++) { /* their table moves */
        char name[2] = {(char)('a' + i), '\0'};
        expect_ok(cuarena_tag(f->arena, name, &tags[i]));
    }
    free_ok(f, alloc_tagged(f, 5 * EACH, tags[1]));
    free_ok(f, alloc_tagged(f, 1000, tags[0]));
    expect_u64(tag_stats_of(f, tags[0]).peak_live_bytes, 1024);
    cuarena_peaks_init(&peaks);
    step_ok(f, cuarena_tag_peaks_pop(f->arena, tags[0], &peaks));
    expect_u64(peaks.live_bytes, 1024);
    expect_u64(peaks.requested_bytes, 1000);
    expect_u64(peaks.live_blocks, 1);
    expect_u64(peaks.reserved_bytes, 0);
    expect_u64(tag_stats_of(f, tags[0]).peak_live_bytes, 4 * EACH);
    step(f, cuarena_tag_peaks_pop(f->arena, tags[1], &peaks), CUARENA_BAD_ARGUMENT);
}
END_TEST

#define A sim_handle(1)
#define B sim_handle(2)

static cuarena_t *arena_on(sim_t *sim)
{
    cuarena_t *arena = NULL;
    cuarena_config_t config;
    sim_open(sim, 1, false);
    sim_stream_make(sim, A);
    sim_stream_make(sim, B);
    cuarena_config_init(&config);
    config.memory = CUARENA_MEMORY_CUSTOM;
    config.ops = &sim->ops;
    config.ops_user = sim;
    config.pool = amount_of_bytes(POOL);
    expect_ok(cuarena_create(&config, &arena));
    return arena;
}

static void use_on(cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream)
{
    void *pointer = NULL;
    expect_ok(cuarena_alloc_on(arena, bytes, stream, NULL, &pointer));
    expect_ok(cuarena_free_on(arena, pointer, stream));
}

START_TEST(scope_of_a_stream)
{
    sim_t sim;
    cuarena_peaks_t peaks;
    cuarena_stats_t stats;
    cuarena_t *arena = arena_on(&sim);
    cuarena_peaks_init(&peaks);
    cuarena_stats_init(&stats);
    expect_status(cuarena_stream_peaks_push(arena, A), CUARENA_STALE);
    use_on(arena, 4 * EACH, A);
    expect_ok(cuarena_stream_peaks_push(arena, A));
    use_on(arena, 8 * EACH, B);
    use_on(arena, EACH, A);
    expect_ok(cuarena_stream_peaks_pop(arena, A, &peaks));
    expect_u64(peaks.live_bytes, EACH);
    expect_ok(cuarena_stream_stats(arena, A, &stats));
    expect_u64(stats.peak_live_bytes, 4 * EACH);
    expect_ok(cuarena_reset_peaks(arena));
    expect_ok(cuarena_stream_stats(arena, A, &stats));
    expect_u64(stats.peak_live_bytes, 0);
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_destroy(&arena));
    sim_close(&sim);
}
END_TEST

/* An open scope goes with the stream. */
START_TEST(scope_of_a_stream_that_goes)
{
    sim_t sim;
    cuarena_peaks_t peaks;
    cuarena_t *arena = arena_on(&sim);
    cuarena_peaks_init(&peaks);
    use_on(arena, EACH, A);
    use_on(arena, EACH, B);
    expect_ok(cuarena_stream_peaks_push(arena, A));
    expect_ok(cuarena_stream_peaks_push(arena, B));
    expect_ok(cuarena_release_stream(arena, A));
    expect_status(cuarena_stream_peaks_pop(arena, A, &peaks), CUARENA_STALE);
    sim_sync_all(&sim);
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_destroy(&arena));
    sim_close(&sim);
}
END_TEST

/* ---- Misuse ------------------------------------------------------------ */

START_TEST(pop_without_a_push)
{
    cuarena_tag_t tag = 0;
    cuarena_peaks_t peaks;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_peaks_init(&peaks);
    peaks.live_bytes = 77;
    expect_ok(cuarena_tag(f->arena, "t", &tag));
    for (int32_t region = CUARENA_REGION_ALL; region < CUARENA_REGION_COUNT; region++)
        step(f, cuarena_peaks_pop(f->arena, region, &peaks), CUARENA_BAD_ARGUMENT);
    step(f, cuarena_tag_peaks_pop(f->arena, tag, &peaks), CUARENA_BAD_ARGUMENT);
    push(f, CUARENA_REGION_ALL);
    pop(f, CUARENA_REGION_ALL);
    step(f, cuarena_peaks_pop(f->arena, CUARENA_REGION_ALL, &peaks), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(last_error().message, "no scope is open"));
    expect_u64(peaks.live_bytes, 77);
}
END_TEST

START_TEST(push_up_to_the_limit)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    for (int i = 0; i < CUARENA_MAX_PEAK_SCOPES; i++) {
        push(f, CUARENA_REGION_ALL);
        free_ok(f, alloc_ok(f, (uint64_t)(CUARENA_MAX_PEAK_SCOPES - i) * 256));
    }
    step(f, cuarena_peaks_push(f->arena, CUARENA_REGION_ALL), CUARENA_LIMIT);
    push(f, CUARENA_REGION_DYNAMIC); /* which has its own */
    for (int i = CUARENA_MAX_PEAK_SCOPES; i > 0; i--)
        expect_u64(pop(f, CUARENA_REGION_ALL).live_bytes,
                   (uint64_t)(CUARENA_MAX_PEAK_SCOPES - i + 1) * 256);
    pop(f, CUARENA_REGION_DYNAMIC);
}
END_TEST

START_TEST(peaks_bad_arguments)
{
    cuarena_peaks_t peaks;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_peaks_init(&peaks);
    expect_status(cuarena_peaks_push(NULL, 0), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_peaks_push(f->arena, 2), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_peaks_push(f->arena, -2), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_tag_peaks_push(f->arena, 0), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_tag_peaks_push(f->arena, 9), CUARENA_BAD_ARGUMENT);
    push(f, CUARENA_REGION_ALL);
    expect_status(cuarena_peaks_pop(f->arena, CUARENA_REGION_ALL, NULL), CUARENA_BAD_ARGUMENT);
    peaks.struct_size = 3;
    expect_status(cuarena_peaks_pop(f->arena, CUARENA_REGION_ALL, &peaks), CUARENA_BAD_ARGUMENT);
    pop(f, CUARENA_REGION_ALL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peaks");
    suite_add_list(suite, "scopes",
                   TEST_LIST(scope_begins_at_what_is_live, scope_within_a_scope,
                             scope_of_held_bytes, scopes_of_whole_and_region_are_apart,
                             scope_of_the_stable_region, scope_of_no_region,
                             scope_in_which_the_first_dedicated_block_comes,
                             reset_peaks_reaches_all_open_scopes));
    tcase_add_loop_test(new_case(suite, "model"), scopes_of_a_random_program, 0, 4);
    suite_add_list(suite, "tags and streams",
                   TEST_LIST(scope_of_a_tag, scope_of_a_stream, scope_of_a_stream_that_goes));
    suite_add_list(suite, "misuse",
                   TEST_LIST(pop_without_a_push, push_up_to_the_limit, peaks_bad_arguments));
    return suite_main(suite);
}
