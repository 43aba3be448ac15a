/*
 * Shared arenas: a list of places, one for each device and memory.
 *
 *   key     what two configurations must agree on to mean one arena
 *   place   an arena with its key, the configuration in force and how many
 *           hold it; READY, or CHANGING while one thread makes or ends it
 *
 * The lock of the list is dropped while an arena is made or ended: the place is CHANGING then, and
 * whoever wants it waits for `changed`. A place is in the list as long as its arena has holders, or
 * is made or ended.
 *
 * Visits are calls that use an arena without being one of its holders; the arena does not end
 * before they are over.
 *
 * An arena is compared with those of the list by its address, without touching it: what a caller
 * passes may be gone.
 */
#include "ort/shared.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api/life.h"
#include "base/error.h"
#include "base/host.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/sized.h"

/* The sizes that the structs had in the first release. */
#define CONFIG_FIRST sizeof(cuarena_config_t)
#define REPORT_FIRST sizeof(cuarena_shared_report_t)

/* Room for the value of every option. */
#define VALUE_SIZE 256

typedef struct key {
    int32_t memory;
    int32_t device; /* -1: of none, or of the context */
    const void *context;
} share_key_t;

typedef struct place {
    struct place *next;
    share_key_t key;
    bool changing;
    cuarena_t *arena;        /* while it is READY */
    cuarena_config_t config; /* of its creator */
    uint64_t holders;
    uint64_t visits; /* under way */
} place_t;

static cuai_lock_t lock = CUAI_LOCK_INIT;
static cuai_cond_t changed;                  /* some place is READY, or gone */
static place_t *places;                      /* guarded by `lock` */
static bool heeds_forks;                     /* guarded by `lock` */
static _Thread_local const place_t *visited; /* by this thread; NULL: none */

void cuarena_shared_report_init(cuarena_shared_report_t *report)
{
    *report = (cuarena_shared_report_t){.struct_size = sizeof *report};
}

/* ---- Keys -------------------------------------------------------------- */

static bool same_key(const share_key_t *a, const share_key_t *b)
{
    return a->memory == b->memory && a->device == b->device && a->context == b->context;
}

static share_key_t key_of(const cuarena_config_t *full)
{
    bool host = full->memory == CUARENA_MEMORY_PAGEABLE || full->memory == CUARENA_MEMORY_NONE;
    bool ordinal = !host && full->context == NULL;
    return (share_key_t){
        .memory = full->memory,
        .device = ordinal ? full->device : -1,
        .context = host ? NULL : full->context,
    };
}

static cuarena_status_t resolve(const cuarena_config_t *config, cuarena_config_t *full)
{
    if (!cuai_sized_ok(config, CONFIG_FIRST, sizeof *config))
        return cuai_told(cuai_fail_struct("config", config));
    cuarena_config_init(full);
    cuai_sized_read(full, config);
    cuarena_status_t status = cuarena_config_resolve(full);
    if (status != CUARENA_OK)
        return status;
    if (full->memory == CUARENA_MEMORY_BYTES || full->memory == CUARENA_MEMORY_CUSTOM)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT,
                                   "memory: bytes and custom have an owner and are not "
                                   "shared; accepted: the other memories"));
    return CUARENA_OK;
}

/* Begins a call: checks what it is given and resolves the configuration. The log is told of an
 * error. */
static cuarena_status_t begin(const cuarena_config_t *config, const cuarena_shared_report_t *report,
                              cuarena_config_t *full)
{
    if (report != NULL && !cuai_sized_ok(report, REPORT_FIRST, sizeof *report))
        return cuai_told(cuai_fail_struct("report", report));
    return resolve(config, full);
}

/* ---- The list ---------------------------------------------------------- */

/* Before a fork the lock of the list is taken, so that the child finds the list whole. */
static void before_fork(void)
{
    cuai_lock(&lock);
}

static void after_fork(void)
{
    cuai_unlock(&lock);
}

/* In the child there are no other threads: places that they made or ended are dropped, and nobody
 * waits or visits but the thread that forked. */
static void forget_others(void)
{
    CUAI_ASSERT(heeds_forks);
    cuai_lock_reset(&lock);
    cuai_cond_reset(&changed);
    place_t **link = &places;
    while (*link != NULL) {
        (*link)->visits = *link == visited ? 1 : 0;
        if ((*link)->changing)
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }
}

static void wake(void)
{
    cuai_lock_assert_static_held(&lock);
    cuai_cond_wake(&changed);
}

