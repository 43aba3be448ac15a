#include "memory/host/move.h"

#include <string.h>

#include "base/compiler.h"
#include "base/system.h"
#include "memory/cuda/streams.h"

cuarena_status_t cuai_host_available(void *user, uint64_t *bytes_out)
{
    (void)user;
    return cuai_system_available("", bytes_out);
}

cuarena_status_t cuai_host_total(void *user, uint64_t *bytes_out)
{
    (void)user;
    return cuai_system_total("", bytes_out);
}

cuarena_status_t cuai_move_relocate(void *user, const cuarena_relocation_t *list, size_t count,
                                    cuarena_stream_t stream, size_t *done_out)
{
    *done_out = 0;
    cuarena_status_t status = cuai_streams_drain(user, stream);
    if (status != CUARENA_OK)
        return status;
    CUAI_ASSERT(count == 0 || list != NULL);
    for (size_t i = 0; i < count; i++)
        memmove(list[i].to, list[i].from, list[i].bytes);
    *done_out = count;
    return CUARENA_OK;
}

/* Writes all bytes. If the kernel were to forget whole pages, each of them would fault at its first
 * touch, and whoever asks for zeros will touch them. */
cuarena_status_t cuai_move_zero(void *user, void *address, uint64_t bytes, cuarena_stream_t stream)
{
    cuarena_status_t status = cuai_streams_drain(user, stream);
    if (status == CUARENA_OK)
        memset(address, 0, bytes);
    return status;
}
