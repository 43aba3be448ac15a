"""Arenas as the allocator of PyTorch.

Before a program uses CUDA::

    import cuarena.torch

    cuarena.torch.enable(limit="90%")

Every tensor then lies in an arena of its device, and what torch.cuda tells of
memory is the arena's. ``python -m cuarena.torch script.py`` runs a program that
knows nothing of it.

For programs that want PyTorch's allocator in front, and for serving::

    with cuarena.torch.pool(limit="60GiB") as pool:
        model = load()
    pool.sleep()
    ...
    pool.wake()

Set CUARENA_CONF in the environment for options, as in "limit=20GiB,steal=first".
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import Any, SupportsIndex

from .. import _errors, _native
from .. import _torch as _calls
from .._frameworks import FrameworkError, require
from .._numbers import device as _number_of

torch: Any = require("torch", "PyTorch", "2.11")

from . import _answers, _guards, _pool  # noqa: E402
from ._pool import Pool  # noqa: E402

__all__ = [
    "FrameworkError",
    "Pool",
    "arena",
    "enable",
    "enabled",
    "last_report",
    "pool",
    "stats",
    "tag",
]

# Kernels of one device may read tensors of another one.
_BASE = "preset=grow,peers=try"
_HOOKS = {
    "set_reset_fn": "cuarena_torch_empty_cache",
    "set_memory_fraction_fn": "cuarena_torch_memory_fraction",
    "set_base_alloc_fn": "cuarena_torch_base",
    "set_record_stream_fn": "cuarena_torch_record_stream",
    "set_begin_allocate_to_pool": "cuarena_torch_begin_pool",
    "set_end_allocate_to_pool_fn": "cuarena_torch_end_pool",
    "set_release_pool": "cuarena_torch_release_pool",
}

_allocator: Any = None
_pools_ready = False


def _device(device: SupportsIndex | None) -> int:
    return int(torch.cuda.current_device()) if device is None else _number_of(device)


def _options(limit: int | str | None, options: str, report: str | bool) -> None:
    parts = [options] if options else []
    if limit is not None:
        parts.append(f"limit={limit}")
    _calls.configure(_BASE, ",".join(parts))
    if report is True:
        report = os.path.join(tempfile.gettempdir(), "cuarena-oom")
    _calls.report_to(os.path.abspath(report) if report else "")


def enable(limit: int | str | None = None, *, options: str = "", report: str | bool = True) -> None:
    """Make arenas PyTorch's allocator, for the whole process.

    Call it before CUDA is used. Each device gets an arena of its own when it
    is used first.

    Parameters
    ----------
    limit : int or str, optional
        The most bytes to take from each device, such as ``"90%"`` or
        ``"20GiB"``; by default what is available when it is used first.
    options : str
        Further options of the arenas, as ``cuarena.Arena`` takes them; they
        come over those of CUARENA_CONF.
    report : str or bool
        Begin of the names of files that the first 16 refused requests leave;
        True: ``cuarena-oom`` in the folder for temporary files; False: none.

    Raises
    ------
    cuarena.ArenaBusyError
        If CUDA was used already.
    cuarena.InvalidArgumentError
        For options that are not accepted.
    """
    global _allocator
    if torch.cuda.is_initialized() and _allocator is None:
        raise _errors.ArenaBusyError(
            "CUDA was used already, so PyTorch's allocator cannot be replaced; "
            "call cuarena.torch.enable() before anything that uses a GPU"
        )
    _options(limit, options, report)
    if _allocator is not None:
        return
    allocator = torch.cuda.memory.CUDAPluggableAllocator(
        _native.__file__, "cuarena_torch_alloc", "cuarena_torch_free"
    )
    for setter, name in _HOOKS.items():
        getattr(allocator.allocator(), setter)(_calls.address(name))
    torch.cuda.memory.change_current_allocator(allocator)
    _allocator = allocator
    _answers.install()
    _guards.install()


def enabled() -> bool:
    """Tell whether arenas are PyTorch's allocator."""
    return _allocator is not None


def pool(
    limit: int | str | None = None,
    *,
    device: SupportsIndex | None = None,
    options: str = "",
    report: str | bool = True,
) -> Pool:
    """Make a MemPool of PyTorch whose segments lie in the arena of a device.

    Parameters
    ----------
    limit, options, report
        As those of `enable`; the first pool or `enable` of a device settles
        them.
    device : int, optional
        By default the current one.

    Raises
    ------
    cuarena.ArenaBusyError
        If arenas are the allocator already.
    cuarena.InvalidArgumentError
        For options that are not accepted.
    """
    global _pools_ready
    if enabled():
        raise _errors.ArenaBusyError(
            "arenas are PyTorch's allocator already (cuarena.torch.enable), "
            "so there is none in front of which a pool could lie"
        )
    _options(limit, options, report)
    if not _pools_ready:
        _pool.install()
        _pools_ready = True
    return Pool(_device(device))


@contextlib.contextmanager
def tag(name: str) -> Iterator[None]:
    """Name what is allocated within: statistics, reports and errors tell tags apart.

    It holds for the thread, and for threads that are in none, such as
    those of backward passes. There can be 255 names.
    """
    number = _calls.tag_number(name.encode())
    if not number:
        raise ValueError(f"tag {name!r}: 255 names are in use, the most")
    before = _calls.tag_enter(number)
    try:
        yield
    finally:
        _calls.tag_leave(before)


def stats(device: SupportsIndex | None = None) -> dict[str, int]:
    """Tell the figures of a device's arena."""
    return _calls.figures(_device(device))


def arena(device: SupportsIndex | None = None) -> int:
    """Give the arena of a device, as a cuarena_t *, for calls of the C library."""
    return _calls.arena(_device(device))


def last_report() -> str | None:
    """Tell the file that the last refused request left."""
    return _calls.last_report() or None
