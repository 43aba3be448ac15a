#include "work.h"

#include "call.h"
#include "context.h"
#include "space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    sd_line_t **list; /* by id */
    uint32_t count;
    sd_line_t **busy; /* those with work, in the order in which they got it */
    uint32_t busy_count;
    sd_clock_t observed; /* what the host has seen complete */
    size_t pending;
} lines;

/* ---- Units ------------------------------------------------------------- */

void *sd_work_new(const sd_work_class_t *class, struct sd_context *context)
{
    sd_work_t *work = calloc(1, class->bytes);
    if (work == NULL)
        sd_die("the host is out of memory");
    work->class = class;
    work->context = context;
    work->call = sd_thread.call != NULL ? sd_thread.call : class->name;
    return work;
}

sd_work_t *sd_work_copy(const sd_work_t *work)
{
    sd_work_t *copy = malloc(work->class->bytes);
    if (copy == NULL)
        sd_die("the host is out of memory");
    memcpy(copy, work, work->class->bytes);
    copy->next = NULL;
    copy->line = NULL;
    copy->pattern = false;
    copy->clock = (sd_clock_t){NULL, 0, 0};
    for (unsigned i = 0; i < copy->use_count; i++)
        sd_bytes_use(copy->uses[i]);
    if (work->class->copied != NULL)
        work->class->copied(copy);
    return copy;
}

void sd_work_free(sd_work_t *work)
{
    if (work->class->drop != NULL)
        work->class->drop(work);
    for (unsigned i = 0; i < work->use_count; i++) {
        if (work->pattern)
            sd_bytes_release(work->uses[i]);
        else
            sd_bytes_unuse(work->uses[i]);
    }
    sd_clock_free(&work->clock);
    free(work);
}

void sd_work_make_pattern(sd_work_t *work)
{
    for (unsigned i = 0; i < work->use_count; i++) {
        sd_bytes_hold(work->uses[i]);
        sd_bytes_unuse(work->uses[i]);
    }
    work->pattern = true;
}

void sd_work_uses(sd_work_t *work, sd_bytes_t *bytes)
{
    for (unsigned i = 0; i < work->use_count; i++) {
        if (work->uses[i] == bytes)
            return;
    }
    if (work->use_count < SD_USES_MAX) {
        work->uses[work->use_count++] = bytes;
        sd_bytes_use(bytes);
    }
}

const char *sd_work_text(const sd_work_t *work, char *text, size_t room)
{
    snprintf(text, room, "%s on stream %llu", work->call,
             (unsigned long long)work->line->stream_id);
    return text;
}

/* ---- Lines ------------------------------------------------------------- */

sd_line_t *sd_line_of(uint32_t id)
{
    return lines.list[id];
}

sd_line_t *sd_line_new(struct sd_context *context, uint64_t stream_id, bool barrier)
{
    sd_line_t *line = calloc(1, sizeof(*line));
    sd_line_t **list = realloc(lines.list, (lines.count + 1) * sizeof(*lines.list));
    sd_line_t **busy = realloc(lines.busy, (lines.count + 1) * sizeof(*lines.busy));
    if (line == NULL || list == NULL || busy == NULL)
        sd_die("the host is out of memory");
    lines.list = list;
    lines.busy = busy;
    line->id = lines.count;
    line->context = context;
    line->stream_id = stream_id;
    line->barrier = barrier;
    list[lines.count++] = line;
    return line;
}

static sd_tick_t line_end(const sd_line_t *line)
{
    return (sd_tick_t){line->id, line->submitted};
}

void sd_barriers_submitted(const struct sd_context *context, sd_clock_t *clock)
{
    for (uint32_t i = 0; i < lines.count; i++) {
        if (lines.list[i]->barrier && lines.list[i]->context == context)
            sd_clock_join(clock, &lines.list[i]->clock);
    }
}

/* The legacy stream waits for all streams that are barriers to it, and they
 * for it. */
static void join_barriers(sd_line_t *line)
{
    if (!line->barrier)
        return;
    if (line == line->context->legacy)
        sd_barriers_submitted(line->context, &line->clock);
    else
        sd_clock_join(&line->clock, &line->context->legacy->clock);
}

static void drop_idle(sd_clock_t *clock)
{
    size_t kept = 0;
    for (size_t i = 0; i < clock->count; i++) {
        if (!sd_idle(clock->ticks[i]))
            clock->ticks[kept++] = clock->ticks[i];
    }
    clock->count = kept;
}

static void begin_work(sd_line_t *line, sd_work_t *work)
{
    line->first = work;
    lines.busy[lines.busy_count++] = line;
}

static void end_work(sd_line_t *line)
{
    uint32_t i = 0;
    while (lines.busy[i] != line)
        i++;
    memmove(&lines.busy[i], &lines.busy[i + 1], (lines.busy_count - i - 1) * sizeof(*lines.busy));
    lines.busy_count--;
    line->last = NULL;
}

