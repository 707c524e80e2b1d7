/* How long a kernel takes. */
#include "nn/cpu/conv.h"

#include <string.h>

/* A single run may be disturbed by something else on the machine. */
enum { MIN_RUNS = 2, MAX_RUNS = 8, ENOUGH_NS = 40000000 };

static const int arguments[] = { DNNL_ARG_SRC,       DNNL_ARG_WEIGHTS,      DNNL_ARG_BIAS,
                                 DNNL_ARG_DST,       DNNL_ARG_DIFF_SRC,     DNNL_ARG_DIFF_DST,
                                 DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_SCRATCHPAD };

struct measured {
    struct wl_cpu *cpu;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[WL_COUNT(arguments)];
    int n;
};

static int add_argument(struct wl_cpu *c, struct measured *m, int arg, wl_md md, struct wl_err *e)
{
    size_t bytes = wl_md_bytes(md);
    void *at = wl_host_pages(c->arena, bytes, "measuring a kernel", e);
    if (!at) return WL_ENOMEM;
    memset(at, WL_TIME_FILLING, bytes);
    m->args[m->n].arg = arg;
    return wl_dnnl_check(dnnl_memory_create(&m->args[m->n++].memory, md, c->engine, at), "memory", e);
}

static int prepare(struct wl_cpu *c, struct measured *m, const_dnnl_primitive_desc_t pd, struct wl_err *e)
{
    int rc = wl_cpu_primitive_new(&m->primitive, pd, "measuring a kernel", e);
    for (size_t i = 0; i < WL_COUNT(arguments) && !rc; i++) {
        wl_md md = wl_pd_md(pd, arguments[i]);
        if (md) rc = add_argument(c, m, arguments[i], md, e);
    }
    return rc;
}

static int execute(void *context, struct wl_err *e)
{
    const struct measured *m = context;
    dnnl_status_t s = dnnl_primitive_execute(m->primitive, m->cpu->stream, m->n, m->args);
    if (!s) s = dnnl_stream_wait(m->cpu->stream);
    return wl_dnnl_check(s, "measuring a kernel", e);
}

int wl_cpu_time_fastest(int (*run)(void *context, struct wl_err *e), void *context, double *seconds, struct wl_err *e)
{
    int64_t best_ns = INT64_MAX, total_ns = 0;
    int rc = 0;
    for (int i = 0; (i < MIN_RUNS || (i < MAX_RUNS && total_ns < ENOUGH_NS)) && !rc; i++) {
        const int64_t start_ns = wl_now_ns();
        rc = run(context, e);
        const int64_t ns = wl_now_ns() - start_ns;
        total_ns += ns;
        if (ns < best_ns) best_ns = ns;
    }
    *seconds = (double)best_ns / (double)WL_NS_PER_S;
    return rc;
}

int wl_cpu_time_primitive(struct wl_cpu *c, const_dnnl_primitive_desc_t pd, double *seconds, struct wl_err *e)
{
    struct wl_cpu scratch = *c;
    scratch.arena = wl_arena_new(c->arena);
    struct measured m = { .cpu = &scratch };
    int rc = prepare(&scratch, &m, pd, e);
    if (!rc) rc = wl_cpu_time_fastest(execute, &m, seconds, e);
    for (int i = 0; i < m.n; i++) dnnl_memory_destroy(m.args[i].memory);
    dnnl_primitive_destroy(m.primitive);
    wl_arena_free(scratch.arena);
    return rc;
}
