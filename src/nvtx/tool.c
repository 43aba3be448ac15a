#define _GNU_SOURCE
#include "nvtx/tool.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/lock.h"
#include "base/log.h"
#include "nvtx/abi.h"
#include "nvtx/signals.h"

#define DOMAIN "cuarena"

typedef enum tool_state {
    STATE_UNTRIED,
    STATE_LOADING, /* by the holder of the lock */
    STATE_LOADED,  /* or there is none: its tables are empty */
    STATE_FORKED
} tool_state_t;

static cuai_lock_t lock = CUAI_LOCK_INIT;
static _Atomic(tool_state_t) state = STATE_UNTRIED;

/* What the tool takes; read-only once it is loaded. */
static struct {
    cuai_nvtx_domain_t domain;
    cuai_nvtx_domain_create_t domain_create;
    cuai_nvtx_range_push_t push;
    cuai_nvtx_range_pop_t pop;
    cuai_nvtx_heap_register_t heap_register;
    cuai_nvtx_heap_end_t heap_unregister;
    cuai_nvtx_heap_end_t heap_reset;
    cuai_nvtx_regions_register_t regions_register;
    cuai_nvtx_regions_resize_t regions_resize;
    cuai_nvtx_regions_unregister_t regions_unregister;
    cuai_nvtx_regions_name_t regions_name;
} tool;

/* ---- Domains and ranges ------------------------------------------------ */

/* A tool asks for the functions of every module, and may want room for each of them. */
static cuai_nvtx_function_t functions[CUAI_NVTX_MODULE_LAST + 1][CUAI_NVTX_MODULE_MOST];
static cuai_nvtx_function_t *pointers[CUAI_NVTX_MODULE_LAST + 1][CUAI_NVTX_MODULE_MOST];

static int get_module(int module, cuai_nvtx_function_t ***functions_out, unsigned *count_out)
{
    static const unsigned sizes[] = CUAI_NVTX_MODULE_SIZES;
    if (module < CUAI_NVTX_MODULE_FIRST || module > CUAI_NVTX_MODULE_LAST)
        return 0;
    for (unsigned i = 1; i < sizes[module]; i++)
        pointers[module][i] = &functions[module][i];
    if (functions_out != NULL)
        *functions_out = pointers[module];
    if (count_out != NULL)
        *count_out = sizes[module];
    return 1;
}

static void set_tool_version(uint32_t version)
{
    (void)version; /* whatever it is */
}

static const void *get_table(uint32_t table)
{
    static const cuai_nvtx_callbacks_t callbacks = {sizeof callbacks, get_module};
    static const cuai_nvtx_version_t version = {
        .struct_size = sizeof version, .version = CUAI_NVTX_VERSION, .set_tool = set_tool_version};
    if (table == CUAI_NVTX_TABLE_CALLBACKS)
        return &callbacks;
    return table == CUAI_NVTX_TABLE_VERSION ? &version : NULL;
}

/* A function's address for an object's, or a number: POSIX wants all of them to have one form. */
#define ASSIGN(member, value) memcpy(&(member), &(value), sizeof(void *))

static void begin_ranges(void *library)
{
    void *address = dlsym(library, CUAI_NVTX_CORE);
    cuai_nvtx_init_core_t init = NULL;
    ASSIGN(init, address);
    if (init == NULL || init(get_table) == 0)
        return;
    const cuai_nvtx_function_t *core2 = functions[CUAI_NVTX_MODULE_CORE2];
    ASSIGN(tool.domain_create, core2[CUAI_NVTX_DOMAIN_CREATE]);
    if (tool.domain_create != NULL)
        tool.domain = tool.domain_create(DOMAIN);
    ASSIGN(tool.push, core2[CUAI_NVTX_RANGE_PUSH]);
    ASSIGN(tool.pop, core2[CUAI_NVTX_RANGE_POP]);
}

/* ---- Memory ------------------------------------------------------------ */

#define UNWANTED 1

static bool has(const intptr_t *taken, int first, int last)
{
    for (int i = first; i <= last; i++)
        if (taken[i] == 0 || taken[i] == UNWANTED)
            return false;
    return true;
}

