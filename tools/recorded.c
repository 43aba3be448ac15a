#include "recorded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "names.h"
#include "reserved.h"

/* The largest size and address of a line. */
#define MOST (UINT64_C(1) << 62)

typedef enum column {
    COLUMN_OP,
    COLUMN_ID,
    COLUMN_SIZE,
    COLUMN_ADDRESS,
    COLUMN_STREAM, /* the rest may be missing */
    COLUMN_TIME,
    COLUMN_TAG,
    COLUMN_NOTE,
    COLUMN_COUNT,
} column_t;

#define COLUMN_NEEDED COLUMN_STREAM

static const char *const titles[COLUMN_COUNT] = {
    "op", "id", "size", "address", "stream", "time", "tag", "note",
};

typedef enum op {
    OP_ALLOC,
    OP_FREE,
    OP_RESIZE,
    OP_MOVE,
    OP_RESET,
    OP_FAIL,
    OP_GROW,
    OP_TRIM,
    OP_COUNT,
} op_t;

static const char *const ops[OP_COUNT] = {"a",     "f",    "resize", "move",
                                          "reset", "fail", "grow",   "trim"};

/* A line that is not passed over. */
typedef struct line {
    uint64_t time;
    uint64_t number; /* of the file */
    uint64_t id;
    uint64_t size;
    uint64_t address;
    uint32_t stream;
    uint32_t tag;
    op_t op;
    csv_field_t note; /* points into the source */
} line_t;

typedef struct recording {
    const char *path;
    csv_t csv;
    size_t width;
    size_t place[COLUMN_COUNT]; /* the width for a column that is missing */
    names_t streams;
    line_t *lines;
    size_t count;
    size_t capacity;
    names_t blocks; /* by id; `slot` is the stay */
    uint64_t moment;
    uint64_t block_count;
    sample_t now;
    reserved_t reserved; /* what was taken and not given back, where lines have addresses */
    history_t h;
    fault_t *fault;
} recording_t;

/* ---- The header ------------------------------------------------------------ */

static bool read_header(recording_t *r, const source_t *source)
{
    r->csv = csv_open(source->text, source->length);
    if (!csv_next(&r->csv) || r->csv.field_count > CSV_MAX_FIELDS)
        return false;
    r->width = r->csv.field_count;
    for (int column = 0; column < COLUMN_COUNT; column++) {
        r->place[column] = csv_find(&r->csv, titles[column], 0);
        if (column < COLUMN_NEEDED && r->place[column] == r->width)
            return false;
    }
    return true;
}

static bool check_header(const recording_t *r)
{
    for (int column = 0; column < COLUMN_COUNT; column++)
        if (!csv_check_single(&r->csv, r->place[column], r->path, r->fault))
            return false;
    return true;
}

bool recorded_is(const source_t *source)
{
    recording_t r;
    return read_header(&r, source);
}

/* ---- Lines ------------------------------------------------------------------ */

static csv_field_t field(const recording_t *r, column_t column)
{
    static const csv_field_t none = {"", 0};
    return r->place[column] < r->width ? r->csv.fields[r->place[column]] : none;
}

static bool wrong(const recording_t *r, column_t column, const char *expected)
{
    csv_field_t wrong_field = field(r, column);
    return fault_set(r->fault, "%s:%" PRIu64 ": %s is '%s', expected %s", r->path, r->csv.line,
                     titles[column], fault_quote(wrong_field.text, wrong_field.length), expected);
}

/* A number that may be left out, which is 0. */
static bool read_count(const recording_t *r, column_t column, uint64_t *number_out)
{
    *number_out = 0;
    csv_field_t text = field(r, column);
    return text.length == 0 || csv_decimal(text, UINT64_MAX, number_out) ||
           wrong(r, column, "a whole number, or nothing");
}

static bool read_address(const recording_t *r, uint64_t *address_out)
{
    *address_out = 0;
    csv_field_t text = field(r, COLUMN_ADDRESS);
    bool good = text.length == 0 || (csv_address(text, address_out) && *address_out <= MOST);
    return good || wrong(r, COLUMN_ADDRESS, "an address such as 0x7f00, or nothing");
}

/* A stream is any word; they are numbered as they come. */
static uint32_t stream_of(recording_t *r)
{
    csv_field_t text = field(r, COLUMN_STREAM);
    uint64_t key = UINT64_C(14695981039346656037); /* FNV-1a, of which 64 bits tell words apart */
    for (size_t i = 0; i < text.length; i++)
        key = (key ^ (unsigned char)text.text[i]) * UINT64_C(1099511628211);
    name_t *name = names_at(&r->streams, key);
    if (name->state == NAME_NEW) {
        *name = (name_t){.key = key, .slot = (uint32_t)r->h.stream_count, .state = NAME_LIVE};
        history_add_stream(&r->h, text.text, text.length);
    }
    return name->slot;
}

/* OP_COUNT for a line that is passed over. */
static op_t op_of(const recording_t *r)
{
    int op = 0;
    while (op < OP_COUNT && !csv_is(field(r, COLUMN_OP), ops[op]))
        op++;
    return (op_t)op;
}

