/*
 * An allocator for ONNX Runtime beside a table of its functions that stands for it: a stream is its
 * own handle, and a status its message.
 */
#ifndef SUPPORT_ORT_TABLE_H
#define SUPPORT_ORT_TABLE_H

#include <cuarena.h>
#include <cuarena/onnxruntime.h>

/* The table of an allocator, by its names. */
struct OrtAllocator {
    uint32_t version;
    void *(*alloc)(struct OrtAllocator *self, size_t bytes);
    void (*free)(struct OrtAllocator *self, void *pointer);
    const struct OrtMemoryInfo *(*info)(const struct OrtAllocator *self);
    void *(*reserve)(struct OrtAllocator *self, size_t bytes);
    void *(*get_stats)(const struct OrtAllocator *self, void **pairs_out);
    void *(*alloc_on_stream)(struct OrtAllocator *self, size_t bytes, void *stream);
    char *(*shrink)(struct OrtAllocator *self);
};

/* ONNX Runtime's functions that the allocator calls, by their numbers. */
struct OrtApi {
    void (*functions[385])(void);
};

extern struct OrtApi ort_api;
#define ORT_INFO ((const struct OrtMemoryInfo *)(void *)&ort_api)

/* Makes one over the arena. */
struct OrtAllocator *ort_allocator_of(cuarena_t *arena, uint64_t keep_bytes);

#endif
