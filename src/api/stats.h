/* Statistics from inside: what cuarena_stats fills, and the names of its members. */
#ifndef CUAI_API_STATS_H
#define CUAI_API_STATS_H

#include "arena/arena.h"
#include "cuarena/stats.h"

/* The figures of the whole arena, but for struct_size. Lock held, no cache of a thread keeps
 * anything. */
void cuai_stats_of(const cuarena_t *arena, cuarena_stats_t *stats);
/* The name of the figure with that number, from 0 on, and the figure; NULL past the last. No lock.
 */
const char *cuai_stats_figure(const cuarena_stats_t *stats, size_t index, uint64_t *value_out);

#endif
