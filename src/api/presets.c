/* What the presets set, where an option says "as the preset says". */
#include "api/config.h"
#include "base/bits.h"

typedef struct preset {
    int32_t grow;
    bool limited; /* by what the memory has, where nobody set a limit */
    uint64_t split_threshold;
    int32_t memory;
    uint64_t alignment;
    int32_t backing; /* of device memory */
    int32_t placement;
    int32_t steal;
    bool whole; /* segments keep their length */
    int32_t segments;
    int32_t keep;
    int32_t cache_bound;
    int32_t soft_limit_rule;
    uint64_t cache_limit; /* 0: as the soft limit */
    uint64_t cache_page;
    uint64_t soft_share; /* of what the memory has, in 1/1000 %; 0: no limit */
    uint64_t round_powers;
    uint64_t round_to;
    uint64_t natural;
    uint64_t threshold; /* of a driver's pool; 0: it stays as it is */
} preset_t;

/* cache_page, where a preset below has none. */
#define CACHE_PAGE (4 * CUAI_KIB)

/* The soft limit where nobody knows what the memory has. */
#define UNKNOWN_SOFT (8 * CUAI_GIB)

/* What is 0 in all but the last few: backing=auto, placement=default, steal=wait, in_place=1,
 * segments=shared, keep=all, cache_bound=strict, soft_limit_rule=store. */
static const preset_t presets[] = {
    [CUARENA_PRESET_POOL] =
        {
            .grow = CUARENA_GROW_NONE,
            .limited = true,
            .memory = CUARENA_MEMORY_PAGEABLE,
            .alignment = 256,
        },
    [CUARENA_PRESET_GROW] =
        {
            .grow = CUARENA_GROW_EXACT,
            .limited = true,
            .memory = CUARENA_MEMORY_PAGEABLE,
            .alignment = 256,
        },
    [CUARENA_PRESET_BFC] =
        {
            .grow = CUARENA_GROW_DOUBLING,
            .split_threshold = 128 * CUAI_MIB,
            .memory = CUARENA_MEMORY_PAGEABLE,
            .alignment = 256,
            .steal = CUARENA_STEAL_IDLE,
        },
    [CUARENA_PRESET_MLX_CPU] =
        {
            .grow = CUARENA_GROW_EXACT,
            .limited = true,
            .memory = CUARENA_MEMORY_PAGEABLE,
            .alignment = 16,
            .keep = CUARENA_KEEP_CACHE,
            .cache_limit = 32 * CUAI_MIB,
            .soft_share = 80000,
        },
    [CUARENA_PRESET_MLX_CUDA] =
        {
            .grow = CUARENA_GROW_EXACT,
            .limited = true,
            .memory = CUARENA_MEMORY_DEVICE,
            .alignment = 8,
            .backing = CUARENA_BACKING_ASYNC,
            .keep = CUARENA_KEEP_CACHE,
            .cache_bound = CUARENA_CACHE_LATE,
            .soft_limit_rule = CUARENA_SOFT_ENFORCE,
            .cache_page = 16 * CUAI_KIB,
            .soft_share = 95000,
            .round_powers = 16 * CUAI_KIB,
            .round_to = 16 * CUAI_KIB,
            .natural = 256,
        },
    [CUARENA_PRESET_CUPY_POOL] =
        {
            .grow = CUARENA_GROW_EXACT,
            .memory = CUARENA_MEMORY_PAGEABLE,
            .alignment = 512,
            .backing = CUARENA_BACKING_MALLOC,
            .placement = CUARENA_PLACEMENT_BEST,
            .steal = CUARENA_STEAL_NEVER,
            .whole = true,
        },
    [CUARENA_PRESET_DRIVER_POOL] =
        {
            .grow = CUARENA_GROW_EXACT,
            .memory = CUARENA_MEMORY_DEVICE,
            .alignment = 512,
            .backing = CUARENA_BACKING_ASYNC,
            .segments = CUARENA_SEGMENTS_EACH,
            .threshold = UINT64_MAX,
        },
};

static bool is_whole(cuarena_amount_t amount)
{
    return amount.unit == CUARENA_AMOUNT_AUTO && amount.value == 0;
}

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

/* Memory, alignment and backing. */
static void apply_memory(cuarena_config_t *config, const preset_t *preset)
{
    if (config->memory == CUARENA_MEMORY_PRESET)
        config->memory = preset->memory;
    if (config->alignment == CUARENA_BYTES_PRESET)
        config->alignment = preset->alignment;
    bool device = config->memory == CUARENA_MEMORY_DEVICE;
    if (device && config->backing == CUARENA_BACKING_AUTO)
        config->backing = preset->backing;
}

