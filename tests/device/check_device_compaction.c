/*
 * Compaction on a device, with patterns that its kernels write and check: one large block by any
 * distance, many small ones, random pools with pins while another stream works on what is pinned.
 * Large sizes are a real device's; the stand-in has small ones.
 */
#include "support/cuda_kinds.h"
#include "support/cuda_work.h"
#include "support/driver_library.h"

/* Streams of cuda_work. */
#define MAIN 0u
#define OTHER 1u

static uint64_t pick(uint64_t simulated, uint64_t real)
{
    return driver_standin() != NULL ? simulated : real;
}

static int32_t any_move(void *user, const cuarena_relocation_t *list, size_t count)
{
    (void)user;
    (void)list;
    (void)count;
    return 0;
}

/* A pool of which blocks come from the bottom, in the order asked for. */
static fixture_t *open_pool(fixture_t *f, int kind, uint64_t bytes)
{
    fixture_prepare(f, &cuda_kinds[kind], bytes);
    f->config.placement = CUARENA_PLACEMENT_LOW;
    fixture_create(f);
    return f;
}

static cuarena_block_t alloc_filled(fixture_t *f, uint64_t bytes, uint64_t seed)
{
    cuarena_block_t block = alloc_block(f, bytes);
    cuda_work.fill(f, MAIN, address_of(f, block), bytes, seed);
    return block;
}

static void expect_filled(fixture_t *f, cuarena_block_t block, uint64_t bytes, uint64_t seed)
{
    cuda_work.check(f, MAIN, address_of(f, block), bytes, seed);
}

static cuarena_compact_report_t compact(fixture_t *f, uint64_t most)
{
    cuarena_compact_report_t report;
    cuarena_compact_options_t options;
    cuarena_compact_report_init(&report);
    cuarena_compact_options_init(&options);
    options.stream = cuda_work.stream(MAIN);
    options.max_moves = most;
    step_ok(f, cuarena_compact(f->arena, &options, any_move, NULL, &report));
    return report;
}

/* ---- One block --------------------------------------------------------- */

static const uint64_t distances[] = {256, KIB(4), KIB(64), MIB(1), MIB(16), MIB(512)};

START_TEST(a_block_slides_over_itself)
{
    const uint64_t bytes = pick(MIB(4), GIB(2));
    const uint64_t distance = distances[_i] < bytes ? distances[_i] : bytes / 2;
    fixture_t *f = open_pool(new_fixture(fixture_close), CUDA_POOL_VMM, bytes + distance + MIB(2));
    cuarena_block_t below = alloc_block(f, distance);
    cuarena_block_t block = alloc_filled(f, bytes, 7);
    const char *before = address_of(f, block);
    free_block(f, below);
    expect_u64(compact(f, UINT64_MAX).bytes_moved, bytes);
    const char *after = address_of(f, block);
    expect_u64((uint64_t)(before - after), distance);
    expect_filled(f, block, bytes, 7);
    expect_u64(cuda_work.finish(), 0);
    free_block(f, block);
}
END_TEST

/* ---- Many -------------------------------------------------------------- */

#define MOST 20000

static cuarena_block_t blocks[MOST];

START_TEST(many_small_blocks_with_holes)
{
    const uint64_t count = 2 * pick(300, 10000);
    fixture_t *f = open_pool(new_fixture(fixture_close), _i, count * KIB(4));
    for (uint64_t i = 0; i < count; i++)
        expect_ok(cuarena_block_alloc(f->arena, KIB(4), &blocks[i]));
    for (uint64_t i = 0; i < count; i += 2)
        expect_ok(cuarena_block_free(f->arena, blocks[i]));
    for (uint64_t i = 1; i < count; i += 2)
        cuda_work.fill(f, MAIN, address_of(f, blocks[i]), KIB(4), i);
    expect_u64(compact(f, UINT64_MAX).moves, count / 2);
    for (uint64_t i = 1; i < count; i += 2)
        expect_filled(f, blocks[i], KIB(4), i);
    expect_u64(cuda_work.finish(), 0);
    for (uint64_t i = 1; i < count; i += 2)
        expect_ok(cuarena_block_free(f->arena, blocks[i]));
}
END_TEST

