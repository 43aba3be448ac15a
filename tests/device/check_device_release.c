/*
 * Streams are released and destroyed while other threads make every other call of the library: no
 * call of the library is given a handle after the release of its stream has returned, and nobody
 * waits for ever. On the stand-in, whose calls take their time here, such a call is the end of the
 * program.
 *
 * Each thread makes a stream, makes calls at random with it, and ends it. Sometimes two share one:
 * each releases it when it needs it no more, beside the calls of the other.
 */
#include "support/configs.h"
#include "support/driver_library.h"
#include "support/driver_under_test.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/scale.h"

#include <cuarena.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define THREADS 6
#define SLOTS 16
#define UNIT KIB(4)

typedef struct worker {
    random_state_t random;
    CUstream stream;
    bool shared; /* another thread may use the stream too */
} worker_t;

typedef enum call {
    WRITE_BLOCK,
    WRITE_POINTER,
    USE_ANOTHERS,
    RESIZE_ANOTHERS,
    FREE_OTHERS,
    STEAL,
    COMPACT,
    RECLAIM,
    TRIM,
    EMPTY_CACHE,
    MARK,
    WAIT_FOR_MARK,
    COUNT,
    CAPTURE,
    END_SESSION,
    RESIZE_POOL,
    RESET,
    CALLS
} call_t;
#define BIT(call) (1U << (call))
/* Those that an arena which grows, and one that does not move blocks, cannot make. */
#define GROWS BIT(RESIZE_POOL)
#define STAYS (GROWS | BIT(COMPACT) | BIT(RESIZE_ANOTHERS))

/* `lacks`: the calls that are not made. Where there are resets blocks end at any time, so nothing
 * is queued that uses them. */
static const struct kind {
    const char *options;
    unsigned lacks;
    bool unused; /* nothing is queued that uses blocks */
    int crowd;   /* streams that stay known from the begin to the end */
} kinds[] = {
    {"memory=device,pool=512KiB", BIT(RESET), false, 0},
    {"memory=device,pool=512KiB,events=eager", BIT(RESET), false, 0},
    {"memory=device,pool=512KiB,steal=idle", BIT(RESET), false, CUARENA_MAX_STREAMS - 4},
    {"memory=device,pool=512KiB,steal=never,zero=alloc", BIT(RESET), false, 0},
    {"memory=device,pool=512KiB,keep=cache", BIT(RESET), false, 0},
    {"memory=device,pool=512KiB,compact_on_oom=1", BIT(RESET), false, 0},
    {"memory=device,pool=512KiB,zero=free", BIT(RESET) | BIT(CAPTURE) | BIT(END_SESSION), false, 0},
    {"memory=device,pool=512KiB,guard=64,fill=both,quarantine=64KiB,stacks=4", BIT(RESET), false,
     0},
    {"memory=device,preset=grow,limit=8MiB", BIT(RESET) | GROWS, false, 0},
    {"memory=device,preset=cupy-pool,limit=8MiB", BIT(RESET) | GROWS, false, 0},
    {"preset=mlx-cuda,limit=64MiB", BIT(RESET) | GROWS, false, 0},
    {"preset=driver-pool,limit=8MiB", BIT(RESET) | STAYS, false, 0},
    {"memory=managed,pool=512KiB", BIT(RESET), false, 0},
    {"memory=pinned,pool=512KiB,events=eager", BIT(RESET), false, 0},
    {"memory=pageable,pool=512KiB", BIT(RESET), true, 0},
    {"memory=device,pool=512KiB", BIT(CAPTURE) | BIT(END_SESSION), true, 0},
    {"memory=device,preset=grow,limit=8MiB,events=eager", GROWS | BIT(CAPTURE) | BIT(END_SESSION),
     true, 0},
    {"preset=driver-pool,limit=8MiB", STAYS | BIT(CAPTURE) | BIT(END_SESSION), true, 0},
    {"memory=device,pool=512KiB,keep=cache", 0, true, 0},
};
#define KINDS ((int)COUNT_OF(kinds))

static CUcontext context;
static cuarena_t *arena;
static const struct kind *kind;
static atomic_uint_least64_t released;
static atomic_uint_least64_t moved;
static atomic_uint_least64_t made[CALLS]; /* calls that did what they are for */

