/* Streams, events, graphs. Work runs only when somebody waits for it, streams in a random order that their events
 * allow, and the nodes of a graph too: where an event is missing, work runs too early sooner or later. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUstream_st {
    struct fake_op *first, **last;
    struct CUstream_st *next;
    CUgraph capture;                              /* NULL: not captured */
    size_t after[FAKE_MAX_DEPENDENCIES], n_after; /* nodes that what is captured next comes after */
};

struct CUevent_st {
    uint64_t asked, done;
    int64_t t_ns;
    bool timed;
    CUgraph capture; /* recorded while it was captured */
    size_t after[FAKE_MAX_DEPENDENCIES], n_after;
};

/* What a graph, those that were instantiated of it, and their launches have in common: it goes with the last of them,
 * as the user objects of CUDA's graphs do. */
struct fake_held {
    size_t holders;
    const void **args; /* of launches */
    size_t n_args;
    struct {
        void (*released)(void *);
        void *arg;
    } *objects;
    size_t n_objects;
};

struct CUgraph_st {
    CUstream origin;
    struct fake_held *held;
    struct fake_op *nodes;
    size_t n, cap;
    bool invalid;
};

static struct CUstream_st *streams;
static uint64_t random_state;

static size_t random_below(size_t n)
{
    if (!random_state) random_state = (uint64_t)fake_key("seed", 1) * 2654435761u + 88172645463325252u;
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % n);
}

static bool is_stream(CUstream s)
{
    struct CUstream_st *at = streams;
    while (at && at != s) at = at->next;
    return at != NULL;
}

bool fake_stream_captured(CUstream s) { return is_stream(s) && s->capture; }

bool fake_capturing(void)
{
    for (struct CUstream_st *at = streams; at; at = at->next)
        if (at->capture) return true;
    return false;
}

CUresult fake_invalidate_captures(const char *why)
{
    for (struct CUstream_st *at = streams; at; at = at->next)
        if (at->capture) at->capture->invalid = true;
    return fake_refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s while a stream is captured", why);
}

/* ---- what graphs hold ---- */

static struct fake_held *hold(struct fake_held *h)
{
    h->holders++;
    return h;
}

static void let_go(struct fake_held *h)
{
    if (!h || --h->holders) return;
    for (size_t i = 0; i < h->n_args; i++) free((void *)h->args[i]);
    for (size_t i = 0; i < h->n_objects; i++) h->objects[i].released(h->objects[i].arg);
    free(h->args);
    free(h->objects);
    free(h);
}

static void hold_args(struct fake_held *h, const void *args)
{
    h->args = realloc(h->args, (h->n_args + 1) * sizeof *h->args);
    h->args[h->n_args++] = args;
}

int wl_fake_retain(CUstream s, void (*released)(void *), void *arg)
{
    if (!fake_stream_captured(s)) return 0;
    struct fake_held *h = s->capture->held;
    h->objects = realloc(h->objects, (h->n_objects + 1) * sizeof *h->objects);
    h->objects[h->n_objects].released = released;
    h->objects[h->n_objects++].arg = arg;
    return 1;
}

/* ---- capture ---- */

static CUresult come_after(size_t *after, size_t *n, size_t node)
{
    for (size_t i = 0; i < *n; i++)
        if (after[i] == node) return CUDA_SUCCESS;
    if (*n == FAKE_MAX_DEPENDENCIES) return fake_refuse(CUDA_ERROR_INVALID_VALUE, "too many dependencies of a node");
    after[(*n)++] = node;
    return CUDA_SUCCESS;
}

static CUresult capture(CUstream s, const struct fake_op *op)
{
    CUgraph g = s->capture;
    if (g->n == g->cap) g->nodes = realloc(g->nodes, (g->cap = 2 * g->cap + 64) * sizeof *g->nodes);
    struct fake_op *node = &g->nodes[g->n];
    *node = *op;
    if (op->kind == FAKE_LAUNCH) hold_args(g->held, op->launch.args);
    memcpy(node->after, s->after, sizeof s->after);
    node->n_after = s->n_after;
    s->after[0] = g->n++;
    s->n_after = 1;
    return CUDA_SUCCESS;
}

