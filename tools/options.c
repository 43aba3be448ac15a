#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "colouring.h"
#include "torch_snapshot.h"

#define MOST_PASSES UINT64_C(1000000)
/* Percent. */
#define DEFAULT_ROOM 2
#define MOST_ROOM 400
#define MOST_DEVICE 65535

/* ---- One function for each option: `value` is NULL if it takes none ------ */

/* `given` is what stands on the command line. */
static bool set_key(options_t *o, const char *option, const char *given, const char *key,
                    const char *value, fault_t *fault)
{
    if (cuarena_config_set(&o->ask.setup.config, key, value) == CUARENA_OK)
        return true;
    return fault_library(fault, "%s is '%s'", option, fault_quote(given, strlen(given)));
}

static bool set_preset(options_t *o, const char *value, fault_t *fault)
{
    return set_key(o, "--preset", value, "preset", value, fault);
}

static bool set_memory(options_t *o, const char *value, fault_t *fault)
{
    return set_key(o, "--memory", value, "memory", value, fault);
}

static bool set_policy(options_t *o, const char *value, fault_t *fault)
{
    return set_key(o, "--policy", value, "placement", value, fault);
}

static bool set_option(options_t *o, const char *value, fault_t *fault)
{
    char key[64];
    const char *equals = strchr(value, '=');
    size_t length = equals != NULL ? (size_t)(equals - value) : 0;
    if (length == 0 || length >= sizeof key)
        return fault_set(fault, "--option is '%s', expected KEY=VALUE",
                         fault_quote(value, strlen(value)));
    memcpy(key, value, length);
    key[length] = '\0';
    if (strcmp(key, "pool") == 0)
        return fault_set(fault,
                         "--option is '%s', expected another key: --pool sets "
                         "the size of the pool",
                         fault_quote(value, strlen(value)));
    o->limit_given = o->limit_given || strcmp(key, "limit") == 0;
    return set_key(o, "--option", value, key, equals + 1, fault);
}

static bool set_pool(options_t *o, const char *value, fault_t *fault)
{
    cuarena_config_t read; /* the arena may have a limit instead */
    o->ask.pool_auto = strcmp(value, "auto") == 0;
    if (o->ask.pool_auto)
        return true;
    cuarena_config_init(&read);
    if (cuarena_config_set(&read, "pool", value) != CUARENA_OK)
        return fault_library(fault, "--pool is '%s'", fault_quote(value, strlen(value)));
    o->ask.pool = read.pool;
    return true;
}

/* Sets whether `value` is the second of two words. */
static bool set_word(bool *second_out, const char *option, const char *first, const char *second,
                     const char *value, fault_t *fault)
{
    *second_out = strcmp(value, second) == 0;
    if (*second_out || strcmp(value, first) == 0)
        return true;
    return fault_set(fault, "%s is '%s', expected %s or %s", option,
                     fault_quote(value, strlen(value)), first, second);
}

static bool set_api(options_t *o, const char *value, fault_t *fault)
{
    return set_word(&o->ask.setup.blocks, "--api", "pointers", "blocks", value, fault);
}

static bool set_compact(options_t *o, const char *value, fault_t *fault)
{
    return set_word(&o->ask.setup.compact, "--compact", "never", "on-fragmented", value, fault);
}

static bool set_whole(uint64_t *number_out, const char *option, uint64_t least, uint64_t most,
                      const char *value, fault_t *fault)
{
    char *end = NULL;
    errno = 0;
    *number_out = strtoull(value, &end, 10);
    if (errno == 0 && value[0] != '\0' && strspn(value, "0123456789") == strlen(value) &&
        *number_out >= least && *number_out <= most)
        return true;
    return fault_set(fault, "%s is '%s', expected a whole number from %" PRIu64 " to %" PRIu64,
                     option, fault_quote(value, strlen(value)), least, most);
}

static bool set_repeat(options_t *o, const char *value, fault_t *fault)
{
    return set_whole(&o->ask.passes, "--repeat", 1, MOST_PASSES, value, fault);
}

static bool set_target(options_t *o, const char *value, fault_t *fault)
{
    o->advice.target = advice_target(value);
    return o->advice.target != NULL ||
           fault_set(fault, "--for is '%s', expected device or pageable",
                     fault_quote(value, strlen(value)));
}

