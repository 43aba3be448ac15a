/*
 * Which values of options go together. Each is legal by itself, which values.c has checked; what
 * depends on the device is checked when the memory is opened.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/config.h"
#include "api/options.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/log.h"
#include "base/stack.h"

/* Sets of memories, a bit for each. */
#define OF(memory) (1u << CUARENA_MEMORY_##memory)
#define CUDA (OF(DEVICE) | OF(MANAGED) | OF(PINNED))

/* ---- Where an option is of use ----------------------------------------- */

static bool grows(const cuarena_config_t *full)
{
    CUAI_ASSERT(full->grow != -1);
    return full->grow != CUARENA_GROW_NONE;
}

static bool is_fixed(const cuarena_config_t *full)
{
    return !grows(full);
}

static bool doubles(const cuarena_config_t *full)
{
    return full->grow == CUARENA_GROW_DOUBLING;
}

static bool cuts_segments(const cuarena_config_t *full)
{
    CUAI_ASSERT(full->segments != -1);
    return full->segments == CUARENA_SEGMENTS_SHARED;
}

/* Bytes are taken later, and blocks are cut from them. */
static bool may_take_first(const cuarena_config_t *full)
{
    return grows(full) && cuts_segments(full);
}

static bool has_chunks(const cuarena_config_t *full)
{
    return doubles(full) || (full->take_first != 0 && may_take_first(full));
}

static bool lengthens_segments(const cuarena_config_t *full)
{
    CUAI_ASSERT(full->in_place != -1);
    return cuts_segments(full) && full->in_place != 0 && full->backing != CUARENA_BACKING_MALLOC &&
           full->backing != CUARENA_BACKING_ASYNC;
}

static bool takes_pages(const cuarena_config_t *full)
{
    CUAI_ASSERT(full->grow != -1);
    return lengthens_segments(full) && full->grow == CUARENA_GROW_EXACT;
}

static bool caches(const cuarena_config_t *full)
{
    CUAI_ASSERT(full->keep != -1);
    return full->keep == CUARENA_KEEP_CACHE;
}

static bool stores_or_caches(const cuarena_config_t *full)
{
    CUAI_ASSERT(full->soft_limit_rule != -1);
    return full->soft_limit_rule == CUARENA_SOFT_STORE || caches(full);
}

static bool is_pooled(const cuarena_config_t *full)
{
    return full->backing == CUARENA_BACKING_ASYNC;
}

static bool is_of_a_device(const cuarena_config_t *full)
{
    return full->memory != CUARENA_MEMORY_BYTES || full->bytes_kind != CUARENA_BYTES_HOST;
}

static bool is_touched(const cuarena_config_t *full)
{
    return full->memory != CUARENA_MEMORY_BYTES || full->bytes_kind != CUARENA_BYTES_DEVICE;
}

/* An option is of use with these memories alone and, if `use` is not NULL, only where that holds;
 * elsewhere its value decides nothing. */
typedef struct rule {
    const char *key;
    uint32_t memories;
    bool (*use)(const cuarena_config_t *full);
    const char *accepted;
} rule_t;

#define ALL UINT32_MAX
#define WITH_BYTES (ALL & ~OF(NONE))
#define FIXED "grow=none, which preset=pool sets; an arena that grows has a limit"
#define SHARED "segments=shared"
#define POOLED "memory=device and backing=async, which preset=driver-pool sets"

