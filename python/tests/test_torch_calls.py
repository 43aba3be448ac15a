"""What PyTorch calls, called without PyTorch: on the stand-in driver or a GPU."""

import ctypes
import os
import subprocess
import sys
import threading

import pytest

from conftest import needs_device
from cuarena import _torch as calls

pytestmark = needs_device

MIB = 1 << 20
library = calls.library


def declare(name, result, *arguments):
    """Give a function of the extension its types."""
    function = getattr(library, name)
    function.restype = result
    function.argtypes = arguments
    return function


class PoolId(ctypes.Structure):
    """std::pair of two numbers, as PyTorch passes pools."""

    _fields_ = [("first", ctypes.c_uint64), ("second", ctypes.c_uint64)]


MANAGE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
CALL = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


class Filter(ctypes.Structure):
    """std::function, as the C++ library lays it out."""

    _fields_ = [("held", ctypes.c_void_p * 2), ("manage", MANAGE), ("call", CALL)]


size, pointer, integer = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
alloc = declare("cuarena_torch_alloc", pointer, size, integer, pointer)
free = declare("cuarena_torch_free", None, pointer, size, integer, pointer)
record_stream = declare("cuarena_torch_record_stream", None, pointer, pointer)
base = declare("cuarena_torch_base", pointer, pointer, ctypes.POINTER(size))
fraction = declare("cuarena_torch_memory_fraction", None, ctypes.c_double, integer)
empty_cache = declare("cuarena_torch_empty_cache", None)
begin_pool = declare("cuarena_torch_begin_pool", None, integer, PoolId, ctypes.POINTER(Filter))
end_pool = declare("cuarena_torch_end_pool", None, integer, PoolId)
release_pool = declare("cuarena_torch_release_pool", None, integer, PoolId)
segment_alloc = declare("cuarena_torch_segment_alloc", pointer, size, integer, pointer)
segment_free = declare("cuarena_torch_segment_free", None, pointer, size, integer, pointer)


