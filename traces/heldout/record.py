#!/usr/bin/env python3
"""Record what PyTorch programs ask of their GPU memory allocator.

Each program runs in a process of its own, because allocations that an earlier
one left behind would be part of its trace. The programs are small stand-ins
for common kinds of work; sizes come from a fixed seed, so two recordings on
the same versions and device differ little or not at all.

Takes a GPU and PyTorch; how the traces beside this file were made is said in
../README.md.
"""

import argparse
import gzip
import os
import random
import subprocess
import sys

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = "cuda"
SEED = 1
MAX_EVENTS = 2_000_000


class Attention(nn.Module):
    """A transformer block; `cache` is a [keys, values] pair that grows."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x, cache=None):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x))
        qkv = qkv.view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        if cache is not None:
            if cache[0] is not None:
                k = torch.cat([cache[0], k], 2)
                v = torch.cat([cache[1], v], 2)
            cache[0], cache[1] = k, v
        whole = q.shape[2] == k.shape[2]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=whole)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Residual(nn.Module):
    """Two convolutions with a bypass."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.norm = nn.GroupNorm(8, outputs)
        self.bypass = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x):
        return self.bypass(x) + self.second(F.silu(self.norm(self.first(x))))


class UNet(nn.Module):
    """Four levels down, three up, joined at each level."""

    def __init__(self):
        super().__init__()
        widths = [64, 128, 256, 512]
        self.begin = nn.Conv2d(3, 64, 3, padding=1)
        self.down = nn.ModuleList(
            [Residual(widths[max(i - 1, 0)], widths[i]) for i in range(4)]
        )
        self.up = nn.ModuleList(
            [
                Residual(widths[i] + widths[i - 1], widths[i - 1])
                for i in (3, 2, 1)
            ]
        )
        self.end = nn.Conv2d(64, 3, 1)

    def forward(self, x):
        x = self.begin(x)
        skipped = []
        for level in self.down:
            x = level(x)
            skipped.append(x)
            x = F.avg_pool2d(x, 2)
        x = skipped.pop()
        for level, skip in zip(self.up, reversed(skipped)):
            x = level(torch.cat([F.interpolate(x, skip.shape[-2:]), skip], 1))
        return self.end(x)


def llm_serve():
    """Transformer inference: continuous batches, growing keys and values."""
    blocks = [Attention(1024, 16) for _ in range(12)]
    model = nn.ModuleList(blocks).to(DEVICE).half()
    live = []
    with torch.no_grad():
        for _ in range(60):
            if len(live) < 6 and random.random() < 0.5:
                caches = [[None, None] for _ in model]
                live.append(
                    (caches, random.randint(16, 700), random.randint(5, 40))
                )
            for caches, prompt, _ in list(live):
                length = prompt if caches[0][0] is None else 1
                x = torch.randn(
                    1, length, 1024, device=DEVICE, dtype=torch.half
                )
                for block, cache in zip(model, caches):
                    x = block(x, cache)
            live = [(c, p, left - 1) for c, p, left in live if left > 1]
    return locals()


def unet_train():
    """U-Net training: batch and resolution change each step."""
    model = UNet().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(40):
        batch = random.choice([4, 8, 12])
        side = random.choice([96, 128, 160, 192, 224])
        x = torch.randn(batch, 3, side, side, device=DEVICE)
        F.mse_loss(model(x), x).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return locals()


def lstm_varlen():
    """LSTM training: batch and sequence length change each step."""
    model = nn.LSTM(256, 512, 3, batch_first=True).to(DEVICE)
    head = nn.Linear(512, 8000).to(DEVICE)
    parameters = list(model.parameters()) + list(head.parameters())
    optimizer = torch.optim.Adam(parameters)
    for _ in range(80):
        batch, length = random.randint(8, 64), random.randint(10, 220)
        x = torch.randn(batch, length, 256, device=DEVICE)
        y, _ = model(x)
        F.cross_entropy(
            head(y).flatten(0, 1),
            torch.randint(8000, (batch * length,), device=DEVICE),
        ).backward()
        optimizer.step()
        optimizer.zero_grad()
    return locals()


def vit_ckpt():
    """Vision transformer: checkpointed activations, accumulated gradients."""
    from torch.utils.checkpoint import checkpoint

    model = nn.ModuleList([Attention(768, 12) for _ in range(12)]).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9)
    for _ in range(12):
        for _ in range(3):
            batch = random.choice([16, 24, 32])
            x = torch.randn(batch, 197, 768, device=DEVICE, requires_grad=True)
            with torch.autocast("cuda", torch.bfloat16):
                for block in model:
                    x = checkpoint(block, x, use_reentrant=False)
                loss = x.float().pow(2).mean()
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return locals()


def gnn():
    """Graph network training: another graph each step."""
    layers = [nn.Linear(128, 128).to(DEVICE) for _ in range(5)]
    optimizer = torch.optim.Adam([p for w in layers for p in w.parameters()])
    for _ in range(150):
        nodes = random.randint(5000, 60000)
        edges = nodes * random.randint(4, 12)
        x = torch.randn(nodes, 128, device=DEVICE)
        source = torch.randint(nodes, (edges,), device=DEVICE)
        target = torch.randint(nodes, (edges,), device=DEVICE)
        for layer in layers:
            x = F.relu(
                layer(torch.zeros_like(x).index_add(0, target, x[source]))
            )
        x.mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return locals()


