/*
 * Calls on a stream that the fast path serves: they ask the memory nothing. What it must notice
 * while blocks of the stream live and bytes of it are free: a listener, a limit, another stream,
 * the end of a handle, peaks; which blocks it must not free the short way; and the stream's counts,
 * against a model that keeps every moment.
 */
#include "support/checks.h"
#include "support/fixture_streams.h"
#include "support/random.h"
#include "support/scale.h"

#include <stdio.h>
#include <string.h>

#define POOL KIB(64)

/* Calls enough for the fast path to serve A, with free bytes in its open free list. */
static fixture_t *open_fast(fixture_t *f)
{
    fixture_open(f, SIMULATED, POOL);
    for (int i = 0; i < 4; i++)
        free_on(f, alloc_on(f, KIB(4), A), A);
    sim_calls(&f->sim);
    expect_sound(f);
    return f;
}

/* ---- What ends it ------------------------------------------------------ */

static void hear(void *user, const cuarena_event_t *event)
{
    uint64_t *heard = user;
    heard[event->kind]++;
}

START_TEST(a_listener_hears_of_every_call)
{
    uint64_t heard[64] = {0};
    fixture_t *f = open_fast(new_fixture(fixture_close));
    expect_ok(cuarena_set_event_listener(f->arena, hear, heard));
    free_on(f, alloc_on(f, KIB(1), A), A);
    expect_u64(heard[CUARENA_EVENT_ALLOC], 1);
    expect_u64(heard[CUARENA_EVENT_FREE], 1);
    expect_ok(cuarena_set_event_listener(f->arena, NULL, NULL));
    free_on(f, alloc_on(f, KIB(1), A), A);
    expect_u64(heard[CUARENA_EVENT_ALLOC], 1);
    expect_u64(heard[CUARENA_EVENT_FREE], 1);
}
END_TEST

START_TEST(a_limit_holds_at_once)
{
    void *p = NULL;
    fixture_t *f = open_fast(new_fixture(fixture_close));
    cuarena_amount_t most = {CUARENA_AMOUNT_BYTES, 0, KIB(2)};
    expect_ok(cuarena_set_limit(f->arena, CUARENA_LIMIT_LIVE, most, NULL));
    void *q = alloc_on(f, KIB(2), A);
    expect_status(cuarena_alloc_on(f->arena, 256, A, NULL, &p), CUARENA_LIMIT);
    free_on(f, q, A);
}
END_TEST

/* B is behind nothing of A's: it gets other bytes, also later. */
START_TEST(another_stream_gets_none_of_its_bytes)
{
    fixture_t *f = open_fast(new_fixture(fixture_close));
    void *p = use_anew(f, KIB(4), A);
    void *of_b = alloc_on(f, KIB(4), B);
    ck_assert_ptr_ne(of_b, p);
    sim_write(&f->sim, B, of_b, KIB(4), 2);
    ck_assert_ptr_eq(alloc_on(f, KIB(4), A), p);
    free_on(f, p, B); /* which is behind A's work, says the caller */
    free_on(f, of_b, A);
    sim_order(&f->sim, B, A);
    sim_order(&f->sim, A, B);
    expect_u64(stream_stats_of(f, B).free_bytes, KIB(4));
    expect_u64(stream_stats_of(f, A).live_blocks, 0);
    expect_u64(stream_stats_of(f, B).live_blocks, 0);
    expect_sound(f);
}
END_TEST

/* ... and A is served as before when the other has gone. */
START_TEST(a_handle_that_was_released_is_asked_about)
{
    fixture_t *f = open_fast(new_fixture(fixture_close));
    free_on(f, alloc_on(f, 256, B), B);
    expect_ok(cuarena_release_stream(f->arena, B));
    sim_sync_all(&f->sim);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    for (int i = 0; i < 4; i++)
        free_on(f, alloc_on(f, KIB(4), A), A);
    use_anew(f, KIB(4), A);
    expect_sound(f);
    expect_ok(cuarena_release_stream(f->arena, A)); /* keeps its number */
    expect_sound(f);
    sim_stream_kill(&f->sim, A);
    sim_stream_make(&f->sim, A);
    sim_calls(&f->sim);
    void *p = alloc_on(f, 256, A);
    expect_u64(f->sim.counts[SIM_IDENTIFY], 1);
    expect_u64(stream_stats_of(f, A).allocs, 1);
    free_on(f, p, A);
}
END_TEST

