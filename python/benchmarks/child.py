"""Runs workloads in this process, with one allocator: a line of JSON for each.

    child.py ALLOCATOR --turns [--warm N]
    child.py ALLOCATOR --caps NAME... [--steps N]

With --turns it does what it is told by lines, `begin NAME', `steps N' or `end',
and answers each: several processes take turns in that way, a few steps each.
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
from collections.abc import Iterator
from typing import Any, TextIO

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


def bind(rank: int = 0) -> list[int]:
    """Stay on four processors, the same for all allocators: a step is the host's work.

    Which ones a process began on tells more than its allocator otherwise. The
    first four are left to the rest of the machine; a small one is left as it is.
    """
    there = sorted(os.sched_getaffinity(0))
    mine = there[4 * (rank + 1) : 4 * (rank + 2)]
    if len(mine) < 4:
        return []
    os.sched_setaffinity(0, mine)
    return mine


def spread(mine: list[int]) -> None:
    """Give the main thread the first of the processors, and all other threads the rest.

    So that is the same one for each allocator: two of a machine may differ by half.
    """
    for thread in map(int, os.listdir("/proc/self/task") if mine else []):
        os.sched_setaffinity(thread, mine[:1] if thread == os.getpid() else mine[1:])


def used_bytes(device: int = 0) -> int:
    """Tell what the device has given to everybody, whatever an allocator says."""
    import torch

    free, total = torch.cuda.cudart().cudaMemGetInfo(device)
    return total - free


def driver_calls() -> int:
    """Tell how often arenas called the driver; 0 where there are none."""
    if "cuarena.torch" not in sys.modules:
        return 0
    import cuarena.torch

    return cuarena.torch.stats()["driver_calls"] if cuarena.torch.enabled() else 0


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


class Run:
    """One workload as it runs, and what it took."""

    def __init__(self, name: str, warm: int, processors: list[int]) -> None:
        from workloads import WORKLOADS

        fresh()
        self.times: list[float] = []
        self.losses: list[float] = []
        # Of the device, by this process, as others do nothing meanwhile; now and at most.
        self.used, self.most = 0, 0
        before = used_bytes()
        self.workload = WORKLOADS[name]()
        self.steps(warm, before)
        spread(processors)
        self.times.clear()
        self.calls = driver_calls()

    def steps(self, count: int, before: int | None = None) -> None:
        """Do some steps."""
        import torch

        before = used_bytes() if before is None else before
        here = self.used
        for _ in range(count):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            loss = next(self.workload)
            torch.cuda.synchronize()
            self.times.append(time.perf_counter() - begin)
            self.losses.append(float(loss))
            self.used = here + used_bytes() - before
            self.most = max(self.most, self.used)

    def end(self) -> dict[str, Any]:
        """End it, and tell what it took."""
        import torch

        self.workload.close()  # type: ignore[attr-defined]
        return {
            "times": self.times,
            "losses": digest(self.losses),
            "reserved": torch.cuda.max_memory_reserved(),
            "allocated": torch.cuda.max_memory_allocated(),
            "used": self.most,
            "driver_calls": driver_calls() - self.calls,
        }


def run(name: str, steps: int) -> dict[str, Any]:
    """Run one workload from its first step on, and tell what it took."""
    begun = Run(name, 0, [])
    begun.steps(steps)
    return begun.end()


def finishes(name: str, steps: int, cap: int) -> bool:
    """Whether a workload finishes with so many bytes."""
    import torch

    total = torch.cuda.get_device_properties(0).total_memory
    fresh()
    torch.cuda.set_per_process_memory_fraction(min(cap / total, 1.0))
    try:
        run(name, steps)
        return True
    except torch.OutOfMemoryError:
        return False
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def smallest_cap(name: str, steps: int) -> dict[str, Any]:
    """Look for the smallest cap, to 1 % or 16 MiB."""
    found = run(name, steps)
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


def failed(error: Exception) -> dict[str, Any]:
    """Tell what went wrong; one failure must not hide the rest."""
    traceback.print_exc()
    return {"error": f"{type(error).__name__}: {error}"[:600]}


def obey(orders: TextIO, warm: int, processors: list[int]) -> Iterator[dict[str, Any]]:
    """Do what is told, line by line, and give the answers."""
    begun: Run | None = None
    for order in orders:
        what, *words = order.split()
        try:
            if what == "begin":
                begun = Run(words[0], warm, processors)
            elif what == "steps" and begun:
                begun.steps(int(words[0]))
            elif what == "end" and begun:
                ended, begun = begun.end(), None
                yield ended
                continue
            yield {}
        except Exception as error:
            begun = None
            yield failed(error)


def look_for_caps(names: list[str], steps: int) -> Iterator[dict[str, Any]]:
    """Give the smallest cap of each workload."""
    for name in names:
        try:
            yield {"workload": name, **smallest_cap(name, steps)}
        except Exception as error:
            yield {"workload": name, **failed(error)}


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("allocator")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warm", type=int, default=4)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--turns", action="store_true")
    kind.add_argument("--caps", action="store_true")
    parsed = parser.parse_args()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    processors = bind() if parsed.turns else []
    choose(parsed.allocator)
    if parsed.turns:
        answers = obey(sys.stdin, parsed.warm, processors)
    else:
        answers = look_for_caps(parsed.names, parsed.steps)
    for answer in answers:
        print(json.dumps({"allocator": parsed.allocator, **answer}), flush=True)


if __name__ == "__main__":
    main()
