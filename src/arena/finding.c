/* Findings: their messages. */
#include "arena/finding.h"

#include <stdio.h>

#include "arena/arena.h"
#include "base/log.h"
#include "base/system.h"

void cuai_finding_make(const cuarena_t *arena, cuai_block_ref_t ref, int where, uint64_t address,
                       const cuai_damage_t *damage, cuai_finding_t *finding_out)
{
    const cuai_record_t *r = cuai_block_record(ref);
    const cuai_watched_t *one = cuai_watch_find(arena, cuai_id(ref.heap, ref.slot));
    cuarena_tag_t tag = cuai_tag_of(r);
    uint64_t begin = cuai_user_address(arena, r);
    uint64_t first = address + damage->first;
    CUAI_ASSERT(one != NULL);
    *finding_out = (cuai_finding_t){.where = where,
                                    .damage = *damage,
                                    .block = one->block,
                                    .address = begin,
                                    .requested = cuai_requested(r),
                                    .tag = tag == 0 ? NULL : arena->tags[tag].name,
                                    .age = arena->watch->allocations - one->number,
                                    .age_ms = cuai_system_ms() - one->born_ms,
                                    .frame_count = one->frame_count};
    memcpy(finding_out->frames, one->frames, one->frame_count * sizeof(void *));
    if (where == CUAI_FOUND_BEFORE)
        finding_out->distance = begin - (address + damage->last) - 1;
    else if (where == CUAI_FOUND_BEHIND)
        finding_out->distance = first - (begin + cuai_requested(r));
    else
        finding_out->distance = first < begin ? begin - first : first - begin;
    finding_out->below = first < begin;
}

/* "was written 3 bytes behind its end". */
static void print_place(const cuai_finding_t *finding, char *text, size_t room)
{
    unsigned long long distance = finding->distance;
    if (finding->where == CUAI_FOUND_BEFORE)
        (void)snprintf(text, room, "the bytes before it were written, %llu bytes from its begin",
                       distance);
    else if (finding->where == CUAI_FOUND_BEHIND)
        (void)snprintf(text, room, "the bytes behind it were written, %llu bytes from its end",
                       distance);
    else
        (void)snprintf(text, room, "it was written after its free, %llu bytes %s its begin",
                       distance, finding->below ? "before" : "behind");
}

static void print_bytes(const cuai_damage_t *damage, char *text, size_t room)
{
    size_t used = 0;
    for (uint32_t i = 0; i < damage->count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, " %02x", damage->bytes[i]);
}

static void set_error(const cuai_finding_t *finding)
{
    static const char *const wanted[] = {
        [CUAI_FOUND_BEFORE] = "fd", [CUAI_FOUND_BEHIND] = "fd", [CUAI_FOUND_FREED] = "dd"};
    char place[96];
    char bytes[3 * CUAI_FOUND_BYTES + 1] = "";
    char name[CUAI_SHOWN + sizeof("...")];
    const char *tag = finding->tag == NULL ? "none" : cuai_shown(finding->tag, 40, name);
    print_place(finding, place, sizeof place);
    print_bytes(&finding->damage, bytes, sizeof bytes);
    (void)cuai_fail(CUARENA_CORRUPT,
                    "block %#llx at %#llx, %llu bytes, tag '%s', %llu allocations and %llu ms old: "
                    "%s: found%s, not %s",
                    (unsigned long long)finding->block, (unsigned long long)finding->address,
                    (unsigned long long)finding->requested, tag, (unsigned long long)finding->age,
                    (unsigned long long)finding->age_ms, place, bytes, wanted[finding->where]);
}

/* Tells the log who allocated the block. Called without the lock. */
static void log_stack(const cuarena_t *arena, const cuai_finding_t *finding)
{
    for (uint32_t i = 0; i < finding->frame_count; i++) {
        char text[CUAI_FRAME_TEXT];
        cuai_stack_print(finding->frames[i], text);
        cuai_log(CUARENA_LOG_ERROR, "%s: block %#llx: allocated by #%u %s", arena->label,
                 (unsigned long long)finding->block, (unsigned)i, text);
    }
}

void cuai_finding_tell(cuarena_t *arena, const cuai_finding_t *finding)
{
    cuai_assert_locked(arena);
    arena->watch->findings++;
    set_error(finding);
    cuai_unlock(&arena->lock);
    (void)cuai_log_error(arena->label, CUARENA_CORRUPT);
    log_stack(arena, finding);
    cuai_arena_lock(arena);
}
