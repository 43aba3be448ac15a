/*
 * Graphs on blocks of a fixture, for programs that run on the stand-in driver and on a real one:
 * three streams beside it, kernels that fill and check. The arena is the fixture's (fixture.h).
 */
#ifndef CUARENA_TEST_GRAPH_BENCH_H
#define CUARENA_TEST_GRAPH_BENCH_H

#include "support/cuda_kinds.h"
#include "support/cuda_test.h"
#include "support/fixture_streams.h"

#define BENCH_BYTES KIB(64) /* of most blocks */
#define BENCH_POOL MIB(64)
#define BENCH_MODES 3 /* global, thread-local, relaxed */

/* What such a fixture has besides. One is open at a time. */
typedef struct graph_bench {
    const cuda_test_t *cuda;
    cuai_cu_module_t module;
    cuai_cu_function_t fill;
    cuai_cu_function_t check;
    cuai_cu_function_t count_set;
    cuarena_stream_t s; /* is captured */
    cuarena_stream_t t; /* is forked into the capture, or captured too */
    cuarena_stream_t e; /* never is */
    void *bad[3];       /* of each stream: how many bytes were wrong */
} graph_bench_t;
extern graph_bench_t bench;

/* On memory of a device, or as a text of options says; kernels are loaded. */
void open_graphs(fixture_t *f, int32_t preset);
void open_graphs_with(fixture_t *f, const char *options);
/* Nothing but what open_graphs took lives, nothing was found wrong. */
void close_graphs(fixture_t *f);
/* The fixture of a test, opened; it is closed after the test. */
fixture_t *opened_graphs(int32_t preset);
fixture_t *opened_graphs_with(const char *options);
void expect_no_bad_bytes(void);

void wait_for(cuarena_stream_t stream);
void fill(const void *at, uint64_t bytes, uint64_t seed, cuarena_stream_t stream);
void check(const void *at, uint64_t bytes, uint64_t seed, cuarena_stream_t stream);
/* Bytes that are not 0 are bad ones. */
void check_zero(const void *at, uint64_t bytes, cuarena_stream_t stream);
/* BENCH_BYTES of them. */
void copy(void *to, const void *from, cuarena_stream_t stream);

void begin_capture(cuarena_stream_t stream, int mode);
/* The capture is as it should be: a graph came out of it. */
cuai_cu_graph_exec_t end_capture(cuarena_stream_t stream);

/* What a program does beside a capture, on this thread: every kind of call that the arena needs the
 * driver for. */
void work_beside(fixture_t *f);

/* Eager blocks on the third stream, each with contents that are checked before it is freed; every
 * fourth time all that may move does. */
typedef struct eager {
    cuarena_block_t blocks[8];
    uint64_t seeds[8];
    random_state_t random;
} eager_t;

void eager_step(fixture_t *f, eager_t *eager, int round);
void eager_end(fixture_t *f, const eager_t *eager);

#endif
