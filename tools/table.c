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
    table->cells = must_have(table->cells, table->count + 1, sizeof *table->cells);
    table->cells[table->count++] = cell;
}

const char *table_bytes(uint64_t bytes)
{
    static _Thread_local char text[32];
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double amount = (double)bytes / 1024;
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof units[0] && amount >= 10000) {
        amount /= 1024;
        unit++;
    }
    if (bytes < 1024)
        (void)snprintf(text, sizeof text, "%" PRIu64 " B", bytes);
    else
        (void)snprintf(text, sizeof text, "%.1f %s", amount, units[unit]);
    return text;
}

void table_add_bytes(table_t *table, uint64_t bytes)
{
    table_add(table, "%s", table_bytes(bytes));
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

/* How many columns from `first` on stand beside the first of all in one part.
 */
static size_t columns_of_part(const table_t *table, const size_t *widths, size_t first)
{
    size_t width = widths[0], count = 0;
    while (first + count < table->columns &&
           (count == 0 || width + GAP + widths[first + count] <= TABLE_WIDTH))
        width += GAP + widths[first + count++];
    return count;
}

static void print_part(const table_t *table, const size_t *widths, size_t first, size_t count,
                       FILE *out)
{
    for (size_t row = 0; row < table->count; row += table->columns) {
        char **cells = &table->cells[row];
        fprintf(out, "%-*s", (int)widths[0], cells[0]);
        for (size_t at = first; at < first + count; at++)
            fprintf(out, "%*s%*s", GAP, "", (int)widths[at], cells[at]);
        fputc('\n', out);
    }
}

void table_print(table_t *table, FILE *out)
{
    size_t *widths = must_have(NULL, table->columns, sizeof *widths);
    for (size_t column = 0; column < table->columns; column++)
        widths[column] = width_of(table, column);
    for (size_t first = 1, count; first < table->columns; first += count) {
        count = columns_of_part(table, widths, first);
        if (first > 1)
            fputc('\n', out);
        print_part(table, widths, first, count, out);
    }
    for (size_t at = 0; at < table->count; at++)
        free(table->cells[at]);
    free(table->cells);
    free(widths);
    *table = (table_t){.columns = table->columns};
}
