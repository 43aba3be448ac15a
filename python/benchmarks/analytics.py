"""A program of analytics in CuPy, by allocator: results, time and memory.

    analytics.py [--json FILE] [--steps N] [--runs N] [TRACE]

Tables of changing length are sorted, grouped, joined and asked for quantiles,
and some results are kept for a while. All values are whole numbers, so that
sums do not depend on the order of the device's additions, and each allocator
must give the same results. TRACE, a recorded program as in traces/, is played
by each allocator besides: what it reserved over the program's peak.

Allocators take turns, each run in a process of its own. Memory is the most that it had
reserved after a step; time is that of all steps but the first two, which
compile kernels.
"""

import argparse
import collections
import csv
import gzip
import hashlib
import sys
import time

import record

from allocators import NAMES, need_cupy, take_turns


def table(cupy, dice, rows):
    keys = dice.integers(0, max(rows // 50, 2), rows, dtype="int64")
    values = dice.integers(0, 1 << 20, rows, dtype="int64")
    return cupy.asarray(keys), cupy.asarray(values)


def step(cupy, keys, values):
    """One table's questions; arrays that tell the answers."""
    order = cupy.argsort(keys)  # stable, in CuPy
    sorted_keys, sorted_values = keys[order], values[order]
    groups, inverse, counts = cupy.unique(keys, return_inverse=True, return_counts=True)
    sums = cupy.bincount(inverse.ravel(), weights=values.astype("float64"))
    means = (sums // counts).astype("int64")
    above = values[values > means[inverse.ravel()]]
    quantiles = cupy.quantile(values, [0.1, 0.25, 0.5, 0.75, 0.9], method="lower")
    places = cupy.searchsorted(sorted_keys, groups)
    firsts = sorted_values[places]
    running = cupy.cumsum(sorted_values)
    return [
        groups,
        counts,
        means,
        cupy.sort(above),
        quantiles,
        firsts,
        running[:: max(len(running) // 100, 1)],
    ]


def digest(cupy, state, arrays):
    for array in arrays:
        state.update(cupy.asnumpy(array).astype("float64").tobytes())


def run_program(cupy, chosen, steps):
    import numpy

    dice = numpy.random.default_rng(7)
    state, kept = hashlib.sha256(), collections.deque(maxlen=6)
    most, began, took = 0, None, 0.0
    for number in range(steps):
        keys, values = table(cupy, dice, int(dice.integers(200_000, 3_000_000)))
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        answers = step(cupy, keys, values)
        cupy.cuda.Device().synchronize()
        took += (time.perf_counter() - began) * (number >= 2)
        kept.append((keys if number % 3 == 0 else None, answers))
        digest(cupy, state, answers)
        most = max(most, chosen.reserved_bytes())
    return {"results": state.hexdigest(), "seconds": took, "reserved_mib": most / (1 << 20)}


def events_of(path):
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            yield row["op"], row["id"], int(row["size"] or 0)


def play_trace(chosen, path):
    live, sizes, now, peak, most, took = {}, {}, 0, 0, 0, 0
    events = list(events_of(path))
    malloc = chosen.pool.malloc
    for count, (op, name, size) in enumerate(events):
        began = time.perf_counter_ns()
        if op == "a":
            live[name] = malloc(size)
        else:
            live.pop(name, None)
        took += time.perf_counter_ns() - began
        now += size if op == "a" else -sizes.pop(name, 0)
        if op == "a":
            sizes[name] = size
        if now > peak:
            peak = now
        if count % 16 == 0:
            most = max(most, chosen.reserved_bytes())
    return {"reserved_over_peak": most / peak, "us_per_call": took / len(events) / 1000}


def measure(name, steps, trace):
    import cupy

    from allocators import Chosen

    chosen = Chosen(name)
    figures = {"trace": play_trace(chosen, trace)} if trace else {}
    chosen.pool.free_all_blocks()
    figures["program"] = run_program(cupy, chosen, steps)
    return figures


def lines(runs):
    """Of each allocator what all runs came to, beside each other."""
    for name in NAMES:
        programs = [run["program"] for run in runs[name]]
        traces = [run["trace"] for run in runs[name] if "trace" in run]
        line = {"kind": "analytics", "who": name}
        line["results"] = sorted({program["results"] for program in programs})
        for part, keys in (
            (programs, ("seconds", "reserved_mib")),
            (traces, ("reserved_over_peak", "us_per_call")),
        ):
            for key in keys if part else ():
                line[key] = record.spread([round(run[key], 4) for run in part])
        yield line


def spread(line, key):
    figure = line[key]
    return f"{figure['median']:.3f} ({figure['low']:.3f}-{figure['high']:.3f})"


def tell(line):
    text = f"{line['who']}: {spread(line, 'seconds')} s, {spread(line, 'reserved_mib')} MiB"
    if "us_per_call" in line:
        text += (
            f"; the trace: {spread(line, 'reserved_over_peak')} peaks reserved, "
            f"{spread(line, 'us_per_call')} us a call"
        )
    print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--one")
    parser.add_argument("trace", nargs="?")
    chosen = parser.parse_args()
    if chosen.one:
        print(record.json.dumps(measure(chosen.one, chosen.steps, chosen.trace)))
        return
    need_cupy()
    head = record.machine("cupy-analytics")
    head["steps"] = chosen.steps
    runs = take_turns(
        [__file__, "--steps", str(chosen.steps), *([chosen.trace] if chosen.trace else [])],
        chosen.runs,
        lambda runs: record.write(chosen.json, [head, *lines(runs)]),
    )
    found = list(lines(runs))
    for line in found:
        tell(line)
    results = {result for line in found for result in line["results"]}
    verdict = "pass" if len(results) == 1 else "FAIL"
    print(f"{verdict} analytics: {len(results)} different results of {len(NAMES)} allocators")
    sys.exit(verdict != "pass")


if __name__ == "__main__":
    main()
