/*
 * What a tool is told by NVTX (option nvtx): each block as a region of as many bytes as were asked
 * for, from when a caller has it to when the caller gives it up, whatever the preset and the
 * memory; bytes that the library itself uses, as long as it does; and how long things take, as
 * ranges. The tool is tests/nvtx/recorder.c.
 */
#include "support/fixture_streams.h"
#include "support/scale.h"
#include "support/told.h"
#include "support/waits.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE KIB(256)
#define SKIPPED 77
#define CALLS 12 /* of the tool, of those that tell_much makes */

static uint64_t address_of_pointer(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* The region that begins at a block. */
static recorder_region_t region_of(const void *pointer)
{
    recorder_region_t region = {0};
    bool there = recorder()->recorder_region_at(address_of_pointer(pointer), &region);
    ck_assert_msg(there && region.address == address_of_pointer(pointer), "no region at %p",
                  pointer);
    return region;
}

static void expect_region(const void *pointer, uint64_t bytes)
{
    expect_u64(region_of(pointer).bytes, bytes);
}

static void expect_no_region(const void *pointer)
{
    recorder_region_t region;
    bool there = recorder()->recorder_region_at(address_of_pointer(pointer), &region);
    ck_assert_msg(!there, "a region at %p", pointer);
}

static void expect_regions(size_t count)
{
    ck_assert_uint_eq(recorder()->recorder_regions_now(), count);
}

static void expect_no_mistake(void)
{
    expect_u64(recorder()->recorder_counts().mistakes, 0);
}

/* ---- Each kind of arena ------------------------------------------------- */

START_TEST(pointers_and_blocks)
{
    fixture_t *f = opened(&arena_kinds[_i], SIZE);
    void *p = alloc_ok(f, 1001);
    cuarena_block_t block = alloc_block(f, 77);
    void *q = address_of(f, block);
    expect_region(p, 1001);
    expect_region(q, 77);
    expect_regions(2);
    free_ok(f, p);
    expect_no_region(p);
    expect_region(q, 77);
    free_block(f, block);
    expect_regions(0);
    expect_no_mistake();
}
END_TEST

START_TEST(bytes_that_are_used_again)
{
    fixture_t *f = opened(&arena_kinds[_i], SIZE);
    for (uint64_t bytes = 1; bytes < 3000; bytes += 257) {
        void *p = alloc_ok(f, bytes);
        expect_region(p, bytes);
        free_ok(f, p);
        expect_no_region(p);
    }
    expect_no_mistake();
}
END_TEST

START_TEST(another_size)
{
    fixture_t *f = opened(&arena_kinds[_i], SIZE);
    void *p = alloc_ok(f, 1001);
    void *wall = alloc_ok(f, 500);
    const uint64_t sizes[] = {999, 10, 1030, 7000, 1, 7001};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        void *old = p;
        cuarena_status_t status = cuarena_resize(f->arena, p, sizes[i], &p);
        if (status != CUARENA_UNSUPPORTED)
            expect_ok(status);
        else
            break;
        expect_region(p, sizes[i]);
        expect_regions(2);
        if (old != p)
            ck_assert_uint_ne(address_of_pointer(old), address_of_pointer(p));
    }
    free_ok(f, p);
    free_ok(f, wall);
    expect_regions(0);
    expect_no_mistake();
}
END_TEST

START_TEST(blocks_that_move)
{
    fixture_t *f = opened(&arena_kinds[_i], SIZE);
    cuarena_block_t blocks[8];
    for (size_t i = 0; i < 8; i++)
        blocks[i] = alloc_block(f, 1000 + i);
    for (size_t i = 0; i < 8; i += 2)
        free_block(f, blocks[i]);
    cuarena_status_t status = cuarena_compact(f->arena, NULL, NULL, NULL, NULL);
    ck_assert(status == CUARENA_OK || status == CUARENA_UNSUPPORTED);
    expect_sound(f);
    for (size_t i = 1; i < 8; i += 2)
        expect_region(address_of(f, blocks[i]), 1000 + i);
    expect_regions(4);
    for (size_t i = 1; i < 8; i += 2)
        free_block(f, blocks[i]);
    expect_regions(0);
    expect_no_mistake();
}
END_TEST

