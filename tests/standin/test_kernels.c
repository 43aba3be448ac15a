/*
 * The kernels of tests/support/test_kernels.cu, in steps: what a word of a pattern is stands in
 * tests/support/pattern.h for both.
 */
#include "kernel.h"

#include "support/pattern.h"

#include <stdlib.h>
#include <string.h>

#define PIECE 16384 /* bytes that one step of a worker does */

/* All but spin go through a range in pieces; worker w of n does the pieces w,
 * w + n, ... */
typedef struct sweep {
    uint64_t address;
    uint64_t bytes;
    uint64_t seed;
    uint64_t first;
    uint64_t counter; /* address of the count of bytes */
    unsigned workers;
    uint64_t *next; /* piece of each worker */
} sweep_t;

static uint64_t param(const standin_launch_t *launch, size_t index)
{
    uint64_t value;
    memcpy(&value, launch->params[index], sizeof(value));
    return value;
}

static sweep_t *begin_sweep(const standin_launch_t *launch, unsigned workers)
{
    sweep_t *sweep = calloc(1, sizeof(*sweep));
    uint64_t *next = calloc(workers, sizeof(*next));
    if (sweep == NULL || next == NULL) {
        free(sweep);
        free(next);
        return NULL;
    }
    for (unsigned i = 0; i < workers; i++)
        next[i] = i;
    sweep->address = param(launch, 0);
    sweep->bytes = param(launch, 1);
    sweep->workers = workers;
    sweep->next = next;
    return sweep;
}

static void end_sweep(void *state)
{
    sweep_t *sweep = state;
    free(sweep->next);
    free(sweep);
}

/* The worker's next piece; false if it has none left. */
static bool next_piece(sweep_t *sweep, unsigned worker, uint64_t *at, size_t *bytes)
{
    *at = sweep->next[worker] * PIECE;
    if (*at >= sweep->bytes)
        return false;
    uint64_t left = sweep->bytes - *at;
    *bytes = left < PIECE ? (size_t)left : PIECE;
    sweep->next[worker] += sweep->workers;
    return true;
}

/* ---- fill -------------------------------------------------------------- */

static void *begin_fill(const standin_launch_t *launch, unsigned *workers)
{
    sweep_t *sweep = begin_sweep(launch, *workers);
    if (sweep != NULL) {
        sweep->seed = param(launch, 2);
        sweep->first = param(launch, 3);
    }
    return sweep;
}

/* Pieces begin at whole words of the pattern. */
static uint64_t piece_word(const sweep_t *sweep, uint64_t at)
{
    return pattern_word(sweep->seed, sweep->first + at / 8);
}

