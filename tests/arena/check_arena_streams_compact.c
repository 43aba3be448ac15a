/*
 * Compaction among streams, on streams that are simulated: who waits for whom, whose the vacated
 * bytes are, and what may be done with a block while it is copied.
 */
#include "support/stream_rig.h"

#include <check.h>
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

static void compact(rig_t *rig, cuarena_stream_t stream)
{
    cuarena_compact_options_t options = on_stream(stream);
    expect_ok(cuarena_compact(rig->arena, &options, NULL, NULL, NULL));
    expect_clean(rig);
}

/* Blocks that fill the pool, block i written on its stream; those at even places are freed, on
 * A. */
static void open_holes(rig_t *rig, cuarena_stream_t stream)
{
    take_row_on(rig, row, ROW, stream);
    for (int i = 0; i < ROW; i++)
        write_block_on(rig, row[i], SIZE, stream, (uint64_t)i + 1);
    for (int i = 0; i < ROW; i += 2)
        expect_ok(cuarena_block_free_on(rig->arena, row[i], stream));
    expect_clean(rig);
}

/* The same with the holes idle: anybody may move into them. */
static void open_idle(rig_t *rig, cuarena_stream_t stream)
{
    open_holes(rig, stream);
    expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
    sim_sync_all(&rig->sim);
    sim_calls(&rig->sim);
}

static void close_holes(rig_t *rig, cuarena_stream_t stream)
{
    for (int i = 1; i < ROW; i += 2) {
        read_block_on(rig, row[i], SIZE, stream, (uint64_t)i + 1);
        expect_ok(cuarena_block_free_on(rig->arena, row[i], stream));
    }
    rig_close(rig);
}

/* A block of the row that was freed is there again for close_holes. */
static void take_again(rig_t *rig, int i)
{
    row[i] = take_block_on(rig, SIZE, A);
    write_block_on(rig, row[i], SIZE, A, (uint64_t)i + 1);
}

/* ---- Order ------------------------------------------------------------- */

/* On the blocks' own stream: no waiting at all, and the vacated bytes are the stream's at once. */
START_TEST(compaction_on_the_own_stream_waits_for_nobody)
{
    rig_t *rig = opened_rig(POOL);
    open_holes(rig, A);
    sim_calls(&rig->sim);
    compact(rig, A);
    expect_u64(rig->sim.counts[SIM_WAIT], 0);
    expect_u64(rig->sim.counts[SIM_WAIT_HOST], 0);
    expect_u64(rig->sim.counts[SIM_RELOCATE], 1);
    void *p = take_on(rig, POOL / 2, A);
    expect_u64(rig->sim.counts[SIM_WAIT_HOST], 0);
    sim_write(&rig->sim, A, p, POOL / 2, 77);
    expect_clean(rig);
    free_on(rig, p, A);
    close_holes(rig, A);
}
END_TEST

/* On another: it waits for exactly the streams that moved blocks name, and
 * they for it. */
START_TEST(compaction_waits_for_those_that_blocks_name)
{
    for (int users = 0; users < 2; users++) {
        rig_t *rig = opened_rig(POOL);
        sim_stream_make(&rig->sim, sim_handle(9));
        void *other = NULL; /* a stream that has nothing to do with it */
        expect_ok(cuarena_alloc_on(rig->arena, 0, sim_handle(9), NULL, &other));
        take_row_on(rig, row, ROW, A);
        expect_ok(cuarena_block_free_on(rig->arena, row[0], C));
        expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
        if (users)
            write_block_on(rig, row[3], SIZE, B, 5);
        sim_calls(&rig->sim);
        compact(rig, C);
        /* C for A (and B), then A (and B) for C */
        expect_u64(rig->sim.counts[SIM_WAIT], users ? 4 : 2);
        expect_u64(rig->sim.counts[SIM_WAIT_HOST], 0);
        if (users)
            read_block_on(rig, row[3], SIZE, B, 5);
        sim_order(&rig->sim, A, B);
        for (int i = 1; i < ROW; i++) {
            write_block_on(rig, row[i], SIZE, A, 9);
            expect_ok(cuarena_block_free_on(rig->arena, row[i], A));
        }
        rig_close(rig);
    }
}
END_TEST

