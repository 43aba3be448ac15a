/*
 * Compaction among streams, on streams that are simulated: who waits for whom, whose the vacated
 * bytes are, and what may be done with a block while it is copied.
 */
#include "support/checks.h"
#include "support/fixture_streams.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define POOL KIB(64)
#define ROW 8
#define SIZE (POOL / ROW)

static cuarena_block_t row[ROW];

static cuarena_compact_options_t on_stream(cuarena_stream_t stream)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = stream;
    return options;
}

static void compact(fixture_t *f, cuarena_stream_t stream)
{
    cuarena_compact_options_t options = on_stream(stream);
    expect_ok(cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    expect_sound(f);
}

/* Blocks that fill the pool, block i written on its stream; those at even places are freed, on
 * A. */
static void open_holes(fixture_t *f, cuarena_stream_t stream)
{
    alloc_row_on(f, row, ROW, stream);
    for (int i = 0; i < ROW; i++)
        write_block_on(f, row[i], SIZE, stream, (uint64_t)i + 1);
    for (int i = 0; i < ROW; i += 2)
        expect_ok(cuarena_block_free_on(f->arena, row[i], stream));
    expect_sound(f);
}

/* The same with the holes idle: anybody may move into them. */
static void open_idle(fixture_t *f, cuarena_stream_t stream)
{
    open_holes(f, stream);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    sim_sync_all(&f->sim);
    sim_calls(&f->sim);
}

static void close_holes(fixture_t *f, cuarena_stream_t stream)
{
    for (int i = 1; i < ROW; i += 2) {
        read_block_on(f, row[i], SIZE, stream, (uint64_t)i + 1);
        expect_ok(cuarena_block_free_on(f->arena, row[i], stream));
    }
    fixture_close(f);
}

/* A block of the row that was freed is there again for close_holes. */
static void alloc_again(fixture_t *f, int i)
{
    row[i] = alloc_block_on(f, SIZE, A);
    write_block_on(f, row[i], SIZE, A, (uint64_t)i + 1);
}

/* ---- Order ------------------------------------------------------------- */

/* On the blocks' own stream: no waiting at all, and the vacated bytes are the stream's at once. */
START_TEST(compaction_on_the_own_stream_waits_for_nobody)
{
    fixture_t *f = opened(SIMULATED, POOL);
    open_holes(f, A);
    sim_calls(&f->sim);
    compact(f, A);
    expect_u64(f->sim.counts[SIM_WAIT], 0);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    expect_u64(f->sim.counts[SIM_RELOCATE], 1);
    void *p = alloc_on(f, POOL / 2, A);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    sim_write(&f->sim, A, p, POOL / 2, 77);
    expect_sound(f);
    free_on(f, p, A);
    close_holes(f, A);
}
END_TEST

/* On another: it waits for exactly the streams that moved blocks name, and
 * they for it. */
/* The vacated bytes are the compaction's stream's, and count as the largest range it may have. */
START_TEST(report_counts_the_bytes_of_its_stream)
{
    const cuarena_stream_t streams[] = {A, B, CUARENA_NO_STREAM};
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        fixture_t *f = opened(SIMULATED, POOL);
        cuarena_compact_options_t options = on_stream(streams[i]);
        cuarena_compact_report_t report;
        cuarena_compact_report_init(&report);
        open_idle(f, A);
        expect_ok(cuarena_compact(f->arena, &options, NULL, NULL, &report));
        expect_u64(report.largest_before, SIZE);
        expect_u64(report.largest_after, POOL / 2);
        expect_sound(f);
        close_holes(f, streams[i] == CUARENA_NO_STREAM ? A : streams[i]);
    }
}
END_TEST

