"""Records of what benchmarks found: a JSON object a line, the first tells the machine.

    record.py FILE BENCH LOG    a record of what pytest's logs count

bench/python makes the tables of the documents from them.
"""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "cuarena",
    "torch",
    "cupy-cuda13x",
    "cupy-cuda12x",
    "onnxruntime",
    "numpy",
    "numba-cuda",
    "cuda-core",
    "rmm-cu13",
    "rmm-cu12",
)
Record = dict[str, Any]


def versions() -> dict[str, str]:
    """Tell the versions of the packages that are here."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name.split("-cuda1")[0].split("-cu1")[0]] = version(name)
        except PackageNotFoundError:
            continue
    return found


def revision() -> str:
    """Tell of which revision the bundle is that this file lies in."""
    file = Path(__file__).resolve().parent.parent / "revision"
    return file.read_text().strip() if file.exists() else "unknown"


def cards() -> list[list[str]]:
    """Tell name, driver and memory of each card, without a use of CUDA in this process."""
    ask = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        told = subprocess.run(ask, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.split(", ") for line in told.splitlines() if line.strip()]


def cpu() -> str:
    """Tell the name of the processor."""
    try:
        told = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        told = None
    return told.group(1) if told else platform.processor()


def machine(bench: str) -> Record:
    """Tell what was run, when, and on what."""
    found = cards() or [["no card", "none", "0 MiB"]]
    return {
        "kind": "machine",
        "bench": bench,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "revision": revision(),
        "command": os.environ.get("CUARENA_COMMAND") or " ".join(map(os.path.basename, sys.argv)),
        "device": found[0][0],
        "cards": len(found),
        "driver": found[0][1],
        "memory": found[0][2],
        "host": f"{cpu()}, {os.cpu_count()} cores",
        "versions": versions(),
    }


def spread(values: list[float]) -> Record:
    """Give all values, their median, and the least and most."""
    return {
        "runs": values,
        "median": statistics.median(values),
        "low": min(values),
        "high": max(values),
    }


def write(path: str | None, lines: list[Record]) -> None:
    """Write a record anew: what is there stays whole if this process is ended."""
    if not path:
        return
    with open(f"{path}.new", "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    os.replace(f"{path}.new", path)


def counts(text: str) -> Record:
    """Add up what runs of pytest say in their last lines."""
    total: Counter[str] = Counter()
    for line in re.findall(r"^(?:=+ )?(\d+ (?:passed|failed|skipped|error).* in .*)$", text, re.M):
        for number, what in re.findall(r"(\d+) (passed|failed|skipped|error)", line):
            total[what] += int(number)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.M)
    return {"kind": "tests", **total, "failures": sorted(set(failed))}


if __name__ == "__main__":
    write(sys.argv[1], [machine(sys.argv[2]), counts(Path(sys.argv[3]).read_text())])
