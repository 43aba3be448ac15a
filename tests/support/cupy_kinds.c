#include "support/cupy_kinds.h"

#include <string.h>

#if defined(CUARENA_TEST_CUDA)

#include "support/cuda_expect.h"
#include "support/cuda_kinds.h"
#include "support/cuda_work.h"

static const arena_kind_t *const kinds[CUPY_KINDS] = {
    KIND_CUPY_DEFAULT,
    &cuda_kinds[CUDA_CUPY_VMM],
    &cuda_kinds[CUDA_CUPY_MALLOC],
    &cuda_kinds[CUDA_CUPY_ASYNC],
    &cuda_kinds[CUDA_CUPY_MANAGED],
    &cuda_kinds[CUDA_CUPY_PINNED],
};

static void prepare(cupy_pool_t *p)
{
    p->f.config.device_only = p->f.kind->memory != CUARENA_MEMORY_DEVICE;
}

cuarena_stream_t cupy_stream(const cupy_pool_t *p, uint32_t number)
{
    (void)p;
    return cuda_work.stream(number);
}

static void write_on(cupy_pool_t *p, uint32_t number, void *at, uint64_t bytes)
{
    cuda_work.fill(&p->f, number, at, bytes, number + 1);
}

void cupy_finish(cupy_pool_t *p)
{
    (void)p;
    expect_u64(cuda_work.finish(), 0);
}

bool cupy_has(cupy_pool_t *p, uint64_t units)
{
    (void)p, (void)units;
    return false;
}

static void expect_clean_driver(void)
{
    expect_no_report();
}

int cupy_main(Suite *suite)
{
    return cuda_kinds_main(suite);
}

#else

static const arena_kind_t *const kinds[CUPY_KINDS] = {&arena_kinds[CUPY_NONE], KIND_CUPY_SIMULATED};

static void prepare(cupy_pool_t *p)
{
    p->f.config.handle_bytes = cupy_is_simulated(p) ? 0 : 512;
    if (cupy_is_simulated(p))
        sim_stream_make(&p->f.sim, sim_handle(FIXTURE_STREAMS)); /* it has the others */
}

cuarena_stream_t cupy_stream(const cupy_pool_t *p, uint32_t number)
{
    (void)p;
    return sim_handle(number + 1);
}

static void write_on(cupy_pool_t *p, uint32_t number, void *at, uint64_t bytes)
{
    if (cupy_is_simulated(p))
        sim_write(&p->f.sim, cupy_stream(p, number), at, bytes, number + 1);
}

void cupy_finish(cupy_pool_t *p)
{
    if (cupy_is_simulated(p))
        sim_sync_all(&p->f.sim);
}

bool cupy_has(cupy_pool_t *p, uint64_t units)
{
    p->f.sim.most_bytes = units * p->unit;
    return cupy_is_simulated(p);
}

static void expect_clean_driver(void)
{
}

int cupy_main(Suite *suite)
{
    return suite_main(suite);
}

#endif

bool cupy_is_simulated(const cupy_pool_t *p)
{
    return (p->f.kind->traits & KIND_SIMULATED) != 0;
}

/* ---- Life -------------------------------------------------------------- */

static cupy_pool_t pool;

/* Nothing lives in it; nothing was used out of order. */
static void end_pool(void)
{
    cupy_finish(&pool);
    fixture_close(&pool.f);
    expect_clean_driver();
}

cupy_pool_t *cupy_opened(int kind, const char *options)
{
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    fixture_prepare(&pool.f, kinds[kind], MIB(64));
    pool.f.config.limit = (cuarena_amount_t){CUARENA_AMOUNT_AUTO, 0, 0};
    prepare(&pool);
    expect_ok(cuarena_config_parse(&pool.f.config, options));
    fixture_create(&pool.f);
    expect_ok(cuarena_properties(pool.f.arena, &properties));
    pool.unit = properties.granularity;
    after_test(end_pool);
    return &pool;
}

/* ---- Calls ------------------------------------------------------------- */

cuarena_status_t cupy_try(cupy_pool_t *p, uint64_t units, uint32_t number, void **pointer_out)
{
    uint64_t bytes = units * p->unit;
    cuarena_status_t status =
        cuarena_alloc_on(p->f.arena, bytes, cupy_stream(p, number), NULL, pointer_out);
    expect_sound(&p->f);
    if (status == CUARENA_OK && bytes != 0)
        write_on(p, number, *pointer_out, bytes);
    return status;
}

void *cupy_malloc(cupy_pool_t *p, uint64_t units, uint32_t number)
{
    void *pointer = NULL;
    expect_ok(cupy_try(p, units, number, &pointer));
    return pointer;
}

void cupy_free(cupy_pool_t *p, void *pointer, uint32_t number)
{
    step_ok(&p->f, cuarena_free_on(p->f.arena, pointer, cupy_stream(p, number)));
}

uint64_t cupy_free_all(cupy_pool_t *p)
{
    uint64_t given = UINT64_MAX;
    step_ok(&p->f, cuarena_trim_on(p->f.arena, CUARENA_NO_STREAM, 0, &given));
    return given;
}

void cupy_set_limit(cupy_pool_t *p, uint64_t units)
{
    step_ok(&p->f, cuarena_set_limit(p->f.arena, CUARENA_LIMIT_RESERVED,
                                     amount_of_bytes(units * p->unit), NULL));
}

/* ---- Rows -------------------------------------------------------------- */

static cuarena_stream_t numbered_stream(uint32_t number)
{
    return cupy_stream(&pool, number);
}

static void write_whole(uint32_t number, void *at, uint64_t bytes)
{
    if (bytes % pool.unit == 0)
        write_on(&pool, number, at, bytes);
}

static void finish_pool(void)
{
    cupy_finish(&pool);
}

void cupy_run(cupy_pool_t *p, const char *name, const char *steps)
{
    arena_ground_t ground = {&p->f, p->unit, numbered_stream, write_whole, finish_pool};
    arena_run(&ground, name, steps);
}

/* ---- Figures ----------------------------------------------------------- */

static void expect_at(const char *what, uint64_t got, uint64_t want, const char *file, int line)
{
    if (got != want)
        _ck_assert_failed(file, line, what, "%s: got %llu, expected %llu", what,
                          (unsigned long long)got, (unsigned long long)want);
    mark_point();
}

void expect_figures_at(const cupy_pool_t *p, uint64_t used, uint64_t total, uint64_t blocks,
                       const char *file, int line)
{
    cuarena_stats_t stats = stats_of(&p->f);
    expect_at("used_bytes", stats.live_bytes, used * p->unit, file, line);
    expect_at("total_bytes", stats.reserved_bytes, total * p->unit, file, line);
    expect_at("free_bytes", stats.free_bytes, (total - used) * p->unit, file, line);
    expect_at("n_free_blocks", stats.free_ranges, blocks, file, line);
    expect_at("ranges of a walk", inspection_of(&p->f, CUARENA_REGION_ALL).ranges, blocks, file,
              line);
}

/* ---- Cases ------------------------------------------------------------- */

void add_per_cupy_kind(Suite *suite, const char *name, const TTest *const *tests)
{
    TCase *tcase = new_case(suite, name);
    for (; *tests != NULL; tests++)
        tcase_add_loop_test(tcase, *tests, 0, CUPY_KINDS);
}
