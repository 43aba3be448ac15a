/*
 * Exports: blocks whose handles other processes were given.
 *
 * An export has a pin of its block, so nothing moves the block, and a handle with live bytes is
 * never trimmed. A block that is freed meanwhile is ENDING until its last export was closed.
 */
#include "arena/exports.h"
#include "arena/find.h"
#include "arena/uses.h"

struct cuarena_export {
    cuarena_export_t *next;
    cuai_block_ref_t ref; /* its record lives as long as the export */
};

static bool is_of(const cuarena_export_t *one, cuai_block_ref_t ref)
{
    return one->ref.heap == ref.heap && one->ref.slot == ref.slot;
}

cuarena_status_t cuai_export_begin(cuarena_t *arena, cuai_block_ref_t ref,
                                   cuarena_export_t **export_out)
{
    cuai_assert_locked(arena);
    cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(!r->moving && !(r->flags & CUAI_BLOCK_ENDING));
    if (r->pins == CUARENA_HEAP_MAX_PINS)
        return cuai_fail(CUARENA_BUSY, "the block has %u pins, the most", CUARENA_HEAP_MAX_PINS);
    cuarena_export_t *one = cuai_host_alloc(sizeof *one);
    if (one == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for an export");
    cuarena_status_t status = CUARENA_OK;
    if (arena->memory.ops.identify != NULL) /* may be freed on a stream */
        status = cuai_use_add(arena, ref, 0);
    if (status != CUARENA_OK) {
        cuai_host_free(one);
        return status;
    }
    *one = (cuarena_export_t){arena->exports, ref};
    arena->exports = one;
    r->pins++;
    r->flags |= CUAI_BLOCK_EXPORTED;
    arena->block_pins++;
    cuai_note_change(ref.heap);
    *export_out = one;
    return CUARENA_OK;
}

bool cuai_export_known(const cuarena_t *arena, const cuarena_export_t *one)
{
    cuai_assert_locked(arena);
    const cuarena_export_t *at = arena->exports;
    while (at != NULL && at != one)
        at = at->next;
    return at != NULL;
}

uint32_t cuai_exports_of(const cuarena_t *arena, cuai_block_ref_t ref)
{
    if (!(cuai_block_record(ref)->flags & CUAI_BLOCK_EXPORTED))
        return 0;
    uint32_t count = 0;
    const cuarena_export_t *one = arena->exports;
    for (; one != NULL; one = one->next)
        count += is_of(one, ref);
    return count;
}

cuai_block_ref_t cuai_export_end(cuarena_t *arena, cuarena_export_t *one)
{
    cuai_assert_locked(arena);
    cuai_block_ref_t ref = one->ref;
    cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(r->pins != 0 && (r->flags & CUAI_BLOCK_EXPORTED));
    CUAI_ASSERT(arena->block_pins != 0);
    cuarena_export_t **link = &arena->exports;
    while (*link != one)
        link = &(*link)->next;
    *link = one->next;
    cuai_host_free(one);
    r->pins--;
    arena->block_pins--;
    if (cuai_exports_of(arena, ref) == 0)
        r->flags &= (uint8_t)~CUAI_BLOCK_EXPORTED;
    cuai_note_change(ref.heap);
    return ref;
}

void cuai_exports_forget(cuarena_t *arena)
{
    cuai_lock_assert_not_held(&arena->lock);
    while (arena->exports != NULL) {
        cuarena_export_t *one = arena->exports;
        arena->exports = one->next;
        cuai_host_free(one);
    }
}