START_TEST(compaction_waits_for_those_that_blocks_name)
{
    for (int users = 0; users < 2; users++) {
        fixture_t *f = opened(SIMULATED, POOL);
        sim_stream_make(&f->sim, sim_handle(9));
        void *other = NULL; /* a stream that has nothing to do with it */
        expect_ok(cuarena_alloc_on(f->arena, 0, sim_handle(9), NULL, &other));
        alloc_row_on(f, row, ROW, A);
        expect_ok(cuarena_block_free_on(f->arena, row[0], C));
        expect_ok(cuarena_reclaim(f->arena, 1, NULL));
        if (users)
            write_block_on(f, row[3], SIZE, B, 5);
        sim_calls(&f->sim);
        compact(f, C);
        /* C for A (and B), then A (and B) for C */
        expect_u64(f->sim.counts[SIM_WAIT], users ? 4 : 2);
        expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
        if (users)
            read_block_on(f, row[3], SIZE, B, 5);
        sim_order(&f->sim, A, B);
        for (int i = 1; i < ROW; i++) {
            write_block_on(f, row[i], SIZE, A, 9);
            expect_ok(cuarena_block_free_on(f->arena, row[i], A));
        }
        fixture_close(f);
    }
}
END_TEST

/* What it vacates is its own; others get it behind an event. */
START_TEST(vacated_bytes_are_the_compactions)
{
    for (int event = 0; event < 2; event++) {
        fixture_t *f = prepared(SIMULATED, POOL);
        f->config.events = event;
        fixture_create(f);
        open_idle(f, A);
        expect_ok(cuarena_reclaim(f->arena, 1, NULL));
        compact(f, C);
        sim_calls(&f->sim);
        void *p = alloc_on(f, POOL / 2, C);
        expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
        sim_write(&f->sim, C, p, POOL / 2, 50);
        expect_sound(f);
        free_on(f, p, C);
        use_anew(f, POOL / 2, B);
        close_holes(f, A);
    }
}
END_TEST

/* Bytes that a stream freed just now, with its work still running: they are the compaction's once
 * its stream waits for them. */
START_TEST(compaction_takes_what_another_stream_freed_last)
{
    fixture_t *f = opened(SIMULATED, POOL);
    open_holes(f, A);
    compact(f, C);
    expect_u64(stream_stats_of(f, A).free_bytes, 0);
    expect_u64(stream_stats_of(f, C).free_bytes, POOL / 2);
    sim_calls(&f->sim);
    void *p = alloc_on(f, POOL / 2, C);
    expect_no_calls(f);
    sim_write(&f->sim, C, p, POOL / 2, 50);
    expect_sound(f);
    free_on(f, p, C);
    close_holes(f, A);
}
END_TEST

/* The default stream of this thread, whose free list is always eager. */
START_TEST(compaction_on_the_per_thread_stream)
{
    fixture_t *f = opened(SIMULATED, POOL);
    open_idle(f, A);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    compact(f, CUARENA_STREAM_PER_THREAD);
    use_anew(f, POOL / 2, B);
    close_holes(f, A);
}
END_TEST

/* Blocks keep their owner. */
START_TEST(moved_blocks_keep_their_stream)
{
    fixture_t *f = opened(SIMULATED, POOL);
    open_idle(f, A);
    compact(f, C);
    expect_u64(stream_stats_of(f, A).live_bytes, POOL / 2);
    expect_u64(stream_stats_of(f, C).live_bytes, 0);
    close_holes(f, A);
}
END_TEST

