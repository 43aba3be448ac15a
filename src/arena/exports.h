/* Exports: blocks whose handles other processes were given (exports.c). */
#ifndef CUAI_ARENA_EXPORTS_H
#define CUAI_ARENA_EXPORTS_H

#include "arena/find.h"
#include "cuarena/device.h"

/* Pins the block and counts the export. The caller sees to it that nothing moves the block.
 * OUT_OF_MEMORY: the host has none. BUSY: the block has the most pins that it can. */
cuarena_status_t cuai_export_begin(cuarena_t *arena, cuai_block_ref_t ref,
                                   cuarena_export_t **export_out);
/* Whether it is one of this arena's. O(exports). */
bool cuai_export_known(const cuarena_t *arena, const cuarena_export_t *one);
/* Ends the export and returns its block. If the block was freed meanwhile it is ENDING; after its
 * last export it is no longer EXPORTED. */
cuai_block_ref_t cuai_export_end(cuarena_t *arena, cuarena_export_t *one);
/* How many exports the block has. O(exports). */
uint32_t cuai_exports_of(const cuarena_t *arena, cuai_block_ref_t ref);
/* Frees them when the arena ends. No lock. */
void cuai_exports_forget(cuarena_t *arena);

#endif
