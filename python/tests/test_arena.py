"""Arenas of host memory."""

import pytest

import cuarena


def test_blocks_are_apart_and_aligned():
    with cuarena.Arena("pool=1MiB") as arena:
        first, second = arena.alloc(1000), arena.alloc(1000)
        assert first.address % 256 == 0
        assert abs(first.address - second.address) >= 1000
        first.free()
        second.free()


def test_unknown_option_is_named():
    with pytest.raises(cuarena.InvalidArgumentError, match="pol"):
        cuarena.Arena("pol=1MiB")


def test_a_request_above_the_pool_tells_the_figures():
    with cuarena.Arena(pool="1MiB") as arena:
        with pytest.raises(cuarena.OutOfMemoryError) as caught:
            arena.alloc(2 << 20)
        assert caught.value.asked_bytes == 2 << 20
        assert caught.value.free_bytes == 1 << 20


def test_freeing_twice_is_an_error():
    with cuarena.Arena("pool=1MiB") as arena:
        block = arena.alloc(100)
        block.free()
        with pytest.raises(cuarena.StaleBlockError):
            block.free()
