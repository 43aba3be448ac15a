/* The calls on blocks, segments and free lists, and those that only look. */
#include "heap_model_internal.h"

#include <string.h>

/* ---- Blocks ------------------------------------------------------------- */

static cuarena_heap_request_t any_request(model_t *model)
{
    choice_t *choice = model->choice;
    cuarena_heap_request_t request = {
        .size = model_any_size(model),
        .alignment = model_any_alignment(model),
        .freelist = model_any_freelist(model),
        .tag = (uint16_t)choose(choice, 16),
        .pins = choose_one_in(choice, 8) ? 1 : 0,
        .flags = choose_one_in(choice, 8) ? CUARENA_HEAP_FLAGS : 0,
        .low = choose_one_in(choice, 8) ? 1 : 0,
    };
    return request;
}

/* What the heap says of a block that was just made. */
static cuarena_heap_entry_t born(model_t *model, cuarena_block_t block, uint64_t offset)
{
    cuarena_heap_entry_t entry;
    cuarena_block_t found = 0;
    if (block == 0 || ref_block(&model->ref, block) != REF_NONE)
        model_fail(model, "id %#" PRIx64 " is 0 or taken", block);
    model_want(model, CUARENA_OK, cuarena_heap_block_info(model->heap, block, &entry));
    model_want(model, CUARENA_OK, cuarena_heap_find(model->heap, offset, &found));
    if (found != block || entry.block != block || entry.offset != offset)
        model_fail(model, "a block that is not where it was said to be");
    return entry;
}

static void step_alloc(model_t *model)
{
    cuarena_heap_request_t request = any_request(model);
    cuarena_block_t block = 0;
    uint64_t offset = 0;
    model_note(model, "alloc size %" PRIu64 " alignment %" PRIu64 " free list %" PRIu32,
               request.size, request.alignment, request.freelist);
    cuarena_status_t want = ref_can_alloc(&model->ref, &request);
    cuarena_status_t got = model->alloc(model->heap, &request, &block, &offset);
    if (!model_done(model, want, got))
        return;
    cuarena_heap_entry_t entry = born(model, block, offset);
    model_note(model,
               "alloc size %" PRIu64 " alignment %" PRIu64 " free list %" PRIu32 " -> %#" PRIx64
               " at %#" PRIx64,
               request.size, request.alignment, request.freelist, block, offset);
    model_accept(model, ref_do_alloc(&model->ref, &request, &entry));
}

static void step_free(model_t *model)
{
    size_t i = model_any_block(model);
    if (i == REF_NONE)
        return;
    const cuarena_heap_entry_t *entry = &model->ref.entries[i].is;
    cuarena_block_t block = entry->block;
    uint32_t freelist = model_any_freelist(model);
    cuarena_status_t want = entry->moving ? CUARENA_BUSY : CUARENA_OK;
    model_note(model, "free %#" PRIx64 " at %#" PRIx64 " to free list %" PRIu32, block,
               entry->offset, freelist);
    model_want(model, want, model->free(model->heap, block, freelist));
    if (want != CUARENA_OK)
        return;
    model->stale[choose(model->choice, MODEL_STALE)] = block;
    ref_do_free(&model->ref, i, freelist);
}

/* Near the size of the block more often than not. */
static uint64_t any_new_size(model_t *model, uint64_t size)
{
    uint64_t change = choose(model->choice, 8) * model->ref.granule;
    switch (choose(model->choice, 4)) {
    case 0:
        return size + change;
    case 1:
        return size > change ? size - change : size;
    case 2:
        return size + change - choose(model->choice, model->ref.granule);
    default:
        return model_any_size(model);
    }
}

static uint64_t taken_now(model_t *model, cuarena_block_t block)
{
    cuarena_heap_entry_t entry;
    model_want(model, CUARENA_OK, cuarena_heap_block_info(model->heap, block, &entry));
    return entry.size;
}

static void step_resize(model_t *model)
{
    size_t i = model_any_block(model);
    if (i == REF_NONE)
        return;
    cuarena_block_t block = model->ref.entries[i].is.block;
    uint64_t size = any_new_size(model, model->ref.entries[i].is.size);
    uint32_t freelist = model_any_freelist(model);
    model_note(model, "resize %#" PRIx64 " to %" PRIu64 " bytes, free list %" PRIu32, block, size,
               freelist);
    cuarena_status_t want = ref_can_resize(&model->ref, i, size, freelist);
    cuarena_status_t got = model->resize(model->heap, block, size, freelist);
    if (model_done(model, want, got))
        model_accept(model, ref_do_resize(&model->ref, i, size, taken_now(model, block), freelist));
}

