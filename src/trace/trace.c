#define _GNU_SOURCE
#include "trace/trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "trace/writer.h"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

static cuai_lock_t lock = CUAI_LOCK_INIT; /* of all traces, and of the lists of their writers */
static bool locked;                       /* by the fork under way */
static cuai_trace_t *traces;
static cuai_writer_t *spare; /* writers of no trace */
static uint64_t serials;

/* ---- Threads ----------------------------------------------------------- */

/* Traces whose writer a thread finds without a search. */
#define PLACES 8u

typedef struct place {
    uint64_t serial; /* of the trace */
    cuai_writer_t *writer;
} place_t;

/* What a thread has. While it is inside a signal handler of it adds nothing. */
typedef struct thread {
    place_t places[PLACES];
    uint64_t number;
    volatile bool inside;
    bool heeded; /* its writers are given up when it ends */
} thread_t;

#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local thread_t thread;

_Thread_local volatile bool cuai_trace_due;

uint64_t cuai_trace_thread(void)
{
    if (CUAI_LIKELY(thread.number != 0))
        return thread.number;
#if defined(__linux__)
    thread.number = (uint64_t)syscall(SYS_gettid);
#else
    static _Atomic uint64_t numbers;
    thread.number = atomic_fetch_add(&numbers, 1) + 1;
#endif
    return thread.number;
}

static void set_inside(bool inside)
{
    atomic_signal_fence(memory_order_seq_cst);
    thread.inside = inside;
    atomic_signal_fence(memory_order_seq_cst);
}

static void tell_failure(const char *path, int error)
{
    cuai_log(CUARENA_LOG_WARN, "trace '%s' ends early, with whole lines up to there: errno %d",
             path, error);
}

/* Writes a place's lines, if they are due or `all`. No lock. */
static void write_place(const place_t *place, bool all)
{
    cuai_writer_t *w = place->writer;
    char path[CUAI_PATTERN_PATH];
    int error = 0;
    if (w == NULL || !cuai_lock_enter(&w->lock))
        return;
    if (w->serial == place->serial && (all || cuai_writer_is_due(w, cuai_trace_now())) &&
        !cuai_writer_write(w)) {
        error = atomic_load(&w->trace->file.failed);
        (void)cuai_text_plain(path, sizeof path, w->trace->file.path);
    }
    cuai_unlock(&w->lock);
    if (error != 0)
        tell_failure(path, error);
}

void cuai_trace_write_due(void)
{
    if (thread.inside)
        return;
    set_inside(true);
    cuai_trace_due = false;
    for (uint32_t i = 0; i < PLACES; i++)
        write_place(&thread.places[i], false);
    set_inside(false);
}

/* Leaves the writer of a place to other threads, with the lines that it has. */
static void give_up(place_t *place)
{
    cuai_writer_t *w = place->writer;
    if (w == NULL)
        return;
    cuai_lock(&lock);
    if (w->serial == place->serial)
        w->owned = false;
    cuai_unlock(&lock);
    *place = (place_t){0, NULL};
}

/* ---- The end of a thread ----------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* its value is not NULL in threads that have writers */
static bool has_key;

static void end_thread(void *unused)
{
    (void)unused;
    set_inside(true);
    for (uint32_t i = 0; i < PLACES; i++) {
        write_place(&thread.places[i], true);
        give_up(&thread.places[i]);
    }
    thread.heeded = false;
    set_inside(false);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, end_thread) == 0;
}

static void heed_end(void)
{
    (void)pthread_once(&once, make_key);
    thread.heeded = has_key && pthread_setspecific(key, &thread) == 0;
}

/* The process ends, or the library is unloaded: all lines are written, under the lock of all
 * traces, for nobody is to begin anything more. Writers stay, since other threads may still run. */
__attribute__((destructor)) static void end_process(void)
{
    if (has_key)
        (void)pthread_key_delete(key);
    if (!cuai_lock_enter(&lock))
        return;
    for (const cuai_trace_t *trace = traces; trace != NULL; trace = trace->next)
        for (cuai_writer_t *w = trace->writers; w != NULL; w = w->next)
            if (cuai_lock_enter(&w->lock)) {
                (void)cuai_writer_write(w);
                cuai_unlock(&w->lock);
            }
    cuai_unlock(&lock);
}

/* ---- Writers ----------------------------------------------------------- */

/* Makes a writer of no trace the trace's; false: there is no memory for its ring. */
static bool join(cuai_trace_t *trace, cuai_writer_t *w)
{
    CUAI_ASSERT(w->serial == 0 && w->ring == NULL && w->text == NULL);
    cuarena_traced_t *ring = NULL;
    if (trace->ring_room != 0) {
        ring = cuai_host_alloc_unzeroed(trace->ring_room * sizeof *ring);
        if (ring == NULL)
            return false;
        cuai_writer_count(trace, trace->ring_room * sizeof *ring, 0);
    }
    cuai_lock(&w->lock);
    w->ring = ring;
    w->trace = trace;
    w->serial = trace->serial;
    cuai_unlock(&w->lock);
    w->next = trace->writers;
    trace->writers = w;
    return true;
}

