/*
 * That the stand-in tells a missing wait where there is one and only there: random programs, some
 * with too few waits, against a model that keeps the order of all their work byte by byte.
 */
#include "support/expect.h"
#include "support/random.h"
#include "support/standin_fixture.h"

#include <stdio.h>
#include <string.h>

#define STREAMS 3
#define EVENTS 3
#define BYTES 48
#define STEPS 14

/* How far each stream has got, as seen from one point. */
typedef struct view {
    unsigned at[STREAMS];
} view_t;

typedef struct access {
    unsigned stream;
    unsigned at; /* 0: none */
} access_t;

typedef struct model {
    view_t streams[STREAMS]; /* each one's own view, itself included */
    view_t events[EVENTS];
    view_t host; /* what the host has waited for */
    access_t writer[BYTES];
    unsigned readers[BYTES][STREAMS]; /* since the writer; 0: none */
    bool raced;
} model_t;

typedef struct program {
    random_state_t random;
    CUstream streams[STREAMS];
    CUevent events[EVENTS];
    CUdeviceptr at;
    CUdeviceptr source;
    model_t model;
} program_t;

static void join(view_t *view, const view_t *other)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        if (view->at[i] < other->at[i])
            view->at[i] = other->at[i];
    }
}

static void model_touch(model_t *m, unsigned stream, unsigned byte, bool writes)
{
    const view_t *view = &m->streams[stream];
    const access_t *writer = &m->writer[byte];
    if (writer->at > view->at[writer->stream])
        m->raced = true;
    for (unsigned i = 0; writes && i < STREAMS; i++) {
        if (m->readers[byte][i] > view->at[i])
            m->raced = true;
        m->readers[byte][i] = 0;
    }
    if (writes)
        m->writer[byte] = (access_t){stream, view->at[stream]};
    else
        m->readers[byte][stream] = view->at[stream];
}

static unsigned any(program_t *p, unsigned bound)
{
    return (unsigned)random_below(&p->random, bound);
}

static void touch(program_t *p, unsigned stream)
{
    unsigned first = any(p, BYTES);
    unsigned count = 1 + any(p, BYTES - first);
    bool writes = any(p, 2) != 0;
    join(&p->model.streams[stream], &p->model.host);
    p->model.streams[stream].at[stream]++;
    for (unsigned i = first; i < first + count; i++)
        model_touch(&p->model, stream, i, writes);
    if (writes)
        driver_ok(driver.cuMemsetD8Async(p->at + first, 1, count, p->streams[stream]));
    else
        driver_ok(driver.cuMemcpyDtoDAsync(p->source + 64 * stream, p->at + first, count,
                                           p->streams[stream]));
}

static void record(program_t *p, unsigned stream)
{
    unsigned event = any(p, EVENTS);
    join(&p->model.streams[stream], &p->model.host);
    p->model.events[event] = p->model.streams[stream];
    driver_ok(driver.cuEventRecord(p->events[event], p->streams[stream]));
}

static void wait(program_t *p, unsigned stream)
{
    unsigned event = any(p, EVENTS);
    join(&p->model.streams[stream], &p->model.events[event]);
    driver_ok(driver.cuStreamWaitEvent(p->streams[stream], p->events[event], 0));
}

static void look(program_t *p)
{
    unsigned event = any(p, EVENTS);
    if (driver.cuEventQuery(p->events[event]) == CUDA_SUCCESS)
        join(&p->model.host, &p->model.events[event]);
}

static void run(program_t *p)
{
    for (int i = 0; i < STEPS; i++) {
        unsigned stream = any(p, STREAMS);
        unsigned what = any(p, 10);
        if (what < 3)
            touch(p, stream);
        else if (what < 6)
            record(p, stream);
        else if (what < 9)
            wait(p, stream);
        else
            look(p);
    }
    driver_ok(driver.cuCtxSynchronize());
}

/* Whether the program races, and the stand-in said so. */
static bool run_seed(unsigned seed)
{
    char text[16];
    program_t p = {.random = {seed}};
    snprintf(text, sizeof(text), "%u", seed);
    standin->standin_configure("SEED", text);
    p.at = new_memory(BYTES);
    p.source = new_memory(64 * STREAMS);
    for (int i = 0; i < STREAMS; i++)
        p.streams[i] = driver_new_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < EVENTS; i++)
        p.events[i] = driver_new_event();
    run(&p);
    bool told = driver_reports(STANDIN_MISSING_WAIT) != 0;
    if (told != p.model.raced) {
        ck_abort_msg("seed %u: expected %s, got %s", seed,
                     p.model.raced ? "a missing wait" : "no report",
                     standin->standin_report_text(0));
    }
    driver_reports_clear();
    for (int i = 0; i < STREAMS; i++)
        driver_ok(driver.cuStreamDestroy(p.streams[i]));
    for (int i = 0; i < EVENTS; i++)
        driver_ok(driver.cuEventDestroy(p.events[i]));
    driver_ok(driver.cuMemFree(p.at));
    driver_ok(driver.cuMemFree(p.source));
    return told;
}

START_TEST(missing_waits_are_told_and_nothing_else)
{
    unsigned raced = 0;
    for (unsigned seed = 1; seed <= 2000; seed++)
        raced += run_seed(seed);
    expect_between(raced, 200, 1800); /* else it shows little */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("standin_order");
    TCase *tcase =
        suite_add_list(suite, "order", TEST_LIST(missing_waits_are_told_and_nothing_else));
    tcase_add_checked_fixture(tcase, one_device, nothing_left);
    return standin_main(suite);
}
