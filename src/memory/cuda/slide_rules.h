/*
 * The rules of sliding: what the kernel in slide.cu, the plan in slide.c and the model of the
 * kernel in the tests have in common. The text is C and CUDA.
 *
 * Vocabulary
 *   run      bytes that move together: a source, a destination, a length
 *   launch   the runs that one kernel moves, as if one after the other
 *   unit     2^unit_log2 bytes, at least 128. A run takes whole units; those
 *            of a launch are numbered through, run after run
 *   tile     tile_units consecutive units, of one run or several: what is
 *            read, published, waited for and written
 *   piece    what a tile has of one run: consecutive bytes
 *   stage    room for a tile in a thread block, and who writes the tile
 *   chunk    CUAI_SLIDE_CHUNK bytes of the table of runs, which lies on the
 *            host, packed if it can be, and is fetched by the launch itself
 *   ticket   a number that blocks draw from a counter. Chunk c has ticket c,
 *            tile t has ticket fetch_count + t
 *
 * The protocol
 *   A block waits until it has an empty stage, and draws a ticket. A chunk it
 *   copies, once the one fetch_ahead before it is published, and publishes. A
 *   tile it reads into the stage, and draws again. The
 *   stage publishes the ticket when all bytes have arrived, waits until every
 *   tile whose source overlaps one of the destinations is published, writes,
 *   and is empty.
 *
 * Why it is right. In a launch (slide.c sees to it) no run writes where a
 * later one reads, and sources are disjoint, and destinations are. Units of a run that moves up are
 * numbered from its end. So what overlaps a tile's destination is of the tile itself or of a lower
 * ticket, and the wait for it is all that order takes: no tile reads what another wrote.
 *
 * Why it ends, with however few blocks at a time. Tickets are drawn in order, and who has drawn one
 * has room for its tile, reads and publishes it without waiting for anything but chunks, which have
 * lower tickets. So all that is drawn is published; so no wait is for ever; so stages become empty.
 *
 * Chunks come in order, because the first tiles want the first ones and the bus is what a long list
 * waits for.
 *
 * A ticket is drawn no sooner than there is an empty stage also because a block that sat on one
 * would hold up whoever writes after it. And each published word has a cache line of its own: many
 * wait for neighbouring ones at a time, and one line for all slowed everything down by a tenth.
 */
#ifndef CUAI_MEMORY_CUDA_SLIDE_RULES_H
#define CUAI_MEMORY_CUDA_SLIDE_RULES_H

#include <stdint.h>

#ifdef __CUDA__
#define CUAI_SLIDE_FN static inline __attribute__((device))
#else
#define CUAI_SLIDE_FN static inline
#endif

/* The most stages that a block of the bulk kernel can have. */
#define CUAI_SLIDE_STAGES 6

/* Bytes of a line of the ring. */
#define CUAI_SLIDE_LINE 128u

/* Memory may be mapped piece by piece, in pieces that begin and end at multiples of this. */
#define CUAI_SLIDE_SEAM 0x200000u

#define CUAI_SLIDE_CHUNK 4096u
#define CUAI_SLIDE_CHUNK_RUNS 128u

typedef struct cuai_slide_run {
    uint64_t from;
    uint64_t to;
    uint64_t bytes; /* multiple of 8, as the addresses are; not 0 */
    uint32_t at;    /* its first unit */
    uint32_t reach; /* of the runs ordered by source, the first whose source
                     * ends above `to`; run_count: none */
} cuai_slide_run_t;

/* A run in half the bytes, for the table of a launch whose sources and destinations ascend:
 * addresses from `origin` on and lengths in units of 2^pack_log2 bytes. The first unit follows from
 * the runs before. */
typedef struct cuai_slide_packed {
    uint32_t from;
    uint32_t to;
    uint32_t bytes;
    uint32_t reach;
} cuai_slide_packed_t;

/* Room for that many runs in the parameter. Those of a short list are there, and their order by
 * source after them if that is another; for a longer list there are the first units of the chunks
 * (a uint32_t each). */
