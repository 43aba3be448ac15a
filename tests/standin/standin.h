/*
 * The stand-in driver: a libcuda.so.1 on host memory, and how tests control it.
 *
 * It runs what is put into streams late, in any order that the program's own waits allow, chosen
 * from a seed; and it reports what a real driver would let corrupt silently. A test program finds
 * the functions below with dlsym() in libcuda.so.1; where they are missing it runs on a real driver
 * and skips them (tests/support/driver_library.h does that). None of them is a driver call.
 *
 * Work moves on only inside driver calls: a few steps at random in any call, more in a query, as
 * much as is needed in a synchronisation. There is no thread behind it, so a program that polls
 * memory without calling the driver waits for ever.
 *
 * What is known of the order of two accesses is what the program asked for: order in a stream,
 * event waits, the legacy stream's barriers, and what a query or a synchronisation told the host
 * (whichever thread it was) before
 * the later work was submitted. Two accesses to the same bytes, one of them a write, that nothing
 * orders are reported however they happened to run.
 *
 * Environment (standin_configure sets the same, before cuInit):
 *   CUARENA_STANDIN_SEED      order of late work; printed with every report
 *   CUARENA_STANDIN_PACE      0 to 256: steps are run in so many calls of 256
 *                             (by default the seed chooses; 0 is: only when
 *                             asked)
 *   CUARENA_STANDIN_DEVICES   0, 1 (default) or 2
 *   CUARENA_STANDIN_PEERS     1 (default): the two devices can be peers; 0: not
 *   CUARENA_STANDIN_MEMORY    bytes of each device, K, M or G may follow (144G)
 *   CUARENA_STANDIN_VERSION   what cuDriverGetVersion says (13000); before
 *                             12000 cuGetProcAddress_v2 is missing, before
 *                             11030 cuGetProcAddress too
 *   CUARENA_STANDIN_CAPABILITY  of the devices: 90 (default) is 9.0
 *   CUARENA_STANDIN_PATIENCE  seconds until a wait for which nothing can run is
 *                             called a deadlock (30)
 *   CUARENA_STANDIN_SWALLOW   N: the Nth cuStreamWaitEvent from then on does
 *                             nothing, and says that it did
 *   CUARENA_STANDIN_LACK      comma-separated: vmm, pools, fd, rdma, managed,
 *                             concurrent (the CPU may touch managed memory only
 *                             while nothing runs), mapping, unified, fabric
 *                             (the device says that it has it, and refuses the
 *                             handles, as without an IMEX channel), or names
 *                             that cuGetProcAddress is not to find
 *   CUARENA_STANDIN_FAIL      comma-separated ENTRY:NTH:CODE, NTH+ for "from
 *                             then on": cuMemMap:3:2,cuMemCreate:1+:2
 *   CUARENA_STANDIN_DELAY     comma-separated ENTRY:MICROSECONDS
 *   CUARENA_STANDIN_STRICT    1: exit with STANDIN_EXIT if there are reports
 *                             that nobody cleared
 *   CUARENA_STANDIN_LEAKS     1: look for leaks at exit as well
 *   CUARENA_STANDIN_QUIET     1: reports are not printed
 *
 * ENTRY is the name without a version, "cuMemAlloc", as cuGetProcAddress takes it; all versions and
 * both kinds of default stream share it.
 */
#ifndef CUARENA_STANDIN_H
#define CUARENA_STANDIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when this interface changes. */
#define STANDIN_VERSION 2
/* The exit status of a strict process with reports. */
#define STANDIN_EXIT 70

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ---- Reports ----------------------------------------------------------- */

typedef enum standin_kind {
    STANDIN_ANY = 0,
    STANDIN_OVERLAP,         /* source and destination of a copy overlap */
    STANDIN_FOREIGN,         /* an address that is no memory of the driver's */
    STANDIN_FREED,           /* ... that was, and was freed or unmapped */
    STANDIN_NO_ACCESS,       /* ... mapped, but not set accessible, or to read */
    STANDIN_NO_PEER,         /* ... of another device that is no peer */
    STANDIN_OUT_OF_BOUNDS,   /* begins in an allocation and ends outside */
    STANDIN_MISSING_WAIT,    /* nothing orders two accesses, one a write */
    STANDIN_FREED_IN_USE,    /* freed while work may still use it */
    STANDIN_FREED_WAITED,    /* ... by a call that waits; off by default */
    STANDIN_LEAK,            /* an object that nobody destroyed */
    STANDIN_CONTEXT_CHANGED, /* the current context was not put back */
    STANDIN_SYNC,            /* a wait for the device where none is wanted */
    STANDIN_CALL,            /* a driver call where none is wanted */
    STANDIN_DEAD_HANDLE,     /* printed before the abort */
    STANDIN_MISUSE,          /* calls after fork, from host functions, ... */
    STANDIN_DEADLOCK,        /* a wait that cannot end; printed before abort */
    STANDIN_ASTRAY,          /* bytes of an arena that are no block's; needs a tool: see told.h */
    STANDIN_KINDS
} standin_kind_t;

/* STANDIN_VERSION of the library that is loaded. */
int standin_version(void);
/* How many reports of this kind, or in all, since the last clear. */
size_t standin_report_count(standin_kind_t kind);
/* The kind and text of one, good until the next report; STANDIN_ANY and "" for an index past the
 * last. */
standin_kind_t standin_report_kind(size_t index);
const char *standin_report_text(size_t index);
void standin_reports_clear(void);
/* Whether this kind is reported at all. */
void standin_report_enable(standin_kind_t kind, int enable);
/* Whether reports are printed to stderr. */
void standin_report_print(int print);