/* A tool that does not take all of it takes none; only names may be missing. */
static void begin_regions(void *library)
{
    intptr_t taken[CUAI_NVTX_MEMORY_COUNT] = {0};
    cuai_nvtx_functions_t segment = {1, CUAI_NVTX_MEMORY_COUNT, taken};
    cuai_nvtx_extension_t extension = {.version = CUAI_NVTX_VERSION,
                                       .struct_size = sizeof extension,
                                       .extension = CUAI_NVTX_EXTENSION_MEMORY,
                                       .extension_version = CUAI_NVTX_MEMORY_VERSION,
                                       .segment_count = 1,
                                       .segments = &segment};
    void *address = dlsym(library, CUAI_NVTX_EXTENSION);
    cuai_nvtx_init_extension_t init = NULL;
    ASSIGN(init, address);
    if (init == NULL || init(&extension) == 0 ||
        !has(taken, CUAI_NVTX_HEAP_REGISTER, CUAI_NVTX_REGIONS_UNREGISTER))
        return;
    ASSIGN(tool.heap_register, taken[CUAI_NVTX_HEAP_REGISTER]);
    ASSIGN(tool.heap_unregister, taken[CUAI_NVTX_HEAP_UNREGISTER]);
    ASSIGN(tool.heap_reset, taken[CUAI_NVTX_HEAP_RESET]);
    ASSIGN(tool.regions_register, taken[CUAI_NVTX_REGIONS_REGISTER]);
    ASSIGN(tool.regions_resize, taken[CUAI_NVTX_REGIONS_RESIZE]);
    ASSIGN(tool.regions_unregister, taken[CUAI_NVTX_REGIONS_UNREGISTER]);
    if (has(taken, CUAI_NVTX_REGIONS_NAME, CUAI_NVTX_REGIONS_NAME))
        ASSIGN(tool.regions_name, taken[CUAI_NVTX_REGIONS_NAME]);
}

/* ---- Loading ----------------------------------------------------------- */

/* In a forked child there is no tool: its threads are the parent's. */
static void forget_tool(void)
{
    if (atomic_load(&state) != STATE_UNTRIED)
        atomic_store(&state, STATE_FORKED);
    cuai_lock_reset(&lock);
}

/* A program that runs with more rights than its user loads no file that the user names. */
static const char *library_name(void)
{
#if defined(__GLIBC__)
    const char *name = secure_getenv(CUAI_NVTX_VARIABLE);
#else
    const char *name = getenv(CUAI_NVTX_VARIABLE);
#endif
    bool none = name == NULL || name[0] == '\0' || strcmp(name, CUAI_NVTX_NO_TOOL) == 0;
    return none ? NULL : name;
}

/* A tool that was loaded is never unloaded: it may have threads. False: there is no such library.
 */
static bool load(const char *name)
{
    CUAI_ASSERT(atomic_load(&state) == STATE_LOADING);
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL)
        return false;
    begin_ranges(library);
    begin_regions(library);
    return true;
}

static void log_loaded(const char *name, bool loaded)
{
    if (loaded)
        cuai_log(CUARENA_LOG_DEBUG, "the tool %s takes %s", name,
                 tool.heap_register != NULL ? "regions of memory"
                 : tool.push != NULL        ? "ranges"
                                            : "nothing that is told");
    else
        cuai_log(CUARENA_LOG_WARN, "the tool that %s names cannot be loaded: %s",
                 CUAI_NVTX_VARIABLE, dlerror());
}

void cuai_tool_load(void)
{
    const char *name = library_name();
    bool tried = false, loaded = false;
    if (name == NULL || atomic_load(&state) != STATE_UNTRIED || !cuai_lock_enter(&lock))
        return;
    if (atomic_load(&state) == STATE_UNTRIED && pthread_atfork(NULL, NULL, forget_tool) == 0) {
        tried = true;
        atomic_store(&state, STATE_LOADING);
        loaded = load(name);
        atomic_store(&state, STATE_LOADED);
    }
    cuai_unlock(&lock);
    if (tried)
        log_loaded(name, loaded);
}

static bool is_loaded(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == STATE_LOADED;
}

bool cuai_tool_takes_regions(void)
{
    return is_loaded() && tool.heap_register != NULL;
}

bool cuai_tool_takes_ranges(void)
{
    return is_loaded() && tool.push != NULL && tool.pop != NULL;
}

/* ---- Calls ------------------------------------------------------------- */

static const void *pointer(uint64_t address)
{
    return (const void *)(uintptr_t)address; /* NOLINT */
}

