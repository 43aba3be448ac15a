/* See sim_streams.h. */
#define _GNU_SOURCE
#include "sim_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GRANULARITY UINT64_C(4096)
#define RESERVE_MOST (UINT64_C(64) << 20)

typedef enum item_kind {
    ITEM_WRITE,
    ITEM_READ,
    ITEM_SET, /* to the seed */
    ITEM_COPY,
    ITEM_MARK,
    ITEM_WAIT
} item_kind_t;

#define READ_ZERO UINT64_MAX

struct sim_item {
    sim_item_t *next;
    item_kind_t kind;
    cuarena_relocation_t bytes; /* `to` is what is written or read */
    uint64_t seed;
    sim_event_t *event;
    uint64_t version;
    uint32_t *left; /* of an event of all streams: of how many it is still to run; NULL: on one */
};

/* ---- Calls -------------------------------------------------------------- */

/* The lock is held from here to leave(). */
static cuarena_status_t enter(sim_t *sim, sim_op_t op)
{
    if (sim->hook != NULL)
        sim->hook(sim, op);
    pthread_mutex_lock(&sim->lock);
    sim->counts[op]++;
    bool may = op != SIM_GIVE_BACK && op != SIM_SHRINK && op != SIM_END_EVENT;
    return may && sim_fails_now(sim, op) ? sim->fail_with : CUARENA_OK;
}

static cuarena_status_t leave(sim_t *sim, cuarena_status_t status)
{
    pthread_mutex_unlock(&sim->lock);
    return status;
}

/* ---- Contents ---------------------------------------------------------- */

static uint8_t pattern(uint64_t seed, uint64_t i)
{
    return (uint8_t)((seed * 0x9e3779b97f4a7c15u + (i / 64) * 31) >> 17);
}

static void fill_pattern(void *at, uint64_t bytes, uint64_t seed)
{
    for (uint64_t i = 0; i < bytes; i += 64)
        memset((uint8_t *)at + i, pattern(seed, i), 64);
}

static void check_pattern(sim_t *sim, const void *at, uint64_t bytes, uint64_t seed)
{
    for (uint64_t i = 0; i < bytes && seed != 0; i += 64) {
        uint8_t want = seed == READ_ZERO ? 0 : pattern(seed, i);
        uint8_t got = ((const uint8_t *)at)[i];
        if (got == want)
            continue;
        sim_fault(sim, "a read found other contents", (uint64_t)(uintptr_t)at + i,
                  (uint64_t)want << 8 | got);
        return;
    }
}

/* ---- Streams ----------------------------------------------------------- */

static uint32_t number_of(sim_t *sim, cuarena_stream_t handle)
{
    if (handle == NULL)
        handle = CUARENA_STREAM_LEGACY;
    for (uint32_t i = 1; i < sim->stream_count; i++) {
        const sim_stream_t *s = sim->streams[i];
        bool mine = !s->per_thread || pthread_equal(s->thread, pthread_self());
        if (s->alive && s->handle == handle && mine)
            return i;
    }
    return 0;
}

static uint32_t make(sim_t *sim, cuarena_stream_t handle)
{
    if (sim->stream_count == SIM_STREAMS)
        abort();
    sim_stream_t *s = calloc(1, sizeof *s);
    s->handle = handle;
    s->alive = true;
    s->last = &s->first;
    if (handle == CUARENA_STREAM_PER_THREAD) {
        s->per_thread = true;
        s->thread = pthread_self();
    }
    sim->streams[sim->stream_count] = s;
    return sim->stream_count++;
}

/* 0, and a fault, for a handle that must not be used. */
static uint32_t use_handle(sim_t *sim, cuarena_stream_t handle, const char *what)
{
    uint32_t number = number_of(sim, handle);
    if (number == 0 && handle == CUARENA_STREAM_PER_THREAD)
        number = make(sim, handle);
    if (number == 0)
        sim_fault(sim, what, (uint64_t)(uintptr_t)handle, 0);
    return number;
}

void sim_stream_make(sim_t *sim, cuarena_stream_t handle)
{
    pthread_mutex_lock(&sim->lock);
    if (number_of(sim, handle) != 0)
        abort();
    make(sim, handle);
    pthread_mutex_unlock(&sim->lock);
}

