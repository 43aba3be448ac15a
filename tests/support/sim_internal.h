/* What the files of the simulated streams share. The sim's lock is held. */
#ifndef CUARENA_TEST_SIM_INTERNAL_H
#define CUARENA_TEST_SIM_INTERNAL_H

#include "sim_streams.h"

#define SIM_HOST 0u /* its number among the streams */

/* Keeps the first in words. */
void sim_fault(sim_t *sim, const char *what, uint64_t a, uint64_t b);
/* Whether this call is one that sim_fail named. */
bool sim_fails_now(sim_t *sim, sim_op_t op);

/* ---- Clocks (sim_clocks.c) --------------------------------------------- */

/* What comes before `from` comes before `into` too. */
void sim_clock_join(sim_clock_t *into, const sim_clock_t *from);
sim_clock_t *sim_host_clock(sim_t *sim);
/* Whether what the stream, or the host, does next comes behind that anyway. */
bool sim_knows(sim_t *sim, uint32_t stream, const sim_clock_t *clock);
/* The stream's next moment; what the host knows comes before it. */
void sim_tick(sim_t *sim, uint32_t stream);
/* The segment around an address, or NULL. */
sim_segment_t *sim_segment_at(sim_t *sim, uint64_t address);
/* An access of the stream at its moment: a fault if another one, of which one is a write, comes
 * neither before nor after it. */
void sim_touch(sim_t *sim, uint32_t stream, const void *at, uint64_t bytes, bool writes);

#endif
