/*
 * Streams of memory that nothing stands behind: labels, whose work is done.
 */
#include "support/base_support.h"
#include "support/expect.h"

#include "memory/cuda/streams.h"
#include "memory/memory.h"

#include <pthread.h>

#define COUNT(array) ((int)COUNT_OF(array))

static cuai_memory_t none_opened(void)
{
    cuarena_config_t config;
    cuai_memory_t memory = {0};
    cuarena_config_init(&config);
    config.memory = CUARENA_MEMORY_NONE;
    expect_ok(cuarena_config_resolve(&config));
    expect_ok(cuai_memory_open(&config, &memory));
    return memory;
}

static void *ask_label(void *id)
{
    cuarena_stream_info_t info;
    cuai_memory_t memory = none_opened();
    expect_ok(memory.ops.identify(memory.user, CUARENA_STREAM_PER_THREAD, &info));
    *(uint64_t *)id = info.id;
    cuai_memory_close(&memory);
    return NULL;
}

START_TEST(test_streams_of_no_memory_are_labels)
{
    cuarena_stream_info_t infos[4];
    cuarena_stream_t handles[] = {NULL, CUARENA_STREAM_LEGACY, (cuarena_stream_t)(uintptr_t)0x1000,
                                  (cuarena_stream_t)(uintptr_t)0x2000};
    cuai_memory_t memory = none_opened();
    for (int i = 0; i < COUNT(handles); i++) {
        expect_ok(memory.ops.identify(memory.user, handles[i], &infos[i]));
        ck_assert_int_eq(infos[i].device, -1);
        ck_assert_int_eq(infos[i].per_thread, 0);
        ck_assert_int_eq(infos[i].capturing, 0);
        ck_assert_ptr_null(infos[i].context);
    }
    expect_u64(infos[0].id, infos[1].id);
    ck_assert(infos[1].id != infos[2].id && infos[2].id != infos[3].id);
    expect_status(memory.ops.identify(memory.user, CUARENA_NO_STREAM, &infos[0]),
                  CUARENA_BAD_ARGUMENT);
    cuai_memory_close(&memory);
}
END_TEST

START_TEST(test_default_streams_of_no_memory_are_by_thread)
{
    pthread_t thread;
    uint64_t own = 0;
    uint64_t again = 0;
    uint64_t other = 0;
    (void)ask_label(&own);
    (void)ask_label(&again);
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_label, &other), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    expect_u64(own, again);
    ck_assert(own != other);
}
END_TEST

START_TEST(test_events_of_no_memory_are_done)
{
    void *event = NULL;
    cuai_memory_t memory = none_opened();
    expect_ok(memory.ops.mark(memory.user, NULL, &event));
    ck_assert_ptr_nonnull(event);
    expect_ok(memory.ops.query(memory.user, event));
    expect_ok(memory.ops.wait(memory.user, event, NULL, 0));
    expect_ok(memory.ops.wait(memory.user, event, CUARENA_NO_STREAM, 1));
    memory.ops.unmark(memory.user, event);
    cuai_memory_close(&memory);
    ck_assert_ptr_null(cuai_cuda_if_open());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("none_streams");
    (void)suite_add_list(suite, "none",
                         TEST_LIST(test_streams_of_no_memory_are_labels,
                                   test_default_streams_of_no_memory_are_by_thread,
                                   test_events_of_no_memory_are_done));
    return suite_main(suite);
}
