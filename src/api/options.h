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
#include "base/stack.h"
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
    /* For choices and flags the words themselves, "a, b, c", of the values from `first` on. For
     * others the range in words. */
    const char *accepted;
    const char *help; /* one sentence */
    int32_t first;    /* choice: the least value */
    int32_t last;     /* choice: the largest value; some before it may have no word, and are for
                       * programs to set by hand */
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

/* The option at a place of the table; NULL past the last. */
const cuai_option_t *cuai_option_at(size_t index);
/* The option of that name; NULL if there is none. */
const cuai_option_t *cuai_option_find(const char *key);
/* The word for a type, such as "amount" or "bytes". */
const char *cuai_option_type_name(cuai_option_type_t type);

/* Reads a value into the member; refuses what is out of range too. */
cuai_refusal_t cuai_option_read(const cuai_option_t *option, const char *value,
                                cuarena_config_t *config);
/* Why the member's value cannot be, NULL if it can. */
cuai_refusal_t cuai_option_check(const cuai_option_t *option, const cuarena_config_t *config);

/* Room for every value as text, and its zero. */
#define CUAI_OPTION_TEXT_SIZE 256

/* What cuai_option_read takes. A value that has no such text (no word, out of range) becomes its
 * number; false then. */
bool cuai_option_print(const cuai_option_t *option, const cuarena_config_t *config,
                       char text[CUAI_OPTION_TEXT_SIZE]);

/* Which word of a list, "a, b, c", a text is, from 0 on; -1: none. */
int64_t cuai_word_find(const char *list, const char *text);
/* Copies the word of that number; false: the list has none. */
bool cuai_word_copy(const char *list, int64_t number, char text[CUAI_OPTION_TEXT_SIZE]);

/*
 * Keys: what text may call an option. Its own name, or one of those that ONNX Runtime has for the
 * same, both perhaps behind "arena."; values of the latter are numbers, with ranges of their own.
 */
typedef struct cuai_key {
    const cuai_option_t *option; /* NULL: none */
    bool ort;                    /* by one of ONNX Runtime's names */
} cuai_key_t;

cuai_key_t cuai_key_find(const char *name);
/* The name of an option, ours or ONNX Runtime's, that is most like `name`. */
const char *cuai_key_nearest(const char *name);

/* The range of values, in words. */
const char *cuai_key_accepted(cuai_key_t key);
/* These read and print the value of a key as cuai_option_read and cuai_option_print do that of an
 * option. */
cuai_refusal_t cuai_key_read(cuai_key_t key, const char *value, cuarena_config_t *config);
bool cuai_key_print(cuai_key_t key, const cuarena_config_t *config,
                    char text[CUAI_OPTION_TEXT_SIZE]);

#endif
