#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "fault.h"

#define FIRST_CAPACITY 1024

/* The place that holds `key`, or the free one where it belongs. */
static name_t *find(const names_t *names, uint64_t key)
{
    uint64_t hash = (key ^ key >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    size_t mask = names->capacity - 1;
    for (size_t at = (size_t)(hash >> 20) & mask;; at = (at + 1) & mask) {
        name_t *name = &names->places[at];
        if (name->state == NAME_NEW || name->key == key)
            return name;
    }
}

static void enlarge(names_t *names)
{
    names_t old = *names;
    names->capacity = old.capacity > 0 ? 2 * old.capacity : FIRST_CAPACITY;
    names->places = must_have(NULL, names->capacity, sizeof(name_t));
    memset(names->places, 0, names->capacity * sizeof(name_t));
    for (size_t i = 0; i < old.capacity; i++)
        if (old.places[i].state != NAME_NEW)
            *find(names, old.places[i].key) = old.places[i];
    free(old.places);
}

name_t *names_at(names_t *names, uint64_t key)
{
    if (2 * names->used >= names->capacity)
        enlarge(names);
    name_t *name = find(names, key);
    if (name->state == NAME_NEW) {
        name->key = key;
        names->used++;
    }
    return name;
}

void names_free(names_t *names)
{
    free(names->places);
    *names = (names_t){NULL, 0, 0};
}
