#include "verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "intervals.h"
#include "pattern.h"

/* What is known of the block in a slot, independent of the arena. */
typedef struct known {
    uint64_t address; /* 0: no block, or an empty one */
    uint64_t bytes;   /* asked for */
    uint64_t seed;    /* of its pattern; of no other block of the run */
} known_t;

typedef struct verifier {
    player_t player;
    known_t *knowns; /* by slot */
    intervals_t taken;
    uint64_t alignment;
    uint64_t next_seed;
    bool touches; /* the host can read and write the bytes */
    fault_t *fault;
} verifier_t;

static uint64_t taken_bytes(const verifier_t *v, const known_t *known)
{
    return (known->bytes + v->alignment - 1) & ~(v->alignment - 1);
}

/* Begins the message that every fault of a block is. */
#define BLOCK "%s: verify: block %" PRIu64 " (%" PRIu64 " bytes at 0x%" PRIx64 ") "
#define BLOCK_ARGUMENTS(v, known)                                                                  \
    (v)->player.trace->path, (known)->seed, (known)->bytes, (known)->address

/* ---- Places ------------------------------------------------------------ */

/* A pool is one segment, which does not change. */
static bool check_bounds(verifier_t *v, const known_t *known)
{
    void *base = NULL;
    uint64_t bytes = 0;
    if (player_grows(&v->player.setup))
        return true;
    if (cuarena_base(v->player.arena, &base, &bytes) != CUARENA_OK)
        return fault_library(v->fault, "%s: verify: no base", v->player.trace->path);
    uint64_t begin = (uint64_t)(uintptr_t)base;
    if (known->address >= begin && known->address - begin <= bytes &&
        bytes - (known->address - begin) >= taken_bytes(v, known))
        return true;
    return fault_set(v->fault, BLOCK "lies outside the pool, %" PRIu64 " bytes at 0x%" PRIx64,
                     BLOCK_ARGUMENTS(v, known), bytes, begin);
}

static bool check_overlap(verifier_t *v, uint32_t slot)
{
    const known_t *known = &v->knowns[slot];
    uint32_t other =
        intervals_add(&v->taken, slot, known->address, known->address + taken_bytes(v, known));
    if (other == NO_INTERVAL)
        return true;
    const known_t *there = &v->knowns[other];
    return fault_set(v->fault,
                     BLOCK "overlaps block %" PRIu64 " (%" PRIu64 " bytes at 0x%" PRIx64 ")",
                     BLOCK_ARGUMENTS(v, known), there->seed, there->bytes, there->address);
}

/* Enters the block of a slot where it now is. */
static bool place(verifier_t *v, uint32_t slot)
{
    const known_t *known = &v->knowns[slot];
    if (known->address % v->alignment != 0 || known->address == 0)
        return fault_set(v->fault, BLOCK "is not aligned to %" PRIu64, BLOCK_ARGUMENTS(v, known),
                         v->alignment);
    return check_bounds(v, known) && check_overlap(v, slot);
}

/* ---- Contents ---------------------------------------------------------- */

static void *bytes_of(const known_t *known)
{
    return (void *)(uintptr_t)known->address;
}

static bool check_contents(verifier_t *v, const known_t *known, const char *when)
{
    uint64_t offset = 0;
    if (!v->touches || known->address == 0 ||
        pattern_check(bytes_of(known), known->bytes, known->seed, &offset))
        return true;
    return fault_set(v->fault, BLOCK "was changed at offset %" PRIu64 ", which was seen %s",
                     BLOCK_ARGUMENTS(v, known), offset, when);
}

/* ---- The watch --------------------------------------------------------- */

static bool born(void *user, uint32_t slot, void *address, uint64_t bytes)
{
    verifier_t *v = user;
    known_t *known = &v->knowns[slot];
    *known = (known_t){(uint64_t)(uintptr_t)address, bytes, v->next_seed++};
    if (bytes == 0)
        return address == NULL ||
               fault_set(v->fault, BLOCK "is empty, but not at NULL", BLOCK_ARGUMENTS(v, known));
    if (!place(v, slot))
        return false;
    if (v->touches)
        pattern_write(bytes_of(known), known->bytes, known->seed);
    return true;
}

static bool dies(void *user, uint32_t slot, void *address)
{
    verifier_t *v = user;
    known_t *known = &v->knowns[slot];
    if ((uint64_t)(uintptr_t)address != known->address)
        return fault_set(v->fault, BLOCK "is said to be at %p", BLOCK_ARGUMENTS(v, known), address);
    if (!check_contents(v, known, "when it was freed"))
        return false;
    if (known->address != 0)
        intervals_remove(&v->taken, slot);
    known->address = 0;
    return true;
}

static bool moved(void *user, uint32_t slot, const cuarena_relocation_t *move)
{
    verifier_t *v = user;
    known_t *known = &v->knowns[slot];
    if ((uint64_t)(uintptr_t)move->from != known->address)
        return fault_set(v->fault, BLOCK "is said to move away from %p", BLOCK_ARGUMENTS(v, known),
                         move->from);
    if (move->bytes < known->bytes || move->bytes > taken_bytes(v, known))
        return fault_set(v->fault, BLOCK "is moved by a copy of %" PRIu64 " bytes",
                         BLOCK_ARGUMENTS(v, known), move->bytes);
    intervals_remove(&v->taken, slot);
    known->address = (uint64_t)(uintptr_t)move->to;
    return place(v, slot);
}

static bool moved_all(void *user)
{
    verifier_t *v = user;
    uint32_t count = v->player.trace->slot_count;
    for (uint32_t slot = 0; slot < count; slot++)
        if (!check_contents(v, &v->knowns[slot], "after a compaction"))
            return false;
    return true;
}

/* ---- The whole --------------------------------------------------------- */

static bool validate(verifier_t *v)
{
    char text[256] = "";
    if (cuarena_validate(v->player.arena, text, sizeof text) == CUARENA_OK)
        return true;
    return fault_set(v->fault, "%s: verify: the arena's validator says: %s", v->player.trace->path,
                     text);
}

static bool run(verifier_t *v, uint64_t passes)
{
    v->fault->text[0] = '\0';
    if (player_run_watched(&v->player, passes))
        return validate(v);
    if (v->fault->text[0] == '\0')
        (void)fault_set(v->fault, "%s", v->player.first_refusal.text);
    return false;
}

bool verify_trace(const player_setup_t *setup, const trace_t *trace, uint64_t passes,
                  fault_t *fault)
{
    verifier_t v = {
        .alignment = setup->config.alignment,
        .next_seed = 1,
        .touches = setup->config.memory == CUARENA_MEMORY_PAGEABLE,
        .fault = fault,
    };
    const player_watch_t watch = {
        .user = &v, .born = born, .dies = dies, .moved = moved, .moved_all = moved_all};
    if (!player_open(&v.player, setup, trace, &watch, fault))
        return false;
    v.knowns = must_have(NULL, trace->slot_count, sizeof *v.knowns);
    memset(v.knowns, 0, trace->slot_count * sizeof *v.knowns);
    v.taken = intervals_make(trace->slot_count);
    bool good = run(&v, passes);
    intervals_free(&v.taken);
    free(v.knowns);
    player_close(&v.player);
    return good;
}
