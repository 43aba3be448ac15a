#include "growing.h"

#define LOOKS 32

fixture_t *opened_growing(int32_t steal)
{
    static const cuarena_stream_t all[] = {A, B, C};
    fixture_t *f = new_fixture(fixture_close);
    fixture_prepare(f, SIMULATED, POOL);
    f->config.steal = steal;
    f->config.preset = CUARENA_PRESET_GROW;
    f->config.limit = (cuarena_amount_t){.value = 4 * POOL};
    fixture_create(f);
    for (size_t i = 0; i < COUNT_OF(all); i++)
        free_ok(f, alloc_on(f, 256, all[i]));
    sim_calls(&f->sim);
    return f;
}

void free_use(fixture_t *f, uint64_t bytes, cuarena_stream_t stream)
{
    static uint64_t seed = 1;
    void *p = alloc_on(f, bytes, stream);
    sim_write(&f->sim, stream, p, bytes, seed++);
    free_on(f, p, stream);
}

void work_on(fixture_t *f, cuarena_stream_t one, cuarena_stream_t other, bool done)
{
    for (int i = 0; i < LOOKS * 8; i++) {
        free_use(f, PAGE, one);
        free_use(f, PAGE, other);
        if (done)
            sim_run_all(&f->sim);
    }
}
