#include "support/fixture_streams.h"

#include <string.h>

const char *const stream_use_names[STREAM_USES] = {"no stream", "one stream", "many streams"};

/* ---- Streams without work ---------------------------------------------- */

static cuarena_stream_t numbered_stream(uint32_t number)
{
    return (cuarena_stream_t)(uintptr_t)(0x1000 + (uintptr_t)number * 64);
}

static void fill_nothing(const fixture_t *f, uint32_t stream, void *address, uint64_t bytes,
                         uint64_t seed)
{
    (void)f, (void)stream, (void)address, (void)bytes, (void)seed;
}

static void check_nothing(const fixture_t *f, uint32_t stream, const void *address, uint64_t bytes,
                          uint64_t seed)
{
    (void)f, (void)stream, (void)address, (void)bytes, (void)seed;
}

static void order_nothing(uint32_t earlier, uint32_t later)
{
    (void)earlier, (void)later;
}

static void hold_nothing(uint32_t stream)
{
    (void)stream;
}

static void let_nothing_go(void)
{
}

static uint64_t finish_nothing(void)
{
    return 0;
}

const stream_work_t no_work = {numbered_stream, fill_nothing,   check_nothing, order_nothing,
                               hold_nothing,    let_nothing_go, finish_nothing};

/* ---- Owners ------------------------------------------------------------ */

void fixture_use_streams(fixture_t *f, stream_use_t use, const stream_work_t *work)
{
    const uint32_t counts[STREAM_USES] = {0, 1, FIXTURE_STREAMS};
    f->stream_count = counts[use];
    f->work = f->stream_count != 0 ? work : NULL;
    if (f->work != NULL)
        f->work->let_go(); /* of what a test that failed left */
}

static uint32_t next_turn(fixture_t *f)
{
    uint32_t turn = f->turn;
    if (f->stream_count != 0)
        f->turn = (turn + 1) % f->stream_count;
    return turn;
}

/* CUARENA_NO_STREAM, with which each call is the plain one. */
static cuarena_stream_t stream_of(const fixture_t *f, uint32_t number)
{
    return f->work != NULL ? f->work->stream(number) : CUARENA_NO_STREAM;
}

static cuarena_block_t block_at(const fixture_t *f, const void *pointer)
{
    cuarena_block_t block = 0;
    if (f->work != NULL && pointer != NULL)
        (void)cuarena_block_of(f->arena, pointer, &block);
    return block;
}

static fixture_owner_t *find_owner(fixture_t *f, cuarena_block_t block)
{
    for (size_t i = 0; i < COUNT_OF(f->owners); i++)
        if (f->owners[i].block == block)
            return &f->owners[i];
    return NULL;
}

/* Blocks that have none are nobody's yet. */
static uint32_t owner_of(const fixture_t *f, cuarena_block_t block)
{
    for (size_t i = 0; block != 0 && i < COUNT_OF(f->owners); i++)
        if (f->owners[i].block == block)
            return f->owners[i].stream;
    return 0;
}

static void note_owner(fixture_t *f, cuarena_block_t block, uint32_t stream)
{
    if (f->work == NULL || block == 0)
        return;
    fixture_owner_t *owner = find_owner(f, 0);
    ck_assert_msg(owner != NULL, "more than %zu blocks on streams", COUNT_OF(f->owners));
    *owner = (fixture_owner_t){block, stream};
}

static void forget_owner(fixture_t *f, cuarena_block_t block)
{
    fixture_owner_t *owner = block != 0 ? find_owner(f, block) : NULL;
    if (owner != NULL)
        owner->block = 0;
}

/* Where a block is freed. */
static uint32_t freeing_stream(fixture_t *f, cuarena_block_t block)
{
    uint32_t owner = owner_of(f, block);
    if (f->stream_count < 2 || ++f->frees % 3 != 0)
        return owner;
    uint32_t other = next_turn(f);
    if (other != owner)
        f->work->order(owner, other);
    return other;
}

