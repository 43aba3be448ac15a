/*
 * Options: the table and their text. Amounts are in check_amount.c, whole configurations in
 * check_config.c. With
 * the argument `docs` it prints docs/options.md instead; the test "docs" compares the two.
 */
#include "support/base_support.h"
#include "support/configs.h"
#include "support/expect.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES CUARENA_AMOUNT_BYTES
#define PERCENT CUARENA_AMOUNT_PERCENT
#define AUTO CUARENA_AMOUNT_AUTO

/* ---- cuarena_config_init ----------------------------------------------- */

START_TEST(config_init_gives_the_documented_defaults)
{
    cuarena_config_t config;
    memset(&config, 0xff, sizeof(config));
    cuarena_config_init(&config);
    expect_u64(config.struct_size, sizeof(config));
    ck_assert_int_eq(config.preset, CUARENA_PRESET_POOL);
    ck_assert_int_eq(config.memory, CUARENA_MEMORY_PRESET);
    ck_assert_int_eq(config.pool.unit, AUTO);
    expect_u64(config.pool.value, MIB(512));
    ck_assert_int_eq(config.stable.unit, BYTES);
    expect_u64(config.stable.value, 0);
    ck_assert_int_eq(config.limit.unit, AUTO);
    expect_u64(config.limit.value, 0);
    expect_u64(config.address_bytes, 0);
    expect_u64(config.alignment, CUARENA_BYTES_PRESET);
    expect_u64(config.split_threshold, CUARENA_BYTES_PRESET);
    expect_u64(config.max_blocks, CUARENA_HEAP_MAX_BLOCKS);
    ck_assert_int_eq(config.grow, -1);
    ck_assert_int_eq(config.zero, CUARENA_ZERO_NEVER);
    ck_assert_int_eq(config.placement, -1);
    ck_assert_int_eq(config.compact_on_oom, 0);
    ck_assert_int_eq(config.device, 0);
    ck_assert_ptr_null(config.context);
    ck_assert_int_eq(config.backing, CUARENA_BACKING_AUTO);
    ck_assert_int_eq(config.fd, CUARENA_PROPERTY_OFF);
    ck_assert_int_eq(config.rdma, CUARENA_PROPERTY_OFF);
    ck_assert_int_eq(config.fabric, CUARENA_PROPERTY_OFF);
    ck_assert_int_eq(config.peers, CUARENA_PROPERTY_OFF);
    expect_u64(config.handle_bytes, 0);
    ck_assert_int_eq(config.mapped, 1);
    ck_assert_int_eq(config.write_combined, 0);
    ck_assert_int_eq(config.portable, 1);
    ck_assert_int_eq(config.device_only, 0);
    ck_assert_int_eq(config.events, CUARENA_EVENTS_LATE);
    ck_assert_int_eq(config.steal, -1);
    ck_assert_int_eq(config.bytes_kind, CUARENA_BYTES_HOST);
    ck_assert_ptr_null(config.bytes);
    ck_assert_ptr_null(config.ops);
    expect_text(config.name, "");
    expect_u64(config.initial_chunk, MIB(1));
    expect_u64(config.growth_after_trim, MIB(2));
    expect_u64(config.max_doubling, GIB(1));
    ck_assert_int_eq(config.take_first, 0);
    ck_assert_int_eq(config.unknown_keys, CUARENA_UNKNOWN_ERROR);
}
END_TEST

START_TEST(config_init_null)
{
    cuarena_config_init(NULL);
    cuarena_option_info_init(NULL);
}
END_TEST

/* ---- cuarena_config_set and _get --------------------------------------- */

