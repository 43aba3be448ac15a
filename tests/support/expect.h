/* Assertions that print what was expected and what came, statuses by name. */
#ifndef CUARENA_TEST_EXPECT_H
#define CUARENA_TEST_EXPECT_H

#include "checks.h"

#include <cuarena/base.h>

struct cuarena_heap;

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define expect_status(call, want) expect_status_at((call), (want), #call, __FILE__, __LINE__)
#define expect_ok(call) expect_status(call, CUARENA_OK)
#define expect_u64(got, want) expect_u64_at((got), (want), #got, __FILE__, __LINE__)
/* The bounds are included. */
#define expect_between(got, low, high)                                                             \
    expect_between_at((got), (low), (high), #got, __FILE__, __LINE__)
#define expect_text(got, want) expect_text_at((got), (want), #got, __FILE__, __LINE__)
#define expect_valid(heap) expect_valid_at((heap), __FILE__, __LINE__)

void expect_status_at(cuarena_status_t got, cuarena_status_t want, const char *what,
                      const char *file, int line);
void expect_u64_at(uint64_t got, uint64_t want, const char *what, const char *file, int line);
void expect_between_at(uint64_t got, uint64_t low, uint64_t high, const char *what,
                       const char *file, int line);
void expect_text_at(const char *got, const char *want, const char *what, const char *file,
                    int line);
void expect_valid_at(const struct cuarena_heap *heap, const char *file, int line);

/* What an output holds that no call may touch when it fails. */
extern char expect_nothing_here;
#define UNTOUCHED ((void *)&expect_nothing_here)

/* What the last call of this thread that failed left. */
cuarena_error_info_t last_error(void);

/* Calls `end` when the test that runs now is over: to close what it opened. The case must be one
 * that a function below made. */
void after_test(void (*end)(void));
/* Does it now. A teardown of a case's own comes before that of after_test, unless it calls this. */
void end_test(void);

/* A case of the suite, without tests. */
TCase *suite_add_case(Suite *suite, const char *name);
/* A NULL-terminated list of tests. */
#define TEST_LIST(...) ((const TTest *[]){__VA_ARGS__, NULL})
/* A case of these tests; gives it, to set a timeout or a fixture. */
TCase *suite_add_list(Suite *suite, const char *name, const TTest *const *tests);
/* A case of one test for each row of a table: its _i. */
void suite_add_rows(Suite *suite, const char *name, const TTest *test, size_t rows);
/* Adds a test, `rows` times. Where it cannot run `why` says why, instead of NULL: it is left out,
 * and that is printed. */
void add_test_unless(TCase *tcase, const TTest *test, size_t rows, const char *why);
/* Runs the suite; what main returns. Forks each test unless CK_FORK=no. */
int suite_main(Suite *suite);

#endif
