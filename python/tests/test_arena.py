"""Arenas: options, limits, errors, callbacks, figures."""

import gc
import json
import threading

import pytest

import cuarena

MIB = 1 << 20


def test_options_join_text_and_names(memory):
    with cuarena.Arena(f"memory={memory}", pool="4MiB", name="joined") as arena:
        assert arena.properties.memory == memory
        assert arena.stats().capacity_bytes == 4 * MIB


def test_flags_are_numbers():
    with cuarena.Arena(pool="1MiB", compact_on_oom=True) as arena:
        assert arena.stats().live_blocks == 0


def test_unknown_option_is_named():
    with pytest.raises(cuarena.InvalidArgumentError, match="'pol'"):
        cuarena.Arena("pol=1MiB")


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(cuarena.ArenaError, match="1000|driver|CUDA") as caught:
        cuarena.Arena("memory=device", device=1000, pool="1MiB")
    assert isinstance(caught.value, (cuarena.InvalidArgumentError, cuarena.NoDeviceError))


def test_a_request_above_the_pool_tells_the_figures(memory):
    with cuarena.Arena(f"memory={memory}", pool="2MiB") as arena:
        with pytest.raises(cuarena.OutOfMemoryError) as caught:
            arena.alloc(4 * MIB)
        assert caught.value.asked_bytes == 4 * MIB
        assert caught.value.free_bytes == 2 * MIB
        assert isinstance(caught.value, MemoryError)
        assert arena.stats().failed == 1


def test_a_negative_size_is_refused_by_name():
    with (
        cuarena.Arena(pool="1MiB") as arena,
        pytest.raises(cuarena.InvalidArgumentError, match="nbytes=-1"),
    ):
        arena.alloc(-1)


def test_closing_with_live_blocks_is_busy():
    arena = cuarena.Arena(pool="1MiB")
    block = arena.alloc(100)
    with pytest.raises(cuarena.ArenaBusyError):
        arena.close()
    block.free()
    arena.close()
    assert arena.closed
    arena.close()
    with pytest.raises(cuarena.InvalidArgumentError, match="closed"):
        arena.alloc(1)


def test_closing_while_another_thread_is_inside_is_busy():
    arena = cuarena.Arena(pool="1MiB")
    blocks = [arena.alloc(1000, movable=True) for _ in range(4)]
    del blocks[::2]

    def close(moves):
        with pytest.raises(cuarena.ArenaBusyError, match="has not returned"):
            arena.close()

    assert arena.compact(close).moves
    blocks.clear()
    arena.close()


def test_an_arena_lives_as_long_as_its_blocks():
    block = cuarena.Arena(pool="1MiB").alloc(100)
    gc.collect()
    assert block.arena.stats().live_blocks == 1


def test_a_limit_refuses_and_none_lifts_it(memory):
    with cuarena.Arena(f"memory={memory}", preset="grow") as arena:
        arena.set_limit("4MiB")
        assert arena.get_limit() == 4 * MIB
        with pytest.raises(cuarena.OutOfMemoryError) as caught:
            arena.alloc(8 * MIB)
        assert caught.value.limit_bytes == 4 * MIB
        assert arena.set_limit(None) == 4 * MIB
        assert arena.get_limit() is None


def test_a_limit_below_what_lives_is_refused_and_changes_nothing():
    with cuarena.Arena(preset="grow") as arena:
        arena.set_limit("64MiB", "live")
        block = arena.alloc(4 * MIB)
        with pytest.raises(cuarena.InvalidArgumentError, match="below the 4194304 bytes that live"):
            arena.set_limit("1MiB", "live")
        assert arena.get_limit("live") == 64 * MIB
        block.free()


def test_an_unknown_kind_of_limit_names_the_others():
    with (
        cuarena.Arena(pool="1MiB") as arena,
        pytest.raises(cuarena.InvalidArgumentError, match="reserved, live"),
    ):
        arena.set_limit(1, "alive")


