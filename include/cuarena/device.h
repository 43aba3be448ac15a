/*
 * Arenas on devices: what their memory has become, the driver's own pools, and sharing blocks with
 * other processes.
 *
 * The memories of a device, and what waits in the driver
 *   device, vmm      Addresses are set aside, and handles are mapped into
 *                    them, as many as are needed: of one size in a pool or
 *                    where the option `handle` says it, else of a page and,
 *                    as more is reserved, of more. They go back from the end
 *                    and from the middle. Neither taking nor giving back
 *                    waits for work of the device.
 *   device, malloc   One driver allocation for each segment. Giving one back
 *                    waits until the kernels that run on the device have
 *                    ended: the driver does that.
 *   device, async    One stream-ordered allocation for each segment, from one
 *                    of the driver's pools, which keeps what is given back up
 *                    to its release threshold; preset=driver-pool raises that
 *                    to the most, for everybody who uses the pool. Taking
 *                    waits for a stream of the arena's own. A block that is a
 *                    segment of its own is taken and given back at points of
 *                    the streams that its calls name, and nothing waits.
 *   managed          One allocation for each segment; never more in all arenas
 *                    than the device has, and never more at once than it has
 *                    free. Giving back waits as malloc does. The device moves
 *                    and zeroes the bytes.
 *   pinned           One allocation for each segment. Giving back may wait. The
 *                    CPU moves and zeroes the bytes, after it has waited for
 *                    the stream that was named; write-combined bytes, which it
 *                    reads too slowly, are moved by the device.
 * Memory that is not vmm has no holes and does not grow in place: a trim gives back whole segments,
 * and to resize a pool moves all of it. Besides its bytes an arena of a device takes about 1 MiB
 * when it is created, to move blocks with, or 4 MiB where no kernel can; these count nowhere.
 *
 * After a driver error that makes the driver useless, such as an illegal access by a kernel, the
 * arena is LOST. In a forked child calls that need the driver are NO_DEVICE, also a request that
 * finds no room; work on streams counts as done, and frees and destroy only forget. Nothing is
 * given back when the process ends: the driver does that.
 */
#ifndef CUARENA_DEVICE_H
#define CUARENA_DEVICE_H

#include "arena.h"
#include "base.h"
#include "memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Properties -------------------------------------------------------- */

/* What an arena's memory is and can do, the same from its creation on. Members about a device are
 * 0, NULL or -1 where there is none. */
typedef struct cuarena_properties {
    size_t struct_size;
    int32_t memory;            /* CUARENA_MEMORY_... */
    int32_t bytes_kind;        /* CUARENA_BYTES_..., of memory = bytes */
    int32_t backing;           /* CUARENA_BACKING_..., never AUTO; 0: none */
    int32_t device;            /* its ordinal; -1: none */
    int32_t fd;                /* 1: blocks can be exported */
    int32_t rdma;              /* 1: network cards can reach the bytes */
    int32_t fabric;            /* 1: handles can go to other hosts */
    int32_t peers;             /* how many other devices reach the bytes */
    int32_t host_readable;     /* 1: the CPU reaches the bytes */
    int32_t relocation_kernel; /* 1: one kernel moves a whole list */
    int32_t compute_major;     /* compute capability */
    int32_t compute_minor;
    uint64_t granularity;   /* of the memory: it gives and takes bytes in pages of so
                             * many bytes */
    uint64_t handle_bytes;  /* of the smallest vmm handle; 0: there are none */
    void *context;          /* CUcontext */
    uint64_t granule_bytes; /* addresses and sizes of blocks are multiples of it:
                             * the option `alignment` */
} cuarena_properties_t;
CUARENA_API void cuarena_properties_init(cuarena_properties_t *properties);
/* O(1). */
CUARENA_API cuarena_status_t cuarena_properties(cuarena_t *arena, cuarena_properties_t *properties);

/* ---- The driver's own pools --------------------------------------------- */

/*
 * With backing=async bytes come from a pool of the driver's: the device's current one when the
 * arena is made, its default one, one of the caller's, or one that the arena makes (option
 * driver_pool). preset=driver-pool makes each block such a piece, rounded up to 512 bytes, as
 * CuPy's MemoryAsyncPool and ONNX Runtime's allocator for CUDA pools do:
 *
 *   cuarena_alloc_on(A)   the driver allocates at this point of A; nothing waits
 *   cuarena_alloc         the driver allocates on a stream of the arena's own,
 *                         which the caller waits for: everybody may use the
 *                         bytes
 *   cuarena_free_on(B)    the driver frees at this point of B, which need not be
 *                         A; if other streams were recorded as using the block,
 *                         when they are done
 *   cuarena_free          the driver frees now: you must ensure that no stream
 *                         uses the block
 *   cuarena_trim          the pool gives back what it has free, until
 *                         `keep_bytes` are left; nothing waits
 *
 * On a stream that is being captured, outside a capture session, a free is BUSY; on a stream of an
 * open one (capture.h) the driver frees when bytes are reclaimed after the end and the stream is
 * done. Such blocks keep their size and place: a resize is UNSUPPORTED. If the driver has no more
 * memory, the caller waits for the request's stream, or without one for all work, and asks again,
 * twice at most; after any other error it does not ask again. The arena's reserved bytes, to which
 * CUARENA_LIMIT_RESERVED applies, are those of its blocks; the calls below tell what the pool has.
 *
 * All of this is UNSUPPORTED where the device has no pools, and for arenas that use none.
 */
