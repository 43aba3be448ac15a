/*
 * Objects: what a handle names. The handle is the address of the object, which is never given back
 * to the host, so that a dead handle is known as one; like a real driver, a new object may get the
 * address, and so the handle, of a
 * dead one, with another id.
 */
#ifndef CUARENA_STANDIN_OBJECT_H
#define CUARENA_STANDIN_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sd_object_kind {
    SD_CONTEXT_OBJECT,
    SD_STREAM_OBJECT,
    SD_EVENT_OBJECT,
    SD_MODULE_OBJECT,
    SD_FUNCTION_OBJECT,
    SD_POOL_OBJECT,
    SD_GRAPH_OBJECT,
    SD_EXEC_OBJECT,
    SD_OBJECT_KINDS
} sd_object_kind_t;

struct sd_context;

/* The first member of each. */
typedef struct sd_object {
    sd_object_kind_t kind;
    bool alive;
    bool hidden; /* the driver's own: no leak */
    uint64_t id; /* unlike that of any other, dead or alive */
    struct sd_context *context;
    void (*end)(struct sd_object *object); /* frees what it holds, or NULL */
    struct sd_object *next;                /* of the same kind, dead or alive */
} sd_object_t;

/* A zeroed object of `bytes` bytes, alive. */
void *sd_object_new(sd_object_kind_t kind, size_t bytes, struct sd_context *context);
/* Ends it, unless it is dead. */
void sd_object_kill(sd_object_t *object);
/* The object, alive and of this kind; else says so and aborts, as the real driver crashes. */
void *sd_object_get(const void *handle, sd_object_kind_t kind);
/* As that, but NULL where the handle is none of the kind or dead. */
void *sd_object_find(const void *handle, sd_object_kind_t kind);
/* All of a kind; follow `next`, and look at `alive`. */
sd_object_t *sd_objects(sd_object_kind_t kind);
/* How many are alive and not hidden. */
size_t sd_objects_alive(sd_object_kind_t kind);
/* "stream" */
const char *sd_object_name(sd_object_kind_t kind);

#endif
