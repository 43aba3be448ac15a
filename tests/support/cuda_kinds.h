/*
 * What programs need whose arenas are of cuda_kinds (kinds.h), on memory that a driver gives.
 */
#ifndef CUARENA_TEST_CUDA_KINDS_H
#define CUARENA_TEST_CUDA_KINDS_H

#include "support/fixture.h"

/* Makes contents of device memory reachable for fixtures (arena_reach). Opens nothing before it is
 * needed. */
void cuda_kinds_ready(void);

/* What main returns: as suite_main, where there is a device (driver_result
 * says what it is where there is none). The driver is opened by the tests' processes only. */
int cuda_kinds_main(Suite *suite);

#endif