/* ---- What calls may answer --------------------------------------------- */

#define FULL (BIT(CUARENA_OUT_OF_MEMORY) | BIT(CUARENA_FRAGMENTED) | BIT(CUARENA_LIMIT))
/* A stream that would be waited for is captured. */
#define CAPTURED BIT(CUARENA_BUSY)
/* Dedicated blocks keep their size. */
#define RIGID (FULL | CAPTURED | BIT(CUARENA_UNSUPPORTED))

/* Whether the call worked; ends the test unless its answer is OK or one of these. */
#define try_call(call, answers) try_call_at((call), (answers), #call, __LINE__)
static bool try_call_at(cuarena_status_t status, unsigned answers, const char *what, int line)
{
    if ((kind->lacks & BIT(RESET)) == 0)
        answers |= BIT(CUARENA_STALE);
    if (status != CUARENA_OK && (answers & BIT(status)) == 0)
        ck_abort_msg("line %d: %s: %s (%s) on %s", line, what, cuarena_status_name(status),
                     cuarena_last_error(), kind->options);
    return status == CUARENA_OK;
}

static bool one_in(worker_t *w, uint64_t count)
{
    return random_below(&w->random, count) == 0;
}

static uint64_t some_bytes(worker_t *w)
{
    return UNIT * (1 + random_below(&w->random, 8));
}

/* ---- Streams ----------------------------------------------------------- */

static CUstream new_stream(void)
{
    return driver_new_stream(CU_STREAM_NON_BLOCKING);
}

static void release(CUstream stream)
{
    expect_ok(cuarena_release_stream(arena, stream));
    atomic_fetch_add(&released, 1);
}

static void end_stream(CUstream stream)
{
    release(stream);
    driver_ok(driver.cuStreamDestroy(stream));
}

static struct {
    pthread_mutex_t mutex;
    CUstream stream;
    int users;
} common = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void get_stream(worker_t *w)
{
    w->shared = one_in(w, 3);
    if (!w->shared) {
        w->stream = new_stream();
        return;
    }
    pthread_mutex_lock(&common.mutex);
    if (common.users++ == 0)
        common.stream = new_stream();
    w->stream = common.stream;
    pthread_mutex_unlock(&common.mutex);
}

static void drop_stream(worker_t *w)
{
    if (!w->shared) {
        end_stream(w->stream);
        return;
    }
    release(w->stream);
    pthread_mutex_lock(&common.mutex);
    if (--common.users == 0)
        driver_ok(driver.cuStreamDestroy(w->stream));
    pthread_mutex_unlock(&common.mutex);
}

/* ---- Blocks ------------------------------------------------------------ */

/* Blocks without work and without pins, for anybody; 0: none. */
static _Atomic uint64_t slots[SLOTS];

static _Atomic uint64_t *some_slot(worker_t *w)
{
    return &slots[random_below(&w->random, SLOTS)];
}

static void queue_write(worker_t *w, void *p)
{
    if (!kind->unused)
        driver_ok(driver.cuMemsetD8Async((CUdeviceptr)(uintptr_t)p, 1, UNIT, w->stream));
}

static bool write_block(worker_t *w, cuarena_block_t block)
{
    void *p = NULL;
    if (!try_call(cuarena_block_pin_on(arena, block, w->stream, &p), BIT(CUARENA_LIMIT)))
        return false;
    queue_write(w, p);
    return try_call(cuarena_block_unpin_on(arena, block, w->stream),
                    BIT(CUARENA_LIMIT) | BIT(CUARENA_OUT_OF_MEMORY));
}

static void free_block(worker_t *w, cuarena_block_t block)
{
    if (block != 0)
        try_call(cuarena_block_free_on(arena, block, w->stream), 0);
}

/* The block is without work, and says that the stream uses it. Who had the slot before goes on the
 * stream. */
static void hand_on(worker_t *w, cuarena_block_t block)
{
    driver_ok(driver.cuStreamSynchronize(w->stream));
    try_call(cuarena_block_record_use(arena, block, w->stream), BIT(CUARENA_LIMIT));
    free_block(w, atomic_exchange(some_slot(w), block));
}

