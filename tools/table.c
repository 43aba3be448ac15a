#include "table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

#define GAP 2 /* spaces between two columns */

void table_add(table_t *table, const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *cell = must_have(NULL, strlen(text) + 1, 1);
    strcpy(cell, text);
    table->cells =
        must_have(table->cells, table->count + 1, sizeof *table->cells);
    table->cells[table->count++] = cell;
}

void table_add_bytes(table_t *table, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double amount = (double)bytes / 1024;
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof units[0] && amount >= 10000) {
        amount /= 1024;
        unit++;
    }
    if (bytes < 1024)
        table_add(table, "%" PRIu64 " B", bytes);
    else
        table_add(table, "%.1f %s", amount, units[unit]);
}

static size_t width_of(const table_t *table, size_t column)
{
    size_t width = 0;
    for (size_t at = column; at < table->count; at += table->columns) {
        size_t length = strlen(table->cells[at]);
        width = length > width ? length : width;
    }
    return width;
}

static void print_cell(const table_t *table, size_t at, size_t width, FILE *out)
{
    bool last = at % table->columns == table->columns - 1;
    if (at % table->columns == 0)
        fprintf(out, "%-*s", (int)width, table->cells[at]);
    else
        fprintf(out, "%*s%*s", GAP, "", (int)width, table->cells[at]);
    if (last)
        fputc('\n', out);
}

void table_print(table_t *table, FILE *out)
{
    size_t *widths = must_have(NULL, table->columns, sizeof *widths);
    for (size_t column = 0; column < table->columns; column++)
        widths[column] = width_of(table, column);
    for (size_t at = 0; at < table->count; at++)
        print_cell(table, at, widths[at % table->columns], out);
    for (size_t at = 0; at < table->count; at++)
        free(table->cells[at]);
    free(table->cells);
    free(widths);
    *table = (table_t){.columns = table->columns};
}
