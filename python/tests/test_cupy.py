"""CuPy on arenas: with CuPy itself where it has a GPU, else with what stands for it."""

import gc
import sys
import threading

import pytest

import cuarena
import cuarena.cupy
import fake_cupy
from conftest import NO_DEVICE, STANDIN, needs_device, needs_gpu

pytestmark = needs_device
MIB = 1 << 20


@pytest.fixture
def cupy(monkeypatch):
    if STANDIN or NO_DEVICE:
        fake = fake_cupy.make()
        monkeypatch.setitem(sys.modules, "cupy", fake)
        monkeypatch.setattr(cuarena.cupy, "_function", lambda module, name: None)
        yield fake
    else:
        yield pytest.importorskip("cupy")
    cuarena.cupy.disable()


@pytest.fixture
def pool(cupy):
    return cuarena.cupy.MemoryPool()


def test_memory_is_that_of_the_arena(pool):
    pointer = pool.malloc(1000)
    assert pointer.ptr % 256 == 0
    assert (pointer.mem.size, pointer.mem.device_id) == (1000, 0)
    assert pool.stats().requested_bytes == 1000
    assert pool.used_bytes() == 1024 and pool.total_bytes() >= 1024


def test_any_whole_number_is_a_size(pool):
    numpy = pytest.importorskip("numpy")
    pointer = pool.malloc(numpy.int64(1000))
    assert pointer.mem.size == 1000 and pool.stats().requested_bytes == 1000
    for size in (-1, numpy.int64(-1), 2**64):
        with pytest.raises(cuarena.InvalidArgumentError, match=f"size={size} is out of range"):
            pool.malloc(size)


def test_the_last_reference_frees(pool):
    pointer = pool.malloc(1000)
    other = type(pointer)(pointer.mem, 256)
    del pointer
    assert pool.stats().live_blocks == 1
    del other
    assert pool.stats().live_blocks == 0


def test_memory_that_is_freed_twice_is_freed_once(pool):
    memory = pool.malloc(1000).mem
    memory.free()
    memory.free()
    del memory
    assert (pool.stats().live_blocks, pool.stats().frees) == (0, 1)


def test_zero_bytes_are_no_block(pool):
    pointer = pool.malloc(0)
    assert pointer.ptr == 0
    assert pool.stats().live_blocks == 0


def test_a_zero_sized_array_keeps_no_stream(pool, cupy):
    with cupy.cuda.Stream() as stream:
        kept = pool.malloc(0)
    pool.release_stream(stream)
    del kept


def test_an_arena_that_was_closed_is_told(pool):
    pool.arena().close()
    with pytest.raises(cuarena.InvalidArgumentError, match="closed"):
        pool.malloc(1000)


def test_a_stream_gets_back_what_it_freed(pool, cupy):
    address = pool.malloc(MIB).ptr
    assert pool.malloc(MIB).ptr == address
    stream = cupy.cuda.Stream()
    with stream:
        theirs = pool.malloc(MIB).ptr
        assert pool.malloc(MIB).ptr == theirs
    assert pool.stats().host_waits == 0


def test_an_array_is_freed_on_the_stream_that_it_was_allocated_on(pool, cupy):
    with cupy.cuda.Stream() as stream:
        pointer = pool.malloc(MIB)
    address = pointer.ptr
    del pointer
    with stream:
        assert pool.malloc(MIB).ptr == address


def test_free_all_blocks_gives_back(pool):
    pool.malloc(8 * MIB)
    assert pool.n_free_blocks() == 1 and pool.free_bytes() >= 8 * MIB
    pool.free_all_blocks()
    assert (pool.n_free_blocks(), pool.total_bytes()) == (0, 0)


