/* See fixture.h. */
#include "support/fixture.h"

#include "support/fixture_streams.h"
#include "support/scale.h"
#include "support/told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Fixtures ---------------------------------------------------------- */

const arena_reach_t *arena_reach;

cuarena_amount_t amount_of_bytes(uint64_t bytes)
{
    return (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, bytes};
}

static void prepare_bytes(fixture_t *f, uint64_t bytes)
{
    const int32_t kind = f->kind->bytes_kind;
    f->bytes = kind == CUARENA_BYTES_HOST ? aligned_alloc(4096, bytes)
                                          : arena_reach->alloc_bytes(kind, bytes);
    f->config.bytes_kind = kind;
    ck_assert_ptr_nonnull(f->bytes);
    f->bytes_size = bytes;
    f->config.bytes = f->bytes;
    f->config.bytes_size = bytes;
}

static void prepare_custom(fixture_t *f, uint64_t bytes)
{
    test_memory_init(&f->memory);
    if (f->kind->traits & KIND_PLAIN)
        test_memory_make_plain(&f->memory);
    f->memory.quiet = bytes > MIB(64);
    f->config.ops = &f->memory.ops;
    f->config.ops_user = &f->memory;
}

static void prepare_simulated(fixture_t *f)
{
    sim_open(&f->sim, 1, (f->kind->traits & KIND_READABLE) != 0);
    for (int number = 1; number <= 3; number++)
        sim_stream_make(&f->sim, sim_handle(number));
    f->config.ops = &f->sim.ops;
    f->config.ops_user = &f->sim;
    f->config.stable = amount_of_bytes(0);
}

static bool is_simulated(const fixture_t *f)
{
    return (f->kind->traits & KIND_SIMULATED) != 0;
}

/* The simulation counts the calls of the memory. */
static int32_t zero_at_first(const arena_kind_t *kind)
{
    return (kind->traits & (KIND_READABLE | KIND_SIMULATED)) == KIND_READABLE ? zero_for_checkers()
                                                                              : CUARENA_ZERO_NEVER;
}

void fixture_prepare(fixture_t *f, const arena_kind_t *kind, uint64_t bytes)
{
    memset(f, 0, sizeof *f);
    f->kind = kind;
    cuarena_config_init(&f->config);
    f->config.preset = kind->preset;
    f->config.memory = kind->memory;
    f->config.backing = kind->backing;
    f->config.zero = zero_at_first(kind);
    f->config.nvtx = nvtx_for_tools();
    f->config.unknown_keys = CUARENA_UNKNOWN_WARN; /* not all kinds use all */
    f->config.pool = amount_of_bytes(bytes);
    if ((kind->traits & KIND_EXACT) != 0)
        f->config.grow = CUARENA_GROW_EXACT;
    if (kind->preset != CUARENA_PRESET_POOL)
        f->config.limit = amount_of_bytes(bytes);
    else
        f->config.address_bytes = 16 * bytes; /* for resize_pool */
    if (kind->memory == CUARENA_MEMORY_BYTES)
        prepare_bytes(f, bytes);
    if (is_simulated(f))
        prepare_simulated(f);
    else if (kind->memory == CUARENA_MEMORY_CUSTOM)
        prepare_custom(f, bytes);
    snprintf(f->config.name, sizeof f->config.name, "%s", kind->name);
}

void fixture_tells_nothing(fixture_t *f)
{
    const int32_t memory = f->kind->memory;
    if (memory == CUARENA_MEMORY_DEVICE || memory == CUARENA_MEMORY_MANAGED ||
        memory == CUARENA_MEMORY_PINNED || f->kind->bytes_kind != CUARENA_BYTES_HOST)
        f->config.nvtx = CUARENA_NVTX_OFF;
}

void fixture_create(fixture_t *f)
{
    cuarena_status_t status = cuarena_create(&f->config, &f->arena);
    ck_assert_msg(status == CUARENA_OK, "create %s: %s (%s)", f->kind->name,
                  cuarena_status_name(status), last_error().message);
    expect_sound(f);
    if (is_simulated(f))
        sim_calls(&f->sim);
}

static void expect_no_fault(const fixture_t *f, const char *file, int line)
{
    if (f->sim.faults != 0)
        ck_abort_msg("%s:%d: %u faults; the first: %s", file, line, f->sim.faults, f->sim.fault);
}

void expect_sound_at(const fixture_t *f, const char *file, int line)
{
    expect_valid_arena_at(f->arena, file, line);
    expect_no_fault(f, file, line);
}

void fixture_open(fixture_t *f, const arena_kind_t *kind, uint64_t bytes)
{
    fixture_prepare(f, kind, bytes);
    fixture_create(f);
}

