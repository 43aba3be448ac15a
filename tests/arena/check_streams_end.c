/*
 * How streams, what was freed on them and the arena end, on streams that are simulated: release,
 * reclaiming, destroy, reset, another size; also on a memory that has no event of all streams, as
 * drivers before 12.5 have none.
 */
#include "support/checks.h"
#include "support/fixture_streams.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define POOL KIB(64)

/* ---- Marks ------------------------------------------------------------- */

/* As cuarena_stream_mark makes it: a serial above the number of the stream. */
#define MARK_OF(serial, number) ((cuarena_mark_t)(serial) << 7 | (number))
#define UNUSED_NUMBER 100

/* Numbers that no mark can be, wherever the wait is said to be. */
START_TEST(what_is_no_mark_is_refused)
{
    static const cuarena_mark_t none[] = {0,
                                          1,
                                          UINT64_MAX,
                                          MARK_OF(1, 0),
                                          MARK_OF(1, 127),
                                          MARK_OF(1000, 1),
                                          MARK_OF(1000, UNUSED_NUMBER)};
    cuarena_mark_t mark;
    fixture_t *f = opened(SIMULATED, POOL);
    for (size_t i = 0; i < COUNT_OF(none); i++)
        expect_status(cuarena_stream_waited(f->arena, CUARENA_NO_STREAM, A, none[i]),
                      CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_stream_mark(f->arena, A, &mark));
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        expect_status(cuarena_stream_waited(f->arena, CUARENA_NO_STREAM, A, none[i]),
                      CUARENA_BAD_ARGUMENT);
        expect_status(cuarena_stream_waited(f->arena, B, A, none[i]), CUARENA_BAD_ARGUMENT);
    }
}
END_TEST

/* A number of a stream that never was cannot be told from one that is over: OK, and what other
 * streams freed stays theirs. */
START_TEST(a_mark_of_a_number_that_was_never_used_notes_nothing)
{
    cuarena_mark_t mark;
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_all_on(f, A);
    sim_write(&f->sim, A, p, POOL, 1);
    free_on(f, p, A);
    expect_ok(cuarena_stream_mark(f->arena, A, &mark));
    expect_ok(cuarena_stream_waited(f->arena, B, A, MARK_OF(mark >> 7, UNUSED_NUMBER)));
    expect_ok(cuarena_stream_waited(f->arena, CUARENA_NO_STREAM, CUARENA_NO_STREAM,
                                    MARK_OF(mark >> 7, UNUSED_NUMBER)));
    expect_u64(stream_stats_of(f, A).free_bytes, POOL);
    sim_calls(&f->sim);
    p = alloc_all_on(f, B);
    expect_u64(f->sim.counts[SIM_WAIT], 1);
    free_on(f, p, B);
}
END_TEST

/* What it freed is behind the event of the release by then, and that comes after the mark. */
START_TEST(a_mark_of_a_stream_that_was_released_is_of_no_effect)
{
    cuarena_mark_t mark;
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_all_on(f, A);
    sim_write(&f->sim, A, p, POOL, 1);
    free_on(f, p, A);
    expect_ok(cuarena_stream_mark(f->arena, A, &mark));
    sim_order(&f->sim, B, A);
    expect_ok(cuarena_release_stream(f->arena, A));
    sim_stream_kill(&f->sim, A);
    expect_ok(cuarena_stream_waited(f->arena, B, A, mark));
    sim_calls(&f->sim);
    p = alloc_all_on(f, B);
    expect_u64(f->sim.counts[SIM_WAIT], 1);
    sim_write(&f->sim, B, p, POOL, 2);
    free_on(f, p, B);
}
END_TEST

/* ---- Release ----------------------------------------------------------- */

