/* The type cuarena._native.Arena, of which cuarena.Arena is made. */
#include "native.h"

#include <stdio.h>

PyTypeObject *native_arena_type;

static int arena_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"options", "pairs", NULL};
    arena_object_t *arena = (arena_object_t *)self;
    const char *options;
    PyObject *pairs;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO!:Arena", names, &options, &PyTuple_Type,
                                     &pairs))
        return -1;
    if (arena->home) {
        PyErr_SetString(PyExc_RuntimeError, "the arena was made already");
        return -1;
    }
    arena->home = native_open(options, pairs);
    return arena->home ? 0 : -1;
}

/* Tensors may keep the arena for longer than its object, which has the callbacks. */
static void let_go(owned_arena_t *home)
{
    if (home->arena) {
        cuarena_set_oom_handler(home->arena, NULL, NULL);
        cuarena_set_relocation_callback(home->arena, NULL, NULL);
    }
    native_arena_drop(home);
}

/* Callbacks may refer to whoever has the arena. */
static int arena_traverse(PyObject *self, visitproc visit, void *arg)
{
    const owned_arena_t *home = ((arena_object_t *)self)->home;
    Py_VISIT(Py_TYPE(self));
    if (home) {
        Py_VISIT(home->oom_handler);
        Py_VISIT(home->moves_callback);
    }
    return 0;
}

static int arena_clear(PyObject *self)
{
    owned_arena_t *home = ((arena_object_t *)self)->home;
    if (home) {
        Py_CLEAR(home->oom_handler);
        Py_CLEAR(home->moves_callback);
    }
    return 0;
}

static void arena_dealloc(PyObject *self)
{
    arena_object_t *arena = (arena_object_t *)self;
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    arena_clear(self);
    if (arena->home) {
        NATIVE_WITHOUT_GIL(let_go(arena->home));
    }
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(close_doc, "close($self, /)\n--\n\n"
                        "End the arena now, when what was freed on streams is done with.\n\n"
                        "`ArenaBusyError` while blocks live, or captures that were not released;\n"
                        "those that nobody refers to any more end, so their graphs must be over.");

/* Waits first, since a destroy does not. */
static cuarena_status_t destroy(owned_arena_t *home)
{
    cuarena_reclaim(home->arena, 1, NULL);
    native_release_lost(home);
    return cuarena_destroy(&home->arena);
}

/* For a device's context that is about to go with all that was allocated in it. */
static cuarena_status_t destroy_forced(owned_arena_t *home)
{
    cuarena_reclaim(home->arena, 1, NULL);
    return cuarena_destroy_forced(&home->arena);
}

static PyObject *end(PyObject *self, cuarena_status_t (*how)(owned_arena_t *home))
{
    owned_arena_t *home = ((arena_object_t *)self)->home;
    cuarena_status_t status;

    if (!home || !home->arena)
        Py_RETURN_NONE;
    if (home->calls || home->closing)
        return native_raise_text(CUARENA_BUSY, "a call of the arena has not returned yet");
    home->closing = true;
    NATIVE_WITHOUT_GIL(status = how(home));
    home->closing = false;
    return native_done(status);
}

static PyObject *arena_close(PyObject *self, PyObject *NATIVE_UNUSED(unused))
{
    return end(self, destroy);
}

/* _end(): also with blocks that live; they are gone then. */
static PyObject *arena_end(PyObject *self, PyObject *NATIVE_UNUSED(unused))
{
    return end(self, destroy_forced);
}

/* What _alloc(size, stream, movable, zeroed, alignment, tag, stable, dedicated) asks for. */
typedef struct wish {
    unsigned long long bytes;
    cuarena_stream_t stream;
    int movable;
    cuarena_request_t request;
} wish_t;

static bool parse_wish(PyObject *args, wish_t *wish)
{
    PyObject *stream;
    unsigned long long alignment;
    unsigned short tag;
    int zeroed, stable, dedicated;

    if (!PyArg_ParseTuple(args, "KOppKHpp:_alloc", &wish->bytes, &stream, &wish->movable, &zeroed,
                          &alignment, &tag, &stable, &dedicated) ||
        !native_stream(stream, &wish->stream))
        return false;
    cuarena_request_init(&wish->request);
    wish->request.zeroed = zeroed;
    wish->request.alignment = alignment;
    wish->request.tag = tag;
    wish->request.region = stable ? CUARENA_REGION_STABLE : CUARENA_REGION_DYNAMIC;
    wish->request.dedicated = dedicated;
    return true;
}

static PyObject *arena_alloc(PyObject *self, PyObject *args)
{
    arena_object_t *arena = (arena_object_t *)self;
    cuarena_block_t block = 0;
    cuarena_status_t status;
    wish_t wish;

    if (!parse_wish(args, &wish) || !native_call_begin(arena->home))
        return NULL;
    NATIVE_WITHOUT_GIL(status = cuarena_block_alloc_on(arena->home->arena, wish.bytes, wish.stream,
                                                       &wish.request, &block));
    native_call_end(arena->home);
    if (status != CUARENA_OK)
        return native_raise(status);
    return native_new_block(arena, block, wish.stream, wish.bytes, wish.movable != 0);
}

/* _alloc_address(size, stream) */
static PyObject *arena_alloc_address(PyObject *self, PyObject *args)
{
    owned_arena_t *home = ((arena_object_t *)self)->home;
    unsigned long long bytes;
    void *pointer = NULL;
    PyObject *from;
    cuarena_stream_t stream;
    cuarena_status_t status;

    if (!PyArg_ParseTuple(args, "KO:_alloc_address", &bytes, &from) ||
        !native_stream(from, &stream) || !native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status, cuarena_alloc_on(home->arena, bytes, stream, NULL, &pointer));
    return status == CUARENA_OK ? PyLong_FromVoidPtr(pointer) : native_raise(status);
}

/* Whether a Block begins there, which frees itself. Raises InvalidArgumentError then. */
static bool is_a_block(owned_arena_t *home, const void *pointer)
{
    cuarena_block_info_t info = {.pointer = 1};
    cuarena_block_t block = 0;
    char message[120];

    if (cuarena_block_of(home->arena, pointer, &block) != CUARENA_OK ||
        cuarena_block_info(home->arena, block, &info) != CUARENA_OK || info.pointer)
        return false;
    snprintf(message, sizeof message,
             "address=%p is that of a Block; expected: what alloc_address gave", pointer);
    native_raise_text(CUARENA_BAD_ARGUMENT, message);
    return true;
}

/* _free_address(address, stream) */
static PyObject *arena_free_address(PyObject *self, PyObject *args)
{
    owned_arena_t *home = ((arena_object_t *)self)->home;
    PyObject *from, *address;
    void *pointer;
    cuarena_error_info_t before;
    cuarena_stream_t stream;
    cuarena_status_t status;

    if (!PyArg_ParseTuple(args, "O!O:_free_address", &PyLong_Type, &address, &from) ||
        !native_stream(from, &stream))
        return NULL;
    pointer = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred() || !native_call_begin(home))
        return NULL;
    if (is_a_block(home, pointer)) {
        native_call_end(home);
        return NULL;
    }
    before = native_before(home);
    NATIVE_CALL(home, status, cuarena_free_on(home->arena, pointer, stream));
    if (status == CUARENA_OK && native_raise_finding(home, &before))
        return NULL;
    return native_done(status);
}

