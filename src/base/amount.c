#include "base/amount.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/log.h"

/* Percentages are kept in thousandths of a percent. */
#define WHOLE_PERCENT UINT64_C(1000)
#define ALL_PERCENT (100 * WHOLE_PERCENT)

/* 10^18 is the last power of ten that 64 bits hold with room to spare. */
#define MAX_DECIMALS 18

__extension__ typedef unsigned __int128 wide_t;

static const char letters[] = "kmgt";

/* whole + fraction / 10^decimals; the last decimal is not 0. */
typedef struct number {
    uint64_t whole;
    uint64_t fraction;
    uint32_t decimals;
    const char *rest; /* the text behind it */
} number_t;

/* ---- Reading ----------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* For ASCII letters only, whatever the locale. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *text, const char *word)
{
    while (*text != '\0' && lower(*text) == *word) {
        text++;
        word++;
    }
    return *text == *word;
}

/* Moves `text` behind the digits; false on overflow. */
static bool read_digits(const char **text, uint64_t *value)
{
    uint64_t sum = 0;
    for (; is_digit(**text); (*text)++) {
        uint64_t digit = (uint64_t)(**text - '0');
        if (!cuai_mul_checked(sum, 10, &sum) || !cuai_add_checked(sum, digit, &sum))
            return false;
    }
    *value = sum;
    return true;
}

static cuai_refusal_t read_decimals(const char **text, number_t *number)
{
    const char *first = *text;
    if (!is_digit(*first))
        return "has a point without decimals";
    if (!read_digits(text, &number->fraction) || *text - first > MAX_DECIMALS)
        return "has too many decimals";
    number->decimals = (uint32_t)(*text - first);
    while (number->decimals > 0 && number->fraction % 10 == 0) {
        number->fraction /= 10;
        number->decimals--;
    }
    return NULL;
}

static cuai_refusal_t read_number(const char *text, number_t *number)
{
    *number = (number_t){0};
    if (*text == '\0')
        return "is empty";
    if (*text == '-')
        return "is negative";
    if (!is_digit(*text))
        return "does not begin with a digit";
    if (!read_digits(&text, &number->whole))
        return "is too large for 64 bits";
    if (*text == '.') {
        text++;
        cuai_refusal_t refusal = read_decimals(&text, number);
        if (refusal != NULL)
            return refusal;
    }
    number->rest = text;
    return NULL;
}

/* The power of two that a suffix stands for. */
static cuai_refusal_t read_suffix(const char *text, uint32_t *shift)
{
    *shift = 0;
    if (*text == '\0')
        return NULL;
    const char *letter = strchr(letters, lower(*text));
    if (letter == NULL)
        return "has an unknown suffix";
    *shift = 10 * (uint32_t)(letter - letters + 1);
    if (text[1] == '\0' || same_word(text + 1, "ib"))
        return NULL;
    if (same_word(text + 1, "b"))
        return "is ambiguous: KiB, MiB, GiB, TiB count in 1024";
    return "has an unknown suffix";
}

/* The number times 2^shift, which is a whole number of bytes. */
static cuai_refusal_t scale(const number_t *number, uint32_t shift, uint64_t *bytes)
{
    CUAI_ASSERT(shift % 10 == 0 && shift <= 40 && number->decimals <= MAX_DECIMALS);
    uint64_t whole;
    uint64_t tens = 1;
    wide_t part = (wide_t)number->fraction << shift;
    for (uint32_t i = 0; i < number->decimals; i++)
        tens *= 10;
    if (part % tens != 0)
        return "is no whole number of bytes";
    if (!cuai_mul_checked(number->whole, UINT64_C(1) << shift, &whole) ||
        !cuai_add_checked(whole, (uint64_t)(part / tens), bytes))
        return "is too large for 64 bits";
    return NULL;
}

cuai_refusal_t cuai_bytes_read(const char *text, uint64_t *out)
{
    CUAI_ASSERT(text != NULL);
    number_t number;
    uint32_t shift;
    cuai_refusal_t refusal = read_number(text, &number);
    if (refusal == NULL)
        refusal = read_suffix(number.rest, &shift);
    if (refusal == NULL)
        refusal = scale(&number, shift, out);
    return refusal;
}

cuai_refusal_t cuai_count_read(const char *text, uint64_t *out)
{
    CUAI_ASSERT(text != NULL);
    number_t number;
    cuai_refusal_t refusal = read_number(text, &number);
    if (refusal != NULL)
        return refusal;
    if (number.decimals != 0 || *number.rest != '\0')
        return "is no whole number";
    *out = number.whole;
    return NULL;
}

static cuai_refusal_t read_percent(const number_t *number, uint64_t *value)
{
    CUAI_ASSERT(number->decimals == 0 || number->fraction % 10 != 0);
    if (number->decimals > 3)
        return "has more than three decimals";
    uint64_t part = number->fraction;
    for (uint32_t i = number->decimals; i < 3; i++)
        part *= 10;
    if (number->whole > 100 || number->whole * WHOLE_PERCENT + part > ALL_PERCENT)
        return "is more than 100 %";
    *value = number->whole * WHOLE_PERCENT + part;
    return NULL;
}

/* Reads what follows "auto": nothing, or "-" and the bytes that are kept. */
static cuai_refusal_t read_auto(const char *rest, uint64_t *kept)
{
    if (*rest == '\0')
        return NULL;
    return *rest == '-' ? cuai_bytes_read(rest + 1, kept) : "has something behind auto";
}

