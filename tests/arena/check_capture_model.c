/*
 * Random programs with capture sessions, on simulated streams: graphs are kept as lists of accesses
 * and run again and again beside eager work, compactions and each other. The sim sees every access
 * that nothing orders, and every call on a stream that is being captured.
 */
#include "support/checks.h"
#include "support/fixture_streams.h"
#include "support/scale.h"

#include <stdio.h>
#include <string.h>

#define STREAMS 5u
#define SESSIONS 3
#define BLOCKS 48
#define NODES 200
#define BRANCHES 2u /* streams of one session */

/* A graph's second branch runs on a stream of its own. */
#define hidden_of(session) sim_handle(100 + (session))

typedef enum node_kind {
    NODE_WRITE,
    NODE_READ,
    NODE_ZERO,
    NODE_READ_ZERO,
    NODE_ORDER /* this branch waits for the other */
} node_kind_t;

typedef struct node {
    node_kind_t kind;
    uint32_t branch;
    void *at;
    uint64_t bytes;
    uint64_t seed;
} node_t;

typedef struct session {
    cuarena_capture_t *handle; /* NULL: none */
    bool open;
    uint32_t members[BRANCHES];
    uint32_t member_count;
    uint32_t heir; /* all launches are queued there */
    bool last;     /* it is launched no more: nothing orders that */
    node_t nodes[NODES];
    uint32_t node_count;
} session_t;

typedef struct block {
    cuarena_block_t id; /* 0: none */
    uint64_t bytes;
    uint64_t seed;   /* of its contents; 0: nobody knows */
    uint32_t stream; /* number */
    int session;     /* -1: ordinary */
} block_t;

typedef struct model {
    fixture_t f;
    random_state_t random;
    int captured[STREAMS + 1]; /* the session of each stream, or -1 */
    session_t sessions[SESSIONS];
    block_t blocks[BLOCKS];
    uint64_t reused; /* private blocks at addresses that had one */
    uint64_t replays;
    uint64_t moves;
    uint64_t zeroed;
    uint64_t dedicated;
} model_t;

static uint64_t below(model_t *m, uint64_t bound)
{
    return random_below(&m->random, bound);
}

static cuarena_stream_t handle_of(uint32_t number)
{
    return number == 0 ? CUARENA_NO_STREAM : sim_handle(number);
}

/* A stream that is not captured; there is always one. */
static uint32_t any_eager(model_t *m)
{
    uint32_t number;
    do
        number = 1 + (uint32_t)below(m, STREAMS);
    while (m->captured[number] >= 0);
    return number;
}

static uint32_t count_eager(const model_t *m)
{
    uint32_t count = 0;
    for (uint32_t n = 1; n <= STREAMS; n++)
        count += m->captured[n] < 0;
    return count;
}

static uint32_t branch_of(const session_t *s, uint32_t stream)
{
    return s->members[0] == stream ? 0 : 1;
}

static void add_node(session_t *s, node_kind_t kind, uint32_t branch, void *at, uint64_t bytes,
                     uint64_t seed)
{
    if (s->node_count == NODES)
        return; /* accesses that are left out do no harm */
    s->nodes[s->node_count++] = (node_t){kind, branch, at, bytes, seed};
}

/* ---- Blocks ------------------------------------------------------------ */

static bool had_address(const session_t *s, const void *at)
{
    for (uint32_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].at == at)
            return true;
    return false;
}

static void write_block(model_t *m, block_t *b)
{
    void *at = address_of(&m->f, b->id);
    b->seed = 1 + below(m, 1000000);
    if (b->session >= 0) {
        session_t *s = &m->sessions[b->session];
        m->reused += had_address(s, at);
        add_node(s, NODE_WRITE, branch_of(s, b->stream), at, b->bytes, b->seed);
        if (s->node_count == NODES)
            b->seed = 0;
    } else {
        sim_write(&m->f.sim, handle_of(b->stream), at, b->bytes, b->seed);
    }
}

/* Zeros that were asked for are read before the first write. */
static void read_zeros(model_t *m, const block_t *b)
{
    void *at = address_of(&m->f, b->id);
    session_t *s = b->session >= 0 ? &m->sessions[b->session] : NULL;
    m->zeroed++;
    if (s == NULL) {
        sim_read_zero(&m->f.sim, handle_of(b->stream), at, b->bytes);
        return;
    }
    const cuarena_relocation_t *zero = &m->f.sim.graph_zero;
    ck_assert_msg(zero->to == at && zero->bytes >= b->bytes,
                  "the graph was not given the zeros of a block");
    uint32_t branch = branch_of(s, b->stream);
    add_node(s, NODE_ZERO, branch, at, zero->bytes, 0);
    add_node(s, NODE_READ_ZERO, branch, at, b->bytes, 0);
}

