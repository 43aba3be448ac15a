/*
 * cuarena_slide_bulk: executes a list of relocations from compute capability 9.0 on, addresses and
 * sizes in multiples of 16. slide_rules.h has the vocabulary, the protocol and why it is right.
 *
 * One warp of a block draws and reads, one warp for each stage publishes, waits and writes, by bulk
 * copies. A tile has at most 32 units, so that a lane has one piece at most.
 */
#define FETCH_WORDS 8
#include "slide_device.h"

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
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(arrival),
                 "r"(count)
                 : "memory");
}

/* Bulk copies know what was initialized. */
DEVICE void arrivals_ready(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
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
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], "
                 "%2;" ::"l"(to),
                 "r"(from), "r"(bytes)
                 : "memory");
}

DEVICE void bulk_commit(void)
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* A piece is shorter than it is from seam to seam. */
DEVICE void read_bytes(uint32_t to, uint64_t from, uint32_t bytes,
                       uint32_t arrival)
{
    uint32_t first = (uint32_t)cuai_slide_to_seam(from, bytes);
    bulk_read(to, from, first, arrival);
    if (first < bytes)
        bulk_read(to + first, from + first, bytes - first, arrival);
}

DEVICE void write_bytes(uint64_t to, uint32_t from, uint32_t bytes)
{
    uint32_t first = (uint32_t)cuai_slide_to_seam(to, bytes);
    bulk_write(to, from, first);
    if (first < bytes)
        bulk_write(to + first, from + first, bytes - first);
    bulk_commit();
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

#define NO_TILE 0xffffffffu

extern SHARED __attribute__((aligned(128))) char tile_bytes[];

/* What the writer must know of a lane's part of a tile: the piece of one run, or nothing. */
typedef struct share {
    uint64_t to;
    uint32_t buffer; /* address of its bytes in shared memory */
    uint32_t bytes;
    range_t readers;
    uint32_t run;
    uint32_t gaps; /* there are more readers than those */
} share_t;

typedef struct stages {
    uint64_t full[CUAI_SLIDE_STAGES];  /* all lanes of the reader say so, and
                                        * all bytes are there */
    uint64_t empty[CUAI_SLIDE_STAGES]; /* all lanes of the writer say so */
    uint32_t ticket[CUAI_SLIDE_STAGES];
    share_t shares[CUAI_SLIDE_STAGES][32];
} stages_t;

/* Where the barriers and the room of a stage are. */
typedef struct stage {
    uint32_t index;
    uint32_t parity; /* of its next use */
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

/* A lane asks for its piece. While the bytes are on their way, it finds out whom the writer
 * must wait for. */
DEVICE share_t read_piece(const params_t &p, const tile_t &tile, uint32_t k,
                          const run_t &run, span_t piece, const stage_t &stage)
{
    share_t share = {run.to + piece.begin, stage.buffer, 0, {0, 0}, k, 0};
    share.bytes = (uint32_t)(piece.end - piece.begin);
    if (run.at > tile.units.begin)
        share.buffer += (run.at - tile.units.begin) << p.unit_log2;
    read_bytes(share.buffer, run.from + piece.begin, share.bytes, stage.full);
    share.gaps =
        !find_readers(p, k, run, piece, tile.ticket, false, share.readers);
    return share;
}

DEVICE void read_tile(const params_t &p, stages_t &stages, const stage_t &stage,
                      const tile_t &tile)
{
    uint32_t k = tile.runs.begin + lane_index();
    run_t run = {0, 0, 0, NO_TILE, 0};
    if (k < tile.runs.end)
        run = run_of(p, k);
    span_t piece = {0, 0};
    if (run.at < tile.units.end)
        piece = cuai_slide_piece(&p, &run, tile.units);
    uint32_t bytes = sum_of_lanes((uint32_t)(piece.end - piece.begin));
    if (lane_index() == 0) {
        stages.ticket[stage.index] = tile.ticket;
        arrival_expect(stage.full, bytes);
    }
    warp_barrier();
    share_t share = {0, 0, 0, {0, 0}, 0, 0};
    if (piece.begin != piece.end)
        share = read_piece(p, tile, k, run, piece, stage);
    stages.shares[stage.index][lane_index()] = share;
    arrive(stage.full);
}

DEVICE uint32_t draw_for_warp(const params_t &p)
{
    uint32_t ticket = 0;
    if (lane_index() == 0)
        ticket = draw(p);
    return from_lane(ticket, 0);
}

DEVICE void wait_until_empty(const stage_t &stage)
{
    arrival_wait(stage.empty, stage.parity ^ 1);
}

DEVICE void next_stage(const params_t &p, const stages_t &stages,
                       stage_t &stage)
{
    uint32_t parity = stage.parity;
    uint32_t index = stage.index + 1;
    if (index == p.stages) {
        index = 0;
        parity ^= 1;
    }
    stage = stage_of(p, stages, index);
    stage.parity = parity;
}

/* Tells the writers that there is nothing more. */
DEVICE void end_stages(const params_t &p, stages_t &stages, stage_t &stage)
{
    for (uint32_t i = 0; i < p.stages; i++) {
        wait_until_empty(stage);
        if (lane_index() == 0) {
            stages.ticket[stage.index] = NO_TILE;
            arrival_expect(stage.full, 0);
        }
        arrive(stage.full);
        next_stage(p, stages, stage);
    }
}

DEVICE void reader(const params_t &p, stages_t &stages, uint32_t ticket)
{
    uint32_t known_chunks = 0;
    stage_t stage = stage_of(p, stages, 0);
    while (ticket < p.fetch_count + p.tile_count) {
        if (ticket < p.fetch_count) {
            fetch_chunk(p, ticket);
        } else {
            read_tile(p, stages, stage, tile_of(p, ticket, known_chunks));
            next_stage(p, stages, stage);
            wait_until_empty(stage);
        }
        ticket = draw_for_warp(p);
    }
    end_stages(p, stages, stage);
}

/* ---- Writing ----------------------------------------------------------- */

/* All that any lane waits for at once, if it is not much more than that. */
DEVICE void wait_for_readers(const params_t &p, const share_t &share,
                             uint32_t ticket)
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
        run_t run = run_of(p, share.run);
        range_t units = cuai_slide_tile(&p, ticket);
        range_t rest = {0, 0};
        find_readers(p, share.run, run, cuai_slide_piece(&p, &run, units),
                     ticket, true, rest);
        wait_for(p, rest);
    }
}

