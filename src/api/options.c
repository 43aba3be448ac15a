#include "api/options.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/snapshot.h"
#include "base/bits.h"
#include "base/pattern.h"

/* ---- The table --------------------------------------------------------- */

#define MEMBER(name)                                                                               \
    .offset = offsetof(cuarena_config_t, name), .size = sizeof(((cuarena_config_t *)0)->name)

#define MOST_GUARD (4 * CUAI_KIB)
#define MOST_BYTES (CUARENA_HEAP_MAX_SEGMENT - 1)
#define AMOUNT_RANGE "bytes below 256TiB, 0.001% to 100%, auto, auto-BYTES"

/* The range of ONNX Runtime's ints. */
#define ORT_INT "1 to 2147483647", 1, INT32_MAX

/* A row of the table: type, key, member, default, and what is accepted; then the rest by name. */
#define OPTION(kind, name, member, text, words, ...)                                               \
    {                                                                                              \
        .key = name, .type = CUAI_OPTION_##kind, MEMBER(member), .fallback = text,                 \
        .accepted = words, __VA_ARGS__                                                             \
    }
#define AMOUNT(...) OPTION(AMOUNT, __VA_ARGS__)
#define BYTES(...) OPTION(BYTES, __VA_ARGS__)
#define COUNT(...) OPTION(COUNT, __VA_ARGS__)
#define CHOICE(...) OPTION(CHOICE, __VA_ARGS__)
#define TEXT(...) OPTION(TEXT, __VA_ARGS__)
#define FLAG(name, member, text, ...)                                                              \
    OPTION(FLAG, name, member, text, "0, 1", .last = 1, __VA_ARGS__)
#define PROPERTY(name, member, ...)                                                                \
    OPTION(CHOICE, name, member, "off", "off, try, require", .first = CUARENA_PROPERTY_OFF,        \
           .last = CUARENA_PROPERTY_REQUIRE, __VA_ARGS__)

