/* Utilisation against workers, how much it varies, and SM against memory at the two ends of the scale (Frey et al.
 * 2022, Fig. 2 to 4). */
#include "report/group_figure.h"
#include "report/sections/sections.h"

#include <math.h>
#include <stdlib.h>

/* Quantities in % that are drawn, in this order. */
static const struct quantity {
    const char *name, *id, *what;
} quantities[] = {
    { "sm_util_pct", "sm", "GPU busy time" },
    { "mem_util_pct", "memory", "GPU memory busy time" },
    { "cpu_util_pct", "cpu", "CPU busy time" },
};

/* ---- from runs to worker counts ---- */

static const struct wl_variation_row *variation_of(const struct wl_report_data *g, const char *label,
                                                   const char *quantity)
{
    int64_t run;
    size_t lo = 0, hi = g->variations.n; /* rows are in the order of runs */
    if (!label || wl_str_to_int(label, &run)) return NULL;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (g->variations.v[mid].run < run)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < g->variations.n && g->variations.v[lo].run == run; lo++) {
        if (wl_str_eq(g->variations.v[lo].quantity, quantity)) return &g->variations.v[lo];
    }
    return NULL;
}

/* A number of a variation with its interval: the offset of the first of three doubles. */
static struct wl_estimate estimate_at(const struct wl_variation_row *v, size_t member)
{
    const double *at = (const double *)((const char *)v + member);
    return (struct wl_estimate) { at[0], at[1], at[2] };
}

/* Over the runs of a configuration: their mean with its t interval; of one run its own interval. */
static struct wl_estimate over_runs(const struct wl_report_data *g, const struct wl_law_group *law, double workers,
                                    const char *quantity, size_t member)
{
    struct wl_estimate one = { NAN, NAN, NAN };
    size_t n = 0, runs = 0;
    for (size_t i = 0; i < law->n_runs; i++) runs += law->runs[i].workers == workers;
    double *v = wl_new_array(g->arena, double, runs);
    for (size_t i = 0; i < law->n_runs; i++) {
        const struct wl_variation_row *row =
            law->runs[i].workers == workers ? variation_of(g, law->runs[i].label, quantity) : NULL;
        if (!row) continue;
        one = estimate_at(row, member);
        if (!isnan(one.value)) v[n++] = one.value;
    }
    return n < 2 ? one : wl_mean_interval(v, n, WL_LAW_CONFIDENCE);
}

/* ---- figures over workers ---- */

static void add_group(const struct wl_report_data *g, const struct wl_report_group *group, const char *quantity,
                      size_t member, double scale, struct wl_figure *f)
{
    const struct wl_law_group *law = group->law;
    struct wl_estimate *estimates = wl_new_array(g->arena, struct wl_estimate, law->n_configs);
    for (size_t i = 0; i < law->n_configs; i++) {
        struct wl_estimate e = over_runs(g, law, law->configs[i].workers, quantity, member);
        estimates[i] = (struct wl_estimate) { scale * e.value, scale * e.lo, scale * e.hi };
    }
    wl_report_add_estimates(f, group, estimates);
}

static struct wl_figure *worker_figure(const struct wl_report_data *g, size_t facet, const struct quantity *q,
                                       bool vary)
{
    struct wl_figure *f =
        wl_report_group_figure(g, facet, wl_strf(g->arena, vary ? "variation-%s" : "utilisation-%s", q->id),
                               wl_strf(g->arena, vary ? "Variation of %s" : "Mean %s", q->what));
    f->y = (struct wl_figure_axis) {
        .label = vary ? "coefficient of variation" : q->what, .unit = "%", .zero = true, .min = NAN, .max = NAN
    };
    f->metrics = vary ? "utilisation-cv" : "utilisation-mean";
    f->caption =
        vary ? "All readings of the training, of all devices: standard deviation over mean. Means over runs with "
               "95 % intervals; of a single run, by a bootstrap over batches of readings."
             : "Means over devices and the training. Means over runs with 95 % intervals; of a single run, by a "
               "bootstrap over batches of readings.";
    size_t member = vary ? offsetof(struct wl_variation_row, cv_pooled) : offsetof(struct wl_variation_row, mean);
    for (size_t i = 0; i < g->n_drawn; i++) {
        if (g->groups[i].facet == facet) add_group(g, &g->groups[i], q->name, member, vary ? 100 : 1, f);
    }
    if (!wl_figure_empty(f)) wl_figure_finish(f);
    return f;
}

/* ---- SM against memory at the two ends of the scale ---- */

static const struct wl_channel_row *channel_of(const struct wl_channel_rows *channels, int64_t device,
                                               const char *quantity)
{
    for (size_t i = 0; i < channels->n; i++) {
        if (channels->v[i].device == device && wl_str_eq(channels->v[i].quantity, quantity)) return &channels->v[i];
    }
    return NULL;
}

