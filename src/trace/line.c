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

/* The words of the column `op`, by kind. */
static const char *const ops[] = {
    [CUARENA_EVENT_ALLOC] = "a",       [CUARENA_EVENT_FREE] = "f",
    [CUARENA_EVENT_RESIZE] = "resize", [CUARENA_EVENT_GROW] = "grow",
    [CUARENA_EVENT_TRIM] = "trim",     [CUARENA_EVENT_COMPACT] = "compact",
    [CUARENA_EVENT_FAIL] = "fail",     [CUARENA_EVENT_RESET] = "reset",
    [CUARENA_EVENT_IDLE] = "idle",     [CUARENA_EVENT_MOVE] = "move",
    [CUARENA_EVENT_STEP] = "step",     [CUAI_EVENT_END] = "end",
};

const char *cuai_trace_op(int32_t kind)
{
    CUAI_ASSERT(kind >= CUARENA_EVENT_ALLOC && kind <= CUAI_EVENT_END);
    CUAI_ASSERT(ops[kind] != NULL);
    return ops[kind];
}

uint64_t cuai_trace_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---- Fields ------------------------------------------------------------ */

/* Most are one letter: a call that copies would take longer. */
static char *put_text(char *at, const char *text)
{
    while (*text != '\0')
        *at++ = *text++;
    return at;
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                            "34353637383940414243444546474849505152535455565758596061626364656667"
                            "6869707172737475767778798081828384858687888990919293949596979899";

/* How many digits a number has, which is bits * log10(2) or one more. */
static unsigned decimals(uint64_t number)
{
    static const uint64_t least[] = {
        0,
        UINT64_C(10),
        UINT64_C(100),
        UINT64_C(1000),
        UINT64_C(10000),
        UINT64_C(100000),
        UINT64_C(1000000),
        UINT64_C(10000000),
        UINT64_C(100000000),
        UINT64_C(1000000000),
        UINT64_C(10000000000),
        UINT64_C(100000000000),
        UINT64_C(1000000000000),
        UINT64_C(10000000000000),
        UINT64_C(100000000000000),
        UINT64_C(1000000000000000),
        UINT64_C(10000000000000000),
        UINT64_C(100000000000000000),
        UINT64_C(1000000000000000000),
        UINT64_C(10000000000000000000),
    };
    unsigned bits = 64 - (unsigned)__builtin_clzll(number | 1);
    unsigned about = bits * 1233 >> 12;
    CUAI_ASSERT(about < sizeof least / sizeof least[0]);
    return about + (number >= least[about]);
}

static void put_pair(char *at, unsigned number)
{
    CUAI_ASSERT(number < 100);
    memcpy(at, pairs + 2 * number, 2);
}

/* From the end, four digits at a time: divisions, each of which waits for the one before, are what
 * it takes. */
static char *put_decimal(char *at, uint64_t number)
{
    char *end = at + decimals(number);
    char *first = end;
    for (; number >= 10000; number /= 10000) {
        unsigned four = (unsigned)(number % 10000);
        first -= 4;
        put_pair(first, four / 100);
        put_pair(first + 2, four % 100);
    }
    unsigned rest = (unsigned)number;
    for (; rest >= 100; rest /= 100)
        put_pair(first -= 2, rest % 100);
    if (rest >= 10)
        put_pair(at, rest);
    else
        *at = (char)('0' + rest);
    return end;
}

static char *put_hex(char *at, uint64_t number)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(number | 1);
    char *end = at + 2 + (bits + 3) / 4;
    memcpy(at, "0x", 2);
    for (char *digit = end; digit != at + 2; number >>= 4)
        *--digit = "0123456789abcdef"[number & 15];
    return end;
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