typedef struct cuarena_driver_pool_stats {
    size_t struct_size;
    uint64_t used_bytes;        /* allocated from the pool, by anybody */
    uint64_t total_bytes;       /* that the pool has taken from its device */
    uint64_t free_bytes;        /* total less used */
    uint64_t peak_used_bytes;   /* since the pool was made, or a reset */
    uint64_t peak_total_bytes;  /* since the pool was made, or a reset */
    uint64_t release_threshold; /* UINT64_MAX: nothing is given back */
    uint64_t handle;            /* the CUmemoryPool, as a number */
    int32_t device;             /* ordinal */
    int32_t own;                /* 1: the arena made it, and it ends with it */
} cuarena_driver_pool_stats_t;
CUARENA_API void cuarena_driver_pool_stats_init(cuarena_driver_pool_stats_t *stats);
/* Asks the driver for one figure after the other, so they need not be of one moment. DRIVER, LOST.
 */
CUARENA_API cuarena_status_t cuarena_driver_pool_stats(cuarena_t *arena,
                                                       cuarena_driver_pool_stats_t *stats);
/* Sets the two peaks to what there is now, for everybody who uses the pool. DRIVER, LOST. */
CUARENA_API cuarena_status_t cuarena_driver_pool_reset_peaks(cuarena_t *arena);

/* Which of the driver's pools an arena is to use. Frozen. */
typedef struct cuarena_driver_pool_choice {
    int32_t kind;    /* CUARENA_DRIVER_POOL_... */
    int32_t zero;    /* 0 */
    uint64_t handle; /* of CUARENA_DRIVER_POOL_EXTERNAL; else 0 */
} cuarena_driver_pool_choice_t;
/*
 * Creates an arena on each device that the driver shows, from one configuration and a choice of a
 * pool for each: `pools` and `arenas_out` have `count` members, by the ordinals of the devices. It
 * creates all of them or, on an error, none. BAD_ARGUMENT if `count` is not the number of devices
 * (the message has both), and for a configuration that names a device or a context; otherwise as
 * cuarena_create.
 */
CUARENA_API cuarena_status_t cuarena_create_per_device(const cuarena_config_t *config,
                                                       const cuarena_driver_pool_choice_t *pools,
                                                       size_t count, cuarena_t **arenas_out);

/* ---- Export ------------------------------------------------------------ */

/* An export, until it is closed. */
typedef struct cuarena_export cuarena_export_t;

typedef struct cuarena_export_options {
    size_t struct_size;
    int32_t share_handles; /* 1: the handles may have bytes of other blocks too,
                            * which the importer then reaches; default 0 */
} cuarena_export_options_t;
CUARENA_API void cuarena_export_options_init(cuarena_export_options_t *options);

/*
 * Exports a block: gives descriptors of the handles behind it, so that another process of this host
 * can map it. That process calls cuMemImportFromShareableHandle on each descriptor, then cuMemMap
 * for the whole handle; the block's bytes are those at `offset` of it.
 *
 * Pieces come in the block's order. Their descriptors belong to the caller: send them (SCM_RIGHTS)
 * and close them. With `pieces` NULL and `capacity` 0 only the count comes back, and nothing is
 * exported.
 *
 * Until cuarena_export_close the block stays where it is and its handles stay mapped, also if it is
 * freed meanwhile: its bytes count as live until then. What the importer has mapped stays valid
 * after that for as long as it likes; but from the close on other blocks may get the bytes.
 *
 * NULL options: the block must be dedicated. BAD_ARGUMENT if it shares its handles, if it is empty,
 * or if there are more pieces than `capacity` (the message has the count). UNSUPPORTED if
 * cuarena_properties says fd = 0, or the bytes are adopted. STALE. Cost: two driver calls for each
 * piece.
 */
CUARENA_API cuarena_status_t cuarena_export(cuarena_t *arena, cuarena_block_t block,
                                            const cuarena_export_options_t *options,
                                            cuarena_export_piece_t *pieces, size_t capacity,
                                            size_t *count_out, cuarena_export_t **export_out);
/* Ends an export and clears the handle. NULL and a cleared handle are OK;
 * STALE for one of another arena. */
CUARENA_API cuarena_status_t cuarena_export_close(cuarena_t *arena, cuarena_export_t **exported);

#ifdef __cplusplus
}
#endif

#endif