/* Two names for one stream: calls find it by either. */
START_TEST(either_name_finds_it)
{
    fixture_t *f = opened(SIMULATED, POOL);
    for (int i = 0; i < 8; i++) {
        cuarena_stream_t names[] = {CUARENA_STREAM_LEGACY, NULL};
        void *p = NULL;
        expect_ok(cuarena_alloc_on(f->arena, KIB(1), names[i & 1], NULL, &p));
        expect_ok(cuarena_free_on(f->arena, p, names[i >> 1 & 1]));
        expect_sound(f);
    }
    cuarena_stats_t stats = stream_stats_of(f, CUARENA_STREAM_LEGACY);
    expect_u64(stats.allocs, 8);
    expect_u64(stats.frees, 8);
}
END_TEST

/* The whole's peaks are kept apart while a scope of them is open. */
START_TEST(peaks_of_the_whole_are_seen)
{
    cuarena_peaks_t peaks;
    cuarena_peaks_init(&peaks);
    fixture_t *f = open_fast(new_fixture(fixture_close));
    expect_ok(cuarena_peaks_push(f->arena, CUARENA_REGION_ALL));
    free_on(f, alloc_on(f, KIB(3), A), A);
    expect_ok(cuarena_peaks_pop(f->arena, CUARENA_REGION_ALL, &peaks));
    expect_u64(peaks.live_bytes, KIB(3));
    expect_u64(stats_of(f).peak_live_bytes, KIB(4));
}
END_TEST

/* ---- Blocks that are not its ordinary ones ----------------------------- */

START_TEST(blocks_without_a_stream_are_freed_on_it)
{
    fixture_t *f = open_fast(new_fixture(fixture_close));
    void *p = alloc_ok(f, KIB(2));
    free_on(f, p, A);
    expect_u64(stream_stats_of(f, A).frees, 4);
    expect_u64(stream_stats_of(f, A).live_blocks, 0);
    expect_u64(stats_of(f).live_blocks, 0);
    expect_sound(f);
    p = alloc_on(f, KIB(2), A);
    sim_sync(&f->sim, A);
    free_ok(f, p);
    expect_u64(stream_stats_of(f, A).frees, 5);
    expect_u64(stream_stats_of(f, A).live_blocks, 0);
}
END_TEST

/* Whose alignment is another, which have a tag, or a pin more. */
START_TEST(blocks_that_are_out_of_the_ordinary)
{
    cuarena_request_t request;
    cuarena_tag_t tag = 0;
    void *p[2] = {NULL, NULL};
    fixture_t *f = open_fast(new_fixture(fixture_close));
    cuarena_request_init(&request);
    request.alignment = KIB(4);
    expect_ok(cuarena_alloc_on(f->arena, 256, A, &request, &p[0]));
    cuarena_request_init(&request);
    expect_ok(cuarena_tag(f->arena, "weights", &tag));
    request.tag = tag;
    expect_ok(cuarena_alloc_on(f->arena, 256, A, &request, &p[1]));
    cuarena_block_t block = alloc_block_on(f, 256, A);
    void *at = NULL;
    expect_ok(cuarena_block_pin_on(f->arena, block, A, &at));
    expect_u64(stream_stats_of(f, A).live_blocks, 3);
    expect_ok(cuarena_free_on(f->arena, at, A));
    expect_status(cuarena_block_free_on(f->arena, block, A), CUARENA_STALE);
    free_on(f, p[0], A);
    free_on(f, p[1], A);
    expect_status(cuarena_free_on(f->arena, p[1], A), CUARENA_STALE);
    expect_u64(stream_stats_of(f, A).live_blocks, 0);
    expect_u64(stream_stats_of(f, A).frees, 4 + 3);
    expect_sound(f);
}
END_TEST

/* ---- Counts against a model -------------------------------------------- */

#define SLOTS 24
#define STEPS 3000

typedef struct counted {
    uint64_t now[3]; /* bytes, requested bytes, blocks */
    uint64_t peak[3];
    uint64_t allocs;
    uint64_t frees;
} counted_t;

