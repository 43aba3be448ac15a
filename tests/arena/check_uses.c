/* Blocks that several streams use, and resizing on streams, on streams that
 * are simulated. */
#include "support/checks.h"
#include "support/fixture_streams.h"

#define POOL KIB(64)

static void use_on(fixture_t *f, void *p, uint64_t bytes, cuarena_stream_t s, uint64_t seed)
{
    sim_write(&f->sim, s, p, bytes, seed);
    expect_ok(cuarena_record_use(f->arena, p, s));
    expect_sound(f);
}

static fixture_t *open_with(fixture_t *f, int32_t event)
{
    fixture_prepare(f, SIMULATED, POOL);
    f->config.events = event;
    fixture_create(f);
    return f;
}

/* Both kinds of events: the test's _i. */
#define EVENT _i

/* ---- Uses and frees ---------------------------------------------------- */

/* Not even the freeing stream gets the bytes before the other is done. */
START_TEST(bytes_wait_for_every_user)
{
    for (int b_first = 0; b_first < 2; b_first++) {
        fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
        void *p = alloc_on(f, POOL, A);
        use_on(f, p, POOL / 2, B, 1);
        sim_write(&f->sim, C, (char *)p + POOL / 2, POOL / 2, 2);
        expect_ok(cuarena_record_use(f->arena, p, C));
        free_on(f, p, A);
        sim_run_stream(&f->sim, b_first ? B : C);
        expect_ok(cuarena_reclaim(f->arena, 0, NULL));
        expect_u64(stats_of(f).live_blocks, 1); /* it waits */
        sim_calls(&f->sim);
        void *q = alloc_on(f, POOL, A);
        ck_assert_ptr_eq(p, q);
        expect_u64(f->sim.counts[SIM_WAIT_HOST] >= 1, 1);
        sim_write(&f->sim, A, q, POOL, 3);
        expect_sound(f);
        free_on(f, q, A);
        fixture_close(f);
    }
}
END_TEST

/* Once the users are done, the freeing stream has the bytes without waiting
 * for itself; others only behind an event of it. */
START_TEST(bytes_are_the_freeing_streams_when_users_are_done)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    void *p = alloc_on(f, POOL, A);
    use_on(f, p, POOL, B, 1);
    sim_order(&f->sim, A, B);
    sim_write(&f->sim, A, p, POOL, 2);
    free_on(f, p, A);
    sim_run_stream(&f->sim, B);
    sim_calls(&f->sim);
    void *q = alloc_on(f, POOL, A);
    expect_u64(f->sim.counts[SIM_WAIT_HOST] != 0, EVENT ? 1u : 0u);
    sim_write(&f->sim, A, q, POOL, 3);
    free_on(f, q, A);
    use_anew(f, POOL, C);
}
END_TEST

/* A use by a stream that was being captured at the free gets its event later. Where that fails
 * once, the bytes wait for the next one. */
START_TEST(a_later_event_that_fails_once_is_recorded_again)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    void *p = alloc_on(f, POOL, A);
    use_on(f, p, POOL, B, 1);
    sim_order(&f->sim, A, B);
    sim_stream_of(&f->sim, B)->capturing = true;
    free_on(f, p, A);
    sim_stream_of(&f->sim, B)->capturing = false;
    for (int i = 0; i < 3; i++) {
        sim_fail(&f->sim, SIM_RECORD, 1, CUARENA_DRIVER);
        cuarena_reclaim(f->arena, 0, NULL);
        f->sim.fail_in = 0;
        cuarena_reclaim(f->arena, 0, NULL);
        expect_u64(stats_of(f).live_blocks, 1); /* B has not run */
    }
    use_anew(f, POOL, C);
}
END_TEST

/* Twice is once; the stream that it was allocated on may be named too. */
START_TEST(recording_again_changes_nothing)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    void *p = alloc_on(f, POOL, A);
    for (int i = 0; i < 20; i++) {
        use_on(f, p, 256, B, (uint64_t)i + 1);
        expect_ok(cuarena_record_use(f->arena, p, A));
        sim_order(&f->sim, A, B);
    }
    sim_calls(&f->sim);
    free_on(f, p, A);
    expect_u64(f->sim.counts[SIM_RECORD], EVENT ? 2u : 1u);
}
END_TEST

