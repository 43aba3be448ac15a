"""What torch.cuda answers about memory, from the figures of arenas.

PyTorch looks these functions of torch._C up at each call. With a pluggable
allocator each of its own raises.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from typing import Any

import torch

from .. import _torch as _calls


def _stat(current: int, peak: int, allocated: int, freed: int) -> dict[str, dict[str, int]]:
    """Make one entry of torch.cuda.memory_stats: an arena has one pool."""
    all_ = {"current": current, "peak": peak, "allocated": allocated, "freed": freed}
    none = dict.fromkeys(all_, 0)
    return {"all": all_, "small_pool": none, "large_pool": none}


def nested_stats(device: int) -> dict[str, Any]:
    """Answer for torch._C._cuda_memoryStats."""
    f = _calls.figures(device)
    rounding = f["live_bytes"] - f["requested_bytes"]
    blocks = _stat(f["live_blocks"], f["peak_live_blocks"], f["allocs"], f["frees"])
    freed = max(f["bytes_ever"] - f["requested_bytes"], 0)
    live = _stat(f["live_bytes"], f["peak_live_bytes"], f["bytes_ever"] + rounding, freed)
    idle = f["reserved_bytes"] - min(f["live_bytes"], f["reserved_bytes"])
    once = {"current": 0, "peak": 0, "allocated": 0, "freed": 0}
    return {
        "allocation": blocks,
        "active": blocks,
        "segment": _stat(f["segments"], f["segments"], f["grows"], f["trims"]),
        "inactive_split": _stat(0, 0, 0, 0),
        "allocated_bytes": live,
        "active_bytes": live,
        "requested_bytes": _stat(
            f["requested_bytes"], f["peak_requested_bytes"], f["bytes_ever"], freed
        ),
        "reserved_bytes": _stat(
            f["reserved_bytes"], f["peak_reserved_bytes"], f["peak_reserved_bytes"], 0
        ),
        "inactive_split_bytes": _stat(idle, idle, 0, 0),
        "oversize_allocations": once,
        "oversize_segments": once,
        "num_alloc_retries": 0,
        "num_ooms": f["failed"],
        "num_sync_all_streams": f["host_waits"],
        "num_device_alloc": f["grows"],
        "num_device_free": f["trims"],
        "max_split_size": -1,
    }


def snapshot(*_unused: Any) -> dict[str, Any]:
    """Answer for torch._C._cuda_memorySnapshot: all devices in one."""
    whole: dict[str, Any] = {
        "segments": [],
        "device_traces": [],
        "allocator_settings": {},
        "external_annotations": [],
    }
    for device in _calls.devices():
        one = _snapshot_of(device)
        whole["segments"] += one["segments"]
        whole["allocator_settings"] = one["allocator_settings"]
    whole["device_traces"] = [[] for _ in range(torch.cuda.device_count())]
    return whole


def _snapshot_of(device: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "arena.pickle")
        _calls.snapshot(device, path, 1)
        with open(path, "rb") as file:
            loaded = pickle.load(file)
    assert isinstance(loaded, dict)
    return loaded


def _index(device: Any) -> int:
    index = torch.cuda._utils._get_device_index(device, optional=True)
    assert isinstance(index, int)
    return index


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Answer for torch.cuda.mem_get_info: what an arena has free is free, up to its limit."""
    index = _index(device)
    free, total = torch.cuda.cudart().cudaMemGetInfo(index)
    f = _calls.figures(index)
    if f["limit_bytes"]:
        free += f["reserved_bytes"] - min(f["live_bytes"], f["reserved_bytes"])
        free = min(free, f["limit_bytes"] - min(f["live_bytes"], f["limit_bytes"]))
    return free, total


def memory_fraction(device: Any = None) -> float:
    """Answer for torch.cuda.get_per_process_memory_fraction."""
    index = _index(device)
    total = torch.cuda.cudart().cudaMemGetInfo(index)[1]
    limit = _calls.figures(index)["limit_bytes"]
    return min(limit / total, 1.0) if limit else 1.0


def install() -> None:
    """Put the answers where PyTorch looks for its own."""
    core = torch._C
    core._cuda_memoryStats = nested_stats
    core._cuda_resetPeakMemoryStats = _calls.reset_peaks
    core._cuda_resetAccumulatedMemoryStats = _calls.reset_accumulated
    core._cuda_memorySnapshot = snapshot
    core._cuda_getMemoryFraction = memory_fraction
    # PyTorch asks its own allocator, which is not in use, whether that has begun.
    core._accelerator_isAllocatorInitialized = torch.cuda.is_initialized
    core._accelerator_emptyCache = torch.cuda.empty_cache
    core._accelerator_getDeviceStats = nested_stats
    core._accelerator_resetPeakStats = _calls.reset_peaks
    core._accelerator_resetAccumulatedStats = _calls.reset_accumulated
    torch.cuda.memory.mem_get_info = mem_get_info
    torch.cuda.mem_get_info = mem_get_info
