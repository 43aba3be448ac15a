"""RMM on arenas, and so the libraries that allocate by RMM, such as cuDF.

    >>> import cuarena, cuarena.rmm, rmm
    >>> arena = cuarena.Arena(memory="device", preset="grow")
    >>> rmm.mr.set_current_device_resource(cuarena.rmm.resource(arena))

RMM calls Python for each allocation, which costs more than the arena does.
"""

from __future__ import annotations

from typing import Any

from ._arena import Arena
from ._frameworks import FrameworkError, require

__all__ = ["FrameworkError", "resource"]

OLDEST = "25.2"


def resource(arena: Arena) -> Any:
    """Make a resource of an arena.

    Parameters
    ----------
    arena
        Of device or managed memory. The resource keeps it.

    Returns
    -------
    rmm.mr.CallbackMemoryResource
        A request that the arena refuses is a MemoryError there.

    Raises
    ------
    FrameworkError
        If RMM is not there, or too old.
    """
    rmm = require("rmm", "RMM", OLDEST)
    if not isinstance(arena, Arena):
        raise TypeError(f"arena={arena!r} is none; expected: a cuarena.Arena")

    def allocate(size: int, stream: Any) -> int:
        return arena.alloc_address(size, stream)

    def deallocate(address: int, size: int, stream: Any) -> None:
        arena.free_address(address, stream)

    return rmm.mr.CallbackMemoryResource(allocate, deallocate)
