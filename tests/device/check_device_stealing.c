/*
 * Random programs on several streams of a device, whose kernels write and read blocks: no reuse is
 * ever unordered, late and reordered as the stand-in runs them. The same programs with any one wait
 * of the arena swallowed are caught, or the wait is proved to have been needless: all that had
 * touched the bytes for which it was made was ordered before without it.
 *
 * A block is written when it is allocated, read before it is freed, and used on its own stream
 * only, so all waits are the arena's. In every other program,
 * of which no wait is swallowed, blocks are read and freed on other streams too, which the program
 * orders, and the arena compacts and trims.
 */
#include "support/configs.h"
#include "support/driver_library.h"
#include "support/driver_under_test.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/scale.h"

#include <cuarena.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 4
#define LIVE 24
#define STEPS 300
#define LEAST_BYTES (UINT64_C(4) << 10)
#define PLACES 1024 /* of LEAST_BYTES, around the pool */

typedef struct block {
    void *pointer;
    uint64_t bytes;
    uint64_t seed;
    uint32_t stream;
} block_t;

typedef struct program {
    CUcontext context;
    CUmodule module;
    CUfunction fill;
    CUfunction check;
    CUstream streams[STREAMS];
    CUdeviceptr counter; /* of bad words */
    cuarena_t *arena;
    random_state_t random;
    block_t live[LIVE];
    uint64_t seeds;
    bool wanders;                  /* blocks are used and freed on other streams too, and the
                                    * arena compacts and trims */
    uint64_t moved;                /* blocks, by compaction */
    uint64_t swallowed;            /* the wait of this number; 0: none */
    bool needless;                 /* it was made for bytes that were ordered without it */
    uint64_t base;                 /* the address of the first place */
    standin_moment_t last[PLACES]; /* the last use of each */
} program_t;

static program_t program;

/* ---- Kernels ----------------------------------------------------------- */

static void launch(CUfunction function, const block_t *b)
{
    uint64_t address = (uint64_t)(uintptr_t)b->pointer;
    uint64_t bytes = b->bytes;
    uint64_t seed = b->seed;
    uint64_t first = 0;
    uint64_t counter = program.counter + b->stream * sizeof(uint64_t);
    void *params[] = {&address, &bytes, &seed, &first, &counter};
    driver_launch(function, 4, 64, program.streams[b->stream], params);
}

static uint64_t bad_words(void)
{
    uint64_t words[STREAMS];
    uint64_t sum = 0;
    driver_ok(driver.cuMemcpyDtoH(words, program.counter, sizeof words));
    for (int i = 0; i < STREAMS; i++)
        sum += words[i];
    return sum;
}

/* ---- A program --------------------------------------------------------- */

static void open_program(uint64_t seed, const char *options)
{
    program = (program_t){.random = {seed}};
    driver_start();
    program.context = driver_take_context(0);
    program.fill = driver_test_kernel(&program.module, "fill");
    program.check = driver_test_kernel(&program.module, "check");
    for (int i = 0; i < STREAMS; i++)
        program.streams[i] = driver_new_stream(CU_STREAM_NON_BLOCKING);
    driver_ok(driver.cuMemAlloc(&program.counter, STREAMS * sizeof(uint64_t)));
    driver_ok(driver.cuMemsetD8(program.counter, 0, STREAMS * sizeof(uint64_t)));
    cuarena_config_t config = config_of(options);
    expect_ok(cuarena_create(&config, &program.arena));
}

/* The places of a block: the first, and how many. */
static uint64_t place_of(const block_t *b, uint64_t *count_out)
{
    uint64_t address = (uint64_t)(uintptr_t)b->pointer;
    if (program.base == 0)
        program.base = address - PLACES / 2 * LEAST_BYTES;
    uint64_t first = (address - program.base) / LEAST_BYTES;
    *count_out = b->bytes / LEAST_BYTES;
    ck_assert_uint_le(first + *count_out, PLACES);
    return first;
}

