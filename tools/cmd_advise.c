#include <inttypes.h>
#include <stdio.h>

#include "advice.h"
#include "commands.h"
#include "json.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "table.h"

static const char help[] =
    "Usage: cuarena advise [OPTION]... TRACE...\n"
    "\n"
    "Replays each trace in arenas of every preset that fits, and tells what\n"
    "the program needs, what each of them takes, and the options to set: as\n"
    "text for cuarena_open or CUARENA_CONF. The first line of options is for\n"
    "who has no reason to take another one.\n"
    "\n"
    "  --for NAME            the memory of the program: device (the default)\n"
    "                        or pageable. No driver is opened: everything is\n"
    "                        replayed on addresses, with the pages that this\n"
    "                        memory has\n"
    "  --room PERCENT        what pools and limits in the options have above\n"
    "                        the smallest that serve the trace, for runs that\n"
    "                        differ from it: 2 unless said, at most 400\n"
    "  --json                one JSON object per trace and line\n"
    "  -h, --help            this text\n"
    "\n"
    "Traces are those of 'cuarena replay'. One with several streams, at most\n"
    "126, is replayed on them; what its columns NAME_reserved say is shown\n"
    "beside, with what the first options save of it. Traces of PyTorch and RMM\n"
    "are made by 'cuarena import'. A trace of 30000 events on one stream takes\n"
    "one or two seconds, on several some six, most of it for the smallest pool\n"
    "and limit, and longer ones longer in proportion.\n"
    "\n"
    "Exit status: 0, 1 if no options serve a trace, 2 for bad input, which\n"
    "one line on stderr explains.\n"
    "\n"
    "Examples:\n"
    "  cuarena advise traces/gpt2_train.csv.gz\n"
    "  CUARENA_CONF=$(cuarena advise --json program.csv |\n"
    "      jq -r '.advice[0].options') ./program\n";

/* Over the peak. */
static double ratio_of(const advice_t *advice, uint64_t bytes)
{
    return (double)bytes / (double)advice->peak_live_bytes;
}

/* What the first options take at most, of what was recorded: 0.25 is a quarter less, below 0 is
 * more. */
static double saved_ratio(const advice_t *advice, const trace_figure_t *figure)
{
    return 1 - (double)advice->choices[0].bytes / (double)figure->most_bytes;
}

static bool has_saving(const advice_t *advice, const trace_figure_t *figure)
{
    return advice->choice_count > 0 && figure->most_bytes > 0;
}

/* ---- The text ------------------------------------------------------------- */

static void add_line(table_t *table, const advice_t *advice, const char *name, uint64_t bytes)
{
    table_add(table, "%s", name);
    table_add_bytes(table, bytes);
    table_add(table, "%.3f", ratio_of(advice, bytes));
}

static void add_smallest(table_t *table, const advice_t *advice, const char *name,
                         const smallest_t *smallest)
{
    if (!smallest->found)
        return;
    add_line(table, advice, name, smallest->bytes);
    table_add(table, "%s", "");
}

static void add_row(table_t *table, const advice_t *advice, const advice_row_t *row)
{
    if (row->why_not != NULL)
        return;
    add_line(table, advice, row->name, row->reserved_bytes);
    if (row->failed > 0)
        table_add(table, "refused %" PRIu64, row->failed);
    else
        table_add(table, "%" PRIu64, row->memory_calls);
}

static void print_figures(const trace_t *trace, const advice_t *advice)
{
    table_t table = {.columns = 4};
    table_add(&table, "%s", "");
    table_add(&table, "takes");
    table_add(&table, "over peak");
    table_add(&table, "memory calls");
    add_line(&table, advice, "live at most", advice->peak_live_bytes);
    table_add(&table, "%s", "");
    add_smallest(&table, advice, "smallest pool", &advice->min_pool);
    add_smallest(&table, advice, "smallest limit of grow", &advice->min_limit);
    for (size_t i = 0; i < advice->row_count; i++)
        add_row(&table, advice, &advice->rows[i]);
    for (size_t i = 0; i < trace->figure_count; i++) {
        add_line(&table, advice, trace->figures[i].name, trace->figures[i].most_bytes);
        table_add(&table, "recorded");
    }
    table_print(&table, stdout);
    for (size_t i = 0; i < advice->row_count; i++)
        if (advice->rows[i].why_not != NULL)
            printf("left out: %s, %s\n", advice->rows[i].name, advice->rows[i].why_not);
}

static void print_choices(const advice_t *advice, uint64_t room_percent)
{
    printf("\noptions, with %" PRIu64 " %% of room:\n", room_percent);
    for (size_t i = 0; i < advice->choice_count; i++) {
        const advice_choice_t *choice = &advice->choices[i];
        printf("  %s\n      %s %s\n", choice->options, i == 0 ? "use it if" : "or, if",
               choice->when);
    }
    if (advice->choice_count == 0)
        printf("  none: no pool or limit up to 1.5 times the peak serves it\n");
}

static void print_savings(const trace_t *trace, const advice_t *advice)
{
    for (size_t i = 0; i < trace->figure_count; i++) {
        const trace_figure_t *figure = &trace->figures[i];
        if (!has_saving(advice, figure))
            continue;
        double saved = 100 * saved_ratio(advice, figure);
        printf("\n%s reserved %s; ", figure->name, table_bytes(figure->most_bytes));
        printf("the first options take at most %s: %.1f %% %s\n",
               table_bytes(advice->choices[0].bytes), saved < 0 ? -saved : saved,
               saved < 0 ? "more" : "less");
    }
}