static void step_exchange(model_t *model)
{
    size_t a = model_any_block(model);
    size_t b = model_any_block(model);
    if (a == REF_NONE)
        return;
    const cuarena_heap_entry_t *x = &model->ref.entries[a].is;
    const cuarena_heap_entry_t *y = &model->ref.entries[b].is;
    bool moving = x->moving || y->moving;
    cuarena_status_t want = moving ? CUARENA_BUSY : CUARENA_OK;
    model_note(model, "exchange %#" PRIx64 " and %#" PRIx64, x->block, y->block);
    model_want(model, want, cuarena_heap_exchange(model->heap, x->block, y->block));
    if (want == CUARENA_OK && a != b)
        ref_do_exchange(&model->ref, a, b);
}

static void step_pin(model_t *model)
{
    size_t i = model_any_block(model);
    if (i == REF_NONE)
        return;
    cuarena_heap_entry_t *entry = &model->ref.entries[i].is;
    bool busy = entry->moving || entry->pins == CUARENA_HEAP_MAX_PINS;
    cuarena_status_t want = busy ? CUARENA_BUSY : CUARENA_OK;
    model_note(model, "pin %#" PRIx64, entry->block);
    model_want(model, want, cuarena_heap_pin(model->heap, entry->block));
    if (want == CUARENA_OK) {
        entry->pins++;
        model->ref.changes++;
    }
}

static void step_unpin(model_t *model)
{
    size_t i = model_any_block(model);
    if (i == REF_NONE)
        return;
    cuarena_heap_entry_t *entry = &model->ref.entries[i].is;
    cuarena_status_t want = entry->moving      ? CUARENA_BUSY
                            : entry->pins == 0 ? CUARENA_BAD_ARGUMENT
                                               : CUARENA_OK;
    model_note(model, "unpin %#" PRIx64, entry->block);
    model_want(model, want, cuarena_heap_unpin(model->heap, entry->block));
    if (want == CUARENA_OK) {
        entry->pins--;
        model->ref.changes++;
    }
}

static cuarena_block_t any_dead_id(model_t *model)
{
    switch (choose(model->choice, 4)) {
    case 0:
        return model->foreign;
    case 1:
        return choose(model->choice, UINT64_MAX);
    default:
        return model->stale[choose(model->choice, MODEL_STALE)];
    }
}

static void step_stale(model_t *model)
{
    cuarena_heap_t *heap = model->heap;
    cuarena_heap_entry_t entry;
    cuarena_block_t dead = any_dead_id(model);
    size_t i = model_any_block(model);
    bool usable = i != REF_NONE && !model->ref.entries[i].is.moving;
    cuarena_block_t live = usable ? model->ref.entries[i].is.block : dead;
    if (ref_block(&model->ref, dead) != REF_NONE)
        return;
    model_note(model, "calls with the dead id %#" PRIx64, dead);
    cuarena_status_t want = CUARENA_STALE;
    model_want(model, want, cuarena_heap_free(heap, dead, 0));
    model_want(model, want, cuarena_heap_resize(heap, dead, model->ref.granule, 0));
    model_want(model, want, cuarena_heap_exchange(heap, dead, live));
    model_want(model, want, cuarena_heap_exchange(heap, live, dead));
    model_want(model, want, cuarena_heap_pin(heap, dead));
    model_want(model, want, cuarena_heap_unpin(heap, dead));
    model_want(model, want, cuarena_heap_block_info(heap, dead, &entry));
}

void model_step_blocks(model_t *model)
{
    uint64_t kind = choose(model->choice, 32);
    if (kind < 24) {
        bool grows = choose(model->choice, 16) < model->pressure;
        (grows ? step_alloc : step_free)(model);
    } else if (kind < 27) {
        step_resize(model);
    } else if (kind < 28) {
        step_exchange(model);
    } else if (kind < 29) {
        step_pin(model);
    } else if (kind < 31) {
        step_unpin(model);
    } else {
        step_stale(model);
    }
}

/* ---- Segments ----------------------------------------------------------- */

