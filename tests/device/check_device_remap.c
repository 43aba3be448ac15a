/*
 * Remapping: pages that a stream freed get addresses where the stream needs them, without a wait,
 * and are the same bytes in between. Pieces of all pages of a block are written by kernels when
 * it begins and read by kernels before it ends; on the stand-in the work is done as late as it can
 * be, and each access and each unmapping is checked against the order of the streams.
 */
#include "support/cuda_expect.h"
#include "support/driver_library.h"
#include "support/driver_under_test.h"
#include "support/fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE MIB(2)  /* of the device */
#define PIECE KIB(4) /* all blocks are some of these */
#define ROW 64
#define WIDE (24 * PAGE)
#define STREAMS 3
#define LIVE 24

typedef struct block {
    void *pointer;
    uint64_t bytes;
    uint64_t seed;
    uint32_t stream;
} block_t;

static struct program {
    CUmodule module;
    CUfunction fill;
    CUfunction check;
    CUstream streams[STREAMS];
    CUdeviceptr bad;  /* words, counted by stream */
    CUdeviceptr rest; /* of the device, but for a row */
    atomic_uint_fast64_t seeds;
    fixture_t f;
    block_t row[ROW];
} program;

/* ---- Blocks ------------------------------------------------------------ */

static void launch_at(CUfunction function, const block_t *b, uint64_t at)
{
    uint64_t address = (uint64_t)(uintptr_t)b->pointer + at;
    uint64_t bytes = PIECE;
    uint64_t seed = b->seed;
    uint64_t first = at / 8;
    uint64_t counter = program.bad + b->stream * sizeof(uint64_t);
    void *params[] = {&address, &bytes, &seed, &first, &counter};
    driver_launch(function, 1, 64, program.streams[b->stream], params);
}

/* A piece of each page of the block, and its last one. */
static void launch(CUfunction function, const block_t *b)
{
    for (uint64_t at = 0; at < b->bytes; at += PAGE / 2)
        launch_at(function, b, at);
    launch_at(function, b, b->bytes - PIECE);
}

/* Written on its stream. False: refused. */
static bool begin(block_t *b, uint64_t bytes, uint32_t stream)
{
    *b = (block_t){
        .bytes = bytes, .seed = atomic_fetch_add(&program.seeds, 1) + 1, .stream = stream};
    cuarena_status_t status =
        cuarena_alloc_on(program.f.arena, bytes, program.streams[stream], NULL, &b->pointer);
    if (status != CUARENA_OK)
        b->pointer = NULL;
    else
        launch(program.fill, b);
    return status == CUARENA_OK;
}

/* Read on its stream, and freed there. */
static void end(block_t *b)
{
    if (b->pointer == NULL)
        return;
    launch(program.check, b);
    expect_ok(cuarena_free_on(program.f.arena, b->pointer, program.streams[b->stream]));
    b->pointer = NULL;
}

static void expect_contents(void)
{
    uint64_t words[STREAMS];
    driver_ok(driver.cuCtxSynchronize());
    driver_ok(driver.cuMemcpyDtoH(words, program.bad, sizeof words));
    for (int i = 0; i < STREAMS; i++)
        expect_u64(words[i], 0);
}

static void open_program(const char *options)
{
    program = (struct program){0};
    driver_start();
    driver_take_context(0);
    if (driver_standin() != NULL) { /* work is not done before somebody waits for it */
        ck_assert_int_eq(driver_standin()->standin_configure("PACE", "0"), 0);
        driver_standin()->standin_counts_clear();
    }
    program.fill = driver_test_kernel(&program.module, "fill");
    program.check = driver_test_kernel(&program.module, "check");
    for (int i = 0; i < STREAMS; i++)
        program.streams[i] = driver_new_stream(CU_STREAM_NON_BLOCKING);
    driver_ok(driver.cuMemAlloc(&program.bad, STREAMS * sizeof(uint64_t)));
    driver_ok(driver.cuMemsetD8(program.bad, 0, STREAMS * sizeof(uint64_t)));
    driver_ok(driver.cuCtxSynchronize());
    fixture_open_text(&program.f, options);
}

static void close_program(void)
{
    expect_contents();
    fixture_close(&program.f);
    expect_u64(driver_reports(STANDIN_ANY), 0);
    for (int i = 0; i < STREAMS; i++)
        driver_ok(driver.cuStreamDestroy(program.streams[i]));
    driver_ok(driver.cuMemFree(program.bad));
    driver_ok(driver.cuModuleUnload(program.module));
    driver_drop_context(0);
}

