/*
 * What hosts say of shared arenas in words of their own: options among the keys of several scopes,
 * and the list of devices whose arenas are to be trimmed.
 */
#include "support/configs.h"
#include "support/fixture.h"
#include "support/waits.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

static void release(cuarena_t *arena)
{
    expect_ok(cuarena_shared_release(&arena));
    ck_assert_ptr_null(arena);
}

/* ---- Scopes of keys ---------------------------------------------------- */

#define FACTORY "CudaPluginExecutionProvider"

static const char *const keys[] = {
    "ep_factory." FACTORY ".arena.limit",
    "ep_factory.cudapluginexecutionprovider.arena.alignment",
    "ep.cudapluginexecutionprovider.arena.limit",
    "ep." FACTORY ".arena.alignment",
    "ep.cudapluginexecutionprovider.enable_cuda_graph",
    "ep_factory." FACTORY "2.arena.limit",
    "arena.limit",
    "session.use_env_allocators",
};
static const char *const values[] = {
    "4MiB", "1024", "8MiB", "2048", "1", "7MiB", "16MiB", "1",
};

static cuarena_config_t scoped(int32_t scope, size_t expected)
{
    size_t taken = 0;
    cuarena_config_t config = small_config("");
    expect_ok(
        cuarena_config_from_scope(&config, scope, FACTORY, keys, values, COUNT_OF(keys), &taken));
    expect_u64(taken, expected);
    expect_u64(config.alignment, CUARENA_BYTES_PRESET);
    return config;
}

START_TEST(scopes_take_their_own_keys)
{
    expect_u64(scoped(CUARENA_SCOPE_ENVIRONMENT, 1).limit.value, MIB(4));
    expect_u64(scoped(CUARENA_SCOPE_SESSION, 1).limit.value, MIB(8));
    expect_u64(scoped(CUARENA_SCOPE_BARE, 1).limit.value, MIB(16));
}
END_TEST

/* The environment's arena comes first, and the session is told. */
START_TEST(environment_goes_before_a_session)
{
    cuarena_shared_report_t report;
    cuarena_t *registered = NULL, *session = NULL;
    cuarena_config_t config = scoped(CUARENA_SCOPE_ENVIRONMENT, 1);
    expect_ok(cuarena_shared_acquire(&config, &registered, NULL));
    config = scoped(CUARENA_SCOPE_SESSION, 1);
    cuarena_shared_report_init(&report);
    expect_ok(cuarena_shared_acquire(&config, &session, &report));
    expect_ptr(session, registered);
    expect_text(report.text, "limit: '4MiB' in force, '8MiB' asked");
    config = scoped(CUARENA_SCOPE_BARE, 1);
    expect_status(cuarena_shared_replace(&registered, &config, NULL), CUARENA_BUSY);
    release(session);
    expect_ok(cuarena_shared_replace(&registered, &config, NULL));
    uint64_t limit = 0;
    expect_ok(cuarena_get_limit(registered, CUARENA_LIMIT_RESERVED, &limit));
    expect_u64(limit, MIB(16));
    release(registered);
}
END_TEST

/* Without an environment's arena a session's keys count. */
START_TEST(session_alone_makes_the_arena)
{
    uint64_t limit = 0;
    cuarena_t *session = NULL;
    cuarena_config_t config = scoped(CUARENA_SCOPE_SESSION, 1);
    expect_ok(cuarena_shared_acquire(&config, &session, NULL));
    expect_ok(cuarena_get_limit(session, CUARENA_LIMIT_RESERVED, &limit));
    expect_u64(limit, MIB(8));
    release(session);
}
END_TEST

