/*
 * The heap from inside: what the validator finds when the bookkeeping is damaged, the table of
 * segments against a walk over all, ids at the end of their generations, and the calls that only
 * the arena makes.
 */
#include "heap/blocks.h"
#include "heap/plan.h"
#include "heap/segments.h"
#include "support/heap_rig.h"
#include "support/random.h"

#include <stdlib.h>
#include <string.h>

static cuai_record_t *record_of(char tag)
{
    return &map.heap->records[cuai_slot_in(map.heap, map_id(&map, tag))];
}

/* Nothing free follows it in what open_damaged makes. */
static cuai_record_t *first_head(void)
{
    return &map.heap->records[cuai_segment_first(map.heap)->head];
}

/* ---- Damage ------------------------------------------------------------- */

/* Every kind of record: SEGMENT_STARTs, blocks, a SEPARATOR between two ranges, FREE. */
static void open_damaged(void)
{
    map_open(&map, "a2 -3 b4 1:2 -5 c1! x1 ~6 d3 -1");
    expect_ok(map_free_to(&map, 'x', 1));
    expect_map(&map, "a2 -3 b4 1:2 -5 c1! 1:1 ~6 d3 -1");
    expect_ok(map_segment(&map, 100, 1));
    expect_ok(map_cut(&map, 100, 1));
}

typedef struct damage {
    const char *what;
    void (*make)(void);
} damage_t;

#define WILD 0x7fffffau

#define DAMAGES(D)                                                                                 \
    D(live_bytes, map.heap->counter.bytes.peak += 256)                                             \
    D(requested_bytes, map.heap->counter.requested.peak += 1)                                      \
    D(live_blocks, map.heap->counter.blocks.peak += 1)                                             \
    D(capacity, map.heap->capacity += 256)                                                         \
    D(separators, map.heap->separators += 1)                                                       \
    D(retired, map.heap->retired += 1)                                                             \
    D(freelist_count, map.heap->freelist_count += 1)                                               \
    D(freelist_too_many, map.heap->freelists[77] = map.heap->freelists[0])                         \
    D(freelist_behind_all,                                                                         \
      map.heap->freelists[CUAI_FREELIST_PLANNED - 1] = map.heap->freelists[0])                     \
    D(spare_lost, map.heap->free_slot = 0)                                                         \
    D(spare_ring, map.heap->records[map.heap->free_slot].next = map.heap->free_slot)               \
    D(spare_wild, map.heap->free_slot = WILD)                                                      \
    D(unused_high, map.heap->unused += 1)                                                          \
    D(offset, record_of('b')->offset += 256)                                                       \
    D(offset_odd, record_of('b')->offset += 1)                                                     \
    D(size, record_of('b')->size += 256)                                                           \
    D(size_0, record_of('b')->size = 0)                                                            \
    D(requested, record_of('b')->asked += cuai_asked(256, 0))                                      \
    D(alignment, record_of('b')->align_log2 = 20)                                                  \
    D(kind_free, record_of('b')->kind = CUAI_FREE)                                                 \
    D(kind_separator, record_of('b')->kind = CUAI_SEPARATOR)                                       \
    D(kind_segment_start, record_of('b')->kind = CUAI_SEGMENT_START)                               \
    D(kind_none, record_of('b')->kind = 63)                                                        \
    D(next_self, record_of('b')->next = record_of('a')->next)                                      \
    D(next_wild, record_of('b')->next = WILD)                                                      \
    D(next_skips, record_of('a')->next = record_of('c')->prev)                                     \
    D(prev, record_of('b')->prev = record_of('c')->prev)                                           \
    D(prev_wild, record_of('b')->prev = WILD)                                                      \
    D(chain_ring, record_of('b')->chain = cuai_slot_in(map.heap, map_id(&map, 'b')))               \
    D(chain_wild, record_of('d')->chain = WILD)                                                    \
    D(range_bytes, record_of('a')->key += cuai_range_key(256, 0))                                  \
    D(range_freelist, record_of('a')->key |= 1)                                                    \
    D(range_dead_freelist, record_of('a')->key |= 77)                                              \
    D(range_planned, record_of('a')->key |= CUAI_FREELIST_PLANNED)                                 \
    D(range_none, record_of('a')->key = 0)                                                         \
    D(range_appears, record_of('b')->key = cuai_range_key(512, 0))                                 \
    D(range_list, record_of('d')->list ^= 1)                                                       \
    D(unlisted_list, first_head()->list ^= 1)                                                      \
    D(unlisted_up, first_head()->up = 1)                                                           \
    D(unlisted_down, first_head()->down = 1)                                                       \
    D(spare_list, map.heap->records[map.heap->free_slot].list ^= 1)                                \
    D(spare_up, map.heap->records[map.heap->free_slot].up = 1)                                     \
    D(range_up, record_of('a')->up = 1)                                                            \
    D(range_down_ring, record_of('a')->down = map_id(&map, 'a') & 0xffff)                          \
    D(range_down_wild, record_of('a')->down = WILD)                                                \
    D(freelist_bytes, map.heap->freelists[0]->free_bytes += 256)                                   \
    D(freelist_ranges, map.heap->freelists[0]->ranges += 1)                                        \
    D(freelist_top, map.heap->freelists[0]->tops[3] ^= UINT64_C(3) << 56)                          \
    D(freelist_bit, map.heap->freelists[0]->bits[3] ^= 2)                                          \
    D(freelist_head, map.heap->freelists[0]->heads[CUAI_LISTS - 1] = 1)                            \
    D(look_up_empty, memset(map.heap->table.heads, 0,                                              \
                            map.heap->table.buckets * sizeof(map.heap->table.heads[0])))           \
    D(segment_begin, map.heap->segments[2].begin += 256)                                           \
    D(segment_end, map.heap->segments[1].end += 256)                                               \
    D(segment_head, map.heap->segments[1].head = map.heap->segments[2].head)                       \
    D(segment_count, map.heap->segment_count -= 1)                                                 \
    D(segment_above, map.heap->segments[0].above = 2)                                              \
    D(segment_below, map.heap->segments[2].below = 0)                                              \
    D(segment_root, map.heap->segment_root = 0)                                                    \
    D(segment_tree_ring, map.heap->segments[1].low = 1)                                            \
    D(segment_tree_wild, map.heap->segments[1].high = WILD)                                        \
    D(segment_gap, map.heap->segments[2].gap += 256)                                               \
    D(segment_most_gap, map.heap->segments[map.heap->segment_root].most_gap += 256)                \
    D(segment_source, map.heap->segments[2].source = 1)

