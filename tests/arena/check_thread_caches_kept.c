/*
 * What threads' caches keep is in nobody's way, and comes back; blocks
 * go from thread to thread, and keep their contents.
 */
#include "support/crowd.h"

/* ---- What caches keep -------------------------------------------------- */

static void fill(uint64_t count, uint64_t bytes, cuarena_stream_t stream)
{
    void **p = calloc(count, sizeof *p);
    for (uint64_t i = 0; i < count; i++)
        must_ok(get(bytes, stream, &p[i]));
    for (uint64_t i = 0; i < count; i++)
        must_ok(put(p[i], stream));
    free(p);
}

/* Between blocks that others keep there would be gaps, so these go back first. */
static void fill_with_4k(void)
{
    must_ok(cuarena_validate(arena, NULL, 0));
    fill(POOL / 4096, 4096, CUARENA_NO_STREAM);
}

static void leave_some(void)
{
    for (uint64_t bytes = 256; bytes <= KIB(16); bytes += bytes / 2)
        fill(16, bytes, crowd.stream);
}

START_TEST(what_another_keeps_is_no_hindrance)
{
    begin_pool();
    for (int i = 0; i < 10; i++) {
        keeper_begin(i % 2 ? leave_some : fill_with_4k);
        void *p = NULL;
        expect_ok(cuarena_alloc(arena, i < 5 ? POOL : POOL - 256, &p));
        expect_ok(cuarena_free(arena, p));
        keeper_end();
    }
    finish();
}
END_TEST

/* ---- Looks ------------------------------------------------------------- */

/* An arena whose threads have caches and which knows several streams. */
static void begin_looking(int32_t preset, int32_t steal, cuarena_stream_t stream)
{
    fixture_prepare(&f, SIMULATED, POOL);
    for (uint32_t i = 0; i < WORKERS; i++)
        sim_stream_make(&f.sim, sim_handle(20 + i));
    f.config.preset = preset;
    f.config.steal = steal;
    if (preset == CUARENA_PRESET_GROW)
        f.config.limit = amount_of_bytes(4 * POOL);
    begin_met(true);
    free_on(&f, alloc_on(&f, 256, A), A);
    free_on(&f, alloc_on(&f, 256, B), B);
    free_on(&f, alloc_on(&f, POOL / 2, stream), stream);
    fill(1000, 256, stream);
    (void)sim_calls(&f.sim);
}

/* What the caches of threads take from the heap counts. */
static const struct growing_row {
    const char *edge;
    uint64_t count, bytes;
    int32_t steal;
} growing_rows[] = {
    {"small blocks, of which a cache gets several at a time", 1000, 256, CUARENA_STEAL_WAIT},
    {"... where no stream is made to wait", 1000, 256, CUARENA_STEAL_IDLE},
    {"blocks that are too large for caches", 4, KIB(64), CUARENA_STEAL_IDLE},
};

START_TEST(an_arena_of_threads_that_grows_looks)
{
    const struct growing_row *row = &growing_rows[_i];
    begin_looking(CUARENA_PRESET_GROW, row->steal, B);
    for (int i = 0; i < 8; i++)
        fill(row->count, row->bytes, B);
    uint64_t looks = f.sim.counts[SIM_QUERY] + f.sim.counts[SIM_RECORD];
    ck_assert_msg(looks != 0, "%s: expected looks, got none", row->edge);
    expect_u64(f.sim.counts[SIM_WAIT] + f.sim.counts[SIM_WAIT_HOST], 0);
    expect_valid_arena(arena);
    finish();
}
END_TEST

static void *fill_often(void *user)
{
    const worker_t *w = user;
    for (int i = 0; i < 20; i++)
        fill(1000, 256, w->stream);
    return NULL;
}

/* Whose turn it is to look stops the caches of all others meanwhile. */
START_TEST(threads_look_beside_each_other)
{
    begin_looking(CUARENA_PRESET_GROW, CUARENA_STEAL_WAIT, B);
    run(WORKERS, fill_often);
    uint64_t looks = f.sim.counts[SIM_QUERY] + f.sim.counts[SIM_RECORD];
    ck_assert_msg(looks != 0, "expected looks, got none");
    expect_u64(live_blocks(&f), 0);
    finish();
}
END_TEST

