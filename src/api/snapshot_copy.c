/* Copies of an arena's bookkeeping. */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "api/call.h"
#include "api/snapshot.h"
#include "api/stats.h"
#include "arena/capture.h"
#include "arena/streams.h"
#include "base/host_copy.h"
#include "heap/segments.h"

/* ---- Room -------------------------------------------------------------- */

cuai_snapshot_t *cuai_snapshot_new(void)
{
    cuai_snapshot_t *s = cuai_host_alloc(sizeof *s);
    if (s == NULL)
        (void)cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a snapshot");
    return s;
}

void cuai_snapshot_end(cuai_snapshot_t *s)
{
    if (s != NULL) {
        cuai_host_free(s->room);
        cuai_host_free(s->events);
    }
    cuai_host_free(s);
}

/* The part more is for what the arena gains until the lock is taken again. */
cuarena_status_t cuai_snapshot_make_room(cuai_snapshot_t *s, size_t bytes)
{
    CUAI_ASSERT(bytes > s->room_bytes);
    size_t room_bytes = bytes + bytes / 4 + 4096;
    cuai_host_free(s->room);
    s->room_bytes = 0;
    s->room = cuai_host_alloc_unzeroed(room_bytes);
    if (s->room == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY,
                         "the host has no memory for a snapshot, which takes %zu bytes",
                         room_bytes);
    memset(s->room, 1, room_bytes);
    s->room_bytes = room_bytes;
    return CUARENA_OK;
}

/* Cuts bytes for 64-bit members off the room; NULL: only counts them. */
static void *cut(unsigned char *room, size_t *used, size_t bytes)
{
    void *part = room == NULL ? NULL : room + *used;
    *used += cuai_align_up(bytes, sizeof(cuai_record_t));
    return part;
}

/* ---- Parts ------------------------------------------------------------- */

/* The heap of a copy has no index, no look-up and no cache. */
static void copy_heap(cuai_snapshot_t *s, const cuarena_heap_t *heap, int region,
                      unsigned char *room, size_t *used)
{
    size_t records_bytes = heap->unused * sizeof *heap->records;
    size_t segments_bytes = heap->segment_unused * sizeof *heap->segments;
    void *records = cut(room, used, records_bytes);
    void *segments = cut(room, used, segments_bytes);
    if (room == NULL)
        return;
    cuarena_heap_t *copy = &s->heaps[region];
    *copy = *heap;
    copy->records = cuai_host_copy(records, heap->records, records_bytes);
    copy->segments = segments_bytes == 0 ? NULL : memcpy(segments, heap->segments, segments_bytes);
    copy->idle = NULL;
    copy->freelists = NULL;
    copy->cache = NULL;
    copy->planning = NULL;
    s->exists[region] = true;
}

static void copy_segments(cuai_snapshot_t *s, const cuarena_t *arena, unsigned char *room,
                          size_t *used)
{
    size_t bytes = arena->segments.count * sizeof *s->segments;
    void *segments = cut(room, used, bytes);
    if (room == NULL)
        return;
    s->segment_count = arena->segments.count;
    s->segments = bytes == 0 ? segments : memcpy(segments, arena->segments.items, bytes);
}

static void copy_tags(cuai_snapshot_t *s, const cuarena_t *arena, unsigned char *room, size_t *used)
{
    cuai_copied_tag_t *tags = cut(room, used, arena->tag_count * sizeof *tags);
    char *names = cut(room, used, arena->tag_name_bytes);
    if (room == NULL)
        return;
    for (size_t tag = 1; tag < arena->tag_count; tag++) {
        size_t length = strlen(arena->tags[tag].name) + 1;
        tags[tag].name = memcpy(names, arena->tags[tag].name, length);
        tags[tag].counts = cuai_counter_read(&arena->tags[tag].counter);
        names += length;
    }
    s->tags = tags;
    s->tag_count = arena->tag_count;
}

/* Copies all that is of no fixed size and returns its bytes; without room only counts it. */
static size_t copy_parts(cuai_snapshot_t *s, const cuarena_t *arena, unsigned char *room)
{
    size_t used = 0;
    for (int region = 0; region < CUAI_HEAPS; region++)
        if (arena->heaps[region] != NULL)
            copy_heap(s, arena->heaps[region], region, room, &used);
    copy_segments(s, arena, room, &used);
    copy_tags(s, arena, room, &used);
    return used;
}

