/* What the files of the model share. */
#ifndef CUARENA_TEST_HEAP_MODEL_INTERNAL_H
#define CUARENA_TEST_HEAP_MODEL_INTERNAL_H

#include "heap_model.h"

#include <inttypes.h>

#define MODEL_PRINTF __attribute__((format(printf, 2, 3)))

/* Remembers a call, to be printed if the model fails. */
void model_note(model_t *model, const char *format, ...) MODEL_PRINTF;
_Noreturn void model_fail(const model_t *model, const char *format, ...) MODEL_PRINTF;
void model_want(const model_t *model, cuarena_status_t want, cuarena_status_t got);
/* As model_want, for a call that needs a record: where those may be used up
 * it may be refused. True if it was done. */
bool model_done(const model_t *model, cuarena_status_t want, cuarena_status_t got);
/* Fails for a reason that is not NULL. */
void model_accept(const model_t *model, const char *reason);

/* Any block's index in the reference, or REF_NONE. */
size_t model_any_block(model_t *model);
uint32_t model_any_freelist(model_t *model);
uint64_t model_any_size(model_t *model);
uint64_t model_any_alignment(model_t *model);

/* One call of a kind. */
void model_step_blocks(model_t *model);
void model_step_segments(model_t *model);
void model_step_freelists(model_t *model);
void model_step_plans(model_t *model);
void model_step_looks(model_t *model);
void model_drop_plans(model_t *model);

#endif
