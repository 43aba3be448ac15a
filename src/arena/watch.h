/*
 * Watched blocks: what debugging knows of each live block that has bytes (watch.c). An arena whose
 * options ask for guards, patterns, a quarantine or stacks has a watch, and takes the slow path for
 * every call; others have none, and pay nothing.
 */
#ifndef CUAI_ARENA_WATCH_H
#define CUAI_ARENA_WATCH_H

#include "arena/find.h"
#include "base/stack.h"

/* A live block, or one in the quarantine. */
typedef struct cuai_watched {
    cuarena_block_t block;
    struct cuai_watched *chain; /* of its bucket */
    struct cuai_watched *next;  /* in the quarantine: the block that was freed next */
    uint64_t number;            /* of its allocation, from 1 on */
    uint64_t born_ms;
    uint32_t stream; /* on which its guards were written last; 0: they are there */
    bool guarded;    /* it has guards */
    uint32_t frame_count;
    void *frames[]; /* its allocation's callers */
} cuai_watched_t;

/* All of an arena: a hash table by block id, and the quarantine, a queue of freed blocks. */
typedef struct cuai_watch {
    cuai_watched_t **buckets;
    size_t bucket_count; /* power of two, or 0 */
    size_t count;
    uint64_t allocations;  /* made so far */
    uint64_t findings;     /* made so far */
    cuai_watched_t *first; /* the quarantine, in the order of the frees */
    cuai_watched_t **last;
    uint64_t quarantined_bytes;
    uint64_t host_bytes; /* of all this: the table, its blocks and their frames */
} cuai_watch_t;

/* Begins the watch if an option asks for it. No lock. */
cuarena_status_t cuai_watch_begin(cuarena_t *arena);
/* Ends the watch and forgets all blocks. No lock. */
void cuai_watch_end(cuarena_t *arena);
/* What it takes of the host; 0 without one. */
uint64_t cuai_watch_host_bytes(const cuarena_t *arena);

/* Watches a block from now on; OUT_OF_MEMORY, put into words. Drops the lock. */
cuarena_status_t cuai_watch_add(cuarena_t *arena, cuai_block_ref_t ref);
cuai_watched_t *cuai_watch_find(const cuarena_t *arena, cuarena_block_t block);
/* Forgets a block; one that is not watched is fine. */
void cuai_watch_drop(cuarena_t *arena, cuarena_block_t block);
/* Forgets all blocks; the arena has none any more. */
void cuai_watch_clear(cuarena_t *arena);

/* ---- Guards ------------------------------------------------------------ */

/* With guards a block is laid out like this. The pointer that a caller has is behind the front,
 * which is as long as alignment wants; the guards touch the bytes that were asked for.
 *
 *   offset                  pointer              + requested           offset + size
 *    | front      | guard   | bytes asked for      | guard | rest        |
 */

/* The bytes before those of a block with this alignment; 0 without guards. */
uint64_t cuai_front_bytes(const cuarena_t *arena, uint64_t alignment);
/* The bytes before those of this block's user; adopted and empty blocks have none. */
uint64_t cuai_front_of(const cuarena_t *arena, const cuai_record_t *r);
/* Where the bytes of a block begin for its user. */
uint64_t cuai_user_address(const cuarena_t *arena, const cuai_record_t *r);
/* The bytes that a block has for its user, rounded up as without guards. */
uint64_t cuai_user_bytes(const cuarena_t *arena, const cuai_record_t *r);

#endif
