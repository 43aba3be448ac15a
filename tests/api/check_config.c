/*
 * Configurations as a whole: what is wrong by itself, and what is wrong beside other options. The
 * table of options is in check_options.c.
 */
#include "support/base_support.h"
#include "support/configs.h"
#include "support/expect.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- One by one -------------------------------------------------------- */

START_TEST(config_resolve_of_what_is_resolved_changes_nothing)
{
    cuarena_config_t config = config_fresh();
    config.memory = CUARENA_MEMORY_BYTES;
    config.bytes_size = 99;
    expect_ok(cuarena_config_resolve(&config));
    expect_u64(config.bytes_size, 99);
    const cuarena_config_t before = config;
    expect_ok(cuarena_config_resolve(&config));
    ck_assert_int_eq(memcmp(&config, &before, sizeof config), 0);
}
END_TEST

/* What each preset makes of a config that leaves all to it. */
static const struct {
    int32_t preset;
    int32_t memory;
    uint64_t alignment;
    int32_t grow;
    int32_t placement;
    int32_t steal;
    int32_t in_place;
    int32_t keep;
} resolved[] = {
    {CUARENA_PRESET_POOL, CUARENA_MEMORY_PAGEABLE, 256, CUARENA_GROW_NONE,
     CUARENA_PLACEMENT_DEFAULT, CUARENA_STEAL_WAIT, 1, CUARENA_KEEP_ALL},
    {CUARENA_PRESET_GROW, CUARENA_MEMORY_PAGEABLE, 256, CUARENA_GROW_EXACT, CUARENA_PLACEMENT_LOW,
     CUARENA_STEAL_WAIT, 1, CUARENA_KEEP_ALL},
    {CUARENA_PRESET_BFC, CUARENA_MEMORY_PAGEABLE, 256, CUARENA_GROW_DOUBLING, CUARENA_PLACEMENT_LOW,
     CUARENA_STEAL_IDLE, 1, CUARENA_KEEP_ALL},
    {CUARENA_PRESET_MLX_CPU, CUARENA_MEMORY_PAGEABLE, 16, CUARENA_GROW_EXACT, CUARENA_PLACEMENT_LOW,
     CUARENA_STEAL_WAIT, 1, CUARENA_KEEP_CACHE},
    {CUARENA_PRESET_MLX_CUDA, CUARENA_MEMORY_DEVICE, 8, CUARENA_GROW_EXACT, CUARENA_PLACEMENT_LOW,
     CUARENA_STEAL_WAIT, 1, CUARENA_KEEP_CACHE},
    {CUARENA_PRESET_CUPY_POOL, CUARENA_MEMORY_PAGEABLE, 512, CUARENA_GROW_EXACT,
     CUARENA_PLACEMENT_BEST, CUARENA_STEAL_NEVER, 0, CUARENA_KEEP_ALL},
    {CUARENA_PRESET_DRIVER_POOL, CUARENA_MEMORY_DEVICE, 512, CUARENA_GROW_EXACT,
     CUARENA_PLACEMENT_LOW, CUARENA_STEAL_WAIT, 1, CUARENA_KEEP_ALL},
};

START_TEST(config_resolve_gives_what_the_preset_says)
{
    cuarena_config_t config = config_fresh();
    config.preset = resolved[_i].preset;
    expect_ok(cuarena_config_resolve(&config));
    ck_assert_int_eq(config.memory, resolved[_i].memory);
    expect_u64(config.alignment, resolved[_i].alignment);
    ck_assert_int_eq(config.grow, resolved[_i].grow);
    ck_assert_int_eq(config.placement, resolved[_i].placement);
    ck_assert_int_eq(config.steal, resolved[_i].steal);
    ck_assert_int_eq(config.in_place, resolved[_i].in_place);
    ck_assert_int_eq(config.keep, resolved[_i].keep);
}
END_TEST

