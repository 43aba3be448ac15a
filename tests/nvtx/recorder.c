#include "recorder.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvtx/abi.h"

/* ---- What is there ----------------------------------------------------- */

typedef struct span {
    uint64_t begin;
    uint64_t end;
    char name[64];
    uint64_t heap; /* of a region: where its heap begins */
} span_t;

typedef struct spans {
    span_t *items; /* in address order; they do not overlap */
    size_t count;
    size_t room;
} spans_t;

/* Of each thread that has had a range. No thread-local variable: LeakSanitizer of clang 14 crashes
 * on those of a library that was loaded late. */
typedef struct thread_depth {
    pthread_t thread;
    size_t depth;
} thread_depth_t;

typedef struct range_count {
    const char *name;
    uint64_t count;
    uint64_t largest;
} range_count_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static spans_t heaps;
static spans_t regions;
static range_count_t ranges[16];
static thread_depth_t depths[256];
static size_t depth_count;
static recorder_counts_t counts;
static int domain;           /* its address is the handle */
static uint64_t raise_after; /* so many calls; 0: never */
static int raised;           /* the signal */

/* Lock held. */
static void mistake(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void mistake(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    counts.mistakes++;
    fputs("recorder: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

/* The index of the first that ends above an address. */
static size_t first_above(const spans_t *spans, uint64_t address)
{
    size_t low = 0;
    for (size_t high = spans->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (spans->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* That with bytes in [begin, end); NULL: none. */
static span_t *within(const spans_t *spans, uint64_t begin, uint64_t end)
{
    size_t at = first_above(spans, begin);
    return at < spans->count && spans->items[at].begin < end ? &spans->items[at] : NULL;
}

static span_t *beginning_at(const spans_t *spans, uint64_t address)
{
    span_t *span = within(spans, address, address + 1);
    return span != NULL && span->begin == address ? span : NULL;
}

static span_t *insert(spans_t *spans, uint64_t begin, uint64_t end)
{
    if (spans->count == spans->room) {
        spans->room = spans->room == 0 ? 64 : spans->room * 2;
        spans->items = realloc(spans->items, spans->room * sizeof *spans->items);
        if (spans->items == NULL)
            abort();
    }
    size_t at = first_above(spans, begin);
    span_t *span = &spans->items[at];
    memmove(span + 1, span, (spans->count - at) * sizeof *span);
    spans->count++;
    *span = (span_t){.begin = begin, .end = end};
    return span;
}

static void take_out(spans_t *spans, span_t *span)
{
    size_t after = spans->count - (size_t)(span - spans->items) - 1;
    memmove(span, span + 1, after * sizeof *span);
    spans->count--;
}

static void set_name(span_t *span, const char *name)
{
    (void)snprintf(span->name, sizeof span->name, "%s", name);
}

/* ---- Memory ------------------------------------------------------------ */

static uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static void begin_call(void)
{
    pthread_mutex_lock(&lock);
    counts.calls++;
    if (raise_after != 0 && --raise_after == 0)
        (void)raise(raised);
}

static void end_call(void)
{
    pthread_mutex_unlock(&lock);
}

static void check_head(const char *call, uint16_t version, size_t size, size_t expected)
{
    if (version != CUAI_NVTX_MEMORY_VERSION || size != expected)
        mistake("%s: version %x, %zu bytes", call, version, size);
}

/* A function of the driver that the program has loaded; false: it has none. */
static bool find_of_driver(const char *name, void *function)
{
    const char *file = getenv("CUARENA_CUDA_LIBRARY");
    void *library =
        dlopen(file != NULL && *file != '\0' ? file : "libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = library != NULL ? dlsym(library, name) : NULL;
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* Why compute-sanitizer would not take a heap that begins there: the bytes are a context's, and
 * none is current, or within an allocation. NULL: it would. */
static const char *refusal(uint64_t address)
{
    enum {
        CONTEXT = 1, /* of the driver's CU_POINTER_ATTRIBUTE_... */
        RANGE_START = 11
    };
    void *owner = NULL, *current = NULL;
    uint64_t begin = address;
    int (*attribute)(void *, int, uint64_t) = NULL;
    int (*get_current)(void **) = NULL;
    if (!find_of_driver("cuPointerGetAttribute", &attribute) ||
        !find_of_driver("cuCtxGetCurrent", &get_current) ||
        attribute(&owner, CONTEXT, address) != 0 || owner == NULL)
        return NULL;
    if (get_current(&current) == 0 && current == NULL)
        return "no context is current";
    if (attribute(&begin, RANGE_START, address) == 0 && begin != address)
        return "an allocation begins before it";
    return NULL;
}

static cuai_nvtx_heap_t heap_register(cuai_nvtx_domain_t where, const cuai_nvtx_heap_desc_t *desc)
{
    uint64_t begin = address_of(desc->range->pointer);
    uint64_t end = begin + desc->range->bytes;
    const char *refused = refusal(begin); /* no lock, since the stand-in asks with its own held */
    begin_call();
    check_head("heap", desc->version, desc->struct_size, sizeof *desc);
    if (desc->usage != CUAI_NVTX_USAGE_SUB_ALLOCATOR || desc->type != CUAI_NVTX_VIRTUAL_ADDRESS ||
        desc->range_size != sizeof *desc->range || where != &domain)
        mistake("heap at %#" PRIx64 ": usage %u, type %u", begin, desc->usage, desc->type);
    if (refused != NULL)
        mistake("heap at %#" PRIx64 ": %s\n", begin, refused);
    if (begin >= end || within(&heaps, begin, end) != NULL)
        mistake("heap at %#" PRIx64 " to %#" PRIx64 " overlaps one, or is empty", begin, end);
    else
        set_name(insert(&heaps, begin, end), desc->message.ascii);
    counts.heaps++;
    end_call();
    return (cuai_nvtx_heap_t)desc->range->pointer;
}

static void end_regions(const span_t *heap)
{
    span_t *region;
    while ((region = within(&regions, heap->begin, heap->end)) != NULL) {
        take_out(&regions, region);
        counts.ended++;
    }
}

static void heap_unregister(cuai_nvtx_domain_t where, cuai_nvtx_heap_t handle)
{
    (void)where;
    begin_call();
    span_t *heap = beginning_at(&heaps, address_of(handle));
    if (heap == NULL) {
        mistake("the end of a heap %p that is not there", handle);
    } else {
        end_regions(heap);
        take_out(&heaps, heap);
    }
    end_call();
}

static void heap_reset(cuai_nvtx_domain_t where, cuai_nvtx_heap_t handle)
{
    (void)where;
    begin_call();
    const span_t *heap = beginning_at(&heaps, address_of(handle));
    if (heap == NULL)
        mistake("reset of a heap %p that is not there", handle);
    else
        end_regions(heap);
    counts.resets++;
    end_call();
}

static void begin_region(uint64_t heap_begin, uint64_t begin, uint64_t end)
{
    const span_t *heap = beginning_at(&heaps, heap_begin);
    if (heap == NULL || begin >= end || begin < heap->begin || end > heap->end)
        mistake("region %#" PRIx64 " to %#" PRIx64 " is not within its heap %#" PRIx64, begin, end,
                heap_begin);
    else if (within(&regions, begin, end) != NULL)
        mistake("region %#" PRIx64 " to %#" PRIx64 " overlaps one", begin, end);
    else
        insert(&regions, begin, end)->heap = heap_begin;
    counts.begun++;
}

static void regions_register(cuai_nvtx_domain_t where, const cuai_nvtx_register_t *desc)
{
    (void)where;
    begin_call();
    check_head("register", desc->version, desc->struct_size, sizeof *desc);
    for (size_t i = 0; i < desc->count; i++) {
        uint64_t begin = address_of(desc->ranges[i].pointer);
        begin_region(address_of(desc->heap), begin, begin + desc->ranges[i].bytes);
    }
    end_call();
}

static void resize_region(uint64_t begin, uint64_t end)
{
    span_t *region = beginning_at(&regions, begin);
    const span_t *next =
        region == NULL || end <= region->end ? NULL : within(&regions, region->end, end);
    if (region == NULL)
        mistake("another size for a region %#" PRIx64 " that is not there", begin);
    else if (begin >= end || next != NULL)
        mistake("region %#" PRIx64 " cannot end at %#" PRIx64, begin, end);
    else
        region->end = end;
    counts.resized++;
}

static void regions_resize(cuai_nvtx_domain_t where, const cuai_nvtx_resize_t *desc)
{
    (void)where;
    begin_call();
    check_head("resize", desc->version, desc->struct_size, sizeof *desc);
    for (size_t i = 0; i < desc->count; i++) {
        uint64_t begin = address_of(desc->ranges[i].pointer);
        resize_region(begin, begin + desc->ranges[i].bytes);
    }
    end_call();
}

static void regions_unregister(cuai_nvtx_domain_t where, const cuai_nvtx_unregister_t *desc)
{
    (void)where;
    begin_call();
    check_head("unregister", desc->version, desc->struct_size, sizeof *desc);
    for (size_t i = 0; i < desc->count; i++) {
        span_t *region = beginning_at(&regions, address_of(desc->regions[i].pointer));
        if (region == NULL)
            mistake("the end of a region %p that is not there", desc->regions[i].pointer);
        else
            take_out(&regions, region);
        counts.ended++;
    }
    end_call();
}

static void regions_name(cuai_nvtx_domain_t where, const cuai_nvtx_name_t *desc)
{
    (void)where;
    begin_call();
    check_head("name", desc->version, desc->struct_size, sizeof *desc);
    for (size_t i = 0; i < desc->count; i++) {
        span_t *region = beginning_at(&regions, address_of(desc->names[i].region.pointer));
        if (region == NULL || desc->names[i].message_type != CUAI_NVTX_MESSAGE_ASCII)
            mistake("a name for a region %p that is not there", desc->names[i].region.pointer);
        else
            set_name(region, desc->names[i].name.ascii);
    }
    end_call();
}

/* ---- Ranges ------------------------------------------------------------ */

static range_count_t *range_of(const char *name)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (ranges[i].name == NULL || strcmp(ranges[i].name, name) == 0)
            return &ranges[i];
    abort();
}

/* Lock held. */
static size_t *depth_now(void)
{
    for (size_t i = 0; i < depth_count; i++)
        if (pthread_equal(depths[i].thread, pthread_self()))
            return &depths[i].depth;
    if (depth_count == sizeof depths / sizeof depths[0])
        abort();
    depths[depth_count] = (thread_depth_t){pthread_self(), 0};
    return &depths[depth_count++].depth;
}

static int push(cuai_nvtx_domain_t where, const cuai_nvtx_event_t *event)
{
    begin_call();
    if (where != &domain || event->version != CUAI_NVTX_VERSION ||
        event->struct_size != sizeof *event || event->payload_type != CUAI_NVTX_PAYLOAD_UINT64)
        mistake("range of version %u, %u bytes", event->version, event->struct_size);
    range_count_t *range = range_of(event->message.ascii);
    if (range->name == NULL)
        range->name = strdup(event->message.ascii);
    range->count++;
    range->largest = range->largest > event->payload ? range->largest : event->payload;
    counts.ranges++;
    int depth = (int)(*depth_now())++;
    end_call();
    return depth;
}

static int pop(cuai_nvtx_domain_t where)
{
    (void)where;
    begin_call();
    size_t *depth = depth_now();
    if (*depth == 0)
        mistake("a range ends that did not begin");
    else
        --*depth;
    int left = (int)*depth;
    end_call();
    return left;
}

static cuai_nvtx_domain_t domain_create(const char *name)
{
    begin_call();
    if (strcmp(name, "cuarena") != 0)
        mistake("domain '%s'", name);
    end_call();
    return &domain;
}

/* ---- Entry points ------------------------------------------------------ */

static bool lacks(const char *what)
{
    const char *list = getenv("RECORDER_LACKS");
    return list != NULL && strstr(list, what) != NULL;
}

#define PUT(function, value) memcpy((function), &(void (*)(void)){(void (*)(void))(value)}, 8)

int InitializeInjectionNvtx2(cuai_nvtx_get_table_t get_table)
{
    const cuai_nvtx_callbacks_t *callbacks = get_table(CUAI_NVTX_TABLE_CALLBACKS);
    const cuai_nvtx_version_t *version = get_table(CUAI_NVTX_TABLE_VERSION);
    cuai_nvtx_function_t **core2;
    unsigned count;
    if (lacks("all"))
        return 0;
    if (get_table(2) != NULL || version->version != CUAI_NVTX_VERSION ||
        callbacks->struct_size != sizeof *callbacks ||
        callbacks->get_module(CUAI_NVTX_MODULE_LAST + 1, &core2, &count) ||
        !callbacks->get_module(CUAI_NVTX_MODULE_CORE2, &core2, &count) ||
        count <= CUAI_NVTX_DOMAIN_CREATE)
        abort();
    version->set_tool(CUAI_NVTX_VERSION);
    PUT(core2[CUAI_NVTX_DOMAIN_CREATE], domain_create);
    if (lacks("ranges"))
        return 1;
    PUT(core2[CUAI_NVTX_RANGE_PUSH], push);
    PUT(core2[CUAI_NVTX_RANGE_POP], pop);
    return 1;
}

int InitializeInjectionNvtxExtension(cuai_nvtx_extension_t *extension)
{
    if (lacks("all") || lacks("memory"))
        return 0;
    if (extension->version != CUAI_NVTX_VERSION || extension->struct_size != sizeof *extension ||
        extension->extension != CUAI_NVTX_EXTENSION_MEMORY ||
        extension->extension_version != CUAI_NVTX_MEMORY_VERSION || extension->segment_count != 1 ||
        extension->segments->number != 1 || extension->segments->count <= CUAI_NVTX_REGIONS_NAME)
        abort();
    intptr_t *functions = extension->segments->functions;
    PUT(&functions[CUAI_NVTX_HEAP_REGISTER], heap_register);
    PUT(&functions[CUAI_NVTX_HEAP_UNREGISTER], heap_unregister);
    PUT(&functions[CUAI_NVTX_HEAP_RESET], heap_reset);
    PUT(&functions[CUAI_NVTX_REGIONS_REGISTER], regions_register);
    if (!lacks("resize"))
        PUT(&functions[CUAI_NVTX_REGIONS_RESIZE], regions_resize);
    PUT(&functions[CUAI_NVTX_REGIONS_UNREGISTER], regions_unregister);
    if (!lacks("names"))
        PUT(&functions[CUAI_NVTX_REGIONS_NAME], regions_name);
    return 1;
}

/* ---- What tests ask ---------------------------------------------------- */

void recorder_raise_at(uint64_t nth, int signal)
{
    pthread_mutex_lock(&lock);
    raise_after = nth;
    raised = signal;
    pthread_mutex_unlock(&lock);
}

recorder_counts_t recorder_counts(void)
{
    pthread_mutex_lock(&lock);
    recorder_counts_t now = counts;
    pthread_mutex_unlock(&lock);
    return now;
}

size_t recorder_heaps_now(void)
{
    pthread_mutex_lock(&lock);
    size_t count = heaps.count;
    pthread_mutex_unlock(&lock);
    return count;
}

size_t recorder_regions_now(void)
{
    pthread_mutex_lock(&lock);
    size_t count = regions.count;
    pthread_mutex_unlock(&lock);
    return count;
}

bool recorder_region_at(uint64_t address, recorder_region_t *out)
{
    pthread_mutex_lock(&lock);
    const span_t *region = within(&regions, address, address + 1);
    if (region != NULL) {
        out->address = region->begin;
        out->bytes = region->end - region->begin;
        memcpy(out->name, region->name, sizeof out->name);
    }
    pthread_mutex_unlock(&lock);
    return region != NULL;
}

bool recorder_heap_at(uint64_t address)
{
    pthread_mutex_lock(&lock);
    bool found = within(&heaps, address, address + 1) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Regions that touch are two allocations to a tool, but a program may copy over both. */
static bool may_use(const spans_t *all_heaps, const spans_t *all_regions, uint64_t address,
                    uint64_t bytes)
{
    const uint64_t end = address + bytes;
    bool may = true;
    while (may && address < end) {
        const span_t *heap = within(all_heaps, address, end);
        const span_t *region = within(all_regions, address, end);
        if (heap == NULL)
            break;
        if (heap->begin > address)
            address = heap->begin;
        may = region != NULL && region->begin <= address;
        if (may)
            address = region->end;
    }
    return may;
}

bool recorder_may_use(uint64_t address, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    bool may = may_use(&heaps, &regions, address, bytes);
    pthread_mutex_unlock(&lock);
    return may;
}

typedef struct snapshot {
    spans_t heaps;
    spans_t regions;
} snapshot_t;

static spans_t copy_of(const spans_t *spans)
{
    spans_t copy = {NULL, spans->count, spans->count};
    copy.items = malloc((spans->count + 1) * sizeof *spans->items);
    if (copy.items == NULL)
        abort();
    if (spans->count != 0)
        memcpy(copy.items, spans->items, spans->count * sizeof *spans->items);
    return copy;
}

void *recorder_snapshot(void)
{
    snapshot_t *snapshot = malloc(sizeof *snapshot);
    if (snapshot == NULL)
        abort();
    pthread_mutex_lock(&lock);
    *snapshot = (snapshot_t){copy_of(&heaps), copy_of(&regions)};
    pthread_mutex_unlock(&lock);
    return snapshot;
}

bool recorder_snapshot_may_use(const void *snapshot, uint64_t address, uint64_t bytes)
{
    const snapshot_t *then = snapshot;
    return may_use(&then->heaps, &then->regions, address, bytes);
}

void recorder_snapshot_free(void *snapshot)
{
    snapshot_t *then = snapshot;
    if (then == NULL)
        return;
    free(then->heaps.items);
    free(then->regions.items);
    free(then);
}

uint64_t recorder_ranges_of(const char *name, uint64_t *largest_out)
{
    pthread_mutex_lock(&lock);
    const range_count_t *range = range_of(name);
    uint64_t count = range->name == NULL ? 0 : range->count;
    *largest_out = range->name == NULL ? 0 : range->largest;
    pthread_mutex_unlock(&lock);
    return count;
}

size_t recorder_depth(void)
{
    pthread_mutex_lock(&lock);
    size_t depth = *depth_now();
    pthread_mutex_unlock(&lock);
    return depth;
}
