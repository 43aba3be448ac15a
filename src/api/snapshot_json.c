/* Snapshots as JSON; docs/snapshot.schema.json says what each member is. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/options.h"
#include "api/snapshot.h"
#include "api/stats.h"
#include "base/json.h"
#include "heap/blocks.h"
#include "heap/segments.h"

/* ---- The arena --------------------------------------------------------- */

/* A limit or size that is none is null. */
static void put_limit(cuai_json_t *json, const char *key, uint64_t bytes)
{
    if (bytes == UINT64_MAX)
        cuai_json_null(json, key);
    else
        cuai_json_number(json, key, bytes);
}

static void put_limits(cuai_json_t *json, const cuai_snapshot_t *s)
{
    cuai_json_open(json, "limits", '{');
    put_limit(json, "reserved", s->limits[CUARENA_LIMIT_RESERVED]);
    put_limit(json, "live", s->limits[CUARENA_LIMIT_LIVE]);
    put_limit(json, "cached", s->limits[CUARENA_LIMIT_CACHED]);
    put_limit(json, "soft", s->limits[CUARENA_LIMIT_SOFT]);
    cuai_json_close(json, '}');
}

static void put_options(cuai_json_t *json, const cuai_snapshot_t *s)
{
    char text[CUAI_OPTION_TEXT_SIZE];
    const cuai_option_t *option;
    cuai_json_open(json, "options", '{');
    for (size_t i = 0; (option = cuai_option_at(i)) != NULL; i++) {
        (void)cuai_option_print(option, &s->config, text);
        cuai_json_text(json, option->key, text);
    }
    cuai_json_close(json, '}');
}

static void put_arena(cuai_json_t *json, const cuai_snapshot_t *s)
{
    cuai_json_open(json, "arena", '{');
    cuai_json_number(json, "number", s->number);
    cuai_json_text(json, "name", s->config.name);
    cuai_json_text(json, "memory", s->memory);
    cuai_json_number(json, "granule", s->config.alignment);
    put_limit(json, "pool_bytes", s->pool_bytes);
    cuai_json_number(json, "stable_bytes", s->stable_bytes);
    if (s->lost)
        cuai_json_text(json, "lost", s->lost_by);
    else
        cuai_json_null(json, "lost");
    put_limits(json, s);
    cuai_json_line(json);
    put_options(json, s);
    cuai_json_close(json, '}');
}

static void put_statistics(cuai_json_t *json, const cuai_snapshot_t *s)
{
    uint64_t value;
    const char *key;
    cuai_json_open(json, "statistics", '{');
    for (size_t i = 0; (key = cuai_stats_figure(&s->stats, i, &value)) != NULL; i++)
        cuai_json_number(json, key, value);
    cuai_json_close(json, '}');
}

static void put_refusal(cuai_json_t *json, const cuai_snapshot_t *s)
{
    const cuarena_error_info_t *error = &s->refused;
    if (error->status == CUARENA_OK) {
        cuai_json_null(json, "last_refusal");
        return;
    }
    cuai_json_open(json, "last_refusal", '{');
    cuai_json_text(json, "status", cuarena_status_name(error->status));
    cuai_json_text(json, "message", error->message);
    cuai_json_signed(json, "driver_code", error->driver_code);
    cuai_json_number(json, "asked_bytes", error->asked_bytes);
    put_limit(json, "limit_bytes", error->limit_bytes);
    cuai_json_number(json, "reserved_bytes", error->reserved_bytes);
    cuai_json_number(json, "free_bytes", error->free_bytes);
    cuai_json_number(json, "largest_bytes", error->largest_bytes);
    cuai_json_close(json, '}');
}

/* ---- Tags and streams -------------------------------------------------- */

static void put_counts(cuai_json_t *json, const cuai_counts_t *counts)
{
    cuai_json_number(json, "live_bytes", counts->live_bytes);
    cuai_json_number(json, "requested_bytes", counts->requested_bytes);
    cuai_json_number(json, "live_blocks", counts->live_blocks);
    cuai_json_number(json, "peak_live_bytes", counts->peak_live_bytes);
    cuai_json_number(json, "allocs", counts->allocs);
    cuai_json_number(json, "frees", counts->frees);
}

/* Begins an item of a list on a line of its own. */
static void open_item(cuai_json_t *json)
{
    cuai_json_line(json);
    cuai_json_open(json, NULL, '{');
}

static void put_tags(cuai_json_t *json, const cuai_snapshot_t *s)
{
    cuai_json_open(json, "tags", '[');
    for (size_t tag = 1; tag < s->tag_count; tag++) {
        open_item(json);
        cuai_json_number(json, "number", tag);
        cuai_json_text(json, "name", s->tags[tag].name);
        put_counts(json, &s->tags[tag].counts);
        cuai_json_close(json, '}');
    }
    cuai_json_close(json, ']');
}