START_TEST(a_released_handle_is_never_touched)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_on(f, POOL / 2, A);
    void *q = alloc_on(f, POOL / 2, A);
    sim_write(&f->sim, A, p, POOL / 2, 1);
    sim_write(&f->sim, A, q, POOL / 2, 2);
    free_on(f, p, A);
    expect_ok(cuarena_release_stream(f->arena, A));
    sim_stream_kill(&f->sim, A);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    sim_order(&f->sim, B, NULL);        /* B is another; nothing knows A's end */
    void *r = alloc_on(f, POOL / 2, B); /* the orphan's free list is waited for */
    expect_u64(f->sim.counts[SIM_WAIT], 1);
    sim_write(&f->sim, B, r, POOL / 2, 3);
    free_on(f, r, B);
    sim_run_all(&f->sim);
    free_ok(f, q);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_ok(cuarena_release_stream(f->arena, A)); /* is not known: OK */
}
END_TEST

/* The same handle value is another stream then. */
START_TEST(a_handle_that_comes_back_is_a_new_stream)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_all_on(f, A);
    sim_write(&f->sim, A, p, POOL, 1);
    free_on(f, p, A);
    expect_ok(cuarena_release_stream(f->arena, A));
    sim_stream_kill(&f->sim, A);
    sim_stream_make(&f->sim, A);
    sim_calls(&f->sim);
    void *q = alloc_all_on(f, A);
    expect_u64(f->sim.counts[SIM_IDENTIFY], 1);
    expect_u64(f->sim.counts[SIM_WAIT], 1);
    sim_write(&f->sim, A, q, POOL, 2);
    expect_u64(stream_stats_of(f, A).allocs, 1);
    free_on(f, q, A);
}
END_TEST

/* The number of a released stream is free when its last block, byte and use are: more streams than
 * there are numbers, one after the other. */
START_TEST(numbers_are_recycled)
{
    fixture_t *f = opened(SIMULATED, POOL);
    for (uint32_t i = 0; i < 2 * CUARENA_MAX_STREAMS; i++) {
        cuarena_stream_t s = sim_handle(10 + i);
        sim_stream_make(&f->sim, s);
        void *p = alloc_on(f, KIB(1), s);
        sim_write(&f->sim, s, p, KIB(1), i + 1);
        if (i % 2 == 0)
            free_on(f, p, s);
        expect_ok(cuarena_release_stream(f->arena, s));
        if (i % 2 == 1) {
            sim_sync(&f->sim, s);
            free_ok(f, p);
        }
        sim_stream_kill(&f->sim, s);
    }
}
END_TEST

/* A thread that introduces a stream while another stream is asked about. */
typedef struct overtaker {
    fixture_t *f;
    cuarena_status_t (*identify)(void *user, cuarena_stream_t stream,
                                 cuarena_stream_info_t *info_out);
    bool armed;
    void *pointer;
} overtaker_t;

static overtaker_t overtaker;

static void *introduce_b(void *user)
{
    overtaker_t *o = user;
    o->pointer = alloc_on(o->f, 256, B);
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
    fixture_t *f = prepared(SIMULATED, POOL);
    cuarena_memory_ops_t ops = *f->config.ops;
    overtaker = (overtaker_t){.f = f, .identify = ops.identify};
    ops.identify = identify_late;
    f->config.ops = &ops;
    fixture_create(f);
    for (uint32_t i = 1; i < CUARENA_MAX_STREAMS; i++) {
        cuarena_stream_t s = sim_handle(10 + i);
        sim_stream_make(&f->sim, s);
        use_anew(f, 256, s);
        expect_ok(cuarena_release_stream(f->arena, s));
        sim_sync(&f->sim, s);
    }
    overtaker.armed = true;
    void *p = alloc_on(f, 256, A);
    ck_assert_ptr_nonnull(overtaker.pointer);
    free_on(f, p, A);
    free_on(f, overtaker.pointer, B);
}
END_TEST

