/*
 * Patterns of file names: %n stands for the number of the file, from 1 on, %p for the process, %%
 * for a percent sign.
 */
#ifndef CUAI_BASE_PATTERN_H
#define CUAI_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest pattern, with its zero, and what may become of that. */
#define CUAI_PATTERN_SIZE 256
#define CUAI_PATTERN_PATH (CUAI_PATTERN_SIZE * 10)

/* What accepted patterns have, for messages. */
#define CUAI_PATTERN_ACCEPTED "behind a % an n (number), p (process) or %"

/* Whether every percent sign in it is one of those. */
bool cuai_pattern_ok(const char *pattern);
/* Whether the files of a pattern that is OK have different names. */
bool cuai_pattern_is_numbered(const char *pattern);
/* The name of the file with that number. The pattern is OK and not longer than the longest. */
void cuai_pattern_print(const char *pattern, uint64_t number, char path[CUAI_PATTERN_PATH]);

#endif
