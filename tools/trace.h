/*
 * A trace: the allocations and frees of a program, in order, ready to be replayed without looking
 * anything up.
 *
 *   event  one allocation or free, 16 bytes.
 *   slot   a small number that names an allocation while it lives; the next
 *          one takes it over. Slots are dense: as many as ever lived at once.
 *   stream a small number, too: 0, 1, ... as the file first names them.
 *
 * trace.c with what it includes (source, csv, names, fault) and player.c make up a replay engine
 * that other programs, such as benchmarks, can link.
 */
#ifndef TOOLS_TRACE_H
#define TOOLS_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "fault.h"
#include "source.h"

/* The largest size that an allocation may ask for. */
#define TRACE_MAX_SIZE (UINT64_C(1) << 63)

#define TRACE_ALLOC 0u
#define TRACE_FREE 1u

#define TRACE_MAX_STREAMS 65536u

typedef struct trace_event {
    uint64_t size; /* bytes asked for; of a free: what its allocation asked */
    uint32_t slot;
    uint16_t op; /* TRACE_... */
    uint16_t stream;
} trace_event_t;

/* What another allocator had reserved while the program ran: the largest number of a column that is
 * called NAME_reserved. */
typedef struct trace_figure {
    char name[32];
    uint64_t most_bytes;
} trace_figure_t;

#define TRACE_FIGURES 4

typedef struct trace {
    char *path; /* as it was given; "standard input" for "-" */
    /* The file's events, and behind them `closing_count` frees of what was still live at its end,
     * by slot, each on its allocation's stream. */
    trace_event_t *events;
    uint32_t *lines; /* of the file's events; the last for those above 2^32 */
    size_t event_count;
    size_t closing_count;
    uint32_t slot_count;
    uint32_t stream_count; /* at least 1 */
    uint64_t allocs;
    uint64_t frees;
    uint64_t passed_over; /* lines of failed requests, and of NULL */
    uint64_t unmatched;   /* frees that a recording which lacks lines has without an allocation */
    bool has_streams;     /* there is a column of them; else all are on one */
    trace_figure_t figures[TRACE_FIGURES];
    size_t figure_count;
} trace_t;

/* Reads either format that cuarena(1) tells of. The fault names file, line, value and what was
 * expected. Lines that are missing are told on stderr. */
bool trace_load(const char *path, trace_t *trace_out, fault_t *fault);
/* Of what was read already; `path` is as it was given. */
bool trace_parse(const char *path, const source_t *source, trace_t *trace_out, fault_t *fault);
void trace_free(trace_t *trace);

/* The file's name without folders and endings. Good until the next call. */
const char *trace_title(const trace_t *trace);
const char *trace_title_of(const char *path);

/* The highest sum of live blocks, each rounded up to `alignment`, and the
 * event that first reached it. UINT64_MAX if the sum passes 64 bits. */
typedef struct trace_peak {
    uint64_t bytes;
    size_t event;
} trace_peak_t;
trace_peak_t trace_peak(const trace_t *trace, uint64_t alignment);
/* The first sum that passes `most`, which the peak does, and its event. */
trace_peak_t trace_passing(const trace_t *trace, uint64_t alignment, uint64_t most);

#endif
