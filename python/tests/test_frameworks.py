"""RMM, cuda.core and Numba on arenas, where they are installed."""

import ctypes
import importlib.util
import os
import subprocess
import sys
import types

import pytest

import cuarena
from conftest import needs_device, needs_gpu

MIB = 1 << 20


def needs(module):
    try:
        missing = importlib.util.find_spec(module) is None
    except ModuleNotFoundError:  # nor is the package that it is in
        missing = True
    return pytest.mark.skipif(missing, reason=f"{module} is not installed")


# ---- What is raw --------------------------------------------------------------------


def test_addresses_are_allocated_and_freed(memory):
    with cuarena.Arena(f"memory={memory}", pool="2MiB") as arena:
        stream = 0 if memory == "device" else None
        address = arena.alloc_address(1000, stream)
        assert arena.stats().live_blocks == 1
        arena.free_address(address, stream)
        assert arena.alloc_address(0) == 0
        arena.free_address(0)
        with pytest.raises(cuarena.StaleBlockError):
            arena.free_address(address, stream)


# ---- RMM -----------------------------------------------------------------------------


def test_a_missing_rmm_is_named(monkeypatch):
    import cuarena.rmm

    monkeypatch.setitem(sys.modules, "rmm", None)
    with (
        cuarena.Arena(pool="1MiB") as arena,
        pytest.raises(cuarena.rmm.FrameworkError, match="RMM 25.2 or newer"),
    ):
        cuarena.rmm.resource(arena)


def test_an_old_rmm_is_named(monkeypatch):
    import cuarena.rmm

    old = types.ModuleType("rmm")
    old.__version__ = "22.04.00"
    monkeypatch.setitem(sys.modules, "rmm", old)
    with (
        cuarena.Arena(pool="1MiB") as arena,
        pytest.raises(cuarena.rmm.FrameworkError, match="RMM 22.04.00 is too old"),
    ):
        cuarena.rmm.resource(arena)


@needs("rmm")
@needs_gpu
def test_rmm_allocates_from_an_arena():
    import rmm

    import cuarena.rmm

    arena = cuarena.Arena(memory="device", preset="grow")
    resource = cuarena.rmm.resource(arena)
    before = rmm.mr.get_current_device_resource()
    rmm.mr.set_current_device_resource(resource)
    try:
        buffer = rmm.DeviceBuffer.to_device(bytes(range(200)))
        assert arena.stats().requested_bytes == 200
        assert buffer.tobytes() == bytes(range(200))
        arena.set_limit(arena.stats().reserved_bytes)
        with pytest.raises(MemoryError):
            rmm.DeviceBuffer(size=1 << 40)
        del buffer
    finally:
        rmm.mr.set_current_device_resource(before)
    assert arena.stats().live_blocks == 0


# ---- cuda.core -------------------------------------------------------------------------


@needs("cuda.core")
@needs_device
def test_buffers_of_cuda_core_are_blocks():
    from cuda.core import Device

    import cuarena.cuda_core

    device = Device(0)
    device.set_current()
    stream = device.default_stream
    arena = cuarena.Arena(memory="device", preset="grow")
    resource = cuarena.cuda_core.MemoryResource(arena)
    assert (resource.device_id, resource.is_device_accessible) == (0, True)
    assert (resource.is_host_accessible, resource.is_managed) == (False, False)
    buffer = resource.allocate(1000, stream=stream)
    assert (buffer.size, arena.stats().requested_bytes) == (1000, 1000)
    address = int(buffer.handle)
    buffer.close()
    assert arena.stats().live_blocks == 0
    again = resource.allocate(1000, stream=stream)
    assert int(again.handle) == address
    del again
    assert arena.stats().live_blocks == 0


