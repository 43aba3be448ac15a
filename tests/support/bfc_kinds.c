#include "support/bfc_kinds.h"

#include <string.h>

#define BFC CUARENA_PRESET_BFC
#define WHOLE (KIND_READABLE | KIND_GROWS | KIND_DEDICATES | KIND_GIVES_WHOLE)
#define INNER (KIND_READABLE | KIND_GROWS | KIND_DEDICATES | KIND_GIVES_BACK)

const arena_kind_t bfc_kinds[BFC_KINDS] = {
#if defined(CUARENA_TEST_CUDA)
    CUDA_KINDS_OF("bfc", BFC, INNER, WHOLE),
#else
    {"bfc-pageable", BFC, CUARENA_MEMORY_PAGEABLE, INNER, 0, 0},
    {"bfc-none", BFC, CUARENA_MEMORY_NONE, INNER & ~KIND_READABLE, 0, 0},
    {"bfc-custom", BFC, CUARENA_MEMORY_CUSTOM, INNER, 0, 0},
    {"bfc-custom-plain", BFC, CUARENA_MEMORY_CUSTOM, WHOLE, 0, 0},
#endif
};

/* ---- Fixtures ---------------------------------------------------------- */

fixture_t *bfc_opened(int kind, const char *options)
{
    fixture_t *f = prepared(&bfc_kinds[kind], MIB(64));
    f->config.limit = (cuarena_amount_t){CUARENA_AMOUNT_AUTO, 0, 0};
    if (bfc_kinds[kind].backing == CUARENA_BACKING_VMM)
        f->config.handle_bytes = MIB(2);
    if (bfc_kinds[kind].memory == CUARENA_MEMORY_CUSTOM &&
        (bfc_kinds[kind].traits & KIND_GIVES_WHOLE) != 0)
        test_memory_make_plain(&f->memory);
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