static void count(counted_t *c, uint64_t bytes, uint64_t requested, uint64_t blocks)
{
    c->now[0] += bytes;
    c->now[1] += requested;
    c->now[2] += blocks;
    for (int i = 0; i < 3; i++)
        if (c->now[i] > c->peak[i])
            c->peak[i] = c->now[i];
}

static void expect_counts(fixture_t *f, const counted_t *c)
{
    cuarena_stats_t stats = stream_stats_of(f, A);
    expect_u64(stats.live_bytes, c->now[0]);
    expect_u64(stats.requested_bytes, c->now[1]);
    expect_u64(stats.live_blocks, c->now[2]);
    expect_u64(stats.peak_live_bytes, c->peak[0]);
    expect_u64(stats.peak_requested_bytes, c->peak[1]);
    expect_u64(stats.peak_live_blocks, c->peak[2]);
    expect_u64(stats.allocs, c->allocs);
    expect_u64(stats.frees, c->frees);
}

typedef struct held {
    void *at[SLOTS];
    uint64_t bytes[SLOTS];
} held_t;

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + 255) & ~UINT64_C(255);
}

static void alloc_or_free(fixture_t *f, held_t *h, int i, uint64_t bytes, counted_t *c)
{
    if (h->at[i] == NULL) {
        h->at[i] = alloc_on(f, bytes, A);
        h->bytes[i] = bytes;
        c->allocs++;
        count(c, rounded(bytes), bytes, 1);
        return;
    }
    free_on(f, h->at[i], A);
    h->at[i] = NULL;
    c->frees++;
    count(c, -rounded(h->bytes[i]), -h->bytes[i], UINT64_MAX);
}

/* In place only: one that moves is two blocks for a moment. */
static void shorten(fixture_t *f, held_t *h, int i, uint64_t bytes, counted_t *c)
{
    if (h->at[i] == NULL || bytes > h->bytes[i])
        return;
    void *at = NULL;
    expect_ok(cuarena_resize_on(f->arena, h->at[i], bytes, A, &at));
    ck_assert_ptr_eq(at, h->at[i]);
    count(c, rounded(bytes) - rounded(h->bytes[i]), bytes - h->bytes[i], 0);
    h->bytes[i] = bytes;
}

static void play(fixture_t *f, held_t *held, counted_t *counted, random_state_t *random,
                 bool resets)
{
    for (int step = 0; step < STEPS; step++) {
        int slot = (int)random_below(random, SLOTS);
        uint64_t bytes = 1 + random_below(random, 2000);
        uint64_t what = random_below(random, 100);
        if (what < 90)
            alloc_or_free(f, held, slot, bytes, counted);
        else if (what < 99)
            shorten(f, held, slot, bytes, counted);
        else if (resets) {
            expect_ok(cuarena_reset_peaks(f->arena));
            memcpy(counted->peak, counted->now, sizeof counted->peak);
        }
        if (counted->allocs != 0)
            expect_counts(f, counted);
    }
    expect_sound(f);
}

static void free_all(fixture_t *f, held_t *held, counted_t *counted)
{
    for (int i = 0; i < SLOTS; i++)
        if (held->at[i] != NULL)
            alloc_or_free(f, held, i, 1, counted);
    expect_counts(f, counted);
}

START_TEST(counts_are_exact)
{
    held_t held = {{NULL}, {0}};
    counted_t counted = {.allocs = 0};
    random_state_t random = {scale_seed("counts") + (uint64_t)_i};
    fixture_t *f = opened(SIMULATED, POOL);
    play(f, &held, &counted, &random, _i % 2 != 0);
    free_all(f, &held, &counted);
}
END_TEST

/* ---- What else comes to what its heap counts --------------------------- */

static void alloc_plain(fixture_t *f)
{
    free_ok(f, alloc_ok(f, KIB(1)));
}

static void block_plain(fixture_t *f)
{
    cuarena_block_t block = 0;
    expect_ok(cuarena_block_alloc(f->arena, 300, &block));
    expect_ok(cuarena_block_free(f->arena, block));
    expect_ok(cuarena_block_alloc(f->arena, 0, &block));
    expect_ok(cuarena_block_free(f->arena, block));
}

