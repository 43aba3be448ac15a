/* The extension module cuarena._native. */
#include "native.h"

static PyMethodDef functions[] = {
    {"set_error_factory", native_set_error_factory, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static void free_module(void *NATIVE_UNUSED(module))
{
    native_clear_error_factory();
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "cuarena._native", .m_doc = "The compiled part of cuarena.",
    .m_size = -1,          .m_methods = functions,      .m_free = free_module,
};

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddFunctions(module, native_driver_functions) == 0 &&
        native_add_arena(module) && native_add_block(module) && native_add_capture(module) &&
        native_add_cupy(module) &&
        PyModule_AddStringConstant(module, "version", cuarena_version_string()) == 0)
        return module;
    Py_XDECREF(module);
    return NULL;
}
