/*
 * The file of a program whose calls are recorded.
 *
 * A table knows the blocks that live, by address: a free wants the id and the size of its
 * allocation, and a context ends with its blocks. It is one of open addressing, at most half full.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/host.h"
#include "base/lock.h"
#include "cuarena/listener.h"
#include "layer/layer.h"
#include "trace/trace.h"

typedef cuai_layer_recorded_t block_t;

static cuai_trace_t trace;
static cuai_lock_t lock = CUAI_LOCK_INIT; /* guards what follows */
static block_t *table;
static size_t room; /* a power of two, or 0 */
static size_t live;
static uint64_t last_id;

/* ---- Blocks -------------------------------------------------------------- */

static size_t first_place(unsigned long long pointer)
{
    CUAI_ASSERT(cuai_is_power_of_two(room));
    return (size_t)((pointer >> 8) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (room - 1);
}

/* The place where the block of a pointer is, or would be put. */
static size_t place_of(unsigned long long pointer)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT(pointer != 0 && live < room);
    size_t place = first_place(pointer);
    while (table[place].pointer != 0 && table[place].pointer != pointer)
        place = (place + 1) & (room - 1);
    return place;
}

static bool grow(void)
{
    cuai_lock_assert_static_held(&lock);
    block_t *old = table;
    size_t old_room = room;
    block_t *larger = cuai_host_alloc((old_room == 0 ? 1024 : 2 * old_room) * sizeof *larger);
    if (larger == NULL)
        return false;
    room = old_room == 0 ? 1024 : 2 * old_room;
    table = larger;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].pointer != 0)
            table[place_of(old[i].pointer)] = old[i];
    cuai_host_free(old);
    return true;
}

/* False: the host has no memory, and the block is not known. */
static bool put(const block_t *block)
{
    cuai_lock_assert_static_held(&lock);
    if (2 * (live + 1) > room && !grow())
        return false;
    size_t place = place_of(block->pointer);
    live += table[place].pointer == 0;
    table[place] = *block;
    CUAI_ASSERT(2 * live <= room);
    return true;
}

/* Moves up what would not be found behind an empty place. */
static void close_gap(size_t gap)
{
    CUAI_ASSERT(table[gap].pointer == 0);
    for (size_t i = (gap + 1) & (room - 1); table[i].pointer != 0; i = (i + 1) & (room - 1)) {
        size_t distance = (i - first_place(table[i].pointer)) & (room - 1);
        if (distance >= ((i - gap) & (room - 1))) {
            table[gap] = table[i];
            table[i].pointer = 0;
            gap = i;
        }
    }
}

static bool take(unsigned long long pointer, block_t *block)
{
    cuai_lock_assert_static_held(&lock);
    size_t place = room > 0 ? place_of(pointer) : 0;
    if (room == 0 || table[place].pointer == 0)
        return false;
    CUAI_ASSERT(live != 0);
    *block = table[place];
    table[place].pointer = 0;
    live--;
    close_gap(place);
    return true;
}

/* ---- Lines --------------------------------------------------------------- */

static void add(int32_t kind, const block_t *block, cuai_cu_stream_t stream, uint64_t time_ns)
{
    CUAI_ASSERT(block->id != 0 && block->device >= 0);
    static const char *const names[] = {NULL,       "device 1", "device 2", "device 3",
                                        "device 4", "device 5", "device 6", "device 7"};
    cuai_trace_entry_t event = {.seen = {.time_ns = time_ns,
                                         .kind = kind,
                                         .address = (void *)(uintptr_t)block->pointer,
                                         .bytes = block->bytes,
                                         .stream = stream},
                                .id = block->id,
                                .tag =
                                    block->device < 8 ? names[block->device] : "device 8 or above"};
    cuai_trace_add(&trace, &event);
    cuai_trace_catch_up();
}