static void choose_request(worker_t *w, cuarena_request_t *request)
{
    cuarena_request_init(request);
    request->zeroed = !kind->unused && one_in(w, 3);
    request->dedicated = one_in(w, 8);
}

static cuarena_block_t new_block(worker_t *w, uint64_t bytes)
{
    cuarena_request_t request;
    cuarena_block_t block = 0;
    choose_request(w, &request);
    try_call(cuarena_block_alloc_on(arena, bytes, w->stream, &request, &block), FULL);
    return block;
}

static bool do_write_block(worker_t *w)
{
    cuarena_block_t block = new_block(w, some_bytes(w));
    bool wrote = block != 0 && write_block(w, block);
    if (!wrote || one_in(w, 3))
        free_block(w, block);
    else
        hand_on(w, block);
    return wrote;
}

static bool do_write_pointer(worker_t *w)
{
    cuarena_request_t request;
    void *p = NULL;
    choose_request(w, &request);
    if (!try_call(cuarena_alloc_on(arena, some_bytes(w), w->stream, &request, &p), FULL))
        return false;
    queue_write(w, p);
    if ((kind->lacks & BIT(RESIZE_ANOTHERS)) == 0 && !kind->unused)
        try_call(cuarena_resize_on(arena, p, some_bytes(w), w->stream, &p), RIGID);
    try_call(cuarena_record_use(arena, p, w->stream), BIT(CUARENA_LIMIT));
    return try_call(cuarena_free_on(arena, p, w->stream), 0);
}

/* It may have been moved since, and may be moving now. */
static bool do_use_anothers(worker_t *w)
{
    cuarena_block_t block = atomic_exchange(some_slot(w), 0);
    if (block == 0)
        return false;
    bool wrote = write_block(w, block);
    hand_on(w, block);
    return wrote;
}

static bool do_resize_anothers(worker_t *w)
{
    cuarena_block_t block = kind->unused ? 0 : atomic_exchange(some_slot(w), 0);
    if (block == 0)
        return false;
    bool done = try_call(cuarena_block_resize_on(arena, block, some_bytes(w), w->stream), RIGID);
    hand_on(w, block);
    return done;
}

/* On a stream that any thread may be about to end, or captures. */
static void free_own(worker_t *w, cuarena_block_t block)
{
    if (!try_call(cuarena_block_free_own(arena, block), CAPTURED) && (kind->lacks & BIT(RESET)))
        free_block(w, atomic_exchange(some_slot(w), block));
}

static bool do_free_others(worker_t *w)
{
    bool any = false;
    for (int i = 0; i < 4; i++) {
        cuarena_block_t block = atomic_exchange(some_slot(w), 0);
        any = any || block != 0;
        if (block != 0 && one_in(w, 4))
            try_call(cuarena_block_free(arena, block), 0);
        else if (one_in(w, 2))
            free_own(w, block);
        else
            free_block(w, block);
    }
    return any;
}

/* ---- Calls that wait for streams, or let them wait --------------------- */

/* So much that it takes what others freed. */
static bool do_steal(worker_t *w)
{
    cuarena_block_t block = new_block(w, 24 * UNIT);
    free_block(w, block);
    return block != 0;
}

static bool do_compact(worker_t *w)
{
    cuarena_compact_options_t options;
    cuarena_compact_report_t report;
    cuarena_compact_options_init(&options);
    cuarena_compact_report_init(&report);
    const cuarena_stream_t named = w->stream;
    options.stream = one_in(w, 4) ? CUARENA_NO_STREAM : w->stream;
    options.streams = &named;
    options.stream_count = one_in(w, 2);
    options.max_moves = 4;
    options.goal_bytes = one_in(w, 4) ? 32 * UNIT : 0;
    bool done = try_call(cuarena_compact(arena, &options, NULL, NULL, &report), FULL);
    atomic_fetch_add(&moved, report.moves);
    return done && report.moves != 0;
}

static bool do_reclaim(worker_t *w)
{
    return try_call(cuarena_reclaim(arena, one_in(w, 2), NULL), 0);
}

