/*
 * Devices and contexts. Each device has one primary context, whose handle
 * stays the same when it is let go and retained again. A context that met a sticky error is lost:
 * what needs a context gives the error again.
 */
#ifndef CUARENA_STANDIN_CONTEXT_H
#define CUARENA_STANDIN_CONTEXT_H

#include "abi.h"
#include "object.h"
#include "options.h"

#include <stdbool.h>
#include <stdint.h>

struct sd_line;
struct sd_pool;

/* The line of one thread's default stream. */
typedef struct sd_thread_line {
    uint32_t thread;
    struct sd_line *line;
    struct sd_thread_line *next;
} sd_thread_line_t;

typedef struct sd_context {
    sd_object_t object;
    int device;
    bool primary;
    unsigned flags;
    CUresult lost;  /* CUDA_SUCCESS: it is not */
    unsigned peers; /* devices whose memory it may touch, a bit each */
    struct sd_line *legacy;
    sd_thread_line_t *thread_lines;
} sd_context_t;

typedef struct sd_device {
    uint64_t used_bytes;
    sd_context_t *primary; /* NULL: never made */
    unsigned retained;     /* of the primary context */
    struct sd_pool *default_pool;
    struct sd_pool *pool; /* the current one */
} sd_device_t;

extern sd_device_t sd_device_table[SD_DEVICES_MAX];

bool sd_device_valid(CUdevice device);
/* Takes bytes of a device; false if there are not so many. */
bool sd_device_take(int device, uint64_t bytes);
void sd_device_give_back(int device, uint64_t bytes);
/* Every context of the device gives this error from now on. */
void sd_device_lose(int device, CUresult code);

/* The calling thread's; NULL if there is none. */
sd_context_t *sd_context_current(void);
/* The live context of a handle; aborts on a dead one. */
sd_context_t *sd_context_get(CUcontext handle);
CUcontext sd_context_handle(sd_context_t *context);
/* Makes it give this error from now on, unless it gives one already. */
void sd_context_lose(sd_context_t *context, CUresult code);
/* Whether work of the context may touch memory of the device. */
bool sd_context_reaches(const sd_context_t *context, int device);
/* The line of the calling thread's default stream. */
struct sd_line *sd_context_thread_line(sd_context_t *context);
/* Primary contexts retained, and others that are alive. */
size_t sd_contexts_held(void);

#endif
