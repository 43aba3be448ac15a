/*
 * Every public call on an arena: without an arena, without its output, and from a thread that is
 * inside the arena, such as in a handler of a signal that came while it had the lock.
 * tests/scripts/check_exports sees to it that none is missing.
 */
#define _GNU_SOURCE
#include "support/base_support.h"
#include "support/checks.h"
#include "support/configs.h"
#include "support/expect.h"

#include <cuarena.h>
#include <cuarena/cache.h>
#include <cuarena/capture.h>
#include <cuarena/device.h>
#include <cuarena/shared.h>
#include <cuarena/snapshot.h>
#include <cuarena/stats.h>
#include <cuarena/streams.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- The calls ----------------------------------------------------------- */

/* What the calls are given, and where they write. */
static struct {
    void *pointer;
    void *pointer_out;
    cuarena_block_t block;
    cuarena_block_t block_out;
    cuarena_tag_t tag;
    cuarena_tag_t tag_out;
    uint64_t number;
    size_t count;
    uint64_t cursor;
    const char *name;
    cuarena_mark_t mark;
    cuarena_stream_t stream_out;
    cuarena_stats_t stats;
    cuarena_cache_stats_t cache;
    cuarena_ort_stats_t ort;
    cuarena_inspection_t inspection;
    cuarena_properties_t properties;
    cuarena_driver_pool_stats_t pool;
    cuarena_block_info_t info;
    cuarena_peaks_t peaks;
    cuarena_capture_t *capture;
    cuarena_export_t *exported;
    cuarena_export_options_t options;
    _Alignas(256) char text[4096];
} the;

/* What a call needs. */
enum {
    OUTPUT = 1,  /* its output */
    NO_LOCK = 2, /* nothing that changes, so no lock */
};

#define STREAM ((cuarena_stream_t)(uintptr_t)0x1000)
#define ALL CUARENA_REGION_ALL
/* An output, unless the test leaves outputs out. */
#define OUT(member) (out ? &the.member : NULL)

static void ignore_pair(void *user, const char *key, const char *value)
{
    (void)user;
    (void)key;
    (void)value;
}

static int32_t ignore_bytes(void *user, const void *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    (void)size;
    return 0;
}

static void ignore_line(void *user, const char *line)
{
    (void)user;
    (void)line;
}

