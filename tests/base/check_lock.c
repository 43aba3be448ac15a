/*
 * Locks, conditions, and what other parts of the lowest layer promise to threads.
 *
 * Looks inside, since no public call is a lock.
 */
#define _GNU_SOURCE
#include "support/base_support.h"
#include "support/expect.h"
#include "support/waits.h"

#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "support/scale.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4

static void run_threads(void *(*body)(void *), void *argument)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, body, argument), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}

/* ---- Lock -------------------------------------------------------------- */

typedef struct counter {
    cuai_lock_t lock;
    uint64_t rounds;
    uint64_t count; /* guarded */
    int inside;     /* guarded: threads between lock and unlock */
} counter_t;

static void *count_up(void *argument)
{
    counter_t *counter = argument;
    for (uint64_t i = 0; i < counter->rounds; i++) {
        cuai_lock(&counter->lock);
        ck_assert_int_eq(++counter->inside, 1);
        counter->count++;
        if (i % 512 == 0)
            usleep(1); /* the others fall asleep */
        counter->inside--;
        cuai_unlock(&counter->lock);
    }
    return NULL;
}

START_TEST(lock_lets_one_in_at_a_time)
{
    counter_t counter = {.rounds = 20000};
    cuai_lock_init(&counter.lock);
    run_threads(count_up, &counter);
    expect_u64(counter.count, THREADS * counter.rounds);
    cuai_lock_cleanup(&counter.lock);
}
END_TEST

/* A thread that takes the lock once and holds it until it is told to go. */
typedef struct holder {
    cuai_lock_t *lock;
    waiter_t waiter;
    _Atomic int in;
    _Atomic int go;
} holder_t;

static void *hold(void *argument)
{
    holder_t *holder = argument;
    waiter_begin(&holder->waiter);
    cuai_lock(holder->lock);
    waiter_end(&holder->waiter);
    holder->in = 1;
    while (!holder->go)
        sched_yield();
    cuai_unlock(holder->lock);
    return NULL;
}

static void let_go(holder_t *holder, pthread_t thread)
{
    holder->go = 1;
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* The lock is taken while the process has one thread, and let go when it has two. */
START_TEST(lock_is_waited_for_by_a_thread_that_starts_while_it_is_held)
{
    cuai_lock_t lock;
    holder_t other = {.lock = &lock};
    pthread_t thread;
    cuai_lock_init(&lock);
    cuai_lock(&lock);
    ck_assert_int_eq(pthread_create(&thread, NULL, hold, &other), 0);
    expect_asleep(&other.waiter, "who wants a lock that is held");
    ck_assert_int_eq(other.in, 0);
    cuai_unlock(&lock);
    while (!other.in)
        sched_yield();
    let_go(&other, thread);
    cuai_lock_cleanup(&lock);
}
END_TEST

typedef struct traffic {
    cuai_lock_t lock;
    _Atomic int over;
} traffic_t;

static void *take_without_pause(void *argument)
{
    traffic_t *traffic = argument;
    while (!traffic->over) {
        cuai_lock(&traffic->lock);
        for (int i = 0; i < 1000; i++)
            atomic_signal_fence(memory_order_seq_cst);
        cuai_unlock(&traffic->lock);
    }
    return NULL;
}

START_TEST(lock_is_had_in_the_end_beside_threads_that_take_it_without_pause)
{
    traffic_t traffic = {.over = 0};
    pthread_t threads[2];
    cuai_lock_init(&traffic.lock);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_without_pause, &traffic), 0);
    for (int i = 0; i < 100; i++) {
        cuai_lock(&traffic.lock);
        cuai_unlock(&traffic.lock);
        usleep(100);
    }
    traffic.over = 1;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    cuai_lock_cleanup(&traffic.lock);
}
END_TEST

/* Locks that share nothing, so that each is the first that its child sleeps for. */
typedef struct apart {
    _Alignas(64) cuai_lock_t lock;
} apart_t;

static void *take_and_pause(void *argument)
{
    cuai_lock_t *lock = argument;
    for (int i = 0; i < 50; i++) {
        cuai_lock(lock);
        if (i % 8 == 0)
            usleep(1);
        cuai_unlock(lock);
    }
    return NULL;
}

static void expect_child_meets(cuai_lock_t *lock)
{
    int status = 0;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        (void)alarm(30); /* where a thread sleeps for ever */
        run_threads(take_and_pause, lock);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "threads that met at a lock first: status %d", status);
}

START_TEST(lock_first_sleep_of_a_process_ends)
{
    static apart_t locks[64];
    uint64_t times = scale_pick(64, 256, 4096);
    for (uint64_t i = 0; i < times; i++) {
        cuai_lock_t *lock = &locks[i % 64].lock;
        cuai_lock_init(lock);
        expect_child_meets(lock);
    }
}
END_TEST

/* ---- Who holds it ------------------------------------------------------ */

static cuai_lock_t *in_handler;
static volatile sig_atomic_t entered;

static void enter_in_handler(int number)
{
    (void)number;
    entered = cuai_lock_enter(in_handler);
    if (entered)
        cuai_unlock(in_handler);
}

