/*
 * A host of ONNX Runtime: host LIBONNXRUNTIME MODEL PROVIDER. It runs a model on arenas, lets them
 * run out, reads their figures, and has them behind a provider.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

static int failures;

#define WANT(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: not so: %s\n", __func__, __LINE__, #condition);                         \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* Whether it failed with those words in its message. */
static bool refused(ort_status_t *status, const char *words)
{
    bool found = status != NULL && strstr(ORT(api, message)(status), words) != NULL;
    if (status != NULL) {
        printf("  refused: %s\n", ORT(api, message)(status));
        ORT(api, release_status)(status);
    }
    return found;
}

/* ---- With its allocators --------------------------------------------------- */

static answer_t reference(int64_t side)
{
    ort_session_t *session = NULL;
    answer_t answer = {{0}};
    must(open_session(OF_SESSION, NULL, &session), "session");
    must(run(session, side, NULL, &answer), "run");
    ORT(api, release_session)(session);
    return answer;
}

static bool same(answer_t a, answer_t b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* ---- With an allocator that is registered ---------------------------------- */

static void test_a_model_runs_on_any_arena_and_answers_alike(void)
{
    static const char *const kinds[] = {"preset=bfc", "preset=grow", "pool=64MiB", "preset=mlx-cpu",
                                        "preset=cupy-pool"};
    answer_t small = reference(24);
    answer_t large = reference(57);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        registered_t it = opened(kinds[i]);
        ort_session_t *session = NULL;
        answer_t answer;
        must(open_session(OF_ENVIRONMENT, NULL, &session), kinds[i]);
        for (int round = 0; round < 4; round++) {
            must(run(session, 24, NULL, &answer), kinds[i]);
            WANT(same(answer, small));
            must(run(session, 57, NULL, &answer), kinds[i]);
            WANT(same(answer, large));
        }
        printf("  %s: %ld allocations, %ld reserves, most in use %ld\n", kinds[i],
               figure(it.allocator, "NumAllocs"), figure(it.allocator, "NumReserves"),
               figure(it.allocator, "MaxInUse"));
        WANT(figure(it.allocator, "NumAllocs") > 8);
        WANT(figure(it.allocator, "NumReserves") == 0); /* small weights are blocks among others */
        WANT(figure(it.allocator, "MaxInUse") > 32 * 57 * 57 * 4);
        WANT(figure(it.allocator, "InUse") > 0);
        ORT(api, release_session)(session);
        WANT(figure(it.allocator, "InUse") == 0);
        closed(&it);
    }
}

static void test_a_refused_request_fails_the_run_and_not_the_session(void)
{
    answer_t expected = reference(57);
    registered_t it = opened("preset=grow");
    ort_session_t *session = NULL;
    answer_t answer;
    uint64_t old = 0;
    cuarena_stats_t stats;
    must(open_session(OF_ENVIRONMENT, NULL, &session), "session");
    cuarena_stats_init(&stats);
    ours(cuarena_stats(it.arena, CUARENA_REGION_ALL, &stats), "stats");
    cuarena_amount_t none = {CUARENA_AMOUNT_BYTES, 0, stats.live_bytes};
    ours(cuarena_set_limit(it.arena, CUARENA_LIMIT_LIVE, none, &old), "limit");
    WANT(refused(run(session, 57, NULL, &answer), "cuarena has no"));
    cuarena_amount_t all = {CUARENA_AMOUNT_BYTES, 0, old};
    ours(cuarena_set_limit(it.arena, CUARENA_LIMIT_LIVE, all, NULL), "limit");
    must(run(session, 57, NULL, &answer), "run after the limit was raised");
    WANT(same(answer, expected));
    ORT(api, release_session)(session);
    closed(&it);
}

static void test_weights_without_room_refuse_the_session(void)
{
    registered_t it = opened("preset=grow, limit=1");
    ort_session_t *session = NULL;
    WANT(refused(open_session(OF_ENVIRONMENT, NULL, &session), "cuarena has no"));
    closed(&it);
}

static void test_shrink_gives_back_what_is_free(void)
{
    registered_t it = opened("preset=bfc");
    void *pointer = it.allocator->alloc(it.allocator, 8 << 20);
    WANT(it.allocator->info(it.allocator) == cpu);
    it.allocator->free(it.allocator, pointer);
    WANT(figure(it.allocator, "TotalAllocated") >= 8 << 20);
    must(it.allocator->shrink(it.allocator), "shrink");
    WANT(figure(it.allocator, "TotalAllocated") == 0);
    WANT(figure(it.allocator, "NumArenaShrinkages") == 1);
    WANT(it.allocator->alloc(it.allocator, 0) == NULL);
    closed(&it);
}

