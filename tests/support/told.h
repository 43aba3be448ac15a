/*
 * What a tool was told by NVTX, where one listens: tests/nvtx/recorder.c, which CUARENA_TEST_NVTX
 * and NVTX_INJECTION64_PATH name. Then arenas of tests tell it of any memory, and each look at an
 * arena compares its blocks with the tool's regions; and the stand-in reports work that uses bytes
 * of an arena which were no block's when it was queued (STANDIN_ASTRAY). Tests that use such bytes
 * on purpose say fixture_tells_nothing (fixture.h). Elsewhere nothing is done.
 *
 * The stage `nvtx` of scripts/check runs nvtx_tests so.
 */
#ifndef CUARENA_TEST_TOLD_H
#define CUARENA_TEST_TOLD_H

#include "nvtx/recorder.h"

#include <cuarena.h>

/* Its functions; NULL: it does not listen. */
typedef struct recorder {
#define RECORDER_MEMBER(type, name, parameters) type(*name) parameters;
    RECORDER_CALLS(RECORDER_MEMBER)
#undef RECORDER_MEMBER
} recorder_t;
const recorder_t *recorder(void);

/* What `nvtx` of a config is for arenas of tests that want no other value. */
int32_t nvtx_for_tools(void);

/* Each block of a caller's is a region of as many bytes as were asked for, or in a larger one where
 * nvtx/regions.h says so, and the tool was told of nothing that is wrong. An arena that tells
 * nothing is fine. */
#define expect_told(arena) expect_told_at((arena), __FILE__, __LINE__)
void expect_told_at(cuarena_t *arena, const char *file, int line);

#endif
