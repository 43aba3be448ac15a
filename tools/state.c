#include "state.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cuarena/heap.h"

/* Streams have smaller numbers. */
#define MOST_STREAMS 256

typedef struct snapshot {
    const char *path;
    json_t *root;
    history_t h;
    fault_t *fault;
} snapshot_t;

/* ---- Members ----------------------------------------------------------------- */

/* 0 for what is missing or no number. */
static uint64_t count_of(const json_t *object, const char *key)
{
    json_int_t number = json_integer_value(json_object_get(object, key));
    return number > 0 ? (uint64_t)number : 0;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static char *copy_of(const char *text)
{
    char *copy = must_have(NULL, strlen(text) + 1, 1);
    return strcpy(copy, text);
}

/* The members that are texts or numbers, as lines of key=value. */
static char *lines_of(json_t *object)
{
    char *lines = copy_of("");
    size_t length = 0;
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        char text[256];
        const json_t *value = json_object_iter_value(at);
        const char *key = json_object_iter_key(at), *word = json_string_value(value);
        if (word != NULL)
            (void)snprintf(text, sizeof text, "%s=%s\n", key, word);
        else
            (void)snprintf(text, sizeof text, "%s=%" JSON_INTEGER_FORMAT "\n", key,
                           json_integer_value(value));
        lines = must_have(lines, length + strlen(text) + 1, 1);
        strcpy(lines + length, text);
        length += strlen(text);
    }
    return lines;
}

/* ---- Blocks -------------------------------------------------------------------- */

/* The name of a tag by its number; "" for none. */
static const char *tag_name(const snapshot_t *s, uint64_t number)
{
    const json_t *tags = json_object_get(s->root, "tags");
    for (size_t i = 0; i < json_array_size(tags); i++)
        if (count_of(json_array_get(tags, i), "number") == number)
            return text_of(json_array_get(tags, i), "name");
    return "";
}

/* The id of a block, and its flags. */
static char *name_of(const json_t *block)
{
    char text[256];
    const char *id = text_of(block, "id");
    const json_t *flags = json_object_get(block, "flags");
    size_t length = (size_t)snprintf(text, sizeof text, "%s", id[0] != '\0' ? id : "(cached)");
    for (size_t i = 0; i < json_array_size(flags) && length < sizeof text; i++) {
        const char *word = json_string_value(json_array_get(flags, i));
        if (word != NULL)
            length += (size_t)snprintf(text + length, sizeof text - length, ", %s", word);
    }
    return copy_of(text);
}

static void add_block(snapshot_t *s, const json_t *block)
{
    history_t *h = &s->h;
    const char *tag = tag_name(s, count_of(block, "tag"));
    const stay_t stay = {.begin = 0,
                         .end = 1,
                         .address = count_of(block, "address"),
                         .bytes = count_of(block, "requested_bytes"),
                         .taken_bytes = count_of(block, "bytes"),
                         .block = h->name_count,
                         .stream = (uint32_t)count_of(block, "stream"),
                         .tag = history_tag(h, tag, strlen(tag))};
    h->names[h->name_count++] = name_of(block);
    if (stay.address != 0 && stay.taken_bytes >= stay.bytes)
        (void)history_open(h, &stay);
}

static void add_blocks(snapshot_t *s)
{
    const json_t *blocks = json_object_get(s->root, "blocks");
    s->h.names = must_have(NULL, json_array_size(blocks), sizeof *s->h.names);
    (void)history_tag(&s->h, "", 0);
    for (size_t i = 0; i < json_array_size(blocks); i++)
        add_block(s, json_array_get(blocks, i));
}

/* Stream 0 is none; the others have the numbers of the snapshot, of which some may be free. */
static void add_streams(snapshot_t *s)
{
    history_t *h = &s->h;
    const json_t *streams = json_object_get(s->root, "streams");
    history_add_stream(h, "", 0);
    for (size_t i = 0; i < json_array_size(streams); i++) {
        const json_t *stream = json_array_get(streams, i);
        const char *handle = text_of(stream, "handle");
        while (h->stream_count < count_of(stream, "number") && h->stream_count < MOST_STREAMS)
            history_add_stream(h, "?", 1);
        history_add_stream(h, handle, strlen(handle));
    }
}

/* ---- Segments ------------------------------------------------------------------- */

