#define _GNU_SOURCE
#include "ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#if !defined(MSG_NOSIGNAL)
#define MSG_NOSIGNAL 0
#endif

/* ---- A connection ------------------------------------------------------ */

static bool connect_to(const char *path, int *fd_out, fault_t *fault)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *quoted = fault_quote(path, strlen(path));
    if (strlen(path) >= sizeof address.sun_path)
        return fault_set(fault, "%s: a path of %zu bytes, expected %zu at most", quoted,
                         strlen(path), sizeof address.sun_path - 1);
    strcpy(address.sun_path, path);
    *fd_out = socket(AF_UNIX, SOCK_STREAM, 0);
    if (*fd_out < 0)
        return fault_set(fault, "%s: %s", quoted, strerror(errno));
    if (connect(*fd_out, (const struct sockaddr *)&address, sizeof address) == 0)
        return true;
    int error = errno;
    (void)close(*fd_out);
    return fault_set(fault, "%s: %s, expected the socket of a program's monitor", quoted,
                     strerror(error));
}

static bool send_request(int fd, const char *request)
{
    char line[64];
    size_t length = strlen(request);
    if (length >= sizeof line)
        return false;
    memcpy(line, request, length);
    line[length] = '\n';
    return send(fd, line, length + 1, MSG_NOSIGNAL) == (ssize_t)length + 1;
}

static answer_t read_all(int fd)
{
    answer_t all = {NULL, 0};
    size_t room = 0;
    ssize_t count = 1;
    while (count > 0) {
        if (room - all.length < 2) {
            room = room * 2 + 4096;
            all.bytes = must_have(all.bytes, room, 1);
        }
        count = read(fd, all.bytes + all.length, room - all.length - 1);
        if (count < 0 && errno == EINTR)
            count = 1;
        else if (count > 0)
            all.length += (size_t)count;
    }
    all.bytes[all.length] = '\0';
    return all;
}

/* ---- Answers ----------------------------------------------------------- */

/* Takes the first line off; false if it is no "ok" of what follows. */
static bool take_head(answer_t *answer, const char *path, fault_t *fault)
{
    const char *quoted = fault_quote(path, strlen(path));
    char *end = strchr(answer->bytes, '\n');
    size_t head = end == NULL ? answer->length : (size_t)(end - answer->bytes);
    if (strncmp(answer->bytes, "error ", 6) == 0 && end != NULL)
        return fault_set(fault, "%s: %.*s", quoted, (int)head - 6, answer->bytes + 6);
    if (strncmp(answer->bytes, "ok ", 3) != 0 || end == NULL ||
        strtoull(answer->bytes + 3, NULL, 10) != answer->length - head - 1)
        return fault_set(fault, "%s: no whole answer, expected one of a monitor", quoted);
    answer->length -= head + 1;
    memmove(answer->bytes, end + 1, answer->length + 1);
    return true;
}

bool ask(const char *path, const char *request, answer_t *answer_out, fault_t *fault)
{
    int fd = -1;
    if (!connect_to(path, &fd, fault))
        return false;
    bool sent = send_request(fd, request);
    answer_t answer = read_all(fd);
    (void)close(fd);
    if (sent && take_head(&answer, path, fault)) {
        *answer_out = answer;
        return true;
    }
    answer_free(&answer);
    return sent ? false : fault_set(fault, "%s: the request was not taken", path);
}

void answer_free(answer_t *answer)
{
    free(answer->bytes);
    answer->bytes = NULL;
}

bool ask_arenas(const char *path, const char *request, json_t **object_out, fault_t *fault)
{
    answer_t answer;
    if (!ask(path, request, &answer, fault))
        return false;
    json_t *object = json_loads(answer.bytes, 0, NULL);
    answer_free(&answer);
    if (json_is_array(json_object_get(object, "arenas"))) {
        *object_out = object;
        return true;
    }
    json_decref(object);
    return fault_set(fault, "%s: no list of arenas, expected a monitor's", path);
}
