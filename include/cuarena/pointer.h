/*
 * Pointers: blocks that are named by their address and stay where they are.
 *
 *   cuarena_alloc(arena, 4096, &pointer);
 *   cuarena_resize(arena, pointer, 8192, &pointer);
 *   cuarena_free(arena, pointer);
 *
 * What a GPU may still be using when it is freed is allocated and freed on its stream: see
 * streams.h. Threads, errors and cost are those of every call on an arena (arena.h); what an
 * allocation may return besides is in request.h.
 *
 * A block that is pinned does not move. A pointer is pinned from the start; cuarena_unpin ends
 * that.
 */
#ifndef CUARENA_POINTER_H
#define CUARENA_POINTER_H

#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates `bytes` in the dynamic region, pinned. 0 bytes give NULL and OK, and are not counted.
 */
CUARENA_API cuarena_status_t cuarena_alloc(cuarena_t *arena, uint64_t bytes, void **pointer_out);
/* Allocates as the request says (request.h); with a NULL request as cuarena_alloc. */
CUARENA_API cuarena_status_t cuarena_alloc_with(cuarena_t *arena, uint64_t bytes,
                                                const cuarena_request_t *request,
                                                void **pointer_out);
/* Allocates count * size bytes; BAD_ARGUMENT if that is 2^64 or more. */
CUARENA_API cuarena_status_t cuarena_alloc_array(cuarena_t *arena, uint64_t count, uint64_t size,
                                                 const cuarena_request_t *request,
                                                 void **pointer_out);
/* Frees the block that begins at `pointer`. You must ensure that nothing uses its bytes any more,
 * neither the CPU nor a kernel. NULL is OK. Legal on a lost arena. */
CUARENA_API cuarena_status_t cuarena_free(cuarena_t *arena, void *pointer);
/*
 * Makes the block `bytes` large, in place if there is room, else in another place, to which its
 * contents are copied; you must ensure that nothing uses them meanwhile. 0 bytes free the block and
 * give NULL; a NULL pointer allocates.
 *
 * Only bytes that are reserved and free behind the block are room. The arena does not grow for that
 * behind it: where there is none it finds another place for all of the block, if need be by growth,
 * and has both until the copy is made.
 *
 * BUSY if the block would have to move and is pinned by cuarena_block_pin. OUT_OF_MEMORY for a
 * stable block that would have to move: no compaction helps. UNSUPPORTED for dedicated and adopted
 * blocks, which keep their size. A failed call leaves block and contents as they were. Cost: the
 * bytes moved.
 */
CUARENA_API cuarena_status_t cuarena_resize(cuarena_t *arena, void *pointer, uint64_t bytes,
                                            void **pointer_out);
/* How many bytes were asked for, and how many the block has. Either output may be NULL. Legal on a
 * lost arena. */
CUARENA_API cuarena_status_t cuarena_size_of(cuarena_t *arena, const void *pointer,
                                             uint64_t *requested_out, uint64_t *allocated_out);
/* Lets compaction move this block; the relocation callback then gets the new address (compact.h).
 * BAD_ARGUMENT if it is unpinned already, or stable. */
CUARENA_API cuarena_status_t cuarena_unpin(cuarena_t *arena, void *pointer);
/* Undoes cuarena_unpin: the block stays where it is again. Waits for a move of it that is under
 * way. BAD_ARGUMENT if it was not unpinned; BUSY if the block has CUARENA_HEAP_MAX_PINS pins. */
CUARENA_API cuarena_status_t cuarena_pin(cuarena_t *arena, void *pointer);

#ifdef __cplusplus
}
#endif

#endif
