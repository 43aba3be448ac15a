/* The writers of traces: see trace.h. */
#ifndef CUAI_TRACE_WRITER_H
#define CUAI_TRACE_WRITER_H

#include "trace/trace.h"

typedef struct cuai_writer {
    char apart[128]; /* keeps those of several threads out of each other's cache lines */
    cuai_lock_t lock;
    bool locked;         /* by the fork under way */
    bool owned;          /* a thread has it; guarded by the lock of all traces, like `next` */
    uint64_t serial;     /* of its trace; 0: of none */
    cuai_trace_t *trace; /* while that is not 0 */
    char *text;          /* whole lines; NULL before the first */
    size_t used;
    size_t room;
    unsigned char *packed; /* for gzip */
    size_t packed_room;
    uint64_t written_ns;    /* when text was written last */
    cuarena_traced_t *ring; /* NULL without */
    uint64_t ringed;        /* events that it ever got */
    struct cuai_writer *next;
} cuai_writer_t;

/* A writer of the trace got so much of the host, and gave so much back. */
static inline void cuai_writer_count(cuai_trace_t *trace, size_t more, size_t less)
{
    (void)atomic_fetch_add_explicit(&trace->host_bytes, (uint64_t)more - less,
                                    memory_order_relaxed);
}

/* The functions below are called with the writer's lock held. */

/* Adds an event to ring and text; false: there is no memory for it. */
bool cuai_writer_add(cuai_writer_t *writer, const cuai_trace_entry_t *event);
/* Whether the text is to be written: it is long, or old at that time. */
bool cuai_writer_is_due(const cuai_writer_t *writer, uint64_t now_ns);
/* Writes the text; false: this made the file fail. */
bool cuai_writer_write(cuai_writer_t *writer);
/* Frees the text, or all that it has; the lines that it had not written. */
uint64_t cuai_writer_drop_text(cuai_writer_t *writer);
void cuai_writer_clear(cuai_writer_t *writer);
/* Copies the events of the ring, at most `room`; returns how many. */
size_t cuai_writer_copy(const cuai_writer_t *writer, cuarena_traced_t *events, size_t room);

#endif