/* Values at the ends of each range; NULL: reads back as it was set. */
static const char *const accepted_values[][3] = {
    {"preset", "grow", NULL},
    {"preset", "pool", NULL},
    {"preset", "bfc", NULL},
    {"memory", "none", NULL},
    {"memory", "pageable", NULL},
    {"pool", "1", NULL},
    {"pool", "281474976710655", NULL},
    {"pool", "0.001%", NULL},
    {"stable", "0", NULL},
    {"stable", "0%", NULL},
    {"stable", "64MiB", NULL},
    {"limit", "1", NULL},
    {"limit", "18446744073709551615", NULL},
    {"limit", "100%", NULL},
    {"addresses", "1T", "1TiB"},
    {"alignment", "8", NULL},
    {"alignment", "1GiB", NULL},
    {"split_threshold", "never", NULL},
    {"split_threshold", "18446744073709551615", "never"},
    {"split_threshold", "4096", "4KiB"},
    {"split_threshold", "preset", NULL},
    {"split_threshold", "0", NULL},
    {"max_blocks", "1", NULL},
    {"max_blocks", "67108864", NULL},
    {"grow", "preset", NULL},
    {"grow", "none", NULL},
    {"grow", "exact", NULL},
    {"grow", "doubling", NULL},
    {"zero", "free", NULL},
    {"zero", "owner", NULL},
    {"guard", "0", NULL},
    {"guard", "4KiB", NULL},
    {"guard", "1", NULL},
    {"fill", "both", NULL},
    {"quarantine", "0", NULL},
    {"quarantine", "281474976710655", NULL},
    {"stacks", "0", NULL},
    {"stacks", "32", NULL},
    {"placement", "low", NULL},
    {"compact_on_oom", "1", NULL},
    {"memory", "device", NULL},
    {"memory", "managed", NULL},
    {"memory", "pinned", NULL},
    {"device", "0", NULL},
    {"device", "1023", NULL},
    {"backing", "auto", NULL},
    {"backing", "async", NULL},
    {"fd", "require", NULL},
    {"rdma", "try", NULL},
    {"fabric", "off", NULL},
    {"peers", "require", NULL},
    {"handle", "0", NULL},
    {"handle", "64GiB", NULL},
    {"mapped", "0", NULL},
    {"write_combined", "1", NULL},
    {"portable", "0", NULL},
    {"device_only", "1", NULL},
    {"events", "eager", NULL},
    {"steal", "first", NULL},
    {"steal", "idle", NULL},
    {"steal", "never", NULL},
    {"name", "", NULL},
    {"name", "an arena, of = 31 bytes in all.", NULL},
    {"snapshot_on_oom", "", NULL},
    {"snapshot_on_oom", "/a folder/%p-%n-100%%.json", NULL},
    {"initial_chunk", "1", NULL},
    {"initial_chunk", "281474976710655", NULL},
    {"growth_after_trim", "3M", "3MiB"},
    {"max_doubling", "1", NULL},
    {"max_doubling", "never", NULL},
    {"take_first", "1", NULL},
    {"unknown_keys", "warn", NULL},
};

START_TEST(config_set_and_get)
{
    const char *const *row = accepted_values[_i];
    cuarena_config_t config = config_fresh();
    expect_ok(cuarena_config_set(&config, row[0], row[1]));
    expect_option(&config, row[0], row[2] != NULL ? row[2] : row[1]);
}
END_TEST

