/*
 * Arenas of the presets that have rules of their own about what a free leaves: those of MLX, CuPy
 * and the driver's pools, on each memory. Rows like arena_kinds (fixture.h), and with
 * CUARENA_TEST_CUDA like cuda_kinds (support/cuda_kinds.h).
 */
#ifndef CUARENA_TEST_KEPT_KINDS_H
#define CUARENA_TEST_KEPT_KINDS_H

#include "support/fixture.h"

#if defined(CUARENA_TEST_CUDA)
#define KEPT_KIND_COUNT 19
#else
#define KEPT_KIND_COUNT 6
#endif

extern const arena_kind_t kept_kinds[KEPT_KIND_COUNT];

#endif
