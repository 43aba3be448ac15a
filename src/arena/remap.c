/*
 * Remapping: pages that a stream freed move to addresses where the stream needs them.
 *
 * What the stream freed so far is in its closed free list, with an event behind it. Pages are cut
 * out of that under the lock, so nobody gets their addresses; are mapped a second time without it;
 * and join the open free list at the new addresses. The event ends the alias. No byte is reserved
 * or given back.
 *
 * Invariant: an alias is within a segment's bytes and in no stretch of the heap.
 */
#include "arena/remap.h"
#include "arena/arena.h"
#include "arena/counts.h"
#include "arena/reclaim.h"
#include "arena/segments.h"
#include "arena/streams.h"
#include "arena/trim.h"
#include "arena/unlocked.h"
#include "base/log.h"
#include "heap/freelists.h"
#include "heap/segments.h"

/* ---- Aliases ----------------------------------------------------------- */

bool cuai_beside_aliases(const cuarena_t *arena, uint64_t *begin, uint64_t *end)
{
    const cuai_aliases_t *aliases = &arena->aliases;
    for (uint32_t i = 0; i < aliases->count && *begin < *end;) {
        const cuai_alias_t *alias = &aliases->items[i];
        uint64_t alias_end = alias->begin + alias->bytes;
        if (alias->begin > *begin) {
            *end = cuai_min(*end, alias->begin);
        } else if (alias_end > *begin) {
            *begin = alias_end;
            i = 0; /* it may be where one begins that was passed */
            continue;
        }
        i++;
    }
    return *begin < *end;
}

/* The alias takes its stream and the event along until let_go. */
static void hold(cuarena_t *arena, const cuai_alias_t *alias)
{
    CUAI_ASSERT(arena->aliases.count < CUAI_ALIASES);
    cuai_stream(arena, alias->behind.stream)->waits++;
    arena->aliases.items[arena->aliases.count++] = *alias;
}

static void let_go(cuarena_t *arena, const cuai_alias_t *alias)
{
    if (alias->behind.stream == 0)
        return;
    cuai_timeline_forgo(arena, alias->behind);
    cuai_stream(arena, alias->behind.stream)->waits--;
}

void cuai_aliases_forget_waits(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    cuai_aliases_t *aliases = &arena->aliases;
    for (uint32_t i = 0; i < aliases->count; i++) {
        let_go(arena, &aliases->items[i]);
        aliases->items[i].behind = (cuai_point_t){0, 0};
    }
}

void cuai_aliases_count_waits(const cuarena_t *arena, uint64_t *waits)
{
    const cuai_aliases_t *aliases = &arena->aliases;
    for (uint32_t i = 0; i < aliases->count; i++)
        if (aliases->items[i].behind.stream != 0)
            waits[aliases->items[i].behind.stream]++;
}

/* The place of the segment around an address. */
static size_t place_of(const cuarena_t *arena, uint64_t address)
{
    const cuai_segments_t *list = &arena->segments;
    size_t at = 0;
    while (at < list->count && address - list->items[at].address >= list->items[at].address_bytes)
        at++;
    CUAI_ASSERT(at < list->count);
    return at;
}

/* Unmaps addresses that nobody uses any more. Drops the lock. */
static void unmap(cuarena_t *arena, uint64_t begin, uint64_t bytes)
{
    cuarena_memory_segment_t segment = arena->segments.items[place_of(arena, begin)];
    CUAI_ASSERT(arena->growing);
    cuai_unlock(&arena->lock);
    cuai_mem_unmap(arena, &segment, begin, bytes);
    cuai_arena_lock(arena);
}

/* Asks about what is behind aliases. Drops the lock. */
static void ask(cuarena_t *arena)
{
    cuai_kept_error_t before = cuai_error_kept();
    cuai_reclaim_begin(arena);
    for (uint32_t i = 0; i < arena->aliases.count && !cuai_is_lost(arena); i++)
        (void)cuai_timeline_see(arena, 0, arena->aliases.items[i].behind, false);
    cuai_reclaim_end(arena);
    cuai_error_restore(&before);
}

