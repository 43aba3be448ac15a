/* What the log tells, through the public API: errors once, what arenas do as a whole at level info,
 * each block at level debug; one line each. */
#include "support/configs.h"
#include "support/fixture.h"
#include "support/log_lines.h"
#include "support/scale.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Hearing ----------------------------------------------------------- */

static void expect_lines(int count)
{
    for (int i = 0; logged.count != count && i < logged.count; i++)
        fprintf(stderr, "heard: %s\n", logged.list[i].text);
    ck_assert_int_eq(logged.count, count);
}

/* Exactly one line came, which begins and ends so. */
static void expect_line(int32_t level, const char *begin, const char *end)
{
    expect_lines(1);
    const char *line = logged.list[0].text;
    size_t length = strlen(line), end_length = strlen(end);
    ck_assert_int_eq(logged.list[0].level, level);
    ck_assert_msg(strncmp(line, begin, strlen(begin)) == 0, "expected %s..., got %s", begin, line);
    ck_assert_msg(length >= end_length && strcmp(line + length - end_length, end) == 0,
                  "expected ...%s, got %s", end, line);
    logged.count = 0;
}

static void end(cuarena_t *arena)
{
    log_listen_no_more();
    expect_ok(cuarena_validate(arena, NULL, 0));
    expect_ok(cuarena_destroy_forced(&arena));
}

#define POOL "memory=none, pool=64KiB, name=logged"

/* ---- Errors ------------------------------------------------------------ */

#define NOWHERE ((void *)&logged)

static cuarena_status_t create_too_large(cuarena_t *arena)
{
    (void)arena;
    cuarena_config_t config = config_of(POOL ", limit=1KiB");
    return cuarena_create(&config, &arena);
}

static cuarena_status_t set_unknown(cuarena_t *arena)
{
    cuarena_config_t config;
    (void)arena;
    cuarena_config_init(&config);
    return cuarena_config_set(&config, "lake", "1");
}

static cuarena_status_t parse_amount(cuarena_t *arena)
{
    cuarena_amount_t amount;
    (void)arena;
    return cuarena_amount_parse("much", &amount);
}

static cuarena_status_t refuse(cuarena_t *arena)
{
    void *pointer;
    return cuarena_alloc(arena, 1 << 20, &pointer);
}

static cuarena_status_t refuse_block_on(cuarena_t *arena)
{
    cuarena_block_t block;
    return cuarena_block_alloc_on(arena, 1 << 20, CUARENA_STREAM_LEGACY, NULL, &block);
}

static cuarena_status_t refuse_array(cuarena_t *arena)
{
    void *pointer;
    return cuarena_alloc_array(arena, UINT64_MAX, 2, NULL, &pointer);
}

static cuarena_status_t ask_of_no_region(cuarena_t *arena)
{
    cuarena_request_t request;
    void *pointer;
    cuarena_request_init(&request);
    request.region = 7;
    return cuarena_alloc_with(arena, 8, &request, &pointer);
}

static cuarena_status_t free_nothing(cuarena_t *arena)
{
    return cuarena_free(arena, NOWHERE);
}

static cuarena_status_t free_no_block(cuarena_t *arena)
{
    return cuarena_block_free(arena, 77);
}

static cuarena_status_t pin_no_block(cuarena_t *arena)
{
    void *pointer;
    return cuarena_block_pin(arena, 77, &pointer);
}

static cuarena_status_t unpin_nothing(cuarena_t *arena)
{
    return cuarena_unpin(arena, NOWHERE);
}

static cuarena_status_t resize_nothing(cuarena_t *arena)
{
    void *pointer;
    return cuarena_resize(arena, NOWHERE, 8, &pointer);
}

static cuarena_status_t size_of_nothing(cuarena_t *arena)
{
    return cuarena_size_of(arena, NOWHERE, NULL, NULL);
}

static cuarena_status_t name_no_tag(cuarena_t *arena)
{
    const char *name;
    return cuarena_tag_name(arena, 9, &name);
}

static cuarena_status_t limit_no_kind(cuarena_t *arena)
{
    return cuarena_set_limit(arena, 99, amount_of_bytes(1), NULL);
}

static cuarena_status_t shrink_to_nothing(cuarena_t *arena)
{
    return cuarena_resize_pool(arena, 0);
}

