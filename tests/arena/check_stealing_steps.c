/*
 * How many ranges a request looks at that is served from other streams' free lists, while these
 * have 2^10 to 2^16 (CUARENA_TEST_SCALE=long: 2^18; under a sanitizer 2^12). Nothing here looks at
 * a clock. And how many pieces streams leave of the free bytes.
 *
 * Layouts are strings of blocks of one granule, again and again: each is then freed on the stream
 * of its letter, and lives on if that is '-'.
 *
 * Looks inside, since no public call counts the looks at ranges (arena/streams.h).
 */
#include "support/expect.h"
#include "support/fixture_streams.h"
#include "support/scale.h"

#include "arena/streams.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRANULE UINT64_C(256)
#define LEAST_LOG2 10
/* Ranges that one request looks at, whatever there is. */
#define MOST_STEPS UINT64_C(4096)
/* ... where some of the request's own class fit. */
#define FEW_STEPS UINT64_C(64)
#define TAKEN 64
#define MANY 8 /* sessions */

typedef struct load {
    fixture_t f;
    uint64_t granules;
    void **blocks;
} load_t;

static uint64_t most_log2(void)
{
    return scale_pick(12, 16, 18);
}

/* ---- Layouts ----------------------------------------------------------- */

static void alloc(load_t *load, uint64_t granules, cuarena_stream_t stream, void **pointer_out)
{
    expect_ok(cuarena_alloc_on(load->f.arena, granules * GRANULE, stream, NULL, pointer_out));
}

static void release(load_t *load, void *pointer, cuarena_stream_t stream)
{
    expect_ok(cuarena_free_on(load->f.arena, pointer, stream));
}

static int by_address(const void *a, const void *b)
{
    const char *const *p = a;
    const char *const *q = b;
    return (*p > *q) - (*p < *q);
}

static void alloc_all(load_t *load)
{
    load->blocks = calloc(load->granules, sizeof(load->blocks[0]));
    ck_assert_ptr_nonnull(load->blocks);
    for (uint64_t i = 0; i < load->granules; i++)
        alloc(load, 1, A, &load->blocks[i]);
    qsort(load->blocks, load->granules, sizeof(load->blocks[0]), by_address);
}

/* Frees what has that letter in the layout, in the order of addresses. */
static void free_letter(load_t *load, const char *layout, char letter, cuarena_stream_t stream)
{
    size_t length = strlen(layout);
    for (uint64_t i = 0; i < load->granules; i++)
        if (layout[i % length] == letter) {
            release(load, load->blocks[i], stream);
            load->blocks[i] = NULL;
        }
}

/* About `ranges` copies of the layout fill a pool, or what grew. */
static void open_load(load_t *load, const char *layout, uint64_t copies, int32_t preset)
{
    *load = (load_t){.granules = copies * strlen(layout)};
    uint64_t bytes = load->granules * GRANULE;
    bool grows = preset == CUARENA_PRESET_GROW;
    fixture_prepare(&load->f, SIMULATED, grows ? 4 * bytes : bytes);
    load->f.config.max_blocks = CUARENA_HEAP_MAX_BLOCKS;
    load->f.config.preset = preset;
    fixture_create(&load->f);
    alloc_all(load);
    free_letter(load, layout, 'a', A);
    free_letter(load, layout, 'b', B);
    free_letter(load, layout, 'c', C);
}

static void close_load(load_t *load)
{
    fixture_close_forced(&load->f);
    free(load->blocks);
}

/* ---- Steps ------------------------------------------------------------- */

typedef struct steps {
    uint64_t most; /* of one request */
    uint64_t sum;
    uint64_t full_searches;
    uint64_t steals;
    uint64_t waits;
    uint64_t grows;
} steps_t;

static const cuarena_heap_t *heap_of(const load_t *load)
{
    return load->f.arena->heaps[CUAI_DYNAMIC];
}

static void begin_count(load_t *load, steps_t *steps)
{
    cuarena_stats_t now = stats_of(&load->f);
    *steps = (steps_t){.full_searches = heap_of(load)->full_searches,
                       .steals = now.steals,
                       .waits = now.stream_waits,
                       .grows = now.grows};
}

