#include "progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS 1000
#define PAUSE_MS 100

static char task[128];
static long next_ms; /* when something may be shown again; 0: never asked */
static bool shown;

static long now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_due(void)
{
    long now = now_ms();
    if (next_ms == 0)
        next_ms = now + FIRST_MS;
    if (now < next_ms || !isatty(STDERR_FILENO))
        return false;
    next_ms = now + PAUSE_MS;
    return true;
}

void progress_task(const char *title, unsigned long number, unsigned long count)
{
    (void)snprintf(task, sizeof task, "%s (%lu of %lu)", title, number, count);
    (void)is_due();
}

void progress_step(const char *format, ...)
{
    char step[96];
    if (!is_due())
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(step, sizeof step, format, arguments);
    va_end(arguments);
    /* To the first column, the text, and what is right of it erased. */
    fprintf(stderr, "\r%s: %s\033[K", task, step);
    shown = true;
}

void progress_clear(void)
{
    if (shown)
        fputs("\r\033[K", stderr);
    shown = false;
}