static void alloc_some(model_t *m)
{
    block_t *b = &m->blocks[below(m, BLOCKS)];
    if (b->id != 0)
        return;
    b->stream = 1 + (uint32_t)below(m, STREAMS);
    b->session = m->captured[b->stream];
    b->bytes = SIM_GRANULE * (1 + below(m, 16));
    if (b->session >= 0 && m->sessions[b->session].node_count >= NODES - 8)
        return;
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.zeroed = below(m, 4) == 0;
    request.dedicated = below(m, 16) == 0;
    cuarena_status_t status =
        cuarena_block_alloc_on(m->f.arena, b->bytes, handle_of(b->stream), &request, &b->id);
    if (status != CUARENA_OK)
        return;
    m->dedicated += (uint64_t)request.dedicated;
    if (request.zeroed)
        read_zeros(m, b);
    write_block(m, b);
}

/* On the stream that it belongs to, or where it was launched. */
static void read_block(model_t *m, const block_t *b)
{
    const void *at = address_of(&m->f, b->id);
    if (b->session < 0) {
        if (m->captured[b->stream] < 0)
            sim_read(&m->f.sim, handle_of(b->stream), at, b->bytes, b->seed);
        return;
    }
    session_t *s = &m->sessions[b->session];
    if (s->open)
        add_node(s, NODE_READ, branch_of(s, b->stream), (void *)(uintptr_t)at, b->bytes, b->seed);
    else if (m->captured[s->heir] < 0)
        sim_read(&m->f.sim, handle_of(s->heir), at, b->bytes, 0);
}

static void free_its(model_t *m, block_t *b, uint32_t stream)
{
    expect_ok(cuarena_block_free_on(m->f.arena, b->id, handle_of(stream)));
    b->id = 0;
}

/* On a stream that reads it first, behind what wrote it. */
static void free_elsewhere(model_t *m, block_t *b, uint32_t writer)
{
    uint32_t reader = any_eager(m);
    if (m->captured[writer] >= 0)
        return;
    sim_order(&m->f.sim, handle_of(reader), handle_of(writer));
    sim_read(&m->f.sim, handle_of(reader), address_of(&m->f, b->id), b->bytes, 0);
    if (b->session >= 0)
        m->sessions[b->session].last = true;
    free_its(m, b, reader);
}

static void free_captured(model_t *m, block_t *b)
{
    session_t *s = &m->sessions[b->session];
    uint32_t branch = branch_of(s, b->stream);
    uint64_t how = below(m, 4);
    if (how == 0) {
        free_its(m, b, 0);
    } else if (how == 1 && s->member_count == BRANCHES && s->node_count < NODES) {
        add_node(s, NODE_ORDER, !branch, NULL, 0, 0);
        free_its(m, b, s->members[!branch]);
    } else if (how == 2) {
        free_its(m, b, any_eager(m));
    } else {
        free_its(m, b, b->stream);
    }
}

static void free_some_block(model_t *m)
{
    block_t *b = &m->blocks[below(m, BLOCKS)];
    if (b->id == 0)
        return;
    if (b->session < 0) {
        if (below(m, 3) == 0)
            free_elsewhere(m, b, b->stream);
        else
            free_its(m, b, b->stream);
        return;
    }
    session_t *s = &m->sessions[b->session];
    if (s->open)
        free_captured(m, b);
    else if (below(m, 2) == 0)
        free_elsewhere(m, b, s->heir);
    else
        free_its(m, b, s->heir);
}

/* ---- Sessions ---------------------------------------------------------- */

static void set_captured(model_t *m, uint32_t stream, int session)
{
    m->captured[stream] = session;
    sim_stream_of(&m->f.sim, handle_of(stream))->capturing = session >= 0;
}

static void begin(model_t *m, int which)
{
    session_t *s = &m->sessions[which];
    if (count_eager(m) < 3)
        return;
    uint32_t stream = any_eager(m);
    bool before = below(m, 2) == 0;
    if (before)
        set_captured(m, stream, which);
    *s = (session_t){.members = {stream}, .member_count = 1, .open = true};
    expect_ok(cuarena_capture_begin(m->f.arena, handle_of(stream), &s->handle));
    set_captured(m, stream, which);
}

static void join(model_t *m, int which)
{
    session_t *s = &m->sessions[which];
    if (!s->open || s->member_count == BRANCHES || count_eager(m) < 3)
        return;
    uint32_t stream = any_eager(m);
    expect_ok(cuarena_capture_join(m->f.arena, s->handle, handle_of(stream)));
    set_captured(m, stream, which);
    s->members[s->member_count++] = stream;
}

