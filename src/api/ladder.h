/*
 * The ladder: one request that has no room at once, and the steps that are tried for it (ladder.c),
 * up to the error that tells what was tried (ladder_error.c).
 */
#ifndef CUAI_API_LADDER_H
#define CUAI_API_LADDER_H

#include "api/call.h"
#include "arena/capture.h"
#include "arena/steal.h"
#include "arena/streams.h"

#define CUAI_MOST_HANDLER_CALLS 16

/* One request, and what was tried for it. */
typedef struct cuai_ladder {
    cuai_call_t *call;
    cuai_request_t *request;
    cuai_block_ref_t *ref;
    bool stolen;               /* stealing has set *ref */
    bool took_from_sessions;   /* what they had not touched, for now */
    bool outgrown;             /* the last growth brought nothing */
    uint32_t looked;           /* bits, by may_wait: stealing has looked in this round */
    bool missed;               /* the cache had no block that fits */
    cuarena_status_t refusal;  /* of the last attempt */
    cuarena_status_t growth;   /* of the last growth; UNSUPPORTED: none */
    cuai_kept_error_t *words;  /* the memory's, when growth or a block's own
                                * segment failed: later steps have others */
    const char *no_compaction; /* why compaction brought nothing; NULL: it was
                                * not tried */
    uint64_t seen;             /* the changes before the last attempt ended */
    int32_t rounds;
    int32_t handler_calls;
    int32_t memory_waits;
    int32_t reclaims; /* how often in a row these steps brought something */
    uint32_t tried;   /* bits: the steps that had something to do */
    uint32_t spent;   /* bits: steps that are not taken again for now */
    int32_t deepest;  /* the last step that brought something; -1 */
    bool handler_no;  /* the handler said that it freed nothing */
} cuai_ladder_t;

static inline uint32_t cuai_step_bit(int32_t step)
{
    CUAI_ASSERT(step >= 0 && step < CUARENA_STEP_COUNT);
    return UINT32_C(1) << step;
}

/* The stream whose free lists the request can use at once; 0: none. */
static inline uint32_t cuai_ladder_stream(const cuai_ladder_t *ladder)
{
    CUAI_ASSERT(ladder->request->stream < CUAI_STREAM_NUMBERS);
    const cuarena_t *arena = ladder->call->arena;
    bool own = !arena->cpu_touches && !ladder->request->dedicated &&
               !cuai_is_captured(arena, ladder->request->stream);
    return own ? ladder->request->stream : 0;
}

/* Whether the request may have bytes that other streams freed, ordered behind their work. */
static inline bool cuai_ladder_may_steal(const cuai_ladder_t *ladder)
{
    return cuai_ladder_stream(ladder) != 0 && ladder->request->size != 0 &&
           ladder->call->arena->config.steal != CUARENA_STEAL_NEVER;
}

/* The stable region has all the bytes that it will ever have. */
static inline bool cuai_ladder_is_stable(const cuai_ladder_t *ladder)
{
    return ladder->request->region == CUARENA_REGION_STABLE &&
           ladder->call->arena->heaps[CUAI_STABLE] != NULL;
}

/* Whether its stream may also be made to wait for that work: at once, or where growth has nothing
 * more. */
static inline bool cuai_ladder_may_wait(const cuai_ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    return cuai_ladder_may_steal(ladder) && cuai_steal_waits(arena) &&
           (cuai_steal_waits_first(arena) || cuai_ladder_is_stable(ladder) || ladder->outgrown);
}

/* The heap of the request's region. */
static inline const cuarena_heap_t *cuai_ladder_heap(const cuai_ladder_t *ladder)
{
    const cuarena_t *arena = ladder->call->arena;
    return arena->heaps[cuai_region_for(arena, ladder->request->region)];
}

/* The free bytes of the heap, in all of its free lists. */
static inline uint64_t cuai_ladder_free(const cuai_ladder_t *ladder)
{
    return cuai_free_bytes(cuai_ladder_heap(ladder));
}

static inline bool cuai_ladder_is_final(cuarena_status_t growth)
{
    return growth == CUARENA_DRIVER || growth == CUARENA_LOST || growth == CUARENA_NO_DEVICE;
}

/* Whether there are enough free bytes that do not lie together, and compaction can bring them
 * together. What a pool gave back counts as long as the memory has not refused it. */
bool cuai_ladder_is_apart(const cuai_ladder_t *ladder);

/* Whether the limits of live bytes and of blocks allow one more such block. */
bool cuai_ladder_may_live(const cuai_ladder_t *ladder);

/* Whether no step can help, whatever is freed. */
bool cuai_ladder_is_hopeless(const cuai_ladder_t *ladder);

/* Takes steps until one brings something; behind growth stealing may wait. False: none is left. */
bool cuai_ladder_take(cuai_ladder_t *ladder);

/* Drops the lock, if the log is at level debug. */
void cuai_ladder_log(const cuai_ladder_t *ladder, const char *name, const char *result);

/* Sets the last error of a request that is refused; its status. Failures of the memory keep the
 * words that they were met with. */
cuarena_status_t cuai_ladder_refuse(const cuai_ladder_t *ladder);

#endif
