#include "capture.h"

#include "call.h"
#include "context.h"
#include "user_object.h"

#include <stdlib.h>
#include <string.h>

typedef struct node {
    sd_work_t *work; /* a pattern that launches copy */
    unsigned branch;
    size_t *after; /* nodes */
    size_t after_count;
} node_t;

typedef struct branch {
    sd_stream_t *stream; /* NULL: it was destroyed */
    size_t *last;        /* nodes that the next one comes after */
    size_t last_count;
} branch_t;

typedef struct graph {
    sd_object_t object;
    node_t *nodes;
    size_t node_count;
    unsigned branch_count;
    sd_keeps_t keeps;
} graph_t;

typedef struct sd_capture {
    uint64_t id;
    bool active; /* it goes on */
    bool broken;
    CUstreamCaptureMode mode;
    uint32_t thread;
    sd_context_t *context;
    node_t *nodes;
    size_t node_count;
    branch_t *branches; /* the first is where it began */
    unsigned branch_count;
    struct sd_capture *next;
} sd_capture_t;

static sd_capture_t *captures;
static uint64_t last_id;

static void *grown(void *list, size_t count, size_t size)
{
    list = realloc(list, (count + 1) * size);
    if (list == NULL)
        sd_die("the host is out of memory");
    return list;
}

/* ---- Asking ------------------------------------------------------------ */

static sd_capture_t *capture_of(const sd_target_t *target)
{
    return target->stream != NULL ? target->stream->capture : NULL;
}

bool sd_captures(const sd_target_t *target)
{
    return capture_of(target) != NULL;
}

bool sd_capture_is_broken(const sd_target_t *target)
{
    const sd_capture_t *capture = capture_of(target);
    return capture != NULL && capture->broken;
}

bool sd_capture_holds(const sd_event_t *event)
{
    return event->capture != NULL && event->capture->active &&
           event->capture->id == event->capture_id;
}

static CUresult broken(sd_capture_t *capture, CUresult error)
{
    capture->broken = true;
    return error;
}

/* A capture of a stream that the legacy one waits for; NULL: there is none. */
static sd_capture_t *legacy_captures(const sd_target_t *target)
{
    for (sd_capture_t *at = captures; at != NULL; at = at->next) {
        for (unsigned i = 0; at->active && i < at->branch_count; i++) {
            sd_stream_t *stream = at->branches[i].stream;
            if (stream != NULL && stream->line->barrier && at->context == target->context)
                return at;
        }
    }
    return NULL;
}

