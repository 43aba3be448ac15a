/* The caller's functions that an arena keeps, and its tags. */
#include "api/call.h"

cuarena_status_t cuarena_set_relocation_callback(cuarena_t *arena, cuarena_relocation_fn callback,
                                                 void *user)
{
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    arena->relocation_fn = callback;
    arena->relocation_user = user;
    return cuai_query_end(arena, CUARENA_OK);
}

cuarena_status_t cuarena_set_oom_handler(cuarena_t *arena, cuarena_oom_fn handler, void *user)
{
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    arena->oom_fn = handler;
    arena->oom_user = user;
    return cuai_query_end(arena, CUARENA_OK);
}

cuarena_status_t cuarena_set_event_listener(cuarena_t *arena, cuarena_event_fn listener, void *user)
{
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    arena->event_fn = listener;
    arena->event_user = user;
    cuai_slow_set(arena, CUAI_SLOW_LISTENER, listener != NULL);
    return cuai_query_end(arena, CUARENA_OK);
}

cuarena_status_t cuarena_tag(cuarena_t *arena, const char *name, cuarena_tag_t *tag_out)
{
    if (arena == NULL || name == NULL || tag_out == NULL)
        return cuai_null("arena, name or tag_out");
    if (name[0] == '\0')
        return cuai_told(
            cuai_fail(CUARENA_BAD_ARGUMENT, "tag '': a name of one character or more is accepted"));
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    status = cuai_tag_register(arena, name, tag_out);
    CUAI_ASSERT(status != CUARENA_OK || cuai_tag_known(arena, *tag_out));
    return cuai_query_end(arena, status);
}

cuarena_status_t cuarena_tag_name(cuarena_t *arena, cuarena_tag_t tag, const char **name_out)
{
    if (arena == NULL || name_out == NULL)
        return cuai_null(arena == NULL ? "arena" : "name_out");
    cuarena_status_t status = cuai_query_begin(arena);
    if (status != CUARENA_OK)
        return status;
    bool known = tag != 0 && cuai_tag_known(arena, tag);
    if (known)
        *name_out = arena->tags[tag].name;
    return cuai_query_end(arena, known ? CUARENA_OK : cuai_no_tag(tag));
}