START_TEST(the_end_of_an_arena)
{
    fixture_t *f = new_fixture(fixture_close_forced);
    fixture_open(f, &arena_kinds[_i], SIZE);
    (void)alloc_ok(f, 1000);
    (void)alloc_block(f, 2000);
    expect_regions(2);
    fixture_close_forced(f);
    expect_regions(0);
    ck_assert_uint_eq(recorder()->recorder_heaps_now(), 0);
    expect_no_mistake();
}
END_TEST

START_TEST(a_reset)
{
    fixture_t *f = opened(&arena_kinds[_i], SIZE);
    (void)alloc_ok(f, 1000);
    (void)alloc_block(f, 2000);
    expect_ok(cuarena_reset(f->arena));
    expect_regions(0);
    void *p = alloc_ok(f, 3);
    expect_region(p, 3);
    free_ok(f, p);
    expect_no_mistake();
}
END_TEST

START_TEST(nothing_with_off)
{
    fixture_t *f = prepared(&arena_kinds[_i], SIZE);
    f->config.nvtx = CUARENA_NVTX_OFF;
    fixture_create(f);
    free_ok(f, alloc_ok(f, 1000));
    expect_u64(recorder()->recorder_counts().calls, 0);
}
END_TEST

START_TEST(nothing_of_host_memory_with_auto)
{
    fixture_t *f = prepared(&arena_kinds[_i], SIZE);
    f->config.nvtx = CUARENA_NVTX_AUTO;
    fixture_create(f);
    free_ok(f, alloc_ok(f, 1000));
    expect_u64(recorder()->recorder_counts().calls, 0);
}
END_TEST

/* ---- Kinds of blocks ---------------------------------------------------- */

START_TEST(dedicated_blocks)
{
    fixture_t *f = opened(KIND_CUSTOM_GROW, SIZE);
    void *p = alloc_dedicated(f, 5000);
    expect_region(p, 5000);
    free_ok(f, p);
    expect_regions(0);
    expect_no_mistake();
}
END_TEST

START_TEST(adopted_bytes_are_their_owners)
{
    static char bytes[4096] __attribute__((aligned(4096)));
    fixture_t *f = opened(KIND_CUSTOM_POOL, SIZE);
    cuarena_block_t block = 0;
    expect_ok(cuarena_adopt(f->arena, bytes, sizeof bytes, 0, &block));
    expect_regions(0);
    free_block(f, block);
    expect_no_mistake();
}
END_TEST

START_TEST(empty_blocks_have_none)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, SIZE);
    cuarena_block_t block = alloc_block(f, 0);
    expect_regions(0);
    expect_ok(cuarena_block_resize(f->arena, block, 100));
    expect_region(address_of(f, block), 100);
    expect_ok(cuarena_block_resize(f->arena, block, 0));
    expect_regions(0);
    free_block(f, block);
    expect_no_mistake();
}
END_TEST

START_TEST(a_region_has_the_name_of_its_tag)
{
    fixture_t *f = opened(KIND_CUSTOM_POOL, SIZE);
    cuarena_tag_t tag = 0;
    expect_ok(cuarena_tag(f->arena, "weights", &tag));
    void *p = alloc_tagged(f, 1000, tag);
    void *q = alloc_ok(f, 1000);
    expect_text(region_of(p).name, "weights");
    ck_assert_ptr_nonnull(strstr(region_of(q).name, "arena '"));
    free_ok(f, p);
    free_ok(f, q);
}
END_TEST

