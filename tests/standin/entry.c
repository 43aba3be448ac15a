#define _GNU_SOURCE
#include "entry.h"

#include "options.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const sd_entry_t sd_entries[SD_ENTRY_COUNT] = {
#define ENTRY(name, symbol, since, needs) {#name, #symbol, since, needs},
#include "entries.def"
#undef ENTRY
};

bool sd_entry_known(const char *name)
{
    for (size_t i = 0; i < SD_ENTRY_COUNT; i++) {
        if (strcmp(sd_entries[i].name, name) == 0)
            return true;
    }
    return false;
}

static CUresult driver_version(int *version)
{
    if (version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *version = sd_options.version;
    return CUDA_SUCCESS;
}

SD_ENTRY(cuDriverGetVersion, cuDriverGetVersion, (int *version), driver_version(version))

/* ---- Finding entry points ---------------------------------------------- */

/* What the name stands for from CUDA 12.0 on, where not its own symbol. */
static const char *renamed(const char *name, int version)
{
    if (version >= 12000 && strcmp(name, "cuGraphInstantiate") == 0)
        return "cuGraphInstantiateWithFlags";
    return name;
}

/* The newest symbol of the name that a program for this version may have. */
static const sd_entry_t *newest(const char *name, int version, bool *any)
{
    const sd_entry_t *found = NULL;
    *any = false;
    for (size_t i = 0; i < SD_ENTRY_COUNT; i++) {
        const sd_entry_t *entry = &sd_entries[i];
        if (strcmp(entry->name, name) != 0 || entry->since > sd_options.version)
            continue;
        *any = true;
        if (entry->since <= version)
            found = entry;
    }
    return found;
}

static void *own_symbol(const char *symbol, const char *suffix)
{
    static void *self;
    char name[128];
    Dl_info info;
    if (self == NULL && dladdr(sd_entries, &info) != 0)
        self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    snprintf(name, sizeof(name), "%s%s", symbol, suffix);
    return self != NULL ? dlsym(self, name) : NULL;
}

static void *address_of(const sd_entry_t *entry, bool per_thread)
{
    void *address = NULL;
    if (per_thread)
        address = own_symbol(entry->symbol, "_ptsz");
    if (per_thread && address == NULL)
        address = own_symbol(entry->symbol, "_ptds");
    return address != NULL ? address : own_symbol(entry->symbol, "");
}

static CUresult find(const char *name, void **function, int version, cuuint64_t flags,
                     CUdriverProcAddressQueryResult *found)
{
    bool any = false;
    if (name == NULL || function == NULL || flags > 2 || version > sd_options.version)
        return CUDA_ERROR_INVALID_VALUE;
    const sd_entry_t *entry = sd_lacks(name) ? NULL : newest(renamed(name, version), version, &any);
    *function = NULL;
    if (entry != NULL)
        *function = address_of(entry, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    if (found != NULL) {
        *found = *function != NULL ? CU_GET_PROC_ADDRESS_SUCCESS
                 : any             ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    return CUDA_SUCCESS;
}

/* The form of CUDA 11.3, which tells by its result. */
static CUresult find_old(const char *name, void **function, int version, cuuint64_t flags)
{
    CUresult result = find(name, function, version, flags, NULL);
    if (result == CUDA_SUCCESS && *function == NULL)
        return CUDA_ERROR_NOT_FOUND;
    return result;
}

/* An old driver has these not at all: dlsym() asks each time which function
 * the symbol is, and is told none. */
static CUresult get_proc_address(const char *name, void **function, int version, cuuint64_t flags)
{
    CUresult result = sd_call_begin(SD_AT_cuGetProcAddress);
    if (result == CUDA_SUCCESS)
        result = find_old(name, function, version, flags);
    return sd_call_end(result);
}

static CUresult get_proc_address_v2(const char *name, void **function, int version,
                                    cuuint64_t flags, CUdriverProcAddressQueryResult *found)
{
    CUresult result = sd_call_begin(SD_AT_cuGetProcAddress_v2);
    if (result == CUDA_SUCCESS)
        result = find(name, function, version, flags, found);
    return sd_call_end(result);
}

#define WITHOUT_SANITIZERS __attribute__((no_sanitize("address", "thread", "undefined"), used))

typedef CUresult find_old_t(const char *, void **, int, cuuint64_t);
typedef CUresult find_t(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

/* What the environment says, unless a test said otherwise. */
WITHOUT_SANITIZERS static int version_now(void)
{
    const char *value = getenv("CUARENA_STANDIN_VERSION");
    return value != NULL ? atoi(value) : sd_options.version;
}

WITHOUT_SANITIZERS static find_old_t *choose_old(void)
{
    return version_now() >= 11030 ? get_proc_address : NULL;
}

WITHOUT_SANITIZERS static find_t *choose(void)
{
    return version_now() >= 12000 ? get_proc_address_v2 : NULL;
}

__attribute__((visibility("default"))) find_old_t cuGetProcAddress;
__attribute__((visibility("default"), ifunc("choose_old"))) CUresult cuGetProcAddress(
    const char *name, void **function, int version, cuuint64_t flags);
__attribute__((visibility("default"), ifunc("choose"))) CUresult cuGetProcAddress_v2(
    const char *name, void **function, int version, cuuint64_t flags,
    CUdriverProcAddressQueryResult *found);

/* ---- Errors ------------------------------------------------------------ */

static const char *error_name(CUresult error)
{
    switch (error) {
#define NAME(name, value)                                                                          \
    case name:                                                                                     \
        return #name;
        SD_RESULTS(NAME)
    default:
        return NULL;
    }
}

static CUresult get_error_name(CUresult error, const char **text)
{
    *text = error_name(error);
    return *text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* "CUDA_ERROR_OUT_OF_MEMORY" as "out of memory": texts of our own. */
static CUresult get_error_string(CUresult error, const char **text)
{
    static _Thread_local char words[64];
    const char *name = error_name(error);
    *text = NULL;
    if (name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    name += strncmp(name, "CUDA_ERROR_", 11) == 0 ? 11 : 5;
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < sizeof(words); i++)
        words[i] = (char)(name[i] == '_'                     ? ' '
                          : name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32
                                                             : name[i]);
    words[i] = '\0';
    *text = words;
    return CUDA_SUCCESS;
}

SD_ENTRY(cuGetErrorName, cuGetErrorName, (CUresult error, const char **text),
         get_error_name(error, text))
SD_ENTRY(cuGetErrorString, cuGetErrorString, (CUresult error, const char **text),
         get_error_string(error, text))
