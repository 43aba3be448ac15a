/*
 * The heap alone: the arena's bookkeeping without memory. It deals in offsets, so it can
 * sub-allocate whatever is addressed by number: here a file, which gets longer when it must and is
 * compacted at the end.
 */
#include <cuarena.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE ((uint64_t)512)
#define STEP (16 * PAGE) /* by how much the file gets longer */

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    exit(EXIT_FAILURE);
}

/* Room for `size` bytes in the file, made longer if need be. */
static cuarena_block_t place(cuarena_heap_t *heap, uint64_t size)
{
    cuarena_heap_request_t request = {.size = size};
    cuarena_block_t block;
    uint64_t offset;
    while (cuarena_heap_alloc(heap, &request, &block, &offset) != CUARENA_OK)
        must(cuarena_heap_segment_extend(heap, 0, STEP));
    printf("  %4" PRIu64 " bytes at %" PRIu64 "\n", size, offset);
    return block;
}

/* Moves the contents as planned. They are copied in the order of the list,
 * each with a memmove or its like: here it is only printed. */
static void compact(cuarena_heap_t *heap)
{
    cuarena_heap_plan_options_t options;
    cuarena_heap_plan_options_init(&options);
    cuarena_heap_plan_t *plan;
    must(cuarena_heap_plan_create(heap, &options, &plan));
    must(cuarena_heap_plan_begin(heap, plan));
    size_t count;
    const cuarena_heap_move_t *moves = cuarena_heap_plan_moves(plan, &count);
    for (size_t i = 0; i < count; i++)
        printf("  %4" PRIu64 " bytes from %" PRIu64 " to %" PRIu64 "\n", moves[i].bytes,
               moves[i].from, moves[i].to);
    must(cuarena_heap_plan_commit(heap, plan, 0));
    cuarena_heap_plan_destroy(heap, &plan);
}

int main(void)
{
    cuarena_heap_config_t config;
    cuarena_heap_config_init(&config);
    config.granule = PAGE;
    config.placement = CUARENA_PLACEMENT_LOW; /* keeps the end free */
    cuarena_heap_t *heap;
    must(cuarena_heap_create(&config, &heap));
    must(cuarena_heap_segment_add(heap, 0, STEP));

    printf("records:\n");
    cuarena_block_t records[5];
    for (int i = 0; i < 5; i++)
        records[i] = place(heap, 3000 - 400 * (uint64_t)i);
    must(cuarena_heap_free(heap, records[0], 0));
    must(cuarena_heap_free(heap, records[2], 0));
    printf("two erased, the others move:\n");
    compact(heap);

    uint64_t free_bytes;
    must(cuarena_heap_largest(heap, 0, &free_bytes));
    printf("the last %" PRIu64 " bytes of the file are free\n", free_bytes);
    cuarena_heap_destroy(&heap);
    return EXIT_SUCCESS;
}
