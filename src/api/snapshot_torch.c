/*
 * Snapshots as PyTorch's memory viewer opens them: a pickle of segments with blocks that fill them.
 * Each stretch without holes is a segment there, and so is each dedicated block. Device numbers are
 * an index there, and memory of the host is shown as device 0.
 */
#include "api/snapshot.h"
#include "base/pickle.h"
#include "heap/blocks.h"
#include "heap/segments.h"

/* What lies in one segment, added up. */
typedef struct sums {
    uint64_t allocated; /* live, and not freed */
    uint64_t active;    /* those, and what was freed and waits */
    uint64_t requested;
} sums_t;

static const cuai_record_t *record_of(const cuai_snapshot_t *s, const cuai_piece_t *piece)
{
    CUAI_ASSERT(s->exists[piece->region]);
    return cuai_record(&s->heaps[piece->region], piece->slot);
}

static bool is_waiting(const cuai_snapshot_t *s, const cuai_piece_t *piece)
{
    return record_of(s, piece)->flags & CUAI_BLOCK_ENDING;
}

static void add_up(void *to, const cuai_snapshot_t *s, const cuai_piece_t *piece)
{
    sums_t *sums = to;
    if (piece->kind != CUAI_PIECE_BLOCK)
        return;
    sums->allocated += is_waiting(s, piece) ? 0 : piece->bytes;
    sums->active += piece->bytes;
    sums->requested += cuai_requested(record_of(s, piece));
}

static void put_number(cuai_pickle_t *pickle, const char *key, uint64_t number)
{
    cuai_pickle_word(pickle, key);
    cuai_pickle_number(pickle, number);
}

static void put_flag(cuai_pickle_t *pickle, const char *key, bool flag)
{
    cuai_pickle_word(pickle, key);
    cuai_pickle_flag(pickle, flag);
}

static void put_word(cuai_pickle_t *pickle, const char *key, const char *word)
{
    cuai_pickle_word(pickle, key);
    cuai_pickle_word(pickle, word);
}

static void put_empty_list(cuai_pickle_t *pickle, const char *key)
{
    cuai_pickle_word(pickle, key);
    cuai_pickle_list(pickle);
}

static void put_block(void *to, const cuai_snapshot_t *s, const cuai_piece_t *piece)
{
    cuai_pickle_t *pickle = to;
    bool live = piece->kind == CUAI_PIECE_BLOCK;
    const char *active = live && is_waiting(s, piece) ? "active_pending_free" : "active_allocated";
    cuai_pickle_dict(pickle);
    put_number(pickle, "address", piece->address);
    put_number(pickle, "size", piece->bytes);
    put_number(pickle, "requested_size", live ? cuai_requested(record_of(s, piece)) : 0);
    put_word(pickle, "state", live ? active : "inactive");
    put_empty_list(pickle, "frames");
    cuai_pickle_dict_end(pickle);
    cuai_pickle_append(pickle);
}

/* Begins a segment, whose blocks follow. */
static void open_segment(cuai_pickle_t *pickle, const cuai_snapshot_t *s, uint64_t address,
                         uint64_t bytes, const sums_t *sums)
{
    CUAI_ASSERT(sums->allocated <= sums->active && sums->active <= bytes);
    cuai_pickle_dict(pickle);
    put_number(pickle, "device", (uint64_t)s->config.device);
    put_number(pickle, "address", address);
    put_number(pickle, "total_size", bytes);
    put_number(pickle, "allocated_size", sums->allocated);
    put_number(pickle, "active_size", sums->active);
    put_number(pickle, "requested_size", sums->requested);
    put_number(pickle, "stream", 0);
    put_word(pickle, "segment_type", "large");
    cuai_pickle_word(pickle, "segment_pool_id");
    cuai_pickle_tuple(pickle);
    cuai_pickle_number(pickle, 0);
    cuai_pickle_number(pickle, 0);
    cuai_pickle_tuple_end(pickle);
    put_flag(pickle, "is_expandable", false);
    put_empty_list(pickle, "frames");
    put_empty_list(pickle, "blocks");
}

static void close_segment(cuai_pickle_t *pickle)
{
    cuai_pickle_dict_end(pickle);
    cuai_pickle_append(pickle);
}

static void put_stretch(cuai_pickle_t *pickle, const cuai_snapshot_t *s, int region,
                        const cuai_segment_t *stretch)
{
    sums_t sums = {0, 0, 0};
    cuai_snapshot_walk(s, region, stretch, add_up, &sums);
    open_segment(pickle, s, stretch->begin, stretch->end - stretch->begin, &sums);
    cuai_snapshot_walk(s, region, stretch, put_block, pickle);
    close_segment(pickle);
}

static void put_dedicated(cuai_pickle_t *pickle, const cuai_snapshot_t *s, cuai_slot_t slot)
{
    const cuai_record_t *r = cuai_record(&s->heaps[CUAI_APART], slot);
    cuai_piece_t piece = {CUAI_PIECE_BLOCK, CUAI_APART, r->offset, r->size, slot};
    sums_t sums = {0, 0, 0};
    add_up(&sums, s, &piece);
    open_segment(pickle, s, piece.address, piece.bytes, &sums);
    put_block(pickle, s, &piece);
    close_segment(pickle);
}

static void put_segments(cuai_pickle_t *pickle, const cuai_snapshot_t *s)
{
    put_empty_list(pickle, "segments");
    for (int region = 0; region < CUAI_HEAPS; region++) {
        const cuarena_heap_t *heap = s->exists[region] ? &s->heaps[region] : NULL;
        const cuai_segment_t *stretch = heap == NULL ? NULL : cuai_segment_first(heap);
        for (; stretch != NULL; stretch = cuai_segment_next(heap, stretch))
            put_stretch(pickle, s, region, stretch);
        for (cuai_slot_t slot = 0; (slot = cuai_heap_next_standalone(heap, slot)) != 0;)
            put_dedicated(pickle, s, slot);
    }
}

/* A list of events for each device up to the arena's. */
static void put_traces(cuai_pickle_t *pickle, const cuai_snapshot_t *s)
{
    put_empty_list(pickle, "device_traces");
    for (int32_t device = 0; device <= s->config.device; device++) {
        cuai_pickle_list(pickle);
        cuai_pickle_append(pickle);
    }
}

void cuai_snapshot_torch(const cuai_snapshot_t *s, cuai_sink_t *sink)
{
    cuai_pickle_t pickle;
    cuai_pickle_begin(&pickle, sink);
    cuai_pickle_dict(&pickle);
    put_segments(&pickle, s);
    put_traces(&pickle, s);
    cuai_pickle_word(&pickle, "allocator_settings");
    cuai_pickle_dict(&pickle);
    cuai_pickle_dict_end(&pickle);
    put_empty_list(&pickle, "external_annotations");
    cuai_pickle_dict_end(&pickle);
    cuai_pickle_end(&pickle);
}
