/* An arena's life: from a checked configuration to the memory given back. */
#include "arena/life.h"
#include "heap/cached.h"

#include <stdio.h>
#include <string.h>

#include "arena/arenas.h"
#include "arena/cache.h"
#include "arena/capture.h"
#include "arena/counts.h"
#include "arena/dedicated.h"
#include "arena/exports.h"
#include "arena/grow.h"
#include "arena/guard.h"
#include "arena/pool.h"
#include "arena/segments.h"
#include "arena/streams.h"
#include "arena/tags.h"
#include "arena/traced.h"
#include "arena/unlocked.h"
#include "arena/uses.h"
#include "base/amount.h"

/* Addresses for an arena that grows without a limit, where nobody knows what its memory has. */
#define UNKNOWN_RESERVE (64 * CUAI_GIB)

/* A cache leaves so many bytes free besides, as malloc does. */
#define SPARE_PAGES 16
#define MOST_SPARE CUAI_MIB
#define LEAST_SPARING (4 * CUAI_KIB) /* only for a memory of at least this granularity */

/* ---- Sizes ------------------------------------------------------------- */

static cuarena_status_t resolve(const cuarena_t *arena, cuarena_amount_t amount,
                                uint64_t *bytes_out)
{
    return cuai_amount_resolve(amount, &arena->memory.ops, arena->memory.user, bytes_out);
}

/* "auto" sets no limit to a pool, which says its size itself. */
static cuarena_status_t resolve_limit(cuarena_t *arena)
{
    cuarena_amount_t limit = arena->config.limit;
    bool is_default = limit.unit == CUARENA_AMOUNT_AUTO && limit.value == 0;
    bool unknown = arena->memory.ops.available == NULL;
    arena->limits[CUARENA_LIMIT_LIVE] = UINT64_MAX;
    arena->limits[CUARENA_LIMIT_RESERVED] = UINT64_MAX;
    if (is_default && (unknown || cuai_is_pool(arena)))
        return CUARENA_OK;
    return resolve(arena, limit, &arena->limits[CUARENA_LIMIT_RESERVED]);
}

/* All of the caller's own bytes are the pool, unless it says less. */
static cuarena_status_t resolve_pool(cuarena_t *arena)
{
    arena->pool_bytes = UINT64_MAX;
    if (!cuai_is_pool(arena))
        return CUARENA_OK;
    cuarena_amount_t pool = arena->config.pool;
    if (arena->config.memory == CUARENA_MEMORY_BYTES && pool.unit == CUARENA_AMOUNT_AUTO)
        pool.value = 0;
    uint64_t bytes;
    char text[CUAI_NUMBER_TEXT];
    cuarena_status_t status = resolve(arena, pool, &bytes);
    if (status != CUARENA_OK)
        return status;
    uint64_t granule = cuai_granule(arena);
    bool bytes_given = pool.unit == CUARENA_AMOUNT_BYTES;
    bytes = bytes_given ? cuai_align_up(bytes, granule)
                        : cuai_align_down(bytes, cuai_page_bytes(arena));
    if (bytes == 0) {
        cuai_amount_print(pool, text);
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "pool: '%s' comes to no bytes here", text);
    }
    arena->pool_bytes = bytes;
    return CUARENA_OK;
}

static cuarena_status_t refuse_stable(const cuarena_t *arena, uint64_t bytes)
{
    char text[CUAI_NUMBER_TEXT];
    cuai_amount_print(arena->config.stable, text);
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "stable: '%s' comes to %llu bytes here; accepted: up to the pool's %llu", text,
                     (unsigned long long)bytes, (unsigned long long)arena->pool_bytes);
}

static cuarena_status_t resolve_stable(cuarena_t *arena)
{
    uint64_t bytes;
    cuarena_status_t status = resolve(arena, arena->config.stable, &bytes);
    if (status != CUARENA_OK)
        return status;
    bytes = cuai_align_up(bytes, cuai_granule(arena));
    if (!cuai_is_pool(arena)) /* the rest comes in pages */
        bytes = cuai_page_multiple(arena, bytes);
    if (bytes > arena->pool_bytes)
        return refuse_stable(arena, bytes);
    arena->stable_bytes = bytes;
    return CUARENA_OK;
}

static cuarena_status_t check_against_limit(const cuarena_t *arena)
{
    bool pool = cuai_is_pool(arena);
    uint64_t bytes = pool ? arena->pool_bytes : arena->stable_bytes;
    if (bytes <= arena->limits[CUARENA_LIMIT_RESERVED])
        return CUARENA_OK;
    return cuai_pool_over_limit(arena, bytes);
}

