/*
 * Plans for the kernel: which runs one launch takes, their table, and how the launch is divided.
 *
 * A launch takes the longest beginning of the list in which sources are disjoint, destinations are
 * disjoint, and no run writes where a later one reads. That is all of a compaction's list; of any
 * other the run that breaks the rule begins the next launch, so that the list is executed in order.
 */
#include "memory/cuda/slide.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"

#define UNIT_LOG2 7
/* Of shared memory, beside the tiles: the kernel's own, and the driver's. */
#define BULK_OVERHEAD 8192
#define ANY_OVERHEAD 1280
#define FEW_RUNS 8
/* Chunks of the table: what the bus has under way at a time, and no more. */
#define FETCH_AHEAD 32
#define MAX_UNITS (UINT32_C(1) << 31)

/* ---- Scratch and staging ----------------------------------------------- */

static_assert(sizeof(cuai_slide_run_t) == 32, "the kernel's layout");
static_assert(sizeof(cuai_slide_params_t) <= 4096, "the most a launch takes");
static_assert(CUAI_SLIDE_INLINE * (sizeof(cuai_slide_run_t) + 4) <=
                  CUAI_SLIDE_LIST * sizeof(cuai_slide_run_t),
              "runs and their order fit");

#define TICKET_AT 0
#define PUBLISHED_AT CUAI_SLIDE_LINE
#define TABLE_AT CUAI_SLIDE_SCRATCH_ZEROED

/* The bytes of a table: the runs, and their order by source. */
static size_t table_bytes(size_t runs)
{
    return runs * (sizeof(cuai_slide_run_t) + sizeof(uint32_t));
}

static uint32_t chunks(size_t bytes)
{
    return (uint32_t)((bytes + CUAI_SLIDE_CHUNK - 1) / CUAI_SLIDE_CHUNK);
}

static size_t whole_chunks(uint32_t runs)
{
    return (size_t)chunks(table_bytes(runs)) * CUAI_SLIDE_CHUNK;
}

size_t cuai_slide_scratch_bytes(uint32_t run_room)
{
    return TABLE_AT + whole_chunks(run_room);
}

/* Staging has the table and two more orders of the runs. */
size_t cuai_slide_staging_bytes(uint32_t run_room)
{
    return whole_chunks(run_room) + (size_t)run_room * 2 * sizeof(uint32_t);
}

void cuai_slide_init(cuai_slide_t *slide, const cuai_slide_device_t *device, uint64_t scratch,
                     void *staging, uint64_t staging_address, uint32_t run_room)
{
    CUAI_ASSERT(run_room >= CUAI_SLIDE_INLINE && run_room <= CUAI_SLIDE_MAX_RUNS);
    *slide = (cuai_slide_t){
        .device = *device,
        .scratch = scratch,
        .staging = staging,
        .staging_address = staging_address,
        .run_room = run_room,
        .published_base = CUAI_SLIDE_RING, /* the ring's zeros are older */
    };
}

/* ---- The shape --------------------------------------------------------- */

bool cuai_slide_kernel_runs(const cuai_slide_device_t *device, uint32_t kernel)
{
    CUAI_ASSERT(kernel < CUAI_SLIDE_KERNELS);
    return device->capability >= cuai_slide_texts[kernel].capability;
}

static bool has_room(const cuai_slide_device_t *device, uint32_t bytes)
{
    return device->shared_bytes_per_block >= bytes + BULK_OVERHEAD;
}

/* A few runs are best read far ahead. Many runs take time to look up, which more blocks share.
 * Units are at most half as long as the mean run, so that little of a tile stays empty. */
static cuai_slide_shape_t bulk_shape(const cuai_slide_device_t *device, uint64_t mean, size_t count)
{
    cuai_slide_shape_t shape = {.kernel = CUAI_SLIDE_BULK, .unit_log2 = 10};
    shape.stages = 2;
    if (count <= FEW_RUNS && has_room(device, 6 * 36864)) {
        shape.unit_log2 = 11;
        shape.stages = 6;
        shape.tile_bytes = 36864;
    } else if (mean >= CUAI_MIB && has_room(device, 2 * 49152)) {
        shape.unit_log2 = 11;
        shape.tile_bytes = 49152;
    } else {
        while (shape.unit_log2 > UNIT_LOG2 && mean >> shape.unit_log2 < 2)
            shape.unit_log2--;
        shape.tile_bytes = 32u << shape.unit_log2;
    }
    shape.block = 32 * (1 + shape.stages);
    shape.blocks_per_multiprocessor =
        device->shared_bytes_per_multiprocessor / (shape.tile_bytes * shape.stages + BULK_OVERHEAD);
    CUAI_ASSERT(shape.tile_bytes >> shape.unit_log2 <= 32);
    return shape;
}

