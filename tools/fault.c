#include "fault.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuarena/base.h"

/* What is quoted of a value, at most. */
#define QUOTE_LENGTH 60

__attribute__((format(printf, 2, 0))) static void say(fault_t *fault, const char *format,
                                                      va_list arguments)
{
    (void)vsnprintf(fault->text, sizeof fault->text, format, arguments);
}

bool fault_set(fault_t *fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(fault, format, arguments);
    va_end(arguments);
    return false;
}

static void append_last_error(fault_t *fault)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    if (cuarena_last_error_info(&info) != CUARENA_OK)
        return;
    const char *name = cuarena_status_name(info.status);
    const char *why = info.message[0] != '\0' ? info.message : cuarena_status_text(info.status);
    bool named = strncmp(why, name, strlen(name)) == 0;
    size_t length = strlen(fault->text);
    (void)snprintf(fault->text + length, sizeof fault->text - length, ": %s%s%s", named ? "" : name,
                   named ? "" : ": ", why);
}

bool fault_library(fault_t *fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(fault, format, arguments);
    va_end(arguments);
    append_last_error(fault);
    return false;
}

const char *fault_quote(const char *text, size_t length)
{
    static _Thread_local char quoted[QUOTE_LENGTH + sizeof "..."];
    size_t kept = length < QUOTE_LENGTH ? length : QUOTE_LENGTH;
    for (size_t i = 0; i < kept; i++)
        quoted[i] = (char)(isprint((unsigned char)text[i]) ? text[i] : '?');
    strcpy(quoted + kept, kept < length ? "..." : "");
    return quoted;
}

void *must_have(void *old, size_t count, size_t element_bytes)
{
    size_t bytes = 0;
    bool overflow = __builtin_mul_overflow(count, element_bytes, &bytes);
    void *memory = overflow ? NULL : realloc(old, bytes > 0 ? bytes : 1);
    if (memory != NULL)
        return memory;
    fprintf(stderr, "cuarena: no memory for %zu elements of %zu bytes\n", count, element_bytes);
    exit(2);
}
