/* An arena on simulated streams, for the tests of streams. */
#ifndef CUARENA_TEST_STREAM_RIG_H
#define CUARENA_TEST_STREAM_RIG_H

#include "configs.h"
#include "expect.h"
#include "sim_streams.h"

/* Streams that every rig has. */
#define A sim_handle(1)
#define B sim_handle(2)
#define C sim_handle(3)

typedef struct rig {
    sim_t sim;
    cuarena_config_t config;
    cuarena_t *arena;
} rig_t;

/* Fills rig->config for a pool of `bytes`; a test may change it. */
void rig_prepare(rig_t *rig, uint64_t bytes, bool host_readable);
void rig_create(rig_t *rig);
/* Both, on memory of a device. */
void rig_open(rig_t *rig, uint64_t bytes);
/* Runs all work, destroys the arena, in which nothing lives, and expects that no fault was seen. */
void rig_close(rig_t *rig);
/* The same with blocks that live. */
void rig_close_forced(rig_t *rig);
/* The rig of a test, opened, prepared, or still to be; after the test it is closed as rig_close
 * does it, but for an arena that is gone by then. */
rig_t *opened_rig(uint64_t bytes);
rig_t *prepared_rig(uint64_t bytes, bool host_readable);
rig_t *new_rig(void);
/* Nothing wrong so far: neither in the sim nor for the validator. */
#define expect_clean(rig) expect_clean_at((rig), __FILE__, __LINE__)
void expect_clean_at(rig_t *rig, const char *file, int line);
/* No call of the memory since the last time that was asked. */
#define expect_no_calls(rig) expect_u64(sim_calls(&(rig)->sim), 0)

void *take_on(rig_t *rig, uint64_t bytes, cuarena_stream_t stream);
/* Takes bytes, writes to them and frees them, all on the stream: a race if whoever had them before
 * is not done. Gives where they were. */
void *use_anew(rig_t *rig, uint64_t bytes, cuarena_stream_t stream);
/* A kernel on the first bytes of a block, as a program must write it. */
void write_block_on(rig_t *rig, cuarena_block_t block, uint64_t bytes, cuarena_stream_t stream,
                    uint64_t seed);
void read_block_on(rig_t *rig, cuarena_block_t block, uint64_t bytes, cuarena_stream_t stream,
                   uint64_t seed);
void *take_plain(rig_t *rig, uint64_t bytes);
cuarena_block_t take_block_on(rig_t *rig, uint64_t bytes, cuarena_stream_t stream);
/* `count` blocks that fill the pool, in address order. */
void take_row_on(rig_t *rig, cuarena_block_t *blocks, size_t count, cuarena_stream_t stream);
void free_plain(rig_t *rig, void *pointer);
void free_on(rig_t *rig, void *pointer, cuarena_stream_t stream);
/* What a request on the stream comes to; what it gets is freed again at once, on the same stream,
 * if it was not NULL. */
cuarena_status_t try_on(rig_t *rig, uint64_t bytes, cuarena_stream_t stream, void **pointer_out);
cuarena_stats_t rig_stats(rig_t *rig);
uint64_t rig_reserved(rig_t *rig);
cuarena_stats_t rig_stream_stats(rig_t *rig, cuarena_stream_t stream);
/* Where a block is now. */
void *place_of(rig_t *rig, cuarena_block_t block);

#endif
