/*
 * The addresses of the process: there are 2^47, or as many as RLIMIT_AS allows.
 */
#ifndef CUAI_BASE_ADDRESSES_H
#define CUAI_BASE_ADDRESSES_H

#include <stdint.h>

#include "cuarena/base.h"

/*
 * How many of `wanted` addresses to set aside if `least` are needed now and the others may never
 * be. These others are at most a sixteenth of what is left beside a quarter of all addresses, so
 * that quarter stays for what is needed however often this is called. The answer is a multiple of
 * `granularity`, as `least` is. Reads one small file.
 */
uint64_t cuai_addresses_between(uint64_t least, uint64_t wanted, uint64_t granularity);

/* OUT_OF_MEMORY because the system refused to set `bytes` of addresses aside; the last error says
 * how many the process may have, and has. */
cuarena_status_t cuai_fail_addresses(uint64_t bytes);

#endif
