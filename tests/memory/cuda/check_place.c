/*
 * Places: contexts found, shared, entered and left; what becomes of one after
 * a sticky error; every call of the driver failing. Each test runs in a process of its own.
 *
 * Looks inside, since public calls enter and leave places, but tell nothing of them.
 */
#include "support/base_support.h"
#include "support/cuda_test.h"
#include "support/each_failure.h"
#include "support/expect.h"
#include "support/log_lines.h"

#include "memory/cuda/events.h"
#include "memory/cuda/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)COUNT_OF(array))

static void want_devices(const char *count)
{
    ck_assert_int_eq(setenv("CUARENA_STANDIN_DEVICES", count, 1), 0);
}

static cuai_place_t *opened(int32_t ordinal)
{
    cuai_place_t *place = NULL;
    expect_ok(cuai_place_open_ordinal(ordinal, &place));
    ck_assert_ptr_nonnull(place);
    return place;
}

static cuai_cu_context_t own_context(int ordinal)
{
    cuai_cu_context_t context = NULL;
    expect_cu(cuda_test()->cuCtxCreate(&context, 0, ordinal));
    expect_cu(cuda_test()->cuCtxSetCurrent(NULL));
    return context;
}

static bool is_active(int ordinal)
{
    unsigned flags = 0;
    int active = 0;
    expect_cu(cuda_test()->cuDevicePrimaryCtxGetState(ordinal, &flags, &active));
    return active != 0;
}

/* ---- Finding ----------------------------------------------------------- */

START_TEST(ordinal_is_the_primary_context)
{
    cuai_place_t *place = opened(0);
    cuai_cu_context_t primary = cuda_test_use_device(0);
    ck_assert_ptr_eq(place->context, primary);
    ck_assert(place->primary);
    ck_assert_int_eq(place->device, 0);
    cuai_place_close(place);
    expect_cu(cuda_test()->cuDevicePrimaryCtxRelease(0));
}
END_TEST

START_TEST(places_are_shared)
{
    cuai_visit_t visit;
    cuai_place_t *first = opened(0);
    cuai_place_t *second = opened(0);
    ck_assert_ptr_eq(first, second);
    cuai_place_close(first);
    expect_ok(cuai_place_enter(second, &visit));
    cuai_place_leave(&visit);
    ck_assert(is_active(0));
    cuai_place_close(second);
}
END_TEST

START_TEST(last_close_releases_the_primary_context)
{
    (void)cuda_test();
    ck_assert(!is_active(0));
    cuai_place_t *first = opened(0);
    cuai_place_t *second = opened(0);
    ck_assert(is_active(0));
    cuai_place_close(second);
    ck_assert(is_active(0));
    cuai_place_close(first);
    ck_assert(!is_active(0));
}
END_TEST

START_TEST(primary_context_by_its_handle)
{
    cuarena_config_t config;
    cuai_place_t *place = NULL;
    cuai_place_t *by_ordinal = opened(0);
    cuarena_config_init(&config);
    config.context = cuda_test_use_device(0);
    expect_ok(cuai_place_open(&config, &place));
    ck_assert_ptr_eq(place, by_ordinal);
    cuai_place_close(by_ordinal);
    cuai_place_close(place);
    place = NULL;
    expect_ok(cuai_place_open_context(config.context, &place));
    ck_assert(place->primary);
    expect_cu(cuda_test()->cuDevicePrimaryCtxRelease(0));
    ck_assert(is_active(0));
    cuai_place_close(place);
    ck_assert(!is_active(0));
}
END_TEST

START_TEST(own_context_stays_the_callers)
{
    cuarena_config_t config;
    cuai_place_t *place = NULL;
    unsigned long long id = 0;
    cuarena_config_init(&config);
    config.context = own_context(0);
    ck_assert(!is_active(0));
    expect_ok(cuai_place_open(&config, &place));
    ck_assert_ptr_eq(place->context, config.context);
    ck_assert(!place->primary);
    ck_assert_int_eq(place->device, 0);
    ck_assert_msg(!is_active(0), "the primary context was created");
    cuai_place_close(place);
    expect_cu(cuda_test()->cuCtxGetId(config.context, &id));
    expect_cu(cuda_test()->cuCtxDestroy(config.context));
}
END_TEST

