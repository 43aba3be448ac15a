/*
 * What takes a bounded number of steps, whatever lives: statistics, and the release of a stream
 * among the blocks of others. Counted are the pages of records that a call touches, between 256 and
 * 16384 blocks.
 */
#include "support/fixture_streams.h"
#include "support/touched.h"

#include <stdio.h>
#include <stdlib.h>

#define FEWEST_LOG2 8
#define MOST_LOG2 14
#define MOST ((size_t)1 << MOST_LOG2)
#define EACH KIB(1)
/* A's own: what its release may look at. */
#define OWN 16

typedef struct crowd {
    fixture_t f;
    cuarena_tag_t tag;
    void *own[OWN];
    void *live[MOST];
    size_t count;
} crowd_t;

static crowd_t crowd;

static void *take_tagged_on(cuarena_stream_t stream, cuarena_tag_t tag)
{
    cuarena_request_t request;
    void *pointer = NULL;
    cuarena_request_init(&request);
    request.tag = tag;
    expect_ok(cuarena_alloc_on(crowd.f.arena, EACH, stream, &request, &pointer));
    return pointer;
}

/* So many blocks of stream B, every other one freed again, and OWN blocks of A between them, which
 * are freed. Most free bytes are in one range behind. */
static void gather(size_t count)
{
    fixture_open(&crowd.f, SIMULATED, EACH * MOST * 4);
    expect_ok(cuarena_tag(crowd.f.arena, "crowd", &crowd.tag));
    crowd.count = count;
    for (size_t i = 0, own = 0; i < count; i++) {
        crowd.live[i] = take_tagged_on(B, crowd.tag);
        if (i >= count / 2 && own < OWN)
            crowd.own[own++] = take_tagged_on(A, 0);
    }
    for (size_t i = 0; i < OWN; i++)
        expect_ok(cuarena_free_on(crowd.f.arena, crowd.own[i], A));
    for (size_t i = 0; i < count; i += 2)
        expect_ok(cuarena_free_on(crowd.f.arena, crowd.live[i], B));
    expect_sound(&crowd.f);
}

static void disperse(void)
{
    for (size_t i = 1; i < crowd.count; i += 2)
        expect_ok(cuarena_free_on(crowd.f.arena, crowd.live[i], B));
    fixture_close(&crowd.f);
}

/* ---- Calls ------------------------------------------------------------- */

static void call_stats(cuarena_t *arena)
{
    cuarena_stats_t now;
    for (int32_t region = CUARENA_REGION_ALL; region < CUARENA_REGION_COUNT; region++) {
        cuarena_stats_init(&now);
        expect_ok(cuarena_stats(arena, region, &now));
    }
}

static void call_ort_stats(cuarena_t *arena)
{
    cuarena_ort_stats_t now;
    cuarena_ort_stats_init(&now);
    expect_ok(cuarena_ort_stats(arena, &now));
    ck_assert_int_gt(now.bytes_in_use, 0);
}

static void call_tag_stats(cuarena_t *arena)
{
    cuarena_stats_t now;
    cuarena_stats_init(&now);
    expect_ok(cuarena_tag_stats(arena, crowd.tag, &now));
    expect_u64(now.live_blocks, crowd.count / 2);
}

static void call_stream_stats(cuarena_t *arena)
{
    cuarena_stats_t now;
    cuarena_stats_init(&now);
    expect_ok(cuarena_stream_stats(arena, B, &now));
    expect_u64(now.live_blocks, crowd.count / 2);
}

static void call_step_stats(cuarena_t *arena)
{
    cuarena_step_stats_t steps[32];
    size_t count = 0;
    expect_ok(cuarena_step_stats(arena, steps, 32, &count));
    ck_assert_uint_gt(count, 0);
}

static void call_text(cuarena_t *arena)
{
    char text[4096];
    expect_ok(cuarena_stats_text(arena, CUARENA_TEXT_STATS, text, sizeof text, NULL));
    expect_ok(cuarena_stats_text(arena, CUARENA_TEXT_ORT, text, sizeof text, NULL));
}

static void call_peaks(cuarena_t *arena)
{
    cuarena_peaks_t peaks;
    cuarena_peaks_init(&peaks);
    expect_ok(cuarena_peaks_push(arena, CUARENA_REGION_ALL));
    expect_ok(cuarena_tag_peaks_push(arena, crowd.tag));
    expect_ok(cuarena_stream_peaks_push(arena, B));
    expect_ok(cuarena_stream_peaks_pop(arena, B, &peaks));
    expect_ok(cuarena_tag_peaks_pop(arena, crowd.tag, &peaks));
    expect_ok(cuarena_peaks_pop(arena, CUARENA_REGION_ALL, &peaks));
    expect_ok(cuarena_reset_peaks(arena));
}

static void call_release(cuarena_t *arena)
{
    expect_ok(cuarena_release_stream(arena, A));
}

/* What is not bounded, to see that it is counted. */
static void call_inspect(cuarena_t *arena)
{
    cuarena_inspection_t now;
    cuarena_inspection_init(&now);
    expect_ok(cuarena_inspect(arena, CUARENA_REGION_ALL, &now));
}

static const struct {
    const char *name;
    void (*call)(cuarena_t *arena);
    uint64_t most; /* pages */
} calls[] = {
    /* The first range of the highest class, in each region. */
    {"stats", call_stats, 2},
    {"ort_stats", call_ort_stats, 0},
    {"tag_stats", call_tag_stats, 0},
    {"stream_stats", call_stream_stats, 0},
    {"step_stats", call_step_stats, 0},
    {"stats_text", call_text, 2},
    {"peaks", call_peaks, 0},
    /* A record and its two neighbours each, which lie together. */
    {"release_stream", call_release, 4},
};
#define CALLS ((int)COUNT_OF(calls))

START_TEST(touches_no_more_where_more_lives)
{
    for (uint32_t log2 = FEWEST_LOG2; log2 <= MOST_LOG2; log2++) {
        uint64_t pages;
        gather((size_t)1 << log2);
        touched_begin(crowd.f.arena);
        calls[_i].call(crowd.f.arena);
        uint64_t touched = touched_end(&pages);
        ck_assert_msg(touched <= calls[_i].most,
                      "%s touches %d of %d pages with 2^%d blocks, more than "
                      "%d",
                      calls[_i].name, (int)touched, (int)pages, (int)log2, (int)calls[_i].most);
        disperse();
    }
}
END_TEST

START_TEST(a_walk_touches_every_record)
{
    for (uint32_t log2 = FEWEST_LOG2; log2 <= MOST_LOG2; log2++) {
        gather((size_t)1 << log2);
        touched_begin(crowd.f.arena);
        call_inspect(crowd.f.arena);
        ck_assert_uint_ge(touched_end(NULL), (1u << log2) * 64 / 4096);
        disperse();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bounded");
    TCase *bounded = suite_add_case(suite, "calls");
    tcase_add_loop_test(bounded, touches_no_more_where_more_lives, 0, CALLS);
    suite_add_list(suite, "others", TEST_LIST(a_walk_touches_every_record));
    return suite_main(suite);
}
