#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "layer/layer.h"

cuarena_layer_t cuai_layer_next;
cuai_layer_calls_t cuai_layer_calls;
cuai_layer_mode_t cuai_layer_mode = CUAI_LAYER_OFF;

static void *library; /* NULL: there is none */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool is_open;

cuai_cu_result_t cuai_layer_lacks(void)
{
    return library != NULL ? CUAI_CUDA_ERROR_NOT_FOUND : CUAI_CUDA_ERROR_NO_DEVICE;
}

/* ---- Finding ------------------------------------------------------------- */

void *cuai_layer_symbol(const char *name)
{
    return library != NULL ? dlsym(library, name) : NULL;
}

/* dlsym gives an object's address for a function's; POSIX wants the two to have one form. */
#define ASSIGN(member, symbol)                                                                     \
    found = cuai_layer_symbol(symbol);                                                             \
    memcpy(&(member), &found, sizeof found);

#define FIND_ENTRY(name, asked, since) ASSIGN(cuai_layer_next.name, #name)
#define FIND_OPTIONAL(name, parameters) ASSIGN(cuai_layer_calls.name, #name)
#define FIND_CALL(name, parameters)                                                                \
    ASSIGN(cuai_layer_calls.name, #name)                                                           \
    if (found == NULL)                                                                             \
        lacking = #name;

/* The name of a call that the driver lacks; NULL: it has all that serving wants. */
static const char *find_all(void)
{
    const char *lacking = NULL;
    void *found;
    CUAI_LAYER_ENTRIES(FIND_ENTRY)
    CUAI_LAYER_STREAM_ENTRIES(FIND_ENTRY)
    CUAI_LAYER_OPTIONAL(FIND_OPTIONAL)
    CUAI_LAYER_CALLS(FIND_CALL)
    return lacking;
}

/* ---- The environment ----------------------------------------------------- */

static const char *variable(const char *name)
{
#if defined(__GLIBC__)
    const char *value = secure_getenv(name);
#else
    const char *value = getenv(name);
#endif
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static cuai_layer_mode_t mode_of(const char *word)
{
    if (word == NULL || strcmp(word, "on") == 0)
        return CUAI_LAYER_ON;
    if (strcmp(word, "async") == 0)
        return CUAI_LAYER_ASYNC;
    if (strcmp(word, "off") == 0)
        return CUAI_LAYER_OFF;
    char plain[CUAI_SHOWN];
    (void)cuai_text_plain(plain, sizeof plain, word);
    (void)fprintf(stderr,
                  "cuarena: CUARENA_ALLOCATOR: '%s' is taken as on; accepted: on, async, off\n",
                  plain);
    return CUAI_LAYER_ON;
}

static void report_if_wanted(void)
{
    const char *word = variable("CUARENA_REPORT");
    if (word != NULL && strcmp(word, "0") != 0)
        cuai_layer_report_later();
}

/* `lacking` is a call that the driver lacks; NULL: it has all that are wanted. */
static cuai_layer_mode_t choose_mode(const char *lacking)
{
    const char *record = variable("CUARENA_RECORD");
    cuai_layer_mode_t mode = mode_of(variable("CUARENA_ALLOCATOR"));
    if (lacking != NULL) {
        cuai_log(CUARENA_LOG_WARN, "the driver lacks %s, so its allocations are left to it",
                 lacking);
        return CUAI_LAYER_OFF;
    }
    if (record == NULL)
        return mode;
    return cuai_layer_record_begin(record) ? CUAI_LAYER_RECORD : CUAI_LAYER_OFF;
}

/* A child has no driver, so nothing is served there, and no call asks for an arena. */
static void after_fork_in_child(void)
{
    cuai_layer_devices_after_fork();
    cuai_layer_captures_after_fork();
    cuai_layer_mode = CUAI_LAYER_OFF;
    cuai_layer_inside = false;
}

static void begin(void)
{
    (void)pthread_atfork(NULL, NULL, after_fork_in_child);
    library = dlopen(cuai_cuda_library_name(), RTLD_NOW | RTLD_LOCAL);
    cuai_layer_mode = choose_mode(find_all());
    CUAI_ASSERT(library != NULL || cuai_layer_mode == CUAI_LAYER_OFF);
    report_if_wanted();
    atomic_store_explicit(&is_open, true, memory_order_release);
}

void cuai_layer_open(void)
{
    if (CUAI_UNLIKELY(!atomic_load_explicit(&is_open, memory_order_acquire)))
        (void)pthread_once(&once, begin);
}
