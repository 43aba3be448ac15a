/*
 * Figures of an arena under other names: ONNX Runtime's, and text; and what
 * the steps of running out came to.
 */
#include <inttypes.h>
#include <stdio.h>

#include "api/call.h"
#include "api/driver_pool.h"
#include "api/stats.h"
#include "arena/counts.h"
#include "base/sized.h"

/* ---- ONNX Runtime's ---------------------------------------------------- */

void cuarena_ort_stats_init(cuarena_ort_stats_t *stats)
{
    *stats = (cuarena_ort_stats_t){.struct_size = sizeof *stats};
}

static int64_t clamp(uint64_t value)
{
    return (int64_t)cuai_min(value, INT64_MAX);
}

/* The reserves of ONNX Runtime are blocks that have segments of their own. */
static void from_apart(const cuarena_heap_t *heap, cuarena_ort_stats_t *now)
{
    if (heap == NULL)
        return;
    now->num_reserves = clamp(heap->counter.allocs);
    now->reserved_bytes = clamp(cuai_heap_bytes(heap));
}

static uint64_t most_block(const cuarena_t *arena)
{
    uint64_t most = 0;
    for (int i = 0; i < CUAI_HEAPS; i++)
        if (arena->heaps[i] != NULL)
            most = cuai_max(most, arena->heaps[i]->most_block_bytes);
    return most;
}

/* How many pieces the arena's bytes are in for ONNX Runtime: at least one where there are bytes, as
 * of a pool that was resized. */
static uint64_t extensions(const cuarena_t *arena)
{
    bool none = arena->heaps[CUAI_DYNAMIC]->capacity == 0 && arena->stable_bytes == 0;
    return none ? 0 : cuai_max(arena->extensions, 1);
}

/* The limit of bytes; -1, as ONNX Runtime says it, where there is none. */
static int64_t limit_of(const cuarena_t *arena)
{
    int64_t limit = clamp(cuai_min(arena->limits[CUARENA_LIMIT_RESERVED], arena->pool_bytes));
    return limit == INT64_MAX ? -1 : limit;
}

static cuarena_ort_stats_t ort_stats(const cuarena_t *arena)
{
    cuai_counts_t all = cuai_whole_counts(arena);
    cuarena_ort_stats_t now = {
        .num_allocs = clamp(all.allocs),
        .num_arena_extensions = clamp(extensions(arena)),
        .num_arena_shrinkages = clamp(arena->shrinkages),
        .bytes_in_use = clamp(all.live_bytes),
        .bytes_requested_in_use = clamp(all.requested_bytes),
        .total_allocated_bytes = clamp(arena->reserved + arena->adopted_bytes),
        .max_bytes_in_use = clamp(cuai_max(arena->most_live, all.peak_live_bytes)),
        .max_alloc_size = clamp(most_block(arena)),
        .bytes_limit = limit_of(arena),
    };
    if (arena->config.segments == CUARENA_SEGMENTS_SHARED)
        from_apart(arena->heaps[CUAI_APART], &now);
    return now;
}

/* A driver's pool has more than its blocks, and rounds by rules of its own: blocks count as they
 * were asked for. */
static void of_pool(const cuarena_t *arena, uint64_t pool_bytes, cuarena_ort_stats_t *now)
{
    const cuarena_heap_t *heap = arena->heaps[CUAI_APART];
    now->num_arena_extensions = 0;
    now->bytes_in_use = now->bytes_requested_in_use;
    now->total_allocated_bytes = clamp(pool_bytes + arena->adopted_bytes);
    now->max_bytes_in_use =
        clamp(cuai_max(arena->most_requested, cuai_whole_counts(arena).peak_requested_bytes));
    now->max_alloc_size = clamp(heap == NULL ? 0 : heap->standalone_most_asked);
}

