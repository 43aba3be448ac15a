#include "api/options.h"

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

static const cuai_option_t *find_ort(const char *name)
{
    const cuai_option_t *option;
    for (size_t i = 0; (option = cuai_option_at(i)) != NULL; i++)
        if (option->ort.names != NULL && cuai_word_find(option->ort.names, name) >= 0)
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
            row[j + 1] = cuai_min(replaced, cuai_min(corner, row[j]) + 1);
        }
    }
    return row[b_length];
}

typedef struct nearest {
    const char *wanted;
    size_t length;
    size_t distance;
    char *name;
} nearest_t;

static void look_at(nearest_t *nearest, const char *name)
{
    size_t far = distance(nearest->wanted, nearest->length, name, strlen(name));
    if (far >= nearest->distance)
        return;
    nearest->distance = far;
    strcpy(nearest->name, name);
}

const char *cuai_key_nearest(const char *name)
{
    static _Thread_local char found[CUAI_OPTION_TEXT_SIZE];
    nearest_t nearest = {.wanted = without_prefix(name), .distance = SIZE_MAX, .name = found};
    nearest.length = cuai_min(strlen(nearest.wanted), LONGEST_NAME);
    const cuai_option_t *option;
    for (size_t i = 0; (option = cuai_option_at(i)) != NULL; i++) {
        char ort[CUAI_OPTION_TEXT_SIZE];
        look_at(&nearest, option->key);
        for (int64_t n = 0; option->ort.names != NULL && cuai_word_copy(option->ort.names, n, ort);
             n++)
            look_at(&nearest, ort);
    }
    CUAI_ASSERT(nearest.distance != SIZE_MAX);
    return found;
}

/* ---- Values ------------------------------------------------------------ */

const char *cuai_key_accepted(cuai_key_t key)
{
    CUAI_ASSERT(key.option != NULL);
    return key.ort ? key.option->ort.accepted : key.option->accepted;
}

/* The number as our option's text. No limit is 0 there, and the most here. */
static void translate(const cuai_option_t *option, uint64_t number,
                      char text[CUAI_OPTION_TEXT_SIZE])
{
    CUAI_ASSERT(option->ort.names != NULL);
    bool unlimited = option->type == CUAI_OPTION_AMOUNT && number == 0;
    if (option->ort.words != NULL)
        (void)cuai_word_copy(option->ort.words, (int64_t)number, text);
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
        number = (uint64_t)cuai_word_find(ort->words, text); /* none: out of range */
    else if (!number_of_bytes(key.option, text, &number))
        return false;
    if (key.option->type == CUAI_OPTION_AMOUNT && number == UINT64_MAX)
        number = 0;
    if (number < ort->least || number > ort->most)
        return false;
    (void)snprintf(text, CUAI_OPTION_TEXT_SIZE, "%" PRIu64, number);
    return true;
}
