/*
 * Fuzz target: bytes are choices (support/choice.h) of calls on an arena of memory none, whose
 * bytes nobody touches. After each call the validator
 * runs, every block is where it was unless a relocation said otherwise, no
 * two overlap, and the statistics count what lives. A difference aborts.
 */
#include "../support/choice.h"

#include <cuarena.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 48u
#define STALE 16u
#define FOREIGN UINT64_C(0x100000000000) /* where adopted bytes lie */
#define MIB (UINT64_C(1) << 20)

/* What is known of a block. */
typedef struct slot {
    cuarena_block_t block; /* 0: no block here */
    void *address;         /* NULL if empty */
    uint64_t bytes;
    unsigned pins;    /* of cuarena_block_pin */
    bool is_pointer;  /* made by the pointer calls */
    bool keeps_place; /* as a pointer not yet unpinned, or adopted */
    bool is_stable;
    bool is_dedicated;
} slot_t;

typedef struct fuzz {
    cuarena_t *arena;
    choice_t choice;
    slot_t slots[SLOTS];
    cuarena_block_t stale[STALE];
    const char *call; /* the last one */
    bool each;        /* block is a segment, and keeps its size */
} fuzz_t;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Failing ------------------------------------------------------------ */

static void expect(const fuzz_t *fuzz, bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "%s: %s\n", fuzz->call, what);
    abort();
}

/* The bits of statuses that a call may come to. */
#define MAY(status) (UINT32_C(1) << (status))
#define MAY_REFUSE (MAY(CUARENA_OUT_OF_MEMORY) | MAY(CUARENA_FRAGMENTED) | MAY(CUARENA_LIMIT))

static bool came_to(const fuzz_t *fuzz, cuarena_status_t status, uint32_t may)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    cuarena_last_error_info(&info);
    if (status < 0 || status > 31 || ((MAY(status) | 1) & ~(may | 1)) != 0) {
        fprintf(stderr, "%s came to %s (%s)\n", fuzz->call, cuarena_status_name(status),
                info.message);
        abort();
    }
    return status == CUARENA_OK;
}

/* ---- Slots -------------------------------------------------------------- */

static slot_t *any_slot(fuzz_t *fuzz)
{
    return &fuzz->slots[choose(&fuzz->choice, SLOTS)];
}

static void forget(fuzz_t *fuzz, slot_t *slot)
{
    fuzz->stale[choose(&fuzz->choice, STALE)] = slot->block;
    *slot = (slot_t){0};
}

static cuarena_block_info_t info_of(const fuzz_t *fuzz, const slot_t *slot)
{
    cuarena_block_info_t info;
    cuarena_status_t status = cuarena_block_info(fuzz->arena, slot->block, &info);
    expect(fuzz, status == CUARENA_OK, "a live block has no info");
    return info;
}

static void learn_kind(const fuzz_t *fuzz, slot_t *slot)
{
    cuarena_block_info_t info = info_of(fuzz, slot);
    slot->address = info.address;
    slot->is_stable = info.region == CUARENA_REGION_STABLE;
    slot->is_dedicated = info.dedicated != 0;
}

static uint64_t any_bytes(fuzz_t *fuzz)
{
    static const uint64_t huge[] = {UINT64_C(1) << 40, UINT64_C(1) << 48, UINT64_C(1) << 63,
                                    UINT64_MAX - 255, UINT64_MAX};
    if (choose_one_in(&fuzz->choice, 32))
        return huge[choose(&fuzz->choice, 5)];
    uint64_t shift = choose(&fuzz->choice, 20);
    return choose(&fuzz->choice, UINT64_C(2) << shift);
}

/* ---- Checking ----------------------------------------------------------- */

