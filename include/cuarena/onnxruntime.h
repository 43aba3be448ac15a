/*
 * An arena as ONNX Runtime's allocator: an OrtAllocator that a host registers, or that an execution
 * provider's factory returns.
 *
 *   const OrtApi *api = OrtGetApiBase()->GetApi(25);
 *   api->CreateMemoryInfo("Cpu", OrtDeviceAllocator, 0, OrtMemTypeDefault, &info);
 *   cuarena_ort_allocator_create(arena, api, info, 0, &allocator);
 *   api->RegisterAllocator(env, allocator);      sessions with session.use_env_allocators=1 use it
 *   ...
 *   api->ReleaseEnv(env);
 *   cuarena_ort_allocator_destroy(&allocator);
 *
 * Nothing of ONNX Runtime is included or linked: what is used of its interface is declared in the
 * library, and is that of version 25 and later. Include its own header for the rest.
 *
 *   Alloc          cuarena_alloc
 *   AllocOnStream  cuarena_alloc_on, on the native stream of the OrtSyncStream
 *   Reserve        a dedicated block: weights, which must not stand among what comes and goes. Of
 *                  less than half a page of the memory (cuarena_properties) as Alloc, for a model
 *                  may have thousands of small ones, and each would take a page; all are aligned to
 *                  256 bytes, which kernels count on
 *   Free           cuarena_free_own: on the stream on which the block was allocated; a block of no
 *                  stream is idle. Where a capture is in the way it is done by a later call of the
 *                  allocator, when the capture is over
 *   GetStats       ONNX Runtime's figures (CUARENA_TEXT_ORT)
 *   Shrink         cuarena_trim, down to the bytes that the creation says
 *   Info           the memory info that was given
 *
 * Failures. ONNX Runtime does not look whether it got NULL, and crashes. So a request that fails
 * throws std::runtime_error, in which the message of cuarena_last_error is, by the C++ library of
 * the process, which ONNX Runtime turns into a status. NULL comes back only where the process has
 * no libstdc++ or libc++ that is shared. Who calls Alloc, AllocOnStream or Reserve by hand, from C,
 * should call cuarena_alloc instead. 0 bytes give NULL.
 *
 * Streams. An arena knows a stream from the first AllocOnStream until cuarena_release_stream, which
 * the provider must call before it destroys the stream: else the next allocation may ask a stream
 * that is gone, and the 127th stream is refused (streams.h).
 *
 * Any thread may call anything; the arena must outlive the allocator.
 */
#ifndef CUARENA_ONNXRUNTIME_H
#define CUARENA_ONNXRUNTIME_H

#include "arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ONNX Runtime's own types. */
struct OrtAllocator;
struct OrtApi;
struct OrtMemoryInfo;

/* The version of the interface that is declared, of which `api` is to be or of a later one. */
#define CUARENA_ORT_API_VERSION 25

/*
 * Makes an allocator over an arena. `api` and `info` stay the caller's and must outlive it. The
 * info must say OrtDeviceAllocator, since ONNX Runtime refuses OrtArenaAllocator, and the device of
 * the arena's memory. A Shrink leaves `keep_bytes` reserved, as cuarena_trim does.
 *
 * BAD_ARGUMENT for NULL; OUT_OF_MEMORY if the host has none.
 */
CUARENA_API cuarena_status_t cuarena_ort_allocator_create(cuarena_t *arena,
                                                          const struct OrtApi *api,
                                                          const struct OrtMemoryInfo *info,
                                                          uint64_t keep_bytes,
                                                          struct OrtAllocator **allocator_out);
/* Ends an allocator, which ONNX Runtime must not use any more, and clears the handle; NULL and a
 * cleared handle are OK. The arena and its blocks are as before. BAD_ARGUMENT for an allocator that
 * cuarena_ort_allocator_create did not make. */
CUARENA_API cuarena_status_t cuarena_ort_allocator_destroy(struct OrtAllocator **allocator);

#ifdef __cplusplus
}
#endif

#endif
