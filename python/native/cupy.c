/* What CuPy calls for each array: cuarena.cupy.MemoryPool is made of this type. Nothing is compiled
 * against CuPy; the current device and stream come from functions that its modules offer to other
 * extensions, by their names and types, or else from calls of Python. */
#include "native.h"

enum {
    MAX_DEVICES = 64
};

/* A stream that an arena knows. The cuarena.cupy.MemoryPool keeps the stream's object. */
typedef struct known_stream {
    cuarena_stream_t handle;
    size_t live; /* blocks that will be freed on it; the GIL guards it */
} known_stream_t;

/* The arena of one device. */
typedef struct device_slot {
    owned_arena_t *home; /* NULL: there is none yet */
    PyObject *number;    /* of the device */
    known_stream_t *streams[CUARENA_MAX_STREAMS];
    size_t count;
    known_stream_t *last; /* the one that was asked for last */
} device_slot_t;

typedef struct pool_object {
    PyObject ob_base;
    int (*get_device)(int);       /* NULL: call_device */
    intptr_t (*get_stream)(void); /* NULL: call_stream */
    PyObject *call_device, *call_stream;
    PyObject *memory_type, *pointer_type; /* UnownedMemory, MemoryPointer */
    PyObject *zero;
    PyObject *streams; /* keeps their objects, for longer than the arenas know them */
    device_slot_t *slots[MAX_DEVICES];
} pool_object_t;

/* What owns the bytes of one UnownedMemory. */
typedef struct bytes_object {
    PyObject ob_base;
    PyObject *pool; /* keeps `home` and `stream` */
    owned_arena_t *home;
    void *pointer; /* NULL: freed */
    known_stream_t *stream;
    unsigned long thread; /* that allocated */
} bytes_object_t;

static PyTypeObject *bytes_type;

/* ---- Bytes ---------------------------------------------------------------------- */

/* The stream on which to free. The default stream of another thread cannot be named here; the
 * legacy one waits for it. */
static cuarena_stream_t last_stream(const bytes_object_t *self)
{
    cuarena_stream_t handle = self->stream->handle;
    if (handle == CUARENA_STREAM_PER_THREAD && self->thread != PyThread_get_thread_ident())
        return CUARENA_STREAM_LEGACY;
    return handle;
}

static void free_bytes(bytes_object_t *self)
{
    void *pointer = self->pointer;
    cuarena_stream_t stream;

    if (!pointer)
        return;
    stream = last_stream(self);
    self->pointer = NULL;
    NATIVE_WITHOUT_GIL(cuarena_free_on(self->home->arena, pointer, stream));
    self->stream->live--; /* the stream may go from here on */
}

static void bytes_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    bytes_object_t *self = (bytes_object_t *)object;
    free_bytes(self);
    Py_DECREF(self->pool);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *bytes_free(PyObject *object, PyObject *NATIVE_UNUSED(unused))
{
    free_bytes((bytes_object_t *)object);
    Py_RETURN_NONE;
}

