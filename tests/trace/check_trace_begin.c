/*
 * Where a recording (cuarena/trace.h) begins: the names of its file, who else has that, and what is
 * left as it was where none can begin.
 */
#include "recorded.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS "memory=none, pool=64KiB"

/* ---- Names ------------------------------------------------------------- */

START_TEST(names_of_process_and_trace)
{
    char want[128], text[128];
    const char *pattern = trace_path("p%p.n%n.%%");
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    expect_ok(cuarena_trace_begin(f->arena, pattern));
    (void)snprintf(text, sizeof text, "p%d.n1.%%", (int)getpid());
    (void)snprintf(want, sizeof want, "%s", trace_path(text));
    expect_ok(cuarena_trace_end(f->arena));
    read_back(want);
}
END_TEST

static const struct {
    const char *path;
    cuarena_status_t status;
    const char *words;
} bad_paths[] = {
    {"", CUARENA_BAD_ARGUMENT, "'' is empty; accepted: a path"},
    {"%q", CUARENA_BAD_ARGUMENT, "'%q' has a percent sign that stands for nothing"},
    {"a%", CUARENA_BAD_ARGUMENT, "'a%' has a percent sign that stands for nothing"},
    {"/nowhere/at/all.csv", CUARENA_DRIVER, "'/nowhere/at/all.csv' cannot be opened: "},
    {"/", CUARENA_DRIVER, "'/' cannot be opened: "},
    {"/dev/full", CUARENA_DRIVER, "'/dev/full' cannot be written: "},
};

START_TEST(a_bad_path)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step(f, cuarena_trace_begin(f->arena, bad_paths[_i].path), bad_paths[_i].status);
    ck_assert_msg(strstr(last_error().message, bad_paths[_i].words) != NULL, "expected %s, got %s",
                  bad_paths[_i].words, last_error().message);
    step_ok(f, cuarena_trace_end(f->arena));
}
END_TEST

START_TEST(one_file_at_a_time)
{
    const char *path = trace_path("busy.csv");
    fixture_t *f = traced(KIND_CUSTOM_POOL, path);
    step(f, cuarena_trace_begin(f->arena, trace_path("other.csv")), CUARENA_BUSY);
    cuarena_t *other;
    expect_ok(cuarena_open(OPTIONS, &other));
    expect_status(cuarena_trace_begin(other, path), CUARENA_BUSY);
    free_ok(f, alloc_ok(f, 100));
    end_trace(f, path);
    expect_u64(trace_file_count(&file, "a"), 1);
    expect_ok(cuarena_trace_begin(other, path));
    expect_ok(cuarena_destroy(&other));
    read_back(path);
    expect_u64(trace_file_count(&file, "a"), 0);
}
END_TEST

/* Whoever waits for a reader would wait for ever. */
START_TEST(a_pipe_that_nobody_reads)
{
    const char *path = trace_path("pipe.csv");
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    step(f, cuarena_trace_begin(f->arena, path), CUARENA_DRIVER);
    expect_u64((uint64_t)last_error().driver_code, ENXIO);
}
END_TEST

/* A child that lives on has the file open, but does not keep others out of it. */
START_TEST(a_file_that_a_child_has)
{
    const char *path = trace_path("child.csv");
    fixture_t *f = traced(KIND_CUSTOM_POOL, path);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    ck_assert(child > 0);
    expect_ok(cuarena_trace_end(f->arena));
    expect_ok(cuarena_trace_begin(f->arena, path));
    expect_ok(cuarena_trace_end(f->arena));
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert(waitpid(child, NULL, 0) == child);
}
END_TEST

/* ---- What stays as it was ---------------------------------------------- */

#define OLD_TEXT "what was there before\n"

static void write_old(const char *path)
{
    FILE *stream = fopen(path, "w");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_ge(fputs(OLD_TEXT, stream), 0);
    ck_assert_int_eq(fclose(stream), 0);
}

static void expect_old(const char *path)
{
    char text[64];
    FILE *stream = fopen(path, "r");
    ck_assert_ptr_nonnull(stream);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    (void)fclose(stream);
    expect_text(text, OLD_TEXT);
}

static const char *const unwritten[] = {"unwritten.csv", "unwritten.csv.gz"};

/* The disk takes nothing: a file that was not there is not made, one that was is as before. */
START_TEST(a_disk_without_room_at_the_begin)
{
    const char *fresh = trace_path(unwritten[_i]), *old = trace_path("old.csv");
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    struct rlimit before, none;
    write_old(old);
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    int limited = setrlimit(RLIMIT_FSIZE, &none); /* nothing is asserted meanwhile */
    cuarena_status_t status = cuarena_trace_begin(f->arena, fresh);
    cuarena_status_t over = cuarena_trace_begin(f->arena, old);
    int freed = setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(limited | freed, 0);
    expect_status(over, CUARENA_DRIVER);
    ck_assert_msg(status == CUARENA_DRIVER || status == CUARENA_UNSUPPORTED,
                  "expected DRIVER, or UNSUPPORTED without libz.so.1, got %d", (int)status);
    ck_assert_msg(access(fresh, F_OK) != 0, "%s is there", fresh);
    expect_old(old);
    expect_ok(cuarena_trace_begin(f->arena, old));
    end_trace(f, old);
}
END_TEST

/* What a handler begins while its thread has the arena's lock, and the file that gets a page then.
 */
static struct {
    cuarena_t *arena;
    const char *path;
    cuarena_status_t status;
    int page_file;
} inside;

static void begin_inside(int number)
{
    (void)number;
    inside.status = cuarena_trace_begin(inside.arena, inside.path);
    if (ftruncate(inside.page_file, sysconf(_SC_PAGESIZE)) != 0)
        _exit(1);
}

/* cuarena_blocks writes to the page, which is none of its file yet, under the arena's lock. */
START_TEST(a_begin_within_the_arena)
{
    size_t count = 0, page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t cursor = 0;
    FILE *stream = tmpfile();
    ck_assert_ptr_nonnull(stream);
    void *page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(stream), 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *p = alloc_ok(f, 1000);
    inside.arena = f->arena;
    inside.path = trace_path("inside.csv");
    inside.page_file = fileno(stream);
    write_old(inside.path);
    (void)signal(SIGBUS, begin_inside);
    expect_ok(cuarena_blocks(f->arena, &cursor, page, 1, &count));
    (void)signal(SIGBUS, SIG_DFL);
    expect_status(inside.status, CUARENA_REENTERED);
    expect_old(inside.path);
    ck_assert_int_eq(munmap(page, page_bytes), 0);
    ck_assert_int_eq(fclose(stream), 0);
    free_ok(f, p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_begin");
    suite_add_list(suite, "file",
                   TEST_LIST(names_of_process_and_trace, one_file_at_a_time,
                             a_pipe_that_nobody_reads, a_file_that_a_child_has));
    suite_add_rows(suite, "bad paths", a_bad_path, COUNT_OF(bad_paths));
    suite_add_rows(suite, "no room", a_disk_without_room_at_the_begin, COUNT_OF(unwritten));
    suite_add_list(suite, "within", TEST_LIST(a_begin_within_the_arena));
    return suite_main(suite);
}