/* A pool gains nothing by looks, nor does a request without a stream, or an arena whose streams
 * share nothing. */
START_TEST(threads_do_not_look_where_nothing_is_gained)
{
    static const struct {
        const char *edge;
        int32_t preset, steal;
        bool streamless;
    } none[] = {
        {"a pool", CUARENA_PRESET_POOL, CUARENA_STEAL_IDLE, false},
        {"steal=never", CUARENA_PRESET_GROW, CUARENA_STEAL_NEVER, false},
        {"no stream", CUARENA_PRESET_GROW, CUARENA_STEAL_IDLE, true},
    };
    cuarena_stream_t stream = none[_i].streamless ? CUARENA_NO_STREAM : B;
    begin_looking(none[_i].preset, none[_i].steal, stream);
    for (int i = 0; i < 8; i++)
        fill(1000, 256, stream);
    uint64_t calls = sim_calls(&f.sim);
    ck_assert_msg(calls == 0, "%s: expected no call of the memory, got %llu", none[_i].edge,
                  (unsigned long long)calls);
    expect_valid_arena(arena);
    finish();
}
END_TEST

/* ---- All that there is ------------------------------------------------- */

static void *alloc_share(void *user)
{
    worker_t *w = user;
    cuarena_block_t blocks[POOL / 4096 / WORKERS];
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < COUNT_OF(blocks); i++)
            must_ok(cuarena_block_alloc(arena, 4096, &blocks[i]));
        for (size_t i = 0; i < COUNT_OF(blocks); i++)
            must_ok(cuarena_block_free(arena, blocks[i]));
    }
    w->live = 0;
    return NULL;
}

/* All bytes of a pool, and all that the limit allows; then as many blocks as may live. */
START_TEST(threads_share_all_that_there_is)
{
    bool counted = _i == 2;
    fixture_prepare(&f, _i == 1 ? KIND_CUSTOM_GROW : KIND_CUSTOM_POOL, counted ? 4 * POOL : POOL);
    if (counted)
        f.config.max_blocks = POOL / 4096;
    begin_met(false);
    run(WORKERS, alloc_share);
    finish();
}
END_TEST

START_TEST(kept_blocks_are_none_of_max_blocks)
{
    void *p[700], *more = UNTOUCHED;
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    f.config.max_blocks = COUNT_OF(p);
    begin_met(false);
    for (int i = 0; i < 5; i++) {
        keeper_begin(leave_some);
        for (size_t n = 0; n < COUNT_OF(p); n++)
            expect_ok(cuarena_alloc(arena, 256, &p[n]));
        expect_status(cuarena_alloc(arena, 256, &more), CUARENA_LIMIT);
        for (size_t n = 0; n < COUNT_OF(p); n++)
            expect_ok(cuarena_free(arena, p[n]));
        keeper_end();
    }
    finish();
}
END_TEST

static void keep_and_compact(void)
{
    expect_ok(cuarena_compact(arena, NULL, NULL, NULL, NULL));
    expect_all_free();
}

static void keep_and_reset(void)
{
    expect_ok(cuarena_reset(arena));
    expect_u64(live_bytes(&f), 0);
    expect_all_free();
}

static void keep_and_limit(void)
{
    set_limit(&f, CUARENA_LIMIT_LIVE, KIB(64));
    free_ok(&f, alloc_ok(&f, KIB(64)));
    expect_u64(live_bytes(&f), 0);
    set_limit(&f, CUARENA_LIMIT_LIVE, UINT64_MAX);
}

static void keep_and_resize(void)
{
    expect_ok(cuarena_resize_pool(arena, POOL / 2));
    expect_ok(cuarena_resize_pool(arena, POOL));
    expect_all_free();
}

static void keep_and_end(void)
{
    keeper_end();
    expect_all_free();
    keeper_begin(leave_some);
}

/* The child has one thread, and all the bytes. */
static void keep_and_fork(void)
{
    if (!scale_may_fork())
        return;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child != 0) {
        expect_child(child);
        return;
    }
    void *p = NULL;
    must_ok(cuarena_validate(arena, NULL, 0));
    must_ok(cuarena_alloc(arena, POOL, &p));
    must_ok(cuarena_free(arena, p));
    leave_some();
    must_ok(cuarena_validate(arena, NULL, 0));
    must_ok(cuarena_destroy(&f.arena));
    _exit(wrong != 0);
}

