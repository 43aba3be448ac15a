/*
 * An arena behind ONNX Runtime's table of an allocator.
 *
 * A request that fails leaves by a C++ exception, since ONNX Runtime does not look at NULL. It is
 * thrown last, with nothing held: the frames of C that it passes have nothing to end. Compilers
 * write the tables that this needs for every function on the systems that have them by their ABI;
 * elsewhere the process ends, as it would at the NULL.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/error.h"
#include "base/host.h"
#include "base/lock.h"
#include "base/log.h"
#include "cuarena/device.h"
#include "cuarena/onnxruntime.h"
#include "cuarena/streams.h"

/* ---- What is used of ONNX Runtime ----------------------------------------- */

typedef struct OrtStatus ort_status_t;
typedef struct OrtKeyValuePairs ort_pairs_t;
typedef struct OrtSyncStream ort_stream_t;

struct OrtAllocator {
    uint32_t version;
    void *(*alloc)(struct OrtAllocator *self, size_t bytes);
    void (*free)(struct OrtAllocator *self, void *pointer);
    const struct OrtMemoryInfo *(*info)(const struct OrtAllocator *self);
    void *(*reserve)(struct OrtAllocator *self, size_t bytes);
    ort_status_t *(*get_stats)(const struct OrtAllocator *self, ort_pairs_t **pairs_out);
    void *(*alloc_on_stream)(struct OrtAllocator *self, size_t bytes, ort_stream_t *stream);
    ort_status_t *(*shrink)(struct OrtAllocator *self);
};

/* The table of functions, by their numbers in it: functions are only added at its end. */
#define ORT_CREATE_STATUS 0
#define ORT_CREATE_PAIRS 295
#define ORT_ADD_PAIR 296
#define ORT_STREAM_HANDLE 384
struct OrtApi {
    void (*functions[ORT_STREAM_HANDLE + 1])(void);
};
typedef ort_status_t *(*ort_create_status_fn)(int code, const char *message);
typedef void (*ort_create_pairs_fn)(ort_pairs_t **pairs_out);
typedef void (*ort_add_pair_fn)(ort_pairs_t *pairs, const char *key, const char *value);
typedef void *(*ort_stream_handle_fn)(ort_stream_t *stream);

#define ORT_FAIL 1 /* a code of a status */

/* ---- The allocator -------------------------------------------------------- */

/* A block whose free was refused, for a capture, and is tried again. */
typedef struct owed {
    struct owed *next;
    void *pointer;
} owed_t;

typedef struct allocator {
    struct OrtAllocator table; /* first: what ONNX Runtime has is a pointer to it */
    const struct OrtApi *api;
    const struct OrtMemoryInfo *memory_info;
    cuarena_t *arena;
    uint64_t keep_bytes;      /* what a Shrink leaves */
    uint64_t least_dedicated; /* a Reserve of less is a block among others */
    cuai_lock_t lock;         /* of the list */
    _Atomic(owed_t *) owed;
} allocator_t;

static ort_status_t *ort_status(const struct OrtApi *api, cuarena_status_t status)
{
    CUAI_ASSERT(api != NULL);
    if (status == CUARENA_OK)
        return NULL;
    return ((ort_create_status_fn)api->functions[ORT_CREATE_STATUS])(ORT_FAIL,
                                                                     cuarena_last_error());
}

typedef void (*throw_fn)(const char *message);

/* std::__throw_runtime_error of the process by the name that a C++ library gives it, also where the
 * library was not opened for all. */
static void *find_in(const char *file, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    void *library = found == NULL ? dlopen(file, RTLD_NOW | RTLD_NOLOAD) : NULL;
    return library == NULL ? found : dlsym(library, name);
}

static throw_fn find_throw(void)
{
    void *found = find_in("libstdc++.so.6", "_ZSt21__throw_runtime_errorPKc");
    if (found == NULL)
        found = find_in("libc++.so.1", "_ZNSt3__121__throw_runtime_errorEPKc");
    throw_fn function = NULL;
    if (found != NULL)
        *(void **)&function = found;
    return function;
}

/* Does not return where the process has a C++ library. */
static void *refuse(size_t bytes)
{
    char message[640];
    throw_fn throw = find_throw();
    snprintf(message, sizeof message, "cuarena has no %zu bytes: %s", bytes, cuarena_last_error());
    if (throw != NULL)
        throw(message);
    return NULL;
}