static PyObject *arena_get_closed(PyObject *self, void *NATIVE_UNUSED(unused))
{
    owned_arena_t *home = ((arena_object_t *)self)->home;
    return PyBool_FromLong(!home || !home->arena);
}

static PyObject *arena_get_handle(PyObject *self, void *NATIVE_UNUSED(unused))
{
    owned_arena_t *home = ((arena_object_t *)self)->home;
    return PyLong_FromVoidPtr(home ? home->arena : NULL);
}

static PyMethodDef arena_methods[] = {
    {"close", arena_close, METH_NOARGS, close_doc},
    {"_end", arena_end, METH_NOARGS, NULL},
    {"_alloc", arena_alloc, METH_VARARGS, NULL},
    {"_alloc_address", arena_alloc_address, METH_VARARGS, NULL},
    {"_free_address", arena_free_address, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef arena_getset[] = {
    {"closed", arena_get_closed, NULL, "bool: whether the arena was closed.", NULL},
    {"handle", arena_get_handle, NULL,
     "int: the arena as the C library knows it, a cuarena_t *; 0 when it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot arena_slots[] = {
    {Py_tp_init, arena_init},
    {Py_tp_dealloc, arena_dealloc},
    {Py_tp_traverse, arena_traverse},
    {Py_tp_clear, arena_clear},
    {Py_tp_methods, arena_methods},
    {Py_tp_getset, arena_getset},
    {0, NULL},
};

static PyType_Spec arena_spec = {
    .name = "cuarena._native.Arena",
    .basicsize = sizeof(arena_object_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = arena_slots,
};

static bool add_methods(PyMethodDef *methods)
{
    for (PyMethodDef *method = methods; method->ml_name; method++) {
        PyObject *descriptor = PyDescr_NewMethod(native_arena_type, method);
        int added = descriptor ? PyObject_SetAttrString((PyObject *)native_arena_type,
                                                        method->ml_name, descriptor)
                               : -1;
        Py_XDECREF(descriptor);
        if (added < 0)
            return false;
    }
    return true;
}

bool native_add_arena(PyObject *module)
{
    native_arena_type = (PyTypeObject *)PyType_FromSpec(&arena_spec);
    return native_arena_type && add_methods(native_arena_calls) &&
           add_methods(native_arena_figures) && PyModule_AddType(module, native_arena_type) == 0;
}
