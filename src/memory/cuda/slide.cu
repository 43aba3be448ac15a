/*
 * The kernel that executes a list of relocations; slide_rules.h has the
 * vocabulary, the protocol and why it is right. scripts/rebuild-slide makes
 * slide_ptx.c of it, which is what the library carries.
 *
 * Two entries, in two texts:
 *   cuarena_slide       any device from compute capability 7.0, addresses and
 *                       sizes in multiples of 8. A block has one stage; all
 *                       its threads read, then write.
 *   cuarena_slide_bulk  from 9.0, multiples of 16. One warp of a block draws
 *                       and reads, one warp for each stage publishes, waits
 *                       and writes, all by bulk copies. A tile has at most 32
 *                       units, so that a lane has one piece at most.
 *
 * Order between blocks. What a stage read has arrived in shared memory before
 * one thread publishes with release; who waits acquires, and writes after
 * that. Every byte is read once and written once.
 */
#include "slide_rules.h"

#define DEVICE static inline __attribute__((device))
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((shared))
#define KERNEL(...)                                                            \
    extern "C" __attribute__((global, launch_bounds(__VA_ARGS__)))

typedef cuai_slide_params_t params_t;
typedef cuai_slide_run_t run_t;
typedef cuai_slide_span_t span_t;
typedef cuai_slide_range_t range_t;

/* ---- The machine ------------------------------------------------------- */

DEVICE uint32_t thread_index(void)
{
    return __nvvm_read_ptx_sreg_tid_x();
}

DEVICE uint32_t lane_index(void)
{
    return thread_index() & 31;
}

DEVICE void block_barrier(void)
{
    asm volatile("bar.sync 0;" ::: "memory");
}

DEVICE void warp_barrier(void)
{
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

DEVICE uint32_t ballot(int condition)
{
    uint32_t lanes;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.s32 p, %1, 0;\n\t"
                 "vote.sync.ballot.b32 %0, p, 0xffffffff;\n\t}"
                 : "=r"(lanes)
                 : "r"(condition)
                 : "memory");
    return lanes;
}

/* How many lanes say yes. */
DEVICE uint32_t lanes_where(int condition)
{
    return (uint32_t)__builtin_popcount(ballot(condition));
}

/* How many say yes before the first that says no. */
DEVICE uint32_t lanes_before(int condition)
{
    uint32_t no = ~ballot(condition);
    return no == 0 ? 32 : (uint32_t)__builtin_ctz(no);
}

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

DEVICE uint64_t published_word(const params_t &p, uint32_t value)
{
    return p.published + (uint64_t)(value & p.published_mask) * 4;
}

DEVICE bool is_published(const params_t &p, uint32_t number)
{
    uint32_t wanted = p.published_base + number;
    uint32_t found;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(found)
                 : "l"(published_word(p, wanted))
                 : "memory");
    return cuai_slide_is_published(found, wanted);
}

DEVICE void wait_for(const params_t &p, const range_t &numbers)
{
    for (uint32_t n = numbers.begin; n < numbers.end; n++)
        while (!is_published(p, n))
            ;
}

/* One thread, after the reads of all others have arrived. A word of the ring
 * is not used again before the number that it stood for is published. */