void sd_line_submit(sd_line_t *line, sd_work_t *work, const sd_clock_t *after)
{
    join_barriers(line);
    sd_clock_join(&line->clock, &lines.observed);
    if (after != NULL)
        sd_clock_join(&line->clock, after);
    drop_idle(&line->clock);
    work->line = line;
    work->at = ++line->submitted;
    sd_clock_raise(&line->clock, line_end(line));
    sd_clock_set(&work->clock, &line->clock);
    if (line->last != NULL)
        line->last->next = work;
    else
        begin_work(line, work);
    line->last = work;
    lines.pending++;
}

void sd_submitted(const struct sd_context *context, sd_clock_t *clock)
{
    for (uint32_t i = 0; i < lines.count; i++) {
        if (context == NULL || lines.list[i]->context == context)
            sd_clock_join(clock, &lines.list[i]->clock);
    }
}

/* ---- What is known ----------------------------------------------------- */

bool sd_idle(sd_tick_t tick)
{
    return tick.at == 0 || lines.list[tick.line]->idle >= tick.at;
}

bool sd_observed(sd_tick_t tick)
{
    return sd_idle(tick) || sd_clock_covers(&lines.observed, tick);
}

bool sd_work_after(const sd_work_t *work, sd_tick_t tick)
{
    return sd_idle(tick) || sd_clock_covers(&work->clock, tick);
}

/* With nothing queued, all that the host has seen lies before all to come. */
static void reclaim(void)
{
    if (lines.pending != 0)
        return;
    for (size_t i = 0; i < lines.observed.count; i++) {
        sd_tick_t tick = lines.observed.ticks[i];
        sd_line_t *line = lines.list[tick.line];
        if (tick.at > line->idle) /* another thread may have seen more */
            line->idle = tick.at;
    }
    lines.observed.count = 0;
}

void sd_observe(const sd_clock_t *clock)
{
    sd_clock_join(&lines.observed, clock);
    reclaim();
}

static bool tick_complete(sd_tick_t tick)
{
    return lines.list[tick.line]->completed >= tick.at;
}

bool sd_complete(const sd_clock_t *clock)
{
    for (size_t i = 0; i < clock->count; i++) {
        if (!tick_complete(clock->ticks[i]))
            return false;
    }
    return true;
}

/* ---- Running ----------------------------------------------------------- */

/* Whether all but the unit itself is complete. */
static bool may_run(const sd_work_t *work)
{
    for (size_t i = 0; i < work->clock.count; i++) {
        sd_tick_t tick = work->clock.ticks[i];
        if (tick.line == work->line->id)
            tick.at = work->at - 1;
        if (!tick_complete(tick))
            return false;
    }
    return !work->running;
}

static void finish(sd_work_t *work)
{
    sd_line_t *line = work->line;
    line->first = work->next;
    if (line->first == NULL)
        end_work(line);
    line->completed = work->at;
    lines.pending--;
    sd_work_free(work);
    reclaim();
}

/* Work of a lost context ends without being done. */
static bool run(sd_work_t *work)
{
    standin_step_t step = STANDIN_DONE;
    if (work->context->lost == CUDA_SUCCESS)
        step = work->class->step(work);
    if (step == STANDIN_FAULT) {
        sd_context_lose(work->context, CUDA_ERROR_ILLEGAL_ADDRESS);
        step = STANDIN_DONE;
    }
    if (step == STANDIN_DONE)
        finish(work);
    return step != STANDIN_BLOCKED;
}

bool sd_work_step(void)
{
    uint32_t count = lines.busy_count;
    uint32_t start = (uint32_t)random_below(&sd_random, count);
    for (uint32_t i = 0; i < count && lines.busy_count == count; i++) {
        sd_work_t *first = lines.busy[(start + i) % count]->first;
        if (may_run(first) && run(first))
            return true;
    }
    return false;
}

static void run_some(uint64_t steps)
{
    while (steps-- != 0 && sd_work_step())
        ;
}

void sd_work_amble(void)
{
    if (random_below(&sd_random, 256) < sd_options.pace)
        run_some(1 + random_below(&sd_random, 3));
}

void sd_work_nudge(void)
{
    run_some(random_below(&sd_random, 4));
}

size_t sd_work_pending(void)
{
    return lines.pending;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Nothing could move: another thread may change that, for a while. */
static void wait_for_others(double *since)
{
    double now = seconds();
    if (*since == 0)
        *since = now;
    if (now - *since > sd_options.patience) {
        sd_crash(STANDIN_DEADLOCK, "%zu units of work are queued and none can run", lines.pending);
    }
    sd_pause();
}

void sd_wait(const sd_clock_t *clock)
{
    sd_clock_t target = {NULL, 0, 0};
    double stuck_since = 0;
    sd_clock_set(&target, clock);
    while (!sd_complete(&target)) {
        if (sd_work_step())
            stuck_since = 0;
        else
            wait_for_others(&stuck_since);
    }
    sd_observe(&target);
    sd_clock_free(&target);
}

/* ---- Control ----------------------------------------------------------- */

size_t standin_run(size_t steps)
{
    size_t done = 0;
    sd_lock();
    while (done < steps && sd_work_step())
        done++;
    sd_unlock();
    return done;
}

size_t standin_pending(void)
{
    sd_lock();
    size_t count = lines.pending;
    sd_unlock();
    return count;
}