#define HEAD .version = CUAI_NVTX_MEMORY_VERSION

void *cuai_tool_heap_begin(uint64_t address, uint64_t bytes, const char *name)
{
    cuai_nvtx_range_t range = {bytes, pointer(address)};
    cuai_nvtx_heap_desc_t desc = {HEAD,
                                  .struct_size = sizeof desc,
                                  .usage = CUAI_NVTX_USAGE_SUB_ALLOCATOR,
                                  .type = CUAI_NVTX_VIRTUAL_ADDRESS,
                                  .range_size = sizeof range,
                                  .range = &range,
                                  .message_type = CUAI_NVTX_MESSAGE_ASCII,
                                  .message = {name}};
    CUAI_ASSERT(cuai_tool_takes_regions());
    /* cppcheck-suppress returnDanglingLifetime; the handle is the tool's */
    return tool.heap_register(tool.domain, &desc);
}

void cuai_tool_heap_end(void *heap)
{
    CUAI_ASSERT(cuai_tool_takes_regions());
    tool.heap_unregister(tool.domain, heap);
}

void cuai_tool_heap_reset(void *heap)
{
    CUAI_ASSERT(cuai_tool_takes_regions());
    tool.heap_reset(tool.domain, heap);
}

static void name_region(uint64_t address, const char *name)
{
    cuai_nvtx_region_name_t one = {.by = CUAI_NVTX_BY_POINTER,
                                   .message_type = CUAI_NVTX_MESSAGE_ASCII,
                                   .region = {pointer(address)},
                                   .name = {name}};
    cuai_nvtx_name_t desc = {HEAD, .struct_size = sizeof desc, .count = 1, .name_size = sizeof one,
                             .names = &one};
    if (tool.regions_name != NULL)
        tool.regions_name(tool.domain, &desc);
}

void cuai_tool_region_begin(void *heap, uint64_t address, uint64_t bytes, const char *name)
{
    cuai_nvtx_range_t range = {bytes, pointer(address)};
    cuai_nvtx_register_t desc = {HEAD,
                                 .struct_size = sizeof desc,
                                 .type = CUAI_NVTX_VIRTUAL_ADDRESS,
                                 .heap = heap,
                                 .count = 1,
                                 .range_size = sizeof range,
                                 .ranges = &range};
    CUAI_ASSERT(cuai_tool_takes_regions());
    tool.regions_register(tool.domain, &desc);
    name_region(address, name);
}

void cuai_tool_region_resize(uint64_t address, uint64_t bytes)
{
    cuai_nvtx_range_t range = {bytes, pointer(address)};
    cuai_nvtx_resize_t desc = {
        HEAD,       .struct_size = sizeof desc, .type = CUAI_NVTX_VIRTUAL_ADDRESS,
        .count = 1, .range_size = sizeof range, .ranges = &range};
    CUAI_ASSERT(cuai_tool_takes_regions());
    tool.regions_resize(tool.domain, &desc);
}

void cuai_tool_region_end(uint64_t address)
{
    cuai_nvtx_region_t region = {pointer(address)};
    cuai_nvtx_unregister_t desc = {
        HEAD,       .struct_size = sizeof desc,   .by = CUAI_NVTX_BY_POINTER,
        .count = 1, .region_size = sizeof region, .regions = &region};
    CUAI_ASSERT(cuai_tool_takes_regions());
    tool.regions_unregister(tool.domain, &desc);
}

void cuai_tool_range_begin(const char *name, uint64_t payload)
{
    cuai_nvtx_event_t event = {.version = CUAI_NVTX_VERSION,
                               .struct_size = sizeof event,
                               .payload_type = CUAI_NVTX_PAYLOAD_UINT64,
                               .payload = payload,
                               .message_type = CUAI_NVTX_MESSAGE_ASCII,
                               .message = {name}};
    sigset_t signals;
    CUAI_ASSERT(cuai_tool_takes_ranges());
    cuai_signals_hold(&signals);
    (void)tool.push(tool.domain, &event);
    cuai_signals_release(&signals);
}

void cuai_tool_range_end(void)
{
    sigset_t signals;
    CUAI_ASSERT(cuai_tool_takes_ranges());
    cuai_signals_hold(&signals);
    (void)tool.pop(tool.domain);
    cuai_signals_release(&signals);
}
