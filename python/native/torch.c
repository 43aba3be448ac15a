/* Arenas as PyTorch's allocator: one for each device. PyTorch's CUDAPluggableAllocator is made of
 * the exported functions here and in torch_capture.c. */
#include "torch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct device {
    _Atomic(cuarena_t *) arena;
    atomic_ullong bytes_ever; /* asked for */
    cuarena_tag_t tags[TORCH_TAGS];
    /* What there was at the last reset of accumulated figures. */
    uint64_t allocs_before, frees_before, bytes_before, failed_before;
} device_t;

static device_t devices[TORCH_DEVICES];
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static char options[1024] = "preset=grow,peers=try"; /* of every arena, but for the device */

CUARENA_API int cuarena_torch_configure(const char *base, const char *more);
CUARENA_API void *cuarena_torch_alloc(size_t bytes, int device, cuarena_stream_t stream);
CUARENA_API void cuarena_torch_free(void *pointer, size_t bytes, int device,
                                    cuarena_stream_t stream);
CUARENA_API void cuarena_torch_record_stream(void *pointer, cuarena_stream_t stream);
CUARENA_API void *cuarena_torch_base(void *pointer, size_t *bytes_out);
CUARENA_API void cuarena_torch_memory_fraction(double fraction, int device);
CUARENA_API void cuarena_torch_empty_cache(void);
CUARENA_API cuarena_t *cuarena_torch_arena(int device);
CUARENA_API cuarena_t *cuarena_torch_arena_found(int device);
CUARENA_API int cuarena_torch_figures(int device, uint64_t *figures, size_t count);
CUARENA_API int cuarena_torch_reset_peaks(int device);
CUARENA_API int cuarena_torch_reset_accumulated(int device);
CUARENA_API int cuarena_torch_tag(const char *name);
CUARENA_API uint32_t cuarena_torch_tag_enter(int tag);
CUARENA_API void cuarena_torch_tag_leave(uint32_t before);

/* ---- Arenas -------------------------------------------------------------- */

/* Options that arenas are made with from now on: `base`, over them those of CUARENA_CONF, and over
 * both `more`. Returns a status; the arenas that there are stay as they are. */
int cuarena_torch_configure(const char *base, const char *more)
{
    const char *environment = getenv("CUARENA_CONF");
    cuarena_config_t config;
    char text[sizeof options];
    int length = snprintf(text, sizeof text, "%s%s%s%s%s", base, environment ? "," : "",
                          environment ? environment : "", *more ? "," : "", more);
    cuarena_config_init(&config);
    cuarena_status_t status = cuarena_config_parse(&config, text);
    if (status == CUARENA_OK && (length < 0 || (size_t)length >= sizeof text))
        status = CUARENA_LIMIT;
    if (status != CUARENA_OK)
        return status;
    pthread_mutex_lock(&opening);
    memcpy(options, text, sizeof text);
    pthread_mutex_unlock(&opening);
    return CUARENA_OK;
}

static cuarena_t *open_arena(int device)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    char text[64];
    snprintf(text, sizeof text, "device=%d, name=torch cuda:%d", device, device);
    cuarena_config_init(&config);
    config.memory = CUARENA_MEMORY_DEVICE;
    if (cuarena_config_parse(&config, options) != CUARENA_OK ||
        cuarena_config_parse(&config, text) != CUARENA_OK ||
        cuarena_create(&config, &arena) != CUARENA_OK)
        return NULL;
    return arena;
}

cuarena_t *torch_arena_found(int device)
{
    if (device < 0 || device >= TORCH_DEVICES)
        return NULL;
    return atomic_load_explicit(&devices[device].arena, memory_order_acquire);
}

cuarena_t *torch_arena(int device)
{
    cuarena_t *arena = torch_arena_found(device);
    if (arena || device < 0 || device >= TORCH_DEVICES)
        return arena;
    pthread_mutex_lock(&opening);
    arena = torch_arena_found(device);
    if (!arena) {
        arena = open_arena(device);
        atomic_store_explicit(&devices[device].arena, arena, memory_order_release);
    }
    pthread_mutex_unlock(&opening);
    return arena;
}

