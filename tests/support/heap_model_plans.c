/* Compaction plans: any number made, one at a time under way. */
#include "heap_model_internal.h"

static bool is_under_way(const model_t *model)
{
    for (unsigned i = 0; i < MODEL_PLANS; i++) {
        if (model->plans[i].state == MODEL_PLAN_BEGUN)
            return true;
    }
    return false;
}

/* ---- Making ------------------------------------------------------------- */

static uint64_t any_limit(model_t *model, uint64_t most)
{
    return choose_one_in(model->choice, 3) ? choose(model->choice, most) : UINT64_MAX;
}

static void any_options(model_t *model, cuarena_heap_plan_options_t *options)
{
    cuarena_heap_plan_options_init(options);
    if (!choose_one_in(model->choice, 3)) {
        uint64_t most = 1 + model->room / 2;
        options->goal_bytes = (1 + choose(model->choice, most)) * model->ref.granule;
    }
    if (choose_one_in(model->choice, 4))
        options->goal_alignment = model->ref.granule << choose(model->choice, 5);
    options->max_moves = any_limit(model, 8);
    options->max_bytes = any_limit(model, model->room / 4 * model->ref.granule);
}

static uint64_t cost_of(const cuarena_heap_move_t *moves, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += moves[i].bytes;
    return bytes;
}

/* Where alignments are in play the one pass may count more than is lost. */
static void check_goal(model_t *model, const cuarena_heap_plan_options_t *options,
                       cuarena_status_t got, uint64_t bytes)
{
    ref_cost_t cost;
    bool found = ref_cheapest(&model->ref, options, &cost);
    if (ref_has_alignments(&model->ref, options)) {
        if (got == CUARENA_OK && (!found || bytes < cost.bytes))
            model_fail(model, "a plan cheaper than every window");
        return;
    }
    model_want(model, found ? CUARENA_OK : CUARENA_FRAGMENTED, got);
    if (found && bytes != cost.bytes)
        model_fail(model, "expected a plan of %" PRIu64 " bytes, got %" PRIu64, cost.bytes, bytes);
}

static void check_plan(model_t *model, const cuarena_heap_plan_options_t *options,
                       const cuarena_heap_plan_t *plan)
{
    size_t count = 0;
    const cuarena_heap_move_t *moves = cuarena_heap_plan_moves(plan, &count);
    model_accept(model, ref_check_plan(&model->ref, options, moves, count));
    if (options->goal_bytes != 0 && model->ref.count <= MODEL_SMALL)
        check_goal(model, options, CUARENA_OK, cost_of(moves, count));
}

static void step_create(model_t *model, model_plan_t *plan)
{
    cuarena_heap_plan_options_t options;
    any_options(model, &options);
    model_note(model,
               "plan_create: goal %" PRIu64 " alignment %" PRIu64 ", at most %" PRIu64
               " bytes, %" PRIu64 " moves",
               options.goal_bytes, options.goal_alignment, options.max_bytes, options.max_moves);
    cuarena_status_t got = cuarena_heap_plan_create(model->heap, &options, &plan->plan);
    if (got == CUARENA_FRAGMENTED && options.goal_bytes != 0) {
        if (model->ref.count <= MODEL_SMALL)
            check_goal(model, &options, got, 0);
        return;
    }
    model_want(model, CUARENA_OK, got);
    plan->state = MODEL_PLAN_MADE;
    plan->changes = model->ref.changes;
    check_plan(model, &options, plan->plan);
}

/* ---- Using -------------------------------------------------------------- */

static void step_begin(model_t *model, model_plan_t *plan)
{
    size_t count = 0;
    const cuarena_heap_move_t *moves = cuarena_heap_plan_moves(plan->plan, &count);
    cuarena_status_t want = CUARENA_OK;
    if (plan->state != MODEL_PLAN_MADE)
        want = CUARENA_BAD_ARGUMENT;
    else if (is_under_way(model) || plan->changes != model->ref.changes)
        want = CUARENA_BUSY;
    model_note(model, "plan_begin: %zu moves", count);
    cuarena_status_t got = cuarena_heap_plan_begin(model->heap, plan->plan);
    if (!model_done(model, want, got))
        return;
    plan->state = MODEL_PLAN_BEGUN;
    ref_do_begin(&model->ref, moves, count);
}

static cuarena_status_t want_begun(const model_plan_t *plan)
{
    return plan->state == MODEL_PLAN_BEGUN ? CUARENA_OK : CUARENA_BAD_ARGUMENT;
}

static void step_commit(model_t *model, model_plan_t *plan)
{
    size_t count = 0;
    const cuarena_heap_move_t *moves = cuarena_heap_plan_moves(plan->plan, &count);
    cuarena_status_t want = want_begun(plan);
    uint32_t freelist = model_any_freelist(model);
    model_note(model, "plan_commit: %zu moves, free list %" PRIu32, count, freelist);
    model_want(model, want, cuarena_heap_plan_commit(model->heap, plan->plan, freelist));
    if (want != CUARENA_OK)
        return;
    plan->state = MODEL_PLAN_DONE;
    ref_do_commit(&model->ref, moves, count, freelist);
}

static void step_abort(model_t *model, model_plan_t *plan)
{
    cuarena_status_t want = want_begun(plan);
    model_note(model, "plan_abort");
    model_want(model, want, cuarena_heap_plan_abort(model->heap, plan->plan));
    if (want != CUARENA_OK)
        return;
    plan->state = MODEL_PLAN_DONE;
    ref_do_abort(&model->ref);
}

static void drop(model_t *model, model_plan_t *plan)
{
    model_note(model, "plan_destroy");
    cuarena_heap_plan_destroy(model->heap, &plan->plan);
    if (plan->plan != NULL)
        model_fail(model, "the handle is not cleared");
    if (plan->state == MODEL_PLAN_BEGUN)
        ref_do_abort(&model->ref);
    plan->state = MODEL_PLAN_NONE;
}

void model_drop_plans(model_t *model)
{
    for (unsigned i = 0; i < MODEL_PLANS; i++)
        drop(model, &model->plans[i]);
}

void model_step_plans(model_t *model)
{
    static void (*const steps[])(model_t *, model_plan_t *) = {
        step_begin, step_begin, step_commit, step_commit, step_abort, drop,
    };
    model_plan_t *plan = &model->plans[choose(model->choice, MODEL_PLANS)];
    if (plan->state == MODEL_PLAN_NONE)
        step_create(model, plan);
    else if (plan->state == MODEL_PLAN_DONE && choose_one_in(model->choice, 2))
        drop(model, plan);
    else
        steps[choose(model->choice, sizeof(steps) / sizeof(steps[0]))](model, plan);
}
