#define _GNU_SOURCE
#include "support/peer.h"
#include "checks.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char answer[1 << 20];

int peer_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

void peer_send(int fd, const void *bytes, size_t size)
{
    ssize_t count = send(fd, bytes, size, MSG_NOSIGNAL);
    ck_assert(count < 0 || (size_t)count == size);
}

const char *peer_read(int fd)
{
    size_t used = 0;
    ssize_t count;
    while ((count = read(fd, answer + used, sizeof answer - 1 - used)) > 0)
        used += (size_t)count;
    answer[used] = '\0';
    close(fd);
    return answer;
}

const char *peer_ask(const char *path, const char *request)
{
    int fd = peer_connect(path);
    ck_assert_msg(fd >= 0, "nobody listens at %s", path);
    peer_send(fd, request, strlen(request));
    peer_send(fd, "\n", 1);
    return peer_read(fd);
}
