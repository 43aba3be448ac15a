#define _GNU_SOURCE
#include "base/stack.h"

#include <stdio.h>

#include "base/bits.h"

#if defined(__has_include)
#if __has_include(<execinfo.h>) && __has_include(<link.h>)
#define HAS_STACKS 1
#endif
#endif

#ifdef HAS_STACKS
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <string.h>

/* Calls of this library on the way to an allocation, at most. */
#define OWN_FRAMES 12

bool cuai_stacks_exist(void)
{
    return true;
}

/* Where the file that an address is of begins in memory; NULL: not known. */
static const void *file_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

static const char here; /* in the file that this library is part of */

/* Looks at the first file, which is the program itself, and ends the look. */
static int look_at_program(struct dl_phdr_info *info, size_t size, void *has_us)
{
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t offset = (uintptr_t)&here - info->dlpi_addr - part->p_vaddr;
        if (part->p_type == PT_LOAD && offset < part->p_memsz)
            *(bool *)has_us = true;
    }
    return 1;
}

/* How many of the frames are this library's: none where it is linked into the program, for the
 * frames do not tell the two apart. */
static uint32_t count_own(void *const *frames, uint32_t count)
{
    bool in_program = false;
    uint32_t first = 0;
    (void)dl_iterate_phdr(look_at_program, &in_program);
    const void *own = file_of(&here);
    while (!in_program && first < count && file_of(frames[first]) == own)
        first++;
    return first == count ? 0 : first;
}

uint32_t cuai_stack_take(void **frames, uint32_t most)
{
    void *all[CUAI_MOST_FRAMES + OWN_FRAMES];
    CUAI_ASSERT(most <= CUAI_MOST_FRAMES);
    int found = backtrace(all, (int)most + OWN_FRAMES);
    uint32_t count = found < 0 ? 0 : (uint32_t)found;
    uint32_t first = count_own(all, count);
    CUAI_ASSERT(count <= most + OWN_FRAMES && first <= count);
    uint32_t kept = (uint32_t)cuai_min(count - first, most);
    memcpy(frames, all + first, kept * sizeof *frames);
    return kept;
}

void cuai_stack_print(const void *frame, char text[CUAI_FRAME_TEXT])
{
    Dl_info info;
    unsigned long long at = (uintptr_t)frame;
    if (dladdr(frame, &info) == 0 || info.dli_fname == NULL)
        (void)snprintf(text, CUAI_FRAME_TEXT, "0x%llx", at);
    else if (info.dli_sname != NULL)
        (void)snprintf(text, CUAI_FRAME_TEXT, "%.100s+0x%llx (%.80s)", info.dli_sname,
                       at - (uintptr_t)info.dli_saddr, info.dli_fname);
    else
        (void)snprintf(text, CUAI_FRAME_TEXT, "%.150s+0x%llx", info.dli_fname,
                       at - (uintptr_t)info.dli_fbase);
}

#else

bool cuai_stacks_exist(void)
{
    return false;
}

uint32_t cuai_stack_take(void **frames, uint32_t most)
{
    (void)frames;
    (void)most;
    return 0;
}

void cuai_stack_print(const void *frame, char text[CUAI_FRAME_TEXT])
{
    (void)snprintf(text, CUAI_FRAME_TEXT, "%p", frame);
}

#endif
