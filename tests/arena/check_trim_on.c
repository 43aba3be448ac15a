/* cuarena_trim_on: what a stream freed goes back to the memory. */
#include "support/configs.h"
#include "support/expect.h"
#include "support/fixture_streams.h"

#include <string.h>

#define BLOCK KIB(64)
#define ROOM (16 * BLOCK)

/* Segments of one block each; or one segment, as long as it must be. */
static fixture_t *open_grower(fixture_t *f, int32_t in_place, int32_t steal)
{
    fixture_prepare(f, SIMULATED, ROOM);
    f->config.preset = CUARENA_PRESET_GROW;
    f->config.limit = (cuarena_amount_t){.value = ROOM};
    f->config.in_place = in_place;
    f->config.steal = steal;
    fixture_create(f);
    return f;
}

static void *allocated_and_freed(fixture_t *f, cuarena_stream_t stream)
{
    return use_anew(f, BLOCK, stream);
}

static uint64_t trimmed(fixture_t *f, cuarena_stream_t stream, uint64_t keep)
{
    uint64_t given = UINT64_MAX;
    expect_ok(cuarena_trim_on(f->arena, stream, keep, &given));
    expect_sound(f);
    return given;
}

/* ---- What goes --------------------------------------------------------- */

START_TEST(trim_on_waits_for_its_stream_once)
{
    fixture_t *f = open_grower(new_fixture(fixture_close), 0, CUARENA_STEAL_NEVER);
    for (int i = 0; i < 3; i++)
        allocated_and_freed(f, A);
    allocated_and_freed(f, B);
    expect_u64(reserved_bytes(f), 2 * BLOCK);
    expect_u64(trimmed(f, A, 0), BLOCK);
    expect_u64(stats_of(f).host_waits, 1);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 1);
    expect_u64(stream_stats_of(f, A).free_bytes, 0);
    expect_u64(stream_stats_of(f, B).free_bytes, BLOCK);
    expect_u64(reserved_bytes(f), BLOCK);
    expect_u64(trimmed(f, A, 0), 0);
    expect_u64(stats_of(f).host_waits, 1);
}
END_TEST

START_TEST(trim_on_no_stream_takes_what_is_idle_and_all_freelists)
{
    fixture_t *f = open_grower(new_fixture(fixture_close), 0, CUARENA_STEAL_NEVER);
    void *plain = alloc_ok(f, BLOCK);
    allocated_and_freed(f, A);
    allocated_and_freed(f, B);
    free_ok(f, plain);
    expect_u64(trimmed(f, B, 0), BLOCK);
    expect_u64(trimmed(f, CUARENA_NO_STREAM, 0), 2 * BLOCK);
    expect_u64(reserved_bytes(f), 0);
}
END_TEST

START_TEST(trim_on_keeps_as_much_as_it_is_told)
{
    void *p[4];
    fixture_t *f = open_grower(new_fixture(fixture_close), 0, CUARENA_STEAL_NEVER);
    for (int i = 0; i < 4; i++)
        p[i] = alloc_on(f, BLOCK, A);
    for (int i = 0; i < 4; i++)
        free_on(f, p[i], A);
    expect_u64(trimmed(f, A, 3 * BLOCK), BLOCK);
    expect_u64(trimmed(f, A, 3 * BLOCK), 0);
    expect_u64(reserved_bytes(f), 3 * BLOCK);
    expect_u64(trimmed(f, A, 0), 3 * BLOCK);
}
END_TEST

/* Where segments are shortened, pages of the stream's go from their end. */
START_TEST(trim_on_shortens_segments)
{
    fixture_t *f = open_grower(new_fixture(fixture_close), 1, CUARENA_STEAL_NEVER);
    void *low = alloc_on(f, BLOCK, B);
    void *high = alloc_on(f, BLOCK, A);
    ck_assert(high > low);
    free_on(f, high, A);
    expect_u64(trimmed(f, B, 0), 0);
    expect_u64(trimmed(f, A, BLOCK + KIB(4)), BLOCK - KIB(4));
    expect_u64(stream_stats_of(f, A).free_bytes, KIB(4));
    expect_u64(trimmed(f, A, 0), KIB(4));
    expect_u64(reserved_bytes(f), BLOCK);
    free_on(f, low, B);
}
END_TEST