def detect():
    """Detector inference: ragged results, some of them kept a while."""
    layers = [
        nn.Conv2d(
            3 if i == 0 else 64, 64, 3, stride=2 if i % 2 else 1, padding=1
        )
        for i in range(6)
    ]
    model = nn.Sequential(*layers).to(DEVICE)
    kept = []
    with torch.no_grad():
        for _ in range(200):
            batch = random.choice([1, 2, 4])
            height = random.randrange(320, 1280, 32)
            width = random.randrange(320, 1280, 32)
            x = torch.randn(batch, 3, height, width, device=DEVICE)
            found = model(x)
            scores = found.flatten(1).sort(1, descending=True)[0][
                :, : random.randint(100, 2000)
            ]
            for row in scores:
                boxes = torch.rand(row.numel(), 4, device=DEVICE)
                apart = (boxes[:, None] - boxes[None]).abs().sum(-1)
                kept.append((boxes[apart.min(1)[0] < 0.1], row.clone()))
            if len(kept) > 40:
                del kept[: random.randint(1, 30)]
    return locals()


def multi_opt():
    """Two models trained in turn, with an evaluation now and then."""
    layers = [
        nn.Sequential(nn.Linear(2048, 2048), nn.GELU()) for _ in range(8)
    ]
    one = nn.Sequential(*layers).to(DEVICE)
    other = nn.ModuleList([Attention(512, 8) for _ in range(6)]).to(DEVICE)
    one_optimizer = torch.optim.Adam(one.parameters())
    other_optimizer = torch.optim.Adam(other.parameters())
    for step in range(60):
        for _ in range(random.randint(1, 3)):
            length = random.randint(100, 4000)
            one(torch.randn(length, 2048, device=DEVICE)).mean().backward()
            one_optimizer.step()
            one_optimizer.zero_grad()
        batch, length = random.randint(2, 16), random.randint(50, 600)
        x = torch.randn(batch, length, 512, device=DEVICE)
        for block in other:
            x = block(x)
        x.mean().backward()
        other_optimizer.step()
        other_optimizer.zero_grad()
        if step % 10 == 9:
            with torch.no_grad():
                lengths = [random.randint(500, 6000) for _ in range(8)]
                results = [
                    one(torch.randn(length, 2048, device=DEVICE))
                    for length in lengths
                ]
                torch.cat(results).std()
    return locals()


PROGRAMS = {
    program.__name__: program
    for program in (
        llm_serve,
        unet_train,
        lstm_varlen,
        vit_ckpt,
        gnn,
        detect,
        multi_opt,
    )
}


# What an entry does to what PyTorch has reserved.
RESERVING = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}


def events(history, reserved):
    """The allocator's history as lines of a trace; `reserved` bytes before it."""
    ids, streams, count = {}, {}, 0
    for entry in history:
        stream = streams.setdefault(entry["stream"], len(streams))
        size, address = entry["size"], entry["addr"]
        reserved += RESERVING.get(entry["action"], 0) * size
        if entry["action"] == "alloc":
            ids[address] = count
            yield f"a,{count},{size},{stream},{reserved}\n"
            count += 1
        elif entry["action"] == "free_completed" and address in ids:
            yield f"f,{ids.pop(address)},{size},{stream},{reserved}\n"


def record(name, folder):
    """Run one program in this process and write its trace."""
    torch.manual_seed(SEED)
    random.seed(SEED)
    torch.cuda.init()
    torch.zeros(1, device=DEVICE)
    torch.cuda.empty_cache()
    torch.cuda.memory._record_memory_history(
        max_entries=MAX_EVENTS, context=None, stacks="python"
    )
    reserved = torch.cuda.memory_reserved()
    # Held until the history was read: a trace ends while the program lives.
    held = PROGRAMS[name]()
    torch.cuda.synchronize()
    history = torch.cuda.memory._snapshot()["device_traces"][0]
    lines = list(events(history, reserved))
    del held
    path = os.path.join(folder, name + ".csv.gz")
    with gzip.open(path, "wt") as out:
        out.write("op,id,size,stream,pytorch_reserved\n")
        out.writelines(lines)
    peak = torch.cuda.max_memory_allocated() >> 20
    reserved = torch.cuda.max_memory_reserved() >> 20
    print(
        f"{path}: {len(lines)} events, peak {peak} MiB, "
        f"reserved {reserved} MiB",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="programs:\n"
        + "\n".join(f"  {n:12} {p.__doc__}" for n, p in PROGRAMS.items()),
    )
    parser.add_argument("folder", help="where PROGRAM.csv.gz is written")
    parser.add_argument(
        "programs",
        nargs="*",
        metavar="PROGRAM",
        help="what to record; all of them if none is named",
    )
    arguments = parser.parse_args()
    names = arguments.programs or list(PROGRAMS)
    for name in names:
        if name not in PROGRAMS:
            parser.error(f"no program '{name}': {', '.join(PROGRAMS)}")
    if not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU")
    if len(names) == 1:
        return record(names[0], arguments.folder)
    for name in names:
        command = [sys.executable, __file__, arguments.folder, name]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
