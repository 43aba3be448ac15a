/* Streams of other packages. */
#include "native.h"

static const char accepted[] = "None, an object with __cuda_stream__, or the cudaStream_t as an "
                               "int of 0 to 2**64 - 2";

static bool from_number(PyObject *number, cuarena_stream_t *stream_out)
{
    PyObject *index;
    size_t handle;
    if (!native_size(number, "stream", accepted, &handle))
        return false;
    *stream_out = CUARENA_STREAM_NUMBER(handle);
    if (*stream_out != CUARENA_NO_STREAM)
        return true;
    index = PyLong_FromSize_t(handle);
    if (index)
        native_raise_range(index, "stream", accepted);
    Py_XDECREF(index);
    return false;
}

/* Of a pair (version, handle), which a method gives or, in some packages, a property is. */
static bool from_protocol(PyObject *protocol, cuarena_stream_t *stream_out)
{
    PyObject *pair = PyCallable_Check(protocol) ? PyObject_CallNoArgs(protocol)
                                                : (Py_INCREF(protocol), protocol);
    PyObject *handle;
    bool found;

    if (!pair)
        return false;
    handle =
        PyTuple_Check(pair) && PyTuple_Size(pair) == 2 ? Py_NewRef(PyTuple_GetItem(pair, 1)) : NULL;
    if (!handle)
        PyErr_Format(PyExc_TypeError,
                     "__cuda_stream__ gives %R; expected: a tuple of 0 and the cudaStream_t", pair);
    Py_DECREF(pair);
    if (!handle)
        return false;
    found = from_number(handle, stream_out);
    Py_DECREF(handle);
    return found;
}

/* NULL, without an exception, if there is none. */
static PyObject *attribute(PyObject *from, const char *name)
{
    PyObject *value = PyObject_GetAttrString(from, name);
    if (!value && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return value;
}

static bool from_object(PyObject *from, cuarena_stream_t *stream_out)
{
    static const char *const names[] = {"__cuda_stream__", "cuda_stream", "ptr"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        PyObject *value = attribute(from, names[i]);
        bool found;
        if (!value && PyErr_Occurred())
            return false;
        if (!value)
            continue;
        found = i ? from_number(value, stream_out) : from_protocol(value, stream_out);
        Py_DECREF(value);
        return found;
    }
    if (PyIndex_Check(from))
        return from_number(from, stream_out);
    PyErr_Format(PyExc_TypeError, "%R is no stream; expected: %s", from, accepted);
    return false;
}

bool native_stream(PyObject *from, cuarena_stream_t *stream_out)
{
    if (from == NULL || from == Py_None) {
        *stream_out = CUARENA_NO_STREAM;
        return true;
    }
    return PyLong_Check(from) ? from_number(from, stream_out) : from_object(from, stream_out);
}
