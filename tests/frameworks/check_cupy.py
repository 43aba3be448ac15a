"""The preset cupy-pool beside CuPy's own MemoryPool: the same calls to both,
and the same figures after each.

    check_cupy.py LIBRARY

Fixed sequences, and random ones on several streams. CuPy takes any of the free
chunks of the smallest size that fits, and ours any of the smallest class of
sizes, so random sequences leave requests out of which it would not be sure what
they get; a model of both says which. It also says where each block must be.

Exits with 77 if CuPy is not there, or no device.
"""

import ctypes
import gc
import os
import random
import subprocess
import sys
import threading
from ctypes import (POINTER, byref, c_int32, c_size_t, c_uint16, c_uint64,
                    c_void_p)

from check_frameworks import Library, expect

UNIT = 512
NONE = 2 ** 64 - 1
NO_STREAM = NONE  # CUARENA_NO_STREAM
LIMIT_RESERVED = 0
OK = 0
REFUSALS = 2, 3, 4  # OUT_OF_MEMORY, FRAGMENTED, LIMIT

cupy = None
library = None


class Amount(ctypes.Structure):
    _fields_ = [("unit", c_int32), ("zero", c_int32), ("value", c_uint64)]


class Event(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("kind", c_int32),
                ("status", c_int32), ("block", c_uint64),
                ("address", c_void_p), ("bytes", c_uint64), ("tag", c_uint16)]


EVENT_FN = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Event))
EVENT_NAMES = {1: "malloc", 2: "free", 4: "alloc", 5: "free_all", 7: "fail"}


# ---- The two pools -------------------------------------------------------------


class Refused(Exception):
    pass


class Theirs:
    def __init__(self, allocator=None):
        self.pool = cupy.cuda.MemoryPool(allocator)

    def malloc(self, size, stream):
        try:
            with stream:
                return self.pool.malloc(size)
        except cupy.cuda.memory.OutOfMemoryError:
            raise Refused() from None

    def address(self, block):
        return block.ptr

    def free(self, block, _stream):
        block.mem.free()

    def free_all(self, stream):
        self.pool.free_all_blocks(stream)

    def set_limit(self, size):
        self.pool.set_limit(size=size)

    def figures(self):
        pool = self.pool
        return {"used": pool.used_bytes(), "free": pool.free_bytes(),
                "total": pool.total_bytes(), "blocks": pool.n_free_blocks(),
                "limit": pool.get_limit()}

    def close(self):
        self.pool.free_all_blocks()


class Ours:
    def __init__(self, options="memory=device"):
        self.arena = library.new_arena("preset=cupy-pool," + options)

    def malloc(self, size, stream):
        pointer = c_void_p()
        status = library.calls.cuarena_alloc_on(
            self.arena, c_uint64(size), c_void_p(stream.ptr), None,
            byref(pointer))
        if status in REFUSALS:
            raise Refused()
        expect(status, OK, f"the status of {size} bytes")
        return pointer.value

    def address(self, block):
        return block

    def free(self, block, stream):
        library.free_on(self.arena, c_void_p(block), c_void_p(stream.ptr))

    def free_all(self, stream):
        handle = NO_STREAM if stream is None else stream.ptr
        library.trim_on(self.arena, c_void_p(handle), c_uint64(0), None)

    def set_limit(self, size):
        call = library.calls.cuarena_set_limit
        call.argtypes = [c_void_p, c_int32, Amount, c_void_p]
        expect(call(self.arena, LIMIT_RESERVED, Amount(0, 0, size or NONE), None),
               OK, "the status of set_limit")

    def get_limit(self):
        limit = c_uint64()
        library.get_limit(self.arena, LIMIT_RESERVED, byref(limit))
        return 0 if limit.value == NONE else limit.value

    def text(self):
        text = ctypes.create_string_buffer(1 << 16)
        library.stats_text(self.arena, 0, text, c_size_t(len(text)), None)
        pairs = (line.split("=") for line in text.value.decode().split())
        return {key: int(value) for key, value in pairs}

    def figures(self):
        stats = self.text()
        return {"used": stats["live_bytes"], "free": stats["free_bytes"],
                "total": stats["reserved_bytes"], "blocks": stats["free_ranges"],
                "limit": self.get_limit()}

    def close(self):
        library.destroy(byref(self.arena))