/* Name without cuarena_, what it needs, and the call; check_exports reads them here. */
#define EACH_CALL(X)                                                                               \
    X(retire, 0, cuarena_retire(arena, NULL, NULL))                                                \
    X(reset, 0, cuarena_reset(arena))                                                              \
    X(resize_pool, 0, cuarena_resize_pool(arena, MIB(2)))                                          \
    X(trim, 0, cuarena_trim(arena, 0, OUT(number)))                                                \
    X(set_limit, 0,                                                                                \
      cuarena_set_limit(arena, CUARENA_LIMIT_LIVE, (cuarena_amount_t){.value = MIB(1)},            \
                        OUT(number)))                                                              \
    X(get_limit, OUTPUT, cuarena_get_limit(arena, CUARENA_LIMIT_LIVE, OUT(number)))                \
    X(base, OUTPUT, cuarena_base(arena, OUT(pointer_out), OUT(number)))                            \
    X(block_alloc, OUTPUT, cuarena_block_alloc(arena, 8, OUT(block_out)))                          \
    X(block_alloc_with, OUTPUT, cuarena_block_alloc_with(arena, 8, NULL, OUT(block_out)))          \
    X(block_free, 0, cuarena_block_free(arena, the.block))                                         \
    X(block_resize, 0, cuarena_block_resize(arena, the.block, 4096))                               \
    X(block_pin, OUTPUT, cuarena_block_pin(arena, the.block, OUT(pointer_out)))                    \
    X(block_unpin, 0, cuarena_block_unpin(arena, the.block))                                       \
    X(block_of, OUTPUT, cuarena_block_of(arena, the.pointer, OUT(block_out)))                      \
    X(block_info, OUTPUT, cuarena_block_info(arena, the.block, OUT(info)))                         \
    X(blocks, OUTPUT, cuarena_blocks(arena, &the.cursor, &the.info, 1, OUT(count)))                \
    X(adopt, OUTPUT, cuarena_adopt(arena, the.text, 256, 0, OUT(block_out)))                       \
    X(cache_release, 0, cuarena_cache_release(arena, 0, OUT(number)))                              \
    X(cache_clear, 0, cuarena_cache_clear(arena, OUT(number)))                                     \
    X(cache_stats, OUTPUT, cuarena_cache_stats(arena, OUT(cache)))                                 \
    X(capture_begin, OUTPUT, cuarena_capture_begin(arena, STREAM, OUT(capture)))                   \
    X(capture_join, 0, cuarena_capture_join(arena, the.capture, STREAM))                           \
    X(capture_end, 0, cuarena_capture_end(arena, the.capture))                                     \
    X(capture_release, 0, cuarena_capture_release(arena, OUT(capture), STREAM))                    \
    X(capture_stats, OUTPUT, cuarena_capture_stats(arena, the.capture, OUT(stats)))                \
    X(check, 0, cuarena_check(arena, OUT(number)))                                                 \
    X(report_leaks, 0, cuarena_report_leaks(arena, ignore_line, NULL))                             \
    X(compact, 0, cuarena_compact(arena, NULL, NULL, NULL, NULL))                                  \
    X(set_relocation_callback, 0, cuarena_set_relocation_callback(arena, NULL, NULL))              \
    X(properties, OUTPUT | NO_LOCK, cuarena_properties(arena, OUT(properties)))                    \
    X(driver_pool_stats, OUTPUT | NO_LOCK, cuarena_driver_pool_stats(arena, OUT(pool)))            \
    X(driver_pool_reset_peaks, NO_LOCK, cuarena_driver_pool_reset_peaks(arena))                    \
    X(export, 0,                                                                                   \
      cuarena_export(arena, the.block, &the.options, NULL, 0, &the.count, OUT(exported)))          \
    X(export_close, 0, cuarena_export_close(arena, OUT(exported)))                                 \
    X(set_event_listener, 0, cuarena_set_event_listener(arena, NULL, NULL))                        \
    X(step_stats, OUTPUT, cuarena_step_stats(arena, NULL, 0, OUT(count)))                          \
    X(set_oom_handler, 0, cuarena_set_oom_handler(arena, NULL, NULL))                              \
    X(trace_begin, 0, cuarena_trace_begin(arena, "/dev/null"))                                     \
    X(trace_end, 0, cuarena_trace_end(arena))                                                      \
    X(trace_recent, OUTPUT | NO_LOCK, cuarena_trace_recent(arena, NULL, 0, OUT(count)))            \
    X(alloc, OUTPUT, cuarena_alloc(arena, 8, OUT(pointer_out)))                                    \
    X(alloc_with, OUTPUT, cuarena_alloc_with(arena, 8, NULL, OUT(pointer_out)))                    \
    X(alloc_array, OUTPUT, cuarena_alloc_array(arena, 2, 8, NULL, OUT(pointer_out)))               \
    X(free, 0, cuarena_free(arena, the.pointer))                                                   \
    X(resize, OUTPUT, cuarena_resize(arena, the.pointer, 4096, OUT(pointer_out)))                  \
    X(size_of, 0, cuarena_size_of(arena, the.pointer, OUT(number), NULL))                          \
    X(unpin, 0, cuarena_unpin(arena, the.pointer))                                                 \
    X(pin, 0, cuarena_pin(arena, the.pointer))                                                     \
    X(tag, OUTPUT, cuarena_tag(arena, "another", OUT(tag_out)))                                    \
    X(tag_name, OUTPUT, cuarena_tag_name(arena, the.tag, OUT(name)))                               \
    X(snapshot_write, OUTPUT,                                                                      \
      cuarena_snapshot_write(arena, CUARENA_SNAPSHOT_JSON, out ? "no folder/file" : NULL))         \
    X(snapshot_to, OUTPUT,                                                                         \
      cuarena_snapshot_to(arena, CUARENA_SNAPSHOT_JSON, out ? ignore_bytes : NULL, NULL))          \
    X(stats, OUTPUT, cuarena_stats(arena, ALL, OUT(stats)))                                        \
    X(tag_stats, OUTPUT, cuarena_tag_stats(arena, the.tag, OUT(stats)))                            \
    X(reset_peaks, 0, cuarena_reset_peaks(arena))                                                  \
    X(inspect, OUTPUT, cuarena_inspect(arena, ALL, OUT(inspection)))                               \
    X(validate, 0, cuarena_validate(arena, out ? the.text : NULL, out ? 256 : 0))                  \
    X(ort_stats, OUTPUT, cuarena_ort_stats(arena, OUT(ort)))                                       \
    X(stats_pairs, OUTPUT,                                                                         \
      cuarena_stats_pairs(arena, CUARENA_TEXT_STATS, out ? ignore_pair : NULL, NULL))              \
    X(stats_text, OUTPUT,                                                                          \
      cuarena_stats_text(arena, CUARENA_TEXT_STATS, out ? the.text : NULL, sizeof the.text, NULL)) \
    X(peaks_push, 0, cuarena_peaks_push(arena, ALL))                                               \
    X(peaks_pop, OUTPUT, cuarena_peaks_pop(arena, ALL, OUT(peaks)))                                \
    X(tag_peaks_push, 0, cuarena_tag_peaks_push(arena, the.tag))                                   \
    X(tag_peaks_pop, OUTPUT, cuarena_tag_peaks_pop(arena, the.tag, OUT(peaks)))                    \
    X(stream_peaks_push, 0, cuarena_stream_peaks_push(arena, STREAM))                              \
    X(stream_peaks_pop, OUTPUT, cuarena_stream_peaks_pop(arena, STREAM, OUT(peaks)))               \
    X(alloc_on, OUTPUT, cuarena_alloc_on(arena, 8, STREAM, NULL, OUT(pointer_out)))                \
    X(free_on, 0, cuarena_free_on(arena, the.pointer, STREAM))                                     \
    X(free_own, 0, cuarena_free_own(arena, the.pointer))                                           \
    X(block_free_own, 0, cuarena_block_free_own(arena, the.block))                                 \
    X(resize_on, OUTPUT, cuarena_resize_on(arena, the.pointer, 4096, STREAM, OUT(pointer_out)))    \
    X(block_alloc_on, OUTPUT, cuarena_block_alloc_on(arena, 8, STREAM, NULL, OUT(block_out)))      \
    X(block_free_on, 0, cuarena_block_free_on(arena, the.block, STREAM))                           \
    X(block_resize_on, 0, cuarena_block_resize_on(arena, the.block, 4096, STREAM))                 \
    X(block_pin_on, OUTPUT, cuarena_block_pin_on(arena, the.block, STREAM, OUT(pointer_out)))      \
    X(block_unpin_on, 0, cuarena_block_unpin_on(arena, the.block, STREAM))                         \
    X(record_use, 0, cuarena_record_use(arena, the.pointer, STREAM))                               \
    X(block_record_use, 0, cuarena_block_record_use(arena, the.block, STREAM))                     \
    X(stream_of, OUTPUT, cuarena_stream_of(arena, the.pointer, OUT(stream_out)))                   \
    X(release_stream, 0, cuarena_release_stream(arena, STREAM))                                    \
    X(reclaim, 0, cuarena_reclaim(arena, 0, OUT(number)))                                          \
    X(trim_on, 0, cuarena_trim_on(arena, STREAM, 0, OUT(number)))                                  \
    X(stream_mark, OUTPUT, cuarena_stream_mark(arena, STREAM, OUT(mark)))                          \
    X(stream_waited, 0, cuarena_stream_waited(arena, STREAM, STREAM, the.mark))                    \
    X(stream_stats, OUTPUT, cuarena_stream_stats(arena, STREAM, OUT(stats)))

