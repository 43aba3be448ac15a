/*
 * Fail the Nth: every host allocation and every call of the memory fails in turn, over a scenario
 * of calls, until the scenario ends without the failure having happened. After each: the arena is
 * sound, the failing call changed nothing, the same call succeeds when it is made again, and in the
 * end nothing leaked. Then single calls without host memory, and those that take none.
 *
 * Looks inside, since only there host memory can be refused and counted (base/host_test.h).
 */
#include "base/host_test.h"
#include "support/configs.h"
#include "support/fixture.h"

#include <stdlib.h>
#include <string.h>

#define COUNT 8
#define EACH KIB(64)
#define POOL MIB(2) /* room for all that a scenario takes */
#define MANY 1200

typedef struct chaos {
    fixture_t f;
    cuarena_block_t row[COUNT];
    void *pointer;
    cuarena_block_t apart, adopted;
    cuarena_tag_t tag;
    size_t done; /* of MANY: how far a step that failed has got */
    cuarena_block_t many[MANY];
    heard_t heard;
    uint64_t failures;
} chaos_t;

/* ---- The scenario: each step can be made again after it failed -------------
 */

static _Alignas(4096) char foreign[KIB(8)];

static cuarena_status_t make_the_arena(chaos_t *c)
{
    return cuarena_create(&c->f.config, &c->f.arena);
}

static cuarena_status_t alloc_the_row(chaos_t *c)
{
    for (; c->done < COUNT; c->done++) {
        cuarena_block_t *block = &c->row[c->done];
        cuarena_status_t status = cuarena_block_alloc(c->f.arena, EACH, block);
        if (status != CUARENA_OK)
            return status;
        paint(&c->f, address_of(&c->f, *block), EACH, c->done);
    }
    return CUARENA_OK;
}

static cuarena_status_t free_every_second(chaos_t *c)
{
    for (size_t i = 0; i < COUNT; i += 2) {
        expect_ok(cuarena_block_free(c->f.arena, c->row[i]));
        c->row[i] = 0;
    }
    return CUARENA_OK;
}

static cuarena_status_t compact(chaos_t *c)
{
    return cuarena_compact(c->f.arena, NULL, hear_relocations, &c->heard, NULL);
}

static cuarena_status_t resize_by_moving(chaos_t *c)
{
    return cuarena_block_resize(c->f.arena, c->row[1], EACH + 1);
}

static cuarena_status_t alloc_a_pointer(chaos_t *c)
{
    return cuarena_alloc(c->f.arena, EACH, &c->pointer);
}

static cuarena_status_t grow_the_pointer(chaos_t *c)
{
    return cuarena_resize(c->f.arena, c->pointer, 2 * EACH, &c->pointer);
}

static cuarena_status_t alloc_apart(chaos_t *c)
{
    cuarena_request_t request;
    if (!(c->f.kind->traits & KIND_DEDICATES))
        return CUARENA_OK;
    cuarena_request_init(&request);
    request.dedicated = 1;
    return cuarena_block_alloc_with(c->f.arena, EACH, &request, &c->apart);
}

static cuarena_status_t adopt(chaos_t *c)
{
    return cuarena_adopt(c->f.arena, foreign, sizeof foreign, 0, &c->adopted);
}

static cuarena_status_t register_a_tag(chaos_t *c)
{
    return cuarena_tag(c->f.arena, "a tag with a name", &c->tag);
}

static cuarena_status_t trim(chaos_t *c)
{
    uint64_t given = 0;
    return cuarena_trim(c->f.arena, 0, &given);
}

static cuarena_status_t resize_the_pool(chaos_t *c)
{
    if (!(c->f.kind->traits & KIND_RESIZES))
        return CUARENA_OK;
    return cuarena_resize_pool(c->f.arena, 2 * POOL);
}

/* So many that the bookkeeping takes more slabs. */
static cuarena_status_t alloc_many(chaos_t *c)
{
    for (; c->done < MANY; c->done++) {
        cuarena_status_t status = cuarena_block_alloc(c->f.arena, 256, &c->many[c->done]);
        if (status != CUARENA_OK)
            return status;
    }
    return CUARENA_OK;
}

/* A free never takes memory, so none of these can fail. */
static cuarena_status_t free_all(chaos_t *c)
{
    uint64_t calls = cuai_host_calls();
    for (size_t i = 0; i < MANY; i++)
        expect_ok(cuarena_block_free(c->f.arena, c->many[i]));
    for (size_t i = 0; i < COUNT; i++)
        expect_ok(cuarena_block_free(c->f.arena, c->row[i]));
    expect_ok(cuarena_free(c->f.arena, c->pointer));
    expect_ok(cuarena_block_free(c->f.arena, c->apart));
    expect_ok(cuarena_block_free(c->f.arena, c->adopted));
    expect_u64(cuai_host_calls(), calls);
    return CUARENA_OK;
}

