#include "clock.h"

#include "report.h"

#include <stdlib.h>
#include <string.h>

/* Where the line is, or would be. */
static size_t place(const sd_clock_t *clock, uint32_t line)
{
    size_t low = 0;
    size_t high = clock->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (clock->ticks[middle].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool holds(const sd_clock_t *clock, size_t index, uint32_t line)
{
    return index < clock->count && clock->ticks[index].line == line;
}

uint64_t sd_clock_at(const sd_clock_t *clock, uint32_t line)
{
    size_t index = place(clock, line);
    return holds(clock, index, line) ? clock->ticks[index].at : 0;
}

bool sd_clock_covers(const sd_clock_t *clock, sd_tick_t tick)
{
    return tick.at == 0 || sd_clock_at(clock, tick.line) >= tick.at;
}

static void make_room(sd_clock_t *clock, size_t count)
{
    if (count <= clock->room)
        return;
    size_t room = count < 8 ? 8 : count * 2;
    sd_tick_t *ticks = realloc(clock->ticks, room * sizeof(*ticks));
    if (ticks == NULL)
        sd_die("the host is out of memory");
    clock->ticks = ticks;
    clock->room = room;
}

void sd_clock_raise(sd_clock_t *clock, sd_tick_t tick)
{
    size_t index = place(clock, tick.line);
    if (tick.at == 0)
        return;
    if (holds(clock, index, tick.line)) {
        if (clock->ticks[index].at < tick.at)
            clock->ticks[index].at = tick.at;
        return;
    }
    make_room(clock, clock->count + 1);
    memmove(&clock->ticks[index + 1], &clock->ticks[index], (clock->count - index) * sizeof(tick));
    clock->ticks[index] = tick;
    clock->count++;
}

void sd_clock_join(sd_clock_t *clock, const sd_clock_t *other)
{
    for (size_t i = 0; i < other->count; i++)
        sd_clock_raise(clock, other->ticks[i]);
}

void sd_clock_set(sd_clock_t *clock, const sd_clock_t *other)
{
    make_room(clock, other->count);
    if (other->count != 0)
        memcpy(clock->ticks, other->ticks, other->count * sizeof(sd_tick_t));
    clock->count = other->count;
}

void sd_clock_free(sd_clock_t *clock)
{
    free(clock->ticks);
    *clock = (sd_clock_t){NULL, 0, 0};
}
