/*
 * What the tests of the lowest layers share: the last error, and folders of made-up system files.
 */
#ifndef CUARENA_TEST_BASE_SUPPORT_H
#define CUARENA_TEST_BASE_SUPPORT_H

#include <cuarena/base.h>
#include <stdint.h>

/* The message of the last error of this thread; good until the next call. */
const char *last_error_message(void);
/* Fails unless the last error's message has every word of the
 * NULL-terminated list. */
void expect_message_at(const char *const *words, const char *file, int line);
#define expect_message(...)                                                                        \
    expect_message_at((const char *const[]){__VA_ARGS__, NULL}, __FILE__, __LINE__)

/* A folder of its own below the temporary one. */
typedef struct file_tree {
    char root[64];
} file_tree_t;

void file_tree_open(file_tree_t *tree);
/* Writes a file, "/proc/meminfo", and the folders above it. */
void file_tree_write(const file_tree_t *tree, const char *path, const char *text);
/* Removes all of it. */
void file_tree_close(file_tree_t *tree);

#endif
