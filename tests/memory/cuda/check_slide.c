/*
 * Relocation lists for the device's kernel: what a plan makes of a list, and that the kernel's
 * protocol, run in C in a random order, moves
 * bytes as if the list were executed entry by entry. Then the protocol is broken on purpose, and
 * must be caught.
 *
 * Looks inside, since no public call says how a list is cut for the kernel.
 */
#include "support/expect.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/slide_protocol.h"

#include "base/bits.h"
#include "memory/cuda/slide.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define POOL_BYTES (256 * 1024)
#define RUN_ROOM 3000u
#define LIST_ROOM 4000u

/* ---- A device of the tests' own ---------------------------------------- */

static const cuai_slide_device_t h200 = {
    .capability = 90,
    .multiprocessors = 132,
    .threads_per_multiprocessor = 2048,
    .shared_bytes_per_multiprocessor = 233472,
    .shared_bytes_per_block = 232448,
};
/* Bulk copies, but less room. */
static const cuai_slide_device_t rtx5090 = {
    .capability = 120,
    .multiprocessors = 170,
    .threads_per_multiprocessor = 1536,
    .shared_bytes_per_multiprocessor = 102400,
    .shared_bytes_per_block = 101376,
};
static const cuai_slide_device_t v100 = {
    .capability = 70,
    .multiprocessors = 80,
    .threads_per_multiprocessor = 2048,
    .shared_bytes_per_multiprocessor = 98304,
    .shared_bytes_per_block = 98304,
};

typedef struct area {
    unsigned char *bytes;
    uint64_t size;
    unsigned char *held; /* all that was allocated */
} area_t;

static area_t pool;
static area_t scratch;
static area_t staging;
static unsigned char *wanted; /* the pool, moved entry by entry */
static cuarena_relocation_t list[LIST_ROOM];
static size_t list_count;
static random_state_t dice;
static cuai_slide_t slide;

static uint64_t address_of(const area_t *area)
{
    return (uint64_t)(uintptr_t)area->bytes;
}

static area_t area_of(uint64_t size)
{
    area_t area = {NULL, size, calloc(1, size)};
    ck_assert(area.held != NULL);
    area.bytes = area.held;
    return area;
}

/* With a seam near the middle, where no unit begins. */
static area_t area_over_seam(uint64_t size)
{
    area_t area = area_of(size + CUAI_SLIDE_SEAM);
    uint64_t left = CUAI_SLIDE_SEAM - address_of(&area) % CUAI_SLIDE_SEAM;
    area.size = size;
    area.bytes += (left + CUAI_SLIDE_SEAM - size / 2 + 48) % CUAI_SLIDE_SEAM;
    return area;
}

static void open_device(void)
{
    pool = area_over_seam(POOL_BYTES);
    scratch = area_of(cuai_slide_scratch_bytes(RUN_ROOM));
    staging = area_of(cuai_slide_staging_bytes(RUN_ROOM));
    wanted = malloc(POOL_BYTES);
    ck_assert(wanted != NULL);
    cuai_slide_init(&slide, &h200, address_of(&scratch), staging.bytes, address_of(&staging),
                    RUN_ROOM);
    list_count = 0;
    dice = (random_state_t){scale_seed("slide")};
}

static void close_device(void)
{
    free(pool.held);
    free(scratch.held);
    free(staging.held);
    free(wanted);
}

static bool within(const area_t *area, uint64_t address, uint64_t bytes)
{
    uint64_t offset = address - address_of(area);
    return offset < area->size && bytes <= area->size - offset;
}

/* What is moved goes over no seam, as on a device that is watched. */
static void *access_bytes(void *user, uint64_t address, uint64_t bytes)
{
    (void)user;
    if (within(&pool, address, bytes))
        return cuai_slide_to_seam(address, bytes) == bytes ? (void *)(uintptr_t)address : NULL;
    if (within(&scratch, address, bytes) || within(&staging, address, bytes))
        return (void *)(uintptr_t)address;
    return NULL;
}

static const void *access_read(void *user, uint64_t address, uint64_t bytes)
{
    return access_bytes(user, address, bytes);
}

static const slide_access_t in_memory = {access_read, access_bytes, access_bytes, NULL};

/* ---- Lists ------------------------------------------------------------- */

static void *at(uint64_t offset)
{
    return pool.bytes + offset;
}

