/* The calls for snapshots. */
#include "api/snapshot.h"

#include <string.h>

#include "api/call.h"
#include "base/pattern.h"

cuarena_status_t cuai_snapshot_check_format(int32_t format)
{
    if (format == CUARENA_SNAPSHOT_JSON || format == CUARENA_SNAPSHOT_PYTORCH)
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT, "format %d; accepted: 0 (JSON), 1 (PyTorch's)",
                     (int)format);
}

bool cuai_snapshot_format(const cuai_snapshot_t *s, int32_t format, cuarena_write_fn write,
                          void *user)
{
    CUAI_ASSERT(format == CUARENA_SNAPSHOT_JSON || format == CUARENA_SNAPSHOT_PYTORCH);
    cuai_sink_t sink;
    cuai_sink_begin(&sink, write, user);
    if (format == CUARENA_SNAPSHOT_JSON)
        cuai_snapshot_json(s, &sink);
    else
        cuai_snapshot_torch(s, &sink);
    return cuai_sink_end(&sink);
}

int32_t cuai_snapshot_format_of(const char *path)
{
    static const char ending[] = ".pickle";
    size_t length = strlen(path);
    size_t least = strlen(ending);
    bool torch = length >= least && strcmp(path + length - least, ending) == 0;
    return torch ? CUARENA_SNAPSHOT_PYTORCH : CUARENA_SNAPSHOT_JSON;
}

/* Copies the arena, once the format is one that a snapshot can have. */
static cuarena_status_t take(cuarena_t *arena, int32_t format, cuai_snapshot_t **snapshot_out)
{
    cuarena_status_t status = cuai_snapshot_check_format(format);
    return status == CUARENA_OK ? cuai_snapshot_copy(arena, snapshot_out) : status;
}

cuarena_status_t cuarena_snapshot_write(cuarena_t *arena, int32_t format, const char *path)
{
    if (arena == NULL || path == NULL)
        return cuai_null(arena == NULL ? "arena" : "path");
    cuai_snapshot_t *s;
    cuarena_status_t status = take(arena, format, &s);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = cuai_snapshot_save(s, format, path);
    cuai_snapshot_end(s);
    return cuai_told(status);
}

cuarena_status_t cuarena_snapshot_to(cuarena_t *arena, int32_t format, cuarena_write_fn write,
                                     void *user)
{
    if (arena == NULL || write == NULL)
        return cuai_null(arena == NULL ? "arena" : "write");
    cuai_snapshot_t *s;
    cuarena_status_t status = take(arena, format, &s);
    if (status != CUARENA_OK)
        return cuai_told(status);
    if (!cuai_snapshot_format(s, format, write, user))
        status = cuai_fail(CUARENA_UNSUPPORTED, "the caller's function did not take the snapshot");
    cuai_snapshot_end(s);
    return cuai_told(status);
}

/* ---- Of refusals ------------------------------------------------------- */

/* The number of the next one; 0: there is none. */
static uint64_t next_refusal(cuarena_t *arena, cuarena_status_t status)
{
    CUAI_ASSERT(arena->oom_snapshots <= CUAI_MOST_OOM_SNAPSHOTS);
    bool numbered = cuai_pattern_is_numbered(arena->config.snapshot_on_oom);
    bool lacks =
        status == CUARENA_OUT_OF_MEMORY || status == CUARENA_FRAGMENTED || status == CUARENA_LIMIT;
    if (!lacks || arena->oom_snapshots == (numbered ? CUAI_MOST_OOM_SNAPSHOTS : 1))
        return 0;
    return ++arena->oom_snapshots;
}

static cuarena_status_t write_refusal(cuarena_t *arena, const char *path)
{
    cuai_snapshot_t *s;
    cuarena_status_t status = cuai_snapshot_copy(arena, &s);
    if (status != CUARENA_OK)
        return status;
    status = cuai_snapshot_save(s, cuai_snapshot_format_of(path), path);
    cuai_snapshot_end(s);
    return status;
}

void cuai_snapshot_refusal(cuarena_t *arena, cuarena_status_t status)
{
    CUAI_ASSERT(arena->inside != 0);
    char path[CUAI_PATTERN_PATH];
    uint64_t number = next_refusal(arena, status);
    if (number == 0)
        return;
    cuai_unlock(&arena->lock);
    cuai_kept_error_t words = cuai_error_kept();
    cuai_pattern_print(arena->config.snapshot_on_oom, number, path);
    if (write_refusal(arena, path) == CUARENA_OK)
        cuai_log(CUARENA_LOG_INFO, "%s: snapshot of a refused request: %s", arena->label, path);
    else
        cuai_log(CUARENA_LOG_WARN, "%s: no snapshot of a refused request: %s", arena->label,
                 cuarena_last_error());
    cuai_error_restore(&words);
    cuai_arena_lock(arena);
}
