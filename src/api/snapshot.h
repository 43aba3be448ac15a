/*
 * Snapshots from inside: the copy of an arena's bookkeeping, and what is written of it.
 *
 *   copy    (snapshot_copy.c) all that a snapshot tells, taken under the lock into memory that was
 *           got before. From then on it is the snapshot's own: the arena may change, or end.
 *   events  (snapshot_events.c) the last ones, which are copied behind that without the lock.
 *   format  (snapshot_json.c, snapshot_torch.c) writes a copy to a sink.
 *   file    (snapshot_file.c) a sink that becomes a file.
 *
 * The heaps of a copy are heaps whose records and segments are copies. They can be walked like
 * heaps, and nothing else can be done with them.
 */
#ifndef CUAI_API_SNAPSHOT_H
#define CUAI_API_SNAPSHOT_H

#include "api/numbered.h"
#include "arena/arena.h"
#include "arena/find.h"
#include "base/json.h"
#include "base/sink.h"
#include "cuarena/stats.h"

/* Whose free bytes a free list has, and what is known of their work. */
typedef enum cuai_free_state {
    CUAI_FREE_IDLE,
    CUAI_FREE_FREED,   /* by a stream; no event is behind them yet */
    CUAI_FREE_EVENT,   /* by a stream; an event is behind them */
    CUAI_FREE_CAPTURE, /* private to a capture session */
    CUAI_FREE_MOVING   /* kept for a compaction under way */
} cuai_free_state_t;

typedef struct cuai_copied_list {
    uint8_t stream;
    uint8_t state; /* cuai_free_state_t */
} cuai_copied_list_t;

typedef struct cuai_copied_stream {
    uint32_t number;
    cuarena_stream_t handle;
    bool released;
    bool captured;
    uint64_t free_bytes;
    uint64_t cached_blocks;
    cuai_counts_t counts;
} cuai_copied_stream_t;

typedef struct cuai_copied_tag {
    const char *name;
    cuai_counts_t counts;
} cuai_copied_tag_t;

struct cuai_snapshot {
    uint64_t time_ns;      /* since 1970 */
    uint64_t monotonic_ns; /* at the same moment, by the clock of events */
    uint64_t number;       /* of the arena in this process */
    cuarena_config_t config;
    char memory[CUAI_SHOWN];
    uint64_t limits[4];
    uint64_t pool_bytes;
    uint64_t stable_bytes;
    bool lost;
    char lost_by[256];
    cuarena_stats_t stats;
    cuarena_error_info_t refused; /* status 0: no request was */
    cuarena_heap_t heaps[CUAI_HEAPS];
    bool exists[CUAI_HEAPS]; /* such a heap */
    cuarena_memory_segment_t *segments;
    size_t segment_count;
    cuai_copied_tag_t *tags; /* index: cuarena_tag_t; [0] is unused */
    size_t tag_count;
    cuai_copied_stream_t streams[CUAI_STREAM_NUMBERS];
    size_t stream_count;
    cuarena_traced_t *events; /* the last ones that the arena kept; NULL: it keeps none */
    size_t event_count;
    cuai_copied_list_t lists[CUAI_LISTED][CUARENA_HEAP_MAX_FREELISTS];
    /* The memory of records, segments and tags. */
    unsigned char *room;
    size_t room_bytes;
};

/* ---- Copies (snapshot_copy.c) ------------------------------------------ */

/* Begins a copy of nothing; NULL, put into words: the host has no memory. No lock. */
cuai_snapshot_t *cuai_snapshot_new(void);
/* Makes room for `bytes`, all of it touched, and a part more; OUT_OF_MEMORY. No lock: the system
 * may take its time. */
cuarena_status_t cuai_snapshot_make_room(cuai_snapshot_t *s, size_t bytes);
/* Copies the arena if there is room for it. False: nothing was copied, and *bytes_out says how much
 * it takes now. Lock held, no cache of a thread keeps anything. O(records ever in use). */
bool cuai_snapshot_fill(cuai_snapshot_t *s, const cuarena_t *arena, size_t *bytes_out);
/* Copies the events that the arena's ring has, if it has one; OUT_OF_MEMORY. No lock of an arena,
 * which does not end meanwhile. O(n log n) in the events that its threads keep. */
cuarena_status_t cuai_snapshot_take_events(cuai_snapshot_t *s, cuarena_t *arena);
/* Copies all of the arena, whose lock the caller does not have. */
cuarena_status_t cuai_snapshot_copy(cuarena_t *arena, cuai_snapshot_t **snapshot_out);

/* ---- What lies in a segment -------------------------------------------- */

typedef enum cuai_piece_kind {
    CUAI_PIECE_BLOCK,
    CUAI_PIECE_CACHED,
    CUAI_PIECE_FREE
} cuai_piece_kind_t;

typedef struct cuai_piece {
    cuai_piece_kind_t kind;
    int region; /* CUAI_DYNAMIC, CUAI_STABLE or CUAI_APART */
    uint64_t address;
    uint64_t bytes;
    cuai_slot_t slot; /* of the block, or of the record whose range it is */
} cuai_piece_t;

typedef void (*cuai_piece_fn)(void *to, const cuai_snapshot_t *s, const cuai_piece_t *piece);
/* Calls `fn` for what lies in a segment, in address order and without a gap. */
void cuai_snapshot_walk(const cuai_snapshot_t *s, int region, const cuai_segment_t *segment,
                        cuai_piece_fn fn, void *to);
/* Calls `fn` for what lies in all segments of all regions, and for dedicated blocks. */
void cuai_snapshot_walk_all(const cuai_snapshot_t *s, cuai_piece_fn fn, void *to);
/* The free list that has the bytes of a piece that is free. */
cuai_copied_list_t cuai_snapshot_list(const cuai_snapshot_t *s, const cuai_piece_t *piece);

/* ---- Formats ----------------------------------------------------------- */

/* BAD_ARGUMENT unless it is one of CUARENA_SNAPSHOT_... */
cuarena_status_t cuai_snapshot_check_format(int32_t format);
void cuai_snapshot_json(const cuai_snapshot_t *s, cuai_sink_t *sink);
void cuai_snapshot_put_events(cuai_json_t *json, const cuai_snapshot_t *s);
void cuai_snapshot_torch(const cuai_snapshot_t *s, cuai_sink_t *sink);
/* The most snapshots of refusals of one arena. */
#define CUAI_MOST_OOM_SNAPSHOTS 16
/* Writes the one that the option snapshot_on_oom asks for, if a request was refused for lack of
 * bytes and it has not had its files yet. The log is told; the last error stays. Drops the lock. */
void cuai_snapshot_refusal(cuarena_t *arena, cuarena_status_t status);

#endif
