/*
 * Modules: texts in PTX, read for the names of their entries and the sizes of the entries'
 * parameters; what they do stands in C (kernel.h).
 */
#include "call.h"
#include "capture.h"
#include "context.h"
#include "kernel.h"
#include "object.h"
#include "stream.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 128
#define THREADS_MAX 1024
#define SHARED_MAX (48u << 10)
#define SHARED_OPTIN_MAX (227u << 10)

typedef struct function {
    sd_object_t object;
    uint64_t module_id;
    char name[NAME_MAX_BYTES];
    size_t sizes[SD_PARAMS_MAX];
    size_t param_count;
    unsigned dynamic_shared;
} function_t;

typedef struct module {
    sd_object_t object;
    char *text;
} module_t;

/* ---- Reading ----------------------------------------------------------- */

static const char *skip_comment(const char *at)
{
    const char *end = at[1] == '/' ? strchr(at, '\n') : strstr(at + 2, "*/");
    if (end == NULL)
        return at + strlen(at);
    return end + (at[1] == '/' ? 1 : 2);
}

static const char *skip_space(const char *at)
{
    for (;;) {
        if (isspace((unsigned char)*at))
            at++;
        else if (at[0] == '/' && (at[1] == '/' || at[1] == '*'))
            at = skip_comment(at);
        else
            return at;
    }
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%';
}

/* The next word, or one other character; false at the end. */
static bool next_token(const char **at, char *token, size_t room)
{
    size_t length = 0;
    *at = skip_space(*at);
    if (**at == '\0')
        return false;
    bool word = is_word(**at);
    do {
        if (length + 1 < room)
            token[length++] = **at;
        (*at)++;
    } while (word && is_word(**at));
    token[length] = '\0';
    return true;
}

static size_t type_bytes(const char *type)
{
    const char *digits = type + strcspn(type, "0123456789");
    long bits = strtol(digits, NULL, 10);
    return type[0] == '.' && bits >= 8 && bits <= 128 ? (size_t)bits / 8 : 0;
}

/* One parameter, up to the comma or the bracket; its size. */
static size_t read_param(const char **at, char *end)
{
    char token[NAME_MAX_BYTES];
    size_t bytes = 0;
    size_t count = 1;
    while (next_token(at, token, sizeof(token))) {
        *end = token[0];
        if (token[0] == ',' || token[0] == ')')
            break;
        if (strcmp(token, ".align") == 0)
            next_token(at, token, sizeof(token));
        else if (token[0] == '[' && next_token(at, token, sizeof(token)))
            count = strtoull(token, NULL, 0);
        else if (bytes == 0)
            bytes = type_bytes(token);
    }
    return bytes * count;
}

static bool read_params(const char *at, function_t *function)
{
    char end = ',';
    at = skip_space(at);
    if (*at != '(')
        return true; /* an entry without any */
    for (at++; end == ',';) {
        if (*skip_space(at) == ')')
            break;
        size_t bytes = read_param(&at, &end);
        if (bytes == 0 || function->param_count == SD_PARAMS_MAX)
            return false;
        function->sizes[function->param_count++] = bytes;
    }
    return true;
}

/* Where the list of the entry's parameters begins; NULL: there is none. */
static const char *find_entry(const char *at, const char *name)
{
    char token[NAME_MAX_BYTES];
    while (next_token(&at, token, sizeof(token))) {
        if (strcmp(token, ".entry") == 0 && next_token(&at, token, sizeof(token)) &&
            strcmp(token, name) == 0)
            return at;
    }
    return NULL;
}

/* Of PTX texts, what the newest is that a driver of this version reads. */
static int newest_ptx(void)
{
    int major = sd_options.version / 1000;
    int minor = sd_options.version % 1000 / 10;
    return (major - 4) * 10 + (minor < 8 ? minor : 8);
}

static CUresult check_text(const char *at)
{
    char token[NAME_MAX_BYTES];
    double version = 0;
    if (!next_token(&at, token, sizeof(token)) || strcmp(token, ".version") != 0)
        return CUDA_ERROR_INVALID_IMAGE;
    if (next_token(&at, token, sizeof(token)))
        version = strtod(token, NULL);
    if (version < 1 || !next_token(&at, token, sizeof(token)) || strcmp(token, ".target") != 0 ||
        !next_token(&at, token, sizeof(token)) || strncmp(token, "sm_", 3) != 0)
        return CUDA_ERROR_INVALID_PTX;
    if ((int)(version * 10 + 0.5) > newest_ptx())
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    if (strtol(token + 3, NULL, 10) > sd_options.capability)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    return CUDA_SUCCESS;
}

/* ---- Modules ----------------------------------------------------------- */

static void end_module(sd_object_t *module)
{
    for (sd_object_t *object = sd_objects(SD_FUNCTION_OBJECT); object != NULL;
         object = object->next) {
        function_t *function = (function_t *)(void *)object;
        if (function->module_id == module->id)
            sd_object_kill(object);
    }
    free(((module_t *)(void *)module)->text);
}

static CUresult load(CUmodule *handle, const void *image)
{
    if (handle == NULL || image == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_text(image);
    if (result != CUDA_SUCCESS)
        return result;
    module_t *module = sd_object_new(SD_MODULE_OBJECT, sizeof(*module), sd_context_current());
    module->object.end = end_module;
    size_t bytes = strlen(image) + 1;
    module->text = malloc(bytes);
    if (module->text == NULL)
        sd_die("the host is out of memory");
    memcpy(module->text, image, bytes);
    *handle = (CUmodule)(void *)module;
    return CUDA_SUCCESS;
}

/* The text of a file, with a zero behind it; NULL: it cannot be read. */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    char *text = NULL;
    size_t bytes = 0;
    size_t more;
    do {
        text = realloc(text, bytes + 4097);
        if (text == NULL)
            sd_die("the host is out of memory");
        more = fread(text + bytes, 1, 4096, file);
        bytes += more;
    } while (more > 0);
    text[bytes] = '\0';
    fclose(file);
    return text;
}

