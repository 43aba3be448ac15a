/* Configurations of tests. */
#ifndef CUARENA_TEST_CONFIGS_H
#define CUARENA_TEST_CONFIGS_H

#include <cuarena.h>
#include <cuarena/stats.h>

/* The defaults. */
cuarena_config_t config_fresh(void);
/* The defaults with these options. */
cuarena_config_t config_of(const char *options);
/* Of an arena of 1 MiB that grows, with these options. */
cuarena_config_t small_config(const char *options);
#define expect_option(config, key, want)                                                           \
    expect_option_at((config), (key), (want), __FILE__, __LINE__)
void expect_option_at(const cuarena_config_t *config, const char *key, const char *want,
                      const char *file, int line);
/* What `zero` of a config is for arenas whose bytes a checker follows: to one that takes unwritten
 * bytes amiss all are written when the memory gives them, since an arena moves blocks whole.
 * CUARENA_TEST_ZERO says so. */
int32_t zero_for_checkers(void);
/* Of arenas of tests: config_of(options) that tells tools of its blocks, with zero_for_checkers()
 * on memory of the driver. */
cuarena_config_t tested_config(const char *options);
/* An arena of that. */
cuarena_t *arena_of(const char *options);
/* Ends one in which nothing lives, and which is sound. */
void arena_close(cuarena_t *arena);
cuarena_stats_t arena_stats(cuarena_t *arena);
cuarena_ort_stats_t ort_stats_of(cuarena_t *arena);
/* The validator agrees. */
#define expect_valid_arena(arena) expect_valid_arena_at((arena), __FILE__, __LINE__)
void expect_valid_arena_at(cuarena_t *arena, const char *file, int line);
/* Its reserved bytes. */
uint64_t held_by(cuarena_t *arena);

#endif