/* The arena of a device, made if there is none, for other calls of the library; NULL, with the last
 * error, if it cannot be made. */
cuarena_t *cuarena_torch_arena(int device)
{
    return torch_arena(device);
}

/* The same, where it was made already; else NULL, and no error. */
cuarena_t *cuarena_torch_arena_found(int device)
{
    return torch_arena_found(device);
}

/* ---- Tags ---------------------------------------------------------------- */

/* Names that a program gave to what it allocates: the same number on all devices. */
static char names[TORCH_TAGS][64];
static atomic_int name_count = 1; /* 0 is no tag */
/* The tag of a thread and, for threads that are in none, such as those of backward passes,
 * the one that was entered last. */
static _Thread_local uint16_t own_tag;
static atomic_uint common_tag;

/* The number of a name, which is registered at its first use; 0 if there are too many. */
int cuarena_torch_tag(const char *name)
{
    pthread_mutex_lock(&opening);
    int count = atomic_load(&name_count);
    int found = 1;
    while (found < count && strncmp(names[found], name, sizeof names[0] - 1) != 0)
        found++;
    if (found == count && count < TORCH_TAGS) {
        snprintf(names[found], sizeof names[0], "%s", name);
        atomic_store(&name_count, count + 1);
    }
    pthread_mutex_unlock(&opening);
    return found < TORCH_TAGS ? found : 0;
}

/* Enters a tag in this thread; the number that comes back ends it. */
uint32_t cuarena_torch_tag_enter(int tag)
{
    uint32_t before = atomic_exchange(&common_tag, (unsigned)tag) << 16 | own_tag;
    own_tag = (uint16_t)tag;
    return before;
}

void cuarena_torch_tag_leave(uint32_t before)
{
    own_tag = (uint16_t)before;
    atomic_store(&common_tag, before >> 16);
}

static cuarena_tag_t tag_in(int device, cuarena_t *arena, unsigned tag)
{
    cuarena_tag_t *known = &devices[device].tags[tag];
    if (!*known)
        cuarena_tag(arena, names[tag], known);
    return *known;
}

const cuarena_request_t *torch_request(int device, cuarena_t *arena, cuarena_request_t *request)
{
    unsigned tag = own_tag ? own_tag : atomic_load_explicit(&common_tag, memory_order_relaxed);
    if (!tag)
        return NULL;
    cuarena_request_init(request);
    request->tag = tag_in(device, arena, tag);
    return request;
}

/* ---- Allocating ---------------------------------------------------------- */

static cuarena_status_t allocate(int device, size_t bytes, cuarena_stream_t stream,
                                 void **pointer_out)
{
    cuarena_request_t request;
    cuarena_t *arena = torch_arena(device);
    if (!arena)
        return CUARENA_NO_DEVICE;
    cuarena_status_t status = torch_capture_see(device, arena, stream);
    if (status == CUARENA_OK)
        status = cuarena_alloc_on(arena, bytes, stream, torch_request(device, arena, &request),
                                  pointer_out);
    return status;
}

/* 0 bytes give NULL. A refused request throws. */
void *cuarena_torch_alloc(size_t bytes, int device, cuarena_stream_t stream)
{
    void *pointer = NULL;
    cuarena_status_t status = allocate(device, bytes, stream, &pointer);
    if (status != CUARENA_OK) {
        torch_refuse(device, bytes, status);
        return NULL;
    }
    atomic_fetch_add_explicit(&devices[device].bytes_ever, bytes, memory_order_relaxed);
    return pointer;
}

/* At this point of the stream. What fails is in the log: PyTorch has no place for it. */
void cuarena_torch_free(void *pointer, size_t bytes, int device, cuarena_stream_t stream)
{
    cuarena_t *arena = torch_arena_found(device);
    (void)bytes;
    if (arena && pointer)
        cuarena_free_on(arena, pointer, stream);
}

/* PyTorch does not say of which device the bytes are: whose they are not knows them not. */
static cuarena_t *arena_of(const void *pointer, uint64_t *bytes_out)
{
    for (int device = 0; device < TORCH_DEVICES; device++) {
        cuarena_t *arena = torch_arena_found(device);
        if (arena && cuarena_size_of(arena, pointer, NULL, bytes_out) == CUARENA_OK)
            return arena;
    }
    return NULL;
}

