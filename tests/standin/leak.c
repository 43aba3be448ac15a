/*
 * Leaks: what is alive of each kind, on request and at exit.
 */
#include "call.h"
#include "context.h"
#include "object.h"
#include "options.h"
#include "space.h"
#include "vmm.h"
#include "work.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static size_t allocations(void)
{
    return sd_areas_alive(SD_AREA_DEVICE) + sd_areas_alive(SD_AREA_MANAGED) +
           sd_areas_alive(SD_AREA_PINNED) + sd_areas_alive(SD_AREA_POOLED);
}

static size_t mappings(void)
{
    return sd_areas_alive(SD_AREA_MAPPED);
}

static size_t pools(void)
{
    return sd_objects_alive(SD_POOL_OBJECT);
}

static size_t events(void)
{
    return sd_objects_alive(SD_EVENT_OBJECT);
}

static size_t streams(void)
{
    return sd_objects_alive(SD_STREAM_OBJECT);
}

static size_t modules(void)
{
    return sd_objects_alive(SD_MODULE_OBJECT);
}

static size_t graphs(void)
{
    return sd_objects_alive(SD_GRAPH_OBJECT);
}

static size_t execs(void)
{
    return sd_objects_alive(SD_EXEC_OBJECT);
}

static const struct {
    const char *kind;
    size_t (*alive)(void);
} kinds[] = {
    {"allocation", allocations},
    {"reservation", sd_reservations_alive},
    {"handle", sd_handles_alive},
    {"mapping", mappings},
    {"pool", pools},
    {"event", events},
    {"stream", streams},
    {"module", modules},
    {"graph", graphs},
    {"exec", execs},
    {"context", sd_contexts_held},
    {"descriptor", sd_descriptors_open},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static size_t report_leaks(void)
{
    size_t total = 0;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        size_t count = kinds[i].alive();
        total += count;
        if (count != 0)
            sd_report(STANDIN_LEAK, "%zu of kind %s alive", count, kinds[i].kind);
    }
    return total;
}

size_t standin_check_leaks(void)
{
    sd_lock();
    size_t total = report_leaks();
    sd_unlock();
    return total;
}

size_t standin_live(const char *kind)
{
    size_t count = (size_t)-1;
    sd_lock();
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (strcmp(kinds[i].kind, kind) == 0)
            count = kinds[i].alive();
    }
    sd_unlock();
    return count;
}

/* What is still queued is run, so that its faults are seen. */
__attribute__((destructor)) static void leave(void)
{
    sd_lock();
    if (sd_options.strict) {
        while (sd_work_step())
            ;
    }
    if (sd_options.leaks)
        report_leaks();
    size_t count = sd_report_count(STANDIN_ANY);
    sd_unlock();
    if (!sd_options.strict || count == 0)
        return;
    fprintf(stderr, "standin: %zu reports that nobody cleared\n", count);
    fflush(NULL);
    _exit(STANDIN_EXIT);
}