static cuai_slide_shape_t any_shape(const cuai_slide_device_t *device)
{
    cuai_slide_shape_t shape = {
        .kernel = CUAI_SLIDE_ANY,
        .unit_log2 = UNIT_LOG2,
        .tile_bytes = 16384,
        .stages = 1,
        .block = 256,
    };
    uint32_t by_threads = device->threads_per_multiprocessor / shape.block;
    uint32_t by_room = device->shared_bytes_per_multiprocessor / (shape.tile_bytes + ANY_OVERHEAD);
    shape.blocks_per_multiprocessor = by_threads < by_room ? by_threads : by_room;
    return shape;
}

uint32_t cuai_slide_shared_bytes(const cuai_slide_device_t *device)
{
    static const uint64_t means[] = {1, CUAI_MIB};
    uint32_t most = 0;
    for (size_t count = 1; count <= FEW_RUNS + 1; count += FEW_RUNS)
        for (size_t i = 0; i < 2; i++) {
            cuai_slide_shape_t shape = bulk_shape(device, means[i], count);
            if (most < shape.tile_bytes * shape.stages)
                most = shape.tile_bytes * shape.stages;
        }
    return most;
}

static cuai_slide_shape_t choose_shape(const cuai_slide_device_t *device, uint64_t mean,
                                       size_t count, uint64_t alignment)
{
    if (alignment % 16 == 0 && cuai_slide_kernel_runs(device, CUAI_SLIDE_BULK))
        return bulk_shape(device, mean, count);
    return any_shape(device);
}

/* ---- Orders of runs ---------------------------------------------------- */

/* The runs of a launch under construction. */
typedef struct draft {
    cuai_slide_run_t *runs;
    uint32_t count;
    uint32_t *by_source; /* places: numbers of runs, by ascending source */
    uint32_t *by_target; /* numbers of runs, by ascending destination */
    uint32_t *spare;
    bool ascending; /* sources and destinations ascend, and all moves go down */
} draft_t;

static uint64_t source_of(const cuai_slide_run_t *run)
{
    return run->from;
}

static uint64_t target_of(const cuai_slide_run_t *run)
{
    return run->to;
}

typedef uint64_t (*key_fn)(const cuai_slide_run_t *run);

/* Merges two neighbouring stretches of an order. */
static void merge(const draft_t *draft, uint32_t *order, uint32_t middle, uint32_t end, key_fn key)
{
    const cuai_slide_run_t *runs = draft->runs;
    CUAI_ASSERT(middle != 0 && middle < end);
    if (key(&runs[order[middle - 1]]) <= key(&runs[order[middle]]))
        return;
    memcpy(draft->spare, order, middle * sizeof *order);
    uint32_t left = 0;
    uint32_t right = middle;
    uint32_t out = 0;
    while (left < middle && right < end)
        if (key(&runs[draft->spare[left]]) <= key(&runs[order[right]]))
            order[out++] = draft->spare[left++];
        else
            order[out++] = order[right++];
    memcpy(order + out, draft->spare + left, (middle - left) * sizeof *order);
}

/* Merge sort of an order: O(n log n), or O(n) if the runs are sorted already. */
static void sort(const draft_t *draft, uint32_t *order, key_fn key)
{
    uint32_t count = draft->count;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t width = 1; width < count; width *= 2)
        for (uint32_t i = 0; i + width < count; i += 2 * width)
            merge(draft, order + i, width, count - i < 2 * width ? count - i : 2 * width, key);
}

/* The higher number of two neighbours in an order that overlap, or count. */
static uint32_t overlap_in(const draft_t *draft, const uint32_t *order, key_fn key)
{
    for (uint32_t i = 1; i < draft->count; i++) {
        const cuai_slide_run_t *low = &draft->runs[order[i - 1]];
        if (key(low) + low->bytes > key(&draft->runs[order[i]]))
            return order[i] > order[i - 1] ? order[i] : order[i - 1];
    }
    return draft->count;
}

