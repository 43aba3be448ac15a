/*
 * Addresses: how many an arena sets aside, that thousands of arenas live beside each other, and
 * what happens where the process may not have many.
 */
#include "support/configs.h"
#include "support/fixture.h"
#include "support/scale.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define EACH KIB(64)

/* Bytes of addresses that the process has mapped. */
static uint64_t mapped(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1)
        pages = 0;
    if (file != NULL)
        (void)fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* From here on the process can map so many bytes more. Checkers of addresses need more than any
 * limit: false there. */
static int limit_addresses(const char *test, uint64_t more)
{
    struct rlimit limit;
    if (scale_pick(1, 0, 0) != 0 || mapped() == 0) {
        printf("skipped: %s: addresses cannot be limited here\n", test);
        return 0;
    }
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = mapped() + more;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    return 1;
}

/* ---- Thousands of arenas ----------------------------------------------- */

/* The first two are what most processes have; of the others a long run has as many. */
static const char *const many_of[] = {
    "pool=64KiB",
    "preset=grow",
    "pool=64KiB,max_blocks=1000",
    "pool=64KiB,memory=none",
    "pool=64KiB,stable=32KiB",
    "preset=grow,memory=none",
    "preset=bfc,initial_chunk=64KiB",
    "preset=mlx-cpu",
    "preset=cupy-pool",
};
#define MANY 10000
#define FEWER 2500

static void fail_to_make(const char *options, size_t index)
{
    cuarena_error_info_t error = last_error();
    ck_abort_msg("arena %zu of %s: %s", index, options, error.message);
}

/* An arena with a block in it. */
static cuarena_t *make_one(const char *options, size_t index, void **pointer)
{
    cuarena_t *arena = NULL;
    cuarena_config_t config = config_of(options);
    cuarena_status_t status = cuarena_create(&config, &arena);
    if (status == CUARENA_OK)
        status = cuarena_alloc(arena, 1000, pointer);
    if (status != CUARENA_OK)
        fail_to_make(options, index);
    return arena;
}

START_TEST(ten_thousand_arenas_live_in_one_process)
{
    size_t count = scale_pick(500, _i < 2 ? MANY : FEWER, MANY);
    cuarena_t **arenas = calloc(count, sizeof *arenas);
    void **pointers = calloc(count, sizeof *pointers);
    ck_assert(arenas != NULL && pointers != NULL);
    for (size_t i = 0; i < count; i++)
        arenas[i] = make_one(many_of[_i], i, &pointers[i]);
    for (size_t i = 0; i < count; i++) {
        char text[256] = "";
        if (cuarena_validate(arenas[i], text, sizeof text) != CUARENA_OK)
            ck_abort_msg("arena %zu is not sound: %s", i, text);
        expect_ok(cuarena_free(arenas[i], pointers[i]));
        expect_ok(cuarena_destroy(&arenas[i]));
    }
    free(arenas);
    free(pointers);
}
END_TEST

/* ---- How many are set aside -------------------------------------------- */

static uint64_t taken_by(const char *options)
{
    void *pointer = NULL;
    uint64_t before = mapped();
    cuarena_t *arena = make_one(options, 0, &pointer);
    uint64_t taken = mapped() - before;
    expect_ok(cuarena_free(arena, pointer));
    expect_ok(cuarena_destroy(&arena));
    return taken;
}

/* What it can become, and a MiB at most for its tables; or what an emulator takes. */
static void expect_about(uint64_t got, uint64_t want)
{
    uint64_t most = scale_is_emulated() ? MIB(32) : MIB(1);
    if (got + most < want || got > want + most)
        ck_abort_msg("expected about %llu bytes of addresses, got %llu", (unsigned long long)want,
                     (unsigned long long)got);
}

START_TEST(an_arena_sets_aside_what_it_can_become)
{
    if (mapped() == 0) {
        printf("skipped: %s: the system does not say what is mapped\n", __func__);
        return;
    }
    (void)taken_by("pool=64KiB"); /* what the process keeps for good */
    expect_about(taken_by("pool=64KiB"), KIB(64));
    expect_about(taken_by("pool=64MiB"), MIB(64));
    expect_about(taken_by("pool=64KiB,addresses=256MiB"), MIB(256));
    expect_about(taken_by("pool=64KiB,limit=128MiB"), MIB(128));
    expect_about(taken_by("preset=grow,limit=2GiB"), MIB(2048));
    expect_about(taken_by("preset=grow,limit=2GiB,addresses=1GiB"), MIB(1024));
}
END_TEST

/* ---- resize_pool -------------------------------------------------------- */

static const arena_kind_t *const resizing[] = {&arena_kinds[POOL_PAGEABLE],
                                               &arena_kinds[POOL_NONE]};

START_TEST(a_pool_grows_under_a_pointer_up_to_its_reserve)
{
    fixture_t *f = prepared(resizing[_i], EACH);
    f->config.address_bytes = 4 * EACH;
    fixture_create(f);
    void *first = alloc_ok(f, EACH);
    paint(f, first, EACH, 1);
    step_ok(f, cuarena_resize_pool(f->arena, 4 * EACH));
    void *rest = alloc_ok(f, 3 * EACH);
    expect_painted(f, first, EACH, 1);
    step(f, cuarena_resize_pool(f->arena, 5 * EACH), CUARENA_BUSY);
    cuarena_error_info_t error = last_error();
    ck_assert_ptr_nonnull(strstr(error.message, "262144 bytes"));
    ck_assert_ptr_nonnull(strstr(error.message, "addresses"));
    free_ok(f, rest);
    free_ok(f, first);
}
END_TEST

