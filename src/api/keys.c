#include "api/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"

#define ORT_PREFIX "arena."

/* No name is longer; see cuai_key_nearest. */
#define LONGEST_NAME 48

/* ---- Finding ----------------------------------------------------------- */

static const char *without_prefix(const char *name)
{
    size_t length = strlen(ORT_PREFIX);
    return strncmp(name, ORT_PREFIX, length) == 0 ? name + length : name;
}

static bool is_in(const char *name, const char *list)
{
    const char *word;
    size_t length;
    while ((length = cuai_next_word(&list, &word)) != 0)
        if (strlen(name) == length && memcmp(name, word, length) == 0)
            return true;
    return false;
}

static const cuai_option_t *find_ort(const char *name)
{
    const cuai_option_t *option;
    for (size_t i = 0; (option = cuai_option_at(i)) != NULL; i++)
        if (option->ort.names != NULL && is_in(name, option->ort.names))
            return option;
    return NULL;
}

cuai_key_t cuai_key_find(const char *name)
{
    const char *bare = without_prefix(name);
    const cuai_option_t *option = cuai_option_find(bare);
    if (option != NULL)
        return (cuai_key_t){option, false};
    return (cuai_key_t){find_ort(bare), true};
}

/* ---- The nearest ------------------------------------------------------- */

static size_t least_of(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* How many bytes have to be put in, taken out or replaced to make one of the other; neither is
 * longer than LONGEST_NAME. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    CUAI_ASSERT(a_length <= LONGEST_NAME && b_length <= LONGEST_NAME);
    size_t row[LONGEST_NAME + 1];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 0; i < a_length; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b_length; j++) {
            size_t replaced = corner + (a[i] != b[j]);
            corner = row[j + 1];
            row[j + 1] = least_of(replaced, corner + 1, row[j] + 1);
        }
    }
    return row[b_length];
}

typedef struct nearest {
    const char *wanted;
    size_t length;
    size_t distance;
    const char *name;
    size_t name_length;
} nearest_t;

static void look_at(nearest_t *nearest, const char *name, size_t length)
{
    CUAI_ASSERT(length <= LONGEST_NAME);
    size_t far = distance(nearest->wanted, nearest->length, name, length);
    if (far >= nearest->distance)
        return;
    nearest->distance = far;
    nearest->name = name;
    nearest->name_length = length;
}

const char *cuai_key_nearest(const char *name)
{
    static _Thread_local char text[LONGEST_NAME + 1];
    nearest_t nearest = {.wanted = without_prefix(name), .distance = SIZE_MAX};
    size_t length = strlen(nearest.wanted);
    nearest.length = length < LONGEST_NAME ? length : LONGEST_NAME;
    const cuai_option_t *option;
    for (size_t i = 0; (option = cuai_option_at(i)) != NULL; i++) {
        look_at(&nearest, option->key, strlen(option->key));
        const char *list = option->ort.names;
        const char *word;
        size_t word_length;
        while (list != NULL && (word_length = cuai_next_word(&list, &word)) != 0)
            look_at(&nearest, word, word_length);
    }
    CUAI_ASSERT(nearest.name != NULL);
    memcpy(text, nearest.name, nearest.name_length);
    text[nearest.name_length] = '\0';
    return text;
}

/* ---- Values ------------------------------------------------------------ */

const char *cuai_key_accepted(cuai_key_t key)
{
    CUAI_ASSERT(key.option != NULL);
    return key.ort ? key.option->ort.accepted : key.option->accepted;
}

static void nth_word(const char *list, uint64_t index, char text[CUAI_OPTION_TEXT_SIZE])
{
    const char *word = list;
    size_t length = cuai_next_word(&list, &word);
    while (index-- != 0)
        length = cuai_next_word(&list, &word);
    memcpy(text, word, length);
    text[length] = '\0';
}

/* The number as our option's text. No limit is 0 there, and the most here. */
static void translate(const cuai_option_t *option, uint64_t number,
                      char text[CUAI_OPTION_TEXT_SIZE])
{
    bool unlimited = option->type == CUAI_OPTION_AMOUNT && number == 0;
    if (option->ort.words != NULL)
        nth_word(option->ort.words, number, text);
    else if (number == 0 && option->ort.zero != NULL)
        (void)snprintf(text, CUAI_OPTION_TEXT_SIZE, "%s", option->ort.zero);
    else
        (void)snprintf(text, CUAI_OPTION_TEXT_SIZE, "%" PRIu64, unlimited ? UINT64_MAX : number);
}

cuai_refusal_t cuai_key_read(cuai_key_t key, const char *value, cuarena_config_t *config)
{
    CUAI_ASSERT(key.option != NULL);
    if (!key.ort)
        return cuai_option_read(key.option, value, config);
    const cuai_ort_t *ort = &key.option->ort;
    uint64_t number;
    cuai_refusal_t refusal = cuai_count_read(value, &number);
    if (refusal != NULL)
        return refusal;
    if (value[strspn(value, "0123456789")] != '\0')
        return "is not of digits alone";
    if (number < ort->least || number > ort->most)
        return "is out of range";
    char text[CUAI_OPTION_TEXT_SIZE];
    translate(key.option, number, text);
    return cuai_option_read(key.option, text, config);
}

/* The number that stands for a text of bytes. */
static bool number_of_bytes(const cuai_option_t *option, const char *text, uint64_t *number_out)
{
    const char *zero = option->ort.zero;
    if (zero != NULL && strcmp(text, zero) == 0)
        *number_out = 0;
    else if (option->unlimited != NULL && strcmp(text, option->unlimited) == 0)
        *number_out = UINT64_MAX;
    else
        return cuai_bytes_read(text, number_out) == NULL;
    return true;
}

/* Which of the words it is; UINT64_MAX: none. */
static uint64_t number_of_word(const char *list, const char *text)
{
    const char *word;
    size_t length;
    for (uint64_t i = 0; (length = cuai_next_word(&list, &word)) != 0; i++)
        if (strlen(text) == length && memcmp(text, word, length) == 0)
            return i;
    return UINT64_MAX;
}

bool cuai_key_print(cuai_key_t key, const cuarena_config_t *config,
                    char text[CUAI_OPTION_TEXT_SIZE])
{
    CUAI_ASSERT(key.option != NULL);
    bool can = cuai_option_print(key.option, config, text);
    const cuai_ort_t *ort = &key.option->ort;
    if (!can || !key.ort)
        return can;
    uint64_t number;
    if (ort->words != NULL)
        number = number_of_word(ort->words, text);
    else if (!number_of_bytes(key.option, text, &number))
        return false;
    if (key.option->type == CUAI_OPTION_AMOUNT && number == UINT64_MAX)
        number = 0;
    if (number < ort->least || number > ort->most)
        return false;
    (void)snprintf(text, CUAI_OPTION_TEXT_SIZE, "%" PRIu64, number);
    return true;
}
