"""What an allocation and its end cost in CuPy, by allocator.

    pairs.py [--json FILE] [--quick]

Microseconds for `malloc(size)` and the end of what it gave, of sizes and
streams. Allocators take turns; each run is a process of its own, and its figure
the median of rounds of 2000 pairs. The last line says whether cuarena takes at
most 1 us in the median of the runs.
"""

import argparse
import statistics
import sys
import time

import record

from allocators import NAMES, need_cupy, take_turns

SIZES = (512, 4096, 1 << 20, 64 << 20)
TARGET_US = 1.0


def measure(malloc, size, rounds, pairs=2000):
    took = []
    for _ in range(rounds):
        began = time.perf_counter_ns()
        for _ in range(pairs):
            malloc(size)
        took.append((time.perf_counter_ns() - began) / pairs / 1000)
    return statistics.median(took)


def measure_all(name, rounds):
    import cupy

    from allocators import Chosen

    malloc = Chosen(name).pool.malloc
    streams = {"legacy default stream": cupy.cuda.Stream.null, "own stream": cupy.cuda.Stream()}
    figures = {}
    for where, stream in streams.items():
        with stream:
            for size in SIZES:
                measure(malloc, size, 1)
                figures[f"{where}, {size} bytes"] = measure(malloc, size, rounds)
    return figures


def lines(runs):
    """Of each row and allocator what all runs came to."""
    for row in runs[NAMES[0]][0]:
        where, size = row.rsplit(", ", 1)
        for name in NAMES:
            values = [round(run[row], 4) for run in runs[name] if row in run]
            if values:
                head = {"kind": "pair", "case": where, "bytes": int(size.split()[0])}
                yield {**head, "who": name, "unit": "us", **record.spread(values)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    if chosen.one:
        print(record.json.dumps(measure_all(chosen.one, chosen.rounds)))
        return
    need_cupy()
    if chosen.quick:
        chosen.rounds, chosen.runs = 5, 1
    head = record.machine("cupy-pairs")
    runs = take_turns(
        [__file__, "--rounds", str(chosen.rounds)],
        chosen.runs,
        lambda runs: record.write(chosen.json, [head, *lines(runs)]),
    )
    found = list(lines(runs))
    for line in found:
        print(
            f"us a pair, {line['case']}, {line['bytes']} bytes: {line['who']} "
            f"{line['median']:.3f} ({line['low']:.3f}-{line['high']:.3f})"
        )
    worst = max(line["median"] for line in found if line["who"] == "cuarena")
    verdict = "pass" if worst <= TARGET_US else "FAIL"
    print(f"{verdict} pairs: cuarena takes at most {worst:.3f} us (wanted: {TARGET_US})")
    sys.exit(verdict != "pass")


if __name__ == "__main__":
    main()
