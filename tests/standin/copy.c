/*
 * Copies and fills. As on a real driver a copy from pageable memory has taken its bytes when the
 * call returns, and one to pageable memory is complete; the synchronous forms go through the
 * default stream, and those within the device do not make the host wait.
 */
#include "call.h"
#include "capture.h"
#include "context.h"
#include "space.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that pageable memory had when the call was made. */
typedef struct staged {
    unsigned references;
    unsigned char bytes[];
} staged_t;

typedef struct copy_work {
    sd_work_t work;
    uint64_t to;
    uint64_t from;
    size_t bytes;
    bool to_host; /* pageable memory */
    bool from_host;
    bool peers;       /* between devices, by the call that is for that */
    staged_t *staged; /* instead of `from`, unless NULL */
} copy_work_t;

/* ---- Copying ----------------------------------------------------------- */

static const unsigned char *source(copy_work_t *copy)
{
    if (copy->staged != NULL)
        return copy->staged->bytes;
    if (copy->from_host)
        return (const unsigned char *)(uintptr_t)copy->from;
    return sd_reach(&copy->work, copy->from, copy->bytes, false, copy->peers);
}

static unsigned char *target(copy_work_t *copy)
{
    if (copy->to_host)
        return (unsigned char *)(uintptr_t)copy->to;
    return sd_reach(&copy->work, copy->to, copy->bytes, true, copy->peers);
}

/* In pieces, from either end, so that an overlapping copy shows what it did. */
static void move_bytes(unsigned char *to, const unsigned char *from, size_t bytes)
{
    const size_t piece = 4096;
    bool down = random_below(&sd_random, 2) != 0;
    size_t pieces = (bytes + piece - 1) / piece;
    for (size_t i = 0; i < pieces; i++) {
        size_t at = (down ? pieces - 1 - i : i) * piece;
        memmove(to + at, from + at, bytes - at < piece ? bytes - at : piece);
    }
}

static standin_step_t run_copy(sd_work_t *work)
{
    copy_work_t *copy = (copy_work_t *)work;
    const unsigned char *from = source(copy);
    unsigned char *to = from != NULL ? target(copy) : NULL;
    if (to == NULL)
        return STANDIN_FAULT;
    move_bytes(to, from, copy->bytes);
    return STANDIN_DONE;
}

static void share_copy(sd_work_t *work)
{
    copy_work_t *copy = (copy_work_t *)work;
    if (copy->staged != NULL)
        copy->staged->references++;
}

static void drop_copy(sd_work_t *work)
{
    copy_work_t *copy = (copy_work_t *)work;
    if (copy->staged != NULL && --copy->staged->references == 0)
        free(copy->staged);
}

static const sd_work_class_t copy_class = {.name = "copy",
                                           .bytes = sizeof(copy_work_t),
                                           .step = run_copy,
                                           .copied = share_copy,
                                           .drop = drop_copy};

/* ---- Asking for a copy ------------------------------------------------- */

/* What a call says of an address. */
typedef enum side {
    ON_DEVICE, /* memory of the driver */
    ON_HOST,   /* a host pointer: pageable unless the driver knows it */
    ANYWHERE   /* as the driver finds it */
} side_t;

typedef struct request {
    uint64_t to;
    uint64_t from;
    size_t bytes;
    side_t to_side;
    side_t from_side;
    bool peers;
    bool now; /* a synchronous form */
} request_t;

/* Addresses that the driver had may be the host's by now. */
static bool is_pageable(uint64_t address, side_t side)
{
    return side != ON_DEVICE && sd_area_at(address) == NULL &&
           (!sd_area_was(address) || sd_host_has(address));
}

static uint64_t physical(const sd_area_t *area, uint64_t address)
{
    return area->offset + (address - area->address);
}

