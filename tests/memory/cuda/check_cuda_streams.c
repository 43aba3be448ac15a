/*
 * Streams and events: which stream a handle is, who may use which memory,
 * what an event means, and that no event is left. Each test runs in a process of its own.
 *
 * Looks inside, since no public call gives events, or says which stream a handle is.
 */
#include "support/base_support.h"
#include "support/cuda_test.h"
#include "support/expect.h"

#include "memory/counted.h"
#include "memory/cuda/events.h"
#include "memory/cuda/streams.h"
#include "memory/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)COUNT_OF(array))

static cuai_streams_t device; /* of device 0, which alone reaches it */
static cuai_streams_t host;

static bool open;

static void end_both(void)
{
    if (!open)
        return;
    open = false;
    cuai_streams_end(&device);
    cuai_streams_end(&host);
}

/* They end after the test, or by end_both. */
static void open_both(void)
{
    cuai_place_t *place = NULL;
    expect_ok(cuai_place_open_ordinal(0, &place));
    cuai_streams_open(&device, "device", place, 1);
    cuai_streams_open_host(&host, "host");
    open = true;
    after_test(end_both);
}

static void set(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
}

/* This thread has this context, and no other below it. */
static void have_context(cuai_cu_context_t context)
{
    cuai_cu_context_t popped;
    while (cuda_test_current() != NULL)
        expect_cu(cuda_test()->cuCtxPopCurrent(&popped));
    if (context != NULL)
        expect_cu(cuda_test()->cuCtxPushCurrent(context));
}

static cuai_cu_context_t push_own_context(int ordinal)
{
    cuai_cu_context_t context = NULL;
    expect_cu(cuda_test()->cuCtxCreate(&context, 0, ordinal));
    return context;
}

static cuarena_stream_info_t info_of(cuai_streams_t *streams, cuarena_stream_t stream)
{
    cuarena_stream_info_t info;
    memset(&info, 0xee, sizeof(info));
    expect_ok(cuai_streams_identify(streams, stream, &info));
    expect_u64((uint64_t)info.zero, 0);
    return info;
}

static uint64_t id_of(cuai_streams_t *streams, cuarena_stream_t stream)
{
    return info_of(streams, stream).id;
}

/* ---- Identity ---------------------------------------------------------- */

/* Both memories say the same of a stream. */
START_TEST(streams_are_told_apart)
{
    uint64_t ids[5];
    open_both();
    cuai_cu_context_t primary = cuda_test_use_device(0);
    cuarena_stream_t streams[] = {NULL, CUARENA_STREAM_PER_THREAD, cuda_test_stream(),
                                  cuda_test_stream(), cuda_test_stream()};
    for (int i = 0; i < COUNT(streams); i++) {
        cuarena_stream_info_t info = info_of(&device, streams[i]);
        ids[i] = info.id;
        ck_assert_ptr_eq(info.context, primary);
        ck_assert_int_eq(info.device, 0);
        ck_assert_int_eq(info.per_thread, i == 1);
        ck_assert_int_eq(info.capturing, 0);
        expect_u64(id_of(&device, streams[i]), info.id);
        expect_u64(id_of(&host, streams[i]), info.id);
        for (int j = 0; j < i; j++)
            ck_assert_msg(ids[i] != ids[j], "streams %d and %d have id %llu", i, j,
                          (unsigned long long)ids[i]);
    }
    for (int i = 2; i < COUNT(streams); i++)
        cuda_test_end_stream(streams[i]);
}
END_TEST

START_TEST(legacy_stream_has_two_names)
{
    open_both();
    (void)cuda_test_use_device(0);
    expect_u64(id_of(&device, NULL), id_of(&device, CUARENA_STREAM_LEGACY));
    expect_u64(id_of(&host, NULL), id_of(&host, CUARENA_STREAM_LEGACY));
}
END_TEST

static void *ask_per_thread(void *id)
{
    *(uint64_t *)id = id_of(&device, CUARENA_STREAM_PER_THREAD);
    return NULL;
}

