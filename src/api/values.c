/* Values of options: reading, checking and printing what a member of a config is. options.c has the
 * table. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/options.h"
#include "base/bits.h"
#include "base/pattern.h"

/* ---- Members -----------------------------------------------------------
 */

static const void *member(const cuai_option_t *option, const cuarena_config_t *config)
{
    CUAI_ASSERT(option->offset + option->size <= sizeof *config);
    return (const char *)config + option->offset;
}

static void store(const cuai_option_t *option, cuarena_config_t *config, const void *value)
{
    CUAI_ASSERT(option->offset + option->size <= sizeof *config);
    memcpy((char *)config + option->offset, value, option->size);
}

static cuarena_amount_t amount_in(const cuai_option_t *option, const cuarena_config_t *config)
{
    CUAI_ASSERT(option->size == sizeof(cuarena_amount_t));
    return *(const cuarena_amount_t *)member(option, config);
}

static int32_t choice_in(const cuai_option_t *option, const cuarena_config_t *config)
{
    CUAI_ASSERT(option->size == sizeof(int32_t));
    return *(const int32_t *)member(option, config);
}

/* Counts may have 32 bits; a negative one is out of every range. */
static uint64_t number_in(const cuai_option_t *option, const cuarena_config_t *config)
{
    return option->size == sizeof(int32_t) ? (uint64_t)choice_in(option, config)
                                           : *(const uint64_t *)member(option, config);
}

static void store_number(const cuai_option_t *option, cuarena_config_t *config, uint64_t value)
{
    CUAI_ASSERT(option->size == sizeof value || value <= INT32_MAX);
    int32_t narrow = (int32_t)value; /* it is in range */
    bool wide = option->size == sizeof value;
    store(option, config, wide ? (const void *)&value : &narrow);
}

/* ---- Words -------------------------------------------------------------
 */

/* Cuts the next word off a list; its length, 0 behind the last. */
static size_t next_word(const char **list, const char **word)
{
    *word = *list;
    size_t length = strcspn(*list, ",");
    *list += length;
    *list += strspn(*list, ", ");
    return length;
}

int64_t cuai_word_find(const char *list, const char *text)
{
    const char *word;
    size_t length;
    for (int64_t i = 0; (length = next_word(&list, &word)) != 0; i++)
        if (strlen(text) == length && memcmp(text, word, length) == 0)
            return i;
    return -1;
}

bool cuai_word_copy(const char *list, int64_t number, char text[CUAI_OPTION_TEXT_SIZE])
{
    const char *word;
    size_t length;
    for (; (length = next_word(&list, &word)) != 0; number--) {
        if (number != 0)
            continue;
        memcpy(text, word, length);
        text[length] = '\0';
        return true;
    }
    return false;
}

/* ---- Ranges ------------------------------------------------------------
 */

static const char out_of_range[] = "is out of range";

static cuai_refusal_t check_number(const cuai_option_t *option, uint64_t value)
{
    if (option->from_preset != NULL && value == CUARENA_BYTES_PRESET)
        return NULL;
    if (option->unchanged != NULL && value == CUARENA_BYTES_UNCHANGED)
        return NULL;
    if (value < option->least || value > option->most)
        return out_of_range;
    if (option->or_zero && value == 0)
        return NULL;
    if (option->power_of_two && !cuai_is_power_of_two(value))
        return "is no power of two";
    return NULL;
}

static cuai_refusal_t check_amount(const cuai_option_t *option, cuarena_amount_t amount)
{
    if (amount.zero != 0)
        return "has a member `zero` that is not 0";
    if (amount.unit == CUARENA_AMOUNT_AUTO)
        return NULL;
    if (amount.unit == CUARENA_AMOUNT_BYTES)
        return check_number(option, amount.value);
    if (amount.unit != CUARENA_AMOUNT_PERCENT)
        return "has an unknown unit";
    bool none = option->least != 0 && amount.value == 0;
    return none || amount.value > 100000 ? out_of_range : NULL;
}

static cuai_refusal_t check_choice(const cuai_option_t *option, int32_t value)
{
    CUAI_ASSERT(option->first < option->last);
    return value >= option->first && value <= option->last ? NULL : out_of_range;
}

/* The only text that is more than a name is a pattern. */
static cuai_refusal_t check_pattern(const cuai_option_t *option, const char *text)
{
    bool pattern = option->offset == offsetof(cuarena_config_t, snapshot_on_oom);
    return pattern && !cuai_pattern_ok(text) ? "has a % that stands for nothing" : NULL;
}

static cuai_refusal_t check_text(const cuai_option_t *option, const char *text)
{
    CUAI_ASSERT(option->type == CUAI_OPTION_TEXT);
    bool ends = memchr(text, '\0', option->size) != NULL;
    return ends ? check_pattern(option, text) : "has no zero at its end";
}

cuai_refusal_t cuai_option_check(const cuai_option_t *option, const cuarena_config_t *config)
{
    switch (option->type) {
    case CUAI_OPTION_AMOUNT:
        return check_amount(option, amount_in(option, config));
    case CUAI_OPTION_BYTES:
    case CUAI_OPTION_COUNT:
        return check_number(option, number_in(option, config));
    case CUAI_OPTION_CHOICE:
    case CUAI_OPTION_FLAG:
        return check_choice(option, choice_in(option, config));
    case CUAI_OPTION_TEXT:
        break;
    }
    return check_text(option, member(option, config));
}

/* ---- Reading -----------------------------------------------------------
 */

static cuai_refusal_t read_amount(const cuai_option_t *option, const char *text,
                                  cuarena_config_t *config)
{
    cuarena_amount_t amount;
    cuai_refusal_t refusal = cuai_amount_read(text, &amount);
    if (refusal == NULL)
        refusal = check_amount(option, amount);
    if (refusal == NULL)
        store(option, config, &amount);
    return refusal;
}

