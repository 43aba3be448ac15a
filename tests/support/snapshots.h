/*
 * A folder for the snapshots of a test, and the checks of snapshots.py, which knows the schema and
 * reads PyTorch's format.
 */
#ifndef CUARENA_TEST_SNAPSHOTS_H
#define CUARENA_TEST_SNAPSHOTS_H

#include "checks.h"

#include <cuarena.h>

/* Each test of the case has a new folder, which goes after it with all that is in it. */
void use_folder(TCase *tcase);
/* A path in it; good until eight more were made. */
const char *in_folder(const char *name);
/* The whole text of a file there; good until the next call. */
const char *text_of(const char *path);
/* How many files there have that ending. */
size_t files_ending(const char *ending);

/* Writes NAME.json and NAME.pickle there; nobody may change the arena meanwhile. */
void write_both(cuarena_t *arena, const char *name);
/* All snapshots there are right. Without Python that is printed, and nothing is checked. */
void expect_right_snapshots(void);

#endif
