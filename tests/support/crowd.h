/*
 * Threads that have caches (cuarena/arena.h), for the tests of these: threads meet at the
 * arena's lock until they have caches, which shows in the bookkeeping, and some of them stay until
 * the test ends, so that caches begin and stay in use. Included by one file of a program.
 */
#ifndef CUARENA_TEST_CROWD_H
#define CUARENA_TEST_CROWD_H

#include "support/fixture.h"
#include "support/fixture_streams.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POOL MIB(1)
#define WORKERS 4
#define HELD 24
#define LONGEST 30 /* seconds until caches must have begun */
/* What the cache of a thread, and what threads hand to each other, take of the bookkeeping. */
#define CACHE_LEAST UINT64_C(7500)
#define CACHE_MOST UINT64_C(8192)
#define DEPOT_LEAST UINT64_C(16000)
#define DEPOT_MOST UINT64_C(16384)

static fixture_t f;
static cuarena_t *arena; /* of one of them */

/* ---- What threads find wrong ------------------------------------------- */

static atomic_int wrong; /* the first line where something was; 0: none */

static inline void note(bool fine, int line)
{
    int none = 0;
    if (!fine)
        atomic_compare_exchange_strong(&wrong, &none, line);
}

#define must(fine) note((fine), __LINE__)
#define must_be(status, call) must((call) == (status))
#define must_ok(call) must_be(CUARENA_OK, call)

static inline bool on_stream(cuarena_stream_t stream)
{
    return stream != CUARENA_NO_STREAM;
}

static inline cuarena_status_t get(uint64_t bytes, cuarena_stream_t stream, void **p)
{
    return on_stream(stream) ? cuarena_alloc_on(arena, bytes, stream, NULL, p)
                             : cuarena_alloc(arena, bytes, p);
}

static inline cuarena_status_t put(void *p, cuarena_stream_t stream)
{
    return on_stream(stream) ? cuarena_free_on(arena, p, stream) : cuarena_free(arena, p);
}

static inline void nap_for(long nanoseconds)
{
    const struct timespec moment = {0, nanoseconds};
    (void)nanosleep(&moment, NULL);
}

static inline void nap(void)
{
    nap_for(200000);
}

/* ---- Threads ----------------------------------------------------------- */

typedef struct worker {
    pthread_t thread;
    uint64_t index;
    cuarena_stream_t stream;
    random_state_t random;
    uint64_t allocs, frees, live, requested, allocated;
    void *held[HELD];
    uint64_t bytes[HELD];
} worker_t;

static worker_t workers[WORKERS];

static inline void prepare_workers(bool streams)
{
    memset(workers, 0, sizeof workers);
    for (uint64_t i = 0; i < WORKERS; i++) {
        workers[i].index = i;
        workers[i].random.state = 77 * i + 1;
        workers[i].stream = streams ? sim_handle(20 + i) : CUARENA_NO_STREAM;
    }
}

static inline void start(worker_t *w, void *(*job)(void *))
{
    ck_assert_int_eq(pthread_create(&w->thread, NULL, job, w), 0);
}

