/* The type cuarena.Capture: a session that keeps what a graph uses private. */
#include "native.h"

typedef struct capture_object {
    PyObject ob_base;
    PyObject *arena;
    owned_arena_t *home;
    cuarena_capture_t *capture; /* NULL: released */
} capture_object_t;

static PyTypeObject *capture_type;

/* The session of an object that was not released, with a call that began; NULL with an exception.
 */
static capture_object_t *begin(PyObject *object)
{
    capture_object_t *self = (capture_object_t *)object;
    if (!self->capture) {
        native_raise_text(CUARENA_STALE, "the session was released already");
        return NULL;
    }
    return native_call_begin(self->home) ? self : NULL;
}

PyObject *native_capture(PyObject *arena, PyObject *from)
{
    owned_arena_t *home = ((arena_object_t *)arena)->home;
    cuarena_capture_t *capture = NULL;
    capture_object_t *self;
    cuarena_stream_t stream;
    cuarena_status_t status;

    if (!native_stream(from, &stream))
        return NULL;
    self = PyObject_New(capture_object_t, capture_type);
    if (!self)
        return NULL;
    self->arena = Py_NewRef(arena);
    self->home = home;
    self->capture = NULL;
    if (native_call_begin(home)) {
        NATIVE_CALL(home, status, cuarena_capture_begin(home->arena, stream, &capture));
        self->capture = capture;
        if (status != CUARENA_OK)
            native_raise(status);
    }
    if (PyErr_Occurred())
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *capture_join(PyObject *object, PyObject *from)
{
    capture_object_t *self;
    cuarena_stream_t stream;
    cuarena_status_t status;

    if (!native_stream(from, &stream) || !(self = begin(object)))
        return NULL;
    NATIVE_CALL(self->home, status, cuarena_capture_join(self->home->arena, self->capture, stream));
    return native_done(status);
}

static PyObject *capture_end(PyObject *object, PyObject *NATIVE_UNUSED(unused))
{
    capture_object_t *self = begin(object);
    cuarena_status_t status;

    if (!self)
        return NULL;
    NATIVE_CALL(self->home, status, cuarena_capture_end(self->home->arena, self->capture));
    return native_done(status);
}

static PyObject *capture_release(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", NULL};
    PyObject *from = NULL;
    capture_object_t *self;
    cuarena_stream_t stream;
    cuarena_status_t status;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:release", names, &from) ||
        !native_stream(from, &stream) || !(self = begin(object)))
        return NULL;
    NATIVE_CALL(self->home, status,
                cuarena_capture_release(self->home->arena, &self->capture, stream));
    return native_done(status);
}

static PyObject *capture_enter(PyObject *object, PyObject *NATIVE_UNUSED(unused))
{
    return Py_NewRef(object);
}

static PyObject *capture_exit(PyObject *object, PyObject *NATIVE_UNUSED(args))
{
    return capture_end(object, NULL);
}

/* The graph may live on, so the session does, too: until the arena ends. */
static void capture_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    Py_DECREF(((capture_object_t *)object)->arena);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef capture_methods[] = {
    {"join", capture_join, METH_O,
     "join($self, stream, /)\n--\n\n"
     "Add a stream, which joins the capture by waiting for an event of it."},
    {"end", capture_end, METH_NOARGS,
     "end($self, /)\n--\n\n"
     "End the open part, after the capture has ended; ``with`` does it."},
    {"release", (PyCFunction)(void (*)(void))capture_release, METH_VARARGS | METH_KEYWORDS,
     "release($self, /, stream=None)\n--\n\n"
     "Give the private bytes back, when the graph is launched no more.\n\n"
     "All its launches were queued on the stream or, without one, are done."},
    {"__enter__", capture_enter, METH_NOARGS, NULL},
    {"__exit__", capture_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot capture_slots[] = {
    {Py_tp_doc, "A session that keeps what a graph uses private; made by `Arena.capture`."},
    {Py_tp_dealloc, capture_dealloc},
    {Py_tp_methods, capture_methods},
    {0, NULL},
};

static PyType_Spec capture_spec = {
    .name = "cuarena.Capture",
    .basicsize = sizeof(capture_object_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = capture_slots,
};

bool native_add_capture(PyObject *module)
{
    capture_type = (PyTypeObject *)PyType_FromSpec(&capture_spec);
    return capture_type && PyModule_AddType(module, capture_type) == 0;
}
