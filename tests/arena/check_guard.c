/*
 * Guards, patterns and the quarantine (debug.h) on every kind of memory of the host: writes beside
 * a block and to a freed one are found, named and told once; blocks are what they are without
 * guards.
 */
#include "support/base_support.h"
#include "support/fixture.h"
#include "support/log_lines.h"

#include <stdio.h>
#include <string.h>

#if defined(CUARENA_TEST_CUDA)
#include "support/cuda_kinds.h"
#define TABLE cuda_kinds
#define KINDS DEVICE_KIND_COUNT
#define POOL MIB(64)
#define A_POOL CUDA_POOL_VMM
#else
#define TABLE arena_kinds
#define KINDS HOST_KIND_COUNT
#define POOL MIB(4)
#define A_POOL POOL_CUSTOM
#endif
#define GUARD 48u

/* ---- Arenas and lines -------------------------------------------------- */

static void expect_line(const char *part)
{
    for (int i = 0; i < logged.count; i++)
        if (strstr(logged.list[i].text, part) != NULL)
            return;
    ck_abort_msg("no line has '%s'; the last of %d: '%s'", part, logged.count,
                 logged.count == 0 ? "" : logged.list[logged.count - 1].text);
}

static bool is_readable(int kind)
{
    return (TABLE[kind].traits & KIND_READABLE) != 0;
}

/* NULL: no bytes to guard. */
static fixture_t *guarded(int kind, int32_t fill, uint64_t quarantine)
{
    if (!is_readable(kind))
        return NULL;
    fixture_t *f = prepared(&TABLE[kind], POOL);
    f->config.guard_bytes = GUARD;
    f->config.fill = fill;
    f->config.quarantine_bytes = quarantine;
    fixture_tells_nothing(f); /* of guards, which tests write over */
    fixture_create(f);
    log_listen(CUARENA_LOG_ERROR);
    return f;
}

static uint64_t findings_of(fixture_t *f)
{
    uint64_t findings = UINT64_MAX;
    expect_ok(cuarena_check(f->arena, &findings));
    return findings;
}

/* ---- Writes beside a block --------------------------------------------- */

/* Offsets from the begin of a block of 100 bytes, and what the finding says. */
static const struct {
    int64_t at;
    const char *place;
} writes[] = {
    {100, "the bytes behind it were written, 0 bytes from its end: found 5a fd fd"},
    {100 + GUARD - 1, "the bytes behind it were written, 47 bytes from its end: found 5a, not fd"},
    {-1, "the bytes before it were written, 0 bytes from its begin: found 5a, not fd"},
    {-(int64_t)GUARD, "the bytes before it were written, 47 bytes from its begin: found 5a fd"},
};

static void stray(const fixture_t *f, void *pointer, int64_t at)
{
    fill_with(f, (char *)pointer + at, 1, 0x5a);
}

static void expect_bytes(const fixture_t *f, const char *begin, size_t bytes, int value)
{
    unsigned char copy[512];
    ck_assert_uint_le(bytes, sizeof copy);
    if (f->kind->traits & KIND_DEVICE)
        arena_reach->read(copy, begin, bytes);
    else
        memcpy(copy, begin, bytes);
    for (size_t i = 0; i < bytes; i++)
        ck_assert_int_eq(copy[i], value);
}

START_TEST(write_is_found_at_the_free)
{
    int kind = _i % (int)KINDS;
    fixture_t *f = guarded(kind, CUARENA_FILL_NEVER, 0);
    for (size_t i = 0; f != NULL && i < COUNT_OF(writes); i++) {
        char *pointer = alloc_ok(f, 100);
        fill_with(f, pointer, 100, 1);
        stray(f, pointer, writes[i].at);
        logged.count = 0;
        step_ok(f, cuarena_free(f->arena, pointer));
        expect_status(last_error().status, CUARENA_CORRUPT);
        expect_message(writes[i].place);
        expect_u64((uint64_t)logged.count, 1);
        expect_line(writes[i].place);
        expect_line("100 bytes, tag 'none', 0 allocations");
        expect_u64(findings_of(f), i + 1);
    }
}
END_TEST

