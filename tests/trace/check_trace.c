/*
 * Recording (cuarena/trace.h) by one thread: what lines say, where the file goes, what becomes of
 * it when the disk is full, the process is killed or forks; and the ring of the last events.
 */
#include "recorded.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS "memory=none, pool=64KiB"

static uint64_t size_of_file(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 ? (uint64_t)is.st_size : 0;
}

/* ---- Lines ------------------------------------------------------------- */

START_TEST(an_allocation_and_its_free)
{
    const char *path = trace_path("plain.csv");
    fixture_t *f = traced(KIND_CUSTOM_POOL, path);
    void *p = alloc_ok(f, 1000);
    uint64_t address = (uint64_t)(uintptr_t)p;
    free_ok(f, p);
    end_trace(f, path);
    const trace_line_t *a = trace_file_line(&file, "a", 0);
    const trace_line_t *free_line = trace_file_line(&file, "f", 0);
    expect_u64(a->size, 1000);
    expect_u64(a->address, address);
    expect_text(a->stream, "");
    expect_text(a->tag, "");
    expect_u64(free_line->id, a->id);
    expect_u64(free_line->size, 1000);
    expect_u64(free_line->address, address);
    ck_assert(free_line->time >= a->time);
    expect_u64(a->thread, (uint64_t)getpid());
}
END_TEST

static const uint64_t tens[] = {UINT64_C(10),
                                UINT64_C(100),
                                UINT64_C(1000),
                                UINT64_C(10000),
                                UINT64_C(100000),
                                UINT64_C(1000000),
                                UINT64_C(10000000),
                                UINT64_C(100000000),
                                UINT64_C(1000000000),
                                UINT64_C(10000000000),
                                UINT64_C(100000000000),
                                UINT64_C(1000000000000),
                                UINT64_C(10000000000000)};

/* Where one more digit begins, and what is next to that. */
START_TEST(numbers_of_every_length)
{
    const char *path = trace_path("numbers.csv");
    cuarena_t *arena;
    expect_ok(cuarena_open("memory=none, pool=64TiB", &arena));
    expect_ok(cuarena_trace_begin(arena, path));
    for (size_t i = 0; i < COUNT_OF(tens); i++)
        for (uint64_t bytes = tens[i] - 1; bytes <= tens[i] + 1; bytes++) {
            void *p;
            expect_ok(cuarena_alloc(arena, bytes, &p));
            expect_ok(cuarena_free(arena, p));
        }
    expect_ok(cuarena_destroy(&arena));
    read_back(path);
    for (size_t i = 0; i < 3 * COUNT_OF(tens); i++) {
        expect_u64(trace_file_line(&file, "a", i)->size, tens[i / 3] - 1 + i % 3);
        expect_u64(trace_file_line(&file, "f", i)->size, tens[i / 3] - 1 + i % 3);
    }
}
END_TEST

static void fail_next_zeroing(fixture_t *f)
{
    f->memory.fail_op = OP_ZERO;
    f->memory.fail_in = 1;
    f->memory.fail_again = 0;
    f->memory.fail_with = CUARENA_DRIVER;
}

static fixture_t *traced_zeroing(int32_t zero, const char *path)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.zero = zero;
    fixture_create(f);
    expect_ok(cuarena_trace_begin(f->arena, path));
    return f;
}

START_TEST(a_block_whose_free_fails_lives_on)
{
    const char *path = trace_path("kept.csv");
    fixture_t *f = traced_zeroing(CUARENA_ZERO_FREE, path);
    void *p = alloc_ok(f, 1000);
    fail_next_zeroing(f);
    expect_status(cuarena_free(f->arena, p), CUARENA_DRIVER);
    expect_ok(cuarena_trace_end(f->arena));
    read_back(path);
    expect_u64(trace_file_check(&file), 1);
    free_ok(f, p);
}
END_TEST

START_TEST(a_block_that_is_not_handed_out_ends)
{
    void *p = NULL;
    const char *path = trace_path("not.csv");
    fixture_t *f = traced_zeroing(CUARENA_ZERO_ALLOC, path);
    fail_next_zeroing(f);
    expect_status(cuarena_alloc(f->arena, 1000, &p), CUARENA_DRIVER);
    end_trace(f, path);
    expect_u64(trace_file_check(&file), 0);
    expect_u64(trace_file_count(&file, "fail"), 1);
}
END_TEST

