/* Tags: names for the purposes of blocks, each registered once. */
#include "arena/tags.h"

#include <string.h>

#include "arena/arena.h"

static cuarena_tag_t find(const cuarena_t *arena, const char *name)
{
    for (size_t tag = 1; tag < arena->tag_count; tag++)
        if (strcmp(arena->tags[tag].name, name) == 0)
            return (cuarena_tag_t)tag;
    return 0;
}

static bool make_room(cuarena_t *arena)
{
    void *items =
        cuai_host_make_room(arena->tags, arena->tag_count, &arena->tag_room, sizeof *arena->tags);
    if (items == NULL)
        return false;
    arena->tags = items;
    arena->tag_count = cuai_max(arena->tag_count, 1); /* tag 0 names nothing */
    return true;
}

cuarena_status_t cuai_tag_register(cuarena_t *arena, const char *name, cuarena_tag_t *tag_out)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(name != NULL);
    cuarena_tag_t tag = find(arena, name);
    if (tag != 0) {
        *tag_out = tag;
        return CUARENA_OK;
    }
    char room[CUAI_SHOWN + sizeof("...")];
    if (arena->tag_count == CUARENA_HEAP_MAX_TAGS)
        return cuai_fail(CUARENA_LIMIT, "tag '%s': %u are registered", cuai_shown(name, 64, room),
                         CUARENA_HEAP_MAX_TAGS - 1);
    size_t length = strlen(name) + 1;
    char *copy = cuai_host_alloc(length);
    if (copy == NULL || !make_room(arena)) {
        cuai_host_free(copy);
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory for a tag");
    }
    memcpy(copy, name, length);
    tag = (cuarena_tag_t)arena->tag_count++;
    arena->tags[tag].name = copy;
    arena->tag_name_bytes += length;
    *tag_out = tag;
    return CUARENA_OK;
}

void cuai_tags_end(cuarena_t *arena)
{
    cuai_lock_assert_not_held(&arena->lock);
    for (size_t tag = 1; tag < arena->tag_count; tag++) {
        cuai_host_free(arena->tags[tag].name);
        cuai_host_free(arena->tags[tag].scopes);
    }
    cuai_host_free(arena->tags);
}