static standin_step_t step_fill(void *state, unsigned worker, standin_access_t *access)
{
    sweep_t *sweep = state;
    uint64_t at;
    size_t bytes;
    if (!next_piece(sweep, worker, &at, &bytes))
        return STANDIN_DONE;
    unsigned char *to = access->write(access, sweep->address + at, bytes);
    if (to == NULL)
        return STANDIN_FAULT;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = piece_word(sweep, at + i);
        memcpy(to + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
    return STANDIN_PROGRESS;
}

/* ---- check ------------------------------------------------------------- */

static void *begin_check(const standin_launch_t *launch, unsigned *workers)
{
    sweep_t *sweep = begin_fill(launch, workers);
    if (sweep != NULL)
        sweep->counter = param(launch, 4);
    return sweep;
}

static uint64_t wrong_bytes(const unsigned char *from, size_t bytes, uint64_t word)
{
    uint64_t got = word;
    uint64_t count = 0;
    memcpy(&got, from, bytes);
    for (uint64_t wrong = got ^ word; wrong != 0; wrong >>= 8)
        count += (wrong & 255) != 0;
    return count;
}

/* Adds to the count, which a worker may not touch for nothing. */
static standin_step_t count_on(const sweep_t *sweep, uint64_t more, standin_access_t *access)
{
    uint64_t count;
    if (more == 0)
        return STANDIN_PROGRESS;
    unsigned char *counter = access->update(access, sweep->counter, sizeof(count));
    if (counter == NULL)
        return STANDIN_FAULT;
    memcpy(&count, counter, sizeof(count));
    count += more;
    memcpy(counter, &count, sizeof(count));
    return STANDIN_PROGRESS;
}

static standin_step_t step_check(void *state, unsigned worker, standin_access_t *access)
{
    sweep_t *sweep = state;
    uint64_t at;
    size_t bytes;
    uint64_t bad = 0;
    if (!next_piece(sweep, worker, &at, &bytes))
        return STANDIN_DONE;
    const unsigned char *from = access->read(access, sweep->address + at, bytes);
    if (from == NULL)
        return STANDIN_FAULT;
    for (size_t i = 0; i < bytes; i += 8)
        bad += wrong_bytes(from + i, bytes - i < 8 ? bytes - i : 8, piece_word(sweep, at + i));
    return count_on(sweep, bad, access);
}

/* ---- count_set --------------------------------------------------------- */

static void *begin_count_set(const standin_launch_t *launch, unsigned *workers)
{
    sweep_t *sweep = begin_sweep(launch, *workers);
    if (sweep != NULL)
        sweep->counter = param(launch, 2);
    return sweep;
}

static standin_step_t step_count_set(void *state, unsigned worker, standin_access_t *access)
{
    sweep_t *sweep = state;
    uint64_t at;
    size_t bytes;
    uint64_t set = 0;
    if (!next_piece(sweep, worker, &at, &bytes))
        return STANDIN_DONE;
    const unsigned char *from = access->read(access, sweep->address + at, bytes);
    if (from == NULL)
        return STANDIN_FAULT;
    for (size_t i = 0; i < bytes; i++)
        set += from[i] != 0;
    return count_on(sweep, set, access);
}

/* ---- touch ------------------------------------------------------------- */

static void *begin_touch(const standin_launch_t *launch, unsigned *workers)
{
    return begin_sweep(launch, *workers);
}

static standin_step_t step_touch(void *state, unsigned worker, standin_access_t *access)
{
    sweep_t *sweep = state;
    uint64_t at;
    size_t bytes;
    if (!next_piece(sweep, worker, &at, &bytes))
        return STANDIN_DONE;
    unsigned char *to = access->write(access, sweep->address + at, bytes);
    if (to == NULL)
        return STANDIN_FAULT;
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t word;
        memcpy(&word, to + i, sizeof(word));
        word++;
        memcpy(to + i, &word, sizeof(word));
    }
    return STANDIN_PROGRESS;
}

/* ---- spin -------------------------------------------------------------- */

typedef struct spin {
    uint64_t flag;   /* address of 4 bytes; 0: none */
    uint64_t cycles; /* left; 0 at begin: until the flag is set */
    bool timed;
} spin_t;

static void *begin_spin(const standin_launch_t *launch, unsigned *workers)
{
    spin_t *spin = calloc(1, sizeof(*spin));
    *workers = 1;
    if (spin != NULL) {
        spin->flag = param(launch, 0);
        spin->cycles = param(launch, 1);
        spin->timed = spin->cycles != 0;
    }
    return spin;
}

/* The flag is the CPU's to set while this runs: it is looked at as a device does, without an order
 * that could be checked. A step is 4096 cycles. */
static standin_step_t step_spin(void *state, unsigned worker, standin_access_t *access)
{
    spin_t *spin = state;
    (void)worker;
    if (spin->flag != 0) {
        const unsigned *flag = access->read(access, spin->flag, sizeof(*flag));
        if (flag == NULL)
            return STANDIN_FAULT;
        if (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0)
            return STANDIN_DONE;
    }
    if (!spin->timed)
        return STANDIN_BLOCKED;
    if (spin->cycles <= 4096)
        return STANDIN_DONE;
    spin->cycles -= 4096;
    return STANDIN_PROGRESS;
}

const standin_kernel_t sd_test_kernels[] = {
    {"fill", begin_fill, step_fill, end_sweep},
    {"check", begin_check, step_check, end_sweep},
    {"count_set", begin_count_set, step_count_set, end_sweep},
    {"touch", begin_touch, step_touch, end_sweep},
    {"spin", begin_spin, step_spin, free},
};
const size_t sd_test_kernel_count = sizeof(sd_test_kernels) / sizeof(sd_test_kernels[0]);
