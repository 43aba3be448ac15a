/*
 * The streams of a replay: a handle for each stream of a trace.
 *
 *   label   on memory `none`, where nothing ever runs: a handle that stands for
 *           no stream of a driver. No driver is opened.
 *   real    on every other memory: streams of the driver that the library
 *           found, in the primary context of the arena's device. It is
 *           retained for them, and current on the thread until they are
 *           closed: in host memory streams are used so.
 *
 * Nobody queues work on them but the arena itself, so they are idle but for what it lets them do.
 * The arena is ended before them.
 */
#ifndef TOOLS_STREAMS_H
#define TOOLS_STREAMS_H

#include "cuarena/streams.h"
#include "fault.h"

typedef struct streams {
    cuarena_stream_t *handles;
    size_t count;
    struct streams_driver *driver; /* NULL: they are labels */
} streams_t;

/* For a configuration that the arena was made with. The fault says why there are none. All 0 is
 * fine to close. */
bool streams_open(streams_t *streams, const cuarena_config_t *config, size_t count, fault_t *fault);
void streams_close(streams_t *streams);

#endif
