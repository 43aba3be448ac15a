/* The calls on capture sessions: each checks its arguments and enters the arena; arena/capture.c
 * does the work. */
#include "arena/capture.h"
#include "api/call.h"

cuarena_status_t cuarena_capture_begin(cuarena_t *arena, cuarena_stream_t stream,
                                       cuarena_capture_t **capture_out)
{
    if (arena == NULL || capture_out == NULL)
        return cuai_null(arena == NULL ? "arena" : "capture_out");
    cuarena_capture_t *made = NULL;
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "capture_begin", CUAI_CALL_WHOLE);
    if (status != CUARENA_OK)
        return status;
    status = cuai_capture_begin(arena, stream, &made);
    CUAI_ASSERT((status == CUARENA_OK) == (made != NULL));
    if (status == CUARENA_OK)
        *capture_out = made;
    return cuai_call_end(&call, status);
}

cuarena_status_t cuarena_capture_join(cuarena_t *arena, cuarena_capture_t *capture,
                                      cuarena_stream_t stream)
{
    if (arena == NULL || capture == NULL)
        return cuai_null(arena == NULL ? "arena" : "capture");
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "capture_join", CUAI_CALL_WHOLE);
    if (status != CUARENA_OK)
        return status;
    return cuai_call_end(&call, cuai_capture_join(arena, capture, stream));
}

cuarena_status_t cuarena_capture_end(cuarena_t *arena, cuarena_capture_t *capture)
{
    if (arena == NULL || capture == NULL)
        return cuai_null(arena == NULL ? "arena" : "capture");
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "capture_end", 0);
    if (status != CUARENA_OK)
        return status;
    return cuai_call_end(&call, cuai_capture_end(arena, capture));
}

cuarena_status_t cuarena_capture_release(cuarena_t *arena, cuarena_capture_t **capture,
                                         cuarena_stream_t stream)
{
    if (arena != NULL && (capture == NULL || *capture == NULL))
        return CUARENA_OK;
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "capture_release", 0);
    if (status != CUARENA_OK)
        return status;
    status = cuai_capture_release(arena, *capture, stream);
    if (status == CUARENA_OK)
        *capture = NULL;
    return cuai_call_end(&call, status);
}
