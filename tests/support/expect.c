#define _GNU_SOURCE
#include "expect.h"
#include "support/runtime.h"

#include <cuarena/heap.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *last_message(cuarena_error_info_t *info)
{
    cuarena_error_info_init(info);
    return cuarena_last_error_info(info) == CUARENA_OK ? info->message : "";
}

void expect_status_at(cuarena_status_t got, cuarena_status_t want, const char *what,
                      const char *file, int line)
{
    cuarena_error_info_t info;
    if (got != want) {
        ck_abort_msg("%s:%d: %s: expected %s, got %s (last error: %s)", file, line, what,
                     cuarena_status_name(want), cuarena_status_name(got), last_message(&info));
    }
}

void expect_u64_at(uint64_t got, uint64_t want, const char *what, const char *file, int line)
{
    if (got != want) {
        ck_abort_msg("%s:%d: %s: expected %" PRIu64 " (%#" PRIx64 "), got %" PRIu64 " (%#" PRIx64
                     ")",
                     file, line, what, want, want, got, got);
    }
}

void expect_between_at(uint64_t got, uint64_t low, uint64_t high, const char *what,
                       const char *file, int line)
{
    if (got < low || got > high) {
        ck_abort_msg("%s:%d: %s: expected %" PRIu64 " to %" PRIu64 ", got %" PRIu64, file, line,
                     what, low, high, got);
    }
}

void expect_text_at(const char *got, const char *want, const char *what, const char *file, int line)
{
    if (strcmp(got, want) != 0) {
        ck_abort_msg("%s:%d: %s:\n  expected \"%s\"\n  got      \"%s\"", file, line, what, want,
                     got);
    }
}

void expect_valid_at(const cuarena_heap_t *heap, const char *file, int line)
{
    char text[256] = "";
    cuarena_status_t status = cuarena_heap_validate(heap, text, sizeof(text));
    if (status != CUARENA_OK) {
        ck_abort_msg("%s:%d: the heap is not valid: %s: %s", file, line,
                     cuarena_status_name(status), text);
    }
}

char expect_nothing_here;

cuarena_error_info_t last_error(void)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    ck_assert_int_eq(cuarena_last_error_info(&info), CUARENA_OK);
    return info;
}

/* ---- Cases ------------------------------------------------------------- */

#define MOST_ENDS 4

static bool ends_tests; /* of the case that runs */
static void (*ends_of_test[MOST_ENDS])(void);
static size_t end_count;

static void *idle(void *unused)
{
    while (pause() != 0)
        continue;
    return unused;
}

/* With CUARENA_TEST_BESIDE=1 another thread is in the process, which calls nothing: then the
 * library does not take the ways of a process of one thread. */
static void begin_beside(void)
{
    static bool begun;
    pthread_t thread;
    if (getenv("CUARENA_TEST_BESIDE") == NULL || begun)
        return;
    begun = true;
    ck_assert_int_eq(pthread_create(&thread, NULL, idle, NULL), 0);
    ck_assert_int_eq(pthread_detach(thread), 0);
}

static void begin_test(void)
{
    ends_tests = true;
    end_count = 0;
    begin_beside();
}

void end_test(void)
{
    while (end_count != 0)
        ends_of_test[--end_count](); /* a failure must not lead there again */
}

void after_test(void (*end)(void))
{
    ck_assert_msg(ends_tests,
                  "the case does not end its tests: suite_add_case makes one that does");
    for (size_t i = 0; i < end_count; i++) {
        if (ends_of_test[i] == end)
            return;
    }
    ck_assert_msg(end_count < MOST_ENDS, "a test has more than %d ends", MOST_ENDS);
    ends_of_test[end_count++] = end;
}

TCase *suite_add_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, begin_test, end_test);
    suite_add_tcase(suite, tcase);
    return tcase;
}

TCase *suite_add_list(Suite *suite, const char *name, const TTest *const *tests)
{
    TCase *tcase = suite_add_case(suite, name);
    for (; *tests != NULL; tests++)
        tcase_add_test(tcase, *tests);
    return tcase;
}

void suite_add_rows(Suite *suite, const char *name, const TTest *test, size_t rows)
{
    tcase_add_loop_test(suite_add_case(suite, name), test, 0, (int)rows);
}

void add_test_unless(TCase *tcase, const TTest *test, size_t rows, const char *why)
{
    if (why == NULL)
        tcase_add_loop_test(tcase, test, 0, (int)rows);
    else
        printf("skipped: %s: %s\n", test->name, why);
}

int suite_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    if (srunner_fork_status(runner) == CK_NOFORK && !runtime_begin())
        return EXIT_FAILURE;
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
