/*
 * Options: what an arena is to be like. docs/options.md has all of them, with keys, ranges and
 * defaults.
 *
 *   cuarena_config_t config;
 *   cuarena_config_init(&config);
 *   cuarena_config_parse(&config, "preset=grow,memory=device,limit=80%");
 *   cuarena_create(&config, &arena);
 *
 * A config belongs to the caller, and ends without a call; cuarena_create copies what it needs.
 * Threads may work on different configs at once.
 */
#ifndef CUARENA_OPTIONS_H
#define CUARENA_OPTIONS_H

#include "base.h"
#include "heap.h"
#include "memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An amount of memory: bytes; a percentage of all bytes that the memory has, whoever uses them now;
 * or what is available now, less so many bytes. As text: 512MiB, 4G, 80%, auto-256MiB, auto. KiB,
 * MiB, GiB, TiB and K, M, G, T all count in 1024. All that a memory of the host has is what the
 * machine has, or the control group around the process where that is less. */
#define CUARENA_AMOUNT_BYTES 0
#define CUARENA_AMOUNT_PERCENT 1 /* value in thousandths: 100000 is 100 % */
#define CUARENA_AMOUNT_AUTO 2    /* available minus value */
typedef struct cuarena_amount {
    int32_t unit; /* CUARENA_AMOUNT_... */
    int32_t zero; /* 0 */
    uint64_t value;
} cuarena_amount_t;

/* Presets: what an arena is like where no option says otherwise.
 *   pool         has a fixed size, with a stable region if one is asked for
 *   grow         takes no more than requests need, in place, up to its limit
 *   bfc          as ONNX Runtime's arena, whose keys it knows: takes ever larger
 *                chunks, splits one only if the rest is worth it, has no limit
 *                unless one is set
 *   mlx-cpu, mlx-cuda  as MLX's allocators: keep freed blocks whole in a cache
 *   cupy-pool    as CuPy's MemoryPool: takes chunks of what requests need, and
 *                what a stream freed stays that stream's
 *   driver-pool  as CuPy's MemoryAsyncPool: the driver allocates each block */
#define CUARENA_PRESET_POOL 0
#define CUARENA_PRESET_GROW 1
#define CUARENA_PRESET_BFC 2
#define CUARENA_PRESET_MLX_CPU 3
#define CUARENA_PRESET_MLX_CUDA 4
#define CUARENA_PRESET_CUPY_POOL 5
#define CUARENA_PRESET_DRIVER_POOL 6

/* By how much an arena grows when a request finds no room. */
#define CUARENA_GROW_NONE 0  /* it does not: its size is fixed */
#define CUARENA_GROW_EXACT 1 /* by what the request lacks, in whole pages */
/* By chunks, each twice as large as the one before: the first has `initial_chunk` bytes, or after a
 * trim `growth_after_trim`, and they grow to `max_doubling` at most. A request above the next chunk
 * doubles that until it fits. A chunk is cut to what the limit leaves. One that the memory does not
 * have is asked for again a tenth smaller, until it is below the request or 8 KiB. In whole pages.
 */
#define CUARENA_GROW_DOUBLING 2

/* As a number of bytes: what the preset says. */
#define CUARENA_BYTES_PRESET (UINT64_MAX - 1)
/* As a release threshold: it stays as it is. */
#define CUARENA_BYTES_UNCHANGED (UINT64_MAX - 2)

/* What becomes of unknown keys, and of options that have no effect beside the others: an error, or
 * a warning in the log. */
#define CUARENA_UNKNOWN_ERROR 0
#define CUARENA_UNKNOWN_WARN 1

/* Where device memory comes from. */
#define CUARENA_BACKING_AUTO                                                                       \
    0                            /* as the preset says; in most vmm where the                      \
                                  * device has it, else malloc */
#define CUARENA_BACKING_VMM 1    /* handles mapped into addresses set aside */
#define CUARENA_BACKING_MALLOC 2 /* a driver allocation for each segment */
#define CUARENA_BACKING_ASYNC 3  /* a stream-ordered one for each segment */

/* What a block is cut from. */
#define CUARENA_SEGMENTS_SHARED 0 /* a segment, with other blocks */
#define CUARENA_SEGMENTS_EACH                                                                      \
    1 /* nothing: each block is a segment of its own, as a dedicated one, and                      \
       * keeps its size */

