/* Sessions of ONNX Runtime on arenas. */
#include "session.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ort_api_t *api;
ort_env_t *env;
ort_memory_info_t *cpu;
const char *model;

/* ---- What must not fail ---------------------------------------------------- */

void must(ort_status_t *status, const char *what)
{
    if (status == NULL)
        return;
    printf("%s: %s\n", what, ORT(api, message)(status));
    exit(1);
}

void ours(cuarena_status_t status, const char *what)
{
    if (status == CUARENA_OK)
        return;
    printf("%s: %s\n", what, cuarena_last_error());
    exit(1);
}

/* ---- Running the model ----------------------------------------------------- */

ort_status_t *open_session(enum memory memory, const ort_ep_device_t *device,
                           ort_session_t **session)
{
    ort_session_options_t *options = NULL;
    must(ORT(api, create_session_options)(&options), "session options");
    must(ORT(api, set_threads)(options, 1), "threads");
    must(ORT(api, session_entry)(options, "session.use_env_allocators",
                                 memory == OF_ENVIRONMENT ? "1" : "0"),
         "entry");
    if (memory == OF_MALLOC)
        must(ORT(api, disable_arena)(options), "no arena");
    if (device != NULL)
        must(ORT(api, append_provider)(options, env, &device, 1, NULL, NULL, 0), "provider");
    ort_status_t *status = ORT(api, create_session)(env, model, options, session);
    ORT(api, release_session_options)(options);
    return status;
}

ort_status_t *run(ort_session_t *session, int64_t side, const ort_run_options_t *options,
                  answer_t *answer)
{
    static const char *const inputs[] = {"image"};
    static const char *const outputs[] = {"answer"};
    int64_t shape[] = {1, 3, side, side};
    size_t count = (size_t)(3 * side * side);
    float *image = malloc(count * sizeof *image);
    ort_value_t *in = NULL;
    ort_value_t *out = NULL;
    for (size_t i = 0; i < count; i++)
        image[i] = (float)(i % 17) / 17.0f;
    must(ORT(api, create_tensor)(cpu, image, count * sizeof *image, shape, 4, ORT_FLOAT, &in),
         "tensor");
    ort_status_t *status = ORT(api, run)(session, options, inputs, (const ort_value_t *const *)&in,
                                         1, outputs, 1, &out);
    if (status == NULL) {
        void *data = NULL;
        must(ORT(api, tensor_data)(out, &data), "data");
        memcpy(answer, data, sizeof *answer);
        ORT(api, release_value)(out);
    }
    ORT(api, release_value)(in);
    free(image);
    return status;
}

/* ---- An allocator that is registered --------------------------------------- */

registered_t opened(const char *options)
{
    registered_t it = {NULL, NULL};
    ours(cuarena_open(options, &it.arena), options);
    ours(cuarena_ort_allocator_create(it.arena, (const struct OrtApi *)api, cpu, 0, &it.allocator),
         "allocator");
    must(ORT(api, register_allocator)(env, it.allocator), "register");
    return it;
}

void closed(registered_t *it)
{
    must(ORT(api, unregister_allocator)(env, cpu), "unregister");
    ours(cuarena_ort_allocator_destroy(&it->allocator), "destroy the allocator");
    if (it->allocator != NULL)
        must(ORT(api, create_status)(1, "it is still there"), "destroy the allocator");
    ours(cuarena_destroy(&it->arena), "destroy: nothing is leaked");
}

long figure(ort_allocator_t *allocator, const char *key)
{
    ort_pairs_t *pairs = NULL;
    must(allocator->get_stats(allocator, &pairs), "stats");
    const char *value = ORT(api, get_value)(pairs, key);
    long number = value == NULL ? -1 : strtol(value, NULL, 10);
    ORT(api, release_pairs)(pairs);
    return number;
}

/* ---- The environment ------------------------------------------------------- */

void open_env(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const ort_api_base_t *(*base)(void) = NULL;
    if (handle == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    *(void **)&base = dlsym(handle, "OrtGetApiBase");
    printf("ONNX Runtime %s\n", base()->version());
    api = base()->get_api(CUARENA_ORT_API_VERSION);
    ort_pairs_t *entries = NULL;
    ORT(api, create_pairs)(&entries);
    ORT(api, add_pair)(entries, "ep_factory.cuarena_test.arena.max_mem", "50331648");
    ORT(api, add_pair)(entries, "ep_factory.Another.arena.max_mem", "4096");
    ort_env_options_t options = {
        .version = CUARENA_ORT_API_VERSION, .level = 3, .log_id = "host", .entries = entries};
    must(ORT(api, create_env)(&options, &env), "environment");
    ORT(api, release_pairs)(entries);
    must(ORT(api, create_memory_info)("Cpu", ORT_DEVICE_ALLOCATOR, 0, 0, &cpu), "memory info");
}