/* More users than a record has room for at first. */
START_TEST(many_streams_may_use_one_block)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    void *p = alloc_on(f, POOL, A);
    for (uint32_t i = 0; i < 50; i++) {
        sim_stream_make(&f->sim, sim_handle(10 + i));
        sim_write(&f->sim, sim_handle(10 + i), (char *)p + i * 1024, 256, 1);
    }
    /* recorded for the block, wherever in it the kernel works */
    for (uint32_t i = 0; i < 50; i++)
        expect_ok(cuarena_record_use(f->arena, p, sim_handle(10 + i)));
    free_on(f, p, A);
    use_anew(f, POOL, B);
}
END_TEST

/* Without a stream the caller says that the bytes are idle: nothing waits. */
START_TEST(a_free_without_a_stream_asks_no_user)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    void *p = alloc_on(f, POOL, A);
    use_on(f, p, POOL, B, 1);
    sim_sync(&f->sim, B);
    sim_calls(&f->sim);
    free_ok(f, p);
    void *q = alloc_ok(f, POOL);
    expect_no_calls(f);
    free_ok(f, q);
}
END_TEST

/* The user's stream ends between the use and the free, or after the free. */
START_TEST(users_may_be_released)
{
    for (int after = 0; after < 2; after++)
        for (int freeing = 0; freeing < 2; freeing++) {
            fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
            void *p = alloc_on(f, POOL, A);
            use_on(f, p, POOL, B, 1);
            cuarena_stream_t gone = freeing && after ? A : B;
            if (after)
                free_on(f, p, A);
            expect_ok(cuarena_release_stream(f->arena, gone));
            sim_stream_kill(&f->sim, gone);
            sim_stream_make(&f->sim, gone); /* the name is another's now */
            if (!after)
                free_on(f, p, A);
            use_anew(f, POOL, C);
            fixture_close(f);
        }
}
END_TEST

/* A stream that two threads have each their own of: the other's work is
 * covered by an event of all work. */
static void *use_elsewhere(void *user)
{
    fixture_t *f = user;
    void *p = f->sim.hook_user;
    sim_write(&f->sim, CUARENA_STREAM_PER_THREAD, p, POOL, 1);
    cuarena_record_use(f->arena, p, CUARENA_STREAM_PER_THREAD);
    return NULL;
}

START_TEST(users_may_be_default_streams_of_other_threads)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    void *p = alloc_on(f, POOL, A);
    f->sim.hook_user = p;
    pthread_t thread;
    pthread_create(&thread, NULL, use_elsewhere, f);
    pthread_join(thread, NULL);
    free_on(f, p, A);
    use_anew(f, POOL, A);
}
END_TEST

/* Dedicated blocks go back when all users are done; adopted bytes are not the arena's to keep. */
START_TEST(blocks_apart_have_users_too)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    void *p = NULL;
    expect_ok(cuarena_alloc_on(f->arena, KIB(8), A, &request, &p));
    use_on(f, p, KIB(8), B, 1);
    free_on(f, p, A);
    sim_run_stream(&f->sim, A);
    expect_ok(cuarena_reclaim(f->arena, 0, NULL));
    expect_u64(f->sim.counts[SIM_GIVE_BACK], 0);
    sim_run_stream(&f->sim, B);
    expect_ok(cuarena_reclaim(f->arena, 0, NULL));
    expect_u64(f->sim.counts[SIM_GIVE_BACK], 1);
    static char foreign[1024] __attribute__((aligned(1024)));
    cuarena_block_t adopted = 0;
    expect_ok(cuarena_adopt(f->arena, foreign, sizeof foreign, 0, &adopted));
    expect_ok(cuarena_block_record_use(f->arena, adopted, B));
    expect_ok(cuarena_block_free_on(f->arena, adopted, A));
    expect_u64(stats_of(f).live_blocks, 0);
}
END_TEST

/* Freed with users, the block is gone for every call at once. */
START_TEST(a_block_that_waits_is_stale)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    cuarena_block_t block = alloc_block_on(f, POOL, A);
    void *p = NULL;
    write_block_on(f, block, POOL, B, 1);
    expect_ok(cuarena_block_free_on(f->arena, block, A));
    expect_status(cuarena_block_free_on(f->arena, block, A), CUARENA_STALE);
    expect_status(cuarena_block_free(f->arena, block), CUARENA_STALE);
    expect_status(cuarena_block_pin(f->arena, block, &p), CUARENA_STALE);
    expect_status(cuarena_block_resize_on(f->arena, block, 1, A), CUARENA_STALE);
    expect_status(cuarena_block_record_use(f->arena, block, C), CUARENA_STALE);
    expect_status(cuarena_destroy(&f->arena), CUARENA_BUSY);
    expect_sound(f);
}
END_TEST