#define CUAI_SLIDE_LIST 124
#define CUAI_SLIDE_INLINE 110
#define CUAI_SLIDE_MAX_RUNS (CUAI_SLIDE_LIST * 8u * CUAI_SLIDE_CHUNK_RUNS)

/* The kernel's only parameter. */
typedef struct cuai_slide_params {
    uint64_t runs;        /* address of the runs; 0: they are in `list` */
    uint64_t by_source;   /* address of uint32_t[run_count], the runs ordered by
                           * source; 0: they are in that order; 1: it follows
                           * the last run in `list` */
    uint64_t published;   /* address of a ring of published_mask + 1 lines */
    uint64_t ticket;      /* address of the uint32_t that tickets come from */
    uint64_t table;       /* address on the host of what goes to `runs` */
    uint64_t origin;      /* of a packed table */
    uint32_t pack_log2;   /* 0: the table is not packed */
    uint32_t fetch_count; /* chunks of the table */
    uint32_t fetch_ahead; /* so many are asked for at a time */
    uint32_t tile_count;
    uint32_t tile_units;
    uint32_t unit_count;
    uint32_t unit_log2;
    uint32_t run_count;
    uint32_t stages;         /* of a block */
    uint32_t ticket_base;    /* what the counter stood at */
    uint32_t published_base; /* added to a ticket: what is published */
    uint32_t published_mask;
    cuai_slide_run_t list[CUAI_SLIDE_LIST];
} cuai_slide_params_t;

typedef struct cuai_slide_span {
    uint64_t begin;
    uint64_t end;
} cuai_slide_span_t;

/* Units or tickets; none, if begin is not below end. */
typedef struct cuai_slide_range {
    uint32_t begin;
    uint32_t end;
} cuai_slide_range_t;

/* ---- Units ------------------------------------------------------------- */

CUAI_SLIDE_FN uint32_t cuai_slide_units(uint64_t bytes, uint32_t unit_log2)
{
    return (uint32_t)((bytes + ((uint64_t)1 << unit_log2) - 1) >> unit_log2);
}

/* Where in a run, in bytes, what it has of a tile lies. */
CUAI_SLIDE_FN cuai_slide_span_t cuai_slide_piece(const cuai_slide_params_t *params,
                                                 const cuai_slide_run_t *run,
                                                 cuai_slide_range_t tile)
{
    uint32_t units = cuai_slide_units(run->bytes, params->unit_log2);
    uint32_t first = tile.begin > run->at ? tile.begin - run->at : 0;
    uint32_t last = tile.end - run->at < units ? tile.end - run->at : units;
    if (run->to > run->from) {
        uint32_t mirrored = units - last;
        last = units - first;
        first = mirrored;
    }
    cuai_slide_span_t span = {(uint64_t)first << params->unit_log2,
                              (uint64_t)last << params->unit_log2};
    if (span.end > run->bytes)
        span.end = run->bytes;
    return span;
}

/* The units of a ticket's tile. */
CUAI_SLIDE_FN cuai_slide_range_t cuai_slide_tile(const cuai_slide_params_t *params, uint32_t ticket)
{
    cuai_slide_range_t units;
    units.begin = (ticket - params->fetch_count) * params->tile_units;
    uint32_t left = params->unit_count - units.begin;
    units.end = units.begin + (left < params->tile_units ? left : params->tile_units);
    return units;
}

/* How many of these bytes one bulk copy may read, or write: they lie in one piece of memory.
 * Checkers take a copy that begins in one and ends in the next for an access out of bounds. */
CUAI_SLIDE_FN uint64_t cuai_slide_to_seam(uint64_t address, uint64_t bytes)
{
    uint64_t left = CUAI_SLIDE_SEAM - address % CUAI_SLIDE_SEAM;
    return bytes < left ? bytes : left;
}

/* ---- Chunks ------------------------------------------------------------ */

