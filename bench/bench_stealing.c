/*
 * A program on several streams, replayed on real ones with work behind it: what free lists cost in
 * memory, and waits in time.
 *
 * Each event of the trace is on its stream, and is followed by a kernel there that reads and writes
 * that stream's live blocks, every one of them, and lasts 50 times as long as the host takes for an
 * event. So the device is far behind the host, and what one stream frees another can only have by
 * waiting for it on the device.
 *
 *   stamp   what a kernel finds in each word that it visits of a block, and
 *           leaves there, one more; another value is counted by the kernel,
 *           and the benchmark fails: two blocks had the same bytes at once
 *
 *   reserved  the most that was taken from the driver, over the peak of live
 *           bytes of all streams together
 *   total   milliseconds from the first event until the device has done all
 *   calls   nanoseconds per call of the arena, on the host
 *
 *   bench_stealing [OPTION...] TRACE...
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "gpu.h"
#include "runtime.h"
#include "source.h"
#include "standin/standin.h"

#define GRANULE 256
#define GAPS 50
#define PASSES 3
#define MOST_STREAMS 32
#define STEP UINT64_C(4096) /* a kernel visits a word in each so many bytes */
#define QUICK_STEP (UINT64_C(1) << 20)
#define QUICK_EVENTS 1500
#define STAMPS_APART 0x9e3779b1u /* between blocks */

static gpu_t gpu;
static runtime_t runtime;

/* ---- The kernel -------------------------------------------------------- */

/* Visits the blocks of a table, and ends when so many nanoseconds are over; words with another
 * stamp than the block's are added to `wrong`:
 * visit(table, count, nanoseconds, step, wrong). */
static const char visit_text[] = ".version 7.0\n"
                                 ".target sm_70\n"
                                 ".address_size 64\n"
                                 ".visible .entry visit(\n"
                                 "\t.param .u64 visit_param_0,\n"
                                 "\t.param .u64 visit_param_1,\n"
                                 "\t.param .u64 visit_param_2,\n"
                                 "\t.param .u64 visit_param_3,\n"
                                 "\t.param .u64 visit_param_4\n"
                                 ")\n"
                                 "{\n"
                                 "\t.reg .pred %p<6>;\n"
                                 "\t.reg .b32 %r<9>;\n"
                                 "\t.reg .b64 %rd<21>;\n"
                                 "\tmov.u64 %rd1, %globaltimer;\n"
                                 "\tld.param.u64 %rd2, [visit_param_0];\n"
                                 "\tld.param.u64 %rd3, [visit_param_1];\n"
                                 "\tld.param.u64 %rd4, [visit_param_2];\n"
                                 "\tld.param.u64 %rd18, [visit_param_3];\n"
                                 "\tld.param.u64 %rd19, [visit_param_4];\n"
                                 "\tcvta.to.global.u64 %rd2, %rd2;\n"
                                 "\tcvta.to.global.u64 %rd19, %rd19;\n"
                                 "\tadd.s64 %rd5, %rd1, %rd4;\n"
                                 "\tmov.u64 %rd20, 1;\n"
                                 "\tmov.u32 %r1, %ctaid.x;\n"
                                 "\tcvt.u64.u32 %rd6, %r1;\n"
                                 "\tmov.u32 %r2, %nctaid.x;\n"
                                 "\tcvt.u64.u32 %rd7, %r2;\n"
                                 "\tmov.u32 %r3, %tid.x;\n"
                                 "\tcvt.u64.u32 %rd8, %r3;\n"
                                 "\tmul.lo.s64 %rd8, %rd8, %rd18;\n"
                                 "\tmov.u32 %r4, %ntid.x;\n"
                                 "\tcvt.u64.u32 %rd9, %r4;\n"
                                 "\tmul.lo.s64 %rd9, %rd9, %rd18;\n"
                                 "BLOCK:\n"
                                 "\tsetp.ge.u64 %p1, %rd6, %rd3;\n"
                                 "\t@%p1 bra LAST;\n"
                                 "\tmul.lo.s64 %rd10, %rd6, 24;\n"
                                 "\tadd.s64 %rd11, %rd2, %rd10;\n"
                                 "\tld.global.u64 %rd12, [%rd11];\n"
                                 "\tld.global.u64 %rd13, [%rd11+8];\n"
                                 "\tld.global.u32 %r5, [%rd11+16];\n"
                                 "\tld.global.u32 %r6, [%rd11+20];\n"
                                 "\tadd.s32 %r7, %r5, 1;\n"
                                 "\tsetp.ne.u32 %p3, %r6, 0;\n"
                                 "\tmov.u64 %rd14, %rd8;\n"
                                 "WORD:\n"
                                 "\tsetp.ge.u64 %p2, %rd14, %rd13;\n"
                                 "\t@%p2 bra NEXT;\n"
                                 "\tadd.s64 %rd15, %rd12, %rd14;\n"
                                 "\tld.global.u32 %r8, [%rd15];\n"
                                 "\tsetp.ne.and.u32 %p4, %r8, %r5, %p3;\n"
                                 "\t@%p4 red.global.add.u64 [%rd19], %rd20;\n"
                                 "\tst.global.u32 [%rd15], %r7;\n"
                                 "\tadd.s64 %rd14, %rd14, %rd9;\n"
                                 "\tbra.uni WORD;\n"
                                 "NEXT:\n"
                                 "\tadd.s64 %rd6, %rd6, %rd7;\n"
                                 "\tbra.uni BLOCK;\n"
                                 "LAST:\n"
                                 "\tmov.u64 %rd16, %globaltimer;\n"
                                 "\tsetp.lt.u64 %p5, %rd16, %rd5;\n"
                                 "\t@%p5 bra LAST;\n"
                                 "\tret;\n"
                                 "}\n";

