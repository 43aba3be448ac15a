/*
 * Anything at all, against a model: a seeded stream of calls on every kind of arena, whose contents
 * and statistics are compared with what a simple table
 * of blocks says. CUARENA_TEST_SEED repeats a run.
 *
 * With CUARENA_TEST_CUDA it is another program, of the kinds whose memory a driver gives.
 */
#include "support/fixture.h"

#include <string.h>

#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_kinds.h"
#define KINDS cuda_kinds
#define KIND_ROWS CUDA_KIND_COUNT
#define POOL MIB(16)
#define SIZE_BITS 20
#define STEPS scale_pick(300, 500, 6000)
#else
#define KINDS arena_kinds
#define KIND_ROWS MLX_CPU_PAGEABLE /* those without a cache */
#define POOL KIB(512)
#define SIZE_BITS 17
#define STEPS scale_pick(1500, 3000, 100000)
#endif
#define SLOTS 48

/* What a test knows of a block: which seed painted how many bytes. */
typedef struct slot {
    cuarena_block_t block;
    uint64_t bytes, seed;
    uint64_t pins; /* all that it has */
    uint64_t ours; /* those that block_pin took */
    int32_t stays; /* 1: never moves, so `place` is where it is */
    int32_t apart; /* 1: dedicated */
    void *place;
} slot_t;

typedef struct model {
    fixture_t f;
    slot_t slots[SLOTS];
    random_state_t random;
    uint64_t seed;
    heard_t heard;
} model_t;

/* ---- Looking ------------------------------------------------------------- */

static void check_slot(model_t *m, const slot_t *slot)
{
    cuarena_block_info_t info = info_of(&m->f, slot->block);
    expect_u64(info.requested, slot->bytes);
    expect_u64(info.pins, slot->pins);
    expect_u64(info.dedicated, (uint64_t)slot->apart);
    if ((slot->stays || slot->ours > 0) && info.address != slot->place)
        ck_abort_msg("a block that stays is at %p, and was at %p", info.address, slot->place);
    if (slot->bytes != 0)
        expect_painted(&m->f, info.address, slot->bytes, slot->seed);
}

static void paint_slot(model_t *m, slot_t *slot)
{
    slot->seed = ++m->seed;
    slot->place = address_of(&m->f, slot->block);
    if (slot->bytes != 0)
        paint(&m->f, slot->place, slot->bytes, slot->seed);
}

static void check_all(model_t *m)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (m->slots[i].block != 0)
            check_slot(m, &m->slots[i]);
    expect_recount(&m->f);
    expect_ok(cuarena_check(m->f.arena, NULL));
}

/* ---- Calls ------------------------------------------------------------------
 */

static uint64_t random_size(model_t *m)
{
    uint64_t shift = random_below(&m->random, SIZE_BITS);
    return random_below(&m->random, UINT64_C(2) << shift);
}

/* BUSY: pinned and in the way; UNSUPPORTED: dedicated blocks do not grow. */
static void expect_refusal(const fixture_t *f, cuarena_status_t status)
{
    ck_assert_msg(status == CUARENA_FRAGMENTED || status == exhausted(f) ||
                      status == CUARENA_OUT_OF_MEMORY || status == CUARENA_BUSY ||
                      status == CUARENA_UNSUPPORTED,
                  "%s: a request came to %s (%s)", f->kind->name, cuarena_status_name(status),
                  last_error().message);
}

static void play_alloc(model_t *m, slot_t *slot)
{
    cuarena_request_t request;
    uint64_t choice = random_below(&m->random, 16);
    cuarena_request_init(&request);
    if (choice == 0)
        request.region = CUARENA_REGION_STABLE;
    if (choice == 1 && (m->f.kind->traits & KIND_DEDICATES))
        request.dedicated = 1;
    if (choice == 2)
        request.alignment = KIB(4);
    slot->bytes = random_size(m);
    cuarena_status_t status =
        cuarena_block_alloc_with(m->f.arena, slot->bytes, &request, &slot->block);
    if (status != CUARENA_OK) {
        expect_refusal(&m->f, status);
        return;
    }
    slot->stays = request.region == CUARENA_REGION_STABLE;
    slot->apart = request.dedicated && slot->bytes != 0;
    slot->pins = info_of(&m->f, slot->block).pins;
    paint_slot(m, slot);
}

static void play_free(model_t *m, slot_t *slot)
{
    check_slot(m, slot);
    expect_ok(cuarena_block_free(m->f.arena, slot->block));
    memset(slot, 0, sizeof *slot);
}

static void play_resize(model_t *m, slot_t *slot)
{
    uint64_t bytes = random_size(m);
    cuarena_status_t status = cuarena_block_resize(m->f.arena, slot->block, bytes);
    if (status != CUARENA_OK) {
        expect_refusal(&m->f, status);
        check_slot(m, slot);
        return;
    }
    uint64_t kept = bytes < slot->bytes ? bytes : slot->bytes;
    void *address = address_of(&m->f, slot->block);
    if (kept != 0)
        expect_painted(&m->f, address, kept, slot->seed);
    slot->bytes = bytes;
    paint_slot(m, slot);
}