/* An event that cannot be recorded: the block lives, as it was. */
START_TEST(a_free_that_fails_leaves_the_block)
{
    for (uint64_t in = 1; in < 3; in++) {
        fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
        void *p = alloc_on(f, POOL, A);
        use_on(f, p, POOL / 2, B, 1);
        sim_write(&f->sim, C, (char *)p + POOL / 2, POOL / 2, 1);
        expect_ok(cuarena_record_use(f->arena, p, C));
        sim_fail(&f->sim, SIM_RECORD, in, CUARENA_DRIVER);
        expect_status(cuarena_free_on(f->arena, p, A), CUARENA_DRIVER);
        expect_sound(f);
        expect_u64(sim_events(&f->sim), 0);
        uint64_t bytes = 0;
        expect_ok(cuarena_size_of(f->arena, p, &bytes, NULL));
        expect_u64(bytes, POOL);
        free_on(f, p, A);
        fixture_close(f);
    }
}
END_TEST

static cuarena_status_t export_nothing(void *user, const cuarena_memory_segment_t *segment,
                                       uint64_t offset, uint64_t bytes,
                                       cuarena_export_piece_t *pieces, size_t capacity,
                                       size_t *count_out)
{
    (void)user, (void)segment, (void)offset, (void)bytes, (void)capacity;
    if (pieces != NULL)
        pieces[0] = (cuarena_export_piece_t){.fd = -1};
    *count_out = 1;
    return CUARENA_OK;
}

/* When its last export is closed its bytes are those of the stream of the free. */
START_TEST(an_exported_block_waits_for_the_stream_of_its_free)
{
    fixture_t *f = new_fixture(fixture_close);
    fixture_prepare(f, SIMULATED, POOL);
    f->config.events = EVENT;
    f->sim.ops.export_range = export_nothing;
    fixture_create(f);
    cuarena_block_t block = alloc_block_on(f, POOL, A);
    void *p = NULL;
    expect_ok(cuarena_block_pin_on(f->arena, block, A, &p));
    sim_write(&f->sim, A, p, POOL, 5);
    expect_ok(cuarena_block_unpin(f->arena, block));
    cuarena_export_options_t options;
    cuarena_export_options_init(&options);
    options.share_handles = 1;
    cuarena_export_piece_t piece;
    cuarena_export_t *export = NULL;
    size_t count = 0;
    expect_ok(cuarena_export(f->arena, block, &options, &piece, 1, &count, &export));
    expect_ok(cuarena_block_free_on(f->arena, block, A));
    expect_ok(cuarena_export_close(f->arena, &export));
    use_anew(f, POOL, B);
}
END_TEST

/* ---- Resizing ---------------------------------------------------------- */

/* What is given up in place is the stream's. */
START_TEST(shrinking_in_place_gives_to_the_stream)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    void *p = alloc_on(f, POOL, A);
    void *q = NULL;
    sim_write(&f->sim, A, p, POOL, 1);
    expect_ok(cuarena_resize_on(f->arena, p, POOL / 2, A, &q));
    ck_assert_ptr_eq(p, q);
    sim_calls(&f->sim);
    void *r = alloc_on(f, POOL / 2, B);
    expect_u64(f->sim.counts[SIM_WAIT], 1);
    sim_write(&f->sim, B, r, POOL / 2, 2);
    sim_read(&f->sim, A, p, POOL / 2, 0);
    expect_sound(f);
    free_on(f, p, A);
    free_on(f, r, B);
}
END_TEST

/* With users, it keeps what they may still work on. */
START_TEST(shrinking_a_used_block_gives_nothing_yet)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    void *p = alloc_on(f, POOL, A);
    void *q = NULL;
    use_on(f, p, POOL, B, 1);
    expect_ok(cuarena_resize_on(f->arena, p, POOL / 2, A, &q));
    ck_assert_ptr_eq(p, q);
    uint64_t asked = 0;
    uint64_t has = 0;
    expect_ok(cuarena_size_of(f->arena, p, &asked, &has));
    expect_u64(asked, POOL / 2);
    expect_u64(has, POOL);
    free_on(f, p, A);
}
END_TEST

