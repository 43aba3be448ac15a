"""Passes tensors to another process and back: one line of JSON, as child.py's.

    ipc.py ALLOCATOR [--steps N] [--warm N]

A step hands a tensor to a process that doubles it in place; its sum is the loss.
What an allocator refuses with an error is told as such. ALLOCATOR may also be
cuarena-pool: a pool behind PyTorch's own allocator.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from typing import Any

import torch
import torch.multiprocessing as mp

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import child  # noqa: E402

SIZE = 16 << 20  # numbers of four bytes
SECONDS = 30


def double(come: Any, done: Any) -> None:
    """Be the other process: double what comes, until nothing does."""
    while True:
        tensor = come.get(timeout=SECONDS)
        if tensor is None:
            return
        tensor.mul_(2)
        torch.cuda.synchronize()
        del tensor
        done.put(True)


def hand_over(come: Any, done: Any, steps: int, warm: int) -> dict[str, Any]:
    """Hand a tensor over in each step."""
    tensor = torch.ones(SIZE, device="cuda")
    torch.cuda.synchronize()
    times, losses = [], []
    for _ in range(warm + steps):
        begin = time.perf_counter()
        come.put(tensor)
        done.get(timeout=SECONDS)
        times.append(time.perf_counter() - begin)
        losses.append(tensor.double().sum().item())
    expected = [float(SIZE * 2 ** (step + 1)) for step in range(warm + steps)]
    if losses != expected:
        raise RuntimeError(f"the tensor sums to {losses}, expected: {expected}")
    return {
        "times": times[warm:],
        "losses": child.digest(losses),
        "reserved": torch.cuda.max_memory_reserved(),
        "allocated": torch.cuda.max_memory_allocated(),
        "used": torch.cuda.max_memory_reserved(),
    }


def allocator_of(name: str) -> contextlib.AbstractContextManager[Any]:
    """Choose the allocator."""
    if name != "cuarena-pool":
        child.choose(name)
        return contextlib.nullcontext()
    import cuarena.torch

    child.choose("default")
    return cuarena.torch.pool("4GiB", options="backing=malloc", report=False)


def shared(allocator: str, steps: int, warm: int) -> dict[str, Any]:
    """Start the other process, and hand tensors to it, if that can be."""
    with allocator_of(allocator):
        try:
            torch.ones(1, device="cuda").untyped_storage()._share_cuda_()
        except RuntimeError as error:
            return {"refused": str(error).splitlines()[0]}
        context = mp.get_context("spawn")
        come, done = context.Queue(), context.Queue()
        other = context.Process(target=double, args=(come, done), daemon=True)
        other.start()
        try:
            return hand_over(come, done, steps, warm)
        finally:
            come.put(None)
            other.join(SECONDS)


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("allocator")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--warm", type=int, default=4)
    parsed = parser.parse_args()
    try:
        result = shared(parsed.allocator, parsed.steps, parsed.warm)
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"[:600]}
    head = {"allocator": parsed.allocator, "workload": "ipc"}
    print(json.dumps({**head, **result}), flush=True)


if __name__ == "__main__":
    main()
