/*
 * What ONNX Runtime's arena does with streams, on ours: its two-stream walk, and a test for each of
 * its flaws there.
 */
#include "support/expect.h"
#include "support/fixture_streams.h"

#define SMALL KIB(4)
#define POOL KIB(8)

static void write_and_free(fixture_t *f, void *p, uint64_t bytes, cuarena_stream_t stream,
                           uint64_t seed)
{
    sim_write(&f->sim, stream, p, bytes, seed);
    free_on(f, p, stream);
}

/* ---- The walk ---------------------------------------------------------- */

/* A chunk that stream 1 freed is not given to stream 2, as long as nothing steals, and is given
 * back to stream 1. */
START_TEST(a_freed_chunk_goes_to_its_stream_only)
{
    fixture_t *f = prepared(SIMULATED, SMALL);
    f->config.steal = CUARENA_STEAL_NEVER;
    fixture_create(f);
    void *p = alloc_on(f, SMALL, A);
    write_and_free(f, p, SMALL, A, 1);
    expect_status(try_on(f, SMALL, B, NULL), CUARENA_OUT_OF_MEMORY);
    void *again = alloc_on(f, SMALL, A);
    ck_assert_ptr_eq(again, p);
    write_and_free(f, again, SMALL, A, 2);
}
END_TEST

/* Two chunks of 4096 of stream 2 are 8192 for stream 1 once stream 2's buffers are released. */
START_TEST(released_buffers_merge_for_the_other_stream)
{
    for (int32_t steal = 0; steal <= CUARENA_STEAL_NEVER; steal++) {
        fixture_t f;
        fixture_prepare(&f, SIMULATED, POOL);
        f.config.steal = steal;
        fixture_create(&f);
        void *p = alloc_on(&f, SMALL, B);
        void *q = alloc_on(&f, SMALL, B);
        write_and_free(&f, p, SMALL, B, 1);
        write_and_free(&f, q, SMALL, B, 2);
        expect_ok(cuarena_release_stream(f.arena, B));
        sim_sync(&f.sim, B);
        expect_ok(cuarena_reclaim(f.arena, 0, NULL));
        sim_calls(&f.sim);
        void *all = alloc_on(&f, POOL, A);
        expect_u64(f.sim.counts[SIM_WAIT] + f.sim.counts[SIM_WAIT_HOST], 0);
        write_and_free(&f, all, POOL, A, 3);
        fixture_close(&f);
    }
}
END_TEST

static fixture_t *bfc_open(fixture_t *f, int32_t steal)
{
    fixture_prepare(f, SIMULATED, POOL);
    f->config.preset = CUARENA_PRESET_BFC;
    f->config.steal = steal;
    f->config.initial_chunk = SMALL;
    f->config.max_doubling = SMALL;
    f->config.limit = (cuarena_amount_t){.value = KIB(1024)};
    fixture_create(f);
    return f;
}

/* The arena grows instead, unless waiting is asked for; what is done is everybody's. */
START_TEST(no_stream_gets_unfinished_bytes_of_another_unless_asked)
{
    for (int asked = 0; asked < 2; asked++) {
        fixture_t f;
        bfc_open(&f, asked ? CUARENA_STEAL_FIRST : -1);
        void *p = alloc_on(&f, SMALL, A);
        write_and_free(&f, p, SMALL, A, 1);
        sim_calls(&f.sim);
        void *q = alloc_on(&f, SMALL, B);
        expect_u64(f.sim.counts[SIM_WAIT], (uint64_t)asked);
        expect_u64(f.sim.counts[SIM_WAIT_HOST], 0);
        expect_u64(stats_of(&f).reserved_bytes, asked ? SMALL : 2 * SMALL);
        ck_assert_int_eq(q == p, asked);
        write_and_free(&f, q, SMALL, B, 2);
        sim_sync_all(&f.sim);
        void *r = alloc_on(&f, SMALL, C);
        expect_u64(stats_of(&f).reserved_bytes, asked ? SMALL : 2 * SMALL);
        write_and_free(&f, r, SMALL, C, 3);
        fixture_close(&f);
    }
}
END_TEST

/* In the preset too: after a wait stream 2 has what stream 1 freed before, and the arena grows for
 * more. */
START_TEST(bfc_gives_what_a_stream_has_waited_for)
{
    cuarena_mark_t mark;
    fixture_t *f = bfc_open(new_fixture(fixture_close), -1);
    void *p = alloc_on(f, SMALL, A);
    void *q = alloc_on(f, SMALL, A);
    write_and_free(f, p, SMALL, A, 1);
    expect_ok(cuarena_stream_mark(f->arena, A, &mark));
    sim_order(&f->sim, B, A);
    write_and_free(f, q, SMALL, A, 2);
    expect_ok(cuarena_stream_waited(f->arena, B, A, mark));
    sim_calls(&f->sim);
    void *r = alloc_on(f, SMALL, B);
    ck_assert_ptr_eq(r, p);
    void *s = alloc_on(f, SMALL, B);
    ck_assert_ptr_ne(s, q);
    expect_u64(f->sim.counts[SIM_WAIT] + f->sim.counts[SIM_WAIT_HOST], 0);
    expect_u64(stats_of(f).reserved_bytes, 3 * SMALL);
    write_and_free(f, r, SMALL, B, 3);
    write_and_free(f, s, SMALL, B, 4);
}
END_TEST

/* After a wait stream 2 may take what stream 1 freed before its event, and not what it freed later;
 * with steal=wait it has that too, behind another wait. */