/* Where holes can be, pages of the stream's go from the middle. */
START_TEST(trim_on_punches_holes)
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
    fixture_t f;
    open_grower(&f, 0, steal);
    void *whole = alloc_on(&f, 2 * BLOCK, A);
    free_on(&f, whole, A);
    void *head = alloc_on(&f, BLOCK, A);
    expect_u64(trimmed(&f, A, 0), 0);
    bool kept = steal == CUARENA_STEAL_NEVER;
    expect_u64(stream_stats_of(&f, A).free_bytes, kept ? BLOCK : 0);
    sim_calls(&f.sim);
    void *other = alloc_on(&f, BLOCK, B);
    ck_assert((other == (char *)whole + BLOCK) == !kept);
    expect_u64(f.sim.counts[SIM_WAIT], 0);
    free_on(&f, other, B);
    free_on(&f, head, A);
    fixture_close(&f);
}

START_TEST(trim_on_leaves_the_rest)
{
    leaves_the_rest(_i);
}
END_TEST

/* A block that C uses too is A's when C is done. */
START_TEST(trim_on_waits_for_uses)
{
    fixture_t *f = open_grower(new_fixture(fixture_close), 0, CUARENA_STEAL_NEVER);
    void *p = alloc_on(f, BLOCK, A);
    sim_read(&f->sim, C, p, BLOCK, 0);
    expect_ok(cuarena_record_use(f->arena, p, C));
    free_on(f, p, A);
    expect_u64(trimmed(f, A, 0), BLOCK);
    expect_u64(sim_pending(&f->sim), 0);
}
END_TEST

START_TEST(trim_on_eager_events)
{
    fixture_t *f = prepared(SIMULATED, ROOM);
    f->config.preset = CUARENA_PRESET_CUPY_POOL;
    f->config.events = CUARENA_EVENTS_EAGER;
    fixture_create(f);
    void *whole = alloc_on(f, 2 * BLOCK, A);
    free_on(f, whole, A);
    void *head = alloc_on(f, BLOCK, A);
    allocated_and_freed(f, B);
    expect_u64(trimmed(f, A, 0), 0);
    expect_u64(stream_stats_of(f, A).free_bytes, BLOCK);
    free_on(f, head, A);
    expect_u64(trimmed(f, A, 0), 2 * BLOCK);
    expect_u64(trimmed(f, CUARENA_NO_STREAM, 0), BLOCK);
}
END_TEST

/* Bytes of a stream that is no more go with those of all. */
START_TEST(trim_on_after_a_release)
{
    fixture_t *f = open_grower(new_fixture(fixture_close), 0, CUARENA_STEAL_NEVER);
    void *whole = alloc_on(f, 2 * BLOCK, A);
    allocated_and_freed(f, A);
    free_on(f, whole, A);
    whole = alloc_on(f, BLOCK + KIB(4), A);
    expect_ok(cuarena_release_stream(f->arena, A));
    expect_u64(trimmed(f, A, 0), 0);
    expect_u64(reserved_bytes(f), 3 * BLOCK);
    expect_u64(trimmed(f, CUARENA_NO_STREAM, 0), BLOCK);
    free_ok(f, whole);
    expect_u64(trimmed(f, CUARENA_NO_STREAM, 0), 2 * BLOCK);
}
END_TEST

/* A caller's own bytes stay. */
START_TEST(trim_on_of_a_callers_bytes)
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

START_TEST(trim_on_bad_arguments)
{
    fixture_t *f = open_grower(new_fixture(fixture_close), 0, CUARENA_STEAL_NEVER);
    expect_status(cuarena_trim_on(NULL, A, 0, NULL), CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_trim_on(f->arena, A, 0, NULL));
    expect_u64(trimmed(f, sim_handle(9), 0), 0); /* it freed nothing */
}
END_TEST

START_TEST(trim_on_a_wait_that_fails)
{
    fixture_t *f = open_grower(new_fixture(fixture_close), 0, CUARENA_STEAL_NEVER);
    void *p = allocated_and_freed(f, A);
    uint64_t given = 7;
    sim_fail(&f->sim, SIM_WAIT_HOST, 1, CUARENA_DRIVER);
    expect_status(cuarena_trim_on(f->arena, A, 0, &given), CUARENA_DRIVER);
    expect_u64(given, 7);
    expect_sound(f);
    void *again = alloc_on(f, BLOCK, A);
    ck_assert_ptr_eq(again, p);
    free_on(f, again, A);
    sim_fail(&f->sim, SIM_RECORD, 1, CUARENA_DRIVER);
    expect_status(cuarena_trim_on(f->arena, A, 0, &given), CUARENA_DRIVER);
    expect_sound(f);
    expect_u64(trimmed(f, A, 0), BLOCK);
}
END_TEST

