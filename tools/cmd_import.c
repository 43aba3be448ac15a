#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "options.h"
#include "pickle.h"
#include "recording_write.h"
#include "rmm_log.h"
#include "source.h"
#include "torch_snapshot.h"

static const char help[] =
    "Usage: cuarena import [OPTION]... FILE\n"
    "\n"
    "Makes a trace, which the other commands take, of what a program recorded\n"
    "of another allocator: RMM's log, from its logging_resource_adaptor, or\n"
    "PyTorch's snapshot, from torch.cuda.memory._dump_snapshot() after\n"
    "_record_memory_history(). Nothing of a snapshot is executed. FILE is\n"
    "plain or gzip; - is standard input.\n"
    "\n"
    "  -o, --output TRACE    where the trace is written: CSV, gzip if the name\n"
    "                        ends in .gz; - is standard output, the default\n"
    "  --from NAME           what FILE is: rmm or pytorch. Its contents say so\n"
    "                        unless told\n"
    "  --device N            of a snapshot with several devices: which one\n"
    "  -h, --help            this text\n"
    "\n"
    "What was allocated before the recording began comes first in the trace.\n"
    "The trace of a snapshot has a column pytorch_reserved, by which 'cuarena\n"
    "advise' tells what an arena would save. Requests that were refused are\n"
    "left out. What was read and what was left out is told on stderr.\n"
    "\n"
    "Exit status: 0, 2 for bad input, which one line on stderr explains.\n"
    "\n"
    "Examples:\n"
    "  cuarena import snapshot.pickle -o program.csv.gz\n"
    "  cuarena import rmm.log | cuarena advise -\n";

/* ---- Reading ------------------------------------------------------------------ */

static const char *kind_of(const source_t *source)
{
    if (pickle_begins(source->text, source->length))
        return "pytorch";
    return rmm_log_begins(source->text, source->length) ? "rmm" : NULL;
}

static bool read_rmm(const options_t *o, source_t *source, const char *name,
                     recording_t *recording_out, fault_t *fault)
{
    if (o->import.device != TORCH_ANY_DEVICE)
        return fault_set(fault, "%s: it is a log of RMM, expected PyTorch's snapshot for --device",
                         name);
    source_keep_whole_lines(source);
    return rmm_log_read(name, source->text, source->length, recording_out, fault);
}

static bool read_recording(const options_t *o, source_t *source, const char *name,
                           recording_t *recording_out, fault_t *fault)
{
    const char *kind = o->import.from != NULL ? o->import.from : kind_of(source);
    if (kind == NULL)
        return fault_set(fault,
                         "%s:1: it begins with '%s', expected PyTorch's snapshot or RMM's "
                         "log with its header Thread,Time,Action,Pointer,Size,Stream",
                         name,
                         fault_quote(source->text, source->length < 16 ? source->length : 16));
    if (strcmp(kind, "rmm") == 0)
        return read_rmm(o, source, name, recording_out, fault);
    return torch_snapshot_read(name, source->text, source->length, o->import.device, recording_out,
                               fault);
}

/* ---- What is told --------------------------------------------------------------- */

static void tell_count(const char *name, uint64_t count, const char *what)
{
    if (count > 0)
        fprintf(stderr, "cuarena: %s: note: %" PRIu64 " %s\n", name, count, what);
}

static void tell(const recording_t *r, const char *name, uint32_t streams)
{
    uint64_t frees = 0;
    for (size_t i = 0; i < r->events.count; i++)
        frees += r->events.list[i].frees;
    fprintf(stderr,
            "cuarena: %s: %" PRIu32 " allocations, %" PRIu64 " frees, streams: %" PRIu32 "\n", name,
            r->ids, frees, streams);
    tell_count(name, r->older.count, "of the allocations were made before the recording began");
    tell_count(name, r->refused, "requests that were refused are left out");
    tell_count(name, r->unknown_frees, "frees of what was free are left out");
    tell_count(name, r->lost_frees,
               "frees were not recorded, and are put where the address was "
               "allocated again");
    tell_count(name, r->others, "other entries are left out");
}

/* ---- The whole -------------------------------------------------------------------- */

static bool write_trace(const options_t *o, const recording_t *recording, const char *name,
                        fault_t *fault)
{
    uint32_t streams = 0;
    if (recording->ids == 0)
        return fault_set(
            fault, "%s: nothing is allocated or freed in it, expected an event at least", name);
    if (!recording_write(recording, o->output, &streams, fault))
        return false;
    tell(recording, name, streams);
    return true;
}

static bool import_file(const options_t *o, fault_t *fault)
{
    source_t source;
    recording_t recording = {.ids = 0};
    if (o->operand_count != 1)
        return fault_set(fault, "%zu files are named, expected one to import", o->operand_count);
    const char *name = source_name(o->operands[0]);
    bool is_log = o->import.from != NULL && strcmp(o->import.from, "rmm") == 0;
    if (!options_check_outputs(o, fault) ||
        !source_read(o->operands[0], is_log ? NULL : pickle_begins, &source, fault))
        return false;
    bool good = read_recording(o, &source, name, &recording, fault) &&
                write_trace(o, &recording, name, fault);
    if (good)
        source_tell_cut(&source, o->operands[0]);
    recording_drop(&recording);
    source_free(&source);
    return good;
}

int command_import(int argc, char **argv)
{
    options_t o;
    fault_t fault = {""};
    if (!options_parse(argc, argv, OPTIONS_IMPORT, &o, &fault))
        return command_fail(&fault);
    if (o.help) {
        fputs(help, stdout);
        return command_end(STATUS_SERVED);
    }
    if (o.output == NULL)
        o.output = "-";
    return import_file(&o, &fault) ? command_end(STATUS_SERVED) : command_fail(&fault);
}
