/*
 * Steps of a test that are written as text: "alloc a 4; free a" are two of three and of two words.
 */
#ifndef CUARENA_TEST_WORDS_H
#define CUARENA_TEST_WORDS_H

#include <cuarena/base.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORDS_TEXT 256u
#define WORDS_MOST 32u

typedef struct words {
    char text[WORDS_TEXT]; /* the step as it was written */
    char parts[WORDS_TEXT];
    const char *word[WORDS_MOST];
    size_t count;
} words_t;

/* Reads the step that `steps` begins with; gives where the next one begins, or NULL at the end. */
const char *words_read(words_t *words, const char *steps);
/* The word at a place, which must be there. */
const char *words_at(const words_t *words, size_t at);
/* Whether the step's first word is this one. */
bool words_begin(const words_t *words, const char *verb);
/* Fails unless the call came to what stands behind "is", or to OK; `what` begins the message. */
void words_expect_status(const words_t *words, cuarena_status_t got, const char *what);
/* The word behind a key; NULL if the key is not there. */
const char *words_behind(const words_t *words, const char *key);
/* "4096", "4K", "1M", "1G", and "4u": units. Fails unless the word is one of these. */
uint64_t words_size(const char *word, uint64_t unit);

#endif
