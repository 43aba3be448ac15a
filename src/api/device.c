/* What the memory of an arena can do, and the export of its handles. */
#include "api/call.h"
#include "arena/exports.h"
#include "arena/unlocked.h"
#include "arena/watch.h"
#include "base/sized.h"

/* ---- What was got ------------------------------------------------------ */

void cuarena_properties_init(cuarena_properties_t *properties)
{
    *properties = (cuarena_properties_t){.struct_size = sizeof *properties};
}

cuarena_status_t cuarena_properties(cuarena_t *arena, cuarena_properties_t *properties)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (!cuai_sized_ok(properties, sizeof(size_t), sizeof *properties))
        return cuai_told(cuai_fail_struct("properties", properties));
    cuarena_properties_t facts = arena->memory.facts; /* never changes */
    facts.granule_bytes = cuai_granule(arena);
    cuai_sized_write(properties, &facts);
    return CUARENA_OK;
}

/* ---- Export ------------------------------------------------------------ */

void cuarena_export_options_init(cuarena_export_options_t *options)
{
    *options = (cuarena_export_options_t){.struct_size = sizeof *options};
}

/* What an export was asked for, and how many pieces there are. */
typedef struct sharing {
    cuarena_t *arena;
    cuarena_block_t block;
    bool share_handles;
    cuarena_export_piece_t *pieces;
    size_t capacity;
    size_t count;
} sharing_t;

static cuarena_status_t check_options(const cuarena_export_options_t *options)
{
    if (options == NULL)
        return CUARENA_OK;
    if (!cuai_sized_ok(options, sizeof *options, sizeof *options))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "options: struct_size %zu; accepted: what "
                         "cuarena_export_options_init sets",
                         cuai_sized_of(options));
    if (options->share_handles == 0 || options->share_handles == 1)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT, "share_handles %d; accepted: 0, 1",
                     (int)options->share_handles);
}

static cuarena_status_t check_outputs(const cuarena_export_piece_t *pieces, size_t capacity,
                                      const size_t *count_out, cuarena_export_t *const *export_out)
{
    if (count_out == NULL)
        return cuai_null("count_out");
    if ((pieces == NULL) != (capacity == 0))
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "pieces %p with capacity %zu; accepted: both or, to "
                         "count, neither",
                         (const void *)pieces, capacity);
    return pieces != NULL && export_out == NULL ? cuai_null("export_out") : CUARENA_OK;
}

static cuarena_status_t check_block(const sharing_t *sharing, cuai_block_ref_t ref)
{
    CUAI_ASSERT(ref.heap != NULL && ref.slot != 0);
    const cuai_record_t *r = cuai_block_record(ref);
    unsigned long long block = sharing->block;
    if (sharing->arena->memory.ops.export_range == NULL)
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "memory '%s' has no handles to export; accepted: "
                         "memory=device, backing=vmm, fd=require",
                         sharing->arena->memory.ops.name);
    if (r->flags & CUAI_BLOCK_ADOPTED)
        return cuai_fail(CUARENA_UNSUPPORTED,
                         "block %#llx has adopted bytes: whoever owns them "
                         "can export them",
                         block);
    if (r->size == 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "block %#llx is empty", block);
    if (sharing->share_handles || (r->flags & CUAI_BLOCK_DEDICATED))
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "block %#llx may share its handles with other blocks; "
                     "accepted: a dedicated block, or share_handles = 1",
                     block);
}

/* Asks the memory for the handles of the block, which is pinned. Called without the lock. */
static cuarena_status_t ask_memory(sharing_t *sharing, const cuarena_memory_segment_t *segment,
                                   uint64_t offset, uint64_t bytes)
{
    CUAI_ASSERT(bytes != 0);
    cuarena_status_t status =
        cuai_mem_export(sharing->arena, segment, offset, bytes, NULL, 0, &sharing->count);
    if (status != CUARENA_OK || sharing->pieces == NULL)
        return status;
    if (sharing->count > sharing->capacity)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "capacity %zu; accepted: from %zu on, the pieces of "
                         "this block",
                         sharing->capacity, sharing->count);
    return cuai_mem_export(sharing->arena, segment, offset, bytes, sharing->pieces,
                           sharing->capacity, &sharing->count);
}

static void end_export(cuarena_t *arena, cuarena_export_t *one)
{
    CUAI_ASSERT(arena->inside != 0);
    cuai_block_ref_t ref = cuai_export_end(arena, one);
    const uint8_t flags = cuai_block_record(ref)->flags;
    if ((flags & CUAI_BLOCK_ENDING) && !(flags & CUAI_BLOCK_EXPORTED))
        cuai_end_released(arena, ref);
}

/* Pins the block and asks the memory for its handles. Drops the lock. */
static cuarena_status_t export_block(sharing_t *sharing, cuarena_export_t **export_out)
{
    CUAI_ASSERT(sharing->arena->inside != 0);
    cuarena_t *arena = sharing->arena;
    cuai_block_ref_t ref;
    cuarena_export_t *one = NULL;
    if (!cuai_reclaim_block(arena, sharing->block, &ref))
        return cuai_no_block(sharing->block);
    cuarena_status_t status = check_block(sharing, ref);
    if (status == CUARENA_OK)
        status = cuai_export_begin(arena, ref, &one);
    if (status != CUARENA_OK)
        return status;
    cuarena_memory_segment_t segment = cuai_segment_of(arena, ref);
    const cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(r->offset - segment.address < segment.bytes);
    uint64_t offset = cuai_user_address(arena, r) - segment.address;
    uint64_t bytes = cuai_user_bytes(arena, r);
    cuai_unlock(&arena->lock);
    status = ask_memory(sharing, &segment, offset, bytes);
    cuai_arena_lock(arena);
    if (status != CUARENA_OK || sharing->pieces == NULL)
        end_export(arena, one);
    else
        *export_out = one;
    return status;
}

cuarena_status_t cuarena_export(cuarena_t *arena, cuarena_block_t block,
                                const cuarena_export_options_t *options,
                                cuarena_export_piece_t *pieces, size_t capacity, size_t *count_out,
                                cuarena_export_t **export_out)
{
    if (arena == NULL)
        return cuai_null("arena");
    cuarena_status_t status = check_options(options);
    if (status == CUARENA_OK)
        status = check_outputs(pieces, capacity, count_out, export_out);
    if (status != CUARENA_OK)
        return cuai_told(status);
    sharing_t sharing = {.arena = arena,
                         .block = block,
                         .share_handles = options && options->share_handles,
                         .pieces = pieces,
                         .capacity = capacity};
    cuai_call_t call;
    status = cuai_call_begin(&call, arena, "export", CUAI_CALL_WHOLE);
    if (status != CUARENA_OK)
        return status;
    status = export_block(&sharing, export_out);
    if (status == CUARENA_OK)
        *count_out = sharing.count;
    return cuai_call_end(&call, status);
}

cuarena_status_t cuarena_export_close(cuarena_t *arena, cuarena_export_t **exported)
{
    if (arena != NULL && (exported == NULL || *exported == NULL))
        return CUARENA_OK;
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "it", 0);
    if (status != CUARENA_OK)
        return status;
    if (!cuai_export_known(arena, *exported))
        return cuai_call_end(&call, cuai_fail(CUARENA_STALE, "%p is no export of %s that is open",
                                              (const void *)*exported, arena->label));
    end_export(arena, *exported);
    *exported = NULL;
    return cuai_call_end(&call, CUARENA_OK);
}