START_TEST(write_is_found_by_the_check_once)
{
    fixture_t *f = guarded(_i, CUARENA_FILL_NEVER, 0);
    uint64_t findings = 0;
    if (f == NULL)
        return;
    char *first = alloc_ok(f, 100);
    char *second = alloc_ok(f, 700);
    expect_u64(findings_of(f), 0);
    stray(f, first, 100);
    stray(f, second, -3);
    stray(f, second, 701);
    step(f, cuarena_check(f->arena, &findings), CUARENA_CORRUPT);
    expect_u64(findings, 3);
    expect_message("3 findings in all");
    expect_u64((uint64_t)logged.count, 3);
    expect_line("2 bytes from its begin: found 5a fd fd");
    expect_line("1 bytes from its end: found 5a fd");
    expect_u64(findings_of(f), 3); /* they were mended */
    free_ok(f, first);
    free_ok(f, second);
    expect_u64(findings_of(f), 3);
}
END_TEST

START_TEST(finding_names_block_tag_and_age)
{
    fixture_t *f = guarded(A_POOL, CUARENA_FILL_NEVER, 0);
    cuarena_tag_t tag;
    char want[96];
    expect_ok(cuarena_tag(f->arena, "weights", &tag));
    char *pointer = alloc_tagged(f, 300, tag);
    cuarena_block_t block = 0;
    expect_ok(cuarena_block_of(f->arena, pointer, &block));
    free_ok(f, alloc_ok(f, 10));
    free_ok(f, alloc_ok(f, 10));
    stray(f, pointer, 300);
    (void)snprintf(want, sizeof want, "block %#llx at %#llx, 300 bytes, tag 'weights', 2 alloc",
                   (unsigned long long)block, (unsigned long long)(uintptr_t)pointer);
    expect_status(cuarena_check(f->arena, NULL), CUARENA_CORRUPT);
    expect_message(want);
    free_ok(f, pointer);
}
END_TEST

/* ---- Blocks with guards are blocks ------------------------------------- */

START_TEST(addresses_and_sizes_are_those_of_the_user)
{
    static const uint64_t alignments[] = {0, 512, 4096};
    fixture_t *f = guarded(_i, CUARENA_FILL_BOTH, 0);
    size_t count = TABLE[_i].traits & KIND_EACH ? 1 : COUNT_OF(alignments);
    for (size_t i = 0; f != NULL && i < count; i++) {
        cuarena_request_t request;
        void *pointer = NULL;
        uint64_t requested = 0, allocated = 0;
        cuarena_block_t block = 0;
        cuarena_request_init(&request);
        request.alignment = alignments[i];
        step_ok(f, cuarena_alloc_with(f->arena, 1000, &request, &pointer));
        expect_ok(cuarena_block_of(f->arena, pointer, &block));
        expect_ptr(info_of(f, block).address, pointer);
        expect_u64((uintptr_t)pointer % info_of(f, block).alignment, 0);
        ck_assert_uint_ge(info_of(f, block).alignment, alignments[i]);
        expect_ok(cuarena_size_of(f->arena, pointer, &requested, &allocated));
        expect_u64(requested, 1000);
        expect_between(allocated, 1000, live_bytes(f) - 2 * GUARD);
        expect_u64(stats_of(f).requested_bytes, 1000);
        expect_status(cuarena_free(f->arena, (char *)pointer + 256), CUARENA_STALE);
        expect_status(cuarena_free(f->arena, (char *)pointer - 256), CUARENA_STALE);
        fill_with(f, pointer, 1000, 1);
        free_ok(f, pointer);
        expect_status(cuarena_free(f->arena, pointer), CUARENA_STALE);
    }
    if (f != NULL)
        expect_u64(findings_of(f), 0);
}
END_TEST