START_TEST(scope_errors_name_the_whole_key_and_set_nothing)
{
    static const char *const wrong[] = {"ep.f.arena.limit", "ep.f.arena.alignment"};
    static const char *const what[] = {"2MiB", "three"};
    size_t taken = 77;
    cuarena_config_t config = small_config("");
    expect_status(
        cuarena_config_from_scope(&config, CUARENA_SCOPE_SESSION, "F", wrong, what, 2, &taken),
        CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(last_error().message, "'three'"));
    ck_assert_ptr_nonnull(strstr(last_error().message, "'ep.f.arena.alignment'"));
    expect_u64(config.limit.value, MIB(1));
    expect_u64(taken, 77);
}
END_TEST

START_TEST(scope_of_an_unknown_option)
{
    static const char *const wrong[] = {"arena.limitt"};
    static const char *const what[] = {"2MiB"};
    cuarena_config_t config = small_config("");
    expect_status(
        cuarena_config_from_scope(&config, CUARENA_SCOPE_BARE, NULL, wrong, what, 1, NULL),
        CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(last_error().message, "limitt"));
}
END_TEST

/* The prefix is taken off once: so cuarena_config_set does. */
START_TEST(scope_of_an_option_with_two_prefixes)
{
    static const char *const wrong[] = {"arena.arena.limit", "ep_factory.F.arena.arena.limit",
                                        "ep.f.arena.arena.limit"};
    static const char *const what[] = {"2MiB"};
    cuarena_config_t config = small_config("");
    expect_status(cuarena_config_set(&config, wrong[0], "2MiB"), CUARENA_BAD_ARGUMENT);
    for (int32_t scope = 0; scope < 3; scope++) {
        expect_status(cuarena_config_from_scope(&config, scope, "F", &wrong[scope], what, 1, NULL),
                      CUARENA_BAD_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(last_error().message, wrong[scope]));
        expect_u64(config.limit.value, MIB(1));
    }
}
END_TEST

START_TEST(scope_bad_arguments)
{
    static const char *const none[] = {NULL};
    static const char *const some[] = {"arena.limit"};
    cuarena_config_t config = small_config("");
    expect_status(cuarena_config_from_scope(&config, 3, "F", some, some, 1, NULL),
                  CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(last_error().message, "scope 3"));
    for (int32_t scope = 1; scope < 3; scope++) {
        expect_status(cuarena_config_from_scope(&config, scope, NULL, some, some, 1, NULL),
                      CUARENA_BAD_ARGUMENT);
        expect_status(cuarena_config_from_scope(&config, scope, "", some, some, 1, NULL),
                      CUARENA_BAD_ARGUMENT);
    }
    expect_status(cuarena_config_from_scope(&config, 0, NULL, none, some, 1, NULL),
                  CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_config_from_scope(&config, 0, NULL, some, none, 1, NULL),
                  CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_config_from_scope(&config, 0, NULL, NULL, some, 1, NULL),
                  CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_config_from_scope(NULL, 0, NULL, NULL, NULL, 0, NULL),
                  CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_config_from_scope(&config, 0, NULL, NULL, NULL, 0, NULL));
}
END_TEST

/* ---- Shrinking --------------------------------------------------------- */

typedef struct held {
    cuarena_t *arena;
    void *lives;
} held_t;

/* A shared arena of pageable memory with a block, and what one left. */
static held_t open_held(void)
{
    held_t held = {NULL, NULL};
    void *gone = NULL;
    cuarena_config_t config = small_config("limit=4MiB");
    expect_ok(cuarena_shared_acquire(&config, &held.arena, NULL));
    expect_ok(cuarena_alloc(held.arena, 1000, &held.lives));
    expect_ok(cuarena_alloc(held.arena, MIB(2), &gone));
    expect_ok(cuarena_free(held.arena, gone));
    memset(held.lives, 77, 1000);
    return held;
}

static void close_held(const held_t *held)
{
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(((const unsigned char *)held->lives)[i], 77);
    expect_ok(cuarena_free(held->arena, held->lives));
    release(held->arena);
}

