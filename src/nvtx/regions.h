/*
 * What a tool is told of the bytes of one arena. Each segment is a heap, of which the tool lets
 * programs use the regions alone, and each block of a caller's is a region of as many bytes as were
 * asked for.
 *
 * The library itself uses bytes beside those of callers: it copies blocks whole, and writes guards
 * behind them. So it lends itself the bytes of such a call, which become one region meanwhile.
 *
 * Regions do not overlap. Where host memory for one is lacking its heap is opened: all of it is one
 * region from then on, "a segment without host memory for its blocks", and the tool finds nothing
 * there.
 *
 * Functions take the lock of the regions, and call the tool under it, while signals wait
 * (signals.h); arenas call them with their own held. Each takes O(log regions) steps, those of
 * tsearch's tree, and as many as it ends.
 */
#ifndef CUAI_NVTX_REGIONS_H
#define CUAI_NVTX_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"

typedef struct cuai_regions {
    bool on;          /* else every function does nothing */
    const char *name; /* of heaps, and of regions that have none */
    cuai_lock_t lock; /* guards the rest */
    void *heaps;      /* tsearch's trees */
    void *regions;
} cuai_regions_t;

/* Begins to tell the tool, if `on`. The name is the caller's, for as long. */
void cuai_regions_begin(cuai_regions_t *regions, const char *name, bool on);
/* Ends all heaps. One that was never begun, and is all 0, is fine. */
void cuai_regions_end(cuai_regions_t *regions);

/* Tells nothing any more, in a forked child, where the tool does not work. */
void cuai_regions_forget(cuai_regions_t *regions);

void cuai_regions_add_heap(cuai_regions_t *regions, uint64_t address, uint64_t bytes);
/* Ends a heap with its regions: before its bytes go back to whoever gave them. */
void cuai_regions_end_heap(cuai_regions_t *regions, uint64_t address);

/* Begins a region; one of 0 bytes, or in no heap, is none. The name is static, or lives as long as
 * the region; NULL: that of all. Regions that it overlaps end. */
void cuai_regions_add(cuai_regions_t *regions, uint64_t address, uint64_t bytes, const char *name);
/* Begins a region as cuai_regions_add, but it takes over the bytes of regions that it overlaps;
 * then it is named after all of them: "blocks of a capture session". */
void cuai_regions_join(cuai_regions_t *regions, uint64_t address, uint64_t bytes, const char *name);
/* Gives the region that begins there another size. */
void cuai_regions_resize(cuai_regions_t *regions, uint64_t address, uint64_t bytes);
/* Ends the region that begins there; there may be none. */
void cuai_regions_drop(cuai_regions_t *regions, uint64_t address);
/* Ends the regions that have bytes in a range. */
void cuai_regions_drop_within(cuai_regions_t *regions, uint64_t address, uint64_t bytes);
/* Ends all regions; the heaps stay. */
void cuai_regions_clear(cuai_regions_t *regions);

/* The bytes that one call of the library uses. */
typedef struct cuai_lent {
    struct cuai_region *first;
} cuai_lent_t;

/* Lends bytes to a call; `lent` is all 0 before the first. */
void cuai_regions_lend(cuai_regions_t *regions, cuai_lent_t *lent, uint64_t address,
                       uint64_t bytes);
/* The call is over: regions are again what they were, but for those that ended meanwhile. */
void cuai_regions_restore(cuai_regions_t *regions, cuai_lent_t *lent);

#endif
