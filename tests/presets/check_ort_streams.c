/*
 * What ONNX Runtime's arena does with streams, on ours: its two-stream walk, and a test for each of
 * its flaws there.
 */
#include "support/expect.h"
#include "support/stream_rig.h"

#define SMALL KIB(4)
#define POOL KIB(8)

static void write_and_free(rig_t *rig, void *p, uint64_t bytes, cuarena_stream_t stream,
                           uint64_t seed)
{
    sim_write(&rig->sim, stream, p, bytes, seed);
    free_on(rig, p, stream);
}

/* ---- The walk ---------------------------------------------------------- */

/* A chunk that stream 1 freed is not given to stream 2, as long as nothing steals, and is given
 * back to stream 1. */
START_TEST(a_freed_chunk_goes_to_its_stream_only)
{
    rig_t *rig = prepared_rig(SMALL, false);
    rig->config.steal = CUARENA_STEAL_NEVER;
    rig_create(rig);
    void *p = take_on(rig, SMALL, A);
    write_and_free(rig, p, SMALL, A, 1);
    expect_status(try_on(rig, SMALL, B, NULL), CUARENA_OUT_OF_MEMORY);
    void *again = take_on(rig, SMALL, A);
    ck_assert_ptr_eq(again, p);
    write_and_free(rig, again, SMALL, A, 2);
}
END_TEST

/* Two chunks of 4096 of stream 2 are 8192 for stream 1 once stream 2's buffers are released. */
START_TEST(released_buffers_merge_for_the_other_stream)
{
    for (int32_t steal = 0; steal < 3; steal++) {
        rig_t rig;
        rig_prepare(&rig, POOL, false);
        rig.config.steal = steal;
        rig_create(&rig);
        void *p = take_on(&rig, SMALL, B);
        void *q = take_on(&rig, SMALL, B);
        write_and_free(&rig, p, SMALL, B, 1);
        write_and_free(&rig, q, SMALL, B, 2);
        expect_ok(cuarena_release_stream(rig.arena, B));
        sim_sync(&rig.sim, B);
        expect_ok(cuarena_reclaim(rig.arena, 0, NULL));
        sim_calls(&rig.sim);
        void *all = take_on(&rig, POOL, A);
        expect_u64(rig.sim.counts[SIM_WAIT] + rig.sim.counts[SIM_WAIT_HOST], 0);
        write_and_free(&rig, all, POOL, A, 3);
        rig_close(&rig);
    }
}
END_TEST

static rig_t *bfc_open(rig_t *rig, int32_t steal)
{
    rig_prepare(rig, POOL, false);
    rig->config.preset = CUARENA_PRESET_BFC;
    rig->config.steal = steal;
    rig->config.initial_chunk = SMALL;
    rig->config.max_doubling = SMALL;
    rig->config.limit = (cuarena_amount_t){.value = KIB(1024)};
    rig_create(rig);
    return rig;
}

/* The arena grows instead, unless waiting is asked for; what is done is everybody's. */
START_TEST(no_stream_gets_unfinished_bytes_of_another_unless_asked)
{
    for (int asked = 0; asked < 2; asked++) {
        rig_t rig;
        bfc_open(&rig, asked ? CUARENA_STEAL_WAIT : -1);
        void *p = take_on(&rig, SMALL, A);
        write_and_free(&rig, p, SMALL, A, 1);
        sim_calls(&rig.sim);
        void *q = take_on(&rig, SMALL, B);
        expect_u64(rig.sim.counts[SIM_WAIT], (uint64_t)asked);
        expect_u64(rig.sim.counts[SIM_WAIT_HOST], 0);
        expect_u64(rig_stats(&rig).reserved_bytes, asked ? SMALL : 2 * SMALL);
        ck_assert_int_eq(q == p, asked);
        write_and_free(&rig, q, SMALL, B, 2);
        sim_sync_all(&rig.sim);
        void *r = take_on(&rig, SMALL, C);
        expect_u64(rig_stats(&rig).reserved_bytes, asked ? SMALL : 2 * SMALL);
        write_and_free(&rig, r, SMALL, C, 3);
        rig_close(&rig);
    }
}
END_TEST