static void end(model_t *m, int which)
{
    session_t *s = &m->sessions[which];
    for (uint32_t i = 0; i < s->member_count; i++)
        set_captured(m, s->members[i], -1);
    s->open = false;
    s->heir = any_eager(m);
    expect_ok(cuarena_capture_end(m->f.arena, s->handle));
}

static void run_node(model_t *m, const node_t *node, cuarena_stream_t own, cuarena_stream_t other)
{
    if (node->kind == NODE_ORDER)
        sim_order(&m->f.sim, own, other);
    else if (node->kind == NODE_WRITE)
        sim_write(&m->f.sim, own, node->at, node->bytes, node->seed);
    else if (node->kind == NODE_ZERO)
        sim_zero(&m->f.sim, own, node->at, node->bytes);
    else if (node->kind == NODE_READ_ZERO)
        sim_read_zero(&m->f.sim, own, node->at, node->bytes);
    else
        sim_read(&m->f.sim, own, node->at, node->bytes, node->seed);
}

static void replay(model_t *m, int which)
{
    const session_t *s = &m->sessions[which];
    if (s->handle == NULL || s->open || s->last || m->captured[s->heir] >= 0)
        return;
    cuarena_stream_t branches[BRANCHES] = {handle_of(s->heir), hidden_of(which)};
    sim_order(&m->f.sim, branches[1], branches[0]);
    for (uint32_t i = 0; i < s->node_count; i++) {
        uint32_t branch = s->nodes[i].branch;
        run_node(m, &s->nodes[i], branches[branch], branches[!branch]);
    }
    sim_order(&m->f.sim, branches[0], branches[1]);
    m->replays++;
}

/* Its blocks are ordinary ones from now on, with contents that nobody knows. */
static void adopt_blocks(model_t *m, int which, uint32_t heir)
{
    for (int i = 0; i < BLOCKS; i++) {
        block_t *b = &m->blocks[i];
        if (b->id == 0 || b->session != which)
            continue;
        b->session = -1;
        b->stream = heir != 0 ? heir : any_eager(m);
        b->seed = 0;
        if (heir != 0)
            continue;
        expect_ok(cuarena_block_record_use(m->f.arena, b->id, handle_of(b->stream)));
        write_block(m, b); /* all is idle: any stream may be the one */
    }
}

static void release(model_t *m, int which)
{
    session_t *s = &m->sessions[which];
    if (s->open)
        end(m, which);
    uint32_t heir = s->heir;
    for (uint32_t n = 1; n <= STREAMS; n++)
        if (m->captured[n] >= 0)
            return; /* it may have to be waited for */
    if (below(m, 3) == 0) {
        sim_sync_all(&m->f.sim);
        heir = 0;
    }
    expect_ok(cuarena_capture_release(m->f.arena, &s->handle, handle_of(heir)));
    ck_assert_ptr_null(s->handle);
    adopt_blocks(m, which, heir);
}

static void step_session(model_t *m)
{
    int which = (int)below(m, SESSIONS);
    session_t *s = &m->sessions[which];
    uint64_t how = below(m, 8);
    if (s->handle == NULL)
        begin(m, which);
    else if (how < 2)
        join(m, which);
    else if (how < 4 && s->open)
        end(m, which);
    else if (how == 4)
        release(m, which);
    else
        replay(m, which);
}

/* ---- The rest ---------------------------------------------------------- */

/* Blocks that were given to no stream's care are those of streams here. */
static void compact(model_t *m)
{
    cuarena_compact_options_t options;
    cuarena_compact_report_t report;
    cuarena_compact_options_init(&options);
    cuarena_compact_report_init(&report);
    options.stream = handle_of(below(m, 2) == 0 ? 0 : any_eager(m));
    expect_ok(cuarena_compact(m->f.arena, &options, NULL, NULL, &report));
    m->moves += report.moves;
}

static void model_step(model_t *m)
{
    uint64_t what = below(m, 100);
    if (what < 40)
        alloc_some(m);
    else if (what < 65)
        free_some_block(m);
    else if (what < 75) {
        block_t *b = &m->blocks[below(m, BLOCKS)];
        if (b->id != 0)
            read_block(m, b);
    } else if (what < 88)
        step_session(m);
    else if (what < 92)
        compact(m);
    else if (what < 94)
        expect_ok(cuarena_reclaim(m->f.arena, (int32_t)below(m, 2), NULL));
    else if (what < 95)
        expect_ok(cuarena_trim(m->f.arena, 0, NULL));
    else
        sim_run(&m->f.sim, below(m, 30));
    expect_u64(m->f.sim.captured_calls, 0);
    expect_sound(&m->f);
}

