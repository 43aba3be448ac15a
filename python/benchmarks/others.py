"""What an allocation and its end cost in Numba, cuda.core and RMM, by allocator.

    others.py [--json FILE] [--quick]

Microseconds for an array of Numba (`device_array`), for a buffer of cuda.core
(`allocate` and `close` on a stream) and for one of RMM (`DeviceBuffer`), from
their own allocators, of RMM its pool, and from arenas.
Allocators take turns; each run is a process of its own, and its figure the median
of rounds of 500 pairs. A framework that is not there is left out.
"""

import argparse
import importlib.util
import statistics
import sys
import time

import record

from allocators import take_turns

SIZES = (4096, 1 << 20, 64 << 20)
CASES = {"numba": "numba.cuda", "cuda_core": "cuda.core", "rmm": "rmm"}
NAMES = [f"{case}-{who}" for case in CASES for who in ("own", "cuarena")]


def numba_pair(ours):
    """What makes an array and ends it."""
    if ours:
        import cuarena.numba

        cuarena.numba.enable()
    from numba import cuda

    def pair(size):
        cuda.device_array(size, dtype="uint8")

    return pair


def cuda_core_pair(ours):
    """What makes a buffer and closes it, on a stream of its own."""
    from cuda.core import Device, DeviceMemoryResource

    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    if ours:
        import cuarena
        import cuarena.cuda_core

        arena = cuarena.Arena(memory="device", preset="grow")
        resource = cuarena.cuda_core.MemoryResource(arena)
    else:
        resource = DeviceMemoryResource(device)

    def pair(size):
        resource.allocate(size, stream=stream).close(stream)

    return pair


def rmm_pair(ours):
    """What makes a buffer and ends it."""
    import rmm

    if ours:
        import cuarena
        import cuarena.rmm

        arena = cuarena.Arena(memory="device", preset="grow")
        resource = cuarena.rmm.resource(arena)
    else:
        resource = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=1 << 28)
    rmm.mr.set_current_device_resource(resource)

    def pair(size):
        rmm.DeviceBuffer(size=size)

    return pair


PAIRS = {"numba": numba_pair, "cuda_core": cuda_core_pair, "rmm": rmm_pair}


def measure(name, rounds, pairs=500):
    """Microseconds of a pair, by size."""
    case, who = name.rsplit("-", 1)
    pair = PAIRS[case](who == "cuarena")
    figures = {}
    for size in SIZES:
        took = []
        for _ in range(rounds + 1):  # the first one is not counted
            began = time.perf_counter_ns()
            for _ in range(pairs):
                pair(size)
            took.append((time.perf_counter_ns() - began) / pairs / 1000)
        figures[str(size)] = statistics.median(took[1:])
    return figures


def lines(runs):
    """Of each framework, size and allocator what all runs came to."""
    for name, figures in runs.items():
        case, who = name.rsplit("-", 1)
        for size in SIZES if figures else ():
            values = [round(run[str(size)], 4) for run in figures]
            head = {"kind": "pair", "case": case, "bytes": size, "who": who, "unit": "us"}
            yield {**head, **record.spread(values)}


def found(module):
    """Whether there is such a module."""
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    if chosen.one:
        print(record.json.dumps(measure(chosen.one, chosen.rounds)))
        return
    if chosen.quick:
        chosen.rounds, chosen.runs = 3, 1
    names = [name for name in NAMES if found(CASES[name.rsplit("-", 1)[0]])]
    if not names:
        print("skipped: no Numba, no cuda.core and no RMM")
        sys.exit(77)
    head = record.machine("frameworks")
    runs = take_turns(
        [__file__, "--rounds", str(chosen.rounds)],
        chosen.runs,
        lambda runs: record.write(chosen.json, [head, *lines(runs)]),
        names,
    )
    for line in lines(runs):
        print(
            f"us a pair, {line['case']}, {line['bytes']} bytes: {line['who']} "
            f"{line['median']:.3f} ({line['low']:.3f}-{line['high']:.3f})"
        )


if __name__ == "__main__":
    main()
