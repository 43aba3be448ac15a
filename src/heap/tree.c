/*
 * The table of segments: an array whose items are both a tree and a list by address.
 *
 * The tree is a treap: ordered by address, and a segment's rank, which is a hash of its number, is
 * higher than the ranks below it. So it is as deep as one that was filled in random order, whatever
 * the order was, and a segment is added, removed and found in O(log n). Each segment knows the
 * largest gap of its subtree, so the lowest gap with room is found in O(log n) too.
 */
#include <string.h>

#include "heap/segments.h"
#include "heap/slots.h"

/* A bijection, so no two ranks are equal. */
static uint64_t rank_of(uint32_t n)
{
    uint64_t x = (n + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* ---- Looking up -------------------------------------------------------- */

cuai_segment_t *cuai_segment_from(const cuarena_heap_t *heap, uint64_t offset)
{
    uint32_t found = 0;
    for (uint32_t n = heap->segment_root; n != 0;) {
        const cuai_segment_t *s = &heap->segments[n];
        bool above = s->end > offset;
        found = above ? n : found;
        n = above ? s->low : s->high;
    }
    return cuai_segment_numbered(heap, found);
}

cuai_segment_t *cuai_segment_around(const cuarena_heap_t *heap, uint64_t offset)
{
    cuai_segment_t *s = cuai_segment_from(heap, offset);
    return s != NULL && s->begin <= offset ? s : NULL;
}

static uint32_t lowest(const cuai_segment_t *all, uint32_t tree, uint64_t from, uint64_t bytes)
{
    if (tree == 0 || all[tree].most_gap < bytes)
        return 0;
    const cuai_segment_t *s = &all[tree];
    if (s->begin < from)
        return lowest(all, s->high, from, bytes);
    uint32_t found = lowest(all, s->low, from, bytes);
    if (found == 0 && s->gap >= bytes)
        found = tree;
    return found != 0 ? found : lowest(all, s->high, from, bytes);
}

cuai_segment_t *cuai_segment_above_gap(const cuarena_heap_t *heap, uint64_t from, uint64_t bytes)
{
    return cuai_segment_numbered(heap, lowest(heap->segments, heap->segment_root, from, bytes));
}

/* ---- The tree ---------------------------------------------------------- */

static uint64_t most_gap(const cuai_segment_t *all, const cuai_segment_t *s)
{
    uint64_t most = s->gap;
    if (s->low != 0)
        most = cuai_max(most, all[s->low].most_gap);
    if (s->high != 0)
        most = cuai_max(most, all[s->high].most_gap);
    return most;
}

/* Works out `most_gap` of one segment from those right below it. */
static void weigh(cuai_segment_t *all, uint32_t n)
{
    CUAI_ASSERT(n != 0);
    all[n].most_gap = most_gap(all, &all[n]);
}

/* Makes one tree of two; all segments of `low` are below those of `high`. */
static uint32_t merge(cuai_segment_t *all, uint32_t low, uint32_t high)
{
    if (low == 0 || high == 0)
        return low + high;
    CUAI_ASSERT(all[low].begin < all[high].begin);
    uint32_t top = rank_of(low) > rank_of(high) ? low : high;
    if (top == low)
        all[low].high = merge(all, all[low].high, high);
    else
        all[high].low = merge(all, low, all[high].low);
    weigh(all, top);
    return top;
}

/* Makes two trees of one: what begins below `begin`, and the rest. */
static void split(cuai_segment_t *all, uint32_t tree, uint64_t begin, uint32_t *low, uint32_t *high)
{
    *low = *high = tree;
    if (tree == 0)
        return;
    if (all[tree].begin < begin)
        split(all, all[tree].high, begin, &all[tree].high, high);
    else
        split(all, all[tree].low, begin, low, &all[tree].low);
    weigh(all, tree);
}

/* The link of `n` that leads to `to`, which is below it in the tree. */
static uint32_t *way_to(cuai_segment_t *all, uint32_t n, uint32_t to)
{
    CUAI_ASSERT(n != to && all[n].begin != all[to].begin);
    return all[to].begin < all[n].begin ? &all[n].low : &all[n].high;
}

static void put(cuai_segment_t *all, uint32_t *tree, uint32_t n)
{
    if (*tree != 0 && rank_of(*tree) > rank_of(n)) {
        put(all, way_to(all, *tree, n), n);
    } else {
        split(all, *tree, all[n].begin, &all[n].low, &all[n].high);
        *tree = n;
    }
    weigh(all, *tree);
}

static void drop(cuai_segment_t *all, uint32_t *tree, uint32_t n)
{
    CUAI_ASSERT(*tree != 0);
    if (*tree == n) {
        *tree = merge(all, all[n].low, all[n].high);
        return;
    }
    drop(all, way_to(all, *tree, n), n);
    weigh(all, *tree);
}

static void weigh_down_to(cuai_segment_t *all, uint32_t tree, uint32_t n)
{
    if (tree != n)
        weigh_down_to(all, *way_to(all, tree, n), n);
    weigh(all, tree);
}

/* ---- Gaps -------------------------------------------------------------- */

/* What is below the first segment of a source is no gap: it belongs to somebody else. */
static uint64_t gap_of(const cuai_segment_t *all, const cuai_segment_t *s)
{
    const cuai_segment_t *below = &all[s->below];
    return s->below != 0 && below->source == s->source ? s->begin - below->end : 0;
}

static void fit_gap(cuarena_heap_t *heap, uint32_t n)
{
    cuai_segment_t *s = &heap->segments[n];
    uint64_t gap = n == 0 ? 0 : gap_of(heap->segments, s);
    if (gap == s->gap)
        return;
    s->gap = gap;
    weigh_down_to(heap->segments, heap->segment_root, n);
}

void cuai_segment_fit(cuarena_heap_t *heap, const cuai_segment_t *segment)
{
    fit_gap(heap, (uint32_t)(segment - heap->segments));
    fit_gap(heap, segment->above);
}

/* ---- Room -------------------------------------------------------------- */

bool cuai_segments_make_room(cuarena_heap_t *heap, uint64_t count)
{
    size_t room = heap->segment_room == 0 ? 8 : heap->segment_room;
    while (room < count + 1)
        room *= 2;
    if (room == heap->segment_room)
        return true;
    cuai_segment_t *grown = cuai_host_alloc(room * sizeof(*grown));
    if (room > UINT32_MAX || grown == NULL) {
        cuai_host_free(grown);
        return false;
    }
    if (heap->segment_room != 0)
        memcpy(grown, heap->segments, heap->segment_unused * sizeof(*grown));
    else
        heap->segment_unused = 1;
    CUAI_ASSERT(heap->segment_unused <= room);
    cuai_host_free(heap->segments);
    heap->segments = grown;
    heap->segment_room = room;
    return true;
}

/* ---- Coming and going -------------------------------------------------- */

static uint32_t alloc_number(cuarena_heap_t *heap)
{
    uint32_t n = heap->segment_free;
    CUAI_ASSERT(n != 0 || heap->segment_unused < heap->segment_room);
    if (n == 0)
        return heap->segment_unused++;
    heap->segment_free = heap->segments[n].above;
    return n;
}

cuai_segment_t *cuai_segment_put(cuarena_heap_t *heap, cuai_segment_t segment)
{
    cuai_segment_t *all = heap->segments;
    const cuai_segment_t *next = cuai_segment_from(heap, segment.begin);
    CUAI_ASSERT(segment.begin < segment.end);
    CUAI_ASSERT(next == NULL || segment.end <= next->begin);
    uint32_t n = alloc_number(heap);
    all[n] = segment;
    all[n].above = next == NULL ? 0 : (uint32_t)(next - all);
    all[n].below = all[all[n].above].below;
    all[all[n].above].below = n;
    all[all[n].below].above = n;
    all[n].gap = gap_of(all, &all[n]);
    put(all, &heap->segment_root, n);
    fit_gap(heap, all[n].above);
    heap->segment_count++;
    cuai_refresh_fast(heap);
    return &all[n];
}

void cuai_segment_drop(cuarena_heap_t *heap, cuai_segment_t *segment)
{
    cuai_segment_t *all = heap->segments;
    uint32_t n = (uint32_t)(segment - all);
    uint32_t above = segment->above;
    CUAI_ASSERT(n != 0 && all[above].below == n && all[segment->below].above == n);
    drop(all, &heap->segment_root, n);
    all[above].below = segment->below;
    all[segment->below].above = above;
    fit_gap(heap, above);
    *segment = (cuai_segment_t){.above = heap->segment_free};
    heap->segment_free = n;
    heap->segment_count--;
    cuai_refresh_fast(heap);
}

/* ---- Validation -------------------------------------------------------- */

/* Walks the tree by address beside the list; *last is the segment that was seen last. False: they
 * differ, or something kept is wrong. */
static bool agrees(const cuarena_heap_t *heap, uint32_t n, uint32_t *last, uint64_t *left)
{
    const cuai_segment_t *all = heap->segments;
    if (n == 0)
        return true;
    if (n >= heap->segment_unused || (*left)-- == 0)
        return false;
    const cuai_segment_t *s = &all[n];
    bool ok = agrees(heap, s->low, last, left) && all[*last].above == n && s->below == *last &&
              all[*last].end <= s->begin && s->begin < s->end && s->gap == gap_of(all, s);
    *last = n;
    return ok && agrees(heap, s->high, last, left) && s->most_gap == most_gap(all, s) &&
           (s->low == 0 || rank_of(s->low) < rank_of(n)) &&
           (s->high == 0 || rank_of(s->high) < rank_of(n));
}

bool cuai_segments_agree(const cuarena_heap_t *heap)
{
    uint32_t last = 0;
    uint64_t left = heap->segment_count;
    if (heap->segment_room == 0)
        return heap->segment_count == 0;
    return agrees(heap, heap->segment_root, &last, &left) && left == 0 &&
           heap->segments[last].above == 0 && heap->segments[0].below == last;
}
