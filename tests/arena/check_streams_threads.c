/*
 * Threads on one arena whose streams are simulated: own and shared streams, uses of blocks of
 * others, compaction, reclaiming and the work itself, each on threads of their own. ThreadSanitizer
 * watches the library; the simulation watches the order on the streams.
 */
#include "support/checks.h"
#include "support/fixture_streams.h"
#include "support/scale.h"

#include <stdatomic.h>

#define POOL KIB(512)
#define WORKERS 4
#define HELD 12

static fixture_t f;
static atomic_bool stop;

typedef struct worker {
    uint32_t index;
    cuarena_stream_t own;
    random_state_t random;
    uint64_t served;
} worker_t;

static void use_block(const worker_t *w, cuarena_block_t block, cuarena_stream_t stream)
{
    void *p = NULL;
    if (cuarena_block_pin_on(f.arena, block, stream, &p) != CUARENA_OK)
        return;
    sim_write(&f.sim, stream, p, 256, 1 + w->index);
    cuarena_block_unpin_on(f.arena, block, stream);
}

/* One block's way: on the own stream, perhaps used on the shared one as well, freed on the own. */
static void work_once(worker_t *w, cuarena_block_t *held)
{
    cuarena_block_t *block = &held[random_below(&w->random, HELD)];
    uint64_t bytes = 256 * (1 + random_below(&w->random, 16));
    if (*block == 0) {
        if (cuarena_block_alloc_on(f.arena, bytes, w->own, NULL, block) == CUARENA_OK) {
            w->served++;
            use_block(w, *block, w->own);
        } else {
            *block = 0;
        }
        return;
    }
    uint64_t what = random_below(&w->random, 8);
    if (what == 0) {
        sim_order(&f.sim, C, w->own);
        use_block(w, *block, C);
        sim_order(&f.sim, w->own, C);
    } else if (what == 1) {
        cuarena_block_resize_on(f.arena, *block, bytes, w->own);
    } else if (what < 5) {
        use_block(w, *block, w->own);
    } else if (cuarena_block_free_on(f.arena, *block, w->own) == CUARENA_OK) {
        *block = 0;
    }
}

static void *work(void *user)
{
    worker_t *w = user;
    cuarena_block_t held[HELD] = {0};
    uint64_t rounds = scale_pick(300, 2000, 20000);
    for (uint64_t i = 0; i < rounds; i++)
        work_once(w, held);
    for (int i = 0; i < HELD; i++)
        if (held[i] != 0)
            cuarena_block_free_on(f.arena, held[i], w->own);
    return NULL;
}

static void *compact_on_and_on(void *user)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.max_moves = 8;
    for (uint64_t i = 0; !atomic_load(&stop); i++) {
        options.stream = i % 4 == 3 ? CUARENA_NO_STREAM : *(cuarena_stream_t *)user;
        cuarena_compact(f.arena, &options, NULL, NULL, NULL);
        cuarena_trim(f.arena, KIB(256), NULL);
    }
    return NULL;
}

static void *reclaim_on_and_on(void *user)
{
    (void)user;
    for (int32_t i = 0; !atomic_load(&stop); i++) {
        cuarena_reclaim(f.arena, i % 8 == 0, NULL);
        if (i % 4 == 0)
            cuarena_cache_release(f.arena, KIB(8), NULL);
        if (i % 64 == 1)
            cuarena_cache_clear(f.arena, NULL);
    }
    return NULL;
}

/* Streams that come and go. */
static void *replace_on_and_on(void *user)
{
    (void)user;
    for (uint32_t i = 0; !atomic_load(&stop) && i < 250; i++) {
        cuarena_stream_t s = sim_handle(100 + i);
        void *p = NULL;
        sim_stream_make(&f.sim, s);
        if (cuarena_alloc_on(f.arena, 1024, s, NULL, &p) == CUARENA_OK) {
            sim_write(&f.sim, s, p, 1024, 5);
            cuarena_free_on(f.arena, p, s);
        }
        cuarena_release_stream(f.arena, s);
        sim_stream_kill(&f.sim, s);
    }
    return NULL;
}

static void *run_on_and_on(void *user)
{
    (void)user;
    while (!atomic_load(&stop))
        sim_run(&f.sim, 5);
    return NULL;
}

/* The second four are the first with a cache. */
#define VARIANTS 4

static void open_rig(int variant, bool caches)
{
    fixture_prepare(&f, variant == 3 ? SIMULATED_HOST : SIMULATED, POOL);
    f.config.preset = variant % 2;
    if (variant % 2)
        f.config.limit = (cuarena_amount_t){.value = POOL};
    f.config.events = variant / 2 % 2;
    f.config.zero = variant == 2 && !caches ? CUARENA_ZERO_FREE : CUARENA_ZERO_NEVER;
    if (caches)
        f.config.keep = CUARENA_KEEP_CACHE;
    fixture_create(&f);
    atomic_store(&stop, false);
}

/* Own streams, one shared by all, or each thread's default stream. */
static cuarena_stream_t stream_for(uint32_t index, int variant)
{
    if (variant == 1)
        return CUARENA_STREAM_PER_THREAD;
    return sim_handle(20 + (variant == 2 ? 0 : index));
}

START_TEST(threads_share_an_arena)
{
    int variant = _i % VARIANTS;
    open_rig(variant, _i >= VARIANTS);
    worker_t workers[WORKERS];
    pthread_t threads[WORKERS + 4];
    cuarena_stream_t movers[1] = {sim_handle(60)};
    sim_stream_make(&f.sim, movers[0]);
    for (uint32_t i = 0; i < WORKERS; i++)
        sim_stream_make(&f.sim, sim_handle(20 + i));
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers[i] = (worker_t){i, stream_for(i, variant), {i + 77}, 0};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    pthread_create(&threads[WORKERS], NULL, compact_on_and_on, movers);
    pthread_create(&threads[WORKERS + 1], NULL, reclaim_on_and_on, NULL);
    pthread_create(&threads[WORKERS + 2], NULL, replace_on_and_on, NULL);
    pthread_create(&threads[WORKERS + 3], NULL, run_on_and_on, NULL);
    uint64_t served = 0;
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        served += workers[i].served;
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[WORKERS + i], NULL);
    ck_assert_uint_gt(served, 100);
    expect_sound(&f);
    expect_ok(cuarena_reclaim(f.arena, 1, NULL));
    expect_u64(stats_of(&f).live_blocks, 0);
    fixture_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_streams_threads");
    TCase *cases = tcase_create("threads");
    tcase_set_timeout(cases, scale_timeout(300));
    tcase_add_loop_test(cases, threads_share_an_arena, 0, 2 * VARIANTS);
    suite_add_tcase(suite, cases);
    return suite_main(suite);
}