static cuarena_status_t compact_badly(cuarena_t *arena)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.batch_moves = 0;
    return cuarena_compact(arena, &options, NULL, NULL, NULL);
}

static cuarena_status_t destroy_with_a_block(cuarena_t *arena)
{
    void *pointer;
    expect_ok(cuarena_alloc(arena, 8, &pointer));
    return cuarena_destroy(&arena);
}

static cuarena_status_t stats_of_no_region(cuarena_t *arena)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    return cuarena_stats(arena, 7, &stats);
}

static cuarena_status_t find_no_shared(cuarena_t *arena)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    return cuarena_shared_find(&config, &arena);
}

static cuarena_status_t release_no_shared(cuarena_t *arena)
{
    return cuarena_shared_release(&arena);
}

static cuarena_status_t level_no_level(cuarena_t *arena)
{
    (void)arena;
    return cuarena_log_set_level(9);
}

static cuarena_status_t mark_no_stream(cuarena_t *arena)
{
    uint64_t mark;
    return cuarena_stream_mark(arena, CUARENA_NO_STREAM, &mark);
}

static const struct {
    const char *name;
    cuarena_status_t (*call)(cuarena_t *arena);
    cuarena_status_t want;
} failures[] = {
    {"create_too_large", create_too_large, CUARENA_LIMIT},
    {"set_unknown", set_unknown, CUARENA_BAD_ARGUMENT},
    {"parse_amount", parse_amount, CUARENA_BAD_ARGUMENT},
    {"refuse", refuse, CUARENA_OUT_OF_MEMORY},
    {"refuse_block_on", refuse_block_on, CUARENA_OUT_OF_MEMORY},
    {"refuse_array", refuse_array, CUARENA_BAD_ARGUMENT},
    {"ask_of_no_region", ask_of_no_region, CUARENA_BAD_ARGUMENT},
    {"free_nothing", free_nothing, CUARENA_STALE},
    {"free_no_block", free_no_block, CUARENA_STALE},
    {"pin_no_block", pin_no_block, CUARENA_STALE},
    {"unpin_nothing", unpin_nothing, CUARENA_STALE},
    {"resize_nothing", resize_nothing, CUARENA_STALE},
    {"size_of_nothing", size_of_nothing, CUARENA_STALE},
    {"name_no_tag", name_no_tag, CUARENA_BAD_ARGUMENT},
    {"limit_no_kind", limit_no_kind, CUARENA_BAD_ARGUMENT},
    {"shrink_to_nothing", shrink_to_nothing, CUARENA_BAD_ARGUMENT},
    {"compact_badly", compact_badly, CUARENA_BAD_ARGUMENT},
    {"destroy_with_a_block", destroy_with_a_block, CUARENA_BUSY},
    {"stats_of_no_region", stats_of_no_region, CUARENA_BAD_ARGUMENT},
    {"find_no_shared", find_no_shared, CUARENA_STALE},
    {"release_no_shared", release_no_shared, CUARENA_STALE},
    {"level_no_level", level_no_level, CUARENA_BAD_ARGUMENT},
    {"mark_no_stream", mark_no_stream, CUARENA_BAD_ARGUMENT},
};
#define FAILURES (COUNT_OF(failures))

START_TEST(error_is_logged_once)
{
    cuarena_t *arena = arena_of(POOL);
    log_listen(CUARENA_LOG_ERROR);
    expect_status(failures[_i].call(arena), failures[_i].want);
    ck_assert_msg(logged.count == 1, "%s: expected 1 line, got %d: %s", failures[_i].name,
                  logged.count, logged.list[0].text);
    expect_line(CUARENA_LOG_ERROR, "", last_error().message);
    end(arena);
}
END_TEST

START_TEST(error_says_of_which_arena)
{
    cuarena_t *arena = arena_of(POOL);
    log_listen(CUARENA_LOG_ERROR);
    expect_status(refuse(arena), CUARENA_OUT_OF_MEMORY);
    expect_line(CUARENA_LOG_ERROR, "arena 'logged': no room for 1048576 bytes", "");
    end(arena);
}
END_TEST

/* Growth fails, the handler helps: nobody was refused anything. */
static int32_t free_spare(void *user, cuarena_t *arena, uint64_t asked, int32_t attempt)
{
    (void)asked, (void)attempt;
    expect_ok(cuarena_free(arena, *(void **)user));
    return 1;
}

