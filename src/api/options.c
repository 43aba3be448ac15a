#include "api/options.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"

/* ---- The table --------------------------------------------------------- */

#define MEMBER(name)                                                                               \
    .offset = offsetof(cuarena_config_t, name), .size = sizeof(((cuarena_config_t *)0)->name)

#define MOST_BYTES (CUARENA_HEAP_MAX_SEGMENT - 1)
#define AMOUNT_RANGE "bytes below 256TiB, 0.001% to 100%, auto, auto-BYTES"

/* The range of ONNX Runtime's ints. */
#define ORT_INT "1 to 2147483647", 1, INT32_MAX

#define PROPERTY .fallback = "off", .accepted = "off, try, require", .first = CUARENA_PROPERTY_OFF

static const cuai_option_t options[] = {
    {
        .key = "preset",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(preset),
        .fallback = "pool",
        .accepted = "pool, grow, bfc, mlx-cpu, mlx-cuda, cupy-pool, "
                    "driver-pool",
        .first = CUARENA_PRESET_POOL,
        .help = "A pool of a fixed size, one that takes what requests need, or "
                "one that behaves as ONNX Runtime's, MLX's or CuPy's.",
    },
    {
        .key = "memory",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(memory),
        .fallback = "preset",
        .accepted = "preset, pageable, none, device, managed, pinned",
        .first = CUARENA_MEMORY_PRESET,
        .wordless = 2,
        .help = "Where bytes come from; none: addresses without bytes. The "
                "presets say pageable, but mlx-cuda and driver-pool device.",
    },
    {
        .key = "pool",
        .type = CUAI_OPTION_AMOUNT,
        MEMBER(pool),
        .fallback = "auto-512MiB",
        .accepted = AMOUNT_RANGE,
        .least = 1,
        .most = MOST_BYTES,
        .help = "The size of a pool, its stable region included.",
    },
    {
        .key = "stable",
        .type = CUAI_OPTION_AMOUNT,
        MEMBER(stable),
        .fallback = "0",
        .accepted = "bytes below 256TiB, 0% to 100%, auto, auto-BYTES",
        .most = MOST_BYTES,
        .help = "How much of a pool is the stable region, which never moves.",
    },
    {
        .key = "limit",
        .type = CUAI_OPTION_AMOUNT,
        MEMBER(limit),
        .fallback = "auto",
        .accepted = "bytes from 1 on, 0.001% to 100%, auto, auto-BYTES",
        .least = 1,
        .most = UINT64_MAX,
        .help = "The most bytes to take from the memory.",
        .ort = {"max_mem", "a whole number from 0 on; 0: no limit", 0, UINT64_MAX, NULL, NULL},
    },
    {
        .key = "addresses",
        .type = CUAI_OPTION_BYTES,
        MEMBER(address_bytes),
        .fallback = "0",
        .accepted = "0 to below 256TiB",
        .most = MOST_BYTES,
        .help = "Addresses set aside for growing in place, also by resize_pool; "
                "0: as many as the limit, or else as a pool has bytes, or for "
                "an arena that grows as the memory has.",
    },
    {
        .key = "alignment",
        .type = CUAI_OPTION_BYTES,
        MEMBER(alignment),
        .fallback = "preset",
        .accepted = "a power of two from 8 to 1GiB, preset",
        .least = 8,
        .most = CUAI_GIB,
        .power_of_two = true,
        .from_preset = "preset",
        .help = "The granule, of which addresses and sizes of blocks are "
                "multiples; 256 in most presets.",
    },
    {
        .key = "split_threshold",
        .type = CUAI_OPTION_BYTES,
        MEMBER(split_threshold),
        .fallback = "preset",
        .accepted = "bytes, preset, never",
        .most = UINT64_MAX,
        .unlimited = "never",
        .from_preset = "preset",
        .help = "A free range that exceeds a request by so many bytes is split.",
        .ort = {"max_dead_bytes_per_chunk", ORT_INT, NULL, NULL},
    },
    {
        .key = "max_blocks",
        .type = CUAI_OPTION_COUNT,
        MEMBER(max_blocks),
        .fallback = "67108864",
        .accepted = "1 to 67108864",
        .least = 1,
        .most = CUARENA_HEAP_MAX_BLOCKS,
        .help = "The most blocks that live at once.",
    },
    {
        .key = "grow",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(grow),
        .fallback = "preset",
        .accepted = "preset, none, exact, doubling",
        .first = -1,
        .help = "By how much to grow: as the preset says, never, by what a "
                "request lacks, or by chunks that double.",
        .ort = {"extend_strategy, arena_extend_strategy", "0, 1", 0, 1, "doubling, exact", NULL},
    },
    {
        .key = "zero",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(zero),
        .fallback = "never",
        .accepted = "never, create, alloc, free",
        .first = CUARENA_ZERO_NEVER,
        .help = "When bytes are set to 0.",
    },
    {
        .key = "placement",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(placement),
        .fallback = "preset",
        .accepted = "preset, default, best, low",
        .first = -1,
        .help = "How a free range is chosen for a request.",
    },
    {
        .key = "compact_on_oom",
        .type = CUAI_OPTION_FLAG,
        MEMBER(compact_on_oom),
        .fallback = "0",
        .accepted = "0, 1",
        .help = "Whether blocks are moved together before a request is refused.",
    },
    {
        .key = "device",
        .type = CUAI_OPTION_COUNT,
        MEMBER(device),
        .fallback = "0",
        .accepted = "0 to 1023",
        .most = 1023,
        .help = "The device's number; see CUDA_VISIBLE_DEVICES.",
    },
    {
        .key = "backing",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(backing),
        .fallback = "auto",
        .accepted = "auto, vmm, malloc, async",
        .first = CUARENA_BACKING_AUTO,
        .help = "How memory=device gets its bytes; auto: as the preset says, "
                "in most vmm where there is such, else malloc.",
    },
    {
        .key = "fd",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(fd),
        PROPERTY,
        .help = "Whether blocks can be exported to other processes.",
    },
    {
        .key = "rdma",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(rdma),
        PROPERTY,
        .help = "Whether network cards can reach the bytes.",
    },
    {
        .key = "fabric",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(fabric),
        PROPERTY,
        .help = "Whether handles can be exported to other hosts.",
    },
    {
        .key = "peers",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(peers),
        PROPERTY,
        .help = "Whether the other devices can reach the bytes.",
    },
    {
        .key = "handle",
        .type = CUAI_OPTION_BYTES,
        MEMBER(handle_bytes),
        .fallback = "0",
        .accepted = "0, or a power of two to 64GiB",
        .most = 64 * CUAI_GIB,
        .power_of_two = true,
        .or_zero = true,
        .help = "What backing=vmm takes and gives back at a time; 0: by the "
                "arena's size. memory=none does the same.",
    },
    {
        .key = "mapped",
        .type = CUAI_OPTION_FLAG,
        MEMBER(mapped),
        .fallback = "1",
        .accepted = "0, 1",
        .help = "Whether devices can reach pinned memory.",
    },
    {
        .key = "write_combined",
        .type = CUAI_OPTION_FLAG,
        MEMBER(write_combined),
        .fallback = "0",
        .accepted = "0, 1",
        .help = "Whether pinned memory is fast to write and slow to read.",
    },
    {
        .key = "portable",
        .type = CUAI_OPTION_FLAG,
        MEMBER(portable),
        .fallback = "1",
        .accepted = "0, 1",
        .help = "Whether pinned memory is pinned for every context.",
    },
    {
        .key = "device_only",
        .type = CUAI_OPTION_FLAG,
        MEMBER(device_only),
        .fallback = "0",
        .accepted = "0, 1",
        .help = "Whether the CPU never touches blocks that streams use, though "
                "it could reach them.",
    },
    {
        .key = "events",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(events),
        .fallback = "late",
        .accepted = "late, eager",
        .first = CUARENA_EVENTS_LATE,
        .help = "When an event is recorded on a stream: when its freed bytes "
                "are needed, or at every free.",
    },
    {
        .key = "steal",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(steal),
        .fallback = "preset",
        .accepted = "preset, wait, idle, never",
        .first = -1,
        .help = "Which bytes that another stream freed a stream may get: all, "
                "waiting for that stream on the device; those that are idle "
                "or waited for already, as in bfc; or none.",
    },
    {
        .key = "name",
        .type = CUAI_OPTION_TEXT,
        MEMBER(name),
        .fallback = "",
        .accepted = "up to 31 bytes",
        .help = "What logs and messages call the arena.",
    },
    {
        .key = "initial_chunk",
        .type = CUAI_OPTION_BYTES,
        MEMBER(initial_chunk),
        .fallback = "1MiB",
        .accepted = "1 to below 256TiB",
        .least = 1,
        .most = MOST_BYTES,
        .help = "The first chunk of grow=doubling, and of take_first.",
        .ort = {"initial_chunk_size_bytes", ORT_INT, NULL, NULL},
    },
    {
        .key = "growth_after_trim",
        .type = CUAI_OPTION_BYTES,
        MEMBER(growth_after_trim),
        .fallback = "2MiB",
        .accepted = "1 to below 256TiB",
        .least = 1,
        .most = MOST_BYTES,
        .help = "The next chunk of grow=doubling after a trim.",
        .ort = {"initial_growth_chunk_size_bytes", ORT_INT, NULL, NULL},
    },
    {
        .key = "max_doubling",
        .type = CUAI_OPTION_BYTES,
        MEMBER(max_doubling),
        .fallback = "1GiB",
        .accepted = "bytes from 1 on, never",
        .least = 1,
        .most = UINT64_MAX,
        .unlimited = "never",
        .help = "The largest chunk that grow=doubling doubles to; never: no "
                "largest.",
        .ort = {"max_power_of_two_extend_bytes", "1 to 9223372036854775807", 1, INT64_MAX, NULL,
                NULL},
    },
    {
        .key = "take_first",
        .type = CUAI_OPTION_FLAG,
        MEMBER(take_first),
        .fallback = "0",
        .accepted = "0, 1",
        .help = "Whether an arena that grows takes initial_chunk bytes when it "
                "is made.",
    },
    {
        .key = "unknown_keys",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(unknown_keys),
        .fallback = "error",
        .accepted = "error, warn",
        .first = CUARENA_UNKNOWN_ERROR,
        .help = "What becomes of unknown keys, from then on, and at creation "
                "of options that have no effect beside the others.",
    },
    {
        .key = "in_place",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(in_place),
        .fallback = "preset",
        .accepted = "preset, 0, 1",
        .first = -1,
        .help = "Whether segments are lengthened, shortened and punched where "
                "the memory can; else each keeps its length and goes back "
                "whole.",
    },
    {
        .key = "segments",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(segments),
        .fallback = "preset",
        .accepted = "preset, shared, each",
        .first = -1,
        .help = "Whether blocks are cut from segments, or each is one; each in "
                "driver-pool, shared in other presets.",
    },
    {
        .key = "driver_pool",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(driver_pool),
        .fallback = "current",
        .accepted = "current, default, own, external",
        .first = CUARENA_DRIVER_POOL_CURRENT,
        .help = "Which of the driver's pools backing=async takes from.",
    },
    {
        .key = "driver_pool_handle",
        .type = CUAI_OPTION_COUNT,
        MEMBER(driver_pool_handle),
        .fallback = "0",
        .accepted = "0 to 18446744073709551615",
        .most = UINT64_MAX,
        .help = "The CUmemoryPool of driver_pool=external, as a number.",
    },
    {
        .key = "driver_pool_max",
        .type = CUAI_OPTION_BYTES,
        MEMBER(driver_pool_max),
        .fallback = "0",
        .accepted = "0 to below 256TiB",
        .most = MOST_BYTES,
        .help = "The most bytes that driver_pool=own takes of its device; 0: "
                "no limit. Needs a driver of CUDA 12.2.",
    },
    {
        .key = "release_threshold",
        .type = CUAI_OPTION_BYTES,
        MEMBER(release_threshold),
        .fallback = "preset",
        .accepted = "bytes, preset, never, unchanged",
        .most = UINT64_MAX,
        .unlimited = "never",
        .from_preset = "preset",
        .unchanged = "unchanged",
        .help = "How many free bytes a driver's pool keeps when somebody waits "
                "for the device; never: it gives nothing back, as in "
                "driver-pool; other presets leave it unchanged.",
        .ort = {"cuda_mempool_release_threshold", "a whole number from 0 on; 0: unchanged", 0,
                UINT64_MAX, NULL, "unchanged"},
    },
    {
        .key = "make_current",
        .type = CUAI_OPTION_FLAG,
        MEMBER(make_current),
        .fallback = "0",
        .accepted = "0, 1",
        .help = "Whether the arena makes its pool the device's current one.",
    },
    {
        .key = "threshold_limits",
        .type = CUAI_OPTION_FLAG,
        MEMBER(threshold_limits),
        .fallback = "0",
        .accepted = "0, 1",
        .help = "Whether a driver's pool refuses to grow above its release "
                "threshold, as in CuPy.",
    },
    {
        .key = "keep_on_trim",
        .type = CUAI_OPTION_BYTES,
        MEMBER(keep_on_trim),
        .fallback = "0",
        .accepted = "bytes",
        .most = UINT64_MAX,
        .help = "How many bytes cuarena_shared_shrink leaves to an arena.",
        .ort = {"cuda_mempool_bytes_to_keep_on_shrink", "a whole number from 0 on", 0, UINT64_MAX,
                NULL, NULL},
    },
    {
        .key = "use_cuda_mempool",
        .type = CUAI_OPTION_FLAG,
        MEMBER(use_cuda_mempool),
        .fallback = "0",
        .accepted = "0, 1",
        .help = "Whether an arena of device memory is one of "
                "preset=driver-pool and driver_pool=own instead; pinned "
                "memory ignores this, and the keys of that pool.",
    },
    {
        .key = "keep",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(keep),
        .fallback = "preset",
        .accepted = "preset, all, cache, none",
        .first = -1,
        .help = "What a free leaves behind: free bytes until they are trimmed, "
                "the block itself in a cache, or nothing.",
    },
    {
        .key = "cache_bound",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(cache_bound),
        .fallback = "preset",
        .accepted = "preset, strict, late",
        .first = -1,
        .help = "Whether the cache of keep=cache never exceeds its limit, or may "
                "by one block until the next allocation.",
    },
    {
        .key = "cache_limit",
        .type = CUAI_OPTION_AMOUNT,
        MEMBER(cache_limit),
        .fallback = "auto",
        .accepted = "bytes, 0% to 100%, auto, auto-BYTES",
        .most = UINT64_MAX,
        .help = "The most bytes that keep=cache has in its cache; auto: as the "
                "preset says, else the soft limit.",
    },
    {
        .key = "cache_page",
        .type = CUAI_OPTION_BYTES,
        MEMBER(cache_page),
        .fallback = "preset",
        .accepted = "1 to below 256TiB, preset",
        .least = 1,
        .most = MOST_BYTES,
        .from_preset = "preset",
        .help = "A request gets a cached block that is less than twice as "
                "large, and larger by less than two of these.",
    },
    {
        .key = "soft_limit",
        .type = CUAI_OPTION_AMOUNT,
        MEMBER(soft_limit),
        .fallback = "auto",
        .accepted = "bytes, 0% to 100%, auto, auto-BYTES",
        .most = UINT64_MAX,
        .help = "A limit of live and cached bytes that refuses no request; "
                "auto: as the preset says, else none.",
    },
    {
        .key = "soft_limit_rule",
        .type = CUAI_OPTION_CHOICE,
        MEMBER(soft_limit_rule),
        .fallback = "preset",
        .accepted = "preset, store, enforce",
        .first = -1,
        .help = "What the soft limit does: nothing, programs may ask for it; or "
                "cached blocks end to stay below it.",
    },
    {
        .key = "round_powers",
        .type = CUAI_OPTION_BYTES,
        MEMBER(round_powers),
        .fallback = "preset",
        .accepted = "0, a power of two to 1GiB, preset",
        .most = CUAI_GIB,
        .power_of_two = true,
        .or_zero = true,
        .from_preset = "preset",
        .help = "Sizes below it are rounded up to a power of two.",
    },
    {
        .key = "round_to",
        .type = CUAI_OPTION_BYTES,
        MEMBER(round_to),
        .fallback = "preset",
        .accepted = "0, a power of two to 1GiB, preset",
        .most = CUAI_GIB,
        .power_of_two = true,
        .or_zero = true,
        .from_preset = "preset",
        .help = "Sizes from round_powers on are rounded up to a multiple of "
                "it.",
    },
    {
        .key = "natural",
        .type = CUAI_OPTION_BYTES,
        MEMBER(natural),
        .fallback = "preset",
        .accepted = "0, a power of two to 1GiB, preset",
        .most = CUAI_GIB,
        .power_of_two = true,
        .or_zero = true,
        .from_preset = "preset",
        .help = "Blocks are aligned to the least power of two that they fit "
                "in, of this at most.",
    },
};

