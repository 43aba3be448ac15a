/* See stream_model.h. */
#include "stream_model.h"

#include <stdio.h>
#include <string.h>

#define POOL (UINT64_C(128) << 10)
/* So much more, filled with one block, makes all requests small ones. */
#define FILLED (UINT64_C(16) << 20)
#define MOST_HANDLES 200u

typedef stream_model_t model_t;
typedef model_block_t live_t;

static uint64_t any(model_t *m, uint64_t bound)
{
    return choose(&m->choice, bound);
}

/* ---- What calls come to ------------------------------------------------ */

static void note_wrong(model_t *m, const char *what, const char *text)
{
    if (m->wrong[0] == '\0')
        snprintf(m->wrong, sizeof m->wrong, "%s: %s", what, text);
    m->stop = true;
}

/* Whether a call that must succeed did; one of the memory's may have failed,
 * or come to a stream that is being captured, perhaps one that was not known.
 */
static bool did(model_t *m, cuarena_status_t status, const char *what)
{
    if (status == CUARENA_OK)
        return true;
    if (m->captured != 0 && (status == CUARENA_BUSY || status == CUARENA_UNSUPPORTED))
        return false;
    if (m->may_fail && (status == CUARENA_DRIVER || status == CUARENA_LOST))
        m->stop = m->stop || status == CUARENA_LOST;
    else
        note_wrong(m, what, cuarena_status_name(status));
    return false;
}

static cuarena_stream_t new_stream(model_t *m)
{
    cuarena_stream_t s = sim_handle(100 + m->made++);
    sim_stream_make(&m->sim, s);
    return s;
}

/* ---- Captures ---------------------------------------------------------- */

/* Such a stream is given no work, and no waits, by the program either. */
static bool is_captured(const model_t *m, uint32_t stream)
{
    return m->captured >> stream & 1;
}

/* One begins to be captured, or stops. The legacy stream cannot be. */
static void capture(model_t *m)
{
    uint32_t i = (uint32_t)any(m, MODEL_STREAMS);
    if (!m->captures || m->streams[i] == NULL)
        return;
    m->captured ^= 1u << i;
    sim_stream_of(&m->sim, m->streams[i])->capturing = is_captured(m, i);
}

static void end_captures(model_t *m)
{
    for (uint32_t i = 0; i < MODEL_STREAMS; i++)
        if (is_captured(m, i))
            sim_stream_of(&m->sim, m->streams[i])->capturing = false;
    m->captured = 0;
}

/* ---- Uses -------------------------------------------------------------- */

/* The program's own order: stream `on` comes behind what others did with the block. */
static void follow(model_t *m, live_t *l, uint32_t on)
{
    if (l->last != on)
        sim_order(&m->sim, m->streams[on], m->streams[l->last]);
    l->last = on;
    l->used |= 1u << on;
}

static void kernel(model_t *m, live_t *l, void *at, uint32_t on)
{
    uint64_t bytes = l->bytes / SIM_GRANULE * SIM_GRANULE;
    if (bytes == 0)
        return;
    sim_read(&m->sim, m->streams[on], at, bytes, l->seed);
    if (any(m, 2) == 0) {
        l->seed = ++m->seeds;
        sim_write(&m->sim, m->streams[on], at, bytes, l->seed);
    }
}

/* A stream for what is done to a block now: its last one, unless that can be waited for. */
static uint32_t any_stream_for(model_t *m, const live_t *l)
{
    uint32_t on = m->apart ? l->last : (uint32_t)any(m, MODEL_STREAMS);
    bool waits = !is_captured(m, on) && !is_captured(m, l->last);
    return waits ? on : l->last;
}

/* Whether the host waits for all that uses it. */
static bool by_host(model_t *m, const live_t *l)
{
    return !m->apart && any(m, 4) == 0 && (l->used & m->captured) == 0;
}

