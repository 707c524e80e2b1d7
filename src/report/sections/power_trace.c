/* Power and utilisation over time for one run. */
#include "report/sections/sections.h"

#include <math.h>
#include <stdlib.h>

enum { GRID_MAX = 500, VLINE_LABELS = 8, VLINES_MAX = 60 };

/* ---- which run ---- */

static int by_time(const void *a, const void *b)
{
    const struct wl_law_run *x = *(const struct wl_law_run *const *)a, *y = *(const struct wl_law_run *const *)b;
    return (x->ln_time_s > y->ln_time_s) - (x->ln_time_s < y->ln_time_s);
}

/* Of the first group: the run at its largest worker count whose time is the (lower) median. */
static const struct wl_run_row *median_run(const struct wl_report_data *g)
{
    const struct wl_law_group *law = g->groups[0].law;
    const struct wl_law_run **list = wl_new_array(g->arena, const struct wl_law_run *, law->n_runs);
    double max = law->runs[law->n_runs - 1].workers;
    size_t n = 0;
    for (size_t i = 0; i < law->n_runs; i++) {
        if (law->runs[i].workers == max) list[n++] = &law->runs[i];
    }
    qsort(list, n, sizeof *list, by_time);
    return wl_report_data_run_by_label(g, list[(n - 1) / 2]->label);
}

static const struct wl_run_row *last_done(const struct wl_report_data *g)
{
    const struct wl_run_row *last = NULL;
    for (size_t i = 0; i < g->runs.n; i++) {
        const struct wl_run_row *run = &g->runs.v[i];
        if (run->status == WL_RUN_DONE && !run->flag && (!last || run->id > last->id)) last = run;
    }
    return last;
}

static const struct wl_run_row *representative(const struct wl_report_data *g, const char **reason)
{
    if (g->n_groups && g->groups[0].law->n_runs) {
        *reason = "the run with the median time at the largest worker count of the first group in the table";
        return median_run(g);
    }
    *reason = "the last finished run";
    return last_done(g);
}

static int choose_run(const struct wl_report_data *g, const struct wl_run_row **run, char **rule, struct wl_err *e)
{
    int64_t requested = g->options.run;
    const char *reason = "as requested";
    *run = requested ? wl_report_data_run(g, requested) : representative(g, &reason);
    if (requested && !*run)
        return wl_fail(e, WL_ENOENT, "%s: there is no run %lld", wl_store_path(g->store), (long long)requested);
    if (*run) *rule = wl_strf(g->arena, "Run %lld: %s. --run ID selects another one.", (long long)(*run)->id, reason);
    return 0;
}

/* ---- readings on a common grid ---- */

/* n intervals of equal width over the run; the middle of interval i is x[i] seconds after its start. */
struct grid {
    int64_t begin_ns, width_ns;
    size_t n;
    double *x;
};

/* Intervals of one sampling period, or longer where the run would have too many of them. */
static struct grid make_grid(const struct wl_run_row *run, struct wl_arena *a)
{
    int64_t span = run->stop.mono_ns - run->start.mono_ns;
    double period_s = isfinite(run->sampling_period_s) ? run->sampling_period_s : run->sampling_asked_s;
    int64_t width = isfinite(period_s) ? (int64_t)fmin(period_s * WL_NS_PER_S, (double)span) : 0;
    if (width < span / GRID_MAX + 1) width = span / GRID_MAX + 1;
    struct grid grid = { run->start.mono_ns, width, (size_t)((span - 1) / width + 1), NULL };
    grid.x = wl_new_array(a, double, grid.n);
    for (size_t i = 0; i < grid.n; i++) grid.x[i] = ((double)i + .5) * (double)width / WL_NS_PER_S;
    return grid;
}

