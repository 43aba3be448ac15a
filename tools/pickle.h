/*
 * Pickles: values as Python writes them, read without executing anything.
 *
 *   opcode   one step of the little program that a pickle is. Those that name code, call it or
 *            build objects are refused; what is left are values that Python has built in.
 *   value    none, a flag, a number, a text, a list or a dict. A tuple is read as a list; bytes
 *            are no text.
 *
 * Reading is a loop with a stack of its own: nesting costs no stack of C. A value that is shared,
 * or holds itself, is there once, so memory is at most a fixed number of times the pickle.
 */
#ifndef TOOLS_PICKLE_H
#define TOOLS_PICKLE_H

#include <stdint.h>

#include "fault.h"

typedef enum pickle_kind {
    PICKLE_NONE,
    PICKLE_FLAG,
    PICKLE_NUMBER,
    PICKLE_TEXT,
    PICKLE_LIST,
    PICKLE_DICT,
    PICKLE_OTHER, /* bytes, a fraction, or a number of more than 64 bits: its value is not kept */
} pickle_kind_t;

typedef struct pickle_items pickle_items_t;

typedef struct pickle_value {
    pickle_kind_t kind;
    uint32_t length; /* of a text, in bytes */
    union {
        int64_t number;   /* of a flag, too */
        const char *text; /* inside the pickle, not terminated */
        pickle_items_t *items;
    };
} pickle_value_t;

/* Of a list, or of a dict: keys and values in turn. */
struct pickle_items {
    pickle_items_t *next; /* of all that a pickle has */
    pickle_value_t *values;
    size_t count;
    size_t capacity;
};

typedef struct pickle {
    pickle_value_t root;
    pickle_items_t *all;
} pickle_t;

/* Whether the bytes begin as a pickle of protocols 2 to 5 does. */
bool pickle_begins(const char *bytes, size_t length);
/* The value that the bytes make, which must outlive it. What follows the pickle is not read. The
 * fault names the byte, the opcode and what was expected; `name` is that of the file. */
bool pickle_read(const char *name, const char *bytes, size_t length, pickle_t *pickle_out,
                 fault_t *fault);
void pickle_free(pickle_t *pickle);

/* What a dict has under that text; NULL if it has not, or is no dict. */
const pickle_value_t *pickle_find(const pickle_value_t *dict, const char *key);
bool pickle_is(const pickle_value_t *value, const char *text);

#endif
