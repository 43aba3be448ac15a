#define _GNU_SOURCE
#include "base/host.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/host_test.h"
#include "base/system.h"

static _Atomic uint64_t calls;
static _Atomic uint64_t fail_at; /* the value of `calls` to refuse; 0: none */
static _Atomic uint64_t live;    /* bytes */

/* Comes before every allocation, so that a free knows its size. */
typedef struct header {
    alignas(max_align_t) size_t bytes;
} header_t;

/* ---- Counting ---------------------------------------------------------- */

void cuai_host_fail_at(uint64_t nth)
{
    atomic_store(&fail_at, nth);
    atomic_store(&calls, 0);
}

uint64_t cuai_host_calls(void)
{
    return atomic_load(&calls);
}

uint64_t cuai_host_live(void)
{
    return atomic_load(&live);
}

bool cuai_host_allow(void)
{
    uint64_t nth = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return nth + 1 != atomic_load_explicit(&fail_at, memory_order_relaxed);
}

static void count_in(size_t bytes)
{
    atomic_fetch_add_explicit(&live, bytes, memory_order_relaxed);
}

static void count_out(size_t bytes)
{
    uint64_t was = atomic_fetch_sub_explicit(&live, bytes, memory_order_relaxed);
    CUAI_ASSERT(was >= bytes);
    (void)was;
}

/* ---- Allocations ------------------------------------------------------- */

static void *allocate(size_t bytes, bool zeroed)
{
    if (bytes > SIZE_MAX - sizeof(header_t) || !cuai_host_allow())
        return NULL;
    size_t whole = sizeof(header_t) + bytes;
    header_t *header = zeroed ? calloc(1, whole) : malloc(whole);
    if (header == NULL)
        return NULL;
    header->bytes = bytes;
    count_in(bytes);
    return header + 1;
}

void *cuai_host_alloc(size_t bytes)
{
    return allocate(bytes, true);
}

void *cuai_host_alloc_unzeroed(size_t bytes)
{
    return allocate(bytes, false);
}

void cuai_host_free(void *pointer)
{
    if (pointer == NULL)
        return;
    header_t *header = (header_t *)pointer - 1;
    count_out(header->bytes);
    free(header);
}

void *cuai_host_make_room(void *items, size_t count, size_t *room, size_t item_bytes)
{
    CUAI_ASSERT(count <= *room);
    CUAI_ASSERT(item_bytes != 0 && (items != NULL || *room == 0));
    if (count < *room)
        return items;
    size_t more = *room == 0 ? 4 : *room * 2;
    void *grown = cuai_host_alloc(more * item_bytes);
    if (grown == NULL)
        return NULL;
    if (count != 0)
        memcpy(grown, items, count * item_bytes);
    cuai_host_free(items);
    *room = more;
    return grown;
}

/* ---- Kept buffers ------------------------------------------------------ */

void *cuai_host_kept_alloc(cuai_host_kept_t *kept, size_t bytes, size_t *room_out)
{
    CUAI_ASSERT(kept->room <= CUAI_HOST_KEPT_MOST && (kept->bytes != NULL || kept->room == 0));
    void *found = kept->bytes;
    *room_out = bytes;
    if (found == NULL || kept->room < bytes)
        return cuai_host_alloc_unzeroed(bytes);
    *room_out = kept->room;
    *kept = (cuai_host_kept_t){NULL, 0};
    return found;
}

void cuai_host_kept_free(cuai_host_kept_t *kept, void *pointer, size_t room)
{
    CUAI_ASSERT(pointer == NULL || pointer != kept->bytes);
    bool keeps = pointer != NULL && room <= CUAI_HOST_KEPT_MOST &&
                 (kept->bytes == NULL || kept->room < room);
    cuai_host_free(keeps ? kept->bytes : pointer);
    if (keeps)
        *kept = (cuai_host_kept_t){pointer, room};
}

/* ---- Regions ----------------------------------------------------------- */

#if !defined(MAP_NORESERVE)
#define MAP_NORESERVE 0
#endif

static size_t step(void)
{
    size_t page = cuai_system_page();
    return page > CUAI_HOST_STEP ? page : CUAI_HOST_STEP;
}

bool cuai_host_region_begin(cuai_host_region_t *region, size_t most_bytes)
{
    *region = (cuai_host_region_t){0};
    uint64_t most;
    if (!cuai_align_up_checked(most_bytes, step(), &most) || most > SIZE_MAX)
        return false;
    region->most = most;
    return true;
}

/* Maps `wanted` bytes or, where the system has not so many, fewer, but at least `least`. NULL: not
 * even these. */
static unsigned char *map_between(size_t least, size_t wanted, size_t *room_out)
{
    CUAI_ASSERT(least != 0 && least <= wanted);
    for (size_t room = wanted;; room = cuai_max(least, room / 2)) {
        *room_out = cuai_align_up(room, step());
        void *base = mmap(NULL, *room_out, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base != MAP_FAILED)
            return base;
        if (room == least)
            return NULL;
    }
}

/* Moves pages without a copy, where the system can. */
static void move_bytes(unsigned char *to, unsigned char *from, size_t bytes)
{
    CUAI_ASSERT(bytes % step() == 0);
#if defined(MREMAP_FIXED)
    if (mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
        return;
#endif
    memcpy(to, from, bytes);
    (void)munmap(from, bytes);
}

static bool make_room(cuai_host_region_t *region, size_t bytes)
{
    CUAI_ASSERT(bytes > region->room && bytes <= region->most);
    size_t growth =
        CUAI_HOST_GROWTH == 1 ? region->room / 16 : region->room * (CUAI_HOST_GROWTH - 1);
    size_t wanted = cuai_min(cuai_max(bytes, region->room + growth), region->most);
    size_t room;
    unsigned char *base = map_between(bytes, wanted, &room);
    if (base == NULL)
        return false;
    if (region->base != NULL)
        move_bytes(base, region->base, region->room);
    region->base = base;
    region->room = room;
    return true;
}

bool cuai_host_commit(cuai_host_region_t *region, size_t bytes)
{
    CUAI_ASSERT(region->committed <= region->room && region->room <= region->most);
    if (bytes <= region->committed)
        return true;
    if (bytes > region->most)
        return false;
    size_t target = cuai_align_up(bytes, step());
    if (target > region->room && (!cuai_host_allow() || !make_room(region, target)))
        return false;
    count_in(target - region->committed);
    region->committed = target;
    return true;
}

void cuai_host_release(cuai_host_region_t *region)
{
    CUAI_ASSERT((region->base != NULL) == (region->room != 0) && region->committed <= region->room);
    count_out(region->committed);
    if (region->base != NULL)
        (void)munmap(region->base, region->room);
    *region = (cuai_host_region_t){0};
}
