/*
 * The table "What it guarantees" of README.md, a test for each row, named after it. Rows that are
 * about costs are in check_guarantees_cost.c.
 */
#include "support/configs.h"
#include "support/fixture.h"
#include "support/fixture_streams.h"
#include "support/scale.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- alignment ----------------------------------------------------------- */

/* `asked` 0: the arena's own. A neighbour sees to it that the first granule is not all that is
 * tried. */
static void expect_aligned(cuarena_t *arena, uint64_t asked, uint64_t alignment)
{
    cuarena_request_t request;
    void *p, *q;
    cuarena_request_init(&request);
    request.alignment = asked;
    expect_ok(cuarena_alloc(arena, 1, &p));
    expect_ok(cuarena_alloc_with(arena, 1, &request, &q));
    expect_u64((uintptr_t)q % alignment, 0);
    expect_ok(cuarena_free(arena, p));
    expect_ok(cuarena_free(arena, q));
}

START_TEST(alignment)
{
    for (uint64_t own = 8; own <= KIB(4); own *= 2) {
        char options[64];
        snprintf(options, sizeof options, "pool=64MiB,alignment=%" PRIu64, own);
        cuarena_t *arena = arena_of(own == 256 ? "pool=64MiB" : options);
        expect_aligned(arena, 0, own);
        for (uint64_t more = own; more <= MIB(4); more *= 4)
            expect_aligned(arena, more, more);
        arena_close(arena);
    }
}
END_TEST

/* ---- bytes freed on a stream --------------------------------------------- */

START_TEST(bytes_freed_on_a_stream)
{
    fixture_t *f = opened(SIMULATED, KIB(64));
    void *p = use_anew(f, KIB(64), A);
    sim_calls(&f->sim);
    ck_assert_ptr_eq(alloc_on(f, KIB(64), A), p); /* its own: at once */
    expect_no_calls(f);
    sim_write(&f->sim, A, p, KIB(64), 2);
    free_on(f, p, A);
    expect_no_calls(f);
    void *q = alloc_on(f, KIB(64), B); /* another's: behind an event */
    expect_u64(f->sim.counts[SIM_RECORD], 1);
    expect_u64(f->sim.counts[SIM_WAIT], 1);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 0);
    sim_write(&f->sim, B, q, KIB(64), 3);
    sim_run_all(&f->sim);
    free_on(f, q, B);
}
END_TEST

/* By the same stream and by another. */
START_TEST(bytes_freed_on_a_stream_of_memory_that_the_cpu_touches)
{
    fixture_t *f = prepared(SIMULATED_HOST, KIB(64));
    fixture_create(f);
    void *p = use_anew(f, KIB(64), A);
    expect_u64(f->sim.counts[SIM_RECORD], 0);
    void *q = alloc_on(f, KIB(64), _i == 0 ? A : B);
    ck_assert_ptr_eq(q, p);
    expect_u64(f->sim.counts[SIM_RECORD], 1);
    expect_u64(f->sim.counts[SIM_WAIT_HOST], 1);
    sim_host_write(&f->sim, q, KIB(64), 2); /* a fault if the host knew of no event */
    expect_sound(f);
    free_ok(f, q);
}
END_TEST

/* ---- waste in a block, refusal ------------------------------------------- */

START_TEST(waste_in_a_block)
{
    static const char *const options[] = {"pool=16MiB", "pool=16MiB,alignment=8",
                                          "pool=16MiB,alignment=4096", "preset=grow,limit=16MiB"};
    static const uint64_t alignments[] = {256, 8, 4096, 256};
    random_state_t random = {9};
    cuarena_t *arena = arena_of(options[_i]);
    for (int n = 0; n < 2000; n++) {
        void *p;
        uint64_t requested, allocated;
        uint64_t bytes = 1 + random_below(&random, KIB(64));
        expect_ok(cuarena_alloc(arena, bytes, &p));
        expect_ok(cuarena_size_of(arena, p, &requested, &allocated));
        expect_u64(requested, bytes);
        expect_between(allocated, bytes, bytes + alignments[_i] - 1);
        if (n % 4 != 0)
            expect_ok(cuarena_free(arena, p));
        if (n % 400 == 399)
            expect_ok(cuarena_reset(arena));
    }
    expect_ok(cuarena_reset(arena));
    arena_close(arena);
}
END_TEST