CUresult fake_push(CUstream s, struct fake_op op)
{
    const CUresult rc = fake_usable();
    if (rc) return rc;
    if (!is_stream(s)) return fake_refuse(CUDA_ERROR_INVALID_HANDLE, "%p is not a stream", (void *)s);
    if (s->capture) return capture(s, &op);
    struct fake_op *p = malloc(sizeof *p);
    *p = op;
    p->next = NULL;
    *s->last = p;
    s->last = &p->next;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuStreamBeginCapture_v2(CUstream s, int mode)
{
    if (mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE, "capture mode %d", mode);
    if (!is_stream(s) || s->capture) return fake_refuse(CUDA_ERROR_INVALID_VALUE, "a capture that cannot begin");
    s->capture = calloc(1, sizeof *s->capture);
    s->capture->origin = s;
    s->capture->held = hold(calloc(1, sizeof(struct fake_held)));
    s->n_after = 0;
    return fake_usable();
}

static bool is_leaf(const struct CUgraph_st *g, size_t node)
{
    for (size_t i = node + 1; i < g->n; i++)
        for (size_t k = 0; k < g->nodes[i].n_after; k++)
            if (g->nodes[i].after[k] == node) return false;
    return true;
}

/* Does all that was captured on other streams come before what the first one has last? */
static bool joined(const struct CUgraph_st *g)
{
    for (size_t i = 0; i < g->n; i++) {
        bool last = false;
        for (size_t k = 0; k < g->origin->n_after; k++) last |= g->origin->after[k] == i;
        if (is_leaf(g, i) && !last) return false;
    }
    return true;
}

FAKE_API CUresult cuGraphDestroy(CUgraph g)
{
    let_go(g->held);
    free(g->nodes);
    free(g);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuStreamEndCapture(CUstream s, CUgraph *out)
{
    CUgraph g = is_stream(s) ? s->capture : NULL;
    *out = NULL;
    if (!g || g->origin != s) return fake_refuse(CUDA_ERROR_INVALID_VALUE, "the end of a capture that has not begun");
    const bool whole = joined(g);
    for (struct CUstream_st *at = streams; at; at = at->next)
        if (at->capture == g) at->capture = NULL;
    if (!g->invalid && whole) return *out = g, CUDA_SUCCESS;
    const bool invalid = g->invalid;
    cuGraphDestroy(g);
    if (invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return fake_refuse(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a stream did not join the one that captures");
}

struct CUgraphExec_st {
    struct fake_held *held;
    struct fake_op *nodes;
    size_t n;
};

FAKE_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned long long flags)
{
    (void)flags;
    *out = calloc(1, sizeof **out);
    (*out)->n = g->n;
    (*out)->held = hold(g->held);
    (*out)->nodes = malloc((g->n + 1) * sizeof *g->nodes);
    if (g->n) memcpy((*out)->nodes, g->nodes, g->n * sizeof *g->nodes);
    return fake_usable();
}

/* What was launched goes on. */
FAKE_API CUresult cuGraphExecDestroy(CUgraphExec x)
{
    let_go(x->held);
    free(x->nodes);
    free(x);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuGraphLaunch(CUgraphExec x, CUstream s)
{
    struct fake_op op = { .kind = FAKE_GRAPH, .n_nodes = x->n };
    if (is_stream(s) && s->capture) return fake_refuse(CUDA_ERROR_INVALID_VALUE, "a graph in a graph is not simulated");
    op.held = hold(x->held);
    op.nodes = malloc((x->n + 1) * sizeof *op.nodes);
    op.done = calloc(x->n + 1, sizeof *op.done);
    if (x->n) memcpy(op.nodes, x->nodes, x->n * sizeof *op.nodes);
    for (size_t i = 0; i < x->n; i++)
        if (op.nodes[i].kind == FAKE_RECORD) op.nodes[i].ticket = ++op.nodes[i].event->asked;
    fake_counts.graphs++;
    return fake_push(s, op);
}

/* ---- streams and events ---- */

FAKE_API CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
    if (flags != CU_STREAM_NON_BLOCKING)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE, "a stream that waits for stream 0");
    *out = calloc(1, sizeof **out);
    (*out)->last = &(*out)->first;
    (*out)->next = streams;
    streams = *out;
    return fake_usable();
}

FAKE_API CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    *out = calloc(1, sizeof **out);
    (*out)->timed = !(flags & CU_EVENT_DISABLE_TIMING);
    return fake_usable();
}

FAKE_API CUresult cuEventDestroy_v2(CUevent e)
{
    free(e);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuEventRecordWithFlags(CUevent e, CUstream s, unsigned flags)
{
    struct fake_op op = { .kind = FAKE_RECORD, .event = e };
    if (!is_stream(s)) return fake_refuse(CUDA_ERROR_INVALID_HANDLE, "%p is not a stream", (void *)s);
    if (flags && !s->capture) return fake_refuse(CUDA_ERROR_INVALID_VALUE, "an external record outside of a capture");
    if (s->capture && !flags) {
        e->capture = s->capture;
        memcpy(e->after, s->after, sizeof s->after);
        e->n_after = s->n_after;
        return fake_usable();
    }
    e->capture = NULL;
    if (!s->capture) op.ticket = ++e->asked;
    return fake_push(s, op);
}

FAKE_API CUresult cuEventRecord(CUevent e, CUstream s) { return cuEventRecordWithFlags(e, s, 0); }

static CUresult wait_in_capture(CUstream s, const struct CUevent_st *e)
{
    if (!e->capture || (s->capture && s->capture != e->capture)) {
        s->capture->invalid = true;
        return fake_refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                           "a captured stream waits for what is not in its capture");
    }
    if (!s->capture) s->n_after = 0;
    s->capture = e->capture;
    CUresult rc = CUDA_SUCCESS;
    for (size_t i = 0; i < e->n_after && !rc; i++) rc = come_after(s->after, &s->n_after, e->after[i]);
    return rc;
}

FAKE_API CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags)
{
    (void)flags;
    if (!is_stream(s)) return fake_refuse(CUDA_ERROR_INVALID_HANDLE, "%p is not a stream", (void *)s);
    const CUgraph of = e->capture;
    if (s->capture || (of && fake_stream_captured(of->origin))) return wait_in_capture(s, e);
    return fake_push(s, (struct fake_op) { .kind = FAKE_WAIT, .event = e, .ticket = e->asked });
}

