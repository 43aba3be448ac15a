/*
 * The host's own memory runs out: each call is made to fail at its first request for memory, then
 * at its second, until it succeeds. A failed call leaves the heap as it was. Calls that never take
 * memory are made with all requests counted. And how much is taken, by the sentences of heap.h.
 *
 * Looks inside, since only there host memory can be refused and counted (base/host_test.h).
 */
#include "support/heap_rig.h"

#include "base/host.h"
#include "base/host_test.h"
#include "heap/heap.h"
#include "support/scale.h"

#include <inttypes.h>
#include <stdio.h>

#define MANY 4000u

static uint64_t live_before; /* bytes of the host's, without a heap */

static void note_live(void)
{
    live_before = cuai_host_live();
}

static void expect_no_leak(void)
{
    cuai_host_fail_at(0);
    close_map();
    expect_u64(cuai_host_live(), live_before);
}

/* ---- Failing ------------------------------------------------------------ */

static uint64_t mixed(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
}

/* Everything that a walk shows. */
static uint64_t fingerprint(void)
{
    cuarena_heap_entry_t entry;
    uint64_t cursor = 0;
    uint64_t hash = 1;
    size_t count = 1;
    while (count == 1) {
        expect_ok(cuarena_heap_walk(map.heap, &cursor, &entry, 1, &count));
        if (count == 1) {
            hash = mixed(hash, entry.offset);
            hash = mixed(hash, entry.size);
            hash = mixed(hash, entry.block);
            hash = mixed(hash, entry.requested);
            hash = mixed(hash, entry.freelist);
            hash = mixed(hash, entry.moving);
        }
    }
    return hash;
}

/* How many failures it took. */
static unsigned fail_until_ok(cuarena_status_t (*call)(void))
{
    for (unsigned nth = 1;; nth++) {
        uint64_t before = fingerprint();
        cuai_host_fail_at(nth);
        cuarena_status_t status = call();
        cuai_host_fail_at(0);
        expect_valid(map.heap);
        if (status == CUARENA_OK)
            return nth - 1;
        expect_status(status, CUARENA_OUT_OF_MEMORY);
        expect_u64(fingerprint(), before);
    }
}

static void expect_no_requests(cuarena_status_t (*call)(void))
{
    cuai_host_fail_at(0);
    expect_ok(call());
    expect_u64(cuai_host_calls(), 0);
}

START_TEST(host_create_fails_without_leaks)
{
    cuarena_heap_config_t config = map_config();
    cuarena_status_t status = CUARENA_OUT_OF_MEMORY;
    uint64_t nth = 0;
    while (status != CUARENA_OK) {
        uint64_t live = cuai_host_live();
        cuai_host_fail_at(++nth);
        status = cuarena_heap_create(&config, &map.heap);
        cuai_host_fail_at(0);
        if (status != CUARENA_OK)
            expect_u64(cuai_host_live(), live);
    }
    expect_between(nth, 4, 32);
    expect_valid(map.heap);
}
END_TEST

/* ---- Blocks ------------------------------------------------------------- */

static cuarena_status_t alloc_x(void)
{
    cuarena_heap_request_t request = {.size = map.granule, .tag = 'x'};
    uint64_t offset;
    return cuarena_heap_alloc(map.heap, &request, &map.ids['x'], &offset);
}

/* Most calls take no memory: those that do are found by trying each. */
static unsigned alloc_many(cuarena_block_t *blocks)
{
    unsigned failures = 0;
    for (unsigned i = 0; i < MANY; i++) {
        cuai_host_fail_at(1);
        cuarena_status_t status = alloc_x();
        cuai_host_fail_at(0);
        if (status != CUARENA_OK) {
            expect_status(status, CUARENA_OUT_OF_MEMORY);
            failures += 1 + fail_until_ok(alloc_x);
        }
        blocks[i] = map_id(&map, 'x');
    }
    expect_valid(map.heap);
    return failures;
}

static void free_all(const cuarena_block_t *blocks, unsigned freelists)
{
    cuai_host_fail_at(0);
    for (unsigned i = 0; i < MANY; i++) {
        unsigned k = (i * 7) % MANY;
        uint32_t freelist = map_freelist(&map, k % freelists);
        expect_ok(cuarena_heap_free(map.heap, blocks[k], freelist));
    }
    expect_u64(cuai_host_calls(), 0);
    expect_valid(map.heap);
}

