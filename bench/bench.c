#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    cuarena_last_error_info(&info);
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), info.message);
    exit(EXIT_FAILURE);
}

void expect(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "failed: %s\n", what);
    exit(EXIT_FAILURE);
}

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void keep_best(double *best, double time)
{
    if (*best == 0 || time < *best)
        *best = time;
}

uint64_t mixed_size(random_state_t *random, uint64_t low, uint64_t high)
{
    double share = (double)(random_next(random) >> 11) * 0x1p-53;
    return (uint64_t)((double)low * exp(share * log((double)(high / low))));
}

cuarena_t *new_arena(uint64_t pool_bytes, uint64_t stable_bytes)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    config.memory = CUARENA_MEMORY_NONE;
    config.pool = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, pool_bytes};
    config.stable = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, stable_bytes};
    cuarena_t *arena;
    must(cuarena_create(&config, &arena));
    return arena;
}
