/*
 * Snapshots: what is in them, of every kind of arena, and how they are written. snapshots.py
 * compares each with its own statistics, with the schema and with PyTorch's format.
 */
#define _GNU_SOURCE
#include "support/conformance_rows.h"
#include "support/fixture_streams.h"
#include "support/log_lines.h"
#include "support/snapshots.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Every kind -------------------------------------------------------- */

/* "pool-vmm, many streams" as the name of a file. */
static const char *file_name(int row)
{
    static char name[64];
    snprintf(name, sizeof name, "%03d-%s", row, row_kind(row)->name);
    return name;
}

/* Blocks of all sorts, live, pinned, tagged, freed: what the kind has. */
static void fill_row(fixture_t *f, void **kept, cuarena_block_t *block)
{
    uint64_t each = row_block_bytes(f->kind);
    cuarena_tag_t tag;
    void *pin;
    expect_ok(cuarena_tag(f->arena, "weights", &tag));
    kept[0] = alloc_tagged(f, each, tag);
    void *freed = alloc_ok(f, each / 2);
    kept[1] = alloc_ok(f, 1000);
    *block = alloc_block(f, each);
    kept[2] = f->kind->traits & KIND_DEDICATES ? alloc_dedicated(f, each) : NULL;
    void *last = alloc_ok(f, each / 4);
    free_ok(f, freed);
    free_ok(f, last);
    expect_ok(try_pin_block(f, *block, &pin));
}

static void empty_row(fixture_t *f, void **kept, cuarena_block_t block)
{
    expect_ok(try_unpin_block(f, block));
    free_block(f, block);
    for (int i = 0; i < 3; i++)
        if (kept[i] != NULL)
            free_ok(f, kept[i]);
}

START_TEST(all_kinds_tell_what_they_have)
{
    for (int row = 0; row < ROWS; row++) {
        void *kept[3];
        cuarena_block_t block;
        static fixture_t f;
        if (!row_exists(row))
            continue;
        prepare_row(&f, row);
        fixture_create(&f);
        write_both(f.arena, "empty");
        fill_row(&f, kept, &block);
        write_both(f.arena, file_name(row));
        expect_sound(&f);
        empty_row(&f, kept, block);
        reclaim(&f);
        fixture_close(&f);
    }
    expect_right_snapshots();
}
END_TEST

#if !defined(CUARENA_TEST_CUDA)

/* ---- What blocks and ranges are ---------------------------------------- */

#define EACH KIB(64)

/* The text of a snapshot as JSON. */
static const char *json_of(cuarena_t *arena)
{
    const char *path = in_folder("one.json");
    expect_ok(cuarena_snapshot_write(arena, CUARENA_SNAPSHOT_JSON, path));
    return text_of(path);
}

#define expect_says(arena, text) expect_says_at(json_of(arena), text, __FILE__, __LINE__)

static void expect_says_at(const char *json, const char *text, const char *file, int line)
{
    if (strstr(json, text) == NULL)
        ck_abort_msg("%s:%d: expected %s in %s", file, line, text, json);
}

START_TEST(flags_say_what_a_block_is)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, 8 * EACH);
    f->config.stable = amount_of_bytes(2 * EACH);
    fixture_create(f);
    static _Alignas(4096) char own[4096];
    void *stable = alloc_in(f, EACH, CUARENA_REGION_STABLE);
    expect_says(f->arena, "[\"pointer\",\"pinned\",\"stable\"]");
    cuarena_block_t block = alloc_block(f, EACH);
    expect_says(f->arena, "\"stream\":0,\"flags\":[]");
    void *dedicated = alloc_dedicated(f, EACH);
    expect_says(f->arena, "[\"pointer\",\"pinned\",\"dedicated\"]");
    cuarena_block_t adopted;
    expect_ok(cuarena_adopt(f->arena, own, sizeof own, 0, &adopted));
    expect_says(f->arena, "\"adopted\"]");
    void *empty = alloc_ok(f, 0);
    write_both(f->arena, "all");
    expect_right_snapshots();
    free_ok(f, stable);
    free_ok(f, dedicated);
    free_ok(f, empty);
    free_block(f, block);
    free_block(f, adopted);
}
END_TEST

