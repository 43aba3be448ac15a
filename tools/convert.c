/* For fileno and posix_spawn. */
#define _POSIX_C_SOURCE 200809L
#include "convert.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the command line asks: twice as many pixels as the SVG has units. */
static char *const words[] = {(char *)"rsvg-convert", (char *)"--zoom=2", (char *)"--format=png",
                              NULL};

extern char **environ;

/* The status that it ended with; -1 with errno if it could not be started. */
static int run(int from, int to)
{
    pid_t child;
    int status = 0;
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    (void)posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawnp(&child, words[0], &actions, NULL, words, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        errno = error;
        return -1;
    }
    while (waitpid(child, &status, 0) == -1)
        if (errno != EINTR)
            return -1;
    return status;
}

static bool run_checked(int from, int to, const char *path, fault_t *fault)
{
    int status = run(from, to);
    if (status == -1)
        return fault_set(fault,
                         "--png: %s: %s, expected this command of librsvg (Debian: librsvg2-bin) "
                         "or --svg",
                         words[0], strerror(errno));
    return status == 0 || fault_set(fault, "%s: %s could not write it", path, words[0]);
}

bool convert_to_png(FILE *svg, const char *path, fault_t *fault)
{
    bool is_stdout = strcmp(path, "-") == 0;
    int to = is_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (to == -1)
        return fault_set(fault, "%s: %s", path, strerror(errno));
    bool good = fflush(svg) == 0 && lseek(fileno(svg), 0, SEEK_SET) == 0;
    good = good ? run_checked(fileno(svg), to, path, fault)
                : fault_set(fault, "--png: a temporary file: %s", strerror(errno));
    if (!is_stdout && close(to) != 0 && good)
        good = fault_set(fault, "%s: %s", path, strerror(errno));
    return good;
}
