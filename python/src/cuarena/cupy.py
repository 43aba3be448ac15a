"""CuPy on arenas: its arrays, and its pinned memory.

    >>> import cuarena.cupy
    >>> pool = cuarena.cupy.enable()
    >>> pool.stats().live_bytes
    0

Arrays are allocated on the current stream of the current device, and freed on
the same stream. Each device has an arena, which is made when it is first used.
`MemoryPool` has the methods of CuPy's own, so that programs which ask their
pool for figures and limits go on as they are. CuPy's memory hooks are not
called.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
import warnings
from typing import Any

from . import _errors, _native
from ._arena import Arena
from ._frameworks import FrameworkError, require
from ._texts import join_options, text
from .stats import Stats

__all__ = [
    "FrameworkError",
    "MemoryPool",
    "PinnedMemoryPool",
    "disable",
    "enable",
]

OLDEST = "13.0"
_DEFAULTS = "memory=device,preset=grow"
_PINNED_DEFAULTS = "memory=pinned,preset=grow"
_MAX_STREAMS = 126
_UNLIMITED = 2**64 - 1


class MemoryPool(_native.CupyPool):
    """An allocator for CuPy, with the methods of ``cupy.cuda.MemoryPool``.

    A pool may be used beside others, as with ``cupy.cuda.using_allocator``.

    Parameters
    ----------
    options
        Options of the arenas, after ``memory=device,preset=grow``; not
        ``device``. ``CUPY_GPU_MEMORY_LIMIT`` sets the limit unless these do.
    **more
        Options by name.

    Raises
    ------
    FrameworkError
        If CuPy is not there, or too old.

    Notes
    -----
    A stream that arrays were allocated on must live as long as the arena knows
    it. So the pool keeps the objects of CuPy's streams, until nobody else has
    them and no array of theirs lives. It cannot do that for an
    ``ExternalStream``: call `release_stream` before such a one is destroyed. An
    arena knows at most 126 streams at a time.
    """

    def __init__(self, options: str = "", /, **more: object) -> None:
        if "device" in more or "device=" in text(options, "options"):
            raise _errors.InvalidArgumentError(
                "device is not an option here: each device that CuPy uses gets an arena"
            )
        self._cupy = require("cupy", "CuPy", OLDEST)
        self._options = ",".join(
            text
            for text in (_DEFAULTS, _limit_of_environment(), join_options(options, more))
            if text
        )
        _native.check_options(self._options)
        self._arenas: dict[int, Arena] = {}
        self._streams: dict[tuple[int, int], Any] = {}
        self._lock = threading.RLock()  # of these two
        memory = self._cupy.cuda.memory
        super().__init__(
            _memory_type(memory.UnownedMemory),
            memory.MemoryPointer,
            _function("cupy_backends.cuda.api.runtime", "getDevice"),
            _function("cupy_backends.cuda.stream", "get_current_stream_ptr"),
            self._cupy.cuda.runtime.getDevice,
            self._cupy.cuda.get_current_stream,
            self._streams,
        )

    # ---- Arenas -----------------------------------------------------------------

    def arena(self, device: int | None = None) -> Arena:
        """Give the arena of a device; by default of the current one.

        It is made if there is none yet.
        """
        if device is None:
            device = int(self._cupy.cuda.runtime.getDevice())
        self._add_device(device)
        return self._arenas[device]

    def stats(self, device: int | None = None) -> Stats:
        """Tell the figures of a device; by default of the current one."""
        return self.arena(device).stats()

    def _add_device(self, device: int) -> None:
        with self._lock:
            if device not in self._arenas:
                self._arenas[device] = arena = self._new_arena(device)
                self._set_arena(device, arena)

    def _new_arena(self, device: int) -> Arena:
        arena = Arena(f"{self._options},device={device}")
        if not re.search(r"(^|,)\s*limit\s*=", self._options):
            arena.set_limit(None)  # as in CuPy, the device is the limit
        return arena

    # ---- Streams -------------------------------------------------------------------

    def release_stream(self, stream: Any) -> None:
        """Forget a stream, as a program must before it destroys one of its own.

        Parameters
        ----------
        stream
            A stream of CuPy, on whose arrays nobody works any more.

        Raises
        ------
        ArenaBusyError
            While arrays that were allocated on it live.
        """
        for device in list(self._arenas):
            live = self._live(device, stream.ptr)
            if live:
                raise _errors.ArenaBusyError(
                    f"{live} arrays that were allocated on the stream live; "
                    "expected: none, when a stream is released"
                )
            self._release(device, stream.ptr)

    def _release(self, device: int, handle: int) -> None:
        with self._lock:
            self._arenas[device].release_stream(handle)
            self._forget(device, handle)
            self._streams.pop((device, handle), None)

    def _add_stream(self, device: int, handle: int) -> None:
        """Keep the stream, which the arena does not know yet, from now on."""
        with self._lock:
            self._keep_stream(device, handle)

    def _keep_stream(self, device: int, handle: int) -> None:
        self._release_unused(device)
        known = sum(1 for other, _ in self._streams if other == device)
        if known >= _MAX_STREAMS - 2:
            raise _errors.ArenaBusyError(
                f"arrays on {known} streams of device {device} live, or their streams are in use; "
                f"expected: at most {_MAX_STREAMS - 2}"
            )
        stream = self._cupy.cuda.get_current_stream()
        if handle > 2 and stream.ptr == handle:
            self._streams[device, handle] = stream

    def _release_unused(self, device: int) -> None:
        for key in [key for key in self._streams if key[0] == device]:
            if not self._live(*key) and _is_last_reference(self._streams, key):
                self._release(*key)

    # ---- As CuPy's pool ------------------------------------------------------------------

    def _refused(self, size: int, error: _errors.ArenaError) -> Any:
        """Collect garbage and try again, as CuPy's pool does before it gives up."""
        gc.collect()
        try:
            return self._malloc(size)
        except MemoryError:
            limit = self.get_limit()
            raise self._cupy.cuda.memory.OutOfMemoryError(
                size, self.total_bytes(), limit
            ) from error

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give free bytes back to the device.

        Parameters
        ----------
        stream
            Only those that were freed on this stream; ``None``: all. The
            caller waits for the stream, or for all.
        """
        self.arena().trim_on(stream)

    def free_all_free(self) -> None:
        """Give free bytes back to the device: as `free_all_blocks` (deprecated)."""
        warnings.warn(
            "free_all_free is deprecated: use free_all_blocks", DeprecationWarning, stacklevel=2
        )
        self.free_all_blocks()

    def n_free_blocks(self) -> int:
        """Count the free ranges."""
        return self.stats().free_ranges

    def used_bytes(self) -> int:
        """Tell the bytes of arrays that live, rounded up."""
        return self.stats().live_bytes

    def free_bytes(self) -> int:
        """Tell the bytes that are reserved and free."""
        return self.stats().free_bytes

    def total_bytes(self) -> int:
        """Tell the bytes that are taken from the device."""
        return self.stats().reserved_bytes

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Set the most bytes to take from the current device.

        Parameters
        ----------
        size
            Bytes; 0, or neither of the two: no limit.
        fraction
            A part of all that the device has.

        Raises
        ------
        InvalidArgumentError
            For both at once, a size below 0 or a fraction above 1, and below
            what lives.
        """
        if size is not None and fraction is not None:
            raise _errors.InvalidArgumentError("size and fraction exclude each other")
        if fraction is not None:
            if not 0 <= fraction <= 1:
                raise _errors.InvalidArgumentError(
                    f"fraction={fraction} is out of range; expected: 0 to 1"
                )
            self.arena().set_limit(f"{fraction * 100:.3f}%" if fraction else None)
            return
        if size is not None and size < 0:
            raise _errors.InvalidArgumentError(f"size={size} is out of range; expected: 0 or more")
        self.arena().set_limit(size or None)

    def get_limit(self) -> int:
        """Tell the limit of the current device; 0 if there is none."""
        return self.arena().get_limit() or 0


