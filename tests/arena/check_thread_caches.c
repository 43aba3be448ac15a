/*
 * The life of threads' caches, and what programs see of it: counts and names are as without, and
 * what caches keep is bounded.
 */
#include "support/crowd.h"

/* ---- Beginning and end ------------------------------------------------- */

static void work_without_caches(void)
{
    prepare_workers(false);
    uint64_t before = bookkeeping();
    atomic_store(&crowd.idle, false);
    crowd_start();
    for (int i = 0; i < 1000; i++)
        nap();
    must(bookkeeping() <= before + DEPOT_MOST);
    crowd_end();
    must_ok(cuarena_validate(arena, NULL, 0));
    must(live_blocks(&f) == 0);
    must_ok(cuarena_destroy(&f.arena));
}

/* Comes first: before any thread has a cache, and so the library its key. */
START_TEST(without_a_key_there_are_no_caches)
{
    pthread_key_t key;
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    begin(false);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        while (pthread_key_create(&key, NULL) == 0)
            continue;
        work_without_caches();
        _exit(wrong != 0);
    }
    expect_child(child);
    fixture_close(&f);
}
END_TEST

START_TEST(a_thread_alone_gets_no_cache)
{
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    begin(false);
    atomic_store(&crowd.idle, true);
    crowd_start();
    uint64_t before = bookkeeping();
    for (int i = 0; i < 100; i++)
        warm();
    expect_u64(bookkeeping(), before);
    finish();
}
END_TEST

START_TEST(caches_end_with_their_threads)
{
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    begin(false);
    uint64_t before = bookkeeping();
    for (int i = 0; i < 3; i++) {
        crowd_begin(i == 0 ? DEPOT_LEAST : 0);
        expect_between(bookkeeping() - before, CROWD * CACHE_LEAST + DEPOT_LEAST,
                       CROWD * CACHE_MOST + DEPOT_MOST);
        crowd_end();
        expect_between(bookkeeping() - before, DEPOT_LEAST, DEPOT_MOST);
    }
    crowd_start();
    expect_all_free();
    finish();
}
END_TEST

static void *call_once(void *user)
{
    const worker_t *w = user;
    void *p = NULL;
    cuarena_block_t block = 0;
    must_ok(get(300, w->stream, &p));
    must_ok(cuarena_block_alloc(arena, 300, &block));
    must_ok(put(p, w->stream));
    must_ok(cuarena_block_free(arena, block));
    return NULL;
}

START_TEST(threads_in_turn_leave_nothing)
{
    begin_pool();
    uint64_t before = bookkeeping();
    for (int i = 0; i < 1000; i++)
        run(1, call_once);
    expect_u64(bookkeeping(), before);
    expect_all_free();
    finish();
}
END_TEST

static void *mix(void *user)
{
    worker_t *w = user;
    uint64_t rounds = scale_pick(2000, 20000, 200000);
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t at = random_below(&w->random, HELD);
        if (w->held[at] == NULL) {
            w->bytes[at] = 1 + random_below(&w->random, 5000);
            must_ok(get(w->bytes[at], w->stream, &w->held[at]));
            w->requested += w->bytes[at];
            w->allocs++;
            w->live++;
        } else {
            must_ok(put(w->held[at], w->stream));
            w->held[at] = NULL;
            w->requested -= w->bytes[at];
            w->frees++;
            w->live--;
        }
    }
    for (int i = 0; i < HELD; i++) {
        uint64_t asked = 0, allocated = 0;
        if (w->held[i] == NULL)
            continue;
        must_ok(cuarena_size_of(arena, w->held[i], &asked, &allocated));
        must(asked == w->bytes[i] && allocated >= asked);
        w->allocated += allocated;
    }
    return NULL;
}

static void *put_all(void *user)
{
    worker_t *w = user;
    for (int i = 0; i < HELD; i++)
        if (w->held[i] != NULL)
            must_ok(put(w->held[i], w->stream));
    memset(w->held, 0, sizeof w->held);
    return NULL;
}

