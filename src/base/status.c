#include <stddef.h>

#include "cuarena/base.h"

typedef struct status_row {
    const char *name;
    const char *text;
} status_row_t;

#define ROW(status, sentence) [status] = {#status, sentence}

static const status_row_t rows[] = {
    ROW(CUARENA_OK, "Done."),
    ROW(CUARENA_BAD_ARGUMENT, "The call is wrong as written; the program must change."),
    ROW(CUARENA_OUT_OF_MEMORY, "Not enough bytes are left, in the arena or in the host's memory."),
    ROW(CUARENA_FRAGMENTED, "Enough bytes are free but apart; compaction with that goal helps."),
    ROW(CUARENA_LIMIT, "A limit stands in the way: the caller's own, or one of the library."),
    ROW(CUARENA_NO_DEVICE, "There is no usable device."),
    ROW(CUARENA_DRIVER, "The driver or the operating system refused."),
    ROW(CUARENA_LOST, "The arena is lost after an earlier failure; only free, "
                      "queries and destroy still work."),
    ROW(CUARENA_UNSUPPORTED, "This memory, preset or build does not offer what was asked."),
    ROW(CUARENA_STALE, "The pointer or id names nothing that lives in this arena."),
    ROW(CUARENA_BUSY, "Something is still in use; end that use first."),
    ROW(CUARENA_REENTERED, "The call is not legal in the callback that made it."),
    ROW(CUARENA_CORRUPT, "The bookkeeping is damaged, by a bug or by a stray write."),
};

#define ROW_COUNT ((cuarena_status_t)(sizeof rows / sizeof rows[0]))

static const status_row_t unknown = {"CUARENA_UNKNOWN",
                                     "This is no status that this version knows."};

static const status_row_t *row_of(cuarena_status_t status)
{
    return status >= 0 && status < ROW_COUNT ? &rows[status] : &unknown;
}

const char *cuarena_status_name(cuarena_status_t status)
{
    return row_of(status)->name;
}

const char *cuarena_status_text(cuarena_status_t status)
{
    return row_of(status)->text;
}

#define TEXT_OF(macro) TEXT(macro)
#define TEXT(token) #token

const char *cuarena_version_string(void)
{
    return TEXT_OF(CUARENA_VERSION_MAJOR) "." TEXT_OF(CUARENA_VERSION_MINOR) "." TEXT_OF(
        CUARENA_VERSION_PATCH);
}
