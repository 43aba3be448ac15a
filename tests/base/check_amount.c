/*
 * Amounts as text, and what they come to.
 */
#include "support/base_support.h"
#include "support/configs.h"
#include "support/expect.h"
#include "support/random.h"

#include <stdbool.h>
#include <string.h>

/* ---- cuarena_amount_parse ---------------------------------------------- */

typedef struct amount_case {
    const char *text;
    int32_t unit;
    uint64_t value;
    const char *printed; /* NULL: as the text */
} amount_case_t;

#define BYTES CUARENA_AMOUNT_BYTES
#define PERCENT CUARENA_AMOUNT_PERCENT
#define AUTO CUARENA_AMOUNT_AUTO

static const amount_case_t amounts[] = {
    {"0", BYTES, 0, NULL},
    {"1", BYTES, 1, NULL},
    {"1000", BYTES, 1000, NULL},
    {"007", BYTES, 7, "7"},
    {"1024", BYTES, 1024, "1KiB"},
    {"1k", BYTES, 1024, "1KiB"},
    {"3KiB", BYTES, 3 * KIB(1), NULL},
    {"512MiB", BYTES, 512 * MIB(1), NULL},
    {"512mib", BYTES, 512 * MIB(1), "512MiB"},
    {"512MIB", BYTES, 512 * MIB(1), "512MiB"},
    {"512M", BYTES, 512 * MIB(1), "512MiB"},
    {"4G", BYTES, 4 * GIB(1), "4GiB"},
    {"2TiB", BYTES, 2 * GIB(1024), NULL},
    {"1.5GiB", BYTES, 1536 * MIB(1), "1536MiB"},
    {"1.50G", BYTES, 1536 * MIB(1), "1536MiB"},
    {"0.125k", BYTES, 128, "128"},
    {"1.0", BYTES, 1, "1"},
    {"0.0009765625k", BYTES, 1, "1"},
    {"18446744073709551615", BYTES, UINT64_MAX, NULL},
    {"16777215T", BYTES, 16777215 * GIB(1024), "16777215TiB"},
    {"0%", PERCENT, 0, NULL},
    {"80%", PERCENT, 80000, NULL},
    {"12.5%", PERCENT, 12500, NULL},
    {"0.001%", PERCENT, 1, NULL},
    {"33.333%", PERCENT, 33333, NULL},
    {"33.3330%", PERCENT, 33333, "33.333%"},
    {"100%", PERCENT, 100000, NULL},
    {"auto", AUTO, 0, NULL},
    {"auto-0", AUTO, 0, "auto"},
    {"auto-256MiB", AUTO, 256 * MIB(1), NULL},
    {"auto-1.5k", AUTO, 1536, "auto-1536"},
    {"auto-18446744073709551615", AUTO, UINT64_MAX, NULL},
};

START_TEST(amount_parse_accepts)
{
    const amount_case_t *row = &amounts[_i];
    cuarena_amount_t amount = {-1, -1, 0};
    expect_ok(cuarena_amount_parse(row->text, &amount));
    ck_assert_msg(amount.unit == row->unit, "%s: expected unit %d, got %d", row->text,
                  (int)row->unit, (int)amount.unit);
    ck_assert_int_eq(amount.zero, 0);
    expect_u64(amount.value, row->value);
}
END_TEST

/* As the value of an option. */
static void print(cuarena_amount_t amount, char *text, size_t size)
{
    cuarena_config_t config = config_fresh();
    config.soft_limit = amount;
    expect_ok(cuarena_config_get(&config, "soft_limit", text, size));
}

START_TEST(amount_print_reads_as_the_same)
{
    const amount_case_t *row = &amounts[_i];
    char text[64];
    print((cuarena_amount_t){row->unit, 0, row->value}, text, sizeof text);
    expect_text(text, row->printed != NULL ? row->printed : row->text);
}
END_TEST

typedef struct refusal_case {
    const char *text;
    const char *why;
} refusal_case_t;

