/*
 * Bytes of one's own: an arena over an array, a mapping or shared memory that the program has
 * anyway. The arena writes nothing into it: its bookkeeping is elsewhere, so every byte can be
 * handed out.
 */
#include <cuarena.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES 65536

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    exit(EXIT_FAILURE);
}

int main(void)
{
    static _Alignas(64) unsigned char bytes[BYTES];
    cuarena_config_t config;
    cuarena_config_init(&config);
    must(cuarena_config_set(&config, "alignment", "64"));
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes = bytes;
    config.bytes_size = sizeof bytes;
    cuarena_t *arena;
    must(cuarena_create(&config, &arena));

    void *pointer;
    must(cuarena_alloc(arena, 100, &pointer));
    printf("100 bytes at offset %td\n", (unsigned char *)pointer - bytes);
    must(cuarena_free(arena, pointer));

    /* All of it at once: nothing is set aside. */
    must(cuarena_alloc(arena, BYTES, &pointer));
    printf("%d bytes at offset %td\n", BYTES, (unsigned char *)pointer - bytes);
    must(cuarena_free(arena, pointer));

    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    must(cuarena_stats(arena, CUARENA_REGION_ALL, &stats));
    printf("reserved %" PRIu64 " of %d bytes; bookkeeping elsewhere: %" PRIu64 "\n",
           stats.reserved_bytes, BYTES, stats.bookkeeping_bytes);

    must(cuarena_destroy(&arena)); /* the bytes stay the program's */
    return EXIT_SUCCESS;
}
