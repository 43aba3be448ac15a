/* An arena with a cache of freed blocks, for the tests of its rules; the validator comes after each
 * call. */
#ifndef CUARENA_TEST_CACHE_RIG_H
#define CUARENA_TEST_CACHE_RIG_H

#include "arena_support.h"

/* The arena of the test; nothing else of the fixture is set. */
extern fixture_t cached;

/* Addresses without bytes, in pages of a granule, so that what is held is
 * known byte by byte. */
#define CPU "preset=mlx-cpu,memory=none,handle=16,limit=1TiB"
#define CPU8 "preset=mlx-cpu,memory=none,alignment=8,handle=8,limit=1TiB"
#define CUDA "preset=mlx-cuda,memory=none,handle=256,limit=1TiB"

void open_cache(const char *text);
void set(const char *key, const char *value, cuarena_config_t *config);
cuarena_cache_stats_t figures(void);
void expect_bytes(uint64_t active, uint64_t in_cache);
void *get(uint64_t bytes);
void give(void *pointer);
uint64_t set_limit(int32_t kind, uint64_t bytes);
uint64_t release(uint64_t bytes);
uint64_t clear_cache(void);
/* Nothing lives; what is cached is no leak. */
void close_cache(void);
/* A cached block of each capacity, in that order. */
void fill_cache(const uint64_t *sizes, size_t count, void **at);

#endif
