/*
 * A sink: bytes that go to a function of the caller's, a buffer at a time. Nothing here locks or
 * sets the last error.
 */
#ifndef CUAI_BASE_SINK_H
#define CUAI_BASE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuarena/snapshot.h"

typedef struct cuai_sink {
    cuarena_write_fn write;
    void *user;
    bool refused; /* the function took no more: what follows is dropped */
    size_t used;
    unsigned char bytes[8192];
} cuai_sink_t;

void cuai_sink_begin(cuai_sink_t *sink, cuarena_write_fn write, void *user);
void cuai_sink_put(cuai_sink_t *sink, const void *bytes, size_t size);
/* Hands on what is left; false: the function refused some of it. */
bool cuai_sink_end(cuai_sink_t *sink);

/* A cuarena_write_fn that only counts; `user` is a uint64_t. */
int32_t cuai_sink_count(void *user, const void *bytes, size_t size);

#endif
