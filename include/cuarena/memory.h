/*
 * Memories: where an arena takes its bytes from; streams; and the table of functions by which a
 * program brings memory of its own kind.
 *
 * A memory is a const table of functions and a `user` value, which is handed to each of them. The
 * library's own memories fill the same table.
 *
 * Rules for every function of the table
 *   - It is called with no lock held, from any thread, but never twice at once
 *     for the same segment.
 *   - Sizes and offsets are multiples of `granularity`. Exceptions: those of
 *     a segment that keeps its length, which is one of a dedicated block or in
 *     an arena with in_place=0, are multiples of `least_bytes`; those handed
 *     to `relocate`, `zero_bytes`, `zero_captured` and `export_range` are
 *     multiples of the arena's granule, and those of `set_bytes` and
 *     `read_bytes` are any.
 *   - It returns a cuarena_status_t: OUT_OF_MEMORY when there is no more to be
 *     had, DRIVER for any other refusal, LOST if nothing will work any more. A
 *     failing function changed nothing. give_back, shrink and punch must not
 *     fail, also after LOST.
 *   - It must not call an arena that uses it; such a call may be REENTERED.
 *   - It must return, rather than leave by longjmp or an exception.
 */
#ifndef CUARENA_MEMORY_H
#define CUARENA_MEMORY_H

#include "base.h"
#include "heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stream of the device: cudaStream_t and CUstream pass without a cast. NULL is the legacy default
 * stream.
 *
 * Default streams are those of the arena's own context, whatever context is current; in host memory
 * those of the context that is current when the first of them is passed, and of no other. The
 * context of every stream that was passed must outlive the arena; the arena itself holds primary
 * contexts, so this is a rule for those that the program created. */
typedef struct CUstream_st *cuarena_stream_t;

/* Another name of NULL, and the default stream of the calling thread: the values of
 * cudaStreamLegacy and cudaStreamPerThread. */
#define CUARENA_STREAM_LEGACY CUARENA_STREAM_NUMBER(1)
#define CUARENA_STREAM_PER_THREAD CUARENA_STREAM_NUMBER(2)
/* No stream: bytes are idle when they are freed, and what a call does to bytes is done when it
 * returns. */
#define CUARENA_NO_STREAM CUARENA_STREAM_NUMBER(UINTPTR_MAX)
/* Makes a stream of a number, for programs without a driver. */
#ifdef __cplusplus
#define CUARENA_STREAM_NUMBER(number)                                                              \
    reinterpret_cast<cuarena_stream_t>(static_cast<uintptr_t>(number))
#else
#define CUARENA_STREAM_NUMBER(number) ((cuarena_stream_t)(uintptr_t)(number))
#endif

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
/* NULL as a stream is what NULL means in this program. */
static inline cuarena_stream_t cuarena_stream_meant(cuarena_stream_t stream)
{
    return stream ? stream : CUARENA_STREAM_PER_THREAD;
}
#endif

/* What is known of a stream. Frozen. */
typedef struct cuarena_stream_info {
    uint64_t id;        /* no other stream ever has it, unlike the handle */
    void *context;      /* CUcontext; NULL where there is none */
    int32_t device;     /* ordinal; -1 where there is none */
    int32_t per_thread; /* 1: the handle is another stream on each thread */
    int32_t capturing;  /* 1: it is being captured into a graph now */
    int32_t zero;       /* 0 */
} cuarena_stream_info_t;

/* Which memory an arena has. */
#define CUARENA_MEMORY_PRESET 0   /* as the preset says */
#define CUARENA_MEMORY_PAGEABLE 1 /* host pages, committed as needed */
#define CUARENA_MEMORY_NONE 2     /* addresses only; never touched */
#define CUARENA_MEMORY_DEVICE 3   /* of a GPU; see CUARENA_BACKING_... */
#define CUARENA_MEMORY_MANAGED 4  /* of a GPU and the CPU, by migration */
#define CUARENA_MEMORY_PINNED 5   /* host pages that a GPU can reach */
#define CUARENA_MEMORY_BYTES 6    /* bytes that the caller owns */
#define CUARENA_MEMORY_CUSTOM 7   /* functions that the caller brings */

/* One stretch of addresses that a memory gave. The arena keeps it and hands
 * it to every further call; the memory may change `cookie` at any time. */