static cuarena_inspection_t inspect(cuarena_t *arena)
{
    cuarena_inspection_t inspection;
    cuarena_inspection_init(&inspection);
    expect_ok(cuarena_inspect(arena, CUARENA_REGION_ALL, &inspection));
    return inspection;
}

/* The largest range is served to its last byte, and one byte more is not. */
static void expect_limit_is_the_largest(cuarena_t *arena)
{
    void *p = UNTOUCHED;
    cuarena_inspection_t now = inspect(arena);
    uint64_t more = now.largest_bytes + 1;
    cuarena_status_t want = more <= now.free_bytes ? CUARENA_FRAGMENTED : CUARENA_OUT_OF_MEMORY;
    expect_status(cuarena_alloc(arena, more, &p), want);
    ck_assert_ptr_eq(p, UNTOUCHED);
    expect_u64(last_error().asked_bytes, more);
    expect_u64(last_error().free_bytes, now.free_bytes);
    expect_u64(last_error().largest_bytes, now.largest_bytes);
    if (now.largest_bytes == 0)
        return;
    expect_ok(cuarena_alloc(arena, now.largest_bytes, &p));
    expect_ok(cuarena_free(arena, p));
}

START_TEST(refusal)
{
    enum {
        COUNT = 300
    };
    void *blocks[COUNT] = {NULL};
    random_state_t random = {scale_seed("check_guarantees")};
    cuarena_t *arena = arena_of("memory=none,pool=16MiB");
    for (int n = 0; n < 10000; n++) {
        void **p = &blocks[random_below(&random, COUNT)];
        uint64_t bytes = 1 + random_below(&random, KIB(128));
        cuarena_status_t want =
            bytes <= inspect(arena).largest_bytes ? CUARENA_OK : CUARENA_FRAGMENTED;
        expect_ok(cuarena_free(arena, *p));
        *p = NULL;
        if (want == CUARENA_OK)
            expect_ok(cuarena_alloc(arena, bytes, p));
        if (n % 16 == 0)
            expect_limit_is_the_largest(arena);
    }
    for (int i = 0; i < COUNT; i++)
        expect_ok(cuarena_free(arena, blocks[i]));
    arena_close(arena);
}
END_TEST

/* Not for want of room: what is below the limit is served. */
START_TEST(refusal_by_a_limit_that_was_set)
{
    void *p, *out = UNTOUCHED;
    cuarena_amount_t limit = {.value = KIB(256)};
    cuarena_t *arena = arena_of("memory=none,pool=1MiB");
    expect_ok(cuarena_alloc(arena, KIB(128), &p));
    expect_ok(cuarena_set_limit(arena, CUARENA_LIMIT_LIVE, limit, NULL));
    expect_status(cuarena_alloc(arena, KIB(128) + 1, &out), CUARENA_LIMIT);
    expect_u64(last_error().largest_bytes, inspect(arena).largest_bytes);
    ck_assert_ptr_eq(out, UNTOUCHED);
    expect_ok(cuarena_alloc(arena, KIB(128), &out));
    expect_ok(cuarena_free(arena, out));
    expect_ok(cuarena_free(arena, p));
    arena_close(arena);
}
END_TEST

/* ---- double, stale, foreign, interior free ------------------------------- */

static void refuse_pointer(cuarena_t *arena, void *pointer)
{
    expect_status(cuarena_free(arena, pointer), CUARENA_STALE);
    expect_ok(cuarena_validate(arena, NULL, 0));
}

static void refuse_block(cuarena_t *arena, cuarena_block_t block)
{
    expect_status(cuarena_block_free(arena, block), CUARENA_STALE);
    expect_ok(cuarena_validate(arena, NULL, 0));
}