/* What is queued behind a free is wrong on its own stream too. */
START_TEST(a_free_on_a_stream_ends_a_region_at_once)
{
    fixture_t *f = prepared(SIMULATED, SIZE);
    fixture_create(f);
    void *p = NULL;
    expect_ok(cuarena_alloc_on(f->arena, 1000, sim_handle(1), NULL, &p));
    expect_region(p, 1000);
    expect_ok(cuarena_record_use(f->arena, p, sim_handle(2)));
    expect_ok(cuarena_free_on(f->arena, p, sim_handle(1)));
    expect_regions(0);
    expect_ok(cuarena_alloc_on(f->arena, 10, sim_handle(3), NULL, &p));
    expect_region(p, 10);
    expect_ok(cuarena_free_on(f->arena, p, sim_handle(3)));
    expect_regions(0);
    expect_no_mistake();
}
END_TEST

START_TEST(a_block_whose_free_fails_has_its_region)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, SIZE);
    f->config.zero = CUARENA_ZERO_FREE;
    fixture_create(f);
    void *p = alloc_ok(f, 1000);
    f->memory.fail_op = OP_ZERO;
    f->memory.fail_in = 1;
    f->memory.fail_with = CUARENA_DRIVER;
    expect_status(cuarena_free(f->arena, p), CUARENA_DRIVER);
    expect_region(p, 1000);
    free_ok(f, p);
    expect_regions(0);
    expect_no_mistake();
}
END_TEST

START_TEST(a_block_that_is_not_handed_out_has_none)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, SIZE);
    f->config.zero = CUARENA_ZERO_ALLOC;
    fixture_create(f);
    f->memory.fail_op = OP_ZERO;
    f->memory.fail_in = 1;
    f->memory.fail_with = CUARENA_DRIVER;
    void *p = NULL;
    expect_status(cuarena_alloc(f->arena, 1000, &p), CUARENA_DRIVER);
    expect_regions(0);
    expect_no_mistake();
}
END_TEST

START_TEST(a_pool_that_moves)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, SIZE);
    f->config.address_bytes = 0;
    fixture_create(f);
    cuarena_block_t block = alloc_block(f, 1000);
    const void *before = address_of(f, block);
    expect_ok(cuarena_resize_pool(f->arena, 4 * SIZE));
    expect_sound(f);
    ck_assert_ptr_ne(address_of(f, block), before);
    expect_region(address_of(f, block), 1000);
    expect_regions(1);
    ck_assert_uint_eq(recorder()->recorder_heaps_now(), 1);
    free_block(f, block);
    expect_no_mistake();
}
END_TEST

START_TEST(guarded_blocks_and_the_quarantine)
{
    fixture_t *f = prepared(KIND_CUSTOM_POOL, SIZE);
    f->config.guard_bytes = 64;
    f->config.fill = CUARENA_FILL_BOTH;
    f->config.quarantine_bytes = KIB(16);
    fixture_create(f);
    void *p = alloc_ok(f, 1001);
    expect_region(p, 1001);
    expect_ok(cuarena_resize(f->arena, p, 5001, &p));
    expect_region(p, 5001);
    expect_ok(cuarena_check(f->arena, NULL));
    free_ok(f, p);
    expect_regions(0);
    expect_ok(cuarena_check(f->arena, NULL)); /* nothing is in the quarantine any more */
    expect_no_mistake();
}
END_TEST

/* ---- Capture sessions ---------------------------------------------------- */

/* Each launch of the graph uses what was freed during its capture. */
START_TEST(a_session_keeps_what_it_freed)
{
    fixture_t *f = prepared(SIMULATED, SIZE);
    fixture_create(f);
    cuarena_capture_t *session = NULL;
    void *p = NULL, *q = NULL;
    expect_ok(cuarena_capture_begin(f->arena, sim_handle(1), &session));
    expect_ok(cuarena_alloc_on(f->arena, 1000, sim_handle(1), NULL, &p));
    expect_region(p, 1000);
    expect_ok(cuarena_free_on(f->arena, p, sim_handle(1)));
    expect_region(p, 1000);
    expect_ok(cuarena_alloc_on(f->arena, 10, sim_handle(1), NULL, &q));
    expect_ptr(q, p);
    ck_assert(recorder()->recorder_may_use(address_of_pointer(p), 1000));
    expect_ok(cuarena_capture_end(f->arena, session));
    ck_assert(recorder()->recorder_may_use(address_of_pointer(p), 1000));
    expect_ok(cuarena_capture_release(f->arena, &session, sim_handle(1)));
    expect_region(q, 10);
    expect_ok(cuarena_free_on(f->arena, q, sim_handle(1)));
    expect_regions(0);
    expect_no_mistake();
}
END_TEST

