/*
 * Memory of addresses without bytes, for bookkeeping alone: replays of traces, tests, planning.
 * Reading or writing there crashes.
 *
 * Addresses are distinct in the whole process while they are in use. The stretches in use are in
 * one list by address; a new one goes into the first gap that has room. `get` is O(n) in the
 * stretches in use, but starts at the lowest gap of its power of two, which is kept.
 */
#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/host.h"
#include "base/lock.h"
#include "memory/kinds.h"

/* Systems map nothing here by themselves: it is above the heaps of programs at low addresses and
 * what address checkers keep there, and below programs at high addresses, their libraries and their
 * stacks. */
#define FIRST (UINT64_C(0x11) << 40)
#define END (UINT64_C(0x55) << 40)

/* The granularity, unless the option `handle` says another; or the arena's alignment where that is
 * more. */
#define GRANULARITY (64 * CUAI_KIB)

/* How many bytes it says are available; a few TiB more would fit. */
#define AVAILABLE (UINT64_C(1) << 46)

static_assert(FIRST + AVAILABLE + 2 * GRANULARITY <= END, "what it has fits");

/* Addresses for growing are set aside generously, but never more than this
 * part of what is left beside a quarter of all, so that any number of arenas fit beside each
 * other. */
#define SPARE_SHARE 16
#define KEPT ((END - FIRST) / 4)

/* The size of a gap is at least one of so many powers of two, and less than the next. */
#define CLASSES 48
static_assert(END < UINT64_C(1) << CLASSES, "any gap has one");

typedef struct stretch {
    uint64_t address;
    uint64_t bytes;
    struct stretch *prev;
    struct stretch *next; /* the next higher one */
} stretch_t;

static cuai_lock_t lock = CUAI_LOCK_INIT;
static stretch_t *lowest;          /* guarded by `lock`, like what follows */
static stretch_t *starts[CLASSES]; /* every gap below it is less than 2^i */
static uint64_t in_use;            /* bytes of all stretches */
static bool heeds_forks;

/* ---- Forks ------------------------------------------------------------- */

/* A fork waits until the list is consistent, because the child gets it too. */
static void before_fork(void)
{
    cuai_lock(&lock);
}

static void after_fork(void)
{
    cuai_unlock(&lock);
}

static void after_fork_in_child(void)
{
    cuai_lock_reset(&lock);
}

static cuarena_status_t heed_forks(void)
{
    cuai_lock(&lock);
    if (!heeds_forks)
        heeds_forks = pthread_atfork(before_fork, after_fork, after_fork_in_child) == 0;
    bool done = heeds_forks;
    cuai_unlock(&lock);
    return done ? CUARENA_OK
                : cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a fork handler");
}

/* ---- Stretches --------------------------------------------------------- */

/* Where the gap behind a stretch begins: a granularity later, so that no stretch ends where another
 * begins. */
static uint64_t gap_begin(const stretch_t *before, uint64_t granularity)
{
    uint64_t begin = before != NULL ? before->address + before->bytes : FIRST;
    return cuai_align_up(begin + GRANULARITY, granularity);
}

static uint64_t gap_end(const stretch_t *after)
{
    return (after != NULL ? after->address : END) - GRANULARITY;
}

/* How much of a gap a stretch of `bytes` gets: up to `address_bytes`. */
static uint64_t share_of(uint64_t gap, uint64_t bytes, uint64_t address_bytes, uint64_t granularity)
{
    CUAI_ASSERT(bytes <= gap && in_use <= END - FIRST);
    uint64_t left = END - FIRST - in_use;
    uint64_t spare = left > KEPT ? (left - KEPT) / SPARE_SHARE : 0;
    uint64_t most = cuai_min(gap, bytes + cuai_min(spare, gap));
    return cuai_max(bytes, cuai_align_down(cuai_min(address_bytes, most), granularity));
}

static stretch_t **link_behind(stretch_t *before)
{
    return before != NULL ? &before->next : &lowest;
}

static void link_stretch(stretch_t *stretch, stretch_t *before)
{
    stretch_t **link = link_behind(before);
    CUAI_ASSERT(stretch->bytes != 0);
    stretch->prev = before;
    stretch->next = *link;
    CUAI_ASSERT(before == NULL || before->address + before->bytes < stretch->address);
    CUAI_ASSERT(*link == NULL || stretch->address + stretch->bytes < (*link)->address);
    if (stretch->next != NULL)
        stretch->next->prev = stretch;
    *link = stretch;
}

/* The room in the gap behind a stretch; NULL: in the first gap. */
static uint64_t room_behind(stretch_t *before, uint64_t granularity)
{
    uint64_t begin = gap_begin(before, granularity);
    uint64_t end = gap_end(*link_behind(before));
    return begin < end ? end - begin : 0;
}

/* Puts the stretch into the first gap for `bytes`; false if there is none. */
static bool insert(stretch_t *stretch, uint64_t bytes, uint64_t address_bytes, uint64_t granularity)
{
    uint32_t class = cuai_log2_floor(cuai_max(bytes, 1));
    if (class >= CLASSES)
        return false;
    uint64_t class_bytes = UINT64_C(1) << class;
    stretch_t *before = starts[class];
    while (room_behind(before, 1) < class_bytes && *link_behind(before) != NULL)
        before = *link_behind(before);
    starts[class] = before;
    while (room_behind(before, granularity) < bytes) {
        before = *link_behind(before);
        if (before == NULL)
            return false;
    }
    uint64_t begin = gap_begin(before, granularity);
    uint64_t end = gap_end(*link_behind(before));
    stretch->address = begin;
    stretch->bytes = share_of(end - begin, bytes, address_bytes, granularity);
    link_stretch(stretch, before);
    in_use += stretch->bytes;
    return true;
}