/* On a stream, and recorded; else the host waits for it. */
static void use(model_t *m, live_t *l)
{
    uint32_t on = any(m, 2) == 0 ? l->last : any_stream_for(m, l);
    void *at = l->pointer;
    cuarena_stream_t s = m->streams[on];
    if (is_captured(m, on))
        return;
    if (l->pointer == NULL && !did(m, cuarena_block_pin_on(m->arena, l->block, s, &at), "pin_on"))
        return;
    follow(m, l, on);
    kernel(m, l, at, on);
    if (l->pointer == NULL)
        did(m, cuarena_block_unpin_on(m->arena, l->block, s), "unpin_on");
    else if (!did(m, cuarena_record_use(m->arena, at, s), "record_use"))
        sim_sync(&m->sim, s);
}

/* ---- Blocks ------------------------------------------------------------ */

/* The first kernel is on the block's own stream, which needs no record. */
static void begin(model_t *m, live_t *l, const cuarena_request_t *request)
{
    void *at = l->pointer;
    cuarena_stream_t s = m->streams[l->last];
    m->served++;
    if (is_captured(m, l->last))
        return;
    if (at == NULL && !did(m, cuarena_block_pin_on(m->arena, l->block, s, &at), "pin_on"))
        return;
    if (request->zeroed)
        sim_read_zero(&m->sim, s, at, l->bytes);
    l->seed = ++m->seeds;
    sim_write(&m->sim, s, at, l->bytes, l->seed);
    if (l->pointer == NULL)
        did(m, cuarena_block_unpin(m->arena, l->block), "unpin");
}

static const cuarena_request_t *any_request(model_t *m, cuarena_request_t *request)
{
    cuarena_request_init(request);
    if (m->apart || any(m, 2) == 0)
        return NULL;
    request->zeroed = any(m, 4) == 0;
    request->region = any(m, 3) == 0;
    request->dedicated = any(m, 12) == 0;
    return request;
}

static void obtain(model_t *m, live_t *l)
{
    cuarena_request_t request;
    const cuarena_request_t *asked = any_request(m, &request);
    uint32_t on = (uint32_t)any(m, MODEL_STREAMS);
    uint64_t bytes = (1 + any(m, 40)) * SIM_GRANULE;
    cuarena_stream_t s = m->streams[on];
    *l = (live_t){.bytes = bytes, .last = on, .used = 1u << on};
    if (m->captures && any(m, 3) == 0)
        sim_fail(&m->sim, any(m, 2) == 0 ? SIM_RECORD : SIM_WAIT, 1, CUARENA_DRIVER);
    cuarena_status_t status = any(m, 2) == 0
                                  ? cuarena_alloc_on(m->arena, bytes, s, asked, &l->pointer)
                                  : cuarena_block_alloc_on(m->arena, bytes, s, asked, &l->block);
    if (status == CUARENA_OK)
        begin(m, l, &request);
    else
        *l = (live_t){0};
}

/* The host knows that nothing uses it. */
static void sync(model_t *m, const live_t *l)
{
    for (uint32_t i = 0; i < MODEL_STREAMS; i++)
        if (l->used >> i & 1)
            sim_sync(&m->sim, m->streams[i]);
}

static void release(model_t *m, live_t *l)
{
    cuarena_stream_t s = CUARENA_NO_STREAM;
    if (by_host(m, l)) {
        sync(m, l);
    } else {
        uint32_t on = any_stream_for(m, l);
        follow(m, l, on); /* behind its last use; all uses are recorded */
        s = m->streams[on];
    }
    cuarena_status_t status = l->pointer != NULL ? cuarena_free_on(m->arena, l->pointer, s)
                                                 : cuarena_block_free_on(m->arena, l->block, s);
    if (did(m, status, "free_on"))
        *l = (live_t){0};
    else
        l->seed = 0; /* it may have been zeroed */
}

