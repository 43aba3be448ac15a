/*
 * What waits for work that is under way on a driver: the end of an arena, a pool that moves, bytes
 * that another thread's default stream used. Each test runs once more where no event stands for all
 * streams, since those of two contexts use the arena; a driver before 12.5 has none at all
 * (check_cuda_old).
 */
#include "support/base_support.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"

#include <pthread.h>

#define POOL MIB(32)
#define BLOCK MIB(4)

static cuarena_stream_t new_stream(void)
{
    cuarena_stream_t stream = NULL;
    (void)cuda_test_use_device(0);
    expect_cu(cuda_test()->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
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
        expect_cu(cuda_test()->cuMemsetD32Async(cu_pointer(bytes), value, BLOCK / 4, stream));
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

static void *alloc_on(fixture_t *f, cuarena_stream_t stream)
{
    void *pointer = NULL;
    step_ok(f, cuarena_alloc_on(f->arena, BLOCK, stream, NULL, &pointer));
    return pointer;
}

/* ---- Arenas ------------------------------------------------------------ */

#define KINDS (CUDA_POOL_PINNED + 1)

/* Another context of the device, and a stream there. */
static cuai_cu_context_t second;
static cuarena_stream_t second_stream;

/* An arena of row `test` of the pools; of the rows after these, one that a stream of the second
 * context has used. */
static void open_arena(fixture_t *f, int test)
{
    cuai_cu_context_t popped;
    void *pointer = NULL;
    second = NULL; /* that of the last test is gone */
    fixture_open(f, &cuda_kinds[test % KINDS], POOL);
    if (test < KINDS)
        return;
    expect_cu(cuda_test()->cuCtxCreate(&second, 0, 0));
    expect_cu(cuda_test()->cuStreamCreate(&second_stream, CUAI_CU_STREAM_NON_BLOCKING));
    step_ok(f, cuarena_alloc_on(f->arena, BLOCK, second_stream, NULL, &pointer));
    queue_work(pointer, 30, second_stream);
    step_ok(f, cuarena_free_on(f->arena, pointer, second_stream));
    expect_cu(cuda_test()->cuCtxPopCurrent(&popped));
}

/* The arena has ended. */
static void release_arena(fixture_t *f)
{
    fixture_release(f);
    if (second == NULL)
        return;
    expect_cu(cuda_test()->cuCtxPushCurrent(second));
    end_stream(second_stream);
    expect_cu(cuda_test()->cuCtxDestroy(second));
}

/* Nothing lives in it, and nothing is under way but in the second context. */
static void close_arena(fixture_t *f)
{
    expect_ok(cuarena_reclaim(f->arena, 1, NULL));
    expect_ok(cuarena_destroy(&f->arena));
    expect_no_report();
    release_arena(f);
}

/* ---- The end ----------------------------------------------------------- */

/* Of live blocks on streams of every sort. The stand-in tells of bytes that
 * are taken back from under work. */
START_TEST(forced_destroy_waits_for_all_streams)
{
    fixture_t f;
    cuarena_stream_t streams[] = {new_stream(), new_stream(), CUARENA_STREAM_LEGACY,
                                  CUARENA_STREAM_PER_THREAD};
    open_arena(&f, _i);
    for (uint32_t i = 0; i < 4; i++)
        queue_work(alloc_on(&f, streams[i]), i, streams[i]);
    expect_ok(cuarena_destroy_forced(&f.arena));
    expect_no_report();
    end_stream(streams[0]);
    end_stream(streams[1]);
    release_arena(&f);
}
END_TEST

/* A stream that was released is gone, and its work may not be over. */
START_TEST(forced_destroy_after_a_stream_was_destroyed)
{
    fixture_t f;
    cuarena_stream_t gone = new_stream();
    cuarena_stream_t left = new_stream();
    open_arena(&f, _i);
    queue_work(alloc_on(&f, gone), 1, gone);
    queue_work(alloc_on(&f, left), 2, left);
    expect_ok(cuarena_release_stream(f.arena, gone));
    expect_cu(cuda_test()->cuStreamDestroy(gone));
    expect_ok(cuarena_destroy_forced(&f.arena));
    expect_no_report();
    end_stream(left);
    release_arena(&f);
}
END_TEST

/* What was freed is waited for; when the streams are done, so is the arena. */
START_TEST(destroy_when_streams_are_done)
{
    fixture_t f;
    cuarena_stream_t a = new_stream();
    cuarena_stream_t b = new_stream();
    open_arena(&f, _i);
    void *p = alloc_on(&f, a);
    queue_work(p, 1, a);
    step_ok(&f, cuarena_record_use(f.arena, p, b));
    step_ok(&f, cuarena_free_on(f.arena, p, a));
    cuarena_status_t status = cuarena_destroy(&f.arena);
    if (status != CUARENA_OK) {
        expect_status(status, CUARENA_BUSY);
        sync_stream(a);
        sync_stream(b);
        expect_ok(cuarena_reclaim(f.arena, 1, NULL));
        expect_ok(cuarena_destroy(&f.arena));
    }
    expect_no_report();
    end_stream(a);
    end_stream(b);
    release_arena(&f);
}
END_TEST

START_TEST(reset_waits_for_what_was_freed)
{
    fixture_t f;
    cuarena_stream_t a = new_stream();
    cuarena_stream_t b = new_stream();
    open_arena(&f, _i);
    void *p = alloc_on(&f, a);
    queue_work(p, 1, a);
    step_ok(&f, cuarena_free_on(f.arena, p, a));
    expect_ok(cuarena_reset(f.arena));
    for (uint64_t i = 0; i < POOL / BLOCK; i++)
        queue_work(alloc_on(&f, b), 2, b);
    expect_no_report();
    expect_ok(cuarena_destroy_forced(&f.arena));
    end_stream(a);
    end_stream(b);
    release_arena(&f);
}
END_TEST

/* ---- Another size ------------------------------------------------------ */

/* To a new segment, where the memory cannot lengthen the old. */
START_TEST(pool_of_another_size_waits_for_all_streams)
{
    fixture_t f;
    cuarena_stream_t a = new_stream();
    cuarena_stream_t b = new_stream();
    cuarena_block_t block = 0;
    void *p = NULL;
    open_arena(&f, _i);
    void *gone = alloc_on(&f, b);
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
    close_arena(&f);
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
    expect_ok(cuarena_record_use(job->f->arena, job->pointer, CUARENA_STREAM_PER_THREAD));
    return NULL;
}

/* Nobody else can record on it; an event of more stands in, whatever the
 * driver has. */
START_TEST(bytes_that_another_threads_stream_used)
{
    fixture_t f;
    pthread_t thread;
    cuarena_stream_t a = new_stream();
    cuarena_stream_t b = new_stream();
    open_arena(&f, _i);
    job_t job = {&f, alloc_on(&f, a)};
    queue_work(job.pointer, 20, a);
    sync_stream(a);
    ck_assert_int_eq(pthread_create(&thread, NULL, use_on_own_stream, &job), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    step_ok(&f, cuarena_free_on(f.arena, job.pointer, a));
    for (uint64_t i = 0; i < POOL / BLOCK; i++)
        queue_work(alloc_on(&f, b), 22, b);
    expect_no_report();
    expect_ok(cuarena_destroy_forced(&f.arena));
    expect_no_report();
    end_stream(a);
    end_stream(b);
    release_arena(&f);
}
END_TEST

/* Of a block that a compaction moves. */
START_TEST(compaction_behind_another_threads_stream)
{
    fixture_t f;
    pthread_t thread;
    cuarena_stream_t a = new_stream();
    cuarena_block_t row[POOL / BLOCK];
    cuarena_compact_options_t options;
    open_arena(&f, _i);
    alloc_row(&f, row, POOL / BLOCK, BLOCK);
    job_t job = {&f, address_of(&f, row[1])};
    free_block(&f, row[0]);
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
    free_block(&f, row[1]);
    row[1] = 0;
    free_row(&f, row, POOL / BLOCK, BLOCK);
    close_arena(&f);
    end_stream(a);
}
END_TEST

/* ---- The list ------------------------------------------------------------ */

static void add_tests(TCase *tcase, const TTest *const *test)
{
    for (; *test != NULL; test++)
        tcase_add_loop_test(tcase, *test, 0, 2 * KINDS);
}

int main(void)
{
    Suite *suite = suite_create("CUDA, work under way");
    TCase *tcase = new_case(suite, "pools");
    cuda_kinds_ready();
    add_tests(tcase,
              TEST_LIST(forced_destroy_waits_for_all_streams,
                        forced_destroy_after_a_stream_was_destroyed, destroy_when_streams_are_done,
                        reset_waits_for_what_was_freed, pool_of_another_size_waits_for_all_streams,
                        bytes_that_another_threads_stream_used,
                        compaction_behind_another_threads_stream));
    return cuda_kinds_main(suite);
}