#define FUNCTION(name, statement)                                                                  \
    static void name(void)                                                                         \
    {                                                                                              \
        statement;                                                                                 \
    }
DAMAGES(FUNCTION)

/* clang-format off */
#define ROW(name, statement) {#name, name},
/* clang-format on */
static const damage_t damages[] = {DAMAGES(ROW)};

/* The heap is left as it is: the test's process ends. */
START_TEST(validate_finds_damage)
{
    char text[256] = "";
    open_damaged();
    damages[_i].make();
    cuarena_status_t status = cuarena_heap_validate(map.heap, text, sizeof(text));
    ck_assert_msg(status == CUARENA_CORRUPT,
                  "%s: expected CUARENA_CORRUPT, "
                  "got %s",
                  damages[_i].what, cuarena_status_name(status));
    ck_assert_str_ne(text, "");
    ck_assert_uint_lt(strlen(text), sizeof(text));
}
END_TEST

START_TEST(validate_cuts_its_text_to_what_there_is)
{
    char text[12] = "01234567890";
    map_open(&map, "a2");
    map.heap->counter.bytes.peak++;
    expect_status(cuarena_heap_validate(map.heap, text, 8), CUARENA_CORRUPT);
    expect_u64(strlen(text), 7);
    ck_assert_str_eq(text + 8, "890");
    expect_status(cuarena_heap_validate(map.heap, NULL, 0), CUARENA_CORRUPT);
    map.heap->counter.bytes.peak--;
}
END_TEST

/* ---- Sets of zones ------------------------------------------------------ */

