/*
 * How small a pool could be at all: each trace is packed offline, by a packer that knows when every
 * block will be freed, and that moves nothing either. Blocks are rounded up as in a pool. What it
 * finds is possible; what no packer gets below is the peak of the live bytes. So the smallest
 * pool there is lies between the two.
 *
 *   order    which block is placed next. Each gets the lowest address that is free as long as it
 *            lives. Four are tried: by size, by how long a block lives, by the product of both, and
 *            by the most that is live beside it; larger blocks first where that is the same.
 *   round    an order is changed and tried again: blocks that lay above the peak come earlier, by
 *            chance. Each order gets as many rounds, until the peak is reached, so that every
 *            machine finds the same.
 *
 *   bench_pack [ROUNDS] TRACE...
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "intervals.h"
#include "trace.h"

#define GRANULE 256 /* of the default preset */
#define ROUNDS 100  /* unless the command line says how many */

/* ---- Blocks ------------------------------------------------------------ */

/* A block of the trace, which lives from the event `begin` to the event `end`. */
typedef struct block {
    uint64_t bytes;
    uint32_t begin;
    uint32_t end;
    uint64_t beside; /* the most that is live while it lives */
} block_t;

/* When a block is placed: in the order of ranks. */
typedef struct turn {
    double rank;
    uint64_t bytes;
    uint32_t block;
} turn_t;

typedef struct program {
    block_t *blocks;
    turn_t *turns;       /* of all blocks */
    uint64_t *addresses; /* of the blocks, in the last round; NOWHERE: it ended before */
    uint64_t *best;      /* the addresses of the best round */
    uint32_t count;
    uint64_t peak;
    uint64_t best_bytes; /* what the best round takes */
} program_t;

#define NOWHERE UINT64_MAX

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + GRANULE - 1) & ~(uint64_t)(GRANULE - 1);
}

/* Blocks of 0 bytes take no place. */
static void read_blocks(program_t *p, const trace_t *trace)
{
    uint32_t *live = must_have(NULL, trace->slot_count, sizeof *live);
    size_t count = trace->event_count + trace->closing_count;
    for (size_t i = 0; i < count; i++) {
        const trace_event_t *event = &trace->events[i];
        if (event->size == 0)
            continue;
        if (event->op == TRACE_ALLOC) {
            live[event->slot] = p->count;
            p->blocks[p->count++] = (block_t){rounded(event->size), (uint32_t)i, 0, 0};
        } else {
            /* What lives to the end goes at once. */
            size_t end = i < trace->event_count ? i : trace->event_count;
            p->blocks[live[event->slot]].end = (uint32_t)end;
        }
    }
    free(live);
}

/* The most that is live at once in events [begin, end), by a table of maxima over powers of two. */
typedef struct levels {
    uint64_t *rows[33];
    uint32_t count;
} levels_t;

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static levels_t levels_of(const trace_t *trace)
{
    levels_t levels = {.count = (uint32_t)trace->event_count};
    uint64_t live = 0;
    levels.rows[0] = must_have(NULL, levels.count, sizeof(uint64_t));
    for (uint32_t i = 0; i < levels.count; i++) {
        uint64_t bytes = rounded(trace->events[i].size);
        live += trace->events[i].op == TRACE_ALLOC ? bytes : -bytes;
        levels.rows[0][i] = live;
    }
    for (int row = 1; levels.count >> row != 0; row++) {
        levels.rows[row] = must_have(NULL, levels.count, sizeof(uint64_t));
        for (uint32_t i = 0; i + (1u << row) <= levels.count; i++)
            levels.rows[row][i] =
                larger(levels.rows[row - 1][i], levels.rows[row - 1][i + (1u << (row - 1))]);
    }
    return levels;
}

static uint64_t most_live(const levels_t *levels, uint32_t begin, uint32_t end)
{
    int row = 31 - __builtin_clz(end - begin);
    return larger(levels->rows[row][begin], levels->rows[row][end - (1u << row)]);
}

static void read_levels(program_t *p, const trace_t *trace)
{
    levels_t levels = levels_of(trace);
    p->peak = most_live(&levels, 0, levels.count);
    for (uint32_t i = 0; i < p->count; i++)
        p->blocks[i].beside = most_live(&levels, p->blocks[i].begin, p->blocks[i].end);
    for (int row = 0; row < 33; row++)
        free(levels.rows[row]);
}

static program_t open_program(const trace_t *trace)
{
    program_t p = {.best_bytes = UINT64_MAX};
    p.blocks = must_have(NULL, trace->allocs, sizeof *p.blocks);
    p.turns = must_have(NULL, trace->allocs, sizeof *p.turns);
    p.addresses = must_have(NULL, trace->allocs, sizeof *p.addresses);
    p.best = must_have(NULL, trace->allocs, sizeof *p.best);
    read_blocks(&p, trace);
    read_levels(&p, trace);
    return p;
}