START_TEST(threads_end_while_another_looks)
{
    begin_pool();
    for (int i = 0; i < 60; i++) {
        prepare_workers(false);
        for (int n = 0; n < WORKERS; n++)
            start(&workers[n], n % 2 ? mix : call_once);
        for (int n = 0; n < 20; n++) {
            uint64_t given;
            cuarena_stats_t stats = stats_of(&f);
            expect_u64(stats.live_bytes + stats.free_bytes, stats.capacity_bytes);
            expect_valid_arena(arena);
            expect_ok(cuarena_trim(arena, 0, &given));
        }
        for (int n = 0; n < WORKERS; n++) {
            pthread_join(workers[n].thread, NULL);
            put_all(&workers[n]);
        }
    }
    expect_all_free();
    finish();
}
END_TEST

/* ---- Counts ------------------------------------------------------------ */

static void expect_counts(const cuarena_stats_t *before, const cuarena_stats_t *now,
                          const worker_t *w)
{
    expect_u64(now->allocs - before->allocs, w->allocs);
    expect_u64(now->frees - before->frees, w->frees);
    expect_u64(now->live_blocks - before->live_blocks, w->live);
    expect_u64(now->requested_bytes - before->requested_bytes, w->requested);
    expect_u64(now->live_bytes - before->live_bytes, w->allocated);
}

/* _i: with streams. */
START_TEST(counts_are_exact)
{
    worker_t sum = {.index = 0};
    if (_i)
        begin_streams();
    else
        begin_pool();
    cuarena_stats_t before = arena_stats(arena), none;
    cuarena_stats_init(&none);
    run(WORKERS, mix);
    for (int i = 0; i < WORKERS; i++) {
        worker_t *w = &workers[i];
        sum.allocs += w->allocs;
        sum.frees += w->frees;
        sum.live += w->live;
        sum.requested += w->requested;
        sum.allocated += w->allocated;
        if (!_i)
            continue;
        cuarena_stats_t stats = stream_stats_of(&f, w->stream);
        expect_counts(&none, &stats, w);
    }
    cuarena_stats_t now = arena_stats(arena);
    expect_counts(&before, &now, &sum);
    run(WORKERS, put_all);
    now = arena_stats(arena);
    expect_u64(now.live_blocks, 0);
    expect_u64(now.live_bytes + now.requested_bytes, 0);
    finish();
}
END_TEST

/* Blocks that live together: all that are larger than a cache may keep, or that it gets a few at a
 * time. */
static const struct {
    uint64_t count, bytes;
} together[] = {{10, KIB(64)}, {2000, 256}};

static void live_together(uint64_t count, uint64_t bytes, cuarena_stream_t stream)
{
    void *p[2000];
    for (uint64_t i = 0; i < count; i++)
        expect_ok(get(bytes, stream, &p[i]));
    for (uint64_t i = 0; i < count; i++)
        expect_ok(put(p[i], stream));
}

/* _i: with a stream, a row of `together`. */
START_TEST(peaks_of_requested_bytes_are_seen_while_caches_run)
{
    uint64_t count = together[_i % 2].count, bytes = together[_i % 2].bytes;
    if (_i / 2)
        begin_streams();
    else
        begin_pool();
    live_together(count, bytes, crowd.stream);
    expect_ok(cuarena_reset_peaks(arena));
    live_together(count, bytes, crowd.stream);
    uint64_t peak = arena_stats(arena).peak_requested_bytes;
    expect_between(peak, count * bytes - POOL / 16, count * bytes);
    if (_i / 2)
        expect_u64(stream_stats_of(&f, crowd.stream).peak_requested_bytes, peak);
    expect_all_free();
    finish();
}
END_TEST

