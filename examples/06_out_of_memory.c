/*
 * Running out: a handler that gives up a cache when the arena has no room,
 * and what the last error says when even that does not help.
 */
#include <cuarena.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)
#define CACHED 3

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    exit(EXIT_FAILURE);
}

/* Entries that the program could compute again. */
typedef struct cache {
    void *entries[CACHED];
    int count;
} cache_t;

/* 1: something was freed, try again. 0: there is nothing left to give up. */
static int32_t give_up_an_entry(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    cache_t *cache = user;
    printf("  no room for %" PRIu64 " MiB (attempt %d): ", asked_bytes / MIB, (int)attempt);
    if (cache->count == 0) {
        printf("the cache is empty\n");
        return 0;
    }
    printf("dropping a cached entry\n");
    must(cuarena_free(arena, cache->entries[--cache->count]));
    return 1;
}

int main(void)
{
    cuarena_t *arena;
    must(cuarena_open("pool=16MiB", &arena));

    cache_t cache = {.count = 0};
    while (cache.count < CACHED)
        must(cuarena_alloc(arena, 4 * MIB, &cache.entries[cache.count++]));
    must(cuarena_set_oom_handler(arena, give_up_an_entry, &cache));

    printf("asking for 8 MiB with 4 MiB free\n");
    void *pointer;
    must(cuarena_alloc(arena, 8 * MIB, &pointer));
    printf("served; %d entries are still cached\n", cache.count);

    printf("asking for 16 MiB beside these 8\n");
    void *too_large;
    cuarena_status_t status = cuarena_alloc(arena, 16 * MIB, &too_large);
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    must(cuarena_last_error_info(&info));
    printf("%s: asked %" PRIu64 " MiB, reserved %" PRIu64 ", free %" PRIu64 ", largest %" PRIu64
           "\n%s\n",
           cuarena_status_name(status), info.asked_bytes / MIB, info.reserved_bytes / MIB,
           info.free_bytes / MIB, info.largest_bytes / MIB, info.message);

    must(cuarena_destroy_forced(&arena));
    return EXIT_SUCCESS;
}
