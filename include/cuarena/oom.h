/*
 * Running out: what an arena tries before it refuses a request, and the handler that is asked.
 */
#ifndef CUARENA_OOM_H
#define CUARENA_OOM_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What was tried for a request that is refused stays done: free bytes given back to the memory,
 * cached blocks ended, waits of streams, what the handler did, and moves, which were reported.
 * Nothing is given back or ended for one that would not fit beside the blocks that live. The steps
 * are below; the error lists those that were tried, names the memory that had no more with its
 * code (errno, the driver's, or what a caller's own function answered), and says why compaction
 * brought nothing.
 *
 * The handler: asked when nothing else helps, before compact_on_oom, but not for more bytes than
 * the limit of held ones and all that is held: 1 says that something was freed and the request is
 * tried again, 0 that nothing was, and then it is not asked again for this request. It is given up
 * on when it says 1 sixteen times for one request without enough room appearing.
 *
 * Called with no lock held, so others go on meanwhile, and several threads may be in it at once; on
 * one thread it is not entered twice: a request that is made in it and finds no room fails without
 * it. Any call of the arena is legal in it but to destroy it (REENTERED). It must return: not by
 * longjmp, nor by an exception. cuarena_step_stats counts every step of running out, and the log
 * tells them (debug).
 */
typedef int32_t (*cuarena_oom_fn)(void *user, cuarena_t *arena, uint64_t asked_bytes,
                                  int32_t attempt);
CUARENA_API cuarena_status_t cuarena_set_oom_handler(cuarena_t *arena, cuarena_oom_fn handler,
                                                     void *user);

/* What is done for a request that nothing held has room for, in this order. After a step that
 * brought something the request is tried again, and the
 * steps begin anew. */
#define CUARENA_STEP_JOIN 0    /* both free lists of its own stream together */
#define CUARENA_STEP_STEAL 1   /* all free lists: its stream waits for others */
#define CUARENA_STEP_RECLAIM 2 /* bytes of streams whose last use is over */
#define CUARENA_STEP_GROW 3    /* more from the memory */
#define CUARENA_STEP_CACHE 4   /* ending cached blocks: see cache.h */
#define CUARENA_STEP_WAIT 5    /* bytes whose last use is still under way */
#define CUARENA_STEP_TRIM 6    /* giving back what is free, to grow again */
#define CUARENA_STEP_HANDLER 7 /* the caller's handler */
#define CUARENA_STEP_COMPACT 8 /* compaction, with compact_on_oom */
#define CUARENA_STEP_COUNT 9

/* One step, since the arena was made. Frozen. */
typedef struct cuarena_step_stats {
    const char *name; /* as errors and the log call it; static text */
    uint64_t tried;   /* it had something to do */
    uint64_t served;  /* requests that had room then, and went no further */
} cuarena_step_stats_t;
/* Copies up to `capacity` of them, by their numbers; `count_out` gets how many there are. `steps`
 * NULL with capacity 0 only asks. */
CUARENA_API cuarena_status_t cuarena_step_stats(cuarena_t *arena, cuarena_step_stats_t *steps,
                                                size_t capacity, size_t *count_out);

#ifdef __cplusplus
}
#endif

#endif
