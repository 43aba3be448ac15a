#include "reserved.h"

#include <stdlib.h>

#include "fault.h"

static void push(reserved_t *reserved, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return;
    if (reserved->count == reserved->capacity) {
        reserved->capacity = 2 * reserved->capacity + 16;
        reserved->ranges =
            must_have(reserved->ranges, reserved->capacity, sizeof *reserved->ranges);
    }
    reserved->ranges[reserved->count++] = (reserved_range_t){begin, end};
}

/* Takes a range out of the list, and gives it. */
static reserved_range_t pull(reserved_t *reserved, size_t at)
{
    reserved_range_t range = reserved->ranges[at];
    reserved->ranges[at] = reserved->ranges[--reserved->count];
    return range;
}

void reserved_add(reserved_t *reserved, uint64_t begin, uint64_t end)
{
    for (size_t i = 0; i < reserved->count;) {
        if (reserved->ranges[i].begin > end || reserved->ranges[i].end < begin) {
            i++;
            continue;
        }
        reserved_range_t range = pull(reserved, i);
        begin = range.begin < begin ? range.begin : begin;
        end = range.end > end ? range.end : end;
    }
    push(reserved, begin, end);
}

void reserved_cut(reserved_t *reserved, uint64_t begin, uint64_t end)
{
    size_t count = reserved->count;
    for (size_t i = 0; i < count;) {
        if (reserved->ranges[i].begin >= end || reserved->ranges[i].end <= begin) {
            i++;
            continue;
        }
        reserved_range_t range = reserved->ranges[i];
        reserved->ranges[i] = reserved->ranges[--count];
        reserved->ranges[count] = reserved->ranges[--reserved->count];
        push(reserved, range.begin, range.begin < begin ? begin : range.begin);
        push(reserved, range.end > end ? end : range.end, range.end);
    }
}

void reserved_free(reserved_t *reserved)
{
    free(reserved->ranges);
    *reserved = (reserved_t){.ranges = NULL};
}
