"""Arenas."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, SupportsIndex

from . import _errors, _native
from ._native import Block, Capture
from ._numbers import size
from ._texts import option_pairs, text
from ._texts import path as as_path
from .stats import CacheStats, CompactReport, Move, Properties, Stats, _properties

__all__ = ["Arena", "Block", "pinned"]

_UNLIMITED = 2**64 - 1
_LIMITS = {"reserved": 0, "live": 1, "cached": 2, "soft": 3, "threshold": 4}
_REGIONS = {"all": -1, "dynamic": 0, "stable": 1}
_FORMATS = {"json": 0, "pytorch": 1}


class Arena(_native.Arena):
    """Memory of a GPU or of the host that is taken once and handed out in blocks.

    Any thread may call anything; calls of the C library run without the GIL.

    Parameters
    ----------
    options
        Options as one text, such as ``"memory=device,pool=80%"``.
    **more
        Options by name; they come after the text. ``True`` is 1. The
        documentation of the C library (docs/options.md) has all of them.

    Raises
    ------
    InvalidArgumentError
        For an unknown option, or a value that is not accepted; the message
        names both, and what would be.
    OutOfMemoryError
        If the memory has not so much.
    NoDeviceError, DriverError, UnsupportedError
        If the memory cannot be had; the message says why.

    Examples
    --------
    >>> with Arena(pool="64MiB") as arena:
    ...     block = arena.alloc(1000000)
    ...     block.free()
    """

    def __init__(self, options: str = "", /, **more: object) -> None:
        super().__init__(text(options, "options"), option_pairs(more))
        self._tags: dict[str, int] = {}

    def __enter__(self) -> Arena:
        if self.closed:
            raise _errors.InvalidArgumentError("the arena is closed")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # After an error, whoever still has blocks ends the arena with the last.
        if error is None:
            self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<cuarena.Arena, closed>"
        stats = self.stats()
        return (
            f"<cuarena.Arena of {self.properties.memory} memory: {stats.live_bytes} bytes live "
            f"in {stats.live_blocks} blocks, {stats.reserved_bytes} reserved>"
        )

    # ---- Blocks ---------------------------------------------------------------

    def alloc(
        self,
        nbytes: SupportsIndex,
        *,
        stream: Any = None,
        movable: bool = False,
        zeroed: bool = False,
        alignment: SupportsIndex = 0,
        tag: str | None = None,
        stable: bool = False,
        dedicated: bool = False,
    ) -> Block:
        """Allocate a block.

        Parameters
        ----------
        nbytes
            Its size; 0 gives a live, empty block.
        stream
            The stream that uses the block, and on which it is freed: an object
            with ``__cuda_stream__``, a stream of PyTorch or CuPy, or a
            ``cudaStream_t`` as an int. With ``None`` the block is everybody's
            at once, and nothing may use it any more when it is freed. The
            stream must live until `release_stream`.
        movable
            Whether compaction may move the block while it is not pinned.
        zeroed
            Whether the bytes read as 0.
        alignment
            A power of two; 0 is the arena's.
        tag
            What the block is for, in statistics and leak reports.
        stable
            Whether it goes into the stable region, where nothing ever moves.
        dedicated
            Whether it gets a segment of its own, which goes back with it.

        Returns
        -------
        Block
            The block, which is freed on its stream when nobody refers to it
            any more, or by `Block.free`.

        Raises
        ------
        OutOfMemoryError
            If there is no room; the attributes tell what there was, and the
            message what was tried.
        """
        number = self._tag_number(tag) if tag is not None else 0
        return self._alloc(
            size(nbytes, "nbytes"),
            stream,
            movable,
            zeroed,
            size(alignment, "alignment"),
            number,
            stable,
            dedicated,
        )

    def _tag_number(self, name: str) -> int:
        number = self._tags.get(text(name, "tag"))
        if number is None:
            number = self._tags[name] = self._tag(name)
        return number

    def alloc_address(self, nbytes: SupportsIndex, stream: Any = None) -> int:
        """Allocate without an object that frees, for allocators of frameworks.

        Parameters
        ----------
        nbytes
            The size; 0 gives 0.
        stream
            As that of `alloc`.

        Returns
        -------
        int
            The address, which is for `free_address`.
        """
        return self._alloc_address(size(nbytes, "nbytes"), stream)

    def free_address(self, address: SupportsIndex, stream: Any = None) -> None:
        """Free what `alloc_address` gave, at this point of a stream.

        Parameters
        ----------
        address
            The address; 0 is nothing.
        stream
            The stream that used the bytes last; ``None``: nothing uses them.

        Raises
        ------
        StaleBlockError
            If nothing of this arena begins there.
        InvalidArgumentError
            If a `Block` does, which frees itself.
        """
        self._free_address(size(address, "address"), stream)

    # ---- Bytes that move -----------------------------------------------------------

    def compact(
        self,
        callback: Callable[[list[Move]], object] | None = None,
        *,
        goal_bytes: SupportsIndex = 0,
        goal_alignment: SupportsIndex = 0,
        max_bytes: SupportsIndex | None = None,
        max_moves: SupportsIndex | None = None,
        batch_moves: SupportsIndex | None = None,
        stream: Any = None,
        streams: Iterable[Any] = (),
    ) -> CompactReport:
        """Slide the movable blocks that are not pinned together.

        Parameters
        ----------
        callback
            Told of the moves of each batch, after they were queued; the blocks
            have their new addresses then. If it returns what is false, but not
            ``None``, the compaction ends. What it raises ends it too, and is raised here.
        goal_bytes
            Move until a block of this size fits; 0: move all.
        goal_alignment
            Of that block; 0 is the arena's.
        max_bytes, max_moves, batch_moves
            The most bytes moved, blocks moved, and blocks told in one call.
        stream
            The stream on which the copies are queued; streams that use moved
            blocks wait for them. ``None``: they are done when this returns.
        streams
            Streams that use blocks which were allocated without one.

        Returns
        -------
        CompactReport

        Raises
        ------
        OutOfMemoryError
            If no moves within these limits make room for the goal; none was
            made then.
        """
        answer = self._compact(
            _told(callback),
            size(goal_bytes, "goal_bytes"),
            size(goal_alignment, "goal_alignment"),
            _most(max_bytes, "max_bytes"),
            _most(max_moves, "max_moves"),
            _most(batch_moves, "batch_moves"),
            stream,
            _streams(streams),
        )
        return CompactReport(*answer[:6], stopped=bool(answer[6]))

    def on_moves(self, callback: Callable[[list[Move]], object] | None) -> None:
        """Set who is told of moves that no call of `compact` reports.

        Those are of `resize_pool`, and of the compaction before a request is
        refused (option ``compact_on_oom``). What it raises is written to
        `sys.unraisablehook`.

        Parameters
        ----------
        callback
            As that of `compact`, but its answer is ignored; ``None``: nobody.
        """
        self._set_relocation_callback(_told(callback))

    def on_out_of_memory(self, handler: Callable[[int, int], object] | None) -> None:
        """Set who is asked to free something before a request is refused.

        Parameters
        ----------
        handler
            Called with the bytes asked for, and how often it was called for
            this request. If what it returns is true it has freed something, and
            the request is tried again. What it raises is written to
            `sys.unraisablehook`, and counts as nothing freed. ``None``: nobody.
        """
        self._set_oom_handler(_callable(handler, "handler"))

    def capture(self, stream: Any) -> Capture:
        """Begin a session, in which what is allocated on a stream is private.

        A graph uses the blocks that its kernels were captured with at each
        launch, whatever was freed meanwhile; so nobody else gets their bytes
        before `Capture.release`.

        Parameters
        ----------
        stream
            The stream that is captured, from now on or already.

        Returns
        -------
        Capture
            For one ``with`` around the capture. A session that nobody refers to
            any more lasts until the arena is closed.

        Raises
        ------
        InvalidArgumentError
            For the legacy default stream, and no stream.
        ArenaBusyError
            If the stream is in a session, or its capture has failed.

        Examples
        --------
        >>> with arena.capture(stream) as session:  # doctest: +SKIP
        ...     stream.begin_capture()
        ...     ...
        ...     graph = stream.end_capture()
        >>> session.release(stream)  # doctest: +SKIP
        """
        return self._capture(stream)

    # ---- Bytes that go back ------------------------------------------------------------

    def trim(self, keep_bytes: SupportsIndex = 0) -> int:
        """Give idle bytes back to the memory, until so many are reserved.

        It waits for no stream; see `trim_on`.

        Returns
        -------
        int
            How many bytes went back.
        """
        return self._trim(size(keep_bytes, "keep_bytes"), None, False)

    def trim_on(self, stream: Any = None, keep_bytes: SupportsIndex = 0) -> int:
        """Give what was freed on a stream back to the memory, after a wait for it.

        Parameters
        ----------
        stream
            ``None``: all streams, and idle bytes.
        keep_bytes
            How many bytes stay reserved.

        Returns
        -------
        int
            How many bytes went back.
        """
        return self._trim(size(keep_bytes, "keep_bytes"), stream, True)

    def reclaim(self, *, wait: bool = False) -> int:
        """Make what streams are done with everybody's; return how many bytes."""
        return self._reclaim(wait)

    def resize_pool(self, nbytes: SupportsIndex | str) -> None:
        """Make a pool larger or smaller, in place or by moving all blocks."""
        self._resize_pool(_bytes(nbytes, "nbytes"))

    def release_stream(self, stream: Any) -> None:
        """Forget a stream, as the program must before it destroys it.

        Blocks that were allocated on it live on. Freed on another stream, as by
        ``block.free(other)``, they are used again behind it; a block that nobody
        refers to any more, or that is freed without one, is everybody's at once.
        """
        self._release_stream(stream)

    # ---- Limits -------------------------------------------------------------------------

    def set_limit(
        self,
        limit: SupportsIndex | str | None,
        kind: Literal["reserved", "live", "cached", "soft", "threshold"] = "reserved",
    ) -> int | None:
        """Set a limit.

        Parameters
        ----------
        limit
            Bytes, or a text such as ``"80%"`` or ``"12GiB"``; ``None``: none.
        kind
            Of what: bytes taken from the memory, of live blocks, of cached
            blocks, of both, or what a pool of the driver's keeps.

        Returns
        -------
        int or None
            The limit before, in bytes; ``None`` if there was none.

        Raises
        ------
        InvalidArgumentError
            If it is below what lives: that would refuse every request.
        """
        number = _choice(_LIMITS, kind, "kind")
        old = self._set_limit(
            number, limit if isinstance(limit, str) else str(_most(limit, "limit"))
        )
        if kind in ("reserved", "live", "soft"):
            self._check_limit(number, old)
        return None if old == _UNLIMITED else old

    def _check_limit(self, number: int, old: int) -> None:
        limit, live = self._get_limit(number), self._stats(-1)["live_bytes"]
        if limit < live:
            self._set_limit(number, str(old))
            raise _errors.InvalidArgumentError(
                f"a limit of {limit} bytes is below the {live} bytes that live; "
                "expected: no less, after freeing some"
            )

    def get_limit(
        self, kind: Literal["reserved", "live", "cached", "soft", "threshold"] = "reserved"
    ) -> int | None:
        """Tell a limit in bytes; ``None`` if there is none."""
        limit = self._get_limit(_choice(_LIMITS, kind, "kind"))
        return None if limit == _UNLIMITED else limit

    # ---- Figures --------------------------------------------------------------------------

    def stats(self, region: Literal["all", "dynamic", "stable"] = "all") -> Stats:
        """Tell what there is now, and was at most; in constant time."""
        return Stats(**self._stats(_choice(_REGIONS, region, "region")))

    def tag_stats(self, tag: str) -> Stats:
        """Tell live and requested bytes, counts and peaks of one tag."""
        return Stats(**self._tag_stats(self._tag_number(tag)))

    def cache_stats(self) -> CacheStats:
        """Tell what the cache of an arena with ``keep=cache`` has and did."""
        return CacheStats(**self._cache_stats())

    @property
    def properties(self) -> Properties:
        """Properties: what the memory is and can do."""
        return _properties(self._properties())

    # ---- Seeing it --------------------------------------------------------------------------

    def snapshot(
        self, path: str | os.PathLike[str], format: Literal["json", "pytorch"] = "json"
    ) -> None:
        """Write all that there is at this moment into a file.

        Parameters
        ----------
        path
            The file, which is replaced.
        format
            ``"json"``, or ``"pytorch"`` for PyTorch's memory viewer.
        """
        self._snapshot(as_path(path, "path"), _choice(_FORMATS, format, "format"))

    @contextlib.contextmanager
    def trace(self, path: str | os.PathLike[str]) -> Iterator[None]:
        """Record what is asked of the arena, for the ``cuarena`` command.

        Parameters
        ----------
        path
            The file: CSV, or gzip if its name ends in ``.gz``.
        """
        self._trace_begin(as_path(path, "path"))
        try:
            yield
        finally:
            if not self.closed:
                self._trace_end()

    def validate(self) -> None:
        """Recompute every counter and link; ArenaError if anything disagrees."""
        self._validate()

    def check_guards(self) -> None:
        """Look at the guards of all blocks (options ``guard``, ``quarantine``)."""
        self._check()