static const char *const refused_values[][3] = {
    {"preset", "", "pool, grow, bfc"},
    {"preset", "Pool", "pool, grow, bfc"},
    {"preset", "poo", "pool, grow, bfc"},
    {"preset", "pools", "pool, grow, bfc"},
    {"preset", "pool, grow", "pool, grow, bfc"},
    {"preset", ",", "pool, grow, bfc"},
    {"memory", "bytes", "pageable, none"},
    {"memory", "custom", "pageable, none"},
    {"memory", "gpu", "pageable, none, device, managed, pinned"},
    {"pool", "0", "out of range"},
    {"pool", "0%", "out of range"},
    {"pool", "256T", "below 256TiB"},
    {"pool", "512MB", "ambiguous"},
    {"stable", "256T", "out of range"},
    {"stable", "101%", "more than 100 %"},
    {"limit", "0", "from 1 on"},
    {"limit", "none", "does not begin"},
    {"addresses", "256T", "out of range"},
    {"addresses", "auto", "does not begin"},
    {"addresses", "50%", "unknown suffix"},
    {"alignment", "0", "power of two from 8"},
    {"alignment", "4", "out of range"},
    {"alignment", "100", "is no power of two"},
    {"alignment", "2G", "out of range"},
    {"split_threshold", "Never", "bytes, preset, never"},
    {"split_threshold", "18446744073709551614", "bytes, preset, never"},
    {"release_threshold", "18446744073709551614", "out of range"},
    {"release_threshold", "18446744073709551613", "out of range"},
    {"max_blocks", "0", "1 to 67108864"},
    {"max_blocks", "67108865", "out of range"},
    {"max_blocks", "64M", "is no whole number"},
    {"max_blocks", "1.5", "is no whole number"},
    {"max_blocks", "never", "does not begin"},
    {"grow", "-1", "preset, none, exact, doubling"},
    {"zero", "always", "never, create, alloc, free, owner"},
    {"guard", "4097", "out of range"},
    {"guard", "-1", "is negative"},
    {"fill", "zero", "never, alloc, free, both"},
    {"quarantine", "256T", "out of range"},
    {"quarantine", "all", "does not begin"},
    {"stacks", "33", "out of range"},
    {"placement", "worst", "default, best, low"},
    {"compact_on_oom", "2", "0, 1"},
    {"compact_on_oom", "true", "0, 1"},
    {"device", "1024", "0 to 1023"},
    {"device", "-1", "is negative"},
    {"device", "gpu0", "does not begin"},
    {"backing", "cudaMalloc", "auto, vmm, malloc, async"},
    {"fd", "1", "off, try, require"},
    {"rdma", "on", "off, try, require"},
    {"fabric", "", "off, try, require"},
    {"peers", "all", "off, try, require"},
    {"handle", "3MiB", "is no power of two"},
    {"handle", "128GiB", "out of range"},
    {"mapped", "yes", "0, 1"},
    {"write_combined", "2", "0, 1"},
    {"portable", "-", "0, 1"},
    {"device_only", "01", "0, 1"},
    {"events", "never", "late, eager"},
    {"steal", "late", "first, wait, idle, never"},
    {"name", "a name of thirty-two bytes, sure", "is too long"},
    {"snapshot_on_oom", "a%d", "stands for nothing"},
    {"snapshot_on_oom", "a%", "stands for nothing"},
    {"snapshot_on_oom", "%%%", "stands for nothing"},
    {"initial_chunk", "0", "1 to below 256TiB"},
    {"initial_chunk", "never", "does not begin"},
    {"growth_after_trim", "256T", "out of range"},
    {"max_doubling", "0", "bytes from 1 on, never"},
    {"max_doubling", "preset", "does not begin"},
    {"take_first", "2", "0, 1"},
    {"unknown_keys", "ignore", "error, warn"},
};

START_TEST(config_set_refuses_and_changes_nothing)
{
    const char *const *row = refused_values[_i];
    cuarena_config_t config = config_fresh();
    const cuarena_config_t before = config;
    expect_status(cuarena_config_set(&config, row[0], row[1]), CUARENA_BAD_ARGUMENT);
    expect_message(row[0], row[1], row[2], "accepted:");
    ck_assert_msg(memcmp(&config, &before, sizeof(config)) == 0, "%s=%s changed the config", row[0],
                  row[1]);
}
END_TEST

/* 65 bytes, of which the last two are one character. */
START_TEST(config_set_says_where_it_cut_a_long_value)
{
    cuarena_config_t config = config_fresh();
    char text[66] = "";
    memset(text, 'x', 63);
    expect_status(cuarena_config_set(&config, "pool", text), CUARENA_BAD_ARGUMENT);
    expect_message("xxx' does");
    strcpy(text + 63, "\xc3\xa4");
    expect_status(cuarena_config_set(&config, "pool", text), CUARENA_BAD_ARGUMENT);
    expect_message("xxx...' does");
    expect_status(cuarena_config_set(&config, text, text), CUARENA_BAD_ARGUMENT);
    expect_message("xxx...' is no option", "xxx...' not looked at");
}
END_TEST

START_TEST(config_set_bad_arguments)
{
    cuarena_config_t config = config_fresh();
    expect_status(cuarena_config_set(NULL, "pool", "1"), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_config_set(&config, NULL, "1"), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_config_set(&config, "pool", NULL), CUARENA_BAD_ARGUMENT);
    config.struct_size = 0;
    expect_status(cuarena_config_set(&config, "pool", "1"), CUARENA_BAD_ARGUMENT);
    expect_message("struct_size 0");
}
END_TEST

