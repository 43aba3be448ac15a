/*
 * The only stream of an arena is at hand: its calls look for nothing and ask nothing; while all
 * blocks that there ever were are its, they count nothing either. What ends that, while blocks of
 * it live and bytes of it are free; what it must not be given or free the short way; and its
 * counts, against a model that keeps every moment.
 */
#include "support/random.h"
#include "support/scale.h"
#include "support/stream_rig.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define POOL KIB(64)

/* Calls enough for A to be at hand, with free bytes in its open free list. */
static rig_t *open_at_hand(rig_t *rig)
{
    rig_open(rig, POOL);
    for (int i = 0; i < 4; i++)
        free_on(rig, take_on(rig, KIB(4), A), A);
    sim_calls(&rig->sim);
    expect_clean(rig);
    return rig;
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
    rig_t *rig = open_at_hand(new_rig());
    expect_ok(cuarena_set_event_listener(rig->arena, hear, heard));
    free_on(rig, take_on(rig, KIB(1), A), A);
    expect_u64(heard[CUARENA_EVENT_ALLOC], 1);
    expect_u64(heard[CUARENA_EVENT_FREE], 1);
    expect_ok(cuarena_set_event_listener(rig->arena, NULL, NULL));
    free_on(rig, take_on(rig, KIB(1), A), A);
    expect_u64(heard[CUARENA_EVENT_ALLOC], 1);
    expect_u64(heard[CUARENA_EVENT_FREE], 1);
}
END_TEST

START_TEST(a_limit_holds_at_once)
{
    void *p = NULL;
    rig_t *rig = open_at_hand(new_rig());
    cuarena_amount_t most = {CUARENA_AMOUNT_BYTES, 0, KIB(2)};
    expect_ok(cuarena_set_limit(rig->arena, CUARENA_LIMIT_LIVE, most, NULL));
    void *q = take_on(rig, KIB(2), A);
    expect_status(cuarena_alloc_on(rig->arena, 256, A, NULL, &p), CUARENA_LIMIT);
    free_on(rig, q, A);
}
END_TEST

/* B is behind nothing of A's: it gets other bytes, also later. */
START_TEST(another_stream_gets_none_of_its_bytes)
{
    rig_t *rig = open_at_hand(new_rig());
    void *p = use_anew(rig, KIB(4), A);
    void *of_b = take_on(rig, KIB(4), B);
    ck_assert_ptr_ne(of_b, p);
    sim_write(&rig->sim, B, of_b, KIB(4), 2);
    ck_assert_ptr_eq(take_on(rig, KIB(4), A), p);
    free_on(rig, p, B); /* which is behind A's work, says the caller */
    free_on(rig, of_b, A);
    sim_order(&rig->sim, B, A);
    sim_order(&rig->sim, A, B);
    expect_u64(rig_stream_stats(rig, B).free_bytes, KIB(4));
    expect_u64(rig_stream_stats(rig, A).live_blocks, 0);
    expect_u64(rig_stream_stats(rig, B).live_blocks, 0);
    expect_clean(rig);
}
END_TEST

/* ... and comes to be at hand again when the other has gone. */
START_TEST(a_handle_that_was_released_is_asked_about)
{
    rig_t *rig = open_at_hand(new_rig());
    free_on(rig, take_on(rig, 256, B), B);
    expect_ok(cuarena_release_stream(rig->arena, B));
    sim_sync_all(&rig->sim);
    expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
    for (int i = 0; i < 4; i++)
        free_on(rig, take_on(rig, KIB(4), A), A);
    use_anew(rig, KIB(4), A);
    expect_clean(rig);
    expect_ok(cuarena_release_stream(rig->arena, A)); /* keeps its number */
    expect_clean(rig);
    sim_stream_kill(&rig->sim, A);
    sim_stream_make(&rig->sim, A);
    sim_calls(&rig->sim);
    void *p = take_on(rig, 256, A);
    expect_u64(rig->sim.counts[SIM_IDENTIFY], 1);
    expect_u64(rig_stream_stats(rig, A).allocs, 1);
    free_on(rig, p, A);
}
END_TEST

/* Two names for one stream, each of which may be the one at hand. */
START_TEST(either_name_finds_it)
{
    rig_t *rig = opened_rig(POOL);
    for (int i = 0; i < 8; i++) {
        cuarena_stream_t names[] = {CUARENA_STREAM_LEGACY, NULL};
        void *p = NULL;
        expect_ok(cuarena_alloc_on(rig->arena, KIB(1), names[i & 1], NULL, &p));
        expect_ok(cuarena_free_on(rig->arena, p, names[i >> 1 & 1]));
        expect_clean(rig);
    }
    cuarena_stats_t stats = rig_stream_stats(rig, CUARENA_STREAM_LEGACY);
    expect_u64(stats.allocs, 8);
    expect_u64(stats.frees, 8);
}
END_TEST

