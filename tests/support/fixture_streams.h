/*
 * The calls of a fixture, on streams or without: one test says what an arena does, and its fixture
 * on how many streams.
 *
 *   use    how many streams the calls of a fixture are spread over
 *   turn   the stream that the next block is for: they take turns
 *   owner  the stream that a block was allocated on. What is done to the block
 *          and its contents goes there, but for every third free: that goes to
 *          the stream whose turn it is, which waits for the owner first
 *   work   how the contents of blocks are written and looked at on a stream
 *
 * Contents are written and looked at late, when the stream gets there: what
 * was found wrong is told when the fixture is closed. So bytes that an arena hands out too early
 * show, on a driver that looks for it and on others.
 *
 * Without streams each call is the plain one, and contents are the CPU's.
 */
#ifndef CUARENA_TEST_FIXTURE_STREAMS_H
#define CUARENA_TEST_FIXTURE_STREAMS_H

#include "support/fixture.h"

#include <stdbool.h>

typedef enum stream_use {
    STREAMS_NONE,
    STREAMS_ONE,
    STREAMS_MANY,
    STREAM_USES
} stream_use_t;

/* "no stream", "one stream", "many streams" */
extern const char *const stream_use_names[STREAM_USES];

/* By numbers below FIXTURE_STREAMS, which stand for streams of the process. */
struct stream_work {
    cuarena_stream_t (*stream)(uint32_t number);
    void (*fill)(const fixture_t *f, uint32_t stream, void *address, uint64_t bytes, uint64_t seed);
    void (*check)(const fixture_t *f, uint32_t stream, const void *address, uint64_t bytes,
                  uint64_t seed);
    /* What is put on `later` from now on comes after all on `earlier`. */
    void (*order)(uint32_t earlier, uint32_t later);
    /* The stream gets no further until all are let go of. */
    void (*hold)(uint32_t stream);
    void (*let_go)(void);
    /* Waits for all work; how many bytes were wrong since the last time. */
    uint64_t (*finish)(void);
};

/* Addresses that nothing stands behind: any number is a stream. */
extern const stream_work_t no_work;

/* Between fixture_prepare and the first call. */
void fixture_use_streams(fixture_t *f, stream_use_t use, const stream_work_t *work);

/* The calls of the arena that have a form with a stream. */
cuarena_status_t try_take(fixture_t *f, uint64_t bytes, const cuarena_request_t *request,
                          void **out);
cuarena_status_t try_take_block(fixture_t *f, uint64_t bytes, cuarena_block_t *out);
cuarena_status_t try_drop(fixture_t *f, void *pointer);
cuarena_status_t try_drop_block(fixture_t *f, cuarena_block_t block);
cuarena_status_t try_resize(fixture_t *f, void *pointer, uint64_t bytes, void **out);
cuarena_status_t try_resize_block(fixture_t *f, cuarena_block_t block, uint64_t bytes);
cuarena_status_t try_pin_block(fixture_t *f, cuarena_block_t block, void **out);
cuarena_status_t try_unpin_block(fixture_t *f, cuarena_block_t block);
cuarena_status_t try_compact(fixture_t *f, const cuarena_compact_options_t *options,
                             cuarena_relocation_fn callback, void *user);

/* ---- What streams change ----------------------------------------------- */

/* What was freed is everybody's: on streams that takes a wait. */
void reclaim(fixture_t *f);
/* Gives back all there is to: on streams what is idle, and then the rest. */
cuarena_status_t try_trim_all(fixture_t *f, uint64_t *given_back_out);
/* All work is done, as it must be before the CPU looks, or a reset. */
void finish_work(const fixture_t *f);
/* On memory of a device the stream of the block gets no further, so what is freed there stays in
 * use, until expect_waits. */
void hold_stream(const fixture_t *f, const void *pointer);
/* Of an arena which freed and took the same bytes: without streams and on one nothing was waited
 * for on a device, on many the bytes crossed, and never did the host wait but for memory that the
 * CPU touches. Lets go of streams. */
void expect_waits(const fixture_t *f);

/* ---- Calls on a stream that the test names ------------------------------ */

/* The streams of kinds that are simulated. */
#define A sim_handle(1)
#define B sim_handle(2)
#define C sim_handle(3)
/* No call of the simulated memory since the last time that was asked. */
#define expect_no_calls(f) expect_u64(sim_calls(&(f)->sim), 0)

/* Calls that must succeed, each followed by the validator. */
void *alloc_on(fixture_t *f, uint64_t bytes, cuarena_stream_t stream);
/* All of the pool, so that whoever asks next needs exactly these bytes. */
void *alloc_all_on(fixture_t *f, cuarena_stream_t stream);
cuarena_block_t alloc_block_on(fixture_t *f, uint64_t bytes, cuarena_stream_t stream);
void free_on(fixture_t *f, void *pointer, cuarena_stream_t stream);
/* `count` blocks that fill the pool, in address order. */
void alloc_row_on(fixture_t *f, cuarena_block_t *blocks, size_t count, cuarena_stream_t stream);
/* Takes bytes, writes to them and frees them, all on the stream: a race if whoever had them before
 * is not done. Gives where they were. */
void *use_anew(fixture_t *f, uint64_t bytes, cuarena_stream_t stream);
/* A kernel on the first bytes of a block, as a program must write it. */
void write_block_on(fixture_t *f, cuarena_block_t block, uint64_t bytes, cuarena_stream_t stream,
                    uint64_t seed);
void read_block_on(fixture_t *f, cuarena_block_t block, uint64_t bytes, cuarena_stream_t stream,
                   uint64_t seed);
/* What a request on the stream comes to; what it gets is freed again at once, on the same stream,
 * if it was not NULL. */
cuarena_status_t try_on(fixture_t *f, uint64_t bytes, cuarena_stream_t stream, void **pointer_out);
cuarena_stats_t stream_stats_of(const fixture_t *f, cuarena_stream_t stream);
/* All the way. */
void compact_on(fixture_t *f, cuarena_stream_t stream, cuarena_compact_report_t *report);
/* Reclaims without waiting: what no event is behind is done, and all that may go has gone. */
void reclaim_idle(fixture_t *f);

/* What a request asks for besides bytes. */
typedef enum ask {
    PLAIN = 0,
    ZEROED = 1,
    DEDICATED = 2
} ask_t;
cuarena_status_t try_ask(fixture_t *f, int ask, uint64_t bytes, cuarena_stream_t stream,
                         void **out);
void *ask_on(fixture_t *f, int ask, uint64_t bytes, cuarena_stream_t stream);

/* ---- Capture sessions --------------------------------------------------- */

cuarena_capture_t *begin_on(fixture_t *f, cuarena_stream_t stream);
void end_of(fixture_t *f, cuarena_capture_t *session);
void release_to(fixture_t *f, cuarena_capture_t **session, cuarena_stream_t stream);
cuarena_stats_t session_stats_of(const fixture_t *f, cuarena_capture_t *session);
/* The driver's part of it, on a simulated stream. */
void capture(fixture_t *f, cuarena_stream_t stream, bool on);
/* The arena asked nothing of a stream that was being captured. */
#define expect_untouched(f) expect_u64((f)->sim.captured_calls, 0)

/* Of the fixture's own: contents on the stream of their block. */
void fill_on_stream(const fixture_t *f, void *address, uint64_t bytes, uint64_t seed);
void check_on_stream(const fixture_t *f, const void *address, uint64_t bytes, uint64_t seed);

#endif