/* What the presets of MLX make of a cache's options, and what others do. */
static const struct {
    const char *config;
    const char *key;
    const char *value;
} cache_values[] = {
    {"preset=mlx-cpu", "cache_limit", "32MiB"},
    {"preset=mlx-cpu", "cache_bound", "strict"},
    {"preset=mlx-cpu", "cache_page", "4KiB"},
    {"preset=mlx-cpu", "soft_limit", "80%"},
    {"preset=mlx-cpu", "soft_limit_rule", "store"},
    {"preset=mlx-cpu", "round_to", "0"},
    {"preset=mlx-cpu", "natural", "0"},
    {"preset=mlx-cuda", "cache_limit", "auto"},
    {"preset=mlx-cuda", "cache_bound", "late"},
    {"preset=mlx-cuda", "cache_page", "16KiB"},
    {"preset=mlx-cuda", "soft_limit", "95%"},
    {"preset=mlx-cuda", "soft_limit_rule", "enforce"},
    {"preset=mlx-cuda", "round_powers", "16KiB"},
    {"preset=mlx-cuda", "round_to", "16KiB"},
    {"preset=mlx-cuda", "natural", "256"},
    {"preset=mlx-cpu,keep=all", "cache_limit", "auto"},
    {"preset=grow,keep=cache", "cache_limit", "auto"},
    {"preset=grow,keep=cache", "cache_page", "4KiB"},
    {"preset=grow", "round_powers", "0"},
};

START_TEST(config_resolve_gives_the_values_of_a_cache)
{
    char text[64];
    cuarena_config_t config = config_of(cache_values[_i].config);
    expect_ok(cuarena_config_resolve(&config));
    expect_ok(cuarena_config_resolve(&config)); /* and they stay */
    expect_ok(cuarena_config_get(&config, cache_values[_i].key, text, sizeof text));
    expect_text(text, cache_values[_i].value);
}
END_TEST

START_TEST(config_resolve_keeps_what_was_set)
{
    cuarena_config_t config = config_fresh();
    config.preset = CUARENA_PRESET_CUPY_POOL;
    config.memory = CUARENA_MEMORY_NONE;
    config.alignment = 64;
    config.grow = CUARENA_GROW_NONE;
    config.placement = CUARENA_PLACEMENT_DEFAULT;
    config.steal = CUARENA_STEAL_IDLE;
    config.in_place = 1;
    expect_ok(cuarena_config_resolve(&config));
    ck_assert_int_eq(config.memory, CUARENA_MEMORY_NONE);
    expect_u64(config.alignment, 64);
    ck_assert_int_eq(config.grow, CUARENA_GROW_NONE);
    ck_assert_int_eq(config.placement, CUARENA_PLACEMENT_DEFAULT);
    ck_assert_int_eq(config.steal, CUARENA_STEAL_IDLE);
    ck_assert_int_eq(config.in_place, 1);
}
END_TEST

START_TEST(config_resolve_refuses_and_changes_nothing)
{
    cuarena_config_t config = config_fresh();
    config.preset = CUARENA_PRESET_POOL;
    config.take_first = 1;
    const cuarena_config_t before = config;
    expect_status(cuarena_config_resolve(&config), CUARENA_BAD_ARGUMENT);
    expect_message("take_first", "accepted:", "");
    ck_assert_int_eq(memcmp(&config, &before, sizeof(config)), 0);
}
END_TEST

