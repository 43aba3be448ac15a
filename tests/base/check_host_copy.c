/*
 * Copies by several threads: every size around the shares, threads that the host refuses, and none
 * in a process of one thread.
 *
 * Looks inside, since no public call says how many threads copy, or refuses them.
 */
#define _GNU_SOURCE
#include "support/base_support.h"
#include "support/expect.h"
#include "support/random.h"

#include "base/host_copy.h"
#include "base/host_test.h"
#include "base/lock.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES (CUAI_HOST_COPY_THREADS * CUAI_HOST_COPY_SHARE + 1000)
#define EDGE 64
#define UNWRITTEN 0xa5

static unsigned char *from, *to;

static void begin_buffers(void)
{
    random_state_t random = {7};
    from = malloc(MOST_BYTES + EDGE);
    to = malloc(MOST_BYTES + 2 * (size_t)EDGE);
    ck_assert(from != NULL && to != NULL);
    for (size_t i = 0; i < MOST_BYTES + EDGE; i++)
        from[i] = (unsigned char)random_below(&random, 256);
}

static void end_buffers(void)
{
    free(from);
    free(to);
}

static void *idle(void *unused)
{
    while (pause() != 0)
        continue;
    return unused;
}

/* From now on the process has two threads. */
static void begin_thread(void)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, idle, NULL), 0);
    ck_assert_int_eq(pthread_detach(thread), 0);
}

static void expect_edge(const unsigned char *edge)
{
    for (int i = 0; i < EDGE; i++)
        ck_assert_msg(edge[i] == UNWRITTEN, "byte %d beside the copy is %d, not %d", i, edge[i],
                      UNWRITTEN);
}

/* Copies from an odd address, and looks at the copy and what is beside it. */
static void copy_and_compare(size_t bytes)
{
    memset(to, UNWRITTEN, MOST_BYTES + 2 * (size_t)EDGE);
    unsigned char *copy = cuai_host_copy(to + EDGE, from + 3, bytes);
    ck_assert_ptr_eq(copy, to + EDGE);
    ck_assert_msg(memcmp(copy, from + 3, bytes) == 0, "a copy of %zu bytes differs", bytes);
    expect_edge(to);
    expect_edge(copy + bytes);
}

/* How many threads a copy by the most begins. */
static uint64_t begun_at_most(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    uint64_t processors = (uint64_t)CPU_COUNT(&set);
    return (processors < CUAI_HOST_COPY_THREADS ? processors : CUAI_HOST_COPY_THREADS) - 1;
}

START_TEST(copies_of_sizes_around_the_shares)
{
    begin_thread();
    const size_t edges[] = {0, 1, 63, 64, 65};
    for (size_t shares = 0; shares <= CUAI_HOST_COPY_THREADS; shares++) {
        for (size_t i = 0; i < COUNT_OF(edges); i++) {
            copy_and_compare(shares * CUAI_HOST_COPY_SHARE + edges[i]);
            if (shares != 0)
                copy_and_compare(shares * CUAI_HOST_COPY_SHARE - edges[i]);
        }
    }
}
END_TEST

START_TEST(copy_by_the_caller_of_what_threads_are_refused_for)
{
    begin_thread();
    for (uint64_t nth = 1; nth <= begun_at_most(); nth++) {
        cuai_host_fail_at(nth);
        copy_and_compare(CUAI_HOST_COPY_THREADS * CUAI_HOST_COPY_SHARE);
        expect_u64(cuai_host_calls(), begun_at_most());
    }
    cuai_host_fail_at(0);
}
END_TEST

START_TEST(less_than_two_shares_begin_no_thread)
{
    begin_thread();
    cuai_host_fail_at(0);
    copy_and_compare(2 * CUAI_HOST_COPY_SHARE - 1);
    expect_u64(cuai_host_calls(), 0);
    copy_and_compare(2 * CUAI_HOST_COPY_SHARE);
    expect_u64(cuai_host_calls(), begun_at_most() == 0 ? 0 : 1);
}
END_TEST

/* The checker of threads, and the option for a thread beside, begin one at the start; and where the
 * C library does not tell, a process counts as one of several threads. */
START_TEST(a_process_of_one_thread_stays_one)
{
    bool single = CUAI_SINGLE_THREADED;
    cuai_host_fail_at(0);
    copy_and_compare(CUAI_HOST_COPY_THREADS * CUAI_HOST_COPY_SHARE);
    expect_u64(cuai_host_calls(), single ? 0 : begun_at_most());
    ck_assert_int_eq(CUAI_SINGLE_THREADED, single);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host copy");
    TCase *alone = suite_add_list(suite, "alone", TEST_LIST(a_process_of_one_thread_stays_one));
    TCase *threads = suite_add_list(suite, "threads",
                                    TEST_LIST(copies_of_sizes_around_the_shares,
                                              copy_by_the_caller_of_what_threads_are_refused_for,
                                              less_than_two_shares_begin_no_thread));
    tcase_add_checked_fixture(alone, begin_buffers, end_buffers);
    tcase_add_checked_fixture(threads, begin_buffers, end_buffers);
    return suite_main(suite);
}