/* A released stream has no handle any more. */
static void put_stream(cuai_json_t *json, const cuai_copied_stream_t *stream)
{
    CUAI_ASSERT(stream->number != 0);
    open_item(json);
    cuai_json_number(json, "number", stream->number);
    if (stream->released)
        cuai_json_null(json, "handle");
    else
        cuai_json_hex(json, "handle", (uint64_t)(uintptr_t)stream->handle);
    cuai_json_flag(json, "captured", stream->captured);
    cuai_json_number(json, "free_bytes", stream->free_bytes);
    cuai_json_number(json, "cached_blocks", stream->cached_blocks);
    put_counts(json, &stream->counts);
    cuai_json_close(json, '}');
}

static void put_streams(cuai_json_t *json, const cuai_snapshot_t *s)
{
    cuai_json_open(json, "streams", '[');
    for (size_t i = 0; i < s->stream_count; i++)
        put_stream(json, &s->streams[i]);
    cuai_json_close(json, ']');
}

/* ---- Segments ---------------------------------------------------------- */

/* Writes a segment, and as its holes what the heap does not have of it. */
static void put_segment(cuai_json_t *json, const cuai_snapshot_t *s, int region, const char *name,
                        const cuarena_memory_segment_t *segment)
{
    CUAI_ASSERT(segment->bytes <= segment->address_bytes);
    const cuarena_heap_t *heap = &s->heaps[region];
    uint64_t at = segment->address;
    uint64_t end = segment->address + segment->bytes;
    uint64_t reserved = 0;
    open_item(json);
    cuai_json_text(json, "region", name);
    cuai_json_number(json, "address", segment->address);
    cuai_json_number(json, "bytes", segment->bytes);
    cuai_json_number(json, "address_bytes", segment->address_bytes);
    cuai_json_open(json, "holes", '[');
    const cuai_segment_t *stretch = s->exists[region] ? cuai_segment_from(heap, at) : NULL;
    while (at < end) {
        uint64_t next = stretch != NULL && stretch->begin < end ? stretch->begin : end;
        if (next > at) {
            cuai_json_open(json, NULL, '{');
            cuai_json_number(json, "address", at);
            cuai_json_number(json, "bytes", next - at);
            cuai_json_close(json, '}');
        }
        at = next == end ? end : stretch->end;
        reserved += at - next;
        stretch = next == end ? NULL : cuai_segment_next(heap, stretch);
    }
    cuai_json_close(json, ']');
    cuai_json_number(json, "reserved_bytes", reserved);
    cuai_json_close(json, '}');
}

/* The stable region is the lower end of the first segment. */
static void put_shared(cuai_json_t *json, const cuai_snapshot_t *s)
{
    for (size_t i = 0; i < s->segment_count; i++) {
        cuarena_memory_segment_t segment = s->segments[i];
        uint64_t stable = i == 0 ? s->stable_bytes : 0;
        cuarena_memory_segment_t lower = {segment.address, stable, stable, NULL};
        segment.address += stable;
        segment.bytes -= stable;
        segment.address_bytes -= stable;
        if (stable != 0)
            put_segment(json, s, CUAI_STABLE, "stable", &lower);
        if (segment.address_bytes != 0)
            put_segment(json, s, CUAI_DYNAMIC, "dynamic", &segment);
    }
}

static void put_whole(cuai_json_t *json, const char *name, uint64_t address, uint64_t bytes)
{
    CUAI_ASSERT(bytes != 0);
    open_item(json);
    cuai_json_text(json, "region", name);
    cuai_json_number(json, "address", address);
    cuai_json_number(json, "bytes", bytes);
    cuai_json_number(json, "address_bytes", bytes);
    cuai_json_open(json, "holes", '[');
    cuai_json_close(json, ']');
    cuai_json_number(json, "reserved_bytes", bytes);
    cuai_json_close(json, '}');
}

static void put_segments(cuai_json_t *json, const cuai_snapshot_t *s)
{
    cuai_json_open(json, "segments", '[');
    put_shared(json, s);
    const cuarena_heap_t *apart = s->exists[CUAI_APART] ? &s->heaps[CUAI_APART] : NULL;
    const cuai_segment_t *adopted = apart == NULL ? NULL : cuai_segment_first(apart);
    for (; adopted != NULL; adopted = cuai_segment_next(apart, adopted))
        put_whole(json, "adopted", adopted->begin, adopted->end - adopted->begin);
    for (cuai_slot_t slot = 0; (slot = cuai_heap_next_standalone(apart, slot)) != 0;) {
        const cuai_record_t *r = cuai_record(apart, slot);
        put_whole(json, "dedicated", r->offset, r->size);
    }
    cuai_json_close(json, ']');
}

