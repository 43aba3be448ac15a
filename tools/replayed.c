#include "replayed.h"

#include <stdlib.h>
#include <string.h>

#include "cuarena/stats.h"

#define NO_STAY SIZE_MAX

typedef struct recorder {
    player_t player;
    history_t *h;
    uint64_t moment;    /* of the event under way */
    uint64_t allocs;    /* of the trace so far, refused ones too */
    size_t *open;       /* by slot: the stay that has no end yet, or NO_STAY */
    slide_t slide;      /* of the event under way */
    uint64_t alignment; /* of the arena */
    uint64_t low;       /* the arena's bytes, of a pool; 0: they change */
    uint64_t high;
} recorder_t;

/* ---- Blocks ---------------------------------------------------------------- */

/* How many bytes the block has, which the arena tells of pointers. */
static uint64_t taken_bytes(const recorder_t *r, const void *address, uint64_t bytes)
{
    uint64_t taken = 0;
    if (!r->player.setup.blocks &&
        cuarena_size_of(r->player.arena, address, NULL, &taken) == CUARENA_OK)
        return taken;
    return (bytes + r->alignment - 1) & ~(r->alignment - 1);
}

static bool born(void *user, uint32_t slot, void *address, uint64_t bytes)
{
    recorder_t *r = user;
    if (address == NULL)
        return true;
    const trace_t *trace = r->player.trace;
    const stay_t stay = {.begin = r->moment,
                         .end = r->h->moments,
                         .address = (uint64_t)(uintptr_t)address,
                         .bytes = bytes,
                         .taken_bytes = taken_bytes(r, address, bytes),
                         .block = r->allocs - 1,
                         .line = trace->lines[r->moment],
                         .stream = trace->events[r->moment].stream};
    r->open[slot] = history_open(r->h, &stay);
    return true;
}

static bool dies(void *user, uint32_t slot, void *address)
{
    recorder_t *r = user;
    (void)address;
    if (r->open[slot] != NO_STAY)
        history_close(r->h, r->open[slot], r->moment);
    r->open[slot] = NO_STAY;
    return true;
}

static bool moved(void *user, uint32_t slot, const cuarena_relocation_t *move)
{
    recorder_t *r = user;
    r->slide.moves++;
    r->slide.bytes += move->bytes;
    if (r->open[slot] != NO_STAY)
        r->open[slot] = history_move(r->h, r->open[slot], r->moment, (uint64_t)(uintptr_t)move->to);
    return true;
}

static bool moved_all(void *user)
{
    (void)user;
    return true;
}

/* ---- Before and after each event --------------------------------------------- */

static void find_obstacle(recorder_t *r, uint64_t asked_bytes)
{
    uint32_t slots = r->player.trace->slot_count;
    size_t *stays = must_have(NULL, slots, sizeof *stays), count = 0;
    for (uint32_t slot = 0; slot < slots; slot++)
        if (r->open[slot] != NO_STAY)
            stays[count++] = r->open[slot];
    history_find_obstacle(r->h, stays, count, r->low, r->high, asked_bytes);
    free(stays);
}

static bool wants_room(cuarena_status_t status)
{
    return status == CUARENA_OUT_OF_MEMORY || status == CUARENA_FRAGMENTED ||
           status == CUARENA_LIMIT;
}

static void add_refusal(recorder_t *r, const trace_event_t *event)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    (void)cuarena_last_error_info(&info);
    if (r->h->refusal_count == 0 && wants_room(info.status))
        find_obstacle(r, event->size);
    history_add_refusal(r->h,
                        (refusal_t){r->moment, event->size, info.free_bytes, info.largest_bytes});
}

static void add_sample(recorder_t *r)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    (void)cuarena_stats(r->player.arena, CUARENA_REGION_ALL, &stats);
    r->h->samples[r->moment] = (sample_t){.reserved_bytes = stats.reserved_bytes,
                                          .live_bytes = stats.live_bytes,
                                          .free_bytes = stats.free_bytes,
                                          .largest_bytes = stats.largest_bytes};
}

static bool plays(void *user, const trace_event_t *event)
{
    recorder_t *r = user;
    r->moment = (uint64_t)(event - r->player.trace->events);
    r->allocs += event->op == TRACE_ALLOC;
    r->slide = (slide_t){.moment = r->moment};
    return true;
}

static bool played(void *user, const trace_event_t *event, bool served)
{
    recorder_t *r = user;
    if (!served && event->op == TRACE_ALLOC)
        add_refusal(r, event);
    if (r->slide.moves > 0)
        history_add_slide(r->h, r->slide);
    add_sample(r);
    return true;
}

/* ---- The whole ------------------------------------------------------------------ */

static void find_bounds(recorder_t *r)
{
    void *base = NULL;
    uint64_t bytes = 0;
    if (player_grows(&r->player.setup) ||
        cuarena_base(r->player.arena, &base, &bytes) != CUARENA_OK)
        return;
    uint64_t capacity = player_tally(&r->player).capacity_bytes; /* pages may be more */
    r->low = (uint64_t)(uintptr_t)base;
    r->high = r->low + (capacity < bytes ? capacity : bytes);
}

static char *statistics_of(cuarena_t *arena)
{
    size_t needed = 0;
    (void)cuarena_stats_text(arena, CUARENA_TEXT_STATS, NULL, 0, &needed);
    char *text = must_have(NULL, needed + 1, 1);
    text[0] = '\0';
    (void)cuarena_stats_text(arena, CUARENA_TEXT_STATS, text, needed, NULL);
    return text;
}

static void prepare(recorder_t *r, const trace_t *trace)
{
    history_t *h = r->h;
    h->moments = trace->event_count;
    h->unit_bytes = r->alignment;
    h->samples = must_have(NULL, trace->event_count, sizeof *h->samples);
    memset(h->samples, 0, trace->event_count * sizeof *h->samples);
    (void)history_tag(h, NULL, 0);
    r->open = must_have(NULL, trace->slot_count, sizeof *r->open);
    for (uint32_t slot = 0; slot < trace->slot_count; slot++)
        r->open[slot] = NO_STAY;
}

static void finish(recorder_t *r)
{
    history_t *h = r->h;
    if (r->high != 0)
        history_add_band(h, (band_t){r->low, r->high - r->low});
    else
        history_find_bands(h);
    h->refusal = r->player.first_refusal;
    h->statistics = statistics_of(r->player.arena);
}

bool replayed_history(const player_setup_t *setup, const trace_t *trace, history_t *history_out,
                      fault_t *fault)
{
    history_t h = {.kind = HISTORY_REPLAYED};
    recorder_t r = {.h = &h, .alignment = setup->config.alignment};
    const player_watch_t watch = {.user = &r,
                                  .plays = plays,
                                  .played = played,
                                  .born = born,
                                  .dies = dies,
                                  .moved = moved,
                                  .moved_all = moved_all};
    if (!player_open(&r.player, setup, trace, &watch, fault))
        return false;
    prepare(&r, trace);
    find_bounds(&r);
    (void)player_run_watched(&r.player, 1);
    finish(&r);
    free(r.open);
    player_close(&r.player);
    *history_out = h;
    return true;
}