START_TEST(release_records_and_does_not_wait)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_all_on(f, A);
    sim_write(&f->sim, A, p, POOL, 1);
    free_on(f, p, A);
    sim_calls(&f->sim);
    expect_ok(cuarena_release_stream(f->arena, A));
    expect_u64(f->sim.counts[SIM_RECORD], 1);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    sim_calls(&f->sim);
    expect_ok(cuarena_release_stream(f->arena, A));
    expect_u64(sim_calls(&f->sim), 0);
    expect_ok(cuarena_release_stream(f->arena, C)); /* was never seen */
    expect_u64(sim_calls(&f->sim), 0);
    expect_status(cuarena_release_stream(f->arena, CUARENA_NO_STREAM), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- Reclaiming ---------------------------------------------------------- */

START_TEST(reclaim_takes_what_is_done_and_waits_if_asked)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_on(f, POOL / 2, A);
    void *q = alloc_on(f, POOL / 2, B);
    sim_write(&f->sim, A, p, POOL / 2, 1);
    sim_write(&f->sim, B, q, POOL / 2, 2);
    free_on(f, p, A);
    free_on(f, q, B);
    uint64_t idle = 99;
    expect_ok(cuarena_reclaim(f->arena, 0, &idle));
    expect_u64(idle, 0);
    sim_run_stream(&f->sim, A);
    expect_ok(cuarena_reclaim(f->arena, 0, &idle));
    expect_u64(idle, POOL / 2);
    expect_u64(stream_stats_of(f, A).free_bytes, 0);
    expect_u64(stream_stats_of(f, B).free_bytes, POOL / 2);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    expect_ok(cuarena_reclaim(f->arena, 1, &idle));
    expect_u64(idle, POOL / 2);
    expect_u64(sim_events(&f->sim), 0);
    expect_status(cuarena_reclaim(f->arena, 2, NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* What was freed behind an event that is under way is idle as well. */
START_TEST(reclaim_with_wait_reclaims_both_freelists)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_on(f, POOL / 2, A);
    void *q = alloc_on(f, POOL / 2, A);
    sim_write(&f->sim, A, p, POOL / 2, 1);
    free_on(f, p, A);
    expect_ok(cuarena_reclaim(f->arena, 0, NULL));
    sim_write(&f->sim, A, q, POOL / 2, 2);
    free_on(f, q, A);
    uint64_t idle = 0;
    expect_ok(cuarena_reclaim(f->arena, 1, &idle));
    expect_u64(idle, POOL);
    free_ok(f, alloc_ok(f, POOL));
}
END_TEST

START_TEST(trim_records_first_and_gives_back_what_is_done)
{
    fixture_t *f = prepared(SIMULATED, POOL);
    f->config.preset = CUARENA_PRESET_GROW;
    f->config.limit = (cuarena_amount_t){.value = 2 * POOL};
    fixture_create(f);
    void *p = alloc_all_on(f, A);
    sim_write(&f->sim, A, p, POOL, 1);
    free_on(f, p, A);
    uint64_t given = 99;
    expect_ok(cuarena_trim(f->arena, 0, &given));
    expect_u64(given, 0);
    expect_u64(f->sim.counts[SIM_RECORD], 1);
    sim_run_all(&f->sim);
    expect_ok(cuarena_trim(f->arena, 0, &given));
    expect_u64(given, POOL);
}
END_TEST

/* ---- The end ----------------------------------------------------------- */

START_TEST(destroy_with_work_under_way_is_busy_and_loses_nothing)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_all_on(f, A);
    sim_write(&f->sim, A, p, POOL, 1);
    free_on(f, p, A);
    expect_status(cuarena_destroy(&f->arena), CUARENA_BUSY);
    ck_assert_ptr_nonnull(f->arena);
    void *q = alloc_all_on(f, A);
    ck_assert_ptr_eq(p, q);
    free_on(f, q, A);
    sim_run_all(&f->sim);
}
END_TEST

/* The last event of a released stream is behind work that is not the arena's. */
START_TEST(destroy_does_not_wait_for_what_a_released_stream_does_besides)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_all_on(f, A);
    sim_write(&f->sim, A, p, POOL, 1);
    free_on(f, p, A);
    sim_run_all(&f->sim);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    sim_order(&f->sim, A, B);
    expect_ok(cuarena_release_stream(f->arena, A));
    expect_ok(cuarena_destroy(&f->arena));
    ck_assert_ptr_null(f->arena);
    sim_run_all(&f->sim);
}
END_TEST