/* Freed on a stream: no event, then one, then idle; private while the stream is captured. */
START_TEST(free_ranges_say_whose_they_are)
{
    fixture_t *f = opened(SIMULATED, 8 * EACH);
    void *pointer;
    void *other;
    cuarena_capture_t *session;
    expect_ok(cuarena_alloc_on(f->arena, EACH, A, NULL, &pointer));
    expect_ok(cuarena_alloc_on(f->arena, EACH, A, NULL, &other));
    sim_write(&f->sim, A, pointer, EACH, 1);
    expect_ok(cuarena_free_on(f->arena, pointer, A));
    expect_says(f->arena, "\"stream\":1,\"state\":\"freed\"");
    write_both(f->arena, "freed");
    expect_ok(cuarena_alloc_on(f->arena, 6 * EACH, B, NULL, &pointer)); /* waits for A's */
    expect_ok(cuarena_free_on(f->arena, pointer, B));
    write_both(f->arena, "stolen");
    expect_ok(cuarena_capture_begin(f->arena, C, &session));
    expect_ok(cuarena_alloc_on(f->arena, EACH, C, NULL, &pointer));
    expect_ok(cuarena_free_on(f->arena, pointer, C));
    expect_says(f->arena, "\"state\":\"captured\"");
    expect_says(f->arena, "\"captured\":true");
    write_both(f->arena, "captured");
    expect_right_snapshots();
    expect_ok(cuarena_capture_end(f->arena, session));
    expect_ok(cuarena_capture_release(f->arena, &session, C));
    expect_ok(cuarena_free_on(f->arena, other, A));
}
END_TEST

/* A block that another stream uses is freed: it waits, and PyTorch's format says so. */
START_TEST(freed_block_that_is_used_waits)
{
    fixture_t *f = opened(SIMULATED, 8 * EACH);
    void *pointer;
    expect_ok(cuarena_alloc_on(f->arena, EACH, A, NULL, &pointer));
    sim_write(&f->sim, B, pointer, EACH, 1);
    expect_ok(cuarena_record_use(f->arena, pointer, B));
    expect_ok(cuarena_free_on(f->arena, pointer, A));
    expect_says(f->arena, "\"waiting\"");
    write_both(f->arena, "waiting");
    expect_right_snapshots();
}
END_TEST

START_TEST(names_are_escaped)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, 8 * EACH);
    strcpy(f->config.name, "a\"\\\n\xff\xc3\xa9");
    fixture_create(f);
    cuarena_tag_t tag;
    expect_ok(cuarena_tag(f->arena, "\xed\xa0\x80\xf0\x9f\x98\x80", &tag));
    expect_says(f->arena, "\"a\\u0022\\u005c\\u000a\\ufffd\xc3\xa9\"");
    expect_says(f->arena, "\"\\ufffd\\ufffd\\ufffd\xf0\x9f\x98\x80\"");
    write_both(f->arena, "names");
    expect_right_snapshots();
}
END_TEST

START_TEST(last_refusal_is_told)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, 8 * EACH);
    void *pointer = UNTOUCHED;
    expect_says(f->arena, "\"last_refusal\":null");
    expect_status(cuarena_alloc(f->arena, 9 * EACH, &pointer), CUARENA_OUT_OF_MEMORY);
    expect_says(f->arena, "\"last_refusal\":{\"status\":\"CUARENA_OUT_OF_MEMORY\"");
    expect_says(f->arena, "\"asked_bytes\":589824");
    write_both(f->arena, "refused");
    expect_right_snapshots();
}
END_TEST

/* Options are those that hold, not those that were set. */
START_TEST(options_are_resolved)
{
    fixture_t *f = opened_text("memory=none,pool=1MiB");
    expect_says(f->arena, "\"preset\":\"pool\",\"memory\":\"none\"");
    expect_says(f->arena, "\"keep\":\"all\"");
    expect_says(f->arena, "\"pool_bytes\":1048576");
}
END_TEST

/* ---- The last events --------------------------------------------------- */