START_TEST(each_thread_has_a_default_stream)
{
    pthread_t thread;
    uint64_t other = 0;
    open_both();
    uint64_t own = id_of(&device, CUARENA_STREAM_PER_THREAD);
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_per_thread, &other), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_msg(own != other, "two threads have id %llu", (unsigned long long)own);
    expect_u64(id_of(&device, CUARENA_STREAM_PER_THREAD), own);
}
END_TEST

START_TEST(each_context_has_a_legacy_stream)
{
    cuai_place_t *place = NULL;
    cuai_streams_t other;
    open_both();
    cuai_cu_context_t context = push_own_context(0);
    expect_ok(cuai_place_open_context(context, &place));
    cuai_streams_open(&other, "other", place, 1);
    ck_assert_msg(id_of(&device, NULL) != id_of(&other, NULL),
                  "two contexts have one legacy stream");
    cuai_streams_end(&other);
    expect_cu(cuda_test()->cuCtxDestroy(context));
}
END_TEST

#define REUSE_TRIES 1000

/* A driver that never gives a handle twice has nothing to tell apart. */
START_TEST(reused_handle_is_another_stream)
{
    open_both();
    (void)cuda_test_use_device(0);
    cuarena_stream_t first = cuda_test_stream();
    uint64_t id = id_of(&device, first);
    cuda_test_end_stream(first);
    for (int i = 0; i < REUSE_TRIES; i++) {
        cuarena_stream_t next = cuda_test_stream();
        ck_assert_msg(id_of(&device, next) != id, "try %d: id %llu again", i,
                      (unsigned long long)id);
        cuda_test_end_stream(next);
        if (next == first)
            break;
    }
}
END_TEST

START_TEST(default_stream_is_the_memorys_whatever_is_current)
{
    open_both();
    have_context(NULL);
    uint64_t id = id_of(&device, NULL);
    cuai_cu_context_t context = push_own_context(0);
    cuarena_stream_info_t info = info_of(&device, NULL);
    expect_u64(info.id, id);
    ck_assert_ptr_eq(info.context, device.place->context);
    ck_assert_ptr_eq(cuda_test_current(), context);
    expect_cu(cuda_test()->cuCtxDestroy(context));
}
END_TEST

START_TEST(stream_is_known_whatever_is_current)
{
    open_both();
    cuai_cu_context_t primary = cuda_test_use_device(0);
    cuarena_stream_t stream = cuda_test_stream();
    uint64_t id = id_of(&device, stream);
    cuai_cu_context_t context = push_own_context(0);
    expect_u64(id_of(&device, stream), id);
    expect_u64(id_of(&host, stream), id);
    ck_assert_ptr_eq(cuda_test_current(), context);
    have_context(NULL);
    expect_u64(id_of(&device, stream), id);
    expect_u64(id_of(&host, stream), id);
    ck_assert_ptr_null(cuda_test_current());
    have_context(primary);
    cuda_test_end_stream(stream);
    expect_cu(cuda_test()->cuCtxDestroy(context));
}
END_TEST

START_TEST(capturing_stream_is_told)
{
    cuai_cu_graph_t graph = NULL;
    open_both();
    (void)cuda_test_use_device(0);
    cuarena_stream_t stream = cuda_test_stream();
    expect_cu(cuda_test()->cuStreamBeginCapture(stream, _i));
    ck_assert_int_eq(info_of(&device, stream).capturing, 1);
    ck_assert_int_eq(info_of(&host, stream).capturing, 1);
    expect_cu(cuda_test()->cuStreamEndCapture(stream, &graph));
    ck_assert_int_eq(info_of(&device, stream).capturing, 0);
    expect_cu(cuda_test()->cuGraphDestroy(graph));
    cuda_test_end_stream(stream);
}
END_TEST

