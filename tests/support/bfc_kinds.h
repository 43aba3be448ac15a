/*
 * The preset bfc on each memory, for the programs that show what ONNX Runtime's own tests show of
 * its arena, under the names that they have there. Amounts are rounded up to the memory's
 * granularity, as check_growth.c shows byte by byte.
 *
 * Left out are those of the driver's pool, which no preset has yet. With CUARENA_TEST_CUDA it is
 * memory that a driver gives.
 */
#ifndef CUARENA_TEST_BFC_KINDS_H
#define CUARENA_TEST_BFC_KINDS_H

#include "arena_rows.h"

#include <cuarena/device.h>
#include <cuarena/shared.h>
#include <cuarena/stats.h>
#include <cuarena/streams.h>
#include <stdbool.h>

#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_kinds.h"
#define BFC_KINDS 5
#else
#define BFC_KINDS 4
#endif
extern const arena_kind_t *const bfc_kinds[BFC_KINDS];

/* With these options and no limit but the memory's; as `opened`. */
fixture_t *bfc_opened(int kind, const char *options);
/* A limit, in a text, as max_mem and as the first chunk. */
#define BUDGET(limit) "arena.max_mem=" limit ",arena.initial_chunk_size_bytes=" limit
void bfc_run(int kind, const arena_row_t *row);

/* In whole pages of the memory. */
uint64_t up(const fixture_t *f, uint64_t bytes);
uint64_t growths(const fixture_t *f);
cuarena_ort_stats_t figures(const fixture_t *f);
void shrink(fixture_t *f);
void expect_refused_config(const char *key, const char *value, const char *accepted);

/* A case whose tests run once per kind. */
void add_per_bfc_kind(Suite *suite, const char *name, const TTest *const *tests);
/* A case of a test for each row and kind: its _i is row * BFC_KINDS + kind. */
void add_bfc_rows(Suite *suite, const char *name, const TTest *test, size_t rows);

#endif
