/*
 * A player: replays one trace in one arena. All that could be looked up was when the trace was
 * read, so that its loop adds as little as can be to what the arena itself costs: a load of 16
 * bytes, two branches and a call for each event.
 *
 *   pass      the trace from its first event to its last.
 *   refused   an allocation that the arena did not serve; its free is skipped.
 *   tracked   a replay that must know where blocks are: compaction moves
 *             pointers, or a watch is set. Costs a call more per allocation.
 */
#ifndef TOOLS_PLAYER_H
#define TOOLS_PLAYER_H

#include "cuarena/arena.h"
#include "fault.h"
#include "streams.h"
#include "trace.h"

typedef struct player_setup {
    cuarena_config_t config;
    bool blocks;  /* block ids rather than pointers */
    bool compact; /* answer CUARENA_FRAGMENTED by making room, once */
    bool stop;    /* end a pass at the first refusal */
    bool streams; /* allocate and free on the trace's streams */
} player_setup_t;

/* What memory `none` has available, and more than any memory that exists: the largest size of an
 * arena that nobody named, and so the highest peak of a trace that is replayed without one. */
#define PLAYER_MOST_BYTES (UINT64_C(1) << 46)

/* Whether a perfect arena of so many bytes could serve the trace; the fault names the line that
 * passes them. `or_else` is what else would be accepted. */
bool player_check_peak(const trace_t *trace, uint64_t alignment, const char *or_else,
                       fault_t *fault);

/* Whether the arena takes bytes as requests need them. */
bool player_grows(const player_setup_t *setup);

/* How much the arena may serve from: the size of a pool, or the limit of an arena that grows. */
void player_set_pool(player_setup_t *setup, cuarena_amount_t pool);
void player_set_pool_bytes(player_setup_t *setup, uint64_t bytes);

/* Told of what happens to slots, with nothing under way. False ends the pass. An empty block is at
 * NULL. */
typedef struct player_watch {
    void *user;
    bool (*born)(void *user, uint32_t slot, void *address, uint64_t bytes);
    bool (*dies)(void *user, uint32_t slot, void *address);
    /* Moves in the order of the list that they came in; moved_all after it. */
    bool (*moved)(void *user, uint32_t slot, const cuarena_relocation_t *move);
    bool (*moved_all)(void *user);
    /* Before each event, and after it; either may be NULL. An event is not served if it was
     * refused, or is the free of a refused allocation. */
    bool (*plays)(void *user, const trace_event_t *event);
    bool (*played)(void *user, const trace_event_t *event, bool served);
} player_watch_t;

typedef union player_slot {
    void *pointer;
    cuarena_block_t block;
} player_slot_t;

typedef struct player {
    const trace_t *trace;
    player_setup_t setup;
    cuarena_t *arena;
    player_slot_t *slots; /* of the trace; those not live are 0 if tracked */
    streams_t streams;    /* none unless the setup says so */
    bool tracked;
    const player_watch_t *watch; /* may be NULL */
    bool watch_ended;            /* it said false */
    uint64_t passes;             /* ended so far */
    uint64_t refused;            /* allocations, and frees that failed */
    uint64_t skipped;            /* frees of refused allocations */
    uint64_t skipped_first;      /* of those, in the first pass */
    fault_t first_refusal;       /* empty while there is none */
} player_t;

/* What the arena itself counted, and what it takes. */
typedef struct player_tally {
    uint64_t capacity_bytes;      /* its pool; the most reserved if it grows */
    uint64_t reserved_peak_bytes; /* the most taken from the memory */
    uint64_t segments;            /* now */
    uint64_t memory_calls;
    uint64_t driver_calls;
    uint64_t steals;
    uint64_t stream_waits;
    uint64_t host_waits;
    bool caches; /* it has a cache; else the three are 0 */
    uint64_t hits;
    uint64_t misses;
    uint64_t cached_peak_bytes;
    uint64_t compactions;
    uint64_t moves;
    uint64_t bytes_moved;
} player_tally_t;

/* `setup` is copied; trace and watch must outlive the player. A fault if the arena, or its streams,
 * cannot be made. */
bool player_open(player_t *player, const player_setup_t *setup, const trace_t *trace,
                 const player_watch_t *watch, fault_t *fault);
void player_close(player_t *player);

/* Replays the trace `passes` times, freeing between two passes what still lives. False if it was
 * ended early. */
bool player_run(player_t *player, uint64_t passes);
/* As player_run, and the mean nanoseconds of one event that was given to the arena, from two
 * readings of the clock. */
bool player_time(player_t *player, uint64_t passes, double *ns_per_event_out);
/* Replays events [from, to) and writes what each that was given to the arena took, in nanoseconds,
 * clock included; returns how many there were. */
size_t player_clock(player_t *player, size_t from, size_t to, uint32_t *nanoseconds);
/* As player_run, telling the watch. */
bool player_run_watched(player_t *player, uint64_t passes);

player_tally_t player_tally(const player_t *player);

#endif