/* Mostly legal: whole granules within the model's room. */
static uint64_t any_offset(model_t *model)
{
    uint64_t granules = choose(model->choice, model->room);
    uint64_t odd = choose_one_in(model->choice, 32) ? 1 : 0;
    return model->base + granules * model->ref.granule + odd;
}

static uint64_t any_stretch(model_t *model)
{
    if (choose_one_in(model->choice, 32))
        return model_any_size(model);
    return (1 + choose(model->choice, model->room / 2)) * model->ref.granule;
}

static void step_add(model_t *model)
{
    uint64_t offset = any_offset(model);
    uint64_t size = any_stretch(model);
    model_note(model, "segment_add %#" PRIx64 ", %" PRIu64, offset, size);
    cuarena_status_t want = ref_can_add(&model->ref, offset, size);
    cuarena_status_t got = cuarena_heap_segment_add(model->heap, offset, size);
    if (model_done(model, want, got))
        ref_do_add(&model->ref, offset, size);
}

static void step_add_block(model_t *model)
{
    uint64_t offset = any_offset(model);
    uint64_t size = any_stretch(model);
    cuarena_heap_request_t request = any_request(model);
    cuarena_block_t block = 0;
    request.freelist = 0;
    request.alignment = 0;
    request.size = size - choose(model->choice, model->ref.granule);
    model_note(model, "segment_add_block %#" PRIx64 ", %" PRIu64, offset, size);
    cuarena_status_t want = ref_can_add(&model->ref, offset, size);
    if (want == CUARENA_OK && model->ref.live_blocks == model->ref.max_blocks)
        want = CUARENA_LIMIT;
    cuarena_status_t got =
        cuarena_heap_segment_add_block(model->heap, offset, size, &request, &block);
    if (!model_done(model, want, got))
        return;
    cuarena_heap_entry_t entry = born(model, block, offset);
    ref_do_add_block(&model->ref, &entry);
}

/* Where some segment begins, mostly. */
static uint64_t any_segment(model_t *model)
{
    if (model->ref.count == 0 || choose_one_in(model->choice, 8))
        return any_offset(model);
    size_t i = (size_t)choose(model->choice, model->ref.count);
    return model->ref.entries[ref_segment_begin(&model->ref, i)].is.offset;
}

static void step_extend(model_t *model)
{
    uint64_t offset = any_segment(model);
    uint64_t bytes = any_stretch(model);
    model_note(model, "segment_extend %#" PRIx64 ", %" PRIu64, offset, bytes);
    cuarena_status_t want = ref_can_extend(&model->ref, offset, bytes);
    cuarena_status_t got = cuarena_heap_segment_extend(model->heap, offset, bytes);
    if (model_done(model, want, got))
        ref_do_extend(&model->ref, offset, bytes);
}

/* Inside some entry, its ends included. */
static void any_cut(model_t *model, uint64_t *offset, uint64_t *bytes)
{
    size_t i = (size_t)choose(model->choice, model->ref.count);
    const cuarena_heap_entry_t *entry = &model->ref.entries[i].is;
    uint64_t granule = model->ref.granule;
    uint64_t granules = entry->size / granule;
    uint64_t front = choose_one_in(model->choice, 2) ? 0 : choose(model->choice, granules);
    uint64_t length = choose_one_in(model->choice, 2) ? granules - front
                                                      : 1 + choose(model->choice, granules - front);
    *offset = entry->offset + front * granule;
    *bytes = length * granule;
}

static void step_cut(model_t *model)
{
    uint64_t offset = any_offset(model);
    uint64_t bytes = any_stretch(model);
    if (model->ref.count != 0 && !choose_one_in(model->choice, 8))
        any_cut(model, &offset, &bytes);
    model_note(model, "segment_cut %#" PRIx64 ", %" PRIu64, offset, bytes);
    cuarena_status_t want = ref_can_cut(&model->ref, offset, bytes);
    cuarena_status_t got = cuarena_heap_segment_cut(model->heap, offset, bytes);
    if (model_done(model, want, got))
        ref_do_cut(&model->ref, offset, bytes);
}

static void step_join(model_t *model)
{
    uint64_t offset = any_segment(model);
    model_note(model, "segment_join %#" PRIx64, offset);
    cuarena_status_t want = ref_can_join(&model->ref, offset);
    model_want(model, want, cuarena_heap_segment_join(model->heap, offset));
    if (want == CUARENA_OK)
        ref_do_join(&model->ref, offset);
}

