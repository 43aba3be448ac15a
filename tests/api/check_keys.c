/*
 * Keys: names that no option has, those that ONNX Runtime has for options of its arena, and the
 * list in the environment.
 */
#include "support/base_support.h"
#include "support/configs.h"
#include "support/expect.h"
#include "support/log_lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Unknown keys -------------------------------------------------------- */

static const char *const unknown_keys[][2] = {
    {"", "'fd'"},
    {"Pool", "'pool'"},
    {"pool ", "'pool'"},
    {"struct_size", "'trace_ring'"},
    {"bytes", "'keep'"},
    {"ops", "'pool'"},
    {"max_block", "'max_blocks'"},
    {"arena.growth", "'grow'"},
    {"arena.", "'fd'"},
    {"arena.arena.max_mem", "'max_mem'"},
    {"ARENA.max_mem", "'max_mem'"},
    {"arena.max_memory", "'max_mem'"},
    {"arena.enable_stream_sharing", "accepted"},
    {"a key that is longer than any name of an option could ever be, by far", "accepted"},
};

START_TEST(config_set_unknown_key_is_named_with_its_value_and_the_nearest)
{
    const char *const *row = unknown_keys[_i];
    char begin[49];
    snprintf(begin, sizeof(begin), "%s", row[0]);
    cuarena_config_t config = config_fresh();
    expect_status(cuarena_config_set(&config, row[0], "17"), CUARENA_BAD_ARGUMENT);
    expect_message(begin, "'17'", row[1], "accepted:");
}
END_TEST

/* The one line that was logged has the word. */
static void expect_warning(const char *word)
{
    ck_assert_int_eq(logged.count, 1);
    ck_assert_int_eq(logged.list[0].level, CUARENA_LOG_WARN);
    ck_assert_msg(strstr(logged.list[0].text, word) != NULL, "expected %s: %s", word,
                  logged.list[0].text);
    logged.count = 0;
}

/* A key that is passed over is told of, once and by its name. */
START_TEST(config_unknown_keys_are_warned_of)
{
    cuarena_config_t config = config_fresh();
    log_listen(CUARENA_LOG_WARN);
    expect_ok(cuarena_config_parse(&config, "unknown_keys=warn,pool=1G,what=1"));
    expect_warning("'what'");
    expect_ok(cuarena_config_set(&config, "arena.enable_sharing", "1"));
    expect_warning("'arena.enable_sharing'");
    log_listen_no_more();
}
END_TEST

