#include "nn/cpu/timing.h"

#include "nn/cpu/cpu.h"
#include "nn/threads.h"

#include <string.h>

/* ---- what is run ---- */

void wl_timings_add(struct wl_timings *t, int (*run)(void *context, struct wl_err *e), void *context, int64_t times)
{
    WL_GROW(t->arena, t->v, t->n, t->cap);
    t->v[t->n++] = (struct wl_timed) { .run = run, .context = context, .times = times, .best_ns = INT64_MAX };
}

static const int arguments[] = { DNNL_ARG_SRC,       DNNL_ARG_WEIGHTS,      DNNL_ARG_BIAS,
                                 DNNL_ARG_DST,       DNNL_ARG_DIFF_SRC,     DNNL_ARG_DIFF_DST,
                                 DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_SCRATCHPAD };

struct timed_primitive {
    struct wl_cpu *cpu;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[WL_COUNT(arguments)];
    int n;
};

static void destroy(void *context)
{
    struct timed_primitive *m = context;
    for (int i = 0; i < m->n; i++) dnnl_memory_destroy(m->args[i].memory);
    dnnl_primitive_destroy(m->primitive);
}

static int add_argument(struct wl_arena *a, struct timed_primitive *m, int arg, wl_md md, struct wl_err *e)
{
    size_t bytes = wl_md_bytes(md);
    void *at = wl_host_pages(a, bytes, "measuring a kernel", e);
    if (!at) return WL_ENOMEM;
    memset(at, WL_TIME_FILLING, bytes);
    m->args[m->n].arg = arg;
    return wl_dnnl_check(dnnl_memory_create(&m->args[m->n++].memory, md, m->cpu->engine, at), "memory", e);
}

static int execute(void *context, struct wl_err *e)
{
    const struct timed_primitive *m = context;
    dnnl_status_t s = dnnl_primitive_execute(m->primitive, m->cpu->stream, m->n, m->args);
    if (!s) s = dnnl_stream_wait(m->cpu->stream);
    return wl_dnnl_check(s, "measuring a kernel", e);
}

int wl_timings_add_primitive(struct wl_timings *t, struct wl_cpu *c, const_dnnl_primitive_desc_t pd, struct wl_err *e)
{
    struct timed_primitive *m = wl_new(t->arena, struct timed_primitive);
    m->cpu = c;
    int rc = wl_cpu_primitive_new(&m->primitive, pd, "measuring a kernel", e);
    if (rc) return rc;
    wl_defer(t->arena, destroy, m);
    for (size_t i = 0; i < WL_COUNT(arguments) && !rc; i++) {
        wl_md md = wl_pd_md(pd, arguments[i]);
        if (md) rc = add_argument(t->arena, m, arguments[i], md, e);
    }
    if (!rc) wl_timings_add(t, execute, m, 1);
    return rc;
}

/* ---- turns ---- */

int64_t wl_busiest_thread_lap(void *unused)
{
    static _Thread_local int64_t before_ns;
    int64_t longest_ns = 0;
    (void)unused;
#pragma omp parallel reduction(max : longest_ns)
    {
        const int64_t now_ns = wl_clock_thread_cpu_ns();
        longest_ns = now_ns - before_ns;
        before_ns = now_ns;
    }
    return longest_ns;
}

/* Turns end when that much work is done for each run, but not before so many. */
enum { MIN_TURNS = 3, MAX_TURNS = 8, ENOUGH_NS = 40000000 };

static int turn(struct wl_timings *t, wl_lap_fn *lap, void *lap_context, int64_t *total_ns, struct wl_err *e)
{
    for (size_t i = 0; i < t->n; i++) {
        lap(lap_context);
        int rc = t->v[i].run(t->v[i].context, e);
        if (rc) return rc;
        const int64_t ns = lap(lap_context);
        if (ns < t->v[i].best_ns) t->v[i].best_ns = ns;
        *total_ns += ns;
    }
    return 0;
}

int wl_timings_run(struct wl_timings *t, wl_lap_fn *lap, void *lap_context, struct wl_err *e)
{
    const int64_t enough_ns = (int64_t)t->n * ENOUGH_NS;
    int64_t total_ns = 0;
    int rc = 0;
    for (int i = 0; i < MAX_TURNS && (i < MIN_TURNS || total_ns < enough_ns) && !rc; i++)
        rc = turn(t, lap, lap_context, &total_ns, e);
    return rc;
}

double wl_timings_seconds(const struct wl_timings *t, size_t first, size_t end)
{
    double ns = 0;
    for (; first < end; first++) ns += (double)t->v[first].times * (double)t->v[first].best_ns;
    return ns / (double)WL_NS_PER_S;
}
