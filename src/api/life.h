/* What other owners of an arena's life ask of it. */
#ifndef CUAI_API_LIFE_H
#define CUAI_API_LIFE_H

#include <stdbool.h>

#include "cuarena/arena.h"

/* While an arena is shared, its life is its registry's: cuarena_destroy and cuarena_retire are
 * BUSY. REENTERED in a signal handler that interrupted a call of the arena. */
cuarena_status_t cuai_set_shared(cuarena_t *arena, bool shared);

#endif
