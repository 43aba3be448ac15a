/*
 * The rows of the conformance suite: every kind of arena, with calls that go to
 * no stream, to one, and to many. With CUARENA_TEST_CUDA they are the kinds
 * whose memory or streams a driver gives (cuda_kinds.h).
 */
#ifndef CUARENA_TEST_CONFORMANCE_ROWS_H
#define CUARENA_TEST_CONFORMANCE_ROWS_H

#include "support/fixture_streams.h"

#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_kinds.h"
/* Pageable memory too: its streams are a device's. */
#define PAGEABLE_ROWS 4
#define KIND_ROWS (CUDA_KIND_COUNT + PAGEABLE_ROWS)
#else
#define KIND_ROWS (ARENA_KIND_COUNT + ARENA_CHUNKS_COUNT)
#endif
#define ROWS (KIND_ROWS * STREAM_USES)

/* What a row's arena may hold: so many blocks of so many bytes. Half of them
 * are whole grains and, where holes can go back, each is. */
#define ROW_BLOCKS 8
uint64_t row_block_bytes(const arena_kind_t *kind);

const arena_kind_t *row_kind(int row);
stream_use_t row_use(int row);
/* Whether the kind's memory has such streams in this program. */
bool row_exists(int row);
/* "pool-vmm, many streams" */
const char *row_name(int row);

/* As fixture_prepare and fixture_open. */
void prepare_row(fixture_t *f, int row);
void open_row(fixture_t *f, int row);
/* As fixture_close; and the driver saw nothing wrong: no access was out of
 * order, for one. */
void close_row(fixture_t *f);
void close_row_forced(fixture_t *f);
/* What main returns. */
int rows_main(Suite *suite);

#endif