START_TEST(a_wait_gives_what_was_freed_before_the_event)
{
    for (int32_t steal = 0; steal <= CUARENA_STEAL_NEVER; steal++) {
        fixture_t f;
        void *other = NULL;
        cuarena_mark_t mark;
        bool steals = steal != CUARENA_STEAL_NEVER;
        fixture_prepare(&f, SIMULATED, POOL);
        f.config.steal = steal;
        fixture_create(&f);
        void *p = alloc_on(&f, SMALL, A);
        void *q = alloc_on(&f, SMALL, A);
        write_and_free(&f, p, SMALL, A, 1);
        expect_ok(cuarena_stream_mark(f.arena, A, &mark));
        sim_order(&f.sim, B, A);
        write_and_free(&f, q, SMALL, A, 2);
        expect_ok(cuarena_stream_waited(f.arena, B, A, mark));
        if (!steals) /* waits are of no use where free lists serve one stream */
            expect_ok(cuarena_reclaim(f.arena, 1, NULL));
        void *r = alloc_on(&f, SMALL, B);
        ck_assert(!steals || r == p);
        sim_calls(&f.sim);
        expect_ok(cuarena_alloc_on(f.arena, SMALL, B, NULL, &other));
        expect_u64(f.sim.counts[SIM_WAIT], steal <= CUARENA_STEAL_WAIT); /* it is a pool */
        write_and_free(&f, r, SMALL, B, 3);
        write_and_free(&f, other, SMALL, B, 4);
        fixture_close(&f);
    }
}
END_TEST

/* ---- Flaws ------------------------------------------------------------- */

/* Theirs stamps a chunk when it is allocated: used after another stream's wait it still counts as
 * safe for that one. */
START_TEST(what_counts_is_when_bytes_were_freed)
{
    cuarena_mark_t mark;
    fixture_t *f = opened(SIMULATED, SMALL);
    void *p = alloc_on(f, SMALL, A);
    expect_ok(cuarena_stream_mark(f->arena, A, &mark));
    sim_order(&f->sim, B, A);
    expect_ok(cuarena_stream_waited(f->arena, B, A, mark));
    write_and_free(f, p, SMALL, A, 1); /* after the wait */
    sim_calls(&f->sim);
    void *q = alloc_on(f, SMALL, B);
    expect_u64(f->sim.counts[SIM_WAIT], 1);
    write_and_free(f, q, SMALL, B, 2);
}
END_TEST

/* Theirs lists a chunk that another stream took over under the old one still, whose release then
 * strips the new owner's tag. */
START_TEST(the_release_of_the_old_stream_leaves_what_was_taken_over)
{
    fixture_t *f = opened(SIMULATED, SMALL);
    void *p = alloc_on(f, SMALL, A);
    write_and_free(f, p, SMALL, A, 1);
    void *q = alloc_on(f, SMALL, B); /* taken over */
    sim_write(&f->sim, B, q, SMALL, 2);
    expect_ok(cuarena_release_stream(f->arena, A));
    sim_stream_kill(&f->sim, A);
    expect_u64(stream_stats_of(f, B).live_blocks, 1);
    free_on(f, q, B);
    expect_u64(stream_stats_of(f, B).free_bytes, SMALL);
    sim_calls(&f->sim);
    void *r = alloc_on(f, SMALL, C); /* behind B, not idle by the release */
    expect_u64(f->sim.counts[SIM_WAIT], 1);
    write_and_free(f, r, SMALL, C, 3);
}
END_TEST

/* Theirs tags the rest of a split chunk without listing it: the tag is a stale stream after the
 * release. */
START_TEST(the_rest_of_a_split_is_released_too)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_on(f, POOL, A);
    write_and_free(f, p, POOL, A, 1);
    void *part = alloc_on(f, SMALL, A);
    write_and_free(f, part, SMALL, A, 2);
    part = alloc_on(f, SMALL, A);
    sim_write(&f->sim, A, part, SMALL, 3);
    expect_ok(cuarena_release_stream(f->arena, A));
    sim_stream_kill(&f->sim, A); /* the sim reports who touches it */
    void *rest = alloc_on(f, SMALL, B);
    write_and_free(f, rest, SMALL, B, 4);
    sim_sync_all(&f->sim);
    free_ok(f, part);
}
END_TEST

/* Theirs untags chunks in use as well: freed later, anybody may have them at once. */
START_TEST(a_release_does_not_reclaim_blocks_that_live)
{
    fixture_t *f = opened(SIMULATED, SMALL);
    void *p = alloc_on(f, SMALL, A);
    sim_write(&f->sim, A, p, SMALL, 1);
    expect_ok(cuarena_release_stream(f->arena, A));
    sim_order(&f->sim, B, A);
    sim_stream_kill(&f->sim, A);
    free_on(f, p, B); /* B is behind A's work */
    sim_calls(&f->sim);
    void *q = alloc_on(f, SMALL, C);
    expect_u64(f->sim.counts[SIM_WAIT], 1);
    write_and_free(f, q, SMALL, C, 2);
}
END_TEST

/* Theirs walks all chunks at each release; here it is the free list's ranges, and what other
 * streams have is not looked at (check_bounds.c counts that). */
START_TEST(a_release_takes_what_the_stream_freed)
{
    void *blocks[64];
    fixture_t *f = opened(SIMULATED, KIB(64));
    for (int i = 0; i < 64; i++)
        blocks[i] = alloc_on(f, KIB(1), i % 2 ? A : B);
    for (int i = 0; i < 64; i++)
        write_and_free(f, blocks[i], KIB(1), i % 2 ? A : B, (uint64_t)i + 1);
    uint64_t others = stream_stats_of(f, B).free_bytes;
    expect_ok(cuarena_release_stream(f->arena, A));
    expect_u64(stream_stats_of(f, B).free_bytes, others);
    sim_run_all(&f->sim);
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
