"""Arenas beside frameworks in one process: in contexts that PyTorch, CuPy and
the runtime API made, on their streams, with their kernels on arena memory.

    check_frameworks.py LIBRARY

Exits with 77 if neither PyTorch nor CuPy is there, or no device.
"""

import ctypes
import gc
import sys
import threading
from ctypes import POINTER, byref, c_int32, c_size_t, c_uint64, c_void_p

MIB = 1 << 20


class Relocation(ctypes.Structure):
    _fields_ = [("block", c_uint64), ("source", c_uint64),
                ("target", c_uint64), ("bytes", c_uint64)]


class CompactOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("goal_bytes", c_uint64),
                ("goal_alignment", c_uint64), ("max_bytes", c_uint64),
                ("max_moves", c_uint64), ("batch_moves", c_uint64),
                ("report_unmoved", c_int32), ("zero", c_int32),
                ("stream", c_void_p), ("streams", c_void_p),
                ("stream_count", c_size_t)]


class ErrorInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("status", c_int32),
                ("driver_code", c_int32), ("numbers", c_uint64 * 5),
                ("message", ctypes.c_char * 256)]


RELOCATION_FN = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Relocation),
                                 c_size_t)


class Library:
    """The calls that are used here. What returns a status raises on an error."""

    def __init__(self, path):
        self.calls = ctypes.CDLL(path)

    def __getattr__(self, name):
        call = getattr(self.calls, "cuarena_" + name)

        def checked(*arguments):
            status = call(*arguments)
            if status != 0:
                info = ErrorInfo()
                self.calls.cuarena_error_info_init(byref(info))
                self.calls.cuarena_last_error_info(byref(info))
                raise RuntimeError(f"cuarena_{name}: {info.message.decode()}")

        return checked

    def new_arena(self, options):
        config = ctypes.create_string_buffer(4096)
        self.calls.cuarena_config_init(config)
        self.config_parse(config, options.encode())
        arena = c_void_p()
        self.create(config, byref(arena))
        return arena


driver = None  # libcuda.so.1
library = None


def current_context():
    context = c_void_p()
    assert driver.cuCtxGetCurrent(byref(context)) == 0
    return context.value


class Bytes:
    """Bytes of an arena, as the frameworks take foreign ones."""

    def __init__(self, arena, count, stream):
        self.arena, self.count, self.stream = arena, count, stream
        pointer = c_void_p()
        library.alloc_on(arena, c_uint64(count), c_void_p(stream), None,
                         byref(pointer))
        self.address = pointer.value

    @property
    def __cuda_array_interface__(self):
        return {"shape": (self.count,), "typestr": "|u1", "version": 3,
                "data": (self.address, False)}

    def free(self):
        library.free_on(self.arena, c_void_p(self.address),
                        c_void_p(self.stream))


def expect(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got}, expected {want}")


# ---- What is checked of each framework ----------------------------------------


def check_context_is_restored(framework):
    before = current_context()
    arena = library.new_arena("memory=device,pool=64MiB")
    expect(current_context(), before, "the context after create")
    some = Bytes(arena, MIB, framework.stream())
    expect(current_context(), before, "the context after an allocation")
    some.free()
    library.destroy(byref(arena))
    expect(current_context(), before, "the context after destroy")


def check_context_is_not_made_current(framework):
    """In a thread that has none, calls leave none behind."""
    found = []

    def body():
        try:
            before = current_context()
            arena = library.new_arena("memory=device,pool=64MiB")
            some = Bytes(arena, MIB, framework.stream())
            some.free()
            library.destroy(byref(arena))
            found.append((before, current_context()))
        except Exception as error:  # told in the thread that waits
            found.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    expect(found, [(None, None)], "the contexts of a fresh thread")


def check_kernels_on_arena_memory(framework):
    arena = library.new_arena("memory=device,pool=256MiB")
    stream = framework.stream()
    blocks = [Bytes(arena, 3 * MIB + 512 * i, stream) for i in range(16)]
    for i, block in enumerate(blocks):
        framework.fill(block, i + 1)
    for i, block in enumerate(blocks):
        expect(framework.extremes(block), (i + 1, i + 1), f"block {i}")
        block.free()
    library.destroy(byref(arena))