void fixture_prepare_text(fixture_t *f, const char *options)
{
    static const arena_kind_t kind = {"options", CUARENA_PRESET_POOL, CUARENA_MEMORY_NONE, 0, 0, 0};
    memset(f, 0, sizeof *f);
    f->kind = &kind;
    f->config = tested_config(options);
}

void fixture_open_text(fixture_t *f, const char *options)
{
    fixture_prepare_text(f, options);
    fixture_create(f);
}

void fixture_release(fixture_t *f)
{
    if (f->bytes != NULL && f->kind->bytes_kind != CUARENA_BYTES_HOST)
        arena_reach->free_bytes(f->kind->bytes_kind, f->bytes);
    else
        free(f->bytes);
    f->bytes = NULL;
    if (f->sim.stream_count != 0) {
        sim_close(&f->sim);
        f->sim.stream_count = 0;
        expect_no_fault(f, __FILE__, __LINE__);
    } else if (f->kind->memory == CUARENA_MEMORY_CUSTOM && !is_simulated(f)) {
        expect_memory_clean(&f->memory);
    }
}

static void release_ended(fixture_t *f)
{
    ck_assert_ptr_null(f->arena);
    finish_work(f);
    if (f->kind->memory == CUARENA_MEMORY_CUSTOM && !is_simulated(f))
        expect_u64(f->memory.counts[OP_END], 1);
    fixture_release(f);
}

void fixture_close(fixture_t *f)
{
    expect_sound(f);
    if (is_simulated(f)) { /* a block may wait for its uses; destroy refuses if one lives */
        sim_sync_all(&f->sim);
    } else {
        expect_u64(live_blocks(f), 0);
        expect_u64(live_bytes(f), 0);
        finish_work(f); /* as destroy asks for */
    }
    expect_ok(cuarena_destroy(&f->arena));
    release_ended(f);
}

void fixture_close_forced(fixture_t *f)
{
    expect_sound(f);
    expect_ok(cuarena_destroy_forced(&f->arena));
    release_ended(f);
}

/* ---- The fixture of a test --------------------------------------------- */

static fixture_t fixture;
static void (*close_it)(fixture_t *f);

static void end_fixture(void)
{
    if (fixture.arena != NULL && fixture.arena != UNTOUCHED) /* as a create that fails leaves it */
        close_it(&fixture);
    else
        fixture_release(&fixture);
}

fixture_t *new_fixture(void (*close)(fixture_t *f))
{
    close_it = close;
    after_test(end_fixture);
    return &fixture;
}

fixture_t *prepared(const arena_kind_t *kind, uint64_t bytes)
{
    fixture_t *f = new_fixture(fixture_close);
    fixture_prepare(f, kind, bytes);
    return f;
}

fixture_t *opened(const arena_kind_t *kind, uint64_t bytes)
{
    fixture_t *f = new_fixture(fixture_close);
    fixture_open(f, kind, bytes);
    return f;
}

fixture_t *opened_text(const char *options)
{
    fixture_t *f = new_fixture(fixture_close);
    fixture_open_text(f, options);
    return f;
}

/* ---- Blocks ------------------------------------------------------------- */

void *alloc_ok(fixture_t *f, uint64_t bytes)
{
    void *pointer = NULL;
    cuarena_status_t status = try_take(f, bytes, NULL, &pointer);
    ck_assert_msg(status == CUARENA_OK, "%s: alloc of %llu: %s (%s)", f->kind->name,
                  (unsigned long long)bytes, cuarena_status_name(status), last_error().message);
    expect_sound(f);
    return pointer;
}

static void *alloc_as(fixture_t *f, uint64_t bytes, const cuarena_request_t *request)
{
    void *pointer = NULL;
    step_ok(f, try_take(f, bytes, request, &pointer));
    return pointer;
}

void *alloc_in(fixture_t *f, uint64_t bytes, int32_t region)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.region = region;
    return alloc_as(f, bytes, &request);
}

void *alloc_tagged(fixture_t *f, uint64_t bytes, cuarena_tag_t tag)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.tag = tag;
    return alloc_as(f, bytes, &request);
}

void *alloc_zeroed(fixture_t *f, uint64_t bytes)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = 1;
    return alloc_as(f, bytes, &request);
}

void *alloc_dedicated(fixture_t *f, uint64_t bytes)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    return alloc_as(f, bytes, &request);
}

cuarena_block_t alloc_dedicated_block(fixture_t *f, uint64_t bytes)
{
    cuarena_block_t block = 0;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    step_ok(f, cuarena_block_alloc_with(f->arena, bytes, &request, &block));
    return block;
}

