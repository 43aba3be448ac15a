#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "names.h"
#include "order.h"

/* What a line has, whatever its dialect calls it. */
#define COLUMN_OP 0
#define COLUMN_NAME 1
#define COLUMN_SIZE 2
#define COLUMN_STREAM 3 /* may be missing, like what follows */
#define COLUMN_TIME 4
#define COLUMN_COUNT 5
#define COLUMN_NEEDED 3

/* A way to write a trace as CSV. */
typedef struct dialect {
    const char *columns[COLUMN_COUNT]; /* NULL: it has no such */
    const char *alloc;
    const char *free;
    const char *failure;  /* a request that was refused; NULL: not written */
    const char *ops;      /* what may stand in COLUMN_OP, for messages */
    const char *names;    /* what may stand in COLUMN_NAME, for messages */
    bool names_addresses; /* and an address comes back after its free; the
                           * stream is one too, or a number */
} dialect_t;

static const dialect_t ids = {
    .columns = {"op", "id", "size", "stream", "time"},
    .alloc = "a",
    .free = "f",
    .ops = "a or f",
    .names = "a whole number",
};
static const dialect_t addresses = {
    .columns = {"Action", "Pointer", "Size", "Stream"},
    .alloc = "allocate",
    .free = "free",
    .failure = "allocate failure",
    .ops = "allocate, free or allocate failure",
    .names = "an address such as 0x7f00",
    .names_addresses = true,
};

#define RESERVED "_reserved"

#define EXPECTED_HEADER                                                                            \
    "expected a header with op,id,size and perhaps stream, or with "                               \
    "Thread,Time,Action,Pointer,Size,Stream"

typedef struct reader {
    const char *path;
    csv_t csv;
    const dialect_t *dialect;
    size_t width;               /* fields of every line */
    size_t place[COLUMN_COUNT]; /* of those fields */
    size_t figure_place[TRACE_FIGURES];
    names_t names;
    names_t streams; /* `slot` is the stream's number */
    uint16_t stream; /* of the line */
    bool recorded;   /* by an arena, since it has times and threads: cuarena/trace.h */
    order_t order;   /* of its lines then */
    bool lacks;      /* lines: its last one is missing, or says so */
    uint32_t *spare; /* slots whose allocation was freed */
    size_t spare_count;
    size_t capacity; /* of events, and of spare */
    trace_t trace;
    fault_t *fault;
} reader_t;

/* ---- Faults ------------------------------------------------------------ */

static bool wrong(const reader_t *r, int column, const char *expected)
{
    const csv_field_t *field = &r->csv.fields[r->place[column]];
    return fault_set(r->fault, "%s:%" PRIu64 ": %s is '%s', expected %s", r->path, r->csv.line,
                     r->dialect->columns[column], fault_quote(field->text, field->length),
                     expected);
}

static bool wrong_name(const reader_t *r, const char *which, uint64_t line)
{
    char expected[160];
    (void)snprintf(expected, sizeof expected, "one that %s (line %" PRIu64 ")", which, line);
    return wrong(r, COLUMN_NAME, expected);
}

/* ---- The header -------------------------------------------------------- */

/* The columns that are needed of `dialect` and that the header has, and where all are. */
static int find_columns(reader_t *r, const dialect_t *dialect, int *missing)
{
    int found = 0;
    for (int column = COLUMN_COUNT - 1; column >= 0; column--) {
        const char *name = dialect->columns[column];
        size_t at = name != NULL ? csv_find(&r->csv, name, 0) : r->width;
        r->place[column] = at;
        if (column >= COLUMN_NEEDED)
            continue;
        found += at < r->width;
        if (at == r->width)
            *missing = column;
    }
    return found;
}

static bool check_single(const reader_t *r)
{
    for (int column = 0; column < COLUMN_COUNT; column++)
        if (!csv_check_single(&r->csv, r->place[column], r->path, r->fault))
            return false;
    return true;
}

static bool check_figure(const reader_t *r, size_t at)
{
    csv_field_t field = r->csv.fields[at];
    if (!csv_check_single(&r->csv, at, r->path, r->fault))
        return false;
    return r->trace.figure_count < TRACE_FIGURES ||
           fault_set(r->fault, "%s:%" PRIu64 ": more than %d columns such as '%s', expected fewer",
                     r->path, r->csv.line, TRACE_FIGURES, fault_quote(field.text, field.length));
}

