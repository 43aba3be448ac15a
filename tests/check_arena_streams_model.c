/*
 * Random programs on several streams. Their kernels write and check patterns
 * in live blocks; the program orders its own streams where it must, and the
 * arena all the rest: no access is ever unordered, whatever order the streams
 * run in. The same programs with one wait of the arena left out are caught.
 */
#include "support/scale.h"
#include "support/stream_rig.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define POOL KIB(128)
#define LIVE 24
#define STREAMS 4

typedef struct live {
    void *pointer; /* of a pointer */
    cuarena_block_t block;
    uint64_t bytes;
    uint64_t seed; /* its contents; 0: never written */
    uint32_t last; /* index of the stream that used it last */
    uint32_t used; /* streams that may be using it: bits */
} live_t;

typedef struct model {
    rig_t rig;
    random_state_t random;
    live_t live[LIVE];
    cuarena_stream_t streams[STREAMS];
    uint32_t made; /* handles so far */
    uint64_t seeds;
    uint64_t served;
    bool stop; /* a fault was seen */
} model_t;

static uint64_t any(model_t *m, uint64_t bound)
{
    return random_below(&m->random, bound);
}

static cuarena_stream_t new_stream(model_t *m)
{
    cuarena_stream_t s = sim_handle(100 + m->made++);
    sim_stream_make(&m->rig.sim, s);
    return s;
}

/* ---- Uses -------------------------------------------------------------- */

/* The program's own order: stream `on` comes behind what others did with the
 * block. */
static void follow(model_t *m, live_t *l, uint32_t on)
{
    if (l->last != on)
        sim_order(&m->rig.sim, m->streams[on], m->streams[l->last]);
    l->last = on;
    l->used |= 1u << on;
}

static void kernel(model_t *m, live_t *l, void *at, uint32_t on)
{
    sim_t *sim = &m->rig.sim;
    uint64_t bytes = l->bytes / SIM_GRANULE * SIM_GRANULE;
    if (bytes == 0)
        return;
    sim_read(sim, m->streams[on], at, bytes, l->seed);
    if (any(m, 2) == 0) {
        l->seed = ++m->seeds;
        sim_write(sim, m->streams[on], at, bytes, l->seed);
    }
}

/* On a stream; on any but the first it is recorded. */
static void use(model_t *m, live_t *l)
{
    uint32_t on = any(m, 2) == 0 ? l->last : (uint32_t)any(m, STREAMS);
    cuarena_t *arena = m->rig.arena;
    void *at = l->pointer;
    cuarena_stream_t s = m->streams[on];
    if (l->pointer == NULL &&
        cuarena_block_pin_on(arena, l->block, s, &at) != CUARENA_OK)
        return;
    follow(m, l, on);
    kernel(m, l, at, on);
    if (l->pointer == NULL)
        expect_ok(cuarena_block_unpin_on(arena, l->block, s));
    else
        expect_ok(cuarena_record_use(arena, at, s));
}

/* ---- Blocks ------------------------------------------------------------ */

static void obtain(model_t *m, live_t *l)
{
    uint32_t on = (uint32_t)any(m, STREAMS);
    uint64_t bytes = (1 + any(m, 40)) * 256;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = any(m, 8) == 0;
    request.region = any(m, 6) == 0;
    request.dedicated = any(m, 24) == 0;
    cuarena_t *arena = m->rig.arena;
    *l = (live_t){.bytes = bytes, .last = on, .used = 1u << on};
    cuarena_status_t status =
        any(m, 2) == 0 ? cuarena_alloc_on(arena, bytes, m->streams[on],
                                          &request, &l->pointer)
                       : cuarena_block_alloc_on(arena, bytes, m->streams[on],
                                                &request, &l->block);
    if (status != CUARENA_OK) {
        *l = (live_t){0};
        return;
    }
    m->served++;
    void *at = l->pointer != NULL ? l->pointer : NULL;
    if (at == NULL)
        expect_ok(cuarena_block_pin_on(arena, l->block, m->streams[on], &at));
    if (request.zeroed)
        sim_read_zero(&m->rig.sim, m->streams[on], at, bytes);
    l->seed = ++m->seeds;
    sim_write(&m->rig.sim, m->streams[on], at, bytes, l->seed);
    if (l->pointer == NULL) /* its own stream needs no record */
        expect_ok(cuarena_block_unpin(arena, l->block));
}

