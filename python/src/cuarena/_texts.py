"""Texts that the C library reads: options, paths and names."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping

from . import _errors


def text(value: object, what: str) -> str:
    """Give a text, or say what is accepted.

    Raises
    ------
    TypeError
        If it is none.
    InvalidArgumentError
        If C could not read it: with a NUL, or a lone surrogate.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what}={value!r} is no text; expected: a str")
    try:
        readable = "\0" not in value and value.encode() is not None
    except UnicodeEncodeError:
        readable = False
    if not readable:
        raise _errors.InvalidArgumentError(
            f"{what}={value!r} has a character that C cannot read; expected: Unicode without NUL"
        )
    return value


def path(value: object, what: str) -> str:
    """Give the name of a file, of a str, bytes or `os.PathLike`."""
    if not isinstance(value, str | bytes | os.PathLike):
        raise TypeError(f"{what}={value!r} is no path; expected: a str, bytes or os.PathLike")
    return text(os.fsdecode(value), what)


def _value(key: str, value: object) -> str:
    """Write the value of an option as the C library reads it."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str | bytes | os.PathLike):
        return path(value, key)
    try:
        return str(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"{key}={value!r} is no value of an option; "
            "expected: a text, a number, a bool or a path"
        ) from None


def option_pairs(more: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Write options by name as pairs of texts, in which True is 1."""
    return tuple((text(key, "option"), _value(key, value)) for key, value in more.items())


def join_options(options: str, more: Mapping[str, object]) -> str:
    """Write all options as one text, for arenas that are made later.

    Raises
    ------
    InvalidArgumentError
        If an option by name would read as several.
    """
    texts = [text(options, "options")] if options != "" else []
    for key, value in option_pairs(more):
        if "," in value or "," in key or "=" in key:
            raise _errors.InvalidArgumentError(
                f"{key}={value!r} has a comma, which separates options, or a name with '='; "
                "expected: neither"
            )
        texts.append(f"{key}={value}")
    return ",".join(texts)