/* Which of the driver's pools backing=async takes its bytes from. */
#define CUARENA_DRIVER_POOL_CURRENT 0  /* the device's current one, now */
#define CUARENA_DRIVER_POOL_DEFAULT 1  /* the device's default one */
#define CUARENA_DRIVER_POOL_OWN 2      /* one that the arena makes and ends */
#define CUARENA_DRIVER_POOL_EXTERNAL 3 /* the caller's: driver_pool_handle */

/* What becomes of a property that memory may have: it is not asked for, or had if that is possible
 * (cuarena_properties tells), or an error if it is not. */
#define CUARENA_PROPERTY_OFF 0
#define CUARENA_PROPERTY_TRY 1
#define CUARENA_PROPERTY_REQUIRE 2

/* What the caller's own bytes are. */
#define CUARENA_BYTES_HOST 0
#define CUARENA_BYTES_DEVICE 1
#define CUARENA_BYTES_MANAGED 2
#define CUARENA_BYTES_PINNED 3

/* When an event is recorded on a stream: see streams.h. */
#define CUARENA_EVENTS_LATE 0
#define CUARENA_EVENTS_EAGER 1

/* What a request on a stream gets of bytes that were freed on another one: see streams.h. */
#define CUARENA_STEAL_FIRST 0 /* all: its stream waits on the device, before the arena grows */
#define CUARENA_STEAL_WAIT 1  /* all, but it waits only where the arena cannot grow */
#define CUARENA_STEAL_IDLE                                                                         \
    2                         /* those whose work is known to be done, or for                      \
                               * which its stream has waited */
#define CUARENA_STEAL_NEVER 3 /* none: until a call reclaims them */

/* What a free leaves behind. */
#define CUARENA_KEEP_ALL 0   /* free bytes, until they are trimmed */
#define CUARENA_KEEP_CACHE 1 /* the whole block, in a cache: see cache.h */
#define CUARENA_KEEP_NONE 2  /* nothing: whole pages go back at once */

/* What a free does with a block that the cache has no room for. */
#define CUARENA_CACHE_STRICT 0 /* the block is not cached */
#define CUARENA_CACHE_LATE                                                                         \
    1 /* it is, if the cache is not full before it;                                                \
       * the next allocation trims the cache */

/* What a soft limit is for. */
#define CUARENA_SOFT_STORE 0   /* nothing: programs may ask for it */
#define CUARENA_SOFT_ENFORCE 1 /* cached blocks end before it is passed */

/* When bytes are set to 0. */
#define CUARENA_ZERO_NEVER 0
#define CUARENA_ZERO_CREATE 1 /* all bytes, when the memory gives them */
#define CUARENA_ZERO_ALLOC 2  /* each block, before it is handed out */
#define CUARENA_ZERO_FREE 3   /* all bytes that leave a block */
#define CUARENA_ZERO_OWNER 4  /* those of a block that may have been another owner's */

/* Which bytes get a pattern: see debug.h. */
#define CUARENA_FILL_NEVER 0
#define CUARENA_FILL_ALLOC 1 /* those of a new block: 0xCD */
#define CUARENA_FILL_FREE 2  /* those of a freed block: 0xDD */
#define CUARENA_FILL_BOTH 3

/* Whose blocks a tool is told of: see debug.h. */
#define CUARENA_NVTX_OFF 0
#define CUARENA_NVTX_AUTO 1 /* those of memory that a GPU reaches: device, managed, pinned */
#define CUARENA_NVTX_ON 2   /* those of any memory */

/*
 * CUARENA_ZERO_ALLOC: the bytes that a resize adds to a block are not set to 0, unless it was empty
 * before.
 *
 * CUARENA_ZERO_FREE: bytes that leave a block, by a free, a resize (the tail, or the old place), a
 * compaction or a reset, are set to 0 before anybody else gets them. So are bytes that go back to
 * the memory, such as those of dedicated blocks, unless the memory hands out zeroed bytes anyway.
 * Adopted bytes stay as they are, and so do those of blocks that cuarena_destroy_forced ends. Freed
 * blocks are not cached.
 *
 * If the memory fails to do it, the call is DRIVER and leaves the block where it is, as large as it
 * is; of the bytes that were to leave it some may be 0. The arena is LOST where contents were
 * copied by then, as by a resize or a compaction, and cannot be set to 0 in the one place or the
 * other; the error of the call says so. It is LOST too where a block that was freed while it was
 * exported cannot be set to 0 at the close, and where a free finds the device lost, or cannot tell
 * whether the bytes are 0 yet. These calls end the block, whose bytes nobody gets any more, and are
 * OK: the log says at level error what lost the arena, and so does each later error that is LOST.
 */

