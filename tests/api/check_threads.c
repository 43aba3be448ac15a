/*
 * Several threads in one arena: each checks the contents of its own blocks while others compact,
 * trim, resize the pool and look. Meant for ThreadSanitizer. What a thread finds wrong it keeps;
 * the main thread tells.
 *
 * With CUARENA_TEST_CUDA it is another program, of the kinds whose memory a driver gives.
 */
#include "support/fixture.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WORKERS 4
#define SLOTS 16

/* The kinds whose contents can be looked at, and one whose pool changes. */
#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_kinds.h"
#include "support/scale.h"
#define POOL MIB(8)
#define RESIZED (&cuda_kinds[CUDA_POOL_VMM])
#define CUDA(kind) (&cuda_kinds[CUDA_##kind])
static const arena_kind_t *const kinds[] = {
    CUDA(POOL_VMM), CUDA(POOL_MALLOC), CUDA(POOL_MANAGED), CUDA(POOL_BYTES),
    CUDA(GROW_VMM), CUDA(GROW_ASYNC),  CUDA(GROW_PINNED),
};
#define FIRST_KEPT (HOST_KIND_COUNT + CUDA_KIND_COUNT)
#define LAST_KEPT (HOST_KIND_COUNT + DEVICE_KIND_COUNT)
#else
#define POOL MIB(2)
#define RESIZED KIND_CUSTOM_POOL
static const arena_kind_t *const kinds[] = {
    &arena_kinds[POOL_PAGEABLE], &arena_kinds[POOL_BYTES],  &arena_kinds[POOL_CUSTOM],
    &arena_kinds[GROW_PAGEABLE], &arena_kinds[GROW_BYTES],  &arena_kinds[GROW_CUSTOM],
    &arena_kinds[CUPY_PAGEABLE], &arena_kinds[CUPY_CUSTOM],
};
#define FIRST_KEPT MLX_CPU_PAGEABLE
#define LAST_KEPT HOST_KIND_COUNT
#endif

/* ---- What threads keep ----------------------------------------------------
 */

typedef struct slot {
    cuarena_block_t block; /* 0: none, or a pointer's */
    void *pointer;         /* NULL: none, or a block's */
    uint64_t bytes, seed;
} slot_t;

typedef struct worker {
    cuarena_t *arena;
    const fixture_t *f;
    uint64_t rounds;
    random_state_t random;
    uint64_t seed;
    slot_t slots[SLOTS];
    char wrong[700]; /* the first thing that was wrong; empty: nothing */
} worker_t;

static atomic_int stopping;

static void complain(worker_t *w, const char *what, cuarena_status_t status)
{
    if (w->wrong[0] == '\0')
        snprintf(w->wrong, sizeof w->wrong, "%s: %s (%s)", what, cuarena_status_name(status),
                 last_error().message);
}

/* OK, or a refusal that may well be: then 0. */
static int served(worker_t *w, const char *what, cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return 1;
    if (status != CUARENA_OUT_OF_MEMORY && status != CUARENA_FRAGMENTED && status != CUARENA_LIMIT)
        complain(w, what, status);
    return 0;
}

static void must(worker_t *w, const char *what, cuarena_status_t status)
{
    if (status != CUARENA_OK)
        complain(w, what, status);
}

/* ---- What a worker does -----------------------------------------------------
 */

static void check_contents(worker_t *w, const slot_t *slot, const void *address)
{
    static _Thread_local char copy[KIB(48)];
    const void *seen = address;
    if (w->f->kind->traits & KIND_DEVICE) {
        arena_reach->read(copy, address, slot->bytes);
        seen = copy;
    }
    if (painted_until(seen, slot->bytes, slot->seed) != slot->bytes)
        complain(w, "contents differ", CUARENA_OK);
}

/* Pins a block for as long as its bytes are looked at and painted anew. */
static void look_at(worker_t *w, slot_t *slot, int fresh)
{
    void *address = slot->pointer;
    if (address == NULL)
        must(w, "pin", cuarena_block_pin(w->arena, slot->block, &address));
    if (address != NULL && !fresh)
        check_contents(w, slot, address);
    slot->seed = ++w->seed;
    if (address != NULL)
        paint(w->f, address, slot->bytes, slot->seed);
    if (slot->pointer == NULL)
        must(w, "unpin", cuarena_block_unpin(w->arena, slot->block));
}

