/*
 * The options table: one row for each member of cuarena_config_t that text can set. Parser,
 * printer, defaults, checks and docs/options.md come from it; an option is added by one row.
 */
#ifndef CUAI_API_OPTIONS_H
#define CUAI_API_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/amount.h"
#include "cuarena/arena.h"

typedef enum cuai_option_type {
    CUAI_OPTION_AMOUNT, /* cuarena_amount_t */
    CUAI_OPTION_BYTES,  /* uint64_t */
    CUAI_OPTION_COUNT,  /* uint64_t or int32_t */
    CUAI_OPTION_CHOICE, /* int32_t, one of a few words */
    CUAI_OPTION_FLAG,   /* int32_t, 0 or 1 */
    CUAI_OPTION_TEXT    /* char[] */
} cuai_option_type_t;

/* What ONNX Runtime calls an option: names, with a number. */
typedef struct cuai_ort {
    const char *names;    /* "a, b"; NULL: it has none */
    const char *accepted; /* the range in words */
    uint64_t least;
    uint64_t most;
    const char *words; /* of a choice: what 0, 1, ... stand for */
    const char *zero;  /* the word that 0 stands for; NULL: 0 */
} cuai_ort_t;

typedef struct cuai_option {
    const char *key;
    cuai_option_type_t type;
    size_t offset;        /* of the member */
    size_t size;          /* of the member */
    const char *fallback; /* the default, as text */
    /* For choices and flags the words themselves, "a, b, c": the first has the value `first`, the
     * next one more. For others the range in words. */
    const char *accepted;
    const char *help; /* one sentence */
    int32_t first;    /* choice: the value of the first word */
    int32_t wordless; /* choice: how many values follow those that have words,
                       * for programs to set by hand */
    uint64_t least;   /* amount of bytes, bytes, count */
    uint64_t most;
    bool power_of_two;       /* bytes */
    bool or_zero;            /* a power of two, or 0 */
    const char *unlimited;   /* bytes: a word for UINT64_MAX; NULL: none */
    const char *from_preset; /* bytes: one for CUARENA_BYTES_PRESET */
    const char *unchanged;   /* bytes: one for CUARENA_BYTES_UNCHANGED */
    bool common;             /* most programs need no other; these come first */
    cuai_ort_t ort;
} cuai_option_t;

/* NULL past the last. */
const cuai_option_t *cuai_option_at(size_t index);
/* The option of that name; NULL if there is none. */
const cuai_option_t *cuai_option_find(const char *key);
/* "amount", "bytes", ... */
const char *cuai_option_type_name(cuai_option_type_t type);

/* Reads a value into the member; refuses what is out of range too. */
cuai_refusal_t cuai_option_read(const cuai_option_t *option, const char *value,
                                cuarena_config_t *config);
/* Why the member's value cannot be, NULL if it can. */
cuai_refusal_t cuai_option_check(const cuai_option_t *option, const cuarena_config_t *config);

/* Room for every value as text, and its zero. */
#define CUAI_OPTION_TEXT_SIZE 64

/* What cuai_option_read takes. A value that has no such text (no word, out of range) becomes its
 * number; false then. */
bool cuai_option_print(const cuai_option_t *option, const cuarena_config_t *config,
                       char text[CUAI_OPTION_TEXT_SIZE]);

/* Words of a list, "a, b, c": cuts off the next one; its length, 0 behind the last. */
size_t cuai_next_word(const char **list, const char **word);

#endif
