/*
 * What threads share fits as it does for one: a request that has room is not refused because others
 * free and reclaim beside it, and a block is not much larger than its request.
 */
#include "support/fixture.h"
#include "support/random.h"
#include "support/scale.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define POOL (UINT64_C(4) << 20)
#define EACH UINT64_C(4096)
#define BLOCKS (POOL / EACH)
#define PRODUCERS 7
#define CONSUMERS 2
#define THREADS 8

static cuarena_t *arena; /* of the test's fixture */
static atomic_int wrong; /* the first line where something was; 0: none */

static void note(bool fine, int line)
{
    int none = 0;
    if (!fine)
        atomic_compare_exchange_strong(&wrong, &none, line);
}

#define must(fine) note((fine), __LINE__)

static void run(int count, void *(*job)(void *))
{
    pthread_t threads[PRODUCERS + CONSUMERS];
    for (intptr_t i = 0; i < count; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, job, (void *)i), 0);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    ck_assert_msg(wrong == 0, "wrong at line %d", (int)wrong);
}

/* ---- Room ---------------------------------------------------------------- */

static sem_t room; /* blocks that may still be allocated: all that fit */
static struct {
    pthread_mutex_t lock;
    void *blocks[BLOCKS];
    uint64_t count;
} ready = {.lock = PTHREAD_MUTEX_INITIALIZER};
static atomic_llong left;
static atomic_int producing;
static atomic_int refused;
static char first_refusal[1024];

static void push(void *p)
{
    pthread_mutex_lock(&ready.lock);
    ready.blocks[ready.count++] = p;
    pthread_mutex_unlock(&ready.lock);
}

static void *pop(void)
{
    pthread_mutex_lock(&ready.lock);
    void *p = ready.count == 0 ? NULL : ready.blocks[--ready.count];
    pthread_mutex_unlock(&ready.lock);
    return p;
}

static void produce(void)
{
    while (atomic_fetch_sub(&left, 1) > 0) {
        void *p = NULL;
        while (sem_wait(&room) != 0)
            ;
        if (cuarena_alloc(arena, EACH, &p) == CUARENA_OK) {
            push(p);
            continue;
        }
        if (atomic_fetch_add(&refused, 1) == 0)
            snprintf(first_refusal, sizeof first_refusal, "%s", cuarena_last_error());
        sem_post(&room);
    }
    atomic_fetch_sub(&producing, 1);
}

static void consume(cuarena_stream_t stream)
{
    for (;;) {
        bool last = atomic_load(&producing) == 0;
        void *p = pop();
        if (p == NULL && last)
            return;
        if (p == NULL) {
            sched_yield();
            continue;
        }
        must(cuarena_free_on(arena, p, stream) == CUARENA_OK);
        sem_post(&room);
    }
}

static void *produce_or_consume(void *user)
{
    intptr_t index = (intptr_t)user;
    if (index < PRODUCERS)
        produce();
    else
        consume(CUARENA_STREAM_NUMBER(0x1000 + 16 * index));
    return NULL;
}

static const char *const arenas[] = {
    "memory=none, pool=4MiB",
    "memory=none, pool=4MiB, steal=idle",
    "memory=none, preset=grow, limit=4MiB",
    "memory=none, preset=bfc, limit=4MiB",
};

/* Blocks without a stream get idle bytes only, and others' frees are idle once somebody asks: what
 * another thread reclaims meanwhile is found. */
START_TEST(bytes_that_another_thread_reclaims_are_found)
{
    arena = opened_text(arenas[_i])->arena;
    ck_assert_int_eq(sem_init(&room, 0, BLOCKS), 0);
    atomic_store(&left, (long long)scale_pick(20000, 60000, 600000));
    atomic_store(&producing, PRODUCERS);
    run(PRODUCERS + CONSUMERS, produce_or_consume);
    ck_assert_msg(refused == 0, "%d requests were refused, the first: %s", (int)refused,
                  first_refusal);
    sem_destroy(&room);
}
END_TEST

/* ---- Sizes --------------------------------------------------------------- */

#define HELD 64

static void *replace_at_random(void *user)
{
    random_state_t random = {(uint64_t)(uintptr_t)user + 1};
    void *held[HELD] = {NULL};
    uint64_t rounds = scale_pick(5000, 20000, 200000);
    for (uint64_t i = 0; i < rounds; i++) {
        void **p = &held[random_below(&random, HELD)];
        uint64_t bytes = 1 + random_below(&random, i % 8 == 0 ? 65536 : 4096);
        uint64_t requested;
        uint64_t allocated;
        must(cuarena_free(arena, *p) == CUARENA_OK);
        must(cuarena_alloc(arena, bytes, p) == CUARENA_OK);
        must(cuarena_size_of(arena, *p, &requested, &allocated) == CUARENA_OK);
        uint64_t rounded = (bytes + 255) / 256 * 256;
        must(requested == bytes && allocated >= rounded && allocated <= rounded + rounded / 2);
    }
    for (int i = 0; i < HELD; i++)
        must(cuarena_free(arena, held[i]) == CUARENA_OK);
    return NULL;
}

START_TEST(blocks_of_threads_have_at_most_half_more_bytes)
{
    arena = opened_text("memory=none, pool=64MiB")->arena;
    run(THREADS, replace_at_random);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("what threads share fits");
    TCase *tcase = suite_add_case(suite, "room");
    tcase_add_loop_test(tcase, bytes_that_another_thread_reclaims_are_found, 0,
                        (int)COUNT_OF(arenas));
    tcase_set_timeout(tcase, 300);
    suite_add_list(suite, "sizes", TEST_LIST(blocks_of_threads_have_at_most_half_more_bytes));
    return suite_main(suite);
}
