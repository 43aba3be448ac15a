#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "cuarena/base.h"
#include "progress.h"

/* Where documents, and with them some traces, are installed. */
#ifndef DOCDIR
#define DOCDIR "/usr/local/share/doc/libcuarena"
#endif

static const char help[] =
    "Usage: cuarena COMMAND [OPTION]... [TRACE]...\n"
    "\n"
    "Tries memory arenas of libcuarena on recorded programs.\n"
    "\n"
    "  replay TRACE...       tells what memory and time a trace takes\n"
    "  policies TRACE...     compares the placement policies on traces\n"
    "  advise TRACE...       tells which options suit a trace, and why\n"
    "  import FILE           makes a trace of what RMM or PyTorch recorded\n"
    "  report TRACE -o FILE  draws what happens in an arena, as a page of HTML\n"
    "  run PROGRAM...        serves a program's own allocations, or records them\n"
    "  info                  tells versions, memories and options\n"
    "  top SOCKET...         shows the arenas of running programs\n"
    "  snapshot SOCKET       tells all that such an arena has\n"
    "\n"
    "  -h, --help            this text; after a command: how to use that one\n"
    "  -V, --version         the version\n"
    "\n"
    "Examples of commands take their traces from\n"
    "  " DOCDIR "/traces\n"
    "\n"
    "More in cuarena(1).\n";

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
} command_t;

static int show_help(int argc, char **argv)
{
    (void)argc, (void)argv;
    fputs(help, stdout);
    return command_end(STATUS_SERVED);
}

static int show_version(int argc, char **argv)
{
    (void)argc, (void)argv;
    printf("cuarena %s\n", cuarena_version_string());
    return command_end(STATUS_SERVED);
}

static const command_t commands[] = {
    {"replay", command_replay},  {"policies", command_policies}, {"advise", command_advise},
    {"import", command_import},  {"report", command_report},     {"info", command_info},
    {"top", command_top},        {"snapshot", command_snapshot}, {"run", command_run},
    {"help", show_help},         {"--help", show_help},          {"-h", show_help},
    {"--version", show_version}, {"-V", show_version},
};

int command_fail(const fault_t *fault)
{
    progress_clear();
    fprintf(stderr, "cuarena: %s\n", fault->text);
    return STATUS_BAD;
}

int command_end(int status)
{
    progress_clear();
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "cuarena: standard output: %s\n", strerror(errno));
    return STATUS_BAD;
}

int main(int argc, char **argv)
{
    fault_t fault = {""};
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    (void)fault_set(&fault,
                    "%s '%s', expected replay, policies, advise, import, report, run, info, "
                    "top, snapshot, --help or --version",
                    argc > 1 ? "unknown command" : "no command", fault_quote(name, strlen(name)));
    return command_fail(&fault);
}
