/*
 * Arenas on devices: what their memory has become, and sharing it with other processes.
 *
 * The memories that a driver gives, and what it does meanwhile
 *   device, vmm      Addresses set aside; handles of one size mapped into them,
 *                    as many as are needed, taken back from the end and from
 *                    the middle. Neither taking nor giving back waits for work
 *                    of the device.
 *   device, malloc   One driver allocation a segment. Giving back waits until
 *                    the kernels that run on the device have ended: the driver
 *                    does.
 *   device, async    One stream-ordered allocation a segment, from one of the
 *                    driver's pools, which keeps what it is given back as long
 *                    as its threshold says; preset=driver-pool raises that to
 *                    the most, for all that use the pool. Taking waits for a
 * stream of the arena's own. A block that is a segment of its own is taken and given back at points
 * of the streams that its calls name, and nothing waits.
 *   managed          One allocation a segment; never more in all arenas than
 *                    the device has, and never more at once than it has free.
 *                    Giving back waits as malloc does. The device moves and
 *                    zeroes the bytes.
 *   pinned           One allocation a segment. Giving back may wait. The CPU
 *                    moves and zeroes the bytes, after it has waited for the
 *                    stream that was named; write-combined bytes, which it
 *                    reads too slowly, the device moves.
 * Memory that is not vmm has no holes and does not grow in place: trim gives back whole segments,
 * and a pool's resize moves all of it. Beside its bytes an arena of a device takes about 1 MiB to
 * move blocks with, or 4 MiB where no kernel can, when it is created; these count nowhere.
 *
 * A driver error after which nothing works any more, such as a kernel's illegal access, loses the
 * arena (LOST). After a fork the child's calls of the driver say NO_DEVICE, frees and destroy
 * forget. Nothing is taken down when the process ends.
 */
#ifndef CUARENA_DEVICE_H
#define CUARENA_DEVICE_H

#include "arena.h"
#include "base.h"
#include "memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What was got ------------------------------------------------------ */

/* Of an arena's memory, from its creation on. Members about a device are 0, NULL or -1 where there
 * is none. */
typedef struct cuarena_properties {
    size_t struct_size;
    int32_t memory;            /* CUARENA_MEMORY_... */
    int32_t bytes_kind;        /* CUARENA_BYTES_..., of memory = bytes */
    int32_t backing;           /* CUARENA_BACKING_..., never AUTO; 0: none */
    int32_t device;            /* ordinal; -1 */
    int32_t fd;                /* 1: blocks can be exported */
    int32_t rdma;              /* 1: network cards can reach the bytes */
    int32_t fabric;            /* 1: handles can go to other hosts */
    int32_t peers;             /* how many other devices reach the bytes */
    int32_t host_readable;     /* 1: the CPU does */
    int32_t relocation_kernel; /* 1: one kernel moves a whole list */
    int32_t compute_major;     /* compute capability */
    int32_t compute_minor;
    uint64_t granularity;   /* what it gives and takes back in multiples of */
    uint64_t handle_bytes;  /* of a vmm handle; 0 without */
    void *context;          /* CUcontext */
    uint64_t granule_bytes; /* what addresses and sizes of blocks are multiples
                             * of, whoever configured the arena */
} cuarena_properties_t;
CUARENA_API void cuarena_properties_init(cuarena_properties_t *properties);
CUARENA_API cuarena_status_t cuarena_properties(cuarena_t *arena, cuarena_properties_t *properties);

/* ---- The driver's own pools --------------------------------------------- */

/*
 * With backing=async bytes come from a pool of the driver's: the device's current one when the
 * arena is made, its default one, one of the caller's, or one that the arena makes (option
 * driver_pool). preset=driver-pool makes each block such a piece, rounded up to 512 bytes, as
 * CuPy's MemoryAsyncPool and ONNX Runtime's allocator for CUDA pools do:
 *
 *   cuarena_alloc_on(A)   the driver's allocation at this point of A; nothing
 *                         waits
 *   cuarena_alloc         ... on a stream of the arena's own, which the caller
 *                         waits for: good for everybody
 *   cuarena_free_on(B)    freed at this point of B, which need not be A; where
 *                         other streams were recorded as using the block, when
 *                         they are done
 *   cuarena_free          freed now: the block is idle
 *   cuarena_trim          gives back what the pool has free, until `keep_bytes`
 *                         are left; waits for nothing
 *
 * On a stream that is being captured, outside a capture session, a free is BUSY. Such blocks keep
 * their size: a resize is UNSUPPORTED, and they are not moved. When the driver has no more the
 * request's stream is waited for, or without one all work, twice at most, and it is asked again;
 * what it says of other things is not. Bytes held, by which CUARENA_LIMIT_RESERVED goes, are those
 * of the arena's blocks; what the pool has is told here.
 *
 * All of this is UNSUPPORTED where the device has no pools, and for arenas that use none.
 */