START_TEST(own_context_is_not_the_primary_one)
{
    cuai_place_t *own = NULL;
    cuai_cu_context_t context = own_context(0);
    cuai_place_t *primary = opened(0);
    expect_ok(cuai_place_open_context(context, &own));
    ck_assert_ptr_ne(own, primary);
    ck_assert(!own->primary);
    cuai_place_close(own);
    cuai_place_close(primary);
    ck_assert(!is_active(0));
    expect_cu(cuda_test()->cuCtxDestroy(context));
}
END_TEST

static const int32_t wrong_ordinals[] = {-1, 2, 64, INT32_MIN, INT32_MAX};

START_TEST(wrong_ordinal)
{
    cuarena_config_t config;
    cuai_place_t *place = NULL;
    want_devices("2");
    cuarena_config_init(&config);
    config.device = wrong_ordinals[_i];
    expect_status(cuai_place_open(&config, &place), CUARENA_BAD_ARGUMENT);
    expect_message("device: ", "0 to 1 are accepted");
    ck_assert_ptr_null(place);
}
END_TEST

START_TEST(ordinal_of_another_device_than_the_context)
{
    cuarena_config_t config;
    cuai_place_t *place = NULL;
    want_devices("2");
    cuarena_config_init(&config);
    config.context = own_context(0);
    config.device = 1;
    expect_status(cuai_place_open(&config, &place), CUARENA_BAD_ARGUMENT);
    expect_message("device: 1", "device 0");
    ck_assert_ptr_null(place);
    expect_cu(cuda_test()->cuCtxDestroy(config.context));
    config.context = own_context(1);
    expect_ok(cuai_place_open(&config, &place));
    ck_assert_int_eq(place->device, 1);
    cuai_place_close(place);
    config.device = 0;
    expect_ok(cuai_place_open(&config, &place));
    ck_assert_int_eq(place->device, 1);
    cuai_place_close(place);
    expect_cu(cuda_test()->cuCtxDestroy(config.context));
}
END_TEST

static const cuai_cu_result_t unknown_contexts[] = {CUAI_CUDA_ERROR_INVALID_CONTEXT,
                                                    CUAI_CUDA_ERROR_CONTEXT_IS_DESTROYED};

START_TEST(context_that_the_driver_does_not_know)
{
    char address[32];
    cuarena_config_t config;
    cuai_place_t *place = NULL;
    cuarena_config_init(&config);
    config.context = own_context(0);
    (void)snprintf(address, sizeof address, "%p", config.context);
    driver_standin()->standin_fail("cuCtxPushCurrent", 1, unknown_contexts[_i], 0);
    expect_status(cuai_place_open(&config, &place), CUARENA_BAD_ARGUMENT);
    expect_message("context:", address, "a living CUcontext is accepted");
    ck_assert_ptr_null(place);
    ck_assert(!is_active(0));
    expect_cu(cuda_test()->cuCtxDestroy(config.context));
}
END_TEST

/* ---- What is current --------------------------------------------------- */

#define STACK_MOST 8

/* The contexts of this thread from the top down, put back as they were. */
static int stack(cuai_cu_context_t *contexts)
{
    int depth = 0;
    while (cuda_test_current() != NULL) {
        ck_assert_int_lt(depth, STACK_MOST);
        expect_cu(cuda_test()->cuCtxPopCurrent(&contexts[depth++]));
    }
    for (int i = depth; i > 0; i--)
        expect_cu(cuda_test()->cuCtxPushCurrent(contexts[i - 1]));
    return depth;
}

/* What a thread may have when it calls the library. */
typedef enum situation {
    NOTHING,
    PRIMARY,
    OWN,
    OWN_ON_PRIMARY,
    SITUATIONS
} situation_t;

