/*
 * What is of another heap: plans and ids. Each is refused, whether its heap lives or has ended, and
 * both heaps stay as they were.
 */
#include "support/base_support.h"
#include "support/heap_map.h"
#include "support/scale.h"

#include <cuarena.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PICTURE "-2 a3 -1 b4"

/* ---- Plans -------------------------------------------------------------- */

static map_t own;
static map_t other;
static cuarena_heap_plan_t *plan;

static void make_plan(void)
{
    cuarena_heap_plan_options_t options;
    cuarena_heap_plan_options_init(&options);
    expect_ok(cuarena_heap_plan_create(own.heap, &options, &plan));
}

/* Two heaps of one history, and a plan of the first. */
static void open_pair(const char *other_picture, bool begun)
{
    map_open(&own, PICTURE);
    map_open(&other, other_picture);
    make_plan();
    if (begun)
        expect_ok(cuarena_heap_plan_begin(own.heap, plan));
}

static void close_pair(void)
{
    map_close(&own);
    map_close(&other);
}

typedef cuarena_status_t use_t(cuarena_heap_t *heap);

static cuarena_status_t use_begin(cuarena_heap_t *heap)
{
    return cuarena_heap_plan_begin(heap, plan);
}

static cuarena_status_t use_commit(cuarena_heap_t *heap)
{
    return cuarena_heap_plan_commit(heap, plan, 0);
}

static cuarena_status_t use_abort(cuarena_heap_t *heap)
{
    return cuarena_heap_plan_abort(heap, plan);
}

static const struct {
    use_t *use;
    bool begun;        /* the plan is under way */
    const char *other; /* the other heap */
} uses[] = {
    {use_begin, false, PICTURE}, {use_begin, false, "-10"},  {use_commit, true, PICTURE},
    {use_commit, true, "-10"},   {use_commit, true, ""},     {use_abort, true, PICTURE},
    {use_abort, true, "-10"},    {use_begin, true, PICTURE},
};
#define USE_COUNT (COUNT_OF(uses))

START_TEST(a_plan_is_refused_by_another_heap)
{
    open_pair(uses[_i].other, uses[_i].begun);
    expect_status(uses[_i].use(other.heap), CUARENA_BAD_ARGUMENT);
    expect_message("another heap");
    expect_map(&own, uses[_i].begun ? "-2^ a3^ -1^ b4^" : PICTURE);
    expect_map(&other, uses[_i].other);
    if (!uses[_i].begun)
        expect_ok(cuarena_heap_plan_begin(own.heap, plan));
    expect_ok(cuarena_heap_plan_commit(own.heap, plan, 0));
    expect_map(&own, "a3 b4 -3");
    cuarena_heap_plan_destroy(own.heap, &plan);
    close_pair();
}
END_TEST

START_TEST(a_plan_under_way_is_aborted_where_it_is_whichever_heap_is_named)
{
    open_pair(PICTURE, true);
    cuarena_heap_plan_destroy(_i == 0 ? other.heap : NULL, &plan);
    ck_assert_ptr_null(plan);
    expect_map(&own, PICTURE);
    expect_map(&other, PICTURE);
    make_plan();
    expect_ok(cuarena_heap_plan_begin(own.heap, plan));
    cuarena_heap_plan_destroy(own.heap, &plan);
    close_pair();
}
END_TEST

