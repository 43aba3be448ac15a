/*
 * Facts about the operating system and its memory. `root`, without a slash at its end, stands
 * before every path that is read: "", but in tests.
 */
#ifndef CUAI_BASE_SYSTEM_H
#define CUAI_BASE_SYSTEM_H

#include "cuarena/base.h"

/* Bytes per page of the host. */
size_t cuai_system_page(void);

/* Milliseconds of a clock that only goes forward. */
uint64_t cuai_system_ms(void);

/*
 * How many bytes this process could have now without pushing others out: what the kernel says is
 * available, or less where a control group around the process leaves less. What a group could drop
 * from its file cache counts as left. DRIVER if the system does not say. Cost: reads a few small
 * files.
 */
cuarena_status_t cuai_system_available(const char *root, uint64_t *bytes_out);

/*
 * How many bytes the machine has in all, or less where the limit of a control group around the
 * process is less. DRIVER if the system does not say. Cost: reads a few small files.
 */
cuarena_status_t cuai_system_total(const char *root, uint64_t *bytes_out);

#endif
