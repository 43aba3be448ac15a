#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "convert.h"
#include "options.h"
#include "page.h"
#include "picture.h"
#include "progress.h"
#include "recorded.h"
#include "replayed.h"
#include "state.h"

static const char help[] =
    "Usage: cuarena report [OPTION]... TRACE|SNAPSHOT [-o FILE]\n"
    "\n"
    "Draws what an arena did, as one HTML file that needs nothing else and no\n"
    "network: where each block was and for how long, what was live and\n"
    "reserved, free ranges by size, fragmentation, moves, the first request\n"
    "that was refused and which blocks stood in its way, tags and the options\n"
    "of the arena. The key ? tells in the page how to move in it.\n"
    "\n"
    "A trace is replayed, unless it says itself where the blocks were, in\n"
    "columns op, id, size and address: that is drawn as it was. A snapshot is\n"
    "JSON that an arena wrote; it has one moment.\n"
    "\n"
    "At least one of:\n"
    "  -o, --output FILE     the page; - is standard output, also of the others\n"
    "  --svg FILE            a picture of all of it, for a paper\n"
    "  --png FILE            the same as pixels, by the command rsvg-convert\n"
    "and:\n"
    "  --colour NAME         tag (the default where there are tags), size,\n"
    "                        stream or lifetime: of pictures, and of the page\n"
    "                        as it opens\n"
    "\n"
    "The arena:\n"
    "  --preset NAME         pool (the default), grow, bfc, mlx-cpu,\n"
    "                        mlx-cuda, cupy-pool, driver-pool\n"
    "  --memory NAME         none (the default), or another that 'cuarena\n"
    "                        info' lists\n"
    "  --pool SIZE           the size of the pool, or the limit of an arena\n"
    "                        that grows; auto (the default): twice the peak\n"
    "  --policy NAME         how free ranges are chosen\n"
    "  --option KEY=VALUE    any option that 'cuarena info --options' lists\n"
    "\n"
    "The replay:\n"
    "  --api NAME            pointers (the default) or blocks\n"
    "  --compact WHEN        never (the default) or on-fragmented\n"
    "  --streams             allocate and free on the streams of the trace\n"
    "  --replay              also a trace that says where the blocks were\n"
    "  -h, --help            this text\n"
    "\n"
    "Traces, and what these options do, are those of 'cuarena replay'; a\n"
    "report is of one pass of one trace. A million events make a page of less\n"
    "than 20 MB; those who open it need a browser of 2023 or newer.\n"
    "\n"
    "Exit status: 0 if no request was refused, 1 if some were, which the page\n"
    "shows, 2 for bad input, which one line on stderr explains.\n"
    "\n"
    "Examples:\n"
    "  cuarena report traces/gpt2_train.csv.gz -o gpt2.html\n"
    "  cuarena report --preset grow --streams traces/multistream.csv.gz \\\n"
    "      -o multistream.html\n"
    "  cuarena report --pool 718MiB --compact on-fragmented \\\n"
    "      traces/cupy_analytics.csv.gz -o cupy.html\n";

/* Writes one file by a function of a subject. */
typedef void (*write_fn)(const page_subject_t *subject, FILE *out);

static bool write_file(const char *path, write_fn write, const page_subject_t *subject,
                       fault_t *fault)
{
    bool is_stdout = strcmp(path, "-") == 0;
    FILE *out = is_stdout ? stdout : fopen(path, "wb");
    if (out == NULL)
        return fault_set(fault, "%s: %s", path, strerror(errno));
    write(subject, out);
    bool good = !ferror(out);
    good = (is_stdout ? fflush(out) : fclose(out)) == 0 && good;
    return good ||
           fault_set(fault, "%s: %s", is_stdout ? "standard output" : path, strerror(errno));
}

