#include "support/bfc_kinds.h"

#include <string.h>

const arena_kind_t *const bfc_kinds[BFC_KINDS] = {
#if defined(CUARENA_TEST_CUDA)
    &cuda_kinds[CUDA_BFC_VMM],     &cuda_kinds[CUDA_BFC_MALLOC], &cuda_kinds[CUDA_BFC_ASYNC],
    &cuda_kinds[CUDA_BFC_MANAGED], &cuda_kinds[CUDA_BFC_PINNED],
#else
    &arena_kinds[BFC_PAGEABLE],
    &arena_kinds[BFC_NONE],
    &arena_kinds[BFC_CUSTOM],
    KIND_BFC_PLAIN,
#endif
};

/* ---- Fixtures ---------------------------------------------------------- */

fixture_t *bfc_opened(int kind, const char *options)
{
    fixture_t *f = prepared(bfc_kinds[kind], MIB(64));
    f->config.limit = (cuarena_amount_t){CUARENA_AMOUNT_AUTO, 0, 0};
    if (f->kind->backing == CUARENA_BACKING_VMM)
        f->config.handle_bytes = MIB(2);
    expect_ok(cuarena_config_parse(&f->config, options));
    fixture_create(f);
    return f;
}

/* In whole pages of the memory. */
uint64_t up(const fixture_t *f, uint64_t bytes)
{
    cuarena_properties_t properties;
    cuarena_properties_init(&properties);
    expect_ok(cuarena_properties(f->arena, &properties));
    return (bytes + properties.granularity - 1) / properties.granularity * properties.granularity;
}

uint64_t growths(const fixture_t *f)
{
    return stats_of(f).grows;
}

cuarena_ort_stats_t figures(const fixture_t *f)
{
    return ort_stats_of(f->arena);
}

void shrink(fixture_t *f)
{
    step_ok(f, cuarena_trim(f->arena, 0, NULL));
}

void bfc_run(int kind, const arena_row_t *row)
{
    arena_ground_t ground = {.f = bfc_opened(kind, row->options)};
    arena_run(&ground, row->name, row->steps);
}

void expect_refused_config(const char *key, const char *value, const char *accepted)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_status(cuarena_config_set(&config, key, value), CUARENA_BAD_ARGUMENT);
    const char *message = last_error().message;
    ck_assert_msg(strstr(message, key) != NULL && strstr(message, value) != NULL &&
                      strstr(message, accepted) != NULL,
                  "%s=%s: '%s' does not name key, value and '%s'", key, value, message, accepted);
}

/* ---- Cases ------------------------------------------------------------- */

void add_per_bfc_kind(Suite *suite, const char *name, const TTest *const *tests)
{
    TCase *tcase = new_case(suite, name);
    for (; *tests != NULL; tests++)
        tcase_add_loop_test(tcase, *tests, 0, BFC_KINDS);
}

void add_bfc_rows(Suite *suite, const char *name, const TTest *test, size_t rows)
{
    tcase_add_loop_test(new_case(suite, name), test, 0, BFC_KINDS * (int)rows);
}
