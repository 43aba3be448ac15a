/*
 * Calls from where a thread is in the arena already: signal handlers that interrupt it in a call,
 * and children that were forked while other threads were in one. They work or are told; none waits
 * for what never ends, and none finds an arena half changed.
 */
#define _GNU_SOURCE
#include "support/fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define POOL MIB(4)

static const arena_kind_t kinds[] = {
    {"pool-pageable", CUARENA_PRESET_POOL, CUARENA_MEMORY_PAGEABLE, 0, 0, 0},
    {"pool-none", CUARENA_PRESET_POOL, CUARENA_MEMORY_NONE, 0, 0, 0},
    {"grow-pageable", CUARENA_PRESET_GROW, CUARENA_MEMORY_PAGEABLE, 0, 0, 0},
    {"mlx-cpu", CUARENA_PRESET_MLX_CPU, CUARENA_MEMORY_PAGEABLE, 0, 0, 0},
};

/* ---- Signals ----------------------------------------------------------- */

/* What the handler calls, and what came of it. */
static cuarena_t *in_handler;
static atomic_ullong served, refused;
static _Atomic cuarena_status_t unexpected;

static void note(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        atomic_fetch_add(&served, 1);
    else if (status == CUARENA_REENTERED)
        atomic_fetch_add(&refused, 1);
    else
        atomic_store(&unexpected, status);
}

/* Blocks that a handler got and could not free. */
static void *left[4096];
static cuarena_block_t left_blocks[4096];
static _Atomic size_t left_count, left_block_count;

static void free_or_leave(void *pointer)
{
    cuarena_status_t status = cuarena_free(in_handler, pointer);
    note(status);
    if (status == CUARENA_REENTERED && left_count < COUNT_OF(left))
        left[left_count++] = pointer;
}

static void free_or_leave_block(cuarena_block_t block)
{
    cuarena_status_t status = cuarena_block_free(in_handler, block);
    note(status);
    if (status == CUARENA_REENTERED && left_block_count < COUNT_OF(left_blocks))
        left_blocks[left_block_count++] = block;
}

static void free_left(cuarena_t *arena)
{
    while (left_count != 0)
        expect_ok(cuarena_free(arena, left[--left_count]));
    while (left_block_count != 0)
        expect_ok(cuarena_block_free(arena, left_blocks[--left_block_count]));
}

/* The next signal comes this long after a handler, however long that took: the thread gets on. */
static void signal_soon(void)
{
    const struct itimerval soon = {{0, 0}, {0, 500}};
    (void)setitimer(ITIMER_REAL, &soon, NULL);
}

/* A few calls of each kind: fast paths, long ones and what only looks on. */
static void on_signal(int number)
{
    (void)number;
    void *pointer = NULL;
    cuarena_block_t block = 0;
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    note(cuarena_alloc(in_handler, 512, &pointer));
    note(cuarena_stats(in_handler, CUARENA_REGION_ALL, &stats));
    if (pointer != NULL)
        free_or_leave(pointer);
    note(cuarena_block_alloc(in_handler, 100, &block));
    if (block != 0)
        free_or_leave_block(block);
    signal_soon();
}

/* Until they end, the handler is called again and again at once. */
static void begin_signals(cuarena_t *arena)
{
    struct sigaction action;
    in_handler = arena;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    (void)sigemptyset(&action.sa_mask);
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    signal_soon();
}

static void end_signals(void)
{
    const struct itimerval never = {{0, 0}, {0, 0}};
    ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
    ck_assert_msg(signal(SIGALRM, SIG_IGN) != SIG_ERR, "no signal to ignore");
    if (unexpected != CUARENA_OK)
        ck_abort_msg("expected a handler's calls to be OK or REENTERED, one "
                     "was %s",
                     cuarena_status_name(unexpected));
}

/* Fast paths, growth and trim, resizes that move, compactions: each a place where a signal can
 * come. A thread that handlers interrupt is told nothing. */
static void work(cuarena_t *arena, random_state_t *random, uint64_t rounds)
{
    void *held[32] = {NULL};
    for (uint64_t i = 0; i < rounds; i++) {
        void **place = &held[random_below(random, COUNT_OF(held))];
        expect_ok(cuarena_free(arena, *place));
        *place = NULL;
        expect_ok(cuarena_alloc(arena, 1 + random_below(random, 30000), place));
        if (random_below(random, 16) == 0)
            expect_ok(cuarena_trim(arena, 0, NULL));
        if (random_below(random, 16) == 0)
            expect_ok(cuarena_compact(arena, NULL, NULL, NULL, NULL));
    }
    for (size_t i = 0; i < COUNT_OF(held); i++)
        expect_ok(cuarena_free(arena, held[i]));
}