/*
 * CUARENA_ZERO_OWNER: what a tag or a capture session left in bytes is never seen by another one.
 * An arena does not note who had which bytes, so the rule is: from the first block of a second tag
 * on (no tag is one too), or of a session, every block is set to 0 before it is handed out, as with
 * CUARENA_ZERO_ALLOC; and a block grows only within what it was rounded up to, or by moving to a
 * place that is set to 0 first, so one that cannot move does not grow. An arena that knows one tag
 * and no session sets nothing to 0, and pays for the slow path alone. Compactions move whole
 * blocks, and need nothing. Adopted bytes stay as they are.
 */

/*
 * The options. Begin with cuarena_config_init, then set members by hand, by cuarena_config_set or
 * by cuarena_config_parse. docs/options.md lists key, range and default of each; the default stands
 * last in the comments here.
 *
 * A member that has no effect beside the others, such as `pool` with a preset that grows or
 * `cache_page` without a cache, is an error of cuarena_create that names it, unless it has the
 * value that it would have anyway.
 */
typedef struct cuarena_config {
    size_t struct_size;
    int32_t preset;           /* CUARENA_PRESET_... */
    int32_t memory;           /* CUARENA_MEMORY_...; as the preset says */
    cuarena_amount_t pool;    /* size of a fixed pool: bytes are rounded up to
                               * `alignment`, percentages and auto down to whole
                               * pages of the memory; auto-512MiB */
    cuarena_amount_t stable;  /* how much of that is the stable region; 0 bytes */
    cuarena_amount_t limit;   /* most bytes to take from the memory; auto */
    uint64_t address_bytes;   /* addresses set aside for growing in place, fewer
                               * where the process has few; 0: for the limit, or
                               * else a pool's size, or all of the memory */
    uint64_t alignment;       /* the granule, of which addresses and sizes of blocks
                               * are multiples: power of two from 8; as the preset
                               * says, mostly 256 */
    uint64_t split_threshold; /* see cuarena_heap_config_t; as the preset says:
                               * CUARENA_BYTES_PRESET */
    uint64_t max_blocks;      /* most live blocks; 2^26 */
    int32_t grow;             /* CUARENA_GROW_...; as the preset says: -1 */
    int32_t zero;             /* CUARENA_ZERO_...; never */
    int32_t placement;        /* CUARENA_PLACEMENT_...; as the preset says: -1 */
    int32_t compact_on_oom;   /* 1: a step of running out; 0 */

    /* memory = bytes: the caller's, which must stay valid until the arena is destroyed. The arena
     * may hand out every byte from the first multiple of `alignment` on. */
    void *bytes;
    uint64_t bytes_size;
    int32_t bytes_kind; /* CUARENA_BYTES_...; host */

    /* Memory of a device: device, managed, pinned, and bytes of these. */
    int32_t device;         /* ordinal; 0 */
    void *context;          /* CUcontext, instead of the ordinal's primary one */
    int32_t backing;        /* CUARENA_BACKING_... of device memory; auto */
    int32_t fd;             /* CUARENA_PROPERTY_...: blocks can be exported */
    int32_t rdma;           /* CUARENA_PROPERTY_...: network cards can reach blocks */
    int32_t fabric;         /* CUARENA_PROPERTY_...: blocks can be exported to other hosts */
    int32_t peers;          /* CUARENA_PROPERTY_...: the other devices can reach blocks */
    uint64_t handle_bytes;  /* of a vmm handle; 0: as the arena thinks best */
    int32_t mapped;         /* pinned: the device can reach it; 1 */
    int32_t write_combined; /* pinned: fast to write, slow to read; 0 */
    int32_t portable;       /* pinned: for every context; 1 */
    int32_t device_only;    /* pinned, managed, pageable: the CPU does not touch
                             * blocks that streams use; 0 */
    int32_t events;         /* CUARENA_EVENTS_...; late */
    /* memory = custom: copied at creation; `ops_user` stays the caller's. */
    const cuarena_memory_ops_t *ops;
    void *ops_user;
    char name[32]; /* for logs and messages; may be empty */
    int32_t steal; /* CUARENA_STEAL_...; as the preset says: -1 */
    /* grow = doubling */
    uint64_t initial_chunk;     /* the first chunk; 1 MiB */
    uint64_t growth_after_trim; /* the next one after a trim; 2 MiB */
    uint64_t max_doubling;      /* chunks double to this at most; 1 GiB */
    int32_t take_first;         /* 1: an arena that grows takes initial_chunk when it
                                 * is created; 0 */
    int32_t unknown_keys;       /* CUARENA_UNKNOWN_...; error */
    int32_t in_place;           /* 1: segments are lengthened, shortened and punched
                                 * where the memory can; 0: each keeps its length, and
                                 * goes back whole; as the preset says: -1 */
    int32_t reuse;              /* 1: an arena that needs more pages in one place
                                 * (grow=exact) first gives idle pages of other
                                 * places back to the memory, or on a device maps
                                 * pages that the request's stream freed where they
                                 * are needed, in the order of the stream, so that
                                 * it holds no more than before; it takes more
                                 * instead where it would give and take the same
                                 * pages again and again. 0: it always takes more.
                                 * As the preset says: -1 */
    int32_t segments;           /* CUARENA_SEGMENTS_...; as the preset says: -1 */
    /* backing = async */
    int32_t driver_pool;         /* CUARENA_DRIVER_POOL_...; current */
    uint64_t driver_pool_handle; /* a CUmemoryPool, as a number; 0 */
    uint64_t driver_pool_max;    /* most bytes of a pool of its own; 0: no limit */
    uint64_t release_threshold;  /* free bytes that the pool keeps;
                                  * CUARENA_BYTES_UNCHANGED: stays as it is;
                                  * as the preset says: CUARENA_BYTES_PRESET */
    int32_t make_current;        /* 1: the pool becomes the device's current
                                  * one, for the whole process; 0 */
    int32_t threshold_limits;    /* 1: the pool's threshold is a limit too, see
                                  * CUARENA_LIMIT_THRESHOLD; 0 */
    uint64_t keep_on_trim;       /* what cuarena_shared_shrink leaves; 0 bytes */
    int32_t keep;                /* CUARENA_KEEP_...; as the preset says: -1 */
    /* keep = cache */
    int32_t cache_bound;          /* CUARENA_CACHE_...; as the preset says: -1 */
    cuarena_amount_t cache_limit; /* most bytes cached; auto: as the preset
                                   * says, or else the soft limit */
    uint64_t cache_page;          /* requests get a cached block that is larger by
                                   * less than two of these */
    cuarena_amount_t soft_limit;  /* auto: as the preset says, or else none */
    int32_t soft_limit_rule;      /* CUARENA_SOFT_...; as the preset says: -1 */
    /* How sizes are rounded up before they are rounded up to the granule; 0: not. */
    uint64_t round_powers;     /* sizes below it: to a power of two */
    uint64_t round_to;         /* the others: to a multiple of it */
    uint64_t natural;          /* blocks are aligned to the least power of two that
                                * they fit in, of this at most; 0: the granule */
    int32_t use_cuda_mempool;  /* 1: ONNX Runtime's key, see cuarena_config_set; 0 */
    char snapshot_on_oom[256]; /* file for a snapshot when a request is refused: see
                                * snapshot.h; "": none is written */
    /* For debugging: see debug.h. Any of them makes every call take the slow path. */
    int32_t fill;              /* CUARENA_FILL_...; never */
    uint64_t guard_bytes;      /* on either side of each block, up to 4 KiB; 0 */
    uint64_t quarantine_bytes; /* most bytes of freed blocks that wait before their
                                * bytes are used again; 0 */
    int32_t stacks;            /* callers kept for each live block, up to 32; 0 */
    /* Recording: see trace.h. */
    char trace[256];    /* the file, as cuarena_trace_begin has it; empty: none */
    int32_t trace_ring; /* last events kept in memory for each thread; 0 */
    int32_t nvtx;       /* CUARENA_NVTX_...; auto */
} cuarena_config_t;

