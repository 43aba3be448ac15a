"""The allocators that benchmarks of CuPy compare, by name."""

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
