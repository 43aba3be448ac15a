#include "trace/writer.h"

#include <string.h>

#include "base/host.h"
#include "trace/gzip.h"

/* How much text is written at once, and after which time it is written anyway. */
#define PIECE_BYTES ((size_t)64 << 10)
#define MOST_AGE_NS UINT64_C(100000000)

/* Makes room for one more line. Text becomes longer than a piece only where many events are added
 * under one lock. */
static bool make_room(cuai_writer_t *w)
{
    CUAI_ASSERT(w->used <= w->room);
    size_t wanted = w->used + CUAI_TRACE_LINE;
    if (CUAI_LIKELY(wanted <= w->room))
        return true;
    size_t room = w->room == 0 ? PIECE_BYTES + CUAI_TRACE_LINE : 2 * w->room;
    char *text = cuai_host_alloc_unzeroed(room);
    if (text == NULL)
        return false;
    if (w->used != 0)
        memcpy(text, w->text, w->used);
    cuai_host_free(w->text);
    cuai_writer_count(w->trace, room, w->room);
    w->text = text;
    w->room = room;
    return true;
}

static bool takes_lines(const cuai_writer_t *w)
{
    return cuai_trace_writes(w->trace) &&
           atomic_load_explicit(&w->trace->file.failed, memory_order_relaxed) == 0;
}

bool cuai_writer_add(cuai_writer_t *w, const cuai_trace_entry_t *event)
{
    cuai_lock_assert_held(&w->lock);
    CUAI_ASSERT(w->serial != 0 && event->seen.thread != 0);
    if (w->ring != NULL)
        w->ring[w->ringed++ % w->trace->ring_room] = event->seen;
    if (!takes_lines(w))
        return true;
    if (w->used == 0)
        w->written_ns = w->text == NULL ? event->seen.time_ns : w->written_ns;
    if (!make_room(w))
        return false;
    w->used += cuai_trace_line(event, w->text + w->used);
    return true;
}

bool cuai_writer_is_due(const cuai_writer_t *w, uint64_t now_ns)
{
    cuai_lock_assert_held(&w->lock);
    return w->used >= PIECE_BYTES - CUAI_TRACE_LINE ||
           (w->used != 0 && now_ns - w->written_ns >= MOST_AGE_NS && now_ns > w->written_ns);
}

static bool pack_room(cuai_writer_t *w)
{
    size_t wanted = cuai_gzip_most(w->room);
    if (!w->trace->file.gzip || w->packed_room >= wanted)
        return true;
    cuai_host_free(w->packed);
    w->packed = cuai_host_alloc_unzeroed(wanted);
    wanted = w->packed == NULL ? 0 : wanted;
    cuai_writer_count(w->trace, wanted, w->packed_room);
    w->packed_room = wanted;
    return w->packed != NULL;
}

bool cuai_writer_write(cuai_writer_t *w)
{
    cuai_lock_assert_held(&w->lock);
    if (w->used == 0 || !pack_room(w))
        return true;
    CUAI_ASSERT(w->serial != 0);
    cuai_trace_file_t *file = &w->trace->file;
    bool good = cuai_trace_file_append(file, w->text, w->used, file->gzip ? w->packed : NULL);
    w->used = 0;
    w->written_ns = cuai_trace_now();
    return good;
}

uint64_t cuai_writer_drop_text(cuai_writer_t *w)
{
    cuai_lock_assert_held(&w->lock);
    uint64_t lines = 0;
    for (size_t i = 0; i < w->used; i++)
        lines += w->text[i] == '\n';
    cuai_host_free(w->text);
    cuai_host_free(w->packed);
    cuai_writer_count(w->trace, 0, w->room + w->packed_room);
    w->text = NULL;
    w->packed = NULL;
    w->used = w->room = w->packed_room = 0;
    return lines;
}

void cuai_writer_clear(cuai_writer_t *w)
{
    (void)cuai_writer_drop_text(w);
    cuai_host_free(w->ring);
    if (w->ring != NULL)
        cuai_writer_count(w->trace, 0, w->trace->ring_room * sizeof *w->ring);
    w->ring = NULL;
    w->ringed = 0;
    w->serial = 0;
    w->trace = NULL;
}

size_t cuai_writer_copy(const cuai_writer_t *w, cuarena_traced_t *events, size_t room)
{
    cuai_lock_assert_held(&w->lock);
    if (w->ring == NULL)
        return 0;
    uint64_t ring_room = w->trace->ring_room;
    uint64_t count = w->ringed < ring_room ? w->ringed : ring_room;
    count = count < room ? count : room;
    for (uint64_t i = 0; i < count; i++)
        events[i] = w->ring[(w->ringed - count + i) % ring_room];
    return (size_t)count;
}
