/*
 * A stretch of calls, again and again, each time with another call of the driver or of the host's
 * memory failing: for programs that look inside.
 */
#ifndef CUARENA_TEST_EACH_FAILURE_H
#define CUARENA_TEST_EACH_FAILURE_H

#include <stdbool.h>

#include "cuarena/base.h"
#include "memory/cuda/abi.h"

/* Ends all that it began, whatever fails. */
typedef cuarena_status_t (*life_t)(void);

/* Each call of the driver fails once with `result`. A life says OK, or what the result may come to,
 * and leaves nothing; without a failure it is OK. How many told the failure: that of what ends
 * something is survived. Wants the stand-in. */
int each_call_fails(life_t life, cuai_cu_result_t result,
                    bool (*may_be)(cuarena_status_t status, cuai_cu_result_t result));
/* Each allocation of host memory is refused once: OUT_OF_MEMORY, or OK where the library does
 * without; at least one is told. */
void each_allocation_fails(life_t life);

#endif