cuarena_block_t alloc_block(fixture_t *f, uint64_t bytes)
{
    cuarena_block_t block = 0;
    cuarena_status_t status = try_take_block(f, bytes, &block);
    ck_assert_msg(status == CUARENA_OK, "%s: block_alloc of %llu: %s (%s)", f->kind->name,
                  (unsigned long long)bytes, cuarena_status_name(status), last_error().message);
    expect_sound(f);
    ck_assert_uint_ne(block, 0);
    return block;
}

void free_ok(fixture_t *f, void *pointer)
{
    step_ok(f, try_drop(f, pointer));
}

void free_block(fixture_t *f, cuarena_block_t block)
{
    step_ok(f, try_drop_block(f, block));
}

cuarena_block_info_t info_of(fixture_t *f, cuarena_block_t block)
{
    cuarena_block_info_t info;
    expect_ok(cuarena_block_info(f->arena, block, &info));
    expect_u64(info.block, block);
    return info;
}

void *address_of(fixture_t *f, cuarena_block_t block)
{
    return info_of(f, block).address;
}

cuarena_block_t unpinned_block_of(fixture_t *f, void *pointer)
{
    cuarena_block_t block = 0;
    expect_ok(cuarena_block_of(f->arena, pointer, &block));
    step_ok(f, cuarena_unpin(f->arena, pointer));
    return block;
}

/* Insertion: rows are short. */
void alloc_row(fixture_t *f, cuarena_block_t *blocks, size_t count, uint64_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        cuarena_block_t block = alloc_block(f, bytes);
        char *address = address_of(f, block);
        size_t at = i;
        for (; at > 0 && address < (char *)address_of(f, blocks[at - 1]); at--)
            blocks[at] = blocks[at - 1];
        blocks[at] = block;
    }
    for (size_t i = 0; i < count; i++)
        paint(f, address_of(f, blocks[i]), bytes, i);
}

void alloc_pointer_row(fixture_t *f, void **pointers, size_t count, uint64_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        void *pointer = alloc_ok(f, bytes);
        size_t at = i;
        for (; at > 0 && (char *)pointer < (char *)pointers[at - 1]; at--)
            pointers[at] = pointers[at - 1];
        pointers[at] = pointer;
    }
    for (size_t i = 0; i < count; i++)
        paint(f, pointers[i], bytes, i);
}

void free_row(fixture_t *f, cuarena_block_t *blocks, size_t count, uint64_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (blocks[i] != 0)
            expect_painted(f, address_of(f, blocks[i]), bytes, i);
        free_block(f, blocks[i]);
        blocks[i] = 0;
    }
}

void free_pointer_row(fixture_t *f, void **pointers, size_t count, uint64_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (pointers[i] != NULL)
            expect_painted(f, pointers[i], bytes, i);
        free_ok(f, pointers[i]);
        pointers[i] = NULL;
    }
}

/* Whichever end blocks are cut from, one of the two orders does it. */
cuarena_block_t alloc_above_a_hole(fixture_t *f, uint64_t hole, uint64_t bytes)
{
    cuarena_block_t below = alloc_block(f, hole);
    cuarena_block_t block = alloc_block(f, bytes);
    if ((char *)address_of(f, block) < (char *)address_of(f, below)) {
        free_block(f, block);
        free_block(f, below);
        block = alloc_block(f, bytes);
        below = alloc_block(f, hole);
    }
    ck_assert((char *)address_of(f, below) < (char *)address_of(f, block));
    free_block(f, below);
    return block;
}

cuarena_status_t exhausted(const fixture_t *f)
{
    return f->kind->traits & KIND_GROWS ? CUARENA_LIMIT : CUARENA_OUT_OF_MEMORY;
}

cuarena_stats_t stats_of(const fixture_t *f)
{
    return arena_stats(f->arena);
}

cuarena_stats_t region_stats_of(const fixture_t *f, int32_t region)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_stats(f->arena, region, &stats));
    return stats;
}

cuarena_stats_t tag_stats_of(const fixture_t *f, cuarena_tag_t tag)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_tag_stats(f->arena, tag, &stats));
    return stats;
}

cuarena_inspection_t inspection_of(const fixture_t *f, int32_t region)
{
    cuarena_inspection_t inspection;
    cuarena_inspection_init(&inspection);
    expect_ok(cuarena_inspect(f->arena, region, &inspection));
    return inspection;
}

cuarena_cache_stats_t cache_stats_of(const fixture_t *f)
{
    cuarena_cache_stats_t stats;
    cuarena_cache_stats_init(&stats);
    expect_ok(cuarena_cache_stats(f->arena, &stats));
    return stats;
}

