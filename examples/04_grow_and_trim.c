/*
 * Growing: the preset `grow` holds no more than requests have needed, keeps what is freed for the
 * next request, and gives it back when it is told to.
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

static void print_reserved(cuarena_t *arena, const char *when)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    must(cuarena_stats(arena, CUARENA_REGION_ALL, &stats));
    printf("%-26s reserved %2" PRIu64 " MiB, %2" PRIu64 " live, grew %" PRIu64 " times\n", when,
           stats.reserved_bytes / MIB, stats.live_bytes / MIB, stats.grows);
}

int main(void)
{
    cuarena_t *arena;
    must(cuarena_open("preset=grow, limit=64MiB", &arena));
    print_reserved(arena, "new:");

    void *small;
    void *large;
    must(cuarena_alloc(arena, 4 * MIB, &small));
    print_reserved(arena, "4 MiB:");
    must(cuarena_alloc(arena, 32 * MIB, &large));
    print_reserved(arena, "32 MiB more:");

    /* What was freed serves the next request without the system. */
    must(cuarena_free(arena, large));
    must(cuarena_alloc(arena, 20 * MIB, &large));
    print_reserved(arena, "32 MiB freed, 20 taken:");

    uint64_t given_back;
    must(cuarena_trim(arena, 0, &given_back));
    printf("trim gave %" PRIu64 " MiB back\n", given_back / MIB);
    print_reserved(arena, "trimmed:");

    /* In place if what follows is free; contents stay in any case. */
    must(cuarena_resize(arena, large, 30 * MIB, &large));
    print_reserved(arena, "20 MiB resized to 30:");

    void *too_large;
    printf("64 MiB more: %s\n", cuarena_status_name(cuarena_alloc(arena, 64 * MIB, &too_large)));

    must(cuarena_free(arena, small));
    must(cuarena_free(arena, large));
    must(cuarena_destroy(&arena));
    return EXIT_SUCCESS;
}
