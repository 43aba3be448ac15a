"""What benchmarks on a device found, as bench/tables and bench/plot read it.

A results file is one run: a JSON object a line, the first of kind "machine".
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "results"

# What the records call these, and the documents.
NAMES = {
    "cuarena device, pointers": "ours, pointers",
    "cuarena device, blocks": "ours, blocks",
    "cuarena device, pointers on a stream": "ours, pointers on a stream",
    "cuarena device, blocks on a stream": "ours, blocks on a stream",
    "cuarena device, pointers, placement=low": "ours, placement=low",
    "cuarena managed, pointers": "ours, managed, pointers",
    "cuarena managed, blocks": "ours, managed, blocks",
    "cuarena device, pool": "ours, pool",
    "cuarena device, grow": "ours, grow",
    "cuarena device, bfc": "ours, bfc",
    "cuarena device, bfc, exact": "ours, bfc, exact",
    "cuarena device, mlx-cuda": "ours, mlx-cuda",
    "cuarena device, cupy-pool": "ours, cupy-pool",
    "cuarena device, driver-pool": "ours, driver-pool",
    "cuarena host, mlx-cpu": "ours, mlx-cpu on host memory",
    "none": "ours, addresses alone",
    "device": "ours, device memory",
    "device streams": "ours, device memory, streams",
    "mutex": "our heap behind a mutex",
    "driver streams": "cuMemAllocAsync, streams",
    "pytorch": "PyTorch's allocator, streams",
    "cuarena device, stable": "ours, stable",
    "cuarena device, dynamic": "ours, dynamic",
}


class Run:
    """One results file."""

    def __init__(self, path):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        self.machine = lines[0]
        self.records = lines[1:]
        if self.machine.get("kind") != "machine":
            sys.exit(f"{path}: the first record is not of kind 'machine'")

    def find(self, **wanted):
        """The records that have these members."""
        return [
            record
            for record in self.records
            if all(record.get(key) == value for key, value in wanted.items())
        ]

    def one(self, **wanted):
        """The record that has these members; None if there is none."""
        found = self.find(**wanted)
        if len(found) > 1:
            sys.exit(f"{self.machine['bench']}: {wanted} is not one record")
        return found[0] if found else None

    def values(self, key, **wanted):
        """The different values of a member, in the order of the records."""
        return list(dict.fromkeys(r[key] for r in self.find(**wanted)))


def load(folder, name):
    """The run NAME.json of a folder; None if there is none."""
    path = Path(folder) / f"{name}.json"
    return Run(path) if path.exists() else None


def name_of(who):
    """How the documents call a contender."""
    return NAMES.get(who, who)


def size_of(count):
    """1 MiB and the like."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or count % 1024:
            break
        count //= 1024
    return f"{count} {unit}"


def number(value):
    """Three digits, as long as that is sensible."""
    if value < 0:
        return "-" + number(-value)
    if value >= 100:
        return f"{value:.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}"
