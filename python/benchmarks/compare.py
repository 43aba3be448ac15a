#!/usr/bin/env python3
"""Compares arenas with PyTorch's allocators, each in a process of its own.

    compare.py [--part PART] [--runs N] [--steps N] [--limit SECONDS] [--out FILE] [NAME...]

PART is compare (the default), caps, compile, ddp or ipc. In compare and compile
the processes of a run take turns, a few steps each, so that what slows the host
for a while slows all of them; in ddp and ipc whole runs do, and in caps all run
at the same time. A line is printed for each workload as its run ends, and the
record is written anew, so that what ends this leaves what there is; then comes a
table of medians and spreads. No run begins when the time is over.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import record

HERE = os.path.dirname(os.path.abspath(__file__))
ALLOCATORS = ["default", "expandable", "async", "cuarena"]
PROGRAMS = ["gpt2", "bert", "resnet", "moe", "detection", "serving", "streams", "graph"]
NAMES = {
    "compare": [*PROGRAMS, "models", "tensors"],
    "caps": PROGRAMS,
    "compile": ["compiled", "reduce_overhead"],
    "ddp": ["ddp"],
    "ipc": ["ipc"],
}
# What else shows how tensors get to other processes: a pool behind PyTorch's allocator.
MORE = {"ipc": ["cuarena-pool"]}
# Steps that a process does before the next one's turn.
TURN = 4
MIB = 1 << 20
Result = dict[str, Any]
Keep = Callable[[Result], None]


class Part:
    """One part: what it runs, and what came of it so far."""

    def __init__(self, parsed: argparse.Namespace) -> None:
        self.name: str = parsed.part
        self.names: list[str] = parsed.names or NAMES[self.name]
        self.allocators = ALLOCATORS + MORE.get(self.name, [])
        self.steps: int = parsed.steps
        self.warm: int = parsed.warm
        self.runs: int = 1 if self.name == "caps" else parsed.runs
        self.end = time.monotonic() + parsed.limit
        self.out: str | None = parsed.out
        self.log = f"{parsed.out or 'compare'}.log"
        self.machine = record.machine(f"torch-{self.name}")
        self.results: list[Result] = []
        self.lock = threading.Lock()

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
    return float(statistics.median(result["times"])) * 1000


def program(name: str) -> list[str]:
    """Give the words that run a program of this folder."""
    return [sys.executable, os.path.join(HERE, f"{name}.py")]


class Child:
    """A process that has one allocator; it ends at the latest when the part's time is over."""

    def __init__(self, part: Part, words: list[str]) -> None:
        pipe = subprocess.PIPE
        with open(part.log, "a") as errors:
            self.process = subprocess.Popen(
                words, stdin=pipe, stdout=pipe, stderr=errors, text=True
            )
        self.timer = threading.Timer(max(part.end - time.monotonic(), 1), self.process.kill)
        self.timer.start()

    def answers(self) -> Iterator[Result]:
        """Give what it says in lines of JSON, until it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith('{"allocator"'):
                yield json.loads(line)

    def ask(self, order: str) -> Result | None:
        """Tell it what to do, and give its answer; None if it has ended."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{order}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        return next(self.answers(), None)

    def close(self) -> None:
        """Wait for its end; it ends when nothing more is asked."""
        self.process.communicate()
        self.timer.cancel()