/* What it vacates is its own; others get it behind an event. */
START_TEST(vacated_bytes_are_the_compactions)
{
    for (int event = 0; event < 2; event++) {
        rig_t *rig = prepared_rig(POOL, false);
        rig->config.events = event;
        rig_create(rig);
        open_idle(rig, A);
        expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
        compact(rig, C);
        sim_calls(&rig->sim);
        void *p = take_on(rig, POOL / 2, C);
        expect_u64(rig->sim.counts[SIM_WAIT_HOST], 0);
        sim_write(&rig->sim, C, p, POOL / 2, 50);
        expect_clean(rig);
        free_on(rig, p, C);
        use_anew(rig, POOL / 2, B);
        close_holes(rig, A);
    }
}
END_TEST

/* The default stream of this thread, whose free list is always eager. */
START_TEST(compaction_on_the_per_thread_stream)
{
    rig_t *rig = opened_rig(POOL);
    open_idle(rig, A);
    expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
    compact(rig, CUARENA_STREAM_PER_THREAD);
    use_anew(rig, POOL / 2, B);
    close_holes(rig, A);
}
END_TEST

/* Blocks keep their owner. */
START_TEST(moved_blocks_keep_their_stream)
{
    rig_t *rig = opened_rig(POOL);
    open_idle(rig, A);
    compact(rig, C);
    expect_u64(rig_stream_stats(rig, A).live_bytes, POOL / 2);
    expect_u64(rig_stream_stats(rig, C).live_bytes, 0);
    close_holes(rig, A);
}
END_TEST

/* Blocks without a stream: the caller names those that use them. */
START_TEST(the_caller_names_streams_of_blocks_without_one)
{
    rig_t *rig = opened_rig(POOL);
    take_row_on(rig, row, ROW, CUARENA_NO_STREAM);
    expect_ok(cuarena_block_free(rig->arena, row[0]));
    void *p = NULL;
    expect_ok(cuarena_block_pin(rig->arena, row[1], &p));
    sim_write(&rig->sim, A, p, SIZE, 3);
    expect_ok(cuarena_block_unpin(rig->arena, row[1]));
    cuarena_compact_options_t options = on_stream(C);
    cuarena_stream_t names[] = {A, A, CUARENA_NO_STREAM};
    options.streams = names;
    options.stream_count = 3;
    expect_ok(cuarena_compact(rig->arena, &options, NULL, NULL, NULL));
    expect_clean(rig);
    sim_read(&rig->sim, A, place_of(rig, row[1]), SIZE, 3); /* waits for C */
    expect_clean(rig);
    options.streams = NULL;
    expect_status(cuarena_compact(rig->arena, &options, NULL, NULL, NULL), CUARENA_BAD_ARGUMENT);
    sim_sync_all(&rig->sim);
    for (int i = 1; i < ROW; i++)
        expect_ok(cuarena_block_free(rig->arena, row[i]));
}
END_TEST

/* Without a stream all is done on return. */
START_TEST(compaction_without_a_stream_waits_for_all)
{
    rig_t *rig = opened_rig(POOL);
    open_idle(rig, A);
    sim_order(&rig->sim, B, A);
    write_block_on(rig, row[3], SIZE, B, 4);
    compact(rig, CUARENA_NO_STREAM);
    void *p = take_plain(rig, POOL / 2);
    sim_write(&rig->sim, C, p, POOL / 2, 8); /* idle: anybody's */
    expect_clean(rig);
    free_on(rig, p, C);
    close_holes(rig, A);
}
END_TEST

