/*
 * The addresses of the process, of which there are many but not without number: 2^47, or what
 * RLIMIT_AS says.
 */
#ifndef CUAI_BASE_ADDRESSES_H
#define CUAI_BASE_ADDRESSES_H

#include <stdint.h>

#include "cuarena/base.h"

/*
 * How many of `wanted` to set aside where `least` are needed and the others are for what may never
 * come: of these a sixteenth, at most, of what is left beside a quarter of all. So however often
 * this is asked, that quarter is there for what is needed. A multiple of `granularity`, as `least`
 * is. Cost: reading one small file.
 */
uint64_t cuai_addresses_between(uint64_t least, uint64_t wanted, uint64_t granularity);

/* OUT_OF_MEMORY: the system refused to set `bytes` of addresses aside. Says how many the process
 * may have, and has. */
cuarena_status_t cuai_fail_addresses(uint64_t bytes);

#endif