class PinnedMemory:
    """What a ``cupy.cuda.PinnedMemoryPointer`` points into."""

    __slots__ = ("_block", "ptr", "size")

    def __init__(self, arena: Arena, size: int) -> None:
        self._block = arena.alloc(size)
        self.ptr = self._block.address
        self.size = size

    def __int__(self) -> int:
        return self.ptr

    def free(self) -> None:
        """Free the bytes; nothing may use them any more."""
        if self.ptr:
            self._block.free()
        self.ptr = self.size = 0


class PinnedMemoryPool:
    """An allocator for CuPy's pinned memory.

    CuPy keeps what a copy uses until its stream is done, so blocks are freed
    without a stream.

    Parameters
    ----------
    options
        Options of the arena, after ``memory=pinned,preset=grow``.
    **more
        Options by name.
    """

    def __init__(self, options: str = "", /, **more: object) -> None:
        self._cupy = require("cupy", "CuPy", OLDEST)
        text = join_options(options, more)
        self.arena = Arena(f"{_PINNED_DEFAULTS},{text}" if text else _PINNED_DEFAULTS)

    def malloc(self, size: int) -> Any:
        """Allocate; a PinnedMemoryPointer."""
        memory = PinnedMemory(self.arena, size)
        return self._cupy.cuda.PinnedMemoryPointer(memory, 0)

    def free_all_blocks(self) -> None:
        """Give free bytes back to the system."""
        self.arena.trim()

    def n_free_blocks(self) -> int:
        """Count the free ranges."""
        return self.arena.stats().free_ranges

    def stats(self) -> Stats:
        """Tell the figures of the arena."""
        return self.arena.stats()


