/*
 * Virtual memory: reservations of addresses, handles of memory, and mappings of whole handles.
 * Handles lie in one sparse file, those that can be exported in a file of their own; a mapping
 * shows the file at the reservation's alias, so that work may cross from one mapping to the next.
 */
#ifndef CUARENA_STANDIN_VMM_H
#define CUARENA_STANDIN_VMM_H

#include <stddef.h>

size_t sd_reservations_alive(void);
size_t sd_handles_alive(void);
/* Descriptors that were exported and are still open. */
size_t sd_descriptors_open(void);

#endif