def test_trim_gives_back_what_is_free(memory):
    with cuarena.Arena(f"memory={memory}", preset="grow") as arena:
        arena.alloc(8 * MIB).free()
        assert arena.stats().reserved_bytes >= 8 * MIB
        assert arena.trim() >= 8 * MIB
        assert arena.stats().reserved_bytes == 0


def test_resize_pool_takes_a_text(memory):
    with cuarena.Arena(f"memory={memory}", pool="4MiB", addresses="64MiB") as arena:
        arena.resize_pool("8MiB")
        assert arena.stats().capacity_bytes == 8 * MIB


def test_tags_have_figures_of_their_own():
    with cuarena.Arena(pool="1MiB") as arena:
        kept = [arena.alloc(1000, tag="weights"), arena.alloc(500, tag="other")]
        assert arena.tag_stats("weights").requested_bytes == 1000
        assert arena.tag_stats("other").live_blocks == 1
        del kept


def test_peaks_begin_anew():
    with cuarena.Arena(pool="1MiB") as arena:
        arena.alloc(100000).free()
        assert arena.stats().peak_requested_bytes == 100000
        arena.reset_peaks()
        assert arena.stats().peak_requested_bytes == 0


def test_the_handler_that_frees_lets_the_request_through():
    with cuarena.Arena(pool="1MiB") as arena:
        kept = [arena.alloc(MIB)]
        asked = []

        def drop(nbytes, attempt):
            asked.append((nbytes, attempt))
            kept.clear()
            return True

        arena.on_out_of_memory(drop)
        block = arena.alloc(MIB)
        assert asked == [(MIB, 0)]
        block.free()


def test_a_handler_that_raises_counts_as_nothing_freed(monkeypatch):
    seen = []
    monkeypatch.setattr("sys.unraisablehook", lambda what: seen.append(what.exc_type))

    def broken(nbytes, attempt):
        raise KeyError("broken")

    with cuarena.Arena(pool="1MiB") as arena:
        arena.on_out_of_memory(broken)
        kept = arena.alloc(MIB)
        with pytest.raises(cuarena.OutOfMemoryError):
            arena.alloc(MIB)
        kept.free()
    assert seen == [KeyError]


def test_snapshot_and_trace_are_files(tmp_path):
    with cuarena.Arena(pool="1MiB", name="seen") as arena:
        with arena.trace(tmp_path / "trace.csv"):
            block = arena.alloc(1000)
            arena.snapshot(tmp_path / "snapshot.json")
            block.free()
    assert "version" in json.loads((tmp_path / "snapshot.json").read_text())
    operations = [line[0] for line in (tmp_path / "trace.csv").read_text().splitlines()[1:]]
    assert operations.count("a") == 1 and operations.count("f") == 1


def test_threads_share_an_arena():
    errors = []

    def work(arena):
        try:
            for size in range(1, 300):
                blocks = [arena.alloc(size * 7) for _ in range(4)]
                assert len({block.address for block in blocks}) == 4
                del blocks
        except Exception as error:
            errors.append(error)

    with cuarena.Arena(pool="16MiB") as arena:
        threads = [threading.Thread(target=work, args=(arena,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        assert arena.stats().live_blocks == 0
        arena.validate()


def test_a_finding_of_the_guards_is_an_error():
    with cuarena.Arena(pool="1MiB", guard=64) as arena:
        block = arena.alloc(16)
        arena.check_guards()
        import ctypes

        ctypes.memset(block.address + 16, 1, 1)
        with pytest.raises(cuarena.ArenaError):
            arena.check_guards()
        del block


def test_repr_tells_what_lives():
    arena = cuarena.Arena(pool="1MiB")
    assert "0 bytes live" in repr(arena)
    arena.close()
    assert "closed" in repr(arena)


def test_room_that_a_handler_does_not_tell_of_came_too_late():
    with cuarena.Arena(memory="pageable", pool="1MiB") as arena:
        block = arena.alloc(900 << 10, movable=True)
        arena.on_out_of_memory(lambda nbytes, attempt: arena.resize_pool("4MiB"))
        with pytest.raises(cuarena.OutOfMemoryError, match="its room came too late"):
            arena.alloc(512 << 10)
        arena.alloc(512 << 10).free()
        block.free()
