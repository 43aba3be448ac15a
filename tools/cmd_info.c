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
    "Usage: cuarena info [--options] [--json]\n"
    "\n"
    "Tells which library runs, what this command was built with, which driver\n"
    "and devices there are and what they can do, and which memories an arena\n"
    "can have here: how many bytes are available now, and how large a page is.\n"
    "\n"
    "  --options             the options of an arena instead: key, type,\n"
    "                        default, what it does and what it accepts\n"
    "  --json                one JSON object in one line; with --options one\n"
    "                        for each option\n"
    "  -h, --help            this text\n";

static const cuarena_error_info_t *last_error(void)
{
    static cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    (void)cuarena_last_error_info(&info);
    return &info;
}

/* ---- Memories ---------------------------------------------------------- */

/* What an arena on a memory can have; why not if there is no such here. */
typedef struct memory_facts {
    const char *name;
    bool here;
    bool counted; /* it knows what is available */
    uint64_t available_bytes;
    uint64_t granularity; /* 0: unknown */
    cuarena_error_info_t why;
} memory_facts_t;

/* A growing arena holds nothing at first, then one granularity for one byte. */
static uint64_t granularity_of(cuarena_t *arena)
{
    void *pointer = NULL;
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    if (cuarena_alloc(arena, 1, &pointer) != CUARENA_OK ||
        cuarena_stats(arena, CUARENA_REGION_ALL, &stats) != CUARENA_OK)
        return 0;
    return stats.reserved_bytes;
}

static bool available_in(cuarena_t *arena, uint64_t *bytes_out)
{
    cuarena_amount_t all = {.unit = CUARENA_AMOUNT_AUTO};
    return cuarena_set_limit(arena, CUARENA_LIMIT_RESERVED, all, NULL) == CUARENA_OK &&
           cuarena_get_limit(arena, CUARENA_LIMIT_RESERVED, bytes_out) == CUARENA_OK;
}

static memory_facts_t facts_of(const char *name)
{
    memory_facts_t facts = {.name = name};
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_config_init(&config);
    facts.here = cuarena_config_set(&config, "memory", name) == CUARENA_OK &&
                 cuarena_config_set(&config, "preset", "grow") == CUARENA_OK &&
                 cuarena_create(&config, &arena) == CUARENA_OK;
    if (!facts.here) {
        facts.why = *last_error();
        return facts;
    }
    facts.counted = available_in(arena, &facts.available_bytes);
    facts.granularity = granularity_of(arena);
    (void)cuarena_destroy_forced(&arena);
    return facts;
}

static void add_memory(table_t *table, const memory_facts_t *facts)
{
    table_add(table, "%s", facts->name);
    if (facts->counted)
        table_add_bytes(table, facts->available_bytes);
    else
        table_add(table, facts->here ? "any" : "-");
    if (facts->granularity != 0)
        table_add_bytes(table, facts->granularity);
    else
        table_add(table, "-");
    if (facts->here)
        table_add(table, "yes");
    else if (facts->why.status == CUARENA_NO_DEVICE)
        table_add(table, "no device");
    else
        table_add(table, "no: %s", facts->why.message);
}

static void print_memories(const choices_t *memories)
{
    table_t table = {.columns = 4};
    table_add(&table, "memory");
    table_add(&table, "available");
    table_add(&table, "granularity");
    table_add(&table, "here");
    for (size_t i = 0; i < memories->count; i++) {
        memory_facts_t facts = facts_of(memories->words[i]);
        add_memory(&table, &facts);
    }
    table_print(&table, stdout);
}

static json_t *json_of_memory(const memory_facts_t *facts)
{
    json_t *object = json_object();
    json_add_text(object, "memory", facts->name);
    json_add_flag(object, "here", facts->here);
    json_add_text(object, "why", facts->here ? NULL : facts->why.message);
    if (facts->counted)
        json_add_count(object, "available_bytes", facts->available_bytes);
    else
        json_add_null(object, "available_bytes");
    if (facts->granularity != 0)
        json_add_count(object, "granularity", facts->granularity);
    else
        json_add_null(object, "granularity");
    return object;
}

/* ---- The driver -------------------------------------------------------- */

/* What a device can do, as the table and JSON call it. */
typedef struct ability {
    const char *name;
    int32_t flag;
} ability_t;

#define ABILITIES 6

static void abilities_of(const cuarena_device_info_t *info, ability_t abilities[ABILITIES])
{
    const ability_t all[ABILITIES] = {
        {"vmm", info->vmm},       {"fd", info->fd},       {"rdma", info->rdma},
        {"fabric", info->fabric}, {"pools", info->pools}, {"managed", info->managed},
    };
    memcpy(abilities, all, sizeof all);
}

static void add_titles(table_t *table)
{
    cuarena_device_info_t none;
    ability_t abilities[ABILITIES];
    cuarena_device_info_init(&none);
    abilities_of(&none, abilities);
    table_add(table, "device");
    table_add(table, "compute");
    table_add(table, "memory");
    table_add(table, "free");
    for (int i = 0; i < ABILITIES; i++)
        table_add(table, "%s", abilities[i].name);
    table->columns = table->count;
}

static void add_device(table_t *table, const cuarena_device_info_t *info, int ordinal)
{
    ability_t abilities[ABILITIES];
    abilities_of(info, abilities);
    table_add(table, "%d: %s", ordinal, info->name);
    table_add(table, "%d.%d", (int)info->compute_major, (int)info->compute_minor);
    table_add_bytes(table, info->total_bytes);
    table_add_bytes(table, info->free_bytes);
    for (int i = 0; i < ABILITIES; i++)
        table_add(table, abilities[i].flag ? "yes" : "no");
}