static const rule_t rules[] = {
    {"device", CUDA | OF(BYTES), is_of_a_device,
     "memory=device, managed, pinned, or bytes of these"},
    {"backing", OF(DEVICE), NULL, "memory=device"},
    {"handle", OF(DEVICE) | OF(NONE), NULL, "memory=device, none"},
    {"mapped", OF(PINNED), NULL, "memory=pinned"},
    {"write_combined", OF(PINNED), NULL, "memory=pinned"},
    {"portable", OF(PINNED), NULL, "memory=pinned"},
    {"device_only", OF(PAGEABLE) | OF(MANAGED) | OF(PINNED) | OF(BYTES) | OF(CUSTOM), is_touched,
     "memory=pageable, managed, pinned, custom, or bytes of these"},
    {"pool", ALL, is_fixed, FIXED},
    {"take_first", ALL, may_take_first, "preset=grow, bfc, and segments=shared"},
    {"initial_chunk", ALL, has_chunks, "grow=doubling or take_first=1"},
    {"growth_after_trim", ALL, doubles, "grow=doubling"},
    {"max_doubling", ALL, doubles, "grow=doubling"},
    {"addresses", OF(PAGEABLE) | OF(NONE) | OF(DEVICE) | OF(CUSTOM), lengthens_segments,
     "memory=pageable, none, device with backing=vmm, or custom, with "
     "segments=shared and in_place=1"},
    {"split_threshold", ALL, cuts_segments, SHARED},
    {"placement", ALL, cuts_segments, SHARED},
    {"steal", ALL, cuts_segments, SHARED},
    {"events", ALL, cuts_segments, SHARED},
    {"in_place", ALL, cuts_segments, SHARED},
    {"reuse", OF(PAGEABLE) | OF(NONE) | OF(DEVICE) | OF(CUSTOM), takes_pages,
     "memory=pageable, none, device with backing=vmm, or custom, with grow=exact, "
     "segments=shared and in_place=1"},
    {"compact_on_oom", ALL, cuts_segments, SHARED},
    {"cache_limit", ALL, caches, "keep=cache"},
    {"cache_bound", ALL, caches, "keep=cache"},
    {"cache_page", ALL, caches, "keep=cache"},
    {"soft_limit_rule", ALL, stores_or_caches, "keep=cache"},
    {"guard", WITH_BYTES, NULL, "any memory but none"},
    {"fill", WITH_BYTES, NULL, "any memory but none"},
    {"quarantine", WITH_BYTES, NULL, "any memory but none"},
    {"driver_pool", OF(DEVICE), is_pooled, POOLED},
    {"driver_pool_handle", OF(DEVICE), is_pooled, POOLED},
    {"driver_pool_max", OF(DEVICE), is_pooled, POOLED},
    {"release_threshold", OF(DEVICE), is_pooled, POOLED},
    {"make_current", OF(DEVICE), is_pooled, POOLED},
    {"threshold_limits", OF(DEVICE), is_pooled, POOLED},
};

/* Where properties may be "require"; "try" is legal everywhere. */
static const struct {
    const char *key;
    uint32_t memories;
    const char *accepted;
} requirements[] = {
    {"fd", OF(DEVICE), "memory=device"},
    {"rdma", OF(DEVICE), "memory=device"},
    {"fabric", OF(DEVICE), "memory=device"},
    {"peers", CUDA, "memory=device, managed, pinned"},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool is_of(uint32_t memories, const cuarena_config_t *full)
{
    CUAI_ASSERT(full->memory >= CUARENA_MEMORY_PAGEABLE && full->memory <= CUARENA_MEMORY_CUSTOM);
    return (memories >> full->memory & 1) != 0;
}

static const char *memory_name(int32_t memory)
{
    CUAI_ASSERT(memory >= CUARENA_MEMORY_PAGEABLE && memory <= CUARENA_MEMORY_CUSTOM);
    static const char *const names[] = {
        [CUARENA_MEMORY_PAGEABLE] = "pageable", [CUARENA_MEMORY_NONE] = "none",
        [CUARENA_MEMORY_DEVICE] = "device",     [CUARENA_MEMORY_MANAGED] = "managed",
        [CUARENA_MEMORY_PINNED] = "pinned",     [CUARENA_MEMORY_BYTES] = "bytes",
        [CUARENA_MEMORY_CUSTOM] = "custom",
    };
    return names[memory];
}

static void print(const char *key, const cuarena_config_t *full, char text[CUAI_OPTION_TEXT_SIZE])
{
    CUAI_ASSERT(cuai_option_find(key) != NULL);
    (void)cuai_option_print(cuai_option_find(key), full, text);
}

static bool is(const char *key, const cuarena_config_t *full, const char *value)
{
    char text[CUAI_OPTION_TEXT_SIZE];
    print(key, full, text);
    return strcmp(text, value) == 0;
}

/* The config as it would be if only those options were set on which the use of others depends. */
static void leave_alone(const cuarena_config_t *full, cuarena_config_t *left)
{
    cuarena_config_init(left);
    left->preset = full->preset;
    left->memory = full->memory;
    left->grow = full->grow;
    left->keep = full->keep;
    left->segments = full->segments;
    if (is_of(OF(DEVICE), full))
        left->backing = full->backing;
    cuai_config_apply_preset(left);
}

static cuarena_status_t refuse(const rule_t *rule, const cuarena_config_t *full)
{
    CUAI_ASSERT(rule->accepted != NULL);
    char text[CUAI_OPTION_TEXT_SIZE];
    char preset[CUAI_OPTION_TEXT_SIZE];
    char grow[CUAI_OPTION_TEXT_SIZE];
    print(rule->key, full, text);
    print("preset", full, preset);
    print("grow", full, grow);
    if (full->unknown_keys != CUARENA_UNKNOWN_WARN)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "%s: '%s' has no use with preset=%s, memory=%s, grow=%s; "
                         "accepted: with %s",
                         rule->key, text, preset, memory_name(full->memory), grow, rule->accepted);
    cuai_log(CUARENA_LOG_WARN,
             "option '%s' has no use with preset=%s, memory=%s, grow=%s, its value "
             "'%s' is passed over",
             rule->key, preset, memory_name(full->memory), grow, text);
    return CUARENA_OK;
}

