"""The functions of the extension that PyTorch calls, and those that tell what they did."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _errors, _native

library = ctypes.CDLL(_native.__file__)

# The figures of a device, in the order of cuarena_torch_figures.
FIGURES = (
    "reserved_bytes",
    "peak_reserved_bytes",
    "live_bytes",
    "peak_live_bytes",
    "requested_bytes",
    "peak_requested_bytes",
    "live_blocks",
    "peak_live_blocks",
    "allocs",
    "frees",
    "bytes_ever",
    "failed",
    "segments",
    "grows",
    "trims",
    "free_bytes",
    "largest_bytes",
    "host_waits",
    "captured_bytes",
    "driver_calls",
    "limit_bytes",
)


def _declare(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(library, name)
    function.restype = result
    function.argtypes = arguments
    return function


_int, _text, _size = ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t
_pointer, _u64 = ctypes.c_void_p, ctypes.c_uint64
_out = ctypes.POINTER(_u64)

_configure = _declare("cuarena_torch_configure", _int, _text, _text)
_figures = _declare("cuarena_torch_figures", _int, _int, _out, _size)
_reset_peaks = _declare("cuarena_torch_reset_peaks", _int, _int)
_reset_accumulated = _declare("cuarena_torch_reset_accumulated", _int, _int)
_arena = _declare("cuarena_torch_arena", _pointer, _int)
_arena_found = _declare("cuarena_torch_arena_found", _pointer, _int)
_report_to = _declare("cuarena_torch_report_to", None, _text)
_last_report = _declare("cuarena_torch_last_report", _size, _text, _size)
_last_error = _declare("cuarena_last_error", _text)
_snapshot = _declare("cuarena_snapshot_write", _int, _pointer, _int, _text)
answer = _declare("cuarena_torch_answer", _int)
tag_number = _declare("cuarena_torch_tag", _int, _text)
tag_enter = _declare("cuarena_torch_tag_enter", ctypes.c_uint32, _int)
tag_leave = _declare("cuarena_torch_tag_leave", None, ctypes.c_uint32)
sleep = _declare("cuarena_torch_sleep", _int, _int, _int, _out)
wake = _declare("cuarena_torch_wake", _int, _int, _out)
segment_bytes = _declare("cuarena_torch_segment_bytes", _u64, _int, _int)


def address(name: str) -> int:
    """Tell where an exported function is."""
    value = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert value is not None
    return value


def check(status: int) -> None:
    """Raise the exception of a status that is not OK."""
    if status:
        message = (_last_error() or b"").decode(errors="replace")
        raise _errors.make(status, 0, 0, 0, 0, 0, 0, message)


def configure(base: str, more: str) -> None:
    """Set the options of the arenas that are made from now on."""
    check(_configure(base.encode(), more.encode()))


def figures(device: int) -> dict[str, int]:
    """Tell what the arena of a device has; zeros if there is none yet."""
    values = (_u64 * len(FIGURES))()
    check(_figures(device, values, len(FIGURES)))
    return dict(zip(FIGURES, values, strict=True))


def devices() -> list[int]:
    """Tell which devices have arenas."""
    return [device for device in range(64) if _arena_found(device)]


def reset_peaks(device: int) -> None:
    """Begin the peaks of a device anew."""
    check(_reset_peaks(device))


def reset_accumulated(device: int) -> None:
    """Begin the counts of a device anew."""
    check(_reset_accumulated(device))


def arena(device: int) -> int:
    """Give the arena of a device, made if there is none, as a cuarena_t *."""
    handle = _arena(device)
    if not handle:
        check(6)
    assert isinstance(handle, int)
    return handle


def snapshot(device: int, path: str, kind: int) -> None:
    """Write a snapshot of a device's arena: 0 is JSON, 1 PyTorch's pickle."""
    check(_snapshot(arena(device), kind, path.encode()))


def report_to(pattern: str) -> None:
    """Set where refusals leave reports; an empty text: nowhere."""
    _report_to(pattern.encode())


def last_report() -> str:
    """Tell the file of the last report, or an empty text."""
    buffer = ctypes.create_string_buffer(600)
    _last_report(buffer, 600)
    return buffer.value.decode()
