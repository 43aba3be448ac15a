#!/usr/bin/env python3
"""Snapshots in the format of PyTorch's, of a small allocator that works as its does.

    snapshot.py KIND PROTOCOL SNAPSHOT EXPECTED

writes a snapshot by a protocol of pickle, and the trace that it comes to, without the ids: op, size,
stream, time, address and reserved of each line.

Kinds: whole, ring, expandable, late, devices, unrecorded, code.
"""

import pickle
import random
import sys

MIB = 1 << 20
FRAME = {"filename": "model.py", "line": 12, "name": "forward"}


class Allocator:
    """One device. Blocks are [address, size, requested, state], in order, in segments."""

    def __init__(self, device, entries, expandable=False):
        self.device, self.most, self.expandable = device, entries, expandable
        self.segments, self.ring, self.truth = [], [], []
        self.now, self.next, self.recording = 1_700_000_000_000_000, 0x7F0000000000, False

    def reserved(self):
        return sum(s["blocks"][-1][0] + s["blocks"][-1][1] - s["address"] for s in self.segments)

    def record(self, action, address, size, stream, truth=None):
        """`truth` is what the trace has of it: an operation, or nothing."""
        self.now += 7
        if not self.recording:
            return
        key = "device_free" if action == "oom" else "addr"
        entry = {"action": action, key: address, "size": size, "stream": stream}
        entry.update(time_us=self.now, compile_context="N/A", user_metadata="", frames=[FRAME])
        self.ring.append(entry)
        self.truth.append(truth and (truth, size, stream, self.now, address, self.reserved()))

    def grow(self, size, stream):
        size = -(-size // (2 * MIB)) * 2 * MIB
        segment = {"address": self.next, "stream": stream, "blocks": [[self.next, size, 0, "inactive"]]}
        self.segments.append(segment)
        self.next += size + 2 * MIB
        action = "segment_map" if self.expandable else "segment_alloc"
        self.record(action, segment["address"], size, stream)
        return segment

    def alloc(self, size, stream=0):
        rounded = -(-size // 512) * 512
        for segment in [s for s in self.segments if s["stream"] == stream] + [None]:
            segment = segment or self.grow(rounded, stream)
            for i, block in enumerate(segment["blocks"]):
                if block[3] != "inactive" or block[1] < rounded:
                    continue
                rest = [block[0] + rounded, block[1] - rounded, 0, "inactive"]
                block[1:] = [rounded, size, "active_allocated"]
                segment["blocks"][i + 1 : i + 1] = [rest] if rest[1] else []
                self.record("alloc", block[0], size, stream, "a")
                return block[0]

    def find(self, address):
        return next((s, b) for s in self.segments for b in s["blocks"] if b[0] == address)

    def request_free(self, address):
        segment, block = self.find(address)
        block[3] = "active_awaiting_free"
        self.record("free_requested", address, block[2], segment["stream"])

    def complete_free(self, address):
        segment, block = self.find(address)
        requested, block[2:] = block[2], [0, "inactive"]
        self.record("free_completed", address, requested, segment["stream"], "f")
        merged = []
        for block in segment["blocks"]:
            if merged and merged[-1][3] == block[3] == "inactive":
                merged[-1][1] += block[1]
            else:
                merged.append(block)
        segment["blocks"] = merged

    def free(self, address):
        self.request_free(address)
        self.complete_free(address)

    def empty_cache(self):
        for segment in [s for s in self.segments if len(s["blocks"]) == 1]:
            if segment["blocks"][0][3] == "inactive":
                self.segments.remove(segment)
                action = "segment_unmap" if self.expandable else "segment_free"
                self.record(action, segment["address"], segment["blocks"][0][1], segment["stream"])

    def live(self):
        return [(s, b) for s in self.segments for b in s["blocks"] if b[3] != "inactive"]

    def dict_of(self, segment):
        blocks, keys = [], ("address", "size", "requested_size", "state")
        for block in segment["blocks"]:
            blocks.append({**dict(zip(keys, block)), "frames": [FRAME]})
        live = [b for b in segment["blocks"] if b[3] != "inactive"]
        return {
            "device": self.device,
            "address": segment["address"],
            "total_size": sum(b[1] for b in segment["blocks"]),
            "allocated_size": sum(b[1] for b in live if b[3] == "active_allocated"),
            "active_size": sum(b[1] for b in live),
            "requested_size": sum(b[2] for b in live),
            "stream": segment["stream"],
            "segment_type": "large",
            "segment_pool_id": (0, 0),
            "is_expandable": self.expandable,
            "frames": [],
            "blocks": blocks,
        }

    def snapshot(self):
        """The segments, the entries that the ring kept, and the lines of the trace."""
        before = self.reserved()
        self.record("snapshot", 0, sum(b[1] for _, b in self.live()), 0)
        segments = [self.dict_of(s) for s in self.segments]
        ring, truth = self.ring[-self.most :], self.truth[-self.most :]
        signs = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
        before -= sum(signs.get(e["action"], 0) * e["size"] for e in ring)
        return segments, ring, self.lines(truth, before)

    def lines(self, truth, before):
        truth = [line for line in truth if line]
        older, seen = [], set()
        for op, size, stream, _, address, _ in truth:
            if op == "f" and address not in seen:
                older.append((size, stream, address))
            seen.add(address)
        older += [(b[2], s["stream"], b[0]) for s, b in self.live() if b[0] not in seen]
        first = truth[0][3] if truth else 0
        older = [("a", size, stream, first, address, before) for size, stream, address in older]
        return older + truth


def work(allocator, steps, seed):
    """A program of its own mind, which ends with blocks that live and some that wait."""
    choose, streams = random.Random(seed), [0, 0x55AA0010, 0x55AA0020]
    live, waiting = [b[0] for _, b in allocator.live() if b[3] == "active_allocated"], []
    for step in range(steps):
        chance = choose.random()
        if chance < 0.55 or not live:
            size = choose.choice([1, 300, 4096, 100_000, 3 * MIB, 5 * MIB + 1])
            live.append(allocator.alloc(size, choose.choice(streams)))
        elif chance < 0.9:
            allocator.free(live.pop(choose.randrange(len(live))))
        elif chance < 0.95:
            waiting.append(live.pop(choose.randrange(len(live))))
            allocator.request_free(waiting[-1])
        elif waiting:
            allocator.complete_free(waiting.pop(0))
        else:
            allocator.empty_cache()
        if step % 40 == 17:
            allocator.record("oom", 12345, 1 << 40, 0)


def recorded(kind):
    """The allocators of the devices, after their programs."""
    entries = 60 if kind == "ring" else 1 << 30
    allocators = [Allocator(d, entries, kind == "expandable") for d in range(3)]
    for allocator in allocators if kind == "devices" else allocators[:1]:
        work(allocator, 30 if kind in ("late", "ring") else 0, 1)
        allocator.recording = kind != "unrecorded" and allocator.device != 1
        work(allocator, 400, 2 + allocator.device)
    return allocators


class Code:
    """What a pickle can do to who loads it."""

    def __reduce__(self):
        return print, ("executed",)


def main():
    kind, protocol, path, expected = sys.argv[1:]
    parts = [allocator.snapshot() for allocator in recorded(kind)]
    snapshot = {
        "segments": [segment for segments, _, _ in parts for segment in segments],
        "device_traces": [ring for _, ring, _ in parts],
        "allocator_settings": {
            "PYTORCH_CUDA_ALLOC_CONF": "",
            "max_split_size": -1,
            "garbage_collection_threshold": 0.0,
            "expandable_segments": kind == "expandable",
            "roundup_power2_divisions": {"1": 0, "256": 0},
            "id": 1 << 70,
        },
        "external_annotations": [],
    }
    if kind == "code":
        snapshot["external_annotations"] = [Code()]
    with open(path, "wb") as out:
        pickle.dump(snapshot, out, protocol=int(protocol))
    streams = {}
    with open(expected, "w", encoding="ascii") as out:
        for op, size, stream, time, address, reserved in parts[2 if kind == "devices" else 0][2]:
            stream = streams.setdefault(stream, len(streams))
            out.write(f"{op},{size},{stream},{time * 1000},0x{address:x},{reserved}\n")


if __name__ == "__main__":
    main()
