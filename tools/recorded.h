/*
 * A recording as a history: what an arena did, by a trace that says where its blocks were. That is
 * a trace with the columns op, id, size and address, in any order; stream, time, tag and note may
 * be there too.
 *
 *   op   a, f, resize, move, reset: of blocks; fail: a request was refused; grow, trim: bytes taken
 *        from the memory and given back. Other lines are passed over, and so is what is about a
 *        block that no line before allocates.
 *
 * Lines are put in the order of their times, those without one in that of the file.
 */
#ifndef TOOLS_RECORDED_H
#define TOOLS_RECORDED_H

#include "history.h"
#include "source.h"

/* Whether the first line has these columns. */
bool recorded_is(const source_t *source);
/* `path` is for messages. The fault names file, line, value and what was expected. */
bool recorded_history(const char *path, const source_t *source, history_t *history_out,
                      fault_t *fault);

#endif
