#include "smallest.h"

#include "progress.h"

#define STEPS 500 /* thousandths of the peak above it, to begin with */
#define ROUNDING 256

/* peak * (1 + k / 1000) without leaving 64 bits, rounded down. */
static uint64_t size_of_step(uint64_t peak, uint64_t k, uint64_t rounding)
{
    uint64_t bytes = peak + peak / 1000 * k + peak % 1000 * k / 1000;
    return bytes & ~(rounding - 1);
}

static bool serves(player_setup_t *setup, const trace_t *trace, uint64_t bytes, bool *served_out,
                   fault_t *fault)
{
    player_t player;
    *served_out = false;
    if (bytes == 0)
        return true;
    player_set_pool_bytes(setup, bytes);
    if (!player_open(&player, setup, trace, NULL, fault))
        return false;
    *served_out = player_run(&player, 1);
    player_close(&player);
    return true;
}

bool smallest_find(const player_setup_t *setup, const trace_t *trace, smallest_t *smallest_out,
                   fault_t *fault)
{
    player_setup_t trial = *setup;
    const char *what = player_grows(setup) ? "limit" : "pool";
    trial.stop = true;
    if (trial.config.memory == CUARENA_MEMORY_PAGEABLE)
        trial.config.memory = CUARENA_MEMORY_NONE;
    uint64_t alignment = setup->config.alignment;
    uint64_t rounding = alignment > ROUNDING ? alignment : ROUNDING;
    uint64_t peak = trace_peak(trace, alignment).bytes;
    *smallest_out = (smallest_t){.found = false};
    if (peak == 0 || peak > PLAYER_MOST_BYTES)
        return true;
    for (int k = STEPS; k >= 0; k--) {
        bool served = false;
        uint64_t bytes = size_of_step(peak, (uint64_t)k, rounding);
        if (bytes > PLAYER_MOST_BYTES)
            continue;
        progress_step("smallest %s, %.3f", what, 1 + k / 1000.0);
        if (!serves(&trial, trace, bytes, &served, fault))
            return false;
        if (!served)
            break;
        *smallest_out = (smallest_t){true, bytes, 1 + k / 1000.0};
    }
    return true;
}
