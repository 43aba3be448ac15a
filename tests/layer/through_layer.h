/*
 * Tests of the layer: a context, two streams and calls that go through it. On the stand-in a test
 * ends with no access that nothing orders, and with no block.
 */
#ifndef THROUGH_LAYER_H
#define THROUGH_LAYER_H

#include "support/driver_under_test.h"

#include <cuarena.h>

/* The bytes of most blocks. */
#define BYTES ((size_t)64 << 10)

extern const cuarena_layer_t *layer;
extern CUcontext context;
extern CUstream stream;
extern CUstream other;
/* Of device 0, when the test began. */
extern cuarena_layer_stats_t before;

/* A test begins and ends. */
void layer_begin(void);
void layer_end(void);

cuarena_layer_stats_t layer_stats(void);
/* Of the arena of device 0; all zero while it has none. */
cuarena_stats_t layer_arena_stats(void);

CUdeviceptr alloc_on(size_t bytes, CUstream on);
void free_on(CUdeviceptr pointer, CUstream on);
/* All of a block of BYTES. */
void fill(CUdeviceptr at, uint32_t value, CUstream on);
/* Of a block of BYTES, when the stream's work is done. */
uint32_t last_word(CUdeviceptr at, CUstream on);

void begin_capture(CUstream of);
CUgraphExec end_capture(CUstream of);

#endif