static void (*const keep_and[])(void) = {keep_and_compact, keep_and_reset, keep_and_limit,
                                         keep_and_resize,  keep_and_end,   keep_and_fork};

START_TEST(what_is_kept_comes_back)
{
    begin_pool();
    for (int i = 0; i < 5; i++) {
        keeper_begin(leave_some);
        keep_and[_i]();
        expect_valid_arena(arena);
        keeper_end();
    }
    finish();
}
END_TEST

START_TEST(trim_gives_back_what_is_kept)
{
    fixture_prepare(&f, KIND_CUSTOM_GROW, POOL);
    begin_met(false);
    for (int i = 0; i < 5; i++) {
        uint64_t given = 0;
        keeper_begin(leave_some);
        ck_assert_uint_gt(reserved_bytes(&f), 0);
        expect_ok(cuarena_trim(arena, 0, &given));
        expect_u64(reserved_bytes(&f), 0);
        keeper_end();
    }
    finish();
}
END_TEST

/* Threads outlive the arena, and serve the next. */
START_TEST(an_arena_ends_before_its_threads)
{
    begin_pool();
    keeper_begin(leave_some);
    expect_ok(cuarena_destroy(&f.arena));
    fixture_release(&f);
    crowd_end();
    fixture_prepare(&f, KIND_CUSTOM_POOL, POOL);
    begin_met(false);
    keeper_end();
    expect_all_free();
    finish();
}
END_TEST

START_TEST(a_release_of_the_stream_gives_back_what_is_kept)
{
    begin_streams();
    for (uint32_t i = 0; i < 5; i++) {
        cuarena_stream_t kept_for = crowd.stream;
        crowd.stream = sim_handle(40 + i);
        sim_stream_make(&f.sim, crowd.stream);
        keeper_begin(leave_some);
        expect_ok(cuarena_release_stream(arena, crowd.stream));
        sim_stream_kill(&f.sim, crowd.stream);
        crowd.stream = kept_for;
        use_anew(&f, POOL, A);
        keeper_end();
        expect_sound(&f);
    }
    finish();
}
END_TEST

/* ---- Blocks that go from thread to thread ------------------------------ */

enum {
    BY_POINTER,
    BY_ID,
    ON_STREAM,
    PIPES
};
#define RING 64u
static struct {
    int by;
    uint64_t rounds;
    _Atomic uint64_t put, got;
    struct {
        void *pointer;
        cuarena_block_t block;
    } ring[RING];
} pipe_;

static void *produce(void *unused)
{
    random_state_t random = {5};
    for (uint64_t i = 0; i < pipe_.rounds; i++) {
        uint64_t bytes = 256 + random_below(&random, 2000);
        void *p = NULL;
        while (i - atomic_load(&pipe_.got) >= RING)
            sched_yield();
        if (pipe_.by == BY_ID) {
            must_ok(cuarena_block_alloc(arena, bytes, &pipe_.ring[i % RING].block));
            must_ok(cuarena_block_pin(arena, pipe_.ring[i % RING].block, &p));
        } else {
            must_ok(get(bytes, crowd.stream, &p));
        }
        pipe_.ring[i % RING].pointer = p;
        if (pipe_.by == ON_STREAM)
            sim_write(&f.sim, crowd.stream, p, 256, i + 1);
        else
            paint_bytes(p, 256, i);
        atomic_store(&pipe_.put, i + 1);
    }
    return unused;
}

static void consume(uint64_t i)
{
    cuarena_block_t block = pipe_.ring[i % RING].block;
    void *p = pipe_.ring[i % RING].pointer;
    if (pipe_.by == ON_STREAM)
        sim_run(&f.sim, 2);
    else
        must(painted_until(p, 256, i) == 256);
    if (pipe_.by == BY_ID) {
        must_ok(cuarena_block_unpin(arena, block));
        must_ok(cuarena_block_free(arena, block));
    } else {
        must_ok(put(p, crowd.stream));
    }
    atomic_store(&pipe_.got, i + 1);
}

