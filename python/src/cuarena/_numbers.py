"""Whole numbers, of any type that has ``__index__``."""

from __future__ import annotations

import operator
from typing import SupportsIndex

from . import _errors


def integer(value: SupportsIndex, what: str, least: int, most: int, expected: str) -> int:
    """Give a number as an int, or say what is accepted.

    Parameters
    ----------
    value
        The number.
    what
        What the caller knows it as.
    least, most
        Its range.
    expected
        How the range is said.

    Raises
    ------
    InvalidArgumentError
        If it is out of range.
    TypeError
        If it is no whole number.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}={value!r} is no whole number; expected: {expected}") from None
    if not least <= number <= most:
        raise _errors.InvalidArgumentError(f"{what}={number} is out of range; expected: {expected}")
    return number


def size(value: SupportsIndex, what: str) -> int:
    """Give a number of bytes, of moves, or an address."""
    return integer(value, what, 0, 2**64 - 1, "0 to 2**64 - 1")


def device(value: SupportsIndex, what: str = "device") -> int:
    """Give the number of a device, which may be one that is not there."""
    return integer(value, what, -(2**31), 2**31 - 1, "the number of a device, 0 or more")