void sim_stream_kill(sim_t *sim, cuarena_stream_t handle)
{
    pthread_mutex_lock(&sim->lock);
    sim->streams[number_of(sim, handle)]->alive = false;
    pthread_mutex_unlock(&sim->lock);
}

sim_stream_t *sim_stream_of(sim_t *sim, cuarena_stream_t handle)
{
    pthread_mutex_lock(&sim->lock);
    uint32_t number = use_handle(sim, handle, "a test's use of a dead handle");
    pthread_mutex_unlock(&sim->lock);
    return sim->streams[number];
}

static sim_item_t *queue(sim_t *sim, uint32_t stream, item_kind_t kind)
{
    sim_stream_t *s = sim->streams[stream];
    sim_item_t *item = calloc(1, sizeof *item);
    item->kind = kind;
    *s->last = item;
    s->last = &item->next;
    return item;
}

static void queue_bytes(sim_t *sim, uint32_t stream, item_kind_t kind, cuarena_relocation_t bytes,
                        uint64_t seed)
{
    sim_tick(sim, stream);
    if (kind == ITEM_COPY)
        sim_touch(sim, stream, bytes.from, bytes.bytes, false);
    sim_touch(sim, stream, bytes.to, bytes.bytes, kind != ITEM_READ);
    sim_item_t *item = queue(sim, stream, kind);
    item->bytes = bytes;
    item->seed = seed;
}

/* ---- Running ----------------------------------------------------------- */

static void do_bytes(sim_t *sim, item_kind_t kind, const cuarena_relocation_t *bytes, uint64_t seed)
{
    if (sim_segment_at(sim, (uint64_t)(uintptr_t)bytes->to) == NULL ||
        (bytes->from != NULL && sim_segment_at(sim, (uint64_t)(uintptr_t)bytes->from) == NULL)) {
        sim_fault(sim, "work ran on bytes that were given back", (uint64_t)(uintptr_t)bytes->to,
                  kind);
        return;
    }
    if (kind == ITEM_WRITE)
        fill_pattern(bytes->to, bytes->bytes, seed);
    else if (kind == ITEM_READ)
        check_pattern(sim, bytes->to, bytes->bytes, seed);
    else if (kind == ITEM_SET)
        memset(bytes->to, (int)seed, bytes->bytes);
    else
        memmove(bytes->to, bytes->from, bytes->bytes);
}

static bool is_complete(const sim_event_t *event, uint64_t version)
{
    return event->done >= version;
}

static bool is_ready(const sim_stream_t *s)
{
    const sim_item_t *item = s->first;
    return item != NULL && (item->kind != ITEM_WAIT || is_complete(item->event, item->version));
}

/* Each record of all streams has a count of its own: its event may be recorded anew meanwhile. */
static bool is_last_part(const sim_item_t *item)
{
    if (item->left == NULL)
        return true;
    if (--*item->left != 0)
        return false;
    free(item->left);
    return true;
}

static void run_first(sim_t *sim, sim_stream_t *s)
{
    sim_item_t *item = s->first;
    s->first = item->next;
    if (s->first == NULL)
        s->last = &s->first;
    if (item->kind < ITEM_MARK) {
        do_bytes(sim, item->kind, &item->bytes, item->seed);
    } else if (item->kind == ITEM_MARK && is_last_part(item) && item->version > item->event->done) {
        item->event->done = item->version;
    }
    free(item);
}

static bool run_any(sim_t *sim)
{
    uint32_t from = (uint32_t)random_below(&sim->random, sim->stream_count);
    for (uint32_t i = 0; i < sim->stream_count; i++) {
        sim_stream_t *s = sim->streams[(from + i) % sim->stream_count];
        if (!is_ready(s))
            continue;
        run_first(sim, s);
        return true;
    }
    return false;
}

static uint64_t count_pending(const sim_t *sim)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < sim->stream_count; i++)
        for (const sim_item_t *it = sim->streams[i]->first; it; it = it->next)
            count++;
    return count;
}

uint64_t sim_run(sim_t *sim, uint64_t items)
{
    uint64_t done = 0;
    pthread_mutex_lock(&sim->lock);
    while (done < items && run_any(sim))
        done++;
    pthread_mutex_unlock(&sim->lock);
    return done;
}

