/*
 * Faults: calls that a test makes fail, or slow.
 */
#ifndef CUARENA_STANDIN_FAULT_H
#define CUARENA_STANDIN_FAULT_H

#include "abi.h"

#include <stdbool.h>
#include <stdint.h>

/* What this call of the entry point is to give: CUDA_SUCCESS is to do its
 * work. `countable`: rules for any call count it. Under the lock. */
CUresult sd_fault_take(const char *entry, bool countable);
/* How long this entry point is to take, in microseconds. Under the lock. */
uint64_t sd_fault_delay(const char *entry);
/* Returns when nobody holds calls of the entry point any more. Under the lock, which is given up
 * meanwhile. */
void sd_fault_hold(const char *entry);
/* Whether a real driver gives this error again on every later call. */
bool sd_error_sticks(CUresult error);

/* Lists as the environment has them: "cuMemMap:3:2,cuMemCreate:1+:2". */
bool sd_fault_parse(const char *list);
bool sd_delay_parse(const char *list);

#endif