/* Whether what the block's stream is given next comes after all that used its bytes before. */
static bool is_ordered(const block_t *b)
{
    standin = driver_standin();
    uint64_t count;
    uint64_t first = place_of(b, &count);
    bool ordered = true;
    for (uint64_t i = first; i < first + count; i++)
        if (program.last[i].at != 0)
            ordered =
                ordered && standin->standin_is_after(program.streams[b->stream], program.last[i]);
    return ordered;
}

static void note_use(const block_t *b)
{
    uint64_t count;
    uint64_t first = place_of(b, &count);
    standin_moment_t now = driver_standin()->standin_moment(program.streams[b->stream]);
    for (uint64_t i = first; i < first + count; i++)
        program.last[i] = now;
}

static void begin(block_t *b)
{
    random_state_t *r = &program.random;
    b->bytes = LEAST_BYTES * (1 + random_below(r, 16));
    b->stream = (uint32_t)random_below(r, STREAMS);
    b->seed = ++program.seeds;
    uint64_t before = arena_stats(program.arena).stream_waits;
    cuarena_status_t status =
        cuarena_alloc_on(program.arena, b->bytes, program.streams[b->stream], NULL, &b->pointer);
    if (status != CUARENA_OK) {
        b->pointer = NULL;
        return;
    }
    if (before < program.swallowed && program.swallowed <= arena_stats(program.arena).stream_waits)
        program.needless = is_ordered(b);
    launch(program.fill, b);
}

/* The program's own order: `later` waits for all on `earlier`. */
static void order(uint32_t earlier, uint32_t later)
{
    CUevent event;
    driver_ok(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    driver_ok(driver.cuEventRecord(event, program.streams[earlier]));
    driver_ok(driver.cuStreamWaitEvent(program.streams[later], event, 0));
    driver_ok(driver.cuEventDestroy(event));
}

/* Another stream reads it. Its free there is behind that; its free on its own stream is not, and
 * the arena is told. */
static void wander(block_t *b)
{
    block_t there = *b;
    there.stream = (uint32_t)random_below(&program.random, STREAMS);
    order(b->stream, there.stream);
    launch(program.check, &there);
    if (random_below(&program.random, 2) == 0)
        b->stream = there.stream;
    else
        expect_ok(cuarena_record_use(program.arena, b->pointer, program.streams[there.stream]));
}

static int32_t follow_moves(void *user, const cuarena_relocation_t *list, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++) {
        int at = 0;
        while (at < LIVE && program.live[at].pointer != list[i].from)
            at++;
        ck_assert_int_lt(at, LIVE);
        program.live[at].pointer = list[i].to;
        program.moved++;
    }
    return 0;
}

/* Of all blocks, on one stream, which the others are behind then. */
static void compact(void)
{
    cuarena_compact_options_t options;
    uint32_t on = (uint32_t)random_below(&program.random, STREAMS);
    cuarena_compact_options_init(&options);
    options.stream = program.streams[on];
    for (int i = 0; i < LIVE; i++)
        if (program.live[i].pointer != NULL)
            expect_ok(cuarena_unpin(program.arena, program.live[i].pointer));
    expect_ok(cuarena_compact(program.arena, &options, follow_moves, NULL, NULL));
    for (uint32_t i = 0; i < STREAMS; i++)
        order(on, i);
    for (int i = 0; i < LIVE; i++)
        if (program.live[i].pointer != NULL)
            expect_ok(cuarena_pin(program.arena, program.live[i].pointer));
}

static void tidy(void)
{
    if (random_below(&program.random, 2) == 0)
        compact();
    else
        expect_ok(cuarena_trim(program.arena, 0, NULL));
}

