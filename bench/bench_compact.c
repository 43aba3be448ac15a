/*
 * What costs more than a bounded number of steps, but not much: the plan of a full compaction, next
 * to a bare walk of the same list; a compaction of small blocks behind which are no bytes, so that
 * only the bookkeeping is left; and making and ending an arena over 64 GiB.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "heap/heap.h"

#define BLOCKS 1000000
#define OPERATIONS 10000000
#define MEAN_SIZE (MIB / 8)
#define ROUNDS 25

/* ---- Plan ---------------------------------------------------------------- */

static cuarena_block_t take(cuarena_heap_t *heap, random_state_t *random)
{
    cuarena_heap_request_t request = {.size = mixed_size(random, 256, MIB)};
    cuarena_block_t block;
    uint64_t offset;
    must(cuarena_heap_alloc(heap, &request, &block, &offset));
    return block;
}

/* As many blocks, after as many allocations and frees of random ones. */
static cuarena_heap_t *used_heap(void)
{
    cuarena_heap_config_t config;
    cuarena_heap_config_init(&config);
    cuarena_heap_t *heap;
    must(cuarena_heap_create(&config, &heap));
    must(cuarena_heap_segment_add(heap, 0, BLOCKS * MEAN_SIZE / 2 * 3));
    cuarena_block_t *blocks = calloc(BLOCKS, sizeof *blocks);
    expect(blocks != NULL, "memory");
    random_state_t random = {1};
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = take(heap, &random);
    for (size_t i = BLOCKS; i < OPERATIONS; i += 2) {
        size_t at = random_below(&random, BLOCKS);
        must(cuarena_heap_free(heap, blocks[at], 0));
        blocks[at] = take(heap, &random);
    }
    free(blocks);
    return heap;
}

/* From each record to the next one, looking at it. */
static double time_walk(const cuarena_heap_t *heap, uint64_t *sum)
{
    uint64_t begin = now_ns();
    cuai_slot_t slot = cuai_record(heap, 0)->next;
    for (; slot != 0; slot = cuai_record(heap, slot)->next)
        *sum += cuai_record(heap, slot)->size;
    return (double)(now_ns() - begin) / 1e6;
}

static double time_plan(cuarena_heap_t *heap, size_t *moves)
{
    cuarena_heap_plan_options_t options;
    cuarena_heap_plan_options_init(&options);
    cuarena_heap_plan_t *plan;
    uint64_t begin = now_ns();
    must(cuarena_heap_plan_create(heap, &options, &plan));
    double time = (double)(now_ns() - begin) / 1e6;
    (void)cuarena_heap_plan_moves(plan, moves);
    cuarena_heap_plan_destroy(heap, &plan);
    return time;
}

static uint64_t live_bytes_of(const cuarena_heap_t *heap)
{
    cuarena_heap_stats_t stats;
    cuarena_heap_stats_init(&stats);
    must(cuarena_heap_stats(heap, &stats));
    return stats.live_bytes;
}

static void print_plan(void)
{
    cuarena_heap_t *heap = used_heap();
    double walk = 0;
    double plan = 0;
    uint64_t sum = 0;
    size_t moves = 0;
    for (int i = 0; i < ROUNDS; i++) {
        keep_best(&walk, time_walk(heap, &sum));
        keep_best(&plan, time_plan(heap, &moves));
    }
    expect(sum == ROUNDS * live_bytes_of(heap), "the walk saw every block");
    printf("full plan, %d live blocks after %d operations: %zu moves\n", BLOCKS, OPERATIONS, moves);
    printf("  walk %.1f ms, plan %.1f ms, plan/walk %.2f\n", walk, plan, plan / walk);
    cuarena_heap_destroy(&heap);
}

/* ---- Moves --------------------------------------------------------------- */

#define MOVES 10000

static void make_holes(cuarena_t *arena)
{
    static cuarena_block_t holes[MOVES];
    cuarena_block_t block;
    must(cuarena_reset(arena));
    for (int i = 0; i < MOVES; i++) {
        must(cuarena_block_alloc(arena, 4 * KIB, &holes[i]));
        must(cuarena_block_alloc(arena, 4 * KIB, &block));
    }
    for (int i = 0; i < MOVES; i++)
        must(cuarena_block_free(arena, holes[i]));
}

/* Microseconds of a compaction of all. */
static double time_moves(cuarena_t *arena)
{
    cuarena_compact_report_t report;
    cuarena_compact_report_init(&report);
    make_holes(arena);
    uint64_t begin = now_ns();
    must(cuarena_compact(arena, NULL, NULL, NULL, &report));
    double time = (double)(now_ns() - begin) / 1e3;
    expect(report.moves >= MOVES / 2, "at least every other block moves");
    return time / (double)report.moves * MOVES;
}

static void print_moves(void)
{
    cuarena_t *arena = new_arena(2 * MOVES * 4 * KIB, 0);
    double best = 0;
    for (int i = 0; i < 8 * ROUNDS; i++)
        keep_best(&best, time_moves(arena));
    printf("bookkeeping of %d moves of 4 KiB: %.0f us, best of %d\n", MOVES, best, 8 * ROUNDS);
    must(cuarena_destroy_forced(&arena));
}

/* ---- Creation ------------------------------------------------------------ */

static uint64_t page_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_minflt;
}

static uint64_t resident_bytes(void)
{
    unsigned long long total = 0;
    unsigned long long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%llu %llu", &total, &resident) != 2)
        resident = 0;
    if (file != NULL)
        fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static cuarena_t *create_over(void *bytes, uint64_t size)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes = bytes;
    config.bytes_size = size;
    cuarena_t *arena;
    must(cuarena_create(&config, &arena));
    return arena;
}

/* Milliseconds of making and ending it. */
static double time_life(void *bytes, uint64_t size)
{
    uint64_t begin = now_ns();
    cuarena_t *arena = create_over(bytes, size);
    must(cuarena_destroy(&arena));
    return (double)(now_ns() - begin) / 1e6;
}

/* The first one of the process, so nothing is there to be used again. */
static void print_first(void *bytes, uint64_t size)
{
    uint64_t resident = resident_bytes();
    uint64_t faults = page_faults();
    uint64_t begin = now_ns();
    cuarena_t *arena = create_over(bytes, size);
    double time = (double)(now_ns() - begin) / 1e6;
    faults = page_faults() - faults;
    resident = resident_bytes() - resident;
    must(cuarena_destroy(&arena));
    printf("arena over 64 GiB: the first is made in %.3f ms\n", time);
    printf("  touches %llu KiB (%llu page faults), %llu KiB more resident\n",
           (unsigned long long)faults * 4, (unsigned long long)faults,
           (unsigned long long)(resident / KIB));
}

static void print_life(void)
{
    const uint64_t size = 64 * GIB;
    void *bytes = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    expect(bytes != MAP_FAILED, "64 GiB of addresses");
    (void)resident_bytes(); /* has touched what it needs */
    print_first(bytes, size);
    double best = 0;
    for (int i = 0; i < 50; i++)
        keep_best(&best, time_life(bytes, size));
    printf("  made and ended in %.3f ms, best of 50\n", best);
    munmap(bytes, size);
}

int main(void)
{
    print_life();
    print_moves();
    print_plan();
    return EXIT_SUCCESS;
}
