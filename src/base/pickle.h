/*
 * Writes a pickle, protocol 2, of dictionaries, lists, tuples, texts and numbers: what Python's
 * pickle.load and other readers take without calling anything.
 *
 *   cuai_pickle_begin(&pickle, sink);
 *   cuai_pickle_dict(&pickle);
 *   cuai_pickle_word(&pickle, "size");  the key
 *   cuai_pickle_number(&pickle, 42);    the value
 *   cuai_pickle_dict_end(&pickle);
 *   cuai_pickle_end(&pickle);
 */
#ifndef CUAI_BASE_PICKLE_H
#define CUAI_BASE_PICKLE_H

#include "base/sink.h"

/* Words that were written before are named by their numbers. */
#define CUAI_PICKLE_WORDS 48

typedef struct cuai_pickle {
    cuai_sink_t *sink;
    uint32_t word_count;
    const char *words[CUAI_PICKLE_WORDS];
} cuai_pickle_t;

void cuai_pickle_begin(cuai_pickle_t *pickle, cuai_sink_t *sink);
void cuai_pickle_end(cuai_pickle_t *pickle);
/* Between the two are keys and values in turn. */
void cuai_pickle_dict(cuai_pickle_t *pickle);
void cuai_pickle_dict_end(cuai_pickle_t *pickle);
/* Between the two are its items. */
void cuai_pickle_tuple(cuai_pickle_t *pickle);
void cuai_pickle_tuple_end(cuai_pickle_t *pickle);
/* An empty list; behind each item it is appended. One by one, since readers may not take many
 * items at once. */
void cuai_pickle_list(cuai_pickle_t *pickle);
void cuai_pickle_append(cuai_pickle_t *pickle);
/* A text with static storage, which is likely to come again. */
void cuai_pickle_word(cuai_pickle_t *pickle, const char *word);
/* Writes a number below 2^63. */
void cuai_pickle_number(cuai_pickle_t *pickle, uint64_t number);
void cuai_pickle_flag(cuai_pickle_t *pickle, bool flag);

#endif