/* The host knows that nothing uses it. */
static void sync(model_t *m, const live_t *l)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        if (l->used >> i & 1)
            sim_sync(&m->rig.sim, m->streams[i]);
}

static void release(model_t *m, live_t *l)
{
    cuarena_t *arena = m->rig.arena;
    cuarena_stream_t s = CUARENA_NO_STREAM;
    if (any(m, 4) == 0) {
        sync(m, l);
    } else {
        uint32_t on = (uint32_t)any(m, STREAMS);
        follow(m, l, on); /* behind its last use; all uses are recorded */
        s = m->streams[on];
    }
    if (l->pointer != NULL)
        expect_ok(cuarena_free_on(arena, l->pointer, s));
    else
        expect_ok(cuarena_block_free_on(arena, l->block, s));
    *l = (live_t){0};
}

static void resize(model_t *m, live_t *l)
{
    uint32_t on = (uint32_t)any(m, STREAMS);
    uint64_t bytes = (1 + any(m, 40)) * 256;
    cuarena_t *arena = m->rig.arena;
    bool host = any(m, 4) == 0;
    if (host)
        sync(m, l);
    else
        follow(m, l, on);
    cuarena_stream_t s = host ? CUARENA_NO_STREAM : m->streams[on];
    cuarena_status_t status;
    if (l->pointer != NULL)
        status = cuarena_resize_on(arena, l->pointer, bytes, s, &l->pointer);
    else
        status = cuarena_block_resize_on(arena, l->block, bytes, s);
    if (status != CUARENA_OK)
        return;
    if (bytes > l->bytes)
        l->seed = 0; /* its end has other contents */
    l->bytes = bytes;
}

/* ---- The whole --------------------------------------------------------- */

static void compact(model_t *m)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    if (any(m, 3) != 0)
        options.stream = m->streams[any(m, STREAMS)];
    options.max_moves = 1 + any(m, 20);
    options.batch_moves = 1 + any(m, 8);
    expect_ok(cuarena_compact(m->rig.arena, &options, NULL, NULL, NULL));
}

/* A stream ends, and another comes in its place: sometimes by its name. */
static void replace_stream(model_t *m)
{
    uint32_t i = (uint32_t)any(m, STREAMS);
    cuarena_stream_t old = m->streams[i];
    uint32_t heir = (i + 1) % STREAMS;
    if (old == NULL)
        return; /* the legacy stream is never destroyed */
    sim_order(&m->rig.sim, m->streams[heir], old);
    expect_ok(cuarena_release_stream(m->rig.arena, old));
    sim_stream_kill(&m->rig.sim, old);
    if (any(m, 2) == 0) {
        sim_stream_make(&m->rig.sim, old);
    } else {
        m->streams[i] = new_stream(m);
    }
    for (int k = 0; k < LIVE; k++) {
        if (m->live[k].last == i)
            m->live[k].last = heir;
        if (m->live[k].used >> i & 1)
            m->live[k].used |= 1u << heir;
    }
}

static void step_whole(model_t *m)
{
    switch (any(m, 10)) {
    case 0:
    case 1:
        compact(m);
        break;
    case 2:
        expect_ok(cuarena_settle(m->rig.arena, (int32_t)any(m, 2), NULL));
        break;
    case 3:
        expect_ok(cuarena_trim(m->rig.arena, any(m, POOL), NULL));
        break;
    case 4:
        if (m->made < 200)
            replace_stream(m);
        break;
    default:
        sim_run(&m->rig.sim, any(m, 40));
    }
}

static void step(model_t *m)
{
    live_t *l = &m->live[any(m, LIVE)];
    bool lives = l->pointer != NULL || l->block != 0;
    uint64_t what = any(m, 16);
    if (what < 3)
        step_whole(m);
    else if (!lives)
        obtain(m, l);
    else if (what < 9)
        use(m, l);
    else if (what < 12)
        resize(m, l);
    else
        release(m, l);
    if (any(m, 4) == 0)
        sim_run(&m->rig.sim, any(m, 6));
    m->stop = m->rig.sim.faults != 0;
}

/* ---- Programs ---------------------------------------------------------- */

