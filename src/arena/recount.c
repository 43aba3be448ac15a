/* Recounts what is kept of streams and of uses, for the validator. */
#include "arena/capture.h"
#include "arena/counts.h"
#include "arena/find.h"
#include "arena/streams.h"
#include "arena/uses.h"

/* What the blocks say. */
typedef struct tally {
    cuai_counts_t streams[CUAI_STREAM_NUMBERS];
    uint64_t cached[CUAI_STREAM_NUMBERS];
    uint64_t used; /* blocks that say that they have a cuai_use_t */
    uint64_t ending;
    bool unknown; /* an owner is no stream, or a block and its use do not agree */
} tally_t;

static void count_block(const cuarena_t *arena, const cuarena_heap_t *heap, cuai_slot_t slot,
                        tally_t *tally)
{
    const cuai_record_t *r = cuai_record(heap, slot);
    uint32_t owner = r->owner;
    tally->streams[owner].live_blocks++;
    tally->streams[owner].live_bytes += r->size;
    tally->streams[owner].requested_bytes += cuai_requested(r);
    bool known = owner == 0 || (arena->streams != NULL && arena->streams[owner] != NULL);
    bool used = r->flags & CUAI_BLOCK_USED;
    tally->used += used;
    tally->ending += (r->flags & CUAI_BLOCK_ENDING) != 0;
    if (!known || used != (cuai_use_find(arena, cuai_id(heap, slot)) != NULL))
        tally->unknown = true;
}

static void count_cached(const cuarena_t *arena, const cuai_record_t *r, tally_t *tally)
{
    tally->cached[r->owner]++;
    if (r->owner != 0 && (arena->streams == NULL || arena->streams[r->owner] == NULL ||
                          cuai_requested(r) > arena->event_serial))
        tally->unknown = true;
}

static void count_blocks(const cuarena_t *arena, tally_t *tally)
{
    for (int region = 0; region < CUAI_HEAPS; region++) {
        const cuarena_heap_t *heap = arena->heaps[region];
        for (cuai_slot_t s = 1; heap != NULL && s < heap->unused; s++)
            if (cuai_is_live(cuai_record(heap, s)))
                count_block(arena, heap, s, tally);
            else if (cuai_record(heap, s)->kind == CUAI_CACHED)
                count_cached(arena, cuai_record(heap, s), tally);
    }
}

static const char *wrong_with(const cuarena_t *arena, const cuai_stream_t *s,
                              const cuai_counts_t *counted, uint64_t waits)
{
    cuai_counts_t counts = cuai_counter_read(&s->counter);
    if (counts.live_blocks != counted->live_blocks || counts.live_bytes != counted->live_bytes ||
        counts.requested_bytes != counted->requested_bytes)
        return "a stream's counts are not those of its blocks";
    if (s->waits != waits)
        return "a stream has another number of uses than blocks say";
    if (arena->reclaiming || arena->compacting)
        return NULL;
    if (s->behind_closed == 0 && cuai_stream_ranges(arena, s, !s->turn) != 0)
        return "bytes are in a closed free list without an event";
    if (s->behind_open == 0 && cuai_stream_ranges(arena, s, s->turn) != 0)
        return "bytes are in an open free list without an event";
    return cuai_timeline_wrong(arena, s);
}

static uint64_t count_waits(const cuarena_t *arena, uint64_t *waits)
{
    uint64_t uses = 0;
    for (size_t i = 0; i < arena->uses.bucket_count; i++)
        for (const cuai_use_t *u = arena->uses.buckets[i]; u; u = u->chain) {
            uses++;
            for (uint32_t w = 0; w < u->count; w++)
                waits[u->waits[w].stream]++;
        }
    return uses;
}

/* Whether the stream may be the one used last, which calls use without further checks. */
static bool may_be_last(const cuarena_t *arena, const cuai_recent_t *near)
{
    const cuai_stream_t *s = near->stream;
    if (s == NULL)
        return true;
    return (arena->slow & ~CUAI_SLOW_RESIZES) == 0 && arena->stream_count == 1 &&
           !arena->cpu_touches && s == arena->streams[s->number] && !s->eager && !s->released &&
           s->capture == NULL && s->handle == cuai_stream_normal(near->handle);
}

static bool is_whole_right(const cuarena_t *arena)
{
    cuai_counts_t whole = cuai_whole_counts(arena);
    for (int i = 0; i < CUAI_HEAPS; i++) {
        if (arena->heaps[i] == NULL)
            continue;
        cuai_counts_t counts = cuai_counter_read(&arena->heaps[i]->counter);
        whole.live_bytes -= counts.live_bytes;
        whole.requested_bytes -= counts.requested_bytes;
        whole.live_blocks -= counts.live_blocks;
        whole.allocs -= counts.allocs;
    }
    return (whole.live_bytes | whole.requested_bytes | whole.live_blocks | whole.allocs) == 0;
}

const char *cuai_streams_wrong(const cuarena_t *arena)
{
    tally_t tally = {0};
    uint64_t waits[CUAI_STREAM_NUMBERS] = {0};
    count_blocks(arena, &tally);
    uint64_t uses = count_waits(arena, waits);
    cuai_captures_count_waits(arena, waits);
    cuai_aliases_count_waits(arena, waits);
    if (tally.unknown || uses != tally.used || uses != arena->uses.count)
        return "a block's stream or its uses are not known";
    if (tally.ending != arena->ending)
        return "the count of blocks that are ending is wrong";
    uint32_t known = 0;
    const char *wrong = NULL;
    const cuai_stream_t *s;
    for (uint32_t n = 0; (s = cuai_stream_next(arena, &n)) != NULL; known++) {
        if (s->cached != tally.cached[n])
            wrong = "a stream has another number of cached blocks than is kept";
        if (wrong == NULL)
            wrong = wrong_with(arena, s, &tally.streams[n], waits[n]);
    }
    if (known != arena->stream_count)
        return "the count of streams is wrong";
    if (!may_be_last(arena, &arena->last))
        return "a stream is the one used last that may not be";
    if (!is_whole_right(arena))
        return "the whole is not the sum of the heaps";
    return wrong != NULL ? wrong : cuai_captures_wrong(arena);
}
