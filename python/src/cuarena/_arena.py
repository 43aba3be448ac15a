"""Arenas."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from . import _errors as _errors  # sets the exceptions of the extension
from . import _native
from ._native import Block


class Arena(_native.Arena):
    """Memory of a GPU or of the host that is taken once and handed out in blocks."""

    def __init__(self, options: str = "", /, **more: object) -> None:
        super().__init__(_join(options, more))

    def alloc(self, nbytes: int, *, stream: Any = None, movable: bool = False) -> Block:
        """Allocate a block of `nbytes` bytes."""
        return self._alloc(nbytes, stream, movable, False, 0, 0, False, False)

    def __enter__(self) -> Arena:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()


def _join(options: str, more: dict[str, object]) -> str:
    """Write options as one text, in which True is 1."""
    texts = [options] if options else []
    for key, value in more.items():
        texts.append(f"{key}={int(value) if isinstance(value, bool) else value}")
    return ",".join(texts)