static void open_many(unsigned freelists)
{
    map_open(&map, "");
    expect_ok(map_segment(&map, 0, 2 * MANY));
    map_freelist(&map, freelists - 1);
}

START_TEST(host_alloc_fails_at_every_slab)
{
    cuarena_block_t blocks[MANY];
    open_many(1);
    expect_between(alloc_many(blocks), 4, MANY / 8);
    free_all(blocks, 1);
    expect_u64(alloc_many(blocks), 0);
}
END_TEST

START_TEST(host_alloc_with_freelists_fails_at_every_slab)
{
    cuarena_block_t blocks[MANY];
    open_many(4);
    expect_between(alloc_many(blocks), 4, MANY / 8);
    free_all(blocks, 4);
}
END_TEST

static cuarena_status_t resize_a(void)
{
    return cuarena_heap_resize(map.heap, map_id(&map, 'a'), map.granule, map_freelist(&map, 1));
}

START_TEST(host_resize_takes_no_memory)
{
    map_open(&map, "a4 -3 b1");
    map_freelist(&map, 1);
    expect_no_requests(resize_a);
    expect_map(&map, "a1 1:3 -3 b1");
}
END_TEST

static cuarena_status_t exchange_a_b(void)
{
    return map_exchange(&map, 'a', 'b');
}

START_TEST(host_exchange_takes_no_memory)
{
    map_open(&map, "a4 -3 b1");
    expect_no_requests(exchange_a_b);
}
END_TEST

/* ---- Segments ----------------------------------------------------------- */

static uint64_t next_segment;

static cuarena_status_t add_next(void)
{
    return cuarena_heap_segment_add(map.heap, map_at(&map, next_segment), map.granule);
}

static cuarena_status_t add_next_block(void)
{
    cuarena_heap_request_t request = {.size = map.granule};
    return cuarena_heap_segment_add_block(map.heap, map_at(&map, next_segment), map.granule,
                                          &request, &map.ids['y']);
}

START_TEST(host_segment_add_fails_and_leaves_none)
{
    unsigned failures = 0;
    map_open(&map, "");
    for (next_segment = 0; next_segment < 2000; next_segment += 2)
        failures += fail_until_ok(add_next);
    expect_between(failures, 4, 100);
}
END_TEST

/* Two records each: with one more before them, other calls meet the end of a slab. */
START_TEST(host_segment_add_block_fails_and_leaves_none)
{
    unsigned failures = 0;
    map_open(&map, "");
    for (int more = 0; more < _i; more++)
        expect_ok(map_segment(&map, 5000 + 2 * (uint64_t)more, 1));
    for (next_segment = 0; next_segment < 2000; next_segment += 2)
        failures += fail_until_ok(add_next_block);
    expect_between(failures, 4, 100);
}
END_TEST

static cuarena_status_t extend_first(void)
{
    return cuarena_heap_segment_extend(map.heap, map_at(&map, 0), map.granule);
}

START_TEST(host_segment_extend_beside_a_freelist_range)
{
    map_open(&map, "a1 1:2");
    fail_until_ok(extend_first);
    expect_map(&map, "a1 1:2 -1");
}
END_TEST

static uint64_t next_cut;

static cuarena_status_t cut_next(void)
{
    return cuarena_heap_segment_cut(map.heap, map_at(&map, next_cut), map.granule);
}

START_TEST(host_segment_cut_in_the_middle_fails_and_cuts_nothing)
{
    unsigned failures = 0;
    map_open(&map, "-1000");
    for (next_cut = 1; next_cut < 999; next_cut += 2)
        failures += fail_until_ok(cut_next);
    expect_between(failures, 3, 100);
}
END_TEST

static cuarena_status_t join_first(void)
{
    return cuarena_heap_segment_join(map.heap, map_at(&map, 3));
}

START_TEST(host_segment_join_takes_no_memory)
{
    map_open(&map, "a1 1:2 | -4");
    expect_no_requests(join_first);
    expect_map(&map, "a1 1:2 -4");
}
END_TEST