void expect_cache(const fixture_t *f, uint64_t active, uint64_t cached)
{
    expect_sound(f);
    expect_u64(cache_stats_of(f).active_bytes, active);
    expect_u64(cache_stats_of(f).cached_bytes, cached);
}

uint64_t clear_cache(fixture_t *f)
{
    uint64_t blocks = UINT64_MAX;
    step_ok(f, cuarena_cache_clear(f->arena, &blocks));
    return blocks;
}

uint64_t set_limit(fixture_t *f, int32_t kind, uint64_t bytes)
{
    uint64_t old = 0;
    step_ok(f, cuarena_set_limit(f->arena, kind, amount_of_bytes(bytes), &old));
    return old;
}

uint64_t reserved_bytes(const fixture_t *f)
{
    return stats_of(f).reserved_bytes;
}

uint64_t capacity_bytes(const fixture_t *f)
{
    return stats_of(f).capacity_bytes;
}

void expect_reserved(const fixture_t *f, uint64_t bytes)
{
    expect_u64(reserved_bytes(f), bytes);
    expect_u64(f->memory.reserved_bytes, bytes);
    expect_u64(capacity_bytes(f), bytes);
}

uint64_t trim_to(fixture_t *f, uint64_t keep)
{
    uint64_t given = 0, before = reserved_bytes(f);
    step_ok(f, cuarena_trim(f->arena, keep, &given));
    expect_u64(before - reserved_bytes(f), given);
    return given;
}

void use_handler(fixture_t *f, cuarena_oom_fn handler, void *user)
{
    expect_ok(cuarena_set_oom_handler(f->arena, handler, user));
}

int32_t blunder(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    (void)user, (void)asked_bytes, (void)attempt;
    expect_status(cuarena_free(arena, UNTOUCHED), CUARENA_STALE);
    return 0;
}

uint64_t allocated_bytes(const fixture_t *f, const void *pointer)
{
    uint64_t bytes = 0;
    expect_ok(cuarena_size_of(f->arena, pointer, NULL, &bytes));
    return bytes;
}

uint64_t live_bytes(const fixture_t *f)
{
    return stats_of(f).live_bytes;
}

uint64_t live_blocks(const fixture_t *f)
{
    return stats_of(f).live_blocks;
}

uint64_t live_in(const fixture_t *f, int32_t region)
{
    return region_stats_of(f, region).live_bytes;
}

uint64_t room_in(const fixture_t *f, int32_t region)
{
    uint64_t room = region_stats_of(f, region).free_bytes;
    if (f->kind->traits & KIND_GROWS)
        room += f->config.limit.value - stats_of(f).reserved_bytes;
    return room;
}

/* ---- Recounting -------------------------------------------------------- */

typedef struct tally {
    uint64_t blocks, live, requested;
} tally_t;

typedef struct recount {
    tally_t all, dedicated, regions[CUARENA_REGION_COUNT];
    uint64_t pinned;
    int has_stable; /* without, stable blocks lie in the dynamic region */
} recount_t;

static void count_into(tally_t *tally, const cuarena_block_info_t *info)
{
    tally->blocks++;
    tally->live += info->allocated;
    tally->requested += info->requested;
}

static void count_block(recount_t *recount, const cuarena_block_info_t *info)
{
    int apart = info->dedicated || info->adopted;
    int32_t region = recount->has_stable ? info->region : CUARENA_REGION_DYNAMIC;
    count_into(&recount->all, info);
    count_into(apart ? &recount->dedicated : &recount->regions[region], info);
    if (info->allocated < info->requested)
        ck_abort_msg("a block of %llu bytes has %llu", (unsigned long long)info->requested,
                     (unsigned long long)info->allocated);
    recount->pinned += !apart && info->allocated != 0 && info->pins != 0;
}

/* A few at a time, so that the cursor is used. */
static recount_t recount_blocks(const fixture_t *f)
{
    recount_t recount = {.has_stable = f->config.stable.value != 0 ||
                                       f->config.stable.unit != CUARENA_AMOUNT_BYTES};
    cuarena_block_info_t infos[5];
    uint64_t cursor = 0;
    size_t count = 0;
    do {
        expect_ok(cuarena_blocks(f->arena, &cursor, infos, COUNT_OF(infos), &count));
        for (size_t i = 0; i < count; i++)
            count_block(&recount, &infos[i]);
    } while (count == COUNT_OF(infos));
    return recount;
}

/* Of the dynamic region, as of the whole. */
static uint64_t cached_bytes(const fixture_t *f)
{
    return cache_stats_of(f).cached_bytes;
}

