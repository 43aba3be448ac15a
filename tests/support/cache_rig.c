/* See cache_rig.h. */
#include "cache_rig.h"

fixture_t cached;

void open_cache(const char *text)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, text));
    expect_ok(cuarena_create(&config, &cached.arena));
}

void set(const char *key, const char *value, cuarena_config_t *config)
{
    expect_ok(cuarena_config_set(config, key, value));
}

cuarena_cache_stats_t figures(void)
{
    cuarena_cache_stats_t now;
    cuarena_cache_stats_init(&now);
    expect_ok(cuarena_cache_stats(cached.arena, &now));
    return now;
}

void expect_bytes(uint64_t active, uint64_t in_cache)
{
    expect_sound(&cached);
    expect_u64(figures().active_bytes, active);
    expect_u64(figures().cached_bytes, in_cache);
}

void *get(uint64_t bytes)
{
    void *pointer = NULL;
    expect_ok(cuarena_alloc(cached.arena, bytes, &pointer));
    expect_sound(&cached);
    return pointer;
}

void give(void *pointer)
{
    expect_ok(cuarena_free(cached.arena, pointer));
    expect_sound(&cached);
}

uint64_t set_limit(int32_t kind, uint64_t bytes)
{
    uint64_t old = 0;
    expect_ok(cuarena_set_limit(cached.arena, kind, amount_of_bytes(bytes), &old));
    expect_sound(&cached);
    return old;
}

uint64_t release(uint64_t bytes)
{
    uint64_t blocks = UINT64_MAX;
    expect_ok(cuarena_cache_release(cached.arena, bytes, &blocks));
    expect_sound(&cached);
    return blocks;
}

uint64_t clear_cache(void)
{
    uint64_t blocks = UINT64_MAX;
    expect_ok(cuarena_cache_clear(cached.arena, &blocks));
    expect_sound(&cached);
    return blocks;
}

void close_cache(void)
{
    expect_sound(&cached);
    expect_ok(cuarena_destroy(&cached.arena));
}

void fill_cache(const uint64_t *sizes, size_t count, void **at)
{
    for (size_t i = 0; i < count; i++)
        at[i] = get(sizes[i]);
    for (size_t i = 0; i < count; i++)
        give(at[i]);
}
