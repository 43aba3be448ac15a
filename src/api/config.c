#include "api/config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/options.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/log.h"
#include "base/sized.h"

/* The sizes that the structs had in the first release. */
#define CONFIG_FIRST sizeof(cuarena_config_t)
#define INFO_FIRST sizeof(cuarena_option_info_t)

/* The longest "key=value" that cuarena_config_parse looks at. */
#define ITEM_SIZE 320

static bool is_config(const cuarena_config_t *config)
{
    return cuai_sized_ok(config, CONFIG_FIRST, sizeof *config);
}

/* A whole copy of a config whose struct_size is known. */
static void copy_whole(const cuarena_config_t *config, cuarena_config_t *full)
{
    CUAI_ASSERT(is_config(config));
    cuarena_config_init(full);
    cuai_sized_read(full, config);
}

cuarena_status_t cuai_config_copy(const cuarena_config_t *config, cuarena_config_t *full_out)
{
    if (!is_config(config))
        return cuai_fail_struct("config", config);
    copy_whole(config, full_out);
    return CUARENA_OK;
}

/* ---- Defaults ---------------------------------------------------------- */

void cuarena_config_init(cuarena_config_t *config)
{
    if (config == NULL)
        return;
    memset(config, 0, sizeof *config);
    config->struct_size = sizeof *config;
    const cuai_option_t *option;
    for (size_t i = 0; (option = cuai_option_at(i)) != NULL; i++) {
        cuai_refusal_t refusal = cuai_option_read(option, option->fallback, config);
        CUAI_ASSERT(refusal == NULL);
        (void)refusal;
    }
}

/* ---- One option -------------------------------------------------------- */

static cuarena_status_t fail_key(const char *key, const char *value)
{
    CUAI_ASSERT(cuai_key_find(key).option == NULL);
    char rooms[2][CUAI_SHOWN + sizeof("...")];
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "'%s' is no option, its value '%s' not looked at; "
                     "accepted: '%s' and others, see cuarena_option_info, or "
                     "unknown_keys=warn",
                     cuai_shown(key, 48, rooms[0]), cuai_shown(value, 32, rooms[1]),
                     cuai_key_nearest(key));
}

static cuarena_status_t pass_over(const char *key, const char *value)
{
    char rooms[2][CUAI_SHOWN + sizeof("...")];
    cuai_log(CUARENA_LOG_WARN,
             "option '%s' is unknown, its value '%s' "
             "is passed over",
             cuai_shown(key, 64, rooms[0]), cuai_shown(value, 64, rooms[1]));
    return CUARENA_OK;
}

static cuarena_status_t fail_value(const char *key, const char *value, cuai_refusal_t refusal,
                                   const char *accepted)
{
    CUAI_ASSERT(refusal != NULL && accepted != NULL);
    char rooms[2][CUAI_SHOWN + sizeof("...")];
    return cuai_fail(CUARENA_BAD_ARGUMENT, "%s: '%s' %s; accepted: %s",
                     cuai_shown(key, 48, rooms[0]), cuai_shown(value, 64, rooms[1]), refusal,
                     accepted);
}

/* Sets one option of a config that has all members. */
static cuarena_status_t set(cuarena_config_t *full, const char *name, const char *value)
{
    CUAI_ASSERT(full->struct_size == sizeof *full);
    cuai_key_t key = cuai_key_find(name);
    if (key.option != NULL) {
        cuai_refusal_t refusal = cuai_key_read(key, value, full);
        return refusal == NULL ? CUARENA_OK
                               : fail_value(name, value, refusal, cuai_key_accepted(key));
    }
    return full->unknown_keys == CUARENA_UNKNOWN_WARN ? pass_over(name, value)
                                                      : fail_key(name, value);
}

