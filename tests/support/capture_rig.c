/* See capture_rig.h. */
#include "capture_rig.h"

#include <check.h>

cuarena_capture_t *begin_on(rig_t *rig, cuarena_stream_t stream)
{
    cuarena_capture_t *session = NULL;
    expect_ok(cuarena_capture_begin(rig->arena, stream, &session));
    ck_assert_ptr_nonnull(session);
    expect_clean(rig);
    return session;
}

void capture(rig_t *rig, cuarena_stream_t stream, bool on)
{
    sim_stream_of(&rig->sim, stream)->capturing = on;
}

void end_of(rig_t *rig, cuarena_capture_t *session)
{
    expect_ok(cuarena_capture_end(rig->arena, session));
    expect_clean(rig);
}

void release_to(rig_t *rig, cuarena_capture_t **session, cuarena_stream_t stream)
{
    expect_ok(cuarena_capture_release(rig->arena, session, stream));
    ck_assert_ptr_null(*session);
    expect_clean(rig);
}

cuarena_stats_t stats_of(rig_t *rig, cuarena_capture_t *session)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_capture_stats(rig->arena, session, &stats));
    return stats;
}

void compact_on(rig_t *rig, cuarena_stream_t stream, cuarena_compact_report_t *report)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = stream;
    cuarena_compact_report_init(report);
    expect_ok(cuarena_compact(rig->arena, &options, NULL, NULL, report));
    expect_clean(rig);
}

cuarena_status_t try_ask(rig_t *rig, int ask, uint64_t bytes, cuarena_stream_t stream, void **out)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = (ask & ZEROED) != 0;
    request.dedicated = (ask & DEDICATED) != 0;
    cuarena_status_t status = cuarena_alloc_on(rig->arena, bytes, stream, &request, out);
    expect_clean(rig);
    return status;
}

void *ask_on(rig_t *rig, int ask, uint64_t bytes, cuarena_stream_t stream)
{
    void *p = NULL;
    expect_ok(try_ask(rig, ask, bytes, stream, &p));
    ck_assert_ptr_nonnull(p);
    return p;
}

void reclaim(rig_t *rig)
{
    expect_ok(cuarena_reclaim(rig->arena, 0, NULL));
    expect_clean(rig);
}
