/*
 * A replay as a history: what a trace does in an arena that is made for it.
 */
#ifndef TOOLS_REPLAYED_H
#define TOOLS_REPLAYED_H

#include "history.h"
#include "player.h"

/* Replays the trace once. A fault if no arena can be made; refused events are none. */
bool replayed_history(const player_setup_t *setup, const trace_t *trace, history_t *history_out,
                      fault_t *fault);

#endif