static void resize(model_t *m, live_t *l)
{
    uint32_t on = any_stream_for(m, l);
    uint64_t bytes = (1 + any(m, 40)) * SIM_GRANULE;
    bool host = by_host(m, l);
    if (host)
        sync(m, l);
    else
        follow(m, l, on);
    cuarena_stream_t s = host ? CUARENA_NO_STREAM : m->streams[on];
    cuarena_status_t status;
    if (l->pointer != NULL)
        status = cuarena_resize_on(m->arena, l->pointer, bytes, s, &l->pointer);
    else
        status = cuarena_block_resize_on(m->arena, l->block, bytes, s);
    if (status != CUARENA_OK)
        return;
    if (bytes > l->bytes)
        l->seed = 0; /* its end has other contents */
    l->bytes = bytes;
}

/* ---- What no block has ------------------------------------------------- */

#define BLOCKS_MOST (MODEL_LIVE + 2)

/* An arena whose bytes began as 0 and that sets them to 0 when they leave a block. */
static void expect_zeros(model_t *m, uint64_t begin, uint64_t end)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)begin;
    char text[64];
    size_t bytes = end > begin ? (size_t)(end - begin) : 0;
    if (bytes == 0 || (at[0] == 0 && memcmp(at, at + 1, bytes - 1) == 0))
        return;
    while (*at == 0)
        at++;
    snprintf(text, sizeof text, "0x%02x at %p, which no block has", *at, (const void *)at);
    note_wrong(m, "zero=free", text);
}

static void sort_by_address(cuarena_block_info_t *infos, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && infos[k].address < infos[k - 1].address; k--) {
            cuarena_block_info_t swapped = infos[k];
            infos[k] = infos[k - 1];
            infos[k - 1] = swapped;
        }
}

/* When all streams have ended: the free bytes of an arena with zero=free read as 0. */
static void check_free_bytes(model_t *m)
{
    cuarena_block_info_t infos[BLOCKS_MOST];
    uint64_t cursor = 0;
    size_t count = 0;
    if (!did(m, cuarena_blocks(m->arena, &cursor, infos, BLOCKS_MOST, &count), "blocks"))
        return;
    sort_by_address(infos, count);
    for (const sim_segment_t *s = m->sim.segments; s < m->sim.segments + SIM_SEGMENTS; s++) {
        uint64_t at = s->address, end = at + s->bytes;
        for (size_t i = 0; i < count; i++) {
            uint64_t low = (uint64_t)(uintptr_t)infos[i].address;
            if (infos[i].allocated == 0 || low < s->address || low >= end)
                continue;
            expect_zeros(m, at, low);
            at = low + infos[i].allocated;
        }
        expect_zeros(m, at, end);
    }
    m->checked++;
}

/* A freed block that other streams used ends when it is reclaimed after they have, which is not
 * known of captured ones. */
static void end_all_work(model_t *m)
{
    sim_sync_all(&m->sim);
    if (!m->zeroes || m->stop || m->captured != 0 ||
        !did(m, cuarena_reclaim(m->arena, 1, NULL), "reclaim"))
        return;
    sim_sync_all(&m->sim);
    check_free_bytes(m);
}

/* ---- The whole --------------------------------------------------------- */

static void compact(model_t *m)
{
    cuarena_compact_options_t options;
    cuarena_compact_options_init(&options);
    if (any(m, 3) != 0)
        options.stream = m->streams[any(m, MODEL_STREAMS)];
    options.max_moves = 1 + any(m, 20);
    options.batch_moves = 1 + any(m, 8);
    if (!did(m, cuarena_compact(m->arena, &options, NULL, NULL, NULL), "compact"))
        did(m, cuarena_reclaim(m->arena, 0, NULL), "reclaim"); /* LOST? */
}

static void replace_in(live_t *l, uint32_t gone, uint32_t heir)
{
    if (l->last == gone)
        l->last = heir;
    if (l->used >> gone & 1)
        l->used |= 1u << heir;
}

/* A stream ends, and another comes in its place: sometimes by its name. The legacy stream never
 * does. */