static bool write_png(const char *path, const page_subject_t *subject, fault_t *fault)
{
    FILE *svg = tmpfile();
    if (svg == NULL)
        return fault_set(fault, "--png: a temporary file: %s", strerror(errno));
    picture_write(subject, svg);
    bool good = convert_to_png(svg, path, fault);
    (void)fclose(svg);
    return good;
}

static bool write_all(const options_t *o, const page_subject_t *subject, fault_t *fault)
{
    return (o->output == NULL || write_file(o->output, page_write, subject, fault)) &&
           (o->svg == NULL || write_file(o->svg, picture_write, subject, fault)) &&
           (o->png == NULL || write_png(o->png, subject, fault));
}

static void tell_refusal(const history_t *history)
{
    progress_clear();
    fprintf(stderr, "cuarena: %s (%zu requests were not served)\n", history->refusal.text,
            history->refusal_count);
}

/* Replays the trace in the arena that is asked for. */
static bool replay(const options_t *o, const source_t *source, player_setup_t *setup,
                   history_t *history, fault_t *fault)
{
    trace_t trace;
    if (!trace_parse(o->operands[0], source, &trace, fault))
        return false;
    progress_task(trace_title(&trace), 1, 1);
    bool good = options_check_streams(o, &trace, fault) &&
                measure_setup(&o->ask, &trace, setup, fault) &&
                replayed_history(setup, &trace, history, fault);
    trace_free(&trace);
    return good;
}

/* Reads the file as what it is. `replayed_out` says whether `setup` is of its arena. */
static bool make_history(const options_t *o, player_setup_t *setup, bool *replayed_out,
                         history_t *history, fault_t *fault)
{
    bool good;
    source_t source;
    const char *path = o->operands[0];
    if (!source_read(path, state_is, &source, fault))
        return false;
    bool is_state = state_is(source.text, source.length);
    if (!is_state)
        source_keep_whole_lines(&source);
    *replayed_out = !is_state && (o->replay || !recorded_is(&source));
    if (*replayed_out)
        good = replay(o, &source, setup, history, fault);
    else if (is_state)
        good = state_history(source_name(path), &source, history, fault);
    else
        good = recorded_history(source_name(path), &source, history, fault);
    if (good)
        source_tell_cut(&source, path);
    source_free(&source);
    return good;
}

static int report(const options_t *o)
{
    fault_t fault = {""};
    player_setup_t setup;
    history_t history;
    bool replayed;
    if (!make_history(o, &setup, &replayed, &history, &fault))
        return command_fail(&fault);
    const char *path = source_name(o->operands[0]);
    const page_subject_t subject = {trace_title_of(path), replayed ? &setup : NULL, &history,
                                    o->colour};
    bool good = write_all(o, &subject, &fault);
    bool refused = replayed && history.refusal_count > 0;
    if (refused)
        tell_refusal(&history);
    history_free(&history);
    if (!good)
        return command_fail(&fault);
    return command_end(refused ? STATUS_REFUSED : STATUS_SERVED);
}

/* One trace, and a file to write. */
static bool check(const options_t *o, fault_t *fault)
{
    if (o->operand_count == 0)
        return fault_set(fault, "no trace is named, expected one, or a snapshot");
    if (o->operand_count > 1)
        return fault_set(fault, "report has '%s' too, expected one trace",
                         fault_quote(o->operands[1], strlen(o->operands[1])));
    if (o->output == NULL && o->svg == NULL && o->png == NULL)
        return fault_set(fault, "report has no file to write, expected -o, --svg or --png FILE");
    return options_check_outputs(o, fault);
}

int command_report(int argc, char **argv)
{
    options_t o;
    fault_t fault = {""};
    if (!options_parse(argc, argv, OPTIONS_ARENA | OPTIONS_REPORT, &o, &fault))
        return command_fail(&fault);
    if (o.help) {
        fputs(help, stdout);
        return command_end(STATUS_SERVED);
    }
    return check(&o, &fault) ? report(&o) : command_fail(&fault);
}
