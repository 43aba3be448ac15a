/*
 * Device memory of handles: physical memory that is mapped into addresses set aside before.
 *
 *   address       address + bytes                  address + address_bytes
 *    | handle | handle | (hole) | handle |  addresses only  |
 *
 * All handles of an arena have one size, its granularity: a handle cannot be split, so what is
 * grown, punched and filled is whole handles, and what is held is what the driver gave. Only the
 * last handle of a segment that keeps its length may be smaller. A mapping keeps its handle alive,
 * so handles are
 * released as soon as they are mapped, and asked for again where one is exported.
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
    uint64_t handle_bytes;
    uint64_t least_bytes;   /* of any handle: a dedicated block's last one */
    uint64_t least_reserve; /* addresses, where more than one block is asked */
} cuai_vmm_t;

/* Finds out what handles can be had and chooses their size (properties.c). UNSUPPORTED names what
 * was required and cannot be. */
cuarena_status_t cuai_vmm_choose(cuai_vmm_t *vmm, const cuarena_config_t *config,
                                 cuarena_properties_t *facts);

/* The function of the table (export.c). */
cuarena_status_t cuai_vmm_export(void *user, const cuarena_memory_segment_t *segment,
                                 uint64_t offset, uint64_t bytes, cuarena_export_piece_t *pieces,
                                 size_t capacity, size_t *count_out);

/* memory = device, backing = vmm. */
cuarena_status_t cuai_vmm_open(const cuarena_config_t *config, cuai_memory_t *out);

#endif