static place_t *look_up(const share_key_t *key, const cuarena_t *arena)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT((key == NULL) != (arena == NULL));
    place_t *place = places;
    while (place != NULL && (key != NULL ? !same_key(&place->key, key) : place->arena != arena))
        place = place->next;
    return place;
}

/* The place of a key or, with NULL, of an arena, once it is READY; NULL: there is none. Drops the
 * list's lock. */
static place_t *find(const share_key_t *key, const cuarena_t *arena)
{
    cuai_lock_assert_static_held(&lock);
    place_t *place = look_up(key, arena);
    while (place != NULL && place->changing) {
        cuai_cond_wait(&changed, &lock);
        place = look_up(key, arena);
    }
    return place;
}

/* Finds the place of a key or, with NULL, of an arena, once it is READY and nobody but this thread
 * visits an arena that has a single holder; NULL: there is none. Drops the list's lock. */
static place_t *find_idle(const share_key_t *key, const cuarena_t *arena)
{
    place_t *place = find(key, arena);
    while (place != NULL && place->holders == 1 && place->visits != 0 && place != visited) {
        cuai_cond_wait(&changed, &lock);
        place = find(key, arena);
    }
    return place;
}

static place_t *add(const cuarena_config_t *full)
{
    cuai_lock_assert_static_held(&lock);
    if (!heeds_forks && pthread_atfork(before_fork, after_fork, forget_others) != 0)
        return NULL;
    heeds_forks = true;
    place_t *place = cuai_host_alloc(sizeof *place);
    if (place == NULL)
        return NULL;
    place->key = key_of(full);
    CUAI_ASSERT(look_up(&place->key, NULL) == NULL);
    place->changing = true;
    place->next = places;
    places = place;
    return place;
}

static void take_out(place_t *place)
{
    cuai_lock_assert_static_held(&lock);
    place_t **link = &places;
    while (*link != place)
        link = &(*link)->next;
    CUAI_ASSERT(place->changing);
    *link = place->next;
    cuai_host_free(place);
}

/* ---- Making and ending, with the place CHANGING ------------------------ */

/* Makes the arena of a place, which leaves the list on an error. Drops the list's lock. */
static cuarena_status_t make(place_t *place, const cuarena_config_t *full)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT(place->changing && place->holders <= 1 && place->visits == 0);
    cuarena_t *arena = NULL;
    cuai_unlock(&lock);
    cuarena_status_t status = cuarena_create(full, &arena);
    if (status == CUARENA_OK)
        (void)cuai_set_shared(arena, true);
    cuai_lock(&lock);
    if (status == CUARENA_OK) {
        place->arena = arena;
        place->config = *full;
        place->holders = 1;
        place->changing = false;
    } else {
        take_out(place);
    }
    wake();
    return status;
}

/* Ends the arena of a place. On success the place is still CHANGING, without an arena. Drops the
 * list's lock. */
static cuarena_status_t end(place_t *place)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT(!place->changing && place->holders == 1);
    cuarena_t *arena = place->arena;
    if (place->visits != 0)
        return cuai_fail(CUARENA_BUSY, "the call that this one was made within is trimming "
                                       "the arena");
    place->changing = true;
    cuai_unlock(&lock);
    cuarena_status_t status = cuai_set_shared(arena, false);
    if (status == CUARENA_OK) {
        status = cuarena_destroy(&arena);
        if (status != CUARENA_OK)
            (void)cuai_set_shared(arena, true);
    }
    cuai_lock(&lock);
    place->arena = arena;
    if (status != CUARENA_OK) {
        place->changing = false;
        wake();
    }
    return status;
}

/* ---- Differences ------------------------------------------------------- */

/* Adds a difference to the report, and tells the log. */
static void tell(cuarena_shared_report_t *report, const char *key, const char *in_force,
                 const char *asked)
{
    size_t used = strlen(report->text);
    (void)snprintf(report->text + used, sizeof report->text - used,
                   "%s%s: '%s' in force, '%s' asked", used == 0 ? "" : "; ", key, in_force, asked);
    report->differs++;
    cuai_log(CUARENA_LOG_WARN,
             "a shared arena exists: option ignored: %s: '%s' is in force, "
             "'%s' was asked",
             key, in_force, asked);
}

/* Whether it says nothing about what an arena does: its name, and that of the preset, whose values
 * the other options have. */
static bool is_a_name(const char *key)
{
    return strcmp(key, "name") == 0 || strcmp(key, "preset") == 0;
}

/* Reports each option by which two resolved configurations differ. The end of the table of options
 * is an error of its own; the caller's stays the last one. Called without the lock. */