static bool set_room(options_t *o, const char *value, fault_t *fault)
{
    return set_whole(&o->advice.room_percent, "--room", 0, MOST_ROOM, value, fault);
}

static bool set_from(options_t *o, const char *value, fault_t *fault)
{
    o->import.from = value;
    return strcmp(value, "rmm") == 0 || strcmp(value, "pytorch") == 0 ||
           fault_set(fault, "--from is '%s', expected rmm or pytorch",
                     fault_quote(value, strlen(value)));
}

static bool set_device(options_t *o, const char *value, fault_t *fault)
{
    uint64_t device = 0;
    if (!set_whole(&device, "--device", 0, MOST_DEVICE, value, fault))
        return false;
    o->import.device = (int64_t)device;
    return true;
}

static bool set_min_pool(options_t *o, const char *value, fault_t *fault)
{
    (void)value, (void)fault;
    return o->ask.min_pool = true;
}

static bool set_min_limit(options_t *o, const char *value, fault_t *fault)
{
    (void)value, (void)fault;
    return o->ask.min_limit = true;
}

static bool set_streams(options_t *o, const char *value, fault_t *fault)
{
    (void)value, (void)fault;
    return o->ask.setup.streams = true;
}

static bool set_verify(options_t *o, const char *value, fault_t *fault)
{
    (void)value, (void)fault;
    return o->ask.verify = true;
}

static bool set_svg(options_t *o, const char *value, fault_t *fault)
{
    (void)fault;
    o->svg = value;
    return true;
}

static bool set_png(options_t *o, const char *value, fault_t *fault)
{
    (void)fault;
    o->png = value;
    return true;
}

static bool set_colour(options_t *o, const char *value, fault_t *fault)
{
    o->colour = value;
    return colouring_is(value) ||
           fault_set(fault, "--colour is '%s', expected tag, size, stream or lifetime",
                     fault_quote(value, strlen(value)));
}

static bool set_replay(options_t *o, const char *value, fault_t *fault)
{
    (void)value, (void)fault;
    return o->replay = true;
}

static bool set_snapshot(options_t *o, const char *value, fault_t *fault)
{
    (void)fault;
    o->ask.snapshot = value;
    return true;
}

static bool set_once(options_t *o, const char *value, fault_t *fault)
{
    (void)value, (void)fault;
    return o->once = true;
}

static bool set_arena(options_t *o, const char *value, fault_t *fault)
{
    return set_whole(&o->arena, "--arena", 1, UINT64_MAX, value, fault);
}

static bool set_format(options_t *o, const char *value, fault_t *fault)
{
    bool pytorch;
    if (!set_word(&pytorch, "--format", "json", "pytorch", value, fault))
        return false;
    o->format = pytorch ? FORMAT_PYTORCH : FORMAT_JSON;
    return true;
}

static bool set_output(options_t *o, const char *value, fault_t *fault)
{
    (void)fault;
    o->output = value;
    return true;
}

static bool set_json(options_t *o, const char *value, fault_t *fault)
{
    (void)value, (void)fault;
    return o->json = true;
}

static bool set_list_options(options_t *o, const char *value, fault_t *fault)
{
    (void)value, (void)fault;
    return o->list_options = true;
}

static bool set_help(options_t *o, const char *value, fault_t *fault)
{
    (void)value, (void)fault;
    return o->help = true;
}

/* ---- The table of them -------------------------------------------------- */

typedef struct option_row {
    const char *name;
    unsigned groups; /* OPTIONS_...; 0: every command has it */
    int argument;    /* of getopt */
    bool (*set)(options_t *, const char *, fault_t *);
} option_row_t;

