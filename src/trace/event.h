/* An event of a trace as it is added, and its line in the file (line.c). */
#ifndef CUAI_TRACE_EVENT_H
#define CUAI_TRACE_EVENT_H

#include "base/compiler.h"
#include "cuarena/trace.h"

typedef struct cuai_trace_entry {
    cuarena_traced_t seen; /* but for the thread, which whoever writes it fills in */
    uint64_t id;           /* as the file has it; 0: none */
    const char *tag;       /* its name, which stays; NULL: none */
    const char *note;      /* static text, or NULL */
} cuai_trace_entry_t;

/* The kind of a file's last line, behind all others: its bytes are how many events are missing.
 * Where there is none, the file ends early. */
#define CUAI_EVENT_END (CUARENA_EVENT_STEP + 1)

/* Room for any line, however long its tag is, which is cut. */
#define CUAI_TRACE_LINE 512
/* The names of the columns, as a line. */
extern const char cuai_trace_header[];

/* The word for a kind of event in the column `op`: static text. */
const char *cuai_trace_op(int32_t kind);
/* The time of events now: nanoseconds of CLOCK_MONOTONIC. */
uint64_t cuai_trace_now(void);
/* Writes the event's line, newline included; returns its length. */
size_t cuai_trace_line(const cuai_trace_entry_t *event, char text[CUAI_TRACE_LINE]);

#endif