START_TEST(shrink_gives_back_what_nothing_lives_in)
{
    held_t held = open_held();
    uint64_t given = 0;
    uint64_t before = held_by(held.arena);
    expect_ok(cuarena_shared_shrink("cpu:0", &given));
    ck_assert_uint_ge(given, MIB(1));
    expect_u64(held_by(held.arena), before - given);
    expect_ok(cuarena_shared_shrink("cpu:0;cpu:0", &given));
    expect_u64(given, 0);
    expect_ok(cuarena_shared_shrink("cpu:00", NULL));
    close_held(&held);
}
END_TEST

START_TEST(shrink_of_nothing)
{
    held_t held = open_held();
    uint64_t given = 77;
    uint64_t before = held_by(held.arena);
    expect_ok(cuarena_shared_shrink("", &given));
    expect_u64(given, 0);
    expect_u64(held_by(held.arena), before);
    close_held(&held);
}
END_TEST

/* What the message names, and what it says is accepted. */
static const struct {
    const char *list;
    const char *named;
    const char *accepted;
} wrong_lists[] = {
    {"npu:0", "'npu:0'", "cpu:ID and gpu:ID"},
    {"CPU:0", "'CPU:0'", "cpu:ID and gpu:ID"},
    {"cpu", "'cpu'", "cpu:ID and gpu:ID"},
    {"cpu0", "'cpu0'", "cpu:ID and gpu:ID"},
    {":0", "':0'", "cpu:ID and gpu:ID"},
    {";", "''", "cpu:ID and gpu:ID"},
    {"cpu:0;", "''", "cpu:ID and gpu:ID"},
    {"cpu:0;;cpu:0", "''", "cpu:ID and gpu:ID"},
    {" cpu:0", "' cpu:0'", "no blanks"},
    {"cpu:0; cpu:0", "' cpu:0'", "no blanks"},
    {"cpu:", "'cpu:'", "accepted: 0"},
    {"cpu:x", "'cpu:x'", "accepted: 0"},
    {"cpu:-0", "'cpu:-0'", "accepted: 0"},
    {"cpu:0 ", "'cpu:0 '", "accepted: 0"},
    {"cpu:0:0", "'cpu:0:0'", "accepted: 0"},
    {"cpu:1", "'cpu:1'", "accepted: 0"},
    {"gpu:", "'gpu:'", "0 to 2147483647"},
    {"gpu:2147483648", "'gpu:2147483648'", "0 to 2147483647"},
    {"gpu:18446744073709551616", "'gpu:18446744073709551616'", "0 to 2147483647"},
    {"gpu:0", "'gpu:0' has no shared arena", "cuarena_shared_acquire"},
    {"cpu:0;gpu:2147483647", "'gpu:2147483647' has no", "shared_acquire"},
};

START_TEST(shrink_that_is_refused_trims_nothing)
{
    held_t held = open_held();
    uint64_t given = 77;
    uint64_t before = held_by(held.arena);
    expect_status(cuarena_shared_shrink(wrong_lists[_i].list, &given), CUARENA_BAD_ARGUMENT);
    const char *message = last_error().message;
    ck_assert_msg(strstr(message, wrong_lists[_i].named) != NULL,
                  "\"%s\": %s, expected it to name %s", wrong_lists[_i].list, message,
                  wrong_lists[_i].named);
    ck_assert_msg(strstr(message, wrong_lists[_i].accepted) != NULL,
                  "\"%s\": %s, expected it to accept %s", wrong_lists[_i].list, message,
                  wrong_lists[_i].accepted);
    expect_u64(given, 77);
    expect_u64(held_by(held.arena), before);
    close_held(&held);
}
END_TEST