void cuarena_torch_record_stream(void *pointer, cuarena_stream_t stream)
{
    uint64_t bytes;
    cuarena_t *arena = pointer ? arena_of(pointer, &bytes) : NULL;
    if (arena)
        cuarena_record_use(arena, pointer, stream);
}

/* A block is an allocation by itself, from its begin on. */
void *cuarena_torch_base(void *pointer, size_t *bytes_out)
{
    uint64_t bytes = 0;
    if (!arena_of(pointer, &bytes))
        return NULL;
    if (bytes_out)
        *bytes_out = bytes;
    return pointer;
}

void cuarena_torch_memory_fraction(double fraction, int device)
{
    cuarena_amount_t limit = {CUARENA_AMOUNT_PERCENT, 0, (uint64_t)(fraction * 100000.0 + 0.5)};
    cuarena_t *arena = torch_arena(device);
    if (arena)
        cuarena_set_limit(arena, CUARENA_LIMIT_RESERVED, limit, NULL);
}

/* Gives back what is free, also what streams still use, for which the caller waits then; while a
 * capture is under way only what is idle. The second call takes pages that only are free now that
 * what streams freed has joined what was idle. */
void cuarena_torch_empty_cache(void)
{
    for (int device = 0; device < TORCH_DEVICES; device++) {
        cuarena_t *arena = torch_arena_found(device);
        if (!arena)
            continue;
        cuarena_trim_on(arena, CUARENA_NO_STREAM, 0, NULL);
        cuarena_trim(arena, 0, NULL);
    }
}

/* ---- Figures ------------------------------------------------------------- */

/* The figures of a device, in the order of _torch.FIGURES; all 0 if it has no arena yet. */
int cuarena_torch_figures(int device, uint64_t *figures, size_t count)
{
    cuarena_t *arena = torch_arena_found(device);
    cuarena_stats_t stats;
    uint64_t limit = 0;
    memset(figures, 0, count * sizeof *figures);
    if (!arena)
        return CUARENA_OK;
    cuarena_stats_init(&stats);
    int status = cuarena_stats(arena, CUARENA_REGION_ALL, &stats);
    if (status == CUARENA_OK)
        status = cuarena_get_limit(arena, CUARENA_LIMIT_RESERVED, &limit);
    if (status != CUARENA_OK)
        return status;
    const device_t *d = &devices[device];
    const uint64_t all[] = {
        stats.reserved_bytes,
        stats.peak_reserved_bytes,
        stats.live_bytes,
        stats.peak_live_bytes,
        stats.requested_bytes,
        stats.peak_requested_bytes,
        stats.live_blocks,
        stats.peak_live_blocks,
        stats.allocs - d->allocs_before,
        stats.frees - d->frees_before,
        atomic_load(&d->bytes_ever) - d->bytes_before,
        stats.failed - d->failed_before,
        stats.segments,
        stats.grows,
        stats.trims,
        stats.free_bytes,
        stats.largest_bytes,
        stats.host_waits,
        stats.captured_bytes,
        stats.driver_calls,
        limit,
    };
    memcpy(figures, all,
           count * sizeof *figures < sizeof all ? count * sizeof *figures : sizeof all);
    return CUARENA_OK;
}

int cuarena_torch_reset_peaks(int device)
{
    cuarena_t *arena = torch_arena_found(device);
    return arena ? cuarena_reset_peaks(arena) : CUARENA_OK;
}

int cuarena_torch_reset_accumulated(int device)
{
    cuarena_t *arena = torch_arena_found(device);
    cuarena_stats_t stats;
    if (!arena)
        return CUARENA_OK;
    cuarena_stats_init(&stats);
    int status = cuarena_stats(arena, CUARENA_REGION_ALL, &stats);
    if (status != CUARENA_OK)
        return status;
    device_t *d = &devices[device];
    d->allocs_before = stats.allocs;
    d->frees_before = stats.frees;
    d->bytes_before = atomic_load(&d->bytes_ever);
    d->failed_before = stats.failed;
    return CUARENA_OK;
}