/* ---- Bytes that the library uses ----------------------------------------- */

static cuarena_memory_ops_t plain; /* the functions of the test memory */

static void expect_may_use(const void *address, uint64_t bytes)
{
    ck_assert_msg(recorder()->recorder_may_use(address_of_pointer(address), bytes),
                  "the library uses %llu bytes at %p", (unsigned long long)bytes, address);
}

static cuarena_status_t watched_relocate(void *user, const cuarena_relocation_t *list, size_t count,
                                         cuarena_stream_t stream, size_t *done_out)
{
    for (size_t i = 0; i < count; i++) {
        expect_may_use(list[i].from, list[i].bytes);
        expect_may_use(list[i].to, list[i].bytes);
    }
    return plain.relocate(user, list, count, stream, done_out);
}

static cuarena_status_t watched_zero(void *user, void *address, uint64_t bytes,
                                     cuarena_stream_t stream)
{
    expect_may_use(address, bytes);
    return plain.zero_bytes(user, address, bytes, stream);
}

static cuarena_status_t watched_set(void *user, void *address, int32_t value, uint64_t bytes,
                                    cuarena_stream_t stream)
{
    expect_may_use(address, bytes);
    return plain.set_bytes(user, address, value, bytes, stream);
}

static cuarena_status_t watched_read(void *user, void *to, const void *address, uint64_t bytes)
{
    expect_may_use(address, bytes);
    return plain.read_bytes(user, to, address, bytes);
}

static fixture_t *watched(const arena_kind_t *kind)
{
    fixture_t *f = prepared(kind, SIZE);
    plain = f->memory.ops;
    f->memory.ops.relocate = watched_relocate;
    f->memory.ops.zero_bytes = watched_zero;
    f->memory.ops.set_bytes = watched_set;
    f->memory.ops.read_bytes = watched_read;
    return f;
}

/* Copies are of whole granules, into free bytes and over blocks that move as well. */
static void compact_some(fixture_t *f)
{
    cuarena_block_t blocks[12];
    for (size_t i = 0; i < 12; i++)
        blocks[i] = alloc_block(f, 100 + 333 * (i % 5));
    for (size_t i = 0; i < 12; i += 3)
        free_block(f, blocks[i]);
    expect_ok(cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    expect_sound(f);
    for (size_t i = 0; i < 12; i++)
        if (i % 3 != 0) {
            expect_region(address_of(f, blocks[i]), 100 + 333 * (i % 5));
            free_block(f, blocks[i]);
        }
    expect_regions(0);
    expect_no_mistake();
}

START_TEST(copies_of_a_compaction)
{
    fixture_t *f = watched(KIND_CUSTOM_POOL);
    fixture_create(f);
    compact_some(f);
    ck_assert_uint_ne(f->memory.counts[OP_RELOCATE], 0);
}
END_TEST

START_TEST(zeroes_and_their_compaction)
{
    fixture_t *f = watched(KIND_CUSTOM_POOL);
    f->config.zero = CUARENA_ZERO_FREE;
    fixture_create(f);
    compact_some(f);
    void *p = alloc_zeroed(f, 999);
    expect_ok(cuarena_resize(f->arena, p, 11, &p));
    expect_region(p, 11);
    free_ok(f, p);
    ck_assert_uint_ne(f->memory.counts[OP_ZERO], 0);
}
END_TEST

START_TEST(guards_and_patterns)
{
    fixture_t *f = watched(KIND_CUSTOM_GROW);
    f->config.guard_bytes = 100;
    f->config.fill = CUARENA_FILL_BOTH;
    f->config.quarantine_bytes = KIB(4);
    fixture_create(f);
    compact_some(f);
    expect_ok(cuarena_check(f->arena, NULL));
    ck_assert_uint_ne(f->memory.counts[OP_SET], 0);
    ck_assert_uint_ne(f->memory.counts[OP_READ], 0);
}
END_TEST

/* ---- Threads and processes ------------------------------------------------ */

static void *alloc_and_free(void *user)
{
    cuarena_t *arena = user;
    for (uint64_t i = 0; i < 2000; i++) {
        void *p = NULL;
        expect_ok(cuarena_alloc(arena, 1 + i % 700, &p));
        expect_region(p, 1 + i % 700);
        expect_ok(cuarena_free(arena, p));
    }
    return NULL;
}

/* The caches of threads would hand out bytes that nobody hears of. */
START_TEST(threads_that_would_have_caches)
{
    fixture_t *f = opened(KIND_NONE_POOL, SIZE);
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, alloc_and_free, f->arena), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    expect_regions(0);
    expect_no_mistake();
}
END_TEST