/* ---- Random pools ------------------------------------------------------ */

#define SLOTS 64

typedef struct random_pool {
    fixture_t f;
    random_state_t random;
    cuarena_block_t blocks[SLOTS]; /* 0: none */
    uint64_t bytes[SLOTS];
    bool pinned[SLOTS];
} random_pool_t;

static void fill_pool(random_pool_t *p)
{
    for (size_t i = 0; i < SLOTS; i++) {
        p->bytes[i] = 8 * (1 + random_below(&p->random, KIB(16)));
        if (cuarena_block_alloc(p->f.arena, p->bytes[i], &p->blocks[i]) == CUARENA_OK)
            cuda_work.fill(&p->f, MAIN, address_of(&p->f, p->blocks[i]), p->bytes[i], i + 1);
    }
}

/* Some go, some are pinned, and those the other stream rewrites. */
static void thin_out(random_pool_t *p)
{
    for (size_t i = 0; i < SLOTS; i++) {
        uint64_t choice = random_below(&p->random, 8);
        void *address = NULL;
        if (p->blocks[i] == 0)
            continue;
        if (choice < 4) {
            free_block(&p->f, p->blocks[i]);
            p->blocks[i] = 0;
        } else if (choice == 4) {
            step_ok(&p->f, cuarena_block_pin(p->f.arena, p->blocks[i], &address));
            p->pinned[i] = true;
        }
    }
}

static void work_beside(random_pool_t *p)
{
    cuda_work.order(MAIN, OTHER);
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i < SLOTS; i++)
            if (p->pinned[i])
                cuda_work.fill(&p->f, OTHER, address_of(&p->f, p->blocks[i]), p->bytes[i], i + 100);
}

static void check_pool(random_pool_t *p)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (p->blocks[i] != 0)
            cuda_work.check(&p->f, p->pinned[i] ? OTHER : MAIN, address_of(&p->f, p->blocks[i]),
                            p->bytes[i], i + (p->pinned[i] ? 100 : 1));
    expect_u64(cuda_work.finish(), 0);
}

static void end_pool(random_pool_t *p)
{
    for (size_t i = 0; i < SLOTS; i++) {
        if (p->pinned[i])
            expect_ok(cuarena_block_unpin(p->f.arena, p->blocks[i]));
        if (p->blocks[i] != 0)
            free_block(&p->f, p->blocks[i]);
    }
    fixture_close(&p->f);
}

static const int random_kinds[] = {CUDA_POOL_VMM, CUDA_POOL_MALLOC, CUDA_POOL_ASYNC,
                                   CUDA_POOL_MANAGED, CUDA_POOL_PINNED};

/* The pools together are 500 on a real device. */
START_TEST(random_pools_with_pins)
{
    const uint64_t pools = pick(8, 500 / COUNT_OF(random_kinds));
    const uint64_t seed = scale_seed("pools");
    for (uint64_t n = 0; n < pools; n++) {
        random_pool_t p = {.random = {seed + n}};
        open_pool(&p.f, random_kinds[_i], MIB(4));
        fill_pool(&p);
        thin_out(&p);
        work_beside(&p);
        (void)compact(&p.f, n % 4 == 0 ? 5 : UINT64_MAX);
        check_pool(&p);
        end_pool(&p);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compaction on a device");
    cuda_kinds_ready();
    tcase_add_loop_test(new_case(suite, "one block"), a_block_slides_over_itself, 0,
                        (int)COUNT_OF(distances));
    tcase_add_loop_test(new_case(suite, "many blocks"), many_small_blocks_with_holes, CUDA_POOL_VMM,
                        CUDA_POOL_PINNED + 1);
    tcase_add_loop_test(new_case(suite, "random pools"), random_pools_with_pins, 0,
                        (int)COUNT_OF(random_kinds));
    return cuda_kinds_main(suite);
}