static void replace_stream(model_t *m)
{
    uint32_t i = (uint32_t)any(m, MODEL_STREAMS);
    cuarena_stream_t old = m->streams[i];
    uint32_t heir = (i + 1) % MODEL_STREAMS;
    if (old == NULL || m->made == MOST_HANDLES || is_captured(m, i) || is_captured(m, heir))
        return;
    if (!did(m, cuarena_release_stream(m->arena, old), "release_stream"))
        return;
    sim_order(&m->sim, m->streams[heir], old);
    sim_stream_kill(&m->sim, old);
    m->made++;
    if (any(m, 2) == 0)
        sim_stream_make(&m->sim, old);
    else
        m->streams[i] = new_stream(m);
    for (int k = 0; k < MODEL_LIVE; k++)
        replace_in(&m->live[k], i, heir);
}

/* A wait of the program's own, which it tells of, sometimes after one more free; or one of the
 * host. */
static void wait_and_tell(model_t *m)
{
    uint32_t earlier = (uint32_t)any(m, MODEL_STREAMS);
    uint32_t later = (uint32_t)any(m, MODEL_STREAMS);
    cuarena_stream_t of = m->streams[earlier];
    cuarena_stream_t waiter = m->streams[later];
    cuarena_mark_t mark;
    if (is_captured(m, earlier) || is_captured(m, later))
        return;
    if (!did(m, cuarena_stream_mark(m->arena, of, &mark), "stream_mark"))
        return;
    if (any(m, 4) == 0) {
        waiter = CUARENA_NO_STREAM;
        sim_sync(&m->sim, of);
    } else {
        sim_order(&m->sim, waiter, of);
    }
    live_t *l = &m->live[any(m, MODEL_LIVE)];
    if (any(m, 2) == 0 && (l->pointer != NULL || l->block != 0))
        release(m, l);
    did(m, cuarena_stream_waited(m->arena, waiter, of, mark), "stream_waited");
}

static void fail_soon(model_t *m)
{
    static const sim_op_t ops[] = {SIM_RECORD, SIM_RECORD_ALL, SIM_QUERY,
                                   SIM_WAIT,   SIM_WAIT_HOST,  SIM_ZERO,
                                   SIM_GROW,   SIM_RELOCATE,   SIM_IDENTIFY};
    uint64_t op = any(m, sizeof ops / sizeof ops[0]);
    if (m->may_fail)
        sim_fail(&m->sim, (int32_t)ops[op], 1 + any(m, 4), CUARENA_DRIVER);
}

static void trim(model_t *m)
{
    uint64_t keep = any(m, POOL);
    uint64_t of = any(m, MODEL_STREAMS + 2);
    if (of < MODEL_STREAMS)
        did(m, cuarena_trim_on(m->arena, m->streams[of], keep, NULL), "trim_on");
    else if (of == MODEL_STREAMS)
        did(m, cuarena_trim_on(m->arena, CUARENA_NO_STREAM, keep, NULL), "trim_on");
    else
        did(m, cuarena_trim(m->arena, keep, NULL), "trim");
}

/* Limits of the cache change, or it is emptied, in part or behind a wait. */
static void step_cache(model_t *m)
{
    cuarena_amount_t limit = {.value = any(m, POOL)};
    switch (any(m, 4)) {
    case 0:
        did(m, cuarena_cache_release(m->arena, any(m, POOL), NULL), "release");
        break;
    case 1:
        did(m, cuarena_cache_clear(m->arena, NULL), "clear");
        break;
    case 2:
        did(m, cuarena_set_limit(m->arena, CUARENA_LIMIT_SOFT, limit, NULL), "set_limit");
        break;
    default:
        did(m, cuarena_set_limit(m->arena, CUARENA_LIMIT_CACHED, limit, NULL), "set_limit");
    }
}

/* Some of what is queued; seldom all, and the free bytes are looked at. */
static void run_some(model_t *m)
{
    uint64_t items = any(m, 40);
    if (items == 0 && !m->apart)
        end_all_work(m);
    else
        sim_run(&m->sim, items);
}