uint64_t sim_run_all(sim_t *sim)
{
    uint64_t done = sim_run(sim, UINT64_MAX);
    if (sim_pending(sim) != 0)
        sim_fault(sim, "streams wait for each other for ever", 0, 0);
    return done;
}

void sim_sync_all(sim_t *sim)
{
    sim_run_all(sim);
    pthread_mutex_lock(&sim->lock);
    for (uint32_t i = 1; i < sim->stream_count; i++)
        sim_clock_join(sim_host_clock(sim), &sim->streams[i]->clock);
    pthread_mutex_unlock(&sim->lock);
}

uint64_t sim_run_stream(sim_t *sim, cuarena_stream_t stream)
{
    uint64_t done = 0;
    pthread_mutex_lock(&sim->lock);
    sim_stream_t *s = sim->streams[number_of(sim, stream)];
    for (; is_ready(s); done++)
        run_first(sim, s);
    pthread_mutex_unlock(&sim->lock);
    return done;
}

uint64_t sim_pending(sim_t *sim)
{
    pthread_mutex_lock(&sim->lock);
    uint64_t count = count_pending(sim);
    pthread_mutex_unlock(&sim->lock);
    return count;
}

uint64_t sim_events(sim_t *sim)
{
    uint64_t count = 0;
    pthread_mutex_lock(&sim->lock);
    for (const sim_event_t *m = sim->events; m != NULL; m = m->next)
        count += m->alive;
    pthread_mutex_unlock(&sim->lock);
    return count;
}

/* ---- Work of the test -------------------------------------------------- */

static void launch(sim_t *sim, cuarena_stream_t stream, item_kind_t kind, const void *at,
                   uint64_t bytes, uint64_t seed)
{
    pthread_mutex_lock(&sim->lock);
    uint32_t number = use_handle(sim, stream, "a kernel on a dead handle");
    cuarena_relocation_t r = {0, NULL, (void *)(uintptr_t)at, bytes};
    if (number != 0)
        queue_bytes(sim, number, kind, r, seed);
    pthread_mutex_unlock(&sim->lock);
}

void sim_write(sim_t *sim, cuarena_stream_t stream, void *at, uint64_t bytes, uint64_t seed)
{
    launch(sim, stream, ITEM_WRITE, at, bytes, seed);
}

void sim_read(sim_t *sim, cuarena_stream_t stream, const void *at, uint64_t bytes, uint64_t seed)
{
    launch(sim, stream, ITEM_READ, at, bytes, seed);
}

void sim_read_zero(sim_t *sim, cuarena_stream_t stream, const void *at, uint64_t bytes)
{
    launch(sim, stream, ITEM_READ, at, bytes, READ_ZERO);
}

void sim_zero(sim_t *sim, cuarena_stream_t stream, void *at, uint64_t bytes)
{
    launch(sim, stream, ITEM_SET, at, bytes, 0);
}

static void act_now(sim_t *sim, item_kind_t kind, cuarena_relocation_t bytes, uint64_t seed)
{
    sim_tick(sim, SIM_HOST);
    if (kind == ITEM_COPY)
        sim_touch(sim, SIM_HOST, bytes.from, bytes.bytes, false);
    sim_touch(sim, SIM_HOST, bytes.to, bytes.bytes, kind != ITEM_READ);
    do_bytes(sim, kind, &bytes, seed);
}

void sim_host_write(sim_t *sim, void *at, uint64_t bytes, uint64_t seed)
{
    pthread_mutex_lock(&sim->lock);
    act_now(sim, ITEM_WRITE, (cuarena_relocation_t){0, NULL, at, bytes}, seed);
    pthread_mutex_unlock(&sim->lock);
}

void sim_host_read(sim_t *sim, const void *at, uint64_t bytes, uint64_t seed)
{
    pthread_mutex_lock(&sim->lock);
    act_now(sim, ITEM_READ, (cuarena_relocation_t){0, NULL, (void *)(uintptr_t)at, bytes}, seed);
    pthread_mutex_unlock(&sim->lock);
}

