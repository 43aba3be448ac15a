#define _GNU_SOURCE
#include "base_support.h"

#include "expect.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *last_error_message(void)
{
    static _Thread_local cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    return cuarena_last_error_info(&info) == CUARENA_OK ? info.message : "";
}

void expect_message_at(const char *const *words, const char *file, int line)
{
    const char *message = last_error_message();
    for (; *words != NULL; words++) {
        if (strstr(message, *words) == NULL) {
            ck_abort_msg("%s:%d: expected a message with '%s', got \"%s\"", file, line, *words,
                         message);
        }
    }
}

void file_tree_open(file_tree_t *tree)
{
    strcpy(tree->root, "/tmp/cuarena-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(tree->root));
}

static void make_folders(char *path, size_t known)
{
    for (char *at = path + known + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
}

void file_tree_write(const file_tree_t *tree, const char *path, const char *text)
{
    char full[PATH_MAX];
    int length = snprintf(full, sizeof(full), "%s%s", tree->root, path);
    ck_assert_int_lt(length, (int)sizeof(full));
    make_folders(full, strlen(tree->root));
    FILE *file = fopen(full, "w");
    ck_assert_msg(file != NULL, "%s cannot be written", full);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

void file_tree_close(file_tree_t *tree)
{
    ck_assert_int_eq(nftw(tree->root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}
