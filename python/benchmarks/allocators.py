"""The allocators that benchmarks of CuPy compare, by name."""

import json
import subprocess
import sys

NAMES = ("cupy", "cupy-async", "cuarena", "cuarena-cupy-pool")


def need_cupy():
    """Exit with 77 where CuPy cannot run."""
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        print(f"skipped: CuPy: {error}")
        sys.exit(77)


def run_apart(name, command):
    """What a program's last line says of one allocator, in a process of its own."""
    done = subprocess.run([sys.executable, *command, "--one", name], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"FAIL {name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def take_turns(command, runs, keep, names=NAMES):
    """Run a program with each allocator in turns; the figures of each, in order.

    `keep` takes all there is whenever a turn of all of them is over.
    """
    figures = {name: [] for name in names}
    for number in range(runs):
        for turn in range(len(names)):
            name = names[(turn + number) % len(names)]
            figures[name].append(run_apart(name, command))
        keep(figures)
        print(f"run {number + 1} of {runs} done", flush=True)
    return figures


class Chosen:
    """An allocator that CuPy uses from now on, and what it has reserved."""

    def __init__(self, name):
        self.name = name
        self.pool = self._make()

    def _make(self):
        if not self.name.startswith("cuarena"):
            return self._cupy_pool()
        import cuarena.cupy

        if self.name == "cuarena":
            return cuarena.cupy.enable()
        if self.name == "cuarena-cupy-pool":
            return cuarena.cupy.enable(preset="cupy-pool")
        raise SystemExit(f"no allocator '{self.name}'; they are: {', '.join(NAMES)}")

    def _cupy_pool(self):
        import cupy

        pool = cupy.cuda.MemoryAsyncPool() if self.name == "cupy-async" else cupy.cuda.MemoryPool()
        cupy.cuda.set_allocator(pool.malloc)
        return pool

    def reserved_bytes(self):
        return self.pool.total_bytes()