DEVICE void publish(const params_t &p, uint32_t number)
{
    uint32_t value = p.published_base + number;
    if (number > p.published_mask)
        while (!is_published(p, number - p.published_mask - 1))
            ;
    asm volatile(
        "st.release.gpu.global.u32 [%0], %1;" ::"l"(published_word(p, value)),
        "r"(value)
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

/* The last of the runs [low, end) that begins at `unit` or below, as the first
 * does; a whole warp looks. */
DEVICE uint32_t find_run(const params_t &p, uint32_t unit, uint32_t low,
                         uint32_t end)
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

/* The same of chunks. Where runs are of equal length, the first look finds
 * it. */
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
        uint32_t below =
            lanes_where(probe < end && cuai_slide_chunk_at(&p, probe) <= unit);
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

/* The first place, not below `low`, of a source that ends above `address`. */
DEVICE uint32_t find_source(const params_t &p, uint64_t address, uint32_t low)
{
    if (low >= p.run_count || source_end(p, low) > address)
        return low;
    uint32_t step = 1;
    while (low + step < p.run_count && source_end(p, low + step) <= address) {
        low += step;
        step *= 2;
    }
    for (; step != 0; step /= 2)
        if (low + step < p.run_count && source_end(p, low + step) <= address)
            low += step;
    return low + 1;
}

/* ---- Words ------------------------------------------------------------- */

typedef struct vector {
    uint64_t low;
    uint64_t high;
} vector_t;

DEVICE vector_t load_16(uint64_t address)
{
    vector_t v;
    asm volatile("ld.global.cg.v2.u64 {%0, %1}, [%2];"
                 : "=l"(v.low), "=l"(v.high)
                 : "l"(address));
    return v;
}

DEVICE void store_16(uint64_t address, const vector_t &v)
{
    asm volatile("st.global.cg.v2.u64 [%0], {%1, %2};" ::"l"(address),
                 "l"(v.low), "l"(v.high)
                 : "memory");
}

/* ---- The table --------------------------------------------------------- */

/* A chunk, by one warp; half of it is in flight at a time. */
DEVICE void fetch_chunk(const params_t &p, uint32_t chunk)
{
    uint64_t offset = (uint64_t)chunk * CUAI_SLIDE_CHUNK + lane_index() * 16;
    uint64_t end = offset + CUAI_SLIDE_CHUNK;
    for (; offset < end; offset += CUAI_SLIDE_CHUNK / 2) {
        vector_t data[CUAI_SLIDE_CHUNK / 1024];
#pragma unroll
        for (uint32_t i = 0; i < CUAI_SLIDE_CHUNK / 1024; i++)
            data[i] = load_16(p.table + offset + i * 512);
#pragma unroll
        for (uint32_t i = 0; i < CUAI_SLIDE_CHUNK / 1024; i++)
            store_16(p.runs + offset + i * 512, data[i]);
    }
    warp_barrier();
    if (lane_index() == 0)
        publish(p, chunk);
}

/* A whole warp waits until so many chunks are there; `known` says how many
 * are. */
DEVICE void wait_for_chunks(const params_t &p, uint32_t count, uint32_t &known)
{
    while (known < count) {
        uint32_t chunk = known + lane_index();
        known += lanes_before(chunk < p.fetch_count && is_published(p, chunk));
    }
}

/* ---- Tiles ------------------------------------------------------------- */

typedef struct tile {
    uint32_t number;
    range_t units;
    uint32_t run; /* that has the first unit */
} tile_t;

/* A whole warp; afterwards its runs are there. */
DEVICE tile_t tile_of(const params_t &p, uint32_t t, uint32_t &known_chunks)
{
    tile_t tile = {p.fetch_count + t, cuai_slide_tile(&p, t), 0};
    if (p.runs == 0) {
        tile.run = find_run(p, tile.units.begin, 0, p.run_count);
        return tile;
    }
    uint32_t chunk = find_chunk(p, tile.units.begin);
    uint32_t last = chunk;
    while (last + 1 < cuai_slide_run_chunks(&p) &&
           cuai_slide_chunk_at(&p, last + 1) < tile.units.end)
        last++;
    wait_for_chunks(p, cuai_slide_chunks_for(&p, last), known_chunks);
    uint32_t low = chunk * CUAI_SLIDE_CHUNK_RUNS;
    uint32_t end = low + CUAI_SLIDE_CHUNK_RUNS;
    if (end > p.run_count)
        end = p.run_count;
    tile.run = find_run(p, tile.units.begin, low, end);
    return tile;
}

/* The readers of what a tile's piece of a run overwrites: one range if there
 * are no gaps in it. Where there are, the ranges are waited for one by one, if
 * `may_wait`, or false is returned. */
DEVICE bool find_readers(const params_t &p, const run_t &run, span_t piece,
                         uint32_t number, bool may_wait, range_t &all)
{
    uint64_t begin = run.to + piece.begin;
    uint64_t end = run.to + piece.end;
    uint32_t place = find_source(p, begin, run.reach);
    for (; place < p.run_count; place++) {
        run_t source = by_source(p, place);
        if (source.from >= end)
            break;
        range_t more = cuai_slide_readers(&p, &source, begin, end, number);
        if (cuai_slide_join(&all, &more))
            continue;
        if (!may_wait)
            return false;
        wait_for(p, all);
        all = more;
    }
    return true;
}

#if __CUDA_ARCH__ < 900

/* ---- Any device -------------------------------------------------------- */

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

/* What a thread has of a tile: 16 bytes of source and destination, or 8, or
 * none. */
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
DEVICE void advance(const params_t &p, cursor_t &cursor, uint32_t unit)
{
    if (unit < cursor.end)
        return;
    uint32_t low = cursor.k;
    uint32_t step = 1;
    while (low + step < p.run_count && at_of(p, low + step) <= unit) {
        low += step;
        step *= 2;
    }
    for (; step != 0; step /= 2)
        if (low + step < p.run_count && at_of(p, low + step) <= unit)
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
    advance(p, cursor, unit);
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
    go_to(p, cursor, tile.run);
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
    go_to(p, cursor, tile.run);
    uint32_t stride = thread_count();
    for (uint32_t v = thread_index(); v < vectors; v += stride)
        store_part(part_at(p, tile, cursor, v), tile_bytes[v]);
}

/* Threads share the pieces. */
DEVICE void wait_for_readers(const params_t &p, const tile_t &tile)
{
    uint32_t k = tile.run + thread_index();
    for (; k < p.run_count; k += thread_count()) {
        run_t run = run_of(p, k);
        if (run.at >= tile.units.end)
            break;
        span_t piece = cuai_slide_piece(&run, tile.units, p.unit_log2);
        range_t readers = {0, 0};
        find_readers(p, run, piece, tile.number, true, readers);
        wait_for(p, readers);
    }
}

DEVICE void move_tile(const params_t &p, uint32_t t, uint32_t &known_chunks)
{
    uint32_t vectors = (p.tile_units << p.unit_log2) / 16;
    tile_t tile = tile_of(p, t, known_chunks);
    load_tile(p, tile, vectors);
    block_barrier();
    if (thread_index() == 0)
        publish(p, tile.number);
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

/* strip_tiles is 1: the block has one stage. */
KERNEL(256) void cuarena_slide(const params_t p)
{
    uint32_t known_chunks = 0;
    for (;;) {
        uint32_t ticket = draw_for_block(p);
        if (ticket >= p.fetch_count + p.strip_count)
            return;
        if (ticket >= p.fetch_count)
            move_tile(p, ticket - p.fetch_count, known_chunks);
        else if (thread_index() < 32)
            fetch_chunk(p, ticket);
    }
}

#else

/* ---- Bulk copies ------------------------------------------------------- */

DEVICE uint32_t shared_address(const void *object)
{
    uint32_t address;
    asm("{\n\t.reg .u64 a;\n\tcvta.to.shared.u64 a, %1;\n\t"
        "cvt.u32.u64 %0, a;\n\t}"
        : "=r"(address)
        : "l"(object));
    return address;
}

DEVICE void arrival_init(uint32_t arrival, uint32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\t"
                 "fence.proxy.async.shared::cta;" ::"r"(arrival),
                 "r"(count)
                 : "memory");
}

DEVICE void arrive(uint32_t arrival)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(arrival)
                 : "memory");
}

