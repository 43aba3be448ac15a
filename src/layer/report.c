#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/log.h"
#include "base/sized.h"
#include "cuarena/stats.h"
#include "layer/layer.h"

/* ---- Figures ------------------------------------------------------------- */

void cuarena_layer_stats_init(cuarena_layer_stats_t *stats)
{
    if (stats != NULL)
        *stats = (cuarena_layer_stats_t){.struct_size = sizeof *stats};
}

static uint64_t count(const _Atomic uint64_t *of)
{
    return atomic_load_explicit(of, memory_order_relaxed);
}

static cuarena_layer_stats_t stats_of(const cuai_layer_device_t *device)
{
    return (cuarena_layer_stats_t){.struct_size = sizeof(cuarena_layer_stats_t),
                                   .arena = atomic_load(&device->arena),
                                   .allocs = count(&device->allocs),
                                   .frees = count(&device->frees),
                                   .captured = count(&device->captured),
                                   .driver_allocs = count(&device->driver_allocs),
                                   .driver_frees = count(&device->driver_frees),
                                   .refused_allocs = count(&device->refused_allocs)};
}

cuarena_status_t cuarena_layer_stats(int32_t device, cuarena_layer_stats_t *stats)
{
    if (!cuai_sized_ok(stats, sizeof *stats, sizeof *stats))
        return cuai_told(cuai_fail_struct("stats", stats));
    if (device < -1 || device >= CUAI_LAYER_DEVICES)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT, "device: %d, 0 to %d and -1 are accepted",
                                   device, CUAI_LAYER_DEVICES - 1));
    cuarena_layer_stats_t now =
        stats_of(&cuai_layer_devices[device < 0 ? CUAI_LAYER_DEVICES : device]);
    cuai_sized_write(stats, &now);
    return CUARENA_OK;
}

/* ---- The lines at exit --------------------------------------------------- */

static bool is_used(const cuarena_layer_stats_t *stats)
{
    return stats->arena != NULL || stats->allocs + stats->driver_allocs + stats->driver_frees > 0;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (1024.0 * 1024.0);
}

/* Writes the line of a device; its figures are of all arenas that it had. */
static void report_device(const char *name, const cuai_layer_device_t *device,
                          const cuarena_layer_stats_t *stats)
{
    CUAI_ASSERT(is_used(stats));
    cuarena_stats_t arena;
    cuarena_stats_init(&arena);
    if (stats->arena != NULL)
        (void)cuarena_stats(stats->arena, CUARENA_REGION_ALL, &arena);
    uint64_t peak_live = cuai_max(count(&device->peak_live), arena.peak_live_bytes);
    uint64_t peak_reserved = cuai_max(count(&device->peak_reserved), arena.peak_reserved_bytes);
    (void)fprintf(stderr,
                  "cuarena: %s: %" PRIu64 " allocations (%" PRIu64 " of graphs), %" PRIu64
                  " frees, peak %.1f MiB live, %.1f MiB reserved; to the driver: %" PRIu64
                  " allocations (%" PRIu64 " refused before), %" PRIu64 " frees\n",
                  name, stats->allocs, stats->captured, stats->frees, mib(peak_live),
                  mib(peak_reserved), stats->driver_allocs, stats->refused_allocs,
                  stats->driver_frees);
}

/* What a forked child inherits is the parent's to tell. */
static pid_t reporter;

static void report(void)
{
    bool any = false;
    if (getpid() != reporter)
        return;
    for (int32_t i = 0; i <= CUAI_LAYER_DEVICES; i++) {
        char name[32] = "no device";
        cuarena_layer_stats_t stats = stats_of(&cuai_layer_devices[i]);
        if (!is_used(&stats))
            continue;
        if (i < CUAI_LAYER_DEVICES)
            (void)snprintf(name, sizeof name, "device %d", i);
        report_device(name, &cuai_layer_devices[i], &stats);
        any = true;
    }
    if (!any)
        (void)fprintf(stderr, "cuarena: nothing was served%s\n",
                      cuai_layer_mode == CUAI_LAYER_OFF      ? ": it is off"
                      : cuai_layer_mode == CUAI_LAYER_RECORD ? ": calls are recorded"
                                                             : "");
}

void cuai_layer_report_later(void)
{
    CUAI_ASSERT(reporter == 0);
    reporter = getpid();
    (void)atexit(report);
}