/* The legacy stream may not be used then. */
static CUresult legacy_forbidden(const sd_target_t *target)
{
    sd_capture_t *capture = legacy_captures(target);
    return capture == NULL ? CUDA_SUCCESS : broken(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

CUresult sd_capture_forbids_all(const sd_context_t *context)
{
    CUresult result = CUDA_SUCCESS;
    for (sd_capture_t *at = captures; at != NULL; at = at->next)
        if (at->active && at->context == context)
            result = broken(at, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return result;
}

CUresult sd_capture_forbids(const sd_target_t *target)
{
    sd_capture_t *capture = capture_of(target);
    if (capture != NULL)
        return broken(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (target->line == target->context->legacy)
        return legacy_forbidden(target);
    return CUDA_SUCCESS;
}

static bool is_unsafe_in(const sd_capture_t *capture)
{
    CUstreamCaptureMode mode = sd_thread.capture_mode;
    if (!capture->active || mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (capture->thread == sd_thread.id)
        return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult sd_capture_forbids_unsafe(void)
{
    CUresult result = CUDA_SUCCESS;
    for (sd_capture_t *at = captures; at != NULL; at = at->next) {
        if (is_unsafe_in(at))
            result = broken(at, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return result;
}

/* ---- Writing ----------------------------------------------------------- */

static unsigned add_branch(sd_capture_t *capture, sd_stream_t *stream)
{
    capture->branches = grown(capture->branches, capture->branch_count, sizeof(branch_t));
    capture->branches[capture->branch_count] = (branch_t){stream, NULL, 0};
    stream->capture = capture;
    stream->capture_branch = capture->branch_count;
    return capture->branch_count++;
}

static void await_node(branch_t *branch, size_t node)
{
    branch->last = grown(branch->last, branch->last_count, sizeof(size_t));
    branch->last[branch->last_count++] = node;
}

/* The node comes after all that the branch waits for, and then is what it waits for. */
static size_t add_node(sd_capture_t *capture, unsigned index, sd_work_t *work)
{
    branch_t *branch = &capture->branches[index];
    capture->nodes = grown(capture->nodes, capture->node_count, sizeof(node_t));
    capture->nodes[capture->node_count] = (node_t){work, index, branch->last, branch->last_count};
    branch->last = NULL;
    branch->last_count = 0;
    sd_work_make_pattern(work);
    await_node(branch, capture->node_count);
    return capture->node_count++;
}

CUresult sd_capture_take(const sd_target_t *target, sd_work_t *work, bool *taken)
{
    sd_capture_t *capture = capture_of(target);
    *taken = false;
    if (capture == NULL)
        return target->line == target->context->legacy ? legacy_forbidden(target) : CUDA_SUCCESS;
    if (capture->broken)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    add_node(capture, target->stream->capture_branch, work);
    *taken = true;
    return CUDA_SUCCESS;
}

CUresult sd_capture_record(const sd_target_t *target, sd_event_t *event, bool *taken)
{
    sd_capture_t *capture = capture_of(target);
    *taken = false;
    if (capture == NULL)
        return CUDA_SUCCESS;
    if (capture->broken)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    unsigned branch = target->stream->capture_branch;
    event->capture_node = add_node(capture, branch, sd_work_nothing(target->context));
    event->capture = capture;
    event->capture_id = capture->id;
    event->capture_branch = branch;
    *taken = true;
    return CUDA_SUCCESS;
}

CUresult sd_capture_wait(const sd_target_t *target, const sd_event_t *event, bool *taken)
{
    sd_capture_t *own = capture_of(target);
    *taken = false;
    if (!sd_capture_holds(event)) {
        if (own == NULL)
            return CUDA_SUCCESS;
        return own->broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                           : broken(own, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    }
    if (target->stream == NULL)
        return broken(event->capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (own != NULL && own != event->capture)
        return broken(own, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    if (event->capture->broken)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    unsigned branch =
        own != NULL ? target->stream->capture_branch : add_branch(event->capture, target->stream);
    await_node(&event->capture->branches[branch], event->capture_node);
    *taken = true;
    return CUDA_SUCCESS;
}

void sd_capture_forget(sd_stream_t *stream)
{
    if (stream->capture == NULL)
        return;
    stream->capture->broken = true;
    stream->capture->branches[stream->capture_branch].stream = NULL;
    stream->capture = NULL;
}

/* ---- Begin and end ----------------------------------------------------- */

static CUresult begin(CUstream handle, CUstreamCaptureMode mode)
{
    sd_target_t target = sd_target(handle);
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (target.stream == NULL)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (target.stream->capture != NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    sd_capture_t *capture = calloc(1, sizeof(*capture));
    if (capture == NULL)
        sd_die("the host is out of memory");
    capture->id = ++last_id;
    capture->active = true;
    capture->mode = mode;
    capture->thread = sd_thread.id;
    capture->context = target.context;
    capture->next = captures;
    captures = capture;
    add_branch(capture, target.stream);
    return CUDA_SUCCESS;
}

/* Whether every node comes before something that the first branch has waited for. */
static bool is_joined(const sd_capture_t *capture)
{
    bool joined = true;
    bool *seen = calloc(capture->node_count + 1, sizeof(*seen));
    const branch_t *origin = &capture->branches[0];
    if (seen == NULL)
        sd_die("the host is out of memory");
    for (size_t i = 0; i < origin->last_count; i++)
        seen[origin->last[i]] = true;
    for (size_t i = capture->node_count; i-- != 0;) {
        const node_t *node = &capture->nodes[i];
        for (size_t j = 0; seen[i] && j < node->after_count; j++)
            seen[node->after[j]] = true;
        joined &= seen[i];
    }
    free(seen);
    return joined;
}

static void free_nodes(node_t *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sd_work_free(nodes[i].work);
        free(nodes[i].after);
    }
    free(nodes);
}

/* The streams are free again; the record itself stays, for events that still point to it. */
static void close_capture(sd_capture_t *capture)
{
    for (unsigned i = 0; i < capture->branch_count; i++) {
        if (capture->branches[i].stream != NULL)
            capture->branches[i].stream->capture = NULL;
        free(capture->branches[i].last);
    }
    free(capture->branches);
    capture->branches = NULL;
    capture->active = false;
}

static void end_graph(sd_object_t *object)
{
    graph_t *graph = (graph_t *)(void *)object;
    const sd_clock_t nothing = {NULL, 0, 0};
    sd_keeps_drop(&graph->keeps, &nothing);
    free_nodes(graph->nodes, graph->node_count);
}

struct sd_keeps *sd_graph_keeps(CUgraph handle)
{
    graph_t *graph = sd_object_get(handle, SD_GRAPH_OBJECT);
    return &graph->keeps;
}

static CUgraph make_graph(sd_capture_t *capture)
{
    graph_t *graph = sd_object_new(SD_GRAPH_OBJECT, sizeof(*graph), NULL);
    graph->object.end = end_graph;
    graph->nodes = capture->nodes;
    graph->node_count = capture->node_count;
    graph->branch_count = capture->branch_count;
    return (CUgraph)(void *)graph;
}

static CUresult check_end(const sd_target_t *target, const sd_capture_t *capture)
{
    if (capture == NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (target->stream->capture_branch != 0)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != sd_thread.id)
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    return CUDA_SUCCESS;
}

static CUresult end(CUstream handle, CUgraph *graph)
{
    sd_target_t target = sd_target(handle);
    sd_capture_t *capture = capture_of(&target);
    CUresult result = check_end(&target, capture);
    if (result != CUDA_SUCCESS)
        return result;
    if (capture->broken)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(capture))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (graph != NULL)
        *graph = result == CUDA_SUCCESS ? make_graph(capture) : NULL;
    if (result != CUDA_SUCCESS)
        free_nodes(capture->nodes, capture->node_count);
    close_capture(capture);
    return result;
}

static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode before = sd_thread.capture_mode;
    if (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    sd_thread.capture_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

static CUstreamCaptureStatus status_of(const sd_capture_t *capture)
{
    if (capture == NULL)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* Dependencies are not told: nobody here adds nodes by hand. */
static CUresult get_info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                         CUgraph *graph, const CUgraphNode **after, size_t *count)
{
    sd_target_t target = sd_target(stream);
    sd_capture_t *capture = capture_of(&target);
    if (status == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (target.line == target.context->legacy && legacy_captures(&target) != NULL)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT; /* asking breaks nothing */
    *status = status_of(capture);
    if (id != NULL && capture != NULL)
        *id = capture->id;
    if (graph != NULL)
        *graph = NULL;
    if (after != NULL)
        *after = NULL;
    if (count != NULL)
        *count = 0;
    return CUDA_SUCCESS;
}

SD_ENTRY_BOTH(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
              begin(stream, mode))
SD_ENTRY_BOTH(cuStreamEndCapture, (CUstream stream, CUgraph *graph), end(stream, graph))
SD_ENTRY_BOTH(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status),
              get_info(stream, status, NULL, NULL, NULL, NULL))
SD_ENTRY_BOTH(cuStreamGetCaptureInfo_v2,
              (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
               const CUgraphNode **after, size_t *count),
              get_info(stream, status, id, graph, after, count))
SD_ENTRY_BOTH(cuStreamGetCaptureInfo_v3,
              (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
               const CUgraphNode **after, const CUgraphEdgeData **edges, size_t *count),
              ((void)edges, get_info(stream, status, id, graph, after, count)))
SD_ENTRY(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode,
         (CUstreamCaptureMode * mode), exchange_mode(mode))

/* ---- Graphs ------------------------------------------------------------ */

typedef struct exec {
    sd_object_t object;
    node_t *nodes;
    size_t node_count;
    sd_line_t **lines; /* one per branch, made at the first launch */
    unsigned branch_count;
    sd_keeps_t keeps;
} exec_t;

static node_t copy_node(const node_t *node)
{
    node_t copy = *node;
    copy.work = sd_work_copy(node->work);
    sd_work_make_pattern(copy.work);
    copy.after = calloc(node->after_count + 1, sizeof(size_t));
    if (copy.after == NULL)
        sd_die("the host is out of memory");
    for (size_t i = 0; i < node->after_count; i++)
        copy.after[i] = node->after[i];
    return copy;
}

static void end_exec(sd_object_t *object)
{
    exec_t *exec = (exec_t *)(void *)object;
    sd_clock_t launched = {NULL, 0, 0};
    for (unsigned i = 0; i < exec->branch_count; i++)
        if (exec->lines[i] != NULL)
            sd_clock_join(&launched, &exec->lines[i]->clock);
    sd_keeps_drop(&exec->keeps, &launched);
    sd_clock_free(&launched);
    free_nodes(exec->nodes, exec->node_count);
    free(exec->lines);
}

static CUresult instantiate(CUgraphExec *handle, CUgraph from, unsigned long long flags)
{
    graph_t *graph = sd_object_get(from, SD_GRAPH_OBJECT);
    if (handle == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    exec_t *exec = sd_object_new(SD_EXEC_OBJECT, sizeof(*exec), NULL);
    exec->object.end = end_exec;
    exec->branch_count = graph->branch_count;
    exec->node_count = graph->node_count;
    exec->nodes = calloc(graph->node_count + 1, sizeof(node_t));
    exec->lines = calloc(graph->branch_count + 1, sizeof(*exec->lines));
    if (exec->nodes == NULL || exec->lines == NULL)
        sd_die("the host is out of memory");
    for (size_t i = 0; i < graph->node_count; i++)
        exec->nodes[i] = copy_node(&graph->nodes[i]);
    sd_keeps_copy(&exec->keeps, &graph->keeps);
    *handle = (CUgraphExec)(void *)exec;
    return CUDA_SUCCESS;
}

/* Submits the nodes after `begin`; joins to `done` what their ends are. */
static void submit_nodes(exec_t *exec, const sd_clock_t *begin, sd_clock_t *done)
{
    sd_clock_t *ends = calloc(exec->node_count + 1, sizeof(*ends));
    if (ends == NULL)
        sd_die("the host is out of memory");
    for (size_t i = 0; i < exec->node_count; i++) {
        const node_t *node = &exec->nodes[i];
        sd_clock_t after = {NULL, 0, 0};
        sd_clock_set(&after, begin);
        for (size_t j = 0; j < node->after_count; j++)
            sd_clock_join(&after, &ends[node->after[j]]);
        sd_line_t *line = exec->lines[node->branch];
        sd_line_submit(line, sd_work_copy(node->work), &after);
        sd_clock_set(&ends[i], &line->clock);
        sd_clock_join(done, &ends[i]);
        sd_clock_free(&after);
    }
    for (size_t i = 0; i < exec->node_count; i++)
        sd_clock_free(&ends[i]);
    free(ends);
}

static CUresult launch(CUgraphExec handle, CUstream stream)
{
    exec_t *exec = sd_object_get(handle, SD_EXEC_OBJECT);
    sd_target_t target = sd_target(stream);
    CUresult result = sd_capture_forbids(&target);
    if (result != CUDA_SUCCESS)
        return result;
    sd_clock_t done = {NULL, 0, 0};
    for (unsigned i = 0; i < exec->branch_count; i++) {
        if (exec->lines[i] == NULL)
            exec->lines[i] = sd_line_new(target.context, exec->object.id, false);
        sd_clock_join(&done, &exec->lines[i]->clock); /* its last launch */
    }
    result = sd_submit(&target, sd_work_nothing(target.context), &done);
    if (result == CUDA_SUCCESS) {
        submit_nodes(exec, &target.line->clock, &done);
        result = sd_submit(&target, sd_work_nothing(target.context), &done);
    }
    sd_clock_free(&done);
    return result;
}

static CUresult destroy_exec(CUgraphExec handle)
{
    exec_t *exec = sd_object_get(handle, SD_EXEC_OBJECT);
    sd_object_kill(&exec->object);
    return CUDA_SUCCESS;
}

static CUresult destroy_graph(CUgraph handle)
{
    graph_t *graph = sd_object_get(handle, SD_GRAPH_OBJECT);
    sd_object_kill(&graph->object);
    return CUDA_SUCCESS;
}

SD_ENTRY(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,
         (CUgraphExec * exec, CUgraph graph, unsigned long long flags),
         instantiate(exec, graph, flags))
SD_ENTRY_BOTH(cuGraphLaunch, (CUgraphExec exec, CUstream stream), launch(exec, stream))
SD_ENTRY(cuGraphExecDestroy, cuGraphExecDestroy, (CUgraphExec exec), destroy_exec(exec))
SD_ENTRY(cuGraphDestroy, cuGraphDestroy, (CUgraph graph), destroy_graph(graph))