FAKE_API CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    if (!from->timed || !to->timed) return fake_refuse(CUDA_ERROR_INVALID_HANDLE, "the time of an event without time");
    if (from->done < from->asked || to->done < to->asked || !from->asked || !to->asked) return CUDA_ERROR_NOT_READY;
    *ms = (float)((double)(to->t_ns - from->t_ns) / 1e6);
    return fake_usable();
}

CUresult wl_fake_enqueue(CUstream s, void (*f)(void *), void *arg)
{
    return fake_push(s, (struct fake_op) { .kind = FAKE_CALL, .call = f, .arg = arg });
}

FAKE_API CUresult cuLaunchHostFunc(CUstream s, CUhostFn *f, void *arg) { return wl_fake_enqueue(s, f, arg); }

/* ---- running ---- */

/* The GPU's clock, which events read: work takes a microsecond, and what it says. So the fastest of several ways is the
 * same on a loaded machine. */
static int64_t clock_ns;

void wl_fake_spend(int64_t ns) { clock_ns += ns; }

static void launch(const struct fake_op *op)
{
    wl_sim_launch_fn *simulate = (wl_sim_launch_fn *)op->arg;
    if (++fake_counts.launches == fake_key("fault_at", -1)) fake_failed = (CUresult)fake_key("fault", 719);
    if (!fake_failed) simulate(&op->launch);
}

/* The host may not write what a copy has yet to read. */
static void copy(const struct fake_op *op)
{
    if (op->hash && op->hash != fake_hash(op->from, op->n))
        fake_failed = fake_refuse(CUDA_ERROR_ILLEGAL_ADDRESS,
                                  "the host has changed page-locked memory at %p before "
                                  "the copy of it was done",
                                  op->from);
    memcpy(op->to, op->from, op->n);
}

