/*
 * What tests of device memory ask of the stand-in: what the library has of the driver, and whether
 * anything was done wrong. On a real driver they ask nothing.
 */
#ifndef CUARENA_TEST_CUDA_EXPECT_H
#define CUARENA_TEST_CUDA_EXPECT_H

#include <cuarena.h>
#include <stdbool.h>

#include "checks.h"
#include "support/configs.h"
#include "support/cuda_test.h"

/* Finds it out; for tests that need its control. */
bool standin_is_here(void);
/* Adds a test that is about the stand-in, `rows` times; see driver_is_standin_for. */
void add_standin_test(TCase *tcase, const TTest *test, size_t rows);
/* Reports are expected, and not printed; then forgotten. */
void standin_quiet(bool quiet);

/* Bytes of device 0 that are taken: now, and as they should be. */
uint64_t standin_used(void);
void expect_used(uint64_t bytes);

/* Nothing was done wrong; and nothing of the driver's is alive. */
void expect_no_report(void);
void expect_nothing_left(void);

#endif
