/*
 * Which values of options go together: each is legal by itself, which
 * options.c has seen to. What depends on the device is found out when the
 * memory is opened.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/config.h"
#include "api/options.h"
#include "base/bits.h"
#include "base/error.h"

/* Sets of memories. */
#define OF(memory) (1u << CUARENA_MEMORY_##memory)
#define CUDA (OF(DEVICE) | OF(MANAGED) | OF(PINNED))

/* What an option other than its default is for. */
typedef struct rule {
    const char *key;
    uint32_t memories;
    const char *accepted;
} rule_t;

static const rule_t rules[] = {
    {"device", CUDA | OF(BYTES), "memory=device, managed, pinned, or bytes"},
    {"backing", OF(DEVICE), "memory=device"},
    {"handle", OF(DEVICE) | OF(NONE), "memory=device, none"},
    {"mapped", OF(PINNED), "memory=pinned"},
    {"write_combined", OF(PINNED), "memory=pinned"},
    {"portable", OF(PINNED), "memory=pinned"},
    {"device_only",
     OF(PAGEABLE) | OF(MANAGED) | OF(PINNED) | OF(BYTES) | OF(CUSTOM),
     "memory=pageable, managed, pinned, bytes, or custom"},
};

/* Properties: "try" is legal everywhere. */
static const rule_t requirements[] = {
    {"fd", OF(DEVICE), "memory=device"},
    {"rdma", OF(DEVICE), "memory=device"},
    {"fabric", OF(DEVICE), "memory=device"},
    {"peers", CUDA, "memory=device, managed, pinned"},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool is_of(uint32_t memories, const cuarena_config_t *full)
{
    return (memories >> full->memory & 1) != 0;
}

static const char *memory_name(int32_t memory)
{
    static const char *const names[] = {
        [CUARENA_MEMORY_PAGEABLE] = "pageable",
        [CUARENA_MEMORY_NONE] = "none",
        [CUARENA_MEMORY_DEVICE] = "device",
        [CUARENA_MEMORY_MANAGED] = "managed",
        [CUARENA_MEMORY_PINNED] = "pinned",
        [CUARENA_MEMORY_BYTES] = "bytes",
        [CUARENA_MEMORY_CUSTOM] = "custom",
    };
    return names[memory];
}

static cuarena_status_t refuse(cuarena_status_t status, const rule_t *rule,
                               const cuarena_config_t *full)
{
    char text[CUAI_OPTION_TEXT_SIZE];
    (void)cuai_option_print(cuai_option_find(rule->key), full, text);
    return cuai_fail(status, "%s: '%s' with memory=%s; accepted: with %s",
                     rule->key, text, memory_name(full->memory),
                     rule->accepted);
}

static bool is_default(const char *key, const cuarena_config_t *full)
{
    const cuai_option_t *option = cuai_option_find(key);
    char text[CUAI_OPTION_TEXT_SIZE];
    (void)cuai_option_print(option, full, text);
    return strcmp(text, option->fallback) == 0;
}

static bool is_required(const char *key, const cuarena_config_t *full)
{
    char text[CUAI_OPTION_TEXT_SIZE];
    (void)cuai_option_print(cuai_option_find(key), full, text);
    return strcmp(text, "require") == 0;
}

static cuarena_status_t check_memory(const cuarena_config_t *full)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (!is_of(rules[i].memories, full) && !is_default(rules[i].key, full))
            return refuse(CUARENA_BAD_ARGUMENT, &rules[i], full);
    for (size_t i = 0; i < COUNT_OF(requirements); i++)
        if (!is_of(requirements[i].memories, full) &&
            is_required(requirements[i].key, full))
            return refuse(CUARENA_UNSUPPORTED, &requirements[i], full);
    return CUARENA_OK;
}

/* Members that have no text. */
static cuarena_status_t check_members(const cuarena_config_t *full)
{
    if (full->bytes_kind < CUARENA_BYTES_HOST ||
        full->bytes_kind > CUARENA_BYTES_PINNED)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "bytes_kind: %" PRId32
                         "; accepted: a CUARENA_BYTES_...",
                         full->bytes_kind);
    if (full->bytes_kind != CUARENA_BYTES_HOST && !is_of(OF(BYTES), full))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "bytes_kind: %" PRId32
                         " with memory=%s; accepted: with memory=bytes",
                         full->bytes_kind, memory_name(full->memory));
    if (full->context != NULL && !is_of(CUDA | OF(BYTES), full))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "context: %p with memory=%s; accepted: with %s",
                         full->context, memory_name(full->memory),
                         rules[0].accepted);
    if (full->context != NULL && full->device != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "device: %" PRId32
                         " beside a context, which has its own; accepted: 0",
                         full->device);
    return CUARENA_OK;
}