static void unlink_stretch(stretch_t *stretch)
{
    stretch_t *before = stretch->prev;
    CUAI_ASSERT(*link_behind(before) == stretch && in_use >= stretch->bytes);
    in_use -= stretch->bytes;
    *link_behind(before) = stretch->next;
    if (stretch->next != NULL)
        stretch->next->prev = before;
    uint64_t room = room_behind(before, 1);
    for (int i = 0; i < CLASSES; i++) {
        bool above = starts[i] != NULL && stretch->address < starts[i]->address;
        if (starts[i] == stretch || (above && room >> i != 0))
            starts[i] = before;
    }
}

/* ---- The table: `user` is the granularity ------------------------------------ */

static cuarena_status_t available(void *user, uint64_t *bytes_out)
{
    (void)user;
    *bytes_out = AVAILABLE;
    return CUARENA_OK;
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out)
{
    stretch_t *stretch = cuai_host_alloc(sizeof *stretch);
    if (stretch == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a segment's record");
    cuai_lock(&lock);
    bool placed = insert(stretch, bytes, address_bytes, (uintptr_t)user);
    cuai_unlock(&lock);
    if (!placed) {
        cuai_host_free(stretch);
        return cuai_fail_bytes(CUARENA_OUT_OF_MEMORY, bytes, AVAILABLE, 0, 0, 0,
                               "no %" PRIu64 " bytes of addresses are left", bytes);
    }
    *segment_out = (cuarena_memory_segment_t){
        .address = stretch->address,
        .bytes = bytes,
        .address_bytes = stretch->bytes,
        .cookie = stretch,
    };
    return CUARENA_OK;
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    (void)user;
    stretch_t *stretch = segment->cookie;
    CUAI_ASSERT(stretch->address == segment->address);
    cuai_lock(&lock);
    unlink_stretch(stretch);
    cuai_unlock(&lock);
    cuai_host_free(stretch);
}

static void punch(void *user, cuarena_memory_segment_t *segment, uint64_t offset, uint64_t bytes)
{
    (void)user;
    (void)segment;
    (void)offset;
    (void)bytes;
    CUAI_ASSERT(offset + bytes <= segment->bytes);
}

static cuarena_status_t fill(void *user, cuarena_memory_segment_t *segment, uint64_t offset,
                             uint64_t bytes)
{
    (void)user;
    (void)segment;
    (void)offset;
    (void)bytes;
    CUAI_ASSERT(offset + bytes <= segment->bytes);
    return CUARENA_OK;
}

/* There is nothing to move, so all of it has moved. */
static cuarena_status_t relocate(void *user, const cuarena_relocation_t *list, size_t count,
                                 cuarena_stream_t stream, size_t *done_out)
{
    (void)user;
    (void)list;
    (void)stream;
    *done_out = count;
    return CUARENA_OK;
}

/* ---- Streams ----------------------------------------------------------- */

/* No stream ever has work, so a handle is a label and no driver is asked. */

#define THREAD_ID (UINT64_C(1) << 63)

static uint64_t thread_id(void)
{
    static _Atomic uint64_t count;
    static _Thread_local uint64_t own;
    if (own == 0)
        own = THREAD_ID | (atomic_fetch_add(&count, 1) + 1);
    return own;
}

static cuarena_status_t identify(void *user, cuarena_stream_t stream,
                                 cuarena_stream_info_t *info_out)
{
    (void)user;
    if (stream == CUARENA_NO_STREAM)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "stream: CUARENA_NO_STREAM, a stream is accepted");
    if (stream == NULL)
        stream = CUARENA_STREAM_LEGACY;
    bool per_thread = stream == CUARENA_STREAM_PER_THREAD;
    *info_out = (cuarena_stream_info_t){
        .id = per_thread ? thread_id() : (uint64_t)(uintptr_t)stream,
        .device = -1,
        .per_thread = per_thread,
    };
    return CUARENA_OK;
}

/* The one event: all work is done. */
static char past;

static cuarena_status_t record_event(void *user, cuarena_stream_t stream, void **event)
{
    (void)user;
    (void)stream;
    *event = &past;
    return CUARENA_OK;
}

static cuarena_status_t query_event(void *user, void *event)
{
    (void)user;
    (void)event;
    CUAI_ASSERT(event == &past);
    return CUARENA_OK;
}

static cuarena_status_t wait_event(void *user, void *event, cuarena_stream_t stream, int32_t host)
{
    (void)user;
    (void)event;
    (void)stream;
    (void)host;
    CUAI_ASSERT(event == &past);
    return CUARENA_OK;
}

static void end_event(void *user, void *event)
{
    (void)user;
    (void)event;
    CUAI_ASSERT(event == &past);
}

cuarena_status_t cuai_none_open(const cuarena_config_t *config, cuai_memory_t *out)
{
    uint64_t handle = config->handle_bytes != 0 ? config->handle_bytes : GRANULARITY;
    const uint64_t granularity = cuai_max(handle, config->alignment);
    cuarena_memory_ops_t *ops = &out->ops;
    cuarena_memory_ops_init(ops);
    ops->name = "none";
    ops->granularity = granularity;
    ops->alignment = granularity;
    ops->available = available;
    ops->total = available;
    ops->get = get;
    ops->give_back = give_back;
    ops->grow = cuai_length_grow;
    ops->shrink = cuai_length_shrink;
    ops->punch = punch;
    ops->fill = fill;
    ops->relocate = relocate;
    ops->identify = identify;
    ops->record_event = record_event;
    ops->query_event = query_event;
    ops->wait_event = wait_event;
    ops->end_event = end_event;
    out->user = (void *)(uintptr_t)granularity;
    return heed_forks();
}
