/*
 * Writes JSON: members and items in the order of the calls, commas where they belong. A key is NULL
 * for an item of an array. Text that is not UTF-8 is written with U+FFFD for each byte that is not.
 */
#ifndef CUAI_BASE_JSON_H
#define CUAI_BASE_JSON_H

#include "base/sink.h"

typedef struct cuai_json {
    cuai_sink_t *sink;
    bool comma; /* something stands before the next member or item */
} cuai_json_t;

/* `bracket` is '{' or '['; the end is '}' or ']'. */
void cuai_json_open(cuai_json_t *json, const char *key, char bracket);
void cuai_json_close(cuai_json_t *json, char bracket);
/* Begins a new line, for people who look at it. Before a member or an item, or the end of them. */
void cuai_json_line(cuai_json_t *json);
void cuai_json_number(cuai_json_t *json, const char *key, uint64_t number);
/* Writes a number that may be negative. */
void cuai_json_signed(cuai_json_t *json, const char *key, int64_t number);
/* Writes a string such as "0x12ab", for numbers that may be above 2^53 and name something. */
void cuai_json_hex(cuai_json_t *json, const char *key, uint64_t number);
void cuai_json_text(cuai_json_t *json, const char *key, const char *text);
void cuai_json_flag(cuai_json_t *json, const char *key, bool flag);
void cuai_json_null(cuai_json_t *json, const char *key);

#endif
