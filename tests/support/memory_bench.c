#include "support/memory_bench.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"

cuarena_config_t bench_config_of(const char *options)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, options));
    if (config.grow < 0) /* as the preset says */
        config.grow = CUARENA_GROW_NONE;
    if (config.alignment == CUARENA_BYTES_PRESET)
        config.alignment = 256;
    config.in_place = 1;
    return config;
}

void open_memory(memory_bench_t *b, const char *options)
{
    *b = (memory_bench_t){.config = bench_config_of(options)};
    expect_ok(cuai_memory_open(&b->config, &b->memory));
}

/* Nothing of the driver's is left. */
void close_memory(memory_bench_t *b)
{
    cuai_memory_close(&b->memory);
    expect_nothing_left();
}

static memory_bench_t bench;

static void end_bench(void)
{
    close_memory(&bench);
}

memory_bench_t *opened_memory(const char *options)
{
    open_memory(&bench, options);
    after_test(end_bench);
    return &bench;
}

void bench_get(memory_bench_t *b, uint64_t bytes, uint64_t reserve)
{
    expect_ok(b->memory.ops.get(b->memory.user, bytes, reserve, &b->segment));
    expect_u64(b->segment.bytes, bytes);
    ck_assert_uint_ge(b->segment.address_bytes, bytes);
    ck_assert_uint_ne(b->segment.address, 0);
    ck_assert(cuai_is_aligned(b->segment.address, b->memory.ops.alignment));
}

void bench_give_back(memory_bench_t *b)
{
    b->memory.ops.give_back(b->memory.user, &b->segment);
}

void *bench_at(const memory_bench_t *b, uint64_t offset)
{
    return (void *)(uintptr_t)(b->segment.address + offset);
}

picture_t bench_draw(const memory_bench_t *b, uint64_t seed)
{
    picture_t picture = {malloc(PLAYGROUND), malloc(PLAYGROUND)};
    ck_assert(picture.want != NULL && picture.got != NULL);
    paint_bytes(picture.want, PLAYGROUND, seed);
    arena_reach->write(bench_at(b, 0), picture.want, PLAYGROUND);
    return picture;
}

void expect_picture(const memory_bench_t *b, picture_t *picture)
{
    arena_reach->read(picture->got, bench_at(b, 0), PLAYGROUND);
    for (uint64_t i = 0; i < PLAYGROUND; i++)
        if (picture->want[i] != picture->got[i])
            ck_abort_msg("byte %llu is %d, expected %d", (unsigned long long)i, picture->got[i],
                         picture->want[i]);
    free(picture->want);
    free(picture->got);
}

void bench_move(const memory_bench_t *b, picture_t *picture, uint64_t to, uint64_t from,
                uint64_t bytes, cuarena_relocation_t *entry)
{
    *entry = (cuarena_relocation_t){0, bench_at(b, from), bench_at(b, to), bytes};
    memmove(picture->want + to, picture->want + from, bytes);
}
