/*
 * Keys: what text may call an option. Its own name, or one of those that ONNX Runtime has for the
 * same, both perhaps behind "arena."; values of the latter are numbers, with ranges of their own.
 */
#ifndef CUAI_API_KEYS_H
#define CUAI_API_KEYS_H

#include "api/options.h"

typedef struct cuai_key {
    const cuai_option_t *option; /* NULL: none */
    bool ort;                    /* by one of ONNX Runtime's names */
} cuai_key_t;

cuai_key_t cuai_key_find(const char *name);
/* The name of an option, ours or ONNX Runtime's, that is most like `name`. */
const char *cuai_key_nearest(const char *name);

/* The range of values, in words. */
const char *cuai_key_accepted(cuai_key_t key);
/* As cuai_option_read and cuai_option_print. */
cuai_refusal_t cuai_key_read(cuai_key_t key, const char *value, cuarena_config_t *config);
bool cuai_key_print(cuai_key_t key, const cuarena_config_t *config,
                    char text[CUAI_OPTION_TEXT_SIZE]);

#endif