def check_reuse_on_the_stream(framework):
    """A block freed on the framework's stream is reused there at once, behind
    the kernels that still read it."""
    arena = library.new_arena("memory=device,pool=64MiB")
    stream = framework.stream()
    first = Bytes(arena, 48 * MIB, stream)
    framework.fill(first, 7)
    copy = framework.copy(first)
    first.free()
    second = Bytes(arena, 48 * MIB, stream)
    framework.fill(second, 9)
    expect(second.address, first.address, "the address of the second")
    expect(framework.extremes(copy), (7, 7), "the copy of the first")
    second.free()
    library.destroy(byref(arena))


def check_compaction_on_the_stream(framework):
    arena = library.new_arena("memory=device,pool=64MiB")
    stream = framework.stream()
    blocks = [Bytes(arena, 4 * MIB, stream) for _ in range(16)]
    for i, block in enumerate(blocks):
        framework.fill(block, i + 1)
        library.unpin(arena, c_void_p(block.address))
    for block in blocks[::2]:
        block.free()
    kept = {block.address: (block, i + 1)
            for i, block in enumerate(blocks) if i % 2}

    @RELOCATION_FN
    def moved(_user, moves, count):
        places = [(moves[i].source, moves[i].target) for i in range(count)]
        taken = [kept.pop(source) for source, _target in places]
        for (_source, target), (block, value) in zip(places, taken):
            block.address = target
            kept[target] = (block, value)
        return 0

    options = CompactOptions()
    library.calls.cuarena_compact_options_init(byref(options))
    options.stream = stream
    library.compact(arena, byref(options), moved, None, None)
    whole = Bytes(arena, 32 * MIB, stream)
    for block, value in kept.values():
        expect(framework.extremes(block), (value, value), "a moved block")
        block.free()
    whole.free()
    library.destroy(byref(arena))


CHECKS = [check_context_is_restored, check_context_is_not_made_current,
          check_kernels_on_arena_memory, check_reuse_on_the_stream,
          check_compaction_on_the_stream]

# ---- Frameworks ----------------------------------------------------------------


class Torch:
    name = "PyTorch"

    def __init__(self):
        import torch
        self.torch = torch
        torch.zeros(1, device="cuda")
        self.own = torch.cuda.Stream()

    def stream(self):
        return self.own.cuda_stream

    def view(self, block):
        return self.torch.as_tensor(block, device="cuda")

    def fill(self, block, value):
        with self.torch.cuda.stream(self.own):
            self.view(block).fill_(value)

    def copy(self, block):
        with self.torch.cuda.stream(self.own):
            return self.view(block).clone()

    def extremes(self, some):
        with self.torch.cuda.stream(self.own):
            bytes_ = some if self.torch.is_tensor(some) else self.view(some)
            return int(bytes_.min()), int(bytes_.max())


class Cupy:
    name = "CuPy"

    def __init__(self):
        import cupy
        self.cupy = cupy
        cupy.zeros(1)
        self.own = cupy.cuda.Stream(non_blocking=True)

    def stream(self):
        return self.own.ptr

    def view(self, block):
        return self.cupy.asarray(block)

    def fill(self, block, value):
        with self.own:
            self.view(block).fill(value)

    def copy(self, block):
        with self.own:
            return self.view(block).copy()

    def extremes(self, some):
        with self.own:
            bytes_ = self.view(some)
            return int(bytes_.min()), int(bytes_.max())


def frameworks():
    for kind in Torch, Cupy:
        try:
            yield kind()
        except Exception as error:
            print(f"skipped {kind.name}: {error}")


def main():
    global driver, library
    if len(sys.argv) != 2:
        sys.exit("usage: check_frameworks.py LIBRARY")
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        print(f"skipped: {error}")
        sys.exit(77)
    library = Library(sys.argv[1])
    done = 0
    for framework in frameworks():
        for check in CHECKS:
            check(framework)
            gc.collect()
            done += 1
            print(f"pass {check.__name__} {framework.name}")
    print(f"{done} checks passed")
    sys.exit(0 if done else 77)


if __name__ == "__main__":
    main()
