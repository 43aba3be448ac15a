/*
 * The last error of a thread. Whoever first sees a failure records it here and returns its status
 * in the same breath:
 *
 *   return cuai_fail(CUARENA_BAD_ARGUMENT, "size: 0, from 1 on is accepted");
 *
 * A message names what was given, then what would be accepted; no full stop.
 * It is one line whatever the caller's texts hold: control bytes of it are escaped. Legal with
 * locks held: nothing is logged and nobody is called. The public call that returns the status tells
 * the log: cuai_told.
 */
#ifndef CUAI_BASE_ERROR_H
#define CUAI_BASE_ERROR_H

#include <stdbool.h>

#include "base/compiler.h"
#include "cuarena/base.h"

/* All return their status. What does not apply becomes 0. */
cuarena_status_t cuai_fail(cuarena_status_t status, const char *format, ...) CUAI_NOINLINE
    CUAI_PRINTF(2, 3);

cuarena_status_t cuai_fail_bytes(cuarena_status_t status, uint64_t asked_bytes,
                                 uint64_t limit_bytes, uint64_t reserved_bytes, uint64_t free_bytes,
                                 uint64_t largest_bytes, const char *format, ...) CUAI_NOINLINE
    CUAI_PRINTF(7, 8);

/* CUARENA_DRIVER with an errno or the driver's code. */
cuarena_status_t cuai_fail_driver(int32_t driver_code, const char *format, ...) CUAI_NOINLINE
    CUAI_PRINTF(2, 3);

/* Adds to the last error what was asked for. */
void cuai_error_asked(uint64_t bytes);
/* Adds to the last error the driver's code. */
void cuai_error_code(int32_t driver_code);

/* Adds text to the last error's message. */
void cuai_error_add(const char *format, ...) CUAI_NOINLINE CUAI_PRINTF(1, 2);

/* Sets the last error aside, whole, and makes it the last error again. */
typedef struct cuai_kept_error {
    cuarena_error_info_t error;
    bool unlogged;
} cuai_kept_error_t;
void cuai_error_keep(cuai_kept_error_t *kept);
void cuai_error_restore(const cuai_kept_error_t *kept);

/* Whether the log was not told of the last error yet; from now on it was. */
bool cuai_error_is_unlogged(void);

/* Copies a text, as far as whole characters have room, with control bytes as \x1b and the like; how
 * long the copy is. `room` is not 0. */
size_t cuai_text_plain(char *to, size_t room, const char *from);

#endif