static void *answer(cuarena_status_t status, size_t bytes, void *pointer)
{
    return status == CUARENA_OK ? pointer : refuse(bytes);
}

/* ---- Frees that were refused ---------------------------------------------- */

static void owe(allocator_t *allocator, owed_t *owed)
{
    CUAI_ASSERT(owed->pointer != NULL);
    cuai_lock(&allocator->lock);
    owed->next = atomic_load(&allocator->owed);
    atomic_store(&allocator->owed, owed);
    cuai_unlock(&allocator->lock);
}

static owed_t *take_owed(allocator_t *allocator)
{
    cuai_lock(&allocator->lock);
    owed_t *all = atomic_load(&allocator->owed);
    atomic_store(&allocator->owed, NULL);
    cuai_unlock(&allocator->lock);
    return all;
}

/* Tries the refused frees again. One that fails for another reason is in the log. */
static void free_owed(allocator_t *allocator)
{
    owed_t *owed = take_owed(allocator);
    while (owed != NULL) {
        owed_t *next = owed->next;
        if (cuarena_free_own(allocator->arena, owed->pointer) == CUARENA_BUSY)
            owe(allocator, owed);
        else
            cuai_host_free(owed);
        owed = next;
    }
}

/* Finds the allocator of a table, and tries frees again that were refused. Each entry begins with
 * it. */
static allocator_t *enter(struct OrtAllocator *self)
{
    allocator_t *allocator = (allocator_t *)self;
    if (CUAI_UNLIKELY(atomic_load_explicit(&allocator->owed, memory_order_relaxed) != NULL))
        free_owed(allocator);
    return allocator;
}

/* ---- The table ------------------------------------------------------------ */

static void *ort_alloc(struct OrtAllocator *self, size_t bytes)
{
    void *pointer = NULL;
    cuarena_status_t status = cuarena_alloc(enter(self)->arena, bytes, &pointer);
    return answer(status, bytes, pointer);
}

/* A model may have thousands of small weights, each reserved by itself: a segment for each would
 * be mostly empty. */
static void *ort_reserve(struct OrtAllocator *self, size_t bytes)
{
    const allocator_t *allocator = enter(self);
    void *pointer = NULL;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = bytes >= allocator->least_dedicated;
    request.alignment = 256; /* kernels count on what a page of its own would give them */
    cuarena_status_t status = cuarena_alloc_with(allocator->arena, bytes, &request, &pointer);
    return answer(status, bytes, pointer);
}

static void *ort_alloc_on_stream(struct OrtAllocator *self, size_t bytes, ort_stream_t *stream)
{
    const allocator_t *allocator = enter(self);
    if (stream == NULL)
        return ort_alloc(self, bytes);
    void *handle = ((ort_stream_handle_fn)allocator->api->functions[ORT_STREAM_HANDLE])(stream);
    void *pointer = NULL;
    cuarena_status_t status =
        cuarena_alloc_on(allocator->arena, bytes, (cuarena_stream_t)handle, NULL, &pointer);
    return answer(status, bytes, pointer);
}

/* A failure is in the log: ONNX Runtime has no place for it, and does not free twice. */
static void ort_free(struct OrtAllocator *self, void *pointer)
{
    allocator_t *allocator = enter(self);
    cuarena_stream_t stream = CUARENA_NO_STREAM;
    if (pointer == NULL || cuarena_stream_of(allocator->arena, pointer, &stream) != CUARENA_OK)
        return;
    cuarena_status_t status = stream == CUARENA_NO_STREAM /* which it stays */
                                  ? cuarena_free(allocator->arena, pointer)
                                  : cuarena_free_own(allocator->arena, pointer);
    if (status != CUARENA_BUSY)
        return;
    owed_t *owed = cuai_host_alloc(sizeof *owed);
    if (owed == NULL)
        return;
    owed->pointer = pointer;
    owe(allocator, owed);
}

static const struct OrtMemoryInfo *ort_info(const struct OrtAllocator *self)
{
    return ((const allocator_t *)self)->memory_info;
}

/* Figures in words, before ONNX Runtime's pairs are made of them. */
#define MOST_FIGURES 24
typedef struct figures {
    struct {
        char key[32];
        char value[24];
    } list[MOST_FIGURES];
    size_t count;
} figures_t;

