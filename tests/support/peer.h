/* A peer of the monitor: connects to its socket, asks, and reads the answer. */
#ifndef CUARENA_TEST_PEER_H
#define CUARENA_TEST_PEER_H

#include <stddef.h>

/* A connection, or -1 with errno. */
int peer_connect(const char *path);
/* Sends bytes, which a monitor that has answered already may refuse. */
void peer_send(int fd, const void *bytes, size_t size);
/* The whole answer, and closes; good until the next call. */
const char *peer_read(int fd);
/* Asks one line. */
const char *peer_ask(const char *path, const char *request);

#endif
