/*
 * A memory of a device and one segment of it, without an arena; and bytes that are moved in it,
 * beside the same moved by the CPU. A fixture (fixture.h) has an arena, which calls its memory by
 * itself; here the test does.
 */
#ifndef CUARENA_TEST_MEMORY_BENCH_H
#define CUARENA_TEST_MEMORY_BENCH_H

#include "memory/memory.h"
#include "support/cuda_kinds.h"

#define GRANULARITY MIB(2)
#define PLAYGROUND (8 * GRANULARITY)

typedef struct memory_bench {
    cuarena_config_t config;
    cuai_memory_t memory;
    cuarena_memory_segment_t segment;
} memory_bench_t;

/* What the bytes are to be, moved by memmove. */
typedef struct picture {
    char *want;
    char *got;
} picture_t;

cuarena_config_t bench_config_of(const char *options);
void open_memory(memory_bench_t *b, const char *options);
/* Nothing of the driver's is left. */
void close_memory(memory_bench_t *b);
/* The bench of a test, opened; it is closed after the test. */
memory_bench_t *opened_memory(const char *options);
void bench_get(memory_bench_t *b, uint64_t bytes, uint64_t reserve);
void bench_give_back(memory_bench_t *b);
/* The address of a byte of the segment. */
void *bench_at(const memory_bench_t *b, uint64_t offset);

/* Paints PLAYGROUND bytes of the segment. */
picture_t bench_draw(const memory_bench_t *b, uint64_t seed);
/* Fails unless they are as they should be; frees the picture. */
void expect_picture(const memory_bench_t *b, picture_t *picture);
/* The entry of a list that moves the bytes, and moves those of the picture. */
void bench_move(const memory_bench_t *b, picture_t *picture, uint64_t to, uint64_t from,
                uint64_t bytes, cuarena_relocation_t *entry);

#endif