class Turns:
    """One run of all workloads with all allocators, whose processes take turns."""

    def __init__(self, part: Part, number: int) -> None:
        self.part, self.number = part, number
        self.children = {allocator: self.start(allocator) for allocator in part.allocators}

    def start(self, allocator: str) -> Child:
        """Start the process of an allocator."""
        warm = str(self.part.warm)
        return Child(self.part, [*program("child"), allocator, "--turns", "--warm", warm])

    def order(self, turn: int) -> list[str]:
        """Give the allocators in the order of a turn: each time another begins."""
        at = (turn + self.number) % len(self.part.allocators)
        return self.part.allocators[at:] + self.part.allocators[:at]

    def ask(self, name: str, allocator: str, order: str) -> Result | None:
        """Give the answer of a process that could do it; keep why another could not."""
        answer = self.children[allocator].ask(order)
        if answer is not None and "error" not in answer:
            return answer
        if answer is None:
            if time.monotonic() >= self.part.end:
                return None
            self.children[allocator].close()
            self.children[allocator] = self.start(allocator)
            answer = {"error": f"the process ended: see {os.path.basename(self.part.log)}"}
        self.part.keep({**answer, "allocator": allocator, "workload": name})
        return None

    def workload(self, name: str) -> None:
        """Run a workload with each allocator."""
        able = [who for who in self.order(0) if self.ask(name, who, f"begin {name}") is not None]
        for turn in range(-(-self.part.steps // TURN)):
            for who in [who for who in self.order(turn) if who in able]:
                if self.ask(name, who, f"steps {TURN}") is None:
                    able.remove(who)
        for who in able:
            result = self.ask(name, who, "end")
            if result is not None:
                self.part.keep({**result, "workload": name, "run": self.number})

    def close(self) -> None:
        """End all processes."""
        for child in self.children.values():
            child.close()


def take_turns(part: Part) -> None:
    """Run everything as often as is wanted, step by step beside each other."""
    for number in range(part.runs):
        left = part.end - time.monotonic()
        if left < 10:
            print(f"time is over before run {number + 1}", flush=True)
            return
        turns = Turns(part, number)
        for name in part.names:
            turns.workload(name)
        turns.close()
        print(f"run {number + 1} done, {part.end - time.monotonic():.0f} s left", flush=True)


def take_whole_turns(part: Part) -> None:
    """Run a program that is a workload with each allocator, one after the other."""
    options = ["--steps", str(part.steps), "--warm", str(part.warm)]
    for number in range(part.runs):
        for turn in range(len(part.allocators)):
            allocator = part.allocators[(turn + number - 1) % len(part.allocators)]
            if part.end - time.monotonic() < 10:
                print(f"time is over in run {number + 1}", flush=True)
                return
            hear(part, allocator, part.names, [*program(part.name), allocator, *options])


def hear(part: Part, allocator: str, names: list[str], words: list[str]) -> int:
    """Keep what a process says of its workloads, and that it ended early; tell how many ended."""
    process = Child(part, words)
    done = 0
    for result in process.answers():
        part.keep(result)
        done += 1
    process.close()
    if done < len(names) and time.monotonic() < part.end:
        why = f"the process ended: see {os.path.basename(part.log)}"
        part.keep({"allocator": allocator, "workload": names[done], "error": why})
    return done


def cap_all(part: Part, allocator: str) -> None:
    """Look for all caps with one allocator; those behind one that ends its process in another."""
    names = part.names
    while names and part.end - time.monotonic() > 5:
        words = [*program("child"), allocator, *names, "--caps", "--steps", str(part.steps)]
        names = names[hear(part, allocator, names, words) + 1 :]


def at_once(part: Part) -> None:
    """Look for caps with all allocators at the same time: no time is measured."""
    with ThreadPoolExecutor(len(part.allocators)) as threads:
        list(threads.map(lambda allocator: cap_all(part, allocator), part.allocators))


def ratios(part: Part, name: str, allocator: str) -> list[float]:
    """Give the steps of arenas over those of an allocator: of the same number in the same run.

    They are a fraction of a second apart, so what slows the host for longer slows both.
    """
    ours = {run["run"]: run["times"] for run in part.of(name, "cuarena") if "run" in run}
    theirs = [run for run in part.of(name, allocator) if run.get("run") in ours]
    pairs = [zip(ours[run["run"]], run["times"], strict=True) for run in theirs]
    return [our / their for steps in pairs for our, their in steps]


def beside(values: list[float]) -> Result:
    """Give how many ratios there are, their median, and between what the middle half lies."""
    low, median, high = (round(value, 4) for value in statistics.quantiles(values, n=4))
    return {"steps": len(values), "median": median, "low": low, "high": high}


WAYS = {"caps": at_once, "ddp": take_whole_turns, "ipc": take_whole_turns}


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
        line["driver_calls"] = record.spread([run.get("driver_calls", 0) for run in good])
        line["losses"] = sorted({run["losses"] for run in good})
        line["steps"] = len(good[0]["times"])
        over = ratios(part, name, allocator) if allocator != "cuarena" else []
        if len(over) > 1:
            line["arenas_over"] = beside(over)
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
    over = [line["arenas_over"]["median"] for line in timed.values() if "arenas_over" in line]
    if over:
        out.append(f"  step beside step: {100 * (max(over) - 1):+.1f} % of the best of the others")
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
    parser.add_argument("--steps", type=int, default=48)
    parser.add_argument("--warm", type=int, default=4)
    parser.add_argument("--out")
    parser.add_argument("names", nargs="*")
    part = Part(parser.parse_args())
    WAYS.get(part.name, take_turns)(part)
    if not report(part):
        sys.exit(1)


if __name__ == "__main__":
    main()
