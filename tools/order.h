/*
 * The lines of a CSV in the order of a column of times: what several threads recorded stands in the
 * file thread by thread.
 */
#ifndef TOOLS_ORDER_H
#define TOOLS_ORDER_H

#include "csv.h"

typedef struct order_line {
    uint64_t time;
    const char *text;
    uint64_t number; /* in the file */
} order_line_t;

typedef struct order {
    order_line_t *lines;
    size_t count;
    size_t next; /* that order_next goes to */
} order_t;

/* Lists the lines behind the one that `csv` stands on; those of the same time stay as they are.
 * False: `csv` stands on a line whose time is no number. */
bool order_make(csv_t *csv, size_t column, order_t *order);
/* Lets `csv` go to the next line; false past the last. */
bool order_next(order_t *order, csv_t *csv);
/* Lets `csv` go to the last line, while order_next goes on as before; false if there is none. */
bool order_last(const order_t *order, csv_t *csv);
void order_free(order_t *order);

#endif
