/* What went wrong in the simulated streams, and what is made to. */
#include "sim_internal.h"

#include <inttypes.h>
#include <stdio.h>

void sim_fault(sim_t *sim, const char *what, uint64_t a, uint64_t b)
{
    if (sim->faults++ == 0)
        snprintf(sim->fault, sizeof sim->fault, "%s (%#llx, %#llx)", what, (unsigned long long)a,
                 (unsigned long long)b);
}

bool sim_fails_now(sim_t *sim, sim_op_t op)
{
    if (sim->fail_in == 0 || (sim->fail_op >= 0 && sim->fail_op != (int)op))
        return false;
    if (sim->fail_in > 1) {
        sim->fail_in--;
        return false;
    }
    if (sim->fail_often > 1)
        sim->fail_often--;
    else
        sim->fail_in = 0;
    return true;
}

void sim_fail(sim_t *sim, int32_t op, uint64_t in, cuarena_status_t status)
{
    sim->fail_op = op;
    sim->fail_in = in;
    sim->fail_often = 1;
    sim->fail_with = status;
    sim->fail_done = 0;
}

uint64_t sim_calls(sim_t *sim)
{
    uint64_t calls = 0;
    pthread_mutex_lock(&sim->lock);
    for (int op = 0; op < SIM_OPS; op++) {
        calls += sim->counts[op];
        sim->counts[op] = 0;
    }
    pthread_mutex_unlock(&sim->lock);
    return calls;
}
