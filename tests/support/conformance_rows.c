#include "support/conformance_rows.h"

#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_expect.h"
#include "support/cuda_work.h"
#endif

#include <stdio.h>

/* ---- What differs between the programs --------------------------------- */

#if defined(CUARENA_TEST_CUDA)

#define WORK (&cuda_work)

/* The first kind of each preset in arena_kinds is pageable. */
static const arena_kind_t *kind_at(int kind)
{
    if (kind >= CUDA_KIND_COUNT)
        return &arena_kinds[(kind - CUDA_KIND_COUNT) * ARENA_MEMORY_COUNT];
    return &cuda_kinds[kind];
}

static bool has_streams(const arena_kind_t *kind)
{
    (void)kind;
    return true;
}

static void expect_clean_driver(void)
{
    expect_no_report();
}

int rows_main(Suite *suite)
{
    return cuda_kinds_main(suite);
}

#else

#define WORK (&no_work)

static const arena_kind_t *kind_at(int kind)
{
    return &arena_kinds[kind];
}

static bool has_streams(const arena_kind_t *kind)
{
    return kind->memory == CUARENA_MEMORY_NONE;
}

static void expect_clean_driver(void)
{
}

int rows_main(Suite *suite)
{
    return suite_main(suite);
}

#endif

/* ---- Rows -------------------------------------------------------------- */

const arena_kind_t *row_kind(int row)
{
    return kind_at(row / STREAM_USES);
}

stream_use_t row_use(int row)
{
    return (stream_use_t)(row % STREAM_USES);
}

bool row_exists(int row)
{
    return row_use(row) == STREAMS_NONE || has_streams(row_kind(row));
}

const char *row_name(int row)
{
    static char names[ROWS][64];
    snprintf(names[row], sizeof names[row], "%s, %s", row_kind(row)->name,
             stream_use_names[row_use(row)]);
    return names[row];
}

uint64_t row_block_bytes(const arena_kind_t *kind)
{
    if (kind->memory != CUARENA_MEMORY_DEVICE &&
        kind->memory != CUARENA_MEMORY_PINNED &&
        kind->memory != CUARENA_MEMORY_MANAGED)
        return KIB(64);
    return kind->traits & KIND_GIVES_BACK ? MIB(2) : KIB(512);
}

void prepare_row(fixture_t *f, int row)
{
    const arena_kind_t *kind = row_kind(row);
    fixture_prepare(f, kind, ROW_BLOCKS * row_block_bytes(kind));
    f->config.steal = CUARENA_STEAL_WAIT; /* what the suite counts on */
    fixture_use_streams(f, row_use(row), WORK);
}

void open_row(fixture_t *f, int row)
{
    prepare_row(f, row);
    fixture_create(f);
}

void close_row(fixture_t *f)
{
    fixture_close(f);
    expect_clean_driver();
}

void close_row_forced(fixture_t *f)
{
    fixture_close_forced(f);
    expect_clean_driver();
}
