/*
 * Arenas of device memory whose handles follow what is reserved: what they hold, and that they work
 * whatever is freed. Runs on the stand-in driver and on a real one, where no call is made to fail.
 */
#include <stdlib.h>
#include <string.h>

#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/random.h"

#define FOLLOWING "memory=device,backing=vmm,preset=grow"

static uint64_t reserved_by(cuarena_t *arena)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_stats(arena, CUARENA_REGION_ALL, &stats));
    return stats.reserved_bytes;
}

static cuarena_t *opened_arena(const char *options)
{
    cuarena_t *arena = NULL;
    expect_ok(cuarena_open(options, &arena));
    return arena;
}

START_TEST(an_arena_holds_little_more_than_it_has_whatever_its_size)
{
    enum {
        BLOCKS = 600
    };
    cuarena_t *arena = opened_arena(FOLLOWING);
    for (uint64_t i = 1; i <= BLOCKS; i++) {
        void *pointer;
        expect_ok(cuarena_alloc(arena, MIB(1), &pointer));
        ck_assert_uint_le(reserved_by(arena), MIB(i) + (i < 16 ? MIB(2) : MIB(i) / 8));
    }
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_destroy_forced(&arena));
}
END_TEST

START_TEST(a_limit_serves_what_nearly_fills_it)
{
    cuarena_t *arena = opened_arena(FOLLOWING ",limit=1070MiB");
    for (int i = 0; i < 1070; i++) {
        void *pointer;
        expect_ok(cuarena_alloc(arena, MIB(1), &pointer));
    }
    expect_u64(reserved_by(arena), MIB(1070));
    expect_ok(cuarena_destroy_forced(&arena));
}
END_TEST

/* When nothing lives all goes, whatever the handles. */
START_TEST(trim_gives_back_all_handles_of_an_empty_arena)
{
    void *pointers[300];
    cuarena_t *arena = opened_arena(FOLLOWING);
    for (size_t i = 0; i < COUNT_OF(pointers); i++)
        expect_ok(cuarena_alloc(arena, MIB(1), &pointers[i]));
    for (size_t i = 0; i < COUNT_OF(pointers); i += 2)
        expect_ok(cuarena_free(arena, pointers[i]));
    uint64_t given = 0;
    expect_ok(cuarena_trim(arena, 0, &given));
    expect_ok(cuarena_validate(arena, NULL, 0));
    for (size_t i = 1; i < COUNT_OF(pointers); i += 2)
        expect_ok(cuarena_free(arena, pointers[i]));
    expect_ok(cuarena_trim(arena, 0, &given));
    expect_u64(reserved_by(arena), 0);
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

typedef struct held {
    uint64_t *place;
    uint64_t words;
    uint64_t stamp;
} held_t;

static void stamp(const held_t *block)
{
    arena_reach->write(block->place, &block->stamp, sizeof block->stamp);
    arena_reach->write(block->place + block->words - 1, &block->stamp, sizeof block->stamp);
}

static void expect_stamped(const held_t *block)
{
    uint64_t first = 0, last = 0;
    arena_reach->read(&first, block->place, sizeof first);
    arena_reach->read(&last, block->place + block->words - 1, sizeof last);
    expect_u64(first, block->stamp);
    expect_u64(last, block->stamp);
}

static const char *const followers[] = {
    FOLLOWING,
    FOLLOWING ",limit=96MiB",
    FOLLOWING ",reuse=0",
    "memory=device,backing=vmm,preset=bfc",
};

/* Blocks of all sizes come and go, the arena is trimmed, and the driver fails now and then. */
START_TEST(random_programs_on_handles_of_many_sizes)
{
    enum {
        SLOTS = 48,
        STEPS = 1500
    };
    held_t held[SLOTS] = {{0}};
    random_state_t random = {(uint64_t)_i};
    cuarena_t *arena = opened_arena(followers[_i]);
    for (uint64_t step = 1; step <= STEPS; step++) {
        held_t *block = &held[random_below(&random, SLOTS)];
        if (standin_is_here() && random_below(&random, 40) == 0)
            standin->standin_fail(random_below(&random, 2) ? "cuMemUnmap" : "cuMemCreate", 1,
                                  CUAI_CUDA_ERROR_OUT_OF_MEMORY, 0);
        if (block->place != NULL) {
            expect_stamped(block);
            expect_ok(cuarena_free(arena, block->place));
            block->place = NULL;
        } else {
            uint64_t bytes = 256 + random_below(&random, KIB(256) << random_below(&random, 6));
            void *place = NULL;
            *block = (held_t){NULL, bytes / 8, step};
            if (cuarena_alloc(arena, bytes, &place) == CUARENA_OK) {
                block->place = place;
                stamp(block);
            }
        }
        if (random_below(&random, 60) == 0)
            expect_ok(cuarena_trim(arena, random_below(&random, MIB(64)), NULL));
        if (step % 16 == 0)
            expect_ok(cuarena_validate(arena, NULL, 0));
    }
    if (standin_is_here())
        standin->standin_fail_clear();
    for (size_t i = 0; i < SLOTS; i++)
        if (held[i].place != NULL)
            expect_stamped(&held[i]);
    expect_ok(cuarena_destroy_forced(&arena));
    expect_nothing_left();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("CUDA handles");
    cuda_kinds_ready();
    (void)suite_add_list(suite, "arena",
                         TEST_LIST(an_arena_holds_little_more_than_it_has_whatever_its_size,
                                   a_limit_serves_what_nearly_fills_it,
                                   trim_gives_back_all_handles_of_an_empty_arena));
    tcase_add_loop_test(new_case(suite, "random"), random_programs_on_handles_of_many_sizes, 0,
                        (int)COUNT_OF(followers));
    return cuda_kinds_main(suite);
}
