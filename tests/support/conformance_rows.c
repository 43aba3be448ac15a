#include "support/conformance_rows.h"

#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_expect.h"
#include "support/cuda_work.h"
#endif

#include <stdio.h>

/* ---- What differs between the programs --------------------------------- */

#if defined(CUARENA_TEST_CUDA)

#define WORK (&cuda_work)

static const arena_kind_t *kind_at(int kind)
{
    static const int pageable[PAGEABLE_ROWS] = {POOL_PAGEABLE,      GROW_PAGEABLE, BFC_PAGEABLE,
                                                BFC_EXACT_PAGEABLE, CUPY_PAGEABLE, MLX_CPU_PAGEABLE,
                                                MLX_CUDA_PAGEABLE};
    return kind < DEVICE_KIND_COUNT ? &cuda_kinds[kind]
                                    : &arena_kinds[pageable[kind - DEVICE_KIND_COUNT]];
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
    if (kind->memory != CUARENA_MEMORY_DEVICE && kind->memory != CUARENA_MEMORY_PINNED &&
        kind->memory != CUARENA_MEMORY_MANAGED)
        return KIB(64);
    return kind->traits & (KIND_GIVES_BACK | KIND_CACHES) ? MIB(2) : KIB(512);
}

void prepare_row(fixture_t *f, int row)
{
    const arena_kind_t *kind = row_kind(row);
    fixture_prepare(f, kind, ROW_BLOCKS * row_block_bytes(kind));
    f->config.steal = CUARENA_STEAL_FIRST; /* what the suite counts on */
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

fixture_t *new_row(void)
{
    return new_fixture(close_row);
}

fixture_t *prepared_row(int row)
{
    fixture_t *f = new_row();
    prepare_row(f, row);
    return f;
}

fixture_t *opened_row(int row)
{
    fixture_t *f = new_row();
    open_row(f, row);
    return f;
}

fixture_t *opened_used(int row)
{
    fixture_t *f = opened_row(row);
    free_ok(f, alloc_ok(f, ROW_BLOCKS * row_block_bytes(f->kind)));
    step_ok(f, cuarena_reset_peaks(f->arena));
    return f;
}

fixture_t *opened_full(int row)
{
    fixture_t *f = opened_used(row);
    step_ok(f, cuarena_cache_clear(f->arena, NULL));
    return f;
}

/* ---- What differs between rows ------------------------------------------ */

bool has(const fixture_t *f, uint32_t trait)
{
    return (f->kind->traits & trait) != 0;
}

static uint64_t power_above(uint64_t bytes)
{
    uint64_t power = 1;
    while (power < bytes)
        power *= 2;
    return power;
}

static uint64_t multiple(uint64_t bytes, uint64_t of)
{
    return (bytes + of - 1) / of * of;
}

uint64_t rounded(const fixture_t *f, uint64_t bytes)
{
    switch (f->kind->preset) {
    case CUARENA_PRESET_MLX_CPU:
        return multiple(bytes, 16);
    case CUARENA_PRESET_MLX_CUDA:
        return bytes < KIB(16) ? power_above(bytes) : multiple(bytes, KIB(16));
    case CUARENA_PRESET_CUPY_POOL:
    case CUARENA_PRESET_DRIVER_POOL:
        return multiple(bytes, 512);
    default:
        return multiple(bytes, 256);
    }
}

uint64_t least_alignment(const fixture_t *f, uint64_t bytes)
{
    uint64_t power = power_above(bytes);
    switch (f->kind->preset) {
    case CUARENA_PRESET_MLX_CPU:
        return 16;
    case CUARENA_PRESET_MLX_CUDA:
        return power < 8 ? 8 : power > 256 ? 256 : power;
    default:
        return 256;
    }
}

uint64_t cached_blocks(const fixture_t *f)
{
    return cache_stats_of(f).cached_blocks;
}

bool serves_apart(const fixture_t *f)
{
    return has(f, KIND_GROWS) && has(f, KIND_GIVES_BACK | KIND_CACHES | KIND_EACH);
}

bool gives_at_once(const fixture_t *f)
{
    return has(f, KIND_EACH) || (has(f, KIND_CACHES) && f->work == NULL);
}

void expect_three_free(fixture_t *f, uint64_t each)
{
    bool apart = has(f, KIND_CACHES | KIND_EACH);
    reclaim(f);
    expect_u64(inspection_of(f, CUARENA_REGION_DYNAMIC).ranges, apart ? 0 : 1);
    expect_u64(cached_blocks(f), has(f, KIND_CACHES) ? 3 : 0);
    if (has(f, KIND_EACH))
        expect_u64(reserved_bytes(f), (ROW_BLOCKS - 3) * each);
}

bool is_offered(const fixture_t *f, cuarena_status_t status)
{
    expect_sound(f);
    expect_status(status, has(f, KIND_EACH) ? CUARENA_UNSUPPORTED : CUARENA_OK);
    return status == CUARENA_OK;
}

bool open_with_stable(fixture_t *f, int row, uint64_t stable)
{
    prepare_row(f, row);
    f->config.stable = amount_of_bytes(stable * row_block_bytes(f->kind));
    if (has(f, KIND_EACH)) {
        expect_status(cuarena_create(&f->config, &f->arena), CUARENA_BAD_ARGUMENT);
        return false;
    }
    fixture_create(f);
    return true;
}

void free_some(fixture_t *f, cuarena_block_t *row, unsigned bits)
{
    for (size_t i = 0; i < ROW_BLOCKS; i++)
        if (bits >> i & 1) {
            free_block(f, row[i]);
            row[i] = 0;
        }
}