/* Columns that are called NAME_reserved. */
static bool find_figures(reader_t *r)
{
    const size_t ending = sizeof RESERVED - 1;
    for (size_t at = 0; at < r->width; at++) {
        csv_field_t field = r->csv.fields[at];
        if (field.length <= ending ||
            memcmp(field.text + field.length - ending, RESERVED, ending) != 0)
            continue;
        if (!check_figure(r, at))
            return false;
        trace_figure_t *figure = &r->trace.figures[r->trace.figure_count];
        (void)snprintf(figure->name, sizeof figure->name, "%s",
                       fault_quote(field.text, field.length - ending));
        r->figure_place[r->trace.figure_count++] = at;
    }
    return true;
}

static bool read_header(reader_t *r)
{
    int missing = COLUMN_OP;
    if (!csv_next(&r->csv))
        return fault_set(r->fault, "%s:1: there is no line, " EXPECTED_HEADER, r->path);
    r->width = r->csv.field_count;
    if (r->width > CSV_MAX_FIELDS)
        return fault_set(r->fault,
                         "%s:%" PRIu64 ": %zu columns, expected at "
                         "most %d",
                         r->path, r->csv.line, r->width, CSV_MAX_FIELDS);
    r->dialect = &addresses;
    if (find_columns(r, &addresses, &missing) < 2)
        r->dialect = &ids;
    if (find_columns(r, r->dialect, &missing) == COLUMN_NEEDED) {
        r->recorded = r->place[COLUMN_TIME] < r->width && csv_find(&r->csv, "thread", 0) < r->width;
        r->trace.has_streams = r->place[COLUMN_STREAM] < r->width && !r->recorded;
        return check_single(r) && find_figures(r);
    }
    return fault_set(r->fault, "%s:%" PRIu64 ": no column '%s' in '%s', " EXPECTED_HEADER, r->path,
                     r->csv.line, r->dialect->columns[missing],
                     fault_quote(r->csv.whole.text, r->csv.whole.length));
}

/* ---- Events ------------------------------------------------------------ */

static void add_event(reader_t *r, trace_event_t event)
{
    trace_t *trace = &r->trace;
    if (trace->event_count == r->capacity) {
        r->capacity = r->capacity > 0 ? 2 * r->capacity : 1024;
        trace->events = must_have(trace->events, r->capacity, sizeof(trace_event_t));
        trace->lines = must_have(trace->lines, r->capacity, sizeof *trace->lines);
        r->spare = must_have(r->spare, r->capacity, sizeof *r->spare);
    }
    trace->lines[trace->event_count] =
        r->csv.line < UINT32_MAX ? (uint32_t)r->csv.line : UINT32_MAX;
    trace->events[trace->event_count++] = event;
}

static bool take_slot(reader_t *r, uint32_t *slot_out)
{
    if (r->spare_count > 0)
        *slot_out = r->spare[--r->spare_count];
    else if (r->trace.slot_count < UINT32_MAX)
        *slot_out = r->trace.slot_count++;
    else
        return wrong(r, COLUMN_NAME, "fewer than 2^32 live allocations");
    return true;
}

static bool add_alloc(reader_t *r, name_t *name, uint64_t size)
{
    uint32_t slot = 0;
    if (name->state == NAME_LIVE)
        return wrong_name(r, "is not live", name->line);
    if (name->state == NAME_FREED && !r->dialect->names_addresses)
        return wrong_name(r, "was not used before", name->line);
    if (!take_slot(r, &slot))
        return false;
    *name = (name_t){name->key, size, r->csv.line, slot, NAME_LIVE};
    r->trace.allocs++;
    add_event(r, (trace_event_t){size, slot, TRACE_ALLOC, r->stream});
    return true;
}

/* The thread that allocated it had not written its lines when the recording ended. */
static bool leave_out(reader_t *r, name_t *name)
{
    r->trace.unmatched++;
    name->line = r->csv.line;
    name->state = NAME_FREED;
    return true;
}

