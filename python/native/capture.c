/* The type cuarena.Capture: a session that keeps what a graph uses private. */
#include "native.h"

typedef struct capture_object {
    PyObject ob_base;
    PyObject *arena;
    owned_arena_t *home;
    cuarena_capture_t *capture; /* NULL: released */
    bool ended;                 /* its open part */
} capture_object_t;

/* A session whose object has gone; its graph may live on. The GIL guards the list. */
typedef struct lost_session {
    struct lost_session *next;
    cuarena_capture_t *capture;
} lost_session_t;

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
    self = PyObject_GC_New(capture_object_t, capture_type);
    if (!self)
        return NULL;
    self->arena = Py_NewRef(arena);
    self->home = home;
    self->capture = NULL;
    self->ended = false;
    PyObject_GC_Track((PyObject *)self);
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
    self->ended |= status == CUARENA_OK;
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

/* What is allocated within an ended session would be nobody's. */
static PyObject *capture_enter(PyObject *object, PyObject *NATIVE_UNUSED(unused))
{
    const capture_object_t *self = (capture_object_t *)object;
    if (!self->capture || self->ended)
        return native_raise_text(CUARENA_STALE, "the session has ended already; expected: one of "
                                                "its own for each capture");
    return Py_NewRef(object);
}

static PyObject *capture_exit(PyObject *object, PyObject *NATIVE_UNUSED(args))
{
    return capture_end(object, NULL);
}

/* ---- Sessions that nobody has ------------------------------------------- */

void native_release_lost(owned_arena_t *home)
{
    while (home->lost) {
        lost_session_t *lost = home->lost;
        if (cuarena_capture_release(home->arena, &lost->capture, CUARENA_NO_STREAM) != CUARENA_OK)
            return;
        home->lost = lost->next;
        free(lost);
    }
}

void native_forget_lost(owned_arena_t *home)
{
    while (home->lost) {
        lost_session_t *lost = home->lost;
        home->lost = lost->next;
        free(lost);
    }
}

/* The graph may live on, so the session does, too: until the arena is closed. Its streams are
 * ordinary from now on, unless they are still captured. Where there is no memory it lasts until the
 * arena ends. */
static void lose(capture_object_t *self)
{
    owned_arena_t *home = self->home;
    lost_session_t *lost = calloc(1, sizeof *lost);

    if (lost && home->arena && !home->closing) {
        home->calls++;
        NATIVE_WITHOUT_GIL((void)cuarena_capture_end(home->arena, self->capture));
        native_call_end(home);
        lost->capture = self->capture;
        lost->next = home->lost;
        home->lost = lost;
    } else {
        free(lost);
    }
}

static int capture_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((capture_object_t *)object)->arena);
    return 0;
}

static void capture_dealloc(PyObject *object)
{
    capture_object_t *self = (capture_object_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    if (self->capture)
        lose(self);
    Py_DECREF(self->arena);
    PyObject_GC_Del(object);
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
    {Py_tp_traverse, capture_traverse},
    {Py_tp_methods, capture_methods},
    {0, NULL},
};

static PyType_Spec capture_spec = {
    .name = "cuarena.Capture",
    .basicsize = sizeof(capture_object_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = capture_slots,
};

bool native_add_capture(PyObject *module)
{
    capture_type = (PyTypeObject *)PyType_FromSpec(&capture_spec);
    return capture_type && PyModule_AddType(module, capture_type) == 0;
}
