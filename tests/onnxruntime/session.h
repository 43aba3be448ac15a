/*
 * Sessions of ONNX Runtime on arenas: what the test host and bench/onnxruntime share. What cannot
 * be had is said, and ends the process.
 */
#ifndef TESTS_ONNXRUNTIME_SESSION_H
#define TESTS_ONNXRUNTIME_SESSION_H

#include <cuarena.h>
#include <cuarena/onnxruntime.h>

#include "ort.h"

extern const ort_api_t *api;
extern ort_env_t *env;
extern ort_memory_info_t *cpu;
extern const char *model; /* the path of that of model.py, which the caller sets */

/* The environment, and the memory of the CPU. */
void open_env(const char *library);

void must(ort_status_t *status, const char *what);
void ours(cuarena_status_t status, const char *what);

#define ANSWERS 10
typedef struct answer {
    float values[ANSWERS];
} answer_t;

/* Whose the memory is that a session computes in. */
enum memory {
    OF_SESSION,
    OF_ENVIRONMENT,
    OF_MALLOC
};

/* With one thread. DEVICE: of a provider, or NULL. */
ort_status_t *open_session(enum memory memory, const ort_ep_device_t *device,
                           ort_session_t **session);

/* The answer to an image of SIDE times SIDE pixels; OPTIONS may be NULL. */
ort_status_t *run(ort_session_t *session, int64_t side, const ort_run_options_t *options,
                  answer_t *answer);

/* An arena as the environment's allocator. */
typedef struct registered {
    cuarena_t *arena;
    struct OrtAllocator *allocator;
} registered_t;

registered_t opened(const char *options);
void closed(registered_t *it);

/* A figure of an allocator, by its key; -1 if it has no such figure. */
long figure(ort_allocator_t *allocator, const char *key);

#endif
