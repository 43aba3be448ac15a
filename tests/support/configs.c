#include "configs.h"

#include <stdbool.h>
#include <stdlib.h>

#include "expect.h"
#include "told.h"

cuarena_config_t config_fresh(void)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    return config;
}

cuarena_config_t config_of(const char *options)
{
    cuarena_config_t config = config_fresh();
    expect_ok(cuarena_config_parse(&config, options));
    return config;
}

cuarena_config_t small_config(const char *options)
{
    cuarena_config_t config = config_of("preset=grow,limit=1MiB");
    config.nvtx = nvtx_for_tools();
    expect_ok(cuarena_config_parse(&config, options));
    return config;
}

void expect_option_at(const cuarena_config_t *config, const char *key, const char *want,
                      const char *file, int line)
{
    char text[256] = "";
    expect_status_at(cuarena_config_get(config, key, text, sizeof text), CUARENA_OK, key, file,
                     line);
    expect_text_at(text, want, key, file, line);
}

int32_t zero_for_checkers(void)
{
    const char *wanted = getenv("CUARENA_TEST_ZERO");
    return wanted != NULL && *wanted != '\0' ? CUARENA_ZERO_CREATE : CUARENA_ZERO_NEVER;
}

/* Whether a checker follows the bytes: not those of a driver's pool, which nobody may set. */
static bool is_followed(const cuarena_config_t *config)
{
    return config->zero == CUARENA_ZERO_NEVER && config->preset != CUARENA_PRESET_DRIVER_POOL &&
           (config->memory == CUARENA_MEMORY_DEVICE || config->memory == CUARENA_MEMORY_MANAGED ||
            config->memory == CUARENA_MEMORY_PINNED);
}

cuarena_config_t tested_config(const char *options)
{
    cuarena_config_t config = config_fresh();
    config.nvtx = nvtx_for_tools();
    expect_ok(cuarena_config_parse(&config, options));
    if (is_followed(&config))
        config.zero = zero_for_checkers();
    return config;
}

cuarena_t *arena_of(const char *options)
{
    cuarena_t *arena = NULL;
    cuarena_config_t config = tested_config(options);
    expect_ok(cuarena_create(&config, &arena));
    return arena;
}

void arena_close(cuarena_t *arena)
{
    expect_valid_arena(arena);
    expect_u64(arena_stats(arena).live_blocks, 0);
    expect_ok(cuarena_destroy(&arena));
}

cuarena_stats_t arena_stats(cuarena_t *arena)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_stats(arena, CUARENA_REGION_ALL, &stats));
    return stats;
}

cuarena_ort_stats_t ort_stats_of(cuarena_t *arena)
{
    cuarena_ort_stats_t stats;
    cuarena_ort_stats_init(&stats);
    expect_ok(cuarena_ort_stats(arena, &stats));
    return stats;
}

void expect_valid_arena_at(cuarena_t *arena, const char *file, int line)
{
    char text[256] = "";
    cuarena_status_t status = cuarena_validate(arena, text, sizeof text);
    if (status != CUARENA_OK)
        ck_abort_msg("%s:%d: the arena is not sound: %s: %s", file, line,
                     cuarena_status_name(status), text);
    expect_told_at(arena, file, line);
}

uint64_t held_by(cuarena_t *arena)
{
    return arena_stats(arena).reserved_bytes;
}