/* What the backings that were asked for by name cannot have. */
static cuarena_status_t check_backing(const cuarena_config_t *full)
{
    bool plain = full->backing == CUARENA_BACKING_MALLOC ||
                 full->backing == CUARENA_BACKING_ASYNC;
    const char *name =
        full->backing == CUARENA_BACKING_ASYNC ? "async" : "malloc";
    static const char *const keys[] = {"fd", "fabric", "peers", "rdma"};
    for (size_t i = 0; plain && i < COUNT_OF(keys); i++) {
        bool can = strcmp(keys[i], full->backing == CUARENA_BACKING_MALLOC
                                       ? "rdma"
                                       : "peers") == 0;
        if (!can && is_required(keys[i], full))
            return cuai_fail(CUARENA_UNSUPPORTED,
                             "%s: 'require' with backing=%s; accepted: with "
                             "backing=vmm",
                             keys[i], name);
    }
    if (plain && full->handle_bytes != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "handle: %" PRIu64
                         " with backing=%s; accepted: with backing=vmm",
                         full->handle_bytes, name);
    if (full->handle_bytes != 0 && full->handle_bytes < full->alignment)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "handle: %" PRIu64
                         "; accepted: from the alignment %" PRIu64 " on",
                         full->handle_bytes, full->alignment);
    return CUARENA_OK;
}

/* Of a driver's pool, which only one backing has. */
static cuarena_status_t check_pool_options(const cuarena_config_t *full)
{
    static const char *const keys[] = {"driver_pool",     "driver_pool_handle",
                                       "driver_pool_max", "release_threshold",
                                       "make_current",    "threshold_limits"};
    bool pooled =
        is_of(OF(DEVICE), full) && full->backing == CUARENA_BACKING_ASYNC;
    for (size_t i = 0; !pooled && i < COUNT_OF(keys); i++) {
        char text[CUAI_OPTION_TEXT_SIZE];
        if (is_default(keys[i], full))
            continue;
        (void)cuai_option_print(cuai_option_find(keys[i]), full, text);
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "%s: '%s' without a driver's pool; accepted: with "
                         "memory=device and backing=async, which "
                         "preset=driver-pool sets",
                         keys[i], text);
    }
    return CUARENA_OK;
}

static cuarena_status_t check_pool(const cuarena_config_t *full)
{
    bool external = full->driver_pool == CUARENA_DRIVER_POOL_EXTERNAL;
    if (external != (full->driver_pool_handle != 0))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "driver_pool_handle: %" PRIu64
                         "; accepted: a CUmemoryPool with "
                         "driver_pool=external, 0 without",
                         full->driver_pool_handle);
    if (full->driver_pool_max != 0 &&
        full->driver_pool != CUARENA_DRIVER_POOL_OWN)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "driver_pool_max: %" PRIu64
                         " of a pool that others made; accepted: with "
                         "driver_pool=own",
                         full->driver_pool_max);
    return check_pool_options(full);
}

/* Blocks that are segments of their own leave nothing for the regions. */
static cuarena_status_t check_segments(const cuarena_config_t *full)
{
    if (full->segments != CUARENA_SEGMENTS_EACH)
        return CUARENA_OK;
    if (full->grow == CUARENA_GROW_NONE)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "segments: 'each' with an arena that does not grow; "
                         "accepted: with grow=exact, doubling");
    const cuarena_amount_t *stable = &full->stable;
    if (stable->unit != CUARENA_AMOUNT_BYTES || stable->value != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "segments: 'each' with a stable region; accepted: "
                         "with stable=0");
    if (full->take_first != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "segments: 'each' with take_first=1; accepted: with "
                         "take_first=0");
    return CUARENA_OK;
}

/* A pool takes all it has when it is made. */
static cuarena_status_t check_growth(const cuarena_config_t *full)
{
    if (full->grow != CUARENA_GROW_NONE || full->take_first == 0)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "take_first: '1' with an arena that does not grow; "
                     "accepted: 0, or preset=grow, bfc");
}

/* A pool gives nothing back on its own. */
static cuarena_status_t check_keep(const cuarena_config_t *full)
{
    if (full->keep == CUARENA_KEEP_NONE && full->grow == CUARENA_GROW_NONE)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "keep: 'none' with an arena that does not grow; "
                         "accepted: all, cache, or grow=exact, doubling");
    if (full->keep == CUARENA_KEEP_CACHE || is_default("cache_limit", full))
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "cache_limit: without a cache; accepted: with keep=cache");
}

cuarena_status_t cuai_check_together(const cuarena_config_t *full)
{
    cuarena_status_t status = check_members(full);
    if (status == CUARENA_OK)
        status = check_growth(full);
    if (status == CUARENA_OK)
        status = check_segments(full);
    if (status == CUARENA_OK)
        status = check_keep(full);
    if (status == CUARENA_OK)
        status = check_memory(full);
    if (status == CUARENA_OK)
        status = check_pool(full);
    return status == CUARENA_OK ? check_backing(full) : status;
}