/* Refuses an option that was set although it is of no use. One with the value that it would have
 * anyway counts as not set. */
static cuarena_status_t check_uses(const cuarena_config_t *full)
{
    cuarena_config_t left;
    cuarena_status_t status = CUARENA_OK;
    leave_alone(full, &left);
    for (size_t i = 0; i < COUNT_OF(rules) && status == CUARENA_OK; i++) {
        const rule_t *rule = &rules[i];
        char alone[CUAI_OPTION_TEXT_SIZE];
        if (is_of(rule->memories, full) && (rule->use == NULL || rule->use(full)))
            continue;
        print(rule->key, &left, alone);
        if (!is(rule->key, full, alone))
            status = refuse(rule, full);
    }
    return status;
}

static cuarena_status_t check_requirements(const cuarena_config_t *full)
{
    for (size_t i = 0; i < COUNT_OF(requirements); i++)
        if (!is_of(requirements[i].memories, full) && is(requirements[i].key, full, "require"))
            return cuai_fail(CUARENA_UNSUPPORTED, "%s: 'require' with memory=%s; accepted: with %s",
                             requirements[i].key, memory_name(full->memory),
                             requirements[i].accepted);
    return CUARENA_OK;
}

/* Checks the members that no text can set. */
static cuarena_status_t check_members(const cuarena_config_t *full)
{
    if (full->bytes_kind < CUARENA_BYTES_HOST || full->bytes_kind > CUARENA_BYTES_PINNED)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "bytes_kind: %" PRId32 "; accepted: a CUARENA_BYTES_...",
                         full->bytes_kind);
    if (full->bytes_kind != CUARENA_BYTES_HOST && !is_of(OF(BYTES), full))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "bytes_kind: %" PRId32 " with memory=%s; accepted: with memory=bytes",
                         full->bytes_kind, memory_name(full->memory));
    if ((full->bytes != NULL || full->bytes_size != 0) && !is_of(OF(BYTES), full))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "bytes: %" PRIu64 " at %p with memory=%s; accepted: with memory=bytes",
                         full->bytes_size, full->bytes, memory_name(full->memory));
    if ((full->ops != NULL || full->ops_user != NULL) && !is_of(OF(CUSTOM), full))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "ops: %p with memory=%s; accepted: with memory=custom",
                         (const void *)full->ops, memory_name(full->memory));
    if (full->context != NULL && !is_of(CUDA | OF(BYTES), full))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "context: %p with memory=%s; accepted: with %s",
                         full->context, memory_name(full->memory), rules[0].accepted);
    if (full->context != NULL && full->device != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "device: %" PRId32 " beside a context, which has its own; accepted: 0",
                         full->device);
    return CUARENA_OK;
}