static void open_model(model_t *m, uint64_t seed)
{
    memset(m, 0, sizeof *m);
    m->random.state = seed;
    rig_prepare(&m->rig, POOL, any(m, 4) == 0);
    m->rig.sim.random.state = seed;
    cuarena_config_t *config = &m->rig.config;
    config->preset = (int32_t)any(m, 2);
    if (config->preset == CUARENA_PRESET_GROW)
        config->limit = (cuarena_amount_t){.value = POOL};
    else
        config->stable = (cuarena_amount_t){.value = any(m, 2) * KIB(16)};
    config->marker = (int32_t)any(m, 2);
    config->device_only = (int32_t)any(m, 2);
    config->zero = any(m, 3) == 0 ? CUARENA_ZERO_FREE : CUARENA_ZERO_NEVER;
    rig_create(&m->rig);
    for (uint32_t i = 0; i < STREAMS; i++)
        m->streams[i] = new_stream(m);
    if (any(m, 2) == 0)
        m->streams[0] = NULL;
}

static void run(model_t *m, uint64_t steps, bool validate)
{
    for (uint64_t i = 0; i < steps && !m->stop; i++) {
        step(m);
        char text[200] = "";
        if (validate && cuarena_validate(m->rig.arena, text, sizeof text))
            ck_abort_msg("step %llu: %s", (unsigned long long)i, text);
    }
}

static void close_model(model_t *m)
{
    for (int i = 0; i < LIVE && !m->stop; i++)
        if (m->live[i].pointer != NULL || m->live[i].block != 0)
            release(m, &m->live[i]);
    sim_run_all(&m->rig.sim);
    cuarena_destroy_forced(&m->rig.arena);
    sim_close(&m->rig.sim);
}

START_TEST(no_reuse_is_ever_unordered)
{
    static model_t model;
    uint64_t base = scale_seed("streams");
    uint64_t seeds = scale_pick(60, 250, 2500);
    uint64_t served = 0;
    for (uint64_t i = 0; i < seeds; i++) {
        open_model(&model, base + i);
        run(&model, 400, true);
        close_model(&model);
        served += model.served;
        if (model.rig.sim.faults != 0)
            ck_abort_msg("seed %llu: %s", (unsigned long long)(base + i),
                         model.rig.sim.fault);
    }
    ck_assert_uint_gt(served, seeds * 20);
}
END_TEST

/* Leaves the `in`th wait of the program out: whether that was seen. */
static bool is_caught(model_t *model, uint64_t seed, uint64_t in)
{
    open_model(model, seed);
    model->rig.sim.drop_wait = in;
    run(model, 400, false);
    close_model(model);
    return model->rig.sim.races != 0;
}

/* Not every wait matters: what it orders may be ordered by another. In nearly
 * every program one of the first does. */
START_TEST(a_wait_left_out_is_caught)
{
    static model_t model;
    uint64_t programs = scale_pick(8, 24, 200);
    uint64_t caught = 0;
    for (uint64_t seed = 1; seed <= programs; seed++) {
        uint64_t in = 1;
        while (in <= 30 && !is_caught(&model, seed, in))
            in++;
        caught += in <= 30;
    }
    printf("%llu of %llu caught\n", (unsigned long long)caught,
           (unsigned long long)programs);
    ck_assert_uint_gt(caught, programs * 3 / 4);
}
END_TEST

START_TEST(a_marker_believed_too_early_is_caught)
{
    static model_t model;
    uint64_t programs = scale_pick(10, 40, 200);
    uint64_t caught = 0;
    for (uint64_t seed = 1; seed <= programs; seed++) {
        open_model(&model, seed);
        model.rig.sim.lie = true;
        run(&model, 400, false);
        close_model(&model);
        caught += model.rig.sim.races != 0;
    }
    printf("%llu of %llu caught\n", (unsigned long long)caught,
           (unsigned long long)programs);
    ck_assert_uint_gt(caught, programs * 3 / 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_streams_model");
    TCase *cases = suite_add_list(
        suite, "model",
        TEST_LIST(no_reuse_is_ever_unordered, a_wait_left_out_is_caught,
                  a_marker_believed_too_early_is_caught));
    tcase_set_timeout(cases, 600);
    return suite_main(suite);
}
