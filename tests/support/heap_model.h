/*
 * A heap and its reference, driven side by side by random choices. Each step
 * is one call with arguments that are mostly sensible; what it returns and
 * what it changed are compared with the reference. The first difference
 * prints the last calls and aborts.
 */
#ifndef CUARENA_TEST_HEAP_MODEL_H
#define CUARENA_TEST_HEAP_MODEL_H

#include "choice.h"
#include "heap_ref.h"

#define MODEL_FREELISTS 6u
#define MODEL_STALE 32u
#define MODEL_PLANS 3u
#define MODEL_NOTES 24u
/* Up to so many live blocks all is compared after every step, beyond that
 * after so many steps. */
#define MODEL_SMALL 64u
#define MODEL_STRIDE 1000u

enum model_plan_state {
    MODEL_PLAN_NONE,
    MODEL_PLAN_MADE,
    MODEL_PLAN_BEGUN,
    MODEL_PLAN_DONE
};

typedef struct model_plan {
    cuarena_heap_plan_t *plan;
    uint64_t changes; /* of the reference when it was made */
    enum model_plan_state state;
} model_plan_t;

typedef struct model {
    cuarena_heap_t *heap;
    cuarena_heap_t *other; /* whose ids are foreign */
    cuarena_block_t foreign;
    /* The public calls, or what stands in for them. */
    cuarena_status_t (*alloc)(cuarena_heap_t *heap, const cuarena_heap_request_t *request,
                              cuarena_block_t *block_out, uint64_t *offset_out);
    cuarena_status_t (*free)(cuarena_heap_t *heap, cuarena_block_t block, uint32_t freelist);
    cuarena_status_t (*resize)(cuarena_heap_t *heap, cuarena_block_t block, uint64_t size,
                               uint32_t freelist);
    choice_t *choice;
    ref_t ref;
    uint64_t base;                       /* where offsets are chosen from */
    uint64_t room;                       /* ... in granules */
    uint32_t freelists[MODEL_FREELISTS]; /* the idle one first */
    unsigned freelist_count;
    unsigned freelist_most; /* 1 in some heaps: those are simpler */
    unsigned pressure;      /* allocations in 16 of these and frees */
    cuarena_block_t stale[MODEL_STALE];
    model_plan_t plans[MODEL_PLANS];
    uint64_t steps;
    char notes[MODEL_NOTES][192];
} model_t;

void model_open(model_t *model, choice_t *choice);
void model_step(model_t *model);
/* Compares all, whatever the size. */
void model_check(model_t *model);
void model_close(model_t *model);

#endif