DEVICE void arrival_expect(uint32_t arrival, uint32_t bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrival),
        "r"(bytes)
        : "memory");
}

DEVICE void arrival_wait(uint32_t arrival, uint32_t parity)
{
    uint32_t done;
    do
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(arrival), "r"(parity)
                     : "memory");
    while (!done);
}

DEVICE void bulk_read(uint32_t to, uint64_t from, uint32_t bytes,
                      uint32_t arrival)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                 "bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(arrival)
                 : "memory");
}

DEVICE void bulk_write(uint64_t to, uint32_t from, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
                 "\tcp.async.bulk.commit_group;" ::"l"(to),
                 "r"(from), "r"(bytes)
                 : "memory");
}

/* Until what this thread wrote has left shared memory. */
DEVICE void bulk_wait_read(void)
{
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

DEVICE void bulk_wait(void)
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* Bulk copies after it come after what this thread saw published. */
DEVICE void between_proxies(void)
{
    asm volatile("fence.proxy.async;" ::: "memory");
}

DEVICE uint32_t from_lane_0(uint32_t value)
{
    uint32_t out;
    asm volatile("shfl.sync.idx.b32 %0, %1, 0, 31, 0xffffffff;"
                 : "=r"(out)
                 : "r"(value));
    return out;
}

DEVICE uint32_t sum_of_lanes(uint32_t value)
{
    uint32_t sum;
    asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;"
                 : "=r"(sum)
                 : "r"(value));
    return sum;
}

