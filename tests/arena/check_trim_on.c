/* cuarena_trim_on: what a stream freed goes back to the memory. */
#include "support/configs.h"
#include "support/expect.h"
#include "support/stream_rig.h"

#include <string.h>

#define BLOCK KIB(64)
#define ROOM (16 * BLOCK)

/* Segments of one block each; or one segment, as long as it must be. */
static rig_t *open_grower(rig_t *rig, int32_t in_place, int32_t steal)
{
    rig_prepare(rig, ROOM, false);
    rig->config.preset = CUARENA_PRESET_GROW;
    rig->config.limit = (cuarena_amount_t){.value = ROOM};
    rig->config.in_place = in_place;
    rig->config.steal = steal;
    rig_create(rig);
    return rig;
}

static void *taken_and_freed(rig_t *rig, cuarena_stream_t stream)
{
    return use_anew(rig, BLOCK, stream);
}

static uint64_t trimmed(rig_t *rig, cuarena_stream_t stream, uint64_t keep)
{
    uint64_t given = UINT64_MAX;
    expect_ok(cuarena_trim_on(rig->arena, stream, keep, &given));
    expect_clean(rig);
    return given;
}

/* ---- What goes --------------------------------------------------------- */

START_TEST(test_trim_on_waits_for_its_stream_once)
{
    rig_t *rig = open_grower(new_rig(), 0, CUARENA_STEAL_NEVER);
    for (int i = 0; i < 3; i++)
        taken_and_freed(rig, A);
    taken_and_freed(rig, B);
    expect_u64(rig_reserved(rig), 2 * BLOCK);
    expect_u64(trimmed(rig, A, 0), BLOCK);
    expect_u64(rig_stats(rig).host_waits, 1);
    expect_u64(rig->sim.counts[SIM_WAIT_HOST], 1);
    expect_u64(rig_stream_stats(rig, A).free_bytes, 0);
    expect_u64(rig_stream_stats(rig, B).free_bytes, BLOCK);
    expect_u64(rig_reserved(rig), BLOCK);
    expect_u64(trimmed(rig, A, 0), 0);
    expect_u64(rig_stats(rig).host_waits, 1);
}
END_TEST

START_TEST(test_trim_on_no_stream_takes_what_is_idle_and_all_freelists)
{
    rig_t *rig = open_grower(new_rig(), 0, CUARENA_STEAL_NEVER);
    void *plain = take_plain(rig, BLOCK);
    taken_and_freed(rig, A);
    taken_and_freed(rig, B);
    free_plain(rig, plain);
    expect_u64(trimmed(rig, B, 0), BLOCK);
    expect_u64(trimmed(rig, CUARENA_NO_STREAM, 0), 2 * BLOCK);
    expect_u64(rig_reserved(rig), 0);
}
END_TEST

START_TEST(test_trim_on_keeps_as_much_as_it_is_told)
{
    void *p[4];
    rig_t *rig = open_grower(new_rig(), 0, CUARENA_STEAL_NEVER);
    for (int i = 0; i < 4; i++)
        p[i] = take_on(rig, BLOCK, A);
    for (int i = 0; i < 4; i++)
        free_on(rig, p[i], A);
    expect_u64(trimmed(rig, A, 3 * BLOCK), BLOCK);
    expect_u64(trimmed(rig, A, 3 * BLOCK), 0);
    expect_u64(rig_reserved(rig), 3 * BLOCK);
    expect_u64(trimmed(rig, A, 0), 3 * BLOCK);
}
END_TEST

/* Where segments are shortened, pages of the stream's go from their end. */
START_TEST(test_trim_on_shortens_segments)
{
    rig_t *rig = open_grower(new_rig(), 1, CUARENA_STEAL_NEVER);
    void *low = take_on(rig, BLOCK, B);
    void *high = take_on(rig, BLOCK, A);
    ck_assert(high > low);
    free_on(rig, high, A);
    expect_u64(trimmed(rig, B, 0), 0);
    expect_u64(trimmed(rig, A, BLOCK + KIB(4)), BLOCK - KIB(4));
    expect_u64(rig_stream_stats(rig, A).free_bytes, KIB(4));
    expect_u64(trimmed(rig, A, 0), KIB(4));
    expect_u64(rig_reserved(rig), BLOCK);
    free_on(rig, low, B);
}
END_TEST

