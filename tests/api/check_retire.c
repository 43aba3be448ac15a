/* Arenas that end with their last block: when `done` is called, by whom, and that nobody is in the
 * arena then. Meant for ThreadSanitizer too. */
#include "support/fixture_streams.h"

#include "support/checks.h"
#include "support/random.h"
#include "support/scale.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

/* Who was told, and what the destruction came to. */
typedef struct told {
    _Atomic uint32_t count;
    cuarena_t *arena;
    cuarena_status_t status;
} told_t;

static void note(void *user, cuarena_t *arena)
{
    told_t *told = user;
    told->arena = arena;
    told->count++;
}

static void end(void *user, cuarena_t *arena)
{
    told_t *told = user;
    told->status = cuarena_destroy(&arena);
    told->arena = arena;
    told->count++;
}

static cuarena_t *open_preset(int32_t preset)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_config_init(&config);
    config.preset = preset;
    config.memory = CUARENA_MEMORY_NONE;
    if (preset == CUARENA_PRESET_POOL)
        config.pool = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, 1 << 20};
    expect_ok(cuarena_create(&config, &arena));
    return arena;
}

static cuarena_t *open_pool(void)
{
    return open_preset(CUARENA_PRESET_POOL);
}

static void close_arena(cuarena_t *arena)
{
    expect_ok(cuarena_destroy(&arena));
}

static cuarena_block_t one_block(cuarena_t *arena)
{
    cuarena_block_t block = 0;
    expect_ok(cuarena_block_alloc(arena, 1000, &block));
    return block;
}

static void destroy_from_within(void *user, const cuarena_event_t *event)
{
    told_t *told = user;
    cuarena_t *arena = told->arena;
    told->status = cuarena_destroy(&arena);
    told->count += event->kind == CUARENA_EVENT_FREE;
}

/* Its call is not over: the arena is left only by the last one. */
START_TEST(a_listener_cannot_destroy_the_arena)
{
    cuarena_t *arena = open_pool();
    told_t told = {.arena = arena};
    expect_ok(cuarena_set_event_listener(arena, destroy_from_within, &told));
    expect_ok(cuarena_block_free(arena, one_block(arena)));
    expect_u64(told.count, 1);
    ck_assert_int_eq(told.status, CUARENA_REENTERED);
    expect_valid_arena(arena);
    close_arena(arena);
}
END_TEST

/* ---- When -------------------------------------------------------------- */

START_TEST(nothing_lives_is_said_and_nobody_is_told)
{
    told_t told = {0};
    cuarena_t *arena = open_pool();
    expect_status(cuarena_retire(arena, note, &told), CUARENA_STALE);
    expect_ok(cuarena_block_free(arena, one_block(arena)));
    expect_status(cuarena_retire(arena, note, &told), CUARENA_STALE);
    expect_status(cuarena_retire(NULL, note, &told), CUARENA_BAD_ARGUMENT);
    expect_u64(told.count, 0);
    close_arena(arena);
}
END_TEST

START_TEST(the_last_of_many_tells_once)
{
    enum {
        MANY = 40
    };
    told_t told = {0};
    cuarena_block_t blocks[MANY];
    cuarena_t *arena = open_pool();
    for (int i = 0; i < MANY; i++)
        blocks[i] = one_block(arena);
    expect_ok(cuarena_retire(arena, note, &told));
    for (int i = 0; i < MANY; i++) {
        expect_u64(told.count, 0);
        expect_valid_arena(arena);
        expect_ok(cuarena_block_free(arena, blocks[i * 7 % MANY]));
    }
    expect_u64(told.count, 1);
    ck_assert_ptr_eq(told.arena, arena);
    expect_valid_arena(arena);
    expect_ok(cuarena_block_free(arena, one_block(arena)));
    expect_u64(told.count, 1);
    close_arena(arena);
}
END_TEST

typedef cuarena_status_t ending_fn(cuarena_t *arena, void *pointer);

static cuarena_status_t by_free(cuarena_t *arena, void *pointer)
{
    return cuarena_free(arena, pointer);
}

static cuarena_status_t by_free_on(cuarena_t *arena, void *pointer)
{
    return cuarena_free_on(arena, pointer, sim_handle(1));
}

static cuarena_status_t by_resize(cuarena_t *arena, void *pointer)
{
    return cuarena_resize(arena, pointer, 0, &pointer);
}

static cuarena_status_t by_reset(cuarena_t *arena, void *pointer)
{
    (void)pointer;
    return cuarena_reset(arena);
}

