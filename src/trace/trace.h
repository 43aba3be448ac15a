/*
 * The trace of an arena: a file, a ring of the last events, or both.
 *
 * Each thread that adds events has a writer for each trace: a buffer of lines and a ring of its
 * own, under a lock that others take only to end the trace, to fork, or to read the ring. So
 * threads do not meet. A writer stays its trace's when its thread ends, for the next thread that
 * wants one. Writers are never given back to the host, but for their buffers, so a thread may look
 * at one whose trace has ended: its serial says so.
 *
 * To add an event takes no other lock, but for a thread's first, calls nobody and writes no file:
 * it is legal with the locks of arenas and caches held. Whoever adds one calls cuai_trace_catch_up
 * when it holds none any more, which writes what has come together. A writer's own lock is held
 * while its lines are written: who waits for it wants just that.
 *
 * Order of locks: an arena's, a cache's, that of all traces, a writer's, a file's.
 */
#ifndef CUAI_TRACE_TRACE_H
#define CUAI_TRACE_TRACE_H

#include "trace/event.h"
#include "trace/file.h"

typedef struct cuai_trace {
    uint64_t serial;       /* no other trace has it; 0: the trace was not opened */
    cuai_lock_t change;    /* held by whoever begins or ends a file, to the end */
    atomic_bool writes;    /* events go into the file */
    uint32_t ring_room;    /* events in each writer's ring; 0: none */
    _Atomic uint64_t lost; /* events for which there was no memory, or that a signal handler had
                            * while its thread added one */
    _Atomic uint64_t host_bytes; /* of the buffers and rings of its writers */
    struct cuai_writer *writers; /* guarded by the lock of all traces */
    struct cuai_trace *next;     /* of all traces */
    struct cuai_trace **link;
    cuai_trace_file_t file;
} cuai_trace_t;

/* Begins the trace of an arena, which no other thread knows yet. It is all 0 before. */
void cuai_trace_open(cuai_trace_t *trace, uint32_t ring_room);
/* Ends it, with its file. Nobody adds events any more; one that was never opened is fine. */
void cuai_trace_close(cuai_trace_t *trace);

/* Opens a file for the trace, without its events yet. Errors: cuarena_trace_begin. Only `change` is
 * held. */
cuarena_status_t cuai_trace_open_file(cuai_trace_t *trace, const char *path);
/* Writes what was added and closes the file, if there is one; events do not go into it any more.
 * Only `change` is held. DRIVER, put into words, if it could not be written to its end. */
cuarena_status_t cuai_trace_close_file(cuai_trace_t *trace);

/* From now on events go into the file, or no more. */
static inline void cuai_trace_set_writes(cuai_trace_t *trace, bool writes)
{
    CUAI_ASSERT(!writes || trace->file.descriptor >= 0);
    atomic_store_explicit(&trace->writes, writes, memory_order_release);
}

static inline bool cuai_trace_writes(const cuai_trace_t *trace)
{
    return atomic_load_explicit(&trace->writes, memory_order_acquire);
}

/* Whether anybody wants events. */
static inline bool cuai_trace_is_on(const cuai_trace_t *trace)
{
    return cuai_trace_writes(trace) || trace->ring_room != 0;
}

/* What it takes of the host, without the writers themselves, which are the process's. No lock: one
 * of a writer is held while a file is written. */
static inline uint64_t cuai_trace_host_bytes(const cuai_trace_t *trace)
{
    return atomic_load_explicit(&trace->host_bytes, memory_order_relaxed);
}

/* Adds an event. A thread of 0 becomes the calling one, also in the event. */
void cuai_trace_add(cuai_trace_t *trace, cuai_trace_entry_t *event) CUAI_NOINLINE;

/* Whether this thread has lines that are to be written. The model is found without a call, also in
 * a library that was loaded late. */
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
extern _Thread_local volatile bool cuai_trace_due;
void cuai_trace_write_due(void) CUAI_NOINLINE;

/* Writes the lines of this thread that are due. No lock. The trace may have ended. */
static CUAI_INLINE void cuai_trace_catch_up(void)
{
    if (CUAI_UNLIKELY(cuai_trace_due))
        cuai_trace_write_due();
}

/* The system's number of this thread. */
uint64_t cuai_trace_thread(void);

/* Copies the last events as cuarena_trace_recent does. Called without the lock of an arena. */
cuarena_status_t cuai_trace_recent(cuai_trace_t *trace, cuarena_traced_t *events, size_t capacity,
                                   size_t *count_out);

/* These are called around a fork, so that a child finds no lock taken, and writes none of the
 * parent's lines. There traces have no files. */
void cuai_traces_before_fork(void);
void cuai_traces_after_fork(bool in_child);

#endif