static void close_program(program_t *p)
{
    free(p->blocks);
    free(p->turns);
    free(p->addresses);
    free(p->best);
}

/* ---- Placing ----------------------------------------------------------- */

/* What was placed, by address, in short arrays that are linked: a search goes through all that lies
 * below the place it finds, most of which lived at other times. */
#define STRETCH 128

typedef struct stretch {
    uint32_t begin[STRETCH]; /* those that are not used: never */
    uint32_t end[STRETCH];
    uint64_t low[STRETCH];
    uint64_t high[STRETCH];
    uint32_t count;
    struct stretch *next;
} stretch_t;

static stretch_t *new_stretch(void)
{
    stretch_t *stretch = must_have(NULL, 1, sizeof *stretch);
    memset(stretch->begin, 0xFF, sizeof stretch->begin);
    memset(stretch->end, 0, sizeof stretch->end);
    stretch->count = 0;
    stretch->next = NULL;
    return stretch;
}

/* Raises the address above those of the stretch that live beside the block, as far as they lie
 * lower than its end would. False if one lies higher: the address is free. */
static bool raise_address(const stretch_t *stretch, const block_t *block, uint64_t *address)
{
    uint8_t beside[STRETCH];
    uint64_t words[STRETCH / 8];
    for (uint32_t i = 0; i < STRETCH; i++)
        beside[i] = (stretch->begin[i] < block->end) & (block->begin < stretch->end[i]);
    memcpy(words, beside, sizeof words);
    for (uint32_t i = 0; i < STRETCH; i++) {
        if (i % 8 == 0 && words[i / 8] == 0)
            i += 7;
        else if (beside[i] && stretch->low[i] >= *address + block->bytes)
            return false;
        else if (beside[i])
            *address = larger(*address, stretch->high[i]);
    }
    return true;
}

/* The lowest address that is free for the whole life of the block. */
static uint64_t find_address(const stretch_t *first, const block_t *block)
{
    uint64_t address = 0;
    for (const stretch_t *s = first; s != NULL; s = s->next)
        if ((s->count > 0 && s->low[0] >= address + block->bytes) ||
            !raise_address(s, block, &address))
            break;
    return address;
}

static void copy_part(stretch_t *to, uint32_t at, const stretch_t *from, uint32_t first,
                      uint32_t count)
{
    memmove(to->begin + at, from->begin + first, count * sizeof *to->begin);
    memmove(to->end + at, from->end + first, count * sizeof *to->end);
    memmove(to->low + at, from->low + first, count * sizeof *to->low);
    memmove(to->high + at, from->high + first, count * sizeof *to->high);
}

static void split(stretch_t *stretch)
{
    const uint32_t half = STRETCH / 2;
    stretch_t *second = new_stretch();
    second->next = stretch->next;
    stretch->next = second;
    copy_part(second, 0, stretch, half, half);
    stretch->count = second->count = half;
    memset(stretch->begin + half, 0xFF, half * sizeof *stretch->begin);
    memset(stretch->end + half, 0, half * sizeof *stretch->end);
}

/* Behind all that do not lie higher. */
static void insert(stretch_t *first, const block_t *block, uint64_t address)
{
    stretch_t *s = first;
    while (s->next != NULL && s->next->low[0] <= address)
        s = s->next;
    if (s->count == STRETCH) {
        split(s);
        insert(s, block, address);
        return;
    }
    uint32_t at = s->count;
    while (at > 0 && s->low[at - 1] > address)
        at--;
    copy_part(s, at + 1, s, at, s->count - at);
    s->begin[at] = block->begin;
    s->end[at] = block->end;
    s->low[at] = address;
    s->high[at] = address + block->bytes;
    s->count++;
}

static void forget(stretch_t *first)
{
    while (first != NULL) {
        stretch_t *next = first->next;
        free(first);
        first = next;
    }
}

/* Places all as their turns say, until that takes `enough` bytes; how many it takes. */
static uint64_t place_all(program_t *p, uint64_t enough)
{
    stretch_t *first = new_stretch();
    uint64_t top = 0;
    memset(p->addresses, 0xFF, p->count * sizeof *p->addresses);
    for (uint32_t i = 0; i < p->count && top < enough; i++) {
        uint32_t number = p->turns[i].block;
        const block_t *block = &p->blocks[number];
        uint64_t address = find_address(first, block);
        p->addresses[number] = address;
        top = larger(top, address + block->bytes);
        insert(first, block, address);
    }
    forget(first);
    return top;
}

/* ---- Orders and rounds -------------------------------------------------- */

static double by_size(const block_t *block)
{
    return (double)block->bytes;
}

static double by_life(const block_t *block)
{
    return (double)(block->end - block->begin);
}

static double by_area(const block_t *block)
{
    return by_size(block) * by_life(block);
}