/* ---- Settings ---------------------------------------------------------- */

/* Sets what the environment variable CUARENA_STANDIN_`key` sets; "SEED", "PACE", "SWALLOW" and
 * "PATIENCE" at any time, the others before cuInit. 0, or
 * -1: no such key. */
int standin_configure(const char *key, const char *value);
uint64_t standin_seed(void);

/* ---- Brackets ---------------------------------------------------------- */

/* What this thread may not do between begin and end. They nest. */
#define STANDIN_NO_CALLS 1u        /* no driver call */
#define STANDIN_NO_SYNC 2u         /* nothing that waits for the device */
#define STANDIN_SAME_CONTEXT 4u    /* leave the current context as it was */
#define STANDIN_NO_DEVICE_CALLS 8u /* as NO_CALLS, but queries may */

void standin_bracket_begin(unsigned rules, const char *what);
/* How often a rule was broken since the matching begin; each is reported. */
size_t standin_bracket_end(void);

/* ---- Counts ------------------------------------------------------------ */

/* Calls of an entry point, or of all (NULL), since the last clear. */
uint64_t standin_calls(const char *entry);
/* Calls that waited for the device, or would have had to. */
uint64_t standin_syncs(void);
void standin_counts_clear(void);

/* ---- Faults ------------------------------------------------------------ */

/* The nth call of the entry point from now on (1: the next) gives `code` and does nothing else;
 * from_then_on: every later one too. A code that is sticky on a real driver stays with the current
 * context. -1: no such entry. */
int standin_fail(const char *entry, uint64_t nth, int code, int from_then_on);
/* The nth driver call from now on, whichever it is; those that fail on no driver (error texts,
 * version) are not counted. */
void standin_fail_any(uint64_t nth, int code, int from_then_on);
void standin_fail_clear(void);
/* How many calls were made to fail since the last standin_fail_clear. */
uint64_t standin_failed(void);
/* Every call of the entry point takes this much longer. -1: no such entry. */
int standin_delay(const char *entry, uint64_t microseconds);
/* Calls of the entry point wait at their beginning, beside all others, until this is called with 0.
 * -1: no such entry. */
int standin_hold(const char *entry, int hold);
/* How many threads wait so. */
uint64_t standin_held(const char *entry);
/* Every context of the device gives this sticky error from now on. */
void standin_lose_device(int device, int code);

/* ---- Work -------------------------------------------------------------- */

/* Runs at most so many steps of what is queued; how many were run. */
size_t standin_run(size_t steps);
/* Units of work that are queued and not finished. */
size_t standin_pending(void);
struct CUstream_st; /* of the driver's header */

/* The last thing that a stream was given; `at` 0: nothing. */
typedef struct standin_moment {
    uint32_t line;
    uint64_t at;
} standin_moment_t;
standin_moment_t standin_moment(struct CUstream_st *stream);
/* Whether what the stream is given next comes after it, by what the program has asked for so
 * far. */
int standin_is_after(struct CUstream_st *stream, standin_moment_t moment);
/* The CPU reads or writes memory of the driver's here and now: an access like any other, ordered
 * after what the host has waited for. */
void standin_host_access(const void *address, size_t bytes, int writes);

/* ---- Objects ----------------------------------------------------------- */

/* Reports every object that is alive: allocations, reservations, handles, mappings, pools, events,
 * streams, modules, graphs, contexts retained or created, descriptors exported and still open. How
 * many there were. */
size_t standin_check_leaks(void);
/* How many are alive now: "allocation", "reservation", "handle", "mapping", "pool", "event",
 * "stream", "module", "graph", "exec", "context", "descriptor"; (size_t)-1: no such kind. */
size_t standin_live(const char *kind);
/* Bytes of the device's memory that are taken. */
uint64_t standin_device_used(int device);

/* ---- Kernels ----------------------------------------------------------- */

/* Where a kernel's accesses go. Each gives where the bytes are to be had, or NULL if they may not
 * be touched: then the step returns STANDIN_FAULT. */
typedef struct standin_access standin_access_t;
struct standin_access {
    const void *(*read)(standin_access_t *access, uint64_t address, size_t bytes);
    void *(*write)(standin_access_t *access, uint64_t address, size_t bytes);
    /* An atomic or flag that the kernel's own workers share; another stream's plain access to it
     * must still be ordered. */
    void *(*update)(standin_access_t *access, uint64_t address, size_t bytes);
};

typedef enum standin_step {
    STANDIN_DONE,     /* this worker has finished */
    STANDIN_PROGRESS, /* it did something */
    STANDIN_BLOCKED,  /* it waits for another worker or for memory */
    STANDIN_FAULT     /* an access was refused: the launch fails */
} standin_step_t;

typedef struct standin_launch {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    const void *const *params; /* values, in the order of the entry's list */
    size_t param_count;
} standin_launch_t;

typedef struct standin_kernel {
    const char *name;
    /* Makes the state of one launch; NULL: the launch fails. Workers are the thread blocks, grid[0]
     * * grid[1] * grid[2], unless it writes another number. Makes no access. */
    void *(*begin)(const standin_launch_t *launch, unsigned *workers);
    /* One small step of one worker, chosen at random among those not done. No pointer that an
     * access gave is good after it returns. */
    standin_step_t (*step)(void *state, unsigned worker, standin_access_t *access);
    /* Frees the state. */
    void (*end)(void *state);
} standin_kernel_t;

/* Binds entries of this name in any module to C. The struct is copied; a later one of the same name
 * replaces it for launches from then on. */
int standin_register_kernel(const standin_kernel_t *kernel);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