static cuarena_status_t unmake_the_arena(chaos_t *c)
{
    return cuarena_destroy(&c->f.arena);
}

static const struct {
    const char *what;
    cuarena_status_t (*play)(chaos_t *chaos);
} steps[] = {
    {"create", make_the_arena},
    {"block_alloc", alloc_the_row},
    {"block_free", free_every_second},
    {"compact", compact},
    {"block_resize", resize_by_moving},
    {"resize_pool", resize_the_pool}, /* before the first pin */
    {"alloc", alloc_a_pointer},
    {"resize", grow_the_pointer},
    {"dedicated", alloc_apart},
    {"adopt", adopt},
    {"tag", register_a_tag},
    {"trim", trim},
    {"many blocks", alloc_many},
    {"trim again", trim},
    {"compact again", compact},
    {"free", free_all},
    {"destroy", unmake_the_arena},
};

/* ---- What a failure may not change ------------------------------------------
 */

typedef struct snapshot {
    uint64_t live, requested, blocks, capacity, held, dedicated;
} snapshot_t;

static snapshot_t look(const chaos_t *c)
{
    if (c->f.arena == NULL)
        return (snapshot_t){0, 0, 0, 0, 0, 0};
    cuarena_stats_t stats = stats_of(&c->f);
    return (snapshot_t){stats.live_bytes,     stats.requested_bytes, stats.live_blocks,
                        stats.capacity_bytes, stats.reserved_bytes,  stats.dedicated_bytes};
}

/* Steps of several calls may have done some of them. What grows may have grown or given back on the
 * way, which events report. */
static void expect_unchanged(const chaos_t *c, const snapshot_t *before)
{
    snapshot_t now = look(c);
    if (c->done != 0)
        return;
    expect_u64(now.live, before->live);
    expect_u64(now.requested, before->requested);
    expect_u64(now.blocks, before->blocks);
    expect_u64(now.dedicated, before->dedicated);
    if (c->f.kind->traits & KIND_GROWS)
        return;
    expect_u64(now.capacity, before->capacity);
    expect_u64(now.held, before->held);
}

static void expect_contents(chaos_t *c)
{
    if (c->f.arena == NULL)
        return;
    expect_sound(&c->f);
    expect_recount(&c->f);
    for (size_t i = 0; i < COUNT; i++)
        if (c->row[i] != 0)
            expect_painted(&c->f, address_of(&c->f, c->row[i]), EACH, i);
}

/* ---- The harness
 * ---------------------------------------------------------------- */

/* FRAGMENTED: growth was refused, and what is held is not together. */
static int is_refusal(cuarena_status_t status)
{
    return status == CUARENA_OUT_OF_MEMORY || status == CUARENA_DRIVER ||
           status == CUARENA_FRAGMENTED;
}

static void play_step(chaos_t *c, size_t i)
{
    c->done = 0;
    snapshot_t before = look(c);
    cuarena_status_t status = steps[i].play(c);
    if (status == CUARENA_OK)
        return;
    c->failures++;
    ck_assert_msg(is_refusal(status), "%s: %s: got %s (%s)", c->f.kind->name, steps[i].what,
                  cuarena_status_name(status), last_error().message);
    if (c->f.arena == NULL)
        c->f.memory.counts[OP_END] = 0; /* of the create that failed */
    expect_unchanged(c, &before);
    expect_contents(c);
    status = steps[i].play(c);
    ck_assert_msg(status == CUARENA_OK, "%s: %s again: got %s (%s)", c->f.kind->name, steps[i].what,
                  cuarena_status_name(status), last_error().message);
}

static void play_all(chaos_t *c)
{
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        play_step(c, i);
    ck_assert_uint_le(c->failures, 1);
    fixture_release(&c->f);
}

static void prepare(chaos_t *c, int row)
{
    memset(c, 0, sizeof *c);
    fixture_prepare(&c->f, &arena_kinds[row], POOL);
}

START_TEST(chaos_every_host_allocation_fails)
{
    static chaos_t c;
    int happened = 1;
    for (uint64_t nth = 1; happened; nth++) {
        uint64_t live = cuai_host_live();
        prepare(&c, _i);
        cuai_host_fail_at(nth);
        play_all(&c);
        happened = cuai_host_calls() >= nth;
        cuai_host_fail_at(0);
        expect_u64(cuai_host_live(), live);
        ck_assert_uint_lt(nth, 10000);
    }
}
END_TEST