typedef struct cuarena_memory_segment {
    uint64_t address;       /* of the first byte; never 0 */
    uint64_t bytes;         /* usable from there, holes included */
    uint64_t address_bytes; /* addresses set aside, >= bytes: `grow` may lengthen
                             * the segment to this */
    void *cookie;           /* the memory's own */
} cuarena_memory_segment_t;

/* One relocation of a list that `relocate` executes. Frozen. */
typedef struct cuarena_relocation {
    cuarena_block_t block; /* 0 when a memory function gets it: it may be several
                            * neighbouring blocks then */
    void *from;
    void *to;
    uint64_t bytes;
} cuarena_relocation_t;

/* One handle behind a range of bytes, for another process. Frozen. */
typedef struct cuarena_export_piece {
    int32_t fd;            /* the handle's descriptor: the caller's to close */
    int32_t zero;          /* 0 */
    uint64_t handle_bytes; /* the whole handle, which is mapped at once */
    uint64_t offset;       /* of the piece in its handle */
    uint64_t bytes;        /* of the piece */
} cuarena_export_piece_t;

#define CUARENA_MEMORY_HOST_READABLE 1u /* the CPU can read and write it */
#define CUARENA_MEMORY_TOUCHES                                                                     \
    2u                                 /* bytes exist: zero and relocate do                        \
                                        * something */
#define CUARENA_MEMORY_COMES_ZEROED 4u /* fresh bytes read as 0 */

