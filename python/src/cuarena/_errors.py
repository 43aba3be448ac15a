"""The exceptions of the package, one class for each thing that a caller can do."""

from __future__ import annotations

from . import _native


class ArenaError(RuntimeError):
    """A call of the C library failed.

    Attributes
    ----------
    status : int
        The number of the C library's status, such as 2 for
        ``CUARENA_OUT_OF_MEMORY``.
    driver_code : int
        ``errno``, the driver's code, or 0.
    asked_bytes, limit_bytes, reserved_bytes, free_bytes, largest_bytes : int
        What was asked for, the limit or capacity that stood in the way, what
        the arena had taken from its memory, what was free, and the largest
        free range; 0 where it does not apply.
    """

    status = 0
    driver_code = 0
    asked_bytes = 0
    limit_bytes = 0
    reserved_bytes = 0
    free_bytes = 0
    largest_bytes = 0


class InvalidArgumentError(ArenaError, ValueError):
    """An option or argument is wrong; the message says what is accepted."""


class OutOfMemoryError(ArenaError, MemoryError):
    """A request was refused: for lack of bytes, in fragments, or by a limit."""


class NoDeviceError(ArenaError):
    """There is no usable device; the message says why."""


class DriverError(ArenaError, OSError):
    """The driver or the operating system refused."""


class ArenaLostError(ArenaError):
    """The arena is lost after an earlier failure, which the message has."""


class UnsupportedError(ArenaError, NotImplementedError):
    """What was asked for is not offered by the memory or preset."""


class StaleBlockError(ArenaError, LookupError):
    """The block was freed, or is none of this arena."""


class ArenaBusyError(ArenaError):
    """Something is still in use."""


_CLASSES: dict[int, type[ArenaError]] = {
    1: InvalidArgumentError,
    2: OutOfMemoryError,
    3: OutOfMemoryError,
    4: OutOfMemoryError,
    5: NoDeviceError,
    6: DriverError,
    7: ArenaLostError,
    8: UnsupportedError,
    9: StaleBlockError,
    10: ArenaBusyError,
}


def make(
    status: int,
    driver_code: int,
    asked_bytes: int,
    limit_bytes: int,
    reserved_bytes: int,
    free_bytes: int,
    largest_bytes: int,
    message: str,
) -> ArenaError:
    """Make the exception of a status; the extension calls this."""
    error = _CLASSES.get(status, ArenaError)(message)
    error.status = status
    error.driver_code = driver_code
    error.asked_bytes = asked_bytes
    error.limit_bytes = limit_bytes
    error.reserved_bytes = reserved_bytes
    error.free_bytes = free_bytes
    error.largest_bytes = largest_bytes
    return error


_native.set_error_factory(make)
