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
#include <stdio.h>

#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
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

typedef struct allocator {
    struct OrtAllocator table; /* first: what ONNX Runtime has is a pointer to it */
    const struct OrtApi *api;
    const struct OrtMemoryInfo *memory_info;
    cuarena_t *arena;
    uint64_t keep_bytes; /* what a Shrink leaves */
} allocator_t;

static ort_status_t *ort_status(const struct OrtApi *api, cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return NULL;
    return ((ort_create_status_fn)api->functions[ORT_CREATE_STATUS])(ORT_FAIL,
                                                                     cuarena_last_error());
}

typedef void (*throw_fn)(const char *message);

/* std::__throw_runtime_error of the process, also where the library was not opened for all. */
static throw_fn find_throw(void)
{
    static const char name[] = "_ZSt21__throw_runtime_errorPKc";
    void *found = dlsym(RTLD_DEFAULT, name);
    if (found == NULL) {
        void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD);
        found = library == NULL ? NULL : dlsym(library, name);
    }
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

static void *ort_alloc(struct OrtAllocator *self, size_t bytes)
{
    void *pointer = NULL;
    cuarena_status_t status = cuarena_alloc(((allocator_t *)self)->arena, bytes, &pointer);
    return answer(status, bytes, pointer);
}

static void *ort_reserve(struct OrtAllocator *self, size_t bytes)
{
    void *pointer = NULL;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    cuarena_status_t status =
        cuarena_alloc_with(((allocator_t *)self)->arena, bytes, &request, &pointer);
    return answer(status, bytes, pointer);
}

static void *ort_alloc_on_stream(struct OrtAllocator *self, size_t bytes, ort_stream_t *stream)
{
    const allocator_t *allocator = (allocator_t *)self;
    if (stream == NULL)
        return ort_alloc(self, bytes);
    void *handle = ((ort_stream_handle_fn)allocator->api->functions[ORT_STREAM_HANDLE])(stream);
    void *pointer = NULL;
    cuarena_status_t status =
        cuarena_alloc_on(allocator->arena, bytes, (cuarena_stream_t)handle, NULL, &pointer);
    return answer(status, bytes, pointer);
}

/* A failure is in the log: ONNX Runtime has no place for it. */
static void ort_free(struct OrtAllocator *self, void *pointer)
{
    cuarena_t *arena = ((allocator_t *)self)->arena;
    cuarena_stream_t stream = CUARENA_NO_STREAM;
    if (pointer != NULL && cuarena_stream_of(arena, pointer, &stream) == CUARENA_OK)
        cuarena_free_on(arena, pointer, stream);
}

static const struct OrtMemoryInfo *ort_info(const struct OrtAllocator *self)
{
    return ((const allocator_t *)self)->memory_info;
}

typedef struct pairs {
    const struct OrtApi *api;
    ort_pairs_t *pairs;
} pairs_t;

static void add_pair(void *user, const char *key, const char *value)
{
    const pairs_t *to = user;
    ((ort_add_pair_fn)to->api->functions[ORT_ADD_PAIR])(to->pairs, key, value);
}

/* The pairs are made first: where the arena has no figures the caller gets none of them. */
static ort_status_t *ort_get_stats(const struct OrtAllocator *self, ort_pairs_t **pairs_out)
{
    const allocator_t *allocator = (const allocator_t *)self;
    pairs_t to = {allocator->api, NULL};
    ((ort_create_pairs_fn)to.api->functions[ORT_CREATE_PAIRS])(&to.pairs);
    *pairs_out = to.pairs;
    return ort_status(to.api,
                      cuarena_stats_pairs(allocator->arena, CUARENA_TEXT_ORT, add_pair, &to));
}

static ort_status_t *ort_shrink(struct OrtAllocator *self)
{
    const allocator_t *allocator = (allocator_t *)self;
    return ort_status(allocator->api, cuarena_trim(allocator->arena, allocator->keep_bytes, NULL));
}

/* ---- Made and ended ------------------------------------------------------- */

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
    cuai_host_free(*allocator);
    *allocator = NULL;
    return CUARENA_OK;
}
