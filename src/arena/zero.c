/*
 * Setting a block's bytes to 0: on a stream, at once, or in a graph.
 *
 * On a stream of an open session the graph does it, at each launch: the bytes
 * of a private block are used anew by each, and by other blocks of the graph
 * besides. Where the CPU touches the memory it is done once, before the call
 * returns: private bytes serve one block only there, and what the CPU writes to
 * it ahead of a launch must still be there then.
 */
#include "arena/arena.h"

cuarena_status_t cuai_check_zero_captured(const cuarena_t *arena,
                                          const char *what)
{
    if (arena->cpu_touches || arena->memory.ops.zero_captured != NULL)
        return CUARENA_OK;
    return cuai_fail(CUARENA_UNSUPPORTED,
                     "%s on a stream that is in a capture session: a graph "
                     "cannot set bytes of memory '%s' to 0",
                     what, arena->memory.ops.name);
}

cuarena_status_t cuai_zero_block(cuarena_t *arena, cuai_found_t found,
                                 uint32_t number)
{
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    const cuai_record_t *r = cuai_found_record(found);
    void *address = cuai_pointer(r->offset);
    uint64_t size = r->size;
    cuarena_stream_t stream = cuai_stream_touch(arena, number);
    bool captured = cuai_is_captured(arena, number);
    bool in_graph = captured && !arena->cpu_touches;
    if (captured && !in_graph)
        stream = CUARENA_NO_STREAM;
    cuai_unlock(&arena->lock);
    cuarena_status_t status =
        in_graph ? ops->zero_captured(arena->memory.user, address, size, stream)
                 : ops->zero_bytes(arena->memory.user, address, size, stream);
    cuai_lock(&arena->lock);
    cuai_stream_untouch(arena, number);
    return cuai_note_loss(arena, status);
}
