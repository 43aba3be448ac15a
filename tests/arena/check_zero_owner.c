/*
 * zero=owner: no tag sees what another one left, in new blocks, in blocks that grow and in those of
 * a cache, in every memory; and an arena of one tag sets nothing to 0. device/check_device_zero.c
 * has what kernels and capture sessions see.
 *
 * With CUARENA_TEST_CUDA it is another program, of the kinds whose memory a driver gives.
 */
#include "support/fixture.h"

#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_kinds.h"
#define TABLE cuda_kinds
#define KINDS DEVICE_KIND_COUNT
#else
#define TABLE arena_kinds
#define KINDS HOST_KIND_COUNT
#endif
#define POOL MIB(16)
#define EACH KIB(64)

/* NULL: no bytes to look at. */
static fixture_t *opened_by_owner(int kind)
{
    if (!(TABLE[kind].traits & KIND_READABLE))
        return NULL;
    fixture_t *f = prepared(&TABLE[kind], POOL);
    f->config.zero = CUARENA_ZERO_OWNER;
    fixture_create(f);
    return f;
}

static cuarena_tag_t tag_of(fixture_t *f, const char *name)
{
    cuarena_tag_t tag = 0;
    expect_ok(cuarena_tag(f->arena, name, &tag));
    return tag;
}

/* Leaves contents in all that the arena has. */
static void leave_secrets(fixture_t *f, cuarena_tag_t tag)
{
    void *pointers[16];
    for (size_t i = 0; i < COUNT_OF(pointers); i++) {
        pointers[i] = alloc_tagged(f, EACH, tag);
        fill_with(f, pointers[i], EACH, 0x77);
    }
    for (size_t i = 0; i < COUNT_OF(pointers); i++)
        free_ok(f, pointers[i]);
}

START_TEST(another_tag_sees_zeros)
{
    fixture_t *f = opened_by_owner(_i);
    if (f == NULL)
        return;
    cuarena_tag_t a = tag_of(f, "a");
    cuarena_tag_t b = tag_of(f, "b");
    leave_secrets(f, a);
    for (int turn = 0; turn < 4; turn++) {
        for (uint64_t bytes = 1; bytes <= 4 * EACH; bytes *= 3) {
            void *pointer = alloc_tagged(f, bytes, turn % 2 == 0 ? b : a);
            expect_zero(f, pointer, bytes);
            fill_with(f, pointer, bytes, 0x78);
            free_ok(f, pointer);
        }
        leave_secrets(f, turn % 2 == 0 ? b : a);
    }
    void *untagged = alloc_ok(f, EACH);
    expect_zero(f, untagged, EACH);
    free_ok(f, untagged);
}
END_TEST

START_TEST(block_that_grows_sees_zeros)
{
    fixture_t *f = opened_by_owner(_i);
    void *now = NULL;
    if (f == NULL || TABLE[_i].traits & KIND_EACH)
        return;
    cuarena_tag_t a = tag_of(f, "a");
    cuarena_tag_t b = tag_of(f, "b");
    void *pointer = alloc_tagged(f, EACH, a);
    void *later = alloc_tagged(f, 4 * EACH, a);
    fill_with(f, later, 4 * EACH, 0x77);
    free_ok(f, later);
    now = alloc_tagged(f, EACH, b);
    expect_zero(f, now, EACH);
    free_ok(f, pointer);
    for (uint64_t bytes = EACH; bytes < 6 * EACH; bytes += EACH) {
        paint(f, now, bytes, bytes);
        step_ok(f, cuarena_resize(f->arena, now, bytes + EACH, &now));
        expect_painted(f, now, bytes, bytes);
        expect_zero(f, (char *)now + bytes, EACH);
    }
    free_ok(f, now);
}
END_TEST

#if !defined(CUARENA_TEST_CUDA)

START_TEST(one_tag_sets_nothing_to_0)
{
    fixture_t *f = opened_by_owner(POOL_CUSTOM);
    cuarena_tag_t a = tag_of(f, "a");
    leave_secrets(f, a);
    void *pointer = alloc_tagged(f, EACH, a);
    step_ok(f, cuarena_resize(f->arena, pointer, 2 * EACH, &pointer));
    expect_u64(f->memory.counts[OP_ZERO], 0);
    free_ok(f, pointer);
    free_ok(f, alloc_tagged(f, EACH, tag_of(f, "b")));
    expect_u64(f->memory.counts[OP_ZERO], 1);
}
END_TEST

START_TEST(block_that_cannot_move_does_not_grow)
{
    void *pin = NULL;
    fixture_t *f = opened_by_owner(POOL_CUSTOM);
    free_ok(f, alloc_tagged(f, EACH, tag_of(f, "a")));
    cuarena_block_t block = alloc_block(f, EACH);
    expect_ok(cuarena_block_pin(f->arena, block, &pin));
    step(f, cuarena_block_resize(f->arena, block, 2 * EACH), CUARENA_BUSY);
    step_ok(f, cuarena_block_resize(f->arena, block, EACH - 1));
    step_ok(f, cuarena_block_resize(f->arena, block, EACH));
    expect_ok(cuarena_block_unpin(f->arena, block));
    free_block(f, block);
}
END_TEST

START_TEST(memory_that_cannot_zero_is_refused)
{
    fixture_t *f = new_fixture(fixture_release);
    fixture_prepare(f, KIND_NONE_POOL, POOL);
    f->config.zero = CUARENA_ZERO_OWNER;
    expect_status(cuarena_create(&f->config, &f->arena), CUARENA_UNSUPPORTED);
}
END_TEST

#endif

int main(void)
{
    Suite *suite = suite_create("zero_owner");
    suite_add_rows(suite, "tags", another_tag_sees_zeros, KINDS);
    suite_add_rows(suite, "growth", block_that_grows_sees_zeros, KINDS);
#if defined(CUARENA_TEST_CUDA)
    return cuda_kinds_main(suite);
#else
    suite_add_list(suite, "cost",
                   TEST_LIST(one_tag_sets_nothing_to_0, block_that_cannot_move_does_not_grow,
                             memory_that_cannot_zero_is_refused));
    return suite_main(suite);
#endif
}
