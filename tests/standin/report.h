/*
 * Reports: what the program did that a real driver would have let pass, or crashed on. Written down
 * in words, counted by kind, printed.
 */
#ifndef CUARENA_STANDIN_REPORT_H
#define CUARENA_STANDIN_REPORT_H

#include "standin.h"

#include <stdbool.h>

#if defined(__GNUC__)
#define SD_PRINTF(text, values) __attribute__((format(printf, text, values)))
#else
#define SD_PRINTF(text, values)
#endif

/* Adds one; the entry point that is running is put in front. Under the lock. */
void sd_report(standin_kind_t kind, const char *format, ...) SD_PRINTF(2, 3);
/* Adds one and aborts: what a real driver crashes on. */
_Noreturn void sd_crash(standin_kind_t kind, const char *format, ...) SD_PRINTF(2, 3);
/* Says why and ends the process: for the stand-in's own bad input. */
_Noreturn void sd_die(const char *format, ...) SD_PRINTF(1, 2);
/* How many there are of a kind, or in all. */
size_t sd_report_count(standin_kind_t kind);

#endif