/* What the library does beside a capture of the caller's does not end it. */
START_TEST(events_beside_a_capture)
{
    cuai_cu_graph_t graph = NULL;
    void *event = NULL;
    open_both();
    (void)cuda_test_use_device(0);
    cuarena_stream_t captured = cuda_test_stream();
    cuarena_stream_t other = cuda_test_stream();
    expect_cu(cuda_test()->cuStreamBeginCapture(captured, _i));
    expect_ok(cuai_streams_record_event(&device, other, &event));
    expect_ok(cuai_streams_wait_event(&device, event, CUARENA_NO_STREAM, 1));
    expect_ok(cuai_streams_query_event(&device, event));
    cuai_streams_end_event(&device, event);
    expect_cu(cuda_test()->cuStreamEndCapture(captured, &graph));
    ck_assert_ptr_nonnull(graph);
    expect_cu(cuda_test()->cuGraphDestroy(graph));
    cuda_test_end_stream(captured);
    cuda_test_end_stream(other);
}
END_TEST

/* ---- Who may use what -------------------------------------------------- */

START_TEST(no_stream_is_refused)
{
    cuarena_stream_info_t info = {.id = 7};
    open_both();
    expect_status(cuai_streams_identify(&device, CUARENA_NO_STREAM, &info), CUARENA_BAD_ARGUMENT);
    expect_message("CUARENA_NO_STREAM");
    expect_status(cuai_streams_identify(&host, CUARENA_NO_STREAM, &info), CUARENA_BAD_ARGUMENT);
    expect_u64(info.id, 7);
}
END_TEST

START_TEST(stream_of_another_device)
{
    cuarena_stream_info_t info = {.id = 7};
    set("CUARENA_STANDIN_DEVICES", "2");
    open_both();
    (void)cuda_test_use_device(1);
    cuarena_stream_t stream = cuda_test_stream();
    expect_status(cuai_streams_identify(&device, stream, &info), CUARENA_BAD_ARGUMENT);
    expect_message("device 1", "device 0", "'device'");
    expect_u64(info.id, 7);
    ck_assert_int_eq(info_of(&host, stream).device, 1);
    device.reach = 3;
    ck_assert_int_eq(info_of(&device, stream).device, 1);
    cuda_test_end_stream(stream);
}
END_TEST

START_TEST(stream_of_another_context_of_the_device)
{
    open_both();
    cuai_cu_context_t context = push_own_context(0);
    cuarena_stream_t stream = cuda_test_stream();
    ck_assert_ptr_eq(info_of(&device, stream).context, context);
    ck_assert_ptr_eq(info_of(&host, stream).context, context);
    cuda_test_end_stream(stream);
    end_both();
    expect_cu(cuda_test()->cuCtxDestroy(context));
}
END_TEST

START_TEST(default_stream_of_no_context)
{
    cuarena_stream_info_t info;
    open_both();
    have_context(NULL);
    expect_status(cuai_streams_identify(&host, NULL, &info), CUARENA_BAD_ARGUMENT);
    expect_message("no context is current");
    expect_status(cuai_streams_identify(&host, CUARENA_STREAM_PER_THREAD, &info),
                  CUARENA_BAD_ARGUMENT);
}
END_TEST

/* Its event could not be made where the stream is. */
START_TEST(default_stream_of_a_second_context)
{
    cuarena_stream_info_t info;
    void *event = NULL;
    open_both();
    (void)cuda_test_use_device(0);
    uint64_t id = id_of(&host, NULL);
    cuai_cu_context_t context = push_own_context(0);
    expect_status(cuai_streams_identify(&host, NULL, &info), CUARENA_BAD_ARGUMENT);
    expect_message("default stream", "device 0", "'host'");
    expect_ok(cuai_streams_record_event(&host, NULL, &event));
    ck_assert_ptr_eq(((cuai_event_t *)event)->place->context, device.place->context);
    cuai_streams_end_event(&host, event);
    expect_cu(cuda_test()->cuCtxPopCurrent(&context));
    expect_u64(id_of(&host, NULL), id);
    end_both();
    expect_cu(cuda_test()->cuCtxDestroy(context));
}
END_TEST