void sim_host_read_zero(sim_t *sim, const void *at, uint64_t bytes)
{
    pthread_mutex_lock(&sim->lock);
    act_now(sim, ITEM_READ, (cuarena_relocation_t){0, NULL, (void *)(uintptr_t)at, bytes},
            READ_ZERO);
    pthread_mutex_unlock(&sim->lock);
}

static sim_event_t *make_event(sim_t *sim)
{
    sim_event_t *event = calloc(1, sizeof *event);
    event->next = sim->events;
    event->alive = true;
    sim->events = event;
    return event;
}

static void record(sim_t *sim, sim_event_t *event, uint32_t stream)
{
    sim_tick(sim, stream);
    event->clock = sim->streams[stream]->clock;
    sim_item_t *item = queue(sim, stream, ITEM_MARK);
    item->event = event;
    item->version = ++event->version;
}

static void record_all(sim_t *sim, sim_event_t *event)
{
    uint32_t *left = calloc(1, sizeof *left);
    event->clock = *sim_host_clock(sim);
    event->version++;
    for (uint32_t i = 1; i < sim->stream_count; i++) {
        sim_stream_t *s = sim->streams[i];
        sim_clock_join(&event->clock, &s->clock);
        if (s->first == NULL)
            continue;
        sim_item_t *item = queue(sim, i, ITEM_MARK);
        item->event = event;
        item->version = event->version;
        item->left = left;
        ++*left;
    }
    if (*left != 0)
        return;
    event->done = event->version;
    free(left);
}

static void wait_on(sim_t *sim, sim_event_t *event, uint32_t stream)
{
    sim_tick(sim, stream);
    sim_clock_join(&sim->streams[stream]->clock, &event->clock);
    sim_item_t *item = queue(sim, stream, ITEM_WAIT);
    item->event = event;
    item->version = event->version;
}

/* Runs what it takes. */
static void wait_here(sim_t *sim, sim_event_t *event)
{
    uint64_t version = event->version;
    while (!is_complete(event, version))
        if (!run_any(sim)) {
            sim_fault(sim, "the host waits for ever", 0, 0);
            return;
        }
    sim_clock_join(sim_host_clock(sim), &event->clock);
}

void sim_order(sim_t *sim, cuarena_stream_t waiter, cuarena_stream_t of)
{
    pthread_mutex_lock(&sim->lock);
    uint32_t a = use_handle(sim, waiter, "a test's wait on a dead handle");
    uint32_t b = use_handle(sim, of, "a test's wait for a dead handle");
    sim_event_t *event = make_event(sim);
    event->alive = false; /* the test's own is no leak */
    record(sim, event, b);
    wait_on(sim, event, a);
    pthread_mutex_unlock(&sim->lock);
}

void sim_sync(sim_t *sim, cuarena_stream_t of)
{
    pthread_mutex_lock(&sim->lock);
    uint32_t number = use_handle(sim, of, "a test's wait for a dead handle");
    sim_event_t *event = make_event(sim);
    event->alive = false;
    record(sim, event, number);
    wait_here(sim, event);
    pthread_mutex_unlock(&sim->lock);
}

/* ---- The table: bytes -------------------------------------------------- */

static sim_segment_t *free_segment(sim_t *sim)
{
    for (uint32_t i = 0; i < SIM_SEGMENTS; i++)
        if (sim->segments[i].address == 0)
            return &sim->segments[i];
    return NULL;
}

static bool take(sim_t *sim, uint64_t bytes)
{
    if (sim->most_bytes != 0 && bytes > sim->most_bytes - sim->given)
        return false;
    sim->given += bytes;
    return true;
}

