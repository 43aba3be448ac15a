/*
 * A table: cells of text, row by row, printed in columns as wide as they need to be. The first
 * column begins at the left, the others end at the right.
 */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Zero all but the columns to begin. */
typedef struct table {
    size_t columns;
    char **cells;
    size_t count;
} table_t;

/* The next cell; a row is full after `columns` of them. */
__attribute__((format(printf, 2, 3))) void table_add(table_t *table, const char *format, ...);
/* 256 B, 12.3 KiB, 8754.0 MiB and so on. Good until the next call. */
const char *table_bytes(uint64_t bytes);
void table_add_bytes(table_t *table, uint64_t bytes);
/* A table wider than this is printed in parts, one below the other, each with the first column: a
 * cell alone may be wider. */
#define TABLE_WIDTH 120
/* All full rows; also ends the table. */
void table_print(table_t *table, FILE *out);

#endif