static void check_slot(const fuzz_t *fuzz, const slot_t *slot)
{
    cuarena_block_info_t info = info_of(fuzz, slot);
    expect(fuzz, info.address == slot->address, "a block moved in silence");
    expect(fuzz, info.requested == slot->bytes, "a block has another size");
    expect(fuzz, info.allocated >= slot->bytes, "a block took too little");
    expect(fuzz, (slot->bytes == 0) == (info.address == NULL),
           "an address of nothing, or nothing of an address");
    expect(fuzz, info.moving == 0, "a block that moves for ever");
}

static bool overlap(const slot_t *a, const slot_t *b)
{
    uintptr_t x = (uintptr_t)a->address;
    uintptr_t y = (uintptr_t)b->address;
    return x < y + b->bytes && y < x + a->bytes;
}

static void check_overlaps(const fuzz_t *fuzz)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        const slot_t *a = &fuzz->slots[i];
        for (unsigned k = 0; k < i && a->address != NULL; k++) {
            const slot_t *b = &fuzz->slots[k];
            expect(fuzz, b->address == NULL || !overlap(a, b), "two blocks overlap");
        }
    }
}

static void check_stats(const fuzz_t *fuzz)
{
    cuarena_stats_t stats;
    uint64_t blocks = 0;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < SLOTS; i++) {
        blocks += fuzz->slots[i].block != 0 ? 1 : 0;
        bytes += fuzz->slots[i].bytes;
    }
    cuarena_stats_init(&stats);
    cuarena_status_t status = cuarena_stats(fuzz->arena, CUARENA_REGION_ALL, &stats);
    expect(fuzz, status == CUARENA_OK, "statistics failed");
    expect(fuzz, stats.live_blocks == blocks, "another count of blocks lives");
    expect(fuzz, stats.requested_bytes == bytes, "other bytes are requested");
    expect(fuzz, stats.live_bytes >= bytes, "fewer bytes live than requested");
}

static void check(const fuzz_t *fuzz)
{
    char text[256] = "";
    cuarena_status_t status = cuarena_validate(fuzz->arena, text, sizeof(text));
    expect(fuzz, status == CUARENA_OK, text);
    for (unsigned i = 0; i < SLOTS; i++) {
        if (fuzz->slots[i].block != 0)
            check_slot(fuzz, &fuzz->slots[i]);
    }
    check_overlaps(fuzz);
    check_stats(fuzz);
}

/* ---- Relocations -------------------------------------------------------- */

static slot_t *slot_of(fuzz_t *fuzz, cuarena_block_t block)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        if (fuzz->slots[i].block == block)
            return &fuzz->slots[i];
    }
    expect(fuzz, false, "a relocation of what is no block");
    return NULL;
}

static int32_t hear(void *user, const cuarena_relocation_t *list, size_t count)
{
    fuzz_t *fuzz = user;
    for (size_t i = 0; i < count; i++) {
        slot_t *slot = slot_of(fuzz, list[i].block);
        expect(fuzz, list[i].from == slot->address, "a relocation from elsewhere");
        expect(fuzz, slot->pins == 0 && !slot->keeps_place, "a relocation of what is pinned");
        slot->address = list[i].to;
    }
    return choose_one_in(&fuzz->choice, 8) ? 1 : 0;
}

/* ---- Pointers ----------------------------------------------------------- */

static cuarena_request_t any_request(fuzz_t *fuzz)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.region =
        choose_one_in(&fuzz->choice, 4) ? CUARENA_REGION_STABLE : CUARENA_REGION_DYNAMIC;
    request.dedicated = choose_one_in(&fuzz->choice, 8) ? 1 : 0;
    request.zeroed = choose_one_in(&fuzz->choice, 32) ? 1 : 0;
    if (choose_one_in(&fuzz->choice, 4))
        request.alignment = UINT64_C(1) << choose(&fuzz->choice, 24);
    return request;
}

/* What a resize may come to. */
static uint32_t may_resize(const fuzz_t *fuzz, const slot_t *slot)
{
    return MAY_REFUSE | MAY(CUARENA_BAD_ARGUMENT) | (slot->pins != 0 ? MAY(CUARENA_BUSY) : 0) |
           (slot->is_dedicated || fuzz->each ? MAY(CUARENA_UNSUPPORTED) : 0);
}

