/*
 * Bytes that the caller owns: one segment, given once, that can be lengthened
 * up to all of them. It begins at the first multiple of the arena's alignment
 * and has as many whole granules as fit.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/host.h"
#include "memory/cuda/streams.h"
#include "memory/host/move.h"
#include "memory/kinds.h"

/* `given` is read by whoever asks what is available, beside a get. */
typedef struct owned {
    cuai_streams_t streams; /* first: see memory/cuda/streams.h */
    uint64_t address;
    uint64_t bytes;    /* from there, a multiple of the granule */
    atomic_bool given; /* true while the segment is out */
} owned_t;

static cuarena_status_t available(void *user, uint64_t *bytes_out)
{
    const owned_t *owned = user;
    *bytes_out = owned->given ? 0 : owned->bytes;
    return CUARENA_OK;
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t reserve_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    (void)reserve_bytes;
    owned_t *owned = user;
    uint64_t left = owned->given ? 0 : owned->bytes;
    if (bytes > left)
        return cuai_fail_bytes(CUARENA_OUT_OF_MEMORY, bytes, owned->bytes,
                               owned->bytes - left, left, left,
                               "the caller's bytes: %" PRIu64 " asked, %" PRIu64
                               " are left",
                               bytes, left);
    owned->given = true;
    *segment_out = (cuarena_memory_segment_t){
        .address = owned->address,
        .bytes = bytes,
        .reserved_bytes = owned->bytes,
    };
    return CUARENA_OK;
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    (void)segment;
    owned_t *owned = user;
    owned->given = false;
}

static cuarena_status_t grow(void *user, cuarena_memory_segment_t *segment,
                             uint64_t new_bytes)
{
    const owned_t *owned = user;
    CUAI_ASSERT(new_bytes <= owned->bytes);
    (void)owned;
    segment->bytes = new_bytes;
    return CUARENA_OK;
}

static void shrink(void *user, cuarena_memory_segment_t *segment,
                   uint64_t new_bytes)
{
    (void)user;
    segment->bytes = new_bytes;
}

/* Finds the whole granules in what the caller brought. */
static cuarena_status_t trim_to_granules(const cuarena_config_t *config,
                                         owned_t *owned)
{
    uint64_t begin = (uint64_t)(uintptr_t)config->bytes;
    uint64_t end;
    if (begin == 0 || !cuai_add_checked(begin, config->bytes_size, &end))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "bytes: %" PRIu64 " bytes at %p, a pointer and a size "
                         "that the address space has are accepted",
                         config->bytes_size, config->bytes);
    uint64_t first;
    if (!cuai_align_up_checked(begin, config->alignment, &first) ||
        cuai_align_down(end, config->alignment) <= first)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "bytes_size: %" PRIu64 " at %p, room for one block of "
                         "%" PRIu64 " aligned bytes is accepted",
                         config->bytes_size, config->bytes, config->alignment);
    owned->address = first;
    owned->bytes = cuai_align_down(end, config->alignment) - first;
    return CUARENA_OK;
}

static void end(void *user)
{
    owned_t *owned = user;
    cuai_streams_end(&owned->streams);
    cuai_host_free(owned);
}

cuarena_status_t cuai_bytes_open(const cuarena_config_t *config,
                                 cuai_memory_t *out)
{
    owned_t found = {0};
    cuarena_status_t status = trim_to_granules(config, &found);
    if (status != CUARENA_OK)
        return status;
    owned_t *owned = cuai_host_alloc(sizeof *owned);
    if (owned == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY,
                         "the host has no memory for a memory's record");
    owned->address = found.address;
    owned->bytes = found.bytes;
    cuai_streams_open_host(&owned->streams, "bytes");
    cuarena_memory_ops_t *ops = &out->ops;
    cuarena_memory_ops_init(ops);
    ops->name = "bytes";
    ops->properties = CUARENA_MEMORY_HOST_READABLE | CUARENA_MEMORY_TOUCHES;
    ops->grain_bytes = config->alignment;
    ops->alignment = config->alignment;
    ops->available = available;
    ops->get = get;
    ops->give_back = give_back;
    ops->grow = grow;
    ops->shrink = shrink;
    ops->relocate = cuai_move_relocate;
    ops->zero_bytes = cuai_move_zero;
    ops->end = end;
    cuai_streams_fill(ops);
    out->user = owned;
    return CUARENA_OK;
}