/* The whole's peaks are kept apart while a scope of them is open. */
START_TEST(peaks_of_the_whole_are_seen)
{
    cuarena_peaks_t peaks;
    cuarena_peaks_init(&peaks);
    rig_t *rig = open_at_hand(new_rig());
    expect_ok(cuarena_peaks_push(rig->arena, CUARENA_REGION_ALL));
    free_on(rig, take_on(rig, KIB(3), A), A);
    expect_ok(cuarena_peaks_pop(rig->arena, CUARENA_REGION_ALL, &peaks));
    expect_u64(peaks.live_bytes, KIB(3));
    expect_u64(rig_stats(rig).peak_live_bytes, KIB(4));
}
END_TEST

/* ---- Blocks that are not its ordinary ones ----------------------------- */

START_TEST(blocks_without_a_stream_are_freed_on_it)
{
    rig_t *rig = open_at_hand(new_rig());
    void *p = take_plain(rig, KIB(2));
    free_on(rig, p, A);
    expect_u64(rig_stream_stats(rig, A).frees, 4);
    expect_u64(rig_stream_stats(rig, A).live_blocks, 0);
    expect_u64(rig_stats(rig).live_blocks, 0);
    expect_clean(rig);
    p = take_on(rig, KIB(2), A);
    sim_sync(&rig->sim, A);
    free_plain(rig, p);
    expect_u64(rig_stream_stats(rig, A).frees, 5);
    expect_u64(rig_stream_stats(rig, A).live_blocks, 0);
}
END_TEST

