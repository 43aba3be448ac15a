/*
 * What takes a bounded number of steps, whatever lives: statistics, and the release of a stream
 * among the blocks of others. Counted are the instructions of a call among 256 blocks and among
 * 16384.
 */
#include "support/counted.h"
#include "support/fixture_streams.h"

#include <stdio.h>
#include <stdlib.h>

#define FEW ((size_t)256)
#define MOST ((size_t)16384)
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

static void *alloc_tagged_on(cuarena_stream_t stream, cuarena_tag_t tag)
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
static void gather(void *user)
{
    const size_t count = *(const size_t *)user;
    fixture_open(&crowd.f, SIMULATED, EACH * MOST * 4);
    expect_ok(cuarena_tag(crowd.f.arena, "crowd", &crowd.tag));
    crowd.count = count;
    for (size_t i = 0, own = 0; i < count; i++) {
        crowd.live[i] = alloc_tagged_on(B, crowd.tag);
        if (i >= count / 2 && own < OWN)
            crowd.own[own++] = alloc_tagged_on(A, 0);
    }
    for (size_t i = 0; i < OWN; i++)
        expect_ok(cuarena_free_on(crowd.f.arena, crowd.own[i], A));
    for (size_t i = 0; i < count; i += 2)
        expect_ok(cuarena_free_on(crowd.f.arena, crowd.live[i], B));
    expect_sound(&crowd.f);
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

typedef struct call {
    const char *name;
    void (*call)(cuarena_t *arena);
} call_t;

/* The last takes so many that it is left to long runs. */
static const call_t calls[] = {
    {"stats", call_stats},
    {"ort_stats", call_ort_stats},
    {"tag_stats", call_tag_stats},
    {"stream_stats", call_stream_stats},
    {"step_stats", call_step_stats},
    {"peaks", call_peaks},
    {"release_stream", call_release},
    {"stats_text", call_text},
};
static const call_t walk = {"inspect", call_inspect};

static const call_t *counted; /* the call */

static void make_call(void *user)
{
    (void)user;
    counted->call(crowd.f.arena);
}

static uint64_t instructions_with(const call_t *call, size_t blocks)
{
    counted = call;
    uint64_t count = counted_instructions(gather, make_call, &blocks);
    printf("%s among %zu blocks: %llu instructions\n", call->name, blocks,
           (unsigned long long)count);
    return count;
}

START_TEST(takes_no_more_where_more_lives)
{
    uint64_t few = instructions_with(&calls[_i], FEW);
    expect_between(instructions_with(&calls[_i], MOST), 1, few + few / 4);
}
END_TEST

START_TEST(a_walk_looks_at_every_block)
{
    uint64_t few = instructions_with(&walk, FEW);
    expect_between(instructions_with(&walk, 8 * FEW), few + 7 * FEW, UINT64_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bounded");
    TCase *bounded = suite_add_case(suite, "calls");
    const char *why = counted_possible() ? NULL : "no process may trace its child here";
    size_t fewer = (size_t)scale_pick(1, 1, 0);
    add_test_unless(bounded, takes_no_more_where_more_lives, COUNT_OF(calls) - fewer, why);
    add_test_unless(bounded, a_walk_looks_at_every_block, 1, why);
    tcase_set_timeout(bounded, scale_timeout(120));
    return suite_main(suite);
}
