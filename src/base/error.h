/*
 * The last error of a thread. Whoever first sees a failure records it here and returns its status
 * in one statement:
 *
 *   return cuai_fail(CUARENA_BAD_ARGUMENT, "size: 0, from 1 on is accepted");
 *
 * A message names what was given, then what would be accepted; no full stop.
 * It is one line: control bytes in the caller's texts are escaped. All of this is legal with locks
 * held, since nothing is logged and nobody is called. The public call that returns the status logs
 * it: cuai_told.
 */
#ifndef CUAI_BASE_ERROR_H
#define CUAI_BASE_ERROR_H

#include <stdbool.h>

#include "base/compiler.h"
#include "cuarena/base.h"

/* These set the last error and return its status. Members that do not apply become 0. */
cuarena_status_t cuai_fail(cuarena_status_t status, const char *format, ...) CUAI_NOINLINE
    CUAI_PRINTF(2, 3);

cuarena_status_t cuai_fail_bytes(cuarena_status_t status, uint64_t asked_bytes,
                                 uint64_t limit_bytes, uint64_t reserved_bytes, uint64_t free_bytes,
                                 uint64_t largest_bytes, const char *format, ...) CUAI_NOINLINE
    CUAI_PRINTF(7, 8);

/* CUARENA_DRIVER with an errno or the driver's code. */
cuarena_status_t cuai_fail_driver(int32_t driver_code, const char *format, ...) CUAI_NOINLINE
    CUAI_PRINTF(2, 3);

/* BAD_ARGUMENT for a struct that is NULL or has a struct_size of no release. */
cuarena_status_t cuai_fail_struct(const char *what, const void *sized) CUAI_NOINLINE;

/* Sets how many bytes were asked for in the last error. */
void cuai_error_asked(uint64_t bytes);
/* Sets the driver's code in the last error. */
void cuai_error_code(int32_t driver_code);

/* Adds text to the last error's message. */
void cuai_error_add(const char *format, ...) CUAI_NOINLINE CUAI_PRINTF(1, 2);

/* Copies of the last error, to be restored after calls that may set another. */
typedef struct cuai_kept_error {
    cuarena_error_info_t error;
    bool unlogged;
} cuai_kept_error_t;
cuai_kept_error_t cuai_error_kept(void);
void cuai_error_restore(const cuai_kept_error_t *kept);

/* Of several steps that each may fail, the first failure with its words; BUSY is none. If there is
 * none, the end leaves the last error as it was at the begin. */
typedef struct cuai_first_error {
    cuarena_status_t status;
    cuai_kept_error_t words;
} cuai_first_error_t;
cuai_first_error_t cuai_first_begin(void);
void cuai_first_note(cuai_first_error_t *first, cuarena_status_t status);
cuarena_status_t cuai_first_end(const cuai_first_error_t *first);

/* Whether the last error has that status. */
bool cuai_error_is(cuarena_status_t status);

/* Whether the last error was not logged yet; from now on it counts as logged. */
bool cuai_error_is_unlogged(void);

/* What a message shows of a text of the caller's that may be long: the text itself, or the first
 * `most` bytes, in whole characters, and "..." in `room`. `most` is at most CUAI_SHOWN. */
#define CUAI_SHOWN 64
const char *cuai_shown(const char *text, size_t most, char room[CUAI_SHOWN + sizeof("...")]);

/* Copies a text, as far as there is room for whole characters, with control bytes as \x1b and the
 * like; returns the length of the copy. `room` is not 0. */
size_t cuai_text_plain(char *to, size_t room, const char *from);

#endif