START_TEST(resize_takes_guards_along)
{
    static const uint64_t sizes[] = {100, 101, 5000, 300, 299, 70000, 1};
    fixture_t *f = guarded(_i, CUARENA_FILL_BOTH, 0);
    if (f == NULL || TABLE[_i].traits & KIND_EACH)
        return;
    void *pointer = alloc_ok(f, 100);
    void *wall = alloc_ok(f, 100);
    for (size_t i = 1; i < COUNT_OF(sizes); i++) {
        paint(f, pointer, sizes[i - 1], i);
        step_ok(f, cuarena_resize(f->arena, pointer, sizes[i], &pointer));
        expect_painted(f, pointer, sizes[i] < sizes[i - 1] ? sizes[i] : sizes[i - 1], i);
        expect_u64(findings_of(f), i - 1);
        if (sizes[i] > sizes[i - 1])
            expect_bytes(f, (char *)pointer + sizes[i] - 1, 1, 0xcd);
        fill_with(f, pointer, sizes[i], (int)i);
        stray(f, pointer, (int64_t)sizes[i]);
        expect_status(cuarena_check(f->arena, NULL), CUARENA_CORRUPT);
    }
    step_ok(f, cuarena_resize(f->arena, pointer, 0, &pointer));
    free_ok(f, wall);
}
END_TEST

START_TEST(write_is_found_by_a_resize)
{
    fixture_t *f = guarded(A_POOL, CUARENA_FILL_NEVER, 0);
    void *pointer = alloc_ok(f, 100);
    stray(f, pointer, 101);
    step_ok(f, cuarena_resize(f->arena, pointer, 4000, &pointer));
    expect_message("1 bytes from its end");
    expect_u64((uint64_t)logged.count, 1);
    free_ok(f, pointer);
    expect_u64((uint64_t)logged.count, 1);
}
END_TEST

START_TEST(compaction_takes_guards_along)
{
    heard_t heard = {0};
    cuarena_block_t blocks[16];
    fixture_t *f = guarded(A_POOL, CUARENA_FILL_BOTH, 0);
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = alloc_block(f, 1000 + i);
        paint(f, address_of(f, blocks[i]), 1000 + i, i);
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i += 2)
        free_block(f, blocks[i]);
    step_ok(f, cuarena_compact(f->arena, NULL, hear_relocations, &heard, NULL));
    for (size_t i = 1; i < COUNT_OF(blocks); i += 2) {
        const cuarena_relocation_t *move = heard_of(&heard, blocks[i]);
        expect_painted(f, address_of(f, blocks[i]), 1000 + i, i);
        if (move != NULL)
            expect_ptr(move->to, address_of(f, blocks[i]));
        if (move != NULL)
            expect_u64(move->bytes, 1024);
    }
    ck_assert_uint_gt(heard.count, 0);
    expect_u64(findings_of(f), 0);
    for (size_t i = 1; i < COUNT_OF(blocks); i += 2)
        free_block(f, blocks[i]);
}
END_TEST

START_TEST(dedicated_adopted_and_empty_blocks)
{
    static char mine[4096] __attribute__((aligned(4096)));
    fixture_t *f = guarded(A_POOL, CUARENA_FILL_BOTH, KIB(64));
    cuarena_block_t adopted, dedicated = alloc_dedicated_block(f, 5000);
    cuarena_block_t empty = alloc_block(f, 0);
    memset(mine, 7, sizeof mine);
    step_ok(f, cuarena_adopt(f->arena, mine, sizeof mine, 0, &adopted));
    expect_ptr(info_of(f, adopted).address, mine);
    expect_ptr(info_of(f, empty).address, NULL);
    fill_with(f, address_of(f, dedicated), 5000, 1);
    expect_u64(findings_of(f), 0);
    step_ok(f, cuarena_block_resize(f->arena, empty, 77));
    expect_bytes(f, address_of(f, empty), 77, 0xcd);
    stray(f, address_of(f, empty), 77);
    expect_status(cuarena_check(f->arena, NULL), CUARENA_CORRUPT);
    free_block(f, empty);
    free_block(f, adopted);
    for (size_t i = 0; i < sizeof mine; i++)
        ck_assert_int_eq(mine[i], 7);
    stray(f, address_of(f, dedicated), 5001);
    free_block(f, dedicated);
    expect_message("1 bytes from its end");
    expect_u64(findings_of(f), 2); /* nothing is in the quarantine from here on */
}
END_TEST

/* ---- Patterns and the quarantine --------------------------------------- */

START_TEST(new_bytes_have_the_pattern)
{
    fixture_t *f = guarded(_i, CUARENA_FILL_ALLOC, 0);
    if (f == NULL)
        return;
    char *pointer = alloc_ok(f, 300);
    expect_bytes(f, pointer, 300, 0xcd);
    free_ok(f, pointer);
    pointer = alloc_zeroed(f, 300);
    expect_zero(f, pointer, 300);
    free_ok(f, pointer);
    expect_u64(findings_of(f), 0);
}
END_TEST