static bool do_trim(worker_t *w)
{
    uint64_t keep = one_in(w, 2) ? 0 : KIB(128);
    if (one_in(w, 3))
        return try_call(cuarena_trim(arena, keep, NULL), 0);
    cuarena_stream_t stream = one_in(w, 3) ? CUARENA_NO_STREAM : w->stream;
    return try_call(cuarena_trim_on(arena, stream, keep, NULL), CAPTURED);
}

static bool do_empty_cache(worker_t *w)
{
    uint64_t blocks = 0;
    if (one_in(w, 2))
        return try_call(cuarena_cache_release(arena, 4 * UNIT, &blocks), 0);
    return try_call(cuarena_cache_clear(arena, &blocks), CAPTURED);
}

/* ---- Waits of the program's own ---------------------------------------- */

typedef struct post {
    CUstream producer; /* may be gone */
    cuarena_mark_t mark;
    CUevent event; /* NULL: there is none */
} post_t;

static pthread_mutex_t post_mutex = PTHREAD_MUTEX_INITIALIZER;
static post_t last_post;

static post_t exchange_post(post_t post)
{
    pthread_mutex_lock(&post_mutex);
    post_t before = last_post;
    last_post = post;
    pthread_mutex_unlock(&post_mutex);
    return before;
}

static void end_post(post_t post)
{
    if (post.event != NULL)
        driver_ok(driver.cuEventDestroy(post.event));
}

static bool do_mark(worker_t *w)
{
    post_t post = {.producer = w->stream};
    if (!try_call(cuarena_stream_mark(arena, w->stream, &post.mark), BIT(CUARENA_LIMIT)))
        return false;
    post.event = driver_new_event();
    driver_ok(driver.cuEventRecord(post.event, w->stream));
    end_post(exchange_post(post));
    return true;
}

static bool do_wait_for_mark(worker_t *w)
{
    post_t post = exchange_post((post_t){.event = NULL});
    cuarena_stream_t waiter = one_in(w, 4) ? CUARENA_NO_STREAM : w->stream;
    if (post.event == NULL)
        return false;
    if (waiter == CUARENA_NO_STREAM)
        driver_ok(driver.cuEventSynchronize(post.event));
    else
        driver_ok(driver.cuStreamWaitEvent(w->stream, post.event, 0));
    bool done = try_call(cuarena_stream_waited(arena, waiter, post.producer, post.mark),
                         BIT(CUARENA_LIMIT));
    end_post(post);
    return done;
}

/* ---- Counts ------------------------------------------------------------ */

/* The stream need not be known: it may be fresh, or the other thread has released it. */
static bool do_count(worker_t *w)
{
    cuarena_stats_t stats;
    cuarena_peaks_t peaks;
    cuarena_stats_init(&stats);
    cuarena_peaks_init(&peaks);
    try_call(cuarena_stream_stats(arena, w->stream, &stats), BIT(CUARENA_STALE));
    if (!try_call(cuarena_stream_peaks_push(arena, w->stream),
                  BIT(CUARENA_STALE) | BIT(CUARENA_LIMIT)))
        return false;
    return try_call(cuarena_stream_peaks_pop(arena, w->stream, &peaks),
                    BIT(CUARENA_STALE) | BIT(CUARENA_BAD_ARGUMENT));
}

/* ---- Sessions ---------------------------------------------------------- */

/* One whose streams may be gone, and whose graph is launched no more; NULL: none. */
static _Atomic(cuarena_capture_t *) left;

static void fill_graph(worker_t *w, CUstream other)
{
    cuarena_stream_t stream = one_in(w, 2) ? w->stream : other;
    void *p = NULL;
    if (try_call(cuarena_alloc_on(arena, some_bytes(w), w->stream, NULL, &p), FULL)) {
        queue_write(w, p);
        try_call(cuarena_record_use(arena, p, stream), 0);
        try_call(cuarena_free_on(arena, p, w->stream), 0);
    }
    cuarena_block_t block = new_block(w, some_bytes(w));
    free_block(w, block);
    do_free_others(w);
    expect_status(cuarena_release_stream(arena, stream), CUARENA_BUSY);
}

