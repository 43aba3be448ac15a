/*
 * JSON: members of jansson objects, from the types that this program has, and their printing.
 * Memory that runs out ends the process, as everywhere here.
 */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What is no valid UTF-8 becomes '?'. NULL: null. */
void json_add_text(json_t *object, const char *key, const char *text);
/* More than 2^63 - 1, which JSON readers would not hold, becomes that. */
void json_add_count(json_t *object, const char *key, uint64_t count);
void json_add_number(json_t *object, const char *key, double number);
void json_add_null(json_t *object, const char *key);
void json_add_flag(json_t *object, const char *key, bool flag);
/* Takes the list over. */
void json_add_list(json_t *object, const char *key, json_t *list);

/* Prints it in one line, members in the order they were added, and ends it. */
bool json_print_line(json_t *object, FILE *out);

#endif
