#include "held.h"

#include <stdlib.h>

#include "fault.h"

static void push(held_t *held, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return;
    if (held->count == held->capacity) {
        held->capacity = 2 * held->capacity + 16;
        held->ranges = must_have(held->ranges, held->capacity, sizeof *held->ranges);
    }
    held->ranges[held->count++] = (held_range_t){begin, end};
}

/* Takes a range out of the list, and gives it. */
static held_range_t pull(held_t *held, size_t at)
{
    held_range_t range = held->ranges[at];
    held->ranges[at] = held->ranges[--held->count];
    return range;
}

void held_add(held_t *held, uint64_t begin, uint64_t end)
{
    for (size_t i = 0; i < held->count;) {
        if (held->ranges[i].begin > end || held->ranges[i].end < begin) {
            i++;
            continue;
        }
        held_range_t range = pull(held, i);
        begin = range.begin < begin ? range.begin : begin;
        end = range.end > end ? range.end : end;
    }
    push(held, begin, end);
}

void held_cut(held_t *held, uint64_t begin, uint64_t end)
{
    size_t count = held->count;
    for (size_t i = 0; i < count;) {
        if (held->ranges[i].begin >= end || held->ranges[i].end <= begin) {
            i++;
            continue;
        }
        held_range_t range = held->ranges[i];
        held->ranges[i] = held->ranges[--count];
        held->ranges[count] = held->ranges[--held->count];
        push(held, range.begin, range.begin < begin ? begin : range.begin);
        push(held, range.end > end ? end : range.end, range.end);
    }
}

void held_free(held_t *held)
{
    free(held->ranges);
    *held = (held_t){.ranges = NULL};
}