static cuarena_status_t do_get(sim_t *sim, uint64_t bytes, uint64_t reserve,
                               cuarena_memory_segment_t *out)
{
    sim_segment_t *s = free_segment(sim);
    if (reserve > RESERVE_MOST)
        reserve = bytes > RESERVE_MOST ? bytes : RESERVE_MOST;
    if (s == NULL || !take(sim, bytes))
        return CUARENA_OUT_OF_MEMORY;
    void *at = mmap(NULL, reserve, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return CUARENA_OUT_OF_MEMORY;
    s->address = (uint64_t)(uintptr_t)at;
    s->bytes = bytes;
    s->reserved = reserve;
    s->touches = calloc(reserve / SIM_GRANULE, sizeof *s->touches);
    *out = (cuarena_memory_segment_t){s->address, bytes, reserve, s};
    return CUARENA_OK;
}

static cuarena_status_t get(void *user, uint64_t bytes, uint64_t reserve,
                            cuarena_memory_segment_t *out)
{
    cuarena_status_t status = enter(user, SIM_GET);
    if (status == CUARENA_OK)
        status = do_get(user, bytes, reserve, out);
    return leave(user, status);
}

/* Nothing that was queued may touch what goes, as far as the host knows. */
static void check_idle(sim_t *sim, sim_segment_t *s, uint64_t from)
{
    sim_tick(sim, SIM_HOST);
    sim_touch(sim, SIM_HOST, (void *)(uintptr_t)(s->address + from), s->bytes - from, true);
    memset(s->touches + from / SIM_GRANULE, 0,
           (s->bytes - from) / SIM_GRANULE * sizeof *s->touches);
}

static void give_back(void *user, cuarena_memory_segment_t *segment)
{
    sim_t *sim = user;
    enter(sim, SIM_GIVE_BACK);
    sim_segment_t *s = segment->cookie;
    check_idle(sim, s, 0);
    sim->given -= s->bytes;
    munmap((void *)(uintptr_t)s->address, s->reserved);
    free(s->touches);
    *s = (sim_segment_t){0};
    leave(sim, CUARENA_OK);
}

static cuarena_status_t grow(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    sim_t *sim = user;
    cuarena_status_t status = enter(sim, SIM_GROW);
    sim_segment_t *s = segment->cookie;
    if (status == CUARENA_OK && !take(sim, new_bytes - s->bytes))
        status = CUARENA_OUT_OF_MEMORY;
    if (status == CUARENA_OK) {
        s->bytes = new_bytes;
        segment->bytes = new_bytes;
    }
    return leave(sim, status);
}

static void shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    sim_t *sim = user;
    enter(sim, SIM_SHRINK);
    sim_segment_t *s = segment->cookie;
    check_idle(sim, s, new_bytes);
    sim->given -= s->bytes - new_bytes;
    s->bytes = new_bytes;
    segment->bytes = new_bytes;
    leave(sim, CUARENA_OK);
}

/* ---- The table: work --------------------------------------------------- */

static void work(sim_t *sim, cuarena_stream_t stream, item_kind_t kind, cuarena_relocation_t bytes,
                 uint64_t seed)
{
    if (stream == CUARENA_NO_STREAM) {
        act_now(sim, kind, bytes, seed);
        return;
    }
    uint32_t number = use_handle(sim, stream, "work on a dead handle");
    if (number != 0)
        queue_bytes(sim, number, kind, bytes, seed);
}

/* What comes to a stream that is captured is refused, and counted. */
static cuarena_status_t check_captured(sim_t *sim, cuarena_stream_t stream)
{
    uint32_t number = stream == CUARENA_NO_STREAM ? 0 : number_of(sim, stream);
    if (number == 0 || !sim->streams[number]->capturing)
        return CUARENA_OK;
    sim->captured_calls++;
    return CUARENA_BUSY;
}

static cuarena_status_t relocate(void *user, const cuarena_relocation_t *list, size_t count,
                                 cuarena_stream_t stream, size_t *done_out)
{
    sim_t *sim = user;
    cuarena_status_t status = enter(sim, SIM_RELOCATE);
    if (status == CUARENA_OK)
        status = check_captured(sim, stream);
    size_t done = status == CUARENA_OK ? count : sim->fail_done;
    for (size_t i = 0; i < done && i < count; i++)
        work(sim, stream, ITEM_COPY, list[i], 0);
    *done_out = done;
    return leave(sim, status);
}

static cuarena_status_t zero_bytes(void *user, void *address, uint64_t bytes,
                                   cuarena_stream_t stream)
{
    sim_t *sim = user;
    cuarena_status_t status = enter(sim, SIM_ZERO);
    cuarena_relocation_t r = {0, NULL, address, bytes};
    if (status == CUARENA_OK)
        status = check_captured(sim, stream);
    if (status == CUARENA_OK)
        work(sim, stream, ITEM_SET, r, 0);
    return leave(sim, status);
}