/* Into what the stream freed beside it, without a call. */
START_TEST(growing_in_place_takes_from_own_freelists)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    void *p = alloc_on(f, POOL, A);
    void *q = NULL;
    sim_write(&f->sim, A, p, POOL, 1);
    expect_ok(cuarena_resize_on(f->arena, p, POOL / 4, A, &q));
    sim_calls(&f->sim);
    expect_ok(cuarena_resize_on(f->arena, p, POOL, A, &q));
    ck_assert_ptr_eq(p, q);
    expect_no_calls(f);
    free_on(f, p, A);
}
END_TEST

/* Contents move on the stream; users of the old place are waited for by it. */
START_TEST(growing_elsewhere_moves_on_the_stream)
{
    for (int used = 0; used < 2; used++) {
        fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
        cuarena_block_t row[4];
        alloc_row_on(f, row, 4, A);
        cuarena_block_t block = row[0];
        write_block_on(f, block, POOL / 4, A, 5);
        if (used) {
            sim_order(&f->sim, C, A);
            write_block_on(f, block, POOL / 4, C, 6);
        }
        expect_ok(cuarena_block_free_on(f->arena, row[2], A));
        expect_ok(cuarena_block_free_on(f->arena, row[3], A));
        expect_ok(cuarena_block_resize_on(f->arena, block, POOL / 2, A));
        expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
        read_block_on(f, block, POOL / 4, A, used ? 6 : 5);
        use_anew(f, POOL / 4, A); /* its old place */
        expect_ok(cuarena_block_free_on(f->arena, block, A));
        expect_ok(cuarena_block_free_on(f->arena, row[1], A));
        fixture_close(f);
    }
}
END_TEST

/* The copy is work of the arena's own: a compaction elsewhere waits for it, though the block is
 * another stream's. */
START_TEST(a_copy_is_a_use_by_its_stream)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    cuarena_block_t row[4];
    alloc_row_on(f, row, 4, A);
    void *p = NULL;
    expect_ok(cuarena_block_pin_on(f->arena, row[1], A, &p));
    sim_write(&f->sim, A, p, POOL / 4, 5);
    expect_ok(cuarena_block_unpin(f->arena, row[1]));
    sim_sync(&f->sim, A);
    expect_ok(cuarena_block_free(f->arena, row[2]));
    expect_ok(cuarena_block_free(f->arena, row[3]));
    sim_order(&f->sim, B, A);
    expect_ok(cuarena_block_free(f->arena, row[0]));
    expect_ok(cuarena_block_resize_on(f->arena, row[1], POOL / 4 + 256, B));
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = C;
    expect_ok(cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    expect_ok(cuarena_block_pin_on(f->arena, row[1], C, &p));
    sim_read(&f->sim, C, p, POOL / 4, 5);
    sim_run_all(&f->sim);
    expect_ok(cuarena_block_unpin(f->arena, row[1]));
    expect_ok(cuarena_block_free_on(f->arena, row[1], C));
}
END_TEST

/* To no bytes: users are waited for by the stream, as for any old place. */
START_TEST(a_used_block_may_become_empty)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    cuarena_block_t block = alloc_block_on(f, POOL, A);
    write_block_on(f, block, POOL, C, 6);
    expect_ok(cuarena_block_resize_on(f->arena, block, 0, A));
    use_anew(f, POOL, A);
    expect_ok(cuarena_block_free_on(f->arena, block, A));
}
END_TEST

/* What used the added bytes before is over for the stream of the resize only: a compaction
 * elsewhere waits for that, though the block is another stream's. */
START_TEST(growing_in_place_is_a_use_by_its_stream)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    cuarena_block_t row[4];
    alloc_row_on(f, row, 4, A);
    void *p = NULL;
    expect_ok(cuarena_block_pin_on(f->arena, row[2], B, &p));
    sim_write(&f->sim, B, p, POOL / 4, 5);
    expect_ok(cuarena_block_unpin(f->arena, row[2]));
    expect_ok(cuarena_block_free_on(f->arena, row[2], B));
    void *before = address_of(f, row[1]);
    expect_ok(cuarena_block_resize_on(f->arena, row[1], POOL / 2, B));
    ck_assert_ptr_eq(address_of(f, row[1]), before);
    expect_ok(cuarena_block_free(f->arena, row[0]));
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = C;
    expect_ok(cuarena_compact(f->arena, &options, NULL, NULL, NULL));
    ck_assert_ptr_ne(address_of(f, row[1]), before);
    expect_sound(f);
    expect_ok(cuarena_block_free_on(f->arena, row[1], C));
    expect_ok(cuarena_block_free_on(f->arena, row[3], A));
}
END_TEST