static uint64_t device_bytes_free(void)
{
    size_t bytes = 0, all = 0;
    driver_ok(driver.cuMemGetInfo(&bytes, &all));
    return bytes;
}

/* ---- One stream -------------------------------------------------------- */

/* A row of pages of which every other one was freed: enough for WIDE, but nowhere together. */
static void leave_holes(void)
{
    for (int i = 0; i < ROW; i++)
        ck_assert(begin(&program.row[i], PAGE, 0));
    for (int i = 0; i < ROW; i += 2)
        end(&program.row[i]);
}

static void end_row(void)
{
    for (int i = 0; i < ROW; i++)
        end(&program.row[i]);
}

#define GROW "memory=device,backing=vmm,preset=grow"
/* Each page can move by itself. */
#define PAGES GROW ",handle=2MiB"

/* Whatever another stream would have to do for bytes of this one. */
static const char *const one_stream[] = {PAGES, PAGES ",steal=first", PAGES ",steal=never"};
#define ONE_STREAM ((int)COUNT_OF(one_stream))

START_TEST(pages_that_the_stream_freed_move_where_it_needs_them)
{
    block_t wide;
    open_program(one_stream[_i]);
    leave_holes();
    uint64_t before = reserved_bytes(&program.f);
    ck_assert(begin(&wide, WIDE, 0));
    expect_u64(reserved_bytes(&program.f), before);
    expect_u64(stats_of(&program.f).host_waits, 0);
    ck_assert_uint_ne(driver_standin()->standin_calls("cuMemRetainAllocationHandle"), 0);
    expect_sound(&program.f);
    end(&wide);
    end_row();
    close_program();
}
END_TEST

/* As many blocks of two pages as the pages that are free have room for. */
static void expect_moves_without_a_wait(void)
{
    block_t wide[ROW / 4];
    leave_holes();
    for (int i = 0; i < ROW / 4; i++)
        ck_assert(begin(&wide[i], 2 * PAGE, 0));
    expect_u64(stats_of(&program.f).host_waits, 0);
    expect_u64(reserved_bytes(&program.f), ROW * PAGE);
    for (int i = 0; i < ROW / 4; i++)
        end(&wide[i]);
    end_row();
}

START_TEST(pages_move_at_the_limit_before_anybody_waits)
{
    open_program(PAGES ",limit=128MiB,addresses=256MiB");
    expect_moves_without_a_wait();
    close_program();
}
END_TEST

START_TEST(pages_move_before_anybody_waits_where_the_device_has_no_more)
{
    open_program(PAGES);
    driver_ok(driver.cuMemAlloc(&program.rest, device_bytes_free() - ROW * PAGE));
    expect_moves_without_a_wait();
    driver_ok(driver.cuMemFree(program.rest));
    close_program();
}
END_TEST

/* What is at both addresses is one piece of memory: the device has all of it again when the arena
 * has given it back. */
START_TEST(trimming_gives_back_what_moved)
{
    block_t wide;
    open_program(PAGES);
    uint64_t before = device_bytes_free();
    leave_holes();
    uint64_t held = before - device_bytes_free();
    ck_assert(begin(&wide, WIDE, 0));
    expect_u64(before - device_bytes_free(), held);
    end(&wide);
    end_row();
    driver_ok(driver.cuCtxSynchronize());
    uint64_t given = 0;
    expect_ok(cuarena_reclaim(program.f.arena, 1, NULL));
    expect_ok(cuarena_trim(program.f.arena, 0, &given));
    expect_u64(reserved_bytes(&program.f), 0);
    expect_u64(device_bytes_free(), before);
    close_program();
}
END_TEST

/* Nobody gets the old addresses before the work there is done. */
START_TEST(old_addresses_wait_for_the_work_there)
{
    block_t wide, more[4];
    open_program(PAGES);
    leave_holes();
    ck_assert(begin(&wide, WIDE, 0));
    for (int i = 0; i < 4; i++)
        ck_assert(begin(&more[i], PAGE, 1));
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < ROW; j += 2)
            ck_assert_ptr_ne(more[i].pointer, program.row[j].pointer);
    for (int i = 0; i < 4; i++)
        end(&more[i]);
    end(&wide);
    end_row();
    close_program();
}
END_TEST

