#include "smallest.h"

#include "progress.h"

#define STEPS 500 /* thousandths of the peak above it, at most */
#define ROUNDING 256

/* What is searched: the sizes, and the arenas that are tried with them. */
typedef struct search {
    player_setup_t trial;
    const trace_t *trace;
    const char *what; /* for progress */
    uint64_t peak;
    uint64_t rounding;
    fault_t *fault;
} search_t;

static search_t search_of(const player_setup_t *setup, const trace_t *trace, const char *what,
                          fault_t *fault)
{
    uint64_t alignment = setup->config.alignment;
    search_t search = {
        .trial = *setup,
        .trace = trace,
        .what = what,
        .peak = trace_peak(trace, alignment).bytes,
        .rounding = alignment > ROUNDING ? alignment : ROUNDING,
        .fault = fault,
    };
    if (search.trial.config.memory == CUARENA_MEMORY_PAGEABLE)
        search.trial.config.memory = CUARENA_MEMORY_NONE;
    return search;
}

/* A peak of 0, or of which no arena has twice as much, is not searched. */
static bool is_searchable(const search_t *s)
{
    return s->peak > 0 && s->peak <= CUARENA_HEAP_MAX_SEGMENT / 2;
}

/* peak * (1 + k / 1000) without leaving 64 bits, rounded down. */
static smallest_t size_of_step(const search_t *s, uint64_t k)
{
    uint64_t bytes = s->peak + s->peak / 1000 * k + s->peak % 1000 * k / 1000;
    return (smallest_t){true, bytes & ~(s->rounding - 1), 1 + (double)k / 1000};
}

bool smallest_serves(const player_setup_t *setup, const trace_t *trace, bool *served_out,
                     fault_t *fault)
{
    player_t player;
    player_setup_t trial = *setup;
    trial.stop = true;
    if (!player_open(&player, &trial, trace, NULL, fault))
        return false;
    *served_out = player_run(&player, 1);
    player_close(&player);
    return true;
}

static bool try_size(search_t *s, smallest_t size, bool *served_out)
{
    *served_out = false;
    if (size.bytes == 0)
        return true;
    progress_step("smallest %s, %.3f", s->what, size.ratio);
    player_set_pool_bytes(&s->trial, size.bytes);
    return smallest_serves(&s->trial, s->trace, served_out, s->fault);
}

bool smallest_pool(const player_setup_t *setup, const trace_t *trace, smallest_t *smallest_out,
                   fault_t *fault)
{
    search_t s = search_of(setup, trace, "pool", fault);
    bool served = is_searchable(&s);
    *smallest_out = (smallest_t){.found = false};
    for (uint64_t k = STEPS + 1; served && k > 0; k--) {
        smallest_t size = size_of_step(&s, k - 1);
        if (!try_size(&s, size, &served))
            return false;
        if (served)
            *smallest_out = size;
    }
    return true;
}

bool smallest_limit(const player_setup_t *setup, const trace_t *trace, smallest_t *smallest_out,
                    fault_t *fault)
{
    search_t s = search_of(setup, trace, "limit", fault);
    bool served = !is_searchable(&s);
    *smallest_out = (smallest_t){.found = false};
    for (uint64_t k = 0; !served && k <= STEPS; k++) {
        smallest_t size = size_of_step(&s, k);
        if (!try_size(&s, size, &served))
            return false;
        if (served)
            *smallest_out = size;
    }
    return true;
}