static void print_text(const trace_t *trace, const advice_t *advice, uint64_t room_percent)
{
    printf("%s: %" PRIu64 " allocations, ", trace_title(trace), trace->allocs);
    if (trace->stream_count == 1)
        printf("one stream\n");
    else
        printf("%" PRIu32 " streams%s\n", trace->stream_count,
               advice->streams ? "" : ", which are more than an arena knows: replayed on none");
    if (advice->peak_live_bytes == 0) {
        printf("it asks for no bytes: any arena serves it\n");
        return;
    }
    print_figures(trace, advice);
    print_choices(advice, room_percent);
    print_savings(trace, advice);
}

/* ---- JSON ----------------------------------------------------------------- */

static void add_reserved(json_t *object, const advice_t *advice, uint64_t bytes)
{
    json_add_count(object, "reserved_peak_bytes", bytes);
    json_add_number(object, "reserved_ratio", ratio_of(advice, bytes));
}

static json_t *json_of_row(const advice_t *advice, const advice_row_t *row)
{
    json_t *object = json_object();
    json_add_text(object, "preset", row->name);
    json_add_text(object, "why_not", row->why_not);
    if (row->why_not != NULL)
        return object;
    json_add_count(object, "failed", row->failed);
    add_reserved(object, advice, row->reserved_bytes);
    json_add_count(object, "memory_calls", row->memory_calls);
    return object;
}

static json_t *json_of_figure(const advice_t *advice, const trace_figure_t *figure)
{
    json_t *object = json_object();
    json_add_text(object, "name", figure->name);
    add_reserved(object, advice, figure->most_bytes);
    if (has_saving(advice, figure))
        json_add_number(object, "saved_ratio", saved_ratio(advice, figure));
    else
        json_add_null(object, "saved_ratio");
    return object;
}

static json_t *json_of_choice(const advice_t *advice, const advice_choice_t *choice)
{
    json_t *object = json_object();
    json_add_text(object, "options", choice->options);
    json_add_text(object, "when", choice->when);
    json_add_count(object, "bytes", choice->bytes);
    add_reserved(object, advice, choice->reserved_bytes);
    json_add_count(object, "memory_calls", choice->memory_calls);
    return object;
}

static void add_lists(json_t *object, const trace_t *trace, const advice_t *advice)
{
    json_t *presets = json_array(), *recorded = json_array(), *choices = json_array();
    for (size_t i = 0; i < advice->row_count; i++)
        (void)json_array_append_new(presets, json_of_row(advice, &advice->rows[i]));
    for (size_t i = 0; i < trace->figure_count && advice->peak_live_bytes > 0; i++)
        (void)json_array_append_new(recorded, json_of_figure(advice, &trace->figures[i]));
    for (size_t i = 0; i < advice->choice_count; i++)
        (void)json_array_append_new(choices, json_of_choice(advice, &advice->choices[i]));
    json_add_list(object, "presets", presets);
    json_add_list(object, "recorded", recorded);
    json_add_list(object, "advice", choices);
}

static bool print_json(const trace_t *trace, const advice_t *advice)
{
    json_t *object = json_object();
    json_add_text(object, "trace", trace->path);
    json_add_count(object, "allocs", trace->allocs);
    json_add_count(object, "frees", trace->frees);
    json_add_count(object, "streams", advice->streams ? trace->stream_count : 0);
    json_add_count(object, "peak_live_bytes", advice->peak_live_bytes);
    report_smallest(object, "min_pool_bytes", "min_pool_ratio", &advice->min_pool);
    report_smallest(object, "min_limit_bytes", "min_limit_ratio", &advice->min_limit);
    add_lists(object, trace, advice);
    return json_print_line(object, stdout);
}

/* ---- The whole ------------------------------------------------------------ */

static int advise_all(const options_t *o, const trace_t *traces)
{
    advice_t advice;
    fault_t fault = {""};
    int status = STATUS_SERVED;
    for (size_t i = 0; i < o->operand_count; i++) {
        progress_task(trace_title(&traces[i]), i + 1, o->operand_count);
        if (!advice_find(&o->advice, &traces[i], &advice, &fault))
            return command_fail(&fault);
        progress_clear();
        if (advice.choice_count == 0 && advice.peak_live_bytes > 0)
            status = STATUS_REFUSED;
        if (!o->json && i > 0)
            putchar('\n');
        if (!o->json)
            print_text(&traces[i], &advice, o->advice.room_percent);
        else if (!print_json(&traces[i], &advice))
            break;
    }
    return command_end(status);
}

int command_advise(int argc, char **argv)
{
    options_t o;
    trace_t *traces = NULL;
    fault_t fault = {""};
    if (!options_parse(argc, argv, OPTIONS_ADVISE, &o, &fault))
        return command_fail(&fault);
    if (o.help) {
        fputs(help, stdout);
        return command_end(STATUS_SERVED);
    }
    if (!options_load(&o, &traces, &fault))
        return command_fail(&fault);
    int status = advise_all(&o, traces);
    options_unload(&o, traces);
    return status;
}
