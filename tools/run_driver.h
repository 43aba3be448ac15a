/*
 * What `cuarena run` needs of the machine: the driver's own library, the library that stands before
 * it, and a folder in which a program finds that first.
 */
#ifndef TOOLS_RUN_DRIVER_H
#define TOOLS_RUN_DRIVER_H

#include <limits.h>

#include "fault.h"

typedef struct run_folder {
    char path[PATH_MAX];   /* "": there is none */
    char driver[PATH_MAX]; /* the driver's own library */
} run_folder_t;

/* Makes the folder. It is the caller's, to be ended by run_folder_end. */
bool run_folder_begin(run_folder_t *folder, fault_t *fault);
/* Whether any program has loaded the library from it. */
bool run_folder_was_used(const run_folder_t *folder);
void run_folder_end(const run_folder_t *folder);

#endif