#define MAY_ALLOC (MAY_REFUSE | MAY(CUARENA_UNSUPPORTED) | MAY(CUARENA_BAD_ARGUMENT))

static void name_pointer(fuzz_t *fuzz, slot_t *slot, void *pointer, uint64_t bytes)
{
    cuarena_block_t block = 0;
    cuarena_status_t status = cuarena_block_of(fuzz->arena, pointer, &block);
    expect(fuzz, status == CUARENA_OK, "a pointer has no block");
    *slot = (slot_t){.block = block,
                     .address = pointer,
                     .bytes = bytes,
                     .is_pointer = true,
                     .keeps_place = true};
    learn_kind(fuzz, slot);
}

static void step_alloc(fuzz_t *fuzz, slot_t *slot)
{
    cuarena_request_t request = any_request(fuzz);
    uint64_t bytes = any_bytes(fuzz);
    void *pointer = NULL;
    fuzz->call = "alloc_with";
    if (slot->block != 0 ||
        !came_to(fuzz, cuarena_alloc_with(fuzz->arena, bytes, &request, &pointer), MAY_ALLOC))
        return;
    expect(fuzz, (pointer == NULL) == (bytes == 0), "NULL for some bytes");
    if (pointer != NULL)
        name_pointer(fuzz, slot, pointer, bytes);
}

static void step_free(fuzz_t *fuzz, slot_t *slot)
{
    fuzz->call = "free";
    if (slot->is_pointer)
        came_to(fuzz, cuarena_free(fuzz->arena, slot->address), 0);
    else if (slot->block != 0)
        came_to(fuzz, cuarena_block_free(fuzz->arena, slot->block), 0);
    if (slot->block != 0)
        forget(fuzz, slot);
}

static void resize_pointer(fuzz_t *fuzz, slot_t *slot, uint64_t bytes)
{
    void *pointer = NULL;
    if (!came_to(fuzz, cuarena_resize(fuzz->arena, slot->address, bytes, &pointer),
                 may_resize(fuzz, slot)))
        return;
    if (bytes == 0) {
        expect(fuzz, pointer == NULL, "a pointer to nothing");
        forget(fuzz, slot);
        return;
    }
    bool stays = pointer == slot->address || (slot->pins == 0 && !slot->is_stable);
    expect(fuzz, stays, "a pinned or stable block moved");
    slot_t was = *slot;
    name_pointer(fuzz, slot, pointer, bytes);
    slot->pins = was.pins;
    slot->keeps_place = was.keeps_place;
}

static void resize_block(fuzz_t *fuzz, slot_t *slot, uint64_t bytes)
{
    void *before = slot->address;
    if (!came_to(fuzz, cuarena_block_resize(fuzz->arena, slot->block, bytes),
                 may_resize(fuzz, slot)))
        return;
    slot->bytes = bytes;
    learn_kind(fuzz, slot);
    expect(fuzz, slot->pins == 0 || slot->address == before || bytes == 0, "a pinned block moved");
}

/* What was adopted is of the size that it is. */
static void step_resize(fuzz_t *fuzz, slot_t *slot)
{
    uint64_t bytes = any_bytes(fuzz);
    fuzz->call = "resize";
    if (slot->is_pointer)
        resize_pointer(fuzz, slot, bytes);
    else if (slot->block != 0 && !slot->keeps_place)
        resize_block(fuzz, slot, bytes);
}

static void step_unpin_pointer(fuzz_t *fuzz, slot_t *slot)
{
    fuzz->call = "unpin";
    if (!slot->is_pointer)
        return;
    bool legal = slot->keeps_place && !slot->is_stable;
    bool done = came_to(fuzz, cuarena_unpin(fuzz->arena, slot->address),
                        legal ? 0 : MAY(CUARENA_BAD_ARGUMENT));
    expect(fuzz, done == legal, "an unpin that is not legal");
    if (done)
        slot->keeps_place = false;
}

