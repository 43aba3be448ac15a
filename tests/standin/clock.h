/*
 * Vector clocks. A tick names one unit of work: the line (a sequence of work, one per stream) and
 * its place in it, from 1. A clock holds, for each line, how far it has got; it covers a tick when
 * it has got that far.
 *
 * A tick of place 0 is nothing and always covered.
 */
#ifndef CUARENA_STANDIN_CLOCK_H
#define CUARENA_STANDIN_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sd_tick {
    uint32_t line;
    uint64_t at;
} sd_tick_t;

typedef struct sd_clock {
    sd_tick_t *ticks; /* by line */
    size_t count;
    size_t room;
} sd_clock_t;

/* How far the clock has got on a line; 0: not begun. */
uint64_t sd_clock_at(const sd_clock_t *clock, uint32_t line);
bool sd_clock_covers(const sd_clock_t *clock, sd_tick_t tick);
/* Makes the clock cover the tick, or all that another covers. */
void sd_clock_raise(sd_clock_t *clock, sd_tick_t tick);
void sd_clock_join(sd_clock_t *clock, const sd_clock_t *other);
/* Makes it a copy. */
void sd_clock_set(sd_clock_t *clock, const sd_clock_t *other);
/* Empties it and frees what it holds. */
void sd_clock_free(sd_clock_t *clock);

#endif
