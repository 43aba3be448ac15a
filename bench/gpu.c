#define _POSIX_C_SOURCE 200809L
#include "gpu.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuarena/device.h"
#include "cuarena/driver.h"

#define PLUG_BYTES (256 * MIB)
#define MOST_PLUGS 512

/* ---- The driver ---------------------------------------------------------- */

void must_cu_at(const gpu_t *gpu, cuai_cu_result_t result, const char *what)
{
    const char *name = NULL;
    if (result == CUAI_CUDA_SUCCESS)
        return;
    (void)gpu->cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s (%d)\n", what, name ? name : "no name", result);
    exit(EXIT_FAILURE);
}

static void no_device(const char *why)
{
    const char *wanted = getenv("CUARENA_REQUIRE_GPU");
    bool require = wanted != NULL && strcmp(wanted, "1") == 0;
    printf("%s%s\n", require ? "CUARENA_REQUIRE_GPU=1: " : "skipped: ", why);
    exit(require ? EXIT_FAILURE : 77);
}

static void find_entries(gpu_t *gpu, void *library)
{
    cuai_cu_get_proc_address_v2_t find = NULL;
    cuai_cu_query_result_t query;
    void *found = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&find, &found, sizeof find);
    expect(find != NULL, "the driver's cuGetProcAddress_v2");
#define FIND(name, since, parameters)                                                              \
    found = NULL;                                                                                  \
    (void)find(#name, &found, since, CUAI_CU_GET_PROC_ADDRESS_LEGACY_STREAM, &query);              \
    memcpy(&gpu->name, &found, sizeof found);
    CUAI_CUDA_ENTRIES(FIND)
    CUAI_CUDA_TEST_ENTRIES(FIND)
#undef FIND
}

static void open_driver(gpu_t *gpu)
{
    const char *name = getenv("CUARENA_CUDA_LIBRARY");
    cuarena_driver_info_t info;
    cuarena_driver_info_init(&info);
    if (cuarena_driver_info(&info) == CUARENA_NO_DEVICE) {
        cuarena_error_info_t why;
        cuarena_error_info_init(&why);
        cuarena_last_error_info(&why);
        no_device(why.message);
    }
    void *library = dlopen(name != NULL ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    expect(library != NULL, "the driver opens a second time");
    find_entries(gpu, library);
}

static void use_device(gpu_t *gpu)
{
    cuai_cu_device_t device;
    must_cu(gpu, gpu->cuDeviceGet(&device, gpu->ordinal));
    must_cu(gpu, gpu->cuDevicePrimaryCtxRetain(&gpu->context, device));
    must_cu(gpu, gpu->cuCtxSetCurrent(gpu->context));
    must_cu(gpu, gpu->cuStreamCreate(&gpu->stream, CUAI_CU_STREAM_NON_BLOCKING));
    must_cu(gpu, gpu->cuEventCreate(&gpu->begin, CUAI_CU_EVENT_DEFAULT));
    must_cu(gpu, gpu->cuEventCreate(&gpu->end, CUAI_CU_EVENT_DEFAULT));
    must_cu(gpu, gpu->cuMemAlloc(&gpu->plug, PLUG_BYTES));
}

/* ---- What runs here ------------------------------------------------------ */

/* The rest of the first line of the file that begins so; "" without one. */
static void read_line(const char *path, const char *begin, char *text, int size)
{
    size_t length = strlen(begin);
    FILE *from = fopen(path, "r");
    bool found = false;
    while (from != NULL && !found && fgets(text, size, from) != NULL)
        found = strncmp(text, begin, length) == 0;
    if (from != NULL)
        fclose(from);
    if (!found)
        text[0] = '\0';
    size_t skip = found ? length + strspn(text + length, " \t:") : 0;
    memmove(text, text + skip, strlen(text + skip) + 1);
    text[strcspn(text, "\n")] = '\0';
}

/* The command, with no word of where files lie, and not where records go. */
static void join(char *text, size_t size, int argc, char **argv)
{
    size_t length = 0;
    for (int i = 0; i < argc && length < size; i++) {
        const char *word = strrchr(argv[i], '/');
        if (strcmp(argv[i], "--json") == 0) {
            i++;
            continue;
        }
        word = word != NULL ? word + 1 : argv[i];
        int more = snprintf(text + length, size - length, "%s%s", i == 0 ? "" : " ", word);
        length += more < 0 ? size : (size_t)more;
    }
}

/* CUARENA_BENCH_DRIVER tells the driver's release, which it does not say. */
static void tell_driver(void)
{
    char line[256];
    cuarena_driver_info_t info;
    cuarena_driver_info_init(&info);
    must(cuarena_driver_info(&info));
    const char *release = getenv("CUARENA_BENCH_DRIVER");
    read_line("/proc/driver/nvidia/version", "NVRM version", line, sizeof line);
    if (release == NULL || *release == '\0')
        release = line;
    printf("# driver %s, CUDA %" PRId32 ".%" PRId32 "\n", release, info.version / 1000,
           info.version % 1000 / 10);
    record_text("driver", release);
    record_count("cuda", (uint64_t)info.version);
    record_text("library", info.library);
}

static void tell_device(const gpu_t *gpu)
{
    char line[256];
    cuarena_device_info_t info;
    cuarena_device_info_init(&info);
    must(cuarena_device_info(gpu->ordinal, &info));
    read_line("/proc/cpuinfo", "model name", line, sizeof line);
    printf("# %s, host %s\n", info.name, line);
    record_text("device", info.name);
    record_count("total_bytes", info.total_bytes);
    record_text("host", line);
}

static void tell(const gpu_t *gpu, const char *bench, int argc, char **argv)
{
    char text[512] = "";
    char date[32] = "";
    time_t now = time(NULL);
    struct tm day;
    (void)strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &day));
    join(text, sizeof text, argc, argv);
    record_begin("machine");
    record_text("bench", bench);
    record_text("version", cuarena_version_string());
    record_text("date", date);
    record_text("command", text);
    tell_device(gpu);
    tell_driver();
    record_end();
    printf("# %s, %s\n", date, text);
}

