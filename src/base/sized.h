/*
 * Structs that begin with `struct_size`. A struct only ever grows at its end, so a caller's
 * struct_size says which members its program knows.
 *
 * `first` is the size that the struct had in the first release, `now` its size today. Any size in
 * between is accepted.
 */
#ifndef CUAI_BASE_SIZED_H
#define CUAI_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

static inline size_t cuai_sized_of(const void *sized)
{
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

/* Whether the struct's size is one of a release; false for NULL. */
static inline bool cuai_sized_ok(const void *sized, size_t first, size_t now)
{
    if (sized == NULL)
        return false;
    size_t size = cuai_sized_of(sized);
    return size >= first && size <= now;
}

/* Copies the members that the caller knows out of a whole struct. */
static inline void cuai_sized_write(void *to, const void *from)
{
    size_t size = cuai_sized_of(to);
    CUAI_ASSERT(size >= sizeof size);
    memcpy((char *)to + sizeof size, (const char *)from + sizeof size, size - sizeof size);
}

/* Copies the members that the caller knows into a whole struct, which holds
 * the defaults of the others. */
static inline void cuai_sized_read(void *to, const void *from)
{
    size_t size = cuai_sized_of(from);
    CUAI_ASSERT(size >= sizeof size && size <= cuai_sized_of(to));
    memcpy((char *)to + sizeof size, (const char *)from + sizeof size, size - sizeof size);
}

#endif
