#include "slide_protocol.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef enum state {
    /* of a reader */
    DRAWING,
    FETCHING, /* a chunk of the table: from the host ... */
    STORING,  /* ... to the device ... */
    FETCHED,  /* ... and published */
    STARTING, /* a tile, once its chunks are there */
    /* of a stage */
    EMPTY,
    READING, /* the pieces of its tile, a few bytes a step */
    PUBLISHING,
    FINDING_READERS, /* of what the pieces overwrite, a piece a step */
    EARLY_WAITING,   /* for readers that do not adjoin the next */
    WAITING,
    WRITING,
    /* of both */
    ENDED
} state_t;

typedef struct reader {
    state_t state;
    uint32_t ticket;
    uint32_t known_chunks;
    uint32_t stage; /* that the next tile goes to */
    unsigned char chunk[CUAI_SLIDE_CHUNK];
} reader_t;

typedef struct stage {
    state_t state;
    uint32_t ticket;
    cuai_slide_range_t tile; /* its units */
    uint32_t first;          /* run of the first unit */
    uint32_t run;            /* that a step is at */
    uint64_t done;           /* bytes of its piece */
    uint32_t place;          /* in the order of sources; UINT32_MAX: none yet */
    uint32_t seen;           /* of the tickets waited for */
    uint32_t waits;          /* entries of `readers`, one for each piece */
    cuai_slide_range_t *readers;
    unsigned char *bytes;
} stage_t;

struct slide_blocks {
    cuai_slide_params_t params;
    slide_defect_t defect;
    uint32_t count;
    uint32_t stages;              /* of each block */
    const slide_access_t *access; /* during a step */
    bool refused;
    reader_t *readers;
    stage_t *all_stages; /* block by block */
};

/* ---- Life -------------------------------------------------------------- */

static uint64_t tile_bytes(const cuai_slide_params_t *p)
{
    return (uint64_t)p->tile_units << p->unit_log2;
}

static bool stage_begin(const cuai_slide_params_t *p, stage_t *stage)
{
    stage->state = EMPTY;
    stage->readers = calloc(p->tile_units + 1, sizeof *stage->readers);
    stage->bytes = malloc(tile_bytes(p));
    return stage->readers != NULL && stage->bytes != NULL;
}

slide_blocks_t *slide_blocks_begin(const cuai_slide_params_t *params, uint32_t count,
                                   uint32_t stages, slide_defect_t defect)
{
    slide_blocks_t *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->params = *params;
    s->defect = defect;
    s->count = count;
    s->stages = stages;
    s->readers = calloc(count, sizeof *s->readers);
    s->all_stages = calloc((size_t)count * stages, sizeof *s->all_stages);
    bool whole = s->readers != NULL && s->all_stages != NULL;
    for (uint32_t i = 0; whole && i < count * stages; i++)
        whole = stage_begin(params, &s->all_stages[i]);
    if (whole)
        return s;
    slide_blocks_end(s);
    return NULL;
}

void slide_blocks_end(slide_blocks_t *s)
{
    if (s->all_stages != NULL)
        for (uint32_t i = 0; i < s->count * s->stages; i++) {
            free(s->all_stages[i].readers);
            free(s->all_stages[i].bytes);
        }
    free(s->all_stages);
    free(s->readers);
    free(s);
}

uint32_t slide_blocks_actors(const slide_blocks_t *s)
{
    return s->count * (1 + s->stages);
}

/* ---- Access ------------------------------------------------------------ */

static void get(slide_blocks_t *s, uint64_t address, void *out, uint64_t bytes)
{
    const void *in = s->access->read(s->access->user, address, bytes);
    if (in != NULL)
        memcpy(out, in, bytes);
    else
        memset(out, 0, bytes);
    s->refused = s->refused || in == NULL;
}

static void put(slide_blocks_t *s, uint64_t address, const void *in, uint64_t bytes)
{
    void *out = s->access->write(s->access->user, address, bytes);
    if (out != NULL)
        memcpy(out, in, bytes);
    s->refused = s->refused || out == NULL;
}

/* The word as it was. */
static uint32_t exchange(slide_blocks_t *s, uint64_t address, bool add, uint32_t value)
{
    unsigned char *word = s->access->update(s->access->user, address, 4);
    uint32_t found = 0;
    if (word != NULL) {
        memcpy(&found, word, 4);
        value += add ? found : 0;
        memcpy(word, &value, 4);
    }
    s->refused = s->refused || word == NULL;
    return found;
}

static bool is_published(slide_blocks_t *s, uint32_t ticket)
{
    uint32_t wanted = s->params.published_base + ticket;
    uint32_t found = exchange(s, cuai_slide_word(&s->params, wanted), true, 0);
    return cuai_slide_is_published(found, wanted);
}

