/*
 * What comes before what on simulated streams: the clocks of streams and of the host, and who
 * touched which granule last.
 */
#include "sim_internal.h"

#include <stdio.h>

/* ---- Faults ------------------------------------------------------------ */

/* ---- Clocks ------------------------------------------------------------ */

void sim_clock_join(sim_clock_t *into, const sim_clock_t *from)
{
    for (uint32_t i = 0; i < SIM_STREAMS; i++)
        if (from->at[i] > into->at[i])
            into->at[i] = from->at[i];
}

sim_clock_t *sim_host_clock(sim_t *sim)
{
    return &sim->streams[SIM_HOST]->clock;
}

bool sim_knows(sim_t *sim, uint32_t stream, const sim_clock_t *clock)
{
    const sim_clock_t *host = sim_host_clock(sim);
    const sim_clock_t *own = &sim->streams[stream]->clock;
    bool knows = true;
    for (uint32_t i = 0; knows && i < SIM_STREAMS; i++)
        knows = clock->at[i] <= own->at[i] || clock->at[i] <= host->at[i];
    return knows;
}

/* Work is queued by the host: it comes behind what the host knows. */
void sim_tick(sim_t *sim, uint32_t stream)
{
    sim_clock_t *clock = &sim->streams[stream]->clock;
    if (stream != SIM_HOST)
        sim_clock_join(clock, sim_host_clock(sim));
    clock->at[stream]++;
}

sim_segment_t *sim_segment_at(sim_t *sim, uint64_t address)
{
    for (uint32_t i = 0; i < SIM_SEGMENTS; i++) {
        sim_segment_t *s = &sim->segments[i];
        if (s->address != 0 && s->address <= address && address < s->address + s->bytes)
            return s;
    }
    return NULL;
}

static void race(sim_t *sim, const char *what, uint64_t address, uint32_t a, uint32_t b)
{
    sim->races++;
    sim_fault(sim, what, address, (uint64_t)a << 16 | b);
}

static void note_read(sim_t *sim, sim_touch_t *touch, uint32_t stream, uint32_t at)
{
    uint32_t i = 0;
    while (i < touch->read_count && touch->reads[i].reader != stream)
        i++;
    if (i == SIM_READERS) {
        sim_fault(sim, "more readers of a granule than are kept", stream, 0);
        return;
    }
    touch->reads[i].reader = stream;
    touch->reads[i].at = at;
    if (i == touch->read_count)
        touch->read_count++;
}

static void touch_one(sim_t *sim, sim_touch_t *touch, uint64_t address, uint32_t stream,
                      bool writes)
{
    const sim_clock_t *clock = &sim->streams[stream]->clock;
    if (touch->written > clock->at[touch->writer])
        race(sim, writes ? "unordered writes" : "a read unordered with a write", address,
             touch->writer, stream);
    for (uint32_t i = 0; writes && i < touch->read_count; i++)
        if (touch->reads[i].at > clock->at[touch->reads[i].reader])
            race(sim, "a write unordered with a read", address, touch->reads[i].reader, stream);
    if (!writes) {
        note_read(sim, touch, stream, clock->at[stream]);
        return;
    }
    touch->writer = stream;
    touch->written = clock->at[stream];
    touch->read_count = 0;
}

void sim_touch(sim_t *sim, uint32_t stream, const void *at, uint64_t bytes, bool writes)
{
    uint64_t begin = (uint64_t)(uintptr_t)at;
    uint64_t first = begin / SIM_GRANULE * SIM_GRANULE;
    for (uint64_t a = first; a < begin + bytes; a += SIM_GRANULE) {
        sim_segment_t *s = sim_segment_at(sim, a);
        if (s == NULL) {
            sim_fault(sim, "an access outside of all segments", a, stream);
            return;
        }
        touch_one(sim, &s->touches[(a - s->address) / SIM_GRANULE], a, stream, writes);
    }
}
