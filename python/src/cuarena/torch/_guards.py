"""What PyTorch cannot do with a pluggable allocator: done in another way, or a clear error."""

from __future__ import annotations

import functools
import warnings
from typing import Any, NoReturn

import torch

from .. import _torch as _calls


def _instead(call: str = "pool()") -> str:
    return f"; use cuarena.torch.{call} instead of enable(), which keeps PyTorch's own allocator"


def _refusing(what: str, call: str = "pool()") -> Any:
    def refuse(*_args: Any, **_kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"{what} cannot be had with an arena as the default allocator{_instead(call)}"
        )

    return refuse


def _keep_benchmark_off(value: bool) -> None:
    """Set cudnn.benchmark: the search asks the allocator what a pluggable one cannot tell."""
    if value:
        warnings.warn(
            "torch.backends.cudnn.benchmark stays off: its search for convolutions asks PyTorch's "
            f"own allocator for the largest free block{_instead()}",
            stacklevel=3,
        )


def _history(enabled: Any = "all", *_args: Any, **_kwargs: Any) -> None:
    """Answer for torch._C._cuda_record_memory_history."""
    if enabled:
        raise RuntimeError(
            "an arena records no stacks of Python; enable(options='trace=FILE') records every "
            "call of the allocator, and enable(options='trace_ring=N') the last ones"
        )


def _with_plain_graphs(compile_: Any) -> Any:
    """Make mode="reduce-overhead" capture graphs that have a pool each.

    Trees of graphs save and restore the state of PyTorch's own allocator.
    """

    @functools.wraps(compile_)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        import torch._inductor.config as config

        config.triton.cudagraph_trees = False
        return compile_(*args, **kwargs)

    return compiled


def _without_allocator(init: Any) -> Any:
    """Let a MemPool be made whose tensors lie in the arena, but none with other memory."""

    @functools.wraps(init)
    def checked(self: Any, allocator: Any = None, *args: Any, **kwargs: Any) -> None:
        if allocator is not None:
            _refusing("a torch.cuda.MemPool with an allocator of its own")()
        init(self, allocator, *args, **kwargs)

    return checked


def install() -> None:
    """Answer what PyTorch's allocator refuses, and guard what cannot be answered."""
    answers = _calls.answer()
    pool = torch.cuda.MemPool
    if answers & 2:
        pool.__init__ = _without_allocator(pool.__init__)
    else:
        pool.__init__ = _refusing("torch.cuda.MemPool")
    if not answers & 1:
        _guard_benchmark()
    torch.UntypedStorage._share_cuda_ = _refusing(
        "sharing tensors of a GPU with other processes", "pool(options='backing=malloc')"
    )
    torch._C._cuda_record_memory_history = _history
    torch.compile = _with_plain_graphs(torch.compile)


def _guard_benchmark() -> None:
    if torch._C._get_cudnn_benchmark():
        _keep_benchmark_off(True)
        torch._C._set_cudnn_benchmark(False)
    type(torch.backends.cudnn).__dict__["benchmark"].setter = _keep_benchmark_off
