"""Figures of arenas and devices, as dataclasses.

Names and meanings are those of the C library's ``cuarena/stats.h``,
``cache.h``, ``device.h`` and ``driver.h``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, SupportsIndex

from . import _native
from ._numbers import device as _device

__all__ = [
    "CacheStats",
    "CompactReport",
    "DeviceInfo",
    "DriverInfo",
    "Move",
    "Properties",
    "Stats",
    "device_info",
    "driver_info",
]


@dataclass(frozen=True, slots=True)
class Stats:
    """What an arena, a region or a tag has now, and had at most.

    Sizes are in bytes. Peaks count since the arena was made or
    `Arena.reset_peaks`. Of a region or a tag the figures of the arena as a
    whole are 0.
    """

    #: Taken from the memory.
    reserved_bytes: int
    #: Live, cached and free bytes together.
    capacity_bytes: int
    #: Of live blocks, as allocated: rounded up.
    live_bytes: int
    #: Of live blocks, as asked for.
    requested_bytes: int
    free_bytes: int
    #: About the largest idle free range.
    largest_bytes: int
    live_blocks: int
    peak_reserved_bytes: int
    peak_live_bytes: int
    peak_requested_bytes: int
    peak_live_blocks: int
    allocs: int
    frees: int
    #: Requests that were refused.
    failed: int
    grows: int
    trims: int
    compactions: int
    #: Blocks that were moved.
    moves: int
    bytes_moved: int
    oom_handler_calls: int
    segments: int
    dedicated_bytes: int
    #: Of the host, for the arena's own records.
    bookkeeping_bytes: int
    #: Requests that got bytes of another stream.
    steals: int
    #: Waits of one stream for another that were queued.
    stream_waits: int
    #: Waits of a calling thread for a stream.
    host_waits: int
    captures: int
    captured_bytes: int
    memory_calls: int
    driver_calls: int
    free_ranges: int


@dataclass(frozen=True, slots=True)
class CacheStats:
    """The cache of an arena with ``keep=cache``; without one all is 0."""

    active_bytes: int
    cached_bytes: int
    cached_blocks: int
    peak_active_bytes: int
    peak_cached_bytes: int
    hits: int
    misses: int
    evicted_blocks: int


@dataclass(frozen=True, slots=True)
class Properties:
    """What the memory of an arena is and can do."""

    #: "pageable", "none", "device", "managed" or "pinned".
    memory: str
    #: How device memory gets its bytes: "vmm", "malloc" or "async"; "" elsewhere.
    backing: str
    #: The device's number; None where there is none.
    device: int | None
    #: Whether the CPU reaches the bytes.
    host_readable: bool
    #: Whether blocks can be exported to other processes.
    fd: bool
    rdma: bool
    fabric: bool
    #: How many other devices reach the bytes.
    peers: int
    #: Whether one kernel moves all blocks of a compaction.
    relocation_kernel: bool
    compute_capability: tuple[int, int]
    #: The memory gives and takes bytes in pages of so many.
    granularity: int
    handle_bytes: int
    #: Addresses and sizes of blocks are multiples of it.
    granule_bytes: int


@dataclass(frozen=True, slots=True)
class Move:
    """One block that compaction moved."""

    #: `Block.id` of the block.
    block: int
    source: int
    target: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class CompactReport:
    """What a compaction did."""

    #: Blocks that were moved.
    moves: int
    #: Copies that were made: neighbours are copied together.
    runs: int
    bytes_moved: int
    batches: int
    #: Of the largest free range.
    largest_before: int
    largest_after: int
    #: Whether the callback ended it.
    stopped: bool


@dataclass(frozen=True, slots=True)
class DriverInfo:
    """The driver that was found."""

    #: Of CUDA: 12040 is 12.4.
    version: int
    device_count: int
    library: str


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device that the driver shows."""

    name: str
    compute_major: int
    compute_minor: int
    multiprocessors: int
    #: Whether ``backing=vmm`` works.
    vmm: bool
    #: Whether ``backing=async`` works.
    pools: bool
    #: Whether ``memory=managed`` works.
    managed: bool
    #: ... and the CPU may touch it while the device runs.
    concurrent: bool
    total_bytes: int
    #: Now, in all processes.
    free_bytes: int


_MEMORIES = ("", "pageable", "none", "device", "managed", "pinned", "bytes", "custom")
_BACKINGS = ("", "vmm", "malloc", "async")


def _properties(found: dict[str, int]) -> Properties:
    """Make the dataclass of the C library's numbers."""
    return Properties(
        memory=_MEMORIES[found["memory"]],
        backing=_BACKINGS[found["backing"]],
        device=found["device"] if found["device"] >= 0 else None,
        host_readable=bool(found["host_readable"]),
        fd=bool(found["fd"]),
        rdma=bool(found["rdma"]),
        fabric=bool(found["fabric"]),
        peers=found["peers"],
        relocation_kernel=bool(found["relocation_kernel"]),
        compute_capability=(found["compute_major"], found["compute_minor"]),
        granularity=found["granularity"],
        handle_bytes=found["handle_bytes"],
        granule_bytes=found["granule_bytes"],
    )


def driver_info() -> DriverInfo:
    """Tell which driver there is.

    Raises
    ------
    NoDeviceError
        If there is none; the message says why.
    """
    return DriverInfo(**_native.driver_info())


def device_info(device: SupportsIndex = 0) -> DeviceInfo:
    """Tell what a device is and can do.

    Parameters
    ----------
    device
        Its number, as CUDA_VISIBLE_DEVICES leaves it.

    Raises
    ------
    InvalidArgumentError
        If the driver has no such device; the message says how many there are.
    NoDeviceError
        If there is no driver.
    """
    found: dict[str, Any] = _native.device_info(_device(device))
    for key in ("vmm", "pools", "managed", "concurrent"):
        found[key] = bool(found[key])
    return DeviceInfo(**found)
