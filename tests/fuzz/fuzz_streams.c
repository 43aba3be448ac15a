/*
 * Fuzz target: bytes are choices of a program on simulated streams, see support/stream_model.h.
 * Calls of the memory fail now and then. Aborts where something is wrong.
 */
#include "../support/stream_model.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static stream_model_t model;
    choice_t choice = {.bytes = data, .left = size};
    stream_model_open(&model, &choice, MODEL_MAY_FAIL);
    while (!choice_done(&model.choice) && !model.stop) {
        stream_model_step(&model);
        stream_model_check(&model);
    }
    stream_model_close(&model);
    if (model.wrong[0] == '\0')
        return 0;
    fprintf(stderr, "%s\n", model.wrong);
    abort();
}