/* What is wrong, the key that the message names, and the value. */
#define BROKEN(D)                                                                                  \
    D(preset, "preset", "'7'", config->preset = 7)                                                 \
    D(memory, "memory", "'-1'", config->memory = -1)                                               \
    D(memory_above, "memory", "'8'", config->memory = 8)                                           \
    D(pool_unit, "pool", "unit 3", config->pool.unit = 3)                                          \
    D(pool_zero, "pool", "not 0", config->pool.zero = 1)                                           \
    D(stable, "stable", "100.001%",                                                                \
      config->stable = (cuarena_amount_t){CUARENA_AMOUNT_PERCENT, 0, 100001})                      \
    D(limit, "limit", "'0'", config->limit = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, 0})       \
    D(addresses, "addresses", "256TiB", config->address_bytes = CUARENA_HEAP_MAX_SEGMENT)          \
    D(alignment, "alignment", "24", config->alignment = 24)                                        \
    D(small_alignment, "alignment", "4", config->alignment = 4)                                    \
    D(odd_alignment, "alignment", "300", config->alignment = 300)                                  \
    D(max_blocks, "max_blocks", "'0'", config->max_blocks = 0)                                     \
    D(max_blocks_above, "max_blocks", "'", config->max_blocks = CUARENA_HEAP_MAX_BLOCKS + 1)       \
    D(empty_pool, "pool", "'0'", config->pool.unit = CUARENA_AMOUNT_BYTES; config->pool.value = 0) \
    D(percent, "pool", "100.001%", config->pool.unit = CUARENA_AMOUNT_PERCENT;                     \
      config->pool.value = 100001)                                                                 \
    D(grow, "grow", "-2", config->grow = -2)                                                       \
    D(zero, "zero", "2147483647", config->zero = INT32_MAX)                                        \
    D(placement, "placement", "-2147483648", config->placement = INT32_MIN)                        \
    D(compact_on_oom, "compact_on_oom", "'2'", config->compact_on_oom = 2)                         \
    D(device, "device", "'-1'", config->device = -1)                                               \
    D(backing, "backing", "'4'", config->backing = 4)                                              \
    D(fd, "fd", "'3'", config->fd = 3)                                                             \
    D(handle, "handle", "'100'", config->handle_bytes = 100)                                       \
    D(mapped, "mapped", "'-1'", config->mapped = -1)                                               \
    D(events, "events", "'2'", config->events = 2)                                                 \
    D(steal, "steal", "'4'", config->steal = 4)                                                    \
    D(pattern, "snapshot_on_oom", "%x", strcpy(config->snapshot_on_oom, "%x"))                     \
    D(name, "name", "xxx", memset(config->name, 'x', sizeof(config->name)))                        \
    D(initial_chunk, "initial_chunk", "'0'", config->initial_chunk = 0)                            \
    D(growth_after_trim, "growth_after_trim", "18446744073709551615",                              \
      config->growth_after_trim = UINT64_MAX)                                                      \
    D(max_doubling, "max_doubling", "'0'", config->max_doubling = 0)                               \
    D(take_first, "take_first", "'-1'", config->take_first = -1)                                   \
    D(unknown_keys, "unknown_keys", "'2'", config->unknown_keys = 2)

#define FUNCTION(name, key, value, ...)                                                            \
    static void break_##name(cuarena_config_t *config)                                             \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
BROKEN(FUNCTION)

/* clang-format off */
#define ROW(name, key, value, ...) {break_##name, key, value},
/* clang-format on */
static const struct {
    void (*apply)(cuarena_config_t *config);
    const char *key;
    const char *value;
} broken[] = {BROKEN(ROW)};

START_TEST(config_check_names_what_is_wrong)
{
    cuarena_config_t config = config_fresh();
    broken[_i].apply(&config);
    const cuarena_config_t before = config;
    expect_status(cuarena_config_resolve(&config), CUARENA_BAD_ARGUMENT);
    expect_message(broken[_i].key, broken[_i].value, "accepted:");
    ck_assert_int_eq(memcmp(&config, &before, sizeof config), 0);
    cuarena_t *arena = UNTOUCHED;
    expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
    expect_message(broken[_i].key, broken[_i].value, "accepted:");
    ck_assert_ptr_eq(arena, UNTOUCHED);
}
END_TEST

/* ---- Options beside each other ------------------------------------------ */

/* What is legal by itself and not together: what is set, what it comes to,
 * and what the message must name. */
typedef struct together_case {
    const char *set;
    cuarena_status_t status; /* OK: all of it is legal */
    const char *names[2];
} together_case_t;

