#include "memory/host/common.h"

#include <string.h>

#include "base/error.h"
#include "base/host.h"
#include "base/system.h"

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
    return cuai_move_set(user, address, 0, bytes, stream);
}

cuarena_status_t cuai_move_set(void *user, void *address, int32_t value, uint64_t bytes,
                               cuarena_stream_t stream)
{
    cuarena_status_t status = cuai_streams_drain(user, stream);
    if (status == CUARENA_OK)
        memset(address, value, bytes);
    return status;
}

cuarena_status_t cuai_move_read(void *user, void *to, const void *address, uint64_t bytes)
{
    (void)user;
    memcpy(to, address, bytes);
    return CUARENA_OK;
}

static void end(void *user)
{
    cuai_streams_end(user);
    cuai_host_free(user);
}

void *cuai_host_memory_open(size_t size, const char *name, cuarena_status_t *status)
{
    CUAI_ASSERT(size >= sizeof(cuai_streams_t));
    cuai_streams_t *streams = cuai_host_alloc(size);
    *status = CUARENA_OK;
    if (streams != NULL)
        cuai_streams_open_host(streams, name);
    else
        *status = cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a memory's record");
    return streams;
}

void cuai_host_memory_fill(const cuai_streams_t *streams, cuarena_memory_ops_t *ops)
{
    CUAI_ASSERT(streams->host && streams->name != NULL);
    cuarena_memory_ops_init(ops);
    ops->name = streams->name;
    ops->properties = CUARENA_MEMORY_HOST_READABLE | CUARENA_MEMORY_TOUCHES;
    ops->available = cuai_host_available;
    ops->total = cuai_host_total;
    ops->relocate = cuai_move_relocate;
    ops->zero_bytes = cuai_move_zero;
    ops->set_bytes = cuai_move_set;
    ops->read_bytes = cuai_move_read;
    ops->end = end;
    cuai_streams_fill(ops);
}