/* What the memory has available; a memory that cannot say it, or fails to, is no error here. */
static uint64_t memory_has(const cuarena_t *arena)
{
    uint64_t bytes = 0;
    return cuai_mem_available(arena, &bytes) ? bytes : UNKNOWN_RESERVE;
}

/* How large the arena can become in place: as `addresses` says, else up to its limit; else a pool
 * up to its size, and an arena that grows up to all of the memory. */
static uint64_t wanted_reserve(const cuarena_t *arena)
{
    uint64_t limit = arena->limits[CUARENA_LIMIT_RESERVED];
    if (arena->config.address_bytes != 0)
        return arena->config.address_bytes;
    if (limit != UINT64_MAX)
        return limit;
    bool pool = cuai_is_pool(arena);
    return pool ? arena->pool_bytes : memory_has(arena);
}

static void choose_reserve(cuarena_t *arena)
{
    uint64_t most = CUARENA_HEAP_MAX_SEGMENT / 2;
    arena->address_bytes = 0;
    if (arena->memory.ops.grow != NULL)
        arena->address_bytes =
            cuai_align_down(cuai_min(wanted_reserve(arena), most), cuai_page_bytes(arena));
}

/* How many bytes may stay free for small blocks that the cache does not have, where the memory
 * gives and takes back far more than these ask for. */
static uint64_t spare_bytes(const cuarena_t *arena)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    bool page_multiple =
        ops->shrink != NULL && ops->punch != NULL && ops->granularity >= LEAST_SPARING;
    bool caches = cuai_caches(arena) && arena->config.zero != CUARENA_ZERO_FREE;
    if (!caches || !page_multiple)
        return 0;
    return cuai_min(SPARE_PAGES * ops->granularity, MOST_SPARE);
}

/* The limit of cached bytes, if nobody named one, is the soft limit. */
static cuarena_status_t resolve_cache(cuarena_t *arena)
{
    uint64_t *limits = arena->limits;
    cuarena_amount_t cached = arena->config.cache_limit;
    bool is_default = cached.unit == CUARENA_AMOUNT_AUTO && cached.value == 0;
    cuarena_status_t status = resolve(arena, arena->config.soft_limit, &limits[CUARENA_LIMIT_SOFT]);
    limits[CUARENA_LIMIT_CACHED] = limits[CUARENA_LIMIT_SOFT];
    if (status == CUARENA_OK && !is_default)
        status = resolve(arena, cached, &limits[CUARENA_LIMIT_CACHED]);
    bool counted =
        arena->config.soft_limit_rule == CUARENA_SOFT_ENFORCE && arena->memory.ops.total != NULL;
    if (status != CUARENA_OK || !counted)
        return status;
    cuarena_amount_t all = {CUARENA_AMOUNT_PERCENT, 0, 100000};
    return resolve(arena, all, &arena->memory_bytes);
}

static cuarena_status_t resolve_sizes(cuarena_t *arena)
{
    cuarena_status_t status = resolve_limit(arena);
    if (status == CUARENA_OK)
        status = resolve_pool(arena);
    if (status == CUARENA_OK)
        status = resolve_stable(arena);
    if (status == CUARENA_OK)
        status = check_against_limit(arena);
    if (status == CUARENA_OK)
        status = resolve_cache(arena);
    choose_reserve(arena);
    arena->cache_spare = spare_bytes(arena);
    bool plain = arena->config.soft_limit_rule == CUARENA_SOFT_STORE && arena->natural == 0 &&
                 arena->round_powers == 0 && arena->round_mask <= arena->granule_mask;
    arena->plain_spare = plain ? arena->cache_spare : 0;
    return status;
}

static cuarena_status_t check_zero(const cuarena_t *arena)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    bool zeroes = arena->config.zero != CUARENA_ZERO_NEVER;
    bool created_zero = arena->config.zero == CUARENA_ZERO_CREATE &&
                        (ops->properties & CUARENA_MEMORY_COMES_ZEROED) != 0;
    if (!zeroes || created_zero || ops->zero_bytes != NULL)
        return CUARENA_OK;
    static const char *const words[] = {[CUARENA_ZERO_CREATE] = "create",
                                        [CUARENA_ZERO_ALLOC] = "alloc",
                                        [CUARENA_ZERO_FREE] = "free",
                                        [CUARENA_ZERO_OWNER] = "owner"};
    return cuai_fail(CUARENA_UNSUPPORTED,
                     "zero: '%s', but memory '%s' cannot set bytes to 0; accepted: never",
                     words[arena->config.zero], ops->name);
}