static ending_fn *const endings[] = {by_free, by_free_on, by_resize, by_reset};
static const int32_t presets[] = {CUARENA_PRESET_POOL, CUARENA_PRESET_GROW, CUARENA_PRESET_BFC,
                                  CUARENA_PRESET_MLX_CPU};

/* By each call that ends blocks, in each preset, ordinary or dedicated. */
START_TEST(whatever_ends_the_last_block_tells)
{
    for (int dedicated = 0; dedicated < 2; dedicated++)
        for (int preset = 0; preset < 4; preset++) {
            told_t told = {0};
            void *pointer = NULL;
            cuarena_request_t request;
            cuarena_t *arena = open_preset(presets[preset]);
            cuarena_request_init(&request);
            request.dedicated = dedicated;
            expect_ok(cuarena_alloc_with(arena, 5000, &request, &pointer));
            expect_ok(cuarena_retire(arena, note, &told));
            expect_status(cuarena_free(arena, &told), CUARENA_STALE);
            expect_u64(told.count, 0);
            expect_ok(endings[_i](arena, pointer));
            expect_u64(told.count, 1);
            expect_valid_arena(arena);
            cuarena_reclaim(arena, 1, NULL);
            close_arena(arena);
        }
}
END_TEST

START_TEST(taken_back_in_time_and_too_late)
{
    told_t first = {0};
    told_t second = {0};
    cuarena_t *arena = open_pool();
    cuarena_block_t block = one_block(arena);
    expect_status(cuarena_retire(arena, NULL, NULL), CUARENA_STALE);
    expect_ok(cuarena_retire(arena, note, &first));
    expect_ok(cuarena_retire(arena, NULL, NULL));
    expect_ok(cuarena_block_free(arena, block));
    block = one_block(arena);
    expect_ok(cuarena_retire(arena, note, &first));
    expect_ok(cuarena_retire(arena, note, &second)); /* in its place */
    expect_ok(cuarena_block_free(arena, block));
    expect_status(cuarena_retire(arena, NULL, NULL), CUARENA_STALE);
    expect_u64(first.count, 0);
    expect_u64(second.count, 1);
    close_arena(arena);
}
END_TEST

START_TEST(done_destroys_the_arena)
{
    told_t told = {0};
    cuarena_t *arena = open_pool();
    cuarena_block_t block = one_block(arena);
    expect_ok(cuarena_retire(arena, end, &told));
    expect_ok(cuarena_block_free(arena, block));
    expect_u64(told.count, 1);
    expect_ok(told.status);
    ck_assert_ptr_null(told.arena);
}
END_TEST

START_TEST(a_shared_arena_ends_with_its_holders)
{
    told_t told = {0};
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_config_init(&config);
    config.memory = CUARENA_MEMORY_NONE;
    config.pool = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, 1 << 20};
    expect_ok(cuarena_shared_acquire(&config, &arena, NULL));
    cuarena_block_t block = one_block(arena);
    expect_status(cuarena_retire(arena, note, &told), CUARENA_BUSY);
    expect_ok(cuarena_block_free(arena, block));
    expect_u64(told.count, 0);
    expect_ok(cuarena_shared_release(&arena));
}
END_TEST

/* ---- Streams ----------------------------------------------------------- */

/* What was freed and waits does not live; the arena cannot end before. */
START_TEST(a_block_that_waits_for_its_uses_does_not_live)
{
    told_t told = {0};
    fixture_t *f = opened(SIMULATED, KIB(64));
    void *p = alloc_on(f, KIB(16), A);
    void *q = alloc_on(f, KIB(16), A);
    sim_write(&f->sim, B, p, KIB(16), 1);
    expect_ok(cuarena_record_use(f->arena, p, B));
    expect_ok(cuarena_retire(f->arena, end, &told));
    expect_ok(cuarena_free_on(f->arena, p, A));
    expect_u64(stats_of(f).live_blocks, 2);
    expect_u64(told.count, 0);
    expect_ok(cuarena_free_on(f->arena, q, A));
    expect_u64(stats_of(f).live_blocks, 1);
    expect_u64(told.count, 1);
    expect_status(told.status, CUARENA_BUSY);
    expect_status(cuarena_retire(f->arena, end, &told), CUARENA_STALE);
    expect_sound(f);
}
END_TEST

START_TEST(a_free_that_fails_leaves_a_block_that_lives)
{
    told_t told = {0};
    fixture_t *f = opened(SIMULATED, KIB(64));
    void *p = alloc_on(f, KIB(16), A);
    expect_ok(cuarena_record_use(f->arena, p, B));
    expect_ok(cuarena_retire(f->arena, note, &told));
    f->sim.fail_op = SIM_RECORD;
    f->sim.fail_in = 1;
    f->sim.fail_with = CUARENA_DRIVER;
    expect_status(cuarena_free_on(f->arena, p, A), CUARENA_DRIVER);
    expect_u64(told.count, 0);
    expect_sound(f);
    f->sim.fail_in = 0;
    expect_ok(cuarena_free_on(f->arena, p, A));
    expect_u64(told.count, 1);
}
END_TEST