cuarena_status_t cuarena_ort_stats(cuarena_t *arena, cuarena_ort_stats_t *stats)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (!cuai_sized_ok(stats, sizeof(size_t), sizeof *stats))
        return cuai_told(cuai_fail_struct("stats", stats));
    bool pooled = cuai_pool_has_the_rest(arena);
    uint64_t pool_bytes = 0;
    cuarena_status_t status = CUARENA_OK;
    if (pooled)
        status = cuai_driver_pool_total(arena, &pool_bytes);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    cuarena_ort_stats_t now = ort_stats(arena);
    if (pooled)
        of_pool(arena, pool_bytes, &now);
    cuai_sized_write(stats, &now);
    return cuai_query_end(arena, CUARENA_OK);
}

/* ---- As text ----------------------------------------------------------- */

/* A member of 64 bits and the key that stands for it. No figure is negative. */
typedef struct figure {
    const char *key;
    size_t offset;
} figure_t;

#define OWN(member)                                                                                \
    {                                                                                              \
#member, offsetof(cuarena_stats_t, member)                                                 \
    }
static const figure_t own_figures[] = {
    OWN(reserved_bytes),
    OWN(capacity_bytes),
    OWN(live_bytes),
    OWN(requested_bytes),
    OWN(free_bytes),
    OWN(largest_bytes),
    OWN(live_blocks),
    OWN(peak_reserved_bytes),
    OWN(peak_live_bytes),
    OWN(peak_requested_bytes),
    OWN(peak_live_blocks),
    OWN(allocs),
    OWN(frees),
    OWN(failed),
    OWN(grows),
    OWN(trims),
    OWN(compactions),
    OWN(moves),
    OWN(bytes_moved),
    OWN(oom_handler_calls),
    OWN(segments),
    OWN(dedicated_bytes),
    OWN(bookkeeping_bytes),
    OWN(steals),
    OWN(stream_waits),
    OWN(host_waits),
    OWN(captures),
    OWN(captured_bytes),
    OWN(memory_calls),
    OWN(driver_calls),
    OWN(free_ranges),
};

#define ORT(key, member)                                                                           \
    {                                                                                              \
        key, offsetof(cuarena_ort_stats_t, member)                                                 \
    }
