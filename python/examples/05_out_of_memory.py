"""A handler that frees a cache before a request is refused."""

import cuarena

MIB = 1 << 20

with cuarena.Arena(pool="8MiB") as arena:
    cache = [arena.alloc(MIB, tag="cache") for _ in range(8)]

    def drop_cache(nbytes, attempt):
        print(f"{nbytes} bytes are wanted: dropping {len(cache)} blocks")
        cache.clear()
        return True

    arena.on_out_of_memory(drop_cache)
    block = arena.alloc(6 * MIB)
    print(f"{arena.tag_stats('cache').peak_requested_bytes} bytes of the cache at most")
    block.free()
