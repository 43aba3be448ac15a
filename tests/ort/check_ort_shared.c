/*
 * Shared arenas: who makes one, who is told what, letting go, replacing; threads; forks.
 */
#include "support/configs.h"
#include "support/fixture.h"
#include "support/log_lines.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define POOL MIB(1)

static cuarena_t *acquire(const char *text, cuarena_shared_report_t *report)
{
    cuarena_t *arena = NULL;
    cuarena_config_t config = small_config(text);
    cuarena_shared_report_init(report);
    expect_ok(cuarena_shared_acquire(&config, &arena, report));
    ck_assert_ptr_nonnull(arena);
    return arena;
}

static void release(cuarena_t *arena)
{
    expect_ok(cuarena_shared_release(&arena));
    ck_assert_ptr_null(arena);
}

/* Nothing is shared for the text's memory. */
static void expect_none(const char *text)
{
    cuarena_t *arena = NULL;
    cuarena_config_t config = small_config(text);
    expect_status(cuarena_shared_find(&config, &arena), CUARENA_STALE);
    ck_assert_ptr_null(arena);
}

/* ---- Acquiring --------------------------------------------------------- */

START_TEST(acquire_makes_one_and_then_gives_it)
{
    cuarena_shared_report_t report;
    cuarena_t *first = acquire("", &report);
    ck_assert_int_eq(report.created, 1);
    ck_assert_int_eq(report.differs, 0);
    expect_u64(report.holders, 1);
    expect_text(report.text, "");
    cuarena_t *second = acquire("", &report);
    expect_ptr(second, first);
    ck_assert_int_eq(report.created, 0);
    ck_assert_int_eq(report.differs, 0);
    expect_u64(report.holders, 2);
    release(first);
    void *pointer = NULL;
    expect_ok(cuarena_alloc(second, 1000, &pointer));
    expect_ok(cuarena_free(second, pointer));
    release(second);
    expect_none("");
}
END_TEST

static void expect_warnings(int count)
{
    int warnings = 0;
    for (int i = 0; i < logged.count; i++)
        warnings += logged.list[i].level == CUARENA_LOG_WARN;
    ck_assert_int_eq(warnings, count);
}

START_TEST(acquire_tells_what_is_in_force)
{
    uint64_t limit = 0;
    cuarena_properties_t properties;
    cuarena_shared_report_t report;
    cuarena_properties_init(&properties);
    cuarena_t *first = acquire("name=mine", &report);
    log_listen(CUARENA_LOG_WARN);
    cuarena_t *second = acquire("limit=8MiB,alignment=512,name=yours", &report);
    log_listen_no_more();
    expect_ptr(second, first);
    ck_assert_int_eq(report.differs, 2);
    expect_text(report.text, "limit: '1MiB' in force, '8MiB' asked; "
                             "alignment: '256' in force, '512' asked");
    expect_warnings(2);
    expect_text(log_text(CUARENA_LOG_WARN, ""),
                "a shared arena exists: option ignored: limit: '1MiB' is in "
                "force, '8MiB' was asked\n"
                "a shared arena exists: option ignored: alignment: '256' is in "
                "force, '512' was asked\n");
    expect_ok(cuarena_get_limit(second, CUARENA_LIMIT_RESERVED, &limit));
    expect_u64(limit, MIB(1));
    expect_ok(cuarena_properties(second, &properties));
    expect_u64(properties.granule_bytes, 256);
    release(second);
    release(first);
}
END_TEST

/* What a preset stands for is no difference from the same by name. */
START_TEST(acquire_compares_what_options_come_to)
{
    cuarena_shared_report_t report;
    cuarena_t *first = acquire("preset=grow", &report);
    cuarena_t *second = acquire("preset=pool,grow=exact,placement=low", &report);
    ck_assert_int_eq(report.differs, 0);
    cuarena_t *third = acquire("preset=pool", &report);
    ck_assert_int_ge(report.differs, 1);
    ck_assert_ptr_nonnull(strstr(report.text, "grow: 'exact' in force"));
    release(first);
    release(second);
    release(third);
}
END_TEST

START_TEST(acquire_that_differs_leaves_the_last_error_as_it_was)
{
    cuarena_shared_report_t report;
    cuarena_t *first = acquire("", &report);
    expect_status(cuarena_alloc(first, 0, NULL), CUARENA_BAD_ARGUMENT);
    char before[512];
    (void)snprintf(before, sizeof before, "%s", last_error().message);
    log_listen(CUARENA_LOG_WARN);
    cuarena_t *second = acquire("limit=8MiB,alignment=512", &report);
    log_listen_no_more();
    ck_assert_int_eq(report.differs, 2);
    expect_text(last_error().message, before);
    expect_warnings(2);
    release(second);
    release(first);
}
END_TEST

