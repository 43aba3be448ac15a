/*
 * One thread grows, in a call of the memory that takes its time: meanwhile others allocate and free
 * what is held without waiting, and those that need more wait for it and try again.
 *
 * The call lasts until it is let go of: that of the tests' own memory, or, with CUARENA_TEST_CUDA,
 * which makes another program, one of the stand-in driver.
 */
#include "support/fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#endif

#define LARGE MIB(20)
#define MORE MIB(3) /* not held, and beside LARGE in the chunk of 32 MiB */
#define SMALL KIB(4)
#define ROUNDS 500

/* ---- A call that takes its time ------------------------------------------ */

typedef struct slow {
    fixture_t f;
    cuarena_config_t config;
    atomic_int inside; /* threads in the call */
    atomic_bool let_go;
} slow_t;

#if defined(CUARENA_TEST_CUDA)

/* A memory, and the call that takes bytes. */
static const struct {
    const char *options;
    const char *entry;
} rows[] = {
    {"memory=device,backing=vmm,handle=2MiB", "cuMemCreate"},
    {"memory=device,backing=malloc", "cuMemAlloc"},
    {"memory=device,backing=async", "cuMemAllocFromPoolAsync"},
    {"memory=managed", "cuMemAllocManaged"},
    {"memory=pinned", "cuMemHostAlloc"},
};

static void slow_open(slow_t *slow, int row)
{
    ck_assert(standin_is_here());
    cuarena_config_init(&slow->config);
    expect_ok(cuarena_config_parse(&slow->config, rows[row].options));
}

static void slow_begin(slow_t *slow, int row)
{
    (void)slow;
    expect_u64((uint64_t)standin->standin_hold(rows[row].entry, 1), 0);
}

static void slow_wait(const slow_t *slow, int row)
{
    (void)slow;
    while (standin->standin_held(rows[row].entry) == 0)
        sched_yield();
}

static void slow_end(slow_t *slow, int row)
{
    (void)slow;
    standin->standin_hold(rows[row].entry, 0);
}

static void slow_close(slow_t *slow)
{
    (void)slow;
    expect_no_report();
    expect_nothing_left();
}

#else

/* Whether segments lengthen. */
static const bool rows[] = {true, false};

static void linger(test_memory_t *memory, memory_op_t op, const cuarena_relocation_t *list,
                   size_t count)
{
    slow_t *slow = memory->hook_user;
    (void)list, (void)count;
    if (op != OP_GET && op != OP_GROW)
        return;
    ck_assert_int_eq(atomic_fetch_add(&slow->inside, 1), 0);
    while (!atomic_load(&slow->let_go))
        sched_yield();
    atomic_fetch_sub(&slow->inside, 1);
}

static void slow_open(slow_t *slow, int row)
{
    fixture_prepare(&slow->f, KIND_CUSTOM_GROW, MIB(64));
    slow->config = slow->f.config;
    atomic_store(&slow->let_go, false); /* rows share it without forks */
    if (!rows[row])
        test_memory_make_plain(&slow->f.memory);
}

static void slow_begin(slow_t *slow, int row)
{
    (void)row;
    slow->f.memory.hook_user = slow;
    slow->f.memory.hook = linger;
}

static void slow_wait(const slow_t *slow, int row)
{
    (void)row;
    while (atomic_load(&slow->inside) == 0)
        sched_yield();
}

static void slow_end(slow_t *slow, int row)
{
    (void)row;
    atomic_store(&slow->let_go, true);
}

static void slow_close(slow_t *slow)
{
    expect_memory_clean(&slow->f.memory);
}

#endif

/* ---- Threads ------------------------------------------------------------- */

typedef struct asker {
    cuarena_t *arena;
    uint64_t bytes;
    pthread_t thread;
    cuarena_status_t status;
    void *pointer;
    atomic_bool done;
} asker_t;

static void *ask(void *user)
{
    asker_t *asker = user;
    asker->status = cuarena_alloc(asker->arena, asker->bytes, &asker->pointer);
    atomic_store(&asker->done, true);
    return NULL;
}

static void ask_beside(asker_t *asker, cuarena_t *arena, uint64_t bytes)
{
    asker->arena = arena;
    asker->bytes = bytes;
    atomic_init(&asker->done, false);
    ck_assert_int_eq(pthread_create(&asker->thread, NULL, ask, asker), 0);
}

static void expect_served(asker_t *asker)
{
    ck_assert_int_eq(pthread_join(asker->thread, NULL), 0);
    expect_status(asker->status, CUARENA_OK);
}

/* From what is held, again and again, as long as `asker` waits. */
static void serve_beside(cuarena_t *arena, const asker_t *asker)
{
    for (int i = 0; i < ROUNDS; i++) {
        void *pointer = NULL;
        expect_ok(cuarena_alloc(arena, SMALL, &pointer));
        expect_ok(cuarena_free(arena, pointer));
    }
    ck_assert_msg(!atomic_load(&asker->done), "the slow call ended before %d rounds beside it",
                  ROUNDS);
}

static void run(slow_t *slow, int row)
{
    static asker_t grower, waiter;
    cuarena_t *arena = NULL;
    void *first = NULL;
    expect_ok(cuarena_create(&slow->config, &arena));
    expect_ok(cuarena_alloc(arena, SMALL, &first));
    uint64_t before = arena_stats(arena).grows;
    slow_begin(slow, row);
    ask_beside(&grower, arena, LARGE);
    slow_wait(slow, row);
    serve_beside(arena, &grower);
    ask_beside(&waiter, arena, MORE);
    serve_beside(arena, &waiter);
    slow_end(slow, row);
    expect_served(&grower);
    expect_served(&waiter);
    expect_u64(arena_stats(arena).grows - before, 1);
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_destroy_forced(&arena));
    slow_close(slow);
}

START_TEST(others_are_served_while_one_grows)
{
    static slow_t slow;
    slow_open(&slow, _i);
    expect_ok(cuarena_config_parse(&slow.config, "preset=bfc,split_threshold=0,limit=64MiB"));
    run(&slow, _i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("growers");
    TCase *tcase = new_case(suite, "one at a time");
#if defined(CUARENA_TEST_CUDA)
    add_standin_test(tcase, others_are_served_while_one_grows, COUNT_OF(rows));
    return cuda_kinds_main(suite);
#else
    tcase_add_loop_test(tcase, others_are_served_while_one_grows, 0, (int)COUNT_OF(rows));
    return suite_main(suite);
#endif
}
