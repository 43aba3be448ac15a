/* Figures: structs of the library as dicts, of which stats.py makes dataclasses. The names are
 * those of the members. */
#include "native.h"

#include <stddef.h>

typedef enum figure_kind {
    COUNT,  /* uint64_t */
    NUMBER, /* int32_t */
    TEXT,   /* char[] */
} figure_kind_t;

typedef struct figure {
    const char *name;
    size_t offset;
    figure_kind_t kind;
} figure_t;

#define FIGURE(type, member, kind)                                                                 \
    {                                                                                              \
#member, offsetof(type, member), kind                                                      \
    }

static PyObject *figure_value(const char *at, figure_kind_t kind)
{
    uint64_t count;
    int32_t number;

    switch (kind) {
    case COUNT:
        memcpy(&count, at, sizeof count);
        return PyLong_FromUnsignedLongLong(count);
    case NUMBER:
        memcpy(&number, at, sizeof number);
        return PyLong_FromLong(number);
    default:
        return PyUnicode_FromString(at);
    }
}

static PyObject *as_dict(const void *values, const figure_t *figures, size_t count)
{
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < count; i++) {
        PyObject *value = figure_value((const char *)values + figures[i].offset, figures[i].kind);
        if (!value || PyDict_SetItemString(dict, figures[i].name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

#define AS_DICT(values, figures) as_dict((values), (figures), sizeof(figures) / sizeof *(figures))

/* ---- Of an arena ------------------------------------------------------------------ */

#define STAT(member) FIGURE(cuarena_stats_t, member, COUNT)
static const figure_t stats_figures[] = {
    STAT(reserved_bytes),
    STAT(capacity_bytes),
    STAT(live_bytes),
    STAT(requested_bytes),
    STAT(free_bytes),
    STAT(largest_bytes),
    STAT(live_blocks),
    STAT(peak_reserved_bytes),
    STAT(peak_live_bytes),
    STAT(peak_requested_bytes),
    STAT(peak_live_blocks),
    STAT(allocs),
    STAT(frees),
    STAT(failed),
    STAT(grows),
    STAT(trims),
    STAT(compactions),
    STAT(moves),
    STAT(bytes_moved),
    STAT(oom_handler_calls),
    STAT(segments),
    STAT(dedicated_bytes),
    STAT(bookkeeping_bytes),
    STAT(steals),
    STAT(stream_waits),
    STAT(host_waits),
    STAT(captures),
    STAT(captured_bytes),
    STAT(memory_calls),
    STAT(driver_calls),
    STAT(free_ranges),
};

static PyObject *stats_dict(cuarena_status_t status, const cuarena_stats_t *stats)
{
    return status == CUARENA_OK ? AS_DICT(stats, stats_figures) : native_raise(status);
}

static PyObject *arena_stats(PyObject *self, PyObject *args)
{
    owned_arena_t *home = ((arena_object_t *)self)->home;
    cuarena_stats_t stats;
    cuarena_status_t status;
    int region;

    if (!PyArg_ParseTuple(args, "i:_stats", &region) || !native_call_begin(home))
        return NULL;
    cuarena_stats_init(&stats);
    NATIVE_CALL(home, status, cuarena_stats(home->arena, region, &stats));
    return stats_dict(status, &stats);
}

static PyObject *arena_tag_stats(PyObject *self, PyObject *args)
{
    owned_arena_t *home = ((arena_object_t *)self)->home;
    cuarena_stats_t stats;
    cuarena_status_t status;
    unsigned short tag;

    if (!PyArg_ParseTuple(args, "H:_tag_stats", &tag) || !native_call_begin(home))
        return NULL;
    cuarena_stats_init(&stats);
    NATIVE_CALL(home, status, cuarena_tag_stats(home->arena, tag, &stats));
    return stats_dict(status, &stats);
}

#define CACHE(member) FIGURE(cuarena_cache_stats_t, member, COUNT)
static const figure_t cache_figures[] = {
    CACHE(active_bytes),      CACHE(cached_bytes), CACHE(cached_blocks), CACHE(peak_active_bytes),
    CACHE(peak_cached_bytes), CACHE(hits),         CACHE(misses),        CACHE(evicted_blocks),
};

static PyObject *arena_cache_stats(PyObject *self, PyObject *NATIVE_UNUSED(unused))
{
    owned_arena_t *home = ((arena_object_t *)self)->home;
    cuarena_cache_stats_t stats;
    cuarena_status_t status;

    if (!native_call_begin(home))
        return NULL;
    cuarena_cache_stats_init(&stats);
    NATIVE_CALL(home, status, cuarena_cache_stats(home->arena, &stats));
    return status == CUARENA_OK ? AS_DICT(&stats, cache_figures) : native_raise(status);
}

#define PROPERTY(member, kind) FIGURE(cuarena_properties_t, member, kind)
static const figure_t property_figures[] = {
    PROPERTY(memory, NUMBER),
    PROPERTY(backing, NUMBER),
    PROPERTY(device, NUMBER),
    PROPERTY(fd, NUMBER),
    PROPERTY(rdma, NUMBER),
    PROPERTY(fabric, NUMBER),
    PROPERTY(peers, NUMBER),
    PROPERTY(host_readable, NUMBER),
    PROPERTY(relocation_kernel, NUMBER),
    PROPERTY(compute_major, NUMBER),
    PROPERTY(compute_minor, NUMBER),
    PROPERTY(granularity, COUNT),
    PROPERTY(handle_bytes, COUNT),
    PROPERTY(granule_bytes, COUNT),
};

static PyObject *arena_properties(PyObject *self, PyObject *NATIVE_UNUSED(unused))
{
    owned_arena_t *home = ((arena_object_t *)self)->home;
    cuarena_properties_t properties;
    cuarena_status_t status;

    if (!native_call_begin(home))
        return NULL;
    cuarena_properties_init(&properties);
    NATIVE_CALL(home, status, cuarena_properties(home->arena, &properties));
    return status == CUARENA_OK ? AS_DICT(&properties, property_figures) : native_raise(status);
}

PyMethodDef native_arena_figures[] = {
    {"_stats", arena_stats, METH_VARARGS, NULL},
    {"_tag_stats", arena_tag_stats, METH_VARARGS, NULL},
    {"_cache_stats", arena_cache_stats, METH_NOARGS, NULL},
    {"_properties", arena_properties, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* ---- Of the driver ------------------------------------------------------------------ */

static const figure_t driver_figures[] = {
    FIGURE(cuarena_driver_info_t, version, NUMBER),
    FIGURE(cuarena_driver_info_t, device_count, NUMBER),
    FIGURE(cuarena_driver_info_t, library, TEXT),
};

static PyObject *driver_info(PyObject *NATIVE_UNUSED(module), PyObject *NATIVE_UNUSED(unused))
{
    cuarena_driver_info_t info;
    cuarena_status_t status;

    cuarena_driver_info_init(&info);
    NATIVE_WITHOUT_GIL(status = cuarena_driver_info(&info));
    return status == CUARENA_OK ? AS_DICT(&info, driver_figures) : native_raise(status);
}

#define DEVICE(member, kind) FIGURE(cuarena_device_info_t, member, kind)
static const figure_t device_figures[] = {
    DEVICE(name, TEXT),         DEVICE(compute_major, NUMBER),   DEVICE(compute_minor, NUMBER),
    DEVICE(vmm, NUMBER),        DEVICE(pools, NUMBER),           DEVICE(managed, NUMBER),
    DEVICE(concurrent, NUMBER), DEVICE(multiprocessors, NUMBER), DEVICE(total_bytes, COUNT),
    DEVICE(free_bytes, COUNT),
};

static PyObject *device_info(PyObject *NATIVE_UNUSED(module), PyObject *args)
{
    cuarena_device_info_t info;
    cuarena_status_t status;
    int device;

    if (!PyArg_ParseTuple(args, "i:_device_info", &device))
        return NULL;
    cuarena_device_info_init(&info);
    NATIVE_WITHOUT_GIL(status = cuarena_device_info(device, &info));
    return status == CUARENA_OK ? AS_DICT(&info, device_figures) : native_raise(status);
}

/* Bytes of a text such as 64MiB; amounts that depend on a memory are none. */
static PyObject *parse_bytes(PyObject *NATIVE_UNUSED(module), PyObject *args)
{
    cuarena_amount_t amount;
    cuarena_status_t status;
    const char *text;

    if (!PyArg_ParseTuple(args, "s:parse_bytes", &text))
        return NULL;
    status = cuarena_amount_parse(text, &amount);
    if (status != CUARENA_OK)
        return native_raise(status);
    if (amount.unit != CUARENA_AMOUNT_BYTES)
        return native_raise_text(CUARENA_BAD_ARGUMENT, "expected: bytes, such as 64MiB");
    return PyLong_FromUnsignedLongLong(amount.value);
}

/* An exception where a text of options is wrong, as far as that shows without a device. */
static PyObject *check_options(PyObject *NATIVE_UNUSED(module), PyObject *args)
{
    cuarena_config_t config;
    cuarena_status_t status;
    const char *text;

    if (!PyArg_ParseTuple(args, "s:check_options", &text))
        return NULL;
    cuarena_config_init(&config);
    status = cuarena_config_parse(&config, text);
    if (status == CUARENA_OK)
        status = cuarena_config_resolve(&config);
    return native_done(status);
}

PyMethodDef native_driver_functions[] = {
    {"check_options", check_options, METH_VARARGS, NULL},
    {"parse_bytes", parse_bytes, METH_VARARGS, NULL},
    {"driver_info", driver_info, METH_NOARGS, NULL},
    {"device_info", device_info, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