DEVICE uint32_t least_of_lanes(uint32_t value)
{
    uint32_t least;
    asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;"
                 : "=r"(least)
                 : "r"(value));
    return least;
}

DEVICE uint32_t most_of_lanes(uint32_t value)
{
    uint32_t most;
    asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;"
                 : "=r"(most)
                 : "r"(value));
    return most;
}

/* ---- Stages ------------------------------------------------------------ */

#define STAGES CUAI_SLIDE_STAGES
#define NO_TILE 0xffffffffu

extern SHARED __attribute__((aligned(128))) char tile_bytes[];

/* What a lane has of a tile: the piece of the run tile.run + lane, or nothing.
 * What its writer must know. */
typedef struct share {
    run_t run;
    span_t piece;
    uint32_t buffer; /* address of its bytes in shared memory */
    uint32_t bytes;
    range_t readers;
    uint32_t gaps; /* there are more readers than those */
} share_t;

typedef struct stages {
    uint64_t full[STAGES];  /* the reader says so, and all bytes are there */
    uint64_t empty[STAGES]; /* the writer says so */
    uint32_t number[STAGES];
    share_t shares[STAGES][32];
} stages_t;

/* Where the barriers and the room of a stage are. */
typedef struct stage {
    uint32_t index;
    uint32_t parity; /* of the use of it that is next */
    uint32_t full;
    uint32_t empty;
    uint32_t buffer;
} stage_t;

DEVICE stage_t stage_of(const params_t &p, const stages_t &stages,
                        uint32_t index)
{
    stage_t stage = {index, 0, shared_address(&stages.full[index]),
                     shared_address(&stages.empty[index]),
                     shared_address(tile_bytes) +
                         index * (p.tile_units << p.unit_log2)};
    return stage;
}

/* ---- Reading ----------------------------------------------------------- */

DEVICE share_t share_of(const params_t &p, const tile_t &tile, uint32_t buffer)
{
    share_t share = {{0, 0, 0, 0, 0}, {0, 0}, buffer, 0, {0, 0}, 0};
    uint32_t k = tile.run + lane_index();
    if (k >= p.run_count)
        return share;
    share.run = run_of(p, k);
    if (share.run.at >= tile.units.end)
        return share;
    share.piece = cuai_slide_piece(&share.run, tile.units, p.unit_log2);
    share.bytes = (uint32_t)(share.piece.end - share.piece.begin);
    if (share.run.at > tile.units.begin)
        share.buffer += (share.run.at - tile.units.begin) << p.unit_log2;
    return share;
}

/* While the bytes are on their way, whom its writer must wait for is found. */
DEVICE void read_tile(const params_t &p, stages_t &stages, const stage_t &stage,
                      const tile_t &tile)
{
    share_t share = share_of(p, tile, stage.buffer);
    uint32_t bytes = sum_of_lanes(share.bytes);
    if (lane_index() == 0) {
        stages.number[stage.index] = tile.number;
        arrival_expect(stage.full, bytes);
    }
    warp_barrier();
    if (share.bytes != 0) {
        bulk_read(share.buffer, share.run.from + share.piece.begin, share.bytes,
                  stage.full);
        share.gaps = !find_readers(p, share.run, share.piece, tile.number,
                                   false, share.readers);
    }
    stages.shares[stage.index][lane_index()] = share;
    warp_barrier();
    if (lane_index() == 0)
        arrive(stage.full);
}

