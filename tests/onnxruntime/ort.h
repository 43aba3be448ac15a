/*
 * What the test host, the test provider and bench/onnxruntime use of ONNX Runtime: numbers of
 * functions in its tables and types of these. Its wheel has no header.
 */
#ifndef TESTS_ONNXRUNTIME_ORT_H
#define TESTS_ONNXRUNTIME_ORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct OrtStatus ort_status_t;
typedef struct OrtEnv ort_env_t;
typedef struct OrtSession ort_session_t;
typedef struct OrtSessionOptions ort_session_options_t;
typedef struct OrtRunOptions ort_run_options_t;
typedef struct OrtMemoryInfo ort_memory_info_t;
typedef struct OrtValue ort_value_t;
typedef struct OrtKeyValuePairs ort_pairs_t;
typedef struct OrtEpDevice ort_ep_device_t;
typedef struct OrtHardwareDevice ort_hardware_t;
typedef struct OrtApi {
    void (*functions[512])(void);
} ort_api_t;

/* The table of an allocator, by its names. */
typedef struct OrtAllocator {
    uint32_t version;
    void *(*alloc)(struct OrtAllocator *self, size_t bytes);
    void (*free)(struct OrtAllocator *self, void *pointer);
    const ort_memory_info_t *(*info)(const struct OrtAllocator *self);
    void *(*reserve)(struct OrtAllocator *self, size_t bytes);
    ort_status_t *(*get_stats)(const struct OrtAllocator *self, ort_pairs_t **out);
    void *(*alloc_on_stream)(struct OrtAllocator *self, size_t bytes, void *stream);
    ort_status_t *(*shrink)(struct OrtAllocator *self);
} ort_allocator_t;

typedef struct ort_api_base {
    const ort_api_t *(*get_api)(uint32_t version);
    const char *(*version)(void);
} ort_api_base_t;

/* Options of CreateEnvWithOptions. */
typedef struct ort_env_options {
    uint32_t version;
    int32_t level;
    const char *log_id;
    void *log;
    void *log_param;
    void *threading;
    const ort_pairs_t *entries;
} ort_env_options_t;

/* F(name, number, result, parameters): functions of the table. */
#define ORT_FUNCTIONS(F)                                                                           \
    F(create_status, 0, ort_status_t *, (int code, const char *message))                           \
    F(message, 2, const char *, (const ort_status_t *status))                                      \
    F(create_session, 7, ort_status_t *,                                                           \
      (const ort_env_t *, const char *path, const ort_session_options_t *, ort_session_t **))      \
    F(run, 9, ort_status_t *,                                                                      \
      (ort_session_t *, const ort_run_options_t *, const char *const *names,                       \
       const ort_value_t *const *inputs, size_t count, const char *const *output_names,            \
       size_t output_count, ort_value_t **outputs))                                                \
    F(create_session_options, 10, ort_status_t *, (ort_session_options_t **))                      \
    F(disable_arena, 19, ort_status_t *, (ort_session_options_t *))                                \
    F(set_threads, 24, ort_status_t *, (ort_session_options_t *, int))                             \
    F(create_run_options, 39, ort_status_t *, (ort_run_options_t **))                              \
    F(create_tensor, 49, ort_status_t *,                                                           \
      (const ort_memory_info_t *, void *data, size_t bytes, const int64_t *shape, size_t rank,     \
       int type, ort_value_t **))                                                                  \
    F(tensor_data, 51, ort_status_t *, (ort_value_t *, void **))                                   \
    F(create_memory_info, 68, ort_status_t *,                                                      \
      (const char *name, int allocator, int id, int type, ort_memory_info_t **))                   \
    F(release_env, 92, void, (ort_env_t *))                                                        \
    F(release_status, 93, void, (ort_status_t *))                                                  \
    F(release_memory_info, 94, void, (ort_memory_info_t *))                                        \
    F(release_session, 95, void, (ort_session_t *))                                                \
    F(release_value, 96, void, (ort_value_t *))                                                    \
    F(release_run_options, 97, void, (ort_run_options_t *))                                        \
    F(release_session_options, 100, void, (ort_session_options_t *))                               \
    F(session_entry, 130, ort_status_t *, (ort_session_options_t *, const char *, const char *))   \
    F(create_allocator, 131, ort_status_t *,                                                       \
      (const ort_session_t *, const ort_memory_info_t *, ort_allocator_t **))                      \
    F(release_allocator, 132, void, (ort_allocator_t *))                                           \
    F(run_entry, 165, ort_status_t *, (ort_run_options_t *, const char *, const char *))           \
    F(register_allocator, 176, ort_status_t *, (ort_env_t *, ort_allocator_t *))                   \
    F(unregister_allocator, 177, ort_status_t *, (ort_env_t *, const ort_memory_info_t *))         \
    F(create_pairs, 295, void, (ort_pairs_t **))                                                   \
    F(add_pair, 296, void, (ort_pairs_t *, const char *, const char *))                            \
    F(get_value, 297, const char *, (const ort_pairs_t *, const char *))                           \
    F(get_pairs, 298, void,                                                                        \
      (const ort_pairs_t *, const char *const **, const char *const **, size_t *))                 \
    F(release_pairs, 300, void, (ort_pairs_t *))                                                   \
    F(register_library, 301, ort_status_t *, (ort_env_t *, const char *, const char *))            \
    F(unregister_library, 302, ort_status_t *, (ort_env_t *, const char *))                        \
    F(ep_devices, 303, ort_status_t *,                                                             \
      (const ort_env_t *, const ort_ep_device_t *const **, size_t *))                              \
    F(append_provider, 304, ort_status_t *,                                                        \
      (ort_session_options_t *, ort_env_t *, const ort_ep_device_t *const *, size_t,               \
       const char *const *, const char *const *, size_t))                                          \
    F(hardware_type, 307, int, (const ort_hardware_t *))                                           \
    F(ep_name, 312, const char *, (const ort_ep_device_t *))                                       \
    F(ep_api, 317, const ort_api_t *, (void))                                                      \
    F(create_memory_info_2, 320, ort_status_t *,                                                   \
      (const char *name, int device_type, uint32_t vendor, int32_t device, int type,               \
       size_t alignment, int allocator, ort_memory_info_t **))                                     \
    F(session_entries, 379, ort_status_t *, (const ort_session_options_t *, ort_pairs_t **))       \
    F(create_shared, 375, ort_status_t *,                                                          \
      (ort_env_t *, const ort_ep_device_t *, int type, int allocator, const ort_pairs_t *,         \
       ort_allocator_t **))                                                                        \
    F(release_shared, 377, ort_status_t *, (ort_env_t *, const ort_ep_device_t *, int type))       \
    F(create_env, 406, ort_status_t *, (const ort_env_options_t *, ort_env_t **))

#define ORT_FUNCTION_TYPE(name, number, result, parameters)                                        \
    typedef result(*ort_##name##_fn) parameters;
ORT_FUNCTIONS(ORT_FUNCTION_TYPE)
#undef ORT_FUNCTION_TYPE
enum {
#define ORT_FUNCTION_NUMBER(name, number, result, parameters) ORT_##name = number,
    ORT_FUNCTIONS(ORT_FUNCTION_NUMBER)
#undef ORT_FUNCTION_NUMBER
};
/* ORT(api, name)(arguments) */
#define ORT(api, name) ((ort_##name##_fn)(api)->functions[ORT_##name])

#define ORT_FLOAT 1
#define ORT_DEVICE_ALLOCATOR 0
#define ORT_MEMORY_DEFAULT 0
#define ORT_DEVICE_GPU 1
#define ORT_HARDWARE_CPU 0

#endif
