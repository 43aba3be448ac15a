/*
 * A plan from inside: what planning (plan.c) and carrying it out (plan_commit.c) have in common,
 * and what the arena does at once.
 */
#ifndef CUAI_HEAP_PLAN_H
#define CUAI_HEAP_PLAN_H

#include "heap/heap.h"

/* A move, or a run: neighbours that move by one distance, as if they were one block, whose id is 0.
 * Written once, and handed on as what it looks like: a cuarena_heap_move_t, or the arena's
 * cuarena_relocation_t. */
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
               "they look the same");

struct cuarena_heap_plan {
    cuai_move_t *moves;
    cuai_move_t *runs; /* NULL but for cuai_plan_start */
    size_t count;
    size_t run_count;
    size_t room; /* of the moves, in bytes */
    size_t runs_room;
    cuai_planning_t *planning;  /* of its heap; NULL: that has ended */
    cuarena_heap_plan_t *next;  /* of the heap's plans */
    cuarena_heap_plan_t **link; /* the pointer that leads here */
    uint64_t version;           /* of the heap when it was made */
    uint32_t freelist;          /* counts as free, besides free list 0 */
    bool begun;
    bool done;       /* committed or aborted */
    bool runs_apart; /* false: each move is a run, and `runs` is empty */

    /* From cuai_plan_start. */
    uint64_t bytes;   /* that move */
    uint64_t some;    /* bits that a block of the plan has in its attributes */
    uint64_t every;   /* bits that all of them have */
    uint64_t largest; /* idle range, before; see cuai_plan_is_one_pass */
};

/* What the memory is to move. */
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
 * As cuarena_heap_plan_create and, if there is anything to move, begin; with the runs, which are
 * apart from the moves where that is asked for or two blocks are one. Where it can all be done in
 * one pass over the list, it is.
 */
cuarena_status_t cuai_plan_start(cuarena_heap_t *heap, const cuarena_heap_plan_options_t *options,
                                 bool runs_apart, cuarena_heap_plan_t **plan_out);
/* Whether it can: all the way, without limits, and no SEPARATOR is there. The pass finds the
 * largest idle range as well. */
bool cuai_plan_is_one_pass(const cuarena_heap_t *heap, const cuarena_heap_plan_options_t *options);

/* ---- Under way (plan_commit.c) ------------------------------------------------ */

/* Takes ranges of a free list that the pass has made HELD out of its index: all of them, unless
 * some stay. */
void cuai_planned_unlist(cuarena_heap_t *heap, uint32_t freelist, bool some_stay);
/* BUSY, OUT_OF_MEMORY: the plan cannot begin now. */
cuarena_status_t cuai_plan_can_begin(cuarena_heap_t *heap);
/* Its blocks are marked, its ranges held. */
void cuai_plan_begun(cuarena_heap_t *heap, cuarena_heap_plan_t *plan);

#endif