static int enters_in_handler(void)
{
    ck_assert_int_eq(raise(SIGUSR1), 0);
    return entered;
}

static void *ask_in_handlers(void *argument)
{
    in_handler = argument;
    ck_assert_int_eq(enters_in_handler(), 1);
    cuai_lock(in_handler);
    ck_assert_int_eq(enters_in_handler(), 0);
    cuai_unlock(in_handler);
    ck_assert_int_eq(enters_in_handler(), 1);
    return NULL;
}

/* The first time in a process of one thread, the second time in one of two. */
START_TEST(lock_refuses_a_handler_of_the_thread_that_holds_it)
{
    cuai_lock_t lock;
    pthread_t thread;
    cuai_lock_init(&lock);
    ck_assert_msg(signal(SIGUSR1, enter_in_handler) != SIG_ERR, "no handler");
    (void)ask_in_handlers(&lock);
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_in_handlers, &lock), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    cuai_lock_cleanup(&lock);
}
END_TEST

/* Without futexes a lock that is not held can be asked by assertions only. */
static bool is_held_elsewhere(cuai_lock_t *lock)
{
#if CUAI_LOCK_FUTEX
    return cuai_lock_is_held(lock);
#else
    (void)lock;
    return false;
#endif
}

START_TEST(lock_knows_whether_this_thread_holds_it)
{
    cuai_lock_t lock;
    holder_t other = {.lock = &lock};
    pthread_t thread;
    cuai_lock_init(&lock);
    ck_assert(!is_held_elsewhere(&lock));
    cuai_lock(&lock);
    cuai_lock_assert_held(&lock);
    ck_assert(cuai_lock_is_held(&lock));
    ck_assert_int_eq(pthread_create(&thread, NULL, hold, &other), 0);
    expect_asleep(&other.waiter, "who wants a lock that is held");
    ck_assert(cuai_lock_is_held(&lock));
    cuai_unlock(&lock);
    while (!other.in)
        sched_yield();
    ck_assert(!is_held_elsewhere(&lock));
    let_go(&other, thread);
    cuai_lock_cleanup(&lock);
}
END_TEST

/* ---- Forks ------------------------------------------------------------- */

static void expect_child_takes_reset_lock(cuai_lock_t *lock)
{
    int result = -1;
    pid_t child = fork();
    if (child == 0) {
        cuai_lock_reset(lock);
        cuai_lock(lock);
        cuai_unlock(lock);
        _exit(0);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &result, 0), child);
    ck_assert_int_eq(result, 0);
}

START_TEST(lock_reset_in_a_forked_child)
{
    cuai_lock_t lock = CUAI_LOCK_INIT;
    cuai_lock(&lock);
    expect_child_takes_reset_lock(&lock);
    cuai_unlock(&lock);
}
END_TEST

START_TEST(lock_reset_in_a_child_that_its_holder_and_a_waiter_are_not_in)
{
    cuai_lock_t lock;
    holder_t others[2] = {{.lock = &lock}, {.lock = &lock}};
    pthread_t threads[2];
    cuai_lock_init(&lock);
    ck_assert_int_eq(pthread_create(&threads[0], NULL, hold, &others[0]), 0);
    while (!others[0].in)
        sched_yield();
    ck_assert_int_eq(pthread_create(&threads[1], NULL, hold, &others[1]), 0);
    expect_asleep(&others[1].waiter, "who wants a lock that is held");
    expect_child_takes_reset_lock(&lock);
    for (int i = 0; i < 2; i++)
        let_go(&others[i], threads[i]);
    cuai_lock_cleanup(&lock);
}
END_TEST

/* ---- Condition --------------------------------------------------------- */

/* The members below the lock are guarded by it. */
typedef struct gate {
    cuai_lock_t lock;
    cuai_cond_t cond;
    int waiting;
    int passed;
    int open;
    waiter_t waiter;
} gate_t;

static void gate_init(gate_t *gate)
{
    *gate = (gate_t){0};
    cuai_lock_init(&gate->lock);
    cuai_cond_init(&gate->cond);
}

static void gate_cleanup(gate_t *gate)
{
    cuai_cond_cleanup(&gate->cond);
    cuai_lock_cleanup(&gate->lock);
}

static void *pass(void *argument)
{
    gate_t *gate = argument;
    cuai_lock(&gate->lock);
    gate->waiting++;
    while (!gate->open)
        cuai_cond_wait(&gate->cond, &gate->lock);
    gate->passed++;
    cuai_unlock(&gate->lock);
    return NULL;
}

static int waiting_at(gate_t *gate)
{
    cuai_lock(&gate->lock);
    int waiting = gate->waiting;
    cuai_unlock(&gate->lock);
    return waiting;
}

START_TEST(cond_wake_wakes_everybody)
{
    gate_t gate;
    gate_init(&gate);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, pass, &gate), 0);
    while (waiting_at(&gate) < THREADS)
        usleep(100);
    cuai_lock(&gate.lock);
    ck_assert_int_eq(gate.passed, 0);
    gate.open = 1;
    cuai_cond_wake(&gate.cond);
    cuai_unlock(&gate.lock);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(gate.passed, THREADS);
    gate_cleanup(&gate);
}
END_TEST

