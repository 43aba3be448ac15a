/* Capture sessions of an arena on simulated streams. */
#ifndef CUARENA_TEST_CAPTURE_RIG_H
#define CUARENA_TEST_CAPTURE_RIG_H

#include "stream_rig.h"

/* Each with the validator after it. */
cuarena_capture_t *begin_on(rig_t *rig, cuarena_stream_t stream);
void end_of(rig_t *rig, cuarena_capture_t *session);
void release_to(rig_t *rig, cuarena_capture_t **session, cuarena_stream_t stream);
/* The driver's part of it. */
void capture(rig_t *rig, cuarena_stream_t stream, bool on);
cuarena_stats_t stats_of(rig_t *rig, cuarena_capture_t *session);
/* All the way. */
void compact_on(rig_t *rig, cuarena_stream_t stream, cuarena_compact_report_t *report);
/* What a request asks for besides bytes. */
typedef enum ask {
    PLAIN = 0,
    ZEROED = 1,
    DEDICATED = 2
} ask_t;
cuarena_status_t try_ask(rig_t *rig, int ask, uint64_t bytes, cuarena_stream_t stream, void **out);
void *ask_on(rig_t *rig, int ask, uint64_t bytes, cuarena_stream_t stream);
/* Reclaims without waiting: what no event is behind is done, and all that may go has gone. */
void reclaim(rig_t *rig);

/* The arena asked nothing of a stream that was being captured. */
#define expect_untouched(rig) expect_u64((rig)->sim.captured_calls, 0)

#endif
