/*
 * The rows of the conformance suite: every kind of arena, with calls that go to no stream, to one,
 * and to many. With CUARENA_TEST_CUDA they are the kinds whose memory or streams a driver gives.
 */
#ifndef CUARENA_TEST_CONFORMANCE_ROWS_H
#define CUARENA_TEST_CONFORMANCE_ROWS_H

#include "support/fixture_streams.h"

#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_kinds.h"
/* Pageable memory too: its streams are a device's. */
#define PAGEABLE_ROWS 7
#define KIND_ROWS (DEVICE_KIND_COUNT + PAGEABLE_ROWS)
#else
#define KIND_ROWS HOST_KIND_COUNT
#endif
#define ROWS (KIND_ROWS * STREAM_USES)

/* What a row's arena may hold: so many blocks of so many bytes. Half of them are whole pages and,
 * where holes can go back, or blocks that were cached do, each is. */
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
/* So many blocks of a row are the stable region. False: there can be none. */
bool open_with_stable(fixture_t *f, int row, uint64_t stable);
/* Frees those of ROW_BLOCKS blocks whose bit is set. */
void free_some(fixture_t *f, cuarena_block_t *row, unsigned bits);
/* As fixture_close; and the driver saw nothing wrong: no access was out of order, for one. */
void close_row(fixture_t *f);
void close_row_forced(fixture_t *f);

/* The fixture of a test, which is closed after it. */
fixture_t *new_row(void);
fixture_t *prepared_row(int row);
fixture_t *opened_row(int row);
/* An arena that was given all it may hold, and then all of it back: it has one free range, or one
 * cached block, or nothing. */
fixture_t *opened_used(int row);
/* The same with nothing cached, so that rows are sure. */
fixture_t *opened_full(int row);

/* ---- What differs between rows ------------------------------------------ */

bool has(const fixture_t *f, uint32_t trait);
/* What a request of so many bytes takes, and what its place is a multiple of.
 */
uint64_t rounded(const fixture_t *f, uint64_t bytes);
uint64_t least_alignment(const fixture_t *f, uint64_t bytes);
uint64_t cached_blocks(const fixture_t *f);
/* Whether a request finds room though the free bytes are apart: what is cached or free goes back,
 * and the arena grows elsewhere. */
bool serves_apart(const fixture_t *f);
/* Whether bytes that are not kept went back by the end of a free. */
bool gives_at_once(const fixture_t *f);
/* Three blocks beside each other were freed, and all others live: they are one range; or three
 * cached blocks; or gone. */
void expect_three_free(fixture_t *f, uint64_t each);
/* `status` is OK; UNSUPPORTED where each block is a segment, and then false. */
bool is_offered(const fixture_t *f, cuarena_status_t status);

/* What main returns. */
int rows_main(Suite *suite);

#endif
