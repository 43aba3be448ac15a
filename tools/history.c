#include "history.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that no block ever had are left out of the drawing where they are more than this. */
#define GAP_BYTES (UINT64_C(64) << 20)

/* The list with room for one element more: what it holds doubles when it is full. */
static void *with_room(void *list, size_t count, size_t element_bytes)
{
    bool full = (count & (count - 1)) == 0;
    return full ? must_have(list, count > 0 ? 2 * count : 1, element_bytes) : list;
}

/* ---- Tags and streams ------------------------------------------------------------------ */

static char *copy_of(const char *text, size_t length)
{
    char *copy = must_have(NULL, length + 1, 1);
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void history_add_stream(history_t *h, const char *name, size_t length)
{
    h->streams = with_room(h->streams, h->stream_count, sizeof *h->streams);
    h->streams[h->stream_count++] = copy_of(name, length);
}

static uint32_t add_tag(history_t *h, const char *name, size_t length)
{
    h->tags = with_room(h->tags, h->tag_count, sizeof *h->tags);
    h->tags[h->tag_count] = (tag_total_t){.name = length > 0 ? copy_of(name, length) : NULL};
    return (uint32_t)h->tag_count++;
}

static bool is_tag(const history_t *h, uint32_t number, const char *name, size_t length)
{
    const char *tag = h->tags[number].name;
    return tag == NULL ? length == 0 : strlen(tag) == length && memcmp(tag, name, length) == 0;
}

uint32_t history_tag(history_t *h, const char *name, size_t length)
{
    if (h->tag_count == 0)
        (void)add_tag(h, NULL, 0);
    if (is_tag(h, h->last_tag, name, length))
        return h->last_tag;
    uint32_t number = 0;
    while (number < h->tag_count && !is_tag(h, number, name, length))
        number++;
    return h->last_tag = number < h->tag_count ? number : add_tag(h, name, length);
}

/* ---- Stays ----------------------------------------------------------------- */

static size_t add_stay(history_t *h, const stay_t *stay)
{
    h->stays = with_room(h->stays, h->stay_count, sizeof *h->stays);
    h->stays[h->stay_count] = *stay;
    return h->stay_count++;
}

size_t history_open(history_t *h, const stay_t *stay)
{
    tag_total_t *tag = &h->tags[stay->tag];
    tag->allocs++;
    tag->end_blocks++;
    tag->live_bytes += stay->taken_bytes;
    tag->peak_bytes = tag->live_bytes > tag->peak_bytes ? tag->live_bytes : tag->peak_bytes;
    return add_stay(h, stay);
}

void history_close(history_t *h, size_t number, uint64_t moment)
{
    stay_t *stay = &h->stays[number];
    tag_total_t *tag = &h->tags[stay->tag];
    stay->end = moment;
    tag->end_blocks--;
    tag->live_bytes -= stay->taken_bytes;
}

/* A block that moves twice in one event was at no moment where it was between. */
size_t history_move(history_t *h, size_t number, uint64_t moment, uint64_t address)
{
    stay_t next = h->stays[number];
    if (next.begin == moment) {
        h->stays[number].address = address;
        return number;
    }
    h->stays[number].end = moment;
    next.begin = moment;
    next.address = address;
    return add_stay(h, &next);
}

/* ---- What happens ------------------------------------------------------------ */

void history_add_refusal(history_t *h, refusal_t refusal)
{
    h->refusals = with_room(h->refusals, h->refusal_count, sizeof *h->refusals);
    h->refusals[h->refusal_count++] = refusal;
}

void history_add_slide(history_t *h, slide_t slide)
{
    h->slides = with_room(h->slides, h->slide_count, sizeof *h->slides);
    h->slides[h->slide_count++] = slide;
}

void history_find_obstacle(history_t *h, const size_t *stays, size_t count, uint64_t low,
                           uint64_t high, uint64_t bytes)
{
    obstacle_block_t *blocks = must_have(NULL, count, sizeof *blocks);
    bool bounded = high != 0;
    low = bounded ? low : UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const stay_t *stay = &h->stays[stays[i]];
        uint64_t end = stay->address + stay->taken_bytes;
        blocks[i] = (obstacle_block_t){stay->address, end, stays[i]};
        low = !bounded && stay->address < low ? stay->address : low;
        high = !bounded && end > high ? end : high;
    }
    if (low < high)
        h->obstacle = obstacle_find(blocks, count, low, high, bytes);
    free(blocks);
}

/* ---- Bands ------------------------------------------------------------------- */

void history_add_band(history_t *h, band_t band)
{
    h->bands = with_room(h->bands, h->band_count, sizeof *h->bands);
    h->bands[h->band_count++] = band;
}

static int by_address(const void *left, const void *right)
{
    const band_t *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* With whole units, so that what follows is drawn where a unit begins. */
static band_t place_of(const history_t *h, const stay_t *stay)
{
    uint64_t mask = h->unit_bytes - 1;
    return (band_t){stay->address, (stay->taken_bytes + mask) & ~mask};
}

static void join_place(history_t *h, band_t place)
{
    band_t *last = h->band_count > 0 ? &h->bands[h->band_count - 1] : NULL;
    if (last == NULL || place.address > last->address + last->bytes + GAP_BYTES)
        history_add_band(h, place);
    else if (place.address + place.bytes > last->address + last->bytes)
        last->bytes = place.address + place.bytes - last->address;
}

void history_find_bands(history_t *h)
{
    band_t *places = must_have(NULL, h->stay_count, sizeof *places);
    for (size_t i = 0; i < h->stay_count; i++)
        places[i] = place_of(h, &h->stays[i]);
    qsort(places, h->stay_count, sizeof *places, by_address);
    for (size_t i = 0; i < h->stay_count; i++)
        join_place(h, places[i]);
    free(places);
    if (h->band_count == 0)
        history_add_band(h, (band_t){0, 1});
}

uint64_t history_span_bytes(const history_t *history)
{
    const band_t *last = &history->bands[history->band_count - 1];
    uint64_t bytes = history_offset(history, last->address) + last->bytes;
    return bytes > 0 ? bytes : 1;
}

uint64_t history_offset(const history_t *history, uint64_t address)
{
    uint64_t before = 0;
    for (size_t i = 0; i < history->band_count; i++) {
        const band_t *band = &history->bands[i];
        if (address - band->address < band->bytes)
            return before + address - band->address;
        before += band->bytes;
    }
    return before;
}

void history_free(history_t *history)
{
    for (size_t i = 0; i < history->tag_count; i++)
        free(history->tags[i].name);
    for (size_t i = 0; i < history->name_count; i++)
        free(history->names[i]);
    for (size_t i = 0; i < history->stream_count; i++)
        free(history->streams[i]);
    free(history->streams);
    obstacle_free(&history->obstacle);
    free(history->names);
    free(history->options);
    free(history->stays);
    free(history->samples);
    free(history->refusals);
    free(history->slides);
    free(history->tags);
    free(history->bands);
    free(history->statistics);
    *history = (history_t){.moments = 0};
}