static const option_row_t rows[] = {
    {"help", 0, no_argument, set_help},
    {"output", OPTIONS_IMPORT | OPTIONS_REPORT | OPTIONS_SNAPSHOT, required_argument, set_output},
    {"preset", OPTIONS_ARENA, required_argument, set_preset},
    {"memory", OPTIONS_ARENA, required_argument, set_memory},
    {"pool", OPTIONS_ARENA, required_argument, set_pool},
    {"option", OPTIONS_ARENA, required_argument, set_option},
    {"api", OPTIONS_ARENA, required_argument, set_api},
    {"repeat", OPTIONS_SHARED, required_argument, set_repeat},
    {"json", OPTIONS_SHARED | OPTIONS_INFO | OPTIONS_ADVISE | OPTIONS_TOP, no_argument, set_json},
    {"policy", OPTIONS_REPLAY | OPTIONS_REPORT, required_argument, set_policy},
    {"compact", OPTIONS_REPLAY | OPTIONS_REPORT, required_argument, set_compact},
    {"min-pool", OPTIONS_REPLAY, no_argument, set_min_pool},
    {"min-limit", OPTIONS_REPLAY, no_argument, set_min_limit},
    {"streams", OPTIONS_REPLAY | OPTIONS_REPORT, no_argument, set_streams},
    {"replay", OPTIONS_REPORT, no_argument, set_replay},
    {"svg", OPTIONS_REPORT, required_argument, set_svg},
    {"png", OPTIONS_REPORT, required_argument, set_png},
    {"colour", OPTIONS_REPORT, required_argument, set_colour},
    {"verify", OPTIONS_REPLAY, no_argument, set_verify},
    {"snapshot", OPTIONS_REPLAY, required_argument, set_snapshot},
    {"once", OPTIONS_TOP, no_argument, set_once},
    {"arena", OPTIONS_SNAPSHOT, required_argument, set_arena},
    {"format", OPTIONS_SNAPSHOT, required_argument, set_format},
    {"options", OPTIONS_INFO, no_argument, set_list_options},
    {"for", OPTIONS_ADVISE, required_argument, set_target},
    {"room", OPTIONS_ADVISE, required_argument, set_room},
    {"from", OPTIONS_IMPORT, required_argument, set_from},
    {"device", OPTIONS_IMPORT, required_argument, set_device},
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])

/* What getopt returns for rows[i] is FIRST_CODE + i: no character. The first rows have letters. */
#define FIRST_CODE 256
#define LETTERS "ho"

/* The letters that a command takes, as getopt wants them. */
static const char *letters_of(unsigned groups)
{
    return (groups & (OPTIONS_IMPORT | OPTIONS_REPORT | OPTIONS_SNAPSHOT)) != 0 ? ":ho:" : ":h";
}

/* What getopt returned, with the code of its row for a letter. */
static int code_of(int code)
{
    const char *letter = code < FIRST_CODE ? strchr(LETTERS, code) : NULL;
    return letter != NULL ? FIRST_CODE + (int)(letter - LETTERS) : code;
}

/* What getopt takes, ended as it wants it. */
static void list_rows(unsigned groups, struct option *list)
{
    size_t count = 0;
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].groups == 0 || (rows[i].groups & groups) != 0)
            list[count++] =
                (struct option){rows[i].name, rows[i].argument, NULL, FIRST_CODE + (int)i};
    list[count] = (struct option){NULL, 0, NULL, 0};
}

/* "--help, --preset or --json", of what the command takes. */
static void tell_names(const struct option *list, char *text, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; list[i].name != NULL && used < room; i++) {
        const char *before = i == 0 ? "" : list[i + 1].name == NULL ? " or " : ", ";
        used += (size_t)snprintf(text + used, room - used, "%s--%s", before, list[i].name);
    }
}

/* `code` is ':' or '?', as getopt tells of an option it cannot take. */
static bool wrong_option(int code, char **argv, const struct option *list, fault_t *fault)
{
    char names[256];
    const char *text = argv[optind - 1];
    const char *quoted = fault_quote(text, strlen(text));
    if (code == ':')
        return fault_set(fault, "option '%s' has no value, expected one", quoted);
    if (optopt >= FIRST_CODE)
        return fault_set(fault, "option '%s' has a value, expected none", quoted);
    tell_names(list, names, sizeof names);
    return fault_set(fault, "unknown option '%s' of %s, expected %s", quoted, argv[0], names);
}

/* The arena whose smallest limit is searched: the one that is asked for, or what its options are
 * with preset grow. `growing` is as the setup was before it was resolved. */
