/*
 * Random programs against MLX's caches, written down naively: a list in the order of recycling,
 * looked through for each request. Active, cached and peak bytes, hits and capacities are the same
 * byte by byte, and so is what the memory holds.
 */
#include "support/choice.h"
#include "support/configs.h"
#include "support/fixture.h"
#include "support/scale.h"

#include <stdbool.h>
#include <string.h>

#define LIVE 64
#define CACHED 4096
#define STEPS 3000

typedef struct naive {
    bool late;
    bool classes; /* sizes are those of the CUDA allocator */
    uint64_t page;
    uint64_t granule;
    uint64_t limit;
    uint64_t soft; /* enforced if late */
    uint64_t reserve;
    uint64_t active;
    uint64_t cached;
    uint64_t peak;
    uint64_t hits;
    uint64_t list[CACHED]; /* capacities, first recycled first */
    size_t count;
} naive_t;

typedef struct program {
    naive_t naive;
    cuarena_t *arena;
    choice_t choice;
    void *at[LIVE];
    uint64_t capacity[LIVE];
} program_t;

static program_t program;

static uint64_t any(uint64_t bound)
{
    return choose(&program.choice, bound);
}

/* ---- MLX's rules ------------------------------------------------------- */

static uint64_t naive_size(const naive_t *n, uint64_t bytes)
{
    uint64_t size = n->granule;
    if (!n->classes)
        return (bytes + n->granule - 1) / n->granule * n->granule;
    if (bytes >= 16384)
        return (bytes + 16383) / 16384 * 16384;
    while (size < bytes)
        size *= 2;
    return size;
}

static void naive_remove(naive_t *n, size_t at)
{
    n->cached -= n->list[at];
    n->count--;
    memmove(&n->list[at], &n->list[at + 1], (n->count - at) * sizeof n->list[0]);
}

static uint64_t naive_release(naive_t *n, uint64_t bytes)
{
    uint64_t freed = 0;
    uint64_t blocks = 0;
    bool all = (double)bytes >= 0.9 * (double)n->cached;
    while (n->count != 0 && (all || freed < bytes)) {
        freed += n->list[0];
        naive_remove(n, 0);
        blocks++;
    }
    return blocks;
}

/* The capacity that is reused, or 0. */
static uint64_t naive_reuse(naive_t *n, uint64_t size)
{
    size_t best = n->count;
    for (size_t i = 0; i < n->count; i++)
        if (n->list[i] >= size && (best == n->count || n->list[i] < n->list[best]))
            best = i;
    uint64_t end = 2 * size < size + 2 * n->page ? 2 * size : size + 2 * n->page;
    if (best == n->count || n->list[best] >= end)
        return 0;
    uint64_t capacity = n->list[best];
    naive_remove(n, best);
    n->hits++;
    return capacity;
}

static void naive_miss(naive_t *n, uint64_t size)
{
    if (n->late && n->active + n->cached + size > n->soft)
        naive_release(n, n->active + n->cached + size - n->soft);
}

static uint64_t naive_malloc(naive_t *n, uint64_t bytes)
{
    uint64_t size = naive_size(n, bytes);
    uint64_t capacity = naive_reuse(n, size);
    bool missed = capacity == 0;
    if (missed) {
        naive_miss(n, size);
        capacity = size;
    }
    n->active += capacity;
    n->peak = n->active > n->peak ? n->active : n->peak;
    if (missed && n->late && n->active + n->cached > n->soft)
        naive_release(n, n->reserve);
    if (n->late && n->cached > n->limit)
        naive_release(n, n->cached - n->limit);
    return capacity;
}

static void naive_free(naive_t *n, uint64_t capacity)
{
    n->active -= capacity;
    bool fits = n->late ? n->cached < n->limit : n->cached + capacity <= n->limit;
    if (!fits)
        return;
    n->list[n->count++] = capacity;
    n->cached += capacity;
}

static void naive_set_limit(naive_t *n, uint64_t limit)
{
    n->limit = limit;
    if (!n->late && n->cached > limit)
        naive_release(n, n->cached - limit);
}

/* ---- The same of the arena --------------------------------------------- */

static void expect_same(void)
{
    const naive_t *n = &program.naive;
    char text[200] = "";
    cuarena_cache_stats_t now;
    cuarena_stats_t all;
    cuarena_cache_stats_init(&now);
    cuarena_stats_init(&all);
    expect_ok(cuarena_cache_stats(program.arena, &now));
    expect_ok(cuarena_stats(program.arena, CUARENA_REGION_ALL, &all));
    cuarena_status_t valid = cuarena_validate(program.arena, text, sizeof text);
    ck_assert_msg(valid == CUARENA_OK, "%s", text);
    expect_u64(now.active_bytes, n->active);
    expect_u64(now.cached_bytes, n->cached);
    expect_u64(now.cached_blocks, n->count);
    expect_u64(now.peak_active_bytes, n->peak);
    expect_u64(now.hits, n->hits);
    expect_u64(all.reserved_bytes, n->active + n->cached);
}

