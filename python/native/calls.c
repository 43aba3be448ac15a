/* What can be asked of an arena as a whole: limits, trims, streams, tags, files. */
#include "native.h"

/* An int, or an exception where the call failed. */
static PyObject *number(cuarena_status_t status, uint64_t value)
{
    return status == CUARENA_OK ? PyLong_FromUnsignedLongLong(value) : native_raise(status);
}

static owned_arena_t *home_of(PyObject *self)
{
    return ((arena_object_t *)self)->home;
}

/* ---- Bytes that go back ------------------------------------------------------ */

static PyObject *arena_trim(PyObject *self, PyObject *args)
{
    owned_arena_t *home = home_of(self);
    unsigned long long keep;
    uint64_t given = 0;
    PyObject *from;
    int on_stream;
    cuarena_stream_t stream;
    cuarena_status_t status;

    if (!PyArg_ParseTuple(args, "KOp:_trim", &keep, &from, &on_stream) ||
        !native_stream(from, &stream) || !native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status,
                on_stream ? cuarena_trim_on(home->arena, stream, keep, &given)
                          : cuarena_trim(home->arena, keep, &given));
    return number(status, given);
}

static PyObject *arena_reclaim(PyObject *self, PyObject *args)
{
    owned_arena_t *home = home_of(self);
    uint64_t reclaimed = 0;
    int wait;
    cuarena_status_t status;

    if (!PyArg_ParseTuple(args, "p:_reclaim", &wait) || !native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status, cuarena_reclaim(home->arena, wait, &reclaimed));
    return number(status, reclaimed);
}

static PyObject *arena_resize_pool(PyObject *self, PyObject *args)
{
    owned_arena_t *home = home_of(self);
    unsigned long long bytes;
    cuarena_status_t status;

    if (!PyArg_ParseTuple(args, "K:_resize_pool", &bytes) || !native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status, cuarena_resize_pool(home->arena, bytes));
    return native_done(status);
}

static PyObject *arena_release_stream(PyObject *self, PyObject *from)
{
    owned_arena_t *home = home_of(self);
    cuarena_stream_t stream;
    cuarena_status_t status;

    if (!native_stream(from, &stream) || !native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status, cuarena_release_stream(home->arena, stream));
    return native_done(status);
}

/* ---- Limits -------------------------------------------------------------------- */

static PyObject *arena_set_limit(PyObject *self, PyObject *args)
{
    owned_arena_t *home = home_of(self);
    cuarena_amount_t amount;
    uint64_t old = 0;
    int kind;
    const char *text;
    cuarena_status_t status;

    if (!PyArg_ParseTuple(args, "is:_set_limit", &kind, &text))
        return NULL;
    status = cuarena_amount_parse(text, &amount);
    if (status != CUARENA_OK)
        return native_raise(status);
    if (!native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status, cuarena_set_limit(home->arena, kind, amount, &old));
    return number(status, old);
}

static PyObject *arena_get_limit(PyObject *self, PyObject *args)
{
    owned_arena_t *home = home_of(self);
    uint64_t bytes = 0;
    int kind;
    cuarena_status_t status;

    if (!PyArg_ParseTuple(args, "i:_get_limit", &kind) || !native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status, cuarena_get_limit(home->arena, kind, &bytes));
    return number(status, bytes);
}

/* ---- Tags ------------------------------------------------------------------------ */

static PyObject *arena_tag(PyObject *self, PyObject *args)
{
    owned_arena_t *home = home_of(self);
    cuarena_tag_t tag = 0;
    const char *name;
    cuarena_status_t status;

    if (!PyArg_ParseTuple(args, "s:_tag", &name) || !native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status, cuarena_tag(home->arena, name, &tag));
    return number(status, tag);
}

/* ---- Files and checks -------------------------------------------------------------- */

static PyObject *arena_snapshot(PyObject *self, PyObject *args)
{
    owned_arena_t *home = home_of(self);
    const char *path;
    int format;
    cuarena_status_t status;

    if (!PyArg_ParseTuple(args, "si:_snapshot", &path, &format) || !native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status, cuarena_snapshot_write(home->arena, format, path));
    return native_done(status);
}

static PyObject *arena_trace_begin(PyObject *self, PyObject *args)
{
    owned_arena_t *home = home_of(self);
    const char *path;
    cuarena_status_t status;

    if (!PyArg_ParseTuple(args, "s:_trace_begin", &path) || !native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status, cuarena_trace_begin(home->arena, path));
    return native_done(status);
}

/* A call of the library that takes the arena alone. */
static PyObject *simply(owned_arena_t *home, cuarena_status_t (*call)(cuarena_t *))
{
    cuarena_status_t status;
    if (!native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status, call(home->arena));
    return native_done(status);
}

static cuarena_status_t validate(cuarena_t *arena)
{
    return cuarena_validate(arena, NULL, 0);
}

static cuarena_status_t check(cuarena_t *arena)
{
    return cuarena_check(arena, NULL);
}

static PyObject *arena_trace_end(PyObject *self, PyObject *NATIVE_UNUSED(unused))
{
    return simply(home_of(self), cuarena_trace_end);
}

static PyObject *arena_validate(PyObject *self, PyObject *NATIVE_UNUSED(unused))
{
    return simply(home_of(self), validate);
}

static PyObject *arena_check(PyObject *self, PyObject *NATIVE_UNUSED(unused))
{
    return simply(home_of(self), check);
}

static PyObject *arena_reset_peaks(PyObject *self, PyObject *NATIVE_UNUSED(unused))
{
    return simply(home_of(self), cuarena_reset_peaks);
}

/* What cuarena.Arena documents under names of its own begins with an underscore. */
PyMethodDef native_arena_calls[] = {
    {"_trim", arena_trim, METH_VARARGS, NULL},
    {"_reclaim", arena_reclaim, METH_VARARGS, NULL},
    {"_resize_pool", arena_resize_pool, METH_VARARGS, NULL},
    {"_release_stream", arena_release_stream, METH_O, NULL},
    {"_set_limit", arena_set_limit, METH_VARARGS, NULL},
    {"_get_limit", arena_get_limit, METH_VARARGS, NULL},
    {"_tag", arena_tag, METH_VARARGS, NULL},
    {"_snapshot", arena_snapshot, METH_VARARGS, NULL},
    {"_trace_begin", arena_trace_begin, METH_VARARGS, NULL},
    {"_trace_end", arena_trace_end, METH_NOARGS, NULL},
    {"_validate", arena_validate, METH_NOARGS, NULL},
    {"_check", arena_check, METH_NOARGS, NULL},
    {"reset_peaks", arena_reset_peaks, METH_NOARGS,
     "reset_peaks($self, /)\n--\n\nSet every peak to what there is now."},
    {"_capture", native_capture, METH_O, NULL},
    {"_compact", native_compact, METH_VARARGS, NULL},
    {"_set_oom_handler", native_set_oom_handler, METH_O, NULL},
    {"_set_relocation_callback", native_set_relocation_callback, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
