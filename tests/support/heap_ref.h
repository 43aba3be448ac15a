/*
 * The reference allocator: what a heap must be, kept the naive way, as one sorted array of entries.
 * It knows no placement policy. Where the heap may choose (offsets, ids) it is told what was chosen
 * and says whether that is legal.
 *
 * Questions (ref_can_...) give the status that the heap must answer;
 * ref_do_... makes the change that an OK stands for. A change that is not
 * legal gives the reason as text, else NULL.
 */
#ifndef CUARENA_TEST_HEAP_REF_H
#define CUARENA_TEST_HEAP_REF_H

#include <cuarena/heap.h>
#include <stdbool.h>

#define REF_NONE SIZE_MAX
/* The free list that a walk shows for ranges which a plan under way holds. */
#define REF_FREELIST_PLANNED (CUARENA_HEAP_MAX_FREELISTS - 1u)

typedef struct ref_entry {
    cuarena_heap_entry_t is; /* as a walk shows it; never a gap */
    bool opens;              /* first of its segment */
} ref_entry_t;

typedef struct ref {
    ref_entry_t *entries; /* address order */
    size_t count;
    size_t capacity;
    uint64_t granule;
    uint64_t split_threshold;
    uint64_t max_blocks;
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t requested_bytes;
    uint64_t peak_live_blocks;
    uint64_t peak_live_bytes;
    uint64_t peak_requested_bytes;
    uint64_t allocs;
    uint64_t frees;
    uint64_t changes; /* of anything a plan depends on */
} ref_t;

void ref_init(ref_t *ref, const cuarena_heap_config_t *config);
void ref_end(ref_t *ref);

/* ---- Looking ------------------------------------------------------------ */

/* The entry that has the byte at `offset`, or REF_NONE. */
size_t ref_at(const ref_t *ref, uint64_t offset);
size_t ref_block(const ref_t *ref, cuarena_block_t block);
size_t ref_next_block(const ref_t *ref, size_t from);
/* First past the segment that entry `i` is in. */
size_t ref_segment_end(const ref_t *ref, size_t i);
size_t ref_segment_begin(const ref_t *ref, size_t i);
/* UINT64_MAX if that overflows. */
uint64_t ref_round(const ref_t *ref, uint64_t size);
uint64_t ref_free_bytes(const ref_t *ref, uint32_t freelist);
uint64_t ref_largest(const ref_t *ref, uint32_t freelist);
/* Whether so many blocks live, segments exist and ranges of different free lists meet that the heap
 * may have no more records to tell them apart. */
bool ref_is_crowded(const ref_t *ref);
/* Whether `size` bytes so aligned fit into [offset, offset + length). */
bool ref_fits(uint64_t offset, uint64_t length, uint64_t size, uint64_t alignment);

/* ---- Segments ----------------------------------------------------------- */

cuarena_status_t ref_can_add(const ref_t *ref, uint64_t offset, uint64_t size);
void ref_do_add(ref_t *ref, uint64_t offset, uint64_t size);
cuarena_status_t ref_can_extend(const ref_t *ref, uint64_t offset, uint64_t bytes);
void ref_do_extend(ref_t *ref, uint64_t offset, uint64_t bytes);
cuarena_status_t ref_can_cut(const ref_t *ref, uint64_t offset, uint64_t bytes);
void ref_do_cut(ref_t *ref, uint64_t offset, uint64_t bytes);
cuarena_status_t ref_can_join(const ref_t *ref, uint64_t offset);
void ref_do_join(ref_t *ref, uint64_t offset);

/* ---- Blocks ------------------------------------------------------------- */

cuarena_status_t ref_can_alloc(const ref_t *ref, const cuarena_heap_request_t *request);
/* `entry`: what block_info says of the new block. */
const char *ref_do_alloc(ref_t *ref, const cuarena_heap_request_t *request,
                         const cuarena_heap_entry_t *entry);
void ref_do_add_block(ref_t *ref, const cuarena_heap_entry_t *entry);
void ref_do_free(ref_t *ref, size_t i, uint32_t freelist);
cuarena_status_t ref_can_resize(const ref_t *ref, size_t i, uint64_t size, uint32_t freelist);
const char *ref_do_resize(ref_t *ref, size_t i, uint64_t requested, uint64_t taken,
                          uint32_t freelist);
void ref_do_exchange(ref_t *ref, size_t a, size_t b);

/* ---- Free lists -------------------------------------------------------------- */

void ref_do_reclaim(ref_t *ref, uint32_t freelist);

/* ---- Plans -------------------------------------------------------------- */

/* What a plan may cost and what it costs. */
typedef struct ref_cost {
    uint64_t bytes;
    uint64_t moves;
} ref_cost_t;

/* Whether the moves are legal and do what the options ask for. */
const char *ref_check_plan(const ref_t *ref, const cuarena_heap_plan_options_t *options,
                           const cuarena_heap_move_t *moves, size_t count);
/* Tries every window; false if none serves within the limits. */
bool ref_cheapest(const ref_t *ref, const cuarena_heap_plan_options_t *options,
                  ref_cost_t *cost_out);
/* Whether alignments above the granule can make a difference. */
bool ref_has_alignments(const ref_t *ref, const cuarena_heap_plan_options_t *options);
void ref_do_begin(ref_t *ref, const cuarena_heap_move_t *moves, size_t count);
void ref_do_commit(ref_t *ref, const cuarena_heap_move_t *moves, size_t count, uint32_t freelist);
void ref_do_abort(ref_t *ref);

/* ---- The whole ---------------------------------------------------------- */

void ref_reset_peaks(ref_t *ref);
/* Walks the heap, validates it and compares everything. */
const char *ref_compare(const ref_t *ref, const cuarena_heap_t *heap, char *text, size_t text_size);

#endif