/* Until a handler was refused often enough to have come at many places, or it is plain that no
 * signal comes at one. */
START_TEST(a_handler_that_interrupts_a_call_is_served_or_told)
{
    const uint64_t enough = scale_pick(5, 100, 2000);
    random_state_t random = {scale_seed("signals")};
    fixture_t *f = opened(&kinds[_i], POOL);
    begin_signals(f->arena);
    for (int i = 0; i < 4000 && (refused < enough || served < enough); i++)
        work(f->arena, &random, 100);
    end_signals();
    ck_assert_msg(served != 0, "no handler was served");
    ck_assert_msg(refused != 0, "no handler came within a call");
    expect_sound(f);
    expect_u64(live_blocks(f), 0);
}
END_TEST

/* Beside other threads the lock goes by other ways. */
typedef struct beside {
    cuarena_t *arena;
    atomic_bool stop;
} beside_t;

static void *work_beside(void *argument)
{
    beside_t *beside = argument;
    void *pointer = NULL;
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
    while (!atomic_load(&beside->stop))
        if (cuarena_alloc(beside->arena, 1000, &pointer) == CUARENA_OK)
            (void)cuarena_free(beside->arena, pointer);
    return NULL;
}

START_TEST(a_handler_beside_other_threads_is_served_or_told)
{
    const uint64_t enough = scale_pick(5, 50, 2000);
    random_state_t random = {scale_seed("signals")};
    fixture_t *f = opened(&kinds[_i], POOL);
    beside_t beside = {.arena = f->arena};
    pthread_t threads[2];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work_beside, &beside), 0);
    begin_signals(f->arena);
    for (int i = 0; i < 4000 && (refused < enough || served < enough); i++)
        work(f->arena, &random, 20);
    end_signals();
    atomic_store(&beside.stop, true);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    free_left(f->arena);
    expect_sound(f);
}
END_TEST

/* ---- Within a call that stepped out ------------------------------------- */

static void on_raised(int number)
{
    (void)number;
    void *pointer = NULL;
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    note(cuarena_alloc(in_handler, POOL, &pointer));
    note(cuarena_trim(in_handler, 0, NULL));
    note(cuarena_reset(in_handler));
    note(cuarena_stats(in_handler, CUARENA_REGION_ALL, &stats));
}

static void raise_in_get(test_memory_t *memory, memory_op_t op, const cuarena_relocation_t *list,
                         size_t count)
{
    (void)memory;
    (void)list;
    (void)count;
    if (op == OP_GET)
        (void)raise(SIGUSR1);
}

/* The call waits for nobody, but what it is about is under way. */
START_TEST(a_handler_within_a_call_that_stepped_out_is_told)
{
    fixture_t *f = opened(KIND_CUSTOM_GROW, POOL);
    in_handler = f->arena;
    f->memory.hook = raise_in_get;
    ck_assert_msg(signal(SIGUSR1, on_raised) != SIG_ERR, "no handler");
    void *pointer = alloc_ok(f, 1000);
    expect_u64(refused, 3);
    expect_u64(served, 1);
    expect_status(unexpected, CUARENA_OK);
    free_ok(f, pointer);
}
END_TEST

/* ---- Forks ------------------------------------------------------------- */

/* In a child, without the check library: it has locks of its own. */
static bool child_can_use(cuarena_t *arena)
{
    void *pointer = NULL;
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    if (cuarena_stats(arena, CUARENA_REGION_ALL, &stats) != CUARENA_OK ||
        cuarena_validate(arena, NULL, 0) != CUARENA_OK)
        return false;
    for (int i = 0; i < 100; i++) {
        cuarena_status_t status = cuarena_alloc(arena, 700, &pointer);
        if (status == CUARENA_LOST)
            return true;
        if (status != CUARENA_OK || cuarena_free(arena, pointer) != CUARENA_OK)
            return false;
    }
    cuarena_status_t status = cuarena_trim(arena, 0, NULL);
    return status == CUARENA_OK || status == CUARENA_REENTERED;
}

static void fork_and_use(cuarena_t *arena)
{
    int result = -1;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(child_can_use(arena) ? 0 : 1);
    ck_assert_int_eq(waitpid(child, &result, 0), child);
    ck_assert_msg(result == 0, "expected a child that ends with 0, got %#x", (unsigned)result);
}

