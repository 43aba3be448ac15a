/*
 * The lowest layer: bits, sized structs, the host's memory, errors, statuses and the log. What
 * needs threads is in check_lock.c.
 *
 * Looks inside, since most of this layer no public call reaches alone.
 */
#define _GNU_SOURCE
#include "support/base_support.h"
#include "support/expect.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/host.h"
#include "base/host_test.h"
#include "base/log.h"
#include "base/sized.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Bits -------------------------------------------------------------- */

START_TEST(power_of_two_edges)
{
    ck_assert(!cuai_is_power_of_two(0));
    for (uint32_t i = 0; i < 64; i++) {
        uint64_t power = UINT64_C(1) << i;
        ck_assert(cuai_is_power_of_two(power));
        ck_assert(i < 2 || !cuai_is_power_of_two(power - 1));
        ck_assert(i < 1 || !cuai_is_power_of_two(power + 1));
    }
    ck_assert(!cuai_is_power_of_two(UINT64_MAX));
}
END_TEST

START_TEST(bit_positions)
{
    for (uint32_t i = 0; i < 64; i++) {
        uint64_t power = UINT64_C(1) << i;
        expect_u64(cuai_log2_floor(power), i);
        expect_u64(cuai_log2_floor(power | (power - 1)), i);
        expect_u64(cuai_ctz(power), i);
        expect_u64(cuai_ctz(~(power - 1)), i);
    }
}
END_TEST

START_TEST(align_up_and_down)
{
    expect_u64(cuai_align_up(0, 8), 0);
    expect_u64(cuai_align_up(1, 8), 8);
    expect_u64(cuai_align_up(8, 8), 8);
    expect_u64(cuai_align_up(9, 1), 9);
    expect_u64(cuai_align_down(UINT64_MAX, CUAI_TIB), UINT64_MAX - CUAI_TIB + 1);
    ck_assert(cuai_is_aligned(4096, 4096));
    ck_assert(!cuai_is_aligned(4097, 4096));
}
END_TEST