START_TEST(config_get_buffer_size)
{
    cuarena_config_t config = config_fresh();
    char text[16] = "untouched";
    expect_status(cuarena_config_get(&config, "pool", text, 11), CUARENA_BAD_ARGUMENT);
    expect_message("11", "12");
    expect_status(cuarena_config_get(&config, "pool", text, 0), CUARENA_BAD_ARGUMENT);
    expect_text(text, "untouched");
    expect_ok(cuarena_config_get(&config, "pool", text, 12));
    expect_text(text, "auto-512MiB");
}
END_TEST

START_TEST(config_get_bad_arguments)
{
    cuarena_config_t config = config_fresh();
    char text[64];
    expect_status(cuarena_config_get(NULL, "pool", text, sizeof(text)), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_config_get(&config, NULL, text, sizeof(text)), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_config_get(&config, "pool", NULL, 64), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_config_get(&config, "what", text, sizeof(text)), CUARENA_BAD_ARGUMENT);
    config.memory = CUARENA_MEMORY_CUSTOM;
    expect_status(cuarena_config_get(&config, "memory", text, sizeof(text)), CUARENA_UNSUPPORTED);
}
END_TEST

/* ---- cuarena_config_parse ---------------------------------------------- */

START_TEST(config_parse_sets_all)
{
    cuarena_config_t config = config_fresh();
    expect_ok(
        cuarena_config_parse(&config, "preset=grow,pool=80%,name=a=b, zero = alloc ,\tgrow=none"));
    expect_option(&config, "preset", "grow");
    expect_option(&config, "pool", "80%");
    expect_option(&config, "name", "a=b");
    expect_option(&config, "zero", "alloc");
    expect_option(&config, "grow", "none");
}
END_TEST

START_TEST(config_parse_nothing)
{
    cuarena_config_t config = config_fresh();
    const cuarena_config_t before = config;
    expect_ok(cuarena_config_parse(&config, ""));
    expect_ok(cuarena_config_parse(&config, " \t"));
    ck_assert_int_eq(memcmp(&config, &before, sizeof(config)), 0);
}
END_TEST

START_TEST(config_parse_last_of_a_key_counts)
{
    cuarena_config_t config = config_of("pool=1G,pool=2G");
    expect_option(&config, "pool", "2GiB");
}
END_TEST

START_TEST(config_parse_all_or_none)
{
    static const char *const texts[] = {
        "pool=1G,what=1",    "pool=1G,zero=2", "pool=1G,", ",pool=1G",    "pool=1G,,zero=free",
        "pool=1G;zero=free", "pool",           "=1G",      "pool=1G,zero"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        cuarena_config_t config = config_fresh();
        const cuarena_config_t before = config;
        expect_status(cuarena_config_parse(&config, texts[i]), CUARENA_BAD_ARGUMENT);
        expect_message("accepted:");
        ck_assert_msg(memcmp(&config, &before, sizeof(config)) == 0, "'%s' changed the config",
                      texts[i]);
    }
}
END_TEST

START_TEST(config_parse_long_item)
{
    char text[600] = "name=";
    memset(text + 5, 'x', 500);
    cuarena_config_t config = config_fresh();
    expect_status(cuarena_config_parse(&config, text), CUARENA_BAD_ARGUMENT);
    expect_message("name=xxx", "319");
}
END_TEST