START_TEST(last_events_are_those_of_the_ring)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, 8 * EACH);
    f->config.trace_ring = 4;
    fixture_create(f);
    void *refused = UNTOUCHED;
    for (int i = 0; i < 3; i++)
        free_ok(f, alloc_ok(f, 1000 + (uint64_t)i));
    void *kept = alloc_ok(f, EACH);
    expect_status(cuarena_alloc(f->arena, 9 * EACH, &refused), CUARENA_OUT_OF_MEMORY);
    const char *json = json_of(f->arena);
    ck_assert_msg(strstr(json, "\"bytes\":1001") == NULL, "more than four events: %s", json);
    ck_assert_msg(strstr(json, "{\"op\":\"fail\"") != NULL, "no refusal: %s", json);
    ck_assert_msg(strstr(json, "\"status\":\"CUARENA_OUT_OF_MEMORY\"") != NULL, "%s", json);
    write_both(f->arena, "events");
    expect_right_snapshots();
    free_ok(f, kept);
}
END_TEST

/* ---- How they are written ---------------------------------------------- */

START_TEST(arguments_are_checked)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, 8 * EACH);
    expect_status(cuarena_snapshot_write(NULL, 0, in_folder("a")), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_snapshot_write(f->arena, 0, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_snapshot_to(f->arena, 0, NULL, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_snapshot_write(f->arena, 2, in_folder("a")), CUARENA_BAD_ARGUMENT);
    expect_text(cuarena_last_error(), "format 2; accepted: 0 (JSON), 1 (PyTorch's)");
    expect_u64(files_ending(""), 0);
}
END_TEST

START_TEST(file_is_its_owners)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, 8 * EACH);
    mode_t before = umask(0);
    struct stat facts;
    write_both(f->arena, "own");
    umask(before);
    ck_assert_int_eq(stat(in_folder("own.json"), &facts), 0);
    expect_u64(facts.st_mode & 0777, 0600);
}
END_TEST

/* A file that cannot be written leaves neither itself nor a part. */
START_TEST(paths_that_cannot_be)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, 8 * EACH);
    expect_status(cuarena_snapshot_write(f->arena, 0, in_folder("none/a.json")), CUARENA_DRIVER);
    ck_assert_int_eq(last_error().driver_code, ENOENT);
    ck_assert_ptr_nonnull(strstr(cuarena_last_error(), "cannot be written: No such file"));
    ck_assert_int_eq(mkdir(in_folder("folder"), 0700), 0);
    expect_status(cuarena_snapshot_write(f->arena, 0, in_folder("folder")), CUARENA_DRIVER);
    ck_assert_int_eq(last_error().driver_code, EISDIR);
    ck_assert_int_eq(rmdir(in_folder("folder")), 0);
    expect_u64(files_ending(""), 0);
}
END_TEST

START_TEST(longest_name_is_a_file)
{
    char path[400];
    fixture_t *f = opened(KIND_CUSTOM_POOL, 8 * EACH);
    snprintf(path, sizeof path, "%s%0255d", in_folder(""), 1);
    expect_ok(cuarena_snapshot_write(f->arena, 0, path));
    expect_u64(files_ending(""), 1);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* As root it would have taken the place of /dev/null. */
START_TEST(what_is_no_file_is_not_replaced)
{
    struct stat is;
    fixture_t *f = opened(KIND_CUSTOM_POOL, 8 * EACH);
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    expect_status(cuarena_snapshot_write(f->arena, 0, in_folder("pipe")), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(cuarena_last_error(), "pipe' is no regular file"));
    ck_assert_int_eq(symlink("target", in_folder("link")), 0);
    expect_status(cuarena_snapshot_write(f->arena, 0, in_folder("link")), CUARENA_BAD_ARGUMENT);
    ck_assert(lstat(in_folder("pipe"), &is) == 0 && S_ISFIFO(is.st_mode));
    expect_u64(files_ending(""), 2);
}
END_TEST

/* Behind so many bytes there is no more room for files: nothing of the new one stays. */
START_TEST(full_disk_leaves_the_file_before)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, 64 * EACH);
    cuarena_block_t row[64];
    struct rlimit most = {256, RLIM_INFINITY};
    const char *path = in_folder("a.json");
    alloc_row(f, row, COUNT_OF(row), EACH);
    FILE *file = fopen(path, "w");
    fputs("before", file);
    fclose(file);
    signal(SIGXFSZ, SIG_IGN);
    /* Nothing is asserted meanwhile: what says so is a file, too. */
    int limited = setrlimit(RLIMIT_FSIZE, &most);
    cuarena_status_t status = cuarena_snapshot_write(f->arena, CUARENA_SNAPSHOT_JSON, path);
    most.rlim_cur = RLIM_INFINITY;
    int freed = setrlimit(RLIMIT_FSIZE, &most);
    signal(SIGXFSZ, SIG_DFL);
    ck_assert_int_eq(limited | freed, 0);
    expect_status(status, CUARENA_DRIVER);
    ck_assert_int_eq(last_error().driver_code, EFBIG);
    expect_text(text_of(path), "before");
    expect_u64(files_ending(""), 1);
    free_row(f, row, COUNT_OF(row), EACH);
}
END_TEST

