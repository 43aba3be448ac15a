/*
 * What the kernels in slide.cu and slide_bulk.cu have in common: tickets, looking up runs, the
 * table. CUDA, without a header of CUDA's.
 *
 * Order between blocks. A chunk is published with release and waited for with acquire: what was
 * written is read. Of a tile, what was read is written, and a read that has happened cannot see
 * what is written later; nothing else must be seen, for every byte is read once and written once.
 * So who waits for a tile only has to issue the writes after it has seen the word. Who publishes
 * one has to know that all reads have happened. Bytes that have arrived in shared memory, as its
 * barrier tells, have been read: a relaxed store will do. Loads into registers may be on their way
 * still when the block has met: that takes a release.
 */
#ifndef CUAI_MEMORY_CUDA_SLIDE_DEVICE_H
#define CUAI_MEMORY_CUDA_SLIDE_DEVICE_H

#include "slide_rules.h"
#include "slide_warp.h"

#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((shared))
#define KERNEL(...) extern "C" __attribute__((global, launch_bounds(__VA_ARGS__)))

typedef cuai_slide_params_t params_t;
typedef cuai_slide_run_t run_t;
typedef cuai_slide_span_t span_t;
typedef cuai_slide_range_t range_t;

/* ---- Tickets and what is published ------------------------------------- */

DEVICE uint32_t draw(const params_t &p)
{
    uint32_t found;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(found)
                 : "l"(p.ticket)
                 : "memory");
    return found - p.ticket_base;
}

/* What was written before the ticket was published can be read after that. */
DEVICE bool is_written(const params_t &p, uint32_t ticket)
{
    uint32_t wanted = p.published_base + ticket;
    uint32_t found;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(found)
                 : "l"(cuai_slide_word(&p, wanted))
                 : "memory");
    return cuai_slide_is_published(found, wanted);
}

/* What was read for the ticket may be overwritten. */
DEVICE bool is_read(const params_t &p, uint32_t ticket)
{
    uint32_t wanted = p.published_base + ticket;
    uint32_t found;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(found)
                 : "l"(cuai_slide_word(&p, wanted))
                 : "memory");
    return cuai_slide_is_published(found, wanted);
}

DEVICE void wait_for_one(const params_t &p, uint32_t ticket)
{
    while (!is_read(p, ticket))
        asm volatile("nanosleep.u32 200;");
}

DEVICE void wait_for(const params_t &p, const range_t &tickets)
{
    for (uint32_t t = tickets.begin; t < tickets.end; t++)
        wait_for_one(p, t);
}

/* A line of the ring is not used again before the ticket that it stood for is published. */
DEVICE void wait_for_line(const params_t &p, uint32_t ticket)
{
    if (ticket > p.published_mask)
        wait_for_one(p, ticket - p.published_mask - 1);
}

/* One thread, when the block or warp has met after reading or writing. */
DEVICE void publish(const params_t &p, uint32_t ticket)
{
    uint32_t value = p.published_base + ticket;
    wait_for_line(p, ticket);
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(cuai_slide_word(&p, value)), "r"(value)
                 : "memory");
}

/* One thread, after it has learnt that all that was read has arrived. */
DEVICE void publish_arrived(const params_t &p, uint32_t ticket)
{
    uint32_t value = p.published_base + ticket;
    wait_for_line(p, ticket);
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(cuai_slide_word(&p, value)), "r"(value)
                 : "memory");
}

/* ---- Runs -------------------------------------------------------------- */

DEVICE const GLOBAL run_t *run_address(const params_t &p, uint32_t k)
{
    return (const GLOBAL run_t *)p.runs + k;
}

DEVICE run_t run_of(const params_t &p, uint32_t k)
{
    if (p.runs == 0)
        return p.list[k];
    const GLOBAL run_t *run = run_address(p, k);
    run_t copy = {run->from, run->to, run->bytes, run->at, run->reach};
    return copy;
}

DEVICE uint32_t at_of(const params_t &p, uint32_t k)
{
    return p.runs == 0 ? p.list[k].at : run_address(p, k)->at;
}

DEVICE run_t by_source(const params_t &p, uint32_t place)
{
    if (p.by_source == 1)
        place = ((const uint32_t *)(p.list + p.run_count))[place];
    else if (p.by_source != 0)
        place = ((const GLOBAL uint32_t *)p.by_source)[place];
    return run_of(p, place);
}