/* Sizes that come again, near edges of classes and windows. */
static uint64_t any_size(void)
{
    static const uint64_t edges[] = {8, 64, 1000, 4096, 6000, 8192, 8200, 16384, 20000, 65536};
    if (any(2) == 0)
        return edges[any(COUNT_OF(edges))];
    return 1 + any(UINT64_C(1) << (3 + any(15)));
}

static void step_malloc(size_t i)
{
    uint64_t bytes = any_size();
    expect_ok(cuarena_alloc(program.arena, bytes, &program.at[i]));
    expect_ok(cuarena_size_of(program.arena, program.at[i], NULL, &program.capacity[i]));
    expect_u64(program.capacity[i], naive_malloc(&program.naive, bytes));
}

static void step_free(size_t i)
{
    expect_ok(cuarena_free(program.arena, program.at[i]));
    naive_free(&program.naive, program.capacity[i]);
    program.at[i] = NULL;
}

static void step_rare(void)
{
    naive_t *n = &program.naive;
    uint64_t bytes = any(400000);
    uint64_t blocks = 0;
    switch (any(4)) {
    case 0:
        expect_ok(cuarena_cache_release(program.arena, bytes, &blocks));
        expect_u64(blocks, naive_release(n, bytes));
        break;
    case 1:
        expect_ok(cuarena_cache_clear(program.arena, &blocks));
        expect_u64(blocks, naive_release(n, UINT64_MAX));
        break;
    case 2:
        expect_ok(
            cuarena_set_limit(program.arena, CUARENA_LIMIT_CACHED, amount_of_bytes(bytes), NULL));
        naive_set_limit(n, bytes);
        break;
    default:
        expect_ok(cuarena_reset_peaks(program.arena));
        n->peak = n->active;
    }
}

static void step_any(void)
{
    size_t i = (size_t)any(LIVE);
    if (any(60) == 0)
        step_rare();
    else if (program.at[i] == NULL)
        step_malloc(i);
    else
        step_free(i);
    expect_same();
}

/* ---- Programs ---------------------------------------------------------- */

static const struct row {
    const char *config;
    naive_t naive;
} rows[] = {
    {"preset=mlx-cpu,alignment=8,handle=8,cache_limit=300000",
     {.page = 4096, .granule = 8, .limit = 300000}},
    {"preset=mlx-cpu,alignment=16,handle=16,cache_limit=100000",
     {.page = 4096, .granule = 16, .limit = 100000}},
    {"preset=mlx-cuda,handle=8,cache_limit=300000",
     {.late = true,
      .classes = true,
      .page = 16384,
      .granule = 8,
      .limit = 300000,
      .soft = UINT64_MAX / 2}},
    {"preset=mlx-cuda,handle=8,cache_limit=800000,soft_limit=1200000",
     {.late = true,
      .classes = true,
      .page = 16384,
      .granule = 8,
      .limit = 800000,
      .soft = 1200000,
      .reserve = (UINT64_C(1) << 46) - 1200000}},
};

static void open_program(const struct row *row, uint64_t seed)
{
    cuarena_config_t config;
    memset(&program, 0, sizeof program);
    program.naive = row->naive;
    program.choice = (choice_t){.random = {seed}};
    config = config_of(row->config);
    expect_ok(cuarena_config_parse(&config, "memory=none,limit=1TiB,natural=0"));
    expect_ok(cuarena_create(&config, &program.arena));
}

START_TEST(figures_are_those_of_a_list)
{
    uint64_t base = scale_seed("cache");
    uint64_t seeds = scale_pick(4, 12, 200);
    for (uint64_t seed = base; seed < base + seeds; seed++) {
        open_program(&rows[_i], seed);
        for (int step = 0; step < STEPS; step++)
            step_any();
        ck_assert_uint_gt(program.naive.hits, 100);
        expect_ok(cuarena_destroy_forced(&program.arena));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache_model");
    TCase *cases = tcase_create("model");
    tcase_add_loop_test(cases, figures_are_those_of_a_list, 0, COUNT_OF(rows));
    tcase_set_timeout(cases, scale_timeout(600));
    suite_add_tcase(suite, cases);
    return suite_main(suite);
}
