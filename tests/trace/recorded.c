#include "recorded.h"

trace_file_t file;

void read_back(const char *path)
{
    trace_file_free(&file);
    file = trace_file_read(path);
}

void end_trace(const fixture_t *f, const char *path)
{
    expect_ok(cuarena_trace_end(f->arena));
    read_back(path);
}

fixture_t *traced(const arena_kind_t *kind, const char *path)
{
    fixture_t *f = opened(kind, POOL);
    expect_ok(cuarena_trace_begin(f->arena, path));
    return f;
}
