/*
 * cuarena_slide: executes a list of relocations on any device from compute capability 7.0,
 * addresses and sizes in multiples of 8. slide_rules.h has the vocabulary, the protocol and why it
 * is right.
 *
 * A block has one stage, in shared memory: all its threads read, then write, each the words that it
 * has read itself.
 */
#define FETCH_WORDS 4
#include "slide_device.h"

DEVICE uint32_t thread_count(void)
{
    return __nvvm_read_ptx_sreg_ntid_x();
}

/* 16-byte words that a thread has in flight. */
#define VECTORS 2

extern SHARED __attribute__((aligned(16))) vector_t tile_bytes[];

DEVICE uint64_t load_8(uint64_t address)
{
    uint64_t v;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(v) : "l"(address));
    return v;
}

DEVICE void store_8(uint64_t address, uint64_t v)
{
    asm volatile("st.global.u64 [%0], %1;" ::"l"(address), "l"(v) : "memory");
}

/* What a thread has of a tile: 16 bytes of source and destination, or 8, or none. */
typedef struct part {
    uint64_t from;
    uint64_t to;
    uint32_t bytes;
} part_t;

/* A run that a thread is at. */
typedef struct cursor {
    run_t run;
    uint32_t k;
    uint32_t end; /* its units */
} cursor_t;

DEVICE void go_to(const params_t &p, cursor_t &cursor, uint32_t k)
{
    cursor.k = k;
    cursor.run = run_of(p, k);
    cursor.end =
        cursor.run.at + cuai_slide_units(cursor.run.bytes, p.unit_log2);
}

/* To the run that has a unit, near by and not below. */
DEVICE void advance(const params_t &p, const tile_t &tile, cursor_t &cursor,
                    uint32_t unit)
{
    if (unit < cursor.end)
        return;
    uint32_t low = cursor.k;
    uint32_t step = 1;
    while (low + step < tile.runs.end && at_of(p, low + step) <= unit) {
        low += step;
        step *= 2;
    }
    for (; step != 0; step /= 2)
        if (low + step < tile.runs.end && at_of(p, low + step) <= unit)
            low += step;
    go_to(p, cursor, low);
}

DEVICE part_t part_of(const params_t &p, const run_t &run, uint32_t unit,
                      uint32_t inside)
{
    uint32_t first = unit - run.at;
    if (run.to > run.from)
        first = cuai_slide_units(run.bytes, p.unit_log2) - 1 - first;
    uint64_t offset = ((uint64_t)first << p.unit_log2) + inside;
    uint64_t left = offset < run.bytes ? run.bytes - offset : 0;
    part_t part = {run.from + offset, run.to + offset,
                   left < 16 ? (uint32_t)left : 16};
    return part;
}

DEVICE part_t part_at(const params_t &p, const tile_t &tile, cursor_t &cursor,
                      uint32_t vector)
{
    uint32_t byte = vector * 16;
    uint32_t unit = tile.units.begin + (byte >> p.unit_log2);
    part_t none = {0, 0, 0};
    if (unit >= tile.units.end)
        return none;
    advance(p, tile, cursor, unit);
    return part_of(p, cursor.run, unit, byte & ((1u << p.unit_log2) - 1));
}

DEVICE vector_t load_part(const part_t &part)
{
    vector_t v = {0, 0};
    if (part.bytes == 16 && part.from % 16 == 0)
        return load_16(part.from);
    if (part.bytes >= 8)
        v.low = load_8(part.from);
    if (part.bytes == 16)
        v.high = load_8(part.from + 8);
    return v;
}

DEVICE void store_part(const part_t &part, const vector_t &v)
{
    if (part.bytes == 16 && part.to % 16 == 0) {
        store_16(part.to, v);
        return;
    }
    if (part.bytes >= 8)
        store_8(part.to, v.low);
    if (part.bytes == 16)
        store_8(part.to + 8, v.high);
}

DEVICE void load_tile(const params_t &p, const tile_t &tile, uint32_t vectors)
{
    cursor_t cursor;
    go_to(p, cursor, tile.runs.begin);
    uint32_t stride = thread_count();
    for (uint32_t v = thread_index(); v < vectors; v += VECTORS * stride) {
        vector_t data[VECTORS];
#pragma unroll
        for (uint32_t i = 0; i < VECTORS; i++)
            data[i] = load_part(part_at(p, tile, cursor, v + i * stride));
#pragma unroll
        for (uint32_t i = 0; i < VECTORS; i++)
            if (v + i * stride < vectors)
                tile_bytes[v + i * stride] = data[i];
    }
}

/* Each thread stores what it loaded. */
DEVICE void store_tile(const params_t &p, const tile_t &tile, uint32_t vectors)
{
    cursor_t cursor;
    go_to(p, cursor, tile.runs.begin);
    uint32_t stride = thread_count();
    for (uint32_t v = thread_index(); v < vectors; v += stride)
        store_part(part_at(p, tile, cursor, v), tile_bytes[v]);
}

/* Threads share the pieces. */
DEVICE void wait_for_readers(const params_t &p, const tile_t &tile)
{
    uint32_t k = tile.runs.begin + thread_index();
    for (; k < tile.runs.end; k += thread_count()) {
        run_t run = run_of(p, k);
        if (run.at >= tile.units.end)
            break;
        span_t piece = cuai_slide_piece(&p, &run, tile.units);
        range_t readers = {0, 0};
        find_readers(p, k, run, piece, tile.ticket, true, readers);
        wait_for(p, readers);
    }
}

DEVICE void move_tile(const params_t &p, uint32_t ticket,
                      uint32_t &known_chunks)
{
    uint32_t vectors = (p.tile_units << p.unit_log2) / 16;
    tile_t tile = tile_of(p, ticket, known_chunks);
    load_tile(p, tile, vectors);
    block_barrier();
    if (thread_index() == 0)
        publish(p, ticket);
    wait_for_readers(p, tile);
    block_barrier();
    store_tile(p, tile, vectors);
}

DEVICE uint32_t draw_for_block(const params_t &p)
{
    static SHARED uint32_t drawn;
    if (thread_index() == 0)
        drawn = draw(p);
    block_barrier();
    uint32_t ticket = drawn;
    block_barrier();
    return ticket;
}

/* A block has one stage. */
KERNEL(256) void cuarena_slide(const params_t p)
{
    uint32_t known_chunks = 0;
    for (;;) {
        uint32_t ticket = draw_for_block(p);
        if (ticket >= p.fetch_count + p.tile_count)
            return;
        if (ticket >= p.fetch_count)
            move_tile(p, ticket, known_chunks);
        else if (thread_index() < 32)
            fetch_chunk(p, ticket);
    }
}
