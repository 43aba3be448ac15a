"""Runs workloads in this process, with one allocator: a line of JSON for each.

    child.py ALLOCATOR NAME... [--steps N] [--warm N] [--caps]

With --caps it looks for the smallest cap under which each finishes.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import sys
import time
import traceback
from typing import Any

MIB = 1 << 20
SETTINGS = {"expandable": "expandable_segments:True", "async": "backend:cudaMallocAsync"}


def choose(allocator: str) -> None:
    """Set the allocator, before CUDA is used."""
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    if allocator in SETTINGS:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = SETTINGS[allocator]
    import torch

    if allocator == "cuarena":
        import cuarena.torch

        cuarena.torch.enable(report=False)
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.enable_cudnn_sdp(False)  # plans anew for each shape
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.deterministic = True
    torch.backends.cuda.matmul.allow_tf32 = True


def bind(rank: int = 0) -> None:
    """Stay on four processors, the same for all allocators: a step is the host's work.

    Which ones a process began on tells more than its allocator otherwise. The
    first four are left to the rest of the machine; a small one is left as it is.
    """
    there = sorted(os.sched_getaffinity(0))
    mine = there[4 * (rank + 1) : 4 * (rank + 2)]
    if len(mine) == 4:
        os.sched_setaffinity(0, mine)


def used_bytes(device: int = 0) -> int:
    """Tell what the device has given to everybody, whatever an allocator says."""
    import torch

    free, total = torch.cuda.cudart().cudaMemGetInfo(device)
    return total - free


def fresh() -> None:
    """Begin as if nothing had run before."""
    import torch

    gc.collect()
    torch.cuda.synchronize()
    # One for each handle and stream that ever multiplied, and never given back otherwise.
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.manual_seed(0)


def digest(losses: list[float]) -> str:
    """Tell losses apart, bit by bit."""
    return hashlib.sha256(" ".join(loss.hex() for loss in losses).encode()).hexdigest()[:16]


def run(name: str, steps: int, warm: int) -> dict[str, Any]:
    """Run one workload, and tell what it took."""
    import torch
    from workloads import WORKLOADS

    fresh()
    before, most = used_bytes(), 0
    times, losses = [], []
    workload = WORKLOADS[name]()
    for step in range(warm + steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        loss = next(workload)
        torch.cuda.synchronize()
        took = time.perf_counter() - begin
        if step >= warm:
            times.append(took)
        losses.append(float(loss))
        most = max(most, used_bytes() - before)
    workload.close()  # type: ignore[attr-defined]
    return {
        "times": times,
        "losses": digest(losses),
        "reserved": torch.cuda.max_memory_reserved(),
        "allocated": torch.cuda.max_memory_allocated(),
        "used": most,
    }


def finishes(name: str, steps: int, cap: int) -> bool:
    """Whether a workload finishes with so many bytes."""
    import torch

    total = torch.cuda.get_device_properties(0).total_memory
    fresh()
    torch.cuda.set_per_process_memory_fraction(min(cap / total, 1.0))
    try:
        run(name, steps, 0)
        return True
    except torch.OutOfMemoryError:
        return False
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def smallest_cap(name: str, steps: int) -> dict[str, Any]:
    """Look for the smallest cap, to 1 % or 16 MiB."""
    found = run(name, steps, 0)
    high = found["reserved"] + 2 * MIB
    low = found["allocated"] // 2
    while not finishes(name, steps, high):
        low, high = high, high * 5 // 4
    while high - low > max(16 * MIB, high // 100):
        middle = (low + high) // 2
        if finishes(name, steps, middle):
            high = middle
        else:
            low = middle
    return {"cap": high, "allocated": found["allocated"], "reserved": found["reserved"]}


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("allocator")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--warm", type=int, default=4)
    parser.add_argument("--caps", action="store_true")
    parsed = parser.parse_args()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    if not parsed.caps:
        bind()
    choose(parsed.allocator)
    for name in parsed.names:
        try:
            if parsed.caps:
                result = smallest_cap(name, parsed.steps)
            else:
                result = run(name, parsed.steps, parsed.warm)
        except Exception as error:  # one failure must not hide the rest
            traceback.print_exc()
            result = {"error": f"{type(error).__name__}: {error}"[:600]}
        print(json.dumps({"allocator": parsed.allocator, "workload": name, **result}), flush=True)


if __name__ == "__main__":
    main()
