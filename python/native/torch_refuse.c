/*
 * What PyTorch is told when a request is refused: its own exception, torch.OutOfMemoryError, with
 * its own words, and what the arena knows besides.
 *
 * The exception is one of C++, made here by the names that PyTorch and the C++ library export: an
 * object of c10::Error, whose table of functions is then that of c10::OutOfMemoryError. The frames
 * of C that it passes have nothing to end.
 */
#define _GNU_SOURCE
#include "torch.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tags that a message names, and refusals that leave a report. */
#define TOP 5
#define REPORTS 16

CUARENA_API void cuarena_torch_report_to(const char *pattern);
CUARENA_API size_t cuarena_torch_last_report(char *path, size_t size);

/* ---- The report ----------------------------------------------------------- */

static char pattern[512]; /* of files, without the number and the ending; "": none */
static char last_report[600];
static atomic_int reports;

/* Where reports go: PATTERN-NUMBER.json, for the first refusals. "": nowhere. Not while another
 * thread allocates. */
void cuarena_torch_report_to(const char *wanted)
{
    snprintf(pattern, sizeof pattern, "%s", wanted);
}

/* The last report, or "". */
size_t cuarena_torch_last_report(char *path, size_t size)
{
    return (size_t)snprintf(path, size, "%s", last_report);
}

/* Writes a report; false: none. It is the arena as it is now, in JSON. */
static bool report(cuarena_t *arena, char *path, size_t size)
{
    int number = pattern[0] ? atomic_fetch_add(&reports, 1) : REPORTS;
    if (number >= REPORTS)
        return false;
    snprintf(path, size, "%s-%d-%d.json", pattern, (int)getpid(), number);
    if (cuarena_snapshot_write(arena, CUARENA_SNAPSHOT_JSON, path) != CUARENA_OK)
        return false;
    snprintf(last_report, sizeof last_report, "%s", path);
    return true;
}

/* ---- The message ---------------------------------------------------------- */

typedef struct text {
    char bytes[4096];
    size_t length;
} text_t;

static void say(text_t *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(text_t *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(text->bytes + text->length, sizeof text->bytes - text->length, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length += (size_t)length;
    if (text->length >= sizeof text->bytes)
        text->length = sizeof text->bytes - 1;
}

/* As PyTorch writes sizes. */
static void say_bytes(text_t *text, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit < 3) {
        value /= 1024;
        unit++;
    }
    if (unit == 0)
        say(text, "%" PRIu64 " bytes", bytes);
    else
        say(text, "%.2f %s", value, units[unit]);
}

typedef struct of_tag {
    const char *name;
    uint64_t bytes, blocks;
} of_tag_t;

static void insert(of_tag_t *top, of_tag_t it)
{
    for (size_t i = 0; i < TOP; i++) {
        if (top[i].bytes >= it.bytes)
            continue;
        of_tag_t pushed = top[i];
        top[i] = it;
        it = pushed;
    }
}

static void say_tags(text_t *text, cuarena_t *arena, uint64_t live)
{
    of_tag_t top[TOP] = {{NULL, 0, 0}};
    const char *name;
    uint64_t tagged = 0;
    for (cuarena_tag_t tag = 1; cuarena_tag_name(arena, tag, &name) == CUARENA_OK; tag++) {
        cuarena_stats_t stats;
        cuarena_stats_init(&stats);
        if (cuarena_tag_stats(arena, tag, &stats) != CUARENA_OK)
            continue;
        tagged += stats.live_bytes;
        insert(top, (of_tag_t){name, stats.live_bytes, stats.live_blocks});
    }
    if (live > tagged)
        insert(top, (of_tag_t){"no tag", live - tagged, 0});
    say(text, " The largest tags: ");
    for (size_t i = 0; i < TOP && top[i].name; i++) {
        say(text, "%s%s ", i ? ", " : "", top[i].name);
        say_bytes(text, top[i].bytes);
        if (top[i].blocks)
            say(text, " in %" PRIu64 " blocks", top[i].blocks);
    }
    say(text, "%s.", top[0].name ? "" : "none");
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t torch_would_fit(int device, const cuarena_error_info_t *error)
{
    cuarena_t *arena = torch_arena(device);
    uint64_t device_free, total, limit = UINT64_MAX;
    cuarena_stats_t stats;
    if (!arena)
        return 0;
    cuarena_stats_init(&stats);
    cuarena_stats(arena, CUARENA_REGION_ALL, &stats);
    cuarena_get_limit(arena, CUARENA_LIMIT_RESERVED, &limit);
    torch_driver_memory(device, &device_free, &total);
    uint64_t more = limit > stats.reserved_bytes ? limit - stats.reserved_bytes : 0;
    uint64_t largest = error ? error->largest_bytes : stats.largest_bytes;
    more = less(more, device_free);
    return more > largest ? more : largest;
}

static void say_arena(text_t *text, int device, cuarena_t *arena, const cuarena_error_info_t *error)
{
    cuarena_stats_t stats;
    uint64_t device_free, total;
    cuarena_stats_init(&stats);
    cuarena_stats(arena, CUARENA_REGION_ALL, &stats);
    torch_driver_memory(device, &device_free, &total);
    say(text, " GPU %d has a total capacity of ", device);
    say_bytes(text, total);
    say(text, " of which ");
    say_bytes(text, device_free);
    say(text, " is free. Of the allocated memory ");
    say_bytes(text, stats.live_bytes);
    say(text, " is allocated by PyTorch, and ");
    say_bytes(text, stats.reserved_bytes - less(stats.live_bytes, stats.reserved_bytes));
    say(text, " is reserved by PyTorch but unallocated.");
    if (error->limit_bytes) {
        say(text, " The limit is ");
        say_bytes(text, error->limit_bytes);
        say(text, ".");
    }
    say(text, " A request of up to ");
    say_bytes(text, torch_would_fit(device, error));
    say(text, " would have fitted.");
    say_tags(text, arena, stats.live_bytes);
}

static void write_message(text_t *text, int device, size_t bytes, const cuarena_error_info_t *error)
{
    char path[600];
    cuarena_t *arena = torch_arena_found(device);
    say(text, "CUDA out of memory. Tried to allocate ");
    say_bytes(text, bytes);
    say(text, ".");
    if (arena)
        say_arena(text, device, arena, error);
    say(text, " cuarena: %s.", error->message);
    if (arena && report(arena, path, sizeof path))
        say(text, " Report: %s", path);
}

/* ---- The exception -------------------------------------------------------- */

/* std::string of the C++ library, with its new interface. */
typedef struct cxx_string {
    char *bytes;
    size_t length;
    union {
        char small[16];
        size_t capacity;
    } room;
} cxx_string_t;

/* c10::SourceLocation */
typedef struct location {
    const char *function;
    const char *file;
    uint32_t line;
} location_t;

typedef struct cxx {
    void *(*allocate)(size_t); /* of an exception */
    void (*throw)(void *, void *, void (*)(void *));
    void (*bad_alloc)(void); /* throws it */
    void (*runtime_error)(const char *);
    void *(*new)(size_t);
    void (*delete)(void *);
    void (*construct)(void *, location_t, cxx_string_t *);
    void **table; /* of c10::OutOfMemoryError: offset, type, then the functions */
    void *type;
} cxx_t;

/* Larger than any c10::Error so far. */
#define ERROR_BYTES 1024

static void *library_of(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_NOLOAD);
}

static void find(void *library, const char *name, void *slot)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found && library)
        found = dlsym(library, name);
    *(void **)slot = found;
}

