/*
 * The host's own memory, for the bookkeeping of the bytes that the library manages.
 *
 * Every call that may be refused goes through one counter, so that tests can refuse the Nth
 * (base/host_test.h). No function sets the last error: the caller knows what the bytes were for.
 */
#ifndef CUAI_BASE_HOST_H
#define CUAI_BASE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allocates zeroed bytes, aligned for any type; NULL if there are none. 0 bytes have a pointer of
 * their own. */
void *cuai_host_alloc(size_t bytes);
/* Allocates bytes that are not zeroed, aligned for any type; NULL if there are none. */
void *cuai_host_alloc_unzeroed(size_t bytes);
/* Frees what these functions allocated; NULL is fine. */
void cuai_host_free(void *pointer);
/* Returns an array with room for one more than `count` items: `items`, or a copy with twice the
 * room, and then `items` is freed and *room set. NULL: there are no bytes, and nothing changed. */
void *cuai_host_make_room(void *items, size_t count, size_t *room, size_t item_bytes);

/* Keeps the last buffer of its kind for the next, if it is small: fresh pages cost more than what
 * is written into them. Begins as all 0. */
typedef struct cuai_host_kept {
    void *bytes; /* NULL: none */
    size_t room;
} cuai_host_kept_t;

/* The largest buffer that is kept. */
#define CUAI_HOST_KEPT_MOST ((size_t)1 << 20)

/* As cuai_host_alloc_unzeroed; `room_out`, at least `bytes`, goes back with it. */
void *cuai_host_kept_alloc(cuai_host_kept_t *kept, size_t bytes, size_t *room_out);
void cuai_host_kept_free(cuai_host_kept_t *kept, void *pointer, size_t room);

/* What a commit is rounded up to, or a page where that is more. */
#define CUAI_HOST_STEP ((size_t)1 << 15)
/* How many times as large as before a region becomes that has to move. With internal assertions it
 * moves at every step while it is small, then whenever it is a sixteenth larger, so that uses of
 * old addresses are found. */
#if defined(CUARENA_DEBUG)
#define CUAI_HOST_GROWTH 1
#else
#define CUAI_HOST_GROWTH 4
#endif

/*
 * A table that grows: its first `committed` bytes can be used.
 *
 *   base              base + committed        base + room
 *    |  in use            |  never touched       |
 *
 * A region that outgrows its room moves to a place with four times as much. Its pages are moved
 * without a copy, some tens of KiB in a microsecond. So addresses into a region are good until the
 * next commit, and thousands of small regions set no more addresses aside than they need.
 *
 * All members 0: no region.
 */
typedef struct cuai_host_region {
    unsigned char *base; /* NULL until the first commit */
    size_t most;         /* bytes that it may come to have */
    size_t room;         /* bytes mapped, a multiple of CUAI_HOST_STEP */
    size_t committed;    /* bytes in use, a multiple of CUAI_HOST_STEP */
} cuai_host_region_t;

/* Begins an empty region; false if no region can have that many bytes. */
bool cuai_host_region_begin(cuai_host_region_t *region, size_t most_bytes);
/* Makes at least the first `bytes` usable; new ones read as 0, and `base` may change. false if they
 * are more than the most or the system refuses: nothing changed. */
bool cuai_host_commit(cuai_host_region_t *region, size_t bytes);
/* Ends the region, which is all 0 then. No region is fine. */
void cuai_host_release(cuai_host_region_t *region);

/* Counts one call that the host may refuse; false if a test wants it refused. For code that gets
 * host memory by other means. */
bool cuai_host_allow(void);

#endif