static cuai_writer_t *new_writer(void)
{
    cuai_writer_t *w = spare;
    if (w != NULL) {
        spare = w->next;
        return w;
    }
    w = cuai_host_alloc(sizeof *w);
    if (w != NULL)
        cuai_lock_init(&w->lock);
    return w;
}

/* A writer of the trace that no thread has, or a new one; NULL: the host has no memory. */
static cuai_writer_t *get_writer(cuai_trace_t *trace)
{
    cuai_lock(&lock);
    cuai_writer_t *w = trace->writers;
    while (w != NULL && w->owned)
        w = w->next;
    if (w == NULL) {
        w = new_writer();
        if (w != NULL && !join(trace, w)) {
            w->next = spare;
            spare = w;
            w = NULL;
        }
    }
    if (w != NULL)
        w->owned = true;
    cuai_unlock(&lock);
    return w;
}

/* This thread's writer; NULL: the host has no memory. */
static cuai_writer_t *own_writer(cuai_trace_t *trace)
{
    CUAI_ASSERT(thread.inside);
    place_t *place = &thread.places[trace->serial % PLACES];
    if (CUAI_LIKELY(place->serial == trace->serial))
        return place->writer;
    if (!thread.heeded)
        heed_end();
    give_up(place);
    cuai_writer_t *w = get_writer(trace);
    if (w != NULL)
        *place = (place_t){trace->serial, w};
    return w;
}

static bool add(cuai_trace_t *trace, const cuai_trace_entry_t *event)
{
    cuai_writer_t *w = own_writer(trace);
    if (w == NULL || !cuai_lock_enter(&w->lock))
        return false;
    bool done = cuai_writer_add(w, event);
    if (cuai_writer_is_due(w, event->seen.time_ns))
        cuai_trace_due = true;
    cuai_unlock(&w->lock);
    return done;
}

void cuai_trace_add(cuai_trace_t *trace, cuai_trace_entry_t *event)
{
    bool done = false;
    CUAI_ASSERT(trace->serial != 0);
    if (event->seen.thread == 0)
        event->seen.thread = cuai_trace_thread();
    if (!thread.inside) {
        set_inside(true);
        done = add(trace, event);
        set_inside(false);
    }
    if (!done)
        (void)atomic_fetch_add_explicit(&trace->lost, 1, memory_order_relaxed);
}

/* ---- Traces ------------------------------------------------------------ */

void cuai_trace_open(cuai_trace_t *trace, uint32_t ring_room)
{
    CUAI_ASSERT(trace->serial == 0);
    trace->ring_room = ring_room;
    cuai_lock_init(&trace->change);
    cuai_trace_file_init(&trace->file);
    cuai_lock(&lock);
    trace->serial = ++serials;
    trace->next = traces;
    trace->link = &traces;
    if (traces != NULL)
        traces->link = &trace->next;
    traces = trace;
    cuai_unlock(&lock);
}

/* The writers are of no trace from now on. */
static void take_out(cuai_trace_t *trace)
{
    CUAI_ASSERT(*trace->link == trace);
    *trace->link = trace->next;
    if (trace->next != NULL)
        trace->next->link = trace->link;
    for (cuai_writer_t *w = trace->writers; w != NULL;) {
        cuai_writer_t *next = w->next;
        cuai_lock(&w->lock);
        cuai_writer_clear(w);
        cuai_unlock(&w->lock);
        w->owned = false;
        w->next = spare;
        spare = w;
        w = next;
    }
    trace->writers = NULL;
}

void cuai_trace_close(cuai_trace_t *trace)
{
    if (trace->serial == 0)
        return;
    cuai_trace_set_writes(trace, false);
    if (cuai_trace_close_file(trace) != CUARENA_OK)
        tell_failure(trace->file.path, atomic_load(&trace->file.failed));
    cuai_lock(&lock);
    take_out(trace);
    cuai_unlock(&lock);
    cuai_lock_cleanup(&trace->file.lock);
    cuai_lock_cleanup(&trace->change);
    trace->serial = 0;
}

cuarena_status_t cuai_trace_open_file(cuai_trace_t *trace, const char *path)
{
    cuai_lock_assert_held(&trace->change);
    if (trace->file.descriptor >= 0)
        return cuai_fail(CUARENA_BUSY,
                         "trace: '%s' is being written; accepted: after cuarena_trace_end",
                         trace->file.path);
    return cuai_trace_file_open(&trace->file, path);
}

/* The list of writers gets longer at its front only. Whoever joins later sees that the file has
 * ended. */
static cuai_writer_t *first_writer(const cuai_trace_t *trace)
{
    cuai_lock(&lock);
    cuai_writer_t *w = trace->writers;
    cuai_unlock(&lock);
    return w;
}

/* Writes the lines of all writers, and frees their buffers. Lines that the host has no memory to
 * pack are lost. */