static double by_beside(const block_t *block)
{
    return (double)block->beside;
}

typedef double (*key_fn)(const block_t *);
static const key_fn keys[] = {by_size, by_beside, by_life, by_area};

static int by_turn(const void *left, const void *right)
{
    const turn_t *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return (a->block > b->block) - (a->block < b->block);
}

static void sort_turns(program_t *p)
{
    qsort(p->turns, p->count, sizeof *p->turns, by_turn);
}

/* The largest key first. Ranks are places from 1 on, of which a part is an earlier place. */
static void order_turns(program_t *p, key_fn key)
{
    for (uint32_t i = 0; i < p->count; i++)
        p->turns[i] = (turn_t){-key(&p->blocks[i]), p->blocks[i].bytes, i};
    sort_turns(p);
    for (uint32_t i = 0; i < p->count; i++)
        p->turns[i].rank = i + 1;
}

static void change_turns(program_t *p, random_state_t *random)
{
    for (uint32_t i = 0; i < p->count; i++) {
        turn_t *turn = &p->turns[i];
        uint64_t address = p->addresses[turn->block];
        if (address != NOWHERE && address + turn->bytes > p->peak)
            turn->rank *= (double)random_below(random, 1 << 20) / (1 << 20);
    }
    sort_turns(p);
}

/* Ends early where it is no good: what lies above the peak by then says enough. */
static void try_turns(program_t *p)
{
    uint64_t enough = p->best_bytes == UINT64_MAX ? UINT64_MAX : p->best_bytes + p->peak / 64;
    uint64_t bytes = place_all(p, enough);
    if (bytes >= p->best_bytes)
        return;
    p->best_bytes = bytes;
    memcpy(p->best, p->addresses, p->count * sizeof *p->best);
}

/* All orders as they are, then the rounds of each. */
static void pack(program_t *p, int rounds)
{
    const size_t count = sizeof keys / sizeof keys[0];
    random_state_t random = {1};
    for (size_t i = 0; i < count; i++) {
        order_turns(p, keys[i]);
        try_turns(p);
    }
    for (size_t i = 0; i < count && p->best_bytes > p->peak; i++) {
        order_turns(p, keys[i]);
        (void)place_all(p, UINT64_MAX);
        for (int round = 0; round < rounds && p->best_bytes > p->peak; round++) {
            change_turns(p, &random);
            try_turns(p);
        }
    }
}

/* ---- The result --------------------------------------------------------- */

/* Replays the trace at the addresses of the best round, beside records that share nothing with the
 * packer's. How many bytes it takes. */
static uint64_t check(const program_t *p, const trace_t *trace)
{
    intervals_t live = intervals_make(trace->slot_count);
    uint64_t top = 0;
    uint32_t number = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        const trace_event_t *event = &trace->events[i];
        if (event->size == 0)
            continue;
        if (event->op == TRACE_FREE) {
            intervals_remove(&live, event->slot);
            continue;
        }
        uint64_t begin = p->best[number++], end = begin + rounded(event->size);
        expect(intervals_add(&live, event->slot, begin, end) == NO_INTERVAL, "two blocks overlap");
        top = larger(top, end);
    }
    intervals_free(&live);
    return top;
}

/* What the trace takes over its peak, which is printed. */
static double pack_trace(const char *path, int rounds)
{
    fault_t fault = {""};
    trace_t trace;
    expect(trace_load(path, &trace, &fault), fault.text);
    expect(trace_peak(&trace, GRANULE).bytes > 0, "the trace asks for no bytes");
    program_t p = open_program(&trace);
    pack(&p, rounds);
    expect(check(&p, &trace) == p.best_bytes, "the packer took another size for it");
    double ratio = (double)p.best_bytes / (double)p.peak;
    printf("%-20s %14" PRIu64 " %14" PRIu64 " %12.4f\n", trace_title(&trace), p.peak, p.best_bytes,
           ratio);
    fflush(stdout);
    close_program(&p);
    trace_free(&trace);
    return ratio;
}

/* The number, or -1 if the word is none. */
static int number_of(const char *word)
{
    char *end = NULL;
    long number = strtol(word, &end, 10);
    return *word != '\0' && *end == '\0' && number >= 0 && number <= INT_MAX ? (int)number : -1;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? number_of(argv[1]) : -1;
    int first = rounds >= 0 ? 2 : 1;
    double logs = 0;
    expect(first < argc, "expected [ROUNDS] TRACE...");
    printf("%-20s %14s %14s %12s\n", "trace", "peak", "packed", "packed/peak");
    for (int i = first; i < argc; i++)
        logs += log(pack_trace(argv[i], rounds >= 0 ? rounds : ROUNDS));
    printf("%-20s %14s %14s %12.4f\n", "geometric mean", "", "", exp(logs / (argc - first)));
    return 0;
}