/* What both ways of comparing all tops at once are to give. */
static cuai_zones_t zones_one_by_one(const cuai_index_t *index, uint32_t class)
{
    cuai_zones_t zones = 0;
    for (uint32_t zone = 0; zone < CUAI_ZONES; zone++)
        if (cuai_index_top(index, zone) >= class)
            zones |= UINT32_C(1) << zone;
    return zones;
}

START_TEST(zones_are_those_with_a_top_from_the_class_on)
{
    random_state_t random = {.state = 5};
    for (int round = 0; round < 200; round++) {
        cuai_index_t index = {.ranges = 0};
        for (uint32_t zone = 0; zone < CUAI_ZONES; zone++)
            cuai_index_set_bits(&index, zone, 0,
                                UINT64_C(1) << random_below(&random, CUAI_CLASSES));
        for (uint32_t class = 1; class <= CUAI_CLASSES; class ++) {
            cuai_zones_t expected = zones_one_by_one(&index, class);
            expect_u64(cuai_zones_from(&index, class), expected);
            expect_u64(cuai_zones_from_words(&index, class), expected);
        }
    }
}
END_TEST

/* ---- Generations -------------------------------------------------------- */

START_TEST(id_slot_retires_after_its_last_generation)
{
    map_open(&map, "a2 b1");
    cuarena_block_t slot = cuai_slot_in(map.heap, map_id(&map, 'a'));
    expect_ok(map_free(&map, 'a'));
    map.heap->records[slot].generation = CUAI_LAST_GENERATION;
    expect_ok(map_alloc(&map, 'a', 2));
    expect_u64(cuai_slot_in(map.heap, map_id(&map, 'a')), slot);
    expect_ok(map_free(&map, 'a'));
    expect_status(map_free(&map, 'a'), CUARENA_STALE);
    expect_u64(map.heap->retired, 1);
    expect_ok(map_alloc(&map, 'c', 2));
    ck_assert_uint_ne(cuai_slot_in(map.heap, map_id(&map, 'c')), slot);
}
END_TEST

START_TEST(id_slot_retires_when_it_ends_as_a_separator)
{
    map_open(&map, "1:1 a2 2:1 b1");
    cuarena_block_t slot = cuai_slot_in(map.heap, map_id(&map, 'a'));
    map.heap->records[slot].generation = CUAI_LAST_GENERATION;
    cuarena_block_t id = cuai_id(map.heap, (cuai_slot_t)slot);
    expect_ok(cuarena_heap_free(map.heap, id, 0));
    expect_map(&map, "1:1 -2 2:1 b1");
    expect_status(cuarena_heap_free(map.heap, id, 0), CUARENA_STALE);
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 1)));
    expect_ok(cuarena_heap_freelist_reclaim(map.heap, map_freelist(&map, 2)));
    expect_map(&map, "-4 b1");
    expect_u64(map.heap->retired, 1);
}
END_TEST

#define MANY 600

static void alloc_many(cuarena_block_t *blocks, int count)
{
    for (int i = 0; i < count; i++)
        expect_ok(cuarena_heap_alloc(map.heap, &(cuarena_heap_request_t){.size = MAP_GRANULE},
                                     &blocks[i], &(uint64_t){0}));
    expect_valid(map.heap);
}

/* Retired slots are not there for anybody any more. */
START_TEST(id_slots_retired_are_not_counted_on)
{
    cuarena_block_t blocks[5 * MANY];
    map_open(&map, "");
    expect_ok(map_segment(&map, 0, 5 * MANY));
    alloc_many(blocks, MANY);
    for (int i = 0; i < MANY; i++) {
        cuai_slot_t slot = cuai_slot_in(map.heap, blocks[i]);
        map.heap->records[slot].generation = CUAI_LAST_GENERATION;
        expect_ok(cuarena_heap_free(map.heap, cuai_id(map.heap, slot), 0));
    }
    expect_u64(map.heap->retired, MANY);
    map_freelist(&map, 2);
    alloc_many(blocks, 5 * MANY);
    for (int i = 0; i < 5 * MANY; i++)
        expect_ok(cuarena_heap_free(map.heap, blocks[i], map_freelist(&map, i % 2 == 0 ? 1 : 2)));
}
END_TEST