static const together_case_t together[] = {
    {"take_first=1", CUARENA_BAD_ARGUMENT, {"take_first", "preset=grow, bfc"}},
    {"pool=1M,grow=exact", CUARENA_BAD_ARGUMENT, {"grow=exact", "accepted: with grow=none"}},
    {"pool=1M,extend_strategy=0", CUARENA_BAD_ARGUMENT, {"grow=doubling", "with grow=none"}},
    {"preset=bfc,grow=none,take_first=1", CUARENA_BAD_ARGUMENT, {"take_first", "'1'"}},
    {"grow=exact,take_first=1,memory=none,handle=2M", CUARENA_OK, {NULL, NULL}},
    {"memory=pageable,device=1", CUARENA_BAD_ARGUMENT, {"'1'", "pageable"}},
    {"memory=none,backing=vmm", CUARENA_BAD_ARGUMENT, {"'vmm'", "none"}},
    {"memory=managed,backing=malloc", CUARENA_BAD_ARGUMENT, {"'malloc'", "memory=device"}},
    {"memory=pinned,handle=2MiB", CUARENA_BAD_ARGUMENT, {"2MiB", "pinned"}},
    {"memory=device,mapped=0", CUARENA_BAD_ARGUMENT, {"mapped", "'0'"}},
    {"memory=managed,write_combined=1", CUARENA_BAD_ARGUMENT, {"write_combined", "memory=pinned"}},
    {"memory=pageable,portable=0", CUARENA_BAD_ARGUMENT, {"portable", "memory=pinned"}},
    {"memory=device,device_only=1",
     CUARENA_BAD_ARGUMENT,
     {"device_only", "memory=pageable, managed"}},
    {"memory=none,device_only=1", CUARENA_BAD_ARGUMENT, {"'1'", "none"}},
    {"memory=pageable,fd=require", CUARENA_UNSUPPORTED, {"fd", "pageable"}},
    {"memory=managed,rdma=require", CUARENA_UNSUPPORTED, {"rdma", "managed"}},
    {"memory=pinned,fabric=require", CUARENA_UNSUPPORTED, {"fabric", "pinned"}},
    {"memory=none,peers=require", CUARENA_UNSUPPORTED, {"peers", "none"}},
    {"memory=device,backing=malloc,fd=require", CUARENA_UNSUPPORTED, {"fd", "backing=malloc"}},
    {"memory=device,backing=async,rdma=require", CUARENA_UNSUPPORTED, {"rdma", "backing=async"}},
    {"memory=device,backing=malloc,peers=require",
     CUARENA_UNSUPPORTED,
     {"peers", "backing=malloc"}},
    {"memory=device,backing=malloc,handle=2MiB",
     CUARENA_BAD_ARGUMENT,
     {"2097152", "backing=malloc"}},
    {"memory=device,handle=2MiB,alignment=4MiB", CUARENA_BAD_ARGUMENT, {"2097152", "4194304"}},
    {"memory=pageable,fd=try,rdma=try,fabric=try,peers=try,events=eager", CUARENA_OK, {NULL, NULL}},
    {"memory=device,backing=malloc,rdma=require,fd=try,peers=try", CUARENA_OK, {NULL, NULL}},
    {"memory=device,device=3,backing=vmm,fd=require,handle=64MiB", CUARENA_OK, {NULL, NULL}},
    {"memory=pinned,mapped=0,write_combined=1,portable=1,device_only=1", CUARENA_OK, {NULL, NULL}},
    {"fill=alloc,zero=alloc", CUARENA_BAD_ARGUMENT, {"fill: 'alloc'", "zero=alloc"}},
    {"fill=both,zero=free", CUARENA_BAD_ARGUMENT, {"fill: 'both'", "zero=free"}},
    {"fill=alloc,zero=free,guard=1,quarantine=1", CUARENA_OK, {NULL, NULL}},
    {"memory=none,guard=1", CUARENA_BAD_ARGUMENT, {"guard: '1'", "any memory but none"}},
    {"memory=managed,device=1,device_only=1,peers=require", CUARENA_OK, {NULL, NULL}},
};

START_TEST(options_together)
{
    const together_case_t *row = &together[_i];
    cuarena_config_t config = config_of(row->set);
    expect_status(cuarena_config_resolve(&config), row->status);
    if (row->status != CUARENA_OK)
        expect_message(row->names[0], row->names[1], "accepted:");
}
END_TEST

/* ---- Options that decide nothing ----------------------------------------- */

#define PRESETS "pool grow bfc mlx-cpu mlx-cuda cupy-pool driver-pool"
#define GROWING "grow bfc mlx-cpu mlx-cuda cupy-pool driver-pool"
#define SHARING "pool grow bfc mlx-cpu mlx-cuda cupy-pool"
#define CACHING "mlx-cpu mlx-cuda"
#define MEMORIES "pageable none device managed pinned"
#define BYTES "pageable device managed pinned"
#define ASYNC "mlx-cuda/device driver-pool/device"

/* Each option with another value than it has anyway: where that decides something, and, of these,
 * where something else that is asked for as well cannot be. Everywhere else it is refused by its
 * name. */
