/*
 * Names: what a trace calls its allocations, and where each stands. Found by hashing while a trace
 * is read; replaying knows slots only.
 */
#ifndef TOOLS_NAMES_H
#define TOOLS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define NAME_NEW 0 /* never seen */
#define NAME_LIVE 1
#define NAME_FREED 2

typedef struct name {
    uint64_t key;
    uint64_t size; /* bytes asked for */
    uint64_t line; /* of the last event that named it */
    uint32_t slot; /* while it is live */
    uint32_t state;
} name_t;

/* Zero it to begin. `used` of `capacity` (0 or a power of two) places hold a name; no more than
 * half do. */
typedef struct names {
    name_t *places;
    size_t capacity;
    size_t used;
} names_t;

/* The name of that key, made NAME_NEW if there is none; the caller sets its state before the next
 * call, which may move it. */
name_t *names_at(names_t *names, uint64_t key);
void names_free(names_t *names);

#endif
