/* Whole numbers of Python, of any type that has __index__, and what is said of others. */
#include "native.h"

void native_raise_range(PyObject *number, const char *what, const char *expected)
{
    PyObject *text =
        PyUnicode_FromFormat("%s=%S is out of range; expected: %s", what, number, expected);
    const char *message = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (message)
        native_raise_text(CUARENA_BAD_ARGUMENT, message);
    Py_XDECREF(text);
}

bool native_size(PyObject *from, const char *what, const char *expected, size_t *size_out)
{
    PyObject *number = PyNumber_Index(from);
    bool found;

    if (!number)
        return false;
    *size_out = PyLong_AsSize_t(number);
    found = *size_out != (size_t)-1 || !PyErr_Occurred();
    if (!found && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        native_raise_range(number, what, expected);
    }
    Py_DECREF(number);
    return found;
}

bool native_pair(PyObject *from, const char *what, const char *members, int pair_out[2])
{
    if (PyTuple_Check(from) && PyArg_ParseTuple(from, "ii", &pair_out[0], &pair_out[1]))
        return true;
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError) ||
        PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError,
                     "%s=%R is not accepted; expected: None, or a tuple of two ints, %s", what,
                     from, members);
    }
    return false;
}