/* Then a heap that comes to have more blocks goes to the slow path for a slot now and then only. */
START_TEST(slots_become_free_as_many_at_once_as_the_heap_says)
{
    cuarena_block_t block;
    int without = 0;
    map_open(&map, "");
    expect_ok(map_segment(&map, 0, 2 * MANY));
    map.heap->slots_at_once = 64;
    for (int i = 0; i < 2 * MANY; i++) {
        without += map.heap->free_slot == 0;
        alloc_many(&block, 1);
    }
    expect_between((uint64_t)without, 1, 2 * MANY / 64 + 1);
}
END_TEST

/* ---- Numbers of heaps --------------------------------------------------- */

START_TEST(numbers_of_heaps_come_in_turn_and_run_out)
{
    cuarena_heap_t *heap = NULL;
    cuarena_heap_config_t config = map_config();
    bool *seen = calloc(CUARENA_HEAP_MAX_HEAPS + 1, sizeof(*seen));
    uint32_t number = 0;
    for (uint32_t i = 0; i < CUARENA_HEAP_MAX_HEAPS; i++) {
        number = cuai_heap_number_alloc();
        expect_between(number, 1, CUARENA_HEAP_MAX_HEAPS);
        ck_assert(!seen[number]);
        seen[number] = true;
    }
    expect_u64(cuai_heap_number_alloc(), 0);
    expect_status(cuarena_heap_create(&config, &heap), CUARENA_LIMIT);
    ck_assert_ptr_null(heap);
    cuai_heap_number_free(number, CUAI_LEAST_SLOT_BITS, 0);
    expect_ok(cuarena_heap_create(&config, &heap));
    expect_u64(heap->number, number);
    cuarena_heap_destroy(&heap);
    for (uint32_t n = 1; n <= CUARENA_HEAP_MAX_HEAPS; n++)
        if (n != number)
            cuai_heap_number_free(n, CUAI_LEAST_SLOT_BITS, 0);
    expect_u64(cuai_heap_number_alloc(), number % CUARENA_HEAP_MAX_HEAPS + 1);
    free(seen);
}
END_TEST

/* Whatever the slots of the one before and of the one after. */
START_TEST(generations_go_on_where_the_last_heap_of_a_number_ended)
{
    for (uint32_t before = CUAI_LEAST_SLOT_BITS; before <= CUAI_MOST_SLOT_BITS; before++)
        for (uint32_t after = CUAI_LEAST_SLOT_BITS; after <= CUAI_MOST_SLOT_BITS; after++) {
            cuai_heap_number_free(7, before, 12345);
            uint64_t used = (UINT64_C(12345) + 1) << before;
            uint64_t first = cuai_heap_first_generation(7, after);
            expect_between(first << after, used, used + (UINT64_C(1) << CUAI_MOST_SLOT_BITS));
        }
}
END_TEST

START_TEST(generations_begin_anew_when_half_of_them_are_used)
{
    uint32_t half = 1u << (CUAI_IDS_LOG2 - CUAI_MOST_SLOT_BITS - 1);
    cuai_heap_number_free(7, CUAI_MOST_SLOT_BITS, half - 1);
    expect_u64(cuai_heap_first_generation(7, CUAI_MOST_SLOT_BITS), half);
    cuai_heap_number_free(7, CUAI_MOST_SLOT_BITS, half);
    expect_u64(cuai_heap_first_generation(7, CUAI_MOST_SLOT_BITS), 0);
    cuai_heap_number_free(7, CUAI_LEAST_SLOT_BITS, UINT32_MAX);
    expect_u64(cuai_heap_first_generation(7, CUAI_LEAST_SLOT_BITS), 0);
}
END_TEST

