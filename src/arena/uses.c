/*
 * Uses: blocks that several streams use, and dedicated blocks freed on a
 * stream. Their bytes, or their segments, go to nobody before markers that
 * their free records are complete.
 */
#include "arena/arena.h"

/* ---- The table --------------------------------------------------------- */

#define FEWEST_BUCKETS 64

static size_t bucket_of(const cuai_uses_t *uses, cuarena_block_t block)
{
    return (size_t)(block * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
           (uses->bucket_count - 1);
}

cuai_use_t *cuai_use_find(const cuarena_t *arena, cuarena_block_t block)
{
    const cuai_uses_t *uses = &arena->uses;
    if (uses->bucket_count == 0)
        return NULL;
    cuai_use_t *use = uses->buckets[bucket_of(uses, block)];
    while (use != NULL && use->block != block)
        use = use->chain;
    return use;
}

static void insert(cuai_uses_t *uses, cuai_use_t *use)
{
    cuai_use_t **bucket = &uses->buckets[bucket_of(uses, use->block)];
    use->chain = *bucket;
    *bucket = use;
}

static void take_out(cuai_uses_t *uses, const cuai_use_t *use)
{
    cuai_use_t **link = &uses->buckets[bucket_of(uses, use->block)];
    while (*link != use)
        link = &(*link)->chain;
    *link = use->chain;
    uses->count--;
}

static bool grow_table(cuai_uses_t *uses)
{
    if (uses->count < uses->bucket_count)
        return true;
    size_t count = uses->bucket_count;
    cuai_use_t **old = uses->buckets;
    size_t more = count == 0 ? FEWEST_BUCKETS : count * 2;
    cuai_use_t **buckets = cuai_host_alloc(more * sizeof(*buckets));
    if (buckets == NULL)
        return false;
    uses->buckets = buckets;
    uses->bucket_count = more;
    for (size_t i = 0; i < count; i++)
        for (cuai_use_t *use = old[i], *next; use != NULL; use = next) {
            next = use->chain;
            insert(uses, use);
        }
    cuai_host_free(old);
    return true;
}

static void free_use(cuai_use_t *use)
{
    cuai_host_free(use->waits);
    cuai_host_free(use);
}

/* ---- Recording --------------------------------------------------------- */

static bool has_stream(const cuai_use_t *use, uint32_t number)
{
    for (uint32_t i = 0; i < use->count; i++)
        if (use->waits[i].number == number)
            return true;
    return false;
}

/* Room for one more stream, and for the one that the free is on. */
static bool ready_waits(cuai_use_t *use)
{
    if (use->count + 2 <= use->room)
        return true;
    uint32_t room = use->room == 0 ? 4 : use->room * 2;
    cuai_wait_t *waits = cuai_host_alloc(room * sizeof(*waits));
    if (waits == NULL)
        return false;
    if (use->count != 0)
        memcpy(waits, use->waits, use->count * sizeof(*waits));
    cuai_host_free(use->waits);
    use->waits = waits;
    use->room = room;
    return true;
}

static cuai_use_t *new_use(cuarena_t *arena, cuarena_block_t block)
{
    cuai_use_t *use =
        grow_table(&arena->uses) ? cuai_host_alloc(sizeof *use) : NULL;
    if (use == NULL)
        return NULL;
    use->block = block;
    if (!ready_waits(use)) {
        free_use(use);
        return NULL;
    }
    insert(&arena->uses, use);
    arena->uses.count++;
    return use;
}

cuarena_status_t cuai_use_add(cuarena_t *arena, cuai_found_t found,
                              uint32_t number)
{
    cuarena_block_t block = cuai_id(found.heap, found.slot);
    cuai_use_t *use = cuai_use_find(arena, block);
    if (use == NULL)
        use = new_use(arena, block);
    if (use == NULL || !ready_waits(use))
        return cuai_fail(CUARENA_OUT_OF_MEMORY,
                         "no host memory for a block's use of a stream");
    cuai_found_record(found)->flags |= CUAI_BLOCK_USED;
    if (number == 0 || has_stream(use, number))
        return CUARENA_OK;
    use->waits[use->count++] = (cuai_wait_t){number, NULL};
    cuai_stream(arena, number)->waits++;
    return CUARENA_OK;
}

/* The streams need not be remembered for it any more. */
static void end_use(cuarena_t *arena, cuai_use_t *use)
{
    for (uint32_t i = 0; i < use->count; i++)
        cuai_stream(arena, use->waits[i].number)->waits--;
    take_out(&arena->uses, use);
    free_use(use);
}

void cuai_use_drop(cuarena_t *arena, cuai_found_t found)
{
    if (!(cuai_found_record(found)->flags & CUAI_BLOCK_USED))
        return;
    cuai_use_t *use = cuai_use_find(arena, cuai_id(found.heap, found.slot));
    cuai_found_record(found)->flags &= (uint8_t)~CUAI_BLOCK_USED;
    if (use != NULL)
        end_use(arena, use);
}

/* ---- A free ------------------------------------------------------------ */

/* Without the lock. */
static void unmark_all(const cuarena_t *arena, cuai_use_t *use)
{
    for (uint32_t i = 0; i < use->count; i++) {
        if (use->waits[i].marker != NULL)
            arena->memory.ops.unmark(arena->memory.user, use->waits[i].marker);
        use->waits[i].marker = NULL;
    }
}

/* A released stream has a marker behind everything; one that is known gets
 * one now. Steps out. */
static cuarena_status_t mark_one(cuarena_t *arena, cuai_wait_t *wait)
{
    cuarena_stream_t handle = cuai_stream_handle(arena, wait->number);
    if (handle == CUARENA_NO_STREAM)
        return CUARENA_OK;
    void *marker = NULL;
    cuai_unlock(&arena->lock);
    cuarena_status_t status =
        arena->memory.ops.mark(arena->memory.user, handle, &marker);
    cuai_lock(&arena->lock);
    if (status == CUARENA_OK)
        wait->marker = marker;
    return cuai_note_loss(arena, status);
}

/* Work of the stream that the free is on comes before whatever reuses the
 * bytes there; not so for a segment that goes back, nor for bytes that the
 * stream's lane would not cover. */
static bool needs_target(const cuarena_t *arena, cuai_found_t found,
                         uint32_t number)
{
    return found.region == CUAI_APART || cuai_stream(arena, number)->eager;
}

static void set_target(cuarena_t *arena, cuai_found_t found, cuai_use_t *use,
                       uint32_t number)
{
    use->target = needs_target(arena, found, number) ? 0 : number;
    if (has_stream(use, number))
        return;
    use->waits[use->count++] = (cuai_wait_t){number, NULL};
    cuai_stream(arena, number)->waits++;
}

static void enqueue(cuai_uses_t *uses, cuai_use_t *use)
{
    use->next = NULL;
    if (uses->first == NULL)
        uses->last = &uses->first;
    *uses->last = use;
    uses->last = &use->next;
}

cuarena_status_t cuai_end_after_uses(cuarena_t *arena, cuai_found_t found,
                                     uint32_t number)
{
    cuai_use_t *use = cuai_use_find(arena, cuai_id(found.heap, found.slot));
    cuai_record_t *r = cuai_found_record(found);
    r->flags |= CUAI_BLOCK_ENDING;
    set_target(arena, found, use, number);
    cuarena_status_t status = CUARENA_OK;
    for (uint32_t i = 0; i < use->count && status == CUARENA_OK; i++)
        if (use->waits[i].number != use->target)
            status = mark_one(arena, &use->waits[i]);
    if (status == CUARENA_OK) {
        enqueue(&arena->uses, use);
        return CUARENA_OK;
    }
    cuai_unlock(&arena->lock);
    unmark_all(arena, use);
    cuai_lock(&arena->lock);
    r->flags &= (uint8_t)~CUAI_BLOCK_ENDING;
    return status;
}

/* ---- Ending those freed ------------------------------------------------ */

/* Whether the work behind one use is done; may wait for it. Steps out. */
static bool is_over(cuarena_t *arena, const cuai_use_t *use, uint32_t i,
                    bool wait)
{
    const cuai_wait_t *one = &use->waits[i];
    const cuai_stream_t *s = cuai_stream(arena, one->number);
    bool own = one->marker == NULL; /* of a released stream, or the target */
    void *marker = own ? s->marker : one->marker;
    if (own && (one->number == use->target || marker == NULL))
        return true;
    const cuarena_memory_ops_t *ops = &arena->memory.ops;
    cuai_unlock(&arena->lock);
    cuarena_status_t status =
        wait ? ops->wait(arena->memory.user, marker, CUARENA_NO_STREAM, 1)
             : ops->query(arena->memory.user, marker);
    cuai_lock(&arena->lock);
    return cuai_note_loss(arena, status) == CUARENA_OK;
}

static bool all_over(cuarena_t *arena, const cuai_use_t *use, bool wait)
{
    for (uint32_t i = 0; i < use->count; i++)
        if (!is_over(arena, use, i, wait))
            return false;
    return true;
}

/* Steps out; nothing moves a block meanwhile that is marked. */
static void zero(cuarena_t *arena, const cuai_use_t *use, uint64_t address,
                 uint64_t bytes)
{
    cuarena_stream_t stream = cuai_stream_handle(arena, use->target);
    cuai_unlock(&arena->lock);
    cuarena_status_t status = arena->memory.ops.zero_bytes(
        arena->memory.user, cuai_pointer(address), bytes, stream);
    cuai_lock(&arena->lock);
    cuai_note_loss(arena, status);
}

static cuai_found_t find_ending(const cuarena_t *arena, cuarena_block_t block)
{
    for (int32_t region = 0; region < CUAI_HEAPS; region++) {
        cuarena_heap_t *heap = arena->heaps[region];
        cuai_slot_t slot = heap == NULL ? 0 : cuai_slot_of(heap, block);
        if (slot != 0)
            return (cuai_found_t){heap, slot, region};
    }
    return (cuai_found_t){0};
}

/* The block's bytes join the target's lane, or its segment goes back. */
static uint64_t end_block(cuarena_t *arena, cuai_use_t *use, cuai_found_t found)
{
    cuai_record_t *r = cuai_found_record(found);
    uint64_t address = r->offset;
    uint64_t bytes = r->size;
    cuai_mark_moving(arena, found); /* nobody else does */
    cuai_unlock(&arena->lock);
    unmark_all(arena, use);
    cuai_lock(&arena->lock);
    if (arena->config.zero == CUARENA_ZERO_FREE && found.region != CUAI_APART)
        zero(arena, use, address, bytes);
    cuai_clear_moving(arena, found);
    bool dedicated = r->flags & CUAI_BLOCK_DEDICATED;
    cuai_end_block(arena, found, use->target);
    end_use(arena, use);
    if (dedicated)
        cuai_return_dedicated(arena, address);
    return bytes;
}

static void dequeue(cuai_uses_t *uses, cuai_use_t **link)
{
    cuai_use_t *use = *link;
    *link = use->next;
    if (uses->last == &use->next)
        uses->last = link;
}

uint64_t cuai_uses_settle(cuarena_t *arena, bool wait)
{
    uint64_t bytes = 0;
    cuai_use_t **link = &arena->uses.first;
    while (*link != NULL) {
        cuai_use_t *use = *link;
        bool over = all_over(arena, use, wait);
        cuai_found_t found = find_ending(arena, use->block);
        const cuai_record_t *r = cuai_found_record(found);
        if (!over || r->moving || (r->flags & CUAI_BLOCK_EXPORTED)) {
            link = &use->next;
            continue;
        }
        dequeue(&arena->uses, link);
        bytes += end_block(arena, use, found);
    }
    return bytes;
}

void cuai_uses_clear(cuarena_t *arena)
{
    cuai_uses_t *uses = &arena->uses;
    for (size_t i = 0; i < uses->bucket_count; i++)
        while (uses->buckets[i] != NULL) {
            cuai_use_t *use = uses->buckets[i];
            uses->buckets[i] = use->chain;
            for (uint32_t w = 0; w < use->count; w++)
                cuai_stream(arena, use->waits[w].number)->waits--;
            unmark_all(arena, use);
            free_use(use);
        }
    cuai_host_free(uses->buckets);
    *uses = (cuai_uses_t){0};
}