/* The new place has the copy, so who gets it next waits for that. */
START_TEST(a_resize_that_cannot_zero_the_old_place_leaves_the_new_one_ordered)
{
    fixture_t *f = new_fixture(fixture_close);
    fixture_prepare(f, SIMULATED, POOL);
    f->config.events = EVENT;
    f->config.zero = CUARENA_ZERO_FREE;
    fixture_create(f);
    cuarena_block_t row[4];
    alloc_row_on(f, row, 4, A);
    expect_ok(cuarena_block_free(f->arena, row[2]));
    expect_ok(cuarena_block_free(f->arena, row[3]));
    sim_fail(&f->sim, SIM_ZERO, 1, CUARENA_DRIVER);
    expect_status(cuarena_block_resize_on(f->arena, row[0], POOL / 2, A), CUARENA_DRIVER);
    use_anew(f, POOL / 2, B);
    expect_ok(cuarena_block_free_on(f->arena, row[0], A));
    expect_ok(cuarena_block_free_on(f->arena, row[1], A));
}
END_TEST

START_TEST(a_resize_that_fails_keeps_uses)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    cuarena_block_t row[4];
    alloc_row_on(f, row, 4, A);
    write_block_on(f, row[0], POOL / 4, C, 6);
    expect_ok(cuarena_block_free_on(f->arena, row[2], A));
    expect_ok(cuarena_block_free_on(f->arena, row[3], A));
    sim_fail(&f->sim, SIM_RELOCATE, 1, CUARENA_DRIVER);
    expect_status(cuarena_block_resize_on(f->arena, row[0], POOL / 2, B), CUARENA_DRIVER);
    expect_sound(f);
    expect_ok(cuarena_block_free_on(f->arena, row[0], A));
    use_anew(f, POOL / 4, A);
    expect_ok(cuarena_block_free_on(f->arena, row[1], A));
}
END_TEST

/* While the work of B is stuck, however often it is recorded, stolen from and freed on. */
START_TEST(events_do_not_pile_up)
{
    fixture_t *f = open_with(new_fixture(fixture_close), EVENT);
    void *p = alloc_on(f, POOL / 4, A);
    use_on(f, p, POOL / 4, B, 1);
    free_on(f, p, A);
    for (uint64_t i = 0; i < 100; i++) {
        cuarena_mark_t mark;
        use_anew(f, POOL / 4, B);
        expect_ok(cuarena_stream_mark(f->arena, B, &mark));
        use_anew(f, 3 * POOL / 4, A);
    }
    expect_sound(f);
    ck_assert_uint_le(sim_events(&f->sim), 8);
    sim_run_stream(&f->sim, B);
    sim_run_stream(&f->sim, A);
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_u64(sim_events(&f->sim), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_streams_uses");
    static const TTest *const *tests;
    tests = TEST_LIST(
        bytes_wait_for_every_user, bytes_are_the_freeing_streams_when_users_are_done,
        recording_again_changes_nothing, many_streams_may_use_one_block,
        a_free_without_a_stream_asks_no_user, users_may_be_released,
        users_may_be_default_streams_of_other_threads, blocks_apart_have_users_too,
        an_exported_block_waits_for_the_stream_of_its_free, a_block_that_waits_is_stale,
        a_later_event_that_fails_once_is_recorded_again, a_free_that_fails_leaves_the_block,
        shrinking_in_place_gives_to_the_stream, shrinking_a_used_block_gives_nothing_yet,
        growing_in_place_takes_from_own_freelists, growing_in_place_is_a_use_by_its_stream,
        a_resize_that_cannot_zero_the_old_place_leaves_the_new_one_ordered,
        growing_elsewhere_moves_on_the_stream, a_copy_is_a_use_by_its_stream,
        a_used_block_may_become_empty, a_resize_that_fails_keeps_uses, events_do_not_pile_up);
    TCase *cases = suite_add_case(suite, "late_and_eager");
    for (int i = 0; tests[i] != NULL; i++)
        tcase_add_loop_test(cases, tests[i], 0, 2);
    return suite_main(suite);
}