DEVICE void next_stage(const params_t &p, const stages_t &stages,
                       stage_t &stage)
{
    uint32_t parity = stage.parity;
    uint32_t index = stage.index + 1;
    if (index == STAGES) {
        index = 0;
        parity ^= 1;
    }
    stage = stage_of(p, stages, index);
    stage.parity = parity;
}

/* Tells the writers that there is nothing more. */
DEVICE void end_stages(const params_t &p, stages_t &stages, stage_t &stage)
{
    for (uint32_t i = 0; i < STAGES; i++) {
        arrival_wait(stage.empty, stage.parity ^ 1);
        if (lane_index() == 0) {
            stages.number[stage.index] = NO_TILE;
            arrive(stage.full);
            arrive(stage.full);
        }
        next_stage(p, stages, stage);
    }
}

DEVICE uint32_t draw_for_warp(const params_t &p)
{
    uint32_t ticket = 0;
    if (lane_index() == 0)
        ticket = draw(p);
    return from_lane_0(ticket);
}

DEVICE void reader(const params_t &p, stages_t &stages)
{
    uint32_t known_chunks = 0;
    stage_t stage = stage_of(p, stages, 0);
    for (;;) {
        arrival_wait(stage.empty, stage.parity ^ 1);
        uint32_t ticket = draw_for_warp(p);
        if (ticket >= p.fetch_count + p.strip_count)
            break;
        if (ticket < p.fetch_count) {
            fetch_chunk(p, ticket);
            continue;
        }
        range_t tiles = cuai_slide_strip(&p, ticket);
        for (uint32_t t = tiles.end; t-- > tiles.begin;) {
            tile_t tile = tile_of(p, t, known_chunks);
            arrival_wait(stage.empty, stage.parity ^ 1);
            read_tile(p, stages, stage, tile);
            next_stage(p, stages, stage);
        }
    }
    end_stages(p, stages, stage);
}

/* ---- Writing ----------------------------------------------------------- */

/* All that any lane waits for at once, if it is not much more than that. */
DEVICE void wait_for_readers(const params_t &p, share_t &share, uint32_t number)
{
    range_t own = share.readers;
    range_t all;
    all.begin = least_of_lanes(own.begin < own.end ? own.begin : NO_TILE);
    all.end = most_of_lanes(own.begin < own.end ? own.end : 0);
    if (all.begin < all.end && all.end - all.begin <= 32) {
        own.begin = all.begin + lane_index();
        own.end = own.begin < all.end ? own.begin + 1 : own.begin;
    }
    wait_for(p, own);
    if (share.gaps) {
        find_readers(p, share.run, share.piece, number, true, share.readers);
        wait_for(p, share.readers);
    }
}

DEVICE void writer(const params_t &p, stages_t &stages, uint32_t index)
{
    stage_t stage = stage_of(p, stages, index);
    for (;;) {
        arrival_wait(stage.full, stage.parity);
        stage.parity ^= 1;
        uint32_t number = *(volatile uint32_t *)&stages.number[index];
        if (number == NO_TILE)
            break;
        share_t share = stages.shares[index][lane_index()];
        if (lane_index() == 0)
            publish(p, number);
        wait_for_readers(p, share, number);
        between_proxies();
        warp_barrier();
        if (share.bytes != 0)
            bulk_write(share.run.to + share.piece.begin, share.buffer,
                       share.bytes);
        bulk_wait_read();
        warp_barrier();
        if (lane_index() == 0)
            arrive(stage.empty);
    }
    bulk_wait();
}

KERNEL(32 + 32 * STAGES) void cuarena_slide_bulk(const params_t p)
{
    static SHARED stages_t stages;
    if (thread_index() == 0)
        for (uint32_t i = 0; i < STAGES; i++) {
            arrival_init(shared_address(&stages.full[i]), 2);
            arrival_init(shared_address(&stages.empty[i]), 1);
        }
    block_barrier();
    uint32_t warp = thread_index() / 32;
    if (warp == 0)
        reader(p, stages);
    else
        writer(p, stages, warp - 1);
}

#endif