static int by_address(const void *left, const void *right)
{
    const band_t *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* Takes a hole out of the band around it, of those from `first` on. */
static void cut_hole(history_t *h, size_t first, band_t hole)
{
    for (size_t i = first; i < h->band_count; i++) {
        band_t *band = &h->bands[i];
        uint64_t before = hole.address - band->address;
        if (before >= band->bytes || hole.bytes > band->bytes - before)
            continue;
        const band_t behind = {hole.address + hole.bytes, band->bytes - before - hole.bytes};
        band->bytes = before;
        history_add_band(h, behind);
        return;
    }
}

static void add_segment(snapshot_t *s, const json_t *segment)
{
    size_t first = s->h.band_count;
    const json_t *holes = json_object_get(segment, "holes");
    const band_t band = {count_of(segment, "address"), count_of(segment, "bytes")};
    if (band.bytes == 0 || band.bytes >= CUARENA_HEAP_MAX_SEGMENT)
        return;
    history_add_band(&s->h, band);
    for (size_t i = 0; i < json_array_size(holes); i++) {
        const json_t *hole = json_array_get(holes, i);
        cut_hole(&s->h, first, (band_t){count_of(hole, "address"), count_of(hole, "bytes")});
    }
}

static void add_segments(snapshot_t *s)
{
    const json_t *segments = json_object_get(s->root, "segments");
    for (size_t i = 0; i < json_array_size(segments); i++)
        add_segment(s, json_array_get(segments, i));
    if (s->h.band_count == 0)
        history_add_band(&s->h, (band_t){0, 1});
    qsort(s->h.bands, s->h.band_count, sizeof *s->h.bands, by_address);
}

/* ---- The whole -------------------------------------------------------------------- */

static void add_figures(snapshot_t *s)
{
    json_t *statistics = json_object_get(s->root, "statistics");
    s->h.samples = must_have(NULL, 1, sizeof *s->h.samples);
    s->h.samples[0] = (sample_t){.reserved_bytes = count_of(statistics, "reserved_bytes"),
                                 .live_bytes = count_of(statistics, "live_bytes"),
                                 .free_bytes = count_of(statistics, "free_bytes"),
                                 .largest_bytes = count_of(statistics, "largest_bytes")};
    s->h.statistics = lines_of(statistics);
    s->h.options = lines_of(json_object_get(json_object_get(s->root, "arena"), "options"));
}

/* The last request that was refused, which may be long ago: nothing says what stood in its way. */
static void add_refusal(snapshot_t *s)
{
    const json_t *refusal = json_object_get(s->root, "last_refusal");
    if (!json_is_object(refusal))
        return;
    (void)fault_set(&s->h.refusal, "%s", text_of(refusal, "message"));
    history_add_refusal(&s->h, (refusal_t){0, count_of(refusal, "asked_bytes"),
                                           count_of(refusal, "free_bytes"),
                                           count_of(refusal, "largest_bytes")});
}

static bool check(const snapshot_t *s)
{
    static const char *const lists[] = {"segments", "blocks"};
    json_t *version = json_object_get(s->root, "version");
    if (!json_is_integer(version) || json_integer_value(version) != 1)
        return fault_set(
            s->fault, "%s: version is %" JSON_INTEGER_FORMAT ", expected a snapshot of version 1",
            s->path, json_integer_value(version));
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (!json_is_array(json_object_get(s->root, lists[i])))
            return fault_set(s->fault, "%s: no list '%s', expected a snapshot of an arena", s->path,
                             lists[i]);
    return true;
}

bool state_is(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && memchr(" \t\r\n", text[at], 4) != NULL)
        at++;
    return at < length && text[at] == '{';
}

bool state_history(const char *path, const source_t *source, history_t *history_out, fault_t *fault)
{
    json_error_t error;
    snapshot_t s = {.path = path,
                    .root = json_loadb(source->text, source->length, 0, &error),
                    .h = {.kind = HISTORY_STATE, .moments = 1, .unit_bytes = 1},
                    .fault = fault};
    if (s.root == NULL)
        return fault_set(fault, "%s:%d: %s, expected a snapshot as JSON", path, error.line,
                         error.text);
    bool good = check(&s);
    if (good) {
        add_streams(&s);
        add_blocks(&s);
        add_segments(&s);
        add_figures(&s);
        add_refusal(&s);
        *history_out = s.h;
    }
    json_decref(s.root);
    return good;
}
