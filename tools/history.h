/*
 * A history: where each block of an arena was, from when to when, and how much the arena had
 * reserved.
 *
 *   moment   how many events were played: event i happens between moments i and i + 1.
 *   stay     one block at one place. A move ends a stay and begins another of the same block.
 *   sample   what the arena had reserved after an event.
 *   refusal  an event that was not served.
 *   slide    an event in which compaction moved blocks.
 */
#ifndef TOOLS_HISTORY_H
#define TOOLS_HISTORY_H

#include "fault.h"
#include "obstacle.h"

typedef struct stay {
    uint64_t begin; /* moments: it is there in [begin, end) */
    uint64_t end;
    uint64_t address;
    uint64_t bytes;       /* asked for */
    uint64_t taken_bytes; /* rounded up */
    uint64_t block;       /* the number of its allocation in the trace, from 0 */
    uint64_t line;        /* of the trace, which allocates it */
    uint32_t stream;
    uint32_t tag; /* into the names of the history; 0: none */
} stay_t;

typedef struct sample {
    uint64_t reserved_bytes;
    uint64_t live_bytes;
    uint64_t free_bytes;
    uint64_t largest_bytes; /* of the free ranges that everybody may get */
    uint64_t time_ns;       /* since the first event; 0 where there is no clock */
} sample_t;

typedef struct refusal {
    uint64_t moment;
    uint64_t asked_bytes;
    uint64_t free_bytes;
    uint64_t largest_bytes;
} refusal_t;

typedef struct slide {
    uint64_t moment;
    uint64_t moves;
    uint64_t bytes;
} slide_t;

/* What one tag, or all that has none, came to. */
typedef struct tag_total {
    char *name; /* NULL: no tag */
    uint64_t allocs;
    uint64_t live_bytes; /* at the end, as taken */
    uint64_t peak_bytes;
    uint64_t end_blocks; /* live at the end */
} tag_total_t;

/* A stretch of addresses that is drawn. Those between two are left out. */
typedef struct band {
    uint64_t address;
    uint64_t bytes;
} band_t;

#define HISTORY_REPLAYED 0 /* what a trace does in an arena that was made for it */
#define HISTORY_RECORDED 1 /* what an arena did, as it wrote it down */
#define HISTORY_STATE 2    /* what an arena had at one moment */

typedef struct history {
    int kind;         /* HISTORY_... */
    uint64_t moments; /* of the end */
    stay_t *stays;    /* by their begins */
    size_t stay_count;
    sample_t *samples; /* one after each event; largest_bytes is 0 if it is not known */
    refusal_t *refusals;
    size_t refusal_count;
    slide_t *slides;
    size_t slide_count;
    tag_total_t *tags; /* [0]: what has none */
    size_t tag_count;
    uint32_t last_tag;
    band_t *bands; /* by address; at least one */
    size_t band_count;
    uint64_t unit_bytes; /* of which addresses are multiples */
    obstacle_t obstacle; /* of the first refusal that is for want of room */
    fault_t refusal;     /* what the library said of the first; empty: all were served */
    char *statistics;    /* of the arena at the end: lines of key=value; NULL: not known */
    char *options;       /* likewise, where no setup has them */
    char **names;        /* of blocks, by their number; NULL: they have none */
    size_t name_count;
    char **streams; /* likewise of streams */
    size_t stream_count;
} history_t;

/* ---- Making one: zero it to begin, and set what has no function here ------ */

/* Begins a stay; its number. It counts for its tag. */
size_t history_open(history_t *history, const stay_t *stay);
/* Ends it because its block is freed. */
void history_close(history_t *history, size_t stay, uint64_t moment);
/* Ends it because its block goes elsewhere, with the size that it has; the number of the next. */
size_t history_move(history_t *history, size_t stay, uint64_t moment, uint64_t address);
void history_add_refusal(history_t *history, refusal_t refusal);
void history_add_slide(history_t *history, slide_t slide);
/* The number of a tag by its name, which is copied; no length: none. O(tags), but for the tag that
 * was asked for last. */
uint32_t history_tag(history_t *history, const char *name, size_t length);
void history_add_stream(history_t *history, const char *name, size_t length);
/* What stands in the way of a request for bytes between `low` and `high` while these stays are
 * there; with `high` 0, between the lowest and the highest of them. */
void history_find_obstacle(history_t *history, const size_t *stays, size_t count, uint64_t low,
                           uint64_t high, uint64_t bytes);
void history_add_band(history_t *history, band_t band);
/* The bands of all stays, put together where little is between them. */
void history_find_bands(history_t *history);
void history_free(history_t *history);

/* ---- Looking at one ------------------------------------------------------ */

/* The sum of the bands; 1 at least. */
uint64_t history_span_bytes(const history_t *history);
/* Where an address of a band stands when those before it are put together. */
uint64_t history_offset(const history_t *history, uint64_t address);

#endif