/* What a memory of tests can do, by row: all, no growth in place, no holes, neither. */
static void weaken(test_memory_t *memory, int row)
{
    if (row & 1) {
        memory->ops.grow = NULL;
        memory->ops.shrink = NULL;
    }
    if (row & 2) {
        memory->ops.punch = NULL;
        memory->ops.fill = NULL;
    }
}

static const cuarena_status_t refusals[] = {CUARENA_OUT_OF_MEMORY, CUARENA_DRIVER};

START_TEST(chaos_every_call_of_the_memory_fails)
{
    static chaos_t c;
    int happened = 1;
    for (int32_t nth = 1; happened; nth++) {
        prepare(&c, _i < 8 ? 3 : 7);
        weaken(&c.f.memory, _i % 4);
        c.f.memory.fail_in = nth;
        c.f.memory.fail_with = refusals[_i / 4 % 2];
        play_all(&c);
        happened = c.f.memory.fail_in == 0;
        ck_assert_int_lt(nth, 1000);
    }
}
END_TEST

/* ---- Calls that take none ---------------------------------------------- */

static void churn(fixture_t *f, void **pointers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_ok(cuarena_alloc(f->arena, 256 * (1 + i % 7), &pointers[i]));
    for (size_t i = 0; i < count; i += 2)
        expect_ok(cuarena_free(f->arena, pointers[i]));
    for (size_t i = 1; i < count; i += 2)
        expect_ok(cuarena_free(f->arena, pointers[i]));
    expect_sound(f);
}

START_TEST(defect_d03_no_node_per_block)
{
    void *pointers[1000];
    fixture_t *f = opened(&arena_kinds[_i], MIB(4));
    churn(f, pointers, COUNT_OF(pointers));
    uint64_t bookkeeping = stats_of(f).bookkeeping_bytes;
    cuai_host_fail_at(0);
    churn(f, pointers, COUNT_OF(pointers));
    expect_u64(cuai_host_calls(), 0);
    expect_u64(stats_of(f).bookkeeping_bytes, bookkeeping);
}
END_TEST

START_TEST(defect_d03_a_free_needs_no_memory)
{
    fixture_t f;
    enum {
        BLOCKS = 20000
    };
    void **pointers = calloc(BLOCKS, sizeof *pointers);
    fixture_open(&f, KIND_NONE_POOL, MIB(16));
    for (size_t i = 0; i < BLOCKS; i++)
        expect_ok(cuarena_alloc(f.arena, 256, &pointers[i]));
    cuai_host_fail_at(1);
    for (size_t i = 0; i < BLOCKS; i++)
        expect_ok(cuarena_free(f.arena, pointers[i * 7919 % BLOCKS]));
    expect_u64(cuai_host_calls(), 0);
    cuai_host_fail_at(0);
    fixture_close(&f);
    free(pointers);
}
END_TEST

/* ---- Single calls ------------------------------------------------------ */

START_TEST(defect_d21_create_that_fails_anywhere_leaks_nothing)
{
    uint64_t nth = 0;
    cuarena_status_t status = CUARENA_OUT_OF_MEMORY;
    while (status != CUARENA_OK) {
        fixture_t f;
        fixture_prepare(&f, &arena_kinds[_i], POOL);
        f.config.stable = amount_of_bytes(EACH);
        uint64_t live = cuai_host_live();
        cuai_host_fail_at(++nth);
        status = cuarena_create(&f.config, &f.arena);
        cuai_host_fail_at(0);
        ck_assert_uint_lt(nth, 1000);
        if (status == CUARENA_OK) {
            fixture_close(&f);
            continue;
        }
        ck_assert_int_eq(status, CUARENA_OUT_OF_MEMORY);
        ck_assert_ptr_null(f.arena);
        fixture_release(&f);
        expect_u64(cuai_host_live(), live);
    }
    ck_assert_uint_gt(nth, 1);
}
END_TEST

START_TEST(acquire_without_host_memory)
{
    cuarena_status_t status = CUARENA_OUT_OF_MEMORY;
    uint64_t before = cuai_host_live();
    for (uint64_t nth = 1; status != CUARENA_OK; nth++) {
        cuarena_t *arena = NULL;
        cuarena_config_t config = small_config("");
        cuai_host_fail_at(nth);
        status = cuarena_shared_acquire(&config, &arena, NULL);
        cuai_host_fail_at(0);
        ck_assert_uint_lt(nth, 100);
        if (status == CUARENA_OK) {
            ck_assert_uint_gt(nth, 2);
            expect_ok(cuarena_shared_release(&arena));
        } else {
            expect_status(status, CUARENA_OUT_OF_MEMORY);
            ck_assert_ptr_null(arena);
        }
        expect_status(cuarena_shared_find(&config, &arena), CUARENA_STALE);
        expect_u64(cuai_host_live(), before);
    }
}
END_TEST