/* Streams may be destroyed before the arena without a word. */
START_TEST(destroy_touches_no_handle)
{
    for (int forced = 0; forced < 2; forced++) {
        fixture_t f;
        fixture_open(&f, SIMULATED, POOL);
        void *p = alloc_on(&f, POOL / 2, A);
        void *q = alloc_on(&f, POOL / 2, B);
        sim_write(&f.sim, A, p, POOL / 2, 1);
        free_on(&f, p, A);
        if (!forced)
            expect_ok(cuarena_free_on(f.arena, q, B));
        if (!forced)
            sim_run_all(&f.sim);
        sim_stream_kill(&f.sim, A);
        sim_stream_kill(&f.sim, B);
        sim_calls(&f.sim);
        if (forced)
            fixture_close_forced(&f);
        else
            fixture_close(&f);
        expect_u64(f.sim.counts[SIM_RECORD], 0);
        expect_u64(f.sim.counts[SIM_WAIT_HOST], (uint64_t)forced);
    }
}
END_TEST

START_TEST(reset_waits_for_what_was_freed_and_keeps_streams)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *p = alloc_on(f, POOL / 2, A);
    (void)alloc_on(f, POOL / 4, B);
    sim_write(&f->sim, A, p, POOL / 2, 1);
    free_on(f, p, A);
    expect_ok(cuarena_reset(f->arena));
    expect_sound(f);
    expect_u64(stream_stats_of(f, B).live_bytes, 0);
    expect_u64(stream_stats_of(f, B).frees, 1);
    sim_calls(&f->sim);
    void *q = alloc_all_on(f, C);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    sim_write(&f->sim, C, q, POOL, 3);
    expect_sound(f);
    free_on(f, q, C);
}
END_TEST

/* The block waits for B when its pins, one or the most, have ended with it. */
START_TEST(reset_does_not_mind_pins_of_freed_blocks)
{
    for (int most = 0; most < 2; most++) {
        fixture_t f;
        void *p;
        fixture_open(&f, SIMULATED, POOL);
        cuarena_block_t block = alloc_block_on(&f, POOL, A);
        for (uint32_t i = 0; i < (most ? CUARENA_HEAP_MAX_PINS : 1); i++)
            expect_ok(cuarena_block_pin_on(f.arena, block, B, &p));
        sim_write(&f.sim, B, p, POOL, 1);
        expect_ok(cuarena_block_record_use(f.arena, block, B));
        expect_status(cuarena_reset(f.arena), CUARENA_BUSY);
        expect_ok(cuarena_block_free_on(f.arena, block, A));
        expect_sound(&f);
        expect_ok(cuarena_reset(f.arena));
        expect_sound(&f);
        use_anew(&f, POOL, C);
        fixture_close(&f);
    }
}
END_TEST

/* In place, both ways; the end that goes was freed on a stream. */
START_TEST(a_pool_is_resized_beside_streams)
{
    fixture_t *f = opened(SIMULATED, POOL);
    void *low = alloc_on(f, POOL / 2, A);
    void *high = alloc_on(f, POOL / 2, A);
    if (low > high) {
        void *swap = low;
        low = high;
        high = swap;
    }
    sim_write(&f->sim, A, high, POOL / 2, 1);
    sim_write(&f->sim, A, low, POOL / 2, 2);
    free_on(f, high, A);
    expect_ok(cuarena_resize_pool(f->arena, POOL / 2));
    expect_sound(f);
    sim_read(&f->sim, A, low, POOL / 2, 2);
    expect_ok(cuarena_resize_pool(f->arena, 2 * POOL));
    expect_sound(f);
    free_on(f, low, A);
    free_on(f, alloc_on(f, 2 * POOL, A), A);
}
END_TEST

