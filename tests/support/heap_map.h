/*
 * Heaps drawn as text: built from a picture and compared with one.
 *
 * A picture lists entries in address order, sizes in granules:
 *   a4     a block of 4 granules, by its tag: 'a' to 'z'
 *   a4!    the same, pinned (! per pin)
 *   a4@8   the same, asked for with an alignment of 8 granules
 *   -3     an idle range of 3 granules
 *   2:3    a range of the second free list that the map made (1 to 9)
 *   a4^ -3^  the same, held by a plan (shown, not built)
 *   ~16    a gap of 16 granules: what follows is another segment
 *   |      what follows is another segment that touches (built, not shown)
 *
 * Whatever the placement policy, a built heap looks as drawn: each block is made when the only
 * range is the one it fills.
 */
#ifndef CUARENA_TEST_HEAP_MAP_H
#define CUARENA_TEST_HEAP_MAP_H

#include "expect.h"

#include <cuarena/heap.h>

/* Invented addresses: never page 0, never readable. */
#define MAP_BASE UINT64_C(0x7f0000000000)
#define MAP_GRANULE UINT64_C(256)
#define MAP_TEXT 4096u
#define MAP_FREELISTS 10u

typedef struct map {
    cuarena_heap_t *heap;
    uint64_t granule;
    cuarena_block_t ids[128];          /* by tag letter, the last one made */
    uint32_t freelists[MAP_FREELISTS]; /* by digit; 0 is the idle free list */
    unsigned freelist_count;
    char text[MAP_TEXT];
} map_t;

/* MAP_GRANULE, 4096 blocks at most, and the placement that a picture can show: best fit, cut from
 * the low end. */
cuarena_heap_config_t map_config(void);
/* A map that begins at MAP_BASE, on a heap of map_config. */
void map_open(map_t *map, const char *picture);
void map_open_with(map_t *map, const cuarena_heap_config_t *config, const char *picture);
void map_close(map_t *map);
/* Adds what the picture shows from `granules` past MAP_BASE on. */
void map_add(map_t *map, uint64_t granules, const char *picture);

/* The heap's picture; good until the next call. Validates. */
const char *map_text(map_t *map);
#define expect_map(map, picture) expect_text(map_text(map), picture)

/* Addresses and sizes in bytes of places and lengths in granules. */
uint64_t map_at(const map_t *map, uint64_t granules);
uint64_t map_bytes(const map_t *map, uint64_t granules);
cuarena_block_t map_id(const map_t *map, char tag);
uint64_t map_offset(const map_t *map, char tag);
/* 1 to 9: makes free lists up to that one as needed. 0: the idle free list. */
uint32_t map_freelist(map_t *map, unsigned digit);

/* The calls, by tag letter and in granules; each validates the heap. */
cuarena_status_t map_alloc(map_t *map, char tag, uint64_t granules);
cuarena_status_t map_alloc_in(map_t *map, char tag, uint64_t granules, unsigned freelist);
cuarena_status_t map_alloc_aligned(map_t *map, char tag, uint64_t granules,
                                   uint64_t alignment_granules);
cuarena_status_t map_free(map_t *map, char tag);
cuarena_status_t map_free_to(map_t *map, char tag, unsigned freelist);
cuarena_status_t map_resize(map_t *map, char tag, uint64_t granules);
cuarena_status_t map_resize_in(map_t *map, char tag, uint64_t granules, unsigned freelist);
cuarena_status_t map_exchange(map_t *map, char a, char b);
cuarena_status_t map_pin(map_t *map, char tag);
cuarena_status_t map_unpin(map_t *map, char tag);
cuarena_status_t map_segment(map_t *map, uint64_t at, uint64_t granules);
cuarena_status_t map_extend(map_t *map, uint64_t at, uint64_t granules);
cuarena_status_t map_cut(map_t *map, uint64_t at, uint64_t granules);
cuarena_status_t map_join(map_t *map, uint64_t at);

#endif
