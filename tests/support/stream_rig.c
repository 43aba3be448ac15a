/* See stream_rig.h. */
#include "stream_rig.h"

#include <check.h>
#include <string.h>

void rig_prepare(rig_t *rig, uint64_t bytes, bool host_readable)
{
    memset(rig, 0, sizeof *rig);
    sim_open(&rig->sim, 1, host_readable);
    sim_stream_make(&rig->sim, A);
    sim_stream_make(&rig->sim, B);
    sim_stream_make(&rig->sim, C);
    cuarena_config_init(&rig->config);
    rig->config.memory = CUARENA_MEMORY_CUSTOM;
    rig->config.ops = &rig->sim.ops;
    rig->config.ops_user = &rig->sim;
    rig->config.unknown_keys = CUARENA_UNKNOWN_WARN; /* tests choose presets */
    rig->config.pool = (cuarena_amount_t){.value = bytes};
    rig->config.address_bytes = 16 * bytes; /* for resize_pool */
    rig->config.stable = (cuarena_amount_t){.value = 0};
}

void rig_create(rig_t *rig)
{
    expect_ok(cuarena_create(&rig->config, &rig->arena));
    sim_calls(&rig->sim);
}

void rig_open(rig_t *rig, uint64_t bytes)
{
    rig_prepare(rig, bytes, false);
    rig_create(rig);
}

void expect_clean_at(rig_t *rig, const char *file, int line)
{
    char text[256] = "";
    if (rig->arena != NULL)
        cuarena_validate(rig->arena, text, sizeof text);
    if (text[0] != '\0')
        _ck_assert_failed(file, line, "validate", "%s", text);
    if (rig->sim.faults != 0)
        _ck_assert_failed(file, line, "fault", "%u faults; the first: %s", rig->sim.faults,
                          rig->sim.fault);
    mark_point();
}

static void end(rig_t *rig)
{
    rig->arena = NULL;
    sim_close(&rig->sim);
    expect_clean(rig);
    rig->sim.stream_count = 0;
}

void rig_close(rig_t *rig)
{
    expect_clean(rig);
    sim_sync_all(&rig->sim);
    expect_ok(cuarena_destroy(&rig->arena));
    ck_assert_ptr_null(rig->arena);
    end(rig);
}

void rig_close_forced(rig_t *rig)
{
    expect_clean(rig);
    expect_ok(cuarena_destroy_forced(&rig->arena));
    end(rig);
}

static rig_t test_rig;

static void end_test_rig(void)
{
    if (test_rig.arena != NULL)
        rig_close(&test_rig);
    else if (test_rig.sim.stream_count != 0) /* the test has destroyed its arena */
        end(&test_rig);
}

rig_t *new_rig(void)
{
    after_test(end_test_rig);
    return &test_rig;
}

rig_t *prepared_rig(uint64_t bytes, bool host_readable)
{
    rig_t *rig = new_rig();
    rig_prepare(rig, bytes, host_readable);
    return rig;
}

rig_t *opened_rig(uint64_t bytes)
{
    rig_t *rig = new_rig();
    rig_open(rig, bytes);
    return rig;
}

void *take_on(rig_t *rig, uint64_t bytes, cuarena_stream_t stream)
{
    void *pointer = NULL;
    expect_ok(cuarena_alloc_on(rig->arena, bytes, stream, NULL, &pointer));
    ck_assert_ptr_nonnull(pointer);
    expect_clean(rig);
    return pointer;
}

void *use_anew(rig_t *rig, uint64_t bytes, cuarena_stream_t stream)
{
    void *pointer = take_on(rig, bytes, stream);
    sim_write(&rig->sim, stream, pointer, bytes, 51);
    expect_clean(rig);
    free_on(rig, pointer, stream);
    return pointer;
}

static void *pin_on(rig_t *rig, cuarena_block_t block, cuarena_stream_t stream)
{
    void *pointer = NULL;
    expect_ok(cuarena_block_pin_on(rig->arena, block, stream, &pointer));
    return pointer;
}

static void unpin_on(rig_t *rig, cuarena_block_t block, cuarena_stream_t stream)
{
    expect_ok(cuarena_block_unpin_on(rig->arena, block, stream));
    expect_clean(rig);
}

void write_block_on(rig_t *rig, cuarena_block_t block, uint64_t bytes, cuarena_stream_t stream,
                    uint64_t seed)
{
    sim_write(&rig->sim, stream, pin_on(rig, block, stream), bytes, seed);
    unpin_on(rig, block, stream);
}

void read_block_on(rig_t *rig, cuarena_block_t block, uint64_t bytes, cuarena_stream_t stream,
                   uint64_t seed)
{
    sim_read(&rig->sim, stream, pin_on(rig, block, stream), bytes, seed);
    unpin_on(rig, block, stream);
}

void *take_plain(rig_t *rig, uint64_t bytes)
{
    void *pointer = NULL;
    expect_ok(cuarena_alloc(rig->arena, bytes, &pointer));
    expect_clean(rig);
    return pointer;
}

cuarena_block_t take_block_on(rig_t *rig, uint64_t bytes, cuarena_stream_t stream)
{
    cuarena_block_t block = 0;
    expect_ok(cuarena_block_alloc_on(rig->arena, bytes, stream, NULL, &block));
    expect_clean(rig);
    return block;
}

void take_row_on(rig_t *rig, cuarena_block_t *blocks, size_t count, cuarena_stream_t stream)
{
    uint64_t bytes = rig->config.pool.value / count;
    for (size_t i = 0; i < count; i++) {
        cuarena_block_t block = take_block_on(rig, bytes, stream);
        size_t at = i;
        for (; at > 0 && place_of(rig, blocks[at - 1]) > place_of(rig, block); at--)
            blocks[at] = blocks[at - 1];
        blocks[at] = block;
    }
}

void free_plain(rig_t *rig, void *pointer)
{
    expect_ok(cuarena_free(rig->arena, pointer));
    expect_clean(rig);
}

void free_on(rig_t *rig, void *pointer, cuarena_stream_t stream)
{
    expect_ok(cuarena_free_on(rig->arena, pointer, stream));
    expect_clean(rig);
}

cuarena_status_t try_on(rig_t *rig, uint64_t bytes, cuarena_stream_t stream, void **pointer_out)
{
    void *pointer = NULL;
    cuarena_status_t status = cuarena_alloc_on(rig->arena, bytes, stream, NULL, &pointer);
    if (pointer_out != NULL)
        *pointer_out = pointer;
    if (status == CUARENA_OK)
        free_on(rig, pointer, stream);
    expect_clean(rig);
    return status;
}

cuarena_stats_t rig_stats(rig_t *rig)
{
    return arena_stats(rig->arena);
}

uint64_t rig_reserved(rig_t *rig)
{
    return rig_stats(rig).reserved_bytes;
}

cuarena_stats_t rig_stream_stats(rig_t *rig, cuarena_stream_t stream)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_stream_stats(rig->arena, stream, &stats));
    return stats;
}

void *place_of(rig_t *rig, cuarena_block_t block)
{
    cuarena_block_info_t info;
    expect_ok(cuarena_block_info(rig->arena, block, &info));
    return info.address;
}