static bool set_growing(options_t *o, fault_t *fault)
{
    player_setup_t *growing = &o->ask.growing;
    if (player_grows(&o->ask.setup)) {
        *growing = o->ask.setup;
        return true;
    }
    growing->config.preset = CUARENA_PRESET_GROW;
    if (cuarena_config_resolve(&growing->config) != CUARENA_OK)
        return fault_library(fault, "options with preset grow, for --min-limit");
    return player_grows(growing) ||
           fault_set(fault, "--option is 'grow=none', expected another with "
                            "--min-limit: only an arena that grows has a limit");
}

bool options_parse(int argc, char **argv, unsigned groups, options_t *options_out, fault_t *fault)
{
    struct option list[ROW_COUNT + 1];
    options_t *o = options_out;
    *o = (options_t){.ask = {.pool_auto = true, .passes = 1, .runs = 1},
                     .advice = {.target = advice_target("device"), .room_percent = DEFAULT_ROOM},
                     .import = {.device = TORCH_ANY_DEVICE}};
    cuarena_config_init(&o->ask.setup.config);
    o->ask.setup.config.memory = CUARENA_MEMORY_NONE;
    list_rows(groups, list);
    opterr = 0;
    while (!o->help) {
        int code = getopt_long(argc, argv, letters_of(groups), list, NULL);
        if (code == -1)
            break;
        if (code == ':' || code == '?')
            return wrong_option(code, argv, list, fault);
        if (!rows[code_of(code) - FIRST_CODE].set(o, optarg, fault))
            return false;
    }
    o->operands = argv + optind;
    o->operand_count = (size_t)(argc - optind);
    o->ask.growing = o->ask.setup;
    if (cuarena_config_resolve(&o->ask.setup.config) != CUARENA_OK)
        return fault_library(fault, "options");
    if (o->limit_given && o->ask.setup.config.grow != CUARENA_GROW_NONE)
        return fault_set(fault, "--option has 'limit', expected another key: "
                                "--pool sets the limit of an arena that grows");
    if (o->limit_given && o->ask.min_limit)
        return fault_set(fault, "--option has 'limit', expected another key with --min-limit: "
                                "it searches the limit");
    return !o->ask.min_limit || set_growing(o, fault);
}

/* ---- Traces ------------------------------------------------------------- */

bool options_check_outputs(const options_t *options, fault_t *fault)
{
    const char *trace = options->ask.setup.config.trace;
    const struct output {
        const char *option;
        const char *path;
    } outputs[] = {
        {"--output", options->output},
        {"--svg", options->svg},
        {"--png", options->png},
        {"--snapshot", options->ask.snapshot},
        {"--option trace", trace[0] != '\0' ? trace : NULL},
    };
    for (size_t i = 0; i < options->operand_count; i++)
        for (size_t j = 0; j < sizeof outputs / sizeof outputs[0]; j++)
            if (!source_check_output(options->operands[i], outputs[j].option, outputs[j].path,
                                     fault))
                return false;
    return true;
}

bool options_check_streams(const options_t *options, const trace_t *trace, fault_t *fault)
{
    return !options->ask.setup.streams || trace->has_streams ||
           fault_set(fault,
                     "%s: no call is on a stream, expected a column named stream "
                     "(RMM's: Stream) that names some for --streams",
                     trace->path);
}

bool options_load(const options_t *options, trace_t **traces_out, fault_t *fault)
{
    size_t count = options->operand_count;
    if (count == 0)
        return fault_set(fault, "no trace is named, expected one or more "
                                "files");
    if (!options_check_outputs(options, fault))
        return false;
    trace_t *traces = must_have(NULL, count, sizeof *traces);
    memset(traces, 0, count * sizeof *traces);
    for (size_t i = 0; i < count; i++) {
        if (!trace_load(options->operands[i], &traces[i], fault) ||
            !options_check_streams(options, &traces[i], fault)) {
            options_unload(options, traces);
            return false;
        }
    }
    *traces_out = traces;
    return true;
}

void options_unload(const options_t *options, trace_t *traces)
{
    for (size_t i = 0; i < options->operand_count; i++)
        trace_free(&traces[i]);
    free(traces);
}
