#include "heap_model.h"
#include "heap_model_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Failing ------------------------------------------------------------ */

void model_note(model_t *model, const char *format, ...)
{
    char *note = model->notes[model->steps % MODEL_NOTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(note, sizeof(model->notes[0]), format, arguments);
    va_end(arguments);
}

static void print_notes(const model_t *model)
{
    uint64_t count = model->steps < MODEL_NOTES ? model->steps : MODEL_NOTES - 1;
    for (uint64_t step = model->steps - count; step <= model->steps; step++)
        fprintf(stderr, "  %" PRIu64 ": %s\n", step, model->notes[step % MODEL_NOTES]);
}

void model_fail(const model_t *model, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "the last calls, granule %" PRIu64 ", base %#" PRIx64 ":\n", model->ref.granule,
            model->base);
    print_notes(model);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    fflush(stderr);
    abort();
}

void model_want(const model_t *model, cuarena_status_t want, cuarena_status_t got)
{
    if (want != got)
        model_fail(model, "expected %s, got %s", cuarena_status_name(want),
                   cuarena_status_name(got));
}

bool model_done(const model_t *model, cuarena_status_t want, cuarena_status_t got)
{
    bool refused =
        got == CUARENA_LIMIT || got == CUARENA_OUT_OF_MEMORY || got == CUARENA_FRAGMENTED;
    if (got != want && !(refused && ref_is_crowded(&model->ref)))
        model_want(model, want, got);
    return got == CUARENA_OK;
}

void model_accept(const model_t *model, const char *reason)
{
    if (reason != NULL)
        model_fail(model, "%s", reason);
}

void model_check(model_t *model)
{
    char text[768] = "";
    model_accept(model, ref_compare(&model->ref, model->heap, text, sizeof(text)));
}

/* ---- Choosing ----------------------------------------------------------- */

size_t model_any_block(model_t *model)
{
    if (model->ref.live_blocks == 0)
        return REF_NONE;
    size_t from = (size_t)choose(model->choice, model->ref.count);
    return ref_next_block(&model->ref, from);
}

uint32_t model_any_freelist(model_t *model)
{
    return model->freelists[choose(model->choice, model->freelist_count)];
}

/* Of some entry, or one granule off: where exact fits begin and end. */
static uint64_t size_of_entry(model_t *model)
{
    if (model->ref.count == 0)
        return model->ref.granule;
    size_t i = (size_t)choose(model->choice, model->ref.count);
    uint64_t shift = choose(model->choice, 3);
    return model->ref.entries[i].is.size + model->ref.granule * shift - model->ref.granule;
}

static uint64_t huge_size(model_t *model)
{
    static const uint64_t sizes[] = {
        CUARENA_HEAP_MAX_SEGMENT - 1,
        CUARENA_HEAP_MAX_SEGMENT,
        CUARENA_HEAP_MAX_OFFSET,
        UINT64_C(1) << 63,
        (UINT64_C(1) << 63) + 1,
        UINT64_MAX - 7,
        UINT64_MAX,
    };
    return sizes[choose(model->choice, sizeof(sizes) / sizeof(sizes[0]))];
}

static uint64_t whole_size(model_t *model, uint64_t most)
{
    return (1 + choose(model->choice, most)) * model->ref.granule;
}

uint64_t model_any_size(model_t *model)
{
    switch (choose(model->choice, 12)) {
    case 0:
        return size_of_entry(model);
    case 1:
        return whole_size(model, model->room / 4);
    case 2:
    case 3:
        return whole_size(model, 1 + model->room / 32);
    case 4:
    case 5:
        return whole_size(model, 8) - choose(model->choice, model->ref.granule);
    case 6:
        return choose_one_in(model->choice, 8) ? huge_size(model) : whole_size(model, 1);
    default:
        return whole_size(model, 8);
    }
}

uint64_t model_any_alignment(model_t *model)
{
    switch (choose(model->choice, 8)) {
    case 0:
        return model->ref.granule << choose(model->choice, 6);
    case 1:
        return UINT64_C(1) << choose(model->choice, 64);
    default:
        return 0;
    }
}

/* ---- Opening ------------------------------------------------------------ */

static uint64_t any_threshold(choice_t *choice, uint64_t granule)
{
    switch (choose(choice, 6)) {
    case 0:
        return granule * (1 + choose(choice, 16));
    case 1:
        return UINT64_MAX;
    default:
        return 0;
    }
}

static void any_config(choice_t *choice, cuarena_heap_config_t *config)
{
    static const uint64_t granules[] = {256, 8, 64, 4096, UINT64_C(1) << 20};
    cuarena_heap_config_init(config);
    config->granule = granules[choose(choice, 5)];
    config->placement = (int32_t)choose(choice, 3);
    config->split_threshold = any_threshold(choice, config->granule);
    if (choose_one_in(choice, 4))
        config->max_blocks = 1 + choose(choice, 64);
    else
        config->max_blocks = UINT64_C(1) << 16;
}

/* A heap whose only use are ids that mean nothing elsewhere. */
static void open_other(model_t *model, const cuarena_heap_config_t *config)
{
    cuarena_heap_request_t request = {.size = config->granule};
    uint64_t offset;
    model_want(model, CUARENA_OK, cuarena_heap_create(config, &model->other));
    model_want(model, CUARENA_OK,
               cuarena_heap_segment_add(model->other, model->base, config->granule));
    model_want(model, CUARENA_OK,
               cuarena_heap_alloc(model->other, &request, &model->foreign, &offset));
}

/* Invented addresses; the second one ends where offsets end. */
static uint64_t any_base(choice_t *choice, uint64_t bytes)
{
    return choose_one_in(choice, 3) ? CUARENA_HEAP_MAX_OFFSET - bytes : UINT64_C(0x7f0000000000);
}

void model_open(model_t *model, choice_t *choice)
{
    static const uint64_t rooms[] = {64, 64, 256, 256, 2048, 32768};
    cuarena_heap_config_t config;
    *model = (model_t){.alloc = cuarena_heap_alloc,
                       .free = cuarena_heap_free,
                       .resize = cuarena_heap_resize,
                       .choice = choice,
                       .freelist_count = 1,
                       .pressure = 8};
    any_config(choice, &config);
    model->freelist_most = choose_one_in(choice, 3) ? 1 : MODEL_FREELISTS;
    ref_init(&model->ref, &config);
    model->room = rooms[choose(choice, 6)];
    model->base = any_base(choice, model->room * config.granule);
    model_note(model, "open: placement %d, split_threshold %" PRIu64, config.placement,
               config.split_threshold);
    model_want(model, CUARENA_OK, cuarena_heap_create(&config, &model->heap));
    open_other(model, &config);
}

void model_close(model_t *model)
{
    model_drop_plans(model);
    model_check(model);
    cuarena_heap_destroy(&model->other);
    cuarena_heap_destroy(&model->heap);
    ref_end(&model->ref);
}

/* ---- Stepping ----------------------------------------------------------- */

static void step_any(model_t *model)
{
    uint64_t kind = choose(model->choice, 100);
    if (model->ref.count == 0 || kind < 4)
        model_step_segments(model);
    else if (kind < 8)
        model_step_freelists(model);
    else if (kind < 14)
        model_step_plans(model);
    else if (kind < 20)
        model_step_looks(model);
    else
        model_step_blocks(model);
}

void model_step(model_t *model)
{
    model->steps++;
    if (model->steps % 256 == 0)
        model->pressure = (unsigned)choose(model->choice, 17);
    step_any(model);
    if (model->ref.live_blocks <= MODEL_SMALL || model->steps % MODEL_STRIDE == 0)
        model_check(model);
}