static void make(worker_t *w, slot_t *slot)
{
    uint64_t bytes = 1 + random_below(&w->random, KIB(48));
    cuarena_status_t status = bytes % 2 == 0 ? cuarena_alloc(w->arena, bytes, &slot->pointer)
                                             : cuarena_block_alloc(w->arena, bytes, &slot->block);
    if (!served(w, "alloc", status))
        return;
    slot->bytes = bytes;
    look_at(w, slot, 1);
}

static void end(worker_t *w, slot_t *slot)
{
    look_at(w, slot, 0);
    must(w, "free",
         slot->pointer != NULL ? cuarena_free(w->arena, slot->pointer)
                               : cuarena_block_free(w->arena, slot->block));
    *slot = (slot_t){0, NULL, 0, 0};
}

static void change(worker_t *w, slot_t *slot)
{
    uint64_t bytes = 1 + random_below(&w->random, KIB(48));
    cuarena_status_t status = slot->pointer != NULL
                                  ? cuarena_resize(w->arena, slot->pointer, bytes, &slot->pointer)
                                  : cuarena_block_resize(w->arena, slot->block, bytes);
    if (!served(w, "resize", status))
        return;
    uint64_t now = bytes;
    slot->bytes = bytes < slot->bytes ? bytes : slot->bytes;
    look_at(w, slot, 0);
    slot->bytes = now;
    look_at(w, slot, 1);
}

static void *work(void *user)
{
    worker_t *w = user;
    for (uint64_t i = 0; i < w->rounds && w->wrong[0] == '\0'; i++) {
        slot_t *slot = &w->slots[random_below(&w->random, SLOTS)];
        uint64_t choice = random_below(&w->random, 4);
        if (slot->block == 0 && slot->pointer == NULL)
            make(w, slot);
        else if (choice == 0)
            end(w, slot);
        else if (choice == 1)
            change(w, slot);
        else
            look_at(w, slot, 0);
    }
    for (size_t i = 0; i < SLOTS; i++)
        if (w->slots[i].block != 0 || w->slots[i].pointer != NULL)
            end(w, &w->slots[i]);
    return NULL;
}

/* The lock is nobody's by right: who takes it again at once may keep it from all that sleep, so
 * those that only look let others in. */
static void let_others_in(void)
{
    const struct timespec moment = {0, 100000};
    (void)nanosleep(&moment, NULL);
}

/* ---- What the others do
 * -------------------------------------------------------- */

static int32_t glance(void *user, const cuarena_relocation_t *list, size_t count)
{
    worker_t *w = user;
    for (size_t i = 0; i < count; i++)
        if (list[i].from == list[i].to)
            complain(w, "an unmoved block was reported", CUARENA_OK);
    return 0;
}

static void *keep_compacting(void *user)
{
    worker_t *w = user;
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    while (!atomic_load(&stopping) && w->wrong[0] == '\0') {
        options.batch_moves = 1 + random_below(&w->random, 16);
        must(w, "compact", cuarena_compact(w->arena, &options, glance, w, NULL));
        let_others_in();
    }
    return NULL;
}

static void *keep_trimming(void *user)
{
    worker_t *w = user;
    uint64_t given = 0;
    while (!atomic_load(&stopping) && w->wrong[0] == '\0') {
        must(w, "trim", cuarena_trim(w->arena, POOL / 4, &given));
        must(w, "reset_peaks", cuarena_reset_peaks(w->arena));
        let_others_in();
    }
    return NULL;
}

static void look_at_blocks(worker_t *w)
{
    cuarena_block_info_t infos[16];
    uint64_t cursor = 0;
    size_t count = 0;
    do {
        must(w, "blocks", cuarena_blocks(w->arena, &cursor, infos, COUNT_OF(infos), &count));
    } while (count == COUNT_OF(infos) && w->wrong[0] == '\0');
}

