/*
 * Shared arenas of devices: one for each memory and each device or context.
 */
#include "support/configs.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"

#include <pthread.h>
#include <string.h>

#define TEXT "preset=grow,limit=64MiB,"

static cuarena_t *acquire(const cuarena_config_t *config, int32_t *created)
{
    cuarena_t *arena = NULL;
    cuarena_shared_report_t report;
    cuarena_shared_report_init(&report);
    expect_ok(cuarena_shared_acquire(config, &arena, &report));
    ck_assert_msg(report.differs == 0, "differs: %s", report.text);
    *created = report.created;
    return arena;
}

static void release(cuarena_t *arena)
{
    expect_ok(cuarena_shared_release(&arena));
}

/* As a session and another one would: device memory and pinned memory of one device are two arenas,
 * each held by both. */
START_TEST(each_memory_of_a_device_has_its_arena)
{
    static const char *const texts[] = {TEXT "memory=device", TEXT "memory=pinned",
                                        TEXT "memory=managed", TEXT "memory=none"};
    cuarena_t *first[4], *second[4];
    int32_t created = 0;
    for (int i = 0; i < 4; i++) {
        cuarena_config_t config = config_of(texts[i]);
        first[i] = acquire(&config, &created);
        ck_assert_int_eq(created, 1);
        for (int j = 0; j < i; j++)
            ck_assert_ptr_ne(first[i], first[j]);
    }
    for (int i = 0; i < 4; i++) {
        void *pointer = NULL;
        cuarena_config_t config = config_of(texts[i]);
        second[i] = acquire(&config, &created);
        expect_ptr(second[i], first[i]);
        ck_assert_int_eq(created, 0);
        expect_ok(cuarena_alloc(second[i], 1000, &pointer));
        release(first[i]);
        expect_ok(cuarena_free(second[i], pointer));
        release(second[i]);
    }
}
END_TEST

/* The primary context, named by its device or by itself. */
START_TEST(a_context_has_its_own)
{
    int32_t created = 0;
    cuarena_config_t config = config_of(TEXT "memory=device");
    cuarena_t *of_device = acquire(&config, &created);
    config.context = cuda_test_use_device(0);
    cuarena_t *of_context = acquire(&config, &created);
    ck_assert_int_eq(created, 1);
    ck_assert_ptr_ne(of_device, of_context);
    cuarena_t *again = acquire(&config, &created);
    expect_ptr(again, of_context);
    release(again);
    release(of_context);
    release(of_device);
}
END_TEST

START_TEST(each_device_has_its_own)
{
    int32_t created = 0;
    standin = driver_standin();
    if (standin != NULL)
        standin->standin_configure("DEVICES", "2");
    else if (driver_device_count() < 2)
        return;
    cuarena_config_t config = config_of(TEXT "memory=device");
    cuarena_t *first = acquire(&config, &created);
    config.device = 1;
    cuarena_t *second = acquire(&config, &created);
    ck_assert_int_eq(created, 1);
    ck_assert_ptr_ne(first, second);
    release(first);
    release(second);
}
END_TEST

/* Of several memories of one device the list means the device's own. */
START_TEST(shrink_by_a_list_of_devices)
{
    static const char *const texts[] = {TEXT "memory=device", TEXT "memory=pageable",
                                        TEXT "memory=pinned", TEXT "memory=managed"};
    cuarena_t *arenas[4];
    uint64_t held[4], given = 0;
    int32_t created = 0;
    for (int i = 0; i < 4; i++) {
        void *pointer = NULL;
        cuarena_config_t config = config_of(texts[i]);
        arenas[i] = acquire(&config, &created);
        expect_ok(cuarena_alloc(arenas[i], 1000, &pointer));
        expect_ok(cuarena_free(arenas[i], pointer));
        held[i] = held_by(arenas[i]);
    }
    expect_status(cuarena_shared_shrink("gpu:0;cpu:0;gpu:1000", &given), CUARENA_BAD_ARGUMENT);
    expect_u64(held_by(arenas[0]), held[0]);
    expect_ok(cuarena_shared_shrink("cpu:0;gpu:0", &given));
    expect_u64(given, held[0] + held[1]);
    for (int i = 0; i < 4; i++) {
        expect_u64(held_by(arenas[i]), i < 2 ? 0 : held[i]);
        release(arenas[i]);
    }
}
END_TEST

START_TEST(a_device_that_is_not_there)
{
    cuarena_t *arena = NULL;
    cuarena_config_t config = config_of(TEXT "memory=device,device=1000");
    for (int i = 0; i < 2; i++) {
        cuarena_status_t status = cuarena_shared_acquire(&config, &arena, NULL);
        ck_assert_int_ne(status, CUARENA_OK);
        ck_assert_ptr_null(arena);
    }
    expect_status(cuarena_shared_find(&config, &arena), CUARENA_STALE);
}
END_TEST

/* Making an arena of a device takes its time; others wait for it. */
#define THREADS 4

static void *come_and_go(void *user)
{
    cuarena_config_t small = config_of(TEXT "memory=device");
    cuarena_config_t large = config_of("preset=grow,limit=96MiB,memory=device");
    uint64_t *swapped = user;
    for (uint64_t i = 0; i < scale_pick(5, 20, 200); i++) {
        void *pointer = NULL;
        cuarena_t *arena = NULL;
        expect_ok(cuarena_shared_acquire(&small, &arena, NULL));
        expect_ok(cuarena_alloc(arena, 1000, &pointer));
        expect_ok(cuarena_free(arena, pointer));
        cuarena_status_t status = cuarena_shared_replace(&arena, &large, NULL);
        ck_assert(status == CUARENA_OK || status == CUARENA_BUSY);
        *swapped += status == CUARENA_OK;
        release(arena);
    }
    return NULL;
}

START_TEST(threads_on_one_device)
{
    pthread_t threads[THREADS];
    uint64_t swapped[THREADS] = {0};
    cuarena_t *arena = NULL;
    cuarena_config_t config = config_of(TEXT "memory=device");
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go, &swapped[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    expect_status(cuarena_shared_find(&config, &arena), CUARENA_STALE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("CUDA shared");
    cuda_kinds_ready();
    suite_add_list(suite, "places",
                   TEST_LIST(each_memory_of_a_device_has_its_arena, a_context_has_its_own,
                             each_device_has_its_own, shrink_by_a_list_of_devices,
                             a_device_that_is_not_there, threads_on_one_device));
    return cuda_kinds_main(suite);
}