static void make_situation(situation_t situation)
{
    expect_cu(cuda_test()->cuCtxSetCurrent(NULL));
    if (situation == PRIMARY || situation == OWN_ON_PRIMARY)
        (void)cuda_test_use_device(0);
    if (situation == OWN || situation == OWN_ON_PRIMARY)
        expect_cu(cuda_test()->cuCtxPushCurrent(own_context(0)));
    if (situation == OWN_ON_PRIMARY)
        ck_assert_ptr_nonnull(cuda_test_current());
}

static cuai_cu_context_t before[STACK_MOST];
static int before_depth;

static void remember_stack(void)
{
    before_depth = stack(before);
}

static void expect_same_stack(const char *after)
{
    cuai_cu_context_t now[STACK_MOST];
    int depth = stack(now);
    ck_assert_msg(depth == before_depth, "%s: %d contexts, expected %d", after, depth,
                  before_depth);
    for (int i = 0; i < depth; i++)
        ck_assert_msg(now[i] == before[i], "%s: context %d is another", after, i);
}

START_TEST(current_context_is_kept)
{
    cuai_place_t *place = NULL;
    cuai_place_t *again = NULL;
    cuai_visit_t outer;
    cuai_visit_t inner;
    make_situation((situation_t)_i);
    remember_stack();
    expect_ok(cuai_place_open_ordinal(0, &place));
    expect_same_stack("opening by ordinal");
    expect_ok(cuai_place_open_context(place->context, &again));
    expect_same_stack("opening by context");
    expect_ok(cuai_place_enter(place, &outer));
    ck_assert_ptr_eq(cuda_test_current(), place->context);
    expect_ok(cuai_place_enter(again, &inner));
    ck_assert_ptr_eq(cuda_test_current(), place->context);
    cuai_place_leave(&inner);
    ck_assert_ptr_eq(cuda_test_current(), place->context);
    cuai_place_leave(&outer);
    expect_same_stack("a visit");
    cuai_place_close(again);
    expect_same_stack("a close");
    cuai_place_close(place);
    expect_same_stack("the last close");
}
END_TEST

START_TEST(current_context_of_another_device_is_kept)
{
    cuai_visit_t visit;
    want_devices("2");
    cuai_cu_context_t other = cuda_test_use_device(1);
    remember_stack();
    cuai_place_t *place = opened(0);
    expect_same_stack("opening");
    expect_ok(cuai_place_enter(place, &visit));
    ck_assert_ptr_ne(cuda_test_current(), other);
    cuai_place_leave(&visit);
    expect_same_stack("a visit");
    cuai_place_close(place);
    expect_same_stack("a close");
}
END_TEST

START_TEST(two_devices)
{
    cuai_visit_t visits[2];
    cuai_cu_device_t device = -1;
    want_devices("2");
    const bool active = is_active(0); /* an earlier test may have it still */
    cuai_place_t *places[] = {opened(0), opened(1)};
    ck_assert_ptr_ne(places[0]->context, places[1]->context);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(places[i]->device, i);
        expect_ok(cuai_place_enter(places[i], &visits[i]));
        expect_cu(cuda_test()->cuCtxGetDevice(&device));
        ck_assert_int_eq(device, i);
    }
    cuai_place_leave(&visits[1]);
    expect_cu(cuda_test()->cuCtxGetDevice(&device));
    ck_assert_int_eq(device, 0);
    cuai_place_leave(&visits[0]);
    cuai_place_close(places[0]);
    ck_assert_int_eq(is_active(0), active);
    ck_assert(is_active(1));
    cuai_place_close(places[1]);
}
END_TEST

/* Sets the mode and gives the one before. */
static cuai_cu_capture_mode_t exchange(cuai_cu_capture_mode_t mode)
{
    expect_cu(cuda_test()->cuThreadExchangeStreamCaptureMode(&mode));
    return mode;
}

START_TEST(capture_mode_is_relaxed_in_a_visit_only)
{
    cuai_visit_t visit;
    (void)cuda_test();
    (void)exchange(_i);
    cuai_place_t *place = opened(0);
    ck_assert_int_eq(exchange(_i), _i);
    expect_ok(cuai_place_enter(place, &visit));
    ck_assert_int_eq(exchange(CUAI_CU_STREAM_CAPTURE_MODE_RELAXED),
                     CUAI_CU_STREAM_CAPTURE_MODE_RELAXED);
    cuai_place_leave(&visit);
    ck_assert_int_eq(exchange(_i), _i);
    cuai_place_close(place);
    ck_assert_int_eq(exchange(_i), _i);
}
END_TEST