static void test_bad_arguments_are_named(void)
{
    struct OrtAllocator *none = NULL;
    ort_allocator_t foreign = {.version = CUARENA_ORT_API_VERSION};
    struct OrtAllocator *other = (struct OrtAllocator *)&foreign;
    WANT(cuarena_ort_allocator_create(NULL, (const struct OrtApi *)api, cpu, 0, &none) ==
         CUARENA_BAD_ARGUMENT);
    WANT(strstr(cuarena_last_error(), "arena") != NULL);
    WANT(cuarena_ort_allocator_destroy(&none) == CUARENA_OK);
    WANT(cuarena_ort_allocator_destroy(&other) == CUARENA_BAD_ARGUMENT);
    WANT(strstr(cuarena_last_error(), "allocator") != NULL);
}

/* ---- Behind a provider ----------------------------------------------------- */

static const ort_ep_device_t *find_device(const char *name)
{
    const ort_ep_device_t *const *devices = NULL;
    size_t count = 0;
    must(ORT(api, ep_devices)(env, &devices, &count), "devices");
    for (size_t i = 0; i < count; i++)
        if (strcmp(ORT(api, ep_name)(devices[i]), name) == 0)
            return devices[i];
    printf("no device of %s\n", name);
    exit(1);
}

static ort_allocator_t *shared(const ort_ep_device_t *device, const ort_pairs_t *options)
{
    ort_allocator_t *allocator = NULL;
    must(ORT(api, create_shared)(env, device, ORT_MEMORY_DEFAULT, ORT_DEVICE_ALLOCATOR, options,
                                 &allocator),
         "shared allocator");
    return allocator;
}

static void test_options_of_the_environment_and_over_them_those_of_a_replacement(
    const ort_ep_device_t *device)
{
    ort_pairs_t *options = NULL;
    ORT(api, create_pairs)(&options);
    WANT(figure(shared(device, NULL), "Limit") == 50331648);
    ORT(api, add_pair)(options, "arena.max_mem", "67108864");
    WANT(figure(shared(device, options), "Limit") == 67108864);
    ORT(api, add_pair)(options, "arena.max_mem", "a lot");
    ort_allocator_t *none = NULL;
    WANT(refused(ORT(api, create_shared)(env, device, ORT_MEMORY_DEFAULT, ORT_DEVICE_ALLOCATOR,
                                         options, &none),
                 "max_mem"));
    ORT(api, release_pairs)(options);
}

static void test_a_shrink_reaches_a_provider_s_arena(const ort_ep_device_t *device)
{
    ort_allocator_t *allocator = shared(device, NULL);
    void *pointer = allocator->alloc(allocator, 4 << 20);
    WANT(pointer != NULL);
    memset(pointer, 1, 4 << 20);
    allocator->free(allocator, pointer);
    WANT(figure(allocator, "TotalAllocated") >= 4 << 20);
    WANT(allocator->version >= CUARENA_ORT_API_VERSION && allocator->shrink != NULL);
    must(allocator->shrink(allocator), "shrink");
    WANT(figure(allocator, "TotalAllocated") == 0);
}

static void test_a_run_shrinks_the_arena_that_its_option_names(const ort_ep_device_t *device)
{
    answer_t expected = reference(24);
    ort_allocator_t *allocator = shared(device, NULL);
    ort_session_t *session = NULL;
    ort_run_options_t *options = NULL;
    answer_t answer;
    allocator->free(allocator, allocator->alloc(allocator, 4 << 20));
    must(open_session(OF_ENVIRONMENT, device, &session), "session");
    must(ORT(api, create_run_options)(&options), "run options");
    must(ORT(api, run_entry)(options, "memory.enable_memory_arena_shrinkage", "gpu:0"), "entry");
    must(run(session, 24, options, &answer), "run that shrinks");
    WANT(same(answer, expected));
    WANT(figure(allocator, "NumArenaShrinkages") == 1);
    WANT(figure(allocator, "TotalAllocated") == 0);
    ORT(api, release_run_options)(options);
    ORT(api, release_session)(session);
}

static void with_a_provider(const char *library)
{
    must(ORT(api, register_library)(env, "test", library), "register the provider");
    const ort_ep_device_t *device = find_device("cuarena_test");
    test_options_of_the_environment_and_over_them_those_of_a_replacement(device);
    test_a_shrink_reaches_a_provider_s_arena(device);
    test_a_run_shrinks_the_arena_that_its_option_names(device);
    must(ORT(api, release_shared)(env, device, ORT_MEMORY_DEFAULT), "release");
    must(ORT(api, unregister_library)(env, "test"), "unregister the provider");
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        printf("usage: host LIBONNXRUNTIME MODEL PROVIDER\n");
        return 2;
    }
    model = argv[2];
    open_env(argv[1]);
    test_bad_arguments_are_named();
    test_a_model_runs_on_any_arena_and_answers_alike();
    test_a_refused_request_fails_the_run_and_not_the_session();
    test_weights_without_room_refuse_the_session();
    test_shrink_gives_back_what_is_free();
    with_a_provider(argv[3]);
    ORT(api, release_memory_info)(cpu);
    ORT(api, release_env)(env);
    printf("%s\n", failures == 0 ? "all as wanted" : "FAILED");
    return failures == 0 ? 0 : 1;
}