@contextlib.contextmanager
def pinned(block: Block, stream: Any = None) -> Iterator[int]:
    """Keep a movable block where it is for a while, and give its address.

    Parameters
    ----------
    block
        The block.
    stream
        The stream that uses it meanwhile.
    """
    if not isinstance(block, Block):
        raise TypeError(f"block={block!r} is none; expected: a cuarena.Block")
    address = block.pin(stream)
    try:
        yield address
    finally:
        block.unpin(stream)


def _choice(choices: Mapping[str, int], name: str, what: str) -> int:
    if not isinstance(name, str) or name not in choices:
        raise _errors.InvalidArgumentError(
            f"{what}={name!r} is not known; expected: one of {', '.join(choices)}"
        )
    return choices[name]


def _most(value: SupportsIndex | None, what: str) -> int:
    return _UNLIMITED if value is None else size(value, what)


def _bytes(value: SupportsIndex | str, what: str) -> int:
    if not isinstance(value, str):
        return size(value, what)
    try:
        return _native.parse_bytes(text(value, what))
    except _errors.InvalidArgumentError as error:
        raise _errors.InvalidArgumentError(f"{what}={value!r}: {error}") from None


def _callable(function: Any, what: str) -> Any:
    if function is not None and not callable(function):
        raise TypeError(f"{what}={function!r} cannot be called; expected: a function, or None")
    return function


def _told(callback: Callable[[list[Move]], object] | None) -> Any:
    """Make a function that is told of moves as tuples."""
    if _callable(callback, "callback") is None:
        return None
    return lambda moves: callback([Move(*move) for move in moves])  # type: ignore[misc]


def _streams(streams: Iterable[Any]) -> tuple[Any, ...]:
    try:
        return tuple(streams)
    except TypeError:
        raise TypeError(f"streams={streams!r} is no list; expected: streams in one") from None