/* The last of the runs [low, end) that begins at `unit` or below, as the first does; a whole warp
 * looks. */
DEVICE uint32_t find_run(const params_t &p, uint32_t unit, uint32_t low, uint32_t end)
{
    while (end - low > 1) {
        uint32_t step = (end - low + 31) / 32;
        uint32_t probe = low + lane_index() * step;
        uint32_t below = lanes_where(probe < end && at_of(p, probe) <= unit);
        low += (below - 1) * step;
        if (end - low > step)
            end = low + step;
    }
    return low;
}

/* The last chunk that begins at `unit` or below. Where runs are of equal length, the first look
 * finds it. */
DEVICE uint32_t find_chunk(const params_t &p, uint32_t unit)
{
    uint32_t low = 0;
    uint32_t end = cuai_slide_run_chunks(&p);
    uint32_t guess = (uint32_t)((uint64_t)unit * end / p.unit_count);
    guess = guess < 16 ? 0 : guess - 16;
    while (end - low > 1) {
        uint32_t step = 1;
        uint32_t first = guess;
        if (guess >= end) {
            step = (end - low + 31) / 32;
            first = low;
        }
        uint32_t probe = first + lane_index() * step;
        uint32_t below = lanes_where(probe < end && cuai_slide_chunk_at(&p, probe) <= unit);
        if (below == 0) {
            end = first;
        } else {
            low = first + (below - 1) * step;
            if (below < 32 && end - low > step)
                end = low + step;
        }
        guess = end;
    }
    return low;
}

DEVICE uint64_t source_end(const params_t &p, uint32_t place)
{
    run_t run = by_source(p, place);
    return run.from + run.bytes;
}

/* The first place of [low, end), of a source that ends above `address`; or
 * end. */
DEVICE uint32_t find_source(const params_t &p, uint64_t address, uint32_t low, uint32_t end)
{
    if (low >= end || source_end(p, low) > address)
        return low;
    uint32_t step = 1;
    while (low + step < end && source_end(p, low + step) <= address) {
        low += step;
        step *= 2;
    }
    for (; step != 0; step /= 2)
        if (low + step < end && source_end(p, low + step) <= address)
            low += step;
    return low + 1;
}

/* ---- The table --------------------------------------------------------- */

/* Called by one warp; each lane has FETCH_WORDS words of the chunk in flight. */
DEVICE void copy_chunk(const params_t &p, uint32_t chunk)
{
    uint64_t offset = (uint64_t)chunk * CUAI_SLIDE_CHUNK + lane_index() * 16;
    uint64_t end = offset + CUAI_SLIDE_CHUNK;
    for (; offset < end; offset += FETCH_WORDS * 512) {
        vector_t data[FETCH_WORDS];
#pragma unroll
        for (uint32_t i = 0; i < FETCH_WORDS; i++)
            data[i] = load_16(p.table + offset + i * 512);
#pragma unroll
        for (uint32_t i = 0; i < FETCH_WORDS; i++)
            store_16(p.runs + offset + i * 512, data[i]);
    }
}

DEVICE void store_run(const params_t &p, uint32_t k, const run_t &run)
{
    uint64_t address = p.runs + (uint64_t)k * sizeof(run_t);
    vector_t where = {run.from, run.to};
    vector_t what = {run.bytes, run.at | (uint64_t)run.reach << 32};
    store_16(address, where);
    store_16(address + 16, what);
}

#define PACKED_WORDS (CUAI_SLIDE_CHUNK_RUNS / 32)

