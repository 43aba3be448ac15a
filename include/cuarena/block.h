/*
 * Blocks: allocations named by ids that survive moves.
 * Threads, errors and cost that all calls on an arena share: see arena.h.
 */
#ifndef CUARENA_BLOCK_H
#define CUARENA_BLOCK_H

#include "heap.h"
#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Born without a pin. 0 bytes: a live, empty block. */
CUARENA_API cuarena_status_t cuarena_block_alloc(cuarena_t *arena, uint64_t bytes,
                                                 cuarena_block_t *block_out);
CUARENA_API cuarena_status_t cuarena_block_alloc_with(cuarena_t *arena, uint64_t bytes,
                                                      const cuarena_request_t *request,
                                                      cuarena_block_t *block_out);
/* Pinned or not. 0 is OK. A block that is being moved is freed when its move
 * is done. Legal on a lost arena. */
CUARENA_API cuarena_status_t cuarena_block_free(cuarena_t *arena, cuarena_block_t block);
/* Keeps the id; as cuarena_resize otherwise. 0 bytes: the block is empty. */
CUARENA_API cuarena_status_t cuarena_block_resize(cuarena_t *arena, cuarena_block_t block,
                                                  uint64_t bytes);
/* Holds the block where it is and tells where. An address is good only while the block is pinned.
 * Pins count: BUSY at CUARENA_HEAP_MAX_PINS. Waits for a move under way. NULL for an empty
 * block. */
CUARENA_API cuarena_status_t cuarena_block_pin(cuarena_t *arena, cuarena_block_t block,
                                               void **pointer_out);
/* Ends one pin. BAD_ARGUMENT if block_pin took none that is left. */
CUARENA_API cuarena_status_t cuarena_block_unpin(cuarena_t *arena, cuarena_block_t block);
/* The id of the block that begins at `pointer`. */
CUARENA_API cuarena_status_t cuarena_block_of(cuarena_t *arena, const void *pointer,
                                              cuarena_block_t *block_out);

/* What is known of a block. Frozen. */
typedef struct cuarena_block_info {
    cuarena_block_t block;
    void *address;      /* NULL if empty; good while pinned */
    uint64_t requested; /* bytes asked for */
    uint64_t allocated; /* bytes taken */
    uint64_t alignment;
    int32_t region;
    cuarena_tag_t tag;
    uint16_t pins;
    uint8_t pointer; /* 1: made by the pointer calls */
    uint8_t dedicated;
    uint8_t adopted;
    uint8_t moving;
    uint32_t zero;
} cuarena_block_info_t;
CUARENA_API cuarena_status_t cuarena_block_info(cuarena_t *arena, cuarena_block_t block,
                                                cuarena_block_info_t *info_out);
/*
 * Copies up to `capacity` live blocks, in no particular order. `cursor`
 * begins at 0; the enumeration ended when fewer than `capacity` came. Blocks made or freed
 * meanwhile may or may not be seen; no other is missed or seen twice. Cost: the slots passed over.
 */
CUARENA_API cuarena_status_t cuarena_blocks(cuarena_t *arena, uint64_t *cursor,
                                            cuarena_block_info_t *infos, size_t capacity,
                                            size_t *count_out);
/*
 * Counts foreign bytes as a block of this arena: it appears in statistics, limits and enumeration,
 * is pinned, and is forgotten, not returned, when it
 * is freed. BAD_ARGUMENT if there are none, address or size is no multiple of the granule, or they
 * overlap the arena's own or what is adopted already.
 */
CUARENA_API cuarena_status_t cuarena_adopt(cuarena_t *arena, void *bytes, uint64_t size,
                                           cuarena_tag_t tag, cuarena_block_t *block_out);

#ifdef __cplusplus
}
#endif

#endif