static void step_pin_pointer(fuzz_t *fuzz, slot_t *slot)
{
    fuzz->call = "pin";
    if (!slot->is_pointer || slot->keeps_place)
        return;
    came_to(fuzz, cuarena_pin(fuzz->arena, slot->address), 0);
    slot->keeps_place = true;
}

/* ---- Blocks ------------------------------------------------------------- */

static void step_block_alloc(fuzz_t *fuzz, slot_t *slot)
{
    cuarena_request_t request = any_request(fuzz);
    uint64_t bytes = any_bytes(fuzz);
    cuarena_block_t block = 0;
    fuzz->call = "block_alloc_with";
    if (slot->block != 0 ||
        !came_to(fuzz, cuarena_block_alloc_with(fuzz->arena, bytes, &request, &block), MAY_ALLOC))
        return;
    expect(fuzz, block != 0, "a block without an id");
    *slot = (slot_t){.block = block, .bytes = bytes};
    learn_kind(fuzz, slot);
}

static void step_block_pin(fuzz_t *fuzz, slot_t *slot)
{
    void *pointer = NULL;
    fuzz->call = "block_pin";
    if (slot->block == 0)
        return;
    came_to(fuzz, cuarena_block_pin(fuzz->arena, slot->block, &pointer), 0);
    expect(fuzz, pointer == slot->address, "pinned elsewhere");
    slot->pins++;
}

static void step_block_unpin(fuzz_t *fuzz, slot_t *slot)
{
    fuzz->call = "block_unpin";
    if (slot->pins == 0)
        return;
    came_to(fuzz, cuarena_block_unpin(fuzz->arena, slot->block), 0);
    slot->pins--;
}

static void step_adopt(fuzz_t *fuzz, slot_t *slot)
{
    uint64_t bytes = (1 + choose(&fuzz->choice, 16)) * 256;
    uint64_t address = FOREIGN + choose(&fuzz->choice, 256) * 128;
    cuarena_block_t block = 0;
    fuzz->call = "adopt";
    if (slot->block != 0 ||
        !came_to(fuzz, cuarena_adopt(fuzz->arena, (void *)(uintptr_t)address, bytes, 0, &block),
                 MAY(CUARENA_BAD_ARGUMENT) | MAY(CUARENA_LIMIT)))
        return;
    *slot = (slot_t){
        .block = block, .address = (void *)(uintptr_t)address, .bytes = bytes, .keeps_place = true};
}

static void step_stale(fuzz_t *fuzz, slot_t *slot)
{
    cuarena_block_t block = fuzz->stale[choose(&fuzz->choice, STALE)];
    void *pointer = NULL;
    fuzz->call = "a call with a stale id";
    if (block == 0)
        return;
    cuarena_status_t want = CUARENA_STALE;
    expect(fuzz, cuarena_block_free(fuzz->arena, block) == want, "free");
    expect(fuzz, cuarena_block_resize(fuzz->arena, block, 5) == want, "resize");
    expect(fuzz, cuarena_block_pin(fuzz->arena, block, &pointer) == want, "pin");
    if (slot->address != NULL && slot->bytes > 1)
        expect(fuzz, cuarena_free(fuzz->arena, (char *)slot->address + 1) == want,
               "free of an interior pointer");
}

/* ---- The whole ---------------------------------------------------------- */

static void step_compact(fuzz_t *fuzz, slot_t *slot)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    (void)slot;
    fuzz->call = "compact";
    if (choose_one_in(&fuzz->choice, 2))
        options.goal_bytes = choose(&fuzz->choice, MIB);
    if (choose_one_in(&fuzz->choice, 4))
        options.max_moves = choose(&fuzz->choice, 8);
    options.batch_moves = 1 + choose(&fuzz->choice, 8);
    options.report_unmoved = choose_one_in(&fuzz->choice, 8) ? 1 : 0;
    came_to(fuzz, cuarena_compact(fuzz->arena, &options, hear, fuzz, NULL),
            MAY_REFUSE | (fuzz->each ? MAY(CUARENA_UNSUPPORTED) : 0));
}