# ---- The model -----------------------------------------------------------------


class Chunk:
    """`units` at `offset` of what one allocation of the driver's gave."""

    def __init__(self, base, offset, units, stream):
        self.base, self.offset = base, offset
        self.units, self.stream = units, stream
        self.below = self.above = None
        self.free = False

    def whole(self):
        return self.below is None and self.above is None


def size_class(units):
    shift = (units | 2).bit_length() - 2
    return (shift << 1) + (units >> shift)


class Unsure(Exception):
    """It is not certain what the request gets."""


class Model:
    def __init__(self):
        self.chunks = set()
        self.bases = 0
        self.limit = 0

    def total(self):
        return sum(chunk.units for chunk in self.chunks)

    def figures(self):
        free = [chunk.units for chunk in self.chunks if chunk.free]
        return {"used": (self.total() - sum(free)) * UNIT,
                "free": sum(free) * UNIT, "total": self.total() * UNIT,
                "blocks": len(free), "limit": self.limit * UNIT}

    def choose(self, units, stream):
        free = [chunk for chunk in self.chunks
                if chunk.free and chunk.stream == stream]
        fits = [chunk for chunk in free if chunk.units >= units]
        if not fits:
            return None
        best = min(fits, key=lambda chunk: chunk.units)
        beside = [chunk for chunk in free
                  if size_class(chunk.units) == size_class(best.units)]
        if len(beside) > 1:
            raise Unsure()
        return best

    def split(self, chunk, units):
        if chunk.units == units:
            return
        rest = Chunk(chunk.base, chunk.offset + units, chunk.units - units,
                     chunk.stream)
        rest.free, rest.below, rest.above = True, chunk, chunk.above
        if rest.above:
            rest.above.below = rest
        chunk.above, chunk.units = rest, units
        self.chunks.add(rest)

    def exceeds(self, units):
        return self.limit and self.total() + units > self.limit

    def malloc(self, units, stream):
        chunk = self.choose(units, stream)
        if chunk is None:
            if self.limit and units > self.limit:
                raise Refused()
            if self.exceeds(units):
                self.free_all(None)
            if self.exceeds(units):
                raise Refused()
            chunk = Chunk(self.bases, 0, units, stream)
            self.bases += 1
            self.chunks.add(chunk)
        self.split(chunk, units)
        chunk.free = False
        return chunk

    def join(self, chunk, above):
        chunk.units += above.units
        chunk.above = above.above
        if chunk.above:
            chunk.above.below = chunk
        self.chunks.remove(above)

    def free(self, chunk):
        chunk.free = True
        if chunk.above and chunk.above.free:
            self.join(chunk, chunk.above)
        if chunk.below and chunk.below.free:
            self.join(chunk.below, chunk)

    def free_all(self, stream):
        self.chunks -= {chunk for chunk in self.chunks
                        if chunk.free and chunk.whole()
                        and stream in (None, chunk.stream)}


# ---- Beside each other ---------------------------------------------------------