/* Both regions of the arena count, and the whole. */
START_TEST(peaks_of_requested_bytes_are_seen_with_a_stable_region)
{
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    f.config.stable = amount_of_bytes(KIB(64));
    begin_met(false);
    expect_ok(cuarena_reset_peaks(arena));
    live_together(10, KIB(64), CUARENA_NO_STREAM);
    expect_u64(arena_stats(arena).peak_requested_bytes, 10 * KIB(64));
    expect_u64(region_stats_of(&f, CUARENA_REGION_DYNAMIC).peak_requested_bytes, 10 * KIB(64));
    finish();
}
END_TEST

/* ---- Names ------------------------------------------------------------- */

#define RIVALS 2
static struct {
    bool by_id;
    void *pointer;
    cuarena_block_t block;
    uint64_t rounds;
    _Atomic uint64_t begun, ended, freed, stale;
} duel;

static cuarena_status_t free_it(void)
{
    return duel.by_id ? cuarena_block_free(arena, duel.block) : cuarena_free(arena, duel.pointer);
}

static void *rival(void *unused)
{
    for (uint64_t i = 1; i <= duel.rounds; i++) {
        while (atomic_load(&duel.begun) < i)
            sched_yield();
        cuarena_status_t status = free_it();
        atomic_fetch_add(status == CUARENA_OK ? &duel.freed : &duel.stale, 1);
        must(status == CUARENA_OK || status == CUARENA_STALE);
        atomic_fetch_add(&duel.ended, 1);
    }
    (void)unused;
    return NULL;
}

START_TEST(one_of_two_frees_succeeds)
{
    begin_pool();
    memset(&duel, 0, sizeof duel);
    duel.by_id = _i;
    duel.rounds = scale_pick(500, 1000, 50000);
    for (int i = 0; i < RIVALS; i++)
        start(&workers[i], rival);
    for (uint64_t i = 1; i <= duel.rounds; i++) {
        uint64_t bytes = 1 + i % 3000;
        must_ok(duel.by_id ? cuarena_block_alloc(arena, bytes, &duel.block)
                           : cuarena_alloc(arena, bytes, &duel.pointer));
        atomic_store(&duel.begun, i);
        while (atomic_load(&duel.ended) < RIVALS * i)
            sched_yield();
        must(atomic_load(&duel.freed) == i);
    }
    for (int i = 0; i < RIVALS; i++)
        pthread_join(workers[i].thread, NULL);
    expect_u64(duel.freed, duel.rounds);
    expect_u64(duel.stale, duel.rounds);
    expect_all_free();
    finish();
}
END_TEST

static fixture_t first;
static atomic_bool gone;

/* Nobody is told but by a flag that orders nothing: the owner of the cache has to see by itself
 * what this thread did to it. */
static void *end_first(void *unused)
{
    must_ok(cuarena_destroy(&first.arena));
    atomic_store_explicit(&gone, true, memory_order_relaxed);
    return unused;
}

START_TEST(a_cache_goes_on_in_another_arena)
{
    prepare_workers(false);
    crowd.stream = CUARENA_NO_STREAM;
    fixture_open(&first, KIND_CUSTOM_POOL, POOL);
    arena = first.arena;
    warm();
    crowd_begin(DEPOT_LEAST);
    call_once(&workers[0]);
    crowd_end();
    begin_pool();
    uint64_t before = bookkeeping();
    start(&workers[0], end_first);
    while (!atomic_load_explicit(&gone, memory_order_relaxed))
        nap();
    call_once(&workers[1]);
    pthread_join(workers[0].thread, NULL);
    expect_between(bookkeeping() - before, CACHE_LEAST, CACHE_MOST);
    finish();
    fixture_release(&first);
}
END_TEST

static struct {
    char *live;
    void *old;
    cuarena_block_t stale, block;
} names;

