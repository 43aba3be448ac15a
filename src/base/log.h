/*
 * The log of the process, which is off unless somebody asks for it; then it costs one relaxed load.
 * Call it with no lock held: the line goes to the caller's function.
 */
#ifndef CUAI_BASE_LOG_H
#define CUAI_BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "cuarena/base.h"

/* The level that is logged now; above CUARENA_LOG_DEBUG until the environment was read, so that the
 * first line of all makes cuai_log_line read it. */
extern _Atomic int32_t cuai_log_threshold;

/* Formats and delivers one line, if `level` is logged. */
void cuai_log_line(int32_t level, const char *format, ...) CUAI_NOINLINE CUAI_PRINTF(2, 3);

/* Logs the last error of a public call that returns `status`, once, after `who` and a colon unless
 * that is ""; nothing for OK. Returns the status. */
cuarena_status_t cuai_log_error(const char *who, cuarena_status_t status) CUAI_NOINLINE;

/* Before a fork of the process, and after it in both: so a child finds the lock of where lines go
 * as one that nobody has. */
void cuai_log_before_fork(void);
void cuai_log_after_fork(bool in_child);

void cuai_log_set(int32_t level);

static inline bool cuai_log_wants(int32_t level)
{
    return CUAI_UNLIKELY(level <= atomic_load_explicit(&cuai_log_threshold, memory_order_relaxed));
}

/* Logs the error of a public call that knows no arena, if it is one, and returns the status. */
cuarena_status_t cuai_told(cuarena_status_t status);

/* BAD_ARGUMENT: an argument that must not be NULL is; the log is told. No lock is held. */
cuarena_status_t cuai_null(const char *what) CUAI_NOINLINE;

/* cuai_log(CUARENA_LOG_WARN, "format", ...); arguments are evaluated only if the line may be
 * wanted. */
#define cuai_log(level, ...) (cuai_log_wants(level) ? cuai_log_line(level, __VA_ARGS__) : (void)0)

#endif
