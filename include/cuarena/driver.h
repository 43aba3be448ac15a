/*
 * The driver of the GPU: which one runs, and what its devices can do.
 *
 * The library links to no part of CUDA. It opens libcuda.so.1 when the first arena on a device is
 * created, the first stream is passed or one of the calls below is made, and not before;
 * CUARENA_CUDA_LIBRARY in the environment names another file. The oldest driver that is accepted is
 * that of CUDA 12.0. Without one, and in a process that was forked after the driver was opened,
 * calls that want a device say NO_DEVICE and why; host memory works as ever.
 */
#ifndef CUARENA_DRIVER_H
#define CUARENA_DRIVER_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuarena_driver_info {
    size_t struct_size;
    int32_t version;      /* of CUDA: 12040 is 12.4 */
    int32_t device_count; /* at least 1 */
    char library[256];    /* the file that was opened, cut if it is longer */
} cuarena_driver_info_t;
CUARENA_API void cuarena_driver_info_init(cuarena_driver_info_t *info);
/* NO_DEVICE, with the reason in the message, if there is none. Cost: at the first call, what the
 * driver takes to start. */
CUARENA_API cuarena_status_t cuarena_driver_info(cuarena_driver_info_t *info);

/* Flags are 0 or 1. */
typedef struct cuarena_device_info {
    size_t struct_size;
    char name[96];
    int32_t compute_major; /* compute capability */
    int32_t compute_minor;
    int32_t multiprocessors;
    int32_t vmm;        /* backing=vmm works */
    int32_t fd;         /* with backing=vmm blocks can be exported */
    int32_t rdma;       /* with backing=vmm network cards can reach blocks */
    int32_t fabric;     /* with backing=vmm blocks can be exported to other hosts, if the
                         * system lets it */
    int32_t pools;      /* backing=async works */
    int32_t managed;    /* memory=managed works */
    int32_t concurrent; /* the CPU may touch managed memory while the device runs */
    uint64_t total_bytes;
    uint64_t free_bytes; /* now, in all processes */
} cuarena_device_info_t;
CUARENA_API void cuarena_device_info_init(cuarena_device_info_t *info);
/* BAD_ARGUMENT for an ordinal that the driver does not have; NO_DEVICE, OUT_OF_MEMORY, DRIVER,
 * LOST. Cost: the device's primary context, which is created for the call if nobody has it. */
CUARENA_API cuarena_status_t cuarena_device_info(int32_t device, cuarena_device_info_t *info);

#ifdef __cplusplus
}
#endif

#endif
