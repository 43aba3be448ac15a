/*
 * A free takes no host memory that it could lack: on a stream that was not seen before, of a block
 * that other streams use, on an eager stream. Each refusal of the host comes in turn; the free
 * succeeds, and the bytes go to nobody before the work on them is done. A capture session whose
 * calls are refused in turn loses nothing.
 *
 * Looks inside, since only there host memory can be refused (base/host_test.h).
 */
#include "support/checks.h"
#include "support/configs.h"
#include "support/cuda_test.h"
#include "support/fixture_streams.h"

#include "base/host_test.h"

#define POOL KIB(64)
#define STRANGER sim_handle(4) /* in no session */
#define MOST 40                /* more than a free has steps that could be refused */

/* ---- Simulated streams ------------------------------------------------- */

static void write_on(fixture_t *f, void *p, cuarena_stream_t stream)
{
    sim_write(&f->sim, stream, p, POOL, 1);
}

/* How a block is allocated and used, and which stream it is freed on. */
static cuarena_stream_t of_none_on_b(fixture_t *f, void **pointer_out)
{
    *pointer_out = alloc_ok(f, POOL);
    write_on(f, *pointer_out, B);
    return B;
}

static cuarena_stream_t of_a_on_b(fixture_t *f, void **pointer_out)
{
    *pointer_out = alloc_on(f, POOL, A);
    write_on(f, *pointer_out, A);
    sim_order(&f->sim, B, A);
    return B;
}

/* C is not done when A and B are. */
static cuarena_stream_t used_by_c_on_b(fixture_t *f, void **pointer_out)
{
    *pointer_out = alloc_on(f, POOL, A);
    sim_read(&f->sim, A, *pointer_out, POOL, 0);
    sim_order(&f->sim, B, A);
    sim_read(&f->sim, C, *pointer_out, POOL, 0);
    expect_ok(cuarena_record_use(f->arena, *pointer_out, C));
    return B;
}

static cuarena_stream_t used_by_c_on_a(fixture_t *f, void **pointer_out)
{
    used_by_c_on_b(f, pointer_out);
    return A;
}

static cuarena_stream_t of_a_on_a(fixture_t *f, void **pointer_out)
{
    *pointer_out = alloc_on(f, POOL, A);
    write_on(f, *pointer_out, A);
    return A;
}

static cuarena_stream_t (*const ways[])(fixture_t *, void **) = {
    of_none_on_b, of_a_on_b, used_by_c_on_b, used_by_c_on_a, of_a_on_a};
#define WAYS ((int)COUNT_OF(ways))

static void refuse_nth(uint64_t nth, int way, int32_t event)
{
    fixture_t f;
    void *p = NULL;
    fixture_prepare(&f, SIMULATED, POOL);
    f.config.events = event;
    fixture_create(&f);
    cuarena_stream_t stream = ways[way](&f, &p);
    cuai_host_fail_at(nth);
    expect_ok(cuarena_free_on(f.arena, p, stream));
    cuai_host_fail_at(0);
    expect_sound(&f);
    void *q = alloc_ok(&f, POOL); /* of idle bytes */
    sim_host_write(&f.sim, q, POOL, 3);
    free_ok(&f, q);
    fixture_close(&f);
}

/* Half of the loop with late events. */
START_TEST(a_free_survives_each_refusal_of_the_host)
{
    for (uint64_t nth = 0; nth < MOST; nth++)
        refuse_nth(nth, _i / 2, _i % 2);
}
END_TEST

/* More streams than can be known at once: likewise. */
START_TEST(a_free_on_one_stream_too_many_waits_for_it)
{
    fixture_t *f = opened(SIMULATED, POOL);
    for (uint32_t i = 0; i < CUARENA_MAX_STREAMS; i++) {
        cuarena_stream_t s = sim_handle(10 + i);
        sim_stream_make(&f->sim, s);
        use_anew(f, 256, s);
    }
    void *p = alloc_ok(f, 256);
    sim_write(&f->sim, B, p, 256, 1);
    uint64_t waits = stats_of(f).host_waits;
    expect_ok(cuarena_free_on(f->arena, p, B));
    expect_u64(stats_of(f).host_waits, waits + 1);
    void *q = alloc_ok(f, 256);
    ck_assert_ptr_eq(p, q);
    sim_host_write(&f->sim, q, 256, 3);
    free_ok(f, q);
}
END_TEST

/* A memory that cannot record on the stream either, whatever it says why, refuses the free, and the
 * block lives. */
