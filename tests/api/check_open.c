/*
 * cuarena_open: an arena of a text of options, and cuarena_last_error, which says in a sentence why
 * a call failed.
 */
#include "support/base_support.h"
#include "support/configs.h"
#include "support/expect.h"

#include <cuarena.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void expect_open_refused(const char *options, cuarena_status_t want)
{
    cuarena_t *arena = UNTOUCHED;
    expect_status(cuarena_open(options, &arena), want);
    ck_assert_ptr_eq(arena, UNTOUCHED);
    ck_assert_str_eq(cuarena_last_error(), last_error().message);
    ck_assert_str_ne(cuarena_last_error(), "");
}

/* ---- cuarena_open ------------------------------------------------------ */

START_TEST(open_reads_every_option)
{
    cuarena_t *arena;
    void *p;
    expect_ok(cuarena_open("memory=pageable, pool=1MiB,alignment=64", &arena));
    expect_u64(arena_stats(arena).capacity_bytes, 1 << 20);
    expect_ok(cuarena_alloc(arena, 1000, &p));
    uint64_t requested, allocated;
    expect_ok(cuarena_size_of(arena, p, &requested, &allocated));
    expect_u64(allocated, 1024);
    expect_ok(cuarena_free(arena, p));
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

/* Their pool is nearly all that is available, which not every machine lets a process have: what
 * counts is that both calls come to the same. */
START_TEST(open_without_options_is_the_defaults)
{
    static const char *const nothing[] = {NULL, "", " \t"};
    cuarena_config_t defaults = config_fresh();
    cuarena_t *arena;
    for (size_t i = 0; i < COUNT_OF(nothing); i++) {
        cuarena_status_t made = cuarena_create(&defaults, &arena);
        if (made == CUARENA_OK)
            expect_ok(cuarena_destroy(&arena));
        cuarena_status_t opened = cuarena_open(nothing[i], &arena);
        expect_status(opened, made);
        if (opened == CUARENA_OK)
            expect_ok(cuarena_destroy(&arena));
    }
}
END_TEST

START_TEST(open_names_an_unknown_key)
{
    expect_open_refused("poool=1MiB", CUARENA_BAD_ARGUMENT);
    expect_message("'poool'");
    expect_open_refused("pool=1MiB, poool", CUARENA_BAD_ARGUMENT);
    expect_message("poool");
}
END_TEST

START_TEST(open_names_a_bad_value)
{
    expect_open_refused("pool=1MiB, alignment=100", CUARENA_BAD_ARGUMENT);
    expect_message("alignment", "'100'", "a power of two from 8 to 1GiB");
}
END_TEST

START_TEST(open_refuses_what_does_not_go_together)
{
    expect_open_refused("pool=1MiB, stable=2MiB", CUARENA_BAD_ARGUMENT);
    expect_message("stable: '2MiB'", "accepted: up to the pool's 1048576");
    expect_open_refused("pool=1MiB, stable=100%", CUARENA_BAD_ARGUMENT);
    expect_message("stable: '100%'", "accepted:");
    expect_open_refused("pool=2MiB, limit=1MiB", CUARENA_LIMIT);
    expect_open_refused("memory=none, zero=alloc, pool=1MiB", CUARENA_UNSUPPORTED);
    expect_message("zero: 'alloc'", "'none'", "accepted: never");
}
END_TEST

START_TEST(open_refuses_null)
{
    expect_status(cuarena_open("pool=1MiB", NULL), CUARENA_BAD_ARGUMENT);
    expect_message("arena_out: NULL");
    expect_status(cuarena_open("poool=1MiB", NULL), CUARENA_BAD_ARGUMENT);
    expect_message("arena_out: NULL");
}
END_TEST

START_TEST(open_runs_out_of_memory)
{
    expect_open_refused("pool=255TiB", CUARENA_OUT_OF_MEMORY);
    expect_u64(last_error().asked_bytes, (uint64_t)255 << 40);
}
END_TEST

START_TEST(open_does_not_read_the_environment)
{
    cuarena_t *arena;
    ck_assert_int_eq(setenv("CUARENA_CONF", "poool=1", 1), 0);
    expect_ok(cuarena_open("pool=1MiB", &arena));
    ck_assert_int_eq(unsetenv("CUARENA_CONF"), 0);
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

/* ---- cuarena_last_error ------------------------------------------------ */

static void *ask_on_a_fresh_thread(void *unused)
{
    (void)unused;
    ck_assert_str_eq(cuarena_last_error(), "");
    expect_open_refused("poool=1", CUARENA_BAD_ARGUMENT);
    expect_message("'poool'");
    return NULL;
}

START_TEST(last_error_is_empty_at_first_and_each_threads_own)
{
    pthread_t thread;
    expect_open_refused("pool=1MiB, alignment=100", CUARENA_BAD_ARGUMENT);
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_on_a_fresh_thread, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    expect_message("alignment");
}
END_TEST

START_TEST(last_error_stays_until_the_next_failing_call)
{
    cuarena_t *arena;
    void *p;
    expect_open_refused("pool=1MiB, alignment=100", CUARENA_BAD_ARGUMENT);
    const char *why = cuarena_last_error();
    expect_ok(cuarena_open("pool=1MiB", &arena));
    expect_ok(cuarena_alloc(arena, 1000, &p));
    expect_ok(cuarena_free(arena, p));
    ck_assert_ptr_nonnull(strstr(why, "alignment"));
    expect_status(cuarena_free(arena, p), CUARENA_STALE);
    ck_assert_ptr_nonnull(strstr(cuarena_last_error(), "no live block"));
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("open");
    suite_add_list(suite, "open",
                   TEST_LIST(open_reads_every_option, open_without_options_is_the_defaults,
                             open_names_an_unknown_key, open_names_a_bad_value,
                             open_refuses_what_does_not_go_together, open_refuses_null,
                             open_runs_out_of_memory, open_does_not_read_the_environment));
    suite_add_list(suite, "last error",
                   TEST_LIST(last_error_is_empty_at_first_and_each_threads_own,
                             last_error_stays_until_the_next_failing_call));
    return suite_main(suite);
}