/* The next heap may have the ended one's address. */
START_TEST(a_plan_of_a_heap_that_has_ended_is_refused)
{
    size_t count = 0;
    cuarena_heap_plan_t *second = NULL;
    open_pair(PICTURE, uses[_i].begun);
    second = plan;
    make_plan();
    map_close(&own);
    map_open(&own, uses[_i].other);
    expect_status(uses[_i].use(own.heap), CUARENA_BAD_ARGUMENT);
    expect_message("destroyed");
    expect_status(uses[_i].use(other.heap), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(cuarena_heap_plan_moves(plan, &count));
    cuarena_heap_plan_destroy(own.heap, &plan);
    cuarena_heap_plan_destroy(NULL, &second);
    expect_map(&own, uses[_i].other);
    expect_map(&other, PICTURE);
    close_pair();
}
END_TEST

/* ---- Ids of heaps -------------------------------------------------------- */

#define GRANULE UINT64_C(256)

static cuarena_heap_t *new_heap(void)
{
    cuarena_heap_t *heap = NULL;
    cuarena_heap_config_t config;
    cuarena_heap_config_init(&config);
    config.max_blocks = 100;
    expect_ok(cuarena_heap_create(&config, &heap));
    expect_ok(cuarena_heap_segment_add(heap, 0, 16 * GRANULE));
    return heap;
}

static cuarena_block_t new_block(cuarena_heap_t *heap)
{
    cuarena_block_t block = 0;
    uint64_t offset = 0;
    cuarena_heap_request_t request = {.size = GRANULE};
    expect_ok(cuarena_heap_alloc(heap, &request, &block, &offset));
    return block;
}

/* Of each heap the first block: nothing but the heap tells them apart. */
START_TEST(an_id_is_refused_by_all_other_heaps_that_live)
{
    size_t count = (size_t)scale_pick(1100, 1300, 5000);
    cuarena_heap_t **heaps = calloc(count, sizeof(*heaps));
    cuarena_block_t *blocks = calloc(count, sizeof(*blocks));
    for (size_t i = 0; i < count; i++) {
        heaps[i] = new_heap();
        blocks[i] = new_block(heaps[i]);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (j != i)
                expect_status(cuarena_heap_free(heaps[i], blocks[j], 0), CUARENA_STALE);
    for (size_t i = 0; i < count; i++) {
        expect_valid(heaps[i]);
        expect_ok(cuarena_heap_free(heaps[i], blocks[i], 0));
        cuarena_heap_destroy(&heaps[i]);
    }
    free(heaps);
    free(blocks);
}
END_TEST

/* More than there are numbers of heaps, beside one that lives. */
START_TEST(an_id_of_a_heap_that_has_ended_is_refused_by_all_after_it)
{
    cuarena_heap_t *lives = new_heap();
    cuarena_block_t living = new_block(lives);
    cuarena_block_t ended[2] = {0};
    for (uint32_t i = 0; i < 2 * CUARENA_HEAP_MAX_HEAPS + 2; i++) {
        cuarena_heap_t *heap = new_heap();
        cuarena_block_t block = new_block(heap);
        expect_status(cuarena_heap_free(heap, living, 0), CUARENA_STALE);
        expect_status(cuarena_heap_free(heap, ended[0], 0), CUARENA_STALE);
        expect_status(cuarena_heap_free(heap, ended[1], 0), CUARENA_STALE);
        expect_ok(cuarena_heap_free(heap, block, 0));
        ended[i != 0] = i < 2 ? block : ended[i != 0];
        cuarena_heap_destroy(&heap);
    }
    expect_ok(cuarena_heap_free(lives, living, 0));
    cuarena_heap_destroy(&lives);
}
END_TEST

/* ---- Threads and forks -------------------------------------------------- */

#define THREADS 4
#define PER_THREAD 300

typedef struct crew {
    cuarena_heap_t *heaps[PER_THREAD];
    cuarena_block_t blocks[PER_THREAD];
} crew_t;

static crew_t crews[THREADS];

/* Every third one ends at once, so that numbers come and go. */
static void *make_heaps(void *of)
{
    crew_t *crew = of;
    for (int i = 0; i < PER_THREAD; i++) {
        crew->heaps[i] = new_heap();
        crew->blocks[i] = new_block(crew->heaps[i]);
        if (i % 3 == 0)
            cuarena_heap_destroy(&crew->heaps[i]);
    }
    return NULL;
}

static int compare_ids(const void *a, const void *b)
{
    const cuarena_block_t *x = a;
    const cuarena_block_t *y = b;
    return (*x > *y) - (*x < *y);
}

START_TEST(ids_of_heaps_that_threads_make_are_different)
{
    static cuarena_block_t all[THREADS * PER_THREAD];
    pthread_t threads[THREADS];
    size_t count = 0;
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, make_heaps, &crews[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        for (int j = 0; j < PER_THREAD; j++) {
            all[count++] = crews[i].blocks[j];
            cuarena_heap_destroy(&crews[i].heaps[j]);
        }
    }
    qsort(all, count, sizeof(all[0]), compare_ids);
    for (size_t i = 1; i < count; i++)
        ck_assert_uint_ne(all[i - 1], all[i]);
}
END_TEST

/* In the child no other thread goes on. */
static int child_makes_heaps(cuarena_heap_t *heap, cuarena_block_t block)
{
    for (int i = 0; i < 50; i++) {
        cuarena_heap_t *fresh = new_heap();
        if (cuarena_heap_free(fresh, block, 0) != CUARENA_STALE)
            return 1;
        cuarena_heap_destroy(&fresh);
    }
    return cuarena_heap_free(heap, block, 0) == CUARENA_OK ? 0 : 2;
}

START_TEST(a_child_forked_while_threads_make_heaps_makes_its_own)
{
    cuarena_heap_t *heap = new_heap();
    cuarena_block_t block = new_block(heap);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, make_heaps, &crews[0]), 0);
    for (int i = 0; i < 20; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            _exit(child_makes_heaps(heap, block));
        ck_assert_int_gt(child, 0);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    for (int j = 0; j < PER_THREAD; j++)
        cuarena_heap_destroy(&crews[0].heaps[j]);
    expect_ok(cuarena_heap_free(heap, block, 0));
    cuarena_heap_destroy(&heap);
}
END_TEST

/* ---- Ids of arenas ------------------------------------------------------ */

static cuarena_t *new_arena(void)
{
    cuarena_t *arena = NULL;
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, "memory=none, pool=64KiB, max_blocks=1000"));
    expect_ok(cuarena_create(&config, &arena));
    return arena;
}