struct points {
    double *x, *y;
    size_t n, cap;
};

static void add_point(struct points *p, double x, double y, struct wl_arena *a)
{
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 256;
        double *wx = wl_new_array(a, double, cap), *wy = wl_new_array(a, double, cap);
        for (size_t i = 0; i < p->n; i++) wx[i] = p->x[i], wy[i] = p->y[i];
        *p = (struct points) { wx, wy, p->n, cap };
    }
    p->x[p->n] = x;
    p->y[p->n++] = y;
}

/* Nearest readings of two quantities of a device, thinned to about `max` pairs. */
static int pair_readings(const struct wl_report_data *g, int64_t x_channel, int64_t y_channel, size_t max,
                         struct points *out, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(g->arena);
    struct wl_readings x, y;
    int rc = wl_store_readings(g->store, x_channel, INT64_MIN, INT64_MAX, &x, scratch, e);
    if (rc == 0) rc = wl_store_readings(g->store, y_channel, INT64_MIN, INT64_MAX, &y, scratch, e);
    size_t stride = rc == 0 ? x.n / max + 1 : 1;
    for (size_t i = 0, k = 0; rc == 0 && i < x.n && y.n > 0; i += stride) {
        while (k + 1 < y.n && llabs(y.t_ns[k + 1] - x.t_ns[i]) <= llabs(y.t_ns[k] - x.t_ns[i])) k++;
        if (isfinite(x.value[i]) && isfinite(y.value[k])) add_point(out, x.value[i], y.value[k], g->arena);
    }
    wl_arena_free(scratch);
    return rc;
}

static int run_points(const struct wl_report_data *g, int64_t run, struct points *out, struct wl_err *e)
{
    enum { MAX_DEVICES = 8, MAX_POINTS = 24 };
    struct wl_channel_rows channels;
    size_t devices = 0;
    int rc = wl_store_channels(g->store, run, &channels, g->arena, e);
    for (size_t i = 0; rc == 0 && i < channels.n && devices < MAX_DEVICES; i++) {
        if (!wl_str_eq(channels.v[i].quantity, "sm_util_pct")) continue;
        const struct wl_channel_row *memory = channel_of(&channels, channels.v[i].device, "mem_util_pct");
        if (!memory) continue;
        devices++;
        rc = pair_readings(g, channels.v[i].id, memory->id, MAX_POINTS, out, e);
    }
    return rc;
}

/* The first run of a group at a worker count. */
static int add_joint(const struct wl_report_data *g, const struct wl_report_group *group, size_t config,
                     struct wl_figure *f, struct wl_err *e)
{
    const struct wl_law_group *law = group->law;
    double workers = law->configs[config].workers;
    struct points p = { 0 };
    int64_t run = 0;
    for (size_t i = 0; i < law->n_runs && !run; i++) {
        const char *label = law->runs[i].label;
        if (law->runs[i].workers == workers && (!label || wl_str_to_int(label, &run))) return 0;
    }
    int rc = run_points(g, run, &p, e);
    if (rc || p.n == 0) return rc;
    struct wl_figure_series s = { .label = wl_strf(g->arena, "%.15g worker%s", workers, workers == 1 ? "" : "s"),
                                  .style = WL_STYLE_POINTS,
                                  .n = p.n,
                                  .x = p.x,
                                  .y = p.y,
                                  .option = { config + 1 } };
    const int rank = wl_figure_rank(f, &s);
    s.colour = s.marker = rank > 0 ? rank : 0;
    wl_figure_add(f, &s);
    return 0;
}

/* For the last group of each workload, which has the highest cap or clock. */
static int joint_figure(const struct wl_report_data *g, const struct wl_report_group *group, struct wl_figure **out,
                        struct wl_err *e)
{
    size_t n = group->law->n_configs;
    char *name = wl_strf(g->arena, "joint-utilisation-%s", wl_slug(group->name, g->arena));
    struct wl_figure *f = wl_figure_new(g->arena, name, wl_strf(g->arena, "GPU and memory busy time, %s", group->name));
    f->workload = *group->workload ? group->workload : NULL;
    f->factor = "workers";
    f->x = (struct wl_figure_axis) { .label = "GPU busy time", .unit = "%", .zero = true, .min = NAN, .max = NAN };
    f->y =
        (struct wl_figure_axis) { .label = "GPU memory busy time", .unit = "%", .zero = true, .min = NAN, .max = NAN };
    f->metrics = "utilisation-joint";
    f->simulated = group->law->simulated;
    f->caption = "Points: readings of one run at each of two worker counts, of up to eight devices.";
    double *counts = wl_new_array(g->arena, double, n);
    for (size_t i = 0; i < n; i++) counts[i] = group->law->configs[i].workers;
    wl_report_choose_counts(g, counts, n, f);
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) rc = add_joint(g, group, i, f, e);
    *out = wl_figure_empty(f) ? NULL : f;
    if (*out) wl_figure_finish(f);
    return rc;
}