static void move(uint64_t from, uint64_t to, uint64_t bytes)
{
    ck_assert(list_count < LIST_ROOM);
    list[list_count++] = (cuarena_relocation_t){0, at(from), at(to), bytes};
}

/* The same, seen from the other end of the pool. */
static void mirror_list(void)
{
    for (size_t i = 0; i < list_count; i++) {
        cuarena_relocation_t *m = &list[i];
        uint64_t from = (uint64_t)((unsigned char *)m->from - pool.bytes);
        uint64_t to = (uint64_t)((unsigned char *)m->to - pool.bytes);
        m->from = at(POOL_BYTES - from - m->bytes);
        m->to = at(POOL_BYTES - to - m->bytes);
    }
}

/* Sizes and gaps: a few granules or very many. */
static uint64_t some_bytes(uint64_t granule)
{
    uint64_t most = UINT64_C(1) << random_below(&dice, 10);
    return granule * (1 + random_below(&dice, most));
}

static void compaction_list(uint64_t granule, uint64_t gap)
{
    uint64_t from = 0;
    uint64_t to = 0;
    while (list_count < LIST_ROOM) {
        uint64_t bytes = some_bytes(granule);
        from += granule * random_below(&dice, gap);
        if (from + bytes > POOL_BYTES)
            return;
        if (from != to)
            move(from, to, bytes);
        from += bytes;
        to += bytes;
    }
}

/* From anywhere to anywhere: most cannot be done in one launch. */
static void scattered_list(uint64_t granule, size_t count)
{
    while (list_count < count) {
        uint64_t bytes = cuai_min(some_bytes(granule), POOL_BYTES);
        uint64_t places = (POOL_BYTES - bytes) / granule + 1;
        move(granule * random_below(&dice, places), granule * random_below(&dice, places), bytes);
    }
}

static void random_list(int kind)
{
    uint64_t granule = UINT64_C(8) << random_below(&dice, 6);
    list_count = 0;
    switch (kind) {
    case 0:
    case 1:
        compaction_list(granule, 2 + (UINT64_C(1) << random_below(&dice, 8)));
        if (kind == 1)
            mirror_list();
        break;
    default:
        scattered_list(granule, 1 + random_below(&dice, kind == 2 ? 6 : 60));
    }
}

/* ---- Running ----------------------------------------------------------- */

typedef struct trial {
    cuai_slide_shape_t shape;
    uint32_t blocks;
    uint32_t resident; /* so many at a time */
    uint32_t ring;     /* words */
    slide_defect_t defect;
} trial_t;

typedef enum outcome {
    RIGHT,
    WRONG,
    STUCK,
    REFUSED
} outcome_t;

static const char *const outcome_names[] = {"right", "wrong bytes", "stuck", "a refused access"};

/* How many steps in a row may be blocked before nobody can go on. */
#define PATIENCE 20000u

/* Actors that have ended, and blocks of which all have. */
typedef struct progress {
    bool *ended;
    uint32_t actors;
    uint32_t per_block;
    uint32_t live;
} progress_t;

static bool block_ended(const progress_t *progress, uint32_t block)
{
    for (uint32_t i = 0; i < progress->per_block; i++)
        if (!progress->ended[block * progress->per_block + i])
            return false;
    return true;
}

/* Any actor of the first `resident` blocks that have not ended. */
static uint32_t choose_actor(const progress_t *progress, uint32_t resident)
{
    uint32_t n = (uint32_t)random_below(&dice, resident);
    uint32_t blocks = progress->actors / progress->per_block;
    uint32_t chosen = 0;
    for (uint32_t block = 0; block < blocks; block++) {
        if (block_ended(progress, block))
            continue;
        chosen = block;
        if (n-- == 0)
            break;
    }
    return chosen * progress->per_block + (uint32_t)random_below(&dice, progress->per_block);
}

static outcome_t run_actors(slide_blocks_t *blocks, const trial_t *trial, progress_t *progress)
{
    uint32_t blocked = 0;
    while (progress->live != 0) {
        uint32_t actor = choose_actor(progress, trial->resident);
        slide_step_t step = slide_blocks_step(blocks, actor, &in_memory);
        if (step == SLIDE_FAULT)
            return REFUSED;
        if (step == SLIDE_PROGRESS)
            blocked = 0;
        else if (++blocked > PATIENCE)
            return STUCK;
        if (step == SLIDE_DONE && !progress->ended[actor]) {
            progress->ended[actor] = true;
            progress->live--;
        }
    }
    return RIGHT;
}

