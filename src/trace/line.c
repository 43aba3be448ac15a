/* The lines of a trace. A line is written by hand, for printf would take longer than all else that
 * is done for an event. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "trace/event.h"

/* The longest name of a tag that a line has. */
#define MOST_TAG 100u

const char cuai_trace_header[] = "op,id,size,stream,time,thread,tag,address,note\n";

/* By kind. */
static const char *const ops[] = {
    [CUARENA_EVENT_ALLOC] = "a",       [CUARENA_EVENT_FREE] = "f",
    [CUARENA_EVENT_RESIZE] = "resize", [CUARENA_EVENT_GROW] = "grow",
    [CUARENA_EVENT_TRIM] = "trim",     [CUARENA_EVENT_COMPACT] = "compact",
    [CUARENA_EVENT_FAIL] = "fail",     [CUARENA_EVENT_RESET] = "reset",
    [CUARENA_EVENT_IDLE] = "idle",     [CUARENA_EVENT_MOVE] = "move",
    [CUARENA_EVENT_STEP] = "step",
};

const char *cuai_trace_op(int32_t kind)
{
    CUAI_ASSERT(kind >= CUARENA_EVENT_ALLOC && kind <= CUARENA_EVENT_STEP);
    return ops[kind];
}

uint64_t cuai_trace_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---- Fields ------------------------------------------------------------ */

static char *put_text(char *at, const char *text)
{
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                            "34353637383940414243444546474849505152535455565758596061626364656667"
                            "6869707172737475767778798081828384858687888990919293949596979899";

static char *put_decimal(char *at, uint64_t number)
{
    char digits[20];
    char *first = digits + sizeof digits;
    while (number >= 100) {
        first -= 2;
        memcpy(first, pairs + 2 * (number % 100), 2);
        number /= 100;
    }
    if (number >= 10) {
        first -= 2;
        memcpy(first, pairs + 2 * number, 2);
    } else {
        *--first = (char)('0' + number);
    }
    size_t length = (size_t)(digits + sizeof digits - first);
    memcpy(at, first, length);
    return at + length;
}

static char *put_hex(char *at, uint64_t number)
{
    int shift = 60;
    while (shift > 0 && number >> shift == 0)
        shift -= 4;
    *at++ = '0';
    *at++ = 'x';
    for (; shift >= 0; shift -= 4)
        *at++ = "0123456789abcdef"[number >> shift & 15];
    return at;
}

/* A name of the caller's, without what would end the field: such bytes are written as \x2c. */
static char *put_name(char *at, const char *name)
{
    char plain[MOST_TAG];
    size_t length = cuai_text_plain(plain, sizeof plain, name);
    for (size_t i = 0; i < length; i++) {
        if (plain[i] == ',')
            at = put_text(at, "\\x2c");
        else if (plain[i] == '"')
            at = put_text(at, "\\x22");
        else
            *at++ = plain[i];
    }
    return at;
}

/* NULL is another name of the legacy default stream. */
static char *put_stream(char *at, cuarena_stream_t stream)
{
    if (stream == CUARENA_NO_STREAM)
        return at;
    return put_hex(at, (uint64_t)(uintptr_t)(stream == NULL ? CUARENA_STREAM_LEGACY : stream));
}

/* ---- Lines ------------------------------------------------------------- */

static char *put_note(char *at, const cuai_trace_entry_t *event)
{
    const cuarena_traced_t *seen = &event->seen;
    if (seen->kind == CUARENA_EVENT_IDLE)
        return put_decimal(at, seen->before_ns);
    if (event->note != NULL)
        at = put_text(at, event->note);
    if (seen->kind == CUARENA_EVENT_STEP && seen->status != CUARENA_OK)
        at = put_text(at, ": nothing");
    return at;
}

size_t cuai_trace_line(const cuai_trace_entry_t *event, char text[CUAI_TRACE_LINE])
{
    const cuarena_traced_t *seen = &event->seen;
    char *at = put_text(text, cuai_trace_op(seen->kind));
    *at++ = ',';
    if (event->id != 0)
        at = put_decimal(at, event->id);
    *at++ = ',';
    at = put_decimal(at, seen->bytes);
    *at++ = ',';
    at = put_stream(at, seen->stream);
    *at++ = ',';
    at = put_decimal(at, seen->time_ns);
    *at++ = ',';
    at = put_decimal(at, seen->thread);
    *at++ = ',';
    if (event->tag != NULL)
        at = put_name(at, event->tag);
    *at++ = ',';
    if (seen->address != NULL)
        at = put_hex(at, (uint64_t)(uintptr_t)seen->address);
    *at++ = ',';
    at = put_note(at, event);
    *at++ = '\n';
    CUAI_ASSERT(at <= text + CUAI_TRACE_LINE);
    return (size_t)(at - text);
}