static void *keep_looking(void *user)
{
    worker_t *w = user;
    cuarena_stats_t stats;
    cuarena_inspection_t inspection;
    cuarena_stats_init(&stats);
    cuarena_inspection_init(&inspection);
    while (!atomic_load(&stopping) && w->wrong[0] == '\0') {
        must(w, "stats", cuarena_stats(w->arena, CUARENA_REGION_ALL, &stats));
        uint64_t sum = stats.live_bytes + stats.free_bytes;
        bool caches = (w->f->kind->traits & KIND_CACHES) != 0;
        if (caches ? sum > stats.capacity_bytes : sum != stats.capacity_bytes)
            complain(w, "live and free are not the capacity", CUARENA_OK);
        must(w, "inspect", cuarena_inspect(w->arena, CUARENA_REGION_ALL, &inspection));
        must(w, "validate", cuarena_validate(w->arena, w->wrong, sizeof w->wrong));
        look_at_blocks(w);
        let_others_in();
    }
    return NULL;
}

/* Of what others make of the cache each call finds something else. */
static void *keep_the_cache(void *user)
{
    worker_t *w = user;
    cuarena_cache_stats_t stats;
    cuarena_cache_stats_init(&stats);
    while (!atomic_load(&stopping) && w->wrong[0] == '\0') {
        uint64_t bytes = random_below(&w->random, POOL);
        must(w, "set_limit",
             cuarena_set_limit(w->arena, CUARENA_LIMIT_CACHED, amount_of_bytes(bytes), NULL));
        must(w, "release", cuarena_cache_release(w->arena, bytes / 4, NULL));
        if (bytes % 4 == 0)
            must(w, "clear", cuarena_cache_clear(w->arena, NULL));
        must(w, "set_limit",
             cuarena_set_limit(w->arena, CUARENA_LIMIT_SOFT, amount_of_bytes(bytes), NULL));
        must(w, "figures", cuarena_cache_stats(w->arena, &stats));
        if ((stats.cached_bytes == 0) != (stats.cached_blocks == 0))
            complain(w, "cached blocks without bytes", CUARENA_OK);
        let_others_in();
    }
    return NULL;
}

/* ---- Everybody at once
 * ------------------------------------------------------------ */

typedef struct crew {
    worker_t workers[WORKERS + 4];
    pthread_t threads[WORKERS + 4];
    size_t count;
} crew_t;

static void hire(crew_t *crew, fixture_t *f, void *(*job)(void *))
{
    worker_t *w = &crew->workers[crew->count];
    memset(w, 0, sizeof *w);
    w->arena = f->arena;
    w->f = f;
    w->rounds = scale_pick(500, 3000, 200000);
    w->random.state = 20261120 + crew->count;
    w->seed = crew->count << 32;
    int made = pthread_create(&crew->threads[crew->count], NULL, job, w);
    ck_assert_int_eq(made, 0);
    crew->count++;
}

static void part(crew_t *crew, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        pthread_join(crew->threads[i], NULL);
        ck_assert_msg(crew->workers[i].wrong[0] == '\0', "thread %zu: %s", i,
                      crew->workers[i].wrong);
    }
}

/* With a driver that this thread has opened. */
static void open_shared(fixture_t *f, const arena_kind_t *kind)
{
    fixture_open(f, kind, POOL);
    void *first = alloc_ok(f, 64);
    paint(f, first, 64, 1);
    free_ok(f, first);
}

static void share(const arena_kind_t *kind)
{
    fixture_t f;
    crew_t crew = {.count = 0};
    open_shared(&f, kind);
    atomic_store(&stopping, 0);
    for (size_t i = 0; i < WORKERS; i++)
        hire(&crew, &f, work);
    hire(&crew, &f, keep_compacting);
    hire(&crew, &f, keep_trimming);
    hire(&crew, &f, keep_looking);
    if (kind->traits & KIND_CACHES)
        hire(&crew, &f, keep_the_cache);
    part(&crew, 0, WORKERS);
    atomic_store(&stopping, 1);
    part(&crew, WORKERS, crew.count);
    expect_recount(&f);
    fixture_close(&f);
}

