/*
 * Snapshots beside threads that allocate and free, with caches of their own: each is of one moment,
 * so what lives in it adds up to its statistics.
 */
#include "support/configs.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/snapshots.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define THREADS 3
#define HELD 64
#define SNAPSHOTS 12

typedef struct worker {
    pthread_t thread;
    cuarena_t *arena;
    uint64_t seed;
    cuarena_stream_t stream;
    cuarena_tag_t tag;
} worker_t;

static atomic_bool over;

/* One of the thread's places: frees what is there, or allocates. A request may be refused. */
static void change(const worker_t *w, random_state_t *random, void **held)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.tag = w->tag;
    if (*held != NULL)
        expect_ok(cuarena_free_on(w->arena, *held, w->stream));
    *held = NULL;
    uint64_t bytes = 1 + random_below(random, 4000);
    if (random_below(random, 4) != 0 &&
        cuarena_alloc_on(w->arena, bytes, w->stream, &request, held) != CUARENA_OK)
        *held = NULL;
}

static void *work(void *user)
{
    const worker_t *w = user;
    void *held[HELD] = {NULL};
    random_state_t random = {w->seed};
    while (!atomic_load(&over))
        change(w, &random, &held[random_below(&random, HELD)]);
    for (int i = 0; i < HELD; i++)
        if (held[i] != NULL)
            expect_ok(cuarena_free_on(w->arena, held[i], w->stream));
    return NULL;
}

static void begin_work(worker_t *workers, cuarena_t *arena, bool streams)
{
    cuarena_tag_t tag;
    expect_ok(cuarena_tag(arena, "work", &tag));
    atomic_store(&over, false);
    for (uint64_t i = 0; i < THREADS; i++) {
        cuarena_stream_t stream =
            streams ? (cuarena_stream_t)(uintptr_t)(0x1000 * (i + 1)) : CUARENA_NO_STREAM;
        workers[i] = (worker_t){.arena = arena, .seed = i + 1, .stream = stream, .tag = tag};
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
}

static void end_work(worker_t *workers)
{
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
}

static const char *const options[] = {
    "memory=none,pool=4MiB",
    "memory=none,preset=grow,limit=4MiB",
    "memory=none,preset=mlx-cpu,limit=4MiB",
    "memory=none,preset=bfc,limit=4MiB",
};

static void write_beside(const char *arena_options, bool streams)
{
    char name[32];
    worker_t workers[THREADS];
    cuarena_t *arena = arena_of(arena_options);
    begin_work(workers, arena, streams);
    for (int i = 0; i < SNAPSHOTS; i++) {
        snprintf(name, sizeof name, "%02d.json", i);
        expect_ok(cuarena_snapshot_write(arena, CUARENA_SNAPSHOT_JSON, in_folder(name)));
    }
    end_work(workers);
    expect_valid_arena(arena);
    expect_ok(cuarena_destroy(&arena));
    expect_right_snapshots();
}

START_TEST(snapshots_are_of_one_moment)
{
    write_beside(options[_i], false);
}
END_TEST

START_TEST(snapshots_on_streams_are_of_one_moment)
{
    write_beside(options[_i], true);
}
END_TEST

/* Threads that run out at once write files of their own, sixteen in all. */
START_TEST(refusals_of_threads)
{
    char text[400];
    worker_t workers[THREADS];
    snprintf(text, sizeof text, "memory=none,pool=64KiB,snapshot_on_oom=%s", in_folder("%n.json"));
    cuarena_t *arena = arena_of(text);
    begin_work(workers, arena, false);
    while (files_ending(".json") < 16)
        expect_valid_arena(arena);
    end_work(workers);
    expect_u64(files_ending(""), 16);
    expect_ok(cuarena_destroy(&arena));
    expect_right_snapshots();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshot threads");
    TCase *plain = suite_add_case(suite, "plain");
    tcase_add_loop_test(plain, snapshots_are_of_one_moment, 0, COUNT_OF(options));
    TCase *streams = suite_add_case(suite, "streams");
    tcase_add_loop_test(streams, snapshots_on_streams_are_of_one_moment, 0, COUNT_OF(options));
    use_folder(plain);
    use_folder(streams);
    use_folder(suite_add_list(suite, "refusals", TEST_LIST(refusals_of_threads)));
    return suite_main(suite);
}