/* The first place whose source ends above an address. */
static uint32_t reach_of(const draft_t *draft, uint64_t address)
{
    uint32_t low = 0;
    CUAI_ASSERT(draft->count != 0);
    uint32_t high = draft->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const cuai_slide_run_t *run = &draft->runs[draft->by_source[middle]];
        if (run->from + run->bytes > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Fills in `reach`; returns the first run that reads what an earlier one writes, or count. */
static uint32_t stale_read(draft_t *draft)
{
    uint32_t found = draft->count;
    for (uint32_t i = 0; i < draft->count; i++) {
        cuai_slide_run_t *run = &draft->runs[i];
        run->reach = reach_of(draft, run->to);
        for (uint32_t k = run->reach; k < draft->count; k++) {
            uint32_t other = draft->by_source[k];
            if (draft->runs[other].from >= run->to + run->bytes)
                break;
            if (other > i && other < found)
                found = other;
        }
    }
    return found;
}

static uint32_t first_conflict(draft_t *draft)
{
    uint32_t found = overlap_in(draft, draft->by_source, source_of);
    if (found == draft->count)
        found = overlap_in(draft, draft->by_target, target_of);
    return found < draft->count ? found : stale_read(draft);
}

static void keep_below(uint32_t *order, uint32_t count, uint32_t limit)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (order[i] < limit)
            order[kept++] = order[i];
    CUAI_ASSERT(kept == limit);
}

/* Drops runs from the end until the launch can do the rest in order. */
static void drop_conflicts(draft_t *draft)
{
    sort(draft, draft->by_source, source_of);
    sort(draft, draft->by_target, target_of);
    for (;;) {
        uint32_t limit = first_conflict(draft);
        if (limit == draft->count)
            return;
        CUAI_ASSERT(limit != 0);
        keep_below(draft->by_source, draft->count, limit);
        keep_below(draft->by_target, draft->count, limit);
        draft->count = limit;
    }
}

/* ---- The draft --------------------------------------------------------- */

static cuai_slide_run_t run_of(const cuarena_relocation_t *move, uint32_t at)
{
    cuai_slide_run_t run = {
        .from = (uint64_t)(uintptr_t)move->from,
        .to = (uint64_t)(uintptr_t)move->to,
        .bytes = move->bytes,
        .at = at,
    };
    CUAI_ASSERT((run.from | run.to | run.bytes) % 8 == 0);
    return run;
}

static bool moves_nothing(const cuarena_relocation_t *move)
{
    return move->bytes == 0 || move->from == move->to;
}

/* Makes runs of as many entries of the list as there is room for; returns how many entries. */
static size_t take_any(draft_t *draft, const cuarena_relocation_t *list, size_t count,
                       uint32_t room, uint32_t unit_log2)
{
    uint64_t at = 0;
    size_t i = 0;
    draft->count = 0;
    for (; i < count && draft->count < room; i++) {
        if (moves_nothing(&list[i]))
            continue;
        uint64_t units = cuai_slide_units(list[i].bytes, unit_log2);
        if (at + units > MAX_UNITS)
            break;
        draft->runs[draft->count++] = run_of(&list[i], (uint32_t)at);
        at += units;
    }
    return i;
}

/* As take_any, up to the first entry that does not ascend or goes up. These runs cannot conflict,
 * the order of their sources is that of the list, and so `reach` only goes up. */
static size_t take_ascending(draft_t *draft, const cuarena_relocation_t *list, size_t count,
                             uint32_t room, uint32_t unit_log2)
{
    const cuarena_relocation_t *move = list;
    const cuarena_relocation_t *end = list + count;
    cuai_slide_run_t *run = draft->runs;
    cuai_slide_run_t *run_end = run + room;
    const cuai_slide_run_t *reached = run;
    uint64_t reached_end = 0; /* of its source */
    uint64_t from_end = 0;    /* of the run before */
    uint64_t to_end = 0;
    uint64_t at = 0;
    for (; move != end && run != run_end; move++) {
        *run = run_of(move, (uint32_t)at);
        uint64_t from = run->from;
        uint64_t to = run->to;
        uint64_t bytes = run->bytes;
        if (CUAI_UNLIKELY(bytes == 0 || to >= from || from < from_end || to < to_end)) {
            if (moves_nothing(move))
                continue;
            draft->ascending = false;
            break;
        }
        at += cuai_slide_units(bytes, unit_log2);
        if (CUAI_UNLIKELY(at > MAX_UNITS))
            break;
        if (run == reached)
            reached_end = from + bytes;
        while (reached_end <= to) {
            reached++;
            reached_end = reached->from + reached->bytes;
        }
        CUAI_ASSERT(reached <= run);
        run->reach = (uint32_t)(reached - draft->runs);
        run++;
        from_end = from + bytes;
        to_end = to + bytes;
    }
    draft->count = (uint32_t)(run - draft->runs);
    return (size_t)(move - list);
}

/* How many entries of the list become the first `runs` runs, with those that move nothing. */
static size_t taken_for(const cuarena_relocation_t *list, size_t count, uint32_t runs)
{
    size_t i = 0;
    for (; i < count; i++)
        if (!moves_nothing(&list[i]) && runs-- == 0)
            break;
    return i;
}

/* ---- The launch -------------------------------------------------------- */

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
    CUAI_ASSERT(b != 0);
    return a / b + (a % b != 0);
}