static void execute(const struct fake_op *op)
{
    if (op->kind != FAKE_RECORD && op->kind != FAKE_WAIT) clock_ns += 1000;
    switch (op->kind) {
    case FAKE_LAUNCH: launch(op); break;
    case FAKE_COPY: copy(op); break;
    case FAKE_SET: memset(op->to, op->byte, op->n); break;
    case FAKE_RECORD:
        op->event->done = op->ticket;
        op->event->t_ns = clock_ns;
        break;
    case FAKE_CALL: op->call(op->arg); break;
    case FAKE_WAIT:
    case FAKE_GRAPH: break;
    }
}

static bool node_ready(const struct fake_op *graph, size_t i)
{
    if (graph->done[i]) return false;
    for (size_t k = 0; k < graph->nodes[i].n_after; k++)
        if (!graph->done[graph->nodes[i].after[k]]) return false;
    return true;
}

/* One node; is the graph done? */
static bool advance_graph(struct fake_op *graph)
{
    size_t at = graph->n_nodes ? random_below(graph->n_nodes) : 0;
    if (graph->n_done == graph->n_nodes) return true;
    while (!node_ready(graph, at)) at = (at + 1) % graph->n_nodes;
    execute(&graph->nodes[at]);
    graph->done[at] = true;
    return ++graph->n_done == graph->n_nodes;
}

static bool ready(const struct CUstream_st *s)
{
    const struct fake_op *op = s->first;
    return op && !(op->kind == FAKE_WAIT && op->event->done < op->ticket);
}

/* What a stream has done, or will not do since the GPU has failed. */
static void drop_first(struct CUstream_st *s)
{
    struct fake_op *op = s->first;
    s->first = op->next;
    if (!s->first) s->last = &s->first;
    if (op->kind == FAKE_LAUNCH) free((void *)op->launch.args);
    let_go(op->held);
    free(op->nodes);
    free(op->done);
    free(op);
}

static void advance(struct CUstream_st *s)
{
    struct fake_op *op = s->first;
    if (op->kind == FAKE_GRAPH && !advance_graph(op)) return;
    if (op->kind != FAKE_GRAPH) execute(op);
    drop_first(s);
}

/* A stream that can go on, drawn at random. */
static struct CUstream_st *draw(void)
{
    struct CUstream_st *drawn = NULL;
    size_t n = 0;
    for (struct CUstream_st *s = streams; s; s = s->next)
        if (ready(s) && random_below(++n) == 0) drawn = s;
    return drawn;
}

/* Until the stream is empty, or the event's last record is done. */
static CUresult wait_for(const struct CUstream_st *s, const struct CUevent_st *e)
{
    const CUresult rc = fake_usable();
    if (rc) return rc;
    if (fake_capturing()) return fake_invalidate_captures("a wait");
    fake_counts.waits++;
    fake_open_memory(true);
    while (s ? s->first != NULL : e->done < e->asked) {
        struct CUstream_st *next = draw();
        if (!next) {
            fprintf(stderr, "fake libcuda: no stream can go on: an event is waited for that is never recorded\n");
            abort();
        }
        advance(next);
    }
    fake_open_memory(false);
    return fake_failed;
}

FAKE_API CUresult cuStreamSynchronize(CUstream s)
{
    if (!is_stream(s)) return fake_refuse(CUDA_ERROR_INVALID_HANDLE, "%p is not a stream", (void *)s);
    return wait_for(s, NULL);
}

FAKE_API CUresult cuEventSynchronize(CUevent e) { return wait_for(NULL, e); }

FAKE_API CUresult cuStreamDestroy_v2(CUstream s)
{
    struct CUstream_st **at = &streams;
    if (s->first && !fake_failed) wait_for(s, NULL);
    while (s->first) drop_first(s);
    while (*at && *at != s) at = &(*at)->next;
    if (*at) *at = s->next;
    free(s);
    return CUDA_SUCCESS;
}
