#define _XOPEN_SOURCE 700 /* tsearch */
#include "nvtx/regions.h"

#include <search.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/host.h"
#include "nvtx/signals.h"
#include "nvtx/tool.h"

/* What both trees have: things that overlap compare as equal, so that one is found by the other. */
typedef struct span {
    uint64_t begin;
    uint64_t end;
} span_t;

typedef struct heap {
    span_t span;
    void *handle; /* the tool's */
    bool open;    /* it is one region, and no other one is in it */
} heap_t;

typedef struct cuai_region {
    span_t span;
    const char *name;
    bool lent;
    struct cuai_region *next;     /* of what a call was lent, or of `replaced` */
    struct cuai_region *replaced; /* if it is lent: the regions that it stands for */
    const cuai_lent_t *call;      /* if it is lent */
} region_t;

#define LENT "lent to the library"
#define JOINED "blocks of a capture session"
#define OPENED "a segment without host memory for its blocks"

static int compare(const void *a, const void *b)
{
    const span_t *one = a;
    const span_t *other = b;
    if (one->end <= other->begin)
        return -1;
    return other->end <= one->begin;
}

/* Takes the lock, and holds signals back. False, and nothing done: nothing is told, or the handler
 * of a fault has interrupted its thread in here, and what it does stays untold. */
static bool enter(cuai_regions_t *regions, sigset_t *signals)
{
    if (!regions->on)
        return false;
    cuai_signals_hold(signals);
    bool entered = cuai_lock_enter(&regions->lock);
    if (!entered)
        cuai_signals_release(signals);
    return entered;
}

static void leave(cuai_regions_t *regions, const sigset_t *signals)
{
    cuai_unlock(&regions->lock);
    cuai_signals_release(signals);
}

/* ---- Trees ------------------------------------------------------------- */

/* What overlaps a span; NULL: nothing. */
static void *find(void *const *tree, span_t span)
{
    void *node = tfind(&span, tree, compare);
    return node == NULL ? NULL : *(void **)node;
}

static heap_t *heap_at(cuai_regions_t *regions, uint64_t address)
{
    return find(&regions->heaps, (span_t){address, address + 1});
}

static region_t *region_in(cuai_regions_t *regions, span_t span)
{
    return find(&regions->regions, span);
}

/* ---- Regions ----------------------------------------------------------- */

static void tell_begin(const cuai_regions_t *regions, const heap_t *heap, const region_t *region)
{
    const char *name = region->lent ? LENT : region->name != NULL ? region->name : regions->name;
    CUAI_ASSERT(!heap->open && region->span.begin < region->span.end);
    cuai_tool_region_begin(heap->handle, region->span.begin, region->span.end - region->span.begin,
                           name);
}

/* Takes a region out of the tree, and ends it for the tool. */
static void take_out(cuai_regions_t *regions, region_t *region)
{
    (void)tdelete(region, &regions->regions, compare);
    cuai_tool_region_end(region->span.begin);
}

static void free_list(region_t *first)
{
    while (first != NULL) {
        region_t *next = first->next;
        cuai_host_free(first);
        first = next;
    }
}

/* Frees a region that is in no tree. One that is lent is its call's. */
static void forget(region_t *region)
{
    free_list(region->replaced);
    region->replaced = NULL;
    if (!region->lent)
        cuai_host_free(region);
}

static void end_within(cuai_regions_t *regions, span_t span)
{
    region_t *region;
    while ((region = region_in(regions, span)) != NULL) {
        take_out(regions, region);
        forget(region);
    }
}

/* The host has no memory for a region: lets programs use all of its heap. */
static void open_heap(cuai_regions_t *regions, heap_t *heap)
{
    CUAI_ASSERT(!heap->open);
    end_within(regions, heap->span);
    cuai_tool_heap_reset(heap->handle);
    cuai_tool_region_begin(heap->handle, heap->span.begin, heap->span.end - heap->span.begin,
                           OPENED);
    heap->open = true;
}

/* The heap around an address whose regions are told of; NULL: there is none. */
static heap_t *closed_heap_at(cuai_regions_t *regions, uint64_t address)
{
    heap_t *heap = heap_at(regions, address);
    return heap == NULL || heap->open ? NULL : heap;
}

/* Puts a region into the tree, where no other one is, and tells the tool, if its heap is not open;
 * without host memory it is opened. */
static void put_in(cuai_regions_t *regions, region_t *region)
{
    CUAI_ASSERT(region_in(regions, region->span) == NULL);
    heap_t *heap = closed_heap_at(regions, region->span.begin);
    void *node = heap == NULL ? NULL : tsearch(region, &regions->regions, compare);
    if (node != NULL) {
        tell_begin(regions, heap, region);
        return;
    }
    if (heap != NULL)
        open_heap(regions, heap);
    forget(region);
}