/* In the preset too: after a wait stream 2 has what stream 1 freed before, and the arena grows for
 * more. */
START_TEST(bfc_gives_what_a_stream_has_waited_for)
{
    cuarena_mark_t mark;
    rig_t *rig = bfc_open(new_rig(), -1);
    void *p = take_on(rig, SMALL, A);
    void *q = take_on(rig, SMALL, A);
    write_and_free(rig, p, SMALL, A, 1);
    expect_ok(cuarena_stream_mark(rig->arena, A, &mark));
    sim_order(&rig->sim, B, A);
    write_and_free(rig, q, SMALL, A, 2);
    expect_ok(cuarena_stream_waited(rig->arena, B, A, mark));
    sim_calls(&rig->sim);
    void *r = take_on(rig, SMALL, B);
    ck_assert_ptr_eq(r, p);
    void *s = take_on(rig, SMALL, B);
    ck_assert_ptr_ne(s, q);
    expect_u64(rig->sim.counts[SIM_WAIT] + rig->sim.counts[SIM_WAIT_HOST], 0);
    expect_u64(rig_stats(rig).reserved_bytes, 3 * SMALL);
    write_and_free(rig, r, SMALL, B, 3);
    write_and_free(rig, s, SMALL, B, 4);
}
END_TEST

/* After a wait stream 2 may take what stream 1 freed before its event, and not what it freed later;
 * with steal=wait it has that too, behind another wait. */
START_TEST(a_wait_gives_what_was_freed_before_the_event)
{
    for (int32_t steal = 0; steal < 3; steal++) {
        rig_t rig;
        void *other = NULL;
        cuarena_mark_t mark;
        bool steals = steal != CUARENA_STEAL_NEVER;
        rig_prepare(&rig, POOL, false);
        rig.config.steal = steal;
        rig_create(&rig);
        void *p = take_on(&rig, SMALL, A);
        void *q = take_on(&rig, SMALL, A);
        write_and_free(&rig, p, SMALL, A, 1);
        expect_ok(cuarena_stream_mark(rig.arena, A, &mark));
        sim_order(&rig.sim, B, A);
        write_and_free(&rig, q, SMALL, A, 2);
        expect_ok(cuarena_stream_waited(rig.arena, B, A, mark));
        if (!steals) /* waits are of no use where free lists serve one stream */
            expect_ok(cuarena_reclaim(rig.arena, 1, NULL));
        void *r = take_on(&rig, SMALL, B);
        ck_assert(!steals || r == p);
        sim_calls(&rig.sim);
        expect_ok(cuarena_alloc_on(rig.arena, SMALL, B, NULL, &other));
        expect_u64(rig.sim.counts[SIM_WAIT], steal == CUARENA_STEAL_WAIT);
        write_and_free(&rig, r, SMALL, B, 3);
        write_and_free(&rig, other, SMALL, B, 4);
        rig_close(&rig);
    }
}
END_TEST

/* ---- Flaws ------------------------------------------------------------- */

/* Theirs stamps a chunk when it is allocated: used after another stream's wait it still counts as
 * safe for that one. */
START_TEST(what_counts_is_when_bytes_were_freed)
{
    cuarena_mark_t mark;
    rig_t *rig = opened_rig(SMALL);
    void *p = take_on(rig, SMALL, A);
    expect_ok(cuarena_stream_mark(rig->arena, A, &mark));
    sim_order(&rig->sim, B, A);
    expect_ok(cuarena_stream_waited(rig->arena, B, A, mark));
    write_and_free(rig, p, SMALL, A, 1); /* after the wait */
    sim_calls(&rig->sim);
    void *q = take_on(rig, SMALL, B);
    expect_u64(rig->sim.counts[SIM_WAIT], 1);
    write_and_free(rig, q, SMALL, B, 2);
}
END_TEST

/* Theirs lists a chunk that another stream took over under the old one still, whose release then
 * strips the new owner's tag. */
