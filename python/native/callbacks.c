/* Functions of Python that the library calls: while it compacts, and when it runs out. The library
 * runs without the GIL, so each takes it. What one raises is kept until the call returns. */
#include "native.h"

/* ---- Compaction ---------------------------------------------------------------- */

/* One call of compact. */
typedef struct compaction {
    PyObject *callback;             /* NULL: none */
    PyObject *type, *value, *trace; /* what it raised; NULL: nothing */
} compaction_t;

static PyObject *as_tuples(const cuarena_relocation_t *list, size_t count)
{
    PyObject *moves = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; moves && i < count; i++) {
        PyObject *move = Py_BuildValue(
            "KKKK", (unsigned long long)list[i].block, (unsigned long long)(uintptr_t)list[i].from,
            (unsigned long long)(uintptr_t)list[i].to, (unsigned long long)list[i].bytes);
        if (!move || PyList_SetItem(moves, (Py_ssize_t)i, move) < 0)
            Py_CLEAR(moves);
    }
    return moves;
}

/* 1 where an answer is false, and not None; -1 where it raises, else 0. */
static int says_no(PyObject *answer)
{
    int truth = answer == Py_None ? 1 : PyObject_IsTrue(answer);
    return truth < 0 ? -1 : !truth;
}

/* Calls the function with a list of moves; as says_no, of what it answers. */
static int tell(PyObject *callback, const cuarena_relocation_t *list, size_t count)
{
    PyObject *moves = as_tuples(list, count);
    PyObject *answer = moves ? PyObject_CallFunctionObjArgs(callback, moves, NULL) : NULL;
    int stop = answer ? says_no(answer) : -1;
    Py_XDECREF(moves);
    Py_XDECREF(answer);
    return stop;
}

static int32_t moved(void *user, const cuarena_relocation_t *list, size_t count)
{
    compaction_t *compaction = user;
    PyGILState_STATE state = PyGILState_Ensure();
    int stop = tell(compaction->callback, list, count);
    if (stop < 0)
        PyErr_Fetch(&compaction->type, &compaction->value, &compaction->trace);
    PyGILState_Release(state);
    return stop != 0;
}

static PyObject *report_tuple(const cuarena_compact_report_t *report)
{
    return Py_BuildValue("(KKKKKKi)", (unsigned long long)report->moves,
                         (unsigned long long)report->runs, (unsigned long long)report->bytes_moved,
                         (unsigned long long)report->batches,
                         (unsigned long long)report->largest_before,
                         (unsigned long long)report->largest_after, (int)report->stopped);
}

/* Streams of a tuple, as an array that the caller frees; NULL with an exception. */
static cuarena_stream_t *streams_of(PyObject *tuple, size_t *count_out)
{
    Py_ssize_t count = PyTuple_Size(tuple);
    cuarena_stream_t *streams;

    if (count < 0)
        return NULL;
    streams = calloc((size_t)count + 1, sizeof *streams);
    if (!streams)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; streams && i < count; i++)
        if (!native_stream(PyTuple_GetItem(tuple, i), &streams[i])) {
            free(streams);
            return NULL;
        }
    *count_out = (size_t)count;
    return streams;
}

static PyObject *run(owned_arena_t *home, const cuarena_compact_options_t *options,
                     PyObject *callback)
{
    compaction_t compaction = {callback == Py_None ? NULL : callback, NULL, NULL, NULL};
    cuarena_compact_report_t report;
    cuarena_status_t status;

    if (!native_call_begin(home))
        return NULL;
    cuarena_compact_report_init(&report);
    NATIVE_CALL(home, status,
                cuarena_compact(home->arena, options, compaction.callback ? moved : NULL,
                                &compaction, &report));
    if (compaction.type) {
        PyErr_Restore(compaction.type, compaction.value, compaction.trace);
        return NULL;
    }
    return status == CUARENA_OK ? report_tuple(&report) : native_raise(status);
}

/* _compact(callback, goal_bytes, goal_alignment, max_bytes, max_moves, batch_moves, stream,
 * streams) */
PyObject *native_compact(PyObject *self, PyObject *args)
{
    unsigned long long goal, alignment, bytes, moves, batch;
    cuarena_compact_options_t options;
    cuarena_stream_t *streams;
    PyObject *callback, *stream, *tuple, *report;

    cuarena_compact_options_init(&options);
    if (!PyArg_ParseTuple(args, "OKKKKKOO!:_compact", &callback, &goal, &alignment, &bytes, &moves,
                          &batch, &stream, &PyTuple_Type, &tuple) ||
        !native_stream(stream, &options.stream))
        return NULL;
    streams = streams_of(tuple, &options.stream_count);
    if (!streams)
        return NULL;
    options.goal_bytes = goal;
    options.goal_alignment = alignment;
    options.max_bytes = bytes;
    options.max_moves = moves;
    options.batch_moves = batch;
    options.streams = streams;
    report = run(((arena_object_t *)self)->home, &options, callback);
    free(streams);
    return report;
}

/* ---- Callbacks that stay ----------------------------------------------------------- */

/* The caller of such a function is whichever call ran out of room, so what it raises is written to
 * sys.unraisablehook. `user` is the owned_arena_t: the function that was set last is called, and
 * kept while it runs; one that was replaced is let go of at once. */
static int32_t moved_unasked(void *user, const cuarena_relocation_t *list, size_t count)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *callback = Py_XNewRef(((owned_arena_t *)user)->moves_callback);
    if (callback && tell(callback, list, count) < 0)
        PyErr_WriteUnraisable(callback);
    Py_XDECREF(callback);
    PyGILState_Release(state);
    return 0;
}

/* Whether the handler says that it freed something. */
static bool ask(PyObject *handler, uint64_t asked_bytes, int32_t attempt)
{
    PyObject *answer =
        PyObject_CallFunction(handler, "Ki", (unsigned long long)asked_bytes, attempt);
    int freed = answer ? PyObject_IsTrue(answer) : -1;
    if (freed < 0)
        PyErr_WriteUnraisable(handler);
    Py_XDECREF(answer);
    return freed > 0;
}

static int32_t ran_out(void *user, cuarena_t *NATIVE_UNUSED(arena), uint64_t asked_bytes,
                       int32_t attempt)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *handler = Py_XNewRef(((owned_arena_t *)user)->oom_handler);
    bool freed = handler && ask(handler, asked_bytes, attempt);
    Py_XDECREF(handler);
    PyGILState_Release(state);
    return freed;
}

/* Sets what a trampoline calls, which the library knows from now on; None is nobody. */
static PyObject *put(PyObject **place, PyObject *function, cuarena_status_t status)
{
    PyObject *old = *place;
    if (status != CUARENA_OK)
        return native_raise(status);
    *place = function == Py_None ? NULL : Py_NewRef(function);
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

PyObject *native_set_oom_handler(PyObject *self, PyObject *handler)
{
    owned_arena_t *home = ((arena_object_t *)self)->home;
    bool none = handler == Py_None;
    cuarena_status_t status;

    if (!native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status, cuarena_set_oom_handler(home->arena, none ? NULL : ran_out, home));
    return put(&home->oom_handler, handler, status);
}

PyObject *native_set_relocation_callback(PyObject *self, PyObject *callback)
{
    owned_arena_t *home = ((arena_object_t *)self)->home;
    bool none = callback == Py_None;
    cuarena_status_t status;

    if (!native_call_begin(home))
        return NULL;
    NATIVE_CALL(home, status,
                cuarena_set_relocation_callback(home->arena, none ? NULL : moved_unasked, home));
    return put(&home->moves_callback, callback, status);
}