/* ---- Calls within calls ------------------------------------------------ */

typedef struct listener {
    cuarena_t *arena;
    cuarena_block_t block; /* freed in the listener; 0: none */
    told_t told;
    uint32_t told_within;
    useconds_t pause_us;
} listener_t;

static void free_another(void *user, const cuarena_event_t *event)
{
    listener_t *l = user;
    cuarena_block_t block = l->block;
    if (event->kind != CUARENA_EVENT_FREE)
        return;
    l->block = 0;
    if (block != 0)
        expect_ok(cuarena_block_free(l->arena, block));
    l->told_within += l->told.count;
}

/* The listener's own free is the last, but the call around it is inside. */
START_TEST(the_outermost_call_tells)
{
    listener_t l = {.arena = open_pool()};
    cuarena_block_t block = one_block(l.arena);
    l.block = one_block(l.arena);
    expect_ok(cuarena_set_event_listener(l.arena, free_another, &l));
    expect_ok(cuarena_retire(l.arena, end, &l.told));
    expect_ok(cuarena_block_free(l.arena, block));
    expect_u64(l.told_within, 0);
    expect_u64(l.told.count, 1);
    expect_ok(l.told.status);
}
END_TEST

static void retire_in_it(void *user, const cuarena_event_t *event)
{
    listener_t *l = user;
    if (event->kind == CUARENA_EVENT_FREE)
        expect_ok(cuarena_retire(l->arena, end, &l->told));
    l->told_within += l->told.count;
}

/* No block lives by then, and yet somebody is inside. */
START_TEST(retired_by_the_listener_of_the_last_free)
{
    listener_t l = {.arena = open_pool()};
    cuarena_block_t block = one_block(l.arena);
    expect_ok(cuarena_set_event_listener(l.arena, retire_in_it, &l));
    expect_ok(cuarena_block_free(l.arena, block));
    expect_u64(l.told_within, 0);
    expect_u64(l.told.count, 1);
    expect_ok(l.told.status);
}
END_TEST

/* ---- Threads ----------------------------------------------------------- */

#define THREADS 4

typedef struct crew {
    cuarena_t *arena;
    pthread_barrier_t start;
    told_t told;
    uint32_t each;
} crew_t;

/* One of the crew; what it found wrong the main thread tells. */
typedef struct hand {
    crew_t *crew;
    cuarena_block_t blocks[8];
    uint32_t wrong;
} hand_t;

static void *free_all(void *argument)
{
    hand_t *hand = argument;
    pthread_barrier_wait(&hand->crew->start);
    for (uint32_t i = 0; i < hand->crew->each; i++)
        hand->wrong += cuarena_block_free(hand->crew->arena, hand->blocks[i]) != CUARENA_OK;
    return NULL;
}

static void crew_start(crew_t *crew, hand_t *hands, pthread_t *threads, uint32_t each)
{
    crew->each = each;
    pthread_barrier_init(&crew->start, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        hands[i] = (hand_t){.crew = crew};
        for (uint32_t b = 0; b < each; b++)
            hands[i].blocks[b] = one_block(crew->arena);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, free_all, &hands[i]);
}

/* Who retires it while others free is told that nothing lives, or `done` is. */
static void crew_end(crew_t *crew, hand_t *hands, const pthread_t *threads,
                     cuarena_status_t retired)
{
    if (retired == CUARENA_STALE)
        end(&crew->told, crew->arena);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        expect_u64(hands[i].wrong, 0);
    }
    expect_u64(crew->told.count, 1);
    expect_ok(crew->told.status);
    pthread_barrier_destroy(&crew->start);
}

/* By the slow path: the arena is retired before. */
START_TEST(the_last_of_several_threads_ends_it)
{
    for (uint64_t i = 0; i < scale_pick(200, 1000, 20000); i++) {
        crew_t crew = {.arena = open_pool()};
        hand_t hands[THREADS];
        pthread_t threads[THREADS];
        crew_start(&crew, hands, threads, 1 + i % 8);
        cuarena_status_t retired = cuarena_retire(crew.arena, end, &crew.told);
        pthread_barrier_wait(&crew.start);
        crew_end(&crew, hands, threads, retired);
    }
}
END_TEST

