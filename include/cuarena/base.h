/*
 * What every part of the public API shares: version, status, the last error
 * of a thread, the log.
 *
 * Conventions of the whole API
 *   - A call that can fail returns a cuarena_status_t. Outputs come last and
 *     are written only on success. Where one is written by a call that fails
 * its comment says so: the size that a text needs, what is wrong with a heap.
 *     Of an array that is too short, or whose call fails, any part may be
 *     written; its count is not.
 *   - Sizes and addresses are bytes in 64 bits. Nothing is rounded, capped or
 *     replaced silently: what cannot be had as asked is an error, or what comes
 *     instead is said where it is asked for and can be asked for afterwards.
 *   - A struct, in or out, begins with `struct_size`, set by its _init
 *     function; the library touches no more of it than that. Structs that are
 *     elements of arrays ("frozen") have no such member and never change.
 *   - Kinds and statuses are int32_t with named constants.
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
 * What a call came to, grouped by what the caller can do about it. A failed call leaves every block
 * as it was, with its contents, place and size, and every output. What it leaves besides, its
 * description says: a request that is refused, what was tried for it (oom.h).
 */
typedef int32_t cuarena_status_t;

/* Done. */
#define CUARENA_OK 0
/* The call is wrong as written: fix the program. */
#define CUARENA_BAD_ARGUMENT 1
/* Not enough bytes are left, in the arena or in the host's own memory. */
#define CUARENA_OUT_OF_MEMORY 2
/* Enough bytes are free but not together: compaction would serve it. */
#define CUARENA_FRAGMENTED 3
/* A limit stands in the way: the caller's own, or one that the header names. */
#define CUARENA_LIMIT 4
/* No usable device; the message says why. */
#define CUARENA_NO_DEVICE 5
/* The driver or the operating system refused; see driver_code. */
#define CUARENA_DRIVER 6
/* The arena is lost after an earlier failure: free, query and destroy only. */
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
 * Why the last failing call of this thread failed. Members that do not apply are 0. A successful
 * call leaves it as it is.
 */
typedef struct cuarena_error_info {
    size_t struct_size;
    cuarena_status_t status;
    int32_t driver_code;     /* errno, the driver's code, or what a caller's own
                              * memory answered; 0 if none */
    uint64_t asked_bytes;    /* what the call asked for */
    uint64_t limit_bytes;    /* the limit or capacity that it met */
    uint64_t reserved_bytes; /* what the arena held from its memory */
    uint64_t free_bytes;     /* free in the region asked, and what a trimmed pool
                              * may take again; of create, what the memory had
                              * available */
    uint64_t largest_bytes;  /* the largest free range there, exact */
    char message[256];       /* one line: the value, what would be accepted */
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

/* Gets one line, without a newline, valid during the call only. Called with
 * no lock held, from whichever thread logs; lines that its own calls of the library would make are
 * left out. It must return: not by longjmp, nor by an exception. */
typedef void (*cuarena_log_fn)(void *user, int32_t level, const char *line);

/*
 * The process-wide log level, CUARENA_LOG_OFF by default (or what the environment's CUARENA_LOG
 * says at first use: off, error, warn, info,
 * debug; any other word is off, and is told once, as an error).
 *
 *   error  each call that does not return OK, once, with its message, but for
 *          the end of an enumeration and STALE of cuarena_retire; what an arena
 *          overcame on its way is none. And what nobody is returned: a device
 *          that is lost as bytes are given back.
 *   warn   what is probably not meant, such as options that are passed over.
 *   info   what an arena does as a whole: create, destroy, reset, trim,
 *          compact, resize_pool, the end of cached blocks; resizes of blocks.
 *   debug  every allocation and every free, with bytes, address, id and tag;
 *          growth; the steps of running out.
 *
 * Each is one line: control bytes in names, tags and texts of the caller are written as \x0a and
 * the like, in messages of errors too. The calls of heap.h log nothing. Any thread. In a forked
 * child a new level reaches the arenas that are made there. Cost: every arena's lock is taken once;
 * at level debug no call is short any more, at info no resize.
 */
CUARENA_API cuarena_status_t cuarena_log_set_level(int32_t level);
CUARENA_API int32_t cuarena_log_level(void);
/* NULL: back to the default, which writes to stderr. Set it before other threads log; a line being
 * delivered may still reach the old function. */
CUARENA_API void cuarena_log_set_callback(cuarena_log_fn callback, void *user);

#ifdef __cplusplus
}
#endif

#endif
