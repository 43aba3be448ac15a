/*
 * User objects: what graphs keep for the program. An object ends, by a function of the program's,
 * when nobody has a reference any more: the program, graphs, and what was made of these, which
 * keeps its own until its launches are done.
 */
#ifndef CUARENA_STANDIN_USER_OBJECT_H
#define CUARENA_STANDIN_USER_OBJECT_H

#include "abi.h"
#include "work.h"

#include <stddef.h>

/* The references of one graph. */
typedef struct sd_keeps {
    CUuserObject *objects;
    size_t count;
} sd_keeps_t;

/* A reference to each that the other has. */
void sd_keeps_copy(sd_keeps_t *to, const sd_keeps_t *from);
void sd_keeps_add(sd_keeps_t *keeps, CUuserObject object);
/* Lets go of all, when all that the clock covers is complete. */
void sd_keeps_drop(sd_keeps_t *keeps, const sd_clock_t *after);
/* Ends what waited for work that is done by now: at the end of each call. */
void sd_keeps_poll(void);

#endif
