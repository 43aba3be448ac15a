#include "memory/host/owned.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/error.h"

uint64_t cuai_owned_left(const cuai_owned_t *owned)
{
    return owned->given ? 0 : owned->bytes;
}

cuarena_status_t cuai_owned_get(cuai_owned_t *owned, uint64_t bytes,
                                cuarena_memory_segment_t *segment_out)
{
    uint64_t left = cuai_owned_left(owned);
    if (bytes > left)
        return cuai_fail_bytes(
            CUARENA_OUT_OF_MEMORY, bytes, owned->bytes, owned->bytes - left, left, left,
            "the caller's bytes: %" PRIu64 " asked, %" PRIu64 " are left", bytes, left);
    CUAI_ASSERT(bytes != 0);
    owned->given = true;
    *segment_out = (cuarena_memory_segment_t){
        .address = owned->address,
        .bytes = bytes,
        .address_bytes = owned->bytes,
    };
    return CUARENA_OK;
}

void cuai_owned_give_back(cuai_owned_t *owned)
{
    CUAI_ASSERT(owned->given);
    owned->given = false;
}

cuarena_status_t cuai_owned_grow(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    (void)user;
    CUAI_ASSERT(new_bytes <= segment->address_bytes);
    segment->bytes = new_bytes;
    return CUARENA_OK;
}

void cuai_owned_shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    (void)user;
    CUAI_ASSERT(new_bytes <= segment->bytes);
    segment->bytes = new_bytes;
}

cuarena_status_t cuai_owned_find(const cuarena_config_t *config, cuai_owned_t *owned)
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
    owned->given = false;
    return CUARENA_OK;
}