CUARENA_API void cuarena_config_init(cuarena_config_t *config);
/*
 * Sets one option from text. BAD_ARGUMENT for an unknown key or a value that does not parse or is
 * out of range: the message names key, value and what would be accepted; the config is as it was.
 * With unknown_keys=warn unknown keys are logged and passed over.
 *
 * "arena." may stand before any key. ONNX Runtime's names for its arena are keys too:
 * extend_strategy (also arena_extend_strategy), initial_chunk_size_bytes, max_dead_bytes_per_chunk,
 * initial_growth_chunk_size_bytes, max_power_of_two_extend_bytes, max_mem,
 * cuda_mempool_release_threshold, cuda_mempool_bytes_to_keep_on_shrink. Their values are digits, in
 * ONNX Runtime's ranges. With use_cuda_mempool=1, which is an option of its own, an arena of device
 * memory is that of preset=driver-pool and driver_pool=own whatever preset is named; the pool's
 * threshold stays as the driver made it, and keys of chunks are ignored. An arena of pinned memory
 * ignores use_cuda_mempool and the two cuda_mempool keys, as ONNX Runtime's does. Other memories
 * refuse it.
 */
CUARENA_API cuarena_status_t cuarena_config_set(cuarena_config_t *config, const char *key,
                                                const char *value);