/* Blocks without a stream: the caller names those that use them. */
START_TEST(the_caller_names_streams_of_blocks_without_one)
{
    fixture_t *f = opened(SIMULATED, POOL);
    alloc_row_on(f, row, ROW, CUARENA_NO_STREAM);
    expect_ok(cuarena_block_free(f->arena, row[0]));
    void *p = NULL;
    expect_ok(cuarena_block_pin(f->arena, row[1], &p));
    sim_write(&f->sim, A, p, SIZE, 3);
    expect_ok(cuarena_block_unpin(f->arena, row[1]));
    cuarena_compact_options_t options = on_stream(C);
    cuarena_stream_t names[] = {A, A, CUARENA_NO_STREAM};
    options.streams = names;
    options.stream_count = 3;
    expect_ok(cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    expect_sound(f);
    sim_read(&f->sim, A, address_of(f, row[1]), SIZE, 3); /* waits for C */
    expect_sound(f);
    options.streams = NULL;
    expect_status(cuarena_compact(f->arena, &options, NULL, NULL, NULL), CUARENA_BAD_ARGUMENT);
    sim_sync_all(&f->sim);
    for (int i = 1; i < ROW; i++)
        expect_ok(cuarena_block_free(f->arena, row[i]));
}
END_TEST

/* Without a stream all is done on return. */
START_TEST(compaction_without_a_stream_waits_for_all)
{
    fixture_t *f = opened(SIMULATED, POOL);
    open_idle(f, A);
    sim_order(&f->sim, B, A);
    write_block_on(f, row[3], SIZE, B, 4);
    compact(f, CUARENA_NO_STREAM);
    void *p = alloc_ok(f, POOL / 2);
    sim_write(&f->sim, C, p, POOL / 2, 8); /* idle: anybody's */
    expect_sound(f);
    free_on(f, p, C);
    close_holes(f, A);
}
END_TEST

START_TEST(on_memory_of_the_host_compaction_waits_for_its_copies)
{
    fixture_t *f = prepared(SIMULATED_HOST, POOL);
    fixture_create(f);
    open_idle(f, A);
    compact(f, C);
    for (int i = 1; i < ROW; i += 2)
        sim_host_read(&f->sim, address_of(f, row[i]), SIZE, (uint64_t)i + 1);
    void *p = alloc_ok(f, POOL / 2);
    sim_host_write(&f->sim, p, POOL / 2, 8);
    expect_sound(f);
    free_ok(f, p);
    close_holes(f, A);
}
END_TEST

/* The streams of blocks may be gone. */
START_TEST(streams_of_moved_blocks_may_be_released)
{
    fixture_t *f = opened(SIMULATED, POOL);
    open_idle(f, A);
    expect_ok(cuarena_release_stream(f->arena, A));
    sim_stream_kill(&f->sim, A);
    sim_order(&f->sim, B, C);
    compact(f, C); /* waits for A's last event */
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    compact(f, C);
    close_holes(f, B);
}
END_TEST

/* The compaction's stream ends while copies are under way: nobody touches it, and frees still come
 * behind the copies. */
START_TEST(the_compactions_stream_may_be_released)
{
    for (int zero = 0; zero < 2; zero++) {
        fixture_t *f = prepared(SIMULATED, POOL);
        f->config.zero = zero ? CUARENA_ZERO_FREE : CUARENA_ZERO_NEVER;
        fixture_create(f);
        open_idle(f, A);
        expect_ok(cuarena_reclaim(f->arena, 1, NULL));
        compact(f, C);
        expect_ok(cuarena_release_stream(f->arena, C));
        sim_stream_kill(&f->sim, C);
        expect_ok(cuarena_block_free(f->arena, row[1])); /* idle but for C */
        expect_sound(f);
        use_anew(f, SIZE, B);
        alloc_again(f, 1);
        close_holes(f, A);
    }
}
END_TEST

/* ---- While copies are under way ---------------------------------------- */

/* After the commit and before the copies ran: every call comes behind them. */
START_TEST(calls_after_the_commit_come_behind_the_copies)
{
    for (int event = 0; event < 2; event++)
        for (int what = 0; what < 8; what++) {
            fixture_t *f = prepared(SIMULATED, POOL);
            f->config.events = event;
            f->config.zero = what == 7 ? CUARENA_ZERO_FREE : 0;
            fixture_create(f);
            open_idle(f, A);
            sim_sync_all(&f->sim);
            compact(f, C);
            cuarena_block_t b = row[5];
            void *p = NULL;
            if (what == 0) { /* a plain pin waits */
                expect_ok(cuarena_block_pin(f->arena, b, &p));
                sim_host_read(&f->sim, p, SIZE, 6);
                expect_ok(cuarena_block_unpin(f->arena, b));
            } else if (what == 1) { /* a pin on a stream that comes anew */
                read_block_on(f, b, SIZE, B, 6);
            } else if (what == 2 || what == 7) { /* a plain free */
                expect_ok(cuarena_block_free(f->arena, b));
            } else if (what == 3) { /* a free on another stream */
                expect_ok(cuarena_block_free_on(f->arena, b, B));
            } else if (what == 4) { /* shrinking in place, plain */
                expect_ok(cuarena_block_resize(f->arena, b, SIZE / 2));
            } else if (what == 5) { /* and on another stream */
                expect_ok(cuarena_block_resize_on(f->arena, b, SIZE / 2, B));
            } else { /* growing, elsewhere */
                expect_ok(cuarena_block_resize_on(f->arena, b, SIZE * 2, B));
            }
            expect_sound(f);
            /* whoever has the bytes now may write to them */
            void *got[32] = {NULL};
            for (int i = 0; i < 32; i++) {
                cuarena_stream_t s = i % 2 ? B : A;
                if (cuarena_alloc_on(f->arena, SIZE / 2, s, NULL, &got[i]))
                    break;
                sim_write(&f->sim, s, got[i], SIZE / 2, 80);
            }
            expect_sound(f);
            for (int i = 0; i < 32 && got[i] != NULL; i++)
                free_on(f, got[i], i % 2 ? B : A);
            fixture_close_forced(f);
        }
}
END_TEST

/* The same for pointers, whose pin is taken back. */
START_TEST(a_pointer_that_is_pinned_again_is_where_it_is)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p[2];
    p[0] = alloc_on(f, POOL / 2, A);
    p[1] = alloc_on(f, POOL / 2, A);
    int high = p[1] > p[0];
    cuarena_block_t block = 0;
    expect_ok(cuarena_block_of(f->arena, p[high], &block));
    sim_write(&f->sim, A, p[high], POOL / 2, 4);
    sim_sync(&f->sim, A);
    free_ok(f, p[!high]);
    expect_ok(cuarena_unpin(f->arena, p[high]));
    compact(f, C);
    void *now = address_of(f, block);
    ck_assert_ptr_ne(now, p[high]);
    expect_ok(cuarena_pin(f->arena, now));
    sim_host_read(&f->sim, now, POOL / 2, 4);
    expect_sound(f);
    free_on(f, now, A);
}
END_TEST