void cuai_layer_record_alloc(unsigned long long pointer, size_t bytes, cuai_cu_stream_t stream)
{
    if (pointer == 0)
        return;
    CUAI_ASSERT(!cuai_layer_inside);
    cuai_layer_inside = true;
    block_t block = {.pointer = pointer, .bytes = bytes};
    cuai_layer_device_t *device = cuai_layer_current();
    block.device = device != NULL ? cuai_layer_ordinal(device) : 0;
    if (stream == CUARENA_NO_STREAM)
        (void)cuai_layer_calls.cuCtxGetCurrent(&block.context);
    cuai_lock(&lock);
    block.id = ++last_id;
    bool known = put(&block);
    cuai_unlock(&lock);
    if (known)
        add(CUARENA_EVENT_ALLOC, &block, stream, cuai_trace_now());
    cuai_layer_inside = false;
}

cuai_layer_recorded_t cuai_layer_record_freeing(unsigned long long pointer)
{
    CUAI_ASSERT(cuai_layer_mode == CUAI_LAYER_RECORD && !cuai_layer_inside);
    block_t block = {.pointer = 0};
    cuai_lock(&lock);
    bool known = pointer != 0 && take(pointer, &block);
    cuai_unlock(&lock);
    block.freed_ns = known ? cuai_trace_now() : 0;
    return block;
}

void cuai_layer_record_free(const cuai_layer_recorded_t *block, bool freed, cuai_cu_stream_t stream)
{
    if (block->pointer == 0)
        return;
    cuai_layer_inside = true;
    if (freed) {
        add(CUARENA_EVENT_FREE, block, stream, block->freed_ns);
    } else {
        cuai_lock(&lock);
        (void)put(block);
        cuai_unlock(&lock);
    }
    cuai_layer_inside = false;
}

void cuai_layer_record_end_of(cuai_cu_context_t context)
{
    block_t block;
    if (context == NULL)
        return;
    CUAI_ASSERT(cuai_layer_mode == CUAI_LAYER_RECORD && !cuai_layer_inside);
    cuai_layer_inside = true;
    uint64_t now = cuai_trace_now();
    cuai_lock(&lock);
    for (size_t i = 0; i < room; i++) /* what moves up comes from behind, or was looked at */
        while (table[i].pointer != 0 && table[i].context == context &&
               take(table[i].pointer, &block))
            add(CUARENA_EVENT_FREE, &block, CUARENA_NO_STREAM, now);
    cuai_unlock(&lock);
    cuai_layer_inside = false;
}

/* ---- Begin and end ------------------------------------------------------- */

static void before_fork(void)
{
    cuai_lock(&lock);
    cuai_traces_before_fork();
}

static void after_fork_in_parent(void)
{
    cuai_traces_after_fork(false);
    cuai_unlock(&lock);
}

/* In the child nothing is recorded: the file is the parent's. */
static void after_fork_in_child(void)
{
    cuai_traces_after_fork(true);
    cuai_lock_reset(&lock);
}

static void end(void)
{
    if (!cuai_trace_writes(&trace))
        return;
    cuai_lock(&trace.change);
    cuai_trace_set_writes(&trace, false);
    cuarena_status_t status = cuai_trace_close_file(&trace);
    cuai_unlock(&trace.change);
    if (status != CUARENA_OK)
        (void)fprintf(stderr, "cuarena: %s\n", cuarena_last_error());
}

static cuarena_status_t open_file(const char *path)
{
    CUAI_ASSERT(trace.serial == 0);
    cuai_trace_open(&trace, 0);
    cuai_lock(&trace.change);
    cuarena_status_t status = cuai_trace_open_file(&trace, path);
    if (status == CUARENA_OK)
        cuai_trace_set_writes(&trace, true);
    cuai_unlock(&trace.change);
    return status;
}

bool cuai_layer_record_begin(const char *path)
{
    if (open_file(path) != CUARENA_OK) {
        (void)fprintf(stderr, "cuarena: nothing is recorded: %s\n", cuarena_last_error());
        return false;
    }
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    (void)atexit(end);
    return true;
}
