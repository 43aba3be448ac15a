#include "intervals.h"

#include <stdlib.h>

#include "fault.h"

intervals_t intervals_make(uint32_t capacity)
{
    return (intervals_t){
        .nodes = must_have(NULL, capacity, sizeof(interval_t)),
        .root = NO_INTERVAL,
    };
}

void intervals_free(intervals_t *set)
{
    free(set->nodes);
    set->nodes = NULL;
}

/* The same number gets the same rank: a run can be repeated. */
static uint32_t rank_of(uint32_t number, uint64_t begin)
{
    uint64_t mixed = (begin + number) * UINT64_C(0xD6E8FEB86659FD93);
    mixed = (mixed ^ mixed >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)(mixed >> 32);
}

/* Parts the tree at `root` into what begins below `at` and the rest. */
static void part(interval_t *nodes, uint32_t root, uint64_t at, uint32_t *below_out,
                 uint32_t *rest_out)
{
    while (root != NO_INTERVAL) {
        interval_t *node = &nodes[root];
        if (node->begin < at) {
            *below_out = root;
            below_out = &node->right;
            root = node->right;
        } else {
            *rest_out = root;
            rest_out = &node->left;
            root = node->left;
        }
    }
    *below_out = NO_INTERVAL;
    *rest_out = NO_INTERVAL;
}

/* One tree of two, all of `below` beginning before all of `rest`. */
static uint32_t join(interval_t *nodes, uint32_t below, uint32_t rest)
{
    uint32_t root = NO_INTERVAL, *link = &root;
    while (below != NO_INTERVAL && rest != NO_INTERVAL) {
        if (nodes[below].rank >= nodes[rest].rank) {
            *link = below;
            link = &nodes[below].right;
            below = *link;
        } else {
            *link = rest;
            link = &nodes[rest].left;
            rest = *link;
        }
    }
    *link = below != NO_INTERVAL ? below : rest;
    return root;
}

/* Some interval that overlaps [begin, end). As none in the set overlap, it is enough to look at the
 * last one that begins before `end`. */
static uint32_t overlapping(const intervals_t *set, uint64_t begin, uint64_t end)
{
    uint32_t last = NO_INTERVAL, at = set->root;
    while (at != NO_INTERVAL) {
        if (set->nodes[at].begin < end) {
            last = at;
            at = set->nodes[at].right;
        } else {
            at = set->nodes[at].left;
        }
    }
    return last != NO_INTERVAL && set->nodes[last].end > begin ? last : NO_INTERVAL;
}

uint32_t intervals_add(intervals_t *set, uint32_t number, uint64_t begin, uint64_t end)
{
    uint32_t other = overlapping(set, begin, end);
    if (other != NO_INTERVAL)
        return other;
    interval_t *node = &set->nodes[number];
    *node = (interval_t){.begin = begin, .end = end, .rank = rank_of(number, begin)};
    uint32_t *link = &set->root;
    while (*link != NO_INTERVAL && set->nodes[*link].rank >= node->rank)
        link = set->nodes[*link].begin < begin ? &set->nodes[*link].right : &set->nodes[*link].left;
    part(set->nodes, *link, begin, &node->left, &node->right);
    *link = number;
    return NO_INTERVAL;
}

void intervals_remove(intervals_t *set, uint32_t number)
{
    const interval_t *node = &set->nodes[number];
    uint32_t *link = &set->root;
    while (*link != number)
        link = set->nodes[*link].begin < node->begin ? &set->nodes[*link].right
                                                     : &set->nodes[*link].left;
    *link = join(set->nodes, node->left, node->right);
}
