/*
 * A program with a monitor, for the tests of `cuarena top' and `cuarena snapshot'.
 *
 *   watched SOCKET COUNT   has so many arenas, says "ready", and ends with its standard input
 */
#include <cuarena.h>
#include <stdio.h>
#include <stdlib.h>

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s\n", cuarena_last_error());
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    int count = argc == 3 ? atoi(argv[2]) : -1;
    if (count < 0)
        return EXIT_FAILURE;
    for (int i = 0; i < count; i++) {
        cuarena_t *arena;
        void *pointers[4];
        must(cuarena_open("memory=none,pool=1MiB,name=watched", &arena));
        for (int j = 0; j < 4; j++)
            must(cuarena_alloc(arena, 100000, &pointers[j]));
        must(cuarena_free(arena, pointers[1]));
    }
    must(cuarena_monitor_open(argv[1]));
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    must(cuarena_monitor_close());
    return EXIT_SUCCESS;
}