/* A counter's readings become mean rates between them, at the middle of each pair; a fall is a reset and gives none. */
static void counter_to_rate(struct wl_readings *r)
{
    size_t n = r->n ? r->n - 1 : 0;
    for (size_t i = 0; i < n; i++) {
        double step = r->value[i + 1] - r->value[i], dt = (double)(r->t_ns[i + 1] - r->t_ns[i]) / WL_NS_PER_S;
        r->value[i] = step >= 0 && dt > 0 ? step / dt : NAN;
        r->t_ns[i] += (r->t_ns[i + 1] - r->t_ns[i]) / 2;
    }
    r->n = n;
}

/* A reading that is slightly late leaves an interval empty: it is interpolated between its neighbours. More than JITTER
 * empty intervals in a row stay a gap. */
static void interpolate_gaps(double *mean, size_t n)
{
    enum { JITTER = 2 };
    for (size_t i = 1; i < n; i++) {
        if (!isnan(mean[i]) || isnan(mean[i - 1])) continue;
        size_t next = i;
        while (next < n && isnan(mean[next])) next++;
        if (next == n || next - i > JITTER) continue;
        double step = (mean[next] - mean[i - 1]) / (double)(next - i + 1);
        for (; i < next; i++) mean[i] = mean[i - 1] + step;
    }
}

/* Means of the readings of each interval, NAN where it has none. */
static void bin(const struct wl_readings *r, const struct grid *grid, double *mean, size_t *count)
{
    for (size_t i = 0; i < grid->n; i++) mean[i] = 0, count[i] = 0;
    for (size_t k = 0; k < r->n; k++) {
        int64_t at = (r->t_ns[k] - grid->begin_ns) / grid->width_ns;
        if (r->t_ns[k] < grid->begin_ns || at >= (int64_t)grid->n || !isfinite(r->value[k])) continue;
        mean[at] += r->value[k];
        count[at]++;
    }
    for (size_t i = 0; i < grid->n; i++) mean[i] = count[i] ? mean[i] / (double)count[i] : NAN;
    interpolate_gaps(mean, grid->n);
}

/* Channels that are drawn as one line. */
struct trace {
    const char *quantity, *scope, *sensor;
    bool estimated, simulated;
    size_t channels;
    double *sum, *lo, *hi; /* [grid.n] over the channels; NAN where one has no reading */
};

struct traces {
    struct trace *v;
    size_t n, cap;
};

static struct trace *trace_of(struct traces *t, const struct wl_channel_row *c, const char *sensor, size_t n,
                              struct wl_arena *a)
{
    for (size_t i = 0; i < t->n; i++) {
        if (wl_str_eq(t->v[i].scope, c->scope) && wl_str_eq(t->v[i].sensor, sensor) &&
            wl_str_eq(t->v[i].quantity, c->quantity))
            return &t->v[i];
    }
    WL_GROW(a, t->v, t->n, t->cap);
    struct trace *new = &t->v[t->n++];
    *new = (struct trace) { .quantity = c->quantity, .scope = c->scope, .sensor = sensor };
    new->sum = wl_new_array(a, double, n);
    new->lo = wl_new_array(a, double, n);
    new->hi = wl_new_array(a, double, n);
    return new;
}

static int add_channel(const struct wl_report_data *g, struct trace *t, const struct wl_channel_row *c,
                       const struct grid *grid, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(g->arena);
    struct wl_readings r;
    int rc = wl_store_readings(g->store, c->id, INT64_MIN, INT64_MAX, &r, scratch, e);
    if (rc == 0) {
        double *mean = wl_new_array(scratch, double, grid->n);
        size_t *count = wl_new_array(scratch, size_t, grid->n);
        if (c->counter) counter_to_rate(&r);
        bin(&r, grid, mean, count);
        for (size_t i = 0; i < grid->n; i++) {
            t->sum[i] += mean[i];
            t->lo[i] = t->channels ? fmin(t->lo[i], mean[i]) : mean[i];
            t->hi[i] = t->channels ? fmax(t->hi[i], mean[i]) : mean[i];
        }
        t->channels++;
        t->estimated = t->estimated || c->estimated;
        t->simulated = t->simulated || c->simulated;
    }
    wl_arena_free(scratch);
    return rc;
}

