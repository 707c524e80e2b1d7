/* From the facts of a run to its epochs, energies, metrics and means. docs/metrics.md has the formulas. */
#include "run/derive.h"

#include <math.h>

static void set_windows(struct wl_derivation *d, int64_t start_ns, int64_t end_ns)
{
    d->windows = wl_new_array(d->a, struct wl_run_window, d->out->n_epochs + 1);
    d->windows[d->n_windows++] = (struct wl_run_window) { NAN, start_ns, end_ns };
    for (size_t i = 0; i < d->out->n_epochs; i++) {
        const struct wl_epoch_row *e = &d->out->epochs[i];
        d->windows[d->n_windows++] = (struct wl_run_window) { (double)e->epoch, e->begin_ns, e->end_ns };
    }
}

/* ---- means, and rates of counters ---- */

/* The longest gap that is bridged: that of a series read at the quantity's own rate; for counters five of its periods,
 * since a busy machine reads late. */
static int64_t gap_of(const struct wl_derivation *d, size_t c)
{
    int quantity = wl_derive_quantity(d, c);
    double pace_s = quantity < 0 ? 0 : wl_poll_interval_s(wl_quantity_poll_interval(quantity));
    int64_t own_ns = d->channels.v[c].counter ? (int64_t)(5 * pace_s * WL_NS_PER_S) : wl_max_gap_ns(pace_s);
    return own_ns > d->max_gap_ns ? own_ns : d->max_gap_ns;
}

/* How often the channel was read: the mean time between its good readings in the window; NAN with fewer than two. */
static double period_of(const struct wl_time_series *s, const struct wl_run_window *w)
{
    int64_t first = 0, last = 0, n = 0;
    for (size_t i = wl_time_series_lower_bound(s, w->t0_ns); i < s->n && s->t_ns[i] <= w->t1_ns; i++) {
        if (isnan(s->value[i])) continue;
        if (n++ == 0) first = s->t_ns[i];
        last = s->t_ns[i];
    }
    return n > 1 ? (double)(last - first) / WL_NS_PER_S / (double)(n - 1) : NAN;
}

static struct wl_stat_row stat_of(const struct wl_derivation *d, size_t c, const struct wl_run_window *w)
{
    const struct wl_time_series *s = &d->series[c];
    struct wl_stat_row row = { .channel = d->channels.v[c].id, .epoch = w->epoch, .sd = NAN, .min = NAN, .max = NAN };
    double mean = 0, m2 = 0; /* Welford 1962 */
    for (size_t i = wl_time_series_lower_bound(s, w->t0_ns); i < s->n && s->t_ns[i] <= w->t1_ns; i++) {
        double v = s->value[i];
        if (isnan(v)) continue;
        double delta = v - mean;
        mean += delta / (double)++row.readings;
        m2 += delta * (v - mean);
        row.min = fmin(row.min, v);
        row.max = fmax(row.max, v);
    }
    if (row.readings > 1) row.sd = sqrt(m2 / (double)(row.readings - 1));
    row.period_s = period_of(s, w);
    row.mean = wl_window_mean(s, w->t0_ns, w->t1_ns, gap_of(d, c));
    return row;
}

/* The rate of a counter. */
static struct wl_stat_row rate_of(const struct wl_derivation *d, size_t c, const struct wl_run_window *w)
{
    const struct wl_time_series *s = &d->series[c];
    struct wl_stat_row row = { .channel = d->channels.v[c].id, .epoch = w->epoch, .sd = NAN, .min = NAN, .max = NAN };
    for (size_t i = wl_time_series_lower_bound(s, w->t0_ns); i < s->n && s->t_ns[i] <= w->t1_ns; i++)
        row.readings += !isnan(s->value[i]);
    row.period_s = period_of(s, w);
    row.mean = wl_window_rate(s, w->t0_ns, w->t1_ns, gap_of(d, c));
    return row;
}

static int read_series(struct wl_derivation *d, size_t c, struct wl_arena *a, struct wl_err *e)
{
    const int64_t channel = d->channels.v[c].id;
    struct wl_readings *r = &d->readings[c];
    int rc = d->source ? d->source->read(d->source->ctx, channel, r, a, e)
                       : wl_store_readings(d->store, channel, INT64_MIN, INT64_MAX, r, a, e);
    if (rc == 0) d->series[c] = (struct wl_time_series) { .t_ns = r->t_ns, .value = r->value, .n = r->n };
    return rc;
}