static const cuarena_status_t unrecorded[] = {CUARENA_DRIVER, CUARENA_OUT_OF_MEMORY, CUARENA_LIMIT};

START_TEST(where_the_stream_cannot_be_waited_for_the_block_lives)
{
    void *p = NULL;
    fixture_t *f = opened(SIMULATED, POOL);
    cuarena_stream_t stream = of_none_on_b(f, &p);
    cuai_host_fail_at(1);
    sim_fail(&f->sim, SIM_RECORD, 1, unrecorded[_i]);
    expect_status(cuarena_free_on(f->arena, p, stream), CUARENA_DRIVER);
    ck_assert_msg(strstr(cuarena_last_error(), "record_event") != NULL,
                  "expected what failed, got: %s", cuarena_last_error());
    cuai_host_fail_at(0);
    expect_u64(stats_of(f).live_blocks, 1);
    expect_sound(f);
    free_on(f, p, stream);
}
END_TEST

/* ---- Streams of the driver --------------------------------------------- */

static const char *const memories[] = {
    "memory=device,pool=1MiB", "memory=device,pool=1MiB,events=eager",
    "memory=pinned,pool=1MiB", "memory=pageable,pool=1MiB",
    "preset=driver-pool",      "memory=device,preset=grow,keep=none,limit=64MiB",
};
#define MEMORIES ((int)COUNT_OF(memories))

/* On a stream of another context, on one of this, and on default streams. */
static void refuse_nth_free(const char *options, uint64_t nth, cuarena_stream_t stream)
{
    cuarena_block_t block = 0;
    cuarena_t *arena = arena_of(options);
    expect_ok(cuarena_block_alloc(arena, KIB(64), &block));
    cuai_host_fail_at(nth);
    expect_ok(cuarena_block_free_on(arena, block, stream));
    cuai_host_fail_at(0);
    expect_valid_arena(arena);
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_ok(cuarena_destroy(&arena));
}

START_TEST(a_free_on_a_device_survives_each_refusal_of_the_host)
{
    (void)cuda_test_use_device(0);
    cuarena_stream_t own = cuda_test_stream();
    for (uint64_t nth = 0; nth < MOST; nth++) {
        refuse_nth_free(memories[_i], nth, own);
        refuse_nth_free(memories[_i], nth, CUARENA_STREAM_LEGACY);
        refuse_nth_free(memories[_i], nth, CUARENA_STREAM_PER_THREAD);
    }
    expect_cu(cuda_test()->cuStreamDestroy(own));
}
END_TEST

/* A block of before the session, and one of beside it. */
START_TEST(a_free_on_the_stream_of_a_session_survives_a_refusal_of_the_host)
{
    (void)cuda_test_use_device(0);
    cuarena_stream_t stream = cuda_test_stream();
    for (int beside = 0; beside < 2; beside++) {
        cuarena_t *arena = arena_of(memories[_i]);
        cuarena_capture_t *session = NULL;
        void *p = NULL;
        if (!beside)
            expect_ok(cuarena_alloc_on(arena, KIB(64), stream, NULL, &p));
        expect_ok(cuarena_capture_begin(arena, stream, &session));
        if (beside)
            expect_ok(cuarena_alloc(arena, KIB(64), &p));
        cuai_host_fail_at(1);
        expect_ok(cuarena_free_on(arena, p, stream));
        cuai_host_fail_at(0);
        expect_valid_arena(arena);
        expect_ok(cuarena_capture_release(arena, &session, stream));
        expect_ok(cuarena_reclaim(arena, 1, NULL));
        expect_ok(cuarena_destroy(&arena));
    }
    expect_cu(cuda_test()->cuStreamDestroy(stream));
}
END_TEST

/* ---- The life of a session ---------------------------------------------- */

static void put(cuarena_status_t *first, cuarena_status_t status)
{
    if (*first == CUARENA_OK)
        *first = status;
}

/* All of a session's life, but for the driver's part where zeros are for the stream: blocks of
 * every kind, those of one that joined, and a use by a member and by a stranger. Whatever fails,
 * what comes after it is legal. */