START_TEST(acquire_is_by_memory)
{
    cuarena_shared_report_t report;
    cuarena_t *host = acquire("", &report);
    cuarena_t *none = acquire("memory=none", &report);
    ck_assert_int_eq(report.created, 1);
    ck_assert_ptr_ne(host, none);
    release(host);
    release(none);
}
END_TEST

START_TEST(acquire_refuses_what_has_an_owner)
{
    test_memory_t memory;
    cuarena_t *arena = NULL;
    static char bytes[4096];
    cuarena_config_t config = small_config("preset=pool");
    test_memory_init(&memory);
    config.memory = CUARENA_MEMORY_CUSTOM;
    config.ops = &memory.ops;
    expect_status(cuarena_shared_acquire(&config, &arena, NULL), CUARENA_BAD_ARGUMENT);
    config = small_config("preset=pool");
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes = bytes;
    config.bytes_size = sizeof bytes;
    expect_status(cuarena_shared_acquire(&config, &arena, NULL), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(last_error().message, "not shared"));
    ck_assert_ptr_null(arena);
}
END_TEST

/* A failed one leaves no trace; the next makes the arena. */
START_TEST(acquire_that_cannot_make_it)
{
    cuarena_t *arena = NULL;
    cuarena_shared_report_t report;
    cuarena_config_t config = small_config("");
    expect_ok(cuarena_config_parse(&config, "preset=pool,pool=2MiB"));
    expect_status(cuarena_shared_acquire(&config, &arena, NULL), CUARENA_LIMIT);
    ck_assert_ptr_null(arena);
    expect_none("");
    release(acquire("", &report));
    ck_assert_int_eq(report.created, 1);
}
END_TEST