#define OPTION_COUNT (sizeof options / sizeof options[0])

/* Words have consecutive values in the order of the table. */
static_assert(CUARENA_PRESET_GROW == CUARENA_PRESET_POOL + 1, "preset");
static_assert(CUARENA_PRESET_BFC == CUARENA_PRESET_POOL + 2, "preset");
static_assert(CUARENA_PRESET_MLX_CPU == CUARENA_PRESET_POOL + 3, "preset");
static_assert(CUARENA_PRESET_MLX_CUDA == CUARENA_PRESET_POOL + 4, "preset");
static_assert(CUARENA_PRESET_CUPY_POOL == CUARENA_PRESET_POOL + 5, "preset");
static_assert(CUARENA_PRESET_DRIVER_POOL == CUARENA_PRESET_POOL + 6, "preset");
static_assert(CUARENA_MEMORY_PAGEABLE == CUARENA_MEMORY_PRESET + 1, "memory");
static_assert(CUARENA_PLACEMENT_DEFAULT == 0, "placement");
static_assert(CUARENA_STEAL_WAIT == 0, "steal");
static_assert(CUARENA_MEMORY_NONE == CUARENA_MEMORY_PAGEABLE + 1, "memory");
static_assert(CUARENA_MEMORY_DEVICE == CUARENA_MEMORY_PAGEABLE + 2, "memory");
static_assert(CUARENA_MEMORY_MANAGED == CUARENA_MEMORY_PAGEABLE + 3, "memory");
static_assert(CUARENA_MEMORY_PINNED == CUARENA_MEMORY_PAGEABLE + 4, "memory");
static_assert(CUARENA_MEMORY_BYTES == CUARENA_MEMORY_PAGEABLE + 5, "memory");
static_assert(CUARENA_MEMORY_CUSTOM == CUARENA_MEMORY_PAGEABLE + 6, "memory");
static_assert(CUARENA_GROW_NONE == 0 && CUARENA_GROW_EXACT == 1, "grow");
static_assert(CUARENA_GROW_DOUBLING == 2, "grow");
static_assert(CUARENA_UNKNOWN_WARN == CUARENA_UNKNOWN_ERROR + 1, "unknown");
static_assert(CUARENA_ZERO_CREATE == CUARENA_ZERO_NEVER + 1, "zero");
static_assert(CUARENA_ZERO_ALLOC == CUARENA_ZERO_NEVER + 2, "zero");
static_assert(CUARENA_ZERO_FREE == CUARENA_ZERO_NEVER + 3, "zero");
static_assert(CUARENA_PLACEMENT_BEST == CUARENA_PLACEMENT_DEFAULT + 1, "fit");
static_assert(CUARENA_PLACEMENT_LOW == CUARENA_PLACEMENT_DEFAULT + 2, "fit");
static_assert(CUARENA_BACKING_VMM == CUARENA_BACKING_AUTO + 1, "backing");
static_assert(CUARENA_BACKING_MALLOC == CUARENA_BACKING_AUTO + 2, "backing");
static_assert(CUARENA_BACKING_ASYNC == CUARENA_BACKING_AUTO + 3, "backing");
static_assert(CUARENA_PROPERTY_TRY == CUARENA_PROPERTY_OFF + 1, "property");
static_assert(CUARENA_PROPERTY_REQUIRE == CUARENA_PROPERTY_OFF + 2, "property");
static_assert(CUARENA_EVENTS_EAGER == CUARENA_EVENTS_LATE + 1, "events");
static_assert(CUARENA_STEAL_IDLE == CUARENA_STEAL_WAIT + 1, "steal");
static_assert(CUARENA_STEAL_NEVER == CUARENA_STEAL_WAIT + 2, "steal");
static_assert(CUARENA_SEGMENTS_SHARED == 0 && CUARENA_SEGMENTS_EACH == 1, "segments");
static_assert(CUARENA_DRIVER_POOL_DEFAULT == CUARENA_DRIVER_POOL_CURRENT + 1, "pool");
static_assert(CUARENA_DRIVER_POOL_OWN == CUARENA_DRIVER_POOL_CURRENT + 2, "pool");
static_assert(CUARENA_DRIVER_POOL_EXTERNAL == CUARENA_DRIVER_POOL_CURRENT + 3, "pool");
static_assert(CUARENA_KEEP_ALL == 0 && CUARENA_KEEP_CACHE == 1, "keep");
static_assert(CUARENA_KEEP_NONE == 2, "keep");
static_assert(CUARENA_CACHE_STRICT == 0 && CUARENA_CACHE_LATE == 1, "bound");
static_assert(CUARENA_SOFT_STORE == 0 && CUARENA_SOFT_ENFORCE == 1, "soft");
static_assert(CUARENA_HEAP_MAX_BLOCKS == 67108864, "the text of max_blocks");
static_assert(CUARENA_HEAP_MAX_SEGMENT == 256 * CUAI_TIB, "the text of pool");
static_assert(sizeof((cuarena_config_t *)0)->name == 32, "the text of name");

const cuai_option_t *cuai_option_at(size_t index)
{
    return index < OPTION_COUNT ? &options[index] : NULL;
}

const cuai_option_t *cuai_option_find(const char *key)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (strcmp(options[i].key, key) == 0)
            return &options[i];
    return NULL;
}

const char *cuai_option_type_name(cuai_option_type_t type)
{
    static const char *const names[] = {
        [CUAI_OPTION_AMOUNT] = "amount", [CUAI_OPTION_BYTES] = "bytes",
        [CUAI_OPTION_COUNT] = "count",   [CUAI_OPTION_CHOICE] = "choice",
        [CUAI_OPTION_FLAG] = "flag",     [CUAI_OPTION_TEXT] = "text",
    };
    return names[type];
}
