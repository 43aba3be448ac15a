/*
 * What the tests of the stand-in share: a device, a context, and the expectation that all reports
 * were foreseen.
 */
#ifndef CUARENA_TEST_STANDIN_FIXTURE_H
#define CUARENA_TEST_STANDIN_FIXTURE_H

#include "driver_under_test.h"

#include "checks.h"

extern CUcontext context;

/* Starts the driver on one device, or two, with a context of the first. */
void one_device(void);
void two_devices(void);
/* One that the test will lose: what it leaves is no failure. */
void lost_device(void);
/* Ends the context; fails if anything leaked or was reported. */
void nothing_left(void);

CUdeviceptr new_memory(size_t bytes);
/* At least one report of this kind came, and none of any other; cleared. */
void expect_report(standin_kind_t kind);
void expect_clean(void);

/* A suite of these; each runs in a process of its own, whatever CK_FORK says. Gives what main
 * returns. */
int standin_main(Suite *suite);

#endif
