/*
 * Asking a running program: one request to the socket of its monitor, and the answer
 * (cuarena/monitor.h).
 */
#ifndef TOOLS_ASK_H
#define TOOLS_ASK_H

#include <jansson.h>

#include "fault.h"

typedef struct answer {
    char *bytes; /* ends with a zero that does not count */
    size_t length;
} answer_t;

/* A fault if nobody answers, or with an error, or not to the end. */
bool ask(const char *path, const char *request, answer_t *answer_out, fault_t *fault);
void answer_free(answer_t *answer);

/* The same for an answer that is JSON with a list "arenas". */
bool ask_arenas(const char *path, const char *request, json_t **object_out, fault_t *fault);

#endif
