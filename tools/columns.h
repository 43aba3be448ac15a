/*
 * Columns: numbers as few bytes, for a page to hold. Each is a varint, seven bits a byte and the
 * lowest first, of the number or of what it has more than the one before; all columns together are
 * deflated (zlib's format) and written in base64.
 */
#ifndef TOOLS_COLUMNS_H
#define TOOLS_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Zero it to begin. */
typedef struct columns {
    uint8_t *bytes;
    size_t length;
    size_t capacity;
    uint64_t last; /* of the column under way */
} columns_t;

/* Begins a column of differences. */
void columns_begin(columns_t *columns);
void columns_add(columns_t *columns, uint64_t number);
/* What `number` has more than the last one, or less, as a zigzag number. */
void columns_add_step(columns_t *columns, uint64_t number);

/* Nothing but the alphabet of base64, in one line. */
void columns_write(const columns_t *columns, FILE *out);
void columns_free(columns_t *columns);

/* Writes bytes in base64. */
void base64_write(const uint8_t *bytes, size_t length, FILE *out);

#endif