START_TEST(double_stale_foreign_interior_free)
{
    cuarena_t *arena = arena_of("memory=none,pool=1MiB");
    cuarena_t *other = arena_of("memory=none,pool=1MiB");
    cuarena_block_t block, foreign;
    void *p, *q, *strange;
    expect_ok(cuarena_alloc(arena, KIB(64), &p));
    expect_ok(cuarena_alloc(other, KIB(64), &strange));
    expect_ok(cuarena_block_alloc(arena, KIB(64), &block));
    expect_ok(cuarena_block_alloc(other, KIB(64), &foreign));
    refuse_pointer(arena, (char *)p + 256);
    refuse_pointer(arena, (char *)p + 1);
    refuse_pointer(arena, strange);
    refuse_block(arena, foreign);
    expect_u64(arena_stats(arena).live_blocks, 2);
    expect_u64(arena_stats(other).live_blocks, 2);
    expect_ok(cuarena_free(arena, p));
    expect_ok(cuarena_block_free(arena, block));
    refuse_pointer(arena, p);
    refuse_block(arena, block);
    /* An id is stale for ever; an address is whose it is now. */
    expect_ok(cuarena_alloc(arena, MIB(1), &q));
    refuse_block(arena, block);
    expect_ok(cuarena_free(arena, q));
    for (int i = 0; i < 3; i++)
        expect_ok(cuarena_alloc(arena, KIB(64), &q));
    refuse_block(arena, block);
    expect_ok(cuarena_reset(arena));
    expect_ok(cuarena_reset(other));
    arena_close(arena);
    arena_close(other);
}
END_TEST

/* ---- a failed call ------------------------------------------------------- */

typedef struct picture {
    cuarena_block_info_t blocks[16];
    size_t count;
    cuarena_stats_t stats;
} picture_t;

/* Without what counts refusals and calls, and what a plan keeps for the next one. */
static picture_t picture_of(cuarena_t *arena)
{
    picture_t picture;
    uint64_t cursor = 0;
    memset(&picture, 0, sizeof picture);
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_blocks(arena, &cursor, picture.blocks, 16, &picture.count));
    picture.stats = arena_stats(arena);
    picture.stats.failed = 0;
    picture.stats.memory_calls = 0;
    picture.stats.bookkeeping_bytes = 0;
    return picture;
}

static void expect_same_picture(cuarena_t *arena, const picture_t *before)
{
    picture_t now = picture_of(arena);
    expect_u64(now.count, before->count);
    expect_u64(now.stats.reserved_bytes, before->stats.reserved_bytes);
    ck_assert_mem_eq(now.blocks, before->blocks, sizeof now.blocks);
    ck_assert_mem_eq(&now.stats, &before->stats, sizeof now.stats);
}

#define refused(call)                                                                              \
    do {                                                                                           \
        ck_assert_int_ne(call, CUARENA_OK);                                                        \
        ck_assert_ptr_eq(out, UNTOUCHED);                                                          \
        expect_u64(block_out, 77);                                                                 \
        expect_same_picture(arena, &before);                                                       \
    } while (0)

START_TEST(a_failed_call)
{
    cuarena_t *arena = arena_of("memory=none,pool=1MiB");
    cuarena_request_t odd;
    cuarena_block_t block, block_out = 77;
    void *p, *stale, *out = UNTOUCHED;
    cuarena_request_init(&odd);
    odd.alignment = 3;
    expect_ok(cuarena_alloc(arena, KIB(64), &p));
    expect_ok(cuarena_block_alloc(arena, KIB(64), &block));
    expect_ok(cuarena_alloc(arena, KIB(64), &stale));
    expect_ok(cuarena_free(arena, stale));
    picture_t before = picture_of(arena);
    refused(cuarena_alloc(arena, MIB(1), &out));
    refused(cuarena_alloc(arena, UINT64_MAX, &out));
    refused(cuarena_alloc_with(arena, 1, &odd, &out));
    refused(cuarena_alloc_array(arena, UINT64_MAX, 2, NULL, &out));
    refused(cuarena_resize(arena, p, MIB(2), &out));
    refused(cuarena_resize(arena, stale, 1, &out));
    refused(cuarena_pin(arena, p));
    refused(cuarena_unpin(arena, stale));
    refused(cuarena_block_alloc(arena, MIB(2), &block_out));
    refused(cuarena_block_of(arena, stale, &block_out));
    refused(cuarena_block_resize(arena, block, MIB(2)));
    refused(cuarena_block_unpin(arena, block));
    refused(cuarena_adopt(arena, (void *)1, 1, 0, &block_out));
    refused(cuarena_resize_pool(arena, KIB(64)));
    refused(cuarena_destroy(&arena));
    expect_ok(cuarena_free(arena, p));
    expect_ok(cuarena_block_free(arena, block));
    arena_close(arena);
}
END_TEST

