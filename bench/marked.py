"""The parts of documents that a tool makes, each between two marks."""

import difflib
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
BENCHMARKS = TOP / "docs" / "benchmarks.md"
README = TOP / "README.md"
MODES = ("--write", "--check")


def arguments():
    """The mode, or "" to print; and a folder, or None."""
    words = sys.argv[1:]
    mode = words.pop(0) if words and words[0] in MODES else ""
    if len(words) > 1 or any(word.startswith("-") for word in words):
        sys.exit(f"{' '.join(sys.argv[1:])}: expected [--write | --check] [FOLDER]")
    return mode, Path(words[0]) if words else None


def deliver(tool, mode, text, document=BENCHMARKS):
    """Prints the text, puts it between the marks of the tool, or fails if something else is there."""
    begin = f"<!-- {tool} --write: what follows is made by it -->\n"
    end = f"<!-- {tool} --write: its end -->\n"
    if not mode:
        print(text, end="")
        return
    old = document.read_text()
    if begin not in old or end not in old:
        sys.exit(f"{document}: one of these lines is missing:\n{begin}{end}")
    head, rest = old.split(begin, 1)
    there, tail = rest.split(end, 1)
    made = "\n" + text
    if mode == "--write":
        document.write_text(head + begin + made + end + tail)
    elif there != made:
        lines = difflib.unified_diff(there.splitlines(), made.splitlines(), str(document),
                                     tool, lineterm="")
        sys.exit("\n".join(lines) + f"\n{tool} --write puts this right")