static void forget_series(struct wl_derivation *d, size_t c)
{
    d->readings[c] = (struct wl_readings) { 0 };
    d->series[c] = (struct wl_time_series) { 0 };
}

/* Quantities of which nothing but the means is derived. They are read one at a time: an imported run may have a hundred
 * million readings. */
static bool has_means_alone(const struct wl_derivation *d, size_t c)
{
    switch (wl_derive_quantity(d, c)) {
    case WL_SM_CLOCK:
    case WL_MEM_CLOCK:
    case WL_MEM_USED:
    case WL_TEMPERATURE:
    case WL_MEM_TEMPERATURE:
    case WL_EVENT_REASONS: return true;
    default: return false;
    }
}

static int find_stats(struct wl_derivation *d, struct wl_err *e)
{
    struct wl_stat_row *rows = wl_new_array(d->a, struct wl_stat_row, d->channels.n * d->n_windows);
    size_t n = 0;
    for (size_t c = 0; c < d->channels.n; c++) {
        bool counter = d->channels.v[c].counter, alone = has_means_alone(d, c);
        struct wl_arena *scratch = wl_arena_new(d->a);
        int rc = alone ? read_series(d, c, scratch, e) : 0;
        if (rc < 0) return rc;
        for (size_t w = 0; w < d->n_windows; w++) {
            rows[n] = counter ? rate_of(d, c, &d->windows[w]) : stat_of(d, c, &d->windows[w]);
            bool by_readings = !counter || wl_derive_quantity(d, c) == WL_ENERGY;
            if ((by_readings && rows[n].readings > 0) || !isnan(rows[n].mean)) n++;
        }
        wl_derive_rest(d, c);
        if (alone) forget_series(d, c);
        wl_arena_free(scratch);
    }
    d->out->stats = rows;
    d->out->n_stats = n;
    return 0;
}

/* ---- variation of utilisation: during the epochs, without start-up ---- */

static void find_variations(struct wl_derivation *d, double period_s)
{
    const struct wl_epoch_row *epochs = d->out->epochs;
    int64_t t0_ns = d->windows[0].t0_ns, t1_ns = d->windows[0].t1_ns;
    for (size_t i = 0; i < d->out->n_epochs; i++) {
        t0_ns = i == 0 || epochs[i].begin_ns < t0_ns ? epochs[i].begin_ns : t0_ns;
        t1_ns = i == 0 || epochs[i].end_ns > t1_ns ? epochs[i].end_ns : t1_ns;
    }
    struct wl_variation_row *rows;
    d->out->n_variations = wl_derive_variation(d, t0_ns, t1_ns, period_s, &rows);
    d->out->variations = rows;
}

static int read_facts(struct wl_derivation *d, struct wl_err *e)
{
    int rc = wl_store_read_marks(d->store, d->run, &d->marks, d->a, e);
    if (rc == 0) rc = wl_store_channels(d->store, d->run, &d->channels, d->a, e);
    if (rc == 0) rc = wl_store_devices(d->store, d->run, &d->devices, d->a, e);
    d->readings = wl_new_array(d->a, struct wl_readings, d->channels.n);
    d->series = wl_new_array(d->a, struct wl_time_series, d->channels.n);
    for (size_t c = 0; c < d->channels.n && rc == 0; c++)
        if (!has_means_alone(d, c)) rc = read_series(d, c, d->a, e);
    return rc;
}

int wl_derive(struct wl_store *s, int64_t run, const struct wl_derive_opts *opts, struct wl_derived *out,
              const char **label, struct wl_arena *a, struct wl_err *e)
{
    struct wl_derivation d = {
        .store = s,
        .run = run,
        .max_gap_ns = wl_max_gap_ns(opts->period_s),
        .idle_s = opts->idle_s,
        .source = opts->readings,
        .out = out,
        .a = a,
    };
    *out = (struct wl_derived) { 0 };
    int rc = read_facts(&d, e);
    if (rc < 0) return rc;
    wl_derive_from_marks(&d.marks, out, a);
    wl_derive_spans(&d.marks, opts->end_ns, out, a);
    set_windows(&d, opts->start_ns, opts->end_ns);
    const char *chosen = wl_derive_energy(&d);
    if (label) *label = chosen;
    rc = find_stats(&d, e);
    if (rc < 0) return rc;
    find_variations(&d, opts->period_s);
    wl_derive_load(&d, opts->own_cpu_s, opts->other_run);
    wl_derive_attribution(&d);
    return 0;
}