START_TEST(error_that_was_overcome_is_not_logged)
{
    cuarena_t *arena = arena_of("preset=grow, memory=none, limit=64KiB");
    void *spare, *pointer;
    expect_ok(cuarena_alloc(arena, 65536, &spare));
    expect_ok(cuarena_set_oom_handler(arena, free_spare, &spare));
    log_listen(CUARENA_LOG_ERROR);
    expect_ok(cuarena_alloc(arena, 65536, &pointer));
    expect_lines(0);
    end(arena);
}
END_TEST

static void never_called(void *user, cuarena_t *arena)
{
    (void)user, (void)arena;
    ck_abort_msg("expected no call: no block lives");
}

START_TEST(retiring_an_arena_without_blocks_is_no_error)
{
    cuarena_t *arena = arena_of(POOL);
    log_listen(CUARENA_LOG_ERROR);
    expect_status(cuarena_retire(arena, never_called, NULL), CUARENA_STALE);
    expect_status(cuarena_retire(arena, NULL, NULL), CUARENA_STALE);
    expect_lines(0);
    end(arena);
}
END_TEST

/* The last error stays the one that was asked about, so there is no message to log. */
START_TEST(asking_wrongly_for_the_last_error_is_not_logged)
{
    char before[512];
    cuarena_t *arena = arena_of(POOL);
    cuarena_error_info_t info = {.struct_size = 3};
    expect_status(cuarena_free(arena, &info), CUARENA_STALE);
    (void)snprintf(before, sizeof before, "%s", cuarena_last_error());
    log_listen(CUARENA_LOG_ERROR);
    expect_status(cuarena_last_error_info(NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_last_error_info(&info), CUARENA_BAD_ARGUMENT);
    expect_lines(0);
    ck_assert_str_eq(cuarena_last_error(), before);
    end(arena);
}
END_TEST

/* In a listener no destruction is legal, of either kind. */
static void destroy_inside(void *user, const cuarena_event_t *event)
{
    (void)event;
    expect_status(cuarena_destroy_forced((cuarena_t **)user), CUARENA_REENTERED);
    expect_text(last_error().message, "destroy_forced was called from the arena's own handler or "
                                      "listener");
}

START_TEST(forced_destruction_is_named_in_its_error)
{
    cuarena_t *arena = arena_of(POOL);
    void *pointer;
    expect_ok(cuarena_set_event_listener(arena, destroy_inside, &arena));
    expect_ok(cuarena_alloc(arena, 8, &pointer));
    expect_ok(cuarena_set_event_listener(arena, NULL, NULL));
    end(arena);
}
END_TEST

/* ---- Texts of the caller ----------------------------------------------- */

static void expect_plain(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        ck_assert_msg((unsigned char)*at >= 32 && *at != 127, "byte %d of '%s' is 0x%x",
                      (int)(at - text), text, (unsigned char)*at);
}

START_TEST(names_make_no_lines_of_their_own)
{
    cuarena_t *arena = arena_of("memory=none, pool=64KiB, name=a\nerror: b\x1b[2J");
    cuarena_request_t request;
    void *pointer;
    cuarena_request_init(&request);
    expect_ok(cuarena_tag(arena, "t\r\x7f\n", &request.tag));
    log_listen(CUARENA_LOG_DEBUG);
    expect_ok(cuarena_alloc_with(arena, 8, &request, &pointer));
    expect_status(refuse(arena), CUARENA_OUT_OF_MEMORY);
    expect_status(cuarena_destroy(&arena), CUARENA_BUSY);
    expect_plain(last_error().message);
    ck_assert_int_ge(logged.count, 3);
    for (int i = 0; i < logged.count; i++)
        expect_plain(logged.list[i].text);
    ck_assert_ptr_nonnull(strstr(logged.list[0].text, "arena 'a\\x0aerror: b\\x1b[2J': alloc: "));
    ck_assert_ptr_nonnull(strstr(logged.list[0].text, "tag 't\\x0d\\x7f\\x0a'"));
    end(arena);
}
END_TEST

START_TEST(messages_escape_what_the_caller_passed)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_status(cuarena_config_set(&config, "poo\nl", "1\033[31m"), CUARENA_BAD_ARGUMENT);
    expect_plain(last_error().message);
    ck_assert_ptr_nonnull(strstr(last_error().message, "'poo\\x0al'"));
    expect_status(cuarena_config_set(&config, "pool", "1\033[31m"), CUARENA_BAD_ARGUMENT);
    expect_text(last_error().message,
                "pool: '1\\x1b[31m' has an unknown suffix; accepted: bytes below "
                "256TiB, 0.001% to 100%, auto, auto-BYTES");
}
END_TEST

