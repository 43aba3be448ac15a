"""Blocks that may move, and who is told of the moves."""

import cuarena

MIB = 1 << 20

with cuarena.Arena(pool="16MiB") as arena:
    blocks = [arena.alloc(MIB, movable=True) for _ in range(16)]
    for block in blocks[::2]:
        block.free()
    try:
        arena.alloc(4 * MIB)
    except cuarena.OutOfMemoryError as error:
        print(f"{error.free_bytes} bytes are free, but at most {error.largest_bytes} together")

    moved = []
    report = arena.compact(moved.extend, goal_bytes=4 * MIB)
    print(f"{report.moves} blocks moved; the first to {moved[0].target:#x}")
    arena.alloc(4 * MIB).free()

    with cuarena.pinned(blocks[1]) as address:
        print(f"a pinned block stays at {address:#x}")
    for block in blocks[1::2]:
        block.free()
