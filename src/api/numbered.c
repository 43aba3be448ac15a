#include "api/numbered.h"

#include <string.h>

#include "api/snapshot.h"
#include "api/stats.h"
#include "arena/arenas.h"

uint64_t cuai_numbered_next(uint64_t number)
{
    uint64_t next = cuai_arenas_next(number);
    CUAI_ASSERT(next == 0 || next > number);
    return next;
}

bool cuai_numbered_figures(uint64_t number, cuai_figures_t *figures_out)
{
    cuarena_t *arena = cuai_arenas_enter(number);
    if (arena == NULL)
        return false;
    *figures_out = (cuai_figures_t){.number = number, .streams = arena->stream_count};
    memcpy(figures_out->name, arena->config.name, sizeof figures_out->name);
    cuai_stats_of(arena, &figures_out->stats);
    cuai_arenas_leave(arena);
    return true;
}

/* What cuai_snapshot_copy does, with an arena that is looked up each time. */
static cuarena_status_t fill(uint64_t number, cuai_snapshot_t *s)
{
    for (;;) {
        size_t bytes;
        cuarena_t *arena = cuai_arenas_enter(number);
        if (arena == NULL)
            return cuai_fail(CUARENA_STALE, "no arena has the number %llu",
                             (unsigned long long)number);
        bool filled = cuai_snapshot_fill(s, arena, &bytes);
        cuai_unlock(&arena->lock);
        cuarena_status_t status = filled ? cuai_snapshot_take_events(s, arena) : CUARENA_OK;
        cuai_unlock(&cuai_arenas_lock);
        if (!filled)
            status = cuai_snapshot_make_room(s, bytes);
        if (filled || status != CUARENA_OK)
            return status;
    }
}

cuarena_status_t cuai_numbered_snapshot(uint64_t number, cuai_snapshot_t **snapshot_out)
{
    cuai_snapshot_t *s = cuai_snapshot_new();
    if (s == NULL)
        return CUARENA_OUT_OF_MEMORY;
    cuarena_status_t status = fill(number, s);
    if (status == CUARENA_OK)
        *snapshot_out = s;
    else
        cuai_snapshot_end(s);
    return status;
}