START_TEST(threads_share_an_arena)
{
    share(kinds[_i]);
}
END_TEST

/* The presets of MLX, and CuPy's on a device. */
START_TEST(threads_share_a_cache)
{
    const arena_kind_t *kind = &arena_kinds[_i];
    bool each = (kind->traits & KIND_EACH) != 0; /* it neither moves nor resizes */
    if ((kind->traits & KIND_READABLE) != 0 && !each)
        share(kind);
}
END_TEST

START_TEST(threads_work_while_the_pool_is_resized)
{
    fixture_t f;
    crew_t crew = {.count = 0};
    open_shared(&f, RESIZED);
    atomic_store(&stopping, 0);
    for (size_t i = 0; i < WORKERS; i++)
        hire(&crew, &f, work);
    for (uint64_t i = 0; i < scale_pick(50, 200, 5000); i++) {
        uint64_t bytes = i % 2 == 0 ? 2 * POOL : POOL;
        cuarena_status_t status = cuarena_resize_pool(f.arena, bytes);
        ck_assert_msg(status == CUARENA_OK || status == CUARENA_BUSY ||
                          status == CUARENA_FRAGMENTED || status == CUARENA_OUT_OF_MEMORY,
                      "got %s (%s)", cuarena_status_name(status), last_error().message);
        expect_sound(&f);
    }
    part(&crew, 0, crew.count);
    fixture_close(&f);
}
END_TEST

START_TEST(compactions_of_two_threads_take_turns)
{
    fixture_t f;
    crew_t crew = {.count = 0};
    open_shared(&f, RESIZED);
    atomic_store(&stopping, 0);
    hire(&crew, &f, work);
    hire(&crew, &f, keep_compacting);
    hire(&crew, &f, keep_compacting);
    part(&crew, 0, 1);
    atomic_store(&stopping, 1);
    part(&crew, 1, crew.count);
    fixture_close(&f);
}
END_TEST

#if !defined(CUARENA_TEST_CUDA)

/* ---- In the middle of a move
 * --------------------------------------------------------- */

/* A block that is being moved, and a thread that does something with it while the memory copies. */
typedef struct intruder {
    fixture_t *f;
    cuarena_block_t block;
    void *(*job)(void *);
    pthread_t thread;
    int waits; /* 1: the job ends after the move only */
    atomic_int begun, done;
    cuarena_status_t status;
    void *pointer;
    cuarena_block_info_t info;
} intruder_t;

static void let_in(test_memory_t *memory, memory_op_t op, const cuarena_relocation_t *list,
                   size_t count)
{
    intruder_t *intruder = memory->hook_user;
    (void)list;
    (void)count;
    if (op != OP_RELOCATE)
        return;
    memory->hook = NULL;
    pthread_create(&intruder->thread, NULL, intruder->job, intruder);
    if (!intruder->waits) {
        pthread_join(intruder->thread, NULL);
        return;
    }
    while (!atomic_load(&intruder->begun))
        sched_yield();
    for (int i = 0; i < 1000; i++)
        sched_yield();
    ck_assert_int_eq(atomic_load(&intruder->done), 0);
}

static void *free_it(void *user)
{
    intruder_t *intruder = user;
    intruder->status = cuarena_block_free(intruder->f->arena, intruder->block);
    return NULL;
}

static void *inform_of_it(void *user)
{
    intruder_t *intruder = user;
    intruder->status = cuarena_block_info(intruder->f->arena, intruder->block, &intruder->info);
    return NULL;
}

static void *pin_it(void *user)
{
    intruder_t *intruder = user;
    atomic_store(&intruder->begun, 1);
    intruder->status = cuarena_block_pin(intruder->f->arena, intruder->block, &intruder->pointer);
    atomic_store(&intruder->done, 1);
    return NULL;
}

static void *resize_it(void *user)
{
    intruder_t *intruder = user;
    atomic_store(&intruder->begun, 1);
    intruder->status = cuarena_block_resize(intruder->f->arena, intruder->block, 100);
    atomic_store(&intruder->done, 1);
    return NULL;
}

