/* The caller's functions that an arena keeps, and its tags. */
#include "api/call.h"

cuarena_status_t cuarena_set_relocation_callback(cuarena_t *arena, cuarena_relocation_fn callback,
                                                 void *user)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (!cuai_lock_enter(&arena->lock))
        return cuai_told(cuai_reentered());
    arena->relocation_fn = callback;
    arena->relocation_user = user;
    cuai_unlock(&arena->lock);
    return CUARENA_OK;
}

cuarena_status_t cuarena_set_oom_handler(cuarena_t *arena, cuarena_oom_fn handler, void *user)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (!cuai_lock_enter(&arena->lock))
        return cuai_told(cuai_reentered());
    arena->oom_fn = handler;
    arena->oom_user = user;
    cuai_unlock(&arena->lock);
    return CUARENA_OK;
}

cuarena_status_t cuarena_set_event_listener(cuarena_t *arena, cuarena_event_fn listener, void *user)
{
    if (arena == NULL)
        return cuai_null("arena");
    if (!cuai_lock_enter(&arena->lock))
        return cuai_told(cuai_reentered());
    arena->event_fn = listener;
    arena->event_user = user;
    cuai_slow_set(arena, CUAI_SLOW_LISTENER, listener != NULL);
    cuai_unlock(&arena->lock);
    return CUARENA_OK;
}

cuarena_status_t cuarena_tag(cuarena_t *arena, const char *name, cuarena_tag_t *tag_out)
{
    if (arena == NULL || name == NULL || tag_out == NULL)
        return cuai_null("arena, name or tag_out");
    if (name[0] == '\0')
        return cuai_told(
            cuai_fail(CUARENA_BAD_ARGUMENT, "tag '': a name of one character or more is accepted"));
    if (!cuai_lock_enter(&arena->lock))
        return cuai_told(cuai_reentered());
    cuarena_status_t status = cuai_tag_register(arena, name, tag_out);
    CUAI_ASSERT(status != CUARENA_OK || cuai_tag_known(arena, *tag_out));
    cuai_unlock(&arena->lock);
    return cuai_told(status);
}

cuarena_status_t cuarena_tag_name(cuarena_t *arena, cuarena_tag_t tag, const char **name_out)
{
    if (arena == NULL || name_out == NULL)
        return cuai_null("arena or name_out");
    if (!cuai_lock_enter(&arena->lock))
        return cuai_told(cuai_reentered());
    bool known = tag != 0 && cuai_tag_known(arena, tag);
    if (known)
        *name_out = arena->tags[tag].name;
    cuai_unlock(&arena->lock);
    if (known)
        return CUARENA_OK;
    return cuai_told(cuai_no_tag(tag));
}
