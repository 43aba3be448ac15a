/*
 * Every call that an arena makes of its memory (unlocked.c): none is made with the lock, since it
 * may take milliseconds, or wait for a device. Those about streams and their work drop the lock for
 * the call, so what was known before must be looked up again after it, and note a lost device.
 * Those about bytes are made where the caller has dropped it, often for several in a row, and notes
 * a loss when it has the lock again.
 */
#ifndef CUAI_ARENA_UNLOCKED_H
#define CUAI_ARENA_UNLOCKED_H

#include "arena/streams.h"

/* ---- Streams and their work; these drop the lock ------------------------- */

/* Loses the arena, for the reason that the last error has; an earlier one stays. Keeps the lock. */
void cuai_set_lost(cuarena_t *arena);
/* LOST is noted: from now on the arena calls nothing. Returns the status. Keeps the lock. */
cuarena_status_t cuai_note_loss(cuarena_t *arena, cuarena_status_t status);

cuarena_status_t cuai_unlocked_identify(cuarena_t *arena, cuarena_stream_t handle,
                                        cuarena_stream_info_t *info);
/* Records the work of a stream, which the caller touches and which was not released, in `*event`,
 * or in a new one where that is NULL. Of another thread's default stream, which cannot be recorded
 * on, more is recorded. BUSY: the stream is being captured, or that would end a capture. */
cuarena_status_t cuai_unlocked_record(cuarena_t *arena, const cuai_stream_t *s, void **event);
/* Asks whether the work of all streams is done, else BUSY, or waits for it. UNSUPPORTED where one
 * event cannot stand for that, or would end a capture session; BUSY, put into words, with
 * `*captured_out`, which may be NULL, where it has ended a capture without one. */
cuarena_status_t cuai_unlocked_see_all(cuarena_t *arena, bool wait, bool *captured_out);
/* Asks whether an event is complete, else BUSY. With `wait` the stream waits for it on the device,
 * or with 0, or for a stream that was released, the caller does; counts the wait. BUSY then: the
 * stream is in an open capture session. */
cuarena_status_t cuai_unlocked_see(cuarena_t *arena, void *event, uint32_t number, bool wait);
/* Waits on the host for the work of a stream. BUSY: it is being captured. */
cuarena_status_t cuai_unlocked_synchronize(cuarena_t *arena, uint32_t number);
/* Waits for what a failing call has queued on a stream, of which its caller is told nothing. Keeps
 * the last error; if the wait fails too the arena is lost, and the error says so. */
void cuai_await_queued(cuarena_t *arena, uint32_t number);
/* Gives an event back; NULL is fine. */
void cuai_unlocked_discard(cuarena_t *arena, void *event);

/* ---- Bytes; the caller has no lock --------------------------------------- */

/* As the functions of the memory's table (cuarena/memory.h), which has them. */
bool cuai_mem_available(const cuarena_t *arena, uint64_t *bytes_out); /* false: nobody knows */
cuarena_status_t cuai_mem_get(const cuarena_t *arena, uint64_t bytes, uint64_t address_bytes,
                              cuarena_memory_segment_t *segment_out);
/* These get and give back in the order of a stream or, with CUARENA_NO_STREAM, do as cuai_mem_get
 * and cuai_mem_give_back. */
cuarena_status_t cuai_mem_get_on(const cuarena_t *arena, uint64_t bytes, cuarena_stream_t stream,
                                 cuarena_memory_segment_t *segment_out);
void cuai_mem_give_on(const cuarena_t *arena, cuarena_memory_segment_t *segment,
                      cuarena_stream_t stream);
void cuai_mem_give_back(const cuarena_t *arena, cuarena_memory_segment_t *segment);
cuarena_status_t cuai_mem_grow(const cuarena_t *arena, cuarena_memory_segment_t *segment,
                               uint64_t new_bytes);
void cuai_mem_shrink(const cuarena_t *arena, cuarena_memory_segment_t *segment, uint64_t new_bytes);
cuarena_status_t cuai_mem_fill(const cuarena_t *arena, cuarena_memory_segment_t *segment,
                               uint64_t address, uint64_t bytes);
void cuai_mem_punch(const cuarena_t *arena, cuarena_memory_segment_t *segment, uint64_t address,
                    uint64_t bytes);
/* Whole handles, mapped at another address as well, and no longer mapped at one (memory/memory.h).
 */
cuarena_status_t cuai_mem_map_again(const cuarena_t *arena, const cuarena_memory_segment_t *from,
                                    uint64_t address, uint64_t bytes,
                                    const cuarena_memory_segment_t *to, uint64_t to_address);
void cuai_mem_unmap(const cuarena_t *arena, const cuarena_memory_segment_t *segment,
                    uint64_t address, uint64_t bytes);
/* *done_out: how many of the moves are queued, or done. */
cuarena_status_t cuai_mem_relocate(const cuarena_t *arena, const cuarena_relocation_t *list,
                                   size_t count, cuarena_stream_t stream, size_t *done_out);
cuarena_status_t cuai_mem_zero(const cuarena_t *arena, uint64_t address, uint64_t bytes,
                               cuarena_stream_t stream);
/* The graph that the stream is captured into sets them to 0. */
cuarena_status_t cuai_mem_zero_captured(const cuarena_t *arena, uint64_t address, uint64_t bytes,
                                        cuarena_stream_t stream);
cuarena_status_t cuai_mem_set(const cuarena_t *arena, uint64_t address, int32_t value,
                              uint64_t bytes, cuarena_stream_t stream);
cuarena_status_t cuai_mem_read(const cuarena_t *arena, void *to, uint64_t address, uint64_t bytes);
cuarena_status_t cuai_mem_export(const cuarena_t *arena, const cuarena_memory_segment_t *segment,
                                 uint64_t offset, uint64_t bytes, cuarena_export_piece_t *pieces,
                                 size_t capacity, size_t *count_out);
/* Waits on the host for the work of a stream that was just passed. */
cuarena_status_t cuai_mem_await(const cuarena_t *arena, cuarena_stream_t stream);
/* Of the driver's pool that the arena's blocks are pieces of (memory/cuda/pools.h). */
cuarena_status_t cuai_mem_pool_stats(const cuarena_t *arena, cuarena_driver_pool_stats_t *stats);
cuarena_status_t cuai_mem_pool_reset_peaks(const cuarena_t *arena);
cuarena_status_t cuai_mem_pool_trim(const cuarena_t *arena, uint64_t keep_bytes,
                                    uint64_t *given_out);
cuarena_status_t cuai_mem_pool_get_threshold(const cuarena_t *arena, uint64_t *bytes_out);
cuarena_status_t cuai_mem_pool_set_threshold(const cuarena_t *arena, uint64_t bytes);
/* Gives an event of an arena that ends back. */
void cuai_mem_end_event(const cuarena_t *arena, void *event);

#endif
