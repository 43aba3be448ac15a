/*
 * Advice: what a program needs of memory, what each preset takes for it, and which options to set.
 *
 *   row      what one arena took for the trace, or why it was not replayed.
 *   choice   options to paste, for one situation. The text was read as a program would, and an
 *            arena of it on memory `none` served the trace.
 *   room     what a choice has above the smallest size that serves, for runs that differ.
 *
 * Everything is replayed on memory `none`, with the pages that the memory of the program has, and
 * on the streams of the trace where it has several.
 */
#ifndef TOOLS_ADVICE_H
#define TOOLS_ADVICE_H

#include "choices.h"
#include "smallest.h"

/* The memory of the program. */
typedef struct advice_target {
    const char *memory;
    const char *pages; /* the option that gives memory `none` its pages; "": they are the same */
    uint64_t page_bytes;
} advice_target_t;

/* device or pageable; NULL for others. */
const advice_target_t *advice_target(const char *memory);

typedef struct advice_ask {
    const advice_target_t *target;
    uint64_t room_percent;
} advice_ask_t;

typedef struct advice_row {
    char name[48];       /* the preset, and options besides */
    const char *why_not; /* NULL: it was replayed */
    uint64_t failed;     /* requests that were refused; the figures then mean little */
    uint64_t reserved_bytes;
    uint64_t memory_calls;
} advice_row_t;

typedef struct advice_choice {
    const char *when;
    char options[128];
    uint64_t bytes; /* of pool or limit */
    uint64_t reserved_bytes;
    uint64_t memory_calls;
} advice_choice_t;

#define ADVICE_CHOICES 3

typedef struct advice {
    uint64_t peak_live_bytes;
    bool streams; /* replayed on streams */
    smallest_t min_pool;
    smallest_t min_limit; /* of preset grow */
    advice_row_t rows[CHOICES_MOST + 1];
    size_t row_count;
    /* The first is for who has no reason to take another. */
    advice_choice_t choices[ADVICE_CHOICES];
    size_t choice_count;
} advice_t;

/* A fault if the trace has more live bytes than an arena can, or no arena can be made. */
bool advice_find(const advice_ask_t *ask, const trace_t *trace, advice_t *advice_out,
                 fault_t *fault);

#endif