static const struct {
    const char *key;
    const char *value;
    const char *presets;
    const char *memories;
    const char *barred; /* preset/memory */
} uses[] = {
    {"pool", "2MiB", "pool", MEMORIES, ""},
    {"stable", "1MiB", SHARING, MEMORIES, ""},
    {"limit", "1GiB", PRESETS, MEMORIES, ""},
    {"addresses", "1GiB", "pool grow bfc mlx-cpu mlx-cuda", "pageable none device",
     "mlx-cuda/device"},
    {"alignment", "1KiB", PRESETS, MEMORIES, ""},
    {"split_threshold", "1MiB", SHARING, MEMORIES, ""},
    {"max_blocks", "9", PRESETS, MEMORIES, ""},
    {"zero", "alloc", PRESETS, MEMORIES, ""},
    {"guard", "64", PRESETS, BYTES, ""},
    {"fill", "both", PRESETS, BYTES, ""},
    {"quarantine", "1MiB", PRESETS, BYTES, ""},
    {"stacks", "4", PRESETS, MEMORIES, ""},
    {"placement", "best", SHARING, MEMORIES, ""},
    {"compact_on_oom", "1", SHARING, MEMORIES, ""},
    {"device", "1", PRESETS, "device managed pinned", ""},
    {"backing", "vmm", PRESETS, "device", ""},
    {"fd", "require", PRESETS, "device", ASYNC " cupy-pool/device"},
    {"rdma", "require", PRESETS, "device", ASYNC},
    {"fabric", "require", PRESETS, "device", ASYNC " cupy-pool/device"},
    {"peers", "require", PRESETS, "device managed pinned", "cupy-pool/device"},
    {"handle", "4MiB", PRESETS, "device none", ASYNC " cupy-pool/device"},
    {"mapped", "0", PRESETS, "pinned", ""},
    {"write_combined", "1", PRESETS, "pinned", ""},
    {"portable", "0", PRESETS, "pinned", ""},
    {"device_only", "1", PRESETS, "pageable managed pinned", ""},
    {"events", "eager", SHARING, MEMORIES, ""},
    {"steal", "idle", SHARING, MEMORIES, ""},
    {"name", "x", PRESETS, MEMORIES, ""},
    {"initial_chunk", "2MiB", "bfc", MEMORIES, ""},
    {"growth_after_trim", "4MiB", "bfc", MEMORIES, ""},
    {"max_doubling", "2MiB", "bfc", MEMORIES, ""},
    {"take_first", "1", "grow bfc mlx-cpu mlx-cuda cupy-pool", MEMORIES, ""},
    {"in_place", "0", SHARING, MEMORIES, ""},
    {"reuse", "0", "grow mlx-cpu mlx-cuda", "pageable none device", "mlx-cuda/device"},
    {"driver_pool", "own", "mlx-cuda driver-pool", "device", ""},
    {"driver_pool_max", "1GiB", "", "", ""},
    {"driver_pool_handle", "5", "", "", ""},
    {"release_threshold", "1MiB", "mlx-cuda driver-pool", "device", ""},
    {"make_current", "1", "mlx-cuda driver-pool", "device", ""},
    {"threshold_limits", "1", "mlx-cuda driver-pool", "device", ""},
    {"keep_on_trim", "1MiB", PRESETS, MEMORIES, ""},
    {"keep", "none", GROWING, MEMORIES, ""},
    {"cache_bound", "late", CACHING, MEMORIES, ""},
    {"cache_limit", "1MiB", CACHING, MEMORIES, ""},
    {"cache_page", "64KiB", CACHING, MEMORIES, ""},
    {"soft_limit", "1GiB", PRESETS, MEMORIES, ""},
    {"soft_limit_rule", "enforce", CACHING, MEMORIES, ""},
    {"round_powers", "1KiB", PRESETS, MEMORIES, ""},
    {"round_to", "2KiB", PRESETS, MEMORIES, ""},
    {"natural", "4KiB", PRESETS, MEMORIES, ""},
    {"snapshot_on_oom", "x", PRESETS, MEMORIES, ""},
    {"trace", "file.csv", PRESETS, MEMORIES, ""},
    {"trace_ring", "100", PRESETS, MEMORIES, ""},
    {"nvtx", "off", PRESETS, MEMORIES, ""},
};

/* Options that choose which of the others are of use. */
static const char *const choosing[] = {"preset",   "memory",           "grow",
                                       "segments", "use_cuda_mempool", "unknown_keys"};

static bool is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* The next word of a list; false behind the last. */
static bool next_word(const char **list, char word[32])
{
    size_t length = strcspn(*list, " ");
    memcpy(word, *list, length);
    word[length] = '\0';
    *list += length + strspn(*list + length, " ");
    return length != 0;
}

