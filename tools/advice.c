#include "advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "progress.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

/* The granule of the presets that advice is about: pool and grow. */
#define ALIGNMENT 256

/* A pool that takes so much more than an arena that grows is not the first choice. */
#define POOL_WORTH_PERCENT 5

/* How many pages more are tried where a size with its room does not serve. */
#define MORE_PAGES 32

static const advice_target_t targets[] = {
    {"device", "handle=2MiB", 2 * MIB},
    {"pageable", "", 64 * KIB},
};

const advice_target_t *advice_target(const char *memory)
{
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (strcmp(targets[i].memory, memory) == 0)
            return &targets[i];
    return NULL;
}

/* What the search of one trace knows. */
typedef struct finding {
    const advice_ask_t *ask;
    const trace_t *trace;
    advice_t *advice;
    fault_t *fault;
} finding_t;

/* ---- One replay ---------------------------------------------------------- */

/* What one pass over the trace came to. */
typedef struct outcome {
    uint64_t failed;
    player_tally_t tally;
} outcome_t;

/* An arena of such options, on memory `none` whatever they say. */
static bool setup_of(const finding_t *f, const char *options, player_setup_t *setup_out)
{
    player_setup_t setup = {.streams = f->advice->streams};
    cuarena_config_init(&setup.config);
    if (cuarena_config_parse(&setup.config, options) != CUARENA_OK)
        return fault_library(f->fault, "options '%s'", options);
    setup.config.memory = CUARENA_MEMORY_NONE;
    if (cuarena_config_resolve(&setup.config) != CUARENA_OK)
        return fault_library(f->fault, "options '%s'", options);
    *setup_out = setup;
    return true;
}

static bool replay(const finding_t *f, const char *options, outcome_t *outcome_out)
{
    player_t player;
    player_setup_t setup;
    progress_step("%s", options);
    if (!setup_of(f, options, &setup) || !player_open(&player, &setup, f->trace, NULL, f->fault))
        return false;
    (void)player_run(&player, 1);
    *outcome_out = (outcome_t){player.refused, player_tally(&player)};
    player_close(&player);
    return true;
}

/* "A,B", or the one that is not empty. */
static void join(char *text, size_t room, const char *first, const char *second)
{
    const char *comma = first[0] != '\0' && second[0] != '\0' ? "," : "";
    (void)snprintf(text, room, "%s%s%s", first, comma, second);
}

/* ---- What presets take ---------------------------------------------------- */

/* How a preset is replayed, where it is not with the pages of the memory. */
typedef struct special {
    const char *preset;
    const char *memory;  /* of the program; NULL: any */
    const char *options; /* NULL: it is not replayed */
    const char *why_not;
} special_t;

static const special_t specials[] = {
    {"driver-pool", NULL, NULL, "the driver places its blocks: only a device shows what they take"},
    {"mlx-cpu", "device", NULL, "it is for host memory"},
    {"mlx-cuda", "pageable", NULL, "it is for device memory"},
    {"mlx-cuda", "device", "handle=512,in_place=0", NULL},
    {"cupy-pool", "device", "handle=512", NULL},
};

static special_t special_of(const advice_target_t *target, const char *preset)
{
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        const special_t *special = &specials[i];
        bool there = special->memory == NULL || strcmp(special->memory, target->memory) == 0;
        if (there && strcmp(special->preset, preset) == 0)
            return *special;
    }
    return (special_t){preset, NULL, target->pages, NULL};
}

/* Adds the row of `preset` with `more` options. */
static bool add_row(finding_t *f, const char *preset, const char *more)
{
    outcome_t outcome;
    char named[64], options[128];
    advice_row_t *row = &f->advice->rows[f->advice->row_count++];
    special_t special = special_of(f->ask->target, preset);
    *row = (advice_row_t){.why_not = special.why_not};
    join(row->name, sizeof row->name, preset, more);
    if (row->why_not != NULL)
        return true;
    (void)snprintf(named, sizeof named, "preset=%s", row->name);
    join(options, sizeof options, named, special.options);
    if (!replay(f, options, &outcome))
        return false;
    row->failed = outcome.failed;
    row->reserved_bytes = outcome.tally.reserved_peak_bytes;
    row->memory_calls = outcome.tally.memory_calls;
    return true;
}

/* A pool takes what it is told to; its row is the smallest one. */
static bool add_rows(finding_t *f)
{
    choices_t presets;
    if (!choices_of("preset", &presets, f->fault))
        return false;
    for (size_t i = 0; i < presets.count; i++)
        if (strcmp(presets.words[i], "pool") != 0 && !add_row(f, presets.words[i], ""))
            return false;
    return !f->advice->streams || add_row(f, "grow", "steal=never");
}

static bool search(finding_t *f)
{
    char options[64];
    player_setup_t setup;
    join(options, sizeof options, "preset=grow", f->ask->target->pages);
    return setup_of(f, "preset=pool", &setup) &&
           smallest_find(&setup, f->trace, &f->advice->min_pool, f->fault) &&
           setup_of(f, options, &setup) &&
           smallest_find(&setup, f->trace, &f->advice->min_limit, f->fault);
}