static CUresult load_file(CUmodule *handle, const char *path)
{
    char *text = path != NULL ? read_text(path) : NULL;
    if (text == NULL)
        return path != NULL ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    CUresult result = load(handle, text);
    free(text);
    return result;
}

static CUresult unload(CUmodule handle)
{
    module_t *module = sd_object_get(handle, SD_MODULE_OBJECT);
    sd_object_kill(&module->object);
    return CUDA_SUCCESS;
}

static CUresult get_function(CUfunction *handle, CUmodule of, const char *name)
{
    module_t *module = sd_object_get(of, SD_MODULE_OBJECT);
    if (handle == NULL || name == NULL || strlen(name) >= NAME_MAX_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    const char *list = find_entry(module->text, name);
    if (list == NULL)
        return CUDA_ERROR_NOT_FOUND;
    function_t *function =
        sd_object_new(SD_FUNCTION_OBJECT, sizeof(*function), module->object.context);
    strcpy(function->name, name);
    function->module_id = module->object.id;
    if (!read_params(list, function)) {
        sd_object_kill(&function->object);
        return CUDA_ERROR_INVALID_PTX;
    }
    *handle = (CUfunction)(void *)function;
    return CUDA_SUCCESS;
}

SD_ENTRY(cuModuleLoad, cuModuleLoad, (CUmodule * module, const char *path), load_file(module, path))
SD_ENTRY(cuModuleLoadData, cuModuleLoadData, (CUmodule * module, const void *image),
         load(module, image))
SD_ENTRY(cuModuleLoadDataEx, cuModuleLoadDataEx,
         (CUmodule * module, const void *image, unsigned count, CUjit_option *options,
          void **values),
         (count != 0 && (options == NULL || values == NULL)) ? CUDA_ERROR_INVALID_VALUE
                                                             : load(module, image))
SD_ENTRY(cuModuleUnload, cuModuleUnload, (CUmodule module), unload(module))
SD_ENTRY(cuModuleGetFunction, cuModuleGetFunction,
         (CUfunction * function, CUmodule module, const char *name),
         get_function(function, module, name))

/* ---- Functions --------------------------------------------------------- */

static function_t *function_of(CUfunction handle)
{
    return sd_object_get(handle, SD_FUNCTION_OBJECT);
}

static CUresult get_attribute(int *value, CUfunction_attribute which, CUfunction handle)
{
    function_t *function = function_of(handle);
    switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = THREADS_MAX;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 32;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value =
            (int)(function->dynamic_shared > SHARED_MAX ? function->dynamic_shared : SHARED_MAX);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult set_attribute(CUfunction handle, CUfunction_attribute which, int value)
{
    function_t *function = function_of(handle);
    if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
        (unsigned)value > SHARED_OPTIN_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    function->dynamic_shared = (unsigned)value;
    return CUDA_SUCCESS;
}

static unsigned shared_limit(const function_t *function)
{
    return function->dynamic_shared > SHARED_MAX ? function->dynamic_shared : SHARED_MAX;
}

static CUresult occupancy(int *blocks, CUfunction handle, int block_size, size_t shared_bytes)
{
    function_t *function = function_of(handle);
    if (blocks == NULL || block_size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    *blocks = block_size > THREADS_MAX || shared_bytes > shared_limit(function)
                  ? 0
                  : 2048 / ((block_size + 31) / 32 * 32);
    return CUDA_SUCCESS;
}

static bool fits(const function_t *function, const standin_launch_t *launch)
{
    const unsigned *grid = launch->grid;
    const unsigned *block = launch->block;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    return grid[0] != 0 && grid[1] != 0 && grid[2] != 0 && grid[0] <= 0x7fffffff &&
           grid[1] <= 65535 && grid[2] <= 65535 && threads != 0 && threads <= THREADS_MAX &&
           launch->shared_bytes <= shared_limit(function);
}

static CUresult launch_function(CUfunction handle, standin_launch_t launch, CUstream stream,
                                void **params, void **extra)
{
    function_t *function = function_of(handle);
    sd_target_t target = sd_target(stream);
    if (target.context != function->object.context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!fits(function, &launch) || extra != NULL || (function->param_count != 0 && params == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    const standin_kernel_t *kernel = sd_kernel_find(function->name);
    if (kernel == NULL) {
        sd_report(STANDIN_MISUSE, "nobody registered a kernel in C for the entry %s",
                  function->name);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    launch.params = (const void *const *)params;
    launch.param_count = function->param_count;
    return sd_submit(&target, sd_kernel_work(kernel, target.context, &launch, function->sizes),
                     NULL);
}

SD_ENTRY(cuFuncGetAttribute, cuFuncGetAttribute,
         (int *value, CUfunction_attribute which, CUfunction function),
         get_attribute(value, which, function))
SD_ENTRY(cuFuncSetAttribute, cuFuncSetAttribute,
         (CUfunction function, CUfunction_attribute which, int value),
         set_attribute(function, which, value))
SD_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,
         (int *blocks, CUfunction function, int block_size, size_t shared_bytes),
         occupancy(blocks, function, block_size, shared_bytes))
SD_ENTRY_BOTH(cuLaunchKernel,
              (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
               CUstream stream, void **params, void **extra),
              launch_function(
                  function,
                  (standin_launch_t){
                      {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, NULL, 0},
                  stream, params, extra))