static const refusal_case_t refusals[] = {
    {"", "is empty"},
    {" ", "does not begin with a digit"},
    {" 1", "does not begin with a digit"},
    {"1 ", "has an unknown suffix"},
    {"1 G", "has an unknown suffix"},
    {"+1", "does not begin with a digit"},
    {"-1", "is negative"},
    {"-", "is negative"},
    {".5G", "does not begin with a digit"},
    {"1.", "has a point without decimals"},
    {"1.G", "has a point without decimals"},
    {"1.5", "is no whole number of bytes"},
    {"0.1G", "is no whole number of bytes"},
    {"1.00000000000000000001G", "has too many decimals"},
    {"0.1234567890123456789T", "has too many decimals"},
    {"1e9", "has an unknown suffix"},
    {"0x10", "has an unknown suffix"},
    {"1,5G", "has an unknown suffix"},
    {"512MB", "is ambiguous"},
    {"512mb", "is ambiguous"},
    {"1kb", "is ambiguous"},
    {"1P", "has an unknown suffix"},
    {"1B", "has an unknown suffix"},
    {"1Mi", "has an unknown suffix"},
    {"1MiBs", "has an unknown suffix"},
    {"1MiBMiB", "has an unknown suffix"},
    {"18446744073709551616", "is too large for 64 bits"},
    {"99999999999999999999999", "is too large for 64 bits"},
    {"16777216T", "is too large for 64 bits"},
    {"100.001%", "is more than 100 %"},
    {"101%", "is more than 100 %"},
    {"18446744073709551615%", "is more than 100 %"},
    {"0.0001%", "has more than three decimals"},
    {"%", "does not begin with a digit"},
    {"50%%", "has an unknown suffix"},
    {"50 %", "has an unknown suffix"},
    {"-5%", "is negative"},
    {"AUTO", "does not begin with a digit"},
    {"automatic", "has something behind auto"},
    {"auto+1", "has something behind auto"},
    {"auto-", "is empty"},
    {"auto--1", "is negative"},
    {"auto-5%", "has an unknown suffix"},
    {"auto-1MB", "is ambiguous"},
};

START_TEST(amount_parse_refuses)
{
    const refusal_case_t *row = &refusals[_i];
    cuarena_amount_t amount = {7, 8, 9};
    expect_status(cuarena_amount_parse(row->text, &amount), CUARENA_BAD_ARGUMENT);
    expect_message(row->text, row->why, "accepted:");
    ck_assert_int_eq(amount.unit, 7);
    expect_u64(amount.value, 9);
}
END_TEST