/* ---- Events ----------------------------------------------------------- */

#define BYTES ((size_t)1 << 20)

typedef struct work {
    cuai_cu_pointer_t bytes;
    cuarena_stream_t stream;
} work_t;

static work_t begin_work(void)
{
    work_t work = {.stream = cuda_test_stream()};
    expect_cu(cuda_test()->cuMemAlloc(&work.bytes, BYTES));
    expect_cu(cuda_test()->cuMemsetD8Async(work.bytes, 1, BYTES, work.stream));
    return work;
}

static void end_work(work_t work)
{
    expect_cu(cuda_test()->cuStreamSynchronize(work.stream));
    expect_cu(cuda_test()->cuMemFree(work.bytes));
    cuda_test_end_stream(work.stream);
}

START_TEST(event_comes_to_an_end)
{
    void *event = NULL;
    cuarena_status_t status;
    open_both();
    (void)cuda_test_use_device(0);
    work_t work = begin_work();
    expect_ok(cuai_streams_record_event(&device, work.stream, &event));
    while ((status = cuai_streams_query_event(&device, event)) == CUARENA_BUSY)
        ;
    expect_ok(status);
    end_work(work);
    expect_ok(cuai_streams_query_event(&device, event));
    cuai_streams_end_event(&device, event);
}
END_TEST

/* With the stand-in, which does nothing unless it must. */
START_TEST(event_is_busy_until_it_is_waited_for)
{
    void *event = NULL;
    set("CUARENA_STANDIN_PACE", "0");
    open_both();
    (void)cuda_test_use_device(0);
    work_t work = begin_work();
    expect_ok(cuai_streams_record_event(&device, work.stream, &event));
    ck_assert_uint_gt(driver_standin()->standin_pending(), 0);
    uint64_t syncs = driver_standin()->standin_syncs();
    expect_ok(cuai_streams_wait_event(&device, event, CUARENA_NO_STREAM, 1));
    expect_u64(driver_standin()->standin_syncs(), syncs + 1);
    expect_ok(cuai_streams_query_event(&device, event));
    cuai_streams_end_event(&device, event);
    end_work(work);
}
END_TEST

START_TEST(event_is_used_again_for_its_stream)
{
    void *event = NULL;
    open_both();
    (void)cuda_test_use_device(0);
    cuarena_stream_t stream = cuda_test_stream();
    expect_ok(cuai_streams_record_event(&device, stream, &event));
    void *first = event;
    expect_ok(cuai_streams_record_event(&device, stream, &event));
    ck_assert_ptr_eq(event, first);
    expect_u64(device.place->event_count, 1);
    cuai_streams_end_event(&device, event);
    cuda_test_end_stream(stream);
}
END_TEST

START_TEST(event_moves_to_the_context_of_its_stream)
{
    void *event = NULL;
    open_both();
    (void)cuda_test_use_device(0);
    cuarena_stream_t stream = cuda_test_stream();
    cuai_cu_context_t context = push_own_context(0);
    cuarena_stream_t other = cuda_test_stream();
    (void)info_of(&device, other);
    expect_ok(cuai_streams_record_event(&device, stream, &event));
    expect_ok(cuai_streams_record_event(&device, other, &event));
    ck_assert_ptr_eq(((cuai_event_t *)event)->place->context, context);
    ck_assert_ptr_nonnull(device.place->idle);
    expect_ok(cuai_streams_record_event(&device, stream, &event));
    ck_assert_ptr_eq(((cuai_event_t *)event)->place, device.place);
    expect_u64(device.place->event_count, 1);
    cuai_streams_end_event(&device, event);
    cuda_test_end_stream(stream);
    cuda_test_end_stream(other);
    end_both();
    expect_cu(cuda_test()->cuCtxDestroy(context));
}
END_TEST

