/* The report of live blocks: by tag, and by the place of their allocation. */
#include <stdio.h>
#include <stdlib.h>

#include "api/call.h"
#include "arena/counts.h"
#include "arena/watch.h"
#include "base/system.h"

#define MOST_TAGS 16
#define MOST_SITES 8
#define LINE_SIZE 320

/* A live block, as it was under the lock. */
typedef struct leak {
    cuarena_block_t block;
    uint64_t address;
    uint64_t bytes;  /* requested */
    uint64_t number; /* of its allocation; 0: not known */
    uint64_t born_ms;
    const char *tag; /* NULL: none */
    uint32_t frame_count;
    void *frames[CUAI_MOST_FRAMES];
} leak_t;

/* Leaks that have something in common: a part of the list. */
typedef struct group {
    const leak_t *oldest;
    uint64_t blocks;
    uint64_t bytes;
} group_t;

typedef struct report {
    const cuarena_t *arena;
    leak_t *leaks;
    group_t *groups; /* room for one for each leak */
    size_t count;
    uint64_t allocations; /* until the list was made */
    cuarena_line_fn line;
    void *user;
} report_t;

/* ---- The list ---------------------------------------------------------- */

static void note(const cuarena_t *arena, cuai_block_ref_t ref, leak_t *leak)
{
    const cuai_record_t *r = cuai_block_record(ref);
    cuarena_tag_t tag = cuai_tag_of(r);
    *leak = (leak_t){.block = cuai_id(ref.heap, ref.slot),
                     .address = cuai_user_address(arena, r),
                     .bytes = cuai_requested(r),
                     .tag = tag == 0 ? NULL : arena->tags[tag].name};
    const cuai_watched_t *one = arena->watch == NULL ? NULL : cuai_watch_find(arena, leak->block);
    if (one == NULL)
        return;
    CUAI_ASSERT(one->frame_count <= CUAI_MOST_FRAMES);
    leak->number = one->number;
    leak->born_ms = one->born_ms;
    leak->frame_count = one->frame_count;
    memcpy(leak->frames, one->frames, one->frame_count * sizeof(void *));
}

