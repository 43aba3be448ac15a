/*
 * The lines of the log, or of a report of leaks, that a test keeps: one list at a time.
 */
#ifndef CUARENA_TEST_LOG_LINES_H
#define CUARENA_TEST_LOG_LINES_H

#include <stdint.h>

typedef struct log_line {
    int32_t level; /* 0: of a report */
    char text[512];
} log_line_t;

typedef struct log_lines {
    log_line_t list[400];
    int count;
} log_lines_t;

/* What was kept; a test may set the count to 0. */
extern log_lines_t logged;

/* From now on what is logged up to this level is kept, and nothing of before. */
void log_listen(int32_t level);
/* Nothing is logged any more; the lines stay. */
void log_listen_no_more(void);

/* Callbacks of the log and of a report, which keep the line. */
void keep_line(void *user, int32_t level, const char *line);
void keep_report_line(void *user, const char *line);

/* The lines of this level (0: of any) that have these words, each with a line's end, as one text.
 * Good until the next call. */
const char *log_text(int32_t level, const char *words);

#endif