static cxx_t find_cxx(void)
{
    cxx_t cxx;
    void *standard = library_of("libstdc++.so.6");
    void *c10 = library_of("libc10.so");
    void *c10_cuda = library_of("libc10_cuda.so");
    find(standard, "__cxa_allocate_exception", &cxx.allocate);
    find(standard, "__cxa_throw", &cxx.throw);
    find(standard, "_ZSt17__throw_bad_allocv", &cxx.bad_alloc);
    find(standard, "_ZSt21__throw_runtime_errorPKc", &cxx.runtime_error);
    find(standard, "_Znwm", &cxx.new);
    find(standard, "_ZdlPv", &cxx.delete);
    find(c10,
         "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
         &cxx.construct);
    find(c10_cuda, "_ZTVN3c1016OutOfMemoryErrorE", &cxx.table);
    find(c10_cuda, "_ZTIN3c1016OutOfMemoryErrorE", &cxx.type);
    return cxx;
}

static cxx_string_t make_string(const cxx_t *cxx, const text_t *text)
{
    cxx_string_t string = {.bytes = cxx->new (text->length + 1), .length = text->length};
    memcpy(string.bytes, text->bytes, text->length);
    string.bytes[text->length] = '\0';
    string.room.capacity = text->length;
    return string;
}

/* Does not return. */
static void throw_out_of_memory(const cxx_t *cxx, const text_t *text)
{
    const location_t here = {__func__, "cuarena", 0};
    void **object = cxx->allocate(ERROR_BYTES);
    cxx_string_t string = make_string(cxx, text);
    memset(object, 0, ERROR_BYTES);
    cxx->construct(object, here, &string);
    if (string.bytes != string.room.small) /* it was copied, not moved */
        cxx->delete (string.bytes);
    object[0] = cxx->table + 2;
    void (*destroy)(void *);
    *(void **)&destroy = cxx->table[2];
    cxx->throw(object, cxx->type, destroy);
}

/* Does not return where there is a C++ library. */
static void throw_other(const cxx_t *cxx, const cuarena_error_info_t *error)
{
    char message[640];
    snprintf(message, sizeof message, "cuarena: %s", error->message);
    if (cxx->runtime_error)
        cxx->runtime_error(message);
}

void torch_refuse(int device, size_t bytes, cuarena_status_t status)
{
    cuarena_error_info_t error;
    text_t text = {.length = 0};
    const cxx_t cxx = find_cxx();
    cuarena_error_info_init(&error);
    cuarena_last_error_info(&error);
    if (status != CUARENA_OUT_OF_MEMORY && status != CUARENA_FRAGMENTED && status != CUARENA_LIMIT)
        throw_other(&cxx, &error);
    write_message(&text, device, bytes, &error);
    if (cxx.allocate && cxx.throw &&cxx.new &&cxx.delete &&cxx.construct &&cxx.table &&cxx.type)
        throw_out_of_memory(&cxx, &text);
    fprintf(stderr, "%s\n", text.bytes);
    if (cxx.bad_alloc)
        cxx.bad_alloc();
}