START_TEST(config_unknown_keys_may_be_passed_over)
{
    cuarena_config_t config = config_fresh();
    expect_status(cuarena_config_parse(&config, "what=1,unknown_keys=warn"), CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_config_parse(&config, "unknown_keys=warn,what=1,arena.what=x,pool=1G"));
    expect_option(&config, "pool", "1GiB");
    expect_ok(cuarena_config_set(&config, "arena.enable_stream_sharing", "1"));
    expect_status(cuarena_config_set(&config, "pool", "what"), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_config_parse(&config, "what"), CUARENA_BAD_ARGUMENT);
    char text[64];
    expect_status(cuarena_config_get(&config, "what", text, sizeof(text)), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- ONNX Runtime's keys ------------------------------------------------- */

/* A name of theirs and a value; the option of ours and what it has then; what their name reads as,
 * NULL: as it was set. */
static const char *const ort_values[][5] = {
    {"extend_strategy", "0", "grow", "doubling", NULL},
    {"extend_strategy", "1", "grow", "exact", NULL},
    {"initial_chunk_size_bytes", "1", "initial_chunk", "1", NULL},
    {"initial_chunk_size_bytes", "2147483647", "initial_chunk", "2147483647", NULL},
    {"initial_chunk_size_bytes", "0025600", "initial_chunk", "25KiB", "25600"},
    {"max_dead_bytes_per_chunk", "1", "split_threshold", "1", NULL},
    {"max_dead_bytes_per_chunk", "2147483647", "split_threshold", "2147483647", NULL},
    {"initial_growth_chunk_size_bytes", "4194304", "growth_after_trim", "4MiB", NULL},
    {"max_power_of_two_extend_bytes", "1", "max_doubling", "1", NULL},
    {"max_power_of_two_extend_bytes", "9223372036854775807", "max_doubling", "9223372036854775807",
     NULL},
    {"max_mem", "1", "limit", "1", NULL},
    {"max_mem", "0", "limit", "18446744073709551615", NULL},
    {"max_mem", "18446744073709551615", "limit", "18446744073709551615", "0"},
};

START_TEST(ort_keys_with_and_without_prefix)
{
    const char *const *row = ort_values[_i];
    const char *reads = row[4] != NULL ? row[4] : row[1];
    char name[64];
    snprintf(name, sizeof(name), "arena.%s", row[0]);
    for (int prefixed = 0; prefixed < 2; prefixed++) {
        const char *key = prefixed ? name : row[0];
        cuarena_config_t config = config_fresh();
        char text[128];
        expect_ok(cuarena_config_set(&config, key, row[1]));
        expect_option(&config, row[2], row[3]);
        expect_option(&config, key, reads);
        config = config_fresh();
        snprintf(text, sizeof(text), "preset=bfc, %s = %s", key, row[1]);
        expect_ok(cuarena_config_parse(&config, text));
        expect_option(&config, row[2], row[3]);
    }
}
END_TEST

START_TEST(ort_keys_from_the_environment)
{
    const char *const *row = ort_values[_i];
    for (int prefixed = 0; prefixed < 2; prefixed++) {
        cuarena_config_t config = config_fresh();
        char text[128];
        snprintf(text, sizeof(text), "preset=bfc,%s%s=%s", prefixed ? "arena." : "", row[0],
                 row[1]);
        setenv("CUARENA_CONF", text, 1);
        expect_ok(cuarena_config_environment(&config));
        expect_option(&config, "preset", "bfc");
        expect_option(&config, row[2], row[3]);
    }
}
END_TEST

/* What their own parsers let pass, or refused without a name. */
static const char *const ort_refused[][3] = {
    {"extend_strategy", "-1", "accepted: 0, 1"},
    {"extend_strategy", "2", "accepted: 0, 1"},
    {"extend_strategy", "kNextPowerOfTwo", "accepted: 0, 1"},
    {"extend_strategy", "doubling", "accepted: 0, 1"},
    {"initial_chunk_size_bytes", "0", "accepted: 1 to 2147483647"},
    {"initial_chunk_size_bytes", "-1", "is negative"},
    {"initial_chunk_size_bytes", "2147483648", "is out of range"},
    {"initial_chunk_size_bytes", "123abc", "accepted: 1 to 2147483647"},
    {"initial_chunk_size_bytes", "1M", "accepted: 1 to 2147483647"},
    {"initial_chunk_size_bytes", " 1", "accepted: 1 to 2147483647"},
    {"initial_chunk_size_bytes", "1 ", "accepted: 1 to 2147483647"},
    {"initial_chunk_size_bytes", "+1", "accepted: 1 to 2147483647"},
    {"initial_chunk_size_bytes", "0x10", "accepted: 1 to 2147483647"},
    {"initial_chunk_size_bytes", "1.0", "accepted: 1 to 2147483647"},
    {"initial_chunk_size_bytes", "", "accepted: 1 to 2147483647"},
    {"max_dead_bytes_per_chunk", "0", "accepted: 1 to 2147483647"},
    {"max_dead_bytes_per_chunk", "never", "accepted: 1 to 2147483647"},
    {"initial_growth_chunk_size_bytes", "0", "accepted: 1 to 2147483647"},
    {"initial_growth_chunk_size_bytes", "-2097152", "is negative"},
    {"max_power_of_two_extend_bytes", "0", "accepted: 1 to 9223372036854775807"},
    {"max_power_of_two_extend_bytes", "9223372036854775808", "is out of range"},
    {"max_power_of_two_extend_bytes", "never", "accepted: 1 to 9223372036854775807"},
    {"max_mem", "-1", "is negative"},
    {"max_mem", "1GB", "0: no limit"},
    {"max_mem", "80%", "0: no limit"},
    {"max_mem", "18446744073709551616", "0: no limit"},
    {"max_mem", "99999999999999999999999", "0: no limit"},
    {"use_cuda_mempool", "yes", "accepted: 0"},
    {"use_cuda_mempool", "-1", "accepted: 0, 1"},
    {"use_cuda_mempool", "2", "accepted: 0, 1"},
    {"cuda_mempool_release_threshold", "-1", "is negative"},
    {"cuda_mempool_release_threshold", "1MiB", "is no whole number"},
    {"cuda_mempool_bytes_to_keep_on_shrink", "1k", "is no whole number"},
};

START_TEST(ort_values_refused_by_name)
{
    const char *const *row = ort_refused[_i];
    char name[64];
    snprintf(name, sizeof(name), "arena.%s", row[0]);
    for (int prefixed = 0; prefixed < 2; prefixed++) {
        cuarena_config_t config = config_fresh();
        const cuarena_config_t before = config;
        const char *key = prefixed ? name : row[0];
        expect_status(cuarena_config_set(&config, key, row[1]), CUARENA_BAD_ARGUMENT);
        expect_message(key, row[1], row[2], "accepted:");
        ck_assert_msg(memcmp(&config, &before, sizeof(config)) == 0, "%s=%s changed the config",
                      key, row[1]);
    }
}
END_TEST

START_TEST(ours_behind_the_same_prefix)
{
    cuarena_config_t config = config_of("arena.grow=exact,arena.limit=1G");
    expect_option(&config, "grow", "exact");
    expect_option(&config, "arena.limit", "1GiB");
    expect_status(cuarena_config_set(&config, "arena.arena.limit", "1"), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_config_set(&config, "arena.limit", "much"), CUARENA_BAD_ARGUMENT);
    expect_message("arena.limit", "much", "accepted:");
}
END_TEST

/* CreateArenaCfgV2 has this name besides. */
START_TEST(ort_strategy_has_another_name)
{
    cuarena_config_t config = config_fresh();
    expect_ok(cuarena_config_set(&config, "arena_extend_strategy", "1"));
    expect_option(&config, "grow", "exact");
    expect_option(&config, "arena_extend_strategy", "1");
}
END_TEST

/* Whatever comes first, the last word of each key counts. */
static const struct {
    const char *text;
    const char *preset;
    const char *pool;
    const char *threshold;
    const char *keep;
} mempools[] = {
    {"use_cuda_mempool=1", "driver-pool", "own", "unchanged", "0"},
    {"preset=bfc,arena.use_cuda_mempool=1", "driver-pool", "own", "unchanged", "0"},
    {"arena.use_cuda_mempool=1,preset=bfc", "driver-pool", "own", "unchanged", "0"},
    {"preset=bfc,memory=device,use_cuda_mempool=1,"
     "cuda_mempool_release_threshold=4096,"
     "cuda_mempool_bytes_to_keep_on_shrink=8192",
     "driver-pool", "own", "4KiB", "8KiB"},
    {"preset=bfc,use_cuda_mempool=0", "bfc", "current", "preset", "0"},
    {"preset=bfc,use_cuda_mempool=1,use_cuda_mempool=0", "bfc", "current", "preset", "0"},
    {"preset=bfc,memory=pinned,use_cuda_mempool=1,"
     "cuda_mempool_release_threshold=4096,"
     "cuda_mempool_bytes_to_keep_on_shrink=8192",
     "bfc", "current", "preset", "0"},
    {"preset=bfc,use_cuda_mempool=1,memory=pinned", "bfc", "current", "preset", "0"},
};

START_TEST(ort_mempool_is_of_device_memory_alone)
{
    cuarena_config_t config = config_of("initial_chunk_size_bytes=4096,extend_strategy=0");
    expect_ok(cuarena_config_parse(&config, mempools[_i].text));
    for (int times = 0; times < 2; times++) {
        expect_ok(cuarena_config_resolve(&config));
        expect_option(&config, "preset", mempools[_i].preset);
        expect_option(&config, "driver_pool", mempools[_i].pool);
        expect_option(&config, "release_threshold", mempools[_i].threshold);
        expect_option(&config, "keep_on_trim", mempools[_i].keep);
        bool chunks = strcmp(mempools[_i].preset, "bfc") == 0;
        expect_option(&config, "initial_chunk", chunks ? "4KiB" : "1MiB");
        expect_option(&config, "grow", chunks ? "doubling" : "exact");
    }
}
END_TEST

START_TEST(ort_mempool_of_other_memory_is_refused)
{
    static const char *const memories[] = {"pageable", "managed", "none"};
    for (size_t i = 0; i < COUNT_OF(memories); i++) {
        cuarena_config_t config = config_fresh();
        expect_ok(cuarena_config_parse(&config, "use_cuda_mempool=1"));
        expect_ok(cuarena_config_set(&config, "memory", memories[i]));
        expect_status(cuarena_config_resolve(&config), CUARENA_BAD_ARGUMENT);
        expect_message("driver_pool", "memory=device");
    }
}
END_TEST

/* Where 0 leaves the driver's own threshold alone. */
START_TEST(ort_mempool_sizes)
{
    static const char *const rows[][2] = {
        {"0", "unchanged"}, {"1048576", "1MiB"}, {"18446744073709551615", "never"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        cuarena_config_t config = config_fresh();
        expect_ok(cuarena_config_set(&config, "arena.cuda_mempool_release_threshold", rows[i][0]));
        expect_option(&config, "release_threshold", rows[i][1]);
        expect_option(&config, "cuda_mempool_release_threshold", rows[i][0]);
        expect_ok(cuarena_config_set(&config, "cuda_mempool_bytes_to_keep_on_shrink", "4096"));
        expect_option(&config, "keep_on_trim", "4KiB");
    }
}
END_TEST

/* Values of ours that their keys have no number for. */
START_TEST(ort_keys_of_what_they_cannot_say)
{
    static const char *const rows[][2] = {
        {"grow=none", "extend_strategy"},
        {"grow=preset", "arena.extend_strategy"},
        {"limit=80%", "max_mem"},
        {"limit=auto", "max_mem"},
        {"split_threshold=0", "max_dead_bytes_per_chunk"},
        {"split_threshold=preset", "max_dead_bytes_per_chunk"},
        {"split_threshold=never", "max_dead_bytes_per_chunk"},
        {"initial_chunk=2G", "initial_chunk_size_bytes"},
        {"max_doubling=never", "max_power_of_two_extend_bytes"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        cuarena_config_t config = config_fresh();
        char text[64];
        expect_ok(cuarena_config_parse(&config, rows[i][0]));
        expect_status(cuarena_config_get(&config, rows[i][1], text, sizeof(text)),
                      CUARENA_UNSUPPORTED);
        expect_message(rows[i][1]);
    }
}
END_TEST

/* ---- The environment ----------------------------------------------------- */

START_TEST(config_environment)
{
    cuarena_config_t config = config_fresh();
    const cuarena_config_t before = config;
    unsetenv("CUARENA_CONF");
    expect_ok(cuarena_config_environment(&config));
    setenv("CUARENA_CONF", "", 1);
    expect_ok(cuarena_config_environment(&config));
    ck_assert_int_eq(memcmp(&config, &before, sizeof(config)), 0);
    setenv("CUARENA_CONF", "preset=bfc,arena.max_mem=65536", 1);
    expect_ok(cuarena_config_environment(&config));
    expect_option(&config, "preset", "bfc");
    expect_option(&config, "limit", "64KiB");
    setenv("CUARENA_CONF", "preset=grow,arena.max_mem=1x", 1);
    expect_status(cuarena_config_environment(&config), CUARENA_BAD_ARGUMENT);
    expect_message("arena.max_mem", "1x", "accepted:");
    expect_option(&config, "preset", "bfc");
    expect_status(cuarena_config_environment(NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

static void add_keys(Suite *suite)
{
    suite_add_rows(suite, "unknown keys",
                   config_set_unknown_key_is_named_with_its_value_and_the_nearest,
                   COUNT_OF(unknown_keys));
    suite_add_rows(suite, "keys of ONNX Runtime", ort_keys_with_and_without_prefix,
                   COUNT_OF(ort_values));
    suite_add_rows(suite, "their keys in the environment", ort_keys_from_the_environment,
                   COUNT_OF(ort_values));
    suite_add_rows(suite, "their values refused", ort_values_refused_by_name,
                   COUNT_OF(ort_refused));
    suite_add_list(suite, "their other keys",
                   TEST_LIST(ours_behind_the_same_prefix, ort_strategy_has_another_name,
                             ort_mempool_of_other_memory_is_refused, ort_mempool_sizes,
                             ort_keys_of_what_they_cannot_say));
    suite_add_rows(suite, "their pool", ort_mempool_is_of_device_memory_alone, COUNT_OF(mempools));
    suite_add_list(
        suite, "passed over",
        TEST_LIST(config_unknown_keys_may_be_passed_over, config_unknown_keys_are_warned_of));
    suite_add_list(suite, "environment", TEST_LIST(config_environment));
}

int main(void)
{
    Suite *suite = suite_create("keys");
    add_keys(suite);
    return suite_main(suite);
}
