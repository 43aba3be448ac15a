/*
 * The memories that cuai_memory_open chooses from. Each fills the table and the `user` of `out`;
 * see memory/memory.h.
 */
#ifndef CUAI_MEMORY_KINDS_H
#define CUAI_MEMORY_KINDS_H

#include "memory/memory.h"

/* Pages of this process, committed and given back 64 KiB at a time. */
cuarena_status_t cuai_pageable_open(const cuarena_config_t *config, cuai_memory_t *out);
/* Addresses that nothing stands behind, so that no byte can be read or written. */
cuarena_status_t cuai_none_open(const cuarena_config_t *config, cuai_memory_t *out);
/* The caller's own bytes: one segment. */
cuarena_status_t cuai_bytes_open(const cuarena_config_t *config, cuai_memory_t *out);
/* Memory of a device, with the backing that is asked for. */
cuarena_status_t cuai_device_open(const cuarena_config_t *config, cuai_memory_t *out);
/* Memory that device and CPU share by migration. */
cuarena_status_t cuai_managed_open(const cuarena_config_t *config, cuai_memory_t *out);
/* Pages of the host that stay where they are, for a device. */
cuarena_status_t cuai_pinned_open(const cuarena_config_t *config, cuai_memory_t *out);
/* Memory that the caller's own functions give. */
cuarena_status_t cuai_custom_open(const cuarena_config_t *config, cuai_memory_t *out);

/* The grow and shrink of memories whose segments have all of their bytes already. */
cuarena_status_t cuai_length_grow(void *user, cuarena_memory_segment_t *segment,
                                  uint64_t new_bytes);
void cuai_length_shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes);

#endif