void cuai_aliases_end(cuarena_t *arena, bool asks)
{
    cuai_assert_locked(arena);
    cuai_aliases_t *aliases = &arena->aliases;
    CUAI_ASSERT(arena->growing);
    if (aliases->count != 0 && asks)
        ask(arena);
    for (uint32_t i = 0; i < aliases->count;) {
        cuai_alias_t alias = aliases->items[i];
        if (cuai_has_seen(arena, 0, alias.behind)) {
            unmap(arena, alias.begin, alias.bytes);
            let_go(arena, &alias);
            aliases->items[i] = aliases->items[--aliases->count];
        } else {
            i++;
        }
    }
}

void cuai_aliases_before_growth(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    if (arena->aliases.count == 0)
        return;
    arena->growing = true;
    cuai_aliases_end(arena, arena->aliases.count > CUAI_ALIASES / 2);
    arena->growing = false;
    cuai_cond_wake(&arena->changed);
}

/* ---- Moving ------------------------------------------------------------ */

bool cuai_may_remap(const cuarena_t *arena, uint32_t number)
{
    if (arena->memory.map_again == NULL || number == 0 || cuai_is_lost(arena) ||
        arena->aliases.count == CUAI_ALIASES)
        return false;
    const cuai_stream_t *s = cuai_stream(arena, number);
    uint64_t page = cuai_page_bytes(arena);
    return !s->released && s->capture == NULL &&
           cuai_stream_bytes(arena, s, 0) + cuai_stream_bytes(arena, s, 1) >= page;
}

bool cuai_remap_begin(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_kept_error_t before = cuai_error_kept();
    cuai_reclaim_begin(arena);
    cuai_stream_t *s = cuai_stream(arena, number);
    bool covered = cuai_may_remap(arena, number) && cuai_stream_cover(arena, s) == CUARENA_OK &&
                   s->behind_closed != 0 && !cuai_arena_is_taken(arena);
    if (!covered)
        cuai_reclaim_end(arena);
    cuai_error_restore(&before);
    return covered;
}

void cuai_remap_end(cuarena_t *arena, uint32_t number)
{
    cuai_assert_locked(arena);
    cuai_reclaim_end(arena);
    (void)cuai_reclaim_own(arena, number);
}

/* Maps the pages of a cut at another address as well; without the lock. */
static cuarena_status_t map_again(cuarena_t *arena, const cuai_cut_t *cut, size_t segment,
                                  uint64_t address)
{
    const cuarena_memory_segment_t from = arena->segments.items[cut->segment];
    const cuarena_memory_segment_t to = arena->segments.items[segment];
    cuai_kept_error_t before = cuai_error_kept();
    cuai_unlock(&arena->lock);
    cuarena_status_t status =
        cuai_mem_map_again(arena, &from, cut->address, cut->bytes, &to, address);
    cuai_log(CUARENA_LOG_DEBUG, "%s: %llu bytes move from 0x%llx to 0x%llx: %s", arena->label,
             (unsigned long long)cut->bytes, (unsigned long long)cut->address,
             (unsigned long long)address, cuarena_status_name(status));
    cuai_arena_lock(arena);
    cuai_error_restore(&before);
    return status;
}

/* Lets the stream have pages that no stretch has. */
static cuarena_status_t publish(cuarena_t *arena, cuai_stream_t *s, size_t segment,
                                uint64_t address, uint64_t bytes)
{
    cuarena_memory_segment_t *its = &arena->segments.items[segment];
    uint64_t before = its->bytes;
    its->bytes = cuai_max(before, address + bytes - its->address);
    cuarena_status_t status =
        cuai_publish(arena, segment, address, bytes, s->freelists[s->turn][CUAI_DYNAMIC]);
    if (status == CUARENA_OK)
        cuai_stream_want_event(arena, s);
    else
        its->bytes = before;
    return status;
}

