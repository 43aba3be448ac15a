#include "base/pickle.h"

#include <string.h>

#include "base/compiler.h"

/* The operations of a pickle. */
#define PROTO 0x80
#define STOP '.'
#define MARK '('
#define EMPTY_DICT '}'
#define SETITEMS 'u'
#define EMPTY_LIST ']'
#define APPEND 'a'
#define TUPLE 't'
#define BINUNICODE 'X'
#define BINPUT 'q'
#define BINGET 'h'
#define BININT 'J'
#define LONG1 0x8a
#define NEWTRUE 0x88
#define NEWFALSE 0x89

static void put(cuai_pickle_t *pickle, unsigned char byte)
{
    cuai_sink_put(pickle->sink, &byte, 1);
}

/* The lowest bytes of a number, the lowest first. */
static void put_number(cuai_pickle_t *pickle, uint64_t number, size_t bytes)
{
    CUAI_ASSERT(bytes <= sizeof number);
    for (size_t i = 0; i < bytes; i++)
        put(pickle, (unsigned char)(number >> 8 * i));
}

void cuai_pickle_begin(cuai_pickle_t *pickle, cuai_sink_t *sink)
{
    CUAI_ASSERT(sink != NULL);
    pickle->sink = sink;
    pickle->word_count = 0;
    put(pickle, PROTO);
    put(pickle, 2);
}

void cuai_pickle_end(cuai_pickle_t *pickle)
{
    put(pickle, STOP);
}

void cuai_pickle_dict(cuai_pickle_t *pickle)
{
    put(pickle, EMPTY_DICT);
    put(pickle, MARK);
}

void cuai_pickle_dict_end(cuai_pickle_t *pickle)
{
    put(pickle, SETITEMS);
}

void cuai_pickle_tuple(cuai_pickle_t *pickle)
{
    put(pickle, MARK);
}

void cuai_pickle_tuple_end(cuai_pickle_t *pickle)
{
    put(pickle, TUPLE);
}

void cuai_pickle_list(cuai_pickle_t *pickle)
{
    put(pickle, EMPTY_LIST);
}

void cuai_pickle_append(cuai_pickle_t *pickle)
{
    put(pickle, APPEND);
}

/* The number of a word that was written; word_count: it was not. */
static uint32_t find(const cuai_pickle_t *pickle, const char *word)
{
    CUAI_ASSERT(pickle->word_count <= CUAI_PICKLE_WORDS);
    uint32_t i = 0;
    while (i < pickle->word_count && pickle->words[i] != word &&
           strcmp(pickle->words[i], word) != 0)
        i++;
    return i;
}

void cuai_pickle_word(cuai_pickle_t *pickle, const char *word)
{
    CUAI_ASSERT(word != NULL);
    uint32_t number = find(pickle, word);
    if (number < pickle->word_count) {
        put(pickle, BINGET);
        put(pickle, (unsigned char)number);
        return;
    }
    size_t length = strlen(word);
    put(pickle, BINUNICODE);
    put_number(pickle, length, 4);
    cuai_sink_put(pickle->sink, word, length);
    CUAI_ASSERT(number < CUAI_PICKLE_WORDS);
    pickle->words[pickle->word_count++] = word;
    put(pickle, BINPUT);
    put(pickle, (unsigned char)number);
}

void cuai_pickle_number(cuai_pickle_t *pickle, uint64_t number)
{
    CUAI_ASSERT(number <= INT64_MAX);
    bool small = number <= INT32_MAX;
    put(pickle, small ? BININT : LONG1);
    if (!small)
        put(pickle, 8);
    put_number(pickle, number, small ? 4 : 8);
}

void cuai_pickle_flag(cuai_pickle_t *pickle, bool flag)
{
    put(pickle, flag ? NEWTRUE : NEWFALSE);
}
