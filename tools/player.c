#include "player.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuarena/cache.h"
#include "follow.h"

#define INLINE static inline __attribute__((always_inline))
#define COLD static __attribute__((noinline, cold))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* What a slot holds whose allocation was refused: no arena gives either. */
#define REFUSED_POINTER ((void *)UINTPTR_MAX)
#define REFUSED_BLOCK UINT64_MAX

/* ---- The way of one event ------------------------------------------------ */

/* How events are played: the flags are constants to the compiler, the rest is kept in registers. */
typedef struct way {
    bool blocks;
    bool tracked;
    bool streams;
    cuarena_t *arena;
    const cuarena_stream_t *handles; /* by stream */
} way_t;

INLINE way_t way_of(const player_t *p, bool blocks, bool tracked, bool streams)
{
    return (way_t){blocks, tracked, streams, p->arena, p->streams.handles};
}

INLINE bool is_refused(const player_slot_t *slot, bool blocks)
{
    return blocks ? slot->block == REFUSED_BLOCK : slot->pointer == REFUSED_POINTER;
}

INLINE cuarena_status_t ask(const trace_event_t *event, player_slot_t *slot, way_t way)
{
    cuarena_t *arena = way.arena;
    if (way.streams) {
        cuarena_stream_t stream = way.handles[event->stream];
        return way.blocks ? cuarena_block_alloc_on(arena, event->size, stream, NULL, &slot->block)
                          : cuarena_alloc_on(arena, event->size, stream, NULL, &slot->pointer);
    }
    return way.blocks ? cuarena_block_alloc(arena, event->size, &slot->block)
                      : cuarena_alloc(arena, event->size, &slot->pointer);
}

INLINE cuarena_status_t give(const trace_event_t *event, const player_slot_t *slot, way_t way)
{
    cuarena_t *arena = way.arena;
    if (way.streams) {
        cuarena_stream_t stream = way.handles[event->stream];
        return way.blocks ? cuarena_block_free_on(arena, slot->block, stream)
                          : cuarena_free_on(arena, slot->pointer, stream);
    }
    return way.blocks ? cuarena_block_free(arena, slot->block) : cuarena_free(arena, slot->pointer);
}

INLINE void empty(player_slot_t *slot, bool blocks)
{
    if (blocks)
        slot->block = 0;
    else
        slot->pointer = NULL;
}

/* The frees behind the trace's own have that of its last event. */
static uint32_t line_of(const trace_t *trace, size_t event)
{
    size_t last = trace->event_count - 1;
    return trace->lines[event < last ? event : last];
}

/* Counts it, and keeps what the library said of the first. */
COLD bool refuse(player_t *p, const trace_event_t *event, const char *what)
{
    size_t number = (size_t)(event - p->trace->events) + 1;
    if (p->refused++ == 0)
        (void)fault_library(&p->first_refusal,
                            "%s:%" PRIu32 ": event %zu of pass %" PRIu64 ": %s of %" PRIu64
                            " bytes",
                            p->trace->path, line_of(p->trace, number - 1), number, p->passes + 1,
                            what, event->size);
    return !p->setup.stop;
}

COLD cuarena_status_t make_room(player_t *p, uint64_t bytes)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.goal_bytes = bytes;
    return cuarena_compact(p->arena, &options, p->tracked ? follow : NULL, p, NULL);
}

/* What can still be done for a request; the status that it came to. */
COLD cuarena_status_t rescue(player_t *p, const trace_event_t *event, player_slot_t *slot,
                             cuarena_status_t status)
{
    bool blocks = p->setup.blocks;
    if (p->tracked)
        empty(slot, blocks);
    if (status == CUARENA_FRAGMENTED && p->setup.compact && make_room(p, event->size) == CUARENA_OK)
        status = ask(event, slot, way_of(p, blocks, p->tracked, p->setup.streams));
    if (status != CUARENA_OK && blocks)
        slot->block = REFUSED_BLOCK;
    else if (status != CUARENA_OK)
        slot->pointer = REFUSED_POINTER;
    return status;
}

INLINE bool alloc(player_t *p, const trace_event_t *event, player_slot_t *slot, way_t way)
{
    cuarena_status_t status = ask(event, slot, way);
    if (UNLIKELY(status != CUARENA_OK) && rescue(p, event, slot, status) != CUARENA_OK)
        return refuse(p, event, "allocation");
    if (way.tracked && !way.blocks && p->setup.compact && slot->pointer != NULL &&
        UNLIKELY(cuarena_unpin(way.arena, slot->pointer) != CUARENA_OK))
        return refuse(p, event, "unpin");
    return true;
}