static void compare(const cuarena_config_t *in_force, const cuarena_config_t *asked,
                    cuarena_shared_report_t *report)
{
    cuai_lock_assert_not_held(&lock);
    cuai_kept_error_t words = cuai_error_kept();
    cuarena_option_info_t option;
    cuarena_option_info_init(&option);
    for (size_t i = 0; cuarena_option_info(i, &option) == CUARENA_OK; i++) {
        char a[VALUE_SIZE] = "", b[VALUE_SIZE] = "";
        (void)cuarena_config_get(in_force, option.key, a, sizeof a);
        (void)cuarena_config_get(asked, option.key, b, sizeof b);
        if (!is_a_name(option.key) && strcmp(a, b) != 0)
            tell(report, option.key, a, b);
    }
    cuai_error_restore(&words);
}

static void write_report(cuarena_shared_report_t *to, const cuarena_shared_report_t *from)
{
    if (to != NULL)
        cuai_sized_write(to, from);
}

/* ---- Acquiring --------------------------------------------------------- */

static cuarena_status_t no_room(void)
{
    return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory to share an arena with");
}

/* Adds a place and makes its arena. Drops the list's lock. */
static cuarena_status_t make_new(const cuarena_config_t *full, cuarena_t **arena_out)
{
    cuai_lock_assert_static_held(&lock);
    place_t *place = add(full);
    if (place == NULL)
        return no_room();
    cuarena_status_t status = make(place, full);
    if (status == CUARENA_OK)
        *arena_out = place->arena;
    return status;
}

cuarena_status_t cuarena_shared_acquire(const cuarena_config_t *config, cuarena_t **arena_out,
                                        cuarena_shared_report_t *report)
{
    if (arena_out == NULL)
        return cuai_null("arena_out");
    cuarena_config_t full, in_force;
    cuarena_status_t status = begin(config, report, &full);
    if (status != CUARENA_OK)
        return status;
    share_key_t key = key_of(&full);
    cuarena_shared_report_t ref = {.holders = 1};
    cuai_lock(&lock);
    place_t *place = find(&key, NULL);
    if (place == NULL) {
        status = make_new(&full, arena_out);
        ref.created = 1;
        in_force = full;
    } else {
        CUAI_ASSERT(!place->changing && place->holders != 0);
        ref.holders = ++place->holders;
        in_force = place->config;
        *arena_out = place->arena;
    }
    cuai_unlock(&lock);
    if (status != CUARENA_OK)
        return cuai_told(status);
    compare(&in_force, &full, &ref);
    write_report(report, &ref);
    return CUARENA_OK;
}

cuarena_status_t cuarena_shared_find(const cuarena_config_t *config, cuarena_t **arena_out)
{
    if (arena_out == NULL)
        return cuai_null("arena_out");
    cuarena_config_t full;
    cuarena_status_t status = begin(config, NULL, &full);
    if (status != CUARENA_OK)
        return status;
    share_key_t key = key_of(&full);
    cuai_lock(&lock);
    place_t *place = find(&key, NULL);
    if (place != NULL) {
        CUAI_ASSERT(!place->changing && place->holders != 0);
        place->holders++;
        *arena_out = place->arena;
    }
    cuai_unlock(&lock);
    return cuai_told(
        place != NULL ? CUARENA_OK
                      : cuai_fail(CUARENA_STALE, "no arena is shared for this memory and device"));
}

/* ---- Letting go -------------------------------------------------------- */

static cuarena_status_t not_shared(const cuarena_t *arena)
{
    cuai_lock_assert_not_held(&lock);
    cuai_log(CUARENA_LOG_WARN, "%p was released once more than acquired", (const void *)arena);
    return cuai_fail(CUARENA_STALE,
                     "%p is no arena that is shared: it never was, or was "
                     "released as often as acquired",
                     (const void *)arena);
}

/* Gives up one of the holders, and ends the arena with the last. Drops the list's lock. */
static cuarena_status_t let_go(place_t *place)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT(!place->changing && place->holders != 0);
    if (place->holders > 1) {
        place->holders--;
        return CUARENA_OK;
    }
    cuarena_status_t status = end(place);
    if (status != CUARENA_OK)
        return status;
    take_out(place);
    wake();
    return CUARENA_OK;
}