/* ---- Streams ----------------------------------------------------------- */

static void set_lists(cuai_snapshot_t *s, const uint32_t *freelists, uint32_t stream,
                      cuai_free_state_t state)
{
    CUAI_ASSERT(stream < CUAI_STREAM_NUMBERS && state <= CUAI_FREE_MOVING);
    for (int region = 0; region < CUAI_LISTED; region++)
        if (freelists[region] != 0)
            s->lists[region][freelists[region]] =
                (cuai_copied_list_t){(uint8_t)stream, (uint8_t)state};
}

/* The free bytes that the stream's session keeps for it. */
static uint64_t private_free(const cuarena_t *arena, const cuai_stream_t *stream)
{
    uint64_t bytes = 0;
    for (int region = 0; stream->capture != NULL && region < CUAI_LISTED; region++) {
        uint32_t list = stream->freelists[CUAI_PRIVATE][region];
        bytes += list == 0 ? 0 : arena->heaps[region]->freelists[list]->free_bytes;
    }
    return bytes;
}

static void copy_stream(cuai_snapshot_t *s, const cuarena_t *arena, const cuai_stream_t *stream)
{
    CUAI_ASSERT(s->stream_count < CUAI_STREAM_NUMBERS);
    s->streams[s->stream_count++] = (cuai_copied_stream_t){
        .number = stream->number,
        .handle = cuai_stream_handle(arena, stream->number),
        .released = stream->released,
        .captured = stream->capture != NULL,
        .free_bytes = cuai_stream_bytes(arena, stream, 0) + cuai_stream_bytes(arena, stream, 1) +
                      private_free(arena, stream),
        .cached_blocks = stream->cached,
        .counts = cuai_counter_read(&stream->counter),
    };
    uint32_t open = stream->turn;
    bool recorded = stream->behind_open != 0 && stream->behind_open != CUAI_TO_COME;
    set_lists(s, stream->freelists[open], stream->number,
              recorded ? CUAI_FREE_EVENT : CUAI_FREE_FREED);
    set_lists(s, stream->freelists[!open], stream->number, CUAI_FREE_EVENT);
    if (stream->capture != NULL)
        set_lists(s, stream->freelists[CUAI_PRIVATE], stream->number, CUAI_FREE_CAPTURE);
}

static void copy_streams(cuai_snapshot_t *s, const cuarena_t *arena)
{
    s->stream_count = 0;
    const cuai_stream_t *stream;
    for (uint32_t n = 0; (stream = cuai_stream_next(arena, &n)) != NULL;)
        copy_stream(s, arena, stream);
    for (const cuarena_capture_t *c = arena->captures.first; c != NULL; c = c->next)
        set_lists(s, c->kept, 0, CUAI_FREE_CAPTURE);
}

/* ---- All of it --------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Copies what is of a fixed size. */
static void copy_facts(cuai_snapshot_t *s, const cuarena_t *arena)
{
    char room[CUAI_SHOWN + sizeof("...")];
    s->time_ns = now_ns();
    s->monotonic_ns = cuai_trace_now();
    s->number = arena->listed.number;
    s->config = arena->config;
    memcpy(s->limits, arena->limits, sizeof s->limits);
    s->pool_bytes = arena->pool_bytes;
    s->stable_bytes = arena->stable_bytes;
    s->lost = cuai_is_lost(arena);
    memcpy(s->lost_by, arena->lost_by, sizeof s->lost_by);
    s->refused = arena->refused;
    const char *name = cuai_shown(arena->memory.ops.name, sizeof s->memory - 4, room);
    CUAI_ASSERT(strlen(name) < sizeof s->memory);
    memcpy(s->memory, name, strlen(name) + 1);
    cuai_stats_of(arena, &s->stats);
}

bool cuai_snapshot_fill(cuai_snapshot_t *s, const cuarena_t *arena, size_t *bytes_out)
{
    cuai_assert_locked(arena);
    *bytes_out = copy_parts(s, arena, NULL);
    if (*bytes_out > s->room_bytes)
        return false;
    size_t used = copy_parts(s, arena, s->room);
    CUAI_ASSERT(used == *bytes_out);
    (void)used;
    copy_streams(s, arena);
    copy_facts(s, arena);
    return true;
}

