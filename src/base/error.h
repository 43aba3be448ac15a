/*
 * The last error of a thread. Whoever first sees a failure records it here and
 * returns its status in the same breath:
 *
 *   return cuai_fail(CUARENA_BAD_ARGUMENT, "size: 0, from 1 on is accepted");
 *
 * A message names what was given, then what would be accepted; no full stop.
 * Legal with locks held: nothing is logged and nobody is called.
 */
#ifndef CUAI_BASE_ERROR_H
#define CUAI_BASE_ERROR_H

#include "base/compiler.h"
#include "cuarena/base.h"

/* All return their status. What does not apply becomes 0. */
cuarena_status_t cuai_fail(cuarena_status_t status, const char *format,
                           ...) CUAI_NOINLINE CUAI_PRINTF(2, 3);

cuarena_status_t cuai_fail_bytes(cuarena_status_t status, uint64_t asked_bytes,
                                 uint64_t limit_bytes, uint64_t held_bytes,
                                 uint64_t free_bytes, uint64_t largest_bytes,
                                 const char *format, ...) CUAI_NOINLINE
    CUAI_PRINTF(7, 8);

/* CUARENA_DRIVER with an errno or the driver's code. */
cuarena_status_t cuai_fail_driver(int32_t driver_code, const char *format,
                                  ...) CUAI_NOINLINE CUAI_PRINTF(2, 3);

/* Adds to the last error what was asked for. */
void cuai_error_asked(uint64_t bytes);
/* Adds to the last error the driver's code. */
void cuai_error_code(int32_t driver_code);

/* Adds text to the last error's message. */
void cuai_error_add(const char *format, ...) CUAI_NOINLINE CUAI_PRINTF(1, 2);
/* Sets the last error aside, whole, and makes it the last error again. */
void cuai_error_keep(cuarena_error_info_t *kept);
void cuai_error_restore(const cuarena_error_info_t *kept);

/* The message of this thread's last error; "" if there was none. */
const char *cuai_error_message(void);

#endif
