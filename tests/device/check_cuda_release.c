/*
 * Streams are released and destroyed while other threads compact, take across streams, reclaim,
 * trim, and free blocks that those streams use: no call of the library is given a handle after the
 * release of its stream has returned. On the stand-in, whose calls take their time here, such a
 * call is the end of the program.
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
#include <time.h>

#define MAKERS 3
#define OTHERS 4
#define SLOTS 16
#define UNIT (UINT64_C(4) << 10)

static CUcontext context;
static cuarena_t *arena;
static atomic_bool over;
/* Blocks that somebody else frees; 0: none. */
static _Atomic uint64_t slots[SLOTS];
static atomic_uint_least64_t released;
static atomic_uint_least64_t moved;
static atomic_uint_least64_t freed_elsewhere;

static CUstream new_stream(void)
{
    CUstream stream;
    driver_ok(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static void end_stream(CUstream stream)
{
    expect_ok(cuarena_release_stream(arena, stream));
    driver_ok(driver.cuStreamDestroy(stream));
    atomic_fetch_add(&released, 1);
}

/* ---- Threads that make streams and end them ---------------------------- */

static void write_on(CUstream stream, cuarena_block_t block)
{
    void *p = NULL;
    expect_ok(cuarena_block_pin_on(arena, block, stream, &p));
    driver_ok(driver.cuMemsetD8Async((CUdeviceptr)(uintptr_t)p, 1, UNIT, stream));
    expect_ok(cuarena_block_unpin_on(arena, block, stream));
}

/* The block is idle, and says that the stream uses it. Who had the place before goes on the
 * stream. */
static void hand_on(CUstream stream, cuarena_block_t block, uint64_t slot)
{
    driver_ok(driver.cuStreamSynchronize(stream));
    expect_ok(cuarena_block_record_use(arena, block, stream));
    uint64_t before = atomic_exchange(&slots[slot], block);
    if (before != 0)
        expect_ok(cuarena_block_free_on(arena, before, stream));
}

static void *make_and_end(void *user)
{
    random_state_t random = {(uint64_t)(uintptr_t)user};
    uint64_t rounds = scale_pick(200, 700, 6000);
    driver_ok(driver.cuCtxSetCurrent(context));
    for (uint64_t i = 0; i < rounds; i++) {
        CUstream stream = new_stream();
        uint64_t bytes = UNIT * (1 + random_below(&random, 8));
        cuarena_block_t block = 0;
        if (cuarena_block_alloc_on(arena, bytes, stream, NULL, &block) == CUARENA_OK) {
            write_on(stream, block);
            if (random_below(&random, 3) == 0)
                expect_ok(cuarena_block_free_on(arena, block, stream));
            else
                hand_on(stream, block, random_below(&random, SLOTS));
        }
        end_stream(stream);
    }
    return NULL;
}

/* ---- Threads that make calls beside ------------------------------------ */

static void compact(CUstream stream)
{
    cuarena_compact_options_t options;
    cuarena_compact_report_t report = {.struct_size = sizeof report};
    cuarena_compact_options_init(&options);
    options.stream = stream;
    options.max_moves = 4;
    expect_ok(cuarena_compact(arena, &options, NULL, NULL, &report));
    atomic_fetch_add(&moved, report.moves);
}

/* So much that it takes what others freed. */
static void take(CUstream stream)
{
    cuarena_block_t block = 0;
    if (cuarena_block_alloc_on(arena, 24 * UNIT, stream, NULL, &block) == CUARENA_OK)
        expect_ok(cuarena_block_free_on(arena, block, stream));
}

static void reclaim(CUstream stream)
{
    expect_ok(cuarena_reclaim(arena, 0, NULL));
    expect_ok(cuarena_trim_on(arena, stream, 0, NULL));
}

static void free_others(CUstream stream)
{
    for (int i = 0; i < SLOTS; i++) {
        uint64_t block = atomic_exchange(&slots[i], 0);
        if (block == 0)
            continue;
        expect_ok(cuarena_block_free_on(arena, block, stream));
        atomic_fetch_add(&freed_elsewhere, 1);
    }
}

static void (*const others[OTHERS])(CUstream) = {compact, take, reclaim, free_others};

/* Streams end between these calls as well as in them. */
static void *call_on_and_on(void *user)
{
    void (*const *call)(CUstream) = user;
    const struct timespec pause = {0, 50000};
    driver_ok(driver.cuCtxSetCurrent(context));
    CUstream stream = new_stream();
    while (!atomic_load(&over)) {
        (*call)(stream);
        nanosleep(&pause, NULL);
    }
    end_stream(stream);
    return NULL;
}

/* ---- The whole --------------------------------------------------------- */

static const char *const kinds[] = {
    "memory=device,pool=512KiB",
    "memory=device,pool=512KiB,events=eager",
    "memory=device,pool=512KiB,steal=idle",
    "memory=device,pool=512KiB,keep=cache",
};
#define KINDS ((int)COUNT_OF(kinds))

static void make_slow(void)
{
    static const char *const entries[] = {"cuStreamWaitEvent", "cuEventRecord",
                                          "cuStreamIsCapturing"};
    const standin_control_t *standin = driver_standin();
    if (standin == NULL)
        return;
    ck_assert_int_eq(standin->standin_configure("PACE", "0"), 0);
    for (size_t i = 0; i < COUNT_OF(entries); i++)
        ck_assert_int_eq(standin->standin_delay(entries[i], 20), 0);
}

static void run_threads(void)
{
    pthread_t threads[MAKERS + OTHERS];
    for (int i = 0; i < OTHERS; i++)
        pthread_create(&threads[MAKERS + i], NULL, call_on_and_on, (void *)&others[i]);
    for (int i = 0; i < MAKERS; i++)
        pthread_create(&threads[i], NULL, make_and_end, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < MAKERS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&over, true);
    for (int i = 0; i < OTHERS; i++)
        pthread_join(threads[MAKERS + i], NULL);
}

START_TEST(no_call_uses_a_stream_after_its_release)
{
    char text[160] = "";
    driver_start();
    context = driver_take_context(0);
    arena = arena_of(kinds[_i]);
    make_slow();
    run_threads();
    driver_ok(driver.cuCtxSynchronize());
    CUstream last = new_stream();
    free_others(last);
    end_stream(last);
    if (cuarena_validate(arena, text, sizeof text) != CUARENA_OK)
        ck_abort_msg("validate: %s", text);
    expect_ok(cuarena_reclaim(arena, 1, NULL));
    expect_u64(driver_reports(STANDIN_ANY), 0);
    ck_assert_uint_gt(released, 500);
    printf("%u releases beside %u moves\n", (unsigned)released, (unsigned)moved);
    ck_assert_uint_gt(freed_elsewhere, 0);
    expect_ok(cuarena_destroy(&arena));
    driver_drop_context(0);
}
END_TEST

int main(void)
{
    driver_kind_t kind = driver_kind();
    Suite *suite = suite_create("cuda_release");
    TCase *cases = tcase_create("threads");
    tcase_set_timeout(cases, scale_timeout(300));
    if (kind != DRIVER_NONE)
        tcase_add_loop_test(cases, no_call_uses_a_stream_after_its_release, 0, KINDS);
    suite_add_tcase(suite, cases);
    return driver_result(kind, suite_main(suite));
}
