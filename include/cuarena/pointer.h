/*
 * Pointers: allocations that stay where they are until compaction may move them (cuarena_unpin).
 * Threads, errors and cost that all calls on an arena share: see arena.h.
 */
#ifndef CUARENA_POINTER_H
#define CUARENA_POINTER_H

#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `bytes` of the dynamic region, pinned. 0 bytes: OK, NULL, not counted. */
CUARENA_API cuarena_status_t cuarena_alloc(cuarena_t *arena, uint64_t bytes, void **pointer_out);
/* NULL request: as cuarena_alloc. */
CUARENA_API cuarena_status_t cuarena_alloc_with(cuarena_t *arena, uint64_t bytes,
                                                const cuarena_request_t *request,
                                                void **pointer_out);
/* count * size bytes; BAD_ARGUMENT if that overflows. */
CUARENA_API cuarena_status_t cuarena_alloc_array(cuarena_t *arena, uint64_t count, uint64_t size,
                                                 const cuarena_request_t *request,
                                                 void **pointer_out);
/* The caller says that nothing uses the bytes any more. NULL is OK. Legal on a lost arena. */
CUARENA_API cuarena_status_t cuarena_free(cuarena_t *arena, void *pointer);
/*
 * Grows or shrinks, in place if it can, else by moving the contents (the
 * caller says that nothing uses them now). 0 bytes frees and gives NULL; a
 * NULL pointer allocates. BUSY if it would have to move and was pinned by cuarena_block_pin; a
 * stable block never moves: FRAGMENTED or OUT_OF_MEMORY. Dedicated and adopted blocks keep their
 * size: UNSUPPORTED.
 * On failure block and contents are as they were. Cost: the bytes moved.
 */
CUARENA_API cuarena_status_t cuarena_resize(cuarena_t *arena, void *pointer, uint64_t bytes,
                                            void **pointer_out);
/* Bytes asked for and bytes taken. Either output may be NULL. Legal on a lost arena. */
CUARENA_API cuarena_status_t cuarena_size_of(cuarena_t *arena, const void *pointer,
                                             uint64_t *requested_out, uint64_t *allocated_out);
/* Ends the pin that a pointer is born with: compaction may move it, and the relocation callback
 * tells the new address. BAD_ARGUMENT if it was ended already, or the block is stable. */
CUARENA_API cuarena_status_t cuarena_unpin(cuarena_t *arena, void *pointer);
/* Takes it again. Waits for a move under way. BAD_ARGUMENT if it is there;
 * BUSY at CUARENA_HEAP_MAX_PINS. */
CUARENA_API cuarena_status_t cuarena_pin(cuarena_t *arena, void *pointer);

#ifdef __cplusplus
}
#endif

#endif