/* What a refused request may leave: free bytes went back, since it would have fitted beside the
 * blocks that live; one that would not gives back nothing. */
START_TEST(a_failed_call_may_have_given_back_free_bytes)
{
    fixture_t f;
    void *out = UNTOUCHED;
    fixture_open(&f, KIND_CUSTOM_GROW, MIB(1));
    void *kept = alloc_ok(&f, KIB(64));
    void *freed = alloc_ok(&f, KIB(256));
    void *end = alloc_ok(&f, KIB(64));
    free_ok(&f, freed);
    picture_t before = picture_of(f.arena);
    ck_assert_int_ne(cuarena_alloc(f.arena, KIB(960), &out), CUARENA_OK);
    expect_same_picture(f.arena, &before);
    f.memory.budget_bytes = KIB(512);
    ck_assert_int_ne(cuarena_alloc(f.arena, KIB(512), &out), CUARENA_OK);
    ck_assert_ptr_eq(out, UNTOUCHED);
    picture_t after = picture_of(f.arena);
    ck_assert_mem_eq(after.blocks, before.blocks, sizeof after.blocks);
    expect_u64(after.stats.reserved_bytes, before.stats.reserved_bytes - KIB(256));
    f.memory.budget_bytes = MIB(1);
    free_ok(&f, kept);
    free_ok(&f, end);
    fixture_close(&f);
}
END_TEST

static cuarena_cache_stats_t cache_of(cuarena_t *arena)
{
    cuarena_cache_stats_t stats;
    cuarena_cache_stats_init(&stats);
    expect_ok(cuarena_cache_stats(arena, &stats));
    return stats;
}

/* Likewise: it would have fitted beside the block that lives. */
START_TEST(a_failed_call_may_have_ended_cached_blocks)
{
    fixture_t f;
    void *out = UNTOUCHED;
    fixture_prepare(&f, KIND_CUSTOM_GROW, MIB(1));
    f.config.keep = CUARENA_KEEP_CACHE;
    fixture_create(&f);
    void *kept = alloc_ok(&f, KIB(64));
    paint(&f, kept, KIB(64), 7);
    free_ok(&f, alloc_ok(&f, KIB(256)));
    expect_u64(cache_of(f.arena).cached_blocks, 1);
    f.memory.budget_bytes = KIB(320);
    ck_assert_int_ne(cuarena_alloc(f.arena, KIB(512), &out), CUARENA_OK);
    ck_assert_ptr_eq(out, UNTOUCHED);
    expect_u64(cache_of(f.arena).cached_blocks, 0);
    expect_u64(arena_stats(f.arena).live_blocks, 1);
    expect_painted(&f, kept, KIB(64), 7);
    f.memory.budget_bytes = MIB(1);
    free_ok(&f, kept);
    fixture_close(&f);
}
END_TEST

static void expect_moved_as_reported(fixture_t *f, const heard_t *heard, cuarena_block_t block,
                                     const void *before)
{
    const cuarena_relocation_t *move = heard_of(heard, block);
    void *now = address_of(f, block);
    ck_assert_ptr_eq(now, move == NULL ? before : move->to);
    if (move != NULL)
        ck_assert_ptr_eq(move->from, before);
}

/* Takes the room that moves made, as another thread might. */
typedef struct rival {
    fixture_t *f;
    cuarena_block_t took;
    heard_t heard;
} rival_t;

static int32_t alloc_the_room(void *user, const cuarena_relocation_t *list, size_t count)
{
    rival_t *rival = user;
    expect_ok(cuarena_block_alloc(rival->f->arena, KIB(128), &rival->took));
    return hear_relocations(&rival->heard, list, count);
}