/* Called by one warp. A packed run is one word: each lane unpacks one of every 32. */
DEVICE void unpack_chunk(const params_t &p, uint32_t chunk)
{
    uint32_t k = chunk * CUAI_SLIDE_CHUNK_RUNS + lane_index();
    uint32_t at = cuai_slide_chunk_at(&p, chunk);
    vector_t data[PACKED_WORDS];
#pragma unroll
    for (uint32_t i = 0; i < PACKED_WORDS; i++) {
        data[i].low = data[i].high = 0;
        if (k + i * 32 < p.run_count)
            data[i] = load_16(p.table + (k + i * 32) * (uint64_t)16);
    }
#pragma unroll
    for (uint32_t i = 0; i < PACKED_WORDS; i++) {
        cuai_slide_packed_t packed = {(uint32_t)data[i].low, (uint32_t)(data[i].low >> 32),
                                      (uint32_t)data[i].high, (uint32_t)(data[i].high >> 32)};
        run_t run = cuai_slide_unpack(&p, &packed, at);
        uint32_t units = cuai_slide_units(run.bytes, p.unit_log2);
        uint32_t sum = sum_up_to_lane(units);
        run.at += sum - units;
        at += from_lane(sum, 31);
        if (k + i * 32 < p.run_count)
            store_run(p, k + i * 32, run);
    }
}

/* Called by one warp. */
DEVICE void fetch_chunk(const params_t &p, uint32_t chunk)
{
    if (chunk >= p.fetch_ahead)
        wait_for_one(p, chunk - p.fetch_ahead);
    if (p.pack_log2 != 0)
        unpack_chunk(p, chunk);
    else
        copy_chunk(p, chunk);
    warp_barrier();
    if (lane_index() == 0)
        publish(p, chunk);
}

/* A whole warp waits until `count` chunks have been fetched; `known` is how many certainly are. */
DEVICE void wait_for_chunks(const params_t &p, uint32_t count, uint32_t &known)
{
    while (known < count) {
        uint32_t chunk = known + lane_index();
        known += lanes_before(chunk < p.fetch_count && is_written(p, chunk));
    }
}

/* ---- Tiles ------------------------------------------------------------- */

typedef struct tile {
    uint32_t ticket;
    range_t units;
    range_t runs; /* from that of the first unit; some may be too many */
} tile_t;

/* The last of the chunks from `chunk` on that has a unit below `end`. */
DEVICE uint32_t last_chunk(const params_t &p, uint32_t chunk, uint32_t end)
{
    uint32_t chunks = cuai_slide_run_chunks(&p);
    while (chunk + 1 < chunks && cuai_slide_chunk_at(&p, chunk + 1) < end)
        chunk++;
    return chunk;
}

/* Called by a whole warp; on return the tile's runs have been fetched. */
DEVICE tile_t tile_of(const params_t &p, uint32_t ticket, uint32_t &known_chunks)
{
    tile_t tile = {ticket, cuai_slide_tile(&p, ticket), {0, p.run_count}};
    uint32_t end = p.run_count;
    if (p.runs != 0) {
        uint32_t first = find_chunk(p, tile.units.begin);
        uint32_t last = last_chunk(p, first, tile.units.end);
        wait_for_chunks(p, cuai_slide_chunks_for(&p, last), known_chunks);
        tile.runs.begin = first * CUAI_SLIDE_CHUNK_RUNS;
        if (end > tile.runs.begin + CUAI_SLIDE_CHUNK_RUNS)
            end = tile.runs.begin + CUAI_SLIDE_CHUNK_RUNS;
        if (tile.runs.end > (last + 1) * CUAI_SLIDE_CHUNK_RUNS)
            tile.runs.end = (last + 1) * CUAI_SLIDE_CHUNK_RUNS;
    }
    tile.runs.begin = find_run(p, tile.units.begin, tile.runs.begin, end);
    return tile;
}

/* The readers of what a tile's piece of run k overwrites: one range if there are no gaps in it.
 * Where there are, the ranges are waited for one by one, if `may_wait`, or false is returned. */
DEVICE bool find_readers(const params_t &p, uint32_t k, const run_t &run, span_t piece,
                         uint32_t ticket, bool may_wait, range_t &all)
{
    uint64_t begin = run.to + piece.begin;
    uint64_t end = run.to + piece.end;
    uint32_t places = cuai_slide_places_for(&p, k);
    uint32_t place = find_source(p, begin, run.reach, places);
    for (; place < places; place++) {
        run_t source = by_source(p, place);
        if (source.from >= end)
            break;
        range_t more = cuai_slide_readers(&p, &source, begin, end, ticket);
        if (cuai_slide_join(&all, &more))
            continue;
        if (!may_wait)
            return false;
        wait_for(p, all);
        all = more;
    }
    return true;
}

#endif
