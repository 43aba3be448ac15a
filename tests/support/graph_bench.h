/*
 * Graphs on blocks of an arena, for programs that run on the stand-in driver and on a real one: an
 * arena, three streams, kernels that fill and check.
 */
#ifndef CUARENA_TEST_GRAPH_BENCH_H
#define CUARENA_TEST_GRAPH_BENCH_H

#include "support/cuda_kinds.h"
#include "support/cuda_test.h"

#define BENCH_BYTES KIB(64) /* of most blocks */
#define BENCH_POOL MIB(64)
#define BENCH_MODES 3 /* global, thread-local, relaxed */

typedef struct graph_bench {
    const cuda_test_t *cuda;
    cuai_cu_module_t module;
    cuai_cu_function_t fill;
    cuai_cu_function_t check;
    cuarena_t *arena;
    cuarena_stream_t s; /* is captured */
    cuarena_stream_t t; /* is forked into the capture, or captured too */
    cuarena_stream_t e; /* never is */
    void *bad[3];       /* of each stream: how many bytes were wrong */
} graph_bench_t;

/* On memory of a device, or as a text of options says; kernels are loaded. */
void open_bench(graph_bench_t *b, int32_t preset);
void open_bench_with(graph_bench_t *b, const char *options);
/* Nothing but what open_bench took lives, nothing was found wrong. */
void close_bench(graph_bench_t *b);
/* The bench of a test, opened; it is closed after the test. */
graph_bench_t *opened_bench(int32_t preset);
graph_bench_t *opened_bench_with(const char *options);
void expect_no_bad_bytes(const graph_bench_t *b);
#define expect_sound_arena(b) expect_valid_arena((b)->arena)
cuarena_stats_t stats_now(const graph_bench_t *b);

/* Each with the validator after it. */
void *bench_take(const graph_bench_t *b, uint64_t bytes, cuarena_stream_t stream);
void bench_free(const graph_bench_t *b, void *pointer, cuarena_stream_t stream);

void wait_for(const graph_bench_t *b, cuarena_stream_t stream);
void fill(const graph_bench_t *b, const void *at, uint64_t bytes, uint64_t seed,
          cuarena_stream_t stream);
void check(const graph_bench_t *b, const void *at, uint64_t bytes, uint64_t seed,
           cuarena_stream_t stream);
/* BENCH_BYTES of them. */
void copy(const graph_bench_t *b, void *to, const void *from, cuarena_stream_t stream);

void begin_capture(const graph_bench_t *b, cuarena_stream_t stream, int mode);
/* The capture is as it should be: a graph came out of it. */
cuai_cu_graph_exec_t end_capture(const graph_bench_t *b, cuarena_stream_t stream);

/* What a program does beside a capture, on this thread: every kind of call that the arena needs the
 * driver for. */
void work_beside(const graph_bench_t *b);

/* Eager blocks on the third stream, each with contents that are checked before it is freed; every
 * fourth time all that may move does. */
typedef struct eager {
    cuarena_block_t blocks[8];
    uint64_t seeds[8];
    random_state_t random;
} eager_t;

void eager_step(const graph_bench_t *b, eager_t *eager, int round);
void eager_end(const graph_bench_t *b, const eager_t *eager);

#endif