START_TEST(escaping_never_passes_the_end)
{
    cuarena_config_t config;
    char key[600];
    memset(key, '\n', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    cuarena_config_init(&config);
    for (size_t length = 1; length < sizeof key; length += 7) {
        key[length] = '\0';
        expect_status(cuarena_config_parse(&config, key), CUARENA_BAD_ARGUMENT);
        ck_assert_uint_lt(strlen(last_error().message), sizeof last_error().message);
        expect_plain(last_error().message);
        key[length] = '\n';
    }
}
END_TEST

START_TEST(arena_without_a_name_is_told_by_its_address)
{
    cuarena_t *arena = arena_of("memory=none, pool=64KiB");
    char begin[64];
    log_listen(CUARENA_LOG_ERROR);
    expect_status(refuse(arena), CUARENA_OUT_OF_MEMORY);
    (void)snprintf(begin, sizeof begin, "arena %p: no room", (void *)arena);
    expect_line(CUARENA_LOG_ERROR, begin, "");
    expect_status(cuarena_retire(arena, NULL, NULL), CUARENA_STALE);
    ck_assert_ptr_null(strstr(last_error().message, "''"));
    end(arena);
}
END_TEST

/* ---- What arenas do ---------------------------------------------------- */

#define INFO CUARENA_LOG_INFO

START_TEST(info_tells_what_an_arena_does_as_a_whole)
{
    void *pointer;
    cuarena_block_t block;
    log_listen(INFO);
    cuarena_t *arena = arena_of(POOL);
    expect_line(INFO, "arena 'logged': created, 65536 bytes reserved", "");
    expect_ok(cuarena_alloc(arena, 300, &pointer));
    expect_ok(cuarena_block_alloc(arena, 300, &block));
    expect_lines(0);
    expect_ok(cuarena_resize(arena, pointer, 1000, &pointer));
    expect_line(INFO, "arena 'logged': resize: 1000 bytes at ", "");
    expect_ok(cuarena_block_resize(arena, block, 200));
    expect_line(INFO, "arena 'logged': resize: 200 bytes at ", "");
    expect_ok(cuarena_free(arena, pointer));
    expect_lines(0);
    expect_ok(cuarena_compact(arena, NULL, NULL, NULL, NULL));
    expect_line(INFO, "arena 'logged': compact: ", " bytes moved");
    expect_ok(cuarena_resize_pool(arena, 131072));
    expect_line(INFO, "arena 'logged': resize_pool: 131072 bytes, 131072 reserved", "");
    expect_ok(cuarena_reset(arena));
    expect_line(INFO, "arena 'logged': reset: 256 bytes of blocks ended", "");
    expect_ok(cuarena_trim(arena, 0, NULL));
    expect_line(INFO, "arena 'logged': trim: 131072 bytes given back, 0 reserved", "");
    expect_ok(cuarena_destroy(&arena));
    expect_line(INFO, "arena 'logged': destroyed", "");
}
END_TEST

#define DEBUG CUARENA_LOG_DEBUG

START_TEST(debug_tells_of_each_block)
{
    cuarena_t *arena = arena_of(POOL);
    void *pointer;
    cuarena_block_t block;
    cuarena_stream_t stream = CUARENA_STREAM_LEGACY;
    log_listen(DEBUG);
    for (int i = 0; i < 3; i++) {
        expect_ok(cuarena_alloc(arena, 300, &pointer));
        expect_line(DEBUG, "arena 'logged': alloc: 300 bytes at 0x", "");
        expect_ok(cuarena_free(arena, pointer));
        expect_line(DEBUG, "arena 'logged': free: 300 bytes at 0x", "");
        expect_ok(cuarena_block_alloc(arena, 301, &block));
        expect_line(DEBUG, "arena 'logged': alloc: 301 bytes at 0x", "");
        expect_ok(cuarena_block_free(arena, block));
        expect_line(DEBUG, "arena 'logged': free: 301 bytes at 0x", "");
        expect_ok(cuarena_alloc_on(arena, 302, stream, NULL, &pointer));
        expect_line(DEBUG, "arena 'logged': alloc: 302 bytes at 0x", "");
        expect_ok(cuarena_free_on(arena, pointer, stream));
        expect_line(DEBUG, "arena 'logged': free: 302 bytes at 0x", "");
        expect_ok(cuarena_block_alloc_on(arena, 303, stream, NULL, &block));
        expect_line(DEBUG, "arena 'logged': alloc: 303 bytes at 0x", "");
        expect_ok(cuarena_block_resize_on(arena, block, 30, stream));
        expect_line(INFO, "arena 'logged': resize: 30 bytes at 0x", "");
        expect_ok(cuarena_block_free_on(arena, block, stream));
        expect_line(DEBUG, "arena 'logged': free: 30 bytes at 0x", "");
    }
    end(arena);
}
END_TEST

START_TEST(debug_tells_of_cached_blocks)
{
    cuarena_t *arena = arena_of("memory=none, pool=64KiB, keep=cache, name=kept");
    void *pointer;
    log_listen(DEBUG);
    for (int i = 0; i < 3; i++) {
        expect_ok(cuarena_alloc(arena, 300, &pointer));
        expect_line(DEBUG, "arena 'kept': alloc: 300 bytes at 0x", "");
        expect_ok(cuarena_free(arena, pointer));
        expect_line(DEBUG, "arena 'kept': free: 300 bytes at 0x", "");
    }
    end(arena);
}
END_TEST

START_TEST(level_is_followed_by_arenas_that_exist)
{
    cuarena_t *first = arena_of(POOL);
    cuarena_t *second = arena_of(POOL ", name=other");
    void *pointer;
    log_listen(DEBUG);
    expect_ok(cuarena_alloc(first, 8, &pointer));
    expect_ok(cuarena_alloc(second, 8, &pointer));
    expect_lines(2);
    expect_ok(cuarena_log_set_level(CUARENA_LOG_WARN));
    expect_ok(cuarena_alloc(first, 8, &pointer));
    expect_ok(cuarena_alloc(second, 8, &pointer));
    expect_lines(2);
    expect_ok(cuarena_destroy_forced(&second));
    expect_ok(cuarena_log_set_level(DEBUG));
    expect_ok(cuarena_alloc(first, 8, &pointer));
    expect_lines(3);
    end(first);
}
END_TEST

static void log_again(void *user, int32_t level, const char *line)
{
    void *pointer;
    (void)level, (void)line;
    ++logged.count;
    expect_ok(cuarena_alloc(user, 8, &pointer));
}

START_TEST(lines_that_hearing_causes_are_left_out)
{
    cuarena_t *arena = arena_of(POOL);
    void *pointer;
    log_listen(DEBUG);
    cuarena_log_set_callback(log_again, arena);
    expect_ok(cuarena_alloc(arena, 8, &pointer));
    expect_lines(1);
    end(arena);
}
END_TEST

/* Arenas come and go, and blocks in one that all share, while the level changes. */
#define WORKERS 3
#define TURNS 200

typedef struct crowd {
    cuarena_t *shared;
    atomic_int heard;
    atomic_bool over;
} crowd_t;

static void count_line(void *user, int32_t level, const char *line)
{
    crowd_t *crowd = user;
    (void)level;
    if (*line == '\0')
        ck_abort_msg("an empty line");
    atomic_fetch_add(&crowd->heard, 1);
}

static void *work(void *argument)
{
    crowd_t *crowd = argument;
    while (!atomic_load(&crowd->over)) {
        cuarena_t *own = arena_of("memory=none, pool=64KiB");
        void *pointer, *other;
        expect_ok(cuarena_alloc(own, 300, &pointer));
        expect_ok(cuarena_alloc(crowd->shared, 300, &other));
        expect_ok(cuarena_resize(crowd->shared, other, 200, &other));
        expect_ok(cuarena_free(crowd->shared, other));
        expect_ok(cuarena_destroy_forced(&own));
    }
    return NULL;
}

START_TEST(level_changes_beside_every_call)
{
    crowd_t crowd = {.shared = arena_of(POOL)};
    pthread_t threads[WORKERS];
    cuarena_log_set_callback(count_line, &crowd);
    for (int i = 0; i < WORKERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &crowd), 0);
    for (int32_t turn = 0; turn < TURNS; turn++)
        expect_ok(cuarena_log_set_level(turn % 5));
    atomic_store(&crowd.over, true);
    for (int i = 0; i < WORKERS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    void *pointer;
    expect_ok(cuarena_log_set_level(DEBUG));
    int before = atomic_load(&crowd.heard);
    expect_ok(cuarena_alloc(crowd.shared, 300, &pointer));
    ck_assert_int_eq(atomic_load(&crowd.heard), before + 1);
    end(crowd.shared);
}
END_TEST

/* What a child does that was forked while other threads log and change the level; SIGALRM ends one
 * that hangs. Neither it nor those threads assert by check's macros, which take a lock of check's
 * even when they hold: the child may find that taken. */
static void live_in_child(void)
{
    alarm(30);
    cuarena_t *arena = arena_of(POOL);
    void *pointer;
    expect_ok(cuarena_log_set_level(DEBUG));
    expect_ok(cuarena_alloc(arena, 300, &pointer));
    expect_ok(cuarena_destroy_forced(&arena));
    _exit(0);
}

static void *change_level(void *argument)
{
    crowd_t *crowd = argument;
    for (int32_t turn = 0; !atomic_load(&crowd->over); turn++)
        expect_ok(cuarena_log_set_level(turn % 5));
    return NULL;
}

START_TEST(child_forked_beside_others_logs)
{
    crowd_t crowd = {.shared = arena_of(POOL)};
    pthread_t threads[2];
    cuarena_log_set_callback(count_line, &crowd);
    ck_assert_int_eq(pthread_create(&threads[0], NULL, work, &crowd), 0);
    ck_assert_int_eq(pthread_create(&threads[1], NULL, change_level, &crowd), 0);
    for (int i = 0; i < 50; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            live_in_child();
        ck_assert_int_gt(child, 0);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(status == 0, "child %d ended with 0x%x", i, status);
    }
    atomic_store(&crowd.over, true);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    end(crowd.shared);
}
END_TEST

/* ---- The environment --------------------------------------------------- */

START_TEST(unknown_word_in_the_environment_is_told_once)
{
    cuarena_log_set_callback(keep_line, NULL);
    setenv("CUARENA_LOG", "bo\ngus", 1);
    cuarena_t *arena = arena_of(POOL);
    cuarena_t *other = arena_of(POOL);
    expect_line(CUARENA_LOG_ERROR, "CUARENA_LOG is 'bo\\x0agus'; accepted: ", "nothing is logged");
    ck_assert_int_eq(cuarena_log_level(), CUARENA_LOG_OFF);
    unsetenv("CUARENA_LOG");
    end(other);
    end(arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    /* First, since a process looks once. */
    suite_add_list(suite, "environment", TEST_LIST(unknown_word_in_the_environment_is_told_once));
    suite_add_rows(suite, "each error", error_is_logged_once, FAILURES);
    suite_add_list(suite, "errors",
                   TEST_LIST(error_says_of_which_arena, error_that_was_overcome_is_not_logged,
                             retiring_an_arena_without_blocks_is_no_error,
                             asking_wrongly_for_the_last_error_is_not_logged,
                             forced_destruction_is_named_in_its_error));
    suite_add_list(suite, "texts",
                   TEST_LIST(names_make_no_lines_of_their_own,
                             messages_escape_what_the_caller_passed, escaping_never_passes_the_end,
                             arena_without_a_name_is_told_by_its_address));
    suite_add_list(suite, "levels",
                   TEST_LIST(info_tells_what_an_arena_does_as_a_whole, debug_tells_of_each_block,
                             debug_tells_of_cached_blocks, level_is_followed_by_arenas_that_exist,
                             level_changes_beside_every_call,
                             lines_that_hearing_causes_are_left_out));
    if (scale_may_fork())
        suite_add_list(suite, "forks", TEST_LIST(child_forked_beside_others_logs));
    return suite_main(suite);
}