static const char *sensor_of(const struct wl_device_rows *devices, int64_t id)
{
    for (size_t i = 0; i < devices->n; i++) {
        if (devices->v[i].id == id) return devices->v[i].sensor;
    }
    return "";
}

static bool has_power(const struct wl_channel_rows *channels, const struct wl_channel_row *like)
{
    for (size_t i = 0; i < channels->n; i++) {
        const struct wl_channel_row *c = &channels->v[i];
        if (c->device == like->device && wl_str_eq(c->scope, like->scope) && wl_str_eq(c->quantity, "power_w"))
            return true;
    }
    return false;
}

/* Power readings, and energy counters of scopes without a power reading. */
static bool is_power(const struct wl_channel_rows *channels, const struct wl_channel_row *c)
{
    return wl_str_eq(c->quantity, "power_w") || (wl_str_eq(c->quantity, "energy_j") && !has_power(channels, c));
}

static bool is_utilisation(const struct wl_channel_rows *channels, const struct wl_channel_row *c)
{
    (void)channels;
    return wl_str_eq(c->unit, "%");
}

typedef bool wanted_fn(const struct wl_channel_rows *channels, const struct wl_channel_row *c);

static int collect(const struct wl_report_data *g, const struct wl_run_row *run, const struct grid *grid,
                   wanted_fn *wanted, struct traces *out, struct wl_err *e)
{
    struct wl_channel_rows channels;
    struct wl_device_rows devices;
    int rc = wl_store_channels(g->store, run->id, &channels, g->arena, e);
    if (rc == 0) rc = wl_store_devices(g->store, run->id, &devices, g->arena, e);
    for (size_t i = 0; rc == 0 && i < channels.n; i++) {
        const struct wl_channel_row *c = &channels.v[i];
        if (!wanted(&channels, c)) continue;
        if (g->options.progress)
            wl_progress_update(g->options.progress, (double)i, (double)channels.n, -1, "readings of one run");
        rc = add_channel(g, trace_of(out, c, sensor_of(&devices, c->device), grid->n, g->arena), c, grid, e);
    }
    return rc;
}

/* ---- figures ---- */

/* A line at the beginning of each epoch, named where there is room for the name. */
static void add_epoch_lines(struct wl_figure *f, const struct wl_epoch_rows *epochs, const struct wl_run_row *run)
{
    double room = (double)(run->stop.mono_ns - run->start.mono_ns) / WL_NS_PER_S / VLINE_LABELS, last = -INFINITY;
    for (size_t i = 0; i < epochs->n; i++) {
        if (epochs->v[i].begin_ns == WL_NO_NS) continue;
        double x = (double)(epochs->v[i].begin_ns - run->start.mono_ns) / WL_NS_PER_S;
        bool named = x - last >= room;
        if (!named && epochs->n > VLINES_MAX) continue;
        if (named) last = x;
        wl_figure_vline(f, x, named ? wl_strf(f->arena, "epoch %lld", (long long)epochs->v[i].epoch) : NULL);
    }
}

static struct wl_figure_axis time_axis(void)
{
    return (struct wl_figure_axis) {
        .label = "time since the start of the run", .unit = "s", .zero = true, .min = NAN, .max = NAN
    };
}

static char *power_label(const struct trace *t, struct wl_arena *a)
{
    const char *kind = t->simulated ? ", simulated" : t->estimated ? ", estimated" : "";
    return t->channels > 1 ? wl_strf(a, "%s (%s%s), %zu devices", t->scope, t->sensor, kind, t->channels)
                           : wl_strf(a, "%s (%s%s)", t->scope, t->sensor, kind);
}

