"""Blocks: addresses, pins, compaction, frees."""

import ctypes
import sys

import pytest

import cuarena
import driver
from conftest import needs_device

MIB = 1 << 20
CORRUPT = 12


@pytest.fixture
def arena(memory):
    with cuarena.Arena(f"memory={memory}", pool="4MiB") as arena:
        yield arena


def test_blocks_are_apart_and_aligned(arena):
    first, second = arena.alloc(1000), arena.alloc(1000)
    assert first.address % 256 == 0
    assert abs(first.address - second.address) >= 1000
    assert (first.nbytes, first.arena, first.movable) == (1000, arena, False)


def test_an_alignment_is_kept(arena):
    assert arena.alloc(10, alignment=65536).address % 65536 == 0


def test_an_empty_block_lives(arena):
    block = arena.alloc(0)
    assert block.nbytes == 0 and arena.stats().live_blocks == 1


def test_freeing_twice_is_an_error(arena):
    block = arena.alloc(100)
    block.free()
    assert block.id == 0
    for call in (block.free, block.pin, lambda: block.address, lambda: block.record_use(None)):
        with pytest.raises(cuarena.StaleBlockError):
            call()


def test_the_last_reference_frees(arena):
    block = arena.alloc(100)
    assert arena.stats().live_blocks == 1
    del block
    assert arena.stats().live_blocks == 0


def test_a_movable_block_has_an_address_only_while_it_is_pinned(arena):
    block = arena.alloc(100, movable=True)
    with pytest.raises(cuarena.ArenaBusyError, match="pin"):
        block.address
    with cuarena.pinned(block) as address:
        assert address % 256 == 0
    with pytest.raises(cuarena.InvalidArgumentError):
        block.unpin()


def holes(arena, count=16):
    """Movable blocks with holes between them."""
    blocks = [arena.alloc(MIB // 8, movable=True) for _ in range(count)]
    return blocks[1::2]


def test_compaction_moves_what_is_not_pinned_and_tells(arena):
    blocks = holes(arena)
    pinned = blocks[-1].pin()
    told = []
    report = arena.compact(told.extend)
    assert report.moves == len(told) > 0
    assert {move.block for move in told} <= {block.id for block in blocks[:-1]}
    with cuarena.pinned(blocks[0]) as address:
        assert address in {move.target for move in told}
    assert blocks[-1].pin() == pinned
    assert not report.stopped


def test_compaction_until_a_block_fits(arena):
    blocks = holes(arena, 32)
    with pytest.raises(cuarena.OutOfMemoryError):
        arena.alloc(2 * MIB)
    arena.compact(goal_bytes=2 * MIB)
    arena.alloc(2 * MIB).free()
    del blocks


def test_a_callback_that_says_false_ends_the_compaction(arena):
    blocks = holes(arena)
    report = arena.compact(lambda moves: False, batch_moves=1)
    assert report.stopped and report.moves == 1
    del blocks


def test_what_a_callback_raises_is_raised(arena):
    blocks = holes(arena)

    def broken(moves):
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        arena.compact(broken)
    del blocks


def test_moves_before_a_refusal_are_told(memory):
    told = []
    with cuarena.Arena(f"memory={memory}", pool="4MiB", compact_on_oom=True) as arena:
        arena.on_moves(told.extend)
        blocks = holes(arena, 32)
        arena.alloc(2 * MIB).free()
        assert told
        del blocks


def test_a_callback_may_allocate(arena):
    blocks = holes(arena)
    made = []
    arena.compact(lambda moves: made.append(arena.alloc(100)))
    assert made
    made.clear()
    del blocks


def test_zeroed_bytes_read_as_zero():
    with cuarena.Arena(pool="1MiB") as arena:
        first = arena.alloc(1000)
        memoryview(first)[:] = b"x" * 1000
        del first
        assert bytes(arena.alloc(1000, zeroed=True)) == bytes(1000)


def test_stable_blocks_are_counted_in_their_region():
    with cuarena.Arena(pool="1MiB", stable="256KiB") as arena:
        block = arena.alloc(1000, stable=True)
        assert arena.stats("stable").live_blocks == 1
        block.free()


def test_no_stream_is_named_by_something_else(arena):
    with pytest.raises(TypeError, match="__cuda_stream__"):
        arena.alloc(100, stream="fast")


def test_threads_allocate_while_another_one_compacts(memory):
    """A callback wants the GIL, which no call of another thread may keep."""
    import threading

    ended = threading.Event()
    errors = []

    def work(arena):
        try:
            while not ended.is_set():
                kept = [arena.alloc(size, movable=True) for size in range(1000, 60000, 7000)]
                with cuarena.pinned(kept[0]):
                    del kept[1::2]
        except Exception as error:
            errors.append(error)

    with cuarena.Arena(f"memory={memory}", pool="16MiB") as arena:
        threads = [threading.Thread(target=work, args=(arena,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        moves = []
        for _ in range(200):
            arena.compact(lambda told: moves.append(len(told)))
        ended.set()
        for thread in threads:
            thread.join()
        assert not errors
        assert sum(moves) == arena.stats().moves
        arena.validate()


# ---- Guards ------------------------------------------------------------------------


def test_a_write_behind_a_block_is_told_by_its_free():
    with cuarena.Arena("memory=pageable,pool=4MiB,guard=64") as arena:
        block = arena.alloc(100, tag="mine")
        ctypes.memset(block.address + 100, 1, 4)
        with pytest.raises(cuarena.ArenaError, match="mine") as caught:
            block.free()
        assert caught.value.status == CORRUPT
        assert arena.stats().live_blocks == 0
        arena.alloc(100).free()
        address = arena.alloc_address(100)
        ctypes.memset(address - 1, 1, 1)
        with pytest.raises(cuarena.ArenaError):
            arena.free_address(address)
        arena.check_guards()


def test_a_write_behind_a_block_that_nobody_frees_is_told_all_the_same(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: told.append(str(found.exc_value)))
    with cuarena.Arena("memory=pageable,pool=4MiB,guard=64") as arena:
        block = arena.alloc(100)
        ctypes.memset(block.address + 100, 1, 4)
        del block
        arena.alloc(100)
    assert len(told) == 1
    assert "100 bytes" in told[0]


# ---- What is not the block's -------------------------------------------------------


def test_the_address_of_a_block_is_not_freed_under_it(arena):
    block = arena.alloc(1000)
    with pytest.raises(cuarena.InvalidArgumentError, match="is that of a Block"):
        arena.free_address(block.address)
    assert arena.stats().live_blocks == 1


@needs_device
def test_a_block_outlives_its_stream():
    """Nobody asks the driver about a stream that is gone."""
    with cuarena.Arena("memory=device,preset=grow,limit=64MiB") as arena:
        for end in (lambda block: block.free(), lambda block: None):
            stream = driver.Stream()
            block = arena.alloc(1000, stream=stream)
            arena.release_stream(stream)
            stream.destroy()
            end(block)
            del block
            assert arena.stats().live_blocks == 0
