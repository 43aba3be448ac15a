/*
 * Uses: blocks that several streams use, and dedicated blocks freed on a stream. Nobody gets their
 * bytes, or their segments, before the events that their free records are complete.
 */
#include "arena/uses.h"
#include "arena/alloc.h"
#include "arena/dedicated.h"
#include "arena/exports.h"
#include "arena/find.h"
#include "arena/move.h"
#include "arena/reclaim.h"
#include "arena/streams.h"
#include "arena/zero.h"

/* ---- The table --------------------------------------------------------- */

#define FEWEST_BUCKETS 64

static size_t bucket_of(const cuai_uses_t *uses, cuarena_block_t block)
{
    return (size_t)(block * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (uses->bucket_count - 1);
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
    CUAI_ASSERT(uses->bucket_count != 0);
    cuai_use_t **bucket = &uses->buckets[bucket_of(uses, use->block)];
    use->chain = *bucket;
    *bucket = use;
}

static void take_out(cuai_uses_t *uses, const cuai_use_t *use)
{
    CUAI_ASSERT(uses->count != 0);
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
        if (use->waits[i].stream == number)
            return true;
    return false;
}

/* Makes room for one more stream, and for the one that the free is on. */
static bool ready_waits(cuai_use_t *use)
{
    if (use->count + 2 <= use->room)
        return true;
    uint32_t room = use->room == 0 ? 4 : use->room * 2;
    cuai_point_t *waits = cuai_host_alloc(room * sizeof(*waits));
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
    cuai_use_t *use = grow_table(&arena->uses) ? cuai_host_alloc(sizeof *use) : NULL;
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

/* There is room for the wait: see ready_waits. */
static void add_wait(cuarena_t *arena, cuai_use_t *use, uint32_t number)
{
    CUAI_ASSERT(use->count < use->room && number != 0);
    use->waits[use->count++] = (cuai_point_t){number, 0};
    cuai_stream(arena, number)->waits++;
}

/* Leaves the first `kept` waits; streams are not kept for the others any more. */
static void cut_waits(const cuarena_t *arena, cuai_use_t *use, uint32_t kept)
{
    CUAI_ASSERT(kept <= use->count);
    for (; use->count > kept; use->count--)
        cuai_stream(arena, use->waits[use->count - 1].stream)->waits--;
}

cuarena_status_t cuai_use_add(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    cuai_assert_locked(arena);
    cuarena_block_t block = cuai_id(ref.heap, ref.slot);
    cuai_use_t *use = cuai_use_find(arena, block);
    if (use == NULL)
        use = new_use(arena, block);
    if (use == NULL || !ready_waits(use))
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a block's use of a stream");
    cuai_block_record(ref)->flags |= CUAI_BLOCK_USED;
    if (number == 0 || has_stream(use, number))
        return CUARENA_OK;
    add_wait(arena, use, number);
    return CUARENA_OK;
}

static void end_use(cuarena_t *arena, cuai_use_t *use)
{
    cut_waits(arena, use, 0);
    take_out(&arena->uses, use);
    free_use(use);
}

void cuai_use_drop(cuarena_t *arena, cuai_block_ref_t ref)
{
    cuai_assert_locked(arena);
    if (!(cuai_block_record(ref)->flags & CUAI_BLOCK_USED))
        return;
    cuai_use_t *use = cuai_use_find(arena, cuai_id(ref.heap, ref.slot));
    cuai_block_record(ref)->flags &= (uint8_t)~CUAI_BLOCK_USED;
    if (use != NULL)
        end_use(arena, use);
}

bool cuai_use_matters(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    if (!(cuai_block_record(ref)->flags & CUAI_BLOCK_USED) || number == 0)
        return false;
    const cuai_use_t *use = cuai_use_find(arena, cuai_id(ref.heap, ref.slot));
    CUAI_ASSERT(use != NULL);
    bool only = use->count == 0 || (use->count == 1 && use->waits[0].stream == number);
    bool later = cuai_block_record(ref)->flags & CUAI_BLOCK_EXPORTED;
    bool apart = ref.region == CUAI_APART && !cuai_goes_back_on(arena, ref, number);
    return apart || later || !only;
}

void cuai_use_only(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_use_t *use = cuai_use_find(arena, cuai_id(ref.heap, ref.slot));
    uint32_t kept = 0;
    for (uint32_t i = 0; use != NULL && i < use->count; i++) {
        if (use->waits[i].stream == number)
            use->waits[kept++] = use->waits[i];
        else
            cuai_stream(arena, use->waits[i].stream)->waits--;
    }
    if (use != NULL)
        use->count = kept;
    if (kept == 0)
        cuai_use_drop(arena, ref);
}

/* ---- A free ------------------------------------------------------------ */

/* Nobody else sees the use meanwhile. Drops the lock. */
static void drop_all(cuarena_t *arena, cuai_use_t *use)
{
    cuai_assert_locked(arena);
    for (uint32_t i = 0; i < use->count; i++) {
        cuai_point_t wait = use->waits[i];
        use->waits[i].serial = 0;
        cuai_timeline_drop(arena, wait);
    }
}

/* Records the events of all waits but that for the target. A released stream has one behind all its
 * work. An event that cannot be recorded now, because its stream is captured or the host lacks
 * memory, is recorded later. Drops the lock. */
static cuarena_status_t record_all(cuarena_t *arena, cuai_use_t *use, uint32_t target)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = CUARENA_OK;
    for (uint32_t i = 0; i < use->count && status == CUARENA_OK; i++) {
        cuai_point_t *wait = &use->waits[i];
        if (wait->stream != target)
            status = cuai_timeline_record(arena, wait, false);
        if (status == CUARENA_BUSY || status == CUARENA_OUT_OF_MEMORY)
            status = CUARENA_OK;
    }
    return status;
}

/* The free list that the bytes join stands for the work of the stream that frees them. It does not
 * for a segment that goes back, nor for an eager stream, whose free list stands for what came
 * before its last event. */
static uint32_t choose_target(const cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    bool covers = ref.region != CUAI_APART && !cuai_stream(arena, number)->eager;
    return covers ? number : 0;
}

static void enqueue(cuai_uses_t *uses, cuai_use_t *use)
{
    use->next = NULL;
    if (uses->first == NULL)
        uses->last = &uses->first;
    *uses->last = use;
    uses->last = &use->next;
}

/* Pins the block, without counting that, from its free to its end, so that it does not have to wait
 * for copies of a compaction as well. True: it has got the pin. */
static bool keep_place(cuai_record_t *r)
{
    if ((r->flags & CUAI_BLOCK_BORN_PIN) || r->pins == CUARENA_HEAP_MAX_PINS)
        return false;
    r->pins++;
    r->flags |= CUAI_BLOCK_BORN_PIN;
    return true;
}

void cuai_end_pins(cuarena_t *arena, cuai_block_ref_t ref)
{
    cuai_record_t *r = cuai_block_record(ref);
    uint32_t ended = cuai_block_pins(r) - cuai_exports_of(arena, ref);
    CUAI_ASSERT(ended <= arena->block_pins);
    r->pins = (uint16_t)(r->pins - ended);
    arena->block_pins -= ended;
    keep_place(r);
}

static void take_back(cuarena_t *arena, cuai_record_t *r, cuai_use_t *use, uint32_t count,
                      bool pinned)
{
    drop_all(arena, use);
    cuai_clear_ending(arena, r);
    if (pinned) {
        r->pins--;
        r->flags &= (uint8_t)~CUAI_BLOCK_BORN_PIN;
    }
    cut_waits(arena, use, count);
}

/* The block is marked as moving meanwhile, so nobody else ends it. */
cuarena_status_t cuai_end_after_uses(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_use_t *use = cuai_use_find(arena, cuai_id(ref.heap, ref.slot));
    cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(use != NULL && !r->moving);
    uint32_t count = use->count;
    bool pinned = keep_place(r);
    cuai_mark_ending(arena, r);
    use->target = choose_target(arena, ref, number);
    if (!has_stream(use, number))
        add_wait(arena, use, number);
    cuai_mark_moving(arena, ref);
    cuarena_status_t status = record_all(arena, use, use->target);
    if (status == CUARENA_OK) {
        cuai_end_pins(arena, ref);
        enqueue(&arena->uses, use);
    } else {
        take_back(arena, r, use, count, pinned);
    }
    cuai_clear_moving(arena, ref);
    return status;
}

/* The stream's event is recorded when somebody reclaims. There is room for its wait: see
 * ready_waits. */
void cuai_end_behind(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_use_t *use = cuai_use_find(arena, cuai_id(ref.heap, ref.slot));
    cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(use != NULL && number != 0);
    cut_waits(arena, use, 0);
    cuai_end_pins(arena, ref);
    cuai_mark_ending(arena, r);
    use->target = 0;
    add_wait(arena, use, number);
    use->waits[0].serial = CUAI_TO_COME;
    enqueue(&arena->uses, use);
}

/* ---- Ending freed blocks ----------------------------------------------- */

/* One look at all freed blocks. */
typedef struct pass {
    cuai_uses_how_t how;
    uint64_t busy[CUAI_STREAM_NUMBERS]; /* by stream: what it has from this serial on is not done */
} pass_t;

/* OK if the work behind a wait is done, else BUSY; may wait for it. Drops the lock. */
static cuarena_status_t see(cuarena_t *arena, cuai_point_t *wait, pass_t *pass)
{
    cuai_assert_locked(arena);
    cuarena_status_t status = CUARENA_OK;
    bool last = wait->serial == 0 && cuai_stream(arena, wait->stream)->released;
    if (last || wait->serial == CUAI_TO_COME)
        status = cuai_timeline_record(arena, wait, false);
    if (status != CUARENA_OK)
        return status;
    uint64_t *busy = &pass->busy[wait->stream];
    if (wait->serial >= *busy)
        return CUARENA_BUSY;
    status = cuai_timeline_see(arena, 0, *wait, pass->how == CUAI_USES_WAIT);
    if (status == CUARENA_BUSY)
        *busy = wait->serial;
    return status;
}

/* OK if the work behind all waits of a use is done, else BUSY; may wait for it. On a lost arena no
 * work is under way any more. Drops the lock. */
static cuarena_status_t see_all(cuarena_t *arena, const cuai_use_t *use, pass_t *pass)
{
    cuarena_status_t status = CUARENA_OK;
    for (uint32_t i = 0; i < use->count && status == CUARENA_OK; i++)
        if (!cuai_is_lost(arena) && pass->how != CUAI_USES_DONE)
            status = see(arena, &use->waits[i], pass);
    return cuai_is_lost(arena) ? CUARENA_OK : status;
}

/* Ends the block: its bytes join the free list of the target, or its segment goes back. Drops the
 * lock. */
static void end_block(cuarena_t *arena, cuai_use_t *use, cuai_block_ref_t ref)
{
    CUAI_ASSERT(!cuai_block_record(ref)->moving &&
                (cuai_block_record(ref)->flags & CUAI_BLOCK_ENDING));
    const cuai_record_t *r = cuai_block_record(ref);
    bool dedicated = r->flags & CUAI_BLOCK_DEDICATED;
    cuarena_memory_segment_t segment = cuai_dedicated_segment(r);
    bool joins = cuai_freelist_for_free(arena, ref.region, use->target) != 0;
    arena->gained += r->size;
    arena->gained_idle += joins || dedicated ? 0 : r->size;
    arena->gained_back += dedicated ? segment.bytes : 0;
    cuai_end_block(arena, ref, use->target);
    end_use(arena, use);
    if (dedicated)
        cuai_return_segment(arena, segment, 0);
}

static void dequeue(cuai_uses_t *uses, cuai_use_t **link)
{
    CUAI_ASSERT(uses->first != NULL);
    cuai_use_t *use = *link;
    *link = use->next;
    if (uses->last == &use->next)
        uses->last = link;
}

static bool is_handed(const cuarena_t *arena, uint32_t target)
{
    return cuai_stream_handle(arena, target) != CUARENA_NO_STREAM;
}

/* Ends a block if its uses are done: then it is out of the queue, and OK is returned. A target that
 * is released meanwhile is one more to ask about. Drops the lock. */
static cuarena_status_t try_end(cuarena_t *arena, cuai_use_t **link, pass_t *pass)
{
    cuai_use_t *use = *link;
    bool handed;
    cuarena_status_t status;
    do {
        handed = is_handed(arena, use->target);
        status = see_all(arena, use, pass);
    } while (status == CUARENA_OK && handed != is_handed(arena, use->target));
    cuai_block_ref_t ref = cuai_find_any(arena, use->block);
    CUAI_ASSERT(ref.heap != NULL);
    const cuai_record_t *r = cuai_block_record(ref);
    bool stays = r->moving || (r->flags & CUAI_BLOCK_EXPORTED);
    if (status != CUARENA_OK || stays)
        return status == CUARENA_OK ? CUARENA_BUSY : status;
    bool zeroes = cuai_zeroes_freed(arena, ref) && !cuai_is_lost(arena);
    cuai_mark_moving(arena, ref); /* nobody else does */
    if (zeroes)
        status = cuai_zero_block(arena, ref, 0, pass->how == CUAI_USES_DONE ? 0 : use->target);
    if (cuai_zeroes_nothing(status))
        status = CUARENA_OK;
    if (status == CUARENA_OK)
        drop_all(arena, use);
    cuai_clear_moving(arena, ref);
    if (status != CUARENA_OK)
        return status;
    dequeue(&arena->uses, link);
    end_block(arena, use, ref);
    return CUARENA_OK;
}

cuarena_status_t cuai_uses_reclaim(cuarena_t *arena, cuai_uses_how_t how)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(arena->reclaiming);
    pass_t pass = {.how = how};
    if (arena->uses.first == NULL)
        return CUARENA_OK;
    cuai_first_error_t first = cuai_first_begin();
    memset(pass.busy, 0xff, sizeof pass.busy);
    cuai_use_t **link = &arena->uses.first;
    while (*link != NULL) {
        cuai_use_t *use = *link;
        cuarena_status_t status = try_end(arena, link, &pass);
        if (status != CUARENA_OK)
            link = &use->next;
        cuai_first_note(&first, status);
    }
    return cuai_first_end(&first);
}

void cuai_uses_clear(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuai_uses_t *uses = &arena->uses;
    for (size_t i = 0; i < uses->bucket_count; i++)
        while (uses->buckets[i] != NULL) {
            cuai_use_t *use = uses->buckets[i];
            uses->buckets[i] = use->chain;
            for (uint32_t w = 0; w < use->count; w++)
                cuai_timeline_forgo(arena, use->waits[w]);
            cut_waits(arena, use, 0);
            free_use(use);
        }
    cuai_host_free(uses->buckets);
    *uses = (cuai_uses_t){0};
}