static struct wl_figure *power_figure(const struct traces *traces, const struct grid *grid, struct wl_arena *a)
{
    struct wl_figure *f = wl_figure_new(a, "power-over-time", "Power during one run");
    f->x = time_axis();
    f->y = (struct wl_figure_axis) { .label = "power", .unit = "W", .zero = true, .min = NAN, .max = NAN };
    f->metrics = "power";
    f->caption = "Each line adds up the devices of one scope. Scopes may overlap: lines must not be added. Dotted: "
                 "beginnings of epochs.";
    for (size_t i = 0; i < traces->n; i++) {
        const struct trace *t = &traces->v[i];
        f->estimated = f->estimated || t->estimated;
        f->simulated = f->simulated || t->simulated;
        wl_figure_add(f, &(struct wl_figure_series) { .label = power_label(t, a),
                                                      .style = WL_STYLE_LINE,
                                                      .n = grid->n,
                                                      .x = grid->x,
                                                      .y = t->sum,
                                                      .colour = (int)i });
    }
    return f;
}

static const char *utilisation_label(const char *quantity)
{
    static const struct {
        const char *quantity, *label;
    } known[] = {
        { "sm_util_pct", "GPU busy" },
        { "mem_util_pct", "GPU memory busy" },
        { "sm_active_pct", "multiprocessors active" },
        { "sm_occupancy_pct", "warps, % of the maximum" },
        { "tensor_active_pct", "tensor units active" },
        { "dram_active_pct", "GPU memory bandwidth" },
        { "cpu_util_pct", "all CPUs of the node" },
    };
    for (size_t i = 0; i < WL_COUNT(known); i++) {
        if (wl_str_eq(known[i].quantity, quantity)) return known[i].label;
    }
    return quantity;
}

static struct wl_figure *utilisation_figure(const struct traces *traces, const struct grid *grid, struct wl_arena *a)
{
    struct wl_figure *f = wl_figure_new(a, "utilisation-over-time", "Utilisation during one run");
    f->x = time_axis();
    f->y = (struct wl_figure_axis) { .label = "utilisation", .unit = "%", .zero = true, .min = NAN, .max = NAN };
    f->metrics = "utilisation";
    f->caption = "Means over devices; shaded: from the smallest to the largest device. Dotted: beginnings of epochs.";
    for (size_t i = 0; i < traces->n; i++) {
        const struct trace *t = &traces->v[i];
        double *mean = wl_new_array(a, double, grid->n);
        for (size_t k = 0; k < grid->n; k++) mean[k] = t->sum[k] / (double)t->channels;
        f->simulated = f->simulated || t->simulated;
        wl_figure_add(f, &(struct wl_figure_series) { .label = utilisation_label(t->quantity),
                                                      .style = WL_STYLE_LINE,
                                                      .n = grid->n,
                                                      .x = grid->x,
                                                      .y = mean,
                                                      .colour = (int)i });
        if (t->channels < 2) continue;
        wl_figure_add(
            f, &(struct wl_figure_series) {
                   .style = WL_STYLE_BAND, .n = grid->n, .x = grid->x, .lo = t->lo, .hi = t->hi, .colour = (int)i });
    }
    return f;
}

int wl_report_add_power_trace(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e)
{
    const struct wl_run_row *run = NULL;
    char *rule = NULL;
    int rc = choose_run(g, &run, &rule, e);
    if (rc || !run || run->start.mono_ns == WL_NO_NS || run->stop.mono_ns <= run->start.mono_ns) return rc;

    struct grid grid = make_grid(run, g->arena);
    struct traces power = { 0 }, utilisation = { 0 };
    struct wl_epoch_rows epochs;
    rc = collect(g, run, &grid, is_power, &power, e);
    if (rc == 0) rc = collect(g, run, &grid, is_utilisation, &utilisation, e);
    if (rc == 0) rc = wl_store_epochs(g->store, run->id, &epochs, g->arena, e);
    if (rc) return rc;

    struct wl_figure *figures[] = { power_figure(&power, &grid, g->arena),
                                    utilisation_figure(&utilisation, &grid, g->arena) };
    struct wl_section *s = NULL;
    for (size_t i = 0; i < WL_COUNT(figures); i++) {
        struct wl_figure *f = figures[i];
        if (wl_figure_empty(f)) continue;
        f->source = rule;
        add_epoch_lines(f, &epochs, run);
        wl_figure_finish(f);
        if (!s) s = wl_document_section(d, "one-run", "One run over time");
        wl_section_figure(d, s, f);
    }
    return 0;
}
