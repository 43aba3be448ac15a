/* The check of guards on demand. */
#include "api/call.h"
#include "arena/watch.h"

/* All that one check found. */
typedef struct tour {
    uint64_t found;
    cuai_kept_error_t first; /* of the findings */
} tour_t;

/* Looks at one block. A capture that keeps it from being looked at is no error, nor is its end.
 * Drops the lock. */
static cuarena_status_t visit(cuarena_t *arena, cuarena_block_t block, tour_t *tour)
{
    CUAI_ASSERT(arena->watch != NULL);
    cuai_block_ref_t ref;
    uint32_t found;
    cuai_kept_error_t before = cuai_error_kept();
    cuarena_status_t status = cuai_look_at_block(arena, block, 0, &ref, &found);
    if (status == CUARENA_BUSY || status == CUARENA_STALE) {
        cuai_error_restore(&before);
        status = CUARENA_OK;
    }
    if (found != 0 && tour->found == 0)
        tour->first = cuai_error_kept();
    tour->found += found;
    return status;
}

/* Looks at all live blocks, until an error. Drops the lock. */
static cuarena_status_t visit_all(cuarena_t *arena, tour_t *tour)
{
    CUAI_ASSERT(arena->inside != 0);
    uint64_t cursor = 0;
    cuai_block_ref_t ref;
    cuarena_status_t status = CUARENA_OK;
    while (status == CUARENA_OK && cuai_find_next(arena, &cursor, &ref))
        status = visit(arena, cuai_id(ref.heap, ref.slot), tour);
    return status;
}

/* Lets all blocks out of the quarantine. Drops the lock. */
static void empty_quarantine(cuarena_t *arena, tour_t *tour)
{
    CUAI_ASSERT(arena->watch != NULL);
    uint64_t found = 0;
    cuai_kept_error_t before = cuai_error_kept();
    (void)cuai_quarantine_keep(arena, 0, &found);
    if (found != 0 && tour->found == 0)
        tour->first = cuai_error_kept();
    else
        cuai_error_restore(&before);
    tour->found += found;
}

static cuarena_status_t answer(const tour_t *tour)
{
    if (tour->found == 0)
        return CUARENA_OK;
    cuai_error_restore(&tour->first);
    if (tour->found > 1)
        cuai_error_add("; %llu findings in all", (unsigned long long)tour->found);
    return CUARENA_CORRUPT;
}

cuarena_status_t cuarena_check(cuarena_t *arena, uint64_t *findings_out)
{
    cuai_call_t call;
    tour_t tour = {0};
    cuarena_status_t status = cuai_call_begin(&call, arena, "check", CUAI_CALL_WHOLE);
    if (status != CUARENA_OK)
        return status;
    uint64_t findings = 0;
    if (arena->watch != NULL) {
        status = visit_all(arena, &tour);
        empty_quarantine(arena, &tour);
        findings = arena->watch->findings;
    }
    if (findings_out != NULL)
        *findings_out = findings;
    return cuai_call_end(&call, status == CUARENA_OK ? answer(&tour) : status);
}
