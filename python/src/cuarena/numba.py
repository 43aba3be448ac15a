"""Numba on arenas: device arrays of numba-cuda.

    >>> import cuarena.numba
    >>> cuarena.numba.enable(limit="4GiB")

or, without a change of the program, ``NUMBA_CUDA_MEMORY_MANAGER=cuarena.numba``.

Numba does not say which stream uses an array, so arrays are freed on the legacy
default stream, which waits for all others but those that were made not to wait
for it, and their bytes are used again when its work so far is done. Memory of
the host stays Numba's own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from . import _errors, _native, _numbers
from ._arena import Arena
from ._frameworks import FrameworkError, require
from ._texts import join_options
from .stats import device_info

__all__ = ["FrameworkError", "MemoryManager", "arena", "enable"]

OLDEST = "0.20"
_DEFAULTS = "memory=device,preset=grow"
_LEGACY = 0

_version = getattr(require("numba_cuda", "numba-cuda", OLDEST), "__version__", "0")
_cuda = require("numba.cuda", "numba-cuda", OLDEST, _version)

_options = _DEFAULTS
_arenas: dict[int, Arena] = {}


class MemoryManager(_cuda.HostOnlyCUDAMemoryManager):  # type: ignore[misc, name-defined]
    """What Numba asks for device memory; one for each context."""

    def initialize(self) -> None:
        """Make the arena of the context's device, if there is none."""
        device = int(self.context.device.id)
        if device not in _arenas:
            _arenas[device] = Arena(f"{_options},device={device}")
        self._arena = _arenas[device]

    def reset(self) -> None:
        """End the arena: the context goes, with all that was allocated in it."""
        super().reset()
        arena = _arenas.pop(int(self.context.device.id), None)
        if arena is not None:
            arena._end()

    def memalloc(self, size: int) -> Any:
        """Allocate; a MemoryPointer, which arrays and their views keep."""
        address = self._arena.alloc_address(size)
        return _cuda.MemoryPointer(
            self.context,
            ctypes.c_void_p(address),
            size,
            finalizer=_finalizer(self._arena, address),
        )

    def get_ipc_handle(self, memory: Any) -> Any:
        """Not offered: the handle would be of the arena's segment."""
        raise NotImplementedError("arrays of an arena have no IPC handle")

    def get_memory_info(self) -> Any:
        """Tell the bytes that are free, in the arena and on the device, and all."""
        found = device_info(int(self.context.device.id))
        free = found.free_bytes + self._arena.stats().free_bytes
        return _cuda.MemoryInfo(free=free, total=found.total_bytes)

    @property
    def interface_version(self) -> int:
        """int: The version of Numba's interface."""
        return 1


def arena(device: int = 0) -> Arena:
    """Give the arena of a device.

    Raises
    ------
    InvalidArgumentError
        If Numba has not allocated there yet.
    """
    device = _numbers.device(device)
    if device not in _arenas:
        raise _errors.InvalidArgumentError(
            f"device {device} has no arena; expected: one on which Numba has a context"
        )
    return _arenas[device]


def enable(options: str = "", /, **more: object) -> None:
    """Let Numba allocate from arenas; before its first use of a device.

    Parameters
    ----------
    options
        Options of the arenas, after ``memory=device,preset=grow``.
    **more
        Options by name.

    Raises
    ------
    FrameworkError
        If numba-cuda is not there, or too old.
    InvalidArgumentError
        If an option is wrong.
    ArenaBusyError
        If Numba uses a device already.
    """
    global _options
    if _arenas or _uses_a_device():
        raise _errors.ArenaBusyError(
            "Numba uses a device already; expected: enable() before its first array or kernel"
        )
    text = join_options(options, more)
    chosen = f"{_DEFAULTS},{text}" if text else _DEFAULTS
    _native.check_options(chosen)
    _options = chosen
    _cuda.set_memory_manager(MemoryManager)


def _uses_a_device() -> bool:
    from numba.cuda.cudadrv import driver

    devices = getattr(driver.driver, "devices", {})
    return any(device.primary_context is not None for device in devices.values())


def _finalizer(arena: Arena, address: int) -> Callable[[], None]:
    def free() -> None:
        if address and not arena.closed:
            arena.free_address(address, _LEGACY)

    return free


#: What NUMBA_CUDA_MEMORY_MANAGER looks for.
_numba_memory_manager = MemoryManager