/* ---- table ---- */

static const struct wl_report_column columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "workers", .label = "workers" },
    { .id = "quantity", .label = "quantity", .text = true },
    { .id = "mean", .label = "mean", .unit = "%", .metric = "utilisation-mean", .digits = 3 },
    { .id = "mean_lo", .label = "from", .metric = "utilisation-mean", .digits = 3 },
    { .id = "mean_hi", .label = "to", .metric = "utilisation-mean", .digits = 3 },
    { .id = "cv_time", .label = "over time", .unit = "%", .metric = "utilisation-cv", .digits = 3 },
    { .id = "cv_devices", .label = "between devices", .unit = "%", .metric = "utilisation-cv", .digits = 3 },
    { .id = "cv_pooled", .label = "pooled", .unit = "%", .metric = "utilisation-cv", .digits = 3 },
    { .id = "cv_pooled_lo", .label = "from", .metric = "utilisation-cv", .digits = 3 },
    { .id = "cv_pooled_hi", .label = "to", .metric = "utilisation-cv", .digits = 3 },
};

static void add_row(const struct wl_report_data *g, const struct wl_report_group *group, double workers,
                    const struct quantity *q, struct wl_report_table *t)
{
    struct wl_estimate mean = over_runs(g, group->law, workers, q->name, offsetof(struct wl_variation_row, mean)),
                       pooled =
                           over_runs(g, group->law, workers, q->name, offsetof(struct wl_variation_row, cv_pooled));
    if (isnan(mean.value)) return;
    wl_report_table_text(t, group->name);
    wl_report_table_real(t, workers);
    wl_report_table_text(t, q->what);
    wl_report_table_real(t, mean.value);
    wl_report_table_real(t, mean.lo);
    wl_report_table_real(t, mean.hi);
    wl_report_table_real(
        t, 100 * over_runs(g, group->law, workers, q->name, offsetof(struct wl_variation_row, cv_time)).value);
    wl_report_table_real(
        t, 100 * over_runs(g, group->law, workers, q->name, offsetof(struct wl_variation_row, cv_devices)).value);
    wl_report_table_real(t, 100 * pooled.value);
    wl_report_table_real(t, 100 * pooled.lo);
    wl_report_table_real(t, 100 * pooled.hi);
}

static struct wl_report_table *table_of(const struct wl_report_data *g)
{
    struct wl_report_table *t =
        wl_report_table_new(g->arena, "utilisation", "Utilisation while training", columns, WL_COUNT(columns));
    t->caption = "Coefficients of variation: of a device over time, between the devices at one instant, and of all "
                 "readings (pooled, as in Frey et al. 2022). Means over runs.";
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        t->simulated = t->simulated || law->simulated;
        for (size_t k = 0; k < law->n_configs; k++) {
            for (size_t q = 0; q < WL_COUNT(quantities); q++)
                add_row(g, &g->groups[i], law->configs[k].workers, &quantities[q], t);
        }
    }
    return t;
}

/* Of each facet, GPU and its memory. */
void wl_report_add_variation_figures(const struct wl_report_data *g, struct wl_document *d, struct wl_section *s)
{
    enum { OF_GPU = 2 };
    for (size_t k = 0; k < g->n_facets * OF_GPU; k++) {
        struct wl_figure *f = worker_figure(g, k / OF_GPU, &quantities[k % OF_GPU], true);
        if (!wl_figure_empty(f)) wl_section_figure(d, s, f);
    }
}

int wl_report_add_utilisation(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e)
{
    if (g->variations.n == 0) return 0;
    struct wl_section *s = wl_document_section(d, "utilisation", "Utilisation against workers");
    for (size_t k = 0; k < g->n_facets * WL_COUNT(quantities) * 2; k++) {
        struct wl_figure *f =
            worker_figure(g, k / WL_COUNT(quantities) / 2, &quantities[k / 2 % WL_COUNT(quantities)], k % 2 == 1);
        if (!wl_figure_empty(f)) wl_section_figure(d, s, f);
    }
    int rc = 0;
    for (size_t i = 0; i < g->n_groups && rc == 0; i++) {
        bool last = i + 1 == g->n_groups || !wl_str_eq(g->groups[i].workload, g->groups[i + 1].workload);
        struct wl_figure *f = NULL;
        if (last) rc = joint_figure(g, &g->groups[i], &f, e);
        if (f) wl_section_figure(d, s, f);
    }
    wl_section_table(d, s, table_of(g));
    return rc;
}
