#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "choices.h"
#include "commands.h"
#include "cuarena/driver.h"
#include "json.h"
#include "options.h"
#include "table.h"

static const char help[] =
    "Usage: cuarena info [--options]\n"
    "\n"
    "Tells which library runs, what this command was built with, which driver\n"
    "and devices there are and what they can do, and which memories an arena\n"
    "can have here: how many bytes could be had now, and by how many at a "
    "time.\n"
    "\n"
    "  --options             the options of an arena instead: key, type,\n"
    "                        default, what it does and what it accepts\n"
    "  -h, --help            this text\n";

static const cuarena_error_info_t *last_error(void)
{
    static cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    (void)cuarena_last_error_info(&info);
    return &info;
}

/* ---- Memories ---------------------------------------------------------- */

static void add_reason(table_t *table)
{
    table_add(table, "-");
    table_add(table, "-");
    if (last_error()->status == CUARENA_NO_DEVICE)
        table_add(table, "no device");
    else
        table_add(table, "no: %s", last_error()->message);
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

/* ---- The driver -------------------------------------------------------- */

static void add_yes(table_t *table, int32_t flag)
{
    table_add(table, flag ? "yes" : "no");
}

static void add_device(table_t *table, const cuarena_device_info_t *info,
                       int ordinal)
{
    table_add(table, "%d: %s", ordinal, info->name);
    table_add(table, "%d.%d", (int)info->compute_major,
              (int)info->compute_minor);
    table_add_bytes(table, info->total_bytes);
    table_add_bytes(table, info->free_bytes);
    add_yes(table, info->vmm);
    add_yes(table, info->fd);
    add_yes(table, info->rdma);
    add_yes(table, info->fabric);
    add_yes(table, info->pools);
    add_yes(table, info->managed);
}

static void print_devices(int count)
{
    static const char *const heads[] = {"device", "compute", "memory", "free",
                                        "vmm",    "fd",      "rdma",   "fabric",
                                        "pools",  "managed"};
    table_t table = {.columns = sizeof heads / sizeof heads[0]};
    for (size_t i = 0; i < table.columns; i++)
        table_add(&table, "%s", heads[i]);
    for (int i = 0; i < count; i++) {
        cuarena_device_info_t info;
        cuarena_device_info_init(&info);
        if (cuarena_device_info(i, &info) == CUARENA_OK)
            add_device(&table, &info, i);
        else
            printf("device %d cannot be used: %s\n", i, last_error()->message);
    }
    table_print(&table, stdout);
    putchar('\n');
}

static void print_driver(void)
{
    cuarena_driver_info_t info;
    cuarena_driver_info_init(&info);
    if (cuarena_driver_info(&info) != CUARENA_OK) {
        printf("%s\n\n", last_error()->message);
        return;
    }
    printf("driver of CUDA %d.%d, from %s\n", (int)info.version / 1000,
           (int)info.version % 1000 / 10, info.library);
    print_devices((int)info.device_count);
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
        print_driver();
        if (!print_memories(&fault))
            return command_fail(&fault);
    }
    return command_end(STATUS_SERVED);
}
