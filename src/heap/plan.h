/*
 * Compaction plans: what planning (plan.c) and carrying it out (plan_commit.c) have in common, and
 * how the arena makes and begins a plan at once.
 */
#ifndef CUAI_HEAP_PLAN_H
#define CUAI_HEAP_PLAN_H

#include "heap/heap.h"

/* A move of one block; or a run, neighbouring blocks that move by one distance, whose `block` is 0.
 * It has the layout of cuarena_heap_move_t and of the arena's cuarena_relocation_t, and is passed
 * as these without a copy. */
typedef struct CUAI_MAY_ALIAS cuai_move {
    cuarena_block_t block;
    uint64_t from;
    uint64_t to;
    uint64_t bytes;
} cuai_move_t;
_Static_assert(sizeof(cuai_move_t) == sizeof(cuarena_heap_move_t) &&
                   offsetof(cuai_move_t, from) == offsetof(cuarena_heap_move_t, from) &&
                   offsetof(cuai_move_t, to) == offsetof(cuarena_heap_move_t, to) &&
                   offsetof(cuai_move_t, bytes) == offsetof(cuarena_heap_move_t, bytes),
               "the layouts are the same");

struct cuarena_heap_plan {
    cuai_move_t *moves;
    cuai_move_t *runs; /* NULL unless cuai_plan_start made the plan */
    size_t count;
    size_t run_count;
    size_t room; /* for moves, in bytes */
    size_t runs_room;
    cuai_planning_t *planning;  /* of its heap; NULL: that has ended */
    cuarena_heap_plan_t *next;  /* in the heap's list of plans */
    cuarena_heap_plan_t **link; /* the pointer to this plan in that list */
    uint64_t version;           /* of the heap when the plan was made */
    uint32_t freelist;          /* its ranges count as free, besides those of free list 0 */
    bool begun;
    bool done;       /* committed or aborted */
    bool runs_apart; /* false: each move is a run, and `runs` is empty */

    /* Set by cuai_plan_start. */
    uint64_t bytes;   /* that move */
    uint64_t some;    /* bits that the attributes of some block have */
    uint64_t every;   /* bits that the attributes of all blocks have */
    uint64_t largest; /* the largest idle range before; see cuai_plan_is_one_pass */
};

/* The runs that the memory is to move. */
static inline cuai_move_t *cuai_plan_runs(const cuarena_heap_plan_t *plan)
{
    return plan->runs_apart ? plan->runs : plan->moves;
}

static inline cuai_slot_t cuai_moved_slot(const cuarena_heap_t *heap,
                                          const cuarena_heap_plan_t *plan, size_t i)
{
    return cuai_slot_in(heap, plan->moves[i].block);
}

/*
 * As cuarena_heap_plan_create and, if there is anything to move, cuarena_heap_plan_begin; with the
 * runs, which are apart from the moves if that is asked for or some run has several blocks. All of
 * it is done in one pass over the list where that is possible. O(records).
 */
cuarena_status_t cuai_plan_start(cuarena_heap_t *heap, const cuarena_heap_plan_options_t *options,
                                 bool runs_apart, cuarena_heap_plan_t **plan_out);
/* Whether one pass is enough: compaction goes all the way, without limits, and there is no
 * SEPARATOR. The pass finds the largest idle range as well. */
bool cuai_plan_is_one_pass(const cuarena_heap_t *heap, const cuarena_heap_plan_options_t *options);

/* The heap ends: plans that the caller still has are of no heap from now on. NULL is fine. */
void cuai_planning_end(cuai_planning_t *planning);

/* ---- Under way (plan_commit.c) ------------------------------------------------ */

/* Takes the ranges that the pass has planned out of the index of their free list: all ranges,
 * unless some stay. */
void cuai_planned_unlist(cuarena_heap_t *heap, uint32_t freelist, bool some_stay);
/* Whether a plan can begin now. BUSY, OUT_OF_MEMORY. */
cuarena_status_t cuai_plan_can_begin(cuarena_heap_t *heap);
/* Begins a plan whose blocks are marked and whose ranges are planned. */
void cuai_plan_begun(cuarena_heap_t *heap, cuarena_heap_plan_t *plan);

/* ---- Shifting all of it (plan_commit.c) ---------------------------------- */

/* Until cuai_heap_thaw no idle range is allocated from. OUT_OF_MEMORY, BUSY. O(records). */
cuarena_status_t cuai_heap_freeze(cuarena_heap_t *heap);
void cuai_heap_thaw(cuarena_heap_t *heap);
/* Adds `distance` (modulo 2^64) to every offset. O(records). */
void cuai_heap_rebase(cuarena_heap_t *heap, uint64_t distance);

#endif
