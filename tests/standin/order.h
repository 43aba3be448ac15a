/*
 * Order of accesses: for each stretch of bytes, who wrote it last and who has read it since. An
 * access that does not come after the ones it conflicts with is reported, with both units of work.
 */
#ifndef CUARENA_STANDIN_ORDER_H
#define CUARENA_STANDIN_ORDER_H

#include "clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_work;

typedef struct sd_toucher {
    sd_tick_t tick;
    const char *call;
} sd_toucher_t;

/* One stretch. Stretches are sorted and do not overlap; bytes between them
 * were touched by nobody. */
typedef struct sd_mark {
    uint64_t begin;
    uint64_t end;
    sd_toucher_t writer;
    sd_toucher_t *readers; /* since the writer, one per line at most */
    uint32_t reader_count;
} sd_mark_t;

typedef struct sd_marks {
    sd_mark_t *list;
    size_t count;
    size_t room;
    size_t swept; /* how many the last sweep left */
} sd_marks_t;

/* Notes an access of a unit of work (NULL: of the host, now) and reports what it is not ordered
 * after. `address` is what the report calls offset 0. */
void sd_marks_touch(sd_marks_t *marks, const struct sd_work *work, uint64_t begin, uint64_t end,
                    bool writes, uint64_t address);
/* Notes it without a look at the order. */
void sd_marks_note(sd_marks_t *marks, const struct sd_work *work, uint64_t begin, uint64_t end,
                   bool writes);
/* Whether some access of the range was not seen complete by the host; gives one such. */
bool sd_marks_unseen(const sd_marks_t *marks, uint64_t begin, uint64_t end, sd_toucher_t *toucher);
void sd_marks_free(sd_marks_t *marks);

#endif