/* The number, the generation and the slot share 64 bits, however many slots. */
START_TEST(ids_hold_the_last_generation_of_the_last_slot)
{
    static const uint64_t max_blocks[] = {1, 40000, 1 << 20, CUARENA_HEAP_MAX_BLOCKS};
    cuarena_heap_config_t config = map_config();
    config.max_blocks = max_blocks[_i];
    map_open_with(&map, &config, "a1");
    const cuarena_heap_t *heap = map.heap;
    uint64_t first = heap->id_base + heap->zero_generation * heap->id_step;
    uint64_t last =
        (CUAI_LAST_GENERATION - heap->zero_generation) * heap->id_step + heap->slot_mask;
    expect_u64(last, (UINT64_C(1) << CUAI_IDS_LOG2) - 1);
    ck_assert_uint_le(heap->max_slots - 1, heap->slot_mask);
    expect_u64(first + last, (heap->number + UINT64_C(1)) * (last + 1) - 1);
}
END_TEST

/* ---- Look-up ------------------------------------------------------------ */

static uint64_t chain_length(uint64_t bucket)
{
    uint64_t length = 0;
    cuai_slot_t slot = map.heap->table.heads[bucket];
    for (; slot != 0; slot = map.heap->records[slot].chain)
        length++;
    return length;
}

static uint64_t longest_chain(void)
{
    uint64_t longest = 0;
    for (uint64_t i = 0; i < map.heap->table.buckets; i++) {
        uint64_t length = chain_length(i);
        longest = length > longest ? length : longest;
    }
    return longest;
}

static uint64_t longest_probe(void)
{
    cuarena_heap_stats_t stats;
    cuarena_heap_stats_init(&stats);
    expect_ok(cuarena_heap_stats(map.heap, &stats));
    return stats.longest_probe;
}

/* Freeing all walks every chain to its end. */
START_TEST(longest_probe_is_at_least_every_chain_walked)
{
    cuarena_block_t blocks[4000];
    map_open(&map, "");
    expect_ok(map_segment(&map, 0, 4000));
    for (int count = 10; count <= 4000; count *= 20) {
        for (int i = 0; i < count; i++) {
            cuarena_heap_request_t request = {.size = MAP_GRANULE};
            expect_ok(cuarena_heap_alloc(map.heap, &request, &blocks[i], &(uint64_t){0}));
        }
        uint64_t longest = longest_chain();
        for (int i = 0; i < count; i++)
            expect_ok(cuarena_heap_free(map.heap, blocks[i], 0));
        expect_between(longest_probe(), longest, 32);
    }
}
END_TEST

/* Lengths that differ leave addresses of which the look-up's hash knows nothing. */
START_TEST(of_64_blocks_at_most_8_come_behind_another_of_their_chain)
{
    cuarena_block_t block;
    uint64_t behind = 0;
    map_open(&map, "");
    expect_ok(map_segment(&map, 0, 4000));
    for (uint64_t i = 0; i < 64; i++) {
        cuarena_heap_request_t request = {.size = (1 + i * i % 37) * MAP_GRANULE};
        expect_ok(cuarena_heap_alloc(map.heap, &request, &block, &(uint64_t){0}));
    }
    for (uint64_t i = 0; i < map.heap->table.buckets; i++)
        behind += chain_length(i) > 1 ? chain_length(i) - 1 : 0;
    expect_between(behind, 0, 8);
}
END_TEST

/* ---- Empty blocks ------------------------------------------------------- */

static cuai_slot_t alloc_empty(char tag)
{
    cuarena_heap_request_t request = {.tag = (uint16_t)tag};
    cuai_slot_t slot = 0;
    expect_ok(cuai_heap_add_empty(map.heap, &request, &slot));
    map.ids[(int)tag] = cuai_id(map.heap, slot);
    expect_valid(map.heap);
    return slot;
}

START_TEST(empty_block_lives_without_bytes)
{
    cuarena_heap_entry_t entry;
    map_open(&map, "a2 -1");
    alloc_empty('e');
    expect_map(&map, "a2 -1");
    expect_ok(cuarena_heap_block_info(map.heap, map_id(&map, 'e'), &entry));
    expect_u64(entry.size, 0);
    expect_u64(entry.requested, 0);
    expect_u64(entry.tag, 'e');
    expect_u64(cuai_heap_blocks(map.heap), 2);
    expect_ok(map_pin(&map, 'e'));
    expect_ok(map_unpin(&map, 'e'));
    expect_ok(map_free(&map, 'e'));
    expect_status(map_free(&map, 'e'), CUARENA_STALE);
    expect_u64(cuai_heap_blocks(map.heap), 1);
}
END_TEST