/* In the ladder a failing wait is nothing to end with. */
START_TEST(trim_of_running_out_whose_wait_fails)
{
    fixture_t *f = open_grower(new_fixture(fixture_close), 0, CUARENA_STEAL_NEVER);
    void *p = alloc_on(f, ROOM - BLOCK, A);
    allocated_and_freed(f, B);
    sim_fail(&f->sim, SIM_WAIT_HOST, 1, CUARENA_DRIVER);
    expect_status(try_on(f, BLOCK, A, NULL), CUARENA_LIMIT);
    expect_sound(f);
    expect_ok(try_on(f, BLOCK, A, NULL));
    free_on(f, p, A);
}
END_TEST

static cuarena_status_t within;

static int32_t trim_within(void *user, const cuarena_relocation_t *list, size_t count)
{
    (void)list, (void)count;
    within = cuarena_trim_on(user, A, 0, NULL);
    return 0;
}

START_TEST(trim_on_in_a_relocation_callback)
{
    cuarena_block_t blocks[2];
    fixture_t *f = open_grower(new_fixture(fixture_close), 1, CUARENA_STEAL_NEVER);
    for (int i = 0; i < 2; i++)
        expect_ok(cuarena_block_alloc(f->arena, BLOCK, &blocks[i]));
    cuarena_block_t low =
        address_of(f, blocks[0]) < address_of(f, blocks[1]) ? blocks[0] : blocks[1];
    cuarena_block_t high = low == blocks[0] ? blocks[1] : blocks[0];
    expect_ok(cuarena_block_free(f->arena, low));
    within = CUARENA_OK;
    expect_ok(cuarena_compact(f->arena, NULL, trim_within, f->arena, NULL));
    expect_status(within, CUARENA_REENTERED);
    expect_ok(cuarena_block_free(f->arena, high));
}
END_TEST

/* ---- Segments of one block ---------------------------------------------- */

/* What goes back because its stream is done with it is given back as well. */
START_TEST(a_trim_counts_dedicated_blocks_that_end_meanwhile)
{
    uint64_t given = UINT64_MAX;
    fixture_t *f = open_grower(new_fixture(fixture_close), 0, CUARENA_STEAL_WAIT);
    void *kept = alloc_on(f, BLOCK, A);
    free_on(f, ask_on(f, DEDICATED, 4 * BLOCK, A), A);
    expect_u64(reserved_bytes(f), 5 * BLOCK);
    expect_ok(cuarena_trim(f->arena, 0, &given));
    expect_u64(given, 5 * BLOCK - reserved_bytes(f));
    sim_run_all(&f->sim);
    uint64_t before = reserved_bytes(f);
    expect_ok(cuarena_trim(f->arena, 0, &given));
    expect_u64(reserved_bytes(f), BLOCK);
    expect_u64(given, before - BLOCK);
    free_on(f, ask_on(f, DEDICATED, 4 * BLOCK, A), A);
    free_on(f, kept, A);
    expect_u64(trimmed(f, A, 0), 5 * BLOCK);
    expect_u64(reserved_bytes(f), 0);
}
END_TEST

/* ---- Capture ----------------------------------------------------------- */

START_TEST(trim_on_a_captured_stream_is_busy)
{
    cuarena_capture_t *capture = NULL;
    fixture_t *f = open_grower(new_fixture(fixture_close), 0, CUARENA_STEAL_NEVER);
    allocated_and_freed(f, A);
    allocated_and_freed(f, B);
    expect_ok(cuarena_capture_begin(f->arena, A, &capture));
    expect_status(cuarena_trim_on(f->arena, A, 0, NULL), CUARENA_BUSY);
    ck_assert_uint_ge(trimmed(f, CUARENA_NO_STREAM, 0), BLOCK);
    expect_ok(cuarena_capture_end(f->arena, capture));
    expect_ok(cuarena_capture_release(f->arena, &capture, A));
    trimmed(f, CUARENA_NO_STREAM, 0);
    expect_u64(reserved_bytes(f), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trim_on");
    suite_add_rows(suite, "rest", trim_on_leaves_the_rest, 3);
    suite_add_list(suite, "trim_on",
                   TEST_LIST(trim_on_waits_for_its_stream_once,
                             trim_on_no_stream_takes_what_is_idle_and_all_freelists,
                             trim_on_keeps_as_much_as_it_is_told, trim_on_shortens_segments,
                             trim_on_punches_holes, trim_on_waits_for_uses, trim_on_eager_events,
                             trim_on_after_a_release, trim_on_of_a_callers_bytes,
                             trim_on_bad_arguments, trim_on_a_wait_that_fails,
                             trim_of_running_out_whose_wait_fails,
                             a_trim_counts_dedicated_blocks_that_end_meanwhile,
                             trim_on_in_a_relocation_callback, trim_on_a_captured_stream_is_busy));
    return suite_main(suite);
}
