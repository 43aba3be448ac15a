"""Blocks as arrays and tensors of other packages, without a copy."""

import ctypes
import gc

import pytest

import cuarena
from conftest import needs_device, needs_gpu

numpy = pytest.importorskip("numpy")


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
    ]


def pointer_of(capsule, name):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)


@pytest.fixture
def host():
    with cuarena.Arena(pool="1MiB") as arena:
        yield arena
        gc.collect()


def test_numpy_sees_the_bytes(host):
    block = host.alloc(64)
    array = numpy.frombuffer(block, dtype=numpy.float64)
    array[:] = range(8)
    assert array.ctypes.data == block.address
    assert (numpy.asarray(block).view(numpy.float64) == numpy.arange(8.0)).all()


def test_numpy_takes_dlpack(host):
    block = host.alloc(100)
    array = numpy.from_dlpack(block)
    assert array.shape == (100,) and array.dtype == numpy.uint8
    assert array.ctypes.data == block.address


def test_a_block_lives_as_long_as_a_tensor_of_it(host):
    array = numpy.from_dlpack(host.alloc(100))
    gc.collect()
    assert host.stats().live_blocks == 1
    array[:] = 7
    del array
    gc.collect()
    assert host.stats().live_blocks == 0


def test_a_tensor_may_outlive_the_arena_object():
    array = numpy.from_dlpack(cuarena.Arena(pool="1MiB").alloc(100))
    gc.collect()
    array[:] = 7
    assert array.sum() == 700


def test_freeing_what_is_in_use_is_busy(host):
    block = host.alloc(100)
    view = memoryview(block)
    with pytest.raises(cuarena.ArenaBusyError, match="in use"):
        block.free()
    view.release()
    array = numpy.from_dlpack(block)
    with pytest.raises(cuarena.ArenaBusyError, match="in use"):
        block.free()
    del array
    block.free()


def test_a_view_pins_a_movable_block(host):
    blocks = [host.alloc(65536, movable=True) for _ in range(8)][1::2]
    view = memoryview(blocks[0])
    array = numpy.from_dlpack(blocks[1])
    view[0] = array[0] = 5
    assert host.compact().moves == 2
    assert view[0] == array[0] == 5
    view.release()
    del array
    assert host.compact().moves >= 2


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)])
def test_a_capsule_that_nobody_takes_ends_with_itself(host, version):
    block = host.alloc(100)
    capsule = block.__dlpack__(max_version=version)
    name = b"dltensor_versioned" if version and version[0] >= 1 else b"dltensor"
    assert pointer_of(capsule, name)
    del capsule
    block.free()