/* A new region, in no tree; NULL: its heap was opened. */
static region_t *new_region(cuai_regions_t *regions, heap_t *heap, span_t span, const char *name)
{
    region_t *region = cuai_host_alloc(sizeof *region);
    if (region == NULL)
        open_heap(regions, heap);
    else
        *region = (region_t){.span = span, .name = name};
    return region;
}

/* The link to the region that begins at an address among those that a lent one stands for, or to
 * NULL. */
static region_t **replaced_at(region_t *lent, uint64_t address)
{
    CUAI_ASSERT(lent->lent);
    region_t **link = &lent->replaced;
    while (*link != NULL && (*link)->span.begin != address)
        link = &(*link)->next;
    return link;
}

static span_t hull(span_t one, span_t other)
{
    return (span_t){cuai_min(one.begin, other.begin), cuai_max(one.end, other.end)};
}

/* ---- Life -------------------------------------------------------------- */

void cuai_regions_begin(cuai_regions_t *regions, const char *name, bool on)
{
    CUAI_ASSERT(regions->heaps == NULL && regions->regions == NULL);
    cuai_lock_init(&regions->lock);
    regions->name = name;
    regions->on = on;
}

/* Frees what a node of a tree has, and takes it out. */
static void end_heap(cuai_regions_t *regions, heap_t *heap)
{
    CUAI_ASSERT(heap->handle != NULL);
    end_within(regions, heap->span);
    (void)tdelete(heap, &regions->heaps, compare);
    cuai_tool_heap_end(heap->handle);
    cuai_host_free(heap);
}

void cuai_regions_end(cuai_regions_t *regions)
{
    const span_t all = {0, UINT64_MAX};
    sigset_t signals;
    heap_t *heap;
    cuai_signals_hold(&signals);
    while (regions->on && (heap = find(&regions->heaps, all)) != NULL)
        end_heap(regions, heap);
    cuai_signals_release(&signals);
    if (regions->name != NULL)
        cuai_lock_cleanup(&regions->lock);
}

void cuai_regions_forget(cuai_regions_t *regions)
{
    regions->on = false;
    cuai_lock_reset(&regions->lock);
}

/* Tells of a heap, and keeps it if the tool takes it: else its blocks are not told of either. */
static bool begin_heap(cuai_regions_t *regions, heap_t *heap)
{
    if (tsearch(heap, &regions->heaps, compare) == NULL)
        return false;
    heap->handle =
        cuai_tool_heap_begin(heap->span.begin, heap->span.end - heap->span.begin, regions->name);
    if (heap->handle == NULL)
        (void)tdelete(heap, &regions->heaps, compare);
    return heap->handle != NULL;
}

void cuai_regions_add_heap(cuai_regions_t *regions, uint64_t address, uint64_t bytes)
{
    sigset_t signals;
    if (!regions->on)
        return;
    heap_t *heap = cuai_host_alloc(sizeof *heap);
    if (heap == NULL) /* its bytes are no heap's, so the tool lets programs use all of them */
        return;
    if (!enter(regions, &signals)) {
        cuai_host_free(heap);
        return;
    }
    *heap = (heap_t){.span = {address, address + bytes}};
    bool kept = heap_at(regions, address) == NULL && begin_heap(regions, heap);
    leave(regions, &signals);
    if (!kept)
        cuai_host_free(heap);
}

void cuai_regions_end_heap(cuai_regions_t *regions, uint64_t address)
{
    sigset_t signals;
    if (!enter(regions, &signals))
        return;
    heap_t *heap = heap_at(regions, address);
    if (heap != NULL)
        end_heap(regions, heap);
    leave(regions, &signals);
}

/* ---- Blocks ------------------------------------------------------------ */

/* Under lent bytes a region waits until these are given back. */
static void add(cuai_regions_t *regions, heap_t *heap, span_t span, const char *name)
{
    CUAI_ASSERT(!heap->open && span.begin < span.end);
    region_t *region = new_region(regions, heap, span, name);
    if (region == NULL)
        return;
    region_t *other;
    while ((other = region_in(regions, span)) != NULL && !other->lent) {
        take_out(regions, other);
        forget(other);
    }
    if (other == NULL) {
        put_in(regions, region);
        return;
    }
    region->next = other->replaced;
    other->replaced = region;
}

void cuai_regions_add(cuai_regions_t *regions, uint64_t address, uint64_t bytes, const char *name)
{
    sigset_t signals;
    if (bytes == 0 || !enter(regions, &signals))
        return;
    heap_t *heap = closed_heap_at(regions, address);
    if (heap != NULL)
        add(regions, heap, (span_t){address, address + bytes}, name);
    leave(regions, &signals);
}

/* Takes out the regions that overlap a span; it and they together. */
static span_t take_over(cuai_regions_t *regions, span_t span)
{
    region_t *other;
    while ((other = region_in(regions, span)) != NULL && !other->lent) {
        take_out(regions, other);
        span = hull(span, other->span);
        forget(other);
    }
    return span;
}

