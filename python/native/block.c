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
    self = PyObject_GC_New(block_object_t, native_block_type);
    if (!self) {
        native_block_drop(owned);
        return NULL;
    }
    self->owned = owned;
    self->arena = Py_NewRef((PyObject *)arena);
    self->address = NULL;
    self->movable = movable;
    PyObject_GC_Track((PyObject *)self);
    NATIVE_WITHOUT_GIL(status = fix(self));
    if (status != CUARENA_OK) {
        Py_DECREF(self);
        return native_raise(status);
    }
    return (PyObject *)self;
}

/* A cycle through a block has an object that can be cleared: a block refers to its arena alone. */
static int block_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((block_object_t *)object)->arena);
    return 0;
}

/* Frees the block if nobody else has it; what that finds is told to sys.unraisablehook. */
static void drop(block_object_t *self)
{
    const owned_arena_t *home = self->owned->home; /* which the arena's object keeps */
    cuarena_error_info_t before = native_before(home);
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    NATIVE_WITHOUT_GIL(native_block_drop(self->owned));
    if (native_raise_finding(home, &before))
        PyErr_WriteUnraisable(self->arena);
    PyErr_Restore(type, value, trace);
}

static void block_dealloc(PyObject *object)
{
    block_object_t *self = (block_object_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    drop(self);
    Py_DECREF(self->arena);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

PyDoc_STRVAR(free_doc, "free($self, /, stream=...)\n--\n\n"
                       "Free the block at this point of a stream; by default its own.\n\n"
                       "Nobody gets its bytes before what was queued on the stream is done. With\n"
                       "``None`` nothing may use them any more. `ArenaBusyError` while tensors\n"
                       "or buffers of it are in use. A block that nobody refers to any more is\n"
                       "freed on its own stream.\n\n"
                       "With the options guard and quarantine it raises an ArenaError where\n"
                       "somebody wrote beside the block, or to one that was freed; the block is\n"
                       "freed all the same.");

/* Takes the block from its owner, so that no other thread frees it too. */
static bool take(owned_block_t *owned, cuarena_block_t *block_out)
{
    if (owned->block && atomic_load(&owned->owners) > 1) {
        native_raise_text(CUARENA_BUSY, "tensors or buffers of the block are in use");
        return false;
    }
    if (!native_block_begin(owned))
        return false;
    *block_out = owned->block;
    owned->block = 0;
    return true;
}

static PyObject *block_free(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", NULL};
    block_object_t *self = (block_object_t *)object;
    owned_block_t *owned = self->owned;
    PyObject *from = NULL;
    cuarena_stream_t stream = CUARENA_NO_STREAM;
    cuarena_error_info_t before;
    cuarena_block_t block;
    cuarena_status_t status;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:free", names, &from) ||
        (from && !native_stream(from, &stream)) || !take(owned, &block))
        return NULL;
    before = native_before(owned->home);
    NATIVE_CALL(owned->home, status,
                from ? cuarena_block_free_on(owned->home->arena, block, stream)
                     : cuarena_block_free_own(owned->home->arena, block));
    if (status == CUARENA_OK)
        self->address = NULL;
    else
        owned->block = block;
    if (status == CUARENA_OK && native_raise_finding(owned->home, &before))
        return NULL;
    return native_done(status);
}

/* The argument `stream` of a call on a block that lives. */
static bool parse_stream(PyObject *object, PyObject *args, PyObject *kwargs,
                         cuarena_stream_t *stream_out)
{
    static char *names[] = {"stream", NULL};
    PyObject *from = NULL;
    return PyArg_ParseTupleAndKeywords(args, kwargs, "|O", names, &from) &&
           native_stream(from, stream_out) && native_block_begin(((block_object_t *)object)->owned);
}

/* ---- Pins and uses ------------------------------------------------------------- */

PyDoc_STRVAR(pin_doc, "pin($self, /, stream=None)\n--\n\n"
                      "Keep a movable block where it is, and return its address.\n\n"
                      "Each pin wants an `unpin`. The stream waits for compactions that moved\n"
                      "the block.");

static PyObject *block_pin(PyObject *object, PyObject *args, PyObject *kwargs)
{
    owned_block_t *owned = ((block_object_t *)object)->owned;
    cuarena_stream_t stream;
    cuarena_status_t status;
    void *address = NULL;

    if (!parse_stream(object, args, kwargs, &stream))
        return NULL;
    NATIVE_CALL(owned->home, status,
                cuarena_block_pin_on(owned->home->arena, owned->block, stream, &address));
    return status == CUARENA_OK ? PyLong_FromVoidPtr(address) : native_raise(status);
}

PyDoc_STRVAR(unpin_doc, "unpin($self, /, stream=None)\n--\n\n"
                        "End one pin, at this point of a stream that used the block.");

static PyObject *block_unpin(PyObject *object, PyObject *args, PyObject *kwargs)
{
    owned_block_t *owned = ((block_object_t *)object)->owned;
    cuarena_stream_t stream;
    cuarena_status_t status;

    if (!parse_stream(object, args, kwargs, &stream))
        return NULL;
    NATIVE_CALL(owned->home, status,
                cuarena_block_unpin_on(owned->home->arena, owned->block, stream));
    return native_done(status);
}

PyDoc_STRVAR(record_doc, "record_use($self, stream, /)\n--\n\n"
                         "Say that another stream uses the block too.\n\n"
                         "When it is freed, nobody gets its bytes before what was queued on that\n"
                         "stream until then is done.");

static PyObject *block_record_use(PyObject *object, PyObject *from)
{
    owned_block_t *owned = ((block_object_t *)object)->owned;
    cuarena_stream_t stream;
    cuarena_status_t status;

    if (!native_stream(from, &stream) || !native_block_begin(owned))
        return NULL;
    NATIVE_CALL(owned->home, status,
                cuarena_block_record_use(owned->home->arena, owned->block, stream));
    return native_done(status);
}

/* ---- What is known of it ----------------------------------------------------------- */

static bool need_address(block_object_t *self)
{
    if (!self->owned->block) {
        native_raise_text(CUARENA_STALE, "the block was freed already");
        return false;
    }
    if (self->movable) {
        native_raise_text(CUARENA_BUSY, "the block is movable: its address is what pin() returns");
        return false;
    }
    return true;
}

static PyObject *block_get_address(PyObject *object, void *NATIVE_UNUSED(unused))
{
    block_object_t *self = (block_object_t *)object;
    return need_address(self) ? PyLong_FromVoidPtr(self->address) : NULL;
}

static PyObject *block_get_nbytes(PyObject *object, void *NATIVE_UNUSED(unused))
{
    return PyLong_FromUnsignedLongLong(((block_object_t *)object)->owned->bytes);
}

static PyObject *block_get_id(PyObject *object, void *NATIVE_UNUSED(unused))
{
    return PyLong_FromUnsignedLongLong(((block_object_t *)object)->owned->block);
}

static PyObject *block_get_arena(PyObject *object, void *NATIVE_UNUSED(unused))
{
    return Py_NewRef(((block_object_t *)object)->arena);
}

static PyObject *block_get_movable(PyObject *object, void *NATIVE_UNUSED(unused))
{
    return PyBool_FromLong(((block_object_t *)object)->movable);
}

static PyObject *block_get_stream(PyObject *object, void *NATIVE_UNUSED(unused))
{
    cuarena_stream_t stream = ((block_object_t *)object)->owned->stream;
    if (stream == CUARENA_NO_STREAM)
        Py_RETURN_NONE;
    return PyLong_FromVoidPtr(stream);
}

/* Of version 3, whose stream is never 0. */
static PyObject *block_get_interface(PyObject *object, void *NATIVE_UNUSED(unused))
{
    block_object_t *self = (block_object_t *)object;
    const owned_block_t *owned = self->owned;
    uintptr_t stream = (uintptr_t)owned->stream;
    PyObject *handle;

    if (owned->home->device < 0) {
        PyErr_SetString(PyExc_AttributeError, "the block is not in memory of a GPU");
        return NULL;
    }
    if (!need_address(self))
        return NULL;
    handle = owned->stream == CUARENA_NO_STREAM ? Py_NewRef(Py_None)
                                                : PyLong_FromSize_t(stream ? stream : 1);
    return Py_BuildValue("{s:(K),s:s,s:(Ki),s:i,s:N}", "shape", (unsigned long long)owned->bytes,
                         "typestr", "|u1", "data", (unsigned long long)(uintptr_t)self->address, 0,
                         "version", 3, "stream", handle);
}

/* ---- Buffers ------------------------------------------------------------------------ */

/* A buffer pins the block and owns it with others. */
static int block_get_buffer(PyObject *object, Py_buffer *view, int flags)
{
    owned_block_t *owned = ((block_object_t *)object)->owned;
    cuarena_status_t status;
    void *address = NULL;

    view->obj = NULL;
    if (!owned->home->host_readable) {
        PyErr_SetString(PyExc_BufferError, "the CPU does not reach the bytes of this block");
        return -1;
    }
    if (!native_block_begin(owned))
        return -1;
    native_block_keep(owned);
    NATIVE_CALL(owned->home, status, cuarena_block_pin(owned->home->arena, owned->block, &address));
    if (status != CUARENA_OK) {
        native_block_drop(owned);
        native_raise(status);
        return -1;
    }
    return PyBuffer_FillInfo(view, object, address, (Py_ssize_t)owned->bytes, 0, flags);
}

static void block_release_buffer(PyObject *object, Py_buffer *NATIVE_UNUSED(view))
{
    owned_block_t *owned = ((block_object_t *)object)->owned;
    cuarena_block_unpin(owned->home->arena, owned->block);
    native_block_drop(owned);
}

/* ---- The type ------------------------------------------------------------------------ */

#define WITH_KEYWORDS(function)                                                                    \
    (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef block_methods[] = {
    {"free", WITH_KEYWORDS(block_free), free_doc},
    {"pin", WITH_KEYWORDS(block_pin), pin_doc},
    {"unpin", WITH_KEYWORDS(block_unpin), unpin_doc},
    {"record_use", block_record_use, METH_O, record_doc},
    {"__dlpack__", WITH_KEYWORDS(native_block_dlpack), native_dlpack_doc},
    {"__dlpack_device__", native_block_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\nThe kind of device and its number, as DLPack has them."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef block_getset[] = {
    {"address", block_get_address, NULL, "int: where the block is; of a movable one, see `pin`.",
     NULL},
    {"nbytes", block_get_nbytes, NULL, "int: the bytes that were asked for.", NULL},
    {"id", block_get_id, NULL, "int: the id that moves report; 0 when it was freed.", NULL},
    {"arena", block_get_arena, NULL, "Arena: of which it is.", NULL},
    {"movable", block_get_movable, NULL, "bool: whether compaction may move it.", NULL},
    {"stream", block_get_stream, NULL,
     "int or None: the cudaStream_t that it was allocated on, and is freed on.", NULL},
    {"__cuda_array_interface__", block_get_interface, NULL,
     "dict: the block as an array of bytes, for CuPy, Numba and others.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot block_slots[] = {
    {Py_tp_doc, "Bytes of an arena; made by `Arena.alloc`."},
    {Py_tp_dealloc, block_dealloc},
    {Py_tp_traverse, block_traverse},
    {Py_tp_methods, block_methods},
    {Py_tp_getset, block_getset},
    {Py_bf_getbuffer, block_get_buffer},
    {Py_bf_releasebuffer, block_release_buffer},
    {0, NULL},
};

static PyType_Spec block_spec = {
    .name = "cuarena.Block",
    .basicsize = sizeof(block_object_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = block_slots,
};

bool native_add_block(PyObject *module)
{
    native_block_type = (PyTypeObject *)PyType_FromSpec(&block_spec);
    return native_block_type && PyModule_AddType(module, native_block_type) == 0;
}
