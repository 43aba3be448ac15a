/*
 * A state as a history: what an arena had at one moment, by a snapshot that it wrote. That is JSON
 * of version 1, as docs/snapshot.schema.json has it.
 */
#ifndef TOOLS_STATE_H
#define TOOLS_STATE_H

#include "history.h"
#include "source.h"

/* Whether the text is an object of JSON, rather than lines of CSV. */
bool state_is(const char *text, size_t length);
/* `path` is for messages. The fault names the file, what is wrong and what was expected. */
bool state_history(const char *path, const source_t *source, history_t *history_out,
                   fault_t *fault);

#endif
