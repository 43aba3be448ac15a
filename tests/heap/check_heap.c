/*
 * The heap on invented addresses: its life, and what can be known of it. Pictures are explained in
 * support/heap_map.h; each step validates.
 */
#include "support/heap_rig.h"

#include <inttypes.h>
#include <string.h>

/* ---- Creation ----------------------------------------------------------- */

static void expect_create(const cuarena_heap_config_t *config, cuarena_status_t want)
{
    cuarena_heap_t *heap = NULL;
    expect_status(cuarena_heap_create(config, &heap), want);
    if (want == CUARENA_OK)
        expect_valid(heap);
    ck_assert_int_eq(heap != NULL, want == CUARENA_OK);
    cuarena_heap_destroy(&heap);
    ck_assert_ptr_null(heap);
}

START_TEST(config_init_sets_documented_defaults)
{
    cuarena_heap_config_t config;
    memset(&config, 0xff, sizeof(config));
    cuarena_heap_config_init(&config);
    expect_u64(config.struct_size, sizeof(config));
    expect_u64(config.granule, 256);
    expect_u64(config.max_blocks, CUARENA_HEAP_MAX_BLOCKS);
    expect_u64(config.split_threshold, 0);
    expect_u64((uint64_t)config.placement, CUARENA_PLACEMENT_DEFAULT);
    expect_create(&config, CUARENA_OK);
}
END_TEST

START_TEST(create_granule_powers_of_two_from_8_to_1_mib)
{
    for (uint64_t granule = 8; granule <= UINT64_C(1) << 20; granule *= 2) {
        cuarena_heap_config_t config = map_config();
        config.granule = granule;
        expect_create(&config, CUARENA_OK);
    }
}
END_TEST

START_TEST(create_granule_below_8_or_odd_is_bad)
{
    static const uint64_t granules[] = {0, 1, 2, 4, 7, 9, 24, 257, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(granules); i++) {
        cuarena_heap_config_t config = map_config();
        config.granule = granules[i];
        expect_create(&config, CUARENA_BAD_ARGUMENT);
    }
}
END_TEST

START_TEST(create_max_blocks_from_1_to_the_maximum)
{
    static const uint64_t counts[] = {1, 2, 3, CUARENA_HEAP_MAX_BLOCKS};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        cuarena_heap_config_t config = map_config();
        config.max_blocks = counts[i];
        expect_create(&config, CUARENA_OK);
    }
}
END_TEST

START_TEST(create_max_blocks_0_or_too_many_is_bad)
{
    cuarena_heap_config_t config = map_config();
    config.max_blocks = 0;
    expect_create(&config, CUARENA_BAD_ARGUMENT);
    config.max_blocks = CUARENA_HEAP_MAX_BLOCKS + 1;
    expect_create(&config, CUARENA_BAD_ARGUMENT);
    config.max_blocks = UINT64_MAX;
    expect_create(&config, CUARENA_BAD_ARGUMENT);
}
END_TEST

START_TEST(create_unknown_placement_is_bad)
{
    cuarena_heap_config_t config = map_config();
    config.placement = -1;
    expect_create(&config, CUARENA_BAD_ARGUMENT);
    config.placement = CUARENA_PLACEMENT_LOW + 1;
    expect_create(&config, CUARENA_BAD_ARGUMENT);
}
END_TEST

START_TEST(create_struct_size_of_no_version_is_bad)
{
    static const size_t sizes[] = {0, 1, sizeof(cuarena_heap_config_t) - 1,
                                   sizeof(cuarena_heap_config_t) + 1, SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        cuarena_heap_config_t config = map_config();
        config.struct_size = sizes[i];
        expect_create(&config, CUARENA_BAD_ARGUMENT);
    }
}
END_TEST