static void end(block_t *b)
{
    if (b->pointer == NULL)
        return;
    if (program.wanders && random_below(&program.random, 3) == 0)
        wander(b);
    launch(program.check, b);
    if (program.swallowed != 0)
        note_use(b);
    expect_ok(cuarena_free_on(program.arena, b->pointer, program.streams[b->stream]));
    b->pointer = NULL;
}

static void run(void)
{
    for (int i = 0; i < STEPS; i++) {
        block_t *b = &program.live[random_below(&program.random, LIVE)];
        if (b->pointer == NULL)
            begin(b);
        else
            end(b);
        if (program.wanders && random_below(&program.random, 24) == 0)
            tidy();
    }
    for (int i = 0; i < LIVE; i++)
        end(&program.live[i]);
}

static void close_program(void)
{
    char text[160] = "";
    if (cuarena_validate(program.arena, text, sizeof text) != CUARENA_OK)
        ck_abort_msg("validate: %s", text);
    driver_ok(driver.cuCtxSynchronize());
    expect_ok(cuarena_destroy(&program.arena));
    for (int i = 0; i < STREAMS; i++)
        driver_ok(driver.cuStreamDestroy(program.streams[i]));
    driver_ok(driver.cuMemFree(program.counter));
    driver_ok(driver.cuModuleUnload(program.module));
    driver_drop_context(0);
}

/* ---- No fault ---------------------------------------------------------- */

static const char *const kinds[] = {
    "memory=device,backing=malloc,pool=1MiB",
    "memory=device,backing=vmm,preset=grow,limit=2MiB,steal=first",
    "memory=device,backing=malloc,pool=1MiB,events=eager",
    "memory=device,backing=malloc,pool=1MiB,steal=idle",
    "memory=pinned,pool=1MiB,device_only=1",
    ("memory=device,backing=malloc,preset=bfc,initial_chunk=64KiB,limit=2MiB,"
     "steal=first"),
    "memory=device,backing=vmm,preset=bfc,grow=exact,limit=2MiB,steal=first",
    "memory=device,backing=malloc,pool=1MiB,steal=never",
    "memory=device,backing=malloc,preset=bfc,limit=2MiB",
    "memory=device,backing=vmm,preset=grow,limit=2MiB",
};
#define KINDS ((int)COUNT_OF(kinds))
#define NEVER 7 /* the one with steal=never */

/* With steal=idle a stream gets only what it has waited for, and the waits of these programs of
 * which the arena knows are those around compactions. */
START_TEST(no_reuse_is_ever_unordered)
{
    uint64_t seeds = scale_pick(3, 10, 60);
    uint64_t steals = 0;
    uint64_t steals_apart = 0; /* of programs without compactions */
    uint64_t moved = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        open_program(seed, kinds[_i]);
        program.wanders = seed % 2 == 0;
        run();
        uint64_t stolen = arena_stats(program.arena).steals;
        steals += stolen;
        steals_apart += program.wanders ? 0 : stolen;
        moved += program.moved;
        driver_ok(driver.cuCtxSynchronize());
        expect_u64(bad_words(), 0);
        expect_u64(driver_reports(STANDIN_ANY), 0);
        close_program();
    }
    ck_assert_uint_gt(moved, 0);
    cuarena_config_t config = config_of(kinds[_i]);
    expect_ok(cuarena_config_resolve(&config));
    /* A device may have done what a stream would have had to wait for, and what grows waits at its
     * limit only, where it may find enough that is done. */
    bool grows = config.steal == CUARENA_STEAL_WAIT && config.grow != CUARENA_GROW_NONE;
    uint64_t least = driver_standin() != NULL ? seeds * 5 : 0;
    if (config.steal <= CUARENA_STEAL_WAIT)
        ck_assert_msg(steals > least || grows, "%llu steals, expected more than %llu",
                      (unsigned long long)steals, (unsigned long long)least);
    else
        expect_u64(config.steal == CUARENA_STEAL_IDLE ? steals_apart : steals, 0);
}
END_TEST

/* ---- Default streams of threads ---------------------------------------- */

