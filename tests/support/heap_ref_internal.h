/* What the files of the reference share: its array of entries. */
#ifndef CUARENA_TEST_HEAP_REF_INTERNAL_H
#define CUARENA_TEST_HEAP_REF_INTERNAL_H

#include "heap_ref.h"

void ref_reserve(ref_t *ref, size_t count);
ref_entry_t *ref_insert(ref_t *ref, size_t i);
void ref_erase(ref_t *ref, size_t i);
uint64_t ref_end_of(const ref_entry_t *entry);
bool ref_is_block(const ref_entry_t *entry);
bool ref_is_range_of(const ref_entry_t *entry, uint32_t freelist);
void ref_set_range(ref_entry_t *entry, uint64_t offset, uint64_t size, uint32_t freelist);
void ref_merge_with_next(ref_t *ref, size_t i);
void ref_refile(ref_t *ref, uint32_t from, uint32_t to);
bool ref_any_fits(const ref_t *ref, uint32_t freelist, uint64_t size, uint64_t alignment);

#endif