START_TEST(an_id_is_refused_by_a_thousand_arenas)
{
    enum {
        COUNT = 1300
    };
    static cuarena_t *arenas[COUNT];
    static cuarena_block_t blocks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        arenas[i] = new_arena();
        expect_ok(cuarena_block_alloc(arenas[i], 256, &blocks[i]));
    }
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j += i % 7 == 0 ? 1 : 97)
            if (j != i)
                expect_status(cuarena_block_free(arenas[i], blocks[j]), CUARENA_STALE);
    for (int i = 0; i < COUNT; i++) {
        expect_ok(cuarena_validate(arenas[i], NULL, 0));
        expect_ok(cuarena_block_free(arenas[i], blocks[i]));
        expect_ok(cuarena_destroy(&arenas[i]));
    }
}
END_TEST

/* ---- The suite ---------------------------------------------------------- */

int main(void)
{
    Suite *suite = suite_create("heap foreign");
    suite_add_rows(suite, "plans", a_plan_is_refused_by_another_heap, USE_COUNT);
    suite_add_rows(suite, "plans of no heap", a_plan_of_a_heap_that_has_ended_is_refused,
                   USE_COUNT);
    suite_add_rows(suite, "ends of plans",
                   a_plan_under_way_is_aborted_where_it_is_whichever_heap_is_named, 2);
    TCase *ids = suite_add_list(suite, "ids",
                                TEST_LIST(an_id_is_refused_by_all_other_heaps_that_live,
                                          an_id_of_a_heap_that_has_ended_is_refused_by_all_after_it,
                                          ids_of_heaps_that_threads_make_are_different,
                                          an_id_is_refused_by_a_thousand_arenas));
    tcase_set_timeout(ids, scale_timeout(120));
    if (scale_may_fork())
        suite_add_list(suite, "forks",
                       TEST_LIST(a_child_forked_while_threads_make_heaps_makes_its_own));
    return suite_main(suite);
}
