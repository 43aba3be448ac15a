/* That what no block has is 0: see arena_support.h. */
#include "arena_support.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fixture_zero_free(fixture_t *f)
{
    f->config.zero = CUARENA_ZERO_FREE;
    f->memory.quiet = 1;
    f->memory.wants_zeros = 1;
    if (f->bytes != NULL && !(f->kind->traits & KIND_DEVICE))
        memset(f->bytes, 0, f->bytes_size);
}

/* Copies bytes that may be out of reach, a page at most; false: they are. */
static bool copy_readable(const void *from, size_t bytes, unsigned char *to)
{
    static int ends[2];
    if (ends[1] == 0)
        ck_assert_int_eq(pipe(ends), 0);
    ssize_t written = write(ends[1], from, bytes);
    if (written < 0)
        ck_assert_int_eq(errno, EFAULT);
    return written >= 0 && read(ends[0], to, bytes) == (ssize_t)bytes;
}

#define PAGE KIB(4)

static void expect_gap_is_zero(const fixture_t *f, uint64_t begin, uint64_t end)
{
    static const unsigned char zeros[PAGE];
    unsigned char copy[PAGE];
    while (begin < end) {
        uint64_t stop = (begin / PAGE + 1) * PAGE;
        size_t bytes = (size_t)((stop < end ? stop : end) - begin);
        bool there = copy_readable((void *)(uintptr_t)begin, bytes, copy);
        bool zero = there && memcmp(copy, zeros, bytes) == 0;
        for (size_t i = 0; there && !zero && i < bytes; i++)
            if (copy[i] != 0)
                ck_abort_msg("%s: 0x%02x at %#llx, which no block has; "
                             "expected 0",
                             f->kind->name, copy[i], (unsigned long long)begin + i);
        begin += bytes;
    }
}

static int by_address(const void *a, const void *b)
{
    uintptr_t one = (uintptr_t)((const cuarena_block_info_t *)a)->address;
    uintptr_t other = (uintptr_t)((const cuarena_block_info_t *)b)->address;
    return one < other ? -1 : one > other;
}

#define BLOCKS_MOST 1024

static void expect_span_is_zero(const fixture_t *f, const cuarena_block_info_t *infos, size_t count,
                                uint64_t begin, uint64_t bytes)
{
    uint64_t at = begin;
    for (size_t i = 0; i < count; i++) {
        uint64_t address = (uint64_t)(uintptr_t)infos[i].address;
        if (address < begin || address >= begin + bytes)
            continue;
        expect_gap_is_zero(f, at, address);
        at = address + infos[i].allocated;
    }
    expect_gap_is_zero(f, at, begin + bytes);
}

void expect_free_is_zero(fixture_t *f)
{
    static cuarena_block_info_t infos[BLOCKS_MOST];
    uint64_t cursor = 0, bytes = 0;
    size_t count = 0;
    void *base = NULL;
    int32_t memory = f->kind->memory;
    bool begins_as_zero = memory == CUARENA_MEMORY_PAGEABLE || memory == CUARENA_MEMORY_BYTES ||
                          memory == CUARENA_MEMORY_CUSTOM;
    if (f->config.zero != CUARENA_ZERO_FREE || !begins_as_zero || (f->kind->traits & KIND_DEVICE))
        return;
    expect_ok(cuarena_blocks(f->arena, &cursor, infos, BLOCKS_MOST, &count));
    ck_assert_uint_lt(count, BLOCKS_MOST);
    qsort(infos, count, sizeof *infos, by_address);
    if (memory != CUARENA_MEMORY_CUSTOM && cuarena_base(f->arena, &base, &bytes) == CUARENA_OK)
        expect_span_is_zero(f, infos, count, (uint64_t)(uintptr_t)base, bytes);
    for (size_t i = 0; i < MEMORY_SEGMENTS_MAX; i++)
        if (f->memory.segments[i].address != 0)
            expect_span_is_zero(f, infos, count, f->memory.segments[i].address,
                                f->memory.segments[i].bytes);
}
