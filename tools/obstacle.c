#include "obstacle.h"

#include <stdlib.h>

#include "fault.h"

static int by_address(const void *left, const void *right)
{
    const obstacle_block_t *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* A run of neighbours: blocks[first] up to blocks[next - 1]. */
typedef struct run {
    size_t first;
    size_t next;
    uint64_t bytes;
} run_t;

typedef struct search {
    const obstacle_block_t *blocks;
    size_t count;
    uint64_t low;
    uint64_t high;
} search_t;

static uint64_t begin_of(const search_t *s, const run_t *run)
{
    return run->first > 0 ? s->blocks[run->first - 1].end : s->low;
}

static uint64_t end_of(const search_t *s, const run_t *run)
{
    return run->next < s->count ? s->blocks[run->next].begin : s->high;
}

/* For each first block the shortest run that leaves room; the cheapest of these. */
static bool search(const search_t *s, uint64_t bytes, run_t *best)
{
    bool found = false;
    run_t run = {0, 0, 0};
    for (; run.first <= s->count; run.first++) {
        while (run.next < s->count && end_of(s, &run) - begin_of(s, &run) < bytes) {
            run.bytes += s->blocks[run.next].end - s->blocks[run.next].begin;
            run.next++;
        }
        if (end_of(s, &run) - begin_of(s, &run) < bytes)
            break;
        if (!found || run.bytes < best->bytes)
            *best = run;
        found = true;
        if (run.next > run.first)
            run.bytes -= s->blocks[run.first].end - s->blocks[run.first].begin;
        else
            run.next = run.first + 1;
    }
    return found;
}

obstacle_t obstacle_find(obstacle_block_t *blocks, size_t count, uint64_t low, uint64_t high,
                         uint64_t bytes)
{
    obstacle_t obstacle = {.found = false};
    const search_t s = {blocks, count, low, high};
    run_t best;
    qsort(blocks, count, sizeof *blocks, by_address);
    if (!search(&s, bytes, &best))
        return obstacle;
    obstacle = (obstacle_t){.found = true,
                            .begin = begin_of(&s, &best),
                            .end = end_of(&s, &best),
                            .bytes = best.bytes,
                            .stays = must_have(NULL, best.next - best.first, sizeof(size_t))};
    for (size_t i = best.first; i < best.next; i++)
        obstacle.stays[obstacle.count++] = blocks[i].stay;
    return obstacle;
}

void obstacle_free(obstacle_t *obstacle)
{
    free(obstacle->stays);
    *obstacle = (obstacle_t){.found = false};
}
