/*
 * Records: what a benchmark found, one JSON object a line, and samples.
 *
 *   sample   what was measured at once: one round, or so many that the clock
 *            does not count; always given for one.
 *   figures  what is told of samples: all of them count, the slow ones too.
 *
 * One file at a time is written, or none: then every call does nothing.
 */
#ifndef BENCH_RECORD_H
#define BENCH_RECORD_H

#include <stddef.h>
#include <stdint.h>

typedef struct figures {
    size_t samples;
    double mean;
    double median;
    double p99;
    double least;
    double most;
} figures_t;

/* Sorts the samples. */
figures_t figures_of(double *samples, size_t count);

/* NULL: no file. Ends the program if it cannot be written. */
void record_open(const char *path);
void record_close(void);

/* The members of one object, between begin and end. */
void record_begin(const char *kind);
void record_text(const char *key, const char *value);
void record_count(const char *key, uint64_t value);
void record_number(const char *key, double value);
void record_figures(const figures_t *figures);
void record_end(void);

#endif