static outcome_t run_launch(cuai_slide_launch_t *launch, const trial_t *trial)
{
    launch->grid = trial->blocks; /* what the counter is advanced by */
    launch->params.published_mask = trial->ring - 1;
    launch->params.fetch_ahead = 1 + (uint32_t)random_below(&dice, 4);
    slide_blocks_t *blocks =
        slide_blocks_begin(&launch->params, trial->blocks, trial->shape.stages, trial->defect);
    ck_assert(blocks != NULL);
    uint32_t actors = slide_blocks_actors(blocks);
    progress_t progress = {calloc(actors, sizeof(bool)), actors, 1 + trial->shape.stages, actors};
    ck_assert(progress.ended != NULL);
    outcome_t outcome = run_actors(blocks, trial, &progress);
    free(progress.ended);
    slide_blocks_end(blocks);
    cuai_slide_queued(&slide, launch);
    return outcome;
}

static void fill_pool(void)
{
    for (uint64_t i = 0; i < POOL_BYTES; i += 8) {
        uint64_t word = random_next(&dice);
        memcpy(pool.bytes + i, &word, 8);
    }
    memcpy(wanted, pool.bytes, POOL_BYTES);
    for (size_t i = 0; i < list_count; i++)
        memmove(wanted + ((unsigned char *)list[i].to - pool.bytes),
                wanted + ((unsigned char *)list[i].from - pool.bytes), list[i].bytes);
}

static outcome_t run_list(const trial_t *trial)
{
    static cuai_slide_launch_t launch;
    fill_pool();
    for (size_t done = 0; done < list_count;) {
        size_t taken =
            cuai_slide_plan(&slide, list + done, list_count - done, &trial->shape, &launch);
        expect_between(taken, 1, list_count - done);
        done += taken;
        outcome_t outcome = run_launch(&launch, trial);
        if (outcome != RIGHT)
            return outcome;
    }
    return memcmp(pool.bytes, wanted, POOL_BYTES) == 0 ? RIGHT : WRONG;
}

static trial_t random_trial(void)
{
    uint32_t blocks = 1 + (uint32_t)random_below(&dice, 9);
    uint32_t stages = 1 + (uint32_t)random_below(&dice, 4);
    return (trial_t){
        .shape = {.kernel = CUAI_SLIDE_ANY,
                  .unit_log2 = 7 + (uint32_t)random_below(&dice, 3),
                  .stages = stages,
                  .block = 32,
                  .blocks_per_multiprocessor = 1},
        .blocks = blocks,
        .resident = 1 + (uint32_t)random_below(&dice, blocks),
        .ring = CUAI_SLIDE_RING,
    };
}

static void set_tile(trial_t *trial, uint32_t units)
{
    trial->shape.tile_bytes = units << trial->shape.unit_log2;
}

static void expect_outcome(outcome_t got, outcome_t want, const char *what)
{
    ck_assert_msg(got == want, "%s: expected %s, got %s", what, outcome_names[want],
                  outcome_names[got]);
}

/* ---- The protocol ------------------------------------------------------ */

static const char *const kinds[] = {"compaction", "compaction upwards", "few from anywhere",
                                    "many from anywhere"};

START_TEST(random_lists_move_as_if_in_order)
{
    uint64_t lists = scale_pick(60, 250, 10000);
    for (uint64_t i = 0; i < lists; i++) {
        random_list(_i);
        trial_t trial = random_trial();
        set_tile(&trial, 1 + (uint32_t)random_below(&dice, 40));
        expect_outcome(run_list(&trial), RIGHT, kinds[_i]);
    }
}
END_TEST

/* A block slides by less than a tile, by a tile, by more than many. */
START_TEST(a_block_over_itself_by_any_distance)
{
    static const uint64_t distances[] = {8,    16,   64,   120,   128,   136,   1000,   2048,
                                         2056, 2176, 6144, 10000, 20000, 65536, 131072, 250000};
    for (size_t i = 0; i < 20 * COUNT_OF(distances); i++) {
        uint64_t distance = distances[i / 20];
        uint64_t begin = 8 * random_below(&dice, 500);
        list_count = 0;
        move(distance + begin, begin, POOL_BYTES - distance - begin);
        if (i % 2 == 1)
            mirror_list();
        trial_t trial = random_trial();
        set_tile(&trial, 1 + (uint32_t)random_below(&dice, 20));
        expect_outcome(run_list(&trial), RIGHT, i % 2 ? "up" : "down");
    }
}
END_TEST

