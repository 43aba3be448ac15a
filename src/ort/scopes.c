/*
 * Options among the keys of a host: which of them are one arena's.
 *
 *   key      ep_factory.CUDAExecutionProvider.arena.max_mem
 *   scope    ^^^^^^^^^^
 *   factory             ^^^^^^^^^^^^^^^^^^^^^
 *   option                                    ^^^^^^^^^^^^^
 *
 * The option keeps its prefix, which cuarena_config_set takes off: once.
 */
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/sized.h"
#include "cuarena/shared.h"

/* What follows a text at the begin of a key; NULL: the key does not begin with it. */
static const char *behind(const char *key, const char *text)
{
    size_t length = strlen(text);
    return strncmp(key, text, length) == 0 ? key + length : NULL;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* What follows the text, in lower case, at the begin of a key; NULL: the key does not begin with
 * it. */
static const char *behind_lower(const char *key, const char *text)
{
    for (; *text != '\0'; key++, text++)
        if (*key != lower(*text))
            return NULL;
    return key;
}

/* The option that a key names in a scope; NULL: none. */
static const char *option_of(const char *key, int32_t scope, const char *factory)
{
    CUAI_ASSERT(scope == CUARENA_SCOPE_BARE || factory != NULL);
    const char *option = key;
    if (scope == CUARENA_SCOPE_SESSION) {
        option = behind(key, "ep.");
        option = option == NULL ? NULL : behind_lower(option, factory);
    } else if (scope == CUARENA_SCOPE_ENVIRONMENT) {
        option = behind(key, "ep_factory.");
        option = option == NULL ? NULL : behind(option, factory);
    }
    if (option != NULL && scope != CUARENA_SCOPE_BARE)
        option = behind(option, ".");
    return option != NULL && behind(option, "arena.") != NULL ? option : NULL;
}

static cuarena_status_t check(int32_t scope, const char *factory, const char *const *keys,
                              const char *const *values, size_t count)
{
    if (scope < CUARENA_SCOPE_BARE || scope > CUARENA_SCOPE_SESSION)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "scope %d; accepted: 0 (bare), 1 (environment), "
                         "2 (session)",
                         (int)scope);
    if (scope != CUARENA_SCOPE_BARE && (factory == NULL || *factory == '\0'))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "factory: no name; accepted: that of the factory");
    if (count != 0 && (keys == NULL || values == NULL))
        return cuai_fail(CUARENA_BAD_ARGUMENT, "keys or values: NULL for a count of %zu", count);
    for (size_t i = 0; i < count; i++)
        if (keys[i] == NULL || values[i] == NULL)
            return cuai_fail(CUARENA_BAD_ARGUMENT, "the %s of number %zu is NULL",
                             keys[i] == NULL ? "key" : "value", i);
    return CUARENA_OK;
}

static cuarena_status_t set_all(cuarena_config_t *config, int32_t scope, const char *factory,
                                const char *const *keys, const char *const *values, size_t count,
                                size_t *taken)
{
    for (size_t i = 0; i < count; i++) {
        const char *option = option_of(keys[i], scope, factory);
        if (option == NULL)
            continue;
        cuarena_status_t status = cuarena_config_set(config, option, values[i]);
        if (status != CUARENA_OK) {
            cuai_error_add(" (key '%.100s')", keys[i]);
            return status;
        }
        *taken += 1;
    }
    return CUARENA_OK;
}

cuarena_status_t cuarena_config_from_scope(cuarena_config_t *config, int32_t scope,
                                           const char *factory, const char *const *keys,
                                           const char *const *values, size_t count,
                                           size_t *taken_out)
{
    cuarena_status_t status = check(scope, factory, keys, values, count);
    if (status != CUARENA_OK)
        return cuai_told(status);
    if (!cuai_sized_ok(config, sizeof(size_t), sizeof *config))
        return cuai_told(
            cuai_fail(CUARENA_BAD_ARGUMENT, "config: NULL, or not as cuarena_config_init sets it"));
    cuarena_config_t full;
    cuarena_config_init(&full);
    cuai_sized_read(&full, config);
    size_t taken = 0;
    status = set_all(&full, scope, factory, keys, values, count, &taken);
    if (status != CUARENA_OK)
        return cuai_told(status);
    cuai_sized_write(config, &full);
    if (taken_out != NULL)
        *taken_out = taken;
    return CUARENA_OK;
}