START_TEST(checked_arithmetic_at_the_end_of_64_bits)
{
    uint64_t out = 7;
    ck_assert(!cuai_align_up_checked(UINT64_MAX, 2, &out));
    ck_assert(!cuai_add_checked(UINT64_MAX, 1, &out));
    ck_assert(!cuai_mul_checked(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
    expect_u64(out, 7);
    ck_assert(cuai_align_up_checked(UINT64_MAX - 1, 2, &out));
    expect_u64(out, UINT64_MAX - 1);
    ck_assert(cuai_add_checked(UINT64_MAX, 0, &out));
    expect_u64(out, UINT64_MAX);
    ck_assert(cuai_mul_checked(UINT64_MAX, 0, &out));
    expect_u64(out, 0);
    ck_assert(cuai_mul_checked(UINT64_MAX / 3, 3, &out));
    expect_u64(out, UINT64_MAX);
}
END_TEST

START_TEST(assert_failed_aborts)
{
    cuai_assert_failed("one == two", "a file", 1);
}
END_TEST

/* ---- Sized structs ----------------------------------------------------- */

typedef struct grown {
    size_t struct_size;
    uint64_t old;
    uint64_t added; /* in a later release */
} grown_t;

#define GROWN_FIRST offsetof(grown_t, added)

START_TEST(sized_ok_edges)
{
    grown_t grown = {0};
    ck_assert(!cuai_sized_ok(NULL, GROWN_FIRST, sizeof(grown)));
    ck_assert(!cuai_sized_ok(&grown, GROWN_FIRST, sizeof(grown)));
    grown.struct_size = GROWN_FIRST - 1;
    ck_assert(!cuai_sized_ok(&grown, GROWN_FIRST, sizeof(grown)));
    grown.struct_size = GROWN_FIRST;
    ck_assert(cuai_sized_ok(&grown, GROWN_FIRST, sizeof(grown)));
    grown.struct_size = sizeof(grown);
    ck_assert(cuai_sized_ok(&grown, GROWN_FIRST, sizeof(grown)));
    grown.struct_size = sizeof(grown) + 1;
    ck_assert(!cuai_sized_ok(&grown, GROWN_FIRST, sizeof(grown)));
}
END_TEST

START_TEST(sized_copies_what_the_caller_knows)
{
    const grown_t whole = {sizeof(whole), 1, 2};
    grown_t older = {GROWN_FIRST, 8, 9};
    grown_t full = {sizeof(full), 3, 4};
    cuai_sized_read(&full, &older);
    expect_u64(full.struct_size, sizeof(full));
    expect_u64(full.old, 8);
    expect_u64(full.added, 4);
    cuai_sized_write(&older, &whole);
    expect_u64(older.struct_size, GROWN_FIRST);
    expect_u64(older.old, 1);
    expect_u64(older.added, 9);
}
END_TEST

/* ---- The host's memory ------------------------------------------------- */

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

START_TEST(host_alloc_is_zeroed_aligned_and_counted)
{
    uint64_t before = cuai_host_live();
    for (size_t bytes = 0; bytes < 200; bytes += 7) {
        unsigned char *p = cuai_host_alloc(bytes);
        ck_assert_ptr_nonnull(p);
        ck_assert(cuai_is_aligned((uintptr_t)p, _Alignof(max_align_t)));
        ck_assert(is_zero(p, bytes));
        memset(p, 0xff, bytes);
        expect_u64(cuai_host_live(), before + bytes);
        cuai_host_free(p);
    }
    cuai_host_free(NULL);
    expect_u64(cuai_host_live(), before);
}
END_TEST

START_TEST(host_alloc_refuses_what_overflows)
{
    volatile size_t all = SIZE_MAX;
    ck_assert_ptr_null(cuai_host_alloc(all));
    ck_assert_ptr_null(cuai_host_alloc(all - 15));
}
END_TEST

START_TEST(host_region_commits_in_steps)
{
    uint64_t before = cuai_host_live();
    cuai_host_region_t region;
    ck_assert(cuai_host_region_begin(&region, 10 * CUAI_HOST_STEP - 1));
    expect_u64(region.most, 10 * CUAI_HOST_STEP);
    expect_u64(region.committed, 0);
    ck_assert(cuai_host_commit(&region, 1));
    expect_u64(region.committed, CUAI_HOST_STEP);
    ck_assert(cuai_host_commit(&region, CUAI_HOST_STEP + 1));
    expect_u64(region.committed, 2 * CUAI_HOST_STEP);
    ck_assert(is_zero(region.base, region.committed));
    memset(region.base, 0xff, region.committed);
    ck_assert(cuai_host_commit(&region, region.most));
    for (size_t i = 0; i < 2 * CUAI_HOST_STEP; i++)
        ck_assert_uint_eq(region.base[i], 0xff);
    ck_assert(is_zero(region.base + 2 * CUAI_HOST_STEP, 8 * CUAI_HOST_STEP));
    expect_u64(region.committed, region.most);
    ck_assert(!cuai_host_commit(&region, region.most + 1));
    expect_u64(cuai_host_live(), before + region.most);
    cuai_host_release(&region);
    ck_assert_ptr_null(region.base);
    cuai_host_release(&region);
    expect_u64(cuai_host_live(), before);
}
END_TEST

START_TEST(host_region_commit_of_what_is_committed_takes_nothing)
{
    cuai_host_region_t region;
    ck_assert(cuai_host_region_begin(&region, CUAI_HOST_STEP));
    ck_assert(cuai_host_commit(&region, 1));
    cuai_host_fail_at(1);
    ck_assert(cuai_host_commit(&region, CUAI_HOST_STEP));
    expect_u64(cuai_host_calls(), 0);
    cuai_host_fail_at(0);
    cuai_host_release(&region);
}
END_TEST

/* A table that may become huge takes no addresses before it does. */
START_TEST(host_region_has_what_is_asked_and_no_more_than_it_may)
{
    cuai_host_region_t region;
    ck_assert(!cuai_host_region_begin(&region, SIZE_MAX));
    ck_assert_ptr_null(region.base);
    ck_assert(cuai_host_region_begin(&region, (size_t)1 << 60));
    ck_assert(!cuai_host_commit(&region, (size_t)1 << 59));
    ck_assert_ptr_null(region.base);
    ck_assert(cuai_host_commit(&region, 1));
    expect_u64(region.room, CUAI_HOST_STEP);
    cuai_host_release(&region);
}
END_TEST

/* Whoever keeps an address into a table that grew would be found out. */
START_TEST(host_region_moves_and_keeps_what_it_has)
{
    cuai_host_region_t region;
    ck_assert(cuai_host_region_begin(&region, (size_t)64 << 20));
    for (size_t bytes = 1; bytes <= (size_t)8 << 20; bytes += 100000) {
        size_t had = region.committed;
        ck_assert(cuai_host_commit(&region, bytes));
        ck_assert(is_zero(region.base + had, region.committed - had));
        memset(region.base + had, 0x5a, region.committed - had);
        ck_assert_uint_eq(region.base[0], 0x5a);
        ck_assert_uint_eq(region.base[had / 2], 0x5a);
    }
    cuai_host_release(&region);
}
END_TEST

START_TEST(host_fail_at_refuses_the_nth_call_only)
{
    cuai_host_region_t region;
    cuai_host_fail_at(2);
    void *first = cuai_host_alloc(1);
    ck_assert_ptr_nonnull(first);
    ck_assert(cuai_host_region_begin(&region, 1));
    ck_assert(!cuai_host_commit(&region, 1));
    expect_u64(region.committed, 0);
    ck_assert(cuai_host_commit(&region, 1));
    expect_u64(cuai_host_calls(), 3);
    cuai_host_fail_at(1);
    ck_assert_ptr_null(cuai_host_alloc(1));
    cuai_host_fail_at(0);
    cuai_host_free(first);
    cuai_host_release(&region);
}
END_TEST

/* ---- Statuses and version ---------------------------------------------- */

START_TEST(status_name_and_text_of_every_status)
{
    expect_text(cuarena_status_name(CUARENA_OK), "CUARENA_OK");
    expect_text(cuarena_status_name(CUARENA_FRAGMENTED), "CUARENA_FRAGMENTED");
    expect_text(cuarena_status_name(CUARENA_CORRUPT), "CUARENA_CORRUPT");
    for (cuarena_status_t s = CUARENA_OK; s <= CUARENA_CORRUPT; s++) {
        ck_assert_str_ne(cuarena_status_name(s), "CUARENA_UNKNOWN");
        const char *text = cuarena_status_text(s);
        ck_assert_msg(text[strlen(text) - 1] == '.', "no sentence: %s", text);
    }
}
END_TEST

START_TEST(status_name_of_unknown_values)
{
    const cuarena_status_t values[] = {-1, CUARENA_CORRUPT + 1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        expect_text(cuarena_status_name(values[i]), "CUARENA_UNKNOWN");
        ck_assert_ptr_nonnull(cuarena_status_text(values[i]));
    }
}
END_TEST

START_TEST(version_string_is_the_header)
{
    char expected[32];
    snprintf(expected, sizeof(expected), "%d.%d.%d", CUARENA_VERSION_MAJOR, CUARENA_VERSION_MINOR,
             CUARENA_VERSION_PATCH);
    expect_text(cuarena_version_string(), expected);
}
END_TEST

/* ---- The last error ---------------------------------------------------- */

START_TEST(last_error_info_before_any_error)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    expect_u64(info.struct_size, sizeof(info));
    expect_ok(cuarena_last_error_info(&info));
    expect_status(info.status, CUARENA_OK);
    expect_text(info.message, "");
}
END_TEST

START_TEST(fail_sets_status_and_message)
{
    expect_status(cuai_fail(CUARENA_BUSY, "%d of %s", 2, "them"), CUARENA_BUSY);
    expect_text(last_error_message(), "2 of them");
    expect_text(cuarena_last_error(), "2 of them");
}
END_TEST

START_TEST(fail_bytes_sets_the_amounts_and_the_next_clears_them)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    expect_status(cuai_fail_bytes(CUARENA_LIMIT, 1, 2, 3, 4, 5, "no"), CUARENA_LIMIT);
    expect_ok(cuarena_last_error_info(&info));
    expect_status(info.status, CUARENA_LIMIT);
    expect_u64(info.asked_bytes, 1);
    expect_u64(info.limit_bytes, 2);
    expect_u64(info.reserved_bytes, 3);
    expect_u64(info.free_bytes, 4);
    expect_u64(info.largest_bytes, 5);
    expect_status(cuai_fail_driver(-17, "refused"), CUARENA_DRIVER);
    expect_ok(cuarena_last_error_info(&info));
    ck_assert_int_eq(info.driver_code, -17);
    expect_u64(info.asked_bytes, 0);
    expect_text(info.message, "refused");
}
END_TEST