static void check_use(size_t row, const char *preset, const char *memory)
{
    char text[160], both[64], begin[64];
    cuarena_config_t config = config_fresh();
    snprintf(text, sizeof text, "preset=%s, memory=%s, %s=%s", preset, memory, uses[row].key,
             uses[row].value);
    snprintf(both, sizeof both, "%s/%s", preset, memory);
    snprintf(begin, sizeof begin, "%s: ", uses[row].key);
    bool used = is_listed(uses[row].presets, preset) && is_listed(uses[row].memories, memory) &&
                !is_listed(uses[row].barred, both);
    expect_ok(cuarena_config_parse(&config, text));
    cuarena_status_t status = cuarena_config_resolve(&config);
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    expect_ok(cuarena_last_error_info(&info));
    ck_assert_msg(used == (status == CUARENA_OK), "%s: expected %s, got %s: %s", text,
                  used ? "OK" : "an error", cuarena_status_name(status), info.message);
    ck_assert_msg(used || strncmp(info.message, begin, strlen(begin)) == 0,
                  "%s: expected '%s...', got '%s'", text, begin, info.message);
    if (used)
        expect_ok(cuarena_config_resolve(&config)); /* and it stays so */
}

START_TEST(option_is_of_use_or_refused_by_name)
{
    char preset[32], memory[32];
    for (const char *presets = PRESETS; next_word(&presets, preset);)
        for (const char *memories = MEMORIES; next_word(&memories, memory);)
            check_use((size_t)_i, preset, memory);
}
END_TEST

START_TEST(option_is_looked_at_each)
{
    cuarena_option_info_t info;
    cuarena_option_info_init(&info);
    for (size_t i = 0; cuarena_option_info(i, &info) == CUARENA_OK; i++) {
        bool listed = false;
        for (size_t row = 0; row < COUNT_OF(uses); row++)
            listed = listed || strcmp(uses[row].key, info.key) == 0;
        for (size_t row = 0; row < COUNT_OF(choosing); row++)
            listed = listed || strcmp(choosing[row], info.key) == 0;
        ck_assert_msg(listed, "'%s' is in no row of `uses`", info.key);
    }
}
END_TEST

/* What is set, what the arena takes when it is made, and what the message must name where that is
 * not passed over. */
static const struct {
    const char *set;
    uint64_t taken;
    const char *names[3];
} passed_over[] = {
    {"preset=grow,pool=2MiB", 0, {"pool: '2MiB'", "preset=grow", "a limit"}},
    {"pool=4MiB,initial_chunk=2MiB", MIB(4), {"initial_chunk", "grow=none", "grow=doubling"}},
    {"pool=4MiB,take_first=1", MIB(4), {"take_first: '1'", "grow=none", "preset=grow, bfc"}},
    {"pool=4MiB,take_first=1,initial_chunk=8MiB", MIB(4), {"take_first", "'1'", "grow=none"}},
    {"preset=grow,segments=each,take_first=1", 0, {"take_first", "'1'", "segments=shared"}},
};

START_TEST(option_that_decides_nothing_may_be_passed_over)
{
    cuarena_config_t config = config_of(passed_over[_i].set);
    cuarena_t *arena = NULL;
    config.memory = CUARENA_MEMORY_NONE;
    config.unknown_keys = CUARENA_UNKNOWN_WARN;
    expect_ok(cuarena_create(&config, &arena));
    expect_u64(arena_stats(arena).reserved_bytes, passed_over[_i].taken);
    expect_ok(cuarena_destroy(&arena));
    config.unknown_keys = CUARENA_UNKNOWN_ERROR;
    expect_status(cuarena_config_resolve(&config), CUARENA_BAD_ARGUMENT);
    expect_message(passed_over[_i].names[0], passed_over[_i].names[1], passed_over[_i].names[2]);
}
END_TEST

/* docs/options.md, "Values", says which. */
static const char *const contradictions[] = {
    "preset=pool,pool=4MiB,keep=none",
    "preset=pool,pool=4MiB,segments=each",
    "preset=grow,memory=none,segments=each,stable=1MiB",
    "preset=grow,memory=device,backing=malloc,handle=4MiB",
    "preset=driver-pool,driver_pool_handle=1,driver_pool=own",
};

START_TEST(options_that_contradict_others_are_not_passed_over)
{
    cuarena_config_t config = config_of(contradictions[_i]);
    config.unknown_keys = CUARENA_UNKNOWN_WARN;
    cuarena_status_t status = cuarena_config_resolve(&config);
    ck_assert_msg(status == CUARENA_BAD_ARGUMENT, "%s: expected CUARENA_BAD_ARGUMENT, got %s",
                  contradictions[_i], cuarena_status_name(status));
}
END_TEST