/* Whose alignment is another, which have a tag, or a pin more. */
START_TEST(blocks_that_are_out_of_the_ordinary)
{
    cuarena_request_t request;
    cuarena_tag_t tag = 0;
    void *p[2] = {NULL, NULL};
    rig_t *rig = open_at_hand(new_rig());
    cuarena_request_init(&request);
    request.alignment = KIB(4);
    expect_ok(cuarena_alloc_on(rig->arena, 256, A, &request, &p[0]));
    cuarena_request_init(&request);
    expect_ok(cuarena_tag(rig->arena, "weights", &tag));
    request.tag = tag;
    expect_ok(cuarena_alloc_on(rig->arena, 256, A, &request, &p[1]));
    cuarena_block_t block = take_block_on(rig, 256, A);
    void *at = NULL;
    expect_ok(cuarena_block_pin_on(rig->arena, block, A, &at));
    expect_u64(rig_stream_stats(rig, A).live_blocks, 3);
    expect_ok(cuarena_free_on(rig->arena, at, A));
    expect_status(cuarena_block_free_on(rig->arena, block, A), CUARENA_STALE);
    free_on(rig, p[0], A);
    free_on(rig, p[1], A);
    expect_status(cuarena_free_on(rig->arena, p[1], A), CUARENA_STALE);
    expect_u64(rig_stream_stats(rig, A).live_blocks, 0);
    expect_u64(rig_stream_stats(rig, A).frees, 4 + 3);
    expect_clean(rig);
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

static void expect_counts(rig_t *rig, const counted_t *c)
{
    cuarena_stats_t stats = rig_stream_stats(rig, A);
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

static void take_or_drop(rig_t *rig, held_t *h, int i, uint64_t bytes, counted_t *c)
{
    if (h->at[i] == NULL) {
        h->at[i] = take_on(rig, bytes, A);
        h->bytes[i] = bytes;
        c->allocs++;
        count(c, rounded(bytes), bytes, 1);
        return;
    }
    free_on(rig, h->at[i], A);
    h->at[i] = NULL;
    c->frees++;
    count(c, -rounded(h->bytes[i]), -h->bytes[i], UINT64_MAX);
}

/* In place only: one that moves is two blocks for a moment. */
static void shorten(rig_t *rig, held_t *h, int i, uint64_t bytes, counted_t *c)
{
    if (h->at[i] == NULL || bytes > h->bytes[i])
        return;
    void *at = NULL;
    expect_ok(cuarena_resize_on(rig->arena, h->at[i], bytes, A, &at));
    ck_assert_ptr_eq(at, h->at[i]);
    count(c, rounded(bytes) - rounded(h->bytes[i]), bytes - h->bytes[i], 0);
    h->bytes[i] = bytes;
}

static void play(rig_t *rig, held_t *held, counted_t *counted, random_state_t *random, bool resets)
{
    for (int step = 0; step < STEPS; step++) {
        int slot = (int)random_below(random, SLOTS);
        uint64_t bytes = 1 + random_below(random, 2000);
        uint64_t what = random_below(random, 100);
        if (what < 90)
            take_or_drop(rig, held, slot, bytes, counted);
        else if (what < 99)
            shorten(rig, held, slot, bytes, counted);
        else if (resets) {
            expect_ok(cuarena_reset_peaks(rig->arena));
            memcpy(counted->peak, counted->now, sizeof counted->peak);
        }
        if (counted->allocs != 0)
            expect_counts(rig, counted);
    }
    expect_clean(rig);
}

static void drop_all(rig_t *rig, held_t *held, counted_t *counted)
{
    for (int i = 0; i < SLOTS; i++)
        if (held->at[i] != NULL)
            take_or_drop(rig, held, i, 1, counted);
    expect_counts(rig, counted);
}

START_TEST(counts_are_exact)
{
    held_t held = {{NULL}, {0}};
    counted_t counted = {.allocs = 0};
    random_state_t random = {scale_seed("counts") + (uint64_t)_i};
    rig_t *rig = opened_rig(POOL);
    play(rig, &held, &counted, &random, _i % 2 != 0);
    drop_all(rig, &held, &counted);
}
END_TEST

/* ---- What else comes to what its heap counts --------------------------- */

static void alloc_plain(rig_t *rig)
{
    free_plain(rig, take_plain(rig, KIB(1)));
}

static void block_plain(rig_t *rig)
{
    cuarena_block_t block = 0;
    expect_ok(cuarena_block_alloc(rig->arena, 300, &block));
    expect_ok(cuarena_block_free(rig->arena, block));
    expect_ok(cuarena_block_alloc(rig->arena, 0, &block));
    expect_ok(cuarena_block_free(rig->arena, block));
}

static void tagged_plain(rig_t *rig)
{
    void *p = NULL;
    cuarena_request_t request;
    cuarena_request_init(&request);
    expect_ok(cuarena_tag(rig->arena, "others", &request.tag));
    expect_ok(cuarena_alloc_with(rig->arena, 700, &request, &p));
    expect_ok(cuarena_free(rig->arena, p));
}

static void adopt(rig_t *rig)
{
    static _Alignas(256) char bytes[512];
    cuarena_block_t block = 0;
    expect_ok(cuarena_adopt(rig->arena, bytes, sizeof bytes, 0, &block));
    expect_ok(cuarena_block_free(rig->arena, block));
}

static void use_other(rig_t *rig)
{
    free_on(rig, take_on(rig, KIB(2), B), B);
}

static void scope(rig_t *rig)
{
    cuarena_peaks_t peaks;
    cuarena_peaks_init(&peaks);
    expect_ok(cuarena_stream_peaks_push(rig->arena, A));
    expect_ok(cuarena_stream_peaks_pop(rig->arena, A, &peaks));
    expect_ok(cuarena_peaks_push(rig->arena, CUARENA_REGION_DYNAMIC));
    expect_ok(cuarena_peaks_pop(rig->arena, CUARENA_REGION_DYNAMIC, &peaks));
}

static void session(rig_t *rig)
{
    cuarena_capture_t *capture = NULL;
    expect_ok(cuarena_capture_begin(rig->arena, A, &capture));
    expect_ok(cuarena_capture_end(rig->arena, capture));
    expect_ok(cuarena_capture_release(rig->arena, &capture, A));
}

/* Each is made while blocks of A live; its counts do not know of it. */
static const struct {
    const char *name;
    void (*happen)(rig_t *rig);
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
    rig_t *rig = opened_rig(POOL);
    play(rig, &held, &counted, &random, false);
    printf("%s\n", others[_i].name);
    others[_i].happen(rig);
    expect_clean(rig);
    expect_counts(rig, &counted);
    play(rig, &held, &counted, &random, false);
    drop_all(rig, &held, &counted);
}
END_TEST

/* A block that cannot grow where it is, for which the heap has two for a
 * while. */
START_TEST(counts_know_nothing_of_the_other_place_of_a_move)
{
    rig_t *rig = opened_rig(POOL);
    void *first = take_on(rig, KIB(1), A);
    void *wall = take_on(rig, KIB(1), A);
    void *low = (char *)first < (char *)wall ? first : wall;
    void *moved = NULL;
    expect_ok(cuarena_resize_on(rig->arena, low, KIB(8), A, &moved));
    cuarena_stats_t stats = rig_stream_stats(rig, A);
    expect_u64(stats.allocs, 2);
    expect_u64(stats.frees, 0);
    expect_u64(stats.live_bytes, KIB(9));
    expect_u64(stats.peak_live_bytes, KIB(9));
    expect_clean(rig);
    free_on(rig, moved, A);
    free_on(rig, low == first ? wall : first, A);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_streams_hand");
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