static void launch(worker_t *w, CUgraph graph)
{
    CUgraphExec exec;
    driver_ok(driver.cuGraphInstantiate(&exec, graph, 0));
    driver_ok(driver.cuGraphLaunch(exec, w->stream));
    driver_ok(driver.cuStreamSynchronize(w->stream));
    driver_ok(driver.cuGraphExecDestroy(exec));
    driver_ok(driver.cuGraphDestroy(graph));
}

static void release_session(worker_t *w, cuarena_capture_t *session)
{
    cuarena_stream_t stream = one_in(w, 3) ? CUARENA_NO_STREAM : w->stream;
    while (session != NULL &&
           !try_call(cuarena_capture_release(arena, &session, stream), FULL | CAPTURED))
        stream = CUARENA_NO_STREAM;
}

static bool do_capture(worker_t *w)
{
    cuarena_capture_t *session = NULL;
    CUgraph graph;
    if (w->shared || !try_call(cuarena_capture_begin(arena, w->stream, &session), FULL))
        return false;
    CUstream other = new_stream();
    bool joined = one_in(w, 2) && try_call(cuarena_capture_join(arena, session, other), FULL);
    driver_ok(driver.cuStreamBeginCapture(w->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    fill_graph(w, joined ? other : w->stream);
    driver_ok(driver.cuStreamEndCapture(w->stream, &graph));
    expect_ok(cuarena_capture_end(arena, session));
    end_stream(other);
    launch(w, graph);
    if (one_in(w, 2))
        session = atomic_exchange(&left, session);
    release_session(w, session);
    return true;
}

static bool do_end_session(worker_t *w)
{
    cuarena_capture_t *session = atomic_exchange(&left, NULL);
    release_session(w, session);
    return session != NULL;
}

/* ---- All blocks -------------------------------------------------------- */

static bool do_resize_pool(worker_t *w)
{
    uint64_t bytes = KIB(384) + KIB(128) * random_below(&w->random, 3);
    return try_call(cuarena_resize_pool(arena, bytes), FULL | BIT(CUARENA_BUSY));
}

/* Whether a moment comes when nobody is inside is chance, so that it was asked for counts. */
static bool do_reset(worker_t *w)
{
    bool asks = one_in(w, 4);
    if (asks)
        (void)try_call(cuarena_reset(arena), BIT(CUARENA_BUSY));
    return asks;
}

/* ---- The whole --------------------------------------------------------- */

static const struct {
    const char *name;
    bool (*make)(worker_t *w); /* false: there was nothing to do */
} calls[CALLS] = {
    [WRITE_BLOCK] = {"write block", do_write_block},
    [WRITE_POINTER] = {"write pointer", do_write_pointer},
    [USE_ANOTHERS] = {"use another's", do_use_anothers},
    [RESIZE_ANOTHERS] = {"resize another's", do_resize_anothers},
    [FREE_OTHERS] = {"free others", do_free_others},
    [STEAL] = {"steal", do_steal},
    [COMPACT] = {"compact", do_compact},
    [RECLAIM] = {"reclaim", do_reclaim},
    [TRIM] = {"trim", do_trim},
    [EMPTY_CACHE] = {"empty the cache", do_empty_cache},
    [MARK] = {"mark", do_mark},
    [WAIT_FOR_MARK] = {"wait for a mark", do_wait_for_mark},
    [COUNT] = {"count", do_count},
    [CAPTURE] = {"capture", do_capture},
    [END_SESSION] = {"end a session", do_end_session},
    [RESIZE_POOL] = {"resize the pool", do_resize_pool},
    [RESET] = {"reset", do_reset},
};

static void make_a_call(worker_t *w)
{
    uint64_t call = random_below(&w->random, CALLS);
    while ((kind->lacks & BIT(call)) != 0)
        call = random_below(&w->random, CALLS);
    made[call] += calls[call].make(w);
}

static void *make_and_end(void *user)
{
    worker_t w = {.random = {(uint64_t)(uintptr_t)user}};
    uint64_t rounds = scale_pick(40, 100, 3000);
    driver_ok(driver.cuCtxSetCurrent(context));
    for (uint64_t i = 0; i < rounds; i++) {
        get_stream(&w);
        do_write_block(&w);
        for (uint64_t more = random_below(&w.random, 6); more != 0; more--)
            make_a_call(&w);
        drop_stream(&w);
    }
    return NULL;
}

/* The entries that the library gives streams, and those that ask for events and wait for them. */
static void make_slow(void)
{
    static const char *const entries[] = {
        "cuStreamWaitEvent",  "cuEventRecord",           "cuStreamIsCapturing", "cuStreamGetCtx",
        "cuStreamGetId",      "cuStreamSynchronize",     "cuMemsetD32Async",    "cuMemcpyDtoDAsync",
        "cuLaunchKernel",     "cuMemAllocFromPoolAsync", "cuMemFreeAsync",      "cuEventQuery",
        "cuEventSynchronize", "cuCtxRecordEvent"};
    standin = driver_standin();
    if (standin == NULL)
        return;
    ck_assert_int_eq(standin->standin_configure("PACE", "0"), 0);
    for (size_t i = 0; i < COUNT_OF(entries); i++)
        ck_assert_int_eq(standin->standin_delay(entries[i], 20), 0);
}

static void run_threads(uint64_t seed)
{
    pthread_t threads[THREADS];
    for (uint64_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make_and_end, (void *)(uintptr_t)(seed + i));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Streams that the arena knows, so that there is hardly room for others. */
static void make_crowd(CUstream *crowd)
{
    cuarena_mark_t mark;
    for (int i = 0; i < kind->crowd; i++) {
        crowd[i] = new_stream();
        expect_ok(cuarena_stream_mark(arena, crowd[i], &mark));
    }
}

static void expect_sound(void)
{
    char text[160] = "";
    if (cuarena_validate(arena, text, sizeof text) != CUARENA_OK)
        ck_abort_msg("validate: %s", text);
    expect_u64(driver_reports(STANDIN_ANY), 0);
}

/* Ends what the threads left; with `forced` a session and blocks stay. */
static void end_arena(bool forced)
{
    worker_t w = {.stream = new_stream()};
    end_post(exchange_post((post_t){.event = NULL}));
    if (!forced) {
        release_session(&w, left);
        for (int i = 0; i < SLOTS; i++)
            free_block(&w, slots[i]);
    }
    end_stream(w.stream);
    driver_ok(driver.cuCtxSynchronize());
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_sound();
    expect_ok(forced ? cuarena_destroy_forced(&arena) : cuarena_destroy(&arena));
}

/* Beside a crowd there may have been no room for a call's stream. */
static void expect_all_made(void)
{
    for (int i = 0; i < CALLS && kind->crowd == 0; i++) {
        bool none = (kind->lacks & BIT(i)) != 0 || (kind->unused && i == RESIZE_ANOTHERS);
        if (!none && made[i] == 0)
            ck_abort_msg("%s: nobody could %s", kind->options, calls[i].name);
    }
}

/* What an earlier test of the process left ended with its arena. */
static void begin_anew(void)
{
    released = moved = 0;
    left = NULL;
    for (int i = 0; i < SLOTS; i++)
        slots[i] = 0;
    for (int i = 0; i < CALLS; i++)
        made[i] = 0;
}

START_TEST(no_call_uses_a_stream_after_its_release)
{
    CUstream crowd[CUARENA_MAX_STREAMS];
    kind = &kinds[_i];
    begin_anew();
    uint64_t seed = scale_seed(kind->options);
    driver_start();
    context = driver_take_context(0);
    arena = arena_of(kind->options);
    make_crowd(crowd);
    make_slow();
    run_threads(seed);
    expect_sound();
    expect_all_made();
    printf("%u releases beside %u moves\n", (unsigned)released, (unsigned)moved);
    ck_assert_uint_gt(released, 200);
    for (int i = 0; i < kind->crowd; i++)
        end_stream(crowd[i]);
    end_arena(_i % 2 != 0);
    driver_drop_context(0);
}
END_TEST

int main(void)
{
    driver_kind_t found = driver_kind();
    Suite *suite = suite_create("cuda_release");
    TCase *cases = tcase_create("threads");
    tcase_set_timeout(cases, scale_timeout(300));
    if (found != DRIVER_NONE)
        tcase_add_loop_test(cases, no_call_uses_a_stream_after_its_release, 0, KINDS);
    suite_add_tcase(suite, cases);
    return driver_result(found, suite_main(suite));
}