/* ---- Life ---------------------------------------------------------------- */

static void usage(const char *program)
{
    fprintf(stderr, "usage: %s [--device N] [--quick] [--json FILE]\n", program);
    exit(2);
}

static int parse(gpu_t *gpu, int argc, char **argv, const char **json_out)
{
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        const char *value = at + 1 < argc ? argv[at + 1] : NULL;
        if (strcmp(argv[at], "--quick") == 0)
            gpu->quick = true;
        else if (strcmp(argv[at], "--json") == 0 && value != NULL)
            *json_out = argv[++at];
        else if (strcmp(argv[at], "--device") == 0 && value != NULL)
            gpu->ordinal = atoi(argv[++at]);
        else
            usage(argv[0]);
    }
    return at;
}

int gpu_open(gpu_t *gpu, const char *bench, int argc, char **argv)
{
    const char *json = NULL;
    memset(gpu, 0, sizeof *gpu);
    int further = parse(gpu, argc, argv, &json);
    open_driver(gpu);
    use_device(gpu);
    record_open(json);
    tell(gpu, bench, argc, argv);
    (void)fflush(stdout);
    return further;
}

void gpu_close(gpu_t *gpu)
{
    must_cu(gpu, gpu->cuMemFree(gpu->plug));
    must_cu(gpu, gpu->cuEventDestroy(gpu->end));
    must_cu(gpu, gpu->cuEventDestroy(gpu->begin));
    must_cu(gpu, gpu->cuStreamDestroy(gpu->stream));
    must_cu(gpu, gpu->cuCtxSetCurrent(NULL));
    must_cu(gpu, gpu->cuDevicePrimaryCtxRelease(gpu->ordinal));
    record_close();
}

void gpu_wait(const gpu_t *gpu)
{
    must_cu(gpu, gpu->cuStreamSynchronize(gpu->stream));
}

/* ---- The clocks ---------------------------------------------------------- */

double gpu_wall(const gpu_t *gpu, void (*work)(void *user), void *user)
{
    gpu_wait(gpu);
    uint64_t begin = now_ns();
    work(user);
    gpu_wait(gpu);
    return (double)(now_ns() - begin) / 1e3;
}

static void put_plugs(const gpu_t *gpu, unsigned count)
{
    uint64_t bytes = gpu->quick ? MIB : PLUG_BYTES;
    for (unsigned i = 0; i < count; i++)
        must_cu(gpu, gpu->cuMemsetD8Async(gpu->plug, 0, bytes, gpu->stream));
}

double gpu_time(const gpu_t *gpu, void (*work)(void *user), void *user)
{
    static unsigned plugs = 16; /* 1 to 2 ms on a fast device */
    float milliseconds;
    gpu_wait(gpu);
    put_plugs(gpu, gpu->quick ? 1 : plugs);
    must_cu(gpu, gpu->cuEventRecord(gpu->begin, gpu->stream));
    work(user);
    bool early = gpu->cuEventQuery(gpu->begin) == CUAI_CUDA_SUCCESS;
    must_cu(gpu, gpu->cuEventRecord(gpu->end, gpu->stream));
    gpu_wait(gpu);
    must_cu(gpu, gpu->cuEventElapsedTime(&milliseconds, gpu->begin, gpu->end));
    if (!early || gpu->quick || plugs >= MOST_PLUGS)
        return (double)milliseconds * 1e3;
    plugs *= 2;
    return -1;
}

/* ---- Arenas -------------------------------------------------------------- */

cuarena_config_t gpu_config(const gpu_t *gpu, int32_t memory)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    config.memory = memory;
    config.device = gpu->ordinal;
    return config;
}

cuarena_t *gpu_arena(const cuarena_config_t *config)
{
    cuarena_t *arena;
    must(cuarena_create(config, &arena));
    return arena;
}

cuarena_t *gpu_packed_pool(const gpu_t *gpu, uint64_t bytes)
{
    cuarena_config_t config = gpu_config(gpu, CUARENA_MEMORY_DEVICE);
    config.pool = (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, bytes};
    config.placement = CUARENA_PLACEMENT_LOW;
    return gpu_arena(&config);
}

const char *size_name(uint64_t bytes)
{
    static char names[8][24];
    static unsigned next;
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    char *name = names[next++ % 8];
    int unit = 0;
    for (; bytes >= KIB && bytes % KIB == 0 && unit < 4; unit++)
        bytes /= KIB;
    (void)snprintf(name, sizeof names[0], "%" PRIu64 " %s", bytes, units[unit]);
    return name;
}
