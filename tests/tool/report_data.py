"""What is in a page of `cuarena report', read as the page does it.

  report_data.py PAGE        a line of figures, for tests that compare them
"""

import base64
import json
import sys
import zlib
from pathlib import Path


def element(text, name):
    begin = text.index('>', text.index('id="%s"' % name, text.index("</main>"))) + 1
    return text[begin:text.index("</script>", begin)]


def numbers(data):
    number = shift = 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0


def read(path):
    """The facts, and the tables as lists by their names."""
    text = Path(path).read_text(encoding="utf-8")
    facts = json.loads(element(text, "facts"))
    stream = numbers(zlib.decompress(base64.b64decode(element(text, "columns"), validate=False)))
    tables = {}
    for table in facts["tables"]:
        tables[table["name"]] = {}
        for column in table["columns"]:
            values, last = [], 0
            for _ in range(table["rows"]):
                number = next(stream)
                if column["steps"]:
                    last += -(number + 1 >> 1) if number & 1 else number >> 1
                else:
                    last = number
                values.append(last)
            tables[table["name"]][column["name"]] = values
    assert next(stream, None) is None, "numbers behind the last column"
    return facts, tables


def overlaps(facts, stays):
    """How many pairs of stays have a byte at the same moment. Takes the square of them."""
    boxes = list(zip(stays["begin"], stays["life"], stays["offset"], stays["bytes"]))
    unit = facts["unit_bytes"]
    return sum(a[0] < b[0] + b[1] and b[0] < a[0] + a[1] and
               a[2] * unit < b[2] * unit + b[3] and b[2] * unit < a[2] * unit + a[3]
               for i, a in enumerate(boxes) for b in boxes[:i])


def main():
    facts, tables = read(sys.argv[1])
    stays, samples = tables["stays"], tables["samples"]
    figures = {
        "events": facts["moments"],
        "blocks": len(set(stays["block"])),
        "stays": len(stays["begin"]),
        "peak": max(samples["live"], default=0),
        "reserved": max(samples["reserved"], default=0),
        "refused": len(tables["refusals"]["moment"]),
        "moves": sum(tables["slides"]["moves"]),
        "bytes_moved": sum(tables["slides"]["bytes"]),
        "overlaps": overlaps(facts, stays) if len(stays["begin"]) < 3000 else "many",
    }
    print(*("%s=%s" % figure for figure in figures.items()))


if __name__ == "__main__":
    main()