START_TEST(freed_bytes_have_the_pattern)
{
    fixture_t *f = guarded(A_POOL, CUARENA_FILL_FREE, 0);
    char *wall = alloc_ok(f, 300);
    char *pointer = alloc_ok(f, 300);
    fill_with(f, pointer, 300, 1);
    free_ok(f, pointer);
    expect_bytes(f, pointer - GUARD, 300 + 2 * GUARD, 0xdd);
    free_ok(f, wall);
}
END_TEST

START_TEST(write_after_free_is_found)
{
    fixture_t *f = guarded(_i, CUARENA_FILL_NEVER, KIB(64));
    char *pointers[3];
    if (f == NULL)
        return;
    for (int i = 0; i < 3; i++)
        pointers[i] = alloc_ok(f, 4000);
    for (int i = 0; i < 3; i++)
        free_ok(f, pointers[i]);
    expect_status(cuarena_free(f->arena, pointers[1]), CUARENA_STALE);
    expect_u64((uint64_t)logged.count, 1);
    stray(f, pointers[1], 17);
    stray(f, pointers[2], -5);
    for (int i = 0; i < 20; i++)
        free_ok(f, alloc_ok(f, 4000));
    expect_line("it was written after its free, 17 bytes behind its begin: found 5a dd dd");
    expect_line("it was written after its free, 5 bytes before its begin: found 5a dd dd");
    expect_u64((uint64_t)logged.count, 3);
    expect_u64(findings_of(f), 2);
}
END_TEST

/* Bytes in the quarantine are nobody's, in the order of the frees, and come back. */
START_TEST(quarantine_keeps_bytes_up_to_its_size)
{
    fixture_t *f = guarded(A_POOL, CUARENA_FILL_NEVER, KIB(16));
    char *first = alloc_ok(f, 4000);
    char *walls[8];
    free_ok(f, first);
    uint64_t held = live_bytes(f);
    ck_assert_uint_gt(held, 4000);
    for (int i = 0; i < 8; i++) {
        walls[i] = alloc_ok(f, 4000);
        ck_assert_ptr_ne(walls[i], first);
    }
    for (int i = 0; i < 8; i++)
        free_ok(f, walls[i]);
    expect_between(live_bytes(f), 1, KIB(16));
    void *large = alloc_ok(f, POOL - KIB(8)); /* needs all of them */
    free_ok(f, large);
    step_ok(f, cuarena_reset(f->arena));
    expect_u64(live_bytes(f), 0);
    free_ok(f, alloc_ok(f, 4000));
    expect_u64(findings_of(f), 0);
    expect_u64(live_bytes(f), 0);
}
END_TEST

START_TEST(zeroed_free_and_quarantine_go_together)
{
    fixture_t *f = prepared(&TABLE[A_POOL], POOL);
    fixture_zero_free(f);
    f->config.quarantine_bytes = KIB(16);
    f->config.guard_bytes = 16;
    fixture_create(f);
    for (int i = 0; i < 20; i++) {
        void *pointer = alloc_ok(f, 3000);
        expect_zero(f, pointer, 3000);
        paint(f, pointer, 3000, 1);
        free_ok(f, pointer);
    }
    expect_u64(findings_of(f), 0);
    expect_free_is_zero(f);
}
END_TEST

#if !defined(CUARENA_TEST_CUDA)

/* ---- Refusals and failures --------------------------------------------- */

START_TEST(memory_without_the_functions_is_refused)
{
    fixture_t *f = new_fixture(fixture_release);
    fixture_prepare(f, KIND_CUSTOM_POOL, POOL);
    f->memory.ops.set_bytes = NULL;
    f->memory.ops.read_bytes = NULL;
    f->config.guard_bytes = 1;
    expect_status(cuarena_create(&f->config, &f->arena), CUARENA_UNSUPPORTED);
    expect_message("guard: memory 'test' has no set_bytes and read_bytes");
}
END_TEST