START_TEST(on_memory_of_the_host_compaction_waits_for_its_copies)
{
    rig_t *rig = prepared_rig(POOL, true);
    rig_create(rig);
    open_idle(rig, A);
    compact(rig, C);
    for (int i = 1; i < ROW; i += 2)
        sim_host_read(&rig->sim, place_of(rig, row[i]), SIZE, (uint64_t)i + 1);
    void *p = take_plain(rig, POOL / 2);
    sim_host_write(&rig->sim, p, POOL / 2, 8);
    expect_clean(rig);
    free_plain(rig, p);
    close_holes(rig, A);
}
END_TEST

/* The streams of blocks may be gone. */
START_TEST(streams_of_moved_blocks_may_be_released)
{
    rig_t *rig = opened_rig(POOL);
    open_idle(rig, A);
    expect_ok(cuarena_release_stream(rig->arena, A));
    sim_stream_kill(&rig->sim, A);
    sim_order(&rig->sim, B, C);
    compact(rig, C); /* waits for A's last event */
    expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
    compact(rig, C);
    close_holes(rig, B);
}
END_TEST

/* The compaction's stream ends while copies are under way: nobody touches it, and frees still come
 * behind the copies. */
START_TEST(the_compactions_stream_may_be_released)
{
    for (int zero = 0; zero < 2; zero++) {
        rig_t *rig = prepared_rig(POOL, false);
        rig->config.zero = zero ? CUARENA_ZERO_FREE : CUARENA_ZERO_NEVER;
        rig_create(rig);
        open_idle(rig, A);
        expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
        compact(rig, C);
        expect_ok(cuarena_release_stream(rig->arena, C));
        sim_stream_kill(&rig->sim, C);
        expect_ok(cuarena_block_free(rig->arena, row[1])); /* idle but for C */
        expect_clean(rig);
        use_anew(rig, SIZE, B);
        take_again(rig, 1);
        close_holes(rig, A);
    }
}
END_TEST

/* ---- While copies are under way ---------------------------------------- */

/* After the commit and before the copies ran: every call comes behind them. */
START_TEST(calls_after_the_commit_come_behind_the_copies)
{
    for (int event = 0; event < 2; event++)
        for (int what = 0; what < 8; what++) {
            rig_t *rig = prepared_rig(POOL, false);
            rig->config.events = event;
            rig->config.zero = what == 7 ? CUARENA_ZERO_FREE : 0;
            rig_create(rig);
            open_idle(rig, A);
            sim_sync_all(&rig->sim);
            compact(rig, C);
            cuarena_block_t b = row[5];
            void *p = NULL;
            if (what == 0) { /* a plain pin waits */
                expect_ok(cuarena_block_pin(rig->arena, b, &p));
                sim_host_read(&rig->sim, p, SIZE, 6);
                expect_ok(cuarena_block_unpin(rig->arena, b));
            } else if (what == 1) { /* a pin on a stream that comes anew */
                read_block_on(rig, b, SIZE, B, 6);
            } else if (what == 2 || what == 7) { /* a plain free */
                expect_ok(cuarena_block_free(rig->arena, b));
            } else if (what == 3) { /* a free on another stream */
                expect_ok(cuarena_block_free_on(rig->arena, b, B));
            } else if (what == 4) { /* shrinking in place, plain */
                expect_ok(cuarena_block_resize(rig->arena, b, SIZE / 2));
            } else if (what == 5) { /* and on another stream */
                expect_ok(cuarena_block_resize_on(rig->arena, b, SIZE / 2, B));
            } else { /* growing, elsewhere */
                expect_ok(cuarena_block_resize_on(rig->arena, b, SIZE * 2, B));
            }
            expect_clean(rig);
            /* whoever has the bytes now may write to them */
            void *got[32] = {NULL};
            for (int i = 0; i < 32; i++) {
                cuarena_stream_t s = i % 2 ? B : A;
                if (cuarena_alloc_on(rig->arena, SIZE / 2, s, NULL, &got[i]))
                    break;
                sim_write(&rig->sim, s, got[i], SIZE / 2, 80);
            }
            expect_clean(rig);
            for (int i = 0; i < 32 && got[i] != NULL; i++)
                free_on(rig, got[i], i % 2 ? B : A);
            rig_close_forced(rig);
        }
}
END_TEST