/* ---- Blocks and free ranges -------------------------------------------- */

static void put_word(cuai_json_t *json, bool is, const char *word)
{
    if (is)
        cuai_json_text(json, NULL, word);
}

static void put_flags(cuai_json_t *json, const cuai_record_t *r)
{
    uint32_t flags = r->flags;
    cuai_json_open(json, "flags", '[');
    put_word(json, flags & CUAI_BLOCK_POINTER, "pointer");
    put_word(json, r->pins != 0, "pinned");
    put_word(json, flags & CUAI_BLOCK_STABLE, "stable");
    put_word(json, flags & CUAI_BLOCK_DEDICATED, "dedicated");
    put_word(json, flags & CUAI_BLOCK_ADOPTED, "adopted");
    put_word(json, flags & CUAI_BLOCK_ENDING, "waiting");
    put_word(json, flags & CUAI_BLOCK_EXPORTED, "exported");
    put_word(json, r->kind == CUAI_CACHED, "cached");
    put_word(json, r->moving, "moving");
    put_word(json, r->fixed, "captured");
    cuai_json_close(json, ']');
}

/* Of a cached block the bytes asked for and the tag are forgotten, and no id names it. */
static void put_block(void *to, const cuai_snapshot_t *s, const cuai_piece_t *piece)
{
    cuai_json_t *json = to;
    const cuarena_heap_t *heap = &s->heaps[piece->region];
    const cuai_record_t *r = cuai_record(heap, piece->slot);
    if (piece->kind == CUAI_PIECE_FREE)
        return;
    CUAI_ASSERT(piece->slot != 0);
    bool cached = piece->kind == CUAI_PIECE_CACHED;
    open_item(json);
    if (cached)
        cuai_json_null(json, "id");
    else
        cuai_json_hex(json, "id", cuai_id(heap, piece->slot));
    cuai_json_number(json, "address", piece->address);
    cuai_json_number(json, "bytes", piece->bytes);
    cuai_json_number(json, "requested_bytes", cached ? 0 : cuai_requested(r));
    cuai_json_number(json, "tag", cached ? 0 : cuai_tag_of(r));
    cuai_json_number(json, "stream", r->owner);
    put_flags(json, r);
    cuai_json_close(json, '}');
}

static void put_free(void *to, const cuai_snapshot_t *s, const cuai_piece_t *piece)
{
    static const char *const states[] = {[CUAI_FREE_IDLE] = "idle",
                                         [CUAI_FREE_FREED] = "freed",
                                         [CUAI_FREE_EVENT] = "event",
                                         [CUAI_FREE_CAPTURE] = "captured",
                                         [CUAI_FREE_MOVING] = "moving"};
    cuai_json_t *json = to;
    if (piece->kind != CUAI_PIECE_FREE)
        return;
    cuai_copied_list_t list = cuai_snapshot_list(s, piece);
    CUAI_ASSERT(list.state <= CUAI_FREE_MOVING);
    open_item(json);
    cuai_json_number(json, "address", piece->address);
    cuai_json_number(json, "bytes", piece->bytes);
    cuai_json_number(json, "stream", list.stream);
    cuai_json_text(json, "state", states[list.state]);
    cuai_json_close(json, '}');
}

static void put_pieces(cuai_json_t *json, const cuai_snapshot_t *s, const char *key,
                       cuai_piece_fn put)
{
    cuai_json_open(json, key, '[');
    cuai_snapshot_walk_all(s, put, json);
    cuai_json_close(json, ']');
}

/* ---- All of it --------------------------------------------------------- */

void cuai_snapshot_json(const cuai_snapshot_t *s, cuai_sink_t *sink)
{
    static void (*const parts[])(cuai_json_t *, const cuai_snapshot_t *) = {
        put_arena, put_statistics, put_refusal, put_tags, put_streams, put_segments};
    cuai_json_t json = {sink, false};
    cuai_json_open(&json, NULL, '{');
    cuai_json_number(&json, "version", CUARENA_SNAPSHOT_VERSION);
    cuai_json_text(&json, "library", cuarena_version_string());
    cuai_json_number(&json, "pid", (uint64_t)getpid());
    cuai_json_number(&json, "time_ns", s->time_ns);
    cuai_json_number(&json, "monotonic_ns", s->monotonic_ns);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        cuai_json_line(&json);
        parts[i](&json, s);
    }
    cuai_json_line(&json);
    put_pieces(&json, s, "blocks", put_block);
    cuai_json_line(&json);
    put_pieces(&json, s, "free", put_free);
    cuai_json_line(&json);
    cuai_snapshot_put_events(&json, s);
    cuai_json_close(&json, '}');
    cuai_sink_put(sink, "\n", 1);
}
