/* How a status of the library becomes an exception of Python. */
#include "native.h"

#include <stdio.h>

/* _errors.make(status, driver_code, asked, limit, reserved, free, largest, message). */
static PyObject *error_factory;

/* Types and the factory are there once in a process, and belong to the interpreter that came first.
 */
PyObject *native_set_error_factory(PyObject *NATIVE_UNUSED(module), PyObject *factory)
{
    static PyInterpreterState *first;
    if (!first)
        first = PyInterpreterState_Get();
    if (first != PyInterpreterState_Get()) {
        PyErr_SetString(PyExc_ImportError, "cuarena works in one interpreter of a process");
        return NULL;
    }
    Py_INCREF(factory);
    native_clear_error_factory();
    error_factory = factory;
    Py_RETURN_NONE;
}

void native_clear_error_factory(void)
{
    PyObject *old = error_factory;
    error_factory = NULL;
    Py_XDECREF(old);
}

static PyObject *raise(cuarena_status_t status, const cuarena_error_info_t *from)
{
    PyObject *error;

    if (!error_factory) {
        PyErr_SetString(PyExc_RuntimeError, from->message);
        return NULL;
    }
    error = PyObject_CallFunction(
        error_factory, "iiKKKKKs", (int)status, (int)from->driver_code,
        (unsigned long long)from->asked_bytes, (unsigned long long)from->limit_bytes,
        (unsigned long long)from->reserved_bytes, (unsigned long long)from->free_bytes,
        (unsigned long long)from->largest_bytes, from->message);
    if (error) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return NULL;
}

PyObject *native_raise(cuarena_status_t status)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    cuarena_last_error_info(&info);
    return raise(status, &info);
}

cuarena_error_info_t native_before(const owned_arena_t *home)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    if (home->watched)
        cuarena_last_error_info(&info);
    return info;
}

bool native_raise_finding(const owned_arena_t *home, const cuarena_error_info_t *before)
{
    cuarena_error_info_t now;
    if (!home->watched)
        return false;
    cuarena_error_info_init(&now);
    cuarena_last_error_info(&now);
    if (now.status != CUARENA_CORRUPT ||
        (before->status == CUARENA_CORRUPT && strcmp(before->message, now.message) == 0))
        return false;
    raise(now.status, &now);
    return true;
}

PyObject *native_raise_text(cuarena_status_t status, const char *message)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    snprintf(info.message, sizeof info.message, "%s", message);
    return raise(status, &info);
}
