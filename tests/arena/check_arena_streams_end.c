/*
 * How streams, what was freed on them and the arena end, on streams that are simulated: release,
 * reclaiming, destroy, reset, another size; also on a memory that has no event of all streams, as
 * drivers before 12.5 have none.
 */
#include "support/stream_rig.h"

#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define POOL KIB(64)

/* All of the pool, so that whoever asks next needs exactly these bytes. */
static void *take_all(rig_t *rig, cuarena_stream_t stream)
{
    return take_on(rig, POOL, stream);
}

/* ---- Release ----------------------------------------------------------- */

START_TEST(a_released_handle_is_never_touched)
{
    rig_t *rig = opened_rig(POOL);
    void *p = take_on(rig, POOL / 2, A);
    void *q = take_on(rig, POOL / 2, A);
    sim_write(&rig->sim, A, p, POOL / 2, 1);
    sim_write(&rig->sim, A, q, POOL / 2, 2);
    free_on(rig, p, A);
    expect_ok(cuarena_release_stream(rig->arena, A));
    sim_stream_kill(&rig->sim, A);
    expect_u64(rig->sim.counts[SIM_WAIT_HOST], 0);
    sim_order(&rig->sim, B, NULL);       /* B is another; nothing knows A's end */
    void *r = take_on(rig, POOL / 2, B); /* the orphan's free list is waited for */
    expect_u64(rig->sim.counts[SIM_WAIT], 1);
    sim_write(&rig->sim, B, r, POOL / 2, 3);
    free_on(rig, r, B);
    sim_run_all(&rig->sim);
    free_plain(rig, q);
    expect_ok(cuarena_reclaim(rig->arena, 1, NULL));
    expect_ok(cuarena_release_stream(rig->arena, A)); /* is not known: OK */
}
END_TEST

/* The same handle value is another stream then. */
START_TEST(a_handle_that_comes_back_is_a_new_stream)
{
    rig_t *rig = opened_rig(POOL);
    void *p = take_all(rig, A);
    sim_write(&rig->sim, A, p, POOL, 1);
    free_on(rig, p, A);
    expect_ok(cuarena_release_stream(rig->arena, A));
    sim_stream_kill(&rig->sim, A);
    sim_stream_make(&rig->sim, A);
    sim_calls(&rig->sim);
    void *q = take_all(rig, A);
    expect_u64(rig->sim.counts[SIM_IDENTIFY], 1);
    expect_u64(rig->sim.counts[SIM_WAIT], 1);
    sim_write(&rig->sim, A, q, POOL, 2);
    expect_u64(rig_stream_stats(rig, A).allocs, 1);
    free_on(rig, q, A);
}
END_TEST

/* The number of a released stream is free when its last block, byte and use are: more streams than
 * there are numbers, one after the other. */
START_TEST(numbers_are_recycled)
{
    rig_t *rig = opened_rig(POOL);
    for (uint32_t i = 0; i < 2 * CUARENA_MAX_STREAMS; i++) {
        cuarena_stream_t s = sim_handle(10 + i);
        sim_stream_make(&rig->sim, s);
        void *p = take_on(rig, KIB(1), s);
        sim_write(&rig->sim, s, p, KIB(1), i + 1);
        if (i % 2 == 0)
            free_on(rig, p, s);
        expect_ok(cuarena_release_stream(rig->arena, s));
        if (i % 2 == 1) {
            sim_sync(&rig->sim, s);
            free_plain(rig, p);
        }
        sim_stream_kill(&rig->sim, s);
    }
}
END_TEST

/* A thread that introduces a stream while another stream is asked about. */
typedef struct overtaker {
    rig_t *rig;
    cuarena_status_t (*identify)(void *user, cuarena_stream_t stream,
                                 cuarena_stream_info_t *info_out);
    bool armed;
    void *pointer;
} overtaker_t;

static overtaker_t overtaker;

static void *introduce_b(void *user)
{
    overtaker_t *o = user;
    o->pointer = take_on(o->rig, 256, B);
    return NULL;
}

static cuarena_status_t identify_late(void *user, cuarena_stream_t stream,
                                      cuarena_stream_info_t *info_out)
{
    if (overtaker.armed) {
        pthread_t thread;
        overtaker.armed = false;
        ck_assert_int_eq(pthread_create(&thread, NULL, introduce_b, &overtaker), 0);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    }
    return overtaker.identify(user, stream, info_out);
}

/* All numbers but one are of released streams whose work is done; the last one goes to another
 * thread while A is asked about. */
