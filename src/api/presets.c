/* What the presets set, where an option says "as the preset says" or has its default. */
#include <string.h>

#include "api/config.h"
#include "api/options.h"
#include "base/bits.h"
#include "base/error.h"

/* The limit of memory that has none. */
#define NO_LIMIT "18446744073709551615"

/* The soft limit where nobody knows what the memory has. */
#define UNKNOWN_SOFT (8 * CUAI_GIB)

static const char *const presets[] = {
    [CUARENA_PRESET_POOL] = "grow=none",
    [CUARENA_PRESET_GROW] = "grow=exact",
    [CUARENA_PRESET_BFC] = "grow=doubling, limit=" NO_LIMIT ", split_threshold=128MiB, steal=idle",
    [CUARENA_PRESET_MLX_CPU] =
        "grow=exact, alignment=16, keep=cache, cache_limit=32MiB, soft_limit=80%",
    [CUARENA_PRESET_MLX_CUDA] =
        "grow=exact, memory=device, alignment=8, backing=async, keep=cache, cache_bound=late, "
        "cache_page=16KiB, soft_limit=95%, soft_limit_rule=enforce, round_powers=16KiB, "
        "round_to=16KiB, natural=256",
    [CUARENA_PRESET_CUPY_POOL] =
        "grow=exact, limit=" NO_LIMIT ", alignment=512, backing=malloc, placement=best, "
        "steal=never, in_place=0",
    [CUARENA_PRESET_DRIVER_POOL] =
        "grow=exact, limit=" NO_LIMIT ", memory=device, alignment=512, backing=async, "
        "segments=each, release_threshold=never",
};

/* What a preset sets if it says nothing else. */
static const char ordinary[] =
    "memory=pageable, alignment=256, split_threshold=0, placement=default, steal=wait, "
    "in_place=1, reuse=1, "
    "segments=shared, keep=all, cache_bound=strict, cache_page=4KiB, soft_limit=" NO_LIMIT ", "
    "soft_limit_rule=store, round_powers=0, round_to=0, natural=0, release_threshold=unchanged";

/* Resets the options of chunks, which a driver's pool has no use for. */
static void forget_chunks(cuarena_config_t *config)
{
    cuarena_config_t fresh;
    cuarena_config_init(&fresh);
    config->grow = fresh.grow;
    config->split_threshold = fresh.split_threshold;
    config->initial_chunk = fresh.initial_chunk;
    config->growth_after_trim = fresh.growth_after_trim;
    config->max_doubling = fresh.max_doubling;
}

/* ONNX Runtime gives its arena of pinned memory the keys of that of the device, and it passes over
 * what they say of the driver's pools, as these do over what they say of chunks. */
static void apply_mempool(cuarena_config_t *config)
{
    if (config->use_cuda_mempool == 0)
        return;
    config->use_cuda_mempool = 0;
    if (config->memory == CUARENA_MEMORY_PINNED) {
        config->release_threshold = CUARENA_BYTES_UNCHANGED;
        config->keep_on_trim = 0;
        return;
    }
    forget_chunks(config);
    config->preset = CUARENA_PRESET_DRIVER_POOL;
    config->driver_pool = CUARENA_DRIVER_POOL_OWN;
    if (config->release_threshold == CUARENA_BYTES_PRESET)
        config->release_threshold = CUARENA_BYTES_UNCHANGED;
}

/* Whether the memory may say what it has in all. */
static bool is_counted(const cuarena_config_t *config)
{
    return config->memory != CUARENA_MEMORY_CUSTOM || config->ops == NULL ||
           config->ops->total != NULL;
}

/* Sets what the preset says where a member has its default. */
static void fill(cuarena_config_t *config)
{
    cuarena_config_t fresh;
    cuarena_config_init(&fresh);
    cuarena_config_t said = fresh;
    cuarena_status_t status = cuarena_config_parse(&said, ordinary);
    if (status == CUARENA_OK)
        status = cuarena_config_parse(&said, presets[config->preset]);
    CUAI_ASSERT(status == CUARENA_OK);
    (void)status;
    const cuai_option_t *option;
    for (size_t i = 0; (option = cuai_option_at(i)) != NULL; i++) {
        size_t at = option->offset;
        if (memcmp((char *)config + at, (char *)&fresh + at, option->size) == 0)
            memcpy((char *)config + at, (char *)&said + at, option->size);
    }
}

/* An arena that grows places blocks low, so that its end can go back, unless preset or option say
 * otherwise. Without a driver's pool release_threshold=unchanged means nothing, and counts as not
 * set. */
void cuai_config_apply_preset(cuarena_config_t *config)
{
    apply_mempool(config);
    CUAI_ASSERT(config->preset >= 0 && config->preset <= CUARENA_PRESET_DRIVER_POOL);
    const cuarena_config_t asked = *config;
    fill(config);
    bool device = config->memory == CUARENA_MEMORY_DEVICE;
    if (!device)
        config->backing = asked.backing;
    if (!device || config->backing != CUARENA_BACKING_ASYNC)
        config->release_threshold = asked.release_threshold == CUARENA_BYTES_UNCHANGED
                                        ? CUARENA_BYTES_PRESET
                                        : asked.release_threshold;
    if (asked.placement == -1 && config->placement == CUARENA_PLACEMENT_DEFAULT &&
        config->grow != CUARENA_GROW_NONE)
        config->placement = CUARENA_PLACEMENT_LOW;
    if (config->keep != CUARENA_KEEP_CACHE)
        config->cache_limit = asked.cache_limit;
    if (asked.soft_limit.unit == CUARENA_AMOUNT_AUTO &&
        config->soft_limit.unit == CUARENA_AMOUNT_PERCENT && !is_counted(config))
        config->soft_limit = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, UNKNOWN_SOFT};
    CUAI_ASSERT(config->memory != CUARENA_MEMORY_PRESET && config->grow != -1);
    CUAI_ASSERT(config->alignment != CUARENA_BYTES_PRESET && config->keep != -1);
}
