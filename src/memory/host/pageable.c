/*
 * Pageable host memory: addresses are set aside inaccessible, and pages are made accessible where
 * the arena reserves bytes.
 *
 *   address            address + bytes         address + address_bytes
 *    |  usable, with holes  |  inaccessible          |
 *
 * Pages come zeroed, and those that are given back are replaced by fresh inaccessible ones, so they
 * read as 0 when they are committed again. The system counts pages when they become accessible: it
 * refuses there, and not by a signal later, what is plainly too much.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/addresses.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "memory/host/common.h"
#include "memory/kinds.h"

/* The granularity, or the arena's alignment where that is more. */
#define GRANULARITY (64 * CUAI_KIB)

static unsigned char *pointer_to(uint64_t address)
{
    return (unsigned char *)(uintptr_t)address;
}

static cuarena_status_t refused(int error, uint64_t bytes)
{
    if (error == ENOMEM || error == EAGAIN) {
        cuai_fail_bytes(CUARENA_OUT_OF_MEMORY, bytes, 0, 0, 0, 0,
                        "the system has no %" PRIu64 " bytes to commit: %s", bytes,
                        strerror(error));
        cuai_error_code(error);
        return CUARENA_OUT_OF_MEMORY;
    }
    return cuai_fail_driver(error, "the system refused to commit %" PRIu64 " bytes: %s", bytes,
                            strerror(error));
}

/* ---- Addresses --------------------------------------------------------- */

static void *map_inaccessible(void *where, uint64_t bytes, int flags)
{
    return mmap(where, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static void unmap(uint64_t address, uint64_t bytes)
{
    if (bytes != 0 && munmap(pointer_to(address), bytes) != 0)
        cuai_log(CUARENA_LOG_WARN, "%" PRIu64 " bytes stay mapped: %s", bytes, strerror(errno));
}

/* Maps a granularity more than needed and unmaps what is not aligned. 0 if the system refuses. */
static uint64_t map_aligned(uint64_t bytes, uint64_t granularity)
{
    uint64_t padded;
    CUAI_ASSERT(cuai_is_aligned(bytes, granularity));
    if (!cuai_add_checked(bytes, granularity, &padded))
        return 0;
    void *mapped = map_inaccessible(NULL, padded, 0);
    if (mapped == MAP_FAILED)
        return 0;
    uint64_t begin = (uint64_t)(uintptr_t)mapped;
    uint64_t aligned = cuai_align_up(begin, granularity);
    unmap(begin, aligned - begin);
    unmap(aligned + bytes, begin + padded - (aligned + bytes));
    return aligned;
}

/* Sets aside as many addresses as asked for or, where the process has not so many to spare, fewer,
 * but at least `least`. 0 if there are not even these. */
static uint64_t reserve(uint64_t least, uint64_t *bytes, uint64_t granularity)
{
    CUAI_ASSERT(*bytes >= least);
    if (!cuai_host_allow())
        return 0;
    if (*bytes > least)
        *bytes = cuai_addresses_between(least, *bytes, granularity);
    uint64_t address = map_aligned(*bytes, granularity);
    while (address == 0 && *bytes > least) {
        *bytes = cuai_max(least, cuai_align_down(*bytes / 2, granularity));
        address = map_aligned(*bytes, granularity);
    }
    return address;
}

/* ---- Pages ------------------------------------------------------------- */

static cuarena_status_t commit(uint64_t address, uint64_t bytes)
{
    CUAI_ASSERT(cuai_is_aligned(address | bytes, GRANULARITY));
    if (bytes == 0)
        return CUARENA_OK;
    if (!cuai_host_allow())
        return refused(ENOMEM, bytes);
    if (mprotect(pointer_to(address), bytes, PROT_READ | PROT_WRITE) != 0)
        return refused(errno, bytes);
    return CUARENA_OK;
}

/* Drops the contents of pages; false if the kernel keeps them: locked pages, or another system. */
static bool forget(void *pointer, uint64_t bytes)
{
#if defined(__linux__)
    return madvise(pointer, bytes, MADV_DONTNEED) == 0;
#else
    (void)pointer;
    (void)bytes;
    return false;
#endif
}

/* Gives pages back. It cannot fail: where the system has no room for one more mapping, the contents
 * go and the addresses stay accessible. */
static void decommit(uint64_t address, uint64_t bytes)
{
    CUAI_ASSERT(cuai_is_aligned(address | bytes, GRANULARITY));
    void *pointer = pointer_to(address);
    if (bytes == 0 || map_inaccessible(pointer, bytes, MAP_FIXED) != MAP_FAILED)
        return;
    if (!forget(pointer, bytes))
        memset(pointer, 0, bytes);
}

/* ---- The table --------------------------------------------------------- */

typedef struct pageable {
    cuai_streams_t streams; /* first: see memory/cuda/streams.h */
    uint64_t granularity;
} pageable_t;

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    const pageable_t *pageable = user;
    uint64_t address = reserve(bytes, &address_bytes, pageable->granularity);
    if (address == 0)
        return cuai_fail_addresses(address_bytes);
    cuarena_status_t status = commit(address, bytes);
    if (status != CUARENA_OK) {
        unmap(address, address_bytes);
        return status;
    }
    *segment_out = (cuarena_memory_segment_t){
        .address = address,
        .bytes = bytes,
        .address_bytes = address_bytes,
    };
    return CUARENA_OK;
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    (void)user;
    CUAI_ASSERT(segment->address != 0 && segment->bytes <= segment->address_bytes);
    unmap(segment->address, segment->address_bytes);
}

static cuarena_status_t grow(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    (void)user;
    CUAI_ASSERT(new_bytes >= segment->bytes);
    CUAI_ASSERT(new_bytes <= segment->address_bytes);
    return commit(segment->address + segment->bytes, new_bytes - segment->bytes);
}

static void shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    (void)user;
    CUAI_ASSERT(new_bytes <= segment->bytes);
    decommit(segment->address + new_bytes, segment->bytes - new_bytes);
}

static void punch(void *user, cuarena_memory_segment_t *segment, uint64_t offset, uint64_t bytes)
{
    (void)user;
    CUAI_ASSERT(offset + bytes <= segment->bytes);
    decommit(segment->address + offset, bytes);
}

static cuarena_status_t fill(void *user, cuarena_memory_segment_t *segment, uint64_t offset,
                             uint64_t bytes)
{
    (void)user;
    CUAI_ASSERT(offset + bytes <= segment->bytes);
    return commit(segment->address + offset, bytes);
}

cuarena_status_t cuai_pageable_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    cuarena_status_t status;
    pageable_t *pageable = cuai_host_memory_open(sizeof *pageable, "pageable", &status);
    if (pageable == NULL)
        return status;
    pageable->granularity = cuai_max(GRANULARITY, config->alignment);
    cuarena_memory_ops_t *ops = &out->ops;
    cuai_host_memory_fill(&pageable->streams, ops);
    ops->properties |= CUARENA_MEMORY_COMES_ZEROED;
    ops->granularity = pageable->granularity;
    ops->alignment = pageable->granularity;
    ops->get = get;
    ops->give_back = give_back;
    ops->grow = grow;
    ops->shrink = shrink;
    ops->punch = punch;
    ops->fill = fill;
    out->user = pageable;
    return CUARENA_OK;
}
