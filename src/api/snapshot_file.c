/* Snapshots in files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/snapshot.h"

/* A file that is being written, under another name at first. */
typedef struct file {
    int fd;
    int error; /* the errno of what failed; 0: nothing did */
    char *name;
} file_t;

static cuarena_status_t fail(int error, const char *path)
{
    char room[CUAI_SHOWN + sizeof("...")];
    return cuai_fail_driver(error, "snapshot: '%s' cannot be written: %s",
                            cuai_shown(path, CUAI_SHOWN, room), strerror(error));
}

/* A cuarena_write_fn; `user` is the file_t. */
static int32_t write_all(void *user, const void *bytes, size_t size)
{
    file_t *file = user;
    const char *from = bytes;
    while (size != 0 && file->error == 0) {
        ssize_t count = write(file->fd, from, size);
        if (count < 0 && errno != EINTR)
            file->error = errno;
        if (count <= 0)
            continue;
        from += count;
        size -= (size_t)count;
    }
    return file->error;
}

/* A device, or what else is no file, must not be replaced by one. */
static cuarena_status_t check_path(const char *path)
{
    struct stat is;
    char room[CUAI_SHOWN + sizeof("...")];
    if (lstat(path, &is) != 0 || S_ISREG(is.st_mode) || S_ISDIR(is.st_mode))
        return CUARENA_OK;
    return cuai_fail(CUARENA_BAD_ARGUMENT,
                     "snapshot: '%s' is no regular file; accepted: one, or a name that is free",
                     cuai_shown(path, CUAI_SHOWN, room));
}

/* A name in the folder of the path, whatever the length of its own. */
static char *temporary_name(const char *path)
{
    static const char own[] = ".snapshot.XXXXXX";
    const char *slash = strrchr(path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash + 1 - path);
    char *name = cuai_host_alloc(folder + sizeof own);
    if (name == NULL)
        return NULL;
    memcpy(name, path, folder);
    memcpy(name + folder, own, sizeof own);
    return name;
}

/* mkstemp makes the file for its owner alone. */
static cuarena_status_t begin(file_t *file, const char *path)
{
    file->error = 0;
    file->name = temporary_name(path);
    if (file->name == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "the host has no memory for a file's name");
    file->fd = mkstemp(file->name);
    if (file->fd >= 0)
        (void)fcntl(file->fd, F_SETFD, FD_CLOEXEC);
    if (file->fd >= 0)
        return CUARENA_OK;
    int error = errno;
    cuai_host_free(file->name);
    return fail(error, path);
}

static cuarena_status_t end(file_t *file, const char *path)
{
    CUAI_ASSERT(file->fd >= 0 && file->name != NULL);
    if (close(file->fd) != 0 && file->error == 0)
        file->error = errno;
    if (file->error == 0 && rename(file->name, path) != 0)
        file->error = errno;
    if (file->error != 0)
        (void)unlink(file->name);
    cuai_host_free(file->name);
    return file->error == 0 ? CUARENA_OK : fail(file->error, path);
}

cuarena_status_t cuai_snapshot_save(const cuai_snapshot_t *s, int32_t format, const char *path)
{
    file_t file;
    cuarena_status_t status = check_path(path);
    if (status == CUARENA_OK)
        status = begin(&file, path);
    if (status != CUARENA_OK)
        return status;
    (void)cuai_snapshot_format(s, format, write_all, &file);
    return end(&file, path);
}