/* False: its line of the ring is still in use. */
static bool publish(slide_blocks_t *s, uint32_t ticket)
{
    const cuai_slide_params_t *p = &s->params;
    if (ticket > p->published_mask && s->defect != SLIDE_OVERRUN &&
        !is_published(s, ticket - p->published_mask - 1))
        return false;
    uint32_t value = p->published_base + ticket;
    exchange(s, cuai_slide_word(p, value), false, value);
    return true;
}

/* ---- Runs -------------------------------------------------------------- */

static cuai_slide_run_t run_of(slide_blocks_t *s, uint32_t k)
{
    cuai_slide_run_t run;
    if (s->params.runs == 0)
        return s->params.list[k];
    /* What has not been fetched may be anything. */
    if (!is_published(s, k / CUAI_SLIDE_CHUNK_RUNS))
        s->refused = true;
    get(s, s->params.runs + k * sizeof run, &run, sizeof run);
    return run;
}

static cuai_slide_run_t by_source(slide_blocks_t *s, uint32_t place)
{
    const cuai_slide_params_t *p = &s->params;
    uint32_t k = place;
    if (p->by_source == 1)
        memcpy(&k, (const unsigned char *)(p->list + p->run_count) + 4 * place, 4);
    else if (p->by_source != 0)
        get(s, p->by_source + 4 * (uint64_t)place, &k, 4);
    return run_of(s, k < p->run_count ? k : 0);
}

static uint32_t find_run(slide_blocks_t *s, uint32_t unit, uint32_t low, uint32_t end)
{
    while (end - low > 1) {
        uint32_t middle = low + (end - low) / 2;
        if (run_of(s, middle).at <= unit)
            low = middle;
        else
            end = middle;
    }
    return low;
}