static void tagged_plain(fixture_t *f)
{
    void *p = NULL;
    cuarena_request_t request;
    cuarena_request_init(&request);
    expect_ok(cuarena_tag(f->arena, "others", &request.tag));
    expect_ok(cuarena_alloc_with(f->arena, 700, &request, &p));
    expect_ok(cuarena_free(f->arena, p));
}

static void adopt(fixture_t *f)
{
    static _Alignas(256) char bytes[512];
    cuarena_block_t block = 0;
    expect_ok(cuarena_adopt(f->arena, bytes, sizeof bytes, 0, &block));
    expect_ok(cuarena_block_free(f->arena, block));
}

static void use_other(fixture_t *f)
{
    free_on(f, alloc_on(f, KIB(2), B), B);
}

static void scope(fixture_t *f)
{
    cuarena_peaks_t peaks;
    cuarena_peaks_init(&peaks);
    expect_ok(cuarena_stream_peaks_push(f->arena, A));
    expect_ok(cuarena_stream_peaks_pop(f->arena, A, &peaks));
    expect_ok(cuarena_peaks_push(f->arena, CUARENA_REGION_DYNAMIC));
    expect_ok(cuarena_peaks_pop(f->arena, CUARENA_REGION_DYNAMIC, &peaks));
}

static void session(fixture_t *f)
{
    cuarena_capture_t *capture = NULL;
    expect_ok(cuarena_capture_begin(f->arena, A, &capture));
    expect_ok(cuarena_capture_end(f->arena, capture));
    expect_ok(cuarena_capture_release(f->arena, &capture, A));
}

/* Each is made while blocks of A live; its counts do not know of it. */
static const struct {
    const char *name;
    void (*happen)(fixture_t *f);
} others[] = {
    {"a pointer without a stream", alloc_plain},
    {"blocks without a stream", block_plain},
    {"a tagged pointer without a stream", tagged_plain},
    {"an adopted block", adopt},
    {"a block of another stream", use_other},
    {"scopes of peaks", scope},
    {"a capture session", session},
};

START_TEST(counts_know_nothing_of_others)
{
    held_t held = {{NULL}, {0}};
    counted_t counted = {.allocs = 0};
    random_state_t random = {scale_seed("others") + (uint64_t)_i};
    fixture_t *f = opened(SIMULATED, POOL);
    play(f, &held, &counted, &random, false);
    printf("%s\n", others[_i].name);
    others[_i].happen(f);
    expect_sound(f);
    expect_counts(f, &counted);
    play(f, &held, &counted, &random, false);
    free_all(f, &held, &counted);
}
END_TEST

/* A block that cannot grow where it is, for which the heap has two for a
 * while. */
START_TEST(counts_know_nothing_of_the_other_place_of_a_move)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *first = alloc_on(f, KIB(1), A);
    void *wall = alloc_on(f, KIB(1), A);
    void *low = (char *)first < (char *)wall ? first : wall;
    void *moved = NULL;
    expect_ok(cuarena_resize_on(f->arena, low, KIB(8), A, &moved));
    cuarena_stats_t stats = stream_stats_of(f, A);
    expect_u64(stats.allocs, 2);
    expect_u64(stats.frees, 0);
    expect_u64(stats.live_bytes, KIB(9));
    expect_u64(stats.peak_live_bytes, KIB(9));
    expect_sound(f);
    free_on(f, moved, A);
    free_on(f, low == first ? wall : first, A);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_streams_fast");
    suite_add_list(suite, "ends",
                   TEST_LIST(a_listener_hears_of_every_call, a_limit_holds_at_once,
                             another_stream_gets_none_of_its_bytes,
                             a_handle_that_was_released_is_asked_about, either_name_finds_it,
                             peaks_of_the_whole_are_seen));
    suite_add_list(
        suite, "blocks",
        TEST_LIST(blocks_without_a_stream_are_freed_on_it, blocks_that_are_out_of_the_ordinary));
    TCase *counts = suite_add_case(suite, "counts");
    tcase_add_loop_test(counts, counts_are_exact, 0, 4);
    tcase_add_loop_test(counts, counts_know_nothing_of_others, 0, (int)COUNT_OF(others));
    tcase_add_test(counts, counts_know_nothing_of_the_other_place_of_a_move);
    return suite_main(suite);
}
