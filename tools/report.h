/*
 * Reports: what replays came to, as a table for a person or as JSON for a program. cuarena(1) says
 * what each column and key means.
 */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <stdio.h>

#include "json.h"
#include "measure.h"

/* The text of one option of a config. Good until the next call. */
const char *report_option(const cuarena_config_t *config, const char *key);

/* One object in one line. False if it cannot be written. */
bool report_json(const measure_ask_t *ask, const trace_t *trace, const measure_t *measure,
                 FILE *out);

void report_table(const measure_ask_t *ask, const trace_t *traces, const measure_t *measures,
                  size_t count, FILE *out);

/* Adds what a search found under the two keys; null if it found nothing. */
void report_smallest(json_t *object, const char *bytes, const char *ratio,
                     const smallest_t *smallest);

#endif
