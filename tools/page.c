#include "page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "colouring.h"
#include "columns.h"
#include "json.h"
#include "page_text.h"

/* Blocks in the way of a refused request that are named one by one. */
#define NAMED_BLOCKS 64

/* ---- Columns --------------------------------------------------------------- */

typedef uint64_t (*number_fn)(const history_t *history, size_t index);

/* One column: its name on the page, and whether it has steps rather than numbers. */
typedef struct column {
    const char *name;
    bool steps;
    number_fn number;
} column_t;

#define NUMBER_OF(function, expression)                                                            \
    static uint64_t function(const history_t *h, size_t i)                                         \
    {                                                                                              \
        return expression;                                                                         \
    }

NUMBER_OF(stay_begin, h->stays[i].begin)
NUMBER_OF(stay_life, h->stays[i].end - h->stays[i].begin)
NUMBER_OF(stay_offset, history_offset(h, h->stays[i].address) / h->unit_bytes)
NUMBER_OF(stay_bytes, h->stays[i].bytes)
NUMBER_OF(stay_slack, h->stays[i].taken_bytes - h->stays[i].bytes)
NUMBER_OF(stay_block, h->stays[i].block)
NUMBER_OF(stay_line, h->stays[i].line)
NUMBER_OF(stay_stream, h->stays[i].stream)
NUMBER_OF(stay_tag, h->stays[i].tag)
NUMBER_OF(sample_reserved, h->samples[i].reserved_bytes)
NUMBER_OF(sample_live, h->samples[i].live_bytes)
NUMBER_OF(sample_free, h->samples[i].free_bytes)
NUMBER_OF(sample_largest, h->samples[i].largest_bytes)
NUMBER_OF(sample_time, h->samples[i].time_ns)
NUMBER_OF(refusal_moment, h->refusals[i].moment)
NUMBER_OF(refusal_asked, h->refusals[i].asked_bytes)
NUMBER_OF(refusal_free, h->refusals[i].free_bytes)
NUMBER_OF(refusal_largest, h->refusals[i].largest_bytes)
NUMBER_OF(slide_moment, h->slides[i].moment)
NUMBER_OF(slide_moves, h->slides[i].moves)
NUMBER_OF(slide_bytes, h->slides[i].bytes)

static const column_t stay_columns[] = {
    {"begin", true, stay_begin},  {"life", false, stay_life},    {"offset", true, stay_offset},
    {"bytes", false, stay_bytes}, {"slack", false, stay_slack},  {"block", true, stay_block},
    {"line", true, stay_line},    {"stream", true, stay_stream}, {"tag", true, stay_tag},
};
static const column_t sample_columns[] = {
    {"reserved", true, sample_reserved}, {"live", true, sample_live}, {"free", true, sample_free},
    {"largest", true, sample_largest},   {"time", true, sample_time},
};
static const column_t refusal_columns[] = {
    {"moment", true, refusal_moment},
    {"asked", false, refusal_asked},
    {"free", false, refusal_free},
    {"largest", false, refusal_largest},
};
static const column_t slide_columns[] = {
    {"moment", true, slide_moment},
    {"moves", false, slide_moves},
    {"bytes", false, slide_bytes},
};

static void add_column(columns_t *columns, const history_t *history, const column_t *column,
                       size_t count)
{
    columns_begin(columns);
    for (size_t i = 0; i < count; i++) {
        uint64_t number = column->number(history, i);
        if (column->steps)
            columns_add_step(columns, number);
        else
            columns_add(columns, number);
    }
}

/* Adds the columns of a table, and what the page must know to read them to `list`. */
static void add_table(columns_t *columns, json_t *list, const history_t *history, const char *name,
                      const column_t *of_table, size_t column_count, size_t count)
{
    json_t *table = json_object(), *names = json_array();
    json_add_text(table, "name", name);
    json_add_count(table, "rows", count);
    for (size_t i = 0; i < column_count; i++) {
        json_t *column = json_object();
        json_add_text(column, "name", of_table[i].name);
        json_add_flag(column, "steps", of_table[i].steps);
        (void)json_array_append_new(names, column);
        add_column(columns, history, &of_table[i], count);
    }
    json_add_list(table, "columns", names);
    (void)json_array_append_new(list, table);
}

