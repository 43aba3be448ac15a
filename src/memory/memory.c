#include "memory/memory.h"

#include <string.h>

#include "base/error.h"
#include "base/host.h"
#include "memory/counted.h"
#include "memory/cuda/streams.h"
#include "memory/kinds.h"

typedef cuarena_status_t (*opener_t)(const cuarena_config_t *config, cuai_memory_t *out);

static const opener_t openers[] = {
    [CUARENA_MEMORY_PAGEABLE] = cuai_pageable_open, [CUARENA_MEMORY_NONE] = cuai_none_open,
    [CUARENA_MEMORY_DEVICE] = cuai_device_open,     [CUARENA_MEMORY_MANAGED] = cuai_managed_open,
    [CUARENA_MEMORY_PINNED] = cuai_pinned_open,     [CUARENA_MEMORY_BYTES] = cuai_bytes_open,
    [CUARENA_MEMORY_CUSTOM] = cuai_custom_open,
};

#define OPENER_COUNT ((int32_t)(sizeof openers / sizeof openers[0]))

static opener_t opener_of(int32_t kind)
{
    return kind > 0 && kind < OPENER_COUNT ? openers[kind] : NULL;
}

/* Makes it a memory whose segments keep their length. */
static void keep_lengths(cuai_memory_t *memory)
{
    cuarena_memory_ops_t *ops = &memory->ops;
    ops->grow = NULL;
    ops->shrink = NULL;
    ops->punch = NULL;
    ops->fill = NULL;
    if (ops->least_bytes != 0)
        ops->granularity = ops->least_bytes;
    memory->most_handle_bytes = 0;
    memory->whole_handles = NULL;
    memory->map_again = NULL;
    memory->unmap = NULL;
}

cuarena_status_t cuai_memory_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    opener_t opener = opener_of(config->memory);
    if (opener == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "memory: %d, a CUARENA_MEMORY_... is accepted",
                         (int)config->memory);
    cuai_counted_t *counted = cuai_host_alloc(sizeof *counted);
    if (counted == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a memory's record");
    cuai_memory_t opened = {.facts = {.device = -1}};
    cuarena_status_t status = opener(config, &opened);
    if (status != CUARENA_OK) {
        cuai_host_free(counted);
        return status;
    }
    CUAI_ASSERT(opened.ops.get != NULL && opened.ops.give_back != NULL);
    CUAI_ASSERT((opened.ops.record_event == NULL) == (opened.ops.end_event == NULL));
    CUAI_ASSERT((opened.ops.get_on == NULL) == (opened.ops.give_on == NULL));
    CUAI_ASSERT((opened.ops.grow == NULL) == (opened.ops.shrink == NULL));
    CUAI_ASSERT(opened.ops.least_bytes <= opened.ops.granularity);
    opened.driver_streams = opened.ops.record_event == cuai_streams_record_event;
    cuai_count_calls(&opened, counted, config->memory == CUARENA_MEMORY_CUSTOM);
    if (config->in_place == 0)
        keep_lengths(&opened);
    opened.facts.memory = config->memory;
    opened.facts.bytes_kind = config->bytes_kind;
    opened.facts.granularity = opened.ops.granularity;
    opened.facts.host_readable = (opened.ops.properties & CUARENA_MEMORY_HOST_READABLE) != 0;
    *out = opened;
    return CUARENA_OK;
}

void cuai_memory_close(cuai_memory_t *memory)
{
    if (memory->ops.end != NULL)
        memory->ops.end(memory->user);
    *memory = (cuai_memory_t){0};
}

/* Where no event covers all streams, the driver's legacy stream is recorded: it comes behind what
 * the default streams of all threads were given. */
cuarena_status_t cuai_memory_record_thread(const cuai_memory_t *memory, cuarena_stream_t stream,
                                           void **event)
{
    const cuarena_memory_ops_t *ops = &memory->ops;
    CUAI_ASSERT(*event == NULL && stream != CUARENA_NO_STREAM);
    cuarena_status_t status = ops->record_event(memory->user, CUARENA_NO_STREAM, event);
    if (status == CUARENA_BUSY) /* of a stream it would say that nothing was recorded or ended */
        return cuai_fail(CUARENA_DRIVER,
                         "stream %p is the default stream of another thread, and a capture has "
                         "ended over the event of all work that its work needs",
                         (void *)stream);
    if (status != CUARENA_UNSUPPORTED)
        return status;
    if (memory->driver_streams)
        return ops->record_event(memory->user, CUARENA_STREAM_LEGACY, event);
    return cuai_fail(CUARENA_UNSUPPORTED,
                     "stream %p is the default stream of another thread, and "
                     "memory '%s' has no event for the work of all streams; streams "
                     "of this thread, and those of no thread, are accepted",
                     (void *)stream, ops->name);
}

cuarena_status_t cuai_memory_synchronize(const cuai_memory_t *memory, cuarena_stream_t stream)
{
    const cuarena_memory_ops_t *ops = &memory->ops;
    void *event = NULL;
    CUAI_ASSERT(ops->record_event != NULL && ops->end_event != NULL);
    CUAI_ASSERT(stream != CUARENA_NO_STREAM);
    if (memory->driver_streams)
        return cuai_counted_synchronize(memory->counted, stream);
    cuarena_status_t status = ops->record_event(memory->user, stream, &event);
    if (status != CUARENA_OK)
        return status;
    status = ops->wait_event(memory->user, event, CUARENA_NO_STREAM, 1);
    ops->end_event(memory->user, event);
    return status;
}

void cuarena_memory_ops_init(cuarena_memory_ops_t *ops)
{
    if (ops == NULL)
        return;
    memset(ops, 0, sizeof *ops);
    ops->struct_size = sizeof *ops;
    ops->granularity = 4096;
    ops->alignment = 256;
}