/* A message of `length` times the character, which is given. */
static const char *message_of(const char *character, size_t length)
{
    char text[2000] = "";
    for (size_t i = 0; i < length; i++)
        strcat(text, character);
    cuai_fail(CUARENA_BAD_ARGUMENT, "%s", text);
    return last_error_message();
}

START_TEST(fail_says_that_a_long_message_is_cut)
{
    expect_u64(strlen(message_of("x", 511)), 511);
    expect_text(last_error_message() + 508, "xxx");
    expect_u64(strlen(message_of("x", 512)), 511);
    expect_text(last_error_message() + 507, "x...");
    cuai_error_add(" and more");
    expect_u64(strlen(last_error_message()), 511);
    expect_text(last_error_message() + 508, "...");
    message_of("x", 510);
    cuai_error_add("%s", "yz");
    expect_text(last_error_message() + 507, "x...");
}
END_TEST

START_TEST(fail_cuts_no_character_in_two)
{
    /* characters of two bytes, of three, and of one that is written as four */
    expect_u64(strlen(message_of("\u00e9", 300)), 511);
    expect_text(last_error_message() + 506, "\u00e9...");
    expect_u64(strlen(message_of("\u20ac", 300)), 510);
    expect_text(last_error_message() + 504, "\u20ac...");
    expect_u64(strlen(message_of("\x1b", 127)), 508);
    expect_u64(strlen(message_of("\x1b", 128)), 511);
    expect_text(last_error_message() + 504, "\\x1b...");
}
END_TEST