/* The tool's threads do not exist in a child, which tells it of nothing. */
START_TEST(a_forked_child)
{
    fixture_t *f = opened(KIND_NONE_POOL, SIZE);
    void *p = alloc_ok(f, 1000);
    const uint64_t calls = recorder()->recorder_counts().calls;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        void *q = NULL;
        bool fine = cuarena_alloc(f->arena, 10, &q) == CUARENA_OK &&
                    cuarena_free(f->arena, p) == CUARENA_OK &&
                    cuarena_destroy_forced(&f->arena) == CUARENA_OK &&
                    recorder()->recorder_counts().calls == calls;
        _exit(fine ? 0 : 1);
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    expect_region(p, 1000);
    free_ok(f, p);
}
END_TEST

/* ---- Signals -------------------------------------------------------------- */

/* What a handler is about: another thread calls the arena, and then the handler does. */
static struct {
    cuarena_t *arena;
    waiter_t waiter;
    atomic_bool called; /* the other thread goes on */
    int handled;
    cuarena_status_t status;
} beside;

static void *wait_beside(void *unused)
{
    while (!atomic_load(&beside.called))
        (void)sched_yield();
    waiter_begin(&beside.waiter);
    (void)alloc_and_free(beside.arena);
    waiter_end(&beside.waiter);
    return unused;
}

static void on_signal(int number)
{
    void *p = NULL;
    (void)number;
    beside.handled++;
    atomic_store(&beside.called, true);
    (void)falls_asleep(&beside.waiter);
    beside.status = cuarena_alloc(beside.arena, 1000, &p);
    if (beside.status == CUARENA_OK)
        expect_ok(cuarena_free(beside.arena, p));
}

/* Grows, tells of blocks, compacts, runs out, and gives back. */
static void tell_much(fixture_t *f)
{
    void *p = alloc_ok(f, KIB(100));
    step_ok(f, cuarena_resize(f->arena, p, KIB(50), &p));
    cuarena_block_t block = alloc_block(f, 1000);
    free_ok(f, p);
    expect_ok(cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    free_block(f, block);
    expect_ok(cuarena_trim(f->arena, 0, NULL));
}

/* Its handler must not wait for a thread that has the arena and waits for the tool. Row n is the
 * nth call of the tool. */
START_TEST(a_signal_within_a_call_of_the_tool_waits_for_its_end)
{
    pthread_t thread;
    fixture_t *f = opened(KIND_CUSTOM_GROW, SIZE);
    beside.arena = f->arena;
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_beside, NULL), 0);
    ck_assert_msg(signal(SIGUSR1, on_signal) != SIG_ERR, "no handler");
    recorder()->recorder_raise_at((uint64_t)_i + 1, SIGUSR1);
    tell_much(f);
    ck_assert_int_eq(beside.handled, 1);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_msg(beside.status == CUARENA_OK || beside.status == CUARENA_REENTERED,
                  "the handler's call was %s", cuarena_status_name(beside.status));
    expect_regions(0);
    expect_no_mistake();
}
END_TEST

