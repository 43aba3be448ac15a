#include "measure.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cuarena/snapshot.h"
#include "progress.h"
#include "verify.h"

/* The least automatic limit of an arena that grows: it takes whole pages of
 * its memory, so that twice the peak of a small trace may be none. */
#define LEAST_LIMIT (UINT64_C(64) << 20)

static uint64_t auto_bytes(const player_setup_t *setup, uint64_t peak_bytes)
{
    uint64_t least = player_grows(setup) ? LEAST_LIMIT : setup->config.alignment;
    uint64_t bytes = 2 * peak_bytes < PLAYER_MOST_BYTES ? 2 * peak_bytes : PLAYER_MOST_BYTES;
    return bytes > least ? bytes : least;
}

static bool set_auto_pool(player_setup_t *setup, const trace_t *trace, fault_t *fault)
{
    uint64_t alignment = setup->config.alignment;
    if (!player_check_peak(trace, alignment, ", or --pool with a size", fault))
        return false;
    player_set_pool_bytes(setup, auto_bytes(setup, trace_peak(trace, alignment).bytes));
    return true;
}

bool measure_setup(const measure_ask_t *ask, const trace_t *trace, player_setup_t *setup_out,
                   fault_t *fault)
{
    *setup_out = ask->setup;
    if (ask->pool_auto)
        return set_auto_pool(setup_out, trace, fault);
    player_set_pool(setup_out, ask->pool);
    return true;
}

static bool time_whole(const measure_ask_t *ask, const player_setup_t *setup, const trace_t *trace,
                       measure_t *m, fault_t *fault)
{
    player_t player;
    double ns = 0;
    progress_step("timing");
    if (!player_open(&player, setup, trace, NULL, fault))
        return false;
    (void)player_time(&player, ask->passes, &ns);
    m->ns_mean = m->ns_mean == 0 || ns < m->ns_mean ? ns : m->ns_mean;
    m->allocs = trace->allocs;
    m->frees = trace->frees - player.skipped_first;
    m->events = m->allocs + m->frees;
    m->failed = player.refused;
    m->refusal = player.first_refusal;
    m->tally = player_tally(&player);
    player_close(&player);
    return true;
}

static int by_value(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The smallest value that at least so many of a thousand do not pass. */
static uint32_t percentile(const uint32_t *sorted, size_t count, size_t thousandths)
{
    size_t rank = (count * thousandths + 999) / 1000;
    return count == 0 ? 0 : sorted[rank > 0 ? rank - 1 : 0];
}

static void sum_up(measure_t *m, uint32_t *nanoseconds, size_t count)
{
    qsort(nanoseconds, count, sizeof *nanoseconds, by_value);
    m->ns_p50 = percentile(nanoseconds, count, 500);
    m->ns_p99 = percentile(nanoseconds, count, 990);
    m->ns_p999 = percentile(nanoseconds, count, 999);
    m->ns_max = percentile(nanoseconds, count, 1000);
}

static uint64_t largest_free_bytes(const player_t *player)
{
    cuarena_inspection_t inspection;
    cuarena_inspection_init(&inspection);
    (void)cuarena_inspect(player->arena, CUARENA_REGION_DYNAMIC, &inspection);
    return inspection.largest_bytes;
}

/* Makes the arena write the snapshot itself when a request is refused. */
static bool prepare_snapshot(player_setup_t *setup, const char *path, fault_t *fault)
{
    char pattern[2 * PATH_MAX];
    size_t used = 0;
    for (const char *at = path; *at != '\0' && used + 2 < sizeof pattern; at++) {
        pattern[used++] = *at;
        if (*at == '%')
            pattern[used++] = '%';
    }
    pattern[used] = '\0';
    return cuarena_config_set(&setup->config, "snapshot_on_oom", pattern) == CUARENA_OK ||
           fault_library(fault, "--snapshot is '%s'", fault_quote(path, strlen(path)));
}

/* At the peak, unless a request was refused before. */
static bool write_snapshot(const player_t *player, const char *path, fault_t *fault)
{
    size_t length = strlen(path);
    bool torch = length >= 7 && strcmp(path + length - 7, ".pickle") == 0;
    int32_t format = torch ? CUARENA_SNAPSHOT_PYTORCH : CUARENA_SNAPSHOT_JSON;
    return player->refused != 0 ||
           cuarena_snapshot_write(player->arena, format, path) == CUARENA_OK ||
           fault_library(fault, "--snapshot");
}

/* One pass, whatever was asked, interrupted after the event of the peak. */
static bool time_each(const measure_ask_t *ask, const player_setup_t *setup, const trace_t *trace,
                      size_t peak_event, measure_t *m, fault_t *fault)
{
    player_t player;
    player_setup_t own = *setup;
    progress_step("timing each event");
    if (ask->snapshot != NULL && !prepare_snapshot(&own, ask->snapshot, fault))
        return false;
    if (!player_open(&player, &own, trace, NULL, fault))
        return false;
    uint32_t *nanoseconds = must_have(NULL, trace->event_count, sizeof *nanoseconds);
    size_t count = player_clock(&player, 0, peak_event + 1, nanoseconds);
    m->largest_free_bytes_at_peak = largest_free_bytes(&player);
    m->segments_at_peak = player_tally(&player).segments;
    bool written = ask->snapshot == NULL || write_snapshot(&player, ask->snapshot, fault);
    count += player_clock(&player, peak_event + 1, trace->event_count, nanoseconds + count);
    sum_up(m, nanoseconds, count);
    free(nanoseconds);
    player_close(&player);
    return written;
}

bool measure_trace(const measure_ask_t *ask, const trace_t *trace, measure_t *measure_out,
                   fault_t *fault)
{
    measure_t m = {.min_pool = {.found = false}, .min_limit = {.found = false}};
    player_setup_t setup;
    trace_peak_t peak = trace_peak(trace, ask->setup.config.alignment);
    m.peak_live_bytes = peak.bytes;
    if (!measure_setup(ask, trace, &setup, fault))
        return false;
    for (uint64_t run = 0; run < ask->runs; run++)
        if (!time_whole(ask, &setup, trace, &m, fault))
            return false;
    if (!time_each(ask, &setup, trace, peak.event, &m, fault))
        return false;
    if (ask->verify) {
        progress_step("verifying");
        (void)verify_trace(&setup, trace, ask->passes, &m.mismatch);
    }
    if (ask->min_pool && !smallest_find(&ask->setup, trace, &m.min_pool, fault))
        return false;
    if (ask->min_limit && !smallest_find(&ask->growing, trace, &m.min_limit, fault))
        return false;
    *measure_out = m;
    return true;
}
