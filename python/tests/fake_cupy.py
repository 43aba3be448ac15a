"""What cuarena.cupy needs of CuPy, for machines without it: classes with the
same constructors and attributes, and no kernels."""

import threading
import types

import driver


class UnownedMemory:
    def __init__(self, ptr, size, owner, device_id=-1):
        self.ptr, self.size, self._owner, self.device_id = ptr, size, owner, device_id


class MemoryPointer:
    def __init__(self, mem, offset):
        self.mem, self.ptr = mem, mem.ptr + offset


class PinnedMemoryPointer(MemoryPointer):
    pass


class OutOfMemoryError(MemoryError):
    def __init__(self, size, total, limit=0):
        super().__init__(f"{size} bytes, {total} so far, limit {limit}")


class NamedStream:
    """A stream that is current between `with` and its end."""

    def __init__(self, ptr):
        self.ptr = ptr

    def __enter__(self):
        _thread.streams.append(self)
        return self

    def __exit__(self, *_):
        _thread.streams.pop()


class Stream(NamedStream):
    """One that is destroyed with its object, as CuPy's."""

    def __init__(self):
        self._stream = driver.Stream()
        super().__init__(self._stream.ptr)

    def __del__(self):
        self._stream.destroy()


class _Thread(threading.local):
    def __init__(self):
        self.streams = [NULL]


NULL = NamedStream(0)
_thread = _Thread()


def default_malloc(size):
    raise AssertionError("CuPy's own pool was asked")


def make():
    """A module with the attributes that are used, and allocators of its own."""
    fake = types.ModuleType("cupy")
    fake.__version__ = "14.0.0"
    chosen = {"device": default_malloc, "pinned": default_malloc}
    memory = types.SimpleNamespace(
        UnownedMemory=UnownedMemory, MemoryPointer=MemoryPointer, OutOfMemoryError=OutOfMemoryError
    )
    fake.cuda = types.SimpleNamespace(
        memory=memory,
        runtime=types.SimpleNamespace(getDevice=lambda: 0),
        get_current_stream=lambda: _thread.streams[-1],
        get_allocator=lambda: chosen["device"],
        set_allocator=lambda allocator: chosen.update(device=allocator),
        set_pinned_memory_allocator=lambda allocator: chosen.update(pinned=allocator),
        alloc=lambda size: chosen["device"](size),
        alloc_pinned_memory=lambda size: chosen["pinned"](size),
        PinnedMemoryPointer=PinnedMemoryPointer,
        Stream=Stream,
        ExternalStream=NamedStream,
    )
    fake.cuda.Stream.null = NULL
    fake.cuda.Stream.ptds = NamedStream(2)
    fake.get_default_pinned_memory_pool = lambda: types.SimpleNamespace(malloc=default_malloc)
    return fake