def test_limits(pool, cupy):
    assert pool.get_limit() == 0
    pool.set_limit(size=8 * MIB)
    assert pool.get_limit() == 8 * MIB
    with pytest.raises(cupy.cuda.memory.OutOfMemoryError) as caught:
        pool.malloc(16 * MIB)
    assert isinstance(caught.value.__cause__, cuarena.OutOfMemoryError)
    assert caught.value.__cause__.limit_bytes == 8 * MIB
    pool.set_limit()
    assert pool.get_limit() == 0
    pool.set_limit(fraction=0.5)
    total = cuarena.device_info(0).total_bytes
    assert abs(pool.get_limit() - total // 2) < total // 10000


@pytest.mark.parametrize(
    "wish, message",
    [
        ({"size": 1, "fraction": 0.5}, "exclude"),
        ({"size": -1}, "size=-1"),
        ({"fraction": 1.5}, "fraction=1.5"),
        ({"size": MIB}, "below the 2097152 bytes that live"),
    ],
)
def test_limits_that_make_no_sense(pool, wish, message):
    kept = pool.malloc(2 * MIB)
    with pytest.raises(cuarena.InvalidArgumentError, match=message):
        pool.set_limit(**wish)
    del kept


def test_garbage_is_collected_before_a_request_is_refused(pool):
    pool.set_limit(size=8 * MIB)
    cycle = [pool.malloc(8 * MIB)]
    cycle.append(cycle)
    gc.disable()
    try:
        del cycle
        pool.malloc(8 * MIB)
    finally:
        gc.enable()


def test_the_limit_of_the_environment(cupy, monkeypatch):
    monkeypatch.setenv("CUPY_GPU_MEMORY_LIMIT", str(16 * MIB))
    assert cuarena.cupy.MemoryPool().get_limit() == 16 * MIB
    assert cuarena.cupy.MemoryPool(limit="32MiB").get_limit() == 32 * MIB
    monkeypatch.setenv("CUPY_GPU_MEMORY_LIMIT", "much")
    with pytest.raises(cuarena.InvalidArgumentError, match="much"):
        cuarena.cupy.MemoryPool().arena()


def test_enabling_takes_over_and_disabling_gives_back(cupy):
    before = cupy.cuda.get_allocator()
    pool = cuarena.cupy.enable(limit="64MiB")
    pointer = cupy.cuda.alloc(1000)
    assert pool.stats().live_blocks == 1
    pinned = cupy.cuda.alloc_pinned_memory(1000)
    assert pinned.ptr % 256 == 0
    cuarena.cupy.disable()
    assert cupy.cuda.get_allocator() == before
    cuarena.cupy.disable()
    del pointer, pinned
    assert pool.stats().live_blocks == 0


def test_enabling_twice_is_an_error(cupy):
    cuarena.cupy.enable()
    with pytest.raises(cuarena.ArenaBusyError, match="enabled already"):
        cuarena.cupy.enable()


def test_what_cannot_be_had_is_told_when_it_is_enabled(cupy):
    before = cupy.cuda.get_allocator()
    with pytest.raises(cuarena.InvalidArgumentError, match="polite"):
        cuarena.cupy.enable(polite=1)
    with pytest.raises(cuarena.ArenaError):
        cuarena.cupy.enable(preset="pool", pool="100TiB")
    assert cupy.cuda.get_allocator() == before


def test_a_pool_that_was_not_made_is_told(cupy):
    class Pool(cuarena.cupy.MemoryPool):
        def __init__(self):
            pass

    with pytest.raises(RuntimeError, match="must call MemoryPool.__init__"):
        Pool().malloc(5)


def test_a_wrong_option_is_told_before_the_first_array(cupy):
    with pytest.raises(cuarena.InvalidArgumentError, match="'foo'"):
        cuarena.cupy.MemoryPool("foo=3")


def test_the_device_is_no_option(cupy):
    for wish in (("device=1",), ()):
        with pytest.raises(cuarena.InvalidArgumentError, match="each device"):
            cuarena.cupy.MemoryPool(*wish, **({} if wish else {"device": 1}))


def test_a_missing_cupy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(cuarena.cupy.FrameworkError, match="CuPy 13.0 or newer"):
        cuarena.cupy.MemoryPool()


def test_an_old_cupy_is_named(monkeypatch):
    fake = fake_cupy.make()
    fake.__version__ = "9.6.0"
    monkeypatch.setitem(sys.modules, "cupy", fake)
    with pytest.raises(cuarena.cupy.FrameworkError, match="CuPy 9.6.0 is too old"):
        cuarena.cupy.enable()


def test_a_stream_lives_as_long_as_the_arena_knows_it(pool, cupy):
    for _ in range(300):  # more than an arena knows at a time
        with cupy.cuda.Stream():
            pool.malloc(MIB)
    assert len(pool._streams) <= 2
    pool.free_all_blocks()


def test_a_stream_lives_as_long_as_an_array_of_it(pool, cupy):
    with cupy.cuda.Stream():
        kept = pool.malloc(MIB)
    for _ in range(5):
        with cupy.cuda.Stream():
            pool.malloc(MIB)
    assert len(pool._streams) == 2
    del kept
    pool.free_all_blocks()


def test_too_many_streams_at_once_are_an_error(pool, cupy):
    kept = []
    with pytest.raises(cuarena.ArenaBusyError, match="at most 124"):
        for _ in range(130):
            kept.append(cupy.cuda.Stream())
            with kept[-1]:
                pool.malloc(1000)
    assert len(kept) == 125
    kept.clear()


def test_releasing_a_stream_with_arrays_is_busy(pool, cupy):
    stream = cupy.cuda.Stream()
    with stream:
        kept = pool.malloc(1000)
    with pytest.raises(cuarena.ArenaBusyError, match="1 arrays"):
        pool.release_stream(stream)
    del kept
    pool.release_stream(stream)
    assert not pool._streams


def test_an_array_of_a_thread_s_default_stream_may_be_freed_by_another(pool, cupy):
    made = []

    def work():
        with cupy.cuda.Stream.ptds:
            made.append(pool.malloc(MIB))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    made.clear()
    assert pool.stats().live_blocks == 0
    pool.free_all_blocks()


def test_threads_on_streams_of_their_own(pool, cupy):
    errors = []

    def work():
        try:
            with cupy.cuda.Stream():
                for size in range(1, 200):
                    kept = [pool.malloc(size * 100) for _ in range(3)]
                    del kept
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert pool.stats().live_blocks == 0
    pool.arena().validate()


def test_pinned_memory_is_freed_with_its_pointer(cupy):
    pool = cuarena.cupy.PinnedMemoryPool()
    pointer = pool.malloc(1000)
    assert (pointer.mem.size, pool.stats().live_blocks) == (1000, 1)
    pointer.mem.free()
    pointer.mem.free()
    assert pool.stats().live_blocks == 0
    del pointer
    pool.free_all_blocks()
    assert pool.n_free_blocks() == 0


def test_a_pool_may_go_before_its_arrays(cupy):
    pointer = cuarena.cupy.MemoryPool().malloc(1000)
    gc.collect()
    assert pointer.ptr
    del pointer
    gc.collect()


def test_an_arena_may_outlive_its_pool_and_the_streams(cupy):
    pool = cuarena.cupy.MemoryPool()
    arena = pool.arena()
    with cupy.cuda.Stream():
        pool.malloc(MIB)
    del pool
    gc.collect()
    assert arena.reclaim(wait=True) >= 0
    assert arena.trim() >= MIB
    arena.close()


def test_cupy_s_own_functions_are_found(cupy):
    if STANDIN:
        pytest.skip("the stand-in has no CuPy")
    assert cuarena.cupy.MemoryPool()._calls_c


# ---- With kernels ---------------------------------------------------------------


@needs_gpu
def test_arrays_keep_their_contents_on_several_streams(cupy):
    """Random arrays on four streams, each checked when its turn to end comes."""
    import random

    pool = cuarena.cupy.enable(limit="512MiB")
    dice = random.Random(5)
    streams = [cupy.cuda.Stream.null, *(cupy.cuda.Stream(non_blocking=True) for _ in range(3))]
    live = []
    for number in range(2000):
        if len(live) > 40 or (live and dice.random() < 0.3):
            stream, array, value = live.pop(dice.randrange(len(live)))
            with stream:
                low, high = int(array.min()), int(array.max())
            assert (low, high) == (value, value)
            del array
        else:
            stream = dice.choice(streams)
            with stream:
                array = cupy.full(dice.randrange(1, 1 << 20), number, dtype="int32")
            live.append((stream, array, number))
    array = None  # the last one, if it lives
    live.clear()
    assert pool.stats().live_blocks == 0
    pool.arena().validate()


@needs_gpu
def test_copies_to_and_from_pinned_memory(cupy):
    import numpy

    cuarena.cupy.enable()
    for size in (1, 1000, 1 << 20):
        source = numpy.arange(size)
        assert (cupy.asnumpy(cupy.asarray(source)) == source).all()


@needs_gpu
def test_a_stream_may_be_destroyed_before_its_arrays(cupy):
    pool = cuarena.cupy.enable()
    with cupy.cuda.Stream():
        array = cupy.arange(1000)
    gc.collect()
    assert int(array.sum()) == 499500
    del array
    pool.free_all_blocks()


@needs_gpu
def test_arrays_of_before_live_on(cupy):
    before = cupy.arange(1000)
    cuarena.cupy.enable()
    assert int((before + cupy.arange(1000)).sum()) == 999000


@needs_gpu
def test_a_graph_keeps_the_bytes_of_its_session(cupy):
    pool = cuarena.cupy.enable()
    source = cupy.arange(1000, dtype="int64")
    result = cupy.zeros(1000, dtype="int64")
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        cupy.add(source * 2, 1, out=result)  # has its kernels compiled
        with pool.arena().capture(stream) as session:
            stream.begin_capture()
            between = source * 2
            cupy.add(between, 1, out=result)
            del between
            graph = stream.end_capture()
        result.fill(0)
        others = [cupy.full(1000, 7, dtype="int64") for _ in range(50)]
        graph.launch(stream)
        assert bool((result == source * 2 + 1).all())
        assert all(bool((other == 7).all()) for other in others)
    session.release(stream)
