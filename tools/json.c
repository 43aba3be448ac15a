#include "json.h"

#include <stdlib.h>
#include <string.h>

#include "fault.h"

static void add(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) == 0)
        return;
    fprintf(stderr, "cuarena: no memory for the member '%s'\n", key);
    exit(2);
}

/* Keeps what is ASCII. */
static json_t *plain_string(const char *text)
{
    char *plain = must_have(NULL, strlen(text) + 1, 1);
    strcpy(plain, text);
    for (char *at = plain; *at != '\0'; at++)
        if ((unsigned char)*at > 127)
            *at = '?';
    json_t *string = json_string(plain);
    free(plain);
    return string;
}

void json_add_text(json_t *object, const char *key, const char *text)
{
    json_t *string = text != NULL ? json_string(text) : json_null();
    add(object, key, string != NULL ? string : plain_string(text));
}

void json_add_count(json_t *object, const char *key, uint64_t count)
{
    add(object, key, json_integer(count < INT64_MAX ? (json_int_t)count : INT64_MAX));
}

void json_add_number(json_t *object, const char *key, double number)
{
    add(object, key, json_real(number));
}

void json_add_null(json_t *object, const char *key)
{
    add(object, key, json_null());
}

void json_add_flag(json_t *object, const char *key, bool flag)
{
    add(object, key, json_boolean(flag));
}

void json_add_list(json_t *object, const char *key, json_t *list)
{
    add(object, key, list);
}

bool json_print_line(json_t *object, FILE *out)
{
    int code = json_dumpf(object, out, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
    json_decref(object);
    return code == 0 && fputc('\n', out) != EOF;
}