static void end_count(load_t *load, steps_t *steps)
{
    cuarena_stats_t now = stats_of(&load->f);
    steps->full_searches = heap_of(load)->full_searches - steps->full_searches;
    steps->steals = now.steals - steps->steals;
    steps->waits = now.stream_waits - steps->waits;
    steps->grows = now.grows - steps->grows;
}

static void *count_one(load_t *load, uint64_t granules, cuarena_stream_t stream, steps_t *steps)
{
    void *pointer;
    uint64_t before = heap_of(load)->search_steps;
    alloc(load, granules, stream, &pointer);
    uint64_t one = heap_of(load)->search_steps - before;
    steps->sum += one;
    steps->most = one > steps->most ? one : steps->most;
    return pointer;
}

static void count_many(load_t *load, uint64_t granules, cuarena_stream_t stream, steps_t *steps)
{
    begin_count(load, steps);
    for (int i = 0; i < TAKEN; i++)
        (void)count_one(load, granules, stream, steps);
    end_count(load, steps);
}

#define expect_at_most(value, most)                                                                \
    do {                                                                                           \
        uint64_t value_ = (value);                                                                 \
        if (value_ > (most))                                                                       \
            ck_abort_msg("2^%d copies: %s is %llu, expected at most %llu", log2, #value,           \
                         (unsigned long long)value_, (unsigned long long)(most));                  \
    } while (0)

#define for_each_size(log2) for (int log2 = LEAST_LOG2; log2 <= (int)most_log2(); log2 += 2)

#define expect_row(got, want) expect_u64_at((got), (want), small[_i].name, __FILE__, __LINE__)

/* ---- Small requests ---------------------------------------------------- */

#define ANY UINT64_MAX

static const struct {
    const char *name;
    const char *layout;
    uint64_t granules; /* that B asks for */
    int fewer_log2;    /* copies of the layout */
    bool told;         /* B has waited for A */
    uint64_t waits;    /* that it takes */
    uint64_t most;     /* steps of one request */
    uint64_t most_of_all;
} small[] = {
    /* And needs not do so again: nor look at all of A's. */
    {"bytes of a stream that was waited for are found by class", "a-", 1, 0, false, 1, FEW_STEPS,
     ANY},
    /* No range of one free list is large enough, but two that touch are. */
    {"ranges of two streams together", "ac-", 2, 0, false, 2, MOST_STEPS, ANY},
    /* Rows begin with a range of C's, for which B has not waited: the rest, A's and its own, serves
     * it without a wait. */
    {"the part of a row that needs no wait", "cab-", 2, 0, true, 0, MOST_STEPS, ANY},
    /* One row of all that there is. */
    {"a row is not followed to its end", "aac", 2, 0, false, ANY, MOST_STEPS, ANY},
    /* They are too small, and so are those beside them. */
    {"ranges of its own do not delay a stream", "b-aa-", 2, 0, false, 1, MOST_STEPS, MOST_STEPS},
    /* Three granules of class 3, five and six of one class. */
    {"ranges of its class that are too small", "bbbb-aaaa-cccccc-", 5, 2, false, ANY, MOST_STEPS,
     ANY},
};

START_TEST(small_requests_see_a_bounded_number_of_ranges)
{
    for_each_size(log2)
    {
        load_t load;
        steps_t steps;
        cuarena_mark_t mark;
        open_load(&load, small[_i].layout, UINT64_C(1) << (log2 - small[_i].fewer_log2),
                  CUARENA_PRESET_POOL);
        if (small[_i].told) {
            expect_ok(cuarena_stream_mark(load.f.arena, A, &mark));
            expect_ok(cuarena_stream_waited(load.f.arena, B, A, mark));
        }
        count_many(&load, small[_i].granules, B, &steps);
        expect_row(steps.steals, TAKEN);
        if (small[_i].waits != ANY)
            expect_row(steps.waits, small[_i].waits);
        expect_row(steps.full_searches, 0);
        expect_at_most(steps.most, small[_i].most);
        expect_at_most(steps.sum, small[_i].most_of_all);
        close_load(&load);
    }
}
END_TEST

