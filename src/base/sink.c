#include "base/sink.h"

#include <string.h>

#include "base/compiler.h"

void cuai_sink_begin(cuai_sink_t *sink, cuarena_write_fn write, void *user)
{
    CUAI_ASSERT(write != NULL);
    sink->write = write;
    sink->user = user;
    sink->refused = false;
    sink->used = 0;
}

static void flush(cuai_sink_t *sink)
{
    if (!sink->refused && sink->used != 0)
        sink->refused = sink->write(sink->user, sink->bytes, sink->used) != 0;
    sink->used = 0;
}

void cuai_sink_put(cuai_sink_t *sink, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    while (size != 0) {
        if (sink->used == sizeof sink->bytes)
            flush(sink);
        size_t room = sizeof sink->bytes - sink->used;
        size_t part = size < room ? size : room;
        memcpy(sink->bytes + sink->used, from, part);
        sink->used += part;
        from += part;
        size -= part;
    }
    CUAI_ASSERT(sink->used <= sizeof sink->bytes);
}

bool cuai_sink_end(cuai_sink_t *sink)
{
    flush(sink);
    return !sink->refused;
}

int32_t cuai_sink_count(void *user, const void *bytes, size_t size)
{
    (void)bytes;
    *(uint64_t *)user += size;
    return 0;
}
