/* The type cuarena.Block: bytes of an arena. */
#include "native.h"

PyTypeObject *native_block_type;

/* ---- Making and ending ----------------------------------------------------- */

/* Pins a block that is to stay where it is, behind what its stream waits for. */
static cuarena_status_t fix(block_object_t *self)
{
    owned_block_t *owned = self->owned;
    if (self->movable)
        return CUARENA_OK;
    return cuarena_block_pin_on(owned->home->arena, owned->block, owned->stream, &self->address);
}

static owned_block_t *own(owned_arena_t *home, cuarena_block_t block, cuarena_stream_t stream,
                          uint64_t bytes)
{
    owned_block_t *owned = calloc(1, sizeof *owned);
    if (!owned) {
        cuarena_block_free_on(home->arena, block, stream);
        PyErr_NoMemory();
        return NULL;
    }
    native_arena_keep(home);
    owned->home = home;
    owned->block = block;
    owned->stream = stream;
    owned->bytes = bytes;
    atomic_init(&owned->owners, 1);
    return owned;
}

PyObject *native_new_block(arena_object_t *arena, cuarena_block_t block, cuarena_stream_t stream,
                           uint64_t bytes, bool movable)
{
    owned_block_t *owned = own(arena->home, block, stream, bytes);
    block_object_t *self;
    cuarena_status_t status;

    if (!owned)
        return NULL;
    self = PyObject_New(block_object_t, native_block_type);
    if (!self) {
        native_block_drop(owned);
        return NULL;
    }
    self->owned = owned;
    self->arena = Py_NewRef((PyObject *)arena);
    self->address = NULL;
    self->movable = movable;
    status = fix(self);
    if (status != CUARENA_OK) {
        Py_DECREF(self);
        return native_raise(status);
    }
    return (PyObject *)self;
}

static void block_dealloc(PyObject *object)
{
    block_object_t *self = (block_object_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    Py_BEGIN_ALLOW_THREADS native_block_drop(self->owned);
    Py_END_ALLOW_THREADS Py_XDECREF(self->arena);
    PyObject_Free(object);
    Py_DECREF(type);
}

PyDoc_STRVAR(free_doc, "free(stream=...)\n--\n\n"
                       "Free the block at this point of a stream; by default its own.");

static PyObject *block_free(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", NULL};
    owned_block_t *owned = ((block_object_t *)object)->owned;
    PyObject *from = NULL;
    cuarena_stream_t stream = owned->stream;
    cuarena_status_t status;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:free", names, &from) ||
        (from && !native_stream(from, &stream)) || !native_block_begin(owned))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = cuarena_block_free_on(owned->home->arena, owned->block, stream);
    Py_END_ALLOW_THREADS native_call_end(owned->home);
    if (status != CUARENA_OK)
        return native_raise(status);
    owned->block = 0;
    ((block_object_t *)object)->address = NULL;
    Py_RETURN_NONE;
}

/* ---- Figures ----------------------------------------------------------------- */

static PyObject *block_get_address(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(((block_object_t *)object)->address);
}

static PyObject *block_get_nbytes(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((block_object_t *)object)->owned->bytes);
}

static PyMethodDef block_methods[] = {
    {"free", (PyCFunction)(void (*)(void))block_free, METH_VARARGS | METH_KEYWORDS, free_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef block_getset[] = {
    {"address", block_get_address, NULL, "int: where the block is.", NULL},
    {"nbytes", block_get_nbytes, NULL, "int: the bytes that were asked for.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot block_slots[] = {
    {Py_tp_dealloc, block_dealloc},
    {Py_tp_methods, block_methods},
    {Py_tp_getset, block_getset},
    {0, NULL},
};

static PyType_Spec block_spec = {
    .name = "cuarena.Block",
    .basicsize = sizeof(block_object_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = block_slots,
};

bool native_add_block(PyObject *module)
{
    native_block_type = (PyTypeObject *)PyType_FromSpec(&block_spec);
    return native_block_type && PyModule_AddType(module, native_block_type) == 0;
}