static void add_figure(void *user, const char *key, const char *value)
{
    figures_t *figures = user;
    CUAI_ASSERT(figures->count < MOST_FIGURES);
    snprintf(figures->list[figures->count].key, sizeof figures->list[0].key, "%s", key);
    snprintf(figures->list[figures->count].value, sizeof figures->list[0].value, "%s", value);
    figures->count++;
}

static ort_pairs_t *make_pairs(const struct OrtApi *api, const figures_t *figures)
{
    ort_pairs_t *pairs = NULL;
    ((ort_create_pairs_fn)api->functions[ORT_CREATE_PAIRS])(&pairs);
    for (size_t i = 0; i < figures->count; i++)
        ((ort_add_pair_fn)api->functions[ORT_ADD_PAIR])(pairs, figures->list[i].key,
                                                        figures->list[i].value);
    return pairs;
}

static ort_status_t *ort_get_stats(const struct OrtAllocator *self, ort_pairs_t **pairs_out)
{
    const allocator_t *allocator = (const allocator_t *)self;
    figures_t figures = {.count = 0};
    if (pairs_out == NULL)
        return ort_status(allocator->api, cuai_null("the place for the pairs"));
    cuarena_status_t status =
        cuarena_stats_pairs(allocator->arena, CUARENA_TEXT_ORT, add_figure, &figures);
    if (status == CUARENA_OK)
        *pairs_out = make_pairs(allocator->api, &figures);
    return ort_status(allocator->api, status);
}

static ort_status_t *ort_shrink(struct OrtAllocator *self)
{
    const allocator_t *allocator = enter(self);
    return ort_status(allocator->api, cuarena_trim(allocator->arena, allocator->keep_bytes, NULL));
}

/* ---- Made and ended ------------------------------------------------------- */

/* Half of what the memory gives at least: a segment is then never more than twice as long. */
static uint64_t least_dedicated(cuarena_t *arena)
{
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    (void)cuarena_properties(arena, &properties);
    return properties.granularity / 2;
}

cuarena_status_t cuarena_ort_allocator_create(cuarena_t *arena, const struct OrtApi *api,
                                              const struct OrtMemoryInfo *info, uint64_t keep_bytes,
                                              struct OrtAllocator **allocator_out)
{
    if (arena == NULL || api == NULL)
        return cuai_null(arena == NULL ? "arena" : "api");
    if (info == NULL || allocator_out == NULL)
        return cuai_null(info == NULL ? "info" : "allocator_out");
    allocator_t *allocator = cuai_host_alloc(sizeof *allocator);
    if (allocator == NULL)
        return cuai_told(cuai_fail(CUARENA_OUT_OF_MEMORY,
                                   "no memory of the host for an allocator of ONNX Runtime"));
    *allocator = (allocator_t){
        .table =
            {
                .version = CUARENA_ORT_API_VERSION,
                .alloc = ort_alloc,
                .free = ort_free,
                .info = ort_info,
                .reserve = ort_reserve,
                .get_stats = ort_get_stats,
                .alloc_on_stream = ort_alloc_on_stream,
                .shrink = ort_shrink,
            },
        .api = api,
        .memory_info = info,
        .arena = arena,
        .keep_bytes = keep_bytes,
        .least_dedicated = least_dedicated(arena),
        .lock = CUAI_LOCK_INIT,
    };
    *allocator_out = &allocator->table;
    return CUARENA_OK;
}

cuarena_status_t cuarena_ort_allocator_destroy(struct OrtAllocator **allocator)
{
    if (allocator == NULL || *allocator == NULL)
        return CUARENA_OK;
    if ((*allocator)->alloc != ort_alloc)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT,
                                   "allocator %p; accepted: one of cuarena_ort_allocator_create",
                                   (void *)*allocator));
    allocator_t *ended = enter(*allocator);
    for (owed_t *owed = take_owed(ended); owed != NULL;) {
        owed_t *next = owed->next;
        cuai_log(CUARENA_LOG_WARN, "%p was freed while a capture went on, and is not free",
                 owed->pointer);
        cuai_host_free(owed);
        owed = next;
    }
    cuai_host_free(ended);
    *allocator = NULL;
    return CUARENA_OK;
}