/* ---- Choices -------------------------------------------------------------- */

static uint64_t whole_pages(const finding_t *f, uint64_t bytes)
{
    uint64_t page = f->ask->target->page_bytes;
    return (bytes + page - 1) / page * page;
}

static uint64_t with_room(const finding_t *f, uint64_t bytes)
{
    uint64_t percent = f->ask->room_percent;
    uint64_t more = whole_pages(f, bytes + bytes / 100 * percent + bytes % 100 * percent / 100);
    return more < PLAYER_MOST_BYTES ? more : PLAYER_MOST_BYTES;
}

static void write_options(const finding_t *f, const char *preset, const char *key, uint64_t bytes,
                          advice_choice_t *choice)
{
    char most[96];
    bool mib = bytes % MIB == 0, fixed = strcmp(preset, "pool") == 0;
    (void)snprintf(most, sizeof most, "memory=%s,preset=%s,%s=%" PRIu64 "%s",
                   f->ask->target->memory, preset, key, bytes / (mib ? MIB : KIB),
                   mib ? "MiB" : "KiB");
    join(choice->options, sizeof choice->options, most, fixed ? "" : f->ask->target->pages);
}

static bool is_told(const advice_t *advice, const advice_choice_t *choice)
{
    for (size_t i = 0; i < advice->choice_count; i++)
        if (strcmp(advice->choices[i].options, choice->options) == 0)
            return true;
    return false;
}

/* Adds a choice of that size, or of the next that serves; none if there is none near. */
static bool add_choice(finding_t *f, const char *preset, const char *key, uint64_t smallest_bytes,
                       const char *when)
{
    outcome_t outcome = {.failed = 1};
    advice_choice_t choice = {.when = when, .bytes = with_room(f, smallest_bytes)};
    for (int more = 0; more < MORE_PAGES && choice.bytes <= PLAYER_MOST_BYTES; more++) {
        write_options(f, preset, key, choice.bytes, &choice);
        if (!replay(f, choice.options, &outcome))
            return false;
        if (outcome.failed == 0)
            break;
        choice.bytes += f->ask->target->page_bytes;
    }
    choice.reserved_bytes = outcome.tally.reserved_peak_bytes;
    choice.memory_calls = outcome.tally.memory_calls;
    if (outcome.failed == 0 && !is_told(f->advice, &choice))
        f->advice->choices[f->advice->choice_count++] = choice;
    return true;
}

static bool add_pool(finding_t *f)
{
    return !f->advice->min_pool.found ||
           add_choice(f, "pool", "pool", f->advice->min_pool.bytes,
                      "its memory is its own: it is taken once, and nothing more later");
}

/* The smallest limit; of a small program, in which a page is much, what it takes without one. */
static uint64_t limit_of(const finding_t *f)
{
    const advice_t *advice = f->advice;
    for (size_t i = 0; i < advice->row_count && !advice->min_limit.found; i++)
        if (strcmp(advice->rows[i].name, "grow") == 0 && advice->rows[i].failed == 0)
            return advice->rows[i].reserved_bytes;
    return advice->min_limit.bytes;
}

static bool add_grow(finding_t *f)
{
    uint64_t limit = limit_of(f);
    return limit == 0 ||
           add_choice(f, "grow", "limit", limit,
                      "others use the memory too: it takes what the program needs, no more");
}

/* The row of streams that share nothing is the last. No less than the smallest limit, in which they
 * share everything: other blocks may lie beside each other then. */
static bool add_streams(finding_t *f)
{
    const advice_row_t *row = &f->advice->rows[f->advice->row_count - 1];
    uint64_t limit = limit_of(f);
    if (!f->advice->streams || row->failed > 0)
        return true;
    return add_choice(f, "grow", "limit", row->reserved_bytes > limit ? row->reserved_bytes : limit,
                      "its streams are to overlap: none has to wait for bytes of another");
}

static bool pool_is_worth_it(const finding_t *f)
{
    uint64_t limit = limit_of(f);
    const smallest_t *pool = &f->advice->min_pool;
    return pool->found && pool->bytes <= limit + limit / 100 * POOL_WORTH_PERCENT;
}

static bool add_choices(finding_t *f)
{
    if (!add_streams(f))
        return false;
    return pool_is_worth_it(f) ? add_pool(f) && add_grow(f) : add_grow(f) && add_pool(f);
}

/* ---- The whole ------------------------------------------------------------ */

bool advice_find(const advice_ask_t *ask, const trace_t *trace, advice_t *advice_out,
                 fault_t *fault)
{
    finding_t f = {ask, trace, advice_out, fault};
    *advice_out = (advice_t){
        .peak_live_bytes = trace_peak(trace, ALIGNMENT).bytes,
        .streams = trace->stream_count > 1 && trace->stream_count <= CUARENA_MAX_STREAMS,
    };
    if (!player_check_peak(trace, ALIGNMENT, "", fault))
        return false;
    if (advice_out->peak_live_bytes == 0)
        return true;
    return search(&f) && add_rows(&f) && add_choices(&f);
}
