/* The calls for snapshots. */
#include "api/snapshot.h"

#include "api/call.h"

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
    cuai_sink_t sink;
    cuai_sink_begin(&sink, write, user);
    if (format == CUARENA_SNAPSHOT_JSON)
        cuai_snapshot_json(s, &sink);
    else
        cuai_snapshot_torch(s, &sink);
    return cuai_sink_end(&sink);
}

/* A copy for that format. */
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