static const figure_t ort_figures[] = {
    ORT("Limit", bytes_limit),
    ORT("InUse", bytes_in_use),
    ORT("TotalAllocated", total_allocated_bytes),
    ORT("MaxInUse", max_bytes_in_use),
    ORT("NumAllocs", num_allocs),
    ORT("NumReserves", num_reserves),
    ORT("NumArenaExtensions", num_arena_extensions),
    ORT("NumArenaShrinkages", num_arena_shrinkages),
    ORT("MaxAllocSize", max_alloc_size),
    ORT("RequestedInUse", bytes_requested_in_use),
    ORT("ReservedBytes", reserved_bytes),
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
_Static_assert(sizeof(cuarena_stats_t) == sizeof(size_t) + COUNT_OF(own_figures) * sizeof(uint64_t),
               "every member of cuarena_stats_t has a key");
_Static_assert(sizeof(cuarena_ort_stats_t) ==
                   sizeof(size_t) + COUNT_OF(ort_figures) * sizeof(int64_t),
               "every member of cuarena_ort_stats_t has a key");

static uint64_t figure_at(const void *sized, const figure_t *figure)
{
    uint64_t value;
    memcpy(&value, (const char *)sized + figure->offset, sizeof value);
    return value;
}

const char *cuai_stats_figure(const cuarena_stats_t *stats, size_t index, uint64_t *value_out)
{
    if (index >= COUNT_OF(own_figures))
        return NULL;
    *value_out = figure_at(stats, &own_figures[index]);
    return own_figures[index].key;
}

/* The figures of one moment. */
typedef struct sheet {
    const figure_t *figures;
    size_t count;
    union {
        cuarena_stats_t own;
        cuarena_ort_stats_t ort;
    } of;
} sheet_t;

static cuarena_status_t fill(cuarena_t *arena, int32_t form, sheet_t *sheet)
{
    if (form == CUARENA_TEXT_STATS) {
        sheet->figures = own_figures;
        sheet->count = COUNT_OF(own_figures);
        cuarena_stats_init(&sheet->of.own);
        return cuarena_stats(arena, CUARENA_REGION_ALL, &sheet->of.own);
    }
    if (form == CUARENA_TEXT_ORT) {
        sheet->figures = ort_figures;
        sheet->count = COUNT_OF(ort_figures);
        cuarena_ort_stats_init(&sheet->of.ort);
        return cuarena_ort_stats(arena, &sheet->of.ort);
    }
    return cuai_fail(CUARENA_BAD_ARGUMENT, "form %d; accepted: 0 (own names), 1 (ONNX Runtime's)",
                     (int)form);
}

static uint64_t value_of(const sheet_t *sheet, size_t i)
{
    CUAI_ASSERT(i < sheet->count);
    return figure_at(&sheet->of, &sheet->figures[i]);
}

cuarena_status_t cuarena_stats_pairs(cuarena_t *arena, int32_t form, cuarena_pair_fn write,
                                     void *user)
{
    if (write == NULL)
        return cuai_null("write");
    sheet_t sheet;
    cuarena_status_t status = fill(arena, form, &sheet);
    if (status != CUARENA_OK)
        return cuai_told(status);
    for (size_t i = 0; i < sheet.count; i++) {
        char value[24];
        (void)snprintf(value, sizeof value, "%" PRIu64, value_of(&sheet, i));
        write(user, sheet.figures[i].key, value);
    }
    return CUARENA_OK;
}

/* Prints all of them as snprintf does; how long they are without the zero. */
static size_t print(const sheet_t *sheet, char *text, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < sheet->count; i++)
        used += (size_t)snprintf(used < room ? text + used : NULL, used < room ? room - used : 0,
                                 "%s=%" PRIu64 "\n", sheet->figures[i].key, value_of(sheet, i));
    return used;
}

cuarena_status_t cuarena_stats_text(cuarena_t *arena, int32_t form, char *text, size_t text_size,
                                    size_t *needed_out)
{
    if ((text == NULL) != (text_size == 0))
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT,
                                   "text %p of %zu bytes; accepted: both or, to ask, "
                                   "neither",
                                   (void *)text, text_size));
    sheet_t sheet;
    cuarena_status_t status = fill(arena, form, &sheet);
    if (status != CUARENA_OK)
        return cuai_told(status);
    size_t needed = print(&sheet, NULL, 0) + 1;
    if (needed_out != NULL)
        *needed_out = needed;
    if (text == NULL)
        return CUARENA_OK;
    if (needed > text_size)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT,
                                   "text_size %zu; accepted: from %zu on, for these "
                                   "figures",
                                   text_size, needed));
    (void)print(&sheet, text, text_size);
    return CUARENA_OK;
}

/* ---- Steps of running out ---------------------------------------------- */

cuarena_status_t cuarena_step_stats(cuarena_t *arena, cuarena_step_stats_t *steps, size_t capacity,
                                    size_t *count_out)
{
    if (arena == NULL || count_out == NULL)
        return cuai_null(arena == NULL ? "arena" : "count_out");
    if ((steps == NULL) != (capacity == 0))
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT,
                                   "steps %p with capacity %zu; accepted: both or, to "
                                   "ask, neither",
                                   (void *)steps, capacity));
    size_t count = cuai_min(capacity, CUARENA_STEP_COUNT);
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        steps[i] = (cuarena_step_stats_t){
            .name = cuai_step_name((int32_t)i),
            .tried = arena->steps[i].tried,
            .served = arena->steps[i].served,
        };
    *count_out = CUARENA_STEP_COUNT;
    return cuai_query_end(arena, CUARENA_OK);
}