/* Sets options from a list "key=value,key=value": all of them or, on an error, none. */
CUARENA_API cuarena_status_t cuarena_config_parse(cuarena_config_t *config, const char *text);
/* Sets options from the text of CUARENA_CONF in the environment, as cuarena_config_parse does; OK
 * if there is none. No other call reads that: a program that wants to be configured by it calls
 * this between init and create. No thread may change the environment meanwhile. */
CUARENA_API cuarena_status_t cuarena_config_environment(cuarena_config_t *config);
/*
 * Sets the limit from a variable of the environment (NULL: CUPY_GPU_MEMORY_LIMIT), as CuPy reads
 * it: digits are bytes; a number of at most three decimals with % is a percentage of all that the
 * memory has; 0 and 0% are no limit. OK, with nothing changed, if there is no such variable.
 * BAD_ARGUMENT for any other text: the message names variable, text and what is accepted; the
 * config is as it was. Only this call reads the variable. No thread may change the environment
 * meanwhile.
 */
CUARENA_API cuarena_status_t cuarena_config_limit_environment(cuarena_config_t *config,
                                                              const char *variable);
/* Writes the value of one option as text that cuarena_config_set accepts under the same key.
 * UNSUPPORTED for a value that has no text: a memory of the caller's own, or under ONNX Runtime's
 * key a value that it has no number for. */
CUARENA_API cuarena_status_t cuarena_config_get(const cuarena_config_t *config, const char *key,
                                                char *text, size_t text_size);
/* Replaces every "as the preset says" by its value, and sets the limit of a preset that has none,
 * as cuarena_create would. BAD_ARGUMENT as there; the config is as it was then. */
CUARENA_API cuarena_status_t cuarena_config_resolve(cuarena_config_t *config);
/* Parses the text of an amount; BAD_ARGUMENT if it is none, with the text in the message. */
CUARENA_API cuarena_status_t cuarena_amount_parse(const char *text, cuarena_amount_t *amount_out);

/* One row of the table of options. Texts are static. */
typedef struct cuarena_option_info {
    size_t struct_size;
    const char *key;
    const char *type;         /* amount, bytes, count, choice, flag, text */
    const char *accepted;     /* range or choices */
    const char *default_text; /* accepted by cuarena_config_set */
    const char *help;         /* one sentence */
    const char *ort_names;    /* ONNX Runtime's keys for it; NULL: none */
    const char *ort_accepted; /* the range of their values */
    int32_t advanced;         /* 1: for special cases; these come after the others */
} cuarena_option_info_t;
CUARENA_API void cuarena_option_info_init(cuarena_option_info_t *info);
/* The row with that number, from 0 on; BAD_ARGUMENT past the last. */
CUARENA_API cuarena_status_t cuarena_option_info(size_t index, cuarena_option_info_t *info);

#ifdef __cplusplus
}
#endif

#endif
