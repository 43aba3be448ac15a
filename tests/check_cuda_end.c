/*
 * What waits for work that is under way on a driver: the end of an arena, a
 * pool that moves, bytes that another thread's default stream used. Runs once
 * more on a driver that has no marker of all streams (check_cuda_old).
 */
#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"

#include <pthread.h>

#define POOL MIB(32)
#define BLOCK MIB(4)

static cuai_cu_pointer_t cu_pointer(const void *pointer)
{
    return (cuai_cu_pointer_t)(uintptr_t)pointer;
}

static cuarena_stream_t new_stream(void)
{
    cuarena_stream_t stream = NULL;
    (void)cuda_test_use_device(0);
    expect_cu(
        cuda_test()->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    return stream;
}

static void end_stream(cuarena_stream_t stream)
{
    expect_cu(cuda_test()->cuStreamSynchronize(stream));
    expect_cu(cuda_test()->cuStreamDestroy(stream));
}

static void sync_stream(cuarena_stream_t stream)
{
    expect_cu(cuda_test()->cuStreamSynchronize(stream));
}

/* Work on bytes, that takes a while. */
static void queue_work(void *bytes, uint32_t value, cuarena_stream_t stream)
{
    for (int i = 0; i < 8; i++)
        expect_cu(cuda_test()->cuMemsetD32Async(cu_pointer(bytes), value,
                                                BLOCK / 4, stream));
}

static void expect_words(const void *bytes, uint32_t value)
{
    uint32_t got[2] = {0, 0};
    const char *last = (const char *)bytes + BLOCK - sizeof got[1];
    expect_cu(cuda_test()->cuMemcpyDtoH(&got[0], cu_pointer(bytes), 4));
    expect_cu(cuda_test()->cuMemcpyDtoH(&got[1], cu_pointer(last), 4));
    expect_u64(got[0], value);
    expect_u64(got[1], value);
}

static void *take_on(fixture_t *f, cuarena_stream_t stream)
{
    void *pointer = NULL;
    step_ok(f, cuarena_alloc_on(f->arena, BLOCK, stream, NULL, &pointer));
    return pointer;
}

/* ---- The end ----------------------------------------------------------- */

/* Of live blocks on streams of every sort. The stand-in tells of bytes that
 * are taken back from under work. */
START_TEST(test_forced_destroy_waits_for_all_streams)
{
    fixture_t f;
    cuarena_stream_t streams[] = {new_stream(), new_stream(),
                                  CUARENA_STREAM_LEGACY,
                                  CUARENA_STREAM_PER_THREAD};
    fixture_open(&f, &cuda_kinds[_i], POOL);
    for (uint32_t i = 0; i < 4; i++)
        queue_work(take_on(&f, streams[i]), i, streams[i]);
    expect_ok(cuarena_destroy_forced(&f.arena));
    expect_no_report();
    end_stream(streams[0]);
    end_stream(streams[1]);
    fixture_release(&f);
}
END_TEST

/* A stream that was released is gone, and its work may not be over. */
START_TEST(test_forced_destroy_after_a_stream_was_destroyed)
{
    fixture_t f;
    cuarena_stream_t gone = new_stream();
    cuarena_stream_t left = new_stream();
    fixture_open(&f, &cuda_kinds[_i], POOL);
    queue_work(take_on(&f, gone), 1, gone);
    queue_work(take_on(&f, left), 2, left);
    expect_ok(cuarena_release_stream(f.arena, gone));
    expect_cu(cuda_test()->cuStreamDestroy(gone));
    expect_ok(cuarena_destroy_forced(&f.arena));
    expect_no_report();
    end_stream(left);
    fixture_release(&f);
}
END_TEST

/* What was freed is waited for; when the streams are done, so is the arena. */
START_TEST(test_destroy_when_streams_are_done)
{
    fixture_t f;
    cuarena_stream_t a = new_stream();
    cuarena_stream_t b = new_stream();
    fixture_open(&f, &cuda_kinds[_i], POOL);
    void *p = take_on(&f, a);
    queue_work(p, 1, a);
    step_ok(&f, cuarena_record_use(f.arena, p, b));
    step_ok(&f, cuarena_free_on(f.arena, p, a));
    cuarena_status_t status = cuarena_destroy(&f.arena);
    if (status != CUARENA_OK) {
        expect_status(status, CUARENA_BUSY);
        sync_stream(a);
        sync_stream(b);
        expect_ok(cuarena_settle(f.arena, 1, NULL));
        expect_ok(cuarena_destroy(&f.arena));
    }
    expect_no_report();
    end_stream(a);
    end_stream(b);
    fixture_release(&f);
}
END_TEST

START_TEST(test_reset_waits_for_what_was_freed)
{
    fixture_t f;
    cuarena_stream_t a = new_stream();
    cuarena_stream_t b = new_stream();
    fixture_open(&f, &cuda_kinds[_i], POOL);
    void *p = take_on(&f, a);
    queue_work(p, 1, a);
    step_ok(&f, cuarena_free_on(f.arena, p, a));
    expect_ok(cuarena_reset(f.arena));
    for (uint64_t i = 0; i < POOL / BLOCK; i++)
        queue_work(take_on(&f, b), 2, b);
    expect_no_report();
    expect_ok(cuarena_destroy_forced(&f.arena));
    end_stream(a);
    end_stream(b);
    fixture_release(&f);
}
END_TEST

/* ---- Another size ------------------------------------------------------ */

/* To a new segment, where the memory cannot lengthen the old. */
START_TEST(test_pool_of_another_size_waits_for_all_streams)
{
    fixture_t f;
    cuarena_stream_t a = new_stream();
    cuarena_stream_t b = new_stream();
    cuarena_block_t block = 0;
    void *p = NULL;
    fixture_open(&f, &cuda_kinds[_i], POOL);
    void *gone = take_on(&f, b);
    step_ok(&f, cuarena_block_alloc_on(f.arena, BLOCK, a, NULL, &block));
    step_ok(&f, cuarena_block_pin_on(f.arena, block, a, &p));
    queue_work(p, 11, a);
    step_ok(&f, cuarena_block_unpin_on(f.arena, block, a));
    queue_work(gone, 12, b);
    step_ok(&f, cuarena_free_on(f.arena, gone, b));
    step_ok(&f, cuarena_resize_pool(f.arena, 2 * POOL));
    step_ok(&f, cuarena_block_pin_on(f.arena, block, b, &p));
    sync_stream(a); /* of a pool that did not move */
    sync_stream(b);
    expect_words(p, 11);
    expect_no_report();
    step_ok(&f, cuarena_block_unpin(f.arena, block));
    step_ok(&f, cuarena_block_free(f.arena, block));
    sync_stream(a);
    expect_ok(cuarena_settle(f.arena, 1, NULL));
    fixture_close(&f);
    end_stream(a);
    end_stream(b);
}
END_TEST

/* ---- Another thread's default stream ----------------------------------- */

typedef struct job {
    fixture_t *f;
    void *pointer;
} job_t;

static void *use_on_own_stream(void *user)
{
    job_t *job = user;
    (void)cuda_test_use_device(0);
    queue_work(job->pointer, 21, CUARENA_STREAM_PER_THREAD);
    expect_ok(cuarena_record_use(job->f->arena, job->pointer,
                                 CUARENA_STREAM_PER_THREAD));
    return NULL;
}

/* Nobody else can record on it; a marker of more stands in, whatever the
 * driver has. */
START_TEST(test_bytes_that_another_threads_stream_used)
{
    fixture_t f;
    pthread_t thread;
    cuarena_stream_t a = new_stream();
    cuarena_stream_t b = new_stream();
    fixture_open(&f, &cuda_kinds[_i], POOL);
    job_t job = {&f, take_on(&f, a)};
    queue_work(job.pointer, 20, a);
    sync_stream(a);
    ck_assert_int_eq(pthread_create(&thread, NULL, use_on_own_stream, &job), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    step_ok(&f, cuarena_free_on(f.arena, job.pointer, a));
    for (uint64_t i = 0; i < POOL / BLOCK; i++)
        queue_work(take_on(&f, b), 22, b);
    expect_no_report();
    expect_ok(cuarena_destroy_forced(&f.arena));
    expect_no_report();
    end_stream(a);
    end_stream(b);
    fixture_release(&f);
}
END_TEST

/* Of a block that a compaction moves. */
START_TEST(test_compaction_behind_another_threads_stream)
{
    fixture_t f;
    pthread_t thread;
    cuarena_stream_t a = new_stream();
    cuarena_block_t row[POOL / BLOCK];
    cuarena_compact_options_t options;
    fixture_open(&f, &cuda_kinds[_i], POOL);
    take_row(&f, row, POOL / BLOCK, BLOCK);
    job_t job = {&f, address_of(&f, row[1])};
    drop_block(&f, row[0]);
    row[0] = 0;
    ck_assert_int_eq(pthread_create(&thread, NULL, use_on_own_stream, &job), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    cuarena_compact_options_init(&options);
    options.stream = a;
    step_ok(&f, cuarena_compact(f.arena, &options, NULL, NULL, NULL));
    sync_stream(a);
    void *moved = address_of(&f, row[1]);
    ck_assert_ptr_ne(moved, job.pointer);
    expect_words(moved, 21);
    expect_no_report();
    drop_block(&f, row[1]);
    row[1] = 0;
    drop_row(&f, row, POOL / BLOCK, BLOCK);
    expect_ok(cuarena_settle(f.arena, 1, NULL));
    fixture_close(&f);
    end_stream(a);
}
END_TEST

/* ---- The list ------------------------------------------------------------ */

static void add_tests(TCase *tcase, const TTest *const *test)
{
    for (; *test != NULL; test++)
        tcase_add_loop_test(tcase, *test, CUDA_POOL_VMM, CUDA_POOL_PINNED + 1);
}

int main(void)
{
    Suite *suite = suite_create("CUDA, work under way");
    TCase *tcase = new_case(suite, "pools");
    cuda_kinds_ready();
    add_tests(tcase, TEST_LIST(test_forced_destroy_waits_for_all_streams,
                               test_forced_destroy_after_a_stream_was_destroyed,
                               test_destroy_when_streams_are_done,
                               test_reset_waits_for_what_was_freed,
                               test_pool_of_another_size_waits_for_all_streams,
                               test_bytes_that_another_threads_stream_used,
                               test_compaction_behind_another_threads_stream));
    return cuda_kinds_main(suite);
}
