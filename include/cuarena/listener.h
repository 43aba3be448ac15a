/*
 * The listener: a function of the program's that an arena tells of every allocation, free, growth,
 * move and refusal.
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
#define CUARENA_EVENT_FAIL 7    /* a request was refused */
#define CUARENA_EVENT_RESET 8
typedef struct cuarena_event {
    size_t struct_size;
    int32_t kind;            /* CUARENA_EVENT_... */
    cuarena_status_t status; /* of FAIL: why */
    cuarena_block_t block;   /* 0 if it is about none */
    void *address;           /* NULL if it is about none */
    uint64_t bytes;          /* requested; or taken, given back, moved */
    cuarena_tag_t tag;
} cuarena_event_t;
/* Called after the fact, with no lock held. It may make every call of the arena but destroy it
 * (REENTERED), and is told of what its own calls do. When it is told of a batch of a compaction,
 * only what a relocation callback may do is legal (compact.h). Events of different threads may come
 * in another order than they happened. It must return, rather than leave by longjmp or an
 * exception. */
typedef void (*cuarena_event_fn)(void *user, const cuarena_event_t *event);
/* Sets the listener; NULL: none. An arena with a listener takes the slow path for every call. */
CUARENA_API cuarena_status_t cuarena_set_event_listener(cuarena_t *arena, cuarena_event_fn listener,
                                                        void *user);

#ifdef __cplusplus
}
#endif

#endif
