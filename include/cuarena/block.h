/*
 * Blocks: bytes that are named by an id, which stays good when compaction moves them.
 *
 *   cuarena_block_alloc(arena, 4096, &block);
 *   cuarena_block_pin(arena, block, &pointer);     stays here from now on
 *   ... use the bytes at `pointer` ...
 *   cuarena_block_unpin(arena, block);             may move from now on
 *   cuarena_block_free(arena, block);
 *
 * What a GPU may still be using when it is freed is allocated, pinned and freed on its stream: see
 * streams.h. Threads, errors and cost are those of every call on an arena (arena.h); what an
 * allocation may return besides is in request.h.
 */
#ifndef CUARENA_BLOCK_H
#define CUARENA_BLOCK_H

#include "heap.h"
#include "request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates a block that is not pinned. 0 bytes give a live, empty block. */
CUARENA_API cuarena_status_t cuarena_block_alloc(cuarena_t *arena, uint64_t bytes,
                                                 cuarena_block_t *block_out);
/* Allocates as the request says (request.h); with a NULL request as cuarena_block_alloc. */
CUARENA_API cuarena_status_t cuarena_block_alloc_with(cuarena_t *arena, uint64_t bytes,
                                                      const cuarena_request_t *request,
                                                      cuarena_block_t *block_out);
/* Frees the block, pinned or not; a block that is being moved is freed when the move is done. You
 * must ensure that nothing uses its bytes any more. The id 0 is OK. Legal on a lost arena. */
CUARENA_API cuarena_status_t cuarena_block_free(cuarena_t *arena, cuarena_block_t block);
/* As cuarena_resize, and the block keeps its id. With 0 bytes it is empty, and lives. */
CUARENA_API cuarena_status_t cuarena_block_resize(cuarena_t *arena, cuarena_block_t block,
                                                  uint64_t bytes);
/* Keeps the block where it is, and gives its address, which is good only while the block is pinned;
 * NULL for an empty block. Each pin wants an unpin; BUSY if there are CUARENA_HEAP_MAX_PINS. Waits
 * for a move of the block that is under way. On a lost arena it is LOST: no block moves there any
 * more, and cuarena_block_info still gives the address. */
CUARENA_API cuarena_status_t cuarena_block_pin(cuarena_t *arena, cuarena_block_t block,
                                               void **pointer_out);
/* Ends one pin. BAD_ARGUMENT if no pin of cuarena_block_pin is left. Legal on a lost arena. */
CUARENA_API cuarena_status_t cuarena_block_unpin(cuarena_t *arena, cuarena_block_t block);
/* The id of the block that begins at `pointer`; STALE if none does. */
CUARENA_API cuarena_status_t cuarena_block_of(cuarena_t *arena, const void *pointer,
                                              cuarena_block_t *block_out);

/* What is known of a block; sizes are in bytes. Frozen. */
typedef struct cuarena_block_info {
    cuarena_block_t block;
    void *address;      /* NULL if empty; good while pinned */
    uint64_t requested; /* bytes asked for */
    uint64_t allocated; /* bytes that it has, after rounding up */
    uint64_t alignment; /* bytes */
    int32_t region;     /* CUARENA_REGION_... */
    cuarena_tag_t tag;
    uint16_t pins;   /* of the caller and of exports; one more of each stable or adopted
                      * block, and of a pointer until cuarena_unpin */
    uint8_t pointer; /* 1: made by the pointer calls */
    uint8_t dedicated;
    uint8_t adopted; /* 1: by cuarena_adopt */
    uint8_t moving;  /* 1: now */
    uint32_t zero;   /* 0 */
} cuarena_block_info_t;
CUARENA_API cuarena_status_t cuarena_block_info(cuarena_t *arena, cuarena_block_t block,
                                                cuarena_block_info_t *info_out);
/*
 * Enumerates the live blocks, in no particular order: copies up to `capacity` of them and moves
 * `cursor` on, which begins at 0. The enumeration has ended when fewer than `capacity` come. Blocks
 * that are made or freed meanwhile may or may not be seen; no other is missed or seen twice. Cost:
 * O(highest count of blocks so far) for all of it.
 */
CUARENA_API cuarena_status_t cuarena_blocks(cuarena_t *arena, uint64_t *cursor,
                                            cuarena_block_info_t *infos, size_t capacity,
                                            size_t *count_out);
/*
 * Makes `size` bytes of the caller's a block of this arena: it counts in statistics and limits, is
 * enumerated, and is pinned. The bytes stay the caller's: a free of the block forgets them. They
 * must stay valid until then. BAD_ARGUMENT if there are none, if address or size is no multiple of
 * the granule (the option `alignment`), or if they overlap the arena's own bytes or adopted ones.
 */
CUARENA_API cuarena_status_t cuarena_adopt(cuarena_t *arena, void *bytes, uint64_t size,
                                           cuarena_tag_t tag, cuarena_block_t *block_out);

#ifdef __cplusplus
}
#endif

#endif
