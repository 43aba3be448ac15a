/* Who owns arenas and blocks. Consumers of DLPack end their tensors in any thread and without the
 * GIL, so owners are counted here rather than by Python. */
#include "native.h"

static void note_properties(owned_arena_t *home)
{
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    cuarena_properties(home->arena, &properties);
    home->memory = properties.memory;
    home->device = properties.device;
    home->host_readable = properties.host_readable != 0;
}

/* Sets the options of pairs. The exception is set where one is wrong. */
static bool set_options(cuarena_config_t *config, PyObject *pairs)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(pairs); i++) {
        const char *key, *value;
        cuarena_status_t status;
        if (!PyArg_ParseTuple(PyTuple_GetItem(pairs, i), "ss", &key, &value))
            return false;
        status = cuarena_config_set(config, key, value);
        if (status != CUARENA_OK) {
            native_raise(status);
            return false;
        }
    }
    return true;
}

static bool read_options(cuarena_config_t *config, const char *options, PyObject *pairs)
{
    cuarena_status_t status;
    cuarena_config_init(config);
    status = cuarena_config_parse(config, options);
    if (status != CUARENA_OK)
        native_raise(status);
    return status == CUARENA_OK && set_options(config, pairs);
}

static bool create(owned_arena_t *home, const cuarena_config_t *config)
{
    cuarena_status_t status;
    NATIVE_WITHOUT_GIL(status = cuarena_create(config, &home->arena));
    if (status != CUARENA_OK)
        native_raise(status);
    return status == CUARENA_OK;
}

owned_arena_t *native_open(const char *options, PyObject *pairs)
{
    owned_arena_t *home = calloc(1, sizeof *home);
    cuarena_config_t config;

    if (!home) {
        PyErr_NoMemory();
        return NULL;
    }
    if (!read_options(&config, options, pairs) || !create(home, &config)) {
        free(home);
        return NULL;
    }
    atomic_init(&home->owners, 1);
    home->watched = config.guard_bytes != 0 || config.quarantine_bytes != 0;
    note_properties(home);
    return home;
}

void native_arena_keep(owned_arena_t *home)
{
    atomic_fetch_add_explicit(&home->owners, 1, memory_order_relaxed);
}

void native_arena_drop(owned_arena_t *home)
{
    if (atomic_fetch_sub_explicit(&home->owners, 1, memory_order_acq_rel) > 1)
        return;
    if (home->arena)
        cuarena_destroy_forced(&home->arena);
    native_forget_lost(home);
    free(home);
}

bool native_call_begin(owned_arena_t *home)
{
    if (!home || !home->arena || home->closing) {
        native_raise_text(CUARENA_BAD_ARGUMENT, "the arena is closed");
        return false;
    }
    home->calls++;
    return true;
}

void native_call_end(owned_arena_t *home)
{
    home->calls--;
}

PyObject *native_done(cuarena_status_t status)
{
    if (status != CUARENA_OK)
        return native_raise(status);
    Py_RETURN_NONE;
}

bool native_block_begin(owned_block_t *owned)
{
    if (!owned->block) {
        native_raise_text(CUARENA_STALE, "the block was freed already");
        return false;
    }
    return native_call_begin(owned->home);
}

void native_block_keep(owned_block_t *owned)
{
    atomic_fetch_add_explicit(&owned->owners, 1, memory_order_relaxed);
}

void native_block_drop(owned_block_t *owned)
{
    if (atomic_fetch_sub_explicit(&owned->owners, 1, memory_order_acq_rel) > 1)
        return;
    if (owned->block && owned->home->arena)
        cuarena_block_free_own(owned->home->arena, owned->block);
    native_arena_drop(owned->home);
    free(owned);
}