START_TEST(config_parse_bad_arguments)
{
    cuarena_config_t config = config_fresh();
    expect_status(cuarena_config_parse(NULL, ""), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_config_parse(&config, NULL), CUARENA_BAD_ARGUMENT);
    config.struct_size++;
    expect_status(cuarena_config_parse(&config, ""), CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- cuarena_option_info ----------------------------------------------- */

static bool info_at(size_t index, cuarena_option_info_t *info)
{
    cuarena_option_info_init(info);
    return cuarena_option_info(index, info) == CUARENA_OK;
}

START_TEST(option_info_defaults_are_accepted_and_are_the_defaults)
{
    const cuarena_config_t defaults = config_fresh();
    cuarena_option_info_t info;
    size_t index = 0;
    for (; info_at(index, &info); index++) {
        cuarena_config_t config = config_fresh();
        expect_ok(cuarena_config_set(&config, info.key, info.default_text));
        expect_option(&defaults, info.key, info.default_text);
        ck_assert_msg(info.help[strlen(info.help) - 1] == '.', "%s: no sentence", info.key);
        ck_assert_ptr_nonnull(info.type);
    }
    expect_u64(index, 60);
}
END_TEST

START_TEST(option_info_words_are_accepted)
{
    cuarena_option_info_t info;
    for (size_t i = 0; info_at(i, &info); i++) {
        if (strcmp(info.type, "choice") != 0 && strcmp(info.type, "flag") != 0)
            continue;
        char words[64];
        snprintf(words, sizeof(words), "%s", info.accepted);
        for (char *word = strtok(words, ", "); word != NULL; word = strtok(NULL, ", ")) {
            cuarena_config_t config = config_fresh();
            expect_ok(cuarena_config_set(&config, info.key, word));
            expect_option(&config, info.key, word);
        }
    }
}
END_TEST

START_TEST(option_info_has_the_advanced_ones_last)
{
    cuarena_option_info_t info;
    size_t common = 0;
    for (size_t i = 0; info_at(i, &info); i++) {
        ck_assert_msg(info.advanced == 0 || info.advanced == 1, "%s", info.key);
        common += info.advanced == 0;
        ck_assert_msg(info.advanced == (i >= common), "%s is among the advanced ones", info.key);
    }
    expect_u64(common, 10);
}
END_TEST

START_TEST(option_info_bad_arguments)
{
    cuarena_option_info_t info;
    cuarena_option_info_init(&info);
    expect_status(cuarena_option_info(60, &info), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_option_info(SIZE_MAX, &info), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_option_info(0, NULL), CUARENA_BAD_ARGUMENT);
    info.struct_size = 3;
    expect_status(cuarena_option_info(0, &info), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_null(info.key);
}
END_TEST

/* ---- The words of choices ---------------------------------------------- */

/* What a word stands for. A choice has the name of its member. */
typedef struct choice {
    const char *key;
    const char *word;
    size_t offset; /* of the member */
    size_t size;
    int32_t value;
} choice_t;

#define CHOICE(name, text, number)                                                                 \
    {                                                                                              \
        .key = #name, .word = text, .offset = offsetof(cuarena_config_t, name),                    \
        .size = sizeof(((cuarena_config_t *)0)->name), .value = number                             \
    }

/* Every word of every choice, in the order of the public list; -1: as the preset says. */
static const choice_t choices[] = {
    CHOICE(preset, "pool", CUARENA_PRESET_POOL),
    CHOICE(preset, "grow", CUARENA_PRESET_GROW),
    CHOICE(preset, "bfc", CUARENA_PRESET_BFC),
    CHOICE(preset, "mlx-cpu", CUARENA_PRESET_MLX_CPU),
    CHOICE(preset, "mlx-cuda", CUARENA_PRESET_MLX_CUDA),
    CHOICE(preset, "cupy-pool", CUARENA_PRESET_CUPY_POOL),
    CHOICE(preset, "driver-pool", CUARENA_PRESET_DRIVER_POOL),
    CHOICE(memory, "preset", CUARENA_MEMORY_PRESET),
    CHOICE(memory, "pageable", CUARENA_MEMORY_PAGEABLE),
    CHOICE(memory, "none", CUARENA_MEMORY_NONE),
    CHOICE(memory, "device", CUARENA_MEMORY_DEVICE),
    CHOICE(memory, "managed", CUARENA_MEMORY_MANAGED),
    CHOICE(memory, "pinned", CUARENA_MEMORY_PINNED),
    CHOICE(keep, "preset", -1),
    CHOICE(keep, "all", CUARENA_KEEP_ALL),
    CHOICE(keep, "cache", CUARENA_KEEP_CACHE),
    CHOICE(keep, "none", CUARENA_KEEP_NONE),
    CHOICE(steal, "preset", -1),
    CHOICE(steal, "first", CUARENA_STEAL_FIRST),
    CHOICE(steal, "wait", CUARENA_STEAL_WAIT),
    CHOICE(steal, "idle", CUARENA_STEAL_IDLE),
    CHOICE(steal, "never", CUARENA_STEAL_NEVER),
    CHOICE(grow, "preset", -1),
    CHOICE(grow, "none", CUARENA_GROW_NONE),
    CHOICE(grow, "exact", CUARENA_GROW_EXACT),
    CHOICE(grow, "doubling", CUARENA_GROW_DOUBLING),
    CHOICE(zero, "never", CUARENA_ZERO_NEVER),
    CHOICE(zero, "create", CUARENA_ZERO_CREATE),
    CHOICE(zero, "alloc", CUARENA_ZERO_ALLOC),
    CHOICE(zero, "free", CUARENA_ZERO_FREE),
    CHOICE(zero, "owner", CUARENA_ZERO_OWNER),
    CHOICE(fill, "never", CUARENA_FILL_NEVER),
    CHOICE(fill, "alloc", CUARENA_FILL_ALLOC),
    CHOICE(fill, "free", CUARENA_FILL_FREE),
    CHOICE(fill, "both", CUARENA_FILL_BOTH),
    CHOICE(nvtx, "off", CUARENA_NVTX_OFF),
    CHOICE(nvtx, "auto", CUARENA_NVTX_AUTO),
    CHOICE(nvtx, "on", CUARENA_NVTX_ON),
    CHOICE(placement, "preset", -1),
    CHOICE(placement, "default", CUARENA_PLACEMENT_DEFAULT),
    CHOICE(placement, "best", CUARENA_PLACEMENT_BEST),
    CHOICE(placement, "low", CUARENA_PLACEMENT_LOW),
    CHOICE(backing, "auto", CUARENA_BACKING_AUTO),
    CHOICE(backing, "vmm", CUARENA_BACKING_VMM),
    CHOICE(backing, "malloc", CUARENA_BACKING_MALLOC),
    CHOICE(backing, "async", CUARENA_BACKING_ASYNC),
    CHOICE(fd, "off", CUARENA_PROPERTY_OFF),
    CHOICE(fd, "try", CUARENA_PROPERTY_TRY),
    CHOICE(fd, "require", CUARENA_PROPERTY_REQUIRE),
    CHOICE(rdma, "off", CUARENA_PROPERTY_OFF),
    CHOICE(rdma, "try", CUARENA_PROPERTY_TRY),
    CHOICE(rdma, "require", CUARENA_PROPERTY_REQUIRE),
    CHOICE(fabric, "off", CUARENA_PROPERTY_OFF),
    CHOICE(fabric, "try", CUARENA_PROPERTY_TRY),
    CHOICE(fabric, "require", CUARENA_PROPERTY_REQUIRE),
    CHOICE(peers, "off", CUARENA_PROPERTY_OFF),
    CHOICE(peers, "try", CUARENA_PROPERTY_TRY),
    CHOICE(peers, "require", CUARENA_PROPERTY_REQUIRE),
    CHOICE(events, "late", CUARENA_EVENTS_LATE),
    CHOICE(events, "eager", CUARENA_EVENTS_EAGER),
    CHOICE(unknown_keys, "error", CUARENA_UNKNOWN_ERROR),
    CHOICE(unknown_keys, "warn", CUARENA_UNKNOWN_WARN),
    CHOICE(in_place, "preset", -1),
    CHOICE(in_place, "0", 0),
    CHOICE(in_place, "1", 1),
    CHOICE(reuse, "preset", -1),
    CHOICE(reuse, "0", 0),
    CHOICE(reuse, "1", 1),
    CHOICE(segments, "preset", -1),
    CHOICE(segments, "shared", CUARENA_SEGMENTS_SHARED),
    CHOICE(segments, "each", CUARENA_SEGMENTS_EACH),
    CHOICE(driver_pool, "current", CUARENA_DRIVER_POOL_CURRENT),
    CHOICE(driver_pool, "default", CUARENA_DRIVER_POOL_DEFAULT),
    CHOICE(driver_pool, "own", CUARENA_DRIVER_POOL_OWN),
    CHOICE(driver_pool, "external", CUARENA_DRIVER_POOL_EXTERNAL),
    CHOICE(cache_bound, "preset", -1),
    CHOICE(cache_bound, "strict", CUARENA_CACHE_STRICT),
    CHOICE(cache_bound, "late", CUARENA_CACHE_LATE),
    CHOICE(soft_limit_rule, "preset", -1),
    CHOICE(soft_limit_rule, "store", CUARENA_SOFT_STORE),
    CHOICE(soft_limit_rule, "enforce", CUARENA_SOFT_ENFORCE),
};

/* The member holds what no word stands for, until it is set. */
START_TEST(config_parse_gives_each_word_its_constant)
{
    const choice_t *row = &choices[_i];
    cuarena_config_t config = config_fresh();
    char *member = (char *)&config + row->offset;
    int32_t found = INT32_MIN;
    expect_u64(row->size, sizeof(found));
    memcpy(member, &found, sizeof(found));
    char text[64];
    snprintf(text, sizeof(text), "%s=%s", row->key, row->word);
    cuarena_status_t status = cuarena_config_parse(&config, text);
    memcpy(&found, member, sizeof(found));
    ck_assert_msg(status == CUARENA_OK && found == row->value,
                  "%s=%s: expected %" PRId32 ", found %" PRId32 ", status %d", row->key, row->word,
                  row->value, found, (int)status);
}
END_TEST

/* Joins the words that the table has for a key, as the public list does; gives their number. */
static size_t words_in_table(const char *key, char *text, size_t size)
{
    size_t count = 0;
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < COUNT_OF(choices); i++)
        if (strcmp(choices[i].key, key) == 0) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", count > 0 ? ", " : "",
                                     choices[i].word);
            ck_assert_msg(used < size, "%s: the words do not fit", key);
            count++;
        }
    return count;
}

