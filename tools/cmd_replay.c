#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands.h"
#include "options.h"
#include "progress.h"
#include "report.h"

static const char help[] =
    "Usage: cuarena replay [OPTION]... TRACE...\n"
    "\n"
    "Gives the allocations and frees of recorded programs to an arena, and\n"
    "tells how much memory that took and how long each call was.\n"
    "\n"
    "A TRACE is CSV, plain or gzip; - is standard input. Its columns are\n"
    "found by their names in the first line, in any order; others are\n"
    "ignored, and stream may be missing without --streams:\n"
    "\n"
    "  op,id,size,stream     op: a (allocate) or f (free); id: a number used\n"
    "                        once; size: bytes\n"
    "  op,id,size,stream,time,thread,tag,address,note\n"
    "                        what an arena records (option trace): also\n"
    "                        resize and reset; other events are ignored\n"
    "  Thread,Time,Action,Pointer,Size,Stream\n"
    "                        what RMM logs: allocate, free, and 'allocate\n"
    "                        failure', which is ignored\n"
    "\n"
    "The arena:\n"
    "  --preset NAME         pool (the default), grow, bfc, mlx-cpu,\n"
    "                        mlx-cuda, cupy-pool, driver-pool\n"
    "  --memory NAME         none (the default): addresses only, so that any\n"
    "                        size can be tried; or another that 'cuarena\n"
    "                        info' lists, such as pageable\n"
    "  --pool SIZE           the size of the pool, or the limit of an arena\n"
    "                        that grows: 512MiB, 4G, 80%, bytes; auto (the\n"
    "                        default): twice the peak of the trace, at most\n"
    "                        64TiB\n"
    "  --policy NAME         how free ranges are chosen: default, best and\n"
    "                        what else the option 'placement' accepts\n"
    "  --option KEY=VALUE    any option that 'cuarena info --options' lists\n"
    "\n"
    "The replay:\n"
    "  --api NAME            pointers (the default), or blocks: ids that\n"
    "                        survive moves\n"
    "  --compact WHEN        never (the default); on-fragmented: a request\n"
    "                        for which enough bytes are free, but not\n"
    "                        together, moves blocks until it fits\n"
    "  --repeat N            replay the trace N times in the same arena; what\n"
    "                        lives after a pass is freed before the next\n"
    "  --streams             allocate and free on the streams of the trace,\n"
    "                        at most 126, rather than on none. On memory none\n"
    "                        they are numbers whose bytes are always idle,\n"
    "                        without a driver; on every other, pageable too,\n"
    "                        streams of the driver, on which nothing runs but\n"
    "                        what the arena itself queues\n"
    "  --verify              replay once more and check each address, each\n"
    "                        move and, on memory that exists, the bytes of\n"
    "                        each block\n"
    "  --min-pool            search the smallest pool in which no request is\n"
    "                        refused, nor in any larger one up to 1.5 peaks\n"
    "  --min-limit           the same of the limit of an arena that grows: of\n"
    "                        the preset, or of grow if that is a pool\n"
    "  --snapshot FILE       write a snapshot of the arena at the first request\n"
    "                        that is refused or, if all are served, at the\n"
    "                        peak: JSON, or for PyTorch's memory viewer if FILE\n"
    "                        ends in .pickle\n"
    "\n"
    "The result:\n"
    "  --json                one JSON object per trace and line\n"
    "  -h, --help            this text\n"
    "\n"
    "A table wider than 120 columns is printed in parts, one below the\n"
    "other. In it, 'peak' is the highest sum of live blocks, 'largest free'\n"
    "the largest free range at that moment, 'smallest/peak' what --min-pool\n"
    "found and 'limit/peak' what --min-limit did: 1 is the limit, '-' means\n"
    "more than 1.5.\n"
    "'reserved/peak' is the most that was taken from the memory, over the\n"
    "peak; 'memory calls' are calls of the memory, and 'driver calls' those\n"
    "of a driver that they made, 0 without one. 'steals' are requests that\n"
    "got bytes of another stream by waiting for it; then come the waits of\n"
    "streams and of the host. Times are nanoseconds per call: the mean of a\n"
    "run that reads no clock between calls, then percentiles of a run that\n"
    "reads it after each.\n"
    "\n"
    "Exit status: 0 if no request was refused, 1 if some were or a check\n"
    "failed, 2 for bad input, which one line on stderr explains.\n"
    "\n"
    "Examples:\n"
    "  cuarena replay traces/*.csv.gz\n"
    "  cuarena replay --preset grow --streams traces/multistream.csv.gz\n"
    "  cuarena replay --min-pool --policy best traces/gpt2_train.csv.gz\n"
    "  cuarena replay --min-limit --option handle=2MiB traces/*.csv.gz\n"
    "  cuarena replay --pool 718MiB --compact on-fragmented --verify \\\n"
    "      traces/cupy_analytics.csv.gz\n";

/* What is worth saying although there is a result. */
static void tell_notes(const trace_t *trace, const measure_t *m)
{
    progress_clear();
    if (trace->passed_over > 0)
        fprintf(stderr,
                "cuarena: %s: note: passed over %" PRIu64 " lines of failed or empty requests\n",
                trace->path, trace->passed_over);
    if (m->failed > 0)
        fprintf(stderr, "cuarena: %s (%" PRIu64 " events were not served)\n", m->refusal.text,
                m->failed);
    if (m->mismatch.text[0] != '\0')
        fprintf(stderr, "cuarena: %s\n", m->mismatch.text);
}

static bool is_served(const measure_t *m)
{
    return m->failed == 0 && m->mismatch.text[0] == '\0';
}

/* JSON is written line by line, the table when all is known. */
static int replay_all(const options_t *o, const trace_t *traces, measure_t *measures)
{
    fault_t fault = {""};
    int status = STATUS_SERVED;
    for (size_t i = 0; i < o->operand_count; i++) {
        progress_task(trace_title(&traces[i]), i + 1, o->operand_count);
        if (!measure_trace(&o->ask, &traces[i], &measures[i], &fault))
            return command_fail(&fault);
        tell_notes(&traces[i], &measures[i]);
        if (!is_served(&measures[i]))
            status = STATUS_REFUSED;
        if (o->json &&
            (!report_json(&o->ask, &traces[i], &measures[i], stdout) || fflush(stdout) != 0))
            break;
    }
    if (!o->json)
        report_table(&o->ask, traces, measures, o->operand_count, stdout);
    return command_end(status);
}

int command_replay(int argc, char **argv)
{
    options_t o;
    trace_t *traces = NULL;
    fault_t fault = {""};
    if (!options_parse(argc, argv, OPTIONS_ARENA | OPTIONS_SHARED | OPTIONS_REPLAY, &o, &fault))
        return command_fail(&fault);
    if (o.help) {
        fputs(help, stdout);
        return command_end(STATUS_SERVED);
    }
    if (o.ask.snapshot != NULL && o.operand_count > 1) {
        (void)fault_set(&fault, "--snapshot with %zu traces, expected one", o.operand_count);
        return command_fail(&fault);
    }
    if (!options_load(&o, &traces, &fault))
        return command_fail(&fault);
    measure_t *measures = must_have(NULL, o.operand_count, sizeof *measures);
    int status = replay_all(&o, traces, measures);
    free(measures);
    options_unload(&o, traces);
    return status;
}
