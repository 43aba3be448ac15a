/*
 * Arenas as PyTorch's allocator, for bench/torch_streams: what CUDAPluggableAllocator asks for, and
 * nothing more. One arena for each device, with the options in CUARENA_TORCH_OPTIONS.
 */
#include <cuarena.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define DEVICES 64

/* What the script names. */
void *torch_streams_alloc(size_t bytes, int device, cuarena_stream_t stream);
void torch_streams_free(void *pointer, size_t bytes, int device, cuarena_stream_t stream);
uint64_t torch_streams_held(int device, uint64_t *waits_out);

static cuarena_t *arenas[DEVICES];
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* Ends the process: PyTorch does not look whether it got bytes. */
static void must(cuarena_status_t status, const char *what)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, cuarena_last_error());
    exit(EXIT_FAILURE);
}

static cuarena_t *arena_of(int device)
{
    char options[512];
    const char *wanted = getenv("CUARENA_TORCH_OPTIONS");
    pthread_mutex_lock(&opening);
    if (arenas[device] == NULL) {
        snprintf(options, sizeof options, "memory=device,device=%d,%s", device,
                 wanted != NULL ? wanted : "preset=grow");
        must(cuarena_open(options, &arenas[device]), options);
    }
    pthread_mutex_unlock(&opening);
    return arenas[device];
}

void *torch_streams_alloc(size_t bytes, int device, cuarena_stream_t stream)
{
    void *pointer = NULL;
    must(cuarena_alloc_on(arena_of(device), bytes, stream, NULL, &pointer), "alloc");
    return pointer;
}

void torch_streams_free(void *pointer, size_t bytes, int device, cuarena_stream_t stream)
{
    (void)bytes;
    must(cuarena_free_on(arena_of(device), pointer, stream), "free");
}

/* The most bytes that were reserved, and how often a stream was made to wait. */
uint64_t torch_streams_held(int device, uint64_t *waits_out)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    must(cuarena_stats(arena_of(device), CUARENA_REGION_ALL, &stats), "stats");
    *waits_out = stats.stream_waits;
    return stats.peak_reserved_bytes;
}
