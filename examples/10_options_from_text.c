/*
 * Options from text, as a struct: a configuration from a command line, an environment variable or a
 * file, which the program can look at or change before it makes the arena. One table in the library
 * knows every option; a program can print it.
 *
 *   10_options_from_text [KEY=VALUE,KEY=VALUE...]
 */
#include <cuarena.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    exit(EXIT_FAILURE);
}

/* Every option with its value; a star where that is not the default. */
static void print_options(const cuarena_config_t *config)
{
    cuarena_config_t defaults;
    cuarena_config_init(&defaults);
    cuarena_option_info_t info;
    cuarena_option_info_init(&info);
    for (size_t i = 0; cuarena_option_info(i, &info) == CUARENA_OK; i++) {
        char value[64];
        char usual[64];
        must(cuarena_config_get(config, info.key, value, sizeof value));
        must(cuarena_config_get(&defaults, info.key, usual, sizeof usual));
        printf("%c %-16s %-14s %s\n", strcmp(value, usual) == 0 ? ' ' : '*', info.key, value,
               info.help);
    }
}

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : "preset=grow, limit=64MiB, zero=alloc, name=demo";
    cuarena_config_t config;
    cuarena_config_init(&config);
    must(cuarena_config_parse(&config, text));
    print_options(&config);

    cuarena_t *arena;
    must(cuarena_create(&config, &arena));
    must(cuarena_destroy(&arena));

    /* A mistake is named, with what would be accepted; nothing was changed. */
    cuarena_status_t status = cuarena_config_parse(&config, "limit=1GiB, alignment=100");
    printf("%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    return EXIT_SUCCESS;
}
