"""The allocators that benchmarks of CuPy compare, by name."""

import cupy

NAMES = ("cupy", "cupy-async", "cuarena", "cuarena-cupy-pool")


class Chosen:
    """An allocator that CuPy uses from now on, and what it has reserved."""

    def __init__(self, name):
        self.name = name
        self.pool = self._make()
        if not name.startswith("cuarena"):
            cupy.cuda.set_allocator(self.pool.malloc)

    def _make(self):
        if self.name == "cupy":
            return cupy.cuda.MemoryPool()
        if self.name == "cupy-async":
            return cupy.cuda.MemoryAsyncPool()
        import cuarena.cupy

        if self.name == "cuarena":
            return cuarena.cupy.enable()
        if self.name == "cuarena-cupy-pool":
            return cuarena.cupy.enable(preset="cupy-pool")
        raise SystemExit(f"no allocator '{self.name}'; they are: {', '.join(NAMES)}")

    def reserved_bytes(self):
        return self.pool.total_bytes()
