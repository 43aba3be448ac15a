/*
 * What the arena asks of the memory about streams and their work (unlocked.c). Every function drops
 * the lock for its call, so what was known before must be looked up again after it; each notes a
 * lost device.
 */
#ifndef CUAI_ARENA_UNLOCKED_H
#define CUAI_ARENA_UNLOCKED_H

#include "arena/streams.h"

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

#endif
