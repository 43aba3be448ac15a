/*
 * A memory of one's own: the functions that an arena calls for its bytes. Here they are
 * aligned_alloc and free; they could be a device driver's. The arena calls them to grow, never to
 * serve from what it holds.
 */
#include <cuarena.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    exit(EXIT_FAILURE);
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    (void)address_bytes; /* these segments keep their length */
    void *address = aligned_alloc(4096, bytes);
    if (address == NULL)
        return CUARENA_OUT_OF_MEMORY;
    printf("  get %" PRIu64 " KiB\n", bytes / 1024);
    ++*(int *)user;
    *segment_out = (cuarena_memory_segment_t){
        .address = (uint64_t)(uintptr_t)address,
        .bytes = bytes,
        .address_bytes = bytes,
    };
    return CUARENA_OK;
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    printf("  give back %" PRIu64 " KiB\n", segment->bytes / 1024);
    --*(int *)user;
    free((void *)(uintptr_t)segment->address);
}

int main(void)
{
    cuarena_memory_ops_t ops;
    cuarena_memory_ops_init(&ops); /* what is left out, it cannot do */
    ops.name = "aligned_alloc";
    ops.properties = CUARENA_MEMORY_HOST_READABLE | CUARENA_MEMORY_TOUCHES;
    ops.alignment = 4096;
    ops.get = get;
    ops.give_back = give_back;

    int segments = 0;
    cuarena_config_t config;
    cuarena_config_init(&config);
    config.preset = CUARENA_PRESET_GROW;
    config.memory = CUARENA_MEMORY_CUSTOM;
    config.ops = &ops;
    config.ops_user = &segments;
    cuarena_t *arena;
    must(cuarena_create(&config, &arena));

    void *pointers[4];
    for (int i = 0; i < 4; i++) {
        printf("allocate 1 MiB\n");
        must(cuarena_alloc(arena, MIB, &pointers[i]));
        memset(pointers[i], i, MIB);
    }
    for (int i = 0; i < 4; i++)
        must(cuarena_free(arena, pointers[i]));
    printf("all freed: %d segments are kept\n", segments);
    must(cuarena_alloc(arena, MIB, &pointers[0]));
    printf("1 MiB again: no call of the memory\n");
    must(cuarena_free(arena, pointers[0]));
    must(cuarena_destroy(&arena));
    printf("destroyed: %d segments\n", segments);
    return segments == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
