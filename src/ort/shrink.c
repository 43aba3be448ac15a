/*
 * The run option memory.enable_memory_arena_shrinkage: which shared arenas a host wants trimmed at
 * the end of a run.
 *
 *   list    cpu:0;gpu:1
 *   item    ^^^^^ ^^^^^
 *   word    ^^^   ^^^
 *   id          ^     ^
 */
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "ort/shared.h"

/* How much of an item an error shows. */
#define SHOWN 40

typedef struct item {
    const char *text;
    size_t length;
    int32_t memory;
    int32_t device;
} item_t;

static int shown(const item_t *item)
{
    return item->length < SHOWN ? (int)item->length : SHOWN;
}

/* Decimal digits alone, up to INT32_MAX. */
static bool read_id(const char *text, size_t length, int32_t *id_out)
{
    uint64_t id = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        id = id * 10 + (uint64_t)(text[i] - '0');
        if (id > INT32_MAX)
            return false;
    }
    CUAI_ASSERT(id <= INT32_MAX);
    *id_out = (int32_t)id;
    return length != 0;
}

static bool is_word(const item_t *item, size_t length, const char *word)
{
    CUAI_ASSERT(length <= item->length);
    return strlen(word) == length && memcmp(item->text, word, length) == 0;
}

static cuarena_status_t no_word(const item_t *item)
{
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "'%.*s' names no device; accepted: cpu:ID and gpu:ID, "
                     "with ; between them and no blanks",
                     shown(item), item->text);
}

static cuarena_status_t read_item(item_t *item)
{
    const char *colon = memchr(item->text, ':', item->length);
    size_t length = colon == NULL ? 0 : (size_t)(colon - item->text);
    bool cpu = is_word(item, length, "cpu");
    if (!cpu && !is_word(item, length, "gpu"))
        return no_word(item);
    CUAI_ASSERT(colon != NULL);
    if (!read_id(colon + 1, item->length - length - 1, &item->device) || (cpu && item->device != 0))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "'%.*s' has no such id; accepted: %s", shown(item),
                         item->text, cpu ? "0" : "0 to 2147483647");
    item->memory = cpu ? CUARENA_MEMORY_PAGEABLE : CUARENA_MEMORY_DEVICE;
    item->device = cpu ? CUAI_NO_ORDINAL : item->device;
    return CUARENA_OK;
}

/* Whether there is such a shared arena now; if it ends before it is trimmed all went back. */
static cuarena_status_t check_item(item_t *item)
{
    cuarena_status_t status = read_item(item);
    if (status != CUARENA_OK)
        return status;
    if (cuai_shared_is_there(item->memory, item->device))
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "'%.*s' has no shared arena; accepted: devices for whose "
                     "memory cuarena_shared_acquire made one",
                     shown(item), item->text);
}

/* The list's next item; false: there is none. */
static bool next_item(const char **list, item_t *item)
{
    if (*list == NULL)
        return false;
    const char *end = strchr(*list, ';');
    item->text = *list;
    item->length = end == NULL ? strlen(*list) : (size_t)(end - *list);
    *list = end == NULL ? NULL : end + 1;
    return true;
}

static cuarena_status_t check_list(const char *list)
{
    CUAI_ASSERT(list == NULL || *list != '\0');
    item_t item;
    cuarena_status_t status = CUARENA_OK;
    while (status == CUARENA_OK && next_item(&list, &item))
        status = check_item(&item);
    return status;
}

/* The first error, after all were tried. */
static cuarena_status_t trim_list(const char *list, uint64_t *given_back)
{
    item_t item;
    cuarena_status_t status = CUARENA_OK;
    cuai_kept_error_t words;
    while (next_item(&list, &item)) {
        cuarena_status_t one = read_item(&item);
        if (one == CUARENA_OK)
            one = cuai_shared_trim(item.memory, item.device, given_back);
        if (one != CUARENA_OK && status == CUARENA_OK) {
            status = one;
            words = cuai_error_kept();
        }
    }
    if (status != CUARENA_OK)
        cuai_error_restore(&words);
    return status;
}

cuarena_status_t cuarena_shared_shrink(const char *devices, uint64_t *given_back_out)
{
    uint64_t given_back = 0;
    if (devices == NULL)
        return cuai_null("devices");
    const char *list = *devices == '\0' ? NULL : devices;
    cuarena_status_t status = check_list(list);
    if (status != CUARENA_OK)
        return cuai_told(status);
    status = trim_list(list, &given_back);
    if (status == CUARENA_OK && given_back_out != NULL)
        *given_back_out = given_back;
    return cuai_told(status);
}
