/* The log's level, and its lines about blocks. */
#include "base/log.h"

#include "api/call.h"

cuarena_status_t cuarena_log_set_level(int32_t level)
{
    if (level < CUARENA_LOG_OFF || level > CUARENA_LOG_DEBUG)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT, "log level: %d, %d to %d is accepted",
                                   (int)level, CUARENA_LOG_OFF, CUARENA_LOG_DEBUG));
    cuai_log_set(level);
    cuai_arenas_set_log();
    return CUARENA_OK;
}

/* The name and level of the events that are logged one by one. The calls log the others. */
static const struct {
    const char *name;
    int32_t level;
} kinds[] = {
    [CUARENA_EVENT_ALLOC] = {"alloc", CUARENA_LOG_DEBUG},
    [CUARENA_EVENT_FREE] = {"free", CUARENA_LOG_DEBUG},
    [CUARENA_EVENT_RESIZE] = {"resize", CUARENA_LOG_INFO},
};

#define KIND_COUNT (int32_t)(sizeof kinds / sizeof kinds[0])

bool cuai_logs_event(int32_t kind)
{
    CUAI_ASSERT(kind >= 0);
    return kind < KIND_COUNT && cuai_log_wants(kinds[kind].level);
}

static const char *tag_name(cuarena_t *arena, cuarena_tag_t tag)
{
    CUAI_ASSERT(tag != 0);
    cuai_arena_lock(arena);
    const char *name = arena->tags[tag].name;
    cuai_unlock(&arena->lock);
    return name;
}

void cuai_log_event(cuarena_t *arena, const cuarena_event_t *event)
{
    cuai_lock_assert_not_held(&arena->lock);
    if (!cuai_logs_event(event->kind))
        return;
    bool tagged = event->tag != 0;
    char room[CUAI_SHOWN + sizeof("...")];
    cuai_log(kinds[event->kind].level, "%s: %s: %llu bytes at %p, block %#llx%s%s%s", arena->label,
             kinds[event->kind].name, (unsigned long long)event->bytes, event->address,
             (unsigned long long)event->block, tagged ? ", tag '" : "",
             tagged ? cuai_shown(tag_name(arena, event->tag), 64, room) : "", tagged ? "'" : "");
}