START_TEST(last_error_info_refuses_unknown_sizes)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    cuai_fail(CUARENA_STALE, "kept");
    expect_status(cuarena_last_error_info(NULL), CUARENA_BAD_ARGUMENT);
    const size_t sizes[] = {0, sizeof(size_t), sizeof(info) - 1, sizeof(info) + 1, SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        info.struct_size = sizes[i];
        expect_status(cuarena_last_error_info(&info), CUARENA_BAD_ARGUMENT);
        expect_text(info.message, "");
    }
    expect_text(last_error_message(), "kept");
}
END_TEST

START_TEST(error_info_init_null)
{
    cuarena_error_info_init(NULL);
}
END_TEST

/* ---- The log ----------------------------------------------------------- */

typedef struct heard {
    int32_t level;
    int count;
    char line[1100];
} heard_t;

static void hear(void *user, int32_t level, const char *line)
{
    heard_t *heard = user;
    heard->level = level;
    heard->count++;
    snprintf(heard->line, sizeof(heard->line), "%s", line);
}

START_TEST(log_level_bounds_what_is_heard)
{
    heard_t heard = {0};
    cuarena_log_set_callback(hear, &heard);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_WARN));
    ck_assert_int_eq(cuarena_log_level(), CUARENA_LOG_WARN);
    cuai_log(CUARENA_LOG_INFO, "not %s", "heard");
    ck_assert_int_eq(heard.count, 0);
    cuai_log(CUARENA_LOG_WARN, "%d heard", 1);
    expect_text(heard.line, "1 heard");
    cuai_log(CUARENA_LOG_ERROR, "worse");
    ck_assert_int_eq(heard.level, CUARENA_LOG_ERROR);
    ck_assert_int_eq(heard.count, 2);
    cuarena_log_set_callback(NULL, NULL);
}
END_TEST

START_TEST(log_off_evaluates_nothing)
{
    int evaluated = 0;
    expect_ok(cuarena_log_set_level(CUARENA_LOG_OFF));
    cuai_log(CUARENA_LOG_ERROR, "%d", ++evaluated);
    ck_assert_int_eq(evaluated, 0);
}
END_TEST

START_TEST(log_set_level_out_of_range)
{
    expect_ok(cuarena_log_set_level(CUARENA_LOG_INFO));
    expect_status(cuarena_log_set_level(-1), CUARENA_BAD_ARGUMENT);
    expect_message("-1", "0 to 4");
    expect_status(cuarena_log_set_level(5), CUARENA_BAD_ARGUMENT);
    ck_assert_int_eq(cuarena_log_level(), CUARENA_LOG_INFO);
}
END_TEST