START_TEST(ids_never_come_back)
{
    const char *path = trace_path("ids.csv");
    fixture_t *f = traced(KIND_CUSTOM_POOL, path);
    for (int i = 0; i < 3; i++)
        free_block(f, alloc_block(f, 512));
    end_trace(f, path);
    uint64_t first = trace_file_line(&file, "a", 0)->id;
    uint64_t second = trace_file_line(&file, "a", 1)->id;
    ck_assert(first != second && first < UINT64_C(1) << 53 && second < UINT64_C(1) << 53);
    expect_u64(trace_file_check(&file), 0);
}
END_TEST

START_TEST(what_lives_already_comes_first)
{
    const char *path = trace_path("live.csv");
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    void *p = alloc_ok(f, 700);
    cuarena_block_t block = alloc_block(f, 300);
    expect_ok(cuarena_trace_begin(f->arena, path));
    free_ok(f, p);
    free_block(f, block);
    end_trace(f, path);
    expect_u64(trace_file_line(&file, "a", 0)->size + trace_file_line(&file, "a", 1)->size, 1000);
    expect_u64(trace_file_line(&file, "grow", 0)->size, POOL);
    expect_u64(trace_file_check(&file), 0);
}
END_TEST

START_TEST(a_tag_by_its_name)
{
    const char *path = trace_path("tag.csv");
    fixture_t *f = traced(KIND_CUSTOM_POOL, path);
    cuarena_tag_t tag;
    expect_ok(cuarena_tag(f->arena, "weights, \"old\"", &tag));
    free_ok(f, alloc_tagged(f, 256, tag));
    end_trace(f, path);
    expect_text(trace_file_line(&file, "a", 0)->tag, "weights\\x2c \\x22old\\x22");
    expect_text(trace_file_line(&file, "f", 0)->tag, "weights\\x2c \\x22old\\x22");
}
END_TEST

START_TEST(a_resize_and_a_free_by_it)
{
    const char *path = trace_path("resize.csv");
    fixture_t *f = traced(KIND_CUSTOM_POOL, path);
    cuarena_block_t block = alloc_block(f, 512);
    void *p = alloc_ok(f, 256);
    step_ok(f, cuarena_block_resize(f->arena, block, 2048));
    step_ok(f, cuarena_block_resize(f->arena, block, 100));
    step_ok(f, cuarena_resize(f->arena, p, 0, &p));
    free_block(f, block);
    end_trace(f, path);
    expect_u64(trace_file_line(&file, "resize", 0)->size, 2048);
    expect_u64(trace_file_line(&file, "resize", 1)->size, 100);
    expect_u64(trace_file_count(&file, "a"), 2);
    expect_u64(trace_file_count(&file, "f"), 2);
    expect_u64(trace_file_check(&file), 0);
}
END_TEST

START_TEST(a_refusal_and_its_steps)
{
    const char *path = trace_path("fail.csv");
    fixture_t *f = traced(KIND_CUSTOM_POOL, path);
    void *none, *p = alloc_ok(f, POOL);
    step(f, cuarena_alloc(f->arena, 4096, &none), exhausted(f));
    end_trace(f, path);
    expect_u64(trace_file_line(&file, "fail", 0)->size, 4096);
    expect_text(trace_file_line(&file, "fail", 0)->note, cuarena_status_name(exhausted(f)));
    free_ok(f, p);
}
END_TEST

START_TEST(growth_and_trim)
{
    const char *path = trace_path("grow.csv");
    fixture_t *f = opened_text("memory=pageable, preset=grow");
    expect_ok(cuarena_trace_begin(f->arena, path));
    free_ok(f, alloc_ok(f, KIB(100)));
    uint64_t given = 0;
    step_ok(f, cuarena_trim(f->arena, 0, &given));
    end_trace(f, path);
    const trace_line_t *grow = trace_file_line(&file, "grow", 0);
    const trace_line_t *step_line = trace_file_line(&file, "step", 0);
    ck_assert(grow->size >= KIB(100) && grow->address != 0);
    expect_text(step_line->note, "growth");
    expect_u64(step_line->size, KIB(100));
    expect_u64(trace_file_line(&file, "trim", 0)->size, given);
}
END_TEST