/* A second compaction before the first one's copies ran. */
START_TEST(compactions_on_several_streams_follow_each_other)
{
    fixture_t *f = opened(SIMULATED, POOL);
    open_idle(f, A);
    compact(f, B);
    expect_ok(cuarena_block_free_on(f->arena, row[1], A));
    compact(f, C);
    expect_ok(cuarena_block_free_on(f->arena, row[3], B));
    compact(f, A);
    alloc_again(f, 1);
    alloc_again(f, 3);
    close_holes(f, A);
}
END_TEST

/* ---- From the callback, and during a copy ------------------------------- */

typedef struct meddler {
    fixture_t *f;
    int done;
} meddler_t;

static int32_t free_in_callback(void *user, const cuarena_relocation_t *list, size_t count)
{
    meddler_t *m = user;
    for (size_t i = 0; i < count; i++)
        if (list[i].block == row[3] && !m->done++)
            expect_ok(cuarena_block_free_on(m->f->arena, row[3], B));
    void *p = NULL;
    expect_ok(cuarena_alloc_on(m->f->arena, 256, B, NULL, &p));
    sim_write(&m->f->sim, B, p, 256, 9);
    expect_ok(cuarena_free_on(m->f->arena, p, B));
    expect_ok(cuarena_reclaim(m->f->arena, 0, NULL));
    expect_status(cuarena_trim(m->f->arena, 0, NULL), CUARENA_REENTERED);
    return 0;
}

START_TEST(the_callback_may_use_streams)
{
    fixture_t *f = opened(SIMULATED, POOL);
    open_idle(f, A);
    meddler_t m = {f, 0};
    cuarena_compact_options_t options = on_stream(C);
    options.batch_moves = 2;
    expect_ok(cuarena_compact(f->arena, &options, free_in_callback, &m, NULL));
    expect_sound(f);
    expect_u64((uint64_t)m.done, 1);
    alloc_again(f, 3);
    close_holes(f, A);
}
END_TEST

static cuarena_status_t freed_during;

static void *free_elsewhere(void *user)
{
    meddler_t *m = user;
    freed_during = cuarena_block_free_on(m->f->arena, row[3], A);
    if (freed_during == CUARENA_OK)
        freed_during = cuarena_block_free(m->f->arena, row[5]);
    return NULL;
}

static void free_in_thread(meddler_t *m)
{
    if (m->done++)
        return;
    pthread_t thread;
    pthread_create(&thread, NULL, free_elsewhere, m);
    pthread_join(thread, NULL);
}