DEVICE void writer(const params_t &p, stages_t &stages, uint32_t index)
{
    stage_t stage = stage_of(p, stages, index);
    for (uint32_t parity = 0;; parity ^= 1) {
        arrival_wait(stage.full, parity);
        uint32_t ticket = *(volatile uint32_t *)&stages.ticket[index];
        if (ticket == NO_TILE)
            break;
        share_t share = stages.shares[index][lane_index()];
        if (lane_index() == 0)
            publish_arrived(p, ticket);
        wait_for_readers(p, share, ticket);
        between_proxies();
        warp_barrier();
        if (share.bytes != 0)
            write_bytes(share.to, share.buffer, share.bytes);
        bulk_wait_read();
        arrive(stage.empty);
    }
    bulk_wait();
}

DEVICE void begin_stages(const params_t &p, stages_t &stages)
{
    for (uint32_t i = 0; i < p.stages; i++) {
        arrival_init(shared_address(&stages.full[i]), 33);
        arrival_init(shared_address(&stages.empty[i]), 32);
    }
    arrivals_ready();
}

/* The first ticket is on its way meanwhile. */
KERNEL(32 + 32 * CUAI_SLIDE_STAGES) void cuarena_slide_bulk(const params_t p)
{
    static SHARED stages_t stages;
    uint32_t warp = thread_index() / 32;
    uint32_t ticket = 0;
    if (warp == 0)
        ticket = draw_for_warp(p);
    else if (thread_index() == 32)
        begin_stages(p, stages);
    block_barrier();
    if (warp == 0)
        reader(p, stages, ticket);
    else
        writer(p, stages, warp - 1);
}
