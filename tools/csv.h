/*
 * CSV: lines of fields between commas, without quotes. A reader stands on one line; its fields
 * point into the text. Empty lines are passed over.
 */
#ifndef TOOLS_CSV_H
#define TOOLS_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"

/* Further fields of a line are counted but not kept. */
#define CSV_MAX_FIELDS 64

typedef struct csv_field {
    const char *text; /* not terminated */
    size_t length;
} csv_field_t;

typedef struct csv {
    const char *next; /* the line after the one it stands on */
    const char *end;  /* of the text */
    uint64_t line;    /* from 1; 0 before the first */
    csv_field_t whole;
    csv_field_t fields[CSV_MAX_FIELDS];
    size_t field_count;
} csv_t;

csv_t csv_open(const char *text, size_t length);
/* Goes to the next line; false past the last. */
bool csv_next(csv_t *csv);

bool csv_is(csv_field_t field, const char *text);

/* Of a header, whose fields are all kept: the column from `at` on that is named so; their count if
 * there is none. */
size_t csv_find(const csv_t *csv, const char *name, size_t at);
/* Whether no column behind the one at `at` has its name, which leaves open which of them is meant;
 * `path` is what the fault calls the file. `at` may be their count, for none. */
bool csv_check_single(const csv_t *csv, size_t at, const char *path, fault_t *fault);

/* Digits and nothing else, of a number up to `most`. */
bool csv_decimal(csv_field_t field, uint64_t most, uint64_t *number_out);
/* An address: 0x and hexadecimal digits, or (nil). */
bool csv_address(csv_field_t field, uint64_t *address_out);

#endif