START_TEST(one_thread_frees_what_another_allocates)
{
    memset(&pipe_, 0, sizeof pipe_);
    pipe_.by = _i;
    pipe_.rounds = scale_pick(2000, 20000, 200000) / (_i == ON_STREAM ? 5 : 1);
    if (_i == ON_STREAM)
        begin_streams();
    else
        begin_pool();
    start(&workers[0], produce);
    for (uint64_t i = 0; i < pipe_.rounds; i++) {
        while (atomic_load(&pipe_.put) == i)
            sched_yield();
        consume(i);
    }
    pthread_join(workers[0].thread, NULL);
    expect_u64(arena_stats(arena).live_blocks, 0);
    finish();
}
END_TEST

/* ---- Streams ----------------------------------------------------------- */

/* A block of the thread's own stream, or of the one that all share; perhaps used on both; freed on
 * either. */
static void use_streams(worker_t *w)
{
    cuarena_stream_t at = random_below(&w->random, 3) ? w->stream : B;
    cuarena_stream_t end = random_below(&w->random, 3) ? at : at == B ? w->stream : B;
    uint64_t bytes = 256 * (1 + random_below(&w->random, 16));
    void *p = NULL;
    must_ok(cuarena_alloc_on(arena, bytes, at, NULL, &p));
    sim_write(&f.sim, at, p, bytes, 1 + w->index);
    if (end != at) {
        sim_order(&f.sim, end, at);
        if (random_below(&w->random, 2)) {
            sim_write(&f.sim, end, p, bytes, 9);
            must_ok(cuarena_record_use(arena, p, end));
            sim_order(&f.sim, at, end);
            end = at;
        }
    }
    must_ok(cuarena_free_on(arena, p, end));
}

static void *work_on_streams(void *user)
{
    uint64_t rounds = scale_pick(300, 2000, 20000);
    for (uint64_t i = 0; i < rounds; i++)
        use_streams(user);
    return NULL;
}

static void run_streams(void)
{
    while (!atomic_load(&keeper.over)) {
        atomic_store(&keeper.done, true);
        sim_run(&f.sim, 20);
    }
}

START_TEST(streams_of_threads_and_a_shared_one)
{
    begin_streams();
    keeper_begin(run_streams);
    run(WORKERS, work_on_streams);
    expect_sound(&f);
    keeper_end();
    sim_run_all(&f.sim);
    use_anew(&f, POOL, A);
    finish();
}
END_TEST

/* ---- All at once ------------------------------------------------------- */

typedef struct thing {
    void *pointer;
    cuarena_block_t block; /* 0: by pointer */
    uint64_t bytes, seed;
} thing_t;

#define ROOM KIB(256)
#define PAGE UINT64_C(4096)