/* ---- Heaps ------------------------------------------------------------- */

cuarena_status_t cuai_heap_for(const cuarena_t *arena, uint64_t most_bytes,
                               cuarena_heap_t **heap_out)
{
    cuarena_heap_config_t config;
    cuarena_heap_config_init(&config);
    config.granule = cuai_granule(arena);
    config.split_threshold = arena->config.split_threshold;
    config.placement = arena->config.placement;
    uint64_t most_blocks = most_bytes / config.granule;
    config.max_blocks = cuai_max(1, cuai_min(arena->config.max_blocks, most_blocks));
    return cuarena_heap_create(&config, heap_out);
}

/* Begins what the fast path knows of calls without a stream in a region. */
static void begin_fast(cuarena_t *arena, int32_t region, uint64_t by_pointer)
{
    const cuarena_heap_t *heap = arena->heaps[region];
    cuai_fast_t *fast = &arena->none[region];
    fast->index = heap->idle;
    cuai_fast_set(fast, CUAI_BLOCK_ATTRIBUTES | heap->align_attributes,
                  by_pointer | heap->align_attributes);
}

static cuarena_status_t make_heaps(cuarena_t *arena)
{
    cuarena_status_t status = cuai_heap_for(arena, UINT64_MAX, &arena->heaps[CUAI_DYNAMIC]);
    if (status == CUARENA_OK && cuai_caches(arena))
        status = cuai_heap_begin_cache(arena->heaps[CUAI_DYNAMIC]);
    if (status == CUARENA_OK)
        begin_fast(arena, CUAI_DYNAMIC, CUAI_POINTER_ATTRIBUTES);
    if (status != CUARENA_OK || arena->stable_bytes == 0)
        return status;
    status = cuai_heap_for(arena, arena->stable_bytes, &arena->heaps[CUAI_STABLE]);
    if (status != CUARENA_OK)
        return status;
    begin_fast(arena, CUAI_STABLE, CUAI_STABLE_ATTRIBUTES);
    cuai_begin_whole(arena);
    return CUARENA_OK;
}

/* ---- Life -------------------------------------------------------------- */

static cuarena_status_t fill_arena(cuarena_t *arena)
{
    cuarena_status_t status = cuai_memory_open(&arena->config, &arena->memory);
    if (status == CUARENA_OK)
        cuai_annotate_begin(arena);
    arena->cpu_touches = (arena->memory.ops.properties & CUARENA_MEMORY_HOST_READABLE) != 0 &&
                         !arena->config.device_only;
    cuai_streams_begin(arena);
    if (status == CUARENA_OK)
        status = check_zero(arena);
    if (status == CUARENA_OK)
        status = cuai_guard_supported(arena);
    if (status == CUARENA_OK)
        status = cuai_watch_begin(arena);
    if (status == CUARENA_OK)
        status = resolve_sizes(arena);
    if (status == CUARENA_OK)
        status = make_heaps(arena);
    return status == CUARENA_OK ? cuai_grow_first(arena) : status;
}

/* Copies what every call needs of the rules of rounding and keeping. */
static void begin_rules(cuarena_t *arena)
{
    const cuarena_config_t *config = &arena->config;
    arena->cache_window = 2 * config->cache_page;
    arena->round_powers = config->round_powers;
    arena->round_mask = config->round_to == 0 ? 0 : config->round_to - 1;
    arena->natural = config->natural;
    bool plain = config->keep == CUARENA_KEEP_ALL && config->natural == 0 &&
                 config->round_powers == 0 && config->round_to == 0;
    if (!plain)
        cuai_slow_set(arena, CUAI_SLOW_CACHE, true);
}

/* Adds to the error what limits the arena. What the memory has is asked once more, for the amounts
 * may have been given in bytes. */
static void tell_refusal(const cuarena_t *arena)
{
    uint64_t limit = arena->limits[CUARENA_LIMIT_RESERVED];
    uint64_t available = 0;
    if (arena->memory.ops.get == NULL) /* the memory itself was refused */
        return;
    cuai_kept_error_t words = cuai_error_kept();
    bool known = cuai_mem_available(arena, &available);
    bool limited = limit != UINT64_MAX;
    words.error.limit_bytes = limited ? limit : words.error.limit_bytes;
    words.error.reserved_bytes = arena->reserved;
    words.error.free_bytes = available;
    cuai_error_restore(&words);
    if (limited)
        cuai_error_add("; the limit is %llu", (unsigned long long)limit);
    cuai_error_add("; %llu are reserved", (unsigned long long)arena->reserved);
    if (known)
        cuai_error_add(", %llu available", (unsigned long long)available);
}