INLINE bool release(player_t *p, const trace_event_t *event, player_slot_t *slot, way_t way)
{
    if (UNLIKELY(is_refused(slot, way.blocks))) {
        p->skipped++;
        return true;
    }
    cuarena_status_t status = give(event, slot, way);
    if (way.tracked)
        empty(slot, way.blocks);
    return !UNLIKELY(status != CUARENA_OK) || refuse(p, event, "free");
}

/* ---- Stretches of events ------------------------------------------------ */

INLINE bool play_as(player_t *p, const trace_event_t *event, const trace_event_t *end, way_t way)
{
    player_slot_t *slots = p->slots;
    for (; event != end; event++) {
        player_slot_t *slot = &slots[event->slot];
        bool go_on =
            event->op == TRACE_ALLOC ? alloc(p, event, slot, way) : release(p, event, slot, way);
        if (UNLIKELY(!go_on))
            return false;
    }
    return true;
}

INLINE bool play_by(player_t *p, const trace_event_t *event, const trace_event_t *end, bool blocks)
{
    if (p->setup.streams)
        return p->tracked ? play_as(p, event, end, way_of(p, blocks, true, true))
                          : play_as(p, event, end, way_of(p, blocks, false, true));
    return p->tracked ? play_as(p, event, end, way_of(p, blocks, true, false))
                      : play_as(p, event, end, way_of(p, blocks, false, false));
}

static bool play(player_t *p, const trace_event_t *event, const trace_event_t *end)
{
    if (p->setup.blocks)
        return play_by(p, event, end, true);
    return play_by(p, event, end, false);
}

/* ---- Stretches of events under a watch ----------------------------------- */

/* Where the slot's block is. NULL for an empty one; false if it cannot be
 * told. */
static bool address_of(const player_t *p, const player_slot_t *slot, void **address_out)
{
    *address_out = NULL;
    if (!p->setup.blocks)
        *address_out = slot->pointer;
    else if (cuarena_block_pin(p->arena, slot->block, address_out) ||
             cuarena_block_unpin(p->arena, slot->block))
        return false;
    return true;
}

static bool play_watched_event(player_t *p, const trace_event_t *event)
{
    const player_watch_t *watch = p->watch;
    player_slot_t *slot = &p->slots[event->slot];
    void *address = NULL;
    if (event->op == TRACE_FREE && !is_refused(slot, p->setup.blocks)) {
        if (!address_of(p, slot, &address))
            return refuse(p, event, "pin");
        if (!watch->dies(watch->user, event->slot, address))
            return false;
    }
    if (!play(p, event, event + 1) || p->watch_ended)
        return false;
    if (event->op == TRACE_FREE || is_refused(slot, p->setup.blocks))
        return true;
    if (!address_of(p, slot, &address))
        return refuse(p, event, "pin");
    return watch->born(watch->user, event->slot, address, event->size);
}

static bool play_told(player_t *p, const trace_event_t *event)
{
    const player_watch_t *watch = p->watch;
    uint64_t unserved = p->refused + p->skipped;
    if (watch->plays != NULL && !watch->plays(watch->user, event))
        return false;
    if (!play_watched_event(p, event))
        return false;
    return watch->played == NULL ||
           watch->played(watch->user, event, p->refused + p->skipped == unserved);
}

static bool play_watched(player_t *p, const trace_event_t *event, const trace_event_t *end)
{
    for (; event != end; event++)
        if (!play_told(p, event))
            return false;
    return true;
}

/* ---- Passes -------------------------------------------------------------- */

typedef bool (*play_fn)(player_t *, const trace_event_t *, const trace_event_t *);

static bool run(player_t *p, uint64_t passes, play_fn play_stretch)
{
    const trace_event_t *events = p->trace->events;
    const trace_event_t *end = events + p->trace->event_count;
    for (uint64_t pass = 0; pass < passes; pass++) {
        if (p->passes > 0 && !play_stretch(p, end, end + p->trace->closing_count))
            return false;
        if (!play_stretch(p, events, end))
            return false;
        if (p->passes++ == 0)
            p->skipped_first = p->skipped;
    }
    return true;
}

bool player_run(player_t *player, uint64_t passes)
{
    return run(player, passes, play);
}

