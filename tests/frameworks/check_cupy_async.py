"""The preset driver-pool beside CuPy's MemoryAsyncPool: the same calls, each on
a pool of the driver's own, and the same figures after each.

    check_cupy_async.py LIBRARY

CuPy makes the pool that it is given the device's current one, for the whole
process; this puts the one that was there back. Exits with 77 if CuPy or such
pools are not there, or no device.
"""

import ctypes
import gc
import os
import random
import sys
from ctypes import byref, c_int32, c_size_t, c_uint64, c_void_p

from check_frameworks import Library, expect

# CuPy's pool wants one of each device that it sees.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")

MIB = 1 << 20
NONE = 2 ** 64 - 1
NO_STREAM = NONE  # CUARENA_NO_STREAM
LIMIT_THRESHOLD = 4
BYTES, PERCENT = 0, 1  # units of amounts

cupy = None
driver = None
library = None


def call(name, *arguments):
    status = getattr(driver, name)(*arguments)
    if status != 0:
        raise RuntimeError(f"{name} answered {status}")


def new_pool(device):
    """As cuMemPoolCreate has it: pinned, no handle types, on this device."""
    props = (c_int32 * 32)(1, 0, 1, device)
    pool = c_void_p()
    call("cuMemPoolCreate", byref(pool), props)
    return pool.value


class Stats(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t)] + [
        (name, c_uint64) for name in (
            "used_bytes", "total_bytes", "free_bytes", "peak_used_bytes",
            "peak_total_bytes", "release_threshold", "handle")] + [
        ("device", c_int32), ("own", c_int32)]


class Amount(ctypes.Structure):
    _fields_ = [("unit", c_int32), ("zero", c_int32), ("value", c_uint64)]


# ---- The two pools -------------------------------------------------------------


class Refused(Exception):
    pass


class Theirs:
    def __init__(self, device):
        self.handle = new_pool(device)
        self.pool = cupy.cuda.MemoryAsyncPool(self.handle)
        self.pool.set_limit(size=0)  # by whatever rule: nothing goes back
        value = c_uint64(NONE)
        call("cuMemPoolSetAttribute", c_void_p(self.handle), 4, byref(value))

    def malloc(self, size, stream):
        try:
            with stream:
                return self.pool.malloc(size)
        except cupy.cuda.memory.OutOfMemoryError:
            raise Refused() from None

    def free(self, block, _stream):
        del block[0]

    def hold(self, block):
        return [block]

    def free_all(self, stream):
        self.pool.free_all_blocks(stream)

    def figures(self):
        pool = self.pool
        return {"used": pool.used_bytes(), "free": pool.free_bytes(),
                "total": pool.total_bytes()}

    def close(self):
        self.pool.free_all_blocks()


class Ours:
    def __init__(self, pool_options):
        self.arena = library.new_arena(
            f"preset=driver-pool,memory=device,{pool_options}")

    def malloc(self, size, stream):
        pointer = c_void_p()
        status = library.calls.cuarena_alloc_on(
            self.arena, c_uint64(size), c_void_p(stream.ptr), None,
            byref(pointer))
        if status in (2, 3, 4):  # OUT_OF_MEMORY, FRAGMENTED, LIMIT
            raise Refused()
        expect(status, 0, f"the status of {size} bytes")
        return pointer.value

    def hold(self, block):
        return block

    def free(self, block, stream):
        library.free_on(self.arena, c_void_p(block), c_void_p(stream.ptr))

    def free_all(self, stream):
        library.trim_on(self.arena, c_void_p(stream.ptr), c_uint64(0), None)

    def stats(self):
        stats = Stats()
        room = (ctypes.c_char * 4096)()
        library.calls.cuarena_driver_pool_stats_init(room)
        expect(c_size_t.from_buffer(room).value, ctypes.sizeof(Stats),
               "the size of cuarena_driver_pool_stats_t")
        stats.struct_size = ctypes.sizeof(Stats)
        library.driver_pool_stats(self.arena, byref(stats))
        return stats

    def figures(self):
        stats = self.stats()
        return {"used": stats.used_bytes, "free": stats.free_bytes,
                "total": stats.total_bytes}

    def set_threshold(self, value, unit=BYTES):
        set_limit = library.calls.cuarena_set_limit
        set_limit.argtypes = [c_void_p, c_int32, Amount, c_void_p]
        expect(set_limit(self.arena, LIMIT_THRESHOLD, Amount(unit, 0, value),
                         None), 0, "the status of set_limit")

    def threshold(self):
        value = c_uint64()
        library.get_limit(self.arena, LIMIT_THRESHOLD, byref(value))
        return value.value

    def close(self):
        library.trim_on(self.arena, c_void_p(NO_STREAM), c_uint64(0), None)
        library.destroy(byref(self.arena))


