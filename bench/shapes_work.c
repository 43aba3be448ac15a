#include "shapes_work.h"

#include <sched.h>
#include <stdlib.h>

#define MOST (4 * MIB)  /* of a block that is replaced or handed on */
#define TURNS_AT 4      /* a turn is where live bytes change by this share of their peak */
#define MOST_TOKENS 256 /* of an answer */

/* Bytes of the model that serves, for each token: of a layer's keys and values, of hidden states,
 * of the widest layer between; and of the result. */
#define CACHE_BYTES (4 * KIB)
#define HIDDEN_BYTES (8 * KIB)
#define WIDE_BYTES (28 * KIB)
#define SCORE_BYTES 128
#define RESULT_BYTES (128 * KIB)

static void *take(worker_t *w, uint64_t bytes)
{
    w->calls++;
    return w->allocator->alloc(w->allocator->user, w->number, bytes);
}

static void give(worker_t *w, void *pointer)
{
    w->calls++;
    w->allocator->free(w->allocator->user, w->number, pointer);
}

static bool is_sampled(uint64_t number)
{
    return number % SHAPES_SAMPLED == 0;
}

static void sample(worker_t *w, uint64_t ns)
{
    w->samples[w->sample_count++] = (uint32_t)(ns < UINT32_MAX ? ns : UINT32_MAX);
}

/* Waits without calls of the system at first: the other thread is a moment away. */
static void pause_at(int *spins)
{
    if (++*spins % 1024 == 0)
        (void)sched_yield();
}

/* ---- Replaced and handed on ---------------------------------------------- */

static void replace(worker_t *w)
{
    random_state_t random = {(uint64_t)w->number + 1};
    for (uint64_t i = 0; w->calls < w->most_calls; i++) {
        uint64_t bits = random_next(&random);
        void **pointer = &w->live[bits % SHAPES_LIVE];
        uint64_t begin = is_sampled(i) ? now_ns() : 0;
        give(w, *pointer);
        *pointer = take(w, w->sizes[bits / SHAPES_LIVE % SHAPES_SIZES]);
        if (is_sampled(i))
            sample(w, now_ns() - begin);
    }
}

static void hand(worker_t *w)
{
    pair_t *p = w->pair;
    for (uint64_t i = 0; i < w->most_calls; i++) {
        uint64_t begin = is_sampled(i) ? now_ns() : 0;
        void *pointer = take(w, w->sizes[i % SHAPES_SIZES]);
        if (is_sampled(i))
            sample(w, now_ns() - begin);
        for (int spins = 0; i - atomic_load_explicit(&p->got, memory_order_acquire) >= SHAPES_RING;)
            pause_at(&spins);
        p->items[i % SHAPES_RING] = pointer;
        atomic_store_explicit(&p->put, i + 1, memory_order_release);
    }
}

static void get(worker_t *w)
{
    pair_t *p = w->pair;
    for (uint64_t i = 0; i < w->most_calls; i++) {
        for (int spins = 0; atomic_load_explicit(&p->put, memory_order_acquire) == i;)
            pause_at(&spins);
        void *pointer = p->items[i % SHAPES_RING];
        atomic_store_explicit(&p->got, i + 1, memory_order_release);
        give(w, pointer);
    }
}

/* ---- Blocks that are timed one by one ------------------------------------- */

static void begin_block(worker_t *w, block_t *block, uint64_t bytes)
{
    bool sampled = is_sampled(w->blocks++);
    uint64_t begin = sampled ? now_ns() : 0;
    block->pointer = take(w, bytes);
    block->alloc_ns = sampled ? (uint32_t)(now_ns() - begin) | 1 : 0;
}

static void end_block(worker_t *w, const block_t *block)
{
    uint64_t begin = block->alloc_ns != 0 ? now_ns() : 0;
    give(w, block->pointer);
    if (block->alloc_ns != 0)
        sample(w, now_ns() - begin + block->alloc_ns);
}

/* ---- Serving ------------------------------------------------------------- */

/* One layer on so many new tokens: its keys and values are copied behind the former ones, into a
 * larger block. */
static void pass_layer(worker_t *w, block_t *cache, uint64_t tokens, uint64_t fresh)
{
    block_t larger;
    block_t hidden;
    block_t scores;
    block_t wide;
    begin_block(w, &hidden, fresh * HIDDEN_BYTES);
    begin_block(w, &larger, tokens * CACHE_BYTES);
    if (cache->pointer != NULL)
        end_block(w, cache);
    *cache = larger;
    begin_block(w, &scores, tokens * SCORE_BYTES);
    begin_block(w, &wide, fresh * WIDE_BYTES);
    end_block(w, &scores);
    end_block(w, &hidden);
    end_block(w, &wide);
}

static void pass_model(worker_t *w, uint64_t tokens, uint64_t fresh)
{
    block_t result;
    for (int i = 0; i < SHAPES_LAYERS; i++)
        pass_layer(w, &w->layers[i], tokens, fresh);
    begin_block(w, &result, RESULT_BYTES);
    end_block(w, &result);
}

