/*
 * A tool for NVTX (NVTX_INJECTION64_PATH) that keeps what it is told: heaps, regions and ranges, as
 * they are now. It takes the place of compute-sanitizer and of a profiler in tests.
 *
 * What a tool may not be told is a mistake: a region outside of its heap, or over another one; the
 * end or another size of one that is not there; heaps that overlap; a heap of device memory while
 * no context is current, or that begins within an allocation; a range that ends and did not begin.
 * Mistakes are counted, and printed to stderr.
 *
 * Environment, read when the tool is loaded:
 *   RECORDER_LACKS   comma-separated: memory, ranges, names, resize, all: what it does not take
 */
#ifndef CUARENA_TEST_RECORDER_H
#define CUARENA_TEST_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts since the tool was loaded. */
typedef struct recorder_counts {
    uint64_t calls; /* of all kinds */
    uint64_t heaps;
    uint64_t resets; /* of heaps */
    uint64_t begun;  /* regions */
    uint64_t resized;
    uint64_t ended;
    uint64_t ranges;
    uint64_t mistakes;
} recorder_counts_t;

typedef struct recorder_region {
    uint64_t address;
    uint64_t bytes;
    char name[64];
} recorder_region_t;

/* F(type, name, parameters) for each function of the library. */
#define RECORDER_CALLS(F)                                                                          \
    F(recorder_counts_t, recorder_counts, (void))                                                  \
    F(size_t, recorder_heaps_now, (void))                                                          \
    F(size_t, recorder_regions_now, (void))                                                        \
    /* The region that begins there, or in which it lies; false: there is none. */                 \
    F(bool, recorder_region_at, (uint64_t address, recorder_region_t * out))                       \
    /* Whether a heap is there. */                                                                 \
    F(bool, recorder_heap_at, (uint64_t address))                                                  \
    /* Whether the tool lets a program use all of these bytes. */                                  \
    F(bool, recorder_may_use, (uint64_t address, uint64_t bytes))                                  \
    /* What it lets a program use now, for a look later; to be freed. */                           \
    F(void *, recorder_snapshot, (void))                                                           \
    F(bool, recorder_snapshot_may_use, (const void *snapshot, uint64_t address, uint64_t bytes))   \
    F(void, recorder_snapshot_free, (void *snapshot))                                              \
    /* How many ranges of this name began, and the largest payload of one. */                      \
    F(uint64_t, recorder_ranges_of, (const char *name, uint64_t *largest_out))                     \
    /* Has the nth call from now raise a signal, while it is under way; 0: none. */                \
    F(void, recorder_raise_at, (uint64_t nth, int signal))                                         \
    /* Ranges of this thread that have not ended. */                                               \
    F(size_t, recorder_depth, (void))

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#define RECORDER_DECLARE(type, name, parameters) type name parameters;
RECORDER_CALLS(RECORDER_DECLARE)
int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t table));
struct cuai_nvtx_extension;
int InitializeInjectionNvtxExtension(struct cuai_nvtx_extension *extension);
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