START_TEST(whole_file_replaces_the_one_before)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, 8 * EACH);
    FILE *file = fopen(in_folder("one.json"), "w");
    fputs("something else", file);
    fclose(file);
    expect_says(f->arena, "{\"version\":1,");
    expect_u64(files_ending(""), 1);
}
END_TEST

/* What the function was given, and when it has enough. */
typedef struct taken {
    char text[1 << 16];
    size_t used;
    size_t most;
    uint64_t calls;
} taken_t;

static int32_t take_bytes(void *user, const void *bytes, size_t size)
{
    taken_t *taken = user;
    taken->calls++;
    if (taken->used + size > taken->most)
        return 1;
    memcpy(taken->text + taken->used, bytes, size);
    taken->used += size;
    return 0;
}

START_TEST(function_gets_the_same_bytes)
{
    static taken_t taken = {.most = sizeof taken.text - 1};
    fixture_t *f = opened(KIND_CUSTOM_POOL, 8 * EACH);
    expect_ok(cuarena_snapshot_to(f->arena, CUARENA_SNAPSHOT_PYTORCH, take_bytes, &taken));
    expect_ok(cuarena_snapshot_write(f->arena, CUARENA_SNAPSHOT_PYTORCH, in_folder("a")));
    ck_assert_mem_eq(taken.text, text_of(in_folder("a")), taken.used);
}
END_TEST

START_TEST(function_that_has_enough_is_not_called_again)
{
    static taken_t taken;
    fixture_t *f = opened(KIND_CUSTOM_POOL, 64 * EACH);
    cuarena_block_t row[64];
    alloc_row(f, row, COUNT_OF(row), EACH);
    expect_status(cuarena_snapshot_to(f->arena, CUARENA_SNAPSHOT_JSON, take_bytes, &taken),
                  CUARENA_UNSUPPORTED);
    expect_u64(taken.calls, 1);
    free_row(f, row, COUNT_OF(row), EACH);
}
END_TEST

/* ---- From within calls ------------------------------------------------- */

static int32_t write_in_handler(void *user, cuarena_t *arena, uint64_t asked, int32_t attempt)
{
    (void)user, (void)asked, (void)attempt;
    write_both(arena, "handler");
    return 0;
}

START_TEST(handler_may_write_one)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, 8 * EACH);
    void *pointer = alloc_ok(f, 4 * EACH);
    void *none = UNTOUCHED;
    use_handler(f, write_in_handler, NULL);
    expect_status(cuarena_alloc(f->arena, 5 * EACH, &none), CUARENA_OUT_OF_MEMORY);
    expect_u64(files_ending(".json"), 1);
    expect_right_snapshots();
    free_ok(f, pointer);
}
END_TEST

/* ---- When a request is refused ----------------------------------------- */

/* A pool that writes such files of refusals. */
static fixture_t *opened_writing(const char *file)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, 8 * EACH);
    snprintf(f->config.snapshot_on_oom, sizeof f->config.snapshot_on_oom, "%s", in_folder(file));
    fixture_create(f);
    return f;
}

static void refuse(const fixture_t *f, cuarena_status_t why)
{
    void *pointer = UNTOUCHED;
    expect_status(cuarena_alloc(f->arena, 7 * EACH, &pointer), why);
    ck_assert_ptr_nonnull(strstr(cuarena_last_error(), "no room for 458752 bytes"));
}

