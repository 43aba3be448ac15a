#!/usr/bin/env python3
"""Looks at the snapshots of arenas in a folder: NAME.json and, of the same
moment, NAME.pickle in PyTorch's format.

usage: snapshots.py SCHEMA FOLDER

Each JSON fits the schema; its blocks, free ranges and holes fill its segments;
its sums are its statistics. Each pickle names nothing that is to be called, has
the same blocks, and fills its segments. One line for whatever is wrong.
"""
import json
import pathlib
import pickle
import pickletools
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

# What PyTorch's viewer, which reads pickles by itself, knows and we write.
OPERATIONS = set("PROTO MARK EMPTY_DICT SETITEMS EMPTY_LIST APPEND TUPLE BINUNICODE BINPUT BINGET "
                 "BININT LONG1 NEWTRUE NEWFALSE STOP".split())
FREE_STATES = {"freed", "event", "captured"}


class Plain(pickle.Unpickler):
    """A reader that calls nothing."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"names {module}.{name}")


def total(items, key="bytes"):
    return sum(item[key] for item in items)


def fill(what, segments, pieces, wrong):
    """The pieces, (address, bytes), lie in the segments without a gap."""
    pieces = sorted(piece for piece in pieces if piece[1] != 0)
    at = 0
    for begin, size in sorted(segments):
        address = begin
        while at < len(pieces) and pieces[at][0] == address and address < begin + size:
            address += pieces[at][1]
            at += 1
        if address != begin + size:
            wrong(f"{what}: the segment at {begin:#x} is not filled at {address:#x}")
            return
    if at != len(pieces):
        wrong(f"{what}: what is at {pieces[at][0]:#x} is in no segment")


def check_sums(name, snapshot, wrong):
    def same(what, got, want):
        if got != want:
            wrong(f"{name}: {what}: {got}, expected {want}")

    stats = snapshot["statistics"]
    live = [b for b in snapshot["blocks"] if "cached" not in b["flags"]]
    free = snapshot["free"]
    same("live bytes", total(live), stats["live_bytes"])
    same("live blocks", len(live), stats["live_blocks"])
    same("requested bytes", total(live, "requested_bytes"), stats["requested_bytes"])
    same("free bytes", total(free), stats["free_bytes"])
    same("free ranges", len(free), stats["free_ranges"])
    same("all bytes", total(snapshot["blocks"]) + total(free), stats["capacity_bytes"])
    idle = [f["bytes"] for f in free if f["state"] == "idle"]
    if stats["largest_bytes"] > max(idle, default=0):
        wrong(f"{name}: no idle range has the largest bytes")
    taken = [s for s in snapshot["segments"] if s["region"] != "adopted"]
    same("reserved bytes", total(taken, "reserved_bytes"), stats["reserved_bytes"])
    for tag in snapshot["tags"]:
        of = [b for b in live if b["tag"] == tag["number"]]
        same(f"tag {tag['name']}", (total(of), len(of)), (tag["live_bytes"], tag["live_blocks"]))
    for stream in snapshot["streams"]:
        number = stream["number"]
        of = [b for b in live if b["stream"] == number]
        same(f"stream {number}", (total(of), len(of)),
             (stream["live_bytes"], stream["live_blocks"]))
        of = [f for f in free if f["stream"] == number and f["state"] in FREE_STATES]
        same(f"free of stream {number}", total(of), stream["free_bytes"])
    if any(b["tag"] > len(snapshot["tags"]) for b in live):
        wrong(f"{name}: a tag is not in the list")
    known = {0} | {stream["number"] for stream in snapshot["streams"]}
    if any(b["stream"] not in known for b in snapshot["blocks"] + free):
        wrong(f"{name}: a stream is not in the list")


def check_events(name, snapshot, wrong):
    """They are in order, and blocks that live now were allocated by the last event of their id."""
    events = snapshot["events"]
    times = [event["time_ns"] for event in events]
    if times != sorted(times):
        wrong(f"{name}: the events are not in order")
    ring = int(snapshot["arena"]["options"]["trace_ring"])
    if len(events) > ring:
        wrong(f"{name}: {len(events)} events, expected {ring} at most")
    live = {b["id"] for b in snapshot["blocks"]}
    last = {event["id"]: event["op"] for event in events if event["op"] in ("a", "f")}
    if any((op == "a") != (block in live) for block, op in last.items()):
        wrong(f"{name}: the events are not those of its blocks")


def check_json(name, snapshot, validator, wrong):
    if validator is not None:
        for error in validator.iter_errors(snapshot):
            wrong(f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
    pieces = snapshot["blocks"] + snapshot["free"]
    for segment in snapshot["segments"]:
        pieces = pieces + segment["holes"]
        holes = total(segment["holes"])
        if segment["reserved_bytes"] + holes != segment["bytes"]:
            wrong(f"{name}: holes and reserved bytes are not a segment's bytes")
    fill(name, [(s["address"], s["bytes"]) for s in snapshot["segments"]],
         [(p["address"], p["bytes"]) for p in pieces], wrong)
    check_sums(name, snapshot, wrong)
    check_events(name, snapshot, wrong)


def blocks_of(segments):
    return [(b, segment) for segment in segments for b in segment["blocks"]]


def check_pickle(name, data, snapshot, wrong):
    device = int(snapshot["arena"]["options"]["device"])
    if set(data) != {"segments", "device_traces", "allocator_settings", "external_annotations"}:
        wrong(f"{name}: members {sorted(data)}")
    if data["device_traces"] != [[] for _ in range(device + 1)]:
        wrong(f"{name}: traces {data['device_traces']}")
    segments = data["segments"]
    for segment in segments:
        fill(name, [(segment["address"], segment["total_size"])],
             [(b["address"], b["size"]) for b in segment["blocks"]], wrong)
        active = [b for b in segment["blocks"] if b["state"] != "inactive"]
        allocated = [b for b in active if b["state"] == "active_allocated"]
        sums = (total(allocated, "size"), total(active, "size"), total(active, "requested_size"))
        told = (segment["allocated_size"], segment["active_size"], segment["requested_size"])
        if sums != told or segment["frames"] != [] or segment["device"] != device:
            wrong(f"{name}: segment {segment['address']:#x}: {told}, expected {sums}")
    got = {(b["address"], b["size"], b["requested_size"], b["state"])
           for b, _ in blocks_of(segments) if b["state"] != "inactive"}
    want = {(b["address"], b["bytes"], b["requested_bytes"],
             "active_pending_free" if "waiting" in b["flags"] else "active_allocated")
            for b in snapshot["blocks"] if b["bytes"] != 0 and "cached" not in b["flags"]}
    if got != want:
        wrong(f"{name}: its blocks are not those of the JSON")


def main():
    schema = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    validator = None
    if jsonschema is None:
        print("skipped: the schema: python3-jsonschema is not installed")
    else:
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
    found = []
    paths = sorted(pathlib.Path(sys.argv[2]).glob("*.json"))
    for path in paths:
        snapshot = json.loads(path.read_text(encoding="utf-8"))
        check_json(path.stem, snapshot, validator, found.append)
        other = path.with_suffix(".pickle")
        if other.exists():
            for operation, _, at in pickletools.genops(other.read_bytes()):
                if operation.name not in OPERATIONS:
                    found.append(f"{other.name}: {operation.name} at {at}")
            with other.open("rb") as file:
                check_pickle(other.name, Plain(file).load(), snapshot, found.append)
    if not paths:
        found.append("there is no snapshot")
    for line in found[:40]:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