START_TEST(bytes_become_idle)
{
    const char *path = trace_path("idle.csv");
    fixture_t *f = traced(SIMULATED, path);
    void *p = alloc_on(f, 1024, A);
    free_on(f, p, A);
    finish_work(f);
    step_ok(f, cuarena_reclaim(f->arena, 1, NULL));
    end_trace(f, path);
    const trace_line_t *freed = trace_file_line(&file, "f", 0);
    const trace_line_t *idle = trace_file_line(&file, "idle", 0);
    uint64_t before = strtoull(idle->note, NULL, 10);
    expect_u64(idle->size, 1024);
    expect_text(idle->stream, freed->stream);
    ck_assert(freed->stream[0] == '0' && before >= freed->time && before <= idle->time);
}
END_TEST

START_TEST(compactions_and_moves)
{
    const char *path = trace_path("moves.csv");
    fixture_t *f = traced(KIND_CUSTOM_POOL, path);
    cuarena_block_t row[4];
    alloc_row(f, row, COUNT_OF(row), POOL / 4);
    free_block(f, row[0]);
    free_block(f, row[2]);
    row[0] = row[2] = 0;
    step_ok(f, cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    uint64_t moved = stats_of(f).moves;
    end_trace(f, path);
    ck_assert_msg(moved != 0, "nothing moved");
    expect_u64(trace_file_count(&file, "move"), moved);
    expect_u64(trace_file_line(&file, "compact", 0)->size, moved * (POOL / 4));
    const trace_line_t *move = trace_file_line(&file, "move", 0);
    expect_u64(move->address, (uint64_t)(uintptr_t)address_of(f, move->id == 0 ? 0 : row[1]));
    free_row(f, row, COUNT_OF(row), POOL / 4);
}
END_TEST

/* Guards are no bytes of their block's user, and what waits in a quarantine is freed. */
START_TEST(blocks_that_are_watched)
{
    const char *path = trace_path("watched.csv");
    fixture_t *f = prepared(KIND_CUSTOM_POOL, POOL);
    f->config.guard_bytes = 64;
    f->config.fill = CUARENA_FILL_BOTH;
    f->config.quarantine_bytes = POOL / 8;
    fixture_create(f);
    expect_ok(cuarena_trace_begin(f->arena, path));
    cuarena_block_t first = alloc_block(f, 1000), second = alloc_block(f, 1000);
    void *p = alloc_ok(f, 1000);
    uint64_t address = (uint64_t)(uintptr_t)p;
    free_block(f, first);
    expect_ok(cuarena_check(f->arena, NULL)); /* the quarantine lets go of it */
    step_ok(f, cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    free_ok(f, p);
    end_trace(f, path);
    expect_u64(trace_file_count(&file, "a"), 3);
    expect_u64(trace_file_count(&file, "f"), 2);
    expect_u64(trace_file_line(&file, "a", 2)->address, address);
    const trace_line_t *move = trace_file_line(&file, "move", 0);
    expect_u64(move->address, (uint64_t)(uintptr_t)address_of(f, second));
    expect_u64(trace_file_check(&file), 1);
    free_block(f, second);
    expect_ok(cuarena_check(f->arena, NULL));
}
END_TEST

START_TEST(a_reset)
{
    const char *path = trace_path("reset.csv");
    fixture_t *f = traced(KIND_CUSTOM_POOL, path);
    (void)alloc_ok(f, 512);
    (void)alloc_block(f, 512);
    step_ok(f, cuarena_reset(f->arena));
    free_ok(f, alloc_ok(f, 512));
    end_trace(f, path);
    expect_u64(trace_file_line(&file, "reset", 0)->size, 1024);
    expect_u64(trace_file_check(&file), 0);
}
END_TEST

/* ---- As without -------------------------------------------------------- */

/* Calls of all sorts at random, and a number made of all addresses. */
static uint64_t play(fixture_t *f, bool streams)
{
    random_state_t random = {7};
    void *held[64] = {NULL};
    uint64_t sum = 0, base = 0;
    bool good = true;
    for (int i = 0; i < 4000; i++) {
        void **p = &held[random_below(&random, COUNT_OF(held))];
        cuarena_stream_t stream = streams && random_below(&random, 2) ? A : B;
        if (*p != NULL)
            good = (streams ? cuarena_free_on(f->arena, *p, stream) : cuarena_free(f->arena, *p)) ==
                       CUARENA_OK &&
                   good;
        uint64_t bytes = 1 + random_below(&random, 3000);
        bool again = *p == NULL;
        *p = NULL;
        if (!again)
            continue;
        if (streams)
            (void)cuarena_alloc_on(f->arena, bytes, stream, NULL, p);
        else
            (void)cuarena_alloc(f->arena, bytes, p);
        base = base == 0 ? (uint64_t)(uintptr_t)*p : base;
        sum = sum * 31 + (*p == NULL ? 0 : (uint64_t)(uintptr_t)*p - base);
    }
    for (size_t i = 0; i < COUNT_OF(held); i++)
        expect_ok(cuarena_free(f->arena, held[i]));
    ck_assert(good);
    return sum;
}

static const char *const options_alike[] = {
    OPTIONS,
    "memory=none, preset=grow",
    "memory=none, preset=bfc",
    "memory=none, preset=mlx-cpu",
    "memory=none, preset=cupy-pool",
    "memory=none, pool=64KiB, stable=16KiB",
};

START_TEST(placement_is_the_same)
{
    char text[256];
    const char *path = trace_path("same.csv");
    fixture_t plain;
    fixture_open_text(&plain, options_alike[_i]);
    uint64_t want = play(&plain, false);
    fixture_close(&plain);
    (void)snprintf(text, sizeof text, "%s, trace=%s", options_alike[_i], path);
    fixture_t *f = opened_text(text);
    expect_u64(play(f, false), want);
    end_trace(f, path);
    expect_u64(trace_file_check(&file), 0);
}
END_TEST

START_TEST(placement_on_streams_is_the_same)
{
    const char *path = trace_path("streams.csv");
    static fixture_t plain;
    fixture_open(&plain, SIMULATED, POOL);
    uint64_t want = play(&plain, true);
    fixture_close(&plain);
    fixture_t *f = traced(SIMULATED, path);
    expect_u64(play(f, true), want);
    end_trace(f, path);
    expect_u64(trace_file_check(&file), 0);
}
END_TEST

/* ---- The file ---------------------------------------------------------- */

START_TEST(an_option_and_the_environment)
{
    char text[256];
    const char *path = trace_path("option.csv");
    (void)snprintf(text, sizeof text, "memory=none, pool=64KiB, trace=%s", path);
    ck_assert_int_eq(setenv("CUARENA_CONF", text, 1), 0);
    cuarena_config_t config;
    cuarena_t *arena;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_environment(&config));
    expect_ok(cuarena_create(&config, &arena));
    void *p;
    expect_ok(cuarena_alloc(arena, 100, &p));
    expect_ok(cuarena_free(arena, p));
    expect_ok(cuarena_destroy(&arena));
    read_back(path);
    expect_u64(trace_file_count(&file, "a"), 1);
    expect_u64(trace_file_line(&file, "trim", 0)->size, KIB(64));
}
END_TEST

START_TEST(a_null)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    size_t count;
    expect_status(cuarena_trace_begin(NULL, "x"), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_trace_begin(f->arena, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_trace_end(NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_trace_recent(NULL, NULL, 0, &count), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_trace_recent(f->arena, NULL, 1, &count), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_trace_recent(f->arena, NULL, 0, NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

START_TEST(gzip_members)
{
    unsigned char head[2] = {0, 0};
    const char *path = trace_path("packed.csv.gz");
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    cuarena_status_t status = cuarena_trace_begin(f->arena, path);
    if (status == CUARENA_UNSUPPORTED) {
        ck_assert_ptr_nonnull(strstr(last_error().message, "libz.so.1"));
        return;
    }
    expect_ok(status);
    uint64_t header = size_of_file(path);
    free_ok(f, alloc_ok(f, 100));
    expect_ok(cuarena_trace_end(f->arena));
    ck_assert(size_of_file(path) > header);
    FILE *stream = fopen(path, "rb");
    ck_assert_ptr_nonnull(stream);
    for (uint64_t at = 0; at <= header; at += header) {
        ck_assert_int_eq(fseek(stream, (long)at, SEEK_SET), 0);
        ck_assert_uint_eq(fread(head, 1, 2, stream), 2);
        ck_assert(head[0] == 0x1f && head[1] == 0x8b);
    }
    (void)fclose(stream);
}
END_TEST

/* ---- The last line ----------------------------------------------------- */

START_TEST(the_last_line_says_that_none_is_missing)
{
    const char *path = trace_path("end.csv");
    fixture_t *f = traced(KIND_CUSTOM_POOL, path);
    free_ok(f, alloc_ok(f, 100));
    end_trace(f, path);
    const trace_line_t *last = &file.lines[file.count - 1];
    expect_text(last->op, "end");
    expect_u64(last->size, 0);
    expect_u64(last->number, file.count + 1); /* behind the header */
}
END_TEST

START_TEST(the_end_of_an_arena_is_one_of_its_trace)
{
    char text[256];
    cuarena_t *arena;
    const char *path = trace_path("destroyed.csv");
    (void)snprintf(text, sizeof text, OPTIONS ", trace=%s", path);
    expect_ok(cuarena_open(text, &arena));
    expect_ok(cuarena_destroy(&arena));
    read_back(path);
    expect_text(file.lines[file.count - 1].op, "end");
}
END_TEST

/* ---- What goes wrong --------------------------------------------------- */

static int warnings;

static void count_warnings(void *user, int32_t level, const char *line)
{
    (void)user;
    warnings += level == CUARENA_LOG_WARN && strstr(line, "ends early") != NULL;
}

/* Without an assertion, for children, and where files must stay short. */
static bool allocate_much(cuarena_t *arena, int count)
{
    void *p;
    bool good = true;
    for (int i = 0; i < count; i++)
        good = good && cuarena_alloc(arena, 256, &p) == CUARENA_OK &&
               cuarena_free(arena, p) == CUARENA_OK;
    return good;
}

/* Forks; what is still in buffers of files is written once. */
static pid_t fork_here(void)
{
    (void)fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    return child;
}

START_TEST(a_full_disk)
{
    const char *path = trace_path("full.csv");
    fixture_t *f = traced(KIND_CUSTOM_POOL, path);
    struct rlimit before, limit;
    warnings = 0;
    cuarena_log_set_callback(count_warnings, NULL);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_WARN));
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 100000;
    /* Nothing is asserted meanwhile: what says so is a file, too. */
    int limited = setrlimit(RLIMIT_FSIZE, &limit);
    bool allocated = allocate_much(f->arena, 10000);
    int freed = setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(limited | freed, 0);
    ck_assert(allocated);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_OFF));
    ck_assert_int_eq(warnings, 1);
    expect_status(cuarena_trace_end(f->arena), CUARENA_DRIVER);
    ck_assert_int_eq(last_error().driver_code, EFBIG);
    read_back(path);
    (void)trace_file_check(&file);
    expect_u64(trace_file_count(&file, "end"), 0);
    expect_between(size_of_file(path), 100000 - 512, 100000);
    step_ok(f, cuarena_trace_end(f->arena));
}
END_TEST

START_TEST(a_killed_process)
{
    const char *path = trace_path("killed.csv");
    pid_t child = fork_here();
    if (child == 0) {
        cuarena_t *arena;
        (void)(cuarena_open(OPTIONS, &arena) == CUARENA_OK &&
               cuarena_trace_begin(arena, path) == CUARENA_OK && allocate_much(arena, 5000));
        (void)raise(SIGKILL);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    read_back(path);
    (void)trace_file_check(&file);
    ck_assert(trace_file_count(&file, "f") >= 1000);
    expect_u64(trace_file_count(&file, "end"), 0);
}
END_TEST

/* A process that ends as processes do leaves all lines. */
START_TEST(an_exit)
{
    const char *path = trace_path("exit.csv");
    pid_t child = fork_here();
    if (child == 0) {
        cuarena_t *arena;
        exit(cuarena_open(OPTIONS, &arena) != CUARENA_OK ||
             cuarena_trace_begin(arena, path) != CUARENA_OK || !allocate_much(arena, 10));
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    read_back(path);
    expect_u64(trace_file_count(&file, "f"), 10);
}
END_TEST

/* The child allocates, ends as processes do, and has a trace of its own. */
static void be_forked(fixture_t *f, const char *path)
{
    void *p;
    cuarena_status_t status = cuarena_alloc(f->arena, 3000, &p);
    status = status == CUARENA_OK ? cuarena_trace_end(f->arena) : status;
    status = status == CUARENA_OK ? cuarena_trace_begin(f->arena, path) : status;
    status = status == CUARENA_OK ? cuarena_free(f->arena, p) : status;
    exit(status);
}

START_TEST(a_fork)
{
    const char *path = trace_path("parent.csv");
    const char *own = trace_path("child.csv");
    fixture_t *f = traced(KIND_CUSTOM_POOL, path);
    void *p = alloc_ok(f, 1000);
    pid_t child = fork_here();
    if (child == 0)
        be_forked(f, own);
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    free_ok(f, p);
    end_trace(f, path);
    expect_u64(trace_file_count(&file, "a"), 1);
    expect_u64(trace_file_check(&file), 0);
    read_back(own);
    expect_u64(trace_file_count(&file, "a"), 2);
    expect_u64(trace_file_check(&file), 1);
}
END_TEST

/* ---- The ring ---------------------------------------------------------- */

START_TEST(the_last_events)
{
    cuarena_traced_t events[8];
    size_t count = 99;
    fixture_t *f = opened_text("memory=none, pool=64KiB, trace_ring=8");
    for (int i = 0; i < 20; i++)
        free_ok(f, alloc_ok(f, 256 * (uint64_t)(i + 1)));
    void *p;
    step(f, cuarena_alloc(f->arena, KIB(100), &p), exhausted(f));
    expect_ok(cuarena_trace_recent(f->arena, NULL, 0, &count));
    expect_u64(count, 8);
    expect_ok(cuarena_trace_recent(f->arena, events, 8, &count));
    expect_u64(count, 8);
    ck_assert_int_eq(events[7].kind, CUARENA_EVENT_FAIL);
    expect_status(events[7].status, exhausted(f));
    expect_u64(events[7].bytes, KIB(100));
    ck_assert_int_eq(events[6].kind, CUARENA_EVENT_FREE);
    ck_assert_int_eq(events[5].kind, CUARENA_EVENT_ALLOC);
    expect_u64(events[5].bytes, 256 * 20);
    expect_u64(events[5].block, events[6].block);
    expect_ok(cuarena_trace_recent(f->arena, events, 1, &count));
    expect_u64(count, 1);
    ck_assert_int_eq(events[0].kind, CUARENA_EVENT_FAIL);
}
END_TEST

START_TEST(no_ring)
{
    size_t count;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    step(f, cuarena_trace_recent(f->arena, NULL, 0, &count), CUARENA_UNSUPPORTED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace");
    suite_add_list(suite, "lines",
                   TEST_LIST(an_allocation_and_its_free, numbers_of_every_length,
                             a_block_whose_free_fails_lives_on, a_block_that_is_not_handed_out_ends,
                             ids_never_come_back, what_lives_already_comes_first, a_tag_by_its_name,
                             a_resize_and_a_free_by_it, a_refusal_and_its_steps, growth_and_trim,
                             bytes_become_idle, compactions_and_moves, blocks_that_are_watched,
                             a_reset));
    suite_add_rows(suite, "placement", placement_is_the_same, COUNT_OF(options_alike));
    suite_add_list(suite, "placement on streams", TEST_LIST(placement_on_streams_is_the_same));
    suite_add_list(suite, "file",
                   TEST_LIST(an_option_and_the_environment, a_null, gzip_members,
                             the_last_line_says_that_none_is_missing,
                             the_end_of_an_arena_is_one_of_its_trace));
    suite_add_list(suite, "failures", TEST_LIST(a_full_disk, a_killed_process, an_exit, a_fork));
    suite_add_list(suite, "ring", TEST_LIST(the_last_events, no_ring));
    return suite_main(suite);
}
