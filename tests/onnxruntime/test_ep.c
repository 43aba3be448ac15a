/*
 * An execution provider that brings nothing but an allocator: an arena of host memory that says it
 * is a GPU's, so that the host's own allocators stay beside it. It claims no node.
 *
 * The arena has the options of the environment (ep_factory.cuarena_test.arena.KEY) and over them
 * those with which the allocator is asked for (arena.KEY): who replaces an allocator comes last.
 */
#include <string.h>

#include <cuarena.h>
#include <cuarena/onnxruntime.h>

#include "ort.h"

#define NAME "cuarena_test"
#define EP_CREATE_DEVICE 0
#define EP_ADD_ALLOCATOR 5
#define EP_ENV_ENTRIES 49
typedef ort_status_t *(*create_device_fn)(void *factory, const ort_hardware_t *,
                                          const ort_pairs_t *, const ort_pairs_t *,
                                          ort_ep_device_t **);
typedef ort_status_t *(*add_allocator_fn)(ort_ep_device_t *, const ort_memory_info_t *);
typedef ort_status_t *(*env_entries_fn)(ort_pairs_t **);

/* The begins of ONNX Runtime's tables; the rest is NULL: not offered. */
typedef struct factory {
    uint32_t version;
    const char *(*name)(const struct factory *);
    const char *(*vendor)(const struct factory *);
    ort_status_t *(*devices)(struct factory *, const ort_hardware_t *const *, size_t,
                             ort_ep_device_t **, size_t, size_t *);
    ort_status_t *(*create_ep)(struct factory *, const ort_hardware_t *const *,
                               const ort_pairs_t *const *, size_t, const ort_session_options_t *,
                               const void *logger, void **ep);
    void (*release_ep)(struct factory *, void *ep);
    uint32_t (*vendor_id)(const struct factory *);
    const char *(*library_version)(const struct factory *);
    void (*compatibility)(void);
    ort_status_t *(*create_allocator)(struct factory *, const ort_memory_info_t *,
                                      const ort_pairs_t *, ort_allocator_t **);
    void (*release_allocator)(struct factory *, ort_allocator_t *);
    ort_status_t *(*data_transfer)(struct factory *, void **);
    bool (*stream_aware)(const struct factory *);
    void (*rest[7 + 8])(void);
} factory_t;

typedef struct ep {
    uint32_t version;
    const char *(*name)(const struct ep *);
    ort_status_t *(*capability)(struct ep *, const void *graph, void *info);
    ort_status_t *(*compile)(struct ep *);
    void (*release_infos)(struct ep *);
    void (*rest[21 + 8])(void);
} ep_t;

static const ort_api_t *api;
static ort_memory_info_t *memory_info;

static ort_status_t *failed(void)
{
    return ORT(api, create_status)(1, cuarena_last_error());
}

/* ---- The allocator -------------------------------------------------------- */

typedef struct owned {
    ort_allocator_t *allocator;
    cuarena_t *arena;
} owned_t;
static owned_t all[16];

static cuarena_status_t set_options(cuarena_config_t *config, int32_t scope,
                                    const ort_pairs_t *pairs)
{
    const char *const *keys = NULL;
    const char *const *values = NULL;
    size_t count = 0;
    if (pairs == NULL)
        return CUARENA_OK;
    ORT(api, get_pairs)(pairs, &keys, &values, &count);
    return cuarena_config_from_scope(config, scope, NAME, keys, values, count, NULL);
}

static cuarena_status_t open_arena(const ort_pairs_t *options, cuarena_t **arena)
{
    cuarena_config_t config;
    ort_pairs_t *entries = NULL;
    cuarena_config_init(&config);
    cuarena_status_t status = cuarena_config_parse(&config, "preset=bfc, memory=pageable");
    ort_status_t *got = ((env_entries_fn)ORT(api, ep_api)()->functions[EP_ENV_ENTRIES])(&entries);
    if (got != NULL)
        ORT(api, release_status)(got);
    if (status == CUARENA_OK)
        status = set_options(&config, CUARENA_SCOPE_ENVIRONMENT, entries);
    if (status == CUARENA_OK)
        status = set_options(&config, CUARENA_SCOPE_BARE, options);
    if (entries != NULL)
        ORT(api, release_pairs)(entries);
    return status == CUARENA_OK ? cuarena_create(&config, arena) : status;
}

static ort_status_t *create_allocator(factory_t *self, const ort_memory_info_t *info,
                                      const ort_pairs_t *options, ort_allocator_t **out)
{
    (void)self;
    size_t at = 0;
    while (at < 16 && all[at].allocator != NULL)
        at++;
    if (at == 16)
        return ORT(api, create_status)(1, "16 allocators live");
    if (open_arena(options, &all[at].arena) != CUARENA_OK ||
        cuarena_ort_allocator_create(all[at].arena, (const struct OrtApi *)api, info, 0,
                                     &all[at].allocator) != CUARENA_OK)
        return failed();
    *out = all[at].allocator;
    return NULL;
}