cuarena_status_t cuarena_shared_release(cuarena_t **arena)
{
    if (arena == NULL || *arena == NULL)
        return CUARENA_OK;
    cuarena_status_t status = CUARENA_OK;
    cuai_lock(&lock);
    place_t *place = find_idle(NULL, *arena);
    if (place != NULL)
        status = let_go(place);
    cuai_unlock(&lock);
    if (place == NULL)
        return cuai_told(not_shared(*arena));
    if (status == CUARENA_OK)
        *arena = NULL;
    return cuai_told(status);
}

/* ---- Replacing --------------------------------------------------------- */

static cuarena_status_t is_held(uint64_t others)
{
    CUAI_ASSERT(others != 0);
    return cuai_fail(CUARENA_BUSY,
                     "%llu others hold the shared arena: its configuration "
                     "stays in force",
                     (unsigned long long)others);
}

/* Whether the arena of `place` may be replaced (NULL: there is none); `held` is the arena that the
 * caller passes as the one that it holds. */
static cuarena_status_t check_replace(const place_t *place, const cuarena_t *held)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT(place == NULL || (!place->changing && place->holders != 0));
    if (held == NULL)
        return place == NULL ? CUARENA_OK : is_held(place->holders);
    if (look_up(NULL, held) == NULL)
        return CUARENA_STALE;
    if (place == NULL || place->arena != held)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "%p is shared for another memory or device than the "
                         "new configuration's",
                         (const void *)held);
    return place->holders == 1 ? CUARENA_OK : is_held(place->holders - 1);
}

/* Ends the arena of a place, if there is one, and makes another. Drops the list's lock. */
static cuarena_status_t swap(place_t *place, const cuarena_config_t *full, cuarena_t **arena)
{
    cuai_lock_assert_static_held(&lock);
    if (place == NULL)
        return make_new(full, arena);
    cuarena_status_t status = end(place);
    if (status != CUARENA_OK)
        return status;
    *arena = NULL;
    status = make(place, full);
    if (status == CUARENA_OK)
        *arena = place->arena;
    return status;
}

cuarena_status_t cuarena_shared_replace(cuarena_t **arena, const cuarena_config_t *config,
                                        cuarena_shared_report_t *report)
{
    if (arena == NULL)
        return cuai_null("arena");
    cuarena_config_t full, in_force;
    cuarena_shared_report_t ref = {.created = 1, .holders = 1};
    cuarena_status_t status = begin(config, report, &full);
    if (status != CUARENA_OK)
        return status;
    share_key_t key = key_of(&full);
    cuai_lock(&lock);
    place_t *place = find_idle(&key, NULL);
    in_force = place == NULL ? full : place->config;
    status = check_replace(place, *arena);
    bool refused = status != CUARENA_OK;
    if (!refused)
        status = swap(place, &full, arena);
    cuai_unlock(&lock);
    if (status == CUARENA_STALE)
        return cuai_told(not_shared(*arena));
    if (refused && status == CUARENA_BUSY)
        compare(&in_force, &full, &ref); /* for the log */
    if (status == CUARENA_OK)
        write_report(report, &ref);
    return cuai_told(status);
}

/* ---- Visits ------------------------------------------------------------ */

static share_key_t key_by_ordinal(int32_t memory, int32_t device)
{
    return (share_key_t){.memory = memory, .device = device};
}

bool cuai_shared_is_there(int32_t memory, int32_t device)
{
    share_key_t key = key_by_ordinal(memory, device);
    cuai_lock(&lock);
    bool there = find(&key, NULL) != NULL;
    cuai_unlock(&lock);
    return there;
}

/* Trims the arena of a place, which does not end meanwhile. Drops the list's lock. */
static cuarena_status_t visit(place_t *place, uint64_t *given_back)
{
    cuai_lock_assert_static_held(&lock);
    CUAI_ASSERT(!place->changing && place->arena != NULL);
    const place_t *outer = visited;
    uint64_t given = 0;
    place->visits++;
    visited = place;
    cuai_unlock(&lock);
    cuarena_status_t status = cuarena_trim(place->arena, place->config.keep_on_trim, &given);
    cuai_lock(&lock);
    CUAI_ASSERT(place->visits != 0 && !place->changing);
    visited = outer;
    place->visits--;
    wake();
    *given_back += given;
    return status;
}

cuarena_status_t cuai_shared_trim(int32_t memory, int32_t device, uint64_t *given_back)
{
    share_key_t key = key_by_ordinal(memory, device);
    cuarena_status_t status = CUARENA_OK;
    cuai_lock(&lock);
    place_t *place = find(&key, NULL);
    if (place != NULL)
        status = visit(place, given_back);
    cuai_unlock(&lock);
    return status;
}
