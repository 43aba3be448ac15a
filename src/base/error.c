#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

/* Adds to the message; cuts what is too long. */
CUAI_PRINTF(1, 0) static void say(const char *format, va_list arguments)
{
    char text[sizeof last.message];
    size_t length = strlen(last.message);
    (void)vsnprintf(text, sizeof text, format, arguments);
    (void)cuai_text_plain(last.message + length, sizeof last.message - length, text);
}

cuarena_status_t cuai_fail(cuarena_status_t status, const char *format, ...)
{
    va_list arguments;
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

void cuai_error_asked(uint64_t bytes)
{
    last.asked_bytes = bytes;
}

void cuai_error_code(int32_t driver_code)
{
    last.driver_code = driver_code;
}

void cuai_error_add(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void cuai_error_keep(cuai_kept_error_t *kept)
{
    *kept = (cuai_kept_error_t){last, unlogged};
}

void cuai_error_restore(const cuai_kept_error_t *kept)
{
    last = kept->error;
    unlogged = kept->unlogged;
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

/* Not through cuai_fail: asking must not replace what is asked for. */
cuarena_status_t cuarena_last_error_info(cuarena_error_info_t *info)
{
    if (!cuai_sized_ok(info, INFO_FIRST, sizeof *info))
        return CUARENA_BAD_ARGUMENT;
    cuai_sized_write(info, &last);
    return CUARENA_OK;
}