static void open_model(model_t *m, uint64_t seed)
{
    memset(m, 0, sizeof *m);
    m->random.state = seed;
    fixture_prepare(&m->f, SIMULATED, KIB(96));
    m->f.sim.random.state = seed;
    m->f.config.events = (int32_t)below(m, 2);
    if (below(m, 2) == 0) {
        m->f.config.preset = CUARENA_PRESET_GROW;
        m->f.config.limit = (cuarena_amount_t){.value = KIB(96)};
    }
    fixture_create(&m->f);
    for (uint32_t n = 4; n <= STREAMS; n++)
        sim_stream_make(&m->f.sim, sim_handle(n));
    for (int i = 0; i < SESSIONS; i++)
        sim_stream_make(&m->f.sim, hidden_of(i));
    for (uint32_t n = 1; n <= STREAMS; n++)
        m->captured[n] = -1;
}

static void close_model(model_t *m)
{
    for (int i = 0; i < SESSIONS; i++)
        if (m->sessions[i].handle != NULL && m->sessions[i].open)
            end(m, i);
    for (int i = 0; i < SESSIONS; i++)
        if (m->sessions[i].handle != NULL)
            release(m, i);
    for (int i = 0; i < BLOCKS; i++)
        if (m->blocks[i].id != 0)
            free_its(m, &m->blocks[i], m->blocks[i].stream);
    expect_sound(&m->f);
    fixture_close(&m->f);
}

static model_t model;

START_TEST(random_programs_show_no_fault)
{
    uint64_t first = scale_seed("captures");
    uint64_t programs = scale_pick(20, 60, 3000);
    uint64_t reused = 0;
    uint64_t replays = 0;
    uint64_t moves = 0;
    uint64_t zeroed = 0;
    uint64_t dedicated = 0;
    for (uint64_t i = 0; i < programs; i++) {
        open_model(&model, first + i);
        for (int n = 0; n < 600; n++)
            model_step(&model);
        reused += model.reused;
        replays += model.replays;
        moves += model.moves;
        zeroed += model.zeroed;
        dedicated += model.dedicated;
        close_model(&model);
    }
    printf("%llu programs: %llu replays, %llu private addresses used again, "
           "%llu moves, %llu zeroed, %llu dedicated\n",
           (unsigned long long)programs, (unsigned long long)replays, (unsigned long long)reused,
           (unsigned long long)moves, (unsigned long long)zeroed, (unsigned long long)dedicated);
    ck_assert(zeroed > programs && dedicated > programs);
    ck_assert(reused > programs && replays > programs && moves > programs);
}
END_TEST

/* With one wait of the arena's left out some program shows a race: the sim would see it if the
 * arena forgot one. */
START_TEST(programs_with_a_wait_left_out_are_caught)
{
    uint64_t caught = 0;
    uint64_t programs = scale_pick(30, 60, 300);
    for (uint64_t i = 0; i < programs; i++) {
        fixture_t f;
        fixture_open(&f, SIMULATED, KIB(64));
        cuarena_capture_t *session = NULL;
        void *p = NULL;
        random_state_t random = {i};
        expect_ok(cuarena_capture_begin(f.arena, A, &session));
        expect_ok(cuarena_alloc_on(f.arena, KIB(64), A, NULL, &p));
        expect_ok(cuarena_capture_end(f.arena, session));
        sim_write(&f.sim, B, p, KIB(64), 1);
        sim_run(&f.sim, random_below(&random, 2));
        expect_ok(cuarena_free_on(f.arena, p, B));
        f.sim.drop_order = 2; /* for A, which did nothing, then for B */
        expect_ok(cuarena_capture_release(f.arena, &session, C));
        expect_ok(cuarena_alloc_on(f.arena, KIB(64), C, NULL, &p));
        sim_write(&f.sim, C, p, KIB(64), 2);
        sim_run_all(&f.sim);
        caught += f.sim.races != 0;
        expect_ok(cuarena_destroy_forced(&f.arena));
        sim_close(&f.sim);
    }
    expect_u64(caught, programs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena_capture_model");
    TCase *tests = tcase_create("programs");
    tcase_set_timeout(tests, scale_timeout(600));
    tcase_add_test(tests, random_programs_show_no_fault);
    tcase_add_test(tests, programs_with_a_wait_left_out_are_caught);
    suite_add_tcase(suite, tests);
    return suite_main(suite);
}