#define VISIT_BLOCKS 8
#define VISIT_THREADS 256

/* A block as the kernel finds it. */
typedef struct visited {
    uint64_t address;
    uint64_t bytes;
    uint32_t stamp;
    uint32_t stamped; /* 0: nobody has visited it yet */
} visited_t;

/* ---- ... on the stand-in, which needs no time -------------------------- */

typedef struct visit {
    uint64_t table;
    uint64_t count;
    uint64_t step;
    uint64_t wrong;
    uint64_t next;
} visit_t;

static void *begin_visit(const standin_launch_t *launch, unsigned *workers)
{
    visit_t *visit = calloc(1, sizeof *visit);
    *workers = 1;
    if (visit == NULL)
        return NULL;
    memcpy(&visit->table, launch->params[0], sizeof visit->table);
    memcpy(&visit->count, launch->params[1], sizeof visit->count);
    memcpy(&visit->step, launch->params[3], sizeof visit->step);
    memcpy(&visit->wrong, launch->params[4], sizeof visit->wrong);
    return visit;
}

static bool add_wrong(const visit_t *visit, standin_access_t *access)
{
    uint64_t count;
    const void *found = access->read(access, visit->wrong, sizeof count);
    if (found == NULL)
        return false;
    memcpy(&count, found, sizeof count);
    count++;
    void *place = access->write(access, visit->wrong, sizeof count);
    if (place != NULL)
        memcpy(place, &count, sizeof count);
    return place != NULL;
}

static bool visit_word(const visit_t *visit, const visited_t *block, uint64_t at,
                       standin_access_t *access)
{
    uint32_t stamp;
    if (block->stamped) {
        const void *found = access->read(access, at, sizeof stamp);
        if (found == NULL)
            return false;
        memcpy(&stamp, found, sizeof stamp);
        if (stamp != block->stamp && !add_wrong(visit, access))
            return false;
    }
    stamp = block->stamp + 1;
    void *place = access->write(access, at, sizeof stamp);
    if (place != NULL)
        memcpy(place, &stamp, sizeof stamp);
    return place != NULL;
}

static standin_step_t step_visit(void *state, unsigned worker, standin_access_t *access)
{
    visit_t *visit = state;
    visited_t block;
    (void)worker;
    if (visit->next == visit->count)
        return STANDIN_DONE;
    uint64_t at = visit->table + visit->next++ * sizeof block;
    const void *entry = access->read(access, at, sizeof block);
    if (entry == NULL)
        return STANDIN_FAULT;
    memcpy(&block, entry, sizeof block);
    for (uint64_t i = 0; i < block.bytes; i += visit->step)
        if (!visit_word(visit, &block, block.address + i, access))
            return STANDIN_FAULT;
    return STANDIN_PROGRESS;
}

