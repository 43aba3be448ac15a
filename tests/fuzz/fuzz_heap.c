/*
 * Fuzz target: bytes are choices (support/choice.h) of calls on a heap. Each call is compared with
 * the reference in support/heap_model.h and followed by the validator; a difference aborts.
 *
 * Bytes: the model's configuration first, then calls until they are used up.
 */
#include "../support/heap_model.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    choice_t choice = {.bytes = data, .left = size};
    model_t model;
    model_open(&model, &choice);
    while (!choice_done(&choice)) {
        model_step(&model);
        if (model.ref.live_blocks > MODEL_SMALL)
            model_check(&model);
    }
    model_close(&model);
    return 0;
}