static void add_line(recording_t *r, const line_t *line)
{
    if (r->count == r->capacity) {
        r->capacity = r->capacity > 0 ? 2 * r->capacity : 1024;
        r->lines = must_have(r->lines, r->capacity, sizeof *r->lines);
    }
    r->lines[r->count++] = *line;
}

static bool read_line(recording_t *r)
{
    line_t line = {.number = r->csv.line, .op = op_of(r)};
    if (r->csv.field_count != r->width)
        return fault_set(r->fault, "%s:%" PRIu64 ": %zu fields, expected %zu as in the header",
                         r->path, r->csv.line, r->csv.field_count, r->width);
    if (line.op == OP_COUNT)
        return true;
    if (!read_count(r, COLUMN_ID, &line.id) || !read_count(r, COLUMN_TIME, &line.time) ||
        !read_count(r, COLUMN_SIZE, &line.size) || !read_address(r, &line.address))
        return false;
    if (line.size > MOST)
        return wrong(r, COLUMN_SIZE, "a number of bytes up to 2^62");
    csv_field_t tag = field(r, COLUMN_TAG);
    line.stream = stream_of(r);
    line.tag = history_tag(&r->h, tag.text, tag.length);
    line.note = field(r, COLUMN_NOTE);
    add_line(r, &line);
    return true;
}

static int by_time(const void *left, const void *right)
{
    const line_t *a = left, *b = right;
    if (a->time != b->time)
        return (a->time > b->time) - (a->time < b->time);
    return (a->number > b->number) - (a->number < b->number);
}

/* ---- What they tell ------------------------------------------------------------ */

/* Where a block is that has bytes; NULL if none is known. */
static name_t *block_of(recording_t *r, const line_t *line)
{
    name_t *name = names_at(&r->blocks, line->id);
    if (name->state == NAME_NEW)
        name->state = NAME_FREED;
    return name->state == NAME_LIVE ? name : NULL;
}

static void end_block(recording_t *r, name_t *name)
{
    r->now.live_bytes -= r->h.stays[name->slot].taken_bytes;
    history_close(&r->h, name->slot, r->moment);
    name->state = NAME_FREED;
}

static void begin_block(recording_t *r, const line_t *line, uint64_t block)
{
    name_t *name = block_of(r, line);
    const stay_t stay = {.begin = r->moment,
                         .end = r->h.moments,
                         .address = line->address,
                         .bytes = line->size,
                         .taken_bytes = line->size,
                         .block = block,
                         .line = line->number,
                         .stream = line->stream,
                         .tag = line->tag};
    if (name != NULL)
        end_block(r, name);
    if (line->size == 0)
        return;
    name = names_at(&r->blocks, line->id);
    name->state = NAME_LIVE;
    name->slot = (uint32_t)history_open(&r->h, &stay);
    r->now.live_bytes += line->size;
}

static void resize_block(recording_t *r, const line_t *line)
{
    const name_t *name = block_of(r, line);
    if (name == NULL)
        return;
    const stay_t *old = &r->h.stays[name->slot];
    line_t next = *line;
    next.address = line->address != 0 ? line->address : old->address;
    next.stream = old->stream;
    next.tag = old->tag;
    begin_block(r, &next, old->block);
}

static void move_block(recording_t *r, const line_t *line)
{
    name_t *name = block_of(r, line);
    history_t *h = &r->h;
    if (name == NULL)
        return;
    name->slot = (uint32_t)history_move(h, name->slot, r->moment, line->address);
    if (h->slide_count == 0 || h->slides[h->slide_count - 1].moment != r->moment)
        history_add_slide(h, (slide_t){.moment = r->moment});
    h->slides[h->slide_count - 1].moves++;
    h->slides[h->slide_count - 1].bytes += h->stays[name->slot].bytes;
}

static void end_all(recording_t *r)
{
    for (size_t i = 0; i < r->blocks.capacity; i++)
        if (r->blocks.places[i].state == NAME_LIVE)
            end_block(r, &r->blocks.places[i]);
}

static uint64_t free_bytes(const recording_t *r)
{
    const sample_t *now = &r->now;
    return now->reserved_bytes > now->live_bytes ? now->reserved_bytes - now->live_bytes : 0;
}

/* Looks in one range: an obstacle of fewer bytes takes the place of the one that was found. */
static void look_in(recording_t *r, const reserved_range_t *range, uint64_t bytes, size_t *stays)
{
    history_t *h = &r->h;
    obstacle_t best = h->obstacle;
    size_t count = 0;
    for (size_t i = 0; i < r->blocks.capacity; i++) {
        const name_t *name = &r->blocks.places[i];
        if (name->state == NAME_LIVE && h->stays[name->slot].address >= range->begin &&
            h->stays[name->slot].address < range->end)
            stays[count++] = name->slot;
    }
    h->obstacle = (obstacle_t){.found = false};
    history_find_obstacle(h, stays, count, range->begin, range->end, bytes);
    if (best.found && (!h->obstacle.found || best.bytes <= h->obstacle.bytes)) {
        obstacle_free(&h->obstacle);
        h->obstacle = best;
    } else {
        obstacle_free(&best);
    }
}

