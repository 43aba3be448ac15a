/*
 * Pools: memory that is allocated and freed at points of streams. A chunk that was freed is given
 * out again to the same stream at once, to another when it comes after the free, or is made to.
 */
#ifndef CUARENA_STANDIN_POOL_H
#define CUARENA_STANDIN_POOL_H

#include "space.h"

/* The host frees a chunk that nobody uses. */
void sd_pool_free_now(sd_area_t *area);
/* The handle of a pool as a number; 0 for NULL. */
uint64_t sd_pool_handle(const struct sd_pool *pool);
/* The host waited for something: pools give back what is above their
 * threshold. */
void sd_pools_idle(void);

#endif