START_TEST(option_info_lists_the_words_of_each_choice)
{
    cuarena_option_info_t info;
    size_t rows = 0;
    for (size_t i = 0; info_at(i, &info); i++) {
        if (strcmp(info.type, "choice") != 0)
            continue;
        char words[128];
        rows += words_in_table(info.key, words, sizeof(words));
        ck_assert_msg(strcmp(words, info.accepted) == 0, "%s: expected the words '%s', found '%s'",
                      info.key, words, info.accepted);
    }
    ck_assert_msg(rows == COUNT_OF(choices), "%zu words of the table are of no choice",
                  COUNT_OF(choices) - rows);
}
END_TEST

/* ---- docs/options.md --------------------------------------------------- */

static const char docs_head[] =
    "<!-- Made by `tests/api/check_options docs`; do not edit. -->\n"
    "# Options\n"
    "\n"
    "What `cuarena_open`, `cuarena_config_parse` and `cuarena_config_set` accept,\n"
    "one row for each option. The first two take a list, in which blanks around\n"
    "keys and values do not count:\n"
    "\n"
    "    preset=grow, limit=80%, name=weights\n"
    "\n"
    "[glossary.md](glossary.md) explains words such as idle, event, steal, page\n"
    "and reserved bytes, with those of other allocators.\n"
    "\n"
    "## What most programs set\n"
    "\n"
    "| option | type | default | accepted | meaning |\n"
    "|---|---|---|---|---|\n";

