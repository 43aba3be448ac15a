/*
 * Choices: the words that an option of the library takes, found out from its options table, so that
 * a new one appears here by itself.
 */
#ifndef TOOLS_CHOICES_H
#define TOOLS_CHOICES_H

#include "cuarena/arena.h"
#include "fault.h"

#define CHOICES_MOST 16

typedef struct choices {
    char words[CHOICES_MOST][32];
    size_t count;
} choices_t;

/* A fault if the library has no such option or it has no choices. */
bool choices_of(const char *key, choices_t *choices_out, fault_t *fault);

#endif