static bool add_free(reader_t *r, name_t *name)
{
    if (name->state == NAME_NEW && r->lacks)
        return leave_out(r, name);
    if (name->state == NAME_NEW)
        return wrong(r, COLUMN_NAME, "one that a line before allocates");
    if (name->state == NAME_FREED)
        return wrong_name(r, "was not freed before", name->line);
    r->trace.frees++;
    add_event(r, (trace_event_t){name->size, name->slot, TRACE_FREE, r->stream});
    r->spare[r->spare_count++] = name->slot;
    name->line = r->csv.line;
    name->state = NAME_FREED;
    return true;
}

/* A block that got another size is another allocation of the same name. */
static bool add_resize(reader_t *r, name_t *name, uint64_t size)
{
    uint32_t slot = 0;
    if (!add_free(r, name) || !take_slot(r, &slot))
        return false;
    *name = (name_t){name->key, size, r->csv.line, slot, NAME_LIVE};
    r->trace.allocs++;
    add_event(r, (trace_event_t){size, slot, TRACE_ALLOC, r->stream});
    return true;
}

/* All that lives is freed. O(names). */
static void add_reset(reader_t *r)
{
    for (size_t i = 0; i < r->names.capacity; i++)
        if (r->names.places[i].state == NAME_LIVE)
            (void)add_free(r, &r->names.places[i]);
}

static csv_field_t field(const reader_t *r, int column)
{
    return r->csv.fields[r->place[column]];
}

static bool read_name(reader_t *r, uint64_t *key_out)
{
    bool good = r->dialect->names_addresses
                    ? csv_address(field(r, COLUMN_NAME), key_out)
                    : csv_decimal(field(r, COLUMN_NAME), UINT64_MAX, key_out);
    return good || wrong(r, COLUMN_NAME, r->dialect->names);
}

/* An allocation of nothing has no address by which its free could be told. */
static bool names_nothing(const reader_t *r, uint64_t key)
{
    return r->dialect->names_addresses && key == 0;
}

static bool read_alloc(reader_t *r)
{
    uint64_t key = 0, size = 0;
    if (!read_name(r, &key))
        return false;
    if (!csv_decimal(field(r, COLUMN_SIZE), TRACE_MAX_SIZE, &size))
        return wrong(r, COLUMN_SIZE, "a number of bytes from 0 to 2^63");
    if (!names_nothing(r, key))
        return add_alloc(r, names_at(&r->names, key), size);
    if (size > 0)
        return wrong(r, COLUMN_NAME, "the address of the bytes");
    r->trace.passed_over++;
    return true;
}

static bool read_resize(reader_t *r)
{
    uint64_t key = 0, size = 0;
    if (!read_name(r, &key))
        return false;
    if (!csv_decimal(field(r, COLUMN_SIZE), TRACE_MAX_SIZE, &size))
        return wrong(r, COLUMN_SIZE, "a number of bytes from 0 to 2^63");
    return add_resize(r, names_at(&r->names, key), size);
}

static bool read_free(reader_t *r)
{
    uint64_t key = 0;
    if (!read_name(r, &key))
        return false;
    if (!names_nothing(r, key))
        return add_free(r, names_at(&r->names, key));
    r->trace.passed_over++;
    return true;
}

/* In a recorded trace a call without a stream has none in its line; such calls are together on one
 * when others have some. */
static bool read_stream_key(reader_t *r, uint64_t *key_out)
{
    csv_field_t stream = field(r, COLUMN_STREAM);
    if (r->recorded && stream.length == 0) {
        *key_out = UINT64_MAX;
        return true;
    }
    r->trace.has_streams = true;
    if (r->dialect->names_addresses || r->recorded)
        return csv_address(stream, key_out) || csv_decimal(stream, UINT32_MAX, key_out) ||
               wrong(r, COLUMN_STREAM, "an address such as 0x0");
    return csv_decimal(stream, UINT32_MAX, key_out) ||
           wrong(r, COLUMN_STREAM, "a small whole number");
}

/* Numbers the stream of the line. */
static bool read_stream(reader_t *r)
{
    uint64_t key = 0;
    if (r->place[COLUMN_STREAM] < r->width && !read_stream_key(r, &key))
        return false;
    name_t *name = names_at(&r->streams, key);
    if (name->state == NAME_NEW && r->trace.stream_count == TRACE_MAX_STREAMS)
        return wrong(r, COLUMN_STREAM, "one of 65536 streams at most");
    if (name->state == NAME_NEW)
        *name = (name_t){key, 0, r->csv.line, r->trace.stream_count++, NAME_LIVE};
    r->stream = (uint16_t)name->slot;
    return true;
}

