#include "base/json.h"

#include <string.h>

#include "base/compiler.h"

static void put(cuai_json_t *json, const char *text)
{
    cuai_sink_put(json->sink, text, strlen(text));
}

/* ---- Text -------------------------------------------------------------- */

/* How many bytes the character of UTF-8 at `text` has; 0: it is none. */
static size_t character(const unsigned char *text)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } lengths[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t more = 0; more < sizeof lengths / sizeof lengths[0]; more++) {
        if ((text[0] & lengths[more].mask) != lengths[more].lead)
            continue;
        uint32_t code = text[0] & (uint32_t)(unsigned char)~lengths[more].mask;
        for (size_t i = 1; i <= more; i++) {
            if ((text[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (text[i] & 0x3fu);
        }
        bool surrogate = code >= 0xd800 && code < 0xe000;
        return code < lengths[more].least || code > 0x10ffff || surrogate ? 0 : more + 1;
    }
    return 0;
}

static void put_escape(cuai_json_t *json, unsigned char c)
{
    CUAI_ASSERT(c < 0x80);
    static const char digits[] = "0123456789abcdef";
    char escape[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15], '\0'};
    put(json, escape);
}

static void put_string(cuai_json_t *json, const char *text)
{
    CUAI_ASSERT(text != NULL);
    put(json, "\"");
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t length = character(at);
        if (length == 0)
            put(json, "\\ufffd");
        else if (*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7f)
            put_escape(json, *at);
        else
            cuai_sink_put(json->sink, at, length);
        at += length == 0 ? 1 : length;
    }
    put(json, "\"");
}

static void put_number(cuai_json_t *json, uint64_t number, unsigned base)
{
    CUAI_ASSERT(base == 10 || base == 16);
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    cuai_sink_put(json->sink, digits + at, sizeof digits - at);
}

/* ---- Members ----------------------------------------------------------- */

static void begin(cuai_json_t *json, const char *key)
{
    if (json->comma)
        put(json, ",");
    json->comma = true;
    if (key == NULL)
        return;
    put(json, "\"");
    put(json, key);
    put(json, "\":");
}

void cuai_json_open(cuai_json_t *json, const char *key, char bracket)
{
    CUAI_ASSERT(bracket == '{' || bracket == '[');
    begin(json, key);
    cuai_sink_put(json->sink, &bracket, 1);
    json->comma = false;
}

void cuai_json_close(cuai_json_t *json, char bracket)
{
    CUAI_ASSERT(bracket == '}' || bracket == ']');
    cuai_sink_put(json->sink, &bracket, 1);
    json->comma = true;
}

void cuai_json_line(cuai_json_t *json)
{
    put(json, json->comma ? ",\n" : "\n");
    json->comma = false;
}

void cuai_json_number(cuai_json_t *json, const char *key, uint64_t number)
{
    begin(json, key);
    put_number(json, number, 10);
}

void cuai_json_signed(cuai_json_t *json, const char *key, int64_t number)
{
    begin(json, key);
    if (number < 0)
        put(json, "-");
    put_number(json, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 10);
}

void cuai_json_hex(cuai_json_t *json, const char *key, uint64_t number)
{
    begin(json, key);
    put(json, "\"0x");
    put_number(json, number, 16);
    put(json, "\"");
}

void cuai_json_text(cuai_json_t *json, const char *key, const char *text)
{
    begin(json, key);
    put_string(json, text);
}

void cuai_json_flag(cuai_json_t *json, const char *key, bool flag)
{
    begin(json, key);
    put(json, flag ? "true" : "false");
}

void cuai_json_null(cuai_json_t *json, const char *key)
{
    begin(json, key);
    put(json, "null");
}