START_TEST(tables_longer_than_a_launch_carries)
{
    for (size_t i = 0; i < 4; i++) {
        list_count = 0;
        for (uint64_t k = 0; k < 2 * CUAI_SLIDE_INLINE; k++)
            move(1024 * k + 512, 512 * k, 512);
        if (i % 2 == 1)
            mirror_list();
        trial_t trial = random_trial();
        set_tile(&trial, 8);
        expect_outcome(run_list(&trial), RIGHT, i % 2 ? "up" : "down");
    }
}
END_TEST

/* Words of the ring stand for many tickets each. */
START_TEST(a_ring_shorter_than_the_launch)
{
    trial_t trial = random_trial();
    trial.ring = 4;
    for (size_t i = 0; i < 40; i++) {
        random_list((int)(i % 3));
        trial.blocks = 9;
        trial.resident = 1 + (uint32_t)(i % 9);
        set_tile(&trial, 1 + (uint32_t)random_below(&dice, 8));
        expect_outcome(run_list(&trial), RIGHT, "a ring of 4");
    }
}
END_TEST

START_TEST(counters_that_wrap)
{
    trial_t trial = random_trial();
    slide.ticket_base = UINT32_MAX - 300;
    memcpy(scratch.bytes, &slide.ticket_base, 4);
    slide.published_base = UINT32_MAX - 3000;
    for (uint32_t i = 1; i <= CUAI_SLIDE_RING; i++) {
        uint32_t old = slide.published_base - i;
        memcpy(scratch.bytes + (1 + old % CUAI_SLIDE_RING) * (uint64_t)CUAI_SLIDE_LINE, &old,
               sizeof old);
    }
    for (size_t i = 0; i < 40; i++) {
        random_list((int)(i % 3));
        set_tile(&trial, 1 + (uint32_t)random_below(&dice, 3));
        expect_outcome(run_list(&trial), RIGHT, "counters that wrap");
    }
    ck_assert_msg(slide.published_base < UINT32_MAX - 3000,
                  "expected more than 3000 tickets, got %u",
                  slide.published_base - (UINT32_MAX - 3000));
}
END_TEST

/* ---- Broken on purpose -------------------------------------------------- */

typedef struct broken {
    slide_defect_t defect;
    const char *name;
    uint32_t ring;
    uint32_t blocks; /* with so many it shows */
} broken_t;

static const broken_t broken[] = {
    {SLIDE_NO_WAIT, "writes without waiting", CUAI_SLIDE_RING, 9},
    {SLIDE_EARLY_PUBLISH, "publishes before it has read", CUAI_SLIDE_RING, 9},
    {SLIDE_BACKWARDS, "tickets in the wrong order", CUAI_SLIDE_RING, 1},
    {SLIDE_NO_TABLE_WAIT, "does not wait for the table", CUAI_SLIDE_RING, 9},
    {SLIDE_OVERRUN, "overruns the ring", 4, 9},
    {SLIDE_OVER_SEAMS, "copies over a seam", CUAI_SLIDE_RING, 9},
};

/* A list that slides by less than a tile, of more runs than a launch carries.
 */
START_TEST(a_broken_protocol_is_caught)
{
    size_t caught = 0;
    for (size_t i = 0; i < 20; i++) {
        list_count = 0;
        for (uint64_t k = 0; k < 2 * CUAI_SLIDE_INLINE; k++)
            move(1024 * k + 256, 1024 * k, 1016);
        trial_t trial = random_trial();
        trial.blocks = broken[_i].blocks;
        trial.resident = broken[_i].blocks;
        trial.shape.stages = 1;
        trial.ring = broken[_i].ring;
        trial.defect = broken[_i].defect;
        set_tile(&trial, 2);
        memset(scratch.bytes, 0, scratch.size);
        cuai_slide_init(&slide, &h200, address_of(&scratch), staging.bytes, address_of(&staging),
                        RUN_ROOM);
        caught += run_list(&trial) != RIGHT;
    }
    ck_assert_msg(caught != 0, "%s: expected to be caught in 20 runs", broken[_i].name);
}
END_TEST

