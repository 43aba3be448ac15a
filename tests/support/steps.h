/*
 * The steps of running out as text: how often each was tried and served, and what the log said of
 * each.
 */
#ifndef CUARENA_TEST_STEPS_H
#define CUARENA_TEST_STEPS_H

#include <cuarena.h>

/* "growth 1/1, trim 2/0": tried and served, of those that were tried. Valid until the next call. */
const char *steps_of(cuarena_t *arena);

/* From now on the log's lines about steps are kept, none before. */
void steps_listen(void);

/* What was kept, "growth: nothing, trim: allocated", and no more from now
 * on. */
const char *steps_heard(void);

#endif
