/* Requests of the monitor's peers, and their answers: see cuarena/monitor.h. The thread gets no
 * signals, so no call is interrupted. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/numbered.h"
#include "api/stats.h"
#include "base/error.h"
#include "base/host.h"
#include "base/json.h"
#include "monitor/monitor.h"

#define LONGEST_REQUEST 64
#define ACCEPTED "list, stats, snapshot NUMBER json, snapshot NUMBER pytorch"

/* ---- Sending ----------------------------------------------------------- */

/* A cuarena_write_fn; `user` is the peer's descriptor. */
static int32_t send_all(void *user, const void *bytes, size_t size)
{
    const char *from = bytes;
    while (size != 0) {
        ssize_t count = write(*(const int *)user, from, size);
        if (count <= 0)
            return 1;
        from += count;
        size -= (size_t)count;
    }
    return 0;
}

static void send_error(int peer, const char *text)
{
    CUAI_ASSERT(peer >= 0 && text != NULL);
    static const char before[] = "error ";
    if (send_all(&peer, before, sizeof before - 1) == 0 && send_all(&peer, text, strlen(text)) == 0)
        (void)send_all(&peer, "\n", 1);
}

/* Says that so many bytes follow; false: the peer has gone. */
static bool send_length(int peer, uint64_t length)
{
    char line[32];
    int used = snprintf(line, sizeof line, "ok %" PRIu64 "\n", length);
    CUAI_ASSERT(used > 0 && (size_t)used < sizeof line);
    return send_all(&peer, line, (size_t)used) == 0;
}

/* ---- Lists ------------------------------------------------------------- */

/* An answer that is kept until it is whole. */
typedef struct text {
    char *bytes;
    size_t used;
    size_t room;
} text_t;

/* A cuarena_write_fn; `user` is the text_t that keeps the bytes. */
static int32_t keep(void *user, const void *bytes, size_t size)
{
    text_t *text = user;
    CUAI_ASSERT(text->used <= text->room);
    while (text->room - text->used < size) {
        void *more = cuai_host_make_room(text->bytes, text->room, &text->room, 1);
        if (more == NULL)
            return 1;
        text->bytes = more;
    }
    memcpy(text->bytes + text->used, bytes, size);
    text->used += size;
    return 0;
}

static void put_figures(cuai_json_t *json, const cuai_figures_t *figures)
{
    uint64_t value;
    const char *key;
    cuai_json_number(json, "streams", figures->streams);
    cuai_json_open(json, "statistics", '{');
    for (size_t i = 0; (key = cuai_stats_figure(&figures->stats, i, &value)) != NULL; i++)
        cuai_json_number(json, key, value);
    cuai_json_close(json, '}');
}

static void put_arenas(cuai_json_t *json, bool all)
{
    cuai_figures_t figures;
    for (uint64_t number = 0; (number = cuai_numbered_next(number)) != 0;) {
        if (!cuai_numbered_figures(number, &figures))
            continue; /* it has ended meanwhile */
        cuai_json_open(json, NULL, '{');
        cuai_json_number(json, "number", number);
        cuai_json_text(json, "name", figures.name);
        if (all)
            put_figures(json, &figures);
        cuai_json_close(json, '}');
    }
}

static bool write_list(text_t *text, bool all)
{
    CUAI_ASSERT(text->used == 0);
    cuai_sink_t sink;
    cuai_json_t json = {&sink, false};
    cuai_sink_begin(&sink, keep, text);
    cuai_json_open(&json, NULL, '{');
    cuai_json_number(&json, "version", CUARENA_SNAPSHOT_VERSION);
    cuai_json_number(&json, "pid", (uint64_t)getpid());
    cuai_json_open(&json, "arenas", '[');
    put_arenas(&json, all);
    cuai_json_close(&json, ']');
    cuai_json_close(&json, '}');
    cuai_sink_put(&sink, "\n", 1);
    return cuai_sink_end(&sink);
}

static void answer_list(int peer, bool all)
{
    CUAI_ASSERT(peer >= 0);
    text_t text = {NULL, 0, 0};
    if (!write_list(&text, all))
        send_error(peer, "the host has no memory for the answer");
    else if (send_length(peer, text.used))
        (void)send_all(&peer, text.bytes, text.used);
    cuai_host_free(text.bytes);
}

/* ---- Snapshots --------------------------------------------------------- */

/* Writes it twice: to count its bytes, then to send them. */
static void answer_snapshot(int peer, uint64_t number, int32_t format)
{
    CUAI_ASSERT(format == CUARENA_SNAPSHOT_JSON || format == CUARENA_SNAPSHOT_PYTORCH);
    uint64_t length = 0;
    cuai_snapshot_t *s;
    if (cuai_numbered_snapshot(number, &s) != CUARENA_OK) {
        send_error(peer, cuarena_last_error());
        return;
    }
    (void)cuai_snapshot_format(s, format, cuai_sink_count, &length);
    if (send_length(peer, length))
        (void)cuai_snapshot_format(s, format, send_all, &peer);
    cuai_snapshot_end(s);
}

/* The format that a word names; -1: none. */
static int32_t format_of(const char *word)
{
    if (strcmp(word, "json") == 0)
        return CUARENA_SNAPSHOT_JSON;
    return strcmp(word, "pytorch") == 0 ? CUARENA_SNAPSHOT_PYTORCH : -1;
}

/* Reads "NUMBER FORMAT"; false: it is something else. */
static bool read_snapshot(const char *words, uint64_t *number_out, int32_t *format_out)
{
    char *end;
    errno = 0;
    *number_out = strtoull(words, &end, 10);
    bool number = words[0] >= '0' && words[0] <= '9' && errno == 0 && *end == ' ';
    *format_out = number ? format_of(end + 1) : -1;
    return *format_out >= 0;
}

/* ---- Requests ---------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether the peer sends something, or goes, before a time. */
static bool has_bytes(int peer, int64_t before_ms)
{
    struct pollfd wanted = {.fd = peer, .events = POLLIN};
    int64_t left = before_ms - now_ms();
    return left > 0 && poll(&wanted, 1, (int)left) > 0;
}

/* Reads one line, without its end; false: the peer went, or sent none in time. */
static bool read_request(int peer, char request[LONGEST_REQUEST])
{
    size_t used = 0;
    int64_t end_ms = now_ms() + CUAI_PATIENCE_S * 1000;
    while (used < LONGEST_REQUEST && has_bytes(peer, end_ms)) {
        ssize_t count = read(peer, request + used, LONGEST_REQUEST - used);
        if (count <= 0)
            return false;
        char *end = memchr(request + used, '\n', (size_t)count);
        used += (size_t)count;
        if (end == NULL)
            continue;
        *end = '\0';
        return true;
    }
    return false;
}

static void answer(int peer, const char *request)
{
    static const char snapshot[] = "snapshot ";
    uint64_t number;
    int32_t format;
    bool wants_one = strncmp(request, snapshot, sizeof snapshot - 1) == 0;
    if (strcmp(request, "list") == 0)
        answer_list(peer, false);
    else if (strcmp(request, "stats") == 0)
        answer_list(peer, true);
    else if (wants_one && read_snapshot(request + sizeof snapshot - 1, &number, &format))
        answer_snapshot(peer, number, format);
    else
        send_error(peer, "the request is none of: " ACCEPTED);
}

void cuai_serve(int peer)
{
    CUAI_ASSERT(peer >= 0);
    char request[LONGEST_REQUEST];
    if (read_request(peer, request))
        answer(peer, request);
    else
        send_error(peer, "no request came in one line; accepted: " ACCEPTED);
    (void)close(peer);
}
