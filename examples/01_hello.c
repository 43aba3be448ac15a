/*
 * Hello: a pool of host memory, a block of it, and what the arena says about itself. The pool is
 * taken from the system once; after that, allocations and frees are bookkeeping only.
 */
#include <cuarena.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every call that can fail returns a status; the last error says why. */
static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    exit(EXIT_FAILURE);
}

static void print_stats(cuarena_t *arena, const char *when)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    must(cuarena_stats(arena, CUARENA_REGION_ALL, &stats));
    printf("%-10s reserved %" PRIu64 ", live %" PRIu64 " in %" PRIu64 " blocks, asked for %" PRIu64
           "\n",
           when, stats.reserved_bytes, stats.live_bytes, stats.live_blocks, stats.requested_bytes);
}

int main(void)
{
    cuarena_t *arena;
    must(cuarena_open("pool=16MiB", &arena));
    print_stats(arena, "created:");

    void *pointer;
    must(cuarena_alloc(arena, 1000000, &pointer));
    memset(pointer, 1, 1000000);
    print_stats(arena, "allocated:");

    /* Sizes are rounded up to the alignment, 256 bytes, and no further. */
    uint64_t requested;
    uint64_t allocated;
    must(cuarena_size_of(arena, pointer, &requested, &allocated));
    printf("the block has %" PRIu64 " bytes for %" PRIu64 "\n", allocated, requested);

    must(cuarena_free(arena, pointer));
    print_stats(arena, "freed:");

    /* A second free of the same pointer is an error, and harmless. */
    printf("freed twice: %s\n", cuarena_status_name(cuarena_free(arena, pointer)));

    must(cuarena_destroy(&arena));
    return EXIT_SUCCESS;
}