static void free_during_copy(sim_t *sim, sim_op_t op)
{
    if (op == SIM_RELOCATE)
        free_in_thread(sim->hook_user);
}

static int32_t expect_others(void *user, const cuarena_relocation_t *list, size_t count)
{
    meddler_t *m = user;
    for (size_t i = 0; i < count; i++)
        if (list[i].block == row[3] || list[i].block == row[5])
            m->done = 100;
    return 0;
}

/* Freed while it is copied: it ends with its move, and is not reported. */
START_TEST(blocks_may_be_freed_while_they_are_copied)
{
    for (int on = 0; on < 2; on++) {
        fixture_t *f = opened(SIMULATED, POOL);
        open_idle(f, A);
        meddler_t m = {f, 0};
        sim_sync_all(&f->sim);
        expect_ok(cuarena_reclaim(f->arena, 1, NULL));
        f->sim.hook = free_during_copy;
        f->sim.hook_user = &m;
        cuarena_compact_options_t options = on_stream(on ? C : CUARENA_NO_STREAM);
        expect_ok(cuarena_compact(f->arena, &options, expect_others, &m, NULL));
        expect_sound(f);
        expect_status(freed_during, CUARENA_OK);
        ck_assert_int_lt(m.done, 100);
        expect_u64(stats_of(f).live_blocks, 2);
        use_anew(f, POOL / 2, B);
        alloc_again(f, 3);
        alloc_again(f, 5);
        close_holes(f, A);
    }
}
END_TEST

/* Blocks 2 and 4 at first, then 6. */
static void *write_and_free_elsewhere(void *user)
{
    meddler_t *m = user;
    for (int i = m->done == 1 ? 2 : 6; i <= (m->done == 1 ? 4 : 6); i += 2) {
        write_block_on(m->f, row[i], SIZE, A, 9);
        expect_ok(cuarena_block_free_on(m->f->arena, row[i], A));
    }
    return NULL;
}

static void free_during_query_and_wait(sim_t *sim, sim_op_t op)
{
    meddler_t *m = sim->hook_user;
    if (m->done == 2 || op != (m->done == 0 ? SIM_QUERY : SIM_WAIT))
        return;
    m->done++;
    pthread_t thread;
    pthread_create(&thread, NULL, write_and_free_elsewhere, m);
    pthread_join(thread, NULL);
}

/* What is freed behind the event that the compaction's stream waits for stays its stream's. Blocks
 * are C's, so that nothing else makes C wait for A; and more is freed while the first event is
 * asked about, so that another one is recorded. */
START_TEST(bytes_that_are_freed_while_a_compaction_waits_are_not_taken)
{
    fixture_t *f = opened(SIMULATED, POOL);
    alloc_row_on(f, row, ROW, C);
    sim_order(&f->sim, A, C);
    expect_ok(cuarena_block_free_on(f->arena, row[0], A));
    meddler_t m = {f, 0};
    f->sim.hook = free_during_query_and_wait;
    f->sim.hook_user = &m;
    compact(f, C);
    f->sim.hook = NULL;
    expect_u64((uint64_t)m.done, 2);
    expect_u64(stream_stats_of(f, A).free_bytes, SIZE);
    expect_u64(stream_stats_of(f, C).free_bytes, 3 * SIZE);
    use_anew(f, 3 * SIZE, C);
    for (int i = 1; i < ROW; i += 2)
        expect_ok(cuarena_block_free_on(f->arena, row[i], C));
    fixture_close(f);
}
END_TEST

/* ---- Running out, failing, losing -------------------------------------- */

static void free_during_wait(sim_t *sim, sim_op_t op)
{
    if (op == SIM_WAIT || op == SIM_WAIT_HOST)
        free_in_thread(sim->hook_user);
}

/* Freed while a compaction waits for its streams, which fails: the bytes wait for the stream of the
 * free. */
