/*
 * A configuration as a caller hands it over: what is in it, and whether an arena can be made of it.
 */
#ifndef CUAI_API_CONFIG_H
#define CUAI_API_CONFIG_H

#include "cuarena/arena.h"

/*
 * Copies the members that the caller knows into `full_out`, with the defaults of the others, and
 * checks each by itself and beside the others. BAD_ARGUMENT and UNSUPPORTED name the key, its value
 * and what is accepted. `ops` and `bytes` are the memory's to check.
 */
cuarena_status_t cuai_config_check(const cuarena_config_t *config, cuarena_config_t *full_out);
/* The copy alone, of a config whose options may not fit each other yet; BAD_ARGUMENT for a
 * struct_size of no release. */
cuarena_status_t cuai_config_copy(const cuarena_config_t *config, cuarena_config_t *full_out);
/* Fills in what is left to the preset: from there on nothing asks for its name (presets.c). */
void cuai_config_apply_preset(cuarena_config_t *config);
/* The part about several options, of a whole config (config_rules.c). */
cuarena_status_t cuai_check_together(const cuarena_config_t *full);

#endif