/* Guards are live bytes of no block. */
static void expect_tally(const fixture_t *f, const cuarena_stats_t *stats, const tally_t *tally,
                         uint64_t cached)
{
    expect_u64(stats->live_blocks, tally->blocks);
    if (f->config.guard_bytes == 0)
        expect_u64(stats->live_bytes, tally->live);
    else
        ck_assert_uint_ge(stats->live_bytes, tally->live);
    expect_u64(stats->requested_bytes, tally->requested);
    expect_u64(stats->free_bytes + stats->live_bytes + cached, stats->capacity_bytes);
    ck_assert_uint_ge(stats->peak_live_bytes, stats->live_bytes);
    ck_assert_uint_ge(stats->peak_requested_bytes, stats->requested_bytes);
    ck_assert_uint_ge(stats->peak_live_blocks, stats->live_blocks);
}

static void expect_histograms(const cuarena_inspection_t *inspection)
{
    uint64_t ranges = 0, free_bytes = 0;
    for (size_t i = 0; i < COUNT_OF(inspection->range_counts); i++) {
        ranges += inspection->range_counts[i];
        free_bytes += inspection->range_bytes[i];
    }
    expect_u64(ranges, inspection->ranges);
    expect_u64(free_bytes, inspection->free_bytes);
}

static void expect_region(const fixture_t *f, int32_t region, const tally_t *tally)
{
    cuarena_stats_t stats = region_stats_of(f, region);
    cuarena_inspection_t inspection = inspection_of(f, region);
    expect_tally(f, &stats, tally, region == CUARENA_REGION_DYNAMIC ? cached_bytes(f) : 0);
    expect_histograms(&inspection);
    expect_u64(inspection.free_bytes, stats.free_bytes);
    expect_u64(inspection.pinned_bytes + inspection.movable_bytes, stats.live_bytes);
    ck_assert_uint_le(stats.largest_bytes, inspection.largest_bytes);
    if (f->work == NULL) /* else it is the largest that is idle */
        ck_assert_uint_ge(stats.largest_bytes,
                          inspection.largest_bytes - inspection.largest_bytes / 32);
}

void expect_recount(const fixture_t *f)
{
    recount_t recount = recount_blocks(f);
    cuarena_stats_t all = stats_of(f);
    expect_tally(f, &all, &recount.all, cached_bytes(f));
    if (f->config.guard_bytes == 0)
        expect_u64(all.dedicated_bytes, recount.dedicated.live);
    ck_assert_uint_ge(all.peak_reserved_bytes, all.reserved_bytes);
    for (int32_t region = 0; region < CUARENA_REGION_COUNT; region++)
        expect_region(f, region, &recount.regions[region]);
    uint64_t pinned = 0;
    for (int32_t region = 0; region < CUARENA_REGION_COUNT; region++)
        pinned += inspection_of(f, region).pinned_blocks;
    expect_u64(pinned, recount.pinned);
}

/* ---- Relocations ------------------------------------------------------- */

static int overlap(const void *a, const void *b, uint64_t a_bytes, uint64_t b_bytes)
{
    uintptr_t left = (uintptr_t)a, right = (uintptr_t)b;
    return left < right + b_bytes && right < left + a_bytes;
}

/* No new range overlaps the old range of a later one. Assertions of check are slow, so they stand
 * where there is something to tell. */
static void expect_ordered(const cuarena_relocation_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (overlap(list[i].to, list[j].from, list[i].bytes, list[j].bytes))
                ck_abort_msg("relocation %zu writes over the source of %zu", i, j);
}

int32_t hear_relocations(void *user, const cuarena_relocation_t *list, size_t count)
{
    heard_t *heard = user;
    size_t room = HEARD_MAX - heard->kept;
    size_t keep = count < room ? count : room;
    memcpy(heard->list + heard->kept, list, keep * sizeof *list);
    heard->kept += keep;
    heard->count += count;
    heard->batches++;
    if (count > heard->largest_batch)
        heard->largest_batch = count;
    expect_ordered(list, keep);
    return heard->stop_after != 0 && heard->batches >= heard->stop_after;
}

const cuarena_relocation_t *heard_of(const heard_t *heard, cuarena_block_t block)
{
    for (size_t i = 0; i < heard->kept; i++)
        if (heard->list[i].block == block)
            return &heard->list[i];
    return NULL;
}

/* ---- Running ----------------------------------------------------------- */

TCase *new_case(Suite *suite, const char *name)
{
    TCase *tcase = suite_add_case(suite, name);
    tcase_set_timeout(tcase, scale_timeout(60));
    return tcase;
}