void model_step_segments(model_t *model)
{
    static void (*const steps[])(model_t *) = {
        step_add, step_add, step_add_block, step_extend, step_extend,
        step_cut, step_cut, step_join,      step_join,
    };
    steps[choose(model->choice, sizeof(steps) / sizeof(steps[0]))](model);
}

/* ---- Free lists -------------------------------------------------------------- */

static void step_create(model_t *model)
{
    uint32_t *freelist_out = &model->freelists[model->freelist_count];
    if (model->freelist_count == model->freelist_most)
        return;
    cuarena_status_t got = cuarena_heap_freelist_create(model->heap, freelist_out);
    if (!model_done(model, CUARENA_OK, got))
        return;
    model_note(model, "freelist_create -> %" PRIu32, *freelist_out);
    for (unsigned i = 0; i < model->freelist_count; i++) {
        if (model->freelists[i] == *freelist_out)
            model_fail(model, "a free list that is in use");
    }
    model->freelist_count++;
}

static void step_reclaim(model_t *model)
{
    uint32_t freelist = model_any_freelist(model);
    model_note(model, "freelist_reclaim %" PRIu32, freelist);
    cuarena_status_t want = freelist != 0 ? CUARENA_OK : CUARENA_BAD_ARGUMENT;
    model_want(model, want, cuarena_heap_freelist_reclaim(model->heap, freelist));
    if (want == CUARENA_OK)
        ref_do_reclaim(&model->ref, freelist);
}

static void step_destroy(model_t *model)
{
    if (model->freelist_count == 1)
        return;
    uint64_t i = 1 + choose(model->choice, model->freelist_count - 1);
    uint32_t freelist = model->freelists[i];
    model_note(model, "freelist_destroy %" PRIu32, freelist);
    model_want(model, CUARENA_OK, cuarena_heap_freelist_destroy(model->heap, freelist));
    ref_do_reclaim(&model->ref, freelist);
    model->freelists[i] = model->freelists[--model->freelist_count];
}

void model_step_freelists(model_t *model)
{
    static void (*const steps[])(model_t *) = {step_create, step_reclaim, step_destroy,
                                               step_reclaim};
    steps[choose(model->choice, 4)](model);
}

/* ---- Looking ------------------------------------------------------------ */

/* Where a block begins, where something else does, or anywhere. */
static uint64_t any_place(model_t *model)
{
    if (model->ref.count == 0 || choose_one_in(model->choice, 4))
        return any_offset(model);
    size_t i = (size_t)choose(model->choice, model->ref.count);
    uint64_t inside = choose_one_in(model->choice, 4) ? model->ref.granule : 0;
    return model->ref.entries[i].is.offset + inside;
}

static void step_find(model_t *model)
{
    uint64_t offset = any_place(model);
    cuarena_block_t block = 0;
    size_t i = ref_at(&model->ref, offset);
    const cuarena_heap_entry_t *entry = i != REF_NONE ? &model->ref.entries[i].is : NULL;
    bool begins = entry != NULL && entry->kind == CUARENA_ENTRY_BLOCK && entry->offset == offset;
    model_note(model, "find %#" PRIx64, offset);
    model_want(model, begins ? CUARENA_OK : CUARENA_STALE,
               cuarena_heap_find(model->heap, offset, &block));
    if (block != (begins ? entry->block : 0))
        model_fail(model, "found %#" PRIx64, block);
}

static void step_largest(model_t *model)
{
    uint32_t freelist = model_any_freelist(model);
    uint64_t want = ref_largest(&model->ref, freelist);
    uint64_t got = UINT64_MAX;
    model_note(model, "largest of free list %" PRIu32, freelist);
    model_want(model, CUARENA_OK, cuarena_heap_largest(model->heap, freelist, &got));
    if (got != want)
        model_fail(model, "expected %" PRIu64 ", got %" PRIu64, want, got);
}

static void step_reset_peaks(model_t *model)
{
    model_note(model, "reset_peaks");
    cuarena_heap_reset_peaks(model->heap);
    ref_reset_peaks(&model->ref);
}

void model_step_looks(model_t *model)
{
    static void (*const steps[])(model_t *) = {step_find, step_find, step_largest,
                                               step_reset_peaks};
    steps[choose(model->choice, 4)](model);
}