static const char docs_advanced[] =
    "\n"
    "## Advanced\n"
    "\n"
    "The presets and defaults suit most programs; these are for special cases.\n"
    "\n"
    "| option | type | default | accepted | meaning |\n"
    "|---|---|---|---|---|\n";

static const char docs_tail[] =
    "\n"
    "## Values\n"
    "\n"
    "- **bytes**: `4096`, `64KiB`, `512MiB`, `1.5G`. KiB, MiB, GiB, TiB and\n"
    "  K, M, G, T, in either case, all count in 1024. KB, MB and the like are\n"
    "  refused: people mean different things by them.\n"
    "- **amount**: bytes; or a percentage of all that the memory has, "
    "whoever has\n"
    "  it now, as in `80%` and `12.5%`; or `auto`, all that is available now; "
    "or\n"
    "  `auto-256MiB`, all that is available less so much.\n"
    "- **count**: digits.\n"
    "- **choice**, **flag**: one of the words.\n"
    "\n"
    "An option that has no effect beside the others, such as `pool` with\n"
    "`preset=grow`, is an error of `cuarena_create` that names it and what it is\n"
    "of use with; with its default, or with `unknown_keys=warn`, it is ignored.\n"
    "Not ignored are options that contradict others: `handle` with\n"
    "`backing=malloc` or `async`; `keep=none` and `segments=each` in an arena that\n"
    "does not grow; `stable` with `segments=each`; `driver_pool_handle` and\n"
    "`driver_pool_max` beside another `driver_pool`; `fill` and `zero` of the same\n"
    "bytes; and `require` and `stacks` where these cannot be had.\n"
    "ONNX Runtime's keys are no exception.\n"
    "\n"
    "A caller's own bytes (`CUARENA_MEMORY_BYTES`), functions\n"
    "(`CUARENA_MEMORY_CUSTOM`) and context have no text: set the members\n"
    "`memory`, `bytes`, `bytes_size`, `bytes_kind`, `ops`, `ops_user` and\n"
    "`context` of `cuarena_config_t`.\n";

