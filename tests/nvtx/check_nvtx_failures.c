/*
 * What a tool is told by NVTX where the host has no memory for a part of it: each allocation of
 * host memory is refused once, and every call that says OK has a block that the tool lets programs
 * use. It looks inside, since only there host memory can be refused.
 */
#include "support/each_failure.h"
#include "support/fixture.h"
#include "support/told.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SKIPPED 77
#define BLOCKS 6

static const char *options; /* of the arenas of a test */

static void expect_usable(cuarena_t *arena, cuarena_block_t block, uint64_t bytes)
{
    cuarena_block_info_t info;
    expect_ok(cuarena_block_info(arena, block, &info));
    ck_assert(recorder()->recorder_may_use((uint64_t)(uintptr_t)info.address, bytes));
}

static cuarena_status_t move_some(cuarena_t *arena, cuarena_block_t *blocks)
{
    for (size_t i = 0; i < BLOCKS; i += 2) {
        expect_ok(cuarena_block_free(arena, blocks[i]));
        blocks[i] = 0;
    }
    cuarena_status_t status = cuarena_compact(arena, NULL, NULL, NULL, NULL);
    for (size_t i = 1; i < BLOCKS; i += 2)
        expect_usable(arena, blocks[i], 100 + i);
    return status;
}

static cuarena_status_t use(cuarena_t *arena)
{
    cuarena_block_t blocks[BLOCKS] = {0};
    cuarena_status_t status = CUARENA_OK;
    for (size_t i = 0; i < BLOCKS && status == CUARENA_OK; i++) {
        status = cuarena_block_alloc(arena, 100 + i, &blocks[i]);
        if (status == CUARENA_OK)
            expect_usable(arena, blocks[i], 100 + i);
    }
    if (status == CUARENA_OK)
        status = cuarena_block_resize(arena, blocks[1], 5000);
    if (status == CUARENA_OK) {
        expect_usable(arena, blocks[1], 5000);
        expect_ok(cuarena_block_resize(arena, blocks[1], 101));
        status = move_some(arena, blocks);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        if (blocks[i] != 0)
            expect_ok(cuarena_block_free(arena, blocks[i]));
    return status;
}

static cuarena_status_t life(void)
{
    cuarena_t *arena = NULL;
    cuarena_status_t status = cuarena_open(options, &arena);
    if (status == CUARENA_OK) {
        status = use(arena);
        expect_ok(cuarena_destroy_forced(&arena));
    }
    ck_assert_uint_eq(recorder()->recorder_heaps_now(), 0);
    ck_assert_uint_eq(recorder()->recorder_regions_now(), 0);
    expect_u64(recorder()->recorder_counts().mistakes, 0);
    return status;
}

static const char *const arenas[] = {
    "nvtx=on, pool=256KiB",
    "nvtx=on, preset=grow, limit=256KiB",
    "nvtx=on, pool=256KiB, zero=free",
    "nvtx=on, pool=256KiB, guard=64, fill=both",
    "nvtx=on, preset=mlx-cpu, limit=1MiB",
};

START_TEST(host_memory_is_refused)
{
    options = arenas[_i];
    expect_ok(life());
    each_allocation_fails(life);
    ck_assert_uint_ne(recorder()->recorder_counts().resets, 0); /* a heap was opened */
}
END_TEST

int main(void)
{
    const char *tool = getenv("CUARENA_TEST_NVTX");
    if (tool == NULL || access(tool, R_OK) != 0) {
        puts("skipped: CUARENA_TEST_NVTX names no tool, which a shared build makes");
        return SKIPPED;
    }
    setenv("NVTX_INJECTION64_PATH", tool, 1);
    Suite *suite = suite_create("nvtx failures");
    suite_add_rows(suite, "arenas", host_memory_is_refused, COUNT_OF(arenas));
    return suite_main(suite);
}