START_TEST(refusals_are_numbered)
{
    char name[32];
    fixture_t *f = opened_writing("%p-%n.json");
    void *pointer = alloc_ok(f, 2 * EACH);
    expect_u64(files_ending(""), 0);
    for (int i = 0; i < 20; i++)
        refuse(f, CUARENA_OUT_OF_MEMORY);
    expect_u64(files_ending(".json"), 16);
    snprintf(name, sizeof name, "%d-16.json", (int)getpid());
    expect_says_at(text_of(in_folder(name)), "\"failed\":16", __FILE__, __LINE__);
    expect_says_at(text_of(in_folder(name)), "\"asked_bytes\":458752", __FILE__, __LINE__);
    expect_right_snapshots();
    expect_sound(f);
    free_ok(f, pointer);
}
END_TEST

START_TEST(first_refusal_without_a_number)
{
    fixture_t *f = opened_writing("100%%.json");
    void *pointer = alloc_ok(f, 2 * EACH);
    refuse(f, CUARENA_OUT_OF_MEMORY);
    refuse(f, CUARENA_OUT_OF_MEMORY);
    expect_says_at(text_of(in_folder("100%.json")), "\"failed\":1,", __FILE__, __LINE__);
    expect_u64(files_ending(""), 1);
    free_ok(f, pointer);
}
END_TEST

/* A refusal by a limit, in PyTorch's format, beside the same moment's JSON. */
START_TEST(refusal_by_a_limit)
{
    fixture_t *f = opened_writing("limit.pickle");
    set_limit(f, CUARENA_LIMIT_LIVE, 4 * EACH);
    void *pointer = alloc_ok(f, 2 * EACH);
    refuse(f, CUARENA_LIMIT);
    expect_ok(cuarena_snapshot_write(f->arena, 0, in_folder("limit.json")));
    expect_u64(files_ending(".pickle"), 1);
    expect_right_snapshots();
    free_ok(f, pointer);
}
END_TEST

/* What is no lack of bytes writes nothing. */
START_TEST(other_errors_are_no_refusals)
{
    fixture_t *f = opened_writing("%n.json");
    void *pointer = UNTOUCHED;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.tag = 7;
    expect_status(cuarena_alloc_with(f->arena, EACH, &request, &pointer), CUARENA_BAD_ARGUMENT);
    expect_u64(files_ending(""), 0);
}
END_TEST

/* The request's own error stays, and the log is told. */
START_TEST(refusal_whose_file_cannot_be)
{
    fixture_t *f = opened_writing("none/%n.json");
    void *pointer = alloc_ok(f, 2 * EACH);
    log_listen(CUARENA_LOG_WARN);
    refuse(f, CUARENA_OUT_OF_MEMORY);
    log_listen_no_more();
    ck_assert_ptr_nonnull(strstr(log_text(0, ""), "no snapshot of a refused request: snapshot: "));
    free_ok(f, pointer);
}
END_TEST

#endif

int main(void)
{
    Suite *suite = suite_create("snapshot");
    TCase *kinds = suite_add_list(suite, "kinds", TEST_LIST(all_kinds_tell_what_they_have));
    use_folder(kinds);
    tcase_set_timeout(kinds, 120);
#if !defined(CUARENA_TEST_CUDA)
    use_folder(
        suite_add_list(suite, "contents",
                       TEST_LIST(flags_say_what_a_block_is, last_events_are_those_of_the_ring,
                                 free_ranges_say_whose_they_are, freed_block_that_is_used_waits,
                                 names_are_escaped, last_refusal_is_told, options_are_resolved)));
    use_folder(suite_add_list(
        suite, "writing",
        TEST_LIST(arguments_are_checked, file_is_its_owners, paths_that_cannot_be,
                  longest_name_is_a_file, what_is_no_file_is_not_replaced,
                  full_disk_leaves_the_file_before, whole_file_replaces_the_one_before,
                  function_gets_the_same_bytes, function_that_has_enough_is_not_called_again,
                  handler_may_write_one)));
    use_folder(suite_add_list(suite, "refusals",
                              TEST_LIST(refusals_are_numbered, first_refusal_without_a_number,
                                        refusal_by_a_limit, other_errors_are_no_refusals,
                                        refusal_whose_file_cannot_be)));
#endif
    return rows_main(suite);
}