/* Where holes can be, pages of the stream's go from the middle. */
START_TEST(test_trim_on_punches_holes)
{
    void *p[3];
    uint64_t given = 0;
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    cuarena_t *arena = arena_of("preset=grow,memory=none,handle=64KiB,steal=never");
    for (int i = 0; i < 3; i++)
        expect_ok(cuarena_alloc_on(arena, BLOCK, A, NULL, &p[i]));
    expect_ok(cuarena_free_on(arena, p[1], A));
    expect_ok(cuarena_trim_on(arena, B, 0, &given));
    expect_u64(given, 0);
    expect_ok(cuarena_trim_on(arena, A, 0, &given));
    expect_u64(given, BLOCK);
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_stats(arena, CUARENA_REGION_ALL, &stats));
    expect_u64(stats.reserved_bytes, 2 * BLOCK);
    expect_u64(stats.free_ranges, 0);
    void *again;
    expect_ok(cuarena_alloc_on(arena, BLOCK, B, NULL, &again));
    ck_assert_ptr_eq(again, p[1]);
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_destroy_forced(&arena));
}
END_TEST

/* What is left is the stream's where nothing steals, else everybody's. */
static void leaves_the_rest(int32_t steal)
{
    rig_t rig;
    open_grower(&rig, 0, steal);
    void *whole = take_on(&rig, 2 * BLOCK, A);
    free_on(&rig, whole, A);
    void *head = take_on(&rig, BLOCK, A);
    expect_u64(trimmed(&rig, A, 0), 0);
    bool kept = steal == CUARENA_STEAL_NEVER;
    expect_u64(rig_stream_stats(&rig, A).free_bytes, kept ? BLOCK : 0);
    sim_calls(&rig.sim);
    void *other = take_on(&rig, BLOCK, B);
    ck_assert((other == (char *)whole + BLOCK) == !kept);
    expect_u64(rig.sim.counts[SIM_WAIT], 0);
    free_on(&rig, other, B);
    free_on(&rig, head, A);
    rig_close(&rig);
}

START_TEST(test_trim_on_leaves_the_rest)
{
    leaves_the_rest(_i);
}
END_TEST

/* A block that C uses too is A's when C is done. */
START_TEST(test_trim_on_waits_for_uses)
{
    rig_t *rig = open_grower(new_rig(), 0, CUARENA_STEAL_NEVER);
    void *p = take_on(rig, BLOCK, A);
    sim_read(&rig->sim, C, p, BLOCK, 0);
    expect_ok(cuarena_record_use(rig->arena, p, C));
    free_on(rig, p, A);
    expect_u64(trimmed(rig, A, 0), BLOCK);
    expect_u64(sim_pending(&rig->sim), 0);
}
END_TEST

START_TEST(test_trim_on_eager_events)
{
    rig_t *rig = prepared_rig(ROOM, false);
    rig->config.preset = CUARENA_PRESET_CUPY_POOL;
    rig->config.events = CUARENA_EVENTS_EAGER;
    rig_create(rig);
    void *whole = take_on(rig, 2 * BLOCK, A);
    free_on(rig, whole, A);
    void *head = take_on(rig, BLOCK, A);
    taken_and_freed(rig, B);
    expect_u64(trimmed(rig, A, 0), 0);
    expect_u64(rig_stream_stats(rig, A).free_bytes, BLOCK);
    free_on(rig, head, A);
    expect_u64(trimmed(rig, A, 0), 2 * BLOCK);
    expect_u64(trimmed(rig, CUARENA_NO_STREAM, 0), BLOCK);
}
END_TEST

/* Bytes of a stream that is no more go with those of all. */
START_TEST(test_trim_on_after_a_release)
{
    rig_t *rig = open_grower(new_rig(), 0, CUARENA_STEAL_NEVER);
    void *whole = take_on(rig, 2 * BLOCK, A);
    taken_and_freed(rig, A);
    free_on(rig, whole, A);
    whole = take_on(rig, BLOCK + KIB(4), A);
    expect_ok(cuarena_release_stream(rig->arena, A));
    expect_u64(trimmed(rig, A, 0), 0);
    expect_u64(rig_reserved(rig), 3 * BLOCK);
    expect_u64(trimmed(rig, CUARENA_NO_STREAM, 0), BLOCK);
    free_plain(rig, whole);
    expect_u64(trimmed(rig, CUARENA_NO_STREAM, 0), 2 * BLOCK);
}
END_TEST