/* ---- Plans ------------------------------------------------------------- */

static cuai_slide_launch_t planned;

static size_t plan_list(void)
{
    return cuai_slide_plan(&slide, list, list_count, NULL, &planned);
}

static cuarena_relocation_t far_move(uint64_t from, uint64_t to, uint64_t bytes)
{
    return (cuarena_relocation_t){0, (void *)(uintptr_t)from, (void *)(uintptr_t)to, bytes};
}

static void holes(size_t count, uint64_t bytes)
{
    for (uint64_t k = 0; k < count; k++)
        move((2 * k + 1) * bytes, k * bytes, bytes);
}

START_TEST(plan_few_runs_travel_with_the_launch)
{
    holes(CUAI_SLIDE_INLINE, 256);
    expect_u64(plan_list(), list_count);
    expect_u64(planned.params.run_count, list_count);
    expect_u64(planned.params.fetch_count, 0);
    expect_u64(planned.params.runs, 0);
    expect_u64(planned.params.list[1].from, address_of(&pool) + 768);
}
END_TEST

START_TEST(plan_more_runs_are_fetched_from_the_staging)
{
    holes(CUAI_SLIDE_INLINE + 1, 256);
    expect_u64(plan_list(), list_count);
    expect_u64(planned.params.table, address_of(&staging));
    expect_u64(planned.params.fetch_count, 1);
    ck_assert(within(&scratch, planned.params.runs, CUAI_SLIDE_CHUNK));
    const cuai_slide_packed_t *packed = (const void *)staging.bytes;
    expect_u64(cuai_slide_unpack(&planned.params, &packed[CUAI_SLIDE_INLINE], 0).to,
               address_of(&pool) + 256 * CUAI_SLIDE_INLINE);
}
END_TEST

/* It depends on where the last source ends; and all must move down. */
START_TEST(plan_packs_the_table_if_it_can)
{
    static cuarena_relocation_t runs[CUAI_SLIDE_INLINE + 1];
    const size_t last = CUAI_SLIDE_INLINE;
    const uint64_t begin = UINT64_C(1) << 40;
    const uint64_t most = 256 * (UINT64_C(1) << 32) - 256;
    for (uint64_t i = 0; i <= last; i++)
        runs[i] = far_move(begin + (2 * i + 1) * 512, begin + i * 512, 512);
    cuai_slide_plan(&slide, runs, last + 1, NULL, &planned);
    expect_u64(planned.params.pack_log2, 9);
    expect_u64(planned.params.origin, begin);
    expect_u64(planned.params.fetch_count, 1);
    runs[last].from = (void *)(uintptr_t)(begin + most);
    runs[last].bytes = 256;
    cuai_slide_plan(&slide, runs, last + 1, NULL, &planned);
    expect_u64(planned.params.pack_log2, 0);
    runs[last].from = (void *)(uintptr_t)(begin + most - 256);
    cuai_slide_plan(&slide, runs, last + 1, NULL, &planned);
    expect_u64(planned.params.pack_log2, 8);
    holes(last + 1, 256);
    mirror_list();
    plan_list();
    expect_u64(planned.params.pack_log2, 0);
}
END_TEST

START_TEST(plan_what_does_not_move_is_passed_over)
{
    move(4096, 4096, 256);
    move(8192, 0, 0);
    move(8192, 256, 256);
    move(8192, 512, 0);
    expect_u64(plan_list(), 4);
    expect_u64(planned.params.run_count, 1);
    list_count = 1;
    expect_u64(plan_list(), 1);
    expect_u64(planned.params.tile_count, 0);
    expect_between(planned.grid, 1, 1);
}
END_TEST

START_TEST(plan_takes_no_more_runs_than_there_is_room_for)
{
    holes(RUN_ROOM + 17, 8);
    expect_u64(plan_list(), RUN_ROOM);
    expect_u64(planned.params.run_count, RUN_ROOM);
}
END_TEST

