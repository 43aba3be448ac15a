/*
 * What the benchmarks share: a clock, sizes, and an end to what fails.
 *
 *   best   the least of several times: what the machine can do when nothing
 *          else runs on it. Times that are compared are taken in turns.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdint.h>

#include "cuarena.h"
#include "support/random.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* Ends the program with the last error unless the status is OK. */
void must(cuarena_status_t status);
/* As must, for a condition. */
void expect(int condition, const char *what);

uint64_t now_ns(void);
/* Lowers *best to `time`, or sets it if it is 0. */
void keep_best(double *best, double time);

/* Of all powers of two between the bounds, each as often as another. */
uint64_t mixed_size(random_state_t *random, uint64_t low, uint64_t high);

/* An arena of addresses that nothing stands behind. */
cuarena_t *new_arena(uint64_t pool_bytes, uint64_t stable_bytes);

#endif