# ---- Beside each other ---------------------------------------------------------


class Beside:
    def __init__(self, streams, device, own):
        self.streams = streams
        ours = "driver_pool=own" if own else (
            f"driver_pool=external,driver_pool_handle={new_pool(device)}")
        self.pools = [Theirs(device), Ours(ours)]
        self.blocks = {}
        self.steps = []

    def compare(self):
        """When the driver knows that all is done."""
        for stream in self.streams:
            stream.synchronize()
        theirs, ours = (pool.figures() for pool in self.pools)
        if theirs != ours:
            raise AssertionError(f"CuPy has {theirs}, the arena has {ours}; "
                                 f"after {self.steps[-12:]}")

    def malloc(self, name, size, number):
        self.steps.append(f"malloc {name} {size} {number}")
        stream = self.streams[number]
        held = []
        for pool in self.pools:
            try:
                held.append(pool.hold(pool.malloc(size, stream)))
            except Refused:
                held.append(None)
        expect(held[1] is None, held[0] is None, "whether it is refused")
        if held[0] is not None:
            self.blocks[name] = (held, number)
        self.compare()

    def free(self, name):
        self.steps.append(f"free {name}")
        held, number = self.blocks.pop(name)
        for pool, block in zip(self.pools, held):
            pool.free(block, self.streams[number])
        self.compare()

    def free_all(self, number):
        self.steps.append(f"free_all {number}")
        for pool in self.pools:
            pool.free_all(self.streams[number])
        self.compare()

    def close(self):
        for name in list(self.blocks):
            self.free(name)
        for pool in self.pools:
            pool.close()


# ---- Checks --------------------------------------------------------------------


def check_sequence(streams, device, own):
    """Used bytes of 2, 4 and 1 units; with another stream; total bytes stay
    until free_all_blocks."""
    beside = Beside(streams, device, own)
    for unit in 512, MIB:
        beside.malloc("a", 2 * unit, 0)
        beside.malloc("b", 4 * unit, 0)
        beside.free("b")
        beside.free("a")
        beside.malloc("c", unit, 0)
        beside.free("c")
        beside.malloc("d", 4 * unit, 0)
        beside.free("d")
        beside.malloc("e", 2 * unit, 1)
        beside.free_all(0)
        beside.free("e")
        beside.free_all(1)
    beside.close()


def check_sizes(streams, device, own):
    """Sizes are rounded up to 512."""
    beside = Beside(streams, device, own)
    for i, size in enumerate((1, 511, 512, 513, 1000, 65537, 3 * MIB + 1)):
        beside.malloc(f"s{i}", size, i % len(streams))
    beside.close()


def check_random(streams, device, own):
    dice = random.Random(11)
    beside = Beside(streams, device, own)
    for serial in range(400):
        what = dice.random()
        number = dice.randrange(len(streams))
        if what < 0.45 and beside.blocks:
            beside.free(dice.choice(sorted(beside.blocks)))
        elif what < 0.50:
            beside.free_all(number)
        else:
            size = dice.choice((512, 4096, 65536, MIB, 5 * MIB, 40 * MIB))
            beside.malloc(f"b{serial}", size + dice.randrange(512), number)
    beside.close()