START_TEST(a_failed_call_may_have_done_reported_moves)
{
    static rival_t rival;
    fixture_t f;
    cuarena_block_t row[4];
    void *out = UNTOUCHED, *before;
    fixture_prepare(&f, KIND_CUSTOM_POOL, KIB(256));
    f.config.compact_on_oom = 1;
    fixture_create(&f);
    rival.f = &f;
    expect_ok(cuarena_set_relocation_callback(f.arena, alloc_the_room, &rival));
    alloc_row(&f, row, 4, KIB(64));
    free_block(&f, row[0]);
    free_block(&f, row[2]);
    row[0] = row[2] = 0;
    before = address_of(&f, row[1]);
    ck_assert_int_ne(cuarena_alloc(f.arena, KIB(128), &out), CUARENA_OK);
    ck_assert_ptr_eq(out, UNTOUCHED);
    expect_u64(rival.heard.count, 1);
    expect_u64(arena_stats(f.arena).moves, 1);
    expect_moved_as_reported(&f, &rival.heard, row[1], before);
    free_block(&f, rival.took);
    free_row(&f, row, 4, KIB(64));
    fixture_close(&f);
}
END_TEST

/* ---- sizes --------------------------------------------------------------- */

START_TEST(sizes)
{
    cuarena_t *arena = arena_of("memory=none,pool=64TiB,max_blocks=3");
    void *p[3], *out = UNTOUCHED;
    expect_ok(cuarena_alloc(arena, (UINT64_C(1) << 45) + 1, &p[0]));
    for (unsigned log2 = 46; log2 < 64; log2++)
        ck_assert_int_ne(cuarena_alloc(arena, UINT64_C(1) << log2, &out), CUARENA_OK);
    ck_assert_int_ne(cuarena_alloc(arena, UINT64_MAX, &out), CUARENA_OK);
    expect_status(cuarena_alloc_array(arena, UINT64_C(1) << 32, UINT64_C(1) << 32, NULL, &out),
                  CUARENA_BAD_ARGUMENT);
    for (int i = 1; i < 3; i++)
        expect_ok(cuarena_alloc(arena, 1, &p[i]));
    expect_status(cuarena_alloc(arena, 1, &out), CUARENA_LIMIT);
    ck_assert_ptr_eq(out, UNTOUCHED);
    for (int i = 0; i < 3; i++)
        expect_ok(cuarena_free(arena, p[i]));
    arena_close(arena);
}
END_TEST

START_TEST(sizes_have_ends_that_are_said)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_u64(config.max_blocks, UINT64_C(1) << 26);
    expect_status(cuarena_config_set(&config, "max_blocks", "67108865"), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_config_set(&config, "pool", "256TiB"), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(last_error().message, "below 256TiB"));
}
END_TEST

/* ---- threads ------------------------------------------------------------ */

static bool in_callback;
static int visits;

static void *use_arena(void *user)
{
    void *p = NULL;
    expect_ok(cuarena_alloc(user, 256, &p));
    expect_ok(cuarena_free(user, p));
    return NULL;
}

