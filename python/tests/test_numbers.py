"""Numbers of other types than int, and out of range."""

import pytest

import cuarena
from conftest import needs_device

MIB = 1 << 20
BEYOND = (-1, 2**64)


class Number:
    """As numpy.int64: no int, but a number by __index__."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


@pytest.fixture
def arena():
    with cuarena.Arena("memory=pageable,preset=grow") as arena:
        yield arena


def test_any_whole_number_is_a_size(arena):
    assert arena.alloc(Number(1000), alignment=Number(4096)).nbytes == 1000
    address = arena.alloc_address(Number(1000), None)
    arena.free_address(Number(address), None)
    assert arena.compact(goal_bytes=Number(0), max_moves=Number(3)).moves == 0
    assert arena.trim(Number(0)) >= 0 and arena.trim_on(keep_bytes=Number(0)) >= 0
    arena.set_limit(Number(8 * MIB))
    assert arena.get_limit() == 8 * MIB


def test_numbers_of_numpy_are_sizes(arena):
    numpy = pytest.importorskip("numpy")
    assert arena.alloc(numpy.int64(1000)).nbytes == 1000
    assert arena.alloc(numpy.prod((3, 5))).nbytes == 15
    with pytest.raises(cuarena.InvalidArgumentError, match="nbytes=-5"):
        arena.alloc(numpy.int64(-5))


def test_a_pool_is_resized_by_any_whole_number():
    with cuarena.Arena(pool=MIB) as arena:
        arena.resize_pool(Number(2 * MIB))
        assert arena.stats().capacity_bytes == 2 * MIB


@pytest.mark.parametrize("number", BEYOND)
def test_a_size_out_of_range_is_named(arena, number):
    calls = {
        "nbytes": lambda: arena.alloc(number),
        "alignment": lambda: arena.alloc(1, alignment=number),
        "address": lambda: arena.free_address(number),
        "keep_bytes": lambda: arena.trim(number),
        "max_bytes": lambda: arena.compact(max_bytes=number),
        "limit": lambda: arena.set_limit(number),
    }
    for what, call in calls.items():
        message = rf"{what}={number} is out of range; expected: 0 to 2\*\*64 - 1"
        with pytest.raises(cuarena.InvalidArgumentError, match=message):
            call()


@pytest.mark.parametrize("kind", (int, Number))
@pytest.mark.parametrize("number", (*BEYOND, 2**64 - 1))
def test_a_stream_out_of_range_is_named(arena, number, kind):
    """What stands for no stream inside is none."""
    block = arena.alloc(100)
    for call in (
        lambda: arena.alloc(100, stream=kind(number)),
        lambda: arena.alloc_address(100, kind(number)),
        lambda: arena.release_stream(kind(number)),
        lambda: block.free(kind(number)),
    ):
        message = rf"stream={number} is out of range; expected: None, .*0 to 2\*\*64 - 2"
        with pytest.raises(cuarena.InvalidArgumentError, match=message):
            call()


@needs_device
def test_any_whole_number_is_a_stream():
    with cuarena.Arena("memory=device,preset=grow") as arena:
        arena.alloc(100, stream=Number(0)).free(Number(0))


@pytest.mark.parametrize("what", (5.0, "5", None))
def test_what_is_no_number_is_named(arena, what):
    with pytest.raises(TypeError, match="nbytes=.* is no whole number"):
        arena.alloc(what)
    with pytest.raises(TypeError, match="expected: None, an object with __cuda_stream__"):
        arena.alloc(1, stream=5.0)


@pytest.mark.parametrize("pair", ((0,), (0, 1, 2), None, 5, [0, 1]))
def test_a_protocol_that_gives_no_pair_is_named(arena, pair):
    class Stream:
        def __cuda_stream__(self):
            return pair

    with pytest.raises(TypeError, match="__cuda_stream__ gives .*; expected: a tuple of 0 and"):
        arena.alloc(1, stream=Stream())


@pytest.mark.parametrize("number", (-(2**40), 2**40))
def test_a_device_out_of_range_is_named(number):
    with pytest.raises(cuarena.InvalidArgumentError, match=f"device={number} is out of range"):
        cuarena.device_info(number)


@pytest.mark.parametrize("wrong", (5, "ab", (1,), (1, "0"), [1, 0], (2**40, 0)))
def test_a_wrong_wish_for_dlpack_is_named(arena, wrong):
    block = arena.alloc(100)
    for name, members in (
        ("max_version", r"\(major, minor\)"),
        ("dl_device", r"\(device_type, device_id\)"),
    ):
        message = rf"{name}=.* is not accepted; expected: None, or a tuple of two ints, {members}"
        with pytest.raises(TypeError, match=message):
            block.__dlpack__(**{name: wrong})


def test_a_framework_s_error_has_a_public_name():
    import cuarena.cupy

    assert cuarena.FrameworkError is cuarena.cupy.FrameworkError
    assert issubclass(cuarena.FrameworkError, ImportError)
    assert "FrameworkError" in cuarena.__all__
