/*
 * The owner of a lock: who becomes it, that nobody is in beside it, and what happens where the
 * kernel refuses the fence.
 *
 * Where locks have no owners these tests end as skipped.
 */
#define _GNU_SOURCE
#include "support/expect.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/waits.h"

#include "base/fence.h"
#include "base/lock.h"

#include <stdio.h>

#if CUAI_LOCK_BIAS

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENOUGH 1000 /* turns: more than a fresh lock asks of an owner */
#define SKIPPED 77

/* ---- Support ------------------------------------------------------------- */

static void turn(cuai_lock_t *lock, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        cuai_lock(lock);
        cuai_unlock(lock);
    }
}

static void open_owned(cuai_lock_t *lock)
{
    cuai_lock_init_owned(lock);
    turn(lock, ENOUGH);
    expect_u64(lock->bias / CUAI_LOCK_FLAGS * CUAI_LOCK_FLAGS, cuai_lock_thread());
}

/* Whether the holder, this thread, came as the owner. */
static int came_as_owner(cuai_lock_t *lock)
{
    cuai_lock(lock);
    int owner = lock->raised != 0;
    cuai_unlock(lock);
    return owner;
}

static void in_a_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, body, argument), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void *turn_once(void *lock)
{
    turn(lock, 1);
    return NULL;
}

static void *turn_twice(void *lock)
{
    turn(lock, 2);
    return NULL;
}

static void *turn_often(void *lock)
{
    turn(lock, 4 * ENOUGH);
    return NULL;
}