cuarena_status_t cuarena_config_set(cuarena_config_t *config, const char *key, const char *value)
{
    if (!is_config(config))
        return cuai_told(cuai_fail_struct("config", config));
    if (key == NULL || value == NULL)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT, "option: the %s is NULL",
                                   key == NULL ? "key" : "value"));
    cuarena_config_t full;
    copy_whole(config, &full);
    cuarena_status_t status = set(&full, key, value);
    if (status == CUARENA_OK)
        cuai_sized_write(config, &full);
    return cuai_told(status);
}

cuarena_status_t cuarena_config_get(const cuarena_config_t *config, const char *key, char *text,
                                    size_t text_size)
{
    if (!is_config(config))
        return cuai_told(cuai_fail_struct("config", config));
    if (key == NULL || text == NULL)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT, "option: the %s is NULL",
                                   key == NULL ? "key" : "text"));
    cuai_key_t ref = cuai_key_find(key);
    if (ref.option == NULL)
        return cuai_told(fail_key(key, ""));
    cuarena_config_t full;
    copy_whole(config, &full);
    char printed[CUAI_OPTION_TEXT_SIZE];
    if (!cuai_key_print(ref, &full, printed))
        return cuai_told(cuai_fail(CUARENA_UNSUPPORTED, "%s: no text stands for %s", key, printed));
    if (strlen(printed) >= text_size)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT, "text_size: %zu; accepted: from %zu on",
                                   text_size, strlen(printed) + 1));
    strcpy(text, printed);
    return CUARENA_OK;
}

/* ---- A list of options ------------------------------------------------- */

static char *skip_blanks(char *text)
{
    return text + strspn(text, " \t");
}

static void cut_blanks(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        text[--length] = '\0';
}

/* One "key=value"; blanks around either are skipped. */
static cuarena_status_t set_item(cuarena_config_t *full, const char *text, size_t length)
{
    CUAI_ASSERT(full->struct_size == sizeof *full);
    char item[ITEM_SIZE];
    if (length >= sizeof item)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "'%.24s...' is too long; accepted: key=value of up to "
                         "%d bytes",
                         text, ITEM_SIZE - 1);
    memcpy(item, text, length);
    item[length] = '\0';
    char room[CUAI_SHOWN + sizeof("...")];
    char *equals = strchr(item, '=');
    if (equals == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "'%s' has no '='; accepted: key=value,key=value",
                         cuai_shown(item, 64, room));
    *equals = '\0';
    cut_blanks(item);
    cut_blanks(equals + 1);
    return set(full, skip_blanks(item), skip_blanks(equals + 1));
}

cuarena_status_t cuarena_config_parse(cuarena_config_t *config, const char *text)
{
    if (!is_config(config))
        return cuai_told(cuai_fail_struct("config", config));
    if (text == NULL)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT, "options: the text is NULL"));
    if (text[strspn(text, " \t")] == '\0')
        return CUARENA_OK;
    cuarena_config_t full;
    copy_whole(config, &full);
    for (const char *item = text;; item++) {
        size_t length = strcspn(item, ",");
        cuarena_status_t status = set_item(&full, item, length);
        if (status != CUARENA_OK)
            return cuai_told(status);
        item += length;
        if (*item == '\0')
            break;
    }
    cuai_sized_write(config, &full);
    return CUARENA_OK;
}

cuarena_status_t cuarena_config_environment(cuarena_config_t *config)
{
    if (!is_config(config))
        return cuai_told(cuai_fail_struct("config", config));
    const char *text = getenv("CUARENA_CONF");
    return text == NULL ? CUARENA_OK : cuarena_config_parse(config, text);
}

/* Digits, or a percentage; 0 of either is no limit. */
static cuai_refusal_t read_limit(const char *text, cuarena_amount_t *limit)
{
    CUAI_ASSERT(text != NULL);
    static const cuarena_amount_t none = {CUARENA_AMOUNT_BYTES, 0, UINT64_MAX};
    size_t length = strlen(text);
    bool percent = length != 0 && text[length - 1] == '%';
    *limit = (cuarena_amount_t){.unit = CUARENA_AMOUNT_BYTES};
    cuai_refusal_t refusal =
        percent ? cuai_amount_read(text, limit) : cuai_count_read(text, &limit->value);
    if (refusal == NULL && limit->value == 0)
        *limit = none;
    return refusal;
}

