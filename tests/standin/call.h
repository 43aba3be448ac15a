/*
 * Calls: what every entry point does before and after its own work. One lock
 * is held for the length of a call, except while a call waits for work and while a host function
 * runs.
 *
 * entries.def lists the entry points; each is defined with SD_ENTRY, or with SD_ENTRY_BOTH where
 * there is a version for the per-thread default stream.
 */
#ifndef CUARENA_STANDIN_CALL_H
#define CUARENA_STANDIN_CALL_H

#include "abi.h"
#include "report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_context;

/* What an entry point needs, or is. */
enum {
    SD_NOTHING = 0,
    SD_PURE = 1,     /* fails on no driver: not counted by faults of any call */
    SD_INIT = 2,     /* cuInit */
    SD_CONTEXT = 4,  /* a current context that is not lost */
    SD_UNSAFE = 8,   /* not legal in a capture that is not relaxed */
    SD_VMM = 16,     /* missing where the driver lacks virtual memory */
    SD_POOLS = 32,   /* ... pools */
    SD_MANAGED = 64, /* ... managed memory */
    SD_QUERY = 128   /* asks and changes nothing */
};

#define SD_STACK_MAX 64
#define SD_BRACKETS_MAX 32

typedef struct sd_bracket {
    unsigned rules;
    size_t broken;
    const char *what;
    struct sd_context *context; /* at begin */
    unsigned depth;
} sd_bracket_t;

/* What is the thread's own. */
typedef struct sd_thread {
    uint32_t id;      /* 0: not given yet */
    const char *call; /* the entry point that runs */
    bool in_host_function;
    CUstreamCaptureMode capture_mode;
    struct sd_context *contexts[SD_STACK_MAX]; /* the last is current */
    unsigned depth;
    sd_bracket_t brackets[SD_BRACKETS_MAX];
    unsigned bracket_count;
} sd_thread_t;

extern _Thread_local sd_thread_t sd_thread;

typedef enum sd_entry_id {
#define ENTRY(name, symbol, since, needs) SD_AT_##symbol,
#include "entries.def"
#undef ENTRY
    SD_ENTRY_COUNT
} sd_entry_id_t;

void sd_lock(void);
void sd_unlock(void);
/* Lets other threads in for a moment: the lock is given up and taken again. */
void sd_pause(void);

/* Begins a call; the lock is held when it returns, whatever it returns. */
CUresult sd_call_begin(sd_entry_id_t entry);
/* Ends it and gives the result. */
CUresult sd_call_end(CUresult result);

/* Counts a wait for the device, and reports it where none is wanted. */
void sd_sync_count(void);
/* The stream that a per-thread version means by this handle. */
CUstream sd_per_thread(CUstream stream);
/* Whether any entry has this name, "cuMemAlloc". */
bool sd_entry_known(const char *name);

#define SD_ENTRY(symbol, exported, parameters, work)                                               \
    __attribute__((visibility("default"))) CUresult exported parameters;                           \
    CUresult exported parameters                                                                   \
    {                                                                                              \
        CUresult result = sd_call_begin(SD_AT_##symbol);                                           \
        if (result == CUDA_SUCCESS)                                                                \
            result = work;                                                                         \
        return sd_call_end(result);                                                                \
    }
#define SD_ENTRY_BOTH(symbol, parameters, work)                                                    \
    SD_ENTRY(symbol, symbol, parameters, work)                                                     \
    SD_ENTRY(symbol, symbol##_ptsz, parameters, (stream = sd_per_thread(stream), work))

#endif
