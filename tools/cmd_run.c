/* `cuarena run`: a program whose calls of the driver are served, or recorded. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "cuarena/options.h"
#include "run_driver.h"

static const char help[] =
    "Usage: cuarena run [OPTION]... PROGRAM [ARGUMENT]...\n"
    "\n"
    "Runs a program with one arena for each device in the place of the driver's\n"
    "own allocations, or records these. The program is not changed, and nothing\n"
    "is installed: it finds a libcuda.so of cuarena's before the driver's, which\n"
    "passes on all but the calls that allocate and free.\n"
    "\n"
    "  -o, --option TEXT     options of the arenas, as 'limit=80%' or\n"
    "                        'preset=bfc, max_mem=0'; can be repeated. What the\n"
    "                        environment has in CUARENA_CONF comes before\n"
    "  --async               serves stream-ordered allocations only, and leaves\n"
    "                        what cuMemAlloc and cudaMalloc allocate to the driver\n"
    "  --report              at exit of the program a line for each device\n"
    "  --record TRACE        serves nothing, and writes every allocation and free\n"
    "                        of device memory to this file, for replay, report and\n"
    "                        advise; gzip if the name ends in .gz. Behind a % in\n"
    "                        it p is the number of the process\n"
    "  -h, --help            this text\n"
    "\n"
    "Programs that open the driver by another name or path are not met; it is said\n"
    "on stderr if no program has been.\n"
    "\n"
    "Exit status: that of the program; 128 and the number of a signal that ended\n"
    "it; 127 if there is no such program, 126 if it cannot be started, 2 for bad\n"
    "input, which one line on stderr explains.\n"
    "\n"
    "Examples:\n"
    "  cuarena run --report ./server model.bin\n"
    "  cuarena run --record program.csv.gz python3 program.py\n";

typedef struct ask {
    char options[4096]; /* for CUARENA_CONF */
    const char *record; /* NULL: not */
    bool async;
    bool report;
    bool help;
    char **program;
} ask_t;

/* ---- The command line ---------------------------------------------------- */

static bool add_options(ask_t *ask, const char *text, fault_t *fault)
{
    size_t length = strlen(ask->options);
    const char *between = length > 0 ? ", " : "";
    int more = snprintf(ask->options + length, sizeof ask->options - length, "%s%s", between, text);
    if (more < 0 || (size_t)more >= sizeof ask->options - length)
        return fault_set(fault, "the options are too long: expected at most %zu bytes",
                         sizeof ask->options - 1);
    return true;
}

/* What is wrong is told here, rather than by a program that was left to the driver. */
static bool check_options(const char *text, fault_t *fault)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    return cuarena_config_parse(&config, text) == CUARENA_OK ||
           fault_library(fault, "--option is '%s'", fault_quote(text, strlen(text)));
}

enum {
    ASYNC = 256,
    REPORT,
    RECORD
};

static bool take(ask_t *ask, int option, char **argv, fault_t *fault)
{
    switch (option) {
    case 'o':
        return check_options(optarg, fault) && add_options(ask, optarg, fault);
    case 'h':
        return ask->help = true;
    case ASYNC:
        return ask->async = true;
    case REPORT:
        return ask->report = true;
    case RECORD:
        ask->record = optarg;
        return true;
    default:
        return fault_set(fault, "run: '%s', expected an option of --help and what it takes",
                         fault_quote(argv[optind - 1], strlen(argv[optind - 1])));
    }
}