START_TEST(a_pool_without_a_reserve_moves_to_grow)
{
    fixture_t *f = prepared(resizing[_i], EACH);
    f->config.address_bytes = 0;
    fixture_create(f);
    cuarena_block_t block = alloc_block(f, EACH);
    paint(f, address_of(f, block), EACH, 1);
    step_ok(f, cuarena_resize_pool(f->arena, 64 * EACH));
    expect_painted(f, address_of(f, block), EACH, 1);
    free_block(f, block);
    void *pointer = alloc_ok(f, 64 * EACH);
    step(f, cuarena_resize_pool(f->arena, 65 * EACH), CUARENA_BUSY);
    free_ok(f, pointer);
}
END_TEST

/* The blocks of a pool are as many as it has room for, also after it grew. */
START_TEST(a_pool_that_grew_has_as_many_blocks_as_fit)
{
    fixture_t *f = prepared(resizing[_i], EACH);
    f->config.address_bytes = 0;
    fixture_create(f);
    step_ok(f, cuarena_resize_pool(f->arena, 64 * EACH));
    uint64_t alignment = f->config.alignment;
    if (alignment == CUARENA_BYTES_PRESET)
        alignment = 256;
    for (uint64_t i = 0; i < 64 * EACH / alignment; i++) {
        void *pointer = NULL;
        expect_ok(cuarena_alloc(f->arena, alignment, &pointer));
    }
    expect_u64(live_bytes(f), 64 * EACH);
    expect_sound(f);
    fixture_close_forced(f);
}
END_TEST

/* ---- Where the process may not have many -------------------------------- */

START_TEST(growing_arenas_share_few_addresses)
{
    void *pointers[16];
    cuarena_t *arenas[16];
    if (!limit_addresses(__func__, MIB(1024)))
        return;
    for (size_t i = 0; i < COUNT_OF(arenas); i++)
        arenas[i] = make_one("preset=grow,limit=64GiB", i, &pointers[i]);
    void *other = mmap(NULL, MIB(256), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_msg(other != MAP_FAILED, "the process has no addresses left");
    ck_assert_int_eq(munmap(other, MIB(256)), 0);
    for (size_t i = 0; i < COUNT_OF(arenas); i++) {
        void *more = NULL;
        expect_ok(cuarena_alloc(arenas[i], MIB(4), &more));
        expect_ok(cuarena_free(arenas[i], more));
        expect_ok(cuarena_free(arenas[i], pointers[i]));
        expect_ok(cuarena_destroy(&arenas[i]));
    }
}
END_TEST

/* 100000 blocks have some MiB of tables, whatever their most is. */
START_TEST(tables_fit_where_addresses_are_few)
{
    cuarena_t *arena = NULL;
    void *pointer = NULL;
    if (!limit_addresses(__func__, MIB(128)))
        return;
    arena = make_one("preset=grow,limit=64MiB", 0, &pointer);
    for (int i = 0; i < 100000; i++)
        expect_ok(cuarena_alloc(arena, 256, &pointer));
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_destroy_forced(&arena));
}
END_TEST

static void expect_addresses_named(void)
{
    cuarena_error_info_t error = last_error();
    if (strstr(error.message, "addresses") == NULL || strstr(error.message, "RLIMIT_AS") == NULL)
        ck_abort_msg("expected addresses and RLIMIT_AS to be named: %s", error.message);
    ck_assert_int_eq(error.driver_code, ENOMEM);
}

START_TEST(the_error_names_the_addresses_that_are_short)
{
    cuarena_t *arena = NULL;
    if (!limit_addresses(__func__, MIB(256)))
        return;
    cuarena_config_t config = config_of("pool=1GiB");
    expect_status(cuarena_create(&config, &arena), CUARENA_OUT_OF_MEMORY);
    expect_addresses_named();
}
END_TEST

/* Where growth finds none, as where an arena is made. */
START_TEST(the_error_of_a_request_names_the_addresses_too)
{
    void *pointer = NULL;
    cuarena_status_t status = CUARENA_OK;
    if (!limit_addresses(__func__, MIB(256)))
        return;
    cuarena_t *arena = arena_of("preset=grow");
    for (int i = 0; i < 16 && status == CUARENA_OK; i++)
        status = cuarena_alloc(arena, MIB(32), &pointer);
    expect_status(status, CUARENA_OUT_OF_MEMORY);
    expect_addresses_named();
    ck_assert_ptr_nonnull(strstr(last_error().message, "tried: reserved bytes, growth"));
    expect_ok(cuarena_destroy_forced(&arena));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("addresses");
    TCase *many = new_case(suite, "many");
    tcase_add_loop_test(many, ten_thousand_arenas_live_in_one_process, 0, (int)COUNT_OF(many_of));
    TCase *pools = new_case(suite, "pools");
    const int memories = (int)COUNT_OF(resizing);
    tcase_add_loop_test(pools, a_pool_grows_under_a_pointer_up_to_its_reserve, 0, memories);
    tcase_add_loop_test(pools, a_pool_without_a_reserve_moves_to_grow, 0, memories);
    tcase_add_loop_test(pools, a_pool_that_grew_has_as_many_blocks_as_fit, 0, memories);
    suite_add_list(suite, "few",
                   TEST_LIST(an_arena_sets_aside_what_it_can_become,
                             growing_arenas_share_few_addresses, tables_fit_where_addresses_are_few,
                             the_error_names_the_addresses_that_are_short,
                             the_error_of_a_request_names_the_addresses_too));
    return suite_main(suite);
}
