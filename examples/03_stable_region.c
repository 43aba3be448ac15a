/*
 * The stable region: the front of a pool, for what lives long and must never move, such as weights.
 * It lends nothing to the rest of the pool and borrows nothing from it, so neither can fragment the
 * other.
 */
#include <cuarena.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    exit(EXIT_FAILURE);
}

static void print_region(cuarena_t *arena, int32_t region, const char *name)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    must(cuarena_stats(arena, region, &stats));
    printf("%-8s %2" PRIu64 " MiB, %" PRIu64 " MiB live, %2" PRIu64 " MiB free\n", name,
           stats.capacity_bytes / MIB, stats.live_bytes / MIB, stats.free_bytes / MIB);
}

int main(void)
{
    cuarena_t *arena;
    must(cuarena_open("pool=16MiB, stable=4MiB", &arena));
    void *base;
    uint64_t bytes;
    must(cuarena_base(arena, &base, &bytes));

    cuarena_request_t request;
    cuarena_request_init(&request);
    request.region = CUARENA_REGION_STABLE;
    void *weights;
    must(cuarena_alloc_with(arena, 3 * MIB, &request, &weights));
    void *activations;
    must(cuarena_alloc(arena, 3 * MIB, &activations));
    printf("weights at %td MiB, activations at %td MiB of the pool\n",
           ((char *)weights - (char *)base) / (ptrdiff_t)MIB,
           ((char *)activations - (char *)base) / (ptrdiff_t)MIB);
    print_region(arena, CUARENA_REGION_STABLE, "stable:");
    print_region(arena, CUARENA_REGION_DYNAMIC, "dynamic:");

    /* Exhausting it is an error, however much is free elsewhere. */
    void *more;
    cuarena_status_t status = cuarena_alloc_with(arena, 2 * MIB, &request, &more);
    printf("2 MiB more, stable: %s\n", cuarena_status_name(status));
    must(cuarena_alloc(arena, 2 * MIB, &more));
    printf("2 MiB more, dynamic: CUARENA_OK\n");

    must(cuarena_free(arena, more));
    must(cuarena_free(arena, activations));
    must(cuarena_free(arena, weights));
    must(cuarena_destroy(&arena));
    return EXIT_SUCCESS;
}