START_TEST(placement_that_was_asked_for_stays)
{
    cuarena_config_t config = config_of("preset=grow,placement=default");
    expect_ok(cuarena_config_resolve(&config));
    ck_assert_int_eq(config.placement, CUARENA_PLACEMENT_DEFAULT);
}
END_TEST

static void expect_refused(const cuarena_config_t *config, const char *name)
{
    cuarena_config_t full = *config;
    expect_status(cuarena_config_resolve(&full), CUARENA_BAD_ARGUMENT);
    expect_message(name, "accepted:");
}

static void expect_accepted(const cuarena_config_t *config)
{
    cuarena_config_t full = *config;
    expect_ok(cuarena_config_resolve(&full));
}

START_TEST(members_without_text_together)
{
    cuarena_config_t config = config_fresh();
    config.bytes_kind = CUARENA_BYTES_DEVICE;
    expect_refused(&config, "bytes_kind: 1 with memory=pageable");
    config.memory = CUARENA_MEMORY_BYTES;
    expect_accepted(&config);
    config.bytes_kind = 4;
    expect_refused(&config, "bytes_kind: 4");
    config.bytes_kind = CUARENA_BYTES_HOST;
    config.context = &config;
    expect_accepted(&config);
    config.memory = CUARENA_MEMORY_PAGEABLE;
    expect_refused(&config, "context");
    config.memory = CUARENA_MEMORY_DEVICE;
    config.device = 1;
    expect_refused(&config, "beside a context");
    config = config_fresh();
    config.bytes = &config;
    expect_refused(&config, "bytes: 0 at ");
    config = config_fresh();
    config.bytes_size = 4096;
    expect_refused(&config, "bytes: 4096 at ");
    config = config_fresh();
    config.ops_user = &config;
    expect_refused(&config, "ops: ");
    config = config_fresh();
    config.memory = CUARENA_MEMORY_BYTES;
    config.device = 1;
    expect_refused(&config, "device: '1'");
    config.bytes_kind = CUARENA_BYTES_PINNED;
    config.device_only = 1;
    expect_accepted(&config);
    config.bytes_kind = CUARENA_BYTES_DEVICE;
    expect_refused(&config, "device_only: '1'");
}
END_TEST

START_TEST(config_check_memories_without_words)
{
    cuarena_config_t config = config_fresh();
    config.memory = CUARENA_MEMORY_BYTES;
    expect_accepted(&config);
    config.memory = CUARENA_MEMORY_CUSTOM;
    expect_accepted(&config);
}
END_TEST

START_TEST(config_check_bad_struct)
{
    cuarena_config_t config = config_fresh();
    expect_status(cuarena_config_resolve(NULL), CUARENA_BAD_ARGUMENT);
    config.struct_size = sizeof(config) + 8;
    expect_status(cuarena_config_resolve(&config), CUARENA_BAD_ARGUMENT);
    expect_message("struct_size");
}
END_TEST

/* ---- The limit from the environment -------------------------------------- */

#define NO_LIMIT                                                                                   \
    {                                                                                              \
        CUARENA_AMOUNT_BYTES, 0, UINT64_MAX                                                        \
    }

static const struct {
    const char *text;
    cuarena_amount_t limit;
} environments[] = {
    {"0", NO_LIMIT},
    {"1073741824", {CUARENA_AMOUNT_BYTES, 0, 1073741824}},
    {"0%", NO_LIMIT},
    {"0.0%", NO_LIMIT},
    {"40%", {CUARENA_AMOUNT_PERCENT, 0, 40000}},
    {"70.5%", {CUARENA_AMOUNT_PERCENT, 0, 70500}},
    {"100%", {CUARENA_AMOUNT_PERCENT, 0, 100000}},
    {"18446744073709551615", NO_LIMIT},
};

static void expect_limit(const cuarena_config_t *config, cuarena_amount_t want)
{
    ck_assert_int_eq(config->limit.unit, want.unit);
    expect_u64(config->limit.value, want.value);
    ck_assert_int_eq(config->limit.zero, 0);
}