START_TEST(a_block_that_is_freed_before_its_copy_fails_waits_for_its_stream)
{
    for (int on = 0; on < 2; on++) {
        fixture_t *f = opened(SIMULATED, POOL);
        open_idle(f, A);
        write_block_on(f, row[3], SIZE, A, 9);
        meddler_t m = {f, 0};
        f->sim.hook = free_during_wait;
        f->sim.hook_user = &m;
        sim_fail(&f->sim, on ? SIM_WAIT : SIM_WAIT_HOST, 1, CUARENA_DRIVER);
        cuarena_compact_options_t options = on_stream(on ? C : CUARENA_NO_STREAM);
        expect_status(cuarena_compact(f->arena, &options, NULL, NULL, NULL), CUARENA_DRIVER);
        f->sim.hook = NULL;
        expect_status(freed_during, CUARENA_OK);
        expect_u64((uint64_t)m.done, 1);
        use_anew(f, 5 * SIZE, C);
        alloc_again(f, 3);
        alloc_again(f, 5);
        close_holes(f, A);
    }
}
END_TEST

static int32_t count_batches(void *user, const cuarena_relocation_t *list, size_t count)
{
    (void)list;
    (void)count;
    ++*(int *)user;
    return 0;
}

/* compact_on_oom moves on the request's stream. */
START_TEST(running_out_compacts_on_the_requests_stream)
{
    fixture_t *f = prepared(SIMULATED, POOL);
    f->config.compact_on_oom = 1;
    fixture_create(f);
    int batches = 0;
    expect_ok(cuarena_set_relocation_callback(f->arena, count_batches, &batches));
    alloc_row_on(f, row, ROW, A);
    for (int i = 0; i < ROW; i++)
        write_block_on(f, row[i], SIZE, A, (uint64_t)i + 1);
    sim_sync_all(&f->sim);
    for (int i = 0; i < ROW; i += 2)
        expect_ok(cuarena_block_free_on(f->arena, row[i], i % 4 ? B : A));
    sim_calls(&f->sim);
    void *p = alloc_on(f, POOL / 2, B);
    expect_u64((uint64_t)batches, 1);
    sim_write(&f->sim, B, p, POOL / 2, 9);
    expect_sound(f);
    free_on(f, p, B);
    close_holes(f, A);
}
END_TEST

/* Any call that fails before the first copy changes nothing. */
START_TEST(a_compaction_that_cannot_begin_changes_nothing)
{
    static const sim_op_t ops[] = {SIM_RECORD, SIM_WAIT, SIM_RELOCATE, SIM_WAIT_HOST, SIM_IDENTIFY};
    for (size_t op = 0; op < COUNT_OF(ops); op++)
        for (uint64_t in = 1; in < 12; in++)
            for (int plain = 0; plain < 2; plain++) {
                fixture_t *f = opened(SIMULATED, POOL);
                open_idle(f, A);
                sim_sync_all(&f->sim);
                sim_fail(&f->sim, (int32_t)ops[op], in, CUARENA_DRIVER);
                cuarena_compact_options_t options = on_stream(plain ? CUARENA_NO_STREAM : C);
                cuarena_status_t status = cuarena_compact(f->arena, &options, NULL, NULL, NULL);
                expect_sound(f);
                bool fired = f->sim.fail_in == 0;
                f->sim.fail_in = 0;
                bool lost = cuarena_reclaim(f->arena, 0, NULL) == CUARENA_LOST;
                ck_assert_msg(fired || status == CUARENA_OK, "nothing failed, and %d came",
                              (int)status);
                ck_assert_msg(!lost || f->sim.counts[SIM_RELOCATE] != 0,
                              "lost before the first copy");
                if (lost)
                    sim_sync_all(&f->sim); /* it asks the memory nothing */
                if (lost)
                    fixture_close_forced(f);
                else
                    close_holes(f, A);
            }
}
END_TEST