static cuarena_status_t live(fixture_t *f, cuarena_stream_t heir)
{
    static const int asks[] = {PLAIN, ZEROED, DEDICATED, ZEROED | DEDICATED, DEDICATED, PLAIN};
    cuarena_t *arena = f->arena;
    cuarena_capture_t *session = NULL;
    void *p[6] = {NULL};
    cuarena_status_t status = cuarena_capture_begin(arena, A, &session);
    expect_sound(f);
    if (status != CUARENA_OK)
        return status;
    put(&status, cuarena_capture_join(arena, session, B));
    expect_sound(f);
    for (int i = 0; i < 6; i++)
        put(&status, try_ask(f, asks[i], KIB(12), A, &p[i]));
    if (p[0] != NULL)
        put(&status, cuarena_record_use(arena, p[0], B));
    if (p[2] != NULL)
        put(&status, cuarena_record_use(arena, p[2], STRANGER));
    for (int i = 0; i < 4; i++) {
        expect_ok(cuarena_free_on(arena, p[i], A)); /* needs nothing */
        expect_sound(f);
    }
    put(&status, cuarena_capture_end(arena, session));
    expect_sound(f);
    if (heir == CUARENA_NO_STREAM)
        sim_sync_all(&f->sim);
    put(&status, cuarena_capture_release(arena, &session, heir));
    expect_sound(f);
    if (session != NULL)
        expect_ok(cuarena_capture_release(arena, &session, heir));
    for (int i = 4; i < 6; i++) {
        cuarena_status_t freed = cuarena_free_on(arena, p[i], i == 4 ? heir : CUARENA_NO_STREAM);
        put(&status, freed);
        if (freed != CUARENA_OK)
            expect_ok(cuarena_free_on(arena, p[i], heir));
        expect_sound(f);
    }
    return status;
}

static void open_life(fixture_t *f)
{
    fixture_open(f, SIMULATED, POOL);
    sim_stream_make(&f->sim, STRANGER);
}

static void close_life(fixture_t *f)
{
    sim_run_all(&f->sim);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_sound(f);
    expect_u64(stats_of(f).captures, 0);
    expect_u64(stats_of(f).live_blocks, 0);
    expect_u64(reserved_bytes(f), POOL);
    free_ok(f, alloc_ok(f, POOL));
    fixture_close(f);
}

START_TEST(without_host_memory_nothing_is_lost)
{
    bool ended = false;
    for (uint64_t nth = 1; !ended; nth++) {
        ck_assert_msg(nth < 200, "it never ends");
        fixture_t f;
        open_life(&f);
        cuai_host_fail_at(nth);
        cuarena_status_t status = live(&f, C);
        ended = cuai_host_calls() < nth;
        cuai_host_fail_at(0);
        ck_assert_msg(status == CUARENA_OK || (!ended && status == CUARENA_OUT_OF_MEMORY),
                      "call %d: %s", (int)nth, cuarena_status_name(status));
        close_life(&f);
    }
}
END_TEST

START_TEST(a_memory_call_that_fails_leaves_nothing)
{
    static const int ops[] = {SIM_GET,    SIM_ZERO_CAPTURED, SIM_IDENTIFY,
                              SIM_RECORD, SIM_WAIT,          SIM_QUERY};
    static const cuarena_stream_t heirs[] = {C, CUARENA_NO_STREAM};
    for (int op = 0; op < 6; op++)
        for (uint64_t nth = 1; nth < 12; nth++)
            for (int heir = 0; heir < 2; heir++) {
                fixture_t f;
                open_life(&f);
                sim_fail(&f.sim, ops[op], nth, CUARENA_DRIVER);
                live(&f, heirs[heir]);
                if (heir == 0) /* not of what others look at */
                    (void)cuarena_reclaim(f.arena, 1, NULL);
                sim_fail(&f.sim, -1, 0, CUARENA_OK);
                expect_sound(&f);
                close_life(&f);
            }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("free_takes_nothing");
    TCase *cases =
        suite_add_list(suite, "simulated", TEST_LIST(a_free_on_one_stream_too_many_waits_for_it));
    tcase_add_loop_test(cases, where_the_stream_cannot_be_waited_for_the_block_lives, 0,
                        (int)COUNT_OF(unrecorded));
    tcase_add_loop_test(cases, a_free_survives_each_refusal_of_the_host, 0, 2 * WAYS);
    suite_add_list(
        suite, "sessions",
        TEST_LIST(without_host_memory_nothing_is_lost, a_memory_call_that_fails_leaves_nothing));
    TCase *device = suite_add_case(suite, "device");
    if (driver_kind() != DRIVER_NONE) {
        tcase_add_loop_test(device, a_free_on_a_device_survives_each_refusal_of_the_host, 0,
                            MEMORIES);
        tcase_add_loop_test(
            device, a_free_on_the_stream_of_a_session_survives_a_refusal_of_the_host, 0, MEMORIES);
    }
    return suite_main(suite);
}