/* Arenas without a name are told apart by where they are. */
static void set_label(cuarena_t *arena)
{
    const char *name = arena->config.name;
    if (name[0] != '\0')
        (void)snprintf(arena->label, sizeof arena->label, "arena '%s'", name);
    else
        (void)snprintf(arena->label, sizeof arena->label, "arena %p", (void *)arena);
}

/* Begins to record what the options ask for. What the arena took until now is in the file as what
 * there is at its begin. */
static cuarena_status_t begin_trace(cuarena_t *arena)
{
    cuarena_status_t status = CUARENA_OK;
    arena->memory.counted->trace = &arena->trace;
    if (arena->config.trace[0] != '\0') {
        cuai_lock(&arena->trace.change);
        status = cuai_trace_open_file(&arena->trace, arena->config.trace);
        cuai_unlock(&arena->trace.change);
    }
    if (status != CUARENA_OK)
        return status;
    cuai_arena_lock(arena);
    cuai_trace_set_writes(&arena->trace, arena->config.trace[0] != '\0');
    cuai_arena_follow_trace(arena);
    if (cuai_is_traced(arena))
        cuai_trace_live(arena);
    cuai_unlock(&arena->lock);
    return status;
}

cuarena_status_t cuai_arena_new(const cuarena_config_t *config, cuarena_t **arena_out)
{
    cuarena_t *arena = cuai_host_alloc(sizeof *arena);
    if (arena == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for an arena");
    arena->config = *config;
    set_label(arena);
    arena->granule_mask = config->alignment - 1;
    cuai_lock_init(&arena->lock);
    cuai_cond_init(&arena->changed);
    if (config->zero >= CUARENA_ZERO_ALLOC)
        cuai_slow_set(arena, CUAI_SLOW_ZERO, true);
    begin_rules(arena);
    cuai_trace_open(&arena->trace, (uint32_t)config->trace_ring);
    cuarena_status_t status = fill_arena(arena);
    if (status == CUARENA_OUT_OF_MEMORY || status == CUARENA_LIMIT)
        tell_refusal(arena);
    if (status == CUARENA_OK)
        status = cuai_arenas_add(arena);
    if (status == CUARENA_OK)
        status = begin_trace(arena);
    if (status != CUARENA_OK) {
        cuai_arena_end(arena);
        return status;
    }
    *arena_out = arena;
    return CUARENA_OK;
}

static void give_back_all(cuarena_t *arena, cuai_segments_t *segments)
{
    for (size_t i = 0; i < segments->count; i++)
        cuai_mem_give_back(arena, &segments->items[i]);
    cuai_host_free(segments->items);
}

static void give_back_dedicated(cuarena_t *arena)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_APART];
    for (cuai_slot_t slot = 0; (slot = cuai_heap_next_standalone(heap, slot)) != 0;) {
        cuarena_memory_segment_t segment = cuai_dedicated_segment(cuai_record(heap, slot));
        cuai_mem_give_back(arena, &segment);
    }
}

void cuai_arena_end(cuarena_t *arena)
{
    cuai_lock_assert_not_held(&arena->lock);
    cuai_arenas_remove(arena);
    cuai_arena_lock(arena);
    cuai_uses_clear(arena);
    cuai_unlock(&arena->lock);
    cuai_captures_forget(arena);
    cuai_streams_forget(arena);
    give_back_all(arena, &arena->segments);
    give_back_dedicated(arena);
    cuai_memory_close(&arena->memory);
    cuai_regions_end(&arena->regions);
    for (int i = 0; i < CUAI_HEAPS; i++)
        cuarena_heap_destroy(&arena->heaps[i]);
    cuai_exports_forget(arena);
    cuai_watch_end(arena);
    cuai_tags_end(arena);
    cuai_host_free(arena->whole_scopes);
    for (int i = 0; i < CUARENA_REGION_COUNT; i++)
        cuai_host_free(arena->region_scopes[i]);
    cuai_trace_close(&arena->trace);
    cuai_cond_cleanup(&arena->changed);
    cuai_lock_cleanup(&arena->lock);
    cuai_host_free(arena);
}
