#include "heap/counter.h"

void cuai_peak_counter_raise(cuai_peak_counter_t *counter)
{
    CUAI_ASSERT(counter->below < 0);
    counter->peak -= (uint64_t)counter->below;
    counter->below = 0;
}