/* One range of A's is large enough, all others are not: each time a wait. */
START_TEST(one_range_at_a_time_is_found_by_class)
{
    for_each_size(log2)
    {
        load_t load;
        steps_t steps;
        void *large[TAKEN];
        open_load(&load, "-", (UINT64_C(1) << log2) + 4 * TAKEN + 1, CUARENA_PRESET_POOL);
        for (uint64_t i = 0; i < 4 * TAKEN; i++)
            release(&load, load.blocks[i], A);
        for (int i = 0; i < TAKEN; i++)
            alloc(&load, 4, A, &large[i]);
        for (uint64_t i = 4 * TAKEN + 1; i < load.granules; i += 2)
            release(&load, load.blocks[i], A);
        begin_count(&load, &steps);
        for (int i = 0; i < TAKEN; i += 2) {
            release(&load, large[i], A);
            ck_assert_ptr_eq(count_one(&load, 4, B, &steps), large[i]);
        }
        end_count(&load, &steps);
        expect_u64(steps.waits, TAKEN / 2);
        expect_u64(steps.full_searches, 0);
        expect_at_most(steps.most, MOST_STEPS);
        close_load(&load);
    }
}
END_TEST

/* Before the arena grows everything is looked at, and not again before that growth is used up. */
START_TEST(all_is_looked_at_before_growth_only)
{
    for_each_size(log2)
    {
        load_t load;
        steps_t steps;
        open_load(&load, "a-", UINT64_C(1) << log2, CUARENA_PRESET_GROW);
        count_many(&load, 2, B, &steps);
        ck_assert_uint_ge(steps.grows, 1);
        expect_at_most(steps.full_searches, 2 * steps.grows);
        expect_at_most(steps.sum, (steps.full_searches << log2) * 3 + TAKEN * MOST_STEPS);
        close_load(&load);
    }
}
END_TEST

/* ---- Large requests ---------------------------------------------------- */

/* Above the only ranges that are large enough, A has many that are not, though most of them have an
 * eighth of the request and more. */
START_TEST(a_large_request_sees_a_bounded_number_of_ranges)
{
    for_each_size(log2)
    {
        load_t load;
        steps_t steps;
        uint64_t size = UINT64_C(8) << (log2 - LEAST_LOG2);
        open_load(&load, "--------", UINT64_C(1) << log2, CUARENA_PRESET_POOL);
        for (uint64_t i = 0; i < load.granules; i++)
            if (i < load.granules / 4)
                release(&load, load.blocks[i], C);
            else if (i % 8 != 0)
                release(&load, load.blocks[i], A);
        count_many(&load, size, B, &steps);
        expect_u64(steps.steals, TAKEN);
        expect_u64(steps.waits, 1);
        expect_u64(steps.full_searches, 0);
        expect_at_most(steps.most, MOST_STEPS / 2);
        close_load(&load);
    }
}
END_TEST

/* ---- Many free lists -------------------------------------------------------- */

/* Fills the pool; one of the blocks that do. */
static void *fill(fixture_t *f)
{
    void *one = NULL;
    void *pointer;
    while (cuarena_alloc(f->arena, KIB(4), &pointer) == CUARENA_OK)
        one = pointer;
    ck_assert_ptr_nonnull(one);
    return one;
}

/* Sessions have free lists too, so those of streams may have any number. */
START_TEST(streams_steal_whatever_numbers_their_freelists_have)
{
    cuarena_capture_t *sessions[MANY];
    cuarena_stream_t last = sim_handle(CUARENA_MAX_STREAMS - 1);
    fixture_t *f = opened(SIMULATED, KIB(1024));
    for (int i = 0; i < MANY; i++) {
        expect_ok(cuarena_capture_begin(f->arena, A, &sessions[i]));
        expect_ok(cuarena_capture_end(f->arena, sessions[i]));
    }
    for (uint64_t i = 2; i < CUARENA_MAX_STREAMS; i++) {
        if (i > 3)
            sim_stream_make(&f->sim, sim_handle(i));
        free_ok(f, alloc_on(f, 256, sim_handle(i)));
    }
    uint32_t number = cuai_stream_known(f->arena, last);
    ck_assert_uint_gt(cuai_stream(f->arena, number)->freelists[1][CUAI_DYNAMIC],
                      2 * (CUARENA_MAX_STREAMS + 1));
    void *one = fill(f);
    free_on(f, one, last);
    ck_assert_ptr_eq(alloc_on(f, KIB(4), B), one);
    expect_u64(stats_of(f).steals, 1);
    for (int i = 0; i < MANY; i++)
        expect_ok(cuarena_capture_release(f->arena, &sessions[i], A));
    fixture_close_forced(f);
}
END_TEST

