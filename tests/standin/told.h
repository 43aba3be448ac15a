/*
 * What compute-sanitizer would find: work that uses bytes of an arena which are no block's. The
 * tool that arenas tell (tests/nvtx/recorder.c) knows the blocks; where none listens nothing is
 * found.
 *
 * Bytes are looked at as they were when the work was queued. What a graph launches is not looked
 * at.
 */
#ifndef CUARENA_STANDIN_TOLD_H
#define CUARENA_STANDIN_TOLD_H

#include <stdint.h>

/* What may be used by work that is queued now; NULL: everything. It is the caller's to forget. */
void *sd_told(void);
void sd_told_forget(void *told);
/* Reports bytes that may not be used; by a call, if `told` is NULL, as it is now. */
void sd_told_call(uint64_t address, uint64_t bytes);
void sd_told_work(const void *told, uint64_t address, uint64_t bytes);

#endif
