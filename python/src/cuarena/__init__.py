"""Arenas of GPU and CPU memory: taken once, handed out in blocks by the host.

An `Arena` takes large stretches of memory of a GPU or of the host, and hands
out blocks of them without a call of the driver or the system. A `Block` is a
tensor for whoever takes DLPack, ``__cuda_array_interface__`` or, of memory that
the CPU reaches, buffers.
"""

from ._arena import Arena, pinned
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
from ._frameworks import FrameworkError
from ._native import Block, Capture
from ._native import version as __version__
from .stats import (
    CacheStats,
    CompactReport,
    DeviceInfo,
    DriverInfo,
    Move,
    Properties,
    Stats,
    device_info,
    driver_info,
)

__all__ = [
    "Arena",
    "ArenaBusyError",
    "ArenaError",
    "ArenaLostError",
    "Block",
    "CacheStats",
    "Capture",
    "CompactReport",
    "DeviceInfo",
    "DriverError",
    "DriverInfo",
    "FrameworkError",
    "InvalidArgumentError",
    "Move",
    "NoDeviceError",
    "OutOfMemoryError",
    "Properties",
    "StaleBlockError",
    "Stats",
    "UnsupportedError",
    "__version__",
    "device_info",
    "driver_info",
    "pinned",
]
