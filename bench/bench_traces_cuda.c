/*
 * The recorded traces on the memory of a device: what a call costs, and how much memory is
 * reserved, by arenas of each preset next to the driver's stream-ordered pool that gives nothing
 * back. Nobody touches the memory.
 *
 *   first   nanoseconds per call in the first pass, where memory is taken
 *   warm    ... in later ones, median of the passes
 *   p50 ... of single calls in a later pass, the clock's reading included
 *   reserved  the most that was taken from the driver, over the peak of live
 *           bytes; a pool's is what it was made with
 *   calls   of the arena's memory in all passes, each one of the driver or
 *           several; 0 of the driver's pool, where nobody counts them
 *   pieces  segments that it was held in at the end
 *
 *   bench_traces_cuda [OPTION...] TRACE...
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"
#include "player.h"
#include "runtime.h"

#define PASSES 15
#define GRANULE 256
#define POOL_THOUSANDTHS 1250 /* of the peak */

static gpu_t gpu;
static runtime_t runtime;

typedef struct cost {
    double first_ns;
    double warm_ns;
    figures_t call_ns;
    uint64_t reserved_bytes;
    uint64_t segments;
    uint64_t memory_calls;
    uint64_t driver_calls;
} cost_t;

/* An arena as the rows call it. */
typedef struct contender {
    const char *who;
    const char *options;
} contender_t;

static const contender_t contenders[] = {
    {"cuarena device, pool", "memory=device,preset=pool"},
    {"cuarena device, grow", "memory=device,preset=grow"},
    {"cuarena device, bfc", "memory=device,preset=bfc"},
    {"cuarena device, bfc, exact", "memory=device,preset=bfc,grow=exact"},
    {"cuarena device, mlx-cuda", "memory=device,preset=mlx-cuda"},
    {"cuarena device, cupy-pool", "memory=device,preset=cupy-pool"},
    {"cuarena device, driver-pool", "memory=device,preset=driver-pool"},
    {"cuarena host, mlx-cpu", "memory=pageable,preset=mlx-cpu"},
};
#define CONTENDERS (sizeof contenders / sizeof contenders[0])

static size_t passes(void)
{
    return gpu.quick ? 2 : PASSES;
}

static double *new_samples(size_t count)
{
    double *samples = calloc(count + 1, sizeof *samples);
    expect(samples != NULL, "memory for samples");
    return samples;
}

/* ---- An arena ------------------------------------------------------------ */

/* Frees first what the last pass left. */
static void clock_player(player_t *player, cost_t *cost)
{
    size_t events = player->trace->event_count;
    size_t all = events + player->trace->closing_count;
    uint32_t *nanoseconds = calloc(all + 1, sizeof *nanoseconds);
    expect(nanoseconds != NULL, "memory for samples");
    (void)player_clock(player, events, all, nanoseconds);
    size_t count = player_clock(player, 0, events, nanoseconds);
    double *samples = new_samples(count);
    for (size_t i = 0; i < count; i++)
        samples[i] = nanoseconds[i];
    cost->call_ns = figures_of(samples, count);
    free(samples);
    free(nanoseconds);
}

static cost_t replay(const trace_t *trace, const contender_t *contender)
{
    fault_t fault = {""};
    cost_t cost;
    player_t player;
    player_setup_t setup = {.blocks = false};
    uint64_t peak = trace_peak(trace, GRANULE).bytes;
    setup.config = gpu_config(&gpu, CUARENA_MEMORY_DEVICE);
    must(cuarena_config_parse(&setup.config, contender->options));
    if (setup.config.preset == CUARENA_PRESET_POOL)
        player_set_pool_bytes(&setup, peak / 1000 * POOL_THOUSANDTHS);
    expect(player_open(&player, &setup, trace, NULL, &fault), fault.text);
    double *samples = new_samples(passes());
    expect(player_time(&player, 1, &cost.first_ns), player.first_refusal.text);
    for (size_t i = 0; i < passes(); i++)
        expect(player_time(&player, 1, &samples[i]), player.first_refusal.text);
    cost.warm_ns = figures_of(samples, passes()).median;
    clock_player(&player, &cost);
    expect(player.refused == 0, player.first_refusal.text);
    player_tally_t tally = player_tally(&player);
    cost.reserved_bytes = tally.capacity_bytes;
    cost.segments = tally.segments;
    cost.memory_calls = tally.memory_calls;
    cost.driver_calls = tally.driver_calls;
    player_close(&player);
    free(samples);
    return cost;
}

/* ---- The driver's pool --------------------------------------------------- */