static void *wait_once(void *argument)
{
    gate_t *gate = argument;
    cuai_lock(&gate->lock);
    waiter_begin(&gate->waiter);
    cuai_cond_wait(&gate->cond, &gate->lock);
    waiter_end(&gate->waiter);
    cuai_unlock(&gate->lock);
    return NULL;
}

START_TEST(cond_wake_without_sleepers_is_not_kept)
{
    gate_t gate;
    pthread_t thread;
    gate_init(&gate);
    cuai_lock(&gate.lock);
    cuai_cond_wake(&gate.cond);
    cuai_unlock(&gate.lock);
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_once, &gate), 0);
    expect_asleep(&gate.waiter, "who comes after the wake");
    cuai_lock(&gate.lock);
    cuai_cond_wake(&gate.cond);
    cuai_unlock(&gate.lock);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(atomic_load(&gate.waiter.over));
    gate_cleanup(&gate);
}
END_TEST

#define TURNS 2000

static void take_turns(gate_t *gate, int mine)
{
    cuai_lock(&gate->lock);
    for (int i = 0; i < TURNS; i++) {
        while (gate->open != mine)
            cuai_cond_wait(&gate->cond, &gate->lock);
        gate->open = !mine;
        gate->passed++;
        cuai_cond_wake(&gate->cond);
    }
    cuai_unlock(&gate->lock);
}

static void *take_odd_turns(void *argument)
{
    take_turns(argument, 1);
    return NULL;
}

/* No wake may get lost between letting go of the lock and falling asleep. */
START_TEST(cond_two_threads_take_turns)
{
    gate_t gate;
    gate_init(&gate);
    pthread_t other;
    ck_assert_int_eq(pthread_create(&other, NULL, take_odd_turns, &gate), 0);
    take_turns(&gate, 0);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    ck_assert_int_eq(gate.passed, 2 * TURNS);
    gate_cleanup(&gate);
}
END_TEST

/* ---- Errors and the log ------------------------------------------------ */

static void *fail_elsewhere(void *argument)
{
    (void)argument;
    ck_assert_str_eq(last_error_message(), "");
    cuai_fail(CUARENA_STALE, "theirs");
    ck_assert_str_eq(last_error_message(), "theirs");
    return NULL;
}

START_TEST(last_error_is_the_threads_own)
{
    cuai_fail(CUARENA_BUSY, "mine");
    run_threads(fail_elsewhere, NULL);
    expect_text(last_error_message(), "mine");
}
END_TEST

/* A callback and its user must always belong together. */
typedef struct listener {
    int number;
    _Atomic int heard;
} listener_t;

static void hear_first(void *user, int32_t level, const char *line)
{
    (void)level;
    (void)line;
    listener_t *listener = user;
    ck_assert_int_eq(listener->number, 1);
    listener->heard++;
}

static void hear_second(void *user, int32_t level, const char *line)
{
    (void)level;
    (void)line;
    listener_t *listener = user;
    ck_assert_int_eq(listener->number, 2);
    listener->heard++;
}

#define LINES 2000

static void *log_lines(void *argument)
{
    (void)argument;
    for (int i = 0; i < LINES; i++)
        cuai_log(CUARENA_LOG_ERROR, "line %d", i);
    return NULL;
}

START_TEST(log_callback_is_swapped_while_others_log)
{
    listener_t first = {.number = 1};
    listener_t second = {.number = 2};
    expect_ok(cuarena_log_set_level(CUARENA_LOG_ERROR));
    cuarena_log_set_callback(hear_first, &first);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, log_lines, NULL), 0);
    for (int i = 0; i < LINES; i++) {
        cuarena_log_set_callback(hear_second, &second);
        cuarena_log_set_callback(hear_first, &first);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    cuarena_log_set_callback(NULL, NULL);
    ck_assert_int_eq(first.heard + second.heard, THREADS * LINES);
}
END_TEST

/* Under a thread checker everything is slow. */
static void add_tests(Suite *suite, const char *name, const TTest *const *tests)
{
    tcase_set_timeout(suite_add_list(suite, name, tests), scale_timeout(60));
}

int main(void)
{
    Suite *suite = suite_create("lock");
    add_tests(suite, "lock",
              TEST_LIST(lock_lets_one_in_at_a_time,
                        lock_is_waited_for_by_a_thread_that_starts_while_it_is_held,
                        lock_is_had_in_the_end_beside_threads_that_take_it_without_pause,
                        lock_first_sleep_of_a_process_ends,
                        lock_refuses_a_handler_of_the_thread_that_holds_it,
                        lock_knows_whether_this_thread_holds_it, lock_reset_in_a_forked_child,
                        lock_reset_in_a_child_that_its_holder_and_a_waiter_are_not_in));
    add_tests(suite, "condition",
              TEST_LIST(cond_wake_wakes_everybody, cond_wake_without_sleepers_is_not_kept,
                        cond_two_threads_take_turns));
    add_tests(suite, "threads",
              TEST_LIST(last_error_is_the_threads_own, log_callback_is_swapped_while_others_log));
    return suite_main(suite);
}
