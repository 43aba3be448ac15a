"""What an allocation and its end cost in CuPy, by allocator.

    pairs.py [--json FILE] [--quick]

Each allocator is measured in a process of its own: microseconds for
`malloc(size)` and the end of what it gave, the median of rounds of 2000 pairs,
of sizes and streams. The last line says whether cuarena takes at most 1 us.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

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


def measure_apart(name, rounds):
    command = [sys.executable, __file__, "--one", name, "--rounds", str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"FAIL {name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one")
    parser.add_argument("--rounds", type=int, default=40)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure_all(chosen.one, chosen.rounds)))
        return
    from allocators import NAMES, need_cupy

    need_cupy()

    figures = {name: measure_apart(name, 5 if chosen.quick else chosen.rounds) for name in NAMES}
    for row in figures[NAMES[0]]:
        values = "  ".join(f"{name} {figures[name][row]:.3f}" for name in NAMES)
        print(f"us a pair, {row}: {values}")
    if chosen.json:
        with open(chosen.json, "w") as file:
            json.dump(figures, file, indent=1)
    worst = max(figures["cuarena"].values())
    verdict = "pass" if worst <= TARGET_US else "FAIL"
    print(f"{verdict} pairs: cuarena takes at most {worst:.3f} us (wanted: {TARGET_US})")
    sys.exit(verdict != "pass")


if __name__ == "__main__":
    main()