START_TEST(empty_block_counts_toward_max_blocks)
{
    cuarena_heap_request_t request = {.tag = 'e'};
    cuai_slot_t slot;
    cuarena_heap_config_t config = map_config();
    config.max_blocks = 2;
    map_open_with(&map, &config, "a2 b1");
    expect_status(cuai_heap_add_empty(map.heap, &request, &slot), CUARENA_LIMIT);
    expect_ok(map_free(&map, 'a'));
    alloc_empty('e');
    expect_status(map_alloc(&map, 'c', 1), CUARENA_LIMIT);
}
END_TEST

START_TEST(empty_block_exchanges_with_a_block)
{
    map_open(&map, "a2 -1 b1 1:2");
    alloc_empty('e');
    expect_ok(map_exchange(&map, 'e', 'b'));
    expect_map(&map, "a2 -1 e1 1:2");
    expect_ok(map_exchange(&map, 'e', 'a'));
    expect_map(&map, "e2 -1 a1 1:2");
    expect_ok(map_exchange(&map, 'a', 'b'));
    expect_map(&map, "e2 -1 b1 1:2");
    expect_ok(map_free(&map, 'a'));
    expect_ok(map_free(&map, 'b'));
    expect_map(&map, "e2 -2 1:2");
}
END_TEST

START_TEST(empty_blocks_exchange_with_each_other)
{
    map_open(&map, "a2");
    alloc_empty('e');
    alloc_empty('f');
    expect_ok(map_exchange(&map, 'e', 'f'));
    expect_ok(map_free(&map, 'e'));
    expect_ok(map_free(&map, 'f'));
    expect_map(&map, "a2");
}
END_TEST

START_TEST(empty_block_resized_in_place_is_fragmented)
{
    map_open(&map, "a2 -4");
    alloc_empty('e');
    expect_status(map_resize(&map, 'e', 1), CUARENA_FRAGMENTED);
    expect_map(&map, "a2 -4");
}
END_TEST

START_TEST(empty_blocks_stay_out_of_plans)
{
    size_t count;
    cuarena_heap_plan_options_t options = all_the_way();
    map_open(&map, "-1 a2 -4");
    alloc_empty('e');
    expect_ok(make_plan(&options));
    cuarena_heap_plan_moves(map_plan, &count);
    expect_u64(count, 1);
}
END_TEST

/* ---- Clear -------------------------------------------------------------- */

START_TEST(clear_ends_blocks_and_reclaims_ranges)
{
    map_open(&map, "a2 -1 b4!! 1:3 -2 2:1 ~5 c1 | d2 1:1");
    alloc_empty('e');
    cuai_heap_clear(map.heap);
    expect_map(&map, "-13 ~5 -1 -3");
    for (char tag = 'a'; tag <= 'e'; tag++)
        expect_status(map_free(&map, tag), CUARENA_STALE);
    expect_u64(cuai_heap_blocks(map.heap), 0);
    expect_u64(map.heap->counter.bytes.peak, 17 * 256);
}
END_TEST

START_TEST(clear_then_all_works_again)
{
    map_open(&map, "a2 -1 b4 1:3 -2");
    for (int round = 0; round < 3; round++) {
        cuai_heap_clear(map.heap);
        expect_ok(map_alloc(&map, 'a', 5));
        expect_ok(map_alloc(&map, 'b', 7));
        expect_ok(map_free_to(&map, 'a', 1));
        expect_map(&map, "1:5 b7");
        expect_ok(map_resize(&map, 'b', 2));
        expect_ok(map_alloc_in(&map, 'a', 5, 1));
        expect_map(&map, "a5 b2 -5");
    }
}
END_TEST

START_TEST(clear_of_an_empty_heap)
{
    map_open(&map, "");
    cuai_heap_clear(map.heap);
    expect_map(&map, "");
}
END_TEST

/* ---- Shifting all of it ------------------------------------------------- */

