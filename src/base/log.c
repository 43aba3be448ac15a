#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/frame.h"
#include "base/lock.h"

/* Longer lines are cut. */
#define LINE_SIZE 1024

#define UNREAD (CUARENA_LOG_DEBUG + 1)

_Atomic int32_t cuai_log_threshold = UNREAD;

/* Where lines go; `lock` guards the pair. */
typedef struct sink {
    cuarena_log_fn callback;
    void *user;
} sink_t;

static cuai_lock_t lock = CUAI_LOCK_INIT;
static sink_t sink;

/* The names of levels, in the order of their values. */
static const char *const names[] = {"off", "error", "warn", "info", "debug"};

#define NAME_COUNT (sizeof names / sizeof names[0])

/* Reads where lines go. False: a signal handler has interrupted this thread while it had the lock.
 */
static bool sink_now(sink_t *now)
{
    if (!cuai_lock_enter(&lock))
        return false;
    *now = sink;
    cuai_unlock(&lock);
    return true;
}

/* Lines that the caller's function causes itself are left out, and those of a signal handler that
 * interrupted this. */
static void deliver(int32_t level, const char *line)
{
    CUAI_ASSERT(level > CUARENA_LOG_OFF && level <= CUARENA_LOG_DEBUG);
    sink_t now;
    if (!sink_now(&now) || cuai_frame_within(CUAI_FRAME_LOG, NULL))
        return;
    cuai_frame_t frame;
    cuai_frame_push(&frame, CUAI_FRAME_LOG, NULL);
    if (now.callback != NULL)
        now.callback(now.user, level, line);
    else
        fprintf(stderr, "cuarena: %s: %s\n", names[level], line);
    cuai_frame_pop();
}

CUAI_PRINTF(2, 0)
static void say(int32_t level, const char *format, va_list arguments)
{
    char line[LINE_SIZE], plain[LINE_SIZE];
    (void)vsnprintf(line, sizeof line, format, arguments);
    (void)cuai_text_plain(plain, sizeof plain, line);
    deliver(level, plain);
}

/* ---- The level --------------------------------------------------------- */

/* The level of a name; -1: there is none. */
static int32_t level_of(const char *name)
{
    for (size_t i = 0; i < NAME_COUNT; i++)
        if (strcmp(name, names[i]) == 0)
            return (int32_t)i;
    return -1;
}

/* Logs at any level: whoever set the variable wants to read the log. */
CUAI_PRINTF(1, 2) static void complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(CUARENA_LOG_ERROR, format, arguments);
    va_end(arguments);
}

/* The level, which the first call reads from the environment. If several threads do so the first
 * one wins, and a level that is set meanwhile wins over all. */
static int32_t level_now(void)
{
    int32_t level = atomic_load_explicit(&cuai_log_threshold, memory_order_relaxed);
    if (level != UNREAD)
        return level;
    const char *name = getenv("CUARENA_LOG");
    int32_t wished = name == NULL || *name == '\0' ? 0 : level_of(name);
    int32_t known = wished < 0 ? CUARENA_LOG_OFF : wished;
    if (!atomic_compare_exchange_strong(&cuai_log_threshold, &level, known))
        return level;
    char room[CUAI_SHOWN + sizeof("...")];
    if (wished < 0)
        complain("CUARENA_LOG is '%s'; accepted: off, error, warn, info, "
                 "debug; nothing is logged",
                 cuai_shown(name, 64, room));
    return known;
}

/* ---- Lines ------------------------------------------------------------- */

void cuai_log_line(int32_t level, const char *format, ...)
{
    CUAI_ASSERT(level > CUARENA_LOG_OFF && level <= CUARENA_LOG_DEBUG);
    if (level > level_now())
        return;
    va_list arguments;
    va_start(arguments, format);
    say(level, format, arguments);
    va_end(arguments);
}

cuarena_status_t cuai_log_error(const char *who, cuarena_status_t status)
{
    bool unlogged = cuai_error_is_unlogged();
    CUAI_ASSERT(status == CUARENA_OK || cuai_error_is(status));
    if (status != CUARENA_OK && unlogged)
        cuai_log(CUARENA_LOG_ERROR, "%s%s%s", who, *who == '\0' ? "" : ": ", cuarena_last_error());
    return status;
}

cuarena_status_t cuai_told(cuarena_status_t status)
{
    return status == CUARENA_OK ? status : cuai_log_error("", status);
}

static bool locked; /* by the fork under way */

void cuai_log_before_fork(void)
{
    locked = cuai_lock_enter(&lock);
}

void cuai_log_after_fork(bool in_child)
{
    if (locked && in_child)
        cuai_lock_reset(&lock);
    else if (locked)
        cuai_unlock(&lock);
}

/* The compare-exchange of a thread that reads the environment now loses. */
void cuai_log_set(int32_t level)
{
    CUAI_ASSERT(level >= CUARENA_LOG_OFF && level <= CUARENA_LOG_DEBUG);
    atomic_store(&cuai_log_threshold, level);
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

cuarena_status_t cuai_null(const char *what)
{
    return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT, "%s: NULL", what));
}
