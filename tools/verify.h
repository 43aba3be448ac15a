/*
 * Verifying: a replay under watch, in which every block is checked against records that are not the
 * arena's own.
 *
 *   - Addresses are aligned, inside the arena's bytes, and no two live blocks
 *     overlap. A relocation begins where the block was, and writes over
 *     nothing that still lies there.
 *   - On memory that the host can touch, each block holds a pattern of its own
 *     in its first and last bytes and at places between. It must be there
 *     when the block is freed and, for all blocks, after each compaction.
 *   - The arena's own validator agrees at the end.
 */
#ifndef TOOLS_VERIFY_H
#define TOOLS_VERIFY_H

#include "player.h"

/* Replays `trace` so often in an arena of `setup`. A fault names the first thing that was not as it
 * should be; refused requests are none. */
bool verify_trace(const player_setup_t *setup, const trace_t *trace, uint64_t passes,
                  fault_t *fault);

#endif
