#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"
#include "commands.h"
#include "json.h"
#include "options.h"
#include "table.h"

static const char help[] =
    "Usage: cuarena top [OPTION]... SOCKET...\n"
    "\n"
    "Shows the arenas of running programs, every second until it is\n"
    "interrupted. A SOCKET is where a program's monitor listens\n"
    "(cuarena_monitor_open, or what CUARENA_MONITOR says if the program reads\n"
    "it).\n"
    "\n"
    "  --once                show them once\n"
    "  --json                one JSON object in one line each time\n"
    "  -h, --help            this text\n"
    "\n"
    "'reserved' is what the arena took from its memory, 'live' what its blocks\n"
    "have, 'free' what is left of it, 'largest' the largest idle free range,\n"
    "'broken up' how much of the free bytes lies outside of that, 'allocs/s'\n"
    "the allocations in a second since the last time, and 'streams' how many\n"
    "the arena knows. A program that does not answer has one line that says\n"
    "why.\n"
    "\n"
    "Exit status: 0 if a program answered the last time, 2 if none did.\n";

/* ---- What programs say --------------------------------------------------- */

/* One arena at one moment. */
typedef struct look {
    const char *socket;
    uint64_t pid;
    uint64_t number;
    char name[32];
    uint64_t reserved_bytes;
    uint64_t live_bytes;
    uint64_t free_bytes;
    uint64_t largest_bytes;
    uint64_t allocs;
    uint64_t streams;
    double at_s;
    double allocs_per_s; /* negative: not known yet */
} look_t;

