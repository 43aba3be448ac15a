"""An arena behind PyTorch's own allocator: a torch.cuda.MemPool that can sleep."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any

import torch

from .. import _native
from .. import _torch as _calls

# Pools that are entered, by device: what PyTorch captures must not be routed to them.
_entered: dict[int, Pool] = {}


class Pool:
    """Routes what a program allocates on one device to an arena, through PyTorch's allocator.

    PyTorch's allocator stays in front: it takes segments of the arena, and its
    statistics, snapshots and errors are its own. All threads are routed, also
    those of backward passes. Graphs that are captured keep PyTorch's private
    pools.

    Use it as a context manager, or call `enter` and `exit`. It must live as
    long as the tensors that were allocated in it.
    """

    def __init__(self, device: int) -> None:
        allocator = torch.cuda.memory.CUDAPluggableAllocator(
            _native.__file__, "cuarena_torch_segment_alloc", "cuarena_torch_segment_free"
        )
        self.device = device
        self._allocator = allocator
        self.mem_pool = torch.cuda.MemPool(allocator.allocator())

    def enter(self) -> None:
        """Route what is allocated from now on to the arena."""
        if self.device in _entered:
            raise RuntimeError(f"a pool is in use on device {self.device}; exit it first")
        _entered[self.device] = self
        self._begin()

    def exit(self) -> None:
        """Route no more; what was allocated stays."""
        if _entered.get(self.device) is not self:
            raise RuntimeError("the pool is not in use")
        del _entered[self.device]
        self._end()

    def _begin(self) -> None:
        torch._C._cuda_beginAllocateToPool(self.device, self.mem_pool.id)

    def _end(self) -> None:
        torch._C._cuda_endAllocateToPool(self.device, self.mem_pool.id)
        torch._C._cuda_releasePool(self.device, self.mem_pool.id)

    def __enter__(self) -> Pool:
        self.enter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.exit()

    def sleep(self, keep: bool = True) -> int:
        """Give the memory of the pool's segments back to the device.

        Addresses stay, so tensors do, but must not be used until `wake`. All
        work of the device is waited for.

        Parameters
        ----------
        keep : bool
            Whether contents are kept in memory of the host; else they are
            undefined after `wake`.

        Returns
        -------
        int
            Bytes that were given back.
        """
        return self._call(_calls.sleep, "put to sleep", self.device, int(keep))

    def wake(self) -> int:
        """Take memory at the same addresses again, with the contents that were kept.

        Returns
        -------
        int
            Bytes that were taken.
        """
        return self._call(_calls.wake, "woken", self.device)

    def _call(self, function: Any, done: str, *arguments: int) -> int:
        count = ctypes.c_uint64()
        code = function(*arguments, ctypes.byref(count))
        if code in (-1, 2):
            whose = "the host" if code == -1 else f"device {self.device}"
            raise torch.OutOfMemoryError(
                f"{whose} has too little memory: only {count.value} bytes could be {done}; "
                "free some and call it again"
            )
        if code == -3:
            raise RuntimeError(
                f"the arena of device {self.device} cannot sleep: its memory is not mapped in "
                "handles, which is the option backing=vmm"
            )
        if code:
            raise RuntimeError(
                f"only {count.value} bytes could be {done}: the driver's error is {code}"
            )
        return count.value

    @property
    def awake_bytes(self) -> int:
        """Bytes of segments that have memory."""
        return int(_calls.segment_bytes(self.device, 0))

    @property
    def asleep_bytes(self) -> int:
        """Bytes of segments that sleep."""
        return int(_calls.segment_bytes(self.device, 1))


def _apart(function: Any, end: bool) -> Any:
    """Pause routing while PyTorch allocates for one of its own pools."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        pools = list(_entered.values())
        if not end:
            for pool in pools:
                pool._end()
        try:
            return function(*args, **kwargs)
        finally:
            if end:
                for pool in pools:
                    pool._begin()

    return wrapped


def install() -> None:
    """See to it that captured graphs get PyTorch's private pools."""
    graph = torch.cuda.CUDAGraph
    graph.capture_begin = _apart(graph.capture_begin, end=False)
    graph.capture_end = _apart(graph.capture_end, end=True)
