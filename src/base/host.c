#define _GNU_SOURCE
#include "base/host.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/host_test.h"
#include "base/system.h"

static _Atomic uint64_t calls;
static _Atomic uint64_t fail_at; /* the value of `calls` to refuse; 0: none */
static _Atomic uint64_t live;    /* bytes */

/* Stands before every allocation, so that a free knows its size. */
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
    uint64_t was =
        atomic_fetch_sub_explicit(&live, bytes, memory_order_relaxed);
    CUAI_ASSERT(was >= bytes);
    (void)was;
}

/* ---- Allocations ------------------------------------------------------- */

static void *obtain(size_t bytes, bool zeroed)
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
    return obtain(bytes, true);
}

void *cuai_host_take(size_t bytes)
{
    return obtain(bytes, false);
}

void cuai_host_free(void *pointer)
{
    if (pointer == NULL)
        return;
    header_t *header = (header_t *)pointer - 1;
    count_out(header->bytes);
    free(header);
}

/* ---- Kept buffers ------------------------------------------------------ */

void *cuai_host_kept_take(cuai_host_kept_t *kept, size_t bytes,
                          size_t *room_out)
{
    void *found = kept->bytes;
    *room_out = bytes;
    if (found == NULL || kept->room < bytes)
        return cuai_host_take(bytes);
    *room_out = kept->room;
    *kept = (cuai_host_kept_t){NULL, 0};
    return found;
}

void cuai_host_kept_give(cuai_host_kept_t *kept, void *pointer, size_t room)
{
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

bool cuai_host_reserve(cuai_host_region_t *region, size_t bytes)
{
    *region = (cuai_host_region_t){0};
    uint64_t rounded;
    if (bytes == 0 || !cuai_align_up_checked(bytes, step(), &rounded) ||
        !cuai_host_allow())
        return false;
    void *base = mmap(NULL, rounded, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    region->base = base;
    region->reserved = rounded;
    return true;
}

static bool commit_to(cuai_host_region_t *region, size_t bytes)
{
    size_t more = bytes - region->committed;
    if (mprotect(region->base + region->committed, more,
                 PROT_READ | PROT_WRITE) != 0)
        return false;
    region->committed = bytes;
    count_in(more);
    return true;
}

/* Where the system does not give a whole share it may give what is needed. */
bool cuai_host_commit(cuai_host_region_t *region, size_t bytes)
{
    if (bytes <= region->committed)
        return true;
    if (bytes > region->reserved || !cuai_host_allow())
        return false;
    size_t share = region->committed + region->committed / CUAI_HOST_SHARE;
    size_t least = cuai_align_up(bytes, step());
    size_t most = cuai_min(cuai_align_up(share, step()), region->reserved);
    return (most > least && commit_to(region, most)) ||
           commit_to(region, least);
}

void cuai_host_release(cuai_host_region_t *region)
{
    if (region->base == NULL)
        return;
    count_out(region->committed);
    (void)munmap(region->base, region->reserved);
    *region = (cuai_host_region_t){0};
}
