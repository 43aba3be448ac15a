#include "choices.h"

#include <string.h>

#define WORD "abcdefghijklmnopqrstuvwxyz0123456789-_"

/* What the option accepts, as the table says it; NULL if there is none. */
static const char *accepted_by(const char *key)
{
    cuarena_option_info_t info;
    cuarena_option_info_init(&info);
    for (size_t i = 0; cuarena_option_info(i, &info) == CUARENA_OK; i++) {
        if (info.key == NULL)
            break;
        if (strcmp(info.key, key) == 0)
            return info.accepted;
    }
    return NULL;
}

static bool is_known(const choices_t *choices, const char *word)
{
    for (size_t i = 0; i < choices->count; i++)
        if (strcmp(choices->words[i], word) == 0)
            return true;
    return false;
}

/* Adds the word if the option takes it: the text may have others between. What leaves the choice to
 * the preset is none. */
static void consider(choices_t *choices, const char *key, const char *text, size_t length)
{
    char *word = choices->words[choices->count];
    cuarena_config_t config;
    if (length >= sizeof choices->words[0])
        return;
    memcpy(word, text, length);
    word[length] = '\0';
    cuarena_config_init(&config);
    if (strcmp(word, "preset") != 0 && !is_known(choices, word) &&
        cuarena_config_set(&config, key, word) == CUARENA_OK)
        choices->count++;
}

bool choices_of(const char *key, choices_t *choices_out, fault_t *fault)
{
    const char *at = accepted_by(key);
    choices_out->count = 0;
    while (at != NULL && *at != '\0' && choices_out->count < CHOICES_MOST) {
        size_t length = strspn(at, WORD);
        if (length > 0)
            consider(choices_out, key, at, length);
        at += length;
        at += strcspn(at, WORD);
    }
    return choices_out->count > 0 ||
           fault_set(fault, "the library has no choices for its option '%s'", key);
}