/* A list that fails in the middle loses the arena, which then still ends. */
START_TEST(copies_that_fail_in_the_middle_lose_the_arena)
{
    fixture_t *f = opened(SIMULATED, POOL);
    open_idle(f, A);
    sim_sync_all(&f->sim);
    sim_fail(&f->sim, SIM_RELOCATE, 1, CUARENA_DRIVER);
    f->sim.fail_done = 1;
    cuarena_compact_options_t options = on_stream(C);
    expect_status(cuarena_compact(f->arena, &options, NULL, NULL, NULL), CUARENA_DRIVER);
    expect_sound(f);
    void *p = NULL;
    expect_status(cuarena_block_pin_on(f->arena, row[1], A, &p), CUARENA_LOST);
    expect_status(cuarena_compact(f->arena, &options, NULL, NULL, NULL), CUARENA_LOST);
    sim_sync_all(&f->sim);
    sim_calls(&f->sim);
    for (int i = 1; i < ROW; i += 2)
        expect_ok(cuarena_block_free_on(f->arena, row[i], A));
    expect_no_calls(f);
}
END_TEST

typedef struct closer {
    fixture_t *f;
    void *pointer;
    pthread_t thread;
    atomic_int stage; /* 1: it closes the free list of A; 2: it may go on */
} closer_t;

static void *close_freelist(void *user)
{
    closer_t *c = user;
    free_on(c->f, c->pointer, A);
    expect_ok(cuarena_reclaim(c->f->arena, 0, NULL));
    return NULL;
}

static void close_during_copy(sim_t *sim, sim_op_t op)
{
    closer_t *c = sim->hook_user;
    if (op == SIM_RELOCATE && atomic_load(&c->stage) == 0) {
        atomic_store(&c->stage, -1);
        pthread_create(&c->thread, NULL, close_freelist, c);
        while (atomic_load(&c->stage) != 1)
            sched_yield();
    } else if (op == SIM_RECORD && atomic_load(&c->stage) == -1) {
        atomic_store(&c->stage, 1);
        while (atomic_load(&c->stage) != 2)
            sched_yield();
    }
}

/* The event behind the free list is being recorded when the compaction gives up. */
START_TEST(a_copy_that_fails_while_a_free_list_is_closed_leaves_it)
{
    fixture_t *f = opened(SIMULATED, POOL);
    open_idle(f, A);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    closer_t c = {.f = f, .pointer = alloc_on(f, SIZE, A)};
    sim_write(&f->sim, A, c.pointer, SIZE, 9);
    f->sim.hook = close_during_copy;
    f->sim.hook_user = &c;
    sim_fail(&f->sim, SIM_RELOCATE, 1, CUARENA_DRIVER);
    cuarena_compact_options_t options = on_stream(A);
    expect_status(cuarena_compact(f->arena, &options, NULL, NULL, NULL), CUARENA_DRIVER);
    uint64_t left = stream_stats_of(f, A).free_bytes;
    atomic_store(&c.stage, 2);
    pthread_join(c.thread, NULL);
    f->sim.hook = NULL;
    ck_assert_uint_ge(left, SIZE);
    close_holes(f, A);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_streams_compact");
    suite_add_list(
        suite, "order",
        TEST_LIST(
            compaction_on_the_own_stream_waits_for_nobody, report_counts_the_bytes_of_its_stream,
            compaction_waits_for_those_that_blocks_name, vacated_bytes_are_the_compactions,
            compaction_takes_what_another_stream_freed_last, compaction_on_the_per_thread_stream,
            moved_blocks_keep_their_stream, the_caller_names_streams_of_blocks_without_one,
            compaction_without_a_stream_waits_for_all,
            on_memory_of_the_host_compaction_waits_for_its_copies,
            streams_of_moved_blocks_may_be_released, the_compactions_stream_may_be_released));
    suite_add_list(suite, "meanwhile",
                   TEST_LIST(calls_after_the_commit_come_behind_the_copies,
                             a_pointer_that_is_pinned_again_is_where_it_is,
                             compactions_on_several_streams_follow_each_other,
                             the_callback_may_use_streams,
                             blocks_may_be_freed_while_they_are_copied,
                             bytes_that_are_freed_while_a_compaction_waits_are_not_taken));
    suite_add_list(suite, "failures",
                   TEST_LIST(running_out_compacts_on_the_requests_stream,
                             a_block_that_is_freed_before_its_copy_fails_waits_for_its_stream,
                             a_compaction_that_cannot_begin_changes_nothing,
                             copies_that_fail_in_the_middle_lose_the_arena,
                             a_copy_that_fails_while_a_free_list_is_closed_leaves_it));
    return suite_main(suite);
}
