"""RMM on arenas: buffers that come and go, and what the arena took for them."""

import random
import sys

import cuarena

try:
    import rmm

    import cuarena.rmm

    cuarena.device_info(0)
except (ImportError, cuarena.ArenaError) as error:
    print(f"skipped: {error}")
    sys.exit(77)

arena = cuarena.Arena(memory="device", preset="grow", limit="1GiB")
rmm.mr.set_current_device_resource(cuarena.rmm.resource(arena))

dice = random.Random(3)
live = []
for number in range(2000):
    if len(live) > 30:
        value, buffer = live.pop(dice.randrange(len(live)))
        if buffer.tobytes()[:1] != bytes([value]):
            sys.exit(f"wrong bytes of {number}")
    value = number % 256
    live.append((value, rmm.DeviceBuffer.to_device(bytes([value]) * dice.randrange(1, 1 << 18))))
live.clear()
del buffer

stats = arena.stats()
print(
    f"{stats.allocs} buffers; {stats.peak_live_bytes} bytes live at most, "
    f"{stats.peak_reserved_bytes} reserved"
)