static void step_whole(model_t *m)
{
    if (m->caches && any(m, 8) == 0) {
        step_cache(m);
        return;
    }
    if (m->captures && any(m, 3) == 0) {
        capture(m);
        return;
    }
    uint64_t what = any(m, 14);
    if (m->apart)
        what = 8;
    switch (what) {
    case 0:
    case 1:
        compact(m);
        break;
    case 2:
        did(m, cuarena_reclaim(m->arena, (int32_t)any(m, 2), NULL), "reclaim");
        break;
    case 3:
        trim(m);
        break;
    case 4:
        replace_stream(m);
        break;
    case 5:
        fail_soon(m);
        break;
    case 6:
    case 7:
        wait_and_tell(m);
        break;
    default:
        run_some(m);
    }
}

void stream_model_step(stream_model_t *m)
{
    live_t *l = &m->live[any(m, MODEL_LIVE)];
    bool lives = l->pointer != NULL || l->block != 0;
    uint64_t what = any(m, 16);
    if (what < 3)
        step_whole(m);
    else if (!lives)
        obtain(m, l);
    else if (what < 9)
        use(m, l);
    else if (what < 12 && !m->apart)
        resize(m, l);
    else
        release(m, l);
    if (any(m, 4) == 0)
        sim_run(&m->sim, any(m, 6));
    if (m->sim.faults != 0)
        note_wrong(m, "fault", m->sim.fault);
}

void stream_model_check(stream_model_t *m)
{
    char text[160] = "";
    if (cuarena_validate(m->arena, text, sizeof text) != CUARENA_OK)
        note_wrong(m, "validate", text);
}

/* ---- Life -------------------------------------------------------------- */

/* Both strategies, and chunks of which the pool has several. */
static void configure_chunks(model_t *m, cuarena_config_t *config)
{
    config->grow = any(m, 2) == 0 ? CUARENA_GROW_EXACT : CUARENA_GROW_DOUBLING;
    config->initial_chunk = POOL >> (2 + any(m, 4));
    config->growth_after_trim = POOL >> (2 + any(m, 4));
    config->max_doubling = POOL / 4;
    config->take_first = (int32_t)any(m, 2);
    if (any(m, 2) == 0) /* by segments */
        m->sim.ops.grow = NULL;
    if (m->sim.ops.grow == NULL)
        m->sim.ops.shrink = NULL;
}

/* Pages by which many sizes fit, and at times sizes in classes. */
static void configure_cache(model_t *m, cuarena_config_t *config)
{
    config->keep = CUARENA_KEEP_CACHE;
    config->cache_bound = (int32_t)any(m, 2);
    config->cache_limit = (cuarena_amount_t){.value = POOL >> any(m, 4)};
    config->cache_page = SIM_GRANULE << (1 + any(m, 4));
    config->soft_limit_rule = (int32_t)any(m, 2);
    config->soft_limit = (cuarena_amount_t){.value = POOL + m->filled};
    if (any(m, 3) == 0)
        config->round_to = 4 * SIM_GRANULE;
    if (any(m, 3) == 0)
        config->round_powers = 8 * SIM_GRANULE;
    if (any(m, 3) == 0)
        config->natural = 4 * SIM_GRANULE;
    config->zero = any(m, 8) == 0 ? CUARENA_ZERO_FREE : CUARENA_ZERO_NEVER;
}

static void configure_guards(model_t *m, cuarena_config_t *config)
{
    config->guard_bytes = any(m, config->zero == CUARENA_ZERO_FREE ? 2 : 3) * 40;
    config->fill = (int32_t)any(m, 4) & (config->zero == CUARENA_ZERO_FREE ? 1 : 3);
    config->quarantine_bytes =
        config->zero == CUARENA_ZERO_FREE ? 0 : any(m, 3) * (POOL / 16); /* it is looked at */
    config->stacks = (int32_t)any(m, 2);
}

