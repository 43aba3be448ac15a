#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/sized.h"

/* The size that cuarena_error_info_t had in the first release. */
#define INFO_FIRST sizeof(cuarena_error_info_t)

static _Thread_local cuarena_error_info_t last;
/* Whether `last` was set and not logged yet. */
static _Thread_local bool unlogged;

size_t cuai_text_plain(char *to, size_t room, const char *from)
{
    size_t used = 0;
    CUAI_ASSERT(room != 0);
    for (; *from != '\0' && used + 1 < room; from++) {
        unsigned char byte = (unsigned char)*from;
        if (byte >= 0x20 && byte != 0x7f) {
            to[used++] = *from;
            continue;
        }
        if (used + sizeof("\\x00") > room)
            break;
        used += (size_t)snprintf(to + used, room - used, "\\x%02x", byte);
    }
    to[used] = '\0';
    return used;
}

/* Ends a text at `end` in "...", and in a whole character. */
static void cut(char *text, size_t end)
{
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    strcpy(text + end, "...");
}

const char *cuai_shown(const char *text, size_t most, char room[CUAI_SHOWN + sizeof("...")])
{
    CUAI_ASSERT(most <= CUAI_SHOWN);
    if (strlen(text) <= most)
        return text;
    memcpy(room, text, most + 1);
    cut(room, most);
    return room;
}

/* Adds to the message, whose end it cuts where it is too long. */
CUAI_PRINTF(1, 0) static void say(const char *format, va_list arguments)
{
    char text[sizeof last.message];
    char plain[sizeof last.message + sizeof("\\x00")]; /* fuller than a message, if it is cut */
    size_t length = strlen(last.message);
    CUAI_ASSERT(length < sizeof last.message);
    size_t room = sizeof last.message - length;
    bool all = vsnprintf(text, sizeof text, format, arguments) < (int)sizeof text;
    size_t used = cuai_text_plain(plain, sizeof plain, text);
    all = all && used < room;
    memcpy(last.message + length, plain, cuai_min(used, room - 1));
    last.message[length + cuai_min(used, room - 1)] = '\0';
    if (!all)
        cut(last.message, sizeof last.message - sizeof("..."));
}

cuarena_status_t cuai_fail(cuarena_status_t status, const char *format, ...)
{
    va_list arguments;
    CUAI_ASSERT(status != CUARENA_OK);
    va_start(arguments, format);
    last = (cuarena_error_info_t){.status = status};
    unlogged = true;
    say(format, arguments);
    va_end(arguments);
    return status;
}

cuarena_status_t cuai_fail_bytes(cuarena_status_t status, uint64_t asked_bytes,
                                 uint64_t limit_bytes, uint64_t reserved_bytes, uint64_t free_bytes,
                                 uint64_t largest_bytes, const char *format, ...)
{
    va_list arguments;
    CUAI_ASSERT(status != CUARENA_OK);
    va_start(arguments, format);
    last = (cuarena_error_info_t){
        .status = status,
        .asked_bytes = asked_bytes,
        .limit_bytes = limit_bytes,
        .reserved_bytes = reserved_bytes,
        .free_bytes = free_bytes,
        .largest_bytes = largest_bytes,
    };
    unlogged = true;
    say(format, arguments);
    va_end(arguments);
    return status;
}

cuarena_status_t cuai_fail_driver(int32_t driver_code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    last = (cuarena_error_info_t){
        .status = CUARENA_DRIVER,
        .driver_code = driver_code,
    };
    unlogged = true;
    say(format, arguments);
    va_end(arguments);
    return CUARENA_DRIVER;
}

cuarena_status_t cuai_fail_struct(const char *what, const void *sized)
{
    if (sized == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "%s: NULL", what);
    return cuai_fail(CUARENA_BAD_ARGUMENT, "%s: struct_size %zu; accepted: what its _init sets",
                     what, cuai_sized_of(sized));
}

void cuai_error_asked(uint64_t bytes)
{
    CUAI_ASSERT(last.status != CUARENA_OK);
    last.asked_bytes = bytes;
}

void cuai_error_code(int32_t driver_code)
{
    CUAI_ASSERT(last.status != CUARENA_OK);
    last.driver_code = driver_code;
}

void cuai_error_add(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

cuai_kept_error_t cuai_error_kept(void)
{
    return (cuai_kept_error_t){last, unlogged};
}

void cuai_error_restore(const cuai_kept_error_t *kept)
{
    last = kept->error;
    unlogged = kept->unlogged;
}

cuai_first_error_t cuai_first_begin(void)
{
    return (cuai_first_error_t){CUARENA_OK, cuai_error_kept()};
}

void cuai_first_note(cuai_first_error_t *first, cuarena_status_t status)
{
    if (first->status != CUARENA_OK || status == CUARENA_OK || status == CUARENA_BUSY)
        return;
    first->status = status;
    first->words = cuai_error_kept();
}

cuarena_status_t cuai_first_end(const cuai_first_error_t *first)
{
    cuai_error_restore(&first->words);
    return first->status;
}

bool cuai_error_is(cuarena_status_t status)
{
    return last.status == status;
}

bool cuai_error_is_unlogged(void)
{
    bool was = unlogged;
    unlogged = false;
    return was;
}

const char *cuarena_last_error(void)
{
    return last.message;
}

void cuarena_error_info_init(cuarena_error_info_t *info)
{
    if (info == NULL)
        return;
    memset(info, 0, sizeof *info);
    info->struct_size = sizeof *info;
}

/* Sets no error of its own: asking must not replace what is asked for. */
cuarena_status_t cuarena_last_error_info(cuarena_error_info_t *info)
{
    if (!cuai_sized_ok(info, INFO_FIRST, sizeof *info))
        return CUARENA_BAD_ARGUMENT;
    cuai_sized_write(info, &last);
    return CUARENA_OK;
}
