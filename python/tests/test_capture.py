"""Sessions that keep what a graph uses private."""

import pytest

import cuarena
import driver
from conftest import needs_device

pytestmark = needs_device
MIB = 1 << 20


@pytest.fixture
def arena():
    with cuarena.Arena("memory=device,pool=16MiB") as arena:
        yield arena


@pytest.fixture
def stream(arena):
    stream = driver.Stream()
    yield stream
    arena.release_stream(stream)
    stream.destroy()


def test_bytes_of_a_capture_are_private_until_the_release(arena, stream):
    with arena.capture(stream) as session:
        stream.begin_capture()
        block = arena.alloc(MIB, stream=stream)
        address = block.address
        block.free()
        stream.end_capture()
    assert arena.stats().captures == 1
    kept = []
    with pytest.raises(cuarena.OutOfMemoryError):
        while True:
            kept.append(arena.alloc(MIB, stream=stream))
            assert kept[-1].address != address
    kept.clear()
    session.release(stream)
    assert arena.stats().captures == 0
    arena.alloc(16 * MIB, stream=stream).free()


def test_a_second_stream_joins(arena, stream):
    with arena.capture(stream) as session:
        session.join(2)
        arena.alloc(1000, stream=2).free()
    session.release()
    arena.release_stream(2)


def test_a_session_is_released_once(arena, stream):
    with arena.capture(stream) as session:
        pass
    session.end()
    session.release()
    for call in (session.release, session.end, lambda: session.join(2)):
        with pytest.raises(cuarena.StaleBlockError, match="released already"):
            call()


def test_a_session_is_entered_once(arena, stream):
    """What is allocated within an ended session would be private to nobody."""
    with arena.capture(stream) as session:
        pass
    with pytest.raises(cuarena.StaleBlockError, match="has ended already"), session:
        pass
    session.release()
    with pytest.raises(cuarena.StaleBlockError, match="has ended already"), session:
        pass


def test_what_cannot_be_captured_is_told(arena, stream):
    for wish in (0, None):
        with pytest.raises(cuarena.InvalidArgumentError):
            arena.capture(wish)
    with arena.capture(stream) as session, pytest.raises(cuarena.ArenaBusyError):
        arena.capture(stream)
    session.release()
    with pytest.raises(TypeError, match="__cuda_stream__"):
        arena.capture("stream")


def test_an_arena_with_a_session_is_not_closed(stream, arena):
    with arena.capture(stream) as session:
        with pytest.raises(cuarena.ArenaBusyError):
            arena.close()
    session.release()