/* All of a pool, on the default stream of this thread: written, read, and freed there. */
static void *use_all(void *user)
{
    block_t b = {.bytes = UINT64_C(1) << 20, .seed = 1 + *(uint64_t *)user};
    driver_ok(driver.cuCtxSetCurrent(program.context));
    expect_ok(cuarena_alloc_on(program.arena, b.bytes, program.streams[0], NULL, &b.pointer));
    launch(program.fill, &b);
    launch(program.check, &b);
    expect_ok(cuarena_free_on(program.arena, b.pointer, program.streams[0]));
    return NULL;
}

/* Ends a program whose stream was one that threads have each; `made` is its own. */
static void end_on_default_streams(CUstream made)
{
    driver_ok(driver.cuCtxSynchronize());
    program.streams[0] = made;
    expect_u64(bad_words(), 0);
    expect_u64(driver_reports(STANDIN_ANY), 0);
    expect_ok(cuarena_validate(program.arena, NULL, 0));
    expect_ok(cuarena_reclaim(program.arena, 1, NULL));
    close_program();
}

/* Nobody records events at frees at first; who takes the bytes waits for all work then, also of a
 * thread that has ended. */
START_TEST(bytes_move_between_default_streams_of_threads)
{
    for (uint64_t seed = 1; seed <= scale_pick(3, 10, 60); seed++) {
        open_program(seed, kinds[_i]);
        CUstream made = program.streams[0];
        program.streams[0] = CU_STREAM_PER_THREAD;
        for (uint64_t turn = 0; turn < 6; turn++) {
            pthread_t thread;
            pthread_create(&thread, NULL, use_all, &turn);
            pthread_join(thread, NULL);
            use_all(&turn);
        }
        end_on_default_streams(made);
    }
}
END_TEST

/* One of as many parts of the pool as there are threads, again and again. */
static void *use_a_part(void *user)
{
    block_t b = {.bytes = (UINT64_C(1) << 20) / STREAMS};
    driver_ok(driver.cuCtxSetCurrent(program.context));
    for (uint64_t i = 0; i < scale_pick(10, 30, 300); i++) {
        b.seed = STREAMS * i + *(uint64_t *)user + 1;
        expect_ok(cuarena_alloc_on(program.arena, b.bytes, program.streams[0], NULL, &b.pointer));
        launch(program.fill, &b);
        launch(program.check, &b);
        expect_ok(cuarena_free_on(program.arena, b.pointer, program.streams[0]));
    }
    return NULL;
}

START_TEST(default_streams_of_threads_take_from_each_other)
{
    pthread_t threads[STREAMS];
    uint64_t ids[STREAMS];
    open_program(1, kinds[_i]);
    CUstream made = program.streams[0];
    program.streams[0] = CU_STREAM_PER_THREAD;
    for (uint64_t i = 0; i < STREAMS; i++) {
        ids[i] = i;
        pthread_create(&threads[i], NULL, use_a_part, &ids[i]);
    }
    for (int i = 0; i < STREAMS; i++)
        pthread_join(threads[i], NULL);
    end_on_default_streams(made);
}
END_TEST

/* ---- A wait left out --------------------------------------------------- */

/* With the `nth` wait swallowed (0: none): how many waits there were. */
static uint64_t run_without(uint64_t seed, uint64_t nth)
{
    standin = driver_standin();
    char text[24];
    standin->standin_configure("SEED", "7");
    standin->standin_configure("PACE", "0");
    open_program(seed, kinds[0]);
    snprintf(text, sizeof text, "%llu", (unsigned long long)nth);
    ck_assert_int_eq(standin->standin_configure("SWALLOW", text), 0);
    standin->standin_report_print(0);
    program.swallowed = nth;
    run();
    uint64_t waits = arena_stats(program.arena).stream_waits;
    standin->standin_configure("SWALLOW", "0");
    close_program();
    return waits;
}

