#include "order.h"

#include <stdlib.h>

#include "fault.h"

static void add(order_t *order, size_t *capacity, order_line_t line)
{
    if (order->count == *capacity) {
        *capacity = *capacity > 0 ? 2 * *capacity : 1024;
        order->lines = must_have(order->lines, *capacity, sizeof line);
    }
    order->lines[order->count++] = line;
}

static int compare(const void *a, const void *b)
{
    const order_line_t *one = a, *other = b;
    if (one->time != other->time)
        return one->time < other->time ? -1 : 1;
    return (one->number > other->number) - (one->number < other->number);
}

bool order_make(csv_t *csv, size_t column, order_t *order)
{
    size_t capacity = 0;
    bool sorted = true;
    uint64_t last = 0;
    *order = (order_t){.lines = NULL};
    while (csv_next(csv)) {
        order_line_t line = {0, csv->whole.text, csv->line};
        if (column < csv->field_count && !csv_decimal(csv->fields[column], UINT64_MAX, &line.time))
            return false;
        sorted = sorted && line.time >= last;
        last = line.time;
        add(order, &capacity, line);
    }
    if (!sorted)
        qsort(order->lines, order->count, sizeof *order->lines, compare);
    return true;
}

static bool go_to(const order_line_t *line, csv_t *csv)
{
    csv->next = line->text;
    csv->line = line->number - 1;
    return csv_next(csv);
}

bool order_next(order_t *order, csv_t *csv)
{
    return order->next < order->count && go_to(&order->lines[order->next++], csv);
}

bool order_last(const order_t *order, csv_t *csv)
{
    return order->count > 0 && go_to(&order->lines[order->count - 1], csv);
}

void order_free(order_t *order)
{
    free(order->lines);
    *order = (order_t){.lines = NULL};
}