static void find_obstacle(recording_t *r, uint64_t bytes)
{
    size_t *stays = must_have(NULL, r->blocks.used, sizeof *stays);
    for (size_t i = 0; i < r->reserved.count; i++)
        look_in(r, &r->reserved.ranges[i], bytes, stays);
    free(stays);
}

static void refuse(recording_t *r, const line_t *line)
{
    if (r->h.refusal_count == 0)
        find_obstacle(r, line->size);
    if (r->h.refusal_count == 0)
        (void)fault_set(&r->h.refusal, "%s:%" PRIu64 ": a request of %" PRIu64 " bytes: %s",
                        r->path, line->number, line->size,
                        fault_quote(line->note.text, line->note.length));
    history_add_refusal(&r->h, (refusal_t){r->moment, line->size, free_bytes(r), 0});
}

static void free_block(recording_t *r, const line_t *line)
{
    name_t *name = block_of(r, line);
    if (name != NULL)
        end_block(r, name);
}

static void take_from_memory(recording_t *r, const line_t *line)
{
    r->now.reserved_bytes += line->size;
    if (line->address != 0)
        reserved_add(&r->reserved, line->address, line->address + line->size);
}

static void give_back(recording_t *r, const line_t *line)
{
    uint64_t *reserved = &r->now.reserved_bytes;
    *reserved -= line->size < *reserved ? line->size : *reserved;
    if (line->address != 0)
        reserved_cut(&r->reserved, line->address, line->address + line->size);
}

static void take_line(recording_t *r, const line_t *line)
{
    switch (line->op) {
    case OP_ALLOC:
        begin_block(r, line, r->block_count++);
        break;
    case OP_RESIZE:
        resize_block(r, line);
        break;
    case OP_MOVE:
        move_block(r, line);
        break;
    case OP_RESET:
        end_all(r);
        break;
    case OP_FAIL:
        refuse(r, line);
        break;
    case OP_GROW:
        take_from_memory(r, line);
        break;
    case OP_TRIM:
        give_back(r, line);
        break;
    case OP_FREE:
        free_block(r, line);
        break;
    case OP_COUNT:
        break;
    }
}

static void add_sample(recording_t *r, const line_t *line)
{
    r->now.free_bytes = free_bytes(r);
    r->now.time_ns = line->time - r->lines[0].time;
    r->h.samples[r->moment] = r->now;
}

/* A moment for each line; but moves are of one batch, as those before them were. */
static void take_lines(recording_t *r)
{
    r->h.moments = r->count;
    r->h.samples = must_have(NULL, r->count, sizeof *r->h.samples);
    for (size_t i = 0; i < r->count; i++) {
        take_line(r, &r->lines[i]);
        add_sample(r, &r->lines[i]);
        bool batch = i + 1 < r->count && r->lines[i].op == OP_MOVE && r->lines[i + 1].op == OP_MOVE;
        r->moment += !batch;
    }
}

/* ---- The whole --------------------------------------------------------------------- */

/* Moments that no line came to, for moves share theirs: all ends lie before them. */
static void cut_moments(recording_t *r)
{
    history_t *h = &r->h;
    h->moments = r->moment;
    for (size_t i = 0; i < h->stay_count; i++)
        h->stays[i].end = h->stays[i].end < h->moments ? h->stays[i].end : h->moments;
}

/* The largest power of two that all addresses are multiples of. */
static uint64_t unit_of(const history_t *h)
{
    uint64_t all = UINT64_C(1) << 20;
    for (size_t i = 0; i < h->stay_count; i++)
        all |= h->stays[i].address;
    return all & (~all + 1);
}

static bool read_lines(recording_t *r)
{
    while (csv_next(&r->csv))
        if (!read_line(r))
            return false;
    return r->count > 0 || fault_set(r->fault,
                                     "%s:%" PRIu64 ": no event follows the header, expected at "
                                     "least one",
                                     r->path, r->csv.line);
}

bool recorded_history(const char *path, const source_t *source, history_t *history_out,
                      fault_t *fault)
{
    recording_t r = {.path = path, .h = {.kind = HISTORY_RECORDED}, .fault = fault};
    (void)read_header(&r, source);
    (void)history_tag(&r.h, NULL, 0);
    bool good = check_header(&r) && read_lines(&r);
    if (good) {
        qsort(r.lines, r.count, sizeof *r.lines, by_time);
        take_lines(&r);
        cut_moments(&r);
        r.h.unit_bytes = unit_of(&r.h);
        history_find_bands(&r.h);
        *history_out = r.h;
    } else {
        history_free(&r.h);
    }
    reserved_free(&r.reserved);
    names_free(&r.blocks);
    names_free(&r.streams);
    free(r.lines);
    return good;
}