static bool parse(int argc, char **argv, ask_t *ask, fault_t *fault)
{
    static const struct option known[] = {
        {"option", required_argument, NULL, 'o'}, {"async", no_argument, NULL, ASYNC},
        {"report", no_argument, NULL, REPORT},    {"record", required_argument, NULL, RECORD},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    int option;
    opterr = 0;
    while (!ask->help && (option = getopt_long(argc, argv, "+o:h", known, NULL)) != -1)
        if (!take(ask, option, argv, fault))
            return false;
    ask->program = argv + optind;
    if (ask->help || optind < argc)
        return true;
    return fault_set(fault, "run: no program, expected one behind the options");
}

/* ---- The program --------------------------------------------------------- */

/* In the child, or before it: its environment. Behind what a variable has already. */
static bool set_behind(const char *name, const char *first, const char *between, fault_t *fault)
{
    char *text = NULL;
    const char *has = getenv(name);
    bool is_set = has != NULL && has[0] != '\0';
    if (asprintf(&text, "%s%s%s", first, is_set ? between : "", is_set ? has : "") < 0 ||
        setenv(name, text, 1) != 0)
        return fault_set(fault, "%s: %s", name, strerror(errno));
    free(text);
    return true;
}

static bool set(const char *name, const char *value, fault_t *fault)
{
    return setenv(name, value, 1) == 0 || fault_set(fault, "%s: %s", name, strerror(errno));
}

/* A program may change its folder before it allocates. */
static bool set_record(const char *name, fault_t *fault)
{
    char path[PATH_MAX];
    char folder[PATH_MAX];
    if (name[0] == '/')
        return set("CUARENA_RECORD", name, fault);
    if (getcwd(folder, sizeof folder) == NULL)
        return fault_set(fault, "the folder of this process: %s", strerror(errno));
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return fault_set(fault, "--record is '%s', expected a shorter name",
                         fault_quote(name, strlen(name)));
    return set("CUARENA_RECORD", path, fault);
}

/* Options of the command line come last, so they win. */
static bool set_options(const char *options, fault_t *fault)
{
    const char *has = getenv("CUARENA_CONF");
    char *text = NULL;
    if (options[0] == '\0')
        return true;
    if (has == NULL || has[0] == '\0')
        return set("CUARENA_CONF", options, fault);
    if (asprintf(&text, "%s, %s", has, options) < 0)
        return fault_set(fault, "CUARENA_CONF: the host has no memory");
    bool good = set("CUARENA_CONF", text, fault);
    free(text);
    return good;
}

static bool set_environment(const ask_t *ask, const run_folder_t *folder, fault_t *fault)
{
    return set_behind("LD_LIBRARY_PATH", folder->path, ":", fault) &&
           set("CUARENA_CUDA_LIBRARY", folder->driver, fault) &&
           set("CUARENA_RUN_FOLDER", folder->path, fault) && set_options(ask->options, fault) &&
           (!ask->async || set("CUARENA_ALLOCATOR", "async", fault)) &&
           (!ask->report || set("CUARENA_REPORT", "1", fault)) &&
           (ask->record == NULL || set_record(ask->record, fault));
}

static _Noreturn void start(char **program)
{
    (void)execvp(program[0], program);
    int error = errno;
    fprintf(stderr, "cuarena: %s: %s\n", program[0], strerror(error));
    _exit(error == ENOENT ? 127 : 126);
}

static volatile sig_atomic_t child;

static void pass_on(int signal)
{
    if (child > 0)
        (void)kill((pid_t)child, signal);
}

/* What a terminal sends reaches the program anyway; what is sent to this process alone is passed
 * on. */
static void handle_signals(void)
{
    struct sigaction passes = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    (void)sigemptyset(&passes.sa_mask);
    (void)sigaction(SIGTERM, &passes, NULL);
    (void)sigaction(SIGHUP, &passes, NULL);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
}

static int wait_for(pid_t process)
{
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The status of the program; -1 with a fault. */
static int run(const ask_t *ask, const run_folder_t *folder, fault_t *fault)
{
    (void)fflush(NULL);
    pid_t process = fork();
    if (process < 0) {
        fault_set(fault, "no process: %s", strerror(errno));
        return -1;
    }
    if (process == 0) {
        if (set_environment(ask, folder, fault))
            start(ask->program);
        _exit(command_fail(fault));
    }
    child = (sig_atomic_t)process;
    handle_signals();
    return wait_for(process);
}

static void tell_unused(const ask_t *ask, const run_folder_t *folder, int status)
{
    if (status != 126 && status != 127 && !run_folder_was_used(folder))
        fprintf(stderr,
                "cuarena: %s did not open the driver as libcuda.so or libcuda.so.1: nothing was "
                "%s\n",
                ask->program[0], ask->record != NULL ? "recorded" : "served");
}

int command_run(int argc, char **argv)
{
    ask_t ask = {.record = NULL};
    run_folder_t folder;
    fault_t fault = {""};
    if (!parse(argc, argv, &ask, &fault))
        return command_fail(&fault);
    if (ask.help) {
        fputs(help, stdout);
        return command_end(STATUS_SERVED);
    }
    if (!run_folder_begin(&folder, &fault))
        return command_fail(&fault);
    int status = run(&ask, &folder, &fault);
    if (status >= 0)
        tell_unused(&ask, &folder, status);
    run_folder_end(&folder);
    return status >= 0 ? status : command_fail(&fault);
}
