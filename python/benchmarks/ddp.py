"""Trains on two GPUs with DistributedDataParallel: one line of JSON, as child.py's.

ddp.py ALLOCATOR [--steps N] [--warm N]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import child  # noqa: E402
import workloads  # noqa: E402


def train(rank: int, steps: int, warm: int) -> dict[str, Any]:
    """Train with the other ranks."""
    torch.cuda.set_device(rank)
    before = child.used_bytes(rank)
    workloads.DEVICE = "cuda"
    torch.manual_seed(7)
    model = workloads.Transformer(16384, 512, 4, 8, 256, causal=True).to("cuda")
    parallel = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.AdamW(parallel.parameters(), 1e-4)
    torch.manual_seed(rank)
    times, losses = [], []
    for step in range(warm + steps):
        tokens = torch.randint(16384, (16, 128 + 16 * (step % 8)), device="cuda")
        torch.cuda.synchronize()
        begin = time.perf_counter()
        loss = workloads.train(parallel, workloads.token_loss(parallel, tokens), optimizer)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
        losses.append(loss.item())
    return {
        "times": times[warm:],
        "losses": child.digest(losses),
        "reserved": torch.cuda.max_memory_reserved(),
        "allocated": torch.cuda.max_memory_allocated(),
        "used": child.used_bytes(rank) - before,
    }


def rank_main(rank: int, allocator: str, steps: int, warm: int) -> None:
    """Be one of the two processes."""
    child.bind(rank)
    child.choose(allocator)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ["DDP_PORT"])
    dist.init_process_group("nccl", rank=rank, world_size=2)
    result = train(rank, steps, warm)
    dist.destroy_process_group()
    if rank == 0:
        print(json.dumps({"allocator": allocator, "workload": "ddp", **result}), flush=True)


def main() -> None:
    """Start both processes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("allocator")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--warm", type=int, default=4)
    parsed = parser.parse_args()
    os.environ["DDP_PORT"] = str(29500 + os.getpid() % 1000)
    if parsed.allocator in child.SETTINGS:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = child.SETTINGS[parsed.allocator]
    mp.spawn(rank_main, (parsed.allocator, parsed.steps, parsed.warm), nprocs=2)


if __name__ == "__main__":
    main()
