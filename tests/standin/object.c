#include "object.h"

#include "options.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

static sd_object_t *all[SD_OBJECT_KINDS];
static uint64_t last_id = 16; /* above what special handles look like */

const char *sd_object_name(sd_object_kind_t kind)
{
    static const char *const names[] = {"context",  "stream", "event", "module",
                                        "function", "pool",   "graph", "exec"};
    return names[kind];
}

sd_object_t *sd_objects(sd_object_kind_t kind)
{
    return all[kind];
}

/* One that died, half of the time. */
static sd_object_t *risen(sd_object_kind_t kind)
{
    if (random_below(&sd_random, 2) == 0)
        return NULL;
    sd_object_t *object = all[kind];
    while (object != NULL && object->alive)
        object = object->next;
    return object;
}

static sd_object_t *fresh(sd_object_kind_t kind, size_t bytes)
{
    sd_object_t *object = malloc(bytes);
    if (object == NULL)
        sd_die("the host is out of memory");
    object->next = all[kind];
    all[kind] = object;
    return object;
}

void *sd_object_new(sd_object_kind_t kind, size_t bytes, struct sd_context *context)
{
    sd_object_t *object = risen(kind);
    if (object == NULL)
        object = fresh(kind, bytes);
    sd_object_t *next = object->next;
    memset(object, 0, bytes);
    object->kind = kind;
    object->alive = true;
    object->id = ++last_id;
    object->context = context;
    object->next = next;
    return object;
}

void sd_object_kill(sd_object_t *object)
{
    if (!object->alive)
        return;
    if (object->end != NULL)
        object->end(object);
    object->alive = false;
}

static sd_object_t *known(const void *handle, sd_object_kind_t kind)
{
    for (sd_object_t *object = all[kind]; object != NULL; object = object->next) {
        if (object == handle)
            return object;
    }
    return NULL;
}

void *sd_object_find(const void *handle, sd_object_kind_t kind)
{
    sd_object_t *object = known(handle, kind);
    return object != NULL && object->alive ? object : NULL;
}

/* What the handle is instead, in words. */
static const char *instead(const void *handle, sd_object_kind_t kind)
{
    if (known(handle, kind) != NULL)
        return "destroyed";
    for (unsigned other = 0; other < SD_OBJECT_KINDS; other++) {
        if (known(handle, (sd_object_kind_t)other) != NULL)
            return sd_object_name((sd_object_kind_t)other);
    }
    return "unknown";
}

void *sd_object_get(const void *handle, sd_object_kind_t kind)
{
    sd_object_t *object = sd_object_find(handle, kind);
    if (object == NULL) {
        sd_crash(STANDIN_DEAD_HANDLE, "%p is no live %s (it is %s): a real driver crashes on it",
                 handle, sd_object_name(kind), instead(handle, kind));
    }
    return object;
}

size_t sd_objects_alive(sd_object_kind_t kind)
{
    size_t count = 0;
    for (sd_object_t *object = all[kind]; object != NULL; object = object->next)
        count += object->alive && !object->hidden;
    return count;
}