class Beside:
    """Two pools and the model; blocks and streams have numbers."""

    def __init__(self, streams, theirs=None, ours=None):
        self.pools = [theirs or Theirs(), ours or Ours()]
        self.model = Model()
        self.streams = streams
        self.bases = [{}, {}]
        self.blocks = {}
        self.steps = []

    def fail(self, what):
        raise AssertionError(f"{what}; after {self.steps[-12:]}")

    def compare(self):
        want = self.model.figures()
        for name, pool in zip(("CuPy", "the arena"), self.pools):
            figures = pool.figures()
            if figures != want:
                self.fail(f"{name} has {figures}, expected {want}")

    def note_address(self, side, chunk, address):
        base = self.bases[side].setdefault(chunk.base,
                                           address - chunk.offset * UNIT)
        if address != base + chunk.offset * UNIT:
            self.fail(f"pool {side}: block at {address:#x}, expected "
                      f"{chunk.offset} units above {base:#x}")

    def forget_bases(self):
        kept = {chunk.base for chunk in self.model.chunks}
        for bases in self.bases:
            for base in set(bases) - kept:
                del bases[base]

    def malloc(self, name, units, number):
        """False: refused by all. Nothing is done where it is not sure what
        the request gets: Unsure."""
        self.model.choose(units, number)
        self.steps.append(f"malloc {name} {units} {number}")
        try:
            chunk = self.model.malloc(units, number)
        except Refused:
            chunk = None
        self.forget_bases()
        got = []
        for side, pool in enumerate(self.pools):
            try:
                block = pool.malloc(units * UNIT, self.streams[number])
            except Refused:
                block = None
            if (block is None) != (chunk is None):
                self.fail(f"pool {side}: "
                          + ("refused" if block is None else "served"))
            if block is not None:
                self.note_address(side, chunk, pool.address(block))
            got.append(block)
        if chunk is None and units <= self.model.limit:
            # CuPy has freed all; an arena does where that could help.
            self.pools[1].free_all(None)
        if chunk is not None:
            self.blocks[name] = (chunk, got, number)
        self.compare()
        return chunk is not None

    def free(self, name):
        self.steps.append(f"free {name}")
        chunk, blocks, number = self.blocks.pop(name)
        self.model.free(chunk)
        for pool, block in zip(self.pools, blocks):
            pool.free(block, self.streams[number])
        self.compare()

    def free_all(self, number=None):
        self.steps.append(f"free_all {number}")
        self.model.free_all(number)
        stream = None if number is None else self.streams[number]
        for pool in self.pools:
            pool.free_all(stream)
        self.forget_bases()
        self.compare()

    def set_limit(self, units):
        self.steps.append(f"set_limit {units}")
        self.model.limit = units
        for pool in self.pools:
            pool.set_limit(units * UNIT)
        self.compare()

    def close(self):
        for name in list(self.blocks):
            self.free(name)
        self.set_limit(0)
        self.free_all()
        for pool in self.pools:
            pool.close()


def run(beside, script):
    """One step a word: a4 mallocs 4 units as a, a4@1 on stream 1, -a frees a,
    ! frees all, !1 of stream 1, =6 sets the limit, a4? must be refused."""
    for word in script.split():
        kind, rest = word[0], word[1:]
        if kind == "-":
            beside.free(rest)
        elif kind == "!":
            beside.free_all(int(rest) if rest else None)
        elif kind == "=":
            beside.set_limit(int(rest))
        else:
            units, _, number = rest.rstrip("?").partition("@")
            served = beside.malloc(kind, int(units), int(number or 0))
            expect(served, not word.endswith("?"), f"whether {word} is served")
    beside.close()


# ---- Sequences -----------------------------------------------------------------


SCRIPTS = {
    "round": "a1 b2 -a -b",
    "apart": "a4 b4 c8 -a -b -c",
    "split": "a4 -a b2 c2 -b -c",
    "free": "a4 -a b4 -b",
    "other_stream": "a4 -a b4@1 -b",
    "merge_tail_first": "a4 -a b2 c2 -c -b d4 -d",
    "merge_head_first": "a4 -a b2 c2 -b -c d4 -d",
    "quarters": "a4 -a b2 c2 -b d1 e1 -c f1 g1 -e -g -d -f h4 -h",
    "larger": "a4 -a b8 -b",
    "free_all": "a4 -a ! b4 -b",
    "free_all_split": "a4 -a b2 c2 -c ! d2 -b -d",
    "free_all_stream": "a4 -a b4@1 -b !0 c4 d4@1 -c -d",
    "free_all_streams": "a4 -a b4@1 -b ! c4 d4@1 -c -d",
    "free_all_empty": "! !0",
    "sequence": "a2 b4 -b -a c1 -c",
    "sequence_streams": "a4 -a b2@1 -b",
}

LIMITS = {
    "limit": "=6 a5 b1 c1? =7 c1 -a -b -c",
    "limit_above": "a4 -a =6 b7?",
    "limit_below_reserved": "a4 -a =2 b4 c1? -b",
    "limit_fragmented": "=6 a5 -a b6 -b",
    "limit_streams": "a4@1 -a b2@1 c4@2 -c =9 d5 e2? f2@1 -f -b -d",
}


