"""Options, paths and names: what is read as what, and what is said of the rest."""

import pathlib
import subprocess
import sys

import pytest

import cuarena
from cuarena import _texts


def test_a_comma_in_a_value_begins_no_option(tmp_path):
    trace = tmp_path / "a,zero=alloc.csv"
    with cuarena.Arena(memory="pageable", pool="1MiB", trace=trace, name="1,memory=none") as arena:
        assert arena.properties.memory == "pageable"
        arena.alloc(1000).free()
    assert trace.read_text().count("\n") > 2


def test_a_key_with_more_in_it_is_no_option():
    with pytest.raises(cuarena.InvalidArgumentError, match="'memory=pageable,pool'"):
        cuarena.Arena(**{"memory=pageable,pool": "1MiB"})


@pytest.mark.parametrize("more", ({"name": "a,b"}, {"a=1,b": 2}))
def test_what_is_kept_as_one_text_has_no_comma(more):
    with pytest.raises(cuarena.InvalidArgumentError, match="has a comma"):
        _texts.join_options("", more)


class Number:
    def __index__(self):
        return 1 << 20


@pytest.mark.parametrize("pool", (1 << 20, Number(), 1048576.0, "1MiB"))
def test_sizes_are_numbers_or_texts(pool):
    with cuarena.Arena(memory="pageable", pool=pool) as arena:
        assert arena.stats().capacity_bytes == 1 << 20


@pytest.mark.parametrize("wrong", (None, [], object(), {}))
def test_what_is_no_value_is_named(wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError, match="trace=.* is no value of an option; expected: a text"):
        cuarena.Arena(memory="pageable", pool="1MiB", trace=wrong)
    assert not list(pathlib.Path().iterdir())


@pytest.mark.parametrize("wrong", (b"pool=1MiB", {"pool": 1}, 5, None))
def test_options_that_are_no_text_are_named(wrong):
    with pytest.raises(TypeError, match="options=.* is no text"):
        cuarena.Arena(wrong)


@pytest.mark.parametrize("wrong", ("a\0b", "\ud800"))
def test_texts_that_c_cannot_read_are_named(wrong, tmp_path):
    with cuarena.Arena(memory="pageable", pool="1MiB") as arena:
        for call in (
            lambda: arena.alloc(1, tag=wrong),
            lambda: arena.tag_stats(wrong),
            lambda: arena.snapshot(tmp_path / wrong),
            lambda: arena.resize_pool(wrong),
            lambda: cuarena.Arena(name=wrong),
        ):
            with pytest.raises(cuarena.InvalidArgumentError, match="character that C cannot read"):
                call()


@pytest.mark.parametrize("wrong", (5, [], None))
def test_names_that_are_none_are_named(wrong):
    with cuarena.Arena(memory="pageable", pool="1MiB") as arena:
        for call, what in (
            (lambda: arena.tag_stats(wrong), "tag="),
            (lambda: arena.snapshot(wrong), "path="),
        ):
            with pytest.raises(TypeError, match=what):
                call()
        for call, what in (
            (lambda: arena.stats(wrong), "region="),
            (lambda: arena.set_limit(1, wrong), "kind="),
            (lambda: arena.get_limit(wrong), "kind="),
            (lambda: arena.snapshot("x", wrong), "format="),
        ):
            with pytest.raises(cuarena.InvalidArgumentError, match=f"{what}.* is not known"):
                call()


def test_what_cannot_be_called_is_named():
    with cuarena.Arena(memory="pageable", pool="1MiB") as arena:
        for call in (arena.on_moves, arena.on_out_of_memory, arena.compact):
            with pytest.raises(TypeError, match="=5 cannot be called; expected: a function"):
                call(5)
        with pytest.raises(TypeError, match="streams=5 is no list"):
            arena.compact(streams=5)
        with pytest.raises(TypeError, match="block=5 is none"), cuarena.pinned(5):
            pass


def test_a_size_that_is_a_share_is_named():
    with (
        cuarena.Arena(memory="pageable", pool="1MiB") as arena,
        pytest.raises(cuarena.InvalidArgumentError, match="nbytes='80%': expected: bytes"),
    ):
        arena.resize_pool("80%")


def test_a_closed_arena_is_not_entered_again(tmp_path):
    arena = cuarena.Arena(memory="pageable", pool="1MiB")
    with arena.trace(tmp_path / "t.csv"):
        arena.close()
    with pytest.raises(cuarena.InvalidArgumentError, match="the arena is closed"), arena:
        pass


def test_a_second_interpreter_is_refused():
    program = """
try:
    import _interpreters as interpreters
    made = interpreters.create("legacy")
    print(interpreters.exec(made, "import cuarena"))
except ImportError:
    import _xxsubinterpreters as interpreters
    made = interpreters.create(isolated=False) if hasattr(interpreters, "is_shareable") else 0
    try:
        interpreters.run_string(made, "import cuarena")
    except interpreters.RunFailedError as error:
        print(error)
import cuarena
"""
    first = "import cuarena\n" + program
    first += (
        "try:\n    cuarena.Arena('pol=1')\nexcept cuarena.InvalidArgumentError:\n    print('ok')"
    )
    done = subprocess.run([sys.executable, "-c", first], capture_output=True, text=True)
    assert "one interpreter of a process" in done.stdout + done.stderr
    assert done.stdout.endswith("ok\n"), done.stderr