START_TEST(limit_environment_of_cupys)
{
    cuarena_config_t config = config_fresh();
    setenv("CUPY_GPU_MEMORY_LIMIT", environments[_i].text, 1);
    expect_ok(cuarena_config_limit_environment(&config, NULL));
    expect_limit(&config, environments[_i].limit);
    expect_ok(cuarena_config_resolve(&config));
}
END_TEST

START_TEST(limit_environment_of_another_name)
{
    cuarena_config_t config = config_fresh();
    setenv("CUPY_GPU_MEMORY_LIMIT", "junk", 1);
    setenv("MY_LIMIT", "4096", 1);
    expect_ok(cuarena_config_limit_environment(&config, "MY_LIMIT"));
    expect_limit(&config, (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, 4096});
}
END_TEST

START_TEST(limit_environment_that_is_not_there)
{
    cuarena_config_t config = config_fresh();
    unsetenv("CUPY_GPU_MEMORY_LIMIT");
    expect_ok(cuarena_config_set(&config, "limit", "3MiB"));
    expect_ok(cuarena_config_limit_environment(&config, NULL));
    expect_limit(&config, (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, 3 << 20});
}
END_TEST

static const char *const no_limits[] = {"",
                                        "%",
                                        "-1",
                                        "1GiB",
                                        "1.5",
                                        "101%",
                                        "-1%",
                                        "auto",
                                        "auto%",
                                        "5 %",
                                        "0x10",
                                        "1e3",
                                        "nan%",
                                        "40%%",
                                        " 4",
                                        "4 ",
                                        "100.001%",
                                        "70.5005%",
                                        "18446744073709551616",
                                        "abc",
                                        "40%1"};

START_TEST(limit_environment_that_is_none)
{
    cuarena_config_t config = config_fresh();
    const cuarena_config_t before = config;
    char quoted[64];
    snprintf(quoted, sizeof quoted, "'%s'", no_limits[_i]);
    setenv("CUPY_GPU_MEMORY_LIMIT", no_limits[_i], 1);
    expect_status(cuarena_config_limit_environment(&config, NULL), CUARENA_BAD_ARGUMENT);
    expect_message("CUPY_GPU_MEMORY_LIMIT", quoted, "a whole number of bytes, or 0% to 100%");
    ck_assert_int_eq(memcmp(&config, &before, sizeof config), 0);
}
END_TEST

START_TEST(limit_environment_bad_struct)
{
    cuarena_config_t config = config_fresh();
    expect_status(cuarena_config_limit_environment(NULL, NULL), CUARENA_BAD_ARGUMENT);
    config.struct_size = 3;
    expect_status(cuarena_config_limit_environment(&config, NULL), CUARENA_BAD_ARGUMENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    suite_add_rows(suite, "uses", option_is_of_use_or_refused_by_name, COUNT_OF(uses));
    suite_add_list(suite, "use",
                   TEST_LIST(option_is_looked_at_each, placement_that_was_asked_for_stays));
    suite_add_rows(suite, "passed over", option_that_decides_nothing_may_be_passed_over,
                   (int)COUNT_OF(passed_over));
    suite_add_rows(suite, "contradictions", options_that_contradict_others_are_not_passed_over,
                   COUNT_OF(contradictions));
    suite_add_rows(suite, "together", options_together, COUNT_OF(together));
    suite_add_rows(suite, "check refused", config_check_names_what_is_wrong, COUNT_OF(broken));
    suite_add_rows(suite, "resolve presets", config_resolve_gives_what_the_preset_says,
                   COUNT_OF(resolved));
    suite_add_rows(suite, "resolve caches", config_resolve_gives_the_values_of_a_cache,
                   COUNT_OF(cache_values));
    suite_add_list(suite, "check",
                   TEST_LIST(config_resolve_of_what_is_resolved_changes_nothing,
                             config_resolve_keeps_what_was_set,
                             config_resolve_refuses_and_changes_nothing,
                             config_check_memories_without_words, members_without_text_together,
                             config_check_bad_struct));
    suite_add_rows(suite, "limit environment", limit_environment_of_cupys, COUNT_OF(environments));
    suite_add_rows(suite, "limit environment refused", limit_environment_that_is_none,
                   COUNT_OF(no_limits));
    suite_add_list(suite, "limit environment else",
                   TEST_LIST(limit_environment_of_another_name, limit_environment_that_is_not_there,
                             limit_environment_bad_struct));
    return suite_main(suite);
}