typedef struct cuarena_memory_ops {
    size_t struct_size;
    const char *name;     /* for messages; static text, neither NULL nor empty */
    uint32_t properties;  /* CUARENA_MEMORY_... bits */
    uint32_t zero;        /* 0 */
    uint64_t granularity; /* power of two: the page in which the memory gives
                           * and takes bytes */
    uint64_t alignment;   /* power of two: every address that it gives is a
                           * multiple; at least the arena's granule */
    uint64_t least_bytes; /* power of two from the granule to granularity: the
                           * page of segments that keep their length; 0: as
                           * granularity */

    /* How many bytes could be had now, at most, as far as known; for sizes given as "auto". NULL:
     * such sizes are BAD_ARGUMENT. */
    cuarena_status_t (*available)(void *user, uint64_t *bytes_out);

    /* Gives a new segment of `bytes`. The arena would like addresses to be set aside for
     * `address_bytes` (>= bytes): a memory that has fewer addresses sets fewer aside, down to
     * `bytes`, rather than fail. */
    cuarena_status_t (*get)(void *user, uint64_t bytes, uint64_t address_bytes,
                            cuarena_memory_segment_t *segment_out);
    /* Takes a segment back. Nothing in it is in use. */
    void (*give_back)(void *user, cuarena_memory_segment_t *segment);

    /* Lengthens or shortens the usable part in place, within
     * address_bytes. NULL: segments keep their length. */
    cuarena_status_t (*grow)(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes);
    void (*shrink)(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes);
    /* `punch` takes the memory behind [offset, offset + bytes) away and leaves a hole of unusable
     * addresses; `fill` puts memory behind it again. Both or neither are NULL: there are no holes
     * then. */
    void (*punch)(void *user, cuarena_memory_segment_t *segment, uint64_t offset, uint64_t bytes);
    cuarena_status_t (*fill)(void *user, cuarena_memory_segment_t *segment, uint64_t offset,
                             uint64_t bytes);

    /* Copies the bytes of each entry, in order, on `stream`, or before it returns with
     * CUARENA_NO_STREAM. Source and destination of one entry may overlap. When it fails `done_out`
     * gets how many entries were queued or done (0: nothing was touched). NULL: nothing moves.
     * Where the CPU copies (pageable, bytes of the host) the call waits for the work of `stream` so
     * far, and all is done on return. */
    cuarena_status_t (*relocate)(void *user, const cuarena_relocation_t *list, size_t count,
                                 cuarena_stream_t stream, size_t *done_out);
    /* Sets bytes to 0 on `stream`, or before it returns with CUARENA_NO_STREAM, as `relocate`.
     * NULL: zeroing is UNSUPPORTED. */
    cuarena_status_t (*zero_bytes)(void *user, void *address, uint64_t bytes,
                                   cuarena_stream_t stream);

    /*
     * Streams and events. All five NULL: everything that the memory does is done when the call
     * returns, and no stream uses its bytes.
     *
     * `identify` tells what a handle that the program has just passed stands for; BAD_ARGUMENT,
     * with a message, for a stream whose work could not use these bytes.
     *
     * `record_event` records an event behind the work of `stream` so far: a new one if *event is
     * NULL, else that one anew. With CUARENA_NO_STREAM it records a new event behind the work of
     * all streams that could use its bytes, or says UNSUPPORTED: the arena then records one on each
     * stream that it knows and that was not released, and refuses what would need an event of
     * another thread's default stream. `query_event` says OK when the work behind an event is done,
     * else BUSY. `wait_event` makes `stream` wait for an event or, with host = 1 and
     * CUARENA_NO_STREAM, the calling thread. `end_event` ends an event, complete or not.
     *
     * On a stream that is being captured `record_event`, `wait_event`, `relocate`, `zero_bytes` and
     * `set_bytes` say BUSY, with nothing recorded, queued or touched.
     */
    cuarena_status_t (*identify)(void *user, cuarena_stream_t stream,
                                 cuarena_stream_info_t *info_out);
    cuarena_status_t (*record_event)(void *user, cuarena_stream_t stream, void **event);
    cuarena_status_t (*query_event)(void *user, void *event);
    cuarena_status_t (*wait_event)(void *user, void *event, cuarena_stream_t stream, int32_t host);
    void (*end_event)(void *user, void *event);

    /* Gives the handles behind [offset, offset + bytes) of a segment, in order, each with a
     * descriptor of its own, which the caller closes; offset and bytes are multiples of the arena's
     * granule. With `pieces` NULL it gives only their count. BAD_ARGUMENT if there are more than
     * `capacity`. It may be called while other functions work on the segment. NULL: blocks cannot
     * be exported. */
    cuarena_status_t (*export_range)(void *user, const cuarena_memory_segment_t *segment,
                                     uint64_t offset, uint64_t bytes,
                                     cuarena_export_piece_t *pieces, size_t capacity,
                                     size_t *count_out);

    /* Called once, after the last segment was given back. May be NULL. */
    void (*end)(void *user);

    /* As `zero_bytes`, on a stream of an open capture session: while the stream is being captured,
     * the graph sets the bytes to 0, at each launch; BUSY if the capture has failed. NULL: a
     * `zeroed` request on such a stream is UNSUPPORTED, or if the CPU touches the memory it becomes
     * `zero_bytes` without a stream. */
    cuarena_status_t (*zero_captured)(void *user, void *address, uint64_t bytes,
                                      cuarena_stream_t stream);

    /* As `get`, with address_bytes = bytes, and `give_back`, but at a point of `stream`, which is
     * never CUARENA_NO_STREAM: what is queued on the stream from here on may use the bytes, and
     * they go back behind what was queued so far, while the caller does not wait. A segment that
     * came by `get` or `get_on` may go back by either. On a stream that is being captured `get_on`
     * says BUSY, and the arena calls `get`; `give_on` does what `give_back` does then, and the
     * arena has asked `identify` before. Like `give_back`, it must not fail. Both or neither are
     * NULL: a dedicated block that is freed on a stream waits for an event then. */
    cuarena_status_t (*get_on)(void *user, uint64_t bytes, cuarena_stream_t stream,
                               cuarena_memory_segment_t *segment_out);
    void (*give_on)(void *user, cuarena_memory_segment_t *segment, cuarena_stream_t stream);

    /* How many bytes there are in all, whoever has them now; for sizes given as a percentage. NULL:
     * such sizes are BAD_ARGUMENT. */
    cuarena_status_t (*total)(void *user, uint64_t *bytes_out);

    /* For debugging (debug.h): sets bytes to a value, as `zero_bytes` sets them to 0, and copies
     * bytes to the host before it returns. Addresses and sizes are any. `read_bytes` waits for
     * nothing: the arena has waited for what writes to the bytes. Both or neither are NULL: the
     * options guard, fill and quarantine are UNSUPPORTED then. */
    cuarena_status_t (*set_bytes)(void *user, void *address, int32_t value, uint64_t bytes,
                                  cuarena_stream_t stream);
    cuarena_status_t (*read_bytes)(void *user, void *to, const void *address, uint64_t bytes);
} cuarena_memory_ops_t;

/* All members 0 but struct_size, granularity 4096 and alignment 256. */
CUARENA_API void cuarena_memory_ops_init(cuarena_memory_ops_t *ops);

#ifdef __cplusplus
}
#endif

#endif