def test_copies_and_other_devices_are_refused(host):
    block = host.alloc(100)
    for wish in ({"copy": True}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            block.__dlpack__(**wish)
    capsule = block.__dlpack__(dl_device=(1, 0), copy=False)
    del capsule


def test_memory_of_the_host_has_no_cuda_interface(host):
    assert not hasattr(host.alloc(100), "__cuda_array_interface__")


def test_addresses_alone_are_no_tensor():
    with cuarena.Arena("memory=none,pool=1MiB") as arena:
        block = arena.alloc(100)
        with pytest.raises(BufferError, match="memory=none"):
            block.__dlpack__()
        with pytest.raises(BufferError):
            memoryview(block)
        block.free()


@needs_device
def test_a_block_of_a_device_has_both_interfaces():
    with cuarena.Arena("memory=device,pool=2MiB") as arena:
        block = arena.alloc(100)
        interface = block.__cuda_array_interface__
        assert interface["data"] == (block.address, False)
        assert (interface["shape"], interface["typestr"]) == ((100,), "|u1")
        assert (interface["version"], interface["stream"]) == (3, None)
        assert block.__dlpack_device__() == (2, 0)
        capsule = block.__dlpack__(stream=1)
        tensor = Tensor.from_address(pointer_of(capsule, b"dltensor"))
        assert tensor.data == block.address
        assert list(tensor.device) == [2, 0] and tensor.shape[0] == 100
        assert (tensor.code, tensor.bits, tensor.lanes, tensor.ndim) == (1, 8, 1, 1)
        with pytest.raises(BufferError, match="CPU"):
            memoryview(block)
        del capsule
        block.free()


@needs_device
@pytest.mark.parametrize("memory, kind", [("pinned", 3), ("managed", 13)])
def test_kinds_of_memory_are_told_apart(memory, kind):
    with cuarena.Arena(memory=memory, pool="2MiB") as arena:
        block = arena.alloc(16)
        assert block.__dlpack_device__() == (kind, 0)
        memoryview(block)[:] = bytes(range(16))
        assert bytes(block) == bytes(range(16))
        assert (numpy.from_dlpack(block) == numpy.arange(16)).all()
        block.free()


@needs_device
def test_a_consumer_on_another_stream_waits_for_the_block_s_own():
    with cuarena.Arena("memory=device,pool=2MiB") as arena:
        block = arena.alloc(100, stream=0)
        assert block.stream == 0
        assert block.__cuda_array_interface__["stream"] == 1
        capsule = block.__dlpack__(stream=2, max_version=(1, 0))
        del capsule
        block.free()
        arena.release_stream(2)


class Stream:
    """As cuda.core's."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return (0, self.handle)


class OlderStream:
    """As PyTorch's and CuPy's have handles."""

    def __init__(self, **handle):
        self.__dict__.update(handle)


@needs_device
@pytest.mark.parametrize(
    "stream", [0, 1, 2, Stream(2), OlderStream(cuda_stream=2), OlderStream(ptr=2)]
)
def test_streams_of_all_packages_are_taken(stream):
    with cuarena.Arena("memory=device,pool=2MiB") as arena:
        first = arena.alloc(1000, stream=stream)
        address = first.address
        first.free()
        second = arena.alloc(1000, stream=stream)
        assert second.address == address
        second.record_use(0)
        second.free(0)
        arena.reclaim(wait=True)
        assert arena.stats().host_waits >= 0


@needs_device
def test_trim_on_waits_for_the_stream():
    with cuarena.Arena("memory=device,preset=grow") as arena:
        arena.alloc(8 << 20, stream=0).free()
        assert arena.trim_on(0) >= 8 << 20


# ---- On a GPU ---------------------------------------------------------------------


@needs_gpu
def test_cupy_takes_a_block_both_ways():
    cupy = pytest.importorskip("cupy")
    arena = cuarena.Arena("memory=device,pool=64MiB")
    stream = cupy.cuda.Stream(non_blocking=True)
    block = arena.alloc(4000, stream=stream)
    with stream:
        by_dlpack = cupy.from_dlpack(block).view("float32")
        by_interface = cupy.asarray(block).view("float32")
        by_dlpack.fill(3)
        assert by_dlpack.data.ptr == by_interface.data.ptr == block.address
        assert float(by_interface.sum()) == 3000
    del by_dlpack, by_interface, block
    gc.collect()
    assert arena.stats().live_blocks == 0


@needs_gpu
def test_torch_takes_a_block_both_ways():
    torch = pytest.importorskip("torch")
    arena = cuarena.Arena("memory=device,pool=64MiB")
    block = arena.alloc(4000, stream=torch.cuda.current_stream())
    tensor = torch.from_dlpack(block).view(torch.float32)
    other = torch.as_tensor(block, device="cuda").view(torch.float32)
    tensor.fill_(3)
    assert tensor.data_ptr() == other.data_ptr() == block.address
    assert other.sum().item() == 3000
    del tensor, other, block
    gc.collect()
    assert arena.stats().live_blocks == 0


@needs_gpu
def test_a_consumer_s_stream_sees_what_the_block_s_own_wrote():
    cupy = pytest.importorskip("cupy")
    arena = cuarena.Arena("memory=device,pool=512MiB")
    first, second = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    for value in range(20):
        block = arena.alloc(128 << 20, stream=first)
        with first:
            cupy.from_dlpack(block).fill(value)
        with second:
            assert int(cupy.from_dlpack(block).min()) == value
        del block


@needs_gpu
def test_compaction_keeps_the_contents_on_a_device():
    cupy = pytest.importorskip("cupy")
    arena = cuarena.Arena("memory=device,pool=64MiB")
    stream = cupy.cuda.Stream(non_blocking=True)

    def seen(block):
        return cupy.from_dlpack(block)

    with stream:
        blocks = [arena.alloc(1 << 20, stream=stream, movable=True) for _ in range(64)]
        for number, block in enumerate(blocks):
            seen(block).fill(number)
        kept = blocks[1::2]
        del blocks, block
        assert arena.compact(stream=stream).moves >= 31
        for number, block in enumerate(kept):
            assert int(seen(block).min()) == int(seen(block).max()) == 2 * number + 1
        arena.alloc(32 << 20, stream=stream)
