#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "choices.h"
#include "commands.h"
#include "json.h"
#include "options.h"
#include "table.h"

static const char help[] =
    "Usage: cuarena info [--options]\n"
    "\n"
    "Tells which library runs, what this command was built with, and which\n"
    "memories an arena can have here: how many bytes could be had now, and by\n"
    "how many at a time.\n"
    "\n"
    "  --options             the options of an arena instead: key, type,\n"
    "                        default, what it does and what it accepts\n"
    "  -h, --help            this text\n";

/* ---- Memories ---------------------------------------------------------- */

static void add_reason(table_t *table)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    (void)cuarena_last_error_info(&info);
    table_add(table, "-");
    table_add(table, "-");
    table_add(table, "no: %s", info.message);
}

/* A growing arena holds nothing at first, then one grain for one byte. */
static void add_grain(table_t *table, cuarena_t *arena)
{
    void *pointer = NULL;
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    if (cuarena_alloc(arena, 1, &pointer) == CUARENA_OK &&
        cuarena_stats(arena, CUARENA_REGION_ALL, &stats) == CUARENA_OK)
        table_add_bytes(table, stats.held_bytes);
    else
        table_add(table, "-");
}

static void add_available(table_t *table, cuarena_t *arena)
{
    uint64_t bytes = 0;
    cuarena_amount_t all = {.unit = CUARENA_AMOUNT_AUTO};
    if (cuarena_set_limit(arena, CUARENA_LIMIT_HELD, all, NULL) == CUARENA_OK &&
        cuarena_get_limit(arena, CUARENA_LIMIT_HELD, &bytes) == CUARENA_OK)
        table_add_bytes(table, bytes);
    else
        table_add(table, "any");
}

static void add_memory(table_t *table, const char *name)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_config_init(&config);
    table_add(table, "%s", name);
    if (cuarena_config_set(&config, "memory", name) != CUARENA_OK ||
        cuarena_config_set(&config, "preset", "grow") != CUARENA_OK ||
        cuarena_create(&config, &arena) != CUARENA_OK) {
        add_reason(table);
        return;
    }
    add_available(table, arena);
    add_grain(table, arena);
    table_add(table, "yes");
    (void)cuarena_destroy_forced(&arena);
}

static bool print_memories(fault_t *fault)
{
    choices_t memories;
    table_t table = {.columns = 4};
    if (!choices_of("memory", &memories, fault))
        return false;
    table_add(&table, "memory");
    table_add(&table, "available");
    table_add(&table, "grain");
    table_add(&table, "here");
    for (size_t i = 0; i < memories.count; i++)
        add_memory(&table, memories.words[i]);
    table_print(&table, stdout);
    return true;
}

/* ---- Versions ---------------------------------------------------------- */

static void print_versions(void)
{
    printf("libcuarena %s, this command compiled against %d.%d.%d\n",
           cuarena_version_string(), CUARENA_VERSION_MAJOR,
           CUARENA_VERSION_MINOR, CUARENA_VERSION_PATCH);
    printf("built with zlib %s (%s runs), jansson %s\n\n", ZLIB_VERSION,
           zlibVersion(), JANSSON_VERSION);
}

/* ---- Options ----------------------------------------------------------- */

static void print_options(void)
{
    cuarena_option_info_t info;
    cuarena_option_info_init(&info);
    for (size_t i = 0; cuarena_option_info(i, &info) == CUARENA_OK; i++) {
        if (info.key == NULL)
            break;
        printf("%s%s (%s, default %s)\n    %s\n    accepted: %s\n",
               i > 0 ? "\n" : "", info.key, info.type,
               info.default_text[0] != '\0' ? info.default_text : "empty",
               info.help, info.accepted);
    }
}

int command_info(int argc, char **argv)
{
    options_t o;
    fault_t fault = {""};
    if (!options_parse(argc, argv, OPTIONS_INFO, &o, &fault))
        return command_fail(&fault);
    if (!o.help && o.operand_count > 0) {
        (void)fault_set(&fault, "info has '%s', expected options only",
                        fault_quote(o.operands[0], strlen(o.operands[0])));
        return command_fail(&fault);
    }
    if (o.help) {
        fputs(help, stdout);
    } else if (o.list_options) {
        print_options();
    } else {
        print_versions();
        if (!print_memories(&fault))
            return command_fail(&fault);
    }
    return command_end(STATUS_SERVED);
}