START_TEST(the_release_of_the_old_stream_leaves_what_was_taken_over)
{
    rig_t *rig = opened_rig(SMALL);
    void *p = take_on(rig, SMALL, A);
    write_and_free(rig, p, SMALL, A, 1);
    void *q = take_on(rig, SMALL, B); /* taken over */
    sim_write(&rig->sim, B, q, SMALL, 2);
    expect_ok(cuarena_release_stream(rig->arena, A));
    sim_stream_kill(&rig->sim, A);
    expect_u64(rig_stream_stats(rig, B).live_blocks, 1);
    free_on(rig, q, B);
    expect_u64(rig_stream_stats(rig, B).free_bytes, SMALL);
    sim_calls(&rig->sim);
    void *r = take_on(rig, SMALL, C); /* behind B, not idle by the release */
    expect_u64(rig->sim.counts[SIM_WAIT], 1);
    write_and_free(rig, r, SMALL, C, 3);
}
END_TEST

/* Theirs tags the rest of a split chunk without listing it: the tag is a stale stream after the
 * release. */
START_TEST(the_rest_of_a_split_is_released_too)
{
    rig_t *rig = opened_rig(POOL);
    void *p = take_on(rig, POOL, A);
    write_and_free(rig, p, POOL, A, 1);
    void *part = take_on(rig, SMALL, A);
    write_and_free(rig, part, SMALL, A, 2);
    part = take_on(rig, SMALL, A);
    sim_write(&rig->sim, A, part, SMALL, 3);
    expect_ok(cuarena_release_stream(rig->arena, A));
    sim_stream_kill(&rig->sim, A); /* the sim reports who touches it */
    void *rest = take_on(rig, SMALL, B);
    write_and_free(rig, rest, SMALL, B, 4);
    sim_sync_all(&rig->sim);
    free_plain(rig, part);
}
END_TEST

/* Theirs untags chunks in use as well: freed later, anybody may have them at once. */
START_TEST(a_release_does_not_reclaim_blocks_that_live)
{
    rig_t *rig = opened_rig(SMALL);
    void *p = take_on(rig, SMALL, A);
    sim_write(&rig->sim, A, p, SMALL, 1);
    expect_ok(cuarena_release_stream(rig->arena, A));
    sim_order(&rig->sim, B, A);
    sim_stream_kill(&rig->sim, A);
    free_on(rig, p, B); /* B is behind A's work */
    sim_calls(&rig->sim);
    void *q = take_on(rig, SMALL, C);
    expect_u64(rig->sim.counts[SIM_WAIT], 1);
    write_and_free(rig, q, SMALL, C, 2);
}
END_TEST

/* Theirs walks all chunks at each release; here it is the free list's ranges, and what other
 * streams have is not looked at (check_bounded.c counts that). */
START_TEST(a_release_takes_what_the_stream_freed)
{
    void *blocks[64];
    rig_t *rig = opened_rig(KIB(64));
    for (int i = 0; i < 64; i++)
        blocks[i] = take_on(rig, KIB(1), i % 2 ? A : B);
    for (int i = 0; i < 64; i++)
        write_and_free(rig, blocks[i], KIB(1), i % 2 ? A : B, (uint64_t)i + 1);
    uint64_t others = rig_stream_stats(rig, B).free_bytes;
    expect_ok(cuarena_release_stream(rig->arena, A));
    expect_u64(rig_stream_stats(rig, B).free_bytes, others);
    sim_run_all(&rig->sim);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ort_streams");
    suite_add_list(suite, "walk",
                   TEST_LIST(a_freed_chunk_goes_to_its_stream_only,
                             released_buffers_merge_for_the_other_stream,
                             no_stream_gets_unfinished_bytes_of_another_unless_asked,
                             bfc_gives_what_a_stream_has_waited_for,
                             a_wait_gives_what_was_freed_before_the_event));
    suite_add_list(suite, "flaws",
                   TEST_LIST(what_counts_is_when_bytes_were_freed,
                             the_release_of_the_old_stream_leaves_what_was_taken_over,
                             the_rest_of_a_split_is_released_too,
                             a_release_does_not_reclaim_blocks_that_live,
                             a_release_takes_what_the_stream_freed));
    return suite_main(suite);
}
