/*
 * What every part of the public API shares: version, status, the last error of a thread, the log.
 *
 * Conventions of the whole API
 *   - A call that can fail returns a cuarena_status_t. Outputs come last and
 *     are written only on success; an output that a failing call writes, such
 *     as the size that a text needs, says so. When a call fails, or the
 *     array is too short, any part of an array may be written; its count is
 *     not.
 *   - Sizes and addresses are bytes in 64 bits. Nothing is rounded, capped or
 *     replaced silently: what cannot be had as asked is an error, or the
 *     comment says what comes instead, and a call tells it afterwards.
 *   - A struct, in or out, begins with `struct_size`, which its _init function
 *     sets; the library touches no more bytes than that. A struct that is
 *     "frozen", such as the element of an array, has no such member and never
 *     changes.
 *   - A member named `zero` is to be 0.
 *   - Kinds and statuses are int32_t with named constants.
 *   - Texts and arrays that are passed in stay the caller's, and are not read
 *     after the call unless its comment says so.
 */
#ifndef CUARENA_BASE_H
#define CUARENA_BASE_H

#include <stddef.h>
#include <stdint.h>

/* The one source of the version; the build system reads these lines. */
#define CUARENA_VERSION_MAJOR 0
#define CUARENA_VERSION_MINOR 1
#define CUARENA_VERSION_PATCH 0

#if defined(__GNUC__)
#define CUARENA_API __attribute__((visibility("default")))
#else
#define CUARENA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* An arena: see arena.h. */
typedef struct cuarena_arena cuarena_t;

/* "0.1.0": the version of the library that runs, which may be newer than the header that was
 * compiled. Never fails; static text. */
CUARENA_API const char *cuarena_version_string(void);

/* ---- Status ------------------------------------------------------------ */

/*
 * The result of a call; statuses differ by what the caller can do about them. A failed call leaves
 * every block as it was, with its contents, place and size, and every output. If it leaves traces
 * its comment says so; for a request that is refused oom.h does, of blocks too that
 * compact_on_oom had moved before.
 */
typedef int32_t cuarena_status_t;

/* Done. */
#define CUARENA_OK 0
/* An argument is wrong: fix the program. */
#define CUARENA_BAD_ARGUMENT 1
/* Not enough bytes are left, in the arena or in the host's own memory. */
#define CUARENA_OUT_OF_MEMORY 2
/* Enough bytes are free, but not together: compaction with that goal makes room. Or they are those
 * of a stream that is being captured, until that has ended. */
#define CUARENA_FRAGMENTED 3
/* A limit stands in the way: the caller's own, or one that the header names. */
#define CUARENA_LIMIT 4
/* No usable device; the message says why. */
#define CUARENA_NO_DEVICE 5
/* The driver or the operating system refused; see driver_code. */
#define CUARENA_DRIVER 6
/* The arena is lost after an earlier failure, which the message has: only free, query and destroy
 * it. */
#define CUARENA_LOST 7
/* Not offered by this memory, preset or build (only where documented). */
#define CUARENA_UNSUPPORTED 8
/* The pointer or id names nothing live here: freed, moved on, or foreign. */
#define CUARENA_STALE 9
/* Something is still in use; end that use and try again. */
#define CUARENA_BUSY 10
/* Called from a callback in which this call is not legal, or from a signal handler that interrupted
 * this thread in a call. */
#define CUARENA_REENTERED 11
/* The bookkeeping is damaged (validators only): a bug, or a stray write. */
#define CUARENA_CORRUPT 12

/* "CUARENA_FRAGMENTED" and the like, or "CUARENA_UNKNOWN". Static text. */
CUARENA_API const char *cuarena_status_name(cuarena_status_t status);
/* One sentence that says what the status means. Static text. */
CUARENA_API const char *cuarena_status_text(cuarena_status_t status);

/* ---- The last error ---------------------------------------------------- */

/*
 * Why the last failing call of this thread failed, as one line that names what was given and what
 * would be accepted; "" if none failed yet. Never NULL. A successful call leaves it as it is.
 *
 * The text belongs to the thread: it is good until the thread's next failing call, or its end, and
 * is not freed. Each thread has its own.
 */
CUARENA_API const char *cuarena_last_error(void);

/* Why the last failing call of this thread failed, with the numbers. Members that do not apply are
 * 0. */
typedef struct cuarena_error_info {
    size_t struct_size;
    cuarena_status_t status;
    int32_t driver_code;     /* errno, the driver's code, or what a caller's own
                              * memory answered; 0 if none */
    uint64_t asked_bytes;    /* what the call asked for */
    uint64_t limit_bytes;    /* the limit or capacity that stood in the way */
    uint64_t reserved_bytes; /* what the arena had taken from its memory */
    uint64_t free_bytes;     /* what was free in the region and the request could
                              * use, and what a trimmed pool may take again; of
                              * cuarena_create, what the memory had available */
    uint64_t largest_bytes;  /* the largest free range there, exact */
    char message[512];       /* one line: the value, and what would be accepted; ends
                              * in "..." if it was longer */
} cuarena_error_info_t;

CUARENA_API void cuarena_error_info_init(cuarena_error_info_t *info);
/* Copies this thread's last error; BAD_ARGUMENT for NULL or a struct_size
 * that no version of the library has had. */
CUARENA_API cuarena_status_t cuarena_last_error_info(cuarena_error_info_t *info);

/* ---- The log ----------------------------------------------------------- */

#define CUARENA_LOG_OFF 0
#define CUARENA_LOG_ERROR 1
#define CUARENA_LOG_WARN 2
#define CUARENA_LOG_INFO 3
#define CUARENA_LOG_DEBUG 4

/* Gets one line, without a newline, which is valid during the call only. It is called with no lock
 * held, by whichever thread logs; its own calls of the library log nothing. It must return, rather
 * than leave by longjmp or an exception. */
typedef void (*cuarena_log_fn)(void *user, int32_t level, const char *line);

/*
 * Sets the log level of the process. It is CUARENA_LOG_OFF at first, or what CUARENA_LOG in the
 * environment says when the log is first used: off, error, warn, info or debug; any other word is
 * off, and is logged once as an error.
 *
 *   error  each call that does not return OK, once, with its message, but for
 *          the end of an enumeration, STALE of cuarena_retire, and what
 *          cuarena_last_error_info refuses, since the last error stays. What
 *          failed on the way of a call that returned OK is not logged. Failures
 *          that no call returns are: a device that is lost while bytes are
 *          given back, and what loses an arena in a call that is OK, such as
 *          a free.
 *   warn   what is probably not meant, such as options that are passed over.
 *   info   what an arena does as a whole: create, destroy, reset, trim,
 *          compact, resize_pool, the end of cached blocks; resizes of blocks.
 *   debug  every allocation and every free, with bytes, address, id and tag;
 *          growth; the steps before a request is refused (oom.h).
 *
 * Each is one line: control bytes in names, tags and other texts of the caller are written as \x0a
 * and the like, also in messages of errors. The calls of heap.h log nothing. Any thread may call
 * this. In a forked child a new level reaches only the arenas that are made there. Cost: every
 * arena's lock is taken once; at level debug every call takes the slow path, at info every resize.
 */
CUARENA_API cuarena_status_t cuarena_log_set_level(int32_t level);
CUARENA_API int32_t cuarena_log_level(void);
/* Sets the function that gets the lines; NULL: the default, which writes them to stderr. Set it
 * before other threads log; a line that is being delivered may still reach the old function. */
CUARENA_API void cuarena_log_set_callback(cuarena_log_fn callback, void *user);

#ifdef __cplusplus
}
#endif

#endif