static bool check_line(const reader_t *r)
{
    if (r->csv.field_count != r->width)
        return fault_set(r->fault,
                         "%s:%" PRIu64 ": %zu fields in '%s', expected %zu as "
                         "in the header",
                         r->path, r->csv.line, r->csv.field_count,
                         fault_quote(r->csv.whole.text, r->csv.whole.length), r->width);
    return true;
}

/* Fields without a number say nothing. */
static bool read_figures(reader_t *r)
{
    for (size_t i = 0; i < r->trace.figure_count; i++) {
        uint64_t bytes = 0, *most = &r->trace.figures[i].most_bytes;
        csv_field_t field = r->csv.fields[r->figure_place[i]];
        if (field.length > 0 && !csv_decimal(field, TRACE_MAX_SIZE, &bytes))
            return fault_set(r->fault,
                             "%s:%" PRIu64 ": %s" RESERVED
                             " is '%s', expected a number of bytes from 0 to 2^63",
                             r->path, r->csv.line, r->trace.figures[i].name,
                             fault_quote(field.text, field.length));
        *most = bytes > *most ? bytes : *most;
    }
    return true;
}

/* Whether the line tells of the arena that recorded it, not of what the program asked. */
static bool is_of_arena(const reader_t *r)
{
    static const char *const ops[] = {"grow", "trim", "idle", "step", "compact", "move"};
    for (size_t i = 0; r->recorded && i < sizeof ops / sizeof ops[0]; i++)
        if (csv_is(field(r, COLUMN_OP), ops[i]))
            return true;
    return false;
}

/* The last line of a recording. */
static bool read_end(const reader_t *r)
{
    uint64_t missing;
    return csv_decimal(field(r, COLUMN_SIZE), UINT64_MAX, &missing) ||
           wrong(r, COLUMN_SIZE, "how many events are missing, a whole number");
}

static bool is_failure(const reader_t *r)
{
    const char *failure = r->recorded ? "fail" : r->dialect->failure;
    return failure != NULL && csv_is(field(r, COLUMN_OP), failure);
}

static bool read_op(reader_t *r)
{
    csv_field_t op = field(r, COLUMN_OP);
    if (csv_is(op, r->dialect->alloc))
        return read_alloc(r);
    if (csv_is(op, r->dialect->free))
        return read_free(r);
    if (r->recorded && csv_is(op, "resize"))
        return read_resize(r);
    if (!r->recorded || !csv_is(op, "reset"))
        return wrong(r, COLUMN_OP,
                     r->recorded ? "what cuarena_trace_begin writes" : r->dialect->ops);
    add_reset(r);
    return true;
}

static bool read_event(reader_t *r)
{
    if (!check_line(r) || !read_figures(r))
        return false;
    if (is_of_arena(r))
        return true;
    if (r->recorded && csv_is(field(r, COLUMN_OP), "end"))
        return read_end(r);
    if (is_failure(r)) {
        r->trace.passed_over++;
        return true;
    }
    return read_stream(r) && read_op(r);
}

/* ---- The whole --------------------------------------------------------- */

/* Slots that end as live as they are in `last`, freed. */
static void add_closing(reader_t *r)
{
    trace_t *trace = &r->trace;
    size_t count = trace->event_count;
    trace_event_t *last = must_have(NULL, trace->slot_count, sizeof *last);
    for (size_t i = 0; i < count; i++)
        last[trace->events[i].slot] = trace->events[i];
    for (uint32_t slot = 0; slot < trace->slot_count; slot++) {
        trace_event_t event = last[slot];
        bool lives = event.op == TRACE_ALLOC;
        event.op = TRACE_FREE;
        if (lives)
            add_event(r, event);
    }
    trace->closing_count = trace->event_count - count;
    trace->event_count = count;
    free(last);
}

/* Whether the recording came to its end, with all lines: the last one says how many are missing. */
static bool is_whole(reader_t *r)
{
    return order_last(&r->order, &r->csv) && r->csv.field_count == r->width &&
           csv_is(field(r, COLUMN_OP), "end") && csv_is(field(r, COLUMN_SIZE), "0");
}

/* Puts the lines of a recorded trace into the order in which they happened. */
static bool order_lines(reader_t *r)
{
    if (!r->recorded)
        return true;
    if (!order_make(&r->csv, r->place[COLUMN_TIME], &r->order))
        return wrong(r, COLUMN_TIME, "a whole number of nanoseconds");
    r->lacks = !is_whole(r);
    return true;
}