START_TEST(another_streams_pages_stay)
{
    block_t wide;
    open_program(PAGES);
    leave_holes();
    uint64_t before = reserved_bytes(&program.f);
    ck_assert(begin(&wide, WIDE, 1));
    ck_assert_uint_gt(reserved_bytes(&program.f), before);
    expect_u64(driver_standin()->standin_calls("cuMemRetainAllocationHandle"), 0);
    end(&wide);
    end_row();
    close_program();
}
END_TEST

START_TEST(a_stream_that_is_captured_moves_nothing)
{
    block_t wide;
    CUgraph graph;
    open_program(PAGES);
    leave_holes();
    uint64_t before = reserved_bytes(&program.f);
    driver_ok(driver.cuStreamBeginCapture(program.streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    ck_assert(begin(&wide, WIDE, 0));
    ck_assert_uint_gt(reserved_bytes(&program.f), before);
    expect_u64(driver_standin()->standin_calls("cuMemRetainAllocationHandle"), 0);
    launch(program.check, &wide);
    driver_ok(driver.cuStreamEndCapture(program.streams[0], &graph));
    driver_ok(driver.cuGraphDestroy(graph));
    expect_ok(cuarena_free(program.f.arena, wide.pointer));
    end_row();
    close_program();
}
END_TEST

/* ---- Ends --------------------------------------------------------------- */

START_TEST(a_reset_forgets_what_moved)
{
    block_t wide;
    open_program(PAGES);
    leave_holes();
    ck_assert(begin(&wide, WIDE, 0));
    driver_ok(driver.cuCtxSynchronize());
    expect_ok(cuarena_reset(program.f.arena));
    expect_sound(&program.f);
    leave_holes();
    ck_assert(begin(&wide, WIDE, 0));
    end(&wide);
    end_row();
    close_program();
}
END_TEST

START_TEST(a_stream_ends_before_the_work_at_its_old_addresses)
{
    block_t wide;
    open_program(PAGES);
    leave_holes();
    ck_assert(begin(&wide, WIDE, 0));
    end(&wide);
    end_row();
    expect_ok(cuarena_release_stream(program.f.arena, program.streams[0]));
    expect_sound(&program.f);
    driver_ok(driver.cuStreamDestroy(program.streams[0]));
    program.streams[0] = driver_new_stream(CU_STREAM_NON_BLOCKING);
    leave_holes();
    ck_assert(begin(&wide, WIDE, 0));
    end(&wide);
    end_row();
    close_program();
}
END_TEST

START_TEST(an_arena_ends_before_the_work_at_old_addresses)
{
    block_t wide;
    open_program(PAGES);
    leave_holes();
    ck_assert(begin(&wide, WIDE, 0));
    end(&wide);
    end_row();
    expect_status(cuarena_destroy(&program.f.arena), CUARENA_BUSY);
    close_program();
}
END_TEST

/* ---- Failures ----------------------------------------------------------- */

static const char *const calls[] = {
    "cuMemRetainAllocationHandle",
    "cuMemMap",
    "cuMemSetAccess",
    "cuMemUnmap",
    "cuEventRecord",
    "cuEventCreate",
    "cuEventQuery",
};
#define CALLS ((int)COUNT_OF(calls))

/* The request is served where it can be; nothing is lost. */
START_TEST(a_call_that_fails_while_pages_move)
{
    for (uint64_t nth = 1; nth <= 6; nth++) {
        block_t wide;
        open_program(PAGES);
        leave_holes();
        driver_standin()->standin_fail(calls[_i], nth, CUDA_ERROR_OUT_OF_MEMORY, 0);
        bool served = begin(&wide, WIDE, 0);
        driver_standin()->standin_fail_clear();
        expect_sound(&program.f);
        if (!served)
            ck_assert(begin(&wide, WIDE, 0));
        end(&wide);
        end_row();
        close_program();
    }
}
END_TEST

/* ---- Random programs ----------------------------------------------------- */

static const char *const kinds[] = {
    GROW, GROW ",events=eager", GROW ",steal=never", GROW ",limit=160MiB", PAGES, GROW ",zero=free",
};
#define KINDS ((int)COUNT_OF(kinds))

/* A stream that asked for little asks for much, and the other way round. */
static uint64_t some_bytes(random_state_t *r, int step)
{
    uint64_t most = step / 50 % 2 == 0 ? MIB(3) : MIB(20);
    return KIB(4) * (1 + random_below(r, most / KIB(4)));
}

static void run_program(random_state_t *r, uint32_t streams)
{
    block_t live[LIVE] = {0};
    for (int i = 0; i < 400; i++) {
        block_t *b = &live[random_below(r, LIVE)];
        if (b->pointer != NULL)
            end(b);
        else
            (void)begin(b, some_bytes(r, i), (uint32_t)random_below(r, streams));
        if (random_below(r, 60) == 0)
            expect_sound(&program.f);
        if (random_below(r, 200) == 0)
            expect_ok(cuarena_trim(program.f.arena, 0, NULL));
        if (random_below(r, 100) == 0)
            driver_ok(driver.cuStreamSynchronize(program.streams[0]));
    }
    for (int i = 0; i < LIVE; i++)
        end(&live[i]);
}

START_TEST(random_programs_keep_their_bytes)
{
    uint64_t seeds = scale_pick(4, 8, 40);
    uint64_t moved = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        random_state_t random = {seed};
        open_program(kinds[_i]);
        run_program(&random, seed % 2 == 0 ? 1 : STREAMS);
        if (driver_standin() != NULL)
            moved += driver_standin()->standin_calls("cuMemRetainAllocationHandle");
        close_program();
    }
    if (driver_standin() != NULL)
        ck_assert_uint_gt(moved, 0);
}
END_TEST

/* ---- Threads -------------------------------------------------------------- */

static CUcontext context;

/* Blocks of one stream, of which every other one is freed before one that is wider is taken. */
static void *run_on_one_stream(void *user)
{
    uint32_t stream = *(const uint32_t *)user;
    random_state_t random = {stream + 1};
    block_t live[LIVE] = {0};
    driver_ok(driver.cuCtxSetCurrent(context));
    for (int i = 0; i < 300; i++) {
        block_t *b = &live[random_below(&random, LIVE)];
        if (b->pointer != NULL)
            end(b);
        else
            (void)begin(b, some_bytes(&random, i), stream);
    }
    for (int i = 0; i < LIVE; i++)
        end(&live[i]);
    return NULL;
}

START_TEST(threads_move_pages_beside_each_other)
{
    pthread_t threads[STREAMS];
    uint32_t numbers[STREAMS];
    open_program(kinds[_i]);
    driver_ok(driver.cuCtxGetCurrent(&context));
    for (uint32_t i = 0; i < STREAMS; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_on_one_stream, &numbers[i]), 0);
    }
    for (uint32_t i = 0; i < STREAMS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    close_program();
}
END_TEST