START_TEST(shrink_without_an_arena)
{
    expect_status(cuarena_shared_shrink(NULL, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_shared_shrink("cpu:0", NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- ... while others hold it ------------------------------------------ */

typedef struct visit {
    cuarena_t *arena;
    uint64_t calls;
    pthread_t thread;
    waiter_t waiter;
} visit_t;

/* This thread cannot wait for itself. */
static void release_within(void *user, const cuarena_event_t *event)
{
    visit_t *visit = user;
    cuarena_t *same = visit->arena;
    if (event->kind != CUARENA_EVENT_TRIM)
        return;
    visit->calls++;
    expect_status(cuarena_shared_release(&same), CUARENA_BUSY);
    expect_ptr(same, visit->arena);
}

START_TEST(release_within_a_shrink_is_busy)
{
    held_t held = open_held();
    visit_t visit = {.arena = held.arena};
    expect_ok(cuarena_set_event_listener(held.arena, release_within, &visit));
    expect_ok(cuarena_shared_shrink("cpu:0", NULL));
    expect_u64(visit.calls, 1);
    expect_ok(cuarena_set_event_listener(held.arena, NULL, NULL));
    close_held(&held);
}
END_TEST

static void *release_aside(void *user)
{
    visit_t *visit = user;
    waiter_begin(&visit->waiter);
    release(visit->arena);
    waiter_end(&visit->waiter);
    return NULL;
}

static void begin_release(void *user, const cuarena_event_t *event)
{
    visit_t *visit = user;
    if (event->kind != CUARENA_EVENT_TRIM)
        return;
    visit->calls++;
    ck_assert_int_eq(pthread_create(&visit->thread, NULL, release_aside, visit), 0);
    expect_asleep(&visit->waiter, "the last release, while the arena is trimmed");
}

START_TEST(the_last_release_waits_for_a_shrink)
{
    held_t held = open_held();
    visit_t visit = {.arena = held.arena};
    expect_ok(cuarena_free(held.arena, held.lives));
    expect_ok(cuarena_set_event_listener(held.arena, begin_release, &visit));
    expect_ok(cuarena_shared_shrink("cpu:0", NULL));
    expect_u64(visit.calls, 1);
    ck_assert_int_eq(pthread_join(visit.thread, NULL), 0);
    ck_assert(atomic_load(&visit.waiter.over));
    expect_status(cuarena_shared_shrink("cpu:0", NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

static void *come_and_go(void *user)
{
    cuarena_config_t config = small_config("");
    (void)user;
    for (uint64_t i = 0; i < scale_pick(50, 500, 5000); i++) {
        void *pointer = NULL;
        cuarena_t *arena = NULL;
        expect_ok(cuarena_shared_acquire(&config, &arena, NULL));
        expect_ok(cuarena_alloc(arena, 1000, &pointer));
        expect_ok(cuarena_free(arena, pointer));
        cuarena_status_t status = cuarena_shared_replace(&arena, &config, NULL);
        ck_assert(status == CUARENA_OK || status == CUARENA_BUSY);
        release(arena);
    }
    return NULL;
}

START_TEST(shrinks_while_arenas_come_and_go)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
    for (uint64_t i = 0; i < scale_pick(100, 1000, 10000); i++) {
        cuarena_status_t status = cuarena_shared_shrink("cpu:0", NULL);
        ck_assert(status == CUARENA_OK || status == CUARENA_BAD_ARGUMENT);
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    expect_status(cuarena_shared_shrink("cpu:0", NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scopes");
    suite_add_list(suite, "scopes of keys",
                   TEST_LIST(scopes_take_their_own_keys, environment_goes_before_a_session,
                             session_alone_makes_the_arena,
                             scope_errors_name_the_whole_key_and_set_nothing,
                             scope_of_an_unknown_option, scope_of_an_option_with_two_prefixes,
                             scope_bad_arguments));
    TCase *tcase = suite_add_list(
        suite, "shrinking",
        TEST_LIST(shrink_gives_back_what_nothing_lives_in, shrink_of_nothing,
                  shrink_without_an_arena, release_within_a_shrink_is_busy,
                  the_last_release_waits_for_a_shrink, shrinks_while_arenas_come_and_go));
    tcase_add_loop_test(tcase, shrink_that_is_refused_trims_nothing, 0, (int)COUNT_OF(wrong_lists));
    return suite_main(suite);
}
