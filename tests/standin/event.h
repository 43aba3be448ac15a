/* Events: points of streams. One that was never recorded is complete. */
#ifndef CUARENA_STANDIN_EVENT_H
#define CUARENA_STANDIN_EVENT_H

#include "abi.h"
#include "object.h"
#include "work.h"

struct sd_capture;

typedef struct sd_event {
    sd_object_t object;
    unsigned flags;
    uint64_t record;            /* the latest, counted from 1; 0: never recorded */
    sd_clock_t clock;           /* of the latest record */
    double seconds;             /* when it ran; 0: not yet */
    struct sd_capture *capture; /* of the latest record, where captured */
    uint64_t capture_id;
    unsigned capture_branch;
    size_t capture_node;
} sd_event_t;

/* The live event of a handle; aborts on a dead one. */
sd_event_t *sd_event_get(CUevent handle);

#endif