START_TEST(hold_takes_every_idle_range)
{
    map_open(&map, "a2 -1 b4 1:3 -2");
    expect_ok(cuai_heap_freeze(map.heap));
    expect_map(&map, "a2 -1^ b4 1:3 -2^");
    expect_status(map_alloc(&map, 'x', 1), CUARENA_OUT_OF_MEMORY);
    expect_ok(map_alloc_in(&map, 'x', 3, 1));
    expect_ok(map_free(&map, 'b'));
    expect_map(&map, "a2 -1^ -4 x3 -2^");
    cuai_heap_thaw(map.heap);
    expect_map(&map, "a2 -5 x3 -2");
}
END_TEST

START_TEST(hold_beside_a_plan_is_busy)
{
    cuarena_heap_plan_options_t options = all_the_way();
    map_open(&map, "-1 a2 -4");
    expect_ok(make_plan(&options));
    expect_ok(cuai_heap_freeze(map.heap));
    expect_status(begin_plan(), CUARENA_BUSY);
    cuai_heap_thaw(map.heap);
    expect_ok(make_plan(&options));
    expect_ok(begin_plan());
    expect_status(cuai_heap_freeze(map.heap), CUARENA_BUSY);
    cuarena_heap_plan_destroy(map.heap, &map_plan);
    expect_map(&map, "-1 a2 -4");
}
END_TEST

static void rebase(uint64_t distance)
{
    uint64_t before = map_offset(&map, 'b');
    cuai_heap_rebase(map.heap, distance);
    expect_u64(map_offset(&map, 'b') - before, distance);
    expect_map(&map, "a2 -1 b4 1:3 ~7 -2 c1");
}

START_TEST(rebase_shifts_all_up_and_down)
{
    cuarena_block_t found;
    map_open(&map, "a2 -1 b4 1:3 ~7 -2 c1");
    rebase(1 << 20);
    expect_ok(cuarena_heap_find(map.heap, map_offset(&map, 'c'), &found));
    expect_u64(found, map_id(&map, 'c'));
    expect_status(cuarena_heap_find(map.heap, MAP_BASE, &found), CUARENA_STALE);
    rebase(0 - (UINT64_C(1) << 20));
    expect_u64(map_offset(&map, 'a'), MAP_BASE);
    expect_ok(map_free(&map, 'b'));
    expect_ok(map_cut(&map, 17, 2));
    expect_map(&map, "a2 -5 1:3 ~9 c1");
}
END_TEST

/* ---- The table of segments ---------------------------------------------- */

#define PLACES 600u
#define STEPS 4000u

/* The lowest segment at or above `from` with such a gap, by looking at all. */
static const cuai_segment_t *gap_by_walk(const cuarena_heap_t *heap, uint64_t from, uint64_t bytes)
{
    const cuai_segment_t *s = cuai_segment_first(heap);
    for (; s != NULL; s = cuai_segment_next(heap, s))
        if (s->begin >= from && s->gap >= bytes)
            return s;
    return NULL;
}

static const cuai_segment_t *around_by_walk(const cuarena_heap_t *heap, uint64_t offset)
{
    const cuai_segment_t *s = cuai_segment_first(heap);
    for (; s != NULL; s = cuai_segment_next(heap, s))
        if (s->begin <= offset && offset < s->end)
            return s;
    return NULL;
}

/* Adds, cuts or joins at some place; whether it may be done the heap knows. */
static void change(cuarena_heap_t *heap, random_state_t *random)
{
    uint64_t at = random_below(random, PLACES) * 256;
    switch (random_below(random, 5)) {
    case 0:
        (void)cuarena_heap_segment_join(heap, at);
        break;
    case 1:
    case 2: {
        uint64_t bytes = (random_below(random, 4) + 1) * 256;
        (void)cuarena_heap_segment_cut(heap, at, bytes);
        break;
    }
    default:
        (void)cuarena_heap_segment_add(heap, at, 256);
        cuai_segment_t *s = cuai_segment_around(heap, at);
        if (s != NULL && random_below(random, 8) == 0)
            cuai_segment_set_source(heap, s, (uint32_t)(at / 256 / 200));
    }
}

