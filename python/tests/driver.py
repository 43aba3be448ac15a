"""The driver's calls that tests make themselves: streams on which nothing runs."""

import ctypes

import cuarena


def _library():
    return ctypes.CDLL(cuarena.driver_info().library)


class Stream:
    """A stream of the driver's in the primary context of device 0."""

    def __init__(self):
        self._library = _library()
        self._with_context(self._create)

    def _with_context(self, body):
        context = ctypes.c_void_p()
        assert self._library.cuInit(0) == 0
        assert self._library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert self._library.cuCtxPushCurrent_v2(context) == 0
        try:
            body()
        finally:
            popped = ctypes.c_void_p()
            self._library.cuCtxPopCurrent_v2(ctypes.byref(popped))
            self._library.cuDevicePrimaryCtxRelease_v2(0)

    def _create(self):
        handle = ctypes.c_void_p()
        without_legacy_order = 1
        assert self._library.cuStreamCreate(ctypes.byref(handle), without_legacy_order) == 0
        self.ptr = handle.value

    def destroy(self):
        handle, self.ptr = self.ptr, None
        if handle:
            self._with_context(
                lambda: self._library.cuStreamDestroy_v2(ctypes.c_void_p(handle))
            )

    def __cuda_stream__(self):
        return (0, self.ptr)