#define FUNCTION(name, needs, call)                                                                \
    static cuarena_status_t do_##name(cuarena_t *arena, bool out)                                  \
    {                                                                                              \
        (void)out;                                                                                 \
        return call;                                                                               \
    }
EACH_CALL(FUNCTION)

static const struct {
    const char *name;
    int needs;
    cuarena_status_t (*call)(cuarena_t *arena, bool out);
} calls[] = {
#define ENTRY(name, needs, call) {#name, needs, do_##name},
    EACH_CALL(ENTRY)};
#define CALLS ((int)COUNT_OF(calls))

/* ---- Tests --------------------------------------------------------------- */

/* An arena with a block, a pinned pointer and a tag, and outputs that are ready. */
static cuarena_t *ready(void)
{
    cuarena_t *arena = arena_of("memory=none, pool=1MiB");
    expect_ok(cuarena_alloc(arena, 1000, &the.pointer));
    expect_ok(cuarena_block_alloc(arena, 1000, &the.block));
    expect_ok(cuarena_tag(arena, "tag", &the.tag));
    cuarena_stats_init(&the.stats);
    cuarena_cache_stats_init(&the.cache);
    cuarena_ort_stats_init(&the.ort);
    cuarena_inspection_init(&the.inspection);
    cuarena_properties_init(&the.properties);
    cuarena_driver_pool_stats_init(&the.pool);
    cuarena_export_options_init(&the.options);
    cuarena_peaks_init(&the.peaks);
    the.capture = (cuarena_capture_t *)(void *)the.text; /* none that is known */
    the.exported = (cuarena_export_t *)(void *)the.text;
    return arena;
}