cuarena_status_t cuarena_config_limit_environment(cuarena_config_t *config, const char *variable)
{
    if (!is_config(config))
        return cuai_told(cuai_fail_struct("config", config));
    const char *name = variable != NULL ? variable : "CUPY_GPU_MEMORY_LIMIT";
    const char *text = getenv(name);
    if (text == NULL)
        return CUARENA_OK;
    cuarena_config_t full;
    copy_whole(config, &full);
    cuai_refusal_t refusal = read_limit(text, &full.limit);
    if (refusal != NULL)
        return cuai_told(fail_value(name, text, refusal,
                                    "a whole number of bytes, or 0% to 100%; 0 of "
                                    "either: no limit"));
    cuai_sized_write(config, &full);
    return CUARENA_OK;
}

/* ---- The table, for others --------------------------------------------- */

void cuarena_option_info_init(cuarena_option_info_t *info)
{
    if (info == NULL)
        return;
    memset(info, 0, sizeof *info);
    info->struct_size = sizeof *info;
}

/* The end of an enumeration is no error to the log. */
static cuarena_status_t past_the_last(size_t index)
{
    CUAI_ASSERT(cuai_option_at(index) == NULL);
    return cuai_fail(CUARENA_BAD_ARGUMENT, "index: %zu is past the last", index);
}

cuarena_status_t cuarena_option_info(size_t index, cuarena_option_info_t *info)
{
    if (!cuai_sized_ok(info, INFO_FIRST, sizeof *info))
        return cuai_told(cuai_fail_struct("info", info));
    const cuai_option_t *option = cuai_option_at(index);
    if (option == NULL)
        return past_the_last(index);
    cuarena_option_info_t known = {
        .struct_size = sizeof known,
        .key = option->key,
        .type = cuai_option_type_name(option->type),
        .accepted = option->accepted,
        .default_text = option->fallback,
        .help = option->help,
        .ort_names = option->ort.names,
        .ort_accepted = option->ort.accepted,
        .advanced = !option->common,
    };
    cuai_sized_write(info, &known);
    return CUARENA_OK;
}

/* ---- Checks ------------------------------------------------------------ */

static cuarena_status_t check_option(const cuai_option_t *option, const cuarena_config_t *full)
{
    CUAI_ASSERT(full->struct_size == sizeof *full);
    cuai_refusal_t refusal = cuai_option_check(option, full);
    if (refusal == NULL)
        return CUARENA_OK;
    char text[CUAI_OPTION_TEXT_SIZE];
    (void)cuai_option_print(option, full, text);
    return fail_value(option->key, text, refusal, option->accepted);
}

cuarena_status_t cuai_config_check(const cuarena_config_t *config, cuarena_config_t *full_out)
{
    if (!is_config(config))
        return cuai_fail_struct("config", config);
    cuarena_config_t full;
    copy_whole(config, &full);
    const cuai_option_t *option;
    for (size_t i = 0; (option = cuai_option_at(i)) != NULL; i++) {
        cuarena_status_t status = check_option(option, &full);
        if (status != CUARENA_OK)
            return status;
    }
    cuai_config_apply_preset(&full);
    cuarena_status_t status = cuai_check_together(&full);
    if (status == CUARENA_OK)
        *full_out = full;
    return status;
}

cuarena_status_t cuarena_config_resolve(cuarena_config_t *config)
{
    cuarena_config_t full;
    cuarena_status_t status = cuai_config_check(config, &full);
    if (status == CUARENA_OK)
        cuai_sized_write(config, &full);
    return cuai_told(status);
}
