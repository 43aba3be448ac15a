/* Memory of host bytes that the caller owns. */
#include "base/error.h"
#include "base/host.h"
#include "memory/cuda/streams.h"
#include "memory/host/move.h"
#include "memory/host/owned.h"
#include "memory/kinds.h"

typedef struct bytes {
    cuai_streams_t streams; /* first: see memory/cuda/streams.h */
    cuai_owned_t owned;
} bytes_t;

static cuarena_status_t available(void *user, uint64_t *bytes_out)
{
    const bytes_t *bytes = user;
    *bytes_out = cuai_owned_left(&bytes->owned);
    return CUARENA_OK;
}

static cuarena_status_t total(void *user, uint64_t *bytes_out)
{
    const bytes_t *bytes = user;
    *bytes_out = bytes->owned.bytes;
    return CUARENA_OK;
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    (void)address_bytes;
    bytes_t *self = user;
    return cuai_owned_get(&self->owned, bytes, segment_out);
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    (void)segment;
    bytes_t *bytes = user;
    cuai_owned_give_back(&bytes->owned);
}

static void end(void *user)
{
    bytes_t *bytes = user;
    cuai_streams_end(&bytes->streams);
    cuai_host_free(bytes);
}

static cuarena_status_t open_host(const cuarena_config_t *config, cuai_memory_t *out)
{
    CUAI_ASSERT(config->bytes_kind == CUARENA_BYTES_HOST);
    bytes_t *bytes = cuai_host_alloc(sizeof *bytes);
    if (bytes == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a memory's record");
    cuarena_status_t status = cuai_owned_find(config, &bytes->owned);
    if (status != CUARENA_OK) {
        cuai_host_free(bytes);
        return status;
    }
    cuai_streams_open_host(&bytes->streams, "bytes");
    cuarena_memory_ops_t *ops = &out->ops;
    cuarena_memory_ops_init(ops);
    ops->name = "bytes";
    ops->properties = CUARENA_MEMORY_HOST_READABLE | CUARENA_MEMORY_TOUCHES;
    ops->granularity = config->alignment;
    ops->alignment = config->alignment;
    ops->available = available;
    ops->total = total;
    ops->get = get;
    ops->give_back = give_back;
    ops->grow = cuai_owned_grow;
    ops->shrink = cuai_owned_shrink;
    ops->relocate = cuai_move_relocate;
    ops->zero_bytes = cuai_move_zero;
    ops->end = end;
    cuai_streams_fill(ops);
    out->user = bytes;
    return CUARENA_OK;
}

cuarena_status_t cuai_bytes_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    return config->bytes_kind == CUARENA_BYTES_HOST ? open_host(config, out)
                                                    : cuai_device_bytes_open(config, out);
}
