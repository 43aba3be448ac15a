/*
 * Segments of a torch.cuda.MemPool that lie in an arena. Each is a dedicated block, so what is
 * mapped behind its addresses is its own, and can be given to the device and taken again: the pool
 * sleeps and wakes, while PyTorch's allocator keeps the addresses.
 *
 * PyTorch calls alloc and free under its own lock of the device: nothing here calls PyTorch.
 */
#include "torch.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct segment {
    struct segment *next;
    void *address;
    size_t bytes;
    int device;
    bool asleep;
    void *contents; /* of one that sleeps; NULL: dropped */
} segment_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static segment_t *segments; /* guarded by `lock` */

CUARENA_API void *cuarena_torch_segment_alloc(size_t bytes, int device, cuarena_stream_t stream);
CUARENA_API void cuarena_torch_segment_free(void *pointer, size_t bytes, int device,
                                            cuarena_stream_t stream);
CUARENA_API int cuarena_torch_sleep(int device, int keep, uint64_t *bytes_out);
CUARENA_API int cuarena_torch_wake(int device, uint64_t *bytes_out);
CUARENA_API uint64_t cuarena_torch_segment_bytes(int device, int asleep);

/* ---- Allocating ----------------------------------------------------------- */

static bool note(void *address, size_t bytes, int device)
{
    segment_t *segment = calloc(1, sizeof *segment);
    if (!segment)
        return false;
    pthread_mutex_lock(&lock);
    *segment = (segment_t){.next = segments, .address = address, .bytes = bytes, .device = device};
    segments = segment;
    pthread_mutex_unlock(&lock);
    return true;
}

/* NULL, which PyTorch takes for out of memory, if the arena refuses. */
void *cuarena_torch_segment_alloc(size_t bytes, int device, cuarena_stream_t stream)
{
    cuarena_request_t request;
    cuarena_t *arena = torch_arena(device);
    uint64_t allocated = 0;
    void *pointer = NULL;
    if (!arena)
        return NULL;
    if (!torch_request(device, arena, &request))
        cuarena_request_init(&request);
    request.dedicated = 1;
    if (cuarena_alloc_on(arena, bytes, stream, &request, &pointer) != CUARENA_OK)
        return NULL;
    cuarena_size_of(arena, pointer, NULL, &allocated);
    if (!note(pointer, allocated, device)) {
        cuarena_free_on(arena, pointer, stream);
        return NULL;
    }
    return pointer;
}

static segment_t *take(const void *address)
{
    segment_t **place = &segments;
    while (*place && (*place)->address != address)
        place = &(*place)->next;
    segment_t *found = *place;
    if (found)
        *place = found->next;
    return found;
}

/* The library unmaps what it mapped, so one that sleeps is mapped once more. */
static void wake_for_free(const segment_t *segment)
{
    if (!segment->asleep || !torch_driver_enter(segment->device))
        return;
    torch_driver_map(segment->device, segment->address, segment->bytes);
    torch_driver_leave();
}

void cuarena_torch_segment_free(void *pointer, size_t bytes, int device, cuarena_stream_t stream)
{
    cuarena_t *arena = torch_arena_found(device);
    (void)bytes;
    pthread_mutex_lock(&lock);
    segment_t *segment = take(pointer);
    pthread_mutex_unlock(&lock);
    if (segment) {
        wake_for_free(segment);
        free(segment->contents);
        free(segment);
    }
    if (arena)
        cuarena_free_on(arena, pointer, stream);
}

/* ---- Sleeping ------------------------------------------------------------- */

/* 0, or the driver's code; -1: the host has no memory. */
static int put_to_sleep(segment_t *segment, bool keep)
{
    int code = 0;
    if (keep) {
        segment->contents = malloc(segment->bytes);
        if (!segment->contents)
            return -1;
        code = torch_driver_to_host(segment->contents, segment->address, segment->bytes);
    }
    if (code == 0)
        code = torch_driver_unmap(segment->address, segment->bytes);
    if (code == 0) {
        segment->asleep = true;
    } else {
        free(segment->contents);
        segment->contents = NULL;
    }
    return code;
}

static int wake(segment_t *segment)
{
    int code = torch_driver_map(segment->device, segment->address, segment->bytes);
    if (code != 0)
        return code;
    segment->asleep = false;
    if (segment->contents)
        code = torch_driver_from_host(segment->address, segment->contents, segment->bytes);
    free(segment->contents);
    segment->contents = NULL;
    return code;
}

/* What is behind the addresses can be taken away where it was mapped there. */
static bool can_sleep(int device)
{
    cuarena_t *arena = torch_arena_found(device);
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    return !arena || (cuarena_properties(arena, &properties) == CUARENA_OK &&
                      properties.backing == CUARENA_BACKING_VMM);
}

/* Does it with each segment of the device that sleeps or not, up to the first failure. */
static int each(int device, bool asleep, int keep, uint64_t *bytes_out)
{
    int code = 0;
    *bytes_out = 0;
    if (!can_sleep(device))
        return -3;
    if (!torch_driver_wait(device) || !torch_driver_enter(device))
        return -2;
    pthread_mutex_lock(&lock);
    for (segment_t *segment = segments; segment && code == 0; segment = segment->next) {
        if (segment->device != device || segment->asleep != asleep)
            continue;
        code = asleep ? wake(segment) : put_to_sleep(segment, keep != 0);
        *bytes_out += code == 0 ? segment->bytes : 0;
    }
    pthread_mutex_unlock(&lock);
    torch_driver_leave();
    return code;
}

/* Gives what is behind the segments of a device back to it; with `keep` their contents stay in the
 * host's memory. Waits for all work of the device. 0; the driver's code; -1 if the host has no
 * memory; -2 if the device cannot be waited for; -3 if the arena's memory is not mapped in handles.
 * After a failure some sleep. */
int cuarena_torch_sleep(int device, int keep, uint64_t *bytes_out)
{
    return each(device, false, keep, bytes_out);
}

/* Takes memory for all that sleep, at the same addresses; their contents are what was kept, else
 * undefined. After a failure some still sleep, and a further call goes on. */
int cuarena_torch_wake(int device, uint64_t *bytes_out)
{
    return each(device, true, 0, bytes_out);
}

/* How many bytes of segments a device has that sleep, or do not. */
uint64_t cuarena_torch_segment_bytes(int device, int asleep)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (const segment_t *segment = segments; segment; segment = segment->next)
        if (segment->device == device && segment->asleep == (asleep != 0))
            bytes += segment->bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}
