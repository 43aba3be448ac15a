/*
 * Arenas by their numbers, for those who ask about arenas that may end meanwhile: what they get is
 * a copy, and an arena that has ended is STALE. A number is never given twice in a process.
 */
#ifndef CUAI_API_NUMBERED_H
#define CUAI_API_NUMBERED_H

#include <stdbool.h>

#include "cuarena/snapshot.h"
#include "cuarena/stats.h"

/* The least number above that one which an arena has; 0: none has. O(arenas). */
uint64_t cuai_numbered_next(uint64_t number);

/* ---- Figures ----------------------------------------------------------- */

typedef struct cuai_figures {
    uint64_t number;
    char name[32];
    uint64_t streams; /* that the arena knows */
    cuarena_stats_t stats;
} cuai_figures_t;
/* Copies the figures of the arena with that number. False: it has ended. */
bool cuai_numbered_figures(uint64_t number, cuai_figures_t *figures_out);

/* ---- Snapshots --------------------------------------------------------- */

typedef struct cuai_snapshot cuai_snapshot_t;
/* Takes a snapshot of the arena with that number. STALE: it has ended. OUT_OF_MEMORY: the host has
 * none for the copy. */
cuarena_status_t cuai_numbered_snapshot(uint64_t number, cuai_snapshot_t **snapshot_out);
/* Frees a snapshot; NULL is fine. */
void cuai_snapshot_end(cuai_snapshot_t *s);
/* Writes it; false: the function took no more. */
bool cuai_snapshot_format(const cuai_snapshot_t *s, int32_t format, cuarena_write_fn write,
                          void *user);
/* CUARENA_SNAPSHOT_PYTORCH for the name of a file that ends in .pickle, else JSON. */
int32_t cuai_snapshot_format_of(const char *path);
/* Writes it into a file, as cuarena_snapshot_write. */
cuarena_status_t cuai_snapshot_save(const cuai_snapshot_t *s, int32_t format, const char *path);

#endif