static void step_trim(fuzz_t *fuzz, slot_t *slot)
{
    uint64_t given = 0;
    (void)slot;
    fuzz->call = "trim";
    came_to(fuzz, cuarena_trim(fuzz->arena, choose(&fuzz->choice, 2 * MIB), &given),
            MAY(CUARENA_UNSUPPORTED));
}

static bool is_any_pinned(const fuzz_t *fuzz)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        if (fuzz->slots[i].pins != 0)
            return true;
    }
    return false;
}

static void step_reset(fuzz_t *fuzz, slot_t *slot)
{
    (void)slot;
    fuzz->call = "reset";
    if (!choose_one_in(&fuzz->choice, 4))
        return;
    bool busy = is_any_pinned(fuzz);
    bool done = came_to(fuzz, cuarena_reset(fuzz->arena), busy ? MAY(CUARENA_BUSY) : 0);
    expect(fuzz, done != busy, "reset with pins");
    for (unsigned i = 0; i < SLOTS && done; i++) {
        if (fuzz->slots[i].block != 0)
            forget(fuzz, &fuzz->slots[i]);
    }
}

static void step_resize_pool(fuzz_t *fuzz, slot_t *slot)
{
    uint64_t bytes = choose(&fuzz->choice, 32) * (MIB / 8);
    (void)slot;
    fuzz->call = "resize_pool";
    came_to(fuzz, cuarena_resize_pool(fuzz->arena, bytes),
            MAY_REFUSE | MAY(CUARENA_BUSY) | MAY(CUARENA_BAD_ARGUMENT) | MAY(CUARENA_UNSUPPORTED));
}

static void step_limit(fuzz_t *fuzz, slot_t *slot)
{
    cuarena_amount_t limit = {.value = choose(&fuzz->choice, 8 * MIB)};
    int32_t kind = (int32_t)choose(&fuzz->choice, 2);
    (void)slot;
    fuzz->call = "set_limit";
    if (choose_one_in(&fuzz->choice, 2))
        limit.value = UINT64_MAX;
    came_to(fuzz, cuarena_set_limit(fuzz->arena, kind, limit, NULL), 0);
}

static cuarena_cache_stats_t cache_of(const fuzz_t *fuzz)
{
    cuarena_cache_stats_t stats;
    cuarena_cache_stats_init(&stats);
    cuarena_status_t status = cuarena_cache_stats(fuzz->arena, &stats);
    expect(fuzz, status == CUARENA_OK, "figures of the cache failed");
    return stats;
}

static void release_cached(fuzz_t *fuzz, uint64_t bytes)
{
    cuarena_cache_stats_t before = cache_of(fuzz);
    uint64_t blocks = 0;
    came_to(fuzz, cuarena_cache_release(fuzz->arena, bytes, &blocks), 0);
    cuarena_cache_stats_t after = cache_of(fuzz);
    uint64_t gone = before.cached_bytes - after.cached_bytes;
    expect(fuzz, before.cached_blocks - after.cached_blocks == blocks,
           "another count of blocks ended");
    expect(fuzz, gone >= bytes || after.cached_bytes == 0, "too little ended");
}

static void step_cache(fuzz_t *fuzz, slot_t *slot)
{
    cuarena_amount_t limit = {.value = choose(&fuzz->choice, 2 * MIB)};
    (void)slot;
    fuzz->call = "a call about the cache";
    switch (choose(&fuzz->choice, 4)) {
    case 0:
        release_cached(fuzz, limit.value);
        break;
    case 1:
        came_to(fuzz, cuarena_cache_clear(fuzz->arena, NULL), 0);
        expect(fuzz, cache_of(fuzz).cached_bytes == 0, "some are cached still");
        break;
    case 2:
        came_to(fuzz, cuarena_set_limit(fuzz->arena, CUARENA_LIMIT_CACHED, limit, NULL), 0);
        break;
    default:
        came_to(fuzz, cuarena_set_limit(fuzz->arena, CUARENA_LIMIT_SOFT, limit, NULL), 0);
    }
}

