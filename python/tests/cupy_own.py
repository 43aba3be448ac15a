"""CuPy's own tests of its memory pools, on pools of this package.

    cupy_own.py FOLDER

FOLDER has `test_memory.py` and `test_pinned_memory.py` of CuPy's sources
(tests/cupy_tests/cuda_tests), of the version that is installed. Those run that
ask what a pool does, on arenas with its rules and exact figures. Left out is
what asks for its classes: lines with isinstance, and tests of its internals.
Exits with 77 if there is no CuPy, no device or no such folder.
"""

import pathlib
import re
import sys
import tempfile

MEMORY = "TestMemoryPool or (TestAllocator and not TestAllocatorDisabled)"
# Those of the pinned pool that hold for memory of the driver's, too.
PINNED = "TestSingleDevice and not free_all_blocks2 and not (free_all_blocks and not without)"


class OwnPools:
    """A plugin of pytest: pools of this package under CuPy's names."""

    def pytest_sessionstart(self):
        from cupy.cuda import memory, pinned_memory

        import cuarena.cupy

        def pool(allocator=None):
            managed = allocator is memory.malloc_managed
            where = "memory=managed,device_only=1" if managed else "backing=malloc"
            return cuarena.cupy.MemoryPool(f"preset=cupy-pool,{where}")

        memory.MemoryPool = pool
        pinned_memory.PinnedMemoryPool = lambda allocator=None: cuarena.cupy.PinnedMemoryPool(
            "preset=cupy-pool"
        )


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def without_types(text):
    """The tests without the lines that ask for classes of CuPy."""
    return re.sub(r"^ *assert (not )?isinstance\(mem, .*\)$", "", text, flags=re.MULTILINE)


def run(source, chosen, folder):
    import pytest

    copy = folder / source.name
    copy.write_text(without_types(source.read_text()))
    arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", str(folder), "-k", chosen]
    unknown = ["-W", "ignore::pytest.PytestUnknownMarkWarning"]
    return pytest.main([*arguments, *unknown, str(copy)], plugins=[OwnPools()])


def main(arguments):
    if len(arguments) != 1 or not pathlib.Path(arguments[0], "test_memory.py").is_file():
        skip("no folder with CuPy's tests")
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        skip(f"CuPy: {error}")
    source = pathlib.Path(arguments[0])
    with tempfile.TemporaryDirectory() as folder:
        memory = run(source / "test_memory.py", MEMORY, pathlib.Path(folder))
        pinned = run(source / "test_pinned_memory.py", PINNED, pathlib.Path(folder))
    sys.exit(int(memory) or int(pinned))


if __name__ == "__main__":
    main(sys.argv[1:])