/* The same for pointers, whose pin is taken back. */
START_TEST(a_pointer_that_is_pinned_again_is_where_it_is)
{
    rig_t *rig = opened_rig(POOL);
    void *p[2];
    p[0] = take_on(rig, POOL / 2, A);
    p[1] = take_on(rig, POOL / 2, A);
    int high = p[1] > p[0];
    cuarena_block_t block = 0;
    expect_ok(cuarena_block_of(rig->arena, p[high], &block));
    sim_write(&rig->sim, A, p[high], POOL / 2, 4);
    sim_sync(&rig->sim, A);
    free_plain(rig, p[!high]);
    expect_ok(cuarena_unpin(rig->arena, p[high]));
    compact(rig, C);
    void *now = place_of(rig, block);
    ck_assert_ptr_ne(now, p[high]);
    expect_ok(cuarena_pin(rig->arena, now));
    sim_host_read(&rig->sim, now, POOL / 2, 4);
    expect_clean(rig);
    free_on(rig, now, A);
}
END_TEST

/* A second compaction before the first one's copies ran. */
START_TEST(compactions_on_several_streams_follow_each_other)
{
    rig_t *rig = opened_rig(POOL);
    open_idle(rig, A);
    compact(rig, B);
    expect_ok(cuarena_block_free_on(rig->arena, row[1], A));
    compact(rig, C);
    expect_ok(cuarena_block_free_on(rig->arena, row[3], B));
    compact(rig, A);
    take_again(rig, 1);
    take_again(rig, 3);
    close_holes(rig, A);
}
END_TEST

/* ---- From the callback, and during a copy ------------------------------- */

typedef struct meddler {
    rig_t *rig;
    int done;
} meddler_t;

static int32_t free_in_callback(void *user, const cuarena_relocation_t *list, size_t count)
{
    meddler_t *m = user;
    for (size_t i = 0; i < count; i++)
        if (list[i].block == row[3] && !m->done++)
            expect_ok(cuarena_block_free_on(m->rig->arena, row[3], B));
    void *p = NULL;
    expect_ok(cuarena_alloc_on(m->rig->arena, 256, B, NULL, &p));
    sim_write(&m->rig->sim, B, p, 256, 9);
    expect_ok(cuarena_free_on(m->rig->arena, p, B));
    expect_ok(cuarena_reclaim(m->rig->arena, 0, NULL));
    expect_status(cuarena_trim(m->rig->arena, 0, NULL), CUARENA_REENTERED);
    return 0;
}

START_TEST(the_callback_may_use_streams)
{
    rig_t *rig = opened_rig(POOL);
    open_idle(rig, A);
    meddler_t m = {rig, 0};
    cuarena_compact_options_t options = on_stream(C);
    options.batch_moves = 2;
    expect_ok(cuarena_compact(rig->arena, &options, free_in_callback, &m, NULL));
    expect_clean(rig);
    expect_u64((uint64_t)m.done, 1);
    take_again(rig, 3);
    close_holes(rig, A);
}
END_TEST

static cuarena_status_t freed_during;