START_TEST(log_cuts_a_long_line)
{
    heard_t heard = {0};
    cuarena_log_set_callback(hear, &heard);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_DEBUG));
    cuai_log(CUARENA_LOG_DEBUG, "%01200d", 0);
    expect_u64(strlen(heard.line), 1023);
    cuarena_log_set_callback(NULL, NULL);
}
END_TEST

/* As if the process had just begun. */
static void forget_level(void)
{
    atomic_store(&cuai_log_threshold, CUARENA_LOG_DEBUG + 1);
}

START_TEST(log_level_comes_from_the_environment)
{
    static const char *const names[] = {"off", "error", "warn", "info", "debug"};
    for (int32_t level = 0; level < 5; level++) {
        setenv("CUARENA_LOG", names[level], 1);
        forget_level();
        ck_assert_int_eq(cuarena_log_level(), level);
    }
    setenv("CUARENA_LOG", "off", 1);
    ck_assert_int_eq(cuarena_log_level(), CUARENA_LOG_DEBUG);
}
END_TEST

START_TEST(log_level_is_off_for_other_words)
{
    static const char *const names[] = {"", "verbose", "ERROR", "1"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        setenv("CUARENA_LOG", names[i], 1);
        forget_level();
        ck_assert_int_eq(cuarena_log_level(), CUARENA_LOG_OFF);
    }
    unsetenv("CUARENA_LOG");
    forget_level();
    ck_assert_int_eq(cuarena_log_level(), CUARENA_LOG_OFF);
}
END_TEST

START_TEST(log_first_line_reads_the_environment)
{
    heard_t heard = {0};
    cuarena_log_set_callback(hear, &heard);
    setenv("CUARENA_LOG", "error", 1);
    forget_level();
    cuai_log(CUARENA_LOG_INFO, "not heard");
    cuai_log(CUARENA_LOG_ERROR, "heard");
    ck_assert_int_eq(heard.count, 1);
    cuarena_log_set_callback(NULL, NULL);
}
END_TEST

START_TEST(log_writes_to_stderr_by_default)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_INFO));
    cuai_log(CUARENA_LOG_INFO, "a line");
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    char text[64] = "";
    rewind(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof(text), file));
    fclose(file);
    expect_text(text, "cuarena: info: a line\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    suite_add_list(suite, "bits",
                   TEST_LIST(power_of_two_edges, bit_positions, align_up_and_down,
                             checked_arithmetic_at_the_end_of_64_bits));
    TCase *abort_case = tcase_create("assert");
    tcase_add_test_raise_signal(abort_case, assert_failed_aborts, SIGABRT);
    suite_add_tcase(suite, abort_case);
    suite_add_list(suite, "sized", TEST_LIST(sized_ok_edges, sized_copies_what_the_caller_knows));
    suite_add_list(suite, "host",
                   TEST_LIST(host_alloc_is_zeroed_aligned_and_counted,
                             host_alloc_refuses_what_overflows, host_region_commits_in_steps,
                             host_region_commit_of_what_is_committed_takes_nothing,
                             host_region_has_what_is_asked_and_no_more_than_it_may,
                             host_region_moves_and_keeps_what_it_has,
                             host_fail_at_refuses_the_nth_call_only));
    suite_add_list(suite, "status",
                   TEST_LIST(status_name_and_text_of_every_status, status_name_of_unknown_values,
                             version_string_is_the_header));
    suite_add_list(suite, "error",
                   TEST_LIST(last_error_info_before_any_error, fail_sets_status_and_message,
                             fail_bytes_sets_the_amounts_and_the_next_clears_them,
                             fail_says_that_a_long_message_is_cut, fail_cuts_no_character_in_two,
                             last_error_info_refuses_unknown_sizes, error_info_init_null));
    suite_add_list(suite, "log",
                   TEST_LIST(log_level_bounds_what_is_heard, log_off_evaluates_nothing,
                             log_set_level_out_of_range, log_cuts_a_long_line,
                             log_level_comes_from_the_environment, log_level_is_off_for_other_words,
                             log_first_line_reads_the_environment,
                             log_writes_to_stderr_by_default));
    return suite_main(suite);
}