/* ---- Ranges --------------------------------------------------------------- */

static void expect_ranges(const char *name, uint64_t least, uint64_t payload)
{
    uint64_t largest = 0;
    uint64_t count = recorder()->recorder_ranges_of(name, &largest);
    ck_assert_msg(count >= least, "%llu ranges '%s'", (unsigned long long)count, name);
    ck_assert_msg(largest >= payload, "'%s' of %llu", name, (unsigned long long)largest);
    ck_assert_uint_eq(recorder()->recorder_depth(), 0);
}

START_TEST(growth_compaction_and_running_out)
{
    fixture_t *f = opened(KIND_CUSTOM_GROW, SIZE);
    void *p = alloc_ok(f, KIB(100));
    expect_ranges("grow", 1, KIB(100));
    expect_ranges("run out", 1, KIB(100));
    free_ok(f, p);
    cuarena_block_t below = alloc_block(f, 1000);
    cuarena_block_t above = alloc_block(f, 1000);
    free_block(f, below);
    expect_ok(cuarena_compact(f->arena, NULL, NULL, NULL, NULL));
    expect_ranges("compact", 1, 1000);
    void *none = NULL;
    expect_status(cuarena_alloc(f->arena, 2 * SIZE, &none), exhausted(f));
    expect_ranges("run out", 2, 2 * SIZE);
    free_block(f, above);
    expect_no_mistake();
}
END_TEST

/* ---- Tools that want less -------------------------------------------------- */

static fixture_t *with_tool_that_lacks(const char *what)
{
    setenv("RECORDER_LACKS", what, 1);
    fixture_t *f = opened(KIND_CUSTOM_GROW, SIZE);
    unsetenv("RECORDER_LACKS");
    return f;
}

START_TEST(a_profiler_takes_ranges_only)
{
    fixture_t *f = with_tool_that_lacks("memory");
    free_ok(f, alloc_ok(f, 1000));
    expect_ranges("grow", 1, 1000);
    expect_u64(recorder()->recorder_counts().begun, 0);
}
END_TEST

START_TEST(a_checker_takes_memory_only)
{
    fixture_t *f = with_tool_that_lacks("ranges");
    void *p = alloc_ok(f, 1000);
    expect_region(p, 1000);
    free_ok(f, p);
    expect_u64(recorder()->recorder_counts().ranges, 0);
    expect_no_mistake();
}
END_TEST

START_TEST(a_checker_without_names)
{
    fixture_t *f = with_tool_that_lacks("names");
    void *p = alloc_ok(f, 1000);
    expect_text(region_of(p).name, "");
    free_ok(f, p);
}
END_TEST

START_TEST(a_checker_that_takes_a_part_gets_nothing)
{
    fixture_t *f = with_tool_that_lacks("resize");
    free_ok(f, alloc_ok(f, 1000));
    expect_u64(recorder()->recorder_counts().heaps, 0);
}
END_TEST

START_TEST(a_tool_that_wants_nothing)
{
    fixture_t *f = with_tool_that_lacks("all");
    free_ok(f, alloc_ok(f, 1000));
    expect_u64(recorder()->recorder_counts().calls, 0);
}
END_TEST

static void hear(void *user, int32_t level, const char *line)
{
    (void)level;
    if (strstr(line, "NVTX") != NULL || strstr(line, "the tool ") != NULL)
        (void)snprintf(user, 256, "%s", line);
}

START_TEST(a_tool_that_cannot_be_loaded)
{
    char line[256] = "";
    setenv("NVTX_INJECTION64_PATH", "/nowhere/tool.so", 1);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_WARN));
    cuarena_log_set_callback(hear, line);
    fixture_t *f = prepared(KIND_CUSTOM_GROW, SIZE);
    f->config.nvtx = CUARENA_NVTX_ON;
    fixture_create(f);
    cuarena_log_set_callback(NULL, NULL);
    free_ok(f, alloc_ok(f, 1000));
    ck_assert_ptr_nonnull(strstr(line, "NVTX_INJECTION64_PATH"));
    ck_assert_ptr_nonnull(strstr(line, "/nowhere/tool.so"));
}
END_TEST

