#define _GNU_SOURCE
#include "support/snapshots.h"

#include "support/expect.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[200];
static char paths[8][512];
static char content[1 << 20];

static void each_file(void (*with)(const char *name))
{
    DIR *dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            with(entry->d_name);
    closedir(dir);
}

static void remove_file(const char *name)
{
    ck_assert_int_eq(unlink(in_folder(name)), 0);
}

static void end_folder(void)
{
    each_file(remove_file);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void begin_folder(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/cuarena.XXXXXX", parent == NULL ? "/tmp" : parent);
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void use_folder(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, begin_folder, end_folder);
}

const char *in_folder(const char *name)
{
    static size_t turn;
    char *path = paths[turn++ % COUNT_OF(paths)];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *text_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s cannot be opened", path);
    size_t length = fread(content, 1, sizeof content - 1, file);
    content[length] = '\0';
    fclose(file);
    return content;
}

static const char *wanted_ending;
static size_t found;

static void count_ending(const char *name)
{
    size_t length = strlen(name);
    size_t ending = strlen(wanted_ending);
    found += length >= ending && strcmp(name + length - ending, wanted_ending) == 0;
}

size_t files_ending(const char *ending)
{
    wanted_ending = ending;
    found = 0;
    each_file(count_ending);
    return found;
}

void write_both(cuarena_t *arena, const char *name)
{
    char file[200];
    snprintf(file, sizeof file, "%s.json", name);
    expect_ok(cuarena_snapshot_write(arena, CUARENA_SNAPSHOT_JSON, in_folder(file)));
    snprintf(file, sizeof file, "%s.pickle", name);
    expect_ok(cuarena_snapshot_write(arena, CUARENA_SNAPSHOT_PYTORCH, in_folder(file)));
}

void expect_right_snapshots(void)
{
    const char *srcdir = getenv("srcdir");
    char command[512];
    if (system("python3 -c '' 2>/dev/null") != 0) {
        printf("skipped: what is in snapshots: python3 is not installed\n");
        return;
    }
    snprintf(command, sizeof command,
             "cd '%s' && python3 tests/support/snapshots.py docs/snapshot.schema.json '%s'",
             srcdir == NULL ? "." : srcdir, folder);
    ck_assert_msg(system(command) == 0, "snapshots are not as they should be: see above");
}
