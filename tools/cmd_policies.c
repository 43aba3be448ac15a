#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choices.h"
#include "commands.h"
#include "json.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "table.h"

#define TIMED_RUNS 3

static const char help[] =
    "Usage: cuarena policies [OPTION]... TRACE...\n"
    "\n"
    "Replays each trace under each placement policy. For each there are two\n"
    "columns: below its name the smallest pool in which no request is\n"
    "refused, over the peak (1 is the limit, '-' is more than 1.5; see\n"
    "--min-pool of 'cuarena replay'), and below ns the mean nanoseconds per\n"
    "call. The last row has the geometric means of all traces.\n"
    "\n"
    "  --preset NAME         pool (the default), grow, bfc, mlx-cpu,\n"
    "                        mlx-cuda, cupy-pool, driver-pool\n"
    "  --memory NAME         for the times: none (the default) or another\n"
    "                        that 'cuarena info' lists\n"
    "  --pool SIZE           for the times: as for 'cuarena replay'\n"
    "  --option KEY=VALUE    any option that 'cuarena info --options' lists\n"
    "  --api NAME            pointers (the default) or blocks\n"
    "  --repeat N            for the times: replay each trace N times; the\n"
    "                        fastest of three such runs counts\n"
    "  --json                one JSON object per trace, policy and line; in\n"
    "                        those of the means the trace is null\n"
    "  -h, --help            this text\n"
    "\n"
    "Traces and exit status are those of 'cuarena replay'.\n"
    "\n"
    "Example:\n"
    "  cuarena policies traces/*.csv.gz\n";

/* What is compared of one trace under one policy; 0: there is none. */
typedef struct figures {
    double ratio;
    double ns;
} figures_t;

typedef struct comparison {
    const options_t *options;
    const trace_t *traces;
    choices_t policies;
    figures_t *figures; /* by trace, then by policy */
    bool refused;       /* some event somewhere */
} comparison_t;

static figures_t *figures_of(const comparison_t *c, size_t trace, size_t policy)
{
    return &c->figures[trace * c->policies.count + policy];
}

static bool measure(comparison_t *c, size_t trace, size_t policy, fault_t *fault)
{
    measure_t m;
    measure_ask_t ask = c->options->ask;
    const char *word = c->policies.words[policy];
    ask.min_pool = true;
    ask.runs = TIMED_RUNS;
    if (cuarena_config_set(&ask.setup.config, "placement", word) != CUARENA_OK)
        return fault_library(fault, "policy '%s'", word);
    if (!measure_trace(&ask, &c->traces[trace], &m, fault))
        return false;
    if (m.failed > 0) {
        progress_clear();
        fprintf(stderr, "cuarena: policy %s: %s\n", word, m.refusal.text);
        c->refused = true;
    }
    double ratio = m.min_pool.found ? m.min_pool.ratio : 0;
    *figures_of(c, trace, policy) = (figures_t){ratio, m.ns_mean};
    return true;
}

static bool measure_all(comparison_t *c, fault_t *fault)
{
    size_t count = c->options->operand_count;
    for (size_t trace = 0; trace < count; trace++) {
        progress_task(trace_title(&c->traces[trace]), trace + 1, count);
        for (size_t policy = 0; policy < c->policies.count; policy++)
            if (!measure(c, trace, policy, fault))
                return false;
    }
    progress_clear();
    return true;
}

/* Of what a policy has on all traces; 0 where one of them is 0. */
static figures_t geometric_mean(const comparison_t *c, size_t policy)
{
    size_t count = c->options->operand_count;
    figures_t sums = {0, 0};
    for (size_t trace = 0; trace < count; trace++) {
        const figures_t *figures = figures_of(c, trace, policy);
        sums.ratio += log(figures->ratio);
        sums.ns += log(figures->ns);
    }
    return (figures_t){exp(sums.ratio / (double)count), exp(sums.ns / (double)count)};
}

/* ---- The table --------------------------------------------------------- */

static void add_figures(table_t *table, figures_t figures)
{
    if (figures.ratio > 0)
        table_add(table, "%.3f", figures.ratio);
    else
        table_add(table, "-");
    table_add(table, "%.1f", figures.ns);
}

static void print_table(const comparison_t *c)
{
    const cuarena_config_t *config = &c->options->ask.setup.config;
    table_t table = {.columns = 1 + 2 * c->policies.count};
    printf("preset %s, ", report_option(config, "preset"));
    printf("memory %s, ", report_option(config, "memory"));
    printf("%s\n", c->options->ask.setup.blocks ? "blocks" : "pointers");
    printf("by policy: the smallest pool over the peak, and mean nanoseconds "
           "per call\n");
    table_add(&table, "trace");
    for (size_t policy = 0; policy < c->policies.count; policy++) {
        table_add(&table, "%s", c->policies.words[policy]);
        table_add(&table, "ns");
    }
    for (size_t trace = 0; trace < c->options->operand_count; trace++) {
        table_add(&table, "%s", trace_title(&c->traces[trace]));
        for (size_t policy = 0; policy < c->policies.count; policy++)
            add_figures(&table, *figures_of(c, trace, policy));
    }
    table_add(&table, "geometric mean");
    for (size_t policy = 0; policy < c->policies.count; policy++)
        add_figures(&table, geometric_mean(c, policy));
    table_print(&table, stdout);
}

/* ---- JSON -------------------------------------------------------------- */

static void print_line(const comparison_t *c, const char *trace, size_t policy, figures_t figures)
{
    json_t *object = json_object();
    json_add_text(object, "trace", trace);
    json_add_text(object, "policy", c->policies.words[policy]);
    if (figures.ratio > 0)
        json_add_number(object, "min_pool_ratio", figures.ratio);
    else
        json_add_null(object, "min_pool_ratio");
    json_add_number(object, "ns_per_op_mean", figures.ns);
    (void)json_print_line(object, stdout);
}

static void print_json(const comparison_t *c)
{
    for (size_t trace = 0; trace < c->options->operand_count; trace++)
        for (size_t policy = 0; policy < c->policies.count; policy++)
            print_line(c, c->traces[trace].path, policy, *figures_of(c, trace, policy));
    for (size_t policy = 0; policy < c->policies.count; policy++)
        print_line(c, NULL, policy, geometric_mean(c, policy));
}

/* ---- The whole --------------------------------------------------------- */

static int compare(comparison_t *c)
{
    fault_t fault = {""};
    if (!measure_all(c, &fault))
        return command_fail(&fault);
    if (c->options->json)
        print_json(c);
    else
        print_table(c);
    return command_end(c->refused ? STATUS_REFUSED : STATUS_SERVED);
}

int command_policies(int argc, char **argv)
{
    options_t o;
    trace_t *traces = NULL;
    fault_t fault = {""};
    comparison_t c = {.options = &o};
    if (!options_parse(argc, argv, OPTIONS_ARENA | OPTIONS_SHARED, &o, &fault))
        return command_fail(&fault);
    if (o.help) {
        fputs(help, stdout);
        return command_end(STATUS_SERVED);
    }
    if (!choices_of("placement", &c.policies, &fault) || !options_load(&o, &traces, &fault))
        return command_fail(&fault);
    c.traces = traces;
    c.figures = must_have(NULL, o.operand_count * c.policies.count, sizeof *c.figures);
    int status = compare(&c);
    free(c.figures);
    options_unload(&o, traces);
    return status;
}
