/*
 * Arenas on devices: what their memory has become, and sharing it with other
 * processes.
 *
 * The memories that a driver gives, and what it does meanwhile
 *   device, vmm      Addresses set aside; handles of one size mapped into them,
 *                    as many as are needed, taken back from the end and from
 *                    the middle. Neither taking nor giving back waits for work
 *                    of the device.
 *   device, malloc   One driver allocation a segment. Giving back waits until
 *                    the kernels that run on the device have ended: the driver
 *                    does.
 *   device, async    One stream-ordered allocation a segment, from the device's
 *                    default pool, which keeps what it is given back as long as
 *                    its threshold says. Taking waits for a stream of the
 *                    arena's own.
 *   managed          One allocation a segment; never more in all arenas than
 *                    the device has, and never more at once than it has free.
 *                    Giving back waits as malloc does. The device moves and
 *                    zeroes the bytes.
 *   pinned           One allocation a segment. Giving back may wait. The CPU
 *                    moves and zeroes the bytes, after it has waited for the
 *                    stream that was named; write-combined bytes, which it
 *                    reads too slowly, the device moves.
 * Memory that is not vmm has no holes and does not grow in place: trim gives
 * back whole segments, and a pool's resize moves all of it. Beside its bytes an
 * arena of a device takes about 1 MiB to move blocks with, or 4 MiB where no
 * kernel can, when it is created; these count nowhere.
 *
 * A driver error after which nothing works any more, such as a kernel's illegal
 * access, loses the arena (LOST). After a fork the child's calls of the driver
 * say NO_DEVICE, frees and destroy forget. Nothing is taken down when the
 * process ends.
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

/* Of an arena's memory, from its creation on. Members about a device are 0,
 * NULL or -1 where there is none. */
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
    uint64_t grain_bytes;  /* what it gives and takes back in multiples of */
    uint64_t handle_bytes; /* of a vmm handle; 0 without */
    void *context;         /* CUcontext */
} cuarena_properties_t;
CUARENA_API void cuarena_properties_init(cuarena_properties_t *properties);
CUARENA_API cuarena_status_t
cuarena_properties(cuarena_t *arena, cuarena_properties_t *properties);

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
 * Tells which handles are behind a block, so that another process of this host
 * can map it: cuMemImportFromShareableHandle on each descriptor, then
 * cuMemMap of the whole handle; the block's bytes are those at `offset`.
 *
 * Pieces come in the block's order. Their descriptors belong to the caller:
 * send them (SCM_RIGHTS) and close them. `pieces` NULL and `capacity` 0: only
 * the count comes back, and nothing is exported.
 *
 * From now on until cuarena_export_close the block stays where it is and its
 * handles stay mapped, also if it is freed meanwhile: its bytes count as live
 * until then. What the importer maps stays valid however long it likes; the
 * close says that it no longer minds what becomes of the bytes.
 *
 * NULL options: the block must be dedicated. BAD_ARGUMENT: it shares its
 * handles, it is empty, or there are more pieces than `capacity` (the message
 * has the count). UNSUPPORTED: cuarena_properties says fd = 0, or the bytes
 * are adopted. STALE. Cost: two driver calls a piece.
 */
CUARENA_API cuarena_status_t cuarena_export(
    cuarena_t *arena, cuarena_block_t block,
    const cuarena_export_options_t *options, cuarena_export_piece_t *pieces,
    size_t capacity, size_t *count_out, cuarena_export_t **export_out);
/* Ends an export and clears the handle. NULL and a cleared handle are OK;
 * STALE for one of another arena. */
CUARENA_API cuarena_status_t cuarena_export_close(cuarena_t *arena,
                                                  cuarena_export_t **exported);

#ifdef __cplusplus
}
#endif

#endif
