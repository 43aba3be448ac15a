/*
 * Debugging (debug.h) apart from what guards find: reports of leaks, on demand and where destroy is
 * refused; the stacks in them; threads; and each option alone and all together.
 */
#include "support/base_support.h"
#include "support/configs.h"
#include "support/expect.h"
#include "support/log_lines.h"
#include "support/random.h"
#include "support/scale.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- Lines ------------------------------------------------------------- */

static void expect_line(int at, const char *part)
{
    ck_assert_int_lt(at, logged.count);
    ck_assert_msg(strstr(logged.list[at].text, part) != NULL, "line %d: expected '%s' in '%s'", at,
                  part, logged.list[at].text);
}

static void report(cuarena_t *arena)
{
    logged.count = 0;
    expect_ok(cuarena_report_leaks(arena, keep_report_line, NULL));
}

static void *alloc(cuarena_t *arena, uint64_t bytes, const char *tag)
{
    void *pointer = NULL;
    cuarena_request_t request;
    cuarena_request_init(&request);
    if (tag != NULL)
        expect_ok(cuarena_tag(arena, tag, &request.tag));
    expect_ok(cuarena_alloc_with(arena, bytes, &request, &pointer));
    return pointer;
}

static void end(cuarena_t **arena)
{
    expect_valid_arena(*arena);
    expect_ok(cuarena_destroy_forced(arena));
}

/* ---- Leaks ------------------------------------------------------------- */

START_TEST(report_lists_tags_by_bytes_and_their_oldest_block)
{
    cuarena_t *arena = arena_of("pool=1MiB, guard=16");
    char want[96];
    void *oldest = alloc(arena, 300, "weights");
    alloc(arena, 400, "weights");
    alloc(arena, 100, NULL);
    alloc(arena, 1, "few");
    expect_ok(cuarena_free(arena, alloc(arena, 9, "none left")));
    report(arena);
    expect_u64((uint64_t)logged.count, 4);
    expect_line(0, "4 blocks of 801 bytes live");
    expect_line(1, "tag 'weights': 2 blocks of 700 bytes; the oldest: block 0x");
    (void)snprintf(want, sizeof want, " at %p, 300 bytes, 4 allocations and ", oldest);
    expect_line(1, want);
    expect_line(2, "tag 'none': 1 blocks of 100 bytes; the oldest");
    expect_line(3, "tag 'few': 1 blocks of 1 bytes");
    end(&arena);
}
END_TEST

START_TEST(report_without_options_knows_no_age)
{
    cuarena_t *arena = arena_of("memory=none, pool=1MiB");
    report(arena);
    expect_u64((uint64_t)logged.count, 1);
    expect_line(0, "0 blocks of 0 bytes live");
    alloc(arena, 100, NULL);
    report(arena);
    expect_u64((uint64_t)logged.count, 2);
    expect_line(1, "tag 'none': 1 blocks of 100 bytes; one: block 0x");
    ck_assert_ptr_null(strstr(logged.list[1].text, "old"));
    end(&arena);
}
END_TEST

START_TEST(report_is_bounded)
{
    cuarena_t *arena = arena_of("memory=none, pool=1MiB, stacks=1");
    for (int i = 0; i < 40; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "tag %d", i);
        alloc(arena, 100, name);
    }
    report(arena);
    expect_line(17, "... and 24 more tags");
    expect_between((uint64_t)logged.count, 18, 40);
    end(&arena);
}
END_TEST

static void log_no_more(void)
{
    cuarena_log_set_callback(NULL, NULL);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_OFF));
}

START_TEST(destroy_that_is_refused_reports_to_the_log)
{
    after_test(log_no_more);
    cuarena_t *arena = arena_of("pool=1MiB, name=leaky, guard=16, quarantine=1KiB");
    void *pointer = alloc(arena, 100, "weights");
    expect_ok(cuarena_free(arena, alloc(arena, 200, NULL))); /* no leak */
    log_listen(CUARENA_LOG_WARN);
    expect_status(cuarena_destroy(&arena), CUARENA_BUSY);
    expect_line(0, "arena 'leaky': 1 blocks of 100 bytes live");
    expect_line(1, "arena 'leaky': tag 'weights': 1 blocks of 100 bytes; the oldest: block");
    expect_line(2, "1 blocks of 100 bytes live; 'weights': 1 of 100 bytes");
    expect_u64((uint64_t)logged.count, 3);
    expect_ok(cuarena_free(arena, pointer));
    expect_ok(cuarena_destroy(&arena));
    expect_u64((uint64_t)logged.count, 3);
}
END_TEST

/* ---- Stacks ------------------------------------------------------------ */

/* Two places, the second of which allocates more often. */
__attribute__((noinline)) static void allocate_once(cuarena_t *arena)
{
    alloc(arena, 1000, NULL);
    logged.count = 0; /* no tail call */
}

__attribute__((noinline)) static void allocate_often(cuarena_t *arena)
{
    for (volatile int i = 0; i < 3; i++) /* one call, also where loops are unrolled */
        alloc(arena, 10, NULL);
    logged.count = 0;
}