/* The stand-in reports the second memset if nothing orders it. */
START_TEST(stream_waits_for_a_event)
{
    void *event = NULL;
    open_both();
    (void)cuda_test_use_device(0);
    work_t work = begin_work();
    cuarena_stream_t other = cuda_test_stream();
    expect_ok(cuai_streams_record_event(&device, work.stream, &event));
    expect_ok(cuai_streams_wait_event(&device, event, other, 0));
    cuai_streams_end_event(&device, event);
    expect_cu(cuda_test()->cuMemsetD8Async(work.bytes, 2, BYTES, other));
    expect_cu(cuda_test()->cuStreamSynchronize(other));
    end_work(work);
    cuda_test_end_stream(other);
}
END_TEST

START_TEST(stream_waits_for_another_device)
{
    void *event = NULL;
    set("CUARENA_STANDIN_DEVICES", "2");
    open_both();
    device.reach = 3;
    (void)cuda_test_use_device(0);
    work_t work = begin_work();
    cuai_cu_context_t second = cuda_test_use_device(1);
    cuarena_stream_t other = cuda_test_stream();
    expect_ok(cuai_streams_record_event(&device, work.stream, &event));
    expect_ok(cuai_streams_wait_event(&device, event, other, 0));
    ck_assert_ptr_eq(cuda_test_current(), second);
    expect_ok(cuai_streams_record_event(&device, other, &event));
    ck_assert_int_eq(((cuai_event_t *)event)->place->device, 1);
    expect_ok(cuai_streams_wait_event(&device, event, CUARENA_NO_STREAM, 1));
    expect_ok(cuai_streams_query_event(&device, event));
    cuai_streams_end_event(&device, event);
    cuda_test_end_stream(other);
    (void)cuda_test_use_device(0);
    end_work(work);
}
END_TEST

START_TEST(pending_event_is_used_again)
{
    open_both();
    (void)cuda_test_use_device(0);
    cuarena_stream_t waiter = cuda_test_stream();
    work_t work = begin_work();
    for (int i = 0; i < 100; i++) {
        void *event = NULL;
        expect_ok(cuai_streams_record_event(&device, work.stream, &event));
        expect_ok(cuai_streams_wait_event(&device, event, waiter, 0));
        cuai_streams_end_event(&device, event);
        expect_cu(cuda_test()->cuMemsetD8Async(work.bytes, 2, BYTES, work.stream));
    }
    expect_u64(device.place->event_count, 1);
    end_work(work);
    cuda_test_end_stream(waiter);
}
END_TEST

START_TEST(events_keep_the_current_context)
{
    void *event = NULL;
    open_both();
    cuai_cu_context_t primary = cuda_test_use_device(0);
    cuarena_stream_t stream = cuda_test_stream();
    cuai_cu_context_t contexts[] = {NULL, primary, push_own_context(0)};
    for (int i = 0; i < COUNT(contexts); i++) {
        cuai_streams_t *streams = i == 1 ? &host : &device;
        have_context(contexts[i]);
        expect_ok(cuai_streams_record_event(streams, stream, &event));
        expect_ok(cuai_streams_wait_event(streams, event, stream, 0));
        expect_ok(cuai_streams_wait_event(streams, event, CUARENA_NO_STREAM, 1));
        expect_ok(cuai_streams_query_event(streams, event));
        cuai_streams_end_event(streams, event);
        expect_ok(cuai_streams_drain(streams, stream));
        event = NULL;
        ck_assert_ptr_eq(cuda_test_current(), contexts[i]);
    }
    end_both();
    have_context(primary);
    cuda_test_end_stream(stream);
    expect_cu(cuda_test()->cuCtxDestroy(contexts[2]));
}
END_TEST

#define THREADS 4

static void *record_often(void *stream)
{
    for (int i = 0; i < 500; i++) {
        void *event = NULL;
        expect_ok(cuai_streams_record_event(&device, stream, &event));
        (void)id_of(&host, stream);
        if (i % 3 == 0)
            expect_ok(cuai_streams_wait_event(&device, event, CUARENA_NO_STREAM, 1));
        cuai_streams_end_event(&device, event);
    }
    return NULL;
}

