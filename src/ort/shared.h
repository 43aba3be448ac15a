/* Shared arenas by memory and device, as a host that shrinks them names them. */
#ifndef CUAI_ORT_SHARED_H
#define CUAI_ORT_SHARED_H

#include <stdbool.h>

#include "cuarena/shared.h"

/* The ordinal of memory without one. */
#define CUAI_NO_ORDINAL (-1)

/* Whether there is one. No lock. */
bool cuai_shared_is_there(int32_t memory, int32_t device);
/* Trims it to what lives, without being one of its holders; adds what was given back. OK if there
 * is none. It does not end meanwhile. No lock. */
cuarena_status_t cuai_shared_trim(int32_t memory, int32_t device, uint64_t *given_back);

#endif