static void *free_elsewhere(void *user)
{
    meddler_t *m = user;
    freed_during = cuarena_block_free_on(m->rig->arena, row[3], A);
    if (freed_during == CUARENA_OK)
        freed_during = cuarena_block_free(m->rig->arena, row[5]);
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
        rig_t *rig = opened_rig(POOL);
        open_idle(rig, A);
        meddler_t m = {rig, 0};
        sim_sync_all(&rig->sim);
        expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
        rig->sim.hook = free_during_copy;
        rig->sim.hook_user = &m;
        cuarena_compact_options_t options = on_stream(on ? C : CUARENA_NO_STREAM);
        expect_ok(cuarena_compact(rig->arena, &options, expect_others, &m, NULL));
        expect_clean(rig);
        expect_status(freed_during, CUARENA_OK);
        ck_assert_int_lt(m.done, 100);
        expect_u64(rig_stats(rig).live_blocks, 2);
        use_anew(rig, POOL / 2, B);
        take_again(rig, 3);
        take_again(rig, 5);
        close_holes(rig, A);
    }
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
        rig_t *rig = opened_rig(POOL);
        open_idle(rig, A);
        write_block_on(rig, row[3], SIZE, A, 9);
        meddler_t m = {rig, 0};
        rig->sim.hook = free_during_wait;
        rig->sim.hook_user = &m;
        sim_fail(&rig->sim, on ? SIM_WAIT : SIM_WAIT_HOST, 1, CUARENA_DRIVER);
        cuarena_compact_options_t options = on_stream(on ? C : CUARENA_NO_STREAM);
        expect_status(cuarena_compact(rig->arena, &options, NULL, NULL, NULL), CUARENA_DRIVER);
        rig->sim.hook = NULL;
        expect_status(freed_during, CUARENA_OK);
        expect_u64((uint64_t)m.done, 1);
        use_anew(rig, 5 * SIZE, C);
        take_again(rig, 3);
        take_again(rig, 5);
        close_holes(rig, A);
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
    rig_t *rig = prepared_rig(POOL, false);
    rig->config.compact_on_oom = 1;
    rig_create(rig);
    int batches = 0;
    expect_ok(cuarena_set_relocation_callback(rig->arena, count_batches, &batches));
    take_row_on(rig, row, ROW, A);
    for (int i = 0; i < ROW; i++)
        write_block_on(rig, row[i], SIZE, A, (uint64_t)i + 1);
    sim_sync_all(&rig->sim);
    for (int i = 0; i < ROW; i += 2)
        expect_ok(cuarena_block_free_on(rig->arena, row[i], i % 4 ? B : A));
    sim_calls(&rig->sim);
    void *p = take_on(rig, POOL / 2, B);
    expect_u64((uint64_t)batches, 1);
    sim_write(&rig->sim, B, p, POOL / 2, 9);
    expect_clean(rig);
    free_on(rig, p, B);
    close_holes(rig, A);
}
END_TEST

/* Any call that fails before the first copy changes nothing. */
START_TEST(a_compaction_that_cannot_begin_changes_nothing)
{
    static const sim_op_t ops[] = {SIM_MARK, SIM_WAIT, SIM_RELOCATE, SIM_WAIT_HOST, SIM_IDENTIFY};
    for (size_t op = 0; op < COUNT_OF(ops); op++)
        for (uint64_t in = 1; in < 12; in++)
            for (int plain = 0; plain < 2; plain++) {
                rig_t *rig = opened_rig(POOL);
                open_idle(rig, A);
                sim_sync_all(&rig->sim);
                sim_fail(&rig->sim, (int32_t)ops[op], in, CUARENA_DRIVER);
                cuarena_compact_options_t options = on_stream(plain ? CUARENA_NO_STREAM : C);
                cuarena_status_t status = cuarena_compact(rig->arena, &options, NULL, NULL, NULL);
                expect_clean(rig);
                bool fired = rig->sim.fail_in == 0;
                rig->sim.fail_in = 0;
                bool lost = cuarena_reclaim(rig->arena, 0, NULL) == CUARENA_LOST;
                ck_assert_msg(fired || status == CUARENA_OK, "nothing failed, and %d came",
                              (int)status);
                ck_assert_msg(!lost || rig->sim.counts[SIM_RELOCATE] != 0,
                              "lost before the first copy");
                if (lost)
                    sim_sync_all(&rig->sim); /* it asks the memory nothing */
                if (lost)
                    rig_close_forced(rig);
                else
                    close_holes(rig, A);
            }
}
END_TEST