/* ---- Loss -------------------------------------------------------------- */

static const struct {
    cuai_cu_result_t result;
    bool sticky;
    const char *name;
} results[] = {
    {1, false, "CUDA_ERROR_INVALID_VALUE"},
    {2, false, "CUDA_ERROR_OUT_OF_MEMORY"},
    {4, true, "CUDA_ERROR_DEINITIALIZED"},
    {201, false, "CUDA_ERROR_INVALID_CONTEXT"},
    {214, true, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {220, true, "CUDA_ERROR_NVLINK_UNCORRECTABLE"},
    {226, true, "CUDA_ERROR_CONTAINED"},
    {600, false, "CUDA_ERROR_NOT_READY"},
    {700, true, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {701, false, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {702, true, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {709, true, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {710, true, "CUDA_ERROR_ASSERT"},
    {716, true, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {719, true, "CUDA_ERROR_LAUNCH_FAILED"},
    {800, false, "CUDA_ERROR_NOT_PERMITTED"},
    {911, true, "CUDA_ERROR_EXTERNAL_DEVICE"},
    {999, false, "CUDA_ERROR_UNKNOWN"},
};

/* Without a driver too. */
START_TEST(results_have_a_status_and_a_name)
{
    cuai_cu_result_t result = results[_i].result;
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    cuarena_status_t want = result == CUAI_CUDA_ERROR_OUT_OF_MEMORY ? CUARENA_OUT_OF_MEMORY
                            : results[_i].sticky                    ? CUARENA_LOST
                                                                    : CUARENA_DRIVER;
    ck_assert_int_eq(cuai_cuda_is_sticky(result), results[_i].sticky);
    ck_assert_str_eq(cuai_cuda_name(result), results[_i].name);
    expect_status(cuai_cuda_fail(result, "cuMemAlloc", "%d things", 3), want);
    expect_message("3 things", "cuMemAlloc", results[_i].name);
    expect_ok(cuarena_last_error_info(&info));
    expect_status(info.status, want);
    ck_assert_int_eq(info.driver_code, result);
    bool lacks = result == CUAI_CUDA_ERROR_OUT_OF_MEMORY;
    expect_status(cuai_cuda_fail(result, "cuThis", "%d things", 3), lacks ? CUARENA_DRIVER : want);
}
END_TEST

START_TEST(lost_place_calls_nothing)
{
    cuai_visit_t visit;
    cuai_place_t *place = opened(0);
    cuai_place_t *again = NULL;
    expect_status(cuai_place_fail(place, CUAI_CUDA_ERROR_ILLEGAL_ADDRESS, "cuThis", "that"),
                  CUARENA_LOST);
    uint64_t calls = driver_standin()->standin_calls(NULL);
    expect_status(cuai_place_enter(place, &visit), CUARENA_LOST);
    expect_message("device 0", "CUDA_ERROR_ILLEGAL_ADDRESS");
    expect_status(cuai_place_check(place), CUARENA_LOST);
    expect_u64(driver_standin()->standin_calls(NULL), calls);
    expect_ok(cuai_place_open_ordinal(0, &again));
    expect_status(cuai_place_check(again), CUARENA_LOST);
    cuai_place_close(again);
    calls = driver_standin()->standin_calls(NULL);
    cuai_place_close(place);
    expect_u64(driver_standin()->standin_calls(NULL), calls);
}
END_TEST

START_TEST(first_sticky_error_is_told)
{
    cuai_place_t *place = opened(0);
    cuai_place_note(place, CUAI_CUDA_ERROR_UNKNOWN, "cuThis");
    expect_ok(cuai_place_check(place));
    cuai_place_note(place, CUAI_CUDA_ERROR_ECC_UNCORRECTABLE, "cuThis");
    cuai_place_note(place, CUAI_CUDA_ERROR_ASSERT, "cuThat");
    expect_status(cuai_place_check(place), CUARENA_LOST);
    expect_message("CUDA_ERROR_ECC_UNCORRECTABLE");
    cuai_place_close(place);
}
END_TEST

static const struct {
    const char *entry;
    uint64_t nth;
    const char *words;
} logged_calls[] = {
    {"cuDevicePrimaryCtxRelease", 1, "cuDevicePrimaryCtxRelease answered"},
    {"cuThreadExchangeStreamCaptureMode", 2, "cuThreadExchangeStreamCaptureMode answered"},
    {"cuCtxPopCurrent", 1, "device 0: cuCtxPopCurrent answered"},
};

/* Nobody can be told of what fails when something ends: it is logged. */
START_TEST(what_fails_at_the_end_is_logged)
{
    cuai_visit_t visit;
    (void)cuda_test();
    log_listen(CUARENA_LOG_WARN);
    driver_standin()->standin_fail(logged_calls[_i].entry, logged_calls[_i].nth,
                                   CUAI_CUDA_ERROR_UNKNOWN, 0);
    cuai_place_t *place = opened(0);
    expect_ok(cuai_place_enter(place, &visit));
    cuai_place_leave(&visit);
    cuai_place_close(place);
    expect_u64(driver_standin()->standin_failed(), 1);
    const char *lines = log_text(0, "");
    ck_assert_msg(strstr(lines, logged_calls[_i].words) != NULL &&
                      strstr(lines, "CUDA_ERROR_UNKNOWN") != NULL,
                  "expected a line with '%s', got '%s'", logged_calls[_i].words, lines);
    ck_assert_int_eq(logged.list[logged.count - 1].level, CUARENA_LOG_WARN);
}
END_TEST

START_TEST(loss_is_logged_once)
{
    cuai_place_t *place = opened(0);
    log_listen(CUARENA_LOG_WARN);
    cuai_place_note(place, CUAI_CUDA_ERROR_ASSERT, "cuThis");
    ck_assert_ptr_nonnull(strstr(log_text(0, ""), "CUDA_ERROR_ASSERT"));
    ck_assert_ptr_nonnull(strstr(log_text(0, ""), "device 0"));
    ck_assert_int_eq(logged.list[logged.count - 1].level, CUARENA_LOG_ERROR);
    logged.count = 0;
    cuai_place_note(place, CUAI_CUDA_ERROR_ASSERT, "cuThat");
    ck_assert_int_eq(logged.count, 0);
    cuai_place_close(place);
}
END_TEST

START_TEST(one_lost_place_leaves_the_others)
{
    cuai_visit_t visit;
    want_devices("2");
    cuai_place_t *places[] = {opened(0), opened(1)};
    cuai_place_lose(places[1], CUAI_CUDA_ERROR_LAUNCH_FAILED);
    expect_ok(cuai_place_enter(places[0], &visit));
    cuai_place_leave(&visit);
    expect_status(cuai_place_enter(places[1], &visit), CUARENA_LOST);
    cuai_place_close(places[0]);
    cuai_place_close(places[1]);
}
END_TEST

START_TEST(context_that_is_gone_is_lost)
{
    cuai_visit_t visit;
    cuai_place_t *place = opened(0);
    ck_assert_int_eq(
        driver_standin()->standin_fail("cuCtxPushCurrent", 1, CUAI_CUDA_ERROR_INVALID_CONTEXT, 0),
        0);
    expect_status(cuai_place_enter(place, &visit), CUARENA_LOST);
    expect_message("CUDA_ERROR_CONTEXT_IS_DESTROYED");
    expect_status(cuai_place_enter(place, &visit), CUARENA_LOST);
    cuai_place_close(place);
}
END_TEST

/* ---- Every call failing ------------------------------------------------ */

/* What a memory does with a place. */
static cuarena_status_t live_a_life(void)
{
    cuai_place_t *place = NULL;
    cuai_visit_t visit;
    cuai_event_t *event = NULL;
    cuarena_status_t status = cuai_place_open_ordinal(0, &place);
    if (status == CUARENA_OK)
        status = cuai_place_enter(place, &visit);
    if (status == CUARENA_OK)
        cuai_place_leave(&visit);
    if (status == CUARENA_OK)
        status = cuai_event_record(place, NULL, &event);
    if (status == CUARENA_OK)
        status = cuai_event_wait(event, place, NULL);
    if (status == CUARENA_OK)
        status = cuai_event_wait_host(event);
    if (status == CUARENA_OK)
        status = cuai_event_query(event);
    cuai_event_release(event);
    cuai_place_close(place);
    return status;
}

static bool is_error_of(cuarena_status_t status, cuai_cu_result_t result)
{
    if (result == CUAI_CUDA_ERROR_OUT_OF_MEMORY && status == CUARENA_OUT_OF_MEMORY)
        return true;
    return status == (cuai_cuda_is_sticky(result) ? CUARENA_LOST : CUARENA_DRIVER);
}

static const cuai_cu_result_t failures[] = {CUAI_CUDA_ERROR_OUT_OF_MEMORY, CUAI_CUDA_ERROR_UNKNOWN,
                                            CUAI_CUDA_ERROR_NOT_SUPPORTED};

/* A failing leave or close is logged and not told, so some are survived. */
START_TEST(every_call_fails)
{
    (void)cuda_test();
    expect_ok(live_a_life());
    remember_stack();
    ck_assert_int_ge(each_call_fails(live_a_life, failures[_i], is_error_of), 10);
}
END_TEST

START_TEST(every_refusal_of_the_host)
{
    each_allocation_fails(live_a_life);
    ck_assert(!is_active(0));
}
END_TEST

START_TEST(nothing_is_left)
{
    (void)cuda_test();
    expect_ok(live_a_life());
    expect_u64(driver_standin()->standin_live("event"), 0);
    expect_u64(driver_standin()->standin_live("context"), 0);
    expect_u64(driver_standin()->standin_report_count(0), 0);
}
END_TEST

static void add_any(Suite *suite)
{
    TCase *tcase =
        suite_add_list(suite, "any",
                       TEST_LIST(ordinal_is_the_primary_context, places_are_shared,
                                 last_close_releases_the_primary_context,
                                 primary_context_by_its_handle, own_context_stays_the_callers,
                                 own_context_is_not_the_primary_one, every_refusal_of_the_host));
    tcase_add_loop_test(tcase, current_context_is_kept, 0, SITUATIONS);
    tcase_add_loop_test(tcase, capture_mode_is_relaxed_in_a_visit_only, 0, 3);
}

static void add_two_devices(Suite *suite)
{
    (void)suite_add_list(suite, "two devices",
                         TEST_LIST(ordinal_of_another_device_than_the_context,
                                   current_context_of_another_device_is_kept, two_devices,
                                   one_lost_place_leaves_the_others));
}

static void add_standin(Suite *suite)
{
    TCase *tcase = suite_add_list(suite, "stand-in",
                                  TEST_LIST(lost_place_calls_nothing, first_sticky_error_is_told,
                                            context_that_is_gone_is_lost, loss_is_logged_once,
                                            nothing_is_left));
    tcase_add_loop_test(tcase, context_that_the_driver_does_not_know, 0, COUNT(unknown_contexts));
    tcase_add_loop_test(tcase, what_fails_at_the_end_is_logged, 0, COUNT(logged_calls));
    tcase_add_loop_test(tcase, wrong_ordinal, 0, COUNT(wrong_ordinals));
    tcase_add_loop_test(tcase, every_call_fails, 0, COUNT(failures));
}

int main(void)
{
    driver_kind_t kind = driver_kind();
    Suite *suite = suite_create("place");
    TCase *none = suite_add_list(suite, "none", TEST_LIST(NULL));
    tcase_add_loop_test(none, results_have_a_status_and_a_name, 0, COUNT(results));
    if (kind != DRIVER_NONE)
        add_any(suite);
    if (driver_has_two_devices_for("two devices"))
        add_two_devices(suite);
    if (driver_is_standin_for("stand-in"))
        add_standin(suite);
    return driver_result(kind, suite_main(suite));
}
