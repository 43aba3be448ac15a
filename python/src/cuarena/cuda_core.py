"""cuda.core on arenas: an arena as a memory resource.

>>> import cuarena, cuarena.cuda_core
>>> from cuda.core import Device
>>> device = Device()
>>> device.set_current()
>>> resource = cuarena.cuda_core.MemoryResource(cuarena.Arena(memory="device", preset="grow"))
>>> buffer = resource.allocate(1000000, stream=device.create_stream())
"""

from __future__ import annotations

from typing import Any

from ._arena import Arena
from ._frameworks import FrameworkError, require

__all__ = ["FrameworkError", "MemoryResource"]

OLDEST = "1.0"
_core = require("cuda.core", "cuda.core", OLDEST)


class MemoryResource(_core.MemoryResource):  # type: ignore[misc, name-defined]
    """Buffers of cuda.core that are blocks of an arena.

    Parameters
    ----------
    arena
        The arena, which the resource keeps.

    Notes
    -----
    `Arena.release_stream` before a stream is destroyed that buffers were
    allocated or freed on.
    """

    def __init__(self, arena: Arena) -> None:
        if not isinstance(arena, Arena):
            raise TypeError(f"arena={arena!r} is none; expected: a cuarena.Arena")
        self.arena = arena
        self._properties = arena.properties

    def allocate(self, size: int, *, stream: Any) -> Any:
        """Allocate a buffer on a stream.

        Parameters
        ----------
        size
            In bytes.
        stream
            The stream that uses it.

        Returns
        -------
        cuda.core.Buffer
            It is freed on the stream that it is closed on, by default this one.
        """
        address = self.arena.alloc_address(size, stream)
        return _core.Buffer.from_handle(address, size, self, stream=stream)

    def deallocate(self, ptr: Any, size: int, *, stream: Any) -> None:
        """Free a buffer at this point of a stream; cuda.core calls it."""
        self.arena.free_address(int(ptr), stream)

    @property
    def device_id(self) -> int:
        """int: The number of the arena's device; -1 if it has none."""
        device = self._properties.device
        return -1 if device is None else device

    @property
    def is_device_accessible(self) -> bool:
        """bool: Whether kernels reach the bytes."""
        return self._properties.device is not None

    @property
    def is_host_accessible(self) -> bool:
        """bool: Whether the CPU reaches the bytes."""
        return self._properties.host_readable

    @property
    def is_managed(self) -> bool:
        """bool: Whether the driver moves the bytes to who touches them."""
        return self._properties.memory == "managed"