START_TEST(create_null_is_bad)
{
    cuarena_heap_config_t config = map_config();
    expect_create(NULL, CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_create(&config, NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

START_TEST(destroy_null_and_cleared_handles_are_fine)
{
    cuarena_heap_t *heap = NULL;
    cuarena_heap_destroy(NULL);
    cuarena_heap_destroy(&heap);
    ck_assert_ptr_null(heap);
}
END_TEST

START_TEST(destroy_ends_a_heap_with_live_blocks)
{
    map_open(&map, "a4 -2 b3! 1:2 ~5 c1");
    cuarena_heap_destroy(&map.heap);
    ck_assert_ptr_null(map.heap);
}
END_TEST

START_TEST(create_more_heaps_than_an_id_can_tell_apart)
{
    cuarena_heap_config_t config = map_config();
    for (int i = 0; i < 5000; i++)
        expect_create(&config, CUARENA_OK);
}
END_TEST

/* ---- Find --------------------------------------------------------------- */

static void expect_find(uint64_t offset, char tag)
{
    cuarena_block_t block = 0;
    cuarena_status_t want = tag != 0 ? CUARENA_OK : CUARENA_STALE;
    expect_status(cuarena_heap_find(map.heap, offset, &block), want);
    expect_u64(block, tag != 0 ? map_id(&map, tag) : 0);
}

START_TEST(find_where_blocks_begin)
{
    map_open(&map, "a2 -1 b4 ~3 c1");
    expect_find(map_at(&map, 0), 'a');
    expect_find(map_at(&map, 3), 'b');
    expect_find(map_at(&map, 10), 'c');
}
END_TEST

START_TEST(find_inside_before_and_after_is_stale)
{
    map_open(&map, "a2 -1 b4 ~3 c1");
    expect_find(map_at(&map, 0) + 1, 0);
    expect_find(map_at(&map, 1), 0);
    expect_find(map_at(&map, 2), 0);
    expect_find(map_at(&map, 3) - 1, 0);
    expect_find(map_at(&map, 7), 0);
    expect_find(map_at(&map, 0) - 256, 0);
    expect_find(map_at(&map, 11), 0);
    expect_find(0, 0);
    expect_find(UINT64_MAX, 0);
    expect_find(CUARENA_HEAP_MAX_OFFSET, 0);
}
END_TEST

START_TEST(find_freed_is_stale_until_reused)
{
    map_open(&map, "a2 b1");
    expect_ok(map_free(&map, 'a'));
    expect_find(map_at(&map, 0), 0);
    expect_ok(map_alloc(&map, 'c', 2));
    expect_find(map_at(&map, 0), 'c');
}
END_TEST

START_TEST(find_null_is_bad)
{
    cuarena_block_t block;
    map_open(&map, "a2");
    expect_status(cuarena_heap_find(NULL, MAP_BASE, &block), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_heap_find(map.heap, MAP_BASE, NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- Ids ---------------------------------------------------------------- */

static void expect_dead(cuarena_block_t id)
{
    cuarena_heap_entry_t entry;
    cuarena_status_t want = CUARENA_STALE;
    expect_status(cuarena_heap_free(map.heap, id, 0), want);
    expect_status(cuarena_heap_resize(map.heap, id, 256, 0), want);
    expect_status(cuarena_heap_pin(map.heap, id), want);
    expect_status(cuarena_heap_unpin(map.heap, id), want);
    expect_status(cuarena_heap_block_info(map.heap, id, &entry), want);
}

START_TEST(id_0_names_none)
{
    map_open(&map, "a2 b1");
    ck_assert_uint_ne(map_id(&map, 'a'), 0);
    expect_dead(0);
    expect_map(&map, "a2 b1");
}
END_TEST

START_TEST(id_of_a_freed_block_is_stale)
{
    map_open(&map, "a2 b1");
    cuarena_block_t id = map_id(&map, 'a');
    expect_ok(map_free(&map, 'a'));
    expect_dead(id);
    expect_map(&map, "-2 b1");
}
END_TEST

START_TEST(id_stays_stale_when_its_place_is_reused)
{
    map_open(&map, "a2 b1");
    cuarena_block_t id = map_id(&map, 'a');
    for (int i = 0; i < 100; i++) {
        expect_ok(map_free(&map, 'a'));
        expect_ok(map_alloc(&map, 'a', 2));
        ck_assert_uint_ne(map_id(&map, 'a'), id);
        expect_dead(id);
    }
    expect_map(&map, "a2 b1");
}
END_TEST

START_TEST(id_of_another_heap_is_stale)
{
    map_t other;
    map_open(&map, "a2 b1");
    map_open(&other, "a2 b1");
    ck_assert_uint_ne(map_id(&map, 'a'), map_id(&other, 'a'));
    expect_dead(map_id(&other, 'a'));
    expect_dead(map_id(&other, 'b'));
    map_close(&other);
    expect_map(&map, "a2 b1");
}
END_TEST

START_TEST(id_of_a_heap_before_at_the_same_place_is_stale)
{
    map_open(&map, "a2 b1");
    cuarena_block_t id = map_id(&map, 'a');
    map_close(&map);
    map_open(&map, "a2 b1");
    expect_dead(id);
}
END_TEST

START_TEST(id_with_any_bit_changed_is_stale)
{
    map_open(&map, "a2 b1 c1");
    for (int bit = 0; bit < 64; bit++) {
        cuarena_block_t id = map_id(&map, 'a') ^ UINT64_C(1) << bit;
        if (id != map_id(&map, 'b') && id != map_id(&map, 'c'))
            expect_dead(id);
    }
    expect_dead(UINT64_MAX);
    expect_map(&map, "a2 b1 c1");
}
END_TEST

START_TEST(id_calls_with_null_are_bad)
{
    cuarena_heap_entry_t entry;
    cuarena_status_t bad = CUARENA_BAD_ARGUMENT;
    map_open(&map, "a2");
    cuarena_block_t id = map_id(&map, 'a');
    expect_status(cuarena_heap_pin(NULL, id), bad);
    expect_status(cuarena_heap_unpin(NULL, id), bad);
    expect_status(cuarena_heap_block_info(NULL, id, &entry), bad);
    expect_status(cuarena_heap_block_info(map.heap, id, NULL), bad);
}
END_TEST

/* ---- Pins --------------------------------------------------------------- */

START_TEST(pin_counts_up_and_down)
{
    map_open(&map, "a2 b1");
    expect_ok(map_pin(&map, 'a'));
    expect_ok(map_pin(&map, 'a'));
    expect_map(&map, "a2!! b1");
    expect_ok(map_unpin(&map, 'a'));
    expect_map(&map, "a2! b1");
}
END_TEST

START_TEST(unpin_without_a_pin_is_bad)
{
    map_open(&map, "a2 b1!");
    expect_status(map_unpin(&map, 'a'), CUARENA_BAD_ARGUMENT);
    expect_ok(map_unpin(&map, 'b'));
    expect_status(map_unpin(&map, 'b'), CUARENA_BAD_ARGUMENT);
    expect_map(&map, "a2 b1");
}
END_TEST

START_TEST(pin_beyond_the_most_is_busy)
{
    cuarena_heap_entry_t entry;
    map_open(&map, "a2");
    for (unsigned i = 0; i < CUARENA_HEAP_MAX_PINS; i++)
        expect_ok(cuarena_heap_pin(map.heap, map_id(&map, 'a')));
    expect_status(map_pin(&map, 'a'), CUARENA_BUSY);
    expect_ok(cuarena_heap_block_info(map.heap, map_id(&map, 'a'), &entry));
    expect_u64(entry.pins, CUARENA_HEAP_MAX_PINS);
    expect_ok(map_unpin(&map, 'a'));
    expect_ok(map_pin(&map, 'a'));
}
END_TEST

/* ---- Walk --------------------------------------------------------------- */

static size_t walk_all(size_t capacity, cuarena_heap_entry_t *all)
{
    uint64_t cursor = 0;
    size_t total = 0;
    size_t count;
    do {
        expect_ok(cuarena_heap_walk(map.heap, &cursor, all + total, capacity, &count));
        ck_assert_uint_le(count, capacity);
        total += count;
        ck_assert_uint_lt(total, 64);
    } while (count == capacity);
    return total;
}

START_TEST(walk_is_the_same_for_every_capacity)
{
    cuarena_heap_entry_t want[128];
    cuarena_heap_entry_t got[128];
    map_open(&map, "a2 -1 b4! | -2 ~3 c1 1:4 -2 2:1 d1 ~9 -1 | 1:3");
    size_t count = walk_all(64, want);
    expect_u64(count, 13);
    for (size_t capacity = 1; capacity <= 20; capacity++) {
        memset(got, 0xff, sizeof(got));
        expect_u64(walk_all(capacity, got), count);
        ck_assert_mem_eq(got, want, count * sizeof(want[0]));
    }
}
END_TEST

START_TEST(walk_empty_heap_has_no_entries)
{
    cuarena_heap_entry_t all[64];
    map_open(&map, "");
    expect_u64(walk_all(8, all), 0);
}
END_TEST

START_TEST(walk_entry_of_a_block_is_its_info)
{
    cuarena_heap_entry_t all[64];
    cuarena_heap_entry_t info;
    map_open(&map, "-8 a4!@8 -1");
    expect_u64(walk_all(8, all), 3);
    expect_ok(cuarena_heap_block_info(map.heap, map_id(&map, 'a'), &info));
    ck_assert_mem_eq(&all[1], &info, sizeof(info));
    expect_u64(info.offset, map_at(&map, 8));
    expect_u64(info.alignment, 8 * 256);
    expect_u64(info.block, map_id(&map, 'a'));
}
END_TEST

START_TEST(walk_gap_and_range_members_are_0)
{
    cuarena_heap_entry_t all[64];
    map_open(&map, "-3 ~2 a1");
    expect_u64(walk_all(8, all), 3);
    cuarena_heap_entry_t range = {
        .kind = CUARENA_ENTRY_RANGE, .offset = map_at(&map, 0), .size = 768};
    cuarena_heap_entry_t gap = {.kind = CUARENA_ENTRY_GAP, .offset = map_at(&map, 3), .size = 512};
    ck_assert_mem_eq(&all[0], &range, sizeof(range));
    ck_assert_mem_eq(&all[1], &gap, sizeof(gap));
}
END_TEST

START_TEST(walk_null_or_capacity_0_is_bad)
{
    cuarena_heap_entry_t entry;
    uint64_t cursor = 0;
    size_t count;
    cuarena_status_t bad = CUARENA_BAD_ARGUMENT;
    map_open(&map, "a2");
    expect_status(cuarena_heap_walk(NULL, &cursor, &entry, 1, &count), bad);
    expect_status(cuarena_heap_walk(map.heap, NULL, &entry, 1, &count), bad);
    expect_status(cuarena_heap_walk(map.heap, &cursor, NULL, 1, &count), bad);
    expect_status(cuarena_heap_walk(map.heap, &cursor, &entry, 1, NULL), bad);
    expect_u64(cursor, 0);
}
END_TEST

/* ---- Statistics --------------------------------------------------------- */

static cuarena_heap_stats_t stats_now(void)
{
    cuarena_heap_stats_t stats;
    memset(&stats, 0xff, sizeof(stats));
    cuarena_heap_stats_init(&stats);
    expect_ok(cuarena_heap_stats(map.heap, &stats));
    return stats;
}

START_TEST(stats_of_an_empty_heap)
{
    map_open(&map, "");
    cuarena_heap_stats_t stats = stats_now();
    expect_u64(stats.struct_size, sizeof(stats));
    expect_u64(stats.capacity_bytes, 0);
    expect_u64(stats.free_bytes, 0);
    expect_u64(stats.largest_bytes, 0);
    expect_u64(stats.live_blocks, 0);
    expect_u64(stats.ranges, 0);
    expect_u64(stats.segments, 0);
    expect_u64(stats.peak_live_bytes, 0);
    expect_u64(stats.full_searches, 0);
}
END_TEST

START_TEST(stats_are_a_recount_of_the_picture)
{
    map_open(&map, "a2 -1 b4! | -2 ~3 c1 1:4 -2 2:1 d1");
    cuarena_heap_stats_t stats = stats_now();
    expect_u64(stats.capacity_bytes, 18 * 256);
    expect_u64(stats.live_bytes, 8 * 256);
    expect_u64(stats.requested_bytes, 8 * 256);
    expect_u64(stats.free_bytes, 10 * 256);
    expect_u64(stats.largest_bytes, 2 * 256);
    expect_u64(stats.live_blocks, 4);
    expect_u64(stats.ranges, 5);
    expect_u64(stats.segments, 3);
    expect_u64(stats.allocs - stats.frees, 4);
}
END_TEST

START_TEST(stats_largest_is_less_than_a_32nd_below_the_exact)
{
    map_open(&map, "");
    for (uint64_t granules = 1; granules < 5000; granules += granules / 7 + 1) {
        uint64_t exact = 256 * granules;
        expect_ok(map_segment(&map, 0, granules));
        cuarena_heap_stats_t stats = stats_now();
        expect_between(stats.largest_bytes, exact - exact / 32, exact);
        ck_assert_uint_lt(exact - stats.largest_bytes, stats.largest_bytes / 32 + 1);
        expect_ok(map_cut(&map, 0, granules));
    }
}
END_TEST

START_TEST(stats_largest_does_not_see_other_freelists)
{
    uint64_t bytes;
    map_open(&map, "-2 1:9 a1 2:5");
    expect_u64(stats_now().largest_bytes, 512);
    expect_ok(cuarena_heap_largest(map.heap, 0, &bytes));
    expect_u64(bytes, 512);
    expect_ok(cuarena_heap_largest(map.heap, map_freelist(&map, 1), &bytes));
    expect_u64(bytes, 9 * 256);
    expect_ok(cuarena_heap_largest(map.heap, map_freelist(&map, 3), &bytes));
    expect_u64(bytes, 0);
}
END_TEST

START_TEST(largest_is_exact_within_a_class)
{
    uint64_t bytes;
    map_open(&map, "");
    expect_ok(map_segment(&map, 0, 1024));
    expect_ok(map_segment(&map, 2000, 1039));
    expect_ok(map_segment(&map, 4000, 1030));
    expect_ok(cuarena_heap_largest(map.heap, 0, &bytes));
    expect_u64(bytes, 1039 * 256);
}
END_TEST

START_TEST(largest_null_or_unknown_freelist_is_bad)
{
    uint64_t bytes = 3;
    cuarena_status_t bad = CUARENA_BAD_ARGUMENT;
    map_open(&map, "-4");
    expect_status(cuarena_heap_largest(NULL, 0, &bytes), bad);
    expect_status(cuarena_heap_largest(map.heap, 0, NULL), bad);
    expect_status(cuarena_heap_largest(map.heap, 1, &bytes), bad);
    expect_status(cuarena_heap_largest(map.heap, UINT32_MAX, &bytes), bad);
    expect_u64(bytes, 3);
}
END_TEST

START_TEST(stats_peaks_stay_until_reset)
{
    map_open(&map, "a2 b5 c1");
    expect_ok(map_free(&map, 'b'));
    expect_u64(stats_now().peak_live_bytes, 8 * 256);
    expect_u64(stats_now().peak_requested_bytes, 8 * 256);
    expect_u64(stats_now().peak_live_blocks, 3);
    cuarena_heap_reset_peaks(map.heap);
    expect_u64(stats_now().peak_live_bytes, 3 * 256);
    expect_u64(stats_now().peak_requested_bytes, 3 * 256);
    expect_u64(stats_now().peak_live_blocks, 2);
}
END_TEST

START_TEST(stats_peaks_rise_with_a_resize)
{
    map_open(&map, "a2 -6");
    cuarena_heap_reset_peaks(map.heap);
    cuarena_block_t block = map_id(&map, 'a');
    expect_ok(cuarena_heap_resize(map.heap, block, 1000, 0));
    expect_ok(cuarena_heap_resize(map.heap, block, 1, 0));
    expect_u64(stats_now().peak_live_bytes, 1024);
    expect_u64(stats_now().peak_requested_bytes, 1000);
    expect_u64(stats_now().requested_bytes, 1);
    expect_u64(stats_now().live_bytes, 256);
}
END_TEST

START_TEST(stats_refused_requests_are_not_counted)
{
    map_open(&map, "a2 -4 b2 -4 c2");
    cuarena_heap_stats_t before = stats_now();
    expect_status(map_alloc(&map, 'd', 8), CUARENA_FRAGMENTED);
    expect_status(map_alloc(&map, 'd', 9), CUARENA_OUT_OF_MEMORY);
    expect_status(map_resize(&map, 'a', 9), CUARENA_FRAGMENTED);
    cuarena_heap_stats_t after = stats_now();
    expect_u64(after.allocs, before.allocs);
    expect_u64(after.frees, before.frees);
    expect_u64(after.peak_live_bytes, before.peak_live_bytes);
}
END_TEST

START_TEST(stats_full_searches_count_refusals_only)
{
    map_open(&map, "a2 -4 b2 -4 c2");
    expect_ok(map_alloc(&map, 'd', 4));
    expect_u64(stats_now().full_searches, 0);
    expect_status(map_alloc(&map, 'e', 5), CUARENA_OUT_OF_MEMORY);
    expect_ok(map_free(&map, 'd'));
    expect_status(map_alloc(&map, 'e', 8), CUARENA_FRAGMENTED);
    expect_between(stats_now().full_searches, 1, 2);
}
END_TEST

START_TEST(stats_struct_size_of_no_version_is_bad)
{
    cuarena_heap_stats_t stats;
    cuarena_status_t bad = CUARENA_BAD_ARGUMENT;
    map_open(&map, "a2");
    cuarena_heap_stats_init(&stats);
    stats.struct_size = 0;
    expect_status(cuarena_heap_stats(map.heap, &stats), bad);
    stats.struct_size = sizeof(stats) - 1;
    expect_status(cuarena_heap_stats(map.heap, &stats), bad);
    stats.struct_size = sizeof(stats) + 1;
    expect_status(cuarena_heap_stats(map.heap, &stats), bad);
    expect_status(cuarena_heap_stats(map.heap, NULL), bad);
    expect_status(cuarena_heap_stats(NULL, &stats), bad);
}
END_TEST

/* ---- Errors ------------------------------------------------------------- */

START_TEST(error_of_a_refused_request_tells_asked_free_and_largest)
{
    map_open(&map, "a2 -4 b2 -5 c2");
    expect_status(map_alloc(&map, 'd', 6), CUARENA_FRAGMENTED);
    cuarena_error_info_t info = last_error();
    expect_status(info.status, CUARENA_FRAGMENTED);
    expect_u64(info.asked_bytes, 6 * 256);
    expect_u64(info.free_bytes, 9 * 256);
    expect_u64(info.largest_bytes, 5 * 256);
    ck_assert_str_ne(info.message, "");
}
END_TEST

START_TEST(error_of_a_freelist_tells_of_that_freelist)
{
    map_open(&map, "a2 -4 1:2 -5 c2");
    expect_status(map_alloc_in(&map, 'd', 3, 1), CUARENA_OUT_OF_MEMORY);
    cuarena_error_info_t info = last_error();
    expect_status(info.status, CUARENA_OUT_OF_MEMORY);
    expect_u64(info.asked_bytes, 3 * 256);
    expect_u64(info.free_bytes, 2 * 256);
    expect_u64(info.largest_bytes, 2 * 256);
}
END_TEST

START_TEST(error_of_max_blocks_tells_the_limit)
{
    cuarena_heap_config_t config = map_config();
    config.max_blocks = 2;
    map_open_with(&map, &config, "a1 b1");
    expect_ok(map_extend(&map, 0, 3));
    expect_status(map_alloc(&map, 'c', 1), CUARENA_LIMIT);
    cuarena_error_info_t info = last_error();
    expect_status(info.status, CUARENA_LIMIT);
    ck_assert_str_ne(info.message, "");
}
END_TEST

START_TEST(error_of_a_stale_id_is_named)
{
    map_open(&map, "a1 b1");
    expect_ok(map_free(&map, 'a'));
    expect_status(map_free(&map, 'a'), CUARENA_STALE);
    expect_status(last_error().status, CUARENA_STALE);
    ck_assert_str_ne(last_error().message, "");
}
END_TEST

/* ---- Validate ----------------------------------------------------------- */

START_TEST(validate_without_text_is_fine)
{
    char text[4] = "abc";
    map_open(&map, "a1 b1");
    expect_ok(cuarena_heap_validate(map.heap, NULL, 0));
    expect_ok(cuarena_heap_validate(map.heap, text, 0));
    ck_assert_str_eq(text, "abc");
    expect_status(cuarena_heap_validate(NULL, text, 4), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- The suite ---------------------------------------------------------- */

static void add_creation(Suite *suite)
{
    add_tests(
        suite, "creation",
        TEST_LIST(config_init_sets_documented_defaults,
                  create_granule_powers_of_two_from_8_to_1_mib,
                  create_granule_below_8_or_odd_is_bad, create_max_blocks_from_1_to_the_maximum,
                  create_max_blocks_0_or_too_many_is_bad, create_unknown_placement_is_bad,
                  create_struct_size_of_no_version_is_bad, create_null_is_bad,
                  destroy_null_and_cleared_handles_are_fine, destroy_ends_a_heap_with_live_blocks,
                  create_more_heaps_than_an_id_can_tell_apart));
}

static void add_find(Suite *suite)
{
    add_tests(suite, "find",
              TEST_LIST(find_where_blocks_begin, find_inside_before_and_after_is_stale,
                        find_freed_is_stale_until_reused, find_null_is_bad));
}

static void add_ids(Suite *suite)
{
    add_tests(suite, "ids",
              TEST_LIST(id_0_names_none, id_of_a_freed_block_is_stale,
                        id_stays_stale_when_its_place_is_reused, id_of_another_heap_is_stale,
                        id_of_a_heap_before_at_the_same_place_is_stale,
                        id_with_any_bit_changed_is_stale, id_calls_with_null_are_bad));
}

static void add_pins(Suite *suite)
{
    add_tests(
        suite, "pins",
        TEST_LIST(pin_counts_up_and_down, unpin_without_a_pin_is_bad, pin_beyond_the_most_is_busy));
}

static void add_walk(Suite *suite)
{
    add_tests(suite, "walk",
              TEST_LIST(walk_is_the_same_for_every_capacity, walk_empty_heap_has_no_entries,
                        walk_entry_of_a_block_is_its_info, walk_gap_and_range_members_are_0,
                        walk_null_or_capacity_0_is_bad));
}

static void add_statistics(Suite *suite)
{
    add_tests(suite, "statistics",
              TEST_LIST(stats_of_an_empty_heap, stats_are_a_recount_of_the_picture,
                        stats_largest_is_less_than_a_32nd_below_the_exact,
                        stats_largest_does_not_see_other_freelists, largest_is_exact_within_a_class,
                        largest_null_or_unknown_freelist_is_bad, stats_peaks_stay_until_reset,
                        stats_peaks_rise_with_a_resize, stats_refused_requests_are_not_counted,
                        stats_full_searches_count_refusals_only,
                        stats_struct_size_of_no_version_is_bad));
}

static void add_errors(Suite *suite)
{
    add_tests(suite, "errors",
              TEST_LIST(error_of_a_refused_request_tells_asked_free_and_largest,
                        error_of_a_freelist_tells_of_that_freelist,
                        error_of_max_blocks_tells_the_limit, error_of_a_stale_id_is_named));
}

static void add_validate(Suite *suite)
{
    add_tests(suite, "validate", TEST_LIST(validate_without_text_is_fine));
}

int main(void)
{
    Suite *suite = suite_create("heap");
    add_creation(suite);
    add_find(suite);
    add_ids(suite);
    add_pins(suite);
    add_walk(suite);
    add_statistics(suite);
    add_errors(suite);
    add_validate(suite);
    return suite_main(suite);
}
