/*
 * What debugging and recording take of the host counts as bookkeeping, to the byte: an arena with
 * such options is compared with one without, in what it tells and in what the host gave. And what
 * the host refuses a trace is counted in its last line.
 *
 * Looks inside, since only there the host's bytes are counted (base/host_test.h).
 */
#include "support/configs.h"
#include "support/fixture.h"
#include "support/trace_file.h"

#include "base/host_test.h"

#include <pthread.h>
#include <stdio.h>

#define COUNT 300 /* more than the table of watched blocks has buckets at first */
#define THREADS 3

typedef struct taken {
    uint64_t told; /* by the statistics */
    uint64_t host; /* by the host */
} taken_t;

typedef struct load {
    cuarena_t *arena;
    void *blocks[COUNT];
} load_t;

static taken_t taken_since(const load_t *load, uint64_t host)
{
    return (taken_t){arena_stats(load->arena).bookkeeping_bytes, cuai_host_live() - host};
}

/* Half of what was allocated is freed again, so that a quarantine has blocks, too. */
static void fill(load_t *load)
{
    for (int i = 0; i < COUNT; i++)
        expect_ok(cuarena_alloc(load->arena, 1000, &load->blocks[i]));
    for (int i = 0; i < COUNT; i += 2)
        expect_ok(cuarena_free(load->arena, load->blocks[i]));
}

static void end(load_t *load)
{
    for (int i = 1; i < COUNT; i += 2)
        expect_ok(cuarena_free(load->arena, load->blocks[i]));
    expect_ok(cuarena_destroy(&load->arena));
}

static taken_t taken_with(const char *options)
{
    load_t load;
    uint64_t before = cuai_host_live();
    load.arena = arena_of(options);
    fill(&load);
    taken_t taken = taken_since(&load, before);
    end(&load);
    return taken;
}

/* What options take besides, as both say it. */
static void expect_all_told(taken_t with, taken_t alone)
{
    ck_assert_uint_gt(with.host, alone.host);
    expect_u64(with.told - alone.told, with.host - alone.host);
}

#define POOL_OPTIONS "memory=pageable, pool=8MiB"

static const char *const watches[] = {
    POOL_OPTIONS ", guard=64",           POOL_OPTIONS ", fill=both",
    POOL_OPTIONS ", quarantine=64KiB",   POOL_OPTIONS ", quarantine=4MiB, guard=16",
    POOL_OPTIONS ", guard=16, stacks=8",
};

/* The first arena of all may find something that later ones find there. */
START_TEST(watched_blocks_are_told)
{
    (void)taken_with(watches[_i]);
    expect_all_told(taken_with(watches[_i]), taken_with(POOL_OPTIONS));
    expect_u64(taken_with(POOL_OPTIONS).told, taken_with(POOL_OPTIONS).told);
}
END_TEST

START_TEST(a_ring_is_told)
{
    (void)taken_with(POOL_OPTIONS ", trace_ring=1000");
    taken_t alone = taken_with(POOL_OPTIONS);
    taken_t with = taken_with(POOL_OPTIONS ", trace_ring=1000");
    expect_all_told(with, alone);
    expect_u64(with.host - alone.host, 1000 * sizeof(cuarena_traced_t));
}
END_TEST

START_TEST(a_trace_is_told)
{
    char options[512];
    (void)snprintf(options, sizeof options, POOL_OPTIONS ", trace=%s", trace_path("told.csv"));
    (void)taken_with(options);
    expect_all_told(taken_with(options), taken_with(POOL_OPTIONS));
}
END_TEST

static void *use_too(void *user)
{
    void *p = NULL;
    if (cuarena_alloc(user, 1000, &p) == CUARENA_OK)
        (void)cuarena_free(user, p);
    return NULL;
}

/* One thread after the other, so that none gets a cache: a second writer is taken over. */
static void run_threads(cuarena_t *arena)
{
    pthread_t thread;
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread, NULL, use_too, arena), 0);
        pthread_join(thread, NULL);
    }
}

/* What the trace took meanwhile. */
static taken_t record(const load_t *load, const char *path)
{
    taken_t before = taken_since(load, 0);
    expect_ok(cuarena_trace_begin(load->arena, path));
    run_threads(load->arena);
    taken_t taken = taken_since(load, before.host);
    taken.told -= before.told;
    expect_ok(cuarena_trace_end(load->arena));
    return taken;
}

/* What it took goes back at its end, and is told no more. Writers stay, for the next trace. */
static void record_again(const char *name)
{
    const char *path = trace_path(name);
    load_t load = {.arena = arena_of(POOL_OPTIONS)};
    fill(&load);
    (void)record(&load, path);
    taken_t before = taken_since(&load, 0);
    taken_t taken = record(&load, path);
    taken_t after = taken_since(&load, 0);
    ck_assert_uint_gt(taken.host, 2 * KIB(64));
    expect_u64(taken.told, taken.host);
    expect_u64(after.told, before.told);
    expect_u64(after.host, before.host);
    end(&load);
}

START_TEST(what_a_trace_took_is_told_until_its_end)
{
    record_again("again.csv");
}
END_TEST

START_TEST(so_is_what_compresses_it)
{
    const char *path = trace_path("again.csv.gz");
    cuarena_t *arena = arena_of(POOL_OPTIONS);
    cuarena_status_t status = cuarena_trace_begin(arena, path);
    expect_ok(cuarena_destroy(&arena));
    if (status == CUARENA_UNSUPPORTED)
        printf("skipped: there is no libz.so.1\n");
    else
        record_again("again.csv.gz");
}
END_TEST

START_TEST(an_event_without_memory_is_counted_in_the_last_line)
{
    const char *path = trace_path("lost.csv");
    cuarena_t *arena = arena_of(POOL_OPTIONS);
    cuai_host_fail_at(1); /* there is no room for the line of the pool */
    expect_ok(cuarena_trace_begin(arena, path));
    cuai_host_fail_at(0);
    expect_ok(cuarena_destroy(&arena));
    trace_file_t file = trace_file_read(path);
    expect_u64(trace_file_count(&file, "grow"), 0);
    expect_u64(trace_file_line(&file, "end", 0)->size, 1);
    trace_file_free(&file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_bytes");
    TCase *watched = suite_add_list(suite, "watched", TEST_LIST(a_ring_is_told));
    tcase_add_loop_test(watched, watched_blocks_are_told, 0, COUNT_OF(watches));
    suite_add_list(suite, "traces",
                   TEST_LIST(a_trace_is_told, what_a_trace_took_is_told_until_its_end,
                             so_is_what_compresses_it,
                             an_event_without_memory_is_counted_in_the_last_line));
    return suite_main(suite);
}