/* A caller's own bytes stay. */
START_TEST(test_trim_on_of_a_callers_bytes)
{
    static _Alignas(4096) unsigned char bytes[65536];
    cuarena_config_t config;
    cuarena_t *arena;
    uint64_t given = 1;
    cuarena_config_init(&config);
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes = bytes;
    config.bytes_size = sizeof bytes;
    expect_ok(cuarena_create(&config, &arena));
    expect_ok(cuarena_trim_on(arena, CUARENA_NO_STREAM, 0, &given));
    expect_u64(given, 0);
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

/* ---- What is refused --------------------------------------------------- */

START_TEST(test_trim_on_bad_arguments)
{
    rig_t *rig = open_grower(new_rig(), 0, CUARENA_STEAL_NEVER);
    expect_status(cuarena_trim_on(NULL, A, 0, NULL), CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_trim_on(rig->arena, A, 0, NULL));
    expect_u64(trimmed(rig, sim_handle(9), 0), 0); /* it freed nothing */
}
END_TEST

START_TEST(test_trim_on_a_wait_that_fails)
{
    rig_t *rig = open_grower(new_rig(), 0, CUARENA_STEAL_NEVER);
    void *p = taken_and_freed(rig, A);
    uint64_t given = 7;
    sim_fail(&rig->sim, SIM_WAIT_HOST, 1, CUARENA_DRIVER);
    expect_status(cuarena_trim_on(rig->arena, A, 0, &given), CUARENA_DRIVER);
    expect_u64(given, 7);
    expect_clean(rig);
    void *again = take_on(rig, BLOCK, A);
    ck_assert_ptr_eq(again, p);
    free_on(rig, again, A);
    sim_fail(&rig->sim, SIM_MARK, 1, CUARENA_DRIVER);
    expect_status(cuarena_trim_on(rig->arena, A, 0, &given), CUARENA_DRIVER);
    expect_clean(rig);
    expect_u64(trimmed(rig, A, 0), BLOCK);
}
END_TEST

/* In the ladder a failing wait is nothing to end with. */
START_TEST(test_trim_of_running_out_whose_wait_fails)
{
    rig_t *rig = open_grower(new_rig(), 0, CUARENA_STEAL_NEVER);
    void *p = take_on(rig, ROOM - BLOCK, A);
    taken_and_freed(rig, B);
    sim_fail(&rig->sim, SIM_WAIT_HOST, 1, CUARENA_DRIVER);
    expect_status(try_on(rig, BLOCK, A, NULL), CUARENA_LIMIT);
    expect_clean(rig);
    expect_ok(try_on(rig, BLOCK, A, NULL));
    free_on(rig, p, A);
}
END_TEST

static cuarena_status_t within;

static int32_t trim_within(void *user, const cuarena_relocation_t *list, size_t count)
{
    (void)list, (void)count;
    within = cuarena_trim_on(user, A, 0, NULL);
    return 0;
}

START_TEST(test_trim_on_in_a_relocation_callback)
{
    cuarena_block_t blocks[2];
    rig_t *rig = open_grower(new_rig(), 1, CUARENA_STEAL_NEVER);
    for (int i = 0; i < 2; i++)
        expect_ok(cuarena_block_alloc(rig->arena, BLOCK, &blocks[i]));
    cuarena_block_t low =
        place_of(rig, blocks[0]) < place_of(rig, blocks[1]) ? blocks[0] : blocks[1];
    cuarena_block_t high = low == blocks[0] ? blocks[1] : blocks[0];
    expect_ok(cuarena_block_free(rig->arena, low));
    within = CUARENA_OK;
    expect_ok(cuarena_compact(rig->arena, NULL, trim_within, rig->arena, NULL));
    expect_status(within, CUARENA_REENTERED);
    expect_ok(cuarena_block_free(rig->arena, high));
}
END_TEST

/* ---- Capture ----------------------------------------------------------- */

START_TEST(test_trim_on_a_captured_stream_is_busy)
{
    cuarena_capture_t *capture = NULL;
    rig_t *rig = open_grower(new_rig(), 0, CUARENA_STEAL_NEVER);
    taken_and_freed(rig, A);
    taken_and_freed(rig, B);
    expect_ok(cuarena_capture_begin(rig->arena, A, &capture));
    expect_status(cuarena_trim_on(rig->arena, A, 0, NULL), CUARENA_BUSY);
    ck_assert_uint_ge(trimmed(rig, CUARENA_NO_STREAM, 0), BLOCK);
    expect_ok(cuarena_capture_end(rig->arena, capture));
    expect_ok(cuarena_capture_release(rig->arena, &capture, A));
    trimmed(rig, CUARENA_NO_STREAM, 0);
    expect_u64(rig_reserved(rig), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trim_on");
    suite_add_rows(suite, "rest", test_trim_on_leaves_the_rest, 3);
    suite_add_list(
        suite, "trim_on",
        TEST_LIST(test_trim_on_waits_for_its_stream_once,
                  test_trim_on_no_stream_takes_what_is_idle_and_all_freelists,
                  test_trim_on_keeps_as_much_as_it_is_told, test_trim_on_shortens_segments,
                  test_trim_on_punches_holes, test_trim_on_waits_for_uses,
                  test_trim_on_eager_events, test_trim_on_after_a_release,
                  test_trim_on_of_a_callers_bytes, test_trim_on_bad_arguments,
                  test_trim_on_a_wait_that_fails, test_trim_of_running_out_whose_wait_fails,
                  test_trim_on_in_a_relocation_callback, test_trim_on_a_captured_stream_is_busy));
    return suite_main(suite);
}
