#include "csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

csv_t csv_open(const char *text, size_t length)
{
    return (csv_t){.next = text, .end = text + length};
}

static void add_field(csv_t *csv, const char *from, const char *to)
{
    if (csv->field_count < CSV_MAX_FIELDS)
        csv->fields[csv->field_count] = (csv_field_t){from, (size_t)(to - from)};
    csv->field_count++;
}

static void split(csv_t *csv)
{
    const char *from = csv->whole.text, *end = from + csv->whole.length;
    csv->field_count = 0;
    for (const char *at = from; at != end; at++) {
        if (*at == ',') {
            add_field(csv, from, at);
            from = at + 1;
        }
    }
    add_field(csv, from, end);
}

/* The line at `next`, without its end, which may be that of another system. */
static void take_line(csv_t *csv)
{
    const char *from = csv->next;
    const char *newline = memchr(from, '\n', (size_t)(csv->end - from));
    const char *to = newline != NULL ? newline : csv->end;
    csv->next = newline != NULL ? newline + 1 : csv->end;
    csv->line++;
    if (to != from && to[-1] == '\r')
        to--;
    csv->whole = (csv_field_t){from, (size_t)(to - from)};
}

bool csv_next(csv_t *csv)
{
    while (csv->next != csv->end) {
        take_line(csv);
        if (csv->whole.length > 0) {
            split(csv);
            return true;
        }
    }
    return false;
}

bool csv_is(csv_field_t field, const char *text)
{
    return strlen(text) == field.length && memcmp(field.text, text, field.length) == 0;
}

size_t csv_find(const csv_t *csv, const char *name, size_t at)
{
    while (at < csv->field_count && !csv_is(csv->fields[at], name))
        at++;
    return at;
}

static bool wrong_header(const csv_t *csv, csv_field_t twice, const char *path, fault_t *fault)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s", fault_quote(twice.text, twice.length));
    return fault_set(fault, "%s:%" PRIu64 ": two columns '%s' in '%s', expected one", path,
                     csv->line, name, fault_quote(csv->whole.text, csv->whole.length));
}

bool csv_check_single(const csv_t *csv, size_t at, const char *path, fault_t *fault)
{
    for (size_t other = at + 1; other < csv->field_count; other++)
        if (csv->fields[other].length == csv->fields[at].length &&
            memcmp(csv->fields[other].text, csv->fields[at].text, csv->fields[at].length) == 0)
            return wrong_header(csv, csv->fields[at], path, fault);
    return true;
}

bool csv_decimal(csv_field_t field, uint64_t most, uint64_t *number_out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < field.length; i++) {
        unsigned digit = (unsigned)(unsigned char)field.text[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, digit, &number))
            return false;
    }
    *number_out = number;
    return field.length > 0 && number <= most;
}

/* 16 for what is no hexadecimal digit. */
static unsigned hex_digit(char character)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = memchr(digits, character, sizeof digits - 1);
    return at != NULL ? (unsigned)(at - digits) % 16 : 16;
}

bool csv_address(csv_field_t field, uint64_t *address_out)
{
    *address_out = 0;
    if (csv_is(field, "(nil)"))
        return true;
    if (field.length < 3 || field.length > 18 || memcmp(field.text, "0x", 2) != 0)
        return false;
    for (size_t i = 2; i < field.length; i++) {
        unsigned digit = hex_digit(field.text[i]);
        if (digit > 15)
            return false;
        *address_out = *address_out << 4 | digit;
    }
    return true;
}