def check_scripts(streams):
    for name, script in SCRIPTS.items():
        run(Beside(streams), script)
        print(f"pass script {name}")
    return len(SCRIPTS)


def gives_back_for_a_limit(streams):
    """Whether this CuPy frees what it holds before a limit refuses."""
    theirs = Theirs()
    theirs.set_limit(6 * UNIT)
    theirs.free(theirs.malloc(5 * UNIT, streams[0]), streams[0])
    try:
        block = theirs.malloc(6 * UNIT, streams[0])
    except Refused:
        return False
    theirs.free(block, streams[0])
    theirs.close()
    return True


def check_limits(streams):
    done = 0
    for name, script in LIMITS.items():
        run(Beside(streams), script)
        print(f"pass script {name}")
        done += 1
    return done


def random_step(beside, dice, limits, serial):
    what = dice.random()
    number = dice.randrange(len(beside.streams))
    if what < 0.40 and beside.blocks:
        beside.free(dice.choice(sorted(beside.blocks)))
    elif what < 0.43:
        beside.free_all(number)
    elif what < 0.45:
        beside.free_all()
    elif what < 0.50 and limits:
        held = beside.model.total()
        beside.set_limit(dice.choice([0, 0, held + 16, held, held // 2 + 1]))
    else:
        beside.malloc(f"b{serial}", dice.choice([1, 2, 3, 4, 6, 8, 12, 16, 24,
                                                 32, 48, 64, 100, 500]),
                      number)


def random_run(streams, seed, steps, limits, theirs=None, ours=None):
    dice = random.Random(seed)
    beside = Beside(streams, theirs, ours)
    done = serial = 0
    while done < steps:
        serial += 1
        try:
            random_step(beside, dice, limits, serial)
        except Unsure:
            continue
        done += 1
    beside.close()


def check_random(streams, limits):
    for seed in range(6):
        random_run(streams, seed, 400, limits)
        print(f"pass random {seed}")
    return 6


def check_backends(streams, limits):
    """Pools on memory of other kinds."""
    done = 0
    for name, allocator, options in (
            ("managed", "malloc_managed", "memory=managed,device_only=1"),
            ("async", "malloc_async", "memory=device,backing=async")):
        try:
            theirs = Theirs(getattr(cupy.cuda, allocator))
            theirs.free(theirs.malloc(UNIT, streams[0]), streams[0])
            theirs.free_all(None)
        except Exception as error:
            print(f"skipped {name}: {error}")
            continue
        random_run(streams, 7, 300, limits, theirs, Ours(options))
        print(f"pass random on {name}")
        done += 1
    return done


# ---- Hooks, threads, the environment -------------------------------------------


def check_hooks(streams):
    heard = [[], []]

    class Hook(cupy.cuda.MemoryHook):
        name = "check_cupy"

        def alloc_postprocess(self, **what):
            heard[0].append(("alloc", what["mem_size"]))

        def malloc_postprocess(self, **what):
            heard[0].append(("malloc", what["size"]))

        def free_postprocess(self, **what):
            heard[0].append(("free", what["mem_size"]))

    @EVENT_FN
    def listen(_user, event):
        heard[1].append((EVENT_NAMES[event.contents.kind],
                         event.contents.bytes))

    theirs, ours = Theirs(), Ours()
    library.set_event_listener(ours.arena, listen, None)
    with Hook():
        for size in (4 * UNIT, 2 * UNIT, 8 * UNIT):
            for pool in (theirs, ours):
                pool.free(pool.malloc(size, streams[0]), streams[0])
    expect(heard[1], heard[0], "what hooks heard")
    library.set_event_listener(ours.arena, EVENT_FN(), None)
    theirs.close()
    ours.close()
    print("pass hooks")
    return 1


def check_threads(streams):
    """What one thread freed on a stream another gets on it."""
    found = {}

    def body(pool):
        block = pool.malloc(4 * UNIT, streams[1])
        found[pool] = pool.address(block)
        pool.free(block, streams[1])

    for pool in (Theirs(), Ours()):
        block = pool.malloc(4 * UNIT, streams[1])
        address = pool.address(block)
        pool.free(block, streams[1])
        thread = threading.Thread(target=body, args=(pool,))
        thread.start()
        thread.join()
        expect(found[pool], address, "the address in another thread")
        pool.close()
    print("pass threads")
    return 1


class OnDefault:
    """The default stream of the thread."""
    ptr = 2

    def __enter__(self):
        cupy.cuda.Stream.ptds.__enter__()

    def __exit__(self, *what):
        cupy.cuda.Stream.ptds.__exit__(*what)


def check_default_streams(_streams):
    if not hasattr(cupy.cuda.Stream, "ptds"):
        print("skipped default streams of threads: this CuPy has none")
        return 0
    stream = OnDefault()
    for pool in (Theirs(), Ours()):
        found = []

        def body(pool=pool, found=found):
            block = pool.malloc(4 * UNIT, stream)
            found.append(pool.address(block))
            pool.free(block, stream)

        body()
        body()
        expect(found[1], found[0], "the address on the same thread")
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        expect(found[2] != found[0], True, "another address on another thread")
        expect(pool.figures()["blocks"], 2, "free blocks")
        pool.close()
    print("pass default streams of threads")
    return 1


# CuPy may read its variable when it is imported.
TELL_LIMIT = "import cupy; print(cupy.cuda.MemoryPool().get_limit())"


def limit_of_environment(text):
    """CuPy's limit and ours under a value of its variable."""
    os.environ["CUPY_GPU_MEMORY_LIMIT"] = text
    config = ctypes.create_string_buffer(4096)
    library.calls.cuarena_config_init(config)
    library.config_parse(config, b"preset=cupy-pool,memory=device")
    try:
        library.config_limit_environment(config, None)
        told = subprocess.run([sys.executable, "-c", TELL_LIMIT],
                              stdout=subprocess.PIPE, text=True, check=True)
    finally:
        del os.environ["CUPY_GPU_MEMORY_LIMIT"]
    ours = Ours.__new__(Ours)
    ours.arena = c_void_p()
    library.create(config, byref(ours.arena))
    limits = int(told.stdout), ours.get_limit()
    ours.close()
    return limits


def check_environment(_streams):
    """Shares are of all that the device has; CuPy's go through a float."""
    for text in "0", "1073741824", "0%", "40%", "70.5%", "100%":
        theirs, ours = limit_of_environment(text)
        near = 1 if text.endswith("%") else 0
        expect(abs(ours - theirs) <= near, True,
               f"{ours} beside {theirs} for {text}")
    print("pass environment")
    return 1


# ---- All -----------------------------------------------------------------------


def attempt(check, *arguments):
    """How many passed; a failure is told, and the others go on."""
    try:
        return check(*arguments), 0
    except Exception as error:
        print(f"FAIL {check.__name__}: {type(error).__name__}: {error}")
        return 0, 1
    finally:
        gc.collect()


def main():
    global cupy, library
    if len(sys.argv) != 2:
        sys.exit("usage: check_cupy.py LIBRARY")
    try:
        import cupy
        cupy.zeros(1)
    except Exception as error:
        print(f"skipped: {error}")
        sys.exit(77)
    os.environ.pop("CUPY_GPU_MEMORY_LIMIT", None)
    library = Library(sys.argv[1])
    print(f"CuPy {cupy.__version__}")
    streams = [cupy.cuda.Stream.null] + [
        cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
    limits = gives_back_for_a_limit(streams)
    if not limits:
        print("skipped limits: this CuPy gives nothing back for one")
    checks = [(check_scripts, streams), (check_random, streams, limits),
              (check_backends, streams, limits), (check_hooks, streams),
              (check_threads, streams), (check_default_streams, streams),
              (check_environment, streams)]
    if limits:
        checks.insert(1, (check_limits, streams))
    results = [attempt(*check) for check in checks]
    passed, failed = (sum(column) for column in zip(*results))
    print(f"{passed} checks passed, {failed} failed")
    sys.exit(1 if failed else 0 if passed else 77)


if __name__ == "__main__":
    main()