/* The first place of [low, end) of a source that ends above an address. */
static uint32_t find_source(slide_blocks_t *s, uint64_t address, uint32_t low, uint32_t end)
{
    while (low < end) {
        uint32_t middle = low + (end - low) / 2;
        cuai_slide_run_t run = by_source(s, middle);
        if (run.from + run.bytes > address)
            end = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint32_t chunk_of(const cuai_slide_params_t *p, uint32_t unit)
{
    uint32_t chunk = 0;
    while (chunk + 1 < cuai_slide_run_chunks(p) && cuai_slide_chunk_at(p, chunk + 1) <= unit)
        chunk++;
    return chunk;
}

/* ---- Readers ----------------------------------------------------------- */

static slide_step_t draw(slide_blocks_t *s, reader_t *r)
{
    const cuai_slide_params_t *p = &s->params;
    r->ticket = exchange(s, p->ticket, true, 1) - p->ticket_base;
    if (r->ticket >= p->fetch_count + p->tile_count) {
        r->state = ENDED;
        return SLIDE_DONE;
    }
    r->state = FETCHING;
    if (r->ticket < p->fetch_count)
        return SLIDE_PROGRESS;
    if (s->defect == SLIDE_BACKWARDS)
        r->ticket = 2 * p->fetch_count + p->tile_count - 1 - r->ticket;
    r->state = STARTING;
    return SLIDE_PROGRESS;
}

static uint32_t runs_in(const cuai_slide_params_t *p, uint32_t chunk)
{
    uint32_t left = p->run_count - chunk * CUAI_SLIDE_CHUNK_RUNS;
    return left < CUAI_SLIDE_CHUNK_RUNS ? left : CUAI_SLIDE_CHUNK_RUNS;
}

static void get_packed(slide_blocks_t *s, uint32_t chunk, unsigned char *out)
{
    const cuai_slide_params_t *p = &s->params;
    cuai_slide_packed_t packed[CUAI_SLIDE_CHUNK_RUNS];
    uint32_t count = runs_in(p, chunk);
    uint32_t at = cuai_slide_chunk_at(p, chunk);
    get(s, p->table + (uint64_t)chunk * sizeof packed, packed, count * sizeof *packed);
    for (uint32_t i = 0; i < count; i++) {
        cuai_slide_run_t run = cuai_slide_unpack(p, &packed[i], at);
        memcpy(out + i * sizeof run, &run, sizeof run);
        at += cuai_slide_units(run.bytes, p->unit_log2);
    }
}

static slide_step_t fetch(slide_blocks_t *s, reader_t *r)
{
    const cuai_slide_params_t *p = &s->params;
    uint64_t offset = (uint64_t)r->ticket * CUAI_SLIDE_CHUNK;
    if (r->state == FETCHING) {
        if (r->ticket >= p->fetch_ahead && !is_published(s, r->ticket - p->fetch_ahead))
            return SLIDE_BLOCKED;
        if (p->pack_log2 != 0)
            get_packed(s, r->ticket, r->chunk);
        else
            get(s, p->table + offset, r->chunk, CUAI_SLIDE_CHUNK);
        r->state = STORING;
    } else if (r->state == STORING) {
        uint64_t bytes = CUAI_SLIDE_CHUNK;
        if (p->pack_log2 != 0)
            bytes = runs_in(p, r->ticket) * sizeof(cuai_slide_run_t);
        put(s, p->runs + offset, r->chunk, bytes);
        r->state = FETCHED;
    } else if (publish(s, r->ticket)) {
        r->state = DRAWING;
    } else {
        return SLIDE_BLOCKED;
    }
    return SLIDE_PROGRESS;
}

/* The run of the tile's first unit; false: a chunk is not there yet. */
static bool locate(slide_blocks_t *s, reader_t *r, cuai_slide_range_t units, uint32_t *run_out)
{
    const cuai_slide_params_t *p = &s->params;
    uint32_t low = 0;
    uint32_t end = p->run_count;
    if (p->runs != 0) {
        uint32_t wanted = cuai_slide_chunks_for(p, chunk_of(p, units.end - 1));
        while (r->known_chunks < wanted && is_published(s, r->known_chunks))
            r->known_chunks++;
        if (r->known_chunks < wanted && s->defect != SLIDE_NO_TABLE_WAIT)
            return false;
        low = chunk_of(p, units.begin) * CUAI_SLIDE_CHUNK_RUNS;
        if (end > low + CUAI_SLIDE_CHUNK_RUNS)
            end = low + CUAI_SLIDE_CHUNK_RUNS;
    }
    *run_out = find_run(s, units.begin, low, end);
    return true;
}

/* The stage is empty since before the ticket was drawn. */
static slide_step_t start_tile(slide_blocks_t *s, reader_t *r, stage_t *stage)
{
    cuai_slide_range_t units = cuai_slide_tile(&s->params, r->ticket);
    if (!locate(s, r, units, &stage->first))
        return SLIDE_BLOCKED;
    r->state = DRAWING;
    r->stage = (r->stage + 1) % s->stages;
    stage->ticket = r->ticket;
    stage->tile = units;
    stage->run = stage->first;
    stage->done = 0;
    stage->waits = 0;
    stage->state = s->defect == SLIDE_EARLY_PUBLISH ? PUBLISHING : READING;
    return SLIDE_PROGRESS;
}

static slide_step_t reader_step(slide_blocks_t *s, uint32_t block)
{
    reader_t *r = &s->readers[block];
    stage_t *stage = &s->all_stages[block * s->stages + r->stage];
    switch (r->state) {
    case DRAWING:
        return stage->state == EMPTY ? draw(s, r) : SLIDE_BLOCKED;
    case FETCHING:
    case STORING:
    case FETCHED:
        return fetch(s, r);
    case STARTING:
        return start_tile(s, r, stage);
    default:
        return SLIDE_DONE;
    }
}

/* ---- Stages ------------------------------------------------------------ */

static slide_step_t enter(stage_t *stage, state_t state)
{
    stage->state = state;
    stage->run = stage->first;
    stage->done = 0;
    stage->seen = 0;
    stage->place = UINT32_MAX;
    return SLIDE_PROGRESS;
}

/* The tile's piece of the run that a step is at; false: it has none. */
static bool piece_of(slide_blocks_t *s, const stage_t *stage, cuai_slide_run_t *run,
                     cuai_slide_span_t *piece)
{
    if (stage->run >= s->params.run_count)
        return false;
    uint32_t at = stage->run;
    if (at % CUAI_SLIDE_CHUNK_RUNS == 0 && s->params.runs != 0 &&
        cuai_slide_chunk_at(&s->params, at / CUAI_SLIDE_CHUNK_RUNS) >= stage->tile.end)
        return false;
    *run = run_of(s, at);
    if (run->at >= stage->tile.end)
        return false;
    *piece = cuai_slide_piece(&s->params, run, stage->tile);
    return true;
}

static unsigned char *place_of(const slide_blocks_t *s, const stage_t *stage,
                               const cuai_slide_run_t *run)
{
    uint32_t begin = stage->tile.begin;
    uint32_t units = run->at > begin ? run->at - begin : 0;
    return stage->bytes + ((uint64_t)units << s->params.unit_log2);
}

/* A few bytes of a piece, to the stage or from it. False: all were moved. */
static bool move_some(slide_blocks_t *s, stage_t *stage, bool out)
{
    cuai_slide_run_t run;
    cuai_slide_span_t piece;
    if (!piece_of(s, stage, &run, &piece))
        return false;
    uint64_t begin = piece.begin + stage->done;
    uint64_t bytes = piece.end - begin;
    if (bytes > tile_bytes(&s->params) / 4)
        bytes = tile_bytes(&s->params) / 4;
    if (s->defect != SLIDE_OVER_SEAMS)
        bytes = cuai_slide_to_seam((out ? run.to : run.from) + begin, bytes);
    unsigned char *here = place_of(s, stage, &run) + stage->done;
    if (out)
        put(s, run.to + begin, here, bytes);
    else
        get(s, run.from + begin, here, bytes);
    stage->done += bytes;
    if (begin + bytes == piece.end) {
        stage->run++;
        stage->done = 0;
    }
    return true;
}

static slide_step_t do_publish(slide_blocks_t *s, stage_t *stage)
{
    if (!publish(s, stage->ticket))
        return SLIDE_BLOCKED;
    return enter(stage, s->defect == SLIDE_EARLY_PUBLISH ? READING : FINDING_READERS);
}

static slide_step_t do_read(slide_blocks_t *s, stage_t *stage)
{
    if (move_some(s, stage, false))
        return SLIDE_PROGRESS;
    return enter(stage, s->defect == SLIDE_EARLY_PUBLISH ? FINDING_READERS : PUBLISHING);
}

/* Follows the sources that a piece's destination overlaps. */
static slide_step_t find_readers(slide_blocks_t *s, stage_t *stage)
{
    cuai_slide_run_t run;
    cuai_slide_span_t piece;
    if (!piece_of(s, stage, &run, &piece))
        return enter(stage, WAITING);
    uint64_t begin = run.to + piece.begin;
    uint64_t end = run.to + piece.end;
    uint32_t places = cuai_slide_places_for(&s->params, stage->run);
    cuai_slide_range_t *all = &stage->readers[stage->waits];
    if (stage->place == UINT32_MAX) {
        *all = (cuai_slide_range_t){0, 0};
        stage->place = find_source(s, begin, run.reach, places);
    }
    for (; stage->place < places; stage->place++) {
        cuai_slide_run_t source = by_source(s, stage->place);
        if (source.from >= end)
            break;
        cuai_slide_range_t more =
            cuai_slide_readers(&s->params, &source, begin, end, stage->ticket);
        if (!cuai_slide_join(all, &more)) {
            stage->state = EARLY_WAITING;
            stage->seen = 0;
            return SLIDE_PROGRESS;
        }
    }
    stage->waits++;
    stage->run++;
    stage->place = UINT32_MAX;
    return SLIDE_PROGRESS;
}

static bool all_published(slide_blocks_t *s, stage_t *stage, const cuai_slide_range_t *tickets)
{
    if (s->defect == SLIDE_NO_WAIT)
        return true;
    if (stage->seen < tickets->begin)
        stage->seen = tickets->begin;
    while (stage->seen < tickets->end && is_published(s, stage->seen))
        stage->seen++;
    return stage->seen >= tickets->end;
}

static slide_step_t wait_early(slide_blocks_t *s, stage_t *stage)
{
    cuai_slide_range_t *all = &stage->readers[stage->waits];
    if (!all_published(s, stage, all))
        return SLIDE_BLOCKED;
    *all = (cuai_slide_range_t){0, 0};
    stage->state = FINDING_READERS;
    return SLIDE_PROGRESS;
}

static slide_step_t wait_for_readers(slide_blocks_t *s, stage_t *stage)
{
    while (stage->waits != 0) {
        if (!all_published(s, stage, &stage->readers[stage->waits - 1]))
            return SLIDE_BLOCKED;
        stage->waits--;
        stage->seen = 0;
    }
    return enter(stage, WRITING);
}

static slide_step_t stage_step(slide_blocks_t *s, stage_t *stage, const reader_t *reader)
{
    switch (stage->state) {
    case READING:
        return do_read(s, stage);
    case PUBLISHING:
        return do_publish(s, stage);
    case FINDING_READERS:
        return find_readers(s, stage);
    case EARLY_WAITING:
        return wait_early(s, stage);
    case WAITING:
        return wait_for_readers(s, stage);
    case WRITING:
        return move_some(s, stage, true) ? SLIDE_PROGRESS : enter(stage, EMPTY);
    default:
        return reader->state == ENDED ? SLIDE_DONE : SLIDE_BLOCKED;
    }
}

slide_step_t slide_blocks_step(slide_blocks_t *s, uint32_t actor, const slide_access_t *access)
{
    uint32_t block = actor / (1 + s->stages);
    uint32_t role = actor % (1 + s->stages);
    slide_step_t result;
    s->access = access;
    s->refused = false;
    if (role == 0)
        result = reader_step(s, block);
    else
        result = stage_step(s, &s->all_stages[block * s->stages + role - 1], &s->readers[block]);
    return s->refused ? SLIDE_FAULT : result;
}
