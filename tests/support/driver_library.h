/*
 * The library of the driver that a test program runs on: the stand-in or a real one. Programs are
 * the same for both; what only the stand-in can do is skipped on the real.
 *
 * What the driver's calls look like is said twice: driver_under_test.h has them as the driver's own
 * header does, for tests of the stand-in; cuda_test.h as the library does, for tests of that.
 *
 * A program's main asks for driver_kind() and ends with driver_result(). The library is opened at
 * the first call of any other function in a process, so tests may fork before, and see how the
 * library opens it.
 */
#ifndef CUARENA_TEST_DRIVER_LIBRARY_H
#define CUARENA_TEST_DRIVER_LIBRARY_H

#include "standin/standin.h"

#include <stdbool.h>
#include <stddef.h>

#define STANDIN_CALLS(X)                                                                           \
    X(standin_version)                                                                             \
    X(standin_report_count)                                                                        \
    X(standin_report_kind)                                                                         \
    X(standin_report_text)                                                                         \
    X(standin_reports_clear)                                                                       \
    X(standin_report_enable)                                                                       \
    X(standin_report_print)                                                                        \
    X(standin_configure)                                                                           \
    X(standin_seed)                                                                                \
    X(standin_bracket_begin)                                                                       \
    X(standin_bracket_end)                                                                         \
    X(standin_calls)                                                                               \
    X(standin_syncs)                                                                               \
    X(standin_counts_clear)                                                                        \
    X(standin_fail)                                                                                \
    X(standin_fail_any)                                                                            \
    X(standin_fail_clear)                                                                          \
    X(standin_failed)                                                                              \
    X(standin_delay)                                                                               \
    X(standin_hold)                                                                                \
    X(standin_held)                                                                                \
    X(standin_lose_device)                                                                         \
    X(standin_run)                                                                                 \
    X(standin_pending)                                                                             \
    X(standin_moment)                                                                              \
    X(standin_is_after)                                                                            \
    X(standin_host_access)                                                                         \
    X(standin_check_leaks)                                                                         \
    X(standin_live)                                                                                \
    X(standin_device_used)                                                                         \
    X(standin_register_kernel)

/* The control functions, by their names: standin->standin_fail(...). */
typedef struct standin_control {
#define STANDIN_MEMBER(name) __typeof__(&name) name;
    STANDIN_CALLS(STANDIN_MEMBER)
#undef STANDIN_MEMBER
} standin_control_t;

/* ---- Whether there is one ---------------------------------------------- */

typedef enum driver_kind {
    DRIVER_NONE, /* or it has no device */
    DRIVER_STANDIN,
    DRIVER_REAL
} driver_kind_t;

/* Found out in a process of its own, so that this one has opened nothing. */
driver_kind_t driver_kind(void);
/* How many devices that driver had. */
int driver_device_count(void);
/* Whether tests that are about the stand-in can run, or such that want two devices, which the
 * stand-in can be told to have. Where they cannot, prints that `tests` are left out. */
bool driver_is_standin_for(const char *tests);
bool driver_has_two_devices_for(const char *tests);
/* What main returns: `result` of what was run, or, where a driver was wanted and there is none, 77,
 * "skipped"; with CUARENA_REQUIRE_GPU=1 a failure. */
int driver_result(driver_kind_t kind, int result);

/* ---- Its functions ----------------------------------------------------- */

/* A function of the library, into *member; false and NULL if it has none, or could not be opened.
 * Does not initialise the driver. */
bool driver_symbol(const char *name, void *member);
/* The control functions; NULL: the driver is a real one, or there is none. */
const standin_control_t *driver_standin(void);
/* The same, for programs that found it out by standin_is_here or a fixture. */
extern const standin_control_t *standin;

/* Brackets and reports, which on a real driver do nothing and count 0. */
void driver_bracket_begin(unsigned rules, const char *what);
size_t driver_bracket_end(void);
size_t driver_reports(standin_kind_t kind);
void driver_reports_clear(void);

#endif
