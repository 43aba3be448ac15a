/*
 * Events and the log: a listener hears of everything that happens in one
 * arena; the log is the library's voice, for the whole process. Both are
 * called with no lock held.
 */
#include <cuarena.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    exit(EXIT_FAILURE);
}

static const char *const kinds[] = {
    [CUARENA_EVENT_ALLOC] = "alloc",   [CUARENA_EVENT_FREE] = "free",
    [CUARENA_EVENT_RESIZE] = "resize", [CUARENA_EVENT_GROW] = "grow",
    [CUARENA_EVENT_TRIM] = "trim",     [CUARENA_EVENT_COMPACT] = "compact",
    [CUARENA_EVENT_FAIL] = "fail",     [CUARENA_EVENT_RESET] = "reset",
};

static void listen(void *user, const cuarena_event_t *event)
{
    ++*(int *)user;
    printf("  event %-7s %" PRIu64 " KiB\n", kinds[event->kind], event->bytes / 1024);
}

static void write_line(void *user, int32_t level, const char *line)
{
    fprintf(user, "  log %d: %s\n", (int)level, line);
}

int main(void)
{
    must(cuarena_log_set_level(CUARENA_LOG_DEBUG));
    cuarena_log_set_callback(write_line, stdout);

    cuarena_t *arena;
    must(cuarena_open("preset=grow, limit=4MiB, name=demo", &arena));
    int events = 0;
    must(cuarena_set_event_listener(arena, listen, &events));

    void *pointer;
    printf("allocate 1 MiB\n");
    must(cuarena_alloc(arena, MIB, &pointer));
    printf("resize to 2 MiB\n");
    must(cuarena_resize(arena, pointer, 2 * MIB, &pointer));
    printf("ask for 8 MiB of at most 4\n");
    void *too_large;
    cuarena_status_t status = cuarena_alloc(arena, 8 * MIB, &too_large);
    printf("  %s\n", cuarena_status_name(status));
    printf("free, trim\n");
    must(cuarena_free(arena, pointer));
    must(cuarena_trim(arena, 0, NULL));
    printf("%d events\n", events);

    must(cuarena_destroy(&arena));
    return EXIT_SUCCESS;
}