START_TEST(threads_share_events)
{
    pthread_t threads[THREADS];
    cuarena_stream_t streams[THREADS];
    open_both();
    (void)cuda_test_use_device(0);
    for (int i = 0; i < THREADS; i++) {
        streams[i] = cuda_test_stream();
        (void)id_of(&host, streams[i]);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, record_often, streams[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        cuda_test_end_stream(streams[i]);
    }
    expect_between(device.place->event_count, 1, THREADS);
}
END_TEST

/* ---- What the CPU touches ---------------------------------------------- */

/* The stand-in reports the access if the host has not waited. */
START_TEST(host_memory_waits_for_the_stream)
{
    cuarena_config_t config;
    cuai_memory_t memory = {0};
    cuarena_memory_segment_t segment = {0};
    cuai_streams_t *streams;
    size_t done = 0;
    cuarena_config_init(&config);
    set("CUARENA_STANDIN_PACE", "0");
    (void)cuda_test_use_device(0);
    work_t work = begin_work();
    expect_ok(cuarena_config_resolve(&config));
    expect_ok(cuai_memory_open(&config, &memory));
    streams = memory.counted->user;
    expect_ok(memory.ops.get(memory.user, BYTES, BYTES, &segment));
    cuarena_relocation_t move = {.from = (void *)(uintptr_t)segment.address,
                                 .to = (char *)(uintptr_t)segment.address + 256,
                                 .bytes = 4096};
    expect_ok(memory.ops.relocate(memory.user, &move, 1, work.stream, &done));
    expect_u64(done, 1);
    expect_cu(cuda_test()->cuStreamQuery(work.stream));
    expect_cu(cuda_test()->cuMemsetD8Async(work.bytes, 2, BYTES, work.stream));
    expect_ok(memory.ops.zero_bytes(memory.user, move.to, 4096, work.stream));
    expect_cu(cuda_test()->cuStreamQuery(work.stream));
    expect_u64(streams->seen == NULL, 0);
    memory.ops.give_back(memory.user, &segment);
    cuai_memory_close(&memory);
    end_work(work);
}
END_TEST

/* ---- Loss -------------------------------------------------------------- */

START_TEST(own_device_lost)
{
    void *event = NULL;
    cuarena_stream_info_t info;
    open_both();
    expect_ok(cuai_streams_record_event(&device, NULL, &event));
    driver_standin()->standin_lose_device(0, CUAI_CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_status(cuai_streams_query_event(&device, event), CUARENA_LOST);
    expect_message("CUDA_ERROR_ILLEGAL_ADDRESS");
    expect_status(cuai_streams_record_event(&device, NULL, &event), CUARENA_LOST);
    expect_status(cuai_streams_wait_event(&device, event, CUARENA_NO_STREAM, 1), CUARENA_LOST);
    expect_status(cuai_streams_identify(&device, NULL, &info), CUARENA_LOST);
    uint64_t calls = driver_standin()->standin_calls(NULL);
    cuai_streams_end_event(&device, event);
    end_both();
    expect_u64(driver_standin()->standin_calls(NULL), calls);
}
END_TEST

/* Nothing of the device touches host memory any more. */
START_TEST(host_memory_outlives_a_device)
{
    void *event = NULL;
    void *later = NULL;
    open_both();
    (void)cuda_test_use_device(0);
    cuarena_stream_t stream = cuda_test_stream();
    (void)info_of(&host, stream);
    expect_ok(cuai_streams_record_event(&host, stream, &event));
    driver_standin()->standin_lose_device(0, CUAI_CUDA_ERROR_LAUNCH_FAILED);
    expect_ok(cuai_streams_query_event(&host, event));
    expect_ok(cuai_streams_wait_event(&host, event, CUARENA_NO_STREAM, 1));
    expect_ok(cuai_streams_record_event(&host, stream, &event));
    expect_ok(cuai_streams_query_event(&host, event));
    expect_ok(cuai_streams_record_event(&host, stream, &event));
    expect_ok(cuai_streams_record_event(&host, stream, &later));
    expect_ok(cuai_streams_wait_event(&host, later, CUARENA_NO_STREAM, 1));
    cuai_streams_end_event(&host, later);
    cuai_streams_end_event(&host, event);
    expect_ok(cuai_streams_drain(&host, stream));
}
END_TEST

/* The caller destroyed a context, against the rules, and made another that has its handle: what was
 * of the first is left alone. */
START_TEST(context_that_came_back)
{
    void *event = NULL;
    open_both();
    have_context(NULL);
    for (int i = 0; i < REUSE_TRIES; i++) {
        cuai_cu_context_t context = push_own_context(0);
        cuarena_stream_t stream = cuda_test_stream();
        (void)info_of(&host, stream);
        expect_ok(cuai_streams_record_event(&host, stream, &event));
        struct cuai_event *made = event;
        ck_assert_ptr_eq(made->place->context, context);
        cuai_streams_end_event(&host, event);
        event = NULL;
        cuda_test_end_stream(stream);
        cuai_place_lose(made->place, CUAI_CUDA_ERROR_CONTEXT_IS_DESTROYED);
        expect_cu(cuda_test()->cuCtxDestroy(context));
        if (i == 3)
            break;
    }
}
END_TEST

START_TEST(dead_stream_is_refused)
{
    cuarena_stream_info_t info;
    open_both();
    ck_assert_int_eq(
        driver_standin()->standin_fail("cuStreamGetCtx", 1, CUAI_CUDA_ERROR_INVALID_HANDLE, 0), 0);
    expect_status(cuai_streams_identify(&device, (cuarena_stream_t)(uintptr_t)0x1234, &info),
                  CUARENA_BAD_ARGUMENT);
    expect_message("0x1234", "CUDA_ERROR_INVALID_HANDLE");
}
END_TEST

/* ---- After each test --------------------------------------------------- */

static void add_any(Suite *suite)
{
    TCase *tcase = suite_add_list(
        suite, "any",
        TEST_LIST(
            streams_are_told_apart, legacy_stream_has_two_names, each_thread_has_a_default_stream,
            each_context_has_a_legacy_stream, reused_handle_is_another_stream,
            default_stream_is_the_memorys_whatever_is_current, stream_is_known_whatever_is_current,
            no_stream_is_refused, stream_of_another_context_of_the_device,
            default_stream_of_no_context, default_stream_of_a_second_context, event_comes_to_an_end,
            event_is_used_again_for_its_stream, event_moves_to_the_context_of_its_stream,
            stream_waits_for_a_event, pending_event_is_used_again, events_keep_the_current_context,
            threads_share_events, host_memory_waits_for_the_stream));
    tcase_add_loop_test(tcase, capturing_stream_is_told, 0, 3);
    tcase_add_loop_test(tcase, events_beside_a_capture, 0, 3);
    tcase_add_checked_fixture(tcase, NULL, cuda_test_look_after);
}

static void add_two_devices(Suite *suite)
{
    TCase *tcase = suite_add_list(
        suite, "two devices", TEST_LIST(stream_of_another_device, stream_waits_for_another_device));
    tcase_add_checked_fixture(tcase, NULL, cuda_test_look_after);
}

int main(void)
{
    driver_kind_t kind = driver_kind();
    Suite *suite = suite_create("streams");
    if (kind != DRIVER_NONE)
        add_any(suite);
    if (driver_has_two_devices_for("two devices"))
        add_two_devices(suite);
    if (driver_is_standin_for("stand-in"))
        (void)suite_add_list(suite, "stand-in",
                             TEST_LIST(event_is_busy_until_it_is_waited_for, own_device_lost,
                                       host_memory_outlives_a_device, context_that_came_back,
                                       dead_stream_is_refused));
    return driver_result(kind, suite_main(suite));
}