#define COUNT_OF(list) (sizeof(list) / sizeof *(list))

static json_t *add_tables(columns_t *columns, const history_t *h)
{
    json_t *list = json_array();
    add_table(columns, list, h, "stays", stay_columns, COUNT_OF(stay_columns), h->stay_count);
    add_table(columns, list, h, "samples", sample_columns, COUNT_OF(sample_columns), h->moments);
    add_table(columns, list, h, "refusals", refusal_columns, COUNT_OF(refusal_columns),
              h->refusal_count);
    add_table(columns, list, h, "slides", slide_columns, COUNT_OF(slide_columns), h->slide_count);
    return list;
}

/* ---- Facts ------------------------------------------------------------------- */

/* An address has more digits than JavaScript keeps of a number. */
static void add_address(json_t *object, const char *key, uint64_t address)
{
    char text[24];
    (void)snprintf(text, sizeof text, "0x%" PRIx64, address);
    json_add_text(object, key, text);
}

static json_t *json_of_bands(const history_t *history)
{
    json_t *list = json_array();
    for (size_t i = 0; i < history->band_count; i++) {
        json_t *band = json_object();
        add_address(band, "address", history->bands[i].address);
        json_add_count(band, "bytes", history->bands[i].bytes);
        (void)json_array_append_new(list, band);
    }
    return list;
}

static json_t *json_of_tags(const history_t *history)
{
    json_t *list = json_array();
    for (size_t i = 0; i < history->tag_count; i++) {
        const tag_total_t *tag = &history->tags[i];
        json_t *object = json_object();
        json_add_text(object, "name", tag->name);
        json_add_count(object, "allocs", tag->allocs);
        json_add_count(object, "peak_bytes", tag->peak_bytes);
        json_add_count(object, "end_blocks", tag->end_blocks);
        json_add_count(object, "end_bytes", tag->live_bytes);
        (void)json_array_append_new(list, object);
    }
    return list;
}

/* The first refused request, and what stood in its way. */
static json_t *json_of_failure(const history_t *history)
{
    const obstacle_t *obstacle = &history->obstacle;
    if (history->refusal.text[0] == '\0')
        return json_null();
    json_t *object = json_object(), *stays = json_array();
    json_add_text(object, "text", history->refusal.text);
    json_add_flag(object, "found", obstacle->found);
    json_add_count(object, "offset",
                   obstacle->found ? history_offset(history, obstacle->begin) : 0);
    json_add_count(object, "room", obstacle->end - obstacle->begin);
    json_add_count(object, "blocks", obstacle->count);
    json_add_count(object, "bytes", obstacle->bytes);
    for (size_t i = 0; i < obstacle->count && i < NAMED_BLOCKS; i++)
        (void)json_array_append_new(stays, json_integer((json_int_t)obstacle->stays[i]));
    json_add_list(object, "stays", stays);
    return object;
}

/* What the options are with this preset and memory if nothing else is set. */
static cuarena_config_t usual_options(const cuarena_config_t *config)
{
    cuarena_config_t usual;
    cuarena_config_init(&usual);
    usual.preset = config->preset;
    usual.memory = config->memory;
    (void)cuarena_config_resolve(&usual);
    return usual;
}

/* One option; `usual` ones are those that nothing but preset and memory say. */
static json_t *json_of_option(const cuarena_option_info_t *info, const cuarena_config_t *config,
                              const cuarena_config_t *usual)
{
    char text[256] = "?", usual_text[256] = "?";
    json_t *object = json_object();
    (void)cuarena_config_get(config, info->key, text, sizeof text);
    (void)cuarena_config_get(usual, info->key, usual_text, sizeof usual_text);
    bool choice = strcmp(info->key, "preset") == 0 || strcmp(info->key, "memory") == 0;
    json_add_text(object, "key", info->key);
    json_add_text(object, "value", text);
    json_add_flag(object, "usual", !choice && strcmp(text, usual_text) == 0);
    json_add_text(object, "help", info->help);
    return object;
}

