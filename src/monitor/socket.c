/* Where the monitor listens, and who may connect. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "monitor/monitor.h"

#define BACKLOG 8

static cuarena_status_t fail(const char *what, const char *path)
{
    char room[CUAI_SHOWN + sizeof("...")];
    return cuai_fail_driver(errno, "monitor: %s '%s': %s", what, cuai_shown(path, CUAI_SHOWN, room),
                            strerror(errno));
}

static cuarena_status_t address_of(const char *path, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof address->sun_path)
        return cuai_fail(CUARENA_BAD_ARGUMENT, "path: %zu bytes; accepted: 1 to %zu", strlen(path),
                         sizeof address->sun_path - 1);
    strcpy(address->sun_path, path);
    return CUARENA_OK;
}

static int new_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd >= 0)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

/* ---- What is there already --------------------------------------------- */

/* Whether nobody listens at a socket. */
static bool is_deserted(const struct sockaddr_un *address)
{
    int fd = new_socket();
    if (fd < 0)
        return false;
    bool deserted = connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                    errno == ECONNREFUSED;
    (void)close(fd);
    return deserted;
}

/* Takes away what a process of this user left that has ended. */
static cuarena_status_t clear_path(const struct sockaddr_un *address)
{
    struct stat facts;
    const char *path = address->sun_path;
    if (lstat(path, &facts) != 0)
        return errno == ENOENT ? CUARENA_OK : fail("cannot listen at", path);
    if (!S_ISSOCK(facts.st_mode) || facts.st_uid != geteuid())
        return cuai_fail(CUARENA_BAD_ARGUMENT,
                         "path: '%s' is there; accepted: what is not there, or a socket that this "
                         "user's process left",
                         path);
    if (!is_deserted(address))
        return cuai_fail(CUARENA_BUSY, "path: another process listens at '%s'", path);
    return unlink(path) == 0 || errno == ENOENT ? CUARENA_OK : fail("cannot replace", path);
}

/* ---- The listener ------------------------------------------------------ */

/* Nobody can connect before listen, so the mode is right from the first moment. */
static cuarena_status_t bind_to(cuai_listener_t *listener, const struct sockaddr_un *address)
{
    CUAI_ASSERT(listener->fd >= 0);
    const char *path = listener->path;
    if (bind(listener->fd, (const struct sockaddr *)address, sizeof *address) != 0)
        return fail("cannot listen at", path);
    if (chmod(path, S_IRUSR | S_IWUSR) == 0 && lstat(path, &listener->facts) == 0 &&
        listen(listener->fd, BACKLOG) == 0)
        return CUARENA_OK;
    cuarena_status_t status = fail("cannot listen at", path);
    (void)unlink(path);
    return status;
}

cuarena_status_t cuai_listener_open(cuai_listener_t *listener)
{
    CUAI_ASSERT(listener->fd < 0);
    struct sockaddr_un address;
    cuarena_status_t status = address_of(listener->path, &address);
    if (status == CUARENA_OK)
        status = clear_path(&address);
    if (status != CUARENA_OK)
        return status;
    listener->fd = new_socket();
    if (listener->fd < 0)
        return fail("no socket for", listener->path);
    status = bind_to(listener, &address);
    if (status != CUARENA_OK) {
        (void)close(listener->fd);
        listener->fd = -1;
    }
    return status;
}

void cuai_listener_close(cuai_listener_t *listener)
{
    struct stat now;
    if (listener->fd < 0)
        return;
    (void)close(listener->fd);
    listener->fd = -1;
    if (lstat(listener->path, &now) == 0 && now.st_dev == listener->facts.st_dev &&
        now.st_ino == listener->facts.st_ino)
        (void)unlink(listener->path);
}

/* ---- Peers ------------------------------------------------------------- */

static bool is_ours(int peer)
{
#if defined(__linux__)
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
#else
    uid_t user;
    gid_t group;
    return getpeereid(peer, &user, &group) == 0 && user == geteuid();
#endif
}

/* Writes to the peer wait, but not for long. */
static void make_patient(int peer)
{
    struct timeval patience = {.tv_sec = CUAI_PATIENCE_S};
    (void)fcntl(peer, F_SETFD, FD_CLOEXEC);
    (void)fcntl(peer, F_SETFL, 0);
    (void)setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

int cuai_listener_accept(const cuai_listener_t *listener)
{
    CUAI_ASSERT(listener->fd >= 0);
    static const char refusal[] = "error this process belongs to another user\n";
    int peer = accept(listener->fd, NULL, NULL);
    if (peer < 0)
        return -1;
    make_patient(peer);
    if (is_ours(peer))
        return peer;
    (void)!write(peer, refusal, sizeof refusal - 1);
    (void)close(peer);
    return -1;
}