/* How many chunks must have been fetched for a tile whose last run is in `chunk`. With sources in
 * the order of runs, nothing beyond is looked at, and nothing may be: what is there may be left
 * from another launch. */
CUAI_SLIDE_FN uint32_t cuai_slide_chunks_for(const cuai_slide_params_t *params, uint32_t chunk)
{
    return params->by_source == 0 ? chunk + 1 : params->fetch_count;
}

/* How many places in the order of sources matter for run k. */
CUAI_SLIDE_FN uint32_t cuai_slide_places_for(const cuai_slide_params_t *params, uint32_t k)
{
    return params->by_source == 0 ? k + 1 : params->run_count;
}

/* The first unit of a chunk's first run. Chunks of the order by source come after those of runs. */
CUAI_SLIDE_FN uint32_t cuai_slide_chunk_at(const cuai_slide_params_t *params, uint32_t chunk)
{
    return ((const uint32_t *)params->list)[chunk];
}

CUAI_SLIDE_FN cuai_slide_run_t cuai_slide_unpack(const cuai_slide_params_t *params,
                                                 const cuai_slide_packed_t *packed, uint32_t at)
{
    cuai_slide_run_t run = {params->origin + ((uint64_t)packed->from << params->pack_log2),
                            params->origin + ((uint64_t)packed->to << params->pack_log2),
                            (uint64_t)packed->bytes << params->pack_log2, at, packed->reach};
    return run;
}

CUAI_SLIDE_FN uint32_t cuai_slide_run_chunks(const cuai_slide_params_t *params)
{
    return (params->run_count + CUAI_SLIDE_CHUNK_RUNS - 1) / CUAI_SLIDE_CHUNK_RUNS;
}

/* ---- Tickets ----------------------------------------------------------- */

/* Which tickets below `ticket` read something of a run's source within
 * [begin, end), addresses that overlap it. */
CUAI_SLIDE_FN cuai_slide_range_t cuai_slide_readers(const cuai_slide_params_t *params,
                                                    const cuai_slide_run_t *run, uint64_t begin,
                                                    uint64_t end, uint32_t ticket)
{
    uint64_t low = begin > run->from ? begin - run->from : 0;
    uint64_t high = end - run->from;
    if (high > run->bytes)
        high = run->bytes;
    uint32_t first = (uint32_t)(low >> params->unit_log2);
    uint32_t last = (uint32_t)((high - 1) >> params->unit_log2);
    if (run->to > run->from) {
        uint32_t units = cuai_slide_units(run->bytes, params->unit_log2);
        uint32_t mirrored = units - 1 - last;
        last = units - 1 - first;
        first = mirrored;
    }
    cuai_slide_range_t tickets = {params->fetch_count + (run->at + first) / params->tile_units,
                                  params->fetch_count + (run->at + last) / params->tile_units + 1};
    if (tickets.end > ticket)
        tickets.end = ticket;
    return tickets;
}

/* Makes one range of two; 0 if there is a gap between them. */
CUAI_SLIDE_FN int cuai_slide_join(cuai_slide_range_t *all, const cuai_slide_range_t *more)
{
    if (more->begin >= more->end)
        return 1;
    if (all->begin >= all->end) {
        *all = *more;
        return 1;
    }
    if (more->begin > all->end || all->begin > more->end)
        return 0;
    if (more->begin < all->begin)
        all->begin = more->begin;
    if (more->end > all->end)
        all->end = more->end;
    return 1;
}

/* Where in the ring a published value goes. */
CUAI_SLIDE_FN uint64_t cuai_slide_word(const cuai_slide_params_t *params, uint32_t value)
{
    return params->published + (uint64_t)(value & params->published_mask) * CUAI_SLIDE_LINE;
}

/* A word of the ring that holds `found` says that `wanted` was published, or something later in its
 * place. */
CUAI_SLIDE_FN int cuai_slide_is_published(uint32_t found, uint32_t wanted)
{
    return (int32_t)(found - wanted) >= 0;
}

#endif
