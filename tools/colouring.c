#include "colouring.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Okabe and Ito, and grey for the rest. */
static const uint32_t group_colours[COLOURING_MOST] = {0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7,
                                                       0x56b4e9, 0xd55e00, 0xf0e442, 0x9aa0a6};
#define GROUPS (COLOURING_MOST - 1)

static const uint32_t scale_colours[] = {0x5a3f9c, 0x3f63a8, 0x2a8296, 0x22a087,
                                         0x52b966, 0x9cc93f, 0xd9c71f};
#define SCALE (sizeof scale_colours / sizeof scale_colours[0])

static const char *const ways[] = {"tag", "size", "stream", "lifetime"};

bool colouring_is(const char *by)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(ways[i], by) == 0)
            return true;
    return false;
}

const char *colouring_by(const history_t *history, const char *by)
{
    if (by != NULL)
        return by;
    return history->tag_count > 1 ? "tag" : "size";
}

void bytes_text(char *text, size_t room, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        bytes /= 1024;
    bool whole = bytes == (double)(uint64_t)bytes || bytes >= 1000;
    (void)snprintf(text, room, "%.*f %s", whole ? 0 : bytes >= 100 ? 1 : 2, bytes, units[unit]);
}

static colour_t *add_colour(colouring_t *c, uint32_t rgb)
{
    colour_t *colour = &c->colours[c->count++];
    *colour =
        (colour_t){.red = (uint8_t)(rgb >> 16), .green = (uint8_t)(rgb >> 8), .blue = (uint8_t)rgb};
    return colour;
}

/* ---- Groups ------------------------------------------------------------------ */

static void name_tag(const history_t *h, size_t number, colour_t *colour)
{
    const tag_total_t *tag = &h->tags[number];
    if (tag->allocs > 0)
        (void)snprintf(colour->name, sizeof colour->name, "%s",
                       tag->name != NULL ? tag->name : "no tag");
}

static void name_stream(const history_t *h, size_t number, colour_t *colour)
{
    if (h->stream_count == 0)
        (void)snprintf(colour->name, sizeof colour->name, "stream %zu", number);
    else
        (void)snprintf(colour->name, sizeof colour->name, "stream %s",
                       h->streams[number][0] != '\0' ? h->streams[number] : "none");
}

static void colour_groups(colouring_t *c, const history_t *h, bool by_tag)
{
    uint32_t most = 0;
    for (size_t i = 0; i < h->stay_count; i++) {
        uint32_t group = by_tag ? h->stays[i].tag : h->stays[i].stream;
        most = group > most ? group : most;
        c->of[i] = (uint8_t)(group < GROUPS ? group : GROUPS);
    }
    for (uint32_t group = 0; group <= most && group < COLOURING_MOST; group++) {
        colour_t *colour = add_colour(c, group_colours[group]);
        if (group == GROUPS)
            (void)snprintf(colour->name, sizeof colour->name, "others");
        else if (by_tag)
            name_tag(h, group, colour);
        else
            name_stream(h, group, colour);
    }
}

/* ---- Scales -------------------------------------------------------------------- */

static uint64_t life_of(const stay_t *stay)
{
    return stay->end - stay->begin;
}

static uint64_t number_of(const stay_t *stay, bool by_size)
{
    return by_size ? stay->bytes : life_of(stay);
}

static unsigned power_of(uint64_t number)
{
    return number > 1 ? 63 - (unsigned)__builtin_clzll(number) : 0;
}

/* Powers of two at which a colour ends and the next begins; how many. */
static size_t find_bounds(const history_t *h, bool by_size, unsigned bounds[SCALE - 1])
{
    double areas[64] = {0}, all = 0, sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < h->stay_count; i++) {
        const stay_t *stay = &h->stays[i];
        double area = (double)stay->taken_bytes * (double)life_of(stay);
        areas[power_of(number_of(stay, by_size))] += area;
        all += area;
    }
    for (unsigned power = 0; power < 64 && count < SCALE - 1; power++) {
        if (sum < all && sum >= all * (double)(count + 1) / (double)(SCALE + 1))
            bounds[count++] = power;
        sum += areas[power];
    }
    return count;
}

static void name_step(colour_t *colour, const char *word, unsigned power, bool by_size)
{
    char text[32];
    if (by_size)
        bytes_text(text, sizeof text, (double)(UINT64_C(1) << power));
    else
        (void)snprintf(text, sizeof text, "%" PRIu64 " events", UINT64_C(1) << power);
    (void)snprintf(colour->name, sizeof colour->name, "%s %s", word, text);
}

static void colour_scale(colouring_t *c, const history_t *h, bool by_size)
{
    unsigned bounds[SCALE - 1];
    size_t count = find_bounds(h, by_size, bounds);
    for (size_t i = 0; i < h->stay_count; i++) {
        unsigned power = power_of(number_of(&h->stays[i], by_size));
        while (c->of[i] < count && power >= bounds[c->of[i]])
            c->of[i]++;
    }
    for (size_t k = 0; k <= count; k++) {
        size_t step = count > 0 ? (2 * k * (SCALE - 1) + count) / (2 * count) : 0;
        colour_t *colour = add_colour(c, scale_colours[step]);
        if (count == 0)
            (void)snprintf(colour->name, sizeof colour->name, "any");
        else
            name_step(colour, k == 0 ? "below" : "from", bounds[k == 0 ? 0 : k - 1], by_size);
    }
}

colouring_t colouring_make(const history_t *history, const char *by)
{
    colouring_t c = {.count = 0};
    by = colouring_by(history, by);
    c.of = must_have(NULL, history->stay_count, 1);
    if (history->stay_count > 0)
        memset(c.of, 0, history->stay_count);
    if (strcmp(by, "tag") == 0 || strcmp(by, "stream") == 0)
        colour_groups(&c, history, strcmp(by, "tag") == 0);
    else
        colour_scale(&c, history, strcmp(by, "size") == 0);
    return c;
}

void colouring_free(colouring_t *colouring)
{
    free(colouring->of);
    *colouring = (colouring_t){.count = 0};
}