static uint64_t whole(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Whether a request was refused because no free range holds it, and growth by whole pages would
 * exceed the limit: by what the arena says of itself at that moment. */
static bool is_right(cuarena_status_t refusal, uint64_t bytes)
{
    cuarena_error_info_t error = last_error();
    uint64_t size = whole(bytes, 256);
    bool grows = (f.kind->traits & KIND_GROWS) != 0;
    if (error.largest_bytes >= size || (grows && error.reserved_bytes + whole(size, PAGE) <= ROOM))
        return false;
    return refusal == (error.free_bytes >= size ? CUARENA_FRAGMENTED
                       : grows                  ? CUARENA_LIMIT
                                                : CUARENA_OUT_OF_MEMORY);
}

static bool served(cuarena_status_t status, uint64_t bytes)
{
    must(status == CUARENA_OK || is_right(status, bytes));
    return status == CUARENA_OK;
}

/* Now and then one that is seldom served. */
static uint64_t any_bytes(worker_t *w)
{
    return 1 + random_below(&w->random, random_below(&w->random, 50) ? KIB(8) : ROOM);
}

static void look(worker_t *w, thing_t *thing, bool fresh)
{
    void *p = thing->pointer;
    if (thing->block != 0)
        must_ok(cuarena_block_pin(arena, thing->block, &p));
    else
        must_ok(cuarena_size_of(arena, p, NULL, NULL));
    must(fresh || painted_until(p, thing->bytes, thing->seed) == thing->bytes);
    thing->seed = random_next(&w->random);
    paint_bytes(p, thing->bytes, thing->seed);
    if (thing->block != 0)
        must_ok(cuarena_block_unpin(arena, thing->block));
}

static void make(worker_t *w, thing_t *thing)
{
    thing->bytes = any_bytes(w);
    if (served(random_below(&w->random, 2)
                   ? cuarena_alloc(arena, thing->bytes, &thing->pointer)
                   : cuarena_block_alloc(arena, thing->bytes, &thing->block),
               thing->bytes))
        look(w, thing, true);
}

static void end(worker_t *w, thing_t *thing)
{
    look(w, thing, false);
    must_ok(thing->block != 0 ? cuarena_block_free(arena, thing->block)
                              : cuarena_free(arena, thing->pointer));
    *thing = (thing_t){.bytes = 0};
}

static void change(worker_t *w, thing_t *thing)
{
    uint64_t bytes = any_bytes(w);
    if (!served(thing->block != 0 ? cuarena_block_resize(arena, thing->block, bytes)
                                  : cuarena_resize(arena, thing->pointer, bytes, &thing->pointer),
                bytes))
        return;
    thing->bytes = bytes < thing->bytes ? bytes : thing->bytes;
    look(w, thing, false);
    thing->bytes = bytes;
    look(w, thing, true);
}

static void *live_at_random(void *user)
{
    worker_t *w = user;
    thing_t things[HELD] = {{.bytes = 0}};
    uint64_t rounds = scale_pick(2000, 20000, 200000);
    for (uint64_t i = 0; i < rounds; i++) {
        thing_t *thing = &things[random_below(&w->random, HELD)];
        uint64_t what = random_below(&w->random, 1000), given;
        cuarena_stats_t stats;
        cuarena_stats_init(&stats);
        if (what == 0)
            must_ok(cuarena_stats(arena, CUARENA_REGION_ALL, &stats));
        else if (what == 1)
            must_ok(cuarena_trim(arena, 0, &given));
        else if (what == 2)
            must_ok(cuarena_compact(arena, NULL, NULL, NULL, NULL));
        else if (thing->pointer == NULL && thing->block == 0)
            make(w, thing);
        else if (what < 50)
            change(w, thing);
        else if (what < 100)
            look(w, thing, false);
        else
            end(w, thing);
    }
    for (int i = 0; i < HELD; i++)
        if (things[i].pointer != NULL || things[i].block != 0)
            end(w, &things[i]);
    return NULL;
}

/* _i: the arena grows. */
START_TEST(contents_stay_in_random_programs)
{
    fixture_prepare(&f, _i ? KIND_CUSTOM_GROW : KIND_CUSTOM_POOL, ROOM);
    begin_met(false);
    prepare_workers(false);
    for (uint64_t i = 0; i < WORKERS; i++)
        workers[i].random.state = scale_seed("check_thread_caches") + i;
    run(WORKERS, live_at_random);
    expect_u64(live_blocks(&f), 0);
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("thread_caches_kept");
    TCase *tcase = suite_add_list(
        suite, "kept",
        TEST_LIST(what_another_keeps_is_no_hindrance, kept_blocks_are_none_of_max_blocks,
                  trim_gives_back_what_is_kept, an_arena_ends_before_its_threads,
                  a_release_of_the_stream_gives_back_what_is_kept,
                  streams_of_threads_and_a_shared_one, threads_look_beside_each_other));
    tcase_add_loop_test(tcase, threads_share_all_that_there_is, 0, 3);
    tcase_add_loop_test(tcase, an_arena_of_threads_that_grows_looks, 0, COUNT_OF(growing_rows));
    tcase_add_loop_test(tcase, threads_do_not_look_where_nothing_is_gained, 0, 3);
    tcase_add_loop_test(tcase, what_is_kept_comes_back, 0, COUNT_OF(keep_and));
    tcase_add_loop_test(tcase, one_thread_frees_what_another_allocates, 0, PIPES);
    tcase_add_loop_test(tcase, contents_stay_in_random_programs, 0, 2);
    tcase_set_timeout(tcase, scale_timeout(60));
    return suite_main(suite);
}
