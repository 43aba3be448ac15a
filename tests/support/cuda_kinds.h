/*
 * Arenas whose memory a driver gives: rows like arena_kinds (fixture.h), for programs that
 * run on the stand-in driver and on a real one alike.
 */
#ifndef CUARENA_TEST_CUDA_KINDS_H
#define CUARENA_TEST_CUDA_KINDS_H

#include "support/fixture.h"

enum {
    CUDA_POOL_VMM,
    CUDA_POOL_MALLOC,
    CUDA_POOL_ASYNC,
    CUDA_POOL_MANAGED,
    CUDA_POOL_PINNED,
    CUDA_POOL_BYTES,
    CUDA_POOL_MANAGED_BYTES,
    CUDA_POOL_PINNED_BYTES,
    CUDA_GROW_VMM,
    CUDA_GROW_MALLOC,
    CUDA_GROW_ASYNC,
    CUDA_GROW_MANAGED,
    CUDA_GROW_PINNED,
    CUDA_BFC_VMM,
    CUDA_BFC_MALLOC,
    CUDA_BFC_ASYNC,
    CUDA_BFC_MANAGED,
    CUDA_BFC_PINNED,
    CUDA_BFC_EXACT_VMM,
    CUDA_BFC_EXACT_MALLOC,
    CUDA_BFC_EXACT_ASYNC,
    CUDA_BFC_EXACT_MANAGED,
    CUDA_BFC_EXACT_PINNED,
    CUDA_KIND_COUNT
};

/* A preset on each memory that a device has, in the order of the rows above: VMM, MALLOC, ASYNC,
 * MANAGED, PINNED; with traits where segments are lengthened and punched, and where they are whole.
 */
/* clang-format off */
#define CUDA_KINDS_OF(name, preset, in_place, whole)                                               \
    {name "-vmm", preset, CUARENA_MEMORY_DEVICE, (in_place) | KIND_DEVICE,                         \
     CUARENA_BACKING_VMM, 0},                                                                      \
    {name "-malloc", preset, CUARENA_MEMORY_DEVICE, (whole) | KIND_DEVICE,                         \
     CUARENA_BACKING_MALLOC, 0},                                                                   \
    {name "-async", preset, CUARENA_MEMORY_DEVICE, (whole) | KIND_DEVICE,                          \
     CUARENA_BACKING_ASYNC, 0},                                                                    \
    {name "-managed", preset, CUARENA_MEMORY_MANAGED, whole, 0, 0},                                \
    {name "-pinned", preset, CUARENA_MEMORY_PINNED, whole, 0, 0}
/* clang-format on */

extern const arena_kind_t cuda_kinds[CUDA_KIND_COUNT];

/* Makes contents of device memory reachable for fixtures (arena_reach). Opens nothing before it is
 * needed. */
void cuda_kinds_ready(void);

/* What main returns: as suite_main, where there is a device (driver_result
 * says what it is where there is none). The driver is opened by the tests' processes only. */
int cuda_kinds_main(Suite *suite);

#endif