/* All of them at about one moment, and the sockets where nobody answered. */
typedef struct looks {
    look_t *items;
    size_t count;
    size_t answers;
    fault_t *faults; /* by socket; empty where somebody answered */
} looks_t;

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t count_in(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static look_t look_of(const char *socket, uint64_t pid, const json_t *arena)
{
    const json_t *stats = json_object_get(arena, "statistics");
    const char *name = json_string_value(json_object_get(arena, "name"));
    look_t look = {
        .socket = socket,
        .pid = pid,
        .number = count_in(arena, "number"),
        .reserved_bytes = count_in(stats, "reserved_bytes"),
        .live_bytes = count_in(stats, "live_bytes"),
        .free_bytes = count_in(stats, "free_bytes"),
        .largest_bytes = count_in(stats, "largest_bytes"),
        .allocs = count_in(stats, "allocs"),
        .streams = count_in(arena, "streams"),
        .at_s = now_s(),
        .allocs_per_s = -1,
    };
    (void)snprintf(look.name, sizeof look.name, "%s", name == NULL ? "" : name);
    return look;
}

/* 1 - largest / free; 0 if nothing is free. */
static double fragmentation(const look_t *look)
{
    return look->free_bytes == 0 ? 0 : 1 - (double)look->largest_bytes / (double)look->free_bytes;
}

static void compare(look_t *now, const looks_t *before)
{
    for (size_t i = 0; i < before->count; i++) {
        const look_t *then = &before->items[i];
        if (then->socket != now->socket || then->pid != now->pid || then->number != now->number ||
            now->at_s <= then->at_s)
            continue;
        now->allocs_per_s = (double)(now->allocs - then->allocs) / (now->at_s - then->at_s);
    }
}

static void add_looks(looks_t *looks, const char *socket, const json_t *object,
                      const looks_t *before)
{
    const json_t *arenas = json_object_get(object, "arenas");
    size_t count = json_array_size(arenas);
    looks->items = must_have(looks->items, looks->count + count + 1, sizeof *looks->items);
    for (size_t i = 0; i < count; i++) {
        look_t look = look_of(socket, count_in(object, "pid"), json_array_get(arenas, i));
        compare(&look, before);
        looks->items[looks->count++] = look;
    }
}

static looks_t look_at(char **sockets, size_t count, const looks_t *before)
{
    looks_t looks = {NULL, 0, 0, must_have(NULL, count, sizeof(fault_t))};
    for (size_t i = 0; i < count; i++) {
        json_t *object;
        looks.faults[i].text[0] = '\0';
        if (!ask_arenas(sockets[i], "stats", &object, &looks.faults[i]))
            continue;
        looks.answers++;
        add_looks(&looks, sockets[i], object, before);
        json_decref(object);
    }
    return looks;
}

static void looks_free(looks_t *looks)
{
    free(looks->items);
    free(looks->faults);
    *looks = (looks_t){NULL, 0, 0, NULL};
}

/* ---- Showing it ---------------------------------------------------------- */

static void add_row(table_t *table, const look_t *look)
{
    table_add(table, "%" PRIu64 "/%" PRIu64, look->pid, look->number);
    table_add(table, "%s",
              look->name[0] == '\0' ? "-" : fault_quote(look->name, strlen(look->name)));
    table_add_bytes(table, look->reserved_bytes);
    table_add_bytes(table, look->live_bytes);
    table_add_bytes(table, look->free_bytes);
    table_add_bytes(table, look->largest_bytes);
    table_add(table, "%.1f %%", 100 * fragmentation(look));
    if (look->allocs_per_s < 0)
        table_add(table, "-");
    else
        table_add(table, "%.0f", look->allocs_per_s);
    table_add(table, "%" PRIu64, look->streams);
}

static void show_table(const looks_t *looks, size_t socket_count)
{
    static const char *const heads[] = {"arena",   "name",      "reserved", "live",   "free",
                                        "largest", "broken up", "allocs/s", "streams"};
    table_t table = {.columns = sizeof heads / sizeof heads[0]};
    if (isatty(STDOUT_FILENO))
        fputs("\033[H\033[2J", stdout);
    for (size_t i = 0; i < table.columns; i++)
        table_add(&table, "%s", heads[i]);
    for (size_t i = 0; i < looks->count; i++)
        add_row(&table, &looks->items[i]);
    table_print(&table, stdout);
    for (size_t i = 0; i < socket_count; i++)
        if (looks->faults[i].text[0] != '\0')
            printf("%s\n", looks->faults[i].text);
}

static json_t *json_of(const look_t *look)
{
    json_t *object = json_object();
    json_add_text(object, "socket", look->socket);
    json_add_count(object, "pid", look->pid);
    json_add_count(object, "arena", look->number);
    json_add_text(object, "name", look->name);
    json_add_count(object, "reserved_bytes", look->reserved_bytes);
    json_add_count(object, "live_bytes", look->live_bytes);
    json_add_count(object, "free_bytes", look->free_bytes);
    json_add_count(object, "largest_bytes", look->largest_bytes);
    json_add_number(object, "fragmentation", fragmentation(look));
    if (look->allocs_per_s < 0)
        json_add_null(object, "allocs_per_s");
    else
        json_add_number(object, "allocs_per_s", look->allocs_per_s);
    json_add_count(object, "streams", look->streams);
    return object;
}

static void show_json(const looks_t *looks, size_t socket_count)
{
    json_t *object = json_object();
    json_t *arenas = json_array();
    json_t *faults = json_array();
    for (size_t i = 0; i < looks->count; i++)
        (void)json_array_append_new(arenas, json_of(&looks->items[i]));
    for (size_t i = 0; i < socket_count; i++)
        if (looks->faults[i].text[0] != '\0')
            (void)json_array_append_new(faults, json_string(looks->faults[i].text));
    json_add_list(object, "arenas", arenas);
    json_add_list(object, "faults", faults);
    (void)json_print_line(object, stdout);
}

/* Shows all of them again and again; what stdout does not take ends it. */
static int show(const options_t *o)
{
    looks_t before = {NULL, 0, 0, NULL};
    fault_t fault = {""};
    bool answered;
    do {
        if (before.faults != NULL)
            sleep(1);
        looks_t now = look_at(o->operands, o->operand_count, &before);
        answered = now.answers != 0;
        fault = now.faults[0];
        if (answered)
            (o->json ? show_json : show_table)(&now, o->operand_count);
        looks_free(&before);
        before = now;
    } while (answered && !o->once && fflush(stdout) == 0);
    looks_free(&before);
    return answered ? command_end(STATUS_SERVED) : command_fail(&fault);
}

int command_top(int argc, char **argv)
{
    options_t o;
    fault_t fault = {""};
    if (!options_parse(argc, argv, OPTIONS_TOP, &o, &fault))
        return command_fail(&fault);
    if (o.help) {
        fputs(help, stdout);
        return command_end(STATUS_SERVED);
    }
    if (o.operand_count == 0) {
        (void)fault_set(&fault, "no socket is named, expected one or more");
        return command_fail(&fault);
    }
    return show(&o);
}
