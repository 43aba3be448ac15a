#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/frame.h"
#include "base/lock.h"

/* Longer lines are cut. */
#define LINE_SIZE 512

#define UNREAD (CUARENA_LOG_DEBUG + 1)

_Atomic int32_t cuai_log_threshold = UNREAD;

/* Where lines go; `lock` guards the pair. */
typedef struct sink {
    cuarena_log_fn callback;
    void *user;
} sink_t;

static cuai_lock_t lock = CUAI_LOCK_INIT;
static sink_t sink;

/* In the order of their values. */
static const char *const names[] = {"off", "error", "warn", "info", "debug"};

#define NAME_COUNT (sizeof names / sizeof names[0])

static int32_t level_of(const char *name)
{
    for (size_t i = 0; name != NULL && i < NAME_COUNT; i++)
        if (strcmp(name, names[i]) == 0)
            return (int32_t)i;
    return CUARENA_LOG_OFF;
}

/* Two threads may both read it; whoever sets a level meanwhile wins. */
static int32_t level_now(void)
{
    int32_t level =
        atomic_load_explicit(&cuai_log_threshold, memory_order_relaxed);
    if (level != UNREAD)
        return level;
    int32_t wished = level_of(getenv("CUARENA_LOG"));
    if (atomic_compare_exchange_strong(&cuai_log_threshold, &level, wished))
        return wished;
    return level;
}

static sink_t sink_now(void)
{
    cuai_lock(&lock);
    sink_t now = sink;
    cuai_unlock(&lock);
    return now;
}

static void deliver(int32_t level, const char *line)
{
    sink_t now = sink_now();
    cuai_frame_t frame;
    cuai_frame_push(&frame, CUAI_FRAME_LOG, NULL);
    if (now.callback != NULL)
        now.callback(now.user, level, line);
    else
        fprintf(stderr, "cuarena: %s: %s\n", names[level], line);
    cuai_frame_pop();
}

void cuai_log_line(int32_t level, const char *format, ...)
{
    CUAI_ASSERT(level > CUARENA_LOG_OFF && level <= CUARENA_LOG_DEBUG);
    if (level > level_now())
        return;
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    deliver(level, line);
}

cuarena_status_t cuarena_log_set_level(int32_t level)
{
    if (level < CUARENA_LOG_OFF || level > CUARENA_LOG_DEBUG)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "log level: %d, %d to %d is accepted", (int)level,
                         CUARENA_LOG_OFF, CUARENA_LOG_DEBUG);
    atomic_store(&cuai_log_threshold, level);
    return CUARENA_OK;
}

int32_t cuarena_log_level(void)
{
    return level_now();
}

void cuarena_log_set_callback(cuarena_log_fn callback, void *user)
{
    cuai_lock(&lock);
    sink = (sink_t){callback, callback != NULL ? user : NULL};
    cuai_unlock(&lock);
}
