#include "words.h"

#include "expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *words_read(words_t *words, const char *steps)
{
    size_t length = strcspn(steps, ";");
    if (*steps == '\0')
        return NULL;
    ck_assert_uint_lt(length, WORDS_TEXT);
    *words = (words_t){.count = 0};
    memcpy(words->text, steps, length);
    memcpy(words->parts, steps, length);
    for (char *word = strtok(words->parts, " "); word != NULL; word = strtok(NULL, " ")) {
        ck_assert_uint_lt(words->count, WORDS_MOST);
        words->word[words->count++] = word;
    }
    return steps + length + strspn(steps + length, "; ");
}

const char *words_at(const words_t *words, size_t at)
{
    ck_assert_msg(at < words->count, "word %zu is missing: %s", at, words->text);
    return words->word[at];
}

bool words_begin(const words_t *words, const char *verb)
{
    return strcmp(words_at(words, 0), verb) == 0;
}

const char *words_behind(const words_t *words, const char *key)
{
    for (size_t i = 1; i < words->count; i++)
        if (strcmp(words->word[i], key) == 0)
            return words_at(words, i + 1);
    return NULL;
}

void words_expect_status(const words_t *words, cuarena_status_t got, const char *what)
{
    const char *want = words_behind(words, "is");
    char name[48];
    snprintf(name, sizeof(name), "CUARENA_%s", want != NULL ? want : "OK");
    expect_text_at(cuarena_status_name(got), name, what, __FILE__, __LINE__);
}

uint64_t words_size(const char *word, uint64_t unit)
{
    char *end;
    uint64_t size = strtoull(word, &end, 10);
    bool read = end != word;
    static const char letters[] = "KMGu";
    const uint64_t units[] = {UINT64_C(1) << 10, UINT64_C(1) << 20, UINT64_C(1) << 30, unit};
    const char *letter = *end == '\0' ? NULL : strchr(letters, *end);
    if (letter != NULL) {
        size *= units[letter - letters];
        end++;
    }
    ck_assert_msg(read && *end == '\0', "not a size: %s", word);
    return size;
}
