"""What nobody refers to any more goes, whatever refers to it in a circle."""

import gc
import weakref

import pytest

import cuarena
import driver
from conftest import needs_device

MIB = 1 << 20


class Cache:
    """A program's cache, which gives blocks up when its arena has no room."""

    def __init__(self):
        self.arena = cuarena.Arena(memory="pageable", pool="4MiB")
        self.blocks = [self.arena.alloc(MIB) for _ in range(3)]
        self.arena.on_out_of_memory(self.give_up)
        self.arena.on_moves(lambda moves: self)

    def give_up(self, nbytes, attempt):
        return bool(self.blocks and [self.blocks.pop()])


def test_an_arena_whose_handler_has_its_blocks_goes():
    cache = Cache()
    assert cache.arena.alloc(2 * MIB).nbytes == 2 * MIB
    gone = weakref.ref(cache.arena)
    del cache
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "keep",
    (
        lambda block: block,
        memoryview,
        lambda block: cuarena.pinned(block),
        lambda block: {"block": [block]},
    ),
    ids=("block", "view", "pin", "container"),
)
def test_an_arena_that_refers_to_its_own_block_goes(keep):
    arena = cuarena.Arena(memory="pageable", pool="4MiB")
    arena.scratch = keep(arena.alloc(MIB))
    gone = weakref.ref(arena)
    del arena
    gc.collect()
    assert gone() is None


def test_a_handler_that_was_replaced_goes():
    class Handler:
        def __call__(self, *more):
            return False

    with cuarena.Arena(memory="pageable", pool="4MiB") as arena:
        for put in (arena.on_out_of_memory, arena.on_moves):
            handler = Handler()
            handler.block = arena.alloc(3 * MIB)
            gone = weakref.ref(handler)
            put(handler)
            del handler
            put(lambda *more: False)
            gc.collect()
            assert gone() is None
            put(None)
            arena.alloc(3 * MIB).free()


def test_a_handler_that_replaces_itself_is_called_to_its_end():
    with cuarena.Arena(memory="pageable", pool="4MiB") as arena:
        calls = []
        block = arena.alloc(3 * MIB)

        def first(nbytes, attempt):
            arena.on_out_of_memory(None)
            gc.collect()
            calls.append(nbytes)
            return False

        arena.on_out_of_memory(first)
        del first
        for _ in range(2):
            with pytest.raises(cuarena.OutOfMemoryError):
                arena.alloc(2 * MIB)
        assert calls == [2 * MIB]
        block.free()


@needs_device
def test_a_session_that_nobody_has_ends_with_its_arena():
    arena = cuarena.Arena("memory=device,preset=grow,limit=64MiB")
    stream = driver.Stream()
    arena.capture(stream)
    with arena.capture(stream):
        address = arena.alloc(MIB, stream=stream).address
    kept = arena.alloc(MIB, stream=stream)
    assert kept.address != address
    kept.free()
    arena.release_stream(stream)
    assert arena.stats().captures == 2
    arena.close()
    stream.destroy()


@needs_device
def test_a_cycle_with_a_session_goes():
    arena = cuarena.Arena("memory=device,preset=grow,limit=64MiB")
    stream = driver.Stream()
    arena.session = arena.capture(stream)
    gone = weakref.ref(arena)
    del arena
    gc.collect()
    assert gone() is None
    stream.destroy()
