"""The compiled part of the package."""

from collections.abc import Callable
from typing import Any

version: str

def set_error_factory(factory: Callable[..., Exception], /) -> None: ...

class Arena:
    def __init__(self, options: str) -> None: ...
    def close(self) -> None: ...
    def _alloc(
        self,
        size: int,
        stream: Any,
        movable: bool,
        zeroed: bool,
        alignment: int,
        tag: int,
        stable: bool,
        dedicated: bool,
        /,
    ) -> Block: ...
    @property
    def closed(self) -> bool: ...
    @property
    def handle(self) -> int: ...

class Block:
    def free(self, stream: Any = ...) -> None: ...
    @property
    def address(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
