"""A pool of host memory: allocate, free, statistics."""

import cuarena

with cuarena.Arena(pool="64MiB") as arena:
    block = arena.alloc(1_000_000)
    print(f"{block.nbytes} bytes at {block.address:#x}")
    print(f"{arena.stats().live_bytes} bytes live, of {arena.stats().capacity_bytes}")
    block.free()