/* A list that fails in the middle loses the arena, which then still ends. */
START_TEST(copies_that_fail_in_the_middle_lose_the_arena)
{
    rig_t *rig = opened_rig(POOL);
    open_idle(rig, A);
    sim_sync_all(&rig->sim);
    sim_fail(&rig->sim, SIM_RELOCATE, 1, CUARENA_DRIVER);
    rig->sim.fail_done = 1;
    cuarena_compact_options_t options = on_stream(C);
    expect_status(cuarena_compact(rig->arena, &options, NULL, NULL, NULL), CUARENA_DRIVER);
    expect_clean(rig);
    void *p = NULL;
    expect_status(cuarena_block_pin_on(rig->arena, row[1], A, &p), CUARENA_LOST);
    expect_status(cuarena_compact(rig->arena, &options, NULL, NULL, NULL), CUARENA_LOST);
    sim_sync_all(&rig->sim);
    sim_calls(&rig->sim);
    for (int i = 1; i < ROW; i += 2)
        expect_ok(cuarena_block_free_on(rig->arena, row[i], A));
    expect_no_calls(rig);
}
END_TEST

typedef struct closer {
    rig_t *rig;
    void *pointer;
    pthread_t thread;
    atomic_int stage; /* 1: it closes the free list of A; 2: it may go on */
} closer_t;

static void *close_freelist(void *user)
{
    closer_t *c = user;
    free_on(c->rig, c->pointer, A);
    expect_ok(cuarena_reclaim(c->rig->arena, 0, NULL));
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
    } else if (op == SIM_MARK && atomic_load(&c->stage) == -1) {
        atomic_store(&c->stage, 1);
        while (atomic_load(&c->stage) != 2)
            sched_yield();
    }
}

/* The event behind the free list is being recorded when the compaction gives up. */
START_TEST(a_copy_that_fails_while_a_free_list_is_closed_leaves_it)
{
    rig_t *rig = opened_rig(POOL);
    open_idle(rig, A);
    expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
    closer_t c = {.rig = rig, .pointer = take_on(rig, SIZE, A)};
    sim_write(&rig->sim, A, c.pointer, SIZE, 9);
    rig->sim.hook = close_during_copy;
    rig->sim.hook_user = &c;
    sim_fail(&rig->sim, SIM_RELOCATE, 1, CUARENA_DRIVER);
    cuarena_compact_options_t options = on_stream(A);
    expect_status(cuarena_compact(rig->arena, &options, NULL, NULL, NULL), CUARENA_DRIVER);
    uint64_t left = rig_stream_stats(rig, A).free_bytes;
    atomic_store(&c.stage, 2);
    pthread_join(c.thread, NULL);
    rig->sim.hook = NULL;
    ck_assert_uint_ge(left, SIZE);
    close_holes(rig, A);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_streams_compact");
    suite_add_list(
        suite, "order",
        TEST_LIST(compaction_on_the_own_stream_waits_for_nobody,
                  compaction_waits_for_those_that_blocks_name, vacated_bytes_are_the_compactions,
                  compaction_on_the_per_thread_stream, moved_blocks_keep_their_stream,
                  the_caller_names_streams_of_blocks_without_one,
                  compaction_without_a_stream_waits_for_all,
                  on_memory_of_the_host_compaction_waits_for_its_copies,
                  streams_of_moved_blocks_may_be_released, the_compactions_stream_may_be_released));
    suite_add_list(suite, "meanwhile",
                   TEST_LIST(calls_after_the_commit_come_behind_the_copies,
                             a_pointer_that_is_pinned_again_is_where_it_is,
                             compactions_on_several_streams_follow_each_other,
                             the_callback_may_use_streams,
                             blocks_may_be_freed_while_they_are_copied));
    suite_add_list(suite, "failures",
                   TEST_LIST(running_out_compacts_on_the_requests_stream,
                             a_block_that_is_freed_before_its_copy_fails_waits_for_its_stream,
                             a_compaction_that_cannot_begin_changes_nothing,
                             copies_that_fail_in_the_middle_lose_the_arena,
                             a_copy_that_fails_while_a_free_list_is_closed_leaves_it));
    return suite_main(suite);
}