int main(void)
{
    driver_kind_t kind = driver_kind();
    if (kind == DRIVER_NONE)
        return driver_result(kind, EXIT_SUCCESS);
    Suite *suite = suite_create("remap");
    TCase *one = suite_add_case(suite, "one stream");
    add_standin_test(one, pages_that_the_stream_freed_move_where_it_needs_them, ONE_STREAM);
    add_standin_test(one, pages_move_at_the_limit_before_anybody_waits, 1);
    add_standin_test(one, pages_move_before_anybody_waits_where_the_device_has_no_more, 1);
    add_standin_test(one, trimming_gives_back_what_moved, 1);
    add_standin_test(one, old_addresses_wait_for_the_work_there, 1);
    add_standin_test(one, another_streams_pages_stay, 1);
    add_standin_test(one, a_stream_that_is_captured_moves_nothing, 1);
    TCase *ends = suite_add_case(suite, "ends");
    add_standin_test(ends, a_reset_forgets_what_moved, 1);
    add_standin_test(ends, a_stream_ends_before_the_work_at_its_old_addresses, 1);
    add_standin_test(ends, an_arena_ends_before_the_work_at_old_addresses, 1);
    TCase *failures = suite_add_case(suite, "failures");
    add_standin_test(failures, a_call_that_fails_while_pages_move, CALLS);
    tcase_set_timeout(failures, scale_timeout(120));
    TCase *random = tcase_create("random");
    tcase_add_loop_test(random, random_programs_keep_their_bytes, 0, KINDS);
    tcase_add_loop_test(random, threads_move_pages_beside_each_other, 0, KINDS);
    tcase_set_timeout(random, scale_timeout(300));
    suite_add_tcase(suite, random);
    return driver_result(kind, suite_main(suite));
}
