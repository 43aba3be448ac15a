/*
 * Device memory of handles: physical memory that is mapped to addresses set aside before.
 *
 *   address       address + bytes                  address + address_bytes
 *    | handle | handle | (hole) | handle |  addresses only  |
 *
 * A handle has one page, or in an arena that grows several, the more the more the segment has
 * (cuai_handle_bytes), so that a small one takes little and a large one makes few calls. It cannot
 * be split, so only whole handles are punched, and what is reserved is what the driver has spent.
 * Only the last handle of a segment that keeps its length may be smaller than a page. A mapping
 * keeps its handle alive, so handles are released as soon as they are mapped, and retained again to
 * be exported.
 */
#ifndef CUAI_MEMORY_CUDA_VMM_H
#define CUAI_MEMORY_CUDA_VMM_H

#include "memory/cuda/store.h"

/* The most devices that can reach an arena's bytes. */
#define CUAI_VMM_DEVICES 64

typedef struct cuai_vmm {
    cuai_store_t store; /* first: it is the table's user */
    cuai_cu_allocation_t wanted;
    cuai_cu_access_t access[CUAI_VMM_DEVICES];
    size_t access_count;
    uint64_t page_bytes;    /* the granularity */
    uint64_t most_bytes;    /* the most of a handle */
    uint64_t least_bytes;   /* the least size of a handle, such as a dedicated block's last one */
    uint64_t least_reserve; /* addresses to set aside at least for a segment that may grow */
} cuai_vmm_t;

/* Finds out which handles the driver makes and chooses their size (properties.c). UNSUPPORTED names
 * what is required and cannot be had. */
cuarena_status_t cuai_vmm_choose(cuai_vmm_t *vmm, const cuarena_config_t *config,
                                 cuarena_properties_t *facts);

/* Where the handle that is mapped at an offset of a segment begins and ends, as offsets too. */
uint64_t cuai_vmm_handle_begin(const cuarena_memory_segment_t *segment, uint64_t offset);
uint64_t cuai_vmm_handle_end(const cuarena_memory_segment_t *segment, uint64_t offset);

/* Retains the handle that is mapped at an address; the caller releases it. Called within a visit of
 * the place. */
cuarena_status_t cuai_vmm_retain(cuai_place_t *place, uint64_t address,
                                 cuai_cu_handle_t *handle_out);

/* Exports the handles of a range, for the table's `export_range` (export.c). */
cuarena_status_t cuai_vmm_export(void *user, const cuarena_memory_segment_t *segment,
                                 uint64_t offset, uint64_t bytes, cuarena_export_piece_t *pieces,
                                 size_t capacity, size_t *count_out);

/* Opens the memory of memory=device with backing=vmm. */
cuarena_status_t cuai_vmm_open(const cuarena_config_t *config, cuai_memory_t *out);

#endif