class Driver:
    """Streams, captures and copies, by the driver's own functions."""

    def __init__(self):
        self.cu = ctypes.CDLL(os.environ.get("CUARENA_CUDA_LIBRARY") or "libcuda.so.1")
        context = pointer()
        self.must("cuInit", 0)
        self.must("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.must("cuCtxSetCurrent", context)

    def must(self, name, *arguments):
        """Call a function that must succeed."""
        code = getattr(self.cu, name)(*arguments)
        assert code == 0, f"{name}: {code}"

    def stream(self):
        """Make a stream."""
        stream = pointer()
        self.must("cuStreamCreate", ctypes.byref(stream), 1)
        return stream

    def fill(self, address, value, count):
        """Set bytes."""
        self.must("cuMemsetD8_v2", ctypes.c_uint64(address), ctypes.c_ubyte(value), size(count))

    def read(self, address, count):
        """Copy bytes to the host."""
        to = ctypes.create_string_buffer(count)
        self.must("cuMemcpyDtoH_v2", to, ctypes.c_uint64(address), size(count))
        return to.raw


@pytest.fixture(scope="module")
def driver():
    """The driver, with an arena that may take little."""
    calls.configure("preset=grow", "limit=256MiB")
    return Driver()


@pytest.fixture(autouse=True)
def nothing_lives():
    """Each test frees what it allocates."""
    yield
    empty_cache()  # dedicated blocks that were freed on a stream wait for it
    assert calls.figures(0)["live_blocks"] == 0


def test_an_allocation_counts_until_it_is_freed(driver):
    before = calls.figures(0)
    p = alloc(3 * MIB, 0, None)
    now = calls.figures(0)
    assert now["requested_bytes"] == 3 * MIB
    assert now["live_bytes"] >= 3 * MIB
    assert now["reserved_bytes"] >= now["live_bytes"]
    assert now["allocs"] == before["allocs"] + 1
    assert now["bytes_ever"] == before["bytes_ever"] + 3 * MIB
    free(p, 3 * MIB, 0, None)
    assert calls.figures(0)["frees"] == before["frees"] + 1


def test_memory_is_a_call_of_the_driver_and_its_reuse_is_none(driver):
    empty_cache()
    before = calls.figures(0)["driver_calls"]
    free(alloc(3 * MIB, 0, None), 3 * MIB, 0, None)
    taken = calls.figures(0)["driver_calls"]
    assert taken > before
    free(alloc(3 * MIB, 0, None), 3 * MIB, 0, None)
    assert calls.figures(0)["driver_calls"] == taken


def test_no_bytes_are_no_block(driver):
    assert alloc(0, 0, None) is None
    free(None, 0, 0, None)


def test_empty_cache_gives_back_what_streams_freed(driver):
    stream = driver.stream()
    p, q = alloc(3 * MIB, 0, None), alloc(MIB, 0, stream)
    free(p, 3 * MIB, 0, None)
    free(q, MIB, 0, stream)
    assert calls.figures(0)["reserved_bytes"] >= 4 * MIB
    empty_cache()
    assert calls.figures(0)["reserved_bytes"] == 0


def test_a_recorded_use_keeps_the_bytes_until_the_stream_is_done(driver):
    other = driver.stream()
    p = alloc(MIB, 0, None)
    record_stream(p, other)
    record_stream(ctypes.c_void_p(0x1000), other)
    record_stream(None, other)
    free(p, MIB, 0, None)
    driver.must("cuCtxSynchronize")
    empty_cache()
    assert calls.figures(0)["reserved_bytes"] == 0


def test_the_base_of_a_block_is_the_block(driver):
    p = alloc(5000, 0, None)
    length = size()
    assert base(p, ctypes.byref(length)) == p
    assert length.value == 5120
    assert base(0x1000, ctypes.byref(length)) is None
    free(p, 5000, 0, None)


def test_a_fraction_is_a_limit_of_all_that_the_device_has(driver):
    old = calls.figures(0)["limit_bytes"]
    fraction(0.5, 0)
    half = calls.figures(0)["limit_bytes"]
    fraction(1.0, 0)
    assert abs(calls.figures(0)["limit_bytes"] - 2 * half) <= 4 * MIB
    assert old != half


def test_peaks_and_counts_begin_anew(driver):
    p = alloc(8 * MIB, 0, None)
    free(p, 8 * MIB, 0, None)
    assert calls.figures(0)["peak_live_bytes"] >= 8 * MIB
    calls.reset_peaks(0)
    calls.reset_accumulated(0)
    now = calls.figures(0)
    assert (now["peak_live_bytes"], now["allocs"], now["frees"], now["bytes_ever"]) == (0, 0, 0, 0)


def test_a_device_without_an_arena_has_zeros():
    assert set(calls.figures(63).values()) == {0}
    assert set(calls.figures(-1).values()) == {0}
    assert calls.devices() == [0]


def test_tags_nest_and_threads_without_one_have_the_last(driver):
    seen = []
    outer, inner = calls.tag_number(b"outer"), calls.tag_number(b"inner")
    assert calls.tag_number(b"outer") == outer != inner

    def elsewhere():
        seen.append(alloc(MIB, 0, None))

    before = calls.tag_enter(outer)
    p = alloc(MIB, 0, None)
    within = calls.tag_enter(inner)
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    calls.tag_leave(within)
    q = alloc(MIB, 0, None)
    calls.tag_leave(before)
    r = alloc(MIB, 0, None)
    assert live_by_tag() == {"outer": 2 * MIB, "inner": MIB}
    for each in (p, q, r, *seen):
        free(each, MIB, 0, None)


def live_by_tag():
    """The live bytes of each tag of the arena."""
    import json
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        calls.snapshot(0, folder + "/arena.json", 0)
        with open(folder + "/arena.json") as file:
            tags = json.load(file)["tags"]
    return {tag["name"]: tag["live_bytes"] for tag in tags if tag.get("live_bytes")}


def test_threads_allocate_and_free_on_streams_of_their_own(driver):
    failures = []

    def work(seed, stream):
        held = []
        driver_of_thread = Driver()
        for i in range(300):
            bytes_ = 1 + (seed * 7919 + i * 104729) % MIB
            p = alloc(bytes_, 0, stream)
            if p is None:
                failures.append(bytes_)
                continue
            held.append((p, bytes_))
            if len(held) > 8:
                free(*held.pop(i % 8), 0, stream)
        for p, bytes_ in held:
            free(p, bytes_, 0, stream)
        del driver_of_thread

    threads = [threading.Thread(target=work, args=(n, driver.stream())) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ---- Graphs ----


class Capture:
    """A pool that accepts one stream, and counts the copies of its filter."""

    def __init__(self, number, stream):
        self.id = PoolId(0, number)
        self.copies = 0
        self.accepted = stream.value
        self.filter = Filter(
            (ctypes.c_void_p * 2)(), MANAGE(self.manage), CALL(lambda _, s: s[0] == self.accepted)
        )

    def manage(self, _to, _from, operation):
        """Clone (2) or destroy (3)."""
        self.copies += {2: 1, 3: -1}[operation]
        return 0


def capture(driver, stream, pool, work):
    """What torch.cuda.graph does; returns what the work gives."""
    graph = pointer()
    begin_pool(0, pool.id, ctypes.byref(pool.filter))
    driver.must("cuStreamBeginCapture_v2", stream, 0)
    result = work()
    driver.must("cuStreamEndCapture", stream, ctypes.byref(graph))
    end_pool(0, pool.id)
    driver.must("cuGraphDestroy", graph)
    return result


def test_what_a_capture_allocates_is_private_until_the_release(driver):
    stream, pool = driver.stream(), None
    pool = Capture(1, stream)

    def work():
        p = alloc(MIB, 0, stream)
        free(p, MIB, 0, stream)
        return p

    p = capture(driver, stream, pool, work)
    assert pool.copies == 0
    assert calls.figures(0)["captured_bytes"] >= MIB
    others = [alloc(MIB, 0, None) for _ in range(8)]
    assert p not in others
    for other in others:
        free(other, MIB, 0, None)
    release_pool(0, pool.id)
    assert calls.figures(0)["captured_bytes"] == 0


def test_graphs_that_share_a_pool_keep_it_until_the_last_one_is_released(driver):
    stream = driver.stream()
    pool = Capture(2, stream)
    first = capture(driver, stream, pool, lambda: alloc(MIB, 0, stream))
    second = capture(driver, stream, pool, lambda: alloc(MIB, 0, stream))
    assert first != second
    release_pool(0, pool.id)
    assert calls.figures(0)["captured_bytes"] >= 2 * MIB
    release_pool(0, pool.id)
    assert calls.figures(0)["captured_bytes"] == 0
    free(first, MIB, 0, stream)
    free(second, MIB, 0, stream)


def test_a_pool_without_allocations_and_one_that_is_unknown_end_quietly(driver):
    stream = driver.stream()
    pool = Capture(3, stream)
    capture(driver, stream, pool, lambda: None)
    release_pool(0, pool.id)
    end_pool(0, PoolId(9, 9))
    release_pool(0, PoolId(9, 9))
    assert pool.copies == 0


def test_after_a_capture_that_failed_the_next_one_works(driver):
    stream = driver.stream()
    failed, pool = Capture(4, stream), Capture(5, stream)
    graph = pointer()
    begin_pool(0, failed.id, ctypes.byref(failed.filter))
    driver.must("cuStreamBeginCapture_v2", stream, 0)
    p = alloc(MIB, 0, stream)
    driver.must("cuStreamEndCapture", stream, ctypes.byref(graph))  # and no end of the pool
    driver.must("cuGraphDestroy", graph)
    q = capture(driver, stream, pool, lambda: alloc(MIB, 0, stream))
    assert failed.copies == 0
    assert p != q
    release_pool(0, failed.id)
    release_pool(0, pool.id)
    for each in (p, q):
        free(each, MIB, 0, stream)
    assert calls.figures(0)["captured_bytes"] == 0


# ---- Segments that sleep ----


def test_segments_sleep_and_wake_with_their_contents_at_their_place(driver):
    p, q = segment_alloc(2 * MIB, 0, None), segment_alloc(20 * MIB, 0, None)
    count = ctypes.c_uint64()
    driver.fill(p, 7, 2 * MIB)
    driver.fill(q, 9, 20 * MIB)
    assert calls.segment_bytes(0, 0) == 22 * MIB
    assert calls.sleep(0, 1, ctypes.byref(count)) == 0
    assert count.value == 22 * MIB
    assert (calls.segment_bytes(0, 0), calls.segment_bytes(0, 1)) == (0, 22 * MIB)
    assert calls.sleep(0, 1, ctypes.byref(count)) == 0
    assert count.value == 0
    assert calls.wake(0, ctypes.byref(count)) == 0
    assert count.value == 22 * MIB
    assert driver.read(p, 2 * MIB) == b"\7" * (2 * MIB)
    assert driver.read(q, 20 * MIB) == b"\t" * (20 * MIB)
    segment_free(p, 2 * MIB, 0, None)
    segment_free(q, 20 * MIB, 0, None)
    assert calls.segment_bytes(0, 0) == 0


def test_a_segment_that_sleeps_can_be_freed(driver):
    p = segment_alloc(2 * MIB, 0, None)
    count = ctypes.c_uint64()
    assert calls.sleep(0, 0, ctypes.byref(count)) == 0
    segment_free(p, 2 * MIB, 0, None)
    assert calls.segment_bytes(0, 1) == 0
    assert calls.wake(0, ctypes.byref(count)) == 0
    assert count.value == 0


def test_a_sleep_without_contents_takes_memory_again(driver):
    p = segment_alloc(2 * MIB, 0, None)
    count = ctypes.c_uint64()
    assert calls.sleep(0, 0, ctypes.byref(count)) == 0
    assert calls.wake(0, ctypes.byref(count)) == 0
    driver.fill(p, 1, 2 * MIB)
    assert driver.read(p, 16) == b"\1" * 16
    segment_free(p, 2 * MIB, 0, None)


# ---- Refusals, each in a process of its own ----


def child(code):
    """Run code beside the extension; its output."""
    begin = "import ctypes, sys\nfrom cuarena import _torch as calls\n" + (
        "alloc = calls.library.cuarena_torch_alloc\n"
        "alloc.restype = ctypes.c_void_p\n"
        "alloc.argtypes = [ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]\n"
    )
    return subprocess.run(
        [sys.executable, "-c", begin + code], capture_output=True, text=True, timeout=120
    )


def test_a_refusal_names_the_largest_tags_and_what_would_have_fitted(tmp_path):
    code = f"""
calls.configure("preset=grow", "limit=64MiB")
calls.report_to({str(tmp_path / "oom")!r})
for name, count in ((b"weights", 24), (b"cache", 30)):
    before = calls.tag_enter(calls.tag_number(name))
    assert alloc(count << 20, 0, None)
    calls.tag_leave(before)
assert alloc(100 << 20, 0, None) is None
print(calls.last_report())
"""
    ran = child(code)
    assert ran.returncode == 0, ran.stderr
    assert "CUDA out of memory. Tried to allocate 100.00 MiB." in ran.stderr
    assert "The limit is 64.00 MiB." in ran.stderr
    assert "A request of up to 10.00 MiB would have fitted." in ran.stderr
    tags = "cache 30.00 MiB in 1 blocks, weights 24.00 MiB in 1 blocks"
    assert f"The largest tags: {tags}." in ran.stderr
    report = ran.stdout.strip()
    assert report.startswith(str(tmp_path)) and report in ran.stderr
    assert "weights" in open(report).read()


def test_options_that_are_not_accepted_are_named():
    ran = child("calls.configure('preset=grow', 'limt=3')")
    assert "InvalidArgumentError" in ran.stderr and "limt" in ran.stderr


def test_the_environment_s_options_come_under_those_of_the_program():
    code = "alloc(1, 0, None)\nprint(calls.figures(0)['limit_bytes'])"
    os.environ["CUARENA_CONF"] = "limit=32MiB"
    try:
        first = child("calls.configure('preset=grow', '')\n" + code)
        second = child("calls.configure('preset=grow', 'limit=48MiB')\n" + code)
    finally:
        del os.environ["CUARENA_CONF"]
    assert (first.stdout.strip(), second.stdout.strip()) == (str(32 * MIB), str(48 * MIB))


def test_a_forked_child_frees_and_ends():
    code = """
import os
p = alloc(1 << 20, 0, None)
free = calls.library.cuarena_torch_free
free.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
free.restype = None
pid = os.fork()
if pid == 0:
    free(p, 1 << 20, 0, None)
    os._exit(calls.figures(0)["live_blocks"])
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), calls.figures(0)["live_blocks"])
free(p, 1 << 20, 0, None)
"""
    ran = child(code)
    assert ran.stdout.split() == ["0", "1"], ran.stderr