START_TEST(acquire_bad_arguments)
{
    cuarena_t *arena = NULL;
    cuarena_shared_report_t report;
    cuarena_config_t config = small_config("");
    cuarena_shared_report_init(&report);
    expect_status(cuarena_shared_acquire(NULL, &arena, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_shared_acquire(&config, NULL, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_shared_find(&config, NULL), CUARENA_BAD_ARGUMENT);
    report.struct_size = 1;
    expect_status(cuarena_shared_acquire(&config, &arena, &report), CUARENA_BAD_ARGUMENT);
    config.alignment = 3;
    expect_status(cuarena_shared_acquire(&config, &arena, NULL), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_null(arena);
    expect_none("");
}
END_TEST

START_TEST(find_holds_what_is_there)
{
    cuarena_t *found = NULL;
    cuarena_shared_report_t report;
    cuarena_config_t config = small_config("limit=9MiB");
    expect_none("");
    cuarena_t *arena = acquire("", &report);
    expect_ok(cuarena_shared_find(&config, &found));
    expect_ptr(found, arena);
    release(arena);
    release(found);
    expect_none("");
}
END_TEST

/* ---- Letting go -------------------------------------------------------- */

START_TEST(release_one_too_many_is_told)
{
    cuarena_shared_report_t report;
    cuarena_t *arena = acquire("", &report);
    cuarena_t *again = arena;
    release(arena);
    log_listen(CUARENA_LOG_WARN);
    expect_status(cuarena_shared_release(&again), CUARENA_STALE);
    log_listen_no_more();
    expect_warnings(1);
    ck_assert_ptr_nonnull(strstr(log_text(CUARENA_LOG_WARN, ""), "once more than acquired"));
    ck_assert_ptr_nonnull(again);
}
END_TEST

START_TEST(release_of_nothing)
{
    cuarena_t *arena = NULL;
    expect_ok(cuarena_shared_release(NULL));
    expect_ok(cuarena_shared_release(&arena));
}
END_TEST

START_TEST(release_of_an_arena_that_is_not_shared)
{
    fixture_t f;
    cuarena_shared_report_t report;
    cuarena_t *shared = acquire("", &report);
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    cuarena_t *arena = f.arena;
    step(&f, cuarena_shared_release(&arena), CUARENA_STALE);
    fixture_close(&f);
    release(shared);
}
END_TEST

START_TEST(release_by_the_last_one_while_blocks_live)
{
    void *pointer = NULL;
    cuarena_shared_report_t report;
    cuarena_t *arena = acquire("", &report);
    cuarena_t *other = acquire("", &report);
    expect_ok(cuarena_alloc(arena, 1000, &pointer));
    release(other);
    expect_status(cuarena_shared_release(&arena), CUARENA_BUSY);
    ck_assert_ptr_nonnull(arena);
    other = acquire("", &report);
    expect_ptr(other, arena);
    expect_u64(report.holders, 2);
    release(other);
    expect_ok(cuarena_free(arena, pointer));
    release(arena);
    expect_none("");
}
END_TEST

START_TEST(destroy_of_a_shared_arena_is_busy)
{
    cuarena_shared_report_t report;
    cuarena_t *arena = acquire("name=ours", &report);
    cuarena_t *same = arena;
    expect_status(cuarena_destroy(&same), CUARENA_BUSY);
    ck_assert_ptr_nonnull(strstr(last_error().message, "cuarena_shared_release"));
    expect_status(cuarena_destroy_forced(&same), CUARENA_BUSY);
    expect_ptr(same, arena);
    expect_ok(cuarena_validate(arena, NULL, 0));
    release(arena);
}
END_TEST

/* A handler of its own: the arena is in use by the call that waits for it. */
static int32_t let_go(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt)
{
    uint64_t *calls = user;
    cuarena_t *same = arena;
    (void)asked_bytes, (void)attempt;
    ++*calls;
    expect_status(cuarena_shared_release(&same), CUARENA_REENTERED);
    expect_ptr(same, arena);
    return 0;
}

START_TEST(release_in_the_arenas_handler)
{
    uint64_t calls = 0;
    void *pointer = NULL;
    cuarena_shared_report_t report;
    cuarena_t *arena = acquire("", &report);
    void *first = NULL;
    expect_ok(cuarena_set_oom_handler(arena, let_go, &calls));
    expect_ok(cuarena_alloc(arena, KIB(512), &first));
    expect_status(cuarena_alloc(arena, MIB(1), &pointer), CUARENA_LIMIT);
    expect_u64(calls, 1);
    expect_ok(cuarena_free(arena, first));
    release(arena);
    expect_none("");
}
END_TEST

/* ---- Replacing --------------------------------------------------------- */

START_TEST(replace_when_nobody_else_holds_it)
{
    uint64_t limit = 0;
    cuarena_shared_report_t report;
    cuarena_t *arena = acquire("", &report);
    cuarena_config_t config = small_config("limit=8MiB");
    report.created = 0;
    expect_ok(cuarena_shared_replace(&arena, &config, &report));
    ck_assert_int_eq(report.created, 1);
    expect_u64(report.holders, 1);
    expect_ok(cuarena_get_limit(arena, CUARENA_LIMIT_RESERVED, &limit));
    expect_u64(limit, MIB(8));
    cuarena_t *other = acquire("limit=8MiB", &report);
    expect_ptr(other, arena);
    ck_assert_int_eq(report.differs, 0);
    release(other);
    release(arena);
    expect_none("");
}
END_TEST

START_TEST(replace_while_somebody_holds_it)
{
    uint64_t limit = 0;
    cuarena_shared_report_t report;
    cuarena_config_t config = small_config("limit=8MiB");
    cuarena_t *arena = acquire("", &report);
    cuarena_t *other = acquire("", &report);
    cuarena_t *mine = arena, *none = NULL;
    log_listen(CUARENA_LOG_WARN);
    expect_status(cuarena_shared_replace(&mine, &config, NULL), CUARENA_BUSY);
    log_listen_no_more();
    ck_assert_ptr_nonnull(strstr(last_error().message, "1 others hold"));
    ck_assert_ptr_nonnull(strstr(log_text(CUARENA_LOG_WARN, ""), "limit: '1MiB' is in force"));
    expect_ptr(mine, arena);
    expect_status(cuarena_shared_replace(&none, &config, NULL), CUARENA_BUSY);
    ck_assert_ptr_nonnull(strstr(last_error().message, "2 others hold"));
    ck_assert_ptr_null(none);
    expect_ok(cuarena_get_limit(arena, CUARENA_LIMIT_RESERVED, &limit));
    expect_u64(limit, MIB(1));
    release(other);
    expect_ok(cuarena_shared_replace(&arena, &config, NULL));
    release(arena);
}
END_TEST

START_TEST(replace_while_blocks_live)
{
    void *pointer = NULL;
    cuarena_shared_report_t report;
    cuarena_config_t config = small_config("limit=8MiB");
    cuarena_t *arena = acquire("", &report);
    cuarena_t *same = arena;
    expect_ok(cuarena_alloc(arena, 1000, &pointer));
    expect_status(cuarena_shared_replace(&arena, &config, NULL), CUARENA_BUSY);
    expect_ptr(arena, same);
    expect_ok(cuarena_free(arena, pointer));
    release(arena);
}
END_TEST

START_TEST(replace_where_there_is_none)
{
    cuarena_t *arena = NULL;
    cuarena_shared_report_t report;
    cuarena_config_t config = small_config("");
    cuarena_shared_report_init(&report);
    expect_ok(cuarena_shared_replace(&arena, &config, &report));
    ck_assert_int_eq(report.created, 1);
    release(arena);
    expect_none("");
}
END_TEST

START_TEST(replace_by_another_memory)
{
    cuarena_shared_report_t report;
    cuarena_config_t config = small_config("memory=none");
    cuarena_t *arena = acquire("", &report);
    cuarena_t *same = arena;
    expect_status(cuarena_shared_replace(&arena, &config, NULL), CUARENA_BAD_ARGUMENT);
    cuarena_t *none = acquire("memory=none", &report);
    expect_status(cuarena_shared_replace(&arena, &config, NULL), CUARENA_BAD_ARGUMENT);
    expect_ptr(arena, same);
    release(arena);
    release(none);
}
END_TEST

START_TEST(replace_of_what_is_not_shared)
{
    fixture_t f;
    cuarena_config_t config = small_config("");
    fixture_open(&f, KIND_CUSTOM_POOL, POOL);
    cuarena_t *arena = f.arena;
    step(&f, cuarena_shared_replace(&arena, &config, NULL), CUARENA_STALE);
    expect_ptr(arena, f.arena);
    fixture_close(&f);
    expect_none("");
}
END_TEST

/* The old one is gone then, and says so. */
START_TEST(replace_that_cannot_make_the_new_one)
{
    cuarena_shared_report_t report;
    cuarena_config_t config = small_config("");
    cuarena_t *arena = acquire("", &report);
    expect_ok(cuarena_config_parse(&config, "preset=pool,pool=2MiB"));
    expect_status(cuarena_shared_replace(&arena, &config, NULL), CUARENA_LIMIT);
    ck_assert_ptr_null(arena);
    expect_none("");
}
END_TEST

/* What the configuration lacks is found before anything is ended. */
START_TEST(replace_by_a_bad_configuration)
{
    cuarena_shared_report_t report;
    cuarena_config_t config = small_config("");
    cuarena_t *arena = acquire("", &report);
    cuarena_t *same = arena;
    config.alignment = 3;
    expect_status(cuarena_shared_replace(&arena, &config, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_shared_replace(NULL, &config, NULL), CUARENA_BAD_ARGUMENT);
    expect_ptr(arena, same);
    expect_ok(cuarena_validate(arena, NULL, 0));
    release(arena);
}
END_TEST

/* ---- Threads ----------------------------------------------------------- */

#define THREADS 6

typedef struct worker {
    uint32_t index;
    random_state_t random;
    uint64_t created;
    uint64_t swapped;
    uint64_t refused;
} worker_t;

static void use(cuarena_t *arena)
{
    void *pointer = NULL;
    cuarena_status_t status = cuarena_alloc(arena, 1000, &pointer);
    ck_assert(status == CUARENA_OK || status == CUARENA_LIMIT);
    if (status == CUARENA_OK)
        expect_ok(cuarena_free(arena, pointer));
}

static void replace(worker_t *w, cuarena_t **arena, const char *text)
{
    cuarena_config_t config = small_config(text);
    cuarena_t *before = *arena;
    cuarena_status_t status = cuarena_shared_replace(arena, &config, NULL);
    ck_assert(status == CUARENA_OK || status == CUARENA_BUSY);
    if (status == CUARENA_BUSY)
        expect_ptr(*arena, before);
    *(status == CUARENA_OK ? &w->swapped : &w->refused) += 1;
}

static void *work(void *user)
{
    static const char *const texts[] = {"", "limit=2MiB", "memory=none",
                                        "memory=none,alignment=512"};
    worker_t *w = user;
    uint64_t rounds = scale_pick(200, 1000, 20000);
    for (uint64_t i = 0; i < rounds; i++) {
        cuarena_shared_report_t report;
        const char *text = texts[random_below(&w->random, COUNT_OF(texts))];
        cuarena_t *arena = acquire(text, &report);
        w->created += (uint64_t)report.created;
        use(arena);
        if (random_below(&w->random, 4) == 0)
            replace(w, &arena, text);
        use(arena);
        release(arena);
    }
    return NULL;
}

START_TEST(threads_acquire_replace_and_release)
{
    pthread_t threads[THREADS];
    worker_t workers[THREADS];
    uint64_t seed = scale_seed("shared"), made = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (worker_t){.index = i, .random = {seed + i}};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        made += workers[i].created + workers[i].swapped;
    }
    ck_assert_uint_gt(made, 0);
    expect_none("");
    expect_none("memory=none");
}
END_TEST

/* All ask at once: one makes it, all hold it. */
static atomic_uint ready;
static cuarena_t *got[THREADS];

static void *acquire_at_once(void *user)
{
    worker_t *w = user;
    cuarena_shared_report_t report;
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < THREADS)
        ;
    got[w->index] = acquire("", &report);
    w->created = (uint64_t)report.created;
    return NULL;
}

START_TEST(threads_that_ask_at_once_get_one_arena)
{
    pthread_t threads[THREADS];
    worker_t workers[THREADS];
    uint64_t created = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (worker_t){.index = i};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, acquire_at_once, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        created += workers[i].created;
    }
    expect_u64(created, 1);
    for (int i = 0; i < THREADS; i++) {
        expect_ptr(got[i], got[0]);
        cuarena_t *mine = got[i];
        expect_ok(cuarena_shared_release(&mine));
    }
    expect_none("");
}
END_TEST

/* ---- Forks ------------------------------------------------------------- */

static atomic_bool stop;

static void *come_and_go(void *user)
{
    (void)user;
    while (!atomic_load(&stop)) {
        cuarena_shared_report_t report;
        release(acquire("memory=none", &report));
    }
    return NULL;
}

/* Whatever another thread was about, the child is not held up by it. */
START_TEST(fork_while_others_make_and_end_arenas)
{
    pthread_t thread;
    cuarena_shared_report_t report;
    cuarena_t *arena = acquire("", &report);
    ck_assert_int_eq(pthread_create(&thread, NULL, come_and_go, NULL), 0);
    const cuarena_config_t ours = small_config("");
    const cuarena_config_t theirs = small_config("memory=none");
    for (uint64_t i = 0; i < scale_pick(0, 50, 500); i++) {
        pid_t child = fork();
        if (child == 0) { /* nothing of the check library: it has a lock too */
            cuarena_t *found = NULL;
            bool fine = cuarena_shared_find(&ours, &found) == CUARENA_OK && found == arena &&
                        cuarena_shared_release(&found) == CUARENA_OK &&
                        cuarena_shared_acquire(&theirs, &found, NULL) == CUARENA_OK;
            _exit(fine ? 0 : 1);
        }
        ck_assert_int_gt(child, 0);
        int status = -1;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    release(arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shared");
    suite_add_list(suite, "acquire",
                   TEST_LIST(acquire_makes_one_and_then_gives_it, acquire_tells_what_is_in_force,
                             acquire_compares_what_options_come_to,
                             acquire_that_differs_leaves_the_last_error_as_it_was,
                             acquire_is_by_memory, acquire_refuses_what_has_an_owner,
                             acquire_that_cannot_make_it, acquire_bad_arguments,
                             find_holds_what_is_there));
    suite_add_list(suite, "release",
                   TEST_LIST(release_one_too_many_is_told, release_of_nothing,
                             release_of_an_arena_that_is_not_shared,
                             release_by_the_last_one_while_blocks_live,
                             destroy_of_a_shared_arena_is_busy, release_in_the_arenas_handler));
    suite_add_list(suite, "replace",
                   TEST_LIST(replace_when_nobody_else_holds_it, replace_while_somebody_holds_it,
                             replace_while_blocks_live, replace_where_there_is_none,
                             replace_by_another_memory, replace_of_what_is_not_shared,
                             replace_that_cannot_make_the_new_one, replace_by_a_bad_configuration));
    suite_add_list(
        suite, "threads",
        TEST_LIST(threads_acquire_replace_and_release, threads_that_ask_at_once_get_one_arena));
    if (scale_may_fork())
        suite_add_list(suite, "forks", TEST_LIST(fork_while_others_make_and_end_arenas));
    return suite_main(suite);
}