static cuarena_status_t set_bytes(void *user, void *address, int32_t value, uint64_t bytes,
                                  cuarena_stream_t stream)
{
    sim_t *sim = user;
    cuarena_status_t status = enter(sim, SIM_SET);
    cuarena_relocation_t r = {0, NULL, address, bytes};
    if (status == CUARENA_OK)
        status = check_captured(sim, stream);
    if (status == CUARENA_OK)
        work(sim, stream, ITEM_SET, r, (uint64_t)value);
    return leave(sim, status);
}

/* The host reads at once: whoever calls it has waited for what writes to the bytes. */
static cuarena_status_t read_bytes(void *user, void *to, const void *address, uint64_t bytes)
{
    sim_t *sim = user;
    cuarena_status_t status = enter(sim, SIM_READ);
    sim_tick(sim, SIM_HOST);
    sim_touch(sim, SIM_HOST, address, bytes, false);
    if (status == CUARENA_OK)
        memcpy(to, address, bytes);
    return leave(sim, status);
}

/* The graph has it, if the stream is being captured. */
static cuarena_status_t zero_captured(void *user, void *address, uint64_t bytes,
                                      cuarena_stream_t stream)
{
    sim_t *sim = user;
    cuarena_status_t status = enter(sim, SIM_ZERO_CAPTURED);
    cuarena_relocation_t r = {0, NULL, address, bytes};
    uint32_t number = number_of(sim, stream);
    if (stream == CUARENA_NO_STREAM || number == 0)
        sim_fault(sim, "zero_captured: no stream", number, bytes);
    else if (status == CUARENA_OK && sim->streams[number]->capturing)
        sim->graph_zero = r;
    else if (status == CUARENA_OK)
        work(sim, stream, ITEM_SET, r, 0);
    return leave(sim, status);
}

/* ---- The table: streams ------------------------------------------------ */

static cuarena_status_t identify(void *user, cuarena_stream_t stream, cuarena_stream_info_t *info)
{
    sim_t *sim = user;
    cuarena_status_t status = enter(sim, SIM_IDENTIFY);
    uint32_t number = status == CUARENA_OK ? use_handle(sim, stream, "identify: dead") : 0;
    if (number == 0)
        return leave(sim, status);
    const sim_stream_t *s = sim->streams[number];
    *info = (cuarena_stream_info_t){
        .id = number, .device = 0, .per_thread = s->per_thread, .capturing = s->capturing};
    return leave(sim, s->foreign ? CUARENA_BAD_ARGUMENT : CUARENA_OK);
}

static sim_event_t *use_event(sim_t *sim, void *handle)
{
    sim_event_t *event = handle;
    if (event == NULL || !event->alive) {
        sim_fault(sim, "an event that was ended", (uint64_t)(uintptr_t)event, 0);
        return NULL;
    }
    return event;
}

static cuarena_status_t record_event(void *user, cuarena_stream_t stream, void **out)
{
    sim_t *sim = user;
    bool all = stream == CUARENA_NO_STREAM;
    cuarena_status_t status = enter(sim, all ? SIM_RECORD_ALL : SIM_RECORD);
    uint32_t number = 0;
    if (status == CUARENA_OK && !all)
        number = use_handle(sim, stream, "record_event: a dead handle");
    if (number != 0)
        status = check_captured(sim, stream);
    if (status == CUARENA_OK && all)
        for (uint32_t i = 1; i < sim->stream_count; i++)
            check_captured(sim, sim->streams[i]->handle);
    if (status != CUARENA_OK || (!all && number == 0))
        return leave(sim, status == CUARENA_OK ? CUARENA_DRIVER : status);
    sim_event_t *event = *out == NULL ? make_event(sim) : use_event(sim, *out);
    if (event != NULL && all)
        record_all(sim, event);
    else if (event != NULL)
        record(sim, event, number);
    *out = event;
    return leave(sim, CUARENA_OK);
}