static void *work_hard(void *argument)
{
    beside_t *beside = argument;
    random_state_t random = {1};
    while (!atomic_load(&beside->stop))
        work(beside->arena, &random, 20);
    return NULL;
}

/* The allocators of sanitizers may be left locked by a fork. */
START_TEST(a_child_forked_beside_other_threads_is_served_or_told)
{
    if (scale_pick(1, 0, 0) != 0)
        return;
    fixture_t *f = opened(&kinds[_i], POOL);
    beside_t beside = {.arena = f->arena};
    pthread_t threads[2];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work_hard, &beside), 0);
    for (uint64_t i = 0; i < scale_pick(0, 50, 1000); i++)
        fork_and_use(f->arena);
    atomic_store(&beside.stop, true);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    expect_sound(f);
}
END_TEST

/* Holds a thread within a call, until it is told to go on. */
typedef struct gate {
    atomic_bool within;
    atomic_bool open;
} gate_t;

static int32_t wait_at_gate(void *user, const cuarena_relocation_t *list, size_t count)
{
    gate_t *gate = user;
    (void)list;
    (void)count;
    atomic_store(&gate->within, true);
    while (!atomic_load(&gate->open))
        (void)sched_yield();
    return 0;
}

typedef struct compacting {
    fixture_t f;
    gate_t gate;
} compacting_t;

static void *compact_and_wait(void *argument)
{
    compacting_t *c = argument;
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.report_unmoved = 1;
    expect_ok(cuarena_compact(c->f.arena, &options, wait_at_gate, &c->gate, NULL));
    return NULL;
}

static int child_left_behind(cuarena_t *arena)
{
    void *pointer = NULL;
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    bool told = cuarena_alloc(arena, 100, &pointer) == CUARENA_LOST &&
                cuarena_block_alloc(arena, 100, &(cuarena_block_t){0}) == CUARENA_LOST &&
                cuarena_trim(arena, 0, NULL) == CUARENA_LOST &&
                cuarena_destroy_forced(&arena) == CUARENA_LOST && arena != NULL &&
                cuarena_stats(arena, CUARENA_REGION_ALL, &stats) == CUARENA_OK &&
                stats.live_blocks == 1 && cuarena_validate(arena, NULL, 0) == CUARENA_OK;
    return told ? 0 : 1;
}

/* The call that the other thread is in ends in this process, and never in the child. */
START_TEST(a_child_is_told_of_a_call_that_stayed_behind)
{
    static compacting_t c;
    pthread_t thread;
    int result = -1;
    fixture_open(&c.f, KIND_NONE_POOL, POOL);
    cuarena_block_t block = alloc_block(&c.f, 1000);
    ck_assert_int_eq(pthread_create(&thread, NULL, compact_and_wait, &c), 0);
    while (!atomic_load(&c.gate.within))
        (void)sched_yield();
    pid_t child = fork();
    if (child == 0)
        _exit(child_left_behind(c.f.arena));
    ck_assert_int_eq(waitpid(child, &result, 0), child);
    ck_assert_int_eq(result, 0);
    atomic_store(&c.gate.open, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    free_block(&c.f, block);
    fixture_close(&c.f);
}
END_TEST

static int32_t fork_in_callback(void *user, const cuarena_relocation_t *list, size_t count)
{
    (void)list;
    (void)count;
    fork_and_use(user);
    return 0;
}

/* It is the forking thread's own: the child has it too. */
START_TEST(a_child_forked_within_a_callback_can_use_the_arena)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.report_unmoved = 1;
    fixture_t *f = opened(KIND_NONE_POOL, POOL);
    cuarena_block_t block = alloc_block(f, 1000);
    step_ok(f, cuarena_compact(f->arena, &options, fork_in_callback, f->arena, NULL));
    free_block(f, block);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("calls within calls");
    const int count = (int)COUNT_OF(kinds);
    TCase *signals = new_case(suite, "signals");
    tcase_add_loop_test(signals, a_handler_that_interrupts_a_call_is_served_or_told, 0, count);
    tcase_add_loop_test(signals, a_handler_beside_other_threads_is_served_or_told, 0, count);
    tcase_add_test(signals, a_handler_within_a_call_that_stepped_out_is_told);
    TCase *forks = new_case(suite, "forks");
    tcase_add_loop_test(forks, a_child_forked_beside_other_threads_is_served_or_told, 0, count);
    tcase_add_test(forks, a_child_is_told_of_a_call_that_stayed_behind);
    tcase_add_test(forks, a_child_forked_within_a_callback_can_use_the_arena);
    return suite_main(suite);
}
