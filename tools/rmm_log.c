#include "rmm_log.h"

#include <inttypes.h>
#include <string.h>

#include "csv.h"

#define MAX_SIZE (UINT64_C(1) << 63)
#define DAY_US (UINT64_C(24) * 3600 * 1000000)

enum {
    ACTION,
    POINTER,
    SIZE,
    STREAM,
    TIME,
    COLUMN_COUNT
};

static const char *const columns[COLUMN_COUNT] = {"Action", "Pointer", "Size", "Stream", "Time"};
#define COLUMNS_NEEDED 3 /* a log that was edited may have lost the others */

typedef struct reader {
    const char *name;
    csv_t csv;
    size_t width;
    size_t place[COLUMN_COUNT]; /* `width`: there is none */
    uint64_t days_us;           /* midnights that have passed */
    uint64_t time_us;           /* of the line before */
    recording_t recording;
    fault_t *fault;
} reader_t;

/* ---- Columns ------------------------------------------------------------- */

static bool find_columns(reader_t *r)
{
    int missing = 0;
    if (!csv_next(&r->csv) || r->csv.field_count > CSV_MAX_FIELDS)
        return false;
    r->width = r->csv.field_count;
    for (int column = 0; column < COLUMN_COUNT; column++) {
        r->place[column] = csv_find(&r->csv, columns[column], 0);
        missing += column < COLUMNS_NEEDED && r->place[column] == r->width;
    }
    return missing == 0;
}

static bool read_header(reader_t *r)
{
    if (!find_columns(r))
        return fault_set(r->fault,
                         "%s:1: no columns Action, Pointer and Size, expected a header "
                         "Thread,Time,Action,Pointer,Size,Stream",
                         r->name);
    for (int column = 0; column < COLUMN_COUNT; column++)
        if (!csv_check_single(&r->csv, r->place[column], r->name, r->fault))
            return false;
    return true;
}

static csv_field_t field(const reader_t *r, int column)
{
    static const csv_field_t none = {"", 0};
    return r->place[column] < r->width ? r->csv.fields[r->place[column]] : none;
}

static bool wrong(const reader_t *r, int column, const char *expected)
{
    csv_field_t value = field(r, column);
    return fault_set(r->fault, "%s:%" PRIu64 ": %s is '%s', expected %s", r->name, r->csv.line,
                     columns[column], fault_quote(value.text, value.length), expected);
}

/* ---- Times ----------------------------------------------------------------- */

/* Digits from `*at` on, as a number of at most six of them. */
static uint64_t take_digits(csv_field_t text, size_t *at, size_t *count_out)
{
    uint64_t number = 0;
    size_t from = *at;
    for (; *at < text.length && text.text[*at] >= '0' && text.text[*at] <= '9'; ++*at)
        if (*at - from < 6)
            number = 10 * number + (uint64_t)(text.text[*at] - '0');
    *count_out = *at - from;
    return number;
}

/* Of HH:MM:SS.ffffff, or with a colon before the fraction, as older versions have it. */
static bool day_time(csv_field_t text, uint64_t *time_us_out)
{
    static const uint64_t units[] = {UINT64_C(3600000000), 60000000, 1000000};
    size_t at = 0, count = 0;
    *time_us_out = 0;
    for (int i = 0; i < 3; i++) {
        *time_us_out += units[i] * take_digits(text, &at, &count);
        if (count != 2 || at == text.length || (text.text[at] != ':' && text.text[at] != '.'))
            return false;
        at++;
    }
    uint64_t fraction = take_digits(text, &at, &count);
    for (size_t i = count; i < 6; i++)
        fraction *= 10;
    *time_us_out += fraction;
    return at == text.length;
}

/* A time that falls by more than half a day is of the next one. What is no time is 0: then an event
 * has that of the one before. */
static uint64_t read_time(reader_t *r)
{
    uint64_t time_us = 0;
    if (!day_time(field(r, TIME), &time_us))
        return 0;
    if (time_us + DAY_US / 2 < r->time_us)
        r->days_us += DAY_US;
    r->time_us = time_us;
    return (r->days_us + time_us) * 1000;
}

/* ---- Lines ------------------------------------------------------------------ */

static bool read_stream(const reader_t *r, uint64_t *stream_out)
{
    csv_field_t stream = field(r, STREAM);
    *stream_out = 0;
    return stream.length == 0 || csv_address(stream, stream_out) ||
           csv_decimal(stream, UINT32_MAX, stream_out) ||
           wrong(r, STREAM, "an address such as 0x0");
}

static bool read_numbers(reader_t *r, recording_event_t *event)
{
    if (!csv_address(field(r, POINTER), &event->address))
        return wrong(r, POINTER, "an address such as 0x7f00");
    if (!csv_decimal(field(r, SIZE), MAX_SIZE, &event->size))
        return wrong(r, SIZE, "a number of bytes from 0 to 2^63");
    return read_stream(r, &event->stream);
}

/* An allocation of nothing may have no address, by which its free could be told. */
static bool read_event(reader_t *r, bool frees)
{
    recording_event_t event = {.time_ns = read_time(r)};
    if (!read_numbers(r, &event))
        return false;
    if (event.address == 0 && event.size > 0)
        return wrong(r, POINTER, "the address of the bytes");
    if (event.address == 0)
        r->recording.others++;
    else if (frees)
        recording_free(&r->recording, event);
    else
        recording_alloc(&r->recording, event);
    return true;
}

static bool read_line(reader_t *r)
{
    csv_field_t action = field(r, ACTION);
    if (r->csv.field_count != r->width)
        return fault_set(r->fault,
                         "%s:%" PRIu64 ": %zu fields in '%s', expected %zu as in the header",
                         r->name, r->csv.line, r->csv.field_count,
                         fault_quote(r->csv.whole.text, r->csv.whole.length), r->width);
    if (csv_is(action, "allocate"))
        return read_event(r, false);
    if (csv_is(action, "free") || csv_is(action, "deallocate"))
        return read_event(r, true);
    if (!csv_is(action, "allocate failure"))
        return wrong(r, ACTION, "allocate, free or allocate failure");
    r->recording.refused++;
    return true;
}

/* ---- The whole ---------------------------------------------------------------- */

bool rmm_log_begins(const char *text, size_t length)
{
    reader_t r = {.csv = csv_open(text, length)};
    return find_columns(&r);
}

bool rmm_log_read(const char *name, const char *text, size_t length, recording_t *recording_out,
                  fault_t *fault)
{
    reader_t r = {.name = name, .csv = csv_open(text, length), .fault = fault};
    bool good = read_header(&r);
    while (good && csv_next(&r.csv))
        good = read_line(&r);
    if (good)
        *recording_out = r.recording;
    else
        recording_drop(&r.recording);
    return good;
}