def check_fractions_of_memory(streams, device, own):
    """70 % of what is free, given back, then 30 %."""
    beside = Beside(streams, device, own)
    free = cupy.cuda.runtime.memGetInfo()[0]
    for i, percent in enumerate((70, 30)):
        size = free * percent // 100
        for pool in beside.pools:  # one after the other: both do not fit
            block = pool.hold(pool.malloc(size, streams[0]))
            pool.free(block, streams[0])
            del block
            pool.free_all(streams[0])
        beside.steps.append(f"{percent} %")
        beside.compare()
    beside.close()


def check_zero_bytes(streams, device, own):
    beside = Beside(streams, device, own)
    theirs, ours = beside.pools
    with streams[0]:
        expect(theirs.pool.malloc(0).ptr, 0, "CuPy's pointer to 0 bytes")
    expect(ours.malloc(0, streams[0]), None, "the arena's")
    beside.compare()
    beside.close()


def driver_threshold(handle):
    value = c_uint64()
    call("cuMemPoolGetAttribute", c_void_p(handle), 4, byref(value))
    return value.value


def compare_limits(beside, what):
    """The limits told, and those that the driver has of both pools."""
    theirs, ours = beside.pools
    limit = theirs.pool.get_limit()
    stats = ours.stats()
    expect(driver_threshold(theirs.handle), limit, f"CuPy's limit, {what}")
    expect(ours.threshold(), limit, f"the limit, {what}")
    expect(stats.release_threshold, limit, f"the figure, {what}")
    expect(driver_threshold(stats.handle), limit, f"the driver's, {what}")


def check_limits(streams, device, own):
    """CuPy's limit is the pool's release threshold."""
    beside = Beside(streams, device, own)
    theirs, ours = beside.pools
    for size in 1024, 2 ** 33:
        theirs.pool.set_limit(size=size)
        ours.set_threshold(size)
        compare_limits(beside, f"size {size}")
    for percent in 50, 100:
        theirs.pool.set_limit(fraction=percent / 100)
        ours.set_threshold(percent * 1000, PERCENT)
        compare_limits(beside, f"{percent} %")
    theirs.pool.set_limit(size=0)
    ours.set_threshold(NONE)
    compare_limits(beside, "size 0")
    beside.close()


CHECKS = [check_zero_bytes, check_sizes, check_sequence, check_random,
          check_fractions_of_memory, check_limits]


def ready():
    """What is needed, or why it is not there."""
    global cupy, driver, library
    try:
        import cupy
        cupy.zeros(1)
        cupy.cuda.MemoryAsyncPool("current").malloc(512)
        driver = ctypes.CDLL("libcuda.so.1")
    except Exception as error:
        return f"skipped: {error}"
    library = Library(sys.argv[1])
    if not hasattr(library.calls, "cuarena_driver_pool_stats"):
        return "skipped: the library has no pools of the driver's"
    return None


def attempt(check, streams, device, own):
    label = f"{check.__name__}, {'own' if own else 'external'}"
    try:
        check(streams, device, own)
    except Exception as error:
        print(f"FAIL {label}: {type(error).__name__}: {error}")
        return False
    finally:
        gc.collect()
    print(f"pass {label}")
    return True


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_cupy_async.py LIBRARY")
    why = ready()
    if why:
        print(why)
        sys.exit(77)
    print(f"CuPy {cupy.__version__}")
    device = cupy.cuda.runtime.getDevice()
    before = cupy.cuda.runtime.deviceGetMemPool(device)
    streams = [cupy.cuda.Stream.null] + [
        cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    results = [attempt(check, streams, device, own)
               for own in (False, True) for check in CHECKS]
    cupy.cuda.runtime.deviceSetMemPool(device, before)
    failed = results.count(False)
    print(f"{results.count(True)} checks passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