/* What order forbids to do at once begins the next launch. */
START_TEST(plan_conflicts_end_a_launch)
{
    static const struct {
        uint64_t from, to;
        const char *what;
    } second[] = {
        {0, 65536, "reads what the first wrote"},
        {128, 65536, "reads some of what the first wrote"},
        {131072, 0, "writes where the first wrote"},
        {8192, 65536, "reads what the first read"},
    };
    for (size_t i = 0; i < COUNT_OF(second); i++) {
        list_count = 0;
        move(8192, 0, 256);
        move(second[i].from, second[i].to, 256);
        ck_assert_msg(plan_list() == 1, "%s: expected a launch of its own", second[i].what);
    }
    list_count = 0;
    move(8192, 0, 256);
    move(16384, 8192, 256);
    ck_assert_msg(plan_list() == 2, "writes where the first read: expected one launch");
}
END_TEST

START_TEST(plan_up_and_down_in_one_launch)
{
    move(POOL_BYTES / 2 - 4096, POOL_BYTES / 2, 4096);
    move(POOL_BYTES / 2 - 8192, POOL_BYTES / 2 - 4096, 4096);
    move(8192, 0, 8192);
    expect_u64(plan_list(), 3);
    expect_u64(planned.params.by_source, 1);
    trial_t trial = random_trial();
    set_tile(&trial, 3);
    expect_outcome(run_list(&trial), RIGHT, "up and down");
}
END_TEST

/* Addresses only: nobody reads there. */
START_TEST(plan_units_of_many_tebibytes_can_be_counted)
{
    for (uint64_t bytes = CUAI_GIB; bytes <= 32 * CUAI_TIB; bytes *= 2) {
        cuarena_relocation_t all = far_move(UINT64_C(1) << 50, 4096, bytes);
        expect_u64(cuai_slide_plan(&slide, &all, 1, NULL, &planned), 1);
        uint64_t units = planned.params.unit_count;
        expect_u64(units << planned.params.unit_log2, bytes);
        expect_between(units, 1, UINT32_C(1) << 31);
        expect_between(planned.params.tile_units, 1, 32);
        uint64_t tiles = planned.params.tile_count;
        expect_between(tiles * planned.params.tile_units, units,
                       units + planned.params.tile_units - 1);
    }
}
END_TEST

static uint32_t kernel_for(const cuai_slide_device_t *device, uint64_t from, uint64_t bytes)
{
    cuai_slide_t other;
    cuai_slide_init(&other, device, address_of(&scratch), staging.bytes, address_of(&staging),
                    RUN_ROOM);
    cuarena_relocation_t one = far_move(from, 4096, bytes);
    cuai_slide_plan(&other, &one, 1, NULL, &planned);
    return planned.kernel;
}

START_TEST(plan_bulk_copies_want_the_device_and_the_alignment)
{
    expect_u64(kernel_for(&h200, 65536, 4096), CUAI_SLIDE_BULK);
    expect_u64(kernel_for(&h200, 65536, 4112), CUAI_SLIDE_BULK);
    expect_u64(kernel_for(&h200, 65536, 4104), CUAI_SLIDE_ANY);
    expect_u64(kernel_for(&h200, 65544, 4096), CUAI_SLIDE_ANY);
    expect_u64(kernel_for(&v100, 65536, 4096), CUAI_SLIDE_ANY);
}
END_TEST

/* Whatever the list, the blocks of the launch fit the device. */
START_TEST(plan_shapes_fit_the_device)
{
    static const cuai_slide_device_t *const devices[] = {&h200, &rtx5090, &v100};
    for (size_t d = 0; d < COUNT_OF(devices); d++) {
        expect_between(cuai_slide_shared_bytes(devices[d]), 1,
                       devices[d]->shared_bytes_per_block - 8192);
        for (uint64_t bytes = 8; bytes <= 16 * CUAI_GIB; bytes *= 2) {
            kernel_for(devices[d], UINT64_C(1) << 40, bytes);
            expect_between(planned.shared_bytes, 1, cuai_slide_shared_bytes(devices[d]));
            uint64_t tile = (uint64_t)planned.params.tile_units << planned.params.unit_log2;
            expect_u64(planned.shared_bytes, tile * planned.params.stages);
            expect_between(planned.block, 32, 256);
            expect_between(planned.grid, 1, planned.params.tile_count);
            if (planned.kernel == CUAI_SLIDE_BULK)
                expect_between(planned.params.tile_units, 1, 32);
        }
    }
}
END_TEST