/* The pages could not be moved: the stream has them where they were or, if the host lacks memory
 * for that, they go back to the memory after a wait. Drops the lock. */
static void put_back(cuarena_t *arena, cuai_stream_t *s, const cuai_cut_t *cut)
{
    cuai_kept_error_t before = cuai_error_kept();
    cuarena_status_t status = publish(arena, s, cut->segment, cut->address, cut->bytes);
    if (status != CUARENA_OK && cuai_timeline_see(arena, 0, cuai_closed(s), true) == CUARENA_OK) {
        cuai_cuts_t cuts = {.count = 1, .items = {*cut}};
        (void)cuai_cuts_give(arena, &cuts);
    }
    cuai_error_restore(&before);
}

/* Lets the stream have the free bytes that end where the pages will begin, so that all is one range
 * then: they are idle, or its own. */
static void gather_below(cuarena_t *arena, cuai_stream_t *s, const cuai_remap_to_t *to)
{
    cuarena_heap_t *heap = arena->heaps[CUAI_DYNAMIC];
    if (to->high || to->kept_begin >= to->begin)
        return;
    const cuai_segment_t *below = cuai_segment_around(heap, to->begin - 1);
    CUAI_ASSERT(below != NULL && below->end == to->begin);
    cuai_free_part_t part = {cuai_segment_last(heap, below), to->kept_begin, to->begin};
    (void)cuai_freelist_gather(heap, &part, s->freelists[s->turn][CUAI_DYNAMIC]);
    cuai_stream_want_event(arena, s);
}

/* Maps the pages of a cut, which the closed free list of the stream had, at another address. False:
 * they stay. Drops the lock. */
static bool move(cuarena_t *arena, cuai_stream_t *s, const cuai_cut_t *cut, size_t segment,
                 uint64_t address)
{
    cuarena_status_t status = map_again(arena, cut, segment, address);
    if (status == CUARENA_OK) {
        status = publish(arena, s, segment, address, cut->bytes);
        if (status != CUARENA_OK)
            unmap(arena, address, cut->bytes);
    }
    if (status == CUARENA_OK)
        hold(arena,
             &(cuai_alias_t){cut->address, cut->bytes, cuai_timeline_share(arena, cuai_closed(s))});
    else
        put_back(arena, s, cut);
    return status == CUARENA_OK;
}

/* Moves one row of handles into the room that is left; returns its bytes. Drops the lock. */
static uint64_t move_row(cuarena_t *arena, cuai_stream_t *s, const cuai_remap_to_t *to)
{
    cuai_cut_t cut;
    cuai_cut_request_t wanted = {.freelist = s->freelists[!s->turn][CUAI_DYNAMIC],
                                 .bytes = cuai_min(to->bytes, to->end - to->begin),
                                 .most = to->end - to->begin,
                                 .kept_begin = to->kept_begin,
                                 .kept_end = to->kept_end};
    if (wanted.bytes == 0 || arena->aliases.count == CUAI_ALIASES ||
        !cuai_cut_handles(arena, &wanted, &cut))
        return 0;
    gather_below(arena, s, to);
    uint64_t address = to->high ? to->end - cut.bytes : to->begin;
    return move(arena, s, &cut, to->segment, address) ? cut.bytes : 0;
}

uint64_t cuai_remap(cuarena_t *arena, uint32_t number, const cuai_remap_to_t *to)
{
    cuai_assert_locked(arena);
    cuai_stream_t *s = cuai_stream(arena, number);
    CUAI_ASSERT(arena->reclaiming && !cuai_arena_is_taken(arena) && s->behind_closed != 0);
    cuai_remap_to_t left = *to;
    arena->growing = true;
    for (uint64_t row; (row = move_row(arena, s, &left)) != 0;) {
        left.bytes -= cuai_min(left.bytes, row);
        if (to->high)
            left.end -= row;
        else
            left.begin += row;
    }
    arena->growing = false;
    cuai_cond_wake(&arena->changed);
    return to->high ? to->end - left.end : left.begin - to->begin;
}