START_TEST(a_number_taken_meanwhile_makes_room_again)
{
    rig_t *rig = prepared_rig(POOL, false);
    cuarena_memory_ops_t ops = *rig->config.ops;
    overtaker = (overtaker_t){.rig = rig, .identify = ops.identify};
    ops.identify = identify_late;
    rig->config.ops = &ops;
    rig_create(rig);
    for (uint32_t i = 1; i < CUARENA_MAX_STREAMS; i++) {
        cuarena_stream_t s = sim_handle(10 + i);
        sim_stream_make(&rig->sim, s);
        use_anew(rig, 256, s);
        expect_ok(cuarena_release_stream(rig->arena, s));
        sim_sync(&rig->sim, s);
    }
    overtaker.armed = true;
    void *p = take_on(rig, 256, A);
    ck_assert_ptr_nonnull(overtaker.pointer);
    free_on(rig, p, A);
    free_on(rig, overtaker.pointer, B);
}
END_TEST

START_TEST(release_records_and_does_not_wait)
{
    rig_t *rig = opened_rig(POOL);
    void *p = take_all(rig, A);
    sim_write(&rig->sim, A, p, POOL, 1);
    free_on(rig, p, A);
    sim_calls(&rig->sim);
    expect_ok(cuarena_release_stream(rig->arena, A));
    expect_u64(rig->sim.counts[SIM_MARK], 1);
    expect_u64(rig->sim.counts[SIM_WAIT_HOST], 0);
    sim_calls(&rig->sim);
    expect_ok(cuarena_release_stream(rig->arena, A));
    expect_u64(sim_calls(&rig->sim), 0);
    expect_ok(cuarena_release_stream(rig->arena, C)); /* was never seen */
    expect_u64(sim_calls(&rig->sim), 0);
    expect_status(cuarena_release_stream(rig->arena, CUARENA_NO_STREAM), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- Reclaiming ---------------------------------------------------------- */

START_TEST(reclaim_takes_what_is_done_and_waits_if_asked)
{
    rig_t *rig = opened_rig(POOL);
    void *p = take_on(rig, POOL / 2, A);
    void *q = take_on(rig, POOL / 2, B);
    sim_write(&rig->sim, A, p, POOL / 2, 1);
    sim_write(&rig->sim, B, q, POOL / 2, 2);
    free_on(rig, p, A);
    free_on(rig, q, B);
    uint64_t idle = 99;
    expect_ok(cuarena_reclaim(rig->arena, 0, &idle));
    expect_u64(idle, 0);
    sim_run_stream(&rig->sim, A);
    expect_ok(cuarena_reclaim(rig->arena, 0, &idle));
    expect_u64(idle, POOL / 2);
    expect_u64(rig_stream_stats(rig, A).free_bytes, 0);
    expect_u64(rig_stream_stats(rig, B).free_bytes, POOL / 2);
    expect_u64(rig->sim.counts[SIM_WAIT_HOST], 0);
    expect_ok(cuarena_reclaim(rig->arena, 1, &idle));
    expect_u64(idle, POOL / 2);
    expect_u64(sim_events(&rig->sim), 0);
    expect_status(cuarena_reclaim(rig->arena, 2, NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* What was freed behind an event that is under way is idle as well. */
START_TEST(reclaim_with_wait_reclaims_both_freelists)
{
    rig_t *rig = opened_rig(POOL);
    void *p = take_on(rig, POOL / 2, A);
    void *q = take_on(rig, POOL / 2, A);
    sim_write(&rig->sim, A, p, POOL / 2, 1);
    free_on(rig, p, A);
    expect_ok(cuarena_reclaim(rig->arena, 0, NULL));
    sim_write(&rig->sim, A, q, POOL / 2, 2);
    free_on(rig, q, A);
    uint64_t idle = 0;
    expect_ok(cuarena_reclaim(rig->arena, 1, &idle));
    expect_u64(idle, POOL);
    free_plain(rig, take_plain(rig, POOL));
}
END_TEST

START_TEST(trim_marks_first_and_gives_back_what_is_done)
{
    rig_t *rig = prepared_rig(POOL, false);
    rig->config.preset = CUARENA_PRESET_GROW;
    rig->config.limit = (cuarena_amount_t){.value = 2 * POOL};
    rig_create(rig);
    void *p = take_all(rig, A);
    sim_write(&rig->sim, A, p, POOL, 1);
    free_on(rig, p, A);
    uint64_t given = 99;
    expect_ok(cuarena_trim(rig->arena, 0, &given));
    expect_u64(given, 0);
    expect_u64(rig->sim.counts[SIM_MARK], 1);
    sim_run_all(&rig->sim);
    expect_ok(cuarena_trim(rig->arena, 0, &given));
    expect_u64(given, POOL);
}
END_TEST

/* ---- The end ----------------------------------------------------------- */

START_TEST(destroy_with_work_under_way_is_busy_and_loses_nothing)
{
    rig_t *rig = opened_rig(POOL);
    void *p = take_all(rig, A);
    sim_write(&rig->sim, A, p, POOL, 1);
    free_on(rig, p, A);
    expect_status(cuarena_destroy(&rig->arena), CUARENA_BUSY);
    ck_assert_ptr_nonnull(rig->arena);
    void *q = take_all(rig, A);
    ck_assert_ptr_eq(p, q);
    free_on(rig, q, A);
    sim_run_all(&rig->sim);
}
END_TEST

/* Streams may be destroyed before the arena without a word. */
START_TEST(destroy_touches_no_handle)
{
    for (int forced = 0; forced < 2; forced++) {
        rig_t rig;
        rig_open(&rig, POOL);
        void *p = take_on(&rig, POOL / 2, A);
        void *q = take_on(&rig, POOL / 2, B);
        sim_write(&rig.sim, A, p, POOL / 2, 1);
        free_on(&rig, p, A);
        if (!forced)
            expect_ok(cuarena_free_on(rig.arena, q, B));
        if (!forced)
            sim_run_all(&rig.sim);
        sim_stream_kill(&rig.sim, A);
        sim_stream_kill(&rig.sim, B);
        sim_calls(&rig.sim);
        if (forced)
            rig_close_forced(&rig);
        else
            rig_close(&rig);
        expect_u64(rig.sim.counts[SIM_MARK], 0);
        expect_u64(rig.sim.counts[SIM_WAIT_HOST], (uint64_t)forced);
    }
}
END_TEST

START_TEST(reset_waits_for_what_was_freed_and_keeps_streams)
{
    rig_t *rig = opened_rig(POOL);
    void *p = take_on(rig, POOL / 2, A);
    (void)take_on(rig, POOL / 4, B);
    sim_write(&rig->sim, A, p, POOL / 2, 1);
    free_on(rig, p, A);
    expect_ok(cuarena_reset(rig->arena));
    expect_clean(rig);
    expect_u64(rig_stream_stats(rig, B).live_bytes, 0);
    expect_u64(rig_stream_stats(rig, B).frees, 1);
    sim_calls(&rig->sim);
    void *q = take_all(rig, C);
    expect_u64(rig->sim.counts[SIM_WAIT_HOST], 0);
    sim_write(&rig->sim, C, q, POOL, 3);
    expect_clean(rig);
    free_on(rig, q, C);
}
END_TEST

/* The block waits for B when its pins, one or the most, have ended with it. */
START_TEST(reset_does_not_mind_pins_of_freed_blocks)
{
    for (int most = 0; most < 2; most++) {
        rig_t rig;
        void *p;
        rig_open(&rig, POOL);
        cuarena_block_t block = take_block_on(&rig, POOL, A);
        for (uint32_t i = 0; i < (most ? CUARENA_HEAP_MAX_PINS : 1); i++)
            expect_ok(cuarena_block_pin_on(rig.arena, block, B, &p));
        sim_write(&rig.sim, B, p, POOL, 1);
        expect_ok(cuarena_block_record_use(rig.arena, block, B));
        expect_status(cuarena_reset(rig.arena), CUARENA_BUSY);
        expect_ok(cuarena_block_free_on(rig.arena, block, A));
        expect_clean(&rig);
        expect_ok(cuarena_reset(rig.arena));
        expect_clean(&rig);
        use_anew(&rig, POOL, C);
        rig_close(&rig);
    }
}
END_TEST

/* In place, both ways; the end that goes was freed on a stream. */
START_TEST(a_pool_is_resized_beside_streams)
{
    rig_t *rig = opened_rig(POOL);
    void *low = take_on(rig, POOL / 2, A);
    void *high = take_on(rig, POOL / 2, A);
    if (low > high) {
        void *swap = low;
        low = high;
        high = swap;
    }
    sim_write(&rig->sim, A, high, POOL / 2, 1);
    sim_write(&rig->sim, A, low, POOL / 2, 2);
    free_on(rig, high, A);
    expect_ok(cuarena_resize_pool(rig->arena, POOL / 2));
    expect_clean(rig);
    sim_read(&rig->sim, A, low, POOL / 2, 2);
    expect_ok(cuarena_resize_pool(rig->arena, 2 * POOL));
    expect_clean(rig);
    free_on(rig, low, A);
    free_on(rig, take_on(rig, 2 * POOL, A), A);
}
END_TEST

/* Where it cannot grow in place everything moves: what streams do is over
 * then. */
START_TEST(a_pool_that_moves_waits_for_all_work)
{
    rig_t *rig = prepared_rig(POOL, false);
    rig->sim.ops.grow = NULL;
    rig->sim.ops.shrink = NULL;
    rig_create(rig);
    cuarena_block_t block = take_block_on(rig, POOL / 2, A);
    void *gone = take_on(rig, KIB(4), B);
    void *p = NULL;
    write_block_on(rig, block, POOL / 2, A, 5);
    sim_write(&rig->sim, B, gone, KIB(4), 6);
    free_on(rig, gone, B);
    expect_ok(cuarena_resize_pool(rig->arena, 2 * POOL));
    expect_clean(rig);
    expect_ok(cuarena_block_pin_on(rig->arena, block, A, &p));
    sim_read(&rig->sim, A, p, POOL / 2, 5);
    sim_run_all(&rig->sim);
    expect_ok(cuarena_block_unpin_on(rig->arena, block, A));
    expect_ok(cuarena_block_free_on(rig->arena, block, A));
}
END_TEST

/* What another thread does in the first wait of the host. */
static void *(*meanwhile)(void *user);

static void do_meanwhile(sim_t *sim, sim_op_t op)
{
    pthread_t thread;
    if (op != SIM_WAIT_HOST)
        return;
    sim->hook = NULL;
    pthread_create(&thread, NULL, meanwhile, sim->hook_user);
    pthread_join(thread, NULL);
}

static void set_meanwhile(rig_t *rig, void *(*what)(void *user))
{
    meanwhile = what;
    rig->sim.hook_user = rig;
    rig->sim.hook = do_meanwhile;
}

static cuarena_block_t pinned_block;

static void *pin_it(void *user)
{
    const rig_t *rig = user;
    void *p = NULL;
    expect_ok(cuarena_block_pin(rig->arena, pinned_block, &p));
    return NULL;
}

START_TEST(a_pool_with_a_block_that_is_pinned_meanwhile_stays)
{
    rig_t *rig = prepared_rig(POOL, false);
    rig->sim.ops.grow = NULL;
    rig->sim.ops.shrink = NULL;
    rig_create(rig);
    pinned_block = take_block_on(rig, POOL / 2, A);
    use_anew(rig, KIB(4), B);
    set_meanwhile(rig, pin_it);
    expect_status(cuarena_resize_pool(rig->arena, 2 * POOL), CUARENA_BUSY);
    ck_assert_ptr_null(rig->sim.hook);
    expect_clean(rig);
    expect_ok(cuarena_block_unpin(rig->arena, pinned_block));
    expect_ok(cuarena_block_free_on(rig->arena, pinned_block, A));
}
END_TEST

/* ---- No event of all streams ------------------------------------------ */

static cuarena_status_t (*mark_one)(void *user, cuarena_stream_t stream, void **event);

static cuarena_status_t mark_no_all(void *user, cuarena_stream_t stream, void **event)
{
    return stream == CUARENA_NO_STREAM ? CUARENA_UNSUPPORTED : mark_one(user, stream, event);
}

/* A pool whose memory is like that, and cannot change a segment's length. */
static rig_t *prepare_without(rig_t *rig)
{
    rig_prepare(rig, POOL, false);
    mark_one = rig->sim.ops.mark;
    rig->sim.ops.mark = mark_no_all;
    rig->sim.ops.grow = NULL;
    rig->sim.ops.shrink = NULL;
    return rig;
}

static rig_t *open_without(rig_t *rig)
{
    prepare_without(rig);
    rig_create(rig);
    return rig;
}

static void expect_in_message(const char *part)
{
    cuarena_error_info_t info = last_error();
    if (strstr(info.message, part) == NULL)
        ck_abort_msg("expected '%s' in '%s'", part, info.message);
}

/* Work on blocks that live, of streams that live and of one that was released. The sim tells a
 * segment that goes back too early. */
START_TEST(forced_destroy_waits_for_each_stream)
{
    rig_t rig;
    open_without(&rig);
    cuarena_stream_t on[] = {A, B, C};
    for (uint64_t i = 0; i < 3; i++)
        sim_write(&rig.sim, on[i], take_on(&rig, KIB(8), on[i]), KIB(8), i + 1);
    expect_ok(cuarena_release_stream(rig.arena, B));
    sim_stream_kill(&rig.sim, B);
    rig_close_forced(&rig);
    expect_u64(rig.sim.counts[SIM_WAIT_HOST], 3);
}
END_TEST

/* That one stream cannot be waited for is no reason to leave out others. */
START_TEST(forced_destroy_waits_for_those_that_it_can)
{
    rig_t rig;
    open_without(&rig);
    take_on(&rig, KIB(8), A);
    sim_write(&rig.sim, B, take_on(&rig, KIB(8), B), KIB(8), 2);
    sim_fail(&rig.sim, SIM_MARK, 1, CUARENA_DRIVER);
    rig_close_forced(&rig);
    expect_u64(rig.sim.counts[SIM_WAIT_HOST], 1);
}
END_TEST

/* What was used elsewhere joins a free list when that is done, which is marked then: one more
 * turn. */
START_TEST(destroy_is_busy_until_each_stream_is_done)
{
    for (int used = 0; used < 2; used++) {
        rig_t rig;
        open_without(&rig);
        void *p = take_all(&rig, A);
        sim_write(&rig.sim, A, p, POOL, 1);
        if (used)
            expect_ok(cuarena_record_use(rig.arena, p, B));
        free_on(&rig, p, A);
        for (int turn = 0; turn <= used; turn++) {
            expect_status(cuarena_destroy(&rig.arena), CUARENA_BUSY);
            ck_assert_ptr_nonnull(rig.arena);
            sim_run_all(&rig.sim);
        }
        rig_close(&rig);
    }
}
END_TEST

static cuarena_status_t (*query_one)(void *user, void *event);

/* A step now and then: asking is faster than the device. */
static cuarena_status_t query_while_it_runs(void *user, void *event)
{
    static int asked;
    cuarena_status_t status = query_one(user, event);
    if (++asked % 8 == 0)
        sim_run(user, 1);
    return status;
}

/* The events are behind nothing, and not passed the moment they are made. */
START_TEST(destroy_on_idle_streams_is_not_busy)
{
    rig_t *rig = prepare_without(new_rig());
    query_one = rig->sim.ops.query;
    rig->sim.ops.query = query_while_it_runs;
    rig_create(rig);
    cuarena_stream_t on[] = {A, B, C};
    void *p[3];
    for (uint64_t i = 0; i < 3; i++) {
        p[i] = take_on(rig, KIB(8), on[i]);
        sim_write(&rig->sim, on[i], p[i], KIB(8), i + 1);
    }
    sim_sync_all(&rig->sim);
    for (int i = 0; i < 3; i++)
        free_on(rig, p[i], on[i]);
    expect_ok(cuarena_destroy(&rig->arena));
}
END_TEST

START_TEST(reset_waits_for_each_stream)
{
    rig_t *rig = open_without(new_rig());
    void *p = take_on(rig, POOL / 2, A);
    void *q = take_on(rig, POOL / 2, B);
    sim_write(&rig->sim, A, p, POOL / 2, 1);
    sim_write(&rig->sim, B, q, POOL / 2, 2);
    free_on(rig, p, A);
    free_on(rig, q, B);
    expect_ok(cuarena_reset(rig->arena));
    void *all = take_plain(rig, POOL);
    sim_host_write(&rig->sim, all, POOL, 3);
    expect_clean(rig);
    free_plain(rig, all);
}
END_TEST

/* The last error is that of a call that failed: an answer leaves it. */
START_TEST(a_pool_that_moves_waits_for_each_stream)
{
    rig_t *rig = open_without(new_rig());
    cuarena_block_t block = take_block_on(rig, POOL / 2, A);
    void *gone = take_on(rig, KIB(4), B);
    void *p = NULL;
    write_block_on(rig, block, POOL / 2, A, 5);
    sim_write(&rig->sim, B, gone, KIB(4), 6);
    free_on(rig, gone, B);
    expect_status(cuarena_reclaim(rig->arena, 2, NULL), CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_resize_pool(rig->arena, 2 * POOL));
    expect_clean(rig);
    ck_assert_int_eq(last_error().status, CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_block_pin_on(rig->arena, block, A, &p));
    sim_read(&rig->sim, A, p, POOL / 2, 5);
    sim_sync_all(&rig->sim);
    expect_ok(cuarena_block_unpin(rig->arena, block));
    expect_ok(cuarena_block_free(rig->arena, block));
}
END_TEST

static void *release_b(void *user)
{
    rig_t *rig = user;
    expect_ok(cuarena_release_stream(rig->arena, B));
    sim_run_all(&rig->sim);
    expect_ok(cuarena_reclaim(rig->arena, 0, NULL));
    return NULL;
}

START_TEST(a_stream_that_is_waited_for_may_be_released)
{
    rig_t *rig = open_without(new_rig());
    cuarena_mark_t mark;
    expect_ok(cuarena_stream_mark(rig->arena, B, &mark));
    set_meanwhile(rig, release_b);
    expect_ok(cuarena_resize_pool(rig->arena, 2 * POOL));
    ck_assert_ptr_null(rig->sim.hook);
}
END_TEST

static void *use_own_stream(void *user)
{
    rig_t *rig = user;
    void *p = NULL;
    cuarena_alloc_on(rig->arena, POOL / 4, CUARENA_STREAM_PER_THREAD, NULL, &p);
    sim_write(&rig->sim, CUARENA_STREAM_PER_THREAD, p, POOL / 4, 9);
    cuarena_record_use(rig->arena, p, CUARENA_STREAM_PER_THREAD);
    return p;
}

/* Nothing stands for it here: refused in words, and the block is as it was. */
START_TEST(another_threads_stream_cannot_be_marked)
{
    rig_t *rig = open_without(new_rig());
    pthread_t thread;
    void *p = NULL;
    pthread_create(&thread, NULL, use_own_stream, rig);
    pthread_join(thread, &p);
    take_block_on(rig, POOL / 4, A);
    expect_status(cuarena_free_on(rig->arena, p, A), CUARENA_UNSUPPORTED);
    expect_in_message("default stream of another thread");
    expect_in_message("'sim'");
    expect_in_message("accepted");
    expect_clean(rig);
    expect_u64(rig_stats(rig).live_blocks, 2);
    expect_status(cuarena_resize_pool(rig->arena, 2 * POOL), CUARENA_BUSY);
    sim_sync_all(&rig->sim);
    free_plain(rig, p);
    expect_status(cuarena_resize_pool(rig->arena, 2 * POOL), CUARENA_UNSUPPORTED);
    expect_in_message("default stream of another thread");
    expect_u64(rig_stats(rig).live_blocks, 1);
    rig_close_forced(rig);
}
END_TEST

/* Only of all streams is it an answer. */
START_TEST(one_stream_that_cannot_be_marked_is_an_error)
{
    rig_t *rig = open_without(new_rig());
    take_on(rig, KIB(4), A);
    sim_fail(&rig->sim, SIM_MARK, 1, CUARENA_UNSUPPORTED);
    expect_status(cuarena_release_stream(rig->arena, A), CUARENA_DRIVER);
    expect_in_message("mark answered CUARENA_UNSUPPORTED");
    rig_close_forced(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_streams_end");
    suite_add_list(suite, "release",
                   TEST_LIST(a_released_handle_is_never_touched,
                             a_handle_that_comes_back_is_a_new_stream, numbers_are_recycled,
                             a_number_taken_meanwhile_makes_room_again,
                             release_records_and_does_not_wait));
    suite_add_list(suite, "reclaiming",
                   TEST_LIST(reclaim_takes_what_is_done_and_waits_if_asked,
                             reclaim_with_wait_reclaims_both_freelists,
                             trim_marks_first_and_gives_back_what_is_done,
                             destroy_with_work_under_way_is_busy_and_loses_nothing,
                             destroy_touches_no_handle,
                             reset_waits_for_what_was_freed_and_keeps_streams,
                             reset_does_not_mind_pins_of_freed_blocks,
                             a_pool_is_resized_beside_streams, a_pool_that_moves_waits_for_all_work,
                             a_pool_with_a_block_that_is_pinned_meanwhile_stays));
    suite_add_list(
        suite, "no_event_of_all",
        TEST_LIST(forced_destroy_waits_for_each_stream, forced_destroy_waits_for_those_that_it_can,
                  destroy_is_busy_until_each_stream_is_done, destroy_on_idle_streams_is_not_busy,
                  reset_waits_for_each_stream, a_pool_that_moves_waits_for_each_stream,
                  a_stream_that_is_waited_for_may_be_released,
                  another_threads_stream_cannot_be_marked,
                  one_stream_that_cannot_be_marked_is_an_error));
    return suite_main(suite);
}
