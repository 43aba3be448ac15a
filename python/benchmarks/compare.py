#!/usr/bin/env python3
"""Compares arenas with PyTorch's allocators, in turns, each run in a process of its own.

    compare.py [--part PART] [--runs N] [--steps N] [--limit SECONDS] [--out FILE] [NAME...]

PART is compare (the default), caps, compile, ddp or ipc. A line is printed for
each workload as its run ends, and the record is written anew, so that what ends
this leaves what there is; then comes a table of medians and spreads. No run
begins when the time is over.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import record

HERE = os.path.dirname(os.path.abspath(__file__))
ALLOCATORS = ["default", "expandable", "async", "cuarena"]
NAMES = {
    "compare": ["gpt2", "bert", "resnet", "moe", "detection", "serving", "streams", "graph"],
    "caps": ["gpt2", "bert", "resnet", "moe", "detection", "serving", "streams", "graph"],
    "compile": ["compiled", "reduce_overhead"],
    "ddp": ["ddp"],
    "ipc": ["ipc"],
}
# What else shows how tensors get to other processes: a pool behind PyTorch's allocator.
MORE = {"ipc": ["cuarena-pool"]}
MIB = 1 << 20
Result = dict[str, Any]
Keep = Callable[[Result], None]


class Part:
    """One part: what it runs, and what came of it so far."""

    def __init__(self, parsed: argparse.Namespace) -> None:
        self.name: str = parsed.part
        self.names: list[str] = parsed.names or NAMES[self.name]
        self.allocators = ALLOCATORS + MORE.get(self.name, [])
        self.options = ["--steps", str(parsed.steps), "--warm", str(parsed.warm)]
        if self.name == "caps":
            self.options.append("--caps")
        self.runs: int = 1 if self.name == "caps" else parsed.runs
        self.end = time.monotonic() + parsed.limit
        self.out: str | None = parsed.out
        self.log = f"{parsed.out or 'compare'}.log"
        self.machine = record.machine(f"torch-{self.name}")
        self.results: list[Result] = []
        self.lock = threading.Lock()

    def command(self, allocator: str, names: list[str]) -> list[str]:
        """Tell what runs workloads in a process; some have a program of their own."""
        program = f"{names[0]}.py" if self.name in ("ddp", "ipc") else "child.py"
        words = [] if self.name in ("ddp", "ipc") else names
        return [sys.executable, os.path.join(HERE, program), allocator, *words, *self.options]

    def keep(self, result: Result) -> None:
        """Take in what one run of a workload gave: a line, and the record anew."""
        with self.lock:
            self.results.append(result)
            print(f"{result['workload']} {result['allocator']}: {said(result)}", flush=True)
            record.write(self.out, [self.machine, *summaries(self)])

    def of(self, name: str, allocator: str) -> list[Result]:
        """Give the results of one workload with one allocator."""
        wanted = (name, allocator)
        return [run for run in self.results if (run["workload"], run["allocator"]) == wanted]


def said(result: Result) -> str:
    """Say in a line what came of one run."""
    if "error" in result:
        return f"FAILED: {result['error'][:300]}"
    if "cap" in result:
        return f"cap {result['cap'] / MIB:.0f} MiB, allocated {result['allocated'] / MIB:.0f} MiB"
    if "refused" in result:
        return f"refused: {result['refused'][:300]}"
    return f"{step_ms(result):.2f} ms, reserved {result['reserved'] / MIB:.0f} MiB"


def step_ms(result: Result) -> float:
    """Give the median step of a run, in milliseconds."""
    return float(record.statistics.median(result["times"])) * 1000


def once(part: Part, allocator: str, names: list[str]) -> list[Result]:
    """Run workloads in one process until the time is over; each result is kept at once."""
    results: list[Result] = []
    errors = open(part.log, "a")
    with (
        errors,
        subprocess.Popen(
            part.command(allocator, names), stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        timer = threading.Timer(max(part.end - time.monotonic(), 1), process.kill)
        timer.start()
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith('{"allocator"'):
                results.append(json.loads(line))
                part.keep(results[-1])
        process.wait()
        timer.cancel()
    return results


def child(part: Part, allocator: str) -> None:
    """Run all workloads with one allocator; those behind one that ends its process in another."""
    names = part.names
    while names and part.end - time.monotonic() > 5:
        done = len(once(part, allocator, names))
        if done < len(names):
            late = time.monotonic() >= part.end
            if not late:
                why = f"the process ended: see {os.path.basename(part.log)}"
                part.keep({"allocator": allocator, "workload": names[done], "error": why})
        names = names[done + 1 :]


def take_turns(part: Part) -> None:
    """Run all allocators one after the other, each time beginning with the next."""
    count = len(part.allocators)
    for number in range(part.runs):
        for turn in range(count):
            allocator = part.allocators[(turn + number - 1) % count]
            left = part.end - time.monotonic()
            if left < 10:
                print(f"time is over in run {number + 1}", flush=True)
                return
            child(part, allocator)
            print(f"run {number + 1}: {allocator} done, {left:.0f} s were left", flush=True)


def at_once(part: Part) -> None:
    """Run all allocators at the same time, where no time is measured."""
    with ThreadPoolExecutor(len(part.allocators)) as threads:
        list(threads.map(lambda allocator: child(part, allocator), part.allocators))


def summary(part: Part, name: str, allocator: str) -> Result | None:
    """Give what all runs of a workload with one allocator come to."""
    runs = part.of(name, allocator)
    good = [run for run in runs if "error" not in run]
    if not runs:
        return None
    line: Result = {"kind": "torch", "part": part.name, "case": name, "who": allocator}
    line["errors"] = [run["error"] for run in runs if "error" in run]
    if good and "cap" in good[0]:
        return {**line, **{key: good[0][key] for key in ("cap", "allocated", "reserved")}}
    if good and "refused" in good[0]:
        return {**line, "refused": good[0]["refused"]}
    if good:
        line["unit"] = "ms"
        line |= record.spread([round(step_ms(run), 4) for run in good])
        for key in ("reserved", "allocated", "used"):
            line[key] = record.spread([run[key] for run in good])
        line["losses"] = sorted({run["losses"] for run in good})
        line["steps"] = len(good[0]["times"])
    return line


def summaries(part: Part) -> list[Result]:
    """Give a line for each workload and allocator."""
    lines = [summary(part, name, who) for name in part.names for who in part.allocators]
    return [line for line in lines if line]


def row(line: Result) -> str:
    """Write a line of the table."""
    who = f"  {line['who']:13}"
    if "cap" in line:
        sizes = (f"{key} {line[key] / MIB:.0f} MiB" for key in ("cap", "allocated", "reserved"))
        return who + "  ".join(sizes)
    if "refused" in line:
        return f"{who}refused: {line['refused'][:200]}"
    if "median" not in line:
        return f"{who}FAILED: {line['errors'][0][:200]}"
    sizes = (
        f"{key} MiB {line[key]['median'] / MIB:.0f}" for key in ("reserved", "used", "allocated")
    )
    times = f"step ms {line['median']:.2f} ({line['low']:.2f}-{line['high']:.2f})"
    return f"{who}{times:32} {'  '.join(sizes)}  runs {len(line['runs'])}"


def verdicts(lines: list[Result]) -> list[str]:
    """Say whether it is as wanted: bit-equal, within 2 % of the best, least reserved."""
    timed = {line["who"]: line for line in lines if "median" in line}
    if not timed:
        return []
    losses = {loss for line in timed.values() for loss in line["losses"]}
    out = [f"  losses: {'bit-equal' if len(losses) == 1 else f'{len(losses)} DIFFERENT'}"]
    ours = timed.pop("cuarena", None)
    if ours and timed:
        best = min(line["median"] for line in timed.values())
        least = min(line["reserved"]["median"] for line in timed.values())
        held = ours["reserved"]["median"]
        out.append(f"  step: {100 * (ours['median'] / best - 1):+.1f} % of the best of the others")
        out.append(f"  reserved: {100 * (held / least - 1):+.1f} % of the least of the others")
    return out


def bad(part: Part, lines: list[Result]) -> bool:
    """Tell whether a workload did not run on arenas, or gave other losses there."""
    ours = [line for line in lines if line["who"] == "cuarena"]
    losses = {loss for line in lines for loss in line.get("losses", [])}
    return not ours or any(line["errors"] for line in ours) or len(losses) > 1


def report(part: Part) -> bool:
    """Print what came of all runs; whether that is as it must be."""
    well = True
    for name in part.names:
        lines = [line for line in summaries(part) if line["case"] == name]
        print("\n".join([name, *map(row, lines), *verdicts(lines)]), flush=True)
        well = well and not bad(part, lines)
    return well


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=NAMES, default="compare")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=500)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--warm", type=int, default=4)
    parser.add_argument("--out")
    parser.add_argument("names", nargs="*")
    part = Part(parser.parse_args())
    (at_once if part.name == "caps" else take_turns)(part)
    if not report(part):
        sys.exit(1)


if __name__ == "__main__":
    main()