START_TEST(amount_parse_null_arguments)
{
    cuarena_amount_t amount;
    expect_status(cuarena_amount_parse(NULL, &amount), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_amount_parse("1", NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

START_TEST(amount_round_trip_of_random_values)
{
    random_state_t random = {1};
    for (int i = 0; i < 20000; i++) {
        uint64_t value = random_next(&random) >> random_below(&random, 64);
        uint64_t shift = random_below(&random, 64);
        cuarena_amount_t in = {BYTES, 0, value << shift};
        if (i % 3 == 1)
            in = (cuarena_amount_t){PERCENT, 0, value % 100001};
        if (i % 3 == 2)
            in.unit = AUTO;
        char text[64];
        print(in, text, sizeof text);
        cuarena_amount_t out;
        expect_ok(cuarena_amount_parse(text, &out));
        ck_assert_msg(out.unit == in.unit, "%s: another unit", text);
        expect_u64(out.value, in.value);
    }
}
END_TEST

/* ---- What they come to, as limits of an arena --------------------------- */

static uint64_t there_is; /* in all, and available */

static cuarena_status_t tell(void *user, uint64_t *bytes_out)
{
    (void)user;
    *bytes_out = there_is;
    return CUARENA_OK;
}

static cuarena_status_t cannot_tell(void *user, uint64_t *bytes_out)
{
    (void)user;
    (void)bytes_out;
    return CUARENA_DRIVER;
}

static cuarena_status_t get_nothing(void *user, uint64_t bytes, uint64_t address_bytes,
                                    cuarena_memory_segment_t *segment_out)
{
    (void)user;
    (void)bytes;
    (void)address_bytes;
    (void)segment_out;
    return CUARENA_OUT_OF_MEMORY;
}

static void give_nothing(void *user, cuarena_memory_segment_t *segment)
{
    (void)user;
    (void)segment;
}

typedef cuarena_status_t (*teller_t)(void *user, uint64_t *bytes_out);

/* What the limit comes to on a memory that tells so; `bytes_out` gets what is in force then, 77
 * where it is refused. */
static cuarena_status_t resolve(const char *text, teller_t available, teller_t total,
                                uint64_t *bytes_out)
{
    cuarena_memory_ops_t ops;
    cuarena_amount_t amount;
    cuarena_t *arena = NULL;
    cuarena_config_t config = config_of("preset=grow,limit=1MiB");
    const cuarena_amount_t before = {BYTES, 0, 77};
    cuarena_memory_ops_init(&ops);
    ops.name = "tells";
    ops.get = get_nothing;
    ops.give_back = give_nothing;
    ops.available = available;
    ops.total = total;
    config.memory = CUARENA_MEMORY_CUSTOM;
    config.ops = &ops;
    expect_ok(cuarena_create(&config, &arena));
    expect_ok(cuarena_amount_parse(text, &amount));
    expect_ok(cuarena_set_limit(arena, CUARENA_LIMIT_LIVE, before, NULL));
    cuarena_status_t status = cuarena_set_limit(arena, CUARENA_LIMIT_LIVE, amount, NULL);
    expect_ok(cuarena_get_limit(arena, CUARENA_LIMIT_LIVE, bytes_out));
    expect_ok(cuarena_destroy(&arena));
    return status;
}

static uint64_t resolved(const char *text, uint64_t bytes)
{
    uint64_t got = 0;
    bool percent = strchr(text, '%') != NULL;
    there_is = bytes;
    expect_ok(resolve(text, percent ? NULL : tell, percent ? tell : NULL, &got));
    return got;
}

START_TEST(amount_resolve_bytes_asks_nobody)
{
    uint64_t bytes = 0;
    expect_ok(resolve("78", NULL, NULL, &bytes));
    expect_u64(bytes, 78);
}
END_TEST

START_TEST(amount_resolve_percent_rounds_down_and_never_overflows)
{
    expect_u64(resolved("50%", 1001), 500);
    expect_u64(resolved("0%", 1000), 0);
    expect_u64(resolved("0.001%", 99999), 0);
    expect_u64(resolved("0.001%", 100000), 1);
    expect_u64(resolved("33.333%", 1000000), 333330);
    expect_u64(resolved("100%", UINT64_MAX), UINT64_MAX);
    expect_u64(resolved("50%", UINT64_MAX), UINT64_MAX / 2);
}
END_TEST

START_TEST(amount_resolve_auto)
{
    expect_u64(resolved("auto", 1000), 1000);
    expect_u64(resolved("auto-400", 1000), 600);
    expect_u64(resolved("auto-1000", 1000), 0);
}
END_TEST

START_TEST(amount_resolve_auto_that_leaves_less_than_nothing)
{
    uint64_t bytes = 0;
    there_is = 2047;
    expect_status(resolve("auto-2048", tell, NULL, &bytes), CUARENA_OUT_OF_MEMORY);
    expect_message("auto-2KiB", "2047", "tells");
    expect_u64(bytes, 77);
}
END_TEST

START_TEST(amount_resolve_of_a_memory_that_does_not_know)
{
    uint64_t bytes = 0;
    expect_status(resolve("50%", tell, NULL, &bytes), CUARENA_BAD_ARGUMENT);
    expect_message("50%", "tells", "in all");
    expect_status(resolve("auto", NULL, tell, &bytes), CUARENA_BAD_ARGUMENT);
    expect_message("auto", "tells", "available");
    expect_status(resolve("50%", NULL, cannot_tell, &bytes), CUARENA_DRIVER);
    expect_u64(bytes, 77);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("amount");
    suite_add_rows(suite, "parse", amount_parse_accepts, COUNT_OF(amounts));
    suite_add_rows(suite, "print", amount_print_reads_as_the_same, COUNT_OF(amounts));
    suite_add_rows(suite, "refused", amount_parse_refuses, COUNT_OF(refusals));
    suite_add_list(suite, "edges",
                   TEST_LIST(amount_parse_null_arguments, amount_round_trip_of_random_values));
    suite_add_list(suite, "resolve",
                   TEST_LIST(amount_resolve_bytes_asks_nobody,
                             amount_resolve_percent_rounds_down_and_never_overflows,
                             amount_resolve_auto, amount_resolve_auto_that_leaves_less_than_nothing,
                             amount_resolve_of_a_memory_that_does_not_know));
    return suite_main(suite);
}