static cuarena_status_t query_event(void *user, void *handle)
{
    sim_t *sim = user;
    cuarena_status_t status = enter(sim, SIM_QUERY);
    sim_event_t *event = use_event(sim, handle);
    if (status != CUARENA_OK || event == NULL)
        return leave(sim, status);
    bool complete = is_complete(event, event->version);
    if (complete)
        sim_clock_join(sim_host_clock(sim), &event->clock);
    return leave(sim, complete || sim->lie ? CUARENA_OK : CUARENA_BUSY);
}

static bool drops(uint64_t *in)
{
    return *in != 0 && --*in == 0;
}

static cuarena_status_t wait_event(void *user, void *handle, cuarena_stream_t stream, int32_t host)
{
    sim_t *sim = user;
    cuarena_status_t status = enter(sim, host ? SIM_WAIT_HOST : SIM_WAIT);
    sim_event_t *event = use_event(sim, handle);
    if ((stream == CUARENA_NO_STREAM) != (host == 1))
        sim_fault(sim, "wait: host and stream contradict", (uint64_t)host, 0);
    if (status == CUARENA_OK)
        status = check_captured(sim, stream);
    if (status != CUARENA_OK || event == NULL)
        return leave(sim, status);
    bool drop = drops(&sim->drop_wait);
    drop = (!host && drops(&sim->drop_order)) || drop;
    uint32_t number = host ? SIM_HOST : use_handle(sim, stream, "wait: a dead handle");
    if (drop)
        sim->needless = sim_knows(sim, number, &event->clock);
    else if (host)
        wait_here(sim, event);
    else if (number != 0)
        wait_on(sim, event, number);
    return leave(sim, CUARENA_OK);
}

static void end_event(void *user, void *handle)
{
    sim_t *sim = user;
    enter(sim, SIM_END_EVENT);
    sim_event_t *event = use_event(sim, handle);
    if (event != NULL)
        event->alive = false;
    leave(sim, CUARENA_OK);
}

/* ---- Life -------------------------------------------------------------- */

static void fill_table(cuarena_memory_ops_t *ops, bool host_readable)
{
    cuarena_memory_ops_init(ops);
    ops->name = "sim";
    ops->properties = CUARENA_MEMORY_TOUCHES | CUARENA_MEMORY_COMES_ZEROED |
                      (host_readable ? CUARENA_MEMORY_HOST_READABLE : 0);
    ops->granularity = GRANULARITY;
    ops->alignment = GRANULARITY;
    ops->get = get;
    ops->give_back = give_back;
    ops->grow = grow;
    ops->shrink = shrink;
    ops->relocate = relocate;
    ops->zero_bytes = zero_bytes;
    ops->zero_captured = zero_captured;
    ops->set_bytes = set_bytes;
    ops->read_bytes = read_bytes;
    ops->identify = identify;
    ops->record_event = record_event;
    ops->query_event = query_event;
    ops->wait_event = wait_event;
    ops->end_event = end_event;
}

void sim_open(sim_t *sim, uint64_t seed, bool host_readable)
{
    memset(sim, 0, sizeof *sim);
    pthread_mutex_init(&sim->lock, NULL);
    sim->random.state = seed;
    fill_table(&sim->ops, host_readable);
    make(sim, CUARENA_NO_STREAM);          /* the host */
    sim->streams[SIM_HOST]->alive = false; /* nobody names it */
    make(sim, CUARENA_STREAM_LEGACY);
}

static void free_events(sim_t *sim)
{
    for (sim_event_t *m = sim->events, *next; m != NULL; m = next) {
        next = m->next;
        if (m->alive)
            sim_fault(sim, "an event was never ended", (uint64_t)(uintptr_t)m, 0);
        free(m);
    }
}

void sim_close(sim_t *sim)
{
    for (uint32_t i = 0; i < sim->stream_count; i++) {
        while (sim->streams[i]->first != NULL) {
            sim_item_t *item = sim->streams[i]->first;
            sim->streams[i]->first = item->next;
            (void)is_last_part(item);
            free(item);
        }
        free(sim->streams[i]);
    }
    for (uint32_t i = 0; i < SIM_SEGMENTS; i++)
        if (sim->segments[i].address != 0)
            sim_fault(sim, "a segment was never given back", sim->segments[i].address, 0);
    free_events(sim);
    pthread_mutex_destroy(&sim->lock);
}
