/*
 * A colouring: which colour each stay of a history has, and what the colours mean.
 *
 * Groups, tags or streams, have colours that those who see few of them tell apart; sizes and
 * lifetimes have a scale, parted at powers of two into pieces of about the same area. The page of a
 * report does the same by script.
 */
#ifndef TOOLS_COLOURING_H
#define TOOLS_COLOURING_H

#include "history.h"

#define COLOURING_MOST 8

typedef struct colour {
    uint8_t red;
    uint8_t green;
    uint8_t blue;
    char name[64]; /* "": nothing has it */
} colour_t;

typedef struct colouring {
    colour_t colours[COLOURING_MOST];
    size_t count;
    uint8_t *of; /* by stay */
} colouring_t;

/* `by` is tag, size, stream or lifetime; NULL: tag if there are tags, else size. */
const char *colouring_by(const history_t *history, const char *by);
bool colouring_is(const char *by);
colouring_t colouring_make(const history_t *history, const char *by);
void colouring_free(colouring_t *colouring);

/* "1.25 MiB". */
void bytes_text(char *text, size_t room, double bytes);

#endif