/* ---- Free lists -------------------------------------------------------------- */

static uint32_t new_freelist;

static cuarena_status_t create_freelist(void)
{
    return cuarena_heap_freelist_create(map.heap, &new_freelist);
}

START_TEST(host_freelist_create_fails_and_makes_none)
{
    map_open(&map, "a1 -1");
    expect_between(fail_until_ok(create_freelist), 1, 4);
    expect_ok(cuarena_heap_free(map.heap, map_id(&map, 'a'), new_freelist));
    expect_valid(map.heap);
}
END_TEST

static cuarena_status_t reclaim_first(void)
{
    return cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 1));
}

static cuarena_status_t destroy_second(void)
{
    return cuarena_heap_freelist_destroy(map.heap, map_freelist(&map, 2));
}

START_TEST(host_reclaim_and_freelist_destroy_take_no_memory)
{
    map_open(&map, "1:1 2:1 -1 2:1 1:1");
    expect_no_requests(reclaim_first);
    expect_no_requests(destroy_second);
    expect_map(&map, "-5");
}
END_TEST

/* ---- Plans -------------------------------------------------------------- */

static cuarena_status_t create_plan(void)
{
    cuarena_heap_plan_options_t options;
    cuarena_heap_plan_options_init(&options);
    return cuarena_heap_plan_create(map.heap, &options, &map_plan);
}

static cuarena_status_t commit_plan(void)
{
    return cuarena_heap_plan_commit(map.heap, map_plan, map_freelist(&map, 1));
}

static cuarena_status_t abort_plan(void)
{
    return cuarena_heap_plan_abort(map.heap, map_plan);
}

START_TEST(host_plan_create_fails_without_a_plan)
{
    map_open(&map, "-2 a3 -1 b4");
    expect_between(fail_until_ok(create_plan), 1, 4);
    ck_assert_ptr_nonnull(map_plan);
}
END_TEST

START_TEST(host_plan_begin_fails_and_holds_nothing)
{
    cuarena_block_t blocks[MANY];
    open_many(1);
    alloc_many(blocks);
    expect_ok(cuarena_heap_free(map.heap, blocks[0], 0));
    expect_ok(create_plan());
    /* Each block gets a record in reserve, for which there may be room. */
    expect_between(fail_until_ok(begin_plan), CUAI_HOST_GROWTH == 1, 4);
}
END_TEST

START_TEST(host_plan_commit_takes_no_memory)
{
    map_open(&map, "-2 a3 -1 b4 p1!");
    map_freelist(&map, 2);
    expect_ok(create_plan());
    expect_ok(begin_plan());
    expect_ok(map_free_to(&map, 'p', 2));
    expect_no_requests(commit_plan);
    expect_map(&map, "a3 b4 1:3 2:1");
}
END_TEST

START_TEST(host_plan_abort_takes_no_memory)
{
    map_open(&map, "-2 a3 -1 b4 p1!");
    map_freelist(&map, 2);
    expect_ok(create_plan());
    expect_ok(begin_plan());
    expect_ok(map_free_to(&map, 'p', 2));
    expect_no_requests(abort_plan);
    expect_map(&map, "-2 a3 -1 b4 2:1");
}
END_TEST

/* ---- How much is taken --------------------------------------------------- */

/* A heap with room for `most` blocks. */
static void open_room_for(uint64_t most)
{
    cuarena_heap_config_t config = map_config();
    config.max_blocks = most;
    map_open_with(&map, &config, "");
    expect_ok(cuarena_heap_segment_add(map.heap, 0, most * MAP_GRANULE));
}

static void fill_with(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        cuarena_block_t block;
        uint64_t offset;
        cuarena_heap_request_t request = {.size = MAP_GRANULE};
        expect_ok(cuarena_heap_alloc(map.heap, &request, &block, &offset));
    }
}

/* Records and look-up come to the system when they outgrow their addresses: a few times, and at
 * each step where assertions are on. */