/* There the order of a stream does not bind who may touch the bytes. */
static bool cpu_touches(const fixture_t *f)
{
    return (f->kind->traits & (KIND_READABLE | KIND_DEVICE)) == KIND_READABLE;
}

/* ---- Calls ------------------------------------------------------------- */

cuarena_status_t try_take(fixture_t *f, uint64_t bytes, const cuarena_request_t *request,
                          void **out)
{
    uint32_t turn = next_turn(f);
    if (f->work == NULL)
        return request == NULL ? cuarena_alloc(f->arena, bytes, out)
                               : cuarena_alloc_with(f->arena, bytes, request, out);
    cuarena_status_t status = cuarena_alloc_on(f->arena, bytes, stream_of(f, turn), request, out);
    if (status == CUARENA_OK)
        note_owner(f, block_at(f, *out), turn);
    return status;
}

cuarena_status_t try_take_block(fixture_t *f, uint64_t bytes, cuarena_block_t *out)
{
    uint32_t turn = next_turn(f);
    if (f->work == NULL)
        return cuarena_block_alloc(f->arena, bytes, out);
    cuarena_status_t status =
        cuarena_block_alloc_on(f->arena, bytes, stream_of(f, turn), NULL, out);
    if (status == CUARENA_OK)
        note_owner(f, *out, turn);
    return status;
}

cuarena_status_t try_drop(fixture_t *f, void *pointer)
{
    if (f->work == NULL)
        return cuarena_free(f->arena, pointer);
    cuarena_block_t block = block_at(f, pointer);
    uint32_t stream = freeing_stream(f, block);
    cuarena_status_t status = cuarena_free_on(f->arena, pointer, stream_of(f, stream));
    if (status == CUARENA_OK)
        forget_owner(f, block);
    return status;
}

cuarena_status_t try_drop_block(fixture_t *f, cuarena_block_t block)
{
    if (f->work == NULL)
        return cuarena_block_free(f->arena, block);
    uint32_t stream = freeing_stream(f, block);
    cuarena_status_t status = cuarena_block_free_on(f->arena, block, stream_of(f, stream));
    if (status == CUARENA_OK)
        forget_owner(f, block);
    return status;
}

cuarena_status_t try_resize(fixture_t *f, void *pointer, uint64_t bytes, void **out)
{
    if (f->work == NULL)
        return cuarena_resize(f->arena, pointer, bytes, out);
    cuarena_block_t block = block_at(f, pointer);
    uint32_t owner = owner_of(f, block);
    cuarena_status_t status = cuarena_resize_on(f->arena, pointer, bytes, stream_of(f, owner), out);
    if (status == CUARENA_OK) {
        forget_owner(f, block);
        note_owner(f, block_at(f, *out), owner);
    }
    return status;
}

cuarena_status_t try_resize_block(fixture_t *f, cuarena_block_t block, uint64_t bytes)
{
    if (f->work == NULL)
        return cuarena_block_resize(f->arena, block, bytes);
    return cuarena_block_resize_on(f->arena, block, bytes, stream_of(f, owner_of(f, block)));
}

cuarena_status_t try_pin_block(fixture_t *f, cuarena_block_t block, void **out)
{
    if (f->work == NULL)
        return cuarena_block_pin(f->arena, block, out);
    return cuarena_block_pin_on(f->arena, block, stream_of(f, owner_of(f, block)), out);
}

cuarena_status_t try_unpin_block(fixture_t *f, cuarena_block_t block)
{
    if (f->work == NULL)
        return cuarena_block_unpin(f->arena, block);
    return cuarena_block_unpin_on(f->arena, block, stream_of(f, owner_of(f, block)));
}

cuarena_status_t try_compact(fixture_t *f, const cuarena_compact_options_t *options,
                             cuarena_relocation_fn callback, void *user)
{
    cuarena_compact_options_t on_stream;
    if (f->work == NULL)
        return cuarena_compact(f->arena, options, callback, user, NULL);
    if (cpu_touches(f)) /* it moves over what is idle */
        reclaim(f);
    cuarena_compact_options_init(&on_stream);
    if (options != NULL)
        on_stream = *options;
    on_stream.stream = stream_of(f, next_turn(f));
    return cuarena_compact(f->arena, &on_stream, callback, user, NULL);
}