static void cut(const cuai_slide_t *slide, const cuai_slide_shape_t *shape,
                cuai_slide_launch_t *launch)
{
    cuai_slide_params_t *params = &launch->params;
    params->unit_log2 = shape->unit_log2;
    params->tile_units = shape->tile_bytes >> shape->unit_log2;
    params->stages = shape->stages;
    params->tile_count = ceil_div(params->unit_count, params->tile_units);
    launch->kernel = shape->kernel;
    launch->block = shape->block;
    launch->shared_bytes = shape->tile_bytes * shape->stages;
    uint32_t tickets = params->tile_count + params->fetch_count;
    uint32_t workers = slide->device.multiprocessors * shape->blocks_per_multiprocessor;
    CUAI_ASSERT(params->tile_units != 0 && shape->kernel < CUAI_SLIDE_KERNELS);
    launch->grid = tickets < workers ? tickets : workers;
    if (launch->grid == 0)
        launch->grid = 1;
}

static void begin(const cuai_slide_t *slide, cuai_slide_launch_t *launch)
{
    cuai_slide_params_t *params = &launch->params;
    params->runs = 0;
    params->table = 0;
    params->origin = 0;
    params->pack_log2 = 0;
    params->fetch_count = 0;
    params->fetch_ahead = 0;
    params->by_source = 0;
    params->published = slide->scratch + PUBLISHED_AT;
    params->ticket = slide->scratch + TICKET_AT;
    params->run_count = 0;
    params->unit_count = 0;
    params->ticket_base = slide->ticket_base;
    params->published_base = slide->published_base;
    params->published_mask = CUAI_SLIDE_RING - 1;
}

void cuai_slide_empty(const cuai_slide_t *slide, uint32_t kernel, cuai_slide_launch_t *launch)
{
    begin(slide, launch);
    cuai_slide_shape_t shape =
        choose_shape(&slide->device, 0, 0, kernel == CUAI_SLIDE_BULK ? 16 : 8);
    CUAI_ASSERT(shape.kernel == kernel);
    cut(slide, &shape, launch);
}

/* Writes the runs and, if they do not ascend, their order by source behind them. */
static size_t write_table(const draft_t *draft, cuai_slide_run_t *out)
{
    size_t count = draft->count;
    if (out != draft->runs)
        memcpy(out, draft->runs, count * sizeof *out);
    if (draft->ascending)
        return count * sizeof *out;
    memmove(out + count, draft->by_source, count * sizeof *draft->by_source);
    return table_bytes(count);
}

/* Writes the first unit of each chunk. */
static void write_index(const draft_t *draft, cuai_slide_params_t *params)
{
    unsigned char *index = (unsigned char *)params->list;
    CUAI_ASSERT(draft->count <= CUAI_SLIDE_MAX_RUNS);
    for (uint32_t k = 0; k < draft->count; k += CUAI_SLIDE_CHUNK_RUNS)
        memcpy(index + k / CUAI_SLIDE_CHUNK_RUNS * sizeof(uint32_t), &draft->runs[k].at,
               sizeof(uint32_t));
}

/* Whether the runs can be packed: they ascend, so the first destination is the lowest address, and
 * differences to it fit 32 bits. */
static bool packs(const draft_t *draft, uint32_t pack_log2)
{
    CUAI_ASSERT(draft->count != 0);
    const cuai_slide_run_t *last = &draft->runs[draft->count - 1];
    uint64_t span = last->from + last->bytes - draft->runs[0].to;
    return draft->ascending && span >> pack_log2 <= UINT32_MAX;
}

/* Packs in place, which works because packed runs are shorter. */
static void pack_table(const draft_t *draft, cuai_slide_params_t *params)
{
    unsigned char *out = (unsigned char *)draft->runs;
    for (uint32_t k = 0; k < draft->count; k++) {
        const cuai_slide_run_t *run = &draft->runs[k];
        CUAI_ASSERT(run->bytes >> params->pack_log2 <= UINT32_MAX);
        const cuai_slide_packed_t packed = {
            (uint32_t)((run->from - params->origin) >> params->pack_log2),
            (uint32_t)((run->to - params->origin) >> params->pack_log2),
            (uint32_t)(run->bytes >> params->pack_log2), run->reach};
        memcpy(out + k * sizeof packed, &packed, sizeof packed);
    }
}