bool player_run_watched(player_t *player, uint64_t passes)
{
    return run(player, passes, play_watched);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool player_time(player_t *player, uint64_t passes, double *ns_per_event_out)
{
    const trace_t *trace = player->trace;
    uint64_t begin = now_ns();
    bool whole = player_run(player, passes);
    uint64_t taken = now_ns() - begin;
    uint64_t events =
        passes * trace->event_count + (passes - 1) * trace->closing_count - player->skipped;
    *ns_per_event_out = events > 0 ? (double)taken / (double)events : 0;
    return whole;
}

size_t player_clock(player_t *player, size_t from, size_t to, uint32_t *nanoseconds)
{
    const trace_event_t *events = player->trace->events;
    size_t count = 0;
    uint64_t last = now_ns();
    for (size_t i = from; i < to; i++) {
        uint64_t skipped = player->skipped;
        (void)play(player, events + i, events + i + 1);
        uint64_t now = now_ns(), taken = now - last;
        nanoseconds[count] = taken < UINT32_MAX ? (uint32_t)taken : UINT32_MAX;
        count += skipped == player->skipped;
        last = now;
    }
    return count;
}

/* ---- Life ---------------------------------------------------------------- */

bool player_check_peak(const trace_t *trace, uint64_t alignment, const char *or_else,
                       fault_t *fault)
{
    if (trace_peak(trace, alignment).bytes <= PLAYER_MOST_BYTES)
        return true;
    trace_peak_t above = trace_passing(trace, alignment, PLAYER_MOST_BYTES);
    return fault_set(fault,
                     "%s:%" PRIu32 ": with the %" PRIu64 " bytes asked for here %" PRIu64
                     " are live, expected at most %" PRIu64 "%s",
                     trace->path, trace->lines[above.event], trace->events[above.event].size,
                     above.bytes, PLAYER_MOST_BYTES, or_else);
}

/* A grow of -1 is as the preset says. */
bool player_grows(const player_setup_t *setup)
{
    const cuarena_config_t *config = &setup->config;
    return config->grow == -1 ? config->preset != CUARENA_PRESET_POOL
                              : config->grow != CUARENA_GROW_NONE;
}

void player_set_pool(player_setup_t *setup, cuarena_amount_t pool)
{
    if (player_grows(setup))
        setup->config.limit = pool;
    else
        setup->config.pool = pool;
}

void player_set_pool_bytes(player_setup_t *setup, uint64_t bytes)
{
    player_set_pool(setup, (cuarena_amount_t){.unit = CUARENA_AMOUNT_BYTES, .value = bytes});
}

bool player_open(player_t *player, const player_setup_t *setup, const trace_t *trace,
                 const player_watch_t *watch, fault_t *fault)
{
    *player = (player_t){.trace = trace, .setup = *setup, .watch = watch};
    player->tracked = watch != NULL || (setup->compact && !setup->blocks);
    if (cuarena_create(&setup->config, &player->arena) != CUARENA_OK)
        return fault_library(fault, "%s: the arena cannot be made", trace->path);
    if (setup->streams &&
        !streams_open(&player->streams, &setup->config, trace->stream_count, fault)) {
        (void)cuarena_destroy_forced(&player->arena);
        return false;
    }
    player->slots = must_have(NULL, trace->slot_count, sizeof(player_slot_t));
    memset(player->slots, 0, trace->slot_count * sizeof(player_slot_t));
    if (player->tracked)
        (void)cuarena_set_relocation_callback(player->arena, follow, player);
    return true;
}

void player_close(player_t *player)
{
    (void)cuarena_destroy_forced(&player->arena);
    streams_close(&player->streams);
    free(player->slots);
    player->slots = NULL;
}

player_tally_t player_tally(const player_t *player)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    (void)cuarena_stats(player->arena, CUARENA_REGION_ALL, &stats);
    cuarena_cache_stats_t cache;
    cuarena_cache_stats_init(&cache);
    (void)cuarena_cache_stats(player->arena, &cache);
    bool grows = player_grows(&player->setup);
    return (player_tally_t){
        .capacity_bytes = grows ? stats.peak_reserved_bytes : stats.capacity_bytes,
        .reserved_peak_bytes = stats.peak_reserved_bytes,
        .segments = stats.segments,
        .memory_calls = stats.memory_calls,
        .driver_calls = stats.driver_calls,
        .steals = stats.steals,
        .stream_waits = stats.stream_waits,
        .host_waits = stats.host_waits,
        .caches = player->setup.config.keep == CUARENA_KEEP_CACHE,
        .hits = cache.hits,
        .misses = cache.misses,
        .cached_peak_bytes = cache.peak_cached_bytes,
        .compactions = stats.compactions,
        .moves = stats.moves,
        .bytes_moved = stats.bytes_moved,
    };
}