static void release_allocator(factory_t *self, ort_allocator_t *allocator)
{
    (void)self;
    for (size_t i = 0; i < 16; i++) {
        if (all[i].allocator != allocator)
            continue;
        cuarena_ort_allocator_destroy(&all[i].allocator);
        cuarena_destroy_forced(&all[i].arena);
    }
}

/* ---- The provider --------------------------------------------------------- */

static const char *factory_name(const factory_t *self)
{
    (void)self;
    return NAME;
}

static uint32_t vendor_id(const factory_t *self)
{
    (void)self;
    return 0x7777;
}

static const char *library_version(const factory_t *self)
{
    (void)self;
    return "1.0.0";
}

static ort_status_t *devices(factory_t *self, const ort_hardware_t *const *hardware, size_t count,
                             ort_ep_device_t **out, size_t capacity, size_t *count_out)
{
    const ort_api_t *ep_api = ORT(api, ep_api)();
    *count_out = 0;
    for (size_t i = 0; i < count && *count_out == 0 && capacity > 0; i++) {
        if (ORT(api, hardware_type)(hardware[i]) != ORT_HARDWARE_CPU)
            continue;
        ort_status_t *status = ((create_device_fn)ep_api->functions[EP_CREATE_DEVICE])(
            self, hardware[i], NULL, NULL, &out[0]);
        if (status == NULL)
            status = ((add_allocator_fn)ep_api->functions[EP_ADD_ALLOCATOR])(out[0], memory_info);
        if (status != NULL)
            return status;
        *count_out = 1;
    }
    return NULL;
}

static const char *ep_name(const ep_t *self)
{
    (void)self;
    return NAME;
}

static ort_status_t *capability(ep_t *self, const void *graph, void *info)
{
    (void)self;
    (void)graph;
    (void)info;
    return NULL;
}

static ort_status_t *compile(ep_t *self)
{
    (void)self;
    return ORT(api, create_status)(1, "this provider claims no node");
}

static void release_infos(ep_t *self)
{
    (void)self;
}

static ep_t provider = {
    .version = CUARENA_ORT_API_VERSION,
    .name = ep_name,
    .capability = capability,
    .compile = compile,
    .release_infos = release_infos,
};

static ort_status_t *create_ep(factory_t *self, const ort_hardware_t *const *hardware,
                               const ort_pairs_t *const *pairs, size_t count,
                               const ort_session_options_t *options, const void *logger, void **ep)
{
    (void)self;
    (void)hardware;
    (void)pairs;
    (void)count;
    (void)options;
    (void)logger;
    *ep = &provider;
    return NULL;
}

static void release_ep(factory_t *self, void *ep)
{
    (void)self;
    (void)ep;
}

static ort_status_t *data_transfer(factory_t *self, void **out)
{
    (void)self;
    *out = NULL;
    return NULL;
}

static bool stream_aware(const factory_t *self)
{
    (void)self;
    return false;
}

static factory_t factory = {
    .version = CUARENA_ORT_API_VERSION,
    .name = factory_name,
    .vendor = factory_name,
    .devices = devices,
    .create_ep = create_ep,
    .release_ep = release_ep,
    .vendor_id = vendor_id,
    .library_version = library_version,
    .create_allocator = create_allocator,
    .release_allocator = release_allocator,
    .data_transfer = data_transfer,
    .stream_aware = stream_aware,
};

CUARENA_API ort_status_t *CreateEpFactories(const char *name, const ort_api_base_t *base,
                                            const void *logger, factory_t **out, size_t capacity,
                                            size_t *count_out);
CUARENA_API ort_status_t *ReleaseEpFactory(factory_t *self);

ort_status_t *CreateEpFactories(const char *name, const ort_api_base_t *base, const void *logger,
                                factory_t **out, size_t capacity, size_t *count_out)
{
    (void)name;
    (void)logger;
    (void)capacity;
    api = base->get_api(CUARENA_ORT_API_VERSION);
    ort_status_t *status = ORT(api, create_memory_info_2)(
        NAME, ORT_DEVICE_GPU, 0x7777, 0, ORT_MEMORY_DEFAULT, 0, ORT_DEVICE_ALLOCATOR, &memory_info);
    out[0] = &factory;
    *count_out = 1;
    return status;
}

ort_status_t *ReleaseEpFactory(factory_t *self)
{
    (void)self;
    ORT(api, release_memory_info)(memory_info);
    return NULL;
}