/* A dedicated block whose records find no host memory. */
START_TEST(ort_reserves_that_failed_do_not_count)
{
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        fixture_t f;
        void *pointer = NULL;
        cuarena_request_t request;
        fixture_open(&f, KIND_GROW_PLAIN, POOL);
        cuarena_request_init(&request);
        request.dedicated = 1;
        cuai_host_fail_at(nth);
        cuarena_status_t status = cuarena_alloc_with(f.arena, EACH, &request, &pointer);
        cuai_host_fail_at(0);
        failed = status != CUARENA_OK;
        expect_status(status, failed ? CUARENA_OUT_OF_MEMORY : CUARENA_OK);
        expect_sound(&f);
        expect_u64((uint64_t)ort_stats_of(f.arena).num_reserves, !failed);
        expect_u64((uint64_t)ort_stats_of(f.arena).num_allocs, !failed);
        expect_u64((uint64_t)ort_stats_of(f.arena).total_allocated_bytes, failed ? 0 : EACH);
        expect_u64((uint64_t)ort_stats_of(f.arena).reserved_bytes, failed ? 0 : EACH);
        if (!failed)
            free_ok(&f, pointer);
        fixture_close(&f);
        ck_assert_uint_lt(nth, 100);
    }
}
END_TEST

START_TEST(push_without_host_memory_changes_nothing)
{
    cuarena_peaks_t peaks;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    free_ok(f, alloc_ok(f, EACH));
    cuai_host_fail_at(1);
    cuarena_status_t status = cuarena_peaks_push(f->arena, CUARENA_REGION_ALL);
    cuai_host_fail_at(0);
    step(f, status, CUARENA_OUT_OF_MEMORY);
    cuarena_peaks_init(&peaks);
    step(f, cuarena_peaks_pop(f->arena, CUARENA_REGION_ALL, &peaks), CUARENA_BAD_ARGUMENT);
    expect_u64(stats_of(f).peak_live_bytes, EACH);
    step_ok(f, cuarena_peaks_push(f->arena, CUARENA_REGION_ALL));
    uint64_t calls = cuai_host_calls();
    step_ok(f, cuarena_peaks_pop(f->arena, CUARENA_REGION_ALL, &peaks));
    step_ok(f, cuarena_peaks_push(f->arena, CUARENA_REGION_ALL));
    expect_u64(cuai_host_calls(), calls); /* the room is there now */
}
END_TEST

static int32_t ignore_bytes(void *user, const void *bytes, size_t size)
{
    (void)user, (void)bytes, (void)size;
    return 0;
}

/* A snapshot whose host memory is refused leaves nothing, and the arena as it was. */
START_TEST(snapshot_without_host_memory)
{
    cuarena_status_t status = CUARENA_OUT_OF_MEMORY;
    fixture_t *f = opened(KIND_CUSTOM_POOL, POOL);
    uint64_t live = cuai_host_live();
    for (uint64_t nth = 1; status != CUARENA_OK; nth++) {
        cuai_host_fail_at(nth);
        status = cuarena_snapshot_to(f->arena, CUARENA_SNAPSHOT_JSON, ignore_bytes, NULL);
        cuai_host_fail_at(0);
        step(f, status, nth < 3 ? CUARENA_OUT_OF_MEMORY : CUARENA_OK);
        expect_u64(cuai_host_live(), live);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chaos");
    TCase *tcase = new_case(suite, "fail the Nth");
    add_test_per_kind(tcase, chaos_every_host_allocation_fails);
    tcase_add_loop_test(tcase, chaos_every_call_of_the_memory_fails, 0, 16);
    TCase *none = new_case(suite, "none");
    add_test_per_memory(none, defect_d03_no_node_per_block);
    tcase_add_test(none, defect_d03_a_free_needs_no_memory);
    TCase *single = new_case(suite, "single");
    add_test_per_memory(single, defect_d21_create_that_fails_anywhere_leaks_nothing);
    tcase_add_test(single, acquire_without_host_memory);
    tcase_add_test(single, ort_reserves_that_failed_do_not_count);
    tcase_add_test(single, push_without_host_memory_changes_nothing);
    tcase_add_test(single, snapshot_without_host_memory);
    return suite_main(suite);
}