/* Checks what a backing that was asked for by name cannot have. */
static cuarena_status_t check_backing(const cuarena_config_t *full)
{
    bool plain = full->backing == CUARENA_BACKING_MALLOC || full->backing == CUARENA_BACKING_ASYNC;
    const char *name = full->backing == CUARENA_BACKING_ASYNC ? "async" : "malloc";
    static const char *const keys[] = {"fd", "fabric", "peers", "rdma"};
    for (size_t i = 0; plain && i < COUNT_OF(keys); i++) {
        bool can = strcmp(keys[i], full->backing == CUARENA_BACKING_MALLOC ? "rdma" : "peers") == 0;
        if (!can && is(keys[i], full, "require"))
            return cuai_fail(CUARENA_UNSUPPORTED,
                             "%s: 'require' with backing=%s; accepted: with "
                             "backing=vmm",
                             keys[i], name);
    }
    if (plain && full->handle_bytes != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "handle: %" PRIu64 " with backing=%s; accepted: with backing=vmm",
                         full->handle_bytes, name);
    if (full->handle_bytes != 0 && full->handle_bytes < full->alignment)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "handle: %" PRIu64 "; accepted: from the alignment %" PRIu64 " on",
                         full->handle_bytes, full->alignment);
    return CUARENA_OK;
}

static cuarena_status_t check_pool(const cuarena_config_t *full)
{
    bool external = full->driver_pool == CUARENA_DRIVER_POOL_EXTERNAL;
    if (external != (full->driver_pool_handle != 0))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "driver_pool_handle: %" PRIu64 "; accepted: a CUmemoryPool with "
                         "driver_pool=external, 0 without",
                         full->driver_pool_handle);
    if (full->driver_pool_max != 0 && full->driver_pool != CUARENA_DRIVER_POOL_OWN)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "driver_pool_max: %" PRIu64 " of a pool that others made; accepted: with "
                         "driver_pool=own",
                         full->driver_pool_max);
    return CUARENA_OK;
}

/* Where each block is a segment of its own the regions have no bytes to allocate from. keep=none
 * gives back what is freed, which a pool never does on its own. */
static cuarena_status_t check_growth(const cuarena_config_t *full)
{
    const cuarena_amount_t *stable = &full->stable;
    bool shares = cuts_segments(full);
    if (!shares && !grows(full))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "segments: 'each' with an arena that does not grow; "
                                               "accepted: with grow=exact, doubling");
    if (!shares && (stable->unit != CUARENA_AMOUNT_BYTES || stable->value != 0))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "stable: a region with segments=each; accepted: 0, or "
                         "with segments=shared");
    if (full->keep == CUARENA_KEEP_NONE && !grows(full))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "keep: 'none' with an arena that does not grow; "
                                               "accepted: all, cache, or grow=exact, doubling");
    return CUARENA_OK;
}

/* A byte cannot have a pattern and be 0. */
static cuarena_status_t check_debugging(const cuarena_config_t *full)
{
    bool alloc = (full->fill & CUARENA_FILL_ALLOC) && full->zero == CUARENA_ZERO_ALLOC;
    bool freed = (full->fill & CUARENA_FILL_FREE) && full->zero == CUARENA_ZERO_FREE;
    if (alloc || freed)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "fill: '%s' with zero=%s, which says 0 of the same bytes; accepted: '%s', "
                         "or another zero",
                         full->fill == CUARENA_FILL_BOTH ? "both"
                         : alloc                         ? "alloc"
                                                         : "free",
                         alloc ? "alloc" : "free", alloc ? "free" : "alloc");
    if (full->stacks != 0 && !cuai_stacks_exist())
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "stacks: %d, but this library was built where callers cannot be found "
                         "(no execinfo.h); accepted: 0",
                         (int)full->stacks);
    return CUARENA_OK;
}

cuarena_status_t cuai_check_together(const cuarena_config_t *full)
{
    static cuarena_status_t (*const checks[])(const cuarena_config_t *) = {
        check_members,      check_uses, check_growth, check_debugging,
        check_requirements, check_pool, check_backing};
    cuarena_status_t status = CUARENA_OK;
    for (size_t i = 0; i < COUNT_OF(checks) && status == CUARENA_OK; i++)
        status = checks[i](full);
    return status;
}