/* A lock held across this would keep the thread, and so this one, for ever. */
static void visit(cuarena_t *arena)
{
    pthread_t thread;
    if (in_callback || arena == NULL)
        return;
    in_callback = true;
    ck_assert_int_eq(pthread_create(&thread, NULL, use_arena, arena), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    in_callback = false;
    visits++;
}

static void on_event(void *user, const cuarena_event_t *event)
{
    (void)event;
    visit(user);
}

static void on_line(void *user, int32_t level, const char *line)
{
    (void)level, (void)line;
    visit(user);
}

static int32_t on_refusal(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    (void)user, (void)asked_bytes, (void)attempt;
    visit(arena);
    return 0;
}

static int32_t on_moves(void *user, const cuarena_relocation_t *list, size_t count)
{
    (void)list, (void)count;
    visit(user);
    return 0;
}

static void on_memory(test_memory_t *memory, memory_op_t op, const cuarena_relocation_t *list,
                      size_t count)
{
    (void)list, (void)count;
    if (op == OP_RELOCATE || op == OP_GET || op == OP_GIVE_BACK || op == OP_GROW ||
        op == OP_SHRINK || op == OP_PUNCH)
        visit(memory->hook_user);
}

static void expect_visited(const char *where)
{
    ck_assert_msg(visits > 0, "%s was not called", where);
    visits = 0;
}

/* A block that can move down, one that is pinned, and room for the visitors. */
static void open_visited(fixture_t *f, cuarena_block_t *row)
{
    void *pinned = NULL;
    fixture_open(f, KIND_CUSTOM_GROW, KIB(512));
    alloc_row(f, row, 4, KIB(64));
    free_block(f, row[0]);
    free_block(f, row[3]);
    expect_ok(cuarena_block_pin(f->arena, row[2], &pinned));
}

START_TEST(threads)
{
    fixture_t f;
    cuarena_block_t row[4];
    void *out = UNTOUCHED;
    open_visited(&f, row);
    expect_ok(cuarena_set_event_listener(f.arena, on_event, f.arena));
    free_block(&f, alloc_block(&f, 256));
    expect_visited("the listener");
    cuarena_log_set_callback(on_line, f.arena);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_DEBUG));
    free_block(&f, alloc_block(&f, 256));
    expect_ok(cuarena_log_set_level(CUARENA_LOG_WARN));
    expect_visited("the log");
    expect_ok(cuarena_set_event_listener(f.arena, NULL, NULL));
    expect_ok(cuarena_compact(f.arena, NULL, on_moves, f.arena, NULL));
    expect_visited("who hears of moves");
    f.memory.hook = on_memory;
    f.memory.hook_user = f.arena;
    row[0] = alloc_block(&f, KIB(192));
    expect_visited("the memory");
    f.memory.hook = NULL;
    expect_ok(cuarena_set_oom_handler(f.arena, on_refusal, NULL));
    f.memory.budget_bytes = f.memory.reserved_bytes + KIB(64); /* for the visitor */
    ck_assert_int_ne(cuarena_alloc(f.arena, KIB(192), &out), CUARENA_OK);
    f.memory.budget_bytes = KIB(512);
    expect_visited("the handler");
    for (int i = 0; i < 3; i++)
        free_block(&f, row[i]);
    fixture_close(&f);
}
END_TEST

/* ---- compaction --------------------------------------------------------- */

START_TEST(compaction)
{
    enum {
        COUNT = 12
    };
    static heard_t heard;
    fixture_t f;
    cuarena_block_t row[COUNT];
    void *before[COUNT], *pinned;
    fixture_prepare(&f, KIND_CUSTOM_POOL, KIB(64) * (COUNT + 1));
    f.config.stable = amount_of_bytes(KIB(64));
    fixture_create(&f);
    void *stable = alloc_in(&f, KIB(32), CUARENA_REGION_STABLE);
    paint(&f, stable, KIB(32), 99);
    alloc_row(&f, row, COUNT, KIB(64));
    for (size_t i = 0; i < COUNT; i++)
        before[i] = address_of(&f, row[i]);
    expect_ok(cuarena_block_pin(f.arena, row[5], &pinned));
    for (size_t i = 0; i < COUNT; i += 4) {
        free_block(&f, row[i]);
        row[i] = 0;
    }
    expect_ok(cuarena_compact(f.arena, NULL, hear_relocations, &heard, NULL));
    ck_assert_ptr_null(heard_of(&heard, row[5]));
    ck_assert_uint_ge(heard.count, COUNT / 2);
    for (size_t i = 0; i < COUNT; i++)
        if (row[i] != 0 && i != 5)
            expect_moved_as_reported(&f, &heard, row[i], before[i]);
    expect_painted(&f, stable, KIB(32), 99);
    expect_ok(cuarena_block_unpin(f.arena, row[5]));
    ck_assert_ptr_eq(address_of(&f, row[5]), before[5]);
    free_row(&f, row, COUNT, KIB(64));
    free_ok(&f, stable);
    fixture_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guarantees");
    TCase *rows = suite_add_list(suite, "rows",
                                 TEST_LIST(alignment, bytes_freed_on_a_stream, refusal,
                                           refusal_by_a_limit_that_was_set,
                                           double_stale_foreign_interior_free, a_failed_call,
                                           a_failed_call_may_have_given_back_free_bytes,
                                           a_failed_call_may_have_ended_cached_blocks,
                                           a_failed_call_may_have_done_reported_moves, sizes,
                                           sizes_have_ends_that_are_said, threads, compaction));
    tcase_set_timeout(rows, scale_timeout(120));
    tcase_add_loop_test(rows, bytes_freed_on_a_stream_of_memory_that_the_cpu_touches, 0, 2);
    tcase_add_loop_test(rows, waste_in_a_block, 0, 4);
    return suite_main(suite);
}
