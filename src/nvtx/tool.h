/*
 * The tool that is told by NVTX: compute-sanitizer, a profiler. The one that the environment names
 * (NVTX_INJECTION64_PATH) is loaded when somebody first asks for it, and stays.
 *
 * A tool's functions are called with locks of the library held. They must not call the library.
 */
#ifndef CUAI_NVTX_TOOL_H
#define CUAI_NVTX_TOOL_H

#include <stdbool.h>
#include <stdint.h>

/* Loads the tool, if there is one and nobody has yet. A tool may want the driver to be initialized
 * before. */
void cuai_tool_load(void);

/* Whether it takes regions of memory, and ranges of time. Never in a forked child, where the tool's
 * threads do not exist. */
bool cuai_tool_takes_regions(void);
bool cuai_tool_takes_ranges(void);

/* ---- Memory, for a tool that takes it ---------------------------------- */

/* A heap: bytes of which its regions alone may be used. Names are copied by the tool. */
void *cuai_tool_heap_begin(uint64_t address, uint64_t bytes, const char *name);
/* Ends a heap with all its regions; its bytes must not be used any more. */
void cuai_tool_heap_end(void *heap);
/* Ends all regions of a heap, which stays. */
void cuai_tool_heap_reset(void *heap);

void cuai_tool_region_begin(void *heap, uint64_t address, uint64_t bytes, const char *name);
void cuai_tool_region_resize(uint64_t address, uint64_t bytes);
void cuai_tool_region_end(uint64_t address);

/* ---- Ranges of time, of this thread, for a tool that takes them ---------- */

/* Ranges nest. `payload` is a number that the tool shows beside the name. */
void cuai_tool_range_begin(const char *name, uint64_t payload);
void cuai_tool_range_end(void);

#endif