/* The driver serves no allocation of 0 bytes. */
static inline void play(const trace_event_t *event, void **slots)
{
    if (event->size == 0)
        return;
    void **slot = &slots[event->slot];
    int result = event->op == TRACE_ALLOC ? runtime.malloc_async(slot, event->size, gpu.stream)
                                          : runtime.free_async(*slot, gpu.stream);
    if (result == 0)
        return;
    fprintf(stderr, "%s of %" PRIu64 " bytes: error %d\n", runtime.async_name, event->size, result);
    exit(EXIT_FAILURE);
}

/* What still lives at the end is freed too, and not counted. */
static double time_pass(const trace_t *trace, void **slots)
{
    gpu_wait(&gpu);
    uint64_t begin = now_ns();
    for (size_t i = 0; i < trace->event_count; i++)
        play(&trace->events[i], slots);
    double ns = (double)(now_ns() - begin) / (double)trace->event_count;
    for (size_t i = 0; i < trace->closing_count; i++)
        play(&trace->events[trace->event_count + i], slots);
    return ns;
}

static figures_t clock_pass(const trace_t *trace, void **slots)
{
    double *samples = new_samples(trace->event_count);
    gpu_wait(&gpu);
    for (size_t i = 0; i < trace->event_count; i++) {
        uint64_t begin = now_ns();
        play(&trace->events[i], slots);
        samples[i] = (double)(now_ns() - begin);
    }
    for (size_t i = 0; i < trace->closing_count; i++)
        play(&trace->events[trace->event_count + i], slots);
    figures_t figures = figures_of(samples, trace->event_count);
    free(samples);
    return figures;
}

static cost_t replay_async(const trace_t *trace)
{
    cost_t cost = {.segments = 0};
    void **slots = calloc(trace->slot_count + 1, sizeof *slots);
    double *samples = new_samples(passes());
    expect(slots != NULL, "memory for slots");
    runtime_keep(&gpu, UINT64_MAX);
    runtime_trim(&gpu);
    cost.first_ns = time_pass(trace, slots);
    for (size_t i = 0; i < passes(); i++)
        samples[i] = time_pass(trace, slots);
    cost.warm_ns = figures_of(samples, passes()).median;
    cost.call_ns = clock_pass(trace, slots);
    cost.reserved_bytes = runtime_held(&gpu);
    runtime_keep(&gpu, 0);
    runtime_trim(&gpu);
    free(samples);
    free(slots);
    return cost;
}

/* ---- Rows ---------------------------------------------------------------- */

static void tell(const trace_t *trace, const char *who, const cost_t *cost)
{
    uint64_t peak = trace_peak(trace, GRANULE).bytes;
    double held = (double)cost->reserved_bytes / (double)peak;
    printf("  %-34s %8.1f %8.1f %8.0f %8.0f %9.0f %7.3f %6" PRIu64 " %6" PRIu64 "\n", who,
           cost->warm_ns, cost->first_ns, cost->call_ns.median, cost->call_ns.p99,
           cost->call_ns.most, held, cost->driver_calls, cost->segments);
    (void)fflush(stdout);
    record_begin("trace");
    record_text("case", trace_title(trace));
    record_text("who", who);
    record_text("unit", "ns");
    record_count("events", trace->event_count);
    record_count("peak_bytes", peak);
    record_count("reserved_bytes", cost->reserved_bytes);
    record_count("segments", cost->segments);
    record_count("memory_calls", cost->memory_calls);
    record_count("driver_calls", cost->driver_calls);
    record_number("first", cost->first_ns);
    record_number("warm", cost->warm_ns);
    record_figures(&cost->call_ns);
    record_end();
}

static void measure(const char *path)
{
    trace_t trace;
    fault_t fault = {""};
    cost_t cost;
    expect(trace_load(path, &trace, &fault), fault.text);
    printf("\n%s, %zu calls, peak %.2f GiB\n%-36s %8s %8s %8s %8s %9s %7s %6s "
           "%6s\n",
           trace_title(&trace), trace.event_count,
           (double)trace_peak(&trace, GRANULE).bytes / (double)GIB, "ns per call", "warm", "first",
           "p50", "p99", "most", "reserved", "calls", "pieces");
    for (size_t i = 0; i < CONTENDERS; i++) {
        cost = replay(&trace, &contenders[i]);
        tell(&trace, contenders[i].who, &cost);
    }
    if (runtime.malloc_async != NULL) {
        cost = replay_async(&trace);
        tell(&trace, runtime.async_name, &cost);
    }
    trace_free(&trace);
}

int main(int argc, char **argv)
{
    int at = gpu_open(&gpu, "traces", argc, argv);
    expect(at < argc, "usage: bench_traces_cuda [OPTION...] TRACE...");
    runtime_open(&runtime, &gpu);
    for (; at < argc; at++)
        measure(argv[at]);
    gpu_close(&gpu);
    return EXIT_SUCCESS;
}
