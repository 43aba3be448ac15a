#!/usr/bin/env python3
"""Compares arenas with PyTorch's allocators, in turns, each run in a process of its own.

    compare.py [--runs N] [--limit SECONDS] [--out FILE] [--caps] [NAME...]

Writes a table of medians and spreads, and all results as JSON. It stops
beginning new runs when the time is over.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
ALLOCATORS = ["default", "expandable", "async", "cuarena"]
STANDARD = ["gpt2", "bert", "resnet", "moe", "detection", "serving", "streams", "graph"]
MIB = 1 << 20
Result = dict[str, Any]


def command_for(allocator: str, names: list[str], options: list[str]) -> list[str]:
    """Tell what runs workloads in a process; two GPUs have a program of their own."""
    if names == ["ddp"]:
        return [sys.executable, os.path.join(HERE, "ddp.py"), allocator]
    return [sys.executable, os.path.join(HERE, "child.py"), allocator, *names, *options]


def child(allocator: str, names: list[str], options: list[str], limit: float) -> list[Result]:
    """Run workloads in a process; those behind one that ends it run in another."""
    results: list[Result] = []
    while names and limit > 5:
        begin = time.monotonic()
        command = command_for(allocator, names, options)
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=limit)
            output, trouble = ran.stdout, ran.stderr
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode() if late.stdout else ""
            trouble = f"{allocator}: no answer within {limit:.0f} s"
            limit = 0
        sys.stderr.write(trouble[-6000:])
        lines = [
            json.loads(line) for line in output.splitlines() if line.startswith('{"allocator"')
        ]
        results += lines
        if len(lines) < len(names):
            why = {"error": f"the process ended: {trouble[-400:]}"}
            results.append({"allocator": allocator, "workload": names[len(lines)], **why})
        names = names[len(lines) + 1 :]
        limit -= time.monotonic() - begin
    return results


def take_turns(names: list[str], runs: int, options: list[str], limit: float) -> list[Result]:
    """Run all allocators one after the other, first arenas, then beginning with the next."""
    end = time.monotonic() + limit
    results: list[Result] = []
    for number in range(runs):
        for turn in range(len(ALLOCATORS)):
            allocator = ALLOCATORS[(turn + number - 1) % len(ALLOCATORS)]
            left = end - time.monotonic()
            if left < 10:
                print(f"time is over in run {number + 1}", flush=True)
                return results
            results += child(allocator, names, options, left)
            print(f"run {number + 1}: {allocator} done, {left:.0f} s left", flush=True)
    return results


def spread(values: list[float]) -> str:
    """Write a median, and the lowest and highest value."""
    middle = statistics.median(values)
    return f"{middle:.2f} ({min(values):.2f}-{max(values):.2f})"


def one_row(allocator: str, runs: list[Result]) -> tuple[str, float | None, float | None]:
    """Write a line of a table; its step time and reserved bytes."""
    good = [run for run in runs if "times" in run]
    if not good:
        return (
            f"  {allocator:11} FAILED: {runs[0]['error'][:200] if runs else 'did not run'}",
            None,
            None,
        )
    steps = [statistics.median(run["times"]) * 1000 for run in good]
    whole = [sum(run["times"]) * 1000 for run in good]
    reserved = statistics.median(run["reserved"] for run in good) / MIB
    used = statistics.median(run["used"] for run in good) / MIB
    allocated = statistics.median(run["allocated"] for run in good) / MIB
    text = (
        f"  {allocator:11} step ms {spread(steps):24} all steps ms {spread(whole):28} "
        f"reserved MiB {reserved:8.0f} device MiB {used:8.0f} allocated MiB {allocated:8.0f} "
        f"runs {len(good)}"
    )
    return text, statistics.median(steps), reserved


def verdicts(name: str, rows: dict[str, tuple[float, float]], results: list[Result]) -> list[str]:
    """Say whether it is as wanted: bit-equal, within 2 % of the best, least reserved."""
    losses = {tuple(run["losses"]) for run in results if "losses" in run}
    out = [f"  losses: {'bit-equal' if len(losses) == 1 else f'{len(losses)} DIFFERENT'}"]
    if "cuarena" in rows and len(rows) > 1:
        ours = rows["cuarena"]
        best = min(step for key, (step, _) in rows.items() if key != "cuarena")
        least = min(held for key, (_, held) in rows.items() if key != "cuarena")
        out.append(f"  step: {100 * (ours[0] / best - 1):+.1f} % of the best of the others")
        out.append(f"  reserved: {100 * (ours[1] / least - 1):+.1f} % of the least of the others")
    return out


def table(results: list[Result], names: list[str]) -> None:
    """Print what came of all runs."""
    for name in names:
        mine = [result for result in results if result["workload"] == name]
        rows = {}
        print(name)
        for allocator in ALLOCATORS:
            text, step, reserved = one_row(
                allocator, [run for run in mine if run["allocator"] == allocator]
            )
            print(text)
            if step is not None and reserved is not None:
                rows[allocator] = (step, reserved)
        print("\n".join(verdicts(name, rows, mine)), flush=True)


def cap_table(results: list[Result], names: list[str]) -> None:
    """Print the smallest caps under which workloads finish."""
    for name in names:
        print(name)
        for result in results:
            if result["workload"] == name and "cap" in result:
                sizes = "  ".join(
                    f"{key} {result[key] / MIB:.0f} MiB" for key in ("cap", "allocated", "reserved")
                )
                print(f"  {result['allocator']:11} {sizes}")
            elif result["workload"] == name:
                print(f"  {result['allocator']:11} FAILED: {result['error'][:200]}")


def failures(results: list[Result], names: list[str]) -> int:
    """Count workloads that did not run on arenas, or gave other losses there."""
    count = 0
    for name in names:
        mine = [result for result in results if result["workload"] == name]
        ours = [result for result in mine if result["allocator"] == "cuarena"]
        losses = {tuple(result["losses"]) for result in mine if "losses" in result}
        count += not ours or any("error" in result for result in ours) or len(losses) > 1
    return count


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=500)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--out")
    parser.add_argument("--caps", action="store_true")
    parser.add_argument("names", nargs="*")
    parsed = parser.parse_args()
    names = parsed.names or STANDARD
    options = ["--steps", str(parsed.steps)] + (["--caps"] if parsed.caps else [])
    results = take_turns(names, 1 if parsed.caps else parsed.runs, options, parsed.limit)
    if parsed.out:
        with open(parsed.out, "w") as file:
            json.dump(results, file)
    (cap_table if parsed.caps else table)(results, names)
    if failures(results, names):
        sys.exit(1)


if __name__ == "__main__":
    main()