static void place_table(const cuai_slide_t *slide, const draft_t *draft, uint64_t alignment,
                        cuai_slide_launch_t *launch)
{
    cuai_slide_params_t *params = &launch->params;
    CUAI_ASSERT(draft->count <= slide->run_room);
    if (draft->count <= CUAI_SLIDE_INLINE) {
        write_table(draft, params->list);
        params->by_source = draft->ascending ? 0 : 1;
        return;
    }
    write_index(draft, params);
    params->table = slide->staging_address;
    params->runs = slide->scratch + TABLE_AT;
    params->fetch_ahead = FETCH_AHEAD;
    uint32_t pack_log2 = (uint32_t)cuai_log2_floor(alignment);
    if (packs(draft, pack_log2)) {
        params->origin = draft->runs[0].to;
        params->pack_log2 = pack_log2;
        params->fetch_count = cuai_slide_run_chunks(params);
        pack_table(draft, params);
        return;
    }
    params->fetch_count = chunks(write_table(draft, draft->runs));
    if (!draft->ascending)
        params->by_source = params->runs + draft->count * sizeof *draft->runs;
}

static draft_t new_draft(const cuai_slide_t *slide)
{
    CUAI_ASSERT(slide->staging != NULL);
    cuai_slide_run_t *runs = slide->staging;
    uint32_t *orders = (uint32_t *)(void *)(runs + slide->run_room);
    return (draft_t){
        .runs = runs,
        .by_source = orders,
        .by_target = orders + slide->run_room,
        .spare = orders + 2 * (size_t)slide->run_room,
        .ascending = true,
    };
}

/* Bytes and common alignment of a list, by which a shape is chosen. */
static uint64_t sum_up(const cuarena_relocation_t *list, size_t count, uint64_t *alignment)
{
    uint64_t bytes = 0;
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += list[i].bytes;
        bits |= (uint64_t)(uintptr_t)list[i].from | (uint64_t)(uintptr_t)list[i].to | list[i].bytes;
    }
    *alignment = bits & (~bits + 1);
    return bytes;
}

/* Enlarges units until one launch of the whole list can count them, or a tile is one unit. */
static void enlarge_units(cuai_slide_shape_t *shape, uint64_t bytes, size_t count)
{
    while ((bytes >> shape->unit_log2) + count >= MAX_UNITS &&
           (shape->tile_bytes >> shape->unit_log2) > 1)
        shape->unit_log2++;
}

size_t cuai_slide_plan(const cuai_slide_t *slide, const cuarena_relocation_t *list, size_t count,
                       const cuai_slide_shape_t *shape, cuai_slide_launch_t *launch)
{
    begin(slide, launch);
    uint64_t alignment;
    uint64_t bytes = sum_up(list, count, &alignment);
    cuai_slide_shape_t chosen =
        choose_shape(&slide->device, count != 0 ? bytes / count : 0, count, alignment);
    if (shape == NULL)
        shape = &chosen;
    enlarge_units(&chosen, bytes, count);
    draft_t draft = new_draft(slide);
    const uint32_t unit_log2 = shape->unit_log2;
    size_t taken = take_ascending(&draft, list, count, slide->run_room, unit_log2);
    if (!draft.ascending) {
        taken = take_any(&draft, list, count, slide->run_room, unit_log2);
        uint32_t before = draft.count;
        drop_conflicts(&draft);
        if (draft.count < before)
            taken = taken_for(list, taken, draft.count);
    }
    if (draft.count != 0) {
        const cuai_slide_run_t *last = &draft.runs[draft.count - 1];
        launch->params.run_count = draft.count;
        launch->params.unit_count = last->at + cuai_slide_units(last->bytes, shape->unit_log2);
    }
    place_table(slide, &draft, alignment, launch);
    cut(slide, shape, launch);
    return taken;
}

bool cuai_slide_prefers_copy(const cuarena_relocation_t *list, size_t count)
{
    if (count != 1)
        return false;
    uint64_t from = (uint64_t)(uintptr_t)list->from;
    uint64_t to = (uint64_t)(uintptr_t)list->to;
    return (from < to ? to - from : from - to) >= list->bytes;
}

void cuai_slide_queued(cuai_slide_t *slide, const cuai_slide_launch_t *launch)
{
    CUAI_ASSERT(launch->grid != 0);
    /* Each block draws one ticket too many. */
    uint32_t tickets = launch->params.fetch_count + launch->params.tile_count;
    slide->ticket_base += tickets + launch->grid;
    slide->published_base += tickets;
}