START_TEST(slabs_are_few_however_many_blocks)
{
    uint64_t most = scale_pick(20000, 100000, 1000000);
    open_room_for(most);
    cuai_host_fail_at(0);
    fill_with(most);
    printf("%" PRIu64 " blocks: %" PRIu64 " slabs\n", most, cuai_host_calls());
    uint64_t steps = most * 80 / CUAI_HOST_STEP + 8;
    expect_between(cuai_host_calls(), 2, CUAI_HOST_GROWTH == 1 ? steps : 16);
    expect_valid(map.heap);
}
END_TEST

START_TEST(addresses_are_at_most_four_times_what_is_used)
{
    static const uint64_t max_blocks[] = {1, 30000, 1 << 20, CUARENA_HEAP_MAX_BLOCKS};
    cuarena_heap_config_t config = map_config();
    config.max_blocks = max_blocks[_i];
    map_open_with(&map, &config, "");
    const cuarena_heap_t *heap = map.heap;
    uint64_t slots = cuai_min(4 * config.max_blocks + 4096, 1 << 27);
    expect_u64(heap->max_slots, cuai_max(slots, 1 << 17));
    expect_between(heap->record_region.room, 1, 4 * heap->record_region.committed);
    expect_between(heap->table.region.room, 1, 4 * heap->table.region.committed);
}
END_TEST

static uint64_t heap_bytes(void)
{
    cuarena_heap_stats_t stats;
    cuarena_heap_stats_init(&stats);
    expect_ok(cuarena_heap_stats(map.heap, &stats));
    return stats.bookkeeping_bytes;
}

START_TEST(a_plan_takes_32_bytes_for_each_block_and_2_for_each_record)
{
    cuarena_heap_plan_options_t options = all_the_way();
    open_room_for(10000);
    fill_with(10000);
    uint64_t before = cuai_host_live();
    expect_ok(cuarena_heap_plan_create(map.heap, &options, &map_plan));
    expect_between(cuai_host_live() - before, 10000 * 34, 10000 * 34 + 512);
    cuarena_heap_plan_destroy(map.heap, &map_plan);
    uint64_t kept = heap_bytes();
    expect_ok(cuarena_heap_plan_create(map.heap, &options, &map_plan));
    cuarena_heap_plan_destroy(map.heap, &map_plan);
    expect_u64(heap_bytes(), kept);
}
END_TEST

/* ---- The suite ---------------------------------------------------------- */

static TCase *add(Suite *suite, const char *name, const TTest *const *tests)
{
    TCase *tcase = suite_add_list(suite, name, tests);
    tcase_add_checked_fixture(tcase, note_live, expect_no_leak);
    tcase_set_timeout(tcase, scale_timeout(120));
    return tcase;
}

static void add_blocks(Suite *suite)
{
    add(suite, "blocks",
        TEST_LIST(host_create_fails_without_leaks, host_alloc_fails_at_every_slab,
                  host_alloc_with_freelists_fails_at_every_slab, host_resize_takes_no_memory,
                  host_exchange_takes_no_memory));
}

static void add_segments(Suite *suite)
{
    TCase *tcase = add(suite, "segments",
                       TEST_LIST(host_segment_add_fails_and_leaves_none,
                                 host_segment_extend_beside_a_freelist_range,
                                 host_segment_cut_in_the_middle_fails_and_cuts_nothing,
                                 host_segment_join_takes_no_memory));
    tcase_add_loop_test(tcase, host_segment_add_block_fails_and_leaves_none, 0, 2);
}

static void add_freelists_and_plans(Suite *suite)
{
    add(suite, "free lists and plans",
        TEST_LIST(host_freelist_create_fails_and_makes_none,
                  host_reclaim_and_freelist_destroy_take_no_memory,
                  host_plan_create_fails_without_a_plan, host_plan_begin_fails_and_holds_nothing,
                  host_plan_commit_takes_no_memory, host_plan_abort_takes_no_memory));
}

int main(void)
{
    Suite *suite = suite_create("heap without host memory");
    add_blocks(suite);
    add_segments(suite);
    add_freelists_and_plans(suite);
    TCase *amounts = add(suite, "amounts",
                         TEST_LIST(slabs_are_few_however_many_blocks,
                                   a_plan_takes_32_bytes_for_each_block_and_2_for_each_record));
    tcase_add_loop_test(amounts, addresses_are_at_most_four_times_what_is_used, 0, 4);
    return suite_main(suite);
}