static const cuai_option_t options[] = {
    /* What most programs set. */
    CHOICE("preset", preset, "pool", "pool, grow, bfc, mlx-cpu, mlx-cuda, cupy-pool, driver-pool",
           .help = "A pool of a fixed size, one that takes what requests need, or one that behaves "
                   "as ONNX Runtime's, MLX's or CuPy's.",
           .first = CUARENA_PRESET_POOL, .last = CUARENA_PRESET_DRIVER_POOL, .common = true),
    CHOICE("memory", memory, "preset", "preset, pageable, none, device, managed, pinned",
           .help = "Where bytes come from; none: addresses without bytes. The presets say "
                   "pageable, but mlx-cuda and driver-pool device.",
           .first = CUARENA_MEMORY_PRESET, .last = CUARENA_MEMORY_CUSTOM, .common = true),
    COUNT("device", device, "0", "0 to 1023",
          .help = "The device's number; see CUDA_VISIBLE_DEVICES.", .most = 1023, .common = true),
    AMOUNT("pool", pool, "auto-512MiB", AMOUNT_RANGE,
           .help = "The size of a pool, its stable region included.", .least = 1,
           .most = MOST_BYTES, .common = true),
    AMOUNT("limit", limit, "auto", "bytes from 1 on, 0.001% to 100%, auto, auto-BYTES",
           .help = "The most bytes to take from the memory.", .least = 1, .most = UINT64_MAX,
           .ort = {"max_mem", "a whole number from 0 on; 0: no limit", 0, UINT64_MAX, NULL, NULL},
           .common = true),
    AMOUNT("stable", stable, "0", "bytes below 256TiB, 0% to 100%, auto, auto-BYTES",
           .help = "How much of a pool is the stable region, which never moves.",
           .most = MOST_BYTES, .common = true),
    BYTES("alignment", alignment, "preset", "a power of two from 8 to 1GiB, preset",
          .help = "The granule, of which addresses and sizes of blocks are multiples; 256 in most "
                  "presets.",
          .least = 8, .most = CUAI_GIB, .power_of_two = true, .from_preset = "preset",
          .common = true),
    CHOICE("keep", keep, "preset", "preset, all, cache, none",
           .help = "What a free leaves behind: free bytes until they are trimmed, the block itself "
                   "in a cache, or nothing.",
           .first = -1, .last = CUARENA_KEEP_NONE, .common = true),
    CHOICE(
        "steal", steal, "preset", "preset, first, wait, idle, never",
        .help =
            "Which bytes that another stream freed a stream may get: all, waiting for that stream "
            "on the device before the arena grows, or only where it cannot grow; those that are "
            "idle or waited for already, as in bfc; or none.",
        .first = -1, .last = CUARENA_STEAL_NEVER, .common = true),
    TEXT("name", name, "", "up to 31 bytes", .help = "What logs and messages call the arena.",
         .common = true),
    /* The rest: docs/options.md and the command call them advanced. */
    BYTES("addresses", address_bytes, "0", "0 to below 256TiB",
          .help =
              "Addresses set aside for growing in place, also by resize_pool; 0: as many as the "
              "limit, or else as a pool has bytes, or for an arena that grows as the memory has.",
          .most = MOST_BYTES),
    BYTES("split_threshold", split_threshold, "preset", "bytes, preset, never",
          .help = "A free range is split where the rest has so many bytes or is as large as the "
                  "request; never: not at all.",
          .most = UINT64_MAX, .unlimited = "never", .from_preset = "preset",
          .ort = {"max_dead_bytes_per_chunk", ORT_INT, NULL, NULL}),
    COUNT("max_blocks", max_blocks, "67108864", "1 to 67108864",
          .help = "The most blocks that live at once.", .least = 1,
          .most = CUARENA_HEAP_MAX_BLOCKS),
    CHOICE(
        "grow", grow, "preset", "preset, none, exact, doubling",
        .help = "By how much to grow: as the preset says, never, by what a request lacks, or by "
                "chunks that double.",
        .first = -1, .last = CUARENA_GROW_DOUBLING,
        .ort = {"extend_strategy, arena_extend_strategy", "0, 1", 0, 1, "doubling, exact", NULL}),
    CHOICE("zero", zero, "never", "never, create, alloc, free, owner",
           .help =
               "When bytes are set to 0; owner: before they go to another tag or capture session.",
           .first = CUARENA_ZERO_NEVER, .last = CUARENA_ZERO_OWNER),
    BYTES("guard", guard_bytes, "0", "0 to 4KiB",
          .help =
              "Bytes around each block that are checked when it is freed, and by cuarena_check.",
          .most = MOST_GUARD),
    CHOICE("fill", fill, "never", "never, alloc, free, both",
           .help = "Which bytes get a pattern: 0xCD when a block begins, 0xDD when it is freed.",
           .first = CUARENA_FILL_NEVER, .last = CUARENA_FILL_BOTH),
    BYTES("quarantine", quarantine_bytes, "0", "0 to below 256TiB",
          .help = "The most bytes of freed blocks that wait, filled with 0xDD, before anybody gets "
                  "their bytes; what was written to them is found when they leave.",
          .most = MOST_BYTES),
    COUNT("stacks", stacks, "0", "0 to 32",
          .help = "How many callers are kept for each live block, for findings and leaks.",
          .most = CUAI_MOST_FRAMES),
    CHOICE("placement", placement, "preset", "preset, default, best, low",
           .help =
               "How a free range is chosen for a request. As the presets say, default; low in an "
               "arena that grows.",
           .first = -1, .last = CUARENA_PLACEMENT_LOW),
    FLAG("compact_on_oom", compact_on_oom, "0",
         .help = "Whether blocks are moved together before a request is refused."),
    CHOICE("backing", backing, "auto", "auto, vmm, malloc, async",
           .help = "How memory=device gets its bytes; auto: as the preset says, in most vmm where "
                   "there is such, else malloc.",
           .first = CUARENA_BACKING_AUTO, .last = CUARENA_BACKING_ASYNC),
    PROPERTY("fd", fd, .help = "Whether blocks can be exported to other processes."),
    PROPERTY("rdma", rdma, .help = "Whether network cards can reach the bytes."),
    PROPERTY("fabric", fabric, .help = "Whether handles can be exported to other hosts."),
    PROPERTY("peers", peers, .help = "Whether the other devices can reach the bytes."),
    BYTES("handle", handle_bytes, "0", "0, or a power of two to 64GiB",
          .help = "What backing=vmm takes and gives back at a time; 0: by the size of a pool; "
                  "of what grows a little, and more the more there is. memory=none: pages of "
                  "this size; 0: of 64 KiB.",
          .most = 64 * CUAI_GIB, .power_of_two = true, .or_zero = true),
    FLAG("mapped", mapped, "1", .help = "Whether devices can reach pinned memory."),
    FLAG("write_combined", write_combined, "0",
         .help = "Whether pinned memory is fast to write and slow to read."),
    FLAG("portable", portable, "1", .help = "Whether pinned memory is pinned for every context."),
    FLAG("device_only", device_only, "0",
         .help =
             "Whether the CPU never touches blocks that streams use, though it could reach them."),
    CHOICE("events", events, "late", "late, eager",
           .help = "When an event is recorded on a stream: when its freed bytes are needed, or at "
                   "every free.",
           .first = CUARENA_EVENTS_LATE, .last = CUARENA_EVENTS_EAGER),
    BYTES("initial_chunk", initial_chunk, "1MiB", "1 to below 256TiB",
          .help = "The first chunk of grow=doubling, and of take_first.", .least = 1,
          .most = MOST_BYTES, .ort = {"initial_chunk_size_bytes", ORT_INT, NULL, NULL}),
    BYTES("growth_after_trim", growth_after_trim, "2MiB", "1 to below 256TiB",
          .help = "The next chunk of grow=doubling after a trim.", .least = 1, .most = MOST_BYTES,
          .ort = {"initial_growth_chunk_size_bytes", ORT_INT, NULL, NULL}),
    BYTES("max_doubling", max_doubling, "1GiB", "bytes from 1 on, never",
          .help = "The largest chunk that grow=doubling doubles to; never: no largest.", .least = 1,
          .most = UINT64_MAX, .unlimited = "never",
          .ort = {"max_power_of_two_extend_bytes", "1 to 9223372036854775807", 1, INT64_MAX, NULL,
                  NULL}),
    FLAG("take_first", take_first, "0",
         .help = "Whether an arena that grows takes initial_chunk bytes when it is made."),
    CHOICE("unknown_keys", unknown_keys, "error", "error, warn",
           .help = "What becomes of unknown keys, from then on, and at creation of options that "
                   "have no effect beside the others.",
           .first = CUARENA_UNKNOWN_ERROR, .last = CUARENA_UNKNOWN_WARN),
    CHOICE("in_place", in_place, "preset", "preset, 0, 1",
           .help = "Whether segments are lengthened, shortened and punched where the memory can; "
                   "else each keeps its length and goes back whole.",
           .first = -1, .last = 1),
    CHOICE("reuse", reuse, "preset", "preset, 0, 1",
           .help = "Whether an arena that needs more pages in one place (grow=exact) first gives "
                   "idle ones of other places back or, on a device, maps those that the stream "
                   "freed where they are needed, to hold no more, as long as that is worth it.",
           .first = -1, .last = 1),
    CHOICE("segments", segments, "preset", "preset, shared, each",
           .help = "Whether blocks are cut from segments, or each is one; each in driver-pool, "
                   "shared in other presets.",
           .first = -1, .last = CUARENA_SEGMENTS_EACH),
    CHOICE("driver_pool", driver_pool, "current", "current, default, own, external",
           .help = "Which of the driver's pools backing=async takes from.",
           .first = CUARENA_DRIVER_POOL_CURRENT, .last = CUARENA_DRIVER_POOL_EXTERNAL),
    COUNT("driver_pool_handle", driver_pool_handle, "0", "0 to 18446744073709551615",
          .help = "The CUmemoryPool of driver_pool=external, as a number.", .most = UINT64_MAX),
    BYTES("driver_pool_max", driver_pool_max, "0", "0 to below 256TiB",
          .help = "The most bytes that driver_pool=own takes of its device; 0: no limit. Needs a "
                  "driver of CUDA 12.2.",
          .most = MOST_BYTES),
    BYTES("release_threshold", release_threshold, "preset", "bytes, preset, never, unchanged",
          .help =
              "How many free bytes a driver's pool keeps when somebody waits for the device; "
              "never: it gives nothing back, as in driver-pool; other presets leave it unchanged.",
          .most = UINT64_MAX, .unlimited = "never", .from_preset = "preset",
          .unchanged = "unchanged",
          .ort = {"cuda_mempool_release_threshold", "a whole number from 0 on; 0: unchanged", 0,
                  UINT64_MAX, NULL, "unchanged"}),
    FLAG("make_current", make_current, "0",
         .help = "Whether the arena makes its pool the device's current one."),
    FLAG("threshold_limits", threshold_limits, "0",
         .help =
             "Whether a driver's pool refuses to grow above its release threshold, as in CuPy."),
    BYTES("keep_on_trim", keep_on_trim, "0", "bytes",
          .help = "How many bytes cuarena_shared_shrink leaves to an arena.", .most = UINT64_MAX,
          .ort = {"cuda_mempool_bytes_to_keep_on_shrink", "a whole number from 0 on", 0, UINT64_MAX,
                  NULL, NULL}),
    FLAG("use_cuda_mempool", use_cuda_mempool, "0",
         .help = "Whether an arena of device memory is one of preset=driver-pool and "
                 "driver_pool=own instead; pinned memory ignores this, and the keys of that pool."),
    CHOICE("cache_bound", cache_bound, "preset", "preset, strict, late",
           .help = "Whether the cache of keep=cache never exceeds its limit, or may by one block "
                   "until the next allocation.",
           .first = -1, .last = CUARENA_CACHE_LATE),
    AMOUNT("cache_limit", cache_limit, "auto", "bytes, 0% to 100%, auto, auto-BYTES",
           .help = "The most bytes that keep=cache has in its cache; auto: as the preset says, "
                   "else the soft limit.",
           .most = UINT64_MAX),
    BYTES("cache_page", cache_page, "preset", "1 to below 256TiB, preset",
          .help = "A request, rounded up, gets a cached block that is less than twice as large, "
                  "and larger by "
                  "less than two of these.",
          .least = 1, .most = MOST_BYTES, .from_preset = "preset"),
    AMOUNT("soft_limit", soft_limit, "auto", "bytes, 0% to 100%, auto, auto-BYTES",
           .help = "A limit of live and cached bytes that refuses no request; auto: as the preset "
                   "says, else none.",
           .most = UINT64_MAX),
    CHOICE("soft_limit_rule", soft_limit_rule, "preset", "preset, store, enforce",
           .help = "What the soft limit does: nothing, programs may ask for it; or cached blocks "
                   "end to stay below it.",
           .first = -1, .last = CUARENA_SOFT_ENFORCE),
    BYTES("round_powers", round_powers, "preset", "0, a power of two to 1GiB, preset",
          .help = "Sizes below it are rounded up to a power of two.", .most = CUAI_GIB,
          .power_of_two = true, .or_zero = true, .from_preset = "preset"),
    BYTES("round_to", round_to, "preset", "0, a power of two to 1GiB, preset",
          .help = "Sizes from round_powers on are rounded up to a multiple of it.",
          .most = CUAI_GIB, .power_of_two = true, .or_zero = true, .from_preset = "preset"),
    BYTES("natural", natural, "preset", "0, a power of two to 1GiB, preset",
          .help = "Blocks are aligned to the least power of two that they fit in, of this at most.",
          .most = CUAI_GIB, .power_of_two = true, .or_zero = true, .from_preset = "preset"),
    TEXT("snapshot_on_oom", snapshot_on_oom, "", "up to 255 bytes, and " CUAI_PATTERN_ACCEPTED,
         .help =
             "The file for a snapshot when a request is refused for lack of bytes: in PyTorch's "
             "format if it ends in .pickle, else JSON. With %n the first 16 refusals have "
             "files, else the first."),
    TEXT("trace", trace, "", "a path of up to 255 bytes",
         .help = "A file to record calls in, for `cuarena replay` and spreadsheets: CSV, or gzip "
                 "if it ends in .gz; %p, %n: the process, the trace."),
    COUNT("trace_ring", trace_ring, "0", "0 to 1048576",
          .help = "How many of the last events of each thread are kept in memory, for "
                  "cuarena_trace_recent.",
          .most = 1048576),
    CHOICE("nvtx", nvtx, "auto", "off, auto, on",
           .help = "Whether a tool such as compute-sanitizer is told of each block, by NVTX; auto: "
                   "of memory=managed, pinned, device; of it backing=auto is malloc then.",
           .first = CUARENA_NVTX_OFF, .last = CUARENA_NVTX_ON),
};

#define OPTION_COUNT (sizeof options / sizeof options[0])

static_assert(CUARENA_HEAP_MAX_BLOCKS == 67108864, "the text of max_blocks");
static_assert(CUARENA_HEAP_MAX_SEGMENT == 256 * CUAI_TIB, "the text of pool");
static_assert(sizeof((cuarena_config_t *)0)->name == 32, "the text of name");
static_assert(sizeof((cuarena_config_t *)0)->snapshot_on_oom == 256 && CUAI_PATTERN_SIZE == 256 &&
                  CUAI_MOST_OOM_SNAPSHOTS == 16,
              "the text of snapshot_on_oom");
static_assert(sizeof((cuarena_config_t *)0)->trace == 256, "the text of trace");

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
    CUAI_ASSERT(type <= CUAI_OPTION_TEXT);
    static const char *const names[] = {
        [CUAI_OPTION_AMOUNT] = "amount", [CUAI_OPTION_BYTES] = "bytes",
        [CUAI_OPTION_COUNT] = "count",   [CUAI_OPTION_CHOICE] = "choice",
        [CUAI_OPTION_FLAG] = "flag",     [CUAI_OPTION_TEXT] = "text",
    };
    return names[type];
}