/* By address, or through two mappings of the same bytes. */
static bool overlaps(const request_t *r)
{
    const sd_area_t *to = sd_area_at(r->to);
    const sd_area_t *from = sd_area_at(r->from);
    if (r->to < r->from + r->bytes && r->from < r->to + r->bytes)
        return true;
    if (to == NULL || from == NULL || sd_bytes_whole(to->bytes) != sd_bytes_whole(from->bytes))
        return false;
    uint64_t a = physical(to, r->to);
    uint64_t b = physical(from, r->from);
    return a < b + r->bytes && b < a + r->bytes;
}

static void stage(copy_work_t *copy)
{
    staged_t *staged = malloc(sizeof(*staged) + copy->bytes);
    if (staged == NULL)
        sd_die("the host is out of memory");
    staged->references = 1;
    memcpy(staged->bytes, (const void *)(uintptr_t)copy->from, copy->bytes);
    copy->staged = staged;
}

static copy_work_t *make_copy(const request_t *r, const sd_target_t *target)
{
    copy_work_t *copy = sd_work_new(&copy_class, target->context);
    copy->to = r->to;
    copy->from = r->from;
    copy->bytes = r->bytes;
    copy->peers = r->peers;
    copy->to_host = is_pageable(r->to, r->to_side);
    copy->from_host = is_pageable(r->from, r->from_side);
    if (!copy->to_host)
        sd_range_use(&copy->work, r->to, r->bytes);
    if (!copy->from_host)
        sd_range_use(&copy->work, r->from, r->bytes);
    return copy;
}

static bool check_copy(const request_t *r, const sd_target_t *target)
{
    if (!is_pageable(r->from, r->from_side) &&
        !sd_range_known(target->context, r->from, r->bytes, false, r->peers))
        return false;
    if (!is_pageable(r->to, r->to_side) &&
        !sd_range_known(target->context, r->to, r->bytes, true, r->peers))
        return false;
    if (overlaps(r)) {
        sd_report(STANDIN_OVERLAP, "%zu bytes are copied from %#llx to %#llx, which overlap",
                  r->bytes, (unsigned long long)r->from, (unsigned long long)r->to);
    }
    return true;
}

static CUresult copy_bytes(const request_t *r, CUstream stream)
{
    sd_target_t target = sd_target(stream);
    bool capturing = sd_captures(&target);
    if (r->now)
        sd_sync_count();
    if (r->bytes == 0)
        return CUDA_SUCCESS;
    if (!check_copy(r, &target))
        return CUDA_ERROR_INVALID_VALUE;
    copy_work_t *copy = make_copy(r, &target);
    bool host = is_pageable(r->to, r->to_side);
    if (copy->from_host && !capturing)
        stage(copy);
    CUresult result = sd_submit(&target, &copy->work, NULL);
    if (result != CUDA_SUCCESS || capturing)
        return result;
    if (host && !r->now)
        sd_sync_count();
    if (host || (r->now && (r->to_side != ON_DEVICE || r->from_side != ON_DEVICE)))
        sd_target_wait(&target);
    return target.context->lost;
}

static CUresult copy_within(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream,
                            bool now)
{
    request_t r = {to, from, bytes, ON_DEVICE, ON_DEVICE, false, now};
    return copy_bytes(&r, stream);
}

static CUresult copy_in(CUdeviceptr to, const void *from, size_t bytes, CUstream stream, bool now)
{
    request_t r = {to, (uint64_t)(uintptr_t)from, bytes, ON_DEVICE, ON_HOST, false, now};
    return copy_bytes(&r, stream);
}

static CUresult copy_out(void *to, CUdeviceptr from, size_t bytes, CUstream stream, bool now)
{
    request_t r = {(uint64_t)(uintptr_t)to, from, bytes, ON_HOST, ON_DEVICE, false, now};
    return copy_bytes(&r, stream);
}

static CUresult copy_any(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream, bool now)
{
    request_t r = {to, from, bytes, ANYWHERE, ANYWHERE, false, now};
    return copy_bytes(&r, stream);
}

static CUresult copy_peers(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream)
{
    request_t r = {to, from, bytes, ON_DEVICE, ON_DEVICE, true, false};
    sd_context_get(to_context);
    sd_context_get(from_context);
    return copy_bytes(&r, stream);
}