/* An arena that gains more than the room that was left is copied again: each time the room is
 * larger by a quarter, so there is an end. */
cuarena_status_t cuai_snapshot_copy(cuarena_t *arena, cuai_snapshot_t **snapshot_out)
{
    cuai_snapshot_t *s = cuai_snapshot_new();
    cuarena_status_t status = s == NULL ? CUARENA_OUT_OF_MEMORY : CUARENA_OK;
    bool filled = false;
    while (status == CUARENA_OK && !filled) {
        size_t bytes = 0;
        status = cuai_query_begin(arena);
        if (status == CUARENA_OK) {
            filled = cuai_snapshot_fill(s, arena, &bytes);
            status = cuai_query_end(arena, CUARENA_OK);
        }
        if (status == CUARENA_OK && !filled)
            status = cuai_snapshot_make_room(s, bytes);
    }
    if (status == CUARENA_OK)
        status = cuai_snapshot_take_events(s, arena);
    if (status == CUARENA_OK)
        *snapshot_out = s;
    else
        cuai_snapshot_end(s);
    return status;
}

/* ---- Walks ------------------------------------------------------------- */

static void tell_record(const cuai_snapshot_t *s, int region, cuai_slot_t slot, cuai_piece_fn fn,
                        void *to)
{
    CUAI_ASSERT(slot < s->heaps[region].unused);
    const cuai_record_t *r = cuai_record(&s->heaps[region], slot);
    cuai_piece_kind_t kind = r->kind == CUAI_CACHED ? CUAI_PIECE_CACHED : CUAI_PIECE_BLOCK;
    if (cuai_is_listed(r))
        fn(to, s, &(cuai_piece_t){kind, region, r->offset, r->size, slot});
    if (r->key != 0)
        fn(to, s, &(cuai_piece_t){CUAI_PIECE_FREE, region, cuai_end(r), cuai_range(r), slot});
}

void cuai_snapshot_walk(const cuai_snapshot_t *s, int region, const cuai_segment_t *segment,
                        cuai_piece_fn fn, void *to)
{
    CUAI_ASSERT(s->exists[region]);
    const cuarena_heap_t *heap = &s->heaps[region];
    cuai_slot_t slot = segment->head;
    do {
        tell_record(s, region, slot, fn, to);
        slot = cuai_record(heap, slot)->next;
    } while (slot != 0 && cuai_record(heap, slot)->kind != CUAI_SEGMENT_START);
}

void cuai_snapshot_walk_all(const cuai_snapshot_t *s, cuai_piece_fn fn, void *to)
{
    for (int region = 0; region < CUAI_HEAPS; region++) {
        const cuarena_heap_t *heap = &s->heaps[region];
        const cuai_segment_t *segment = s->exists[region] ? cuai_segment_first(heap) : NULL;
        for (; segment != NULL; segment = cuai_segment_next(heap, segment))
            cuai_snapshot_walk(s, region, segment, fn, to);
        for (cuai_slot_t slot = 1; s->exists[region] && slot < heap->unused; slot++) {
            const cuai_record_t *r = cuai_record(heap, slot);
            if (r->kind == CUAI_STANDALONE || r->kind == CUAI_EMPTY)
                fn(to, s, &(cuai_piece_t){CUAI_PIECE_BLOCK, region, r->offset, r->size, slot});
        }
    }
}

cuai_copied_list_t cuai_snapshot_list(const cuai_snapshot_t *s, const cuai_piece_t *piece)
{
    CUAI_ASSERT(piece->kind == CUAI_PIECE_FREE);
    uint32_t list = cuai_range_freelist(cuai_record(&s->heaps[piece->region], piece->slot));
    if (list == CUAI_FREELIST_PLANNED)
        return (cuai_copied_list_t){0, CUAI_FREE_MOVING};
    bool listed = piece->region < CUAI_LISTED && list != 0;
    return listed ? s->lists[piece->region][list] : (cuai_copied_list_t){0, CUAI_FREE_IDLE};
}