static const char docs_ort[] =
    "\n"
    "`cuarena_config_environment` reads such a list from the environment's\n"
    "`CUARENA_CONF`.\n"
    "\n"
    "## ONNX Runtime's names\n"
    "\n"
    "The keys of ONNX Runtime's arena are accepted too; these and ours with "
    "and\n"
    "without `arena.` before them. Their values are digits. The preset `bfc` "
    "has\n"
    "that arena's defaults.\n"
    "\n"
    "| keys | accepted | sets |\n"
    "|---|---|---|\n";

static void write_docs(FILE *file)
{
    fputs(docs_head, file);
    cuarena_option_info_t info;
    int32_t advanced = 0;
    for (size_t i = 0; info_at(i, &info); i++) {
        if (info.advanced != advanced)
            fputs(docs_advanced, file);
        advanced = info.advanced;
        const char *mark = info.default_text[0] != '\0' ? "`" : "";
        fprintf(file, "| `%s` | %s | %s%s%s | %s | %s |\n", info.key, info.type, mark,
                info.default_text, mark, info.accepted, info.help);
    }
    fputs(docs_tail, file);
    fputs(docs_ort, file);
    for (size_t i = 0; info_at(i, &info); i++)
        if (info.ort_names != NULL)
            fprintf(file, "| %s | %s | `%s` |\n", info.ort_names, info.ort_accepted, info.key);
}

static size_t read_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s cannot be read", path);
    size_t length = fread(text, 1, size - 1, file);
    fclose(file);
    text[length] = '\0';
    return length;
}

START_TEST(docs_are_what_the_table_says)
{
    static char want[32768];
    static char got[32768];
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    write_docs(file);
    rewind(file);
    want[fread(want, 1, sizeof(want) - 1, file)] = '\0';
    fclose(file);
    const char *srcdir = getenv("srcdir");
    char path[1024];
    snprintf(path, sizeof(path), "%s/docs/options.md", srcdir != NULL ? srcdir : ".");
    read_file(path, got, sizeof(got));
    expect_text(got, want);
}
END_TEST

static void add_set_and_get(Suite *suite)
{
    suite_add_rows(suite, "set", config_set_and_get, COUNT_OF(accepted_values));
    suite_add_rows(suite, "set refused", config_set_refuses_and_changes_nothing,
                   COUNT_OF(refused_values));
    suite_add_list(suite, "set and get",
                   TEST_LIST(config_init_gives_the_documented_defaults, config_init_null,
                             config_set_says_where_it_cut_a_long_value, config_set_bad_arguments,
                             config_get_buffer_size, config_get_bad_arguments));
    suite_add_list(suite, "parse",
                   TEST_LIST(config_parse_sets_all, config_parse_nothing,
                             config_parse_last_of_a_key_counts, config_parse_all_or_none,
                             config_parse_long_item, config_parse_bad_arguments));
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "docs") == 0) {
        write_docs(stdout);
        return EXIT_SUCCESS;
    }
    Suite *suite = suite_create("options");
    add_set_and_get(suite);
    suite_add_list(suite, "info",
                   TEST_LIST(option_info_defaults_are_accepted_and_are_the_defaults,
                             option_info_words_are_accepted, option_info_has_the_advanced_ones_last,
                             option_info_bad_arguments));
    suite_add_rows(suite, "words", config_parse_gives_each_word_its_constant, COUNT_OF(choices));
    suite_add_list(suite, "words listed", TEST_LIST(option_info_lists_the_words_of_each_choice));
    suite_add_list(suite, "docs", TEST_LIST(docs_are_what_the_table_says));
    return suite_main(suite);
}