START_TEST(guards_that_cannot_be_written_are_none)
{
    fixture_t *f = guarded(A_POOL, CUARENA_FILL_BOTH, KIB(16));
    void *other = alloc_ok(f, 100);
    f->memory.fail_op = OP_SET;
    for (int i = 1; i <= 3; i++) {
        f->memory.fail_in = i;
        char *pointer = alloc_ok(f, 5000);
        pointer[5000] = 1;
        free_ok(f, pointer);
    }
    f->memory.fail_in = 1;
    step(f, cuarena_free(f->arena, other), CUARENA_DRIVER);
    free_ok(f, other);
    expect_u64(findings_of(f), 0);
}
END_TEST

START_TEST(guards_that_cannot_be_read_keep_no_block)
{
    fixture_t *f = guarded(A_POOL, CUARENA_FILL_NEVER, 0);
    void *pointer = alloc_ok(f, 100);
    stray(f, pointer, 100);
    f->memory.fail_op = OP_READ;
    f->memory.fail_in = 1;
    step(f, cuarena_check(f->arena, NULL), CUARENA_DRIVER);
    f->memory.fail_in = 1;
    free_ok(f, pointer);
    expect_u64(findings_of(f), 0);
}
END_TEST

START_TEST(refusal_says_what_it_takes_with_guards)
{
    cuarena_t *arena;
    void *pointer;
    expect_ok(cuarena_open("memory=pageable, pool=64KiB, guard=4KiB", &arena));
    expect_status(cuarena_alloc(arena, 60000, &pointer), CUARENA_OUT_OF_MEMORY);
    ck_assert_msg(strstr(cuarena_last_error(), "no room for 60000 bytes (68352 with its guards) in "
                                               "the dynamic region: 65536 free") != NULL,
                  "the error is: %s", cuarena_last_error());
    expect_u64(last_error().asked_bytes, 60000);
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

/* The front guard of a cached block was as long as the alignment of the request before. */
START_TEST(cached_block_has_the_alignment_of_its_request)
{
    cuarena_t *arena;
    void *first, *behind, *again;
    cuarena_request_t aligned;
    cuarena_request_init(&aligned);
    aligned.alignment = 1024;
    expect_ok(cuarena_open("preset=mlx-cpu, limit=4MiB, guard=16", &arena));
    expect_ok(cuarena_alloc_with(arena, 1000, &aligned, &first));
    expect_ok(cuarena_alloc(arena, 1000, &behind));
    memset(behind, 7, 1000);
    expect_ok(cuarena_free(arena, first));
    expect_ok(cuarena_alloc(arena, 1900, &again));
    memset(again, 8, 1900);
    expect_ok(cuarena_check(arena, NULL));
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(((const char *)behind)[i], 7);
    expect_ok(cuarena_free(arena, behind));
    expect_ok(cuarena_free(arena, again));
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

#endif

int main(void)
{
    Suite *suite = suite_create("guard");
    suite_add_rows(suite, "free", write_is_found_at_the_free, KINDS);
    suite_add_rows(suite, "check", write_is_found_by_the_check_once, KINDS);
    suite_add_rows(suite, "addresses", addresses_and_sizes_are_those_of_the_user, KINDS);
    suite_add_rows(suite, "resize", resize_takes_guards_along, KINDS);
    suite_add_rows(suite, "new", new_bytes_have_the_pattern, KINDS);
    suite_add_rows(suite, "after", write_after_free_is_found, KINDS);
    suite_add_list(suite, "blocks",
                   TEST_LIST(finding_names_block_tag_and_age, write_is_found_by_a_resize,
                             compaction_takes_guards_along, dedicated_adopted_and_empty_blocks,
                             freed_bytes_have_the_pattern, quarantine_keeps_bytes_up_to_its_size,
                             zeroed_free_and_quarantine_go_together));
#if defined(CUARENA_TEST_CUDA)
    return cuda_kinds_main(suite);
#else
    suite_add_list(suite, "failures",
                   TEST_LIST(memory_without_the_functions_is_refused,
                             refusal_says_what_it_takes_with_guards,
                             cached_block_has_the_alignment_of_its_request,
                             guards_that_cannot_be_written_are_none,
                             guards_that_cannot_be_read_keep_no_block));
    return suite_main(suite);
#endif
}