static void bind_visit(void)
{
    static const standin_kernel_t kernel = {"visit", begin_visit, step_visit, free};
    int (*bind)(const standin_kernel_t *kernel) = NULL;
    const char *name = getenv("CUARENA_CUDA_LIBRARY");
    void *library = dlopen(name != NULL ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *found = library != NULL ? dlsym(library, "standin_register_kernel") : NULL;
    memcpy(&bind, &found, sizeof bind);
    if (bind != NULL)
        expect(bind(&kernel) == 0, "the stand-in's kernel");
}

/* ---- The trace --------------------------------------------------------- */

typedef struct event {
    uint64_t bytes; /* 0: a free, or nothing was asked for */
    uint32_t id;
    uint16_t stream;
    bool frees;
} event_t;

typedef struct program {
    event_t *events;
    size_t count;
    size_t ids;
    unsigned streams;
    uint64_t peak; /* of live bytes, each rounded up */
} program_t;

static size_t find_column(const csv_t *csv, const char *name)
{
    size_t at = 0;
    while (at < csv->field_count && !csv_is(csv->fields[at], name))
        at++;
    expect(at < csv->field_count, "a trace with op, id, size and stream");
    return at;
}

static uint64_t number_in(const csv_t *csv, size_t column, uint64_t most)
{
    uint64_t number = 0;
    expect(csv_decimal(csv->fields[column], most, &number), "whole numbers in the trace");
    return number;
}

static void find_peak(program_t *program)
{
    uint64_t *sizes = calloc(program->ids, sizeof *sizes);
    uint64_t live = 0;
    expect(sizes != NULL, "memory for sizes");
    for (size_t i = 0; i < program->count; i++) {
        const event_t *e = &program->events[i];
        uint64_t bytes = (e->bytes + GRANULE - 1) / GRANULE * GRANULE;
        live += e->frees ? 0 - sizes[e->id] : bytes;
        sizes[e->id] = bytes;
        program->peak = live > program->peak ? live : program->peak;
    }
    free(sizes);
}

static void add_event(program_t *program, const csv_t *csv, const size_t columns[4])
{
    event_t e = {
        .frees = csv_is(csv->fields[columns[0]], "f"),
        .id = (uint32_t)number_in(csv, columns[1], UINT32_MAX - 1),
        .stream = (uint16_t)number_in(csv, columns[3], MOST_STREAMS - 1),
    };
    if (!e.frees)
        e.bytes = number_in(csv, columns[2], UINT64_C(1) << 47);
    program->events[program->count++] = e;
    program->ids = e.id >= program->ids ? e.id + 1 : program->ids;
    program->streams = e.stream >= program->streams ? e.stream + 1u : program->streams;
}

static program_t load(const char *path)
{
    program_t program = {0};
    source_t source;
    fault_t fault = {""};
    expect(source_read(path, NULL, &source, &fault), fault.text);
    csv_t csv = csv_open(source.text, source.length);
    expect(csv_next(&csv), "a trace with a header");
    const size_t columns[4] = {find_column(&csv, "op"), find_column(&csv, "id"),
                               find_column(&csv, "size"), find_column(&csv, "stream")};
    program.events = calloc(source.length / 8 + 1, sizeof *program.events);
    expect(program.events != NULL, "memory for events");
    while (csv_next(&csv) && !(gpu.quick && program.count == QUICK_EVENTS))
        add_event(&program, &csv, columns);
    source_free(&source);
    find_peak(&program);
    return program;
}

/* ---- A replay ---------------------------------------------------------- */

/* Who serves it: an arena, or the runtime's stream-ordered pool. */
typedef struct server {
    const char *name;
    const char *options; /* NULL: the runtime */
    bool as_runtime;     /* the arena's pool or limit is what the runtime held */
} server_t;

typedef struct replay {
    const program_t *program;
    cuarena_t *arena;
    cuai_cu_module_t module;
    cuai_cu_function_t visit;
    cuai_cu_stream_t streams[MOST_STREAMS];
    cuai_cu_pointer_t wrong;      /* words with another stamp */
    void **pointers;              /* by id */
    uint32_t *visits;             /* likewise: of the block in this pass */
    uint32_t *live[MOST_STREAMS]; /* ids */
    size_t live_count[MOST_STREAMS];
    visited_t *tables; /* pinned: one part for each event */
    size_t table_used;
    size_t table_room;
    uint64_t lasts_ns;
    uint64_t call_ns; /* in the server, so far */
    uint64_t calls;
} replay_t;

static void *obtain(replay_t *r, const event_t *e)
{
    void *pointer = NULL;
    if (r->arena != NULL)
        must(cuarena_alloc_on(r->arena, e->bytes, r->streams[e->stream], NULL, &pointer));
    else
        expect(runtime.malloc_async(&pointer, e->bytes, r->streams[e->stream]) == 0,
               runtime.async_name);
    return pointer;
}

static void release(replay_t *r, const event_t *e)
{
    void *pointer = r->pointers[e->id];
    r->pointers[e->id] = NULL;
    if (r->arena != NULL)
        must(cuarena_free_on(r->arena, pointer, r->streams[e->stream]));
    else
        expect(runtime.free_async(pointer, r->streams[e->stream]) == 0, "the runtime's free");
}

static void forget(replay_t *r, const event_t *e)
{
    uint32_t *ids = r->live[e->stream];
    size_t *count = &r->live_count[e->stream];
    for (size_t i = 0; i < *count; i++)
        if (ids[i] == e->id) {
            ids[i] = ids[--*count];
            return;
        }
}

/* What the block's words have after so many visits. */
static visited_t visited_of(const replay_t *r, const uint64_t *sizes, uint32_t id)
{
    return (visited_t){.address = (uint64_t)(uintptr_t)r->pointers[id],
                       .bytes = sizes[id],
                       .stamp = id * STAMPS_APART + r->visits[id],
                       .stamped = r->visits[id] != 0};
}

/* The kernel behind an event. */
static void visit(replay_t *r, const uint64_t *sizes, unsigned stream)
{
    visited_t *table = &r->tables[r->table_used];
    uint64_t count = r->live_count[stream];
    expect(r->table_used + count <= r->table_room, "room for tables");
    for (size_t i = 0; i < count; i++) {
        uint32_t id = r->live[stream][i];
        table[i] = visited_of(r, sizes, id);
        r->visits[id]++;
    }
    r->table_used += count;
    uint64_t address = (uint64_t)(uintptr_t)table;
    uint64_t step = gpu.quick ? QUICK_STEP : STEP;
    void *parameters[] = {&address, &count, &r->lasts_ns, &step, &r->wrong};
    must_cu(&gpu, gpu.cuLaunchKernel(r->visit, VISIT_BLOCKS, 1, 1, VISIT_THREADS, 1, 1, 0,
                                     r->streams[stream], parameters, NULL));
}

static void play(replay_t *r, uint64_t *sizes, const event_t *e)
{
    if (!e->frees && e->bytes == 0)
        return;
    if (e->frees && r->pointers[e->id] == NULL)
        return;
    uint64_t begin = now_ns();
    if (e->frees)
        release(r, e);
    else
        r->pointers[e->id] = obtain(r, e);
    r->call_ns += now_ns() - begin;
    r->calls++;
    if (e->frees) {
        forget(r, e);
    } else {
        sizes[e->id] = e->bytes;
        r->visits[e->id] = 0;
        r->live[e->stream][r->live_count[e->stream]++] = e->id;
    }
    visit(r, sizes, e->stream);
}

static void wait_for_all(const replay_t *r)
{
    for (unsigned i = 0; i < r->program->streams; i++)
        must_cu(&gpu, gpu.cuStreamSynchronize(r->streams[i]));
}

static void check_stamps(const replay_t *r)
{
    uint64_t wrong = 0;
    char text[96];
    must_cu(&gpu, gpu.cuMemcpyDtoH(&wrong, r->wrong, sizeof wrong));
    (void)snprintf(text, sizeof text,
                   "blocks with their own bytes; %" PRIu64 " words had another block's", wrong);
    expect(wrong == 0, text);
}

/* Milliseconds, with what was live at the end freed on its stream after. */
static double pass(replay_t *r)
{
    const program_t *program = r->program;
    uint64_t *sizes = calloc(program->ids, sizeof *sizes);
    expect(sizes != NULL, "memory for sizes");
    wait_for_all(r);
    r->table_used = 0;
    uint64_t begin = now_ns();
    for (size_t i = 0; i < program->count; i++)
        play(r, sizes, &program->events[i]);
    wait_for_all(r);
    double ms = (double)(now_ns() - begin) / 1e6;
    check_stamps(r);
    for (unsigned s = 0; s < program->streams; s++)
        while (r->live_count[s] != 0) {
            event_t e = {
                .id = r->live[s][--r->live_count[s]], .stream = (uint16_t)s, .frees = true};
            release(r, &e);
        }
    free(sizes);
    return ms;
}

static size_t tables_needed(const program_t *program)
{
    size_t live[MOST_STREAMS] = {0};
    size_t sum = 0;
    for (size_t i = 0; i < program->count; i++) {
        size_t *now = &live[program->events[i].stream];
        *now += program->events[i].frees ? (size_t)-1 : 1;
        sum += *now + 1;
    }
    return sum;
}

static void open_replay(replay_t *r, const program_t *program)
{
    void *tables = NULL;
    *r = (replay_t){.program = program};
    r->table_room = tables_needed(program);
    must_cu(&gpu, gpu.cuMemHostAlloc(&tables, r->table_room * sizeof(visited_t), 2)); /* mapped */
    r->tables = tables;
    must_cu(&gpu, gpu.cuModuleLoadDataEx(&r->module, visit_text, 0, NULL, NULL));
    must_cu(&gpu, gpu.cuModuleGetFunction(&r->visit, r->module, "visit"));
    must_cu(&gpu, gpu.cuMemAlloc(&r->wrong, sizeof(uint64_t)));
    must_cu(&gpu, gpu.cuMemsetD8(r->wrong, 0, sizeof(uint64_t)));
    gpu_wait(&gpu);
    r->pointers = calloc(program->ids, sizeof *r->pointers);
    r->visits = calloc(program->ids, sizeof *r->visits);
    expect(r->pointers != NULL && r->visits != NULL, "memory for pointers");
    for (unsigned i = 0; i < program->streams; i++) {
        must_cu(&gpu, gpu.cuStreamCreate(&r->streams[i], CUAI_CU_STREAM_NON_BLOCKING));
        r->live[i] = calloc(program->ids, sizeof *r->live[i]);
        expect(r->live[i] != NULL, "memory for lists");
    }
}

static void close_replay(replay_t *r)
{
    for (unsigned i = 0; i < r->program->streams; i++) {
        must_cu(&gpu, gpu.cuStreamDestroy(r->streams[i]));
        free(r->live[i]);
    }
    free(r->pointers);
    free(r->visits);
    must_cu(&gpu, gpu.cuMemFree(r->wrong));
    must_cu(&gpu, gpu.cuModuleUnload(r->module));
    must_cu(&gpu, gpu.cuMemFreeHost(r->tables));
}

/* ---- Rows -------------------------------------------------------------- */

static const server_t servers[] = {
    {"grow, steal=wait", "memory=device,preset=grow", false},
    {"grow, steal=first", "memory=device,preset=grow,steal=first", false},
    {"grow, steal=first, handle=2MiB", "memory=device,preset=grow,steal=first,handle=2MiB", false},
    {"grow, steal=idle", "memory=device,preset=grow,steal=idle", false},
    {"grow, steal=never", "memory=device,preset=grow,steal=never", false},
    {NULL, NULL, false},
    {"grow, limit: the bytes above", "memory=device,preset=grow", true},
    {"pool: as many", "memory=device,preset=pool", true},
};
#define SERVERS (sizeof servers / sizeof servers[0])
#define WARM 4 /* the one that the time of an event is taken with */

static void open_server(replay_t *r, const server_t *server, uint64_t runtime_bytes)
{
    cuarena_config_t config;
    if (server->options == NULL) {
        runtime_keep(&gpu, UINT64_MAX);
        runtime_trim(&gpu);
        return;
    }
    cuarena_config_init(&config);
    must(cuarena_config_parse(&config, server->options));
    config.device = gpu.ordinal;
    if (server->as_runtime)
        *(config.preset == CUARENA_PRESET_POOL ? &config.pool : &config.limit) =
            (cuarena_amount_t){CUARENA_AMOUNT_BYTES, 0, runtime_bytes};
    r->arena = gpu_arena(&config);
}

static cuarena_stats_t close_server(replay_t *r)
{
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    if (r->arena != NULL) {
        must(cuarena_stats(r->arena, CUARENA_REGION_ALL, &stats));
        must(cuarena_destroy(&r->arena));
        return stats;
    }
    stats.peak_reserved_bytes = runtime_held(&gpu);
    wait_for_all(r);
    runtime_keep(&gpu, 0);
    runtime_trim(&gpu);
    return stats;
}

static void tell(const program_t *program, const char *title, const char *who,
                 const cuarena_stats_t *stats, const replay_t *r, figures_t total)
{
    double ratio = (double)stats->peak_reserved_bytes / (double)program->peak;
    double call_ns = (double)r->call_ns / (double)r->calls;
    printf("  %-32s %7.3f %9.1f %9.0f %9" PRIu64 " %7" PRIu64 " %7" PRIu64 "\n", who, ratio,
           total.median, call_ns, stats->steals, stats->stream_waits, stats->host_waits);
    (void)fflush(stdout);
    record_begin("stealing");
    record_text("case", title);
    record_text("who", who);
    record_text("unit", "ms");
    record_count("events", program->count);
    record_count("peak_bytes", program->peak);
    record_count("reserved_bytes", stats->peak_reserved_bytes);
    record_number("held", ratio);
    record_number("call_ns", call_ns);
    record_number("kernel_us", (double)r->lasts_ns / 1e3);
    record_count("steals", stats->steals);
    record_count("stream_waits", stats->stream_waits);
    record_count("host_waits", stats->host_waits);
    record_figures(&total);
    record_end();
}

/* Returns how many bytes were held. */
static uint64_t measure_one(const program_t *program, const char *title, const server_t *server,
                            uint64_t lasts_ns, uint64_t runtime_bytes)
{
    replay_t r;
    double ms[PASSES];
    size_t passes = gpu.quick ? 1 : PASSES;
    open_replay(&r, program);
    open_server(&r, server, runtime_bytes);
    r.lasts_ns = lasts_ns;
    for (size_t i = 0; i < passes; i++)
        ms[i] = pass(&r);
    const char *who = server->options != NULL ? server->name : runtime.async_name;
    cuarena_stats_t stats = close_server(&r);
    tell(program, title, who, &stats, &r, figures_of(ms, passes));
    close_replay(&r);
    return stats.peak_reserved_bytes;
}

/* Nanoseconds that the host takes for an event with a kernel that does not last, in an arena that
 * is warm. */
static uint64_t mean_gap(const program_t *program)
{
    replay_t r;
    open_replay(&r, program);
    open_server(&r, &servers[WARM], 0);
    (void)pass(&r);
    double ms = pass(&r);
    (void)close_server(&r);
    close_replay(&r);
    return (uint64_t)(ms * 1e6 / (double)program->count);
}

static void measure(const char *path)
{
    program_t program = load(path);
    const char *slash = strrchr(path, '/');
    char title[64];
    (void)snprintf(title, sizeof title, "%.*s", (int)strcspn(slash != NULL ? slash + 1 : path, "."),
                   slash != NULL ? slash + 1 : path);
    uint64_t gap = mean_gap(&program);
    printf("\n%s, %zu events on %u streams, peak %.2f GiB; an event takes %.1f "
           "us, its kernel %d as long\n%-34s %7s %9s %9s %9s %7s %7s\n",
           title, program.count, program.streams, (double)program.peak / (double)GIB,
           (double)gap / 1e3, GAPS, "", "reserved", "total ms", "call ns", "steals", "waits",
           "host");
    uint64_t runtime_bytes = 0;
    for (const server_t *server = servers; server < servers + SERVERS; server++) {
        bool wants_runtime = server->options == NULL || server->as_runtime;
        if (wants_runtime && runtime.malloc_async == NULL)
            continue;
        uint64_t held = measure_one(&program, title, server, gap * GAPS, runtime_bytes);
        if (server->options == NULL)
            runtime_bytes = held;
    }
    free(program.events);
}

int main(int argc, char **argv)
{
    bind_visit();
    int at = gpu_open(&gpu, "stealing", argc, argv);
    expect(at < argc, "usage: bench_stealing [OPTION...] TRACE...");
    runtime_open(&runtime, &gpu);
    for (; at < argc; at++)
        measure(argv[at]);
    gpu_close(&gpu);
    return EXIT_SUCCESS;
}