_enabled: tuple[MemoryPool, Any] | None = None


def enable(options: str = "", /, *, pinned: bool | str = True, **more: object) -> MemoryPool:
    """Let CuPy allocate from arenas, from now on.

    Arrays that are there already stay where they are. On a device memory is
    taken as requests need it; ``limit="80%"`` bounds it, and
    ``preset="pool", pool="16GiB"`` takes it at once.

    Parameters
    ----------
    options
        Options of the arenas, as those of `MemoryPool`.
    pinned
        Whether pinned memory comes from an arena too; or the options of that.
    **more
        Options by name.

    Returns
    -------
    MemoryPool
        The pool, for figures and limits.

    Raises
    ------
    FrameworkError
        If CuPy is not there, or too old.
    ArenaBusyError
        If it is enabled already.
    InvalidArgumentError, NoDeviceError, OutOfMemoryError
        If the arena of the current device cannot be had as asked.
    """
    global _enabled
    if _enabled:
        raise _errors.ArenaBusyError(
            "cuarena.cupy is enabled already; expected: disable() before it is enabled anew"
        )
    pool = MemoryPool(options, **more)
    cuda = pool._cupy.cuda
    pool.arena()
    pinned_pool = PinnedMemoryPool("" if pinned is True else str(pinned)) if pinned else None
    before = cuda.get_allocator()
    cuda.set_allocator(pool.malloc)
    if pinned_pool:
        cuda.set_pinned_memory_allocator(pinned_pool.malloc)
    _enabled = pool, before
    return pool


def disable() -> None:
    """Let CuPy allocate as before `enable`; nothing is done if it is not enabled.

    Arrays live on, and their arena with them. Pinned memory is that of CuPy's
    default pool again.
    """
    global _enabled
    if not _enabled:
        return
    pool, before = _enabled
    _enabled = None
    cupy = pool._cupy
    cupy.cuda.set_allocator(before)
    cupy.cuda.set_pinned_memory_allocator(cupy.get_default_pinned_memory_pool().malloc)


# ---- What CuPy has -------------------------------------------------------------------


def _memory_type(unowned: type) -> type:
    """Make the type of arrays' memory, which can be freed as CuPy's pooled one."""

    def free(self: Any) -> None:
        """Free the bytes now, for the stream that they were allocated on."""
        if self._owner is not None:
            self._owner.free()

    return type("ArenaMemory", (unowned,), {"__slots__": (), "free": free})


def _function(module: str, name: str) -> object:
    """Give a function that a module of CuPy's offers to other extensions.

    It is ``None`` where there is none: the pool then calls Python instead.
    """
    try:
        offered = vars(__import__(module, fromlist=["_"])).get("__pyx_capi__", {})
    except ImportError:
        return None
    return offered.get(name)


def _references(table: dict[Any, Any], key: Any) -> int:
    return sys.getrefcount(table[key])


_ONE_REFERENCE = _references({0: object()}, 0)


def _is_last_reference(table: dict[Any, Any], key: Any) -> bool:
    return _references(table, key) <= _ONE_REFERENCE


def _limit_of_environment() -> str:
    """Read CUPY_GPU_MEMORY_LIMIT as CuPy does: bytes, or a percentage."""
    text = os.environ.get("CUPY_GPU_MEMORY_LIMIT", "").strip()
    if not text or text in ("0", "0%"):
        return ""
    return f"limit={text}"
