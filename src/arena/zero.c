/*
 * Setting bytes to 0: of a block, on a stream, at once, or in a graph; with ZERO_FREE of what
 * leaves a block, before anybody else gets it.
 *
 * On a stream of an open session the graph does it at each launch, for each launch uses the bytes
 * of a private block anew, and other blocks of the graph use them too. Where the CPU touches the
 * memory it is done once, before the call returns: private bytes are of one block only there, and
 * what the CPU writes to it ahead of a launch must still be there then.
 */
#include "arena/zero.h"
#include "arena/find.h"
#include "arena/reclaim.h"
#include "arena/streams.h"
#include "arena/unlocked.h"

cuarena_status_t cuai_check_zero_captured(const cuarena_t *arena, const char *what)
{
    if (arena->cpu_touches || arena->memory.ops.zero_captured != NULL)
        return CUARENA_OK;
    return cuai_fail(CUARENA_UNSUPPORTED,
                     "%s on a stream that is in a capture session: a graph "
                     "cannot set bytes of memory '%s' to 0",
                     what, arena->memory.ops.name);
}

/* A memory whose bytes come zeroed sets what goes back to it to 0 itself. */
bool cuai_zeroes_returned(const cuarena_t *arena)
{
    return arena->config.zero == CUARENA_ZERO_FREE &&
           (arena->memory.ops.properties & CUARENA_MEMORY_COMES_ZEROED) == 0;
}

bool cuai_zeroes_freed(const cuarena_t *arena, cuai_block_ref_t ref)
{
    const cuai_record_t *r = cuai_block_record(ref);
    if (arena->config.zero != CUARENA_ZERO_FREE || r->size == 0 || (r->flags & CUAI_BLOCK_ADOPTED))
        return false;
    return ref.region != CUAI_APART || cuai_zeroes_returned(arena);
}

bool cuai_zeroes_owner(cuarena_t *arena, cuarena_tag_t tag, bool captured)
{
    cuai_assert_locked(arena);
    if (arena->config.zero != CUARENA_ZERO_OWNER)
        return false;
    if (!arena->owned)
        arena->owner = tag;
    arena->owned = true;
    arena->owners_mix = arena->owners_mix || captured || tag != arena->owner;
    return arena->owners_mix;
}

void cuai_lose(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    if (!cuai_is_lost(arena))
        cuai_error_add("; %s is lost: contents that were left, or copied, could not be set to 0",
                       arena->label);
    cuai_set_lost(arena);
}

cuarena_status_t cuai_zero_fresh(const cuarena_t *arena, uint64_t address, uint64_t bytes,
                                 cuarena_stream_t stream)
{
    if (arena->config.zero != CUARENA_ZERO_CREATE ||
        (arena->memory.ops.properties & CUARENA_MEMORY_COMES_ZEROED) != 0)
        return CUARENA_OK;
    return cuai_mem_zero(arena, address, bytes, stream);
}

cuarena_status_t cuai_zero_block(cuarena_t *arena, cuai_block_ref_t ref, uint64_t kept,
                                 uint32_t number)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(r->moving && kept < r->size);
    uint64_t address = r->offset + kept;
    uint64_t size = r->size - kept;
    cuarena_stream_t stream;
    cuarena_status_t status = cuai_stream_touch_for_work(arena, number, &stream);
    bool captured = cuai_is_captured(arena, number);
    bool in_graph = captured && !arena->cpu_touches;
    if (captured && !in_graph)
        stream = CUARENA_NO_STREAM;
    if (status == CUARENA_OK) {
        cuai_unlock(&arena->lock);
        status = in_graph ? cuai_mem_zero_captured(arena, address, size, stream)
                          : cuai_mem_zero(arena, address, size, stream);
        cuai_arena_lock(arena);
    }
    cuai_stream_untouch(arena, number);
    return cuai_note_loss(arena, status);
}