static bool next_line(reader_t *r)
{
    return r->recorded ? order_next(&r->order, &r->csv) : csv_next(&r->csv);
}

static bool read_trace(reader_t *r)
{
    if (!read_header(r) || !order_lines(r))
        return false;
    while (next_line(r))
        if (!read_event(r))
            return false;
    if (r->trace.event_count == 0)
        return fault_set(r->fault,
                         "%s:%" PRIu64 ": no event follows the header, "
                         "expected at least one",
                         r->path, r->csv.line);
    add_closing(r);
    return true;
}

static void tell_unmatched(const reader_t *r)
{
    if (r->trace.unmatched > 0)
        fprintf(stderr,
                "cuarena: %s: note: lines are missing: left out %" PRIu64
                " frees of blocks that no line before allocates\n",
                r->path, r->trace.unmatched);
}

/* The byte order mark that some editors put before text. */
#define MARK "\xef\xbb\xbf"

static bool has_mark(const source_t *source)
{
    return source->length >= sizeof MARK - 1 && memcmp(source->text, MARK, sizeof MARK - 1) == 0;
}

bool trace_parse(const char *path, const source_t *source, trace_t *trace_out, fault_t *fault)
{
    size_t mark = has_mark(source) ? sizeof MARK - 1 : 0;
    reader_t r = {.path = source_name(path),
                  .csv = csv_open(source->text + mark, source->length - mark),
                  .fault = fault};
    bool good = read_trace(&r);
    names_free(&r.names);
    names_free(&r.streams);
    order_free(&r.order);
    free(r.spare);
    if (good) {
        r.trace.path = must_have(NULL, strlen(r.path) + 1, 1);
        strcpy(r.trace.path, r.path);
        *trace_out = r.trace;
        tell_unmatched(&r);
    } else {
        free(r.trace.events);
        free(r.trace.lines);
    }
    return good;
}

bool trace_load(const char *path, trace_t *trace_out, fault_t *fault)
{
    source_t source;
    if (!source_read(path, NULL, &source, fault))
        return false;
    source_keep_whole_lines(&source);
    bool good = trace_parse(path, &source, trace_out, fault);
    if (good)
        source_tell_cut(&source, path);
    source_free(&source);
    return good;
}

void trace_free(trace_t *trace)
{
    free(trace->path);
    free(trace->events);
    free(trace->lines);
    *trace = (trace_t){.path = NULL};
}

static void drop_ending(char *text, const char *ending)
{
    size_t length = strlen(text), ending_length = strlen(ending);
    if (length > ending_length && strcmp(text + length - ending_length, ending) == 0)
        text[length - ending_length] = '\0';
}

const char *trace_title(const trace_t *trace)
{
    return trace_title_of(trace->path);
}

const char *trace_title_of(const char *path)
{
    static _Thread_local char title[64];
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    (void)snprintf(title, sizeof title, "%s", name);
    drop_ending(title, ".gz");
    drop_ending(title, ".csv");
    return title;
}

/* What is live after an event; UINT64_MAX if that passes 64 bits. */
static uint64_t live_after(uint64_t live, const trace_event_t *event, uint64_t alignment)
{
    uint64_t size = (event->size + alignment - 1) & ~(alignment - 1);
    if (event->op == TRACE_FREE)
        return live - size;
    return __builtin_add_overflow(live, size, &live) ? UINT64_MAX : live;
}

trace_peak_t trace_passing(const trace_t *trace, uint64_t alignment, uint64_t most)
{
    trace_peak_t passing = {0, 0};
    for (size_t i = 0; i < trace->event_count && passing.bytes <= most; i++)
        passing = (trace_peak_t){live_after(passing.bytes, &trace->events[i], alignment), i};
    return passing;
}

trace_peak_t trace_peak(const trace_t *trace, uint64_t alignment)
{
    trace_peak_t peak = {0, 0};
    uint64_t live = 0;
    for (size_t i = 0; i < trace->event_count && live != UINT64_MAX; i++) {
        live = live_after(live, &trace->events[i], alignment);
        if (live > peak.bytes)
            peak = (trace_peak_t){live, i};
    }
    return peak;
}