static void print_devices(int count)
{
    table_t table = {.columns = 0};
    add_titles(&table);
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

static json_t *json_of_device(int ordinal)
{
    cuarena_device_info_t info;
    ability_t abilities[ABILITIES];
    json_t *object = json_object();
    cuarena_device_info_init(&info);
    bool here = cuarena_device_info(ordinal, &info) == CUARENA_OK;
    json_add_count(object, "device", (uint64_t)ordinal);
    json_add_flag(object, "here", here);
    json_add_text(object, "why", here ? NULL : last_error()->message);
    if (!here)
        return object;
    json_add_text(object, "name", info.name);
    json_add_count(object, "compute_major", (uint64_t)info.compute_major);
    json_add_count(object, "compute_minor", (uint64_t)info.compute_minor);
    json_add_count(object, "total_bytes", info.total_bytes);
    json_add_count(object, "free_bytes", info.free_bytes);
    abilities_of(&info, abilities);
    for (int i = 0; i < ABILITIES; i++)
        json_add_flag(object, abilities[i].name, abilities[i].flag != 0);
    return object;
}

/* Version and library of the driver, or null and why. */
static void add_driver(json_t *object)
{
    cuarena_driver_info_t info;
    cuarena_driver_info_init(&info);
    bool here = cuarena_driver_info(&info) == CUARENA_OK;
    if (here)
        json_add_count(object, "driver_version", (uint64_t)info.version);
    else
        json_add_null(object, "driver_version");
    json_add_text(object, "driver_library", here ? info.library : NULL);
    json_add_text(object, "driver_why", here ? NULL : last_error()->message);
    json_t *devices = json_array();
    for (int i = 0; here && i < (int)info.device_count; i++)
        (void)json_array_append_new(devices, json_of_device(i));
    json_add_list(object, "devices", devices);
}

/* ---- Versions ---------------------------------------------------------- */

static void print_versions(void)
{
    printf("libcuarena %s, this command compiled against %d.%d.%d\n", cuarena_version_string(),
           CUARENA_VERSION_MAJOR, CUARENA_VERSION_MINOR, CUARENA_VERSION_PATCH);
    printf("built with zlib %s (%s runs), jansson %s\n\n", ZLIB_VERSION, zlibVersion(),
           JANSSON_VERSION);
}

static void add_versions(json_t *object)
{
    char compiled[64];
    (void)snprintf(compiled, sizeof compiled, "%d.%d.%d", CUARENA_VERSION_MAJOR,
                   CUARENA_VERSION_MINOR, CUARENA_VERSION_PATCH);
    json_add_text(object, "libcuarena", cuarena_version_string());
    json_add_text(object, "compiled_against", compiled);
    json_add_text(object, "zlib", zlibVersion());
    json_add_text(object, "jansson", JANSSON_VERSION);
}

/* ---- Options ----------------------------------------------------------- */

static void print_option(const cuarena_option_info_t *info, bool first)
{
    printf("%s%s (%s, default %s)\n    %s\n    accepted: %s\n", first ? "" : "\n", info->key,
           info->type, info->default_text[0] != '\0' ? info->default_text : "empty", info->help,
           info->accepted);
}

static void print_option_json(const cuarena_option_info_t *info)
{
    json_t *object = json_object();
    json_add_text(object, "key", info->key);
    json_add_text(object, "type", info->type);
    json_add_text(object, "default", info->default_text);
    json_add_text(object, "accepted", info->accepted);
    json_add_text(object, "help", info->help);
    json_add_text(object, "ort_names", info->ort_names);
    (void)json_object_set_new(object, "advanced", json_boolean(info->advanced));
    (void)json_print_line(object, stdout);
}

static void print_options(bool json)
{
    cuarena_option_info_t info;
    cuarena_option_info_init(&info);
    int32_t advanced = 0;
    for (size_t i = 0; cuarena_option_info(i, &info) == CUARENA_OK; i++) {
        if (!json && info.advanced != advanced)
            printf("\nAdvanced:\n");
        advanced = info.advanced;
        if (json)
            print_option_json(&info);
        else
            print_option(&info, i == 0);
    }
}

/* ---- The whole --------------------------------------------------------- */

static void print_all_json(const choices_t *memories)
{
    json_t *object = json_object();
    json_t *list = json_array();
    add_versions(object);
    add_driver(object);
    for (size_t i = 0; i < memories->count; i++) {
        memory_facts_t facts = facts_of(memories->words[i]);
        (void)json_array_append_new(list, json_of_memory(&facts));
    }
    json_add_list(object, "memories", list);
    (void)json_print_line(object, stdout);
}

static void print_all(const choices_t *memories)
{
    print_versions();
    print_driver();
    print_memories(memories);
}

static bool print_asked(const options_t *o, fault_t *fault)
{
    choices_t memories;
    if (o->list_options) {
        print_options(o->json);
        return true;
    }
    if (!choices_of("memory", &memories, fault))
        return false;
    if (o->json)
        print_all_json(&memories);
    else
        print_all(&memories);
    return true;
}

int command_info(int argc, char **argv)
{
    options_t o;
    fault_t fault = {""};
    if (!options_parse(argc, argv, OPTIONS_INFO, &o, &fault))
        return command_fail(&fault);
    if (o.help) {
        fputs(help, stdout);
        return command_end(STATUS_SERVED);
    }
    if (o.operand_count > 0) {
        (void)fault_set(&fault, "info has '%s', expected options only",
                        fault_quote(o.operands[0], strlen(o.operands[0])));
        return command_fail(&fault);
    }
    return print_asked(&o, &fault) ? command_end(STATUS_SERVED) : command_fail(&fault);
}