static void write_all(cuai_trace_t *trace)
{
    for (cuai_writer_t *w = first_writer(trace); w != NULL; w = w->next) {
        if (!cuai_lock_enter(&w->lock))
            continue;
        (void)cuai_writer_write(w);
        (void)atomic_fetch_add(&trace->lost, cuai_writer_drop_text(w));
        cuai_unlock(&w->lock);
    }
}

static void write_end(cuai_trace_t *trace, uint64_t lost)
{
    char text[CUAI_TRACE_LINE];
    const cuai_trace_entry_t event = {.seen = {.time_ns = cuai_trace_now(),
                                               .kind = CUAI_EVENT_END,
                                               .bytes = lost,
                                               .stream = CUARENA_NO_STREAM,
                                               .thread = cuai_trace_thread()}};
    (void)cuai_trace_file_line(&trace->file, text, cuai_trace_line(&event, text));
}

cuarena_status_t cuai_trace_close_file(cuai_trace_t *trace)
{
    CUAI_ASSERT(!cuai_trace_writes(trace));
    if (trace->file.descriptor < 0)
        return CUARENA_OK;
    write_all(trace);
    uint64_t lost = atomic_exchange(&trace->lost, 0);
    write_end(trace, lost);
    cuarena_status_t status = cuai_trace_file_close(&trace->file);
    if (lost != 0)
        cuai_log(CUARENA_LOG_WARN, "trace '%s' lacks %llu events", trace->file.path,
                 (unsigned long long)lost);
    return status;
}

/* ---- The ring ---------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    uint64_t one = ((const cuarena_traced_t *)a)->time_ns;
    uint64_t other = ((const cuarena_traced_t *)b)->time_ns;
    return (one > other) - (one < other);
}

/* Copies the events of all writers; with NULL, counts what there is room for. */
static size_t copy_all(const cuai_trace_t *trace, cuarena_traced_t *events, size_t room)
{
    size_t count = 0;
    for (cuai_writer_t *w = first_writer(trace); w != NULL; w = w->next) {
        if (events == NULL)
            count += trace->ring_room;
        else if (cuai_lock_enter(&w->lock)) {
            count += cuai_writer_copy(w, events + count, room - count);
            cuai_unlock(&w->lock);
        }
    }
    return count;
}

cuarena_status_t cuai_trace_recent(cuai_trace_t *trace, cuarena_traced_t *events, size_t capacity,
                                   size_t *count_out)
{
    if (trace->ring_room == 0)
        return cuai_fail(CUARENA_UNSUPPORTED, "trace_ring: 0, so no events are kept; accepted: an "
                                              "arena with trace_ring from 1 on");
    size_t room = copy_all(trace, NULL, 0);
    cuarena_traced_t *all = cuai_host_alloc_unzeroed(room * sizeof *all);
    if (all == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory to copy %zu events", room);
    size_t count = copy_all(trace, all, room);
    qsort(all, count, sizeof *all, by_time);
    size_t most = count < trace->ring_room ? count : trace->ring_room;
    if (events != NULL)
        most = most < capacity ? most : capacity;
    for (size_t i = 0; events != NULL && i < most; i++)
        events[i] = all[count - most + i];
    cuai_host_free(all);
    *count_out = most;
    return CUARENA_OK;
}

/* ---- Forks ------------------------------------------------------------- */

void cuai_traces_before_fork(void)
{
    locked = cuai_lock_enter(&lock);
    for (const cuai_trace_t *trace = traces; trace != NULL; trace = trace->next)
        for (cuai_writer_t *w = trace->writers; w != NULL; w = w->next)
            w->locked = cuai_lock_enter(&w->lock);
}

/* A child has neither the parent's lines nor its threads. Closing its descriptor leaves the
 * parent's file as it is. */
static void leave_file(cuai_trace_t *trace)
{
    cuai_trace_set_writes(trace, false);
    cuai_lock_reset(&trace->file.lock);
    if (!cuai_lock_is_held(&trace->change))
        cuai_lock_reset(&trace->change);
    if (trace->file.descriptor >= 0)
        (void)close(trace->file.descriptor);
    trace->file.descriptor = -1;
}

static void leave_writer(cuai_writer_t *w)
{
    const place_t *place = &thread.places[w->serial % PLACES];
    w->owned = place->writer == w && place->serial == w->serial;
    w->used = 0;
    if (w->locked)
        cuai_lock_reset(&w->lock);
}

void cuai_traces_after_fork(bool in_child)
{
    for (cuai_trace_t *trace = traces; trace != NULL; trace = trace->next) {
        if (in_child)
            leave_file(trace);
        for (cuai_writer_t *w = trace->writers; w != NULL; w = w->next)
            if (in_child)
                leave_writer(w);
            else if (w->locked)
                cuai_unlock(&w->lock);
    }
    if (in_child)
        thread.number = 0;
    if (locked && in_child)
        cuai_lock_reset(&lock);
    else if (locked)
        cuai_unlock(&lock);
}