static void answer(worker_t *w, uint64_t question, uint64_t tokens)
{
    pass_model(w, question, question);
    for (uint64_t i = 1; i <= tokens && w->calls < w->most_calls; i++)
        pass_model(w, question + i, 1);
    for (int i = 0; i < SHAPES_LAYERS; i++) {
        end_block(w, &w->layers[i]);
        w->layers[i].pointer = NULL;
    }
}

static void serve(worker_t *w)
{
    random_state_t random = {(uint64_t)w->number + 1};
    while (w->calls < w->most_calls) {
        uint64_t question = mixed_size(&random, 16, 1024);
        answer(w, question, mixed_size(&random, 16, MOST_TOKENS));
    }
}

/* ---- Training ------------------------------------------------------------ */

/* Nobody serves an empty block as others do, so they are left out. */
static void play(worker_t *w, const trace_event_t *event)
{
    if (event->size == 0)
        return;
    if (event->op == TRACE_ALLOC)
        begin_block(w, &w->pair->slots[event->slot], event->size);
    else
        end_block(w, &w->pair->slots[event->slot]);
}

static void train(worker_t *w)
{
    const shapes_steps_t *steps = w->steps;
    uint64_t passes = w->most_calls / steps->turns[steps->turn_count - 1];
    for (uint64_t turn = (uint64_t)w->number % 2; turn < passes * steps->turn_count; turn += 2) {
        size_t of = turn % steps->turn_count;
        for (int spins = 0; atomic_load_explicit(&w->pair->turn, memory_order_acquire) != turn;)
            pause_at(&spins);
        for (size_t i = of == 0 ? 0 : steps->turns[of - 1]; i < steps->turns[of]; i++)
            play(w, &steps->trace.events[i]);
        atomic_store_explicit(&w->pair->turn, turn + 1, memory_order_release);
    }
}

uint64_t shapes_whole_passes(const shapes_steps_t *steps, uint64_t calls)
{
    uint64_t pass = steps->turns[steps->turn_count - 1];
    return (calls + pass - 1) / pass * pass;
}

/* Where live bytes turn: the end of each stretch in which they rise, then of that in which they
 * fall. */
static void find_turns(shapes_steps_t *steps, uint64_t least)
{
    size_t events = steps->trace.event_count;
    uint64_t live = 0;
    uint64_t extreme = 0;
    size_t at = 0;
    bool rises = true;
    for (size_t i = 0; i < events; i++) {
        const trace_event_t *event = &steps->trace.events[i];
        live = event->op == TRACE_ALLOC ? live + event->size : live - event->size;
        if (rises ? live >= extreme : live <= extreme) {
            extreme = live;
            at = i + 1;
        } else if ((rises ? extreme - live : live - extreme) > least) {
            steps->turns[steps->turn_count++] = at;
            rises = !rises;
            extreme = live;
            at = i + 1;
        }
    }
    if (rises)
        steps->turns[steps->turn_count++] = events;
    steps->turns[steps->turn_count++] = events + steps->trace.closing_count;
}

shapes_steps_t *shapes_steps_open(const char *path)
{
    fault_t fault = {""};
    shapes_steps_t *steps = calloc(1, sizeof *steps);
    expect(steps != NULL, "memory");
    expect(trace_load(path, &steps->trace, &fault), fault.text);
    steps->turns = calloc(steps->trace.event_count + 2, sizeof *steps->turns);
    expect(steps->turns != NULL, "memory");
    find_turns(steps, trace_peak(&steps->trace, 1).bytes / TURNS_AT);
    return steps;
}

void shapes_steps_close(shapes_steps_t *steps)
{
    trace_free(&steps->trace);
    free(steps->turns);
    free(steps);
}

/* ---- A thread ------------------------------------------------------------ */

static void run_shape(worker_t *w)
{
    bool first = w->number % 2 == 0;
    switch (w->shape) {
    case SHAPE_REPLACE:
        replace(w);
        break;
    case SHAPE_HANDOFF:
        (first ? hand : get)(w);
        break;
    case SHAPE_SERVING:
        serve(w);
        break;
    case SHAPE_TRAINING:
        train(w);
        break;
    }
}

void *shapes_work(void *worker)
{
    worker_t *w = worker;
    int live = w->shape == SHAPE_REPLACE ? SHAPES_LIVE : 0;
    random_state_t random = {(uint64_t)w->number + 101};
    for (int i = 0; i < SHAPES_SIZES; i++)
        w->sizes[i] = mixed_size(&random, 256, MOST);
    for (int i = 0; i < live; i++)
        w->live[i] = take(w, w->sizes[i]);
    atomic_fetch_sub(w->ready, 1);
    for (int spins = 0; atomic_load(w->ready) > 0;)
        pause_at(&spins);
    w->calls = 0;
    w->begin_ns = now_ns();
    run_shape(w);
    w->end_ns = now_ns();
    uint64_t calls = w->calls;
    for (int i = 0; i < live; i++)
        give(w, w->live[i]);
    w->calls = calls;
    return NULL;
}