/* However long the runs are on average, so that every shape is seen. */
START_TEST(plan_shapes_for_runs_of_any_length)
{
    for (uint64_t bytes = 16; bytes <= 64 * CUAI_MIB; bytes *= 2) {
        static cuarena_relocation_t runs[200];
        for (uint64_t i = 0; i < COUNT_OF(runs); i++)
            runs[i] = far_move(((2 * i + 1) * bytes) + CUAI_GIB, i * bytes + CUAI_GIB, bytes);
        expect_u64(cuai_slide_plan(&slide, runs, COUNT_OF(runs), NULL, &planned), COUNT_OF(runs));
        uint64_t payload = bytes * COUNT_OF(runs);
        uint64_t units = planned.params.unit_count;
        expect_between(units << planned.params.unit_log2, payload,
                       cuai_max(payload * 3 / 2, 128 * COUNT_OF(runs)));
        expect_between(planned.params.stages, 2, CUAI_SLIDE_STAGES);
    }
}
END_TEST

START_TEST(one_move_apart_is_left_to_the_driver)
{
    move(65536, 0, 65536);
    ck_assert(cuai_slide_prefers_copy(list, 1));
    mirror_list();
    ck_assert(cuai_slide_prefers_copy(list, 1));
    list[0].bytes += 8;
    ck_assert(!cuai_slide_prefers_copy(list, 1));
    move(131072, 0, 8);
    ck_assert(!cuai_slide_prefers_copy(list + 1, 2));
}
END_TEST

START_TEST(plan_changes_nothing_until_it_is_queued)
{
    cuai_slide_t before = slide;
    holes(10, 256);
    plan_list();
    ck_assert(memcmp(&before, &slide, sizeof slide) == 0);
    cuai_slide_queued(&slide, &planned);
    expect_u64(slide.ticket_base, planned.params.tile_count + planned.grid);
    expect_u64(slide.published_base, CUAI_SLIDE_RING + planned.params.tile_count);
}
END_TEST

START_TEST(plan_of_an_empty_launch_draws_only_to_end)
{
    for (uint32_t kernel = 0; kernel < CUAI_SLIDE_KERNELS; kernel++) {
        cuai_slide_empty(&slide, kernel, &planned);
        expect_u64(planned.kernel, kernel);
        expect_u64(planned.params.tile_count, 0);
        trial_t trial = random_trial();
        outcome_t outcome = run_launch(&planned, &trial);
        expect_outcome(outcome, RIGHT, "an empty launch");
    }
    uint32_t drawn;
    memcpy(&drawn, scratch.bytes, sizeof drawn);
    expect_u64(drawn, slide.ticket_base);
}
END_TEST

/* ---- The suite ---------------------------------------------------------- */

static TCase *with_device(TCase *tests)
{
    tcase_add_checked_fixture(tests, open_device, close_device);
    return tests;
}

int main(void)
{
    Suite *suite = suite_create("slide");
    TCase *protocol = with_device(suite_add_list(
        suite, "protocol",
        TEST_LIST(a_block_over_itself_by_any_distance, tables_longer_than_a_launch_carries,
                  a_ring_shorter_than_the_launch, counters_that_wrap)));
    tcase_add_loop_test(protocol, random_lists_move_as_if_in_order, 0, (int)COUNT_OF(kinds));
    tcase_add_loop_test(protocol, a_broken_protocol_is_caught, 0, (int)COUNT_OF(broken));
    with_device(suite_add_list(
        suite, "plan",
        TEST_LIST(plan_few_runs_travel_with_the_launch, plan_more_runs_are_fetched_from_the_staging,
                  plan_packs_the_table_if_it_can, plan_what_does_not_move_is_passed_over,
                  plan_takes_no_more_runs_than_there_is_room_for, plan_conflicts_end_a_launch,
                  plan_up_and_down_in_one_launch, plan_units_of_many_tebibytes_can_be_counted,
                  plan_bulk_copies_want_the_device_and_the_alignment, plan_shapes_fit_the_device,
                  plan_shapes_for_runs_of_any_length, one_move_apart_is_left_to_the_driver,
                  plan_changes_nothing_until_it_is_queued,
                  plan_of_an_empty_launch_draws_only_to_end)));
    return suite_main(suite);
}