SD_ENTRY_BOTH(cuMemcpyDtoDAsync_v2,
              (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
              copy_within(to, from, bytes, stream, false))
SD_ENTRY_BOTH(cuMemcpyHtoDAsync_v2,
              (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
              copy_in(to, from, bytes, stream, false))
SD_ENTRY_BOTH(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
              copy_out(to, from, bytes, stream, false))
SD_ENTRY_BOTH(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
              copy_any(to, from, bytes, stream, false))
SD_ENTRY_BOTH(cuMemcpyPeerAsync,
              (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
               size_t bytes, CUstream stream),
              copy_peers(to, to_context, from, from_context, bytes, stream))

/* The synchronous forms, for either kind of default stream. */
#define NOW(symbol, parameters, with_stream)                                                       \
    SD_ENTRY(symbol, symbol, parameters, with_stream(NULL))                                        \
    SD_ENTRY(symbol, symbol##_ptds, parameters, with_stream(CU_STREAM_PER_THREAD))

#define WITHIN_ON(stream) copy_within(to, from, bytes, stream, true)
#define IN_ON(stream) copy_in(to, from, bytes, stream, true)
#define OUT_ON(stream) copy_out(to, from, bytes, stream, true)
#define ANY_ON(stream) copy_any(to, from, bytes, stream, true)
NOW(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes), WITHIN_ON)
NOW(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes), IN_ON)
NOW(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes), OUT_ON)
NOW(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes), ANY_ON)

/* ---- Fills ------------------------------------------------------------- */

typedef struct fill_work {
    sd_work_t work;
    uint64_t to;
    size_t bytes;
    uint32_t value;
    bool words; /* of 32 bits */
} fill_work_t;

static standin_step_t run_fill(sd_work_t *work)
{
    fill_work_t *fill = (fill_work_t *)work;
    unsigned char *to = sd_reach(work, fill->to, fill->bytes, true, false);
    if (to == NULL)
        return STANDIN_FAULT;
    if (!fill->words || fill->value == (fill->value & 0xff) * 0x01010101u)
        memset(to, (int)(fill->value & 0xff), fill->bytes); /* tests zero much, at -O0 too */
    else
        for (size_t at = 0; at < fill->bytes; at += 4)
            memcpy(to + at, &fill->value, 4);
    return STANDIN_DONE;
}

static const sd_work_class_t fill_class = {
    .name = "fill", .bytes = sizeof(fill_work_t), .step = run_fill};

static CUresult fill_bytes(CUdeviceptr to, uint32_t value, size_t count, bool words,
                           CUstream stream, bool now)
{
    sd_target_t target = sd_target(stream);
    size_t bytes = words ? count * 4 : count;
    if (now)
        sd_sync_count();
    if (words && (to % 4 != 0 || bytes / 4 != count))
        return CUDA_ERROR_INVALID_VALUE;
    if (count == 0)
        return CUDA_SUCCESS;
    if (!sd_range_known(target.context, to, bytes, true, false))
        return CUDA_ERROR_INVALID_VALUE;
    fill_work_t *fill = sd_work_new(&fill_class, target.context);
    fill->to = to;
    fill->bytes = bytes;
    fill->value = value;
    fill->words = words;
    sd_range_use(&fill->work, to, bytes);
    return sd_submit(&target, &fill->work, NULL);
}

SD_ENTRY_BOTH(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
              fill_bytes(to, value, count, false, stream, false))
SD_ENTRY_BOTH(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t count, CUstream stream),
              fill_bytes(to, value, count, true, stream, false))
#define BYTES_ON(stream) fill_bytes(to, value, count, false, stream, true)
#define WORDS_ON(stream) fill_bytes(to, value, count, true, stream, true)
NOW(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count), BYTES_ON)
NOW(cuMemsetD32_v2, (CUdeviceptr to, unsigned value, size_t count), WORDS_ON)
