/*
 * Arenas that end with their last block.
 *
 * A retired arena has a bit of `slow`, so no free takes a fast path any more, and other arenas pay
 * nothing for this. On the slow path each call counts itself in under the lock (`inside`, call.c),
 * and out when it has nothing left to do but to let go of the lock: after its events and its calls
 * of the memory. The last call out calls `done`, if no block lives that was not freed.
 *
 * Nobody touches the arena when `done` is called:
 *
 *   a thread that freed by a fast path before the arena was retired did so under the lock, which
 *   was taken since; and letting go of the lock is the last thing that a fast path does with the
 *   arena (base/lock.h);
 *   a thread that frees later is inside from before its block ends until it lets go of the lock for
 *   the last time, and whoever calls `done` had the lock after that.
 *
 * Cost: an addition and a subtraction to each call on the slow path; to those with events one more
 * turn of the lock.
 */
#include "api/call.h"
#include "arena/counts.h"

/* Whether a block lives that was not freed, or a call is inside. */
static bool is_needed(const cuarena_t *arena)
{
    CUAI_ASSERT(cuai_whole_counts(arena).live_blocks >= arena->ending);
    return arena->inside != 0 || cuai_whole_counts(arena).live_blocks != arena->ending;
}

static void set_retired(cuarena_t *arena, cuai_retired_t retired)
{
    cuai_assert_locked(arena);
    arena->retired = retired;
    cuai_slow_set(arena, CUAI_SLOW_RETIRED, retired.done != NULL);
}

cuai_retired_t cuai_take_retired(cuarena_t *arena)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT((arena->slow & CUAI_SLOW_RETIRED) != 0);
    cuai_retired_t retired = {NULL, NULL};
    if (!is_needed(arena)) {
        retired = arena->retired;
        set_retired(arena, (cuai_retired_t){NULL, NULL});
    }
    return retired;
}

static cuarena_status_t retire(cuarena_t *arena, cuai_retired_t retired)
{
    if (arena->shared)
        return cuai_fail(CUARENA_BUSY, "%s is shared: it ends with its holders", arena->label);
    bool revoked = retired.done == NULL;
    if (revoked ? arena->retired.done == NULL : !is_needed(arena))
        return cuai_fail(CUARENA_STALE,
                         revoked ? "%s is not retired, or no more" : "no block of %s lives",
                         arena->label);
    set_retired(arena, retired);
    return CUARENA_OK;
}

/* STALE is an answer here, of which the log is not told as of an error. */
static cuarena_status_t answered(cuarena_status_t status)
{
    return status == CUARENA_STALE ? status : cuai_told(status);
}

cuarena_status_t cuarena_retire(cuarena_t *arena, cuarena_retired_fn done, void *user)
{
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    status = retire(arena, (cuai_retired_t){done, user});
    cuai_unlock(&arena->lock);
    return answered(status);
}
