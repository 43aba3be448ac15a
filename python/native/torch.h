/*
 * What the sources of cuarena.torch share. PyTorch calls their exported functions from any thread,
 * with or without the GIL, so nothing here knows Python.
 *
 *   torch.c          one arena for each device, and the allocator's functions
 *   torch_capture.c  graphs: the capture sessions of private pools
 *   torch_pool.c     segments of a MemPool, which can sleep
 *   torch_refuse.c   what PyTorch is told when a request is refused
 *   torch_virtual.c  what PyTorch's pluggable allocator refuses, and an arena can answer
 *   torch_driver.c   the calls of the driver that the library does not offer
 */
#ifndef CUARENA_NATIVE_TORCH_H
#define CUARENA_NATIVE_TORCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuarena.h>

#define TORCH_DEVICES 64
#define TORCH_TAGS 256

/* ---- torch.c ------------------------------------------------------------- */

/* The arena of a device, which is made at the first call; NULL, with the last error, if that
 * fails. */
cuarena_t *torch_arena(int device);
/* The same where it was made; else NULL. */
cuarena_t *torch_arena_found(int device);
/* The tag of this thread in that arena, as a request. */
const cuarena_request_t *torch_request(int device, cuarena_t *arena, cuarena_request_t *request);

/* ---- torch_capture.c ----------------------------------------------------- */

/* Sees to it that what is allocated on a captured stream is private to its graph. Cheap while no
 * capture is under way. */
cuarena_status_t torch_capture_see(int device, cuarena_t *arena, cuarena_stream_t stream);

/* ---- torch_refuse.c ------------------------------------------------------ */

/* Throws c10::OutOfMemoryError, or std::bad_alloc without PyTorch, of a request that the library
 * has just refused for lack of bytes, and leaves a report of the first such refusals; of any other
 * failure std::runtime_error. It returns where the process has no C++ library. */
void torch_refuse(int device, size_t bytes, cuarena_status_t status);

/* The largest request that would fit now, as far as is known: into what is free in one piece, or
 * into what the arena could still take. `error` (may be NULL) is that of a refusal. */
uint64_t torch_would_fit(int device, const cuarena_error_info_t *error);

/* ---- torch_driver.c ------------------------------------------------------ */

/* Whether the stream is being captured now. */
bool torch_driver_captures(cuarena_stream_t stream);
/* Waits for all work of a device; false if that cannot be waited for. */
bool torch_driver_wait(int device);
/* Free and total bytes of a device; 0 where they are unknown. */
void torch_driver_memory(int device, uint64_t *free_out, uint64_t *total_out);

/* Within these two the device's primary context is current; false: it has none. */
bool torch_driver_enter(int device);
void torch_driver_leave(void);
/* Each returns the driver's code. Within enter and leave. */
int torch_driver_unmap(void *address, size_t bytes);
int torch_driver_map(int device, void *address, size_t bytes);
int torch_driver_to_host(void *to, const void *from, size_t bytes);
int torch_driver_from_host(void *to, const void *from, size_t bytes);

#endif