/* ---- What streams change ----------------------------------------------- */

void reclaim(fixture_t *f)
{
    if (f->work != NULL)
        step_ok(f, cuarena_reclaim(f->arena, 1, NULL));
}

cuarena_status_t try_trim_all(fixture_t *f, uint64_t *given_back_out)
{
    uint64_t idle = 0;
    if (f->work != NULL) {
        step_ok(f, cuarena_trim(f->arena, 0, &idle));
        reclaim(f);
    }
    cuarena_status_t status = cuarena_trim(f->arena, 0, given_back_out);
    *given_back_out += idle;
    return status;
}

void finish_work(const fixture_t *f)
{
    if (f->work != NULL)
        expect_u64(f->work->finish(), 0);
}

void hold_stream(const fixture_t *f, const void *pointer)
{
    if (f->work != NULL && (f->kind->traits & KIND_DEVICE))
        f->work->hold(owner_of(f, block_at(f, pointer)));
}

void expect_waits(const fixture_t *f)
{
    if (f->work != NULL)
        f->work->let_go();
    cuarena_stats_t stats = stats_of(f);
    /* Blocks that are segments the driver orders. */
    bool steals =
        f->stream_count > 1 && (f->kind->traits & (KIND_DEVICE | KIND_EACH)) == KIND_DEVICE;
    if (f->work == NULL || !cpu_touches(f))
        expect_u64(stats.host_waits, 0);
    ck_assert_uint_ge(stats.steals, steals);
    ck_assert_uint_ge(stats.stream_waits, steals);
    if (!steals)
        expect_u64(stats.steals + stats.stream_waits, 0);
}

/* ---- Calls on a stream that the test names ------------------------------ */

void *alloc_on(fixture_t *f, uint64_t bytes, cuarena_stream_t stream)
{
    void *pointer = NULL;
    expect_ok(cuarena_alloc_on(f->arena, bytes, stream, NULL, &pointer));
    ck_assert_ptr_nonnull(pointer);
    expect_sound(f);
    return pointer;
}

void *alloc_all_on(fixture_t *f, cuarena_stream_t stream)
{
    return alloc_on(f, f->config.pool.value, stream);
}

void *use_anew(fixture_t *f, uint64_t bytes, cuarena_stream_t stream)
{
    void *pointer = alloc_on(f, bytes, stream);
    sim_write(&f->sim, stream, pointer, bytes, 51);
    expect_sound(f);
    free_on(f, pointer, stream);
    return pointer;
}

static void *pin_on(fixture_t *f, cuarena_block_t block, cuarena_stream_t stream)
{
    void *pointer = NULL;
    expect_ok(cuarena_block_pin_on(f->arena, block, stream, &pointer));
    return pointer;
}

static void unpin_on(fixture_t *f, cuarena_block_t block, cuarena_stream_t stream)
{
    expect_ok(cuarena_block_unpin_on(f->arena, block, stream));
    expect_sound(f);
}

void write_block_on(fixture_t *f, cuarena_block_t block, uint64_t bytes, cuarena_stream_t stream,
                    uint64_t seed)
{
    sim_write(&f->sim, stream, pin_on(f, block, stream), bytes, seed);
    unpin_on(f, block, stream);
}

void read_block_on(fixture_t *f, cuarena_block_t block, uint64_t bytes, cuarena_stream_t stream,
                   uint64_t seed)
{
    sim_read(&f->sim, stream, pin_on(f, block, stream), bytes, seed);
    unpin_on(f, block, stream);
}

cuarena_block_t alloc_block_on(fixture_t *f, uint64_t bytes, cuarena_stream_t stream)
{
    cuarena_block_t block = 0;
    expect_ok(cuarena_block_alloc_on(f->arena, bytes, stream, NULL, &block));
    expect_sound(f);
    return block;
}