START_TEST(report_lists_places_by_blocks)
{
    cuarena_t *arena = NULL;
    if (cuarena_open("memory=none, pool=1MiB, stacks=16", &arena) == CUARENA_UNSUPPORTED)
        return;
    allocate_once(arena);
    allocate_often(arena);
    report(arena);
    expect_line(2, "3 blocks of 30 bytes were allocated by");
    expect_line(3, "  #0 ");
    int at = 3;
    while (at < logged.count && strstr(logged.list[at].text, "were allocated by") == NULL)
        at++;
    expect_line(at, "1 blocks of 1000 bytes were allocated by");
    end(&arena);
}
END_TEST

/* ---- Options ----------------------------------------------------------- */

static const char *const sets[] = {
    "guard=1",
    "guard=4KiB",
    "fill=alloc",
    "fill=free",
    "quarantine=10KiB",
    "stacks=3",
    "guard=64, fill=both, quarantine=1MiB, stacks=32",
    "guard=64, zero=alloc, quarantine=8KiB",
    "guard=64, zero=free, quarantine=8KiB, fill=alloc",
    "guard=100, alignment=4KiB, fill=both",
    "guard=8, alignment=8, round_powers=4KiB, fill=both",
    "guard=64, stable=256KiB, fill=both, quarantine=16KiB",
    "guard=64, preset=grow, limit=2MiB, quarantine=64KiB, fill=both",
    "guard=64, preset=grow, keep=none, limit=2MiB, quarantine=64KiB, fill=both",
    "guard=64, preset=grow, segments=each, limit=2MiB, quarantine=64KiB, fill=both",
    "guard=64, preset=bfc, limit=2MiB, quarantine=64KiB, fill=both",
    "guard=64, preset=mlx-cpu, limit=2MiB",
    "guard=64, preset=mlx-cuda, memory=pageable, limit=2MiB, quarantine=64KiB, natural=4KiB",
    "guard=64, preset=cupy-pool, memory=pageable, limit=2MiB, fill=both",
};

typedef struct worker {
    cuarena_t *arena;
    random_state_t random;
} worker_t;

/* Fills all bytes of each block, and frees and resizes at random. */
static void *work(void *user)
{
    worker_t *worker = user;
    void *pointers[8] = {NULL};
    for (uint64_t i = 0; i < scale_pick(300, 1000, 20000); i++) {
        void **pointer = &pointers[random_below(&worker->random, 8)];
        uint64_t bytes = 1 + random_below(&worker->random, KIB(8));
        void *now = *pointer;
        cuarena_status_t status = CUARENA_OK;
        if (random_below(&worker->random, 2) == 0)
            bytes = 0;
        status = cuarena_resize(worker->arena, now, bytes, &now);
        ck_assert_msg(status == CUARENA_OK || status == CUARENA_BUSY ||
                          status == CUARENA_UNSUPPORTED || status == CUARENA_OUT_OF_MEMORY ||
                          status == CUARENA_FRAGMENTED || status == CUARENA_LIMIT,
                      "%s", cuarena_last_error());
        if (status == CUARENA_OK)
            *pointer = now;
        if (status == CUARENA_OK && now != NULL)
            memset(now, (int)i, bytes);
        if (i % 64 == 0)
            expect_ok(cuarena_check(worker->arena, NULL));
    }
    for (int i = 0; i < 8; i++)
        expect_ok(cuarena_free(worker->arena, pointers[i]));
    return NULL;
}

static void run(const char *set, uint32_t threads)
{
    char options[160];
    uint64_t findings = 0;
    pthread_t ids[4];
    worker_t workers[4];
    (void)snprintf(options, sizeof options, "%s%s", set,
                   strstr(set, "preset") != NULL ? "" : ", pool=2MiB");
    cuarena_t *arena = arena_of(options);
    for (uint32_t i = 0; i < threads; i++) {
        workers[i] = (worker_t){arena, {scale_seed("debug") + i}};
        ck_assert_int_eq(pthread_create(&ids[i], NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < threads; i++)
        ck_assert_int_eq(pthread_join(ids[i], NULL), 0);
    expect_valid_arena(arena);
    expect_ok(cuarena_check(arena, &findings));
    expect_u64(findings, 0);
    expect_u64(arena_stats(arena).live_bytes, 0);
    expect_ok(cuarena_destroy(&arena));
}

START_TEST(each_set_of_options_serves_a_thread)
{
    run(sets[_i], 1);
}
END_TEST

START_TEST(each_set_of_options_serves_threads)
{
    run(sets[_i], 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("debug");
    suite_add_list(suite, "leaks",
                   TEST_LIST(report_lists_tags_by_bytes_and_their_oldest_block,
                             report_without_options_knows_no_age, report_is_bounded,
                             destroy_that_is_refused_reports_to_the_log,
                             report_lists_places_by_blocks));
    suite_add_rows(suite, "options", each_set_of_options_serves_a_thread, COUNT_OF(sets));
    suite_add_rows(suite, "threads", each_set_of_options_serves_threads, COUNT_OF(sets));
    return suite_main(suite);
}