static bool is_word(const char *text, const char *word)
{
    return word != NULL && strcmp(text, word) == 0;
}

/* A number as it is written; those that stand for words are none. */
static cuai_refusal_t read_digits(const cuai_option_t *option, const char *text, uint64_t *value)
{
    cuai_refusal_t refusal = option->type == CUAI_OPTION_BYTES ? cuai_bytes_read(text, value)
                                                               : cuai_count_read(text, value);
    if (refusal != NULL)
        return refusal;
    bool worded = (option->from_preset != NULL && *value == CUARENA_BYTES_PRESET) ||
                  (option->unchanged != NULL && *value == CUARENA_BYTES_UNCHANGED);
    return worded ? out_of_range : NULL;
}

static cuai_refusal_t read_number(const cuai_option_t *option, const char *text,
                                  cuarena_config_t *config)
{
    uint64_t value = UINT64_MAX;
    cuai_refusal_t refusal = NULL;
    if (is_word(text, option->from_preset))
        value = CUARENA_BYTES_PRESET;
    else if (is_word(text, option->unchanged))
        value = CUARENA_BYTES_UNCHANGED;
    else if (!is_word(text, option->unlimited))
        refusal = read_digits(option, text, &value);
    if (refusal == NULL)
        refusal = check_number(option, value);
    if (refusal == NULL)
        store_number(option, config, value);
    return refusal;
}

static cuai_refusal_t read_choice(const cuai_option_t *option, const char *text,
                                  cuarena_config_t *config)
{
    CUAI_ASSERT(option->size == sizeof(int32_t));
    int64_t number = cuai_word_find(option->accepted, text);
    int32_t value = option->first + (int32_t)number;
    if (number < 0)
        return "is none of the words";
    store(option, config, &value);
    return NULL;
}

static cuai_refusal_t read_text(const cuai_option_t *option, const char *text,
                                cuarena_config_t *config)
{
    CUAI_ASSERT(option->type == CUAI_OPTION_TEXT);
    if (strlen(text) >= option->size)
        return "is too long";
    if (check_pattern(option, text) != NULL)
        return check_pattern(option, text);
    memset((char *)config + option->offset, 0, option->size);
    memcpy((char *)config + option->offset, text, strlen(text));
    return NULL;
}

cuai_refusal_t cuai_option_read(const cuai_option_t *option, const char *value,
                                cuarena_config_t *config)
{
    switch (option->type) {
    case CUAI_OPTION_AMOUNT:
        return read_amount(option, value, config);
    case CUAI_OPTION_BYTES:
    case CUAI_OPTION_COUNT:
        return read_number(option, value, config);
    case CUAI_OPTION_CHOICE:
    case CUAI_OPTION_FLAG:
        return read_choice(option, value, config);
    case CUAI_OPTION_TEXT:
        break;
    }
    return read_text(option, value, config);
}

/* ---- Printing ----------------------------------------------------------
 */

static_assert(CUAI_NUMBER_TEXT <= CUAI_OPTION_TEXT_SIZE, "numbers fit");
static_assert(sizeof((cuarena_config_t *)0)->name <= CUAI_OPTION_TEXT_SIZE &&
                  sizeof((cuarena_config_t *)0)->snapshot_on_oom <= CUAI_OPTION_TEXT_SIZE &&
                  sizeof((cuarena_config_t *)0)->trace <= CUAI_OPTION_TEXT_SIZE,
              "texts fit");

static void print_number(const cuai_option_t *option, uint64_t value,
                         char text[CUAI_OPTION_TEXT_SIZE])
{
    if (option->unlimited != NULL && value == UINT64_MAX)
        strcpy(text, option->unlimited);
    else if (option->from_preset != NULL && value == CUARENA_BYTES_PRESET)
        strcpy(text, option->from_preset);
    else if (option->unchanged != NULL && value == CUARENA_BYTES_UNCHANGED)
        strcpy(text, option->unchanged);
    else if (option->type == CUAI_OPTION_BYTES)
        cuai_bytes_print(value, text);
    else if (option->size == sizeof(int32_t))
        (void)snprintf(text, CUAI_OPTION_TEXT_SIZE, "%" PRId64, (int64_t)value);
    else
        (void)snprintf(text, CUAI_OPTION_TEXT_SIZE, "%" PRIu64, value);
}

static bool print_choice(const cuai_option_t *option, int32_t value,
                         char text[CUAI_OPTION_TEXT_SIZE])
{
    if (cuai_word_copy(option->accepted, (int64_t)value - option->first, text))
        return true;
    (void)snprintf(text, CUAI_OPTION_TEXT_SIZE, "%" PRId32, value);
    return false;
}

bool cuai_option_print(const cuai_option_t *option, const cuarena_config_t *config,
                       char text[CUAI_OPTION_TEXT_SIZE])
{
    switch (option->type) {
    case CUAI_OPTION_AMOUNT:
        cuai_amount_print(amount_in(option, config), text);
        break;
    case CUAI_OPTION_BYTES:
    case CUAI_OPTION_COUNT:
        print_number(option, number_in(option, config), text);
        break;
    case CUAI_OPTION_CHOICE:
    case CUAI_OPTION_FLAG:
        return print_choice(option, choice_in(option, config), text);
    case CUAI_OPTION_TEXT:
        (void)snprintf(text, CUAI_OPTION_TEXT_SIZE, "%.*s", (int)option->size - 1,
                       (const char *)member(option, config));
        break;
    }
    return cuai_option_check(option, config) == NULL;
}
