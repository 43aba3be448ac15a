#define _GNU_SOURCE
#include "base/addresses.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/system.h"

/* What every 64-bit system has for a process. */
#define ALL (UINT64_C(1) << 47)

/* A quarter of the addresses is never set aside ahead, and of the rest at most a sixteenth at once.
 */
#define KEPT_SHARE 4
#define SPARE_SHARE 16

static bool is_limited(uint64_t *most_out)
{
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
                   limit.rlim_cur < ALL;
    *most_out = limited ? limit.rlim_cur : ALL;
    return limited;
}

/* How many bytes of addresses the process uses; 0 where the system does not say. */
static uint64_t mapped_bytes(void)
{
    uint64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%" SCNu64, &pages) != 1)
        pages = 0;
    (void)fclose(file);
    return pages * cuai_system_page();
}

uint64_t cuai_addresses_between(uint64_t least, uint64_t wanted, uint64_t granularity)
{
    CUAI_ASSERT(least <= wanted && cuai_is_aligned(least, granularity));
    uint64_t most;
    (void)is_limited(&most);
    uint64_t gone = mapped_bytes() + most / KEPT_SHARE;
    uint64_t spare = gone < most ? (most - gone) / SPARE_SHARE : 0;
    if (wanted - least <= spare)
        return wanted;
    return least + cuai_align_down(spare, granularity);
}

cuarena_status_t cuai_fail_addresses(uint64_t bytes)
{
    CUAI_ASSERT(bytes != 0);
    uint64_t most;
    const char *whose = is_limited(&most) ? "RLIMIT_AS" : "the system";
    cuai_fail_bytes(CUARENA_OUT_OF_MEMORY, bytes, most, 0, 0, 0,
                    "no %" PRIu64 " bytes of addresses are left: the process has %" PRIu64
                    " of the %" PRIu64 " that %s allows it, or too many mappings",
                    bytes, mapped_bytes(), most, whose);
    cuai_error_code(ENOMEM);
    return CUARENA_OUT_OF_MEMORY;
}