typedef struct cuarena_driver_pool_stats {
    size_t struct_size;
    uint64_t used_bytes;        /* of live pieces, whoever has them */
    uint64_t total_bytes;       /* that the pool has of its device */
    uint64_t free_bytes;        /* total less used */
    uint64_t peak_used_bytes;   /* since the pool was made, or a reset */
    uint64_t peak_total_bytes;  /* likewise */
    uint64_t release_threshold; /* UINT64_MAX: nothing is given back */
    uint64_t handle;            /* the CUmemoryPool, as a number */
    int32_t device;             /* ordinal */
    int32_t own;                /* 1: it ends with the arena */
} cuarena_driver_pool_stats_t;
CUARENA_API void cuarena_driver_pool_stats_init(cuarena_driver_pool_stats_t *stats);
/* Asks the driver, for one figure after the other. DRIVER, LOST. */
CUARENA_API cuarena_status_t cuarena_driver_pool_stats(cuarena_t *arena,
                                                       cuarena_driver_pool_stats_t *stats);
/* The two peaks begin anew from what is now, for everybody who uses the pool. DRIVER, LOST. */
CUARENA_API cuarena_status_t cuarena_driver_pool_reset_peaks(cuarena_t *arena);

/* One of the driver's pools. Frozen. */
typedef struct cuarena_driver_pool_choice {
    int32_t kind;    /* CUARENA_DRIVER_POOL_... */
    int32_t zero;    /* 0 */
    uint64_t handle; /* of CUARENA_DRIVER_POOL_EXTERNAL; else 0 */
} cuarena_driver_pool_choice_t;
/*
 * Makes an arena on each device that the driver shows, by its number, from one configuration and a
 * choice for each: `pools` and `arenas_out` have `count` members. All or, on an error, none.
 * BAD_ARGUMENT unless `count` is the number of devices, with both in the message, and for a
 * configuration that names a device or a context; otherwise as cuarena_create.
 */
CUARENA_API cuarena_status_t cuarena_create_per_device(const cuarena_config_t *config,
                                                       const cuarena_driver_pool_choice_t *pools,
                                                       size_t count, cuarena_t **arenas_out);

/* ---- Export ------------------------------------------------------------ */

/* An export that was not closed. */
typedef struct cuarena_export cuarena_export_t;

typedef struct cuarena_export_options {
    size_t struct_size;
    int32_t share_handles; /* 1: other blocks may have bytes in the same
                            * handles, which the importer then reaches too */
} cuarena_export_options_t;
CUARENA_API void cuarena_export_options_init(cuarena_export_options_t *options);

/*
 * Tells which handles are behind a block, so that another process of this host can map it:
 * cuMemImportFromShareableHandle on each descriptor, then
 * cuMemMap of the whole handle; the block's bytes are those at `offset`.
 *
 * Pieces come in the block's order. Their descriptors belong to the caller: send them (SCM_RIGHTS)
 * and close them. `pieces` NULL and `capacity` 0: only the count comes back, and nothing is
 * exported.
 *
 * From now on until cuarena_export_close the block stays where it is and its handles stay mapped,
 * also if it is freed meanwhile: its bytes count as live until then. What the importer maps stays
 * valid however long it likes; the close says that it no longer minds what becomes of the bytes.
 *
 * NULL options: the block must be dedicated. BAD_ARGUMENT: it shares its handles, it is empty, or
 * there are more pieces than `capacity` (the message has the count). UNSUPPORTED:
 * cuarena_properties says fd = 0, or the bytes
 * are adopted. STALE. Cost: two driver calls a piece.
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