/* Frees by the fast path and by the long one, beside the call itself. */
START_TEST(retired_while_several_threads_free)
{
    for (uint64_t i = 0; i < scale_pick(200, 1000, 20000); i++) {
        crew_t crew = {.arena = open_pool()};
        hand_t hands[THREADS];
        pthread_t threads[THREADS];
        crew_start(&crew, hands, threads, 1 + i % 8);
        pthread_barrier_wait(&crew.start);
        for (uint64_t turns = i % 64; turns != 0; turns--)
            sched_yield();
        cuarena_status_t retired = cuarena_retire(crew.arena, end, &crew.told);
        crew_end(&crew, hands, threads, retired);
    }
}
END_TEST

typedef struct owner {
    cuarena_t *arena;
    _Atomic int freed;
} owner_t;

/* Comes to own the lock, and frees its last block by right of that. */
static void *own_and_free(void *argument)
{
    owner_t *owner = argument;
    cuarena_block_t block = 0;
    for (int i = 0; i < 200; i++)
        if (cuarena_block_alloc(owner->arena, 64, &block) != CUARENA_OK ||
            cuarena_block_free(owner->arena, block) != CUARENA_OK)
            return argument;
    owner->freed = 1;
    if (cuarena_block_alloc(owner->arena, 64, &block) != CUARENA_OK)
        return argument;
    owner->freed = 2;
    return cuarena_block_free(owner->arena, block) != CUARENA_OK ? argument : NULL;
}

/* Ended by another thread while the holder of the lock is on its way out. */
START_TEST(ended_behind_the_owner_of_the_lock)
{
    for (uint64_t i = 0; i < scale_pick(300, 2000, 20000); i++) {
        owner_t owner = {.arena = open_pool()};
        told_t told = {0};
        pthread_t thread;
        void *wrong = NULL;
        pthread_create(&thread, NULL, own_and_free, &owner);
        while (owner.freed != 2)
            ;
        if (cuarena_retire(owner.arena, end, &told) == CUARENA_STALE)
            end(&told, owner.arena);
        pthread_join(thread, &wrong);
        ck_assert_ptr_null(wrong);
        expect_u64(told.count, 1);
        expect_ok(told.status);
    }
}
END_TEST

static void listen_long(void *user, const cuarena_event_t *event)
{
    const listener_t *l = user;
    if (event->kind == CUARENA_EVENT_FREE)
        usleep(l->pause_us);
}

/* One is in its listener yet when another's free is the last. */
START_TEST(a_listener_in_its_tail_keeps_the_arena)
{
    for (uint64_t i = 0; i < scale_pick(20, 60, 400); i++) {
        crew_t crew = {.arena = open_pool()};
        hand_t hands[THREADS];
        pthread_t threads[THREADS];
        listener_t l = {.pause_us = (useconds_t)(i * 37 % 1000)};
        expect_ok(cuarena_set_event_listener(crew.arena, listen_long, &l));
        crew_start(&crew, hands, threads, 1);
        pthread_barrier_wait(&crew.start);
        usleep((useconds_t)(i * 53 % 1000));
        cuarena_status_t retired = cuarena_retire(crew.arena, end, &crew.told);
        crew_end(&crew, hands, threads, retired);
    }
}
END_TEST

static Suite *retire_suite(void)
{
    Suite *suite = suite_create("retired arenas");
    TCase *when = suite_add_case(suite, "when");
    tcase_add_test(when, nothing_lives_is_said_and_nobody_is_told);
    tcase_add_test(when, the_last_of_many_tells_once);
    tcase_add_loop_test(when, whatever_ends_the_last_block_tells, 0, 4);
    tcase_add_test(when, taken_back_in_time_and_too_late);
    tcase_add_test(when, done_destroys_the_arena);
    tcase_add_test(when, a_shared_arena_ends_with_its_holders);
    TCase *late = suite_add_case(suite, "streams and calls within calls");
    tcase_add_test(late, a_block_that_waits_for_its_uses_does_not_live);
    tcase_add_test(late, a_free_that_fails_leaves_a_block_that_lives);
    tcase_add_test(late, the_outermost_call_tells);
    tcase_add_test(late, a_listener_cannot_destroy_the_arena);
    tcase_add_test(late, retired_by_the_listener_of_the_last_free);
    TCase *threads = suite_add_case(suite, "threads");
    tcase_set_timeout(threads, scale_timeout(600));
    tcase_add_test(threads, the_last_of_several_threads_ends_it);
    tcase_add_test(threads, retired_while_several_threads_free);
    tcase_add_test(threads, ended_behind_the_owner_of_the_lock);
    tcase_add_test(threads, a_listener_in_its_tail_keeps_the_arena);
    return suite;
}

int main(void)
{
    return suite_main(retire_suite());
}