static cuarena_status_t list(const cuarena_t *arena, report_t *report)
{
    cuai_assert_locked(arena);
    cuai_block_ref_t ref;
    uint64_t cursor = 0;
    size_t most = cuai_whole_counts(arena).live_blocks + 1;
    report->leaks = cuai_host_alloc_unzeroed(most * sizeof *report->leaks);
    report->groups = cuai_host_alloc_unzeroed(most * sizeof *report->groups);
    if (report->leaks == NULL || report->groups == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory to list %zu blocks", most - 1);
    while (cuai_find_next(arena, &cursor, &ref))
        note(arena, ref, &report->leaks[report->count++]);
    CUAI_ASSERT(report->count < most);
    report->allocations = arena->watch == NULL ? 0 : arena->watch->allocations;
    return CUARENA_OK;
}

/* ---- Groups ------------------------------------------------------------ */

static int by_tag(const void *a, const void *b)
{
    const leak_t *one = a;
    const leak_t *other = b;
    uintptr_t tag = (uintptr_t)one->tag;
    uintptr_t other_tag = (uintptr_t)other->tag;
    if (tag != other_tag)
        return tag < other_tag ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

static bool same_tag(const leak_t *one, const leak_t *other)
{
    return one->tag == other->tag;
}

static int compare_sites(const leak_t *one, const leak_t *other)
{
    if (one->frame_count != other->frame_count)
        return one->frame_count < other->frame_count ? -1 : 1;
    return memcmp(one->frames, other->frames, one->frame_count * sizeof(void *));
}

static int by_site(const void *a, const void *b)
{
    return compare_sites(a, b);
}

static bool same_site(const leak_t *one, const leak_t *other)
{
    return compare_sites(one, other) == 0;
}

static int by_bytes(const void *a, const void *b)
{
    const group_t *one = a;
    const group_t *other = b;
    return one->bytes > other->bytes ? -1 : one->bytes < other->bytes;
}

static int by_blocks(const void *a, const void *b)
{
    const group_t *one = a;
    const group_t *other = b;
    return one->blocks > other->blocks ? -1 : one->blocks < other->blocks;
}

/* Sorts the leaks, and makes a group of each run of the same; how many these are. */
static size_t group(report_t *report, int (*order)(const void *, const void *),
                    bool (*same)(const leak_t *, const leak_t *))
{
    size_t count = 0;
    qsort(report->leaks, report->count, sizeof *report->leaks, order);
    for (size_t i = 0; i < report->count; i++) {
        const leak_t *leak = &report->leaks[i];
        if (i == 0 || !same(leak, leak - 1))
            report->groups[count++] = (group_t){leak, 0, 0};
        report->groups[count - 1].blocks++;
        report->groups[count - 1].bytes += leak->bytes;
    }
    return count;
}

/* ---- Lines ------------------------------------------------------------- */

static void tell(const report_t *report, const char *text)
{
    if (report->line != NULL)
        report->line(report->user, text);
    else
        cuai_log(CUARENA_LOG_WARN, "%s: %s", report->arena->label, text);
}

static void tell_more(const report_t *report, size_t count, size_t most, const char *what)
{
    char text[LINE_SIZE];
    if (count <= most)
        return;
    (void)snprintf(text, sizeof text, "... and %zu more %s", count - most, what);
    tell(report, text);
}

static void tell_tag(const report_t *report, const group_t *tag)
{
    char text[LINE_SIZE];
    char age[96] = "";
    char name[CUAI_SHOWN + sizeof("...")];
    const leak_t *oldest = tag->oldest;
    CUAI_ASSERT(tag->blocks != 0 && oldest->number <= report->allocations);
    if (oldest->number != 0)
        (void)snprintf(age, sizeof age, ", %llu allocations and %llu ms old",
                       (unsigned long long)(report->allocations - oldest->number),
                       (unsigned long long)(cuai_system_ms() - oldest->born_ms));
    (void)snprintf(text, sizeof text,
                   "tag '%s': %llu blocks of %llu bytes; %s: block %#llx at %#llx, %llu bytes%s",
                   oldest->tag == NULL ? "none" : cuai_shown(oldest->tag, 40, name),
                   (unsigned long long)tag->blocks, (unsigned long long)tag->bytes,
                   oldest->number != 0 ? "the oldest" : "one", (unsigned long long)oldest->block,
                   (unsigned long long)oldest->address, (unsigned long long)oldest->bytes, age);
    tell(report, text);
}

static void tell_tags(report_t *report)
{
    size_t count = group(report, by_tag, same_tag);
    qsort(report->groups, count, sizeof *report->groups, by_bytes);
    for (size_t i = 0; i < count && i < MOST_TAGS; i++)
        tell_tag(report, &report->groups[i]);
    tell_more(report, count, MOST_TAGS, "tags");
}

static void tell_site(const report_t *report, const group_t *site)
{
    char text[LINE_SIZE];
    char frame[CUAI_FRAME_TEXT];
    (void)snprintf(text, sizeof text, "%llu blocks of %llu bytes were allocated by",
                   (unsigned long long)site->blocks, (unsigned long long)site->bytes);
    tell(report, text);
    for (uint32_t i = 0; i < site->oldest->frame_count; i++) {
        cuai_stack_print(site->oldest->frames[i], frame);
        (void)snprintf(text, sizeof text, "  #%u %s", (unsigned)i, frame);
        tell(report, text);
    }
}

static void tell_sites(report_t *report)
{
    size_t count = group(report, by_site, same_site);
    qsort(report->groups, count, sizeof *report->groups, by_blocks);
    for (size_t i = 0; i < count && i < MOST_SITES; i++)
        tell_site(report, &report->groups[i]);
    tell_more(report, count, MOST_SITES, "places");
}

static void tell_all(report_t *report)
{
    char text[LINE_SIZE];
    uint64_t bytes = 0;
    for (size_t i = 0; i < report->count; i++)
        bytes += report->leaks[i].bytes;
    (void)snprintf(text, sizeof text, "%zu blocks of %llu bytes live", report->count,
                   (unsigned long long)bytes);
    tell(report, text);
    tell_tags(report);
    if (report->arena->config.stacks != 0)
        tell_sites(report);
}

/* ---- The call ---------------------------------------------------------- */

cuarena_status_t cuai_report_leaks(cuarena_t *arena, cuarena_line_fn line, void *user)
{
    CUAI_ASSERT(arena->inside != 0);
    report_t report = {.arena = arena, .line = line, .user = user};
    cuarena_status_t status = list(arena, &report);
    cuai_unlock(&arena->lock);
    if (status == CUARENA_OK)
        tell_all(&report);
    cuai_host_free(report.leaks);
    cuai_host_free(report.groups);
    cuai_arena_lock(arena);
    return status;
}

cuarena_status_t cuarena_report_leaks(cuarena_t *arena, cuarena_line_fn line, void *user)
{
    cuai_call_t call;
    cuarena_status_t status = cuai_call_begin(&call, arena, "it", 0);
    if (status != CUARENA_OK)
        return status;
    return cuai_call_end(&call, cuai_report_leaks(arena, line, user));
}