/* An arena that grows places blocks low, so that its end can go back, unless preset or option say
 * otherwise. */
static void apply_placement(cuarena_config_t *config, const preset_t *preset)
{
    CUAI_ASSERT(config->grow != -1);
    bool grows = config->grow != CUARENA_GROW_NONE;
    bool low = grows && preset->placement == CUARENA_PLACEMENT_DEFAULT;
    if (config->placement == -1)
        config->placement = low ? CUARENA_PLACEMENT_LOW : preset->placement;
}

/* Without a driver's pool release_threshold=unchanged means nothing, and counts as not set. */
static void apply_threshold(cuarena_config_t *config, const preset_t *preset)
{
    CUAI_ASSERT(config->memory != CUARENA_MEMORY_PRESET);
    uint64_t *threshold = &config->release_threshold;
    bool pooled =
        config->memory == CUARENA_MEMORY_DEVICE && config->backing == CUARENA_BACKING_ASYNC;
    if (pooled && *threshold == CUARENA_BYTES_PRESET)
        *threshold = preset->threshold != 0 ? preset->threshold : CUARENA_BYTES_UNCHANGED;
    if (!pooled && *threshold == CUARENA_BYTES_UNCHANGED)
        *threshold = CUARENA_BYTES_PRESET;
}

static void apply_choice(int32_t *choice, int32_t value)
{
    CUAI_ASSERT(value != -1);
    if (*choice == -1)
        *choice = value;
}

static void apply_bytes(uint64_t *bytes, uint64_t value)
{
    CUAI_ASSERT(value != CUARENA_BYTES_PRESET);
    if (*bytes == CUARENA_BYTES_PRESET)
        *bytes = value;
}

/* Whether the memory may say what it has in all. */
static bool is_counted(const cuarena_config_t *config)
{
    return config->memory != CUARENA_MEMORY_CUSTOM || config->ops == NULL ||
           config->ops->total != NULL;
}

static cuarena_amount_t soft_limit_of(const cuarena_config_t *config, const preset_t *preset)
{
    CUAI_ASSERT(preset->soft_share <= 100000);
    if (preset->soft_share == 0)
        return (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, UINT64_MAX};
    if (!is_counted(config))
        return (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, UNKNOWN_SOFT};
    return (cuarena_amount_t){CUARENA_AMOUNT_PERCENT, 0, preset->soft_share};
}

static void apply_rounding(cuarena_config_t *config, const preset_t *preset)
{
    apply_bytes(&config->round_powers, preset->round_powers);
    apply_bytes(&config->round_to, preset->round_to);
    apply_bytes(&config->natural, preset->natural);
}

static void apply_keep(cuarena_config_t *config, const preset_t *preset)
{
    uint64_t page = preset->cache_page != 0 ? preset->cache_page : CACHE_PAGE;
    apply_choice(&config->keep, preset->keep);
    apply_choice(&config->cache_bound, preset->cache_bound);
    apply_choice(&config->soft_limit_rule, preset->soft_limit_rule);
    apply_bytes(&config->cache_page, page);
    if (is_whole(config->soft_limit))
        config->soft_limit = soft_limit_of(config, preset);
    bool caches = config->keep == CUARENA_KEEP_CACHE;
    if (caches && is_whole(config->cache_limit) && preset->cache_limit != 0)
        config->cache_limit = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, preset->cache_limit};
}

void cuai_config_apply_preset(cuarena_config_t *config)
{
    apply_mempool(config);
    CUAI_ASSERT(config->preset >= 0 && config->preset <= CUARENA_PRESET_DRIVER_POOL);
    const preset_t *preset = &presets[config->preset];
    apply_memory(config, preset);
    apply_threshold(config, preset);
    if (config->grow == -1)
        config->grow = preset->grow;
    if (config->split_threshold == CUARENA_BYTES_PRESET)
        config->split_threshold = preset->split_threshold;
    if (!preset->limited && is_whole(config->limit))
        config->limit = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, UINT64_MAX};
    if (config->steal == -1)
        config->steal = preset->steal;
    if (config->in_place == -1)
        config->in_place = !preset->whole;
    if (config->segments == -1)
        config->segments = preset->segments;
    apply_placement(config, preset);
    apply_rounding(config, preset);
    apply_keep(config, preset);
}