void cuai_regions_join(cuai_regions_t *regions, uint64_t address, uint64_t bytes, const char *name)
{
    sigset_t signals;
    if (bytes == 0 || !enter(regions, &signals))
        return;
    heap_t *heap = closed_heap_at(regions, address);
    if (heap != NULL) {
        span_t span = take_over(regions, (span_t){address, address + bytes});
        add(regions, heap, span, span.end - span.begin == bytes ? name : JOINED);
    }
    leave(regions, &signals);
}

void cuai_regions_resize(cuai_regions_t *regions, uint64_t address, uint64_t bytes)
{
    sigset_t signals;
    CUAI_ASSERT(bytes != 0);
    if (!enter(regions, &signals))
        return;
    region_t *region = region_in(regions, (span_t){address, address + 1});
    region_t *waits = region != NULL && region->lent ? *replaced_at(region, address) : NULL;
    if (waits != NULL) {
        waits->span.end = address + bytes;
    } else if (region != NULL && !region->lent && region->span.begin == address) {
        region->span.end = address + bytes;
        cuai_tool_region_resize(address, bytes);
    }
    leave(regions, &signals);
}

void cuai_regions_drop(cuai_regions_t *regions, uint64_t address)
{
    sigset_t signals;
    if (!enter(regions, &signals))
        return;
    region_t *region = region_in(regions, (span_t){address, address + 1});
    region_t **waits = region != NULL && region->lent ? replaced_at(region, address) : NULL;
    if (waits != NULL && *waits != NULL) {
        region = *waits;
        *waits = region->next;
        cuai_host_free(region);
    } else if (waits == NULL && region != NULL && region->span.begin == address) {
        take_out(regions, region);
        forget(region);
    }
    leave(regions, &signals);
}

void cuai_regions_drop_within(cuai_regions_t *regions, uint64_t address, uint64_t bytes)
{
    sigset_t signals;
    if (!enter(regions, &signals))
        return;
    end_within(regions, (span_t){address, address + bytes});
    leave(regions, &signals);
}

void cuai_regions_clear(cuai_regions_t *regions)
{
    cuai_regions_drop_within(regions, 0, UINT64_MAX);
}

/* ---- Lending ----------------------------------------------------------- */

/* Moves what a lent region of the same call stands for to another one, which takes its place. */
static void merge(cuai_lent_t *lent, region_t *into, region_t *from)
{
    CUAI_ASSERT(from->lent && from->call == lent && into->call == lent);
    region_t **link = &from->replaced;
    while (*link != NULL)
        link = &(*link)->next;
    *link = into->replaced;
    into->replaced = from->replaced;
    for (link = &lent->first; *link != from;)
        link = &(*link)->next;
    *link = from->next;
    cuai_host_free(from);
}

/* Lets a new lent region stand for those that it overlaps. */
static void replace(cuai_regions_t *regions, cuai_lent_t *lent, region_t *region)
{
    region_t *other;
    while ((other = region_in(regions, region->span)) != NULL) {
        CUAI_ASSERT(!other->lent || other->call == lent);
        take_out(regions, other);
        region->span = hull(region->span, other->span);
        if (other->lent) {
            merge(lent, region, other);
        } else {
            other->next = region->replaced;
            region->replaced = other;
        }
    }
}

/* Whether another call was lent some of the bytes, which it leaves to this one as well. */
static bool is_anothers(cuai_regions_t *regions, const cuai_lent_t *lent, span_t span)
{
    const region_t *region = region_in(regions, span);
    return region != NULL && region->lent && region->call != lent;
}

void cuai_regions_lend(cuai_regions_t *regions, cuai_lent_t *lent, uint64_t address, uint64_t bytes)
{
    sigset_t signals;
    if (!enter(regions, &signals))
        return;
    heap_t *heap = closed_heap_at(regions, address);
    span_t span = {address, heap == NULL ? 0 : cuai_min(address + bytes, heap->span.end)};
    region_t *region = NULL;
    if (heap != NULL && !is_anothers(regions, lent, span))
        region = new_region(regions, heap, span, NULL);
    if (region != NULL) {
        region->lent = true;
        region->call = lent;
        replace(regions, lent, region);
        region->next = lent->first;
        lent->first = region;
        put_in(regions, region);
    }
    leave(regions, &signals);
}

static void give_back(cuai_regions_t *regions, region_t *lent)
{
    CUAI_ASSERT(lent->lent);
    if (region_in(regions, lent->span) == lent)
        take_out(regions, lent);
    while (lent->replaced != NULL) {
        region_t *region = lent->replaced;
        lent->replaced = region->next;
        region->next = NULL;
        put_in(regions, region);
    }
    cuai_host_free(lent);
}

void cuai_regions_restore(cuai_regions_t *regions, cuai_lent_t *lent)
{
    sigset_t signals;
    if (!enter(regions, &signals))
        return;
    while (lent->first != NULL) {
        region_t *region = lent->first;
        lent->first = region->next;
        give_back(regions, region);
    }
    leave(regions, &signals);
}