static void configure(model_t *m, cuarena_config_t *config)
{
    cuarena_config_init(config);
    config->memory = CUARENA_MEMORY_CUSTOM;
    config->ops = &m->sim.ops;
    config->ops_user = &m->sim;
    config->unknown_keys = CUARENA_UNKNOWN_WARN; /* presets use what they can */
    static const int32_t presets[] = {CUARENA_PRESET_POOL,     CUARENA_PRESET_POOL,
                                      CUARENA_PRESET_GROW,     CUARENA_PRESET_GROW,
                                      CUARENA_PRESET_BFC,      CUARENA_PRESET_BFC,
                                      CUARENA_PRESET_CUPY_POOL}; /* where little steals */
    config->preset = presets[any(m, 7)];
    config->in_place = config->preset != CUARENA_PRESET_CUPY_POOL;
    uint64_t pool = POOL + m->filled;
    config->pool = (cuarena_amount_t){.value = pool};
    config->stable = (cuarena_amount_t){.value = 0};
    if (config->preset == CUARENA_PRESET_POOL)
        config->stable.value = any(m, 2) * (POOL / 8);
    else
        config->limit = (cuarena_amount_t){.value = pool};
    if (config->preset == CUARENA_PRESET_BFC)
        configure_chunks(m, config);
    config->events = (int32_t)any(m, 2);
    config->steal = any(m, 3) == 0 ? (int32_t)any(m, 4) : CUARENA_STEAL_FIRST;
    if (config->preset == CUARENA_PRESET_CUPY_POOL && any(m, 2) == 0)
        config->steal = CUARENA_STEAL_NEVER;
    config->device_only = (int32_t)any(m, 2);
    config->zero = any(m, 3) == 0 ? CUARENA_ZERO_FREE : CUARENA_ZERO_NEVER;
    if (m->caches)
        configure_cache(m, config);
    if (m->guards)
        configure_guards(m, config);
    m->zeroes = config->zero == CUARENA_ZERO_FREE && config->guard_bytes == 0; /* nor are these */
}

void stream_model_open(stream_model_t *m, const choice_t *choice, model_ways_t ways)
{
    memset(m, 0, sizeof *m);
    m->choice = *choice;
    m->guards = ways == MODEL_GUARDS || ways == MODEL_GUARDS_FAIL;
    m->captures = ways == MODEL_CAPTURES || ways == MODEL_GUARDS_FAIL;
    m->may_fail = m->captures || ways == MODEL_MAY_FAIL || ways == MODEL_CACHES_FAIL;
    m->apart = ways == MODEL_APART || ways == MODEL_CACHES_APART;
    m->caches = ways >= MODEL_CACHES;
    sim_open(&m->sim, 1 + any(m, 256), any(m, 4) == 0);
    m->filled = any(m, 2) * FILLED;
    cuarena_config_t config;
    configure(m, &config);
    did(m, cuarena_create(&config, &m->arena), "create");
    did(m, cuarena_alloc(m->arena, m->filled, &m->filler), "alloc");
    for (uint32_t i = 0; i < MODEL_STREAMS; i++)
        m->streams[i] = new_stream(m);
    if (any(m, 2) == 0)
        m->streams[0] = NULL;
}

static void expect_no_findings(model_t *m)
{
    uint64_t findings = 0;
    cuarena_status_t status = cuarena_check(m->arena, &findings);
    if (status == CUARENA_CORRUPT || findings != 0)
        note_wrong(m, "check", cuarena_last_error());
}

void stream_model_close(stream_model_t *m)
{
    m->sim.fail_in = 0;
    end_captures(m);
    for (int i = 0; i < MODEL_LIVE && !m->stop; i++)
        if (m->live[i].pointer != NULL || m->live[i].block != 0)
            release(m, &m->live[i]);
    end_all_work(m);
    did(m, cuarena_free(m->arena, m->filler), "free");
    expect_no_findings(m);
    bool empty = !m->stop;
    cuarena_status_t status =
        empty ? cuarena_destroy(&m->arena) : cuarena_destroy_forced(&m->arena);
    if (status != CUARENA_OK)
        note_wrong(m, "destroy", cuarena_status_name(status));
    if (status != CUARENA_OK)
        cuarena_destroy_forced(&m->arena);
    sim_close(&m->sim);
    if (m->sim.faults != 0)
        note_wrong(m, "fault", m->sim.fault);
}
