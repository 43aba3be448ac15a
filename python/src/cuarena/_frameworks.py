"""How modules for frameworks find them."""

from __future__ import annotations

import importlib
import re
from types import ModuleType


class FrameworkError(ImportError):
    """A framework is not there, or too old; the message says what is wanted."""


def require(module: str, name: str, oldest: str, version: str | None = None) -> ModuleType:
    """Import a framework, or say what is wanted.

    Parameters
    ----------
    module
        What is imported.
    name
        What people call it.
    oldest
        The oldest version that is good, such as ``"13.0"``.
    version
        The version that was found; by default what the module says.

    Raises
    ------
    FrameworkError
        If it cannot be imported, or is older.
    """
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise FrameworkError(
            f"{name} cannot be imported ({error}); expected: {name} {oldest} or newer"
        ) from error
    version = version or str(getattr(found, "__version__", "0"))
    if _numbers(version) < _numbers(oldest):
        raise FrameworkError(f"{name} {version} is too old; expected: {oldest} or newer")
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.split("+")[0])[:3])