static PyMethodDef bytes_methods[] = {
    {"free", bytes_free, METH_NOARGS, "free($self, /)\n--\n\nFree the bytes now."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot bytes_slots[] = {
    {Py_tp_dealloc, bytes_dealloc},
    {Py_tp_methods, bytes_methods},
    {0, NULL},
};

static PyType_Spec bytes_spec = {
    .name = "cuarena._native.CupyBytes",
    .basicsize = sizeof(bytes_object_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = bytes_slots,
};

/* ---- The current device and stream --------------------------------------------------- */

static int current_device(const pool_object_t *self)
{
    PyObject *number;
    int device;

    if (self->get_device)
        return self->get_device(0);
    number = PyObject_CallNoArgs(self->call_device);
    if (!number)
        return -1;
    device = (int)PyLong_AsLong(number);
    Py_DECREF(number);
    return device;
}

static bool current_stream(const pool_object_t *self, cuarena_stream_t *stream_out)
{
    PyObject *stream;
    bool found;

    if (self->get_stream) {
        *stream_out = (cuarena_stream_t)self->get_stream();
        return !PyErr_Occurred();
    }
    stream = PyObject_CallNoArgs(self->call_stream);
    if (!stream)
        return false;
    found = native_stream(stream, stream_out);
    Py_DECREF(stream);
    return found;
}

static device_slot_t *slot_of(pool_object_t *self, int device)
{
    PyObject *answer;

    if (device >= 0 && device < MAX_DEVICES && self->slots[device])
        return self->slots[device];
    if (PyErr_Occurred())
        return NULL;
    answer = PyObject_CallMethod((PyObject *)self, "_add_device", "i", device);
    Py_XDECREF(answer);
    return answer ? self->slots[device] : NULL;
}

static known_stream_t *find(device_slot_t *slot, cuarena_stream_t handle)
{
    if (slot->last && slot->last->handle == handle)
        return slot->last;
    for (size_t i = 0; i < slot->count; i++)
        if (slot->streams[i]->handle == handle)
            return slot->last = slot->streams[i];
    return NULL;
}

/* Tells Python of a stream that the arena sees for the first time; that lets go of others. */
static known_stream_t *add(pool_object_t *self, int device, cuarena_stream_t handle)
{
    device_slot_t *slot = self->slots[device];
    known_stream_t *known;
    PyObject *answer = PyObject_CallMethod((PyObject *)self, "_add_stream", "in", device,
                                           (Py_ssize_t)(intptr_t)handle);
    Py_XDECREF(answer);
    if (!answer)
        return NULL;
    known = find(slot, handle);
    if (known)
        return known;
    known = slot->count < CUARENA_MAX_STREAMS ? calloc(1, sizeof *known) : NULL;
    if (!known) {
        PyErr_NoMemory();
        return NULL;
    }
    known->handle = handle;
    slot->last = slot->streams[slot->count++] = known;
    return known;
}

/* ---- Allocating ------------------------------------------------------------------------ */

static PyObject *as_pointer(pool_object_t *self, PyObject *address, PyObject *size, PyObject *owner,
                            PyObject *device)
{
    PyObject *memory =
        PyObject_CallFunctionObjArgs(self->memory_type, address, size, owner, device, NULL);
    PyObject *pointer =
        memory ? PyObject_CallFunctionObjArgs(self->pointer_type, memory, self->zero, NULL) : NULL;
    Py_XDECREF(memory);
    return pointer;
}

/* The object that owns bytes which are still to be allocated. */
static bytes_object_t *new_bytes(pool_object_t *pool, device_slot_t *slot, known_stream_t *stream)
{
    bytes_object_t *bytes = PyObject_New(bytes_object_t, bytes_type);
    if (bytes) {
        bytes->pool = Py_NewRef((PyObject *)pool);
        bytes->home = slot->home;
        bytes->pointer = NULL;
        bytes->stream = stream;
        bytes->thread =
            stream->handle == CUARENA_STREAM_PER_THREAD ? PyThread_get_thread_ident() : 0;
    }
    return bytes;
}

/* False with an exception, of the library's if it refuses. */
static bool get_bytes(bytes_object_t *bytes, size_t size)
{
    owned_arena_t *home = bytes->home;
    cuarena_status_t status;
    void *pointer = NULL;

    if (!native_call_begin(home))
        return false;
    bytes->stream->live++; /* so that the stream stays known meanwhile */
    NATIVE_CALL(home, status,
                cuarena_alloc_on(home->arena, size, bytes->stream->handle, NULL, &pointer));
    bytes->pointer = pointer;
    if (!pointer)
        bytes->stream->live--; /* refused, or of no bytes */
    if (status != CUARENA_OK)
        native_raise(status);
    return status == CUARENA_OK;
}

static PyObject *pointer_to(pool_object_t *self, device_slot_t *slot, bytes_object_t *bytes,
                            PyObject *size)
{
    PyObject *address = PyLong_FromVoidPtr(bytes->pointer);
    PyObject *pointer =
        address ? as_pointer(self, address, size, (PyObject *)bytes, slot->number) : NULL;
    Py_XDECREF(address);
    return pointer;
}

static PyObject *allocate(pool_object_t *self, int device, known_stream_t *stream, PyObject *size)
{
    device_slot_t *slot = self->slots[device];
    bytes_object_t *bytes;
    PyObject *pointer;
    size_t wanted;

    if (!native_size(size, "size", "0 to 2**64 - 1", &wanted))
        return NULL;
    bytes = new_bytes(self, slot, stream);
    if (!bytes)
        return NULL;
    pointer = get_bytes(bytes, wanted) ? pointer_to(self, slot, bytes, size) : NULL;
    Py_DECREF(bytes);
    return pointer;
}

/* _malloc(size): an ArenaError where the arena refuses. */
static PyObject *pool_malloc(PyObject *object, PyObject *size)
{
    pool_object_t *self = (pool_object_t *)object;
    device_slot_t *slot;
    known_stream_t *stream;
    cuarena_stream_t handle;
    int device;

    if (!self->memory_type) {
        PyErr_SetString(PyExc_RuntimeError, "the pool was not made: a class of it must call "
                                            "MemoryPool.__init__");
        return NULL;
    }
    device = current_device(self);
    slot = slot_of(self, device);
    if (!slot || !current_stream(self, &handle))
        return NULL;
    stream = find(slot, handle);
    if (!stream)
        stream = add(self, device, handle);
    return stream ? allocate(self, device, stream, size) : NULL;
}

/* malloc(size): the common case; the method _refused gets what cannot be had. */
static PyObject *pool_malloc_or_ask(PyObject *object, PyObject *size)
{
    PyObject *pointer = pool_malloc(object, size);
    PyObject *type, *error, *trace;

    if (pointer || !PyErr_ExceptionMatches(PyExc_MemoryError))
        return pointer;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    pointer = PyObject_CallMethod(object, "_refused", "OO", size, error);
    Py_XDECREF(error);
    return pointer;
}

/* ---- Devices and streams, for Python ------------------------------------------------------ */

/* _set_arena(device, arena) */
static PyObject *pool_set_arena(PyObject *object, PyObject *args)
{
    pool_object_t *self = (pool_object_t *)object;
    device_slot_t *slot;
    PyObject *arena;
    int device;

    if (!PyArg_ParseTuple(args, "iO!:_set_arena", &device, native_arena_type, &arena))
        return NULL;
    if (device < 0 || device >= MAX_DEVICES || self->slots[device]) {
        PyErr_Format(PyExc_ValueError, "device %d has an arena, or is out of range", device);
        return NULL;
    }
    slot = calloc(1, sizeof *slot);
    if (!slot)
        return PyErr_NoMemory();
    slot->number = PyLong_FromLong(device);
    slot->home = ((arena_object_t *)arena)->home;
    native_arena_keep(slot->home);
    self->slots[device] = slot;
    Py_RETURN_NONE;
}

static known_stream_t *parse_known(PyObject *object, PyObject *args, device_slot_t **slot_out)
{
    pool_object_t *self = (pool_object_t *)object;
    Py_ssize_t handle;
    int device;

    if (!PyArg_ParseTuple(args, "in", &device, &handle))
        return NULL;
    *slot_out = device >= 0 && device < MAX_DEVICES ? self->slots[device] : NULL;
    return *slot_out ? find(*slot_out, (cuarena_stream_t)(intptr_t)handle) : NULL;
}

/* _live(device, stream): how many blocks will be freed on it. */
static PyObject *pool_live(PyObject *object, PyObject *args)
{
    device_slot_t *slot;
    known_stream_t *known = parse_known(object, args, &slot);
    if (PyErr_Occurred())
        return NULL;
    return PyLong_FromSize_t(known ? known->live : 0);
}

/* _forget(device, stream): it has no live blocks, and the arena was told. */
static PyObject *pool_forget(PyObject *object, PyObject *args)
{
    device_slot_t *slot;
    known_stream_t *known = parse_known(object, args, &slot);

    if (PyErr_Occurred())
        return NULL;
    for (size_t i = 0; known && i < slot->count; i++)
        if (slot->streams[i] == known) {
            slot->streams[i] = slot->streams[--slot->count];
            slot->last = NULL;
            free(known);
            break;
        }
    Py_RETURN_NONE;
}

/* ---- The type ------------------------------------------------------------------------------ */

/* The function in a capsule of Cython's, whose name is its type; NULL: it has another one. */
static void *function_in(PyObject *capsule, const char *type)
{
    return PyCapsule_IsValid(capsule, type) ? PyCapsule_GetPointer(capsule, type) : NULL;
}

/* CupyPool(memory_type, pointer_type, device_capsule, stream_capsule, call_device, call_stream,
 * streams) */
static int pool_init(PyObject *object, PyObject *args, PyObject *NATIVE_UNUSED(kwargs))
{
    pool_object_t *self = (pool_object_t *)object;
    PyObject *memory, *pointer, *device, *stream, *call_device, *call_stream, *streams;
    void *found;

    if (!PyArg_ParseTuple(args, "OOOOOOO:CupyPool", &memory, &pointer, &device, &stream,
                          &call_device, &call_stream, &streams) ||
        self->memory_type)
        return -1;
    found = function_in(device, "int (int __pyx_skip_dispatch)");
    memcpy(&self->get_device, &found, sizeof found);
    found = function_in(stream, "intptr_t (void)");
    memcpy(&self->get_stream, &found, sizeof found);
    self->memory_type = Py_NewRef(memory);
    self->pointer_type = Py_NewRef(pointer);
    self->call_device = Py_NewRef(call_device);
    self->call_stream = Py_NewRef(call_stream);
    self->streams = Py_NewRef(streams);
    self->zero = PyLong_FromLong(0);
    return 0;
}

/* Without the GIL. Somebody else may have the arena: it is to forget the streams, which end now. */
static void leave_arena(device_slot_t *slot)
{
    for (size_t i = 0; i < slot->count; i++) {
        if (slot->home->arena)
            cuarena_release_stream(slot->home->arena, slot->streams[i]->handle);
        free(slot->streams[i]);
    }
    native_arena_drop(slot->home);
}

static void drop_slot(device_slot_t *slot)
{
    NATIVE_WITHOUT_GIL(leave_arena(slot));
    Py_XDECREF(slot->number);
    free(slot);
}

static void pool_dealloc(PyObject *object)
{
    pool_object_t *self = (pool_object_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    for (int i = 0; i < MAX_DEVICES; i++)
        if (self->slots[i])
            drop_slot(self->slots[i]);
    Py_XDECREF(self->memory_type);
    Py_XDECREF(self->pointer_type);
    Py_XDECREF(self->call_device);
    Py_XDECREF(self->call_stream);
    Py_XDECREF(self->zero);
    Py_XDECREF(self->streams);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *pool_get_native(PyObject *object, void *NATIVE_UNUSED(unused))
{
    const pool_object_t *self = (pool_object_t *)object;
    return PyBool_FromLong(self->get_device && self->get_stream);
}

static PyMethodDef pool_methods[] = {
    {"malloc", pool_malloc_or_ask, METH_O,
     "malloc($self, size, /)\n--\n\n"
     "Allocate on the current stream of the current device; a MemoryPointer."},
    {"_malloc", pool_malloc, METH_O, NULL},
    {"_set_arena", pool_set_arena, METH_VARARGS, NULL},
    {"_live", pool_live, METH_VARARGS, NULL},
    {"_forget", pool_forget, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef pool_getset[] = {
    {"_calls_c", pool_get_native, NULL,
     "bool: whether device and stream are had without a call of Python.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot pool_slots[] = {
    {Py_tp_init, pool_init},
    {Py_tp_dealloc, pool_dealloc},
    {Py_tp_methods, pool_methods},
    {Py_tp_getset, pool_getset},
    {0, NULL},
};

static PyType_Spec pool_spec = {
    .name = "cuarena._native.CupyPool",
    .basicsize = sizeof(pool_object_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = pool_slots,
};

bool native_add_cupy(PyObject *module)
{
    PyObject *pool = PyType_FromSpec(&pool_spec);
    bool added;

    bytes_type = (PyTypeObject *)PyType_FromSpec(&bytes_spec);
    added = pool && bytes_type && PyModule_AddType(module, (PyTypeObject *)pool) == 0;
    Py_XDECREF(pool);
    return added;
}
