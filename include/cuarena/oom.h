/*
 * Running out: what an arena tries before it refuses a request, and the program's own handler.
 *
 *   static int32_t drop_caches(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
 *   {
 *       return free_something(user);          1: try the request again
 *   }
 *   cuarena_set_oom_handler(arena, drop_caches, user);
 *
 * A request that does not fit into free bytes goes through the steps below. Those that were taken
 * stay done if it is refused after all: free bytes given back to the memory, cached blocks ended,
 * waits of streams, what the handler did, and moves, which were reported. For a request that would
 * not fit beside the live blocks nothing is given back or ended.
 *
 * The error of a refused request lists the steps that were tried, names the memory that had no more
 * with its code (errno, the driver's, or what a caller's own function answered), and says why
 * compaction brought nothing. The log tells the steps too, at level debug.
 */
#ifndef CUARENA_OOM_H
#define CUARENA_OOM_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The steps for a request that no free bytes have room for, in this order. After a step that
 * brought something the request is tried again, and the steps begin anew. Unless steal=first, the
 * stream of an arena that grows waits only behind growth: there stealing is tried once more. */
#define CUARENA_STEP_JOIN 0    /* join the free bytes of its own stream */
#define CUARENA_STEP_STEAL 1   /* steal: its stream waits for others */
#define CUARENA_STEP_RECLAIM 2 /* reclaim bytes whose streams are done with them */
#define CUARENA_STEP_GROW 3    /* take more from the memory */
#define CUARENA_STEP_CACHE 4   /* end cached blocks, and those in the quarantine */
#define CUARENA_STEP_WAIT 5    /* wait until streams are done with their bytes */
#define CUARENA_STEP_TRIM 6    /* give free bytes back, to grow elsewhere */
#define CUARENA_STEP_HANDLER 7 /* ask the program's handler */
#define CUARENA_STEP_COMPACT 8 /* compact, with compact_on_oom */
#define CUARENA_STEP_COUNT 9

/* How often a step was taken since the arena was made. Frozen. */
typedef struct cuarena_step_stats {
    const char *name; /* as errors and the log call it; static text */
    uint64_t tried;   /* how often it had something to do */
    uint64_t served;  /* requests that had room after it, and went no further */
} cuarena_step_stats_t;
/* Copies up to `capacity` steps, in the order of their numbers; `count_out` gets how many there
 * are. `steps` NULL with capacity 0 only asks for the count. O(1). */
CUARENA_API cuarena_status_t cuarena_step_stats(cuarena_t *arena, cuarena_step_stats_t *steps,
                                                size_t capacity, size_t *count_out);

/*
 * The handler is asked when nothing else helps, before compact_on_oom; not for more bytes than a
 * pool or the stable region has, nor for more than both the limit of reserved bytes and all that is
 * reserved, whatever it would change of these. It returns 1 if it freed something: the request is
 * tried again. If it returns 0, or has returned 1 sixteen times without enough room, it is not
 * asked again for this request. `attempt` counts its calls for one request, from 0 on.
 *
 * It is called with no lock held, so other threads go on meanwhile, and several may be in it at
 * once. On one thread it is not entered twice: a request that is made in it and finds no room fails
 * without it. It may make every call of the arena but destroy it (REENTERED). It must return,
 * rather than leave by longjmp or an exception.
 */
typedef int32_t (*cuarena_oom_fn)(void *user, cuarena_t *arena, uint64_t asked_bytes,
                                  int32_t attempt);
/* Sets the handler; NULL: none. */
CUARENA_API cuarena_status_t cuarena_set_oom_handler(cuarena_t *arena, cuarena_oom_fn handler,
                                                     void *user);

#ifdef __cplusplus
}
#endif

#endif