/* ---- Running ------------------------------------------------------------ */

static void step(fuzz_t *fuzz)
{
    static void (*const steps[])(fuzz_t *, slot_t *) = {
        step_alloc,       step_alloc,         step_alloc,       step_block_alloc, step_block_alloc,
        step_block_alloc, step_free,          step_free,        step_free,        step_free,
        step_resize,      step_resize,        step_block_pin,   step_block_unpin, step_block_unpin,
        step_pin_pointer, step_unpin_pointer, step_adopt,       step_stale,       step_compact,
        step_trim,        step_reset,         step_resize_pool, step_limit,       step_cache,
        step_cache,
    };
    uint64_t count = sizeof(steps) / sizeof(steps[0]);
    slot_t *slot = any_slot(fuzz);
    steps[choose(&fuzz->choice, count)](fuzz, slot);
    check(fuzz);
}

/* The presets, and what else may be left by a free. */
static const struct row {
    int32_t preset;
    int32_t keep;
    int32_t segments;
} rows[] = {
    {CUARENA_PRESET_POOL, -1, -1},
    {CUARENA_PRESET_GROW, -1, -1},
    {CUARENA_PRESET_BFC, -1, -1},
    {CUARENA_PRESET_MLX_CPU, -1, -1},
    {CUARENA_PRESET_MLX_CUDA, -1, -1},
    {CUARENA_PRESET_CUPY_POOL, -1, -1},
    {CUARENA_PRESET_POOL, CUARENA_KEEP_CACHE, -1},
    {CUARENA_PRESET_BFC, CUARENA_KEEP_CACHE, -1},
    {CUARENA_PRESET_GROW, CUARENA_KEEP_NONE, -1},
    {CUARENA_PRESET_CUPY_POOL, CUARENA_KEEP_NONE, -1},
    {CUARENA_PRESET_GROW, -1, CUARENA_SEGMENTS_EACH},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void open_arena(fuzz_t *fuzz)
{
    static const uint64_t thresholds[] = {0, 4096, CUARENA_BYTES_PRESET, UINT64_MAX};
    cuarena_config_t config;
    cuarena_config_init(&config);
    config.memory = CUARENA_MEMORY_NONE;
    const struct row *row = &rows[choose(&fuzz->choice, ROWS)];
    config.preset = row->preset;
    config.keep = row->keep;
    config.segments = row->segments;
    fuzz->each = row->segments == CUARENA_SEGMENTS_EACH;
    config.unknown_keys = CUARENA_UNKNOWN_WARN; /* presets use what they can */
    config.pool = (cuarena_amount_t){.value = MIB};
    config.limit = (cuarena_amount_t){.value = 4 * MIB};
    if (config.preset == CUARENA_PRESET_POOL)
        config.stable.value = choose(&fuzz->choice, 5) * 64 * 1024;
    else
        config.stable.value = 0;
    config.stable.unit = CUARENA_AMOUNT_BYTES;
    config.placement = (int32_t)choose(&fuzz->choice, 3);
    config.split_threshold = thresholds[choose(&fuzz->choice, 4)];
    config.compact_on_oom = (int32_t)choose(&fuzz->choice, 2);
    fuzz->call = "create";
    came_to(fuzz, cuarena_create(&config, &fuzz->arena), 0);
    came_to(fuzz, cuarena_set_relocation_callback(fuzz->arena, hear, fuzz), 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t fuzz = {.choice = {.bytes = data, .left = size}};
    open_arena(&fuzz);
    while (!choice_done(&fuzz.choice))
        step(&fuzz);
    fuzz.call = "destroy_forced";
    came_to(&fuzz, cuarena_destroy_forced(&fuzz.arena), 0);
    return 0;
}