static void expect_status_of(int which, cuarena_status_t got, cuarena_status_t want)
{
    ck_assert_msg(got == want, "cuarena_%s: expected %s, got %s (%s)", calls[which].name,
                  cuarena_status_name(want), cuarena_status_name(got), cuarena_last_error());
}

static void end(cuarena_t *arena)
{
    expect_valid_arena(arena);
    expect_u64(arena_stats(arena).live_blocks, 2);
    expect_ok(cuarena_destroy_forced(&arena));
}

START_TEST(without_an_arena_each_call_is_refused)
{
    cuarena_t *arena = ready();
    expect_status_of(_i, calls[_i].call(NULL, true), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(cuarena_last_error(), "arena"));
    end(arena);
}
END_TEST

START_TEST(without_its_output_a_call_is_refused)
{
    cuarena_t *arena = ready();
    if (calls[_i].needs & OUTPUT)
        expect_status_of(_i, calls[_i].call(arena, false), CUARENA_BAD_ARGUMENT);
    end(arena);
}
END_TEST

/* What the handler calls, and the file that gets a page then. */
static struct {
    cuarena_t *arena;
    int which;
    cuarena_status_t status;
    int file;
    size_t bytes;
} within;

static void on_fault(int signal)
{
    (void)signal;
    within.status = calls[within.which].call(within.arena, true);
    if (ftruncate(within.file, (off_t)within.bytes) != 0)
        _exit(1);
}

/* cuarena_blocks writes to the page, in the arena's lock. The page is of an empty file, not one
 * that nobody may write to, which checkers would tell of. */
START_TEST(from_within_the_arena_each_call_is_refused)
{
    size_t count = 0;
    uint64_t cursor = 0;
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = tmpfile();
    struct sigaction action = {.sa_handler = on_fault};
    struct sigaction before;
    ck_assert_ptr_nonnull(file);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    cuarena_t *arena = ready();
    within.arena = arena;
    within.which = _i;
    within.file = fileno(file);
    within.bytes = bytes;
    ck_assert_int_eq(sigaction(SIGBUS, &action, &before), 0);
    expect_ok(cuarena_blocks(arena, &cursor, page, 1, &count));
    ck_assert_int_eq(sigaction(SIGBUS, &before, NULL), 0);
    expect_u64(count, 1);
    if (!(calls[_i].needs & NO_LOCK))
        expect_status_of(_i, within.status, CUARENA_REENTERED);
    ck_assert_int_eq(munmap(page, bytes), 0);
    ck_assert_int_eq(fclose(file), 0);
    end(arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("entries");
    suite_add_rows(suite, "arena", without_an_arena_each_call_is_refused, CALLS);
    suite_add_rows(suite, "output", without_its_output_a_call_is_refused, CALLS);
    suite_add_rows(suite, "within", from_within_the_arena_each_call_is_refused, CALLS);
    return suite_main(suite);
}
