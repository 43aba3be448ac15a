"""The driver's calls that tests make themselves: streams on which nothing runs."""

import ctypes
import functools

import cuarena


@functools.cache
def _library_and_context():
    """The driver, and the primary context of device 0, kept as the runtime keeps it."""
    library = ctypes.CDLL(cuarena.driver_info().library)
    context = ctypes.c_void_p()
    assert library.cuInit(0) == 0
    assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    return library, context


def _call(name, *arguments):
    library, context = _library_and_context()
    popped = ctypes.c_void_p()
    assert library.cuCtxPushCurrent_v2(context) == 0
    try:
        assert getattr(library, name)(*arguments) == 0
    finally:
        library.cuCtxPopCurrent_v2(ctypes.byref(popped))


class Stream:
    """A stream of the driver's, which does not wait for the legacy default one."""

    def __init__(self):
        handle = ctypes.c_void_p()
        non_blocking = 1
        _call("cuStreamCreate", ctypes.byref(handle), non_blocking)
        self.ptr = handle.value

    def begin_capture(self):
        relaxed = 2
        _call("cuStreamBeginCapture_v2", ctypes.c_void_p(self.ptr), relaxed)

    def end_capture(self):
        graph = ctypes.c_void_p()
        _call("cuStreamEndCapture", ctypes.c_void_p(self.ptr), ctypes.byref(graph))
        _call("cuGraphDestroy", graph)

    def destroy(self):
        handle, self.ptr = self.ptr, None
        if handle:
            _call("cuStreamDestroy_v2", ctypes.c_void_p(handle))

    def __cuda_stream__(self):
        return (0, self.ptr)