static inline void run(int count, void *(*job)(void *))
{
    for (int i = 0; i < count; i++)
        start(&workers[i], job);
    for (int i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
}

/* A thread that does something and then stays. */
static struct {
    pthread_t thread;
    void (*job)(void);
    atomic_bool done, over;
} keeper;

static inline void *keep(void *unused)
{
    keeper.job();
    atomic_store(&keeper.done, true);
    while (!atomic_load(&keeper.over))
        nap();
    return unused;
}

static inline void keeper_begin(void (*job)(void))
{
    keeper.job = job;
    atomic_store(&keeper.done, false);
    atomic_store(&keeper.over, false);
    ck_assert_int_eq(pthread_create(&keeper.thread, NULL, keep, NULL), 0);
    while (!atomic_load(&keeper.done))
        nap();
}

static inline void keeper_end(void)
{
    atomic_store(&keeper.over, true);
    pthread_join(keeper.thread, NULL);
}

/* ---- Threads that meet ------------------------------------------------- */

#define CROWD 2
static struct {
    cuarena_stream_t stream;
    atomic_bool idle, over;
    atomic_int calls; /* that are under way */
    pthread_t threads[CROWD];
} crowd;

/* A pause of another length each time. Where one thread runs at a time, as under valgrind, and for
 * as many steps each time, rounds of one length may end up where no thread ever has the lock when
 * its time is over. */
static inline void pause_at_random(random_state_t *random)
{
    for (uint64_t left = random_below(random, 32); left != 0; left--)
        (void)atomic_load(&crowd.over);
}

static inline void *mingle(void *unused)
{
    random_state_t random = {7};
    while (!atomic_load(&crowd.over)) {
        void *p = NULL;
        atomic_fetch_add(&crowd.calls, 1);
        bool idle = atomic_load(&crowd.idle);
        if (!idle && get(256, crowd.stream, &p) == CUARENA_OK)
            must_ok(put(p, crowd.stream));
        atomic_fetch_sub(&crowd.calls, 1);
        if (idle)
            nap();
        else
            pause_at_random(&random);
    }
    return unused;
}

static inline uint64_t bookkeeping(void)
{
    return arena_stats(arena).bookkeeping_bytes;
}

/* So that caches are all that the bookkeeping grows by. */
static inline void warm(void)
{
    void *p[250];
    for (size_t i = 0; i < COUNT_OF(p); i++)
        expect_ok(get(256, crowd.stream, &p[i]));
    for (size_t i = 0; i < COUNT_OF(p); i++)
        expect_ok(put(p[i], crowd.stream));
}

static inline void crowd_start(void)
{
    atomic_store(&crowd.over, false);
    for (int i = 0; i < CROWD; i++)
        ck_assert_int_eq(pthread_create(&crowd.threads[i], NULL, mingle, NULL), 0);
}

static inline void crowd_rest(void)
{
    atomic_store(&crowd.idle, true);
    while (atomic_load(&crowd.calls) != 0)
        nap();
}

static inline void crowd_end(void)
{
    atomic_store(&crowd.over, true);
    for (int i = 0; i < CROWD; i++)
        pthread_join(crowd.threads[i], NULL);
}

/* To look for the caches stops them, so each look is longer after the last one. A crowd that got
 * none ends: it would go on in the arena of the next test. */
static inline void crowd_begin(uint64_t more)
{
    long wait = 200000;
    uint64_t want = bookkeeping() + CROWD * CACHE_LEAST + more;
    time_t end = time(NULL) + LONGEST;
    atomic_store(&crowd.idle, false);
    crowd_start();
    while (bookkeeping() < want && time(NULL) < end) {
        nap_for(wait);
        wait += wait < 250000000 ? wait : 0;
    }
    crowd_rest();
    if (bookkeeping() >= want)
        return;
    crowd_end();
    ck_abort_msg("threads met for %d s and got no caches", LONGEST);
}

/* ---- Arenas with caches ------------------------------------------------ */

/* The fixture is prepared. */
static inline void begin(bool streams)
{
    atomic_store(&wrong, 0);
    prepare_workers(streams);
    fixture_create(&f);
    arena = f.arena;
    crowd.stream = streams ? C : CUARENA_NO_STREAM;
    warm();
}

static inline void begin_met(bool streams)
{
    begin(streams);
    crowd_begin(DEPOT_LEAST);
}

static inline void begin_pool(void)
{
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    begin_met(false);
}

static inline void begin_streams(void)
{
    fixture_prepare(&f, SIMULATED, POOL);
    for (uint32_t i = 0; i < WORKERS; i++)
        sim_stream_make(&f.sim, sim_handle(20 + i));
    begin_met(true);
}

static inline void expect_nothing_wrong(void)
{
    ck_assert_msg(wrong == 0, "wrong at line %d", (int)wrong);
}

static inline void finish(void)
{
    expect_valid_arena(arena);
    crowd_end();
    expect_nothing_wrong();
    expect_valid_arena(arena);
    fixture_close(&f);
    arena = NULL;
}

static inline void expect_all_free(void)
{
    free_ok(&f, alloc_ok(&f, POOL));
}

static inline void expect_child(pid_t child)
{
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended by %x", status);
}

#endif
