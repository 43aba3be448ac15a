/*
 * A memory for the tests whose streams are simulated: nothing that is queued
 * on one happens until the test, or a seeded scheduler, lets it.
 *
 *   item     one thing queued: a kernel, copies, zeroing, an event, a wait
 *   clock    of each stream and of the host: what is known to come before
 *   fault    what a correct arena never does; the first is kept in words
 *
 * Two accesses to the same granule of which one is a write must be ordered by the clocks, whatever
 * order the items happen to run in. Kernels write and check patterns when they run, so a wrong
 * order shows twice. Faults are also: a dead handle or event, a deadlock, an event that was never
 * ended.
 */
#ifndef CUARENA_TEST_SIM_STREAMS_H
#define CUARENA_TEST_SIM_STREAMS_H

#include <cuarena.h>
#include <pthread.h>
#include <stdbool.h>

#include "random.h"

#define SIM_GRANULE 256u
#define SIM_STREAMS 400u /* made in all; number 0 is the host */
#define SIM_SEGMENTS 64u
#define SIM_READERS 8u

typedef enum sim_op {
    SIM_GET,
    SIM_GIVE_BACK,
    SIM_GROW,
    SIM_SHRINK,
    SIM_RELOCATE,
    SIM_ZERO,
    SIM_ZERO_CAPTURED,
    SIM_SET,
    SIM_READ,
    SIM_IDENTIFY,
    SIM_RECORD,
    SIM_RECORD_ALL, /* an event of all streams */
    SIM_QUERY,
    SIM_WAIT, /* a stream's */
    SIM_WAIT_HOST,
    SIM_END_EVENT,
    SIM_OPS
} sim_op_t;

typedef struct sim_clock {
    uint32_t at[SIM_STREAMS];
} sim_clock_t;

typedef struct sim_event {
    struct sim_event *next;
    sim_clock_t clock;
    uint64_t version; /* recorded so often */
    uint64_t done;    /* versions up to this one are complete */
    bool alive;
} sim_event_t;

typedef struct sim_item sim_item_t;

typedef struct sim_stream {
    cuarena_stream_t handle;
    pthread_t thread; /* of a default stream of a thread */
    bool per_thread;
    bool alive; /* the handle is */
    bool capturing;
    bool foreign;
    sim_clock_t clock;
    sim_item_t *first;
    sim_item_t **last;
} sim_stream_t;

/* Who touched a granule last. */
typedef struct sim_touch {
    uint32_t writer;
    uint32_t written;
    struct {
        uint32_t reader;
        uint32_t at;
    } reads[SIM_READERS];
    uint32_t read_count;
} sim_touch_t;

typedef struct sim_segment {
    uint64_t address; /* 0: not in use */
    uint64_t bytes;
    uint64_t reserved;
    sim_touch_t *touches;
} sim_segment_t;

typedef struct sim {
    pthread_mutex_t lock;
    cuarena_memory_ops_t ops; /* for config.ops; user is the sim */
    random_state_t random;
    sim_stream_t *streams[SIM_STREAMS]; /* [0]: the host, its clock only */
    uint32_t stream_count;
    sim_event_t *events;
    sim_segment_t segments[SIM_SEGMENTS];
    uint64_t most_bytes; /* that it gives; 0: as asked */
    uint64_t given;
    uint64_t captured_calls;         /* for streams that were being captured */
    cuarena_relocation_t graph_zero; /* set to 0 by a graph: `to`, the last */

    uint64_t counts[SIM_OPS];
    uint32_t faults;
    char fault[160];
    uint32_t races; /* of the faults */

    int32_t fail_op;  /* this one fails ...; -1: any that may */
    uint64_t fail_in; /* the so many-th from now; 0: none */
    uint64_t fail_often;
    cuarena_status_t fail_with;
    size_t fail_done;    /* relocations that were queued before it fails */
    uint64_t drop_wait;  /* the so many-th wait from now does nothing */
    uint64_t drop_order; /* the so many-th wait of a stream likewise */
    bool needless;       /* the one that did nothing had nothing new to order */
    bool lie;            /* query says that all is complete */

    /* Called in each function of the table, without the sim's lock. */
    void (*hook)(struct sim *sim, sim_op_t op);
    void *hook_user;
} sim_t;

/* Memory of a device, or one that the host can read too. */
void sim_open(sim_t *sim, uint64_t seed, bool host_readable);
/* Faults: events or segments that were not given back. */
void sim_close(sim_t *sim);

/* A stream with that handle, which no living one has. */
void sim_stream_make(sim_t *sim, cuarena_stream_t handle);
/* Its work goes on; its handle must not be used again. */
void sim_stream_kill(sim_t *sim, cuarena_stream_t handle);
sim_stream_t *sim_stream_of(sim_t *sim, cuarena_stream_t handle);
/* Handles for tests: distinct for each number. */
#define sim_handle(number) ((cuarena_stream_t)(uintptr_t)(0x10000 + (number)*64))

/* ---- Work -------------------------------------------------------------- */

/* Writes a pattern, or reads and expects it, when it runs. The bytes are whole granules; seed 0
 * reads without expecting anything. */
void sim_write(sim_t *sim, cuarena_stream_t stream, void *at, uint64_t bytes, uint64_t seed);
void sim_read(sim_t *sim, cuarena_stream_t stream, const void *at, uint64_t bytes, uint64_t seed);
/* Reads and expects zeros. */
void sim_read_zero(sim_t *sim, cuarena_stream_t stream, const void *at, uint64_t bytes);
/* Sets bytes to 0, as a graph does that is launched. */
void sim_zero(sim_t *sim, cuarena_stream_t stream, void *at, uint64_t bytes);
/* The same by the host, now. */
void sim_host_write(sim_t *sim, void *at, uint64_t bytes, uint64_t seed);
void sim_host_read(sim_t *sim, const void *at, uint64_t bytes, uint64_t seed);
void sim_host_read_zero(sim_t *sim, const void *at, uint64_t bytes);
/* The caller's own: `waiter` waits for what `of` was given so far. */
void sim_order(sim_t *sim, cuarena_stream_t waiter, cuarena_stream_t of);
/* ... the host does. */
void sim_sync(sim_t *sim, cuarena_stream_t of);

/* ---- Running ----------------------------------------------------------- */

/* Lets up to `items` happen, in a random legal order; how many did. */
uint64_t sim_run(sim_t *sim, uint64_t items);
uint64_t sim_run_all(sim_t *sim);
/* All, and the host knows. */
void sim_sync_all(sim_t *sim);
/* Only of one stream, as far as it gets. */
uint64_t sim_run_stream(sim_t *sim, cuarena_stream_t stream);
uint64_t sim_pending(sim_t *sim);
/* Events that live. */
uint64_t sim_events(sim_t *sim);
/* Calls of the memory since the last time, of all kinds. */
uint64_t sim_calls(sim_t *sim);
void sim_fail(sim_t *sim, int32_t op, uint64_t in, cuarena_status_t status);

#endif
