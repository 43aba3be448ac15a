/* in_place=0: segments keep their length, and go back whole. */
#include "support/fixture.h"

#include <string.h>

#define EACH KIB(64)
#define ROOM (32 * EACH)

static const arena_kind_t *const kinds[] = {&arena_kinds[GROW_PAGEABLE], &arena_kinds[GROW_NONE],
                                            &arena_kinds[GROW_CUSTOM]};

static fixture_t *open_whole(fixture_t *f, int kind)
{
    fixture_prepare(f, kinds[kind], ROOM);
    f->config.in_place = 0;
    fixture_create(f);
    return f;
}

static cuarena_stats_t whole(const fixture_t *f)
{
    return stats_of(f);
}

static uint64_t granularity(const fixture_t *f)
{
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    expect_ok(cuarena_properties(f->arena, &properties));
    return properties.granularity;
}

START_TEST(each_miss_is_a_segment)
{
    fixture_t *f = open_whole(new_fixture(fixture_close), _i);
    void *p[4];
    for (uint64_t i = 0; i < 4; i++) {
        p[i] = alloc_ok(f, (i + 1) * EACH);
        expect_u64(whole(f).segments, i + 1);
        expect_u64(whole(f).reserved_bytes, (i + 1) * (i + 2) / 2 * EACH);
    }
    for (uint64_t i = 0; i < 4; i++)
        free_ok(f, p[i]);
    expect_u64(whole(f).free_ranges, 4); /* whatever touches */
}
END_TEST

/* Free bytes at the ends of segments do not count for a new one. */
START_TEST(a_miss_takes_all_it_asks_for)
{
    fixture_t *f = open_whole(new_fixture(fixture_close), _i);
    void *whole_one = alloc_ok(f, 4 * EACH);
    free_ok(f, whole_one);
    void *head = alloc_ok(f, EACH);
    expect_u64(whole(f).reserved_bytes, 4 * EACH);
    void *larger = alloc_ok(f, 5 * EACH);
    expect_u64(whole(f).reserved_bytes, 9 * EACH);
    free_ok(f, head);
    free_ok(f, larger);
}
END_TEST

START_TEST(trim_gives_whole_segments_back)
{
    uint64_t given = 0;
    fixture_t *f = open_whole(new_fixture(fixture_close), _i);
    void *split = alloc_ok(f, 4 * EACH);
    void *other = alloc_ok(f, 2 * EACH);
    free_ok(f, split);
    free_ok(f, other);
    void *head = alloc_ok(f, 3 * EACH); /* of the larger one */
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_u64(given, 2 * EACH);
    expect_u64(whole(f).reserved_bytes, 4 * EACH);
    free_ok(f, head);
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    expect_u64(given, 4 * EACH);
    expect_u64(whole(f).segments, 0);
}
END_TEST

/* A pool is one segment, which moves when its size changes. */
START_TEST(a_pool_moves_to_another_size)
{
    fixture_t *f = prepared(kinds[_i], ROOM);
    f->config.preset = CUARENA_PRESET_POOL;
    f->config.limit = (cuarena_amount_t){CUARENA_AMOUNT_AUTO, 0, 0};
    f->config.in_place = 0;
    fixture_create(f);
    cuarena_block_t block = alloc_block(f, EACH);
    paint(f, address_of(f, block), EACH, 7);
    step_ok(f, cuarena_resize_pool(f->arena, 2 * ROOM));
    expect_u64(whole(f).reserved_bytes, 2 * ROOM);
    expect_u64(whole(f).segments, 1);
    expect_painted(f, address_of(f, block), EACH, 7);
    free_block(f, block);
}
END_TEST

START_TEST(the_memory_is_asked_for_segments_only)
{
    fixture_t *f = open_whole(new_fixture(fixture_close), 2);
    void *p[8];
    for (int i = 0; i < 8; i++)
        p[i] = alloc_ok(f, EACH);
    for (int i = 0; i < 8; i += 2)
        free_ok(f, p[i]);
    step_ok(f, cuarena_trim(f->arena, 0, NULL));
    void *more = alloc_ok(f, 3 * EACH);
    free_ok(f, more);
    for (int i = 1; i < 8; i += 2)
        free_ok(f, p[i]);
    step_ok(f, cuarena_trim(f->arena, 0, NULL));
    expect_u64(f->memory.counts[OP_GET], 9);
    expect_u64(f->memory.counts[OP_GIVE_BACK], 9);
    expect_u64(f->memory.counts[OP_GROW] + f->memory.counts[OP_SHRINK] +
                   f->memory.counts[OP_PUNCH] + f->memory.counts[OP_FILL],
               0);
}
END_TEST

/* Segments that keep their length may be finer than what can be lengthened. */
START_TEST(segments_are_as_small_as_the_memory_gives)
{
    for (int32_t in_place = 0; in_place < 2; in_place++) {
        fixture_t f;
        fixture_prepare(&f, kinds[2], ROOM);
        f.config.in_place = in_place;
        f.memory.ops.granularity = EACH;
        f.memory.ops.least_bytes = 4096;
        fixture_create(&f);
        if (in_place == 0) /* what the test memory checks from now on */
            f.memory.ops.granularity = 4096;
        expect_u64(granularity(&f), in_place ? EACH : 4096);
        void *p = alloc_ok(&f, 8192);
        expect_u64(whole(&f).reserved_bytes, in_place ? EACH : 8192);
        free_ok(&f, p);
        fixture_close(&f);
    }
}
END_TEST

/* Where each block is a segment all keep their size, those of no bytes too. */
START_TEST(empty_blocks_keep_their_size_where_each_is_a_segment)
{
    fixture_t *f = prepared(kinds[_i], ROOM);
    f->config.segments = CUARENA_SEGMENTS_EACH;
    fixture_create(f);
    cuarena_block_t empty = alloc_block(f, 0);
    cuarena_block_t full = alloc_block(f, EACH);
    step(f, cuarena_block_resize(f->arena, empty, EACH), CUARENA_UNSUPPORTED);
    step(f, cuarena_block_resize(f->arena, full, 2 * EACH), CUARENA_UNSUPPORTED);
    step_ok(f, cuarena_block_resize(f->arena, empty, 0));
    expect_u64(info_of(f, empty).allocated, 0);
    free_block(f, empty);
    free_block(f, full);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("in_place");
    suite_add_rows(suite, "segments", each_miss_is_a_segment, COUNT_OF(kinds));
    suite_add_rows(suite, "misses", a_miss_takes_all_it_asks_for, COUNT_OF(kinds));
    suite_add_rows(suite, "trim", trim_gives_whole_segments_back, COUNT_OF(kinds));
    suite_add_rows(suite, "pools", a_pool_moves_to_another_size, COUNT_OF(kinds));
    suite_add_rows(suite, "each", empty_blocks_keep_their_size_where_each_is_a_segment,
                   COUNT_OF(kinds));
    suite_add_list(suite, "memory",
                   TEST_LIST(the_memory_is_asked_for_segments_only,
                             segments_are_as_small_as_the_memory_gives));
    return suite_main(suite);
}
