#include "record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *file;

static int by_value(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

figures_t figures_of(double *samples, size_t count)
{
    figures_t figures = {.samples = count};
    if (count == 0)
        return figures;
    for (size_t i = 0; i < count; i++)
        figures.mean += samples[i] / (double)count;
    qsort(samples, count, sizeof *samples, by_value);
    figures.median = samples[count / 2];
    figures.p99 = samples[count - 1 - count / 100];
    figures.least = samples[0];
    figures.most = samples[count - 1];
    return figures;
}

void record_open(const char *path)
{
    if (path == NULL)
        return;
    file = fopen(path, "w");
    if (file != NULL)
        return;
    perror(path);
    exit(EXIT_FAILURE);
}

void record_close(void)
{
    int failed = file != NULL && (ferror(file) | fclose(file));
    file = NULL;
    if (!failed)
        return;
    fputs("the records could not be written\n", stderr);
    exit(EXIT_FAILURE);
}

static void write_text(const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
    }
    fputc('"', file);
}

void record_begin(const char *kind)
{
    if (file == NULL)
        return;
    fputs("{\"kind\": ", file);
    write_text(kind);
}

static void write_key(const char *key)
{
    fputs(", ", file);
    write_text(key);
    fputs(": ", file);
}

void record_text(const char *key, const char *value)
{
    if (file == NULL)
        return;
    write_key(key);
    write_text(value);
}

void record_count(const char *key, uint64_t value)
{
    if (file == NULL)
        return;
    write_key(key);
    fprintf(file, "%" PRIu64, value);
}

void record_number(const char *key, double value)
{
    if (file == NULL)
        return;
    write_key(key);
    fprintf(file, "%.6g", value);
}

void record_figures(const figures_t *figures)
{
    record_count("samples", figures->samples);
    record_number("mean", figures->mean);
    record_number("median", figures->median);
    record_number("p99", figures->p99);
    record_number("least", figures->least);
    record_number("most", figures->most);
}

void record_end(void)
{
    if (file != NULL)
        fputs("}\n", file);
}