/* ---- Pieces that streams leave ------------------------------------------- */

#define SIM_BLOCKS 3000
#define SIM_ROUNDS 12
#define SIM_POOL KIB(64 << 10)

/* Work on the streams runs late or not at all: `run` items for each block. */
static uint64_t most_pieces(fixture_t *f, uint64_t run)
{
    random_state_t state = {scale_seed("check_stealing_steps")}, *random = &state;
    static void *held[SIM_BLOCKS];
    const cuarena_stream_t streams[] = {A, B, C};
    const cuarena_heap_t *heap = f->arena->heaps[CUAI_DYNAMIC];
    uint64_t most = 0;
    memset(held, 0, sizeof(held));
    for (size_t n = 0; n < SIM_ROUNDS * SIM_BLOCKS; n++) {
        size_t i = random_below(random, SIM_BLOCKS);
        cuarena_stream_t stream = streams[random_below(random, 3)];
        if (held[i] != NULL)
            expect_ok(cuarena_free_on(f->arena, held[i], stream));
        uint64_t bytes = 256 * (1 + random_below(random, 32));
        stream = streams[random_below(random, 3)];
        expect_ok(cuarena_alloc_on(f->arena, bytes, stream, NULL, &held[i]));
        sim_write(&f->sim, stream, held[i], bytes, 1 + n % 200);
        sim_order(&f->sim, A, stream);
        sim_order(&f->sim, B, stream);
        sim_order(&f->sim, C, stream);
        sim_run(&f->sim, run);
        most = cuai_max(most, heap->separators);
        if (n % SIM_BLOCKS == 0)
            expect_sound(f);
    }
    for (size_t i = 0; i < SIM_BLOCKS; i++)
        if (held[i] != NULL)
            expect_ok(cuarena_free_on(f->arena, held[i], A));
    expect_sound(f);
    return most;
}

START_TEST(pieces_of_streams_stay_few_while_work_is_done)
{
    fixture_t *f = opened(SIMULATED, SIM_POOL);
    uint64_t most = most_pieces(f, 8);
    printf("%" PRIu64 " pieces of %d blocks\n", most, SIM_BLOCKS);
    expect_between(most, 1024, 1024 + SIM_BLOCKS / 2);
}
END_TEST

START_TEST(bytes_that_work_is_under_way_on_are_not_joined_early)
{
    fixture_t *f = opened(SIMULATED, SIM_POOL);
    expect_between(most_pieces(f, (uint64_t)_i), 1024, UINT64_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stealing_steps");
    suite_add_rows(suite, "small", small_requests_see_a_bounded_number_of_ranges, COUNT_OF(small));
    suite_add_list(
        suite, "small by class",
        TEST_LIST(one_range_at_a_time_is_found_by_class, all_is_looked_at_before_growth_only));
    suite_add_list(suite, "large", TEST_LIST(a_large_request_sees_a_bounded_number_of_ranges));
    suite_add_list(suite, "freelists",
                   TEST_LIST(streams_steal_whatever_numbers_their_freelists_have));
    TCase *pieces =
        suite_add_list(suite, "pieces", TEST_LIST(pieces_of_streams_stay_few_while_work_is_done));
    tcase_add_loop_test(pieces, bytes_that_work_is_under_way_on_are_not_joined_early, 0, 2);
    tcase_set_timeout(pieces, scale_timeout(300));
    return suite_main(suite);
}
