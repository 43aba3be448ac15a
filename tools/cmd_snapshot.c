#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask.h"
#include "commands.h"
#include "options.h"

static const char help[] =
    "Usage: cuarena snapshot [OPTION]... SOCKET\n"
    "\n"
    "Asks a running program for a snapshot of an arena: its segments, blocks,\n"
    "free ranges, tags, streams, options and figures at this moment. SOCKET is\n"
    "where the program's monitor listens (cuarena_monitor_open, or what\n"
    "CUARENA_MONITOR says if the program reads it).\n"
    "\n"
    "  --arena NUMBER        which of the program's arenas, as 'cuarena top'\n"
    "                        tells; without it the only one\n"
    "  --format NAME         json, or pytorch: for PyTorch's memory viewer.\n"
    "                        Without it pytorch if FILE ends in .pickle,\n"
    "                        else json\n"
    "  -o, --output FILE     the file to write, for its owner alone; without\n"
    "                        it standard output\n"
    "  -h, --help            this text\n"
    "\n"
    "Exit status: 0, or 2 if there is no snapshot, which one line on stderr\n"
    "explains.\n";

/* ---- Which arena -------------------------------------------------------- */

static uint64_t number_at(const json_t *arenas, size_t i)
{
    return (uint64_t)json_integer_value(json_object_get(json_array_get(arenas, i), "number"));
}

/* "2, 5 and 7" */
static void tell_numbers(const json_t *arenas, char *text, size_t room)
{
    size_t used = 0;
    size_t count = json_array_size(arenas);
    for (size_t i = 0; i < count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%" PRIu64,
                                 i == 0           ? ""
                                 : i + 1 == count ? " or "
                                                  : ", ",
                                 number_at(arenas, i));
}

/* The only arena of the program. */
static bool find_arena(const char *path, uint64_t *number_out, fault_t *fault)
{
    json_t *object;
    char numbers[256];
    if (!ask_arenas(path, "list", &object, fault))
        return false;
    const json_t *arenas = json_object_get(object, "arenas");
    size_t count = json_array_size(arenas);
    if (count == 1)
        *number_out = number_at(arenas, 0);
    else if (count == 0)
        (void)fault_set(fault, "%s: the program has no arena", path);
    else {
        tell_numbers(arenas, numbers, sizeof numbers);
        (void)fault_set(fault, "%s: the program has %zu arenas, expected --arena %s", path, count,
                        numbers);
    }
    json_decref(object);
    return count == 1;
}

/* ---- The file ----------------------------------------------------------- */

static bool save(const char *path, const answer_t *answer, fault_t *fault)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    bool done = file != NULL && fwrite(answer->bytes, 1, answer->length, file) == answer->length;
    if (file != NULL)
        done = fclose(file) == 0 && done;
    return done || fault_set(fault, "%s: %s", fault_quote(path, strlen(path)), strerror(errno));
}

static bool is_for_pytorch(const options_t *o)
{
    size_t length = o->output == NULL ? 0 : strlen(o->output);
    if (o->format != FORMAT_BY_NAME)
        return o->format == FORMAT_PYTORCH;
    return length >= 7 && strcmp(o->output + length - 7, ".pickle") == 0;
}

static bool take(const options_t *o, fault_t *fault)
{
    char request[64];
    answer_t answer;
    const char *path = o->operands[0];
    uint64_t number = o->arena;
    if (number == 0 && !find_arena(path, &number, fault))
        return false;
    (void)snprintf(request, sizeof request, "snapshot %" PRIu64 " %s", number,
                   is_for_pytorch(o) ? "pytorch" : "json");
    if (!ask(path, request, &answer, fault))
        return false;
    bool done = true;
    if (o->output != NULL)
        done = save(o->output, &answer, fault);
    else
        (void)fwrite(answer.bytes, 1, answer.length, stdout); /* command_end looks */
    answer_free(&answer);
    return done;
}

int command_snapshot(int argc, char **argv)
{
    options_t o;
    fault_t fault = {""};
    if (!options_parse(argc, argv, OPTIONS_SNAPSHOT, &o, &fault))
        return command_fail(&fault);
    if (o.help) {
        fputs(help, stdout);
        return command_end(STATUS_SERVED);
    }
    if (o.operand_count != 1) {
        (void)fault_set(&fault, "snapshot has %zu sockets, expected one", o.operand_count);
        return command_fail(&fault);
    }
    return take(&o, &fault) ? command_end(STATUS_SERVED) : command_fail(&fault);
}