/* Where it cannot grow in place everything moves: what streams do is over
 * then. */
START_TEST(a_pool_that_moves_waits_for_all_work)
{
    fixture_t *f = prepared(SIMULATED, POOL);
    f->sim.ops.grow = NULL;
    f->sim.ops.shrink = NULL;
    fixture_create(f);
    cuarena_block_t block = alloc_block_on(f, POOL / 2, A);
    void *gone = alloc_on(f, KIB(4), B);
    void *p = NULL;
    write_block_on(f, block, POOL / 2, A, 5);
    sim_write(&f->sim, B, gone, KIB(4), 6);
    free_on(f, gone, B);
    expect_ok(cuarena_resize_pool(f->arena, 2 * POOL));
    expect_sound(f);
    expect_ok(cuarena_block_pin_on(f->arena, block, A, &p));
    sim_read(&f->sim, A, p, POOL / 2, 5);
    sim_run_all(&f->sim);
    expect_ok(cuarena_block_unpin_on(f->arena, block, A));
    expect_ok(cuarena_block_free_on(f->arena, block, A));
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

static void set_meanwhile(fixture_t *f, void *(*what)(void *user))
{
    meanwhile = what;
    f->sim.hook_user = f;
    f->sim.hook = do_meanwhile;
}

static cuarena_block_t pinned_block;

static void *pin_it(void *user)
{
    const fixture_t *f = user;
    void *p = NULL;
    expect_ok(cuarena_block_pin(f->arena, pinned_block, &p));
    return NULL;
}

START_TEST(a_pool_with_a_block_that_is_pinned_meanwhile_stays)
{
    fixture_t *f = prepared(SIMULATED, POOL);
    f->sim.ops.grow = NULL;
    f->sim.ops.shrink = NULL;
    fixture_create(f);
    pinned_block = alloc_block_on(f, POOL / 2, A);
    use_anew(f, KIB(4), B);
    set_meanwhile(f, pin_it);
    expect_status(cuarena_resize_pool(f->arena, 2 * POOL), CUARENA_BUSY);
    ck_assert_ptr_null(f->sim.hook);
    expect_sound(f);
    expect_ok(cuarena_block_unpin(f->arena, pinned_block));
    expect_ok(cuarena_block_free_on(f->arena, pinned_block, A));
}
END_TEST

/* ---- No event of all streams ------------------------------------------ */

static cuarena_status_t (*record_one)(void *user, cuarena_stream_t stream, void **event);

static cuarena_status_t record_no_all(void *user, cuarena_stream_t stream, void **event)
{
    return stream == CUARENA_NO_STREAM ? CUARENA_UNSUPPORTED : record_one(user, stream, event);
}

/* A pool whose memory is like that, and cannot change a segment's length. */
static fixture_t *prepare_without(fixture_t *f)
{
    fixture_prepare(f, SIMULATED, POOL);
    record_one = f->sim.ops.record_event;
    f->sim.ops.record_event = record_no_all;
    f->sim.ops.grow = NULL;
    f->sim.ops.shrink = NULL;
    return f;
}

static fixture_t *open_without(fixture_t *f)
{
    prepare_without(f);
    fixture_create(f);
    return f;
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
    fixture_t f;
    open_without(&f);
    cuarena_stream_t on[] = {A, B, C};
    for (uint64_t i = 0; i < 3; i++)
        sim_write(&f.sim, on[i], alloc_on(&f, KIB(8), on[i]), KIB(8), i + 1);
    expect_ok(cuarena_release_stream(f.arena, B));
    sim_stream_kill(&f.sim, B);
    fixture_close_forced(&f);
    expect_u64(f.sim.counts[SIM_WAIT_HOST], 3);
}
END_TEST

/* That one stream cannot be waited for is no reason to leave out others. */
START_TEST(forced_destroy_waits_for_those_that_it_can)
{
    fixture_t f;
    open_without(&f);
    alloc_on(&f, KIB(8), A);
    sim_write(&f.sim, B, alloc_on(&f, KIB(8), B), KIB(8), 2);
    sim_fail(&f.sim, SIM_RECORD, 1, CUARENA_DRIVER);
    fixture_close_forced(&f);
    expect_u64(f.sim.counts[SIM_WAIT_HOST], 1);
}
END_TEST

/* What was used elsewhere joins a free list when that is done, which is recorded then: one more
 * turn. */
START_TEST(destroy_is_busy_until_each_stream_is_done)
{
    for (int used = 0; used < 2; used++) {
        fixture_t f;
        open_without(&f);
        void *p = alloc_all_on(&f, A);
        sim_write(&f.sim, A, p, POOL, 1);
        if (used)
            expect_ok(cuarena_record_use(f.arena, p, B));
        free_on(&f, p, A);
        for (int turn = 0; turn <= used; turn++) {
            expect_status(cuarena_destroy(&f.arena), CUARENA_BUSY);
            ck_assert_ptr_nonnull(f.arena);
            sim_run_all(&f.sim);
        }
        fixture_close(&f);
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
    fixture_t *f = prepare_without(new_fixture(fixture_close));
    query_one = f->sim.ops.query_event;
    f->sim.ops.query_event = query_while_it_runs;
    fixture_create(f);
    cuarena_stream_t on[] = {A, B, C};
    void *p[3];
    for (uint64_t i = 0; i < 3; i++) {
        p[i] = alloc_on(f, KIB(8), on[i]);
        sim_write(&f->sim, on[i], p[i], KIB(8), i + 1);
    }
    sim_sync_all(&f->sim);
    for (int i = 0; i < 3; i++)
        free_on(f, p[i], on[i]);
    expect_ok(cuarena_destroy(&f->arena));
}
END_TEST

START_TEST(reset_waits_for_each_stream)
{
    fixture_t *f = open_without(new_fixture(fixture_close));
    void *p = alloc_on(f, POOL / 2, A);
    void *q = alloc_on(f, POOL / 2, B);
    sim_write(&f->sim, A, p, POOL / 2, 1);
    sim_write(&f->sim, B, q, POOL / 2, 2);
    free_on(f, p, A);
    free_on(f, q, B);
    expect_ok(cuarena_reset(f->arena));
    void *all = alloc_ok(f, POOL);
    sim_host_write(&f->sim, all, POOL, 3);
    expect_sound(f);
    free_ok(f, all);
}
END_TEST

/* The last error is that of a call that failed: an answer leaves it. */
START_TEST(a_pool_that_moves_waits_for_each_stream)
{
    fixture_t *f = open_without(new_fixture(fixture_close));
    cuarena_block_t block = alloc_block_on(f, POOL / 2, A);
    void *gone = alloc_on(f, KIB(4), B);
    void *p = NULL;
    write_block_on(f, block, POOL / 2, A, 5);
    sim_write(&f->sim, B, gone, KIB(4), 6);
    free_on(f, gone, B);
    expect_status(cuarena_reclaim(f->arena, 2, NULL), CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_resize_pool(f->arena, 2 * POOL));
    expect_sound(f);
    ck_assert_int_eq(last_error().status, CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_block_pin_on(f->arena, block, A, &p));
    sim_read(&f->sim, A, p, POOL / 2, 5);
    sim_sync_all(&f->sim);
    expect_ok(cuarena_block_unpin(f->arena, block));
    expect_ok(cuarena_block_free(f->arena, block));
}
END_TEST

static void *release_b(void *user)
{
    fixture_t *f = user;
    expect_ok(cuarena_release_stream(f->arena, B));
    sim_run_all(&f->sim);
    expect_ok(cuarena_reclaim(f->arena, 0, NULL));
    return NULL;
}

START_TEST(a_stream_that_is_waited_for_may_be_released)
{
    fixture_t *f = open_without(new_fixture(fixture_close));
    cuarena_mark_t mark;
    expect_ok(cuarena_stream_mark(f->arena, B, &mark));
    set_meanwhile(f, release_b);
    expect_ok(cuarena_resize_pool(f->arena, 2 * POOL));
    ck_assert_ptr_null(f->sim.hook);
}
END_TEST

static void *use_own_stream(void *user)
{
    fixture_t *f = user;
    void *p = NULL;
    cuarena_alloc_on(f->arena, POOL / 4, CUARENA_STREAM_PER_THREAD, NULL, &p);
    sim_write(&f->sim, CUARENA_STREAM_PER_THREAD, p, POOL / 4, 9);
    cuarena_record_use(f->arena, p, CUARENA_STREAM_PER_THREAD);
    return p;
}

/* Nothing stands for it here: refused in words, and the block is as it was. */
START_TEST(another_threads_stream_cannot_be_recorded)
{
    fixture_t *f = open_without(new_fixture(fixture_close));
    pthread_t thread;
    void *p = NULL;
    pthread_create(&thread, NULL, use_own_stream, f);
    pthread_join(thread, &p);
    alloc_block_on(f, POOL / 4, A);
    expect_status(cuarena_free_on(f->arena, p, A), CUARENA_UNSUPPORTED);
    expect_in_message("default stream of another thread");
    expect_in_message("'sim'");
    expect_in_message("accepted");
    expect_sound(f);
    expect_u64(stats_of(f).live_blocks, 2);
    expect_status(cuarena_resize_pool(f->arena, 2 * POOL), CUARENA_BUSY);
    sim_sync_all(&f->sim);
    free_ok(f, p);
    expect_status(cuarena_resize_pool(f->arena, 2 * POOL), CUARENA_UNSUPPORTED);
    expect_in_message("default stream of another thread");
    expect_u64(stats_of(f).live_blocks, 1);
    fixture_close_forced(f);
}
END_TEST

/* Only of all streams is it an answer. */
START_TEST(one_stream_that_cannot_be_recorded_is_an_error)
{
    fixture_t *f = open_without(new_fixture(fixture_close));
    alloc_on(f, KIB(4), A);
    sim_fail(&f->sim, SIM_RECORD, 1, CUARENA_UNSUPPORTED);
    expect_status(cuarena_release_stream(f->arena, A), CUARENA_DRIVER);
    expect_in_message("record_event answered CUARENA_UNSUPPORTED");
    fixture_close_forced(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_streams_end");
    suite_add_list(suite, "marks",
                   TEST_LIST(what_is_no_mark_is_refused,
                             a_mark_of_a_number_that_was_never_used_notes_nothing,
                             a_mark_of_a_stream_that_was_released_is_of_no_effect));
    suite_add_list(suite, "release",
                   TEST_LIST(a_released_handle_is_never_touched,
                             a_handle_that_comes_back_is_a_new_stream, numbers_are_recycled,
                             a_number_taken_meanwhile_makes_room_again,
                             release_records_and_does_not_wait));
    suite_add_list(suite, "reclaiming",
                   TEST_LIST(reclaim_takes_what_is_done_and_waits_if_asked,
                             reclaim_with_wait_reclaims_both_freelists,
                             trim_records_first_and_gives_back_what_is_done,
                             destroy_with_work_under_way_is_busy_and_loses_nothing,
                             destroy_does_not_wait_for_what_a_released_stream_does_besides,
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
                  another_threads_stream_cannot_be_recorded,
                  one_stream_that_cannot_be_recorded_is_an_error));
    return suite_main(suite);
}
