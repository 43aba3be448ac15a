/*
 * The listener: a function of the caller's that is told of every allocation, free, growth, move and
 * refusal.
 */
#ifndef CUARENA_LISTENER_H
#define CUARENA_LISTENER_H

#include "base.h"
#include "heap.h"
#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUARENA_EVENT_ALLOC 1
#define CUARENA_EVENT_FREE 2
#define CUARENA_EVENT_RESIZE 3
#define CUARENA_EVENT_GROW 4    /* bytes taken from the memory */
#define CUARENA_EVENT_TRIM 5    /* bytes given back */
#define CUARENA_EVENT_COMPACT 6 /* a batch; bytes = bytes moved */
#define CUARENA_EVENT_FAIL 7    /* a request that was refused */
#define CUARENA_EVENT_RESET 8
typedef struct cuarena_event {
    size_t struct_size;
    int32_t kind;
    cuarena_status_t status; /* of FAIL */
    cuarena_block_t block;   /* 0 where none */
    void *address;           /* NULL where none */
    uint64_t bytes;          /* requested; or taken, given back, moved */
    cuarena_tag_t tag;
} cuarena_event_t;
/* Called after the fact with no lock held; everything is legal in it but to destroy the arena
 * (REENTERED), and the events of its own calls reach it too. In that of a compaction's batch what
 * is not legal in a relocation callback is not either. Events of different threads may come in
 * another order than they happened. It must return: not by longjmp, nor by an exception. */
typedef void (*cuarena_event_fn)(void *user, const cuarena_event_t *event);
CUARENA_API cuarena_status_t cuarena_set_event_listener(cuarena_t *arena, cuarena_event_fn listener,
                                                        void *user);

#ifdef __cplusplus
}
#endif

#endif