static json_t *json_of_setup(const player_setup_t *setup)
{
    json_t *list = json_array();
    cuarena_option_info_t info;
    cuarena_option_info_init(&info);
    const cuarena_config_t usual = usual_options(&setup->config);
    for (size_t i = 0; cuarena_option_info(i, &info) == CUARENA_OK; i++)
        (void)json_array_append_new(list, json_of_option(&info, &setup->config, &usual));
    return list;
}

/* Pairs of key and value, of lines that say key=value; `lines` may be NULL. */
static json_t *json_of_lines(const char *lines)
{
    json_t *list = json_array();
    for (const char *line = lines; line != NULL && *line != '\0';) {
        char pair[128];
        size_t length = strcspn(line, "\n");
        (void)snprintf(pair, sizeof pair, "%.*s", (int)length, line);
        char *equals = strchr(pair, '=');
        json_t *object = json_object();
        if (equals != NULL)
            *equals = '\0';
        json_add_text(object, "key", pair);
        json_add_text(object, "value", equals != NULL ? equals + 1 : "");
        (void)json_array_append_new(list, object);
        line += length + (line[length] == '\n');
    }
    return list;
}

/* What is no valid UTF-8 is "?". */
static json_t *json_of_names(char *const *names, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *name = json_string(names[i]);
        (void)json_array_append_new(list, name != NULL ? name : json_string("?"));
    }
    return list;
}

static const char *const kinds[] = {
    [HISTORY_REPLAYED] = "replayed",
    [HISTORY_RECORDED] = "recorded",
    [HISTORY_STATE] = "state",
};

static json_t *facts_of(const page_subject_t *subject, columns_t *columns)
{
    const history_t *h = subject->history;
    json_t *facts = json_object();
    json_add_count(facts, "version", 1);
    json_add_text(facts, "title", subject->title);
    json_add_text(facts, "made_by", cuarena_version_string());
    json_add_text(facts, "kind", kinds[h->kind]);
    json_add_text(facts, "colour", colouring_by(h, subject->colour));
    json_add_count(facts, "moments", h->moments);
    json_add_count(facts, "unit_bytes", h->unit_bytes);
    json_add_count(facts, "span_bytes", history_span_bytes(h));
    json_add_flag(facts, "pool", subject->setup != NULL && !player_grows(subject->setup));
    json_add_list(facts, "bands", json_of_bands(h));
    json_add_list(facts, "tags", json_of_tags(h));
    json_add_list(facts, "failure", json_of_failure(h));
    json_add_list(facts, "names", json_of_names(h->names, h->name_count));
    json_add_list(facts, "streams", json_of_names(h->streams, h->stream_count));
    json_add_list(facts, "options",
                  subject->setup != NULL ? json_of_setup(subject->setup)
                                         : json_of_lines(h->options));
    json_add_list(facts, "statistics", json_of_lines(h->statistics));
    json_add_list(facts, "tables", add_tables(columns, h));
    return facts;
}

/* A '<' stands in texts only, where it may as well be a number. */
static void write_facts(json_t *facts, FILE *out)
{
    char *text = json_dumps(facts, JSON_PRESERVE_ORDER | JSON_COMPACT);
    for (const char *at = text; at != NULL && *at != '\0'; at++) {
        if (*at == '<')
            fputs("\\u003c", out);
        else
            fputc(*at, out);
    }
    free(text);
    json_decref(facts);
}

/* ---- The whole ------------------------------------------------------------------ */

void page_write(const page_subject_t *subject, FILE *out)
{
    columns_t columns = {.bytes = NULL};
    json_t *facts = facts_of(subject, &columns);
    for (size_t i = 0; page_text[i] != NULL; i++) {
        if (strcmp(page_text[i], "@facts@\n") == 0)
            write_facts(facts, out);
        else if (strcmp(page_text[i], "@columns@\n") == 0)
            columns_write(&columns, out);
        else
            fputs(page_text[i], out);
    }
    columns_free(&columns);
}