static void play_pin(model_t *m, slot_t *slot)
{
    if (slot->ours > 0) {
        expect_ok(cuarena_block_unpin(m->f.arena, slot->block));
        slot->ours--;
        slot->pins--;
        return;
    }
    expect_ok(cuarena_block_pin(m->f.arena, slot->block, &slot->place));
    expect_ptr(slot->place, address_of(&m->f, slot->block));
    slot->ours++;
    slot->pins++;
}

static void play_compact(model_t *m)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.batch_moves = 1 + random_below(&m->random, 8);
    options.max_moves = 1 + random_below(&m->random, 16);
    m->heard.kept = 0;
    expect_ok(cuarena_compact(m->f.arena, &options, hear_relocations, &m->heard, NULL));
}

static void play_resize_pool(model_t *m)
{
    uint64_t bytes = POOL / 2 + random_below(&m->random, POOL);
    if (!(m->f.kind->traits & KIND_RESIZES))
        return;
    m->heard.kept = 0;
    cuarena_status_t status = cuarena_resize_pool(m->f.arena, bytes);
    if (status != CUARENA_OK)
        expect_refusal(&m->f, status);
    else
        expect_between(region_stats_of(&m->f, CUARENA_REGION_DYNAMIC).capacity_bytes +
                           region_stats_of(&m->f, CUARENA_REGION_STABLE).capacity_bytes,
                       0, bytes + 1024); /* the largest granule of the variants */
    check_all(m);
}

static void play_trim(model_t *m)
{
    uint64_t given = 0;
    expect_ok(cuarena_trim(m->f.arena, random_below(&m->random, POOL), &given));
}

static void play_once(model_t *m)
{
    slot_t *slot = &m->slots[random_below(&m->random, SLOTS)];
    uint64_t choice = random_below(&m->random, 100);
    if (choice < 2)
        play_compact(m);
    else if (choice < 4)
        play_trim(m);
    else if (choice < 5)
        play_resize_pool(m);
    else if (slot->block == 0)
        play_alloc(m, slot);
    else if (choice < 45)
        play_free(m, slot);
    else if (choice < 75)
        play_resize(m, slot);
    else
        play_pin(m, slot);
}

/* ---- Variants
 * ----------------------------------------------------------------- */

static void as_it_is(fixture_t *f)
{
    (void)f;
}

/* Neither the pool nor the stable region ends where a granularity does. */
static void with_odd_sizes(fixture_t *f)
{
    f->config.pool = amount_of_bytes(POOL - 1280);
    f->config.stable = amount_of_bytes(KIB(33));
}

static void with_a_stable_region(fixture_t *f)
{
    f->config.stable = amount_of_bytes(KIB(64));
    if (f->kind->traits & KIND_READABLE && f->config.zero == CUARENA_ZERO_NEVER)
        fixture_zero_free(f);
    f->memory.ops.granularity = KIB(64);
    f->memory.ops.alignment = KIB(64);
}

static void without_growth_in_place(fixture_t *f)
{
    f->memory.ops.grow = NULL;
    f->memory.ops.shrink = NULL;
    f->config.placement = CUARENA_PLACEMENT_LOW;
    if (f->kind->traits & KIND_READABLE && f->config.zero == CUARENA_ZERO_NEVER)
        fixture_zero_free(f);
}

static void without_holes(fixture_t *f)
{
    f->memory.ops.punch = NULL;
    f->memory.ops.fill = NULL;
    f->config.alignment =
        f->kind->memory == CUARENA_MEMORY_DEVICE ? KIB(8) : 1024; /* a driver gives less */
    f->config.compact_on_oom = 1;
}

/* A look at each block finds nothing. */
static void with_guards(fixture_t *f)
{
    if (!(f->kind->traits & KIND_READABLE))
        return;
    f->config.guard_bytes = 40;
    f->config.fill = f->config.zero == CUARENA_ZERO_NEVER ? CUARENA_FILL_BOTH : CUARENA_FILL_NEVER;
    f->config.stacks = 2;
}

static void (*const variants[])(fixture_t *f) = {
    as_it_is,      with_odd_sizes, with_a_stable_region, without_growth_in_place,
    without_holes, with_guards};
#define VARIANT_COUNT ((int)COUNT_OF(variants))

static void model_open(model_t *m, int row)
{
    memset(m, 0, sizeof *m);
    m->random.state = scale_seed("model") + (uint64_t)row;
    fixture_prepare(&m->f, &KINDS[row / VARIANT_COUNT], POOL);
    variants[row % VARIANT_COUNT](&m->f);
    fixture_create(&m->f);
    expect_ok(cuarena_set_relocation_callback(m->f.arena, hear_relocations, &m->heard));
}

START_TEST(anything_agrees_with_a_model)
{
    static model_t m;
    model_open(&m, _i);
    uint64_t steps = STEPS;
    for (uint64_t i = 0; i < steps; i++) {
        play_once(&m);
        expect_sound(&m.f);
        expect_free_is_zero(&m.f);
        if (i % 64 == 0)
            check_all(&m);
    }
    for (size_t i = 0; i < SLOTS; i++)
        if (m.slots[i].block != 0)
            play_free(&m, &m.slots[i]);
    fixture_close(&m.f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model");
    tcase_add_loop_test(new_case(suite, "every kind and variant"), anything_agrees_with_a_model, 0,
                        KIND_ROWS * VARIANT_COUNT);
#if defined(CUARENA_TEST_CUDA)
    return cuda_kinds_main(suite);
#else
    return suite_main(suite);
#endif
}