/* A hole in front of a block, which `job` meets while it slides. */
static void meet(fixture_t *f, intruder_t *intruder, void *(*job)(void *), int waits,
                 heard_t *heard)
{
    memset(intruder, 0, sizeof *intruder);
    fixture_open(f, KIND_CUSTOM_POOL, POOL);
    intruder->f = f;
    intruder->job = job;
    intruder->waits = waits;
    intruder->block = alloc_above_a_hole(f, POOL / 2, POOL / 2);
    paint(f, address_of(f, intruder->block), POOL / 2, 5);
    f->memory.hook_user = intruder;
    f->memory.hook = let_in;
    step_ok(f, cuarena_compact(f->arena, NULL, hear_relocations, heard, NULL));
    if (waits)
        pthread_join(intruder->thread, NULL);
    expect_status(intruder->status, CUARENA_OK);
    expect_sound(f);
}

START_TEST(free_of_a_moving_block_ends_it_after_the_move)
{
    fixture_t f;
    intruder_t intruder;
    heard_t heard = {.count = 0};
    meet(&f, &intruder, free_it, 0, &heard);
    ck_assert_ptr_null(heard_of(&heard, intruder.block));
    expect_u64(live_blocks(&f), 0);
    step(&f, cuarena_block_free(f.arena, intruder.block), CUARENA_STALE);
    free_ok(&f, alloc_ok(&f, POOL));
    fixture_close(&f);
}
END_TEST

START_TEST(info_of_a_moving_block_says_so)
{
    fixture_t f;
    intruder_t intruder;
    heard_t heard = {.count = 0};
    meet(&f, &intruder, inform_of_it, 0, &heard);
    expect_u64(intruder.info.moving, 1);
    expect_u64(info_of(&f, intruder.block).moving, 0);
    free_block(&f, intruder.block);
    fixture_close(&f);
}
END_TEST

START_TEST(pin_of_a_moving_block_waits_for_its_new_address)
{
    fixture_t f;
    intruder_t intruder;
    heard_t heard = {.count = 0};
    meet(&f, &intruder, pin_it, 1, &heard);
    expect_ptr(intruder.pointer, heard_of(&heard, intruder.block)->to);
    expect_painted(&f, intruder.pointer, POOL / 2, 5);
    free_block(&f, intruder.block);
    fixture_close(&f);
}
END_TEST

START_TEST(resize_of_a_moving_block_waits)
{
    fixture_t f;
    intruder_t intruder;
    heard_t heard = {.count = 0};
    meet(&f, &intruder, resize_it, 1, &heard);
    expect_u64(info_of(&f, intruder.block).requested, 100);
    expect_painted(&f, address_of(&f, intruder.block), 100, 5);
    free_block(&f, intruder.block);
    fixture_close(&f);
}
END_TEST

#endif

static void add_shared(Suite *suite)
{
    TCase *tcase = new_case(suite, "every readable kind");
    tcase_add_loop_test(tcase, threads_share_an_arena, 0, COUNT_OF(kinds));
    tcase_add_loop_test(new_case(suite, "what is kept"), threads_share_a_cache, FIRST_KEPT,
                        LAST_KEPT);
    tcase = suite_add_list(
        suite, "at once",
        TEST_LIST(threads_work_while_the_pool_is_resized, compactions_of_two_threads_take_turns));
    tcase_set_timeout(tcase, scale_timeout(60));
}

#if defined(CUARENA_TEST_CUDA)
int main(void)
{
    Suite *suite = suite_create("threads on devices");
    add_shared(suite);
    return cuda_kinds_main(suite);
}
#else
int main(void)
{
    Suite *suite = suite_create("threads");
    add_shared(suite);
    TCase *tcase = suite_add_list(
        suite, "in the middle",
        TEST_LIST(free_of_a_moving_block_ends_it_after_the_move, info_of_a_moving_block_says_so,
                  pin_of_a_moving_block_waits_for_its_new_address, resize_of_a_moving_block_waits));
    tcase_set_timeout(tcase, scale_timeout(60));
    return suite_main(suite);
}
#endif
