"""Runs a program of PyTorch with arenas as its allocator.

Call it as ``python -m cuarena.torch [--limit LIMIT] [--options OPTIONS]``, then
``script.py [ARGUMENT...]`` or ``-m MODULE [ARGUMENT...]``.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys

import cuarena.torch


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m cuarena.torch",
        description="Run a program of PyTorch with arenas as its allocator.",
    )
    parser.add_argument("--limit", help="the most bytes to take of each GPU, as 90%% or 20GiB")
    parser.add_argument("--options", default="", help="further options of the arenas")
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module")
    parser.add_argument("program", help="the script or module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what it is given")
    return parser.parse_args()


def main() -> None:
    """Enable arenas, and run the program as the interpreter would."""
    parsed = _parse()
    cuarena.torch.enable(parsed.limit, options=parsed.options)
    sys.argv = [parsed.program, *parsed.arguments]
    if parsed.module:
        sys.path[0] = os.getcwd()
        runpy.run_module(parsed.program, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(parsed.program))
        runpy.run_path(parsed.program, run_name="__main__")


if __name__ == "__main__":
    main()