START_TEST(segments_are_found_as_a_walk_finds_them)
{
    random_state_t random = {(uint64_t)_i + 1};
    cuarena_heap_config_t config;
    cuarena_heap_t *heap;
    uint64_t most = 0;
    cuarena_heap_config_init(&config);
    config.granule = 256;
    expect_ok(cuarena_heap_create(&config, &heap));
    for (uint32_t i = 0; i < STEPS; i++) {
        change(heap, &random);
        uint64_t offset = random_below(&random, PLACES * 256);
        uint64_t bytes = (random_below(&random, 6) + 1) * 256;
        ck_assert_ptr_eq(cuai_segment_around(heap, offset), around_by_walk(heap, offset));
        ck_assert_ptr_eq(cuai_segment_above_gap(heap, offset, bytes),
                         gap_by_walk(heap, offset, bytes));
        if (i % 16 == 0)
            expect_valid(heap);
        most = heap->segment_count > most ? heap->segment_count : most;
    }
    expect_valid(heap);
    expect_between(most, 50, PLACES);
    cuarena_heap_destroy(&heap);
}
END_TEST

/* ---- The suite ---------------------------------------------------------- */

static void add_damage(Suite *suite)
{
    TCase *tcase = tcase_create("damage");
    tcase_add_loop_test(tcase, validate_finds_damage, 0, (int)COUNT_OF(damages));
    suite_add_tcase(suite, tcase);
    add_tests(suite, "text", TEST_LIST(validate_cuts_its_text_to_what_there_is));
}

static void add_zones(Suite *suite)
{
    add_tests(suite, "zones", TEST_LIST(zones_are_those_with_a_top_from_the_class_on));
}

static void add_numbers(Suite *suite)
{
    add_tests(suite, "numbers",
              TEST_LIST(numbers_of_heaps_come_in_turn_and_run_out,
                        generations_go_on_where_the_last_heap_of_a_number_ended,
                        generations_begin_anew_when_half_of_them_are_used));
    TCase *ids = tcase_create("ids");
    tcase_add_checked_fixture(ids, NULL, close_map);
    tcase_add_loop_test(ids, ids_hold_the_last_generation_of_the_last_slot, 0, 4);
    suite_add_tcase(suite, ids);
}

static void add_generations(Suite *suite)
{
    add_tests(suite, "generations",
              TEST_LIST(id_slot_retires_after_its_last_generation,
                        id_slot_retires_when_it_ends_as_a_separator,
                        id_slots_retired_are_not_counted_on,
                        slots_become_free_as_many_at_once_as_the_heap_says));
}

static void add_look_up(Suite *suite)
{
    add_tests(suite, "look-up",
              TEST_LIST(longest_probe_is_at_least_every_chain_walked,
                        of_64_blocks_at_most_8_come_behind_another_of_their_chain));
}

static void add_empty(Suite *suite)
{
    add_tests(suite, "empty blocks",
              TEST_LIST(empty_block_lives_without_bytes, empty_block_counts_toward_max_blocks,
                        empty_block_exchanges_with_a_block, empty_blocks_exchange_with_each_other,
                        empty_block_resized_in_place_is_fragmented,
                        empty_blocks_stay_out_of_plans));
}

static void add_clear(Suite *suite)
{
    add_tests(suite, "clear",
              TEST_LIST(clear_ends_blocks_and_reclaims_ranges, clear_then_all_works_again,
                        clear_of_an_empty_heap));
}

static void add_shifting(Suite *suite)
{
    add_tests(suite, "shifting",
              TEST_LIST(hold_takes_every_idle_range, hold_beside_a_plan_is_busy,
                        rebase_shifts_all_up_and_down));
}

int main(void)
{
    Suite *suite = suite_create("heap inside");
    add_damage(suite);
    add_zones(suite);
    suite_add_rows(suite, "table", segments_are_found_as_a_walk_finds_them, 4);
    add_numbers(suite);
    add_generations(suite);
    add_look_up(suite);
    add_empty(suite);
    add_clear(suite);
    add_shifting(suite);
    return suite_main(suite);
}