void alloc_row_on(fixture_t *f, cuarena_block_t *blocks, size_t count, cuarena_stream_t stream)
{
    uint64_t bytes = f->config.pool.value / count;
    for (size_t i = 0; i < count; i++) {
        cuarena_block_t block = alloc_block_on(f, bytes, stream);
        size_t at = i;
        for (; at > 0 && address_of(f, blocks[at - 1]) > address_of(f, block); at--)
            blocks[at] = blocks[at - 1];
        blocks[at] = block;
    }
}

void free_on(fixture_t *f, void *pointer, cuarena_stream_t stream)
{
    expect_ok(cuarena_free_on(f->arena, pointer, stream));
    expect_sound(f);
}

cuarena_status_t try_on(fixture_t *f, uint64_t bytes, cuarena_stream_t stream, void **pointer_out)
{
    void *pointer = NULL;
    cuarena_status_t status = cuarena_alloc_on(f->arena, bytes, stream, NULL, &pointer);
    if (pointer_out != NULL)
        *pointer_out = pointer;
    if (status == CUARENA_OK)
        free_on(f, pointer, stream);
    expect_sound(f);
    return status;
}

cuarena_stats_t stream_stats_of(const fixture_t *f, cuarena_stream_t stream)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_stream_stats(f->arena, stream, &stats));
    return stats;
}

/* ---- Capture sessions, and what requests ask for ------------------------ */

cuarena_capture_t *begin_on(fixture_t *f, cuarena_stream_t stream)
{
    cuarena_capture_t *session = NULL;
    expect_ok(cuarena_capture_begin(f->arena, stream, &session));
    ck_assert_ptr_nonnull(session);
    expect_sound(f);
    return session;
}

void capture(fixture_t *f, cuarena_stream_t stream, bool on)
{
    sim_stream_of(&f->sim, stream)->capturing = on;
}

void end_of(fixture_t *f, cuarena_capture_t *session)
{
    expect_ok(cuarena_capture_end(f->arena, session));
    expect_sound(f);
}

void release_to(fixture_t *f, cuarena_capture_t **session, cuarena_stream_t stream)
{
    expect_ok(cuarena_capture_release(f->arena, session, stream));
    ck_assert_ptr_null(*session);
    expect_sound(f);
}

cuarena_stats_t session_stats_of(const fixture_t *f, cuarena_capture_t *session)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    expect_ok(cuarena_capture_stats(f->arena, session, &stats));
    return stats;
}

void compact_on(fixture_t *f, cuarena_stream_t stream, cuarena_compact_report_t *report)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    options.stream = stream;
    cuarena_compact_report_init(report);
    expect_ok(cuarena_compact(f->arena, &options, NULL, NULL, report));
    expect_sound(f);
}

cuarena_status_t try_ask(fixture_t *f, int ask, uint64_t bytes, cuarena_stream_t stream, void **out)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = (ask & ZEROED) != 0;
    request.dedicated = (ask & DEDICATED) != 0;
    cuarena_status_t status = cuarena_alloc_on(f->arena, bytes, stream, &request, out);
    expect_sound(f);
    return status;
}

void *ask_on(fixture_t *f, int ask, uint64_t bytes, cuarena_stream_t stream)
{
    void *p = NULL;
    expect_ok(try_ask(f, ask, bytes, stream, &p));
    ck_assert_ptr_nonnull(p);
    return p;
}

void reclaim_idle(fixture_t *f)
{
    expect_ok(cuarena_reclaim(f->arena, 0, NULL));
    expect_sound(f);
}

/* ---- Contents ---------------------------------------------------------- */

void fill_on_stream(const fixture_t *f, void *address, uint64_t bytes, uint64_t seed)
{
    if (bytes != 0)
        f->work->fill(f, owner_of(f, block_at(f, address)), address, bytes, seed);
}

void check_on_stream(const fixture_t *f, const void *address, uint64_t bytes, uint64_t seed)
{
    if (bytes != 0)
        f->work->check(f, owner_of(f, block_at(f, address)), address, bytes, seed);
}