typedef struct verdict {
    bool caught;   /* the program without the wait has a fault */
    bool needless; /* the bytes that it was made for needed none */
} verdict_t;

static verdict_t judge(uint64_t seed, uint64_t nth)
{
    run_without(seed, nth);
    verdict_t verdict = {driver_reports(STANDIN_MISSING_WAIT) != 0, program.needless};
    driver_reports_clear();
    return verdict;
}

/* Four in a hundred may be needless: free lists tell what was freed before two events by the later
 * one only, though the requester may have waited for the first. */
START_TEST(every_wait_that_is_swallowed_is_caught_or_needless)
{
    uint64_t programs = scale_pick(2, 4, 16);
    uint64_t all = 0;
    uint64_t caught = 0;
    for (uint64_t seed = 1; seed <= programs; seed++) {
        uint64_t waits = run_without(seed, 0);
        expect_u64(driver_reports(STANDIN_ANY), 0);
        all += waits;
        for (uint64_t nth = 1; nth <= waits; nth++) {
            verdict_t verdict = judge(seed, nth);
            ck_assert_msg(verdict.caught || verdict.needless,
                          "program %d: wait %d orders something, and nobody "
                          "sees that it is missing",
                          (int)seed, (int)nth);
            caught += verdict.caught;
        }
    }
    printf("of %llu waits %llu caught, %llu needless\n", (unsigned long long)all,
           (unsigned long long)caught, (unsigned long long)(all - caught));
    ck_assert_uint_gt(all, programs * 5);
    ck_assert_uint_ge(caught, all - all / 25);
}
END_TEST

/* ---- One stream -------------------------------------------------------- */

/* Not one call of the driver after the stream's first. */
START_TEST(one_stream_costs_no_call)
{
    void *live[64] = {0};
    open_program(3, "memory=device,backing=malloc,pool=64MiB");
    CUstream stream = program.streams[0];
    expect_ok(cuarena_alloc_on(program.arena, 256, stream, NULL, &live[0]));
    driver_bracket_begin(STANDIN_NO_CALLS, "one stream");
    for (int i = 0; i < 10000; i++) {
        void **p = &live[random_below(&program.random, 64)];
        uint64_t bytes = 256 + random_below(&program.random, 1 << 19);
        if (*p == NULL) {
            expect_ok(cuarena_alloc_on(program.arena, bytes, stream, NULL, p));
        } else {
            expect_ok(cuarena_free_on(program.arena, *p, stream));
            *p = NULL;
        }
    }
    for (int i = 0; i < 64; i++)
        expect_ok(cuarena_free_on(program.arena, live[i], stream));
    expect_u64(driver_bracket_end(), 0);
    close_program();
}
END_TEST

int main(void)
{
    driver_kind_t kind = driver_kind();
    if (kind == DRIVER_NONE)
        return driver_result(kind, EXIT_SUCCESS);
    Suite *suite = suite_create("cuda_stealing");
    TCase *loops = tcase_create("programs");
    tcase_add_loop_test(loops, no_reuse_is_ever_unordered, 0, KINDS);
    tcase_add_loop_test(loops, bytes_move_between_default_streams_of_threads, 0, NEVER);
    tcase_add_loop_test(loops, default_streams_of_threads_take_from_each_other, 0, NEVER);
    tcase_set_timeout(loops, scale_timeout(300));
    suite_add_tcase(suite, loops);
    TCase *waits = suite_add_list(suite, "waits", TEST_LIST(NULL));
    if (driver_is_standin_for("every_wait_that_is_swallowed_is_caught_or_needless"))
        tcase_add_test(waits, every_wait_that_is_swallowed_is_caught_or_needless);
    if (driver_is_standin_for("one_stream_costs_no_call"))
        tcase_add_test(waits, one_stream_costs_no_call);
    tcase_set_timeout(waits, scale_timeout(300));
    return driver_result(kind, suite_main(suite));
}