@needs("cuda.core")
@needs_gpu
def test_cuda_core_copies_through_an_arena():
    from cuda.core import Device

    import cuarena.cuda_core

    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    pinned = cuarena.cuda_core.MemoryResource(cuarena.Arena(memory="pinned", preset="grow"))
    resource = cuarena.cuda_core.MemoryResource(cuarena.Arena(memory="device", preset="grow"))
    assert (pinned.is_host_accessible, pinned.is_device_accessible) == (True, True)
    source = pinned.allocate(MIB, stream=stream)
    target = pinned.allocate(MIB, stream=stream)
    data = bytes(range(256)) * (MIB // 256)
    ctypes.memmove(int(source.handle), data, MIB)
    between = resource.allocate(MIB, stream=stream)
    source.copy_to(between, stream=stream)
    between.copy_to(target, stream=stream)
    stream.sync()
    assert ctypes.string_at(int(target.handle), MIB) == data


# ---- Numba ----------------------------------------------------------------------------


def run_numba(program, **more):
    """In a process of its own: Numba takes a memory manager once."""
    environment = dict(os.environ, **more)
    library = environment.get("CUARENA_CUDA_LIBRARY")
    if library:
        folder = os.path.dirname(os.path.abspath(library))
        environment["LD_LIBRARY_PATH"] = folder
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@needs("numba_cuda")
@needs_device
def test_arrays_of_numba_are_blocks():
    program = """
import cuarena, cuarena.numba, gc
cuarena.numba.enable(limit="64MiB")
from numba import cuda
array = cuda.device_array(1000, dtype="float64")
arena = cuarena.numba.arena()
print(arena.stats().requested_bytes, arena.get_limit())
info = cuda.current_context().get_memory_info()
assert 0 < info.free <= info.total
del array
gc.collect()
print(arena.stats().live_blocks)
try:
    cuarena.numba.enable()
except cuarena.ArenaBusyError as error:
    print(str(error).split()[0])
"""
    assert run_numba(program) == ["8000", str(64 * MIB), "0", "Numba"]


@needs("numba_cuda")
@needs_device
def test_arrays_of_numba_outlive_their_views():
    program = """
import cuarena, cuarena.numba, gc, numpy
cuarena.numba.enable(limit="4MiB")
from numba import cuda
arena = None
x = cuda.to_device(numpy.full(3 << 20, 1, numpy.uint8))
view = x[10:20]
del view
gc.collect()
print(cuarena.numba.arena().stats().live_blocks)
try:
    cuda.to_device(numpy.full(3 << 20, 9, numpy.uint8))
except MemoryError:
    print("refused")
print(x.copy_to_host().max())
view = x[10:20]
del x
gc.collect()
print(view.copy_to_host().max(), cuarena.numba.arena().stats().live_blocks)
del view
gc.collect()
print(cuarena.numba.arena().stats().live_blocks)
"""
    assert run_numba(program) == ["1", "refused", "1", "1", "1", "0"]


@needs("numba_cuda")
@needs_device
def test_an_arena_of_numba_ends_with_its_context():
    program = """
import cuarena, cuarena.numba, gc, numpy
cuarena.numba.enable(limit="64MiB")
from numba import cuda
kept = cuda.to_device(numpy.full(1000, 1, numpy.uint8))
first = cuarena.numba.arena()
cuda.close()
print(first.closed)
del kept
gc.collect()
try:
    cuarena.numba.arena()
except cuarena.InvalidArgumentError:
    print("none")
"""
    assert run_numba(program) == ["True", "none"]


@needs("numba_cuda")
@needs_device
def test_a_wrong_option_of_numba_is_told_at_once():
    program = """
import cuarena, cuarena.numba
for wrong in ("x", "foo=3", "limit=-1"):
    try:
        cuarena.numba.enable(wrong)
    except cuarena.InvalidArgumentError:
        print("told")
cuarena.numba.enable(limit="64MiB")
from numba import cuda
array = cuda.device_array(1000)
try:
    cuarena.numba.arena("0")
except TypeError:
    print("named")
print(cuarena.numba.arena().get_limit())
"""
    assert run_numba(program) == ["told"] * 3 + ["named", str(64 * MIB)]


@needs("numba_cuda")
@needs_device
def test_the_environment_names_the_memory_manager():
    program = """
from numba import cuda
array = cuda.device_array(1000, dtype="int8")
import cuarena.numba
print(cuarena.numba.arena().stats().requested_bytes)
"""
    assert run_numba(program, NUMBA_CUDA_MEMORY_MANAGER="cuarena.numba") == ["1000"]


@needs("numba_cuda")
@needs_device
def test_numba_that_runs_already_is_told():
    program = """
import cuarena, cuarena.numba
from numba import cuda
array = cuda.device_array(1000)
try:
    cuarena.numba.enable()
except cuarena.ArenaBusyError as error:
    print("busy")
try:
    cuarena.numba.arena()
except cuarena.InvalidArgumentError as error:
    print("none")
"""
    assert run_numba(program) == ["busy", "none"]


def skip_where_numba_cannot_compile():
    """Skip where Numba does not know the NumPy beside it, so that no kernel of it compiles."""
    done = subprocess.run(
        [sys.executable, "-c", "import numba.cuda.np.arrayobj"], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"Numba cannot compile here: {done.stderr.strip().splitlines()[-1]}")


@needs("numba_cuda")
@needs_gpu
def test_a_kernel_of_numba_on_arena_memory():
    skip_where_numba_cannot_compile()
    program = """
import numpy, cuarena, cuarena.numba
cuarena.numba.enable()
from numba import cuda

@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + y[i]

for step in range(20):
    count = 1000 * (step + 1)
    x, y = cuda.to_device(numpy.arange(count)), cuda.to_device(numpy.ones(count, dtype=int))
    out = cuda.device_array(count, dtype=x.dtype)
    add[(count + 255) // 256, 256](x, y, out)
    assert (out.copy_to_host() == numpy.arange(count) + 1).all()
print(cuarena.numba.arena().stats().allocs)
"""
    assert run_numba(program) == ["60"]