/* What is said of the tool that the environment names; its arena works. */
static const char *said_of(const char *tool)
{
    static char line[256];
    setenv("NVTX_INJECTION64_PATH", tool, 1);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_DEBUG));
    cuarena_log_set_callback(hear, line);
    fixture_t *f = prepared(KIND_CUSTOM_GROW, SIZE);
    f->config.nvtx = CUARENA_NVTX_ON;
    fixture_create(f);
    cuarena_log_set_callback(NULL, NULL);
    free_ok(f, alloc_ok(f, 1000));
    return line;
}

START_TEST(a_path_that_says_no_tool)
{
    expect_text(said_of("./."), "");
}
END_TEST

START_TEST(a_path_that_is_empty)
{
    expect_text(said_of(""), "");
}
END_TEST

START_TEST(a_library_that_is_no_tool)
{
    ck_assert_ptr_nonnull(strstr(said_of("libc.so.6"), "libc.so.6 takes nothing that is told"));
}
END_TEST

START_TEST(a_tool_is_named_in_the_log)
{
    ck_assert_ptr_nonnull(strstr(said_of(getenv("CUARENA_TEST_NVTX")), "takes regions of memory"));
}
END_TEST

int main(void)
{
    const char *tool = getenv("CUARENA_TEST_NVTX");
    if (tool == NULL || access(tool, R_OK) != 0) {
        puts("skipped: CUARENA_TEST_NVTX names no tool, which a shared build makes");
        return SKIPPED;
    }
    setenv("NVTX_INJECTION64_PATH", tool, 1);
    setenv("CK_FORK", "yes", 1); /* a process loads one tool, once */
    Suite *suite = suite_create("nvtx");
#define ADD(test) suite_add_rows(suite, #test, test, HOST_KIND_COUNT)
    ADD(pointers_and_blocks);
    ADD(bytes_that_are_used_again);
    ADD(another_size);
    ADD(blocks_that_move);
    ADD(the_end_of_an_arena);
    ADD(a_reset);
    ADD(nothing_with_off);
    ADD(nothing_of_host_memory_with_auto);
    suite_add_list(suite, "blocks",
                   TEST_LIST(dedicated_blocks, adopted_bytes_are_their_owners,
                             empty_blocks_have_none, a_region_has_the_name_of_its_tag,
                             a_free_on_a_stream_ends_a_region_at_once,
                             a_block_whose_free_fails_has_its_region,
                             a_block_that_is_not_handed_out_has_none, a_pool_that_moves,
                             guarded_blocks_and_the_quarantine, a_session_keeps_what_it_freed));
    suite_add_list(
        suite, "the library's own",
        TEST_LIST(copies_of_a_compaction, zeroes_and_their_compaction, guards_and_patterns));
    suite_add_list(suite, "threads and processes",
                   TEST_LIST(threads_that_would_have_caches, a_forked_child));
    add_test_unless(
        suite_add_case(suite, "signals"), a_signal_within_a_call_of_the_tool_waits_for_its_end,
        CALLS, SCALE_THREAD_SANITIZED ? "the handler allocates, which the checker refuses" : NULL);
    suite_add_list(suite, "ranges", TEST_LIST(growth_compaction_and_running_out));
    suite_add_list(suite, "tools",
                   TEST_LIST(a_profiler_takes_ranges_only, a_checker_takes_memory_only,
                             a_checker_without_names, a_checker_that_takes_a_part_gets_nothing,
                             a_tool_that_wants_nothing, a_tool_that_cannot_be_loaded,
                             a_path_that_says_no_tool, a_path_that_is_empty,
                             a_library_that_is_no_tool, a_tool_is_named_in_the_log));
    return suite_main(suite);
}