/* The exit status of a child that runs `body`; -1: it crashed. */
static int in_a_child(int (*body)(void *), void *argument)
{
    int status = -1;
    (void)fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(body(argument));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* From here on every membarrier of the process is refused; false: no filter
 * can be had. */
static int refuse_fences(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 &&
           syscall(SYS_membarrier, 0, 0, 0) != 0;
}

/* ---- Fences that are refused ----------------------------------------------
 */

/* First of all tests: whether there are fences is found out once. */
static int works_without_fences(void *unused)
{
    cuai_lock_t lock;
    (void)unused;
    if (!refuse_fences())
        return SKIPPED;
    cuai_lock_init_owned(&lock);
    turn(&lock, ENOUGH);
    in_a_thread(turn_often, &lock);
    return cuai_fence_ready() || lock.bias != 0 || lock.patience != 0;
}

START_TEST(test_refused_from_the_start_there_is_no_owner)
{
    int status = in_a_child(works_without_fences, NULL);
    if (status != SKIPPED)
        ck_assert_int_eq(status, 0);
}
END_TEST

static int outwaits_the_owner(void *unused)
{
    cuai_lock_t lock;
    (void)unused;
    open_owned(&lock);
    if (!refuse_fences())
        return SKIPPED;
    in_a_thread(turn_once, &lock);
    turn(&lock, ENOUGH);
    return lock.bias != 0 || lock.patience != 0;
}

START_TEST(test_refused_later_the_last_owner_goes)
{
    int status = in_a_child(outwaits_the_owner, NULL);
    if (status != SKIPPED)
        ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- Who is the owner ------------------------------------------------------
 */

START_TEST(test_a_plain_lock_has_no_owner)
{
    cuai_lock_t lock = CUAI_LOCK_INIT;
    turn(&lock, ENOUGH);
    expect_u64(lock.bias, 0);
    cuai_lock_init(&lock);
    turn(&lock, ENOUGH);
    expect_u64(lock.bias, 0);
}
END_TEST

START_TEST(test_turns_in_a_row_make_an_owner)
{
    cuai_lock_t lock;
    cuai_lock_init_owned(&lock);
    turn(&lock, 1);
    expect_u64(lock.bias, 0);
    turn(&lock, ENOUGH);
    ck_assert_int_ne(came_as_owner(&lock), 0);
    cuai_lock_cleanup(&lock);
}
END_TEST

START_TEST(test_turns_of_two_threads_make_none)
{
    cuai_lock_t lock;
    cuai_lock_init_owned(&lock);
    for (int i = 0; i < 100; i++) {
        turn(&lock, 10);
        in_a_thread(turn_once, &lock);
    }
    expect_u64(lock.bias, 0);
}
END_TEST

/* The time between two visits is what counts. */
START_TEST(test_rare_visits_leave_the_owner)
{
    cuai_lock_t lock;
    open_owned(&lock);
    uint64_t patience = lock.patience;
    for (int i = 0; i < 5; i++) {
        usleep(20000);
        in_a_thread(turn_once, &lock);
        ck_assert_int_ne(came_as_owner(&lock), 0);
    }
    expect_u64(lock.patience, patience);
}
END_TEST

START_TEST(test_visits_in_a_row_end_the_bias_and_make_another)
{
    cuai_lock_t lock;
    open_owned(&lock);
    uint64_t first = lock.bias;
    uint64_t patience = lock.patience;
    in_a_thread(turn_often, &lock);
    ck_assert_uint_ne(lock.bias, 0);
    ck_assert_uint_ne(lock.bias, first);
    expect_u64(lock.patience, patience * 2);
}
END_TEST

/* A thread that is kept waiting between its visits ends no bias. */
START_TEST(test_patience_has_an_end)
{
    cuai_lock_t lock;
    cuai_lock_init_owned(&lock);
    for (int i = 0; i < 1000 && lock.patience < 1 << 20; i++) {
        turn(&lock, 2 * (uint64_t)lock.patience);
        ck_assert_uint_ne(lock.bias, 0);
        in_a_thread(turn_twice, &lock);
    }
    for (int i = 0; i < 3; i++) {
        turn(&lock, 2 * (uint64_t)lock.patience);
        in_a_thread(turn_twice, &lock);
    }
    expect_u64(lock.patience, 1 << 20);
}
END_TEST

/* ---- Flags ------------------------------------------------------------------
 */

#define MANY (CUAI_LOCK_FLAGS + 2)

typedef struct crowd {
    cuai_lock_t lock;
    pthread_barrier_t barrier;
    _Atomic unsigned next; /* number of the thread that comes next */
    _Atomic unsigned turn; /* whose turn it is */
    unsigned owners;
} crowd_t;

/* All are alive at once, so each has a pointer of its own. */
static void *come_in_turn(void *argument)
{
    crowd_t *crowd = argument;
    unsigned mine = crowd->next++;
    pthread_barrier_wait(&crowd->barrier);
    while (crowd->turn != mine)
        sched_yield();
    turn(&crowd->lock, 64 * ENOUGH);
    crowd->owners += (crowd->lock.bias ^ cuai_lock_thread()) < CUAI_LOCK_FLAGS;
    crowd->turn++;
    pthread_barrier_wait(&crowd->barrier);
    return NULL;
}

START_TEST(test_flags_are_never_handed_on)
{
    static crowd_t crowd;
    pthread_t threads[MANY];
    cuai_lock_init_owned(&crowd.lock);
    pthread_barrier_init(&crowd.barrier, NULL, MANY);
    for (unsigned i = 0; i < MANY; i++)
        pthread_create(&threads[i], NULL, come_in_turn, &crowd);
    for (unsigned i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
    expect_u64(crowd.owners, CUAI_LOCK_FLAGS);
    for (unsigned i = 0; i < CUAI_LOCK_FLAGS; i++)
        for (unsigned j = 0; j < i; j++)
            ck_assert_uint_ne(crowd.lock.threads[i], crowd.lock.threads[j]);
    pthread_barrier_destroy(&crowd.barrier);
}
END_TEST

typedef struct cell {
    cuai_lock_t lock;
    uint64_t value; /* guarded */
    uint64_t rounds;
} cell_t;

static void *count_up(void *argument)
{
    cell_t *cell = argument;
    for (uint64_t i = 0; i < cell->rounds; i++) {
        cuai_lock(&cell->lock);
        cell->value++;
        cuai_unlock(&cell->lock);
    }
    return NULL;
}

/* A thread that comes after one that ended often has its pointer. */
START_TEST(test_threads_that_end_leave_the_lock_to_others)
{
    cell_t cell = {.rounds = 4 * ENOUGH};
    cuai_lock_init_owned(&cell.lock);
    for (int i = 0; i < 50; i++)
        in_a_thread(count_up, &cell);
    expect_u64(cell.value, 50 * cell.rounds);
}
END_TEST

/* ---- Nobody beside the owner ------------------------------------------------
 */

typedef struct visitor {
    cuai_lock_t *lock;
    waiter_t waiter;
    _Atomic int in;
    _Atomic int go;
} visitor_t;

static void *visit(void *argument)
{
    visitor_t *v = argument;
    waiter_begin(&v->waiter);
    cuai_lock(v->lock);
    waiter_end(&v->waiter);
    v->in = 1;
    while (!v->go)
        sched_yield();
    cuai_unlock(v->lock);
    return NULL;
}

START_TEST(test_a_visitor_waits_until_the_owner_is_out)
{
    cuai_lock_t lock;
    visitor_t v = {.lock = &lock};
    pthread_t thread;
    open_owned(&lock);
    cuai_lock(&lock);
    ck_assert_uint_ne(lock.raised, 0);
    pthread_create(&thread, NULL, visit, &v);
    expect_asleep(&v.waiter, "a visitor, while the owner is in");
    ck_assert_int_eq(v.in, 0);
    cuai_unlock(&lock); /* and is woken */
    while (!v.in)
        sched_yield();
    v.go = 1;
    pthread_join(thread, NULL);
}
END_TEST

/* The owner comes while the visitor is in. */
typedef struct returning {
    visitor_t visitor;
    waiter_t owner;
} returning_t;

static void *let_go_then(void *argument)
{
    returning_t *r = argument;
    expect_asleep(&r->owner, "the owner, while a visitor is in");
    r->visitor.go = 1;
    return NULL;
}

START_TEST(test_the_owner_waits_until_a_visitor_is_out)
{
    cuai_lock_t lock;
    returning_t r = {.visitor = {.lock = &lock}};
    pthread_t thread;
    pthread_t other;
    open_owned(&lock);
    pthread_create(&thread, NULL, visit, &r.visitor);
    while (!r.visitor.in)
        sched_yield();
    pthread_create(&other, NULL, let_go_then, &r);
    waiter_begin(&r.owner);
    cuai_lock(&lock);
    waiter_end(&r.owner);
    ck_assert_int_eq(r.visitor.go, 1);
    ck_assert_uint_eq(lock.raised, 0);
    cuai_unlock(&lock);
    pthread_join(thread, NULL);
    pthread_join(other, NULL);
    ck_assert_int_ne(came_as_owner(&lock), 0);
}
END_TEST

typedef struct arena_like {
    cuai_lock_t lock;
    cuai_cond_t event;
    uint64_t a, b; /* guarded; equal between turns */
    uint64_t torn; /* guarded: how often they were not */
    _Atomic int done;
} arena_like_t;

static void change(arena_like_t *all)
{
    cuai_lock(&all->lock);
    all->torn += all->a != all->b;
    all->a++;
    atomic_signal_fence(memory_order_seq_cst);
    all->b++;
    cuai_unlock(&all->lock);
}

static void *visit_now_and_then(void *argument)
{
    arena_like_t *all = argument;
    for (uint64_t i = 0; i < scale_pick(100, 300, 5000); i++) {
        usleep(i % 4 == 0 ? 2500 : 100);
        change(all);
    }
    all->done = 1;
    return NULL;
}

/* The owner is in half of the time; it becomes owner anew each time. */
START_TEST(test_visits_to_a_busy_owner_tear_nothing)
{
    static arena_like_t all;
    pthread_t threads[2];
    uint64_t mine = 0;
    all = (arena_like_t){0};
    cuai_lock_init_owned(&all.lock);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, visit_now_and_then, &all);
    for (; !all.done; mine++)
        change(&all);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    expect_u64(all.torn, 0);
    expect_u64(all.a, mine + 2 * scale_pick(100, 300, 5000));
}
END_TEST

typedef struct hammer {
    arena_like_t *all;
    uint64_t seed;
    uint64_t changes;
} hammer_t;

/* Bursts of all lengths, so that the lock finds and loses owners. */
static void *hammer(void *argument)
{
    hammer_t *h = argument;
    random_state_t random = {h->seed};
    uint64_t bursts = scale_pick(100, 1000, 20000);
    for (uint64_t i = 0; i < bursts; i++) {
        uint64_t length = 1 + random_below(&random, 1u << i % 13);
        for (uint64_t j = 0; j < length; j++)
            change(h->all);
        h->changes += length;
        if (i % 3 == 0)
            usleep((useconds_t)random_below(&random, 200));
    }
    return NULL;
}

START_TEST(test_bursts_of_many_threads_tear_nothing)
{
    enum {
        THREADS = 6
    };
    static arena_like_t all;
    pthread_t threads[THREADS];
    hammer_t hammers[THREADS];
    uint64_t changes = 0;
    all = (arena_like_t){0};
    cuai_lock_init_owned(&all.lock);
    for (int i = 0; i < THREADS; i++) {
        hammers[i] = (hammer_t){&all, (uint64_t)i + 1, 0};
        pthread_create(&threads[i], NULL, hammer, &hammers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        changes += hammers[i].changes;
    }
    expect_u64(all.torn, 0);
    expect_u64(all.a, changes);
    cuai_lock_cleanup(&all.lock);
}
END_TEST

/* ---- Events, and forked processes -----------------------------------------
 */

static void *wake_it(void *argument)
{
    arena_like_t *all = argument;
    cuai_lock(&all->lock);
    all->a = 1;
    cuai_cond_wake(&all->event);
    cuai_unlock(&all->lock);
    return NULL;
}

START_TEST(test_an_owner_waits_for_an_event)
{
    arena_like_t all = {.a = 0};
    pthread_t thread;
    open_owned(&all.lock);
    cuai_cond_init(&all.event);
    cuai_lock(&all.lock);
    ck_assert_uint_ne(all.lock.raised, 0);
    pthread_create(&thread, NULL, wake_it, &all);
    while (all.a == 0)
        cuai_cond_wait(&all.event, &all.lock);
    cuai_unlock(&all.lock);
    pthread_join(thread, NULL);
    cuai_cond_cleanup(&all.event);
}
END_TEST

/* The forking thread is the owner there too, and others may visit. */
static int goes_on(void *lock)
{
    int owner = came_as_owner(lock);
    in_a_thread(turn_often, lock);
    turn(lock, 8 * ENOUGH);
    return !owner;
}

START_TEST(test_a_forked_process_has_the_owner_that_forked)
{
    cuai_lock_t lock;
    open_owned(&lock);
    ck_assert_int_eq(in_a_child(goes_on, &lock), 0);
}
END_TEST

/* A thread checker lets no thread begin here: the process had two. */
static int takes_over(void *lock)
{
    turn(lock, 8 * ENOUGH);
    return came_as_owner(lock) ? 0 : 1;
}

static void *own_and_stay(void *argument)
{
    visitor_t *v = argument;
    turn(v->lock, 4 * ENOUGH);
    v->in = 1;
    while (!v->go)
        usleep(1000);
    return NULL;
}

START_TEST(test_a_forked_process_does_without_an_owner_that_stayed_behind)
{
    cuai_lock_t lock;
    visitor_t v = {.lock = &lock};
    pthread_t thread;
    cuai_lock_init_owned(&lock);
    pthread_create(&thread, NULL, own_and_stay, &v);
    while (!v.in)
        sched_yield();
    ck_assert_uint_ne(lock.bias, 0);
    ck_assert_int_eq(in_a_child(takes_over, &lock), 0);
    v.go = 1;
    pthread_join(thread, NULL);
}
END_TEST

static int starts_anew(void *lock)
{
    cuai_lock_reset(lock);
    turn(lock, ENOUGH);
    in_a_thread(turn_often, lock);
    return 0;
}

START_TEST(test_reset_in_a_forked_process_ends_the_owners_hold)
{
    cuai_lock_t lock;
    open_owned(&lock);
    cuai_lock(&lock);
    ck_assert_int_eq(in_a_child(starts_anew, &lock), 0);
    cuai_unlock(&lock);
}
END_TEST

/* Under a thread checker everything is slow. */
static void add_tests(Suite *suite, const char *name, const TTest *const *tests)
{
    tcase_set_timeout(suite_add_list(suite, name, tests), scale_timeout(60));
}

static void add_all(Suite *suite)
{
    add_tests(suite, "owner",
              TEST_LIST(test_a_plain_lock_has_no_owner, test_turns_in_a_row_make_an_owner,
                        test_turns_of_two_threads_make_none, test_rare_visits_leave_the_owner,
                        test_visits_in_a_row_end_the_bias_and_make_another,
                        test_patience_has_an_end, test_flags_are_never_handed_on,
                        test_threads_that_end_leave_the_lock_to_others));
    add_tests(suite, "nobody beside the owner",
              TEST_LIST(test_a_visitor_waits_until_the_owner_is_out,
                        test_the_owner_waits_until_a_visitor_is_out,
                        test_visits_to_a_busy_owner_tear_nothing,
                        test_bursts_of_many_threads_tear_nothing));
    add_tests(suite, "events and forks",
              TEST_LIST(test_an_owner_waits_for_an_event,
                        test_a_forked_process_has_the_owner_that_forked,
                        test_a_forked_process_does_without_an_owner_that_stayed_behind,
                        test_reset_in_a_forked_process_ends_the_owners_hold));
}

/* Asked in a child: this process is to find it out after the first test. */
static int has_fences(void *unused)
{
    (void)unused;
    return cuai_fence_ready() ? 0 : 1;
}

int main(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(has_fences(NULL));
    (void)waitpid(child, &status, 0);
    Suite *suite = suite_create("owner of a lock");
    TCase *refused =
        suite_add_list(suite, "refused", TEST_LIST(test_refused_from_the_start_there_is_no_owner));
    tcase_set_timeout(refused, scale_timeout(60));
    if (status == 0) {
        add_tests(suite, "refused later", TEST_LIST(test_refused_later_the_last_owner_goes));
        add_all(suite);
    } else {
        (void)printf("no fences here: most tests are left out\n");
    }
    return suite_main(suite);
}

#else

int main(void)
{
    (void)printf("locks have no owners here\n");
    return 77;
}

#endif
