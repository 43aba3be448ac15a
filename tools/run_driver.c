#define _GNU_SOURCE
#include "run_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <link.h>
#endif

#ifndef PKGLIBDIR
#define PKGLIBDIR "/usr/local/lib/libcuarena"
#endif

/* The names that programs open the driver by, and that by which the library before it finds it. */
static const char *const names[] = {"libcuda.so", "libcuda.so.1"};
#define OWN "libcuarena-driver.so.1"
#define NAMES (sizeof names / sizeof names[0])

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* False where the path is too long. */
static bool join(char path[PATH_MAX], const char *folder, const char *name)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return length >= 0 && length < PATH_MAX;
}

/* ---- The driver ---------------------------------------------------------- */

#if defined(__linux__)

/* Where the system found what was opened. */
static bool path_of(void *library, char path[PATH_MAX])
{
    struct link_map *map = NULL;
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && realpath(map->l_name, path) != NULL;
}

#else

/* There are no drivers elsewhere. */
static bool path_of(void *library, char path[PATH_MAX])
{
    (void)library, (void)path;
    return false;
}

#endif

/* As the library itself finds it. */
static bool find_driver(char path[PATH_MAX], fault_t *fault)
{
    const char *name = variable("CUARENA_CUDA_LIBRARY");
    void *library = dlopen(name != NULL ? name : "libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL)
        return fault_set(fault, "there is no driver: %s", dlerror());
    return path_of(library, path) ||
           fault_set(fault, "the driver's library has no path that can be read");
}

/* ---- The library before it ----------------------------------------------- */

/* Whether the folder has it. */
static bool has_library(const char *folder, const char *below, char path[PATH_MAX])
{
    char at[PATH_MAX];
    if (!join(at, folder, below) || strlen(at) + sizeof "/libcuda.so.1" > sizeof at)
        return false;
    strcat(at, "/libcuda.so.1");
    return access(at, R_OK) == 0 && realpath(at, path) != NULL;
}

/* Beside this program as it is installed, and as it is built. */
static bool find_beside(char path[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return false;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return has_library(self, "../lib/libcuarena", path) || has_library(self, "layer/.libs", path) ||
           has_library(self, "../layer/.libs", path);
}

static bool find_library(char path[PATH_MAX], fault_t *fault)
{
    const char *told = variable("CUARENA_RUN_LIBRARIES");
    if (told != NULL)
        return has_library(told, ".", path) ||
               fault_set(fault,
                         "CUARENA_RUN_LIBRARIES is '%s', expected a folder with libcuda.so.1",
                         fault_quote(told, strlen(told)));
    return find_beside(path) || has_library(PKGLIBDIR, ".", path) ||
           fault_set(
               fault,
               "the library for programs is not installed: expected libcuda.so.1 in " PKGLIBDIR
               " or in the folder of CUARENA_RUN_LIBRARIES");
}

/* ---- The folder ---------------------------------------------------------- */

static bool make_link(const run_folder_t *folder, const char *name, const char *target,
                      fault_t *fault)
{
    char path[PATH_MAX];
    if (join(path, folder->path, name) && symlink(target, path) == 0)
        return true;
    return fault_set(fault, "%s: %s", path, strerror(errno));
}

static bool make_folder(run_folder_t *folder, fault_t *fault)
{
    const char *above = variable("TMPDIR");
    if (!join(folder->path, above != NULL ? above : "/tmp", "cuarena-run-XXXXXX"))
        return fault_set(fault, "TMPDIR is too long");
    if (mkdtemp(folder->path) != NULL)
        return true;
    fault_set(fault, "%s: %s", folder->path, strerror(errno));
    folder->path[0] = '\0';
    return false;
}

bool run_folder_begin(run_folder_t *folder, fault_t *fault)
{
    char library[PATH_MAX];
    folder->path[0] = '\0';
    if (!find_driver(folder->driver, fault) || !find_library(library, fault) ||
        !make_folder(folder, fault))
        return false;
    bool made = make_link(folder, OWN, folder->driver, fault);
    for (size_t i = 0; made && i < NAMES; i++)
        made = make_link(folder, names[i], library, fault);
    if (!made)
        run_folder_end(folder);
    return made;
}

bool run_folder_was_used(const run_folder_t *folder)
{
    char path[PATH_MAX];
    return join(path, folder->path, "loaded") && access(path, F_OK) == 0;
}

static void drop(const run_folder_t *folder, const char *name)
{
    char path[PATH_MAX];
    if (join(path, folder->path, name))
        (void)unlink(path);
}

void run_folder_end(const run_folder_t *folder)
{
    if (folder->path[0] == '\0')
        return;
    for (size_t i = 0; i < NAMES; i++)
        drop(folder, names[i]);
    drop(folder, OWN);
    drop(folder, "loaded");
    (void)rmdir(folder->path);
}
