/*
 * A place: one context of one device, while somebody uses it.
 *
 * There is one place per context, whoever opened it: arenas of one device share it, with its facts
 * and its idle events. A primary context is retained for as long as the place is open; any other is
 * the caller's, and outlives the place.
 *
 * Calls of the driver are made between enter and leave:
 *
 *   cuai_visit_t visit;
 *   cuarena_status_t status = cuai_place_enter(place, &visit);
 *   if (status != CUARENA_OK)
 *       return status;
 *   result = cuai_cu(place->cuda)->cuMemAlloc(&pointer, bytes);
 *   cuai_place_leave(&visit);
 *   if (result != CUAI_CUDA_SUCCESS)
 *       return cuai_place_fail(place, result, "cuMemAlloc", "%zu bytes", ...);
 *
 * In a visit the context is current and the thread is in relaxed capture mode; afterwards the
 * thread has the context that it had, or none, and its own mode.
 *
 * A place is lost after a sticky error of the driver: enter says LOST from then on, so that the
 * driver is not called for it any more, and functions that end things forget them.
 */
#ifndef CUAI_MEMORY_CUDA_PLACE_H
#define CUAI_MEMORY_CUDA_PLACE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/lock.h"
#include "cuarena/arena.h"
#include "memory/cuda/driver.h"

/* What the device can do, as far as the library cares. It can if the device has the facility and
 * the driver has all calls that it needs. */
typedef struct cuai_facts {
    char name[96];
    uint64_t total_bytes;
    int major; /* compute capability */
    int minor;
    int multiprocessors;
    bool vmm;        /* physical handles mapped into reserved addresses */
    bool fd;         /* handles exported as file descriptors */
    bool rdma;       /* handles that network cards reach */
    bool fabric;     /* handles exported to other hosts; may still be refused */
    bool pools;      /* stream-ordered allocation */
    bool managed;    /* managed memory */
    bool concurrent; /* the CPU may touch managed memory while the device runs */
    bool pageable;   /* the device reaches any memory of the process */
    bool maps_host;  /* pinned memory can be mapped */
    bool host_same;  /* pinned memory is mapped at the address that the CPU uses */
} cuai_facts_t;

struct cuai_event;
struct cuai_kernels;

typedef struct cuai_place {
    const cuai_cuda_t *cuda;
    cuai_cu_context_t context;
    unsigned long long context_id; /* no other context ever has it */
    cuai_cu_device_t device;       /* ordinal */
    bool primary;                  /* retained by the library */
    cuai_facts_t facts;
    _Atomic(cuai_cu_result_t) lost; /* the first sticky error; 0: none */

    cuai_lock_t lock;        /* guards the events */
    struct cuai_event *idle; /* events without a use: see events.h */
    size_t event_count;      /* idle or not */

    cuai_lock_t loading;          /* guards the kernels, also while the driver compiles them */
    struct cuai_kernels *kernels; /* NULL: not loaded; see kernels.h */

    size_t users;            /* guarded, like `next`, by the lock of all places */
    struct cuai_place *next; /* in the list of all places */
} cuai_place_t;

/*
 * Opens the place that a configuration names, and the driver before: of the context if there is
 * one, else of the primary context of the ordinal. BAD_ARGUMENT for an ordinal that the driver does
 * not have, a context of another device than the ordinal says or one that the driver refuses;
 * NO_DEVICE, OUT_OF_MEMORY, DRIVER. The first call creates the context.
 */
cuarena_status_t cuai_place_open(const cuarena_config_t *config, cuai_place_t **out);
/* Opens the place of a device's primary context. */
cuarena_status_t cuai_place_open_ordinal(int32_t ordinal, cuai_place_t **out);
/* Opens the place of a context that the driver has just named. */
cuarena_status_t cuai_place_open_context(cuai_cu_context_t context, cuai_place_t **out);
/* The last close ends the place: idle events are destroyed, kernels unloaded, a primary context
 * released. NULL is fine. */
void cuai_place_close(cuai_place_t *place);

/* What lasts from enter to leave; on the stack of the caller. */
typedef struct cuai_visit {
    cuai_place_t *place;
    cuai_cu_capture_mode_t mode; /* the thread's own */
    bool pushed;
} cuai_visit_t;

/* LOST, with the error that made it so; NO_DEVICE in a forked process; DRIVER if the context cannot
 * be made current. Nothing changed then. Visits of the same place may nest. Cost: three calls of
 * the driver, five where another context is current. */
cuarena_status_t cuai_place_enter(cuai_place_t *place, cuai_visit_t *visit);
/* As cuai_place_enter, to end something: false, with the last error as it was, if the context is
 * lost or the process was forked. */
bool cuai_place_enter_to_end(cuai_place_t *place, cuai_visit_t *visit);
/* Ends a visit: the context that was current before is so again. Keeps the last error. */
void cuai_place_leave(cuai_visit_t *visit);

/* As cuai_cuda_fail; a sticky result loses the place. Call it after leave or before. */
cuarena_status_t cuai_place_fail(cuai_place_t *place, cuai_cu_result_t result, const char *call,
                                 const char *format, ...) CUAI_NOINLINE CUAI_PRINTF(4, 5);
/* The status of a result: OK of a success, else as cuai_place_fail. */
#define CUAI_PLACE_STATUS(place, result, call, ...)                                                \
    ((result) == CUAI_CUDA_SUCCESS ? CUARENA_OK : cuai_place_fail(place, result, call, __VA_ARGS__))
/* Loses the place if the result is sticky. */
void cuai_place_lose(cuai_place_t *place, cuai_cu_result_t result);
/* Notes the result of a call that must not fail, such as a free: a sticky one loses the place, any
 * other failure is logged. */
void cuai_place_note(cuai_place_t *place, cuai_cu_result_t result, const char *call);
/* OK, LOST with the error that made it so, or NO_DEVICE in a forked process. Does not call the
 * driver. */
cuarena_status_t cuai_place_check(cuai_place_t *place);

/* Facts of a device by ordinal, which need no context. */
cuarena_status_t cuai_facts_of(const cuai_cuda_t *cuda, cuai_cu_device_t device,
                               cuai_facts_t *facts_out);

#endif
