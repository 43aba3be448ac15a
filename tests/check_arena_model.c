/*
 * Anything at all, against a model: a seeded stream of calls on every kind of
 * arena, whose contents and statistics are compared with what a simple table
 * of blocks says. CUARENA_TEST_SEED repeats a run.
 */
#include "arena_support.h"

#include <string.h>

#define POOL KIB(512)

#define SLOTS 48

/* What a test knows of a block: which seed painted how many bytes. */
typedef struct slot {
    cuarena_block_t block;
    uint64_t bytes, seed;
    int32_t pins;
} slot_t;

typedef struct model {
    fixture_t f;
    slot_t slots[SLOTS];
    random_state_t random;
    uint64_t seed;
} model_t;

static void check_slot(model_t *m, const slot_t *slot)
{
    cuarena_block_info_t info = info_of(&m->f, slot->block);
    expect_u64(info.requested, slot->bytes);
    expect_u64(info.pins, (uint64_t)slot->pins);
    if (slot->bytes != 0)
        expect_painted(&m->f, info.address, slot->bytes, slot->seed);
}

static void paint_slot(model_t *m, slot_t *slot)
{
    slot->seed = ++m->seed;
    if (slot->bytes != 0)
        paint(&m->f, address_of(&m->f, slot->block), slot->bytes, slot->seed);
}

static uint64_t random_size(model_t *m)
{
    uint64_t shift = random_below(&m->random, 17);
    return random_below(&m->random, UINT64_C(2) << shift);
}

static void expect_refusal(const fixture_t *f, cuarena_status_t status)
{
    ck_assert_msg(status == CUARENA_FRAGMENTED || status == exhausted(f) ||
                      status == CUARENA_BUSY,
                  "%s: a request came to %s (%s)", f->kind->name,
                  cuarena_status_name(status), last_error().message);
}

static void play_alloc(model_t *m, slot_t *slot)
{
    uint64_t bytes = random_size(m);
    cuarena_status_t status =
        cuarena_block_alloc(m->f.arena, bytes, &slot->block);
    if (status != CUARENA_OK) {
        expect_refusal(&m->f, status);
        return;
    }
    slot->bytes = bytes;
    paint_slot(m, slot);
}

static void play_free(model_t *m, slot_t *slot)
{
    check_slot(m, slot);
    expect_ok(cuarena_block_free(m->f.arena, slot->block));
    *slot = (slot_t){0, 0, 0, 0};
}

static void play_resize(model_t *m, slot_t *slot)
{
    uint64_t bytes = random_size(m);
    cuarena_status_t status =
        cuarena_block_resize(m->f.arena, slot->block, bytes);
    if (status != CUARENA_OK) {
        expect_refusal(&m->f, status);
        check_slot(m, slot);
        return;
    }
    if (bytes < slot->bytes)
        slot->bytes = bytes;
    cuarena_block_info_t info = info_of(&m->f, slot->block);
    expect_painted(&m->f, info.address, slot->bytes, slot->seed);
    slot->bytes = bytes;
    paint_slot(m, slot);
}

static void play_pin(model_t *m, slot_t *slot)
{
    void *pointer = NULL;
    if (slot->pins > 0) {
        expect_ok(cuarena_block_unpin(m->f.arena, slot->block));
        slot->pins--;
        return;
    }
    expect_ok(cuarena_block_pin(m->f.arena, slot->block, &pointer));
    expect_ptr(pointer, address_of(&m->f, slot->block));
    slot->pins++;
}

static void play_compact(model_t *m)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.batch_moves = 1 + random_below(&m->random, 8);
    options.max_moves = 1 + random_below(&m->random, 16);
    expect_ok(cuarena_compact(m->f.arena, &options, hear_relocations,
                              &(heard_t){.count = 0}, NULL));
}

static void play_once(model_t *m)
{
    slot_t *slot = &m->slots[random_below(&m->random, SLOTS)];
    uint64_t given = 0, choice = random_below(&m->random, 100);
    if (choice < 2)
        play_compact(m);
    else if (choice < 3)
        expect_ok(cuarena_trim(m->f.arena, 0, &given));
    else if (slot->block == 0)
        play_alloc(m, slot);
    else if (choice < 45)
        play_free(m, slot);
    else if (choice < 75)
        play_resize(m, slot);
    else
        play_pin(m, slot);
}

static void check_all(model_t *m)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (m->slots[i].block != 0)
            check_slot(m, &m->slots[i]);
    expect_recount(&m->f);
}

START_TEST(test_anything_agrees_with_a_model)
{
    model_t m;
    memset(&m, 0, sizeof m);
    m.random.state = scale_seed("anything") + (uint64_t)_i;
    fixture_open(&m.f, &arena_kinds[_i], POOL);
    uint64_t steps = scale_pick(2000, 10000, 500000);
    for (uint64_t i = 0; i < steps; i++) {
        play_once(&m);
        expect_sound(&m.f);
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
    add_test_per_kind(new_case(suite, "every kind"),
                      test_anything_agrees_with_a_model);
    return suite_main(suite);
}