cuai_refusal_t cuai_amount_read(const char *text, cuarena_amount_t *out)
{
    CUAI_ASSERT(text != NULL);
    cuarena_amount_t amount = {.unit = CUARENA_AMOUNT_BYTES};
    number_t number;
    cuai_refusal_t refusal;
    if (strncmp(text, "auto", 4) == 0) {
        amount.unit = CUARENA_AMOUNT_AUTO;
        refusal = read_auto(text + 4, &amount.value);
    } else if (read_number(text, &number) == NULL && strcmp(number.rest, "%") == 0) {
        amount.unit = CUARENA_AMOUNT_PERCENT;
        refusal = read_percent(&number, &amount.value);
    } else {
        refusal = cuai_bytes_read(text, &amount.value);
    }
    if (refusal == NULL)
        *out = amount;
    return refusal;
}

cuarena_status_t cuarena_amount_parse(const char *text, cuarena_amount_t *amount_out)
{
    if (text == NULL || amount_out == NULL)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT, "amount: the text or the output is NULL"));
    char room[CUAI_SHOWN + sizeof("...")];
    cuai_refusal_t refusal = cuai_amount_read(text, amount_out);
    if (refusal != NULL)
        return cuai_told(cuai_fail(CUARENA_BAD_ARGUMENT,
                                   "amount: '%s' %s; accepted: bytes as in 512MiB or "
                                   "4G, 0%% to 100%%, auto, auto-256MiB",
                                   cuai_shown(text, 64, room), refusal));
    return CUARENA_OK;
}

/* ---- Printing ---------------------------------------------------------- */

void cuai_bytes_print(uint64_t bytes, char text[CUAI_NUMBER_TEXT])
{
    uint32_t unit = bytes == 0 ? 0 : cuai_ctz(bytes) / 10;
    if (unit >= sizeof letters - 1)
        unit = sizeof letters - 1;
    if (unit == 0)
        (void)snprintf(text, CUAI_NUMBER_TEXT, "%" PRIu64, bytes);
    else
        (void)snprintf(text, CUAI_NUMBER_TEXT, "%" PRIu64 "%ciB", bytes >> (10 * unit),
                       letters[unit - 1] - 'a' + 'A');
}

/* Prints no zeros at the end of the decimals. */
static void print_percent(uint64_t value, char text[CUAI_NUMBER_TEXT])
{
    int length = snprintf(text, CUAI_NUMBER_TEXT, "%" PRIu64 ".%03" PRIu64, value / WHOLE_PERCENT,
                          value % WHOLE_PERCENT);
    CUAI_ASSERT(length > 0 && length + 1 < CUAI_NUMBER_TEXT);
    while (text[length - 1] == '0')
        length--;
    if (text[length - 1] == '.')
        length--;
    text[length] = '%';
    text[length + 1] = '\0';
}

void cuai_amount_print(cuarena_amount_t amount, char text[CUAI_NUMBER_TEXT])
{
    char bytes[CUAI_NUMBER_TEXT];
    cuai_bytes_print(amount.value, bytes);
    switch (amount.unit) {
    case CUARENA_AMOUNT_BYTES:
        strcpy(text, bytes);
        break;
    case CUARENA_AMOUNT_PERCENT:
        print_percent(amount.value, text);
        break;
    case CUARENA_AMOUNT_AUTO:
        (void)snprintf(text, CUAI_NUMBER_TEXT, "auto%s%.24s", amount.value == 0 ? "" : "-",
                       amount.value == 0 ? "" : bytes);
        break;
    default:
        (void)snprintf(text, CUAI_NUMBER_TEXT, "unit %" PRId32, amount.unit);
        break;
    }
}

/* ---- What they come to ------------------------------------------------- */

/* Rounds down, and is exact although the product may not fit 64 bits. */
static uint64_t share_of(uint64_t total, uint64_t percent)
{
    CUAI_ASSERT(percent <= ALL_PERCENT);
    return total / ALL_PERCENT * percent + total % ALL_PERCENT * percent / ALL_PERCENT;
}

static cuarena_status_t check_amount(cuarena_amount_t amount)
{
    if (amount.unit < CUARENA_AMOUNT_BYTES || amount.unit > CUARENA_AMOUNT_AUTO || amount.zero != 0)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "an amount of unit %d; accepted: 0 (bytes), 1 "
                         "(percent), 2 (auto), and 0 as its member zero",
                         (int)amount.unit);
    if (amount.unit == CUARENA_AMOUNT_PERCENT && amount.value > ALL_PERCENT)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "%" PRIu64 " thousandths of a percent; accepted: at "
                         "most %d",
                         amount.value, (int)ALL_PERCENT);
    return CUARENA_OK;
}

cuarena_status_t cuai_amount_resolve(cuarena_amount_t amount, const cuarena_memory_ops_t *ops,
                                     void *user, uint64_t *bytes_out)
{
    bool all = amount.unit == CUARENA_AMOUNT_PERCENT;
    uint64_t bytes = 0;
    char text[CUAI_NUMBER_TEXT];
    cuarena_status_t status = check_amount(amount);
    if (status != CUARENA_OK)
        return status;
    if (amount.unit == CUARENA_AMOUNT_BYTES) {
        *bytes_out = amount.value;
        return CUARENA_OK;
    }
    cuarena_status_t (*has)(void *, uint64_t *) = all ? ops->total : ops->available;
    cuai_amount_print(amount, text);
    if (has == NULL)
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "%s: memory '%s' does not know what %s; accepted: bytes", text, ops->name,
                         all ? "it has in all" : "is available");
    status = has(user, &bytes);
    if (status != CUARENA_OK)
        return status;
    if (!all && bytes < amount.value)
        return cuai_fail_bytes(CUARENA_OUT_OF_MEMORY, amount.value, bytes, 0, 0, 0,
                               "%s: memory '%s' has %" PRIu64 " bytes available", text, ops->name,
                               bytes);
    *bytes_out = all ? share_of(bytes, amount.value) : bytes - amount.value;
    return CUARENA_OK;
}