static void *misname(void *user)
{
    void *p = NULL;
    char other[64];
    for (int i = 0; i < 2000; i++) {
        must_be(CUARENA_STALE, cuarena_free(arena, names.live + 256));
        must_be(CUARENA_STALE, cuarena_free(arena, names.live + 1));
        must_be(CUARENA_STALE, cuarena_free(arena, other));
        must_be(CUARENA_STALE, cuarena_free(arena, names.old));
        must_be(CUARENA_STALE, cuarena_size_of(arena, names.old, NULL, NULL));
        must_be(CUARENA_STALE, cuarena_resize(arena, names.old, 10, &p));
        must_be(CUARENA_STALE, cuarena_block_free(arena, names.stale));
        must_be(CUARENA_STALE, cuarena_block_free(arena, names.block + (UINT64_C(1) << 40)));
        must_be(CUARENA_STALE, cuarena_block_pin(arena, names.stale, &p));
        must_be(CUARENA_STALE, cuarena_block_free(arena, UINT64_MAX));
        call_once(user);
    }
    return NULL;
}

/* One that others touch on both sides: no larger block is ever allocated there again. */
static void **one_between(void **row, size_t count, uint64_t bytes)
{
    for (size_t i = 1; i + 1 < count; i++)
        if ((char *)row[i - 1] + bytes == row[i] && (char *)row[i] + bytes == row[i + 1])
            return &row[i];
    ck_abort_msg("no three of %zu blocks lie side by side", count);
}

START_TEST(names_of_nothing_are_stale)
{
    begin_pool();
    void *row[64];
    alloc_pointer_row(&f, row, COUNT_OF(row), 256);
    void **old = one_between(row, COUNT_OF(row), 256);
    names.old = *old;
    free_ok(&f, names.old);
    *old = NULL;
    names.live = alloc_ok(&f, 4096);
    names.stale = alloc_block(&f, 1000);
    free_block(&f, names.stale);
    names.block = alloc_block(&f, 1000);
    run(WORKERS, misname);
    free_block(&f, names.block);
    free_ok(&f, names.live);
    free_pointer_row(&f, row, COUNT_OF(row), 256);
    expect_all_free();
    finish();
}
END_TEST

/* ---- What caches keep -------------------------------------------------- */

#define LARGEST KIB(16)

/* Blocks of each size, one at a time, so that those of larger sizes are kept already. */
static void *alloc_each_size(void *user)
{
    for (uint64_t bytes = LARGEST; bytes != 0; bytes -= 256) {
        void *p = NULL;
        uint64_t allocated = 0;
        must_ok(cuarena_alloc(arena, bytes, &p));
        must_ok(cuarena_size_of(arena, p, NULL, &allocated));
        must(allocated >= bytes && allocated <= bytes + bytes / 2);
        must_ok(cuarena_free(arena, p));
    }
    return user;
}

/* The peak has live blocks and what is kept. */
START_TEST(caches_keep_at_most_half_of_what_is_free)
{
    begin_pool();
    expect_ok(cuarena_reset_peaks(arena));
    run(WORKERS, alloc_each_size);
    expect_between(arena_stats(arena).peak_live_bytes, 2 * LARGEST, POOL / 2 + WORKERS * LARGEST);
    expect_all_free();
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("thread_caches");
    TCase *tcase = suite_add_list(
        suite, "life",
        TEST_LIST(without_a_key_there_are_no_caches, a_thread_alone_gets_no_cache,
                  caches_end_with_their_threads, threads_in_turn_leave_nothing,
                  threads_end_while_another_looks, a_cache_goes_on_in_another_arena,
                  names_of_nothing_are_stale, caches_keep_at_most_half_of_what_is_free,
                  peaks_of_requested_bytes_are_seen_with_a_stable_region));
    tcase_add_loop_test(tcase, counts_are_exact, 0, 2);
    tcase_add_loop_test(tcase, peaks_of_requested_bytes_are_seen_while_caches_run, 0, 4);
    tcase_add_loop_test(tcase, one_of_two_frees_succeeds, 0, 2);
    tcase_set_timeout(tcase, scale_timeout(60));
    return suite_main(suite);
}
