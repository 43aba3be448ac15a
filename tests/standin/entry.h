/* Entries: the table of entry points, and how programs find them. */
#ifndef CUARENA_STANDIN_ENTRY_H
#define CUARENA_STANDIN_ENTRY_H

#include "call.h"

typedef struct sd_entry {
    const char *name;   /* cuMemAlloc */
    const char *symbol; /* cuMemAlloc_v2 */
    int since;
    unsigned needs;
} sd_entry_t;

extern const sd_entry_t sd_entries[SD_ENTRY_COUNT];

#endif
