"""Arenas of GPU and CPU memory: taken once, handed out in blocks by the host."""

from ._arena import Arena
from ._errors import (
    ArenaBusyError,
    ArenaError,
    ArenaLostError,
    DriverError,
    InvalidArgumentError,
    NoDeviceError,
    OutOfMemoryError,
    StaleBlockError,
    UnsupportedError,
)
from ._native import Block
from ._native import version as __version__

__all__ = [
    "Arena",
    "ArenaBusyError",
    "ArenaError",
    "ArenaLostError",
    "Block",
    "DriverError",
    "InvalidArgumentError",
    "NoDeviceError",
    "OutOfMemoryError",
    "StaleBlockError",
    "UnsupportedError",
    "__version__",
]
